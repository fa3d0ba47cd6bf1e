/* Products and sums in wider lanes, and floats of 16 bits, against plain C. */

/* A quarter of the numbers are the lowest, the highest, or edges of their kind. */
#define PICK(A, x) \
    for (int i = 0; i < _##A##_SIZE; i++) \
        (x)[i] = any_##A();
#define PRODUCTS(A, LA, B, LB) \
    __attribute__((noinline)) static void products_##A(void) { \
        for (size_t trial = 0; trial < CONVERSIONS; trial++) { \
            LA x[_##A##_SIZE], y[_##A##_SIZE]; \
            LB even[_##B##_SIZE], odd[_##B##_SIZE]; \
            PICK(A, x) \
            PICK(A, y) \
            _##B##_STORE(even, _##A##_MULEVEN(_##A##_LOAD(x), _##A##_LOAD(y))); \
            _##B##_STORE(odd, _##A##_MULODD(_##A##_LOAD(x), _##A##_LOAD(y))); \
            for (int i = 0; i < _##B##_SIZE; i++) { \
                const LB e = (LB)((LB)x[2 * i] * (LB)y[2 * i]); \
                const LB o = (LB)((LB)x[2 * i + 1] * (LB)y[2 * i + 1]); \
                checks += 2; \
                if (even[i] != e) \
                    wrong(#A, "MULEVEN", i, &even[i], &e, sizeof e, NULL, NULL, NULL); \
                if (odd[i] != o) \
                    wrong(#A, "MULODD", i, &odd[i], &o, sizeof o, NULL, NULL, NULL); \
            } \
        } \
    }
PRODUCTS(VI8, int8_t, VI16, int16_t)
PRODUCTS(VU8, uint8_t, VU16, uint16_t)
PRODUCTS(VI16, int16_t, VI32, int32_t)
PRODUCTS(VU16, uint16_t, VU32, uint32_t)
PRODUCTS(VI32, int32_t, VI64, int64_t)
PRODUCTS(VU32, uint32_t, VU64, uint64_t)

/* n products and what is there already, modulo 2 to the 32. */
#define DOT(A, op, call, LA, B, LB, n, there) \
    __attribute__((noinline)) static void dot_##A##_##op(void) { \
        for (size_t trial = 0; trial < CONVERSIONS; trial++) { \
            LA x[_##A##_SIZE], y[_##A##_SIZE]; \
            LB z[_##B##_SIZE], got[_##B##_SIZE]; \
            PICK(A, x) \
            PICK(A, y) \
            PICK(B, z) \
            if (trial == 0) \
                for (int i = 0; i < _##A##_SIZE; i++) \
                    x[i] = y[i] = edges_##A[EDGE_COUNT(edges_##A) * 2 / 3]; \
            const _##A a = _##A##_LOAD(x), b = _##A##_LOAD(y); \
            const _##B c = _##B##_LOAD(z); \
            (void)c; \
            _##B##_STORE(got, call); \
            for (int i = 0; i < _##B##_SIZE; i++) { \
                uint32_t sum = (uint32_t)(there); \
                for (int k = n * i; k < n * i + n; k++) \
                    sum += (uint32_t)((int64_t)x[k] * y[k]); \
                const LB want = (LB)sum; \
                checks++; \
                if (got[i] != want) \
                    wrong(#A, #op, i, &got[i], &want, sizeof want, &z[i], NULL, NULL); \
            } \
        } \
    }
DOT(VI16, DOT, _VI16_DOT(a, b), int16_t, VI32, int32_t, 2, 0)
DOT(VI16, DOTADD, _VI16_DOTADD(a, b, c), int16_t, VI32, int32_t, 2, z[i])
DOT(VI8, DOTADD, _VI8_DOTADD(a, b, c), int8_t, VI32, int32_t, 4, z[i])
DOT(VU8, DOTADD, _VU8_DOTADD(a, b, c), uint8_t, VU32, uint32_t, 4, z[i])

static void test_sad(void) {
    uint8_t x[_VU8_SIZE], y[_VU8_SIZE];
    uint64_t sad[_VU64_SIZE];
    PICK(VU8, x)
    PICK(VU8, y)
    _VU64_STORE(sad, _VU8_SAD(_VU8_LOAD(x), _VU8_LOAD(y)));
    for (int i = 0; i < _VU64_SIZE; i++) {
        uint64_t want = 0;
        for (int k = 8 * i; k < 8 * i + 8; k++)
            want += (uint64_t)abs(x[k] - y[k]);
        EXPECT("VU8_SAD", sad[i] == want);
    }
}

#if !HETMP_SIMD_APART_F32
/* A float of 16 bits, of which `digits` are of the fraction, in a double, by its definition. */
static double small_value(unsigned bits, int digits) {
    const int top = 15 - digits, bias = (1 << (top - 1)) - 1, exponent = (int)(bits >> digits) & ((1 << top) - 1);
    const double part = (double)(bits & ((1u << digits) - 1));
    const double size = exponent == (1 << top) - 1 ? HUGE_VAL
                        : exponent == 0            ? ldexp(part, 1 - bias - digits)
                                                   : ldexp(part + (1 << digits), exponent - bias - digits);
    return bits & 0x8000 ? -size : size;
}
static int small_nan(unsigned bits, int digits) { return (bits & 0x7fff) > (0x7fffu & ~((1u << digits) - 1)); }
/* What a float becomes: the nearest of all, found by halving, and of two equally near ones the even one. */
static uint16_t small_nearest(uint32_t from, int digits) {
    const uint16_t sign = (uint16_t)(from >> 16 & 0x8000);
    float f;
    unsigned least = 0, most = 0x7fffu & ~((1u << digits) - 1); /* an infinity */
    if ((from & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(sign | most | 1u << (digits - 1) | (from >> (23 - digits) & ((1u << digits) - 1)));
    from &= 0x7fffffff;
    memcpy(&f, &from, sizeof f);
    while (most - least > 1) {
        const unsigned middle = (least + most) / 2;
        if (small_value(middle, digits) <= (double)f)
            least = middle;
        else
            most = middle;
    }
    /* The infinity stands where the next number would. */
    const double low = small_value(least, digits);
    const double high = isinf(small_value(most, digits)) ? 2 * low - small_value(least - 1, digits)
                                                         : small_value(most, digits);
    const double down = (double)f - low, up = high - (double)f;
    return (uint16_t)(sign | (up < down || (up == down && least % 2) ? most : least));
}
#define SMALL(kind, digits, from_lo, from_hi, to, quiets) \
    __attribute__((noinline)) static void small_##kind(void) { \
        uint16_t x[_VU16_SIZE]; \
        uint32_t wide[_VU16_SIZE]; \
        for (unsigned bits = 0; bits < 0x10000; bits += _VU16_SIZE) { \
            for (unsigned i = 0; i < _VU16_SIZE; i++) \
                x[i] = (uint16_t)(bits + i); \
            _VU32_STORE(wide, _VF32_AS_VU32(from_lo(_VU16_LOAD(x)))); \
            _VU32_STORE(wide + _VU32_SIZE, _VF32_AS_VU32(from_hi(_VU16_LOAD(x)))); \
            for (unsigned i = 0; i < _VU16_SIZE; i++) { \
                const float f = (float)small_value(bits + i, digits); \
                uint32_t want; \
                memcpy(&want, &f, sizeof want); \
                if (small_nan(bits + i, digits)) \
                    want |= (quiets ? 0x400000u : 0u) | (bits + i) << (23 - digits) % 32; \
                checks++; \
                if (wide[i] != want) \
                    wrong("VF32", "FROM_" #kind, (int)i, &wide[i], &want, sizeof want, &x[i], NULL, NULL); \
            } \
        } \
        /* Each number, what lies halfway to the next, and their neighbours; then any floats. */ \
        for (unsigned trial = 0; trial < 0x10000 * 5 / _VU16_SIZE + 1000; trial++) { \
            for (unsigned i = 0; i < _VU16_SIZE; i++) { \
                const unsigned k = trial * _VU16_SIZE + i, bits = k / 5 & 0xffff; \
                const unsigned next = (bits & 0x7fff) < 0x7fff ? bits + 1 : bits; \
                const float half = (float)((small_value(bits, digits) + small_value(next, digits)) / 2); \
                memcpy(&wide[i], &half, sizeof half); \
                wide[i] += k % 5 - 2; \
                if (k >= 0x10000 * 5) \
                    wide[i] = (uint32_t)random64(); \
                if (k % 97 == 0) /* a NaN, of either kind */ \
                    wide[i] = 0x7f800001u | ((uint32_t)random64() & 0x807fffffu); \
            } \
            _VU16_STORE(x, to(_VU32_AS_VF32(_VU32_LOAD(wide)), _VU32_AS_VF32(_VU32_LOAD(wide + _VU32_SIZE)))); \
            for (unsigned i = 0; i < _VU16_SIZE; i++) { \
                const uint16_t want = small_nearest(wide[i], digits); \
                checks++; \
                if (x[i] != want) \
                    wrong("VF32", "TO_" #kind, (int)i, &x[i], &want, sizeof want, NULL, NULL, NULL); \
            } \
        } \
    }
SMALL(F16, 10, _VF32_FROM_F16_LO, _VF32_FROM_F16_HI, _VF32_TO_F16, 1)
SMALL(BF16, 7, _VF32_FROM_BF16_LO, _VF32_FROM_BF16_HI, _VF32_TO_BF16, 0)
#endif

static void test_wider(void) {
    products_VI8();
    products_VU8();
    products_VI16();
    products_VU16();
    products_VI32();
    products_VU32();
    dot_VI16_DOT();
    dot_VI16_DOTADD();
    dot_VI8_DOTADD();
    dot_VU8_DOTADD();
    for (int trial = 0; trial < 400; trial++)
        test_sad();
#if !HETMP_SIMD_APART_F32
    small_F16();
    small_BF16();
#endif
}
