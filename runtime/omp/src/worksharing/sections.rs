//! The `sections` construct (OpenMP 5.1, section 2.10.1). Sections are numbered from 1, and each number is
//! handed to one thread. 0 means that no section is left.

use crate::across::local as across;
use crate::across::opening::Construct;
use crate::across::table::is_on;
use crate::team::members::Team;
use crate::team::placement;
use crate::team::region::Region;
use crate::thread::Thread;
use crate::tool;
use crate::worksharing::construct::{self, Extras};
use crate::worksharing::kinds::Handing;
use crate::worksharing::loops;
use crate::worksharing::work::Work;

/// Prepares the node of `count` sections. No other thread may use the node yet.
fn prepare(work: &Work, count: u32) {
    prepare_in(work, None, count);
}

/// Prepares the node of `count` sections of `team`. If the team's threads are on several nodes, all nodes
/// share the sections.
fn prepare_in(work: &Work, team: Option<&Team>, count: u32) {
    work.ordered.set(false);
    if let Some(team) = team.filter(|t| t.is_across()) {
        // SAFETY: only this thread touches the node before it is published.
        unsafe {
            *work.ours.get() = Some(across::share(u64::from(count), 1, false, false, None, 0))
        };
        team.works.note_heavy();
        work.kind.set(Handing::Ours);
        return;
    }
    work.kind.set(Handing::Sections);
    work.dynamic.reset(u64::from(count), 1);
}

/// Enters the construct. Returns the number of the thread's first section, or 0.
pub fn start(th: &Thread, count: u32) -> u32 {
    let (work, _) = construct::enter(th, |w| prepare_in(w, Some(th.team()), count));
    take(th, construct::tell(th, work))
}

/// Enters a construct whose number of sections the caller learns only later. The caller ignores numbers
/// beyond it.
pub fn enter_unbounded(th: &Thread) {
    let (work, _) = construct::enter(th, |w| prepare(w, u32::MAX));
    construct::tell(th, work);
}

/// [`start`] for a construct that has further clauses.
///
/// # Safety
/// `extras.memory` is null, or the address of a word of compiled code that holds a size and may be
/// overwritten.
pub unsafe fn start_with(th: &Thread, count: u32, extras: &Extras<'_>) -> u32 {
    // SAFETY: `extras.memory` is as `construct::enter_with` demands: this function's contract.
    let work = unsafe { construct::enter_with(th, extras, |w| prepare(w, count)) };
    take(th, construct::tell(th, work))
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
        _ if tool::on() => loops::take_range(th, work),
        _ => work.dynamic.next(),
    };
    // Section numbers begin at 1, and there are at most u32::MAX of them.
    range.map_or(0, |r| r.end as u32)
}

/// Prepares the first construct of a region that crosses nodes, on this node, if it is sections.
pub(crate) fn prepare_first(_: &Thread, team: &Team, work: &Work, _: u32, first: &Construct) {
    if let Construct::Sections(count) = first {
        prepare_in(work, Some(team), *count);
    }
}

/// Opens a region whose threads start in the construct. The caller runs the primary thread's part itself, and
/// then calls `placement::close`.
///
/// # Safety
/// All threads of the region may call its function with its data until `placement::close`, which the same
/// thread calls.
pub unsafe fn fork(th: &Thread, region: &Region, count: u32) {
    // SAFETY: all threads may call the region's function until it is closed: this function's contract.
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
/// All threads of the region may call its function with its data until this function returns.
pub unsafe fn parallel(th: &Thread, region: &Region, count: u32) {
    if is_on() {
        let first = Construct::Sections(count);
        let mut prepare = |_: &Team, w: &Work| prepare(w, count);
        // SAFETY: all threads of the region may call its function until the join: this function's contract.
        unsafe {
            crate::across::parallel(th, region, Some(first), &mut || {
                placement::at_home(th, region, Some(&mut prepare))
            });
        }
        return;
    }
    // SAFETY: all threads of the region may call its function until the join: this function's contract.
    unsafe {
        placement::parallel(
            th,
            region,
            Some(&mut |_: &Team, w: &Work| prepare(w, count)),
        )
    };
}
