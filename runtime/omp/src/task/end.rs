//! What happens when a task's body has ended, and when its event was fulfilled: who is told, and whose record is freed.
//!
//! The order of steps is the invariant: children are dropped by the thread that runs the task, then the end is counted,
//! then the record is buried; a parent's record lives until its children's are released, and a team until its tasks are
//! counted.

use super::depend;
use super::event::{self, Claim, Handle};
use super::record::{dispose, Group, Task, DEFERRED, DETACHED};
use super::run::count_child;
use super::wait;
use crate::thread::Thread;
use crate::tool;
use crate::tool::tasks;
use libc::c_void;

/// Frees the sites at which the task's children named dependences.
#[inline]
pub(super) fn leave_children(t: &Task) {
    // SAFETY: only the thread that runs a task touches `children`, and the body has ended.
    unsafe {
        if (*t.children.get()).is_some() {
            *t.children.get() = None;
        }
    }
}

/// Ends the record of a task that was never deferred.
///
/// # Safety
/// The body has ended.
pub(super) unsafe fn release_undeferred(th: &Thread, t: &Task) {
    let spawned = t.spawned.get();
    if spawned == 0 {
        // SAFETY: without children nobody refers to it.
        unsafe { th.cache.give(core::ptr::from_ref(t).cast_mut()) };
        return;
    }
    // Children may outlive `t`: its record stays until the last is released, and keeps its parent's record
    // alive.
    //
    // SAFETY: the parent runs on this thread.
    let parent = unsafe { &*t.parent.get() };
    count_child(th, parent);
    parent.counts.child_complete();
    // SAFETY: the body has ended (this function's contract), and the counts know its children.
    unsafe { bury(Some(th), t, spawned) };
}

/// The body of a deferred task has ended, or was left out (`skip`). Completes the task, unless its event is not
/// fulfilled yet.
///
/// # Safety
/// Called once for each deferred task, after its body.
#[inline(always)]
pub(super) unsafe fn body_ended(th: &Thread, task: &Task, skip: bool) {
    if task.flags.get() & DETACHED != 0 && !end_detached(task.event.get(), skip) {
        // The task completes when its event is fulfilled; from here on the record belongs to the fulfilling
        // thread.
        return;
    }
    // SAFETY: the body has ended and the event, if any, was fulfilled.
    unsafe { complete(Some(th), task) };
}

/// Completes a deferred task: releases successors, tells taskgroup and parent, frees the record, counts it as
/// finished.
///
/// `th` is the completing thread, if it is a member of the task's team.
///
/// # Safety
/// Called once for each deferred task, after its body (and its event).
unsafe fn complete(th: Option<&Thread>, task: &Task) {
    // SAFETY: a team outlives its tasks: the region does not end before `finished` says so below.
    let team = unsafe { &*task.team.get() };
    let member = th.map_or(&*team.members[0], Thread::member);
    let phase = task.phase.get() as usize;
    depend::release(team, member, task);
    if let Some(group) = Group::of(task.home.get()) {
        let waiter = group.leave();
        // SAFETY: null, or part of a member, which lives as long as its team.
        if let Some(waiter) = unsafe { waiter.as_ref() } {
            team.nudge_sleeper(waiter);
        }
    }
    // SAFETY: the body has ended, and this is the only call for this record.
    unsafe { bury(th, task, task.spawned.get()) };
    // Last: once the sums agree, the region may end and the team may change.
    match th {
        Some(th) => th.member().sums.finish(phase),
        None => team.tasks.outside.finish(phase),
    }
}

