//! Which regions of a program on several nodes cross: where does the program's time get shorter?
//!
//! A region that crosses nodes without common memory pays messages for its start and end, and a fault for each
//! page that another node wrote last. Whether its threads' further cores are worth that depends on the
//! program, the data and the link, so it is measured.
//!
//! **Regions are tried together.** A time step of a program consists of several regions that work on the same
//! arrays. If one of them crosses alone, its half of each array travels to the other node and back in every
//! step; if all of them cross, each half stays where it is. So a *trial* lets all regions cross for some
//! executions, and then the sums are compared: the regions' times across, and the time that the origin waited
//! for pages between and during regions that stayed, against their times at home. Regions that lose much stay
//! at home even where the sum wins, and are tried again later, as after a trial that failed.
//!
//! **Cold faults are not steady faults.** The first crossing of a region in a trial moves its input, and is not
//! compared with anything. But it costs, so the trial ends at once where a trial costs more than it may. It also ends
//! where home itself waited too long for pages ([`HOPELESS`]): home had all pages before, so what it waits for is what
//! others took within the same execution, and they will do so each time.
//!
//! **What trying may cost.** Every nanosecond that a region took longer across than at home, and every
//! nanosecond that the origin waited for a page outside of crossing regions, is *lost*. The first trial begins
//! when an [`EAGER`] part of the time spent in regions exceeds what crossing each region once is expected to
//! lose, and a [`CALM`] part exceeds what moving the program's data is expected to take, as far as that is known
//! ([`Crossings::data`]). Where little data has to move, it begins as soon as the times at home are known ([`LITTLE`]).
//! It ends where it loses more than [`EAGER`] of the time, or [`AMISS`] times what was expected. After a trial that
//! failed, for all or some regions, the next one waits until the time spent in regions has doubled, may cost half as
//! large a part, and needs room for twice the loss of the last one. Regions that appear later are not kept waiting by
//! what others lost: they have a trial of their own, for which the time spent in them counts. So a program for which
//! crossing never pays loses a bounded part of its time, which falls to [`BUDGET`], and at most the excess of one
//! execution more for each trial, unless the caller can stop an execution half-way ([`Crossings::trial`],
//! [`Crossings::gave_up`]).
//!
//! **Other nodes.** A region's function cannot be called for a part of its work, so each execution across nodes is the
//! probe: it shows what each node takes for its part. After the trial of crossing, a node is tried that promises
//! enough: that place which would save most in the time to come, if the program runs about as long again as it has run.
//!
//! Pure: times come in, places go out.

pub mod blocks;
pub mod division;
mod elsewhere;
mod judge;
mod place;
mod region;

use crate::ways::Reason;
use place::TOUCH_NS;
use region::{Region, WEIGHT};
use std::collections::BTreeMap;

pub use place::Place;

/// Part of the time in regions that the first trial may cost.
const EAGER: f64 = 0.25;
/// Part of the time in regions that moving the program's data for the first trial may cost.
const CALM: f64 = 0.08;
/// The first crossings of all regions move this part of the data.
const MOVES: f64 = 0.5;
/// A first crossing gains, too, if moving the data takes at most this part of what crossing may save.
const LITTLE: f64 = 0.25;
/// A trial ends that loses this many times what was expected.
const AMISS: f64 = 3.0;
/// A trial ends if home waited in it for pages longer than this multiple of what one execution of each region takes
/// there.
const HOPELESS: f64 = 1.5;
/// The part that all trials may cost after several have failed.
const BUDGET: f64 = 0.04;
/// Executions at home before a region's time there is known. The first one starts threads and touches memory
/// for the first time.
const HOME_RUNS: u64 = 2;
/// Executions of a region in a trial: one cold, the others steady.
const TRIAL_RUNS: u32 = 3;
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
/// What starting and ending a region across nodes costs before it was measured, in nanoseconds. A region that
/// cannot gain that much is never tried.
const OVERHEAD_NS: f64 = 100_000.0;

