/* Portable SIMD: one vocabulary for SSE2, AVX2, AVX-512, NEON, SVE, RVV, VSX, LSX, LASX, SW26010,
 * MT-3000, and vectors of any width up to 1024 bits on any machine.
 *
 *     for (; i + _VF32_SIZE <= n; i += _VF32_SIZE)
 *         _VF32_STORE(c + i, _VF32_ADD(_VF32_LOAD(a + i), _VF32_LOAD(b + i)));
 *
 * Headers only: nothing is linked, and nothing here knows libhetmp. C99 and C++,
 * gcc 5 or clang 14 and later (tried: gcc 7.3, 12, clang 14). The names (_VF32, _VF32_SIZE, _VF32_ADD) are
 * those of Chen and Zhou, "Programming model for domestic high-performance
 * many-core processors", J. Computer Applications 43(11), 2023, section 2.2.4.
 *
 * TYPES. _VF32 _VF64 (IEEE 754), _VI8 _VI16 _VI32 _VI64 (signed), _VU8 _VU16
 * _VU32 _VU64 (unsigned); __VF32 etc. are the same (section 3.5). All have HETMP_SIMD_BYTES bytes; _VF32_SIZE etc. are
 * their lanes, literal numbers. Lane 0 comes first in memory. They are vectors in
 * the sense of gcc and clang: assigned, passed and returned like numbers, and
 * interchangeable with the platform's own types of the same shape (__m256,
 * float32x4_t) by a cast.
 *
 * MASKS. A comparison gives _VM8 _VM16 _VM32 or _VM64, one truth value for each
 * lane of that many bits, shared by all types of that lane width. What is inside
 * is the backend's business (AVX-512: one bit; elsewhere: a lane of ones or
 * zeroes): use the _VM*_ operations, _SELECT, and _TO_/_FROM_ conversions.
 *
 * OPERATIONS are functions _<TYPE>_<OP>, always inlined. docs/simd.md lists them
 * all, with what each becomes on each backend. Each header below says, above the
 * operation, exactly what it computes; that text is true of every backend, bit for
 * bit, for all values, save where it says "unspecified". In general:
 *   - Integers wrap. No operation traps, and none has undefined results for any
 *     lane value; lane numbers and shift counts are any unsigned number.
 *   - A NaN result of arithmetic is some NaN: its sign and payload are unspecified,
 *     and so is whether a signalling NaN is quieted. Operations that only move
 *     bits (load, select, shuffle, NEG, ABS, MIN, ...) keep all bits.
 *   - Floating-point operations round to nearest, ties to even. The rounding mode
 *     of the process must be that one, and denormals must not be flushed.
 *   - Each operation rounds on its own. gcc, however, may join a _MUL and an _ADD
 *     into one fused operation where the target has it: -ffp-contract=off forbids
 *     it, and with that all backends of one width give the same bits for a whole
 *     program. -ffast-math breaks what is promised here.
 *
 * BACKEND. The widest that the compiler may use (-mavx2, -march=native, ...):
 *     avx512 (512 bits; needs F, BW, DQ and VL), avx2 (256), sse2 (128),
 *     sve (-msve-vector-bits=N, N <= 1024), neon (128), rvv (clang 19, -mrvv-vector-bits=N),
 *     vsx (128; POWER8 and later), lasx (256), lsx (128), else generic (128)
 * -DHETMP_SIMD_BACKEND=NAME forces one, -DHETMP_SIMD_WIDTH=BITS (128, 256, 512,
 * 1024) chooses a width: a native backend of that width if there is one, else
 * generic, which serves any width on any machine. So a program for 1024-bit
 * vectors runs here: -DHETMP_SIMD_WIDTH=1024.
 *
 * CHIPS. The model's platform macros choose a backend of the chip, over the header of its
 * compiler: SW5_VERSION is sw26010 (256 bits, <simd.h>), MT3_VERSION mt3000 (1024 bits,
 * <compiler/m3000.h>), AVX_VERSION the choice above. Here such a program is compiled with
 * headers that execute (c-tests/vendor/include), or with -DHETMP_SIMD_BACKEND=generic.
 *   - On SW26010 a register holds 4 floats (_VF32_SIZE is 4, as in the paper), 4 doubles or
 *     8 integers of 32 bits. So the mask and the integers of _VF32's shape are no _VM32 and
 *     _VI32 there. A text for all backends names them by what they go with: _VMF32, _VIF32,
 *     _VUF32, which are _VM32, _VI32, _VU32 everywhere else. _VF32_TO_VF64_LO and _HI are
 *     missing there; _VF32_TO_VF64(v) and _VF64_TO_VF32(v) take whole vectors.
 *   - What the chips' arithmetic does not do, no text here can promise: MT-3000's takes
 *     denormals for zeroes, says its library of elementary functions.
 * SVE and RVV code for N bits needs a machine that runs at exactly N. -DHETMP_SIMD_BACKEND=sve_any makes code for every
 * length that SVE has: lane counts are then expressions and no constants, and vectors have no size, so there are no
 * arrays, members and sizeof of them.
 * Code of different backends must not share an inline function of yours that takes
 * or returns vectors: keep one backend a source file, or make such functions static.
 */
