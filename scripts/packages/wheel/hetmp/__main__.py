"""python -m hetmp: the command, with Python programs for its programs."""

import json
import os
import sys

from . import _HERE, library


def _become(name, arguments):
    if name == "hetmp" and arguments[:1] == ["run"]:
        # The last option of a name counts, so the user's comes after.
        arguments = ["run", "--library", library()] + arguments[1:]
    path = os.path.join(_HERE, "bin", name)
    try:
        os.execv(path, [name] + arguments)
    except OSError as error:
        sys.exit(f"hetmp: program {path}: {error.strerror}: the wheel's own is needed; install it again")


def hetmp():
    """The command hetmp, as it is."""
    _become("hetmp", sys.argv[1:])


def hetrun():
    """The command hetrun, as it is."""
    _become("hetrun", sys.argv[1:])


def kernel(arguments):
    """Installs a Jupyter kernel whose interpreter has the library from the start."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m hetmp kernel", description=kernel.__doc__)
    parser.add_argument("--name", default="hetmp", help="the kernel's name [hetmp]")
    parser.add_argument("--schedule", help="the schedule of loops, as in HETMP_SCHEDULE")
    parser.add_argument("--nodes", help="the nodes, as in HETMP_NODES")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for this user")
    where.add_argument("--prefix", help="under PREFIX/share/jupyter [this environment]")
    chosen = parser.parse_args(arguments)
    if chosen.user:
        base = os.environ.get("JUPYTER_DATA_DIR") or os.path.expanduser("~/.local/share/jupyter")
    else:
        base = os.path.join(chosen.prefix or sys.prefix, "share", "jupyter")
    folder = os.path.join(base, "kernels", chosen.name)
    environment = {"LD_PRELOAD": library()}
    if chosen.schedule:
        environment["HETMP_SCHEDULE"] = chosen.schedule
    if chosen.nodes:
        environment["HETMP_NODES"] = chosen.nodes
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": f"Python {sys.version_info[0]} ({chosen.name})",
        "language": "python",
        "env": environment,
    }
    try:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "kernel.json"), "w", encoding="utf-8") as file:
            json.dump(spec, file, indent=1)
    except OSError as error:
        sys.exit(f"hetmp: folder {folder}: {error.strerror} (expected one that can be written)")
    print(folder)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["kernel"]:
        kernel(arguments[1:])
    elif arguments[:1] == ["run"]:
        _become("hetmp", ["run", "--interpreter", sys.executable] + arguments[1:])
    elif arguments[:1] == ["which"]:
        # As for the library: the user's --python comes after.
        _become("hetmp", ["which", "--python", sys.executable] + arguments[1:])
    else:
        _become("hetmp", arguments)


if __name__ == "__main__":
    main()
