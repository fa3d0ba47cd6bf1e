//! The hook for threads that can do something else than wait.
//!
//! A virtual thread that would have to wait is suspended, and its real thread runs another virtual thread. Locks,
//! `ordered`, doacross loops and barriers know this trait only. A thread that runs no virtual threads pays one test
//! before it waits.

use core::fmt::Debug;

/// What a real thread that runs virtual ones does where they wait.
pub(crate) trait Suspend: Debug {
    /// The running virtual thread waits for a lock, which `done` tries to take. True: the virtual thread has the lock.
    /// False: it cannot be suspended here, and the caller waits as a real thread does.
    fn wait_for_lock(&self, done: &mut dyn FnMut() -> bool) -> bool;

    /// The running virtual thread waits until `done` holds, which other virtual threads of its team see to, perhaps
    /// some that nobody has begun. True: `done` holds. False: all virtual threads have been begun now, and the caller
    /// waits as a real thread does.
    fn wait_for_others(&self, done: &mut dyn FnMut() -> bool) -> bool;

    /// The running virtual thread is at a barrier of its team; returns when everybody is.
    fn barrier(&self);
}
