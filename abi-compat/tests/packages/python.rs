//! The wheel: in environments of Python, in notebooks, and next to other packages' copies of libgomp.

use super::{output, run, there, Scratch};
use hetmp_abi_compat::{exec, readme};
use std::fs;
use std::path::Path;

/// Loads a library with OpenMP, as Python's extension modules are, and prints what the wheel's functions say about this
/// process.
const SCRIPT: &str = r#"
import ctypes, os, sys, time, hetmp
where = hetmp.library()
module = ctypes.CDLL(sys.argv[1])
module.total.restype = ctypes.c_long
print(module.total(), hetmp.loaded())
if os.environ.get("HETMP_REPORT"):
    for _ in range(600):
        try:
            if hetmp.report()["regions"]:
                print("region")
                break
        except FileNotFoundError:
            pass
        time.sleep(0.05)
        module.total()
"#;

const MODULE: &str = r"
long total(void) {
    long sum = 0;
    #pragma omp parallel for reduction(+:sum) num_threads(2)
    for (int i = 0; i < 1000; i++) sum += i;
    return sum;
}
";

/// Python, and an environment of its in a folder of the test. `None`, after a line, where that cannot be made.
fn environment(s: &Scratch) -> Option<(String, String)> {
    // Several versions of Python may be installed. The tests use the one that pip belongs to.
    let Some(python) = there("python3") else {
        eprintln!("skipped: no python3");
        return None;
    };
    let venv = s.path("venv");
    let made = run(&python, &["-m", "venv", &venv], &[]).ending == exec::Ending::Exit(0);
    if !made {
        eprintln!("skipped: python3 -m venv makes no environment (Debian's python3-venv)");
    }
    made.then_some((python, venv))
}

#[test]
fn the_wheel_brings_library_and_commands() {
    let s = Scratch::new("wheel");
    let Some((python, venv)) = environment(&s) else {
        return;
    };
    // To build a wheel, pip downloads setuptools.
    let fetch = [
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        &s.path("tools"),
        "setuptools>=70.1",
    ];
    if run(&format!("{venv}/bin/python"), &fetch, &[]).ending != exec::Ending::Exit(0) {
        eprintln!("skipped: pip reaches no index of packages");
        return;
    }
    let made = Scratch::wheel();
    let inside = format!("{venv}/bin/python");
    output(
        &inside,
        &["-m", "pip", "install", "--quiet", "--no-index", made],
        &[],
    );
    let (c, module, script) = (s.path("m.c"), s.path("m.so"), s.path("s.py"));
    fs::write(&c, MODULE).unwrap();
    fs::write(&script, SCRIPT).unwrap();
    let gcc = there("gcc").expect("gcc");
    output(
        &gcc,
        &["-fopenmp", "-O2", "-shared", "-fPIC", &c, "-o", &module],
        &[],
    );

    assert_eq!(output(&inside, &[&script, &module], &[]), "499500 False\n");
    let run = ["-m", "hetmp", "run"];
    let with = |options: &[&str]| {
        let mut args = run.to_vec();
        args.extend(options);
        args.extend([script.as_str(), module.as_str()]);
        output(&inside, &args, &[])
    };
    assert_eq!(with(&[]), "499500 True\n");
    let report = format!("--report={}", s.path("r.json"));
    let shown = with(&[&report]);
    assert!(
        shown.starts_with("499500 True\nregion\n") && shown.contains("Parallel regions"),
        "{shown}"
    );
    let program = s.program();
    let shown = output(&format!("{venv}/bin/hetmp"), &["run", &program], &[]);
    assert!(
        shown.starts_with("499500 ") && shown.contains("/hetmp/lib/libgomp.so.1"),
        "{shown}"
    );

    // The packages of this environment, whatever is in PATH.
    let seen = output(
        &inside,
        &["-m", "hetmp", "which", "pip"],
        &[("PATH", "/nonexistent")],
    );
    assert!(seen.starts_with("packages: pip "), "{seen}");

    let code = "import hetmp; print(hetmp.loaded())";
    fs::write(s.path("said.py"), code).unwrap();
    for options in [["-c", code], ["-m", "said"]] {
        let mut args = run.to_vec();
        args.push("--");
        args.extend(options);
        assert_eq!(
            output(&inside, &args, &[("PYTHONPATH", &s.path(""))]),
            "True\n"
        );
    }

    // The page's lines, in an environment of their own.
    let lines = &readme::examples("docs/getting-started.md", "## Python", "sh")[0];
    assert!(lines.contains("pip install"), "{lines}");
    let (fresh, folder) = (s.path("fresh"), s.path("readme"));
    output(&python, &["-m", "venv", &fresh], &[]);
    fs::create_dir_all(format!("{folder}/target/packages")).unwrap();
    let wheel = Path::new(made).file_name().unwrap();
    fs::copy(made, Path::new(&folder).join("target/packages").join(wheel)).unwrap();
    fs::write(format!("{folder}/script.py"), code).unwrap();
    let shown = output(
        "/bin/sh",
        &["-euc", &format!("cd '{folder}'\n{lines}")],
        &[
            ("PATH", &format!("{fresh}/bin:/usr/bin:/bin")),
            ("PIP_NO_INDEX", "1"),
            ("HOME", &folder),
        ],
    );
    assert!(shown.contains("\nTrue\n"), "{shown}");
    assert!(Path::new(&format!("{fresh}/share/jupyter/kernels/hetmp/kernel.json")).is_file());

    let kernel = output(&inside, &["-m", "hetmp", "kernel", "--nodes", "1"], &[]);
    let spec = fs::read_to_string(Path::new(kernel.trim()).join("kernel.json")).unwrap();
    let spec: serde_json::Value = serde_json::from_str(&spec).unwrap();
    let preload = spec["env"]["LD_PRELOAD"].as_str().unwrap();
    assert!(Path::new(preload).is_file(), "{spec}");
    assert_eq!(spec["env"]["HETMP_NODES"], "1");
    if !hetmp_abi_compat::sample::is_short() {
        in_a_notebook(&s, &inside, &module);
    }
}

