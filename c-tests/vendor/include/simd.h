/* Stand-in for SW26010's simd.h: what include/hetmp/simd/sw26010.h uses of it, executed by the machine that compiles
 * this. On the chip a floatv4 is 16 bytes in memory; in a register its four lanes are as wide as those of a doublev4.
 */
#ifndef STANDIN_SW_SIMD_H
#define STANDIN_SW_SIMD_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A chip passes its vectors in registers; the compiler of this machine says that it does not. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef float floatv4 __attribute__((vector_size(16)));
typedef double doublev4 __attribute__((vector_size(32)));
typedef int intv8 __attribute__((vector_size(32)));
typedef unsigned int uintv8 __attribute__((vector_size(32)));

/* Aligned: an address that the chip traps on ends the program. */
#define simd_load(v, p) \
    ((uintptr_t)(p) % sizeof(v) ? abort() : (void)0, (void)((v) = *(__typeof__(v) *)(void *)(uintptr_t)(p)))
#define simd_store(v, p) \
    ((uintptr_t)(p) % sizeof(v) ? abort() : (void)0, (void)(*(__typeof__(v) *)(void *)(uintptr_t)(p) = (v)))
#define simd_loadu(v, p) ((void)memcpy(&(v), (p), sizeof(v)))
#define simd_storeu(v, p) ((void)memcpy((p), &(v), sizeof(v)))

#define SW_FN static inline __attribute__((always_inline, unused))
SW_FN floatv4 simd_set_floatv4(float a, float b, float c, float d) {
    const floatv4 v = {a, b, c, d};
    return v;
}
SW_FN doublev4 simd_set_doublev4(double a, double b, double c, double d) {
    const doublev4 v = {a, b, c, d};
    return v;
}
SW_FN intv8 simd_set_intv8(int a, int b, int c, int d, int e, int f, int g, int h) {
    const intv8 v = {a, b, c, d, e, f, g, h};
    return v;
}

/* Arithmetic: each lane on its own, multiply-and-add rounded once. */
#define SW_LANES(type, x) \
    type r = {0}; \
    for (int i = 0; i < 4; i++) r[i] = (x); \
    return r;
#define SW_FLOATS(v, s, f) \
    SW_FN v simd_vadd##s(v a, v b) { SW_LANES(v, a[i] + b[i]) } \
    SW_FN v simd_vsub##s(v a, v b) { SW_LANES(v, a[i] - b[i]) } \
    SW_FN v simd_vmul##s(v a, v b) { SW_LANES(v, a[i] * b[i]) } \
    SW_FN v simd_vdiv##s(v a, v b) { SW_LANES(v, a[i] / b[i]) } \
    SW_FN v simd_vsqrt##s(v a) { SW_LANES(v, sqrt##f(a[i])) } \
    SW_FN v simd_vma##s(v a, v b, v c) { SW_LANES(v, fma##f(a[i], b[i], c[i])) } \
    SW_FN v simd_vms##s(v a, v b, v c) { SW_LANES(v, fma##f(a[i], b[i], -c[i])) } \
    SW_FN v simd_vnma##s(v a, v b, v c) { SW_LANES(v, fma##f(-a[i], b[i], c[i])) }
SW_FLOATS(floatv4, s, f)
SW_FLOATS(doublev4, d, )

/* The following take both floating types. */
#define SW_PAIR(x, y, expr) \
    __extension__({ \
        __typeof__(x) a_ = (x), r_ = a_; \
        const __typeof__(x) b_ = (y); \
        for (int i_ = 0; i_ < 4; i_++) r_[i_] = (expr); \
        r_; \
    })
/* True is 2, the chip's number for it. */
#define simd_vfcmpeq(x, y) SW_PAIR(x, y, a_[i_] == b_[i_] ? 2 : 0)
#define simd_vfcmplt(x, y) SW_PAIR(x, y, a_[i_] < b_[i_] ? 2 : 0)
#define simd_vfcmple(x, y) SW_PAIR(x, y, a_[i_] <= b_[i_] ? 2 : 0)
#define simd_vfcmpun(x, y) SW_PAIR(x, y, a_[i_] != a_[i_] || b_[i_] != b_[i_] ? 2 : 0)
/* The sign of the first, or its opposite, and the rest of the second: bits are moved, not numbers. */
#define SW_SIGNED(x, y, flip) \
    __extension__({ \
        __typeof__(x) s_ = (x), v_ = (y); \
        for (int i_ = 0; i_ < 4; i_++) { \
            unsigned char *t_ = (unsigned char *)&v_ + (i_ + 1) * (sizeof(v_) / 4) - 1; \
            const unsigned char from_ = ((unsigned char *)&s_)[(i_ + 1) * (sizeof(v_) / 4) - 1]; \
            *t_ = (unsigned char)((*t_ & 0x7f) | ((from_ ^ (flip)) & 0x80)); \
        } \
        v_; \
    })
#define simd_vcpys(x, y) SW_SIGNED(x, y, 0)
#define simd_vcpysn(x, y) SW_SIGNED(x, y, 0x80)
/* y where c is 0 (of either sign), else z; bits are moved. */
#define simd_vseleq(c, y, z)                                                                                      \
    __extension__({                                                                                               \
        const __typeof__(y) c_ = (c);                                                                             \
        __typeof__(y) y_ = (y), z_ = (z);                                                                         \
        for (int i_ = 0; i_ < 4; i_++)                                                                            \
            if (c_[i_] == 0)                                                                                      \
                memcpy((char *)&z_ + i_ * (sizeof(z_) / 4), (char *)&y_ + i_ * (sizeof(z_) / 4), sizeof(z_) / 4); \
        z_;                                                                                                       \
    })
#define simd_vshff(x, y, n) \
    __extension__({ \
        const __typeof__(x) x_ = (x), y_ = (y); \
        __typeof__((x) + (y)) r_; /* not const, where x is */ \
        const size_t w_ = sizeof(r_) / 4; \
        memcpy((char *)&r_, (const char *)&y_ + ((n) & 3) * w_, w_); \
        memcpy((char *)&r_ + w_, (const char *)&y_ + ((n) >> 2 & 3) * w_, w_); \
        memcpy((char *)&r_ + 2 * w_, (const char *)&x_ + ((n) >> 4 & 3) * w_, w_); \
        memcpy((char *)&r_ + 3 * w_, (const char *)&x_ + ((n) >> 6 & 3) * w_, w_); \
        r_; \
    })

SW_FN intv8 simd_vaddw(intv8 a, intv8 b) { return (intv8)((uintv8)a + (uintv8)b); }
SW_FN intv8 simd_vsubw(intv8 a, intv8 b) { return (intv8)((uintv8)a - (uintv8)b); }
SW_FN intv8 simd_vandw(intv8 a, intv8 b) { return a & b; }
SW_FN intv8 simd_vbisw(intv8 a, intv8 b) { return a | b; }
SW_FN intv8 simd_vxorw(intv8 a, intv8 b) { return a ^ b; }
SW_FN intv8 simd_vbicw(intv8 a, intv8 b) { return a & ~b; }
SW_FN intv8 simd_vornotw(intv8 a, intv8 b) { return a | ~b; }
/* The chip takes a count's low five bits. */
SW_FN intv8 simd_vsllw(intv8 a, int n) { return (intv8)((uintv8)a << (unsigned)(n & 31)); }
SW_FN intv8 simd_vsrlw(intv8 a, int n) { return (intv8)((uintv8)a >> (unsigned)(n & 31)); }
SW_FN intv8 simd_vsraw(intv8 a, int n) { return a >> (n & 31); }
#undef SW_FLOATS
#undef SW_LANES

#endif
