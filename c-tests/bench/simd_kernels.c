/* Kernels in hetmp/simd.h against the same kernels in intrinsics, in turns, in one run; three of them in SIMDe and in
 * Highway, too, where -DHAVE_SIMDE or -DHAVE_HIGHWAY says that simd_simde.c or simd_highway.cc is linked.
 *
 *     simd_kernels [ROUNDS]     times: for each kernel the median, least and most of each version
 *     simd_kernels --check      results only: all must agree
 *
 * Prints one line for each kernel and other version: backend, kernel, version, nanoseconds a call (median least most)
 * of simd.h and of the other, and the median of the rounds' ratios. Compile with -O2 and a backend's flags (-mavx2
 * -mfma). Away from x86 there are no intrinsics here, and only results are printed. */
#ifndef _GNU_SOURCE /* g++ says so itself */
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HETMP_SIMD_WARNINGS 1 /* the header must be clean without privileges */
#include <hetmp/simd.h>

#include "../apps/hash_simd.h"

/* Nothing that the caller knows may shape a kernel; and all begin at a cache line, or a loop
 * that happens to cross one costs 6 % (seen with saxpy on SSE2, of equal instructions). */
#ifdef __clang__
#define KERNEL __attribute__((noinline, aligned(64)))
#else
#define KERNEL __attribute__((noipa, aligned(64)))
#endif

#if (HETMP_SIMD_ID == HETMP_SIMD_ID_sse2 || HETMP_SIMD_ID == HETMP_SIMD_ID_avx2 || \
     HETMP_SIMD_ID == HETMP_SIMD_ID_avx512)
#include "simd_raw.h"
#define HAVE_RAW 1
#else
#define HAVE_RAW 0
#endif
#include "simd_peers.h"
#ifndef HAVE_SIMDE
#define HAVE_SIMDE 0
#endif
#ifndef HAVE_HIGHWAY
#define HAVE_HIGHWAY 0
#endif


KERNEL void simd_saxpy(float *y, const float *x, float a, size_t n) {
    const _VF32 va = _VF32_SET1(a);
    size_t i = 0;
    for (; i + _VF32_SIZE <= n; i += _VF32_SIZE)
        _VF32_STORE(y + i, _VF32_MULADD(va, _VF32_LOAD(x + i), _VF32_LOAD(y + i)));
    for (; i < n; i++)
        y[i] = a * x[i] + y[i];
}

