//! The early end of a trial: an execution across nodes whose loops the origin runs to the end alone.
//!
//! The rule lets a region cross to see what that takes, and judges it afterwards. Where pages go to and fro with every
//! few iterations, one execution may take a hundred times as long as at home. So the origin looks at its threads'
//! faults when they take iterations of a loop that the runtime hands out: the paper's probe. (The origin had all pages
//! before: what it waits for is what others took meanwhile, and they will do so to the end.) The *fault period* is the
//! core time for each fault. If it is below the threshold, the trial is hopeless: the origin takes all iterations that
//! are left, and other nodes find none.
//!
//! Core time is the processor's time that threads took and the time that they waited for pages, not the clock's: what
//! other programs took of the cores meanwhile says nothing of the region.

use super::meter::Watch;
use super::table::table;
use crate::thread::Thread;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::counters::{Pages, Source as _};
use hetmp_core::sys;
use hetmp_sched::schedule::DEFAULT_FRACTION;

/// An execution across nodes that is a trial, as it begins.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Trial {
    /// The region did not cross before: nobody knows how fast nodes are.
    pub(super) is_first: bool,
    /// The part of the work that other nodes get together; 1: as much as they can do.
    pub(super) part: f64,
    pub(super) home_ns: f64,
    /// How much longer than at home the execution may take.
    pub(super) spare_ns: f64,
    pub(super) began: u64,
    pub(super) threshold: Threshold,
}

/// The fault period from which a region gains by crossing, in microseconds, as far as it is known beforehand.
#[derive(Clone, Copy, Debug)]
#[repr(C, u32)]
pub(super) enum Threshold {
    /// `HETMP_FAULT_PERIOD`: this and nothing else.
    Told(f64),
    /// `HETMP_CALIBRATION`, 0 without. Pages may take longer than when it was measured.
    Calibrated(f64),
}

/// What a node's threads did in a region so far: nanoseconds of the processor's time, faults, and nanoseconds of
/// waiting for their pages, summed over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Seen {
    pub(super) ran_ns: u64,
    pub(super) faults: u64,
    pub(super) waited_ns: u64,
}

/// Where threads add what they did. Relaxed: the sums are estimates while the region runs, and its threads meet at its
/// end.
#[derive(Debug, Default)]
pub(super) struct Probe([AtomicU64; 3]);

/// When the origin last looked. A look costs as much as a short iteration or two, so it is not due at each.
#[derive(Debug)]
pub(super) struct Looks(AtomicU64);

/// The calling thread's faults.
const PAGES: Pages = Pages(|| {
    let mut words = [0; 2];
    if let Some(t) = table() {
        (t.waits)(words.as_mut_ptr());
    }
    words
});

impl Probe {
    pub(super) const fn new() -> Probe {
        Probe([const { AtomicU64::new(0) }; 3])
    }

    pub(super) fn reset(&self) {
        self.0.iter().for_each(|n| n.store(0, Ordering::Relaxed));
    }

    /// The calling thread begins its part.
    pub(super) fn begin(&self, th: &Thread) {
        th.probed.set((Watch::start(th.spun.get()), PAGES.start()));
    }

    /// Adds what the calling thread did since it last came here.
    pub(super) fn add(&self, th: &Thread) {
        let (watch, reading) = th.probed.get();
        let sample = PAGES.since(&reading, 0, 0);
        let ran_ns = watch.ran_ns(th.spun.get());
        self.begin(th);
        let new = [Some(ran_ns), sample.faults, sample.waited_ns];
        for (sum, new) in self.0.iter().zip(new) {
            sum.fetch_add(new.unwrap_or(0), Ordering::Relaxed);
        }
    }

    pub(super) fn seen(&self) -> Seen {
        let [ran_ns, faults, waited_ns] = [0, 1, 2].map(|i| self.0[i].load(Ordering::Relaxed));
        Seen {
            ran_ns,
            faults,
            waited_ns,
        }
    }
}

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

impl Seen {
    fn core_ns(self) -> f64 {
        self.ran_ns as f64 + self.waited_ns as f64
    }

    /// The fault period in microseconds; `None` without faults.
    pub(super) fn period_us(self) -> Option<f64> {
        (self.faults > 0).then(|| self.core_ns() / self.faults as f64 / 1e3)
    }

