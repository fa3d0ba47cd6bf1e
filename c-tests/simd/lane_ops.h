/* Every operation of one lane type against code for one number. Included once a type
 * with T, L (lane type), W (bits), R (its relations' number) and IS_FLOAT, IS_SIGNED set. */
#ifndef R
#define R W
#endif

#define P_(a, b) a##b
#define P(a, b) P_(a, b)
#define NAME_(t, n) _##t##_##n
#define NAME(t, n) NAME_(t, n)
#define OP(n) NAME(T, n)
#define MOP(n) NAME(P(VM, R), n)
#define V P(_, T)
#define UV P(_VU, R)
#define SV P(_VI, R)
#define MASK P(_VM, R)
#define UL P(P(uint, W), _t)
#define SL P(P(int, W), _t)
#define N P(P(_, T), _SIZE)
#define EDGES P(edges_, T)
#define EDGE_N EDGE_COUNT(EDGES)
#define F(n) P(P(n, _), T)
#define STR_(x) #x
#define STR(x) STR_(x)

static L F(a)[128] __attribute__((aligned(128)));
static L F(b)[128] __attribute__((aligned(128)));
static L F(c)[128] __attribute__((aligned(128)));
static L F(got)[128] __attribute__((aligned(128)));
static L F(room)[16 * 128];
#define a F(a)
#define b F(b)
#define c F(c)
#define got F(got)