/// What a notebook does: starts a kernel by its name, and has it run the code of cells.
const NOTEBOOK: &str = r#"
import sys
from jupyter_client.manager import start_new_kernel

CELLS = [
    """import ctypes, hetmp, subprocess, sys
module = ctypes.CDLL(%r)
module.total.restype = ctypes.c_long
print(module.total(), hetmp.loaded())""" % sys.argv[1],
    # Too late for this interpreter, in time for those that it starts.
    """%env LD_PRELOAD={hetmp.library()}
print(hetmp.loaded())
child = [sys.executable, '-c', 'import hetmp; print(hetmp.loaded())']
print(subprocess.run(child, capture_output=True, text=True).stdout)""",
]
for name in ("python3", "hetmp"):
    manager, client = start_new_kernel(kernel_name=name, startup_timeout=300)
    said = []
    def hear(message):
        if message["msg_type"] == "stream" and message["content"]["name"] == "stdout":
            said.append(message["content"]["text"])
    for cell in CELLS:
        reply = client.execute_interactive(cell, output_hook=hear, timeout=300)
        if reply["content"]["status"] != "ok":
            sys.exit(str(reply["content"]))
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    print(name, [line for line in "".join(said).split("\n") if line and not line.startswith("env:")])
"#;

/// The usual kernel runs on libgomp, whatever a cell sets; ours from the start. A kernel's own runtime is one thing,
/// that of the programs it starts another.
fn in_a_notebook(s: &Scratch, python: &str, module: &str) {
    let fetch = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "ipykernel",
    ];
    if run(python, &fetch, &[]).ending != exec::Ending::Exit(0) {
        eprintln!("skipped: notebook: pip reaches no index of packages");
        return;
    }
    let script = s.path("notebook.py");
    fs::write(&script, NOTEBOOK).unwrap();
    let shown = output(
        python,
        &["-W", "ignore", &script, module],
        &[("HOME", &s.path("")), ("IPYTHONDIR", &s.path("ipython"))],
    );
    // Kernels say on their standard error how they encrypt.
    let said: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("python3 [") || line.starts_with("hetmp ["))
        .collect();
    assert_eq!(
        said,
        [
            "python3 ['499500 False', 'False', 'True']",
            "hetmp ['499500 True', 'True', 'True']",
        ],
        "{shown}"
    );
}

