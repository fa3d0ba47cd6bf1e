//! Every iteration is executed exactly once, under random interleavings of the threads' calls, with threads
//! that come late or never.
//!
//! The driver is deterministic: one real thread plays all threads of the team, and a seed decides which of
//! them calls next. `loom.rs` tests races inside a call.
#![cfg(not(loom))]

#[path = "interleave/chance.rs"]
mod chance;
#[path = "interleave/table.rs"]
mod table;

use chance::{known, Chance};
use hetmp_sched::aid::{Aid, Shape};
use hetmp_sched::cache::Known;
use hetmp_sched::cross_dynamic::CrossDynamic;
use hetmp_sched::decide::{decide, NodeInput, Objective};
use hetmp_sched::energy::Power;
use hetmp_sched::hetprobe::{HetProbe, Next, Settings};
use hetmp_sched::placement::{NodeShape, Placement};
use hetmp_sched::plain::{Dynamic, Guided};
use hetmp_sched::probe::{Counters, Measurement, NodeRate};
use hetmp_sched::ranges::Range;
use proptest::prelude::*;
use std::cell::RefCell;
use std::sync::Arc;

/// A scheduler as one thread sees it.
trait Loop {
    fn first(&self, tid: usize) -> Next;
    fn next(&self, tid: usize, m: Option<Measurement>) -> Next;
}

fn plain(r: Option<Range>) -> Next {
    r.map_or(Next::Done, Next::Range)
}

impl Loop for Dynamic {
    fn first(&self, _: usize) -> Next {
        plain(self.next())
    }
    fn next(&self, _: usize, _: Option<Measurement>) -> Next {
        plain(self.next())
    }
}

impl Loop for Guided {
    fn first(&self, _: usize) -> Next {
        plain(self.next())
    }
    fn next(&self, _: usize, _: Option<Measurement>) -> Next {
        plain(self.next())
    }
}

impl Loop for CrossDynamic {
    fn first(&self, tid: usize) -> Next {
        self.arrive(tid);
        plain(self.next(tid))
    }
    fn next(&self, tid: usize, _: Option<Measurement>) -> Next {
        plain(self.next(tid))
    }
}

impl Loop for Aid {
    fn first(&self, tid: usize) -> Next {
        self.first(tid)
    }
    fn next(&self, tid: usize, m: Option<Measurement>) -> Next {
        self.next(tid, m)
    }
}

impl Loop for HetProbe {
    fn first(&self, tid: usize) -> Next {
        self.first(tid)
    }
    fn next(&self, tid: usize, m: Option<Measurement>) -> Next {
        self.next(tid, m)
    }
}

/// Cross-dynamic as used by a loop whose threads' iterations must ascend.
struct After(CrossDynamic, RefCell<Vec<u64>>);

impl After {
    fn answer(&self, tid: usize) -> Next {
        let range = self.0.next_after(tid, self.1.borrow()[tid]);
        if let Some(r) = range {
            self.1.borrow_mut()[tid] = r.end;
        }
        plain(range)
    }
}

impl Loop for After {
    fn first(&self, tid: usize) -> Next {
        self.0.arrive(tid);
        self.answer(tid)
    }
    fn next(&self, tid: usize, _: Option<Measurement>) -> Next {
        self.answer(tid)
    }
}

/// Wraps a schedule that promises every thread ascending iterations, and checks the promise.
struct Ascending<'a, L>(&'a L, RefCell<Vec<u64>>);

impl<'a, L> Ascending<'a, L> {
    fn new(state: &'a L, threads: usize) -> Self {
        Ascending(state, RefCell::new(vec![0; threads]))
    }

    fn check(&self, tid: usize, answer: Next) -> Next {
        if let Next::Range(r) | Next::Probe(r) = answer {
            let end = &mut self.1.borrow_mut()[tid];
            assert!(
                r.start >= *end,
                "thread {tid} goes back from {end} to {r:?}"
            );
            *end = r.end;
        }
        answer
    }
}

