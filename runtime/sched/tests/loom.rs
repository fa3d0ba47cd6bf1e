//! Races inside the calls, under all interleavings that loom finds:
//! `RUSTFLAGS="--cfg loom" cargo test -p hetmp-sched --test loom --release`.
#![cfg(loom)]

use hetmp_sched::aid::{Aid, Shape};
use hetmp_sched::cache::Known;
use hetmp_sched::cross_dynamic::CrossDynamic;
use hetmp_sched::decide::{decide, NodeInput, Objective};
use hetmp_sched::energy::Power;
use hetmp_sched::hetprobe::{HetProbe, Next, Settings};
use hetmp_sched::placement::Placement;
use hetmp_sched::plain::{Dynamic, Guided};
use hetmp_sched::probe::{Measurement, NodeRate};
use hetmp_sched::ranges::Range;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::Arc;
use loom::thread;

/// Runs `body(tid)` on `threads` threads, of which the caller is one. Checks that the ranges that the threads
/// return cover `0..n` without overlaps.
fn tiles(n: u64, threads: usize, body: impl Fn(usize) -> Vec<Range> + Send + Sync + 'static) {
    let body = Arc::new(body);
    let others: Vec<_> = (1..threads)
        .map(|tid| {
            let body = Arc::clone(&body);
            thread::spawn(move || body(tid))
        })
        .collect();
    let mut all = body(0);
    for t in others {
        all.append(&mut t.join().unwrap());
    }
    all.sort_by_key(|r| r.start);
    let mut at = 0;
    for r in &all {
        assert_eq!(r.start, at, "{all:?}");
        assert!(r.end > r.start);
        at = r.end;
    }
    assert_eq!(at, n, "{all:?}");
}

fn bounded(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(f);
}

#[test]
fn dynamic() {
    loom::model(|| {
        let d = Dynamic::new();
        d.reset(5, 2);
        tiles(5, 2, move |_| core::iter::from_fn(|| d.next()).collect());
    });
}

#[test]
fn dynamic_near_overflow() {
    bounded(3, || {
        let d = Dynamic::new();
        d.reset(u64::MAX, u64::MAX / 2);
        tiles(u64::MAX, 2, move |_| {
            core::iter::from_fn(|| d.next()).collect()
        });
    });
}

#[test]
fn guided() {
    bounded(3, || {
        let g = Guided::new();
        g.reset(4, 1, 2);
        tiles(4, 2, move |_| core::iter::from_fn(|| g.next()).collect());
    });
}

/// Two threads of one node compete for the node's pool and for its second refill: four chunks, two in each
/// refill.
#[test]
fn cross_dynamic_refill() {
    bounded(3, || {
        let team = std::sync::Arc::new(Placement::placed(&[0, 0], 1));
        let c = CrossDynamic::new(16, 4, team);
        tiles(16, 2, move |tid| {
            core::iter::from_fn(|| c.next(tid)).collect()
        });
    });
}

/// Two nodes are measured, and shares are written while the other thread takes a chunk.
#[test]
fn asymmetric() {
    bounded(3, || {
        let team = std::sync::Arc::new(Placement::placed(&[0, 1], 2));
        let aid = Aid::new(7, Shape::Static, 1, team);
        tiles(7, 2, move |tid| {
            let mut got = Vec::new();
            let mut at = aid.first(tid);
            loop {
                let m = match at {
                    Next::Done => return got,
                    Next::Range(r) => {
                        got.push(r);
                        None
                    }
                    Next::Probe(r) => {
                        got.push(r);
                        Some(Measurement {
                            elapsed_ns: 100 * (1 + tid as u64),
                            iterations: r.len(),
                            ..Measurement::default()
                        })
                    }
                };
                at = aid.next(tid, m);
            }
        });
    });
}

/// Both nodes refill their pools, and take iterations from each other at the end.
#[test]
fn cross_dynamic_nodes() {
    bounded(3, || {
        let team = std::sync::Arc::new(Placement::placed(&[0, 1], 2));
        let c = CrossDynamic::new(8, 2, team);
        tiles(8, 2, move |tid| {
            core::iter::from_fn(|| c.next(tid)).collect()
        });
    });
}

/// Returns the ranges of one thread, and checks that they ascend.
fn ascending(got: Vec<Range>) -> Vec<Range> {
    assert!(got.windows(2).all(|w| w[0].end <= w[1].start), "{got:?}");
    got
}

