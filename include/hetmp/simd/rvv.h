/* Part of hetmp/simd.h: RISC-V's vectors (V 1.0) at a width fixed by -mrvv-vector-bits. The compiler turns operators
 * on vectors of that width into V's instructions; this is the rest. Not for direct inclusion. */

/* The machine's own types at our width: our vectors are cast to and from these only. */
#define HETMP_VECTOR(T, C, bits) typedef C hetmp_rv_##T __attribute__((riscv_rvv_vector_bits(bits)));
#define HETMP_VECTORS(W) \
    HETMP_VECTOR(VI##W, vint##W##m1_t, HETMP_SIMD_RVV_BITS) \
    HETMP_VECTOR(VU##W, vuint##W##m1_t, HETMP_SIMD_RVV_BITS)
HETMP_VECTORS(8)
HETMP_VECTORS(16)
HETMP_VECTORS(32)
HETMP_VECTORS(64)
HETMP_VECTOR(VF32, vfloat32m1_t, HETMP_SIMD_RVV_BITS)
HETMP_VECTOR(VF64, vfloat64m1_t, HETMP_SIMD_RVV_BITS)
#undef HETMP_VECTOR
#undef HETMP_VECTORS

/* X(type, lane's C type, bits a lane, letter of the instruction, suffix of its name). */
#define HETMP_RSIGNED(X) \
    X(VI8, int8_t, 8, , i8m1) X(VI16, int16_t, 16, , i16m1) X(VI32, int32_t, 32, , i32m1) X(VI64, int64_t, 64, , i64m1)
#define HETMP_RUNSIGNED(X) \
    X(VU8, uint8_t, 8, u, u8m1) X(VU16, uint16_t, 16, u, u16m1) X(VU32, uint32_t, 32, u, u32m1) \
    X(VU64, uint64_t, 64, u, u64m1)
#define HETMP_RFLOATS(X) X(VF32, float, 32, f, f32m1) X(VF64, double, 64, f, f64m1)
#define HETMP_RINTS(X) HETMP_RSIGNED(X) HETMP_RUNSIGNED(X)
#define HETMP_RALL(X) HETMP_RINTS(X) HETMP_RFLOATS(X)

#define HETMP_RN(W) HETMP_SIMD_LANES_##W
#define HETMP_RI(name, suffix) __riscv_v##name##_##suffix
#define HETMP_RTO(T, v) ((hetmp_rv_##T)(v))
#define HETMP_RFROM(T, v) ((_##T)(hetmp_rv_##T)(v))
/* Masks are vectors for us and bits for the machine; comparing with 0 makes the one of the other, and disappears
 * where the compiler sees the comparison that made the mask. */
#define HETMP_RMASK(W, m) HETMP_RI(msne_vx, i##W##m1_b##W)(HETMP_RTO(VI##W, m), 0, HETMP_RN(W))
#define HETMP_R2(T, op, W, name, suffix) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { \
        return HETMP_RFROM(T, HETMP_RI(name, suffix)(HETMP_RTO(T, a), HETMP_RTO(T, b), HETMP_RN(W))); \
    }

#define HETMP_OWN_S_MIN 1
#define HETMP_OWN_U_MIN 1
#define HETMP_OWN_S_MAX 1
#define HETMP_OWN_U_MAX 1
#define HETMP_OWN_S_ADDS 1
#define HETMP_OWN_U_ADDS 1
#define HETMP_OWN_S_SUBS 1
#define HETMP_OWN_U_SUBS 1
#define HETMP_OWN_S_MULHI 1
#define HETMP_OWN_U_MULHI 1
#define HETMP_OWN_S_REM 1
#define HETMP_OWN_U_REM 1
#define HETMP_OWN_S_DIV 1
#define HETMP_OWN_U_DIV 1
/* The remainder is what we promise; a division by 0 gives all ones. */
#define HETMP_RINT(T, L, W, u, suffix) \
    HETMP_R2(T, MIN, W, min##u##_vv, suffix) \
    HETMP_R2(T, MAX, W, max##u##_vv, suffix) \
    HETMP_R2(T, ADDS, W, sadd##u##_vv, suffix) \
    HETMP_R2(T, SUBS, W, ssub##u##_vv, suffix) \
    HETMP_R2(T, MULHI, W, mulh##u##_vv, suffix) \
    HETMP_R2(T, REM, W, rem##u##_vv, suffix) \
    HETMP_SIMD_FN _##T _##T##_DIV(_##T a, _##T b) { \
        return HETMP_RFROM(T, HETMP_RI(div##u##_vv, suffix)(HETMP_RTO(T, a), HETMP_RTO(T, b), HETMP_RN(W))) & \
               (_##T)(b != 0); \
    }
HETMP_RINTS(HETMP_RINT)
#undef HETMP_RINT

#define HETMP_OWN_U_AVG 1
#define HETMP_RAVERAGE(T, L, W, u, suffix) \
    HETMP_SIMD_FN _##T _##T##_AVG(_##T a, _##T b) { \
        return HETMP_RFROM(T, HETMP_RI(aaddu_vv, suffix)(HETMP_RTO(T, a), HETMP_RTO(T, b), __RISCV_VXRM_RNU, \
                                                        HETMP_RN(W))); \
    }
HETMP_RUNSIGNED(HETMP_RAVERAGE)
#undef HETMP_RAVERAGE

#define HETMP_OWN_F_SET1 1
#define HETMP_OWN_F_SQRT 1
#define HETMP_OWN_F_COPYSIGN 1
#define HETMP_OWN_F_MINNUM 1
#define HETMP_OWN_F_MAXNUM 1
#define HETMP_OWN_F_RCP_EST 1
#define HETMP_OWN_F_RSQRT_EST 1
#define HETMP_OWN_F_FMA 1
#define HETMP_OWN_F_FMS 1
#define HETMP_OWN_F_FNMA 1
#define HETMP_OWN_F_FNMS 1
#define HETMP_R1(T, op, W, name, suffix) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { \
        return HETMP_RFROM(T, HETMP_RI(name, suffix)(HETMP_RTO(T, a), HETMP_RN(W))); \
    }
#define HETMP_R3(T, op, W, name, suffix) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b, _##T c) { \
        return HETMP_RFROM(T, HETMP_RI(name, suffix)(HETMP_RTO(T, c), HETMP_RTO(T, a), HETMP_RTO(T, b), HETMP_RN(W))); \
    }
#define HETMP_RFLOAT(T, L, W, f, suffix) \
    HETMP_R1(T, SQRT, W, fsqrt_v, suffix) \
    HETMP_R1(T, RCP_EST, W, frec7_v, suffix) \
    HETMP_R1(T, RSQRT_EST, W, frsqrt7_v, suffix) \
    HETMP_R2(T, COPYSIGN, W, fsgnj_vv, suffix) \
    HETMP_R2(T, MINNUM, W, fmin_vv, suffix) \
    HETMP_R2(T, MAXNUM, W, fmax_vv, suffix) \
    HETMP_R3(T, FMA, W, fmacc_vv, suffix) \
    HETMP_R3(T, FMS, W, fmsac_vv, suffix) \
    HETMP_R3(T, FNMA, W, fnmsac_vv, suffix) \
    HETMP_R3(T, FNMS, W, fnmacc_vv, suffix) \
    HETMP_SIMD_FN _##T _##T##_SET1(L x) { return HETMP_RFROM(T, HETMP_RI(fmv_v_f, suffix)(x, HETMP_RN(W))); }
HETMP_RFLOATS(HETMP_RFLOAT)
#undef HETMP_RFLOAT

/* Memory under a mask or at a distance; the other lanes of a load stay 0. */
#define HETMP_OWN_F_LOAD_MASK 1
#define HETMP_OWN_S_LOAD_MASK 1
#define HETMP_OWN_U_LOAD_MASK 1
#define HETMP_OWN_F_STORE_MASK 1
#define HETMP_OWN_S_STORE_MASK 1
#define HETMP_OWN_U_STORE_MASK 1
#define HETMP_OWN_F_LOAD_N 1
#define HETMP_OWN_S_LOAD_N 1
#define HETMP_OWN_U_LOAD_N 1
#define HETMP_OWN_F_STORE_N 1
#define HETMP_OWN_S_STORE_N 1
#define HETMP_OWN_U_STORE_N 1
#define HETMP_OWN_F_LOAD_STRIDE 1
#define HETMP_OWN_S_LOAD_STRIDE 1
#define HETMP_OWN_U_LOAD_STRIDE 1
#define HETMP_RMEMORY(T, L, W, u, suffix) \
    HETMP_SIMD_FN _##T _##T##_LOAD_MASK(const L *p, _VM##W m) { \
        const _##T zero = {0}; \
        return HETMP_RFROM(T, HETMP_RI(le##W##_v, suffix##_mu)(HETMP_RMASK(W, m), HETMP_RTO(T, zero), p, \
                                                               HETMP_RN(W))); \
    } \
    HETMP_SIMD_FN void _##T##_STORE_MASK(L *p, _VM##W m, _##T v) { \
        HETMP_RI(se##W##_v, suffix##_m)(HETMP_RMASK(W, m), p, HETMP_RTO(T, v), HETMP_RN(W)); \
    } \
    HETMP_SIMD_FN _##T _##T##_LOAD_N(const L *p, size_t n) { \
        const _##T zero = {0}; \
        n = n < HETMP_RN(W) ? n : HETMP_RN(W); \
        return HETMP_RFROM(T, HETMP_RI(le##W##_v, suffix##_tu)(HETMP_RTO(T, zero), p, n)); \
    } \
    HETMP_SIMD_FN void _##T##_STORE_N(L *p, size_t n, _##T v) { \
        HETMP_RI(se##W##_v, suffix)(p, HETMP_RTO(T, v), n < HETMP_RN(W) ? n : HETMP_RN(W)); \
    } \
    HETMP_SIMD_FN _##T _##T##_LOAD_STRIDE(const L *p, ptrdiff_t s) { \
        return HETMP_RFROM(T, HETMP_RI(lse##W##_v, suffix)(p, s * (ptrdiff_t)sizeof(L), HETMP_RN(W))); \
    }
HETMP_RALL(HETMP_RMEMORY)
#undef HETMP_RMEMORY

/* Addresses are unsigned distances in bytes: a lane's number becomes one of 64 bits before. */
#define HETMP_OWN_F_GATHER 1
#define HETMP_OWN_F_SCATTER 1
#define HETMP_OWN_VI32_GATHER 1
#define HETMP_OWN_VI32_SCATTER 1
#define HETMP_OWN_VU32_GATHER 1
#define HETMP_OWN_VU32_SCATTER 1
#define HETMP_OWN_VI64_GATHER 1
#define HETMP_OWN_VI64_SCATTER 1
#define HETMP_OWN_VU64_GATHER 1
#define HETMP_OWN_VU64_SCATTER 1
#define HETMP_RFAR32(i) \
    __riscv_vreinterpret_v_i64m2_u64m2(__riscv_vsll_vx_i64m2( \
        __riscv_vsext_vf2_i64m2(HETMP_RTO(VI32, i), HETMP_RN(32)), 2, HETMP_RN(32)))
#define HETMP_RFAR64(i) \
    __riscv_vreinterpret_v_i64m1_u64m1(__riscv_vsll_vx_i64m1(HETMP_RTO(VI64, i), 3, HETMP_RN(64)))
#define HETMP_RGATHER(T, L, W, u, suffix) \
    HETMP_SIMD_FN _##T _##T##_GATHER(const L *p, _VI##W i) { \
        return HETMP_RFROM(T, HETMP_RI(luxei64_v, suffix)(p, HETMP_RFAR##W(i), HETMP_RN(W))); \
    } \
    HETMP_SIMD_FN void _##T##_SCATTER(L *p, _VI##W i, _##T v) { \
        HETMP_RI(soxei64_v, suffix)(p, HETMP_RFAR##W(i), HETMP_RTO(T, v), HETMP_RN(W)); \
    }
HETMP_RFLOATS(HETMP_RGATHER)
HETMP_RGATHER(VI32, int32_t, 32, , i32m1)
HETMP_RGATHER(VU32, uint32_t, 32, u, u32m1)
HETMP_RGATHER(VI64, int64_t, 64, , i64m1)
HETMP_RGATHER(VU64, uint64_t, 64, u, u64m1)
#undef HETMP_RGATHER
#undef HETMP_RFAR32
#undef HETMP_RFAR64

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
#define HETMP_RGET(T, v, n, k, suffix) HETMP_RFROM(T, HETMP_RI(get_v, suffix##x##n##_##suffix)(v, k))
#define HETMP_RSTRUCTS(T, L, W, u, suffix) \
    HETMP_SIMD_FN void _##T##_LOAD2(const L *p, _##T *a, _##T *b) { \
        const hetmp_rv_##T##x2 v = HETMP_RI(lseg2e##W##_v, suffix##x2)(p, HETMP_RN(W)); \
        *a = HETMP_RGET(T, v, 2, 0, suffix); \
        *b = HETMP_RGET(T, v, 2, 1, suffix); \
    } \
    HETMP_SIMD_FN void _##T##_LOAD3(const L *p, _##T *a, _##T *b, _##T *c) { \
        const hetmp_rv_##T##x3 v = HETMP_RI(lseg3e##W##_v, suffix##x3)(p, HETMP_RN(W)); \
        *a = HETMP_RGET(T, v, 3, 0, suffix); \
        *b = HETMP_RGET(T, v, 3, 1, suffix); \
        *c = HETMP_RGET(T, v, 3, 2, suffix); \
    } \
    HETMP_SIMD_FN void _##T##_LOAD4(const L *p, _##T *a, _##T *b, _##T *c, _##T *d) { \
        const hetmp_rv_##T##x4 v = HETMP_RI(lseg4e##W##_v, suffix##x4)(p, HETMP_RN(W)); \
        *a = HETMP_RGET(T, v, 4, 0, suffix); \
        *b = HETMP_RGET(T, v, 4, 1, suffix); \
        *c = HETMP_RGET(T, v, 4, 2, suffix); \
        *d = HETMP_RGET(T, v, 4, 3, suffix); \
    } \
    HETMP_SIMD_FN void _##T##_STORE2(L *p, _##T a, _##T b) { \
        HETMP_RI(sseg2e##W##_v, suffix##x2)(p, HETMP_RI(create_v, suffix##x2)(HETMP_RTO(T, a), HETMP_RTO(T, b)), \
                                           HETMP_RN(W)); \
    } \
    HETMP_SIMD_FN void _##T##_STORE3(L *p, _##T a, _##T b, _##T c) { \
        HETMP_RI(sseg3e##W##_v, suffix##x3)( \
            p, HETMP_RI(create_v, suffix##x3)(HETMP_RTO(T, a), HETMP_RTO(T, b), HETMP_RTO(T, c)), HETMP_RN(W)); \
    } \
    HETMP_SIMD_FN void _##T##_STORE4(L *p, _##T a, _##T b, _##T c, _##T d) { \
        HETMP_RI(sseg4e##W##_v, suffix##x4)( \
            p, HETMP_RI(create_v, suffix##x4)(HETMP_RTO(T, a), HETMP_RTO(T, b), HETMP_RTO(T, c), HETMP_RTO(T, d)), \
            HETMP_RN(W)); \
    }
#define HETMP_RTUPLES(T, C) \
    typedef C##x2_t hetmp_rv_##T##x2; \
    typedef C##x3_t hetmp_rv_##T##x3; \
    typedef C##x4_t hetmp_rv_##T##x4;
HETMP_RTUPLES(VI8, vint8m1)
HETMP_RTUPLES(VU8, vuint8m1)
HETMP_RTUPLES(VI16, vint16m1)
HETMP_RTUPLES(VU16, vuint16m1)
HETMP_RTUPLES(VI32, vint32m1)
HETMP_RTUPLES(VU32, vuint32m1)
HETMP_RTUPLES(VI64, vint64m1)
HETMP_RTUPLES(VU64, vuint64m1)
HETMP_RTUPLES(VF32, vfloat32m1)
HETMP_RTUPLES(VF64, vfloat64m1)
HETMP_RALL(HETMP_RSTRUCTS)
#undef HETMP_RSTRUCTS
#undef HETMP_RTUPLES
#undef HETMP_RGET

/* Lanes with numbers out of range are 0 for VRGATHER; ours count modulo the lanes. */
#define HETMP_OWN_F_PERMUTE 1
#define HETMP_OWN_S_PERMUTE 1
#define HETMP_OWN_U_PERMUTE 1
#define HETMP_OWN_F_BROADCAST 1
#define HETMP_OWN_S_BROADCAST 1
#define HETMP_OWN_U_BROADCAST 1
#define HETMP_OWN_F_SLIDE 1
#define HETMP_OWN_S_SLIDE 1
#define HETMP_OWN_U_SLIDE 1
#define HETMP_OWN_F_COMPRESS 1
#define HETMP_OWN_S_COMPRESS 1
#define HETMP_OWN_U_COMPRESS 1
#define HETMP_OWN_F_EXPAND 1
#define HETMP_OWN_S_EXPAND 1
#define HETMP_OWN_U_EXPAND 1
#define HETMP_RMOVES(T, L, W, sign, suffix) \
    HETMP_SIMD_FN _##T _##T##_PERMUTE(_##T v, _VU##W i) { \
        return HETMP_RFROM(T, HETMP_RI(rgather_vv, suffix)(HETMP_RTO(T, v), HETMP_RTO(VU##W, i & (HETMP_RN(W) - 1)), \
                                                          HETMP_RN(W))); \
    } \
    HETMP_SIMD_FN _##T _##T##_BROADCAST(_##T v, size_t i) { \
        return HETMP_RFROM(T, HETMP_RI(rgather_vx, suffix)(HETMP_RTO(T, v), i % HETMP_RN(W), HETMP_RN(W))); \
    } \
    HETMP_SIMD_FN _##T _##T##_SLIDE(_##T a, _##T b, size_t n) { \
        n = n < HETMP_RN(W) ? n : HETMP_RN(W); \
        return HETMP_RFROM(T, HETMP_RI(slideup_vx, suffix)( \
                                  HETMP_RI(slidedown_vx, suffix)(HETMP_RTO(T, a), n, HETMP_RN(W)), HETMP_RTO(T, b), \
                                  HETMP_RN(W) - n, HETMP_RN(W))); \
    } \
    HETMP_SIMD_FN _##T _##T##_COMPRESS(_VM##W m, _##T v) { \
        const _##T zero = {0}; \
        return HETMP_RFROM(T, HETMP_RI(compress_vm, suffix##_tu)( \
                                  HETMP_RTO(T, zero), HETMP_RTO(T, v), HETMP_RMASK(W, m), HETMP_RN(W))); \
    } \
    HETMP_SIMD_FN _##T _##T##_EXPAND(_VM##W m, _##T v) { \
        const _##T zero = {0}; \
        return HETMP_RFROM(T, HETMP_RI(rgather_vv, suffix##_mu)( \
                                  HETMP_RMASK(W, m), HETMP_RTO(T, zero), HETMP_RTO(T, v), \
                                  HETMP_RI(iota_m, u##W##m1)(HETMP_RMASK(W, m), HETMP_RN(W)), HETMP_RN(W))); \
    }
HETMP_RALL(HETMP_RMOVES)
#undef HETMP_RMOVES

/* Sums wrap, so their order does not matter. Of floats it does. */
#define HETMP_OWN_S_REDUCE_ADD 1
#define HETMP_OWN_U_REDUCE_ADD 1
#define HETMP_OWN_S_REDUCE_MIN 1
#define HETMP_OWN_U_REDUCE_MIN 1
#define HETMP_OWN_S_REDUCE_MAX 1
#define HETMP_OWN_U_REDUCE_MAX 1
#define HETMP_OWN_S_REDUCE_AND 1
#define HETMP_OWN_U_REDUCE_AND 1
#define HETMP_OWN_S_REDUCE_OR 1
#define HETMP_OWN_U_REDUCE_OR 1
#define HETMP_OWN_S_REDUCE_XOR 1
#define HETMP_OWN_U_REDUCE_XOR 1
#define HETMP_RREDUCE(T, op, L, W, name, suffix, from) \
    HETMP_SIMD_FN L _##T##_##op(_##T v) { \
        const _##T first = from; \
        return HETMP_RFROM(T, HETMP_RI(name, suffix##_##suffix)(HETMP_RTO(T, v), HETMP_RTO(T, first), \
                                                                HETMP_RN(W)))[0]; \
    }
#define HETMP_RREDUCES(T, L, W, u, suffix) \
    HETMP_RREDUCE(T, REDUCE_ADD, L, W, redsum_vs, suffix, {0}) \
    HETMP_RREDUCE(T, REDUCE_XOR, L, W, redxor_vs, suffix, {0}) \
    HETMP_RREDUCE(T, REDUCE_MIN, L, W, redmin##u##_vs, suffix, v) \
    HETMP_RREDUCE(T, REDUCE_MAX, L, W, redmax##u##_vs, suffix, v) \
    HETMP_RREDUCE(T, REDUCE_AND, L, W, redand_vs, suffix, v) \
    HETMP_RREDUCE(T, REDUCE_OR, L, W, redor_vs, suffix, v)
HETMP_RINTS(HETMP_RREDUCES)
#undef HETMP_RREDUCE
#undef HETMP_RREDUCES

#define HETMP_OWN_M_ANY 1
#define HETMP_OWN_M_ALL 1
#define HETMP_OWN_M_COUNT 1
#define HETMP_OWN_M_FIRST 1
#define HETMP_RMASKS(W) \
    HETMP_SIMD_FN int _VM##W##_COUNT(_VM##W m) { return (int)HETMP_RI(cpop_m, b##W)(HETMP_RMASK(W, m), HETMP_RN(W)); } \
    HETMP_SIMD_FN int _VM##W##_ANY(_VM##W m) { return HETMP_RI(first_m, b##W)(HETMP_RMASK(W, m), HETMP_RN(W)) >= 0; } \
    HETMP_SIMD_FN int _VM##W##_ALL(_VM##W m) { return _VM##W##_COUNT(m) == HETMP_RN(W); } \
    HETMP_SIMD_FN int _VM##W##_FIRST(_VM##W m) { \
        const long first = HETMP_RI(first_m, b##W)(HETMP_RMASK(W, m), HETMP_RN(W)); \
        return first < 0 ? HETMP_RN(W) : (int)first; \
    }
HETMP_RMASKS(8)
HETMP_RMASKS(16)
HETMP_RMASKS(32)
HETMP_RMASKS(64)
#undef HETMP_RMASKS

/* Conversions of floats give the nearest number that fits; of a NaN the highest: it is made 0 before, or after. */
#define HETMP_RWHOLE(F, T, W, to, suffix) \
    HETMP_SIMD_FN _##T _##F##_TO_##T(_##F v) { \
        return HETMP_RFROM(T, __riscv_vfcvt_rtz_##to##_##suffix(HETMP_RTO(F, v), HETMP_RN(W))) & (_##T)(v == v); \
    }
#define HETMP_RHALF(T, to, suffix) \
    HETMP_SIMD_FN _##T _VF64_TO_##T(_VF64 lo, _VF64 hi) { \
        lo = (_VF64)((_VI64)lo & (_VI64)(lo == lo)); \
        hi = (_VF64)((_VI64)hi & (_VI64)(hi == hi)); \
        return HETMP_RFROM(T, __riscv_vfncvt_rtz_##to##_##suffix(HETMP_RBOTH(VF64, f64, lo, hi), HETMP_RN(32))); \
    }
#define HETMP_RBOTH(T, kind, lo, hi) \
    __riscv_vcreate_v_##kind##m1_##kind##m2(HETMP_RTO(T, lo), HETMP_RTO(T, hi))
#define HETMP_OWN_VF32_TO_VI32 1
#define HETMP_OWN_VF32_TO_VU32 1
#define HETMP_OWN_VF64_TO_VI64 1
#define HETMP_OWN_VF64_TO_VU64 1
#define HETMP_OWN_VF64_TO_VI32 1
#define HETMP_OWN_VF64_TO_VU32 1
HETMP_RWHOLE(VF32, VI32, 32, x_f_v, i32m1)
HETMP_RWHOLE(VF32, VU32, 32, xu_f_v, u32m1)
HETMP_RWHOLE(VF64, VI64, 64, x_f_v, i64m1)
HETMP_RWHOLE(VF64, VU64, 64, xu_f_v, u64m1)
HETMP_RHALF(VI32, x_f_w, i32m1)
HETMP_RHALF(VU32, xu_f_w, u32m1)
#undef HETMP_RWHOLE
#undef HETMP_RHALF

/* Two vectors clipped into one. */
#define HETMP_RCLIP(B, A, W, kind, name, suffix) \
    HETMP_SIMD_FN _##A _##B##_SAT_##A(_##B lo, _##B hi) { \
        return HETMP_RFROM(A, __riscv_v##name##_wx_##suffix(HETMP_RBOTH(B, kind, lo, hi), 0, __RISCV_VXRM_RDN, \
                                                            HETMP_RN(W))); \
    }
#define HETMP_RCLIPS(W, V) \
    HETMP_RCLIP(VI##V, VI##W, W, i##V, nclip, i##W##m1) \
    HETMP_RCLIP(VU##V, VU##W, W, u##V, nclipu, u##W##m1)
#define HETMP_OWN_VI16_SAT_VI8 1
#define HETMP_OWN_VU16_SAT_VU8 1
#define HETMP_OWN_VI32_SAT_VI16 1
#define HETMP_OWN_VU32_SAT_VU16 1
#define HETMP_OWN_VI64_SAT_VI32 1
#define HETMP_OWN_VU64_SAT_VU32 1
HETMP_RCLIPS(8, 16)
HETMP_RCLIPS(16, 32)
HETMP_RCLIPS(32, 64)
#undef HETMP_RCLIPS
#define HETMP_RCLIP_U(B, A, U) \
    HETMP_SIMD_FN _##A _##B##_SAT_##A(_##B lo, _##B hi) { \
        return _##U##_SAT_##A((_##U)(lo & (lo > 0)), (_##U)(hi & (hi > 0))); \
    }
#define HETMP_OWN_VI16_SAT_VU8 1
#define HETMP_OWN_VI32_SAT_VU16 1
#define HETMP_OWN_VI64_SAT_VU32 1
HETMP_RCLIP_U(VI16, VU8, VU16)
HETMP_RCLIP_U(VI32, VU16, VU32)
HETMP_RCLIP_U(VI64, VU32, VU64)
#undef HETMP_RCLIP
#undef HETMP_RCLIP_U
#undef HETMP_RBOTH
#undef HETMP_RSIGNED
#undef HETMP_RUNSIGNED
#undef HETMP_RFLOATS
#undef HETMP_RINTS
#undef HETMP_RALL
#undef HETMP_RN
#undef HETMP_RI
#undef HETMP_RTO
#undef HETMP_RFROM
#undef HETMP_RMASK
#undef HETMP_R1
#undef HETMP_R2
#undef HETMP_R3
