//! One execution of one loop under a schedule that knows of nodes: which iterations go where.
//!
//! [`Schedule::step`] takes a thread's measurement and answers what the thread does next;
//! [`super::execution`] measures. So a schedule could also serve threads elsewhere.
//!
//! # The last iteration is handed out last
//! Compilers write `lastprivate` variables back in the thread whose *last* chunk ends where the loop ends
//! (gcc compares the loop variable with its bound once, after all chunks). Under a schedule of [`Order::Any`] a
//! thread that has run the end of the loop may help elsewhere, and the variable's value would be lost. So these
//! schedules get all iterations but the last one. The first thread for which nothing else is left runs the
//! last iteration.
//!
//! A loop that is `monotonic`, or that gcc compiled, gets increasing chunks from all schedules (the modifier of the
//! schedule's [`Chosen`]).
//!
//! [`Chosen`] is the schedule that the user or the program chose. [`Schedule`] is one execution under it.

use super::source;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crossbeam_utils::CachePadded;
use hetmp_sched::cache::{Key, Known};
use hetmp_sched::decide::Decision;
use hetmp_sched::execution::{Execution, Start};
pub(super) use hetmp_sched::execution::{Measure, Step};
use hetmp_sched::fixed;
use hetmp_sched::placement::Placement;
use hetmp_sched::probe::Measurement;
use hetmp_sched::ranges::Range;
use hetmp_sched::record::{Learning, LoopRecord, Tally};
pub(super) use hetmp_sched::schedule::Schedule as Chosen;
use hetmp_sched::schedule::{Kind, Modifier, Order};
use std::sync::Arc;

/// Does a schedule use and refresh what is known about a loop?
pub(super) fn learns(chosen: &Chosen) -> bool {
    chosen.kind.name().learns()
}

/// A settled execution in fixed pieces, one for each thread.
#[derive(Debug)]
struct Fixed {
    kind: Kind,
    n: u64,
    team: Arc<Placement>,
    pieces: Vec<Range>,
    plan: Option<Arc<Decision>>,
    tally: Tally,
}

impl Execution for Fixed {
    fn restart(&mut self, n: u64, known: Option<Arc<Known>>) {
        self.n = n;
        self.tally.reset();
        self.plan = known.and_then(|k| k.plan.clone());
        if let Some(plan) = &self.plan {
            fixed::pieces(n, plan, &self.team, &mut self.pieces);
        }
    }

    fn step(&self, seat: usize, trip: u64, _measured: Option<Measurement>) -> Step {
        let piece = self.pieces.get(seat).filter(|_| trip == 0);
        if trip == 0 {
            self.tally.arrive(seat);
        }
        match piece {
            Some(&piece) if !piece.is_empty() => {
                self.tally.add(seat, piece.len());
                Step::Run(piece, Measure::Nothing)
            }
            _ => Step::End,
        }
    }

    fn finish(&self, seat: usize, elapsed_ns: u64) {
        self.tally.leave(seat, elapsed_ns);
    }

    fn record(&self) -> LoopRecord {
        let mut record = LoopRecord::new(self.kind.clone(), self.n, &self.team, &self.tally);
        record.fixed = true;
        record.learning = Learning::Settled;
        record.decision.clone_from(&self.plan);
        record
    }
}

/// The schedule's state of one thread. Only that thread touches it: hence relaxed atomics and a cache line of
/// its own.
#[derive(Debug, Default)]
struct Progress {
    /// Steps that the thread has asked for; `OVER` when the thread has left.
    steps: AtomicU64,
}

const OVER: u64 = u64::MAX;

/// The plan by which a settled loop is cut into fixed pieces, if `known` says that it runs in such pieces.
fn fixed_plan<'a>(kind: &Kind, known: Option<&'a Arc<Known>>) -> Option<&'a Arc<Decision>> {
    match kind {
        Kind::HetProbe { .. } => known.filter(|k| k.fixed)?.plan.as_ref(),
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
    execution: Box<dyn Execution>,
    /// The plan by which this execution is cut into fixed pieces, if it is.
    fixed: Option<Arc<Decision>>,
    /// The last iteration is kept back for a thread that has run all others.
    keeps_last: bool,
    seats: Box<[CachePadded<Progress>]>,
    /// The thread that took the last iteration, where that is kept back: the thread's seat plus one.
    tail: AtomicU32,
    /// Threads that have left.
    left: AtomicU32,
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
        let fixed = fixed_plan(&chosen.kind, known.as_ref()).cloned();
        let brief = is_brief(known.as_ref());
        let any_order = chosen.kind.name().row().order == Order::Any;
        let keeps_last = any_order && fixed.is_none();
        let execution: Box<dyn Execution> = if fixed.is_some() {
            let mut pieces = Fixed {
                kind: chosen.kind.clone(),
                n,
                team: Arc::clone(team),
                pieces: Vec::new(),
                plan: None,
                tally: Tally::new(threads),
            };
            pieces.restart(n, known);
            Box::new(pieces)
        } else {
            chosen.kind.begin(Start {
                n: n - u64::from(keeps_last),
                chunk: chosen.chunk.unwrap_or(0),
                team: Arc::clone(team),
                ascending: chosen.modifier == Modifier::Monotonic,
                objective: source::objective(),
                known,
            })
        };
        Schedule {
            key,
            chosen: chosen.clone(),
            team: Arc::clone(team),
            n,
            execution,
            fixed,
            keeps_last,
            seats: (0..threads).map(|_| CachePadded::default()).collect(),
            tail: AtomicU32::new(0),
            left: AtomicU32::new(0),
            brief,
        }
    }

    /// Can this schedule be [restarted](Self::restart) with what is known now?
    pub(super) fn suits(&self, known: Option<&Arc<Known>>) -> bool {
        let fixed = fixed_plan(&self.chosen.kind, known).is_some();
        self.fixed.is_some() == fixed
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
        }
        self.fixed = self
            .fixed
            .take()
            .and_then(|_| fixed_plan(&self.chosen.kind, known.as_ref()).cloned());
        self.execution
            .restart(n - u64::from(self.keeps_last), known);
    }

    /// The record of an execution that every thread has left, without its span.
    pub(super) fn record(&self) -> LoopRecord {
        let mut record = self.execution.record();
        if self.keeps_last {
            record = self.with_tail(record);
        }
        record.chunk = self.chosen.chunk;
        record
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
        match self.execution.step(seat, steps, measured) {
            Step::End if self.keeps_last => match self.take_tail(seat) {
                Some(range) => Step::Run(range, Measure::Nothing),
                None => Step::End,
            },
            step => step,
        }
    }

    /// The thread in `seat` has left, after `elapsed` nanoseconds. True for the last thread
    /// of the team. If some threads never come (the loop was cancelled), it is true for none.
    pub(super) fn leave(&self, seat: usize, elapsed: u64) -> bool {
        self.seats[seat].steps.store(OVER, Ordering::Relaxed);
        self.execution.finish(seat, elapsed);
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
        self.fixed.as_ref()
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
