/* Arithmetic of IEEE 754 numbers in integers, for a program in the kernel, which has no floating point unit. Also
 * compiled for the processor, to be compared with its own unit (c-tests/goal-kernel/floats.c).
 *
 * Rounds to nearest, ties to even; subnormal numbers are numbers. Numbers, zeros and infinities are those of every unit
 * that follows the standard, to the bit. What is not a number is as on x86-64: the first operand that is none, made
 * quiet; or, of an operation without a result, the one with a sign and without a payload.
 *
 * A number has `m` bits after the point: 52 (binary64) or 23 (binary32). It is in the low bits of a word. */
#ifndef GOAL_FLOAT_H
#define GOAL_FLOAT_H
#include <linux/types.h>

#define GOAL_INLINE static __attribute__((always_inline)) inline

/* The numbers of `Arithmetic`. */
#define FLOAT_ADD 0
#define FLOAT_SUB 1
#define FLOAT_MUL 2
#define FLOAT_MAX 4
#define FLOAT_MIN 5

GOAL_INLINE __u64 float_sign(__u32 m) { return m == 52 ? 1ull << 63 : 1ull << 31; }
/* Every bit of the exponent: an infinity. */
GOAL_INLINE __u64 float_infinity(__u32 m) { return m == 52 ? 2047ull << 52 : 255ull << 23; }
GOAL_INLINE __u64 float_quiet(__u32 m) { return 1ull << (m - 1); }

/* 1 if x is not 0. Without a branch, here and below: the kernel follows every path of a program before it takes it. */
GOAL_INLINE __u64 float_any(__u64 x) { return (x | -x) >> 63; }

/* Shifts right; what falls out leaves its trace in the lowest bit. `by` is below 64. */
GOAL_INLINE __u64 float_shift(__u64 x, __u32 by) { return x >> by | float_any(x & ((1ull << by) - 1)); }

/* By how much `x`, which is not 0, can be shifted left. */
GOAL_INLINE __u32 float_zeros(__u64 x)
{
    __u32 n = 0, k;
    k = ((x >> 32) - 1) >> 63 << 5, n += k, x <<= k;
    k = ((x >> 48) - 1) >> 63 << 4, n += k, x <<= k;
    k = ((x >> 56) - 1) >> 63 << 3, n += k, x <<= k;
    k = ((x >> 60) - 1) >> 63 << 2, n += k, x <<= k;
    k = ((x >> 62) - 1) >> 63 << 1, n += k, x <<= k;
    return n + (x >> 63 ^ 1);
}

/* The number with this exponent, from 1, and significand: its first bit is bit m + 3, or below that if the exponent is
 * 1. Too large an exponent gives an infinity. */
GOAL_INLINE __u64 float_round(__u64 sign, __u32 exponent, __u64 s, __u32 m)
{
    __u64 x = s >> 3;
    /* Up, if the three bits after the last are more than a half, or a half and the last is 1. */
    x += ((s & 7) + (x & 1) + 3) >> 3;
    /* The first bit moves the exponent on by one; a subnormal number does not have it. */
    x += (__u64)(exponent - 1) << m;
    return sign | (x > float_infinity(m) ? float_infinity(m) : x);
}

GOAL_INLINE __u64 float_sum(__u64 a, __u64 b, __u64 flip, __u32 m)
{
    const __u64 top = float_sign(m), infinity = float_infinity(m), one = 1ull << m;
    __u64 x, y, sign, unlike, s;
    __u32 e, f, by;
    if ((a & ~top) > infinity)
        return a | float_quiet(m);
    if ((b & ~top) > infinity)
        return b | float_quiet(m);
    b ^= flip;
    if ((a & ~top) < (b & ~top)) {
        s = a;
        a = b;
        b = s;
    }
    sign = a & top;
    unlike = (a ^ b) & top;
    x = a & ~top;
    y = b & ~top;
    if (x == infinity)
        return y == infinity && unlike ? top | infinity | float_quiet(m) : a;
    e = x >> m;
    f = y >> m;
    x = (x & (one - 1)) | (e ? one : 0);
    y = (y & (one - 1)) | (f ? one : 0);
    e += e == 0;
    f += f == 0;
    x <<= 3;
    by = e - f;
    y = float_shift(y << 3, by > 63 ? 63 : by);
    if (!unlike) {
        s = x + y;
        if (s >> (m + 4)) {
            s = float_shift(s, 1);
            e++;
        }
        return float_round(sign, e, s, m);
    }
    s = x - y;
    if (s == 0)
        return 0;
    by = float_zeros(s) - (60 - m);
    if (by > e - 1)
        by = e - 1;
    return float_round(sign, e - by, s << (by & 63), m);
}

GOAL_INLINE __u64 float_product(__u64 a, __u64 b, __u32 m)
{
    const __u64 top = float_sign(m), infinity = float_infinity(m), one = 1ull << m, low = 0xffffffff;
    __u64 sign = (a ^ b) & top, x = a & ~top, y = b & ~top, t, u, v, high;
    __s32 e, f;
    __u32 by;
    if (x > infinity)
        return a | float_quiet(m);
    if (y > infinity)
        return b | float_quiet(m);
    if (x == infinity || y == infinity)
        return x && y ? sign | infinity : top | infinity | float_quiet(m);
    if (x == 0 || y == 0)
        return sign;
    e = x >> m;
    f = y >> m;
    x = (x & (one - 1)) | (e ? one : 0);
    y = (y & (one - 1)) | (f ? one : 0);
    /* The first bits of both to the top. */
    by = float_zeros(x);
    x <<= by;
    e = (e ? e : 1) + 63 - m - by;
    by = float_zeros(y);
    y <<= by;
    f = (f ? f : 1) + 63 - m - by;
    /* The product's upper 64 bits, and whether there are others. */
    t = (x & low) * (y & low);
    u = (x >> 32) * (y & low) + (t >> 32);
    v = (x & low) * (y >> 32) + (u & low);
    high = (x >> 32) * (y >> 32) + (u >> 32) + (v >> 32);
    t = v << 32 | (t & low);
    /* With the first bit on top, the product has the exponents' sum, less the bias. */
    e += f - (__s32)(infinity >> (m + 1)) + 1;
    if (!(high >> 63)) {
        high = high << 1 | t >> 63;
        t <<= 1;
        e--;
    }
    high |= t != 0;
    by = 60 - m;
    if (e < 1) {
        by += 1 - e;
        e = 1;
    }
    return float_round(sign, e, float_shift(high, by > 63 ? 63 : by), m);
}

/* The larger or, with `least`, the smaller number; if one is not a number, the other. A zero with a sign is smaller. */
GOAL_INLINE __u64 float_limit(__u64 a, __u64 b, __u32 least, __u32 m)
{
    const __u64 top = float_sign(m), infinity = float_infinity(m);
    __u64 x = a & top ? 2 * top - 1 - a : a | top, y = b & top ? 2 * top - 1 - b : b | top;
    if ((a & ~top) > infinity)
        return b;
    if ((b & ~top) > infinity)
        return a;
    return (x > y) == !least ? a : b;
}

GOAL_INLINE __u64 float_apply(__u32 arithmetic, __u64 a, __u64 b, __u32 m)
{
    switch (arithmetic) {
    case FLOAT_ADD: return float_sum(a, b, 0, m);
    case FLOAT_SUB: return float_sum(a, b, float_sign(m), m);
    case FLOAT_MUL: return float_product(a, b, m);
    case FLOAT_MAX: return float_limit(a, b, 0, m);
    case FLOAT_MIN: return float_limit(a, b, 1, m);
    }
    return a;
}

#endif
