/* Part of hetmp/simd.h: conversions between types, once per pair of types. A backend that
 * has its own says #define HETMP_OWN_VI8_TO_VI16 1 etc. Not for direct inclusion. */

/* _A_AS_B(v): the same bits as another type. For every pair of different types. */
#define HETMP_AS(A, B) \
    HETMP_SIMD_FN _##B _##A##_AS_##B(_##A v) { return (_##B)v; }
#define HETMP_AS_INTS8(A) HETMP_AS(A, VI8) HETMP_AS(A, VU8)
#define HETMP_AS_INTS16(A) HETMP_AS(A, VI16) HETMP_AS(A, VU16)
#define HETMP_AS_INTS32(A) HETMP_AS(A, VI32) HETMP_AS(A, VU32)
#define HETMP_AS_INTS64(A) HETMP_AS(A, VI64) HETMP_AS(A, VU64)
#if HETMP_SIMD_APART_F32
#define HETMP_AS_FLOATS(A) HETMP_AS(A, VF64)
#else
#define HETMP_AS_FLOATS(A) HETMP_AS(A, VF32) HETMP_AS(A, VF64)
#endif
#define HETMP_AS_BUT8(A) HETMP_AS_INTS16(A) HETMP_AS_INTS32(A) HETMP_AS_INTS64(A) HETMP_AS_FLOATS(A)
#define HETMP_AS_BUT16(A) HETMP_AS_INTS8(A) HETMP_AS_INTS32(A) HETMP_AS_INTS64(A) HETMP_AS_FLOATS(A)
#define HETMP_AS_BUT32(A) HETMP_AS_INTS8(A) HETMP_AS_INTS16(A) HETMP_AS_INTS64(A) HETMP_AS_FLOATS(A)
#define HETMP_AS_BUT64(A) HETMP_AS_INTS8(A) HETMP_AS_INTS16(A) HETMP_AS_INTS32(A) HETMP_AS_FLOATS(A)
#define HETMP_AS_ALL_INTS(A) \
    HETMP_AS_INTS8(A) HETMP_AS_INTS16(A) HETMP_AS_INTS32(A) HETMP_AS_INTS64(A)
HETMP_AS(VI8, VU8) HETMP_AS_BUT8(VI8) HETMP_AS(VU8, VI8) HETMP_AS_BUT8(VU8)
HETMP_AS(VI16, VU16) HETMP_AS_BUT16(VI16) HETMP_AS(VU16, VI16) HETMP_AS_BUT16(VU16)
HETMP_AS(VI32, VU32) HETMP_AS_BUT32(VI32) HETMP_AS(VU32, VI32) HETMP_AS_BUT32(VU32)
HETMP_AS(VI64, VU64) HETMP_AS_BUT64(VI64) HETMP_AS(VU64, VI64) HETMP_AS_BUT64(VU64)
HETMP_AS_ALL_INTS(VF64)
#if HETMP_SIMD_APART_F32
HETMP_AS(VF32, VIF32) HETMP_AS(VF32, VUF32) HETMP_AS(VIF32, VF32) HETMP_AS(VUF32, VF32)
HETMP_AS(VIF32, VUF32) HETMP_AS(VUF32, VIF32)
#else
HETMP_AS(VF32, VF64) HETMP_AS_ALL_INTS(VF32) HETMP_AS(VF64, VF32)
#endif

#define HETMP_AT_UPPER(i) ((i) + HETMP_N)

/* Each lane of v as a lane of TO, from lane `first` on, for as many lanes as r has. */
#define HETMP_EACH(r, v, first, L, lanes) \
    for (unsigned i = 0; i < (lanes); i++) \
        (r)[i + (first)] = (L)(v)[i]

/* _A_TO_B_LO(v), _A_TO_B_HI(v): the lower, the upper half of the lanes of A, each in a lane
 * of B of twice the width; exact. */
#if HETMP_SIMD_OLD
#define HETMP_WIDEN(A, B, HALF) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { \
        _##B r = {0}; \
        for (unsigned i = 0; i < HETMP_N; i++) \
            r[i] = v[i]; \
        return r; \
    } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { \
        _##B r = {0}; \
        for (unsigned i = 0; i < HETMP_N; i++) \
            r[i] = v[HETMP_AT_UPPER(i)]; \
        return r; \
    }
