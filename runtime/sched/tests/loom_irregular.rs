//! Races inside HetProbe-I's calls, under all interleavings that loom finds:
//! `RUSTFLAGS="--cfg loom" cargo test -p hetmp-sched --test loom_irregular --release`.
#![cfg(loom)]

use hetmp_sched::cache::Known;
use hetmp_sched::decide::{decide, NodeInput, Rules};
use hetmp_sched::irregular::{Irregular, Settings, Step, Trigger};
use hetmp_sched::placement::Placement;
use hetmp_sched::probe::{Measurement, NodeRate};
use hetmp_sched::ranges::Range;
use hetmp_sched::watch::Sensitivity;
use loom::sync::Arc;
use loom::thread;

/// Runs thread `tid` to the end. `faults`: faults per iteration.
fn run(h: &Irregular, tid: usize, faults: Option<u64>) -> Vec<Range> {
    let mut got = Vec::new();
    let mut step = h.first(tid);
    loop {
        let m = match step {
            Step::Done => return got,
            Step::Wait(ticket) => {
                // As the driver waits, but without a time limit: some thread must bring news.
                while !h.changed(ticket) {
                    thread::yield_now();
                }
                None
            }
            Step::Run { range, .. } => {
                got.push(range);
                Some(Measurement {
                    elapsed_ns: 100 * (1 + tid as u64) * range.len(),
                    iterations: range.len(),
                    faults: faults.map(|f| f * range.len()),
                    counters: None,
                })
            }
        };
        step = h.next(tid, m);
        let _ = h.must_wake();
    }
}

fn check(
    preemptions: usize,
    nodes: &'static [u32],
    n: u64,
    trigger: Trigger,
    faults: Option<u64>,
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
                thread::spawn(move || run(&h, tid, faults))
            })
            .collect();
        let mut all = run(&h, 0, faults);
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
    check(3, &[0, 1], 5, Trigger::Change, None, None);
}

#[test]
fn probe_and_split_of_three() {
    check(2, &[0, 1, 1], 4, Trigger::Change, None, None);
}

/// From one period to the next: one thread gathers the measurements while the other takes a chunk.
#[test]
fn new_periods() {
    check(3, &[0, 1], 20, Trigger::Jump(0.1), None, Some(equals));
}

fn equals() -> Known {
    plan([10.0, 10.0], None)
}

/// The loop runs on one node. The other node's thread sleeps, and must learn of the loop's end.
#[test]
fn one_node_alone() {
    check(3, &[0, 1], 4, Trigger::Change, Some(1), Some(alone));
}

fn alone() -> Known {
    plan([20.0, 10.0], Some(1.0))
}

fn plan(ns: [f64; 2], faults: Option<f64>) -> Known {
    let inputs = ns.map(|ns_per_iteration| NodeInput {
        threads: 1,
        rate: Some(NodeRate {
            ns_per_iteration,
            faults,
            instructions: Some(1.0),
            cache_misses: Some(0.0),
        }),
        ..NodeInput::default()
    });
    Known {
        rates: inputs.iter().map(|i| i.rate).collect(),
        alone_ns: vec![None; 2].into(),
        plan: Some(std::sync::Arc::new(decide(&inputs, &Rules::default()))),
        map: None,
        fixed: false,
        brief: false,
    }
}
