//! What probing again during a loop is worth, on modelled machines.

use hetmp_sched::cache::{Key, Known, ProbeCache};
use hetmp_sched::decide::{decide, NodeInput, Objective};
use hetmp_sched::energy::Power;
use hetmp_sched::irregular::{Irregular, Settings, Step, Trigger};
use hetmp_sched::placement::{NodeShape, Placement};
use hetmp_sched::probe::{Counters, Measurement, NodeRate};
use hetmp_sched::ranges::Range;
use hetmp_sched::record::Learning;
use std::sync::Arc;

/// Nanoseconds that a call into the scheduler costs a thread.
const CALL_NS: u64 = 100;
const N: u64 = 200_000;

/// A machine and a loop on it.
struct Model {
    team: Arc<Placement>,
    /// Nanoseconds that iteration `i` takes on a core of a node.
    cost: Box<dyn Fn(usize, u64) -> f64>,
    late_ns: Vec<u64>,
    /// A node that becomes slower: its number, the time in nanoseconds, and the factor.
    slower: Option<(usize, u64, f64)>,
}

struct Run {
    ns: u64,
    renewals: u32,
    /// Iterations that each node executed.
    done: Vec<u64>,
}

impl Model {
    fn new(threads: &[u32], cost: impl Fn(usize, u64) -> f64 + 'static) -> Model {
        let shapes: Vec<NodeShape> = threads
            .iter()
            .map(|&threads| NodeShape { threads })
            .collect();
        let team = Arc::new(Placement::contiguous(&shapes));
        Model {
            late_ns: vec![0; team.threads()],
            team,
            cost: Box::new(cost),
            slower: None,
        }
    }

    /// Runs the loop as a discrete-event simulation: the thread whose clock is least makes the next call.
    fn run(&self, h: &Irregular) -> Run {
        let threads = self.team.threads();
        let mut clock = self.late_ns.clone();
        let mut doing: Vec<Option<Step>> = vec![None; threads];
        let mut done = vec![0; self.team.nodes().len()];
        let mut took = vec![0; threads];
        loop {
            let now = |t: &usize| clock[*t];
            let Some(t) = (0..threads)
                .filter(|&t| doing[t] != Some(Step::Done))
                .min_by_key(now)
            else {
                return Run {
                    ns: clock.into_iter().max().unwrap_or(0),
                    renewals: h.renewals(),
                    done,
                };
            };
            let answer = match doing[t] {
                None => h.first(t),
                Some(Step::Run { range, probe }) => h.next(
                    t,
                    Some(Measurement {
                        elapsed_ns: took[t],
                        iterations: range.len(),
                        counters: probe.then_some(Counters {
                            instructions: 1000,
                            cache_misses: 1,
                        }),
                    }),
                ),
                Some(_) => h.next(t, None),
            };
            clock[t] += CALL_NS;
            match answer {
                Step::Run { range, .. } => {
                    done[self.team.node_of(t)] += range.len();
                    took[t] = self.time(t, range, clock[t]);
                    clock[t] += took[t];
                }
                Step::Done => h.finish(t, clock[t] - self.late_ns[t]),
            }
            doing[t] = Some(answer);
        }
    }

    fn time(&self, tid: usize, r: Range, now: u64) -> u64 {
        let node = self.team.node_of(tid);
        let factor = match self.slower {
            Some((slow, from, factor)) if slow == node && now >= from => factor,
            _ => 1.0,
        };
        ((r.start..r.end).map(|i| (self.cost)(node, i)).sum::<f64>() * factor) as u64
    }

    fn once(&self, settings: Settings) -> Run {
        let h = Irregular::new(N, Arc::clone(&self.team), settings, None);
        let run = self.run(&h);
        assert_eq!(run.done.iter().sum::<u64>(), N);
        run
    }
}

fn by(trigger: Trigger) -> Settings {
    Settings {
        trigger,
        ..Settings::default()
    }
}