#ifndef HETMP_SIMD_H
#define HETMP_SIMD_H

/* Warnings that a program asks for (-Wundef, -Wold-style-cast, -pedantic) are for its own
 * text; HETMP_SIMD_WARNINGS shows them here, too, for our tests. */
#ifndef HETMP_SIMD_WARNINGS
#pragma GCC system_header
#endif

#include <stddef.h>
#include <stdint.h>

#if !defined(__GNUC__)
#error "hetmp: compiler: not usable (expected vector extensions: gcc 5, clang 14 or later)"
#elif !defined(__clang__) && __GNUC__ < 5
#error "hetmp: compiler: not usable (expected gcc 5 or later)"
#endif
#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "hetmp: byte order: not usable (expected little-endian machines)"
#endif
#if UINTPTR_MAX < 0xffffffffffffffffu
#error "hetmp: target: not usable (expected 64-bit machines)"
#endif
#if defined(__FAST_MATH__) && !defined(HETMP_SIMD_ALLOW_FAST_MATH)
#error "hetmp: option -ffast-math: breaks NaN, -0 and rounding; -DHETMP_SIMD_ALLOW_FAST_MATH accepts that"
#endif

/* The numbers that HETMP_SIMD_BACKEND compares equal to. */
#define HETMP_SIMD_ID_generic 1
#define HETMP_SIMD_ID_sse2 2
#define HETMP_SIMD_ID_avx2 3
#define HETMP_SIMD_ID_avx512 4
#define HETMP_SIMD_ID_neon 5
#define HETMP_SIMD_ID_sve 6
#define HETMP_SIMD_ID_sw26010 7
#define HETMP_SIMD_ID_mt3000 8
#define HETMP_SIMD_ID_rvv 9
#define HETMP_SIMD_ID_vsx 10
#define HETMP_SIMD_ID_lsx 11
#define HETMP_SIMD_ID_lasx 12
#define HETMP_SIMD_ID_sve_any 13

#define HETMP_SIMD_PASTE_(a, b) a##b
#define HETMP_SIMD_PASTE(a, b) HETMP_SIMD_PASTE_(a, b)

#if defined(MT3_VERSION) && !defined(HETMP_SIMD_WIDTH) && !defined(HETMP_SIMD_BACKEND)
#define HETMP_SIMD_BACKEND mt3000
#elif defined(SW5_VERSION) && !defined(HETMP_SIMD_WIDTH) && !defined(HETMP_SIMD_BACKEND)
#define HETMP_SIMD_BACKEND sw26010
#endif

#ifdef HETMP_SIMD_WIDTH
#if HETMP_SIMD_WIDTH != 128 && HETMP_SIMD_WIDTH != 256 && HETMP_SIMD_WIDTH != 512 && \
    HETMP_SIMD_WIDTH != 1024
#error "hetmp: HETMP_SIMD_WIDTH: not usable (expected 128, 256, 512 or 1024)"
#endif
#define HETMP_SIMD_FITS(bits) (HETMP_SIMD_WIDTH == (bits))
#else
#define HETMP_SIMD_FITS(bits) 1
#endif

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define HETMP_SIMD_CAN_AVX512 1
#else
#define HETMP_SIMD_CAN_AVX512 0
#endif
#if defined(__ARM_FEATURE_SVE) && defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS + 0 > 0
#define HETMP_SIMD_SVE_BITS __ARM_FEATURE_SVE_BITS
#else
#define HETMP_SIMD_SVE_BITS 0
#endif
#if defined(__riscv_v_fixed_vlen)
#define HETMP_SIMD_RVV_BITS __riscv_v_fixed_vlen
#else
#define HETMP_SIMD_RVV_BITS 0
#endif

