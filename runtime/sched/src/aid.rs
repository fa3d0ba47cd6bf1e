//! `aid-static`, `aid-hybrid` and `aid-dynamic`: asymmetric iteration
//! distribution, the schedules of J. C. Saez, F. Castro and M. Prieto-Matias
//! for unlike cores of one machine (arXiv 2402.07664).
//!
//! All three begin with a *sampling phase*: every thread times one chunk. When
//! every node has brought a time, the *speedup factor* of a node is known: how
//! much faster one of its cores is than one of the slowest node. Then
//!
//! * `aid-static` gives each thread one allotment, so that all end together;
//! * `aid-hybrid` does that with a part of the loop, and hands out the rest in
//!   chunks on demand;
//! * `aid-dynamic` works in phases. In each, a thread gets an allotment of `major` iterations times its
//!   node's factor, and is measured while it runs it. Towards the end threads take chunks on demand.
//!
//! The paper has two types of cores; here any number of nodes is served. A thread that has brought its time
//! before the others takes chunks on demand meanwhile, as in the paper. Nobody waits for a thread that has
//! not arrived: if a node never brings a time, the loop ends with chunks on demand, and a thread that arrives
//! after the sampling gets its allotment at once.
//!
//! Nothing is remembered from one execution to the next, and no iteration is taken back from a thread: these
//! are the schedules as published, for comparison.
//!
//! **No iteration is lost**, and every thread's pieces come in increasing
//! order: all pieces are taken from one cursor.
//!
//! # Memory ordering
//! The cursor is relaxed, because a taken range carries no other data (see [`crate::plain`]). Allotments are
//! written before `phase` is stored with release, and read after `phase` was loaded with acquire. Without
//! that pair a thread could take part in a phase with the allotment of the phase before. No iteration would
//! be lost, but the measurement would be of the wrong phase.

use crate::placement::Placement;
use crate::plain::take_up_to;
use crate::primitive::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};
use crate::probe::{Measurement, NodeTotal};
use crate::record::{LoopRecord, Tally};
use crate::schedule::Kind;
use crossbeam_utils::CachePadded;
use std::sync::Arc;

pub(crate) use crate::hetprobe::Next;

/// The part of the loop that `aid-hybrid` distributes at once, where the user gives none.
pub const DEFAULT_PART: f64 = 0.8;
/// Chunks in the allotment of a thread of the slowest node in a phase of `aid-dynamic`, where the user gives
/// no `major`.
pub(crate) const DEFAULT_MAJOR: u64 = 5;

/// Which of the three schedules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// One allotment of everything.
    Static,
    /// One allotment of the part `part`, in `(0, 1]`, then chunks.
    Hybrid {
        /// The part of the loop that is allotted.
        part: f64,
    },
    /// An allotment in each phase, chunks at the end.
    Dynamic {
        /// Iterations of a thread of the slowest node in a phase, at least 1.
        major: u64,
    },
}

/// The `major` of `aid-dynamic` where the user gives none.
pub(crate) fn major(chunk: u64) -> u64 {
    chunk.max(1).saturating_mul(DEFAULT_MAJOR)
}

impl Shape {
    /// The schedule's kind.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Shape::Static => Kind::AidStatic,
            Shape::Hybrid { part } => Kind::AidHybrid { part },
            Shape::Dynamic { major } => Kind::AidDynamic { major: Some(major) },
        }
    }
}

const SAMPLING: u64 = 0;
/// The last phase: chunks on demand.
const ENDING: u64 = u64::MAX;

/// State of one thread. Only that thread touches it.
#[derive(Debug, Default)]
struct Mine {
    /// The last phase in which the thread got an allotment.
    phase: AtomicU64,
    /// The chunk that the thread runs is timed.
    timed: AtomicBool,
}

/// State that only rare calls touch, under a lock.
#[derive(Debug, Default)]
struct Picture {
    /// Times of the running phase, by node.
    totals: Vec<NodeTotal>,
    /// Times of the sampling phase, for the record.
    samples: Vec<NodeTotal>,
    /// Threads that run a timed chunk.
    outstanding: u32,
}