#else
#define HETMP_WIDEN(A, B, HALF) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { \
        return __builtin_convertvector( \
            (HALF)__builtin_shufflevector(v, v, HETMP_SEQ(HETMP_N)(HETMP_AT_SAME, 0)), _##B); \
    } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { \
        return __builtin_convertvector( \
            (HALF)__builtin_shufflevector(v, v, HETMP_SEQ(HETMP_N)(HETMP_AT_UPPER, 0)), _##B); \
    }
#endif

/* _B_TO_A(lo, hi): integers: the low half of the bits of each lane; lanes of lo first.
 * VF64 to VF32: rounded. */
#define HETMP_NARROW(B, A) \
    HETMP_SIMD_FN _##A _##B##_TO_##A(_##B lo, _##B hi) { \
        return _##A##_EVEN((_##A)lo, (_##A)hi); \
    }

/* _B_SAT_A(lo, hi): the nearest number that fits into a lane of A. */
#define HETMP_SATURATE_S(B, A, LEAST, MOST) \
    HETMP_SIMD_FN _##A _##B##_SAT_##A(_##B lo, _##B hi) { \
        const _##B least = _##B##_SET1(LEAST), most = _##B##_SET1(MOST); \
        lo = _##B##_MIN(_##B##_MAX(lo, least), most); \
        hi = _##B##_MIN(_##B##_MAX(hi, least), most); \
        return _##A##_EVEN((_##A)lo, (_##A)hi); \
    }
#define HETMP_SATURATE_U(B, A, MOST) \
    HETMP_SIMD_FN _##A _##B##_SAT_##A(_##B lo, _##B hi) { \
        const _##B most = _##B##_SET1(MOST); \
        return _##A##_EVEN((_##A)_##B##_MIN(lo, most), (_##A)_##B##_MIN(hi, most)); \
    }

#define HETMP_W 16
#define HETMP_R 16
#ifndef HETMP_OWN_VI8_TO_VI16
HETMP_WIDEN(VI8, VI16, hetmp_half_VI8)
#endif
#ifndef HETMP_OWN_VU8_TO_VU16
HETMP_WIDEN(VU8, VU16, hetmp_half_VU8)
#endif
#undef HETMP_W
#undef HETMP_R
#ifndef HETMP_OWN_VI16_TO_VI8
HETMP_NARROW(VI16, VI8)
#endif
#ifndef HETMP_OWN_VU16_TO_VU8
HETMP_NARROW(VU16, VU8)
#endif
#ifndef HETMP_OWN_VI16_SAT_VI8
HETMP_SATURATE_S(VI16, VI8, INT8_MIN, INT8_MAX)
#endif
#ifndef HETMP_OWN_VI16_SAT_VU8
HETMP_SATURATE_S(VI16, VU8, 0, UINT8_MAX)
#endif
#ifndef HETMP_OWN_VU16_SAT_VU8
HETMP_SATURATE_U(VU16, VU8, UINT8_MAX)
#endif

#define HETMP_W 32
#define HETMP_R 32
#ifndef HETMP_OWN_VI16_TO_VI32
HETMP_WIDEN(VI16, VI32, hetmp_half_VI16)
#endif
#ifndef HETMP_OWN_VU16_TO_VU32
HETMP_WIDEN(VU16, VU32, hetmp_half_VU16)
#endif
#undef HETMP_W
#undef HETMP_R
#ifndef HETMP_OWN_VI32_TO_VI16
HETMP_NARROW(VI32, VI16)
#endif
#ifndef HETMP_OWN_VU32_TO_VU16
HETMP_NARROW(VU32, VU16)
#endif
#ifndef HETMP_OWN_VI32_SAT_VI16
HETMP_SATURATE_S(VI32, VI16, INT16_MIN, INT16_MAX)
#endif
#ifndef HETMP_OWN_VI32_SAT_VU16
HETMP_SATURATE_S(VI32, VU16, 0, UINT16_MAX)
#endif
#ifndef HETMP_OWN_VU32_SAT_VU16
HETMP_SATURATE_U(VU32, VU16, UINT16_MAX)
#endif

