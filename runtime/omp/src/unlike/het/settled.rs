//! Settled loops that are short, in fixed pieces.
//!
//! The full way of an execution ([`super::execution`]) costs two locks, some memory and two looks at
//! the clock for each thread: close to a microsecond, which a loop of 45 us feels. Where the plan of a
//! loop is settled and short loops run in fixed pieces (`hetmp_sched::fixed`), most executions
//! need none of that. The thread that comes to the loop first keeps the pieces from the last
//! execution that it took the full way with, and copies them into the construct's node.
//!
//! One execution in [`EVERY`] (counted by each thread for itself) takes the full way and is measured.
//! So drift is seen, later than in loops that are always measured.
//!
//! **Loops of many lengths.** One place of a program often runs with another trip count each time: a loop
//! over the elements of one material, and then of the next. What is known of a loop holds for all trip counts
//! of an order of magnitude, so that is what is kept, and pieces for another trip count are cut from
//! the plan when they are needed.
//!
//! # When pieces are stale
//! A plan is kept with the loop's key, the magnitude of its trip count, its team (by address) and the team's size; and
//! with the number of the plan, which changes when what is known of the loop changes. Whatever is read
//! stale costs time only: each copy of the pieces tiles the loop, and all threads of an execution
//! use the copy in the construct's node.

use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_sched::cache::magnitude;
use hetmp_sched::decide::Decision;
use hetmp_sched::fixed;
use hetmp_sched::placement::Placement;
use hetmp_sched::ranges::Range;
use std::sync::Arc;

/// Of this number of executions one is measured.
const EVERY: u32 = 32;
/// Places where a thread looks for a loop, and how many loops find room at each.
const SETS: usize = 64;
const WAYS: usize = 4;
/// Numbers of plans; loops share one if their keys collide, and are then measured too often.
const NUMBERS: usize = 1024;

/// Numbers of plans, by key. Relaxed: a number that is read late leaves an old plan in use for one
/// more execution.
static PLANS: [AtomicU32; NUMBERS] = [const { AtomicU32::new(0) }; NUMBERS];

/// A well mixed function of the key, an address in the program's text, and the magnitude of the trip count.
fn mixed(key: usize, magnitude: u8) -> usize {
    let both = key.wrapping_mul(67).wrapping_add(magnitude.into()) as u64;
    (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}

fn number(key: usize, magnitude: u8) -> &'static AtomicU32 {
    &PLANS[mixed(key, magnitude) % NUMBERS]
}

/// Number of the plan of loop `key` with trip counts of that magnitude. To be asked before the plan is looked at.
pub(super) fn plan_number(key: usize, magnitude: u8) -> u32 {
    number(key, magnitude).load(Ordering::Relaxed)
}

/// That plan has changed.
pub(super) fn forget(key: usize, magnitude: u8) {
    number(key, magnitude).fetch_add(1, Ordering::Relaxed);
}

/// What tells a settled loop from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Which {
    key: usize,
    magnitude: u8,
    /// Address of its team.
    team: usize,
    threads: u32,
}

impl Which {
    fn set(self) -> usize {
        mixed(self.key, self.magnitude) % SETS * WAYS
    }
}

/// How the executions of a settled loop are handed out that are not measured.
#[derive(Debug)]
pub(super) enum Way {
    /// In one piece for each thread of `team`.
    Pieces {
        decision: Arc<Decision>,
        team: Arc<Placement>,
    },
    /// From one cursor, whoever comes: the loop is [brief](hetmp_sched::cache::Known::brief).
    Cursor,
}

/// One execution of such a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// Each thread's piece.
    Pieces(&'a [Range]),
    /// From one cursor.
    Cursor,
}

/// One loop on one team.
#[derive(Debug, Default)]
struct Kept {
    which: Which,
    number: u32,
    /// Executions left before the next one that is measured.
    left: u32,
    way: Option<Way>,
    /// The trip count that `pieces` are for.
    n: u64,
    pieces: Vec<Range>,
}

/// What one thread keeps. Empty until it meets a settled short loop.
#[derive(Debug, Default)]
pub(crate) struct Settled(Vec<Kept>);

impl Settled {
    /// Nothing kept.
    pub(crate) const fn new() -> Settled {
        Settled(Vec::new())
    }

    fn find(&mut self, which: Which) -> Option<&mut Kept> {
        let set = which.set();
        let ways = self.0.get_mut(set..set + WAYS)?;
        ways.iter_mut().find(|kept| kept.which == which)
    }

