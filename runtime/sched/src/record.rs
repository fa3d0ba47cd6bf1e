//! Which thread ran how much: per-thread tallies while a loop runs, and the record of one execution for the
//! report and the probe cache.
//!
//! # Memory ordering
//! A tally's slot is written by its own thread only, and read after the loop; all accesses are relaxed. The
//! barrier or the release of the work share, which ends every loop anyway, makes the counts visible. A read
//! before that sees each count as it was at some moment.

use crate::blocks::Blocks;
use crate::decide::Decision;
use crate::energy::Power;
use crate::irregular::CostMap;
use crate::placement::Placement;
use crate::primitive::{AtomicU64, Ordering};
use crate::probe::NodeRate;
use crate::schedule::Kind;
use crossbeam_utils::CachePadded;
use std::sync::Arc;

#[derive(Debug, Default)]
struct Slot {
    iterations: AtomicU64,
    /// 0: not arrived. Otherwise one more than the elapsed time, which is 0
    /// until the thread reports it.
    time: AtomicU64,
}

/// Iterations and time of each thread of a team in one execution of a loop.
#[derive(Debug)]
pub struct Tally {
    slots: Box<[CachePadded<Slot>]>,
}

impl Tally {
    /// For `threads` threads.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Tally {
            slots: (0..threads).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Forgets everything; only between executions.
    pub fn reset(&self) {
        for s in &*self.slots {
            s.iterations.store(0, Ordering::Relaxed);
            s.time.store(0, Ordering::Relaxed);
        }
    }

    /// Thread `tid` is in the loop. Called by that thread.
    #[inline]
    pub fn arrive(&self, tid: usize) {
        self.slots[tid].time.store(1, Ordering::Relaxed);
    }

    /// Thread `tid` was given `iterations` more. Called by that thread.
    #[inline]
    pub fn add(&self, tid: usize, iterations: u64) {
        let c = &self.slots[tid].iterations;
        // Not a read-modify-write: only this thread writes the slot.
        c.store(c.load(Ordering::Relaxed) + iterations, Ordering::Relaxed);
    }

    /// Thread `tid` left after `elapsed_ns` nanoseconds. Called by that thread.
    #[inline]
    pub fn leave(&self, tid: usize, elapsed_ns: u64) {
        self.slots[tid]
            .time
            .store(elapsed_ns.saturating_add(1), Ordering::Relaxed);
    }

    /// Iterations given to thread `tid` so far.
    #[must_use]
    pub(crate) fn iterations(&self, tid: usize) -> u64 {
        self.slots[tid].iterations.load(Ordering::Relaxed)
    }

    fn elapsed(&self, tid: usize) -> Option<u64> {
        self.slots[tid].time.load(Ordering::Relaxed).checked_sub(1)
    }
}

/// One node's part in one execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeRecord {
    /// Threads of the team on the node.
    pub threads: u32,
    /// Threads that came to the loop.
    pub(crate) arrived: u32,
    /// Iterations that these threads ran.
    pub iterations: u64,
    /// Sum of their times in the loop, in nanoseconds.
    pub busy_ns: u64,
    /// Longest of their times in the loop, in nanoseconds.
    pub elapsed_ns: u64,
    /// Elapsed nanoseconds that one core spent on an iteration; `None` without
    /// iterations or times.
    pub ns_per_iteration: Option<f64>,
    /// Core speed ratio measured over the whole execution, slowest node 1.
    pub csr: Option<f64>,
    /// Share of the loop's iterations, in `[0, 1]`.
    pub share: f64,
    /// The rate that probing measured in this execution.
    pub probe: Option<NodeRate>,
    /// The node's watts, where known.
    pub(crate) power: Option<Power>,
}

impl NodeRecord {
    /// The node's speed over the whole execution.
    #[must_use]
    pub(crate) fn rate(&self) -> Option<NodeRate> {
        self.ns_per_iteration
            .filter(|&ns| ns > 0.0)
            .map(NodeRate::of)
    }
}

/// How an execution got its split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Learning {
    /// The schedule does not learn.
    #[default]
    None,
    /// Probed and decided within this execution.
    Probed,
    /// Probed, but the loop ended before every node had reported.
    Undecided,
    /// Ran by what earlier executions had learned.
    Settled,
}

/// One execution of one loop, for the report and the cache.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopRecord {
    /// Schedule that ran.
    pub schedule: Kind,
    /// Its chunk, where one was asked for.
    pub chunk: Option<u64>,
    /// Iterations of the loop.
    pub iterations: u64,
    /// Longest time of any thread in the loop, in nanoseconds.
    pub elapsed_ns: u64,
    /// Nanoseconds from the first thread's arrival to the last thread's leaving, where the driver knows them;
    /// otherwise `elapsed_ns`.
    pub span_ns: u64,
    /// The execution ran in fixed pieces (see [`crate::fixed`]).
    pub fixed: bool,
    /// The nodes' parts, by node.
    pub nodes: Box<[NodeRecord]>,
    /// How this execution got its split.
    pub learning: Learning,
    /// The decision that the execution ran by; its `Display` is the reason.
    pub decision: Option<Arc<Decision>>,
    /// How often the division was renewed while the loop ran.
    pub(crate) renewals: u32,
    /// The map of costs, if probing found iterations of different kinds.
    pub(crate) map: Option<Arc<CostMap>>,
}

impl LoopRecord {
    /// The schedule in the syntax of `OMP_SCHEDULE`.
    #[must_use]
    pub fn schedule_text(&self) -> String {
        match self.chunk {
            Some(chunk) => format!("{},{chunk}", self.schedule),
            None => self.schedule.to_string(),
        }
    }

