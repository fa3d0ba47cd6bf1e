//! Locks, in both versions of libgomp: since OpenMP 3.0 nestable locks belong to tasks, before that
//! (hidden versions) to threads.
//!
//! In Fortran a lock variable is an integer, of 4 bytes for a simple lock and 8 for a nestable one: it
//! holds what the C variable holds.

use super::alias;
use crate::entry::{entries, export};
use hetmp_core::lock::Lock;
use hetmp_omp::across::table as across;
use hetmp_omp::lock::{take, NestLock, ThreadNestLock};
use hetmp_omp::Thread;

// What fits in omp.h's omp_lock_t (4 bytes in gcc's, 8 in clang's), omp_nest_lock_t (16 and 8) and
// omp_nest_lock_25_t (8).
const _: () = assert!(size_of::<Lock>() == 4 && align_of::<Lock>() == 4);
const _: () = assert!(size_of::<NestLock>() == 8 && align_of::<NestLock>() == 8);
const _: () = assert!(size_of::<ThreadNestLock>() == 8 && align_of::<ThreadNestLock>() == 4);

entries! {
    "OMP_3.0" default:
    /// Makes a free lock.
    fn omp_init_lock(lock: *mut Lock) {
        // SAFETY: the program passes a variable of the lock's type.
        unsafe { lock.write(Lock::new()) };
    }

    /// Ends a lock.
    fn omp_destroy_lock(_lock: *mut Lock) {}

    /// Takes a lock.
    fn omp_set_lock(lock: *const Lock) {
        if across::is_on() {
            return across::lock(lock.addr() as u64);
        }
        // SAFETY: the program passes an initialised lock.
        take(unsafe { &*lock });
    }

    /// Gives a lock back.
    fn omp_unset_lock(lock: *const Lock) {
        if across::is_on() {
            return across::unlock(lock.addr() as u64);
        }
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.unlock();
    }

    /// Takes a lock if it is free.
    fn omp_test_lock(lock: *const Lock) -> i32 {
        if across::is_on() {
            return i32::from(across::try_lock(lock.addr() as u64));
        }
        // SAFETY: the program passes an initialised lock.
        i32::from(unsafe { &*lock }.try_lock())
    }

    /// Makes a free nestable lock.
    fn omp_init_nest_lock(lock: *mut NestLock) {
        // SAFETY: the program passes a variable of the lock's type.
        unsafe { lock.write(NestLock::new()) };
    }

    /// Ends a nestable lock.
    fn omp_destroy_nest_lock(lock: *const NestLock) {
        // SAFETY: the program passes an initialised lock, which nobody uses any more.
        unsafe { (*lock).destroy() };
    }

    /// Takes a nestable lock, possibly once more.
    fn omp_set_nest_lock(lock: *const NestLock) {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.set(Thread::current());
    }

    /// Gives up one nesting.
    fn omp_unset_nest_lock(lock: *const NestLock) {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.unset();
    }

    /// Takes a nestable lock if that needs no waiting; the nesting count, or 0.
    fn omp_test_nest_lock(lock: *const NestLock) -> i32 {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.test(Thread::current())
    }

    "OMP_1.0" hidden:
    /// Makes a free nestable lock of threads.
    fn init_nest_lock_25 = "omp_init_nest_lock" (lock: *mut ThreadNestLock) {
        // SAFETY: the program passes a variable of the lock's type.
        unsafe { lock.write(ThreadNestLock::new()) };
    }

    /// Ends it.
    fn destroy_nest_lock_25 = "omp_destroy_nest_lock" (_lock: *mut ThreadNestLock) {}

    /// Takes it, possibly once more.
    fn set_nest_lock_25 = "omp_set_nest_lock" (lock: *const ThreadNestLock) {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.set();
    }

    /// Gives up one nesting.
    fn unset_nest_lock_25 = "omp_unset_nest_lock" (lock: *const ThreadNestLock) {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.unset();
    }

    /// Takes it if that needs no waiting; the nesting count, or 0.
    fn test_nest_lock_25 = "omp_test_nest_lock" (lock: *const ThreadNestLock) -> i32 {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.test()
    }
}

// A Fortran variable holds what the C variable holds.
alias! {
    "OMP_3.0": omp_init_lock = "omp_init_lock_",
        omp_destroy_lock = "omp_destroy_lock_",
        omp_set_lock = "omp_set_lock_",
        omp_unset_lock = "omp_unset_lock_",
        omp_test_lock = "omp_test_lock_",
        omp_init_nest_lock = "omp_init_nest_lock_",
        omp_destroy_nest_lock = "omp_destroy_nest_lock_",
        omp_set_nest_lock = "omp_set_nest_lock_",
        omp_unset_nest_lock = "omp_unset_nest_lock_",
        omp_test_nest_lock = "omp_test_nest_lock_";
}

/// The older versions; a simple lock is the same in both, and 8 bytes hold a nestable lock of
/// threads in Fortran too.
macro_rules! older {
    ($($f:ident = $export:literal),+ $(,)?) => {
        $(export!($f, $export, "OMP_1.0", "@");)+
    };
}

older! {
    omp_init_lock = "omp_init_lock",
    omp_destroy_lock = "omp_destroy_lock",
    omp_set_lock = "omp_set_lock",
    omp_unset_lock = "omp_unset_lock",
    omp_test_lock = "omp_test_lock",
    omp_init_lock = "omp_init_lock_",
    omp_destroy_lock = "omp_destroy_lock_",
    omp_set_lock = "omp_set_lock_",
    omp_unset_lock = "omp_unset_lock_",
    omp_test_lock = "omp_test_lock_",
    init_nest_lock_25 = "omp_init_nest_lock_",
    destroy_nest_lock_25 = "omp_destroy_nest_lock_",
    set_nest_lock_25 = "omp_set_nest_lock_",
    unset_nest_lock_25 = "omp_unset_nest_lock_",
    test_nest_lock_25 = "omp_test_nest_lock_",
}
