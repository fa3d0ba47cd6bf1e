/* The kernels of simd_kernels.c written in Intel's intrinsics: what a programmer who has only one
 * instruction set in mind would write. MM and SI give the names of the width. */
#ifndef SIMD_RAW_H
#define SIMD_RAW_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "../apps/hash_simd.h" /* the hashes' constants alone */

#if HETMP_SIMD_BITS == 512
#define RAW_LANES 16
#define MM(name) _mm512_##name
#define SI(name) _mm512_##name##_si512
typedef __m512 raw_f;
typedef __m512i raw_i;
#elif HETMP_SIMD_BITS == 256
#define RAW_LANES 8
#define MM(name) _mm256_##name
#define SI(name) _mm256_##name##_si256
typedef __m256 raw_f;
typedef __m256i raw_i;
#else
#define RAW_LANES 4
#define MM(name) _mm_##name
#define SI(name) _mm_##name##_si128
typedef __m128 raw_f;
typedef __m128i raw_i;
#endif

#ifdef __FMA__
#define RAW_MULADD(a, b, c) MM(fmadd_ps)(a, b, c)
#else
#define RAW_MULADD(a, b, c) MM(add_ps)(MM(mul_ps)(a, b), c)
#endif

KERNEL void raw_saxpy(float *y, const float *x, float a, size_t n) {
    const raw_f va = MM(set1_ps)(a);
    size_t i = 0;
    for (; i + RAW_LANES <= n; i += RAW_LANES)
        MM(storeu_ps)(y + i, RAW_MULADD(va, MM(loadu_ps)(x + i), MM(loadu_ps)(y + i)));
    for (; i < n; i++)
        y[i] = a * x[i] + y[i];
}

KERNEL float raw_dot(const float *x, const float *y, size_t n) {
    raw_f s0 = MM(setzero_ps)(), s1 = s0, s2 = s0, s3 = s0;
    size_t i = 0;
    for (; i + 4 * RAW_LANES <= n; i += 4 * RAW_LANES) {
        s0 = RAW_MULADD(MM(loadu_ps)(x + i), MM(loadu_ps)(y + i), s0);
        s1 = RAW_MULADD(MM(loadu_ps)(x + i + RAW_LANES), MM(loadu_ps)(y + i + RAW_LANES), s1);
        s2 = RAW_MULADD(MM(loadu_ps)(x + i + 2 * RAW_LANES), MM(loadu_ps)(y + i + 2 * RAW_LANES), s2);
        s3 = RAW_MULADD(MM(loadu_ps)(x + i + 3 * RAW_LANES), MM(loadu_ps)(y + i + 3 * RAW_LANES), s3);
    }
    s0 = MM(add_ps)(MM(add_ps)(s0, s1), MM(add_ps)(s2, s3));
    /* Halves onto each other, as REDUCE_ADD does. */
#if HETMP_SIMD_BITS == 512
    const __m256 h = _mm256_add_ps(_mm512_castps512_ps256(s0), _mm512_extractf32x8_ps(s0, 1));
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
#elif HETMP_SIMD_BITS == 256
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(s0), _mm256_extractf128_ps(s0, 1));
#else
    __m128 q = s0;
