/* Part of lane_ops.h: what floating-point lanes have. */

#if W == 32
#define M1(name) name##f
#else
#define M1(name) name
#endif

BINARY(ADD, x + y)
BINARY(SUB, x - y)
BINARY(MUL, x *y)
BINARY(DIV, x / y)
MOVES1(NEG, -x)
MOVES1(ABS, M1(fabs)(x))
MOVES2(COPYSIGN, M1(copysign)(x, y))
TERNARY(FMA, M1(fma)(x, y, z))
TERNARY(FMS, M1(fma)(x, y, -z))
TERNARY(FNMA, M1(fma)(-x, y, z))
TERNARY(FNMS, M1(fma)(-x, y, -z))
#if HETMP_SIMD_FAST_FMA
#define FUSED(x, y, z) M1(fma)(x, y, z)
#else
#define FUSED(x, y, z) ((x) * (y) + (z))
#endif
TERNARY(MULADD, FUSED(x, y, z))
TERNARY(MULSUB, FUSED(x, y, -z))
TERNARY(NMULADD, FUSED(-x, y, z))
TERNARY(NMULSUB, FUSED(-x, y, -z))
MOVES2(MIN, x < y ? x : y)
MOVES2(MAX, x > y ? x : y)

/* fmin and fmax of the C library leave the sign of a zero open; IEEE 754-2019 does not. */
static L F(least)(L x, L y) {
    if (x != x)
        return y;
    if (y != y)
        return x;
    return x < y || (x == y && signbit(x)) ? x : y;
}
LANES(MINNUM, OP(MINNUM)(va, vb), F(least)(x, y), F(same))
LANES(MAXNUM, OP(MAXNUM)(va, vb), -F(least)(-x, -y), F(same))
UNARY(ROUND, M1(nearbyint)(x))
UNARY(FLOOR, M1(floor)(x))
UNARY(CEIL, M1(ceil)(x))
UNARY(TRUNC, M1(trunc)(x))
UNARY(SQRT, M1(sqrt)(x))
UNARY(RCP, 1 / x)
UNARY(RSQRT, 1 / M1(sqrt)(x))

COMPARE(ISNAN, OP(ISNAN)(va), x != x)
REDUCE(REDUCE_ADD, x + y)

static void F(test_estimates)(void) {
    for (size_t trial = 0; trial < 2000; trial++) {
        F(fill)(trial);
        for (int i = 0; i < N; i++) { /* results must be normal numbers, too */
            const int e = (int)(random64() % (W == 32 ? 240 : 2000)) - (W == 32 ? 120 : 1000);
            a[i] = M1(ldexp)((L)1 + (L)(random64() % 65536) / 65536, e);
        }
        OP(STOREA)(got, OP(RCP_EST)(OP(LOADA)(a)));
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " RCP_EST", M1(fabs)(got[i] * a[i] - 1) <= (L)(1.0 / 128));
        OP(STOREA)(got, OP(RCP_EST)(OP(NEG)(OP(LOADA)(a))));
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " RCP_EST", M1(fabs)(got[i] * a[i] + 1) <= (L)(1.0 / 128));
        OP(STOREA)(got, OP(RSQRT_EST)(OP(LOADA)(a)));
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " RSQRT_EST", M1(fabs)(got[i] * M1(sqrt)(a[i]) - 1) <= (L)(1.0 / 128));
    }
}

static void F(test_class)(void) {
    F(test_ADD)();
    F(test_SUB)();
    F(test_MUL)();
    F(test_DIV)();
    F(test_NEG)();
    F(test_ABS)();
    F(test_COPYSIGN)();
    F(test_FMA)();
    F(test_FMS)();
    F(test_FNMA)();
    F(test_FNMS)();
    F(test_MULADD)();
    F(test_MULSUB)();
    F(test_NMULADD)();
    F(test_NMULSUB)();
    F(test_MIN)();
    F(test_MAX)();
    F(test_MINNUM)();
    F(test_MAXNUM)();
    F(test_ROUND)();
    F(test_FLOOR)();
    F(test_CEIL)();
    F(test_TRUNC)();
    F(test_SQRT)();
    F(test_RCP)();
    F(test_RSQRT)();
    F(test_ISNAN)();
    F(test_REDUCE_ADD)();
    F(test_estimates)();
}
#undef M1
#undef FUSED
