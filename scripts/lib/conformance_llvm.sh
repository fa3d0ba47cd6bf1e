#!/bin/sh
# Run LLVM's own OpenMP tests under libhetmp.so or under LLVM's libomp.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
usage() {
    cat <<'TEXT'
usage: scripts/conformance llvm --source DIR [--under hetmp|libomp] [--filter REGEX]
                                [--jobs N] [--ompt]

Runs the tests of LLVM 19's OpenMP runtime by lit, compiled with clang-19, under
libhetmp.so (preloaded) or under the system's libomp. DIR is openmp/runtime of
LLVM's sources (Debian: apt-get source llvm-toolchain-19). lit comes from
`pip install lit==18.1.8 psutil`; LIT names it where it is not in PATH.
Tests of the tool interface are left out without --ompt. Four tasking tests sleep
two minutes at 2 threads, and get 200 seconds.

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
        [ $# -gt 1 ] || refuse "option $1: a value is accepted"
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
[ -f "$source/test/lit.cfg" ] || refuse "folder '$source': openmp/runtime of LLVM's sources is accepted (--source)"
lit=${LIT:-lit}
command -v "$lit" >/dev/null || refuse "command $lit: not found: LIT may name lit 18"
llvm=/usr/lib/llvm-19
command -v clang-19 >/dev/null && [ -x $llvm/bin/FileCheck ] || refuse "clang-19, llvm-19-tools: not installed: see scripts/setup"
preload=
case $under in
hetmp)
    preload=${HETMP_LIB:-${CARGO_TARGET_DIR:-$root/target}/release/libhetmp.so}
    case $preload in /*) ;; *) preload=$PWD/$preload ;; esac
    [ -f "$preload" ] || refuse "library $preload: not found: build it with cargo build --release -p hetmp"
    ;;
libomp) ;;
*) refuse "option --under $under: hetmp and libomp are accepted" ;;
esac
source=$(CDPATH='' cd -- "$source" && pwd)
at=$root/.cache/conformance-llvm
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
config.library_dir = "$llvm/lib"
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
[ -n "$ompt" ] || filter="^(?!.*ompt/).*($filter)"
exec "$lit" -j"$jobs" --timeout 200 --filter "$filter" "$at"
