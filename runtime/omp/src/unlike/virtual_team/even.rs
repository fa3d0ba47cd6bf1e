//! Regions whose threads take equally long, where nothing tells the nodes apart.
//!
//! They keep ordinary teams, and nobody reads their code: see [`hetmp_sched::even`]. To know it, some of their
//! executions are timed, each thread's for itself. A thread that waits at a barrier, for a lock or for tasks
//! is not in the program's code, so that regions with barriers in them show what their threads take, too.

use crate::team::members::Outlined;
use crate::team::region::{self as team, Region};
use crate::thread::Thread;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_sched::even::{Even, Seen};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// By address of the outlined function and number of threads.
static KNOWN: Mutex<BTreeMap<(usize, u32), Even>> = Mutex::new(BTreeMap::new());

/// Is it worth while to look at the region of `code`, which `threads` threads run?
pub(super) fn is_to_be_looked_at(code: usize, threads: u32) -> bool {
    // Nothing panics under this lock.
    KNOWN.lock().is_ok_and(|known| {
        known
            .get(&(code, threads))
            .is_some_and(Even::is_to_be_looked_at)
    })
}

/// Learns from an execution. Returns how many may pass unseen, where any `may_pass`.
pub(super) fn learn(code: usize, threads: u32, seen: &Seen, may_pass: bool) -> u32 {
    KNOWN.lock().map_or(0, |mut known| {
        let region = known.entry((code, threads)).or_default();
        region.see(seen, may_pass)
    })
}

/// In the child of a fork. False: a thread that is gone held the lock.
pub(super) fn after_fork() -> bool {
    KNOWN.try_lock().is_ok()
}

/// An execution whose threads are timed.
struct Timed {
    entry: Outlined,
    data: *mut libc::c_void,
    /// Ticks that the threads spent in the program's code: the longest of them, and all together.
    most: AtomicU64,
    sum: AtomicU64,
}

/// The outlined function of such a region.
///
/// # Safety
/// `timed` is the [`Timed`] of a region whose `entry` compiled code made for every thread of the team.
unsafe extern "C" fn run(timed: *mut libc::c_void) {
    // SAFETY: `ordinary` passes one that outlives the region, and it is only shared.
    let timed = unsafe { &*timed.cast::<Timed>() };
    let slow = &Thread::current().slow;
    slow.start_watch();
    // SAFETY: `ordinary` took function and data from the region, which compiled code made for every thread of a team.
    unsafe { (timed.entry)(timed.data) };
    let busy = slow.stop_watch();
    // Relaxed: the join orders them before the primary thread reads.
    timed.most.fetch_max(busy, Ordering::Relaxed);
    timed.sum.fetch_add(busy, Ordering::Relaxed);
}

/// Runs `region` as an ordinary team. Returns its size and the ticks that its threads spent in the program's
/// code: the longest of them, and in the mean.
///
/// # Safety
/// As for [`team::fork`].
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
    // SAFETY: the promise of this function's caller holds for `region`, and `run` calls its function once in each
    // thread. `timed` lives until the region has ended.
    let n = unsafe { team::ordinary(th, &watched, None) };
    let sum = timed.sum.load(Ordering::Relaxed);
    let mean = sum / u64::from(n.max(1));
    (n, timed.most.load(Ordering::Relaxed), mean)
}
