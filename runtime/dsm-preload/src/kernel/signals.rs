//! What programs do with signals. SIGSEGV and SIGSYS are this library's: they are never blocked, and what the program
//! wants them to do is noted. Handlers run on the thread's private stack: the kernel cannot write a signal's frame to a
//! page that is on another node.

use super::stacks::Record;
use super::{is_bad, without_ours};
use pages::backend::sigsegv::{raw, Wanted, PROGRAMS};
use raw::Action;

/// What the program wants SIGSYS to do.
pub(crate) static SYS: Wanted = Wanted::new();

/// As the kernel shall know it: on the private stack, with this library's signals never blocked.
fn made(mut action: Action) -> Action {
    action.mask = without_ours(action.mask);
    if action.is_handler() {
        action = action.on_own_stack();
    }
    action
}

/// Changes the handlers that the program has set before its system calls were caught.
pub(crate) fn take_over() {
    for signal in 1..=64 {
        // SAFETY: the handlers are those of the program.
        unsafe {
            if let Ok(old) = raw::action(signal, None) {
                if old.is_handler() && signal != libc::SIGSEGV && signal != libc::SIGSYS {
                    let _ = raw::action(signal, Some(&made(old)));
                }
            }
        }
    }
}

/// `rt_sigaction`.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn action(record: &Record, a: [usize; 6]) -> isize {
    let signal = a[0] as libc::c_int;
    if a[3] != 8 {
        return -libc::EINVAL as isize;
    }
    if [a[1], a[2]].iter().any(|at| *at != 0 && is_bad(*at)) {
        return -libc::EFAULT as isize;
    }
    let new: *const Action = core::ptr::with_exposed_provenance(a[1]);
    let to: *mut Action = core::ptr::with_exposed_provenance_mut(a[2]);
    // SAFETY: null or a structure of the program's: this function's contract.
    let new = unsafe { (!new.is_null()).then(|| new.read_unaligned()) };
    let old = match signal {
        // In a process that shares this one's memory until it starts another program, the signals keep what they do.
        libc::SIGSEGV | libc::SIGSYS if record.is_guest() => Ok(Action::default()),
        libc::SIGSEGV => Ok(PROGRAMS.set(new.as_ref())),
        libc::SIGSYS => Ok(SYS.set(new.as_ref())),
        // SAFETY: the handler is the program's.
        _ => unsafe { raw::action(signal, new.map(made).as_ref()) },
    };
    match old {
        Ok(old) => {
            if !to.is_null() {
                // SAFETY: a structure of the program's.
                unsafe { to.write_unaligned(old) };
            }
            0
        }
        Err(error) => error,
    }
}

/// `rt_sigprocmask`.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn mask(mut a: [usize; 6]) -> isize {
    if [a[1], a[2]].iter().any(|at| *at != 0 && is_bad(*at)) {
        return -libc::EFAULT as isize;
    }
    let new: *const u64 = core::ptr::with_exposed_provenance(a[1]);
    // SAFETY: null, or a set of the program's: this function's contract.
    let set = unsafe { (!new.is_null()).then(|| without_ours(new.read_unaligned())) };
    if let Some(set) = &set {
        a[1] = core::ptr::from_ref(set).expose_provenance();
    }
    let (mut old, to) = (0u64, a[2]);
    a[2] = (&raw mut old).expose_provenance();
    // SAFETY: both sets live during the call.
    let result = unsafe { raw::call(libc::SYS_rt_sigprocmask, a) };
    if result == 0 && to != 0 {
        let to: *mut u64 = core::ptr::with_exposed_provenance_mut(to);
        // SAFETY: a set of the program's.
        unsafe { to.write_unaligned(old) };
    }
    result
}

/// Writes the signals that wait in the calling thread to `to`.
///
/// # Safety
/// A word that may be written.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn read_mask(to: *mut u64) {
    let a = [0, 0, to.expose_provenance(), 8, 0, 0];
    // SAFETY: this function's contract; without a new set nothing changes.
    unsafe { raw::call(libc::SYS_rt_sigprocmask, a) };
}

/// `sigaltstack`: the thread's private stack stays. What the program asks for is noted, and told when it asks.
///
/// # Safety
/// The arguments are the program's, as the call demands.
pub(crate) unsafe fn stack(record: &Record, a: [usize; 6]) -> isize {
    if [a[0], a[1]].iter().any(|at| *at != 0 && is_bad(*at)) {
        return -libc::EFAULT as isize;
    }
    let new: *const [usize; 3] = core::ptr::with_exposed_provenance(a[0]);
    let to: *mut [usize; 3] = core::ptr::with_exposed_provenance_mut(a[1]);
    // SAFETY: null, or structures of the program's: this function's contract.
    unsafe {
        let new = (!new.is_null()).then(|| new.read_unaligned());
        let old = record.asked_stack(new);
        if !to.is_null() {
            to.write_unaligned(old);
        }
    }
    0
}
