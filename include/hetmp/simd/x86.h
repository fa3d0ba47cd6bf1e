/* Part of hetmp/simd.h: what SSE2, AVX2 and AVX-512 have in common. The instructions' names
 * differ in a prefix alone. Not for direct inclusion. */

#if HETMP_SIMD_BITS == 128
#define HETMP_MM(name) _mm_##name
typedef __m128i hetmp_mi;
typedef __m128 hetmp_mf;
typedef __m128d hetmp_md;
#elif HETMP_SIMD_BITS == 256
#define HETMP_MM(name) _mm256_##name
typedef __m256i hetmp_mi;
typedef __m256 hetmp_mf;
typedef __m256d hetmp_md;
#else
#define HETMP_MM(name) _mm512_##name
typedef __m512i hetmp_mi;
typedef __m512 hetmp_mf;
typedef __m512d hetmp_md;
#endif

/* One instruction on one, two or three vectors of type T, held as C. */
#define HETMP_X1(T, op, C, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { return (_##T)HETMP_MM(name)((C)a); }
#define HETMP_X2(T, op, C, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { return (_##T)HETMP_MM(name)((C)a, (C)b); }
#define HETMP_X3(T, op, C, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b, _##T c) { \
        return (_##T)HETMP_MM(name)((C)a, (C)b, (C)c); \
    }

/* min_ps(a, b) is a < b ? a : b, NaNs and zeroes included, which is why MIN means that. */
#define HETMP_OWN_F_MIN 1
#define HETMP_OWN_F_MAX 1
HETMP_X2(VF32, MIN, hetmp_mf, min_ps)
HETMP_X2(VF32, MAX, hetmp_mf, max_ps)
HETMP_X2(VF64, MIN, hetmp_md, min_pd)
HETMP_X2(VF64, MAX, hetmp_md, max_pd)

#define HETMP_OWN_F_SQRT 1
HETMP_X1(VF32, SQRT, hetmp_mf, sqrt_ps)
HETMP_X1(VF64, SQRT, hetmp_md, sqrt_pd)

#if HETMP_SIMD_FAST_FMA
#define HETMP_OWN_F_FMA 1
#define HETMP_OWN_F_FMS 1
#define HETMP_OWN_F_FNMA 1
#define HETMP_OWN_F_FNMS 1
HETMP_X3(VF32, FMA, hetmp_mf, fmadd_ps)
HETMP_X3(VF32, FMS, hetmp_mf, fmsub_ps)
HETMP_X3(VF32, FNMA, hetmp_mf, fnmadd_ps)
HETMP_X3(VF32, FNMS, hetmp_mf, fnmsub_ps)
HETMP_X3(VF64, FMA, hetmp_md, fmadd_pd)
HETMP_X3(VF64, FMS, hetmp_md, fmsub_pd)
HETMP_X3(VF64, FNMA, hetmp_md, fnmadd_pd)
HETMP_X3(VF64, FNMS, hetmp_md, fnmsub_pd)
#endif

/* Broadcasts: the common text's subtraction of 0 would be executed at -O0. */
#define HETMP_OWN_F_SET1 1
HETMP_SIMD_FN _VF32 _VF32_SET1(float x) { return (_VF32)HETMP_MM(set1_ps)(x); }
HETMP_SIMD_FN _VF64 _VF64_SET1(double x) { return (_VF64)HETMP_MM(set1_pd)(x); }

#define HETMP_OWN_VI8_ADDS 1
#define HETMP_OWN_VI8_SUBS 1
#define HETMP_OWN_VU8_ADDS 1
#define HETMP_OWN_VU8_SUBS 1
#define HETMP_OWN_VI16_ADDS 1
#define HETMP_OWN_VI16_SUBS 1
#define HETMP_OWN_VU16_ADDS 1
#define HETMP_OWN_VU16_SUBS 1
HETMP_X2(VI8, ADDS, hetmp_mi, adds_epi8)
HETMP_X2(VI8, SUBS, hetmp_mi, subs_epi8)
HETMP_X2(VU8, ADDS, hetmp_mi, adds_epu8)
HETMP_X2(VU8, SUBS, hetmp_mi, subs_epu8)
HETMP_X2(VI16, ADDS, hetmp_mi, adds_epi16)
HETMP_X2(VI16, SUBS, hetmp_mi, subs_epi16)
HETMP_X2(VU16, ADDS, hetmp_mi, adds_epu16)
HETMP_X2(VU16, SUBS, hetmp_mi, subs_epu16)

