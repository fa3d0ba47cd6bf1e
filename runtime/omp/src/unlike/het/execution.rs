//! One execution of one loop under a schedule that knows of nodes.
//!
//! # The last iteration comes last
//! Compilers write `lastprivate` variables back in the thread whose *last* chunk ends where the loop
//! ends (gcc compares the loop variable with its bound once, after all chunks). HetProbe and
//! cross-dynamic let a thread that has run the end of the loop help elsewhere, and the value would
//! be lost. So they get all iterations but the last one, and that goes to the first thread
//! for which nothing else is left. Static and plain schedules and the asymmetric distributions give
//! every thread its chunks in increasing order.
//!
//! A loop that is `monotonic`, or that gcc before 9 compiled, gets them in that order from all
//! schedules (`Parts::ascending`).

use super::{known, report, source};
use crate::cancel::{self, Construct};
use crate::thread::Thread;
use crate::worksharing::loops::{Clause, Loop, NodeSchedule};
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hetmp_core::park::Flag;
use hetmp_core::sync::CacheLine;
use hetmp_core::sys::monotonic_ns;
use hetmp_core::trace;
use hetmp_sched::aid::{Aid, Shape};
use hetmp_sched::cache::{Key, Known};
use hetmp_sched::cross_dynamic::CrossDynamic;
use hetmp_sched::csr;
use hetmp_sched::decide::Decision;
use hetmp_sched::fixed;
use hetmp_sched::hetprobe::{HetProbe, Next, Settings};
use hetmp_sched::irregular::{self, Irregular, Step, Trigger};
use hetmp_sched::plain::{static_chunk, static_piece, Dynamic, Guided};
use hetmp_sched::probe::Measurement;
use hetmp_sched::ranges::Range;
use hetmp_sched::record::{Learning, LoopRecord, Tally};
use hetmp_sched::schedule::Kind;
use hetmp_sched::team::Team;
use std::sync::Arc;

/// Which schedule, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Method {
    /// Probe, then split; `probe` is the part of the iterations used for probing.
    HetProbe { probe: f64 },
    /// The same, and again as the loop goes: when the part `jump` of what was distributed is done, or
    /// when the nodes' speeds have changed.
    HetProbeI { probe: f64, jump: Option<f64> },
    /// Split by ratios, one a node.
    StaticCsr { ratios: Box<[f64]> },
    /// Two-level dynamic.
    CrossDynamic { chunk: u64 },
    /// One of the asymmetric iteration distributions.
    Aid { shape: Shape, chunk: u64 },
    /// What the program asked for, with its chunk; 0: none.
    Plain(Clause, u64),
}

impl Method {
    /// The schedule by its name.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Method::HetProbe { probe } => Kind::HetProbe { probe: *probe },
            Method::HetProbeI { probe, jump } => Kind::HetProbeI {
                probe: *probe,
                jump: *jump,
            },
            Method::StaticCsr { ratios } => Kind::StaticCsr {
                ratios: ratios.clone(),
            },
            Method::CrossDynamic { .. } => Kind::CrossDynamic,
            Method::Aid { shape, .. } => shape.kind(),
            Method::Plain(Clause::Dynamic, _) => Kind::Dynamic,
            Method::Plain(Clause::Guided | Clause::GuidedWhole, _) => Kind::Guided,
            Method::Plain(..) => Kind::Static,
        }
    }

    /// Does it use and refresh what is known about a loop?
    pub(super) fn learns(&self) -> bool {
        matches!(self, Method::HetProbe { .. } | Method::HetProbeI { .. })
    }
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
    /// HetProbe with a settled plan, in one piece a thread.
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

