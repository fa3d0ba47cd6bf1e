//! Is a region faster as a virtual team or as an ordinary one?
//!
//! A virtual team (see [`crate::virtual_team`]) reaches loops that no schedule reaches otherwise. It also
//! costs something: more calls, more borders between threads, switches of stacks. Where nodes are unlike, the
//! gain is mostly far above the cost. In a region of some microseconds, in a region with no more pieces than
//! threads, or where all nodes are alike, there is only the cost. So both ways are tried, and the better one
//! is kept until the next trial.
//!
//! **Times decide**, of two kinds:
//! - An execution as a virtual team tells what an ordinary team would have taken: with equal shares it ends
//!   with the slowest thread ([`Run::equal_ns`]). This compares both ways in one execution, whatever its
//!   size, but misses what an ordinary team saves.
//! - Executions one way and the other are measured from outside. These decide where they agree among
//!   themselves. They do not agree where the region has another size each time.
//!
//! A region may settle for ordinary teams and later run at a size for which a virtual team was never tried.
//! It is then tried again at once.
//!
//! **A third way** for short regions is to run all of the region on the thread that opens it. Starting
//! threads and waiting for them takes some tenths of a microsecond where they are awake, and some ten
//! microseconds where they sleep; many regions have less work than that. Once the two ways above are
//! compared, the better one is compared with one thread, if the region was short (`crate::alone`).
//!
//! **Noise is no fact.** An execution during which a thread lost its core ([`Run::disturbed`]) is left out,
//! unless many in a row are disturbed. No verdict is final: the losing way is tried again after a number of
//! executions. This number doubles each time the trial says the same, and is large enough that a trial which
//! loses costs no more than a hundredth of the time.
//!
//! Pure: no clock, no lock. The driver asks [`Gain::turn`] before an execution and brings the measurement
//! after it.

mod trial;

use crate::alone::{Comparison, Verdict, Watch};
use trial::{better, Promise, Samples, MOST_SAMPLES, SAMPLES};

/// One way to run a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As a team of virtual threads.
    Virtual,
    /// As a team of real threads, with equal shares.
    Ordinary,
    /// As a team of one.
    Alone,
}

/// The measurement of one execution.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Run {
    /// Nanoseconds from its beginning to its end.
    pub elapsed_ns: f64,
    /// Nanoseconds that equal shares would have taken on the same threads; 0 where this is not known. Only
    /// for virtual teams.
    pub equal_ns: f64,
    /// Nanoseconds that ideal shares, in proportion to the observed speeds of the threads, would have taken.
    pub best_ns: f64,
    /// A thread lost its core for a part of the execution that matters.
    pub disturbed: bool,
}

/// If equal shares would have taken this many times as long as the virtual team did, the virtual team is
/// taken to win until a trial says otherwise.
const EVIDENT: f64 = 1.15;
/// If equal shares take at most this many times as long as ideal shares and as the virtual team, a virtual
/// team gains nothing.
const NOTHING: f64 = 1.05;
/// Virtual teams for each ordinary one in a region's first trial, as long as the estimate speaks for them.
const VIRTUALS: usize = 2;
/// A comparison with one thread is followed by this many times as many executions without one.
const REST_AFTER_COMPARISON: u32 = 8;
/// Disturbed executions that a trial leaves out; further ones count.
const PATIENCE: u32 = 12;
/// Most virtual teams between two ordinary ones of a trial.
const LONGEST_PAUSE: u32 = 16;
/// Executions between the first two trials.
const FIRST_PERIOD: u32 = 32;
/// Most executions between two trials, as long as trials are cheap.
const LONGEST_PERIOD: u32 = 8192;
/// A trial may cost this part of the time until the next one.
const TRIAL_COST: f64 = 0.01;
/// Most executions between two trials, whatever a trial costs...
const RAREST: f64 = 2e5;
/// ...and after a virtual team came to harm.
const RAREST_AFTER_HARM: f64 = 1e9;
/// An ordinary team that takes this many times as long as the longest virtual team that was tried has a new
/// size...
const NEW_SIZE: f64 = 2.0;
/// ...if it takes at least this number of nanoseconds.
const WORTH_A_TRIAL_NS: f64 = 20_000.0;
/// Executions in a row that must be as long as that where nothing was tried yet.
const IN_A_ROW: u32 = 3;
/// Virtual teams that a trial for a new size may run without meeting that size.
const MISSES: u32 = 10;
/// Executions of a settled region that may pass unmeasured: at first, and at most.
const FIRST_REST: u32 = 5;
const LONGEST_REST: u32 = 127;
/// A settled virtual team is tried again when its estimated gain has fallen to this part of the gain at the
/// last trial, and is no longer evident.
const FALLEN: f64 = 0.8;
/// Weight of the older estimates in a settled region.
const MEMORY: f64 = 0.9;

