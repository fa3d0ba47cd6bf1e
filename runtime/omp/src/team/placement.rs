//! Decides where a region runs: in an ordinary team, in a virtual team, or across processes.
//!
//! Every region passes here, whatever construct it comes from: a plain region, a region whose primary thread
//! runs its own part (code by gcc before 4.9, and regions that clang serializes), and a region whose threads
//! start in a loop or in sections. So this is also the place where a child process of `fork` lets go of workers,
//! which exist only in its parent.

use crate::across;
use crate::init;
use crate::team::region::{fork, join, ordinary, Prepare, Region};
use crate::thread::Thread;
use crate::tool;
use crate::unlike::{modes, ways};

/// How a region that begins now runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// In a team of as many real threads as the region has.
    Ordinary,
    /// As [`ways`] decides: perhaps in a virtual team, or timed for the report.
    Watched,
}

impl Placement {
    #[inline(always)]
    fn now(th: &Thread) -> Placement {
        if init::forked() {
            ways::after_fork(th);
        }
        if modes::watches() {
            Placement::Watched
        } else {
            Placement::Ordinary
        }
    }
}

/// Runs `region` from fork to join on the calling thread. `first` prepares the worksharing construct in which
/// every thread starts, if there is one. Returns the number of threads that ran the program's code.
///
/// # Safety
/// All threads of the region may call `region.entry` with `region.data` until this function returns.
pub unsafe fn parallel(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    if first.is_none() && across::table::is_on() {
        // SAFETY: all threads of the region may call its function until the join: this function's contract.
        return unsafe { across::parallel(th, region, None, &mut || at_home(th, region, None)) };
    }
    // SAFETY: all threads of the region may call its function until the join: this function's contract.
    unsafe { at_home(th, region, first) }
}

/// Runs a region in this process: [`parallel`] without other processes.
///
/// # Safety
/// The same as for [`parallel`].
#[inline(always)]
pub(crate) unsafe fn at_home(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    match Placement::now(th) {
        // SAFETY: all threads of the region may call its function until the join: this function's contract.
        Placement::Ordinary => unsafe { ordinary(th, region, first) },
        // SAFETY: all threads of the region may call its function until the join: this function's contract.
        Placement::Watched => unsafe { ways::parallel(th, region, first) },
    }
}

/// Opens `region`, and returns to the caller, which runs the primary thread's part itself and then calls
/// [`close`]. `first` as for [`parallel`].
///
/// # Safety
/// All threads of the region may call `region.entry` with `region.data` until [`close`], which the same
/// thread calls.
pub unsafe fn open(th: &Thread, region: &Region, first: Option<Prepare<'_>>) {
    if tool::on() {
        tool::events::program_runs_next_part(th);
    }
    match Placement::now(th) {
        Placement::Ordinary => {
            // SAFETY: all threads of the region may call its function until `close`: this function's
            // contract.
            unsafe { fork(th, region, first) };
        }
        // SAFETY: all threads of the region may call its function until `close`: this function's contract.
        Placement::Watched => unsafe { ways::open(th, region, first) },
    }
}

/// Ends the region that the calling thread opened last by [`open`].
pub fn close(th: &Thread) {
    join(th);
    if modes::watches() {
        ways::close(th);
    }
}
