/* Part of hetmp/simd.h: Advanced SIMD of 64-bit Arm. Operators and constant shuffles become
 * its instructions by themselves; this is the rest. Not for direct inclusion. */

/* One instruction on one or two vectors of type T, which Arm calls C. */
#define HETMP_A1(T, op, C, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { return (_##T)name((C)a); }
#define HETMP_A2(T, op, C, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { return (_##T)name((C)a, (C)b); }

#define HETMP_OWN_F_SQRT 1
#define HETMP_OWN_F_ROUND 1
#define HETMP_OWN_F_FLOOR 1
#define HETMP_OWN_F_CEIL 1
#define HETMP_OWN_F_TRUNC 1
#define HETMP_OWN_F_MINNUM 1
#define HETMP_OWN_F_MAXNUM 1
#define HETMP_OWN_F_RCP_EST 1
#define HETMP_OWN_F_RSQRT_EST 1
#define HETMP_OWN_F_FMA 1
#define HETMP_OWN_F_FNMA 1
#define HETMP_OWN_F_SET1 1
/* A NaN gives way to the other operand before the instruction, which would keep a signalling one. */
#define HETMP_ANUMBER(T, op, C, suffix, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { \
        return (_##T)name(vbslq_##suffix(vceqq_##suffix((C)a, (C)a), (C)a, (C)b), \
                          vbslq_##suffix(vceqq_##suffix((C)b, (C)b), (C)b, (C)a)); \
    }
