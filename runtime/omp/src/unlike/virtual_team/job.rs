//! Plain values: what a virtual team must know of a region, and what its run has measured.

use crate::team::members::Outlined;
use crate::worksharing::work::WorkPos;
use hetmp_scan::Told;

/// How a virtual team runs a region.
#[derive(Debug)]
pub(super) struct How {
    /// Number of virtual threads.
    pub(super) pieces: u32,
    /// Number of real threads.
    pub(super) runners: u32,
    /// Each virtual thread has its own stack.
    pub(super) fibers: bool,
    /// Runners do not steal.
    pub(super) keep: bool,
    /// Each virtual thread's time is measured.
    pub(super) timed: bool,
    /// The primary thread alone runs all virtual threads.
    pub(super) alone: bool,
    /// The region's code was read to its end, and nothing in it was seen to wait for another thread.
    pub(super) was_read: bool,
    /// Calls that ask for the number of threads in order to print it.
    pub(super) told: Told,
    /// Each runner's share of the virtual threads, in any unit.
    pub(super) weights: Vec<f64>,
    /// Nanoseconds that each runner needs for a virtual thread; 0: not known.
    pub(super) paces: Vec<f64>,
}

/// Most virtual threads of a team.
pub(super) const MOST_PIECES: u32 = 4096;

/// What the runners must know of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) entry: Outlined,
    pub(super) data: *mut libc::c_void,
    /// See `Region::code`.
    pub(super) code: usize,
    pub(super) pieces: u32,
    pub(super) runners: u32,
    /// Each virtual thread has its own stack.
    pub(super) fibers: bool,
    /// Runners keep to their blocks: shares were learned for stretches in which nobody can steal.
    pub(super) keep: bool,
    /// Each virtual thread's time is measured.
    pub(super) timed: bool,
    /// The primary thread alone runs all virtual threads.
    pub(super) alone: bool,
    /// The first barrier epoch and the first worksharing construct of every virtual thread.
    pub(super) epoch: u32,
    pub(super) pos: WorkPos,
    pub(super) number: u32,
}

/// Have virtual threads got real threads of their own?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expanded {
    /// No.
    No,
    /// Yes: a virtual thread was about to wait where it cannot be suspended.
    Needed,
    /// Yes: a virtual thread was stuck for too long. `certain` if it had a core all the while, or wanted
    /// none.
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

/// The measurements of one run of a region.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// For each runner: nanoseconds in the program's code, and virtual threads begun.
    pub(super) runners: Vec<(u64, u32)>,
    /// Virtual threads that took more than an eighth of the mean time.
    pub(super) substantial: u32,
    /// At least one virtual thread was suspended.
    pub(super) suspended: bool,
    /// Whether virtual threads got real threads of their own.
    pub(super) expanded: Expanded,
    /// Tasks were deferred.
    pub(super) tasks: bool,
}