#endif
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    q = _mm_add_ss(q, _mm_shuffle_ps(q, q, 1));
    float sum = _mm_cvtss_f32(q);
    for (; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* Iterations until |z| > 2, of a row of points from x0 on at height y. */
KERNEL void raw_mandelbrot(int32_t *counts, float x0, float step, float y, int n, int most) {
    const raw_f ci = MM(set1_ps)(y), four = MM(set1_ps)(4.0f), two = MM(set1_ps)(2.0f);
    float lane[RAW_LANES];
    for (int i = 0; i < RAW_LANES; i++)
        lane[i] = (float)i;
    const raw_f lanes = MM(loadu_ps)(lane);
    for (int i = 0; i + RAW_LANES <= n; i += RAW_LANES) {
        const raw_f at = MM(add_ps)(MM(set1_ps)((float)i), lanes);
        const raw_f cr = RAW_MULADD(at, MM(set1_ps)(step), MM(set1_ps)(x0));
        raw_f zr = MM(setzero_ps)(), zi = MM(setzero_ps)();
        raw_i count = SI(setzero)();
        for (int k = 0; k < most; k++) {
            const raw_f rr = MM(mul_ps)(zr, zr), ii = MM(mul_ps)(zi, zi);
            const raw_f size = MM(add_ps)(rr, ii);
#if HETMP_SIMD_BITS == 512
            const __mmask16 in = _mm512_cmp_ps_mask(size, four, _CMP_LE_OS);
            if (!in)
                break;
            count = _mm512_mask_add_epi32(count, in, count, _mm512_set1_epi32(1));
#elif HETMP_SIMD_BITS == 256
            const __m256 in = _mm256_cmp_ps(size, four, _CMP_LE_OS);
            if (!_mm256_movemask_ps(in))
                break;
            count = _mm256_sub_epi32(count, _mm256_castps_si256(in));
#else
            const __m128 in = _mm_cmple_ps(size, four);
            if (!_mm_movemask_ps(in))
                break;
            count = _mm_sub_epi32(count, _mm_castps_si128(in));
#endif
            zi = RAW_MULADD(MM(mul_ps)(two, zr), zi, ci);
            zr = MM(add_ps)(MM(sub_ps)(rr, ii), cr);
        }
        MM(storeu_ps)((float *)(counts + i), (raw_f)count);
    }
}

#if HETMP_SIMD_BITS == 512
#define RAW_ROTL(x, n) _mm512_rol_epi32(x, n)
#define RAW_ROTR(x, n) _mm512_ror_epi32(x, n)
#define RAW_CHOOSE(c, a, b) _mm512_ternarylogic_epi32(c, a, b, 0xca)
#else
#define RAW_ROTL(x, n) SI(or)(MM(slli_epi32)(x, n), MM(srli_epi32)(x, 32 - (n)))
#define RAW_ROTR(x, n) SI(or)(MM(srli_epi32)(x, n), MM(slli_epi32)(x, 32 - (n)))
#define RAW_CHOOSE(c, a, b) SI(xor)(SI(and)(SI(xor)(a, b), c), b)
#endif
#define RAW_MIX_F(x, y, z) RAW_CHOOSE(x, y, z)
#define RAW_MIX_G(x, y, z) RAW_CHOOSE(z, x, y)
#define RAW_MIX_H(x, y, z) SI(xor)(SI(xor)(x, y), z)
#define RAW_MIX_I(x, y, z) SI(xor)(y, SI(or)(x, SI(xor)(z, MM(set1_epi32)(-1))))
#define RAW_MD5_STEP(mix, a, b, c, d, word, turn, i) \
    do { \
        a = MM(add_epi32)(MM(add_epi32)(a, mix(b, c, d)), \
                          MM(add_epi32)(m[word], MM(set1_epi32)((int)md5_sine[i]))); \
        a = MM(add_epi32)(b, RAW_ROTL(a, turn)); \
    } while (0)

/* n groups of one block a lane (word i of all lanes, then word i + 1) into digests likewise. */
KERNEL void raw_md5(uint32_t *digests, const uint32_t *blocks, size_t n) {
    for (; n-- > 0; blocks += 16 * RAW_LANES, digests += 4 * RAW_LANES) {
        raw_i m[16];
        const raw_i a0 = MM(set1_epi32)((int)md5_initial[0]), b0 = MM(set1_epi32)((int)md5_initial[1]);
        const raw_i c0 = MM(set1_epi32)((int)md5_initial[2]), d0 = MM(set1_epi32)((int)md5_initial[3]);
        raw_i a = a0, b = b0, c = c0, d = d0;
        for (int i = 0; i < 16; i++)
            m[i] = SI(loadu)((const raw_i *)(blocks + i * RAW_LANES));
        RAW_MD5_STEP(RAW_MIX_F, a, b, c, d, 0, 7, 0);
        RAW_MD5_STEP(RAW_MIX_F, d, a, b, c, 1, 12, 1);
        RAW_MD5_STEP(RAW_MIX_F, c, d, a, b, 2, 17, 2);
        RAW_MD5_STEP(RAW_MIX_F, b, c, d, a, 3, 22, 3);
        RAW_MD5_STEP(RAW_MIX_F, a, b, c, d, 4, 7, 4);
        RAW_MD5_STEP(RAW_MIX_F, d, a, b, c, 5, 12, 5);
        RAW_MD5_STEP(RAW_MIX_F, c, d, a, b, 6, 17, 6);
        RAW_MD5_STEP(RAW_MIX_F, b, c, d, a, 7, 22, 7);
        RAW_MD5_STEP(RAW_MIX_F, a, b, c, d, 8, 7, 8);
        RAW_MD5_STEP(RAW_MIX_F, d, a, b, c, 9, 12, 9);
        RAW_MD5_STEP(RAW_MIX_F, c, d, a, b, 10, 17, 10);
        RAW_MD5_STEP(RAW_MIX_F, b, c, d, a, 11, 22, 11);
        RAW_MD5_STEP(RAW_MIX_F, a, b, c, d, 12, 7, 12);
        RAW_MD5_STEP(RAW_MIX_F, d, a, b, c, 13, 12, 13);
        RAW_MD5_STEP(RAW_MIX_F, c, d, a, b, 14, 17, 14);
        RAW_MD5_STEP(RAW_MIX_F, b, c, d, a, 15, 22, 15);
        RAW_MD5_STEP(RAW_MIX_G, a, b, c, d, 1, 5, 16);
        RAW_MD5_STEP(RAW_MIX_G, d, a, b, c, 6, 9, 17);
        RAW_MD5_STEP(RAW_MIX_G, c, d, a, b, 11, 14, 18);
        RAW_MD5_STEP(RAW_MIX_G, b, c, d, a, 0, 20, 19);
        RAW_MD5_STEP(RAW_MIX_G, a, b, c, d, 5, 5, 20);
        RAW_MD5_STEP(RAW_MIX_G, d, a, b, c, 10, 9, 21);
        RAW_MD5_STEP(RAW_MIX_G, c, d, a, b, 15, 14, 22);
        RAW_MD5_STEP(RAW_MIX_G, b, c, d, a, 4, 20, 23);
        RAW_MD5_STEP(RAW_MIX_G, a, b, c, d, 9, 5, 24);
        RAW_MD5_STEP(RAW_MIX_G, d, a, b, c, 14, 9, 25);
        RAW_MD5_STEP(RAW_MIX_G, c, d, a, b, 3, 14, 26);
        RAW_MD5_STEP(RAW_MIX_G, b, c, d, a, 8, 20, 27);
        RAW_MD5_STEP(RAW_MIX_G, a, b, c, d, 13, 5, 28);
        RAW_MD5_STEP(RAW_MIX_G, d, a, b, c, 2, 9, 29);
        RAW_MD5_STEP(RAW_MIX_G, c, d, a, b, 7, 14, 30);
        RAW_MD5_STEP(RAW_MIX_G, b, c, d, a, 12, 20, 31);
        RAW_MD5_STEP(RAW_MIX_H, a, b, c, d, 5, 4, 32);
        RAW_MD5_STEP(RAW_MIX_H, d, a, b, c, 8, 11, 33);
        RAW_MD5_STEP(RAW_MIX_H, c, d, a, b, 11, 16, 34);
        RAW_MD5_STEP(RAW_MIX_H, b, c, d, a, 14, 23, 35);
        RAW_MD5_STEP(RAW_MIX_H, a, b, c, d, 1, 4, 36);
        RAW_MD5_STEP(RAW_MIX_H, d, a, b, c, 4, 11, 37);
        RAW_MD5_STEP(RAW_MIX_H, c, d, a, b, 7, 16, 38);
        RAW_MD5_STEP(RAW_MIX_H, b, c, d, a, 10, 23, 39);
        RAW_MD5_STEP(RAW_MIX_H, a, b, c, d, 13, 4, 40);
        RAW_MD5_STEP(RAW_MIX_H, d, a, b, c, 0, 11, 41);
        RAW_MD5_STEP(RAW_MIX_H, c, d, a, b, 3, 16, 42);
        RAW_MD5_STEP(RAW_MIX_H, b, c, d, a, 6, 23, 43);
        RAW_MD5_STEP(RAW_MIX_H, a, b, c, d, 9, 4, 44);
        RAW_MD5_STEP(RAW_MIX_H, d, a, b, c, 12, 11, 45);
        RAW_MD5_STEP(RAW_MIX_H, c, d, a, b, 15, 16, 46);
        RAW_MD5_STEP(RAW_MIX_H, b, c, d, a, 2, 23, 47);
        RAW_MD5_STEP(RAW_MIX_I, a, b, c, d, 0, 6, 48);
        RAW_MD5_STEP(RAW_MIX_I, d, a, b, c, 7, 10, 49);
        RAW_MD5_STEP(RAW_MIX_I, c, d, a, b, 14, 15, 50);
        RAW_MD5_STEP(RAW_MIX_I, b, c, d, a, 5, 21, 51);
        RAW_MD5_STEP(RAW_MIX_I, a, b, c, d, 12, 6, 52);
        RAW_MD5_STEP(RAW_MIX_I, d, a, b, c, 3, 10, 53);
        RAW_MD5_STEP(RAW_MIX_I, c, d, a, b, 10, 15, 54);
        RAW_MD5_STEP(RAW_MIX_I, b, c, d, a, 1, 21, 55);
        RAW_MD5_STEP(RAW_MIX_I, a, b, c, d, 8, 6, 56);
        RAW_MD5_STEP(RAW_MIX_I, d, a, b, c, 15, 10, 57);
        RAW_MD5_STEP(RAW_MIX_I, c, d, a, b, 6, 15, 58);
        RAW_MD5_STEP(RAW_MIX_I, b, c, d, a, 13, 21, 59);
        RAW_MD5_STEP(RAW_MIX_I, a, b, c, d, 4, 6, 60);
        RAW_MD5_STEP(RAW_MIX_I, d, a, b, c, 11, 10, 61);
        RAW_MD5_STEP(RAW_MIX_I, c, d, a, b, 2, 15, 62);
        RAW_MD5_STEP(RAW_MIX_I, b, c, d, a, 9, 21, 63);
        SI(storeu)((raw_i *)digests, MM(add_epi32)(a, a0));
        SI(storeu)((raw_i *)(digests + RAW_LANES), MM(add_epi32)(b, b0));
        SI(storeu)((raw_i *)(digests + 2 * RAW_LANES), MM(add_epi32)(c, c0));
        SI(storeu)((raw_i *)(digests + 3 * RAW_LANES), MM(add_epi32)(d, d0));
    }
}

#define RAW_SHA256_WORD(i) \
    do { \
        const raw_i x = w[((i) + 1) % 16], y = w[((i) + 14) % 16]; \
        const raw_i low = SI(xor)(SI(xor)(RAW_ROTR(x, 7), RAW_ROTR(x, 18)), MM(srli_epi32)(x, 3)); \
        const raw_i high = SI(xor)(SI(xor)(RAW_ROTR(y, 17), RAW_ROTR(y, 19)), MM(srli_epi32)(y, 10)); \
        w[i] = MM(add_epi32)(MM(add_epi32)(w[i], low), MM(add_epi32)(w[((i) + 9) % 16], high)); \
    } while (0)
#define RAW_SHA256_ROUND(a, b, c, d, e, f, g, h, i) \
    do { \
        const raw_i turned_e = SI(xor)(SI(xor)(RAW_ROTR(e, 6), RAW_ROTR(e, 11)), RAW_ROTR(e, 25)); \
        const raw_i turned_a = SI(xor)(SI(xor)(RAW_ROTR(a, 2), RAW_ROTR(a, 13)), RAW_ROTR(a, 22)); \
        const raw_i key = MM(add_epi32)(w[i], MM(set1_epi32)((int)sha256_cube_root[t + (i)])); \
        const raw_i one = MM(add_epi32)(MM(add_epi32)(h, turned_e), \
                                        MM(add_epi32)(RAW_CHOOSE(e, f, g), key)); \
        d = MM(add_epi32)(d, one); \
        h = MM(add_epi32)(one, MM(add_epi32)(turned_a, RAW_CHOOSE(SI(xor)(a, b), c, b))); \
    } while (0)

KERNEL void raw_sha256(uint32_t *digests, const uint32_t *blocks, size_t n) {
    for (; n-- > 0; blocks += 16 * RAW_LANES, digests += 8 * RAW_LANES) {
        raw_i w[16], state[8];
        for (int i = 0; i < 8; i++)
            state[i] = MM(set1_epi32)((int)sha256_initial[i]);
        raw_i a = state[0], b = state[1], c = state[2], d = state[3];
        raw_i e = state[4], f = state[5], g = state[6], h = state[7];
        for (int i = 0; i < 16; i++)
            w[i] = SI(loadu)((const raw_i *)(blocks + i * RAW_LANES));
        for (int t = 0; t < 64; t += 16) {
            if (t) {
                RAW_SHA256_WORD(0);
                RAW_SHA256_WORD(1);
                RAW_SHA256_WORD(2);
                RAW_SHA256_WORD(3);
                RAW_SHA256_WORD(4);
                RAW_SHA256_WORD(5);
                RAW_SHA256_WORD(6);
                RAW_SHA256_WORD(7);
                RAW_SHA256_WORD(8);
                RAW_SHA256_WORD(9);
                RAW_SHA256_WORD(10);
                RAW_SHA256_WORD(11);
                RAW_SHA256_WORD(12);
                RAW_SHA256_WORD(13);
                RAW_SHA256_WORD(14);
                RAW_SHA256_WORD(15);
            }
            RAW_SHA256_ROUND(a, b, c, d, e, f, g, h, 0);
            RAW_SHA256_ROUND(h, a, b, c, d, e, f, g, 1);
            RAW_SHA256_ROUND(g, h, a, b, c, d, e, f, 2);
            RAW_SHA256_ROUND(f, g, h, a, b, c, d, e, 3);
            RAW_SHA256_ROUND(e, f, g, h, a, b, c, d, 4);
            RAW_SHA256_ROUND(d, e, f, g, h, a, b, c, 5);
            RAW_SHA256_ROUND(c, d, e, f, g, h, a, b, 6);
            RAW_SHA256_ROUND(b, c, d, e, f, g, h, a, 7);
            RAW_SHA256_ROUND(a, b, c, d, e, f, g, h, 8);
            RAW_SHA256_ROUND(h, a, b, c, d, e, f, g, 9);
            RAW_SHA256_ROUND(g, h, a, b, c, d, e, f, 10);
            RAW_SHA256_ROUND(f, g, h, a, b, c, d, e, 11);
            RAW_SHA256_ROUND(e, f, g, h, a, b, c, d, 12);
            RAW_SHA256_ROUND(d, e, f, g, h, a, b, c, 13);
            RAW_SHA256_ROUND(c, d, e, f, g, h, a, b, 14);
            RAW_SHA256_ROUND(b, c, d, e, f, g, h, a, 15);
        }
        const raw_i last[8] = {a, b, c, d, e, f, g, h};
        for (int i = 0; i < 8; i++)
            SI(storeu)((raw_i *)(digests + i * RAW_LANES), MM(add_epi32)(state[i], last[i]));
    }
}

#endif
