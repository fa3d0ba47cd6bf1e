/* Part of hetmp/simd.h: the types, and the macros that the other parts are
 * written with. Not for direct inclusion. */

/* SW26010's floatv4 has as many lanes as its doublev4, so its 32-bit integers have twice as many
 * lanes as its floats. HETMP_R_VF32 says whose relations (mask, integers of the same shape) _VF32
 * has: those of 32-bit integers, or its own, which are named _VMF32, _VIF32 and _VUF32. */
#if HETMP_SIMD_ID == HETMP_SIMD_ID_sw26010
#define HETMP_SIMD_APART_F32 1
#define HETMP_R_VF32 F32
#define HETMP_SIMD_LANES_F32 4
typedef floatv4 _VF32;
typedef doublev4 _VF64;
typedef intv8 _VI32;
typedef uintv8 _VU32;
#define HETMP_VECTOR(lane, name) typedef lane name __attribute__((vector_size(HETMP_SIMD_BYTES)));
HETMP_VECTOR(int8_t, _VI8)
HETMP_VECTOR(int16_t, _VI16)
HETMP_VECTOR(int64_t, _VI64)
HETMP_VECTOR(uint8_t, _VU8)
HETMP_VECTOR(uint16_t, _VU16)
HETMP_VECTOR(uint64_t, _VU64)
typedef int32_t _VIF32 __attribute__((vector_size(16)));
typedef uint32_t _VUF32 __attribute__((vector_size(16)));
typedef int32_t _VMF32 __attribute__((vector_size(16)));
#undef HETMP_VECTOR
#else
#define HETMP_SIMD_APART_F32 0
#define HETMP_R_VF32 32
#define HETMP_SIMD_LANES_F32 HETMP_SIMD_LANES_32
#if HETMP_SIMD_ID == HETMP_SIMD_ID_mt3000
typedef lvector float _VF32;
typedef lvector double _VF64;
typedef lvector int8_t _VI8;
typedef lvector int16_t _VI16;
typedef lvector int32_t _VI32;
typedef lvector int64_t _VI64;
typedef lvector uint8_t _VU8;
typedef lvector uint16_t _VU16;
typedef lvector uint32_t _VU32;
typedef lvector uint64_t _VU64;
#else
typedef float _VF32 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef double _VF64 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef int8_t _VI8 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef int16_t _VI16 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef int32_t _VI32 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef int64_t _VI64 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef uint8_t _VU8 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef uint16_t _VU16 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef uint32_t _VU32 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef uint64_t _VU64 __attribute__((vector_size(HETMP_SIMD_BYTES)));
#endif
#endif

/* Section 3.5 of the paper writes these types with one more underscore. */
typedef _VF32 __VF32;
typedef _VF64 __VF64;
typedef _VI8 __VI8;
typedef _VI16 __VI16;
typedef _VI32 __VI32;
typedef _VI64 __VI64;
typedef _VU8 __VU8;
typedef _VU16 __VU16;
typedef _VU32 __VU32;
typedef _VU64 __VU64;

/* gcc 5 to 11: vectors are shuffled by __builtin_shuffle, and converted lane by lane. */
#if defined(HETMP_SIMD_OLD) || (!defined(__clang__) && __GNUC__ < 12)
#undef HETMP_SIMD_OLD
#define HETMP_SIMD_OLD 1
#else
#define HETMP_SIMD_OLD 0
#endif

#if !HETMP_SIMD_OLD
/* Vectors of half the size, for what widens and narrows. */
typedef float hetmp_half_VF32 __attribute__((vector_size(HETMP_SIMD_BYTES / 2)));
typedef int8_t hetmp_half_VI8 __attribute__((vector_size(HETMP_SIMD_BYTES / 2)));
typedef int16_t hetmp_half_VI16 __attribute__((vector_size(HETMP_SIMD_BYTES / 2)));
typedef int32_t hetmp_half_VI32 __attribute__((vector_size(HETMP_SIMD_BYTES / 2)));
typedef uint8_t hetmp_half_VU8 __attribute__((vector_size(HETMP_SIMD_BYTES / 2)));
typedef uint16_t hetmp_half_VU16 __attribute__((vector_size(HETMP_SIMD_BYTES / 2)));
typedef uint32_t hetmp_half_VU32 __attribute__((vector_size(HETMP_SIMD_BYTES / 2)));
#endif

