//! The simulator on cases whose result can be computed on paper.

use hetmp_lab::{
    ideal_parts, run, Access, Array, KernelOnNode, LinkModel, LoopModel, Mix, Node, Outcome,
    Pattern, Platform, Published, Serial, Spread, Strategy, Workload,
};
use hetmp_sched::decide::Objective;
use hetmp_sched::energy::Power;
use hetmp_sched::schedule::Schedule;

/// Nodes of `cores` cores with speed `speed`. With `linked` each node has its own memory.
fn platform(nodes: &[(u32, f64)], linked: Option<LinkModel>) -> Platform {
    let memories = if linked.is_some() { nodes.len() } else { 1 };
    Platform {
        name: "test".into(),
        nodes: nodes
            .iter()
            .enumerate()
            .map(|(i, &(cores, speed))| Node {
                name: format!("n{i}"),
                cores,
                memory: if linked.is_some() { i } else { 0 },
                bandwidth: f64::INFINITY,
                default: KernelOnNode {
                    speed,
                    ..Default::default()
                },
                ..Default::default()
            })
            .collect(),
        memories,
        links: vec![linked.unwrap_or_default(); memories * memories],
        counters: true,
        call_ns: 0.0,
        fork_us: 0.0,
        jitter: 0.0,
    }
}

/// Threads on another memory than the origin's learn of a loop by fetching a page.
const NEWS: f64 = 50e-6;

const LINK: LinkModel = LinkModel {
    fault_us: 50.0,
    occupancy_us: 0.0,
    barrier_us: 0.0,
    threshold_us: 100.0,
};

/// A workload of `repeat` executions of one loop, with `n` iterations of `ns` nanoseconds.
fn plain(n: u64, ns: f64, repeat: u64) -> Workload {
    Workload {
        name: "w".into(),
        repeat,
        loops: vec![LoopModel {
            name: "l".into(),
            iterations: n,
            ns,
            ..Default::default()
        }],
        chunk: 1,
        ..Default::default()
    }
}

/// Adds an array of `units` pages, which the loop accesses.
fn with_array(mut w: Workload, units: u64, pattern: Pattern, writes: bool) -> Workload {
    w.arrays = vec![Array {
        name: "a".into(),
        units,
        pages_per_unit: 1,
    }];
    w.loops[0].accesses = vec![Access {
        array: 0,
        pattern,
        writes,
    }];
    w
}

fn all(schedule: &str) -> Strategy {
    Strategy::All(Schedule::parse(schedule).unwrap())
}

fn go(p: &Platform, w: &Workload, s: &Strategy) -> Outcome {
    run(p, w, s, Objective::Time, 1)
}

/// By the paper's thresholds; the link's is 100 us.
fn by_threshold(p: &Platform, w: &Workload) -> Outcome {
    go(p, w, &Strategy::Published(Published::ALL[0]))
}

/// The data of iterations stay in the cache of the node that ran them last: they cost more once, and again when the
/// loop has moved.
#[test]
fn iterations_that_move_miss_the_cache() {
    let mut p = platform(&[(1, 1.0), (1, 1.0)], None);
    for node in &mut p.nodes {
        node.miss_ns = 50.0;
    }
    let mut w = plain(1000, 1000.0, 4);
    w.loops[0].instructions = 2000.0;
    w.loops[0].misses_per_kilo = 0.5;
    w.loops[0].cold_misses = 2.0;
    // One miss of each iteration in any case, and two more of those that the node did not run last.
    let cases = [
        (Strategy::Alone(1), 4.0e-3, 1),
        (Strategy::HomeThen(1, 1), 4.0e-3, 2),
        (Strategy::HomeThen(3, 1), 4.0e-3, 2),
        (Strategy::HomeThen(4, 1), 4.0e-3, 1),
        (Strategy::HomeThen(1, 0), 4.0e-3, 1),
        (all("static-csr:1,1"), 2.0e-3, 1),
    ];
    for (strategy, seconds, times) in cases {
        let o = go(&p, &w, &strategy);
        assert_eq!(o.loops[0].misses, 4 * 1000 + times * 2000, "{strategy:?}");
        let cold = times as f64 * 2.0 * 50e-9 * 1000.0 * seconds / 4.0e-3;
        near(o.seconds, seconds + cold, 1e-9);
    }
    w.loops[0].cold_misses = 0.0;
    near(go(&p, &w, &Strategy::HomeThen(1, 1)).seconds, 4.0e-3, 1e-9);
}