/// One execution of one loop under one of the three schedules.
#[derive(Debug)]
pub struct Aid {
    team: Arc<Placement>,
    shape: Shape,
    n: u64,
    chunk: u64,
    phase: CachePadded<AtomicU64>,
    next: CachePadded<AtomicU64>,
    /// Iterations that a thread gets, by node: in the running phase for `aid-dynamic`, otherwise in the whole
    /// loop, where those that the thread has had before count.
    allotment: Box<[AtomicU64]>,
    mine: Box<[CachePadded<Mine>]>,
    tally: Tally,
    picture: Mutex<Picture>,
}

impl Aid {
    /// State for a loop of `n` iterations, with chunks of `chunk` (0 counts as 1).
    #[must_use]
    pub fn new(n: u64, shape: Shape, chunk: u64, team: Arc<Placement>) -> Self {
        let nodes = team.nodes().len();
        let mut state = Aid {
            shape,
            n: 0,
            chunk: chunk.max(1),
            phase: CachePadded::default(),
            next: CachePadded::default(),
            allotment: (0..nodes).map(|_| AtomicU64::new(0)).collect(),
            mine: (0..team.threads())
                .map(|_| CachePadded::default())
                .collect(),
            tally: Tally::new(team.threads()),
            picture: Mutex::new(Picture {
                totals: vec![NodeTotal::default(); nodes],
                samples: vec![NodeTotal::default(); nodes],
                outstanding: 0,
            }),
            team,
        };
        state.restart(n);
        state
    }

    /// Prepares the same state for another execution with the same team. The
    /// caller makes it visible to the team's threads.
    pub fn restart(&mut self, n: u64) {
        self.n = n;
        self.next.store(0, Ordering::Relaxed);
        self.phase.store(SAMPLING, Ordering::Relaxed);
        for mine in &*self.mine {
            mine.phase.store(SAMPLING, Ordering::Relaxed);
            mine.timed.store(false, Ordering::Relaxed);
        }
        self.tally.reset();
        let mut picture = lock(&self.picture);
        picture.totals.fill(NodeTotal::default());
        picture.samples.fill(NodeTotal::default());
        picture.outstanding = 0;
    }

    /// First call of thread `tid`.
    pub fn first(&self, tid: usize) -> Next {
        self.tally.arrive(tid);
        match self.phase.load(Ordering::Acquire) {
            SAMPLING => self.take_timed(tid, SAMPLING),
            phase => self.take(tid, phase),
        }
    }

    /// Every further call of thread `tid`, with the measurement if the last
    /// answer was [`Next::Probe`].
    #[inline]
    pub fn next(&self, tid: usize, measured: Option<Measurement>) -> Next {
        let mine = &self.mine[tid];
        if mine.timed.load(Ordering::Relaxed) {
            mine.timed.store(false, Ordering::Relaxed);
            self.report(tid, measured.as_ref());
        }
        let phase = self.phase.load(Ordering::Acquire);
        self.take(tid, phase)
    }

    /// Thread `tid` has left the loop after `elapsed_ns` nanoseconds. Only the record needs this.
    pub fn finish(&self, tid: usize, elapsed_ns: u64) {
        self.tally.leave(tid, elapsed_ns);
    }

    /// The record of this execution. Call it after all threads have left.
    #[must_use]
    pub fn record(&self) -> LoopRecord {
        let mut record = LoopRecord::new(self.shape.kind(), self.n, &self.team, &self.tally);
        for (node, sample) in record.nodes.iter_mut().zip(&lock(&self.picture).samples) {
            node.probe = sample.rate();
        }
        record
    }

