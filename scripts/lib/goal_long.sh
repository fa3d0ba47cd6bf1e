#!/bin/sh
# Long runs for GOAL, which the tests have in short: 10^5 collectives on a network that loses and doubles 5 of 100
# packets each, 10^6 hostile packets through the interface, 10^8 mutated packets and schedules in user space, 10^8 pairs
# of floating point numbers for each operation. Some minutes each; the first two need root, ip, tc and clang. An
# installation and how long, as a share of that, are the arguments.
#
# usage: scripts/lib/goal_long.sh PREFIX [SHARE]      SHARE: 1, or a number that divides everything
set -eu
cd "$(dirname "$0")/../.."
prefix=${1:?PREFIX is needed} share=${2:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in lossy hostile floats; do
    gcc -std=gnu11 -O2 -pthread "c-tests/goal-kernel/$program.c" -o "$work/$program" -I"$prefix/include" \
        -L"$prefix/lib" -Wl,-rpath,"$prefix/lib" -lhetmp -lhetmp_goal
done
clang -O2 -g -target bpf "-I/usr/include/$(uname -m)-linux-gnu" -c c-tests/goal-kernel/lossy.bpf.c -o "$work/lossy.o"
export HETMP_GOAL_ENGINE=kernel HETMP_GOAL_COUNTERS=true
# Every rank prints what it has counted.
unshare -n sh -ec '
    ip link set lo up
    "$1/bin/hetrun" -n 2 "$2/hostile" $((84000 / $3))
    tc qdisc add dev lo clsact
    tc filter add dev lo egress bpf direct-action object-file "$2/lossy.o" section classifier
    "$1/bin/hetrun" -n 2 "$2/lossy" $((100000 / $3))
    "$1/bin/hetrun" -n 4 "$2/lossy" $((100000 / $3))' sh "$prefix" "$work" "$share"
"$work/floats" $((100000000 / share))
HETMP_TEST_MUTATED=$((100000000 / share)) cargo test --locked --release --workspace --exclude hetmp --test hostile
