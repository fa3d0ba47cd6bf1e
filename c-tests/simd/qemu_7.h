/* What QEMU 7.2 does otherwise than the processors. */
#ifndef SIMD_QEMU_7_H
#define SIMD_QEMU_7_H
#ifdef __VSX__
/* A lane of POWER's conversion that does not fit spoils the lanes after it: each goes alone. */
#define QEMU_ALONE(name, I) \
    static inline __vector I qemu_##name(__vector double v) { \
        const __vector double low = {v[0], v[0]}, high = {v[1], v[1]}; \
        const __vector I r = {__builtin_vsx_##name(low)[0], __builtin_vsx_##name(high)[0]}; \
        return r; \
    }
QEMU_ALONE(xvcvdpsxds, signed long long)
QEMU_ALONE(xvcvdpuxds, unsigned long long)
#define __builtin_vsx_xvcvdpsxds qemu_xvcvdpsxds
#define __builtin_vsx_xvcvdpuxds qemu_xvcvdpuxds
#else
/* It stops at the conversions of RISC-V that round towards 0 by themselves. Here they round to the nearest, and what is
 * then farther from 0 than before is brought back by 1. */
#include <riscv_vector.h>

#define QEMU_TOWARDS_0(name, F, I, nearest, back) \
    static inline I qemu_##name(F v, size_t n) { \
        I r = __riscv_vf##nearest(v, n); \
        const F again = __riscv_vf##back(r, n); \
        r = __riscv_vsub_mu(__riscv_vmand(__riscv_vmfgt(again, v, n), __riscv_vmfgt(v, 0, n), n), r, r, 1, n); \
        return __riscv_vadd_mu(__riscv_vmand(__riscv_vmflt(again, v, n), __riscv_vmflt(v, 0, n), n), r, r, 1, n); \
    }
QEMU_TOWARDS_0(i32, vfloat32m1_t, vint32m1_t, cvt_x_f_v_i32m1, cvt_f_x_v_f32m1)
QEMU_TOWARDS_0(u32, vfloat32m1_t, vuint32m1_t, cvt_xu_f_v_u32m1, cvt_f_xu_v_f32m1)
QEMU_TOWARDS_0(i64, vfloat64m1_t, vint64m1_t, cvt_x_f_v_i64m1, cvt_f_x_v_f64m1)
QEMU_TOWARDS_0(u64, vfloat64m1_t, vuint64m1_t, cvt_xu_f_v_u64m1, cvt_f_xu_v_f64m1)
QEMU_TOWARDS_0(n32, vfloat64m2_t, vint32m1_t, ncvt_x_f_w_i32m1, wcvt_f_x_v_f64m2)
QEMU_TOWARDS_0(nu32, vfloat64m2_t, vuint32m1_t, ncvt_xu_f_w_u32m1, wcvt_f_xu_v_f64m2)
#define __riscv_vfcvt_rtz_x_f_v_i32m1 qemu_i32
#define __riscv_vfcvt_rtz_xu_f_v_u32m1 qemu_u32
#define __riscv_vfcvt_rtz_x_f_v_i64m1 qemu_i64
#define __riscv_vfcvt_rtz_xu_f_v_u64m1 qemu_u64
#define __riscv_vfncvt_rtz_x_f_w_i32m1 qemu_n32
#define __riscv_vfncvt_rtz_xu_f_w_u32m1 qemu_nu32
#endif
#endif
