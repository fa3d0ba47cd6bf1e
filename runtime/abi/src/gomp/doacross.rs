//! `GOMP_doacross_*`: `depend(source)` and `depend(sink: ...)` of loops with `ordered(n)`.
//!
//! The waits have a variable number of arguments, one for each nested loop, which Rust cannot define. An
//! entry in assembly stores the arguments that come in registers, and passes a Rust function the addresses of
//! these and of the other arguments.

use crate::entry::entries;
use hetmp_omp::{doacross, Thread};
use libc::c_long;

entries! {
    "GOMP_4.5" default:
    /// The iteration with these numbers has reached `depend(source)`.
    fn GOMP_doacross_post(at: *const c_long) {
        // SAFETY: the compiled code passes an array of one number for each nested loop.
        doacross::post(Thread::current(), |i| unsafe { *at.add(i) } as u64);
    }

    /// `GOMP_doacross_post` for `unsigned long long`.
    fn GOMP_doacross_ull_post(at: *const u64) {
        // SAFETY: the compiled code passes an array of one number for each nested loop.
        doacross::post(Thread::current(), |i| unsafe { *at.add(i) });
    }
}

/// The number of arguments that come in registers.
#[cfg(target_arch = "x86_64")]
const REGISTERS: usize = 6;
#[cfg(target_arch = "aarch64")]
const REGISTERS: usize = 8;

/// Waits for the iteration whose numbers are first in `registers` and then in `rest`.
unsafe extern "C" fn wait(registers: *const u64, rest: *const u64) {
    doacross::wait(Thread::current(), |i| {
        // SAFETY: the compiled code passes one argument for each nested loop, of 8 bytes each, and
        // the entry below has stored those that came in registers.
        unsafe {
            if i < REGISTERS {
                *registers.add(i)
            } else {
                *rest.add(i - REGISTERS)
            }
        }
    });
}

// System V: six registers take integers. Further integers lie on the stack above the return address.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_entry, \"ax\", @progbits",
    ".p2align 4",
    ".globl hetmp_doacross_wait",
    ".hidden hetmp_doacross_wait",
    ".type hetmp_doacross_wait, @function",
    "hetmp_doacross_wait:",
    ".cfi_startproc",
    "sub rsp, 56",
    ".cfi_adjust_cfa_offset 56",
    "mov [rsp], rdi",
    "mov [rsp + 8], rsi",
    "mov [rsp + 16], rdx",
    "mov [rsp + 24], rcx",
    "mov [rsp + 32], r8",
    "mov [rsp + 40], r9",
    "mov rdi, rsp",
    "lea rsi, [rsp + 64]",
    "call {wait}",
    "add rsp, 56",
    ".cfi_adjust_cfa_offset -56",
    "ret",
    ".cfi_endproc",
    ".size hetmp_doacross_wait, . - hetmp_doacross_wait",
    ".popsection",
    wait = sym wait,
);

// AAPCS64: eight registers take integers. Further integers lie on the stack.
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_entry, \"ax\", @progbits",
    ".p2align 4",
    ".globl hetmp_doacross_wait",
    ".hidden hetmp_doacross_wait",
    ".type hetmp_doacross_wait, @function",
    "hetmp_doacross_wait:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-80]!",
    ".cfi_def_cfa_offset 80",
    ".cfi_offset x29, -80",
    ".cfi_offset x30, -72",
    "stp x0, x1, [sp, #16]",
    "stp x2, x3, [sp, #32]",
    "stp x4, x5, [sp, #48]",
    "stp x6, x7, [sp, #64]",
    "add x0, sp, #16",
    "add x1, sp, #80",
    "bl {wait}",
    "ldp x29, x30, [sp], #80",
    "ret",
    ".cfi_endproc",
    ".size hetmp_doacross_wait, . - hetmp_doacross_wait",
    ".popsection",
    wait = sym wait,
);

extern "C" {
    fn hetmp_doacross_wait();
}

// Both exported names wait for numbers of 64 bits, so one function serves both.
crate::entry::export!(hetmp_doacross_wait, "GOMP_doacross_wait", "GOMP_4.5", "@@");
crate::entry::export!(
    hetmp_doacross_wait,
    "GOMP_doacross_ull_wait",
    "GOMP_4.5",
    "@@"
);
