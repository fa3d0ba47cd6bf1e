//! What is known of one region: its time at home, in the current trial, while it is kept, and what a probe has shown.

/// Least weight of a new time in an average.
pub(super) const WEIGHT: f64 = 1.0 / 16.0;

/// What a probe has shown about one node other than home, as times of the whole region on that node alone, in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in super::super) struct Shown {
    /// With all the waiting for pages that the probe saw.
    pub(in super::super) with_faults_ns: f64,
    /// Without that waiting: as if all pages were on the node.
    pub(in super::super) clean_ns: f64,
}

impl Shown {
    /// The node ran no part of the region: it is expected to gain nothing there.
    pub(in super::super) const NOTHING: Shown = Shown {
        with_faults_ns: f64::INFINITY,
        clean_ns: f64::INFINITY,
    };
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
    /// Probes so far, and what the first and the last one showed, by node without home.
    pub(super) probes: u32,
    pub(super) first: Vec<Shown>,
    pub(super) last: Vec<Shown>,
    /// The time of the parts that home ran in the last probe, as a time of the whole region at home.
    pub(super) beside_ns: f64,
    /// What the first probe lost, and what home had waited for pages of other nodes when it was over.
    pub(super) probe_lost_ns: f64,
    pub(super) fetched_before_ns: f64,
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

    /// A probe is over.
    pub(super) fn probed(&mut self, shown: &[Shown], beside_ns: f64) {
        self.probes += 1;
        if self.probes == 1 {
            self.first = shown.to_vec();
        }
        self.last = shown.to_vec();
        self.beside_ns = beside_ns;
    }

    /// Expected time across all nodes, each with the waiting for pages that the last probe saw there. `None`
    /// before the first probe.
    pub(super) fn across_ns(&self, overhead_ns: f64) -> Option<f64> {
        let rates: f64 = self
            .last
            .iter()
            .map(|s| s.with_faults_ns.max(1.0).recip())
            .sum();
        let home = self.beside_ns.max(self.home_ns).max(1.0);
        (self.probes > 0).then(|| 1.0 / (home.recip() + rates) + overhead_ns)
    }

    /// Could leaving home save a `part` of the region's time, if it never waited for pages that have moved? `true`
    /// before the first probe.
    pub(super) fn hopeful(&self, part: f64, overhead_ns: f64) -> bool {
        if self.probes == 0 {
            return true;
        }
        let rate = |ns: f64| ns.max(1.0).recip();
        let all: f64 = self.last.iter().map(|s| rate(s.clean_ns)).sum();
        let across = (rate(self.home_ns) + all).recip();
        across + overhead_ns < (1.0 - part) * self.home_ns
    }

    /// Expected time on node `node` alone, with its pages there.
    pub(super) fn alone_ns(&self, node: usize, overhead_ns: f64) -> Option<f64> {
        (self.last.get(node - 1)).map(|s| s.clean_ns + overhead_ns)
    }

    /// What moving the region's pages to node `node` once is expected to cost: what the first probe waited longer
    /// than the last one, at the scale of the whole region.
    pub(super) fn moving_ns(&self, node: usize) -> f64 {
        match (self.first.get(node - 1), self.last.get(node - 1)) {
            (Some(f), Some(l)) => {
                let waited = |s: &Shown| (s.with_faults_ns - s.clean_ns).max(0.0);
                waited(f).max(waited(l))
            }
            _ => 0.0,
        }
    }
}
