#!/bin/sh
# Every collective of goal.h x engine x link x algorithm x number of processes x length, each once:
# c-tests/goal/matrix.c over all of them. Prints a line for each job that fails, and a last one; ends with 1 if there
# was one. Half an hour and more.
#   scripts/lib/goal_matrix.sh PREFIX [RANKS...]      PREFIX: where scripts/install has installed
set -eu
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] && [ -x "$1/bin/hetrun" ] || {
    echo "hetmp: ${1-}: not usable (expected a folder that scripts/install has installed to)" >&2
    exit 2
}
prefix=$1
shift
[ $# -gt 0 ] || set -- 2 3 4 8
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
gcc -std=gnu11 -O2 c-tests/goal/matrix.c -o "$folder/matrix" -I"$prefix/include" -L"$prefix/lib" \
    -Wl,-rpath,"$prefix/lib" -lhetmp -lhetmp_goal
jobs=0 failed=0
for ranks in "$@"; do
    for engine in thread user; do
        for nic in shm emulated tcp; do
            for algorithm in '' HETMP_GOAL_BLOCKING=schedule HETMP_GOAL_ALLREDUCE=doubling HETMP_GOAL_ALLREDUCE=ring \
                HETMP_GOAL_ALLGATHER=log HETMP_GOAL_ALLGATHER=ring \
                HETMP_GOAL_ALLTOALL=direct HETMP_GOAL_ALLTOALL=bruck; do
                jobs=$((jobs + 1))
                # shellcheck disable=SC2086 # none, or one variable
                if ! env HETMP_GOAL_ENGINE=$engine HETMP_NIC=$nic $algorithm timeout 300 \
                    "$prefix/bin/hetrun" -n "$ranks" "$folder/matrix" 8 4096 65536 524288 4194304 \
                    >"$folder/out" 2>&1; then
                    failed=$((failed + 1))
                    echo "failed: $ranks processes, engine $engine, $nic $algorithm: $(tail -c 300 "$folder/out")"
                fi
            done
        done
    done
done
echo "goal matrix: $jobs jobs, $failed failed"
[ "$failed" = 0 ]
