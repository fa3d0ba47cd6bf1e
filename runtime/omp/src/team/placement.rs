//! Where a region runs: as an ordinary team, as a virtual one, or across processes.
//!
//! Every region passes here, whatever construct it comes from: a plain one, one whose primary thread runs
//! its own part (as gcc before 4.9 has it), and one whose threads start in a loop or in sections. So here
//! is where a child of `fork` lets go of the workers that it does not have.

use crate::across;
use crate::icv::ProcBind;
use crate::init;
use crate::team::region::{fork, join, ordinary, Form, Prepare, Region};
use crate::thread::Thread;
use crate::unlike::{modes, ways};

/// How a region that begins now is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// As a team of as many real threads as the region says.
    Ordinary,
    /// As [`ways`] says: as a virtual team, perhaps, or timed for the report.
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

/// Runs `region` from fork to join on the calling thread. `first` as for [`fork`]. Returns the number of
/// threads that ran the program's code.
///
/// # Safety
/// As for [`fork`].
pub unsafe fn parallel(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    if first.is_none() && across::table::is_on() {
        // SAFETY: this function's contract, that of `fork`: `abi` passes a region whose function compiled code made
        // for all threads.
        if let Some(n) = unsafe { across::parallel(th, region, None) } {
            return n;
        }
    }
    match Placement::now(th) {
        // SAFETY: this function's contract, that of `fork`: `abi` passes a region whose function compiled code made
        // for all threads.
        Placement::Ordinary => unsafe { ordinary(th, region, first) },
        // SAFETY: this function's contract, that of `fork`: `abi` passes a region whose function compiled code made
        // for all threads.
        Placement::Watched => unsafe { ways::parallel(th, region, first) },
    }
}

/// Opens `region`, whose primary thread runs its own part: as [`fork`], and seen by the report.
///
/// # Safety
/// As for [`fork`], with [`close`] for [`join`].
pub unsafe fn open(th: &Thread, region: &Region, first: Option<Prepare<'_>>) {
    match Placement::now(th) {
        Placement::Ordinary => {
            // SAFETY: this function's contract, that of `fork`: `abi` passes a region whose function compiled code
            // made for all threads.
            unsafe { fork(th, region, first) };
        }
        // SAFETY: this function's contract, that of `fork`: `abi` passes a region whose function compiled code made
        // for all threads.
        Placement::Watched => unsafe { ways::open(th, region, first) },
    }
}

/// Opens a region of one thread, whose body the caller runs itself until [`close_alone`]. Such a region has nothing to
/// place or to compare: virtual teams and the report are not told.
pub fn open_alone(th: &Thread, bind: Option<ProcBind>) {
    unsafe extern "C" fn nothing(_: *mut libc::c_void) {}
    Placement::now(th);
    let region = Region {
        entry: nothing,
        data: core::ptr::null_mut(),
        code: 0,
        form: Form::default(),
        nthreads: 1,
        asked: 1,
        bind,
        group: core::ptr::null(),
    };
    // SAFETY: `nothing` may be called by anybody, and a team of one calls nothing.
    unsafe { fork(th, &region, None) };
}

/// Ends the region that the calling thread opened last by [`open_alone`].
pub fn close_alone(th: &Thread) {
    join(th);
}

/// Ends the region that the calling thread opened last by [`open`].
pub fn close(th: &Thread) {
    join(th);
    if modes::watches() {
        ways::close(th);
    }
}
