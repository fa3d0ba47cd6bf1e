//! The events of tasks and taskgroups. Every function here is called only while a tool is attached ([`super::on`]).

use super::callbacks::{self, Dependence as Told};
use super::interface::{Data, Scope, State, Status, Sync, Work, EXPLICIT, FINAL, UNDEFERRED};
use crate::task::record::{self, Task};
use crate::task::siblings::{Dependence, Kind, EVERYWHERE};
use crate::thread::Thread;

/// The current task has made `task`.
#[cold]
pub(crate) fn made(th: &Thread, task: &Task, undeferred: bool, depends: &[Dependence]) {
    let mut flags = EXPLICIT;
    if undeferred {
        flags |= UNDEFERRED;
    }
    if task.flags.get() & record::FINAL != 0 {
        flags |= FINAL;
    }
    let caller = th.called_from();
    let (maker, new) = (th.task_record(), task.tool());
    new.begin(flags);
    maker.frame.enter.set(th.tool.frame.get());
    callbacks::task_create(
        &maker.data,
        &maker.frame,
        &new.data,
        flags,
        i32::from(!depends.is_empty()),
        caller,
    );
    if !depends.is_empty() {
        tell_dependences(new.data(), depends);
    }
    maker.frame.enter.set(0);
}

fn tell_dependences(task: &Data, depends: &[Dependence]) {
    let told: Vec<Told> = depends.iter().map(told).collect();
    callbacks::dependences(task, told.as_ptr(), told.len() as i32);
}

fn told(d: &Dependence) -> Told {
    // `ompt_dependence_type_t`. The engine does not tell `out`, `inout` and `mutexinoutset` apart.
    let kind = match d.kind {
        _ if d.address == EVERYWHERE => 34,
        Kind::In => 1,
        Kind::Out => 3,
        Kind::InOutSet => 7,
    };
    Told {
        variable: d.address as u64,
        kind,
    }
}

/// The thread suspends `before` and begins or goes on with `task`. The caller has not made it current yet.
#[cold]
pub(crate) fn begins(th: &Thread, before: &Task, task: &Task) {
    let record = task.tool();
    record.beneath.set(core::ptr::from_ref(before).cast());
    record.frame.exit.set(core::ptr::from_ref(&record).addr());
    callbacks::task_schedule(&before.tool().data, Status::Switch, &record.data);
    th.goes(State::WorkParallel);
}

/// The body of `task` has ended or was left out, and the thread goes back to `before`.
#[cold]
pub(crate) fn ends(task: &Task, before: &Task, how: End) {
    let status = match how {
        End::Complete => Status::Complete,
        End::Cancelled => Status::Cancel,
        End::Detached => Status::Detach,
    };
    let record = task.tool();
    record.frame.exit.set(0);
    callbacks::task_schedule(&record.data, status, &before.tool().data);
}

/// How a task's body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The task is complete.
    Complete,
    /// The body did not run, because the task was cancelled.
    Cancelled,
    /// The task completes when its event is fulfilled.
    Detached,
}

/// The event of `task` is fulfilled. `late`: its body has ended before.
#[cold]
pub(crate) fn fulfilled(task: &Task, late: bool) {
    let status = if late {
        Status::LateFulfill
    } else {
        Status::EarlyFulfill
    };
    callbacks::task_schedule(&task.tool().data, status, core::ptr::null());
}

/// The current task begins a taskgroup.
#[cold]
pub(crate) fn group_begins(th: &Thread) {
    let caller = th.called_from();
    let region = &raw const th.team().shared.tool.data;
    callbacks::sync_region(
        Sync::Taskgroup,
        Scope::Begin,
        region,
        &th.task_record().data,
        caller,
    );
}

/// Runs `wait`, in which the current task waits for the tasks of its taskgroup, and ends the taskgroup.
#[cold]
pub(crate) fn group_ends(th: &Thread, wait: impl FnOnce()) {
    let caller = th.called_from();
    let region = &raw const th.team().shared.tool.data;
    let task = th.task_record();
    let before = th.goes(State::WaitTaskgroup);
    let outer = task.frame.enter.replace(th.tool.frame.get());
    callbacks::sync_region_wait(Sync::Taskgroup, Scope::Begin, region, &task.data, caller);
    wait();
    callbacks::sync_region_wait(Sync::Taskgroup, Scope::End, region, &task.data, caller);
    callbacks::sync_region(Sync::Taskgroup, Scope::End, region, &task.data, caller);
    task.frame.enter.set(outer);
    th.goes(before);
}

/// Runs `make`, which makes the tasks of a taskloop of `count` iterations.
#[cold]
pub fn taskloop(th: &Thread, count: u64, make: impl FnOnce()) {
    let caller = th.tool.caller.get();
    let region = &raw const th.team().shared.tool.data;
    let task = &raw const th.task_record().data;
    callbacks::work(Work::Taskloop, Scope::Begin, region, task, count, caller);
    make();
    callbacks::work(Work::Taskloop, Scope::End, region, task, count, caller);
}
