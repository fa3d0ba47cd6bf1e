//! What probing again during a loop is worth, on modelled machines.

use hetmp_sched::cache::{Key, Known, ProbeCache};
use hetmp_sched::decide::{decide, NodeInput, Rules};
use hetmp_sched::irregular::{Irregular, Settings, Step, Trigger};
use hetmp_sched::placement::{NodeShape, Placement};
use hetmp_sched::probe::{Counters, Measurement, NodeRate};
use hetmp_sched::ranges::Range;
use hetmp_sched::record::Learning;
use std::sync::Arc;

/// Nanoseconds that a call into the scheduler costs a thread.
const CALL_NS: u64 = 100;
const N: u64 = 200_000;

/// The faults of iteration `i` on a node. Arguments: the node, `i`, and whether several nodes work.
type Faults = Box<dyn Fn(usize, u64, bool) -> f64>;

/// A machine and a loop on it.
struct Model {
    team: Arc<Placement>,
    /// Nanoseconds that iteration `i` takes on a core of a node.
    cost: Box<dyn Fn(usize, u64) -> f64>,
    /// Remote faults of iteration `i` on a node, while `several` nodes work or only one.
    faults: Option<Faults>,
    late_ns: Vec<u64>,
    /// A node that becomes slower: its number, the time in nanoseconds, and the factor.
    slower: Option<(usize, u64, f64)>,
}

