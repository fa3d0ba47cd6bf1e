//! The events of regions, barriers and worksharing constructs. Every function here is called only while a tool is
//! attached ([`super::on`]).
//!
//! # What follows what
//! A region: *parallel begin* in the thread that opens it; in each of its threads *implicit task begin*, then whatever
//! the code meets, then the barrier at the end (*sync region* and in it *sync region wait*) and *implicit task end*;
//! last *parallel end* in the thread that opened it. A worker need not wait at the end of a region: its wait ends when
//! it has reported, which may be after *parallel end*. So a worker gets no data of the region there.

use super::callbacks::{self, Dependence};
use super::interface::{
    Chunk, Dispatch, Scope, State, Sync, Work, BY_PROGRAM, BY_RUNTIME, IMPLICIT, INITIAL, TEAM,
    UNDEFERRED,
};
use super::record::{TaskRecord, TeamRecord};
use crate::team::members::Team;
use crate::thread::Thread;
use crate::worksharing::kinds::Handing;
use crate::worksharing::work::Work as Node;
use core::cell::Cell;
use core::ffi::CStr;

impl Thread {
    /// Where the program made the call that the thread is in; 0: not known. The answer is given once: a call that an
    /// entry did not note must not get the place of an earlier call.
    pub(super) fn called_from(&self) -> usize {
        self.tool.caller.take()
    }

    /// The current task's record.
    pub(super) fn task_record(&self) -> &TaskRecord {
        self.task().tool()
    }

    /// Sets the state and returns the one before.
    pub(super) fn goes(&self, state: State) -> State {
        self.tool.state.replace(state)
    }

    /// The state of a thread that runs the program's code.
    fn working(&self) -> State {
        if self.team().level() == 0 {
            State::WorkSerial
        } else {
            State::WorkParallel
        }
    }
}

/// Notes from where the program has called the runtime: the return address, the canonical frame address, and the
/// content of the register for frame pointers. Called by entries while any observer is there. The first call in the
/// process looks for a tool.
pub fn note(caller: usize, frame: usize, pointer: usize) {
    /// The largest frame of a caller. A register that does not point so near above the call holds something else: the
    /// program was compiled without frame pointers.
    const NEAR: usize = 1 << 20;
    if !super::attach::attach() {
        return;
    }
    let th = Thread::current();
    th.tell_begin();
    th.tool.caller.set(caller);
    th.tool.frame.set(frame);
    let points_near = pointer % align_of::<usize>() == 0
        && (frame..frame.saturating_add(NEAR)).contains(&pointer);
    th.tool
        .pointer
        .set(if points_near { pointer } else { frame });
}

/// The program itself calls the primary thread's part of the region that `th` opens next.
#[cold]
pub(crate) fn program_runs_next_part(th: &Thread) {
    th.tool.opens.set(true);
}

/// `th` opens `region`, for which the program asks for `asked` threads. Called before the workers start.
#[cold]
pub(crate) fn region_begins(th: &Thread, region: &TeamRecord, asked: u32) {
    let by = if th.tool.opens.take() {
        BY_PROGRAM
    } else {
        BY_RUNTIME
    };
    let task = th.task_record();
    region.data.0.set(0);
    region.caller.set(th.called_from());
    region.flags.set(TEAM | by);
    region.around.set(th.tool.work.get());
    task.frame.enter.set(th.tool.frame.get());
    th.goes(State::Overhead);
    callbacks::parallel_begin(
        &task.data,
        &task.frame,
        &region.data,
        asked,
        region.flags.get(),
        region.caller.get(),
    );
}

/// `region`, which `th` opened, has ended, and `th` is where it was before.
#[cold]
pub(crate) fn region_ends(th: &Thread, region: &TeamRecord) {
    let task = th.task_record();
    task.frame.enter.set(0);
    th.tool.work.set(region.around.take());
    callbacks::parallel_end(
        &region.data,
        &task.data,
        region.flags.get(),
        region.caller.get(),
    );
    th.goes(th.working());
}

/// The thread begins its part of a region of `threads` threads.
#[cold]
pub(crate) fn part_begins(th: &Thread, threads: u32) {
    let team = th.team();
    let task = th.task_record();
    task.begin(IMPLICIT);
    // Code that calls the program's function by a frame of its own writes a better address there.
    task.frame.exit.set(core::ptr::from_ref(&task).addr());
    th.tool.work.set(None);
    th.goes(State::WorkParallel);
    callbacks::implicit_task(
        Scope::Begin,
        &team.shared.tool.data,
        &task.data,
        threads,
        th.number(),
        IMPLICIT,
    );
    // SAFETY: null, or the construct in which the region's threads start, which lives as long as its team.
    if let Some(node) = unsafe { th.ctx.work.get().as_ref() } {
        th.tool.caller.set(team.shared.tool.caller.get());
        work_begins(th, node);
    }
}

