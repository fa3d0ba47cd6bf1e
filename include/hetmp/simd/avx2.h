/* Part of hetmp/simd.h: AVX2, where it has more than x86.h. Its 256 bits are two halves that
 * few instructions cross. Not for direct inclusion. */

#define HETMP_OWN_F_ROUND 1
#define HETMP_OWN_F_FLOOR 1
#define HETMP_OWN_F_CEIL 1
#define HETMP_OWN_F_TRUNC 1
#define HETMP_XROUND(T, op, C, name, mode) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { \
        return (_##T)_mm256_##name((C)a, mode | _MM_FROUND_NO_EXC); \
    }
HETMP_XROUND(VF32, ROUND, __m256, round_ps, _MM_FROUND_TO_NEAREST_INT)
HETMP_XROUND(VF32, FLOOR, __m256, round_ps, _MM_FROUND_TO_NEG_INF)
HETMP_XROUND(VF32, CEIL, __m256, round_ps, _MM_FROUND_TO_POS_INF)
HETMP_XROUND(VF32, TRUNC, __m256, round_ps, _MM_FROUND_TO_ZERO)
HETMP_XROUND(VF64, ROUND, __m256d, round_pd, _MM_FROUND_TO_NEAREST_INT)
HETMP_XROUND(VF64, FLOOR, __m256d, round_pd, _MM_FROUND_TO_NEG_INF)
HETMP_XROUND(VF64, CEIL, __m256d, round_pd, _MM_FROUND_TO_POS_INF)
HETMP_XROUND(VF64, TRUNC, __m256d, round_pd, _MM_FROUND_TO_ZERO)
#undef HETMP_XROUND

/* A mask lane is all ones or zeroes, so choosing by bytes serves integers of any width. */
#define HETMP_OWN_F_SELECT 1
#define HETMP_OWN_S_SELECT 1
#define HETMP_OWN_U_SELECT 1
#define HETMP_XSELECT(T, M) \
    HETMP_SIMD_FN _##T _##T##_SELECT(_##M m, _##T a, _##T b) { \
        return (_##T)_mm256_blendv_epi8((__m256i)b, (__m256i)a, (__m256i)m); \
    }
HETMP_XSELECT(VI8, VM8)
HETMP_XSELECT(VU8, VM8)
HETMP_XSELECT(VI16, VM16)
HETMP_XSELECT(VU16, VM16)
HETMP_XSELECT(VI32, VM32)
HETMP_XSELECT(VU32, VM32)
HETMP_XSELECT(VI64, VM64)
HETMP_XSELECT(VU64, VM64)
#undef HETMP_XSELECT
HETMP_SIMD_FN _VF32 _VF32_SELECT(_VM32 m, _VF32 a, _VF32 b) {
    return (_VF32)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);
}
HETMP_SIMD_FN _VF64 _VF64_SELECT(_VM64 m, _VF64 a, _VF64 b) {
    return (_VF64)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)m);
}

#define HETMP_XMASKED(T, L, M, P, C, name) \
    HETMP_SIMD_FN _##T _##T##_LOAD_MASK(const L *p, _##M m) { \
        return (_##T)_mm256_maskload_##name((const P *)p, (__m256i)m); \
    } \
    HETMP_SIMD_FN void _##T##_STORE_MASK(L *p, _##M m, _##T v) { \
        _mm256_maskstore_##name((P *)p, (__m256i)m, (C)v); \
    }
#define HETMP_OWN_F_LOAD_MASK 1
#define HETMP_OWN_F_STORE_MASK 1
#define HETMP_OWN_VI32_LOAD_MASK 1
#define HETMP_OWN_VI32_STORE_MASK 1
#define HETMP_OWN_VU32_LOAD_MASK 1
#define HETMP_OWN_VU32_STORE_MASK 1
#define HETMP_OWN_VI64_LOAD_MASK 1
#define HETMP_OWN_VI64_STORE_MASK 1
#define HETMP_OWN_VU64_LOAD_MASK 1
#define HETMP_OWN_VU64_STORE_MASK 1
HETMP_XMASKED(VF32, float, VM32, float, __m256, ps)
HETMP_XMASKED(VF64, double, VM64, double, __m256d, pd)
HETMP_XMASKED(VI32, int32_t, VM32, int, __m256i, epi32)
HETMP_XMASKED(VU32, uint32_t, VM32, int, __m256i, epi32)
HETMP_XMASKED(VI64, int64_t, VM64, long long, __m256i, epi64)
HETMP_XMASKED(VU64, uint64_t, VM64, long long, __m256i, epi64)
#undef HETMP_XMASKED

#define HETMP_XGATHER(T, L, I, P, name) \
    HETMP_SIMD_FN _##T _##T##_GATHER(const L *p, _##I i) { \
        return (_##T)_mm256_##name((const P *)p, (__m256i)i, sizeof(L)); \
    }
