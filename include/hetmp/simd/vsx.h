/* Part of hetmp/simd.h: POWER's vectors (VSX of POWER8 and later, little-endian). The compiler turns operators on
 * vectors of 128 bits into VSX's instructions; this is the rest. Not for direct inclusion. */

/* <altivec.h>'s own types: our vectors are cast to and from these only. */
typedef __vector signed char hetmp_pv_VI8;
typedef __vector signed short hetmp_pv_VI16;
typedef __vector signed int hetmp_pv_VI32;
typedef __vector signed long long hetmp_pv_VI64;
typedef __vector unsigned char hetmp_pv_VU8;
typedef __vector unsigned short hetmp_pv_VU16;
typedef __vector unsigned int hetmp_pv_VU32;
typedef __vector unsigned long long hetmp_pv_VU64;
typedef __vector float hetmp_pv_VF32;
typedef __vector double hetmp_pv_VF64;

/* X(type, lane's C type, bits a lane, unsigned type of that width). */
#define HETMP_PSIGNED(X) \
    X(VI8, int8_t, 8, VU8) X(VI16, int16_t, 16, VU16) X(VI32, int32_t, 32, VU32) X(VI64, int64_t, 64, VU64)
#define HETMP_PUNSIGNED(X) \
    X(VU8, uint8_t, 8, VU8) X(VU16, uint16_t, 16, VU16) X(VU32, uint32_t, 32, VU32) X(VU64, uint64_t, 64, VU64)
#define HETMP_PFLOATS(X) X(VF32, float, 32, VU32) X(VF64, double, 64, VU64)
#define HETMP_PINTS(X) HETMP_PSIGNED(X) HETMP_PUNSIGNED(X)
#define HETMP_PALL(X) HETMP_PINTS(X) HETMP_PFLOATS(X)
#define HETMP_PTO(T, v) ((hetmp_pv_##T)(v))
#define HETMP_P1(T, op, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a) { return (_##T)name(HETMP_PTO(T, a)); }
#define HETMP_P2(T, op, name) \
    HETMP_SIMD_FN _##T _##T##_##op(_##T a, _##T b) { return (_##T)name(HETMP_PTO(T, a), HETMP_PTO(T, b)); }

#define HETMP_OWN_S_MIN 1
#define HETMP_OWN_U_MIN 1
#define HETMP_OWN_S_MAX 1
#define HETMP_OWN_U_MAX 1
#define HETMP_OWN_S_POPCNT 1
#define HETMP_OWN_U_POPCNT 1
#define HETMP_OWN_S_CLZ 1
#define HETMP_OWN_U_CLZ 1
#define HETMP_PINT(T, L, W, U) \
    HETMP_P2(T, MIN, vec_min) \
    HETMP_P2(T, MAX, vec_max) \
    HETMP_P1(T, CLZ, vec_cntlz) \
    HETMP_SIMD_FN _##T _##T##_POPCNT(_##T v) { return (_##T)vec_popcnt(HETMP_PTO(U, v)); }
HETMP_PINTS(HETMP_PINT)
#undef HETMP_PINT
#ifdef _ARCH_PWR9
#define HETMP_OWN_S_CTZ 1
#define HETMP_OWN_U_CTZ 1
#define HETMP_PCTZ(T, L, W, U) HETMP_P1(T, CTZ, vec_cnttz)
HETMP_PINTS(HETMP_PCTZ)
#undef HETMP_PCTZ
#endif

#define HETMP_OWN_S_ABS 1
#define HETMP_PABS(T, L, W, U) HETMP_P1(T, ABS, vec_abs)
HETMP_PSIGNED(HETMP_PABS)
#undef HETMP_PABS

