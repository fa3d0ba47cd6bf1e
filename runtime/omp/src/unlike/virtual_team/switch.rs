//! Switching from one stack to another: the few instructions that Rust cannot say.
//!
//! A [`Stack`] is a mapping with a guard page below it. [`switch`] saves what a called function has
//! to preserve on the current stack, notes where that was, and takes up another stack where
//! it had been left. To the compiler it is a call that returns later.
//!
//! Floating-point control words are preserved like registers, as the ABI has it; what the C
//! library keeps by thread (`errno`, exceptions in flight) is left to the caller.
//!
//! **Where.** x86-64 and aarch64 with the System V and AAPCS64 calling conventions. Elsewhere
//! [`AVAILABLE`] is false and no stack can be made.

use core::ptr::NonNull;
use hetmp_core::sys;

/// Where a stack was left: its stack pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Left(*mut u8);

impl Left {
    /// Nowhere yet.
    pub(super) const NOWHERE: Left = Left(core::ptr::null_mut());
}

/// Can stacks be switched on this machine?
pub(crate) const AVAILABLE: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_switch, \"ax\", @progbits",
    ".globl hetmp_switch",
    ".hidden hetmp_switch",
    ".type hetmp_switch, @function",
    ".p2align 4",
    // rdi: where to note the stack that is left; rsi: the stack to take up.
    "hetmp_switch:",
    ".cfi_startproc",
    "push rbp",
    "push rbx",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "sub rsp, 8",
    "stmxcsr dword ptr [rsp]",
    "fnstcw word ptr [rsp + 4]",
    "mov qword ptr [rdi], rsp",
    "mov rsp, rsi",
    "ldmxcsr dword ptr [rsp]",
    "fldcw word ptr [rsp + 4]",
    "add rsp, 8",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbx",
    "pop rbp",
    "ret",
    ".cfi_endproc",
    ".size hetmp_switch, . - hetmp_switch",
    ".globl hetmp_switch_begin",
    ".hidden hetmp_switch_begin",
    ".type hetmp_switch_begin, @function",
    ".p2align 4",
    // First thing on a new stack; r12: the function, r13: its argument. Backtraces end here.
    "hetmp_switch_begin:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "mov rdi, r13",
    "xor ebp, ebp",
    "call r12",
    "ud2",
    ".cfi_endproc",
    ".size hetmp_switch_begin, . - hetmp_switch_begin",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_switch, \"ax\", @progbits",
    ".globl hetmp_switch",
    ".hidden hetmp_switch",
    ".type hetmp_switch, @function",
    ".p2align 4",
    "hetmp_switch:",
    ".cfi_startproc",
    "sub sp, sp, #176",
    "stp x19, x20, [sp, #0]",
    "stp x21, x22, [sp, #16]",
    "stp x23, x24, [sp, #32]",
    "stp x25, x26, [sp, #48]",
    "stp x27, x28, [sp, #64]",
    "stp x29, x30, [sp, #80]",
    "stp d8, d9, [sp, #96]",
    "stp d10, d11, [sp, #112]",
    "stp d12, d13, [sp, #128]",
    "stp d14, d15, [sp, #144]",
    "mrs x9, fpcr",
    "str x9, [sp, #160]",
    "mov x9, sp",
    "str x9, [x0]",
    "mov sp, x1",
    "ldr x9, [sp, #160]",
    "msr fpcr, x9",
    "ldp x19, x20, [sp, #0]",
    "ldp x21, x22, [sp, #16]",
    "ldp x23, x24, [sp, #32]",
    "ldp x25, x26, [sp, #48]",
    "ldp x27, x28, [sp, #64]",
    "ldp x29, x30, [sp, #80]",
    "ldp d8, d9, [sp, #96]",
    "ldp d10, d11, [sp, #112]",
    "ldp d12, d13, [sp, #128]",
    "ldp d14, d15, [sp, #144]",
    "add sp, sp, #176",
    "ret",
    ".cfi_endproc",
    ".size hetmp_switch, . - hetmp_switch",
    ".globl hetmp_switch_begin",
    ".hidden hetmp_switch_begin",
    ".type hetmp_switch_begin, @function",
    ".p2align 4",
    // x19: the function, x20: its argument.
    "hetmp_switch_begin:",
    ".cfi_startproc",
    ".cfi_undefined x30",
    "mov x0, x20",
    "mov x29, xzr",
    "blr x19",
    "brk #1",
    ".cfi_endproc",
    ".size hetmp_switch_begin, . - hetmp_switch_begin",
    ".popsection",
);

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
extern "C" {
    fn hetmp_switch(from: *mut Left, to: Left);
    fn hetmp_switch_begin();
}

/// Leaves this stack, noting in `from` where, and takes up the one that was left at `to`.
///
/// # Safety
/// `to` was noted by this function, or made by [`Stack::begin`], and not taken up since; its
/// stack is mapped. `from` may be read by whoever takes this stack up again, and is only written
/// while this stack is still in use.
#[inline(never)]
pub(super) unsafe fn switch(from: *mut Left, to: Left) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: this function's contract: `to` was left by a switch or begun, and is taken up by this thread only;
    // `from` is live.
    unsafe {
        hetmp_switch(from, to);
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = (from, to);
        unreachable!("no stack was made");
    }
}

/// A function that runs on a stack of its own. It never returns: it leaves by [`switch`].
pub(super) type Main = unsafe extern "C" fn(*mut libc::c_void) -> !;