impl<L: Loop> Loop for Ascending<'_, L> {
    fn first(&self, tid: usize) -> Next {
        self.check(tid, self.0.first(tid))
    }
    fn next(&self, tid: usize, m: Option<Measurement>) -> Next {
        self.check(tid, self.0.next(tid, m))
    }
}

/// Plays a whole loop. Threads in `never` stay away; each other thread arrives after a random number of
/// steps. Returns all ranges, sorted.
fn play(state: &impl Loop, threads: usize, never: u64, chance: &mut Chance) -> Vec<Range> {
    #[derive(Clone, Copy, PartialEq)]
    enum At {
        Outside(u64),
        Inside(Next),
        Left,
    }
    let horizon = [1, 8, 60, 400][chance.below(4) as usize];
    let mut at: Vec<At> = (0..threads)
        .map(|t| match never >> (t % 64) & 1 {
            1 => At::Left,
            _ => At::Outside(chance.below(horizon)),
        })
        .collect();
    let mut got = Vec::new();
    let mut step = 0;
    while at.iter().any(|a| *a != At::Left) {
        step += 1;
        assert!(step < 3_000_000, "the loop does not end");
        let t = chance.below(threads as u64) as usize;
        let answer = match at[t] {
            At::Left => continue,
            At::Outside(when) if when > step => continue,
            At::Outside(_) => state.first(t),
            At::Inside(Next::Probe(r)) => {
                let counters = (chance.below(2) == 0).then(|| Counters {
                    instructions: 1 + chance.below(1000),
                    cache_misses: chance.below(20),
                });
                let m = Measurement {
                    elapsed_ns: chance.below(100_000),
                    iterations: r.len(),
                    counters,
                };
                // Now and then a thread's clock fails.
                state.next(t, (chance.below(50) > 0).then_some(m))
            }
            At::Inside(_) => state.next(t, None),
        };
        at[t] = match answer {
            Next::Done => At::Left,
            Next::Range(r) | Next::Probe(r) => {
                assert!(!r.is_empty());
                got.push(r);
                At::Inside(answer)
            }
        };
    }
    got.sort_by_key(|r| r.start);
    got
}

fn check_tiles(got: &[Range], n: u64) {
    let mut at = 0;
    for r in got {
        assert_eq!(r.start, at, "lost or repeated near {at} of {n}: {got:?}");
        at = r.end;
    }
    assert_eq!(at, n, "lost at the end of {n}");
}

fn iterations() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0u64),
        1u64..12,
        1u64..2000,
        Just(1u64 << 33),
        (u64::MAX - 20)..=u64::MAX
    ]
}

fn team() -> impl Strategy<Value = Arc<Placement>> {
    prop_oneof![
        prop::collection::vec(0u32..4, 1..9).prop_map(|c| {
            let shapes: Vec<NodeShape> =
                c.into_iter().map(|threads| NodeShape { threads }).collect();
            Placement::contiguous(&shapes)
        }),
        prop::collection::vec(0u32..3, 1..9).prop_map(|on| Placement::placed(&on, 3)),
    ]
    .prop_filter("a team has threads", |t| t.threads() > 0)
    .prop_map(Arc::new)
}

/// Takes one thread out of `never`, so that at least one thread comes.
fn keep_one(never: u64, threads: usize, chance: &mut Chance) -> u64 {
    never & !(1 << chance.below(threads.min(64) as u64))
}

