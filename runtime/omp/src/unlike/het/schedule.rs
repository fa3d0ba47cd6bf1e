//! One execution of one loop under a schedule that knows of nodes: which iterations go where.
//!
//! [`Schedule::step`] takes a thread's measurement and answers what the thread does next;
//! [`super::execution`] measures and waits. So a schedule could also serve threads elsewhere.
//!
//! # The last iteration comes last
//! Compilers write `lastprivate` variables back in the thread whose *last* chunk ends where the loop ends
//! (gcc compares the loop variable with its bound once, after all chunks). HetProbe and cross-dynamic let a
//! thread that has run the end of the loop help elsewhere, and the variable's value would be lost. So these
//! schedules get all iterations but the last one. The first thread for which nothing else is left runs the
//! last iteration. Static and plain schedules and the asymmetric distributions give every thread its chunks
//! in increasing order anyway.
//!
//! A loop that is `monotonic`, or that gcc compiled, gets increasing chunks from all schedules (the modifier of the
//! schedule's [`Chosen`]).
//!
//! [`Chosen`] is the schedule that the user or the program chose. [`Schedule`] is one execution under it.

use super::source;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use hetmp_sched::aid::{Aid, Shape};
use hetmp_sched::cache::{Key, Known};
use hetmp_sched::cross_dynamic::CrossDynamic;
use hetmp_sched::csr;
use hetmp_sched::decide::Decision;
use hetmp_sched::fixed;
use hetmp_sched::hetprobe::{HetProbe, Next, Settings};
use hetmp_sched::irregular::{self, Irregular, Trigger};
use hetmp_sched::placement::Placement;
use hetmp_sched::plain::{static_chunk, static_piece, Dynamic, Guided};
use hetmp_sched::probe::Measurement;
use hetmp_sched::ranges::Range;
use hetmp_sched::record::{Learning, LoopRecord, Tally};
pub(super) use hetmp_sched::schedule::Schedule as Chosen;
use hetmp_sched::schedule::{Kind, Modifier};
use std::sync::Arc;

/// Does a schedule use and refresh what is known about a loop?
pub(super) fn learns(chosen: &Chosen) -> bool {
    chosen.kind.name().learns()
}

#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "lives in a box of its own, and the largest is the usual one"
)]
enum State {
    HetProbe(HetProbe),
    Irregular(Irregular),
    CrossDynamic(CrossDynamic),
    Aid(Aid),
    /// HetProbe with a settled plan, in one piece for each thread.
    Fixed(Fixed),
    StaticCsr(Tally),
    Static(Tally),
    Dynamic(Dynamic, Tally),
    Guided(Guided, Tally),
}

/// A settled execution in fixed pieces.
#[derive(Debug)]
struct Fixed {
    pieces: Vec<Range>,
    plan: Option<Arc<Decision>>,
    tally: Tally,
}

/// The schedule's state of one thread. Only that thread touches it: hence relaxed atomics and a cache line of
/// its own.
#[derive(Debug, Default)]
struct Progress {
    /// Steps that the thread has asked for; `OVER` when the thread has left.
    steps: AtomicU64,
    /// Where iterations ascend: the end of the thread's last chunk.
    after: AtomicU64,
}

const OVER: u64 = u64::MAX;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Run these iterations. `Measure` says what to measure of them for the next step.
    Run(Range, Measure),
    /// Ask again, without a measurement, when [`Schedule::changed`] says so for this ticket, or after a
    /// while.
    Wait(u64),
    /// Leave the loop.
    End,
}

/// What is measured of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Nothing,
    Time,
    /// Time, and the counters that the machine has.
    Counters,
}

/// The plan by which a settled loop is cut into fixed pieces, if `known` says that it runs in such pieces.
fn fixed_plan(kind: &Kind, known: Option<&Arc<Known>>, faults: bool) -> Option<Arc<Decision>> {
    match kind {
        Kind::HetProbe { .. } if !faults => known
            .filter(|k| k.fixed)
            .and_then(|k| k.plan.as_ref().map(Arc::clone)),
        _ => None,
    }
}

