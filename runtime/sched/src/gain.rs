//! Is a region faster as a virtual team or as an ordinary one, or on one thread?
//!
//! A virtual team (see [`crate::virtual_team`]) reaches loops that no schedule reaches otherwise. It also
//! costs something: more calls, more borders between threads, switches of stacks. Where nodes are unlike, the
//! gain is mostly far above the cost. In a region of some microseconds, in a region with no more pieces than
//! threads, or where all nodes are alike, there is only the cost. So both ways are tried, and the better one
//! is kept until the next trial. It is then compared with one thread, too, where the paces of a virtual team's threads
//! say that the fastest of them would not have taken much longer alone ([`Run::alone_ns`]): in a short region, on nodes
//! far apart in speed, next to other processes that want the cores.
//!
//! **One trial** compares any two ways: by pairs of executions, one after the other ([`ratio`]). Which of the two
//! runs first changes from pair to pair, since a region may have two sizes in turns. A way wins beyond two errors.
//! Besides, an execution as a virtual team alone tells what an ordinary team would have taken: with equal shares
//! it ends with the slowest thread ([`Run::equal_ns`]). Where this promises much, virtual teams come first, as many
//! regions run a few times only.
//!
//! **What trials lose is bounded** by the process's ledger, whose balance is passed with each [`Turn`]. What a trial
//! has lost, as far as is known, is returned after each pair, so that the ledger never lags behind by more than a pair.
//! An execution of the worse way that is known to lose more than is left does not take place, and the better way as far
//! as is known is kept.
//!
//! **Noise is no fact.** A pair of which an execution was disturbed ([`Run::disturbed`]) counts for a part only, so
//! that more of them are needed. No verdict is final: there is another trial after a number of executions, which
//! doubles each time the trial says the same. If the time of the chosen way leaves its [`band`] for several
//! executions, all begins anew; if a virtual team's paces no longer promise a gain, the next trial begins at once.
//!
//! **What a run has found, the next one begins with** ([`Kept`]). What two trials in a row have said is believed for
//! one period. What a single one has said may be the doing of another process that ran at the same time: it only says
//! which way is tried first.
//!
//! Pure: no clock, no lock. The driver asks [`Gain::turn`] before an execution and brings the measurement
//! after it.

mod band;
mod ratio;

use crate::limits::{
    AROUND_NS, DISTURBED, FIRST_PERIOD, FORGET, INTERRUPTED, LONGEST_PERIOD, LONGEST_REST, MEMORY,
    SHORT_NS, SYSTEMATIC,
};
use crate::ways::{Reason, Way};
pub(crate) use band::Band;
pub(crate) use ratio::{Estimate, Ratio};

/// A team of real threads, with equal shares.
pub const ORDINARY: Way = Way::Ordinary(Reason::NoGain);

fn index(way: Way) -> usize {
    match way {
        Way::Virtual => 0,
        Way::Alone => 1,
        _ => 2,
    }
}

/// The measurement of one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// Nanoseconds from its beginning to its end.
    pub elapsed_ns: f64,
    /// Nanoseconds that equal shares would have taken on the same threads; 0 where this is not known. Only
    /// for virtual teams.
    pub equal_ns: f64,
    /// Nanoseconds that the fastest of the threads would have taken alone, likewise.
    pub alone_ns: f64,
    /// Threads were suspended at barriers.
    pub suspended: bool,
    /// A thread lost its core for a part of the execution that matters.
    pub disturbed: bool,
}

/// What the driver says before an execution.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// A team of one is right for this region.
    pub may_be_alone: bool,
    /// Nanoseconds that trials may still lose.
    pub left_ns: f64,
}

/// The way that a process has found to be better, for other processes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// The better way.
    pub way: Way,
    /// What the region usually takes that way, in nanoseconds.
    pub ns: f64,
    /// More than one trial in a row has said so.
    pub confirmed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The region has not run yet as a virtual team.
    New,
    /// Virtual and ordinary teams are compared.
    Teams,
    /// The better of both teams is compared with one thread alone.
    Alone,
    /// The better way is kept for `left` further executions, `rest` of which may pass unmeasured.
    Settled { left: u32, rest: u32 },
}