    /// The fault period at which `nodes` nodes, whose faults take as long, do together what one does that has all
    /// pages: each waits for a page, and the others compute as much as one could meanwhile.
    fn even_us(self, nodes: u32) -> f64 {
        let others = f64::from(nodes.max(2) - 1);
        let fault_us = self.waited_ns as f64 / self.faults.max(1) as f64 / 1e3;
        fault_us * (1.0 + 1.0 / others)
    }
}

impl Trial {
    /// The threshold for what was seen, in microseconds.
    pub(super) fn threshold_us(&self, seen: Seen, nodes: u32) -> f64 {
        match self.threshold {
            Threshold::Told(us) => us,
            Threshold::Calibrated(us) => us.max(seen.even_us(nodes)),
        }
    }

    /// Is it hopeless for the origin's `threads` threads to go on like this? The execution has taken `ns`. The paper's
    /// probe is how much has to run before faults say something.
    pub(super) fn is_hopeless(&self, ns: u64, seen: Seen, threads: u32, nodes: u32) -> bool {
        let threshold_us = self.threshold_us(seen, nodes);
        let gains_nothing = seen.period_us().is_some_and(|us| us <= threshold_us);
        let each_ns = seen.core_ns() / f64::from(threads.max(1));
        (gains_nothing && each_ns >= DEFAULT_FRACTION * self.home_ns)
            || ns as f64 > self.home_ns + self.spare_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ran_ns: u64, faults: u64, waited_ns: u64) -> Seen {
        Seen {
            ran_ns,
            faults,
            waited_ns,
        }
    }

    fn trial(threshold: Threshold) -> Trial {
        Trial {
            is_first: true,
            part: 1.0,
            home_ns: 1e6,
            spare_ns: 5e5,
            began: 0,
            threshold,
        }
    }

    #[test]
    fn a_trial_is_hopeless_that_only_waits_or_takes_too_long() {
        let trial = trial(Threshold::Calibrated(0.0));
        let hopeless = |ns, seen, nodes| trial.is_hopeless(ns, seen, 1, nodes);
        // Too early to say.
        assert!(!hopeless(90_000, seen(0, 9, 90_000), 2));
        assert!(hopeless(100_000, seen(50_000, 5, 50_000), 2));
        // Four nodes would do together twice what the origin does alone.
        assert!(!hopeless(100_000, seen(50_000, 5, 50_000), 4));
        assert!(hopeless(100_000, seen(25_000, 5, 75_000), 4));
        // The origin waits for nothing, and others are slow.
        assert!(!hopeless(1_500_000, seen(1_500_000, 0, 0), 2));
        assert!(hopeless(1_500_001, seen(1_500_001, 0, 0), 2));
        // Two threads: each has taken half.
        assert!(!trial.is_hopeless(0, seen(90_000, 9, 90_000), 2, 2));
        assert!(trial.is_hopeless(0, seen(100_000, 9, 100_000), 2, 2));
    }

    /// Other programs had the cores for nine tenths of the time.
    #[test]
    fn what_others_take_of_the_cores_hides_nothing() {
        let trial = trial(Threshold::Calibrated(0.0));
        assert!(trial.is_hopeless(1_000_000, seen(10_000, 20, 90_000), 1, 2));
    }

    #[test]
    fn the_user_and_the_calibration_know_thresholds() {
        // 30 us of core time a fault, 10 us of them waiting.
        let seen = seen(200_000, 10, 100_000);
        let hopeless = |threshold| trial(threshold).is_hopeless(0, seen, 1, 2);
        assert!(!hopeless(Threshold::Calibrated(0.0)));
        assert!(!hopeless(Threshold::Calibrated(29.0)));
        assert!(hopeless(Threshold::Calibrated(30.0)));
        assert!(hopeless(Threshold::Told(30.0)));
        let busy = super::Seen {
            waited_ns: 300_000,
            ..seen
        };
        assert!(trial(Threshold::Calibrated(1.0)).is_hopeless(0, busy, 1, 2));
        assert!(!trial(Threshold::Told(1.0)).is_hopeless(0, busy, 1, 2));
    }
}
