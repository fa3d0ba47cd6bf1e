//! The `sections` construct (OpenMP 5.1, section 2.10.1): numbers from 1 to the number of sections,
//! each handed to one thread; 0 says that there are no more.

use crate::team::members::Team;
use crate::team::placement;
use crate::team::region::Region;
use crate::thread::Thread;
use crate::worksharing::construct::{self, Extras};
use crate::worksharing::kinds::Kind;
use crate::worksharing::work::Work;

/// Fills in the node of `count` sections. The node is the caller's alone.
fn prepare(work: &Work, count: u32) {
    work.kind.set(Kind::Sections);
    work.ordered.set(false);
    work.dynamic.reset(u64::from(count), 1);
}

/// Enters the construct; the number of the thread's first section, or 0.
pub fn start(th: &Thread, count: u32) -> u32 {
    let (work, _) = construct::enter(th, |w| prepare(w, count));
    take(work)
}

/// Enters a construct whose number of sections is said later. Numbers beyond it are nobody's.
pub fn enter_unbounded(th: &Thread) {
    construct::enter(th, |w| prepare(w, u32::MAX));
}

/// The same as [`start`] with further clauses.
///
/// # Safety
/// As for [`Extras`].
pub unsafe fn start_with(th: &Thread, count: u32, extras: &Extras) -> u32 {
    // SAFETY: the caller's promise.
    take(unsafe { construct::enter_with(th, extras, |w| prepare(w, count)) })
}

/// The number of the thread's next section, or 0.
#[inline]
pub fn next(th: &Thread) -> u32 {
    construct::current(th).map_or(0, take)
}

#[inline]
fn take(work: &Work) -> u32 {
    // Section numbers begin at 1, and there are at most u32::MAX of them.
    work.dynamic.next().map_or(0, |r| r.end as u32)
}

/// Opens a region whose threads start in the construct, without running it on the calling thread.
///
/// # Safety
/// As for [`placement::open`].
pub unsafe fn fork(th: &Thread, region: &Region, count: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        placement::open(
            th,
            region,
            Some(&mut |_: &Team, w: &Work| prepare(w, count)),
        )
    };
}

/// Runs a region whose threads start in the construct.
///
/// # Safety
/// As for [`placement::parallel`].
pub unsafe fn parallel(th: &Thread, region: &Region, count: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        placement::parallel(
            th,
            region,
            Some(&mut |_: &Team, w: &Work| prepare(w, count)),
        )
    };
}
