//! Any schedule behind one call: what the runtime and the simulator drive.
//!
//! A schedule is a row of [`crate::schedule::TABLE`], of which [`Kind::begin`] makes an [`Execution`]. A driver
//! measures chunks; it knows of no particular schedule.

use crate::aid::{self, Aid, Shape};
use crate::cache::Known;
use crate::cross_dynamic::CrossDynamic;
use crate::csr;
use crate::decide::Objective;
use crate::hetprobe::{self, HetProbe, Next};
use crate::irregular::{self, Irregular, Trigger};
use crate::placement::Placement;
use crate::plain::{static_chunk, static_piece, Dynamic, Guided};
use crate::primitive::{AtomicU64, Ordering};
use crate::probe::Measurement;
use crate::ranges::Range;
use crate::record::{LoopRecord, Tally};
use crate::schedule::Kind;
use core::fmt::Debug;
use crossbeam_utils::CachePadded;
use std::sync::Arc;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Run these iterations. `Measure` says what to measure of them for the next step.
    Run(Range, Measure),
    /// Leave the loop.
    End,
}

/// What is measured of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Nothing.
    Nothing,
    /// Its time.
    Time,
    /// Its time, and the counters that the machine has.
    Counters,
}

/// What an execution begins with.
#[derive(Clone, Debug)]
pub struct Start {
    /// Iterations.
    pub n: u64,
    /// Chunk size; 0: none was given.
    pub chunk: u64,
    /// The threads and their nodes.
    pub team: Arc<Placement>,
    /// Every thread gets its iterations in increasing order.
    pub ascending: bool,
    /// What divisions are to make least.
    pub objective: Objective,
    /// What earlier executions of the loop measured.
    pub known: Option<Arc<Known>>,
}

/// One execution of one loop under one schedule. All threads of the team use it at once.
pub trait Execution: Debug + Send + Sync {
    /// Prepares for another execution on the same team, with `n` iterations and the same chunk size as at first.
    fn restart(&mut self, n: u64, known: Option<Arc<Known>>);

    /// The next step of thread `tid`, which has asked `trip` times before. `measured`: what was measured of its last
    /// chunk, if the schedule wanted that.
    fn step(&self, tid: usize, trip: u64, measured: Option<Measurement>) -> Step;

    /// Thread `tid` has left, `elapsed_ns` nanoseconds after it came.
    fn finish(&self, tid: usize, elapsed_ns: u64);

    /// The record of this execution. Call it after all threads have left.
    fn record(&self) -> LoopRecord;

    /// How often the division was renewed.
    fn renewals(&self) -> u32 {
        0
    }

    /// Do threads take iterations from memory that all of them write?
    fn shares_cursors(&self) -> bool {
        true
    }
}

impl Step {
    fn unmeasured(range: Option<Range>) -> Step {
        range.map_or(Step::End, |range| Step::Run(range, Measure::Nothing))
    }

    fn probing(next: Next, measure: Measure) -> Step {
        match next {
            Next::Range(range) => Step::Run(range, Measure::Nothing),
            Next::Probe(range) => Step::Run(range, measure),
            Next::Done => Step::End,
        }
    }
}

impl Execution for HetProbe {
    fn restart(&mut self, n: u64, known: Option<Arc<Known>>) {
        self.restart(n, known);
    }

    fn step(&self, tid: usize, trip: u64, measured: Option<Measurement>) -> Step {
        let next = match trip {
            0 => self.first(tid),
            _ => self.next(tid, measured),
        };
        Step::probing(next, Measure::Counters)
    }

    fn finish(&self, tid: usize, elapsed_ns: u64) {
        self.finish(tid, elapsed_ns);
    }

    fn record(&self) -> LoopRecord {
        self.record()
    }
}

impl Execution for Irregular {
    fn restart(&mut self, n: u64, known: Option<Arc<Known>>) {
        self.restart(n, known);
    }

