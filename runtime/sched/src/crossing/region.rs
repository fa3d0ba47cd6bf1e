//! What is known of one region: its time at home, in the current trial, while it is kept, and what executions across
//! nodes have shown.

use crate::gain::{Band, Ratio};
use crate::limits::MEMORY;

/// Of what a first execution across nodes waited for pages, at least this part was for pages that had to move once.
const LEAST: f64 = 0.25;

/// What an execution across nodes has shown about one node other than home, as times of the whole region on that node
/// alone, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shown {
    /// With all the waiting for pages.
    pub(super) with_faults_ns: f64,
    /// Without that waiting: as if all pages were on the node.
    pub(super) clean_ns: f64,
}

/// Times in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    /// Executions at home, since the time there was last forgotten.
    pub(super) home_runs: u64,
    /// Average time at home, without waiting for pages that crossing regions had moved.
    pub(super) home_ns: f64,
    /// Executions away from home, since it left.
    pub(super) runs: u32,
    /// The times without the first execution there, to those of before.
    pub(super) ratio: Ratio,
    /// Their average, of recent ones; 0 before the first one.
    pub(super) recent_ns: f64,
    /// Is that still what is usual?
    pub(super) band: Band,
    /// Takes no part in the current trial, or surely lost in it or after it.
    pub(super) out: bool,
    /// Was out before the current trial.
    pub(super) was_out: bool,
    /// Average time before the current trial, where the region ran then.
    pub(super) before_ns: f64,
    /// Was in a trial.
    pub(super) tried: bool,
    /// Executions that have shown something of other nodes, and what the first and the last one showed, by node without
    /// home.
    pub(super) probes: u32,
    pub(super) first: Vec<Shown>,
    pub(super) last: Vec<Shown>,
}

impl Region {
    /// What its executions away from home have shown is about other work, or another place.
    pub(super) fn leaves(&mut self) {
        (self.runs, self.recent_ns) = (0, 0.0);
        (self.ratio, self.band) = (Ratio::NONE, Band::NONE);
    }

    /// An execution away from home took `ns`.
    pub(super) fn away(&mut self, ns: f64) {
        self.runs += 1;
        if self.runs > 1 {
            let weight = (1.0 / f64::from(self.runs - 1)).max(1.0 - MEMORY);
            self.recent_ns += weight * (ns - self.recent_ns);
        }
    }

    /// Does it surely take longer away from home than before?
    pub(super) fn loses(&self) -> bool {
        let estimate = self.ratio.estimate();
        estimate.is_some_and(|e| e.is_clear() && e.mean < 0.0)
    }

    /// Does it surely take less time?
    pub(super) fn gains(&self) -> bool {
        let estimate = self.ratio.estimate();
        estimate.is_some_and(|e| e.is_clear() && e.mean > 0.0)
    }

    pub(super) fn at_home(&mut self, ns: f64) {
        self.home_runs += 1;
        self.home_ns = match self.home_runs {
            1 => ns,
            // The first execution may have been slower for reasons that do not come back.
            2 => ns.min(self.home_ns),
            n => {
                let weight = (1.0 / (n - 1) as f64).max(1.0 - MEMORY);
                self.home_ns + weight * (ns - self.home_ns)
            }
        };
    }

    pub(super) fn probed(&mut self, shown: &[Shown]) {
        self.probes += 1;
        if self.probes == 1 {
            self.first = shown.to_vec();
        }
        self.last = shown.to_vec();
    }

    /// Expected time on node `node` alone, with its pages there.
    pub(super) fn alone_ns(&self, node: usize, overhead_ns: f64) -> Option<f64> {
        (self.last.get(node - 1)).map(|s| s.clean_ns + overhead_ns)
    }

    /// What moving the region's pages to node `node` once is expected to cost: what the first execution across waited
    /// longer than the last, at the scale of the whole region, and at least a [`LEAST`] part of what it waited.
    pub(super) fn moved_ns(&self, node: usize) -> f64 {
        match (self.first.get(node - 1), self.last.get(node - 1)) {
            (Some(f), Some(l)) => {
                let waited = |s: &Shown| (s.with_faults_ns - s.clean_ns).max(0.0);
                (waited(f) - waited(l)).max(LEAST * waited(f))
            }
            _ => 0.0,
        }
    }
}
