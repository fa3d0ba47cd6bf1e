/* The arithmetic of the program in the kernel, which has integers only, against the processor's unit: equal bits. The
 * argument is the number of pairs for each operation and type. */
#include "../../runtime/goal-kernel/bpf/float.h"
#include "../goal/gtest.h"
#include <inttypes.h>
#include <stdint.h>

static uint64_t state = 88172645463325252u;

static uint64_t any(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return (state ^= state << 17) * 0x2545f4914f6cdd1du;
}

/* A number of `bits` bits, `m` of them after the point. Random bits alone hardly ever meet: many pairs have exponents
 * close to each other or at an end of what there is, and significands with few bits, whose sums and products are ties.
 * */
static uint64_t number(uint32_t m, uint64_t near)
{
    uint64_t r = any(), exponents = m == 52 ? 2047 : 255, sign = r >> 63 << (m == 52 ? 63 : 31), e, s;
    switch (r & 7) {
    case 0: e = any() % (exponents + 1); break;
    case 1: e = (r >> 8) % 4; break;
    case 2: e = exponents - (r >> 8) % 4; break;
    case 3: e = exponents / 2 + (r >> 8) % m - m / 2; break;
    /* So that the product is near the smallest numbers. */
    case 4: e = (exponents / 2 - (near >> m & exponents) + (r >> 8) % (2 * m) - m) & exponents; break;
    default: e = ((near >> m) + (r >> 8) % (2 * m + 8) - m - 4) & exponents;
    }
    s = any();
    switch (r >> 3 & 7) {
    case 0: s = 0; break;
    case 1: s = 1ull << s % m; break;
    case 2: s = -(1ull << s % m); break;
    case 3: s = near ^ 1ull << s % m; break;
    case 4: s &= any() & any(); break;
    case 5: s &= -(1ull << any() % m); break;
    }
    return sign | e << m | (s & ((1ull << m) - 1));
}

#if defined(__x86_64__)
/* In assembler: a compiler may exchange operands, and then what is not a number is the other one. */
#define UNIT(name, instruction, type)                                                                                  \
    static type name(type a, type b)                                                                                   \
    {                                                                                                                  \
        __asm__(instruction " %1, %0" : "+x"(a) : "x"(b));                                                             \
        return a;                                                                                                      \
    }
UNIT(add64, "addsd", double)
UNIT(sub64, "subsd", double)
UNIT(mul64, "mulsd", double)
UNIT(add32, "addss", float)
UNIT(sub32, "subss", float)
UNIT(mul32, "mulss", float)
static const int same_nan = 1;
#else
static double add64(double a, double b) { return a + b; }
static double sub64(double a, double b) { return a - b; }
static double mul64(double a, double b) { return a * b; }
static float add32(float a, float b) { return a + b; }
static float sub32(float a, float b) { return a - b; }
static float mul32(float a, float b) { return a * b; }
static const int same_nan = 0;
#endif

/* As goal.h has it. */
#define LIMIT(name, type, word, above, both)                                                                           \
    static type name(type a, type b)                                                                                   \
    {                                                                                                                  \
        word x, y;                                                                                                     \
        memcpy(&x, &a, sizeof a);                                                                                      \
        memcpy(&y, &b, sizeof b);                                                                                      \
        if (a == b)                                                                                                    \
            x = x both y, memcpy(&a, &x, sizeof a);                                                                    \
        return a != a ? b : b != b ? a : a == b ? a : a above b ? a : b;                                               \
    }
LIMIT(max64, double, uint64_t, >, &)
LIMIT(min64, double, uint64_t, <, |)
LIMIT(max32, float, uint32_t, >, &)
LIMIT(min32, float, uint32_t, <, |)

static double (*const of_double[])(double, double) = {add64, sub64, mul64, NULL, max64, min64};
static float (*const of_float[])(float, float) = {add32, sub32, mul32, NULL, max32, min32};

static uint64_t unit(int operation, uint64_t a, uint64_t b, uint32_t m)
{
    if (m == 52) {
        double x, y;
        memcpy(&x, &a, 8);
        memcpy(&y, &b, 8);
        x = of_double[operation](x, y);
        memcpy(&a, &x, 8);
        return a;
    } else {
        uint32_t v = (uint32_t)a, w = (uint32_t)b;
        float x, y;
        memcpy(&x, &v, 4);
        memcpy(&y, &w, 4);
        x = of_float[operation](x, y);
        memcpy(&v, &x, 4);
        return v;
    }
}

static void compare(int operation, uint64_t a, uint64_t b, uint32_t m)
{
    uint64_t here = float_apply(operation, a, b, m), there = unit(operation, a, b, m);
    uint64_t below = float_sign(m) - 1;
    if (!same_nan && (here & below) > float_infinity(m) && (there & below) > float_infinity(m))
        here = there;
    gtest_checks++;
    if (here == there)
        return;
    fprintf(stderr, "floats: %d bits, operation %d of %" PRIx64 " and %" PRIx64, m == 52 ? 64 : 32, operation, a, b);
    fprintf(stderr, ": %" PRIx64 " (expected %" PRIx64 ")\n", here, there);
    exit(1);
}

int main(int argc, char **argv)
{
    static const int operations[] = {FLOAT_ADD, FLOAT_SUB, FLOAT_MUL, FLOAT_MAX, FLOAT_MIN};
    static const uint32_t points[] = {52, 23};
    long pairs = argc > 1 ? atol(argv[1]) : 100000, i;
    /* Zeros, the smallest and largest subnormal and normal numbers, infinities, and what is not a number. */
    uint64_t ends[20], a, b;
    int n, k, t;
    if (argc > 2)
        state ^= strtoull(argv[2], NULL, 0) * 0x9e3779b97f4a7c15u;
    for (t = 0; t < 2; t++) {
        const uint32_t m = points[t];
        const uint64_t one = 1ull << m, infinity = float_infinity(m), top = float_sign(m);
        const uint64_t nan = infinity | one / 2 | 5;
        const uint64_t some[] = {0, 1, one - 1, one, one + 1, infinity - 1, infinity, infinity + 1, nan};
        for (n = 0; n < 18; n++)
            ends[n] = some[n / 2] | (n % 2 ? top : 0);
        for (k = 0; k < 5; k++) {
            for (i = 0; i < 18 * 18; i++)
                compare(operations[k], ends[i / 18], ends[i % 18], m);
            for (i = 0; i < pairs; i++) {
                a = number(m, any());
                b = number(m, a);
                compare(operations[k], a, b, m);
            }
        }
    }
    printf("floats: passed, %ld checks\n", gtest_checks);
    return 0;
}
