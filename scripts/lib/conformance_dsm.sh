#!/bin/sh
# Run the programs of c-tests on several nodes of a software DSM, and compare their output with that under libgomp.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
usage() {
    cat <<'TEXT'
usage: scripts/conformance dsm [--nodes "2 3 4"] [--by "uffd sigsegv"] [--filter REGEX]
                               [--sample N] [--cross always|auto]

Compiles each program of c-tests with gcc, g++ or gfortran, runs it under libgomp, and
under libhetmp.so on 2, 3 and 4 nodes (HETMP_NODES=dsm:N), with page faults caught by
userfaultfd and by signals. Standard output and exit status must be equal. All regions
cross nodes that may (--cross). --sample N: one program in N.

Prints a line for each program that differs, and a table: how many are equal, and in
how many of these a region crossed nodes. A program that is not over after PATIENCE
seconds (60, or the time limit of its own first lines if that is longer) is stopped,
and differs; one that libgomp does not end by then is not run. Ends with 1 if a program
differs that is not in abi-compat/dsm-exceptions.txt, which says why the others do.

gcc's own suite on nodes: scripts/conformance gomp --threads 4 \
    --env HETMP_NODES=dsm:2 --env HETMP_DSM_CROSS=always
The libraries are HETMP_LIB and libhetmp_dsm.so next to it, or those of target/release.
TEXT
}
refuse() {
    echo "hetmp: $1" >&2
    exit 2
}
nodes="2 3 4" by="uffd sigsegv" filter=. sample=1 cross=always
while [ $# -gt 0 ]; do
    case $1 in
    --nodes | --by | --filter | --sample | --cross)
        [ $# -gt 1 ] || refuse "option $1: no value (expected one)"
        case $1 in
        --nodes) nodes=$2 ;;
        --by) by=$2 ;;
        --filter) filter=$2 ;;
        --sample) sample=$2 ;;
        --cross) cross=$2 ;;
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
for n in $nodes; do
    case $n in [2-9] | 1[0-6]) ;; *) refuse "option --nodes $n: out of range (expected 2 to 16)" ;; esac
done
for b in $by; do
    case $b in uffd | sigsegv) ;; *) refuse "option --by $b: not usable (expected uffd and sigsegv)" ;; esac
done
cd "$root"
if [ -z "${HETMP_LIB:-}" ]; then
    cargo build --release --quiet -p hetmp -p hetmp-dsm-preload
    HETMP_LIB=$root/${CARGO_TARGET_DIR:-target}/release/libhetmp.so
fi
beside=$(dirname -- "$HETMP_LIB")/libhetmp_dsm.so
[ -e "$beside" ] || refuse "file $beside: not usable (expected libhetmp_dsm.so next to libhetmp.so)"
preload=$beside:$HETMP_LIB
exceptions=$root/abi-compat/dsm-exceptions.txt
work=$root/.cache/conformance-dsm
mkdir -p "$work"
results=$work/results
: >"$results"

# The values of a header line: header FILE KEY
header() {
    sed -n '1,30s/.*hetmp-test: *'"$2"'=\(.*\)$/\1/p' "$1" | sed 's/ *\*\/ *$//; s/ *$//'
}

# Compiles FILE to PROGRAM, unless a newer one is there.
compile() {
    if [ -e "$2" ] && [ -z "$(find "$1" c-tests/openmp/check.h -newer "$2")" ]; then
        return 0
    fi
    case $1 in
    *.cc) compiler=g++ ;;
    *.f90 | *.F90) compiler=gfortran ;;
    *) compiler=gcc ;;
    esac
    # shellcheck disable=SC2046
    (cd "$3" && $compiler -fopenmp -O2 $(header "$1" flags) "$1" -o "$2" $(header "$1" libs)) >"$3/compiled" 2>&1
}

