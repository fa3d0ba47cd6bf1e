//! The `taskgroup` construct (OpenMP 5.1, section 2.19.6).

pub use super::record::Group;
use super::wait;
use crate::thread::Thread;
use crate::tool::{self, tasks};

/// Begins a taskgroup in the current task.
pub fn start(th: &Thread) {
    let task = th.task();
    if tool::on() {
        tasks::group_begins(th);
    }
    let group = Box::new(Group::new(task.group.get(), &raw const th.member().sleep));
    task.group.set(Box::into_raw(group));
}

/// Begins the taskgroup of a worksharing construct with task reductions. Cancelling it cancels the taskgroup
/// around it.
pub(crate) fn start_workshare(th: &Thread) {
    start(th);
    if let Some(group) = innermost(th) {
        group.workshare.set(true);
    }
}

/// The innermost taskgroup of the current task.
pub fn innermost(th: &Thread) -> Option<&Group> {
    Group::of(th.task().group.get())
}

/// Makes a taskgroup for all implicit tasks of a region ([`crate::team::Region::group`]).
pub fn of_region() -> Box<Group> {
    Box::new(Group::new(core::ptr::null(), core::ptr::null()))
}

/// Ends the innermost taskgroup of the current task: waits for its tasks.
pub fn end(th: &Thread) {
    let task = th.task();
    let p = task.group.get();
    let Some(group) = Group::of(p) else {
        return;
    };
    if tool::on() {
        tasks::group_ends(th, || wait::for_group(th, group));
    } else if !group.is_empty() {
        wait::for_group(th, group);
    }
    task.group.set(group.outer.get());
    // SAFETY: `start` made the group. It is empty, and no new task can enter it.
    let group = unsafe { Box::from_raw(p.cast_mut()) };
    if let Some(reductions) = group.into_privates() {
        reductions.end();
    }
}
