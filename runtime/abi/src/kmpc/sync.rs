//! Critical sections, ordered regions, single, masked, sections, reductions, copyprivate.

use super::{Loc, ATOMIC_REDUCTION};
use crate::entry::entries;
use core::ptr::NonNull;
use hetmp_core::lock::Lock;
use hetmp_omp::reduce::{self, How};
use hetmp_omp::tool::interface::{Sync, Work};
use hetmp_omp::tool::{self, events};
use hetmp_omp::{critical, loops, ordered, sections, single, team, Thread};
use libc::c_void;

/// The variable that clang reserves for a critical section (`kmp_critical_name`): 32 zero bytes.
type Name = *const Lock;

const _: () = assert!(size_of::<Lock>() <= 32 && align_of::<Lock>() <= 4);

/// Combines the data behind the second argument into the data behind the first. Both are arrays of addresses.
type Combine = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Begins to combine the partial results of a reduction. Returns 1 if the caller is to use plain operations,
/// and 2 if it is to use atomic ones.
///
/// # Safety
/// `loc` is null or a place in the source. `name` is a variable of the program that is reserved for
/// reductions.
unsafe fn reduce(loc: Loc, variables: i32, name: Name) -> i32 {
    // SAFETY: `loc` is null or may be read, and `name` is reserved for reductions: this function's contract.
    let (flags, lock) = unsafe { (loc.as_ref().map_or(0, |l| l.flags), &*name) };
    let atomic = flags & ATOMIC_REDUCTION != 0;
    match reduce::begin(Thread::current(), lock, variables.max(0) as u32, atomic) {
        How::Exclusive => 1,
        How::Atomic => 2,
    }
}

/// The answer of `masked` in a thread that executes the construct if `executes`.
#[inline(always)]
fn masked(executes: bool) -> i32 {
    if executes && tool::on() {
        events::masked_begins(Thread::current());
    }
    i32::from(executes)
}

fn end_masked() {
    if tool::on() {
        events::masked_ends(Thread::current());
    }
}

/// `__kmpc_critical` where nobody observes and the process is no node.
unsafe extern "C" fn enter_plain(_loc: Loc, _gtid: i32, name: Name) {
    // SAFETY: a static, zero-initialised variable of the program that is used for nothing else.
    critical::plain::enter_named(unsafe { &*name });
}

/// `__kmpc_end_critical` where nobody observes and the process is no node.
unsafe extern "C" fn leave_plain(_loc: Loc, _gtid: i32, name: Name) {
    // SAFETY: the variable that the thread passed to `__kmpc_critical`.
    critical::plain::leave_named(unsafe { &*name });
}

