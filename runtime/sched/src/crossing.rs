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
//! compared with anything. But it costs, so the trial ends at once where a trial costs more than it may.
//!
//! **What trying may cost.** Every nanosecond that a region took longer across than at home, and every
//! nanosecond that the origin waited for a page outside of crossing regions, is *lost*. The first trial begins
//! when an [`EAGER`] part of the time spent in regions exceeds what crossing each region once is expected to
//! lose; it ends where it loses more than that part. After a trial that failed, for all or some regions, the next
//! one waits until the time spent in regions has doubled, may cost half as large a part, and needs room for twice
//! the loss of the last one. Regions that appear later are not kept waiting by what others lost: they have a trial
//! of their own, for which the time spent in them counts. So a program for which crossing never pays loses a
//! bounded part of its time, which falls to [`BUDGET`], and at most the excess of one execution more for each
//! trial, since an execution cannot be stopped half-way.
//!
//! Pure: times come in, places go out.

use std::collections::BTreeMap;

/// Part of the time in regions that the first trial may cost.
const EAGER: f64 = 0.25;
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
/// Least weight of a new time in an average.
const WEIGHT: f64 = 1.0 / 16.0;
/// What starting and ending a region across nodes costs before it was measured, in nanoseconds. A region that
/// cannot gain that much is never tried.
const OVERHEAD_NS: f64 = 100_000.0;

/// Where an execution of a region runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the origin, in one process.
    Home,
    /// On all nodes.
    Across,
}

/// Why a region runs where it runs, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its time at home is not known yet.
    Unmeasured,
    /// At home it takes less time than crossing costs.
    Short,
    /// The time spent so far does not allow a trial (yet).
    Waiting,
    /// A trial is under way.
    Trial,
    /// The regions that cross are faster across.
    Faster,
    /// It is slower across, by its own time or with the other regions.
    Slower,
}

impl Why {
    /// A few words for the user.
    pub fn text(self) -> &'static str {
        match self {
            Why::Unmeasured => "its time at home is not known yet",
            Why::Short => "shorter than crossing costs",
            Why::Waiting => "no trial yet",
            Why::Trial => "tried",
            Why::Faster => "faster across",
            Why::Slower => "slower across",
        }
    }
}

/// What is known of one region. Times are nanoseconds.
#[derive(Clone, Debug, Default)]
struct Region {
    /// Executions at home, since its time there was last forgotten.
    home_runs: u64,
    /// Average time at home, without waiting for pages that crossing regions had moved.
    home_ns: f64,
    /// In the current or last trial: crossings, and the sum of their times without the first.
    trial_runs: u32,
    steady_ns: f64,
    /// Average time of recent kept crossings; 0 before the first one.
    recent_ns: f64,
    recent_runs: u32,
    /// `recent_ns` after a few crossings: a much later time that differs tells that the work has changed.
    usual_ns: f64,
    /// Takes no part in the current trial, or lost much in it or after it.
    out: bool,
    /// Was in a trial.
    tried: bool,
    /// Time spent in executions at home.
    spent_ns: f64,
}

impl Region {
    /// Steady time of a crossing in the trial, if there was a steady one.
    fn steady(&self) -> Option<f64> {
        (self.trial_runs > 1).then(|| self.steady_ns / f64::from(self.trial_runs - 1))
    }

    fn at_home(&mut self, ns: f64) {
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
}

#[derive(Clone, Debug)]
enum Phase {
    /// All regions run at home.
    Home,
    /// All regions that may gain are tried. `left_ns`: what the trial may still lose. `fetched_ns`: what the
    /// origin waited for pages outside of crossing regions.
    Trial { left_ns: f64, fetched_ns: f64 },
    /// Regions cross, but for those that are out. The sums are those of the current window: what crossing
    /// took, with the origin's waiting outside, and what the same executions take at home.
    Kept {
        across_ns: f64,
        home_ns: f64,
        runs: u32,
    },
}

/// The regions of one program, by a number that identifies a region (the address of its code).
#[derive(Clone, Debug)]
pub struct Crossings {
    nodes: f64,
    regions: BTreeMap<usize, Region>,
    phase: Phase,
    spent_ns: f64,
    lost_ns: f64,
    /// `spent_ns` before which no trial begins.
    again_ns: f64,
    failures: u32,
    /// What the last trial lost.
    last_loss_ns: f64,
    /// `lost_ns` when the current trial began.
    lost_before_ns: f64,
    overhead_ns: f64,
}

impl Crossings {
    /// A program on `nodes` nodes of equal speed, of which nothing is known.
    pub fn new(nodes: u32) -> Crossings {
        Crossings {
            nodes: f64::from(nodes.max(1)),
            regions: BTreeMap::new(),
            phase: Phase::Home,
            spent_ns: 0.0,
            lost_ns: 0.0,
            again_ns: 0.0,
            failures: 0,
            last_loss_ns: 0.0,
            lost_before_ns: 0.0,
            overhead_ns: OVERHEAD_NS,
        }
    }

