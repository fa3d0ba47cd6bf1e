/* Conversions against C's own, guarded where C leaves the result open. */

/* Edge values of A, then random bits and random numbers of all sizes. */
#define FILL(A, x) \
    for (int i = 0; i < _##A##_SIZE; i++) { \
        const size_t k = trial * _##A##_SIZE + (size_t)i; \
        const uint64_t r = random64(); \
        if (k < EDGE_COUNT(edges_##A)) \
            x[i] = edges_##A[k]; \
        else \
            x[i] = any_##A(); \
        (void)r; \
    }
#define CONVERSIONS 600

#define WIDENS(A, LA, B, LB) \
    __attribute__((noinline)) static void widens_##A##_##B(void) { \
        for (size_t trial = 0; trial < CONVERSIONS; trial++) { \
            LA x[_##A##_SIZE]; \
            LB lo[_##B##_SIZE], hi[_##B##_SIZE]; \
            FILL(A, x) \
            _##B##_STORE(lo, _##A##_TO_##B##_LO(_##A##_LOAD(x))); \
            _##B##_STORE(hi, _##A##_TO_##B##_HI(_##A##_LOAD(x))); \
            for (int i = 0; i < _##B##_SIZE; i++) { \
                const LB l = (LB)x[i], h = (LB)x[i + _##B##_SIZE]; \
                checks += 2; \
                if (!same_##B(lo[i], l)) \
                    wrong(#A, "TO_" #B "_LO", i, &lo[i], &l, sizeof l, NULL, NULL, NULL); \
                if (!same_##B(hi[i], h)) \
                    wrong(#A, "TO_" #B "_HI", i, &hi[i], &h, sizeof h, NULL, NULL, NULL); \
            } \
        } \
    }
/* Two vectors of B into one of A; v is the value. */
#define NARROWS(B, LB, op, A, LA, want_expr) \
    __attribute__((noinline)) static void narrows_##B##_##op##_##A(void) { \
        for (size_t trial = 0; trial < CONVERSIONS; trial++) { \
            LB x[2 * _##B##_SIZE]; \
            LA got[_##A##_SIZE]; \
            for (int half = 0; half < 2; half++) { \
                LB *const part = x + half * _##B##_SIZE; \
                FILL(B, part) \
                if (half == 0 && trial * _##B##_SIZE < EDGE_COUNT(edges_##B)) \
                    for (int i = 0; i < _##B##_SIZE; i++) \
                        part[i] = any_##B(); \
            } \
            _##A##_STORE(got, _##B##_##op##_##A(_##B##_LOAD(x), _##B##_LOAD(x + _##B##_SIZE))); \
            for (int i = 0; i < _##A##_SIZE; i++) { \
                const LB v = x[i]; \
                const LA want = (LA)(want_expr); \
                checks++; \
                if (!same_##A(got[i], want)) \
                    wrong(#B, #op "_" #A, i, &got[i], &want, sizeof want, NULL, NULL, NULL); \
            } \
        } \
    }
#define CONVERTS(A, LA, B, LB, want_expr) \
    __attribute__((noinline)) static void converts_##A##_##B(void) { \
        for (size_t trial = 0; trial < CONVERSIONS; trial++) { \
            LA x[_##A##_SIZE]; \
            LB got[_##B##_SIZE]; \
            FILL(A, x) \
            _##B##_STORE(got, _##A##_TO_##B(_##A##_LOAD(x))); \
            for (int i = 0; i < _##A##_SIZE; i++) { \
                const LA v = x[i]; \
                const LB want = (LB)(want_expr); \
                checks++; \
                if (!same_##B(got[i], want)) \
                    wrong(#A, "TO_" #B, i, &got[i], &want, sizeof want, &x[i], NULL, NULL); \
            } \
        } \
    }
#define FIT(v, least, most) ((v) < (least) ? (least) : (v) > (most) ? (most) : (v))

WIDENS(VI8, int8_t, VI16, int16_t)
WIDENS(VU8, uint8_t, VU16, uint16_t)
WIDENS(VI16, int16_t, VI32, int32_t)
WIDENS(VU16, uint16_t, VU32, uint32_t)
WIDENS(VI32, int32_t, VI64, int64_t)
WIDENS(VU32, uint32_t, VU64, uint64_t)
#if !HETMP_SIMD_APART_F32
WIDENS(VF32, float, VF64, double)
#endif
WIDENS(VI32, int32_t, VF64, double)
WIDENS(VU32, uint32_t, VF64, double)
NARROWS(VI16, int16_t, TO, VI8, int8_t, v)
NARROWS(VU16, uint16_t, TO, VU8, uint8_t, v)
NARROWS(VI32, int32_t, TO, VI16, int16_t, v)
NARROWS(VU32, uint32_t, TO, VU16, uint16_t, v)
NARROWS(VI64, int64_t, TO, VI32, int32_t, v)
NARROWS(VU64, uint64_t, TO, VU32, uint32_t, v)
NARROWS(VI16, int16_t, SAT, VI8, int8_t, FIT(v, -128, 127))
NARROWS(VI16, int16_t, SAT, VU8, uint8_t, FIT(v, 0, 255))
NARROWS(VU16, uint16_t, SAT, VU8, uint8_t, v > 255 ? 255 : v)
NARROWS(VI32, int32_t, SAT, VI16, int16_t, FIT(v, -32768, 32767))
NARROWS(VI32, int32_t, SAT, VU16, uint16_t, FIT(v, 0, 65535))
NARROWS(VU32, uint32_t, SAT, VU16, uint16_t, v > 65535 ? 65535 : v)
NARROWS(VI64, int64_t, SAT, VI32, int32_t, FIT(v, INT32_MIN, INT32_MAX))
NARROWS(VI64, int64_t, SAT, VU32, uint32_t, FIT(v, 0, (int64_t)UINT32_MAX))
NARROWS(VU64, uint64_t, SAT, VU32, uint32_t, v > UINT32_MAX ? UINT32_MAX : v)
#if HETMP_SIMD_APART_F32
CONVERTS(VF32, float, VF64, double, v)
CONVERTS(VF64, double, VF32, float, v)
#else
NARROWS(VF64, double, TO, VF32, float, v)
#endif
#define FIT_FLOAT(v, least, end, below, above, type) \
    ((v) != (v) ? (type)0 : (v) < (least) ? (below) : (v) >= (end) ? (above) : (type)(v))
NARROWS(VF64, double, TO, VI32, int32_t,
        FIT_FLOAT(v, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX, int32_t))
NARROWS(VF64, double, TO, VU32, uint32_t, FIT_FLOAT(v, 0, 0x1p32, 0u, UINT32_MAX, uint32_t))
#if HETMP_SIMD_APART_F32
CONVERTS(VIF32, int32_t, VF32, float, v)
CONVERTS(VUF32, uint32_t, VF32, float, v)
CONVERTS(VF32, float, VIF32, int32_t,
         FIT_FLOAT(v, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX, int32_t))
CONVERTS(VF32, float, VUF32, uint32_t, FIT_FLOAT(v, 0, 0x1p32f, 0u, UINT32_MAX, uint32_t))
#else
CONVERTS(VI32, int32_t, VF32, float, v)
CONVERTS(VU32, uint32_t, VF32, float, v)
CONVERTS(VF32, float, VI32, int32_t,
         FIT_FLOAT(v, -0x1p31f, 0x1p31f, INT32_MIN, INT32_MAX, int32_t))
CONVERTS(VF32, float, VU32, uint32_t, FIT_FLOAT(v, 0, 0x1p32f, 0u, UINT32_MAX, uint32_t))
#endif
CONVERTS(VI64, int64_t, VF64, double, v)
CONVERTS(VU64, uint64_t, VF64, double, v)
CONVERTS(VF64, double, VI64, int64_t,
         FIT_FLOAT(v, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX, int64_t))
CONVERTS(VF64, double, VU64, uint64_t,
         FIT_FLOAT(v, 0, 0x1p64, (uint64_t)0, UINT64_MAX, uint64_t))

/* Every pair of types: the bytes stay. */
#define AS(A, LA, B, LB) \
    do { \
        LA x[_##A##_SIZE]; \
        LB y[_##B##_SIZE]; \
        for (int i = 0; i < _##A##_SIZE; i++) \
            x[i] = any_##A(); \
        _##B##_STORE(y, _##A##_AS_##B(_##A##_LOAD(x))); \
        EXPECT(#A "_AS_" #B, memcmp(x, y, sizeof x) == 0 && sizeof x == sizeof y); \
    } while (0);
#define AS_8(A, LA) AS(A, LA, VI8, int8_t) AS(A, LA, VU8, uint8_t)
#define AS_16(A, LA) AS(A, LA, VI16, int16_t) AS(A, LA, VU16, uint16_t)
#define AS_32(A, LA) AS(A, LA, VI32, int32_t) AS(A, LA, VU32, uint32_t)
#define AS_64(A, LA) AS(A, LA, VI64, int64_t) AS(A, LA, VU64, uint64_t)
#if HETMP_SIMD_APART_F32
#define AS_F(A, LA) AS(A, LA, VF64, double)
#else
#define AS_F(A, LA) AS(A, LA, VF32, float) AS(A, LA, VF64, double)
#endif
static void test_bits(void) {
    AS(VI8, int8_t, VU8, uint8_t) AS_16(VI8, int8_t) AS_32(VI8, int8_t) AS_64(VI8, int8_t) AS_F(VI8, int8_t)
    AS(VU8, uint8_t, VI8, int8_t) AS_16(VU8, uint8_t) AS_32(VU8, uint8_t) AS_64(VU8, uint8_t) AS_F(VU8, uint8_t)
    AS(VI16, int16_t, VU16, uint16_t) AS_8(VI16, int16_t) AS_32(VI16, int16_t) AS_64(VI16, int16_t) AS_F(VI16, int16_t)
    AS(VU16, uint16_t, VI16, int16_t) AS_8(VU16, uint16_t) AS_32(VU16, uint16_t) AS_64(VU16, uint16_t)
        AS_F(VU16, uint16_t)
    AS(VI32, int32_t, VU32, uint32_t) AS_8(VI32, int32_t) AS_16(VI32, int32_t) AS_64(VI32, int32_t) AS_F(VI32, int32_t)
    AS(VU32, uint32_t, VI32, int32_t) AS_8(VU32, uint32_t) AS_16(VU32, uint32_t) AS_64(VU32, uint32_t)
        AS_F(VU32, uint32_t)
    AS(VI64, int64_t, VU64, uint64_t) AS_8(VI64, int64_t) AS_16(VI64, int64_t) AS_32(VI64, int64_t) AS_F(VI64, int64_t)
    AS(VU64, uint64_t, VI64, int64_t) AS_8(VU64, uint64_t) AS_16(VU64, uint64_t) AS_32(VU64, uint64_t)
        AS_F(VU64, uint64_t)
#if HETMP_SIMD_APART_F32
    AS(VF32, float, VIF32, int32_t) AS(VF32, float, VUF32, uint32_t) AS(VIF32, int32_t, VUF32, uint32_t)
    AS(VIF32, int32_t, VF32, float) AS(VUF32, uint32_t, VF32, float) AS(VUF32, uint32_t, VIF32, int32_t)
#else
    AS(VF32, float, VF64, double) AS_8(VF32, float) AS_16(VF32, float) AS_32(VF32, float) AS_64(VF32, float)
    AS(VF64, double, VF32, float)
#endif
    AS_8(VF64, double) AS_16(VF64, double) AS_32(VF64, double) AS_64(VF64, double)
}

static void test_conversions(void) {
    widens_VI8_VI16();
    widens_VU8_VU16();
    widens_VI16_VI32();
    widens_VU16_VU32();
    widens_VI32_VI64();
    widens_VU32_VU64();
    widens_VI32_VF64();
    widens_VU32_VF64();
    narrows_VI16_TO_VI8();
    narrows_VU16_TO_VU8();
    narrows_VI32_TO_VI16();
    narrows_VU32_TO_VU16();
    narrows_VI64_TO_VI32();
    narrows_VU64_TO_VU32();
    narrows_VI16_SAT_VI8();
    narrows_VI16_SAT_VU8();
    narrows_VU16_SAT_VU8();
    narrows_VI32_SAT_VI16();
    narrows_VI32_SAT_VU16();
    narrows_VU32_SAT_VU16();
    narrows_VI64_SAT_VI32();
    narrows_VI64_SAT_VU32();
    narrows_VU64_SAT_VU32();
#if HETMP_SIMD_APART_F32
    converts_VF32_VF64();
    converts_VF64_VF32();
    converts_VIF32_VF32();
    converts_VUF32_VF32();
    converts_VF32_VIF32();
    converts_VF32_VUF32();
#else
    widens_VF32_VF64();
    narrows_VF64_TO_VF32();
    converts_VI32_VF32();
    converts_VU32_VF32();
    converts_VF32_VI32();
    converts_VF32_VU32();
#endif
    narrows_VF64_TO_VI32();
    narrows_VF64_TO_VU32();
    converts_VI64_VF64();
    converts_VU64_VF64();
    converts_VF64_VI64();
    converts_VF64_VU64();
    for (int trial = 0; trial < 20; trial++)
        test_bits();
}
