#!/bin/sh
# scripts/conformance shmem4py: builds Python's bindings of OpenSHMEM with our oshcc and runs their own tests.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)

usage() {
    cat <<'TEXT'
usage: scripts/conformance shmem4py [--pes LIST] [--prefix DIR] [--venv DIR]

Fetches shmem4py from PyPI, builds it unmodified with oshcc, as "pip install shmem4py"
does where oshcc is in PATH, and runs each file of its tests under oshrun.

  --pes LIST    numbers of PEs, with commas (1,2,4)
  --prefix DIR  an installed hetmp; without it one is installed in .cache
  --venv DIR    a Python environment with shmem4py (.cache/conformance/shmem4py/venv),
                made and filled by pip where it is not there

shmem4py 1.0 was written for numpy 1: the environment gets a numpy below 2. Ends with
1 if a file of tests failed, and with
  N passed, N failed, N skipped
TEXT
}

refuse() {
    echo "hetmp: $1" >&2
    exit 2
}

pes=1,2,4
prefix=
cache=$root/.cache/conformance/shmem4py
venv=$cache/venv
while [ $# -gt 0 ]; do
    case $1 in
    --pes | --prefix | --venv)
        [ $# -gt 1 ] || refuse "option $1: missing (expected a value)"
        case $1 in
        --pes) pes=$2 ;;
        --prefix) prefix=$2 ;;
        --venv) venv=$2 ;;
        esac
        shift
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) refuse "argument $1: unknown (expected --pes, --prefix, --venv or --help)" ;;
    esac
    shift
done
case $pes in
'' | *[!0-9,]* | *,,* | ,* | *, | 0* | *,0*)
    refuse "option --pes $pes: not usable (expected numbers from 1, with commas)"
    ;;
esac

if [ -z "$prefix" ]; then
    prefix=$cache/prefix
    "$root/scripts/install" --prefix "$prefix" >/dev/null
fi
[ -x "$prefix/bin/oshcc" ] || refuse "folder $prefix: not usable (expected an installed hetmp)"
prefix=$(CDPATH='' cd -- "$prefix" && pwd)
PATH=$prefix/bin:$PATH
export PATH

mkdir -p "$cache/source"
if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet cffi setuptools wheel 'numpy<2'
fi
venv=$(CDPATH='' cd -- "$venv" && pwd)
# The archive has the tests; what pip installs has not.
"$venv/bin/pip" download --quiet --no-deps --no-build-isolation --no-binary :all: --dest "$cache/source" shmem4py
for archive in "$cache"/source/shmem4py-*.tar.gz; do
    [ -f "$archive" ] || refuse "shmem4py: PyPI gave no archive of sources"
done
rm -rf "$cache/source/tree"
mkdir "$cache/source/tree"
tar xzf "$archive" -C "$cache/source/tree" --strip-components=1
"$venv/bin/pip" install --quiet --no-deps --no-build-isolation --no-cache-dir --force-reinstall "$archive"

passed=0
failed=0
cd "$cache/source/tree/test"
for number in $(echo "$pes" | tr , ' '); do
    for file in test_*.py; do
        status=0
        timeout -k 5 300 oshrun -n "$number" "$venv/bin/python" -W ignore "$file" \
            >"$cache/out" 2>&1 </dev/null || status=$?
        # Each PE runs the file's tests and says so.
        ended=$(grep -c -E '^OK( |$)' "$cache/out" || :)
        if [ "$status" = 0 ] && [ "$ended" = "$number" ]; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            why=$(grep -m 1 -E 'hetmp: |Error' "$cache/out" || tail -n 1 "$cache/out")
            echo "FAILED   $file, $number PEs: status $status: $why"
        fi
    done
done
[ "$passed$failed" != 00 ] || refuse "shmem4py: its archive has no tests"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
