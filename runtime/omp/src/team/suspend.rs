//! The interface by which a waiting virtual thread is suspended.
//!
//! Several virtual threads share one real thread. If one of them has to wait, it is suspended, and the real
//! thread runs another. Locks, `ordered`, doacross loops and barriers know only this trait. A thread that
//! runs no virtual threads pays one test before it waits.

use core::fmt::Debug;

/// What a real thread that runs virtual threads does when one of them has to wait.
pub(crate) trait Suspend: Debug {
    /// The running virtual thread waits for a lock, which `done` tries to take. Returns true if the virtual
    /// thread has the lock now. Returns false if the virtual thread cannot be suspended here; the caller then
    /// waits as a real thread does.
    fn wait_for_lock(&self, done: &mut dyn FnMut() -> bool) -> bool;

    /// The running virtual thread waits until `done` holds. Other virtual threads of its team make `done`
    /// hold, and some of these may not have begun yet. Returns true if `done` holds. Returns false if all
    /// virtual threads have begun by now; the caller then waits as a real thread does.
    fn wait_for_others(&self, done: &mut dyn FnMut() -> bool) -> bool;

    /// The running virtual thread is at a barrier of its team. Returns when all virtual threads have come to
    /// it.
    fn barrier(&self);
}
