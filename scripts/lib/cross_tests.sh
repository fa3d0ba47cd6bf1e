#!/bin/sh
# scripts/test's step `cross`: hetmp for 64-bit Arm, cross-compiled and emulated. Status 77 and one line if that cannot
# be done here. Emulation shows what the code computes; it shows nothing of weakly ordered memory or of time.
set -eu
cd "$(dirname "$0")/../.."
. scripts/lib/interfaces.sh
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
own=$target
# Emulation shows nothing of time, so both machines' libraries do without link-time optimisation, which takes minutes:
# in a folder of its own, since target/release is what users run.
target=$target/fast
export CARGO_TARGET_DIR="$target" CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

scripts/cross aarch64 || exit
library=$target/aarch64-unknown-linux-gnu/release/libhetmp.so
cargo build --locked --release --quiet --package hetmp --package hetmp-dsm-preload --package hetmp-cli \
    --package hetmp-hetcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
passed=0
skipped=0
verdict() { # STATUS WHAT
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "hetmp: cross: '$2': failed (see above)"
    fi
}

# Both libraries export the same names at the same versions.
names() { nm -D --defined-only "$1" | awk '{ print $NF }' | sort; }
names "$target/release/libhetmp.so" >"$work/x86"
names "$library" >"$work/arm"
status=0
diff "$work/x86" "$work/arm" || status=1
verdict "$status" "exported names"

# A value that shmem_g reads may be a flag: the reads behind it must not come earlier. x86-64 needs no instruction for
# that, so only the code shows it.
for name in int_g getmem; do
    status=0
    at=$(nm -D "$library" | sed -n "s/^\([0-9a-f]*\) . shmem_$name@.*HETMP_SHMEM$/\1/p")
    aarch64-linux-gnu-objdump -d --start-address="0x$at" --stop-address="$((0x$at + 1200))" "$library" |
        grep -q 'dmb.ishld' || status=1
    verdict "$status" "shmem_$name orders the reads behind it"
done

# Programs of our own headers; each checks itself. Ranks are emulated processes, which this machine's hetrun starts.
mkdir "$work/lib"
ln "$library" "$work/lib/libhetmp.so" 2>/dev/null || cp "$library" "$work/lib/libhetmp.so"
ln -s libhetmp.so "$work/lib/libgomp.so.1"
CC=aarch64-linux-gnu-gcc
export CC
interface_libraries "$work/lib/libhetmp.so" "$work/lib"
program() { # INTERFACE SOURCE [OPTION]...
    interface=$1 source=$2
    shift 2
    # shellcheck disable=SC2046 # options
    $CC -O2 -Iinclude -Ic-tests/shmem -pthread "$@" "$source" -o "$work/program" -L"$work/lib" \
        $(interface_flags "$work/lib" "$interface") -lm
}
runs() { # NAME COMMAND...
    name=$1
    shift
    status=0
    # What a caller preloads is for programs of OpenMP.
    LD_PRELOAD='' timeout 300 "$@" >"$work/out" 2>&1 || status=$?
    [ "$status" = 0 ] || cat "$work/out"
    verdict "$status" "$name"
}
for name in basic stream paper; do
    program mq c-tests/mq/$name.c && runs "mq/$name" scripts/cross aarch64 "$work/program" 3
done
for name in put_get p_g atomics collectives reductions locks signals strided types wait; do
    [ -f c-tests/shmem/$name.c ] || continue
    program shmem c-tests/shmem/$name.c &&
        runs "shmem/$name" "$target/release/hetrun" -n 2 scripts/cross aarch64 "$work/program"
done
for name in graphs collectives groups matrix; do
    program goal c-tests/goal/$name.c &&
        runs "goal/$name" "$target/release/hetrun" -n 2 scripts/cross aarch64 "$work/program"
done

unset CC

# Packages, unpacked into a folder: nothing of them is installed here.
status=0
HETMP_LIB=$library scripts/cross aarch64 package --fast --out "$work/packages" deb wheel >"$work/out" 2>&1 || status=$?
[ "$status" = 0 ] || cat "$work/out"
verdict "$status" "packages are made"
unpacked() {
    for package in "$work"/packages/hetmp_*_arm64.deb "$work"/packages/hetmp-dev_*_arm64.deb; do
        dpkg-deb -x "$package" "$work/deb" && dpkg-deb -f "$package" Package Architecture Depends || return 1
    done
    python3 -m zipfile -e "$work"/packages/hetmp-*_aarch64.whl "$work/wheel"
}
[ "$status" != 0 ] || unpacked || status=$?
verdict "$status" "packages are unpacked"
cat >"$work/which.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    long sum = 0;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
    for (int i = 0; i < 1000; i++) sum += i;
    Dl_info where;
    if (argc != 2 || !dladdr((void *)omp_get_num_procs, &where)) return 2;
    printf("%ld %s\n", sum, where.dli_fname);
    return sum != 499500 || strncmp(where.dli_fname, argv[1], strlen(argv[1]));
}
C
aarch64-linux-gnu-gcc -O2 -fopenmp "$work/which.c" -o "$work/which"
deb=$work/deb/usr/lib/hetmp wheel=$work/wheel/hetmp/lib
runs "a program with the Debian package" env LD_LIBRARY_PATH="$deb/lib" scripts/cross aarch64 "$work/which" "$deb"
runs "a program with the wheel" env LD_PRELOAD="$wheel/libgomp.so.1" scripts/cross aarch64 "$work/which" "$wheel"
runs "the package's command" scripts/cross aarch64 "$deb/bin/hetmp" info
# shellcheck disable=SC2046 # options
aarch64-linux-gnu-gcc -O2 -I"$deb/include" -pthread c-tests/mq/basic.c -o "$work/program" -L"$deb/lib" \
    $(interface_flags "$deb/lib" mq) -lm