/// The thread has done its part of the region, and waits for the others, if there are any.
#[cold]
pub(crate) fn part_waits(th: &Thread) {
    work_ends(th);
    let task = th.task_record();
    task.frame.exit.set(0);
    let team = th.team();
    if team.nthreads() == 1 {
        return;
    }
    th.goes(State::WaitBarrierImplicitParallel);
    let (region, caller) = (&raw const team.shared.tool.data, caller_of_join(th, team));
    callbacks::sync_region(Sync::Parallel, Scope::Begin, region, &task.data, caller);
    callbacks::sync_region_wait(Sync::Parallel, Scope::Begin, region, &task.data, caller);
    // After the callbacks, which may have changed the tool's word.
    th.tool.kept.copy(&task.data);
}

/// Where the barrier at the end of a region was called: only the primary thread knows.
fn caller_of_join(th: &Thread, team: &Team) -> usize {
    if th.number() == 0 {
        team.shared.tool.caller.get()
    } else {
        0
    }
}

/// The primary thread has waited for the region's other threads, and is still thread 0 of the region's team.
#[cold]
pub(crate) fn part_ends(th: &Thread) {
    let team = th.team();
    let task = th.task_record();
    if team.nthreads() > 1 {
        // The region has ended in this barrier.
        let (region, caller) = (core::ptr::null(), caller_of_join(th, team));
        callbacks::sync_region_wait(Sync::Parallel, Scope::End, region, &task.data, caller);
        callbacks::sync_region(Sync::Parallel, Scope::End, region, &task.data, caller);
    }
    th.goes(State::Overhead);
    callbacks::implicit_task(
        Scope::End,
        core::ptr::null(),
        &task.data,
        team.nthreads(),
        th.number(),
        IMPLICIT,
    );
}

/// A worker has reported that its part of a region is over. The region may have ended, and its records may be in use
/// for another one.
#[cold]
pub(crate) fn worker_leaves(th: &Thread) {
    let (task, none) = (&raw const th.tool.kept, core::ptr::null());
    callbacks::sync_region_wait(Sync::Parallel, Scope::End, none, task, 0);
    callbacks::sync_region(Sync::Parallel, Scope::End, none, task, 0);
    callbacks::implicit_task(Scope::End, none, task, 0, th.number(), IMPLICIT);
    th.goes(State::Idle);
}

/// Runs `wait`, in which the thread waits for others as `kind` says.
#[cold]
pub(crate) fn waits<R>(th: &Thread, kind: Sync, wait: impl FnOnce() -> R) -> R {
    if kind != Sync::Taskwait && kind != Sync::Taskgroup {
        // A construct for whose end gcc calls nothing has ended by now.
        work_ends(th);
    }
    let caller = th.called_from();
    let task = th.task_record();
    let before = th.goes(kind.state());
    let outer = task.frame.enter.replace(th.tool.frame.get());
    {
        let region = &raw const th.team().shared.tool.data;
        callbacks::sync_region(kind, Scope::Begin, region, &task.data, caller);
        callbacks::sync_region_wait(kind, Scope::Begin, region, &task.data, caller);
    }
    let result = wait();
    let region = &raw const th.team().shared.tool.data;
    callbacks::sync_region_wait(kind, Scope::End, region, &task.data, caller);
    callbacks::sync_region(kind, Scope::End, region, &task.data, caller);
    task.frame.enter.set(outer);
    th.goes(before);
    result
}

/// The thread has entered the worksharing construct of `node`, whose content is complete.
#[cold]
pub(crate) fn work_begins(th: &Thread, node: &Node) {
    let count = node.bounds.get().trip_count();
    let (kind, count) = match node.kind.get() {
        Handing::Sections => (Work::Sections, node.dynamic.total()),
        Handing::Static => (Work::LoopStatic, count),
        Handing::Dynamic => (Work::LoopDynamic, count),
        Handing::Guided => (Work::LoopGuided, count),
        Handing::Ours | Handing::Fixed => (Work::LoopOther, count),
    };
    begin(th, kind, count);
}

/// The thread has entered a construct whose division it computes itself, or which it executes alone.
#[cold]
pub fn begin(th: &Thread, kind: Work, count: u64) {
    work_ends(th);
    let caller = th.called_from();
    th.tool.work.set(Some((kind, count, caller)));
    say_work(th, kind, Scope::Begin, count, caller);
}

/// The thread has left its worksharing construct, if it was in one.
#[cold]
pub fn work_ends(th: &Thread) {
    if let Some((kind, count, caller)) = th.tool.work.take() {
        let now = th.called_from();
        say_work(
            th,
            kind,
            Scope::End,
            count,
            if now == 0 { caller } else { now },
        );
        // The call that ends the construct may also be that of the barrier behind it.
        th.tool.caller.set(now);
    }
}

/// Another thread executes the `single` construct that this thread has met.
#[cold]
pub(crate) fn passes_single(th: &Thread) {
    work_ends(th);
    let caller = th.called_from();
    for scope in [Scope::Begin, Scope::End] {
        say_work(th, Work::SingleOther, scope, 1, caller);
    }
}

