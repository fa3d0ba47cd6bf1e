/* Part of hetmp/simd.h: what integer lanes have. Not for direct inclusion. */

#define HETMP_IS_SIGNED (HETMP_SIMD_PASTE(HETMP_CLASS_, HETMP_C) == HETMP_CLASS_S)

/* ADD(a, b) SUB MUL, NEG(a): modulo 2 to the lane width. */
#if !HETMP_OWN(ADD)
HETMP_SIMD_FN HETMP_V HETMP_OP(ADD)(HETMP_V a, HETMP_V b) {
    return (HETMP_V)((HETMP_UV)a + (HETMP_UV)b);
}
#endif
#if !HETMP_OWN(SUB)
HETMP_SIMD_FN HETMP_V HETMP_OP(SUB)(HETMP_V a, HETMP_V b) {
    return (HETMP_V)((HETMP_UV)a - (HETMP_UV)b);
}
#endif
#if !HETMP_OWN(MUL)
HETMP_SIMD_FN HETMP_V HETMP_OP(MUL)(HETMP_V a, HETMP_V b) {
    return (HETMP_V)((HETMP_UV)a * (HETMP_UV)b);
}
#endif
#if !HETMP_OWN(NEG)
HETMP_SIMD_FN HETMP_V HETMP_OP(NEG)(HETMP_V a) {
    const HETMP_UV zero = {0};
    return (HETMP_V)(zero - (HETMP_UV)a);
}
#endif

/* MULADD(a, b, c), MULSUB, NMULADD, NMULSUB: a * b + c, a * b - c, -(a * b) + c, -(a * b) - c,
 * modulo 2 to the lane width. */
#if !HETMP_OWN(MULADD)
HETMP_SIMD_FN HETMP_V HETMP_OP(MULADD)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_OP(ADD)(HETMP_OP(MUL)(a, b), c);
}
#endif
#if !HETMP_OWN(MULSUB)
HETMP_SIMD_FN HETMP_V HETMP_OP(MULSUB)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_OP(SUB)(HETMP_OP(MUL)(a, b), c);
}
#endif
#if !HETMP_OWN(NMULADD)
HETMP_SIMD_FN HETMP_V HETMP_OP(NMULADD)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_OP(SUB)(c, HETMP_OP(MUL)(a, b));
}
#endif
#if !HETMP_OWN(NMULSUB)
HETMP_SIMD_FN HETMP_V HETMP_OP(NMULSUB)(HETMP_V a, HETMP_V b, HETMP_V c) {
    return HETMP_OP(NEG)(HETMP_OP(MULADD)(a, b, c));
}
#endif

/* INC(v, m): 1 more in the lanes where m is true. */
#if !HETMP_OWN(INC)
HETMP_SIMD_FN HETMP_V HETMP_OP(INC)(HETMP_V v, HETMP_M m) {
    return (HETMP_V)((HETMP_UV)v - (HETMP_UV)HETMP_MOP(TO_VI)(m));
}
#endif

/* MULHI(a, b): the upper half of the product of twice the lane width. */
#if !HETMP_OWN(MULHI)
#if HETMP_W == 64 && !defined(__SIZEOF_INT128__)
/* Without 128-bit numbers: four products of halves. A negative factor x counts as x + 2^64, so
 * the other factor is taken off again. */
HETMP_SIMD_FN HETMP_L HETMP_SIMD_PASTE(hetmp_mulhi_, HETMP_T)(HETMP_L a, HETMP_L b) {
    const uint64_t x = (uint64_t)a, y = (uint64_t)b, low = 0xffffffffu;
    const uint64_t inner = (x & low) * (y & low), left = (x >> 32) * (y & low);
    const uint64_t right = (x & low) * (y >> 32), outer = (x >> 32) * (y >> 32);
    const uint64_t carry = ((inner >> 32) + (left & low) + (right & low)) >> 32;
    uint64_t high = outer + (left >> 32) + (right >> 32) + carry;
#if HETMP_IS_SIGNED
    high -= (a < 0 ? y : 0) + (b < 0 ? x : 0);
#endif
    return (HETMP_L)high;
}
#endif
HETMP_SIMD_FN HETMP_V HETMP_OP(MULHI)(HETMP_V a, HETMP_V b) {
    HETMP_V r = {0};
    for (unsigned i = 0; i < HETMP_N; i++) {
#if HETMP_W == 64 && !defined(__SIZEOF_INT128__)
        r[i] = HETMP_SIMD_PASTE(hetmp_mulhi_, HETMP_T)(a[i], b[i]);
#elif HETMP_W == 64 && HETMP_IS_SIGNED
        r[i] = (HETMP_L)(((hetmp_i128)a[i] * b[i]) >> 64);
#elif HETMP_W == 64
        r[i] = (HETMP_L)(((hetmp_u128)a[i] * b[i]) >> 64);
#elif HETMP_IS_SIGNED
        r[i] = (HETMP_L)(((int64_t)a[i] * b[i]) >> HETMP_W);
#else
        r[i] = (HETMP_L)(((uint64_t)a[i] * b[i]) >> HETMP_W);
#endif
    }
    return r;
}
#endif