/// A thread takes a chunk without the pool while another thread refills the pool: only the other thread may
/// then take the pool's chunks, because they lie below.
#[test]
fn cross_dynamic_ascending() {
    for nodes in [[0, 0], [0, 1]] {
        bounded(3, move || {
            let team = std::sync::Arc::new(Placement::placed(&nodes, 2));
            let c = CrossDynamic::new(16, 4, team);
            tiles(16, 2, move |tid| {
                let mut after = 0;
                ascending(
                    core::iter::from_fn(|| {
                        let range = c.next_after(tid, after);
                        after = range.map_or(after, |r| r.end);
                        range
                    })
                    .collect(),
                )
            });
        });
    }
}

/// Runs thread `tid` to the end. `left`: some thread was sent away. At that time all iterations must have
/// been handed out; otherwise a processor would idle while there is work.
fn run(h: &HetProbe, tid: usize, left: &AtomicBool) -> Vec<Range> {
    let mut got = Vec::new();
    let mut over = left.load(Ordering::Acquire);
    let mut at = h.first(tid);
    loop {
        assert!(
            !over || at == Next::Done,
            "{tid} got {at:?} after another left"
        );
        let m = match at {
            Next::Done => {
                left.store(true, Ordering::Release);
                return got;
            }
            Next::Range(r) => {
                got.push(r);
                None
            }
            Next::Probe(r) => {
                got.push(r);
                Some(Measurement {
                    elapsed_ns: 100 * (1 + tid as u64),
                    iterations: r.len(),
                    ..Measurement::default()
                })
            }
        };
        over = left.load(Ordering::Acquire);
        at = h.next(tid, m);
    }
}

fn settings() -> Settings {
    Settings {
        chunk_ns: 1e6,
        ..Settings::default()
    }
}

/// The decision: one thread moves the rest of the pool into ranges while the other takes from the pool.
#[test]
fn hetprobe_decision() {
    bounded(3, || {
        let team = std::sync::Arc::new(Placement::placed(&[0, 1], 2));
        let h = HetProbe::new(6, team, settings(), None);
        let left = AtomicBool::new(false);
        tiles(6, 2, move |tid| run(&h, tid, &left));
    });
}

/// Three threads: one may find the pool empty while the deciding thread has taken the rest out of it.
#[test]
fn hetprobe_decision_of_three() {
    bounded(2, || {
        let team = std::sync::Arc::new(Placement::placed(&[0, 1, 1], 2));
        let h = HetProbe::new(5, team, settings(), None);
        let left = AtomicBool::new(false);
        tiles(5, 3, move |tid| run(&h, tid, &left));
    });
}

/// The same decision in a loop whose iterations ascend: the pool stays, and only the size of chunks changes.
#[test]
fn hetprobe_ascending() {
    bounded(3, || {
        let team = std::sync::Arc::new(Placement::placed(&[0, 1], 2));
        let settings = Settings {
            ascending: true,
            ..settings()
        };
        let h = HetProbe::new(6, team, settings, None);
        let left = AtomicBool::new(false);
        tiles(6, 2, move |tid| ascending(run(&h, tid, &left)));
    });
}

/// The loop runs on one node. The other node's thread may leave only when a thread of the chosen node is in
/// the loop.
#[test]
fn hetprobe_one_node() {
    bounded(3, || {
        let team = std::sync::Arc::new(Placement::placed(&[0, 1], 2));
        let inputs = [20.0, 10.0].map(|ns| NodeInput {
            threads: 1,
            rate: Some(NodeRate::of(ns)),
            power: Some(Power {
                idle_watts: 0.0,
                core_watts: 1.0,
            }),
        });
        let known = Known {
            rates: inputs.iter().map(|i| i.rate).collect(),
            plan: Some(std::sync::Arc::new(decide(&inputs, Objective::Energy))),
            ..Known::default()
        };
        assert_eq!(known.plan.as_ref().unwrap().one_node(), Some(1));
        let settings = Settings {
            chunk_ns: 20.0,
            ..settings()
        };
        let h = HetProbe::new(5, team, settings, Some(std::sync::Arc::new(known)));
        // Here the thread of the other node may leave early.
        tiles(5, 2, move |tid| run(&h, tid, &AtomicBool::new(false)));
    });
}

/// Two threads take their own pieces and steal each other's. Each piece is taken once.
#[test]
fn blocks_of_virtual_teams() {
    use hetmp_sched::virtual_team::{Blocks, Steal};
    bounded(3, || {
        let blocks = Blocks::new(2);
        blocks.deal(4, &[3.0, 1.0]);
        tiles(4, 2, move |runner| {
            let one = |piece: u32| Range::new(u64::from(piece), u64::from(piece) + 1);
            let mut mine = Vec::new();
            while let Some(piece) = blocks.take(runner) {
                mine.push(one(piece));
            }
            while let Steal::Piece(piece) = blocks.steal(runner) {
                mine.push(one(piece));
            }
            mine
        });
    });
}
