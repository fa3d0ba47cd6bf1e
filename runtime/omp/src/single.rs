//! The `single` construct (OpenMP 5.1, section 2.10.2), with and without `copyprivate`, and
//! `scope` with task reductions (section 2.9).

use crate::loops::Kind;
use crate::team;
use crate::thread::Thread;
use crate::work::{self, Extras, Work};

/// True for the one thread that is to execute the construct.
#[inline]
pub fn start(th: &Thread) -> bool {
    work::enter_single(th)
}

fn prepare(work: &Work) {
    // Nothing to hand out, should anybody ask.
    work.kind.set(Kind::Dynamic);
    work.dynamic.reset(0, 1);
    work.ordered.set(false);
    work.copyprivate.set(core::ptr::null_mut());
}

/// Begins a `single copyprivate`. `None`: the calling thread executes it, and calls [`copy_end`].
/// Otherwise the pointer that the executing thread gave there.
pub fn copy_start(th: &Thread) -> Option<*mut libc::c_void> {
    let (work, first) = work::enter(th, prepare);
    if first {
        return None;
    }
    // The executor writes the pointer before this barrier, and the compiled code has another one
    // after it has copied: the pointer's target lives until then.
    team::barrier(th);
    Some(work.copyprivate.get())
}

/// Ends a `single copyprivate` in the executing thread: gives `data` to the others.
pub fn copy_end(th: &Thread, data: *mut libc::c_void) {
    if let Some(work) = work::current(th) {
        work.copyprivate.set(data);
    }
    team::barrier(th);
}

/// Begins a `scope` with task reductions.
///
/// # Safety
/// `reductions` is a descriptor as gcc makes it.
pub unsafe fn scope_start(th: &Thread, reductions: *mut usize) {
    let extras = Extras {
        reductions,
        memory: core::ptr::null_mut(),
    };
    // SAFETY: the caller's promise.
    unsafe { work::enter_with(th, &extras, prepare) };
}
