#!/usr/bin/env python3
"""scripts/bench size: does hetprobe find the right number of threads?

Runs programs in turns with one thread, with a thread for each core, and with that under hetprobe, on equal nodes and on
unlike ones (1 : 0.33), alone and beside a busy process. Prints CSV: medians in seconds, and hetprobe over the better of
the others, and over one thread, with the range of both over the rounds. Leave the machine alone meanwhile."""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GRADIENTS = """
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
r = np.random.default_rng(1)
x = r.normal(size=(1000, 20))
HistGradientBoostingClassifier(max_iter=150).fit(x, x[:, 0] * x[:, 1] > 0)
"""


def programs(folder):
    size = os.path.join(folder, "right_size")
    source = os.path.join(ROOT, "c-tests/bench/right_size.c")
    subprocess.run(["gcc", "-O2", "-fopenmp", "-o", size, source], check=True)
    found = {kind: [size, kind] for kind in ("chain", "steps", "compute", "memory")}
    if shutil.which("gm"):
        image = os.path.join(folder, "in.pgm")
        with open(image, "wb") as out:
            out.write(b"P5 1200 1200 255\n" + bytes(i * 7 % 251 for i in range(1200 * 1200)))
        turned = os.path.join(folder, "out.pgm")
        found["GraphicsMagick"] = ["gm", "convert", image, "-blur", "0x3", "-rotate", "20", turned]
    if subprocess.run([sys.executable, "-c", "import sklearn"], capture_output=True, check=False).returncode == 0:
        found["HistGradientBoosting"] = [sys.executable, "-c", GRADIENTS]
    return found


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench size", description=__doc__.split(": ", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", metavar="WORD", default="", help="programs whose name has this in it")
    parser.add_argument("--lib", default=os.environ.get("HETMP_LIB", os.path.join(ROOT, "target/release/libhetmp.so")))
    given = parser.parse_args()
    if not os.path.exists(given.lib):
        sys.exit(f"hetmp: library {given.lib}: not there (expected one built by cargo build --release)")
    cores = len(os.sched_getaffinity(0))
    half = max(cores // 2, 1)
    halves = f"cores=0-{half - 1};cores={half}-{cores - 1}"
    kinds = {"equal": halves, "unlike": halves + ",speed=0.33"}
    with tempfile.TemporaryDirectory() as folder:
        busy = os.path.join(folder, "busy")
        source = os.path.join(ROOT, "c-tests/bench/busy.c")
        subprocess.run(["gcc", "-O2", "-D_GNU_SOURCE", "-o", busy, source], check=True)
        print("program,nodes,beside,one,all,hetprobe,over_best,over_best_low,over_best_high,over_one")
        for name, command in programs(folder).items():
            if given.only not in name:
                continue
            for kind, nodes in kinds.items():
                for beside in ("nothing", "busy"):
                    other = [busy, "any"] if beside == "busy" else None
                    row([name, kind, beside], command, nodes, other, given.rounds, (given.lib, cores))


def row(head, command, nodes, busy, rounds, lib_and_cores):
    lib, cores = lib_and_cores
    times = {"one": [], "all": [], "hetprobe": []}
    ways = {"one": (1, "static"), "all": (cores, "static"), "hetprobe": (cores, "hetprobe")}
    for _ in range(rounds):
        for way, (threads, schedule) in ways.items():
            env = {**os.environ, "LD_PRELOAD": lib, "HETMP_NODES": nodes, "OMP_SCHEDULE": schedule}
            if schedule == "static":
                env["OMP_NUM_THREADS"] = str(threads)
            other = busy and subprocess.Popen(busy, stdout=subprocess.PIPE)
            if other:
                other.stdout.readline()
            began = time.monotonic()
            ended = subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
            times[way].append(time.monotonic() - began)
            if other:
                other.kill()
                other.wait()
            if ended.returncode:
                sys.exit(f"hetmp: {head[0]}: status {ended.returncode}: {ended.stderr.decode(errors='replace')[-300:]}")
    of = {way: statistics.median(all_of) for way, all_of in times.items()}
    best = [min(one, every) for one, every in zip(times["one"], times["all"])]
    ratios = [mine / other for mine, other in zip(times["hetprobe"], best)]
    over = of["hetprobe"] / min(of["one"], of["all"])
    print(*head, *(f"{of[way]:.3f}" for way in ways), f"{over:.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}",
          f"{of['hetprobe'] / of['one']:.2f}", sep=",", flush=True)


main()
