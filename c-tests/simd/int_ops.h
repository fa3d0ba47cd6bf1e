/* Part of lane_ops.h: what integers have. */

BINARY(ADD, (UL)x + (UL)y)
BINARY(SUB, (UL)x - (UL)y)
BINARY(MUL, (UL)((uint64_t)x * (uint64_t)y))
UNARY(NEG, 0 - (UL)x)
TERNARY(MULADD, (UL)((uint64_t)x * (uint64_t)y + (uint64_t)z))
TERNARY(MULSUB, (UL)((uint64_t)x * (uint64_t)y - (uint64_t)z))
TERNARY(NMULADD, (UL)((uint64_t)z - (uint64_t)x * (uint64_t)y))
TERNARY(NMULSUB, (UL)(0 - (uint64_t)x * (uint64_t)y - (uint64_t)z))
LANES(INC, OP(INC)(va, OP(LT)(vb, vc)), (UL)x + (y < z), F(same_bits))
BINARY(MIN, x < y ? x : y)
BINARY(MAX, x > y ? x : y)

/* Exact results in 128 bits, from which everything else follows. */
typedef test_i128 F(big);
#define LEAST (IS_SIGNED ? -((F(big))1 << (W - 1)) : (F(big))0)
#define MOST (((F(big))1 << (W - IS_SIGNED)) - 1)
static L F(fit)(F(big) v) { return (L)(v < LEAST ? LEAST : v > MOST ? MOST : v); }
BINARY(ADDS, F(fit)((F(big))x + y))
BINARY(SUBS, F(fit)((F(big))x - y))
BINARY(ABSDIFF, x > y ? (UL)x - (UL)y : (UL)y - (UL)x)
#if IS_SIGNED
BINARY(MULHI, ((F(big))x * y) >> W)
UNARY(ABS, x < 0 ? (L)(0 - (UL)x) : x)
#else
BINARY(MULHI, ((test_u128)x * y) >> W)
BINARY(AVG, ((F(big))x + y + 1) >> 1)
#endif
BINARY(DIV, y == 0 ? (F(big))0 : (F(big))x / y)
BINARY(REM, y == 0 ? (F(big))x : (F(big))x % y)

static L F(left)(L x, uint64_t n) { return n < W ? (L)((UL)x << n) : 0; }
static L F(right)(L x, uint64_t n) {
    return (L)((F(big))x >> (n < W ? n : W)); /* the sign, or 0, comes in from above */
}
#if !IS_SIGNED
static L F(turned)(L x, uint64_t n) { /* left */
    n %= W;
    return n ? (L)((UL)((UL)x << n) | (UL)((UL)x >> (W - n))) : x;
}
#endif
LANES(SHLV, OP(SHLV)(va, P(_VU, P(R, _LOAD))((const UL *)b)), F(left)(x, (UL)y), F(same_bits))
LANES(SHRV, OP(SHRV)(va, P(_VU, P(R, _LOAD))((const UL *)b)), F(right)(x, (UL)y), F(same_bits))
#if !IS_SIGNED
LANES(ROTLV, OP(ROTLV)(va, vb), F(turned)(x, y), F(same_bits))
LANES(ROTRV, OP(ROTRV)(va, vb), F(turned)(x, W - y % W), F(same_bits))
#endif

