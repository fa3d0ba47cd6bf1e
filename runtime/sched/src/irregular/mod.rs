//! HetProbe-I: HetProbe for loops whose iterations differ. It probes again while the loop runs.
//!
//! It starts like [`crate::hetprobe`]: probe a part of the loop on every node, decide, give every node its
//! share. Threads take small chunks of their node's share, in proportion to the node's speed, and every chunk
//! is measured. When a [`Trigger`] fires, a new *period* begins: the rests of all shares are gathered into
//! one queue of disjoint ranges (`jumps`), which is probed and split again. Unless the user sets a
//! percentage, probes are taken in several places of the loop; if iterations are of different kinds there,
//! each node gets those for which it is best (`map`). An allotment that contains a jump is handed out piece
//! by piece, in successive calls.
//!
//! # When a period begins
//! In the paper all threads meet in a barrier. Here no thread waits, because an iteration may take any time, and its
//! thread may even leave the loop without coming back (cancellation):
//! 1. *Nodes have work.* Chunks that were handed out stay with their threads; only the rest is gathered. A
//!    thread that returns gets its probe chunk. A thread that has brought its measurement gets ordinary
//!    chunks of the queue until the last measurement is in.
//! 2. *One node has run out of work.* Its thread takes a bulk for the whole node from the far end of another
//!    node's share: the node that would end last, at the nodes' measured speeds.
//!
//! A thread that has not come to the loop is not waited for: its node counts
//! only from its first thread's arrival on. Where one node runs the loop alone (by the user's objective), threads of
//! other nodes leave once a thread of that node is in the loop, and there is no further period.
//!
//! **No iteration is lost.** At any moment an iteration is in the queue, in a node's share, or handed to a
//! thread. The center's lock is held to move iterations between queue and shares, and to tell a thread
//! `Done`, which happens only after a look at queue and shares, or if a thread of the only node is in the loop.
//!
//! **Locks** are taken in this order: a thread's own hands, the center, one share at a time. Most calls take
//! only the hands and the own node's share, for some nanoseconds. Chunks are larger than HetProbe's to make
//! up for the locks and for the measuring.

mod cold;
mod jumps;
mod map;
mod measured;
mod period;
mod state;

use crate::cache::Known;
use crate::decide::{decide, Objective};
use crate::limits::SHORT_NS;
use crate::placement::Placement;
use crate::primitive::{AtomicBool, AtomicU64, Mutex, Ordering};
use crate::probe::{self, Measurement, NodeTotal};
use crate::ranges::Range;
use crate::record::{Learning, LoopRecord, Tally};
use crate::schedule::{Kind, DEFAULT_FRACTION};
use crate::watch::Sensitivity;
use crossbeam_utils::CachePadded;
pub use jumps::Jumps;
pub(crate) use map::CostMap;
use state::{lock, Center, Hands, Node};
use std::sync::Arc;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Run these iterations, and bring the elapsed time to the next call; with `probe`, bring hardware
    /// counters too.
    Run {
        /// The iterations.
        range: Range,
        /// The iterations are a probe.
        probe: bool,
    },
    /// Leave the loop.
    Done,
}

/// When a new probing period begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trigger {
    /// When the proportions of the nodes' speeds have changed.
    Change,
    /// When this part, in `(0, 1]`, of the distributed iterations is done.
    Jump(f64),
}

/// HetProbe-I's settings from the user and the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Part of the iterations for the first probing, in `(0, 1]`; later probings take this part of the rest.
    pub probe: f64,
    /// What the division is to make least.
    pub objective: Objective,
    /// Least work in a chunk, in nanoseconds.
    pub chunk_ns: f64,
    /// When to probe again.
    pub trigger: Trigger,
    /// How large a change must be to count.
    pub sensitivity: Sensitivity,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            probe: DEFAULT_FRACTION,
            objective: Objective::Time,
            // A chunk costs two locks and a look at the clock, some 0.1 us.
            chunk_ns: SHORT_NS,
            trigger: Trigger::Change,
            sensitivity: Sensitivity::default(),
        }
    }
}

