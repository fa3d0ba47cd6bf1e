# scripts/bench goal: nonblocking collectives compared with the MPIs that are installed. Sourced by scripts/bench.

case " $* " in
*" --help "*)
    cat <<'TEXT'
scripts/bench goal [--quick] [--rounds N] [--ms N] [--ranks LIST] [--rows LIST] [--least BYTES]
                   [--most BYTES] [--work US] [--engines LIST] [--unbound] [--busy] [--realtime]
                   [--raw FILE] [--svg FILE] [--veth US] [--mtu BYTES] [--alone]

One source, c-tests/bench/goal_bench.c, compiled with our goal.h and with each MPI's mpicc (mpicc.openmpi, mpicc.mpich,
or mpicc where there are no such names). A round is one job of each in turns. For every row (collective and bytes):
blocking latency, overlap with a work loop without tests in it, the overlap that is possible while every processor
computes, processor time for each operation besides the work; medians of the rounds, smallest and largest latency, and
our latency over the best MPI's, of the blocking and of the nonblocking collective. Each rank is bound to a processor. A
second table has ESPGOAL's figures 5 to 7 as rows: latency and overlap of a barrier, an all-to-all of 8 bytes, a sum of
doubles and a graph of the program's own, and their processor time.

  --rounds N      rounds [5; quick 3]
  --ms N          time of a row in a job, milliseconds [20; quick 10]
  --ranks LIST    numbers of processes, separated by commas [2,4]
  --rows LIST     barrier, allreduce, alltoall, broadcast (one root, whose messages stream), broadcast-turns (the
                  ranks are root in turns, so that each waits for the one before), sum (of one double) or graph (two
                  neighbours' doubles, added and passed on; ours alone) [all]
  --least BYTES   the shortest blocks [0]
  --most BYTES    the longest blocks, up to 4194304 [65536; quick 512]
  --work US       the shortest computation during a collective [20]
  --unbound       the system decides where ranks run, hetmp's and the MPIs'
  --busy          next to a process that computes all the time, wherever the system lets it
  --engines LIST  hetmp's: thread, user, and either with :emulated or :tcp behind; nic, nic-thread; kernel, whose
                  blocking collectives go by schedules too, and with which an allreduce sums 64-bit integers instead of
                  doubles, everywhere [thread,user]
  --realtime      all jobs with real-time priority (needs the right to): other programs do not disturb them
                  (MPIs whose ranks spin may then not end, where they share processors or over veth)
  --raw FILE      keeps every line measured
  --svg FILE      draws latency, processor time and overlap by size
  --veth US       every rank in a network namespace of its own, joined by veth pairs and a bridge: ours over sockets,
                  the MPIs over their TCP, kernel over Ethernet frames [engines kernel,thread,user]. With US not 0 the
                  interfaces look for packets only every US microseconds, as the interrupt moderation of a network card
                  has it. Needs root, ip and python3
  --alone         without the MPIs (over veth with a delay their jobs hardly end)
  --mtu BYTES     with --veth: the longest packets of the interfaces [1500]
TEXT
    exit 0
    ;;
esac

rounds=5 ms=20 ranks=2,4 rows=all least=0 most=65536 work=20 engines=
realtime= raw= svg= veth= mtu=1500 alone= unbound= busy=
while [ $# -gt 0 ]; do
    case "$1" in
    --quick) rounds=3 ms=10 most=512 ;;
    --alone) alone=1 ;;
    --unbound) unbound=1 ;;
    --busy) busy=1 ;;
    --realtime) realtime='chrt -f 10' ;;
    --rounds | --ms | --ranks | --rows | --least | --most | --work | --engines | --raw | --svg | --veth | --mtu)
        [ $# -gt 1 ] || {
            echo "hetmp: option $1: no value (expected one)" >&2
            exit 2
        }
        case "$1" in
        --rounds) rounds=$2 ;;
        --ms) ms=$2 ;;
        --ranks) ranks=$2 ;;
        --rows) rows=$2 ;;
        --least) least=$2 ;;
        --most) most=$2 ;;
        --work) work=$2 ;;
        --engines) engines=$2 ;;
        --raw) raw=$2 ;;
        --svg) svg=$2 ;;
        --veth) veth=$2 ;;
        --mtu) mtu=$2 ;;
        esac
        shift
        ;;
    *)
        echo "hetmp: option $1: not usable (expected one that scripts/bench goal --help names)" >&2
        exit 2
        ;;
    esac
    shift