/// The paper's HetProbe divides by the probe and lends nothing: where the probe misleads, its nodes end apart.
#[test]
fn the_papers_hetprobe_divides_by_its_probe() {
    let p = platform(&[(1, 3.0), (1, 1.0)], None);
    let [plain_one, again] = Published::ALL.map(Strategy::Published);
    // The probe takes 50 iterations of each node, 50 ms on the slower one; the rest is divided 3 to 1.
    let w = plain(1000, 1e6, 1);
    near(go(&p, &w, &plain_one).seconds, 0.05 + 0.9 / 4.0, 0.01);
    // Later executions know the rates.
    let w = plain(1000, 1e6, 11);
    let later = 0.05 + 0.9 / 4.0 + 10.0 * 0.25;
    near(go(&p, &w, &plain_one).seconds, later, 0.01);
    // Each new probing lets the faster node wait.
    let o = go(&p, &w, &again);
    assert!(o.seconds > 1.1 * later, "{}", o.seconds);
    assert!(o.loops[0].renewals > 50, "{:?}", o.loops[0]);
    assert_eq!(o.loops[0].iterations.iter().sum::<u64>(), 11_000);
}

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a / b - 1.0).abs() <= tolerance, "{a} against {b}");
}

#[test]
fn one_node_alone() {
    let p = platform(&[(4, 2.0)], None);
    // 1000 iterations of 1 ms on 4 cores of speed 2.
    for s in [
        Strategy::Alone(0),
        all("static"),
        all("dynamic,1"),
        all("guided"),
        all("hetprobe"),
    ] {
        near(go(&p, &plain(1000, 1e6, 3), &s).seconds, 3.0 * 0.125, 0.005);
    }
}

#[test]
fn nothing_to_do() {
    let p = platform(&[(1, 1.0), (2, 1.0)], Some(LINK));
    for s in [
        "static",
        "dynamic",
        "cross-dynamic",
        "hetprobe",
        "hetprobe-i",
    ] {
        for s in [all(s), Strategy::Alone(1), Strategy::IdealCsr] {
            let o = go(&p, &plain(0, 100.0, 5), &s);
            assert_eq!((o.seconds, o.joules), (0.0, 0.0));
            assert_eq!(o.loops[0].executions, 5);
            assert_eq!(o.loops[0].iterations, [0, 0]);
            let o = go(&p, &plain(7, 100.0, 0), &s);
            assert_eq!((o.seconds, o.loops[0].executions), (0.0, 0));
        }
    }
}

/// A fast core next to one of a third of its speed: 4/3 of the fast one.
#[test]
fn three_to_one() {
    let p = platform(&[(1, 1.0), (1, 1.0 / 3.0)], None);
    let w = plain(120_000, 1000.0, 10);
    let alone = go(&p, &w, &Strategy::Alone(0)).seconds;
    near(alone, 1.2, 1e-9);
    near(
        alone / go(&p, &w, &Strategy::IdealCsr).seconds,
        4.0 / 3.0,
        1e-4,
    );
    near(
        alone / go(&p, &w, &all("static-csr:3,1")).seconds,
        4.0 / 3.0,
        1e-4,
    );
    near(
        alone / go(&p, &w, &all("cross-dynamic,10")).seconds,
        4.0 / 3.0,
        0.01,
    );
    for s in ["hetprobe", "hetprobe-i"] {
        let o = go(&p, &w, &all(s));
        near(alone / o.seconds, 4.0 / 3.0, 0.02);
        let share = o.loops[0].iterations[0] as f64 / 1_200_000.0;
        near(share, 0.75, 0.02);
    }
    // With an even division the fast node waits for the slow one.
    near(alone / go(&p, &w, &all("static")).seconds, 2.0 / 3.0, 1e-4);
}

/// The same nodes, each with its own memory: first with few faults, then with many.
#[test]
fn faults_decide() {
    let p = platform(&[(2, 1.0), (2, 1.0)], Some(LINK));
    // Every iteration has its own page, so the time from one fault of node 1 to the next is the time of an
    // iteration plus the 50 us of the fault.
    let w = |us: f64| {
        with_array(
            plain(2000, us * 1000.0, 1),
            2000,
            Pattern::Block { halo: 0 },
            true,
        )
    };
    let pays = by_threshold(&p, &w(60.0));
    let split = pays.loops[0].decision.clone().unwrap();
    assert_eq!(split.one_node(), None, "{split}");
    // The shares follow the measured times: 110 to 60.
    near(split.shares()[0], 110.0 / 170.0, 0.01);

    let does_not = by_threshold(&p, &w(40.0));
    let l = &does_not.loops[0];
    let decision = l.decision.clone().unwrap();
    assert!(
        decision.to_string().contains("; 90.0 us of work"),
        "{decision}"
    );
    assert_eq!(decision.one_node(), Some(0));
    // Node 1 has only its share of the probing, a tenth in all.
    assert_eq!(l.iterations[1], 100, "{l:?}");
    assert_eq!(l.faults[1], l.iterations[1]);
}

