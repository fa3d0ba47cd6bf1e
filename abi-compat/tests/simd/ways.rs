//! The ways in which the tests of `hetmp/simd.h` are compiled and run.

/// The machine that runs a compiled program.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Machine {
    /// This processor, if it has this feature ("" for none).
    X86(&'static str),
    /// 64-bit Arm, emulated, with SVE vectors of this many bits (0: without SVE).
    Arm(u32),
    /// 64-bit RISC-V, emulated, with vectors of this many bits (0: without).
    RiscV(u32),
    /// 64-bit POWER, little-endian, emulated.
    Power,
    /// 64-bit LoongArch, emulated.
    Loong,
}

/// One way to compile the tests.
pub(crate) struct Way {
    pub(crate) compiler: &'static str,
    pub(crate) flags: &'static str,
    pub(crate) backend: &'static str,
    pub(crate) bits: u32,
    pub(crate) machine: Machine,
    /// True: only with HETMP_SIMD_ALL.
    pub(crate) more: bool,
}

pub(crate) const fn way(
    compiler: &'static str,
    flags: &'static str,
    backend: &'static str,
    bits: u32,
    machine: Machine,
) -> Way {
    Way {
        compiler,
        flags,
        backend,
        bits,
        machine,
        more: false,
    }
}

pub(crate) const fn more(mut way: Way) -> Way {
    way.more = true;
    way
}

pub(crate) const ARM_GCC: &str = "aarch64-linux-gnu-gcc";
pub(crate) const RISCV_GCC: &str = "riscv64-linux-gnu-gcc";
pub(crate) const POWER_GCC: &str = "powerpc64le-linux-gnu-gcc";
/// clang 19 with Debian 13's files, by scripts/lib/loongarch.sh.
pub(crate) const LOONG_CLANG: &str = "loongarch64-clang";
pub(crate) const CLANG_19: &str = "clang-19";
pub(crate) const ARM_GXX: &str = "aarch64-linux-gnu-g++";
/// As old as the chips' toolchains.
pub(crate) const GCC_7: &str = "gcc-7";
pub(crate) const ANY: Machine = Machine::X86("");
pub(crate) const AVX2: Machine = Machine::X86("avx2");
pub(crate) const AVX512: Machine = Machine::X86("avx512vl");
pub(crate) const VBMI2: Machine = Machine::X86("avx512_vbmi2");

/// Its lane counts are signed numbers that the compiler does not know.
const SVE_ANY: [&str; 4] = [
    "-O0 -march=armv8.2-a+sve -DHETMP_SIMD_BACKEND=sve_any -Wno-sign-compare -DRUN_AT=128",
    "-O0 -march=armv8.2-a+sve -DHETMP_SIMD_BACKEND=sve_any -Wno-sign-compare -DRUN_AT=256",
    "-O1 -march=armv8.2-a+sve -DHETMP_SIMD_BACKEND=sve_any -Wno-sign-compare -DRUN_AT=512",
    "-O1 -march=armv8.2-a+sve -DHETMP_SIMD_BACKEND=sve_any -Wno-sign-compare -DRUN_AT=1024",
];