/// The thread begins a part of its construct: a chunk of `iterations` iterations from the loop variable's value `start`
/// on.
#[cold]
pub fn begins_chunk(th: &Thread, kind: Dispatch, start: u64, iterations: u64) {
    if iterations > 0 {
        let chunk = Chunk { start, iterations };
        dispatches(th, kind, core::ptr::from_ref(&chunk).addr());
    }
}

/// The thread begins a section.
#[cold]
pub fn begins_section(th: &Thread) {
    let caller = match th.called_from() {
        0 => th.tool.work.get().map_or(0, |(_, _, caller)| caller),
        caller => caller,
    };
    dispatches(th, Dispatch::Section, caller);
}

fn dispatches(th: &Thread, kind: Dispatch, instance: usize) {
    let region = &raw const th.team().shared.tool.data;
    callbacks::dispatch(region, &th.task_record().data, kind, instance);
}

/// The current task has waited for (`source` false), or posted (true), an iteration of its doacross loop; `at`: the
/// numbers of the iteration, the outermost loop's first.
#[cold]
pub(crate) fn doacross(th: &Thread, source: bool, at: impl Iterator<Item = u64>) {
    // `ompt_dependence_type_t`
    let kind = if source { 5 } else { 6 };
    let list: Vec<Dependence> = at.map(|variable| Dependence { variable, kind }).collect();
    callbacks::dependences(&th.task_record().data, list.as_ptr(), list.len() as i32);
}

/// The program has met the `error` directive; `severity`: 1 warning, 2 fatal.
#[cold]
pub fn error(severity: u32, message: &CStr) {
    let th = Thread::current();
    let length = message.to_bytes().len();
    callbacks::error(severity, message.as_ptr(), length, th.called_from());
}

fn say_work(th: &Thread, kind: Work, scope: Scope, count: u64, caller: usize) {
    let region = &raw const th.team().shared.tool.data;
    callbacks::work(kind, scope, region, &th.task_record().data, count, caller);
}

/// The thread is the one that executes a `masked` construct.
#[cold]
pub fn masked_begins(th: &Thread) {
    say_masked(th, Scope::Begin);
}

/// The thread has executed a `masked` construct.
#[cold]
pub fn masked_ends(th: &Thread) {
    say_masked(th, Scope::End);
}

fn say_masked(th: &Thread, scope: Scope) {
    let caller = th.called_from();
    callbacks::masked(
        scope,
        &th.team().shared.tool.data,
        &th.task_record().data,
        caller,
    );
}

/// The current task cancels a construct (`activates`), or leaves a cancelled one. `construct`: its bit in
/// `ompt_cancel_flag_t`.
#[cold]
pub(crate) fn cancels(th: &Thread, construct: u32, activates: bool) {
    let flags = construct | if activates { 0x10 } else { 0x20 };
    callbacks::cancel(&th.task_record().data, flags, th.called_from());
}

/// `task` of a cancelled taskgroup (else region) is left out.
pub(super) fn discards(task: &TaskRecord, of_taskgroup: bool) {
    const DISCARDED: u32 = 0x40;
    let construct = if of_taskgroup { 8 } else { 1 };
    callbacks::cancel(&task.data, construct | DISCARDED, 0);
}

/// The thread begins to combine its partial results with those of other threads.
#[cold]
pub(crate) fn reduction_begins(th: &Thread) {
    th.goes(State::WorkReduction);
    say_reduction(th, Scope::Begin);
}

/// The thread has combined its partial results. Nothing is told if the tool knows of no begin.
#[cold]
pub(crate) fn reduction_ends(th: &Thread) {
    if th.tool.state() != State::WorkReduction {
        return;
    }
    say_reduction(th, Scope::End);
    th.goes(th.working());
}

fn say_reduction(th: &Thread, scope: Scope) {
    // `ompt_sync_region_reduction`
    const REDUCTION: u32 = 7;
    let region = &raw const th.team().shared.tool.data;
    callbacks::reduction(
        REDUCTION,
        scope,
        region,
        &th.task_record().data,
        th.called_from(),
    );
}

/// The program sends the tool a command. The result is the tool's; `None`: it takes no commands.
#[cold]
#[must_use]
pub fn control(
    th: &Thread,
    command: u64,
    modifier: u64,
    argument: *mut libc::c_void,
) -> Option<i32> {
    let caller = th.called_from();
    let task = th.task_record();
    let outer = task.frame.enter.replace(th.tool.frame.get());
    let answer = callbacks::control_tool(command, modifier, argument, caller);
    task.frame.enter.set(outer);
    answer
}

/// The flags of a task in a team at this level (`ompt_task_flag_t`).
pub(super) fn flags_at(level: u32, record: &TaskRecord) -> u32 {
    match record.flags.get() {
        0 if level == 0 => INITIAL,
        // The thread that meets the region, or that joined for it, executes its implicit task at once.
        0 | IMPLICIT => IMPLICIT | UNDEFERRED,
        flags => flags,
    }
}

/// The word for the frame pointer of the code that calls the current task's function; `None` without a tool.
#[inline(always)]
#[must_use]
pub fn exit_frame(th: &Thread) -> Option<&Cell<usize>> {
    super::on().then(|| th.task_record().exit_frame())
}