done

# Ends what a launcher has left behind: with real-time priority it would keep the processors for good.
end_ranks() {
    for process in /proc/[0-9]*; do
        case "$(readlink "$process/exe" 2>/dev/null)" in
        "$folder/goal" | "$folder/openmpi" | "$folder/mpich" | "$folder/mpi")
            kill -9 "${process#/proc/}" 2>/dev/null || true
            ;;
        esac
    done
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [ -z "$veth" ]; then
    engines=${engines:-thread,user}
else
    engines=${engines:-kernel,thread,user}
    [ "$(id -u)" = 0 ] || {
        echo "hetmp: option --veth: root is needed for network namespaces" >&2
        exit 2
    }
    . scripts/lib/veth_hosts.sh
    chmod 755 "$folder"
    hosts_of=hgb$$
    trap 'exit 1' INT TERM
    trap 'end_ranks; veth_remove "$hosts_of" "${hosts:-0}"; rm -rf "$folder"' EXIT
fi
if [ -z "${HETMP_PREFIX-}" ]; then
    HETMP_PREFIX=$folder/hetmp
    HETMP_LIB=${HETMP_LIB:-$target/release/libhetmp.so} scripts/install --prefix "$HETMP_PREFIX" >&2
fi
[ -z "$unbound" ] || export GOAL_BENCH_UNBOUND=1
if [ -n "$busy" ]; then
    gcc -D_GNU_SOURCE -O1 c-tests/bench/busy.c -o "$folder/busy"
    "$folder/busy" any >/dev/null &
fi
source=c-tests/bench/goal_bench.c
integers=
case ",$engines," in
*,kernel,*) integers=-DINTEGERS ;;
esac
gcc -O2 $integers "$source" -o "$folder/goal" -I"$HETMP_PREFIX/include" -L"$HETMP_PREFIX/lib" \
    -Wl,-rpath,"$HETMP_PREFIX/lib" -lhetmp -lhetmp_goal
# shellcheck source=scripts/lib/mpi_shim.sh
. scripts/lib/mpi_shim.sh
mpis=
for mpi in openmpi mpich; do
    [ -z "$alone" ] || break
    command -v "mpicc.$mpi" >/dev/null 2>&1 || continue
    compiles_mpi "mpicc.$mpi" || {
        echo "bench goal: compiler mpicc.$mpi: no mpi.h; left out" >&2
        continue
    }
    "mpicc.$mpi" -O2 -DUSE_MPI $integers "$source" -o "$folder/$mpi"
    mpis="$mpis $mpi"
done
if [ -z "$mpis$alone" ] && command -v mpicc >/dev/null 2>&1; then
    mpicc -O2 -DUSE_MPI $integers "$source" -o "$folder/mpi"
    mpis=mpi
fi
[ -n "$mpis$alone" ] || echo "bench goal: no mpicc is installed: ours alone" >&2

# Runs a command as one job, and keeps its rows, with who and how many in front.
job() { # WHO RANKS COMMAND...
    who=$1 n=$2
    shift 2
    # Ranks that spin where they outnumber processors take a time slice for each step (MPICH: tens of milliseconds).
    limit=60
    [ "$n" -le "$(nproc)" ] || limit=180
    # shellcheck disable=SC2086 # none, or a command with its arguments
    if timeout -k 5 $limit $realtime "$@" "$ms" "$rows" "$most" "$least" "$work" >"$folder/out" 2>"$folder/err"; then
        sed "s/^/$who $n /" "$folder/out" >>"$folder/all"
    else
        why=$(head -c 300 "$folder/err")
        echo "bench goal: $who with $n processes: ended with an error, or not in $limit s: $why" >&2
        end_ranks
    fi
}