#if defined(__VSX__) && defined(_ARCH_PWR8)
#define HETMP_SIMD_CAN_VSX 1
#else
#define HETMP_SIMD_CAN_VSX 0
#endif

#ifdef HETMP_SIMD_BACKEND
#define HETMP_SIMD_ID HETMP_SIMD_PASTE(HETMP_SIMD_ID_, HETMP_SIMD_BACKEND)
#if HETMP_SIMD_ID == 0
#error "hetmp: HETMP_SIMD_BACKEND: not usable (expected sse2, avx2, avx512, neon, sve, sve_any, rvv, vsx, lsx, \
lasx, sw26010, mt3000 or generic)"
#endif
#elif HETMP_SIMD_CAN_AVX512 && HETMP_SIMD_FITS(512)
#define HETMP_SIMD_ID HETMP_SIMD_ID_avx512
#elif defined(__AVX2__) && HETMP_SIMD_FITS(256)
#define HETMP_SIMD_ID HETMP_SIMD_ID_avx2
#elif defined(__SSE2__) && HETMP_SIMD_FITS(128)
#define HETMP_SIMD_ID HETMP_SIMD_ID_sse2
#elif HETMP_SIMD_SVE_BITS && HETMP_SIMD_SVE_BITS <= 1024 && HETMP_SIMD_FITS(HETMP_SIMD_SVE_BITS)
#define HETMP_SIMD_ID HETMP_SIMD_ID_sve
#elif HETMP_SIMD_RVV_BITS && HETMP_SIMD_RVV_BITS <= 1024 && HETMP_SIMD_FITS(HETMP_SIMD_RVV_BITS)
#define HETMP_SIMD_ID HETMP_SIMD_ID_rvv
#elif defined(__ARM_NEON) && defined(__aarch64__) && HETMP_SIMD_FITS(128)
#define HETMP_SIMD_ID HETMP_SIMD_ID_neon
#elif HETMP_SIMD_CAN_VSX && HETMP_SIMD_FITS(128)
#define HETMP_SIMD_ID HETMP_SIMD_ID_vsx
#elif defined(__loongarch_asx) && HETMP_SIMD_FITS(256)
#define HETMP_SIMD_ID HETMP_SIMD_ID_lasx
#elif defined(__loongarch_sx) && HETMP_SIMD_FITS(128)
#define HETMP_SIMD_ID HETMP_SIMD_ID_lsx
#else
#define HETMP_SIMD_ID HETMP_SIMD_ID_generic
#endif

