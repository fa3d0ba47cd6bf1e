//! Regions that run whole on another node: what is expected of that by what executions across nodes have shown.

use super::division::Part;
use super::place::Place;
use super::region::{Region, Shown};
use super::{Crossings, LOSES};

/// A place is tried if it is expected to save more than moving there costs, should the program run this many times as
/// long again as it has run.
const PAYS: f64 = 2.0;
/// A place must be expected to save this part of the time at home to be tried.
const HOPE: f64 = 0.15;

impl Crossings {
    /// An execution of the region across nodes has shown this about the nodes other than home, in order.
    pub(super) fn probed(&mut self, region: usize, shown: &[Shown]) {
        self.regions.entry(region).or_default().probed(shown);
    }

    /// An execution of the region by `threads` threads across nodes has shown this, by node, home first. Nothing is
    /// learned where a node other than home did too little to tell.
    pub fn crossed(&mut self, region: usize, parts: &[Part], threads: u32) {
        // Where other work takes a part of the processor's time, an execution at home takes longer than that time. It
        // would on other nodes, too.
        let own = parts.first().and_then(|p| p.alone_ns(threads));
        let home = self.times(region).0 as f64;
        let scale = own.map_or(1.0, |(_, ns)| (home / ns).max(1.0));
        let shown = |p: &Part| {
            let (with_faults_ns, clean_ns) = p.alone_ns(threads)?;
            Some(Shown {
                with_faults_ns: with_faults_ns * scale,
                clean_ns: clean_ns * scale,
            })
        };
        let shown: Option<Vec<Shown>> = parts.iter().skip(1).map(shown).collect();
        if let Some(shown) = shown.filter(|s| !s.is_empty()) {
            self.probed(region, &shown);
        }
    }

    /// The node that is expected to save most in as much time again as was spent so far, with the cost of moving
    /// there.
    pub(super) fn best_trial(&self, left_ns: f64) -> Option<(Place, f64)> {
        let kept = self.kept();
        let now_ns = |r: &Region| match r.recent_runs {
            0 => r.home_ns,
            _ if r.out || kept == Place::Home => r.home_ns,
            _ => r.recent_ns,
        };
        if kept != Place::Home && self.candidates().any(|r| !r.out && r.recent_runs < 2) {
            return None;
        }
        let now: f64 = self.candidates().map(now_ns).sum();
        // Regions that showed nothing are taken to be like the others.
        let clean = |i: usize| {
            let (some, home) = (self.candidates())
                .filter(|r| r.probes > 0)
                .fold((0.0, 0.0), |(c, h), r| {
                    (c + r.last[i - 1].clean_ns, h + r.home_ns)
                });
            if home > 0.0 {
                some / home
            } else {
                1.0
            }
        };
        let judge = |node: usize| {
            let place = Place::Node(node);
            if place == kept {
                return None;
            }
            let (mut away, mut moving) = (0.0, 0.0);
            let like = clean(node);
            for r in self.candidates() {
                let ns = r.alone_ns(node, self.overhead_ns);
                away += ns.map_or(like * r.home_ns, |ns| ns.min(LOSES * r.home_ns));
                moving += r.moved_ns(node);
            }
            let mut now = now;
            // Short regions go too.
            for r in self.regions.values().filter(|r| r.home_runs > 0) {
                if !self.may_gain(r) {
                    now += r.home_ns;
                    away += like * r.home_ns + self.overhead_ns;
                }
            }
            let tried = self.tried[node];
            let gain = 1.0 - away / now.max(1.0);
            let allowed = tried.failures == 0
                || (self.spent_ns >= tried.again_ns && 2.0 * tried.loss_ns <= left_ns);
            let worth = PAYS * gain * self.spent_ns - moving;
            (allowed && gain > HOPE && worth > 0.0).then_some((worth, place, moving))
        };
        (1..self.nodes)
            .filter_map(judge)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, place, moving)| (place, moving))
    }
}