#define HETMP_W 64
#define HETMP_R 64
#ifndef HETMP_OWN_VI32_TO_VI64
HETMP_WIDEN(VI32, VI64, hetmp_half_VI32)
#endif
#ifndef HETMP_OWN_VU32_TO_VU64
HETMP_WIDEN(VU32, VU64, hetmp_half_VU32)
#endif
#ifndef HETMP_OWN_VF32_TO_VF64
#if !HETMP_SIMD_APART_F32
HETMP_WIDEN(VF32, VF64, hetmp_half_VF32)
#endif
#endif
#ifndef HETMP_OWN_VI32_TO_VF64
HETMP_WIDEN(VI32, VF64, hetmp_half_VI32)
#endif
#ifndef HETMP_OWN_VU32_TO_VF64
HETMP_WIDEN(VU32, VF64, hetmp_half_VU32)
#endif
#undef HETMP_W
#undef HETMP_R
#ifndef HETMP_OWN_VI64_TO_VI32
HETMP_NARROW(VI64, VI32)
#endif
#ifndef HETMP_OWN_VU64_TO_VU32
HETMP_NARROW(VU64, VU32)
#endif
#ifndef HETMP_OWN_VI64_SAT_VI32
HETMP_SATURATE_S(VI64, VI32, INT32_MIN, INT32_MAX)
#endif
#ifndef HETMP_OWN_VI64_SAT_VU32
HETMP_SATURATE_S(VI64, VU32, 0, UINT32_MAX)
#endif
#ifndef HETMP_OWN_VU64_SAT_VU32
HETMP_SATURATE_U(VU64, VU32, UINT32_MAX)
#endif
#ifndef HETMP_OWN_VF64_TO_VF32
#if HETMP_SIMD_APART_F32
/* _VF64_TO_VF32(v), _VF32_TO_VF64(v): on SW26010, where both have four lanes, one vector from one. */
HETMP_SIMD_FN _VF32 _VF64_TO_VF32(_VF64 v) {
    _VF32 r = {0};
    HETMP_EACH(r, v, 0, float, HETMP_SIMD_LANES_64);
    return r;
}
HETMP_SIMD_FN _VF64 _VF32_TO_VF64(_VF32 v) {
    _VF64 r = {0};
    HETMP_EACH(r, v, 0, double, HETMP_SIMD_LANES_64);
    return r;
}
#elif HETMP_SIMD_OLD
HETMP_SIMD_FN _VF32 _VF64_TO_VF32(_VF64 lo, _VF64 hi) {
    _VF32 r = {0};
    HETMP_EACH(r, lo, 0, float, HETMP_SIMD_LANES_64);
    HETMP_EACH(r, hi, HETMP_SIMD_LANES_64, float, HETMP_SIMD_LANES_64);
    return r;
}
#else
HETMP_SIMD_FN _VF32 _VF64_TO_VF32(_VF64 lo, _VF64 hi) {
    const hetmp_half_VF32 l = __builtin_convertvector(lo, hetmp_half_VF32);
    const hetmp_half_VF32 h = __builtin_convertvector(hi, hetmp_half_VF32);
    return __builtin_shufflevector(l, h, HETMP_SEQ(HETMP_SIMD_LANES_32)(HETMP_AT_SAME, 0));
}
#endif
#endif

/* _VI32_TO_VF32(v), _VU32_TO_VF32, _VI64_TO_VF64, _VU64_TO_VF64: rounded. */
#if HETMP_SIMD_OLD
#define HETMP_CONVERT(A, B, L, lanes) \
    HETMP_SIMD_FN _##B hetmp_##A##_to_##B(_##A v) { \
        _##B r = {0}; \
        HETMP_EACH(r, v, 0, L, lanes); \
        return r; \
    }
#else
#define HETMP_CONVERT(A, B, L, lanes) \
    HETMP_SIMD_FN _##B hetmp_##A##_to_##B(_##A v) { return __builtin_convertvector(v, _##B); }
