#!/bin/sh
# Compare what LLVM's race detector says of programs under LLVM's libomp and under libhetmp.so.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
usage() {
    cat <<'TEXT'
usage: scripts/conformance races --source DIR [--filter REGEX] [--runs N] [--every N]

Compiles the C programs DRB*.c of DIR (micro-benchmarks of DataRaceBench,
https://github.com/LLNL/dataracebench) with clang-19 and ThreadSanitizer, and runs
each N times (3) with LLVM's Archer attached, under libomp and under libhetmp.so. The
verdict is "race" if a run reports one. --every N takes each N-th program only.

Prints the programs whose verdicts differ, and a table: what the programs' names say
(yes, no) against both verdicts. A program that does not compile, or takes more than
60 seconds, is counted apart. Ends with 1 if a verdict differs.

The library is HETMP_LIB, or target/release/libhetmp.so. Needs clang-19,
libomp-19-dev (which has Archer) and libclang-rt-19-dev.
TEXT
}
refuse() {
    echo "hetmp: $1" >&2
    exit 2
}
source=
filter=.
runs=3
every=1
while [ $# -gt 0 ]; do
    case $1 in
    --source | --filter | --runs | --every)
        [ $# -gt 1 ] || refuse "option $1: no value (expected one)"
        case $1 in
        --source) source=$2 ;;
        --filter) filter=$2 ;;
        --runs) runs=$2 ;;
        --every) every=$2 ;;
        esac
        shift 2
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) refuse "option $1: see --help" ;;
    esac
done
for number in "$runs" "$every"; do
    case $number in '' | *[!0-9]* | 0) refuse "number '$number': not usable (expected a number from 1)" ;; esac
done
[ -n "$source" ] && ls "$source"/DRB*.c >/dev/null 2>&1 ||
    refuse "folder '$source': not usable (expected a folder with programs DRB*.c; --source)"
archer=/usr/lib/llvm-19/lib/libarcher.so
[ -f $archer ] || refuse "$archer: not found: install libomp-19-dev"
library=${HETMP_LIB:-${CARGO_TARGET_DIR:-$root/target}/release/libhetmp.so}
case $library in /*) ;; *) library=$PWD/$library ;; esac
[ -f "$library" ] || refuse "library $library: not found: build it with cargo build --release -p hetmp"
. "$root/scripts/lib/clang_runtime.sh"
runtime=$(clang_runtime) || exit 2
clang_compared "$runtime"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# The runtimes themselves are not instrumented.
export TSAN_OPTIONS="ignore_noninstrumented_modules=1 exitcode=66"
export OMP_TOOL_LIBRARIES=$archer OMP_NUM_THREADS=${OMP_NUM_THREADS:-3}

# verdict LIBRARY PROGRAM: race, none, or why there is no verdict
verdict() {
    said=none
    for _ in $(seq "$runs"); do
        status=0
        LD_LIBRARY_PATH=$runtime LD_PRELOAD=$1 timeout 60 "$2" >"$scratch/out" 2>&1 </dev/null || status=$?
        if grep -q 'WARNING: ThreadSanitizer: data race' "$scratch/out"; then
            echo race
            return
        fi
        case $status in 124) said=slow ;; 0 | 66) ;; *) said=status$status ;; esac
    done
    echo "$said"
}

ls "$source"/DRB*.c | grep -E "$filter" | awk "NR % $every == 0" >"$scratch/list"
while read -r file; do
    name=$(basename "$file" .c)
    expected=${name##*-}
    if ! clang-19 -g -O1 -w -fopenmp -fsanitize=thread -I"$source/utilities" "$file" \
        $(grep -q polybench "$file" && echo "$source/utilities/polybench.c -DPOLYBENCH_NO_FLUSH_CACHE") \
        -o "$scratch/program" -lm 2>/dev/null; then
        echo "$expected uncompiled uncompiled $name"
        continue
    fi
    echo "$expected $(verdict '' "$scratch/program") $(verdict "$library" "$scratch/program") $name"
done <"$scratch/list" >"$scratch/verdicts"
awk '
    $2 != $3 { print "DIFFERS: " $4 ": libomp " $2 ", hetmp " $3; differ++ }
    { count[$1 " " $2 " " $3]++ }
    END {
        print "race by name, under libomp, under hetmp: programs"
        for (row in count) print row ": " count[row] | "sort"
        close("sort")
        print NR " programs, " differ + 0 " differ"
        exit differ > 0
    }' "$scratch/verdicts"