    #[inline]
    fn take(&self, tid: usize, phase: u64) -> Next {
        let mine = self.mine[tid].phase.load(Ordering::Relaxed);
        if phase == mine || phase == ENDING {
            return self.give(tid, |_| self.chunk);
        }
        self.mine[tid].phase.store(phase, Ordering::Relaxed);
        match self.shape {
            Shape::Dynamic { .. } => self.take_timed(tid, phase),
            // Iterations that the thread has had already are part of its allotment.
            _ => {
                let all = self.allotment[self.team.node_of(tid)].load(Ordering::Relaxed);
                match all.saturating_sub(self.tally.iterations(tid)) {
                    0 => self.give(tid, |_| self.chunk),
                    rest => self.give(tid, |_| rest),
                }
            }
        }
    }

    fn give(&self, tid: usize, size: impl Fn(u64) -> u64) -> Next {
        match take_up_to(&self.next, self.n, size) {
            Some(range) => {
                self.tally.add(tid, range.len());
                Next::Range(range)
            }
            None => Next::Done,
        }
    }

    /// Takes a timed chunk: in the sampling phase a plain one, later the allotment of `phase`.
    #[cold]
    fn take_timed(&self, tid: usize, phase: u64) -> Next {
        let mut picture = lock(&self.picture);
        let now = self.phase.load(Ordering::Acquire);
        if now != phase {
            // The phase ended while this thread came for the lock.
            drop(picture);
            return self.take(tid, now);
        }
        let size = match phase {
            SAMPLING => self.chunk,
            _ => self.allotment[self.team.node_of(tid)].load(Ordering::Relaxed),
        };
        match self.give(tid, |_| size) {
            Next::Range(range) => {
                self.mine[tid].timed.store(true, Ordering::Relaxed);
                picture.outstanding += 1;
                Next::Probe(range)
            }
            other => other,
        }
    }

    /// Thread `tid` has run its timed chunk. The last report of a phase begins the next phase.
    #[cold]
    fn report(&self, tid: usize, m: Option<&Measurement>) {
        let mut guard = lock(&self.picture);
        let picture = &mut *guard;
        picture.outstanding -= 1;
        if let Some(m) = m {
            picture.totals[self.team.node_of(tid)].add(m);
        }
        let nodes = self.team.nodes();
        let complete = picture.outstanding == 0
            && picture
                .totals
                .iter()
                .zip(nodes)
                .all(|(total, shape)| total.reports() > 0 || shape.threads == 0);
        if !complete {
            return;
        }
        let phase = self.phase.load(Ordering::Relaxed);
        if phase == SAMPLING {
            picture.samples.clone_from(&picture.totals);
        }
        let next = self.allot(&picture.totals, phase + 1);
        picture.totals.fill(NodeTotal::default());
        self.phase.store(next, Ordering::Release);
    }

    /// Writes the allotments of `phase`, by the times of the phase before. Returns `phase`, or [`ENDING`]
    /// where the rest is too short for another one.
    fn allot(&self, totals: &[NodeTotal], phase: u64) -> u64 {
        let ns: Vec<f64> = totals
            .iter()
            .map(|t| t.rate().map_or(0.0, |r| r.ns_per_iteration))
            .collect();
        let slowest = ns.iter().copied().fold(0.0, f64::max);
        // A node without threads has no time, and gets nothing.
        let factor = |i: usize| if ns[i] > 0.0 { slowest / ns[i] } else { 0.0 };
        let threads = |i: usize| f64::from(self.team.nodes()[i].threads);
        let all: f64 = (0..ns.len()).map(|i| threads(i) * factor(i)).sum();
        // Iterations of a thread of the slowest node.
        let unit = match self.shape {
            Shape::Static => self.n as f64 / all,
            Shape::Hybrid { part } => self.n as f64 * part / all,
            Shape::Dynamic { major } => major as f64,
        };
        for (i, allotment) in self.allotment.iter().enumerate() {
            let size = (factor(i) * unit).round().max(1.0) as u64;
            allotment.store(size, Ordering::Relaxed);
        }
        let ends = match self.shape {
            Shape::Dynamic { .. } => {
                let left = self.n.saturating_sub(self.next.load(Ordering::Relaxed));
                left as f64 <= all * unit
            }
            _ => false,
        };
        if ends {
            ENDING
        } else {
            phase
        }
    }
}

