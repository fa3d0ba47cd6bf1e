//! Periods of [`Irregular`]: when one begins, how the rest of the loop is divided, and how a node that has
//! run out of work gets more. All of it under the center's lock.

use super::jumps::Jumps;
use super::map::{self, CostMap};
use super::state::{lock, Cause, Center, Share};
use super::{Irregular, Trigger, NO_TRIGGER};
use crate::decide::{Choice, Decision, NodeInput};
use crate::limits::{FINEST, FIRST_PERIOD, LONGEST_PERIOD, LOOK_NS, SAME, SHORT_NS, TAPER};
use crate::primitive::Ordering;
use crate::probe::{self, NodeRate, NodeTotal};
use crate::ways::Reason;
use std::sync::Arc;

/// Nanoseconds by which a chunk grows for each thread of the node: these threads share a lock.
const CHUNK_NS_PER_THREAD: f64 = 200.0;
/// Least number of chunks into which a thread divides its part of its node's share: changes should be seen
/// early.
const CHUNKS_PER_THREAD: u64 = 64;
/// The least iterations of a period for each thread, and its least work in multiples of the least work of a chunk.
const LEAST: u32 = 8;
/// Most periods of an execution: each leaves more ranges than the one before.
const MOST_PERIODS: u32 = 400;
/// Places of the loop that are probed.
const MOST_STRATA: u64 = 64;

impl Irregular {
    /// Must a decision wait for node `i`? The first decision needs every node that has threads; a later one
    /// needs the nodes that have come.
    pub(super) fn expected(&self, c: &Center, i: usize) -> bool {
        match c.decision {
            None => self.team.nodes()[i].threads > 0,
            Some(_) => self.arrived(i),
        }
    }

    /// Is or was a thread of the node in the loop?
    pub(super) fn arrived(&self, node: usize) -> bool {
        self.nodes[node].arrived.load(Ordering::Acquire)
    }

    /// The nodes' inputs for a decision. For the first decision: fresh measurements, blended with earlier
    /// executions. Later: fresh measurements, or the last decision's rate where a node has none.
    pub(super) fn inputs(&self, c: &Center) -> Vec<NodeInput> {
        (0..self.nodes.len())
            .map(|i| {
                let mut fresh = c.totals[i].rate();
                // A mean over all samples would count a sample during which a thread lost its core.
                if let (Some(rate), Some(ns)) = (&mut fresh, map::typical(&self.samples(c, i))) {
                    rate.ns_per_iteration = ns;
                }
                let rate = match &c.decision {
                    Some(d) => fresh.or(d.nodes[i].rate),
                    None => {
                        let old = self.known.as_ref().and_then(|k| k.rates[i]);
                        match (old, fresh) {
                            (Some(o), Some(f)) => Some(o.blend(&f, crate::cache::NEW_WEIGHT)),
                            (old, fresh) => fresh.or(old),
                        }
                    }
                };
                self.input(c, i, rate)
            })
            .collect()
    }

    pub(super) fn input(&self, c: &Center, i: usize, rate: Option<NodeRate>) -> NodeInput {
        NodeInput {
            threads: if self.expected(c, i) {
                self.team.nodes()[i].threads
            } else {
                0
            },
            rate,
            power: self.team.power(i),
        }
    }

    /// Begins a new period, if `period` is still the running one and dividing is worth it.
    #[cold]
    pub(super) fn begin_period(&self, c: &mut Center, cause: Cause, period: u64) {
        if c.probing || c.period != period || c.alone.is_some() {
            return;
        }
        let left = (0..self.nodes.len())
            .map(|i| lock(&self.nodes[i].share).ranges.len())
            .sum();
        if c.periods >= MOST_PERIODS || self.team.inhabited() < 2 || !self.worth(c, left) {
            self.jump_at.store(NO_TRIGGER, Ordering::Relaxed);
            return;
        }
        c.periods += 1;
        self.gather(c);
        let mut chunk = probe::chunk(left, self.team.threads(), self.settings.probe);
        if cause != Cause::Jump {
            // On the slowest node the probe is no longer than a look may be.
            let slowest = c
                .decision
                .iter()
                .flat_map(|d| d.nodes.iter())
                .filter_map(|n| n.rate)
                .fold(0.0, |s: f64, r| s.max(r.ns_per_iteration));
            if slowest > 0.0 {
                chunk = chunk.min((LOOK_NS / slowest) as u64).max(1);
            }
        }
        self.begin_probing(c, chunk);
    }