/// One thread's part. Only that thread touches it, hence relaxed atomics and a line of its own.
#[derive(Debug, Default)]
struct Slot {
    /// When the thread came, in ns; 0: not yet.
    started: AtomicU64,
    /// When it left, in ns; 0: not yet.
    ended: AtomicU64,
    /// When it got the chunk that is measured.
    probe_started: AtomicU64,
    /// Iterations of that chunk; 0: none.
    probing: AtomicU64,
    /// Counters were read when it got it; 0: they were not.
    counted: AtomicU64,
    /// How long it has slept, in ns.
    waited: AtomicU64,
    /// Chunks taken so far; `OVER` when the thread has left.
    trips: AtomicU64,
    /// Where iterations ascend: the end of the thread's last chunk.
    after: AtomicU64,
    /// The counters when it got its probe chunk.
    counters: source::Started,
}

const OVER: u64 = u64::MAX;

impl Slot {
    fn clear(&self) {
        for a in [
            &self.started,
            &self.ended,
            &self.probe_started,
            &self.probing,
            &self.waited,
            &self.trips,
            &self.after,
        ] {
            a.store(0, Ordering::Relaxed);
        }
    }

    /// The measurement of the chunk that the thread has just run, if it is one that is measured.
    fn measured(&self, node: usize) -> Option<Measurement> {
        let iterations = self.probing.load(Ordering::Relaxed);
        if iterations == 0 {
            return None;
        }
        self.probing.store(0, Ordering::Relaxed);
        let elapsed_ns = monotonic_ns() - self.probe_started.load(Ordering::Relaxed);
        if self.counted.load(Ordering::Relaxed) == 0 {
            return Some(Measurement {
                elapsed_ns,
                iterations,
                ..Measurement::default()
            });
        }
        Some(self.counters.measured(node, iterations, elapsed_ns))
    }

    /// Begins a chunk that is measured; if it is `counted`, by more than the clock.
    fn probe(&self, range: Range, counted: bool) {
        self.probing.store(range.len(), Ordering::Relaxed);
        self.counted.store(u64::from(counted), Ordering::Relaxed);
        if counted {
            self.counters.now();
        }
        self.probe_started.store(monotonic_ns(), Ordering::Relaxed);
    }
}

/// What a settled loop is handed out in, where `known` says that it runs in fixed pieces.
fn fixed_plan(method: &Method, known: Option<&Arc<Known>>, faults: bool) -> Option<Arc<Decision>> {
    match method {
        Method::HetProbe { .. } if !faults => known
            .filter(|k| k.fixed)
            .and_then(|k| k.plan.as_ref().map(Arc::clone)),
        _ => None,
    }
}

/// What an execution consists of; recycled by [`super::known`], so that a loop that is executed again
/// finds its memory.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) key: Key,
    pub(super) method: Method,
    /// Every thread gets its iterations in increasing order.
    pub(super) ascending: bool,
    pub(super) team: Arc<Team>,
    n: u64,
    state: State,
    slots: Box<[CacheLine<Slot>]>,
    /// Who took the last iteration, where it is kept back: the thread's number plus one.
    tail: AtomicU32,
    /// Threads that have left.
    left: AtomicU32,
    /// Remote faults are counted.
    faults: bool,
    /// Threads that HetProbe-I tells to wait sleep here.
    bell: CacheLine<Flag>,
}

/// Sleeping threads look around after so long, in ns: a cancellation does not wake them.
const NAP: u64 = 10_000_000;
/// They help if nothing has moved for so many naps.
const PATIENCE: u32 = 5;