#define HETMP_AFLOAT(T, L, C, suffix) \
    HETMP_A1(T, SQRT, C, vsqrtq_##suffix) \
    HETMP_A1(T, ROUND, C, vrndnq_##suffix) \
    HETMP_A1(T, FLOOR, C, vrndmq_##suffix) \
    HETMP_A1(T, CEIL, C, vrndpq_##suffix) \
    HETMP_A1(T, TRUNC, C, vrndq_##suffix) \
    HETMP_ANUMBER(T, MINNUM, C, suffix, vminnmq_##suffix) \
    HETMP_ANUMBER(T, MAXNUM, C, suffix, vmaxnmq_##suffix) \
    HETMP_A1(T, RCP_EST, C, vrecpeq_##suffix) \
    HETMP_A1(T, RSQRT_EST, C, vrsqrteq_##suffix) \
    HETMP_SIMD_FN _##T _##T##_SET1(L x) { return (_##T)vdupq_n_##suffix(x); } \
    HETMP_SIMD_FN _##T _##T##_FMA(_##T a, _##T b, _##T c) { \
        return (_##T)vfmaq_##suffix((C)c, (C)a, (C)b); \
    } \
    HETMP_SIMD_FN _##T _##T##_FNMA(_##T a, _##T b, _##T c) { \
        return (_##T)vfmsq_##suffix((C)c, (C)a, (C)b); \
    }
HETMP_AFLOAT(VF32, float, float32x4_t, f32)
HETMP_AFLOAT(VF64, double, float64x2_t, f64)
#undef HETMP_AFLOAT
#undef HETMP_ANUMBER

/* The instructions saturate and make 0 of a NaN, as we promise. */
#define HETMP_OWN_VF32_TO_VI32 1
#define HETMP_OWN_VF32_TO_VU32 1
#define HETMP_OWN_VF64_TO_VI64 1
#define HETMP_OWN_VF64_TO_VU64 1
HETMP_SIMD_FN _VI32 _VF32_TO_VI32(_VF32 v) { return (_VI32)vcvtq_s32_f32((float32x4_t)v); }
HETMP_SIMD_FN _VU32 _VF32_TO_VU32(_VF32 v) { return (_VU32)vcvtq_u32_f32((float32x4_t)v); }
HETMP_SIMD_FN _VI64 _VF64_TO_VI64(_VF64 v) { return (_VI64)vcvtq_s64_f64((float64x2_t)v); }
HETMP_SIMD_FN _VU64 _VF64_TO_VU64(_VF64 v) { return (_VU64)vcvtq_u64_f64((float64x2_t)v); }
/* Twice saturated is saturated once. */
#define HETMP_OWN_VF64_TO_VI32 1
#define HETMP_OWN_VF64_TO_VU32 1
HETMP_SIMD_FN _VI32 _VF64_TO_VI32(_VF64 lo, _VF64 hi) {
    return (_VI32)vqmovn_high_s64(vqmovn_s64(vcvtq_s64_f64((float64x2_t)lo)),
                                  vcvtq_s64_f64((float64x2_t)hi));
}
HETMP_SIMD_FN _VU32 _VF64_TO_VU32(_VF64 lo, _VF64 hi) {
    return (_VU32)vqmovn_high_u64(vqmovn_u64(vcvtq_u64_f64((float64x2_t)lo)),
                                  vcvtq_u64_f64((float64x2_t)hi));
}
#define HETMP_OWN_VF64_TO_VF32 1
HETMP_SIMD_FN _VF32 _VF64_TO_VF32(_VF64 lo, _VF64 hi) {
    return (_VF32)vcvt_high_f32_f64(vcvt_f32_f64((float64x2_t)lo), (float64x2_t)hi);
}
#define HETMP_OWN_VF32_TO_VF64 1
HETMP_SIMD_FN _VF64 _VF32_TO_VF64_LO(_VF32 v) {
    return (_VF64)vcvt_f64_f32(vget_low_f32((float32x4_t)v));
}
HETMP_SIMD_FN _VF64 _VF32_TO_VF64_HI(_VF32 v) { return (_VF64)vcvt_high_f64_f32((float32x4_t)v); }

#define HETMP_AWIDEN(A, B, C, from) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { \
        return (_##B)vmovl_##from(vget_low_##from((C)v)); \
    } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { return (_##B)vmovl_high_##from((C)v); }
#define HETMP_OWN_VI8_TO_VI16 1
#define HETMP_OWN_VU8_TO_VU16 1
#define HETMP_OWN_VI16_TO_VI32 1
#define HETMP_OWN_VU16_TO_VU32 1
#define HETMP_OWN_VI32_TO_VI64 1
#define HETMP_OWN_VU32_TO_VU64 1
HETMP_AWIDEN(VI8, VI16, int8x16_t, s8)
HETMP_AWIDEN(VU8, VU16, uint8x16_t, u8)
HETMP_AWIDEN(VI16, VI32, int16x8_t, s16)
HETMP_AWIDEN(VU16, VU32, uint16x8_t, u16)
HETMP_AWIDEN(VI32, VI64, int32x4_t, s32)
HETMP_AWIDEN(VU32, VU64, uint32x4_t, u32)
#undef HETMP_AWIDEN

#define HETMP_ASATURATE(B, A, C, name, from) \
    HETMP_SIMD_FN _##A _##B##_SAT_##A(_##B lo, _##B hi) { \
        return (_##A)name##_high_##from(name##_##from((C)lo), (C)hi); \
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
HETMP_ASATURATE(VI16, VI8, int16x8_t, vqmovn, s16)
HETMP_ASATURATE(VI16, VU8, int16x8_t, vqmovun, s16)
HETMP_ASATURATE(VU16, VU8, uint16x8_t, vqmovn, u16)
HETMP_ASATURATE(VI32, VI16, int32x4_t, vqmovn, s32)
HETMP_ASATURATE(VI32, VU16, int32x4_t, vqmovun, s32)
HETMP_ASATURATE(VU32, VU16, uint32x4_t, vqmovn, u32)
HETMP_ASATURATE(VI64, VI32, int64x2_t, vqmovn, s64)
HETMP_ASATURATE(VI64, VU32, int64x2_t, vqmovun, s64)
HETMP_ASATURATE(VU64, VU32, uint64x2_t, vqmovn, u64)
#undef HETMP_ASATURATE

#define HETMP_OWN_F_LOAD2 1
#define HETMP_OWN_S_LOAD2 1
#define HETMP_OWN_U_LOAD2 1
#define HETMP_OWN_F_LOAD3 1
#define HETMP_OWN_S_LOAD3 1
#define HETMP_OWN_U_LOAD3 1
#define HETMP_OWN_F_LOAD4 1
#define HETMP_OWN_S_LOAD4 1
#define HETMP_OWN_U_LOAD4 1
#define HETMP_OWN_F_STORE2 1
#define HETMP_OWN_S_STORE2 1
#define HETMP_OWN_U_STORE2 1
#define HETMP_OWN_F_STORE3 1
#define HETMP_OWN_S_STORE3 1
#define HETMP_OWN_U_STORE3 1
#define HETMP_OWN_F_STORE4 1
#define HETMP_OWN_S_STORE4 1
#define HETMP_OWN_U_STORE4 1
#define HETMP_ASTRUCTS(T, L, C, suffix) \
    HETMP_SIMD_FN void _##T##_LOAD2(const L *p, _##T *a, _##T *b) { \
        const C##x2_t v = vld2q_##suffix(p); \
        *a = (_##T)v.val[0]; *b = (_##T)v.val[1]; \
    } \
    HETMP_SIMD_FN void _##T##_STORE2(L *p, _##T a, _##T b) { \
        const C##x2_t v = {{(C##_t)a, (C##_t)b}}; \
        vst2q_##suffix(p, v); \
    } \
    HETMP_SIMD_FN void _##T##_LOAD3(const L *p, _##T *a, _##T *b, _##T *c) { \
        const C##x3_t v = vld3q_##suffix(p); \
        *a = (_##T)v.val[0]; *b = (_##T)v.val[1]; *c = (_##T)v.val[2]; \
    } \
    HETMP_SIMD_FN void _##T##_STORE3(L *p, _##T a, _##T b, _##T c) { \
        const C##x3_t v = {{(C##_t)a, (C##_t)b, (C##_t)c}}; \
        vst3q_##suffix(p, v); \
    } \
    HETMP_SIMD_FN void _##T##_LOAD4(const L *p, _##T *a, _##T *b, _##T *c, _##T *d) { \
        const C##x4_t v = vld4q_##suffix(p); \
        *a = (_##T)v.val[0]; *b = (_##T)v.val[1]; *c = (_##T)v.val[2]; *d = (_##T)v.val[3]; \
    } \
    HETMP_SIMD_FN void _##T##_STORE4(L *p, _##T a, _##T b, _##T c, _##T d) { \
        const C##x4_t v = {{(C##_t)a, (C##_t)b, (C##_t)c, (C##_t)d}}; \
        vst4q_##suffix(p, v); \
    }
HETMP_ASTRUCTS(VI8, int8_t, int8x16, s8)
HETMP_ASTRUCTS(VU8, uint8_t, uint8x16, u8)
HETMP_ASTRUCTS(VI16, int16_t, int16x8, s16)
HETMP_ASTRUCTS(VU16, uint16_t, uint16x8, u16)
HETMP_ASTRUCTS(VI32, int32_t, int32x4, s32)
HETMP_ASTRUCTS(VU32, uint32_t, uint32x4, u32)
HETMP_ASTRUCTS(VI64, int64_t, int64x2, s64)
HETMP_ASTRUCTS(VU64, uint64_t, uint64x2, u64)
HETMP_ASTRUCTS(VF32, float, float32x4, f32)
HETMP_ASTRUCTS(VF64, double, float64x2, f64)
#undef HETMP_ASTRUCTS

#define HETMP_OWN_VI8_ABSDIFF 1
HETMP_A2(VI8, ABSDIFF, int8x16_t, vabdq_s8)
#define HETMP_OWN_VU8_ABSDIFF 1
HETMP_A2(VU8, ABSDIFF, uint8x16_t, vabdq_u8)
#define HETMP_OWN_VU8_AVG 1
HETMP_A2(VU8, AVG, uint8x16_t, vrhaddq_u8)
#define HETMP_OWN_VI16_ABSDIFF 1
HETMP_A2(VI16, ABSDIFF, int16x8_t, vabdq_s16)
#define HETMP_OWN_VU16_ABSDIFF 1
HETMP_A2(VU16, ABSDIFF, uint16x8_t, vabdq_u16)
#define HETMP_OWN_VU16_AVG 1
HETMP_A2(VU16, AVG, uint16x8_t, vrhaddq_u16)
#define HETMP_OWN_VI32_ABSDIFF 1
HETMP_A2(VI32, ABSDIFF, int32x4_t, vabdq_s32)
#define HETMP_OWN_VU32_ABSDIFF 1
HETMP_A2(VU32, ABSDIFF, uint32x4_t, vabdq_u32)
#define HETMP_OWN_VU32_AVG 1
HETMP_A2(VU32, AVG, uint32x4_t, vrhaddq_u32)
#define HETMP_OWN_VU8_SAD 1
#define HETMP_OWN_VI16_DOT 1
HETMP_SIMD_FN _VU64 _VU8_SAD(_VU8 a, _VU8 b) {
    return (_VU64)vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(vabdq_u8((uint8x16_t)a, (uint8x16_t)b))));
}
HETMP_SIMD_FN _VI32 _VI16_DOT(_VI16 a, _VI16 b) {
    const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
    return (_VI32)vpaddq_s32(vmull_s16(vget_low_s16(x), vget_low_s16(y)), vmull_high_s16(x, y));
}

#define HETMP_AMULTIPLY(A, B, C, from, to, W) \
    HETMP_SIMD_FN _##B _##A##_MULEVEN(_##A a, _##A b) { \
        return (_##B)vmull_##from(vmovn_##to((C)a), vmovn_##to((C)b)); \
    } \
    HETMP_SIMD_FN _##B _##A##_MULODD(_##A a, _##A b) { \
        return (_##B)vmull_##from(vshrn_n_##to((C)a, W), vshrn_n_##to((C)b, W)); \
    }
#define HETMP_OWN_VI8_MULEVEN 1
#define HETMP_OWN_VU8_MULEVEN 1
#define HETMP_OWN_VI16_MULEVEN 1
#define HETMP_OWN_VU16_MULEVEN 1
#define HETMP_OWN_VI32_MULEVEN 1
#define HETMP_OWN_VU32_MULEVEN 1
HETMP_AMULTIPLY(VI8, VI16, int16x8_t, s8, s16, 8)
HETMP_AMULTIPLY(VU8, VU16, uint16x8_t, u8, u16, 8)
HETMP_AMULTIPLY(VI16, VI32, int32x4_t, s16, s32, 16)
HETMP_AMULTIPLY(VU16, VU32, uint32x4_t, u16, u32, 16)
HETMP_AMULTIPLY(VI32, VI64, int64x2_t, s32, s64, 32)
HETMP_AMULTIPLY(VU32, VU64, uint64x2_t, u32, u64, 32)
#undef HETMP_AMULTIPLY
#ifdef __ARM_FEATURE_DOTPROD
#define HETMP_OWN_VI8_DOTADD 1
#define HETMP_OWN_VU8_DOTADD 1
HETMP_SIMD_FN _VI32 _VI8_DOTADD(_VI8 a, _VI8 b, _VI32 c) {
    return (_VI32)vdotq_s32((int32x4_t)c, (int8x16_t)a, (int8x16_t)b);
}
HETMP_SIMD_FN _VU32 _VU8_DOTADD(_VU8 a, _VU8 b, _VU32 c) {
    return (_VU32)vdotq_u32((uint32x4_t)c, (uint8x16_t)a, (uint8x16_t)b);
}
#endif
#define HETMP_OWN_VF32_FROM_F16 1
#define HETMP_OWN_VF32_TO_F16 1
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_LO(_VU16 v) {
    return (_VF32)vcvt_f32_f16(vget_low_f16(vreinterpretq_f16_u16((uint16x8_t)v)));
}
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_HI(_VU16 v) {
    return (_VF32)vcvt_high_f32_f16(vreinterpretq_f16_u16((uint16x8_t)v));
}
HETMP_SIMD_FN _VU16 _VF32_TO_F16(_VF32 lo, _VF32 hi) {
    return (_VU16)vreinterpretq_u16_f16(vcvt_high_f16_f32(vcvt_f16_f32((float32x4_t)lo), (float32x4_t)hi));
}

#define HETMP_OWN_S_ADDS 1
#define HETMP_OWN_S_SUBS 1
#define HETMP_OWN_U_ADDS 1
#define HETMP_OWN_U_SUBS 1
#define HETMP_OWN_S_ABS 1
#define HETMP_ASAT(T, C, suffix) \
    HETMP_A2(T, ADDS, C, vqaddq_##suffix) \
    HETMP_A2(T, SUBS, C, vqsubq_##suffix)
HETMP_ASAT(VI8, int8x16_t, s8)
HETMP_ASAT(VI16, int16x8_t, s16)
HETMP_ASAT(VI32, int32x4_t, s32)
HETMP_ASAT(VI64, int64x2_t, s64)
HETMP_ASAT(VU8, uint8x16_t, u8)
HETMP_ASAT(VU16, uint16x8_t, u16)
HETMP_ASAT(VU32, uint32x4_t, u32)
HETMP_ASAT(VU64, uint64x2_t, u64)
#undef HETMP_ASAT
HETMP_A1(VI8, ABS, int8x16_t, vabsq_s8)
HETMP_A1(VI16, ABS, int16x8_t, vabsq_s16)
HETMP_A1(VI32, ABS, int32x4_t, vabsq_s32)
HETMP_A1(VI64, ABS, int64x2_t, vabsq_s64)

/* Minimum, maximum and sums across the vector: for lanes up to 32 bits. */
#define HETMP_AORDER(T, L, C, suffix) \
    HETMP_A2(T, MIN, C, vminq_##suffix) \
    HETMP_A2(T, MAX, C, vmaxq_##suffix) \
    HETMP_SIMD_FN L _##T##_REDUCE_MIN(_##T v) { return vminvq_##suffix((C)v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_MAX(_##T v) { return vmaxvq_##suffix((C)v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_ADD(_##T v) { return vaddvq_##suffix((C)v); }
#define HETMP_OWN_VI8_MIN 1
#define HETMP_OWN_VI8_MAX 1
#define HETMP_OWN_VI8_REDUCE_MIN 1
#define HETMP_OWN_VI8_REDUCE_MAX 1
#define HETMP_OWN_VI8_REDUCE_ADD 1
#define HETMP_OWN_VI16_MIN 1
#define HETMP_OWN_VI16_MAX 1
#define HETMP_OWN_VI16_REDUCE_MIN 1
#define HETMP_OWN_VI16_REDUCE_MAX 1
#define HETMP_OWN_VI16_REDUCE_ADD 1
#define HETMP_OWN_VI32_MIN 1
#define HETMP_OWN_VI32_MAX 1
#define HETMP_OWN_VI32_REDUCE_MIN 1
#define HETMP_OWN_VI32_REDUCE_MAX 1
#define HETMP_OWN_VI32_REDUCE_ADD 1
#define HETMP_OWN_VU8_MIN 1
#define HETMP_OWN_VU8_MAX 1
#define HETMP_OWN_VU8_REDUCE_MIN 1
#define HETMP_OWN_VU8_REDUCE_MAX 1
#define HETMP_OWN_VU8_REDUCE_ADD 1
#define HETMP_OWN_VU16_MIN 1
#define HETMP_OWN_VU16_MAX 1
#define HETMP_OWN_VU16_REDUCE_MIN 1
#define HETMP_OWN_VU16_REDUCE_MAX 1
#define HETMP_OWN_VU16_REDUCE_ADD 1
#define HETMP_OWN_VU32_MIN 1
#define HETMP_OWN_VU32_MAX 1
#define HETMP_OWN_VU32_REDUCE_MIN 1
#define HETMP_OWN_VU32_REDUCE_MAX 1
#define HETMP_OWN_VU32_REDUCE_ADD 1
HETMP_AORDER(VI8, int8_t, int8x16_t, s8)
HETMP_AORDER(VI16, int16_t, int16x8_t, s16)
HETMP_AORDER(VI32, int32_t, int32x4_t, s32)
HETMP_AORDER(VU8, uint8_t, uint8x16_t, u8)
HETMP_AORDER(VU16, uint16_t, uint16x8_t, u16)
HETMP_AORDER(VU32, uint32_t, uint32x4_t, u32)
#undef HETMP_AORDER

/* A shift's count is the low byte of its lane: large ones are first made the width. */
#define HETMP_ASHIFT(T, U, C, D, W, suffix) \
    HETMP_SIMD_FN _##T _##T##_SHLV(_##T v, _##U n) { \
        const _##U count = _##U##_MIN(n, (n ^ n) + W); \
        return (_##T)vshlq_##suffix((C)v, (D)count); \
    } \
    HETMP_SIMD_FN _##T _##T##_SHRV(_##T v, _##U n) { \
        const _##U count = _##U##_MIN(n, (n ^ n) + W); \
        return (_##T)vshlq_##suffix((C)v, (D)((n ^ n) - count)); \
    }
#define HETMP_OWN_VI8_SHLV 1
#define HETMP_OWN_VU8_SHLV 1
#define HETMP_OWN_VI8_SHRV 1
#define HETMP_OWN_VU8_SHRV 1
#define HETMP_OWN_VI16_SHLV 1
#define HETMP_OWN_VU16_SHLV 1
#define HETMP_OWN_VI16_SHRV 1
#define HETMP_OWN_VU16_SHRV 1
#define HETMP_OWN_VI32_SHLV 1
#define HETMP_OWN_VU32_SHLV 1
#define HETMP_OWN_VI32_SHRV 1
#define HETMP_OWN_VU32_SHRV 1
HETMP_ASHIFT(VI8, VU8, int8x16_t, int8x16_t, 8, s8)
HETMP_ASHIFT(VU8, VU8, uint8x16_t, int8x16_t, 8, u8)
HETMP_ASHIFT(VI16, VU16, int16x8_t, int16x8_t, 16, s16)
HETMP_ASHIFT(VU16, VU16, uint16x8_t, int16x8_t, 16, u16)
HETMP_ASHIFT(VI32, VU32, int32x4_t, int32x4_t, 32, s32)
HETMP_ASHIFT(VU32, VU32, uint32x4_t, int32x4_t, 32, u32)
#undef HETMP_ASHIFT

#define HETMP_OWN_F_BITSEL 1
#define HETMP_OWN_S_BITSEL 1
#define HETMP_OWN_U_BITSEL 1
#define HETMP_OWN_F_SELECT 1
#define HETMP_OWN_S_SELECT 1
#define HETMP_OWN_U_SELECT 1
#define HETMP_ACHOOSE(T, M) \
    HETMP_SIMD_FN _##T _##T##_BITSEL(_##T c, _##T a, _##T b) { \
        return (_##T)vbslq_u8((uint8x16_t)c, (uint8x16_t)a, (uint8x16_t)b); \
    } \
    HETMP_SIMD_FN _##T _##T##_SELECT(_##M m, _##T a, _##T b) { \
        return (_##T)vbslq_u8((uint8x16_t)m, (uint8x16_t)a, (uint8x16_t)b); \
    }
HETMP_ACHOOSE(VI8, VM8)
HETMP_ACHOOSE(VU8, VM8)
HETMP_ACHOOSE(VI16, VM16)
HETMP_ACHOOSE(VU16, VM16)
HETMP_ACHOOSE(VI32, VM32)
HETMP_ACHOOSE(VU32, VM32)
HETMP_ACHOOSE(VI64, VM64)
HETMP_ACHOOSE(VU64, VM64)
HETMP_ACHOOSE(VF32, VM32)
HETMP_ACHOOSE(VF64, VM64)
#undef HETMP_ACHOOSE

#define HETMP_OWN_VI8_POPCNT 1
#define HETMP_OWN_VU8_POPCNT 1
HETMP_A1(VI8, POPCNT, int8x16_t, vcntq_s8)
HETMP_A1(VU8, POPCNT, uint8x16_t, vcntq_u8)
/* Counts of bytes, added in pairs. */
#define HETMP_OWN_VI16_POPCNT 1
#define HETMP_OWN_VU16_POPCNT 1
#define HETMP_OWN_VI32_POPCNT 1
#define HETMP_OWN_VU32_POPCNT 1
#define HETMP_OWN_VI64_POPCNT 1
#define HETMP_OWN_VU64_POPCNT 1
HETMP_SIMD_FN _VU16 _VU16_POPCNT(_VU16 v) { return (_VU16)vpaddlq_u8(vcntq_u8((uint8x16_t)v)); }
HETMP_SIMD_FN _VU32 _VU32_POPCNT(_VU32 v) {
    return (_VU32)vpaddlq_u16((uint16x8_t)_VU16_POPCNT((_VU16)v));
}
HETMP_SIMD_FN _VU64 _VU64_POPCNT(_VU64 v) {
    return (_VU64)vpaddlq_u32((uint32x4_t)_VU32_POPCNT((_VU32)v));
}
HETMP_SIMD_FN _VI16 _VI16_POPCNT(_VI16 v) { return (_VI16)_VU16_POPCNT((_VU16)v); }
HETMP_SIMD_FN _VI32 _VI32_POPCNT(_VI32 v) { return (_VI32)_VU32_POPCNT((_VU32)v); }
HETMP_SIMD_FN _VI64 _VI64_POPCNT(_VI64 v) { return (_VI64)_VU64_POPCNT((_VU64)v); }
#define HETMP_OWN_VI8_CLZ 1
#define HETMP_OWN_VU8_CLZ 1
#define HETMP_OWN_VI16_CLZ 1
#define HETMP_OWN_VU16_CLZ 1
#define HETMP_OWN_VI32_CLZ 1
#define HETMP_OWN_VU32_CLZ 1
HETMP_A1(VI8, CLZ, int8x16_t, vclzq_s8)
HETMP_A1(VU8, CLZ, uint8x16_t, vclzq_u8)
HETMP_A1(VI16, CLZ, int16x8_t, vclzq_s16)
HETMP_A1(VU16, CLZ, uint16x8_t, vclzq_u16)
HETMP_A1(VI32, CLZ, int32x4_t, vclzq_s32)
HETMP_A1(VU32, CLZ, uint32x4_t, vclzq_u32)

/* Lanes are all ones or zeroes, so the largest byte tells whether there is one of ones. */
#define HETMP_OWN_M_ANY 1
#define HETMP_OWN_M_ALL 1
#define HETMP_OWN_M_COUNT 1
#define HETMP_AMASK(M, bytes) \
    HETMP_SIMD_FN int _##M##_ANY(_##M m) { return vmaxvq_u8((uint8x16_t)m) != 0; } \
    HETMP_SIMD_FN int _##M##_ALL(_##M m) { return vminvq_u8((uint8x16_t)m) != 0; } \
    HETMP_SIMD_FN int _##M##_COUNT(_##M m) { return -vaddvq_s8((int8x16_t)m) / bytes; }
HETMP_AMASK(VM8, 1)
HETMP_AMASK(VM16, 2)
HETMP_AMASK(VM32, 4)
HETMP_AMASK(VM64, 8)
#undef HETMP_AMASK
#undef HETMP_A1
#undef HETMP_A2
