//! What is known of one region: its time at home, in the current trial, while it is kept, and what executions across
//! nodes have shown.

use super::change::weight;
use super::HOME_RUNS;
use crate::gain::{Band, Estimate, Ratio};
use crate::limits::UNUSUAL;

/// Times in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Region {
    /// Executions at home, since the time there was last forgotten.
    pub(super) home_runs: u32,
    /// Average time at home, without waiting for pages that crossing regions had moved.
    pub(super) home_ns: f64,
    /// Executions away from home, since it left.
    pub(super) runs: u32,
    /// The times after those that moved pages, to those of before.
    pub(super) ratio: Ratio,
    /// The executions there after the first one that move its pages, too.
    pub(super) more: u32,
    /// How long these and the first one took together.
    pub(super) cold_ns: f64,
    /// The average of the others, of recent ones; 0 before the first one.
    pub(super) recent_ns: f64,
    /// Is that still what is usual?
    pub(super) band: Band,
    /// Takes no part in the current trial, or surely lost in it or after it.
    pub(super) out: bool,
    /// Was out before the current trial.
    pub(super) was_out: bool,
    /// Average time before the current trial, where the region ran then.
    pub(super) before_ns: f64,
    /// How often it was measured at home anew while it was kept away.
    pub(super) looks: u32,
    /// While that lasts, until its pages are back: what it took away from home; else 0.
    pub(super) away_ns: f64,
    /// Was in a trial of all its work.
    pub(super) tried: bool,
    /// What it took across nodes at the end of the last trial of that; 0: there was none.
    pub(super) across_ns: f64,
    /// What it takes across nodes, as a trial of a part of its work has shown.
    pub(super) promised_ns: Option<f64>,
    /// What moving its pages takes, as that trial has shown.
    pub(super) moved_ns: Option<f64>,
    /// What the whole region takes on each other node alone if all its pages are there, as the last execution across
    /// showed; empty before the first one that showed it.
    pub(super) alone_ns: Vec<f64>,
}

impl Region {
    /// What its executions away from home have shown is about other work, or another place.
    pub(super) fn leaves(&mut self) {
        (self.runs, self.cold_ns, self.recent_ns) = (0, 0.0, 0.0);
        (self.ratio, self.band) = (Ratio::NONE, Band::NONE);
    }

    /// What it takes at home is to be measured anew.
    pub(super) fn look_back(&mut self) {
        self.looks += 1;
        self.away_ns = self.recent_ns;
        self.home_runs = 0;
        self.leaves();
    }

    /// What an execution that took `ns` has lost by looking back; `None` if it does not.
    pub(super) fn look_ns(&self, ns: f64) -> Option<f64> {
        (self.away_ns > 0.0).then(|| (ns - self.away_ns).max(0.0))
    }

    /// An execution away from home took `ns`.
    pub(super) fn away(&mut self, ns: f64) {
        self.runs = self.runs.saturating_add(1);
        if self.has_moved() {
            self.recent_ns += weight(self.runs - self.moving()) * (ns - self.recent_ns);
        } else {
            self.cold_ns += ns;
        }
    }

    /// The first executions away from home, which move its pages.
    pub(super) fn moving(&self) -> u32 {
        1 + self.more
    }

    /// Since it left: are its pages where it runs?
    pub(super) fn has_moved(&self) -> bool {
        self.runs > self.moving()
    }

    /// How much less time it surely takes away from home than before, as a logarithm; 0: that is not sure.
    fn surely(&self) -> f64 {
        let sure = self.ratio.estimate().filter(Estimate::is_clear);
        sure.map_or(0.0, |e| e.mean)
    }

    pub(super) fn loses(&self) -> bool {
        self.surely() < 0.0
    }

    pub(super) fn gains(&self) -> bool {
        self.surely() > 0.0
    }

    pub(super) fn at_home(&mut self, ns: f64) {
        self.home_runs = self.home_runs.saturating_add(1);
        if self.home_runs > HOME_RUNS {
            self.away_ns = 0.0;
        }
        self.home_ns = match self.home_runs {
            1 => ns,
            // The first execution may have been slower for reasons that do not come back.
            2 => ns.min(self.home_ns),
            n => {
                // It may have lost its core meanwhile.
                let ns = ns.min(self.home_ns * UNUSUAL);
                self.home_ns + weight(n - 1) * (ns - self.home_ns)
            }
        };
    }
}