entries! {
    "VERSION" default:
    /// Enters a critical section.
    watched(enter_plain) fn __kmpc_critical(_loc: Loc, _gtid: i32, name: Name) {
        // SAFETY: a static, zero-initialised variable of the program that is used for nothing else.
        critical::enter_named(unsafe { &*name });
    }

    /// `__kmpc_critical`; hints have no effect.
    watched(enter_plain) fn __kmpc_critical_with_hint(_loc: Loc, _gtid: i32, name: Name, _hint: u32) {
        // SAFETY: a static, zero-initialised variable of the program that is used for nothing else.
        critical::enter_named(unsafe { &*name });
    }

    /// Leaves a critical section.
    watched(leave_plain) fn __kmpc_end_critical(_loc: Loc, _gtid: i32, name: Name) {
        // SAFETY: the variable that the thread passed to `__kmpc_critical`.
        critical::leave_named(unsafe { &*name });
    }

    /// Begins an ordered region.
    watched fn __kmpc_ordered(_loc: Loc, _gtid: i32) {
        ordered::enter(Thread::current());
    }

    /// Ends an ordered region.
    watched fn __kmpc_end_ordered(_loc: Loc, _gtid: i32) {
        ordered::leave(Thread::current());
    }

    /// Returns 1 in the thread that executes the construct.
    watched fn __kmpc_single(_loc: Loc, _gtid: i32) -> i32 {
        i32::from(single::start(Thread::current()))
    }

    /// Called when the executing thread has ended the construct. If there is a barrier, it is a separate
    /// call.
    watched fn __kmpc_end_single(_loc: Loc, _gtid: i32) {
        loops::end_nowait();
    }

    /// Returns 1 in the primary thread.
    watched fn __kmpc_master(_loc: Loc, _gtid: i32) -> i32 {
        masked(Thread::current().number() == 0)
    }

    /// Called when the primary thread has ended the construct. No thread waits for that.
    watched fn __kmpc_end_master(_loc: Loc, _gtid: i32) {
        end_masked();
    }

    /// Returns 1 in the thread whose number is `filter`.
    watched fn __kmpc_masked(_loc: Loc, _gtid: i32, filter: i32) -> i32 {
        masked(Thread::current().number() as i32 == filter)
    }

    /// Called when the executing thread has ended the construct. No thread waits for that.
    watched fn __kmpc_end_masked(_loc: Loc, _gtid: i32) {
        end_masked();
    }

    /// Begins `scope`. There is nothing to do, because no work is divided.
    watched fn __kmpc_scope(_loc: Loc, _gtid: i32, _reserved: *mut c_void) {
        if tool::on() {
            events::begin(Thread::current(), Work::Scope, 1);
        }
    }

    /// Ends `scope`. If there is a barrier, it is a separate call.
    watched fn __kmpc_end_scope(_loc: Loc, _gtid: i32, _reserved: *mut c_void) {
        loops::end_nowait();
    }

    /// Enters `sections`.
    watched fn __kmpc_sections_init(_loc: Loc, _gtid: i32) -> i32 {
        let th = Thread::current();
        // The number of sections is known only later: `__kmpc_next_section` gets it each time.
        sections::enter_unbounded(th);
        0
    }

    /// Returns the number of the thread's next section, of `0..count`; `count` if none is left.
    fn __kmpc_next_section(_loc: Loc, _gtid: i32, count: i32) -> i32 {
        let n = sections::next(Thread::current());
        if n == 0 || n > count as u32 { count } else { n as i32 - 1 }
    }

    /// Ends `sections`. If there is a barrier, it is a separate call.
    watched fn __kmpc_end_sections(_loc: Loc, _gtid: i32) {
        loops::end_nowait();
    }

    /// Begins a reduction without a barrier. Returns how to combine, as [`reduce`] does.
    watched fn __kmpc_reduce_nowait(
        loc: Loc, _gtid: i32, variables: i32, _size: usize, _data: *mut c_void, _f: Combine, name: Name,
    ) -> i32 {
        // SAFETY: the compiled code passes its place and the variable for reductions.
        unsafe { reduce(loc, variables, name) }
    }

    /// Ends a reduction without a barrier.
    watched fn __kmpc_end_reduce_nowait(_loc: Loc, _gtid: i32, _name: Name) {
        reduce::end(Thread::current());
    }

    /// Begins a reduction with a barrier at its end. Returns how to combine, as [`reduce`] does.
    watched fn __kmpc_reduce(
        loc: Loc, _gtid: i32, variables: i32, _size: usize, _data: *mut c_void, _f: Combine, name: Name,
    ) -> i32 {
        // SAFETY: the compiled code passes its place and the variable for reductions.
        unsafe { reduce(loc, variables, name) }
    }

    /// Ends a reduction, with a barrier.
    watched fn __kmpc_end_reduce(_loc: Loc, _gtid: i32, _name: Name) {
        let th = Thread::current();
        reduce::end(th);
        team::barrier_of(th, Sync::Implementation);
    }

    /// `copyprivate`: all threads call this, each with its own list. Threads that did not execute the
    /// construct copy from the executing thread's list.
    watched fn __kmpc_copyprivate(
        _loc: Loc, _gtid: i32, _size: usize, data: *mut c_void, copy: Combine, executed: i32,
    ) {
        let th = Thread::current();
        let theirs = single::broadcast(th, (executed != 0).then_some(data));
        if executed == 0 {
            // SAFETY: the compiled code's function fits its lists. The executing thread's list stays until
            // the end of the construct.
            unsafe { copy(data, theirs) };
        }
        single::broadcast_end(th);
    }

    /// `copyprivate` for compiled code that copies by itself. The executing thread passes its list, the
    /// others pass null. All get the executing thread's list.
    watched fn __kmpc_copyprivate_light(_loc: Loc, _gtid: i32, data: *mut c_void) -> *mut c_void {
        single::broadcast(Thread::current(), NonNull::new(data).map(NonNull::as_ptr))
    }
}
