//! The `single` construct (OpenMP 5.1, section 2.10.2), with and without `copyprivate`, and
//! `scope` with task reductions (section 2.9).

use crate::across::local as across;
use crate::team::region as team;
use crate::thread::Thread;
use crate::worksharing::construct::{self, Extras, TaskReductions};
use crate::worksharing::kinds::Handing;
use crate::worksharing::work::Work;
use hetmp_core::sync::{pause, Ordering};
use hetmp_core::sys;

/// A thread that copied hesitates for at most this part of the time since then.
const SHARE: u64 = 16;
/// Longest hesitation, in ticks: some 1.5 us, enough for a thread that was released from the same
/// barrier to come first, where the cores are 250 ns apart too.
const LONGEST: u64 = 4_000;
/// Hesitations shorter than this, in ticks, are left out: the data was small, or nothing was done
/// since, and the other thread would come too late.
const SHORTEST: u64 = 250;

/// True for the one thread that is to execute the construct.
#[inline]
pub fn start(th: &Thread) -> bool {
    construct::enter_single(th)
}

/// How many ticks a thread hesitates that copied `since` ticks ago.
fn patience(since: u64) -> u64 {
    match (since / SHARE).min(LONGEST) {
        0..SHORTEST => 0,
        patience => patience,
    }
}

fn prepare(work: &Work) {
    // Nothing to hand out, should anybody ask.
    work.kind.set(Handing::Dynamic);
    work.dynamic.reset(0, 1);
    work.ordered.set(false);
    work.copyprivate.set(core::ptr::null_mut());
}

/// Begins a `single copyprivate`. `None`: the calling thread executes it, and calls [`copy_end`].
/// Otherwise the pointer that the executing thread gave there.
///
/// The thread that executed the last one had better execute this one too: the others have copies of
/// its data in their caches, while data that was just copied has to come back through the caches
/// first. But the thread that copied is the last to arrive at the barrier after it, so goes on
/// first, by the time that a release takes to reach the other one. So it hesitates a little, in
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
    if first {
        th.copied_at.set(0);
        return None;
    }
    // The executor writes the pointer before this barrier, and the compiled code has another one
    // after it has copied: the pointer's target lives until then.
    team::barrier(th);
    th.copied_at.set(sys::ticks().max(1));
    Some(work.copyprivate.get())
}

/// Ends a `single copyprivate` in the executing thread: gives `data` to the others.
pub fn copy_end(th: &Thread, data: *mut libc::c_void) {
    if th.team().is_across() {
        across::barrier(data);
        return;
    }
    if let Some(work) = construct::current(th) {
        work.copyprivate.set(data);
    }
    team::barrier(th);
}

/// Gives the others of the team what the executor of a construct has: the thread that passes `Some` is
/// the executor. Between [`broadcast`] and [`broadcast_end`] the executor's data stays as it is.
pub fn broadcast(th: &Thread, data: Option<*mut libc::c_void>) -> *mut libc::c_void {
    let shared = &th.team().broadcast;
    if let Some(data) = data {
        // Relaxed: the barrier orders the accesses.
        shared.store(data, Ordering::Relaxed);
    }
    team::barrier(th);
    shared.load(Ordering::Relaxed)
}

/// Ends a [`broadcast`]: everybody has what the executor gave.
pub fn broadcast_end(th: &Thread) {
    team::barrier(th);
}

/// Begins a `scope` with task reductions.
pub fn scope_start(th: &Thread, reductions: &dyn TaskReductions) {
    let extras = Extras {
        reductions: Some(reductions),
        memory: core::ptr::null_mut(),
    };
    // SAFETY: no memory is asked for.
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