#define HETMP_OWN_VU8_ABSDIFF 1
#define HETMP_OWN_VU16_ABSDIFF 1
HETMP_SIMD_FN _VU8 _VU8_ABSDIFF(_VU8 a, _VU8 b) { return _VU8_SUBS(a, b) | _VU8_SUBS(b, a); }
HETMP_SIMD_FN _VU16 _VU16_ABSDIFF(_VU16 a, _VU16 b) { return _VU16_SUBS(a, b) | _VU16_SUBS(b, a); }
#define HETMP_OWN_VU8_AVG 1
#define HETMP_OWN_VU16_AVG 1
HETMP_X2(VU8, AVG, hetmp_mi, avg_epu8)
HETMP_X2(VU16, AVG, hetmp_mi, avg_epu16)
#define HETMP_OWN_VU8_SAD 1
#define HETMP_OWN_VI16_DOT 1
HETMP_SIMD_FN _VU64 _VU8_SAD(_VU8 a, _VU8 b) {
    return (_VU64)HETMP_MM(sad_epu8)((hetmp_mi)a, (hetmp_mi)b);
}
HETMP_SIMD_FN _VI32 _VI16_DOT(_VI16 a, _VI16 b) {
    return (_VI32)HETMP_MM(madd_epi16)((hetmp_mi)a, (hetmp_mi)b);
}

#define HETMP_OWN_VI16_MULHI 1
#define HETMP_OWN_VU16_MULHI 1
HETMP_X2(VI16, MULHI, hetmp_mi, mulhi_epi16)
HETMP_X2(VU16, MULHI, hetmp_mi, mulhi_epu16)

/* Products of the even lanes; the odd ones are shifted down before. */
#define HETMP_XPRODUCTS(A, B, name) \
    HETMP_SIMD_FN _##B _##A##_MULEVEN(_##A a, _##A b) { \
        return (_##B)HETMP_MM(name)((hetmp_mi)a, (hetmp_mi)b); \
    } \
    HETMP_SIMD_FN _##B _##A##_MULODD(_##A a, _##A b) { \
        return _##A##_MULEVEN((_##A)((_VU64)a >> 32), (_##A)((_VU64)b >> 32)); \
    }
#define HETMP_OWN_VU32_MULEVEN 1
HETMP_XPRODUCTS(VU32, VU64, mul_epu32)
#if HETMP_SIMD_BITS > 128 || defined(__SSE4_1__)
#define HETMP_OWN_VI32_MULEVEN 1
HETMP_XPRODUCTS(VI32, VI64, mul_epi32)
#endif
#undef HETMP_XPRODUCTS
#define HETMP_OWN_VU32_MULHI 1
HETMP_SIMD_FN _VU32 _VU32_MULHI(_VU32 a, _VU32 b) {
    return (_VU32)((_VU32_MULEVEN(a, b) >> 32) | (_VU32_MULODD(a, b) & 0xffffffff00000000u));
}
/* Of a sum of two products one is of 0. */
#define HETMP_OWN_VI16_MULEVEN 1
HETMP_SIMD_FN _VI32 _VI16_MULEVEN(_VI16 a, _VI16 b) { return _VI16_DOT((_VI16)((_VU32)a & 0xffffu), b); }
HETMP_SIMD_FN _VI32 _VI16_MULODD(_VI16 a, _VI16 b) { return _VI16_DOT((_VI16)((_VU32)a & 0xffff0000u), b); }
#define HETMP_OWN_VU16_MULEVEN 1
HETMP_SIMD_FN _VU32 _VU16_MULEVEN(_VU16 a, _VU16 b) {
    return ((_VU32)(a * b) & 0xffffu) | (_VU32)_VU16_MULHI(a, b) << 16;
}
HETMP_SIMD_FN _VU32 _VU16_MULODD(_VU16 a, _VU16 b) {
    return (_VU32)(a * b) >> 16 | ((_VU32)_VU16_MULHI(a, b) & 0xffff0000u);
}

