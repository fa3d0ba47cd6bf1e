//! Making tasks, running them, and what happens when they end.

use super::depend::{self, Dependence};
use super::event::{self, Claim, Handle};
use super::queue::Scope;
use super::record::{dispose, Group, Task, COPIED, DEFERRED, DETACHED, FINAL, MOST_CHILDREN};
use super::wait;
use crate::boundary::Reason;
use crate::init;
use crate::team::members::{Outlined, Team};
use crate::thread::Thread;
use crate::tool;
use crate::tool::tasks::{self, End};
use core::sync::atomic::AtomicI32;
use hetmp_core::sync::Ordering;
use libc::c_void;

/// Copies the data of a task (C++ copy constructors, Fortran array descriptors).
pub type CopyData = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// A task as the program describes it.
#[derive(Debug)]
pub struct NewTask<'a> {
    /// The body.
    pub f: Outlined,
    /// The body's argument, to be copied.
    pub data: *mut c_void,
    /// How to copy the argument; `None`: byte by byte.
    pub copy: Option<CopyData>,
    /// Bytes of the argument.
    pub size: usize,
    /// Alignment of the argument, a power of two.
    pub align: usize,
    /// False: run at once (`if(0)`).
    pub deferrable: bool,
    /// The task is deferred even outside of parallel regions, as a construct for a device is: `target
    /// nowait`.
    pub outside: bool,
    /// The task is final.
    pub is_final: bool,
    /// Dependences, in the order of the clauses.
    pub depends: Option<&'a [Dependence]>,
    /// The `priority` clause, 0 without.
    pub priority: i32,
    /// Address of the variable that gets the event of a detachable task.
    pub event: Option<*mut *mut c_void>,
    /// The first two words of the data: the bounds of a taskloop's chunk.
    pub range: Option<[u64; 2]>,
}

/// A thread runs new tasks at once while it has this many ready tasks queued for each thread of the team:
/// enough for others to find work, and few enough that making tasks costs little.
///
/// Only ready tasks count, and only a ready task is run at once. Waiting here for a task's dependences could
/// last for ever: the maker itself may be the one that releases the task later, by fulfilling an event or by
/// what it does after making more tasks.
const BACKLOG: u32 = 32;

/// A maker with this many incomplete children that makes a task which is not ready first runs a ready one, if
/// its own queue has any. A single thread that makes millions of tasks in a chain then holds the records of
/// some, which stay in its cache, and not of all. The number is large because a task that runs here delays
/// the maker, for which that task may be waiting.
const MANY_CHILDREN: u32 = 1 << 12;

/// Whether new tasks of `th` must not start because their region or taskgroup was cancelled.
pub(super) fn cancelled(th: &Thread) -> bool {
    let team = th.team();
    team.shared.cancellable.get()
        && (team.cancelled.load(Ordering::Relaxed) || Group::is_cancelled(th.task().group.get()))
}

/// Whether the calling thread has enough tasks queued to run new ones at once.
#[inline(always)]
pub(super) fn crowded(th: &Thread) -> bool {
    th.member().deque.len() >= BACKLOG * th.nthreads()
        && crate::init::globals().libomp.throttles_tasks
}

/// Is `new` deferred although the thread is outside of regions (in a team of one)? Such tasks run when the
/// thread waits, or ends. Other tasks are run at once there, so that none waits for a thread that never comes
/// to run it.
#[cold]
fn keeps_outside(th: &Thread, new: &NewTask<'_>) -> bool {
    if new.outside {
        finish_at_exit(th);
    }
    new.outside
}

/// Arranges that tasks which a thread deferred outside of any region run before the thread or the program
/// ends: the initial thread's code ends with an implicit barrier.
#[cold]
pub(super) fn finish_at_exit(th: &Thread) {
    /// The process that deferred tasks, 0 for none. A child of fork has copies of tasks that its parent is to
    /// run.
    static PROCESS: AtomicI32 = AtomicI32::new(0);
    extern "C" fn at_exit() {
        // SAFETY: getpid has no preconditions.
        if PROCESS.load(Ordering::Relaxed) == unsafe { libc::getpid() } {
            if let Some(th) = Thread::try_current() {
                finish_outside(th);
            }
        }
    }
    th.at_end.set(Some(finish_outside));
    // SAFETY: getpid has no preconditions.
    if PROCESS.swap(unsafe { libc::getpid() }, Ordering::Relaxed) == 0 {
        // SAFETY: `at_exit` may be called whenever the process exits.
        unsafe { libc::atexit(at_exit) };
    }
}