static L F(any)(void) {
    const uint64_t r = random64();
    L x;
    if (r % 4 == 0)
        return EDGES[(r >> 8) % EDGE_N];
    if (r % 4 == 1) /* small numbers, so that things are equal, or whole, now and then */
        return IS_FLOAT ? (L)((double)((int64_t)((r >> 8) % 2001) - 1000) / 4) : (L)((r >> 8) % 16);
    const uint64_t bits = r >> 3 ^ r << 40;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* All pairs of edge values in a and b, then random ones; c random. */
#define PAIRS (EDGE_N * EDGE_N / N + 1)
#define TRIALS (PAIRS + 4096 / N + 64)
static void F(fill)(size_t trial) {
    for (size_t i = 0; i < N; i++) {
        const size_t k = trial * N + i;
        const int edge = trial < PAIRS;
        a[i] = edge ? EDGES[k % EDGE_N] : F(any)();
        b[i] = edge ? EDGES[k / EDGE_N % EDGE_N] : F(any)();
        c[i] = F(any)();
    }
}

static int F(same_bits)(L x, L y) { return memcmp(&x, &y, sizeof x) == 0; }
/* Like same_bits, save that NaNs are alike. */
#if IS_FLOAT
static int F(same)(L x, L y) { return (x != x && y != y) || F(same_bits)(x, y); }
#else
static int F(same)(L x, L y) { return x == y; }
#endif

/* op(a, b, c) lane by lane: want is an expression in x, y, z. */
#define LANES(op, call, want_expr, compare) \
    __attribute__((noinline)) static void F(P(test_, op))(void) { \
        for (size_t trial = 0; trial < TRIALS; trial++) { \
            F(fill)(trial); \
            const V va = OP(LOADA)(a), vb = OP(LOADA)(b), vc = OP(LOADA)(c); \
            (void)vb, (void)vc; \
            OP(STOREA)(got, call); \
            SCALAR for (int i = 0; i < N; i++) { \
                const L x = a[i], y = b[i], z = c[i]; \
                (void)x, (void)y, (void)z; \
                const L want = (L)(want_expr); \
                checks++; \
                if (!compare(got[i], want)) \
                    wrong(STR(T), #op, i, &got[i], &want, sizeof want, &x, &y, &z); \
            } \
        } \
    }
#define UNARY(op, want) LANES(op, OP(op)(va), want, F(same))
#define BINARY(op, want) LANES(op, OP(op)(va, vb), want, F(same))
#define TERNARY(op, want) LANES(op, OP(op)(va, vb, vc), want, F(same))
#define MOVES1(op, want) LANES(op, OP(op)(va), want, F(same_bits))
#define MOVES2(op, want) LANES(op, OP(op)(va, vb), want, F(same_bits))

/* A comparison: the mask itself, and what SELECT makes of it. */
#define COMPARE(op, call, condition) \
    __attribute__((noinline)) static void F(P(test_, op))(void) { \
        for (size_t trial = 0; trial < TRIALS; trial++) { \
            F(fill)(trial); \
            const V va = OP(LOADA)(a), vb = OP(LOADA)(b), vc = OP(LOADA)(c); \
            const MASK m = call; \
            (void)va, (void)vb; \
            OP(STOREA)(got, OP(SELECT)(m, vb, vc)); \
            SCALAR for (int i = 0; i < N; i++) { \
                const L x = a[i], y = b[i]; \
                const L want = (condition) ? b[i] : c[i]; \
                checks += 2; \
                if (!F(same_bits)(got[i], want)) \
                    wrong(STR(T), #op " SELECT", i, &got[i], &want, sizeof want, &x, &y, &c[i]); \
                if (MOP(GET)(m, (size_t)i) != (condition)) \
                    wrong(STR(T), #op " GET", i, &got[i], &want, sizeof want, &x, &y, &c[i]); \
            } \
        } \
    }
COMPARE(EQ, OP(EQ)(va, vb), x == y)
COMPARE(NE, OP(NE)(va, vb), x != y)
COMPARE(LT, OP(LT)(va, vb), x < y)
COMPARE(LE, OP(LE)(va, vb), x <= y)
COMPARE(GT, OP(GT)(va, vb), x > y)
COMPARE(GE, OP(GE)(va, vb), x >= y)

static UL F(bits)(L x) {
    UL u;
    memcpy(&u, &x, sizeof u);
    return u;
}
static L F(from)(UL u) {
    L x;
    memcpy(&x, &u, sizeof x);
    return x;
}
MOVES2(AND, F(from)((UL)(F(bits)(x) & F(bits)(y))))
MOVES2(OR, F(from)((UL)(F(bits)(x) | F(bits)(y))))
MOVES2(XOR, F(from)((UL)(F(bits)(x) ^ F(bits)(y))))
MOVES2(ANDNOT, F(from)((UL)(~F(bits)(x) & F(bits)(y))))
MOVES1(NOT, F(from)((UL)~F(bits)(x)))
LANES(BITSEL, OP(BITSEL)(va, vb, vc),
      F(from)((UL)((F(bits)(x) & F(bits)(y)) | (~F(bits)(x) & F(bits)(z)))), F(same_bits))

/* Shuffles: want from the arrays themselves. */
LANES(REVERSE, OP(REVERSE)(va), a[N - 1 - i], F(same_bits))
LANES(SWAP, OP(SWAP)(va), a[i ^ 1], F(same_bits))
LANES(INTERLEAVE_LO, OP(INTERLEAVE_LO)(va, vb), i % 2 ? b[i / 2] : a[i / 2], F(same_bits))
LANES(INTERLEAVE_HI, OP(INTERLEAVE_HI)(va, vb), i % 2 ? b[(N + i) / 2] : a[(N + i) / 2],
      F(same_bits))
LANES(EVEN, OP(EVEN)(va, vb), i < N / 2 ? a[2 * i] : b[2 * i - N], F(same_bits))
LANES(ODD, OP(ODD)(va, vb), i < N / 2 ? a[2 * i + 1] : b[2 * i + 1 - N], F(same_bits))

__attribute__((noinline)) static void F(test_moving)(void) {
    for (size_t trial = 0; trial < 64; trial++) {
        UL index[N];
        F(fill)(trial);
        for (int i = 0; i < N; i++)
            index[i] = (UL)random64();
        OP(STORE)(got, OP(PERMUTE)(OP(LOADA)(a), P(_VU, P(R, _LOAD))(index)));
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " PERMUTE", F(same_bits)(got[i], a[index[i] % N]));
        size_t n = random64() % (N + 3);
        OPAQUE(n);
        OP(STORE)(got, OP(SLIDE)(OP(LOADA)(a), OP(LOADA)(b), n));
        for (size_t i = 0; i < N; i++) {
            const size_t k = i + (n < N ? n : N);
            EXPECT(STR(T) " SLIDE", F(same_bits)(got[i], k < N ? a[k] : b[k - N]));
        }
        OP(STORE)(got, OP(ROTATE)(OP(LOADA)(a), n));
        for (size_t i = 0; i < N; i++)
            EXPECT(STR(T) " ROTATE", F(same_bits)(got[i], a[(i + n) % N]));
        OP(STORE)(got, OP(BROADCAST)(OP(LOADA)(a), n));
        for (size_t i = 0; i < N; i++)
            EXPECT(STR(T) " BROADCAST", F(same_bits)(got[i], a[n % N]));
        /* The same with numbers that the compiler knows. */
        OP(STORE)(got, OP(SLIDE)(OP(LOADA)(a), OP(LOADA)(b), 1));
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " SLIDE by 1", F(same_bits)(got[i], i + 1 < N ? a[i + 1] : b[0]));
        OP(STORE)(got, OP(BROADCAST)(OP(LOADA)(a), 1));
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " BROADCAST of 1", F(same_bits)(got[i], a[1]));
        const L x = OP(EXTRACT)(OP(LOADA)(a), n);
        EXPECT(STR(T) " EXTRACT", F(same_bits)(x, a[n % N]));
        EXPECT(STR(T) " EXTRACT of 1", F(same_bits)(OP(EXTRACT)(OP(LOADA)(a), 1), a[1]));
        OP(STORE)(got, OP(INSERT)(OP(LOADA)(a), n, b[0]));
        for (size_t i = 0; i < N; i++)
            EXPECT(STR(T) " INSERT", F(same_bits)(got[i], i == n % N ? b[0] : a[i]));
        OP(STORE)(got, OP(SET1)(b[1]));
        for (size_t i = 0; i < N; i++)
            EXPECT(STR(T) " SET1", F(same_bits)(got[i], b[1]));
    }
    OP(STORE)(got, OP(IOTA)());
    for (int i = 0; i < N; i++)
        EXPECT(STR(T) " IOTA", got[i] == (L)i);
    OP(STORE)(got, OP(ZERO)());
    for (int i = 0; i < N; i++)
        EXPECT(STR(T) " ZERO", F(same_bits)(got[i], 0));
    OP(STORE)(got, OP(SET)(3, 5));
    for (int i = 0; i < N; i++)
        EXPECT(STR(T) " SET", F(same_bits)(got[i], i == 0 ? 3 : i == 1 ? 5 : 0));
}

__attribute__((noinline)) static void F(test_packing)(void) {
    L *const last = (L *)guard_page();
    for (size_t trial = 0; trial < 64; trial++) {
        L want[N];
        size_t n = 0;
        F(fill)(trial);
        for (size_t i = 0; i < N; i++) /* none and all, then every other pattern of the first lanes */
            b[i] = (L)(trial > 1 ? (i < 6 ? trial >> i & 1 : random64() & 1) : trial);
        const MASK m = OP(NE)(OP(LOADA)(b), OP(ZERO)());
        memset(want, 0, sizeof want);
        for (int i = 0; i < N; i++)
            if (b[i] != 0)
                want[n++] = a[i];
        OP(STORE)(got, OP(COMPRESS)(m, OP(LOADA)(a)));
        EXPECT(STR(T) " COMPRESS", memcmp(got, want, sizeof want) == 0);
        memset(last - n, 0, n * sizeof(L));
        EXPECT(STR(T) " COMPRESS_STORE", OP(COMPRESS_STORE)(last - n, m, OP(LOADA)(a)) == n);
        EXPECT(STR(T) " COMPRESS_STORE", memcmp(last - n, want, n * sizeof(L)) == 0);
        OP(STORE)(got, OP(EXPAND)(m, OP(LOADA)(a)));
        n = 0;
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " EXPAND", F(same_bits)(got[i], b[i] != 0 ? a[n++] : 0));
    }
}

