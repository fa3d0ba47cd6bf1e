/* Part of hetmp/simd.h: masks of HETMP_W bits a lane. Not for direct inclusion. */

#define HETMP_T HETMP_SIMD_PASTE(VM, HETMP_R)
#define HETMP_C M

/* TRUE(), FALSE(): all lanes true, all lanes false. */
#if !HETMP_OWN(TRUE)
HETMP_SIMD_FN HETMP_M HETMP_OP(TRUE)(void) {
    const HETMP_M zero = {0};
    return ~zero;
}
#endif
#if !HETMP_OWN(FALSE)
HETMP_SIMD_FN HETMP_M HETMP_OP(FALSE)(void) {
    const HETMP_M zero = {0};
    return zero;
}
#endif

/* AND(a, b), OR(a, b), XOR(a, b), NOT(a), ANDNOT(a, b): lane by lane; ANDNOT is not a, and b. */
#if !HETMP_OWN(AND)
HETMP_SIMD_FN HETMP_M HETMP_OP(AND)(HETMP_M a, HETMP_M b) { return (HETMP_M)(a & b); }
#endif
#if !HETMP_OWN(OR)
HETMP_SIMD_FN HETMP_M HETMP_OP(OR)(HETMP_M a, HETMP_M b) { return (HETMP_M)(a | b); }
#endif
#if !HETMP_OWN(XOR)
HETMP_SIMD_FN HETMP_M HETMP_OP(XOR)(HETMP_M a, HETMP_M b) { return (HETMP_M)(a ^ b); }
#endif
#if !HETMP_OWN(NOT)
HETMP_SIMD_FN HETMP_M HETMP_OP(NOT)(HETMP_M a) { return (HETMP_M)~a; }
#endif
#if !HETMP_OWN(ANDNOT)
HETMP_SIMD_FN HETMP_M HETMP_OP(ANDNOT)(HETMP_M a, HETMP_M b) { return (HETMP_M)(~a & b); }
#endif

/* GET(m, i): 1 where lane i modulo SIZE is true, else 0. */
#if !HETMP_OWN(GET)
HETMP_SIMD_FN int HETMP_OP(GET)(HETMP_M m, size_t i) { return m[i % HETMP_N] != 0; }
#endif

/* FIRST_N(n): true in the lanes below n. */
#if !HETMP_OWN(FIRST_N)
HETMP_SIMD_FN HETMP_M HETMP_OP(FIRST_N)(size_t n) {
    const HETMP_UV lane = {HETMP_SEQ(HETMP_N)(HETMP_AT_SAME, 0)};
    const HETMP_UV zero = {0};
    const HETMP_UV end = zero + (HETMP_UL)(n < HETMP_N ? n : HETMP_N);
    return (HETMP_M)(lane < end);
}
#endif

/* TO_VI(m): the signed vector of that lane width, -1 in true lanes and 0 in false ones.
 * FROM_VI(v): true where the lane is not 0. */
#if !HETMP_OWN(TO_VI)
HETMP_SIMD_FN HETMP_SV HETMP_OP(TO_VI)(HETMP_M m) { return (HETMP_SV)m; }
#endif
#if !HETMP_OWN(FROM_VI)
HETMP_SIMD_FN HETMP_M HETMP_OP(FROM_VI)(HETMP_SV v) {
    const HETMP_SV zero = {0};
    return (HETMP_M)(v != zero);
}
#endif

/* BITS(m): bit i is lane i, for the first 64 lanes. FROM_BITS(b): the reverse; lanes past 63 are false. */
#if !HETMP_OWN(BITS)
HETMP_SIMD_FN uint64_t HETMP_OP(BITS)(HETMP_M m) {
    uint64_t bits = 0;
    for (unsigned i = 0; i < HETMP_N && i < 64; i++)
        bits |= (uint64_t)(m[i] & 1) << i;
    return bits;
}
#endif
#if !HETMP_OWN(FROM_BITS)
HETMP_SIMD_FN HETMP_M HETMP_OP(FROM_BITS)(uint64_t bits) {
    HETMP_M m = {0};
    for (unsigned i = 0; i < HETMP_N && i < 64; i++)
        m[i] = (HETMP_SL) - (HETMP_SL)((bits >> i) & 1);
    return m;
}
#endif

/* ANY(m), ALL(m), NONE(m): 1 if some lane, every lane, no lane is true, else 0. */
#if !HETMP_OWN(ANY)
HETMP_SIMD_FN int HETMP_OP(ANY)(HETMP_M m) {
#if HETMP_FULL
    const _VU64 words = (_VU64)m;
    uint64_t some = 0;
    for (unsigned i = 0; i < HETMP_SIMD_LANES_64; i++)
        some |= words[i];
#else
    HETMP_SL some = 0;
    for (unsigned i = 0; i < HETMP_N; i++)
        some |= m[i];
#endif
    return some != 0;
}
#endif
#if !HETMP_OWN(ALL)
HETMP_SIMD_FN int HETMP_OP(ALL)(HETMP_M m) {
#if HETMP_FULL
    const _VU64 words = (_VU64)m;
    uint64_t every = ~(uint64_t)0;
    for (unsigned i = 0; i < HETMP_SIMD_LANES_64; i++)
        every &= words[i];
    return every == ~(uint64_t)0;
#else
    HETMP_SL every = -1;
    for (unsigned i = 0; i < HETMP_N; i++)
        every &= m[i];
    return every == -1;
#endif
}
#endif
#if !HETMP_OWN(NONE)
HETMP_SIMD_FN int HETMP_OP(NONE)(HETMP_M m) { return !HETMP_OP(ANY)(m); }
#endif

/* COUNT(m): how many lanes are true. FIRST(m): the lowest true lane, or SIZE if none is. */
#if !HETMP_OWN(COUNT)
HETMP_SIMD_FN int HETMP_OP(COUNT)(HETMP_M m) {
    int count = 0;
    for (unsigned i = 0; i < HETMP_N; i++)
        count += m[i] & 1;
    return count;
}
#endif
#if !HETMP_OWN(FIRST)
HETMP_SIMD_FN int HETMP_OP(FIRST)(HETMP_M m) {
    for (unsigned i = 0; i < HETMP_N; i++)
        if (m[i])
            return (int)i;
    return HETMP_N;
}
#endif

#undef HETMP_T
#undef HETMP_C
#undef HETMP_W
#undef HETMP_R
