/* Part of hetmp/simd.h: what floating-point lanes have. Not for direct inclusion. */

#if HETMP_W == 32
#define HETMP_WHOLE 0x1p23f /* from here on every number is an integer */
#else
#define HETMP_WHOLE 0x1p52
#endif
#define HETMP_SIGN ((HETMP_UL)1 << (HETMP_W - 1))

/* ADD(a, b) SUB MUL DIV: as IEEE 754. */
#if !HETMP_OWN(ADD)
HETMP_SIMD_FN HETMP_V HETMP_OP(ADD)(HETMP_V a, HETMP_V b) { return a + b; }
#endif
#if !HETMP_OWN(SUB)
HETMP_SIMD_FN HETMP_V HETMP_OP(SUB)(HETMP_V a, HETMP_V b) { return a - b; }
#endif
#if !HETMP_OWN(MUL)
HETMP_SIMD_FN HETMP_V HETMP_OP(MUL)(HETMP_V a, HETMP_V b) { return a * b; }
#endif
#if !HETMP_OWN(DIV)
HETMP_SIMD_FN HETMP_V HETMP_OP(DIV)(HETMP_V a, HETMP_V b) { return a / b; }
#endif

/* NEG(a), ABS(a), COPYSIGN(a, b): the sign bit inverted, cleared, taken from b; of NaNs and
 * zeroes, too. */
#if !HETMP_OWN(NEG)
HETMP_SIMD_FN HETMP_V HETMP_OP(NEG)(HETMP_V a) { return (HETMP_V)((HETMP_UV)a ^ HETMP_SIGN); }
#endif
#if !HETMP_OWN(ABS)
HETMP_SIMD_FN HETMP_V HETMP_OP(ABS)(HETMP_V a) {
    return (HETMP_V)((HETMP_UV)a & (HETMP_UL)(HETMP_SIGN - 1));
}
#endif
#if !HETMP_OWN(COPYSIGN)
HETMP_SIMD_FN HETMP_V HETMP_OP(COPYSIGN)(HETMP_V a, HETMP_V b) {
    return (HETMP_V)(((HETMP_UV)a & (HETMP_UL)(HETMP_SIGN - 1)) | ((HETMP_UV)b & HETMP_SIGN));
}
#endif

/* FMA(a, b, c) FMS FNMA FNMS: a * b + c, a * b - c, -(a * b) + c, -(a * b) - c, rounded once.
 * Where HETMP_SIMD_FAST_FMA is 0 they call fma of the C library (-lm), lane by lane. */
#if HETMP_W == 32
#define HETMP_FMA1 __builtin_fmaf
#else
#define HETMP_FMA1 __builtin_fma
#endif
#if !HETMP_OWN(FMA)
HETMP_SIMD_FN HETMP_V HETMP_OP(FMA)(HETMP_V a, HETMP_V b, HETMP_V c) {
    HETMP_V r = {0};
    for (unsigned i = 0; i < HETMP_N; i++)
        r[i] = HETMP_FMA1(a[i], b[i], c[i]);
    return r;
}
#endif
#if !HETMP_OWN(FMS)
HETMP_SIMD_FN HETMP_V HETMP_OP(FMS)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_OP(FMA)(a, b, HETMP_OP(NEG)(c));
}
#endif
#if !HETMP_OWN(FNMA)
HETMP_SIMD_FN HETMP_V HETMP_OP(FNMA)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_OP(FMA)(HETMP_OP(NEG)(a), b, c);
}
#endif
#if !HETMP_OWN(FNMS)
HETMP_SIMD_FN HETMP_V HETMP_OP(FNMS)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_OP(FMA)(HETMP_OP(NEG)(a), b, HETMP_OP(NEG)(c));
}
#endif
#undef HETMP_FMA1

/* MULADD(a, b, c) MULSUB NMULADD NMULSUB: the same, as fast as the target can: rounded once
 * where HETMP_SIMD_FAST_FMA is 1, else twice. */