fn settings(chance: &mut Chance) -> Settings {
    Settings {
        probe: [0.001, 0.1, 0.5, 1.0][chance.below(4) as usize],
        objective: Objective::ALL[chance.below(3) as usize],
        chunk_ns: [0.0, 5000.0, 1e9][chance.below(3) as usize],
        ascending: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hetprobe(n in iterations(), team in team(), never: u64, seed: u64) {
        let mut chance = Chance(seed);
        let never = if chance.below(2) == 0 { 0 } else { keep_one(never, team.threads(), &mut chance) };
        let settings = settings(&mut chance);
        let mut state = HetProbe::new(n, Arc::clone(&team), settings, known(&team, settings.objective, &mut chance));
        check_tiles(&play(&state, team.threads(), never, &mut chance), n);
        let record = state.record();
        prop_assert_eq!(record.nodes.iter().map(|x| u128::from(x.iterations)).sum::<u128>(), u128::from(n));
        prop_assert!(!record.reason().is_empty());

        // The same state is used again, with another number of iterations.
        let again = n / 3;
        state.restart(again, known(&team, settings.objective, &mut chance));
        check_tiles(&play(&state, team.threads(), never, &mut chance), again);
    }

    #[test]
    fn cross_dynamic(n in iterations(), chunk in 0u64..40, team in team(), never: u64, seed: u64) {
        let mut chance = Chance(seed);
        let never = if chance.below(2) == 0 { 0 } else { keep_one(never, team.threads(), &mut chance) };
        let chunk = if n > 5000 { n / 700 + chunk } else { chunk };
        let mut state = CrossDynamic::new(n, chunk, Arc::clone(&team));
        check_tiles(&play(&state, team.threads(), never, &mut chance), n);
        prop_assert_eq!(state.record().nodes.iter().map(|x| u128::from(x.iterations)).sum::<u128>(), u128::from(n));
        state.restart(n / 3, chunk);
        check_tiles(&play(&state, team.threads(), never, &mut chance), n / 3);
    }

    /// Every iteration is executed once, and each thread's iterations ascend.
    #[test]
    fn hetprobe_ascending(n in iterations(), team in team(), never: u64, seed: u64) {
        let mut chance = Chance(seed);
        let threads = team.threads();
        let never = if chance.below(2) == 0 { 0 } else { keep_one(never, threads, &mut chance) };
        let settings = Settings { ascending: true, ..settings(&mut chance) };
        let mut state = HetProbe::new(n, Arc::clone(&team), settings, known(&team, settings.objective, &mut chance));
        check_tiles(&play(&Ascending::new(&state, threads), threads, never, &mut chance), n);
        let record = state.record();
        prop_assert_eq!(record.nodes.iter().map(|x| u128::from(x.iterations)).sum::<u128>(), u128::from(n));
        state.restart(n / 3, known(&team, settings.objective, &mut chance));
        check_tiles(&play(&Ascending::new(&state, threads), threads, never, &mut chance), n / 3);
    }

    #[test]
    fn cross_dynamic_ascending(n in iterations(), chunk in 0u64..40, team in team(), never: u64, seed: u64) {
        let mut chance = Chance(seed);
        let threads = team.threads();
        let never = if chance.below(2) == 0 { 0 } else { keep_one(never, threads, &mut chance) };
        let chunk = if n > 5000 { n / 700 + chunk } else { chunk };
        let state = After(CrossDynamic::new(n, chunk, team), RefCell::new(vec![0; threads]));
        check_tiles(&play(&Ascending::new(&state, threads), threads, never, &mut chance), n);
    }

    #[test]
    fn asymmetric(n in iterations(), chunk in 0u64..40, which in 0u64..3, team in team(), never: u64, seed: u64) {
        let mut chance = Chance(seed);
        let never = if chance.below(2) == 0 { 0 } else { keep_one(never, team.threads(), &mut chance) };
        let chunk = if n > 5000 { n / 700 + chunk } else { chunk };
        let shape = match which {
            0 => Shape::Static,
            1 => Shape::Hybrid { part: [0.01, 0.8, 1.0][chance.below(3) as usize] },
            _ => Shape::Dynamic { major: [1, 5 * chunk.max(1), u64::MAX][chance.below(3) as usize] },
        };
        let shape = match shape {
            // A loop of 2^64 iterations with phases of one iteration would never end.
            Shape::Dynamic { major } => Shape::Dynamic { major: major.max(n / 700) },
            other => other,
        };
        let mut state = Aid::new(n, shape, chunk, Arc::clone(&team));
        let threads = team.threads();
        check_tiles(&play(&Ascending::new(&state, threads), threads, never, &mut chance), n);
        let record = state.record();
        prop_assert_eq!(record.nodes.iter().map(|x| u128::from(x.iterations)).sum::<u128>(), u128::from(n));
        prop_assert_eq!(record.schedule, shape.kind());
        state.restart(n / 3);
        check_tiles(&play(&Ascending::new(&state, threads), threads, never, &mut chance), n / 3);
    }

    #[test]
    fn dynamic_and_guided(n in iterations(), chunk in 0u64..40, threads in 1usize..9, never: u64, seed: u64) {
        let mut chance = Chance(seed);
        let never = keep_one(never, threads, &mut chance);
        let chunk = if n > 5000 { n / 700 + chunk } else { chunk };
        let d = Dynamic::new();
        d.reset(n, chunk);
        check_tiles(&play(&d, threads, never, &mut chance), n);
        let g = Guided::new();
        g.reset(n, chunk, threads as u64);
        check_tiles(&play(&g, threads, never, &mut chance), n);
    }
}

/// No thread waits for another one, even if node 1 never comes.
#[test]
fn a_node_that_never_comes() {
    let team = Arc::new(Placement::placed(&[0, 1], 2));
    let h = HetProbe::new(1000, team, Settings::default(), None);
    let mut done = 0;
    let mut at = h.first(0);
    let mut calls = 0;
    loop {
        let (r, m) = match at {
            Next::Done => break,
            Next::Probe(r) => {
                let m = Measurement {
                    elapsed_ns: 500,
                    iterations: r.len(),
                    ..Measurement::default()
                };
                (r, Some(m))
            }
            Next::Range(r) => (r, None),
        };
        assert_eq!(r.start, done, "in order, from one pool");
        done = r.end;
        calls += 1;
        at = h.next(0, m);
    }
    assert_eq!(done, 1000);
    assert!(calls < 200, "chunks, not single iterations: {calls}");
    assert_eq!(h.first(1), Next::Done, "and when it comes after all");
    assert!(h.record().decision.is_none());
}

/// A settled plan gives the loop to node 1, whose thread is late.
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
    assert_eq!(plan.one_node(), Some(1));
    let known = Known {
        rates: inputs.iter().map(|i| i.rate).collect(),
        plan: Some(Arc::new(plan)),
        ..Known::default()
    };
    let h = HetProbe::new(1_000_000, team, Settings::default(), Some(Arc::new(known)));
    assert!(
        matches!(h.first(0), Next::Range(_)),
        "somebody has to start"
    );
    assert!(matches!(h.next(0, None), Next::Range(_)));
    assert!(matches!(h.first(1), Next::Range(_)));
    assert_eq!(h.next(0, None), Next::Done, "node 1 has it now");
    let mut left = 0;
    while let Next::Range(r) = h.next(1, None) {
        left = r.end;
    }
    assert_eq!(left, 1_000_000);
}