const NO_TRIGGER: u64 = u64::MAX;

/// One execution of one loop under HetProbe-I. Recycle it with
/// [`restart`](Self::restart) to spare allocations.
#[derive(Debug)]
pub struct Irregular {
    team: Arc<Placement>,
    settings: Settings,
    n: u64,
    known: Option<Arc<Known>>,
    nodes: Box<[Node]>,
    hands: Box<[CachePadded<Mutex<Hands>>]>,
    tally: Tally,
    center: CachePadded<Mutex<Center>>,
    /// Iterations done since the last decision, for [`Trigger::Jump`].
    completed: CachePadded<AtomicU64>,
    /// The number of done iterations at which a new period begins.
    jump_at: AtomicU64,
}

impl Irregular {
    /// State for a loop of `n` iterations, with what the cache knows about it.
    ///
    /// With a plan in `known` there is no first probing, but there can be
    /// later ones.
    #[must_use]
    pub fn new(
        n: u64,
        team: Arc<Placement>,
        settings: Settings,
        known: Option<Arc<Known>>,
    ) -> Self {
        let nodes = team.nodes().len();
        let threads = team.threads();
        let mut state = Irregular {
            settings,
            n: 0,
            known: None,
            nodes: (0..nodes)
                .map(|_| Node {
                    share: CachePadded::default(),
                    arrived: AtomicBool::new(false),
                    factor: CachePadded::default(),
                })
                .collect(),
            hands: (0..threads).map(|_| CachePadded::default()).collect(),
            tally: Tally::new(threads),
            center: CachePadded::new(Mutex::new(Center {
                totals: vec![NodeTotal::default(); nodes],
                returned: vec![0; nodes],
                samples: vec![Vec::new(); nodes],
                ..Center::default()
            })),
            completed: CachePadded::default(),
            jump_at: AtomicU64::new(NO_TRIGGER),
            team,
        };
        state.restart(n, known);
        state
    }

    /// Prepares the same state for another execution with the same team. The
    /// caller makes it visible to the team's threads.
    pub fn restart(&mut self, n: u64, known: Option<Arc<Known>>) {
        self.n = n;
        self.known = known.filter(|k| k.rates.len() == self.nodes.len());
        self.tally.reset();
        self.jump_at.store(NO_TRIGGER, Ordering::Relaxed);
        for node in &*self.nodes {
            node.arrived.store(false, Ordering::Relaxed);
            // A cancelled execution may have left iterations here.
            lock(&node.share).ranges.clear();
        }
        for hands in &*self.hands {
            let mut hands = lock(hands);
            hands.rest.clear();
            hands.samples.clear();
            *hands = Hands {
                rest: core::mem::take(&mut hands.rest),
                more: core::mem::take(&mut hands.more),
                samples: core::mem::take(&mut hands.samples),
                ..Hands::default()
            };
        }
        let mut guard = lock(&self.center);
        let c = &mut *guard;
        c.queue.clear();
        c.queue.push(Range { start: 0, end: n });
        c.periods = 1;
        c.alone = None;
        c.decision = None;
        c.map = None;
        c.learning = Learning::Undecided;
        c.wasted = 0;
        let plan = self.known.as_ref().and_then(|k| k.plan.clone());
        if let Some(plan) = plan {
            c.learning = Learning::Settled;
            let map = self
                .known
                .as_ref()
                .and_then(|k| k.map.as_ref())
                .filter(|m| m.nodes() == self.nodes.len())
                .map(|m| Arc::new(m.scaled(n)));
            self.carry_out(c, plan, map);
        } else if self.team.inhabited() <= 1 {
            c.learning = Learning::None;
            let inputs = self.inputs(c);
            self.carry_out(c, decide(&inputs, self.settings.objective).into(), None);
        } else {
            self.begin_probing(c, probe::chunk(n, self.team.threads(), self.settings.probe));
        }
    }