/* The halves of a vector, and a vector of halves, for what converts between 16 and 32 bits. */
#if HETMP_SIMD_BITS == 128
#define HETMP_XLO(v) ((__m128i)(v))
#define HETMP_XHI(v) _mm_unpackhi_epi64((__m128i)(v), (__m128i)(v))
#define HETMP_XBOTH(lo, hi) _mm_unpacklo_epi64(lo, hi)
#elif HETMP_SIMD_BITS == 256
#define HETMP_XLO(v) _mm256_castsi256_si128((__m256i)(v))
#define HETMP_XHI(v) _mm256_extracti128_si256((__m256i)(v), 1)
#define HETMP_XBOTH(lo, hi) _mm256_inserti128_si256(_mm256_castsi128_si256(lo), hi, 1)
#else
#define HETMP_XLO(v) _mm512_castsi512_si256((__m512i)(v))
#define HETMP_XHI(v) _mm512_extracti64x4_epi64((__m512i)(v), 1)
#define HETMP_XBOTH(lo, hi) _mm512_inserti64x4(_mm512_castsi256_si512(lo), hi, 1)
#endif
#if HETMP_SIMD_BITS == 512 || defined(__F16C__)
#define HETMP_OWN_VF32_FROM_F16 1
#define HETMP_OWN_VF32_TO_F16 1
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_LO(_VU16 v) { return (_VF32)HETMP_MM(cvtph_ps)(HETMP_XLO(v)); }
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_HI(_VU16 v) { return (_VF32)HETMP_MM(cvtph_ps)(HETMP_XHI(v)); }
HETMP_SIMD_FN _VU16 _VF32_TO_F16(_VF32 lo, _VF32 hi) {
    return (_VU16)HETMP_XBOTH(HETMP_MM(cvtps_ph)((hetmp_mf)lo, _MM_FROUND_TO_NEAREST_INT),
                              HETMP_MM(cvtps_ph)((hetmp_mf)hi, _MM_FROUND_TO_NEAREST_INT));
}
#endif
/* Wider registers interleave their parts, not the whole. */
#if HETMP_SIMD_BITS > 128
#define HETMP_OWN_VF32_FROM_BF16 1
HETMP_SIMD_FN _VF32 _VF32_FROM_BF16_LO(_VU16 v) {
    return (_VF32)HETMP_MM(slli_epi32)(HETMP_MM(cvtepu16_epi32)(HETMP_XLO(v)), 16);
}
HETMP_SIMD_FN _VF32 _VF32_FROM_BF16_HI(_VU16 v) {
    return (_VF32)HETMP_MM(slli_epi32)(HETMP_MM(cvtepu16_epi32)(HETMP_XHI(v)), 16);
}
#endif

#define HETMP_OWN_VI16_MIN 1
#define HETMP_OWN_VI16_MAX 1
#define HETMP_OWN_VU8_MIN 1
#define HETMP_OWN_VU8_MAX 1
HETMP_X2(VI16, MIN, hetmp_mi, min_epi16)
HETMP_X2(VI16, MAX, hetmp_mi, max_epi16)
HETMP_X2(VU8, MIN, hetmp_mi, min_epu8)
HETMP_X2(VU8, MAX, hetmp_mi, max_epu8)
#if HETMP_SIMD_BITS > 128 || defined(__SSE4_1__)
#define HETMP_OWN_VI8_MIN 1
#define HETMP_OWN_VI8_MAX 1
#define HETMP_OWN_VU16_MIN 1
#define HETMP_OWN_VU16_MAX 1
#define HETMP_OWN_VI32_MIN 1
#define HETMP_OWN_VI32_MAX 1
#define HETMP_OWN_VU32_MIN 1
#define HETMP_OWN_VU32_MAX 1
HETMP_X2(VI8, MIN, hetmp_mi, min_epi8)
HETMP_X2(VI8, MAX, hetmp_mi, max_epi8)
HETMP_X2(VU16, MIN, hetmp_mi, min_epu16)
HETMP_X2(VU16, MAX, hetmp_mi, max_epu16)
HETMP_X2(VI32, MIN, hetmp_mi, min_epi32)
HETMP_X2(VI32, MAX, hetmp_mi, max_epi32)
HETMP_X2(VU32, MIN, hetmp_mi, min_epu32)
HETMP_X2(VU32, MAX, hetmp_mi, max_epu32)
#endif
#if HETMP_SIMD_BITS > 128 || defined(__SSSE3__)
#define HETMP_OWN_VI8_ABS 1
#define HETMP_OWN_VI16_ABS 1
#define HETMP_OWN_VI32_ABS 1
HETMP_X1(VI8, ABS, hetmp_mi, abs_epi8)
HETMP_X1(VI16, ABS, hetmp_mi, abs_epi16)
HETMP_X1(VI32, ABS, hetmp_mi, abs_epi32)
#endif

/* Shifts by a count in a register have exactly our meaning for counts past the width; of one
 * that the compiler knows, the operator makes the shorter instruction. */
#define HETMP_XSHIFT(T, op, operator, name, width, past) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T v, unsigned n) { \
        if (__builtin_constant_p(n)) \
            return n < width ? v operator(int)n : past; \
        return (_##T)HETMP_MM(name)((hetmp_mi)v, _mm_cvtsi32_si128((int)n)); \
    }
