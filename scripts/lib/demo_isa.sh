#!/bin/sh
# `scripts/demo isa`: one OpenMP program on x86-64 and on emulated 64-bit Arm. Run by scripts/demo, at the root.
set -eu
. scripts/lib/rust.sh
require_rust || exit 1
scripts/setup --needed || exit 1
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo "demo: building, for two instruction sets"
cargo build --locked --release --quiet --package hetmp --package hetmp-dsm-preload --package hetmp-cli \
    --package hetmp-hetcc
scripts/cross aarch64 >"$scratch/built" 2>&1 || {
    status=$?
    [ "$status" = 77 ] || cat "$scratch/built"
    echo "skipped: $(tail -n 1 "$scratch/built")"
    exit 0
}
arm=$target/aarch64-unknown-linux-gnu/release
root=$PWD
cd "$scratch"
export OMP_NUM_THREADS=4 OMP_SCHEDULE=hetprobe HETMP_DSM_CROSS=always HETMP_VERBOSE=1
both() { # PROGRAM SIZE: on one node, and on two of two instruction sets
    "$target/release/hetcc" -O2 -fopenmp -DFORM_RUNTIME -I"$root/c-tests/kernels" "$root/c-tests/kernels/$1.c" -lm \
        -o "$1"
    "$target/release/hetcc" --other-half "$1" -o "$1.aarch64"
    echo "\$ ./$1 $2                                        libgomp, one process"
    OMP_SCHEDULE=dynamic "./$1" "$2" >alone.out 2>alone.err
    cat alone.out
    echo "\$ hetrun --dsm -n 1 ./$1 $2 : -n 1 ... qemu-aarch64-static ./$1.aarch64 $2"
    "$target/release/hetrun" --dsm -n 1 "./$1" "$2" : \
        -n 1 env "LD_PRELOAD=$arm/libhetmp_dsm.so:$arm/libhetmp.so" \
        "$root/scripts/cross" aarch64 "./$1.aarch64" "$2" >two.out 2>two.err || { cat two.err; exit 1; }
    sed -n 's/^.*hetmp: dsm: \(region.* times.*\|node.*\)/  \1/p' two.err
    cmp alone.out two.out || { echo "demo: its output differs" >&2; exit 1; }
}
both ep A
both blackscholes S
both lavamd S
both kmeans S
file -b ep ep.aarch64 2>/dev/null | cut -d, -f1-2 | sed 's/^/  /' || true
echo "The same output. The emulator makes node 1 slow; loops: the part of the iterations that each node got."