#define HETMP_OWN_F_GATHER 1
#define HETMP_OWN_VI32_GATHER 1
#define HETMP_OWN_VU32_GATHER 1
#define HETMP_OWN_VI64_GATHER 1
#define HETMP_OWN_VU64_GATHER 1
HETMP_XGATHER(VF32, float, VI32, float, i32gather_ps)
HETMP_XGATHER(VF64, double, VI64, double, i64gather_pd)
HETMP_XGATHER(VI32, int32_t, VI32, int, i32gather_epi32)
HETMP_XGATHER(VU32, uint32_t, VI32, int, i32gather_epi32)
HETMP_XGATHER(VI64, int64_t, VI64, long long, i64gather_epi64)
HETMP_XGATHER(VU64, uint64_t, VI64, long long, i64gather_epi64)
#undef HETMP_XGATHER

/* Counts past the width give what we promise. */
#define HETMP_OWN_VI32_SHLV 1
#define HETMP_OWN_VU32_SHLV 1
#define HETMP_OWN_VI64_SHLV 1
#define HETMP_OWN_VU64_SHLV 1
#define HETMP_OWN_VI32_SHRV 1
#define HETMP_OWN_VU32_SHRV 1
#define HETMP_OWN_VU64_SHRV 1
#define HETMP_XSHIFTV(T, UV, op, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T v, _##UV n) { \
        return (_##T)_mm256_##name((__m256i)v, (__m256i)n); \
    }
HETMP_XSHIFTV(VI32, VU32, SHLV, sllv_epi32)
HETMP_XSHIFTV(VU32, VU32, SHLV, sllv_epi32)
HETMP_XSHIFTV(VI64, VU64, SHLV, sllv_epi64)
HETMP_XSHIFTV(VU64, VU64, SHLV, sllv_epi64)
HETMP_XSHIFTV(VI32, VU32, SHRV, srav_epi32)
HETMP_XSHIFTV(VU32, VU32, SHRV, srlv_epi32)
HETMP_XSHIFTV(VU64, VU64, SHRV, srlv_epi64)
#undef HETMP_XSHIFTV

/* The instruction looks at the low three bits of an index only: modulo 8. */
#define HETMP_OWN_VF32_PERMUTE 1
#define HETMP_OWN_VI32_PERMUTE 1
#define HETMP_OWN_VU32_PERMUTE 1
HETMP_SIMD_FN _VF32 _VF32_PERMUTE(_VF32 v, _VU32 i) {
    return (_VF32)_mm256_permutevar8x32_ps((__m256)v, (__m256i)i);
}
HETMP_SIMD_FN _VI32 _VI32_PERMUTE(_VI32 v, _VU32 i) {
    return (_VI32)_mm256_permutevar8x32_epi32((__m256i)v, (__m256i)i);
}
HETMP_SIMD_FN _VU32 _VU32_PERMUTE(_VU32 v, _VU32 i) {
    return (_VU32)_mm256_permutevar8x32_epi32((__m256i)v, (__m256i)i);
}

