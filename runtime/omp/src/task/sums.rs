//! How many tasks a member of a team has deferred, and how many it has finished: whether any is left.
//!
//! Each member counts in words of its own, those of even and those of odd epochs apart ([`super`] says why), so that
//! nobody shares a counter. Who reads the sum of what is finished first, and then the sum of what was made, and finds
//! both equal, knows that there was a moment with no task in between, and sees what all these tasks have written.

use crossbeam_utils::CachePadded;
use hetmp_core::sync::{AtomicU64, Ordering};

/// One member's counts. Only this member changes them.
#[derive(Debug)]
pub(crate) struct Sums {
    created: CachePadded<[AtomicU64; 2]>,
    finished: CachePadded<[AtomicU64; 2]>,
}

impl Sums {
    pub(crate) fn new() -> Sums {
        Sums {
            created: CachePadded::new([AtomicU64::new(0), AtomicU64::new(0)]),
            finished: CachePadded::new([AtomicU64::new(0), AtomicU64::new(0)]),
        }
    }

    /// Counts a task before any thread can finish it. Release: a thread that sums the counters has then seen the
    /// maker's own start, or the task that made the maker.
    #[inline(always)]
    pub(crate) fn create(&self, phase: usize) {
        add(&self.created[phase]);
    }

    /// Counts a task after all else that is done for it: once the sums agree, the region may end and the team may
    /// change.
    #[inline(always)]
    pub(crate) fn finish(&self, phase: usize) {
        add(&self.finished[phase]);
    }

    /// Only while no task is left and nobody looks.
    pub(crate) fn forget(&self) {
        for count in self.created.iter().chain(self.finished.iter()) {
            count.store(0, Ordering::Relaxed);
        }
    }
}

#[inline(always)]
fn add(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Release);
}

/// Tasks that threads outside of the team have finished (events), those of even and of odd epochs.
#[derive(Debug)]
pub(crate) struct Outside([AtomicU64; 2]);

impl Outside {
    pub(crate) fn new() -> Outside {
        Outside([AtomicU64::new(0), AtomicU64::new(0)])
    }

    /// As [`Sums::finish`].
    pub(crate) fn finish(&self, phase: usize) {
        self.0[phase].fetch_add(1, Ordering::AcqRel);
    }

    /// As [`Sums::forget`].
    pub(crate) fn forget(&self) {
        for count in &self.0 {
            count.store(0, Ordering::Relaxed);
        }
    }
}

/// Whether all tasks of `phase` are complete. Called while all members are in the barrier of that phase, or none is in
/// the team.
pub(crate) fn agree<'a>(
    members: impl Iterator<Item = &'a Sums> + Clone,
    outside: &Outside,
    phase: usize,
) -> bool {
    let finished = &outside.0[phase];
    let finished =
        finished.load(Ordering::Acquire) + sum(members.clone().map(|m| &m.finished[phase]));
    finished == sum(members.map(|m| &m.created[phase]))
}

fn sum<'a>(counts: impl Iterator<Item = &'a AtomicU64>) -> u64 {
    counts.map(|n| n.load(Ordering::Acquire)).sum()
}
