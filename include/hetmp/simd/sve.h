/* Part of hetmp/simd.h: SVE at a width fixed by -msve-vector-bits. The compiler turns operators
 * on vectors of that width into SVE's instructions; this is the rest. Not for direct inclusion. */

/* Arm's own types at our width: what its functions take and give. clang casts our vectors to
 * and from these only. */
typedef svfloat32_t hetmp_sv_VF32 __attribute__((arm_sve_vector_bits(HETMP_SIMD_SVE_BITS)));
typedef svfloat64_t hetmp_sv_VF64 __attribute__((arm_sve_vector_bits(HETMP_SIMD_SVE_BITS)));
typedef svint8_t hetmp_sv_VI8 __attribute__((arm_sve_vector_bits(HETMP_SIMD_SVE_BITS)));
typedef svint16_t hetmp_sv_VI16 __attribute__((arm_sve_vector_bits(HETMP_SIMD_SVE_BITS)));
typedef svint32_t hetmp_sv_VI32 __attribute__((arm_sve_vector_bits(HETMP_SIMD_SVE_BITS)));
typedef svint64_t hetmp_sv_VI64 __attribute__((arm_sve_vector_bits(HETMP_SIMD_SVE_BITS)));
typedef svuint8_t hetmp_sv_VU8 __attribute__((arm_sve_vector_bits(HETMP_SIMD_SVE_BITS)));
typedef svuint16_t hetmp_sv_VU16 __attribute__((arm_sve_vector_bits(HETMP_SIMD_SVE_BITS)));
typedef svuint32_t hetmp_sv_VU32 __attribute__((arm_sve_vector_bits(HETMP_SIMD_SVE_BITS)));
typedef svuint64_t hetmp_sv_VU64 __attribute__((arm_sve_vector_bits(HETMP_SIMD_SVE_BITS)));

/* The governing predicate: all lanes. At this fixed width the compiler knows it. */
#define HETMP_PG(W) svptrue_b##W()
#define HETMP_V1(T, op, C, W, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { return (_##T)(hetmp_sv_##T)name##_x(HETMP_PG(W), (C)a); }
#define HETMP_V2(T, op, C, W, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { \
        return (_##T)(hetmp_sv_##T)name##_x(HETMP_PG(W), (C)a, (C)b); \
    }
