//! Where regions of a program run whose loops can be probed: at home, across all nodes, or whole on another node.
//!
//! The runtime cannot call a region's function for a part of its work, so its own rule
//! ([`hetmp_sched::crossing`]) has to guess what a first trial costs. Here a *probe* says so before:
//! home runs the region but for a small part on each other node. The probe's times without waiting for pages say what
//! each node would take alone, its times with the waiting what all nodes would take together, and the waiting what
//! moving there would cost. That place is tried which would save most in the time to come, if the program runs about as
//! long again as it has run. A probe itself may wait for all of the program's data, so the first one comes when the
//! time spent allows for a part of that.
//!
//! **Regions are tried together.** In a *trial* all regions run at its place for some executions. Then the sums are
//! compared: their times there, and the time that home waited for pages between and during regions that stayed, against
//! their times before. Regions that lose much stay at home even where the sum wins. A region's first execution in a
//! trial moves its input, and is not compared with anything.
//!
//! **What trying may cost.** Every nanosecond that a region took longer than at home, and every nanosecond that home
//! waited for a page outside of regions that left it, is *lost*. A trial ends where it loses more than may be lost.
//! After one that failed, the next one waits until the time spent has doubled, may cost half as large a part, and needs
//! room for twice the loss of the last one. So a program for which leaving home never pays loses a bounded part of its
//! time, which falls to [`BUDGET`].
//!
//! Pure: times come in, places go out.

mod judge;
mod place;
mod probe;
mod region;

use hetmp_sched::ways::Reason;
use place::Probing;
use probe::{LATER, PROBES, PROBE_COST};
use region::{Region, WEIGHT};
use std::collections::BTreeMap;

pub(super) use place::{Place, Probed};
pub(super) use region::Shown;

/// Part of the time so far that a first trial may cost.
const EAGER: f64 = 0.25;
/// The part that all trials may cost after several have failed.
const BUDGET: f64 = 0.04;
/// Executions of a region in a trial: one cold, one steady.
const TRIAL_RUNS: u32 = 2;
/// A trial ends when a region has run this often in it, even if rarer regions have not run
/// [`TRIAL_RUNS`] times.
const TRIAL_ENDS: u32 = 12;
/// Crossing is kept if it takes at most this part of the time at home.
const WINS: f64 = 0.95;
/// A region goes home while others keep crossing if it takes more than this multiple of its time at home.
const LOSES: f64 = 1.5;
/// Executions between two judgements of what is kept.
const WINDOW: u32 = 16;
/// If a kept region's time changes by this factor, its work has changed, and its time at home is measured anew.
const CHANGED: f64 = 4.0;

#[derive(Clone, Debug)]
enum Phase {
    /// All regions run at home.
    Home,
    /// Regions that may gain and were not probed are probed. `left_ns`: what this may still lose. `runs`: executions
    /// so far.
    Probe { left_ns: f64, runs: u32 },
    /// All regions that may gain are tried at `place`. `left_ns`: what the trial may still lose. `fetched_ns`: what the
    /// origin waited for pages outside of regions that are tried.
    Trial {
        place: Place,
        from: Place,
        left_ns: f64,
        fetched_ns: f64,
    },
    /// Regions run at `place`, but for those that are out. The sums are those of the current window: what they
    /// took there, with the origin's waiting outside, and what the same executions take at home.
    Kept {
        place: Place,
        away_ns: f64,
        home_ns: f64,
        runs: u32,
    },
}

/// What is known of a place other than home.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    /// Time spent in regions before which no trial of this place begins.
    again_ns: f64,
    /// What the last trial of this place lost.
    loss_ns: f64,
    failures: u32,
}

/// The regions of one program, by a number that identifies a region (the address of its code).
#[derive(Clone, Debug)]
pub(super) struct Crossings {
    nodes: usize,
    probing: Probing,
    regions: BTreeMap<usize, Region>,
    phase: Phase,
    spent_ns: f64,
    /// Time outside of regions, where it was reported.
    outside_ns: f64,
    lost_ns: f64,
    /// What home has waited for pages of other nodes, in regions and outside.
    fetched_ns: f64,
    /// Since regions are kept where they are: their time there, and what the origin waited for pages outside of them.
    kept_ns: f64,
    kept_fetched_ns: f64,
    /// By place: across first, then the nodes but for home.
    tried: Vec<Tried>,
    /// `spent_ns` before which no probing begins.
    probe_again_ns: f64,
    failures: u32,
    /// `lost_ns` when the current trial began.
    lost_before_ns: f64,
    overhead_ns: f64,
}

