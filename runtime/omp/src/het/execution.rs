//! One execution of one loop under a schedule that knows of nodes.
//!
//! # The last iteration comes last
//! Compilers write `lastprivate` variables back in the thread whose *last* chunk ends where the loop
//! ends (gcc compares the loop variable with its bound once, after all chunks). HetProbe and
//! cross-dynamic let a thread that has run the end of the loop help elsewhere, and the value would
//! be lost. So they get all iterations but the last one, and that goes to the first thread
//! for which nothing else is left. Static and plain schedules give every thread its chunks in
//! increasing order.

use super::{regions, source};
use crate::cancel::{self, Construct};
use crate::loops::{Clause, Loop, NodeSchedule};
use crate::thread::Thread;
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hetmp_core::park::Flag;
use hetmp_core::sync::CacheLine;
use hetmp_core::sys::monotonic_ns;
use hetmp_core::trace;
use hetmp_sched::cache::{Key, Known};
use hetmp_sched::cross_dynamic::CrossDynamic;
use hetmp_sched::csr;
use hetmp_sched::hetprobe::{HetProbe, Next, Settings};
use hetmp_sched::irregular::{self, Irregular, Step, Trigger};
use hetmp_sched::plain::{static_chunk, static_piece, Dynamic, Guided};
use hetmp_sched::probe::Measurement;
use hetmp_sched::ranges::Range;
use hetmp_sched::record::{LoopRecord, Tally};
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
            Method::Plain(Clause::Dynamic, _) => Kind::Dynamic,
            Method::Plain(Clause::Guided, _) => Kind::Guided,
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
    StaticCsr(Tally),
    Static(Tally),
    Dynamic(Dynamic, Tally),
    Guided(Guided, Tally),
}

/// One thread's part. Only that thread touches it, hence relaxed atomics and a line of its own.
#[derive(Debug, Default)]
struct Slot {
    /// When the thread came, in ns; 0: not yet.
    started: AtomicU64,
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
    /// The counters when it got its probe chunk.
    counters: source::Started,
}

const OVER: u64 = u64::MAX;

impl Slot {
    fn clear(&self) {
        for a in [
            &self.started,
            &self.probe_started,
            &self.probing,
            &self.waited,
            &self.trips,
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

/// What an execution consists of; recycled by [`regions`], so that a loop that is executed again
/// finds its memory.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) key: Key,
    pub(super) method: Method,
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
        method: &Method,
        n: u64,
        team: &Arc<Team>,
        known: Option<Arc<Known>>,
    ) -> Box<Parts> {
        let threads = team.threads();
        let tally = || Tally::new(threads);
        let faults = source::counts_faults();
        let state = match method {
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
            Method::StaticCsr { .. } => State::StaticCsr(tally()),
            Method::Plain(Clause::Dynamic, chunk) => {
                let dynamic = Dynamic::new();
                dynamic.reset(n, *chunk);
                State::Dynamic(dynamic, tally())
            }
            Method::Plain(Clause::Guided, chunk) => {
                let guided = Guided::new();
                guided.reset(n, *chunk, threads as u64);
                State::Guided(guided, tally())
            }
            Method::Plain(..) => State::Static(tally()),
        };
        Box::new(Parts {
            key,
            method: method.clone(),
            team: Arc::clone(team),
            n,
            state,
            slots: (0..threads).map(|_| CacheLine::default()).collect(),
            tail: AtomicU32::new(0),
            left: AtomicU32::new(0),
            faults,
            bell: CacheLine(Flag::new()),
        })
    }

    /// Prepares for another execution by the same method on the same team.
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
        match &self.state {
            State::HetProbe(h) => self.with_tail(h.record()),
            State::Irregular(h) => self.with_tail(h.record()),
            State::CrossDynamic(c) => self.with_tail(c.record()),
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
                c.next(tid).or_else(|| self.take_tail(tid))
            }
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
            self.leave(tid);
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

    /// Thread `tid` is done. The last one of the team brings the record home; if threads never come
    /// (the loop was cancelled), nobody does.
    fn leave(&self, tid: usize) {
        let slot = &*self.slots[tid];
        slot.trips.store(OVER, Ordering::Relaxed);
        let elapsed = (monotonic_ns() - slot.started.load(Ordering::Relaxed))
            .saturating_sub(slot.waited.load(Ordering::Relaxed));
        match &self.state {
            State::HetProbe(h) => h.finish(tid, elapsed),
            State::Irregular(h) => h.finish(tid, elapsed),
            State::CrossDynamic(c) => c.finish(tid, elapsed),
            State::StaticCsr(tally)
            | State::Static(tally)
            | State::Dynamic(_, tally)
            | State::Guided(_, tally) => tally.leave(tid, elapsed),
        }
        // Acquire and release: the last one sees what the others counted.
        let left = self.left.fetch_add(1, Ordering::AcqRel) + 1;
        if left as usize == self.slots.len() {
            regions::learn(self);
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
    /// An execution of `l` on a team whose thread `t` belongs to node `node_of(t)`.
    pub(super) fn new(
        method: &Method,
        l: &Loop,
        nthreads: u32,
        node_of: impl Fn(usize) -> u32,
    ) -> Execution {
        let n = l.bounds.trip_count();
        Execution(ManuallyDrop::new(regions::parts(
            method, l.key, n, nthreads, node_of,
        )))
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
        regions::give_back(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}
