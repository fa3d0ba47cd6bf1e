//! Short settled loops, in fixed pieces.
//!
//! The full way of an execution ([`super::execution`]) costs two locks, some memory, and two looks at the
//! clock for each thread: close to a microsecond, which a loop of 45 us feels. If a short loop's plan is
//! settled and the loop runs in fixed pieces (`hetmp_sched::fixed`), most executions need none of that. The
//! thread that reaches the loop first has kept the pieces of its last execution by the full way, and copies
//! them into the construct's node.
//!
//! One execution in [`FIRST_PERIOD`] (each thread counts for itself) takes the full way and is measured. So drift is
//! noticed, but later than in loops that are always measured. The shorter the loop, the more the full way costs next to
//! it. So a loop is measured more and more seldom while its plan stays right, until [`LONGEST_REST`] executions pass
//! between two measured ones, as of regions: the system's time slices differ, and drift must show within seconds.
//!
//! **Loops of many lengths.** One place of a program often runs with another trip count each time: a loop
//! over the elements of one material, and then of the next. Knowledge of a loop is valid for all trip counts of
//! one order of magnitude. So the plan is kept for the order of magnitude, and pieces for another trip count
//! are cut from the plan when they are needed.
//!
//! # When pieces are stale
//! A plan is kept with the loop's key, the magnitude of its trip count, its team (by address) and the team's
//! size. It is also kept with the number of the plan, which changes when the knowledge about the loop
//! changes. A stale value costs only time: each copy of the pieces covers the loop exactly, and all threads
//! of an execution use the one copy in the construct's node.

use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_core::float;
use hetmp_sched::cache::magnitude;
use hetmp_sched::decide::Decision;
use hetmp_sched::fixed;
use hetmp_sched::limits::{FIRST_PERIOD, LONGEST_REST, SHORT_NS};
use hetmp_sched::placement::Placement;
use hetmp_sched::ranges::Range;
use std::sync::Arc;

/// Number of sets in a thread's table, and number of loops in each set.
const SETS: usize = 64;
const WAYS: usize = 4;
/// Size of the table of plan numbers. Loops whose keys collide share a number, and are then measured too
/// often.
const NUMBERS: usize = 1024;

/// The numbers of plans, by key. Relaxed: a thread that reads a number late uses an old plan for one more
/// execution.
static PLANS: [AtomicU32; NUMBERS] = [const { AtomicU32::new(0) }; NUMBERS];

/// A hash of the key (an address in the program's text) and the magnitude of the trip count.
fn mixed(key: usize, magnitude: u8) -> usize {
    let both = key.wrapping_mul(67).wrapping_add(magnitude.into()) as u64;
    (both.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}

fn number(key: usize, magnitude: u8) -> &'static AtomicU32 {
    &PLANS[mixed(key, magnitude) % NUMBERS]
}

/// The number of the plan of loop `key` with trip counts of this magnitude. Read it before the plan.
pub(super) fn plan_number(key: usize, magnitude: u8) -> u32 {
    number(key, magnitude).load(Ordering::Relaxed)
}

/// The plan of loop `key` with trip counts of this magnitude has changed.
pub(super) fn forget(key: usize, magnitude: u8) {
    number(key, magnitude).fetch_add(1, Ordering::Relaxed);
}

/// The identity of a settled loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Which {
    key: usize,
    magnitude: u8,
    /// Address of the loop's team.
    team: usize,
    threads: u32,
}

impl Which {
    fn set(self) -> usize {
        mixed(self.key, self.magnitude) % SETS * WAYS
    }
}

/// How the unmeasured executions of a settled loop are handed out.
#[derive(Debug)]
pub(super) enum Way {
    /// In one piece for each thread of `team`.
    Pieces {
        decision: Arc<Decision>,
        team: Arc<Placement>,
    },
    /// From one cursor, to whichever thread comes: the loop is [brief](hetmp_sched::cache::Known::brief).
    Cursor,
    /// As a plain static loop.
    Static,
}

/// How one unmeasured execution is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// Each thread's piece.
    Pieces(&'a [Range]),
    /// From one cursor.
    Cursor,
    /// As a plain static loop.
    Static,
}

/// One loop on one team.
#[derive(Debug, Default)]
struct Kept {
    which: Which,
    number: u32,
    /// Executions left before the next measured one.
    left: u32,
    /// One execution in this number is measured.
    every: u32,
    way: Option<Way>,
    /// The trip count that `pieces` are for.
    n: u64,
    pieces: Vec<Range>,
}

/// The settled loops of one thread. Empty until the thread meets such a loop.
#[derive(Debug, Default)]
pub(crate) struct Settled(Vec<Kept>);

impl Settled {
    /// No loops yet.
    pub(crate) const fn new() -> Settled {
        Settled(Vec::new())
    }

