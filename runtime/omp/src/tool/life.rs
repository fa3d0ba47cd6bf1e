//! The begin and the end of threads, as the tool sees them.

use super::callbacks;
use super::interface::{Kind, Scope, State, INITIAL};
use super::record::{TaskRecord, TeamRecord, ThreadRecord};

/// A thread that the program made becomes known to the runtime. `task` is its initial task.
#[cold]
pub(crate) fn begin_initial(th: &ThreadRecord, task: &TaskRecord, region: &TeamRecord) {
    task.begin(INITIAL);
    region.data.0.set(0);
    th.begun.set(true);
    th.state.set(State::Overhead);
    callbacks::thread_begin(Kind::Initial, &th.data);
    callbacks::implicit_task(Scope::Begin, &region.data, &task.data, 1, 1, INITIAL);
    th.state.set(State::WorkSerial);
}

/// A thread that the program made ends, or the process does.
#[cold]
pub(crate) fn end_initial(th: &ThreadRecord, task: Option<&TaskRecord>) {
    if !th.begun.replace(false) {
        return;
    }
    if let Some(task) = task {
        callbacks::implicit_task(Scope::End, core::ptr::null(), &task.data, 0, 1, INITIAL);
    }
    callbacks::thread_end(&th.data);
}

/// A worker begins.
#[cold]
pub(crate) fn begin_worker(th: &ThreadRecord) {
    th.begun.set(true);
    th.state.set(State::Overhead);
    callbacks::thread_begin(Kind::Worker, &th.data);
    th.state.set(State::Idle);
}

/// A worker ends.
#[cold]
pub(crate) fn end_worker(th: &ThreadRecord) {
    if th.begun.replace(false) {
        callbacks::thread_end(&th.data);
    }
}