#endif
/* The integers of _VF32's shape. */
#if HETMP_SIMD_APART_F32
#define HETMP_OF_F32(X) X(VIF32, VUF32, VMF32)
#else
#define HETMP_OF_F32(X) X(VI32, VU32, VM32)
#endif
#define HETMP_CONVERT_F32(S, U, M) \
    HETMP_CONVERT(S, VF32, float, HETMP_SIMD_LANES_F32) \
    HETMP_CONVERT(U, VF32, float, HETMP_SIMD_LANES_F32) \
    HETMP_CONVERT(VF32, S, int32_t, HETMP_SIMD_LANES_F32) \
    HETMP_CONVERT(VF32, U, uint32_t, HETMP_SIMD_LANES_F32)
HETMP_OF_F32(HETMP_CONVERT_F32)
HETMP_CONVERT(VI64, VF64, double, HETMP_SIMD_LANES_64)
HETMP_CONVERT(VU64, VF64, double, HETMP_SIMD_LANES_64)
HETMP_CONVERT(VF64, VI64, int64_t, HETMP_SIMD_LANES_64)
HETMP_CONVERT(VF64, VU64, uint64_t, HETMP_SIMD_LANES_64)
#define HETMP_ROUNDED(A, B) \
    HETMP_SIMD_FN _##B _##A##_TO_##B(_##A v) { return hetmp_##A##_to_##B(v); }
#define HETMP_ROUNDED_S(S, U, M) HETMP_ROUNDED(S, VF32)
#define HETMP_ROUNDED_U(S, U, M) HETMP_ROUNDED(U, VF32)
#ifndef HETMP_OWN_VI32_TO_VF32
HETMP_OF_F32(HETMP_ROUNDED_S)
#endif
#ifndef HETMP_OWN_VU32_TO_VF32
HETMP_OF_F32(HETMP_ROUNDED_U)
#endif
#ifndef HETMP_OWN_VI64_TO_VF64
HETMP_ROUNDED(VI64, VF64)
#endif
#ifndef HETMP_OWN_VU64_TO_VF64
HETMP_ROUNDED(VU64, VF64)
#endif

/* _VF32_TO_VI32(v), _VF32_TO_VU32, _VF64_TO_VI64, _VF64_TO_VU64: towards 0; where that does
 * not fit, the nearest number that does; a NaN becomes 0. */
#define HETMP_F_TO_S(F, S, M, LIMIT, LEAST, MOST) \
    HETMP_SIMD_FN _##S _##F##_TO_##S(_##F v) { \
        const _##F limit = _##F##_SET1(LIMIT); \
        const _##M over = _##F##_GE(v, limit); \
        const _##M fits = _##M##_ANDNOT(over, _##F##_GE(v, -limit)); \
        const _##S r = hetmp_##F##_to_##S(_##F##_SELECT(fits, v, _##F##_ZERO())); \
        const _##S low = _##S##_SELECT(_##F##_LT(v, -limit), _##S##_SET1(LEAST), r); \
        return _##S##_SELECT(over, _##S##_SET1(MOST), low); \
    }
#define HETMP_F_TO_U(F, U, M, LIMIT, MOST) \
    HETMP_SIMD_FN _##U _##F##_TO_##U(_##F v) { \
        const _##M over = _##F##_GE(v, _##F##_SET1(LIMIT)); \
        const _##M fits = _##M##_ANDNOT(over, _##F##_GE(v, _##F##_ZERO())); \
        const _##U r = hetmp_##F##_to_##U(_##F##_SELECT(fits, v, _##F##_ZERO())); \
        return _##U##_SELECT(over, _##U##_SET1(MOST), r); \
    }
