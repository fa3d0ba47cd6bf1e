#!/bin/sh
# `scripts/bench goal kernel`: ESPGOAL's Figure 4. Run by scripts/bench, at the root.
set -eu
usage() {
    cat <<'TEXT'
usage: scripts/bench goal kernel [--quick] [--rounds N] [--raw FILE]

Figure 4 of ESPGOAL with eBPF programs in the kernel (c-tests/bench/goal_kernel.c):
  a. a frame on the loopback device: until the program in the kernel has woken the sender,
     or until a work item that the program queues has; ESPGOAL's interpreter is such an item,
     and hetmp's engine `kernel` needs none. Also: half of the time until a thread with a
     raw socket has answered, which needs no interrupt.
  b. maxima of vectors of floats, in the kernel and in user space.
N rounds (5; 2 with --quick), which take 3 seconds each (quick: 1); medians (least-most).
--raw FILE keeps every line measured. Needs root, Linux 6.10, clang 16 and libbpf's headers
(libbpf-dev); where one is missing, the last line says which, and the status is 77.
TEXT
}

rounds=5 ms=200 raw=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) rounds=2 ms=60 ;;
    --rounds | --raw)
        [ $# -gt 1 ] || {
            echo "hetmp: option $1: no value (expected one)" >&2
            exit 2
        }
        case $1 in
        --rounds) rounds=$2 ;;
        --raw) raw=$2 ;;
        esac
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        echo "hetmp: option $1: unknown (expected --quick, --rounds, --raw or --help)" >&2
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

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
missing() { # WHAT
    echo "skipped: $1"
    exit 77
}
[ "$(id -u)" = 0 ] || missing "root is needed"
made=
why='no clang 16 or later is installed'
for clang in clang-19 clang-20 clang-21 clang-18 clang-17 clang-16 clang; do
    command -v $clang >/dev/null || continue
    # Debian has <asm/types.h>, which <linux/types.h> includes, in a folder of the architecture.
    if $clang -target bpfel -mcpu=v3 -O2 -g -Wall -idirafter"/usr/include/$(uname -m)-linux-gnu" \
        -c c-tests/bench/goal_kernel.bpf.c -o "$folder/programs.o" 2>"$folder/err"; then
        made=yes
        break
    fi
    why="$clang: $(grep -m1 error "$folder/err" || true)"
done
[ -n "$made" ] || missing "$why"
gcc -std=gnu11 -O3 c-tests/bench/goal_kernel.c -o "$folder/goal_kernel" -lbpf -lpthread 2>"$folder/err" ||
    missing "gcc: $(grep -m1 error "$folder/err" || true)"

: >"$folder/all"
round=0
while [ "$round" -lt "$rounds" ]; do
    status=0
    timeout -k 5 120 "$folder/goal_kernel" "$folder/programs.o" "$ms" >"$folder/out" 2>"$folder/err" || status=$?
    [ "$status" != 77 ] || missing "$(sed 's/^hetmp: //' "$folder/err")"
    [ "$status" = 0 ] || {
        echo "bench goal kernel: ended with $status: $(head -c 300 "$folder/err")" >&2
        exit 1
    }
    cat "$folder/out" >>"$folder/all"
    round=$((round + 1))
done
[ -z "$raw" ] || cp "$folder/all" "$raw"

echo "$(nproc) processors, $rounds rounds: median (smallest-largest)"
# Sorted by the value, so that the middle line of a group is the median.
awk '{ v = $NF; $NF = ""; print $0 "\t" v }' "$folder/all" | sort -t "$(printf '\t')" -k1,1 -k2,2n | awk -F '\t' '
{
    sub(/ $/, "", $1)
    if (!($1 in n)) least[$1] = $2
    value[$1, ++n[$1]] = $2
    largest[$1] = $2
}
function shown(key) { return key in n ? sprintf("%s (%s-%s)", middle(key), least[key], largest[key]) : "-" }
function middle(key) { return value[key, int((n[key] + 1) / 2)] }
END {
    print "\n| us | a thread answers | program in the kernel | work item | item over kernel | an item until it runs |"
    print "| --- | ---: | ---: | ---: | ---: | ---: |"
    printf("| a frame of 64 bytes | %s | %s | %s | %.2f | %s |\n", shown("answer user"), shown("answer kernel"), \
        shown("answer item"), middle("answer item") - middle("answer kernel"), shown("item"))
    print "\nThe paper: an item adds 1.6 us.\n"
    print "| maxima, ns | kernel | user | user, without vectors | kernel / user |"
    print "| ---: | ---: | ---: | ---: | ---: |"
    for (floats = 1; floats <= 65536; floats *= 4) {
        key = "maxima " floats " "
        printf("| %d floats | %s | %s | %s | %.2f |\n", floats, \
            shown(key "kernel"), shown(key "user"), shown(key "scalar"), \
            middle(key "kernel") / middle(key "user"))
    }
    print "\nThe paper: the kernel is a little slower for short vectors and faster for long ones."
    print "eBPF has neither floating point nor vector instructions: the program compares integers, one by one."
}'
