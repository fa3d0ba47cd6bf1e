//! Nestable locks of a program on several nodes.
//!
//! As with critical sections (see `critical`), a lock is the process's own while no region crosses nodes, and the
//! origin's lock manager has it while one does. A lock of the first kind lies in the program's variable. Of one of the
//! second kind the process that owns it notes here which task (or thread, for locks of OpenMP 2.5) the owner is, and
//! how often it has the lock: nothing that means something on one node only lies in memory that all nodes share.

use super::critical;
use super::table::{lock, table, try_lock, unlock};
use crate::sync::lock::{NestLock, ThreadNestLock};
use crate::thread::Thread;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A nestable lock in a variable of the program.
pub trait Nestable {
    /// Who would own the lock if the calling thread took it: a number, never 0, that is unique in this process.
    fn caller(&self) -> usize;
    /// Does the caller own the process's own lock?
    fn is_mine(&self) -> bool;
    /// Takes the process's own lock, or adds one nesting.
    fn take(&self);
    /// The same if that needs no waiting; the new number of nestings, or 0.
    fn try_take(&self) -> i32;
    /// Removes one nesting of the process's own lock. Returns the number that is left.
    fn give(&self) -> i32;
}

impl Nestable for NestLock {
    fn caller(&self) -> usize {
        Thread::current().ctx.task.get().addr()
    }
    fn is_mine(&self) -> bool {
        self.is_held_by(Thread::current())
    }
    fn take(&self) {
        self.set(Thread::current());
    }
    fn try_take(&self) -> i32 {
        self.test(Thread::current())
    }
    fn give(&self) -> i32 {
        self.unset()
    }
}

impl Nestable for ThreadNestLock {
    fn caller(&self) -> usize {
        core::ptr::from_ref(Thread::current()).addr()
    }
    fn is_mine(&self) -> bool {
        self.is_held_by_caller()
    }
    fn take(&self) {
        self.set();
    }
    fn try_take(&self) -> i32 {
        self.test()
    }
    fn give(&self) -> i32 {
        self.unset()
    }
}

/// A lock that the lock manager gave to a thread of this process.
#[derive(Clone, Copy, Debug)]
struct Held {
    owner: usize,
    nestings: i32,
}

/// By the addresses of their variables. Never locked while the origin is asked.
fn held() -> MutexGuard<'static, BTreeMap<usize, Held>> {
    static HELD: Mutex<BTreeMap<usize, Held>> = Mutex::new(BTreeMap::new());
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn key<L>(lock: &L) -> usize {
    core::ptr::from_ref(lock).addr()
}

/// Is this process the one in which locks may be the process's own?
pub fn is_origin() -> bool {
    table().is_none_or(|t| t.me == 0)
}

/// Adds one nesting if the caller has the lock. Returns the new number of nestings.
fn again<L: Nestable>(nest: &L) -> Option<i32> {
    let me = nest.caller();
    if let Some(held) = held().get_mut(&key(nest)).filter(|h| h.owner == me) {
        held.nestings += 1;
        return Some(held.nestings);
    }
    (is_origin() && nest.is_mine()).then(|| nest.try_take())
}

fn note<L: Nestable>(nest: &L) {
    let new = Held {
        owner: nest.caller(),
        nestings: 1,
    };
    held().insert(key(nest), new);
}

/// Takes the lock, or adds one nesting if the caller has the lock already.
#[cold]
pub fn set<L: Nestable>(nest: &L) {
    if again(nest).is_some() {
        return;
    }
    if critical::begin_own() {
        nest.take();
    } else {
        lock(key(nest) as u64);
        note(nest);
    }
}

/// Takes the lock, or adds one nesting, if that needs no waiting. Returns the new number of nestings, or 0.
#[cold]
pub fn test<L: Nestable>(nest: &L) -> i32 {
    if let Some(nestings) = again(nest) {
        return nestings;
    }
    if critical::begin_own() {
        let nestings = nest.try_take();
        if nestings == 0 {
            critical::end_own();
        }
        return nestings;
    }
    let got = try_lock(key(nest) as u64);
    if got {
        note(nest);
    }
    i32::from(got)
}

/// Removes one nesting of the lock, which the caller has, and releases the lock if that was the last.
#[cold]
pub fn unset<L: Nestable>(nest: &L) {
    let mut all = held();
    if let Some(held) = all.get_mut(&key(nest)) {
        held.nestings -= 1;
        if held.nestings == 0 {
            all.remove(&key(nest));
            drop(all);
            unlock(key(nest) as u64);
        }
        return;
    }
    drop(all);
    // Another node's thread that has not the lock does nothing: what is in the variable means something at the origin
    // only.
    if is_origin() && nest.give() == 0 {
        critical::end_own();
    }
}