impl Parts {
    /// For a loop of `n` iterations, at least one.
    pub(super) fn new(
        key: Key,
        (method, ascending): (&Method, bool),
        n: u64,
        team: &Arc<Team>,
        known: Option<Arc<Known>>,
    ) -> Box<Parts> {
        let threads = team.threads();
        let tally = || Tally::new(threads);
        let faults = source::counts_faults();
        let fixed = fixed_plan(method, known.as_ref(), faults);
        let state = match method {
            _ if fixed.is_some() => State::Fixed(Fixed {
                pieces: Vec::new(),
                plan: None,
                tally: tally(),
            }),
            // HetProbe-I probes all over the loop, and again and again: no order would be left.
            // Where iterations ascend, HetProbe's chunks are small enough to follow a change.
            Method::HetProbe { probe } | Method::HetProbeI { probe, .. } if ascending => {
                let settings = Settings {
                    probe: *probe,
                    rules: source::rules(),
                    ascending,
                    ..Settings::default()
                };
                State::HetProbe(HetProbe::new(n - 1, Arc::clone(team), settings, known))
            }
            Method::HetProbe { probe } if faults => {
                let settings = irregular::Settings {
                    probe: *probe,
                    trigger: Trigger::Faults,
                    rules: source::rules(),
                    ..irregular::Settings::default()
                };
                State::Irregular(Irregular::new(n - 1, Arc::clone(team), settings, known))
            }
            Method::HetProbe { probe } => {
                let settings = Settings {
                    probe: *probe,
                    rules: source::rules(),
                    ..Settings::default()
                };
                State::HetProbe(HetProbe::new(n - 1, Arc::clone(team), settings, known))
            }
            Method::HetProbeI { probe, jump } => {
                let settings = irregular::Settings {
                    probe: *probe,
                    trigger: jump.map_or(Trigger::Change, Trigger::Jump),
                    rules: source::rules(),
                    ..irregular::Settings::default()
                };
                State::Irregular(Irregular::new(n - 1, Arc::clone(team), settings, known))
            }
            Method::CrossDynamic { chunk } => {
                State::CrossDynamic(CrossDynamic::new(n - 1, *chunk, Arc::clone(team)))
            }
            Method::Aid { shape, chunk } => {
                State::Aid(Aid::new(n, *shape, *chunk, Arc::clone(team)))
            }
            Method::StaticCsr { .. } => State::StaticCsr(tally()),
            Method::Plain(Clause::Dynamic, chunk) => {
                let dynamic = Dynamic::new();
                dynamic.reset(n, *chunk);
                State::Dynamic(dynamic, tally())
            }
            Method::Plain(Clause::Guided | Clause::GuidedWhole, chunk) => {
                let guided = Guided::new();
                guided.reset(n, *chunk, threads as u64);
                State::Guided(guided, tally())
            }
            Method::Plain(..) => State::Static(tally()),
        };
        let mut parts = Box::new(Parts {
            key,
            method: method.clone(),
            ascending,
            team: Arc::clone(team),
            n,
            state,
            slots: (0..threads).map(|_| CacheLine::default()).collect(),
            tail: AtomicU32::new(0),
            left: AtomicU32::new(0),
            faults,
            bell: CacheLine(Flag::new()),
        });
        parts.cut(fixed);
        parts
    }

    /// The pieces of a settled execution by `plan`.
    fn cut(&mut self, plan: Option<Arc<Decision>>) {
        if let (State::Fixed(f), Some(plan)) = (&mut self.state, plan) {
            fixed::pieces(self.n, &plan, &self.team, &mut f.pieces);
            f.plan = Some(plan);
            f.tally.reset();
        }
    }

    /// Can it be [restarted](Self::restart) with what is known now?
    pub(super) fn suits(&self, known: Option<&Arc<Known>>) -> bool {
        let fixed = fixed_plan(&self.method, known, self.faults).is_some();
        matches!(self.state, State::Fixed(_)) == fixed
    }