/// The ways. -O0 compiles in a fraction of the time of -O2, and finds faults that constant folding hides.
/// -O2 is the optimisation that users run. In C with gcc each backend has both. C++ and clang each cover
/// some backends.
pub(crate) const WAYS: &[Way] = &[
    way("gcc", "-std=c11 -O2", "sse2", 128, ANY),
    way("gcc", "-O0 -march=x86-64-v2", "sse2", 128, ANY),
    way("clang++", "-O0", "sse2", 128, ANY),
    way("gcc", "-std=c11 -O2 -mavx2 -mfma", "avx2", 256, AVX2),
    way("g++", "-O0 -mavx2", "avx2", 256, AVX2),
    way("clang", "-O1 -march=x86-64-v3", "avx2", 256, AVX2),
    way(
        "gcc",
        "-std=c11 -O2 -march=x86-64-v4",
        "avx512",
        512,
        AVX512,
    ),
    way("g++", "-O0 -march=x86-64-v4", "avx512", 512, AVX512),
    way(
        "clang",
        "-O0 -march=x86-64-v4 -mavx512vbmi -mavx512vbmi2 -mavx512vnni",
        "avx512",
        512,
        VBMI2,
    ),
    way(
        "gcc",
        "-O2 -DHETMP_SIMD_BACKEND=generic",
        "generic",
        128,
        ANY,
    ),
    way("g++", "-O0 -DHETMP_SIMD_WIDTH=256", "generic", 256, ANY),
    way("clang", "-O0 -DSW5_VERSION", "sw26010", 256, ANY),
    way(GCC_7, "-std=c99 -O0 -DSW5_VERSION", "sw26010", 256, ANY),
    way(
        GCC_7,
        "-std=c99 -O0 -DMT3_VERSION -Wno-psabi",
        "mt3000",
        1024,
        ANY,
    ),
    way(
        GCC_7,
        "-std=c99 -O0 -DHETMP_SIMD_BACKEND=generic -U__SIZEOF_INT128__",
        "generic",
        128,
        ANY,
    ),
    way(GCC_7, "-std=c99 -O1 -mavx2", "avx2", 256, AVX2),
    // The text for older compilers, where there is none of them.
    way(
        "gcc",
        "-std=c99 -O0 -DHETMP_SIMD_OLD -DHETMP_SIMD_WIDTH=256 -mno-avx2",
        "generic",
        256,
        ANY,
    ),
    way("gcc", "-O0 -DHETMP_SIMD_WIDTH=512", "generic", 512, ANY),
    way("gcc", "-O0 -DMT3_VERSION -Wno-psabi", "mt3000", 1024, ANY),
    way(
        "gcc",
        "-O0 -DHETMP_SIMD_WIDTH=1024 -Wno-psabi",
        "generic",
        1024,
        ANY,
    ),
    way(ARM_GCC, "-std=c11 -O2", "neon", 128, Machine::Arm(0)),
    way(ARM_GXX, "-O0", "neon", 128, Machine::Arm(0)),
    way(
        "clang",
        "--target=aarch64-linux-gnu -O0 -march=armv8.2-a+dotprod",
        "neon",
        128,
        Machine::Arm(0),
    ),
    way(
        ARM_GCC,
        "-O2 -march=armv8.2-a+sve -msve-vector-bits=256",
        "sve",
        256,
        Machine::Arm(256),
    ),
    way(
        ARM_GXX,
        "-O0 -march=armv8.2-a+sve -msve-vector-bits=512",
        "sve",
        512,
        Machine::Arm(512),
    ),
    way(
        ARM_GCC,
        "-O0 -march=armv8.2-a+sve -msve-vector-bits=128",
        "sve",
        128,
        Machine::Arm(128),
    ),
    way(
        "clang",
        "--target=aarch64-linux-gnu -O0 -march=armv8.2-a+sve -msve-vector-bits=256",
        "sve",
        256,
        Machine::Arm(256),
    ),
    // One program text, of which only the name says for which length it is run.
    way(ARM_GCC, SVE_ANY[0], "sve_any", 128, Machine::Arm(128)),
    way(ARM_GXX, SVE_ANY[1], "sve_any", 256, Machine::Arm(256)),
    way(ARM_GCC, SVE_ANY[2], "sve_any", 512, Machine::Arm(512)),
    more(way(ARM_GCC, SVE_ANY[3], "sve_any", 1024, Machine::Arm(1024))),
    way(
        CLANG_19,
        "--target=riscv64-linux-gnu -O2 -march=rv64gcv_zvl128b -mrvv-vector-bits=zvl -include c-tests/simd/qemu_7.h",
        "rvv",
        128,
        Machine::RiscV(128),
    ),
    way(
        CLANG_19,
        "--target=riscv64-linux-gnu -O0 -march=rv64gcv_zvl256b -mrvv-vector-bits=zvl -include c-tests/simd/qemu_7.h",
        "rvv",
        256,
        Machine::RiscV(256),
    ),
    way(
        POWER_GCC,
        "-std=c11 -O2 -include c-tests/simd/qemu_7.h",
        "vsx",
        128,
        Machine::Power,
    ),
    way(
        POWER_GCC,
        "-O0 -mcpu=power9 -include c-tests/simd/qemu_7.h",
        "vsx",
        128,
        Machine::Power,
    ),
    way(
        CLANG_19,
        "--target=powerpc64le-linux-gnu -O0 -mcpu=power9",
        "vsx",
        128,
        Machine::Power,
    ),
    way(LOONG_CLANG, "-O1 -mlsx", "lsx", 128, Machine::Loong),
    way(LOONG_CLANG, "-O0 -mlasx", "lasx", 256, Machine::Loong),
    more(way(
        LOONG_CLANG,
        "-O1 -mlasx",
        "lasx",
        256,
        Machine::Loong,
    )),
    more(way(
        POWER_GCC,
        "-O1 -DHETMP_SIMD_WIDTH=256 -Wno-psabi",
        "generic",
        256,
        Machine::Power,
    )),
    more(way(
        POWER_GCC,
        "-O1 -DHETMP_SIMD_BACKEND=generic",
        "generic",
        128,
        Machine::Power,
    )),
    more(way(
        CLANG_19,
        "--target=riscv64-linux-gnu -O1 -march=rv64gcv_zvl512b -mrvv-vector-bits=zvl -include c-tests/simd/qemu_7.h",
        "rvv",
        512,
        Machine::RiscV(512),
    )),
    more(way(RISCV_GCC, "-O1", "generic", 128, Machine::RiscV(0))),
    more(way(
        ARM_GCC,
        "-O0 -march=armv8.2-a+sve -msve-vector-bits=1024",
        "sve",
        1024,
        Machine::Arm(1024),
    )),
    more(way(
        ARM_GCC,
        "-O2 -march=armv8.2-a+sve -msve-vector-bits=512",
        "sve",
        512,
        Machine::Arm(512),
    )),
    more(way(
        ARM_GCC,
        "-O0 -march=armv8.2-a+sve -msve-vector-bits=512 -DHETMP_SIMD_WIDTH=128",
        "neon",
        128,
        Machine::Arm(512),
    )),
    more(way(
        ARM_GCC,
        "-O1 -DHETMP_SIMD_WIDTH=256",
        "generic",
        256,
        Machine::Arm(0),
    )),
    more(way("g++", "-O2", "sse2", 128, ANY)),
    more(way("g++", "-O2 -march=x86-64-v3", "avx2", 256, AVX2)),
    more(way("clang", "-O2 -march=x86-64-v4", "avx512", 512, AVX512)),
    more(way("gcc", "-O3 -march=x86-64-v4", "avx512", 512, AVX512)),
    more(way(
        "gcc",
        "-O2 -DHETMP_SIMD_WIDTH=256 -mno-avx2",
        "generic",
        256,
        ANY,
    )),
    more(way(
        "gcc",
        "-O2 -march=x86-64-v3 -DHETMP_SIMD_WIDTH=128",
        "sse2",
        128,
        AVX2,
    )),
    more(way(
        "gcc",
        "-O1 -DMT3_VERSION -Wno-psabi",
        "mt3000",
        1024,
        ANY,
    )),
    more(way("clang", "-O1 -DMT3_VERSION", "mt3000", 1024, ANY)),
    more(way("g++", "-O1 -DSW5_VERSION", "sw26010", 256, ANY)),
    more(way(
        GCC_7,
        "-std=c99 -O2 -DSW5_VERSION -Wno-maybe-uninitialized",
        "sw26010",
        256,
        ANY,
    )),
    more(way("gcc", "-O2 -DSW5_VERSION", "sw26010", 256, ANY)),
    more(way(GCC_7, "-std=c99 -O0", "sse2", 128, ANY)),
    more(way(
        GCC_7,
        "-std=c99 -O0 -march=skylake-avx512",
        "avx512",
        512,
        AVX512,
    )),
    more(way(
        "gcc",
        "-O2 -march=x86-64-v4 -DHETMP_SIMD_WIDTH=1024 -Wno-psabi",
        "generic",
        1024,
        AVX512,
    )),
];