/* Structures of n members, up to the page that nobody may touch. */
#define STRUCTS(n, load, store) \
    do { \
        L *const p = last - n * N; \
        for (int i = 0; i < n * N; i++) \
            p[i] = F(any)(); \
        load; \
        for (int k = 0; k < n; k++) { \
            OP(STORE)(got, k == 0 ? v0 : k == 1 ? v1 : k == 2 ? v2 : v3); \
            for (int i = 0; i < N; i++) \
                EXPECT(STR(T) " " #load, F(same_bits)(got[i], p[n * i + k])); \
        } \
        memcpy(F(room), p, n * N * sizeof(L)); \
        memset(p, 0, n * N * sizeof(L)); \
        store; \
        EXPECT(STR(T) " " #store, memcmp(F(room), p, n * N * sizeof(L)) == 0); \
    } while (0)
__attribute__((noinline)) static void F(test_structs)(void) {
    L *const last = (L *)guard_page();
    V v0 = OP(ZERO)(), v1 = v0, v2 = v0, v3 = v0;
    for (size_t trial = 0; trial < 16; trial++) {
        STRUCTS(2, OP(LOAD2)(p, &v0, &v1), OP(STORE2)(p, v0, v1));
        STRUCTS(3, OP(LOAD3)(p, &v0, &v1, &v2), OP(STORE3)(p, v0, v1, v2));
        STRUCTS(4, OP(LOAD4)(p, &v0, &v1, &v2, &v3), OP(STORE4)(p, v0, v1, v2, v3));
    }
}
#undef STRUCTS

__attribute__((noinline)) static void F(test_memory)(void) {
    /* Lanes that are not asked for lie on a page that nobody may touch. */
    L *const last = (L *)guard_page();
    L *const wide = (L *)F(room);
    for (size_t trial = 0; trial < 64; trial++) {
        size_t n = random64() % (N + 2);
        const size_t kept = n < N ? n : N;
        OPAQUE(n);
        F(fill)(trial);
        L *const p = last - kept;
        memcpy(p, a, kept * sizeof(L));
        OP(STORE)(got, OP(LOAD_N)(p, n));
        for (size_t i = 0; i < N; i++)
            EXPECT(STR(T) " LOAD_N", F(same_bits)(got[i], i < kept ? a[i] : 0));
        OP(STORE)(got, OP(LOAD_MASK)(p, MOP(FIRST_N)(n)));
        for (size_t i = 0; i < N; i++)
            EXPECT(STR(T) " LOAD_MASK", F(same_bits)(got[i], i < kept ? a[i] : 0));
        OP(STORE_N)(p, n, OP(LOADA)(b));
        EXPECT(STR(T) " STORE_N", memcmp(p, b, kept * sizeof(L)) == 0);
        OP(STORE_MASK)(p, MOP(FIRST_N)(n), OP(LOADA)(c));
        EXPECT(STR(T) " STORE_MASK", memcmp(p, c, kept * sizeof(L)) == 0);
        const UL some = (UL)random64() | 1;
        OP(STORE)(wide, OP(LOADA)(a));
        OP(STORE_MASK)(wide, OP(LT)(OP(LOADA)(a), OP(LOADA)(b)), OP(LOADA)(c));
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " STORE_MASK", F(same_bits)(wide[i], a[i] < b[i] ? c[i] : a[i]));
        OP(STORE_N)(wide, kept, OP(LOADA)(b));
        for (size_t i = kept; i < N; i++)
            EXPECT(STR(T) " STORE_N past n", F(same_bits)(wide[i], a[i] < b[i] ? c[i] : a[i]));
        /* Any alignment, to the byte. */
        char *const odd = (char *)F(room) + some % 64;
        memcpy(odd, a, N * sizeof(L));
        OP(STOREU)(got, OP(LOADU)((L *)(void *)odd));
        EXPECT(STR(T) " LOADU", memcmp(got, a, N * sizeof(L)) == 0);
        OP(STORE)((L *)(void *)odd, OP(LOADA)(b));
        OP(STORE)(got, OP(LOAD)((L *)(void *)odd));
        EXPECT(STR(T) " LOAD, STORE", memcmp(got, b, N * sizeof(L)) == 0);

        ptrdiff_t stride = (ptrdiff_t)(random64() % 7) - 3;
        OPAQUE(stride);
        for (int i = 0; i < 8 * N; i++)
            wide[i] = F(any)();
        L *const middle = wide + 4 * N;
        OP(STORE)(got, OP(LOAD_STRIDE)(middle, stride));
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " LOAD_STRIDE", F(same_bits)(got[i], middle[i * stride]));
        OP(STORE_STRIDE)(middle, stride, OP(LOADA)(a));
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " STORE_STRIDE", F(same_bits)(middle[i * stride], a[stride ? i : N - 1]));
#if W >= 32
        SL index[N];
        for (int i = 0; i < N; i++)
            index[i] = (SL)(random64() % (8 * N)) - 4 * N;
        for (int i = 0; i < 8 * N; i++)
            wide[i] = F(any)();
        const SV vi = P(_VI, P(R, _LOAD))(index);
        OP(STORE)(got, OP(GATHER)(middle, vi));
        for (int i = 0; i < N; i++)
            EXPECT(STR(T) " GATHER", F(same_bits)(got[i], middle[index[i]]));
        L *const model = (L *)F(room) + 8 * N;
        memcpy(model, wide, 8 * N * sizeof(L));
        OP(SCATTER)(middle, vi, OP(LOADA)(a));
        for (int i = 0; i < N; i++)
            model[4 * N + index[i]] = a[i];
        EXPECT(STR(T) " SCATTER", memcmp(model, wide, 8 * N * sizeof(L)) == 0);
#endif
    }
}

