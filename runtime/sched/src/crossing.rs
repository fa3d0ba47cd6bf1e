//! Which regions of a program on several nodes cross: where does the program's time get shorter?
//!
//! A region that crosses nodes without common memory pays messages for its start and end, and a fault for each
//! page that another node wrote last. Whether its threads' further cores are worth that depends on the
//! program, the data and the link, so it is measured.
//!
//! **Regions are tried together.** A time step of a program consists of several regions that work on the same
//! arrays. If one of them crosses alone, its half of each array travels to the other node and back in every
//! step; if all of them cross, each half stays where it is. So a *trial* lets all regions cross for some
//! executions, and then they are compared together: their times across, and the time that the origin waited
//! for pages between and during regions that stayed, against their times before. The comparison is that of any two ways
//! ([`crate::gain`]): the mean of log ratios with its error, until one place is better by two errors. Regions that
//! surely lose stay at home even where all together win.
//!
//! **Cold faults are not steady faults.** The first crossings of a region in a trial move its data, and are not
//! compared with anything. But they cost. So the caller looks at home's faults while it runs: home had all pages
//! before, so what it waits for is what others took within the same execution, and they will do so each time. Where
//! that is hopeless, it stops the execution half-way ([`Crossings::trial`], [`Crossings::gave_up`]).
//!
//! **What trials lose is bounded** by the process's ledger, whose balance is passed to [`Crossings::next`]. Every
//! nanosecond that a region took longer than before, and every nanosecond that the origin waited for a page outside of
//! crossing regions, is returned as lost. A trial begins when what moving its data is expected to take
//! ([`Crossings::data`]) is left, and ends when nothing is and its regions have run there with their pages, or at once
//! if serial code waits for pages that long. Where that would be too late, a part of the work is tried before
//! (`probe`). After a trial that failed, the next one waits until the time spent in regions has doubled, and twice the
//! loss of the last one is left.
//!
//! **Other nodes.** A region's function cannot be called for a part of its work, so each execution across nodes is the
//! probe: it shows what each node takes for its part. After the trial of crossing, the node is tried that promises
//! most, by the same comparison.
//!
//! **No verdict is final.** Regions that are kept away from home are compared further, with what they took at home, and
//! all return if they surely lose. What a region took at home may have been wrong (other programs had its cores) or be
//! no more: it is measured there anew when its times away leave their band, and else after a number of executions that
//! doubles each time.
//!
//! Pure: times come in, places go out.

pub mod blocks;
mod change;
pub mod division;
pub mod early;
mod elsewhere;
mod probe;
mod region;

use crate::gain::{Estimate, Ratio};
use crate::limits::{ALLOWANCE_NS, FIRST_PERIOD, MEMORY};
use crate::ways::{Reason, Way};
use early::{Threshold, Trial};
use region::Region;
use std::collections::BTreeMap;

/// The first crossings of all regions move this part of the data, and leaving for another node then moves the rest.
const MOVES: f64 = 0.5;
/// A thread cannot touch more pages than one in this many nanoseconds of its work.
const TOUCH_NS: f64 = 50.0;
/// Executions at home before a region's time there is known. The first one starts threads and touches memory
/// for the first time.
const HOME_RUNS: u32 = 2;
/// What starting and ending a region across nodes costs before it was measured, in nanoseconds. A region that
/// cannot gain that much is never tried.
const OVERHEAD_NS: f64 = 100_000.0;

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Regions run at `place`, but for those that are out. `lost_ns`: what that has lost lately.
    Kept { place: Way, lost_ns: f64 },
    /// All regions that may gain are tried at `place`. `left_ns`: what the trial may still lose; `lost_ns`: what it has
    /// lost.
    Trial {
        place: Way,
        from: Way,
        extent: Extent,
        left_ns: f64,
        lost_ns: f64,
    },
}