#define HETMP_XWIDEN(A, B, name) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { \
        return (_##B)_mm256_##name(_mm256_castsi256_si128((__m256i)v)); \
    } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { \
        return (_##B)_mm256_##name(_mm256_extracti128_si256((__m256i)v, 1)); \
    }
#define HETMP_OWN_VI8_TO_VI16 1
#define HETMP_OWN_VU8_TO_VU16 1
#define HETMP_OWN_VI16_TO_VI32 1
#define HETMP_OWN_VU16_TO_VU32 1
#define HETMP_OWN_VI32_TO_VI64 1
#define HETMP_OWN_VU32_TO_VU64 1
#define HETMP_OWN_VI32_TO_VF64 1
HETMP_XWIDEN(VI8, VI16, cvtepi8_epi16)
HETMP_XWIDEN(VU8, VU16, cvtepu8_epi16)
HETMP_XWIDEN(VI16, VI32, cvtepi16_epi32)
HETMP_XWIDEN(VU16, VU32, cvtepu16_epi32)
HETMP_XWIDEN(VI32, VI64, cvtepi32_epi64)
HETMP_XWIDEN(VU32, VU64, cvtepu32_epi64)
HETMP_XWIDEN(VI32, VF64, cvtepi32_pd)
#undef HETMP_XWIDEN
#define HETMP_OWN_VF32_TO_VF64 1
HETMP_SIMD_FN _VF64 _VF32_TO_VF64_LO(_VF32 v) {
    return (_VF64)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
}
HETMP_SIMD_FN _VF64 _VF32_TO_VF64_HI(_VF32 v) {
    return (_VF64)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
}
/* With the upper word of 2^52 an unsigned number is 2^52 + itself. */
#define HETMP_OWN_VU32_TO_VF64 1
HETMP_SIMD_FN _VF64 _VU32_TO_VF64_LO(_VU32 v) {
    return (_VF64)(_VU32_TO_VU64_LO(v) | 0x4330000000000000u) - 0x1p52;
}
HETMP_SIMD_FN _VF64 _VU32_TO_VF64_HI(_VU32 v) {
    return (_VF64)(_VU32_TO_VU64_HI(v) | 0x4330000000000000u) - 0x1p52;
}

/* Packing works within halves: put their quarters into order afterwards. */
#define HETMP_XPACK(B, A, name) \
    HETMP_SIMD_FN _##A _##B##_SAT_##A(_##B lo, _##B hi) { \
        return (_##A)_mm256_permute4x64_epi64(_mm256_##name((__m256i)lo, (__m256i)hi), 0xd8); \
    }
#define HETMP_OWN_VI16_SAT_VI8 1
#define HETMP_OWN_VI16_SAT_VU8 1
#define HETMP_OWN_VI32_SAT_VI16 1
#define HETMP_OWN_VI32_SAT_VU16 1
HETMP_XPACK(VI16, VI8, packs_epi16)
HETMP_XPACK(VI16, VU8, packus_epi16)
HETMP_XPACK(VI32, VI16, packs_epi32)
HETMP_XPACK(VI32, VU16, packus_epi32)
#undef HETMP_XPACK

#define HETMP_OWN_VF64_TO_VF32 1
HETMP_SIMD_FN _VF32 _VF64_TO_VF32(_VF64 lo, _VF64 hi) {
    return (_VF32)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps((__m256d)lo)),
                                       _mm256_cvtpd_ps((__m256d)hi), 1);
}
#define HETMP_OWN_VF64_TO_VI32 1
HETMP_SIMD_FN __m128i hetmp_VF64_to_words(_VF64 v) {
    /* The lower limit is what conversion gives for all misfits; NaNs are cleared first. */
    const _VF64 number = (_VF64)((_VI64)v & (_VI64)(v == v));
    return _mm256_cvttpd_epi32(_mm256_min_pd((__m256d)number, _mm256_set1_pd(2147483647.0)));
}
HETMP_SIMD_FN _VI32 _VF64_TO_VI32(_VF64 lo, _VF64 hi) {
    return (_VI32)_mm256_inserti128_si256(_mm256_castsi128_si256(hetmp_VF64_to_words(lo)),
                                          hetmp_VF64_to_words(hi), 1);
}

/* BMI2 gathers the numbers of the true lanes, a byte each, out of 0 to 7, or spreads them. A
 * mask of 64-bit lanes is one of 32-bit lanes in pairs. */
#if defined(__BMI2__) && defined(__x86_64__)
#define HETMP_XCOMPRESS(T, M) \
    HETMP_SIMD_FN _##T _##T##_COMPRESS(_##M m, _##T v) { \
        const unsigned lanes = (unsigned)_mm256_movemask_ps((__m256)m); \
        const uint64_t bytes = _pdep_u64(lanes, 0x0101010101010101u) * 0xff; \
        /* Behind the numbers are ones: negative. */ \
        const uint64_t from = _pext_u64(0x0706050403020100u, bytes) | ~_pext_u64(bytes, bytes); \
        const __m256i index = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128((long long)from)); \
        return (_##T)((_VI32)_mm256_permutevar8x32_epi32((__m256i)v, index) & ~((_VI32)index >> 31)); \
    } \
    HETMP_SIMD_FN _##T _##T##_EXPAND(_##M m, _##T v) { \
        const unsigned lanes = (unsigned)_mm256_movemask_ps((__m256)m); \
        const uint64_t bytes = _pdep_u64(lanes, 0x0101010101010101u) * 0xff; \
        const uint64_t from = _pdep_u64(0x0706050403020100u, bytes); \
        const __m256i index = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)from)); \
        return (_##T)((_VI32)_mm256_permutevar8x32_epi32((__m256i)v, index) & (_VI32)m); \
    }
#define HETMP_OWN_F_COMPRESS 1
#define HETMP_OWN_F_EXPAND 1
#define HETMP_OWN_VI32_COMPRESS 1
#define HETMP_OWN_VI32_EXPAND 1
#define HETMP_OWN_VU32_COMPRESS 1
#define HETMP_OWN_VU32_EXPAND 1
#define HETMP_OWN_VI64_COMPRESS 1
#define HETMP_OWN_VI64_EXPAND 1
#define HETMP_OWN_VU64_COMPRESS 1
#define HETMP_OWN_VU64_EXPAND 1
HETMP_XCOMPRESS(VF32, VM32)
HETMP_XCOMPRESS(VI32, VM32)
HETMP_XCOMPRESS(VU32, VM32)
HETMP_XCOMPRESS(VF64, VM64)
HETMP_XCOMPRESS(VI64, VM64)
HETMP_XCOMPRESS(VU64, VM64)
#undef HETMP_XCOMPRESS
#endif
