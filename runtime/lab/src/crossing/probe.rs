//! Probes: which regions are probed and when, and what is expected of a place by what probes have shown.

use super::place::Place;
use super::region::{Region, Shown};
use super::{Crossings, Phase, LOSES};

/// A probe is expected to wait for this part of the program's data.
const PROBED: f64 = 0.1;
/// A first probe's pages were taken back if home has waited since for at least this part of what the probe lost. Home's
/// threads all wait at once, and the other nodes' may wait for one page after the other.
const TAKEN_BACK: f64 = 0.02;
/// Probing is broken off when it has lost this part of the time so far.
pub(super) const PROBE_COST: f64 = 0.05;
/// Probes of a region: one cold, one steady.
pub(super) const PROBES: u32 = 2;
/// The time spent in regions must have grown by this factor before probing that was broken off goes on.
pub(super) const LATER: f64 = 2.0;
/// A region shorter than this part of the longest one is not probed; the others speak for it.
const COUNTS: f64 = 0.25;
/// A place is tried if it is expected to save more than moving there costs, should the program run this many times as
/// long again as it has run.
const PAYS: f64 = 2.0;
/// A place must be expected to save this part of the time at home to be tried.
const HOPE: f64 = 0.15;
/// The rest of a region's first execution leaves home if it is expected to take at most this part of the time at
/// home, with all the waiting for pages of a first probe.
const FAR_BETTER: f64 = 0.7;

impl Crossings {
    /// The part of the region's first execution that has run at home so far says that it would take `ns` there.
    pub(in super::super) fn expects(&mut self, region: usize, ns: f64) {
        self.regions.entry(region).or_default().home_ns = ns;
    }

    /// May the region be probed in its first execution, after [`Crossings::expects`]?
    pub(in super::super) fn may_probe_at_once(&self, region: usize) -> bool {
        let Some(r) = self
            .regions
            .get(&region)
            .filter(|r| self.may_gain(r) && self.counts(r))
        else {
            return false;
        };
        let spent = self.useful_ns() + self.outside_ns + r.home_ns;
        PROBED * self.probing.waiting_ns(r.home_ns) <= self.part() * spent - self.lost_ns
    }

    /// A probe of the region has shown this about the nodes other than home, in order. `beside_ns`: what home ran
    /// meanwhile, as a time of the whole region at home; 0 if home ran nothing.
    pub(in super::super) fn probed(&mut self, region: usize, shown: &[Shown], beside_ns: f64) {
        let r = self.regions.entry(region).or_default();
        r.probed(shown, beside_ns);
    }

    /// Where the rest of the region's first execution runs, after a probe in it. Report the execution by
    /// [`Crossings::began`].
    pub(in super::super) fn rest(&mut self, region: usize) -> Place {
        let overhead = self.overhead_ns;
        let Some(r) = self.regions.get(&region).filter(|r| r.probes > 0) else {
            return Place::Home;
        };
        let expected = |place| match place {
            Place::Node(i) => r.last.get(i - 1).map(|s| s.with_faults_ns + overhead),
            _ => r.across_ns(overhead),
        };
        if let Phase::Trial { place, .. } | Phase::Kept { place, .. } = self.phase {
            return match expected(place) {
                Some(ns) if ns < r.home_ns => place,
                _ => Place::Home,
            };
        }
        let best = self
            .places()
            .filter_map(|p| Some((expected(p)?, p)))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        match best {
            Some((ns, place)) if ns < FAR_BETTER * r.home_ns => {
                let left = self.part() * (self.useful_ns() + r.home_ns) - self.lost_ns;
                self.begin_trial(place, left.max(0.0));
                place
            }
            _ => Place::Home,
        }
    }

    /// The region's first execution is over. It took `ns`, and its rest ran at `place`.
    pub(in super::super) fn began(&mut self, region: usize, place: Place, ns: u64) {
        let ns = ns as f64;
        let r = self.regions.entry(region).or_default();
        let expected = if r.probes == 0 { ns } else { r.home_ns };
        if place == Place::Home {
            r.at_home(expected);
            r.spent_ns += ns;
            self.spent_ns += ns;
            let loss = (ns - expected).max(0.0);
            self.lost_ns += loss;
            if r.probes > 0 {
                (r.probe_lost_ns, r.fetched_before_ns) = (loss, self.fetched_ns);
            }
        } else {
            r.home_runs = 1;
            self.spent_ns += ns;
            self.left_home(region, ns);
        }
    }

