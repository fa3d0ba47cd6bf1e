//! Watches a loop while it runs: do the numbers by which it was divided over the nodes still hold?
//!
//! Pure: measurements of chunks go in, a verdict comes out. [`crate::irregular`] acts on the verdict.
//!
//! **Rates.** A split stays right as long as the nodes keep their proportions, even if iterations take longer
//! than expected. So a node compares each chunk with its expected time, and the nodes compare their factors
//! with each other: if everything gets slower alike, nothing happens. A chunk during which the thread lost
//! its core to another program looks a hundred times slower. Its weight is bounded, so that the bulk of the
//! chunks decides.
//!
//! **Faults.** Where nodes are coupled by page traffic, the fault period (core
//! time per remote fault) is watched in both directions, with a gap between
//! the thresholds so that a loop at the edge does not swing.

use crate::limits::ALIKE;
use crate::probe::{Measurement, NodeTotal};

/// The settings of the detectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// The nodes' factors may differ from each other by this factor.
    pub spread: f64,
    /// Least number of chunks in a window.
    pub chunks: u32,
    /// Least core time in a window, in nanoseconds.
    pub window_ns: u64,
    /// This many windows of a node in a row must say the same.
    pub windows: u32,
}

impl Default for Sensitivity {
    fn default() -> Self {
        Sensitivity {
            spread: 1.5,
            chunks: 8,
            window_ns: 200_000,
            windows: 2,
        }
    }
}

/// A chunk counts as at most this many times faster or slower than expected.
const BOUND: f64 = 4.0;
/// Least number of faults in a window for its fault period to mean something.
const FEW_FAULTS: u64 = 8;
/// Several nodes pay again above this multiple of the threshold.
const EXPAND: f64 = 2.0;

/// What a window says about faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Faults {
    /// Nothing has changed, or too little was seen.
    AsBefore,
    /// Faults come so often that several nodes do not pay; or a node that runs alone has many.
    TooMany,
    /// Faults have become rare enough for several nodes.
    Few,
}

/// A finished window of one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Window {
    /// How many times slower than expected the node's chunks were, as a geometric mean; `None` where nothing
    /// was expected.
    pub(crate) factor: Option<f64>,
    /// Core time per remote fault in microseconds; infinite without faults,
    /// `None` where faults are not counted.
    pub(crate) fault_period_us: Option<f64>,
    faults: u64,
}

impl Window {
    /// Compares with the threshold of the link, in microseconds. `alone`: one node runs the loop because of
    /// its faults.
    #[must_use]
    pub(crate) fn faults(&self, threshold_us: f64, alone: bool) -> Faults {
        match self.fault_period_us {
            Some(p) if alone && p > threshold_us * EXPAND => Faults::Few,
            Some(p) if self.faults >= FEW_FAULTS && p * ALIKE <= threshold_us => Faults::TooMany,
            _ => Faults::AsBefore,
        }
    }
}

/// One node's watch since the last decision.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeWatch {
    expected_ns: Option<f64>,
    least_ns: u64,
    /// All chunks since the decision.
    total: NodeTotal,
    /// Of the running window: the number of chunks, the sum of their log factors, and their sum.
    chunks: u32,
    log_sum: f64,
    sum: Measurement,
}

impl NodeWatch {
    /// Starts over after a decision that expects `expected_ns` nanoseconds per
    /// iteration and core of a node with `threads` threads.
    pub(crate) fn restart(&mut self, expected_ns: Option<f64>, threads: u32, s: &Sensitivity) {
        *self = NodeWatch {
            expected_ns: expected_ns.filter(|&e| e > 0.0),
            least_ns: s.window_ns.saturating_mul(u64::from(threads.max(1))),
            ..NodeWatch::default()
        };
    }

    /// Sum of all measurements since the last decision.
    #[must_use]
    pub(crate) fn total(&self) -> &NodeTotal {
        &self.total
    }

    /// Nanoseconds per iteration since the last decision; before the first chunk, the expected ones.
    #[must_use]
    pub(crate) fn ns_per_iteration(&self) -> Option<f64> {
        self.total
            .rate()
            .map(|r| r.ns_per_iteration)
            .or(self.expected_ns)
    }

