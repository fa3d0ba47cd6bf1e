//! How a thread enters a worksharing construct, and finds the construct in which it is.
//!
//! A node of the chain is written by the thread that claimed it, before it is published, and only read afterwards; it
//! lives until the last thread has left the construct.

use super::chain::Node;
use super::kinds::Handing;
use super::work::{Cursor, Shared, Work, Zeroed};
use crate::task::group;
use crate::thread::Thread;
use crate::tool;
use core::any::Any;
use hetmp_core::report;
use hetmp_core::sync::Ordering;
use std::sync::Arc;

/// Enters the calling thread's next construct. The first thread of the team to do so runs `prepare` before
/// the others go on. Returns the construct's node, and whether this thread was the first.
#[inline]
pub(crate) fn enter(th: &Thread, prepare: impl FnOnce(&Work)) -> (&Work, bool) {
    enter_after(th, |_| {}, prepare)
}

/// As [`enter`], but another thread may become the first while `hesitate` runs. The argument of `hesitate` is
/// a function that tells whether another thread has become the first.
#[inline]
pub(crate) fn enter_after(
    th: &Thread,
    hesitate: impl FnOnce(&dyn Fn() -> bool),
    prepare: impl FnOnce(&Work),
) -> (&Work, bool) {
    let n = th.nthreads();
    // SAFETY: the thread's context says where it is. It is set when the thread joins a region, and here.
    let (step, next) = unsafe { th.team().works.chain.step(th.ctx.pos.get(), n) };
    th.ctx.pos.set(next);
    th.ctx.work.set(step.node);
    th.ctx.cursor.set(Cursor::START);
    hesitate(&|| step.is_claimed());
    // If the team has one thread, this thread is the first at every node.
    let first = n == 1 || step.claim();
    if first {
        // SAFETY: this thread alone has claimed the node.
        unsafe { step.node.clean() };
        prepare(step.node);
        step.publish();
    }
    (step.node, first)
}

/// Tells the tool, if there is one, that the thread has entered a construct whose work is in `work`.
#[inline]
pub(crate) fn tell<'a>(th: &Thread, work: &'a Work) -> &'a Work {
    if tool::on() {
        tool::events::work_begins(th, work);
    }
    work
}

/// Enters a construct that one thread executes and that needs no preparation. Returns true in that thread.
/// [`current`] still returns the construct before this one, since [`super::singles`] does without the chain.
#[inline]
pub(crate) fn enter_single(th: &Thread) -> bool {
    if th.nthreads() == 1 {
        return true;
    }
    let (met, mine) = th.team().singles.step(th.ctx.singles.get());
    th.ctx.singles.set(met);
    mine
}

/// The construct that the calling thread entered last, if any.
#[inline(always)]
pub(crate) fn current(th: &Thread) -> Option<&Work> {
    // SAFETY: null, or a node of the thread's team in a block that the thread has not left.
    unsafe { th.ctx.work.get().as_ref() }
}

/// Task reductions of a worksharing construct, as a compiler describes them. Each thread has a description of
/// its own, and all descriptions must lead to the same private copies. The engine makes a taskgroup for the
/// construct, and decides which thread is the first.
pub trait TaskReductions: core::fmt::Debug {
    /// Makes the private copies. Called in the first thread of the team that enters the construct, before the
    /// other threads go on. The result is passed to [`TaskReductions::adopt`].
    fn make(&self, th: &Thread) -> usize;
    /// Takes over the first thread's copies. Called in every other thread. `word` is the result of
    /// [`TaskReductions::make`].
    fn adopt(&self, th: &Thread, word: usize);
}

/// The clauses of a construct for which the runtime must do more than hand out work.
#[derive(Debug)]
pub struct Extras<'a> {
    /// Task reductions.
    pub reductions: Option<&'a dyn TaskReductions>,
    /// Null, or the place of a word. On entry the word is the size in bytes of the memory that the threads
    /// share; on return it is the memory's address.
    pub memory: *mut *mut libc::c_void,
}

/// Enters a construct that has clauses as in `extras`; otherwise the same as [`enter`].
///
/// # Safety
/// `extras.memory` is null, or the address of a word of compiled code that holds a size and may be
/// overwritten.
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
            // SAFETY: the word may be read: this function's contract. Only this thread touches the node
            // before it is published.
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
        // SAFETY: the word may be written: this function's contract. No thread writes a node that is
        // published.
        unsafe {
            *memory = match (*work.shared.get()).as_deref() {
                Some(Shared::Memory(m)) => m.memory.as_ptr().cast(),
                _ => core::ptr::null_mut(),
            };
        }
    }
    work
}

/// Returns an object that all threads of the team share. The first thread that comes to this place of the
/// program makes the object. Used for data that compiled code announces by a call of its own, before it
/// enters the loop.
pub(crate) fn share(
    th: &Thread,
    make: impl FnOnce() -> Arc<dyn Any + Send + Sync>,
) -> Arc<dyn Any + Send + Sync> {
    let (work, _) = enter(th, |work| {
        // The construct has no work to hand out, so a thread that asks for work gets none.
        work.kind.set(Handing::Dynamic);
        work.dynamic.reset(0, 1);
        work.ordered.set(false);
        // SAFETY: only this thread touches the node before it is published.
        unsafe { *work.shared.get() = Some(Box::new(Shared::Object(make()))) };
        th.team().works.note_heavy();
    });
    // SAFETY: the first thread wrote the field before it published the node, and no thread has written it
    // since.
    match unsafe { (*work.shared.get()).as_deref() } {
        Some(Shared::Object(object)) => Arc::clone(object),
        _ => report::fatal(format_args!(
            "a construct that not all threads of the team meet in the same order"
        )),
    }
}

/// Marks the value of [`WorkChain::cancelled`] as an epoch.
const VALID: u32 = 1 << 31;

/// Cancels the worksharing construct that the calling thread is in, for all threads of the team (`cancel
/// for`, `cancel sections`; OpenMP 5.1, section 2.20.1).
///
/// The construct is identified by the number of the last barrier. A construct that can be cancelled ends with
/// a barrier, so the mark does not count any more after it. A construct's node would not do, because a static
/// loop does not call the runtime and has no node.
pub(crate) fn cancel(th: &Thread) {
    // In a team of one, the thread leaves the construct at once, and no other thread must learn of it.
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
