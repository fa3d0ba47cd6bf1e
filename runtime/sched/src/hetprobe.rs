//! HetProbe: probe a part of the loop on every node, decide once, then give each node one contiguous range,
//! from which its threads take chunks.
//!
//! A thread makes three kinds of calls. Its first call hands it a probe chunk. The next call brings the
//! measurement, which may be the last one that the decision needs. All later calls take chunks of the decided
//! split.
//!
//! **Nobody waits for a thread that has not arrived.** A loop has no entry barrier, so a thread may legally
//! wait elsewhere until others have finished this loop. The thread that brings the last measurement decides
//! the split: at that moment every probe chunk that was handed out has been reported, and every node has at
//! least one report. Threads that come back earlier take ordinary chunks from the pool that the probe chunks
//! come from. If a node never shows up, the loop ends with such chunks. A thread that arrives after the
//! decision joins its node's range.
//!
//! **No iteration is lost.** At any moment an iteration is in the pool, or in a node's range or loot, or
//! handed to a thread that runs it. A thread gets `Done` only if it sees the pool empty and
//! - while probing: nothing was decided (checked under the lock that a decision holds while it moves the rest
//!   of the pool into ranges); or
//! - after a split: every node's range and loot empty (checked under the lock `moving`, which every thread
//!   that moves iterations between nodes holds); or
//! - where iterations ascend: no range holds any, since all of them stay in the pool; or
//! - if one node runs alone: that node's range empty, or a thread of that node inside the loop, which will
//!   not leave before the range is empty.
//!
//! So the threads that did arrive finish the loop, whichever they are.
//!
//! **Nodes help each other at the end**, which corrects a split whose estimate was wrong. A thread that finds
//! its node's range empty leads: it takes a bulk of the iterations that another node has left, in proportion
//! to the two nodes' weights, and all threads of its node share the bulk (the *loot*). So few iterations move
//! between nodes, and those that do are contiguous.
//!
//! **Where every thread's iterations must ascend** ([`Settings::ascending`], for loops whose schedule is
//! `monotonic`), a thread of the last node could not help the first node: the first node's iterations come
//! before those that the thread has run. So the rest stays in the pool, whose cursor only grows, and each
//! thread takes chunks in proportion to its node's share.
//!
//! # Memory ordering
//! Cursors are relaxed, because a taken range carries no other data (see [`crate::plain`]). A node's range is
//! written before `phase` is stored with release, and read after `phase` was loaded with acquire. Without
//! that pair a thread could see "decided", take from a range that is still empty, and leave early. A node's
//! `arrived` flag is stored with release before its thread reads anything else. A thread of another node
//! concludes no more from the flag than that it may leave.

use crate::cache::Known;
use crate::csr;
use crate::decide::{decide, Decision, NodeInput, Objective};
use crate::limits::{FINEST, SHORT_NS, TAPER};
use crate::placement::Placement;
use crate::plain::take_up_to;
use crate::primitive::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};
use crate::probe::{self, Measurement, NodeTotal};
use crate::ranges::Range;
use crate::record::{Learning, LoopRecord, Tally};
use crate::schedule::{Kind, DEFAULT_FRACTION};
use crossbeam_utils::CachePadded;
use std::sync::Arc;

/// What a thread does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Run these iterations.
    Range(Range),
    /// Run these iterations, measure them, and bring the measurement to the
    /// next call.
    Probe(Range),
    /// Leave the loop.
    Done,
}

/// HetProbe's settings from the user and the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Part of the iterations used for probing, in `(0, 1]`.
    pub probe: f64,
    /// What the division is to make least.
    pub objective: Objective,
    /// Least work in a chunk of a decided split, in nanoseconds: taking a chunk must be cheap compared with
    /// running it.
    pub chunk_ns: f64,
    /// Every thread gets its iterations in increasing order.
    pub ascending: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            probe: DEFAULT_FRACTION,
            objective: Objective::Time,
            // A contended take costs up to 0.1 us where a cache line moves
            // between cores in 55 ns.
            chunk_ns: 0.5 * SHORT_NS,
            ascending: false,
        }
    }
}