    fn find(&mut self, which: Which) -> Option<&mut Kept> {
        let set = which.set();
        let ways = self.0.get_mut(set..set + WAYS)?;
        ways.iter_mut().find(|kept| kept.which == which)
    }

    /// How this execution of loop `key` with `n` iterations runs on the team of `threads` threads at address
    /// `team`; `None` if it must be measured.
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
            Some(Way::Static) => Some(Next::Static),
            None => None,
        }
    }

    /// Keeps `way` for the next executions of loop `key` with trip counts like `n`. `number` is the plan's
    /// number. While the plan holds, ever fewer executions are measured.
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
        // Take the loop's own entry, or replace the entry that is due for measuring soonest.
        let own = ways.iter().position(|kept| kept.which == which);
        let least = || (0..WAYS).min_by_key(|&i| ways[i].left);
        let Some(at) = own.or_else(least) else {
            return;
        };
        let kept = &mut ways[at];
        let holds = kept.which == which && kept.number == number;
        kept.every = if holds {
            (2 * kept.every).min(LONGEST_REST + 1)
        } else {
            FIRST_PERIOD
        };
        kept.which = which;
        kept.number = number;
        kept.left = kept.every - 1;
        kept.way = Some(way);
        kept.cut(n);
    }
}

/// Is the largest piece of a loop with `n` iterations, as `decision` cuts it for the `threads` threads of `team`,
/// hardly larger than that of a static loop?
pub(super) fn is_nearly_static(
    n: u64,
    decision: &Decision,
    team: &Placement,
    threads: u32,
) -> bool {
    let mut pieces = Vec::new();
    fixed::pieces(n, decision, team, &mut pieces);
    let largest = pieces.iter().map(|piece| piece.len()).max().unwrap_or(n);
    let fair = n.div_ceil(u64::from(threads.max(1)));
    // What was measured of a short loop is mostly the way into and out of it, and a difference of a quarter says
    // nothing about the nodes.
    let is_short = fixed::expected_ns(&pieces, decision, team) < SHORT_NS;
    let tolerance = if is_short { 4 } else { 10 };
    largest <= fair.saturating_add(fair / tolerance)
}

impl Kept {
    fn cut(&mut self, n: u64) {
        if let Some(Way::Pieces { decision, team }) = &self.way {
            float::apart(|| fixed::pieces(n, decision, team, &mut self.pieces));
        }
        self.n = n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_sched::decide::{decide, NodeInput, Objective};
    use hetmp_sched::probe::NodeRate;

    fn plan() -> Way {
        let team = Arc::new(Placement::placed(&[0, 1], 2));
        let nodes: Vec<NodeInput> = (0..2)
            .map(|_| NodeInput {
                threads: 1,
                ..NodeInput::default()
            })
            .collect();
        Way::Pieces {
            decision: Arc::new(decide(&nodes, Objective::Time)),
            team,
        }
    }

    /// As many loops as one step of a code with materials has, each with varying trip counts.
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
                    // Another trip count of the same order of magnitude.
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
        // Some loops share an entry.
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
        assert_eq!(unmeasured.count(), FIRST_PERIOD as usize - 1);
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

    #[test]
    fn even_plans_are_nearly_static() {
        let plan_of = |rates: [f64; 2]| {
            let nodes: Vec<NodeInput> = rates
                .iter()
                .map(|&ns| NodeInput {
                    threads: 1,
                    rate: Some(NodeRate::of(ns)),
                    ..NodeInput::default()
                })
                .collect();
            decide(&nodes, Objective::Time)
        };
        let team = Placement::placed(&[0, 1], 2);
        let is = |rates, n| is_nearly_static(n, &plan_of(rates), &team, 2);
        assert!(is([10.0, 10.0], 100) && is([10.0, 11.0], 100));
        assert!(!is([10.0, 30.0], 100));
        assert!(is([10.0, 10.0], 1) && is([10.0, 10.0], 3));
        // 58 : 42. In a loop of half a microsecond that is no difference, in one of 50 us it is.
        assert!(is([10.0, 14.0], 100) && !is([1000.0, 1400.0], 100));
    }

    /// A measured execution takes about a microsecond more, which short loops feel.
    #[test]
    fn short_loops_are_measured_more_seldom_while_their_plan_holds() {
        let mut kept = Settled::new();
        let key = 0x53_0140;
        let mut unmeasured = || {
            let number = plan_number(key, magnitude(100));
            kept.keep((key, 100), (7, 2), number, plan());
            let all = (0..5000).take_while(|_| kept.next((key, 100), (7, 2)).is_some());
            all.count() as u32
        };
        let first: Vec<u32> = (0..4).map(|_| unmeasured()).collect();
        let at_most = LONGEST_REST;
        let twice = 2 * FIRST_PERIOD - 1;
        assert_eq!(first, [FIRST_PERIOD - 1, twice, at_most, at_most]);
        forget(key, magnitude(100));
        assert_eq!(unmeasured(), FIRST_PERIOD - 1, "another plan");
    }
}
