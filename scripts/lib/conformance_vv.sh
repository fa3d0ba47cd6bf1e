#!/bin/sh
# Run the programs of the OpenMP Validation and Verification suite under libhetmp.so and under the original runtime.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
usage() {
    cat <<'TEXT'
usage: scripts/conformance vv [--source DIR] [--compiler gcc|clang] [--target]
                              [--filter REGEX]

Compiles programs of the OpenMP Validation and Verification suite with gcc and
gfortran (or clang-19 and flang-new-19), runs each under the compiler's own runtime
and under libhetmp.so (preloaded), and lists those that only the original passes.
Where one of the two fails, both run four times more. The suite's runner sets
OMP_THREAD_LIMIT to the number of CPUs, and so does this script; a program has 60
seconds.

Without --source the suite is fetched with git into .cache/conformance-vv, at the
commit for which docs/openmp-clang.md names the results. Programs with target
constructs are left out; with --target they run too, on the host.

Ends with 1 if a program fails under libhetmp.so more often than under the original,
unless abi-compat/vv-exceptions.txt says why its verdict is luck.
The library is HETMP_LIB, or target/release/libhetmp.so.
TEXT
}
refuse() {
    echo "hetmp: $1" >&2
    exit 2
}
source=
compiler=gcc
target=
filter=.
while [ $# -gt 0 ]; do
    case $1 in
    --source | --compiler | --filter)
        [ $# -gt 1 ] || refuse "option $1: no value (expected one)"
        case $1 in
        --source) source=$2 ;;
        --compiler) compiler=$2 ;;
        --filter) filter=$2 ;;
        esac
        shift 2
        ;;
    --target)
        target=1
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) refuse "option $1: see --help" ;;
    esac
done
case $compiler in
gcc) c=gcc cxx=g++ fortran=gfortran quiet=-foffload=disable ;;
clang) c=clang-19 cxx=clang++-19 fortran=flang-new-19 quiet=-w ;;
*) refuse "option --compiler: $compiler (expected gcc or clang)" ;;
esac
command -v $c >/dev/null || refuse "compiler $c: not found"
runtime=
if [ "$compiler" = clang ]; then
    . "$root/scripts/lib/clang_runtime.sh"
    runtime=$(clang_runtime) || exit 2
    clang_compared "$runtime"
fi
commit=0c4118d1
if [ -z "$source" ]; then
    source=$root/.cache/conformance-vv/OpenMP_VV
    if [ ! -d "$source" ]; then
        mkdir -p "$(dirname "$source")"
        git clone --quiet https://github.com/OpenMP-Validation-and-Verification/OpenMP_VV "$source.new" ||
            refuse "suite: not fetched: --source names a folder that has it"
        git -C "$source.new" checkout --quiet "$commit"
        mv "$source.new" "$source"
    fi
fi
[ -f "$source/ompvv/ompvv.h" ] || refuse "folder $source: no ompvv/ompvv.h (expected the suite's folder)"
source=$(CDPATH='' cd -- "$source" && pwd)
library=${HETMP_LIB:-$root/target/release/libhetmp.so}
[ -f "$library" ] || (cd "$root" && cargo build --release --quiet -p hetmp)
[ -f "$library" ] || refuse "library $library: not there"
out=$root/.cache/conformance-vv/$compiler
mkdir -p "$out"

# The exit status of one run. What programs print to files of their own stays in a folder of their own.
once() { # program preload
    (
        cd "$out" || exit 1
        OMP_THREAD_LIMIT=$(nproc) LD_LIBRARY_PATH=$runtime LD_PRELOAD=$2 timeout -k 5 60 "$1"
    ) >"$out/log" 2>&1 </dev/null
}
# How many of four runs fail.
failures() {
    n=0
    for _ in 1 2 3 4; do
        once "$1" "$2" || n=$((n + 1))
    done
    echo $n
}

on_targets='omp +target|omp_target|omp +requires|declare +target|target_data'
on_targets="$on_targets|is_initial_device|get_num_devices|omp_interop"
not_compiled=0 both=0 neither=0 only_theirs=0 sometimes=0 luck=0 worse=0
list=$(cd "$source" && find tests \( -name '*.c' -o -name '*.cpp' -o -name '*.F90' -o -name '*.F' \) |
    grep -E "$filter" | sort || true)
for name in $list; do
    file=$source/$name
    if [ -z "$target" ] && grep -qiE "$on_targets" "$file"; then
        continue
    fi
    program=$out/$(echo "$name" | tr '/.' '__')
    case $name in
    *.c) with="$c -O3 -std=gnu99" ;;
    *.cpp) with="$cxx -O3 -std=gnu++11" ;;
    *) with="$fortran -O3 -cpp" ;;
    esac
    case $with in flang*) flags= ;; *) flags=$quiet ;; esac
    # shellcheck disable=SC2086
    if [ ! -x "$program" ] && ! (
        cd "$out" && $with $flags -fopenmp -I "$source/ompvv" "$file" -o "$program" -lm
    ) >"$program.log" 2>&1; then
        not_compiled=$((not_compiled + 1))
        continue
    fi
    theirs=0 ours=0
    once "$program" "" || theirs=1
    once "$program" "$library" || ours=1
    if [ $theirs = 0 ] && [ $ours = 0 ]; then
        both=$((both + 1))
        continue
    fi
    theirs=$((theirs + $(failures "$program" "")))
    ours=$((ours + $(failures "$program" "$library")))
    if [ $theirs = 5 ] && [ $ours = 5 ]; then
        neither=$((neither + 1))
        continue
    elif [ $ours -gt $theirs ]; then
        if grep -q "^$name " "$root/abi-compat/vv-exceptions.txt"; then
            luck=$((luck + 1))
        else
            worse=$((worse + 1))
        fi
    elif [ $ours = 0 ]; then
        only_theirs=$((only_theirs + 1))
    else
        sometimes=$((sometimes + 1))
    fi
    echo "$name: fails in $theirs of 5 runs under the original, in $ours under libhetmp.so"
done
echo "$compiler: $both passed under both, $neither failed under both, $only_theirs failed under the original only," \
    "$sometimes failed now and then under both, $luck by luck, $worse failed more often under libhetmp.so;" \
    "$not_compiled not compiled"
[ $worse = 0 ]
