//! The schedules under real threads: every iteration is executed exactly once.
#![cfg(not(loom))]

use hetmp_sched::aid::{Aid, Shape};
use hetmp_sched::cross_dynamic::CrossDynamic;
use hetmp_sched::hetprobe::{HetProbe, Next, Settings};
use hetmp_sched::irregular::{self, Irregular, Step, Trigger};
use hetmp_sched::placement::Placement;
use hetmp_sched::plain::{Dynamic, Guided};
use hetmp_sched::probe::Measurement;
use hetmp_sched::ranges::Range;
use hetmp_sched::watch::Sensitivity;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::thread;

const THREADS: usize = 4;
/// Miri runs this test, too, and is far slower.
const N: u64 = if cfg!(miri) { 300 } else { 20_000 };
const ROUNDS: usize = if cfg!(miri) { 2 } else { 50 };

/// Runs `body(tid, mark)` on every thread, and checks that each iteration was marked exactly once.
fn exactly_once(body: impl Fn(usize, &dyn Fn(Range)) + Sync) {
    let seen: Vec<AtomicU8> = (0..N).map(|_| AtomicU8::new(0)).collect();
    let mark = |r: Range| {
        for i in r.start..r.end {
            seen[i as usize].fetch_add(1, Ordering::Relaxed);
        }
    };
    thread::scope(|s| {
        for tid in 0..THREADS {
            let (body, mark) = (&body, &mark);
            s.spawn(move || body(tid, mark));
        }
    });
    for (i, s) in seen.iter().enumerate() {
        assert_eq!(s.load(Ordering::Relaxed), 1, "iteration {i}");
    }
}

/// Runs what a schedule gives thread `tid`; each thread is slower than the one before it.
fn take_all(
    tid: usize,
    mark: &dyn Fn(Range),
    mut at: Next,
    next: impl Fn(Option<Measurement>) -> Next,
) {
    loop {
        let m = match at {
            Next::Done => break,
            Next::Range(r) => {
                mark(r);
                None
            }
            Next::Probe(r) => {
                mark(r);
                Some(Measurement {
                    elapsed_ns: r.len() * (1 + tid as u64),
                    iterations: r.len(),
                    ..Measurement::default()
                })
            }
        };
        at = next(m);
    }
}

fn team() -> Arc<Placement> {
    Arc::new(Placement::placed(&[0, 0, 1, 1], 2))
}

#[test]
fn plain_schedules() {
    let (d, g) = (Dynamic::new(), Guided::new());
    for _ in 0..ROUNDS {
        d.reset(N, 3);
        exactly_once(|_, mark| {
            while let Some(r) = d.next() {
                mark(r);
            }
        });
        g.reset(N, 2, THREADS as u64);
        exactly_once(|_, mark| {
            while let Some(r) = g.next() {
                mark(r);
            }
        });
    }
}

#[test]
fn cross_dynamic() {
    let mut c = CrossDynamic::new(0, 1, team());
    for chunk in 0..ROUNDS as u64 {
        c.restart(N, chunk % 7);
        exactly_once(|tid, mark| {
            while let Some(r) = c.next(tid) {
                mark(r);
            }
        });
    }
}

#[test]
fn asymmetric() {
    for shape in [
        Shape::Static,
        Shape::Hybrid { part: 0.6 },
        Shape::Dynamic { major: 50 },
    ] {
        let mut aid = Aid::new(0, shape, 3, team());
        for _ in 0..ROUNDS {
            aid.restart(N);
            exactly_once(|tid, mark| {
                take_all(tid, mark, aid.first(tid), |m| aid.next(tid, m));
                aid.finish(tid, 1000);
            });
            assert_eq!(
                aid.record().nodes.iter().map(|x| x.iterations).sum::<u64>(),
                N
            );
        }
    }
}

#[test]
fn hetprobe() {
    let settings = Settings {
        chunk_ns: 0.0,
        ..Settings::default()
    };
    let mut h = HetProbe::new(0, team(), settings, None);
    for _ in 0..ROUNDS {
        h.restart(N, None);
        exactly_once(|tid, mark| {
            take_all(tid, mark, h.first(tid), |m| h.next(tid, m));
            h.finish(tid, 1000);
        });
        assert_eq!(
            h.record().nodes.iter().map(|x| x.iterations).sum::<u64>(),
            N
        );
    }
}

/// HetProbe-I under real threads, with its percentage and with its detector.
#[test]
fn irregular() {
    for trigger in [Trigger::Jump(0.1), Trigger::Change] {
        let settings = irregular::Settings {
            trigger,
            chunk_ns: 0.0,
            sensitivity: Sensitivity {
                chunks: 2,
                window_ns: 1,
                windows: 1,
                ..Sensitivity::default()
            },
            ..irregular::Settings::default()
        };
        let mut h = Irregular::new(0, team(), settings, None);
        for _ in 0..ROUNDS {
            h.restart(N, None);
            exactly_once(|tid, mark| {
                let mut step = h.first(tid);
                loop {
                    let m = match step {
                        Step::Done => break,
                        Step::Run { range, .. } => {
                            mark(range);
                            // From the middle of the loop on, thread 0's node is slow.
                            let slow = range.start > N / 2 && tid < 2;
                            Some(Measurement {
                                elapsed_ns: range.len() * if slow { 900 } else { 100 },
                                iterations: range.len(),
                                counters: None,
                            })
                        }
                    };
                    step = h.next(tid, m);
                }
                h.finish(tid, 1000);
            });
            let done: u64 = h.record().nodes.iter().map(|n| n.iterations).sum();
            assert_eq!(done, N);
        }
    }
}
