//! When a plan is no longer right: the nodes' times have moved against each other.

use super::Known;
use crate::limits::SLICE_NS;
use crate::record::LoopRecord;

/// Settled executions drift if the nodes' times per iteration have moved
/// against each other by more than this factor over [`DRIFT_NS`].
pub(super) const DRIFT: f64 = 1.5;
/// Nanoseconds of execution that are judged together: some time slices of the system. A single slice lost to
/// another program then makes no drift.
const DRIFT_NS: u64 = 8 * SLICE_NS;

/// Sums over settled executions that have not been judged yet.
#[derive(Clone, Debug, Default)]
pub(super) struct DriftWatch {
    /// Nanoseconds per iteration by node, as known when the summing began.
    expected: Vec<Option<f64>>,
    /// Sums of busy nanoseconds and iterations, by node.
    sums: Vec<(u64, u64)>,
    elapsed_ns: u64,
}

impl DriftWatch {
    /// Adds an execution. Once [`DRIFT_NS`] have been added: how far the nodes have moved against each other,
    /// as a factor of at least 1.
    pub(super) fn add(&mut self, record: &LoopRecord, known: &Known) -> Option<f64> {
        if self.elapsed_ns == 0 {
            self.expected.clear();
            let alone = record.is_confined();
            self.expected
                .extend(known.rates.iter().enumerate().map(|(i, r)| {
                    if alone {
                        // `alone_ns` is elapsed time; one thread's busy time per iteration is that times the
                        // node's threads.
                        known.alone_ns[i].map(|ns| ns * f64::from(record.nodes[i].threads))
                    } else {
                        r.map(|r| r.ns_per_iteration)
                    }
                }));
            self.sums.clear();
            self.sums.resize(record.nodes.len(), (0, 0));
        }
        for (sum, node) in self.sums.iter_mut().zip(&*record.nodes) {
            if node.busy_ns > 0 {
                sum.0 = sum.0.saturating_add(node.busy_ns);
                sum.1 = sum.1.saturating_add(node.iterations);
            }
        }
        self.elapsed_ns = self.elapsed_ns.saturating_add(record.elapsed_ns);
        if self.elapsed_ns < DRIFT_NS {
            return None;
        }
        self.elapsed_ns = 0;
        Some(moved(self.expected.iter().zip(&self.sums).filter_map(
            |(expected, &(ns, iterations))| {
                let now = ns as f64 / iterations as f64;
                Some(now / (*expected)?).filter(|f| f.is_finite() && *f > 0.0)
            },
        )))
    }
}

/// How far nodes have moved against each other, where each of `factors` says how many times slower a node has
/// become. If all have become slower alike, their shares are still right, and the answer is 1. A single node
/// is compared with its own past.
pub(super) fn moved(factors: impl Iterator<Item = f64>) -> f64 {
    let (mut count, mut low, mut high) = (0, f64::INFINITY, 0.0f64);
    for f in factors {
        count += 1;
        low = low.min(f);
        high = high.max(f);
    }
    match count {
        0 => 1.0,
        1 => factor(high, 1.0),
        _ => high / low,
    }
}

/// How far apart two times are, as a factor of at least 1.
pub(super) fn factor(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}
