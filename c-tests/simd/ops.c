/* Every operation of hetmp/simd.h, on the backend that this is compiled for, against
 * code for one number at a time: all pairs of edge values, and random ones. */
#include "check.h"

#define W 8
#include "masks.h"
#define W 16
#include "masks.h"
#define W 32
#include "masks.h"
#define W 64
#include "masks.h"
#if HETMP_SIMD_APART_F32
/* SW26010: floats have masks and integers of their own. */
#define W 32
#define R F32
#include "masks.h"
#define edges_VIF32 edges_VI32
#define edges_VUF32 edges_VU32
#define T VIF32
#define L int32_t
#define W 32
#define R F32
#define IS_FLOAT 0
#define IS_SIGNED 1
#include "lane_ops.h"
#define T VUF32
#define L uint32_t
#define W 32
#define R F32
#define IS_FLOAT 0
#define IS_SIGNED 0
#include "lane_ops.h"
#endif

#define T VI8
#define L int8_t
#define W 8
#define IS_FLOAT 0
#define IS_SIGNED 1
#include "lane_ops.h"
#define T VI16
#define L int16_t
#define W 16
#define IS_FLOAT 0
#define IS_SIGNED 1
#include "lane_ops.h"
#define T VI32
#define L int32_t
#define W 32
#define IS_FLOAT 0
#define IS_SIGNED 1
#include "lane_ops.h"
#define T VI64
#define L int64_t
#define W 64
#define IS_FLOAT 0
#define IS_SIGNED 1
#include "lane_ops.h"
#define T VU8
#define L uint8_t
#define W 8
#define IS_FLOAT 0
#define IS_SIGNED 0
#include "lane_ops.h"
#define T VU16
#define L uint16_t
#define W 16
#define IS_FLOAT 0
#define IS_SIGNED 0
#include "lane_ops.h"
#define T VU32
#define L uint32_t
#define W 32
#define IS_FLOAT 0
#define IS_SIGNED 0
#include "lane_ops.h"
#define T VU64
#define L uint64_t
#define W 64
#define IS_FLOAT 0
#define IS_SIGNED 0
#include "lane_ops.h"
#define T VF32
#define L float
#define W 32
#define R HETMP_R_VF32
#define IS_FLOAT 1
#define IS_SIGNED 1
#include "lane_ops.h"
#define T VF64
#define L double
#define W 64
#define IS_FLOAT 1
#define IS_SIGNED 1
#include "lane_ops.h"
#include "conversions.h"
#include "wider.h"

/* A text that is right on every backend, whatever the shape of 32-bit integers is. */
static void test_relations(void) {
    float x[_VF32_SIZE], y[_VF32_SIZE];
    int32_t n[_VIF32_SIZE];
    for (int i = 0; i < _VF32_SIZE; i++)
        x[i] = (float)i - 1.5f;
    const _VF32 v = _VF32_LOAD(x);
    const _VMF32 below = _VF32_LT(v, _VF32_ZERO());
    _VIF32_STORE(n, _VIF32_ADD(_VF32_TO_VIF32(v), _VIF32_SELECT(below, _VIF32_SET1(7), _VIF32_ZERO())));
    _VF32_STORE(y, _VIF32_TO_VF32(_VF32_AS_VIF32(_VUF32_AS_VF32(_VUF32_SHR(_VUF32_SET1(256), 4)))));
    for (int i = 0; i < _VF32_SIZE; i++)
        EXPECT("relations", n[i] == (int32_t)x[i] + (x[i] < 0 ? 7 : 0) && y[i] == 16);
    EXPECT("relations", _VMF32_COUNT(below) == 2 && _VMF32_FIRST(_VMF32_NOT(below)) == 2);
}

/* The paper's section 3.5 writes the types with one more underscore. */
static void test_spelling(void) {
    const __VU32 v = _VU32_SET1(3);
    const __VF32 f = _VF32_SET1(1);
    uint32_t n[_VU32_SIZE];
    float x[_VF32_SIZE];
    _VU32_STORE(n, v);
    _VF32_STORE(x, f);
#if HETMP_SIMD_ID == HETMP_SIMD_ID_sve_any
    EXPECT("spelling", n[_VU32_SIZE - 1] == 3 && x[0] == 1);
#else
    EXPECT("spelling", n[_VU32_SIZE - 1] == 3 && x[0] == 1 && sizeof(__VI8) + sizeof(__VI16) == 2 * sizeof(_VI8) &&
                           sizeof(__VI32) + sizeof(__VI64) == 2 * sizeof(_VI32) && sizeof(__VF64) == sizeof(_VF64) &&
                           sizeof(__VU8) + sizeof(__VU16) + sizeof(__VU64) == 3 * sizeof(_VU8));
#endif
}

int main(void) {
    /* The driver names the backend that it expects to have compiled. */
#ifdef EXPECT_BACKEND
    EXPECT("backend", strcmp(HETMP_SIMD_NAME, EXPECT_BACKEND) == 0);
#endif
#if HETMP_SIMD_ID != HETMP_SIMD_ID_sve_any /* whose vectors have no size */
    EXPECT("width", sizeof(_VI32) * 8 == HETMP_SIMD_BITS && HETMP_SIMD_BYTES * 8 == HETMP_SIMD_BITS);
    EXPECT("floats", _VF32_SIZE == (HETMP_SIMD_APART_F32 ? 4 : HETMP_SIMD_BITS / 32) &&
                         sizeof(_VF32) == _VF32_SIZE * sizeof(float) && sizeof(_VIF32) == sizeof(_VF32) &&
                         sizeof(_VUF32) == sizeof(_VF32) && _VIF32_SIZE == _VF32_SIZE);
#endif
    EXPECT("lanes", _VI32_SIZE * 32 == HETMP_SIMD_BITS && _VF64_SIZE * 64 == HETMP_SIMD_BITS &&
                        _VI8_SIZE * 8 == HETMP_SIMD_BITS && _VU16_SIZE * 16 == HETMP_SIMD_BITS);
    test_masks8();
    test_masks16();
    test_masks32();
    test_masks64();
    test_relations();
    test_spelling();
#if HETMP_SIMD_APART_F32
    test_masksF32();
    test_VIF32();
    test_VUF32();
#endif
    test_VI8();
    test_VI16();
    test_VI32();
    test_VI64();
    test_VU8();
    test_VU16();
    test_VU32();
    test_VU64();
    test_VF32();
    test_VF64();
    test_conversions();
    test_wider();
    return verdict();
}