    /// First call of thread `tid`.
    #[inline]
    pub fn first(&self, tid: usize) -> Step {
        self.tally.arrive(tid);
        let arrived = &self.nodes[self.team.node_of(tid)].arrived;
        if !arrived.load(Ordering::Relaxed) {
            arrived.store(true, Ordering::Release);
        }
        let mut hands = lock(&self.hands[tid]);
        self.take(tid, &mut hands)
    }

    /// Every further call of thread `tid`, with the measurement of the range that it ran. A missing
    /// measurement counts for nothing; a node whose probes bring none counts as the slowest.
    #[inline]
    pub fn next(&self, tid: usize, measured: Option<Measurement>) -> Step {
        let mut hands = lock(&self.hands[tid]);
        if let Some(m) = measured {
            hands.sum.merge(&m);
            if hands.probing {
                let piece = hands.piece;
                hands.samples.push((piece, m));
            }
        }
        if let Some(range) = hands.rest.pop_front() {
            hands.piece = range.start;
            self.tally.add(tid, range.len());
            return Step::Run {
                range,
                probe: hands.probing,
            };
        }
        self.take(tid, &mut hands)
    }

    /// Thread `tid` got [`Step::Done`], `elapsed_ns` nanoseconds after its
    /// call of [`first`](Self::first).
    pub fn finish(&self, tid: usize, elapsed_ns: u64) {
        self.tally.leave(tid, elapsed_ns);
    }

    /// How often the division of the loop was renewed in this execution.
    #[must_use]
    pub fn renewals(&self) -> u32 {
        lock(&self.center).periods - 1
    }

    /// The record of this execution. Call it after all threads that arrived have left.
    #[must_use]
    pub fn record(&self) -> LoopRecord {
        let probe = self.settings.probe;
        let kind = match self.settings.trigger {
            Trigger::Change => Kind::HetProbeI { probe, jump: None },
            Trigger::Jump(jump) => Kind::HetProbeI {
                probe,
                jump: Some(jump),
            },
        };
        let mut record = LoopRecord::new(kind, self.n, &self.team, &self.tally);
        let c = lock(&self.center);
        for (node, total) in record.nodes.iter_mut().zip(&c.totals) {
            node.probe = total.rate();
        }
        record.learning = c.learning;
        record.decision.clone_from(&c.decision);
        record.renewals = c.periods - 1;
        record.map.clone_from(&c.map);
        record
    }

    /// Counts the allotment that the thread has run, and finds its next one.
    fn take(&self, tid: usize, hands: &mut Hands) -> Step {
        let m = core::mem::take(&mut hands.sum);
        if hands.probing {
            hands.probing = false;
            return self.report(tid, hands, &m);
        }
        let node = self.team.node_of(tid);
        let cause = {
            let mut share = lock(&self.nodes[node].share);
            let period = share.period;
            let cause = if hands.period == period {
                self.count(node, &mut share, &m, hands.start)
            } else {
                None
            };
            match cause {
                Some(cause) => Some((cause, period)),
                None => match share.take(&mut hands.rest) {
                    Some(range) => {
                        hands.period = period;
                        drop(share);
                        return self.run(tid, hands, range, false);
                    }
                    None => None,
                },
            }
        };
        let mut c = lock(&self.center);
        if let Some((cause, period)) = cause {
            self.begin_period(&mut c, cause, period);
        }
        self.take_cold(&mut c, tid, hands)
    }

    #[inline]
    fn run(&self, tid: usize, hands: &mut Hands, range: Range, probe: bool) -> Step {
        hands.start = range.start;
        hands.piece = range.start;
        self.tally.add(tid, range.len());
        Step::Run { range, probe }
    }
}