/* DIV(a, b): the quotient towards 0; x / 0 is 0, and the lowest number / -1 is itself.
 * REM(a, b): a - DIV(a, b) * b; so x modulo 0 is x. */
#if !HETMP_OWN(DIV)
HETMP_SIMD_FN HETMP_V HETMP_OP(DIV)(HETMP_V a, HETMP_V b) {
    HETMP_V r = {0};
    for (unsigned i = 0; i < HETMP_N; i++) {
#if HETMP_IS_SIGNED
        /* Division by -1 traps for the lowest number; 0 - a does not. */
        r[i] = b[i] == 0    ? (HETMP_L)0
               : b[i] == -1 ? (HETMP_L)(0 - (HETMP_UL)a[i])
                            : (HETMP_L)(a[i] / b[i]);
#else
        r[i] = b[i] == 0 ? (HETMP_L)0 : (HETMP_L)(a[i] / b[i]);
#endif
    }
    return r;
}
#endif
#if !HETMP_OWN(REM)
HETMP_SIMD_FN HETMP_V HETMP_OP(REM)(HETMP_V a, HETMP_V b) {
    return HETMP_OP(SUB)(a, HETMP_OP(MUL)(HETMP_OP(DIV)(a, b), b));
}
#endif

/* MIN(a, b) MAX: the lesser, the greater. */
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

/* ADDS(a, b) SUBS: sum and difference; where it does not fit, the nearest number that does. */
#if !HETMP_OWN(ADDS)
HETMP_SIMD_FN HETMP_V HETMP_OP(ADDS)(HETMP_V a, HETMP_V b) {
    const HETMP_V sum = HETMP_OP(ADD)(a, b);
#if HETMP_IS_SIGNED
    /* Overflow: the operands' signs agree and the sum's differs. The limit has a's sign. */
    const HETMP_UV limit = ((HETMP_UV)a >> (HETMP_W - 1)) + (HETMP_UL)(((HETMP_UL)-1) >> 1);
    const HETMP_SV over = ~(a ^ b) & (a ^ sum);
    const HETMP_SV zero = {0};
    return (HETMP_V)(((HETMP_UV)(over < zero) & (limit ^ (HETMP_UV)sum)) ^ (HETMP_UV)sum);
#else
    return sum | (HETMP_V)(sum < a);
#endif
}
#endif
#if !HETMP_OWN(SUBS)
HETMP_SIMD_FN HETMP_V HETMP_OP(SUBS)(HETMP_V a, HETMP_V b) {
    const HETMP_V rest = HETMP_OP(SUB)(a, b);
#if HETMP_IS_SIGNED
    const HETMP_UV limit = ((HETMP_UV)a >> (HETMP_W - 1)) + (HETMP_UL)(((HETMP_UL)-1) >> 1);
    const HETMP_SV over = (a ^ b) & (a ^ rest);
    const HETMP_SV zero = {0};
    return (HETMP_V)(((HETMP_UV)(over < zero) & (limit ^ (HETMP_UV)rest)) ^ (HETMP_UV)rest);
#else
    return rest & (HETMP_V)(rest <= a);
#endif
}
#endif

/* ABSDIFF(a, b): how far apart they are, modulo 2 to the lane width.
 * AVG(a, b): (a + b + 1) / 2, of the exact sum; unsigned types only. */
