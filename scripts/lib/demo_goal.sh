#!/bin/sh
# `scripts/demo goal`: one collective under every engine, a schedule with its timeline, and one unmodified MPI program
# with and without libhetmp_mpi.so. Run by scripts/demo, at the root.
set -eu
. scripts/lib/rust.sh
. scripts/lib/mpi_shim.sh
require_rust || exit 1
scripts/setup --needed || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# What the user has set would change what is shown here.
for name in $(env | sed -n 's/^\(HETMP_GOAL_[A-Z_]*\|HETMP_NIC[A-Z_]*\|HETMP_VERBOSE\)=.*/\1/p'); do
    unset "$name"
done
echo "demo: building"
scripts/install --prefix "$scratch/hetmp" >/dev/null 2>"$scratch/install.err" || {
    cat "$scratch/install.err" >&2
    exit 1
}
bin=$scratch/hetmp/bin
lib=$scratch/hetmp/lib

wrong() { # WHAT
    echo "demo: $1" >&2
    exit 1
}

# Runs a command with its output in FILE.out and FILE.err, and shows both, whatever came of it.
seen() { # FILE COMMAND...
    seen_files=$scratch/$1
    shift
    seen_status=0
    "$@" >"$seen_files.out" 2>"$seen_files.err" || seen_status=$?
    cat "$seen_files.out" "$seen_files.err"
    [ "$seen_status" = 0 ] || wrong "it ended with status $seen_status"
}

echo
echo "1. A sum that goes on while 4 processes compute for 0.1 s each, then a token around a ring."
echo "   Whether the sum is there is asked once, after the computing; under user that moves it on a step:"
gcc -std=gnu11 -O2 c-tests/apps/goal_first.c -o "$scratch/goal_first" -I"$scratch/hetmp/include" \
    -L"$lib" -Wl,-rpath,"$lib" -lhetmp -lhetmp_goal
for engine in thread user; do
    for nic in auto emulated tcp; do
        echo "\$ HETMP_GOAL_ENGINE=$engine HETMP_NIC=$nic hetrun -n 4 ./goal_first"
        seen first env HETMP_GOAL_ENGINE=$engine HETMP_NIC=$nic "$bin/hetrun" -n 4 "$scratch/goal_first"
    done
done
# These engines take collectives only. Each rank counts what the engine has done, so that a run which another engine did
# is not shown for one of theirs.
for engine in nic nic-thread kernel; do
    if [ $engine = kernel ] && ! "$bin/hetmp-goal-kernel" --check >"$scratch/check" 2>&1; then
        echo "skipped, engine kernel: $(sed -n '$s/^hetmp: GOAL engine kernel: //; $p' "$scratch/check")"
        continue
    fi
    echo "\$ HETMP_GOAL_ENGINE=$engine HETMP_GOAL_COUNTERS=true hetrun -n 4 ./goal_first"
    seen first env HETMP_GOAL_ENGINE=$engine HETMP_GOAL_COUNTERS=true "$bin/hetrun" -n 4 "$scratch/goal_first"
    if grep -q "HETMP_GOAL_ENGINE $engine: .*; the engine thread is used" "$scratch/first.err"; then
        echo "skipped, engine $engine: the reason is above"
        continue
    fi
    ranks=$(grep -c "^hetmp: GOAL engine $engine, rank [0-9]*: .*\(runs\|sent\) [1-9]" "$scratch/first.err" || true)
    [ "$ranks" = 4 ] || wrong "engine $engine: $ranks of 4 ranks have used it"
done

echo
echo "2. A broadcast, work on each rank and a sum, as a schedule in the text form of LogGOPSim and ATLAHS:"
tree=c-tests/apps/goal_tree.goal
out=${CARGO_TARGET_DIR:-target}/demo-goal
mkdir -p "$out"
echo "\$ hetmp goal check goal_tree.goal"
"$bin/hetmp" goal check "$tree"
echo "\$ hetmp goal plot --format svg goal_tree.goal > graph.svg"
"$bin/hetmp" goal plot --format svg "$tree" >"$out/graph.svg"
for engine in thread user; do
    files="--svg $engine.svg --trace $engine.json goal_tree.goal"
    echo "\$ HETMP_GOAL_ENGINE=$engine hetrun -n 4 hetmp goal run --times 100 $files"
    rm -f "$out/$engine.svg" "$out/$engine.json"
    HETMP_GOAL_ENGINE=$engine "$bin/hetrun" -n 4 "$bin/hetmp" goal run --times 100 --svg "$out/$engine.svg" \
        --trace "$out/$engine.json" "$tree"
    for file in "$out/$engine.svg" "$out/$engine.json"; do
        [ -s "$file" ] || wrong "file $file: not written"
    done
done
echo "the graph: $out/graph.svg"
echo "timelines of the last runs: $out/thread.svg, $out/user.svg; for ui.perfetto.dev: $out/thread.json, $out/user.json"

echo
echo "3. An MPI program, compiled by plain mpicc; the second run preloads the library:"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
shown=
for mpi in openmpi mpich; do
    compiler=mpicc.$mpi
    launcher=mpirun.$mpi
    if ! command -v $compiler >/dev/null; then
        # Where only one MPI is there, its commands may have the plain names.
        if ! command -v mpicc >/dev/null || [ "$(mpi_name mpicc)" != $mpi ]; then
            continue
        fi
        compiler=mpicc
        launcher=mpirun
    fi
    shim=$lib/libhetmp_mpi-$mpi.so
    if ! command -v $launcher >/dev/null; then
        echo "skipped, $compiler: $launcher is not installed"
        continue
    fi
    if [ ! -f "$shim" ]; then
        echo "skipped, $compiler: libhetmp_mpi-$mpi.so was not built for it"
        continue
    fi
    echo "\$ $compiler -O2 first.c -o first"
    $compiler -std=gnu11 -O2 c-tests/mpi/first.c -o "$scratch/first"
    set -- -n 2
    # Open MPI refuses more ranks than it counts cores.
    [ $mpi = mpich ] || set -- --oversubscribe "$@"
    echo "\$ $launcher $* ./first"
    seen alone $launcher "$@" "$scratch/first"
    if [ $mpi = mpich ]; then
        echo "\$ HETMP_VERBOSE=1 $launcher $* -genv LD_PRELOAD libhetmp_mpi-$mpi.so ./first"
        set -- "$@" -genv LD_PRELOAD "$shim"
    else
        echo "\$ HETMP_VERBOSE=1 $launcher $* -x LD_PRELOAD=libhetmp_mpi-$mpi.so ./first"
        set -- "$@" -x "LD_PRELOAD=$shim"
    fi
    seen ours env HETMP_VERBOSE=1 $launcher "$@" "$scratch/first"
    cmp -s "$scratch/alone.out" "$scratch/ours.out" || wrong "its output differs from that without the library"
    grep -q "^hetmp: libhetmp_mpi.so: collectives of all ranks by GOAL: Iallreduce 20;" "$scratch/ours.err" ||
        wrong "not all of its sums were run by GOAL"
    shown=1
done
[ -n "$shown" ] || command -v mpicc >/dev/null || echo "skipped: no compiler mpicc, so no MPI program"
