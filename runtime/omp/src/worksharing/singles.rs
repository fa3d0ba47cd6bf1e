//! Which thread executes a `single` construct.
//!
//! Every thread meets the same `single` constructs in the same order, and counts them itself. The team has one more
//! count: how many of them have been taken. The thread that raises the team's count from its own number to the next
//! takes the construct.
//!
//! With more threads than cores, a thread that gets a core again is often thousands of constructs behind. The first one
//! that it finds taken tells it the team's count, and up to that count it takes nothing: it passes these constructs
//! without a look at the cache line for which the threads in front compete.
//!
//! # Memory ordering
//! Everything is relaxed. The construct passes no data between threads, and only one exchange can find a given count,
//! since the count never falls within a region. A count that a thread remembers is too low at worst: then the thread
//! looks again.

use crossbeam_utils::CachePadded;
use hetmp_core::sync::{AtomicU64, Ordering};

/// A team's count of the `single` constructs that some thread has taken in this region.
#[derive(Debug)]
pub(crate) struct Singles(CachePadded<AtomicU64>);

/// How far one thread is among the `single` constructs of its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Met {
    /// Constructs that the thread has met.
    count: u64,
    /// Constructs that the team has taken, as far as this thread knows.
    taken: u64,
}

impl Met {
    /// No construct yet.
    pub(crate) const NONE: Met = Met { count: 0, taken: 0 };
}

impl Singles {
    /// From this count on, no thread of a region finds its turn.
    pub(crate) const NEVER: u64 = u64::MAX / 2;

    pub(crate) fn new() -> Singles {
        Singles(CachePadded::new(AtomicU64::new(0)))
    }

    /// Sets the count for a region that begins: 0, or [`Singles::NEVER`]. May be called only while no thread is in the
    /// team.
    #[inline]
    pub(crate) fn restart(&self, from: u64) {
        // The line is usually in another core's cache, so it is written only where it must be.
        if self.0.load(Ordering::Relaxed) != from {
            self.0.store(from, Ordering::Relaxed);
        }
    }

    /// Steps over the thread's next construct. Returns how far the thread is then, and whether it executes the
    /// construct.
    #[inline]
    pub(crate) fn step(&self, met: Met) -> (Met, bool) {
        let Met { count, taken } = met;
        let next = count + 1;
        if count < taken {
            return (Met { count: next, taken }, false);
        }
        // Usually another thread has taken the construct. Then a load is enough, and the line stays in the cache of the
        // thread in front, which writes it again at its next construct.
        let seen = self.0.load(Ordering::Relaxed);
        if seen != count {
            let met = Met {
                count: next,
                taken: seen,
            };
            return (met, false);
        }
        match self
            .0
            .compare_exchange(count, next, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => (Met { count: next, taken }, true),
            Err(taken) => (Met { count: next, taken }, false),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_behind_passes_what_is_taken_and_then_takes_its_turn() {
        let singles = Singles::new();
        let mut ahead = Met::NONE;
        for _ in 0..5 {
            let (met, mine) = singles.step(ahead);
            assert!(mine);
            ahead = met;
        }
        let mut behind = Met::NONE;
        for k in 0..7 {
            let (met, mine) = singles.step(behind);
            assert_eq!(mine, k >= 5, "construct {k}");
            behind = met;
        }
        // The first thread meets two constructs that the other took, and then one that is free.
        for k in 5..8 {
            let (met, mine) = singles.step(ahead);
            assert_eq!(mine, k == 7, "construct {k}");
            ahead = met;
        }
    }

    #[test]
    fn nobody_finds_a_turn_where_there_is_none() {
        let singles = Singles::new();
        assert!(singles.step(Met::NONE).1);
        singles.restart(Singles::NEVER);
        let mut met = Met::NONE;
        for _ in 0..100 {
            let (next, mine) = singles.step(met);
            assert!(!mine);
            met = next;
        }
        singles.restart(0);
        assert!(singles.step(Met::NONE).1);
    }
}
