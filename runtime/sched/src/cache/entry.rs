//! One region's entry: averages of what its executions measured, and the plan that follows from them.
//!
//! Averages are weighted exponentially, so that traffic from the first touch of memory is forgotten and
//! outliers decay. When successive executions agree, the entry is *settled*: it has a plan, which follows the
//! averages. The region is probed again when its time leaves the [`Band`] of usual times.

use super::Known;
use crate::decide::{decide, NodeInput, Objective};
use crate::fixed::Form;
use crate::gain::Band;
use crate::limits::{ALIKE, FIRST_PERIOD, INTERRUPTED, MEMORY, SHORT_NS, SLICE_NS};
use crate::placement::Placement;
use crate::probe::NodeRate;
use crate::record::{Learning, LoopRecord};
use std::sync::Arc;

/// Weight of a new measurement in the averages; the old average has the rest.
pub const NEW_WEIGHT: f64 = 0.75;
/// Probed executions after which a region is settled even if they never agree: probing on would not make the
/// region more regular.
const MOST_PROBES: u32 = 4;
/// One region's entry.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    pub(super) known: Arc<Known>,
    probes: u32,
    /// Of what a thousand iterations take by a plan.
    band: Band,
    form: Form,
    /// Executions since the plan was made.
    since_plan: u32,
}

/// The part of an entry that outlives the process (see [`crate::profile`]).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Saved {
    /// Averages per node.
    pub(crate) rates: Vec<Option<NodeRate>>,
    /// Executions that were probed since the region was last settled.
    pub(crate) probes: u32,
}

impl Entry {
    /// What is worth keeping for the next process; `None` if nothing was measured.
    #[must_use]
    pub fn saved(&self) -> Option<Saved> {
        self.known.rates.iter().any(Option::is_some).then(|| Saved {
            rates: self.known.rates.to_vec(),
            probes: self.probes,
        })
    }

    /// The entry that another process has saved, for use on `team`. If every node with threads was measured,
    /// the entry is settled even after a single execution: a region that runs once per process must gain by
    /// it too, and wrong values show as drift. `None` if the saved entry has another number of nodes.
    #[must_use]
    pub(crate) fn restored(saved: &Saved, team: &Placement, objective: Objective) -> Option<Entry> {
        let nodes = team.nodes().len();
        if saved.rates.len() != nodes {
            return None;
        }
        let inputs: Vec<NodeInput> = team
            .nodes()
            .iter()
            .enumerate()
            .map(|(i, shape)| NodeInput {
                threads: shape.threads,
                rate: saved.rates[i],
                power: team.power(i),
            })
            .collect();
        let complete = inputs.iter().all(|x| x.threads == 0 || x.rate.is_some());
        Some(Entry {
            known: Arc::new(Known {
                rates: saved.rates.as_slice().into(),
                plan: complete.then(|| Arc::new(decide(&inputs, objective))),
                map: None,
                fixed: false,
                brief: false,
            }),
            probes: saved.probes,
            band: Band::default(),
            form: Form::default(),
            since_plan: 0,
        })
    }