/// Runs the remaining ready tasks that the thread deferred outside of any region. Tasks that wait for an
/// event are left: nobody would fulfill the event now.
pub(super) fn finish_outside(th: &Thread) {
    if th.team().level() == 0 && th.team().tasks.active() {
        wait::work_off(th);
    }
}

/// Makes a task: defers it, or runs it before returning.
///
/// # Safety
/// `f` may be called once with a copy of `size` bytes at `data`, made by `copy`; the other fields are valid
/// as their comments say.
#[inline]
pub unsafe fn create(th: &Thread, new: &NewTask<'_>) {
    if cancelled(th) {
        if let Some(event) = new.event {
            // SAFETY: compiled code passes the address of the variable in its `detach` clause, in its own
            // frame. The program may fulfill the event nevertheless, so the variable gets a handle.
            unsafe { event.write_unaligned(Handle::DISCARDED.to_program()) };
        }
        return;
    }
    let parent = th.task();
    let team = th.team();
    let crowded = crowded(th);
    // A task that may have to wait, for other tasks or for its event, gets its own record even where it is
    // run at once: its wait then never holds up its maker.
    let waits = new.depends.is_some() || new.event.is_some();
    if new.event.is_some() && team.is_across() {
        // The event is known on this node only, and any thread of any node may fulfill it.
        hetmp_core::report::fatal(format_args!(
            "a task with a detach clause in a region on several nodes (expected HETMP_DSM_CROSS=never)"
        ));
    }
    if !new.deferrable
        || (team.level() == 0 && !keeps_outside(th, new))
        || parent.flags.get() & FINAL != 0
        || (crowded && !waits)
    {
        // SAFETY: this function's contract: `abi` passes the body, data and copy function that compiled code made for
        // this task.
        unsafe { run_at_once(th, parent, new) }
    } else {
        // SAFETY: this function's contract: `abi` passes the body, data and copy function that compiled code made for
        // this task.
        unsafe { defer(th, team, parent, new, crowded) }
    }
}

#[inline]
pub(super) fn begin<'t>(
    th: &Thread,
    parent: &Task,
    size: usize,
    align: usize,
) -> (&'t Task, *mut u8) {
    let (p, data) = th.cache.take(size, align);
    // SAFETY: the cache gives records nobody else uses.
    let t: &'t Task = unsafe { &*p };
    t.counts.reset();
    t.spawned.set(0);
    t.parent.set(parent);
    t.depth.set(parent.depth.get() + 1);
    t.group.set(parent.group.get());
    t.team.set(parent.team.get());
    t.runner.set(&raw const th.member().sleep);
    t.inherit_icv(parent);
    // A task that a task makes belongs to the same barrier as its maker. A child of an implicit task belongs
    // to the next barrier after its maker's last one.
    t.phase.set(if parent.is_implicit() {
        th.member().epoch.get() & 1
    } else {
        parent.phase.get()
    });
    (t, data)
}

/// Makes a task without dependences, event and copy constructor, if it would be run at once: then it is
/// little more than a call of its body. False: nothing happened, and the caller must call [`create`].
///
/// # Safety
/// `f` may be called once with `data`.
#[inline]
pub unsafe fn create_simple(
    th: &Thread,
    f: Outlined,
    data: *mut c_void,
    deferrable: bool,
    is_final: bool,
) -> bool {
    let parent = th.task();
    let now = !deferrable || parent.flags.get() & FINAL != 0 || crowded(th);
    if now && !cancelled(th) {
        // SAFETY: this function's contract: `abi` passes the body and data that compiled code made for this task.
        unsafe { call(th, parent, f, data, is_final) };
    }
    now
}

/// Runs a task without clauses in its maker.
#[inline]
unsafe fn call(th: &Thread, parent: &Task, f: Outlined, data: *mut c_void, is_final: bool) {
    let (t, _) = begin(th, parent, 0, 1);
    t.flags
        .set((parent.flags.get() & FINAL) | if is_final { FINAL } else { 0 });
    let told = tool::on();
    if told {
        tasks::made(th, t, true, &[]);
        tasks::begins(th, parent, t);
    }
    th.ctx.task.set(t);
    // SAFETY: `create_simple` passes on the body and data that compiled code made to be called once.
    unsafe { f(data) };
    th.ctx.task.set(parent);
    if told {
        tasks::ends(th, t, parent, End::Complete);
    }
    if t.spawned.get() == 0 {
        // SAFETY: the body has ended, and without children nobody refers to the record.
        unsafe { th.cache.give(core::ptr::from_ref(t).cast_mut()) };
    } else {
        leave_children(t);
        // SAFETY: the body has ended; only the task's children refer to the record.
        unsafe { release_undeferred(th, t) };
    }
}