/// On a regular loop the detector never reports a change, and the ideal time is reached.
#[test]
fn a_regular_loop_pays_little() {
    for threads in [&[1u32, 1][..], &[2, 6], &[1, 2, 3]] {
        let ns = [100.0, 300.0, 250.0];
        let model = Model::new(threads, move |node, _| ns[node]);
        let per_ns: f64 = threads
            .iter()
            .zip(ns)
            .map(|(&t, ns)| f64::from(t) / ns)
            .sum();
        let ideal = N as f64 / per_ns;
        let run = model.once(by(Trigger::Change));
        assert_eq!(run.renewals, 0);
        assert!((run.ns as f64) < ideal * 1.03, "{} {ideal}", run.ns);
        // With the user's percentage (`Trigger::Jump`) the loop pays for being probed again and again.
        let run = model.once(by(Trigger::Jump(0.1)));
        assert!(run.renewals > 5, "{}", run.renewals);
        assert!((run.ns as f64) < ideal * 1.10, "{} {ideal}", run.ns);
    }
}

/// All iterations become slower in the same way: the shares are still right.
#[test]
fn a_common_change_is_no_reason() {
    let model = Model::new(&[2, 2], |node, i| {
        // Both halves of the loop, and so both nodes' shares, become slower.
        let late = i % (N / 2) > N / 4;
        [100.0, 300.0][node] * if late { 1.2 } else { 1.0 }
    });
    assert_eq!(model.once(by(Trigger::Change)).renewals, 0);
}

/// A node becomes slow while the loop runs.
#[test]
fn a_change_is_seen() {
    let mut model = Model::new(&[1, 1], |node, _| [100.0, 300.0][node]);
    let quarter = N / 4 * 75;
    model.slower = Some((0, quarter, 6.0));
    let run = model.once(by(Trigger::Change));
    assert!((1..12).contains(&run.renewals), "{}", run.renewals);
    let ideal = quarter as f64 + N as f64 * 0.75 * 200.0;
    assert!((run.ns as f64) < ideal * 1.1, "{} {ideal}", run.ns);
}

/// The paper's irregular mix: two kinds of iterations alternate along the range, and each kind runs faster on
/// another node.
#[test]
fn each_node_gets_its_kind() {
    let model = Model::new(&[1, 1], |node, i| {
        let kind = (i * 4 / N % 2) as usize;
        if node == kind {
            100.0
        } else {
            300.0
        }
    });
    let run = model.once(by(Trigger::Change));
    let ideal = N as f64 * 50.0;
    // Probing runs a tenth of the loop, divided evenly between the nodes.
    assert!((run.ns as f64) < ideal * 1.25, "{} {ideal}", run.ns);
    // Without a map of the loop each node gets both kinds: on average 200 ns for an iteration.
    let run = model.once(by(Trigger::Jump(1.0)));
    assert!((run.ns as f64) > ideal * 1.4, "{} {ideal}", run.ns);
}

/// The next execution uses what the first has found out, and does not probe.
#[test]
fn the_next_execution_knows_the_kinds() {
    let model = Model::new(&[2, 1], |node, i| {
        let kind = (i * 4 / N % 2) as usize;
        if node == kind {
            100.0
        } else {
            300.0
        }
    });
    let settings = by(Trigger::Change);
    let mut cache = ProbeCache::new();
    let key = Key::new(1, N, &model.team);
    let mut times = Vec::new();
    for i in 0..5 {
        let h = Irregular::new(N, Arc::clone(&model.team), settings, cache.known(&key));
        let run = model.run(&h);
        let record = h.record();
        if i == 4 {
            assert_eq!(record.learning, Learning::Settled);
            assert_eq!(run.renewals, 0);
        }
        cache.update(key, &record, settings.objective);
        times.push(run.ns);
    }
    // Two cores of node 0 run 100000 iterations of kind 0. Node 1 runs kind 1 in 100 ns each, and node 0
    // helps with 150 ns each.
    let ideal = 100_000.0 * 50.0 + (100_000.0 - 50_000.0) / (1.0 / 100.0 + 2.0 / 300.0);
    let last = times[4] as f64;
    assert!(last < ideal * 1.05, "{times:?} {ideal}");
}