    /// Where the region's next execution runs. Report its time by [`Crossings::ran`].
    pub fn next(&mut self, region: usize) -> Place {
        let why = self.why(region);
        if matches!(why, Why::Waiting | Why::Slower) && !matches!(self.phase, Phase::Trial { .. }) {
            let is_new = self.regions.get(&region).is_some_and(|r| !r.tried);
            if let Some(left_ns) = self.may_try() {
                return self.begin_trial(left_ns, false);
            }
            if let Some(left_ns) = self.may_try_new().filter(|_| is_new) {
                return self.begin_trial(left_ns, true);
            }
        }
        match why {
            Why::Trial | Why::Faster => Place::Across,
            Why::Unmeasured | Why::Short | Why::Waiting | Why::Slower => Place::Home,
        }
    }

    /// Why the region's next execution runs where it runs.
    pub fn why(&self, region: usize) -> Why {
        let Some(r) = self.regions.get(&region) else {
            return Why::Unmeasured;
        };
        if r.home_runs < HOME_RUNS {
            Why::Unmeasured
        } else if !self.may_gain(r) {
            Why::Short
        } else {
            match self.phase {
                _ if r.out => Why::Slower,
                Phase::Home if r.tried => Why::Slower,
                Phase::Home => Why::Waiting,
                Phase::Trial { .. } => Why::Trial,
                Phase::Kept { .. } => Why::Faster,
            }
        }
    }

    /// The average time of the region at home in nanoseconds, 0 if it is not known; and its average time
    /// across, 0 if it did not cross lately.
    pub fn times(&self, region: usize) -> (u64, u64) {
        self.regions.get(&region).map_or((0, 0), |r| {
            let across = match r.recent_runs {
                0 => r.steady().unwrap_or(0.0),
                _ => r.recent_ns,
            };
            (r.home_ns as u64, across as u64)
        })
    }

