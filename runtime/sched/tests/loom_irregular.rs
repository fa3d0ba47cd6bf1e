//! Races inside HetProbe-I's calls, under all interleavings that loom finds:
//! `RUSTFLAGS="--cfg loom" cargo test -p hetmp-sched --test loom_irregular --release`.
#![cfg(loom)]

use hetmp_sched::cache::Known;
use hetmp_sched::decide::{decide, NodeInput, Objective};
use hetmp_sched::energy::Power;
use hetmp_sched::irregular::{Irregular, Settings, Step, Trigger};
use hetmp_sched::placement::Placement;
use hetmp_sched::probe::{Measurement, NodeRate};
use hetmp_sched::ranges::Range;
use hetmp_sched::watch::Sensitivity;
use loom::sync::Arc;
use loom::thread;

/// Runs thread `tid` to the end.
fn run(h: &Irregular, tid: usize) -> Vec<Range> {
    let mut got = Vec::new();
    let mut step = h.first(tid);
    loop {
        let m = match step {
            Step::Done => return got,
            Step::Run { range, .. } => {
                got.push(range);
                Some(Measurement {
                    elapsed_ns: 100 * (1 + tid as u64) * range.len(),
                    iterations: range.len(),
                    counters: None,
                })
            }
        };
        step = h.next(tid, m);
    }
}

fn check(
    preemptions: usize,
    nodes: &'static [u32],
    n: u64,
    trigger: Trigger,
    known: Option<fn() -> Known>,
) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let team = std::sync::Arc::new(Placement::placed(nodes, 2));
        let settings = Settings {
            trigger,
            chunk_ns: 0.0,
            sensitivity: Sensitivity {
                chunks: 1,
                window_ns: 1,
                windows: 1,
                ..Sensitivity::default()
            },
            ..Settings::default()
        };
        let known = known.map(|k| std::sync::Arc::new(k()));
        let h = Arc::new(Irregular::new(n, team, settings, known));
        let others: Vec<_> = (1..nodes.len())
            .map(|tid| {
                let h = Arc::clone(&h);
                thread::spawn(move || run(&h, tid))
            })
            .collect();
        let mut all = run(&h, 0);
        for other in others {
            all.append(&mut other.join().unwrap());
        }
        all.sort_by_key(|r| r.start);
        let mut at = 0;
        for r in &all {
            assert_eq!(r.start, at, "{all:?}");
            at = r.end;
        }
        assert_eq!(at, n, "{all:?}");
    });
}

/// Probing, the decision, and nodes that take iterations from each other at the end.
#[test]
fn probe_and_split() {
    check(3, &[0, 1], 5, Trigger::Change, None);
}

#[test]
fn probe_and_split_of_three() {
    check(2, &[0, 1, 1], 4, Trigger::Change, None);
}

/// From one period to the next: one thread gathers the measurements while the other takes a chunk.
#[test]
fn new_periods() {
    check(3, &[0, 1], 20, Trigger::Jump(0.1), Some(equals));
}

fn equals() -> Known {
    plan([10.0, 10.0], Objective::Time)
}

/// The loop runs on one node, whose thread may come after the other node's.
#[test]
fn one_node_alone() {
    check(3, &[0, 1], 4, Trigger::Change, Some(alone));
}

fn alone() -> Known {
    plan([20.0, 10.0], Objective::Energy)
}

fn plan(ns: [f64; 2], objective: Objective) -> Known {
    let inputs = ns.map(|ns| NodeInput {
        threads: 1,
        rate: Some(NodeRate::of(ns)),
        power: Some(Power {
            idle_watts: 0.0,
            core_watts: 1.0,
        }),
    });
    Known {
        rates: inputs.iter().map(|i| i.rate).collect(),
        plan: Some(std::sync::Arc::new(decide(&inputs, objective))),
        ..Known::default()
    }
}
