#!/bin/sh
# `scripts/bench dsm`: what a program on several nodes costs. Sourced by nobody: run by scripts/bench, at the root.
set -eu
usage() {
    cat <<'TEXT'
usage: scripts/bench dsm [--quick] [--rounds N] [--parts 12345] [--kernels NAMES]

Builds both libraries and compiles c-tests/bench/dsm_bench.c and the kernel EP with
gcc -fopenmp. In turns, N rounds (5; 2 with --quick):
  1. two nodes of this machine: a page fault by kind, a message's round trip, a barrier;
     medians of the rounds' medians, with their range, and the 99th percentile; with each
     kind of fault its floor in the same round: c-tests/bench/dsm_floor.c makes the same
     system calls between two processes, without a protocol;
  2. EP with one thread, with two threads of one process, and with two threads on two
     nodes. Where two threads of one process gain nothing, the machine has no second core
     to give just now;
  3. the ten kernels of the paper's main table on two equal nodes with a CPU each, which the
     origin keeps to, too (HETMP_DSM_CPUS=own): one node alone, all regions across with equal
     shares, across with schedule(dynamic), across or not as decided by times, and all at
     the origin. Ratios to one node alone; also of the second half of the executions.
     Some minutes a round. --parts 3 runs only this; --kernels 'ep cg' only these kernels;
  4. c-tests/dsm/mix.c on two nodes: a loop of two kinds of iterations whose mix changes with
     time, at irregularities from 0 to 100 %, under dynamic, static-csr:1,1, hetprobe and
     hetprobe-i;
  5. what two nodes with a CPU each are worth: c-tests/bench/dsm_bars.c, and EP, lavaMD and
     blackscholes for some seconds, with one thread, with two of one process, and with two on
     two nodes, across as decided by times and always. Ratios to one thread, trials included.
Needs two CPUs, userfaultfd, and an idle machine: on a busy one a fault waits for a core.
TEXT
}

rounds=5
size=A
parts=12345
kernels='blackscholes ep kmeans lavamd bt cfd cg lud sp streamcluster'
while [ $# -gt 0 ]; do
    case $1 in
    --quick)
        rounds=2
        size=S
        ;;
    --rounds)
        [ $# -gt 1 ] || {
            echo "hetmp: option --rounds: not usable (expected a number)" >&2
            exit 2
        }
        rounds=$2
        shift
        ;;
    --parts | --kernels)
        [ $# -gt 1 ] || {
            echo "hetmp: option $1: no value (expected one)" >&2
            exit 2
        }
        case $1 in
        --parts) parts=$2 ;;
        *) kernels=$2 ;;
        esac
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        echo "hetmp: option $1: unknown (expected --quick, --rounds, --parts, --kernels or --help)" >&2
        exit 2
        ;;
    esac
    shift
done
case $rounds in
'' | *[!0-9]* | 0)
    echo "hetmp: option --rounds $rounds: not usable (expected a positive number)" >&2
    exit 2
    ;;
esac

case $parts in
'' | *[!12345]*)
    echo "hetmp: option --parts $parts: not usable (expected some of 1 to 5)" >&2
    exit 2
    ;;
esac
for k in $kernels; do
    [ -f "c-tests/kernels/$k.c" ] || {
        echo "hetmp: option --kernels $k: not usable (expected a kernel of c-tests/kernels)" >&2
        exit 2
    }
done

target=${CARGO_TARGET_DIR:-target}
cargo build --locked --quiet --release -p hetmp -p hetmp-dsm-preload -p hetmp-cli
scratch=$(mktemp -d)
# What crossing costs is measured, not whether it pays.
export HETMP_DSM_CROSS=always
trap 'rm -rf "$scratch"' EXIT
gcc -O2 -fopenmp c-tests/bench/dsm_bench.c -o "$scratch/faults"
gcc -O2 -pthread c-tests/bench/dsm_floor.c -o "$scratch/floor"
gcc -O2 -fopenmp -Ic-tests/kernels c-tests/kernels/ep.c -o "$scratch/ep" -lm
hetmp=$target/release/hetmp

has() { case $parts in *$1*) ;; *) false ;; esac }
# Runs a kernel in one of the ways of part 3; its times and the settled time of a lap: NAME.WAY TOTAL SETTLED.
kernel() { # NAME WAY
    program=$scratch/$1 nodes=dsm:2 threads=2 cross=always
    case $2 in
    one) nodes=1 threads=1 ;;
    dynamic) program=$scratch/$1-runtime ;;
    decided) cross=auto ;;
    origin) cross=never ;;
    esac
    HETMP_DSM_CPUS=own HETMP_DSM_CROSS=$cross OMP_SCHEDULE=dynamic "$hetmp" run --nodes $nodes --threads $threads \
        "$program" "$size" 2>&1 >"$scratch/$1.$2" |
        sed -n "s/.* seconds=\([0-9.]*\) .* settled=\([0-9.]*\).*/$1.$2 \1 \2/p" >>"$scratch/kernels.txt"
    cmp -s "$scratch/$1.one" "$scratch/$1.$2" || {
        echo "hetmp: kernel $1, $2: printed something else than on one node" >&2
        exit 1
    }
}