#define SHIFT_ONE(op, n, want) \
    do { \
        OP(STORE)(got, OP(op)(OP(LOADA)(a), n)); \
        for (int i = 0; i < N; i++) { \
            const L x = a[i], w = want; \
            const UL count = (UL)n; \
            checks++; \
            if (!F(same_bits)(got[i], w)) \
                wrong(STR(T), #op, i, &got[i], &w, sizeof w, &x, &count, NULL); \
        } \
    } while (0)
__attribute__((noinline)) static void F(test_shifts)(void) {
    for (size_t trial = 0; trial < 300; trial++) {
        static const unsigned far[] = {W + 1, 2 * W, 255, 256, 257, 0x10000, 0x80000000u, UINT_MAX};
        unsigned n = trial <= W ? (unsigned)trial : far[trial % (sizeof far / sizeof *far)];
        F(fill)(trial);
        OPAQUE(n);
        SHIFT_ONE(SHL, n, F(left)(x, n));
        SHIFT_ONE(SHR, n, F(right)(x, n));
        /* Counts that the compiler knows. */
        SHIFT_ONE(SHL, 0, x);
        SHIFT_ONE(SHL, 3, F(left)(x, 3));
        SHIFT_ONE(SHL, W, 0);
        SHIFT_ONE(SHL, UINT_MAX, 0);
        SHIFT_ONE(SHR, 0, x);
        SHIFT_ONE(SHR, 5, F(right)(x, 5));
        SHIFT_ONE(SHR, W - 1, F(right)(x, W - 1));
        SHIFT_ONE(SHR, W, F(right)(x, W));
        SHIFT_ONE(SHR, UINT_MAX, F(right)(x, W));
#if !IS_SIGNED
        SHIFT_ONE(ROTL, n, F(turned)(x, n));
        SHIFT_ONE(ROTR, n, F(turned)(x, W - n % W));
        SHIFT_ONE(ROTL, 0, x);
        SHIFT_ONE(ROTL, 3, F(turned)(x, 3));
        SHIFT_ONE(ROTR, 3, F(turned)(x, W - 3));
        SHIFT_ONE(ROTR, W + 2, F(turned)(x, W - 2));
#endif
    }
}
#undef SHIFT_ONE

static int F(ones)(L x) {
    int n = 0;
    for (int i = 0; i < W; i++)
        n += (int)((UL)x >> i & 1);
    return n;
}
static int F(above)(L x) {
    int n = 0;
    while (n < W && !((UL)x >> (W - 1 - n) & 1))
        n++;
    return n;
}
static int F(below)(L x) {
    int n = 0;
    while (n < W && !((UL)x >> n & 1))
        n++;
    return n;
}
UNARY(POPCNT, F(ones)(x))
UNARY(CLZ, F(above)(x))
UNARY(CTZ, F(below)(x))
#if W > 8
static L F(turned_bytes)(L x) {
    unsigned char from[sizeof x], to[sizeof x];
    memcpy(from, &x, sizeof x);
    for (size_t i = 0; i < sizeof x; i++)
        to[i] = from[sizeof x - 1 - i];
    memcpy(&x, to, sizeof x);
    return x;
}
UNARY(BSWAP, F(turned_bytes)(x))
#endif

REDUCE(REDUCE_ADD, (UL)x + (UL)y)
REDUCE(REDUCE_AND, x & y)
REDUCE(REDUCE_OR, x | y)
REDUCE(REDUCE_XOR, x ^ y)

static void F(test_class)(void) {
    F(test_ADD)();
    F(test_SUB)();
    F(test_MUL)();
    F(test_NEG)();
    F(test_MULADD)();
    F(test_MULSUB)();
    F(test_NMULADD)();
    F(test_NMULSUB)();
    F(test_INC)();
    F(test_MIN)();
    F(test_MAX)();
    F(test_ADDS)();
    F(test_SUBS)();
    F(test_MULHI)();
    F(test_ABSDIFF)();
    F(test_DIV)();
    F(test_REM)();
    F(test_SHLV)();
    F(test_SHRV)();
    F(test_shifts)();
    F(test_POPCNT)();
    F(test_CLZ)();
    F(test_CTZ)();
    F(test_REDUCE_ADD)();
    F(test_REDUCE_AND)();
    F(test_REDUCE_OR)();
    F(test_REDUCE_XOR)();
#if IS_SIGNED
    F(test_ABS)();
#else
    F(test_AVG)();
    F(test_ROTLV)();
    F(test_ROTRV)();
#endif
#if W > 8
    F(test_BSWAP)();
#endif
}
#undef LEAST
#undef MOST