ours() { # ENGINE[:WAY] RANKS
    engine=${1%%:*} nic=auto blocking=auto
    [ "$engine" != kernel ] || blocking=schedule
    [ "$engine" = "$1" ] || nic=${1#*:}
    run="$HETMP_PREFIX/bin/hetrun"
    if [ -z "$veth" ]; then
        job "goal-$1" "$2" env HETMP_GOAL_ENGINE="$engine" HETMP_GOAL_BLOCKING="$blocking" HETMP_NIC="$nic" \
            "$run" -n "$2" "$folder/goal"
    else
        job "goal-$1" "$2" env HETMP_GOAL_ENGINE="$engine" HETMP_GOAL_BLOCKING="$blocking" HETMP_NIC=tcp \
            HETMP_GOAL_INTERFACE=eth0 "$run" --ssh "$folder/ssh" --hosts "$folder/hosts" "$folder/goal"
    fi
}

# Over veth, the launcher runs on the first host.
theirs() { # MPI RANKS
    case "$1${veth:+-veth}" in
    openmpi)
        # shellcheck disable=SC2086 # none, or two words
        job "$1" "$2" mpirun.openmpi --oversubscribe ${unbound:+--bind-to none} -n "$2" "$folder/$1" ;;
    mpich) job "$1" "$2" mpiexec.mpich -n "$2" "$folder/$1" ;;
    openmpi-veth)
        on=$(sed 's/$/:1/' "$folder/hosts" | paste -sd, -)
        job "$1" "$2" "$folder/ssh" 10.216.7.1 mpirun.openmpi --oversubscribe --bind-to none -n "$2" --host "$on" \
            --mca plm_rsh_agent "$folder/ssh" --mca oob_tcp_if_include eth0 --mca pml ob1 --mca btl tcp,self \
            --mca btl_tcp_if_include eth0 "$folder/$1"
        ;;
    mpich-veth)
        job "$1" "$2" env UCX_TLS=tcp,self UCX_NET_DEVICES=eth0 "$folder/ssh" 10.216.7.1 mpiexec.mpich -n "$2" \
            -launcher ssh -launcher-exec "$folder/ssh" -iface eth0 -f "$folder/hosts" "$folder/$1"
        ;;
    *-veth) echo "bench goal: option --veth (expected mpicc.openmpi and mpicc.mpich)" >&2 ;;
    *) job "$1" "$2" mpiexec -n "$2" "$folder/$1" ;;
    esac
}
# As root Open MPI wants to be told that this is meant.
[ "$(id -u)" != 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

: >"$folder/all"
for n in $(echo "$ranks" | tr , ' '); do
    if [ -n "$veth" ]; then
        veth_remove "$hosts_of" "${hosts:-0}"
        hosts=$n
        veth_hosts "$hosts_of" "$hosts" "$folder" "$mtu"
        [ "$veth" = 0 ] || veth_moderate "$hosts_of" "$hosts" "$veth"
    fi
    round=0
    while [ "$round" -lt "$rounds" ]; do
        for engine in $(echo "$engines" | tr , ' '); do
            ours "$engine" "$n"
        done
        for mpi in $mpis; do
            theirs "$mpi" "$n"
        done
        round=$((round + 1))
    done
done
[ -z "$raw" ] || cp "$folder/all" "$raw"
title="$(nproc) processors, $rounds rounds, medians${veth:+, over veth, packets every $veth us}"
[ -z "$svg" ] || awk -v title="$title" \
    -f scripts/lib/bench_goal_svg.awk "$folder/all" >"$svg"

echo "$(nproc) processors, $rounds rounds; latency us: median (smallest-largest); overlap 0..1; \
CPU and begin: us for each operation"
# Sorted by latency, so that the middle line of a group is the median.
sort -k2,2n -k3,3 -k4,4n -k1,1 -k5,5n "$folder/all" | awk '
function middle(list, n,   v, i, j, t) {
    split(list, v, " ")
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    return v[int((n + 1) / 2)]
}
{
    row = $2 " " $3 " " $4
    if (!(row in seen)) { seen[row] = 1; rows[++count] = row }
    key = row " " $1
    if (!(key in number)) { names[row] = names[row] " " $1; least[key] = $5 }
    number[key]++
    latency[key] = latency[key] " " $5; overlap[key] = overlap[key] " " $6; cpu[key] = cpu[key] " " $7
    begun[key] = begun[key] " " $8; apart[key] = apart[key] " " $9; possible[key] = possible[key] " " $10
    added[key] = added[key] " " $11
    if ($5 < least[key]) least[key] = $5
    if ($5 > largest[key]) largest[key] = $5
}
END {
    print "| processes | collective | bytes | who | latency | of the best MPI | nonblocking | of the best " \
        "MPI | added | of the best MPI | overlap | possible | CPU | begin |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for (i = 1; i <= count; i++) {
        row = rows[i]; n = split(names[row], who, " "); best = best_apart = best_added = 0
        for (j = 1; j <= n; j++) {
            key = row " " who[j]; m = middle(latency[key], number[key])
            if (who[j] !~ /^goal/ && (best == 0 || m < best)) best = m
            m = middle(apart[key], number[key])
            if (who[j] !~ /^goal/ && (best_apart == 0 || m < best_apart)) best_apart = m
            m = middle(added[key], number[key])
            if (who[j] !~ /^goal/ && (best_added == 0 || m < best_added)) best_added = m
        }
        split(row, part, " ")
        for (j = 1; j <= n; j++) {
            key = row " " who[j]; m = middle(latency[key], number[key])
            a = middle(apart[key], number[key])
            d = middle(added[key], number[key])
            ratio = apart_ratio = added_ratio = "-"
            if (best > 0) { ratio = sprintf("%.2f", m / best); apart_ratio = sprintf("%.2f", a / best_apart) }
            if (best_added > 0) added_ratio = sprintf("%.2f", d / best_added)
            printf("| %s | %s | %s | %s | %.2f (%.2f-%.2f) | %s | %.2f | %s | %.2f | %s ", \
                part[1], part[2], part[3], who[j], m, least[key], largest[key], ratio, a, apart_ratio, \
                d, added_ratio)
            printf("| %.2f | %.2f | %.1f | %.1f |\n", \
                middle(overlap[key], number[key]), \
                middle(possible[key], number[key]), middle(cpu[key], number[key]), \
                middle(begun[key], number[key]))
        }
    }
}'

