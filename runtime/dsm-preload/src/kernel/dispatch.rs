//! How the program's system calls are caught on x86-64: the kernel is told (`PR_SET_SYSCALL_USER_DISPATCH`, Linux 5.11)
//! not to carry them out but to raise SIGSYS. The handler, [`trapped`], makes the call itself.

use super::calls::emulate;
use super::stacks::{self, Record};
use super::{bounce, catch as catch_calls_of, numbers, signals};
use core::ffi::c_void;
use core::sync::atomic::Ordering;
use libc::{c_int, c_long};
use pages::backend::sigsegv::raw;

const DISPATCH: usize = 59;

fn dispatch(on: bool) -> isize {
    let code = raw::code();
    let a = match on {
        true => [DISPATCH, 1, code.start, code.len(), 0, 0],
        false => [DISPATCH, 0, 0, 0, 0, 0],
    };
    // SAFETY: the range is that of `raw`, and there is no byte that would switch the calls on and off.
    unsafe { raw::call(numbers::SYS_prctl, a) }
}

/// May the system calls of this process be caught?
pub(crate) fn probe() -> Result<(), String> {
    if dispatch(true) == 0 && dispatch(false) == 0 {
        return Ok(());
    }
    Err("HETMP_DSM: 'sigsegv': a kernel that hands system calls to the program (Linux 5.11 or later) is \
         needed".to_owned())
}

/// Catches system calls from now on, of the threads that [`catch`].
pub(super) fn start() -> Result<(), String> {
    let action = raw::Action {
        handler: trapped as *const () as usize,
        flags: (libc::SA_SIGINFO | libc::SA_NODEFER) as usize,
        restorer: 0,
        mask: 0,
    };
    // SAFETY: the handler is async-signal-safe (see the head of this file).
    let before = unsafe { raw::action(libc::SIGSYS, Some(&action.on_own_stack())) }
        .map_err(|e| format!("HETMP_DSM: 'sigsegv': a handler of SIGSYS is needed (error {e})"))?;
    signals::SYS.set(Some(&before));
    Ok(())
}

/// Catches the system calls of this thread. Returns what the kernel returns.
pub(super) fn catch() -> isize {
    dispatch(true)
}

/// The handler of SIGSYS: carries out the system call that the thread was about to make. A SIGSYS that comes for
/// another reason (somebody sent it, or a filter of system calls refused one) is the program's.
extern "C-unwind" fn trapped(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    const USER_DISPATCH: c_int = 2;
    // SAFETY: the kernel passes its description of the signal.
    let code = unsafe { (*info).si_code };
    if code != USER_DISPATCH {
        signals::SYS.deliver(signal, info, context, code > 0);
        return;
    }
    // SAFETY: the kernel passes the context of the interrupted thread.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let registers = &mut context.uc_mcontext.gregs;
    let r = |n: c_int| registers[n as usize] as usize;
    let number = registers[libc::REG_RAX as usize] as c_long;
    let a = [
        r(libc::REG_RDI),
        r(libc::REG_RSI),
        r(libc::REG_RDX),
        r(libc::REG_R10),
        r(libc::REG_R8),
        r(libc::REG_R9),
    ];
    let kept = [
        r(libc::REG_RBX),
        r(libc::REG_RBP),
        r(libc::REG_R12),
        r(libc::REG_R13),
        r(libc::REG_R14),
        r(libc::REG_R15),
    ];
    let (next, stack) = (r(libc::REG_RIP), r(libc::REG_RSP));
    let makes_thread = matches!(number, numbers::SYS_clone | numbers::SYS_vfork);
    if makes_thread {
        // SAFETY: the kernel's description of the interrupted thread's floating-point state, or null.
        if let Some(state) = unsafe { context.uc_mcontext.fpregs.as_ref() } {
            take_floating_point_modes(state);
        }
    }
    // SAFETY: the call and its arguments are the program's.
    let result = unsafe {
        match number {
            numbers::SYS_clone => clone(a, a[0], kept, next),
            numbers::SYS_vfork => clone(vfork(stack), a[0], kept, next),
            _ => emulate(number, a),
        }
    };
    if makes_thread {
        hetmp_core::float::default_here();
    }
    registers[libc::REG_RAX as usize] = result as i64;
    if number == numbers::SYS_rt_sigprocmask {
        // The mask that the thread gets when the handler returns is that of the context.
        let to = &raw mut context.uc_sigmask;
        // SAFETY: the kernel's set is the first word of the C library's.
        unsafe { signals::read_mask(to.cast()) };
    }
}