#if HETMP_SIMD_ID == HETMP_SIMD_ID_avx512
typedef __mmask64 _VM8;
typedef __mmask32 _VM16;
typedef __mmask16 _VM32;
typedef __mmask8 _VM64;
#else
typedef int8_t _VM8 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef int16_t _VM16 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef int32_t _VM32 __attribute__((vector_size(HETMP_SIMD_BYTES)));
typedef int64_t _VM64 __attribute__((vector_size(HETMP_SIMD_BYTES)));
#endif

/* The common text is included once for each lane type, with
 *   HETMP_T  the type without its underscore   HETMP_L  its lanes' C type
 *   HETMP_W  bits a lane                       HETMP_C  F, S or U
 *   HETMP_R  what its relations are named by: HETMP_W, or F32
 * set. HETMP_OP(ADD) is then the name _VF32_ADD, and HETMP_OWN(ADD) is true where
 * the backend has defined that operation itself and says so by
 *   #define HETMP_OWN_VF32_ADD 1    for the one type, or
 *   #define HETMP_OWN_F_ADD 1       for all of the class.
 * The operation's name stands next to ## from the first macro on, so that a macro
 * ADD of the user's does no harm. */
#define HETMP_NAME_(t, n) _##t##n
#define HETMP_NAME(t, n) HETMP_NAME_(t, n)
#define HETMP_OWNED_(t, n) HETMP_OWN_##t##n
#define HETMP_OWNED(t, n) HETMP_OWNED_(t, n)
#define HETMP_OP(n) HETMP_NAME(HETMP_T, _##n)
#define HETMP_OWN(n) (HETMP_OWNED(HETMP_T, _##n) || HETMP_OWNED(HETMP_C, _##n))
#define HETMP_V HETMP_SIMD_PASTE(_, HETMP_T)
#define HETMP_N HETMP_SIMD_PASTE(HETMP_SIMD_LANES_, HETMP_R)
/* Numbers for HETMP_C to be compared with, in #if. */
#define HETMP_CLASS_F 1
#define HETMP_CLASS_S 2
#define HETMP_CLASS_U 3
/* Relations of a type: signed and unsigned integers and the mask of its lane width. */
#define HETMP_SV HETMP_SIMD_PASTE(_VI, HETMP_R)
#define HETMP_UV HETMP_SIMD_PASTE(_VU, HETMP_R)
#define HETMP_M HETMP_SIMD_PASTE(_VM, HETMP_R)
#define HETMP_MOP(n) HETMP_NAME(HETMP_SIMD_PASTE(VM, HETMP_R), _##n)
/* Whether a vector of these relations has HETMP_SIMD_BYTES bytes. */
#define HETMP_FULL_8 1
#define HETMP_FULL_16 1
#define HETMP_FULL_32 1
#define HETMP_FULL_64 1
#define HETMP_FULL_F32 0
#define HETMP_FULL HETMP_SIMD_PASTE(HETMP_FULL_, HETMP_R)
#define HETMP_UL HETMP_SIMD_PASTE(HETMP_SIMD_PASTE(uint, HETMP_W), _t)
#define HETMP_SL HETMP_SIMD_PASTE(HETMP_SIMD_PASTE(int, HETMP_W), _t)

/* f(0), f(1), ... f(N - 1): lists of lanes that are constants to the compiler. */
#define HETMP_SEQ_2(f, i) f(i), f((i) + 1)
#define HETMP_SEQ_4(f, i) HETMP_SEQ_2(f, i), HETMP_SEQ_2(f, (i) + 2)
#define HETMP_SEQ_8(f, i) HETMP_SEQ_4(f, i), HETMP_SEQ_4(f, (i) + 4)
#define HETMP_SEQ_16(f, i) HETMP_SEQ_8(f, i), HETMP_SEQ_8(f, (i) + 8)
#define HETMP_SEQ_32(f, i) HETMP_SEQ_16(f, i), HETMP_SEQ_16(f, (i) + 16)
#define HETMP_SEQ_64(f, i) HETMP_SEQ_32(f, i), HETMP_SEQ_32(f, (i) + 32)
#define HETMP_SEQ_128(f, i) HETMP_SEQ_64(f, i), HETMP_SEQ_64(f, (i) + 64)
#define HETMP_SEQ(n) HETMP_SIMD_PASTE(HETMP_SEQ_, n)
/* Lane i of the result is lane f(i) of a, or f(i) - N of b. */
#if HETMP_SIMD_OLD
#define HETMP_SHUFFLE(a, b, f) \
    __builtin_shuffle((a), (b), __extension__(HETMP_UV){HETMP_SEQ(HETMP_N)(f, 0)})