#if !HETMP_OWN(ABSDIFF)
HETMP_SIMD_FN HETMP_V HETMP_OP(ABSDIFF)(HETMP_V a, HETMP_V b) {
    return HETMP_OP(SUB)(HETMP_OP(MAX)(a, b), HETMP_OP(MIN)(a, b));
}
#endif
#if !HETMP_IS_SIGNED
#if !HETMP_OWN(AVG)
HETMP_SIMD_FN HETMP_V HETMP_OP(AVG)(HETMP_V a, HETMP_V b) { return (a | b) - ((a ^ b) >> 1); }
#endif
#endif

#if HETMP_IS_SIGNED
/* ABS(a): signed types only; the lowest number stays what it is. */
#if !HETMP_OWN(ABS)
HETMP_SIMD_FN HETMP_V HETMP_OP(ABS)(HETMP_V a) {
    const HETMP_UV sign = (HETMP_UV)(a >> (HETMP_W - 1));
    return (HETMP_V)(((HETMP_UV)a ^ sign) - sign);
}
#endif
#endif

/* SHL(v, n) SHR: shifts by one count for all lanes. SHR fills with the sign (signed types)
 * or 0. A count of the lane width or more shifts everything out: 0, or the sign everywhere. */
#if !HETMP_OWN(SHL)
HETMP_SIMD_FN HETMP_V HETMP_OP(SHL)(HETMP_V v, unsigned n) {
    const HETMP_UV zero = {0};
    return n < HETMP_W ? (HETMP_V)((HETMP_UV)v << (zero + (HETMP_UL)n)) : (HETMP_V)zero;
}
#endif
#if !HETMP_OWN(SHR)
HETMP_SIMD_FN HETMP_V HETMP_OP(SHR)(HETMP_V v, unsigned n) {
    const HETMP_V zero = {0};
#if HETMP_IS_SIGNED
    return v >> (zero + (HETMP_L)(n < HETMP_W ? n : HETMP_W - 1));
#else
    return n < HETMP_W ? v >> (zero + (HETMP_L)n) : zero;
#endif
}
#endif

/* SHLV(v, n) SHRV: the same with a count for each lane, n being the unsigned vector of
 * that lane width. */
#if !HETMP_OWN(SHLV)
HETMP_SIMD_FN HETMP_V HETMP_OP(SHLV)(HETMP_V v, HETMP_UV n) {
    const HETMP_UV zero = {0};
    const HETMP_UV width = zero + HETMP_W;
    return (HETMP_V)(((HETMP_UV)v << (n & (HETMP_W - 1))) & (HETMP_UV)(n < width));
}
#endif
#if !HETMP_OWN(SHRV)
HETMP_SIMD_FN HETMP_V HETMP_OP(SHRV)(HETMP_V v, HETMP_UV n) {
    const HETMP_UV zero = {0};
    const HETMP_UV width = zero + HETMP_W;
#if HETMP_IS_SIGNED
    /* Too large a count becomes all ones, of which the mask leaves the width - 1. */
    const HETMP_UV most = (HETMP_UV)(n >= width);
    return v >> (HETMP_SV)((n | most) & (HETMP_W - 1));
#else
    return (v >> (n & (HETMP_W - 1))) & (HETMP_UV)(n < width);
#endif
}
#endif

#if !HETMP_IS_SIGNED
/* ROTL(v, n) ROTR: rotations by n modulo the lane width; unsigned types only.
 * ROTLV(v, n) ROTRV: with a count for each lane. */
#if !HETMP_OWN(ROTL)
HETMP_SIMD_FN HETMP_V HETMP_OP(ROTL)(HETMP_V v, unsigned n) {
    n %= HETMP_W;
    return HETMP_OP(OR)(HETMP_OP(SHL)(v, n), HETMP_OP(SHR)(v, (HETMP_W - n) % HETMP_W));
}
#endif
#if !HETMP_OWN(ROTR)
HETMP_SIMD_FN HETMP_V HETMP_OP(ROTR)(HETMP_V v, unsigned n) {
    n %= HETMP_W;
    return HETMP_OP(OR)(HETMP_OP(SHR)(v, n), HETMP_OP(SHL)(v, (HETMP_W - n) % HETMP_W));
}
#endif
#if !HETMP_OWN(ROTLV)
HETMP_SIMD_FN HETMP_V HETMP_OP(ROTLV)(HETMP_V v, HETMP_V n) {
    const HETMP_V zero = {0};
    return (v << (n & (HETMP_W - 1))) | (v >> ((zero - n) & (HETMP_W - 1)));
}
#endif
#if !HETMP_OWN(ROTRV)
HETMP_SIMD_FN HETMP_V HETMP_OP(ROTRV)(HETMP_V v, HETMP_V n) {
    const HETMP_V zero = {0};
    return (v >> (n & (HETMP_W - 1))) | (v << ((zero - n) & (HETMP_W - 1)));
}
#endif
#endif

