/* Part of hetmp/simd.h: every operation of every type, from the common texts,
 * save what the backend has defined already. Not for direct inclusion. */

#define HETMP_W 8
#define HETMP_R 8
#include "masks.h"
#define HETMP_W 16
#define HETMP_R 16
#include "masks.h"
#define HETMP_W 32
#define HETMP_R 32
#include "masks.h"
#define HETMP_W 64
#define HETMP_R 64
#include "masks.h"

#if HETMP_SIMD_APART_F32
#define HETMP_W 32
#define HETMP_R F32
#include "masks.h"
#endif

#define HETMP_C S
#define HETMP_T VI8
#define HETMP_L int8_t
#define HETMP_W 8
#define HETMP_R 8
#include "lanes.h"
#define HETMP_T VI16
#define HETMP_L int16_t
#define HETMP_W 16
#define HETMP_R 16
#include "lanes.h"
#define HETMP_T VI32
#define HETMP_L int32_t
#define HETMP_W 32
#define HETMP_R 32
#include "lanes.h"
#define HETMP_T VI64
#define HETMP_L int64_t
#define HETMP_W 64
#define HETMP_R 64
#include "lanes.h"
#if HETMP_SIMD_APART_F32
#define HETMP_T VIF32
#define HETMP_L int32_t
#define HETMP_W 32
#define HETMP_R F32
#include "lanes.h"
#endif
#undef HETMP_C

#define HETMP_C U
#define HETMP_T VU8
#define HETMP_L uint8_t
#define HETMP_W 8
#define HETMP_R 8
#include "lanes.h"
#define HETMP_T VU16
#define HETMP_L uint16_t
#define HETMP_W 16
#define HETMP_R 16
#include "lanes.h"
#define HETMP_T VU32
#define HETMP_L uint32_t
#define HETMP_W 32
#define HETMP_R 32
#include "lanes.h"
#define HETMP_T VU64
#define HETMP_L uint64_t
#define HETMP_W 64
#define HETMP_R 64
#include "lanes.h"
#if HETMP_SIMD_APART_F32
#define HETMP_T VUF32
#define HETMP_L uint32_t
#define HETMP_W 32
#define HETMP_R F32
#include "lanes.h"
#endif
#undef HETMP_C

#define HETMP_C F
#define HETMP_T VF32
#define HETMP_L float
#define HETMP_W 32
#define HETMP_R HETMP_R_VF32
#include "lanes.h"
#define HETMP_T VF64
#define HETMP_L double
#define HETMP_W 64
#define HETMP_R 64
#include "lanes.h"
#undef HETMP_C

#include "convert.h"
#include "wider.h"

/* SET(x0, x1, ...): lane 0 is x0, and so on; lanes that are not given are 0. */
#define _VF32_SET(...) (__extension__(_VF32){__VA_ARGS__})
#define _VF64_SET(...) (__extension__(_VF64){__VA_ARGS__})
#define _VI8_SET(...) (__extension__(_VI8){__VA_ARGS__})
#define _VI16_SET(...) (__extension__(_VI16){__VA_ARGS__})
#define _VI32_SET(...) (__extension__(_VI32){__VA_ARGS__})
#define _VI64_SET(...) (__extension__(_VI64){__VA_ARGS__})
#define _VU8_SET(...) (__extension__(_VU8){__VA_ARGS__})
#define _VU16_SET(...) (__extension__(_VU16){__VA_ARGS__})
#define _VU32_SET(...) (__extension__(_VU32){__VA_ARGS__})
#define _VU64_SET(...) (__extension__(_VU64){__VA_ARGS__})
#if HETMP_SIMD_APART_F32
#define _VIF32_SET(...) (__extension__(_VIF32){__VA_ARGS__})
#define _VUF32_SET(...) (__extension__(_VUF32){__VA_ARGS__})
#else
#include "relations.h"
#endif
