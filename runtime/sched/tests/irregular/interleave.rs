//! Every iteration is executed exactly once under any interleaving.
//!
//! The driver plays all threads of a team on one real thread. A seed decides which of them calls next.

use crate::chance::{known, Chance};
use hetmp_sched::decide::Objective;
use hetmp_sched::irregular::{Irregular, Settings, Step, Trigger};
use hetmp_sched::placement::{NodeShape, Placement};
use hetmp_sched::probe::{Counters, Measurement};
use hetmp_sched::ranges::Range;
use hetmp_sched::watch::Sensitivity;
use proptest::prelude::*;
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq)]
enum At {
    Outside(u64),
    Running(Range),
    Left,
}

/// Plays a whole loop. Threads in `never` stay away, the others arrive after a random number of steps.
/// Threads in `vanish` do not come back from one of their chunks, as after a cancellation.
fn play(
    state: &Irregular,
    threads: usize,
    never: u64,
    vanish: u64,
    chance: &mut Chance,
) -> Vec<Range> {
    let horizon = [1, 8, 60, 400][chance.below(4) as usize];
    let mut at: Vec<At> = (0..threads)
        .map(|t| match never >> (t % 64) & 1 {
            1 => At::Left,
            _ => At::Outside(chance.below(horizon)),
        })
        .collect();
    let mut out = Vec::new();
    let mut step = 0;
    while at.iter().any(|a| *a != At::Left) {
        step += 1;
        assert!(step < 3_000_000, "the loop does not end");
        let t = chance.below(threads as u64) as usize;
        let answer = match at[t] {
            At::Left => continue,
            At::Outside(when) if when > step => continue,
            At::Outside(_) => state.first(t),
            At::Running(_) if vanish >> (t % 64) & 1 == 1 && chance.below(20) == 0 => {
                at[t] = At::Left;
                continue;
            }
            At::Running(r) => {
                let m = Measurement {
                    elapsed_ns: chance.below(100_000),
                    iterations: r.len(),
                    counters: (chance.below(2) == 0).then(|| Counters {
                        instructions: 1 + chance.below(1000),
                        cache_misses: chance.below(20),
                    }),
                };
                state.next(t, (chance.below(50) > 0).then_some(m))
            }
        };
        at[t] = match answer {
            Step::Done => At::Left,
            Step::Run { range, .. } => {
                assert!(!range.is_empty());
                out.push(range);
                At::Running(range)
            }
        };
    }
    out.sort_by_key(|r| r.start);
    out
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
        2000u64..100_000,
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

fn settings(chance: &mut Chance) -> Settings {
    Settings {
        probe: [0.001, 0.1, 0.5, 1.0][chance.below(4) as usize],
        objective: Objective::ALL[chance.below(3) as usize],
        chunk_ns: [0.0, 0.0, 10_000.0][chance.below(3) as usize],
        trigger: match chance.below(4) {
            0 => Trigger::Change,
            1 => Trigger::Jump(0.1),
            _ => Trigger::Jump([0.02, 0.5, 1.0][chance.below(3) as usize]),
        },
        sensitivity: Sensitivity {
            chunks: 1 + chance.below(4) as u32,
            window_ns: 1000,
            windows: 1,
            ..Sensitivity::default()
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exactly_once(n in iterations(), team in team(), never: u64, seed: u64) {
        let mut chance = Chance(seed);
        let threads = team.threads();
        let never = match chance.below(2) {
            0 => 0,
            _ => never & !(1 << chance.below(threads.min(64) as u64)),
        };
        let settings = settings(&mut chance);
        let mut state = Irregular::new(n, Arc::clone(&team), settings, known(&team, settings.objective, &mut chance));
        for n in [n, n / 3, n / 7] {
            state.restart(n, known(&team, settings.objective, &mut chance));
            check_tiles(&play(&state, threads, never, 0, &mut chance), n);
            let record = state.record();
            prop_assert_eq!(record.nodes.iter().map(|x| u128::from(x.iterations)).sum::<u128>(), u128::from(n));
            prop_assert!(!record.reason().is_empty());
        }
    }

    /// A cancelled loop. No iteration is executed twice, and the state can be used for the next loop.
    #[test]
    fn threads_that_vanish(n in iterations(), team in team(), vanish: u64, seed: u64) {
        let mut chance = Chance(seed);
        let threads = team.threads();
        let settings = settings(&mut chance);
        let mut state = Irregular::new(n, Arc::clone(&team), settings, known(&team, settings.objective, &mut chance));
        let played = play(&state, threads, 0, vanish, &mut chance);
        prop_assert!(played.windows(2).all(|w| w[0].end <= w[1].start));
        state.restart(n / 2, known(&team, settings.objective, &mut chance));
        check_tiles(&play(&state, threads, 0, 0, &mut chance), n / 2);
    }
}