fn is_brief(known: Option<&Arc<Known>>) -> bool {
    known.is_some_and(|k| k.brief)
}

/// Which iterations of one execution go where. It has neither clock nor threads: the holder of a seat asks
/// for its next [`Step`], and brings the measurement of the last one.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) key: Key,
    /// With the modifier `monotonic` every thread gets its iterations in increasing order.
    pub(super) chosen: Chosen,
    pub(super) team: Arc<Placement>,
    n: u64,
    state: State,
    seats: Box<[CachePadded<Progress>]>,
    /// The thread that took the last iteration, where that is kept back: the thread's seat plus one.
    tail: AtomicU32,
    /// Threads that have left.
    left: AtomicU32,
    /// Remote faults are counted.
    faults: bool,
    /// The loop is [brief](Known::brief).
    brief: bool,
}

impl Schedule {
    /// The schedule for a loop of `n` iterations, at least one.
    pub(super) fn new(
        key: Key,
        chosen: &Chosen,
        n: u64,
        team: &Arc<Placement>,
        known: Option<Arc<Known>>,
    ) -> Schedule {
        let threads = team.threads();
        let tally = || Tally::new(threads);
        let faults = source::counts_faults();
        let fixed = fixed_plan(&chosen.kind, known.as_ref(), faults);
        let brief = is_brief(known.as_ref());
        let ascending = chosen.modifier == Modifier::Monotonic;
        // A dynamic schedule takes 0 for 1.
        let chunk = chosen.chunk.unwrap_or(0);
        let state = match &chosen.kind {
            _ if fixed.is_some() => State::Fixed(Fixed {
                pieces: Vec::new(),
                plan: None,
                tally: tally(),
            }),
            // HetProbe-I probes all over the loop, again and again, so no order would be left. In ascending
            // loops HetProbe is used for both; its chunks are small enough to follow a change.
            Kind::HetProbe { probe } | Kind::HetProbeI { probe, .. } if ascending => {
                let settings = Settings {
                    probe: *probe,
                    rules: source::rules(),
                    ascending,
                    ..Settings::default()
                };
                State::HetProbe(HetProbe::new(n - 1, Arc::clone(team), settings, known))
            }
            Kind::HetProbe { probe } if faults => {
                let settings = irregular::Settings {
                    probe: *probe,
                    trigger: Trigger::Faults,
                    rules: source::rules(),
                    ..irregular::Settings::default()
                };
                State::Irregular(Irregular::new(n - 1, Arc::clone(team), settings, known))
            }
            Kind::HetProbe { probe } => {
                let settings = Settings {
                    probe: *probe,
                    rules: source::rules(),
                    ..Settings::default()
                };
                State::HetProbe(HetProbe::new(n - 1, Arc::clone(team), settings, known))
            }
            Kind::HetProbeI { probe, jump } => {
                let settings = irregular::Settings {
                    probe: *probe,
                    trigger: jump.map_or(Trigger::Change, Trigger::Jump),
                    rules: source::rules(),
                    ..irregular::Settings::default()
                };
                State::Irregular(Irregular::new(n - 1, Arc::clone(team), settings, known))
            }
            Kind::CrossDynamic => {
                State::CrossDynamic(CrossDynamic::new(n - 1, chunk.max(1), Arc::clone(team)))
            }
            kind @ (Kind::AidStatic | Kind::AidHybrid { .. } | Kind::AidDynamic { .. }) => {
                let chunk = chunk.max(1);
                let shape = Shape::of(kind, chunk).unwrap_or(Shape::Static);
                State::Aid(Aid::new(n, shape, chunk, Arc::clone(team)))
            }
            Kind::StaticCsr { .. } => State::StaticCsr(tally()),
            Kind::Dynamic => {
                let dynamic = Dynamic::new();
                dynamic.reset(n, chunk);
                State::Dynamic(dynamic, tally())
            }
            Kind::Guided => {
                let guided = Guided::new();
                guided.reset(n, chunk, threads as u64);
                State::Guided(guided, tally())
            }
            Kind::Static | Kind::Auto => State::Static(tally()),
        };
        let mut schedule = Schedule {
            key,
            chosen: chosen.clone(),
            team: Arc::clone(team),
            n,
            state,
            seats: (0..threads).map(|_| CachePadded::default()).collect(),
            tail: AtomicU32::new(0),
            left: AtomicU32::new(0),
            faults,
            brief,
        };
        schedule.cut(fixed);
        schedule
    }

