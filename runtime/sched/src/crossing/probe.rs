//! Trials of a part of the work, where a trial of all of it would move more data than may be lost.
//!
//! Other nodes get so small a part of each region that the pages for it may move. The first executions move them. The
//! last one shows how fast nodes are, and how long they wait for pages that go to and fro. From that follows what the
//! region would take across in equal parts: what it *promises*. Then all regions return, and run at home until crossing
//! would have saved as much, as promised, as moving all data takes. So a program that ends at the worst moment has
//! lost by moving what it would have saved.

use super::division::Part;
use super::region::Region;
use super::{Crossings, Extent, Phase, MOVES};
use crate::limits::{NEGLIGIBLE, STRAYS};

impl Crossings {
    /// In a trial of a part of the work: the part that other nodes get together.
    pub fn part(&self) -> Option<f64> {
        match self.phase {
            Phase::Trial {
                extent: Extent::Part(part),
                ..
            } => Some(part),
            _ => None,
        }
    }

    /// The region cannot be divided in such parts: it stays at home while others are tried.
    pub fn is_whole(&mut self, region: usize) {
        self.regions.entry(region).or_default().out = true;
        if self.candidates().all(|r| r.out) {
            self.end_probe();
        }
    }

    /// A region is about to run: a trial of a part ends that has not met its regions again for long.
    pub(super) fn give_up_probe(&mut self) {
        if self.part().is_some() && self.spent_ns > f64::from(STRAYS) * self.probe_again_ns {
            self.end_probe();
        }
    }

    /// The part of the work for which pages may move, there and back, if that is enough to tell something.
    pub(super) fn affordable(&self, of: impl Fn(&Region) -> bool, left_ns: f64) -> Option<f64> {
        let part = MOVES * left_ns / (2.0 * self.moving_ns(of, self.data.2));
        let part = part.min(MOVES);
        (self.spent_ns >= self.probe_again_ns && part >= NEGLIGIBLE).then_some(part)
    }

    /// What crossing would have saved so far, as promised.
    pub(super) fn promised_ns(&self) -> f64 {
        let saved = |r: &Region| Some(f64::from(r.home_runs) * (r.home_ns - r.promised_ns?));
        let saved_ns: f64 = self.candidates().filter_map(saved).sum();
        saved_ns - f64::from(self.steps()) * MOVES * self.serial_ns
    }

    /// An execution of the region with a part of its work on other nodes showed this, by node.
    pub(super) fn promises(&mut self, region: usize, parts: &[Part]) {
        let (Some(part), Some(r)) = (self.part(), self.regions.get_mut(&region)) else {
            return;
        };
        let nodes = parts.len() as f64;
        // All wait for the same traffic, which grows with what other nodes do.
        let waited = |p: &Part| p.waited_ns / f64::from(p.threads.min(p.cores).max(1));
        let longest = parts.iter().map(waited).fold(0.0, f64::max);
        let waiting_ns = longest * (nodes - 1.0) / nodes / part;
        let rates: f64 = match r.alone_ns.len() + 1 == parts.len() {
            true => r.alone_ns.iter().map(|ns| 1.0 / ns.max(1.0)).sum(),
            // Parts too short to tell: like home.
            false => (nodes - 1.0) / r.home_ns.max(1.0),
        };
        let together_ns = 1.0 / (rates + 1.0 / r.home_ns.max(1.0));
        r.promised_ns = Some(together_ns + waiting_ns + self.overhead_ns);
    }

    /// Have all regions that the trial of a part has met shown what they promise?
    pub(super) fn has_probed(&self) -> bool {
        let mut met = self.regions.values().filter(|r| r.runs > 0);
        met.all(Region::has_moved)
    }

    /// The trial of a part is over: the regions return.
    pub(super) fn end_probe(&mut self) {
        if let (Phase::Trial { from, .. }, Some(part)) = (self.phase, self.part()) {
            self.learn_serial(part);
            for r in self.regions.values_mut().filter(|r| r.has_moved()) {
                let more_ns = r.cold_ns - f64::from(r.moving()) * r.recent_ns;
                r.moved_ns = Some(MOVES / part * more_ns.max(0.0));
            }
            self.probe_again_ns = 2.0 * self.spent_ns;
            self.go(from);
        }
    }

