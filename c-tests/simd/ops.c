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

int main(void) {
    /* The driver names the backend that it expects to have compiled. */
#ifdef EXPECT_BACKEND
    EXPECT("backend", strcmp(HETMP_SIMD_NAME, EXPECT_BACKEND) == 0);
#endif
    EXPECT("width", sizeof(_VF32) * 8 == HETMP_SIMD_BITS && HETMP_SIMD_BYTES * 8 == HETMP_SIMD_BITS);
    EXPECT("lanes", _VF32_SIZE * 32 == HETMP_SIMD_BITS && _VF64_SIZE * 64 == HETMP_SIMD_BITS &&
                        _VI8_SIZE * 8 == HETMP_SIMD_BITS && _VU16_SIZE * 16 == HETMP_SIMD_BITS);
    test_masks8();
    test_masks16();
    test_masks32();
    test_masks64();
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
    return verdict();
}
