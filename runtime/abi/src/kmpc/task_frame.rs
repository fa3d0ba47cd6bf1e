//! Calls of tasks' functions. A tool may ask for the frame from which the runtime calls the program's code, so the call
//! is made by a function whose frame is known.

use super::task::{KmpTask, Routine};
use hetmp_omp::tool::events;
use hetmp_omp::Thread;

extern "C" {
    /// Calls `routine(gtid, task)`. Stores its own frame pointer in `frame` before.
    fn hetmp_kmpc_task(routine: Routine, gtid: i32, task: *mut KmpTask, frame: *mut usize);
}

// System V. At the call the stack pointer is a multiple of 16.
#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_entry, \"ax\", @progbits",
    ".p2align 4",
    ".globl hetmp_kmpc_task",
    ".hidden hetmp_kmpc_task",
    ".type hetmp_kmpc_task, @function",
    "hetmp_kmpc_task:",
    ".cfi_startproc",
    "push rbp",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset rbp, -16",
    "mov rbp, rsp",
    ".cfi_def_cfa_register rbp",
    "mov [rcx], rbp",
    "mov rax, rdi",
    "mov edi, esi",
    "mov rsi, rdx",
    "call rax",
    "leave",
    ".cfi_def_cfa rsp, 8",
    "ret",
    ".cfi_endproc",
    ".size hetmp_kmpc_task, . - hetmp_kmpc_task",
    ".popsection",
);

// AAPCS64.
#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_entry, \"ax\", @progbits",
    ".p2align 4",
    ".globl hetmp_kmpc_task",
    ".hidden hetmp_kmpc_task",
    ".type hetmp_kmpc_task, @function",
    "hetmp_kmpc_task:",
    ".cfi_startproc",
    "stp x29, x30, [sp, #-16]!",
    ".cfi_def_cfa_offset 16",
    ".cfi_offset x29, -16",
    ".cfi_offset x30, -8",
    "mov x29, sp",
    "str x29, [x3]",
    "mov x8, x0",
    "mov w0, w1",
    "mov x1, x2",
    "blr x8",
    "ldp x29, x30, [sp], #16",
    "ret",
    ".cfi_endproc",
    ".size hetmp_kmpc_task, . - hetmp_kmpc_task",
    ".popsection",
);

/// Calls the task's function once, so that a tool finds the frame that calls the function.
///
/// # Safety
/// `task` was made by `task::allocate` and has not ended. `routine` is its function.
#[inline]
pub(super) unsafe fn call(routine: Routine, gtid: i32, task: *mut KmpTask) {
    // SAFETY: the function is the compiled code's for this task: this function's contract. The word for the frame
    // belongs to the current task.
    unsafe {
        match events::exit_frame(Thread::current()) {
            Some(frame) => hetmp_kmpc_task(routine, gtid, task, frame.as_ptr()),
            None => {
                routine(gtid, task);
            }
        }
    }
}