/// Memory for a stack, and a guard page below it. Unmapped when dropped.
#[derive(Debug)]
pub(super) struct Stack {
    base: NonNull<libc::c_void>,
    length: usize,
    /// Bytes at the high end that are left free.
    offset: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread.
unsafe impl Send for Stack {}
// SAFETY: a mapping belongs to the process, and only the stack's owner writes to it.
unsafe impl Sync for Stack {}

impl Stack {
    /// A stack of at least `bytes`. Memory is only used as far as it is touched.
    ///
    /// Stack `number` of several: they begin at different places of a page. If all began at
    /// the same one, the few lines that each of them uses would share one set of the first-level cache.
    pub(super) fn new(bytes: usize, number: u32) -> Option<Stack> {
        if !AVAILABLE {
            return None;
        }
        const PAGE: usize = 4096;
        const GUARD: usize = 16 * PAGE;
        const STEP: usize = 256;
        const MADV_GUARD_INSTALL: libc::c_int = 102;
        let length = bytes
            .checked_next_multiple_of(PAGE)?
            .checked_add(GUARD + PAGE)?;
        let saved = sys::errno();
        // SAFETY: a fresh private mapping, of which the lowest pages are made inaccessible.
        let base = unsafe {
            let base = libc::mmap(
                core::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
                -1,
                0,
            );
            if base == libc::MAP_FAILED {
                *libc::__errno_location() = saved;
                return None;
            }
            // Guard pages that do not divide the mapping: a process may have 65,530 of them by default,
            // and stacks beside each other then count as one. Linux 6.13 and newer.
            if libc::madvise(base, GUARD, MADV_GUARD_INSTALL) != 0 {
                libc::mprotect(base, GUARD, libc::PROT_NONE);
            }
            *libc::__errno_location() = saved;
            base
        };
        Some(Stack {
            base: NonNull::new(base)?,
            length,
            offset: number as usize % (PAGE / STEP) * STEP,
        })
    }

    /// Makes the stack one that was left just before `main(argument)` is called.
    pub(super) fn begin(&self, main: Main, argument: *mut libc::c_void) -> Left {
        // SAFETY: the words written are in the highest page or the one below, both of the mapping.
        unsafe {
            let top = self.base.as_ptr().cast::<u8>();
            let top = top.add(self.length - self.offset);
            Left(frame(top, main, argument))
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`; whoever ran on it has ended or will not go on.
        unsafe { libc::munmap(self.base.as_ptr(), self.length) };
    }
}

/// What [`switch`] expects at a stack pointer, below `top`.
#[cfg(target_arch = "x86_64")]
unsafe fn frame(top: *mut u8, main: Main, argument: *mut libc::c_void) -> *mut u8 {
    let words: *mut u64 = top.cast();
    // The control words of the calling thread, which a started thread would inherit as well.
    let mut control = [0u32; 2];
    // SAFETY: both instructions store to the array; the words lie in the caller's mapping.
    unsafe {
        core::arch::asm!(
            "stmxcsr dword ptr [{c}]",
            "fnstcw word ptr [{c} + 4]",
            c = in(reg) control.as_mut_ptr(),
            options(nostack),
        );
        let sp = words.sub(10);
        sp.write(u64::from(control[0]) | u64::from(control[1]) << 32);
        sp.add(1).write(0); // r15
        sp.add(2).write(0); // r14
        sp.add(3).write(argument as u64); // r13
        sp.add(4).write(main as usize as u64); // r12
        sp.add(5).write(0); // rbx
        sp.add(6).write(0); // rbp
        sp.add(7)
            .write(hetmp_switch_begin as *const () as usize as u64);
        // After the return the stack pointer is at word 8, a multiple of 16, as before any call.
        sp.add(8).write(0);
        sp.add(9).write(0);
        sp.cast()
    }
}

#[cfg(target_arch = "aarch64")]
unsafe fn frame(top: *mut u8, main: Main, argument: *mut libc::c_void) -> *mut u8 {
    let words: *mut u64 = top.cast();
    let fpcr: u64;
    // SAFETY: reads a register; the words lie in the caller's mapping.
    unsafe {
        core::arch::asm!("mrs {f}, fpcr", f = out(reg) fpcr, options(nomem, nostack));
        let sp = words.sub(24);
        for i in 0..24 {
            sp.add(i).write(0);
        }
        sp.add(0).write(main as usize as u64);
        sp.add(1).write(argument as u64);
        sp.add(11)
            .write(hetmp_switch_begin as *const () as usize as u64);
        sp.add(20).write(fpcr);
        sp.cast()
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn frame(_: *mut u8, _: Main, _: *mut libc::c_void) -> *mut u8 {
    unreachable!("no stack was made")
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Pair {
        outside: Cell<Left>,
        inside: Cell<Left>,
        steps: Cell<u32>,
    }

    unsafe extern "C" fn count(p: *mut libc::c_void) -> ! {
        // SAFETY: the test passes a live pair.
        let pair = unsafe { &*p.cast::<Pair>() };
        let mut local = 0.5f64;
        loop {
            local += 1.0;
            pair.steps.set(pair.steps.get() + local as u32);
            // SAFETY: the test left its own stack through this pair.
            unsafe { switch(pair.inside.as_ptr(), pair.outside.get()) };
        }
    }

    #[test]
    fn goes_back_and_forth() {
        let stack = Stack::new(64 * 1024, 3).expect("stack");
        let pair = Pair {
            outside: Cell::new(Left::NOWHERE),
            inside: Cell::new(Left::NOWHERE),
            steps: Cell::new(0),
        };
        pair.inside
            .set(stack.begin(count, core::ptr::from_ref(&pair).cast_mut().cast()));
        for turn in 1..=4 {
            // SAFETY: left there before, on a stack that is alive.
            unsafe { switch(pair.outside.as_ptr(), pair.inside.get()) };
            assert_eq!(pair.steps.get(), (1..=turn).sum());
        }
    }
}