#define HETMP_F32_TO_S(S, U, M) HETMP_F_TO_S(VF32, S, M, 0x1p31f, INT32_MIN, INT32_MAX)
#define HETMP_F32_TO_U(S, U, M) HETMP_F_TO_U(VF32, U, M, 0x1p32f, UINT32_MAX)
#ifndef HETMP_OWN_VF32_TO_VI32
HETMP_OF_F32(HETMP_F32_TO_S)
#endif
#ifndef HETMP_OWN_VF32_TO_VU32
HETMP_OF_F32(HETMP_F32_TO_U)
#endif
#ifndef HETMP_OWN_VF64_TO_VI64
HETMP_F_TO_S(VF64, VI64, VM64, 0x1p63, INT64_MIN, INT64_MAX)
#endif
#ifndef HETMP_OWN_VF64_TO_VU64
HETMP_F_TO_U(VF64, VU64, VM64, 0x1p64, UINT64_MAX)
#endif

/* _VF64_TO_VI32(lo, hi), _VF64_TO_VU32(lo, hi): likewise, into lanes of half the width. */
#define HETMP_F64_WITHIN(S, LEAST, MOST) \
    HETMP_SIMD_FN _VF64 hetmp_VF64_within_##S(_VF64 v) { \
        /* MAX gives its second operand for a NaN, so NaNs are made 0 first. */ \
        v = _VF64_SELECT(_VF64_ISNAN(v), _VF64_ZERO(), v); \
        return _VF64_MIN(_VF64_MAX(v, _VF64_SET1(LEAST)), _VF64_SET1(MOST)); \
    }
#if HETMP_SIMD_OLD
#define HETMP_F64_TO_HALF(S, HALF, L, LEAST, MOST) \
    HETMP_F64_WITHIN(S, LEAST, MOST) \
    HETMP_SIMD_FN _##S _VF64_TO_##S(_VF64 lo, _VF64 hi) { \
        _##S r = {0}; \
        lo = hetmp_VF64_within_##S(lo); \
        hi = hetmp_VF64_within_##S(hi); \
        HETMP_EACH(r, lo, 0, L, HETMP_SIMD_LANES_64); \
        HETMP_EACH(r, hi, HETMP_SIMD_LANES_64, L, HETMP_SIMD_LANES_64); \
        return r; \
    }
#else
#define HETMP_F64_TO_HALF(S, HALF, L, LEAST, MOST) \
    HETMP_F64_WITHIN(S, LEAST, MOST) \
    HETMP_SIMD_FN _##S _VF64_TO_##S(_VF64 lo, _VF64 hi) { \
        const HALF l = __builtin_convertvector(hetmp_VF64_within_##S(lo), HALF); \
        const HALF h = __builtin_convertvector(hetmp_VF64_within_##S(hi), HALF); \
        return __builtin_shufflevector(l, h, HETMP_SEQ(HETMP_SIMD_LANES_32)(HETMP_AT_SAME, 0)); \
    }
#endif
#ifndef HETMP_OWN_VF64_TO_VI32
HETMP_F64_TO_HALF(VI32, hetmp_half_VI32, int32_t, INT32_MIN, INT32_MAX)
#endif
#ifndef HETMP_OWN_VF64_TO_VU32
HETMP_F64_TO_HALF(VU32, hetmp_half_VU32, uint32_t, 0, UINT32_MAX)
#endif

#undef HETMP_AS
#undef HETMP_AS_INTS8
#undef HETMP_AS_INTS16
#undef HETMP_AS_INTS32
#undef HETMP_AS_INTS64
#undef HETMP_AS_FLOATS
#undef HETMP_AS_BUT8
#undef HETMP_AS_BUT16
#undef HETMP_AS_BUT32
#undef HETMP_AS_BUT64
#undef HETMP_AS_ALL_INTS
#undef HETMP_AT_UPPER
#undef HETMP_WIDEN
#undef HETMP_NARROW
#undef HETMP_SATURATE_S
#undef HETMP_SATURATE_U
#undef HETMP_F_TO_S
#undef HETMP_F_TO_U
#undef HETMP_F64_TO_HALF
#undef HETMP_EACH
#undef HETMP_CONVERT
#undef HETMP_CONVERT_F32
#undef HETMP_OF_F32
#undef HETMP_ROUNDED
#undef HETMP_ROUNDED_S
#undef HETMP_ROUNDED_U
#undef HETMP_F32_TO_S
#undef HETMP_F32_TO_U
#undef HETMP_F64_WITHIN
