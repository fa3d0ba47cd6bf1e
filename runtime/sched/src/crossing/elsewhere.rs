//! Regions that run whole on another node: what is expected of that by what executions across nodes have shown.

use super::division::Part;
use super::region::Region;
use super::{is_home, Crossings, Extent, HOME_RUNS, MOVES};
use crate::limits::{SHORT_NS, SYSTEMATIC};
use crate::ways::Way;

impl Crossings {
    /// An execution of the region by `threads` threads across nodes took `ns`, and has shown this, by node, home first.
    /// Nothing is learned of nodes where one other than home did too little to tell.
    pub fn crossed(&mut self, region: usize, parts: &[Part], threads: u32, ns: f64) {
        let longest = parts.iter().map(Part::least_ns).fold(0.0, f64::max);
        self.overhead_ns = self.overhead_ns.min((ns - longest).max(SHORT_NS));
        let own = parts.first().and_then(|p| p.alone_ns(threads));
        let r = self.regions.entry(region).or_default();
        if let (0, 0, Some(_)) = (r.home_runs, r.runs, own) {
            // It was its first execution, of which the origin ran this part until it was `done`.
            let waited_ns = parts[0].waited_ns / f64::from(parts[0].threads.max(1));
            let done_ns = (parts[0].done_ns - waited_ns).max(1.0);
            (r.home_runs, r.home_ns) = (HOME_RUNS, done_ns / parts[0].work);
        }
        // Where other work takes a part of the processor's time, an execution at home takes longer than that time. It
        // would on other nodes, too.
        let scale = own.map_or(1.0, |ns| (r.home_ns / ns).max(1.0));
        let shown = |p: &Part| Some(p.alone_ns(threads)? * scale);
        if let Some(shown) = parts.iter().skip(1).map(shown).collect() {
            r.alone_ns = shown;
        }
        self.promises(region, parts);
    }

    /// Time steps so far: each runs each region about as often.
    pub(super) fn steps(&self) -> u32 {
        self.candidates().map(|r| r.home_runs).min().unwrap_or(0)
    }

    /// The node that promises most, or all together for regions that are on one, if moving there is expected to take no
    /// more than is left, or than it would have saved so far; and how a trial there is bounded.
    pub(super) fn best_node(&self, left_ns: f64) -> Option<(Way, Extent)> {
        let kept = self.place();
        // All of it, or the rest.
        let part = if is_home(kept) { 1.0 / MOVES } else { 1.0 };
        let moving_ns = part * self.moving_ns(|_| true, self.data.1);
        let is_away = |r: &Region| !is_home(kept) && !r.out;
        if self.candidates().any(|r| is_away(r) && r.recent_ns == 0.0) {
            return None;
        }
        let now_ns = |r: &Region| if is_away(r) { r.recent_ns } else { r.home_ns };
        // Node 0 stands for all together.
        let shown = |r: &Region, node: usize| {
            let all: f64 = r.alone_ns.iter().map(|ns| 1.0 / ns.max(1.0)).sum();
            let ns = match node {
                0 if r.across_ns > 0.0 => r.across_ns,
                0 if all > 0.0 => 1.0 / (all + 1.0 / r.home_ns.max(1.0)),
                _ => *r.alone_ns.get(node.checked_sub(1)?)?,
            };
            Some((ns, r.home_ns))
        };
        let promise = |node: usize| {
            let place = match node {
                0 => Way::Across,
                node => Way::Elsewhere(node),
            };
            // Regions that showed nothing are taken to be like the others.
            let (there, home) = (self.candidates().filter_map(|r| shown(r, node)))
                .fold((0.0, 0.0), |sum, r| (sum.0 + r.0, sum.1 + r.1));
            let like = if home > 0.0 { there / home } else { 1.0 };
            let waits_too = if is_home(kept) { 0.0 } else { self.serial_ns };
            let (mut now, mut away) = (waits_too, self.serial_ns);
            // Short regions go too.
            for r in self.regions.values().filter(|r| r.home_runs > 0) {
                let shown = shown(r, node).filter(|_| self.may_gain(r));
                now += if self.may_gain(r) {
                    now_ns(r)
                } else {
                    r.home_ns
                };
                away += shown.map_or(like * r.home_ns, |(ns, _)| ns) + self.overhead_ns;
            }
            let gain = (now.max(1.0) / away.max(1.0)).ln();
            let saved_ns = f64::from(self.steps()) * (now - away);
            let extent = match moving_ns <= left_ns {
                true => Extent::All,
                false => Extent::Promised(saved_ns),
            };
            // What is overdrawn must be saved, too.
            let may_lose_ns = left_ns.max(saved_ns + left_ns.min(0.0));
            let may_move = 0.0 < may_lose_ns && moving_ns <= may_lose_ns;
            let allowed = place != kept && may_move && self.may_try(place, may_lose_ns);
            (allowed && gain > SYSTEMATIC).then_some((gain, (place, extent)))
        };
        let best = (usize::from(is_home(kept))..self.nodes)
            .filter_map(promise)
            .max_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(_, best)| best)
    }
}
