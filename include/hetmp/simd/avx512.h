/* Part of hetmp/simd.h: AVX-512 (F, BW, DQ, VL), where it has more than x86.h. Masks are
 * numbers, one bit a lane. Not for direct inclusion. */

/* Integers serve as masks: what shifts and counts work on all 64 bits, those past the lanes
 * of a narrow mask being 0. */
#define HETMP_OWN_M_TRUE 1
#define HETMP_OWN_M_FALSE 1
#define HETMP_OWN_M_GET 1
#define HETMP_OWN_M_FIRST_N 1
#define HETMP_OWN_M_TO_VI 1
#define HETMP_OWN_M_FROM_VI 1
#define HETMP_OWN_M_BITS 1
#define HETMP_OWN_M_FROM_BITS 1
#define HETMP_OWN_M_ANY 1
#define HETMP_OWN_M_ALL 1
#define HETMP_OWN_M_COUNT 1
#define HETMP_OWN_M_FIRST 1
#define HETMP_XMASK(M, V, N, name) \
    HETMP_SIMD_FN _##M _##M##_TRUE(void) { return (_##M)-1; } \
    HETMP_SIMD_FN _##M _##M##_FALSE(void) { return 0; } \
    HETMP_SIMD_FN int _##M##_GET(_##M m, size_t i) { return (int)((uint64_t)m >> (i % N) & 1); } \
    HETMP_SIMD_FN _##M _##M##_FIRST_N(size_t n) { \
        return n < N ? (_##M)(((uint64_t)1 << n) - 1) : (_##M)-1; \
    } \
    HETMP_SIMD_FN _##V _##M##_TO_VI(_##M m) { return (_##V)_mm512_movm_##name(m); } \
    HETMP_SIMD_FN _##M _##M##_FROM_VI(_##V v) { \
        return _mm512_test_##name##_mask((__m512i)v, (__m512i)v); \
    } \
    HETMP_SIMD_FN uint64_t _##M##_BITS(_##M m) { return m; } \
    HETMP_SIMD_FN _##M _##M##_FROM_BITS(uint64_t bits) { return (_##M)bits; } \
    HETMP_SIMD_FN int _##M##_ANY(_##M m) { return m != 0; } \
    HETMP_SIMD_FN int _##M##_ALL(_##M m) { return m == (_##M)-1; } \
    HETMP_SIMD_FN int _##M##_COUNT(_##M m) { return (int)_mm_popcnt_u64(m); } \
    HETMP_SIMD_FN int _##M##_FIRST(_##M m) { return m ? __builtin_ctzll(m) : N; }
#ifndef __POPCNT__
#error "hetmp: HETMP_SIMD_BACKEND avx512: needs -mpopcnt (part of every -march with AVX-512)"
#endif
HETMP_XMASK(VM8, VI8, 64, epi8)
HETMP_XMASK(VM16, VI16, 32, epi16)
HETMP_XMASK(VM32, VI32, 16, epi32)
HETMP_XMASK(VM64, VI64, 8, epi64)
#undef HETMP_XMASK

#define HETMP_OWN_F_EQ 1
#define HETMP_OWN_F_NE 1
#define HETMP_OWN_F_LT 1
#define HETMP_OWN_F_LE 1
#define HETMP_OWN_F_GT 1
#define HETMP_OWN_F_GE 1
#define HETMP_OWN_S_EQ 1
#define HETMP_OWN_S_NE 1
#define HETMP_OWN_S_LT 1
#define HETMP_OWN_S_LE 1
#define HETMP_OWN_S_GT 1
#define HETMP_OWN_S_GE 1
#define HETMP_OWN_U_EQ 1
#define HETMP_OWN_U_NE 1
#define HETMP_OWN_U_LT 1
#define HETMP_OWN_U_LE 1
#define HETMP_OWN_U_GT 1
#define HETMP_OWN_U_GE 1
#define HETMP_XCOMPARE(T, M, op, name, C, how) \
    HETMP_SIMD_FN _##M _##T##_##op(_##T a, _##T b) { \
        return _mm512_cmp_##name##_mask((C)a, (C)b, how); \
    }