    /// How this execution of loop `key` with `n` iterations runs on the team at `team` of `threads` threads, if
    /// it is one that is not measured.
    #[inline]
    pub(super) fn next(
        &mut self,
        (key, n): (usize, u64),
        (team, threads): (usize, u32),
    ) -> Option<Next<'_>> {
        let which = Which {
            key,
            magnitude: magnitude(n),
            team,
            threads,
        };
        let kept = self.find(which)?;
        if kept.left == 0 || kept.number != plan_number(key, which.magnitude) {
            return None;
        }
        kept.left -= 1;
        if kept.n != n {
            kept.cut(n);
        }
        match kept.way {
            Some(Way::Pieces { .. }) => Some(Next::Pieces(&kept.pieces)),
            Some(Way::Cursor) => Some(Next::Cursor),
            None => None,
        }
    }

    /// Keeps `way` for the next executions of loop `key` with a trip count like `n`. `number` is that of the plan.
    #[cold]
    pub(super) fn keep(
        &mut self,
        (key, n): (usize, u64),
        (team, threads): (usize, u32),
        number: u32,
        way: Way,
    ) {
        if self.0.is_empty() {
            self.0.resize_with(SETS * WAYS, Kept::default);
        }
        let which = Which {
            key,
            magnitude: magnitude(n),
            team,
            threads,
        };
        let set = which.set();
        let ways = &mut self.0[set..set + WAYS];
        // Its own place, or the one that was used longest since it was measured.
        let own = ways.iter().position(|kept| kept.which == which);
        let least = || (0..WAYS).min_by_key(|&i| ways[i].left);
        let Some(at) = own.or_else(least) else {
            return;
        };
        let kept = &mut ways[at];
        kept.which = which;
        kept.number = number;
        kept.left = EVERY - 1;
        kept.way = Some(way);
        kept.cut(n);
    }
}

impl Kept {
    fn cut(&mut self, n: u64) {
        if let Some(Way::Pieces { decision, team }) = &self.way {
            fixed::pieces(n, decision, team, &mut self.pieces);
        }
        self.n = n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_sched::decide::{decide, NodeInput, Rules};

    fn plan() -> Way {
        let team = Arc::new(Placement::placed(&[0, 1], 2));
        let nodes: Vec<NodeInput> = (0..2)
            .map(|_| NodeInput {
                threads: 1,
                ..NodeInput::default()
            })
            .collect();
        Way::Pieces {
            decision: Arc::new(decide(&nodes, &Rules::default())),
            team,
        }
    }

    /// As many loops of a program as a lap of a code with materials has, each with other trip counts.
    #[test]
    fn loops_of_many_lengths_are_found_again() {
        let mut kept = Settled::new();
        let keys: Vec<usize> = (0..10).map(|i| 0x40_1000 + i * 0x1d0).collect();
        let lengths = [3, 17, 19, 40, 63, 100];
        for &key in &keys {
            for &n in &lengths {
                kept.keep((key, n), (7, 2), plan_number(key, magnitude(n)), plan());
            }
        }
        let mut found = 0;
        for _ in 0..3 {
            for &key in &keys {
                for n in lengths {
                    // Another trip count of the same order.
                    for n in [n, n ^ 1] {
                        if let Some(next) = kept.next((key, n), (7, 2)) {
                            found += 1;
                            let Next::Pieces(pieces) = next else {
                                panic!("{next:?}");
                            };
                            assert_eq!(pieces.iter().map(|r| r.len()).sum::<u64>(), n);
                        }
                    }
                }
            }
        }
        // Some share a place.
        assert!(found > 300, "{found} of 360");
        assert!(kept.next((keys[0], 17), (8, 2)).is_none(), "another team");
        assert!(kept.next((keys[0], 17), (7, 3)).is_none(), "another size");
        assert!(kept.next((keys[0], 1 << 20), (7, 2)).is_none());
    }

    #[test]
    fn one_in_so_many_is_measured_and_a_new_plan_is_asked_for() {
        let mut kept = Settled::new();
        let key = 0x51_0040;
        kept.keep((key, 100), (7, 2), plan_number(key, magnitude(100)), plan());
        let unmeasured = (0..100).take_while(|_| kept.next((key, 100), (7, 2)).is_some());
        assert_eq!(unmeasured.count(), EVERY as usize - 1);
        kept.keep((key, 100), (7, 2), plan_number(key, magnitude(100)), plan());
        assert!(kept.next((key, 100), (7, 2)).is_some());
        forget(key, magnitude(3));
        assert!(kept.next((key, 100), (7, 2)).is_some(), "another length");
        forget(key, magnitude(100));
        assert!(kept.next((key, 100), (7, 2)).is_none());
        kept.keep(
            (key, 100),
            (7, 2),
            plan_number(key, magnitude(100)),
            Way::Cursor,
        );
        assert_eq!(kept.next((key, 90), (7, 2)), Some(Next::Cursor));
    }
}