    /// Whether the next execution runs without probing.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.known.plan.is_some()
    }

    /// Learns from one execution.
    pub(crate) fn update(&mut self, record: &LoopRecord, objective: Objective) {
        if record.learning == Learning::None {
            return;
        }
        let mut known = Known::clone(&self.known);
        if known.rates.len() != record.nodes.len() {
            known.rates = vec![None; record.nodes.len()].into();
        }

        let settled = record.learning == Learning::Settled;
        let ns = record.elapsed_ns as f64 / record.iterations.max(1) as f64;
        // A rate moves by its weight at most, and a short part's little: if it loses a time slice, it takes a hundred
        // times as long, and a node would starve by the average of that.
        let most = if settled { 2.0 } else { f64::INFINITY };
        let least = if settled { 1.0 - MEMORY } else { 1.0 };
        let mut factors = Vec::new();
        for i in 0..record.nodes.len() {
            let Some(mut fresh) = fresh_rate(record, i) else {
                continue;
            };
            if let Some(old) = known.rates[i] {
                factors.push(fresh.ns_per_iteration / old.ns_per_iteration);
            }
            known.rates[i] = Some(match known.rates[i] {
                Some(old) => {
                    let (node, each) = (&record.nodes[i], old.ns_per_iteration);
                    let part = node.iterations as f64 * each / f64::from(node.arrived.max(1));
                    fresh.ns_per_iteration = fresh.ns_per_iteration.min(most * each);
                    old.blend(
                        &fresh,
                        NEW_WEIGHT * (part / SLICE_NS as f64).clamp(least, 1.0),
                    )
                }
                None => fresh,
            });
        }

        let plans = if settled {
            !self.band.leaves(1000.0 * ns)
        } else {
            self.band = Band::default();
            self.probes += 1;
            known.map.clone_from(&record.map);
            let agreed = !factors.is_empty() && moved(&factors) <= ALIKE;
            agreed || self.probes >= MOST_PROBES
        };
        if plans {
            let inputs: Vec<NodeInput> = record
                .nodes
                .iter()
                .enumerate()
                .map(|(i, x)| NodeInput {
                    threads: x.threads,
                    rate: known.rates[i],
                    power: x.power,
                })
                .collect();
            let complete = inputs.iter().all(|x| x.threads == 0 || x.rate.is_some());
            // A loop is brief if it was over each time before threads of some node came, and nobody was kept elsewhere
            // for long. It cannot use fixed pieces either: one thread would have to wait for another that comes too
            // late.
            let was_interrupted = record.span_ns as f64 > INTERRUPTED * SHORT_NS;
            known.brief = !complete && self.probes >= MOST_PROBES && !was_interrupted;
            self.since_plan = self.since_plan.saturating_add(1);
            // Times of loops of a microsecond, in fixed pieces, move by more than `SAME` each time.
            if complete && (!record.fixed || self.since_plan >= FIRST_PERIOD) {
                let new = decide(&inputs, objective);
                if !known.plan.as_ref().is_some_and(|p| p.is_like(&new)) {
                    known.plan = Some(Arc::new(new));
                    self.since_plan = 0;
                }
            }
            if settled {
                let fixed = self
                    .form
                    .update(record.fixed, record.span_ns, record.iterations);
                // Fixed pieces need iterations of one kind; otherwise chunks even the loop out.
                known.fixed = fixed && known.map.is_none();
            }
        } else if known.plan.is_some() {
            known.plan = None;
            known.fixed = false;
            self.form = Form::default();
            self.probes = 0;
        }
        self.known = Arc::new(known);
    }
}

/// The rate of node `i`: the time over the whole execution, which covers more than the probe, and the counters of the
/// probe. `None` where the execution says nothing about this node.
fn fresh_rate(record: &LoopRecord, i: usize) -> Option<NodeRate> {
    let probe = record.nodes[i].probe;
    let whole_ns = record.nodes[i].ns_per_iteration.filter(|&t| t > 0.0);
    Some(NodeRate {
        ns_per_iteration: whole_ns.or(probe.map(|p| p.ns_per_iteration))?,
        ..probe.unwrap_or(NodeRate::of(0.0))
    })
}