/// Runs a task in its maker, which waits for it.
unsafe fn run_at_once(th: &Thread, parent: &Task, new: &NewTask<'_>) {
    if let Some(list) = new.depends {
        depend::wait_for(th, list);
    }
    let room = if new.copy.is_some() { new.size } else { 0 };
    let (t, copy) = begin(th, parent, room, new.align);
    let mut flags = parent.flags.get() & FINAL;
    if new.is_final {
        flags |= FINAL;
    }
    t.flags.set(flags);
    if let Some(event) = new.event {
        t.flags.set(flags | DETACHED);
        // SAFETY: compiled code passes valid addresses; see `NewTask::event`.
        unsafe { publish_event(t, event, new.data) };
    }
    let data: *mut c_void = if let Some(copier) = new.copy {
        th.ctx.task.set(t);
        // SAFETY: room was made for the copy.
        unsafe { copier(copy.cast(), new.data) };
        copy.cast()
    } else {
        new.data
    };
    if let Some(range) = new.range {
        // SAFETY: a taskloop's data begins with two words for its range.
        unsafe { data.cast::<[u64; 2]>().write_unaligned(range) };
    }
    let told = tool::on();
    if told {
        tasks::made(th, t, true, new.depends.unwrap_or_default());
        tasks::begins(th, parent, t);
    }
    th.ctx.task.set(t);
    // SAFETY: `create` passes on the body that compiled code made; `data` is the copy made here, or compiled code's
    // own.
    unsafe { (new.f)(data) };
    if t.flags.get() & DETACHED != 0 {
        // The maker is suspended until the task is complete, which needs the event.
        wait::for_event(th, t);
    }
    th.ctx.task.set(parent);
    if told {
        tasks::ends(th, t, parent, End::Complete);
    }
    leave_children(t);
    // SAFETY: the body has ended; only the task's children refer to the record.
    unsafe { release_undeferred(th, t) };
}

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

/// Counts one more child of `parent`, which runs on this thread.
#[inline]
pub(super) fn count_child(th: &Thread, parent: &Task) {
    if parent.spawned.get() >= MOST_CHILDREN {
        wait::for_children(th);
    }
    parent.spawned.set(parent.spawned.get() + 1);
}

unsafe fn publish_event(t: &Task, place: *mut *mut c_void, data: *mut c_void) {
    t.event.set(event::open(t));
    let handle = t.event.get().to_program();
    // SAFETY: compiled code passes the address of the event's variable, and the first word of the data is the
    // body's copy of that variable.
    unsafe {
        place.write_unaligned(handle);
        if !data.is_null() {
            data.cast::<*mut c_void>().write_unaligned(handle);
        }
    }
}

/// Makes a task that its maker does not wait for. Once it is ready, the task is queued, or run here if
/// `crowded`.
///
/// # Safety
/// The same as for [`create`].
#[inline]
unsafe fn defer(th: &Thread, team: &Team, parent: &Task, new: &NewTask<'_>, crowded: bool) {
    count_child(th, parent);
    let (t, copy) = begin(th, parent, new.size, new.align);
    t.home.set(parent.group.get());
    t.node.set(core::ptr::null());
    t.priority.set(0);
    let mut flags = DEFERRED;
    if new.is_final {
        flags |= FINAL;
    }
    if let Some(event) = new.event {
        flags |= DETACHED;
        // SAFETY: compiled code passes the address of the variable in its `detach` clause, in its own frame.
        unsafe { publish_event(t, event, new.data) };
    }
    if let Some(copier) = new.copy {
        flags |= COPIED;
        // The copy constructors run in the data environment of the new task.
        th.ctx.task.set(t);
        // SAFETY: room was made for the copy.
        unsafe { copier(copy.cast(), new.data) };
        th.ctx.task.set(parent);
    } else if new.size > 0 {
        // SAFETY: room was made for the copy; the two do not overlap.
        unsafe { core::ptr::copy_nonoverlapping(new.data.cast::<u8>(), copy, new.size) };
    }
    if let Some(range) = new.range {
        // SAFETY: a taskloop's data begins with two words for its range.
        unsafe { copy.cast::<[u64; 2]>().write_unaligned(range) };
    }
    t.flags.set(flags);
    t.f.set(Some(new.f));
    t.data.set(copy.cast());
    if new.priority > 0 {
        t.priority
            .set(new.priority.min(init::globals().max_task_priority));
    }
    if tool::on() {
        tasks::made(th, t, false, new.depends.unwrap_or_default());
    }
    // SAFETY: the task was made here from the caller's description, and nobody else knows of it yet.
    unsafe { launch(th, team, parent, t, new.depends, crowded) };
}