    /// Hands the queue out for probing, with `chunk` iterations for each thread.
    pub(super) fn begin_probing(&self, c: &mut Center, chunk: u64) {
        let left = c.queue.len();
        c.probing = true;
        c.period += 1;
        c.totals.fill(NodeTotal::default());
        c.returned.fill(0);
        c.outstanding = 0;
        c.chunk = chunk;
        // With the user's percentage (`Trigger::Jump`) the loop is probed in one place.
        let strata = match self.settings.trigger {
            Trigger::Change => self
                .team
                .nodes()
                .iter()
                .filter(|s| s.threads > 0)
                .map(|s| chunk.saturating_mul(u64::from(s.threads)))
                .min()
                .unwrap_or(1)
                .min(self.worthwhile_samples(c, chunk))
                .clamp(1, MOST_STRATA),
            Trigger::Jump(_) => 1,
        };
        (c.strata, c.starts) = map::stratify(&mut c.queue, strata as usize);
        if c.strata.is_empty() {
            c.strata.push(Jumps::default());
            c.starts.push(0);
        }
        for of_node in &mut c.samples {
            of_node.clear();
            of_node.resize(c.starts.len(), NodeTotal::default());
        }
        // Ordinary chunks take even parts of the rest and not only a quarter of a probe: if one thread takes
        // long to come back, the others must get on.
        let even = left / (self.team.threads().max(1) as u64 * CHUNKS_PER_THREAD);
        c.meanwhile = (c.chunk / 4).max(even).max(1);
    }

