//! Critical sections (OpenMP 5.1, section 2.19.1), and the lock of atomics for which the compiler has no
//! instructions.

use crate::across::critical as across;
use crate::across::table::{is_on, ATOMIC as ATOMIC_KEY, UNNAMED as UNNAMED_KEY};
use crate::sync::lock::take;
use crate::tool::interface::Mutex;
use crate::tool::{self, mutex};
use crossbeam_utils::CachePadded;
use hetmp_core::lock::Lock;

/// The lock of all critical constructs without a name, which are one section.
static UNNAMED: CachePadded<Lock> = CachePadded::new(Lock::new());

/// The lock of atomic constructs on types without a fitting instruction (`long double`, structures).
static ATOMIC: CachePadded<Lock> = CachePadded::new(Lock::new());

/// Enters the critical section without a name.
#[inline(always)]
pub fn enter() {
    if is_on() {
        return across::enter(UNNAMED_KEY, || take(&UNNAMED));
    }
    if tool::on() {
        return mutex::acquires(Mutex::Critical, id(&UNNAMED), || take(&UNNAMED));
    }
    take(&UNNAMED);
}

/// Leaves the critical section without a name.
#[inline(always)]
pub fn leave() {
    if is_on() {
        return across::leave(UNNAMED_KEY, || UNNAMED.unlock());
    }
    UNNAMED.unlock();
    if tool::on() {
        mutex::released(Mutex::Critical, id(&UNNAMED));
    }
}

/// By what a tool knows a lock.
fn id(lock: &Lock) -> usize {
    core::ptr::from_ref(lock).addr()
}

/// Enters the critical section whose lock is `lock`.
#[inline(always)]
pub fn enter_named(lock: &Lock) {
    if is_on() {
        return across::enter(core::ptr::from_ref(lock).addr() as u64, || take(lock));
    }
    if tool::on() {
        return mutex::acquires(Mutex::Critical, id(lock), || take(lock));
    }
    take(lock);
}

/// Leaves the critical section whose lock is `lock`.
#[inline(always)]
pub fn leave_named(lock: &Lock) {
    if is_on() {
        return across::leave(core::ptr::from_ref(lock).addr() as u64, || lock.unlock());
    }
    lock.unlock();
    if tool::on() {
        mutex::released(Mutex::Critical, id(lock));
    }
}

/// Begins an atomic construct.
#[inline(always)]
pub fn atomic_begin() {
    if is_on() {
        return across::enter(ATOMIC_KEY, || take(&ATOMIC));
    }
    if tool::on() {
        return mutex::acquires(Mutex::Atomic, id(&ATOMIC), || take(&ATOMIC));
    }
    take(&ATOMIC);
}

/// Ends an atomic construct.
#[inline(always)]
pub fn atomic_end() {
    if is_on() {
        return across::leave(ATOMIC_KEY, || ATOMIC.unlock());
    }
    ATOMIC.unlock();
    if tool::on() {
        mutex::released(Mutex::Atomic, id(&ATOMIC));
    }
}

/// The same for a process that nobody observes and that is no node ([`hetmp_core::observers`]): the caller has looked.
pub mod plain {
    use super::{take, Lock, ATOMIC, UNNAMED};

    /// [`super::enter`].
    #[inline(always)]
    pub fn enter() {
        take(&UNNAMED);
    }

    /// [`super::leave`].
    #[inline(always)]
    pub fn leave() {
        UNNAMED.unlock();
    }

    /// [`super::enter_named`].
    #[inline(always)]
    pub fn enter_named(lock: &Lock) {
        take(lock);
    }

    /// [`super::leave_named`].
    #[inline(always)]
    pub fn leave_named(lock: &Lock) {
        lock.unlock();
    }

    /// [`super::atomic_begin`].
    #[inline(always)]
    pub fn atomic_begin() {
        take(&ATOMIC);
    }

    /// [`super::atomic_end`].
    #[inline(always)]
    pub fn atomic_end() {
        ATOMIC.unlock();
    }
}