    /// A trial is over in which others did this part of the work: what did the origin wait for outside of it?
    pub(super) fn learn_serial(&mut self, part: f64) {
        let steps = self.regions.values().map(|r| r.runs).max().unwrap_or(0);
        self.serial_ns = self.fetched_ns / f64::from(steps.max(1)) / part;
    }

    /// What was promised is no more believed.
    pub(super) fn forget_promises(&mut self) {
        let all = self.regions.values_mut();
        all.for_each(|r| r.promised_ns = None);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::left;
    use super::*;
    use crate::ways::Way;

    const MS: f64 = 1e6;
    const PAGES: f64 = 40_000.0;
    const FAULT_NS: f64 = 10_000.0;
    const HOME_NS: f64 = 25.0 * MS;

    /// A program of one region on two nodes with a core each. Half of its pages move if it crosses with equal parts,
    /// and each execution then waits for `traffic_ns`.
    struct World {
        rule: Crossings,
        traffic_ns: f64,
        total: f64,
        lost: f64,
        /// The part of the data that is on the other node.
        away: f64,
        parts: Vec<f64>,
    }

    impl World {
        fn new(traffic_ns: f64) -> World {
            World {
                rule: Crossings::new(2),
                traffic_ns,
                total: 0.0,
                lost: 0.0,
                away: 0.0,
                parts: Vec::new(),
            }
        }

        fn run(&mut self, runs: usize) {
            for _ in 0..runs {
                self.rule.data(PAGES as u64, FAULT_NS, FAULT_NS);
                let place = self.rule.next(0, left(self.total, self.lost));
                let part = match place {
                    Way::Across => self.rule.part().unwrap_or(MOVES),
                    _ => 0.0,
                };
                let moved_ns = (part - self.away).abs() * PAGES * FAULT_NS;
                let waited_ns = moved_ns + self.traffic_ns * part / MOVES;
                self.away = part;
                let ns = (1.0 - part) * HOME_NS + waited_ns;
                if place == Way::Across {
                    let of = |work| Part {
                        cores: 1,
                        threads: 1,
                        work,
                        ran_ns: work * HOME_NS,
                        waited_ns,
                        done_ns: 0.0,
                    };
                    self.rule.crossed(0, &[of(1.0 - part), of(part)], 2, ns);
                }
                self.total += ns;
                let at_home = if place == Way::Across { 0.0 } else { moved_ns };
                self.lost += self.rule.ran(0, place, ns as u64, at_home as u64);
                self.parts.push(part);
            }
        }

        fn first(&self, is: impl Fn(f64) -> bool) -> Option<usize> {
            self.parts.iter().position(|&part| is(part))
        }
    }

    /// Moving the data takes what one part in a hundred of half a minute is.
    #[test]
    fn what_promises_much_crosses_when_that_would_have_paid() {
        let mut w = World::new(1.0 * MS);
        w.run(400);
        let probed = w.first(|part| part > 0.0 && part < 0.1);
        assert!(probed < Some(10), "{probed:?}");
        let moved = w.first(|part| part == MOVES).unwrap_or(usize::MAX);
        assert!((20..60).contains(&moved), "{moved}");
        assert!(w.parts[moved..].iter().all(|&part| part == MOVES));
        assert!(w.total < 0.7 * 400.0 * HOME_NS, "{}", w.total / HOME_NS);
    }

    #[test]
    fn what_promises_nothing_does_not_move() {
        let mut w = World::new(40.0 * MS);
        w.run(1000);
        assert!(w.first(|part| part > 0.0).is_some());
        assert_eq!(w.first(|part| part == MOVES), None);
        assert!(w.total < 1.01 * 1000.0 * HOME_NS, "{}", w.total / HOME_NS);
    }

    #[test]
    fn regions_that_cannot_be_divided_end_the_trial_of_a_part() {
        let mut w = World::new(1.0 * MS);
        let probing = |w: &World| w.rule.clone().next(0, left(w.total, w.lost)) == Way::Across;
        while !probing(&w) {
            w.run(1);
        }
        assert_eq!(w.rule.next(0, left(w.total, w.lost)), Way::Across);
        w.rule.is_whole(0);
        assert_eq!(w.rule.part(), None);
        assert_ne!(w.rule.next(0, left(w.total, w.lost)), Way::Across);
    }
}