    /// Adds a chunk. `expected_ns`: the nanoseconds per iteration expected of it; `None`: those expected of
    /// all chunks. Returns the window that this chunk completes, if it does.
    #[inline]
    pub(crate) fn add(
        &mut self,
        m: &Measurement,
        expected_ns: Option<f64>,
        s: &Sensitivity,
    ) -> Option<Window> {
        if m.iterations == 0 {
            return None;
        }
        self.total.add(m);
        if let Some(expected) = expected_ns.or(self.expected_ns) {
            let factor = m.elapsed_ns.max(1) as f64 / m.iterations as f64 / expected;
            self.log_sum += factor.clamp(1.0 / BOUND, BOUND).ln();
        }
        self.chunks += 1;
        self.sum.merge(m);
        if self.chunks < s.chunks || self.sum.elapsed_ns < self.least_ns {
            return None;
        }
        let sum = core::mem::take(&mut self.sum);
        let chunks = f64::from(core::mem::take(&mut self.chunks));
        let log_sum = core::mem::take(&mut self.log_sum);
        Some(Window {
            factor: expected_ns
                .or(self.expected_ns)
                .map(|_| (log_sum / chunks).exp()),
            // Infinite without faults.
            fault_period_us: (sum.faults).map(|f| sum.elapsed_ns as f64 / 1000.0 / f as f64),
            faults: sum.faults.unwrap_or(0),
        })
    }
}

/// The largest of the nodes' factors over the smallest; 1 without factors.
pub(crate) fn spread(factors: impl Iterator<Item = f64>) -> f64 {
    let (low, high) = factors.fold((f64::INFINITY, 0.0f64), |(l, h), f| (l.min(f), h.max(f)));
    if high > 0.0 && low.is_finite() {
        high / low
    } else {
        1.0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn chunk(ns: u64, faults: Option<u64>) -> Measurement {
        Measurement {
            elapsed_ns: ns * 100,
            iterations: 100,
            faults,
            ..Measurement::default()
        }
    }

    fn watch(expected: f64) -> (NodeWatch, Sensitivity) {
        let s = Sensitivity::default();
        let mut w = NodeWatch::default();
        w.restart(Some(expected), 1, &s);
        (w, s)
    }

    /// Chunks of 100 iterations at 200 ns each: ten to a window's time.
    #[test]
    fn windows() {
        let (mut w, s) = watch(100.0);
        let full: Vec<Window> = (0..20)
            .filter_map(|_| w.add(&chunk(200, None), None, &s))
            .collect();
        assert_eq!(full.len(), 2);
        assert!((full[0].factor.unwrap() - 2.0).abs() < 1e-9);
        assert_eq!(full[0].fault_period_us, None);
        assert_eq!(full[0].faults(100.0, true), Faults::AsBefore);
        assert_eq!(w.ns_per_iteration(), Some(200.0));
    }

    /// A thread that loses its core for 4 ms is no change of the loop.
    #[test]
    fn a_lost_time_slice_is_no_change() {
        let (mut w, s) = watch(200.0);
        for i in 0..64 {
            let ns = if i % 16 == 7 { 40_000 } else { 200 };
            if let Some(full) = w.add(&chunk(ns, None), None, &s) {
                assert!(full.factor.unwrap() < 1.2, "{full:?}");
            }
        }
    }

    #[test]
    fn only_proportions_count() {
        assert_eq!(spread([2.0, 2.0, 2.0].into_iter()), 1.0);
        assert_eq!(spread([1.0, 3.0].into_iter()), 3.0);
        assert_eq!(spread(core::iter::empty()), 1.0);
    }

    /// 100 iterations of 2 us between `faults` faults, against a threshold of
    /// 100 us.
    #[test]
    fn fault_periods() {
        let window = |faults| {
            let (mut w, s) = watch(2000.0);
            (0..16)
                .find_map(|_| w.add(&chunk(2000, faults), None, &s))
                .unwrap()
        };
        let of = |faults, alone| window(faults).faults(100.0, alone);
        assert_eq!(of(Some(1), false), Faults::AsBefore, "200 us");
        assert_eq!(of(Some(4), false), Faults::TooMany, "50 us");
        assert_eq!(of(Some(2), true), Faults::AsBefore, "100 us");
        assert_eq!(of(Some(4), true), Faults::TooMany, "50 us");
        assert_eq!(of(Some(0), true), Faults::Few);
        assert_eq!(of(Some(0), false), Faults::AsBefore);
        assert_eq!(of(None, true), Faults::AsBefore, "not counted");
    }
}