/// What is known about the gain of one region.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    state: State,
    /// Ordinary team to virtual team: measured, and concluded from virtual teams.
    teams: Ratio,
    equal: Ratio,
    /// One thread to virtual team, concluded likewise.
    fastest: Ratio,
    suspended: bool,
    /// The better team to one thread.
    alone: Ratio,
    /// The better team, and the better way.
    team: Way,
    best: Way,
    is_judged: bool,
    /// The running pair: its finished execution, and whether it was disturbed.
    first: Option<(Way, f64, bool)>,
    /// Pairs of the running comparison.
    pairs: u32,
    /// Nanoseconds of the shorter executions of these pairs, and what the ledger knows these pairs to have lost.
    tried_ns: f64,
    charged_ns: f64,
    /// Nanoseconds of the last execution of each way that counted.
    last_ns: [f64; 3],
    /// Executions until the next trial, once settled.
    period: u32,
    /// The last virtual team has come to harm.
    harmed: bool,
    /// When the region settled, the paces of its virtual team promised a gain.
    promised: bool,
    may_be_alone: bool,
    band: Band,
}

impl Default for Gain {
    fn default() -> Self {
        Gain::new()
    }
}

impl Gain {
    /// Nothing is known: the region's first execution is a virtual team.
    #[must_use]
    pub const fn new() -> Self {
        Gain {
            state: State::New,
            teams: Ratio::NONE,
            equal: Ratio::NONE,
            fastest: Ratio::NONE,
            suspended: false,
            alone: Ratio::NONE,
            team: Way::Virtual,
            best: Way::Virtual,
            is_judged: false,
            first: None,
            pairs: 0,
            tried_ns: 0.0,
            charged_ns: 0.0,
            last_ns: [0.0; 3],
            period: FIRST_PERIOD,
            harmed: false,
            promised: false,
            may_be_alone: false,
            band: Band::NONE,
        }
    }

    /// Another process has found this.
    #[must_use]
    pub fn restored(kept: Kept) -> Self {
        let mut gain = Gain {
            state: State::Teams,
            team: if kept.way == Way::Virtual {
                Way::Virtual
            } else {
                ORDINARY
            },
            best: kept.way,
            is_judged: true,
            ..Gain::new()
        };
        if kept.confirmed {
            gain.period = 2 * FIRST_PERIOD;
            gain.last_ns[index(kept.way)] = kept.ns;
            gain.keep(kept.way);
            gain.promised = true;
        }
        gain
    }

    /// What this process has found, for others. `None`: nothing yet.
    #[must_use]
    pub fn kept(&self) -> Option<Kept> {
        self.is_judged.then(|| Kept {
            way: self.best,
            ns: self
                .band
                .usual_ns()
                .unwrap_or(self.last_ns[index(self.best)]),
            confirmed: self.period > FIRST_PERIOD,
        })
    }

    /// The way of the next execution.
    pub fn turn(&mut self, turn: Turn) -> Way {
        self.may_be_alone = turn.may_be_alone;
        if !turn.may_be_alone && (self.state == State::Alone || self.best == Way::Alone) {
            self.keep(self.team);
        }
        if let State::Settled { left, .. } = &mut self.state {
            if let Some(fewer) = left.checked_sub(1) {
                *left = fewer;
                return self.best;
            }
            self.begin_trial();
        }
        if self.state == State::New {
            return Way::Virtual;
        }
        let (one, other) = self.ways();
        let next = match self.first {
            Some((way, ..)) if way == one => other,
            Some(_) => one,
            None => self.next_of_pair(),
        };
        if self.sure_loss_ns() >= turn.left_ns {
            self.keep(self.favourite());
            return self.best;
        }
        next
    }

    /// The ways that are compared.
    fn ways(&self) -> (Way, Way) {
        match self.state {
            State::Alone => (Way::Alone, self.team),
            _ => (Way::Virtual, ORDINARY),
        }
    }

    /// The first way of a new pair.
    fn next_of_pair(&self) -> Way {
        let (one, other) = self.ways();
        if self.pairs == 0 {
            // Most regions run a few times only.
            return self.favourite();
        }
        // Each order equally often, and with no period that a region may have, too.
        [one, other][self.pairs.count_ones() as usize % 2]
    }

    /// What is known of the running comparison: the log ratio of the second way's time to the first one's.
    fn estimate(&self) -> Option<Estimate> {
        if self.state == State::Alone {
            return self.alone.estimate();
        }
        let concluded = self.equal.concluded(self.suspended);
        match (self.teams.estimate(), concluded) {
            (Some(measured), Some(concluded)) if !self.suspended => Some(measured.and(concluded)),
            (measured, concluded) => measured.or(concluded),
        }
    }

