//! The `single` construct (OpenMP 5.1, section 2.10.2), with and without `copyprivate`, and
//! `scope` with task reductions (section 2.9).

use crate::across::local as across;
use crate::team::region as team;
use crate::thread::Thread;
use crate::tool;
use crate::tool::interface::{Sync, Work as Kind};
use crate::worksharing::construct::{self, Extras, TaskReductions};
use crate::worksharing::kinds::Handing;
use crate::worksharing::work::Work;
use hetmp_core::sync::{pause, Ordering};
use hetmp_core::sys;

/// A thread that copied data hesitates at most for this fraction of the time since then.
const SHARE: u64 = 16;
/// The longest hesitation, in ticks: some 1.5 us. This is enough for another thread that was released from
/// the same barrier to come first, even between cores that are 250 ns apart.
const LONGEST: u64 = 4_000;
/// Hesitations shorter than this number of ticks are left out. Either the data was small or little time has
/// passed, and the other thread would come too late anyway.
const SHORTEST: u64 = 250;

/// Returns true in the one thread that is to execute the construct.
#[inline]
pub fn start(th: &Thread) -> bool {
    let executes = construct::enter_single(th);
    if tool::on() {
        tell(th, executes);
    }
    executes
}

#[cold]
fn tell(th: &Thread, executes: bool) {
    if executes {
        tool::events::begin(th, Kind::SingleExecutor, 1);
    } else {
        tool::events::passes_single(th);
    }
}

/// How many ticks a thread hesitates that copied data `since` ticks ago.
fn patience(since: u64) -> u64 {
    match (since / SHARE).min(LONGEST) {
        0..SHORTEST => 0,
        patience => patience,
    }
}

fn prepare(work: &Work) {
    // The construct has no work to hand out, so a thread that asks for work gets none.
    work.kind.set(Handing::Dynamic);
    work.dynamic.reset(0, 1);
    work.ordered.set(false);
    work.copyprivate.set(core::ptr::null_mut());
}

/// Begins a `single copyprivate`. Returns `None` in the thread that executes the construct, which then calls
/// [`copy_end`]. In the other threads returns the pointer that the executing thread passed there.
///
/// It is best if the thread that executed the last such construct executes this one, too. The other threads'
/// caches hold copies of its data, so data that another thread made would have to travel first. But a thread
/// that copied is the last to arrive at the barrier after the copying, and so is the first to go on: it is
/// ahead by the time that the release takes to reach the other threads. Therefore it hesitates a little, in
/// proportion to the time since it copied.
pub fn copy_start(th: &Thread) -> Option<*mut libc::c_void> {
    if th.team().is_across() {
        if construct::enter_single(th) {
            return None;
        }
        return Some(across::barrier(core::ptr::null_mut()));
    }
    let hesitate = |claimed: &dyn Fn() -> bool| {
        let copied = th.copied_at.get();
        if copied == 0 {
            return;
        }
        let now = sys::ticks();
        let patience = patience(now.wrapping_sub(copied));
        while sys::ticks().wrapping_sub(now) < patience && !claimed() {
            pause();
        }
    };
    let (work, first) = construct::enter_after(th, hesitate, prepare);
    if tool::on() {
        tell(th, first);
    }
    if first {
        th.copied_at.set(0);
        return None;
    }
    // The executing thread writes the pointer before this barrier. Compiled code has another barrier after
    // the copying, and the pointer's target lives until that one.
    team::barrier_of(th, Sync::Implementation);
    th.copied_at.set(sys::ticks().max(1));
    Some(work.copyprivate.get())
}

/// Ends a `single copyprivate` in the executing thread: passes `data` to the other threads.
pub fn copy_end(th: &Thread, data: *mut libc::c_void) {
    if th.team().is_across() {
        across::barrier(data);
        return;
    }
    if let Some(work) = construct::current(th) {
        work.copyprivate.set(data);
    }
    team::barrier_of(th, Sync::Implementation);
}

/// Passes a pointer from the executing thread of a construct to the other threads of the team. The thread
/// that passes `Some` is the executing thread. Its data must stay as it is until [`broadcast_end`].
pub fn broadcast(th: &Thread, data: Option<*mut libc::c_void>) -> *mut libc::c_void {
    if th.team().is_across() {
        return across::barrier(data.unwrap_or(core::ptr::null_mut()));
    }
    let shared = &th.team().broadcast;
    if let Some(data) = data {
        // Relaxed, because the barrier orders the accesses.
        shared.store(data, Ordering::Relaxed);
    }
    team::barrier_of(th, Sync::Implementation);
    shared.load(Ordering::Relaxed)
}

/// Ends a [`broadcast`]. Returns when all threads have used the data.
pub fn broadcast_end(th: &Thread) {
    team::barrier_of(th, Sync::Implementation);
}

/// Begins a `scope` with task reductions.
pub fn scope_start(th: &Thread, reductions: &dyn TaskReductions) {
    let extras = Extras {
        reductions: Some(reductions),
        memory: core::ptr::null_mut(),
    };
    // SAFETY: `memory` is null.
    unsafe { construct::enter_with(th, &extras, prepare) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hesitation_follows_the_time_since_the_copy() {
        assert_eq!(patience(0), 0);
        assert_eq!(patience(SHARE * SHORTEST - 1), 0);
        for since in (SHARE * SHORTEST..100_000).step_by(77) {
            let p = patience(since);
            assert!((SHORTEST..=LONGEST).contains(&p) && p * SHARE <= since);
        }
        assert_eq!(patience(u64::MAX), LONGEST);
    }
}