/// Data that all nodes read moves once. Data that one node writes every time moves back every time.
#[test]
fn pages_settle_or_do_not() {
    let p = platform(&[(1, 1.0), (1, 1.0)], Some(LINK));
    let reads = with_array(plain(100, 1e6, 10), 50, Pattern::All, false);
    let o = go(&p, &reads, &all("static"));
    assert_eq!(o.loops[0].faults, [0, 50]);
    near(o.loops[0].first_seconds, 0.05 + NEWS + 50.0 * 50e-6, 1e-6);
    near(o.loops[0].last_seconds, 0.05 + NEWS, 1e-6);
    // The halves of a static division stay in their places...
    let halves = with_array(plain(100, 1e6, 10), 50, Pattern::Block { halo: 0 }, true);
    assert_eq!(go(&p, &halves, &all("static")).loops[0].faults, [0, 25]);
    // ...until the origin writes the whole array between executions.
    let mut bounced = halves.clone();
    bounced.round = Serial {
        ms: 1.0,
        accesses: halves.loops[0].accesses.clone(),
    };
    let o = go(&p, &bounced, &all("static"));
    assert_eq!(o.loops[0].faults, [0, 250]);
    near(o.serial_seconds, 10.0 * 1e-3 + 9.0 * 25.0 * 50e-6, 1e-6);
    // Two loops divide a matrix, one by rows and one by columns. Each time they exchange the part that they
    // do not have in common, a quarter of the matrix in each direction.
    let mut turned = with_array(plain(8, 1e6, 10), 64, Pattern::Block { halo: 0 }, true);
    let mut columns = turned.loops[0].clone();
    columns.accesses[0].pattern = Pattern::Across { rows: 8 };
    turned.loops.push(columns);
    let o = go(&p, &turned, &all("static"));
    assert_eq!(o.loops[1].faults, [160, 160]);
    assert_eq!(o.loops[0].faults, [9 * 16, 32 + 9 * 16]);
}

/// A node serves one page after the other, so the serving node is the limit.
#[test]
fn pages_queue() {
    let link = LinkModel {
        occupancy_us: 20.0,
        ..LINK
    };
    let p = platform(&[(1, 1.0), (50, 1.0)], Some(link));
    let w = with_array(plain(51, 0.0, 1), 51, Pattern::Block { halo: 0 }, false);
    let o = go(&p, &w, &all("static"));
    // 50 threads ask for a page each at the same time.
    near(o.seconds, NEWS + 50.0 * 20e-6, 1e-6);
}

/// 4 cores that want 4 times the bandwidth of their memory.
#[test]
fn bandwidth_saturates() {
    let mut p = platform(&[(4, 1.0)], None);
    // A core has 10 misses of 64 B in 1000 instructions, which take 640 ns.
    p.nodes[0].bandwidth = 1.0;
    let mut w = plain(4000, 640.0, 1);
    w.loops[0].instructions = 1000.0;
    w.loops[0].misses_per_kilo = 10.0;
    near(go(&p, &w, &all("static")).seconds, 4000.0 * 640e-9, 1e-3);
    near(
        ideal_parts(&p, &w.loops[0], 1)[0].ns_per_iteration,
        2560.0,
        1e-9,
    );
    p.nodes[0].bandwidth = 4.0;
    near(go(&p, &w, &all("static")).seconds, 1000.0 * 640e-9, 1e-3);
}

/// A region with threads on both sides of a link pays for the link's barrier.
#[test]
fn regions_cost() {
    let mut p = platform(
        &[(1, 1.0), (1, 1.0)],
        Some(LinkModel {
            barrier_us: 300.0,
            ..LINK
        }),
    );
    p.fork_us = 10.0;
    let w = plain(2, 1e6, 100);
    near(
        go(&p, &w, &all("static")).seconds,
        100.0 * (1e-3 + 310e-6 + NEWS),
        5e-3,
    );
    near(
        go(&p, &w, &Strategy::Alone(1)).seconds,
        100.0 * (2e-3 + 10e-6),
        2e-3,
    );
}