/// Counts a deferred task, whose record is filled in, and queues it, runs it or leaves it to its
/// predecessors.
///
/// # Safety
/// Nobody else knows of `t`, whose body may be called with its data once.
#[inline]
pub(super) unsafe fn launch(
    th: &Thread,
    team: &Team,
    parent: &Task,
    t: &Task,
    depends: Option<&[Dependence]>,
    crowded: bool,
) {
    let m = th.member();
    count(th, team, t);
    match depends {
        Some(list) if !depend::attach(parent, t, list) => {
            // The task is queued by the thread that completes its last predecessor.
            if parent.children_left() >= MANY_CHILDREN {
                if let Some(ready) = m.deque.pop(&|t| t.descends_from(parent)) {
                    // SAFETY: the task was just taken from the deque.
                    switch_to(th, |th| unsafe { execute(th, ready) });
                }
            }
        }
        // SAFETY: the task was just made and is in no queue: nobody else runs it.
        _ if crowded => switch_to(th, |th| unsafe { execute(th, t) }),
        _ => team.enqueue(m, t),
    }
}

/// Counts a task that its maker does not wait for, before any thread can complete it.
#[inline(always)]
pub(super) fn count(th: &Thread, team: &Team, t: &Task) {
    let created = &th.member().created[t.phase.get() as usize];
    // Only this thread writes the counter. Release: a thread that sums the counters has then seen the maker's
    // own start, or the task that made the maker.
    created.store(created.load(Ordering::Relaxed) + 1, Ordering::Release);
    if let Some(group) = Group::of(t.home.get()) {
        group.enter();
    }
    team.tasks.activate();
}

/// Lets `other` run tasks while the current task pauses.
#[cold]
fn switch_to(th: &Thread, other: impl FnOnce(&Thread)) {
    th.leave_program(Reason::Tasks);
    other(th);
    th.enter_program(Reason::Tasks);
}

/// Runs a deferred task: up to its completion, or, if its event is not fulfilled yet, to its body's end.
/// # Safety
/// `t` came from [`Team::take_task`], or from its maker, which did not queue it: the record is live and
/// nobody else runs the task.
pub(crate) unsafe fn execute(th: &Thread, t: *const Task) {
    // SAFETY: the queue gave the task to this thread alone, or its maker has not queued it: this function's
    // contract.
    let task = unsafe { &*t };
    let before = th.ctx.task.get();
    task.runner.set(&raw const th.member().sleep);
    let told = tool::on();
    let state = th.tool.state();
    if told {
        // SAFETY: the thread's current task, which is suspended until this one has ended.
        tasks::begins(th, unsafe { &*before }, task);
    }
    th.ctx.task.set(t);
    let team = th.team();
    let skip = team.shared.cancellable.get()
        && task.flags.get() & COPIED == 0
        && (team.cancelled.load(Ordering::Relaxed) || Group::is_cancelled(task.home.get()));
    if !skip {
        if let Some(f) = task.f.get() {
            th.enter_program(Reason::Tasks);
            // SAFETY: compiled code made the function for this data (`create`, `submit`), and a task runs once.
            unsafe { f(task.data.get()) };
            th.leave_program(Reason::Tasks);
        }
    }
    leave_children(task);
    th.ctx.task.set(before);
    if told {
        let how = if skip {
            End::Cancelled
        } else if task.flags.get() & DETACHED != 0 && !event::is_fulfilled(task.event.get()) {
            End::Detached
        } else {
            End::Complete
        };
        // SAFETY: the thread's task before this one, to which it goes back.
        tasks::ends(th, task, unsafe { &*before }, how);
        th.tool.set_state(state);
    }
    // SAFETY: the body has ended, and the task was counted when it was made.
    unsafe { body_ended(th, task, skip) };
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
        Some(th) => {
            let finished = &th.member().finished[phase];
            finished.store(finished.load(Ordering::Relaxed) + 1, Ordering::Release);
        }
        None => {
            team.tasks.finished_outside[phase].fetch_add(1, Ordering::AcqRel);
        }
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

/// Runs one task of `scope` if there is one.
#[inline]
pub(crate) fn run_one(th: &Thread, scope: Scope<'_>) -> bool {
    match th.team().take_task(th, scope) {
        Some(t) => {
            // SAFETY: the task was just taken from a queue.
            unsafe { execute(th, t) };
            true
        }
        None => false,
    }
}