KERNEL float simd_dot(const float *x, const float *y, size_t n) {
    _VF32 s0 = _VF32_ZERO(), s1 = s0, s2 = s0, s3 = s0;
    size_t i = 0;
    for (; i + 4 * _VF32_SIZE <= n; i += 4 * _VF32_SIZE) {
        s0 = _VF32_MULADD(_VF32_LOAD(x + i), _VF32_LOAD(y + i), s0);
        s1 = _VF32_MULADD(_VF32_LOAD(x + i + _VF32_SIZE), _VF32_LOAD(y + i + _VF32_SIZE), s1);
        s2 = _VF32_MULADD(_VF32_LOAD(x + i + 2 * _VF32_SIZE), _VF32_LOAD(y + i + 2 * _VF32_SIZE), s2);
        s3 = _VF32_MULADD(_VF32_LOAD(x + i + 3 * _VF32_SIZE), _VF32_LOAD(y + i + 3 * _VF32_SIZE), s3);
    }
    float sum = _VF32_REDUCE_ADD(_VF32_ADD(_VF32_ADD(s0, s1), _VF32_ADD(s2, s3)));
    for (; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

KERNEL void simd_mandelbrot(int32_t *counts, float x0, float step, float y, int n, int most) {
    const _VF32 ci = _VF32_SET1(y), four = _VF32_SET1(4.0f), two = _VF32_SET1(2.0f);
    for (int i = 0; i + _VF32_SIZE <= n; i += _VF32_SIZE) {
        const _VF32 at = _VF32_ADD(_VF32_SET1((float)i), _VF32_IOTA());
        const _VF32 cr = _VF32_MULADD(at, _VF32_SET1(step), _VF32_SET1(x0));
        _VF32 zr = _VF32_ZERO(), zi = _VF32_ZERO();
        _VI32 count = _VI32_ZERO();
        for (int k = 0; k < most; k++) {
            const _VF32 rr = _VF32_MUL(zr, zr), ii = _VF32_MUL(zi, zi);
            const _VM32 in = _VF32_LE(_VF32_ADD(rr, ii), four);
            if (!_VM32_ANY(in))
                break;
            count = _VI32_INC(count, in);
            zi = _VF32_MULADD(_VF32_MUL(two, zr), zi, ci);
            zr = _VF32_ADD(_VF32_SUB(rr, ii), cr);
        }
        _VI32_STORE(counts + i, count);
    }
}

KERNEL void simd_md5(uint32_t *digests, const uint32_t *blocks, size_t n) {
    for (; n-- > 0; blocks += 16 * _VU32_SIZE, digests += 4 * _VU32_SIZE) {
        _VU32 block[16], state[4];
        for (int i = 0; i < 16; i++)
            block[i] = _VU32_LOAD(blocks + i * _VU32_SIZE);
        md5_start_lanes(state);
        md5_block_lanes(state, block);
        for (int i = 0; i < 4; i++)
            _VU32_STORE(digests + i * _VU32_SIZE, state[i]);
    }
}

KERNEL void simd_sha256(uint32_t *digests, const uint32_t *blocks, size_t n) {
    for (; n-- > 0; blocks += 16 * _VU32_SIZE, digests += 8 * _VU32_SIZE) {
        _VU32 block[16], state[8];
        for (int i = 0; i < 16; i++)
            block[i] = _VU32_LOAD(blocks + i * _VU32_SIZE);
        sha256_start_lanes(state);
        sha256_block_lanes(state, block);
        for (int i = 0; i < 8; i++)
            _VU32_STORE(digests + i * _VU32_SIZE, state[i]);
    }
}

#define FLOATS 4096
#define WIDE 512
#define GROUPS 16
static float xs[FLOATS] __attribute__((aligned(128))), ys[FLOATS] __attribute__((aligned(128)));
static int32_t counts[WIDE] __attribute__((aligned(128)));
static uint32_t blocks[GROUPS * 16 * _VU32_SIZE] __attribute__((aligned(128)));
static uint32_t digests[GROUPS * 8 * _VU32_SIZE] __attribute__((aligned(128)));
static volatile float sink;

static void reset(void) {
    uint32_t r = 1;
    for (int i = 0; i < FLOATS; i++) {
        r = r * 1664525u + 1013904223u;
        xs[i] = (float)(r >> 8) / 16777216.0f - 0.5f;
        ys[i] = (float)(r >> 10) / 4194304.0f;
    }
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        blocks[i] = r = r * 1664525u + 1013904223u;
}

/* One call of kernel k in one version; the same arguments, the same arrays. */
enum { SAXPY, DOT, MANDELBROT, MD5, SHA256, KERNELS };
static const char *const names[KERNELS] = {"saxpy", "dot", "mandelbrot", "md5", "sha256"};
enum { OURS, RAW, SIMDE, HIGHWAY, VERSIONS };
static const char *const versions[VERSIONS] = {"simd.h", "intrinsics", "SIMDe", "Highway"};
static int there(int k, int version) {
    const int has[VERSIONS] = {1, HAVE_RAW, HAVE_SIMDE && k <= MANDELBROT, HAVE_HIGHWAY && k <= MANDELBROT};
    return has[version];
}
#define SAXPY_ARGUMENTS (ys, xs, 1e-6f, FLOATS)
#define DOT_ARGUMENTS (xs, ys, FLOATS)
#define MANDELBROT_ARGUMENTS (counts, -2.0f, 3.0f / WIDE, 0.3f, WIDE, 200)
#define THREE(library) \
    if (k == SAXPY) \
        library##_saxpy SAXPY_ARGUMENTS; \
    else if (k == DOT) \
        sink = library##_dot DOT_ARGUMENTS; \
    else if (k == MANDELBROT) \
        library##_mandelbrot MANDELBROT_ARGUMENTS;
#define ALL(library) \
    THREE(library) \
    else if (k == MD5) \
        library##_md5(digests, blocks, GROUPS); \
    else \
        library##_sha256(digests, blocks, GROUPS);
static void call(int k, int version) {
    if (version == OURS) {
        ALL(simd)
    }
#if HAVE_RAW
    if (version == RAW) {
        ALL(raw)
    }
#endif
#if HAVE_SIMDE
    if (version == SIMDE) {
        THREE(simde)
    }
#endif
#if HAVE_HIGHWAY
    if (version == HIGHWAY) {
        THREE(highway)
    }
#endif
}

/* What a kernel leaves behind, as one number. */
static uint64_t result(int k, int version) {
    uint64_t h = 1469598103934665603u;
    float dot;
    const void *part = ys;
    size_t size = sizeof ys;
    reset();
    memset(counts, 0, sizeof counts);
    memset(digests, 0, sizeof digests);
    call(k, version);
    switch (k) {
    case SAXPY: break;
    case DOT: dot = sink, part = &dot, size = sizeof dot; break;
    case MANDELBROT: part = counts, size = sizeof counts; break;
    default: part = digests, size = sizeof digests; break;
    }
    for (size_t i = 0; i < size; i++)
        h = (h ^ ((const unsigned char *)part)[i]) * 1099511628211u;
    return h;
}

#if HAVE_RAW
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static double timed(int k, int version, int calls) {
    const double from = now();
    for (int i = 0; i < calls; i++)
        call(k, version);
    return (now() - from) / calls;
}
static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median, least and most. */
static void summary(double *t, int rounds) {
    qsort(t, (size_t)rounds, sizeof *t, ascending);
    printf(" %.1f %.1f %.1f", t[rounds / 2], t[0], t[rounds - 1]);
}

static int measure(int rounds) {
    const size_t size = (size_t)rounds * sizeof(double);
    double *const t = (double *)malloc((VERSIONS + 2) * size);
    if (!t)
        return 2;
    double *const ours = t + VERSIONS * rounds, *const ratio = ours + rounds;
    for (int k = 0; k < KERNELS; k++) {
        int calls = 1;
        reset();
        while (timed(k, OURS, calls) * calls < 5e5) /* half a millisecond each time */
            calls *= 2;
        for (int r = 0; r < rounds; r++)
            for (int i = 0; i < VERSIONS; i++) { /* none is always the first */
                const int v = (r + i) % VERSIONS;
                if (there(k, v))
                    t[v * rounds + r] = timed(k, v, calls);
            }
        for (int v = RAW; v < VERSIONS; v++) {
            if (!there(k, v))
                continue;
            double *const theirs = t + v * rounds;
            memcpy(ours, t, size);
            for (int r = 0; r < rounds; r++)
                ratio[r] = ours[r] / theirs[r];
            qsort(ratio, (size_t)rounds, sizeof *ratio, ascending);
            printf("%s %s %s", HETMP_SIMD_NAME, names[k], versions[v]);
            summary(ours, rounds);
            summary(theirs, rounds);
            printf(" %.4f\n", ratio[rounds / 2]);
        }
    }
    free(t);
    return 0;
}
#endif

int main(int argc, char **argv) {
    int wrong = 0;
    for (int k = 0; k < KERNELS; k++) {
        const uint64_t ours = result(k, OURS);
        const float sum = sink;
        for (int v = RAW; v < VERSIONS; v++) {
            if (!there(k, v))
                continue;
            /* The other libraries' sums have other orders. */
            const int same = result(k, v) == ours;
            if (!same && !(k == DOT && v > RAW && sink / sum > 0.999f && sink / sum < 1.001f)) {
                fprintf(stderr, "hetmp: kernel %s: the results of simd.h and of %s differ\n", names[k], versions[v]);
                wrong = 1;
            }
        }
        if (argc > 1 && strcmp(argv[1], "--check") == 0)
            printf("%s %s %016llx\n", HETMP_SIMD_NAME, names[k], (unsigned long long)ours);
    }
    if (wrong || (argc > 1 && strcmp(argv[1], "--check") == 0))
        return wrong;
    const long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 101;
    if (rounds < 1 || rounds > 100000) {
        fprintf(stderr, "hetmp: rounds %s: out of range (expected 1 to 100000, or --check)\n", argv[1]);
        return 2;
    }
#if HAVE_RAW
    return measure((int)rounds);
#else
    fprintf(stderr, "hetmp: backend %s: times are taken on sse2, avx2 and avx512\n", HETMP_SIMD_NAME);
    return 2;
#endif
}