runs "mq/basic with the package for developers" scripts/cross aarch64 "$work/program" 3

# Nodes with memory of their own: the library's own tests, programs on emulated nodes, and one program on nodes of two
# instruction sets.
status=0
LD_PRELOAD='' scripts/cross aarch64 cargo test --locked --quiet --package hetmp-dsm --lib --test a64 --test stress \
    >"$work/out" 2>&1 || status=$?
[ "$status" = 0 ] || cat "$work/out"
verdict "$status" "the DSM's own tests"
same() { # NAME: is the output of the last `runs` the one in `alone`?
    status=0
    diff "$work/alone" "$work/out" || status=1
    verdict "$status" "$1: the same output"
}
arm=$(dirname "$library")
for name in constructs shared tasks ordered doacross memory; do
    aarch64-linux-gnu-gcc -O2 -fopenmp "c-tests/dsm/$name.c" -lm -o "$work/program" ||
        { verdict 1 "dsm/$name"; continue; }
    OMP_NUM_THREADS=4 LD_PRELOAD='' scripts/cross aarch64 "$work/program" >"$work/alone" 2>&1 || :
    runs "dsm/$name" env OMP_NUM_THREADS=4 HETMP_NODES=dsm:2 HETMP_DSM_CROSS=always \
        LD_PRELOAD="$arm/libhetmp_dsm.so:$library" scripts/cross aarch64 "$work/program"
    # The emulator has a thread of its own, and this machine's programs that start it cannot load the libraries.
    sed -i '/^hetmp: threads that libraries started/d; /^ERROR: ld.so: .* cannot be preloaded/d' "$work/out"
    same "dsm/$name"
done
# The last one's regions: their code is found to be fit for nodes.
OMP_NUM_THREADS=4 HETMP_NODES=dsm:2 HETMP_DSM_CROSS=always HETMP_VERBOSE=1 \
    LD_PRELOAD="$arm/libhetmp_dsm.so:$library" timeout 300 scripts/cross aarch64 "$work/program" >"$work/out" 2>&1 || :
status=0
grep -q ': may cross nodes' "$work/out" || status=1
verdict "$status" "regions are admitted by their code"
halves() { # PROGRAM FORM: a kernel for both machines
    "$target/release/hetcc" -O2 -fopenmp "-DFORM_$2" -Ic-tests/kernels "c-tests/kernels/$1.c" -lm -o "$work/both" &&
        "$target/release/hetcc" --other-half "$work/both" -o "$work/both.arm"
}
few= # options of the emulator
two_machines() { # node 0 is of this machine, node 1 is emulated
    # shellcheck disable=SC2086 # words
    LD_PRELOAD='' OMP_NUM_THREADS=4 OMP_SCHEDULE=hetprobe HETMP_DSM_CROSS=always timeout 300 \
        "$target/release/hetrun" --dsm -n 1 "$work/both" S : \
        -n 1 env "LD_PRELOAD=$arm/libhetmp_dsm.so:$library" scripts/cross aarch64 $few "$work/both.arm" S \
        >"$work/out" 2>"$work/err"
}
on_both() { # WHAT
    OMP_NUM_THREADS=4 LD_PRELOAD='' "$work/both" S >"$work/alone" 2>/dev/null
    status=0
    two_machines || status=$?
    [ "$status" = 0 ] || cat "$work/out" "$work/err"
    verdict "$status" "$1"
    same "$1"
}
for program in 'ep NONE' 'ep RUNTIME' 'ep DYNAMIC' 'lavamd NONE' 'kmeans RUNTIME' 'blackscholes NONE'; do
    # shellcheck disable=SC2086 # two words
    halves $program || { verdict 1 "two instruction sets, $program"; continue; }
    on_both "two instruction sets, $program"
done
# As many addresses as kernels with 39 bits of them give: many boards have such ones.
few="-R 0x8000000000"
halves ep RUNTIME
on_both "39 bits of addresses"
few=
# A file for the other machine, with this machine's half in it.
aarch64-linux-gnu-objcopy --add-section .hetmp.half="$work/both" "$work/both.arm" "$work/turned"
runs "this machine's half of a file" env OMP_NUM_THREADS=4 HETMP_DSM_CROSS=always \
    "$target/release/hetrun" --dsm -n 2 "$work/turned" S