/// The last measurement that exists decides the division: not the first one that completes the nodes'
/// measurements, and not a thread that has not come.
#[test]
fn the_last_measurement_decides() {
    let team = Arc::new(Placement::placed(&[0, 0, 1, 1], 2));
    let h = HetProbe::new(4000, team, Settings::default(), None);
    let probe = |tid| match h.first(tid) {
        Next::Probe(r) => r,
        other => panic!("{other:?}"),
    };
    let measured = |r: Range, ns: u64| {
        Some(Measurement {
            elapsed_ns: ns * r.len(),
            iterations: r.len(),
            ..Measurement::default()
        })
    };
    let (a, b, c) = (probe(0), probe(1), probe(2));
    assert!([a, b, c].iter().all(|r| r.len() == 100));
    let Next::Range(early) = h.next(0, measured(a, 10)) else {
        panic!("waited or left")
    };
    assert_eq!(early.start, 300, "an ordinary chunk of the same pool");
    assert!(matches!(h.next(2, measured(c, 30)), Next::Range(_)));
    assert!(h.record().decision.is_none(), "thread 1 still probes");
    assert!(matches!(h.next(1, measured(b, 10)), Next::Range(_)));
    let decision = h.record().decision.expect("without thread 3");
    assert_eq!(&*decision.csr, [Some(3.0), Some(1.0)]);
    // Thread 3 joins its node's range: the last quarter of the iterations that were left.
    let Next::Range(joined) = h.first(3) else {
        panic!("probed or left")
    };
    assert!(joined.start > 3000, "{joined:?}");
}