#[derive(Clone, Copy, Debug)]
enum State {
    /// Both ways are tried.
    Trial,
    /// The better of both ways, `rival`, is compared with one thread alone. `lost_ns`: nanoseconds that the
    /// comparison of the two ways has lost.
    Alone {
        rival: Way,
        lost_ns: f64,
        so_far: Comparison,
    },
    /// One way is kept for `left` further executions.
    Settled {
        way: Way,
        left: u32,
        /// How many of them may pass unmeasured.
        rest: u32,
    },
}

/// What is known about the gain of one region.
#[derive(Clone, Copy, Debug)]
pub struct Gain {
    state: State,
    /// A virtual team has run in this trial. Its first execution does not count: it touches memory for the
    /// first time, or goes by shares that were learned long ago.
    warm: bool,
    /// In the trial's first virtual team the threads were alike and nothing was to be gained: the nanoseconds
    /// that it took.
    hopeless: Option<f64>,
    virtuals: Samples,
    ordinaries: Samples,
    /// Sums over recent virtual teams: nanoseconds taken, and nanoseconds that equal shares would have taken
    /// in the same executions.
    estimate: (f64, f64),
    /// The quotient of the estimate (equal shares over taken) when the last trial ended.
    promised: f64,
    /// The largest execution that a virtual team was tried for, by its `equal_ns`; and the size that the
    /// running trial is for.
    tried_ns: f64,
    wanted_ns: f64,
    misses: u32,
    patience: u32,
    /// Virtual teams before the trial's next ordinary one, after an ordinary one was disturbed; and how many there were after
    /// the last such one.
    pause: u32,
    last_pause: u32,
    /// The way that the last trial found to be better.
    verdict: Option<Way>,
    /// Executions until the next trial.
    period: u32,
    /// A virtual team came to harm: the nanoseconds that it lost.
    harm_ns: Option<f64>,
    /// The caller allows a team of one for this region.
    may_be_alone: bool,
    /// The region was settled without a trial ([`Gain::expect_loss`]): how many executions in a row were long enough for one.
    supposed: Option<u32>,
    /// In the running trial: the region had one size before.
    one_size: bool,
    /// Watches for overlong executions while one thread runs the region.
    watch: Watch,
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
            state: State::Trial,
            warm: false,
            hopeless: None,
            virtuals: Samples::new(),
            ordinaries: Samples::new(),
            estimate: (0.0, 0.0),
            promised: 0.0,
            tried_ns: 0.0,
            wanted_ns: 0.0,
            misses: 0,
            patience: PATIENCE,
            pause: 0,
            last_pause: 0,
            verdict: None,
            period: FIRST_PERIOD,
            harm_ns: None,
            may_be_alone: false,
            supposed: None,
            one_size: false,
            watch: Watch::new(),
        }
    }

    /// The region is not to be tried yet: a trial would lose about `lost_ns` nanoseconds, and an execution as an ordinary team
    /// takes `usual_ns`. The trial comes when it is small beside the time that the region has run, or when an execution is
    /// clearly longer than `worth_ns`.
    pub fn expect_loss(&mut self, lost_ns: f64, usual_ns: f64, worth_ns: f64) {
        self.tried_ns = worth_ns;
        self.supposed = Some(0);
        self.settle(Way::Ordinary, lost_ns, usual_ns, RAREST);
    }

    /// The last executions as an ordinary team, before the trial goes on, took so many nanoseconds.
    pub fn remember_ordinaries(&mut self, ns: &[f64]) {
        ns.iter().for_each(|&ns| self.ordinaries.add(ns));
        self.one_size = self.ordinaries.are_alike();
    }

    /// The way of the next execution. `may_be_alone`: the caller allows a team of one for this region.
    pub fn turn(&mut self, may_be_alone: bool) -> Way {
        self.may_be_alone = may_be_alone;
        match &mut self.state {
            State::Settled { way, left, .. } => match left.checked_sub(1) {
                Some(fewer) if may_be_alone || *way != Way::Alone => {
                    *left = fewer;
                    return *way;
                }
                _ => self.begin_trial(),
            },
            State::Alone { rival, so_far, .. } if may_be_alone => {
                return if so_far.wants_alone() {
                    Way::Alone
                } else {
                    *rival
                };
            }
            State::Alone { .. } => self.begin_trial(),
            State::Trial => {}
        }
        self.next_in_trial()
    }

    /// Takes the executions that may run `this` way without another [`Gain::turn`], and returns their number.
    /// They count as run.
    pub fn take_rest(&mut self, this: Way) -> u32 {
        match &mut self.state {
            // All of them: the driver times each execution of a team of one (see `longest_alone_ns`).
            State::Settled { way, left, .. } if *way == this && this == Way::Alone => {
                core::mem::take(left)
            }
            State::Settled { way, left, rest } if *way == this => {
                let taken = (*left).min(*rest);
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
        matches!(self.state, State::Alone { .. })
    }

    /// Nanoseconds. An execution by one thread that takes longer must be brought to [`Gain::learn_alone`],
    /// even if it is among the executions that [`Gain::take_rest`] gave away.
    #[must_use]
    pub fn longest_alone_ns(&self) -> f64 {
        self.watch.longest_ns()
    }

    /// Learns from an execution by one thread. `unused`: how many of the executions that [`Gain::take_rest`]
    /// gave away have not taken place; these are given back.
    pub fn learn_alone(&mut self, run: &Run, unused: u32) {
        if !self.counts(run) {
            if let State::Settled { left, .. } = &mut self.state {
                *left += unused;
            }
            return;
        }
        match &mut self.state {
            State::Trial => {}
            State::Alone { so_far, .. } => {
                so_far.add_alone(run.elapsed_ns);
                self.conclude_alone();
            }
            State::Settled { left, .. } => {
                *left += unused;
                if self.watch.is_too_long(run.elapsed_ns, *left) {
                    self.begin_trial();
                    self.wanted_ns = run.elapsed_ns;
                }
            }
        }
    }

    fn conclude_alone(&mut self) {
        let State::Alone {
            rival,
            lost_ns,
            so_far,
        } = self.state
        else {
            return;
        };
        let way = match so_far.verdict() {
            Verdict::Open => return,
            Verdict::Alone => Way::Alone,
            Verdict::Rival => rival,
        };
        let lost = lost_ns + so_far.lost_ns();
        if way == Way::Alone {
            self.watch = Watch::over(&so_far);
            self.settle(way, lost, so_far.alone_ns(), RAREST);
        } else {
            let usual = self.usual_ns(way);
            self.settle(way, lost, usual, RAREST);
        }
        // Where both take equally long, nothing is lost by the comparison but its clocks; and as the verdict is often the other
        // one the next time, the period stays short.
        if let State::Settled { left, .. } = &mut self.state {
            *left = (*left).max(so_far.runs() * REST_AFTER_COMPARISON);
        }
    }

    /// Median nanoseconds of an execution of `way`.
    fn usual_ns(&self, way: Way) -> f64 {
        match way {
            Way::Virtual => self.virtuals.middle(),
            Way::Ordinary | Way::Alone => self.ordinaries.middle(),
        }
    }

    /// `way` is the better of virtual and ordinary team, and finding this out has lost `lost_ns` nanoseconds.
    fn prefer(&mut self, way: Way, lost_ns: f64) {
        let usual = self.usual_ns(way);
        if self.may_be_alone && Comparison::is_for(usual) {
            self.state = State::Alone {
                rival: way,
                lost_ns,
                so_far: Comparison::new(),
            };
        } else {
            self.settle(way, lost_ns, usual, RAREST);
        }
    }

    fn begin_trial(&mut self) {
        self.state = State::Trial;
        self.supposed = None;
        self.one_size = false;
        self.warm = false;
        self.hopeless = None;
        self.virtuals.len = 0;
        self.ordinaries.len = 0;
        // Halved but not forgotten: where sizes differ, a trial may meet only small ones.
        self.estimate.0 *= 0.5;
        self.estimate.1 *= 0.5;
        self.wanted_ns = 0.0;
        self.misses = 0;
        self.patience = PATIENCE;
        self.pause = 0;
        self.last_pause = 0;
    }

    fn next_in_trial(&self) -> Way {
        if self.harm_ns.is_some() {
            // Measure an ordinary execution first: the cost of a trial is a multiple of its time.
            return Way::Ordinary;
        }
        if !self.warm {
            return Way::Virtual;
        }
        if self.hopeless.is_some() {
            return Way::Ordinary;
        }
        if self.pause > 0 {
            return Way::Virtual;
        }
        let (v, o) = (self.virtuals.len, self.ordinaries.len);
        if v == 0 && self.estimate.1 <= 0.0 {
            // The first execution told nothing: it was so short that one thread ran all pieces, or the other was still
            // starting. A region that runs a few times only is better off with a second one before the comparison.
            return Way::Virtual;
        }
        if self.misses_size() && o >= SAMPLES {
            return Way::Virtual;
        }
        if self.promises(EVIDENT) {
            // The estimate already speaks for the virtual team: run as few ordinary teams as possible.
            if v < MOST_SAMPLES {
                Way::Virtual
            } else {
                Way::Ordinary
            }
        } else if o <= v && (v >= MOST_SAMPLES || !self.is_likely() || (o + 1) * VIRTUALS <= v) {
            Way::Ordinary
        } else {
            Way::Virtual
        }
    }

    /// Is this a region's first trial, and does the estimate speak for virtual teams, if not clearly? Many regions run no more
    /// than ten times, so that each ordinary team of such a trial is a large part of all.
    fn is_likely(&self) -> bool {
        self.verdict.is_none() && self.promises(1.0)
    }

    /// Is the trial for a size that no virtual team has run yet?
    fn misses_size(&self) -> bool {
        self.wanted_ns > self.tried_ns * NEW_SIZE
    }

    /// Does the estimate say that equal shares would take at least `factor` times as long?
    fn promises(&self, factor: f64) -> bool {
        let (took, equal) = self.estimate;
        equal > 0.0 && equal >= took * factor
    }

    /// Learns from an execution as a virtual team.
    pub fn learn_virtual(&mut self, run: &Run) {
        let settled = !self.is_in_trial();
        self.pause = self.pause.saturating_sub(1);
        if !self.counts(run) {
            return;
        }
        if run.equal_ns > 0.0 {
            if settled {
                self.estimate.0 *= MEMORY;
                self.estimate.1 *= MEMORY;
            }
            self.estimate.0 += run.elapsed_ns;
            self.estimate.1 += run.equal_ns;
            self.tried_ns = self.tried_ns.max(run.equal_ns);
        } else if self.warm {
            // Not the first execution, which may have waited for threads to start.
            self.tried_ns = self.tried_ns.max(run.elapsed_ns);
        }
        if settled {
            // As long as the gain is evident, a trial would say the same and cost ordinary teams.
            let limit = (self.promised * FALLEN).min(EVIDENT);
            if self.verdict == Some(Way::Virtual) && !self.promises(limit) {
                self.begin_trial();
            }
            return;
        }
        if self.learn_rival(Way::Virtual, run) {
            return;
        }
        if self.misses_size() {
            self.misses += 1;
            if self.misses > MISSES {
                self.tried_ns = self.wanted_ns;
            }
        }
        if !self.warm {
            self.warm = true;
            let alike = run.equal_ns > 0.0 && run.equal_ns <= run.best_ns * NOTHING;
            if alike && run.equal_ns <= run.elapsed_ns * NOTHING && !self.misses_size() {
                self.hopeless = Some(run.elapsed_ns);
            }
            return;
        }
        self.virtuals.add(run.elapsed_ns);
        self.conclude();
    }

    /// Learns from an execution as an ordinary team.
    pub fn learn_ordinary(&mut self, run: &Run) {
        let settled = !self.is_in_trial();
        if !self.counts(run) {
            if matches!(self.state, State::Trial) {
                self.postpone();
            }
            return;
        }
        if settled {
            let mut new = run.elapsed_ns > self.tried_ns * NEW_SIZE;
            if let Some(in_a_row) = &mut self.supposed {
                *in_a_row = if new { *in_a_row + 1 } else { 0 };
                // One may be long because its threads lost their cores.
                new = *in_a_row >= IN_A_ROW;
            }
            if new && self.tried_ns > 0.0 && run.elapsed_ns > WORTH_A_TRIAL_NS {
                self.begin_trial();
                self.wanted_ns = run.elapsed_ns;
            }
            return;
        }
        if self.learn_rival(Way::Ordinary, run) {
            return;
        }
        self.ordinaries.add(run.elapsed_ns);
        if let Some(harm) = self.harm_ns.take() {
            self.tried_ns = f64::INFINITY;
            self.settle(Way::Ordinary, harm, run.elapsed_ns, RAREST_AFTER_HARM);
        } else if let Some(took) = self.hopeless {
            if run.elapsed_ns <= took {
                self.prefer(Way::Ordinary, took - run.elapsed_ns);
            } else {
                // The ordinary team was slower after all: try in earnest.
                self.hopeless = None;
            }
        } else {
            self.conclude();
        }
    }

    /// An ordinary team of a trial was disturbed, and must be repeated. On a busy machine the next one will most likely be
    /// disturbed, too. Where the estimate says that the virtual team is clearly better, ever more of these come first.
    fn postpone(&mut self) {
        self.last_pause = if self.promises(EVIDENT) {
            (self.last_pause * 2).clamp(1, LONGEST_PAUSE)
        } else {
            1
        };
        self.pause = self.last_pause;
    }

    /// Takes an execution for the comparison with one thread, if that is going on. Returns whether it is.
    fn learn_rival(&mut self, this: Way, run: &Run) -> bool {
        let State::Alone { rival, so_far, .. } = &mut self.state else {
            return false;
        };
        if *rival == this {
            so_far.add_rival(run.elapsed_ns);
            self.conclude_alone();
        }
        true
    }

    /// A virtual team came to harm and lost about `ns` nanoseconds (its threads waited for each other in a
    /// way that the runtime does not see).
    pub fn learn_harm(&mut self, ns: f64) {
        self.begin_trial();
        self.harm_ns = Some(ns);
    }

    /// Does this execution count? A disturbed one does not, until a trial has run out of patience.
    fn counts(&mut self, run: &Run) -> bool {
        let disturbed = run.disturbed || self.is_in_haste() && !Comparison::counts(run.elapsed_ns);
        if disturbed && (!self.is_in_trial() || self.patience > 0) {
            self.patience = self.patience.saturating_sub(1);
            return false;
        }
        true
    }

    fn conclude(&mut self) {
        let (v, o) = (&self.virtuals, &self.ordinaries);
        if v.len == 0 || o.len == 0 || self.misses_size() {
            return;
        }
        let promise = if self.promises(EVIDENT) {
            Promise::Evident
        } else if self.promises(1.0) {
            Promise::Some
        } else {
            Promise::None
        };
        let Some(way) = better(v, o, promise, self.one_size) else {
            return;
        };
        let (better, worse) = match way {
            Way::Virtual => (v, o),
            Way::Ordinary | Way::Alone => (o, v),
        };
        let lost = (worse.middle() - better.middle()).max(0.0) * worse.len as f64;
        self.prefer(way, lost);
    }

    /// Ends the trial. `way` was found to be better; the trial has lost about `lost_ns` nanoseconds, and an
    /// execution of `way` usually takes `usual_ns`.
    fn settle(&mut self, way: Way, lost_ns: f64, usual_ns: f64, rarest: f64) {
        if self.verdict == Some(way) {
            self.period = (self.period * 2).min(LONGEST_PERIOD);
        } else if self.verdict.is_some() {
            self.period = FIRST_PERIOD;
        }
        self.verdict = Some(way);
        let repeats = f64::from(self.period) / f64::from(FIRST_PERIOD);
        let affordable = lost_ns / (TRIAL_COST * usual_ns.max(1.0)) * repeats.min(16.0);
        let left = f64::from(self.period).max(affordable.min(rarest)) as u32;
        self.promised = if self.estimate.0 > 0.0 {
            self.estimate.1 / self.estimate.0
        } else {
            0.0
        };
        self.state = State::Settled {
            way,
            left,
            rest: FIRST_REST,
        };
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
