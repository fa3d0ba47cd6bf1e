/* simd_kernels.c's kernels in Intel's intrinsics of 256 bits, as SIMDe (libsimde-dev) gives them to any processor. */
#include <simde/x86/avx2.h>
#include <simde/x86/fma.h>

#include "simd_peers.h"

/* SIMDe would otherwise call fma of the C library where the processor has none. */
#ifdef __FMA__
#define MULADD(a, b, c) simde_mm256_fmadd_ps(a, b, c)
#else
#define MULADD(a, b, c) simde_mm256_add_ps(simde_mm256_mul_ps(a, b), c)
#endif

__attribute__((aligned(64))) void simde_saxpy(float *y, const float *x, float a, size_t n) {
    const simde__m256 va = simde_mm256_set1_ps(a);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        simde_mm256_storeu_ps(y + i, MULADD(va, simde_mm256_loadu_ps(x + i), simde_mm256_loadu_ps(y + i)));
    for (; i < n; i++)
        y[i] = a * x[i] + y[i];
}

__attribute__((aligned(64))) float simde_dot(const float *x, const float *y, size_t n) {
    simde__m256 s0 = simde_mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    float part[8], sum = 0;
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        s0 = MULADD(simde_mm256_loadu_ps(x + i), simde_mm256_loadu_ps(y + i), s0);
        s1 = MULADD(simde_mm256_loadu_ps(x + i + 8), simde_mm256_loadu_ps(y + i + 8), s1);
        s2 = MULADD(simde_mm256_loadu_ps(x + i + 16), simde_mm256_loadu_ps(y + i + 16), s2);
        s3 = MULADD(simde_mm256_loadu_ps(x + i + 24), simde_mm256_loadu_ps(y + i + 24), s3);
    }
    simde_mm256_storeu_ps(part, simde_mm256_add_ps(simde_mm256_add_ps(s0, s1), simde_mm256_add_ps(s2, s3)));
    for (int k = 0; k < 8; k++)
        sum += part[k];
    for (; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

__attribute__((aligned(64))) void simde_mandelbrot(int32_t *counts, float x0, float step, float y, int n, int most) {
    const simde__m256 ci = simde_mm256_set1_ps(y), four = simde_mm256_set1_ps(4), two = simde_mm256_set1_ps(2);
    const simde__m256 lanes = simde_mm256_setr_ps(0, 1, 2, 3, 4, 5, 6, 7);
    for (int i = 0; i + 8 <= n; i += 8) {
        const simde__m256 at = simde_mm256_add_ps(simde_mm256_set1_ps((float)i), lanes);
        const simde__m256 cr = MULADD(at, simde_mm256_set1_ps(step), simde_mm256_set1_ps(x0));
        simde__m256 zr = simde_mm256_setzero_ps(), zi = simde_mm256_setzero_ps();
        simde__m256i count = simde_mm256_setzero_si256();
        for (int k = 0; k < most; k++) {
            const simde__m256 rr = simde_mm256_mul_ps(zr, zr), ii = simde_mm256_mul_ps(zi, zi);
            const simde__m256 in = simde_mm256_cmp_ps(simde_mm256_add_ps(rr, ii), four, SIMDE_CMP_LE_OS);
            if (!simde_mm256_movemask_ps(in))
                break;
            count = simde_mm256_sub_epi32(count, simde_mm256_castps_si256(in));
            zi = MULADD(simde_mm256_mul_ps(two, zr), zi, ci);
            zr = simde_mm256_add_ps(simde_mm256_sub_ps(rr, ii), cr);
        }
        simde_mm256_storeu_si256((simde__m256i *)(void *)(counts + i), count);
    }
}
