/* Three of simd_kernels.c's kernels as users of two other libraries would write them, where these are installed. */
#ifndef SIMD_PEERS_H
#define SIMD_PEERS_H

#include <stddef.h>
#include <stdint.h>

#define PEER(library) \
    void library##_saxpy(float *y, const float *x, float a, size_t n); \
    float library##_dot(const float *x, const float *y, size_t n); \
    void library##_mandelbrot(int32_t *counts, float x0, float step, float y, int n, int most);

#ifdef __cplusplus
extern "C" {
#endif
PEER(simde)
PEER(highway)
#ifdef __cplusplus
}
#endif

#endif