# The programs of part 5: a name, and the command.
bars() {
    case $size in
    S) cat <<'TEXT' ;;
scattered bars scattered 65536 4
jacobi-256 bars jacobi 256 20
cg bars cg 100000 5
kmeans bars kmeans 20000 5
anew bars anew 65536 3
EP ep S
TEXT
    *) cat <<'TEXT' ;;
scattered bars scattered
jacobi-256 bars jacobi
stencil-4096 bars jacobi 4096 100
cg bars cg
kmeans bars kmeans 500000 40
anew bars anew
EP ep A 40
lavaMD lavamd A 40
blackscholes blackscholes A 400
TEXT
    esac
}
# Runs such a program one way; its time: NAME.WAY SECONDS.
bar() { # NAME WAY PROGRAM ARGUMENTS NODES:THREADS:CROSS
    cross=${5##*:} threads=${5%:*}
    nodes=${threads%:*} threads=${threads##*:} schedule=static
    [ "$nodes" = 1 ] || schedule=hetprobe
    # shellcheck disable=SC2086 # words
    HETMP_DSM_CPUS=own HETMP_DSM_CROSS=$cross OMP_SCHEDULE=$schedule timeout 300 "$hetmp" run --nodes "$nodes" \
        --threads "$threads" "$scratch/$3" $4 2>&1 >"$scratch/bar.$2" </dev/null |
        sed -n "s/.*seconds=\([0-9.]*\).*/$1.$2 \1/p" >>"$scratch/bars.txt"
    cmp -s "$scratch/bar.one" "$scratch/bar.$2" || {
        echo "hetmp: $1, $2: printed something else than with one thread" >&2
        exit 1
    }
}

irregularities='0 25 50 75 100'
! has 4 || gcc -O2 -fopenmp c-tests/dsm/mix.c -o "$scratch/mix"
if has 5; then
    gcc -O2 -fopenmp c-tests/bench/dsm_bars.c -o "$scratch/bars" -lm
    for k in lavamd blackscholes; do
        gcc -O2 -fopenmp -Ic-tests/kernels "c-tests/kernels/$k.c" -o "$scratch/$k" -lm
    done
fi
if has 3; then
    for k in $kernels; do
        gcc -O2 -fopenmp -Ic-tests/kernels "c-tests/kernels/$k.c" -o "$scratch/$k" -lm
        gcc -O2 -fopenmp -DFORM_RUNTIME -Ic-tests/kernels "c-tests/kernels/$k.c" -o "$scratch/$k-runtime" -lm
    done
fi
for round in $(seq "$rounds"); do
    if has 1; then
        "$hetmp" run --nodes dsm:2 --threads 2 "$scratch/faults" >>"$scratch/faults.txt"
        "$scratch/floor" >>"$scratch/floors.txt"
    fi
    if has 2; then
        for way in 1,1 1,2 dsm:2,2; do
            "$hetmp" run --nodes "${way%,*}" --threads "${way#*,}" "$scratch/ep" "$size" 2>&1 >"$scratch/ep.$way" |
                sed -n "s/.*seconds=\([0-9.]*\).*/ep-$way \1/p" >>"$scratch/ep.txt"
        done
        cmp -s "$scratch/ep.1,2" "$scratch/ep.dsm:2,2" || {
            echo "hetmp: round $round: EP printed something else on two nodes" >&2
            exit 1
        }
    fi
    if has 3; then
        for k in $kernels; do
            for way in one across dynamic decided origin; do kernel "$k" $way; done
        done
    fi
    if has 5; then
        bars | while read -r name program arguments; do
            for way in one:1:1:never two:1:2:never decided:dsm:2:2:auto across:dsm:2:2:always; do
                # Three minutes, which is what it shows.
                [ "$size:$name:${way%%:*}" != A:scattered:across ] || continue
                bar "$name" "${way%%:*}" "$program" "$arguments" "${way#*:}"
            done
        done
    fi
    if has 4; then
        for i in $irregularities; do
            OMP_NUM_THREADS=1 "$scratch/mix" "$i" >"$scratch/mix.expected" 2>/dev/null
            for way in dynamic static-csr:1,1 hetprobe hetprobe-i; do
                OMP_SCHEDULE=$way "$hetmp" run --nodes dsm:2 --threads 2 "$scratch/mix" "$i" 2>&1 >"$scratch/mix.out" |
                    awk -F= -v name="mix-$i-$way" '/^seconds=/ { print name, 1000 * $2 }' >>"$scratch/mix.txt"
                cmp -s "$scratch/mix.expected" "$scratch/mix.out" || {
                    echo "hetmp: mix at $i %, $way: printed something else than on one node" >&2
                    exit 1
                }
            done
        done
    fi
done

# Median, smallest and largest of a column of the lines with a name.
of() { # FILE NAME COLUMN
    awk -v name="$2" -v column="$3" '$1 == name { print $column }' "$1" | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) printf "%.2f (%.2f-%.2f)", v[int((NR + 1) / 2)], v[1], v[NR] }'
}
median() { of "$1" "$2" "$3" | cut -d' ' -f1; }
# The median of a column of part 3, in full: a lap may take less than a hundredth of a second.
full() { # NAME.WAY COLUMN
    awk -v name="$1" -v column="$2" '$1 == name { print $column }' "$scratch/kernels.txt" | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'
}