    /// Prepares for another execution by the same method on the same team, if it
    /// [suits](Self::suits).
    pub(super) fn restart(&mut self, key: Key, n: u64, known: Option<Arc<Known>>) {
        self.key = key;
        self.n = n;
        *self.tail.get_mut() = 0;
        *self.left.get_mut() = 0;
        for slot in &*self.slots {
            slot.clear();
        }
        let threads = self.slots.len() as u64;
        match (&mut self.state, &self.method) {
            (State::HetProbe(h), _) => h.restart(n - 1, known),
            (State::Irregular(h), _) => h.restart(n - 1, known),
            (State::CrossDynamic(c), Method::CrossDynamic { chunk }) => c.restart(n - 1, *chunk),
            (State::Aid(a), _) => a.restart(n),
            (State::Fixed(_), _) => {
                let plan = fixed_plan(&self.method, known.as_ref(), self.faults);
                self.cut(plan);
            }
            (State::Dynamic(d, tally), Method::Plain(_, chunk)) => {
                d.reset(n, *chunk);
                tally.reset();
            }
            (State::Guided(g, tally), Method::Plain(_, chunk)) => {
                g.reset(n, *chunk, threads);
                tally.reset();
            }
            (State::StaticCsr(tally) | State::Static(tally), _) => tally.reset(),
            // `state` was made for `method`.
            _ => {}
        }
    }

    /// The record of an execution that every thread has left.
    pub(super) fn record(&self) -> LoopRecord {
        let mut record = self.record_of_state();
        let slots = || self.slots.iter().map(|s| s.started.load(Ordering::Relaxed));
        let ended = || self.slots.iter().map(|s| s.ended.load(Ordering::Relaxed));
        let first = slots().filter(|&ns| ns > 0).min().unwrap_or(0);
        record.span_ns = ended().max().unwrap_or(0).saturating_sub(first);
        record
    }

    fn record_of_state(&self) -> LoopRecord {
        match &self.state {
            State::HetProbe(h) => self.with_tail(h.record()),
            State::Irregular(h) => self.with_tail(h.record()),
            State::CrossDynamic(c) => self.with_tail(c.record()),
            State::Aid(a) => a.record(),
            State::Fixed(f) => {
                let mut record = LoopRecord::new(self.method.kind(), self.n, &self.team, &f.tally);
                record.fixed = true;
                record.learning = Learning::Settled;
                record.decision.clone_from(&f.plan);
                record
            }
            State::StaticCsr(tally)
            | State::Static(tally)
            | State::Dynamic(_, tally)
            | State::Guided(_, tally) => {
                LoopRecord::new(self.method.kind(), self.n, &self.team, tally)
            }
        }
    }