#if HETMP_SIMD_FAST_FMA
#define HETMP_MULADD_(fused, twice) fused
#else
#define HETMP_MULADD_(fused, twice) twice
#endif
#if !HETMP_OWN(MULADD)
HETMP_SIMD_FN HETMP_V HETMP_OP(MULADD)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_MULADD_(HETMP_OP(FMA)(a, b, c), a * b + c);
}
#endif
#if !HETMP_OWN(MULSUB)
HETMP_SIMD_FN HETMP_V HETMP_OP(MULSUB)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_MULADD_(HETMP_OP(FMS)(a, b, c), a * b - c);
}
#endif
#if !HETMP_OWN(NMULADD)
HETMP_SIMD_FN HETMP_V HETMP_OP(NMULADD)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_MULADD_(HETMP_OP(FNMA)(a, b, c), HETMP_OP(NEG)(a) * b + c);
}
#endif
#if !HETMP_OWN(NMULSUB)
HETMP_SIMD_FN HETMP_V HETMP_OP(NMULSUB)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_MULADD_(HETMP_OP(FNMS)(a, b, c), HETMP_OP(NEG)(a) * b - c);
}
#endif
#undef HETMP_MULADD_

/* ISNAN(a): a mask. */
#if !HETMP_OWN(ISNAN)
HETMP_SIMD_FN HETMP_M HETMP_OP(ISNAN)(HETMP_V a) { return HETMP_OP(NE)(a, a); }
#endif

/* MIN(a, b): a < b ? a : b. MAX(a, b): a > b ? a : b. So b if either is a NaN, or both are zeroes. */
#if !HETMP_OWN(MIN)
HETMP_SIMD_FN HETMP_V HETMP_OP(MIN)(HETMP_V a, HETMP_V b) {
    return HETMP_OP(SELECT)(HETMP_OP(LT)(a, b), a, b);
}
#endif
#if !HETMP_OWN(MAX)
HETMP_SIMD_FN HETMP_V HETMP_OP(MAX)(HETMP_V a, HETMP_V b) {
    return HETMP_OP(SELECT)(HETMP_OP(GT)(a, b), a, b);
}
#endif

/* MINNUM(a, b) MAXNUM: minimumNumber and maximumNumber of IEEE 754-2019: the number if one is
 * a NaN, quiet or signalling, a NaN if both are; -0 is less than 0. */
#if !HETMP_OWN(MINNUM)
HETMP_SIMD_FN HETMP_V HETMP_OP(MINNUM)(HETMP_V a, HETMP_V b) {
    /* Of equal numbers only zeroes can differ in bits, and then in the sign alone. */
    const HETMP_V equal = HETMP_OP(SELECT)(HETMP_OP(EQ)(a, b), HETMP_OP(OR)(a, b), b);
    const HETMP_V less = HETMP_OP(SELECT)(HETMP_OP(LT)(a, b), a, equal);
    return HETMP_OP(SELECT)(HETMP_OP(ISNAN)(b), a, less);
}
#endif
#if !HETMP_OWN(MAXNUM)
HETMP_SIMD_FN HETMP_V HETMP_OP(MAXNUM)(HETMP_V a, HETMP_V b) {
    const HETMP_V equal = HETMP_OP(SELECT)(HETMP_OP(EQ)(a, b), HETMP_OP(AND)(a, b), b);
    const HETMP_V more = HETMP_OP(SELECT)(HETMP_OP(GT)(a, b), a, equal);
    return HETMP_OP(SELECT)(HETMP_OP(ISNAN)(b), a, more);
}
#endif

/* ROUND(a) FLOOR CEIL TRUNC: to the nearest integer (ties to even), down, up, towards 0. The
 * sign bit stays, so ROUND(-0.2) is -0; infinities stay. */