/* The order of the sums is promised: halves. */
#define REDUCE(op, one) \
    __attribute__((noinline)) static void F(P(test_, op))(void) { \
        for (size_t trial = 0; trial < TRIALS; trial++) { \
            L r[N]; \
            F(fill)(trial); \
            const L sum = OP(op)(OP(LOADA)(a)); \
            memcpy(r, a, sizeof r); \
            for (int half = N / 2; half; half /= 2) \
                SCALAR for (int i = 0; i < half; i++) { \
                    const L x = r[i], y = r[i + half]; \
                    r[i] = (L)(one); \
                } \
            checks++; \
            if (!F(same)(sum, r[0])) \
                wrong(STR(T), #op, 0, &sum, &r[0], sizeof sum, a, NULL, NULL); \
        } \
    }
REDUCE(REDUCE_MIN, x < y ? x : y)
REDUCE(REDUCE_MAX, x > y ? x : y)

/* With a mask: what the operation gives by itself, or what was there. It is compared with plain C elsewhere. */
#define MASKED(op, call, alone) \
    __attribute__((noinline)) static void F(P(test_, op))(void) { \
        for (size_t trial = 0; trial < TRIALS; trial++) { \
            L whole[N]; \
            F(fill)(trial); \
            const V va = OP(LOADA)(a), vb = OP(LOADA)(b), vc = OP(LOADA)(c); \
            const MASK m = OP(LT)(vb, vc); \
            OP(STORE)(whole, alone); \
            OP(STOREA)(got, call); \
            for (int i = 0; i < N; i++) { \
                const L want = b[i] < c[i] ? whole[i] : c[i]; \
                checks++; \
                if (!(b[i] < c[i] ? F(same)(got[i], want) : F(same_bits)(got[i], want))) \
                    wrong(STR(T), #op, i, &got[i], &want, sizeof want, &a[i], &b[i], &c[i]); \
            } \
        } \
    }
MASKED(MASK_ADD, OP(MASK_ADD)(vc, m, va, vb), OP(ADD)(va, vb))
MASKED(MASK_SUB, OP(MASK_SUB)(vc, m, va, vb), OP(SUB)(va, vb))
MASKED(MASK_MUL, OP(MASK_MUL)(vc, m, va, vb), OP(MUL)(va, vb))
MASKED(MASK_DIV, OP(MASK_DIV)(vc, m, va, vb), OP(DIV)(va, vb))
MASKED(MASK_MIN, OP(MASK_MIN)(vc, m, va, vb), OP(MIN)(va, vb))
MASKED(MASK_MAX, OP(MASK_MAX)(vc, m, va, vb), OP(MAX)(va, vb))
MASKED(MASK_MULADD, OP(MASK_MULADD)(vc, m, va, vb, va), OP(MULADD)(va, vb, va))
#if !IS_FLOAT
MASKED(MASK_REM, OP(MASK_REM)(vc, m, va, vb), OP(REM)(va, vb))
MASKED(MASK_ADDS, OP(MASK_ADDS)(vc, m, va, vb), OP(ADDS)(va, vb))
MASKED(MASK_SUBS, OP(MASK_SUBS)(vc, m, va, vb), OP(SUBS)(va, vb))
#endif

#if IS_FLOAT
#include "float_ops.h"
#else
#include "int_ops.h"
#endif

static void P(test_, T)(void) {
    F(test_EQ)();
    F(test_NE)();
    F(test_LT)();
    F(test_LE)();
    F(test_GT)();
    F(test_GE)();
    F(test_AND)();
    F(test_OR)();
    F(test_XOR)();
    F(test_ANDNOT)();
    F(test_NOT)();
    F(test_BITSEL)();
    F(test_REVERSE)();
    F(test_SWAP)();
    F(test_INTERLEAVE_LO)();
    F(test_INTERLEAVE_HI)();
    F(test_EVEN)();
    F(test_ODD)();
    F(test_moving)();
    F(test_packing)();
    F(test_structs)();
    F(test_memory)();
    F(test_REDUCE_MIN)();
    F(test_REDUCE_MAX)();
    F(test_MASK_ADD)();
    F(test_MASK_SUB)();
    F(test_MASK_MUL)();
    F(test_MASK_DIV)();
    F(test_MASK_MIN)();
    F(test_MASK_MAX)();
    F(test_MASK_MULADD)();
#if !IS_FLOAT
    F(test_MASK_REM)();
    F(test_MASK_ADDS)();
    F(test_MASK_SUBS)();
#endif
    F(test_class)();
}

#undef a
#undef b
#undef c
#undef got
#undef P
#undef P_
#undef NAME
#undef NAME_
#undef OP
#undef MOP
#undef V
#undef UV
#undef SV
#undef MASK
#undef UL
#undef SL
#undef N
#undef EDGES
#undef EDGE_N
#undef F
#undef STR
#undef STR_
#undef PAIRS
#undef TRIALS
#undef LANES
#undef UNARY
#undef BINARY
#undef TERNARY
#undef MOVES1
#undef MOVES2
#undef COMPARE
#undef REDUCE
#undef MASKED
#undef T
#undef L
#undef W
#undef R
#undef IS_FLOAT
#undef IS_SIGNED