    /// Cuts the pieces of a settled execution by `plan`.
    fn cut(&mut self, plan: Option<Arc<Decision>>) {
        if let (State::Fixed(f), Some(plan)) = (&mut self.state, plan) {
            fixed::pieces(self.n, &plan, &self.team, &mut f.pieces);
            f.plan = Some(plan);
            f.tally.reset();
        }
    }

    /// Can this schedule be [restarted](Self::restart) with what is known now?
    pub(super) fn suits(&self, known: Option<&Arc<Known>>) -> bool {
        let fixed = fixed_plan(&self.chosen.kind, known, self.faults).is_some();
        matches!(self.state, State::Fixed(_)) == fixed
    }

    /// Prepares for another execution under the same schedule on the same team. Call it only if
    /// [`suits`](Self::suits).
    pub(super) fn restart(&mut self, key: Key, n: u64, known: Option<Arc<Known>>) {
        self.key = key;
        self.n = n;
        self.brief = is_brief(known.as_ref());
        *self.tail.get_mut() = 0;
        *self.left.get_mut() = 0;
        for seat in &*self.seats {
            seat.steps.store(0, Ordering::Relaxed);
            seat.after.store(0, Ordering::Relaxed);
        }
        let threads = self.seats.len() as u64;
        let chunk = self.chosen.chunk.unwrap_or(0);
        match &mut self.state {
            State::HetProbe(h) => h.restart(n - 1, known),
            State::Irregular(h) => h.restart(n - 1, known),
            State::CrossDynamic(c) => c.restart(n - 1, chunk.max(1)),
            State::Aid(a) => a.restart(n),
            State::Fixed(_) => {
                let plan = fixed_plan(&self.chosen.kind, known.as_ref(), self.faults);
                self.cut(plan);
            }
            State::Dynamic(d, tally) => {
                d.reset(n, chunk);
                tally.reset();
            }
            State::Guided(g, tally) => {
                g.reset(n, chunk, threads);
                tally.reset();
            }
            State::StaticCsr(tally) | State::Static(tally) => tally.reset(),
        }
    }

    /// The record of an execution that every thread has left, without its span.
    pub(super) fn record(&self) -> LoopRecord {
        let mut record = self.counted();
        record.chunk = self.chosen.chunk;
        record
    }

    /// What the schedule that ran knows of the execution.
    fn counted(&self) -> LoopRecord {
        match &self.state {
            State::HetProbe(h) => self.with_tail(h.record()),
            State::Irregular(h) => self.with_tail(h.record()),
            State::CrossDynamic(c) => self.with_tail(c.record()),
            State::Aid(a) => a.record(),
            State::Fixed(f) => {
                let mut record =
                    LoopRecord::new(self.chosen.kind.clone(), self.n, &self.team, &f.tally);
                record.fixed = true;
                record.learning = Learning::Settled;
                record.decision.clone_from(&f.plan);
                record
            }
            State::StaticCsr(tally)
            | State::Static(tally)
            | State::Dynamic(_, tally)
            | State::Guided(_, tally) => {
                LoopRecord::new(self.chosen.kind.clone(), self.n, &self.team, tally)
            }
        }
    }