#[derive(Clone, Debug)]
enum Phase {
    /// All regions run at home.
    Home,
    /// All regions that may gain are tried at `place`. `left_ns`: what the trial may still lose. `fetched_ns`: what the
    /// origin waited for pages outside of regions that are tried; `waited_ns`: within them.
    Trial {
        place: Place,
        from: Place,
        left_ns: f64,
        fetched_ns: f64,
        waited_ns: f64,
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
pub struct Crossings {
    nodes: usize,
    /// The program's pages, and nanoseconds that a thread waits for one; `None`: not known.
    data: Option<(f64, f64)>,
    regions: BTreeMap<usize, Region>,
    phase: Phase,
    spent_ns: f64,
    lost_ns: f64,
    /// Since regions are kept where they are: their time there, and what the origin waited for pages outside of them.
    kept_ns: f64,
    kept_fetched_ns: f64,
    /// By place: across first, then the nodes but for home.
    tried: Vec<Tried>,
    failures: u32,
    /// `lost_ns` when the current trial began.
    lost_before_ns: f64,
    overhead_ns: f64,
}

impl Crossings {
    /// A program on `nodes` nodes of which nothing is known.
    pub fn new(nodes: u32) -> Crossings {
        let nodes = nodes.max(1) as usize;
        Crossings {
            nodes,
            data: None,
            regions: BTreeMap::new(),
            phase: Phase::Home,
            spent_ns: 0.0,
            lost_ns: 0.0,
            kept_ns: 0.0,
            kept_fetched_ns: 0.0,
            tried: vec![Tried::default(); nodes],
            failures: 0,
            lost_before_ns: 0.0,
            overhead_ns: OVERHEAD_NS,
        }
    }

    /// The program has used this many pages so far, for each of which a thread waits `fault_ns` if it is on another
    /// node.
    pub fn data(&mut self, pages: u64, fault_ns: f64) {
        self.data = Some((pages as f64, fault_ns));
    }

    /// Where the region's next execution runs. Report its time by [`Crossings::ran`].
    pub fn next(&mut self, region: usize) -> Place {
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
            _ => Place::Home,
        }
    }

    /// Begins a trial if one may begin now.
    fn consider(&mut self, region: usize) {
        if matches!(self.phase, Phase::Trial { .. }) {
            return;
        }
        let left = self.part() * self.spent_ns - self.lost_ns;
        let seen = self.regions.get(&region).map(|r| (r.tried, r.probes > 0));
        let (is_new, is_shown) = seen.map_or((false, false), |(tried, shown)| (!tried, shown));
        if !matches!(self.kept(), Place::Node(_)) {
            if let Some(left_ns) = self.may_try(left) {
                return self.begin_trial(Place::Across, left_ns, false);
            } else if let Some(left_ns) = self.may_try_new().filter(|_| is_new) {
                return self.begin_trial(Place::Across, left_ns, true);
            }
        }
        if is_shown {
            if let Some((place, loss)) = self.best_trial(left) {
                self.begin_trial(place, left.max(2.0 * loss), false);
            }
        }
    }

    /// Why the region's next execution runs where it runs.
    pub fn why(&self, region: usize) -> Reason {
        let Some(r) = self.regions.get(&region) else {
            return Reason::Unmeasured;
        };
        if r.home_runs < HOME_RUNS {
            Reason::Unmeasured
        } else if !self.may_gain(r) {
            Reason::Short
        } else {
            match self.phase {
                _ if r.out => Reason::Slower,
                Phase::Home if r.tried => Reason::Slower,
                Phase::Home => Reason::Untried,
                Phase::Trial { .. } => Reason::Tried,
                Phase::Kept { .. } => Reason::Faster,
            }
        }
    }

    /// Where regions run that gain from leaving home, if nothing is tried.
    pub fn kept_at(&self) -> Place {
        self.kept()
    }

    /// The average time of the region at home in nanoseconds, 0 if it is not known; and its average time
    /// away from home, 0 if it did not leave lately.
    pub fn times(&self, region: usize) -> (u64, u64) {
        self.regions.get(&region).map_or((0, 0), |r| {
            let across = match r.recent_runs {
                0 => r.steady().unwrap_or(0.0),
                _ => r.recent_ns,
            };
            (r.home_ns as u64, across as u64)
        })
    }

    /// The region's next execution across nodes divides its work in another way than the one before: steady times of
    /// that one are no longer those of what would be kept, and pages move anew.
    pub fn divided(&mut self, region: usize) {
        if let (Phase::Trial { .. }, Some(r)) = (&self.phase, self.regions.get_mut(&region)) {
            if r.trial_runs > 1 {
                (r.trial_runs, r.steady_ns) = (0, 0.0);
            }
        }
    }

    /// An execution of the region took `ns`. `waited_ns`: the part of `ns` for which a thread at home waited for pages
    /// that were on other nodes; 0 for executions whole on another node.
    pub fn ran(&mut self, region: usize, place: Place, ns: u64, waited_ns: u64) {
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
            Place::Across | Place::Node(_) => self.left_home(region, ns, waited),
        }
    }