#if HETMP_SIMD_ID == HETMP_SIMD_ID_sse2
#ifndef __SSE2__
#error "hetmp: HETMP_SIMD_BACKEND sse2: needs -msse2"
#endif
#define HETMP_SIMD_BITS 128
#define HETMP_SIMD_NAME "sse2"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_avx2
#ifndef __AVX2__
#error "hetmp: HETMP_SIMD_BACKEND avx2: needs -mavx2"
#endif
#define HETMP_SIMD_BITS 256
#define HETMP_SIMD_NAME "avx2"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_avx512
#if !HETMP_SIMD_CAN_AVX512
#error "hetmp: HETMP_SIMD_BACKEND avx512: needs -mavx512f -mavx512bw -mavx512dq -mavx512vl"
#endif
#define HETMP_SIMD_BITS 512
#define HETMP_SIMD_NAME "avx512"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_neon
#if !defined(__ARM_NEON) || !defined(__aarch64__)
#error "hetmp: HETMP_SIMD_BACKEND neon: needs 64-bit Arm with Advanced SIMD"
#endif
#define HETMP_SIMD_BITS 128
#define HETMP_SIMD_NAME "neon"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_sve
#if HETMP_SIMD_SVE_BITS == 0 || HETMP_SIMD_SVE_BITS > 1024
#error "hetmp: HETMP_SIMD_BACKEND sve: needs -march=...+sve -msve-vector-bits=128, 256, 512 or 1024"
#endif
#define HETMP_SIMD_BITS HETMP_SIMD_SVE_BITS
#define HETMP_SIMD_NAME "sve"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_sve_any
#if !defined(__ARM_FEATURE_SVE) || defined(HETMP_SIMD_WIDTH)
#error "hetmp: HETMP_SIMD_BACKEND sve_any: needs -march=...+sve and no HETMP_SIMD_WIDTH"
#endif
#define HETMP_SIMD_BITS (8 * HETMP_SIMD_BYTES)
#define HETMP_SIMD_NAME "sve_any"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_rvv
#if HETMP_SIMD_RVV_BITS == 0 || HETMP_SIMD_RVV_BITS > 1024
#error "hetmp: HETMP_SIMD_BACKEND rvv: needs -march=rv64gcv and -mrvv-vector-bits=128, 256, 512 or 1024"
#endif
#define HETMP_SIMD_BITS HETMP_SIMD_RVV_BITS
#define HETMP_SIMD_NAME "rvv"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_vsx
#if !HETMP_SIMD_CAN_VSX
#error "hetmp: HETMP_SIMD_BACKEND vsx: needs -mcpu=power8 or later"
#endif
#define HETMP_SIMD_BITS 128
#define HETMP_SIMD_NAME "vsx"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_lsx
#ifndef __loongarch_sx
#error "hetmp: HETMP_SIMD_BACKEND lsx: needs -mlsx"
#endif
#define HETMP_SIMD_BITS 128
#define HETMP_SIMD_NAME "lsx"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_lasx
#ifndef __loongarch_asx
#error "hetmp: HETMP_SIMD_BACKEND lasx: needs -mlasx"
#endif
#define HETMP_SIMD_BITS 256
#define HETMP_SIMD_NAME "lasx"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_sw26010
#define HETMP_SIMD_BITS 256
#define HETMP_SIMD_NAME "sw26010"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_mt3000
#define HETMP_SIMD_BITS 1024
#define HETMP_SIMD_NAME "mt3000"
#else
#ifdef HETMP_SIMD_WIDTH
#define HETMP_SIMD_BITS HETMP_SIMD_WIDTH
#else
#define HETMP_SIMD_BITS 128
#endif
#define HETMP_SIMD_NAME "generic"
#endif
#if HETMP_SIMD_ID != HETMP_SIMD_ID_sve_any && !HETMP_SIMD_FITS(HETMP_SIMD_BITS)
#error "hetmp: HETMP_SIMD_WIDTH: this HETMP_SIMD_BACKEND has another width; generic has them all"
#endif

/* Lane counts, as literals: they are pasted into names. */
#if HETMP_SIMD_ID == HETMP_SIMD_ID_sve_any
#define HETMP_SIMD_BYTES ((int)svcntb())
#define HETMP_SIMD_LANES_8 ((int)svcntb())
#define HETMP_SIMD_LANES_16 ((int)svcnth())
#define HETMP_SIMD_LANES_32 ((int)svcntw())
#define HETMP_SIMD_LANES_64 ((int)svcntd())
#elif HETMP_SIMD_BITS == 128
#define HETMP_SIMD_BYTES 16
#define HETMP_SIMD_LANES_8 16
#define HETMP_SIMD_LANES_16 8
#define HETMP_SIMD_LANES_32 4
#define HETMP_SIMD_LANES_64 2
#elif HETMP_SIMD_BITS == 256
#define HETMP_SIMD_BYTES 32
#define HETMP_SIMD_LANES_8 32
#define HETMP_SIMD_LANES_16 16
#define HETMP_SIMD_LANES_32 8
#define HETMP_SIMD_LANES_64 4
#elif HETMP_SIMD_BITS == 512
#define HETMP_SIMD_BYTES 64
#define HETMP_SIMD_LANES_8 64
#define HETMP_SIMD_LANES_16 32
#define HETMP_SIMD_LANES_32 16
#define HETMP_SIMD_LANES_64 8
#elif HETMP_SIMD_BITS == 1024
#define HETMP_SIMD_BYTES 128
#define HETMP_SIMD_LANES_8 128
#define HETMP_SIMD_LANES_16 64
#define HETMP_SIMD_LANES_32 32
#define HETMP_SIMD_LANES_64 16
#else
#error "hetmp: vector width: not usable (expected 128, 256, 512 or 1024 bits)"
#endif

