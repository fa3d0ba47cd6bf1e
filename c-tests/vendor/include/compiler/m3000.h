/* Stand-in for MT-3000's compiler/m3000.h: what include/hetmp/simd/mt3000.h and published kernels use of it, executed
 * by the machine that compiles this. A lvector has 1024 bits; gcc's operators work on it. */
#ifndef STANDIN_M3000_H
#define STANDIN_M3000_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* The chip passes its vectors in registers; the compiler of this machine says that it does not. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define lvector __attribute__((vector_size(128)))

/* The vector at a distance in bytes; vectors of array memory are aligned. */
#define M_AT(distance, p) \
    __extension__({ \
        char *at_ = (char *)(uintptr_t)(p) + (distance); \
        if ((uintptr_t)at_ % 128) abort(); \
        at_; \
    })
#define vec_ld(distance, p) (*(__typeof__(*(p)) *)(void *)M_AT(distance, p))
#define vec_st(v, distance, p) ((void)(*(__typeof__(*(p)) *)(void *)M_AT(distance, p) = (v)))

/* A number in every lane; the lanes are as wide as the number. */
#define vec_svbcast(x) \
    __extension__({ \
        const __typeof__((x) + 0) x_ = (x); \
        __typeof__((x) + 0) v_ __attribute__((vector_size(128))); \
        for (unsigned i_ = 0; i_ < 128 / sizeof x_; i_++) v_[i_] = x_; \
        v_; \
    })
#define vec_add(a, b) ((a) + (b))
#define vec_muli(a, b) ((a) * (b))
#define vec_neg(a) (-(a))

static inline double m_fma(double a, double b, double c, int wide) {
    return wide ? fma(a, b, c) : fmaf((float)a, (float)b, (float)c);
}
#define M_FUSED(a, b, c, sign) \
    __extension__({ \
        __typeof__(c) a_ = (a), b_ = (b), c_ = (c); \
        for (unsigned i_ = 0; i_ < 128 / sizeof a_[0]; i_++) \
            a_[i_] = (__typeof__(a_[0]))m_fma(a_[i_], b_[i_], sign c_[i_], sizeof a_[0] == 8); \
        a_; \
    })
/* a * b + c, and a * b - c, rounded once. */
#define vec_mula(a, b, c) M_FUSED(a, b, c, +)
#define vec_mulb(a, b, c) M_FUSED(a, b, c, -)

#endif