/// What a trial is about.
#[derive(Clone, Copy, Debug)]
enum Extent {
    All,
    /// All, and it may lose what crossing would have saved so far, besides what the ledger has left.
    Promised(f64),
    /// Other nodes get this part of the work.
    Part(f64),
}

/// What is known of a place other than home.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    /// Time spent in regions before which no trial of this place begins; 0: there was none.
    again_ns: f64,
    /// What the last trial of this place lost.
    loss_ns: f64,
}

/// The regions of one program, by a number that identifies a region (the address of its code).
#[derive(Clone, Debug)]
pub struct Crossings {
    nodes: usize,
    /// The program's pages, and nanoseconds that moving one takes: to a thread, and of many at the same time.
    data: (f64, f64, f64),
    regions: BTreeMap<usize, Region>,
    phase: Phase,
    spent_ns: f64,
    /// At the current place, if that is not home: the time of regions, and what the origin waited for pages outside of
    /// them. While it is kept, older times count less.
    away_ns: f64,
    fetched_ns: f64,
    /// How much longer regions took before the trial for that waiting.
    before: f64,
    /// By place: across first, then the nodes but for home.
    tried: Vec<Tried>,
    /// Time spent in regions before which no part of the work is tried.
    probe_again_ns: f64,
    overhead_ns: f64,
    /// What trials may still lose.
    left_ns: f64,
    /// What the origin would wait for pages outside of regions that are away, in each time step, if others did all
    /// work, as the last trial has shown.
    serial_ns: f64,
}

fn is_home(place: Way) -> bool {
    matches!(place, Way::Ordinary(_))
}

fn index(place: Way) -> usize {
    if let Way::Elsewhere(node) = place {
        node
    } else {
        0
    }
}

impl Crossings {
    /// A program on `nodes` nodes of which nothing is known.
    pub fn new(nodes: u32) -> Crossings {
        let nodes = nodes.max(1) as usize;
        Crossings {
            nodes,
            data: (0.0, 0.0, 0.0),
            regions: BTreeMap::new(),
            phase: Phase::Kept {
                place: Way::HOME,
                lost_ns: 0.0,
            },
            spent_ns: 0.0,
            away_ns: 0.0,
            fetched_ns: 0.0,
            before: 1.0,
            tried: vec![Tried::default(); nodes],
            probe_again_ns: 0.0,
            overhead_ns: OVERHEAD_NS,
            left_ns: 0.0,
            serial_ns: 0.0,
        }
    }

    /// Starting and ending a region across nodes was measured to take so long.
    pub fn overhead(&mut self, ns: f64) {
        self.overhead_ns = ns;
    }

    /// The program has used this many pages so far. Each takes `one_ns` to come to a thread that needs one after the
    /// other, as serial code does and threads that need the same, and `many_ns` where all of a node's threads need
    /// different ones.
    pub fn data(&mut self, pages: u64, one_ns: f64, many_ns: f64) {
        self.data = (pages as f64, one_ns, many_ns);
    }

    /// Where the region's next execution runs: across, whole on another node, or as an ordinary team at the origin.
    /// Trials may still lose `left_ns`. Report the execution by [`Crossings::ran`].
    pub fn next(&mut self, region: usize, left_ns: f64) -> Way {
        self.left_ns = left_ns;
        self.give_up_probe();
        if let Phase::Kept { .. } = self.phase {
            self.look_back(region, left_ns);
            self.consider(region, left_ns);
        }
        let mut left_ns = left_ns;
        if let Phase::Trial {
            left_ns: left,
            extent,
            ..
        } = &mut self.phase
        {
            if let Extent::Promised(ns) = extent {
                left_ns += *ns;
            }
            *left = left_ns;
            if left_ns < 0.0 && self.fetched_ns > ALLOWANCE_NS as f64 {
                self.judge_trial();
            }
        }
        let place = self.place();
        let whole = matches!(place, Way::Elsewhere(_));
        match self.why(region) {
            // One that stayed would take the pages back home, and from there the others would fetch them.
            Reason::Tried | Reason::Faster | Reason::Short if whole => place,
            // Its pages would move for the first time, and nothing is left for that.
            Reason::Tried if left_ns <= 0.0 && self.is_cold(region) => Way::Ordinary(Reason::Tried),
            _ if !self.may_follow(region, left_ns) => Way::Ordinary(Reason::Untried),
            Reason::Tried | Reason::Faster => place,
            why => Way::Ordinary(why),
        }
    }