#define HETMP_XCOMPARES(T, M, name) \
    HETMP_XCOMPARE(T, M, EQ, name, __m512i, _MM_CMPINT_EQ) \
    HETMP_XCOMPARE(T, M, NE, name, __m512i, _MM_CMPINT_NE) \
    HETMP_XCOMPARE(T, M, LT, name, __m512i, _MM_CMPINT_LT) \
    HETMP_XCOMPARE(T, M, LE, name, __m512i, _MM_CMPINT_LE) \
    HETMP_XCOMPARE(T, M, GT, name, __m512i, _MM_CMPINT_NLE) \
    HETMP_XCOMPARE(T, M, GE, name, __m512i, _MM_CMPINT_NLT)
#define HETMP_XCOMPARES_F(T, M, name, C) \
    HETMP_XCOMPARE(T, M, EQ, name, C, _CMP_EQ_OQ) \
    HETMP_XCOMPARE(T, M, NE, name, C, _CMP_NEQ_UQ) \
    HETMP_XCOMPARE(T, M, LT, name, C, _CMP_LT_OS) \
    HETMP_XCOMPARE(T, M, LE, name, C, _CMP_LE_OS) \
    HETMP_XCOMPARE(T, M, GT, name, C, _CMP_GT_OS) \
    HETMP_XCOMPARE(T, M, GE, name, C, _CMP_GE_OS)
HETMP_XCOMPARES(VI8, VM8, epi8)
HETMP_XCOMPARES(VU8, VM8, epu8)
HETMP_XCOMPARES(VI16, VM16, epi16)
HETMP_XCOMPARES(VU16, VM16, epu16)
HETMP_XCOMPARES(VI32, VM32, epi32)
HETMP_XCOMPARES(VU32, VM32, epu32)
HETMP_XCOMPARES(VI64, VM64, epi64)
HETMP_XCOMPARES(VU64, VM64, epu64)
HETMP_XCOMPARES_F(VF32, VM32, ps, __m512)
HETMP_XCOMPARES_F(VF64, VM64, pd, __m512d)
#undef HETMP_XCOMPARE
#undef HETMP_XCOMPARES
#undef HETMP_XCOMPARES_F

#define HETMP_OWN_F_SELECT 1
#define HETMP_OWN_S_SELECT 1
#define HETMP_OWN_U_SELECT 1
#define HETMP_OWN_F_LOAD_MASK 1
#define HETMP_OWN_S_LOAD_MASK 1
#define HETMP_OWN_U_LOAD_MASK 1
#define HETMP_OWN_F_STORE_MASK 1
#define HETMP_OWN_S_STORE_MASK 1
#define HETMP_OWN_U_STORE_MASK 1
#define HETMP_XMASKED(T, L, M, C, name) \
    HETMP_SIMD_FN _##T _##T##_SELECT(_##M m, _##T a, _##T b) { \
        return (_##T)_mm512_mask_blend_##name(m, (C)b, (C)a); \
    } \
    HETMP_SIMD_FN _##T _##T##_LOAD_MASK(const L *p, _##M m) { \
        return (_##T)_mm512_maskz_loadu_##name(m, p); \
    } \
    HETMP_SIMD_FN void _##T##_STORE_MASK(L *p, _##M m, _##T v) { \
        _mm512_mask_storeu_##name(p, m, (C)v); \
    }
