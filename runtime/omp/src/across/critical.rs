//! Critical sections of a program on several nodes.
//!
//! While no region crosses nodes, all threads that run the program's code are in one process, and a critical
//! section costs what it costs without nodes: the process's own lock. While one crosses, the section's lock is
//! the origin's lock manager, by message. One section must not be guarded by both at the same time. So a region
//! does not cross while a thread is in a section, or waits for one, that the process's own lock guards.
//!
//! A library that the program loads while the nodes run has its variables at the origin only. From then on no region
//! crosses.

use super::table::{lock, table, unlock};
use crate::thread::Thread;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use hetmp_core::report;

/// A region that crosses nodes is under way, or about to begin. There can be only one at a time.
///
/// # Memory ordering
/// A thread that enters a section counts itself in `INSIDE` and then reads `CROSSING`; a thread that opens a
/// region sets `CROSSING` and then reads `INSIDE`. Sequential consistency: otherwise both could read the old
/// values, and a section of the region would run next to one that the process's own lock guards.
static CROSSING: AtomicBool = AtomicBool::new(false);
/// Threads in, or waiting for, sections that the process's own locks guard.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// Libraries of the program's own that are being loaded; read and written as `INSIDE` is.
static LOADING: AtomicU32 = AtomicU32::new(0);
/// One was loaded. Stored before `LOADING` falls, so whoever then reads 0 there reads this too.
static LOADED: AtomicBool = AtomicBool::new(false);

/// Makes the calling thread the one that opens regions that cross. False if a region crosses already, or if a
/// thread is in a section that the process's own lock guards.
pub(super) fn begin_crossing() -> bool {
    if CROSSING.swap(true, Ordering::SeqCst) {
        return false;
    }
    let free =
        INSIDE.load(Ordering::SeqCst) == 0 && LOADING.load(Ordering::SeqCst) == 0 && !has_loaded();
    if !free {
        end_crossing();
    }
    free
}

/// Notes that a library is about to be loaded. False while a region crosses.
pub(super) fn begin_loading() -> bool {
    LOADING.fetch_add(1, Ordering::SeqCst);
    let free = !CROSSING.load(Ordering::SeqCst);
    if !free {
        LOADING.fetch_sub(1, Ordering::SeqCst);
    }
    free
}

/// The library that [`begin_loading`] was called for `was_loaded`, or could not be. Returns whether it is the first.
pub(super) fn end_loading(was_loaded: bool) -> bool {
    let first = was_loaded && !LOADED.swap(true, Ordering::SeqCst);
    LOADING.fetch_sub(1, Ordering::SeqCst);
    first
}

/// The program has loaded a library of its own while the nodes ran.
pub(super) fn has_loaded() -> bool {
    LOADED.load(Ordering::SeqCst)
}

/// The region that crossed is over.
pub(super) fn end_crossing() {
    CROSSING.store(false, Ordering::SeqCst);
}

/// Notes a section of the thread. The innermost section is in the lowest bit: 1 if the process's own lock guards
/// it. Above the outermost one stands a 1.
fn push(th: &Thread, own: bool) {
    let sections = th.sections.get().max(1);
    if sections >> 63 != 0 {
        report::fatal(format_args!(
            "critical sections in each other: too many on several nodes (expected at most 63)"
        ));
    }
    th.sections.set(sections << 1 | u64::from(own));
}

/// Enters the critical section with this key: the address of its lock, or a number of `table`. `take` takes the
/// lock of this process.
#[cold]
pub(crate) fn enter(key: u64, take: impl FnOnce()) {
    let th = Thread::current();
    let own = begin_own();
    push(th, own);
    if own {
        take();
    } else {
        lock(key);
    }
}

/// Counts the calling thread among those that are in, or wait for, what the process's own locks guard, unless the
/// origin's lock manager has all locks now: then returns false.
pub(super) fn begin_own() -> bool {
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let own = !CROSSING.load(Ordering::SeqCst) && table().is_none_or(|t| t.me == 0);
    if !own {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
    }
    own
}

/// Ends what [`begin_own`] began.
pub(super) fn end_own() {
    INSIDE.fetch_sub(1, Ordering::SeqCst);
}

/// Leaves the critical section that the calling thread entered last. `release` releases the lock of this process.
#[cold]
pub(crate) fn leave(key: u64, release: impl FnOnce()) {
    let th = Thread::current();
    let sections = th.sections.get();
    th.sections.set(sections >> 1);
    if sections > 1 && sections & 1 != 0 {
        release();
        end_own();
    } else {
        unlock(key);
    }
}
