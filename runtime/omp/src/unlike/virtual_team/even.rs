//! Regions whose code is not read yet, because their threads take equally long.
//!
//! Such regions keep ordinary teams: see [`hetmp_sched::even`]. To see which regions are worth
//! reading, some executions are timed, each thread by itself. A thread that waits at a barrier, for a lock or for
//! tasks is not in the program's code. So even in regions with barriers the times show how long each thread
//! works.

use crate::boundary::Reason;
use crate::team::members::Outlined;
use crate::team::region::{self as team, Region};
use crate::thread::Thread;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::whole::Mutex;
use hetmp_sched::even::{Even, Seen};
use std::collections::BTreeMap;

/// What is known, by address of the outlined function and number of threads.
static KNOWN: Mutex<BTreeMap<(usize, u32), Even>> = Mutex::new(BTreeMap::new());

/// Have the region's threads waited so long for each other that it is to be looked at?
pub(super) fn is_to_be_looked_at(code: usize, threads: u32) -> bool {
    let known = KNOWN.lock();
    let region = known.get(&(code, threads));
    region.is_some_and(Even::is_to_be_looked_at)
}

/// Learns from an execution. Returns how many executions may pass unobserved, 0 unless any `may_pass`.
pub(super) fn learn((code, threads): (usize, u32), seen: &Seen, may_pass: bool) -> u32 {
    let mut known = KNOWN.lock();
    let region = known.entry((code, threads)).or_default();
    region.see(seen, may_pass)
}

/// An execution whose threads are timed.
struct Timed {
    entry: Outlined,
    data: *mut libc::c_void,
    /// Ticks that the threads spent in the program's code: the largest, and the sum.
    most: AtomicU64,
    sum: AtomicU64,
}

/// The outlined function of a timed execution.
///
/// # Safety
/// `timed` is the [`Timed`] of a region whose `entry` compiled code made for every thread of the team.
unsafe extern "C" fn run(timed: *mut libc::c_void) {
    // SAFETY: `ordinary` passes a `Timed` that outlives the region, and threads only share it.
    let timed = unsafe { &*timed.cast::<Timed>() };
    let th = Thread::current();
    let slow = &th.slow;
    slow.start_watch();
    // SAFETY: `ordinary` took function and data from a region that compiled code made for every thread of a
    // team.
    unsafe { (timed.entry)(timed.data) };
    // An emulated slow core pays for its last stretch here. Otherwise its thread would seem to be as fast as the others
    // in each region that is shorter than the emulation's period.
    th.leave_program(Reason::Switch);
    let busy = slow.stop_watch();
    // Relaxed: the join orders these writes before the primary thread's reads.
    timed.most.fetch_max(busy, Ordering::Relaxed);
    timed.sum.fetch_add(busy, Ordering::Relaxed);
}

/// What an ordinary team's execution has shown.
pub(super) struct Observed {
    /// The team's size.
    pub(super) threads: u32,
    /// Ticks that threads spent in the program's code: the largest, and the mean.
    pub(super) most: u64,
    pub(super) mean: u64,
}

/// Runs `region` as an ordinary team.
///
/// # Safety
/// The same as for [`team::ordinary`].
pub(super) unsafe fn ordinary(th: &Thread, region: &Region) -> Observed {
    let timed = Timed {
        entry: region.entry,
        data: region.data,
        most: AtomicU64::new(0),
        sum: AtomicU64::new(0),
    };
    let watched = Region {
        entry: run,
        data: (&raw const timed).cast_mut().cast(),
        ..*region
    };
    // SAFETY: by this function's contract compiled code made `region`'s function for all threads, and `run`
    // calls it once in each. `timed` lives until the region has ended.
    let threads = unsafe { team::ordinary(th, &watched, None) };
    let count = u64::from(threads.max(1));
    Observed {
        threads,
        most: timed.most.load(Ordering::Relaxed),
        mean: timed.sum.load(Ordering::Relaxed) / count,
    }
}