HETMP_XMASKED(VI8, int8_t, VM8, __m512i, epi8)
HETMP_XMASKED(VU8, uint8_t, VM8, __m512i, epi8)
HETMP_XMASKED(VI16, int16_t, VM16, __m512i, epi16)
HETMP_XMASKED(VU16, uint16_t, VM16, __m512i, epi16)
HETMP_XMASKED(VI32, int32_t, VM32, __m512i, epi32)
HETMP_XMASKED(VU32, uint32_t, VM32, __m512i, epi32)
HETMP_XMASKED(VI64, int64_t, VM64, __m512i, epi64)
HETMP_XMASKED(VU64, uint64_t, VM64, __m512i, epi64)
HETMP_XMASKED(VF32, float, VM32, __m512, ps)
HETMP_XMASKED(VF64, double, VM64, __m512d, pd)
#undef HETMP_XMASKED

#define HETMP_OWN_S_INC 1
#define HETMP_OWN_U_INC 1
#define HETMP_XINC(T, M, name) \
    HETMP_SIMD_FN _##T _##T##_INC(_##T v, _##M m) { \
        return (_##T)_mm512_mask_add_##name((__m512i)v, m, (__m512i)v, _mm512_set1_##name(1)); \
    }
HETMP_XINC(VI8, VM8, epi8)
HETMP_XINC(VU8, VM8, epi8)
HETMP_XINC(VI16, VM16, epi16)
HETMP_XINC(VU16, VM16, epi16)
HETMP_XINC(VI32, VM32, epi32)
HETMP_XINC(VU32, VM32, epi32)
HETMP_XINC(VI64, VM64, epi64)
HETMP_XINC(VU64, VM64, epi64)
#undef HETMP_XINC

#define HETMP_OWN_F_GATHER 1
#define HETMP_OWN_F_SCATTER 1
#define HETMP_OWN_S_GATHER 1
#define HETMP_OWN_S_SCATTER 1
#define HETMP_OWN_U_GATHER 1
#define HETMP_OWN_U_SCATTER 1
#define HETMP_XGATHER(T, L, I, C, index, name) \
    HETMP_SIMD_FN _##T _##T##_GATHER(const L *p, _##I i) { \
        return (_##T)_mm512_##index##gather_##name((__m512i)i, p, sizeof(L)); \
    } \
    HETMP_SIMD_FN void _##T##_SCATTER(L *p, _##I i, _##T v) { \
        _mm512_##index##scatter_##name(p, (__m512i)i, (C)v, sizeof(L)); \
    }
HETMP_XGATHER(VF32, float, VI32, __m512, i32, ps)
HETMP_XGATHER(VF64, double, VI64, __m512d, i64, pd)
HETMP_XGATHER(VI32, int32_t, VI32, __m512i, i32, epi32)
HETMP_XGATHER(VU32, uint32_t, VI32, __m512i, i32, epi32)
HETMP_XGATHER(VI64, int64_t, VI64, __m512i, i64, epi64)
HETMP_XGATHER(VU64, uint64_t, VI64, __m512i, i64, epi64)
#undef HETMP_XGATHER

#define HETMP_OWN_VI64_MIN 1
#define HETMP_OWN_VI64_MAX 1
#define HETMP_OWN_VU64_MIN 1
#define HETMP_OWN_VU64_MAX 1
#define HETMP_OWN_VI64_ABS 1
#define HETMP_OWN_VI64_SHR 1
HETMP_X2(VI64, MIN, hetmp_mi, min_epi64)
HETMP_X2(VI64, MAX, hetmp_mi, max_epi64)
HETMP_X2(VU64, MIN, hetmp_mi, min_epu64)
HETMP_X2(VU64, MAX, hetmp_mi, max_epu64)
HETMP_X1(VI64, ABS, hetmp_mi, abs_epi64)
HETMP_XSHIFT_SIGN(VI64, sra_epi64, 64)

/* ADDS and SUBS of lanes for which there is no instruction: the common text takes comparisons
 * for lanes of ones. */
