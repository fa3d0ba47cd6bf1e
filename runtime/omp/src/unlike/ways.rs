//! Regions that are looked at: the set-up before the first of them, and the entrance to their ways.
//!
//! A region's function and data are what compiled code passed, for any thread of its team; `placement` vouches for
//! that.

use super::het::report::{self, RegionRun};
use super::{het, modes, virtual_team};
use crate::init;
use crate::team::region::{Prepare, Region};
use crate::team::spare;
use crate::thread::Thread;
use hetmp_core::park::Policy;
use hetmp_core::whole::OnceLock;
use hetmp_sched::ways::Way;

/// Sets up what the environment asks for, before the first region that is looked at.
#[cold]
fn prepare() {
    static PREPARED: OnceLock<()> = OnceLock::new();
    PREPARED.get_or_init(|| {
        hetmp_core::float::apart(|| {
            het::configure(init::globals());
            virtual_team::parallel::prepare();
            modes::prepared();
        });
    });
}

/// Runs a region: [`crate::team::placement::parallel`] comes here if [`modes::watches`] is true.
///
/// # Safety
/// The same as for [`crate::team::region::fork`].
#[cold]
pub(crate) unsafe fn parallel(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    if modes::is_unprepared() {
        prepare();
    }
    // SAFETY: by this function's contract `placement` passes a region that compiled code made for all
    // threads.
    unsafe { virtual_team::parallel::parallel(th, region, first) }
}

/// A region of `threads` threads has run on other nodes of a distributed shared memory, for `ns` nanoseconds: notes
/// it for the report, if one is wanted.
#[cold]
pub(crate) fn crossed(code: usize, threads: u32, ns: u64, way: Way) {
    if !modes::watches() {
        return;
    }
    if modes::is_unprepared() {
        prepare();
    }
    if report::wanted() {
        let run = RegionRun {
            way,
            threads,
            pieces: 0,
            elapsed_ns: ns,
            divided_ns: 0,
        };
        report::region(code, run);
    }
}

/// Opens a region: [`crate::team::placement::open`] comes here if [`modes::watches`] is true.
///
/// # Safety
/// The same as for [`crate::team::region::fork`].
#[cold]
pub(crate) unsafe fn open(th: &Thread, region: &Region, first: Option<Prepare<'_>>) {
    if modes::is_unprepared() {
        prepare();
    }
    // SAFETY: by this function's contract `placement` passes a region that compiled code made for all
    // threads.
    unsafe { virtual_team::parallel::open(th, region, first) }
}

/// The thread has ended a region that it opened by [`open`].
#[cold]
pub(crate) fn close(th: &Thread) {
    virtual_team::parallel::close(th);
}

/// Called in the child of `fork`, whose only thread is `th`: drops the workers, which the child does not
/// have.
#[cold]
pub(crate) fn after_fork(th: &Thread) {
    for pool in th.pools.take() {
        pool.forget();
    }
    th.after_fork();
    spare::after_fork();
    virtual_team::parallel::after_fork(th);
    Policy::set_threads(1);
    report::after_fork();
    init::is_child();
}