/// How far nodes have moved against each other, where each of `factors` says how many times slower a node has
/// become. If all have become slower alike, their shares are still right, and the answer is 1. A single node
/// is compared with its own past.
fn moved(factors: &[f64]) -> f64 {
    let low = factors.iter().copied().fold(f64::INFINITY, f64::min);
    let high = factors.iter().copied().fold(0.0, f64::max);
    match factors.len() {
        0 => 1.0,
        1 => high.max(1.0 / high),
        _ => high / low,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::cache::{Key, ProbeCache};

    fn saved(ns: &[Option<f64>]) -> Saved {
        Saved {
            rates: ns.iter().map(|ns| ns.map(NodeRate::of)).collect(),
            probes: 1,
        }
    }

    #[test]
    fn what_another_process_left_is_a_plan() {
        let team = Placement::placed(&[0, 1], 2);
        let objective = Objective::Time;
        let entry = Entry::restored(&saved(&[Some(10.0), Some(30.0)]), &team, objective);
        let entry = entry.expect("as many nodes");
        assert!(entry.is_settled());
        let plan = entry.known.plan.clone().expect("settled");
        assert_eq!(plan.shares().collect::<Vec<_>>(), [0.75, 0.25]);
        assert_eq!(entry.saved(), Some(saved(&[Some(10.0), Some(30.0)])));
        // What was never measured is probed; of other nodes nothing holds.
        let entry = Entry::restored(&saved(&[Some(10.0), None]), &team, objective);
        assert!(!entry.expect("as many nodes").is_settled());
        assert!(Entry::restored(&saved(&[Some(10.0)]), &team, objective).is_none());
        // A node without threads need not have been measured.
        let narrow = Placement::placed(&[0, 0], 2);
        let entry = Entry::restored(&saved(&[Some(10.0), None]), &narrow, objective);
        assert!(entry.expect("as many nodes").is_settled());
        assert_eq!(Entry::default().saved(), None);
    }

    #[test]
    fn what_this_process_learned_wins() {
        let team = Placement::placed(&[0, 1], 2);
        let key = Key::new(1, 100, &team);
        let mut cache = ProbeCache::new();
        let objective = Objective::Time;
        cache.restore(key, &saved(&[Some(10.0), Some(30.0)]), &team, objective);
        cache.restore(key, &saved(&[Some(99.0), Some(99.0)]), &team, objective);
        let known = cache.known(&key).expect("there");
        assert_eq!(known.rates[0].map(|r| r.ns_per_iteration), Some(10.0));
    }

    /// A loop of 10 iterations that thread 0 has run before thread 1 comes.
    fn one_sided(team: &Placement, span_ns: u64) -> LoopRecord {
        let tally = crate::record::Tally::new(2);
        for (tid, iterations) in [(0, 10), (1, 0)] {
            tally.arrive(tid);
            tally.add(tid, iterations);
            tally.leave(tid, 400);
        }
        let kind = crate::schedule::Kind::HetProbe { probe: 0.1 };
        let mut record = LoopRecord::new(kind, 10, team, &tally);
        record.learning = Learning::Undecided;
        record.span_ns = span_ns;
        record
    }

    /// Probing such a loop costs more than it takes, each time.
    #[test]
    fn a_loop_that_is_over_before_others_come_is_brief() {
        let team = Placement::placed(&[0, 1], 2);
        let objective = Objective::Time;
        let play = |spans: &[u64]| {
            let mut entry = Entry::default();
            for &span in spans {
                entry.update(&one_sided(&team, span), objective);
            }
            assert!(!entry.is_settled(), "nothing is known of node 1");
            entry.known.brief
        };
        assert!(!play(&[1_000; 3]), "it may have been chance");
        assert!(play(&[1_000; 20]));
        // The other node's thread was kept elsewhere for long: that says nothing about the loop.
        assert!(!play(&[5_000_000; 20]));
        // And when it comes to be shared, it is no more.
        let mut entry = Entry::default();
        for _ in 0..20 {
            entry.update(&one_sided(&team, 1_000), objective);
        }
        let tally = crate::record::Tally::new(2);
        for tid in 0..2 {
            tally.arrive(tid);
            tally.add(tid, 5);
            tally.leave(tid, 200);
        }
        let kind = crate::schedule::Kind::HetProbe { probe: 0.1 };
        let mut both = LoopRecord::new(kind, 10, &team, &tally);
        both.learning = Learning::Probed;
        both.span_ns = 1_000;
        entry.update(&both, objective);
        assert!(!entry.known.brief && entry.is_settled());
    }

    /// A node's thread loses a slice of 4 ms in one of four executions, as next to a busy process. The other node is
    /// twice as fast, and stays about that: in a loop of 40 us, and in one of 8 ms.
    #[test]
    fn a_node_that_loses_time_slices_does_not_starve() {
        let team = Placement::placed(&[0, 1], 2);
        let objective = Objective::Time;
        for n in [60_u64, 12_000] {
            let mut entry = Entry::default();
            let (mut share, mut shares) = (0.5, Vec::new());
            for round in 0..400 {
                let tally = crate::record::Tally::new(2);
                for (tid, part, cost) in [(0, 1.0 - share, 1_000.0), (1, share, 2_000.0)] {
                    let iterations = (part * n as f64).round();
                    let lost = if tid == 1 && round % 4 == 3 { 4e6 } else { 0.0 };
                    tally.arrive(tid);
                    tally.add(tid, iterations as u64);
                    tally.leave(tid, (iterations * cost + lost) as u64);
                }
                let kind = crate::schedule::Kind::HetProbe { probe: 0.1 };
                let mut record = LoopRecord::new(kind, n, &team, &tally);
                record.learning = match entry.is_settled() {
                    true => Learning::Settled,
                    false => Learning::Probed,
                };
                entry.update(&record, objective);
                if let [Some(a), Some(b)] = entry.known.rates[..] {
                    share = a.ns_per_iteration / (a.ns_per_iteration + b.ns_per_iteration);
                }
                shares.push(share);
            }
            shares.sort_by(f64::total_cmp);
            let usual = shares[shares.len() / 2];
            assert!(
                (0.2..0.4).contains(&usual),
                "{n}: {usual}, at least {}",
                shares[0]
            );
        }
    }
}
