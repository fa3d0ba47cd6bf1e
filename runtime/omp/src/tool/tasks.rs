//! The events of tasks and taskgroups. Every function here is called only while a tool is attached ([`super::on`]).

use super::callbacks::{self, Dependence as Told};
use super::events;
use super::interface::{
    Chunk, Data, Dispatch, Scope, State, Status, Sync, Work, EXPLICIT, FINAL, INITIAL, MERGEABLE,
    TASKWAIT, UNDEFERRED, UNTIED,
};
use super::record::TaskRecord;
use crate::task::record::{self, Group, Task};
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
    if task.flags.get() & record::UNTIED != 0 {
        flags |= UNTIED;
    }
    let caller = th.called_from();
    let (maker, new) = (th.task_record(), task.tool());
    new.begin(flags);
    new.chunk.set(th.tool.chunk.take());
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
    // `ompt_dependence_type_t`. The engine does not tell `out` and `inout` apart.
    let kind = match d.kind {
        _ if d.address == EVERYWHERE => 34,
        Kind::In => 1,
        Kind::Out => 3,
        Kind::MutexInOutSet => 4,
        Kind::InOutSet => 7,
    };
    Told {
        variable: d.address as u64,
        kind,
    }
}

/// The task `second` has to wait until the task `first` is complete.
#[cold]
pub(crate) fn waits_for(first: &Data, second: &Data) {
    callbacks::task_dependence(first, second);
}

/// Runs `wait`, in which the current task waits for dependences. The tool is told of a task without code that has them,
/// whose word `wait` gets.
#[cold]
pub(crate) fn waits(th: &Thread, depends: &[Dependence], wait: impl FnOnce(&Data)) {
    let caller = th.called_from();
    let (maker, data) = (th.task_record(), Data::new());
    let outer = maker.frame.enter.replace(th.tool.frame.get());
    let flags = TASKWAIT | UNDEFERRED | MERGEABLE;
    callbacks::task_create(&maker.data, &maker.frame, &data, flags, 1, caller);
    tell_dependences(&data, depends);
    let before = th.goes(State::WaitTaskwait);
    wait(&data);
    th.goes(before);
    callbacks::task_schedule(&data, Status::TaskwaitComplete, core::ptr::null());
    maker.frame.enter.set(outer);
}

/// The thread suspends `before` and begins or goes on with `task`. The caller has not made it current yet.
#[cold]
pub(crate) fn begins(th: &Thread, before: &Task, task: &Task) {
    let record = task.tool();
    record.frame.exit.set(core::ptr::from_ref(&record).addr());
    schedules(th, before, record);
}

/// As [`begins`], for a task whose body the program itself calls.
#[cold]
pub(crate) fn begins_in_program(th: &Thread, before: &Task, task: &Task) {
    let record = task.tool();
    record.frame.exit.set(th.tool.pointer.get());
    schedules(th, before, record);
}

fn schedules(th: &Thread, before: &Task, record: &TaskRecord) {
    record.beneath.set(core::ptr::from_ref(before).cast());
    let suspended = before.tool();
    let frame = &suspended.frame;
    // The code of the task before is in the runtime now. In a barrier this is known already. At the end of a region the
    // task has no code any more.
    let has_code = frame.exit.get() != 0 || suspended.flags.get() == INITIAL;
    if frame.enter.get() == 0 && has_code {
        frame.enter.set(th.tool.frame.get());
        record.entered.set(true);
    }
    let status = if th.tool.yields.take() {
        Status::Yield
    } else {
        Status::Switch
    };
    callbacks::task_schedule(&suspended.data, status, &record.data);
    th.goes(State::WorkParallel);
    if let Some(chunk) = record.chunk.get() {
        let region = &raw const th.team().shared.tool.data;
        let instance = core::ptr::from_ref(&chunk).addr();
        callbacks::dispatch(region, &record.data, Dispatch::TaskloopChunk, instance);
    }
}

/// The body of `task` has ended or was left out, and the thread goes back to `before`.
#[cold]
pub(crate) fn ends(th: &Thread, task: &Task, before: &Task, how: End) {
    let record = task.tool();
    let group = task.group.get();
    let status = match how {
        End::Detached => Status::Detach,
        End::Cancelled => {
            events::discards(record, group_is_cancelled(group));
            Status::Cancel
        }
        End::Complete if group_is_cancelled(group) => Status::Cancel,
        End::Complete => Status::Complete,
    };
    record.frame.exit.set(0);
    if record.entered.take() {
        before.tool().frame.enter.set(0);
    }
    callbacks::task_schedule(&record.data, status, &before.tool().data);
    // What the task's code called last tells nothing about the code that goes on.
    th.tool.caller.set(0);
}

fn group_is_cancelled(group: *const Group) -> bool {
    Group::is_cancelled(group)
}

/// Lets the thread run `other` tasks at a `taskyield`.
#[cold]
pub(crate) fn yields(th: &Thread, other: impl FnOnce()) {
    th.tool.yields.set(true);
    other();
    th.tool.yields.set(false);
}

/// The task that the thread makes next executes `iterations` iterations of a `taskloop`, from the loop variable's value
/// `start` on; `caller`: where the program called for the loop ([`work_of_taskloop`]).
#[cold]
pub fn makes_chunk(th: &Thread, start: u64, iterations: u64, caller: usize) {
    th.tool.chunk.set(Some(Chunk { start, iterations }));
    th.tool.caller.set(caller);
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
    // The call that begins a taskgroup may also be that of a taskloop, which follows.
    let caller = th.tool.caller.get();
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

/// Begins (`begins`) or ends a taskloop of `count` iterations. Returns where the program called for the loop; the call
/// that ends the taskloop gets that place back.
#[cold]
pub fn work_of_taskloop(th: &Thread, begins: bool, count: u64, caller: usize) -> usize {
    let caller = if begins { th.called_from() } else { caller };
    let region = &raw const th.team().shared.tool.data;
    let task = &raw const th.task_record().data;
    let scope = if begins { Scope::Begin } else { Scope::End };
    callbacks::work(Work::Taskloop, scope, region, task, count, caller);
    th.tool.caller.set(caller);
    caller
}