    /// The way that is better as far as is known.
    fn favourite(&self) -> Way {
        let (one, other) = self.ways();
        // What was measured counts more than what was concluded.
        let measured = self.teams.estimate().filter(|e| e.is_clear());
        let measured = measured.filter(|_| self.state == State::Teams);
        match measured.or_else(|| self.estimate()) {
            _ if self.harmed => other,
            Some(e) if e.mean > 0.0 => one,
            None if self.state == State::Teams && self.is_judged => self.team,
            // The first execution told nothing: it was so short that one thread ran all pieces, or the other was still
            // starting. A region that runs a few times only is better off with a second one before the comparison.
            None => one,
            Some(_) => other,
        }
    }

    /// Nanoseconds that a pair of the running comparison loses at least, as far as is known beyond two errors.
    fn sure_loss_ns(&self) -> f64 {
        let (one, other) = self.ways();
        let known = [one, other].map(|way| self.last_ns[index(way)]);
        let shorter = known.into_iter().filter(|&ns| ns > 0.0);
        let factor = self.estimate().map_or(1.0, |e| e.least().exp());
        shorter
            .reduce(f64::min)
            .map_or(0.0, |ns| ns * (factor - 1.0))
    }

    /// Takes the executions that may run `this` way without another [`Gain::turn`], and returns their number.
    /// They count as run.
    pub fn take_rest(&mut self, this: Way) -> u32 {
        let strays = self.band.strays();
        match &mut self.state {
            State::Settled { left, rest } if self.best == this => {
                // All of a team of one: the driver times each of its executions (see `longest_alone_ns`).
                let most = if this == Way::Alone { u32::MAX } else { *rest };
                let taken = if strays { 0 } else { (*left).min(most) };
                *left -= taken;
                *rest = (*rest * 2 + 1).min(LONGEST_REST);
                taken
            }
            _ => 0,
        }
    }

    /// Are ways being compared?
    #[must_use]
    pub fn is_in_trial(&self) -> bool {
        !matches!(self.state, State::Settled { .. })
    }

    /// Are the next executions so short that asking the system each time for a disturbance would cost too
    /// much?
    #[must_use]
    pub fn is_in_haste(&self) -> bool {
        self.state == State::Alone && self.last_ns[index(self.team)] <= SHORT_NS
    }

    /// Nanoseconds. An execution by one thread that takes longer must be brought to [`Gain::learn`],
    /// even if it is among the executions that [`Gain::take_rest`] gave away.
    #[must_use]
    pub fn longest_alone_ns(&self) -> f64 {
        self.band.upper_ns().max(AROUND_NS)
    }

    /// `unused` of the executions that [`Gain::take_rest`] gave away have not taken place, as one of them took long.
    pub fn give_back(&mut self, unused: u32) {
        if let State::Settled { left, .. } = &mut self.state {
            *left += unused;
        }
    }

    /// Learns from an execution. Returns by how many nanoseconds more, or fewer, trials are now known to have lost.
    pub fn learn(&mut self, way: Way, run: &Run) -> f64 {
        let ns = run.elapsed_ns;
        let disturbed = run.disturbed || self.is_in_haste() && ns > INTERRUPTED * SHORT_NS;
        self.last_ns[index(way)] = ns;
        if way == Way::Virtual {
            self.harmed = false;
            self.suspended |= run.suspended;
            // Other processes slow equal shares down as well. But a first execution may have waited for a thread to
            // start.
            let counts = !(disturbed && self.state == State::New);
            let settled = matches!(self.state, State::Settled { .. });
            for (ratio, other_ns) in [
                (&mut self.equal, run.equal_ns),
                (&mut self.fastest, run.alone_ns),
            ] {
                if counts && other_ns > 0.0 {
                    ratio.fade(if settled { MEMORY } else { 1.0 });
                    ratio.add(ns, other_ns, 1.0);
                }
            }
        }
        match self.state {
            State::Settled { .. } => {
                let broken = way == Way::Virtual && self.promised && self.promises() == Some(false);
                if self.band.leaves(ns) {
                    self.begin_anew();
                } else if broken {
                    self.begin_trial();
                }
                0.0
            }
            State::New => {
                self.state = State::Teams;
                // It touches memory for the first time. Where it promises a gain, or tells nothing (it was so short
                // that one thread ran all pieces, or the other was still starting), there is a second virtual team
                // before the comparison.
                let told = self.equal.concluded(self.suspended);
                let promising = told.is_none_or(|e| e.is_clear() && e.mean > 0.0);
                self.first = (!promising).then_some((way, ns, disturbed));
                0.0
            }
            State::Teams | State::Alone => self.learn_of_pair(way, ns, disturbed),
        }
    }

