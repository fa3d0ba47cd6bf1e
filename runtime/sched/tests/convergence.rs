//! How good the division of a loop is on a modelled machine: nodes whose cores need a given time for each
//! iteration, in virtual nanoseconds.
#![cfg(not(loom))]

use hetmp_sched::cache::{Key, ProbeCache};
use hetmp_sched::cross_dynamic::CrossDynamic;
use hetmp_sched::csr;
use hetmp_sched::hetprobe::{HetProbe, Next, Settings};
use hetmp_sched::placement::{NodeShape, Placement};
use hetmp_sched::probe::Measurement;
use hetmp_sched::record::{Learning, LoopRecord};
use std::sync::Arc;

/// Nanoseconds that a call into the scheduler costs a thread.
const CALL_NS: u64 = 50;

/// A machine and a loop on it.
struct Model {
    team: Arc<Placement>,
    /// Nanoseconds that iteration `i` takes on a core of a node.
    cost: Box<dyn Fn(usize, u64) -> f64>,
    /// Nanoseconds at which each thread arrives.
    late_ns: Vec<u64>,
}

fn regular(threads: &[u32], ns: &'static [f64]) -> Model {
    let shapes: Vec<NodeShape> = threads
        .iter()
        .map(|&threads| NodeShape { threads })
        .collect();
    let team = Arc::new(Placement::contiguous(&shapes));
    Model {
        late_ns: vec![0; team.threads()],
        team,
        cost: Box::new(|node, _| ns[node]),
    }
}

impl Model {
    /// Runs one loop as a discrete-event simulation: the thread whose clock is least makes the next call.
    /// Returns the time at which the last thread ends.
    fn run(&self, h: &HetProbe) -> u64 {
        let mut clock = self.late_ns.clone();
        let mut doing: Vec<Option<Next>> = vec![None; clock.len()];
        loop {
            let Some(t) = (0..clock.len())
                .filter(|&t| doing[t] != Some(Next::Done))
                .min_by_key(|&t| clock[t])
            else {
                return clock.into_iter().max().unwrap_or(0);
            };
            let answer = match doing[t] {
                None => h.first(t),
                Some(Next::Probe(r)) => h.next(
                    t,
                    Some(Measurement {
                        elapsed_ns: self.time(t, r.start, r.end),
                        iterations: r.len(),
                        counters: None,
                    }),
                ),
                Some(_) => h.next(t, None),
            };
            clock[t] += CALL_NS;
            match answer {
                Next::Range(r) | Next::Probe(r) => clock[t] += self.time(t, r.start, r.end),
                Next::Done => h.finish(t, clock[t] - self.late_ns[t]),
            }
            doing[t] = Some(answer);
        }
    }

    fn time(&self, tid: usize, start: u64, end: u64) -> u64 {
        let node = self.team.node_of(tid);
        (start..end).map(|i| (self.cost)(node, i)).sum::<f64>() as u64
    }
}

/// Runs one region several times. Returns the times and the records.
fn executions(model: &Model, n: u64, settings: Settings, times: usize) -> Vec<(u64, LoopRecord)> {
    let mut cache = ProbeCache::new();
    let key = Key::new(0x40_1000, n, &model.team);
    (0..times)
        .map(|_| {
            let h = HetProbe::new(n, Arc::clone(&model.team), settings, cache.known(&key));
            let ns = model.run(&h);
            let record = h.record();
            cache.update(key, &record, settings.objective);
            (ns, record)
        })
        .collect()
}

const N: u64 = 200_000;

/// A fast core next to one of a third of its speed: 4/3 of the fast one alone.
#[test]
fn three_to_one() {
    let runs = executions(
        &regular(&[1, 1], &[100.0, 300.0]),
        N,
        Settings::default(),
        4,
    );
    let alone = N as f64 * 100.0;
    for (i, (ns, r)) in runs.iter().enumerate() {
        let speedup = alone / *ns as f64;
        assert!(speedup > 4.0 / 3.0 * 0.98, "execution {i}: {speedup}");
        assert!(
            speedup <= 4.0 / 3.0,
            "nobody is faster than both: {speedup}"
        );
        let csr = r.nodes[0].csr.unwrap();
        assert!((csr / 3.0 - 1.0).abs() < 0.05, "{csr}");
        assert!((r.nodes[0].share - 0.75).abs() < 0.02, "{r:?}");
        assert!(r.overhead().unwrap() < 0.02, "{:?}", r.overhead());
    }
    assert_eq!(runs[0].1.learning, Learning::Probed);
    assert_eq!(runs[3].1.learning, Learning::Settled);
    assert!(
        runs[3].1.reason().contains("75.0% 25.0%"),
        "{}",
        runs[3].1.reason()
    );
}

