//! Locks as code from older compilers calls them, and initialisation with hints. A program's lock variable
//! has 8 bytes, and a simple lock uses the first 4.

use super::Loc;
use crate::entry::{entries, export};
use hetmp_core::lock::Lock;
use hetmp_omp::lock::{take, NestLock};
use hetmp_omp::Thread;

entries! {
    "VERSION" default:
    /// Makes a free lock.
    fn __kmpc_init_lock(_loc: Loc, _gtid: i32, lock: *mut Lock) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock.write(Lock::new()) };
    }

    /// `__kmpc_init_lock`; hints have no effect.
    fn __kmpc_init_lock_with_hint(_loc: Loc, _gtid: i32, lock: *mut Lock, _hint: usize) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock.write(Lock::new()) };
    }

    /// Destroys a lock.
    fn __kmpc_destroy_lock(_loc: Loc, _gtid: i32, _lock: *mut Lock) {}

    /// Takes a lock.
    fn __kmpc_set_lock(_loc: Loc, _gtid: i32, lock: *const Lock) {
        // SAFETY: the program passes an initialised lock.
        take(unsafe { &*lock });
    }

    /// Releases a lock.
    fn __kmpc_unset_lock(_loc: Loc, _gtid: i32, lock: *const Lock) {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.unlock();
    }

    /// Takes a lock if it is free.
    fn __kmpc_test_lock(_loc: Loc, _gtid: i32, lock: *const Lock) -> i32 {
        // SAFETY: the program passes an initialised lock.
        i32::from(unsafe { &*lock }.try_lock())
    }

    /// Makes a free nestable lock.
    fn __kmpc_init_nest_lock(_loc: Loc, _gtid: i32, lock: *mut NestLock) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock.write(NestLock::new()) };
    }

    /// `__kmpc_init_nest_lock`; hints have no effect.
    fn __kmpc_init_nest_lock_with_hint(_loc: Loc, _gtid: i32, lock: *mut NestLock, _hint: usize) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock.write(NestLock::new()) };
    }

    /// Destroys a nestable lock.
    fn __kmpc_destroy_nest_lock(_loc: Loc, _gtid: i32, lock: *const NestLock) {
        // SAFETY: the program passes an initialised lock that no thread uses any more.
        unsafe { (*lock).destroy() };
    }

    /// Takes a nestable lock. If the task has it already, adds one nesting.
    fn __kmpc_set_nest_lock(_loc: Loc, _gtid: i32, lock: *const NestLock) {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.set(Thread::current());
    }

    /// Removes one nesting. Releases the lock if that was the last nesting.
    fn __kmpc_unset_nest_lock(_loc: Loc, _gtid: i32, lock: *const NestLock) {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.unset();
    }

    /// Takes a nestable lock if that needs no waiting. Returns the new nesting count, or 0.
    fn __kmpc_test_nest_lock(_loc: Loc, _gtid: i32, lock: *const NestLock) -> i32 {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.test(Thread::current())
    }

    /// Makes a free lock; hints have no effect.
    fn omp_init_lock_with_hint(lock: *mut Lock, _hint: usize) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock.write(Lock::new()) };
    }

    /// Makes a free nestable lock; hints have no effect.
    fn omp_init_nest_lock_with_hint(lock: *mut NestLock, _hint: usize) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock.write(NestLock::new()) };
    }
}

export!(
    omp_init_lock_with_hint,
    "omp_init_lock_with_hint_",
    "VERSION",
    "@@"
);
export!(
    omp_init_nest_lock_with_hint,
    "omp_init_nest_lock_with_hint_",
    "VERSION",
    "@@"
);
