//! Locks as code from older compilers calls them, and initialisation with hints. A program's lock variable
//! has 8 bytes, and a simple lock uses the first 4.

use super::Loc;
use crate::entry::{entries, export};
use crate::omp::lock;
use hetmp_core::lock::Lock;
use hetmp_omp::lock::NestLock;

entries! {
    "VERSION" default:
    /// Makes a free lock.
    watched fn __kmpc_init_lock(_loc: Loc, _gtid: i32, lock: *mut Lock) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock::omp_init_lock(lock) };
    }

    /// `__kmpc_init_lock`; hints have no effect.
    watched fn __kmpc_init_lock_with_hint(_loc: Loc, _gtid: i32, lock: *mut Lock, _hint: usize) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock::omp_init_lock(lock) };
    }

    /// Destroys a lock.
    watched fn __kmpc_destroy_lock(_loc: Loc, _gtid: i32, lock: *mut Lock) {
        // SAFETY: the program passes a lock that no thread uses any more.
        unsafe { lock::omp_destroy_lock(lock) };
    }

    /// Takes a lock.
    watched fn __kmpc_set_lock(_loc: Loc, _gtid: i32, lock: &Lock) {
        // SAFETY: as here, the argument is a lock that the program has initialised.
        unsafe { lock::omp_set_lock(lock) };
    }

    /// Releases a lock.
    watched fn __kmpc_unset_lock(_loc: Loc, _gtid: i32, lock: &Lock) {
        // SAFETY: as here, the argument is a lock that the program has initialised.
        unsafe { lock::omp_unset_lock(lock) };
    }

    /// Takes a lock if it is free.
    watched fn __kmpc_test_lock(_loc: Loc, _gtid: i32, lock: &Lock) -> i32 {
        // SAFETY: as here, the argument is a lock that the program has initialised.
        unsafe { lock::omp_test_lock(lock) }
    }

    /// Makes a free nestable lock.
    watched fn __kmpc_init_nest_lock(_loc: Loc, _gtid: i32, lock: *mut NestLock) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock::omp_init_nest_lock(lock) };
    }

    /// `__kmpc_init_nest_lock`; hints have no effect.
    watched fn __kmpc_init_nest_lock_with_hint(_loc: Loc, _gtid: i32, lock: *mut NestLock, _hint: usize) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock::omp_init_nest_lock(lock) };
    }

    /// Destroys a nestable lock.
    watched fn __kmpc_destroy_nest_lock(_loc: Loc, _gtid: i32, lock: *const NestLock) {
        // SAFETY: the program passes an initialised lock that no thread uses any more.
        unsafe { lock::omp_destroy_nest_lock(lock) };
    }

    /// Takes a nestable lock. If the task has it already, adds one nesting.
    watched fn __kmpc_set_nest_lock(_loc: Loc, _gtid: i32, lock: &NestLock) {
        lock::set_nest(lock);
    }

    /// Removes one nesting. Releases the lock if that was the last nesting.
    watched fn __kmpc_unset_nest_lock(_loc: Loc, _gtid: i32, lock: &NestLock) {
        lock::unset_nest(lock);
    }

    /// Takes a nestable lock if that needs no waiting. Returns the new nesting count, or 0.
    watched fn __kmpc_test_nest_lock(_loc: Loc, _gtid: i32, lock: &NestLock) -> i32 {
        lock::test_nest(lock)
    }

    /// Makes a free lock; hints have no effect.
    watched fn omp_init_lock_with_hint(lock: *mut Lock, _hint: usize) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock::omp_init_lock(lock) };
    }

    /// Makes a free nestable lock; hints have no effect.
    watched fn omp_init_nest_lock_with_hint(lock: *mut NestLock, _hint: usize) {
        // SAFETY: the program passes a variable for a lock.
        unsafe { lock::omp_init_nest_lock(lock) };
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
