//! Watches a loop while it runs: do the numbers by which it was divided over the nodes still right?
//!
//! Pure: measurements of chunks go in, a verdict comes out. [`crate::irregular`] acts on the verdict.
//!
//! **Rates.** A split stays right as long as the nodes keep their proportions, even if iterations take longer
//! than expected. So a node compares each chunk with its expected time, and the nodes compare their factors
//! with each other: if everything gets slower alike, nothing happens. A chunk during which the thread lost
//! its core to another program looks a hundred times slower. Its weight is bounded, so that the bulk of the
//! chunks decides.

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

/// One node's watch since the last decision.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeWatch {
    expected_ns: Option<f64>,
    least_ns: u64,
    /// All chunks since the decision.
    total: NodeTotal,
    /// Of the running window: the number of chunks, and the sums of their log factors and times.
    chunks: u32,
    log_sum: f64,
    elapsed_ns: u64,
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

    /// Nanoseconds per iteration since the last decision; before the first chunk, the expected ones.
    #[must_use]
    pub(crate) fn ns_per_iteration(&self) -> Option<f64> {
        self.total
            .rate()
            .map(|r| r.ns_per_iteration)
            .or(self.expected_ns)
    }

    /// Adds a chunk. `expected_ns`: the nanoseconds per iteration expected of it; `None`: those expected of all
    /// chunks. If it completes a window: how many times slower than expected that was, as a geometric mean.
    #[inline]
    pub(crate) fn add(
        &mut self,
        m: &Measurement,
        expected_ns: Option<f64>,
        s: &Sensitivity,
    ) -> Option<f64> {
        if m.iterations == 0 {
            return None;
        }
        self.total.add(m);
        if let Some(expected) = expected_ns.or(self.expected_ns) {
            let factor = m.elapsed_ns.max(1) as f64 / m.iterations as f64 / expected;
            self.log_sum += factor.clamp(1.0 / BOUND, BOUND).ln();
        }
        self.chunks += 1;
        self.elapsed_ns += m.elapsed_ns;
        if self.chunks < s.chunks || self.elapsed_ns < self.least_ns {
            return None;
        }
        self.elapsed_ns = 0;
        let chunks = f64::from(core::mem::take(&mut self.chunks));
        let log_sum = core::mem::take(&mut self.log_sum);
        let expected = expected_ns.or(self.expected_ns);
        expected.map(|_| (log_sum / chunks).exp())
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

    fn chunk(ns: u64) -> Measurement {
        Measurement {
            elapsed_ns: ns * 100,
            iterations: 100,
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
        let full: Vec<f64> = (0..20)
            .filter_map(|_| w.add(&chunk(200), None, &s))
            .collect();
        assert_eq!(full.len(), 2);
        assert!((full[0] - 2.0).abs() < 1e-9);
        assert_eq!(w.ns_per_iteration(), Some(200.0));
    }

    /// A thread that loses its core for 4 ms is no change of the loop.
    #[test]
    fn a_lost_time_slice_is_no_change() {
        let (mut w, s) = watch(200.0);
        for i in 0..64 {
            let ns = if i % 16 == 7 { 40_000 } else { 200 };
            if let Some(full) = w.add(&chunk(ns), None, &s) {
                assert!(full < 1.2, "{full}");
            }
        }
    }

    #[test]
    fn only_proportions_count() {
        assert_eq!(spread([2.0, 2.0, 2.0].into_iter()), 1.0);
        assert_eq!(spread([1.0, 3.0].into_iter()), 3.0);
        assert_eq!(spread(core::iter::empty()), 1.0);
    }
}
