//! What is known of one region: its time at home, in the current trial, while it is kept, and what a probe has shown.

/// Of what a first execution across nodes waited for pages, at least this part was for pages that had to move once.
const LEAST: f64 = 0.25;
/// Least weight of a new time in an average.
pub(super) const WEIGHT: f64 = 1.0 / 16.0;

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
    /// In the current or last trial: executions away from home, and the sum of their times without the first.
    pub(super) trial_runs: u32,
    pub(super) steady_ns: f64,
    /// Average time of recent kept executions; 0 before the first one.
    pub(super) recent_ns: f64,
    pub(super) recent_runs: u32,
    /// `recent_ns` after a few executions: a much later time that differs tells that the work has changed.
    pub(super) usual_ns: f64,
    /// Takes no part in the current trial, or lost much in it or after it.
    pub(super) out: bool,
    /// Was out before the current trial.
    pub(super) was_out: bool,
    /// Average time before the current trial, where the region ran then.
    pub(super) before_ns: f64,
    /// Was in a trial.
    pub(super) tried: bool,
    /// Time spent in executions at home.
    pub(super) spent_ns: f64,
    /// Executions that have shown something of other nodes, and what the first and the last one showed, by node without
    /// home.
    pub(super) probes: u32,
    pub(super) first: Vec<Shown>,
    pub(super) last: Vec<Shown>,
}

impl Region {
    /// Steady time away from home in the trial, if there was a steady execution.
    pub(super) fn steady(&self) -> Option<f64> {
        (self.trial_runs > 1).then(|| self.steady_ns / f64::from(self.trial_runs - 1))
    }

    pub(super) fn at_home(&mut self, ns: f64) {
        self.home_runs += 1;
        self.home_ns = match self.home_runs {
            1 => ns,
            // The first execution may have been slower for reasons that do not come back.
            2 => ns.min(self.home_ns),
            n => {
                let weight = (1.0 / (n - 1) as f64).max(WEIGHT);
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