    /// How many samples long enough to be trusted fit a probe of `chunk` iterations, as far as rates are
    /// known.
    fn worthwhile_samples(&self, c: &Center, chunk: u64) -> u64 {
        let decided = c
            .decision
            .iter()
            .flat_map(|d| d.nodes.iter().map(|n| n.rate));
        let known = self.known.iter().flat_map(|k| k.rates.iter().copied());
        decided
            .chain(known)
            .flatten()
            .map(|r| (chunk as f64 * r.ns_per_iteration / SHORT_NS) as u64)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Nanoseconds per iteration of node `i`, by stratum.
    fn samples(&self, c: &Center, i: usize) -> Vec<Option<f64>> {
        c.samples[i]
            .iter()
            .map(|total| total.rate().map(|r| r.ns_per_iteration))
            .collect()
    }

    /// The map of costs, if the samples show iterations of different kinds.
    pub(super) fn costs(&self, c: &mut Center) -> Option<CostMap> {
        map::merge(&mut c.starts, &mut c.samples);
        let samples: Vec<Vec<Option<f64>>> = (0..self.nodes.len())
            .map(|i| match self.team.nodes()[i].threads {
                // A node without threads: any number will do, since no thread runs at that cost.
                0 => vec![Some(1.0); c.starts.len()],
                _ => self.samples(c, i),
            })
            .collect();
        CostMap::new(self.n, &c.starts, &samples)
    }

    /// Is it worth dividing `left` iterations anew?
    pub(super) fn worth(&self, c: &Center, left: u64) -> bool {
        if left / u64::from(LEAST) < self.team.threads() as u64 {
            return false;
        }
        let per_ns: f64 = c
            .decision
            .iter()
            .flat_map(|d| d.nodes.iter())
            .filter_map(|n| Some(f64::from(n.threads) / n.rate?.ns_per_iteration))
            .sum();
        per_ns == 0.0 || left as f64 / per_ns >= f64::from(LEAST) * self.settings.chunk_ns
    }

    /// Moves the rests of all nodes' shares into the queue.
    pub(super) fn gather(&self, c: &mut Center) {
        let mut loose = core::mem::take(&mut c.loose);
        for node in &*self.nodes {
            lock(&node.share).ranges.drain_to(&mut loose);
        }
        c.queue.gather(&mut loose);
        c.loose = loose;
    }

    /// Divides the queue as decided. If several nodes get work and there is a `map`, the map decides which
    /// iterations.
    pub(super) fn carry_out(
        &self,
        c: &mut Center,
        mut decision: Arc<Decision>,
        map: Option<Arc<CostMap>>,
    ) {
        let left = c.queue.len();
        let threads = self.team.threads().max(1) as u64;
        let jump = match self.settings.trigger {
            Trigger::Jump(jump) => Some(jump),
            Trigger::Change => None,
        };
        let threads_of: Vec<u32> = decision.nodes.iter().map(|n| n.threads).collect();
        let assigned = map
            .as_ref()
            .filter(|_| decision.one_node().is_none())
            .and_then(|map| map.assign(&mut c.queue, &threads_of, decision.shares()));
        let map = map.filter(|_| assigned.is_some());
        let mut expected: Vec<Option<f64>> = decision
            .nodes
            .iter()
            .map(|n| n.rate.map(|r| r.ns_per_iteration))
            .collect();
        let parts = match assigned {
            None => c.queue.split(decision.shares()),
            Some((parts, averages)) => {
                for (e, average) in expected.iter_mut().zip(averages) {
                    *e = average.or(*e);
                }
                let mut actual = Decision::clone(&decision);
                actual.choice = Choice::Split {
                    shares: map::shares(&parts),
                };
                decision = Arc::new(actual);
                parts
            }
        };
        // Did the last probing change nothing?
        if let Some(before) = &c.decision {
            let moved = before
                .shares()
                .zip(decision.shares())
                .any(|(a, b)| (a - b).abs() > SAME - 1.0);
            c.wasted = if moved { 0 } else { c.wasted + 1 };
        }
        // As trials that found nothing come ever more rarely.
        let doublings = c.wasted.min((LONGEST_PERIOD / FIRST_PERIOD).ilog2());
        let patience = self.settings.sensitivity.windows.max(1) << doublings;
        c.period += 1;
        c.probing = false;
        c.alone = match decision.choice {
            // The other nodes have not come yet. When they do, they help.
            Choice::OneNode {
                why: Reason::OnlyNode,
                ..
            } if self.team.inhabited() > 1 => None,
            _ => decision.one_node(),
        };
        let finest = left / (threads * FINEST);
        for (i, ranges) in parts.into_iter().enumerate() {
            let threads = u64::from(self.team.nodes()[i].threads).max(1);
            let expected = expected.get(i).copied().flatten();
            let chunk_ns = if self.settings.chunk_ns > 0.0 {
                self.settings.chunk_ns + CHUNK_NS_PER_THREAD * threads as f64
            } else {
                0.0
            };
            let work = expected.map_or(0, |ns| (chunk_ns / ns) as u64);
            let each = ranges.len() / threads;
            let least = work.max(finest).max(1);
            let mut most = each / CHUNKS_PER_THREAD;
            if let Some(jump) = jump {
                most = most.min((each as f64 * jump / 2.0) as u64);
            }
            let node = &self.nodes[i];
            node.factor.store(f64::NAN.to_bits(), Ordering::Relaxed);
            let mut share = lock(&node.share);
            share.ranges = ranges;
            share.period = c.period;
            share.map.clone_from(&map);
            share.parts = threads * TAPER;
            share.least = least;
            share.most = most.max(least);
            share.watch.restart(
                expected,
                self.team.nodes()[i].threads,
                &self.settings.sensitivity,
            );
            share.strikes = 0;
            share.patience = patience;
        }
        if let Some(jump) = jump {
            self.completed.store(0, Ordering::Relaxed);
            let at = ((left as f64 * jump) as u64).clamp(1, NO_TRIGGER - 1);
            let more = self.team.inhabited() > 1 && c.alone.is_none() && c.periods < MOST_PERIODS;
            self.jump_at
                .store(if more { at } else { NO_TRIGGER }, Ordering::Relaxed);
        }
        c.decision = Some(decision);
    }

    /// Brings the node a bulk from the far end of another node's share: of the node that would end last, so
    /// that both end together. False: no other node has work left.
    pub(super) fn steal(&self, node: usize) -> bool {
        let speed = |i: usize, share: &Share| {
            let threads = f64::from(self.team.nodes()[i].threads.max(1));
            threads / share.watch.ns_per_iteration().unwrap_or(1.0)
        };
        let mut last: Option<(f64, usize)> = None;
        for (i, other) in self.nodes.iter().enumerate().filter(|&(i, _)| i != node) {
            let share = lock(&other.share);
            if !share.ranges.is_empty() {
                let end = share.ranges.len() as f64 / speed(i, &share);
                if last.is_none_or(|(l, _)| end > l) {
                    last = Some((end, i));
                }
            }
        }
        let Some((_, victim)) = last else {
            return false;
        };
        let (mine, least) = {
            let share = lock(&self.nodes[node].share);
            (speed(node, &share), share.least)
        };
        let bulk = {
            let mut share = lock(&self.nodes[victim].share);
            let theirs = speed(victim, &share);
            let part = (share.ranges.len() as f64 * (mine / (mine + theirs))) as u64;
            share.ranges.take_back(part.max(least))
        };
        // Another thread may have emptied that share meanwhile: look again.
        if bulk.is_empty() {
            return self.steal(node);
        }
        lock(&self.nodes[node].share).ranges = bulk;
        true
    }
}
