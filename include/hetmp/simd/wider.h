/* Part of hetmp/simd.h: products and sums in lanes wider than their operands', and floats of 16 bits.
 * A backend that has its own says #define HETMP_OWN_VI16_MULEVEN 1 etc. Not for direct inclusion. */

/* The even, the odd lanes of v, of W bits, each in a lane of B of twice the width, by a shift that keeps the value. */
#define HETMP_EVENS(v, B, UB, W) ((_##B)((_##UB)(v) << W) >> W)
#define HETMP_ODDS(v, B, W) ((_##B)(v) >> W)

/* _A_MULEVEN(a, b), _A_MULODD(a, b): the exact products of the even, the odd lanes of A, in lanes of twice the
 * width, signed as A is; A of 8, 16 or 32 bits. */
#define HETMP_PRODUCTS(A, B, UB, W) \
    HETMP_SIMD_FN _##B _##A##_MULEVEN(_##A a, _##A b) { \
        return _##B##_MUL(HETMP_EVENS(a, B, UB, W), HETMP_EVENS(b, B, UB, W)); \
    } \
    HETMP_SIMD_FN _##B _##A##_MULODD(_##A a, _##A b) { \
        return _##B##_MUL(HETMP_ODDS(a, B, W), HETMP_ODDS(b, B, W)); \
    }
#ifndef HETMP_OWN_VI8_MULEVEN
HETMP_PRODUCTS(VI8, VI16, VU16, 8)
#endif
#ifndef HETMP_OWN_VU8_MULEVEN
HETMP_PRODUCTS(VU8, VU16, VU16, 8)
#endif
#ifndef HETMP_OWN_VI16_MULEVEN
HETMP_PRODUCTS(VI16, VI32, VU32, 16)
#endif
#ifndef HETMP_OWN_VU16_MULEVEN
HETMP_PRODUCTS(VU16, VU32, VU32, 16)
#endif
#ifndef HETMP_OWN_VI32_MULEVEN
HETMP_PRODUCTS(VI32, VI64, VU64, 32)
#endif
#ifndef HETMP_OWN_VU32_MULEVEN
HETMP_PRODUCTS(VU32, VU64, VU64, 32)
#endif

/* _VU8_SAD(a, b): a _VU64; each lane is the sum of the absolute differences of its 8 bytes.
 * _VI16_DOT(a, b): a _VI32; lane i is a[2 i] * b[2 i] + a[2 i + 1] * b[2 i + 1], modulo 2 to the 32.
 * _VI16_DOTADD(a, b, c): that and c[i]. _VI8_DOTADD, _VU8_DOTADD: likewise of four products; c is a _VI32, a _VU32. */
#ifndef HETMP_OWN_VU8_SAD
HETMP_SIMD_FN _VU64 _VU8_SAD(_VU8 a, _VU8 b) {
    const _VU16 apart = (_VU16)_VU8_ABSDIFF(a, b);
    _VU64 sum = (_VU64)((apart & 0xff) + (apart >> 8));
    sum += sum >> 32;
    return (sum + (sum >> 16)) & 0xffff;
}
#endif
#ifndef HETMP_OWN_VI16_DOT
HETMP_SIMD_FN _VI32 _VI16_DOT(_VI16 a, _VI16 b) {
    return _VI32_ADD(_VI16_MULEVEN(a, b), _VI16_MULODD(a, b));
}
#endif
#ifndef HETMP_OWN_VI16_DOTADD
HETMP_SIMD_FN _VI32 _VI16_DOTADD(_VI16 a, _VI16 b, _VI32 c) { return _VI32_ADD(_VI16_DOT(a, b), c); }
#endif
/* Bytes of either kind are numbers of 16 bits with a sign. */
#define HETMP_DOT_BYTES(A, B, C) \
    HETMP_SIMD_FN _##C _##A##_DOTADD(_##A a, _##A b, _##C c) { \
        const _VI16 even = (_VI16)HETMP_EVENS(a, B, VU16, 8), odd = (_VI16)HETMP_ODDS(a, B, 8); \
        const _VI32 first = _VI16_DOTADD(even, (_VI16)HETMP_EVENS(b, B, VU16, 8), (_VI32)c); \
        return (_##C)_VI16_DOTADD(odd, (_VI16)HETMP_ODDS(b, B, 8), first); \
    }
#ifndef HETMP_OWN_VI8_DOTADD
HETMP_DOT_BYTES(VI8, VI16, VI32)
#endif
#ifndef HETMP_OWN_VU8_DOTADD
HETMP_DOT_BYTES(VU8, VU16, VU32)
#endif