if has 1; then
    echo "| two nodes of this machine | median of $rounds, us | 99th percentile, us | floor, us | over the floor |"
    echo "| --- | --- | --- | --- | --- |"
    for kind in local read upgrade handed dirty round-trip barrier; do
        one=$(median "$scratch/faults.txt" $kind 2)
        floor=$(median "$scratch/floors.txt" $kind 2)
        ratio=
        [ -z "$floor" ] || ratio=$(awk -v a="$one" -v b="$floor" 'BEGIN { printf "%.2f", a / b }')
        echo "| $kind | $(of "$scratch/faults.txt" $kind 2) | $(of "$scratch/faults.txt" $kind 3) |" \
            "${floor:+$(of "$scratch/floors.txt" $kind 2)} | $ratio |"
    done
    floors=$scratch/floors.txt
    echo "| a bare fault between two processes | $(of "$floors" bare 2) | $(of "$floors" bare 3) | | |"
fi
if has 2; then
    echo
    echo "| EP $size | median, s | of one thread's time |"
    echo "| --- | --- | --- |"
    one=$(median "$scratch/ep.txt" ep-1,1 2)
    for way in 1,1 1,2 dsm:2,2; do
        it=$(median "$scratch/ep.txt" "ep-$way" 2)
        echo "| nodes ${way%,*}, threads ${way#*,} | $(of "$scratch/ep.txt" "ep-$way" 2) |" \
            "$(awk -v a="$it" -v b="$one" 'BEGIN { printf "%.2f", a / b }') |"
    done
fi
if has 3; then
    # Each kernel's times of one node alone, divided by its times in each way; then the geometric means.
    echo
    echo "| kernel $size | one node, s | across | across, dynamic | decided | at the origin \
| settled: across | decided |"
    echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for k in $kernels; do
        line="$k $(full "$k.one" 2) $(full "$k.one" 3)"
        for way in across dynamic decided origin; do
            line="$line $(full "$k.$way" 2) $(full "$k.$way" 3)"
        done
        echo "$line"
    done | awk '
        function ratio(a, b) { return b > 0 ? a / b : 0 }
        {
            r[1] = ratio($2, $4); r[2] = ratio($2, $6); r[3] = ratio($2, $8); r[4] = ratio($2, $10)
            r[5] = ratio($3, $5); r[6] = ratio($3, $9); r[7] = r[1] > 1 ? r[1] : 1; r[8] = r[5] > 1 ? r[5] : 1
            printf "| %s | %s |", $1, $2
            for (i = 1; i <= 6; i++) printf " %.2f |", r[i]
            print ""
            for (i = 1; i <= 8; i++) sum[i] += log(r[i] > 0 ? r[i] : 1)
        }
        END {
            printf "| geometric mean | |"
            for (i = 1; i <= 6; i++) printf " %.2f |", exp(sum[i] / NR)
            printf "\n| the better of one node and across | | %.2f | | | | %.2f | |\n", \
                exp(sum[7] / NR), exp(sum[8] / NR)
        }'
fi
if has 4; then
    echo
    echo "| mix, irregularity | dynamic, ms | static-csr:1,1, ms | hetprobe, ms | hetprobe-i, ms \
| hetprobe / hetprobe-i |"
    echo "| --- | --- | --- | --- | --- | --- |"
    for i in $irregularities; do
        line="| $i % |"
        for way in dynamic static-csr:1,1 hetprobe hetprobe-i; do
            line="$line $(of "$scratch/mix.txt" "mix-$i-$way" 2) |"
        done
        echo "$line $(awk -v a="$(median "$scratch/mix.txt" "mix-$i-hetprobe" 2)" \
            -v b="$(median "$scratch/mix.txt" "mix-$i-hetprobe-i" 2)" 'BEGIN { printf "%.2f", (b > 0 ? a / b : 0) }') |"
    done
fi
if has 5; then
    echo
    echo "| $size | one thread, s | two | two nodes, decided | across | of one thread's time: two | decided | across |"
    echo "| --- | --- | --- | --- | --- | --- | --- | --- |"
    bars | while read -r name _; do
        line="| $name |"
        for way in one two decided across; do line="$line $(of "$scratch/bars.txt" "$name.$way" 2) |"; done
        for way in two decided across; do
            line="$line $(awk -v a="$(median "$scratch/bars.txt" "$name.$way" 2)" \
                -v b="$(median "$scratch/bars.txt" "$name.one" 2)" 'BEGIN { printf "%.2f", (b > 0 ? a / b : 0) }') |"
        done
        echo "$line"
    done
fi