#define HETMP_XSHIFT_LEFT(T, name, width) HETMP_XSHIFT(T, SHL, <<, name, width, (v ^ v))
#define HETMP_XSHIFT_RIGHT(T, name, width) HETMP_XSHIFT(T, SHR, >>, name, width, (v ^ v))
#define HETMP_XSHIFT_SIGN(T, name, width) HETMP_XSHIFT(T, SHR, >>, name, width, (v >> (width - 1)))
#define HETMP_OWN_VU16_SHL 1
#define HETMP_OWN_VU32_SHL 1
#define HETMP_OWN_VU64_SHL 1
#define HETMP_OWN_VI16_SHL 1
#define HETMP_OWN_VI32_SHL 1
#define HETMP_OWN_VI64_SHL 1
#define HETMP_OWN_VU16_SHR 1
#define HETMP_OWN_VU32_SHR 1
#define HETMP_OWN_VU64_SHR 1
#define HETMP_OWN_VI16_SHR 1
#define HETMP_OWN_VI32_SHR 1
HETMP_XSHIFT_LEFT(VU16, sll_epi16, 16)
HETMP_XSHIFT_LEFT(VU32, sll_epi32, 32)
HETMP_XSHIFT_LEFT(VU64, sll_epi64, 64)
/* Left shifts of signed lanes through the unsigned ones: overflow would be undefined. */
HETMP_SIMD_FN _VI16 _VI16_SHL(_VI16 v, unsigned n) { return (_VI16)_VU16_SHL((_VU16)v, n); }
HETMP_SIMD_FN _VI32 _VI32_SHL(_VI32 v, unsigned n) { return (_VI32)_VU32_SHL((_VU32)v, n); }
HETMP_SIMD_FN _VI64 _VI64_SHL(_VI64 v, unsigned n) { return (_VI64)_VU64_SHL((_VU64)v, n); }
HETMP_XSHIFT_RIGHT(VU16, srl_epi16, 16)
HETMP_XSHIFT_RIGHT(VU32, srl_epi32, 32)
HETMP_XSHIFT_RIGHT(VU64, srl_epi64, 64)
HETMP_XSHIFT_SIGN(VI16, sra_epi16, 16)
HETMP_XSHIFT_SIGN(VI32, sra_epi32, 32)

#if HETMP_SIMD_BITS < 512
/* Masks are lanes of ones; movemask takes their top bits. */
#define HETMP_OWN_VM8_BITS 1
#define HETMP_OWN_VM16_BITS 1
#define HETMP_OWN_VM32_BITS 1
#define HETMP_OWN_VM64_BITS 1
HETMP_SIMD_FN uint64_t _VM8_BITS(_VM8 m) { return (unsigned)HETMP_MM(movemask_epi8)((hetmp_mi)m); }
HETMP_SIMD_FN uint64_t _VM16_BITS(_VM16 m) {
#if HETMP_SIMD_BITS == 128
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16((__m128i)m, _mm_setzero_si128()));
#else
    const __m128i low = _mm256_castsi256_si128((__m256i)m);
    const __m128i high = _mm256_extracti128_si256((__m256i)m, 1);
    return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(low, high));
#endif
}
HETMP_SIMD_FN uint64_t _VM32_BITS(_VM32 m) { return (unsigned)HETMP_MM(movemask_ps)((hetmp_mf)m); }
HETMP_SIMD_FN uint64_t _VM64_BITS(_VM64 m) { return (unsigned)HETMP_MM(movemask_pd)((hetmp_md)m); }