#if HETMP_SIMD_ID == HETMP_SIMD_ID_sw26010
#define _VF32_SIZE 4
#else
#define _VF32_SIZE HETMP_SIMD_LANES_32
#endif
#define _VIF32_SIZE _VF32_SIZE
#define _VUF32_SIZE _VF32_SIZE
#define _VF64_SIZE HETMP_SIMD_LANES_64
#define _VI8_SIZE HETMP_SIMD_LANES_8
#define _VI16_SIZE HETMP_SIMD_LANES_16
#define _VI32_SIZE HETMP_SIMD_LANES_32
#define _VI64_SIZE HETMP_SIMD_LANES_64
#define _VU8_SIZE HETMP_SIMD_LANES_8
#define _VU16_SIZE HETMP_SIMD_LANES_16
#define _VU32_SIZE HETMP_SIMD_LANES_32
#define _VU64_SIZE HETMP_SIMD_LANES_64

/* Whether _FMA is one instruction; where it is not, it is exact but slow. */
#if defined(__FMA__) || defined(__aarch64__) || defined(__loongarch_double_float) || \
    HETMP_SIMD_CAN_VSX || HETMP_SIMD_ID == HETMP_SIMD_ID_avx512 || \
    HETMP_SIMD_ID == HETMP_SIMD_ID_rvv || HETMP_SIMD_ID == HETMP_SIMD_ID_sw26010 || \
    HETMP_SIMD_ID == HETMP_SIMD_ID_mt3000
#define HETMP_SIMD_FAST_FMA 1
#else
#define HETMP_SIMD_FAST_FMA 0
#endif

#if HETMP_SIMD_ID == HETMP_SIMD_ID_sse2 || HETMP_SIMD_ID == HETMP_SIMD_ID_avx2 || \
    HETMP_SIMD_ID == HETMP_SIMD_ID_avx512 || defined(__SSE2__)
#include <immintrin.h>
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_sve || HETMP_SIMD_ID == HETMP_SIMD_ID_sve_any
#include <arm_neon.h>
#include <arm_sve.h>
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_rvv
#include <riscv_vector.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_lsx
#include <lsxintrin.h>
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_lasx
#include <lasxintrin.h>
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_vsx
/* It takes three words from the program. */
#pragma push_macro("vector")
#pragma push_macro("pixel")
#pragma push_macro("bool")
#include <altivec.h>
#pragma pop_macro("vector")
#pragma pop_macro("pixel")
#pragma pop_macro("bool")
#endif
/* The chips' own headers, from their compilers. */
#if HETMP_SIMD_ID == HETMP_SIMD_ID_sw26010
#include <simd.h>
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_mt3000
#include <compiler/m3000.h>
#endif

/* Vectors wider than the machine's are never passed by our functions, which are always
 * inlined; compilers warn about their calling convention all the same, and at the caller.
 * (Of 1024 bits gcc still prints one note a file; -Wno-psabi silences it.) */
#pragma GCC diagnostic ignored "-Wpsabi"
/* clang for POWER foresees another meaning of ==, for the types of <altivec.h>, which ours are not. */
#if defined(__clang__) && HETMP_SIMD_CAN_VSX
#pragma GCC diagnostic ignored "-Wdeprecated-altivec-src-compat"
#endif

#define HETMP_SIMD_FN static inline __attribute__((always_inline, unused))

#if HETMP_SIMD_ID == HETMP_SIMD_ID_sve_any
#define HETMP_SIMD_APART_F32 0
#define HETMP_R_VF32 32
#include "simd/sve_any.h"
#else
#include "simd/types.h"

/* What a backend does better than the common text, marked by HETMP_OWN_*. */
#if HETMP_SIMD_ID == HETMP_SIMD_ID_sse2
#include "simd/x86.h"
#include "simd/sse2.h"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_avx2
#include "simd/x86.h"
#include "simd/avx2.h"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_avx512
#include "simd/x86.h"
#include "simd/avx512.h"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_neon
#include "simd/neon.h"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_sve
#include "simd/sve.h"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_rvv
#include "simd/rvv.h"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_vsx
#include "simd/vsx.h"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_lsx || HETMP_SIMD_ID == HETMP_SIMD_ID_lasx
#include "simd/loong.h"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_sw26010
#include "simd/sw26010.h"
#elif HETMP_SIMD_ID == HETMP_SIMD_ID_mt3000
#include "simd/mt3000.h"
#endif

#include "simd/common.h"
#endif

#endif