/* POPCNT(v): how many bits are 1. CLZ(v) CTZ: how many are 0 above the highest 1, below
 * the lowest 1; the lane width if there is none. */
#if !HETMP_OWN(POPCNT)
HETMP_SIMD_FN HETMP_V HETMP_OP(POPCNT)(HETMP_V v) {
    const HETMP_UL ones = (HETMP_UL)-1;
    HETMP_UV x = (HETMP_UV)v;
    x -= (x >> 1) & (HETMP_UL)(ones / 3);
    x = (x & (HETMP_UL)(ones / 5)) + ((x >> 2) & (HETMP_UL)(ones / 5));
    x = (x + (x >> 4)) & (HETMP_UL)(ones / 17);
#if HETMP_W > 8
    x += x >> 8;
#endif
#if HETMP_W > 16
    x += x >> 16;
#endif
#if HETMP_W > 32
    x += x >> 32;
#endif
#if HETMP_W > 8
    x &= 0xff;
#endif
    return (HETMP_V)x;
}
#endif
#if !HETMP_OWN(CLZ)
HETMP_SIMD_FN HETMP_V HETMP_OP(CLZ)(HETMP_V v) {
    HETMP_UV x = (HETMP_UV)v;
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
#if HETMP_W > 8
    x |= x >> 8;
#endif
#if HETMP_W > 16
    x |= x >> 16;
#endif
#if HETMP_W > 32
    x |= x >> 32;
#endif
    return HETMP_OP(POPCNT)((HETMP_V)~x);
}
#endif
#if !HETMP_OWN(CTZ)
HETMP_SIMD_FN HETMP_V HETMP_OP(CTZ)(HETMP_V v) {
    const HETMP_UV x = (HETMP_UV)v;
    return HETMP_OP(POPCNT)((HETMP_V)(~x & (x - 1)));
}
#endif

#if HETMP_W > 8
/* BSWAP(v): the bytes of each lane in reverse order; 16 bits and more. */
#if !HETMP_OWN(BSWAP) && !HETMP_FULL
HETMP_SIMD_FN HETMP_V HETMP_OP(BSWAP)(HETMP_V v) {
    for (unsigned i = 0; i < HETMP_N; i++)
        v[i] = (HETMP_L)__builtin_bswap32((uint32_t)v[i]);
    return v;
}
#elif !HETMP_OWN(BSWAP)
#define HETMP_AT_BSWAP_16(i) ((i) ^ 1)
#define HETMP_AT_BSWAP_32(i) ((i) ^ 3)
#define HETMP_AT_BSWAP_64(i) ((i) ^ 7)
HETMP_SIMD_FN HETMP_V HETMP_OP(BSWAP)(HETMP_V v) {
    const _VU8 b = (_VU8)v;
#if HETMP_SIMD_OLD
    const _VU8 from = {HETMP_SEQ(HETMP_SIMD_LANES_8)(HETMP_SIMD_PASTE(HETMP_AT_BSWAP_, HETMP_W), 0)};
    return (HETMP_V)__builtin_shuffle(b, from);
#else
    return (HETMP_V)__builtin_shufflevector(
        b, b,
        HETMP_SEQ(HETMP_SIMD_LANES_8)(HETMP_SIMD_PASTE(HETMP_AT_BSWAP_, HETMP_W), 0));
#endif
}
#undef HETMP_AT_BSWAP_16
#undef HETMP_AT_BSWAP_32
#undef HETMP_AT_BSWAP_64
#endif
#endif

#undef HETMP_IS_SIGNED
