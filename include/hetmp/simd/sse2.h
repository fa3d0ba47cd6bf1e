/* Part of hetmp/simd.h: SSE2, where it needs more than x86.h. Compiled with -mssse3 or
 * -msse4.1 it uses those, too. Not for direct inclusion. */

#ifdef __SSE4_1__
#define HETMP_OWN_F_ROUND 1
#define HETMP_OWN_F_FLOOR 1
#define HETMP_OWN_F_CEIL 1
#define HETMP_OWN_F_TRUNC 1
#define HETMP_XROUND(T, op, C, name, mode) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { return (_##T)_mm_##name((C)a, mode | _MM_FROUND_NO_EXC); }
HETMP_XROUND(VF32, ROUND, __m128, round_ps, _MM_FROUND_TO_NEAREST_INT)
HETMP_XROUND(VF32, FLOOR, __m128, round_ps, _MM_FROUND_TO_NEG_INF)
HETMP_XROUND(VF32, CEIL, __m128, round_ps, _MM_FROUND_TO_POS_INF)
HETMP_XROUND(VF32, TRUNC, __m128, round_ps, _MM_FROUND_TO_ZERO)
HETMP_XROUND(VF64, ROUND, __m128d, round_pd, _MM_FROUND_TO_NEAREST_INT)
HETMP_XROUND(VF64, FLOOR, __m128d, round_pd, _MM_FROUND_TO_NEG_INF)
HETMP_XROUND(VF64, CEIL, __m128d, round_pd, _MM_FROUND_TO_POS_INF)
HETMP_XROUND(VF64, TRUNC, __m128d, round_pd, _MM_FROUND_TO_ZERO)
#undef HETMP_XROUND
#endif

#ifndef __SSSE3__
/* There is no shuffle of bytes: shifts and shuffles of words. */
#define HETMP_OWN_VU16_BSWAP 1
#define HETMP_OWN_VI16_BSWAP 1
#define HETMP_OWN_VU32_BSWAP 1
#define HETMP_OWN_VI32_BSWAP 1
#define HETMP_OWN_VU64_BSWAP 1
#define HETMP_OWN_VI64_BSWAP 1
HETMP_SIMD_FN _VU16 _VU16_BSWAP(_VU16 v) { return (v << 8) | (v >> 8); }
HETMP_SIMD_FN _VU32 _VU32_BSWAP(_VU32 v) {
    const __m128i bytes = (__m128i)_VU16_BSWAP((_VU16)v);
    return (_VU32)_mm_shufflehi_epi16(_mm_shufflelo_epi16(bytes, 0xb1), 0xb1);
}
HETMP_SIMD_FN _VU64 _VU64_BSWAP(_VU64 v) {
    const __m128i bytes = (__m128i)_VU16_BSWAP((_VU16)v);
    return (_VU64)_mm_shufflehi_epi16(_mm_shufflelo_epi16(bytes, 0x1b), 0x1b);
}
#define HETMP_OWN_VU8_SWAP 1
#define HETMP_OWN_VI8_SWAP 1
HETMP_SIMD_FN _VU8 _VU8_SWAP(_VU8 v) { return (_VU8)_VU16_BSWAP((_VU16)v); }
HETMP_SIMD_FN _VI8 _VI8_SWAP(_VI8 v) { return (_VI8)_VU16_BSWAP((_VU16)v); }
HETMP_SIMD_FN _VI16 _VI16_BSWAP(_VI16 v) { return (_VI16)_VU16_BSWAP((_VU16)v); }
HETMP_SIMD_FN _VI32 _VI32_BSWAP(_VI32 v) { return (_VI32)_VU32_BSWAP((_VU32)v); }
HETMP_SIMD_FN _VI64 _VI64_BSWAP(_VI64 v) { return (_VI64)_VU64_BSWAP((_VU64)v); }
#endif

