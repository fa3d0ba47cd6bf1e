#!/bin/sh
# `scripts/demo dsm`: one unmodified program on one process, on two, and on two hosts. Run by scripts/demo, at the root.
set -eu
. scripts/lib/rust.sh
require_rust || exit 1
scripts/setup --needed || exit 1
scratch=$(mktemp -d)
spaces=
# shellcheck disable=SC2317 # called by the trap
clean() {
    for space in $spaces; do
        ip netns del "$space" 2>/dev/null || true
    done
    rm -rf "$scratch"
}
trap clean EXIT
echo "demo: building"
scripts/install --prefix "$scratch/hetmp" >/dev/null
bin=$scratch/hetmp/bin
gcc -O2 -fopenmp -Ic-tests/kernels c-tests/kernels/ep.c -o "$scratch/ep" -lm

# Its output, its time, and what the library says of regions and nodes.
show() { # NAME
    sed -n 's/.*seconds=\([0-9.]*\).*/  \1 s/p' "$scratch/$1.err"
    sed -n 's/^.*hetmp: dsm: \(region.* times.*\|region.*origin.*\|node.*\)/  \1/p' "$scratch/$1.err"
    if ! cmp -s "$scratch/$1.out" "$scratch/libgomp.out"; then
        echo "demo: its output differs from libgomp's" >&2
        exit 1
    fi
}
failed() { # NAME
    cat "$scratch/$1.err" >&2
    exit 1
}

echo "\$ OMP_NUM_THREADS=2 ./ep A                            libgomp, one process"
OMP_NUM_THREADS=2 "$scratch/ep" A >"$scratch/libgomp.out" 2>"$scratch/libgomp.err"
show libgomp
cat "$scratch/libgomp.out"
echo "\$ hetmp run --threads 2 ./ep A                        one process"
"$bin/hetmp" run --threads 2 "$scratch/ep" A >"$scratch/one.out" 2>"$scratch/one.err" || failed one
show one
# EP's one region runs once: without this it would be measured at home, and never cross.
export HETMP_DSM_CROSS=always
echo "\$ export HETMP_DSM_CROSS=always                     regions cross without being tried at home first"
echo "\$ hetmp run --nodes dsm:2 --threads 2 --verbose ./ep A     two processes, each thread in its own"
if ! "$bin/hetmp" run --nodes dsm:2 --threads 2 --verbose "$scratch/ep" A >"$scratch/two.out" 2>"$scratch/two.err"; then
    grep -q 'HETMP_DSM: 'uffd': root' "$scratch/two.err" || failed two
    sed -n 's/^hetmp: /skipped: /p' "$scratch/two.err"
    exit 0
fi
show two

a=demoa$$
b=demob$$
skip() {
    echo "skipped, two hosts: $1"
    exit 0
}
[ "$(id -u)" = 0 ] || skip "network namespaces need root"
command -v ip >/dev/null || skip "no command ip"
unshare --pid --ipc --fork --mount-proc true 2>/dev/null || skip "namespaces of processes are refused"
ip netns add $a 2>/dev/null || skip "network namespaces are refused"
spaces=$a
ip netns add $b
spaces="$a $b"
ip link add v0 netns $a type veth peer name v0 netns $b 2>/dev/null || skip "virtual interfaces are refused"
ip -n $a addr add 10.216.7.1/24 dev v0
ip -n $b addr add 10.216.7.2/24 dev v0
ip -n $a link set v0 up
ip -n $b link set v0 up
# Stands in for ssh: a host is a network namespace, with processes and System V memory of its own.
cat >"$scratch/ssh" <<SSH
while :; do case \$1 in -*) shift ;; *) break ;; esac; done
case \$1 in 10.216.7.1) space=$a ;; *) space=$b ;; esac
shift
exec ip netns exec \$space unshare --pid --ipc --fork --kill-child --mount-proc sh -c "\$*"
SSH
printf '10.216.7.1\n10.216.7.2\n' >"$scratch/hosts"
echo "\$ hetrun --dsm --hosts FILE ./ep A                    two network namespaces, over TCP"
OMP_NUM_THREADS=2 HETMP_VERBOSE=1 "$bin/hetrun" --dsm --hosts "$scratch/hosts" --ssh "sh $scratch/ssh" \
    "$scratch/ep" A >"$scratch/hosts.out" 2>"$scratch/hosts.err" || failed hosts
show hosts