#define HETMP_XSATURATE(T, U, M) \
    HETMP_SIMD_FN _##T _##T##_ADDS(_##T a, _##T b) { \
        const _##U sum = (_##U)a + (_##U)b; \
        const _##U limit = ((_##U)a >> (sizeof(a[0]) * 8 - 1)) + (((_##U)(a ^ a) - 1) >> 1); \
        const _##T over = ~(a ^ b) & (a ^ (_##T)sum); \
        return _##T##_SELECT(_##T##_LT(over, over ^ over), (_##T)limit, (_##T)sum); \
    } \
    HETMP_SIMD_FN _##T _##T##_SUBS(_##T a, _##T b) { \
        const _##U rest = (_##U)a - (_##U)b; \
        const _##U limit = ((_##U)a >> (sizeof(a[0]) * 8 - 1)) + (((_##U)(a ^ a) - 1) >> 1); \
        const _##T over = (a ^ b) & (a ^ (_##T)rest); \
        return _##T##_SELECT(_##T##_LT(over, over ^ over), (_##T)limit, (_##T)rest); \
    } \
    HETMP_SIMD_FN _##U _##U##_ADDS(_##U a, _##U b) { return a + _##U##_MIN(b, ~a); } \
    HETMP_SIMD_FN _##U _##U##_SUBS(_##U a, _##U b) { return a - _##U##_MIN(a, b); }
#define HETMP_OWN_VI32_ADDS 1
#define HETMP_OWN_VI32_SUBS 1
#define HETMP_OWN_VU32_ADDS 1
#define HETMP_OWN_VU32_SUBS 1
#define HETMP_OWN_VI64_ADDS 1
#define HETMP_OWN_VI64_SUBS 1
#define HETMP_OWN_VU64_ADDS 1
#define HETMP_OWN_VU64_SUBS 1
HETMP_XSATURATE(VI32, VU32, VM32)
HETMP_XSATURATE(VI64, VU64, VM64)
#undef HETMP_XSATURATE

/* Counts past the width give what we promise. */
#define HETMP_XSHIFTV(T, UV, op, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T v, _##UV n) { \
        return (_##T)_mm512_##name((__m512i)v, (__m512i)n); \
    }
