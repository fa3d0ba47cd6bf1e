//! The hook for threads that can do something else than wait.
//!
//! A virtual thread that would have to wait is suspended, and its real thread runs another one. Locks,
//! `ordered`, doacross loops and barriers know this trait only; where nobody implements it for the calling
//! thread, each pays one test before it waits.

use core::fmt::Debug;

/// What a real thread that runs virtual ones does where they wait.
pub(crate) trait Suspend: Debug {
    /// The running virtual thread waits for a lock, which `done` tries to take. True: it has the lock.
    /// False: it cannot be suspended here, and waits.
    fn wait_for_lock(&self, done: &mut dyn FnMut() -> bool) -> bool;

    /// The running virtual thread waits until others of its team have seen to it that `done`, perhaps some
    /// that nobody has begun. True: it is done. False: they all have been begun now, and it waits.
    fn wait_for_others(&self, done: &mut dyn FnMut() -> bool) -> bool;

    /// The running virtual thread is at a barrier of its team; returns when everybody is.
    fn barrier(&self);
}