#else
#define HETMP_SHUFFLE(a, b, f) __builtin_shufflevector((a), (b), HETMP_SEQ(HETMP_N)(f, 0))
#endif

#define HETMP_AT_SAME(i) (i)
#define HETMP_AT_REVERSE(i) (HETMP_N - 1 - (i))
#define HETMP_AT_LOW(i) (((i) % 2 ? HETMP_N : 0) + (i) / 2)
#define HETMP_AT_HIGH(i) (((i) % 2 ? HETMP_N : 0) + (HETMP_N + (i)) / 2)
#define HETMP_AT_EVEN(i) (2 * (i))
#define HETMP_AT_ODD(i) (2 * (i) + 1)
#define HETMP_AT_XOR1(i) ((i) ^ 1)
#define HETMP_AT_XOR2(i) ((i) ^ 2)
#define HETMP_AT_XOR4(i) ((i) ^ 4)
#define HETMP_AT_XOR8(i) ((i) ^ 8)
#define HETMP_AT_XOR16(i) ((i) ^ 16)
#define HETMP_AT_XOR32(i) ((i) ^ 32)
#define HETMP_AT_XOR64(i) ((i) ^ 64)

/* Lane i of the k-th of three is lane 3 i + k of what lies in memory; two shuffles bring it from three vectors. And
   back. */
#define HETMP_AT_OF3_A(k, i) ((3 * (i) + k) % (2 * HETMP_N))
#define HETMP_AT_OF3_B(k, i) (3 * (i) + k < 2 * HETMP_N ? (i) : 3 * (i) + k - HETMP_N)
#define HETMP_AT_TO3_A(k, i) ((k * HETMP_N + (i)) / 3 + ((k * HETMP_N + (i)) % 3 == 1 ? HETMP_N : 0))
#define HETMP_AT_TO3_B(k, i) ((k * HETMP_N + (i)) % 3 == 2 ? HETMP_N + (k * HETMP_N + (i)) / 3 : (i))
#define HETMP_AT_OF3_A0(i) HETMP_AT_OF3_A(0, i)
#define HETMP_AT_OF3_A1(i) HETMP_AT_OF3_A(1, i)
#define HETMP_AT_OF3_A2(i) HETMP_AT_OF3_A(2, i)
#define HETMP_AT_OF3_B0(i) HETMP_AT_OF3_B(0, i)
#define HETMP_AT_OF3_B1(i) HETMP_AT_OF3_B(1, i)
#define HETMP_AT_OF3_B2(i) HETMP_AT_OF3_B(2, i)
#define HETMP_AT_TO3_A0(i) HETMP_AT_TO3_A(0, i)
#define HETMP_AT_TO3_A1(i) HETMP_AT_TO3_A(1, i)
#define HETMP_AT_TO3_A2(i) HETMP_AT_TO3_A(2, i)
#define HETMP_AT_TO3_B0(i) HETMP_AT_TO3_B(0, i)
#define HETMP_AT_TO3_B1(i) HETMP_AT_TO3_B(1, i)
#define HETMP_AT_TO3_B2(i) HETMP_AT_TO3_B(2, i)
#define HETMP_THIRD(a, b, c, which, k) \
    HETMP_SHUFFLE(HETMP_SHUFFLE(a, b, HETMP_AT_##which##3_A##k), c, HETMP_AT_##which##3_B##k)

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 hetmp_i128;
__extension__ typedef unsigned __int128 hetmp_u128;
#endif
