//! Critical sections and atomics that are not done inline.

use crate::entry::entries;
use hetmp_core::lock::Lock;
use hetmp_omp::critical;

// The lock of a named critical section lies in the pointer that gcc reserves for it, zeroed.
const _: () = assert!(size_of::<Lock>() <= size_of::<*mut ()>());
const _: () = assert!(align_of::<Lock>() <= align_of::<*mut ()>());

entries! {
    "GOMP_1.0" default:
    /// Enters the critical section without a name.
    fn GOMP_critical_start() {
        critical::enter();
    }

    /// Leaves the critical section without a name.
    fn GOMP_critical_end() {
        critical::leave();
    }

    /// Enters the critical section whose name's word is `name`.
    fn GOMP_critical_name_start(name: *const Lock) {
        // SAFETY: a static, zero-initialised word of the program that is used for nothing else.
        critical::enter_named(unsafe { &*name });
    }

    /// Leaves the critical section whose name's word is `name`.
    fn GOMP_critical_name_end(name: *const Lock) {
        // SAFETY: the static word of the program that the construct's start was given.
        critical::leave_named(unsafe { &*name });
    }

    /// Begins an atomic construct for which there is no instruction.
    fn GOMP_atomic_start() {
        critical::atomic_begin();
    }

    /// Ends an atomic construct that `GOMP_atomic_start` began.
    fn GOMP_atomic_end() {
        critical::atomic_end();
    }
}