sed -i '/^kernel=/d' "$work/out"
same "this machine's half of a file"
# Halves of two programs.
cp "$work/both" "$work/first"
halves ep NONE && mv "$work/first" "$work/both"
status=0
two_machines && status=1
grep -q 'expected two halves of one program' "$work/err" || status=1
[ "$status" = 0 ] || cat "$work/err"
verdict "$status" "halves of two programs are refused"

# Programs of OpenMP that clang compiled, against its own runtime for the same machine.
if omp=$(scripts/cross aarch64 libomp) && command -v clang-19 >/dev/null; then
    for name in parallel_basic parallel_nested loop_dynamic loop_doacross loop_ordered sections_basic \
        single_copyprivate task_basic task_depend_in_out taskloop_reduction teams_distribute loop_static lock_nest; do
        clang-19 --target=aarch64-linux-gnu -fopenmp -O2 -I/usr/lib/llvm-19/lib/clang/19/include \
            "c-tests/openmp/$name.c" -L"$omp" -Wl,-rpath,"$omp" -lm -o "$work/program" ||
            { verdict 1 "clang/$name"; continue; }
        status=0
        OMP_NUM_THREADS=3 LD_PRELOAD='' timeout 300 scripts/cross aarch64 "$work/program" >"$work/own" || status=$?
        OMP_NUM_THREADS=3 LD_PRELOAD=$library timeout 300 scripts/cross aarch64 "$work/program" \
            >"$work/out" || status=$?
        diff "$work/own" "$work/out" || status=1
        verdict "$status" "clang/$name"
    done
else
    skipped=1
    echo "skipped: clang's side: no clang-19, or $omp"
fi

# What a tool is told: it checks the frames, codes and addresses itself.
aarch64-linux-gnu-gcc -O1 -w -shared -fPIC c-tests/tool/count.c -o "$work/libcount.so"
aarch64-linux-gnu-gcc -O1 -fopenmp c-tests/tool/all.c -o "$work/program"
runs "a tool" env OMP_TOOL_LIBRARIES="$work/libcount.so" LD_PRELOAD="$library" scripts/cross aarch64 "$work/program"
status=0
grep -q '^wrong: 0$' "$work/out" && grep -q '^event implicit_task begin' "$work/out" || status=1
verdict "$status" "a tool: frames and events"

# Code with vectors of any length is not read, and so makes no virtual threads, even if they are forced.
aarch64-linux-gnu-gcc -O3 -march=armv8.2-a+sve -fopenmp c-tests/openmp/static_barriers.c -o "$work/program"
OMP_NUM_THREADS=2 LD_PRELOAD='' scripts/cross aarch64 "$work/program" >"$work/alone"
runs "scalable vectors" env OMP_NUM_THREADS=2 HETMP_SCHEDULE=hetprobe HETMP_STATIC=force HETMP_NODES=2 \
    HETMP_REPORT="$work/report" LD_PRELOAD="$library" scripts/cross aarch64 "$work/program"
sed -i '/^ERROR: ld.so: .* cannot be preloaded/d' "$work/out"
same "scalable vectors"
status=0
grep -q '"way":"unscanned"' "$work/report" || status=1
verdict "$status" "scalable vectors: not read"

# libgomp for this machine does not keep errno, so this one is not compared.
aarch64-linux-gnu-gcc -O2 -fopenmp -pthread c-tests/openmp/proc_errno_kept.c -o "$work/program" &&
    runs "errno is kept" env OMP_NUM_THREADS=3 LD_PRELOAD="$library" scripts/cross aarch64 "$work/program"

# Programs of OpenMP, against libgomp for the same machine.
export CARGO_TARGET_DIR="$own"
HETMP_TEST_MACHINE=aarch64 HETMP_LIB=$library HETMP_TEST_SETTINGS=1 \
    cargo test --locked --workspace --exclude hetmp --test differential >"$work/out" 2>&1 || failed=$((failed + 1))
cat "$work/out"
# Virtual teams wherever the code allows them, by the same programs as on x86-64.
HETMP_TEST_MACHINE=aarch64 HETMP_LIB=$library HETMP_TEST_SETTINGS=1 \
    cargo test --locked --workspace --exclude hetmp --test static_loops static_ >"$work/virtual" 2>&1 ||
    failed=$((failed + 1))
cat "$work/virtual"
set -- $(sed -n 's/^test result:.* \([0-9]*\) passed; \([0-9]*\) failed;.*/\1 \2/p' "$work/out" "$work/virtual")
echo "$((passed + ${1:-0} + ${3:-0})) passed, $((failed + ${2:-0} + ${4:-0})) failed, $skipped skipped"
[ "$failed" = 0 ]