    fn learn_of_pair(&mut self, way: Way, ns: f64, disturbed: bool) -> f64 {
        let (one, other) = self.ways();
        let before = self.first.take().filter(|&(before, ..)| before != way);
        let Some((_, ns_before, was)) = before else {
            self.first = (way == one || way == other).then_some((way, ns, disturbed));
            return 0.0;
        };
        let (one_ns, other_ns) = if way == other {
            (ns_before, ns)
        } else {
            (ns, ns_before)
        };
        let part = if disturbed || was { DISTURBED } else { 1.0 };
        let ratio = match self.state {
            State::Alone => &mut self.alone,
            _ => &mut self.teams,
        };
        if self.pairs == 0 {
            ratio.fade(FORGET);
        }
        ratio.add(one_ns, other_ns, part);
        self.pairs += 1;
        // What another process has taken is not lost by the trial.
        self.tried_ns += one_ns.min(other_ns) * part;
        let Some(e) = self.estimate() else { return 0.0 };
        let lost_ns = self.tried_ns * (e.mean.abs().exp() - 1.0);
        let more_ns = lost_ns - self.charged_ns;
        self.charged_ns = lost_ns;
        if e.is_clear() || 2 * self.pairs >= FIRST_PERIOD {
            self.conclude(if e.mean > 0.0 { one } else { other });
        }
        more_ns
    }

    /// The next pair is the first one of a comparison.
    fn no_pairs(&mut self) {
        (self.pairs, self.tried_ns, self.charged_ns) = (0, 0.0, 0.0);
    }

    /// A virtual team came to harm: its threads waited for each other in a way that the runtime does not see. All that
    /// it took is lost.
    pub fn learn_harm(&mut self) {
        self.begin_anew();
        self.harmed = true;
        self.keep(ORDINARY);
    }

    /// Do the paces of virtual teams say that equal shares would take longer?
    fn promises(&self) -> Option<bool> {
        self.equal.estimate().map(|e| e.mean > SYSTEMATIC)
    }

    /// May one thread be as fast as the better team, as far as the paces of virtual teams say?
    fn may_be_as_fast_alone(&self) -> bool {
        let ordinary = self.teams.estimate().map_or(0.0, |e| e.mean.min(0.0));
        let alone = self.fastest.estimate();
        alone.is_some_and(|e| e.mean - ordinary < SYSTEMATIC)
    }

    /// The running comparison has found the better of its two ways.
    fn conclude(&mut self, way: Way) {
        self.no_pairs();
        if self.state == State::Teams {
            self.team = way;
            if self.may_be_alone && self.may_be_as_fast_alone() {
                self.state = State::Alone;
                return;
            }
        }
        self.period = if self.is_judged && self.best == way {
            (self.period * 2).min(LONGEST_PERIOD)
        } else {
            FIRST_PERIOD
        };
        self.is_judged = true;
        self.keep(way);
    }

    /// Keeps `way` until the next trial.
    fn keep(&mut self, way: Way) {
        if self.state == State::Alone {
            self.no_pairs();
        }
        self.best = way;
        self.first = None;
        self.promised = self.promises() == Some(true);
        self.band.settle(self.last_ns[index(way)]);
        self.state = State::Settled {
            left: self.period,
            rest: 0,
        };
    }

    /// Begins a trial, or continues one that would have cost too much.
    fn begin_trial(&mut self) {
        let alone = self.best == Way::Alone;
        self.state = if alone { State::Alone } else { State::Teams };
        self.first = None;
    }

    /// The region is another one than before.
    fn begin_anew(&mut self) {
        (self.state, self.first) = (State::Teams, None);
        self.no_pairs();
        self.teams = Ratio::NONE;
        self.equal = Ratio::NONE;
        self.fastest = Ratio::NONE;
        self.alone = Ratio::NONE;
        self.is_judged = false;
        self.period = FIRST_PERIOD;
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
