//! Cancellation (OpenMP 5.1, section 2.20). Only with `OMP_CANCELLATION=true`.

use crate::init;
use crate::task::record::Group;
use crate::thread::Thread;
use crate::tool;
use crate::worksharing::construct;
use hetmp_core::sync::Ordering;

/// The kinds of construct that can be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Construct {
    /// The innermost parallel region.
    Parallel,
    /// The innermost worksharing loop.
    Worksharing,
    /// The innermost sections construct.
    Sections,
    /// The innermost taskgroup.
    Taskgroup,
}

impl Construct {
    /// The construct's bit in `ompt_cancel_flag_t`.
    fn bit(self) -> u32 {
        match self {
            Construct::Parallel => 1,
            Construct::Sections => 2,
            Construct::Worksharing => 4,
            Construct::Taskgroup => 8,
        }
    }
}

/// Cancels the construct. True when the thread must leave it.
pub fn cancel(th: &Thread, construct: Construct) -> bool {
    if !init::globals().cancellation {
        return false;
    }
    if tool::on() {
        tool::events::cancels(th, construct.bit(), true);
    }
    let team = th.team();
    match construct {
        Construct::Parallel => {
            team.cancelled.store(true, Ordering::Release);
            // Threads asleep at a barrier must leave it: a nudged thread looks again.
            team.barrier.gone_flag().nudge();
            team.nudge_all();
        }
        Construct::Worksharing | Construct::Sections => construct::cancel(th),
        Construct::Taskgroup => Group::cancel(th.task().group.get()),
    }
    true
}

/// A cancellation point of the program: true when the construct was cancelled.
pub fn point(th: &Thread, construct: Construct) -> bool {
    let cancelled = is_cancelled(th, construct);
    if cancelled && tool::on() {
        tool::events::cancels(th, construct.bit(), false);
    }
    cancelled
}

/// True when the construct was cancelled.
pub fn is_cancelled(th: &Thread, construct: Construct) -> bool {
    if !init::globals().cancellation {
        return false;
    }
    let in_region = th.team().cancelled.load(Ordering::Acquire);
    match construct {
        Construct::Parallel => in_region,
        Construct::Worksharing | Construct::Sections => construct::is_cancelled(th),
        // Cancelling the region also discards its explicit tasks.
        Construct::Taskgroup => in_region || Group::is_cancelled(th.task().group.get()),
    }
}