# A program that says that it takes long gets the time: 20,000 short regions take 14 seconds
# on three nodes of a quiet machine, and more than a minute next to two other busy threads.
patience() {
    own=$(header "$1" timeout)
    if [ "${own:-0}" -gt "${PATIENCE:-60}" ]; then echo "$own"; else echo "${PATIENCE:-60}"; fi
}

# Runs PROGRAM with the settings of FILE, output to OUT; further settings follow.
run() (
    file=$1 program=$2 out=$3
    shift 3
    cd "$(dirname -- "$program")"
    for setting in "$@"; do export "${setting?}"; done
    header "$file" env >"$out.env"
    while read -r setting; do export "${setting?}"; done <"$out.env"
    status=0
    # shellcheck disable=SC2046
    timeout -k 2 "$(patience "$file")" "$program" $(header "$file" args) >"$out" 2>"$out.said" </dev/null || status=$?
    echo "exit $status" >>"$out"
)

number=0
programs=$root/c-tests/openmp
for file in "$programs"/*.c "$programs"/*.cc "$programs"/*.f90 "$programs"/*.F90; do
    name=$(basename -- "$file")
    echo "$name" | grep -qE -- "$filter" || continue
    number=$((number + 1))
    [ $((number % sample)) -eq 0 ] || continue
    # What libgomp cannot run, and programs that open libraries of their own, are not compared.
    if [ -n "$(header "$file" only)$(header "$file" lib)" ]; then
        continue
    fi
    dir=$work/$name
    mkdir -p "$dir"
    program=$dir/program
    if ! compile "$file" "$program" "$dir"; then
        echo "$name: does not compile: $(head -1 "$dir/compiled")"
        echo "$name 0 gcc failed" >>"$results"
        continue
    fi
    threads=4
    allowed=$(header "$file" threads)
    case ,${allowed:-4,8}, in *,4,* | *,8,*) ;; *) threads=$(echo "$allowed" | tr , '\n' | sort -n | tail -1) ;; esac
    run "$file" "$program" "$dir/expected" OMP_NUM_THREADS="$threads"
    if [ "$(tail -1 "$dir/expected")" = "exit 124" ]; then
        # Two runs that were stopped would be equal.
        echo "$name: not compared: under libgomp it takes more than $(patience "$file") seconds"
        echo "$name 0 libgomp late" >>"$results"
        continue
    fi
    for b in $by; do
        for n in $nodes; do
            : >"$dir/report"
            run "$file" "$program" "$dir/got" OMP_NUM_THREADS="$threads" LD_PRELOAD="$preload" \
                HETMP_NODES="dsm:$n" HETMP_DSM="$b" HETMP_DSM_CROSS="$cross" HETMP_REPORT="$dir/report"
            how=stayed
            grep -qE '"crossed": *[1-9]' "$dir/report" && how=crossed
            if ! cmp -s "$dir/expected" "$dir/got"; then
                how=differs
                known=$(sed -n "s/^$name  *//p" "$exceptions")
                [ -z "$known" ] || how=known
                last=$(tail -1 "$dir/got.said")
                echo "$name, $n nodes, $b: $(tail -1 "$dir/got"); ${known:-$last}"
            fi
            echo "$name $n $b $how" >>"$results"
        done
    done
done

awk '
    $4 == "late" { late++; next }
    { runs[$3 " " $2]++; count[$3 " " $2, $4]++ }
    END {
        printf "%-8s %5s %8s %6s %8s %6s %8s\n", "faults", "nodes", "programs", "equal", "crossed", "known", "differ"
        for (key in runs) {
            split(key, k, " ")
            equal = count[key, "crossed"] + count[key, "stayed"]
            known = count[key, "known"]
            printf "%-8s %5s %8d %6d %8d %6d %8d\n", k[1], k[2], runs[key], equal, count[key, "crossed"], known, \
                runs[key] - equal - known | "sort"
        }
        close("sort")
        if (late) print late " not compared"
    }' "$results"
! grep -qE ' (differs|failed)$' "$results"