impl Crossings {
    pub(super) fn probing(of: &Probed) -> Crossings {
        let nodes = of.nodes.max(1) as usize;
        Crossings {
            nodes,
            probing: Probing {
                data_ns: of.pages as f64 * of.fault_ns,
                fault_ns: of.fault_ns,
                piece: of.piece,
            },
            regions: BTreeMap::new(),
            phase: Phase::Home,
            spent_ns: 0.0,
            outside_ns: 0.0,
            lost_ns: 0.0,
            fetched_ns: 0.0,
            kept_ns: 0.0,
            kept_fetched_ns: 0.0,
            tried: vec![Tried::default(); nodes],
            probe_again_ns: 0.0,
            failures: 0,
            lost_before_ns: 0.0,
            overhead_ns: of.overhead_ns,
        }
    }

    /// The program has run for `ns` outside of regions.
    pub(super) fn passed(&mut self, ns: u64) {
        self.outside_ns += ns as f64;
    }

    /// Where the region's next execution runs. Report its time by [`Crossings::ran`].
    pub(super) fn next(&mut self, region: usize) -> Place {
        let why = self.why(region);
        if matches!(why, Reason::Untried | Reason::Slower | Reason::Faster) {
            self.consider(region);
        }
        match (self.why(region), &self.phase) {
            // A short region that stayed would take its pages back home, and from there the others would fetch them.
            (
                Reason::Short,
                Phase::Trial {
                    place: place @ Place::Node(_),
                    ..
                }
                | Phase::Kept {
                    place: place @ Place::Node(_),
                    ..
                },
            ) => *place,
            (
                Reason::Tried | Reason::Faster,
                Phase::Trial { place, .. } | Phase::Kept { place, .. },
            ) => *place,
            (Reason::Untried | Reason::Slower, Phase::Probe { .. }) if self.wants_probe(region) => {
                Place::Probe
            }
            _ => Place::Home,
        }
    }

    /// Begins a trial or a probing if one may begin now.
    fn consider(&mut self, region: usize) {
        if matches!(self.phase, Phase::Trial { .. } | Phase::Probe { .. }) {
            return;
        }
        let left = self.part() * (self.useful_ns() + self.outside_ns) - self.lost_ns;
        let at_home = matches!(self.phase, Phase::Home);
        let best = self.best_trial(left);
        let more = at_home && (best.is_none() || matches!(best, Some((Place::Across, _))));
        if more && self.may_probe(left) {
            self.phase = Phase::Probe {
                left_ns: PROBE_COST * (self.useful_ns() + self.outside_ns),
                runs: 0,
            };
        } else if let Some((place, loss)) = best {
            let unknown = || self.regions.keys().any(|&r| self.wants_probe(r));
            // What it costs to move there is known for a region that was probed.
            let begins = self.regions.get(&region).is_some_and(|r| r.probes > 0);
            if begins && !(more && unknown()) {
                self.begin_trial(place, left.max(2.0 * loss));
            }
        }
    }

    /// Why the region's next execution runs where it runs.
    pub(super) fn why(&self, region: usize) -> Reason {
        let Some(r) = self.regions.get(&region) else {
            return Reason::Unmeasured;
        };
        if r.home_runs == 0 {
            Reason::Unmeasured
        } else if !self.may_gain(r) {
            Reason::Short
        } else {
            match self.phase {
                _ if r.out => Reason::Slower,
                Phase::Home | Phase::Probe { .. } if r.tried => Reason::Slower,
                Phase::Home | Phase::Probe { .. } => Reason::Untried,
                Phase::Trial { .. } => Reason::Tried,
                Phase::Kept { .. } => Reason::Faster,
            }
        }
    }

    /// An execution of the region took `ns`. `waited_ns`: the part of `ns` for which a thread at home waited for pages
    /// that were on other nodes; 0 for executions whole on another node.
    pub(super) fn ran(&mut self, region: usize, place: Place, ns: u64, waited_ns: u64) {
        let (ns, waited) = (ns as f64, waited_ns.min(ns) as f64);
        self.spent_ns += ns;
        match place {
            Place::Home => {
                let r = self.regions.entry(region).or_default();
                r.at_home(ns - waited);
                r.spent_ns += ns;
                if waited > 0.0 {
                    self.fetched(waited_ns);
                }
            }
            Place::Across | Place::Node(_) => self.left_home(region, ns),
            Place::Probe => {
                let r = self.regions.entry(region).or_default();
                r.spent_ns += ns;
                let loss = (ns - r.home_ns).max(0.0);
                self.lost_ns += loss;
                if r.probes == 1 {
                    (r.probe_lost_ns, r.fetched_before_ns) = (loss, self.fetched_ns);
                }
                if let Phase::Probe { left_ns, .. } = &mut self.phase {
                    *left_ns -= loss;
                }
            }
        }
        if let Phase::Probe { left_ns, runs } = &mut self.phase {
            *runs += 1;
            let (spent, runs) = (*left_ns < 0.0, *runs);
            let done = !self.regions.keys().any(|&r| self.wants_probe(r));
            if spent || done || runs as usize > PROBES as usize * 4 * self.regions.len() {
                self.phase = Phase::Home;
                if spent {
                    self.probe_again_ns = LATER * self.spent_ns;
                }
            }
        }
    }