struct Run {
    ns: u64,
    renewals: u32,
    /// Iterations that each node executed.
    done: Vec<u64>,
    waits: u32,
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
            faults: None,
            slower: None,
        }
    }

    /// Runs the loop as a discrete-event simulation: the thread whose clock is least makes the next call.
    fn run(&self, h: &Irregular) -> Run {
        let threads = self.team.threads();
        let mut clock = self.late_ns.clone();
        let mut doing: Vec<Option<Step>> = vec![None; threads];
        let mut waits = 0;
        let mut done = vec![0; self.team.nodes().len()];
        let mut took = vec![0; threads];
        loop {
            let now = |t: &usize| clock[*t];
            let Some(t) = (0..threads)
                .filter(|&t| match doing[t] {
                    Some(Step::Done) => false,
                    Some(Step::Wait(ticket)) => h.changed(ticket),
                    _ => true,
                })
                .min_by_key(now)
            else {
                assert!(doing.iter().all(|d| *d == Some(Step::Done)), "stuck");
                return Run {
                    ns: clock.into_iter().max().unwrap_or(0),
                    renewals: h.renewals(),
                    done,
                    waits,
                };
            };
            let answer = match doing[t] {
                None => h.first(t),
                Some(Step::Run { range, probe }) => {
                    let several = (0..threads)
                        .filter(|&o| matches!(doing[o], Some(Step::Run { .. })))
                        .any(|o| self.team.node_of(o) != self.team.node_of(t));
                    let node = self.team.node_of(t);
                    h.next(
                        t,
                        Some(Measurement {
                            elapsed_ns: took[t],
                            iterations: range.len(),
                            faults: self.faults.as_ref().map(|f| {
                                (range.start..range.end)
                                    .map(|i| f(node, i, several))
                                    .sum::<f64>() as u64
                            }),
                            counters: probe.then_some(Counters {
                                instructions: 1000,
                                cache_misses: 1,
                            }),
                        }),
                    )
                }
                Some(_) => h.next(t, None),
            };
            clock[t] += CALL_NS;
            match answer {
                Step::Run { range, .. } => {
                    done[self.team.node_of(t)] += range.len();
                    took[t] = self.time(t, range, clock[t]);
                    clock[t] += took[t];
                }
                Step::Wait(_) => waits += 1,
                Step::Done => h.finish(t, clock[t] - self.late_ns[t]),
            }
            // Threads that sleep wake at this time.
            let now = clock[t];
            for o in 0..threads {
                if matches!(doing[o], Some(Step::Wait(ticket)) if h.changed(ticket)) && o != t {
                    clock[o] = clock[o].max(now - CALL_NS);
                }
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
        cache.update(key, &record, &settings.rules);
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

/// Faults that cost too much: the loop stays on one node.
#[test]
fn a_loop_that_does_not_pay_stays() {
    let mut model = Model::new(&[2, 2], |_, _| 1000.0);
    model.faults = Some(Box::new(|_, _, _| 0.05));
    let h = Irregular::new(N, Arc::clone(&model.team), by(Trigger::Change), None);
    let run = model.run(&h);
    let record = h.record();
    let decision = record.decision.unwrap();
    assert_eq!(decision.one_node(), Some(0), "{decision}");
    assert_eq!(record.learning, Learning::Probed);
    assert_eq!(run.renewals, 0);
    assert!(run.done[1] < N / 15, "{:?}", run.done);
}

/// Faults choose node 1 for the loop, but its threads are late. The other threads wait for them, but not for
/// ever.
#[test]
fn the_chosen_node_is_late() {
    let team = Arc::new(Placement::placed(&[0, 1], 2));
    let inputs = [20.0, 10.0].map(|ns_per_iteration| NodeInput {
        threads: 1,
        rate: Some(NodeRate {
            ns_per_iteration,
            faults: Some(1.0),
            instructions: Some(1000.0),
            cache_misses: Some(0.0),
        }),
        ..NodeInput::default()
    });
    let plan = decide(&inputs, &Rules::default());
    assert!(matches!(plan.one_node(), Some(1)), "{plan}");
    let known = Known {
        rates: inputs.iter().map(|i| i.rate).collect(),
        alone_ns: vec![None; 2].into(),
        plan: Some(Arc::new(plan)),
        map: None,
        fixed: false,
        brief: false,
    };
    let run = |s| matches!(s, Step::Run { .. });
    let new = || {
        let known = Some(Arc::new(known.clone()));
        Irregular::new(1_000_000, Arc::clone(&team), Settings::default(), known)
    };
    // They come in time: not one chunk moves pages to node 0.
    let h = new();
    let Step::Wait(ticket) = h.first(0) else {
        panic!("node 1 is to do it")
    };
    assert!(!h.changed(ticket));
    assert!(run(h.first(1)));
    while run(h.next(1, None)) {}
    assert!(h.changed(ticket) && h.must_wake() && !h.must_wake());
    assert_eq!(h.next(0, None), Step::Done);
    assert_eq!(h.handed_out(), 1_000_000);
    assert_eq!(h.record().nodes[0].iterations, 0);
    // They do not come in time: the threads that have waited long enough do the work, and all of it if no
    // other thread ever comes.
    for comes in [true, false] {
        let h = new();
        assert!(matches!(h.first(0), Step::Wait(_)));
        h.lose_patience(0);
        assert!(run(h.next(0, None)));
        if comes {
            assert!(run(h.first(1)));
            while run(h.next(1, None)) {}
        }
        while run(h.next(0, None)) {}
        assert_eq!(h.handed_out(), 1_000_000);
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
        rate: Some(NodeRate {
            ns_per_iteration: 100.0,
            faults: None,
            instructions: None,
            cache_misses: None,
        }),
        ..NodeInput::default()
    };
    let inputs = [0, 1, 2].map(plan);
    let known = Known {
        rates: inputs.iter().map(|i| i.rate).collect(),
        alone_ns: vec![None; 3].into(),
        plan: Some(Arc::new(decide(&inputs, &Rules::default()))),
        map: None,
        fixed: false,
        brief: false,
    };
    for trigger in [Trigger::Jump(0.05), Trigger::Change] {
        let h = Irregular::new(
            N,
            Arc::clone(&model.team),
            by(trigger),
            Some(Arc::new(known.clone())),
        );
        let run = model.run(&h);
        assert_eq!(run.waits, 0);
        // Two threads work until the third one comes (`late`), then three work.
        let ideal = late as f64 + (N as f64 * 100.0 - 2.0 * late as f64) / 3.0;
        assert!((run.ns as f64) < ideal * 1.08, "{} {ideal}", run.ns);
    }
}

/// A thread that has waited long enough helps: the chosen node's thread may itself wait for something that
/// this thread does after the loop.
#[test]
fn patience_ends() {
    let mut model = Model::new(&[1, 1], |_, _| 1000.0);
    model.faults = Some(Box::new(|_, _, _| 0.05));
    let h = Irregular::new(N, Arc::clone(&model.team), Settings::default(), None);
    let measure = |s: Step| match s {
        Step::Run { range, .. } => Some(Measurement {
            elapsed_ns: 1000 * range.len(),
            iterations: range.len(),
            faults: Some(range.len()),
            counters: None,
        }),
        _ => None,
    };
    let probes = |tid| {
        let mut step = h.first(tid);
        while matches!(step, Step::Run { probe: true, .. }) {
            step = h.next(tid, measure(step));
        }
        step
    };
    let _stuck = probes(0);
    let mut step = probes(1);
    let decided = h.record().decision.unwrap();
    assert!(
        matches!(
            decided.choice,
            hetmp_sched::decide::Choice::OneNode {
                node: 0,
                why: hetmp_sched::ways::Reason::Untried
            }
        ),
        "{decided}"
    );
    assert!(matches!(step, Step::Wait(_)));
    h.lose_patience(1);
    let mut calls = 0;
    while step != Step::Done {
        step = h.next(1, measure(step));
        calls += 1;
    }
    assert!(calls < 5000, "{calls}");
    assert!(
        h.handed_out() == N,
        "all but thread 0's chunk was run by thread 1"
    );
}

/// The three situations and any number of changes, with the user's percentage (`Trigger::Jump`).
#[test]
fn jumps_accumulate() {
    let model = Model::new(&[1, 2, 1], |node, i| {
        [100.0, 250.0, 400.0][node] * (1.0 + (i / 1000 % 7) as f64)
    });
    let run = model.once(by(Trigger::Jump(0.02)));
    assert!(run.renewals > 12, "{}", run.renewals);
}
