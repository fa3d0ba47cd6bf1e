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
//! # When pieces are stale
//! Pieces are kept with the loop's key, its trip count, its team (by address) and the team's size; and with
//! the number of the plan, which changes when what is known of the loop changes. Whatever is read
//! stale costs time only: each copy of the pieces tiles the loop, and all threads of an execution
//! use the copy in the construct's node.

use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_sched::ranges::Range;

/// One execution in so many is measured.
const EVERY: u32 = 32;
/// Loops whose pieces a thread keeps.
const KEPT: usize = 16;
/// Numbers of plans; loops share one if their keys collide, and are then measured too often.
const NUMBERS: usize = 256;

/// Numbers of plans, by key. Relaxed: a number that is read late leaves an old plan in use for one
/// more execution.
static PLANS: [AtomicU32; NUMBERS] = [const { AtomicU32::new(0) }; NUMBERS];

/// A well mixed function of the key, an address in the program's text.
fn mixed(key: usize) -> usize {
    ((key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize
}

fn number(key: usize) -> &'static AtomicU32 {
    &PLANS[mixed(key) % NUMBERS]
}

/// Number of the plan of loop `key`. To be asked before the plan is looked at.
pub(super) fn plan_number(key: usize) -> u32 {
    number(key).load(Ordering::Relaxed)
}

/// The plan of loop `key` has changed.
pub(super) fn forget(key: usize) {
    number(key).fetch_add(1, Ordering::Relaxed);
}

/// Pieces of one loop on one team.
#[derive(Debug, Default)]
struct Kept {
    key: usize,
    n: u64,
    team: usize,
    plan: u32,
    /// Executions left before the next one that is measured.
    left: u32,
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

    /// The pieces of loop `key` with `n` iterations for this execution on `team`, if it is one that
    /// is not measured.
    #[inline]
    pub(super) fn pieces(
        &mut self,
        key: usize,
        n: u64,
        team: usize,
        threads: u32,
    ) -> Option<&[Range]> {
        let kept = self.0.get_mut(mixed(key) % KEPT)?;
        let same = kept.key == key
            && kept.n == n
            && kept.team == team
            && kept.pieces.len() == threads as usize
            && kept.plan == plan_number(key);
        if !same || kept.left == 0 {
            return None;
        }
        kept.left -= 1;
        Some(&kept.pieces)
    }

    /// Keeps `pieces` for the next executions.
    #[cold]
    pub(super) fn keep(&mut self, key: usize, n: u64, team: usize, plan: u32, pieces: &[Range]) {
        if self.0.is_empty() {
            self.0.resize_with(KEPT, Kept::default);
        }
        let kept = &mut self.0[mixed(key) % KEPT];
        kept.key = key;
        kept.n = n;
        kept.team = team;
        kept.plan = plan;
        kept.left = EVERY - 1;
        kept.pieces.clear();
        kept.pieces.extend_from_slice(pieces);
    }
}
