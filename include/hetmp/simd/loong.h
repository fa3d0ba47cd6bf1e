/* Part of hetmp/simd.h: LoongArch's vectors, LSX of 128 bits and LASX of 256, whose names differ by a letter. The
 * compiler turns operators on such vectors into their instructions; this is the rest. Not for direct inclusion. */

#if HETMP_SIMD_ID == HETMP_SIMD_ID_lasx
#define HETMP_GI(name) __lasx_xv##name
typedef __m256i hetmp_lv_int;
typedef __m256 hetmp_lv_VF32;
typedef __m256d hetmp_lv_VF64;
#define HETMP_GANY(v) __lasx_xbnz_v((hetmp_lv_int)(v))
#define HETMP_GALL(v) __lasx_xbnz_b((hetmp_lv_int)(v))
/* What narrows works within halves of 128 bits: low and high parts then alternate. */
#define HETMP_GORDER(v) __lasx_xvpermi_d((hetmp_lv_int)(v), 0xd8)
#define HETMP_GLOW(v) __lasx_xvpermi_d((hetmp_lv_int)(v), 0x10)
#define HETMP_GHIGH(v) __lasx_xvpermi_d((hetmp_lv_int)(v), 0x32)
#else
#define HETMP_GI(name) __lsx_v##name
typedef __m128i hetmp_lv_int;
typedef __m128 hetmp_lv_VF32;
typedef __m128d hetmp_lv_VF64;
#define HETMP_GANY(v) __lsx_bnz_v((hetmp_lv_int)(v))
#define HETMP_GALL(v) __lsx_bnz_b((hetmp_lv_int)(v))
#define HETMP_GORDER(v) (v)
#define HETMP_GLOW(v) ((hetmp_lv_int)(v))
#define HETMP_GHIGH(v) __lsx_vreplvei_d((hetmp_lv_int)(v), 1)
#endif
typedef hetmp_lv_int hetmp_lv_VI8, hetmp_lv_VI16, hetmp_lv_VI32, hetmp_lv_VI64;
typedef hetmp_lv_int hetmp_lv_VU8, hetmp_lv_VU16, hetmp_lv_VU32, hetmp_lv_VU64;

/* X(type, lane's C type, bits a lane, letters of the instruction, letter of the width). */
#define HETMP_GSIGNED(X) \
    X(VI8, int8_t, 8, b, b) X(VI16, int16_t, 16, h, h) X(VI32, int32_t, 32, w, w) X(VI64, int64_t, 64, d, d)
#define HETMP_GUNSIGNED(X) \
    X(VU8, uint8_t, 8, bu, b) X(VU16, uint16_t, 16, hu, h) X(VU32, uint32_t, 32, wu, w) X(VU64, uint64_t, 64, du, d)
#define HETMP_GFLOATS(X) X(VF32, float, 32, s, w) X(VF64, double, 64, d, d)
#define HETMP_GINTS(X) HETMP_GSIGNED(X) HETMP_GUNSIGNED(X)
#define HETMP_GTO(T, v) ((hetmp_lv_##T)(v))
#define HETMP_G1(T, op, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { return (_##T)HETMP_GI(name)(HETMP_GTO(T, a)); }
#define HETMP_G2(T, op, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { return (_##T)HETMP_GI(name)(HETMP_GTO(T, a), HETMP_GTO(T, b)); }

