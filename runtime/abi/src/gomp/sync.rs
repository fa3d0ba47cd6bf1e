//! Critical sections, and atomic constructs for which the compiler emits no instructions.

use crate::entry::entries;
use hetmp_core::lock::Lock;
use hetmp_omp::critical;

// gcc reserves a zeroed pointer for each named critical section. The section's lock lies in this pointer.
const _: () = assert!(size_of::<Lock>() <= size_of::<*mut ()>());
const _: () = assert!(align_of::<Lock>() <= align_of::<*mut ()>());

/// The entries of this file where nobody observes and the process is no node.
mod plain {
    use super::{critical, Lock};

    pub(super) extern "C" fn start() {
        critical::plain::enter();
    }

    pub(super) extern "C" fn end() {
        critical::plain::leave();
    }

    pub(super) unsafe extern "C" fn name_start(name: *const Lock) {
        // SAFETY: a static, zero-initialised word of the program that is used for nothing else.
        critical::plain::enter_named(unsafe { &*name });
    }

    pub(super) unsafe extern "C" fn name_end(name: *const Lock) {
        // SAFETY: the word of the program that was passed to `GOMP_critical_name_start`.
        critical::plain::leave_named(unsafe { &*name });
    }

    pub(super) extern "C" fn atomic_start() {
        critical::plain::atomic_begin();
    }

    pub(super) extern "C" fn atomic_end() {
        critical::plain::atomic_end();
    }
}
use plain::{atomic_end, atomic_start, end, name_end, name_start, start};

entries! {
    "GOMP_1.0" default:
    /// Enters the critical section without a name.
    watched(start) fn GOMP_critical_start() {
        critical::enter();
    }

    /// Leaves the critical section without a name.
    watched(end) fn GOMP_critical_end() {
        critical::leave();
    }

    /// Enters a named critical section. `name`: the word that belongs to the name.
    watched(name_start) fn GOMP_critical_name_start(name: *const Lock) {
        // SAFETY: a static, zero-initialised word of the program that is used for nothing else.
        critical::enter_named(unsafe { &*name });
    }

    /// Leaves a named critical section. `name`: the word that belongs to the name.
    watched(name_end) fn GOMP_critical_name_end(name: *const Lock) {
        // SAFETY: the word of the program that was passed to `GOMP_critical_name_start`.
        critical::leave_named(unsafe { &*name });
    }

    /// Begins an atomic construct for which there is no instruction.
    watched(atomic_start) fn GOMP_atomic_start() {
        critical::atomic_begin();
    }

    /// Ends an atomic construct that `GOMP_atomic_start` began.
    watched(atomic_end) fn GOMP_atomic_end() {
        critical::atomic_end();
    }

    "GOMP_6.0.2" default:
    /// Begins to put a thread's part of a reduction to those of others, where there is no instruction for it.
    watched(atomic_start) fn GOMP_reduction_start() {
        critical::atomic_begin();
    }

    /// Ends what `GOMP_reduction_start` began.
    watched(atomic_end) fn GOMP_reduction_end() {
        critical::atomic_end();
    }
}
