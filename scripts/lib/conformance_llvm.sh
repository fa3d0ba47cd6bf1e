#!/bin/sh
# Run LLVM's own OpenMP tests under libhetmp.so or under LLVM's libomp.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
usage() {
    cat <<'TEXT'
usage: scripts/conformance llvm [--source DIR|ARCHIVE] [--under hetmp|libomp]
                                [--filter REGEX] [--jobs N] [--ompt]

Runs the tests of LLVM 19's OpenMP runtime by lit, compiled with clang-19, under
libhetmp.so (preloaded) or under the system's libomp. The sources are openmp/runtime
of LLVM's, or an archive with it, of which only that folder is unpacked: 160 MB by
    apt-get source --download-only --tar-only llvm-toolchain-19
(with deb-src in the sources' list). Without --source what was unpacked before is
used, or an archive llvm-toolchain-19_*.orig.tar.xz in this folder or .cache.
lit comes from `pip install lit==18.1.8 psutil`; LIT names it where it is not in
PATH. scripts/setup installs neither: both are large or not of the distribution.

Ends with 1 if a test fails that abi-compat/llvm-exceptions.txt does not name, or
if one passes that it names. Tests that need more than 2 threads run with 4.
Tests of the tool interface are left out without --ompt. Four tasking tests sleep
two minutes at 2 threads; each test gets 400 seconds.

The library is HETMP_LIB, or target/release/libhetmp.so.
TEXT
}
refuse() {
    echo "hetmp: $1" >&2
    exit 2
}
source=
under=hetmp
jobs=2
filter=
ompt=
while [ $# -gt 0 ]; do
    case $1 in
    --source | --under | --filter | --jobs)
        [ $# -gt 1 ] || refuse "option $1: no value (expected one)"
        case $1 in
        --source) source=$2 ;;
        --under) under=$2 ;;
        --filter) filter=$2 ;;
        --jobs) jobs=$2 ;;
        esac
        shift 2
        ;;
    --ompt)
        ompt=1
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) refuse "option $1: see --help" ;;
    esac
done
at=$root/.cache/conformance-llvm
if [ -z "$source" ]; then
    source=$(ls -d "$at"/source/*/openmp/runtime 2>/dev/null | head -n 1)
fi
if [ -z "$source" ]; then
    source=$(ls llvm-toolchain-19_*.orig.tar.xz "$root"/.cache/llvm-toolchain-19_*.orig.tar.xz 2>/dev/null | head -n 1)
fi
[ -n "$source" ] || refuse "LLVM's sources: not found: see --help for how to get them"
if [ -f "$source" ]; then
    rm -rf "$at/source"
    mkdir -p "$at/source"
    tar -C "$at/source" -xf "$source" --wildcards '*/openmp/runtime/*'
    source=$(ls -d "$at"/source/*/openmp/runtime 2>/dev/null | head -n 1)
fi
[ -f "$source/test/lit.cfg" ] ||
    refuse "folder '$source': not usable (expected openmp/runtime of LLVM's sources; --source)"
lit=${LIT:-lit}
command -v "$lit" >/dev/null || refuse "command $lit: not found: LIT may name lit 18"
llvm=/usr/lib/llvm-19
command -v clang-19 >/dev/null && [ -x $llvm/bin/FileCheck ] ||
    refuse "clang-19, llvm-19-tools: not installed: see scripts/setup"
. "$root/scripts/lib/clang_runtime.sh"
runtime=$(clang_runtime) || exit 2
preload=
case $under in
hetmp)
    preload=${HETMP_LIB:-${CARGO_TARGET_DIR:-$root/target}/release/libhetmp.so}
    case $preload in /*) ;; *) preload=$PWD/$preload ;; esac
    [ -f "$preload" ] || refuse "library $preload: not found: build it with cargo build --release -p hetmp"
    ;;
libomp) clang_compared "$runtime" ;;
*) refuse "option --under $under: not usable (expected hetmp and libomp)" ;;
esac
source=$(CDPATH='' cd -- "$source" && pwd)
mkdir -p "$at/out"
cat >"$at/lit.site.cfg" <<CFG
config.test_c_compiler = "clang-19"
config.test_cxx_compiler = "clang++-19"
config.test_compiler_features = ['clang', 'clang-19', 'clang-19.1']
config.test_compiler_has_omp_h = True
config.test_filecheck = "$llvm/bin/FileCheck"
config.test_not = "$llvm/bin/not"
config.test_openmp_flags = "-fopenmp"
config.test_extra_flags = ""
config.libomp_obj_root = "$at/out"
config.library_dir = "$runtime"
config.omp_header_directory = "$llvm/lib/clang/19/include"
config.operating_system = "Linux"
config.hwloc_library_dir = ""
config.using_hwloc = False
config.has_ompt = bool("$ompt")
config.has_ompx_taskgraph = False
config.has_libm = True
config.has_libatomic = True
config.is_standalone_build = True
config.has_omit_frame_pointer_flag = True
config.target_arch = "x86_64"
lit_config.load_config(config, "$source/test/lit.cfg")
if "$preload":
    config.substitutions = [
        (a, b.replace('%t', 'env LD_PRELOAD=$preload %t') if a == '%libomp-run' else b)
        for a, b in config.substitutions
    ]
CFG
[ -n "$filter" ] || filter=.
skip='(?!.*ompt/)'
[ -z "$ompt" ] || skip=
rm -f "$at/most.json" "$at/wide.json"
# These divide the number of threads by two, and fail where one is left; 4 threads are more than 2 cores, which
# others do not like.
wide='omp_collapse_'
run() {
    "$lit" -j"$jobs" --timeout 400 --filter "$1" --output "$at/$2.json" "$at" || :
}
run "^$skip(?!.*$wide)(?=.*($filter))" most
CHECK_OPENMP_ENV=OMP_NUM_THREADS=4 run "^$skip(?=.*$wide)(?=.*($filter))" wide
python3 - "$root/abi-compat/llvm-exceptions.txt" "$under" "$at/most.json" "$at/wide.json" <<'PYTHON'
import json, os, sys

exceptions, under, *outputs = sys.argv[1:]
known = dict(
    line.split(maxsplit=1) for line in open(exceptions) if line.strip() and not line.startswith("#")
)
passed, failed = 0, []
for output in outputs:
    if not os.path.exists(output):
        continue
    for test in json.load(open(output))["tests"]:
        name = test["name"].removeprefix("libomp :: ")
        if test["code"] in ("PASS", "FLAKYPASS"):
            passed += 1
            if under == "hetmp" and name in known:
                failed.append(name + " (passes, and is listed as an exception)")
        elif test["code"] in ("FAIL", "TIMEOUT", "UNRESOLVED", "XPASS"):
            if under == "hetmp" and name in known:
                print("exception: %s: %s" % (name, known[name].strip()))
            else:
                failed.append(name)
for name in failed:
    print("FAILED:", name)
print("%d passed, %d failed" % (passed, len(failed)))
sys.exit(1 if failed else 0)
PYTHON
