/* Part of hetmp/simd.h: SW26010's 256-bit registers, by the names of its compiler's <simd.h>.
 * Operators of the vector types do the rest. Not for direct inclusion.
 *
 * The names and what they compute are from public sources: the header that the chip's gcc brings, and its use in
 * published programs. Of an operation with two readings (simd_vnmss: the order of its two roundings of sign) another
 * one is used. The slaves have no comparison and no choice of integers; those are the common text's. */

#define HETMP_S1(T, op, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { return name(a); }
#define HETMP_S2(T, op, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { return name(a, b); }
#define HETMP_S3(T, op, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b, _##T c) { return name(a, b, c); }

/* Loads and stores: aligned to the register's bytes in memory, or to a lane. */
#define HETMP_OWN_F_LOADA 1
#define HETMP_OWN_F_STOREA 1
#define HETMP_OWN_VI32_LOADA 1
#define HETMP_OWN_VI32_STOREA 1
#define HETMP_SMEMORY(T, L) \
    HETMP_SIMD_FN _##T _##T##_LOADA(const L *p) { \
        _##T v; \
        simd_load(v, (L *)(uintptr_t)p); \
        return v; \
    } \
    HETMP_SIMD_FN void _##T##_STOREA(L *p, _##T v) { simd_store(v, p); }
HETMP_SMEMORY(VF32, float)
HETMP_SMEMORY(VF64, double)
HETMP_SMEMORY(VI32, int32_t)
#undef HETMP_SMEMORY

#define HETMP_OWN_F_SET1 1
HETMP_SIMD_FN _VF32 _VF32_SET1(float x) { return simd_set_floatv4(x, x, x, x); }
HETMP_SIMD_FN _VF64 _VF64_SET1(double x) { return simd_set_doublev4(x, x, x, x); }
#define HETMP_OWN_VI32_SET1 1
HETMP_SIMD_FN _VI32 _VI32_SET1(int32_t x) { return simd_set_intv8(x, x, x, x, x, x, x, x); }

