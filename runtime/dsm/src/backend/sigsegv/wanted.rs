//! What the program wants a signal to do that this library catches.
//!
//! A handler is called with the arguments that its own flags ask for, on the thread that the kernel chose, after ours
//! has found that the fault is not of shared memory.

use super::raw::{self, Action};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The program's action for one signal.
#[derive(Debug)]
pub struct Wanted {
    handler: AtomicUsize,
    flags: AtomicUsize,
    mask: AtomicU64,
}

impl Wanted {
    /// The default action.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "needed in constants")]
    pub const fn new() -> Wanted {
        Wanted {
            handler: AtomicUsize::new(0),
            flags: AtomicUsize::new(0),
            mask: AtomicU64::new(0),
        }
    }

    /// Sets the action, if `new` is given, and returns what was set before.
    pub fn set(&self, new: Option<&Action>) -> Action {
        let old = Action {
            handler: self.handler.load(Ordering::Acquire),
            flags: self.flags.load(Ordering::Relaxed),
            restorer: 0,
            mask: self.mask.load(Ordering::Relaxed),
        };
        if let Some(new) = new {
            self.flags.store(new.flags, Ordering::Relaxed);
            self.mask.store(new.mask, Ordering::Relaxed);
            self.handler.store(new.handler, Ordering::Release);
        }
        old
    }

    /// Handles a signal that is not this library's as the system would without this library. `forced`: by the kernel,
    /// for what the thread did, such as a fault; such signals cannot be ignored.
    ///
    /// To be called by the handler of `signal`, with the arguments that the kernel gave.
    pub fn deliver(
        &self,
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
        forced: bool,
    ) {
        let programs = self.set(None);
        if programs.is_handler() {
            // SAFETY: the program installed this handler, and its flags say which arguments it takes.
            unsafe {
                if programs.flags & libc::SA_SIGINFO as usize != 0 {
                    let handler: extern "C" fn(
                        libc::c_int,
                        *mut libc::siginfo_t,
                        *mut libc::c_void,
                    ) = core::mem::transmute(programs.handler);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(libc::c_int) =
                        core::mem::transmute(programs.handler);
                    handler(signal);
                }
            }
            return;
        }
        if programs.handler == libc::SIG_IGN && !forced {
            return;
        }
        // SAFETY: this restores the default action. An instruction that faulted does so again, and ends the process as
        // it should; a signal that comes for no instruction, or behind one, is sent again.
        unsafe {
            let _ = raw::action(signal, Some(&Action::default()));
            if !forced || signal == libc::SIGSYS {
                let me = raw::call(libc::SYS_gettid, [0; 6]) as usize;
                let process = raw::call(libc::SYS_getpid, [0; 6]) as usize;
                raw::call(libc::SYS_tgkill, [process, me, signal as usize, 0, 0, 0]);
            }
        }
    }
}
