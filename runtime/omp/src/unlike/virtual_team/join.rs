//! Real threads that join a virtual team because one of its virtual threads waits for others, in a way that
//! the runtime does not see or where it cannot be suspended.

use super::fiber::{Fiber, Runner, State};
use super::job::Expanded;
use super::run::VirtualTeam;
use crate::init;
use crate::thread::Thread;
use core::ptr::{null, null_mut};
use hetmp_core::park::Policy;
use hetmp_core::tls;
use std::collections::VecDeque;

impl VirtualTeam {
    /// Gives a real thread to every virtual thread that nobody has begun, and to every fiber that could
    /// continue but whose runner is `stuck`.
    ///
    /// Called by the watchdog, or by a thread of the team that is about to wait where it cannot be suspended.
    /// In both cases the region cannot end meanwhile, since what is handed over here has not ended.
    pub(super) fn expand(&self, why: Expanded, stuck: &dyn Fn(&Runner) -> bool) {
        self.note_expanded(why);
        while let Some(piece) = self.blocks.take_any() {
            self.join_with(Extra {
                team: self,
                piece: Some(piece),
                fiber: null(),
            });
        }
        for r in self.runners.iter().filter(|r| stuck(r)) {
            let movable = |q: &mut VecDeque<*const Fiber>| {
                let at = q.iter().position(|&f| {
                    // SAFETY: fibers in a list are alive.
                    unsafe { &*f }.may_move()
                })?;
                q.remove(at)
            };
            while let Some(fiber) = r.with_ready(movable) {
                self.join_with(Extra {
                    team: self,
                    piece: None,
                    fiber,
                });
            }
        }
    }

    fn join_with(&self, extra: Extra) {
        let extra = Box::into_raw(Box::new(extra));
        let mut handle: libc::pthread_t = 0;
        // SAFETY: the attributes are initialised for the life of the process. The thread gets a box of its
        // own, and the team lives until all its virtual threads have ended.
        unsafe {
            let error = libc::pthread_create(
                &mut handle,
                init::thread_attributes(),
                extra_main,
                extra.cast(),
            );
            if error == 0 {
                libc::pthread_detach(handle);
            } else {
                drop(Box::from_raw(extra));
                hetmp_core::report::fatal(format_args!(
                    "a virtual thread that others wait for could not get a thread ({}): \
                     HETMP_STATIC=off keeps to ordinary teams",
                    std::io::Error::from_raw_os_error(error)
                ));
            }
        }
    }
}

/// What an additional thread runs.
struct Extra {
    team: *const VirtualTeam,
    piece: Option<u32>,
    fiber: *const Fiber,
}

extern "C" fn extra_main(extra: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `join_with` made the box for this thread.
    let extra = unsafe { Box::from_raw(extra.cast::<Extra>()) };
    // SAFETY: the team lives until its virtual threads have ended, including this one's.
    let team = unsafe { &*extra.team };
    // SAFETY: the set was read from a thread. (The watchdog, which may have made this thread, blocks all
    // signals.)
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &team.mask, null_mut()) };
    let thread = Thread::new();
    tls::set(core::ptr::from_ref(&thread).cast_mut().cast());
    let runner = Runner::new(u32::MAX);
    runner.team.set(team);
    Policy::add_threads(1);
    if !extra.fiber.is_null() {
        // SAFETY: the fiber was taken out of a list for this thread.
        unsafe { (*extra.fiber).state.set(State::Barrier) };
        runner.with_ready(|q| q.push_back(extra.fiber));
    }
    team.work(&thread, &runner, extra.piece);
    team.leave(&thread, &runner);
    Policy::add_threads(-1);
    for pool in thread.pools.take() {
        pool.shut_down();
    }
    tls::set(null_mut());
    null_mut()
}
