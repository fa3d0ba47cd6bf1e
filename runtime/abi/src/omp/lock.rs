//! Locks, in both versions of libgomp: since OpenMP 3.0 nestable locks belong to tasks, before that
//! (hidden versions) to threads.
//!
//! In Fortran a lock variable is an integer. It holds the lock where the sizes match; for the
//! nestable lock of tasks, which is larger, it holds the address of one on the heap.

use super::alias;
use crate::entry::{entries, export};
use hetmp_core::lock::Lock;
use hetmp_omp::lock::{take, NestLock, ThreadNestLock};
use hetmp_omp::Thread;

// The sizes that omp.h has: omp_lock_t, omp_nest_lock_t, omp_nest_lock_25_t.
const _: () = assert!(size_of::<Lock>() == 4 && align_of::<Lock>() == 4);
const _: () = assert!(size_of::<NestLock>() == 16 && align_of::<NestLock>() == 8);
const _: () = assert!(size_of::<ThreadNestLock>() == 8 && align_of::<ThreadNestLock>() == 4);

/// A Fortran variable for a nestable lock: the address of the lock.
type NestVariable = *mut NestLock;

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
        // SAFETY: the program passes an initialised lock.
        take(unsafe { &*lock });
    }

    /// Gives a lock back.
    fn omp_unset_lock(lock: *const Lock) {
        // SAFETY: the program passes an initialised lock.
        unsafe { &*lock }.unlock();
    }

    /// Takes a lock if it is free.
    fn omp_test_lock(lock: *const Lock) -> i32 {
        // SAFETY: the program passes an initialised lock.
        i32::from(unsafe { &*lock }.try_lock())
    }

    /// Makes a free nestable lock.
    fn omp_init_nest_lock(lock: *mut NestLock) {
        // SAFETY: the program passes a variable of the lock's type.
        unsafe { lock.write(NestLock::new()) };
    }

    /// Ends a nestable lock.
    fn omp_destroy_nest_lock(_lock: *mut NestLock) {}

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

    /// The Fortran form: makes the lock and stores its address.
    fn omp_init_nest_lock_(lock: *mut NestVariable) {
        // SAFETY: the program passes a variable of 8 bytes.
        unsafe { lock.write(Box::into_raw(Box::new(NestLock::new()))) };
    }

    /// The Fortran form.
    fn omp_destroy_nest_lock_(lock: *mut NestVariable) {
        // SAFETY: the program passes an initialised lock variable, and no one else uses it.
        unsafe {
            let made = lock.replace(core::ptr::null_mut());
            if !made.is_null() {
                drop(Box::from_raw(made));
            }
        }
    }

    /// The Fortran form.
    fn omp_set_nest_lock_(lock: *const NestVariable) {
        // SAFETY: the program passes an initialised lock variable.
        unsafe { &**lock }.set(Thread::current());
    }

    /// The Fortran form.
    fn omp_unset_nest_lock_(lock: *const NestVariable) {
        // SAFETY: the program passes an initialised lock variable.
        unsafe { &**lock }.unset();
    }

    /// The Fortran form.
    fn omp_test_nest_lock_(lock: *const NestVariable) -> i32 {
        // SAFETY: the program passes an initialised lock variable.
        unsafe { &**lock }.test(Thread::current())
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

// A Fortran variable of 4 bytes is a simple lock.
alias! {
    "OMP_3.0": omp_init_lock = "omp_init_lock_",
        omp_destroy_lock = "omp_destroy_lock_",
        omp_set_lock = "omp_set_lock_",
        omp_unset_lock = "omp_unset_lock_",
        omp_test_lock = "omp_test_lock_";
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