/* Sums that saturate, averages, and products in lanes of twice the width: of lanes up to 32 bits. */
#define HETMP_OWN_VU8_AVG 1
#define HETMP_OWN_VU16_AVG 1
#define HETMP_OWN_VU32_AVG 1
HETMP_P2(VU8, AVG, vec_avg)
HETMP_P2(VU16, AVG, vec_avg)
HETMP_P2(VU32, AVG, vec_avg)
#define HETMP_PNARROW(T, B) \
    HETMP_P2(T, ADDS, vec_adds) \
    HETMP_P2(T, SUBS, vec_subs) \
    HETMP_SIMD_FN _##B _##T##_MULEVEN(_##T a, _##T b) { \
        return (_##B)vec_mule(HETMP_PTO(T, a), HETMP_PTO(T, b)); \
    } \
    HETMP_SIMD_FN _##B _##T##_MULODD(_##T a, _##T b) { \
        return (_##B)vec_mulo(HETMP_PTO(T, a), HETMP_PTO(T, b)); \
    }
#define HETMP_OWN_VI8_ADDS 1
#define HETMP_OWN_VI8_SUBS 1
#define HETMP_OWN_VI8_MULEVEN 1
HETMP_PNARROW(VI8, VI16)
#define HETMP_OWN_VU8_ADDS 1
#define HETMP_OWN_VU8_SUBS 1
#define HETMP_OWN_VU8_MULEVEN 1
HETMP_PNARROW(VU8, VU16)
#define HETMP_OWN_VI16_ADDS 1
#define HETMP_OWN_VI16_SUBS 1
#define HETMP_OWN_VI16_MULEVEN 1
HETMP_PNARROW(VI16, VI32)
#define HETMP_OWN_VU16_ADDS 1
#define HETMP_OWN_VU16_SUBS 1
#define HETMP_OWN_VU16_MULEVEN 1
HETMP_PNARROW(VU16, VU32)
#define HETMP_OWN_VI32_ADDS 1
#define HETMP_OWN_VI32_SUBS 1
#define HETMP_OWN_VI32_MULEVEN 1
HETMP_PNARROW(VI32, VI64)
#define HETMP_OWN_VU32_ADDS 1
#define HETMP_OWN_VU32_SUBS 1
#define HETMP_OWN_VU32_MULEVEN 1
HETMP_PNARROW(VU32, VU64)
#undef HETMP_PNARROW

