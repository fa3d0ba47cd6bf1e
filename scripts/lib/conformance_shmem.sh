#!/bin/sh
# scripts/conformance shmem: runs OpenSHMEM programs that a user has, on our library. Ships none.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)

usage() {
    cat <<'TEXT'
usage: scripts/conformance shmem DIR [--pes N] [--filter REGEX] [--limit SECONDS]
                                     [--prefix DIR] [--env NAME=VALUE]

Builds every C and C++ program below DIR that includes shmem.h and has a main with
oshcc or oshc++ (each file a program, with DIR and the file's own folder in the include
path), starts it with oshrun, and counts it as passed when it ends with 0 and prints no
line that begins with FAIL or ERROR. DIR is a suite that you obtained, such as
the OpenSHMEM verification suites or the tests of another implementation; none comes
with hetmp. Programs that do not compile by themselves are listed as skipped.

  --pes N            number of PEs (4)
  --filter REGEX     only files whose path matches (grep -E)
  --limit SECONDS    for each run (60)
  --prefix DIR       an installed hetmp; without it one is installed in .cache
  --env NAME=VALUE   for the runs; may be repeated

Ends with 1 if a program failed, and with
  N passed, N failed, N skipped
TEXT
}

refuse() {
    echo "hetmp: $1" >&2
    exit 2
}

suite=
pes=4
filter=.
limit=60
prefix=
variables=
while [ $# -gt 0 ]; do
    case $1 in
    --pes | --filter | --limit | --prefix | --env)
        [ $# -gt 1 ] || refuse "option $1: missing (expected a value)"
        case $1 in
        --pes) pes=$2 ;;
        --filter) filter=$2 ;;
        --limit) limit=$2 ;;
        --prefix) prefix=$2 ;;
        --env) variables="$variables $2" ;;
        esac
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    -*) refuse "option $1: unknown (expected --pes, --filter, --limit, --prefix, --env or --help)" ;;
    *)
        [ -z "$suite" ] || refuse "argument $1: not usable (expected one folder)"
        suite=$1
        ;;
    esac
    shift
done
[ -n "$suite" ] || refuse "argument DIR: missing (expected the folder of a suite)"
[ -d "$suite" ] || refuse "folder $suite: not there (expected the folder of a suite)"
case $pes in '' | *[!0-9]* | 0*) refuse "option --pes $pes: not usable (expected a number from 1)" ;; esac
case $limit in '' | *[!0-9]* | 0*) refuse "option --limit $limit: not usable (expected a number of seconds)" ;; esac
suite=$(CDPATH='' cd -- "$suite" && pwd)

if [ -z "$prefix" ]; then
    prefix=$root/.cache/conformance/shmem/prefix
    "$root/scripts/install" --prefix "$prefix" >/dev/null
fi
[ -x "$prefix/bin/oshcc" ] || refuse "folder $prefix: not usable (expected an installed hetmp)"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
find "$suite" -type f \( -name '*.c' -o -name '*.cc' -o -name '*.cpp' \) |
    grep -E -- "$filter" | sort >"$work/files" || :

passed=0
failed=0
skipped=0
while read -r file; do
    grep -q 'shmem\.h' "$file" && grep -Eq '(^|[^[:alnum:]_])main[[:space:]]*\(' "$file" || continue
    name=${file#"$suite"/}
    compiler=oshcc
    case $file in *.cc | *.cpp) compiler=oshc++ ;; esac
    if ! "$prefix/bin/$compiler" -O1 -w -pthread -fopenmp -I"$suite" -I"$(dirname "$file")" "$file" \
        -o "$work/program" -lm \
        >"$work/build" 2>&1; then
        skipped=$((skipped + 1))
        echo "skipped  $name: $(grep -m 1 -E 'error|undefined' "$work/build" || tail -n 1 "$work/build")"
        continue
    fi
    status=0
    # shellcheck disable=SC2086 # NAME=VALUE words
    (cd "$work" && env $variables timeout -k 5 "$limit" "$prefix/bin/oshrun" -n "$pes" "$work/program") \
        </dev/null >"$work/out" 2>&1 || status=$?
    if [ "$status" = 0 ] && ! grep -Eq '^[[:space:]]*(FAIL|ERROR)' "$work/out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED   $name: status $status: $(grep -m 1 -E 'hetmp: |FAIL|ERROR' "$work/out" || tail -n 1 "$work/out")"
    fi
done <"$work/files"
[ $((passed + failed + skipped)) -gt 0 ] || refuse "folder $suite: no OpenSHMEM program (expected a suite)"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