/* Widening: each lane next to 0, or next to its sign. */
#define HETMP_XUNPACK(A, B, name, high) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { \
        return (_##B)_mm_unpacklo_##name((__m128i)v, (__m128i)(high)); \
    } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { \
        return (_##B)_mm_unpackhi_##name((__m128i)v, (__m128i)(high)); \
    }
#define HETMP_OWN_VI8_TO_VI16 1
#define HETMP_OWN_VU8_TO_VU16 1
#define HETMP_OWN_VI16_TO_VI32 1
#define HETMP_OWN_VU16_TO_VU32 1
#define HETMP_OWN_VI32_TO_VI64 1
#define HETMP_OWN_VU32_TO_VU64 1
HETMP_XUNPACK(VI8, VI16, epi8, (v < (v ^ v)))
HETMP_XUNPACK(VU8, VU16, epi8, (v ^ v))
HETMP_XUNPACK(VI16, VI32, epi16, (v >> 15))
HETMP_XUNPACK(VU16, VU32, epi16, (v ^ v))
HETMP_XUNPACK(VI32, VI64, epi32, (v >> 31))
HETMP_XUNPACK(VU32, VU64, epi32, (v ^ v))
#undef HETMP_XUNPACK

#define HETMP_OWN_VI16_SAT_VI8 1
#define HETMP_OWN_VI16_SAT_VU8 1
#define HETMP_OWN_VI32_SAT_VI16 1
HETMP_SIMD_FN _VI8 _VI16_SAT_VI8(_VI16 lo, _VI16 hi) {
    return (_VI8)_mm_packs_epi16((__m128i)lo, (__m128i)hi);
}
HETMP_SIMD_FN _VU8 _VI16_SAT_VU8(_VI16 lo, _VI16 hi) {
    return (_VU8)_mm_packus_epi16((__m128i)lo, (__m128i)hi);
}
HETMP_SIMD_FN _VI16 _VI32_SAT_VI16(_VI32 lo, _VI32 hi) {
    return (_VI16)_mm_packs_epi32((__m128i)lo, (__m128i)hi);
}
#ifdef __SSE4_1__
#define HETMP_OWN_VI32_SAT_VU16 1
HETMP_SIMD_FN _VU16 _VI32_SAT_VU16(_VI32 lo, _VI32 hi) {
    return (_VU16)_mm_packus_epi32((__m128i)lo, (__m128i)hi);
}
#endif

#define HETMP_OWN_VF32_TO_VF64 1
HETMP_SIMD_FN _VF64 _VF32_TO_VF64_LO(_VF32 v) { return (_VF64)_mm_cvtps_pd((__m128)v); }
HETMP_SIMD_FN _VF64 _VF32_TO_VF64_HI(_VF32 v) {
    return (_VF64)_mm_cvtps_pd(_mm_movehl_ps((__m128)v, (__m128)v));
}
#define HETMP_OWN_VF64_TO_VF32 1
HETMP_SIMD_FN _VF32 _VF64_TO_VF32(_VF64 lo, _VF64 hi) {
    return (_VF32)_mm_movelh_ps(_mm_cvtpd_ps((__m128d)lo), _mm_cvtpd_ps((__m128d)hi));
}
#define HETMP_OWN_VI32_TO_VF64 1
HETMP_SIMD_FN _VF64 _VI32_TO_VF64_LO(_VI32 v) { return (_VF64)_mm_cvtepi32_pd((__m128i)v); }
HETMP_SIMD_FN _VF64 _VI32_TO_VF64_HI(_VI32 v) {
    return (_VF64)_mm_cvtepi32_pd(_mm_unpackhi_epi64((__m128i)v, (__m128i)v));
}
/* Next to the upper word of 2^52 an unsigned number is 2^52 + itself. */
#define HETMP_OWN_VU32_TO_VF64 1
HETMP_SIMD_FN _VF64 _VU32_TO_VF64_LO(_VU32 v) {
    return (_VF64)_mm_unpacklo_epi32((__m128i)v, _mm_set1_epi32(0x43300000)) - 0x1p52;
}
HETMP_SIMD_FN _VF64 _VU32_TO_VF64_HI(_VU32 v) {
    return (_VF64)_mm_unpackhi_epi32((__m128i)v, _mm_set1_epi32(0x43300000)) - 0x1p52;
}
#define HETMP_OWN_VF64_TO_VI32 1
HETMP_SIMD_FN __m128i hetmp_VF64_to_words(_VF64 v) {
    /* The lower limit is what conversion gives for all misfits; NaNs are cleared first. */
    const _VF64 number = (_VF64)((_VI64)v & (_VI64)(v == v));
    return _mm_cvttpd_epi32(_mm_min_pd((__m128d)number, _mm_set1_pd(2147483647.0)));
}
HETMP_SIMD_FN _VI32 _VF64_TO_VI32(_VF64 lo, _VF64 hi) {
    return (_VI32)_mm_unpacklo_epi64(hetmp_VF64_to_words(lo), hetmp_VF64_to_words(hi));
}
