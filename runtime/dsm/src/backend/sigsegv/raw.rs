//! System calls of signal handlers, in a part of the code that is known by its addresses.
//!
//! The C library's functions are not for these handlers: those set `errno`, which lies in the thread's own storage, in
//! a page that may be on another node. And where all system calls of a thread are caught (`libhetmp_dsm.so` does so,
//! for programs), the kernel lets those of this part pass.

use core::sync::atomic::AtomicU32;

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_raw, \"ax\", @progbits",
    ".balign 16",
    ".globl hetmp_raw_begin",
    ".hidden hetmp_raw_begin",
    "hetmp_raw_begin:",
    // isize hetmp_raw_call(number, *const [usize; 6])
    ".globl hetmp_raw_call",
    ".hidden hetmp_raw_call",
    ".type hetmp_raw_call, @function",
    "hetmp_raw_call:",
    // A thread that is cancelled while it waits here is unwound.
    ".cfi_startproc",
    "mov rax, rdi",
    "mov r11, rsi",
    "mov rdi, [r11]",
    "mov rsi, [r11 + 8]",
    "mov rdx, [r11 + 16]",
    "mov r10, [r11 + 24]",
    "mov r8, [r11 + 32]",
    "mov r9, [r11 + 40]",
    "syscall",
    "ret",
    ".cfi_endproc",
    // isize hetmp_raw_clone(*const Clone). In the child, `begin` (if there is one) is called with the program's
    // registers kept, and the program's code goes on with 0 as the call's result. The child's stack holds, from its
    // pointer on: `begin`, its argument, the register `rdi`, and where the program goes on.
    ".globl hetmp_raw_clone",
    ".hidden hetmp_raw_clone",
    ".type hetmp_raw_clone, @function",
    "hetmp_raw_clone:",
    "push rbx",
    "push rbp",
    "push r12",
    "push r13",
    "push r14",
    "push r15",
    "mov rax, rdi",
    "mov rdi, [rax]",
    "mov rsi, [rax + 8]",
    "mov rdx, [rax + 16]",
    "mov r10, [rax + 24]",
    "mov r8, [rax + 32]",
    "mov r9, [rax + 40]",
    "mov rbx, [rax + 48]",
    "mov rbp, [rax + 56]",
    "mov r12, [rax + 64]",
    "mov r13, [rax + 72]",
    "mov r14, [rax + 80]",
    "mov r15, [rax + 88]",
    "mov eax, 56",
    "syscall",
    "test rax, rax",
    "jz 2f",
    "pop r15",
    "pop r14",
    "pop r13",
    "pop r12",
    "pop rbp",
    "pop rbx",
    "ret",
    "2:",
    "pop rax",
    "pop r11",
    "pop rdi",
    "test rax, rax",
    "jz 3f",
    "push rdi",
    "push rsi",
    "push rdx",
    "push r10",
    "push r8",
    "push r9",
    "push rbp",
    "mov rbp, rsp",
    "and rsp, -16",
    "mov rdi, r11",
    "call rax",
    "mov rsp, rbp",
    "pop rbp",
    "pop r9",
    "pop r8",
    "pop r10",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "3:",
    "xor eax, eax",
    "ret",
    // Where signal handlers return to. Debuggers and unwinders know these very bytes.
    ".globl hetmp_raw_restore",
    ".hidden hetmp_raw_restore",
    "nop",
    "hetmp_raw_restore:",
    ".byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0",
    "syscall",
    // The kernel compares the address behind the instruction.
    "ud2",
    ".globl hetmp_raw_end",
    ".hidden hetmp_raw_end",
    "hetmp_raw_end:",
    ".popsection",
);

#[cfg(target_arch = "aarch64")]
core::arch::global_asm!(
    ".pushsection .text.hetmp_raw, \"ax\", @progbits",
    ".balign 16",
    ".globl hetmp_raw_begin",
    ".hidden hetmp_raw_begin",
    "hetmp_raw_begin:",
    ".globl hetmp_raw_call",
    ".hidden hetmp_raw_call",
    ".type hetmp_raw_call, @function",
    "hetmp_raw_call:",
    ".cfi_startproc",
    "mov x8, x0",
    "mov x6, x1",
    "ldp x0, x1, [x6]",
    "ldp x2, x3, [x6, #16]",
    "ldp x4, x5, [x6, #32]",
    "svc #0",
    "ret",
    ".cfi_endproc",
    // void hetmp_raw_end_thread(u32 *word, status): without a stack, which may be another thread's when the word is 0.
    ".globl hetmp_raw_end_thread",
    ".hidden hetmp_raw_end_thread",
    ".type hetmp_raw_end_thread, @function",
    "hetmp_raw_end_thread:",
    "mov x9, x0",
    "mov x10, x1",
    "stlr wzr, [x9]",
    "2:",
    // FUTEX_WAKE, 1. It fails where the page has gone meanwhile.
    "ldr w11, [x9]",
    "mov x0, x9",
    "mov x1, #1",
    "mov x2, #1",
    "mov x8, #98",
    "svc #0",
    "cmn x0, #14",
    "b.eq 2b",
    "mov x0, x10",
    "mov x8, #93",
    "svc #0",
    "brk #0",
    ".globl hetmp_raw_restore",
    ".hidden hetmp_raw_restore",
    "nop",
    "hetmp_raw_restore:",
    "mov x8, #139",
    "svc #0",
    ".globl hetmp_raw_end",
    ".hidden hetmp_raw_end",
    "hetmp_raw_end:",
    ".popsection",
);

