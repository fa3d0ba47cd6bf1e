//! Reductions of a region or a worksharing construct whose partial results compiled code combines, under
//! the protection that it is told (OpenMP 5.1, section 2.21.5).

use crate::sync::lock::take;
use crate::thread::Thread;
use hetmp_core::lock::Lock;

/// How the calling thread is to combine its partial results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// With plain operations: nobody else does so now.
    Exclusive,
    /// With an atomic operation for each.
    Atomic,
}

/// Partial results up to this number are combined by atomic operations where compiled code has them: one
/// costs about as much as to take a lock that is free, and no thread ever waits for another one that
/// was preempted.
const FEW: u32 = 2;

/// Begins to combine. `atomic`: the compiled code has atomic operations for its `variables`.
#[inline]
pub fn begin(th: &Thread, lock: &Lock, variables: u32, atomic: bool) -> How {
    if th.nthreads() == 1 {
        return How::Exclusive;
    }
    if atomic && variables <= FEW {
        return How::Atomic;
    }
    take(lock);
    th.ahead.reducing.set(lock);
    How::Exclusive
}

/// Ends what [`begin`] began.
#[inline]
pub fn end(th: &Thread) {
    let lock = th.ahead.reducing.replace(core::ptr::null());
    // SAFETY: null, or the lock that this thread passed to `begin`: a static variable of the program.
    if let Some(lock) = unsafe { lock.as_ref() } {
        lock.unlock();
    }
}