/// Takes over the modes of the program's thread, such as which exceptions raise a signal. The kernel enters a handler
/// with the default ones, and a thread that the handler makes inherits those of the handler.
fn take_floating_point_modes(state: &libc::_libc_fpstate) {
    /// The flags of exceptions that have occurred: they stay with the thread that made them.
    const FLAGS: u32 = 0x3f;
    let (mxcsr, control) = (state.mxcsr & !FLAGS, state.cwd);
    // SAFETY: loads modes that the processor had before. Until they are taken back, the handler computes with integers
    // only.
    unsafe {
        core::arch::asm!("ldmxcsr dword ptr [{m}]", "fldcw word ptr [{c}]",
            m = in(reg) &raw const mxcsr, c = in(reg) &raw const control,
            options(nostack, preserves_flags, readonly));
    }
}

/// `vfork`, as arguments of [`clone`]: the child goes on upon the caller's stack, and the caller waits for it. Below
/// the pointer lies nothing that either needs: `vfork` is a function, called by one that keeps nothing there.
fn vfork(stack: usize) -> [usize; 6] {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    [flags as usize, stack, 0, 0, 0, 0]
}

/// `clone`: a new thread, or a process that shares this one's memory until it starts another program. `rdi`: what the
/// child finds in that register; the C library's `vfork` keeps there where it returns to.
///
/// # Safety
/// As for [`emulate`].
unsafe fn clone(a: [usize; 6], rdi: usize, kept: [usize; 6], next: usize) -> isize {
    let flags = a[0] as c_int;
    let is_thread = flags & libc::CLONE_THREAD != 0;
    let shares = flags & libc::CLONE_VM != 0;
    if !shares || a[1] == 0 || !is_thread && flags & libc::CLONE_VFORK == 0 {
        // A copy of this process, whose memory would not be a node's.
        return -libc::ENOSYS as isize;
    }
    let guest = match is_thread {
        true => None,
        false => match stacks::take(true) {
            Some(record) => Some(record),
            None => return -libc::ENOMEM as isize,
        },
    };
    let (first, argument) = guest.map_or((0, 0), |record| {
        (
            welcome as *const () as usize,
            core::ptr::from_ref(record).expose_provenance(),
        )
    });
    let top: *mut [usize; 4] = core::ptr::with_exposed_provenance_mut(a[1] - 32);
    let how = raw::Clone {
        arguments: [a[0], a[1] - 32, a[2], a[3], a[4]],
        r9: a[5],
        kept,
    };
    // SAFETY: the program gave the child this stack, and nobody uses it yet. A thread that `pthread_create` makes calls
    // `begin`; until then it needs its own stack and control block only, which this thread has just written.
    let result = unsafe {
        top.write_unaligned([first, argument, rdi, next]);
        raw::clone(&how)
    };
    if let Some(record) = guest {
        // The guest has started its program, or has ended: this thread has waited for that (`CLONE_VFORK`).
        let [at, len] = [0, 1].map(|i| record.left[i].load(Ordering::Acquire));
        if len != 0 {
            // SAFETY: `execute` made the mapping in the guest, which is gone.
            unsafe { bounce::unmap(at, len) };
        }
        record.give_back();
    }
    result
}

/// The first function of a guest, on the stack that the program gave it.
extern "C" fn welcome(record: &Record) {
    catch_calls_of(record);
}