#define HETMP_OWN_VI16_SHLV 1
#define HETMP_OWN_VU16_SHLV 1
#define HETMP_OWN_VI32_SHLV 1
#define HETMP_OWN_VU32_SHLV 1
#define HETMP_OWN_VI64_SHLV 1
#define HETMP_OWN_VU64_SHLV 1
#define HETMP_OWN_VI16_SHRV 1
#define HETMP_OWN_VU16_SHRV 1
#define HETMP_OWN_VI32_SHRV 1
#define HETMP_OWN_VU32_SHRV 1
#define HETMP_OWN_VI64_SHRV 1
#define HETMP_OWN_VU64_SHRV 1
HETMP_XSHIFTV(VI16, VU16, SHLV, sllv_epi16)
HETMP_XSHIFTV(VU16, VU16, SHLV, sllv_epi16)
HETMP_XSHIFTV(VI32, VU32, SHLV, sllv_epi32)
HETMP_XSHIFTV(VU32, VU32, SHLV, sllv_epi32)
HETMP_XSHIFTV(VI64, VU64, SHLV, sllv_epi64)
HETMP_XSHIFTV(VU64, VU64, SHLV, sllv_epi64)
HETMP_XSHIFTV(VI16, VU16, SHRV, srav_epi16)
HETMP_XSHIFTV(VU16, VU16, SHRV, srlv_epi16)
HETMP_XSHIFTV(VI32, VU32, SHRV, srav_epi32)
HETMP_XSHIFTV(VU32, VU32, SHRV, srlv_epi32)
HETMP_XSHIFTV(VI64, VU64, SHRV, srav_epi64)
HETMP_XSHIFTV(VU64, VU64, SHRV, srlv_epi64)
#define HETMP_OWN_VU32_ROTLV 1
#define HETMP_OWN_VU64_ROTLV 1
#define HETMP_OWN_VU32_ROTRV 1
#define HETMP_OWN_VU64_ROTRV 1
HETMP_XSHIFTV(VU32, VU32, ROTLV, rolv_epi32)
HETMP_XSHIFTV(VU64, VU64, ROTLV, rolv_epi64)
HETMP_XSHIFTV(VU32, VU32, ROTRV, rorv_epi32)
HETMP_XSHIFTV(VU64, VU64, ROTRV, rorv_epi64)
#undef HETMP_XSHIFTV
/* Lanes of 8 bits as those of 16: the even ones shifted apart from the odd ones. */
#define HETMP_OWN_VU8_SHLV 1
#define HETMP_OWN_VI8_SHLV 1
#define HETMP_OWN_VU8_SHRV 1
#define HETMP_OWN_VI8_SHRV 1
HETMP_SIMD_FN _VU8 hetmp_even_odd(_VU16 even, _VU16 odd) {
    return (_VU8)_mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaau, (__m512i)even, (__m512i)odd);
}
HETMP_SIMD_FN _VU8 _VU8_SHLV(_VU8 v, _VU8 n) {
    const _VU16 v16 = (_VU16)v, n16 = (_VU16)n;
    return hetmp_even_odd(_VU16_SHLV(v16, n16 & 0xff), _VU16_SHLV(v16 & 0xff00, n16 >> 8));
}
HETMP_SIMD_FN _VI8 _VI8_SHLV(_VI8 v, _VU8 n) { return (_VI8)_VU8_SHLV((_VU8)v, n); }
HETMP_SIMD_FN _VU8 _VU8_SHRV(_VU8 v, _VU8 n) {
    const _VU16 v16 = (_VU16)v, n16 = (_VU16)n;
    return hetmp_even_odd(_VU16_SHRV(v16 & 0xff, n16 & 0xff), _VU16_SHRV(v16, n16 >> 8));
}
HETMP_SIMD_FN _VI8 _VI8_SHRV(_VI8 v, _VU8 n) {
    const _VI16 v16 = (_VI16)v;
    const _VU16 n16 = (_VU16)n;
    /* An even byte is first moved up, for its sign, and comes down by 8 more. */
    const _VI16 even = _VI16_SHRV(_VI16_SHRV((_VI16)((_VU16)v16 << 8), n16 & 0xff),
                                  (_VU16)(v16 ^ v16) + 8);
    return (_VI8)hetmp_even_odd((_VU16)even, (_VU16)_VI16_SHRV(v16, n16 >> 8));
}

/* One instruction for any function of three bits; 0xca is c ? a : b. */
#define HETMP_OWN_F_BITSEL 1
#define HETMP_OWN_S_BITSEL 1
#define HETMP_OWN_U_BITSEL 1
#define HETMP_XBITSEL(T) \
    HETMP_SIMD_FN _##T _##T##_BITSEL(_##T c, _##T a, _##T b) { \
        return (_##T)_mm512_ternarylogic_epi32((__m512i)c, (__m512i)a, (__m512i)b, 0xca); \
    }
HETMP_XBITSEL(VI8)
HETMP_XBITSEL(VU8)
HETMP_XBITSEL(VI16)
HETMP_XBITSEL(VU16)
HETMP_XBITSEL(VI32)
HETMP_XBITSEL(VU32)
HETMP_XBITSEL(VI64)
HETMP_XBITSEL(VU64)
HETMP_XBITSEL(VF32)
HETMP_XBITSEL(VF64)
#undef HETMP_XBITSEL

#define HETMP_OWN_F_ROUND 1
#define HETMP_OWN_F_FLOOR 1
#define HETMP_OWN_F_CEIL 1
#define HETMP_OWN_F_TRUNC 1
#define HETMP_XROUND(T, op, C, name, mode) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { \
        return (_##T)_mm512_##name((C)a, mode | _MM_FROUND_NO_EXC); \
    }
