//! The `sections` construct (OpenMP 5.1, section 2.10.1): numbers from 1 to the number of sections,
//! each handed to one thread; 0 says that there are no more.

use crate::across::local::{self as across, Construct};
use crate::across::table::is_on;
use crate::team::members::Team;
use crate::team::placement;
use crate::team::region::Region;
use crate::thread::Thread;
use crate::worksharing::construct::{self, Extras};
use crate::worksharing::kinds::Handing;
use crate::worksharing::loops;
use crate::worksharing::work::Work;

/// Fills in the node of `count` sections. The node is the caller's alone.
fn prepare(work: &Work, count: u32) {
    prepare_in(work, None, count);
}

/// The same for sections of `team`.
fn prepare_in(work: &Work, team: Option<&Team>, count: u32) {
    work.ordered.set(false);
    if let Some(team) = team.filter(|t| t.is_across()) {
        // SAFETY: the node is this thread's alone.
        unsafe { *work.ours.get() = Some(across::share(u64::from(count), 1, false, 0)) };
        team.works.note_heavy();
        work.kind.set(Handing::Ours);
        return;
    }
    work.kind.set(Handing::Sections);
    work.dynamic.reset(u64::from(count), 1);
}

/// Enters the construct; the number of the thread's first section, or 0.
pub fn start(th: &Thread, count: u32) -> u32 {
    let (work, _) = construct::enter(th, |w| prepare_in(w, Some(th.team()), count));
    take(th, work)
}

/// Enters a construct whose number of sections is said later. Numbers beyond it are nobody's.
pub fn enter_unbounded(th: &Thread) {
    construct::enter(th, |w| prepare(w, u32::MAX));
}

/// [`start`] for a construct that has further clauses.
///
/// # Safety
/// `extras.memory` is null, or leads to a word that compiled code reads and writes: a size, then an address.
pub unsafe fn start_with(th: &Thread, count: u32, extras: &Extras<'_>) -> u32 {
    // SAFETY: this function's contract on `extras.memory`, which `abi` keeps with compiled code's pointer.
    take(th, unsafe {
        construct::enter_with(th, extras, |w| prepare(w, count))
    })
}

/// The number of the thread's next section, or 0.
#[inline]
pub fn next(th: &Thread) -> u32 {
    construct::current(th).map_or(0, |work| take(th, work))
}

#[inline]
fn take(th: &Thread, work: &Work) -> u32 {
    let range = match work.kind.get() {
        Handing::Ours => loops::take_range(th, work),
        _ => work.dynamic.next(),
    };
    // Section numbers begin at 1, and there are at most u32::MAX of them.
    range.map_or(0, |r| r.end as u32)
}

/// [`prepare_in`] on a node of a region that crosses nodes.
fn prepare_first(_: &Thread, team: &Team, work: &Work, _: u32, first: &Construct) {
    if let Construct::Sections(count) = first {
        prepare_in(work, Some(team), *count);
    }
}

/// Opens a region whose threads start in the construct, without running it on the calling thread.
///
/// # Safety
/// As for [`placement::open`].
pub unsafe fn fork(th: &Thread, region: &Region, count: u32) {
    // SAFETY: this function's contract is that of `open`: `abi` passes a region that compiled code made, and ends it.
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
    if is_on() {
        let first = (prepare_first as across::Prepare, Construct::Sections(count));
        // SAFETY: this function's contract is that of `placement::parallel`: `abi` passes a region that compiled code
        // made.
        if unsafe { crate::across::parallel(th, region, Some(first)) }.is_some() {
            return;
        }
    }
    // SAFETY: this function's contract is that of `placement::parallel`: `abi` passes a region that compiled code
    // made.
    unsafe {
        placement::parallel(
            th,
            region,
            Some(&mut |_: &Team, w: &Work| prepare(w, count)),
        )
    };
}
