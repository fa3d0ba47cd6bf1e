/* What the tests of hetmp/simd.h share: values, comparison, the verdict. */
#ifndef SIMD_CHECK_H
#define SIMD_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS under -std=c11 */
#endif

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HETMP_SIMD_WARNINGS 1 /* the header must be clean without privileges */
#include <hetmp/simd.h>

/* The tests' own, also where the header is told that there are none. */
__extension__ typedef __int128 test_i128;
__extension__ typedef unsigned __int128 test_u128;

/* The reference must be code for one number at a time. */
#if defined(__clang__)
#define SCALAR _Pragma("clang loop vectorize(disable)")
#else
#define SCALAR
#endif

static unsigned long checks, failures;

static uint64_t random_state = 0x9e3779b97f4a7c15u;
static uint64_t random64(void) { /* xorshift64*: the same values in every run */
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545f4914f6cdd1du;
}

/* Keeps the compiler from knowing what a value is. */
#define OPAQUE(x) __asm__ volatile("" : "+r"(x))

__attribute__((noinline, cold, unused)) static void wrong(const char *type, const char *op, int lane,
                                                  const void *got, const void *want, size_t size,
                                                  const void *a, const void *b, const void *c) {
    const void *shown[5] = {got, want, a, b, c};
    static const char *const label[5] = {"got", "want", "a", "b", "c"};
    /* A few of each operation: a fault in one must not hide another's. */
    static const char *before;
    static int of_this;
    failures++;
    of_this = op == before ? of_this + 1 : 1;
    before = op;
    if (of_this > 3)
        return;
    printf("WRONG %s _%s_%s lane %d:", HETMP_SIMD_NAME, type, op, lane);
    for (int k = 0; k < 5; k++) {
        uint64_t bits = 0;
        if (!shown[k])
            continue;
        memcpy(&bits, shown[k], size);
        printf(" %s %0*llx", label[k], (int)size * 2, (unsigned long long)bits);
    }
    printf("\n");
}

#define EXPECT(what, condition) \
    do { \
        checks++; \
        if (!(condition)) { \
            if (++failures <= 400) \
                printf("WRONG %s %s: %s (line %d)\n", HETMP_SIMD_NAME, what, #condition, __LINE__); \
        } \
    } while (0)

/* The first byte of a page that nobody may touch, after one that everybody may. */
__attribute__((unused)) static void *guard_page(void) {
    static char *guarded;
    if (!guarded) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *const both = (char *)mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (both == (char *)MAP_FAILED || mprotect(both + page, page, PROT_NONE) != 0) {
            perror("guard page");
            exit(2);
        }
        guarded = both + page;
    }
    return guarded;
}

static int verdict(void) {
    printf("%s %d bits: %lu checks, %lu wrong\n", HETMP_SIMD_NAME, HETMP_SIMD_BITS, checks,
           failures);
    return failures != 0 || checks == 0;
}

#define EDGE_COUNT(e) (sizeof(e) / sizeof((e)[0]))

static const float edges_VF32[] = {
    0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -0.5f, 1.5f, 2.5f, -2.5f, -3.5f, 0.49999997f, -0.49999997f,
    0x1p-149f, -0x1p-149f, 0x1.fffffcp-127f, FLT_MIN, -FLT_MIN, FLT_MAX, -FLT_MAX, INFINITY,
    -INFINITY, NAN, -NAN, 8388607.5f, 8388608.0f, -8388608.0f, 8388609.0f, 16777216.0f,
    0x1p31f, -0x1p31f, 2147483520.0f, -2147483904.0f, 0x1p32f, 4294967040.0f, 0x1p63f, 0x1p64f,
    -0x1p63f, 127.5f, -128.5f, 255.0f, 3.14159274f, 1e10f, -1e-10f, FLT_EPSILON,
    __builtin_nansf("1"), -__builtin_nansf("0x2aaaaa"),
};
static const double edges_VF64[] = {
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, -3.5, 0.49999999999999994,
    -0.49999999999999994, 0x1p-1074, -0x1p-1074, 0x1.ffffffffffffep-1023, DBL_MIN, -DBL_MIN,
    DBL_MAX, -DBL_MAX, INFINITY, -INFINITY, NAN, -NAN, 4503599627370495.5, 4503599627370496.0,
    -4503599627370497.0, 9007199254740992.0, 0x1p31, -0x1p31, 2147483647.0, 2147483647.5,
    -2147483648.5, -2147483649.0, 0x1p32, 4294967295.0, 4294967295.5, 0x1p63, -0x1p63,
    9223372036854774784.0, -9223372036854777856.0, 0x1p64, 18446744073709549568.0, 16777217.0,
    0x1p128, 0x1.fffffefp127, 0x1.fffffffp127, 1e-40, 0x1p-150, 0x1.8p-149, 3.141592653589793,
    DBL_EPSILON, __builtin_nans("1"), -__builtin_nans("0x2aaaaaaaaaaaa"),
};
#define EDGES_SIGNED(W) \
    0, 1, 2, 3, 7, -1, -2, -3, W - 1, W, W + 1, 2 * W - 1, -W, INT##W##_MAX, INT##W##_MAX - 1, \
        INT##W##_MIN, INT##W##_MIN + 1, INT##W##_MAX / 2, INT##W##_MIN / 2, INT##W##_MAX / 3, 100, -100
#define EDGES_UNSIGNED(W) \
    0, 1, 2, 3, 7, W - 1, W, W + 1, 2 * W - 1, UINT##W##_MAX, UINT##W##_MAX - 1, UINT##W##_MAX / 2, \
        UINT##W##_MAX / 2 + 1, UINT##W##_MAX / 3, UINT##W##_MAX / 5, UINT##W##_MAX - W, 100, 200
static const int8_t edges_VI8[] = {EDGES_SIGNED(8)};
static const int16_t edges_VI16[] = {EDGES_SIGNED(16), 127, 128, -128, -129, 255, 256};
static const int32_t edges_VI32[] = {EDGES_SIGNED(32), 32767, 32768, -32768, -32769, 65535, 65536,
                                     16777217, -16777217};
static const int64_t edges_VI64[] = {EDGES_SIGNED(64), 2147483647, 2147483648, -2147483648,
                                     -2147483649, 4294967295, 4294967296, 9007199254740993,
                                     -9007199254740993};
static const uint8_t edges_VU8[] = {EDGES_UNSIGNED(8)};
static const uint16_t edges_VU16[] = {EDGES_UNSIGNED(16), 127, 128, 255, 256};
static const uint32_t edges_VU32[] = {EDGES_UNSIGNED(32), 32767, 32768, 65535, 65536, 16777217,
                                      4294967167, 4294967168};
static const uint64_t edges_VU64[] = {EDGES_UNSIGNED(64), 2147483648, 4294967295, 4294967296,
                                      9007199254740993, 18446744073709550591u};

#endif
