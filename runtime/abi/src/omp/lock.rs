//! Locks, in both versions of libgomp. In the version since OpenMP 3.0 a task owns a nestable lock; in the
//! one before (hidden versions) a thread does.
//!
//! In Fortran a lock variable is an integer, of 4 bytes for a simple lock and of 8 bytes for a nestable one.
//! It holds the same as the C variable.
//!
//! A program sets, releases and tests locks that it has initialised: such an argument is a reference.

use super::alias;
use crate::entry::{entries, export};
use hetmp_core::lock::Lock;
use hetmp_omp::across::{nest, table as across};
use hetmp_omp::lock::{take, NestLock, ThreadNestLock};
use hetmp_omp::tool::interface::Mutex;
use hetmp_omp::tool::{self, mutex};
use hetmp_omp::Thread;

// The locks must fit in the types of `omp.h`: `omp_lock_t` (4 bytes in gcc's, 8 in clang's),
// `omp_nest_lock_t` (16 and 8) and `omp_nest_lock_25_t` (8).
const _: () = assert!(size_of::<Lock>() == 4 && align_of::<Lock>() == 4);
const _: () = assert!(size_of::<NestLock>() == 8 && align_of::<NestLock>() == 8);
const _: () = assert!(size_of::<ThreadNestLock>() == 8 && align_of::<ThreadNestLock>() == 4);

/// `omp_set_nest_lock`.
pub(crate) fn set_nest(lock: &NestLock) {
    if across::is_on() {
        return nest::set(lock);
    }
    let th = Thread::current();
    if tool::on() {
        let set = || {
            lock.set(th);
            lock.count()
        };
        mutex::nests(Mutex::NestLock, id(lock), set);
    } else {
        lock.set(th);
    }
}

/// `omp_unset_nest_lock`.
pub(crate) fn unset_nest(lock: &NestLock) {
    if across::is_on() {
        return nest::unset(lock);
    }
    let left = lock.unset();
    if tool::on() {
        mutex::unnested(id(lock), left);
    }
}

/// `omp_test_nest_lock`.
pub(crate) fn test_nest(lock: &NestLock) -> i32 {
    if across::is_on() {
        return nest::test(lock);
    }
    let th = Thread::current();
    if tool::on() {
        return mutex::nests(Mutex::TestNestLock, id(lock), || lock.test(th));
    }
    lock.test(th)
}

/// By what a tool, and the nodes, know a lock.
fn id<T>(lock: &T) -> usize {
    core::ptr::from_ref(lock).addr()
}

/// `omp_set_lock` where nobody observes and the process is no node.
unsafe extern "C" fn set_plain(lock: &Lock) {
    take(lock);
}

/// `omp_unset_lock` where nobody observes and the process is no node.
unsafe extern "C" fn unset_plain(lock: &Lock) {
    lock.unlock();
}

/// `omp_test_lock` where nobody observes and the process is no node.
unsafe extern "C" fn test_plain(lock: &Lock) -> i32 {
    i32::from(lock.try_lock())
}

/// `omp_set_nest_lock` where nobody observes.
unsafe extern "C" fn set_nest_plain(lock: &NestLock) {
    lock.set(Thread::current());
}

/// `omp_unset_nest_lock` where nobody observes.
unsafe extern "C" fn unset_nest_plain(lock: &NestLock) {
    lock.unset();
}

/// `omp_test_nest_lock` where nobody observes.
unsafe extern "C" fn test_nest_plain(lock: &NestLock) -> i32 {
    lock.test(Thread::current())
}