/// Least number of chunks into which a thread divides its share of its node's range.
const CHUNKS_PER_THREAD: u64 = 16;

const PROBING: u64 = 0;
const SPLIT: u64 = 1;
/// `ALONE + i`: node `i` runs the rest alone.
const ALONE: u64 = 2;
/// The rest stays in the pool, and threads take it by their nodes' weights. No node number is this large.
const ASCENDING: u64 = u64::MAX;

/// Bounds of a node's range and of the chunks that its threads take; constant once decided.
#[derive(Debug, Default)]
struct Share {
    end: AtomicU64,
    /// The next chunk is what is left divided by this number.
    parts: AtomicU64,
    /// Bounds of the chunks that threads of this node take, anywhere.
    least: AtomicU64,
    most: AtomicU64,
    /// Share of the loop, as the bits of an `f64`.
    weight: AtomicU64,
    /// A thread of the node is or was in this execution.
    arrived: AtomicBool,
}

#[derive(Debug, Default)]
struct NodeState {
    next: CachePadded<AtomicU64>,
    share: CachePadded<Share>,
    /// Iterations taken from other nodes, for all threads of this node.
    loot: CachePadded<Mutex<Range>>,
}

/// State that only rare calls touch, under a lock.
#[derive(Debug, Default)]
struct Picture {
    totals: Vec<NodeTotal>,
    /// Threads that were handed a probe chunk and have not reported.
    probing: Vec<bool>,
    outstanding: u32,
    decision: Option<Arc<Decision>>,
    learning: Learning,
}

/// One execution of one loop under HetProbe. Recycle it with
/// [`restart`](Self::restart) to spare allocations.
#[derive(Debug)]
pub struct HetProbe {
    team: Arc<Placement>,
    settings: Settings,
    n: u64,
    known: Option<Arc<Known>>,
    probe_chunk: u64,
    /// Size of ordinary chunks while probing.
    meanwhile: u64,
    phase: CachePadded<AtomicU64>,
    pool: CachePadded<AtomicU64>,
    nodes: Box<[NodeState]>,
    tally: Tally,
    picture: Mutex<Picture>,
    /// Held by every thread that moves iterations from one node to another.
    moving: CachePadded<Mutex<()>>,
}

