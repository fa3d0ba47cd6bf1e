//! What threads do while they wait for all tasks of a barrier: the last thread to come, and the others where a barrier
//! spans processes. What a task is, and where tasks lie, they ask of a [`Worker`], so that models run this code.

use super::sleep::Sleepers;
use crate::team::barrier::Pastime;
use hetmp_core::park::{Flag, Poll};
use hetmp_core::sync::{fence, Ordering};

/// A thread of a team that may begin any task.
pub(crate) trait Worker {
    /// Was a task deferred in this region?
    fn active(&self) -> bool;
    /// Runs a task, if one is queued.
    fn run_one(&self) -> bool;
    /// Are all tasks of this phase complete?
    fn quiescent(&self, phase: usize) -> bool;
    /// Has found no task, and goes on looking if threads want that.
    fn look_out(&self) -> Poll;
    /// Is about to sleep on the flag, or is awake again.
    fn announce(&self, flag: &Flag, yes: bool);
    /// May have run the last task: [`drained`].
    fn drained(&self);
}

/// Wakes members that went to sleep in [`Drain`] before the last task ended.
pub(crate) fn drained(sleepers: &Sleepers, nudge_all: impl FnOnce()) {
    // The count of the last task, which this thread may have stored itself, must be visible before sleepers are
    // counted. A sleeper counts itself before its last sum.
    fence(Ordering::SeqCst);
    if sleepers.any() {
        nudge_all();
    }
}

/// All members have arrived: runs tasks until those of `phase` are complete.
pub(crate) struct Drain<W> {
    pub(crate) worker: W,
    pub(crate) phase: usize,
}

impl<W: Worker> Pastime for Drain<W> {
    fn poll(&mut self) -> Poll {
        if self.worker.run_one() {
            Poll::Worked
        } else if self.worker.quiescent(self.phase) {
            Poll::Leave
        } else {
            self.worker.look_out()
        }
    }
    fn asleep(&mut self, flag: &Flag, yes: bool) {
        self.worker.announce(flag, yes);
    }
}

/// In a barrier of several processes, until it is `over`: runs tasks of this process for the thread that came last,
/// which [drains](Drain) them.
pub(crate) struct AtBarrier<W, O> {
    pub(crate) worker: W,
    pub(crate) over: O,
    /// The thread has run a task since it last woke the others.
    pub(crate) worked: bool,
}

impl<W: Worker, O: Fn() -> bool> Pastime for AtBarrier<W, O> {
    fn poll(&mut self) -> Poll {
        if (self.over)() {
            return Poll::Leave;
        }
        if self.worker.active() && self.worker.run_one() {
            self.worked = true;
            return Poll::Worked;
        }
        if core::mem::take(&mut self.worked) {
            // That may have been the last task, while the thread that waits for all of them sleeps.
            self.worker.drained();
        }
        Poll::Idle
    }
    fn asleep(&mut self, flag: &Flag, yes: bool) {
        self.worker.announce(flag, yes);
    }
}