HETMP_XROUND(VF32, ROUND, __m512, roundscale_ps, _MM_FROUND_TO_NEAREST_INT)
HETMP_XROUND(VF32, FLOOR, __m512, roundscale_ps, _MM_FROUND_TO_NEG_INF)
HETMP_XROUND(VF32, CEIL, __m512, roundscale_ps, _MM_FROUND_TO_POS_INF)
HETMP_XROUND(VF32, TRUNC, __m512, roundscale_ps, _MM_FROUND_TO_ZERO)
HETMP_XROUND(VF64, ROUND, __m512d, roundscale_pd, _MM_FROUND_TO_NEAREST_INT)
HETMP_XROUND(VF64, FLOOR, __m512d, roundscale_pd, _MM_FROUND_TO_NEG_INF)
HETMP_XROUND(VF64, CEIL, __m512d, roundscale_pd, _MM_FROUND_TO_POS_INF)
HETMP_XROUND(VF64, TRUNC, __m512d, roundscale_pd, _MM_FROUND_TO_ZERO)
#undef HETMP_XROUND

/* Indexes count modulo the lanes. */
#define HETMP_XPERMUTE(T, U, C, name) \
    HETMP_SIMD_FN _##T _##T##_PERMUTE(_##T v, _##U i) { \
        return (_##T)_mm512_permutexvar_##name((__m512i)i, (C)v); \
    }
#define HETMP_OWN_F_PERMUTE 1
#define HETMP_OWN_VI16_PERMUTE 1
#define HETMP_OWN_VU16_PERMUTE 1
#define HETMP_OWN_VI32_PERMUTE 1
#define HETMP_OWN_VU32_PERMUTE 1
#define HETMP_OWN_VI64_PERMUTE 1
#define HETMP_OWN_VU64_PERMUTE 1
HETMP_XPERMUTE(VF32, VU32, __m512, ps)
HETMP_XPERMUTE(VF64, VU64, __m512d, pd)
HETMP_XPERMUTE(VI16, VU16, __m512i, epi16)
HETMP_XPERMUTE(VU16, VU16, __m512i, epi16)
HETMP_XPERMUTE(VI32, VU32, __m512i, epi32)
HETMP_XPERMUTE(VU32, VU32, __m512i, epi32)
HETMP_XPERMUTE(VI64, VU64, __m512i, epi64)
HETMP_XPERMUTE(VU64, VU64, __m512i, epi64)
#ifdef __AVX512VBMI__
#define HETMP_OWN_VI8_PERMUTE 1
#define HETMP_OWN_VU8_PERMUTE 1
HETMP_XPERMUTE(VI8, VU8, __m512i, epi8)
HETMP_XPERMUTE(VU8, VU8, __m512i, epi8)
#endif
#undef HETMP_XPERMUTE