    fn step(&self, tid: usize, trip: u64, measured: Option<Measurement>) -> Step {
        let step = match trip {
            0 => self.first(tid),
            _ => self.next(tid, measured),
        };
        match step {
            // Every chunk is measured.
            irregular::Step::Run { range, probe: true } => Step::Run(range, Measure::Counters),
            irregular::Step::Run { range, .. } => Step::Run(range, Measure::Time),
            irregular::Step::Done => Step::End,
        }
    }

    fn finish(&self, tid: usize, elapsed_ns: u64) {
        self.finish(tid, elapsed_ns);
    }

    fn record(&self) -> LoopRecord {
        self.record()
    }

    fn renewals(&self) -> u32 {
        self.renewals()
    }
}

impl Execution for CrossDynamic {
    fn restart(&mut self, n: u64, _known: Option<Arc<Known>>) {
        self.restart(n, self.asked());
    }

    fn step(&self, tid: usize, trip: u64, _measured: Option<Measurement>) -> Step {
        if trip == 0 {
            self.arrive(tid);
        }
        Step::unmeasured(self.next(tid))
    }

    fn finish(&self, tid: usize, elapsed_ns: u64) {
        self.finish(tid, elapsed_ns);
    }

    fn record(&self) -> LoopRecord {
        self.record()
    }
}

impl Execution for Aid {
    fn restart(&mut self, n: u64, _known: Option<Arc<Known>>) {
        self.restart(n);
    }

    fn step(&self, tid: usize, trip: u64, measured: Option<Measurement>) -> Step {
        let next = match trip {
            0 => self.first(tid),
            _ => self.next(tid, measured),
        };
        Step::probing(next, Measure::Time)
    }

    fn finish(&self, tid: usize, elapsed_ns: u64) {
        self.finish(tid, elapsed_ns);
    }

    fn record(&self) -> LoopRecord {
        self.record()
    }
}

/// A schedule that needs a thread's number, or a cursor, and nothing else.
#[derive(Debug)]
struct Plain {
    kind: Kind,
    n: u64,
    chunk: u64,
    team: Arc<Placement>,
    tally: Tally,
    pieces: Pieces,
}

#[derive(Debug)]
enum Pieces {
    Static,
    Ratios(Box<[f64]>),
    Dynamic(Dynamic),
    Guided(Guided),
}

impl Plain {
    fn begin(kind: &Kind, start: Start, pieces: Pieces) -> Box<dyn Execution> {
        let mut state = Plain {
            kind: kind.clone(),
            n: 0,
            chunk: start.chunk,
            tally: Tally::new(start.team.threads()),
            team: start.team,
            pieces,
        };
        state.restart(start.n, None);
        Box::new(state)
    }

    fn piece(&self, tid: usize, trip: u64) -> Option<Range> {
        let (threads, seat) = (self.team.threads() as u64, tid as u64);
        match &self.pieces {
            Pieces::Dynamic(cursor) => cursor.next(),
            Pieces::Guided(cursor) => cursor.next(),
            Pieces::Static if self.chunk > 0 => {
                static_chunk(self.n, self.chunk, threads, seat, trip)
            }
            _ if trip > 0 => None,
            Pieces::Static => Some(static_piece(self.n, threads, seat)),
            Pieces::Ratios(ratios) => Some(csr::piece(self.n, ratios, &self.team, tid)),
        }
    }
}

impl Execution for Plain {
    fn restart(&mut self, n: u64, _known: Option<Arc<Known>>) {
        self.n = n;
        self.tally.reset();
        match &self.pieces {
            Pieces::Dynamic(cursor) => cursor.reset(n, self.chunk),
            Pieces::Guided(cursor) => cursor.reset(n, self.chunk, self.team.threads() as u64),
            Pieces::Static | Pieces::Ratios(_) => {}
        }
    }

    fn step(&self, tid: usize, trip: u64, _measured: Option<Measurement>) -> Step {
        if trip == 0 {
            self.tally.arrive(tid);
        }
        let range = self.piece(tid, trip).filter(|range| !range.is_empty());
        self.tally.add(tid, range.map_or(0, Range::len));
        Step::unmeasured(range)
    }

    fn finish(&self, tid: usize, elapsed_ns: u64) {
        self.tally.leave(tid, elapsed_ns);
    }

