/* Part of hetmp/simd.h: MT-3000's 1024-bit vectors, by the names of its compiler's <compiler/m3000.h>. Operators of
 * the vector types do the rest. Not for direct inclusion.
 *
 * The names and what they compute are from public programs for this chip and its library of elementary functions.
 * vec_sub is not used: programs for the older chip of this family take its operands in reverse order. */

/* Aligned vectors in array memory, at a distance in bytes of 0. */
#define HETMP_MMEMORY(T, L) \
    HETMP_SIMD_FN _##T _##T##_LOADA(const L *p) { return (_##T)vec_ld(0, (_##T *)(uintptr_t)p); } \
    HETMP_SIMD_FN void _##T##_STOREA(L *p, _##T v) { vec_st(v, 0, (_##T *)p); } \
    HETMP_SIMD_FN _##T _##T##_SET1(L x) { return (_##T)vec_svbcast(x); }
#define HETMP_OWN_F_LOADA 1
#define HETMP_OWN_F_STOREA 1
#define HETMP_OWN_F_SET1 1
HETMP_MMEMORY(VF32, float)
HETMP_MMEMORY(VF64, double)
#define HETMP_OWN_VI64_LOADA 1
#define HETMP_OWN_VI64_STOREA 1
#define HETMP_OWN_VI64_SET1 1
#define HETMP_OWN_VU64_LOADA 1
#define HETMP_OWN_VU64_STOREA 1
#define HETMP_OWN_VU64_SET1 1
HETMP_MMEMORY(VI64, int64_t)
HETMP_MMEMORY(VU64, uint64_t)
#undef HETMP_MMEMORY

/* vec_muli(a, b) is a * b, vec_mula(a, b, c) a * b + c, vec_mulb(a, b, c) a * b - c, each rounded once. */
#define HETMP_OWN_F_MUL 1
#define HETMP_OWN_F_FMA 1
#define HETMP_OWN_F_FMS 1
#define HETMP_OWN_F_FNMA 1
#define HETMP_OWN_F_FNMS 1
#define HETMP_OWN_F_NEG 1
#define HETMP_MFLOAT(T) \
    HETMP_SIMD_FN _##T _##T##_MUL(_##T a, _##T b) { return vec_muli(a, b); } \
    HETMP_SIMD_FN _##T _##T##_NEG(_##T a) { return vec_neg(a); } \
    HETMP_SIMD_FN _##T _##T##_FMA(_##T a, _##T b, _##T c) { return vec_mula(a, b, c); } \
    HETMP_SIMD_FN _##T _##T##_FMS(_##T a, _##T b, _##T c) { return vec_mulb(a, b, c); } \
    HETMP_SIMD_FN _##T _##T##_FNMA(_##T a, _##T b, _##T c) { return vec_mula(vec_neg(a), b, c); } \
    HETMP_SIMD_FN _##T _##T##_FNMS(_##T a, _##T b, _##T c) { return vec_mulb(vec_neg(a), b, c); }
HETMP_MFLOAT(VF32)
HETMP_MFLOAT(VF64)
#undef HETMP_MFLOAT

#define HETMP_OWN_F_ADD 1
HETMP_SIMD_FN _VF32 _VF32_ADD(_VF32 a, _VF32 b) { return vec_add(a, b); }
HETMP_SIMD_FN _VF64 _VF64_ADD(_VF64 a, _VF64 b) { return vec_add(a, b); }