    /// Adds the last iteration to the record of all other iterations.
    fn with_tail(&self, mut record: LoopRecord) -> LoopRecord {
        record.iterations = self.n;
        if let Some(seat) = self.tail.load(Ordering::Relaxed).checked_sub(1) {
            record.nodes[self.team.node_of(seat as usize)].iterations += 1;
        }
        let mut slowest = 0.0f64;
        for node in &mut *record.nodes {
            node.share = node.iterations as f64 / self.n as f64;
            if node.busy_ns > 0 {
                let each = node.busy_ns as f64 / node.iterations as f64;
                node.ns_per_iteration = Some(each);
                slowest = slowest.max(each);
            }
        }
        for node in &mut *record.nodes {
            node.csr = node.ns_per_iteration.map(|t| slowest / t);
        }
        record
    }

    /// Takes the last iteration, if it was kept back and no thread has it.
    fn take_tail(&self, seat: usize) -> Option<Range> {
        let mine = seat as u32 + 1;
        self.tail
            .compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed)
            .ok()?;
        Some(Range::new(self.n - 1, self.n))
    }

    /// The next step of the thread in `seat`. `measured`: the measurement of its last chunk, if the schedule
    /// wanted one.
    pub(super) fn step(&self, seat: usize, measured: Option<Measurement>) -> Step {
        let mine = &*self.seats[seat];
        let steps = mine.steps.load(Ordering::Relaxed);
        if steps == OVER {
            return Step::End;
        }
        mine.steps.store(steps + 1, Ordering::Relaxed);
        if self.tail.load(Ordering::Relaxed) == seat as u32 + 1 {
            return Step::End;
        }
        let first = steps == 0;
        let plain = |range: Option<Range>| {
            range.map_or(Step::End, |range| Step::Run(range, Measure::Nothing))
        };
        match &self.state {
            State::HetProbe(h) => {
                let answer = if first {
                    h.first(seat)
                } else {
                    h.next(seat, measured)
                };
                match answer {
                    Next::Range(range) => Step::Run(range, Measure::Nothing),
                    Next::Probe(range) => Step::Run(range, Measure::Counters),
                    Next::Done => plain(self.take_tail(seat)),
                }
            }
            State::Irregular(h) => {
                let answer = if first {
                    h.first(seat)
                } else {
                    h.next(seat, measured)
                };
                match answer {
                    // Every chunk is measured.
                    irregular::Step::Run { range, probe } if probe || self.faults => {
                        Step::Run(range, Measure::Counters)
                    }
                    irregular::Step::Run { range, .. } => Step::Run(range, Measure::Time),
                    irregular::Step::Done => plain(self.take_tail(seat)),
                    irregular::Step::Wait(ticket) => Step::Wait(ticket),
                }
            }
            State::CrossDynamic(c) => {
                if first {
                    c.arrive(seat);
                }
                let range = if self.chosen.modifier == Modifier::Monotonic {
                    let range = c.next_after(seat, mine.after.load(Ordering::Relaxed));
                    mine.after
                        .store(range.map_or(u64::MAX, |r| r.end), Ordering::Relaxed);
                    range
                } else {
                    c.next(seat)
                };
                plain(range.or_else(|| self.take_tail(seat)))
            }
            State::Aid(a) => {
                let answer = if first {
                    a.first(seat)
                } else {
                    a.next(seat, measured)
                };
                match answer {
                    Next::Range(range) => Step::Run(range, Measure::Nothing),
                    Next::Probe(range) => Step::Run(range, Measure::Time),
                    Next::Done => Step::End,
                }
            }
            State::Fixed(f) => plain(counted(&f.tally, seat, first, || {
                let piece = f.pieces.get(seat).copied();
                piece.filter(|r| first && !r.is_empty())
            })),
            State::StaticCsr(tally) => {
                plain(counted(tally, seat, first, || match &self.chosen.kind {
                    Kind::StaticCsr { ratios } if first => {
                        Some(csr::piece(self.n, ratios, &self.team, seat)).filter(|r| !r.is_empty())
                    }
                    _ => None,
                }))
            }
            State::Static(tally) => plain(counted(tally, seat, first, || {
                self.next_static(seat, steps)
            })),
            State::Dynamic(d, tally) => plain(counted(tally, seat, first, || d.next())),
            State::Guided(g, tally) => plain(counted(tally, seat, first, || g.next())),
        }
    }

    /// Has anything happened since the thread got `ticket` to wait with?
    pub(super) fn changed(&self, ticket: u64) -> bool {
        match &self.state {
            State::Irregular(h) => h.changed(ticket),
            _ => true,
        }
    }

    /// Must waiting threads be woken? Ask after each step.
    pub(super) fn must_wake(&self) -> bool {
        matches!(&self.state, State::Irregular(h) if h.must_wake())
    }

    /// Iterations handed out so far: a waiting thread sees from this whether the loop moves.
    pub(super) fn handed_out(&self) -> u64 {
        match &self.state {
            State::Irregular(h) => h.handed_out(),
            _ => 0,
        }
    }

    /// The thread in `seat` has waited for long while nothing moved: from now on it helps.
    pub(super) fn lose_patience(&self, seat: usize) {
        if let State::Irregular(h) = &self.state {
            h.lose_patience(seat);
        }
    }

    fn next_static(&self, seat: usize, trip: u64) -> Option<Range> {
        let (threads, seat) = (self.seats.len() as u64, seat as u64);
        match self.chosen.chunk {
            Some(chunk) => static_chunk(self.n, chunk, threads, seat, trip),
            _ if trip > 0 => None,
            _ => Some(static_piece(self.n, threads, seat)).filter(|r| !r.is_empty()),
        }
    }

    /// The thread in `seat` has left, after `elapsed` nanoseconds without its waits. True for the last thread
    /// of the team. If some threads never come (the loop was cancelled), it is true for none.
    pub(super) fn leave(&self, seat: usize, elapsed: u64) -> bool {
        self.seats[seat].steps.store(OVER, Ordering::Relaxed);
        match &self.state {
            State::HetProbe(h) => h.finish(seat, elapsed),
            State::Irregular(h) => h.finish(seat, elapsed),
            State::CrossDynamic(c) => c.finish(seat, elapsed),
            State::Aid(a) => a.finish(seat, elapsed),
            State::Fixed(Fixed { tally, .. })
            | State::StaticCsr(tally)
            | State::Static(tally)
            | State::Dynamic(_, tally)
            | State::Guided(_, tally) => tally.leave(seat, elapsed),
        }
        // Acquire and release: the last thread sees what the others counted.
        let left = self.left.fetch_add(1, Ordering::AcqRel) + 1;
        left as usize == self.seats.len()
    }

    /// Has the thread in `seat` left?
    pub(super) fn has_left(&self, seat: usize) -> bool {
        self.seats[seat].steps.load(Ordering::Relaxed) == OVER
    }

    /// The plan by which this execution is cut into fixed pieces, if it is.
    pub(super) fn fixed_plan(&self) -> Option<&Arc<Decision>> {
        match &self.state {
            State::Fixed(f) => f.plan.as_ref(),
            _ => None,
        }
    }

    /// Is the loop usually over before the threads of all nodes come?
    pub(super) fn is_brief(&self) -> bool {
        self.brief
    }

    /// Does one of hetmp's own schedules divide the loop, rather than the program's own?
    pub(super) fn divides(&self) -> bool {
        self.chosen.is_ours()
    }
}

/// Counts the range that `take` gives.
fn counted(
    tally: &Tally,
    seat: usize,
    first: bool,
    take: impl FnOnce() -> Option<Range>,
) -> Option<Range> {
    if first {
        tally.arrive(seat);
    }
    let range = take()?;
    tally.add(seat, range.len());
    Some(range)
}