    /// The origin waited `ns` for pages of other nodes while no region was under way.
    pub(super) fn fetched(&mut self, ns: u64) {
        let ns = ns as f64;
        self.fetched_ns += ns;
        match &mut self.phase {
            Phase::Home => self.lost_ns += ns,
            Phase::Probe { left_ns, .. } => {
                self.lost_ns += ns;
                *left_ns -= ns;
            }
            Phase::Trial {
                left_ns,
                fetched_ns,
                ..
            } => {
                self.lost_ns += ns;
                *fetched_ns += ns;
                *left_ns -= ns;
            }
            Phase::Kept { away_ns, .. } => {
                *away_ns += ns;
                self.kept_fetched_ns += ns;
            }
        }
    }

    fn tried(&mut self, place: Place) -> &mut Tried {
        &mut self.tried[if let Place::Node(i) = place { i } else { 0 }]
    }

    /// Part of the time in regions that all trials so far and the next one may cost together.
    fn part(&self) -> f64 {
        (EAGER / f64::from(1 << self.failures.min(16))).max(BUDGET)
    }

    fn may_gain(&self, r: &Region) -> bool {
        r.home_ns * 0.9 > self.overhead_ns
    }

    /// Is the region too short to leave home for itself, and goes where the others go whole?
    fn follows(&self, r: &Region) -> bool {
        let place = match self.phase {
            Phase::Trial { place, .. } | Phase::Kept { place, .. } => place,
            _ => Place::Home,
        };
        matches!(place, Place::Node(_)) && !self.may_gain(r)
    }

    /// The regions that a trial would be about.
    fn candidates(&self) -> impl Iterator<Item = &Region> {
        let all = self.regions.values();
        all.filter(|r| r.home_runs > 0 && self.may_gain(r))
    }

    fn begin_trial(&mut self, place: Place, left_ns: f64) {
        self.lost_before_ns = self.lost_ns;
        self.tried(place).again_ns = 2.0 * self.spent_ns;
        let from = self.kept();
        self.phase = Phase::Trial {
            place,
            from,
            left_ns,
            fetched_ns: 0.0,
        };
        for r in self.regions.values_mut() {
            r.before_ns = if from == Place::Home || r.out || r.recent_runs == 0 {
                r.home_ns
            } else {
                r.recent_ns
            };
            (r.trial_runs, r.steady_ns) = (0, 0.0);
            (r.recent_runs, r.recent_ns) = (0, 0.0);
            r.was_out = r.out;
            r.out = false;
        }
    }

    /// Where regions run when nothing is tried.
    fn kept(&self) -> Place {
        match self.phase {
            Phase::Kept { place, .. } => place,
            _ => Place::Home,
        }
    }

    fn left_home(&mut self, region: usize, ns: f64) {
        let may_lose = self.part() * self.spent_ns;
        let follows = self.regions.get(&region).is_some_and(|r| self.follows(r));
        let r = self.regions.entry(region).or_default();
        let at_home = r.home_ns;
        match &mut self.phase {
            // The caller let the region cross for a reason of its own.
            Phase::Home | Phase::Probe { .. } => {}
            Phase::Trial { left_ns, .. } => {
                r.trial_runs += 1;
                r.tried = true;
                if r.trial_runs > 1 {
                    r.steady_ns += ns;
                }
                if r.before_ns == 0.0 {
                    r.before_ns = at_home;
                }
                let loss = (ns - r.before_ns).max(0.0);
                self.lost_ns += loss;
                *left_ns -= loss;
                let spent = *left_ns < 0.0;
                let mut tried = self.regions.values().filter(|r| r.trial_runs > 0);
                if spent
                    || self.regions[&region].trial_runs >= TRIAL_ENDS
                    || tried.all(|r| r.trial_runs >= TRIAL_RUNS)
                {
                    self.judge_trial();
                }
            }
            Phase::Kept {
                away_ns,
                home_ns,
                runs,
                ..
            } => {
                self.kept_ns += ns;
                *away_ns += ns;
                *home_ns += at_home;
                *runs += 1;
                r.recent_runs += 1;
                let weight = (1.0 / f64::from(r.recent_runs)).max(4.0 * WEIGHT);
                r.recent_ns += weight * (ns - r.recent_ns);
                if r.recent_runs == 4 {
                    r.usual_ns = r.recent_ns;
                }
                if r.recent_runs >= 4 {
                    let change = r.recent_ns / r.usual_ns.max(1.0);
                    if !(1.0 / CHANGED..=CHANGED).contains(&change) {
                        // What is known of the time at home is about other work.
                        (r.home_runs, r.recent_runs, r.recent_ns) = (0, 0, 0.0);
                    } else if r.recent_ns > LOSES * at_home && !follows {
                        r.out = true;
                    }
                }
                if *runs >= WINDOW || *away_ns - *home_ns > may_lose {
                    self.judge_kept();
                }
            }
        }
    }
}

#[cfg(test)]
mod probing;