#define HETMP_OWN_S_MIN 1
#define HETMP_OWN_U_MIN 1
#define HETMP_OWN_S_MAX 1
#define HETMP_OWN_U_MAX 1
#define HETMP_OWN_S_ADDS 1
#define HETMP_OWN_U_ADDS 1
#define HETMP_OWN_S_SUBS 1
#define HETMP_OWN_U_SUBS 1
#define HETMP_OWN_S_ABSDIFF 1
#define HETMP_OWN_U_ABSDIFF 1
#define HETMP_OWN_S_MULHI 1
#define HETMP_OWN_U_MULHI 1
#define HETMP_OWN_S_POPCNT 1
#define HETMP_OWN_U_POPCNT 1
#define HETMP_OWN_S_CLZ 1
#define HETMP_OWN_U_CLZ 1
#define HETMP_GINT(T, L, W, s, w) \
    HETMP_G2(T, MIN, min_##s) \
    HETMP_G2(T, MAX, max_##s) \
    HETMP_G2(T, ADDS, sadd_##s) \
    HETMP_G2(T, SUBS, ssub_##s) \
    HETMP_G2(T, ABSDIFF, absd_##s) \
    HETMP_G2(T, MULHI, muh_##s) \
    HETMP_G1(T, POPCNT, pcnt_##w) \
    HETMP_G1(T, CLZ, clz_##w)
HETMP_GINTS(HETMP_GINT)
#undef HETMP_GINT
/* The manual leaves a division by 0 open, and says nothing of the lowest number by -1. */
#define HETMP_OWN_S_ABS 1
#define HETMP_OWN_S_DIV 1
#define HETMP_GSIGN(T, L, W, s, w) \
    HETMP_SIMD_FN _##T _##T##_ABS(_##T a) { \
        return (_##T)HETMP_GI(signcov_##s)(HETMP_GTO(T, a), HETMP_GTO(T, a)); \
    } \
    HETMP_SIMD_FN _##T _##T##_DIV(_##T a, _##T b) { \
        const _##T zero = {0}; \
        const _##T turn = (_##T)(b == -1), some = (_##T)(b != 0); \
        const _##T by = (b | ~some) & ~turn; \
        const _##T plain = (_##T)HETMP_GI(div_##s)(HETMP_GTO(T, a), HETMP_GTO(T, by | (turn & 1))); \
        const _##T back = (_##T)HETMP_GI(sub_##s)(HETMP_GTO(T, zero), HETMP_GTO(T, a)); \
        return (_##T)HETMP_GI(bitsel_v)(HETMP_GTO(T, plain), HETMP_GTO(T, back), HETMP_GTO(T, turn)) & some; \
    }
HETMP_GSIGNED(HETMP_GSIGN)
#undef HETMP_GSIGN
#define HETMP_OWN_U_DIV 1
#define HETMP_OWN_U_AVG 1
#define HETMP_OWN_U_ROTL 1
#define HETMP_OWN_U_ROTR 1
#define HETMP_OWN_U_ROTLV 1
#define HETMP_OWN_U_ROTRV 1
#define HETMP_GUNSIGN(T, L, W, s, w) \
    HETMP_G2(T, AVG, avgr_##s) \
    HETMP_SIMD_FN _##T _##T##_DIV(_##T a, _##T b) { \
        const _##T some = (_##T)(b != 0); \
        return (_##T)HETMP_GI(div_##s)(HETMP_GTO(T, a), HETMP_GTO(T, b | ~some)) & some; \
    } \
    HETMP_SIMD_FN _##T _##T##_ROTRV(_##T v, _##T n) { \
        return (_##T)HETMP_GI(rotr_##w)(HETMP_GTO(T, v), HETMP_GTO(T, n)); \
    } \
    HETMP_SIMD_FN _##T _##T##_ROTLV(_##T v, _##T n) { return _##T##_ROTRV(v, (n ^ n) - n); } \
    HETMP_SIMD_FN _##T _##T##_ROTR(_##T v, unsigned n) { return _##T##_ROTRV(v, (v ^ v) + (L)n); } \
    HETMP_SIMD_FN _##T _##T##_ROTL(_##T v, unsigned n) { return _##T##_ROTRV(v, (v ^ v) + (L)(0 - n)); }
HETMP_GUNSIGNED(HETMP_GUNSIGN)
#undef HETMP_GUNSIGN

#define HETMP_OWN_F_SQRT 1
#define HETMP_OWN_F_ROUND 1
#define HETMP_OWN_F_FLOOR 1
#define HETMP_OWN_F_CEIL 1
#define HETMP_OWN_F_TRUNC 1
#define HETMP_OWN_F_FMA 1
#define HETMP_OWN_F_FMS 1
#define HETMP_OWN_F_FNMA 1
#define HETMP_OWN_F_FNMS 1
/* The instructions that negate do so after the sum, zeroes too: it is a factor's sign that changes here. */
#define HETMP_GFLOAT(T, L, W, s, w) \
    HETMP_G1(T, SQRT, fsqrt_##s) \
    HETMP_G1(T, ROUND, frintrne_##s) \
    HETMP_G1(T, FLOOR, frintrm_##s) \
    HETMP_G1(T, CEIL, frintrp_##s) \
    HETMP_G1(T, TRUNC, frintrz_##s) \
    HETMP_SIMD_FN _##T _##T##_FMA(_##T a, _##T b, _##T c) { \
        return (_##T)HETMP_GI(fmadd_##s)(HETMP_GTO(T, a), HETMP_GTO(T, b), HETMP_GTO(T, c)); \
    } \
    HETMP_SIMD_FN _##T _##T##_FMS(_##T a, _##T b, _##T c) { \
        return (_##T)HETMP_GI(fmsub_##s)(HETMP_GTO(T, a), HETMP_GTO(T, b), HETMP_GTO(T, c)); \
    } \
    HETMP_SIMD_FN _##T _##T##_FNMA(_##T a, _##T b, _##T c) { return _##T##_FMA(-a, b, c); } \
    HETMP_SIMD_FN _##T _##T##_FNMS(_##T a, _##T b, _##T c) { return _##T##_FMS(-a, b, c); }
HETMP_GFLOATS(HETMP_GFLOAT)
#undef HETMP_GFLOAT

/* They saturate and make 0 of a NaN, as we promise. */
#define HETMP_GCONVERT(A, B, name) \
    HETMP_SIMD_FN _##B _##A##_TO_##B(_##A v) { return (_##B)HETMP_GI(name)(HETMP_GTO(A, v)); }
#define HETMP_OWN_VF32_TO_VI32 1
#define HETMP_OWN_VF32_TO_VU32 1
#define HETMP_OWN_VF64_TO_VI64 1
#define HETMP_OWN_VF64_TO_VU64 1
HETMP_GCONVERT(VF32, VI32, ftintrz_w_s)
HETMP_GCONVERT(VF32, VU32, ftintrz_wu_s)
HETMP_GCONVERT(VF64, VI64, ftintrz_l_d)
HETMP_GCONVERT(VF64, VU64, ftintrz_lu_d)
#undef HETMP_GCONVERT

#define HETMP_GSATURATE(B, A, name) \
    HETMP_SIMD_FN _##A _##B##_SAT_##A(_##B lo, _##B hi) { \
        return (_##A)HETMP_GORDER(HETMP_GI(name)(HETMP_GTO(B, hi), HETMP_GTO(B, lo), 0)); \
    }
#define HETMP_OWN_VI16_SAT_VI8 1
#define HETMP_OWN_VI16_SAT_VU8 1
#define HETMP_OWN_VU16_SAT_VU8 1
#define HETMP_OWN_VI32_SAT_VI16 1
#define HETMP_OWN_VI32_SAT_VU16 1
#define HETMP_OWN_VU32_SAT_VU16 1
#define HETMP_OWN_VI64_SAT_VI32 1
#define HETMP_OWN_VI64_SAT_VU32 1
#define HETMP_OWN_VU64_SAT_VU32 1
HETMP_GSATURATE(VI16, VI8, ssrani_b_h)
HETMP_GSATURATE(VI16, VU8, ssrani_bu_h)
HETMP_GSATURATE(VU16, VU8, ssrlni_bu_h)
HETMP_GSATURATE(VI32, VI16, ssrani_h_w)
HETMP_GSATURATE(VI32, VU16, ssrani_hu_w)
HETMP_GSATURATE(VU32, VU16, ssrlni_hu_w)
HETMP_GSATURATE(VI64, VI32, ssrani_w_d)
HETMP_GSATURATE(VI64, VU32, ssrani_wu_d)
HETMP_GSATURATE(VU64, VU32, ssrlni_wu_d)
#undef HETMP_GSATURATE
/* Twice saturated is saturated once. */
#define HETMP_OWN_VF64_TO_VI32 1
#define HETMP_OWN_VF64_TO_VU32 1
#define HETMP_OWN_VF64_TO_VF32 1
HETMP_SIMD_FN _VI32 _VF64_TO_VI32(_VF64 lo, _VF64 hi) {
    return (_VI32)HETMP_GORDER(HETMP_GI(ftintrz_w_d)(HETMP_GTO(VF64, hi), HETMP_GTO(VF64, lo)));
}
HETMP_SIMD_FN _VU32 _VF64_TO_VU32(_VF64 lo, _VF64 hi) {
    return _VU64_SAT_VU32(_VF64_TO_VU64(lo), _VF64_TO_VU64(hi));
}
HETMP_SIMD_FN _VF32 _VF64_TO_VF32(_VF64 lo, _VF64 hi) {
    return (_VF32)HETMP_GORDER(HETMP_GI(fcvt_s_d)(HETMP_GTO(VF64, hi), HETMP_GTO(VF64, lo)));
}

/* From the low halves, into which what is wanted is brought before. */
#define HETMP_GWIDEN(A, B, call) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { return (_##B)call(HETMP_GLOW(v)); } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { return (_##B)call(HETMP_GHIGH(v)); }
#define HETMP_OWN_VI8_TO_VI16 1
#define HETMP_OWN_VI16_TO_VI32 1
#define HETMP_OWN_VI32_TO_VI64 1
#define HETMP_OWN_VU8_TO_VU16 1
#define HETMP_OWN_VU16_TO_VU32 1
#define HETMP_OWN_VU32_TO_VU64 1
#define HETMP_OWN_VF32_TO_VF64 1
#define HETMP_OWN_VI32_TO_VF64 1
#define HETMP_OWN_VU32_TO_VF64 1
#define HETMP_GWIDER_BY(name, v) HETMP_GI(sllwil_##name)(v, 0)
#define HETMP_GWIDER_h_b(v) HETMP_GWIDER_BY(h_b, v)
#define HETMP_GWIDER_w_h(v) HETMP_GWIDER_BY(w_h, v)
#define HETMP_GWIDER_d_w(v) HETMP_GWIDER_BY(d_w, v)
#define HETMP_GWIDER_hu_bu(v) HETMP_GWIDER_BY(hu_bu, v)
#define HETMP_GWIDER_wu_hu(v) HETMP_GWIDER_BY(wu_hu, v)
#define HETMP_GWIDER_du_wu(v) HETMP_GWIDER_BY(du_wu, v)
#define HETMP_GWIDER_F(v) HETMP_GI(fcvtl_d_s)((hetmp_lv_VF32)(v))
#define HETMP_GWIDER_SF(v) HETMP_GI(ffint_d_l)(HETMP_GWIDER_BY(d_w, v))
#define HETMP_GWIDER_UF(v) HETMP_GI(ffint_d_lu)(HETMP_GWIDER_BY(du_wu, v))
HETMP_GWIDEN(VI8, VI16, HETMP_GWIDER_h_b)
HETMP_GWIDEN(VI16, VI32, HETMP_GWIDER_w_h)
HETMP_GWIDEN(VI32, VI64, HETMP_GWIDER_d_w)
HETMP_GWIDEN(VU8, VU16, HETMP_GWIDER_hu_bu)
HETMP_GWIDEN(VU16, VU32, HETMP_GWIDER_wu_hu)
HETMP_GWIDEN(VU32, VU64, HETMP_GWIDER_du_wu)
HETMP_GWIDEN(VF32, VF64, HETMP_GWIDER_F)
HETMP_GWIDEN(VI32, VF64, HETMP_GWIDER_SF)
HETMP_GWIDEN(VU32, VF64, HETMP_GWIDER_UF)
#undef HETMP_GWIDEN
#undef HETMP_GWIDER_BY
#undef HETMP_GWIDER_h_b
#undef HETMP_GWIDER_w_h
#undef HETMP_GWIDER_d_w
#undef HETMP_GWIDER_hu_bu
#undef HETMP_GWIDER_wu_hu
#undef HETMP_GWIDER_du_wu
#undef HETMP_GWIDER_F
#undef HETMP_GWIDER_SF
#undef HETMP_GWIDER_UF
#define HETMP_OWN_VF32_FROM_F16 1
#define HETMP_OWN_VF32_TO_F16 1
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_LO(_VU16 v) { return (_VF32)HETMP_GI(fcvtl_s_h)(HETMP_GLOW(v)); }
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_HI(_VU16 v) { return (_VF32)HETMP_GI(fcvtl_s_h)(HETMP_GHIGH(v)); }
HETMP_SIMD_FN _VU16 _VF32_TO_F16(_VF32 lo, _VF32 hi) {
    return (_VU16)HETMP_GORDER(HETMP_GI(fcvt_h_s)(HETMP_GTO(VF32, hi), HETMP_GTO(VF32, lo)));
}

#define HETMP_GMULTIPLY(A, B, name) \
    HETMP_SIMD_FN _##B _##A##_MULEVEN(_##A a, _##A b) { \
        return (_##B)HETMP_GI(mulwev_##name)(HETMP_GTO(A, a), HETMP_GTO(A, b)); \
    } \
    HETMP_SIMD_FN _##B _##A##_MULODD(_##A a, _##A b) { \
        return (_##B)HETMP_GI(mulwod_##name)(HETMP_GTO(A, a), HETMP_GTO(A, b)); \
    }
#define HETMP_OWN_VI8_MULEVEN 1
#define HETMP_OWN_VU8_MULEVEN 1
#define HETMP_OWN_VI16_MULEVEN 1
#define HETMP_OWN_VU16_MULEVEN 1
#define HETMP_OWN_VI32_MULEVEN 1
#define HETMP_OWN_VU32_MULEVEN 1
HETMP_GMULTIPLY(VI8, VI16, h_b)
HETMP_GMULTIPLY(VU8, VU16, h_bu)
HETMP_GMULTIPLY(VI16, VI32, w_h)
HETMP_GMULTIPLY(VU16, VU32, w_hu)
HETMP_GMULTIPLY(VI32, VI64, d_w)
HETMP_GMULTIPLY(VU32, VU64, d_wu)
#undef HETMP_GMULTIPLY
#define HETMP_OWN_VI16_DOT 1
#define HETMP_OWN_VI16_DOTADD 1
#define HETMP_OWN_VU8_SAD 1
HETMP_SIMD_FN _VI32 _VI16_DOTADD(_VI16 a, _VI16 b, _VI32 c) {
    const hetmp_lv_int even = HETMP_GI(maddwev_w_h)(HETMP_GTO(VI32, c), HETMP_GTO(VI16, a), HETMP_GTO(VI16, b));
    return (_VI32)HETMP_GI(maddwod_w_h)(even, HETMP_GTO(VI16, a), HETMP_GTO(VI16, b));
}
HETMP_SIMD_FN _VI32 _VI16_DOT(_VI16 a, _VI16 b) {
    return (_VI32)HETMP_GI(maddwod_w_h)(HETMP_GTO(VI32, _VI16_MULEVEN(a, b)), HETMP_GTO(VI16, a), HETMP_GTO(VI16, b));
}
HETMP_SIMD_FN _VU64 _VU8_SAD(_VU8 a, _VU8 b) {
    const hetmp_lv_int apart = HETMP_GTO(VU8, _VU8_ABSDIFF(a, b));
    const hetmp_lv_int pairs = HETMP_GI(haddw_hu_bu)(apart, apart);
    const hetmp_lv_int fours = HETMP_GI(haddw_wu_hu)(pairs, pairs);
    return (_VU64)HETMP_GI(haddw_du_wu)(fours, fours);
}

/* Lanes' numbers count modulo the lanes, for us. Of 256 bits only lanes of 32 bits cross from one half to the other:
 * others are looked up in the lower and in the upper half. */
#define HETMP_OWN_F_PERMUTE 1
#define HETMP_OWN_S_PERMUTE 1
#define HETMP_OWN_U_PERMUTE 1
#define HETMP_GPERMUTE(T, W, call) \
    HETMP_SIMD_FN _##T _##T##_PERMUTE(_##T v, _VU##W i) { \
        const hetmp_lv_int x = (hetmp_lv_int)v; \
        i &= HETMP_SIMD_LANES_##W - 1; \
        return (_##T)call; \
    }
#if HETMP_SIMD_ID == HETMP_SIMD_ID_lasx
#define HETMP_GHALVES __lasx_xvpermi_q(x, x, 0x11), __lasx_xvpermi_q(x, x, 0)
#define HETMP_GBY_8(T) HETMP_GPERMUTE(T, 8, __lasx_xvshuf_b(HETMP_GHALVES, (hetmp_lv_int)i))
#define HETMP_GBY_16(T) HETMP_GPERMUTE(T, 16, __lasx_xvshuf_h((hetmp_lv_int)i, HETMP_GHALVES))
#define HETMP_GBY_32(T) HETMP_GPERMUTE(T, 32, __lasx_xvperm_w(x, (hetmp_lv_int)i))
#define HETMP_GBY_64(T) \
    HETMP_GPERMUTE(T, 64, __lasx_xvperm_w(x, (hetmp_lv_int)(i * (uint64_t)0x200000002u + (uint64_t)0x100000000u)))
#else
#define HETMP_GBY_8(T) HETMP_GPERMUTE(T, 8, __lsx_vshuf_b(x, x, (hetmp_lv_int)i))
#define HETMP_GBY_16(T) HETMP_GPERMUTE(T, 16, __lsx_vshuf_h((hetmp_lv_int)i, x, x))
#define HETMP_GBY_32(T) HETMP_GPERMUTE(T, 32, __lsx_vshuf_w((hetmp_lv_int)i, x, x))
#define HETMP_GBY_64(T) HETMP_GPERMUTE(T, 64, __lsx_vshuf_d((hetmp_lv_int)i, x, x))
#endif
HETMP_GBY_8(VI8)
HETMP_GBY_8(VU8)
HETMP_GBY_16(VI16)
HETMP_GBY_16(VU16)
HETMP_GBY_32(VI32)
HETMP_GBY_32(VU32)
HETMP_GBY_32(VF32)
HETMP_GBY_64(VI64)
HETMP_GBY_64(VU64)
HETMP_GBY_64(VF64)
#undef HETMP_GHALVES
#undef HETMP_GBY_8
#undef HETMP_GBY_16
#undef HETMP_GBY_32
#undef HETMP_GBY_64
#undef HETMP_GPERMUTE

#if HETMP_SIMD_ID == HETMP_SIMD_ID_lasx
/* The common text's shuffles of lanes of 64 bits, which clang 19 gets wrong. */
#define HETMP_OWN_VI64_STORE3 1
#define HETMP_OWN_VU64_STORE3 1
#define HETMP_OWN_VF64_STORE3 1
#define HETMP_GSTORE3(T, L) \
    HETMP_SIMD_FN void _##T##_STORE3(L *p, _##T a, _##T b, _##T c) { \
        const L all[12] = {a[0], b[0], c[0], a[1], b[1], c[1], a[2], b[2], c[2], a[3], b[3], c[3]}; \
        __builtin_memcpy(p, all, sizeof all); \
    }
HETMP_GSTORE3(VI64, int64_t)
HETMP_GSTORE3(VU64, uint64_t)
HETMP_GSTORE3(VF64, double)
#undef HETMP_GSTORE3
#endif

#define HETMP_OWN_F_SELECT 1
#define HETMP_OWN_S_SELECT 1
#define HETMP_OWN_U_SELECT 1
#define HETMP_OWN_F_BITSEL 1
#define HETMP_OWN_S_BITSEL 1
#define HETMP_OWN_U_BITSEL 1
#define HETMP_GCHOOSE(T, L, W, s, w) \
    HETMP_SIMD_FN _##T _##T##_SELECT(_VM##W m, _##T a, _##T b) { \
        return (_##T)HETMP_GI(bitsel_v)((hetmp_lv_int)b, (hetmp_lv_int)a, (hetmp_lv_int)m); \
    } \
    HETMP_SIMD_FN _##T _##T##_BITSEL(_##T c, _##T a, _##T b) { \
        return (_##T)HETMP_GI(bitsel_v)((hetmp_lv_int)b, (hetmp_lv_int)a, (hetmp_lv_int)c); \
    }
HETMP_GINTS(HETMP_GCHOOSE)
HETMP_GFLOATS(HETMP_GCHOOSE)
#undef HETMP_GCHOOSE

/* The lanes' signs, of each half of 128 bits in its own first lane. */
#define HETMP_OWN_M_ANY 1
#define HETMP_OWN_M_ALL 1
#define HETMP_OWN_M_BITS 1
#define HETMP_OWN_M_COUNT 1
#define HETMP_OWN_M_FIRST 1
#if HETMP_SIMD_ID == HETMP_SIMD_ID_lasx
#define HETMP_GBITS(v, W) ((v)[0] | (v)[2] << (HETMP_SIMD_LANES_##W / 2))
#else
#define HETMP_GBITS(v, W) ((v)[0])
#endif
#define HETMP_GMASKS(W, w) \
    HETMP_SIMD_FN int _VM##W##_ANY(_VM##W m) { return HETMP_GANY(m); } \
    HETMP_SIMD_FN int _VM##W##_ALL(_VM##W m) { return HETMP_GALL(m); } \
    HETMP_SIMD_FN uint64_t _VM##W##_BITS(_VM##W m) { \
        const _VU64 v = (_VU64)HETMP_GI(mskltz_##w)((hetmp_lv_int)m); \
        return HETMP_GBITS(v, W); \
    } \
    HETMP_SIMD_FN int _VM##W##_COUNT(_VM##W m) { return __builtin_popcountll(_VM##W##_BITS(m)); } \
    HETMP_SIMD_FN int _VM##W##_FIRST(_VM##W m) { \
        return __builtin_ctzll(_VM##W##_BITS(m) | (uint64_t)1 << HETMP_SIMD_LANES_##W); \
    }
HETMP_GMASKS(8, b)
HETMP_GMASKS(16, h)
HETMP_GMASKS(32, w)
HETMP_GMASKS(64, d)
#undef HETMP_GMASKS
#undef HETMP_GBITS
#undef HETMP_GORDER
#undef HETMP_GLOW
#undef HETMP_GHIGH
#undef HETMP_GANY
#undef HETMP_GALL
#undef HETMP_G1
#undef HETMP_G2
#undef HETMP_GTO
#undef HETMP_GINTS
#undef HETMP_GFLOATS
#undef HETMP_GUNSIGNED
#undef HETMP_GSIGNED
#undef HETMP_GI