/// The counters choose the node, by the paper's questions.
#[test]
fn misses_choose_the_node() {
    let p = platform(&[(1, 1.0), (8, 0.25)], Some(LINK));
    for (misses, node) in [(5.0, 1), (1.0, 0)] {
        let mut w = with_array(
            plain(900, 10_000.0, 4),
            900,
            Pattern::Block { halo: 0 },
            true,
        );
        // The origin writes the whole array again each time, so faults never end.
        w.round.accesses = w.loops[0].accesses.clone();
        w.loops[0].instructions = 10_000.0;
        w.loops[0].misses_per_kilo = misses;
        let o = by_threshold(&p, &w);
        let d = o.loops[0].decision.clone().unwrap();
        assert_eq!(d.one_node(), Some(node), "{d}");
        assert!(d.to_string().contains("cache misses"), "{d}");
    }
}

/// The fast core takes 30 W; the slow core, with a third of the speed, 2 W. See `energy.rs`.
#[test]
fn energy() {
    let mut p = platform(&[(1, 1.0), (1, 1.0 / 3.0)], None);
    for (node, (idle_watts, core_watts)) in p.nodes.iter_mut().zip([(0.0, 30.0), (0.0, 2.0)]) {
        node.power = Power {
            idle_watts,
            core_watts,
        };
    }
    let w = plain(100_000, 10_000.0, 10);
    let fast = go(&p, &w, &Strategy::Alone(0));
    near(fast.seconds, 10.0, 1e-9);
    near(fast.joules, 300.0, 1e-9);
    let both = go(&p, &w, &Strategy::IdealCsr);
    near(both.seconds, 7.5, 1e-4);
    near(both.joules, 240.0, 1e-4);
    near(go(&p, &w, &Strategy::Alone(1)).joules, 60.0, 1e-9);
    near(both.edp(), 1800.0, 2e-4);
    // If the user asks for little energy, HetProbe does not use the fast core after probing.
    let thrifty = run(&p, &w, &all("hetprobe"), Objective::Energy, 1);
    assert_eq!(
        thrifty.loops[0].decision.clone().unwrap().one_node(),
        Some(1)
    );
    near(thrifty.joules, 60.0, 0.2);
    // If idle power is drawn in any case, it pays to end early.
    p.nodes[0].power.idle_watts = 10.0;
    near(go(&p, &w, &Strategy::IdealCsr).joules, 315.0, 1e-4);
    near(go(&p, &w, &Strategy::Alone(1)).joules, 360.0, 1e-9);
    let hasty = run(&p, &w, &all("hetprobe"), Objective::Energy, 1);
    assert_eq!(hasty.loops[0].decision.clone().unwrap().one_node(), None);
}

/// The same arguments give the same result; another seed gives another one.
#[test]
fn deterministic() {
    let mut p = platform(&[(3, 1.0), (5, 0.4), (2, 0.7)], Some(LINK));
    p.jitter = 0.05;
    let mut w = with_array(
        plain(5000, 20_000.0, 6),
        300,
        Pattern::Scattered { per_iteration: 0.1 },
        true,
    );
    w.loops[0].spread = Spread::Exponential(0.8);
    w.loops[0].mix = Some(Mix {
        kernel: "other".into(),
        part: 0.3,
        period: 50,
        ns: 5000.0,
        ..Default::default()
    });
    for s in ["hetprobe", "hetprobe-i", "cross-dynamic,4", "guided"] {
        let of = |seed| run(&p, &w, &all(s), Objective::Time, seed);
        let (a, b) = (of(1), of(1));
        assert_eq!(format!("{a:?}"), format!("{b:?}"));
        assert_ne!(a.seconds, of(2).seconds);
        assert_eq!(a.loops[0].iterations.iter().sum::<u64>(), 6 * 5000);
    }
}

/// Many nodes together are nearly as fast as the sum of their speeds.
#[test]
fn sixty_four_nodes() {
    let nodes: Vec<(u32, f64)> = (0..64).map(|i| (4, [1.0, 0.5, 0.25, 2.0][i % 4])).collect();
    let p = platform(&nodes, Some(LINK));
    let w = plain(1_000_000, 100_000.0, 3);
    let total: f64 = nodes.iter().map(|&(c, s)| f64::from(c) * s).sum();
    let ideal = 3.0 * 1e6 * 1e-4 / total;
    near(go(&p, &w, &Strategy::IdealCsr).seconds, ideal, 0.01);
    near(go(&p, &w, &all("hetprobe")).seconds, ideal, 0.05);
}