#define HETMP_XCOMPRESS(T, M, C, name) \
    HETMP_SIMD_FN _##T _##T##_COMPRESS(_##M m, _##T v) { \
        return (_##T)_mm512_maskz_compress_##name(m, (C)v); \
    } \
    HETMP_SIMD_FN _##T _##T##_EXPAND(_##M m, _##T v) { \
        return (_##T)_mm512_maskz_expand_##name(m, (C)v); \
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
HETMP_XCOMPRESS(VF32, VM32, __m512, ps)
HETMP_XCOMPRESS(VF64, VM64, __m512d, pd)
HETMP_XCOMPRESS(VI32, VM32, __m512i, epi32)
HETMP_XCOMPRESS(VU32, VM32, __m512i, epi32)
HETMP_XCOMPRESS(VI64, VM64, __m512i, epi64)
HETMP_XCOMPRESS(VU64, VM64, __m512i, epi64)
#ifdef __AVX512VBMI2__
#define HETMP_OWN_VI8_COMPRESS 1
#define HETMP_OWN_VI8_EXPAND 1
#define HETMP_OWN_VU8_COMPRESS 1
#define HETMP_OWN_VU8_EXPAND 1
#define HETMP_OWN_VI16_COMPRESS 1
#define HETMP_OWN_VI16_EXPAND 1
#define HETMP_OWN_VU16_COMPRESS 1
#define HETMP_OWN_VU16_EXPAND 1
HETMP_XCOMPRESS(VI8, VM8, __m512i, epi8)
HETMP_XCOMPRESS(VU8, VM8, __m512i, epi8)
HETMP_XCOMPRESS(VI16, VM16, __m512i, epi16)
HETMP_XCOMPRESS(VU16, VM16, __m512i, epi16)
#endif
#undef HETMP_XCOMPRESS

#define HETMP_XWIDEN(A, B, name) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { \
        return (_##B)_mm512_##name(_mm512_castsi512_si256((__m512i)v)); \
    } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { \
        return (_##B)_mm512_##name(_mm512_extracti64x4_epi64((__m512i)v, 1)); \
    }
#define HETMP_OWN_VI8_TO_VI16 1
#define HETMP_OWN_VU8_TO_VU16 1
#define HETMP_OWN_VI16_TO_VI32 1
#define HETMP_OWN_VU16_TO_VU32 1
#define HETMP_OWN_VI32_TO_VI64 1
#define HETMP_OWN_VU32_TO_VU64 1
#define HETMP_OWN_VI32_TO_VF64 1
#define HETMP_OWN_VU32_TO_VF64 1
HETMP_XWIDEN(VI8, VI16, cvtepi8_epi16)
HETMP_XWIDEN(VU8, VU16, cvtepu8_epi16)
HETMP_XWIDEN(VI16, VI32, cvtepi16_epi32)
HETMP_XWIDEN(VU16, VU32, cvtepu16_epi32)
HETMP_XWIDEN(VI32, VI64, cvtepi32_epi64)
HETMP_XWIDEN(VU32, VU64, cvtepu32_epi64)
HETMP_XWIDEN(VI32, VF64, cvtepi32_pd)
HETMP_XWIDEN(VU32, VF64, cvtepu32_pd)
#undef HETMP_XWIDEN
#define HETMP_OWN_VF32_TO_VF64 1
HETMP_SIMD_FN _VF64 _VF32_TO_VF64_LO(_VF32 v) {
    return (_VF64)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
}
HETMP_SIMD_FN _VF64 _VF32_TO_VF64_HI(_VF32 v) {
    return (_VF64)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)v, 1));
}

#define HETMP_XNARROW(B, op, A, name) \
    HETMP_SIMD_FN _##A _##B##_##op##_##A(_##B lo, _##B hi) { \
        const __m256i l = _mm512_##name((__m512i)lo), h = _mm512_##name((__m512i)hi); \
        return (_##A)_mm512_inserti64x4(_mm512_castsi256_si512(l), h, 1); \
    }
#define HETMP_OWN_VI16_SAT_VI8 1
#define HETMP_OWN_VU16_SAT_VU8 1
#define HETMP_OWN_VI32_SAT_VI16 1
#define HETMP_OWN_VU32_SAT_VU16 1
#define HETMP_OWN_VI64_SAT_VI32 1
#define HETMP_OWN_VU64_SAT_VU32 1
HETMP_XNARROW(VI16, SAT, VI8, cvtsepi16_epi8)
HETMP_XNARROW(VU16, SAT, VU8, cvtusepi16_epi8)
HETMP_XNARROW(VI32, SAT, VI16, cvtsepi32_epi16)
HETMP_XNARROW(VU32, SAT, VU16, cvtusepi32_epi16)
HETMP_XNARROW(VI64, SAT, VI32, cvtsepi64_epi32)
HETMP_XNARROW(VU64, SAT, VU32, cvtusepi64_epi32)
#undef HETMP_XNARROW