    /// Adds the last iteration to the record of all others.
    fn with_tail(&self, mut record: LoopRecord) -> LoopRecord {
        record.iterations = self.n;
        if let Some(tid) = self.tail.load(Ordering::Relaxed).checked_sub(1) {
            record.nodes[self.team.node_of(tid as usize)].iterations += 1;
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

    /// The last iteration, if it was kept back and nobody has it.
    fn take_tail(&self, tid: usize) -> Option<Range> {
        let mine = tid as u32 + 1;
        self.tail
            .compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed)
            .ok()?;
        Some(Range::new(self.n - 1, self.n))
    }

    /// The next chunk under HetProbe-I. Every chunk is measured.
    fn next_irregular(&self, h: &Irregular, th: &Thread, first: bool) -> Option<Range> {
        let tid = th.tid() as usize;
        let slot = &*self.slots[tid];
        let mut step = if first {
            h.first(tid)
        } else {
            h.next(tid, slot.measured(self.team.node_of(tid)))
        };
        let mut idle = 0;
        loop {
            if h.must_wake() {
                self.bell.nudge();
            }
            match step {
                Step::Run { range, probe } => {
                    slot.probe(range, probe || self.faults);
                    return Some(range);
                }
                Step::Done => return self.take_tail(tid),
                Step::Wait(ticket) => {
                    let start = monotonic_ns();
                    let done = h.handed_out();
                    let mut gone = false;
                    let news = self.bell.wait_nudged(NAP, &mut || {
                        gone = cancelled(th);
                        gone || h.changed(ticket)
                    });
                    let waited = slot.waited.load(Ordering::Relaxed) + monotonic_ns() - start;
                    slot.waited.store(waited, Ordering::Relaxed);
                    if gone {
                        return None;
                    }
                    let moved = news || h.handed_out() != done;
                    idle = if moved { 0 } else { idle + 1 };
                    if idle == PATIENCE {
                        h.lose_patience(tid);
                        idle = 0;
                    } else if !news {
                        continue;
                    }
                }
            }
            step = h.next(tid, None);
        }
    }

    fn next(&self, th: &Thread) -> Option<Range> {
        let tid = th.tid() as usize;
        let slot = &*self.slots[tid];
        let trip = slot.trips.load(Ordering::Relaxed);
        if trip == OVER {
            return None;
        }
        slot.trips.store(trip + 1, Ordering::Relaxed);
        if trip == 0 {
            slot.started.store(monotonic_ns(), Ordering::Relaxed);
        }
        let range = match &self.state {
            _ if self.tail.load(Ordering::Relaxed) == tid as u32 + 1 => None,
            State::HetProbe(h) => {
                let answer = if trip == 0 {
                    h.first(tid)
                } else {
                    h.next(tid, slot.measured(self.team.node_of(tid)))
                };
                match answer {
                    Next::Range(range) => Some(range),
                    Next::Probe(range) => {
                        slot.probe(range, true);
                        Some(range)
                    }
                    Next::Done => self.take_tail(tid),
                }
            }
            State::Irregular(h) => self.next_irregular(h, th, trip == 0),
            State::CrossDynamic(c) => {
                if trip == 0 {
                    c.arrive(tid);
                }
                let range = if self.ascending {
                    let range = c.next_after(tid, slot.after.load(Ordering::Relaxed));
                    slot.after
                        .store(range.map_or(u64::MAX, |r| r.end), Ordering::Relaxed);
                    range
                } else {
                    c.next(tid)
                };
                range.or_else(|| self.take_tail(tid))
            }
            State::Aid(a) => {
                let answer = if trip == 0 {
                    a.first(tid)
                } else {
                    a.next(tid, slot.measured(self.team.node_of(tid)))
                };
                match answer {
                    Next::Range(range) => Some(range),
                    Next::Probe(range) => {
                        slot.probe(range, false);
                        Some(range)
                    }
                    Next::Done => None,
                }
            }
            State::Fixed(f) => counted(&f.tally, tid, trip, || {
                let piece = f.pieces.get(tid).copied();
                piece.filter(|r| trip == 0 && !r.is_empty())
            }),
            State::StaticCsr(tally) => counted(tally, tid, trip, || match &self.method {
                Method::StaticCsr { ratios } if trip == 0 => {
                    Some(csr::piece(self.n, ratios, &self.team, tid)).filter(|r| !r.is_empty())
                }
                _ => None,
            }),
            State::Static(tally) => counted(tally, tid, trip, || self.next_static(tid, trip)),
            State::Dynamic(d, tally) => counted(tally, tid, trip, || d.next()),
            State::Guided(g, tally) => counted(tally, tid, trip, || g.next()),
        };
        if range.is_none() {
            self.leave(th);
        }
        range
    }

    fn next_static(&self, tid: usize, trip: u64) -> Option<Range> {
        let (threads, tid) = (self.slots.len() as u64, tid as u64);
        match self.method {
            Method::Plain(_, chunk) if chunk > 0 => static_chunk(self.n, chunk, threads, tid, trip),
            _ if trip > 0 => None,
            _ => Some(static_piece(self.n, threads, tid)).filter(|r| !r.is_empty()),
        }
    }

    /// Tells the trace that thread `tid` goes on with `range`.
    #[cold]
    fn trace(&self, tid: usize, range: Option<Range>) {
        trace::chunk(
            core::ptr::from_ref(self) as usize as u64,
            self.key.region,
            self.team.node_of(tid) as u32,
            range.map(|r| (r.start, r.end)),
            self.slots[tid].probing.load(Ordering::Relaxed) != 0,
        );
    }

    /// The thread is done. The last one of the team brings the record home; if threads never come
    /// (the loop was cancelled), nobody does.
    fn leave(&self, th: &Thread) {
        let tid = th.tid() as usize;
        let slot = &*self.slots[tid];
        slot.trips.store(OVER, Ordering::Relaxed);
        let now = monotonic_ns();
        slot.ended.store(now, Ordering::Relaxed);
        let elapsed = (now - slot.started.load(Ordering::Relaxed))
            .saturating_sub(slot.waited.load(Ordering::Relaxed));
        match &self.state {
            State::HetProbe(h) => h.finish(tid, elapsed),
            State::Irregular(h) => h.finish(tid, elapsed),
            State::CrossDynamic(c) => c.finish(tid, elapsed),
            State::Aid(a) => a.finish(tid, elapsed),
            State::Fixed(Fixed { tally, .. })
            | State::StaticCsr(tally)
            | State::Static(tally)
            | State::Dynamic(_, tally)
            | State::Guided(_, tally) => tally.leave(tid, elapsed),
        }
        // Acquire and release: the last one sees what the others counted.
        let left = self.left.fetch_add(1, Ordering::AcqRel) + 1;
        if left as usize == self.slots.len() {
            known::learn(self);
            let divides = !matches!(self.method, Method::Plain(..));
            // Loops of nested regions may run at the same time: their times do not add up.
            if divides && report::wanted() && th.team().level() == 1 {
                let began = |slot: &CacheLine<Slot>| slot.started.load(Ordering::Relaxed);
                let first = self.slots.iter().map(began).min().unwrap_or(0);
                // Relaxed: read after the join.
                th.team()
                    .divided_ns
                    .fetch_add(monotonic_ns() - first, Ordering::Relaxed);
            }
        }
    }
}

/// Was the loop that the thread is in cancelled, or its region?
fn cancelled(th: &Thread) -> bool {
    cancel::is_cancelled(th, Construct::Worksharing)
        || cancel::is_cancelled(th, Construct::Parallel)
}

/// Counts what `take` gives.
fn counted(
    tally: &Tally,
    tid: usize,
    trip: u64,
    take: impl FnOnce() -> Option<Range>,
) -> Option<Range> {
    if trip == 0 {
        tally.arrive(tid);
    }
    let range = take()?;
    tally.add(tid, range.len());
    Some(range)
}

/// One execution of one loop. Gives its parts back when it is over.
#[derive(Debug)]
pub(super) struct Execution(ManuallyDrop<Box<Parts>>);

impl Execution {
    /// An execution of `l` by a method, whose ranges ascend for every thread or need not, on a team
    /// whose thread `t` belongs to node `node_of(t)`.
    pub(super) fn new(
        method: (&Method, bool),
        l: &Loop,
        nthreads: u32,
        node_of: impl Fn(usize) -> u32,
    ) -> Execution {
        let n = l.bounds.trip_count();
        Execution(ManuallyDrop::new(known::parts(
            method, l.key, n, nthreads, node_of,
        )))
    }

    /// Each thread's piece, if it runs in fixed ones.
    pub(super) fn fixed_pieces(&self) -> Option<&[Range]> {
        match &self.0.state {
            State::Fixed(f) => Some(&f.pieces),
            _ => None,
        }
    }
}

impl NodeSchedule for Execution {
    fn next(&self, th: &Thread) -> Option<Range> {
        // A slow core pays for its chunk first: the measurement contains it, and the next chunk
        // is taken when a slow core would take it.
        th.slow.leave();
        let range = self.0.next(th);
        if trace::on() {
            self.0.trace(th.tid() as usize, range);
        }
        th.slow
            .in_loop(th, range.map_or(0, |_| self.0.key.region as usize));
        th.slow.enter(th);
        range
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        // SAFETY: taken once, here, and not used after.
        known::give_back(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}
