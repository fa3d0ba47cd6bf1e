//! Regions that run whole on another node: what is expected of that by what executions across nodes have shown.

use super::division::Part;
use super::region::Region;
use super::{is_home, Crossings};
use crate::limits::{SHORT_NS, SYSTEMATIC};
use crate::ways::Way;

impl Crossings {
    /// An execution of the region by `threads` threads across nodes took `ns`, and has shown this, by node, home first.
    /// Nothing is learned of nodes where one other than home did too little to tell.
    pub fn crossed(&mut self, region: usize, parts: &[Part], threads: u32, ns: f64) {
        let longest = parts.iter().map(Part::least_ns).fold(0.0, f64::max);
        self.overhead_ns = self.overhead_ns.min((ns - longest).max(SHORT_NS));
        // Where other work takes a part of the processor's time, an execution at home takes longer than that time. It
        // would on other nodes, too.
        let own = parts.first().and_then(|p| p.alone_ns(threads));
        let home = self.times(region).0 as f64;
        let scale = own.map_or(1.0, |ns| (home / ns).max(1.0));
        let shown = |p: &Part| Some(p.alone_ns(threads)? * scale);
        if let Some(shown) = parts.iter().skip(1).map(shown).collect() {
            self.regions.entry(region).or_default().alone_ns = shown;
        }
        self.promises(region, parts);
    }

    /// The node that promises most, if moving there is expected to take no more than is left.
    pub(super) fn best_node(&self, left_ns: f64) -> Option<Way> {
        if self.moving_ns(|_| true) > left_ns {
            return None;
        }
        let kept = self.place();
        let is_away = |r: &Region| !is_home(kept) && !r.out;
        if self.candidates().any(|r| is_away(r) && r.recent_ns == 0.0) {
            return None;
        }
        let now_ns = |r: &Region| if is_away(r) { r.recent_ns } else { r.home_ns };
        let now: f64 = self.candidates().map(now_ns).sum();
        // Regions that showed nothing are taken to be like the others.
        let like = |node: usize| {
            let shown = |r: &Region| Some((*r.alone_ns.get(node - 1)?, r.home_ns));
            let sums = (self.candidates().filter_map(shown))
                .fold((0.0, 0.0), |sum, r| (sum.0 + r.0, sum.1 + r.1));
            if sums.1 > 0.0 {
                sums.0 / sums.1
            } else {
                1.0
            }
        };
        let promise = |node: usize| {
            let place = Way::Elsewhere(node);
            let like = like(node);
            let (mut now, mut away) = (now, 0.0);
            for r in self.candidates() {
                let ns = r.alone_ns.get(node - 1).map(|ns| ns + self.overhead_ns);
                away += ns.unwrap_or(like * r.home_ns);
            }
            // Short regions go too.
            for r in self.regions.values().filter(|r| r.home_runs > 0) {
                if !self.may_gain(r) {
                    now += r.home_ns;
                    away += like * r.home_ns + self.overhead_ns;
                }
            }
            let gain = (now.max(1.0) / away.max(1.0)).ln();
            let allowed = place != kept && self.may_try(place, left_ns);
            (allowed && gain > SYSTEMATIC).then_some((gain, place))
        };
        let promising = (1..self.nodes).filter_map(promise);
        let best = promising.max_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(_, place)| place)
    }
}