#define HETMP_OWN_VF64_TO_VF32 1
HETMP_SIMD_FN _VF32 _VF64_TO_VF32(_VF64 lo, _VF64 hi) {
    const __m256 l = _mm512_cvtpd_ps((__m512d)lo), h = _mm512_cvtpd_ps((__m512d)hi);
    return (_VF32)_mm512_insertf32x8(_mm512_castps256_ps512(l), h, 1);
}

/* Conversions give the lowest number (signed) or all ones (unsigned) for what does not fit:
 * right at one end; the masks take care of the other and of NaNs. */
#define HETMP_XTO_SIGNED(F, S, M, C, name, end, most) \
    HETMP_SIMD_FN _##S _##F##_TO_##S(_##F v) { \
        const _##S r = (_##S)_mm512_##name((C)v); \
        const _##S in = _##S##_SELECT(_##F##_EQ(v, v), r, r ^ r); \
        return _##S##_SELECT(_##F##_GE(v, _##F##_SET1(end)), (r ^ r) + most, in); \
    }
#define HETMP_OWN_VF32_TO_VI32 1
#define HETMP_OWN_VF64_TO_VI64 1
HETMP_XTO_SIGNED(VF32, VI32, VM32, __m512, cvttps_epi32, 0x1p31f, INT32_MAX)
HETMP_XTO_SIGNED(VF64, VI64, VM64, __m512d, cvttpd_epi64, 0x1p63, INT64_MAX)
#undef HETMP_XTO_SIGNED
#define HETMP_OWN_VF32_TO_VU32 1
#define HETMP_OWN_VF64_TO_VU64 1
/* max(v, 0) is 0 for NaNs and what is negative. */
HETMP_SIMD_FN _VU32 _VF32_TO_VU32(_VF32 v) {
    return (_VU32)_mm512_cvttps_epu32(_mm512_max_ps((__m512)v, _mm512_setzero_ps()));
}
HETMP_SIMD_FN _VU64 _VF64_TO_VU64(_VF64 v) {
    return (_VU64)_mm512_cvttpd_epu64(_mm512_max_pd((__m512d)v, _mm512_setzero_pd()));
}
#define HETMP_OWN_VI32_TO_VF32 1
#define HETMP_OWN_VU32_TO_VF32 1
#define HETMP_OWN_VI64_TO_VF64 1
#define HETMP_OWN_VU64_TO_VF64 1
HETMP_SIMD_FN _VF32 _VI32_TO_VF32(_VI32 v) { return (_VF32)_mm512_cvtepi32_ps((__m512i)v); }
HETMP_SIMD_FN _VF32 _VU32_TO_VF32(_VU32 v) { return (_VF32)_mm512_cvtepu32_ps((__m512i)v); }
HETMP_SIMD_FN _VF64 _VI64_TO_VF64(_VI64 v) { return (_VF64)_mm512_cvtepi64_pd((__m512i)v); }
HETMP_SIMD_FN _VF64 _VU64_TO_VF64(_VU64 v) { return (_VF64)_mm512_cvtepu64_pd((__m512i)v); }

#if defined(__AVX512CD__)
#define HETMP_OWN_VI32_CLZ 1
#define HETMP_OWN_VU32_CLZ 1
#define HETMP_OWN_VI64_CLZ 1
#define HETMP_OWN_VU64_CLZ 1
HETMP_X1(VI32, CLZ, hetmp_mi, lzcnt_epi32)
HETMP_X1(VU32, CLZ, hetmp_mi, lzcnt_epi32)
HETMP_X1(VI64, CLZ, hetmp_mi, lzcnt_epi64)
HETMP_X1(VU64, CLZ, hetmp_mi, lzcnt_epi64)
#endif
#ifdef __AVX512VNNI__
#define HETMP_OWN_VI16_DOTADD 1
HETMP_SIMD_FN _VI32 _VI16_DOTADD(_VI16 a, _VI16 b, _VI32 c) {
    return (_VI32)_mm512_dpwssd_epi32((__m512i)c, (__m512i)a, (__m512i)b);
}
#endif
