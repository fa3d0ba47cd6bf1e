//! The origin goes first: what bounds a trial whose work the origin cannot take over. (Where the runtime hands out
//! iterations, [`hetmp_sched::crossing::early`] does.)
//!
//! Nodes that want each other's pages all the time take them from each other with every few instructions, and a region
//! takes a hundred times as long as at home. Where the origin's faults say so, it *keeps* the pages that it has and
//! gets until its threads have ended their part, or ask another node for something. Meanwhile the other nodes wait;
//! then they have all pages for themselves. So such a trial takes about as long as the nodes' parts one after the
//! other, and as moving the data once.
//!
//! A thread may wait for what a thread of another node writes, which the runtime does not see. So keeping lasts
//! [`LONGEST`] at most, and a region then goes on as slowly as it would have.

use super::counts::Counts;
use super::local;
use super::table::{asking, table, Table};
use super::weigh;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_sched::crossing::early::{Seen, Trial};

/// The origin keeps its pages for this multiple of the region's time at home at most. Its part takes as long as all of
/// them there if nodes have as many cores as the origin has alone, and twice as long where other programs have half of
/// them.
const LONGEST: f64 = 2.0;

/// Faults of the origin that say nothing yet: a region's start has some.
const FEW: u64 = 64;

/// A trial that runs.
#[derive(Clone, Copy)]
struct Judged {
    trial: Trial,
    /// The origin's counts when it began.
    before: Counts,
    /// The origin's threads.
    threads: u32,
    /// When the origin keeps pages no more; 0: it has not begun.
    until: u64,
}

/// # Memory ordering
/// The thread that serves the origin's faults looks at `of` while it is `judging` and a trial is `armed`; the opener
/// writes `of` before that, and ends it by waiting until nobody is judging. Sequentially consistent: one of the two
/// sees the other.
struct First {
    armed: AtomicBool,
    judging: AtomicBool,
    of: UnsafeCell<Option<Judged>>,
}

// SAFETY: `of` is written while no trial is armed and nobody is judging, and else used by the one thread that judges.
unsafe impl Sync for First {}

static FIRST: First = First {
    armed: AtomicBool::new(false),
    judging: AtomicBool::new(false),
    of: UnsafeCell::new(None),
};

impl Judged {
    /// A thread of the origin asks for a page.
    fn look(&mut self, t: &Table) {
        let now = weigh::now();
        if self.until == 0 {
            let ns = now.saturating_sub(self.trial.began);
            let since = Counts::own(t).since(self.before);
            let all = ns * u64::from(self.threads);
            let seen = Seen {
                ran_ns: all.saturating_sub(since.waited_ns()),
                faults: since.faults(),
                waited_ns: since.waited_ns(),
            };
            let trial = &self.trial;
            let hopeless = trial.is_hopeless(ns, seen, (0.0, 0.0), self.threads, t.nodes);
            if seen.faults < FEW || !hopeless {
                return;
            }
            local::give_up();
            self.until = now + (LONGEST * self.trial.home_ns) as u64;
        }
        (t.keep)(self.until.saturating_sub(now));
        if asking() {
            (t.keep)(0);
        }
    }
}

/// A thread of the origin asks another node for a page. Called by the thread that serves its faults.
pub(super) extern "C" fn judge() {
    FIRST.judging.store(true, Ordering::SeqCst);
    if FIRST.armed.load(Ordering::SeqCst) {
        // SAFETY: a trial is armed after `of` was written, and whoever ends it waits for this thread.
        let of = unsafe { &mut *FIRST.of.get() };
        if let (Some(judged), Some(t)) = (of, table()) {
            judged.look(t);
        }
    }
    FIRST.judging.store(false, Ordering::SeqCst);
}

/// The trial begins in which the origin has this many threads. Called by its opener.
pub(super) fn begin(trial: Trial, before: Counts, threads: u32) {
    let judged = Judged {
        trial,
        before,
        threads,
        until: 0,
    };
    // SAFETY: no trial is armed: `end` came before, and one region crosses at a time.
    unsafe { *FIRST.of.get() = Some(judged) };
    FIRST.armed.store(true, Ordering::SeqCst);
}

/// The trial is over.
pub(super) fn end(t: &Table) {
    FIRST.armed.store(false, Ordering::SeqCst);
    while FIRST.judging.load(Ordering::SeqCst) {
        core::hint::spin_loop();
    }
    (t.keep)(0);
}
