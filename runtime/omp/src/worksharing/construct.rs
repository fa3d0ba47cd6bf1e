//! How a thread enters a construct, and finds the one that it is in.

use super::chain::Node;
use super::kinds::Handing;
use super::work::{Cursor, Shared, Work, Zeroed};
use crate::task::group;
use crate::thread::Thread;
use core::any::Any;
use hetmp_core::report;
use hetmp_core::sync::Ordering;
use std::sync::Arc;

/// Enters the calling thread's next construct. The first thread of the team to do so runs
/// `prepare` before the others go on. Returns the node, and whether this thread was the first.
#[inline]
pub(crate) fn enter(th: &Thread, prepare: impl FnOnce(&Work)) -> (&Work, bool) {
    enter_after(th, |_| {}, prepare)
}

/// As [`enter`], but lets another thread be the first while `hesitate` runs. That is given a
/// function that says whether some thread was.
#[inline]
pub(crate) fn enter_after(
    th: &Thread,
    hesitate: impl FnOnce(&dyn Fn() -> bool),
    prepare: impl FnOnce(&Work),
) -> (&Work, bool) {
    let n = th.nthreads();
    let (step, next) = th.team().works.chain.step(th.ctx.pos.get(), n);
    th.ctx.pos.set(next);
    th.ctx.work.set(step.node);
    th.ctx.cursor.set(Cursor::START);
    hesitate(&|| step.is_claimed());
    // A thread alone takes each node once.
    let first = n == 1 || step.claim();
    if first {
        step.node.clean();
        prepare(step.node);
        step.publish();
    }
    (step.node, first)
}

/// Enters a construct that one thread executes and that needs no preparation. True for that thread.
/// The current construct ([`current`]) stays what it was, and the chain is not needed: every thread
/// counts such constructs itself, and whoever brings the team's count to its own was the first.
#[inline]
pub(crate) fn enter_single(th: &Thread) -> bool {
    if th.nthreads() == 1 {
        return true;
    }
    let mine = th.ctx.singles.get();
    th.ctx.singles.set(mine.wrapping_add(1));
    // Without a look first: the line is with another thread more often than not, and a look would
    // fetch it a second time. Relaxed: nothing is passed on through the construct.
    th.team()
        .singles
        .compare_exchange(
            mine,
            mine.wrapping_add(1),
            Ordering::Relaxed,
            Ordering::Relaxed,
        )
        .is_ok()
}

/// The construct that the calling thread entered last, if any.
#[inline(always)]
pub(crate) fn current(th: &Thread) -> Option<&Work> {
    // SAFETY: null, or a node of the thread's team in a block that the thread has not left.
    unsafe { th.ctx.work.get().as_ref() }
}

/// Task reductions of a worksharing construct, as a compiler describes them: private copies for each thread, which all
/// threads' descriptions are to name. The engine gives the construct its taskgroup, and says who is first.
pub trait TaskReductions: core::fmt::Debug {
    /// Makes the copies: called in the first thread of the team that enters the construct, before others go on. The
    /// word goes to [`TaskReductions::adopt`].
    fn make(&self, th: &Thread) -> usize;
    /// Adopts the copies of the first thread, which [`TaskReductions::make`] left at `word`: called in every other thread.
    fn adopt(&self, th: &Thread, word: usize);
}

/// The clauses of a construct that need the runtime beyond the distribution of its work.
#[derive(Debug)]
pub struct Extras<'a> {
    /// Task reductions.
    pub reductions: Option<&'a dyn TaskReductions>,
    /// In: the size of the memory that the threads share. Out: its address. Or null.
    pub memory: *mut *mut libc::c_void,
}

/// Enters a construct with `extras`; otherwise as [`enter`].
///
/// # Safety
/// `extras.memory` is null, or leads to a word that compiled code reads and writes: a size, then an address.
pub(crate) unsafe fn enter_with<'a>(
    th: &'a Thread,
    extras: &Extras<'_>,
    prepare: impl FnOnce(&Work),
) -> &'a Work {
    let Extras { reductions, memory } = *extras;
    if reductions.is_some() {
        group::start_workshare(th);
    }
    let (work, first) = enter(th, |work| {
        prepare(work);
        if let Some(reductions) = reductions {
            work.reductions.set(reductions.make(th));
        }
        if !memory.is_null() {
            // SAFETY: this function's contract, which `abi` keeps with the pointer that compiled code passes; before it is
            // published, the node is this thread's alone.
            unsafe {
                let zeroed = Zeroed::new(*memory as usize);
                *work.shared.get() = Some(Box::new(Shared::Memory(zeroed)));
            }
            th.team().works.note_heavy();
        }
    });
    if let (false, Some(reductions)) = (first, reductions) {
        reductions.adopt(th, work.reductions.get());
    }
    if !memory.is_null() {
        // SAFETY: this function's contract, which `abi` keeps with the pointer that compiled code passes; a published node
        // is no longer written.
        unsafe {
            *memory = match (*work.shared.get()).as_deref() {
                Some(Shared::Memory(m)) => m.memory.as_ptr().cast(),
                _ => core::ptr::null_mut(),
            };
        }
    }
    work
}

/// An object that all threads of the team share: made by the first of them to come to this place of the
/// program. For what compiled code begins with a call of its own, apart from a loop's.
pub(crate) fn share(
    th: &Thread,
    make: impl FnOnce() -> Arc<dyn Any + Send + Sync>,
) -> Arc<dyn Any + Send + Sync> {
    let (work, _) = enter(th, |work| {
        // Nothing to hand out, should anybody ask.
        work.kind.set(Handing::Dynamic);
        work.dynamic.reset(0, 1);
        work.ordered.set(false);
        // SAFETY: the node is this thread's alone.
        unsafe { *work.shared.get() = Some(Box::new(Shared::Object(make()))) };
        th.team().works.note_heavy();
    });
    // SAFETY: written before the node was published, and only read since.
    match unsafe { (*work.shared.get()).as_deref() } {
        Some(Shared::Object(object)) => Arc::clone(object),
        _ => report::fatal(format_args!(
            "a construct that not all threads of the team meet in the same order"
        )),
    }
}

/// Marks an epoch in [`WorkChain::cancelled`] as one.
const VALID: u32 = 1 << 31;

/// Cancels the worksharing construct that the calling thread is in (`cancel for`, `cancel
/// sections`; OpenMP 5.1, section 2.20.1), for all threads of the team.
///
/// The construct is known by the number of the last barrier: a construct that can be cancelled ends
/// with a barrier, so the mark expires by itself. It need not have a node: static loops do
/// not call the runtime.
pub(crate) fn cancel(th: &Thread) {
    // A thread alone has left the construct when it asks again.
    if th.nthreads() > 1 {
        let mark = th.member().epoch.get() | VALID;
        th.team().works.cancelled.store(mark, Ordering::Release);
    }
}

/// Was the worksharing construct that the calling thread is in cancelled?
pub(crate) fn is_cancelled(th: &Thread) -> bool {
    th.nthreads() > 1
        && th.team().works.cancelled.load(Ordering::Acquire) == th.member().epoch.get() | VALID
}