/// Tells the parent that `task` is complete, and frees its record when no child needs it.
///
/// # Safety
/// The body has ended, and no one but the task's children refers to the record.
unsafe fn bury(th: Option<&Thread>, task: &Task, spawned: u32) {
    let deferred = task.flags.get() & DEFERRED != 0;
    // SAFETY: a parent's record lives until this record's release is counted.
    let parent = unsafe { &*task.parent.get() };
    let runner = parent.runner.get();
    let team = task.team.get();
    // SAFETY: the waiting member and its team live: this task is not yet counted as finished.
    let nudge = || unsafe { (*team).nudge_sleeper(&*runner) };
    if spawned != 0 {
        // Tell the parent first: once this record belongs to its children, the last of them may free it, and
        // with it everything that keeps the parent's record.
        if deferred && parent.counts.child_complete() {
            nudge();
        }
        if task.counts.complete(spawned) {
            // SAFETY: complete, and all children are released.
            unsafe { release_chain(th, task) };
        }
        return;
    }
    // SAFETY: complete and without children: nobody refers to it.
    unsafe { free(th, task) };
    let told = parent.counts.child_released(deferred);
    if told.waiting {
        nudge();
    }
    if told.dead {
        // SAFETY: the parent was complete, and this was its last child.
        unsafe { release_chain(th, parent) };
    }
}

/// Frees a complete record whose last child was released, then its parent's if that follows, and so on
/// upwards.
///
/// # Safety
/// Nobody refers to `task` any more.
unsafe fn release_chain(th: Option<&Thread>, task: &Task) {
    let mut task = task;
    loop {
        let parent = task.parent.get();
        // SAFETY: nobody refers to `task`: by this function's contract, and in each further turn by the count
        // that has just become zero.
        unsafe { free(th, task) };
        if parent.is_null() {
            return;
        }
        // SAFETY: a parent's record lives until its children's releases are counted.
        let p = unsafe { &*parent };
        if !p.counts.child_released(false).dead {
            return;
        }
        task = p;
    }
}

unsafe fn free(th: Option<&Thread>, task: &Task) {
    let p = core::ptr::from_ref(task).cast_mut();
    match th {
        // SAFETY: called by `release_chain` and for records without children: complete, so that nobody refers to the
        // record.
        Some(th) => unsafe { th.cache.give(p) },
        // SAFETY: called by `release_chain` and for records without children: complete, so that nobody refers to the
        // record.
        None => unsafe { dispose(p) },
    }
}

/// The body of a detachable task has ended, or was skipped. True if the task is complete now.
#[cold]
fn end_detached(event: Handle, skipped: bool) -> bool {
    if skipped {
        return event::discard(event);
    }
    let fulfilled = event::body_ended(event);
    if fulfilled {
        event::close(event);
    }
    fulfilled
}

/// `omp_fulfill_event` (OpenMP 5.1, section 3.11.1), from any thread. Does nothing if the event's task was
/// discarded.
pub fn fulfill(event: *mut c_void) {
    let handle = Handle::from_program(event);
    let task = match event::claim(handle) {
        // SAFETY: the task is not complete before its event is fulfilled, and only this thread can do that
        // from now on.
        Claim::Task(task) => unsafe { &*task.cast::<Task>() },
        Claim::Over => return,
        Claim::Twice => hetmp_core::report::fatal(format_args!(
            "omp_fulfill_event {event:p}: an event can be fulfilled once"
        )),
        Claim::Never => hetmp_core::report::fatal(format_args!(
            "omp_fulfill_event {event:p}: no event (expected that of a detach clause)"
        )),
    };
    // SAFETY: this thread has claimed the event, so the task is not complete, and its team is in use.
    let team = unsafe { &*task.team.get() };
    let deferred = task.flags.get() & DEFERRED != 0;
    let runner = task.runner.get();
    // Register as a helper: after the fulfillment nothing else keeps the team from changing.
    team.tasks.helpers.enter();
    if tool::on() {
        tasks::fulfilled(task, event::has_body_ended(handle));
    }
    let ended = event::fulfill(handle);
    if !deferred {
        // SAFETY: members are not dropped while a helper is registered. (The task's maker waits for it,
        // perhaps asleep.)
        team.nudge_sleeper(unsafe { &*runner });
    } else if ended {
        event::close(handle);
        let th = Thread::try_current().filter(|th| core::ptr::eq(th.team(), team));
        // SAFETY: the body has ended, and this thread fulfilled the event: so this thread completes the task.
        unsafe {
            complete(th, task);
        }
        // A needless wake-up does no harm.
        wait::drained(team);
    }
    team.tasks.helpers.leave();
}
