//! The events of locks, critical sections, atomics with a lock, and `ordered`. Every function here is called only while
//! a tool is attached ([`super::on`]).

use super::callbacks;
use super::interface::{Mutex, Scope};
use crate::thread::Thread;

/// How locks are made, for `ompt_enumerate_mutex_impls`: a thread spins, then sleeps.
pub const SPIN_THEN_SLEEP: u32 = 1;

/// Runs `take`, which takes the lock `id` for `kind`. `take` returns true if the thread did not have the lock before,
/// false if it has added a nesting, and `None` if the lock is not free and the thread does not wait for it.
#[cold]
fn taking(kind: Mutex, id: usize, take: impl FnOnce() -> Option<bool>) {
    let th = Thread::current();
    let caller = th.called_from();
    callbacks::mutex_acquire(kind, 0, SPIN_THEN_SLEEP, id as u64, caller);
    th.tool.awaited.set(id as u64);
    let before = th.goes(kind.state());
    let taken = take();
    th.goes(before);
    th.tool.awaited.set(0);
    match taken {
        Some(true) => callbacks::mutex_acquired(kind, id as u64, caller),
        Some(false) => callbacks::nest_lock(Scope::Begin, id as u64, caller),
        None => {}
    }
}

/// Runs `take`, which waits for the lock `id` and takes it.
#[cold]
pub fn acquires(kind: Mutex, id: usize, take: impl FnOnce()) {
    taking(kind, id, || {
        take();
        Some(true)
    });
}

/// Runs `try_take`, which takes the lock `id` if it is free. Returns whether it did.
#[cold]
pub fn tries(kind: Mutex, id: usize, try_take: impl FnOnce() -> bool) -> bool {
    let mut taken = false;
    taking(kind, id, || {
        taken = try_take();
        taken.then_some(true)
    });
    taken
}

/// Runs `take`, which takes the nestable lock `id` and returns the number of nestings; 0: not taken.
#[cold]
pub fn nests(kind: Mutex, id: usize, take: impl FnOnce() -> i32) -> i32 {
    let mut count = 0;
    taking(kind, id, || {
        count = take();
        (count > 0).then_some(count == 1)
    });
    count
}

/// The thread has released the lock `id`.
#[cold]
pub fn released(kind: Mutex, id: usize) {
    let caller = Thread::current().called_from();
    callbacks::mutex_released(kind, id as u64, caller);
}

/// The thread has removed a nesting of the nestable lock `id`; `left` are left.
#[cold]
pub fn unnested(id: usize, left: i32) {
    if left == 0 {
        released(Mutex::NestLock, id);
    } else {
        let caller = Thread::current().called_from();
        callbacks::nest_lock(Scope::End, id as u64, caller);
    }
}

/// The program has made the lock `id`, with this hint.
#[cold]
pub fn made(kind: Mutex, hint: u32, id: usize) {
    let caller = Thread::current().called_from();
    callbacks::lock_init(kind, hint, SPIN_THEN_SLEEP, id as u64, caller);
}

/// The program destroys the lock `id`.
#[cold]
pub fn destroyed(kind: Mutex, id: usize) {
    let caller = Thread::current().called_from();
    callbacks::lock_destroy(kind, id as u64, caller);
}

/// The thread has ordered its accesses to memory (`flush`).
#[cold]
pub fn flushed() {
    let th = Thread::current();
    callbacks::flush(&th.tool.data, th.called_from());
}
