//! The early end of a trial: an execution across nodes whose loops the origin runs to the end alone.
//!
//! The rule lets a region cross to see what that takes, and judges it afterwards. Where pages go to and fro with every few
//! iterations, one execution may take a hundred times as long as at home. So the origin looks at its own faults when its
//! threads take iterations of a loop that the runtime hands out. (It had all pages before: what it waits for is what
//! others took meanwhile, and they will do so to the end.) If the trial is hopeless, it takes all iterations that are left, and other nodes
//! find none.

use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::sys;

/// Part of the region's time at home after which its faults say something: as much as a probe of the paper.
const PROBE: f64 = 0.1;

/// An execution across nodes that is a trial, as it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    /// The region did not cross before: nobody knows how fast nodes are.
    pub(super) is_first: bool,
    pub(super) home_ns: f64,
    /// How much longer than at home the execution may take.
    pub(super) spare_ns: f64,
    pub(super) began: u64,
    /// How long the origin's threads had waited for pages before.
    pub(super) waited_ns: u64,
}

/// When the origin last looked. A look costs as much as a short iteration or two, so it is not due at each.
#[derive(Debug)]
pub(super) struct Looks(AtomicU64);

impl Looks {
    /// Ticks between looks.
    const EVERY: u64 = 100_000;

    pub(super) const fn new() -> Looks {
        Looks(AtomicU64::new(0))
    }

    /// Is a look due? If so, the caller looks.
    pub(super) fn is_due(&self) -> bool {
        let now = sys::ticks();
        let due = now.wrapping_sub(self.0.load(Ordering::Relaxed)) >= Looks::EVERY;
        if due {
            self.0.store(now, Ordering::Relaxed);
        }
        due
    }
}

impl Trial {
    /// Is it hopeless for the origin's `threads` threads to go on like this? `now`: the time; `waited_ns`: how long they have
    /// waited for pages.
    pub(super) fn is_hopeless(&self, now: u64, waited_ns: u64, threads: u32, nodes: u32) -> bool {
        let ns = now.saturating_sub(self.began) as f64;
        let waited = waited_ns.saturating_sub(self.waited_ns) as f64;
        self.judge(ns, waited / f64::from(threads.max(1)), nodes)
    }

    /// The execution has taken `ns`, and each thread of the origin waited for pages in `waited_ns` of them. What `nodes` nodes do
    /// together is at best so many times what the origin does now, which without waiting it would do alone.
    fn judge(&self, ns: f64, waited_ns: f64, nodes: u32) -> bool {
        let gains_nothing = waited_ns >= (1.0 - 1.0 / f64::from(nodes)) * ns;
        (gains_nothing && ns >= PROBE * self.home_ns) || ns > self.home_ns + self.spare_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_hopeless_that_only_waits_or_takes_too_long() {
        let trial = Trial {
            is_first: true,
            home_ns: 1000.0,
            spare_ns: 500.0,
            began: 0,
            waited_ns: 0,
        };
        // Too early to say.
        assert!(!trial.judge(90.0, 90.0, 2));
        assert!(trial.judge(100.0, 50.0, 2));
        // Four nodes would do together twice what the origin does alone.
        assert!(!trial.judge(100.0, 50.0, 4));
        assert!(trial.judge(100.0, 75.0, 4));
        // The origin waits for nothing, and others are slow.
        assert!(!trial.judge(1500.0, 0.0, 2));
        assert!(trial.judge(1501.0, 0.0, 2));
    }
}
