#!/bin/sh
# `scripts/bench dsm`: what a program on several nodes costs. Sourced by nobody: run by scripts/bench, at the root.
set -eu
usage() {
    cat <<'TEXT'
usage: scripts/bench dsm [--quick] [--rounds N]

Builds both libraries and compiles c-tests/bench/dsm_bench.c and the kernel EP with
gcc -fopenmp. In turns, N rounds (5; 2 with --quick):
  1. two nodes of this machine: a page fault by kind, a message's round trip, a barrier;
     medians of the rounds' medians, with their range, and the 99th percentile; beside each
     kind of fault its floor in the same round: c-tests/bench/dsm_floor.c makes the same
     system calls between two processes, without a protocol;
  2. EP with one thread, with two threads of one process, and with two threads on two
     nodes. Where two threads of one process gain nothing, the machine has no second core
     to give just now.
Needs two CPUs, userfaultfd, and an idle machine: on a busy one a fault waits for a core.
TEXT
}

rounds=5
size=A
while [ $# -gt 0 ]; do
    case $1 in
    --quick)
        rounds=2
        size=S
        ;;
    --rounds)
        [ $# -gt 1 ] || {
            echo "hetmp: option --rounds: a number is accepted" >&2
            exit 2
        }
        rounds=$2
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        echo "hetmp: option $1: --quick, --rounds and --help are accepted" >&2
        exit 2
        ;;
    esac
    shift
done
case $rounds in
'' | *[!0-9]* | 0)
    echo "hetmp: option --rounds $rounds: a positive number is accepted" >&2
    exit 2
    ;;
esac

target=${CARGO_TARGET_DIR:-target}
cargo build --quiet --release -p hetmp -p hetmp-dsm-preload -p hetmp-cli
scratch=$(mktemp -d)
# What crossing costs is measured, not whether it pays.
export HETMP_DSM_CROSS=always
trap 'rm -rf "$scratch"' EXIT
gcc -O2 -fopenmp c-tests/bench/dsm_bench.c -o "$scratch/faults"
gcc -O2 -pthread c-tests/bench/dsm_floor.c -o "$scratch/floor"
gcc -O2 -fopenmp -Ic-tests/kernels c-tests/kernels/ep.c -o "$scratch/ep" -lm
hetmp=$target/release/hetmp

for round in $(seq "$rounds"); do
    "$hetmp" run --nodes dsm:2 --threads 2 "$scratch/faults" >>"$scratch/faults.txt"
    "$scratch/floor" >>"$scratch/floors.txt"
    for way in 1,1 1,2 dsm:2,2; do
        "$hetmp" run --nodes "${way%,*}" --threads "${way#*,}" "$scratch/ep" "$size" 2>&1 >"$scratch/ep.$way" |
            sed -n "s/.*seconds=\([0-9.]*\).*/ep-$way \1/p" >>"$scratch/ep.txt"
    done
    cmp -s "$scratch/ep.1,2" "$scratch/ep.dsm:2,2" || {
        echo "hetmp: round $round: EP printed something else on two nodes" >&2
        exit 1
    }
done

# Median, smallest and largest of a column of the lines with a name.
of() { # FILE NAME COLUMN
    awk -v name="$2" -v column="$3" '$1 == name { print $column }' "$1" | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) printf "%.2f (%.2f-%.2f)", v[int((NR + 1) / 2)], v[1], v[NR] }'
}
median() { of "$1" "$2" "$3" | cut -d' ' -f1; }

echo "| two nodes of this machine | median of $rounds, us | 99th percentile, us | floor, us | over the floor |"
echo "| --- | --- | --- | --- | --- |"
for kind in local read upgrade dirty round-trip barrier; do
    one=$(median "$scratch/faults.txt" $kind 2)
    floor=$(median "$scratch/floors.txt" $kind 2)
    ratio=
    [ -z "$floor" ] || ratio=$(awk -v a="$one" -v b="$floor" 'BEGIN { printf "%.2f", a / b }')
    echo "| $kind | $(of "$scratch/faults.txt" $kind 2) | $(of "$scratch/faults.txt" $kind 3) |" \
        "${floor:+$(of "$scratch/floors.txt" $kind 2)} | $ratio |"
done
echo "| a bare fault between two processes | $(of "$scratch/floors.txt" bare 2) | $(of "$scratch/floors.txt" bare 3) | | |"
echo
echo "| EP $size | median, s | of one thread's time |"
echo "| --- | --- | --- |"
one=$(median "$scratch/ep.txt" ep-1,1 2)
for way in 1,1 1,2 dsm:2,2; do
    it=$(median "$scratch/ep.txt" "ep-$way" 2)
    echo "| nodes ${way%,*}, threads ${way#*,} | $(of "$scratch/ep.txt" "ep-$way" 2) |" \
        "$(awk -v a="$it" -v b="$one" 'BEGIN { printf "%.2f", a / b }') |"
done