/* _VF32_FROM_F16_LO(v), _VF32_FROM_F16_HI(v): the lower, the upper half of the lanes of a _VU16, read as IEEE 754
 * binary16; exact. _VF32_FROM_BF16_LO, _VF32_FROM_BF16_HI: likewise bfloat16, the upper half of the bits.
 * _VF32_TO_F16(lo, hi), _VF32_TO_BF16(lo, hi): a _VU16, rounded to the nearest, ties to even, also where the
 * result is a denormal; past the largest number an infinity. All keep a NaN's sign and its payload's upper bits, and
 * make it quiet, save the two _FROM_BF16, which keep all bits. None of them on SW26010. */
#if !HETMP_SIMD_APART_F32
#ifndef HETMP_OWN_VF32_FROM_F16
HETMP_SIMD_FN _VF32 hetmp_from_f16(_VU32 v) {
    const _VU32 size = v & 0x7fff;
    /* Exponents differ by 112, and by as much again for what is no number. Denormals are multiples of 2^-24. */
    const _VU32 whole = _VU32_ADD(_VU32_SHL(size, 13), _VU32_SET1(112u << 23));
    const _VU32 other = (whole + (112u << 23)) | _VU32_SELECT(_VU32_GT(size, _VU32_SET1(0x7c00)),
                                                             _VU32_SET1(0x400000), _VU32_ZERO());
    const _VU32 small = (_VU32)_VF32_MUL(_VI32_TO_VF32((_VI32)size), _VF32_SET1(5.9604644775390625e-8f));
    const _VU32 r = _VU32_SELECT(_VU32_LT(size, _VU32_SET1(0x400)), small,
                                 _VU32_SELECT(_VU32_LT(size, _VU32_SET1(0x7c00)), whole, other));
    return (_VF32)(r | _VU32_SHL(v & 0x8000, 16));
}
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_LO(_VU16 v) { return hetmp_from_f16(_VU16_TO_VU32_LO(v)); }
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_HI(_VU16 v) { return hetmp_from_f16(_VU16_TO_VU32_HI(v)); }
#endif
#ifndef HETMP_OWN_VF32_TO_F16
HETMP_SIMD_FN _VU32 hetmp_to_f16(_VF32 v) {
    const _VU32 bits = (_VU32)v, size = bits & 0x7fffffff;
    const _VU32 even = size + 0xfff + ((size >> 13) & 1);
    /* Of 0.5 and more the last bit is 2^-24, that of denormals here. */
    const _VU32 small = (_VU32)_VF32_ADD((_VF32)size, _VF32_SET1(0.5f)) - 0x3f000000u;
    _VU32 r = _VU32_SELECT(_VU32_LT(size, _VU32_SET1(0x38800000)), small, (even - (112u << 23)) >> 13);
    r = _VU32_SELECT(_VU32_GE(size, _VU32_SET1(0x477ff000)), _VU32_SET1(0x7c00), r);
    r = _VU32_SELECT(_VU32_GT(size, _VU32_SET1(0x7f800000)), ((size >> 13) & 0x3ff) | 0x7e00, r);
    return r | ((bits >> 16) & 0x8000);
}
HETMP_SIMD_FN _VU16 _VF32_TO_F16(_VF32 lo, _VF32 hi) {
    return _VU32_TO_VU16(hetmp_to_f16(lo), hetmp_to_f16(hi));
}
#endif
#ifndef HETMP_OWN_VF32_FROM_BF16
HETMP_SIMD_FN _VF32 _VF32_FROM_BF16_LO(_VU16 v) { return (_VF32)_VU16_INTERLEAVE_LO(v ^ v, v); }
HETMP_SIMD_FN _VF32 _VF32_FROM_BF16_HI(_VU16 v) { return (_VF32)_VU16_INTERLEAVE_HI(v ^ v, v); }
#endif
#ifndef HETMP_OWN_VF32_TO_BF16
HETMP_SIMD_FN _VU32 hetmp_to_bf16(_VF32 v) {
    const _VU32 bits = (_VU32)v, even = bits + 0x7fff + ((bits >> 16) & 1);
    const _VM32 number = _VU32_LE(bits & 0x7fffffff, _VU32_SET1(0x7f800000));
    return _VU32_SELECT(number, even, bits | 0x400000);
}
HETMP_SIMD_FN _VU16 _VF32_TO_BF16(_VF32 lo, _VF32 hi) {
    return _VU16_ODD((_VU16)hetmp_to_bf16(lo), (_VU16)hetmp_to_bf16(hi));
}
#endif
#endif

#undef HETMP_EVENS
#undef HETMP_ODDS
#undef HETMP_PRODUCTS
#undef HETMP_DOT_BYTES
