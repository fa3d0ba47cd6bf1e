//! What a region is to a virtual team, and what its run has measured: plain values.

use crate::team::members::Outlined;
use crate::worksharing::work::WorkPos;

/// How a virtual team runs a region.
#[derive(Debug)]
pub(super) struct How {
    /// Virtual threads.
    pub(super) pieces: u32,
    /// Real threads.
    pub(super) runners: u32,
    /// Virtual threads have stacks of their own.
    pub(super) fibers: bool,
    /// No stealing.
    pub(super) keep: bool,
    /// Each virtual thread's time is measured.
    pub(super) timed: bool,
    /// The primary thread runs all virtual threads.
    pub(super) alone: bool,
    /// What each runner gets of the virtual threads, in proportion.
    pub(super) weights: Vec<f64>,
    /// Nanoseconds that each runner needs for one; 0: not known.
    pub(super) paces: Vec<f64>,
}

/// Most virtual threads of a team.
pub(super) const MOST_PIECES: u32 = 4096;

/// What a region is to its runners.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) entry: Outlined,
    pub(super) data: *mut libc::c_void,
    /// See `Region::code`.
    pub(super) code: usize,
    pub(super) pieces: u32,
    pub(super) runners: u32,
    /// Virtual threads have stacks of their own.
    pub(super) fibers: bool,
    /// Blocks are kept to: shares were learned for stretches that nobody can steal in.
    pub(super) keep: bool,
    /// What virtual threads take is measured, one by one.
    pub(super) timed: bool,
    /// The primary thread runs all of them.
    pub(super) alone: bool,
    /// The first barrier epoch and the first worksharing construct of every virtual thread.
    pub(super) epoch: u32,
    pub(super) pos: WorkPos,
    pub(super) number: u32,
}

/// Were virtual threads given real ones of their own?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expanded {
    /// No.
    No,
    /// The runtime saw that one was about to wait where it cannot be suspended.
    Needed,
    /// One was found stuck, by time. Certain if it had a core all the while.
    Stuck { certain: bool },
}

impl Expanded {
    pub(super) const NO: u8 = 0;
    const NEEDED: u8 = 1;
    const MAYBE_STUCK: u8 = 2;
    const STUCK: u8 = 3;

    pub(super) fn code(self) -> u8 {
        match self {
            Expanded::No => Self::NO,
            Expanded::Needed => Self::NEEDED,
            Expanded::Stuck { certain: false } => Self::MAYBE_STUCK,
            Expanded::Stuck { certain: true } => Self::STUCK,
        }
    }

    pub(super) fn of_code(code: u8) -> Expanded {
        match code {
            Self::NO => Expanded::No,
            Self::NEEDED => Expanded::Needed,
            Self::MAYBE_STUCK => Expanded::Stuck { certain: false },
            _ => Expanded::Stuck { certain: true },
        }
    }
}

/// What one run of a region measured.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// Nanoseconds in the program's code and virtual threads, by runner.
    pub(super) runners: Vec<(u64, u32)>,
    /// Virtual threads that took more than an eighth of the mean time.
    pub(super) substantial: u32,
    /// Some virtual thread was suspended.
    pub(super) suspended: bool,
    /// Virtual threads were given threads of their own.
    pub(super) expanded: Expanded,
    /// Tasks were deferred.
    pub(super) tasks: bool,
}