/// The number of cores counts, too: 4 cores of a third of the speed equal 4/3 of one fast core.
#[test]
fn ratio_times_cores() {
    let runs = executions(
        &regular(&[1, 4], &[100.0, 300.0]),
        N,
        Settings::default(),
        3,
    );
    let share = runs[2].1.nodes[0].share;
    assert!((share - 3.0 / 7.0).abs() < 0.02, "{share}");
}

#[test]
fn three_nodes_of_any_kind() {
    let model = regular(&[2, 1, 3], &[100.0, 250.0, 700.0]);
    let ideal = N as f64 / (2.0 / 100.0 + 1.0 / 250.0 + 3.0 / 700.0);
    for (ns, _) in executions(&model, N, Settings::default(), 3) {
        assert!(ns as f64 <= ideal * 1.04, "{ns} against {ideal}");
    }
}

/// Where each thread's iterations ascend, no node can help another one with what lies behind, and all take from one
/// cursor. A loop takes as long as without order; if its iterations differ, at times a little longer or shorter.
#[test]
fn order_costs_nothing() {
    type Weight = fn(f64) -> f64;
    let threads: [(&[u32], &'static [f64]); 4] = [
        (&[1, 1], &[100.0, 100.0]),
        (&[1, 1], &[100.0, 300.0]),
        (&[2, 1, 3], &[100.0, 250.0, 700.0]),
        (&[16, 96], &[100.0, 300.0]),
    ];
    let weights: [(Weight, f64); 3] = [
        (|_| 1.0, 1.01),
        (|at| 0.2 + 1.6 * at, 1.01),
        (|at| if (0.5..0.7).contains(&at) { 4.0 } else { 0.25 }, 1.1),
    ];
    for (threads, ns) in threads {
        for (weight, most) in weights {
            let mut model = regular(threads, ns);
            model.cost = Box::new(move |node, i| ns[node] * weight(i as f64 / N as f64));
            let times = |ascending| {
                let settings = Settings {
                    ascending,
                    ..Settings::default()
                };
                executions(&model, N, settings, 4)
                    .into_iter()
                    .map(|(ns, _)| ns)
            };
            for (execution, (free, ordered)) in times(false).zip(times(true)).enumerate() {
                let ratio = ordered as f64 / free as f64;
                assert!(ratio < most, "{threads:?}, {execution}: {ratio}");
            }
        }
    }
}

/// The division itself must be right, not only the help at the end: with a settled plan each node runs almost
/// only its own range.
#[test]
fn one_contiguous_range_per_node() {
    let model = regular(&[1, 1], &[100.0, 300.0]);
    let settings = Settings::default();
    let mut cache = ProbeCache::new();
    let key = Key::new(1, N, &model.team);
    for _ in 0..3 {
        let h = HetProbe::new(N, Arc::clone(&model.team), settings, cache.known(&key));
        model.run(&h);
        cache.update(key, &h.record(), settings.objective);
    }
    let known = cache.known(&key).unwrap();
    let h = HetProbe::new(N, Arc::clone(&model.team), settings, Some(known));
    // Only thread 1 runs: it gets its node's range first, in ascending order, and only then node 0's.
    let Next::Range(first) = h.first(1) else {
        panic!("probed again")
    };
    let near = (first.start as f64 / N as f64 - 0.75).abs();
    assert!(near < 0.01, "{first:?}");
    let mut at = first.end;
    while at < N {
        let Next::Range(r) = h.next(1, None) else {
            panic!("left at {at}")
        };
        assert_eq!(r.start, at);
        at = r.end;
    }
    assert!(matches!(h.next(1, None), Next::Range(r) if r.start == 0));
}

/// If the estimate is wrong for most of the loop, help at the end still balances the nodes.
#[test]
fn a_wrong_estimate_is_corrected() {
    let mut model = regular(&[1, 1], &[0.0, 0.0]);
    // Both nodes are equally fast in the first tenth; after that node 1 needs four times as long.
    model.cost = Box::new(|node, i| match (node, i < N / 10) {
        (_, true) | (0, false) => 100.0,
        _ => 400.0,
    });
    let runs = executions(&model, N, Settings::default(), 1);
    let ideal = (0.1 * N as f64) * 50.0 + (0.9 * N as f64) * 80.0;
    assert!(
        (runs[0].0 as f64) < ideal * 1.03,
        "{} against {ideal}",
        runs[0].0
    );
}

/// A thread arrives when most of the loop is done. It delays neither the other threads nor the decision.
#[test]
fn late_threads() {
    let mut model = regular(&[2, 2], &[100.0, 300.0]);
    model.late_ns = vec![0, 2_000_000, 0, 3_000_000];
    let runs = executions(&model, N, Settings::default(), 1);
    assert_eq!(runs[0].1.learning, Learning::Probed);
    // Every thread runs 1/100 or 1/300 iteration per nanosecond from its arrival on; the ideal end is where
    // the sum reaches all iterations.
    let work = |t: f64| t / 100.0 + (t - 2e6) / 100.0 + t / 300.0 + (t - 3e6) / 300.0;
    let end = runs[0].0 as f64;
    assert!(work(end) < N as f64 * 1.03, "{end}: {}", work(end));
}

/// The machine changes after the region has settled: the division follows. If all nodes become slower, so that it is
/// still right, the region is probed again.
#[test]
fn a_changed_machine_is_noticed() {
    let slow = regular(&[1, 1], &[100.0, 300.0]);
    let swapped = regular(&[1, 1], &[300.0, 100.0]);
    let settings = Settings::default();
    let mut cache = ProbeCache::new();
    let key = Key::new(7, N, &slow.team);
    let (mut learned, mut share) = (Vec::new(), 0.0);
    for i in 0..12 {
        let model = if i < 5 { &slow } else { &swapped };
        let h = HetProbe::new(N, Arc::clone(&model.team), settings, cache.known(&key));
        let ns = model.run(&h);
        let r = h.record();
        assert!((ns as f64) < N as f64 * 75.0 * 1.05, "execution {i}: {ns}");
        learned.push(r.learning);
        share = r.decision.as_ref().unwrap().shares().next().unwrap();
        cache.update(key, &r, settings.objective);
    }
    assert_eq!(
        (learned[4], learned[11]),
        (Learning::Settled, Learning::Settled)
    );
    assert!((share - 0.25).abs() < 0.02, "{share}");
    let slower = regular(&[1, 1], &[1200.0, 400.0]);
    let probed = (0..8).filter(|_| {
        let h = HetProbe::new(N, Arc::clone(&slower.team), settings, cache.known(&key));
        slower.run(&h);
        let r = h.record();
        cache.update(key, &r, settings.objective);
        r.learning == Learning::Probed
    });
    assert!(probed.count() >= 1);
}

/// One disturbed execution does not count as a change of the machine.
#[test]
fn an_outlier_is_forgotten() {
    let calm = regular(&[1, 1], &[100.0, 300.0]);
    let disturbed = regular(&[1, 1], &[500.0, 1500.0]);
    let settings = Settings::default();
    let mut cache = ProbeCache::new();
    let key = Key::new(7, N, &calm.team);
    for i in 0..12 {
        let model = if i == 6 { &disturbed } else { &calm };
        let h = HetProbe::new(N, Arc::clone(&model.team), settings, cache.known(&key));
        model.run(&h);
        let r = h.record();
        let expected = i >= 2 && r.learning == Learning::Settled;
        // The execution after the outlier deviates from it, too, so there are two deviations.
        assert!(
            !(2..=6).contains(&i) || expected,
            "execution {i}: {:?}",
            r.learning
        );
        cache.update(key, &r, settings.objective);
    }
    assert!(cache.entry(&key).unwrap().is_settled());
}

/// The schedules for comparison on the same machine: the ideal static division, and two-level dynamic.
#[test]
fn baselines() {
    let model = regular(&[1, 2], &[100.0, 300.0]);
    let ideal = N as f64 / (1.0 / 100.0 + 2.0 / 300.0);
    let longest = (0..3)
        .map(|t| csr::piece(N, &[3.0, 1.0], &model.team, t))
        .enumerate()
        .map(|(t, r)| model.time(t, r.start, r.end))
        .max()
        .unwrap();
    assert!((longest as f64) < ideal * 1.001);

    let c = CrossDynamic::new(N, 64, Arc::clone(&model.team));
    let mut clock = [0u64; 3];
    let mut left = [false; 3];
    while let Some(t) = (0..3).filter(|&t| !left[t]).min_by_key(|&t| clock[t]) {
        match c.next(t) {
            Some(r) => clock[t] += CALL_NS + model.time(t, r.start, r.end),
            None => left[t] = true,
        }
    }
    let longest = clock.into_iter().max().unwrap();
    assert!((longest as f64) < ideal * 1.05, "{longest} against {ideal}");
}
