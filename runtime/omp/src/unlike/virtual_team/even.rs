//! Regions whose code is not read yet: their threads take equally long, or the program has spent enough on reading.
//!
//! Such regions keep ordinary teams: see [`hetmp_sched::even`] and [`hetmp_sched::budget`]. To see which regions are worth
//! reading, some executions are timed, each thread by itself. A thread that waits at a barrier, for a lock or for
//! tasks is not in the program's code. So even in regions with barriers the times show how long each thread
//! works.

use super::budget;
use crate::boundary::Reason;
use crate::team::members::Outlined;
use crate::team::region::{self as team, Region};
use crate::thread::Thread;
use crate::unlike::{modes, nodes};
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::sys::monotonic_ns;
use hetmp_sched::budget::Length;
use hetmp_sched::even::{Even, Seen};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What is known, by address of the outlined function and number of threads.
static KNOWN: Mutex<BTreeMap<(usize, u32), Unread>> = Mutex::new(BTreeMap::new());

/// A region whose code is not read yet.
#[derive(Debug, Default)]
struct Unread {
    seen: Even,
    /// How much there is to read, once somebody wanted to know.
    length: Option<Length>,
}

/// May the code of the region at `code` be read now, when `threads` threads run it? `asked`: the program asked for this
/// number.
pub(super) fn may_be_read(code: usize, threads: u32, asked: bool) -> bool {
    let budget = budget::so_far();
    let unlike = nodes::told_apart();
    let ran_ns = monotonic_ns().saturating_sub(modes::started_ns()) as f64;
    // No code that can panic runs under this lock.
    KNOWN.lock().is_ok_and(|mut known| {
        let region = known.entry((code, threads)).or_default();
        if !unlike && !region.seen.is_to_be_looked_at() {
            return false;
        }
        let length = || budget::length(code, asked);
        let length = *region.length.get_or_insert_with(length);
        budget.may_read(Some(&region.seen), length, ran_ns, unlike)
    })
}

/// Learns from an execution. Returns how many executions may pass unobserved, 0 unless any `may_pass`.
pub(super) fn learn(code: usize, threads: u32, seen: &Seen, may_pass: bool) -> u32 {
    KNOWN.lock().map_or(0, |mut known| {
        let region = known.entry((code, threads)).or_default();
        region.seen.see(seen, may_pass)
    })
}

/// Called in the child of a fork. False: a thread that does not exist here held the lock.
pub(super) fn after_fork() -> bool {
    KNOWN.try_lock().is_ok()
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
    th.slow.start_watch();
    // SAFETY: `ordinary` took function and data from a region that compiled code made for every thread of a
    // team.
    unsafe { (timed.entry)(timed.data) };
    // An emulated slow core pays for its last stretch here. Otherwise its thread would seem to be as fast as the others in each
    // region that is shorter than the emulation's period.
    th.leave_program(Reason::Switch);
    let busy = th.slow.stop_watch();
    // Relaxed: the join orders these writes before the primary thread's reads.
    timed.most.fetch_max(busy, Ordering::Relaxed);
    timed.sum.fetch_add(busy, Ordering::Relaxed);
}

/// Runs `region` as an ordinary team. Returns the team's size, and the ticks that threads spent in the
/// program's code: the largest, and the mean.
///
/// # Safety
/// The same as for [`team::ordinary`].
pub(super) unsafe fn ordinary(th: &Thread, region: &Region) -> (u32, u64, u64) {
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
    let n = unsafe { team::ordinary(th, &watched, None) };
    let sum = timed.sum.load(Ordering::Relaxed);
    let mean = sum / u64::from(n.max(1));
    (n, timed.most.load(Ordering::Relaxed), mean)
}