/// One node has no iterations left before the detector reports a change. It takes a large part of what the
/// other node has left, and both end together.
#[test]
fn a_dry_node_helps() {
    // Both nodes are equally fast in the first tenth, then node 1 needs four times as long; and the detector
    // never reports a change.
    let model = Model::new(&[1, 1], |node, i| match (node, i < N / 10) {
        (_, true) | (0, false) => 100.0,
        _ => 400.0,
    });
    let run = model.once(by(Trigger::Jump(1.0)));
    assert_eq!(run.renewals, 0);
    let ideal = (0.1 * N as f64) * 50.0 + (0.9 * N as f64) * 80.0;
    assert!((run.ns as f64) < ideal * 1.03, "{} {ideal}", run.ns);
}

/// The objective chooses node 1 for the loop, but its thread is late: the other thread works until it comes, and then
/// leaves.
#[test]
fn the_chosen_node_is_late() {
    let team = Arc::new(Placement::placed(&[0, 1], 2));
    let inputs = [20.0, 10.0].map(|ns| NodeInput {
        threads: 1,
        rate: Some(NodeRate::of(ns)),
        power: Some(Power {
            idle_watts: 0.0,
            core_watts: 1.0,
        }),
    });
    let plan = decide(&inputs, Objective::Energy);
    assert!(matches!(plan.one_node(), Some(1)), "{plan}");
    let known = Known {
        rates: inputs.iter().map(|i| i.rate).collect(),
        plan: Some(Arc::new(plan)),
        ..Known::default()
    };
    let run = |s| matches!(s, Step::Run { .. });
    for (first, comes) in [(1, true), (0, true), (0, false)] {
        let known = Some(Arc::new(known.clone()));
        let h = Irregular::new(N, Arc::clone(&team), Settings::default(), known);
        assert!(run(h.first(first)));
        if comes {
            assert_eq!(run(h.first(1 - first)), first == 0);
        }
        if first == 0 {
            assert_eq!(run(h.next(0, None)), !comes);
        }
        let last = if comes { 1 } else { 0 };
        while run(h.next(last, None)) {}
        let done: Vec<u64> = h.record().nodes.iter().map(|n| n.iterations).collect();
        assert_eq!(done[0] + done[1], N);
        assert_eq!((done[0] == 0, done[1] == 0), (first == 1, !comes));
    }
}

/// A node comes late, after the loop was divided anew without it, and helps.
#[test]
fn late_nodes_help() {
    let mut model = Model::new(&[1, 1, 1], |_, _| 100.0);
    let late = N * 100 / 4;
    model.late_ns = vec![0, 0, late];
    let plan = |_| NodeInput {
        threads: 1,
        rate: Some(NodeRate::of(100.0)),
        ..NodeInput::default()
    };
    let inputs = [0, 1, 2].map(plan);
    let known = Known {
        rates: inputs.iter().map(|i| i.rate).collect(),
        plan: Some(Arc::new(decide(&inputs, Objective::Time))),
        ..Known::default()
    };
    for trigger in [Trigger::Jump(0.05), Trigger::Change] {
        let h = Irregular::new(
            N,
            Arc::clone(&model.team),
            by(trigger),
            Some(Arc::new(known.clone())),
        );
        let run = model.run(&h);
        // Two threads work until the third one comes (`late`), then three work.
        let ideal = late as f64 + (N as f64 * 100.0 - 2.0 * late as f64) / 3.0;
        assert!((run.ns as f64) < ideal * 1.08, "{} {ideal}", run.ns);
    }
}

/// Any number of changes, with the user's percentage (`Trigger::Jump`).
#[test]
fn jumps_accumulate() {
    let model = Model::new(&[1, 2, 1], |node, i| {
        [100.0, 250.0, 400.0][node] * (1.0 + (i / 1000 % 7) as f64)
    });
    let run = model.once(by(Trigger::Jump(0.02)));
    assert!(run.renewals > 12, "{}", run.renewals);
}