    fn is_cold(&self, region: usize) -> bool {
        self.regions.get(&region).is_none_or(|r| r.runs == 0)
    }

    /// Others gain away from home, and the region was not tried with them: may its pages move, too?
    fn may_follow(&self, region: usize, left_ns: f64) -> bool {
        let bounded = |extent| matches!(extent, Extent::Promised(_) | Extent::Part(_));
        let asks = !matches!(self.phase, Phase::Trial { extent, .. } if bounded(extent));
        self.regions.get(&region).is_none_or(|r| {
            let own = |other: &Region| core::ptr::eq(other, r);
            !asks || r.tried || r.runs > 0 || self.moving_ns(own, self.data.1) <= left_ns
        })
    }

    /// Begins a trial if one may begin now.
    fn consider(&mut self, region: usize, left_ns: f64) {
        let why = self.why(region);
        let promised_ns = self.promised_ns();
        if !matches!(why, Reason::Untried | Reason::Slower | Reason::Faster) {
            return;
        }
        if is_home(self.place()) && left_ns.max(promised_ns) > 0.0 {
            let first = self.tried[0].again_ns == 0.0;
            let is_new = |r: &Region| !r.tried;
            if self.candidates().any(is_new) {
                let moving_ns = self.moving_ns(is_new, self.data.1);
                // What others lost says how much a trial may cost, but they need not have another one first.
                let is_left = self.is_left(Way::Across, left_ns.max(promised_ns));
                let extent = match is_left {
                    true if moving_ns <= left_ns => Some(Extent::All),
                    true if moving_ns <= promised_ns => Some(Extent::Promised(promised_ns)),
                    _ => self.affordable(is_new, left_ns).map(Extent::Part),
                };
                if let Some(extent) = extent {
                    return self.begin_trial(Way::Across, extent, left_ns, !first);
                }
            } else if self.may_try(Way::Across, left_ns) {
                return self.begin_trial(Way::Across, Extent::All, left_ns, false);
            }
        }
        let r = self.regions.get(&region);
        if r.is_some_and(|r| !r.alone_ns.is_empty()) {
            if let Some((place, extent)) = self.best_node(left_ns) {
                self.begin_trial(place, extent, left_ns, false);
            }
        }
    }

    /// Measures a region that is kept away from home there anew, if it is time for that and moving all pages home and
    /// back (others may use the same) takes no longer than is left, or than one execution in as many as pass before the
    /// first look: where all is lost because of what was measured wrong, that must be found.
    fn look_back(&mut self, region: usize, left_ns: f64) {
        let away = self.regions.values().filter(|r| !r.out);
        let moving = away.map(|r| (r.cold_ns - f64::from(r.moving()) * r.recent_ns).max(0.0));
        let moving_ns = 2.0 * moving.sum::<f64>();
        let due = |r: &Region| {
            let away_ns = f64::from(r.runs) * r.recent_ns;
            r.runs.checked_shr(r.looks) >= Some(FIRST_PERIOD)
                && moving_ns <= left_ns.max(away_ns / f64::from(FIRST_PERIOD))
        };
        if self.why(region) == Reason::Faster && self.regions.get(&region).is_some_and(due) {
            self.regions.entry(region).or_default().look_back();
        }
    }

    /// Is what the last trial of this place lost left, and as much again? With less, a trial that failed because moving
    /// the data was dear would fail in the same execution again.
    fn is_left(&self, place: Way, left_ns: f64) -> bool {
        2.0 * self.tried[index(place)].loss_ns <= left_ns
    }