#define HETMP_OWN_F_ADD 1
#define HETMP_OWN_F_SUB 1
#define HETMP_OWN_F_MUL 1
#define HETMP_OWN_F_DIV 1
#define HETMP_OWN_F_SQRT 1
#define HETMP_OWN_F_FMA 1
#define HETMP_OWN_F_FMS 1
#define HETMP_OWN_F_FNMA 1
#define HETMP_OWN_F_FNMS 1
#define HETMP_OWN_F_NEG 1
#define HETMP_OWN_F_COPYSIGN 1
/* simd_vcpys takes the sign of its first operand, simd_vcpysn the other sign; the rest is the second's. */
#define HETMP_SFLOAT(T, s) \
    HETMP_S2(T, ADD, simd_vadd##s) \
    HETMP_S2(T, SUB, simd_vsub##s) \
    HETMP_S2(T, MUL, simd_vmul##s) \
    HETMP_S2(T, DIV, simd_vdiv##s) \
    HETMP_S1(T, SQRT, simd_vsqrt##s) \
    HETMP_S3(T, FMA, simd_vma##s) \
    HETMP_S3(T, FMS, simd_vms##s) \
    HETMP_S3(T, FNMA, simd_vnma##s) \
    HETMP_SIMD_FN _##T _##T##_NEG(_##T a) { return simd_vcpysn(a, a); } \
    HETMP_SIMD_FN _##T _##T##_COPYSIGN(_##T a, _##T b) { return simd_vcpys(b, a); } \
    HETMP_SIMD_FN _##T _##T##_FNMS(_##T a, _##T b, _##T c) { \
        return simd_vms##s(simd_vcpysn(a, a), b, c); \
    }
HETMP_SFLOAT(VF32, s)
HETMP_SFLOAT(VF64, d)
#undef HETMP_SFLOAT

/* A comparison gives a number that is 0 where it does not hold. simd_vseleq(c, x, y) is x where c is
 * 0, and y elsewhere: it makes lanes of ones and zeroes of that, and chooses by them. */
#define HETMP_OWN_F_EQ 1
#define HETMP_OWN_F_NE 1
#define HETMP_OWN_F_LT 1
#define HETMP_OWN_F_LE 1
#define HETMP_OWN_F_GT 1
#define HETMP_OWN_F_GE 1
#define HETMP_OWN_F_ISNAN 1
#define HETMP_OWN_F_SELECT 1
#define HETMP_SCOMPARE(T, M) \
    HETMP_SIMD_FN _##M hetmp_##T##_truth(_##T c, int when_zero) { \
        const _##M none = {0}; \
        const _##M all = ~none; \
        return when_zero ? (_##M)simd_vseleq(c, (_##T)all, (_##T)none) \
                         : (_##M)simd_vseleq(c, (_##T)none, (_##T)all); \
    } \
    HETMP_SIMD_FN _##M _##T##_EQ(_##T a, _##T b) { return hetmp_##T##_truth(simd_vfcmpeq(a, b), 0); } \
    HETMP_SIMD_FN _##M _##T##_NE(_##T a, _##T b) { return hetmp_##T##_truth(simd_vfcmpeq(a, b), 1); } \
    HETMP_SIMD_FN _##M _##T##_LT(_##T a, _##T b) { return hetmp_##T##_truth(simd_vfcmplt(a, b), 0); } \
    HETMP_SIMD_FN _##M _##T##_LE(_##T a, _##T b) { return hetmp_##T##_truth(simd_vfcmple(a, b), 0); } \
    HETMP_SIMD_FN _##M _##T##_GT(_##T a, _##T b) { return hetmp_##T##_truth(simd_vfcmplt(b, a), 0); } \
    HETMP_SIMD_FN _##M _##T##_GE(_##T a, _##T b) { return hetmp_##T##_truth(simd_vfcmple(b, a), 0); } \
    HETMP_SIMD_FN _##M _##T##_ISNAN(_##T a) { return hetmp_##T##_truth(simd_vfcmpun(a, a), 0); } \
    HETMP_SIMD_FN _##T _##T##_SELECT(_##M m, _##T a, _##T b) { return simd_vseleq((_##T)m, b, a); }
HETMP_SCOMPARE(VF32, VMF32)
HETMP_SCOMPARE(VF64, VM64)
#undef HETMP_SCOMPARE

/* simd_vshff(x, y, n): the two lower lanes of the result are lanes n & 3 and n >> 2 & 3 of y, the
 * upper ones n >> 4 & 3 and n >> 6 of x. */
#define HETMP_OWN_F_REVERSE 1
#define HETMP_OWN_F_SWAP 1
#define HETMP_OWN_F_INTERLEAVE_LO 1
#define HETMP_OWN_F_INTERLEAVE_HI 1
#define HETMP_OWN_F_EVEN 1
#define HETMP_OWN_F_ODD 1
#define HETMP_SSHUFFLE(T) \
    HETMP_SIMD_FN _##T _##T##_REVERSE(_##T v) { return simd_vshff(v, v, 0x1b); } \
    HETMP_SIMD_FN _##T _##T##_SWAP(_##T v) { return simd_vshff(v, v, 0xb1); } \
    HETMP_SIMD_FN _##T _##T##_INTERLEAVE_LO(_##T a, _##T b) { \
        const _##T both = simd_vshff(b, a, 0x44); \
        return simd_vshff(both, both, 0xd8); \
    } \
    HETMP_SIMD_FN _##T _##T##_INTERLEAVE_HI(_##T a, _##T b) { \
        const _##T both = simd_vshff(b, a, 0xee); \
        return simd_vshff(both, both, 0xd8); \
    } \
    HETMP_SIMD_FN _##T _##T##_EVEN(_##T a, _##T b) { return simd_vshff(b, a, 0x88); } \
    HETMP_SIMD_FN _##T _##T##_ODD(_##T a, _##T b) { return simd_vshff(b, a, 0xdd); }
HETMP_SSHUFFLE(VF32)
HETMP_SSHUFFLE(VF64)
#undef HETMP_SSHUFFLE

/* Integers: what the slaves have is for 32-bit lanes; logic serves all widths. */
#define HETMP_OWN_VI32_ADD 1
#define HETMP_OWN_VI32_SUB 1
#define HETMP_OWN_VU32_ADD 1
#define HETMP_OWN_VU32_SUB 1
HETMP_S2(VI32, ADD, simd_vaddw)
HETMP_S2(VI32, SUB, simd_vsubw)
HETMP_SIMD_FN _VU32 _VU32_ADD(_VU32 a, _VU32 b) { return (_VU32)simd_vaddw((intv8)a, (intv8)b); }
HETMP_SIMD_FN _VU32 _VU32_SUB(_VU32 a, _VU32 b) { return (_VU32)simd_vsubw((intv8)a, (intv8)b); }
#define HETMP_SLOGIC(T) \
    HETMP_SIMD_FN _##T _##T##_AND(_##T a, _##T b) { return (_##T)simd_vandw((intv8)a, (intv8)b); } \
    HETMP_SIMD_FN _##T _##T##_OR(_##T a, _##T b) { return (_##T)simd_vbisw((intv8)a, (intv8)b); } \
    HETMP_SIMD_FN _##T _##T##_XOR(_##T a, _##T b) { return (_##T)simd_vxorw((intv8)a, (intv8)b); } \
    HETMP_SIMD_FN _##T _##T##_ANDNOT(_##T a, _##T b) { return (_##T)simd_vbicw((intv8)b, (intv8)a); } \
    HETMP_SIMD_FN _##T _##T##_NOT(_##T a) { return (_##T)simd_vornotw((intv8)(a ^ a), (intv8)a); }
#define HETMP_SLOGIC_OF(W) HETMP_SLOGIC(VI##W) HETMP_SLOGIC(VU##W)
HETMP_SLOGIC_OF(8)
HETMP_SLOGIC_OF(16)
HETMP_SLOGIC_OF(32)
HETMP_SLOGIC_OF(64)
#undef HETMP_SLOGIC
#undef HETMP_SLOGIC_OF
#define HETMP_OWN_VI8_AND 1
#define HETMP_OWN_VI8_OR 1
#define HETMP_OWN_VI8_XOR 1
#define HETMP_OWN_VI8_ANDNOT 1
#define HETMP_OWN_VI8_NOT 1
#define HETMP_OWN_VI16_AND 1
#define HETMP_OWN_VI16_OR 1
#define HETMP_OWN_VI16_XOR 1
#define HETMP_OWN_VI16_ANDNOT 1
#define HETMP_OWN_VI16_NOT 1
#define HETMP_OWN_VI32_AND 1
#define HETMP_OWN_VI32_OR 1
#define HETMP_OWN_VI32_XOR 1
#define HETMP_OWN_VI32_ANDNOT 1
#define HETMP_OWN_VI32_NOT 1
#define HETMP_OWN_VI64_AND 1
#define HETMP_OWN_VI64_OR 1
#define HETMP_OWN_VI64_XOR 1
#define HETMP_OWN_VI64_ANDNOT 1
#define HETMP_OWN_VI64_NOT 1
#define HETMP_OWN_VU8_AND 1
#define HETMP_OWN_VU8_OR 1
#define HETMP_OWN_VU8_XOR 1
#define HETMP_OWN_VU8_ANDNOT 1
#define HETMP_OWN_VU8_NOT 1
#define HETMP_OWN_VU16_AND 1
#define HETMP_OWN_VU16_OR 1
#define HETMP_OWN_VU16_XOR 1
#define HETMP_OWN_VU16_ANDNOT 1
#define HETMP_OWN_VU16_NOT 1
#define HETMP_OWN_VU32_AND 1
#define HETMP_OWN_VU32_OR 1
#define HETMP_OWN_VU32_XOR 1
#define HETMP_OWN_VU32_ANDNOT 1
#define HETMP_OWN_VU32_NOT 1
#define HETMP_OWN_VU64_AND 1
#define HETMP_OWN_VU64_OR 1
#define HETMP_OWN_VU64_XOR 1
#define HETMP_OWN_VU64_ANDNOT 1
#define HETMP_OWN_VU64_NOT 1
/* A count is less than 32. */
#define HETMP_OWN_VI32_SHL 1
#define HETMP_OWN_VU32_SHL 1
#define HETMP_OWN_VI32_SHR 1
#define HETMP_OWN_VU32_SHR 1
HETMP_SIMD_FN _VI32 _VI32_SHL(_VI32 v, unsigned n) { return n < 32 ? (_VI32)simd_vsllw(v, (int)n) : v ^ v; }
HETMP_SIMD_FN _VU32 _VU32_SHL(_VU32 v, unsigned n) {
    return n < 32 ? (_VU32)simd_vsllw((intv8)v, (int)n) : v ^ v;
}
HETMP_SIMD_FN _VI32 _VI32_SHR(_VI32 v, unsigned n) { return (_VI32)simd_vsraw(v, n < 32 ? (int)n : 31); }
HETMP_SIMD_FN _VU32 _VU32_SHR(_VU32 v, unsigned n) {
    return n < 32 ? (_VU32)simd_vsrlw((intv8)v, (int)n) : v ^ v;
}
#undef HETMP_S1
#undef HETMP_S2
#undef HETMP_S3
