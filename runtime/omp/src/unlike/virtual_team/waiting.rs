//! How a virtual thread waits: its fiber is suspended, so that its runner can run others meanwhile.
//!
//! A runner's team lives until all its virtual threads have left, and this code runs inside of one.

use super::fiber::{current, suspend, Runner, State};
use super::job::Expanded;
use crate::boundary::Reason;
use crate::team::suspend::Suspend;
use crate::thread::Thread;
use core::sync::atomic::Ordering;
use hetmp_core::sys::{self, monotonic_ns};

/// Looks of a waiting fiber between two yields: some 5 us.
const SPINS: u32 = 300;
/// Nanoseconds that a fiber waits before it lets other virtual threads of its runner run.
const PATIENCE_NS: u64 = 1_000_000;

impl Suspend for Runner {
    #[cold]
    fn wait_for_lock(&self, done: &mut dyn FnMut() -> bool) -> bool {
        self.wait_as(State::Lock, done)
    }

    #[cold]
    fn wait_for_others(&self, done: &mut dyn FnMut() -> bool) -> bool {
        if self.wait_as(State::Waiting, done) {
            return true;
        }
        // SAFETY: the runner is in a region, so its team is set and alive.
        unsafe { &*self.team.get() }.expand(Expanded::Needed, &|_| false);
        false
    }

    #[cold]
    fn barrier(&self) {
        let th = Thread::current();
        th.leave_program(Reason::Switch);
        // SAFETY: the runner is in a region, so its team is set and alive.
        let team = unsafe { &*self.team.get() };
        let m = th.member();
        let epoch = m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK;
        m.epoch.set(epoch);
        if !team.suspended.load(Ordering::Relaxed) {
            team.suspended.store(true, Ordering::Relaxed);
        }
        if let Some(fiber) = current(th) {
            suspend(fiber, State::Barrier);
            return;
        }
        // The virtual thread runs on the runner's own stack, so the runner cannot continue another one
        // meanwhile.
        team.expand(Expanded::Needed, &|_| false);
        team.arrive(th, epoch, 1, th.nthreads());
        th.enter_program(Reason::Switch);
    }
}

impl Runner {
    fn wait_as(&self, state: State, done: &mut dyn FnMut() -> bool) -> bool {
        let Some(fiber) = current(Thread::current()) else {
            return false;
        };
        // What this virtual thread waits for is mostly held by another real thread, and comes soon.
        // Continuing another virtual thread here has a price: to libraries both are the same thread.
        let patience = monotonic_ns() + PATIENCE_NS;
        loop {
            for _ in 0..SPINS {
                if done() {
                    return true;
                }
                hetmp_core::sync::pause();
            }
            if monotonic_ns() < patience {
                sys::yield_now();
            } else {
                suspend(fiber, state);
            }
        }
    }
}