#define HETMP_OWN_M_ANY 1
#define HETMP_OWN_M_ALL 1
#define HETMP_OWN_M_COUNT 1
#define HETMP_OWN_M_FIRST 1
/* The bytes' top bits in number: all, for every lane width. */
HETMP_SIMD_FN unsigned hetmp_mask_bytes(hetmp_mi m) { return (unsigned)HETMP_MM(movemask_epi8)(m); }
#define HETMP_MASK_ALL (HETMP_SIMD_BITS == 128 ? 0xffffu : 0xffffffffu)
/* Without POPCNT, gcc's builtin would call a function. */
HETMP_SIMD_FN int hetmp_popcount32(unsigned b) {
#ifdef __POPCNT__
    return __builtin_popcount(b);
#else
    b -= (b >> 1) & 0x55555555u;
    b = (b & 0x33333333u) + ((b >> 2) & 0x33333333u);
    return (int)((((b + (b >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24);
#endif
}
#define HETMP_XMASK(M, bytes) \
    HETMP_SIMD_FN int _##M##_ANY(_##M m) { return hetmp_mask_bytes((hetmp_mi)m) != 0; } \
    HETMP_SIMD_FN int _##M##_ALL(_##M m) { \
        return hetmp_mask_bytes((hetmp_mi)m) == HETMP_MASK_ALL; \
    } \
    HETMP_SIMD_FN int _##M##_COUNT(_##M m) { \
        return hetmp_popcount32(hetmp_mask_bytes((hetmp_mi)m)) / bytes; \
    } \
    HETMP_SIMD_FN int _##M##_FIRST(_##M m) { \
        const unsigned b = hetmp_mask_bytes((hetmp_mi)m); \
        return b ? __builtin_ctz(b) / bytes : HETMP_SIMD_BYTES / bytes; \
    }
HETMP_XMASK(VM8, 1)
HETMP_XMASK(VM16, 2)
HETMP_XMASK(VM32, 4)
HETMP_XMASK(VM64, 8)
#undef HETMP_XMASK

/* Conversion of floats gives the lowest number for all that does not fit. That xor all ones is
 * the highest: right for what is too large; NaNs are then cleared. */
#define HETMP_OWN_VF32_TO_VI32 1
HETMP_SIMD_FN _VI32 _VF32_TO_VI32(_VF32 v) {
    const _VI32 r = (_VI32)HETMP_MM(cvttps_epi32)((hetmp_mf)v);
    return (r ^ (_VI32)(v >= 0x1p31f)) & (_VI32)(v == v);
}

/* Unsigned numbers to float: both halves are exact, and their sum rounds once. */
#define HETMP_OWN_VU32_TO_VF32 1
HETMP_SIMD_FN _VF32 _VU32_TO_VF32(_VU32 v) {
    /* The halves as 2^23 + low and 2^39 + high * 2^16, in bits; then without 2^39 + 2^23. */
    const _VF32 low = (_VF32)((v & 0xffffu) | 0x4b000000u);
    const _VF32 high = (_VF32)((v >> 16) | 0x53000000u);
    return (high - (0x1p39f + 0x1p23f)) + low;
}
#define HETMP_OWN_VF32_TO_VU32 1
HETMP_SIMD_FN _VU32 _VF32_TO_VU32(_VF32 v) {
    /* From 2^31 on, convert v - 2^31 and put the top bit back. max(v, 0) is 0 for NaNs. */
    const _VF32 zero = {0};
    const _VF32 least = (_VF32)HETMP_MM(max_ps)((hetmp_mf)v, (hetmp_mf)zero);
    const _VU32 upper = (_VU32)(least >= 0x1p31f);
    const _VF32 rest = least - (_VF32)(upper & 0x4f000000u);
    const _VU32 r = (_VU32)HETMP_MM(cvttps_epi32)((hetmp_mf)rest);
    return (r ^ (upper & 0x80000000u)) | (_VU32)(least >= 0x1p32f);
}

/* 64-bit integers to doubles in the same manner: high and low word, each exact. */
#define HETMP_OWN_VU64_TO_VF64 1
HETMP_SIMD_FN _VF64 _VU64_TO_VF64(_VU64 v) {
    const _VF64 low = (_VF64)((v & 0xffffffffu) | 0x4330000000000000u);
    const _VF64 high = (_VF64)((v >> 32) | 0x4530000000000000u);
    return (high - (0x1p84 + 0x1p52)) + low;
}
#define HETMP_OWN_VI64_TO_VF64 1
HETMP_SIMD_FN _VF64 _VI64_TO_VF64(_VI64 v) {
    const _VF64 low = (_VF64)(((_VU64)v & 0xffffffffu) | 0x4330000000000000u);
    /* The sign bit turned over adds 2^31 to the high word: 2^63 in all. */
    const _VF64 high = (_VF64)(((_VU64)v >> 32) ^ 0x4530000080000000u);
    return (high - (0x1p84 + 0x1p63 + 0x1p52)) + low;
}
#endif

#define HETMP_OWN_VF32_RCP_EST 1
#define HETMP_OWN_VF32_RSQRT_EST 1
#if HETMP_SIMD_BITS < 512
HETMP_X1(VF32, RCP_EST, hetmp_mf, rcp_ps)
HETMP_X1(VF32, RSQRT_EST, hetmp_mf, rsqrt_ps)
#else
HETMP_X1(VF32, RCP_EST, hetmp_mf, rcp14_ps)
HETMP_X1(VF32, RSQRT_EST, hetmp_mf, rsqrt14_ps)
#define HETMP_OWN_VF64_RCP_EST 1
#define HETMP_OWN_VF64_RSQRT_EST 1
HETMP_X1(VF64, RCP_EST, hetmp_md, rcp14_pd)
HETMP_X1(VF64, RSQRT_EST, hetmp_md, rsqrt14_pd)
#endif