    /// Counts iterations, where the schedule counted blocks of them. (A short last block counts less for the node that
    /// has most: who ran it is not kept.)
    pub fn count_iterations(&mut self, blocks: Blocks) {
        if !blocks.are_long() {
            return;
        }
        let whole = blocks.length(self.iterations);
        self.iterations = whole;
        let each = blocks.length(1) as f64;
        let mut sum = 0u64;
        for node in &mut *self.nodes {
            node.iterations = blocks.length(node.iterations);
            sum = sum.saturating_add(node.iterations);
            node.ns_per_iteration = node.ns_per_iteration.map(|t| t / each);
            if let Some(probe) = &mut node.probe {
                probe.ns_per_iteration /= each;
            }
        }
        if let Some(most) = self.nodes.iter_mut().max_by_key(|n| n.iterations) {
            most.iterations -= sum.saturating_sub(whole).min(most.iterations);
        }
        for node in &mut *self.nodes {
            node.share = node.iterations as f64 / whole.max(1) as f64;
        }
    }

    /// The record of an execution of `n` iterations that `tally` counted.
    #[must_use]
    pub fn new(schedule: Kind, n: u64, team: &Placement, tally: &Tally) -> Self {
        let mut nodes: Box<[NodeRecord]> = team
            .nodes()
            .iter()
            .enumerate()
            .map(|(i, s)| NodeRecord {
                threads: s.threads,
                power: team.power(i),
                ..Default::default()
            })
            .collect();
        let mut timed = vec![0u64; nodes.len()];
        for tid in 0..team.threads() {
            let Some(elapsed) = tally.elapsed(tid) else {
                continue;
            };
            let at = team.node_of(tid);
            let node = &mut nodes[at];
            node.arrived += 1;
            node.iterations += tally.iterations(tid);
            if elapsed > 0 && tally.iterations(tid) > 0 {
                node.busy_ns += elapsed;
                node.elapsed_ns = node.elapsed_ns.max(elapsed);
                timed[at] += tally.iterations(tid);
            }
        }
        for (node, timed) in nodes.iter_mut().zip(timed) {
            node.share = node.iterations as f64 / n.max(1) as f64;
            node.ns_per_iteration = (timed > 0).then(|| node.busy_ns as f64 / timed as f64);
        }
        let slowest = nodes
            .iter()
            .filter_map(|x| x.ns_per_iteration)
            .fold(0.0, f64::max);
        for node in &mut nodes {
            node.csr = node.ns_per_iteration.map(|t| slowest / t);
        }
        let elapsed_ns = nodes.iter().map(|x| x.elapsed_ns).max().unwrap_or(0);
        LoopRecord {
            schedule,
            chunk: None,
            iterations: n,
            elapsed_ns,
            span_ns: elapsed_ns,
            fixed: false,
            nodes,
            learning: Learning::None,
            decision: None,
            renewals: 0,
            map: None,
        }
    }

    /// The time this loop would have taken on the nodes that ran it, had every
    /// thread worked at its node's measured speed until the end, with no
    /// probing and no waiting, in nanoseconds. `None` where some node that ran
    /// iterations was not timed.
    #[must_use]
    pub(crate) fn ideal_ns(&self) -> Option<f64> {
        let mut per_ns = 0.0;
        for x in self.nodes.iter().filter(|x| x.iterations > 0) {
            per_ns += f64::from(x.threads) / x.ns_per_iteration?;
        }
        (per_ns > 0.0).then(|| self.iterations as f64 / per_ns)
    }

    /// Part of the time that was lost against `ideal_ns`:
    /// 0.05 means 5 % longer.
    #[must_use]
    pub fn overhead(&self) -> Option<f64> {
        self.ideal_ns()
            .filter(|&i| i > 0.0)
            .map(|i| self.elapsed_ns as f64 / i - 1.0)
    }

    /// Why the loop ran as it did, in words.
    #[must_use]
    pub fn reason(&self) -> String {
        match (&self.decision, self.learning) {
            (Some(d), Learning::Settled) => format!("{d} (learned before)"),
            (Some(d), _) => d.to_string(),
            (None, Learning::None) => format!("{} was asked for", self.schedule),
            (None, _) => "dynamic chunks to the end, not every node brought a measurement".into(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn counts_and_times() {
        let team = Placement::placed(&[0, 1, 1], 2);
        let tally = Tally::new(3);
        for (tid, iterations, ns) in [(0, 75, 750), (1, 25, 750)] {
            tally.arrive(tid);
            tally.add(tid, iterations - 5);
            tally.add(tid, 5);
            tally.leave(tid, ns);
        }
        let r = LoopRecord::new(Kind::Dynamic, 100, &team, &tally);
        assert_eq!(r.nodes[0].csr, Some(3.0));
        assert_eq!((r.nodes[1].arrived, r.nodes[1].threads), (1, 2));
        assert_eq!((r.nodes[0].share, r.elapsed_ns), (0.75, 750));
        // Two threads of node 1 would have done it in 100 / (1/10 + 2/30).
        assert!((r.ideal_ns().unwrap() - 600.0).abs() < 1e-9);
        assert!((r.overhead().unwrap() - 0.25).abs() < 1e-9);
        assert_eq!(r.reason(), "dynamic was asked for");
        tally.reset();
        let r = LoopRecord::new(Kind::Dynamic, 0, &team, &tally);
        assert_eq!((r.nodes[0].arrived, r.overhead()), (0, None));
    }
}