    fn record(&self) -> LoopRecord {
        LoopRecord::new(self.kind.clone(), self.n, &self.team, &self.tally)
    }

    fn shares_cursors(&self) -> bool {
        matches!(self.pieces, Pieces::Dynamic(_) | Pieces::Guided(_))
    }
}

/// [`CrossDynamic`] where every thread's iterations ascend.
#[derive(Debug)]
struct Ascending {
    cross: CrossDynamic,
    /// By thread: the end of its last chunk.
    after: Box<[CachePadded<AtomicU64>]>,
}

impl Execution for Ascending {
    fn restart(&mut self, n: u64, known: Option<Arc<Known>>) {
        Execution::restart(&mut self.cross, n, known);
    }

    fn step(&self, tid: usize, trip: u64, _measured: Option<Measurement>) -> Step {
        let after = &*self.after[tid];
        if trip == 0 {
            self.cross.arrive(tid);
            after.store(0, Ordering::Relaxed);
        }
        let range = self.cross.next_after(tid, after.load(Ordering::Relaxed));
        after.store(range.map_or(u64::MAX, |r| r.end), Ordering::Relaxed);
        Step::unmeasured(range)
    }

    fn finish(&self, tid: usize, elapsed_ns: u64) {
        self.cross.finish(tid, elapsed_ns);
    }

    fn record(&self) -> LoopRecord {
        self.cross.record()
    }
}

impl Kind {
    /// Begins an execution under this schedule.
    #[must_use]
    pub fn begin(&self, start: Start) -> Box<dyn Execution> {
        match self {
            // HetProbe-I probes all over the loop, again and again, so no order would be left. In ascending loops
            // HetProbe is used for both; its chunks are small enough to follow a change.
            Kind::HetProbe { probe } | Kind::HetProbeI { probe, .. } if start.ascending => {
                probing(*probe, start)
            }
            Kind::HetProbe { probe } => probing(*probe, start),
            Kind::HetProbeI { probe, jump } => {
                again(*probe, jump.map_or(Trigger::Change, Trigger::Jump), start)
            }
            Kind::CrossDynamic => {
                let cross = CrossDynamic::new(start.n, start.chunk, Arc::clone(&start.team));
                if !start.ascending {
                    return Box::new(cross);
                }
                let after = (0..start.team.threads()).map(|_| CachePadded::default());
                Box::new(Ascending {
                    cross,
                    after: after.collect(),
                })
            }
            Kind::AidStatic => asymmetric(Shape::Static, start),
            Kind::AidHybrid { part } => asymmetric(Shape::Hybrid { part: *part }, start),
            Kind::AidDynamic { major } => {
                let major = major.unwrap_or_else(|| aid::major(start.chunk));
                asymmetric(Shape::Dynamic { major }, start)
            }
            Kind::StaticCsr { ratios } => Plain::begin(self, start, Pieces::Ratios(ratios.clone())),
            Kind::Static => Plain::begin(self, start, Pieces::Static),
            Kind::Auto => Kind::Static.begin(Start { chunk: 0, ..start }),
            Kind::Dynamic => Plain::begin(self, start, Pieces::Dynamic(Dynamic::new())),
            Kind::Guided => Plain::begin(self, start, Pieces::Guided(Guided::new())),
        }
    }
}

fn probing(probe: f64, start: Start) -> Box<dyn Execution> {
    let settings = hetprobe::Settings {
        probe,
        objective: start.objective,
        ascending: start.ascending,
        ..hetprobe::Settings::default()
    };
    Box::new(HetProbe::new(start.n, start.team, settings, start.known))
}

fn again(probe: f64, trigger: Trigger, start: Start) -> Box<dyn Execution> {
    let settings = irregular::Settings {
        probe,
        objective: start.objective,
        trigger,
        ..irregular::Settings::default()
    };
    Box::new(Irregular::new(start.n, start.team, settings, start.known))
}

fn asymmetric(shape: Shape, start: Start) -> Box<dyn Execution> {
    Box::new(Aid::new(start.n, shape, start.chunk, start.team))
}
