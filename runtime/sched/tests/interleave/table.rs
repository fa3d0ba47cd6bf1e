//! Every schedule of the table, by the one call that its drivers use.

use super::{check_tiles, known, settings, team, Chance};
use hetmp_sched::execution::{Execution, Measure, Start, Step};
use hetmp_sched::probe::Measurement;
use hetmp_sched::ranges::Range;
use hetmp_sched::schedule::{Order, Schedule, TABLE};
use proptest::prelude::*;
use std::sync::Arc;

/// Plays a whole loop, in which all threads take part, as [`super::play`] does. `in_order`: each thread's iterations
/// must increase.
fn drive(state: &dyn Execution, threads: usize, in_order: bool, chance: &mut Chance) -> Vec<Range> {
    // By thread: calls so far, the end and the length of its last range, and whether that is measured.
    let mut at = vec![(0, 0, 0, Measure::Nothing); threads];
    let mut inside: Vec<usize> = (0..threads).collect();
    let mut got = Vec::new();
    while !inside.is_empty() {
        let k = chance.below(inside.len() as u64) as usize;
        let tid = inside[k];
        let (trip, end, length, measure) = at[tid];
        let measured = (measure != Measure::Nothing).then(|| Measurement {
            elapsed_ns: chance.below(100_000),
            iterations: length,
            counters: None,
        });
        let step = state.step(tid, trip, measured);
        at[tid] = (trip + 1, end, 0, Measure::Nothing);
        match step {
            Step::Run(range, measure) => {
                assert!(!range.is_empty());
                assert!(
                    !in_order || range.start >= end,
                    "thread {tid} goes back from {end} to {range:?}"
                );
                at[tid] = (trip + 1, range.end, range.len(), measure);
                got.push(range);
            }
            Step::End => {
                state.finish(tid, 1000);
                inside.swap_remove(k);
            }
        }
    }
    got.sort_by_key(|r| r.start);
    got
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Each schedule of the table, as the runtime drives it: every iteration once, and each thread's iterations
    /// increase where that is asked for, or the table says so.
    #[test]
    fn every_schedule(n in 1u64..5000, team in team(), ascending: bool, seed: u64) {
        for example in TABLE.iter().flat_map(|row| row.examples) {
            let mut chance = Chance(seed);
            let schedule = Schedule::parse(example).expect("an example");
            let in_order = ascending || schedule.kind.name().row().order == Order::Increasing;
            let objective = settings(&mut chance).objective;
            let mut state = schedule.kind.begin(Start {
                n,
                chunk: schedule.chunk.unwrap_or(0),
                team: Arc::clone(&team),
                ascending,
                objective,
                known: known(&team, objective, &mut chance),
            });
            for n in [n, n / 3] {
                let got = drive(&*state, team.threads(), in_order, &mut chance);
                check_tiles(&got, n);
                let record = state.record();
                let counted: u64 = record.nodes.iter().map(|node| node.iterations).sum();
                prop_assert_eq!(counted, n, "{}", example);
                // In order, some run as others.
                if !ascending {
                    prop_assert_eq!(record.schedule.name(), schedule.executes_as().kind.name());
                }
                state.restart(n / 3, known(&team, objective, &mut chance));
            }
        }
    }
}