/// No code that can panic runs under the crate's locks, so they are never poisoned.
fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().expect("no panic under this lock")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ranges::Range;

    fn measured(r: Range, ns: u64) -> Option<Measurement> {
        Some(Measurement {
            elapsed_ns: ns * r.len(),
            iterations: r.len(),
            ..Measurement::default()
        })
    }

    fn len(next: Next) -> u64 {
        match next {
            Next::Range(r) | Next::Probe(r) => r.len(),
            Next::Done => 0,
        }
    }

    fn probe(next: Next) -> Range {
        match next {
            Next::Probe(r) => r,
            other => panic!("{other:?} is not timed"),
        }
    }

    /// Node 0 needs 10 ns an iteration, node 1 30 ns: 3 to 1.
    fn sampled(shape: Shape) -> (Aid, Next, Next) {
        let aid = Aid::new(400, shape, 4, Arc::new(Placement::placed(&[0, 1], 2)));
        let (a, b) = (probe(aid.first(0)), probe(aid.first(1)));
        assert_eq!((a.len(), b.len()), (4, 4));
        // The thread of node 0 is back before the other: it gets a chunk on demand.
        let meanwhile = aid.next(0, measured(a, 10));
        assert_eq!(len(meanwhile), 4);
        let slow = aid.next(1, measured(b, 30));
        let fast = aid.next(0, None);
        (aid, fast, slow)
    }

    #[test]
    fn static_gives_everything_at_once() {
        let (aid, fast, slow) = sampled(Shape::Static);
        // Allotments of 300 and 100, less the 8 and 4 iterations that the threads have had.
        assert_eq!((len(fast), len(slow)), (292, 96));
        assert_eq!(
            (aid.next(0, None), aid.next(1, None)),
            (Next::Done, Next::Done)
        );
        let record = aid.record();
        assert_eq!(record.nodes[0].share, 0.75);
        assert_eq!(record.nodes[1].probe.unwrap().ns_per_iteration, 30.0);
        assert_eq!(record.reason(), "aid-static was asked for");
    }

    #[test]
    fn hybrid_keeps_a_part_for_chunks() {
        let (aid, fast, slow) = sampled(Shape::Hybrid { part: 0.8 });
        assert_eq!((len(fast), len(slow)), (240 - 8, 80 - 4));
        assert_eq!((len(aid.next(1, None)), len(aid.next(0, None))), (4, 4));
    }

    #[test]
    fn dynamic_measures_again() {
        let (aid, fast, slow) = sampled(Shape::Dynamic { major: 20 });
        assert_eq!((len(fast), len(slow)), (60, 20));
        // Both nodes as fast as each other now.
        assert_eq!(len(aid.next(0, measured(probe(fast), 30))), 4);
        let again = aid.next(1, measured(probe(slow), 30));
        assert_eq!((len(again), len(aid.next(0, None))), (20, 20));
    }

    /// A node that never comes, and a thread that comes after the sampling.
    #[test]
    fn late_and_missing_threads() {
        let team = Arc::new(Placement::placed(&[0, 1, 1], 2));
        let aid = Aid::new(40, Shape::Static, 1, Arc::clone(&team));
        let mut next = aid.first(0);
        let mut all = 0;
        while next != Next::Done {
            all += len(next);
            let m = if let Next::Probe(r) = next {
                measured(r, 10)
            } else {
                None
            };
            next = aid.next(0, m);
        }
        assert_eq!(all, 40);
        let aid = Aid::new(400, Shape::Static, 1, team);
        let (a, b) = (probe(aid.first(0)), probe(aid.first(1)));
        aid.next(0, measured(a, 10));
        aid.next(1, measured(b, 20));
        assert_eq!(len(aid.first(2)), 100);
    }
}