    /// An execution of the region took `ns`. `waited_ns`: the part of `ns` for which an execution at home waited
    /// for pages that were on other nodes; 0 for executions across.
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
            Place::Across => self.crossed(region, ns),
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
            } => {
                self.lost_ns += ns;
                *fetched_ns += ns;
                *left_ns -= ns;
            }
            Phase::Kept { across_ns, .. } => *across_ns += ns,
        }
    }

    /// Part of the time in regions that all trials so far and the next one may cost together.
    fn part(&self) -> f64 {
        (EAGER / f64::from(1 << self.failures.min(16))).max(BUDGET)
    }

    fn may_gain(&self, r: &Region) -> bool {
        r.home_ns * (1.0 - 1.0 / self.nodes) > self.overhead_ns
    }

    /// The regions that a trial would be about.
    fn candidates(&self) -> impl Iterator<Item = &Region> {
        let all = self.regions.values();
        all.filter(|r| r.home_runs >= HOME_RUNS && self.may_gain(r))
    }

    /// What a trial of all regions may lose, if one may begin now.
    fn may_try(&self) -> Option<f64> {
        let expected = if self.again_ns > 0.0 {
            // Room for the same loss and more. With less, a trial that failed because moving the data was dear
            // would fail at the same place again.
            2.0 * self.last_loss_ns
        } else {
            // Each region's first crossing is taken to cost twice its time at home.
            self.candidates().map(|r| r.home_ns).sum()
        };
        let left_ns = self.part() * self.spent_ns - self.lost_ns;
        (self.spent_ns >= self.again_ns && left_ns >= expected).then_some(left_ns)
    }

    /// What a trial of the regions that were in none yet may lose, if one may begin now.
    fn may_try_new(&self) -> Option<f64> {
        let new = || self.candidates().filter(|r| !r.tried);
        let expected: f64 = new().map(|r| r.home_ns).sum();
        let left_ns = self.part() * new().map(|r| r.spent_ns).sum::<f64>();
        (left_ns >= expected).then_some(left_ns)
    }

    fn begin_trial(&mut self, left_ns: f64, only_new: bool) -> Place {
        self.lost_before_ns = self.lost_ns;
        self.again_ns = 2.0 * self.spent_ns;
        self.phase = Phase::Trial {
            left_ns,
            fetched_ns: 0.0,
        };
        for r in self.regions.values_mut() {
            (r.trial_runs, r.steady_ns) = (0, 0.0);
            (r.recent_runs, r.recent_ns) = (0, 0.0);
            r.out = only_new && r.tried;
        }
        Place::Across
    }

    fn crossed(&mut self, region: usize, ns: f64) {
        let may_lose = self.part() * self.spent_ns;
        let r = self.regions.entry(region).or_default();
        let at_home = r.home_ns;
        match &mut self.phase {
            // The caller let the region cross for a reason of its own.
            Phase::Home => {}
            Phase::Trial { left_ns, .. } => {
                r.trial_runs += 1;
                r.tried = true;
                if r.trial_runs > 1 {
                    r.steady_ns += ns;
                    let overhead = (ns - at_home / self.nodes).max(5_000.0);
                    self.overhead_ns = self.overhead_ns.min(overhead);
                }
                let loss = (ns - at_home).max(0.0);
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
                across_ns,
                home_ns,
                runs,
            } => {
                *across_ns += ns;
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
                    } else if r.recent_ns > LOSES * at_home {
                        r.out = true;
                    }
                }
                if *runs >= WINDOW || *across_ns - *home_ns > may_lose {
                    self.judge_kept();
                }
            }
        }
    }

    /// What was seen so far counts, also if the trial ended because it cost too much.
    fn judge_trial(&mut self) {
        let Phase::Trial { fetched_ns, .. } = self.phase else {
            return;
        };
        let (mut across, mut home) = (fetched_ns, 0.0);
        for r in self.regions.values() {
            if let Some(steady) = r.steady() {
                across += steady * f64::from(r.trial_runs);
                home += r.home_ns * f64::from(r.trial_runs);
            }
        }
        let together = across < WINS * home;
        let (mut any, mut some_lost) = (false, false);
        for r in self.regions.values_mut() {
            let limit = if together { LOSES } else { WINS };
            if let Some(steady) = r.steady() {
                r.out = steady > limit * r.home_ns;
            }
            // A region that was not seen in the trial, or only cold, crosses: what is kept will show.
            any |= r.trial_runs > 1 && !r.out;
            some_lost |= r.trial_runs > 1 && r.out;
        }
        if any {
            self.last_loss_ns = self.lost_ns - self.lost_before_ns;
            self.failures += u32::from(some_lost);
            self.phase = Phase::Kept {
                across_ns: 0.0,
                home_ns: 0.0,
                runs: 0,
            };
        } else {
            self.fail();
        }
    }

    fn judge_kept(&mut self) {
        if let Phase::Kept {
            across_ns,
            home_ns,
            runs,
        } = &mut self.phase
        {
            if *across_ns > *home_ns {
                self.lost_before_ns = self.lost_ns;
                self.lost_ns += *across_ns - *home_ns;
                self.fail();
            } else {
                (*across_ns, *home_ns, *runs) = (0.0, 0.0, 0);
            }
        }
    }

    fn fail(&mut self) {
        self.phase = Phase::Home;
        self.failures += 1;
        self.last_loss_ns = self.lost_ns - self.lost_before_ns;
        self.again_ns = 2.0 * self.spent_ns;
        for r in self.regions.values_mut() {
            r.out = false;
        }
    }
}

#[cfg(test)]
mod tests;