impl HetProbe {
    /// State for a loop of `n` iterations, with what the cache knows about it.
    ///
    /// With a plan in `known` nothing is probed. A team on a single node is
    /// not probed either.
    #[must_use]
    pub fn new(
        n: u64,
        team: Arc<Placement>,
        settings: Settings,
        known: Option<Arc<Known>>,
    ) -> Self {
        let nodes = team.nodes().len();
        let threads = team.threads();
        let mut state = HetProbe {
            settings,
            n: 0,
            known: None,
            probe_chunk: 1,
            meanwhile: 1,
            phase: CachePadded::default(),
            pool: CachePadded::default(),
            nodes: (0..nodes).map(|_| NodeState::default()).collect(),
            tally: Tally::new(threads),
            picture: Mutex::new(Picture {
                totals: vec![NodeTotal::default(); nodes],
                probing: vec![false; threads],
                ..Picture::default()
            }),
            moving: CachePadded::new(Mutex::new(())),
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
        self.probe_chunk = probe::chunk(n, self.team.threads(), self.settings.probe);
        self.meanwhile = (self.probe_chunk / 4).max(1);
        self.tally.reset();
        self.pool.store(0, Ordering::Relaxed);
        self.phase.store(PROBING, Ordering::Relaxed);
        for node in &*self.nodes {
            node.share.arrived.store(false, Ordering::Relaxed);
            // A cancelled execution may have left iterations here.
            *lock(&node.loot) = Range::default();
        }
        let mut picture = lock(&self.picture);
        picture.totals.fill(NodeTotal::default());
        picture.probing.fill(false);
        picture.outstanding = 0;
        picture.decision = None;
        picture.learning = Learning::Undecided;
        let plan = self.known.as_ref().and_then(|k| k.plan.clone());
        if let Some(plan) = plan {
            picture.learning = Learning::Settled;
            self.carry_out(&mut picture, plan);
        } else if self.team.inhabited() <= 1 {
            let inputs = self.inputs(&picture);
            picture.learning = Learning::None;
            self.carry_out(
                &mut picture,
                Arc::new(decide(&inputs, self.settings.objective)),
            );
        }
    }

    /// First call of thread `tid`.
    #[inline]
    pub fn first(&self, tid: usize) -> Next {
        self.tally.arrive(tid);
        let arrived = &self.nodes[self.team.node_of(tid)].share.arrived;
        if !arrived.load(Ordering::Relaxed) {
            arrived.store(true, Ordering::Release);
        }
        match self.phase.load(Ordering::Acquire) {
            PROBING => self.first_probe(tid),
            phase => self.take(tid, phase),
        }
    }

    /// Every further call of thread `tid`. If the last answer was [`Next::Probe`], `measured` is the chunk's
    /// measurement. Without that measurement the loop runs to its end without a decision.
    #[inline]
    pub fn next(&self, tid: usize, measured: Option<Measurement>) -> Next {
        if let Some(m) = measured {
            self.report(tid, &m);
        }
        match self.phase.load(Ordering::Acquire) {
            PROBING => self.take_meanwhile(tid),
            phase => self.take(tid, phase),
        }
    }

    /// Thread `tid` got [`Next::Done`], `elapsed_ns` nanoseconds after its
    /// call of [`first`](Self::first). Optional; without it the record and the
    /// cache know probe times only.
    pub fn finish(&self, tid: usize, elapsed_ns: u64) {
        self.tally.leave(tid, elapsed_ns);
    }

    /// The record of this execution; after all threads that arrived have left.
    #[must_use]
    pub fn record(&self) -> LoopRecord {
        let kind = Kind::HetProbe {
            probe: self.settings.probe,
        };
        let mut record = LoopRecord::new(kind, self.n, &self.team, &self.tally);
        let picture = lock(&self.picture);
        for (node, total) in record.nodes.iter_mut().zip(&picture.totals) {
            node.probe = total.rate();
        }
        record.learning = picture.learning;
        record.decision.clone_from(&picture.decision);
        record
    }

    #[cold]
    fn first_probe(&self, tid: usize) -> Next {
        let mut picture = lock(&self.picture);
        // Another thread may have decided while this thread waited for the lock.
        let phase = self.phase.load(Ordering::Acquire);
        if phase != PROBING {
            drop(picture);
            return self.take(tid, phase);
        }
        // Under the lock an empty pool means that all iterations are running
        // or done: nothing is on its way into a node's range.
        match take_up_to(&self.pool, self.n, |_| self.probe_chunk) {
            None => Next::Done,
            Some(r) => {
                picture.probing[tid] = true;
                picture.outstanding += 1;
                self.tally.add(tid, r.len());
                Next::Probe(r)
            }
        }
    }

    #[cold]
    fn report(&self, tid: usize, m: &Measurement) {
        let mut picture = lock(&self.picture);
        if !core::mem::take(&mut picture.probing[tid]) {
            return;
        }
        picture.outstanding -= 1;
        picture.totals[self.team.node_of(tid)].add(m);
        let complete = picture.outstanding == 0
            && picture
                .totals
                .iter()
                .zip(self.team.nodes())
                .all(|(t, s)| t.reports() > 0 || s.threads == 0);
        if complete && picture.decision.is_none() {
            let inputs = self.inputs(&picture);
            picture.learning = Learning::Probed;
            self.carry_out(
                &mut picture,
                Arc::new(decide(&inputs, self.settings.objective)),
            );
        }
    }

    /// The nodes' inputs for a decision: fresh measurements, blended with those of earlier executions.
    fn inputs(&self, picture: &Picture) -> Vec<NodeInput> {
        self.team
            .nodes()
            .iter()
            .zip(&picture.totals)
            .enumerate()
            .map(|(i, (shape, total))| {
                let fresh = total.rate();
                let old = self.known.as_ref().and_then(|k| k.rates[i]);
                NodeInput {
                    threads: shape.threads,
                    rate: match (old, fresh) {
                        (Some(o), Some(f)) => Some(o.blend(&f, crate::cache::NEW_WEIGHT)),
                        (old, fresh) => fresh.or(old),
                    },
                    power: self.team.power(i),
                }
            })
            .collect()
    }

    /// Moves what is left in the pool into the nodes' ranges.
    fn carry_out(&self, picture: &mut Picture, decision: Arc<Decision>) {
        if self.settings.ascending && decision.one_node().is_none() {
            return self.share_pool(picture, decision);
        }
        // From here on, threads that take from the pool find it empty, and then wait for the lock.
        let start = self.pool.swap(self.n, Ordering::Relaxed);
        let rest = Range { start, end: self.n };
        let weights: Vec<f64> = decision.shares().collect();
        let finest = rest.len() / (self.team.threads().max(1) as u64 * FINEST);
        for (i, part) in csr::split(rest, decision.shares()).enumerate() {
            let threads = u64::from(self.team.nodes()[i].threads).max(1);
            let each = part.len() / threads;
            let least = self.worthwhile(&decision, i).max(finest).max(1);
            let share = &self.nodes[i].share;
            share.weight.store(weights[i].to_bits(), Ordering::Relaxed);
            self.nodes[i].next.store(part.start, Ordering::Relaxed);
            share.end.store(part.end, Ordering::Relaxed);
            share.parts.store(threads * TAPER, Ordering::Relaxed);
            share.least.store(least, Ordering::Relaxed);
            share
                .most
                .store((each / CHUNKS_PER_THREAD).max(least), Ordering::Relaxed);
        }
        let phase = decision
            .one_node()
            .map_or(SPLIT, |node| ALONE + node as u64);
        picture.decision = Some(decision);
        self.phase.store(phase, Ordering::Release);
    }

    /// Leaves the rest in the pool, from which threads take chunks in proportion to their nodes' shares.
    fn share_pool(&self, picture: &mut Picture, decision: Arc<Decision>) {
        let left = self.n - self.pool.load(Ordering::Relaxed);
        let finest = left / (self.team.threads().max(1) as u64 * FINEST);
        for (i, weight) in decision.shares().enumerate() {
            let threads = f64::from(self.team.nodes()[i].threads.max(1));
            let each = weight / threads;
            let least = self.worthwhile(&decision, i).max(finest).max(1);
            let share = &self.nodes[i].share;
            // An earlier execution may have left a range.
            self.nodes[i].next.store(self.n, Ordering::Relaxed);
            share.end.store(self.n, Ordering::Relaxed);
            // A share of 0 gives infinity, which the cast turns into `u64::MAX`: threads of that node take
            // the least chunk.
            let parts = (TAPER as f64 / each) as u64;
            share.parts.store(parts.max(1), Ordering::Relaxed);
            share.least.store(least, Ordering::Relaxed);
            let most = (left as f64 * each) as u64 / CHUNKS_PER_THREAD;
            share.most.store(most.max(least), Ordering::Relaxed);
        }
        picture.decision = Some(decision);
        self.phase.store(ASCENDING, Ordering::Release);
    }

    /// The number of iterations that keeps a thread of node `i` busy for `chunk_ns`.
    fn worthwhile(&self, decision: &Decision, i: usize) -> u64 {
        let rate = decision.nodes.get(i).and_then(|n| n.rate);
        rate.map_or(0, |r| (self.settings.chunk_ns / r.ns_per_iteration) as u64)
    }

    /// An ordinary chunk while others still probe.
    fn take_meanwhile(&self, tid: usize) -> Next {
        if let Some(r) = take_up_to(&self.pool, self.n, |_| self.meanwhile) {
            self.tally.add(tid, r.len());
            return Next::Range(r);
        }
        // The pool is empty: either all iterations were handed out, or a decision has just claimed the rest.
        // In the second case the deciding thread holds the lock until the ranges are visible.
        drop(lock(&self.picture));
        match self.phase.load(Ordering::Acquire) {
            PROBING => Next::Done,
            phase => self.take(tid, phase),
        }
    }

    /// A chunk of the decided split: from the thread's own node, or from another node's rest.
    #[inline]
    fn take(&self, tid: usize, phase: u64) -> Next {
        let mine = self.team.node_of(tid);
        let taken = match self.take_from(mine, mine) {
            None => self.take_elsewhere(mine, phase),
            some => some,
        };
        match taken {
            Some(r) => {
                self.tally.add(tid, r.len());
                Next::Range(r)
            }
            None => Next::Done,
        }
    }

    #[inline]
    fn take_from(&self, node: usize, taker: usize) -> Option<Range> {
        let victim = &self.nodes[node];
        let own = &self.nodes[taker].share;
        let (least, most) = (
            own.least.load(Ordering::Relaxed),
            own.most.load(Ordering::Relaxed),
        );
        let end = victim.share.end.load(Ordering::Relaxed);
        let parts = victim.share.parts.load(Ordering::Relaxed);
        take_up_to(&victim.next, end, |left| (left / parts).clamp(least, most))
    }

    #[cold]
    fn take_elsewhere(&self, mine: usize, phase: u64) -> Option<Range> {
        if phase == ASCENDING {
            let share = &self.nodes[mine].share;
            let parts = share.parts.load(Ordering::Relaxed);
            let least = share.least.load(Ordering::Relaxed);
            let most = share.most.load(Ordering::Relaxed);
            return take_up_to(&self.pool, self.n, |left| (left / parts).clamp(least, most));
        }
        if phase >= ALONE {
            let chosen = (phase - ALONE) as usize;
            // A thread of the chosen node that is inside the loop leaves nothing behind. Until one is inside,
            // threads of other nodes do the work: the chosen node's threads might never come.
            let share = &self.nodes[chosen].share;
            if mine == chosen || share.arrived.load(Ordering::Acquire) {
                return None;
            }
            return self.take_from(chosen, mine);
        }
        if let Some(r) = self.take_loot(mine) {
            return Some(r);
        }
        let _moving = lock(&self.moving);
        loop {
            // Another thread of the node may have brought loot meanwhile.
            if let Some(r) = self.take_loot(mine) {
                return Some(r);
            }
            let bulk = self.seize(mine)?;
            *lock(&self.nodes[mine].loot) = bulk;
        }
    }

    /// A chunk of the loot of `node`.
    fn take_loot(&self, node: usize) -> Option<Range> {
        let state = &self.nodes[node];
        let mut loot = lock(&state.loot);
        let left = loot.len();
        if left == 0 {
            return None;
        }
        let share = &state.share;
        let size = (left / share.parts.load(Ordering::Relaxed)).clamp(
            share.least.load(Ordering::Relaxed),
            share.most.load(Ordering::Relaxed),
        );
        let start = loot.start;
        loot.start += size.min(left);
        Some(Range {
            start,
            end: loot.start,
        })
    }

    /// Takes a bulk for `node` from the node that has most left. The caller holds `moving`.
    fn seize(&self, node: usize) -> Option<Range> {
        let own = &self.nodes[node].share;
        let weight = |share: &Share| f64::from_bits(share.weight.load(Ordering::Relaxed));
        let mine = weight(own).max(1e-3);
        let least = own.least.load(Ordering::Relaxed);
        loop {
            let (left, victim) = (0..self.nodes.len())
                .map(|i| {
                    let next = self.nodes[i].next.load(Ordering::Relaxed);
                    let end = self.nodes[i].share.end.load(Ordering::Relaxed);
                    (
                        end.saturating_sub(next) + lock(&self.nodes[i].loot).len(),
                        i,
                    )
                })
                .max()?;
            if left == 0 {
                return None;
            }
            let theirs = &self.nodes[victim].share;
            let part = mine / (mine + weight(theirs).max(1e-3));
            let bulk = |left: u64| ((left as f64 * part) as u64).max(least);
            let end = theirs.end.load(Ordering::Relaxed);
            if let Some(r) = take_up_to(&self.nodes[victim].next, end, bulk) {
                return Some(r);
            }
            // The victim's range is empty: take from the far end of its loot.
            let mut loot = lock(&self.nodes[victim].loot);
            let size = bulk(loot.len()).min(loot.len());
            if size > 0 {
                loot.end -= size;
                return Some(Range {
                    start: loot.end,
                    end: loot.end + size,
                });
            }
        }
    }
}

/// No code that can panic runs under the crate's locks, so they are never poisoned.
fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().expect("no panic under this lock")
}