extern "C" {
    static hetmp_raw_begin: u8;
    static hetmp_raw_end: u8;
    static hetmp_raw_restore: u8;
    fn hetmp_raw_call(number: usize, arguments: *const [usize; 6]) -> isize;
    #[cfg(target_arch = "x86_64")]
    fn hetmp_raw_clone(how: *const Clone) -> isize;
    #[cfg(target_arch = "aarch64")]
    fn hetmp_raw_end_thread(word: *mut u32, status: usize) -> !;
}

/// Ends the calling thread: writes 0 to the word, and wakes a thread that waits for that.
///
/// # Safety
/// The word may be written, and the thread's stack may be another's from then on.
#[cfg(target_arch = "aarch64")]
pub unsafe fn end_thread(word: &AtomicU32, status: usize) -> ! {
    // SAFETY: this function's contract.
    unsafe { hetmp_raw_end_thread(word.as_ptr(), status) }
}

/// The addresses of this part.
pub fn code() -> core::ops::Range<usize> {
    (&raw const hetmp_raw_begin).addr()..(&raw const hetmp_raw_end).addr()
}

/// A system call. Returns what the kernel returns: a negative error number, or the result. Async-signal-safe; leaves
/// `errno` alone.
///
/// # Safety
/// As the call demands.
pub unsafe fn call(number: libc::c_long, arguments: [usize; 6]) -> isize {
    // SAFETY: the caller upholds what the call demands; the list lives during the call.
    unsafe { hetmp_raw_call(number as usize, &raw const arguments) }
}

/// How a thread or process of the program is made: the arguments of the system call `clone`, and the program's
/// registers.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Clone {
    /// The arguments, in the order of the call.
    pub arguments: [usize; 5],
    /// The register `r9`.
    pub r9: usize,
    /// `rbx`, `rbp` and `r12` to `r15`.
    pub kept: [usize; 6],
}

/// The system call `clone`, where the child goes on in the program's code, on a stack of its own.
///
/// # Safety
/// As the call demands. From the child's stack pointer on lie four words: a function that the child calls first, or 0;
/// the function's argument; the child's `rdi`; and the address where the program goes on.
#[cfg(target_arch = "x86_64")]
pub unsafe fn clone(how: &Clone) -> isize {
    // SAFETY: the caller upholds what the call demands of the arguments and of the child's stack.
    unsafe { hetmp_raw_clone(how) }
}

/// The kernel's description of what a signal does.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Action {
    /// The handler's address; 0 stands for the default, 1 for nothing.
    pub handler: usize,
    /// `SA_` flags.
    pub flags: usize,
    /// Where the handler returns to.
    pub restorer: usize,
    /// Signals that wait while the handler runs.
    pub mask: u64,
}

/// `SA_RESTORER`, which the C library hides.
const RESTORER: usize = 0x0400_0000;

impl Action {
    /// Does the signal call a function?
    pub fn is_handler(&self) -> bool {
        self.handler > 1
    }

    /// The same, but the handler runs on the thread's alternate stack, and returns by this part of the code.
    #[must_use]
    pub fn on_own_stack(mut self) -> Action {
        self.flags |= libc::SA_ONSTACK as usize | RESTORER;
        self.restorer = (&raw const hetmp_raw_restore).addr();
        self
    }
}

/// Sets what a signal does, if `new` is given, and returns what it did before.
///
/// # Errors
/// The kernel refuses, with this error number.
///
/// # Safety
/// The handler may be called at any time.
pub unsafe fn action(signal: libc::c_int, new: Option<&Action>) -> Result<Action, isize> {
    let mut old = Action::default();
    let new = new.map_or(core::ptr::null(), core::ptr::from_ref);
    let a = [
        signal as usize,
        new.expose_provenance(),
        (&raw mut old).expose_provenance(),
        8,
        0,
        0,
    ];
    // SAFETY: both structures live during the call, and the handler is the caller's responsibility.
    match unsafe { call(libc::SYS_rt_sigaction, a) } {
        0 => Ok(old),
        error => Err(error),
    }
}

/// Sleeps while the word has this value, until [`futex_wake`]; may return early.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) {
    let how = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let a = [
        word.as_ptr().expose_provenance(),
        how,
        value as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the word lives during the call; there is no limit of time.
    unsafe { call(libc::SYS_futex, a) };
}

/// Wakes all threads that sleep on the word.
pub(crate) fn futex_wake(word: &AtomicU32) {
    let how = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    let a = [
        word.as_ptr().expose_provenance(),
        how,
        i32::MAX as usize,
        0,
        0,
        0,
    ];
    // SAFETY: the kernel uses the address as a key.
    unsafe { call(libc::SYS_futex, a) };
}