    /// The places other than home.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        core::iter::once(Place::Across).chain((1..self.nodes).map(Place::Node))
    }

    /// The time spent in regions, without what probes and trials have cost.
    pub(super) fn useful_ns(&self) -> f64 {
        (self.spent_ns - self.lost_ns).max(0.0)
    }

    pub(super) fn wants_probe(&self, region: usize) -> bool {
        (self.regions.get(&region)).is_some_and(|r| {
            r.home_runs > 0
                && self.may_gain(r)
                && r.probes < PROBES
                && self.counts(r)
                && r.hopeful(HOPE, self.overhead_ns)
        })
    }

    /// Is the region a large enough part of the program to be probed?
    fn counts(&self, r: &Region) -> bool {
        let most = self.regions.values().map(|r| r.home_ns).fold(0.0, f64::max);
        r.home_ns >= COUNTS * most
    }

    /// What a second probe of the region is expected to lose. Where home has waited for pages since the first one, it
    /// took back what that one had fetched, and the second one fetches it again. Else the pages are still where they
    /// are needed.
    fn again_ns(&self, r: &Region) -> f64 {
        let back = self.fetched_ns - r.fetched_before_ns > TAKEN_BACK * r.probe_lost_ns;
        if back {
            r.probe_lost_ns
        } else {
            PROBED * r.probe_lost_ns
        }
    }

    /// May regions be probed that want to be, at a loss of `left_ns`?
    pub(super) fn may_probe(&self, left_ns: f64) -> bool {
        let mut wants = self
            .regions
            .keys()
            .filter(|&&r| self.wants_probe(r))
            .peekable();
        if wants.peek().is_none() || self.spent_ns < self.probe_again_ns {
            return false;
        }
        let mut expected = 0.0;
        let mut bound = 0.0f64;
        for r in wants.map(|r| &self.regions[r]) {
            expected += self.overhead_ns;
            if r.probes == 0 {
                bound += self.probing.waiting_ns(r.home_ns);
            } else {
                expected += self.again_ns(r);
            }
        }
        expected += PROBED * bound.min(self.probing.data_ns);
        expected <= left_ns
    }

    /// The place that is expected to save most in as much time again as was spent so far, with the cost of moving
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
        let data_ns = self.probing.data_ns;
        // Regions that were not probed are taken to be like the others.
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
        let shares = |r: &Region, node: usize| {
            let rate = |ns: f64| ns.max(1.0).recip();
            let all: f64 =
                rate(r.home_ns) + r.last.iter().map(|s| rate(s.with_faults_ns)).sum::<f64>();
            rate(r.last[node - 1].with_faults_ns) / all
        };
        let judge = |place: Place| {
            if place == kept {
                return None;
            }
            let (mut away, mut moving) = (0.0, 0.0);
            let like = if let Place::Node(i) = place {
                clean(i)
            } else {
                1.0
            };
            for r in self.candidates() {
                let (ns, cold) = match place {
                    Place::Node(i) => (r.alone_ns(i, self.overhead_ns), r.moving_ns(i)),
                    _ => (
                        r.across_ns(self.overhead_ns),
                        (1..self.nodes)
                            .filter(|_| r.probes > 0)
                            .map(|i| shares(r, i) * r.moving_ns(i))
                            .fold(0.0, f64::max),
                    ),
                };
                away += ns.map_or(like * r.home_ns, |ns| ns.min(LOSES * r.home_ns));
                moving += cold.min(data_ns);
            }
            let mut now = now;
            if let Place::Node(_) = place {
                // Short regions go too.
                for r in self.regions.values().filter(|r| r.home_runs > 0) {
                    if !self.may_gain(r) {
                        now += r.home_ns;
                        away += like * r.home_ns + self.overhead_ns;
                    }
                }
            }
            let tried = self.tried[if let Place::Node(i) = place { i } else { 0 }];
            let gain = 1.0 - away / now.max(1.0);
            let allowed = tried.failures == 0
                || (self.spent_ns >= tried.again_ns && 2.0 * tried.loss_ns <= left_ns);
            let worth = PAYS * gain * self.useful_ns() - moving;
            (allowed && gain > HOPE && worth > 0.0).then_some((worth, place, moving))
        };
        self.places()
            .filter_map(judge)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, place, moving)| (place, moving))
    }
}