# The figures of the paper, which has curves without numbers.
echo
echo "ESPGOAL's figures (nodes on Gigabit Ethernet there):"
echo "5, the kernel's barrier takes no longer than that over TCP; 6, its overlap is"
echo "high where the others' is low; 7, it takes less processor time than the others. Medians here:"
sort -k2,2n "$folder/all" | awk '
function middle(list, n,   v, i, j, t) {
    split(list, v, " ")
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    return v[int((n + 1) / 2)]
}
function add(what, value,   key) {
    key = what SUBSEP $2 SUBSEP $1
    values[key] = values[key] " " value; number[key]++
}
{
    if (!($1 in seen)) { seen[$1] = 1; who[++whos] = $1 }
    if (!($2 in counted)) { counted[$2] = 1; ranks[++counts] = $2 }
}
$3 == "barrier" {
    add("5: latency of a barrier, us", $5)
    add("6b: overlap of a barrier", $6)
    add("7: processor time of a barrier, us", $7)
}
$3 == "alltoall" && $4 == 8 {
    add("6a: overlap of an all-to-all of 8 bytes", $6)
    add("7: processor time of an all-to-all of 8 bytes, us", $7)
}
$3 == "sum" {
    add("6c: overlap of a sum of doubles", $6)
    add("7: processor time of a sum of doubles, us", $7)
}
$3 == "graph" {
    add("6d: overlap of a graph of the program", $6)
    add("7: processor time of a graph of the program, us", $7)
}
END {
    n = split("5: latency of a barrier, us|6a: overlap of an all-to-all of 8 bytes|6b: overlap of a barrier|" \
              "6c: overlap of a sum of doubles|6d: overlap of a graph of the program|" \
              "7: processor time of a barrier, us|7: processor time of an all-to-all of 8 bytes, us|" \
              "7: processor time of a sum of doubles, us|7: processor time of a graph of the program, us", figure, "|")
    head = "| figure | processes |"; rule = "| --- | --- |"
    for (j = 1; j <= whos; j++) { head = head " " who[j] " |"; rule = rule " ---: |" }
    print head; print rule
    for (f = 1; f <= n; f++)
        for (i = 1; i <= counts; i++) {
            line = ""
            for (j = 1; j <= whos; j++) {
                key = figure[f] SUBSEP ranks[i] SUBSEP who[j]
                if (key in number) { line = line sprintf(" %.2f |", middle(values[key], number[key])); has = 1 }
                else line = line " |"
            }
            if (has) print "| " figure[f] " | " ranks[i] " |" line
            has = 0
        }
}'
