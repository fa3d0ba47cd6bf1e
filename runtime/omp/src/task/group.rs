//! Taskgroups (OpenMP 5.1, section 2.19.6).

use super::counts::Live;
use super::privates::Reductions;
use crate::team::region::{Member, Team};
use crate::thread::Thread;
use core::cell::{Cell, UnsafeCell};
use hetmp_core::sync::{AtomicBool, Ordering};

/// One taskgroup: counts its deferred tasks that are not complete.
#[derive(Debug)]
pub struct Group {
    live: Live,
    pub(crate) cancelled: AtomicBool,
    pub(crate) outer: Cell<*const Group>,
    /// Who waits at the end; null for a group that a whole region shares.
    runner: Cell<*const Member>,
    /// Descriptors of task reductions, see `reduction`.
    pub(crate) reductions: Cell<*mut usize>,
    /// Task reductions whose copies the runtime makes. Written by the task that began the group, before
    /// it makes tasks that may look.
    privates: UnsafeCell<Option<Box<Reductions>>>,
    /// The group was made for a worksharing construct with task reductions.
    pub(crate) workshare: Cell<bool>,
}

impl Group {
    /// A group inside `outer`, whose end `runner` waits for.
    pub fn new(outer: *const Group, runner: *const Member) -> Group {
        Group {
            live: Live::new(),
            cancelled: AtomicBool::new(false),
            outer: Cell::new(outer),
            runner: Cell::new(runner),
            // Reductions of the groups around are in scope inside.
            reductions: Cell::new(
                Group::of(outer).map_or(core::ptr::null_mut(), |o| o.reductions.get()),
            ),
            workshare: Cell::new(false),
            privates: UnsafeCell::new(None),
        }
    }

    /// Gives the group reductions; before tasks are made in it, by the task that began it.
    pub(super) fn set_privates(&self, reductions: Reductions) {
        // SAFETY: nobody else looks yet: the compiled code calls this between the start of the
        // construct and its first task.
        unsafe { *self.privates.get() = Some(Box::new(reductions)) };
    }

    /// The group's reductions.
    pub(super) fn privates(&self) -> Option<&Reductions> {
        // SAFETY: written only by `set_privates`, before the tasks of the group that come here.
        unsafe { (*self.privates.get()).as_deref() }
    }

    /// The group at `p`, unless null.
    #[inline]
    pub(crate) fn of<'a>(p: *const Group) -> Option<&'a Group> {
        // SAFETY: a group lives until its owner has seen all its tasks complete, and a task's
        // pointer to it is only used by the task and for its completion.
        unsafe { p.as_ref() }
    }

    /// True when the group, or the one a worksharing group stands in, was cancelled.
    pub(crate) fn is_cancelled(p: *const Group) -> bool {
        Group::of(p).is_some_and(|g| {
            g.cancelled.load(Ordering::Relaxed)
                || (g.workshare.get()
                    && Group::of(g.outer.get())
                        .is_some_and(|o| o.cancelled.load(Ordering::Relaxed)))
        })
    }

    /// `cancel taskgroup` from inside the group.
    pub(crate) fn cancel(p: *const Group) {
        if let Some(g) = Group::of(p) {
            match Group::of(g.outer.get()) {
                Some(outer) if g.workshare.get() => outer,
                _ => g,
            }
            .cancelled
            .store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn enter(&self) {
        self.live.enter();
    }

    /// One task complete. The group may be gone when this returns.
    #[inline]
    pub(crate) fn leave(&self, team: &Team) {
        let runner = self.runner.get();
        if self.live.leave() {
            // SAFETY: members live as long as their team.
            if let Some(m) = unsafe { runner.as_ref() } {
                team.nudge(m);
            }
        }
    }

    /// True when all tasks are complete (acquire).
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    pub(crate) fn set_waiting(&self, yes: bool) {
        self.live.set_waiting(yes);
    }
}

/// Begins a taskgroup in the current task.
pub fn start(th: &Thread) {
    let task = th.task();
    let group = Box::new(Group::new(task.group.get(), th.ctx.member.get()));
    task.group.set(Box::into_raw(group));
}

/// Ends the innermost taskgroup of the current task: waits for its tasks.
pub fn end(th: &Thread) {
    let task = th.task();
    let p = task.group.get();
    let Some(group) = Group::of(p) else {
        return;
    };
    if !group.is_empty() {
        super::wait::for_group(th, group);
    }
    task.group.set(group.outer.get());
    // SAFETY: made by `start`; empty, and no new task can enter it.
    let group = unsafe { Box::from_raw(p.cast_mut()) };
    if let Some(reductions) = group.privates.into_inner() {
        reductions.end();
    }
}