    /// May this place be tried again, or for the first time?
    fn may_try(&self, place: Way, left_ns: f64) -> bool {
        self.spent_ns >= self.tried[index(place)].again_ns && self.is_left(place, left_ns)
    }

    /// What moving the pages of some regions is expected to take, each `fault_ns`, if no trial of a part has shown it.
    fn moving_ns(&self, of: impl Fn(&Region) -> bool, fault_ns: f64) -> f64 {
        let pages = self.data.0;
        let all = || self.candidates().filter(|r| of(r));
        let known = all().map(|r| r.moved_ns).sum::<Option<f64>>();
        known.unwrap_or_else(|| {
            let home_ns: f64 = all().map(|r| r.home_ns).sum();
            MOVES * fault_ns * pages.min(home_ns / TOUCH_NS)
        })
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
                Phase::Trial { .. } => Reason::Tried,
                Phase::Kept { place, .. } if !is_home(place) => Reason::Faster,
                Phase::Kept { .. } if r.tried => Reason::Slower,
                Phase::Kept { .. } => Reason::Untried,
            }
        }
    }

    /// Where regions run that gain from leaving home, or where they are tried.
    fn place(&self) -> Way {
        match self.phase {
            Phase::Kept { place, .. } | Phase::Trial { place, .. } => place,
        }
    }

    /// The average time of the region at home in nanoseconds, 0 if it is not known; and its average time
    /// away from home, 0 if it did not leave lately.
    pub fn times(&self, region: usize) -> (u64, u64) {
        (self.regions.get(&region)).map_or((0, 0), |r| (r.home_ns as u64, r.recent_ns as u64))
    }

    /// The region's next execution across nodes divides its work in another way than the one before: steady times of
    /// that one are no longer those of what would be kept, and pages move anew.
    pub fn divided(&mut self, region: usize) {
        if let (Phase::Trial { .. }, Some(r)) = (&self.phase, self.regions.get_mut(&region)) {
            if r.has_moved() {
                r.leaves();
            }
        }
    }

    /// The trial that the region's next execution across nodes is, if it is one, which begins at this time.
    pub fn trial(&self, region: usize, began: u64, threshold: Threshold) -> Option<Trial> {
        let (runs, home_ns, left_ns) = match (&self.phase, self.regions.get(&region)) {
            (Phase::Trial { left_ns, .. }, Some(r)) => {
                (r.runs, r.before_ns.max(r.home_ns), *left_ns)
            }
            (_, None) if self.left_ns > 0.0 => (0, 0.0, self.left_ns),
            _ => return None,
        };
        Some(Trial {
            in_shares: runs == 0 || self.part().is_some(),
            part: self.part().unwrap_or(1.0),
            home_ns,
            spare_ns: left_ns.max(0.0),
            began,
            threshold,
        })
    }

    /// An execution of the region took `ns`. `waited_ns`: the part of `ns` for which a thread waited for pages that
    /// were on other nodes, of an execution at home. Returns by how many nanoseconds more, or fewer, trials are now
    /// known to have lost.
    pub fn ran(&mut self, region: usize, place: Way, ns: u64, waited_ns: u64) -> f64 {
        self.spent_ns += ns as f64;
        if is_home(place) {
            let waited_ns = waited_ns.min(ns);
            let r = self.regions.entry(region).or_default();
            r.at_home((ns - waited_ns) as f64);
            // Its pages come home for the look, not for what regions that cross have written.
            return match r.look_ns(ns as f64) {
                Some(lost) => lost,
                None => self.fetched(waited_ns),
            };
        }
        self.left_home(region, ns as f64)
    }

    /// The origin waited `ns` for pages of other nodes while no region was away. Returns the same as
    /// [`Crossings::ran`].
    pub fn fetched(&mut self, ns: u64) -> f64 {
        let ns = ns as f64;
        self.fetched_ns += ns;
        match &mut self.phase {
            // They return after a trial.
            Phase::Kept { place, .. } if is_home(*place) => ns,
            Phase::Kept { lost_ns, .. } => {
                *lost_ns += ns;
                0.0
            }
            Phase::Trial {
                left_ns, lost_ns, ..
            } => {
                *left_ns -= ns;
                *lost_ns += ns;
                ns
            }
        }
    }

    fn may_gain(&self, r: &Region) -> bool {
        r.home_ns * (1.0 - 1.0 / self.nodes as f64) > self.overhead_ns
    }

    /// The regions that a trial would be about.
    fn candidates(&self) -> impl Iterator<Item = &Region> {
        let all = self.regions.values();
        all.filter(|r| r.home_runs >= HOME_RUNS && self.may_gain(r))
    }

    fn begin_trial(&mut self, place: Way, extent: Extent, left_ns: f64, only_new: bool) {
        self.tried(place).again_ns = 2.0 * self.spent_ns;
        let from = self.place();
        let more = match extent {
            Extent::All => 0,
            // A time step often reads what the one before it wrote, and writes what that read. Where there is much of
            // that, the second execution says nothing either.
            Extent::Promised(_) | Extent::Part(_) => 1,
        };
        for r in self.regions.values_mut() {
            let was_away = !is_home(from) && !r.out && r.recent_ns > 0.0;
            r.before_ns = if was_away { r.recent_ns } else { r.home_ns };
            r.leaves();
            r.more = more;
            (r.was_out, r.out) = (r.out, only_new && r.tried);
        }
        // Serial code waited for pages there, too.
        self.before = 1.0 + self.fetched_part();
        (self.away_ns, self.fetched_ns) = (0.0, 0.0);
        if let Extent::Part(_) = extent {
            self.probe_again_ns = self.spent_ns;
        }
        self.phase = Phase::Trial {
            place,
            from,
            extent,
            left_ns,
            lost_ns: 0.0,
        };
    }

    fn keep(&mut self, place: Way) {
        self.before = 1.0;
        self.phase = Phase::Kept {
            place,
            lost_ns: 0.0,
        };
    }

    fn tried(&mut self, place: Way) -> &mut Tried {
        &mut self.tried[index(place)]
    }

    /// What the origin waited for pages outside of regions, as a part of the regions' time away from home.
    fn fetched_part(&self) -> f64 {
        if self.away_ns > 0.0 {
            self.fetched_ns / self.away_ns
        } else {
            0.0
        }
    }

    /// How many times as long all regions that are away took before, with all waiting. `None`: no steady execution yet.
    fn together(&self) -> Option<Estimate> {
        let mut all = Ratio::NONE;
        let away = self.regions.values().filter(|r| !r.out);
        away.for_each(|r| all.join(&r.ratio));
        let longer = (1.0 + self.fetched_part()) / self.before;
        all.estimate().map(|e| e.shifted(-longer.ln()))
    }

    fn left_home(&mut self, region: usize, ns: f64) -> f64 {
        let known = self.regions.get(&region);
        let follows = known.is_some_and(|r| !self.may_gain(r));
        let r = self.regions.entry(region).or_default();
        r.away(ns);
        self.away_ns += ns;
        match &mut self.phase {
            Phase::Kept { place, .. } if is_home(*place) => self.started(region, ns),
            Phase::Kept { lost_ns, place } => {
                r.tried = true;
                r.ratio.fade(MEMORY);
                let looked = r.look_ns(ns).unwrap_or(0.0);
                r.away_ns = 0.0;
                if r.has_moved() {
                    r.ratio.add(ns, r.home_ns, 1.0);
                }
                *lost_ns = (*lost_ns + ns - r.home_ns).max(0.0);
                let whole = matches!(place, Way::Elsewhere(_));
                if r.has_moved() && r.band.leaves(ns) {
                    // What is known of the time at home is about other work.
                    r.home_runs = 0;
                    r.leaves();
                } else if r.loses() && !whole && !follows {
                    r.out = true;
                }
                (self.away_ns, self.fetched_ns) = (self.away_ns * MEMORY, self.fetched_ns * MEMORY);
                looked + self.judge_kept()
            }
            Phase::Trial {
                left_ns,
                lost_ns,
                extent,
                ..
            } => {
                r.tried |= !matches!(extent, Extent::Part(_));
                if r.before_ns == 0.0 {
                    r.before_ns = r.home_ns;
                }
                if r.has_moved() {
                    r.ratio.add(ns, r.before_ns, 1.0);
                }
                let loss = (ns - r.before_ns).max(-*lost_ns);
                *lost_ns += loss;
                *left_ns -= loss;
                let spent = *left_ns < 0.0;
                if self.is_decided(region, spent) {
                    self.judge_trial();
                }
                loss
            }
        }
    }

    /// Is the trial over? All regions that it has met must have been there long enough (their pages have moved, and the
    /// next execution tells what that was worth), or one so often that the others come rarely.
    fn is_decided(&self, region: usize, spent: bool) -> bool {
        let often = self.regions[&region].runs > FIRST_PERIOD / 2;
        if self.part().is_some() {
            return often || self.has_probed();
        }
        let mut met = self.regions.values().filter(|r| r.runs > 0);
        let clear = || self.together().is_some_and(|e| e.is_clear());
        often || met.all(Region::has_moved) && (spent || clear())
    }

    /// An execution in a trial, reported by [`Crossings::ran`], was hopeless, so that home ran what was left of it.
    /// That ends the trial.
    pub fn gave_up(&mut self, region: usize) {
        self.judge_trial();
        let at_home = is_home(self.place());
        if let (false, Some(r)) = (at_home, self.regions.get_mut(&region)) {
            r.out = true;
        }
    }

    /// What was seen so far counts, also if the trial ended because it cost too much.
    fn judge_trial(&mut self) {
        let Phase::Trial {
            place,
            from,
            lost_ns,
            extent,
            ..
        } = self.phase
        else {
            return;
        };
        if let Extent::Part(_) = extent {
            return self.end_probe();
        }
        self.learn_serial(1.0);
        self.forget_promises();
        let wins = self.together().is_some_and(|e| e.mean > 0.0);
        self.tried(place).loss_ns = lost_ns;
        let whole = matches!(place, Way::Elsewhere(_));
        let mut any = false;
        for r in self.regions.values_mut().filter(|r| r.has_moved()) {
            if place == Way::Across {
                r.across_ns = r.recent_ns;
            }
            // Whole on one node, all regions go or none: one that stayed would take its pages back.
            r.out |= if wins {
                !whole && r.loses()
            } else {
                !r.gains()
            };
            any |= !r.out;
        }
        if wins || any && !whole && is_home(from) {
            // A region that was not seen in the trial, or only cold, goes too: what is kept will show.
            self.keep(place);
        } else {
            self.fail(place, from);
        }
    }

    /// Regions go home, or to where they were before, and are not tried at `place` for some time.
    fn fail(&mut self, place: Way, to: Way) {
        self.tried(place).again_ns = 2.0 * self.spent_ns;
        self.go(to);
    }

    fn go(&mut self, to: Way) {
        for r in self.regions.values_mut() {
            r.out = !is_home(to) && r.was_out;
            r.leaves();
        }
        (self.away_ns, self.fetched_ns) = (0.0, 0.0);
        self.keep(to);
    }

    /// Do regions that are kept away surely lose? Returns what they have lost.
    fn judge_kept(&mut self) -> f64 {
        let Phase::Kept { place, lost_ns } = self.phase else {
            return 0.0;
        };
        let dear = lost_ns > self.left_ns.max(0.0);
        let lose = |e: Estimate| (e.is_clear() || dear) && e.mean < 0.0;
        if !self.together().is_some_and(lose) {
            return 0.0;
        }
        self.tried(place).loss_ns = lost_ns;
        self.fail(place, Way::HOME);
        lost_ns
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod whole;
