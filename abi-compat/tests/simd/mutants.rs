//! Faults put into a copy of `hetmp/simd.h`, each of which a test must notice.

/// A change of a header's text, and the test that must notice the change.
pub(crate) struct Mutant {
    pub(crate) file: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
    pub(crate) flags: &'static str,
    /// A part of the test's report that names the operation.
    pub(crate) noticed: &'static str,
}

pub(crate) const fn mutant(
    file: &'static str,
    from: &'static str,
    to: &'static str,
    flags: &'static str,
    noticed: &'static str,
) -> Mutant {
    Mutant {
        file,
        from,
        to,
        flags,
        noticed,
    }
}

pub(crate) const GENERIC: &str = "-DHETMP_SIMD_BACKEND=generic";
/// The faults. Every run tries the first three; with HETMP_SIMD_ALL a run tries all.
pub(crate) const MUTANTS: &[Mutant] = &[
    mutant(
        "ints.h",
        "n < HETMP_W ? (HETMP_V)((HETMP_UV)v <<",
        "n < HETMP_W - 1 ? (HETMP_V)((HETMP_UV)v <<",
        GENERIC,
        "SHL",
    ),
    mutant(
        "x86.h",
        "MAX, hetmp_mf, max_ps",
        "MAX, hetmp_mf, min_ps",
        "-DHETMP_SIMD_BACKEND=sse2",
        "_VF32_MAX",
    ),
    mutant(
        "avx2.h",
        "_MM_FROUND_TO_NEG_INF)\nHETMP_XROUND(VF64, CEIL",
        "_MM_FROUND_TO_ZERO)\nHETMP_XROUND(VF64, CEIL",
        "-mavx2",
        "_VF64_FLOOR",
    ),
    mutant(
        "floats.h",
        "near = HETMP_OP(COPYSIGN)((size + whole) - whole, a)",
        "near = (a + whole) - whole",
        GENERIC,
        "ROUND",
    ),
    mutant(
        "floats.h",
        "return HETMP_OP(COPYSIGN)(HETMP_OP(SELECT)(HETMP_OP(LT)(near, a), near + one, near), a)",
        "return HETMP_OP(SELECT)(HETMP_OP(LT)(near, a), near + one, near)",
        GENERIC,
        "CEIL",
    ),
    mutant(
        "floats.h",
        "HETMP_OP(OR)(a, b), b)",
        "b, b)",
        GENERIC,
        "MINNUM",
    ),
    mutant(
        "floats.h",
        "HETMP_OP(FMA)(HETMP_OP(NEG)(a), b, HETMP_OP(NEG)(c))",
        "HETMP_OP(NEG)(HETMP_OP(FMA)(a, b, c))",
        GENERIC,
        "FNMS",
    ),
    mutant("ints.h", "b[i] == -1 ?", "b[i] == -2 ?", GENERIC, ""),
    mutant(
        "ints.h",
        "~(a ^ b) & (a ^ sum)",
        "~(a & b) & (a ^ sum)",
        GENERIC,
        "ADDS",
    ),
    mutant("ints.h", "rest <= a", "rest < a", GENERIC, "SUBS"),
    mutant(
        "ints.h",
        "(n | most) & (HETMP_W - 1)",
        "n & (HETMP_W - 1)",
        GENERIC,
        "SHRV",
    ),
    mutant("ints.h", "x |= x >> 4;", "x |= x >> 3;", GENERIC, "CLZ"),
    mutant(
        "lanes.h",
        "i < n && i < HETMP_N; i++) {\n        __asm__ volatile(\"\"); /*",
        "i <= n && i < HETMP_N; i++) {\n        __asm__ volatile(\"\"); /*",
        GENERIC,
        "",
    ),
    mutant(
        "lanes.h",
        "n = n < HETMP_N ? n : HETMP_N",
        "n = n < HETMP_N - 1 ? n : HETMP_N",
        GENERIC,
        "SLIDE",
    ),
    mutant(
        "masks.h",
        "bits |= (uint64_t)(m[i] & 1) << i",
        "bits |= (uint64_t)(m[i] & 1) << (i & 31)",
        "-DHETMP_SIMD_WIDTH=512",
        "FROM_VI",
    ),
    mutant(
        "convert.h",
        "_##F##_GE(v, limit)",
        "_##F##_GT(v, limit)",
        GENERIC,
        "TO_VI",
    ),
    mutant(
        "convert.h",
        "v = _VF64_SELECT(_VF64_ISNAN(v), _VF64_ZERO(), v);",
        "",
        GENERIC,
        "VF64_TO_V",
    ),
    mutant(
        "x86.h",
        "(high - (0x1p39f + 0x1p23f)) + low",
        "(low - (0x1p39f + 0x1p23f)) + high",
        "-DHETMP_SIMD_BACKEND=sse2",
        "VU32_TO_VF32",
    ),
    mutant(
        "x86.h",
        "& (_VI32)(v == v)",
        "",
        "-DHETMP_SIMD_BACKEND=sse2",
        "VF32_TO_VI32",
    ),
    mutant(
        "avx2.h",
        "HETMP_XPACK(VI16, VI8, packs_epi16)",
        "HETMP_XPACK(VI16, VI8, packus_epi16)",
        "-mavx2",
        "SAT_VI8",
    ),
    mutant(
        "avx512.h",
        "_CMP_NEQ_UQ",
        "_CMP_NEQ_OQ",
        "-march=x86-64-v4",
        "NE",
    ),
    mutant(
        "avx512.h",
        "a + _##U##_MIN(b, ~a)",
        "a + _##U##_MIN(b, a)",
        "-march=x86-64-v4",
        "ADDS",
    ),
    mutant(
        "types.h",
        "HETMP_AT_HIGH(i) (((i) % 2 ? HETMP_N : 0) + (HETMP_N + (i)) / 2)",
        "HETMP_AT_HIGH(i) (((i) % 2 ? HETMP_N : 0) + (i) / 2)",
        GENERIC,
        "INTERLEAVE_HI",
    ),
    mutant(
        "lanes.h",
        "r = op(r, HETMP_NEAR2(r)), HETMP_FOLD_2(op)",
        "r = op(r, HETMP_NEAR1(r)), HETMP_FOLD_2(op)",
        GENERIC,
        "REDUCE",
    ),
    mutant(
        "sw26010.h",
        "return simd_vshff(b, a, 0x88)",
        "return simd_vshff(a, b, 0x88)",
        "-DSW5_VERSION",
        "EVEN",
    ),
    mutant(
        "sw26010.h",
        "simd_vbicw((intv8)b, (intv8)a)",
        "simd_vbicw((intv8)a, (intv8)b)",
        "-DSW5_VERSION",
        "ANDNOT",
    ),
    mutant(
        "mt3000.h",
        "return vec_mula(vec_neg(a), b, c)",
        "return vec_neg(vec_mulb(a, b, c))",
        "-DMT3_VERSION",
        "FNMA",
    ),
];
