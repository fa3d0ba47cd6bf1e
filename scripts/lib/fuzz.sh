#!/bin/sh
# usage: scripts/lib/fuzz.sh [--seconds N] [--grow] [TARGET]...
#
# Runs the fuzz targets of runtime/fuzz, guided by coverage, N seconds each (60), from the kept inputs of
# runtime/fuzz/corpus. With --grow, inputs that reach further are added there. An input that fails is kept in
# target/fuzz/found. Without cargo-fuzz and with a stable compiler; `cargo fuzz run TARGET` in runtime/fuzz does the
# same with a nightly one, and with the address sanitizer.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
. scripts/lib/rust.sh

seconds=60 grow='' targets=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds)
        seconds=${2-}
        shift
        ;;
    --grow) grow=1 ;;
    *) targets="$targets $1" ;;
    esac
    shift
done
case $seconds in
'' | *[!0-9]*)
    echo "hetmp: option --seconds: '$seconds': not a number (expected seconds)" >&2
    exit 2
    ;;
esac
[ -n "$targets" ] || targets=$(cd runtime/fuzz/fuzz_targets && ls | sed 's/\.rs$//')

require_rust || exit 1
host=$(rustc -vV | sed -n 's/^host: //p')
case ${CARGO_TARGET_DIR:-target} in
/*) target=${CARGO_TARGET_DIR} ;;
*) target=$root/${CARGO_TARGET_DIR:-target} ;;
esac
# What libFuzzer wants to know of a program: the counts of its branches, and what it compares. Only of the targets, not
# of the programs that build them, hence --target.
for flag in level=4 inline-8bit-counters pc-table trace-compares; do
    RUSTFLAGS="${RUSTFLAGS-} -Cllvm-args=-sanitizer-coverage-$flag"
done
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module$RUSTFLAGS" CARGO_TARGET_DIR="$target/fuzz" CARGO_INCREMENTAL=0
(cd runtime/fuzz && cargo build --locked --quiet --release --target "$host") || exit

passed=0 failed=0
for name in $targets; do
    program=$target/fuzz/$host/release/$name
    found=$target/fuzz/found/$name
    mkdir -p "$found" "$target/fuzz/corpus/$name"
    # New inputs go to the first folder.
    kept=runtime/fuzz/corpus/$name
    mkdir -p "$kept"
    first=$target/fuzz/corpus/$name
    # What others have that it begins with, too.
    more=
    case $name in
    object) more=runtime/fuzz/corpus/elf ;;
    simulate) more="runtime/cli/platforms runtime/cli/workloads" ;;
    profile) more=runtime/mq/platforms ;;
    esac
    # shellcheck disable=SC2086 # a list of folders
    if "$program" -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$found/" "$first" "$kept" $more >"$first.log" 2>&1; then
        passed=$((passed + 1))
        sed -n 's/^#\([0-9]*\).*DONE *cov: \([0-9]*\).*/\1 inputs, \2 places/p' "$first.log" | sed "s/^/$name: /"
    else
        failed=$((failed + 1))
        echo "hetmp: fuzz target $name: failed, the input is in $found:"
        tail -n 20 "$first.log"
    fi
    # The fewest inputs that reach everything.
    [ -z "$grow" ] || "$program" -merge=1 -max_len=4096 "$kept" "$first" >/dev/null 2>&1
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