entries! {
    "OMP_3.0" default:
    /// Makes a free lock.
    watched fn omp_init_lock(lock: *mut Lock) {
        // SAFETY: the program passes a variable of the lock's type.
        unsafe { lock.write(Lock::new()) };
        if tool::on() {
            mutex::made(Mutex::Lock, 0, lock.addr());
        }
    }

    /// Destroys a lock.
    watched fn omp_destroy_lock(lock: *mut Lock) {
        if tool::on() {
            mutex::destroyed(Mutex::Lock, lock.addr());
        }
    }

    /// Takes a lock.
    watched(set_plain) fn omp_set_lock(lock: &Lock) {
        if across::is_on() {
            return across::lock(id(lock) as u64);
        }
        if tool::on() {
            return mutex::acquires(Mutex::Lock, id(lock), || take(lock));
        }
        take(lock);
    }

    /// Releases a lock.
    watched(unset_plain) fn omp_unset_lock(lock: &Lock) {
        if across::is_on() {
            return across::unlock(id(lock) as u64);
        }
        lock.unlock();
        if tool::on() {
            mutex::released(Mutex::Lock, id(lock));
        }
    }

    /// Takes a lock if it is free. Returns whether it did.
    watched(test_plain) fn omp_test_lock(lock: &Lock) -> i32 {
        if across::is_on() {
            return i32::from(across::try_lock(id(lock) as u64));
        }
        if tool::on() {
            return i32::from(mutex::tries(Mutex::TestLock, id(lock), || lock.try_lock()));
        }
        i32::from(lock.try_lock())
    }

    /// Makes a free nestable lock.
    watched fn omp_init_nest_lock(lock: *mut NestLock) {
        // SAFETY: the program passes a variable of the lock's type.
        unsafe { lock.write(NestLock::new()) };
        if tool::on() {
            mutex::made(Mutex::NestLock, 0, lock.addr());
        }
    }

    /// Destroys a nestable lock.
    watched fn omp_destroy_nest_lock(lock: *const NestLock) {
        // What the origin made for its own use is freed there.
        if nest::is_origin() {
            // SAFETY: the program passes an initialised lock that no thread uses any more.
            unsafe { (*lock).destroy() };
        }
        if tool::on() {
            mutex::destroyed(Mutex::NestLock, lock.addr());
        }
    }

    /// Takes a nestable lock. If the task has it already, adds one nesting.
    watched(set_nest_plain) fn omp_set_nest_lock(lock: &NestLock) {
        set_nest(lock);
    }

    /// Removes one nesting. Releases the lock if that was the last nesting.
    watched(unset_nest_plain) fn omp_unset_nest_lock(lock: &NestLock) {
        unset_nest(lock);
    }

    /// Takes a nestable lock if that needs no waiting. Returns the new number of nestings, or 0.
    watched(test_nest_plain) fn omp_test_nest_lock(lock: &NestLock) -> i32 {
        test_nest(lock)
    }

    "OMP_1.0" hidden:
    /// Makes a free nestable lock that a thread can own.
    fn init_nest_lock_25 = "omp_init_nest_lock" (lock: *mut ThreadNestLock) {
        // SAFETY: the program passes a variable of the lock's type.
        unsafe { lock.write(ThreadNestLock::new()) };
    }

    /// Destroys a nestable lock that a thread can own.
    fn destroy_nest_lock_25 = "omp_destroy_nest_lock" (_lock: *mut ThreadNestLock) {}

    /// Takes a nestable lock. If the thread has it already, adds one nesting.
    fn set_nest_lock_25 = "omp_set_nest_lock" (lock: &ThreadNestLock) {
        if across::is_on() {
            return nest::set(lock);
        }
        lock.set();
    }

    /// Removes one nesting. Releases the lock if that was the last nesting.
    fn unset_nest_lock_25 = "omp_unset_nest_lock" (lock: &ThreadNestLock) {
        if across::is_on() {
            return nest::unset(lock);
        }
        lock.unset();
    }

    /// Takes a nestable lock if that needs no waiting. Returns the new number of nestings, or 0.
    fn test_nest_lock_25 = "omp_test_nest_lock" (lock: &ThreadNestLock) -> i32 {
        if across::is_on() {
            return nest::test(lock);
        }
        lock.test()
    }
}

// A Fortran variable holds the same as the C variable, so both languages call the same functions.
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

/// Exports the older versions. A simple lock is the same in both versions. A nestable lock of threads fits in
/// Fortran's 8 bytes, too.
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