    /// The origin waited `ns` for pages of other nodes while no region was under way.
    pub fn fetched(&mut self, ns: u64) {
        let ns = ns as f64;
        match &mut self.phase {
            Phase::Home => self.lost_ns += ns,
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
        let first = if self.data.is_some() { CALM } else { EAGER };
        (first / f64::from(1 << self.failures.min(16))).max(BUDGET)
    }

    /// What a first trial of regions that take `home_ns` together may lose, if one may begin now; they took `spent_ns`
    /// so far, and `lost_ns` were lost.
    fn first_trial(&self, home_ns: f64, spent_ns: f64, lost_ns: f64) -> Option<f64> {
        // Each region's first crossing is taken to cost twice its time at home.
        let left_ns = EAGER * spent_ns - lost_ns;
        let Some((pages, fault_ns)) = self.data else {
            return (left_ns >= home_ns).then_some(left_ns);
        };
        let moving_ns = MOVES * fault_ns * pages.min(home_ns / TOUCH_NS);
        let calm = CALM * spent_ns - lost_ns >= moving_ns;
        // Where little data has to move, even the first crossing is expected to gain.
        let gains_at_once = moving_ns <= LITTLE * home_ns * (1.0 - 1.0 / self.nodes as f64);
        let least = if gains_at_once {
            EAGER * HOME_RUNS as f64
        } else {
            1.0
        };
        let expected = AMISS * (home_ns + moving_ns);
        (calm && left_ns >= least * home_ns).then_some(left_ns.max(home_ns).min(expected))
    }

    fn may_gain(&self, r: &Region) -> bool {
        r.home_ns * (1.0 - 1.0 / self.nodes as f64) > self.overhead_ns
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
        all.filter(|r| r.home_runs >= HOME_RUNS && self.may_gain(r))
    }

    /// What a trial of all regions may lose, if one may begin now.
    fn may_try(&self, left_ns: f64) -> Option<f64> {
        let tried = self.tried[0];
        if tried.again_ns == 0.0 {
            let home_ns = self.candidates().map(|r| r.home_ns).sum();
            return self.first_trial(home_ns, self.spent_ns, self.lost_ns);
        }
        // Room for the same loss and more. With less, a trial that failed because moving the data was dear would fail
        // at the same place again.
        (self.spent_ns >= tried.again_ns && left_ns >= 2.0 * tried.loss_ns).then_some(left_ns)
    }

    /// What a trial of the regions that were in none yet may lose, if one may begin now.
    fn may_try_new(&self) -> Option<f64> {
        let new = || self.candidates().filter(|r| !r.tried);
        let home_ns: f64 = new().map(|r| r.home_ns).sum();
        let spent_ns: f64 = new().map(|r| r.spent_ns).sum();
        if self.data.is_some() {
            return self.first_trial(home_ns, spent_ns, 0.0);
        }
        let left_ns = self.part() * spent_ns;
        (left_ns >= home_ns).then_some(left_ns)
    }

    fn begin_trial(&mut self, place: Place, left_ns: f64, only_new: bool) {
        self.lost_before_ns = self.lost_ns;
        self.tried(place).again_ns = 2.0 * self.spent_ns;
        let from = self.kept();
        self.phase = Phase::Trial {
            place,
            from,
            left_ns,
            fetched_ns: 0.0,
            waited_ns: 0.0,
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
            r.out = only_new && r.tried;
        }
    }

    /// Where regions run when nothing is tried.
    fn kept(&self) -> Place {
        match self.phase {
            Phase::Kept { place, .. } => place,
            _ => Place::Home,
        }
    }

    fn left_home(&mut self, region: usize, ns: f64, waited_ns: f64) {
        let once_ns: f64 = self.candidates().map(|r| r.home_ns).sum();
        let may_lose = self.part() * self.spent_ns;
        let nodes = self.nodes as f64;
        let follows = self.regions.get(&region).is_some_and(|r| self.follows(r));
        let r = self.regions.entry(region).or_default();
        let at_home = r.home_ns;
        match &mut self.phase {
            // The caller let the region cross for a reason of its own.
            Phase::Home => {}
            Phase::Trial {
                left_ns,
                place,
                waited_ns: waited,
                ..
            } => {
                *waited += waited_ns;
                let hopeless = *waited > HOPELESS * once_ns * f64::from(r.trial_runs + 1);
                r.trial_runs += 1;
                r.tried = true;
                if r.trial_runs > 1 {
                    r.steady_ns += ns;
                    if *place == Place::Across {
                        let overhead = (ns - at_home / nodes).max(5_000.0);
                        self.overhead_ns = self.overhead_ns.min(overhead);
                    }
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
                    || hopeless
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
mod tests;
#[cfg(test)]
mod whole;
