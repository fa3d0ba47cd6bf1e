"""hetmp for Python: OpenMP of extension modules on one runtime, for machines with unlike cores.

    python -m hetmp run script.py         # runs script.py with the library preloaded
    python -m hetmp kernel                # a Jupyter kernel that does so

An interpreter that runs already cannot be moved: the library must be there before the first extension
module with OpenMP is.
"""

import json
import os

__all__ = ["library", "loaded", "report"]

_HERE = os.path.dirname(os.path.abspath(__file__))


def library():
    """The path of the library, for LD_PRELOAD."""
    return os.path.join(_HERE, "lib", "libgomp.so.1")


def loaded():
    """Whether this process runs on hetmp."""
    ours = os.stat(library())
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            fields = line.split(None, 5)
            # The device and the inode: the file may have been mapped under another of its names.
            if len(fields) < 5 or fields[4] == "0":
                continue
            major, minor = (int(part, 16) for part in fields[3].split(":"))
            if int(fields[4]) == ours.st_ino and os.makedev(major, minor) == ours.st_dev:
                return True
            if len(fields) == 6 and os.path.basename(fields[5].strip()) == "libhetmp.so":
                return True
    return False


def report(path=None):
    """What was done with each region and loop, as a dictionary (docs/report.md has the fields).

    ``path`` is a file that HETMP_REPORT named; without it, the file of this very process, as of its last
    checkpoint (at most about a second old). Raises RuntimeError if this process writes none,
    FileNotFoundError before its first region.
    """
    if path is None:
        path = os.environ.get("HETMP_REPORT")
        if not path or not loaded():
            raise RuntimeError(
                "hetmp: this process writes no report: python -m hetmp run --report=FILE script.py does"
            )
        path = path.replace("%p", str(os.getpid()))
    with open(path, encoding="utf-8") as file:
        return json.load(file)
