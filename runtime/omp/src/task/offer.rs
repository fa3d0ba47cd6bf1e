//! Tasks that are offered to other threads, while a tool judges by the order of tasks.
//!
//! A race detector sees that two tasks may overlap only where two threads execute them. A thread that makes a few tiny
//! tasks and then waits for them has executed all of them before another thread of its team has woken up. So while
//! such a tool is attached, a thread that waits leaves its own tasks to the others for a moment: until one of them has
//! taken a task. A thief takes one task at a time then, and leaves the next one to others for a moment, too: else it
//! has executed all of them before their maker's thread has a core again.
//!
//! Where the others are busy, the moment passes in vain. Each such moment is half as long as the one before, so that a
//! program loses some milliseconds at most, and a few microseconds a region.

use super::deque::Deque;
use super::queue::Manner;
use super::record::Task;
use crate::team::members::Team;
use crate::thread::Thread;
use crate::tool;
use crate::tool::record::PATIENCE;
use std::time::{Duration, Instant};

/// Nanoseconds that a thread waits in each region, however often nobody came before.
const LEAST: u32 = 20_000;

/// Nanoseconds that a thief waits before its second task of a region; before each further one half as long.
const THIEF: u32 = 400_000;

/// Are tasks to be offered to other threads?
#[inline]
pub(super) fn wanted() -> bool {
    tool::on() && tool::judges_order()
}

/// How long a thread waits that would wait `patience`, when it asks in region `now` and asked last in region `then`.
fn patience(patience: u32, then: u32, now: u32) -> u32 {
    if then == now {
        patience
    } else {
        patience.max(LEAST)
    }
}

/// The patience after a wait of `patience`: was a task taken?
fn after(patience: u32, taken: bool) -> u32 {
    if taken {
        PATIENCE
    } else {
        patience / 2
    }
}

/// Leaves tasks to others for a moment.
pub(super) struct Offering;

impl Manner for Offering {
    const MOST_SPOILS: usize = 0;

    fn before_own(th: &Thread, team: &Team) {
        to_others(th, team);
    }

    fn before_theft(th: &Thread, team: &Team, deque: &Deque<Task>) {
        if deque.len() != 0 {
            to_others_again(th, team, deque);
        }
    }
}

/// Waits until another thread has taken one of the calling thread's tasks, but not long.
fn to_others(th: &Thread, team: &Team) {
    let (deque, queued) = (&th.member().deque, th.member().deque.len());
    if queued == 0 || team.seats() < 2 || team.is_virtual() {
        return;
    }
    let (old, then) = th.tool.patience.get();
    let now = team.tasks.region_number();
    let patience = patience(old, then, now);
    let taken = wait(deque, queued, patience);
    th.tool.patience.set((after(patience, taken), now));
}

/// Called by a thread that is about to steal from `deque`: waits until another thread has taken a task there, but not
/// long, and not before the first theft of a region.
fn to_others_again(th: &Thread, team: &Team, deque: &Deque<Task>) {
    let (old, then) = th.tool.thief.get();
    let now = team.tasks.region_number();
    if then != now {
        return th.tool.thief.set((THIEF, now));
    }
    let queued = deque.len();
    if queued != 0 {
        wait(deque, queued, old);
        th.tool.thief.set((old / 2, now));
    }
}

/// Waits `nanoseconds`, or until `deque` has fewer than `queued` tasks. Has it?
fn wait(deque: &Deque<Task>, queued: u32, nanoseconds: u32) -> bool {
    let begin = Instant::now();
    let limit = Duration::from_nanos(nanoseconds.into());
    while begin.elapsed() < limit {
        hetmp_core::sys::yield_now();
        if deque.len() < queued {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_in_vain_is_half_as_long_the_next_time() {
        assert_eq!(after(PATIENCE, false), PATIENCE / 2);
        assert_eq!(after(1, false), 0);
    }

    #[test]
    fn a_taken_task_makes_the_next_wait_long_again() {
        assert_eq!(after(1, true), PATIENCE);
    }

    #[test]
    fn all_waits_in_vain_of_a_region_are_bounded() {
        let mut wait = PATIENCE;
        let mut sum = 0;
        for _ in 0..100 {
            wait = patience(wait, 7, 7);
            sum += wait;
            wait = after(wait, false);
        }
        assert!(sum < 2 * PATIENCE, "{sum}");
        assert_eq!(wait, 0);
    }

    #[test]
    fn a_new_region_is_waited_for_a_little() {
        assert_eq!(patience(0, 7, 8), LEAST);
        assert_eq!(patience(PATIENCE, 7, 8), PATIENCE);
    }
}
