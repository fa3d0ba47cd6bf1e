/* Masks of W bits a lane against plain loops. Included once a width, and with R (its relations' number) set where that
   is another. */
#ifndef R
#define R W
#endif
#define P_(a, b) a##b
#define P(a, b) P_(a, b)
#define NAME_(w, n) _VM##w##_##n
#define NAME(w, n) NAME_(w, n)
#define OP(n) NAME(R, n)
#define MASK P(_VM, R)
#define SV P(_VI, R)
#define SL P(P(int, W), _t)
#define N P(P(_VI, R), _SIZE)
#define STORE P(_VI, P(R, _STORE))
#define LOAD P(_VI, P(R, _LOAD))
#define F(n) P(n, R)

static void F(expect_mask)(const char *what, MASK m, const SL *want) {
    SL got[N];
    uint64_t bits = 0;
    int count = 0, first = N;
    STORE(got, OP(TO_VI)(m));
    for (int i = N; i-- > 0;) {
        if (want[i]) {
            first = i;
            count++;
            if (i < 64)
                bits |= (uint64_t)1 << i;
        }
        EXPECT(what, got[i] == (want[i] ? -1 : 0));
        EXPECT(what, OP(GET)(m, (size_t)i) == (want[i] != 0));
        EXPECT(what, OP(GET)(m, (size_t)i + N) == (want[i] != 0));
    }
    EXPECT(what, OP(BITS)(m) == bits);
    EXPECT(what, OP(COUNT)(m) == count);
    EXPECT(what, OP(FIRST)(m) == first);
    EXPECT(what, OP(ANY)(m) == (count > 0));
    EXPECT(what, OP(NONE)(m) == (count == 0));
    EXPECT(what, OP(ALL)(m) == (count == N));
}

static void F(test_masks)(void) {
    SL a[N], b[N], want[N];
    for (int trial = 0; trial < 2000; trial++) {
        const int dense = trial % 5;
        for (int i = 0; i < N; i++) {
            const uint64_t r = random64();
            a[i] = dense == 0 ? 0 : dense == 1 ? (SL)(r | 1) : r % 3 ? (SL)(r >> 8) : 0;
            b[i] = r >> 60 & 1 ? P(P(INT, W), _MIN) : 0;
        }
        if (dense == 3) { /* one lane only, one lane missing */
            for (int i = 0; i < N; i++)
                a[i] = i == trial / 5 % N, b[i] = i != trial / 5 % N;
        }
        MASK ma = OP(FROM_VI)(LOAD(a)), mb = OP(FROM_VI)(LOAD(b));
        F(expect_mask)("FROM_VI", ma, a);
        F(expect_mask)("FROM_VI", mb, b);
#define PAIRWISE(op, condition) \
    do { \
        for (int i = 0; i < N; i++) { \
            const int x = a[i] != 0, y = b[i] != 0; \
            (void)y; \
            want[i] = condition; \
        } \
        F(expect_mask)("mask " #op, op, want); \
    } while (0)
        PAIRWISE(OP(AND)(ma, mb), x && y);
        PAIRWISE(OP(OR)(ma, mb), x || y);
        PAIRWISE(OP(XOR)(ma, mb), x != y);
        PAIRWISE(OP(ANDNOT)(ma, mb), !x && y);
        PAIRWISE(OP(NOT)(ma), !x);
        PAIRWISE(OP(TRUE)(), x || !x);
        PAIRWISE(OP(FALSE)(), x && !x);
        uint64_t bits = random64();
        size_t n = random64() % (N + 4);
        OPAQUE(bits);
        OPAQUE(n);
        PAIRWISE(OP(FROM_BITS)(bits), i < 64 && (bits >> i & 1) && (x || !x));
        PAIRWISE(OP(FIRST_N)(n), (size_t)i < n && (x || !x));
        PAIRWISE(OP(FIRST_N)((size_t)-1), x || !x);
    }
}
#undef PAIRWISE
#undef P_
#undef P
#undef NAME_
#undef NAME
#undef OP
#undef MASK
#undef SV
#undef SL
#undef N
#undef STORE
#undef LOAD
#undef F
#undef W
#undef R