/* As a number: taken out as a float, a signalling NaN would become quiet. */
#define HETMP_OWN_VF32_EXTRACT 1
HETMP_SIMD_FN float _VF32_EXTRACT(_VF32 v, size_t i) {
    const uint32_t bits = ((_VU32)v)[i % 4];
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/* Lanes with numbers past the last count modulo twice the lanes for VPERM: both operands are v. A lane's number is made
 * those of its bytes: `step` times it, and `bytes`. */
#define HETMP_OWN_F_PERMUTE 1
#define HETMP_OWN_S_PERMUTE 1
#define HETMP_OWN_U_PERMUTE 1
#define HETMP_OWN_F_SLIDE 1
#define HETMP_OWN_S_SLIDE 1
#define HETMP_OWN_U_SLIDE 1
#define HETMP_PBYTES_8(i) (i)
#define HETMP_PBYTES_16(i) ((i & 7) * (uint16_t)0x0202 + (uint16_t)0x0100)
#define HETMP_PBYTES_32(i) ((i & 3) * 0x04040404u + 0x03020100u)
#define HETMP_PBYTES_64(i) ((i & 1) * (uint64_t)0x0808080808080808u + (uint64_t)0x0706050403020100u)
#define HETMP_PBYTE(i) (i)
#define HETMP_PMOVES(T, L, W, U) \
    HETMP_SIMD_FN _##T _##T##_PERMUTE(_##T v, _##U i) { \
        return (_##T)vec_perm(HETMP_PTO(VU8, v), HETMP_PTO(VU8, v), HETMP_PTO(VU8, HETMP_PBYTES_##W(i))); \
    } \
    HETMP_SIMD_FN _##T _##T##_SLIDE(_##T a, _##T b, size_t n) { \
        const _VU8 zero = {0}, byte = {HETMP_SEQ(16)(HETMP_PBYTE, 0)}; \
        const _VU8 from = zero + (uint8_t)((n < 128 / W ? n : 128 / W) * sizeof(L)) + byte; \
        return (_##T)vec_perm(HETMP_PTO(VU8, a), HETMP_PTO(VU8, b), HETMP_PTO(VU8, from)); \
    }
HETMP_PALL(HETMP_PMOVES)
#undef HETMP_PMOVES
#undef HETMP_PBYTES_8
#undef HETMP_PBYTES_16
#undef HETMP_PBYTES_32
#undef HETMP_PBYTES_64

/* The upper halves of the products: those of the even lanes, then those of the odd ones. */
#define HETMP_PHIGH(T, U, W) \
    HETMP_SIMD_FN _##T _##T##_MULHI(_##T a, _##T b) { \
        const _VU8 at = {HETMP_SEQ(16)(HETMP_PHIGH_##W, 0)}; \
        return (_##T)vec_perm(HETMP_PTO(VU8, _##T##_MULEVEN(a, b)), HETMP_PTO(VU8, _##T##_MULODD(a, b)), \
                              HETMP_PTO(VU8, at)); \
    }
#define HETMP_PHIGH_8(i) ((i) / 2 * 2 + 1 + (i) % 2 * 16)
#define HETMP_PHIGH_16(i) ((i) / 4 * 4 + 2 + (i) % 2 + (i) / 2 % 2 * 16)
#define HETMP_PHIGH_32(i) ((i) / 8 * 8 + 4 + (i) % 4 + (i) / 4 % 2 * 16)
#define HETMP_OWN_VI8_MULHI 1
#define HETMP_OWN_VU8_MULHI 1
#define HETMP_OWN_VI16_MULHI 1
#define HETMP_OWN_VU16_MULHI 1
#define HETMP_OWN_VI32_MULHI 1
#define HETMP_OWN_VU32_MULHI 1
HETMP_PHIGH(VI8, VU8, 8)
HETMP_PHIGH(VU8, VU8, 8)
HETMP_PHIGH(VI16, VU16, 16)
HETMP_PHIGH(VU16, VU16, 16)
HETMP_PHIGH(VI32, VU32, 32)
HETMP_PHIGH(VU32, VU32, 32)
#undef HETMP_PHIGH
#undef HETMP_PHIGH_8
#undef HETMP_PHIGH_16
#undef HETMP_PHIGH_32

/* Rotations count modulo the lane width. */
#define HETMP_OWN_U_ROTL 1
#define HETMP_OWN_U_ROTR 1
#define HETMP_OWN_U_ROTLV 1
#define HETMP_OWN_U_ROTRV 1
#define HETMP_PTURN(T, L, W, U) \
    HETMP_SIMD_FN _##T _##T##_ROTLV(_##T v, _##T n) { return (_##T)vec_rl(HETMP_PTO(T, v), HETMP_PTO(T, n)); } \
    HETMP_SIMD_FN _##T _##T##_ROTRV(_##T v, _##T n) { return _##T##_ROTLV(v, (n ^ n) - n); } \
    HETMP_SIMD_FN _##T _##T##_ROTL(_##T v, unsigned n) { return _##T##_ROTLV(v, (v ^ v) + (L)n); } \
    HETMP_SIMD_FN _##T _##T##_ROTR(_##T v, unsigned n) { return _##T##_ROTLV(v, (v ^ v) + (L)(0 - n)); }
HETMP_PUNSIGNED(HETMP_PTURN)
#undef HETMP_PTURN

#define HETMP_OWN_F_SQRT 1
#define HETMP_OWN_F_ROUND 1
#define HETMP_OWN_F_FLOOR 1
#define HETMP_OWN_F_CEIL 1
#define HETMP_OWN_F_TRUNC 1
#define HETMP_OWN_F_ABS 1
#define HETMP_OWN_F_MINNUM 1
#define HETMP_OWN_F_MAXNUM 1
#define HETMP_OWN_F_RCP_EST 1
#define HETMP_OWN_F_RSQRT_EST 1
#define HETMP_OWN_F_FMA 1
#define HETMP_OWN_F_FMS 1
#define HETMP_OWN_F_FNMA 1
#define HETMP_OWN_F_FNMS 1
/* The instructions that negate do so after the sum, zeroes too: it is a factor's sign that changes here. A NaN gives
 * way to the other operand before the minimum, which would keep a signalling one. */
#define HETMP_PFLOAT(T, L, W, U) \
    HETMP_P1(T, SQRT, vec_sqrt) \
    HETMP_P1(T, ROUND, vec_rint) \
    HETMP_P1(T, FLOOR, vec_floor) \
    HETMP_P1(T, CEIL, vec_ceil) \
    HETMP_P1(T, TRUNC, vec_trunc) \
    HETMP_P1(T, ABS, vec_abs) \
    HETMP_P1(T, RCP_EST, vec_re) \
    HETMP_P1(T, RSQRT_EST, vec_rsqrte) \
    HETMP_SIMD_FN hetmp_pv_##T hetmp_number_##T(_##T a, _##T b) { \
        return (hetmp_pv_##T)vec_sel(HETMP_PTO(U, b), HETMP_PTO(U, a), HETMP_PTO(U, a == a)); \
    } \
    HETMP_SIMD_FN _##T _##T##_MINNUM(_##T a, _##T b) { \
        return (_##T)vec_min(hetmp_number_##T(a, b), hetmp_number_##T(b, a)); \
    } \
    HETMP_SIMD_FN _##T _##T##_MAXNUM(_##T a, _##T b) { \
        return (_##T)vec_max(hetmp_number_##T(a, b), hetmp_number_##T(b, a)); \
    } \
    HETMP_SIMD_FN _##T _##T##_FMA(_##T a, _##T b, _##T c) { \
        return (_##T)vec_madd(HETMP_PTO(T, a), HETMP_PTO(T, b), HETMP_PTO(T, c)); \
    } \
    HETMP_SIMD_FN _##T _##T##_FMS(_##T a, _##T b, _##T c) { \
        return (_##T)vec_msub(HETMP_PTO(T, a), HETMP_PTO(T, b), HETMP_PTO(T, c)); \
    } \
    HETMP_SIMD_FN _##T _##T##_FNMA(_##T a, _##T b, _##T c) { return _##T##_FMA(-a, b, c); } \
    HETMP_SIMD_FN _##T _##T##_FNMS(_##T a, _##T b, _##T c) { return _##T##_FMS(-a, b, c); }
HETMP_PFLOATS(HETMP_PFLOAT)
#undef HETMP_PFLOAT

/* Of 32 bits they saturate and make 0 of a NaN, as we promise; of 64 a NaN would be the lowest number. clang has no
 * function for these, only conversions that leave other numbers undefined. */
#define HETMP_OWN_VF32_TO_VI32 1
#define HETMP_OWN_VF32_TO_VU32 1
HETMP_SIMD_FN _VI32 _VF32_TO_VI32(_VF32 v) { return (_VI32)vec_cts(HETMP_PTO(VF32, v), 0); }
HETMP_SIMD_FN _VU32 _VF32_TO_VU32(_VF32 v) { return (_VU32)vec_ctu(HETMP_PTO(VF32, v), 0); }

#define HETMP_PSATURATE(B, A, name) \
    HETMP_SIMD_FN _##A _##B##_SAT_##A(_##B lo, _##B hi) { return (_##A)name(HETMP_PTO(B, lo), HETMP_PTO(B, hi)); }
#define HETMP_OWN_VI16_SAT_VI8 1
#define HETMP_OWN_VI16_SAT_VU8 1
#define HETMP_OWN_VU16_SAT_VU8 1
#define HETMP_OWN_VI32_SAT_VI16 1
#define HETMP_OWN_VI32_SAT_VU16 1
#define HETMP_OWN_VU32_SAT_VU16 1
#define HETMP_OWN_VI64_SAT_VI32 1
#define HETMP_OWN_VI64_SAT_VU32 1
#define HETMP_OWN_VU64_SAT_VU32 1
HETMP_PSATURATE(VI16, VI8, vec_packs)
HETMP_PSATURATE(VI16, VU8, vec_packsu)
HETMP_PSATURATE(VU16, VU8, vec_packs)
HETMP_PSATURATE(VI32, VI16, vec_packs)
HETMP_PSATURATE(VI32, VU16, vec_packsu)
HETMP_PSATURATE(VU32, VU16, vec_packs)
HETMP_PSATURATE(VI64, VI32, vec_packs)
HETMP_PSATURATE(VI64, VU32, vec_packsu)
HETMP_PSATURATE(VU64, VU32, vec_packs)
#undef HETMP_PSATURATE
#ifndef __clang__
#define HETMP_OWN_VF64_TO_VI64 1
#define HETMP_OWN_VF64_TO_VU64 1
HETMP_SIMD_FN _VI64 _VF64_TO_VI64(_VF64 v) {
    return (_VI64)__builtin_vsx_xvcvdpsxds(HETMP_PTO(VF64, v)) & (_VI64)(v == v);
}
HETMP_SIMD_FN _VU64 _VF64_TO_VU64(_VF64 v) {
    return (_VU64)__builtin_vsx_xvcvdpuxds(HETMP_PTO(VF64, v)) & (_VU64)(v == v);
}
/* Twice saturated is saturated once. */
#define HETMP_OWN_VF64_TO_VI32 1
#define HETMP_OWN_VF64_TO_VU32 1
HETMP_SIMD_FN _VI32 _VF64_TO_VI32(_VF64 lo, _VF64 hi) {
    return _VI64_SAT_VI32(_VF64_TO_VI64(lo), _VF64_TO_VI64(hi));
}
HETMP_SIMD_FN _VU32 _VF64_TO_VU32(_VF64 lo, _VF64 hi) {
    return _VU64_SAT_VU32(_VF64_TO_VU64(lo), _VF64_TO_VU64(hi));
}
#endif

#define HETMP_OWN_VI8_TO_VI16 1
#define HETMP_OWN_VI16_TO_VI32 1
#define HETMP_OWN_VI32_TO_VI64 1
#define HETMP_OWN_VU8_TO_VU16 1
#define HETMP_OWN_VU16_TO_VU32 1
#define HETMP_OWN_VU32_TO_VU64 1
#define HETMP_PWIDEN(A, B) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { return (_##B)vec_unpackh(HETMP_PTO(A, v)); } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { return (_##B)vec_unpackl(HETMP_PTO(A, v)); }
HETMP_PWIDEN(VI8, VI16)
HETMP_PWIDEN(VI16, VI32)
HETMP_PWIDEN(VI32, VI64)
#undef HETMP_PWIDEN
#define HETMP_PWIDEN(A, B) \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_LO(_##A v) { return (_##B)vec_mergeh(HETMP_PTO(A, v), HETMP_PTO(A, v ^ v)); } \
    HETMP_SIMD_FN _##B _##A##_TO_##B##_HI(_##A v) { return (_##B)vec_mergel(HETMP_PTO(A, v), HETMP_PTO(A, v ^ v)); }
HETMP_PWIDEN(VU8, VU16)
HETMP_PWIDEN(VU16, VU32)
HETMP_PWIDEN(VU32, VU64)
#undef HETMP_PWIDEN
#define HETMP_OWN_VF32_TO_VF64 1
#define HETMP_OWN_VI32_TO_VF64 1
#define HETMP_OWN_VU32_TO_VF64 1
#define HETMP_PDOUBLE(A) \
    HETMP_SIMD_FN _VF64 _##A##_TO_VF64_LO(_##A v) { return (_VF64)vec_doubleh(HETMP_PTO(A, v)); } \
    HETMP_SIMD_FN _VF64 _##A##_TO_VF64_HI(_##A v) { return (_VF64)vec_doublel(HETMP_PTO(A, v)); }
HETMP_PDOUBLE(VF32)
HETMP_PDOUBLE(VI32)
HETMP_PDOUBLE(VU32)
#undef HETMP_PDOUBLE
#define HETMP_OWN_VF64_TO_VF32 1
HETMP_SIMD_FN _VF32 _VF64_TO_VF32(_VF64 lo, _VF64 hi) {
    return (_VF32)vec_float2(HETMP_PTO(VF64, lo), HETMP_PTO(VF64, hi));
}

#define HETMP_OWN_VI16_DOT 1
#define HETMP_OWN_VI16_DOTADD 1
#define HETMP_OWN_VU8_DOTADD 1
#define HETMP_OWN_VU8_SAD 1
HETMP_SIMD_FN _VI32 _VI16_DOTADD(_VI16 a, _VI16 b, _VI32 c) {
    return (_VI32)vec_msum(HETMP_PTO(VI16, a), HETMP_PTO(VI16, b), HETMP_PTO(VI32, c));
}
HETMP_SIMD_FN _VI32 _VI16_DOT(_VI16 a, _VI16 b) {
    const _VI32 zero = {0};
    return _VI16_DOTADD(a, b, zero);
}
HETMP_SIMD_FN _VU32 _VU8_DOTADD(_VU8 a, _VU8 b, _VU32 c) {
    return (_VU32)vec_msum(HETMP_PTO(VU8, a), HETMP_PTO(VU8, b), HETMP_PTO(VU32, c));
}
HETMP_SIMD_FN _VU64 _VU8_SAD(_VU8 a, _VU8 b) {
    const _VU32 zero = {0};
    const _VU8 apart = _VU8_MAX(a, b) - _VU8_MIN(a, b);
    const _VU64 sums = (_VU64)vec_sum4s(HETMP_PTO(VU8, apart), HETMP_PTO(VU32, zero));
    return (sums & 0xffff) + (sums >> 32);
}
#ifdef _ARCH_PWR9
#define HETMP_OWN_VU8_ABSDIFF 1
#define HETMP_OWN_VU16_ABSDIFF 1
#define HETMP_OWN_VU32_ABSDIFF 1
HETMP_P2(VU8, ABSDIFF, vec_absd)
HETMP_P2(VU16, ABSDIFF, vec_absd)
HETMP_P2(VU32, ABSDIFF, vec_absd)
#define HETMP_OWN_VF32_FROM_F16 1
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_LO(_VU16 v) { return (_VF32)vec_extract_fp32_from_shorth(HETMP_PTO(VU16, v)); }
HETMP_SIMD_FN _VF32 _VF32_FROM_F16_HI(_VU16 v) { return (_VF32)vec_extract_fp32_from_shortl(HETMP_PTO(VU16, v)); }
/* clang's gives the lanes in another order. */
#ifndef __clang__
#define HETMP_OWN_VF32_TO_F16 1
HETMP_SIMD_FN _VU16 _VF32_TO_F16(_VF32 lo, _VF32 hi) {
    return (_VU16)vec_pack_to_short_fp32(HETMP_PTO(VF32, lo), HETMP_PTO(VF32, hi));
}
#endif
/* Loads and stores of this many bytes; a load's others are 0. */
#define HETMP_OWN_F_LOAD_N 1
#define HETMP_OWN_S_LOAD_N 1
#define HETMP_OWN_U_LOAD_N 1
#define HETMP_OWN_F_STORE_N 1
#define HETMP_OWN_S_STORE_N 1
#define HETMP_OWN_U_STORE_N 1
#define HETMP_PPART(T, L, W, U) \
    HETMP_SIMD_FN _##T _##T##_LOAD_N(const L *p, size_t n) { \
        return (_##T)vec_xl_len((unsigned char *)(uintptr_t)p, (n < 128 / W ? n : 128 / W) * sizeof(L)); \
    } \
    HETMP_SIMD_FN void _##T##_STORE_N(L *p, size_t n, _##T v) { \
        vec_xst_len(HETMP_PTO(VU8, v), (unsigned char *)(uintptr_t)p, (n < 128 / W ? n : 128 / W) * sizeof(L)); \
    }
HETMP_PALL(HETMP_PPART)
#undef HETMP_PPART
#endif

#define HETMP_OWN_F_SELECT 1
#define HETMP_OWN_S_SELECT 1
#define HETMP_OWN_U_SELECT 1
#define HETMP_OWN_F_BITSEL 1
#define HETMP_OWN_S_BITSEL 1
#define HETMP_OWN_U_BITSEL 1
#define HETMP_PCHOOSE(T, L, W, U) \
    HETMP_SIMD_FN _##T _##T##_SELECT(_VM##W m, _##T a, _##T b) { \
        return (_##T)vec_sel(HETMP_PTO(VU8, b), HETMP_PTO(VU8, a), HETMP_PTO(VU8, m)); \
    } \
    HETMP_SIMD_FN _##T _##T##_BITSEL(_##T c, _##T a, _##T b) { \
        return (_##T)vec_sel(HETMP_PTO(VU8, b), HETMP_PTO(VU8, a), HETMP_PTO(VU8, c)); \
    }
HETMP_PALL(HETMP_PCHOOSE)
#undef HETMP_PCHOOSE

/* VBPERMQ gathers the bits that its second operand numbers, from the most significant on; 128 gives a 0. */
#define HETMP_OWN_M_ANY 1
#define HETMP_OWN_M_ALL 1
#define HETMP_OWN_M_BITS 1
#define HETMP_OWN_M_COUNT 1
#define HETMP_OWN_M_FIRST 1
#define HETMP_PSIGN_8(i) (120 - 8 * (i))
#define HETMP_PSIGN_16(i) ((i) < 8 ? 112 - 16 * (i) : 128)
#define HETMP_PSIGN_32(i) ((i) < 4 ? 96 - 32 * (i) : 128)
#define HETMP_PSIGN_64(i) ((i) < 2 ? 64 - 64 * (i) : 128)
#define HETMP_PMASKS(W) \
    HETMP_SIMD_FN int _VM##W##_ANY(_VM##W m) { return vec_any_ne(HETMP_PTO(VI##W, m), HETMP_PTO(VI##W, m ^ m)); } \
    HETMP_SIMD_FN int _VM##W##_ALL(_VM##W m) { return vec_all_ne(HETMP_PTO(VI##W, m), HETMP_PTO(VI##W, m ^ m)); } \
    HETMP_SIMD_FN uint64_t _VM##W##_BITS(_VM##W m) { \
        const _VU8 signs = {HETMP_SEQ(16)(HETMP_PSIGN_##W, 0)}; \
        return ((_VU64)vec_vbpermq(HETMP_PTO(VU8, m), HETMP_PTO(VU8, signs)))[1]; \
    } \
    HETMP_SIMD_FN int _VM##W##_COUNT(_VM##W m) { return __builtin_popcountll(_VM##W##_BITS(m)); } \
    HETMP_SIMD_FN int _VM##W##_FIRST(_VM##W m) { \
        return __builtin_ctzll(_VM##W##_BITS(m) | (uint64_t)1 << HETMP_SIMD_LANES_##W); \
    }
HETMP_PMASKS(8)
HETMP_PMASKS(16)
HETMP_PMASKS(32)
HETMP_PMASKS(64)
#undef HETMP_PMASKS
#undef HETMP_PSIGN_8
#undef HETMP_PSIGN_16
#undef HETMP_PSIGN_32
#undef HETMP_PSIGN_64
#undef HETMP_PBYTE
#undef HETMP_P1
#undef HETMP_P2
#undef HETMP_PTO
#undef HETMP_PALL
#undef HETMP_PINTS
#undef HETMP_PFLOATS
#undef HETMP_PUNSIGNED
#undef HETMP_PSIGNED
