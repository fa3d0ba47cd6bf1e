//! Reductions of a region or a worksharing construct where compiled code combines the partial results, and
//! the runtime tells it how to protect that (OpenMP 5.1, section 2.21.5).

use crate::sync::critical;
use crate::thread::Thread;
use crate::tool;
use hetmp_core::lock::Lock;

/// How the calling thread must combine its partial results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// With plain operations: no other thread combines now.
    Exclusive,
    /// With an atomic operation for each variable.
    Atomic,
}

/// Up to this number of partial results, atomic operations are used if compiled code has them. One costs
/// about as much as taking a free lock, and no thread ever waits for a preempted thread.
const FEW: u32 = 2;

/// Begins combining. `atomic`: compiled code has atomic operations for its `variables`.
#[inline]
pub fn begin(th: &Thread, lock: &Lock, variables: u32, atomic: bool) -> How {
    let alone = th.nthreads() == 1;
    if !alone && atomic && variables <= FEW {
        // A tool is not told: compiled code need not call `end` then.
        return How::Atomic;
    }
    if tool::on() {
        tool::events::reduction_begins(th);
    }
    if !alone {
        critical::enter_named(lock);
        th.ahead.reducing.set(lock);
    }
    How::Exclusive
}

/// Ends the combining that [`begin`] began.
#[inline]
pub fn end(th: &Thread) {
    let lock = th.ahead.reducing.replace(core::ptr::null());
    // SAFETY: null, or the lock that this thread passed to `begin`, a static variable of the program.
    if let Some(lock) = unsafe { lock.as_ref() } {
        critical::leave_named(lock);
    }
    if tool::on() {
        tool::events::reduction_ends(th);
    }
}