/// Two libraries that bring OpenMP runtimes of their own, in one process.
const TWO_CLIENTS: &str = r"
import os, sys
import numpy as np
import lightgbm as lgb
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_info, threadpool_limits

def pools():
    return [pool for pool in threadpool_info() if pool['user_api'] == 'openmp']

x = np.random.default_rng(7).standard_normal((2000, 8)).astype(np.float32)
y = x[:, 0] * x[:, 1]
trees = HistGradientBoostingRegressor(max_iter=5, random_state=1).fit(x, y)
boost = lgb.train(dict(objective='regression', verbose=-1, seed=3), lgb.Dataset(x, y), 5)
assert np.isfinite(trees.predict(x[:3])).all() and np.isfinite(boost.predict(x[:3])).all()
print('ours', any(pool['filepath'].endswith('/hetmp/lib/libgomp.so.1') for pool in pools()))
print('threads', len(os.listdir('/proc/self/task')))
print('teams', {pool['num_threads'] for pool in pools()})
with threadpool_limits(3, 'openmp'):
    print('teams', {pool['num_threads'] for pool in pools()})
";

/// Two libraries each bring a copy of libgomp. Both of them, and threadpoolctl, must see one pool: ours.
#[test]
#[ignore = "fetches packages of some hundred megabytes"]
fn two_clients_of_one_process_share_a_pool() {
    let s = Scratch::new("pool");
    let Some((_, venv)) = environment(&s) else {
        return;
    };
    let inside = format!("{venv}/bin/python");
    let fetch = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--only-binary=:all:",
        "lightgbm",
        "scikit-learn",
        "threadpoolctl",
    ];
    if run(&inside, &fetch, &[]).ending != exec::Ending::Exit(0) {
        eprintln!("skipped: pip reaches no index of packages");
        return;
    }
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        Scratch::wheel(),
    ];
    output(&inside, &install, &[]);
    let script = s.path("two.py");
    fs::write(&script, TWO_CLIENTS).unwrap();
    let shown = output(
        &inside,
        &["-m", "hetmp", "run", "--threads", "2", &script],
        &[("OPENBLAS_NUM_THREADS", "1")],
    );
    assert_eq!(shown, "ours True\nthreads 2\nteams {2}\nteams {3}\n");

    // What the example in getting-started.md shows of the same two packages: two runtimes, and how each is replaced.
    let shown = output(
        &format!("{venv}/bin/hetmp"),
        &["which", "scikit-learn", "lightgbm", "--python", &inside],
        &[],
    );
    let is_there = |line: &dyn Fn(&str) -> bool| shown.lines().any(line);
    for (what, found) in [
        (
            "head",
            is_there(&|l| l.starts_with("OpenMP runtimes (") && l.ends_with(" files looked at)")),
        ),
        (
            "copy",
            is_there(&|l| l.starts_with("  libgomp, renamed  ") && l.contains("/libgomp-")),
        ),
        (
            "why",
            is_there(&|l| {
                l == "      replaced by LD_PRELOAD=libhetmp.so (hetmp run); LD_LIBRARY_PATH does not reach it"
            }),
        ),
        (
            "pools",
            is_there(&|l| l.ends_with(" pools of threads; one under LD_PRELOAD=libhetmp.so")),
        ),
    ] {
        assert!(found, "{what}: {shown}");
    }
}