#if !HETMP_OWN(ROUND)
HETMP_SIMD_FN HETMP_V HETMP_OP(ROUND)(HETMP_V a) {
    const HETMP_V size = HETMP_OP(ABS)(a);
    const HETMP_V whole = HETMP_OP(SET1)(HETMP_WHOLE);
    /* Adding the first number without a fraction rounds the fraction off. */
    const HETMP_V near = HETMP_OP(COPYSIGN)((size + whole) - whole, a);
    return HETMP_OP(SELECT)(HETMP_OP(LT)(size, whole), near, a);
}
#endif
#if !HETMP_OWN(FLOOR)
HETMP_SIMD_FN HETMP_V HETMP_OP(FLOOR)(HETMP_V a) {
    const HETMP_V near = HETMP_OP(ROUND)(a);
    const HETMP_V one = HETMP_OP(SET1)(1);
    return HETMP_OP(SELECT)(HETMP_OP(GT)(near, a), near - one, near);
}
#endif
#if !HETMP_OWN(CEIL)
HETMP_SIMD_FN HETMP_V HETMP_OP(CEIL)(HETMP_V a) {
    const HETMP_V near = HETMP_OP(ROUND)(a);
    const HETMP_V one = HETMP_OP(SET1)(1);
    return HETMP_OP(COPYSIGN)(HETMP_OP(SELECT)(HETMP_OP(LT)(near, a), near + one, near), a);
}
#endif
#if !HETMP_OWN(TRUNC)
HETMP_SIMD_FN HETMP_V HETMP_OP(TRUNC)(HETMP_V a) {
    return HETMP_OP(COPYSIGN)(HETMP_OP(FLOOR)(HETMP_OP(ABS)(a)), a);
}
#endif

/* SQRT(a): correctly rounded; of negative numbers a NaN, of -0 itself. */
#if !HETMP_OWN(SQRT)
HETMP_SIMD_FN HETMP_V HETMP_OP(SQRT)(HETMP_V a) {
    /* sqrt of the compiler could call the C library for the sake of errno. */
#if defined(__SSE2__) && HETMP_W == 32
    __m128 *part = (__m128 *)&a;
    for (unsigned i = 0; i < HETMP_SIMD_BYTES / 16; i++)
        part[i] = _mm_sqrt_ps(part[i]);
#elif defined(__SSE2__)
    __m128d *part = (__m128d *)&a;
    for (unsigned i = 0; i < HETMP_SIMD_BYTES / 16; i++)
        part[i] = _mm_sqrt_pd(part[i]);
#elif defined(__aarch64__) && HETMP_W == 32
    for (unsigned i = 0; i < HETMP_N; i++)
        a[i] = vget_lane_f32(vsqrt_f32(vdup_n_f32(a[i])), 0);
#elif defined(__aarch64__)
    for (unsigned i = 0; i < HETMP_N; i++)
        a[i] = vget_lane_f64(vsqrt_f64(vdup_n_f64(a[i])), 0);
#elif HETMP_W == 32
    for (unsigned i = 0; i < HETMP_N; i++)
        a[i] = __builtin_sqrtf(a[i]);
#else
    for (unsigned i = 0; i < HETMP_N; i++)
        a[i] = __builtin_sqrt(a[i]);
#endif
    return a;
}
#endif

/* RCP(a): 1 / a. RSQRT(a): 1 / SQRT(a), two roundings. */
#if !HETMP_OWN(RCP)
HETMP_SIMD_FN HETMP_V HETMP_OP(RCP)(HETMP_V a) { return HETMP_OP(SET1)(1) / a; }
#endif
#if !HETMP_OWN(RSQRT)
HETMP_SIMD_FN HETMP_V HETMP_OP(RSQRT)(HETMP_V a) { return HETMP_OP(SET1)(1) / HETMP_OP(SQRT)(a); }
#endif

/* RCP_EST(a) RSQRT_EST: the same to 1 part in 128 at least, as fast as the target can, for
 * numbers (RSQRT_EST: positive ones) whose result is no denormal and that are none themselves;
 * of others, and in the bits past that, unspecified. */
#if !HETMP_OWN(RCP_EST)
HETMP_SIMD_FN HETMP_V HETMP_OP(RCP_EST)(HETMP_V a) { return HETMP_OP(RCP)(a); }
#endif
#if !HETMP_OWN(RSQRT_EST)
HETMP_SIMD_FN HETMP_V HETMP_OP(RSQRT_EST)(HETMP_V a) { return HETMP_OP(RSQRT)(a); }
#endif

#undef HETMP_WHOLE
#undef HETMP_SIGN