#define HETMP_VINTS_(X, op, name, S, U) \
    X(VI8, op, hetmp_sv_VI8, 8, name##S##8) \
    X(VI16, op, hetmp_sv_VI16, 16, name##S##16) \
    X(VI32, op, hetmp_sv_VI32, 32, name##S##32) \
    X(VI64, op, hetmp_sv_VI64, 64, name##S##64) \
    X(VU8, op, hetmp_sv_VU8, 8, name##U##8) \
    X(VU16, op, hetmp_sv_VU16, 16, name##U##16) \
    X(VU32, op, hetmp_sv_VU32, 32, name##U##32) \
    X(VU64, op, hetmp_sv_VU64, 64, name##U##64)
#define HETMP_VINTS(X, op, name) HETMP_VINTS_(X, op, name, _s, _u)

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
#define HETMP_OWN_F_FMS 1
#define HETMP_OWN_F_FNMA 1
#define HETMP_OWN_F_FNMS 1
#define HETMP_OWN_F_SET1 1
#define HETMP_V3(T, op, C, W, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b, _##T c) { \
        return (_##T)(hetmp_sv_##T)name##_x(HETMP_PG(W), (C)c, (C)a, (C)b); \
    }
/* A NaN gives way to the other operand before the instruction, which would keep a signalling one. */
#define HETMP_VNUMBER(T, op, C, W, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { \
        const C x = (C)a, y = (C)b; \
        return (_##T)(hetmp_sv_##T)name##_x(HETMP_PG(W), svsel_f##W(svcmpeq_f##W(HETMP_PG(W), x, x), x, y), \
                                            svsel_f##W(svcmpeq_f##W(HETMP_PG(W), y, y), y, x)); \
    }
#define HETMP_VFLOAT(T, L, C, W) \
    HETMP_V1(T, SQRT, C, W, svsqrt_f##W) \
    HETMP_V1(T, ROUND, C, W, svrintn_f##W) \
    HETMP_V1(T, FLOOR, C, W, svrintm_f##W) \
    HETMP_V1(T, CEIL, C, W, svrintp_f##W) \
    HETMP_V1(T, TRUNC, C, W, svrintz_f##W) \
    HETMP_VNUMBER(T, MINNUM, C, W, svminnm_f##W) \
    HETMP_VNUMBER(T, MAXNUM, C, W, svmaxnm_f##W) \
    HETMP_V3(T, FMA, C, W, svmla_f##W) \
    HETMP_V3(T, FMS, C, W, svnmls_f##W) \
    HETMP_V3(T, FNMA, C, W, svmls_f##W) \
    HETMP_V3(T, FNMS, C, W, svnmla_f##W) \
    HETMP_SIMD_FN _##T _##T##_RCP_EST(_##T a) { return (_##T)(hetmp_sv_##T)svrecpe_f##W((C)a); } \
    HETMP_SIMD_FN _##T _##T##_RSQRT_EST(_##T a) { return (_##T)(hetmp_sv_##T)svrsqrte_f##W((C)a); } \
    HETMP_SIMD_FN _##T _##T##_SET1(L x) { return (_##T)(hetmp_sv_##T)svdup_n_f##W(x); }
HETMP_VFLOAT(VF32, float, hetmp_sv_VF32, 32)
HETMP_VFLOAT(VF64, double, hetmp_sv_VF64, 64)
#undef HETMP_VFLOAT
#undef HETMP_VNUMBER

#define HETMP_OWN_S_MIN 1
#define HETMP_OWN_U_MIN 1
#define HETMP_OWN_S_MAX 1
#define HETMP_OWN_U_MAX 1
#define HETMP_OWN_S_MULHI 1
#define HETMP_OWN_U_MULHI 1
HETMP_VINTS(HETMP_V2, MIN, svmin)
HETMP_VINTS(HETMP_V2, MAX, svmax)
HETMP_VINTS(HETMP_V2, MULHI, svmulh)
#define HETMP_OWN_S_ABSDIFF 1
#define HETMP_OWN_U_ABSDIFF 1
HETMP_VINTS(HETMP_V2, ABSDIFF, svabd)

#define HETMP_OWN_S_ADDS 1
#define HETMP_OWN_U_ADDS 1
#define HETMP_OWN_S_SUBS 1
#define HETMP_OWN_U_SUBS 1
#define HETMP_V2_BARE(T, op, C, W, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { return (_##T)(hetmp_sv_##T)name((C)a, (C)b); }
HETMP_VINTS(HETMP_V2_BARE, ADDS, svqadd)
HETMP_VINTS(HETMP_V2_BARE, SUBS, svqsub)

#define HETMP_OWN_VI8_DOTADD 1
#define HETMP_OWN_VU8_DOTADD 1
HETMP_SIMD_FN _VI32 _VI8_DOTADD(_VI8 a, _VI8 b, _VI32 c) {
    return (_VI32)(hetmp_sv_VI32)svdot_s32((hetmp_sv_VI32)c, (hetmp_sv_VI8)a, (hetmp_sv_VI8)b);
}
HETMP_SIMD_FN _VU32 _VU8_DOTADD(_VU8 a, _VU8 b, _VU32 c) {
    return (_VU32)(hetmp_sv_VU32)svdot_u32((hetmp_sv_VU32)c, (hetmp_sv_VU8)a, (hetmp_sv_VU8)b);
}
/* A float of 16 bits stands in the lower half of a lane of 32. */
#define HETMP_OWN_VF32_FROM_F16 1
#define HETMP_OWN_VF32_TO_F16 1
HETMP_SIMD_FN _VF32 hetmp_from_f16(_VU32 v) {
    return (_VF32)(hetmp_sv_VF32)svcvt_f32_f16_x(HETMP_PG(32), svreinterpret_f16_u32((hetmp_sv_VU32)v));
}
HETMP_SIMD_FN _VU16 hetmp_to_f16(_VF32 v) {
    const svfloat16_t r = svcvt_f16_f32_x(HETMP_PG(32), (hetmp_sv_VF32)v);
    return (_VU16)(hetmp_sv_VU16)svreinterpret_u16_f16(r);
}
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_LO(_VU16 v) {
    return hetmp_from_f16((_VU32)(hetmp_sv_VU32)svunpklo_u32((hetmp_sv_VU16)v));
}
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_HI(_VU16 v) {
    return hetmp_from_f16((_VU32)(hetmp_sv_VU32)svunpkhi_u32((hetmp_sv_VU16)v));
}
HETMP_SIMD_FN _VU16 _VF32_TO_F16(_VF32 lo, _VF32 hi) {
    return (_VU16)(hetmp_sv_VU16)svuzp1_u16((hetmp_sv_VU16)hetmp_to_f16(lo), (hetmp_sv_VU16)hetmp_to_f16(hi));
}

#define HETMP_OWN_S_ABS 1
HETMP_V1(VI8, ABS, hetmp_sv_VI8, 8, svabs_s8)
HETMP_V1(VI16, ABS, hetmp_sv_VI16, 16, svabs_s16)
HETMP_V1(VI32, ABS, hetmp_sv_VI32, 32, svabs_s32)
HETMP_V1(VI64, ABS, hetmp_sv_VI64, 64, svabs_s64)

/* The division gives 0 for x / 0 and the lowest number for the lowest / -1. */
#define HETMP_OWN_VI32_DIV 1
#define HETMP_OWN_VI64_DIV 1
#define HETMP_OWN_VU32_DIV 1
#define HETMP_OWN_VU64_DIV 1
HETMP_V2(VI32, DIV, hetmp_sv_VI32, 32, svdiv_s32)
HETMP_V2(VI64, DIV, hetmp_sv_VI64, 64, svdiv_s64)
HETMP_V2(VU32, DIV, hetmp_sv_VU32, 32, svdiv_u32)
HETMP_V2(VU64, DIV, hetmp_sv_VU64, 64, svdiv_u64)

/* Counts past the width shift everything out. */
#define HETMP_OWN_S_SHLV 1
#define HETMP_OWN_U_SHLV 1
#define HETMP_OWN_S_SHRV 1
#define HETMP_OWN_U_SHRV 1
#define HETMP_VSHIFT(T, U, op, C, D, W, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T v, _##U n) { \
        return (_##T)(hetmp_sv_##T)name##_x(HETMP_PG(W), (C)v, (D)n); \
    }
#define HETMP_VSHIFTS(W) \
    HETMP_VSHIFT(VI##W, VU##W, SHLV, hetmp_sv_VI##W, hetmp_sv_VU##W, W, svlsl_s##W) \
    HETMP_VSHIFT(VU##W, VU##W, SHLV, hetmp_sv_VU##W, hetmp_sv_VU##W, W, svlsl_u##W) \
    HETMP_VSHIFT(VI##W, VU##W, SHRV, hetmp_sv_VI##W, hetmp_sv_VU##W, W, svasr_s##W) \
    HETMP_VSHIFT(VU##W, VU##W, SHRV, hetmp_sv_VU##W, hetmp_sv_VU##W, W, svlsr_u##W)
HETMP_VSHIFTS(8)
HETMP_VSHIFTS(16)
HETMP_VSHIFTS(32)
HETMP_VSHIFTS(64)
#undef HETMP_VSHIFT
#undef HETMP_VSHIFTS

#define HETMP_OWN_S_POPCNT 1
#define HETMP_OWN_U_POPCNT 1
#define HETMP_OWN_S_CLZ 1
#define HETMP_OWN_U_CLZ 1
HETMP_VINTS(HETMP_V1, POPCNT, svcnt)
HETMP_VINTS(HETMP_V1, CLZ, svclz)

/* Lanes with indexes out of range are 0 for TBL; ours count modulo the lanes. */
#define HETMP_OWN_F_PERMUTE 1
#define HETMP_OWN_S_PERMUTE 1
#define HETMP_OWN_U_PERMUTE 1
#define HETMP_VPERMUTE(T, W, C, N, name) \
    HETMP_SIMD_FN _##T _##T##_PERMUTE(_##T v, _VU##W i) { \
        return (_##T)(hetmp_sv_##T)name((C)v, (hetmp_sv_VU##W)(i & (N - 1))); \
    }
HETMP_VPERMUTE(VI8, 8, hetmp_sv_VI8, HETMP_SIMD_LANES_8, svtbl_s8)
HETMP_VPERMUTE(VU8, 8, hetmp_sv_VU8, HETMP_SIMD_LANES_8, svtbl_u8)
HETMP_VPERMUTE(VI16, 16, hetmp_sv_VI16, HETMP_SIMD_LANES_16, svtbl_s16)
HETMP_VPERMUTE(VU16, 16, hetmp_sv_VU16, HETMP_SIMD_LANES_16, svtbl_u16)
HETMP_VPERMUTE(VI32, 32, hetmp_sv_VI32, HETMP_SIMD_LANES_32, svtbl_s32)
HETMP_VPERMUTE(VU32, 32, hetmp_sv_VU32, HETMP_SIMD_LANES_32, svtbl_u32)
HETMP_VPERMUTE(VF32, 32, hetmp_sv_VF32, HETMP_SIMD_LANES_32, svtbl_f32)
HETMP_VPERMUTE(VI64, 64, hetmp_sv_VI64, HETMP_SIMD_LANES_64, svtbl_s64)
HETMP_VPERMUTE(VU64, 64, hetmp_sv_VU64, HETMP_SIMD_LANES_64, svtbl_u64)
HETMP_VPERMUTE(VF64, 64, hetmp_sv_VF64, HETMP_SIMD_LANES_64, svtbl_f64)
#undef HETMP_VPERMUTE

/* Masks are vectors for us and predicates for the machine; comparing with 0 makes the one of
 * the other, and disappears where the compiler sees the comparison that made the mask. */
#define HETMP_VMASK(W, m) svcmpne_n_s##W(HETMP_PG(W), (hetmp_sv_VI##W)(m), 0)
#define HETMP_OWN_F_LOAD_MASK 1
#define HETMP_OWN_S_LOAD_MASK 1
#define HETMP_OWN_U_LOAD_MASK 1
#define HETMP_OWN_F_STORE_MASK 1
#define HETMP_OWN_S_STORE_MASK 1
#define HETMP_OWN_U_STORE_MASK 1
#define HETMP_VMASKED(T, L, W, C, suffix) \
    HETMP_SIMD_FN _##T _##T##_LOAD_MASK(const L *p, _VM##W m) { \
        return (_##T)(hetmp_sv_##T)svld1_##suffix(HETMP_VMASK(W, m), p); \
    } \
    HETMP_SIMD_FN void _##T##_STORE_MASK(L *p, _VM##W m, _##T v) { \
        svst1_##suffix(HETMP_VMASK(W, m), p, (C)v); \
    }
HETMP_VMASKED(VI8, int8_t, 8, hetmp_sv_VI8, s8)
HETMP_VMASKED(VU8, uint8_t, 8, hetmp_sv_VU8, u8)
HETMP_VMASKED(VI16, int16_t, 16, hetmp_sv_VI16, s16)
HETMP_VMASKED(VU16, uint16_t, 16, hetmp_sv_VU16, u16)
HETMP_VMASKED(VI32, int32_t, 32, hetmp_sv_VI32, s32)
HETMP_VMASKED(VU32, uint32_t, 32, hetmp_sv_VU32, u32)
HETMP_VMASKED(VF32, float, 32, hetmp_sv_VF32, f32)
HETMP_VMASKED(VI64, int64_t, 64, hetmp_sv_VI64, s64)
HETMP_VMASKED(VU64, uint64_t, 64, hetmp_sv_VU64, u64)
HETMP_VMASKED(VF64, double, 64, hetmp_sv_VF64, f64)
#undef HETMP_VMASKED

#define HETMP_OWN_F_COMPRESS 1
#define HETMP_OWN_VI32_COMPRESS 1
#define HETMP_OWN_VU32_COMPRESS 1
#define HETMP_OWN_VI64_COMPRESS 1
#define HETMP_OWN_VU64_COMPRESS 1
#define HETMP_VCOMPRESS(T, W, C, suffix) \
    HETMP_SIMD_FN _##T _##T##_COMPRESS(_VM##W m, _##T v) { \
        return (_##T)(hetmp_sv_##T)svcompact_##suffix(HETMP_VMASK(W, m), (C)v); \
    }
HETMP_VCOMPRESS(VF32, 32, hetmp_sv_VF32, f32)
HETMP_VCOMPRESS(VI32, 32, hetmp_sv_VI32, s32)
HETMP_VCOMPRESS(VU32, 32, hetmp_sv_VU32, u32)
HETMP_VCOMPRESS(VF64, 64, hetmp_sv_VF64, f64)
HETMP_VCOMPRESS(VI64, 64, hetmp_sv_VI64, s64)
HETMP_VCOMPRESS(VU64, 64, hetmp_sv_VU64, u64)
#undef HETMP_VCOMPRESS

/* clang 14 cannot compile these, and LOAD3 of 19 gives wrong lanes: it has the common text's shuffles. */
#ifndef __clang__
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
#define HETMP_VSTRUCTS(T, L, W, C, tuple, suffix) \
    HETMP_SIMD_FN void _##T##_LOAD2(const L *p, _##T *a, _##T *b) { \
        const tuple##x2_t v = svld2_##suffix(HETMP_PG(W), p); \
        *a = (_##T)(C)svget2_##suffix(v, 0); \
        *b = (_##T)(C)svget2_##suffix(v, 1); \
    } \
    HETMP_SIMD_FN void _##T##_STORE2(L *p, _##T a, _##T b) { \
        svst2_##suffix(HETMP_PG(W), p, svcreate2_##suffix((C)a, (C)b)); \
    } \
    HETMP_SIMD_FN void _##T##_LOAD3(const L *p, _##T *a, _##T *b, _##T *c) { \
        const tuple##x3_t v = svld3_##suffix(HETMP_PG(W), p); \
        *a = (_##T)(C)svget3_##suffix(v, 0); \
        *b = (_##T)(C)svget3_##suffix(v, 1); \
        *c = (_##T)(C)svget3_##suffix(v, 2); \
    } \
    HETMP_SIMD_FN void _##T##_STORE3(L *p, _##T a, _##T b, _##T c) { \
        svst3_##suffix(HETMP_PG(W), p, svcreate3_##suffix((C)a, (C)b, (C)c)); \
    } \
    HETMP_SIMD_FN void _##T##_LOAD4(const L *p, _##T *a, _##T *b, _##T *c, _##T *d) { \
        const tuple##x4_t v = svld4_##suffix(HETMP_PG(W), p); \
        *a = (_##T)(C)svget4_##suffix(v, 0); \
        *b = (_##T)(C)svget4_##suffix(v, 1); \
        *c = (_##T)(C)svget4_##suffix(v, 2); \
        *d = (_##T)(C)svget4_##suffix(v, 3); \
    } \
    HETMP_SIMD_FN void _##T##_STORE4(L *p, _##T a, _##T b, _##T c, _##T d) { \
        svst4_##suffix(HETMP_PG(W), p, svcreate4_##suffix((C)a, (C)b, (C)c, (C)d)); \
    }
HETMP_VSTRUCTS(VI8, int8_t, 8, hetmp_sv_VI8, svint8, s8)
HETMP_VSTRUCTS(VU8, uint8_t, 8, hetmp_sv_VU8, svuint8, u8)
HETMP_VSTRUCTS(VI16, int16_t, 16, hetmp_sv_VI16, svint16, s16)
HETMP_VSTRUCTS(VU16, uint16_t, 16, hetmp_sv_VU16, svuint16, u16)
HETMP_VSTRUCTS(VI32, int32_t, 32, hetmp_sv_VI32, svint32, s32)
HETMP_VSTRUCTS(VU32, uint32_t, 32, hetmp_sv_VU32, svuint32, u32)
HETMP_VSTRUCTS(VI64, int64_t, 64, hetmp_sv_VI64, svint64, s64)
HETMP_VSTRUCTS(VU64, uint64_t, 64, hetmp_sv_VU64, svuint64, u64)
HETMP_VSTRUCTS(VF32, float, 32, hetmp_sv_VF32, svfloat32, f32)
HETMP_VSTRUCTS(VF64, double, 64, hetmp_sv_VF64, svfloat64, f64)
#undef HETMP_VSTRUCTS
#endif

#define HETMP_OWN_F_GATHER 1
#define HETMP_OWN_F_SCATTER 1
#define HETMP_OWN_VI32_GATHER 1
#define HETMP_OWN_VI32_SCATTER 1
#define HETMP_OWN_VI64_GATHER 1
#define HETMP_OWN_VI64_SCATTER 1
#define HETMP_OWN_VU32_GATHER 1
#define HETMP_OWN_VU32_SCATTER 1
#define HETMP_OWN_VU64_GATHER 1
#define HETMP_OWN_VU64_SCATTER 1
#define HETMP_VGATHER(T, L, W, C, suffix) \
    HETMP_SIMD_FN _##T _##T##_GATHER(const L *p, _VI##W i) { \
        return (_##T)(hetmp_sv_##T)svld1_gather_s##W##index_##suffix(HETMP_PG(W), p, (hetmp_sv_VI##W)i); \
    } \
    HETMP_SIMD_FN void _##T##_SCATTER(L *p, _VI##W i, _##T v) { \
        svst1_scatter_s##W##index_##suffix(HETMP_PG(W), p, (hetmp_sv_VI##W)i, (C)v); \
    }
HETMP_VGATHER(VF32, float, 32, hetmp_sv_VF32, f32)
HETMP_VGATHER(VI32, int32_t, 32, hetmp_sv_VI32, s32)
HETMP_VGATHER(VU32, uint32_t, 32, hetmp_sv_VU32, u32)
HETMP_VGATHER(VF64, double, 64, hetmp_sv_VF64, f64)
HETMP_VGATHER(VI64, int64_t, 64, hetmp_sv_VI64, s64)
HETMP_VGATHER(VU64, uint64_t, 64, hetmp_sv_VU64, u64)
#undef HETMP_VGATHER

/* Integer sums wrap, so their order does not matter. */
#define HETMP_OWN_S_REDUCE_MIN 1
#define HETMP_OWN_U_REDUCE_MIN 1
#define HETMP_OWN_S_REDUCE_MAX 1
#define HETMP_OWN_U_REDUCE_MAX 1
#define HETMP_OWN_S_REDUCE_ADD 1
#define HETMP_OWN_U_REDUCE_ADD 1
#define HETMP_OWN_S_REDUCE_AND 1
#define HETMP_OWN_U_REDUCE_AND 1
#define HETMP_OWN_S_REDUCE_OR 1
#define HETMP_OWN_U_REDUCE_OR 1
#define HETMP_OWN_S_REDUCE_XOR 1
#define HETMP_OWN_U_REDUCE_XOR 1
#define HETMP_VREDUCE(T, L, C, W, suffix) \
    HETMP_SIMD_FN L _##T##_REDUCE_MIN(_##T v) { return svminv_##suffix(HETMP_PG(W), (C)v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_MAX(_##T v) { return svmaxv_##suffix(HETMP_PG(W), (C)v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_ADD(_##T v) { return (L)svaddv_##suffix(HETMP_PG(W), (C)v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_AND(_##T v) { return svandv_##suffix(HETMP_PG(W), (C)v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_OR(_##T v) { return svorv_##suffix(HETMP_PG(W), (C)v); } \
    HETMP_SIMD_FN L _##T##_REDUCE_XOR(_##T v) { return sveorv_##suffix(HETMP_PG(W), (C)v); }
HETMP_VREDUCE(VI8, int8_t, hetmp_sv_VI8, 8, s8)
HETMP_VREDUCE(VU8, uint8_t, hetmp_sv_VU8, 8, u8)
HETMP_VREDUCE(VI16, int16_t, hetmp_sv_VI16, 16, s16)
HETMP_VREDUCE(VU16, uint16_t, hetmp_sv_VU16, 16, u16)
HETMP_VREDUCE(VI32, int32_t, hetmp_sv_VI32, 32, s32)
HETMP_VREDUCE(VU32, uint32_t, hetmp_sv_VU32, 32, u32)
HETMP_VREDUCE(VI64, int64_t, hetmp_sv_VI64, 64, s64)
HETMP_VREDUCE(VU64, uint64_t, hetmp_sv_VU64, 64, u64)
#undef HETMP_VREDUCE

#define HETMP_OWN_M_ANY 1
#define HETMP_OWN_M_ALL 1
#define HETMP_OWN_M_COUNT 1
#define HETMP_OWN_M_FIRST 1
#define HETMP_VMASK_OPS(W) \
    HETMP_SIMD_FN int _VM##W##_ANY(_VM##W m) { \
        return svptest_any(HETMP_PG(W), HETMP_VMASK(W, m)); \
    } \
    HETMP_SIMD_FN int _VM##W##_ALL(_VM##W m) { \
        return !svptest_any(HETMP_PG(W), svcmpeq_n_s##W(HETMP_PG(W), (hetmp_sv_VI##W)m, 0)); \
    } \
    HETMP_SIMD_FN int _VM##W##_COUNT(_VM##W m) { \
        return (int)svcntp_b##W(HETMP_PG(W), HETMP_VMASK(W, m)); \
    } \
    HETMP_SIMD_FN int _VM##W##_FIRST(_VM##W m) { \
        /* The lanes before the first true one. */ \
        return (int)svcntp_b##W(HETMP_PG(W), svbrkb_z(HETMP_PG(W), HETMP_VMASK(W, m))); \
    }
HETMP_VMASK_OPS(8)
HETMP_VMASK_OPS(16)
HETMP_VMASK_OPS(32)
HETMP_VMASK_OPS(64)
#undef HETMP_VMASK_OPS

/* The instructions saturate and make 0 of a NaN, as we promise. */
#define HETMP_VCONVERT(A, B, C, W, name) \
    HETMP_SIMD_FN _##B _##A##_TO_##B(_##A v) { return (_##B)(hetmp_sv_##B)name##_x(HETMP_PG(W), (C)v); }
#define HETMP_OWN_VF32_TO_VI32 1
#define HETMP_OWN_VF32_TO_VU32 1
#define HETMP_OWN_VF64_TO_VI64 1
#define HETMP_OWN_VF64_TO_VU64 1
#define HETMP_OWN_VI32_TO_VF32 1
#define HETMP_OWN_VU32_TO_VF32 1
#define HETMP_OWN_VI64_TO_VF64 1
#define HETMP_OWN_VU64_TO_VF64 1
HETMP_VCONVERT(VF32, VI32, hetmp_sv_VF32, 32, svcvt_s32_f32)
HETMP_VCONVERT(VF32, VU32, hetmp_sv_VF32, 32, svcvt_u32_f32)
HETMP_VCONVERT(VF64, VI64, hetmp_sv_VF64, 64, svcvt_s64_f64)
HETMP_VCONVERT(VF64, VU64, hetmp_sv_VF64, 64, svcvt_u64_f64)
HETMP_VCONVERT(VI32, VF32, hetmp_sv_VI32, 32, svcvt_f32_s32)
HETMP_VCONVERT(VU32, VF32, hetmp_sv_VU32, 32, svcvt_f32_u32)
HETMP_VCONVERT(VI64, VF64, hetmp_sv_VI64, 64, svcvt_f64_s64)
HETMP_VCONVERT(VU64, VF64, hetmp_sv_VU64, 64, svcvt_f64_u64)
#undef HETMP_VCONVERT

#define HETMP_VWIDEN(A, B, C, suffix) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { return (_##B)(hetmp_sv_##B)svunpklo_##suffix((C)v); } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { return (_##B)(hetmp_sv_##B)svunpkhi_##suffix((C)v); }
#define HETMP_OWN_VI8_TO_VI16 1
#define HETMP_OWN_VU8_TO_VU16 1
#define HETMP_OWN_VI16_TO_VI32 1
#define HETMP_OWN_VU16_TO_VU32 1
#define HETMP_OWN_VI32_TO_VI64 1
#define HETMP_OWN_VU32_TO_VU64 1
HETMP_VWIDEN(VI8, VI16, hetmp_sv_VI8, s16)
HETMP_VWIDEN(VU8, VU16, hetmp_sv_VU8, u16)
HETMP_VWIDEN(VI16, VI32, hetmp_sv_VI16, s32)
HETMP_VWIDEN(VU16, VU32, hetmp_sv_VU16, u32)
HETMP_VWIDEN(VI32, VI64, hetmp_sv_VI32, s64)
HETMP_VWIDEN(VU32, VU64, hetmp_sv_VU32, u64)
#undef HETMP_VWIDEN

/* Between floats of unlike width the machine works in the even lanes of the wider ones. */
#define HETMP_OWN_VF32_TO_VF64 1
HETMP_SIMD_FN _VF64 _VF32_TO_VF64_LO(_VF32 v) {
    const hetmp_sv_VF32 even = svzip1_f32((hetmp_sv_VF32)v, (hetmp_sv_VF32)v);
    return (_VF64)(hetmp_sv_VF64)svcvt_f64_f32_x(HETMP_PG(64), even);
}
HETMP_SIMD_FN _VF64 _VF32_TO_VF64_HI(_VF32 v) {
    const hetmp_sv_VF32 even = svzip2_f32((hetmp_sv_VF32)v, (hetmp_sv_VF32)v);
    return (_VF64)(hetmp_sv_VF64)svcvt_f64_f32_x(HETMP_PG(64), even);
}
#define HETMP_VNARROW(B, A, C, D, name, uzp) \
    HETMP_SIMD_FN _##A _##B##_TO_##A(_##B lo, _##B hi) { \
        const D l = name##_x(HETMP_PG(64), (C)lo), h = name##_x(HETMP_PG(64), (C)hi); \
        return (_##A)(hetmp_sv_##A)uzp(l, h); \
    }
#define HETMP_OWN_VF64_TO_VF32 1
#define HETMP_OWN_VF64_TO_VI32 1
#define HETMP_OWN_VF64_TO_VU32 1
HETMP_VNARROW(VF64, VF32, hetmp_sv_VF64, hetmp_sv_VF32, svcvt_f32_f64, svuzp1_f32)
HETMP_VNARROW(VF64, VI32, hetmp_sv_VF64, hetmp_sv_VI32, svcvt_s32_f64, svuzp1_s32)
HETMP_VNARROW(VF64, VU32, hetmp_sv_VF64, hetmp_sv_VU32, svcvt_u32_f64, svuzp1_u32)
#undef HETMP_VNARROW
#define HETMP_OWN_VI32_TO_VF64 1
#define HETMP_OWN_VU32_TO_VF64 1
HETMP_SIMD_FN _VF64 _VI32_TO_VF64_LO(_VI32 v) { return _VI64_TO_VF64(_VI32_TO_VI64_LO(v)); }
HETMP_SIMD_FN _VF64 _VI32_TO_VF64_HI(_VI32 v) { return _VI64_TO_VF64(_VI32_TO_VI64_HI(v)); }
HETMP_SIMD_FN _VF64 _VU32_TO_VF64_LO(_VU32 v) { return _VU64_TO_VF64(_VU32_TO_VU64_LO(v)); }
HETMP_SIMD_FN _VF64 _VU32_TO_VF64_HI(_VU32 v) { return _VU64_TO_VF64(_VU32_TO_VU64_HI(v)); }
#undef HETMP_V1
#undef HETMP_V2
#undef HETMP_V3
#undef HETMP_V2_BARE
#undef HETMP_VINTS
#undef HETMP_VINTS_