/// The threads of a node without iterations share one contiguous part of the iterations that the other node
/// has left. Iterations do not move between nodes one chunk after the other.
#[test]
fn a_bulk_for_the_node() {
    let team = Arc::new(Placement::placed(&[0, 1, 1], 2));
    let inputs = [1, 2].map(|threads| NodeInput {
        threads,
        rate: Some(NodeRate::of(100.0 * f64::from(threads))),
        ..NodeInput::default()
    });
    let known = Known {
        rates: inputs.iter().map(|i| i.rate).collect(),
        plan: Some(Arc::new(decide(&inputs, Objective::Time))),
        ..Known::default()
    };
    let n = 1_000_000;
    let h = HetProbe::new(n, team, Settings::default(), Some(Arc::new(known)));
    // Thread 0 takes a chunk of the first half and does not come back.
    let Next::Range(stuck) = h.first(0) else {
        panic!("probed")
    };
    let mut mine = Vec::new();
    for tid in [1, 2] {
        assert!(matches!(h.first(tid), Next::Range(r) if r.start >= n / 2));
    }
    let mut turn = 0;
    while let Next::Range(r) = h.next(1 + turn % 2, None) {
        turn += 1;
        if r.start < n / 2 {
            mine.push(r);
        }
    }
    let all: u64 = mine.iter().map(|r| r.len()).sum();
    assert_eq!(all, n / 2 - stuck.len());
    // The ranges in the order in which both threads got them: there are few jumps, because each contiguous
    // part is half as long as the one before.
    let jumps = mine.windows(2).filter(|w| w[0].end != w[1].start).count();
    assert!(jumps < 20, "{jumps} of {}", mine.len());
    let first = mine.iter().take(30).map(|r| r.len()).sum::<u64>();
    assert!(mine.len() > 60 && first < n / 4, "in chunks");
}

/// Nodes whose speeds are known share an ascending loop in proportion to their speeds, and end together.
#[test]
fn ascending_chunks_follow_the_speeds() {
    let team = Arc::new(Placement::placed(&[0, 1], 2));
    let ns = [10u64, 30];
    let settings = Settings {
        ascending: true,
        ..Settings::default()
    };
    let n = 1_000_000;
    let h = HetProbe::new(n, team, settings, None);
    let mut clock = [0u64; 2];
    let mut at = [h.first(0), h.first(1)];
    let mut calls = 0;
    loop {
        // The thread that ends its chunk first asks first.
        let open = |t: &usize| at[*t] != Next::Done;
        let Some(t) = (0..2)
            .filter(open)
            .min_by_key(|&t| clock[t] + run_ns(at[t], ns[t]))
        else {
            break;
        };
        clock[t] += run_ns(at[t], ns[t]);
        let measured = match at[t] {
            Next::Probe(r) => Some(Measurement {
                elapsed_ns: run_ns(at[t], ns[t]),
                iterations: r.len(),
                ..Measurement::default()
            }),
            _ => None,
        };
        calls += 1;
        at[t] = h.next(t, measured);
    }
    let ideal = n * ns[0] * ns[1] / (ns[0] + ns[1]);
    let last = clock[0].max(clock[1]);
    assert!(last < ideal + ideal / 50, "{last} ns, at best {ideal}");
    assert!(calls < 400, "few takes: {calls}");
}

fn run_ns(next: Next, each: u64) -> u64 {
    match next {
        Next::Done => 0,
        Next::Range(r) | Next::Probe(r) => r.len() * each,
    }
}
