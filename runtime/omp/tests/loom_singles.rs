//! Races for `single` constructs, under all interleavings that loom finds with few preemptions:
//! `RUSTFLAGS="--cfg loom" cargo test -p hetmp-omp --test loom_singles --release`.
#![cfg(loom)]

#[path = "../src/worksharing/singles.rs"]
mod singles;

use loom::sync::Arc;
use loom::thread;
use singles::{Met, Singles};

/// Meets `count` constructs. Returns a bit for each one that the thread executes.
fn walk(team: &Singles, count: u32) -> u32 {
    let mut met = Met::NONE;
    let mut executed = 0;
    for k in 0..count {
        let (next, mine) = team.step(met);
        met = next;
        executed |= u32::from(mine) << k;
    }
    executed
}

fn model(threads: u32, count: u32, from: u64) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let team = Arc::new(Singles::new());
        // A region before this one left its count behind.
        assert_eq!(walk(&team, 2), 3);
        team.restart(from);
        let others: Vec<_> = (1..threads)
            .map(|_| {
                let team = team.clone();
                thread::spawn(move || walk(&team, count))
            })
            .collect();
        let mut executed = walk(&team, count);
        for t in others {
            let theirs = t.join().expect("thread");
            assert_eq!(executed & theirs, 0, "two threads executed one construct");
            executed |= theirs;
        }
        let all = if from == 0 { (1 << count) - 1 } else { 0 };
        assert_eq!(executed, all, "constructs that were executed");
    });
}

#[test]
fn each_of_three_threads_may_be_behind() {
    model(3, 3, 0);
}

#[test]
fn two_threads_overtake_each_other() {
    model(2, 5, 0);
}

#[test]
fn no_turn_where_there_is_none() {
    model(2, 2, Singles::NEVER);
}
