//! Switching from one stack to another: the few instructions that Rust has no words for.
//!
//! A [`Stack`] is a mapping with a guard page below it. [`switch`] saves the registers that a called function
//! must preserve on the current stack, notes the stack pointer, and continues another stack where that was
//! left. To the compiler this is a call that returns later.
//!
//! Floating-point control words are preserved like registers, as the ABI demands. The C library's state of
//! each thread (`errno`, exceptions in flight) is left to the caller.
//!
//! **Machines**: x86-64 and aarch64, with the System V and AAPCS64 calling conventions. On others
//! [`AVAILABLE`] is false and no stack can be made. Of vector registers of any length (AVX, SVE) a function that calls
//! keeps nothing in registers but the lower halves of `v8` to `v15`, and so there is no more to save.

use hetmp_core::{page, sys};
use memmap2::{MmapOptions, MmapRaw};

/// The stack pointer of a stack that was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Left(*mut u8);

impl Left {
    /// Not left yet.
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
    // rdi: where to note the stack that is left; rsi: the stack to continue.
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
    // The first code on a new stack. r12: the function, r13: its argument. Backtraces end here.
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

/// Leaves this stack, notes its stack pointer in `from`, and continues the stack that was left at `to`.
///
/// # Safety
/// This function noted `to`, or [`Stack::begin`] made it, and the stack was not continued since; it is
/// mapped. `from` is written while this stack is still in use, and may then be read by the thread that
/// continues this stack.
#[inline(never)]
pub(super) unsafe fn switch(from: *mut Left, to: Left) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    // SAFETY: by this function's contract `to` was left by a switch or begun, and only this thread continues
    // it; `from` is live.
    unsafe {
        hetmp_switch(from, to);
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = (from, to);
        unreachable!("no stack was made");
    }
}

/// A function that runs on a stack of its own. It never returns, but leaves by [`switch`].
pub(super) type Main = unsafe extern "C" fn(*mut libc::c_void) -> !;

/// Memory for a stack, with a guard page below. Unmapped when dropped.
#[derive(Debug)]
pub(super) struct Stack {
    memory: MmapRaw,
    /// Bytes that are left free at the high end.
    offset: usize,
}

impl Stack {
    /// A stack of at least `bytes` bytes. Only the parts that are touched take memory.
    ///
    /// `number`: the stack's number among several. Stacks begin at different places of a page. If all began
    /// at the same place, the few cache lines that each of them uses would share one set of the first-level
    /// cache.
    pub(super) fn new(bytes: usize, number: u32) -> Option<Stack> {
        if !AVAILABLE {
            return None;
        }
        let page = page::size();
        const STEP: usize = 256;
        const MADV_GUARD_INSTALL: libc::c_int = 102;
        let length = bytes
            .checked_next_multiple_of(page)?
            .checked_add(page::LARGEST + page)?;
        let saved = sys::errno();
        let mut options = MmapOptions::new();
        let map = options.len(length).stack().no_reserve_swap().map_anon();
        if let Ok(map) = &map {
            let base = map.as_ptr().cast_mut().cast();
            // SAFETY: the new mapping's lowest pages, which nothing uses.
            unsafe {
                // Guard pages by madvise (Linux 6.13 and newer) do not divide the mapping. A process may have
                // 65,530 mappings by default, and neighbouring stacks then count as one.
                if libc::madvise(base, page::LARGEST, MADV_GUARD_INSTALL) != 0 {
                    libc::mprotect(base, page::LARGEST, libc::PROT_NONE);
                }
            }
        }
        // SAFETY: the calling thread's own word.
        unsafe { *libc::__errno_location() = saved };
        Some(Stack {
            memory: map.ok()?.into(),
            offset: number as usize % (4096 / STEP) * STEP,
        })
    }

    /// Makes the stack look as if it had been left just before `main(argument)` is called.
    pub(super) fn begin(&self, main: Main, argument: *mut libc::c_void) -> Left {
        // SAFETY: the words written are in the highest page of the mapping, or in the one below.
        unsafe {
            let top = self.memory.as_mut_ptr();
            let top = top.add(self.memory.len() - self.offset);
            Left(frame(top, main, argument))
        }
    }
}

/// Writes, below `top`, what [`switch`] expects at a stack pointer.
#[cfg(target_arch = "x86_64")]
unsafe fn frame(top: *mut u8, main: Main, argument: *mut libc::c_void) -> *mut u8 {
    let words: *mut u64 = top.cast();
    // The control words of the calling thread: a new thread would inherit them, too.
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
    // SAFETY: the instruction reads a register; the words lie in the caller's mapping.
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
            // SAFETY: the other stack was left there before, and is alive.
            unsafe { switch(pair.outside.as_ptr(), pair.inside.get()) };
            assert_eq!(pair.steps.get(), (1..=turn).sum());
        }
    }
}
