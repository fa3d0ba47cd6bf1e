//! C's `long double`, for which stable Rust has no type: 80-bit numbers on x86-64, IEEE's numbers of 128 bits on 64-bit
//! Arm, which the compiler's library computes with.
//!
//! # Safety
//! Of all functions: both pointers point to a number of [`SIZE`] bytes, and the two do not overlap.

use core::arch::asm;

/// Bytes of a number in memory.
pub(crate) const SIZE: usize = 16;

#[cfg(target_arch = "x86_64")]
macro_rules! arithmetic {
    ($name:ident, $instruction:literal) => {
        /// # Safety
        /// See the module.
        pub(crate) unsafe fn $name(into: *mut u8, with: *const u8) {
            // SAFETY: the module's contract; the register stack is left as it was.
            unsafe {
                asm!(
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    $instruction,
                    "fstp tbyte ptr [{a}]",
                    a = in(reg) into,
                    b = in(reg) with,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
arithmetic!(add, "faddp st(1), st");
#[cfg(target_arch = "x86_64")]
arithmetic!(multiply, "fmulp st(1), st");

/// Is the first number less than the second? False if they do not compare.
///
/// # Safety
/// See the module.
#[cfg(target_arch = "x86_64")]
unsafe fn less(a: *const u8, b: *const u8) -> bool {
    let below: u8;
    // SAFETY: the module's contract. The register stack is left as it was.
    unsafe {
        asm!(
            "fld tbyte ptr [{b}]",
            "fld tbyte ptr [{a}]",
            "fcomip st, st(1)",
            "fstp st(0)",
            // If the two numbers do not compare, both carry and parity are set.
            "setnp {p}",
            "setb {below}",
            "and {below}, {p}",
            a = in(reg) a,
            b = in(reg) b,
            p = out(reg_byte) _,
            below = out(reg_byte) below,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack, readonly),
        );
    }
    below != 0
}

// Functions of the compiler's library: numbers in `q0` and `q1`, the result in `q0` or `w0`.
#[cfg(target_arch = "aarch64")]
unsafe extern "C" {
    fn __addtf3();
    fn __multf3();
    fn __lttf2();
}

#[cfg(target_arch = "aarch64")]
macro_rules! arithmetic {
    ($name:ident, $function:ident) => {
        /// # Safety
        /// See the module.
        pub(crate) unsafe fn $name(into: *mut u8, with: *const u8) {
            // SAFETY: the module's contract; the function keeps registers 20 and 21, as all functions do.
            unsafe {
                asm!(
                    "ldr q0, [x20]",
                    "ldr q1, [x21]",
                    "bl {f}",
                    "str q0, [x20]",
                    f = sym $function,
                    in("x20") into,
                    in("x21") with,
                    clobber_abi("C"),
                );
            }
        }
    };
}
#[cfg(target_arch = "aarch64")]
arithmetic!(add, __addtf3);
#[cfg(target_arch = "aarch64")]
arithmetic!(multiply, __multf3);

/// Is the first number less than the second? False if they do not compare.
///
/// # Safety
/// See the module.
#[cfg(target_arch = "aarch64")]
unsafe fn less(a: *const u8, b: *const u8) -> bool {
    let sign: i32;
    // SAFETY: the module's contract.
    unsafe {
        asm!(
            "ldr q0, [{a}]",
            "ldr q1, [{b}]",
            "bl {f}",
            a = in(reg) a,
            b = in(reg) b,
            f = sym __lttf2,
            lateout("x0") sign,
            clobber_abi("C"),
        );
    }
    sign < 0
}

/// # Safety
/// See the module.
pub(crate) unsafe fn max(into: *mut u8, with: *const u8) {
    // SAFETY: the module's contract.
    unsafe {
        if less(into, with) {
            core::ptr::copy_nonoverlapping(with, into, SIZE);
        }
    }
}

/// # Safety
/// See the module.
pub(crate) unsafe fn min(into: *mut u8, with: *const u8) {
    // SAFETY: the module's contract.
    unsafe {
        if less(with, into) {
            core::ptr::copy_nonoverlapping(with, into, SIZE);
        }
    }
}
