//! Making tasks and running them.
//!
//! Body, data and copy function belong together, since compiled code passed them in one call (each function's
//! contract); a record comes from the thread's cache, where nobody else has it.

use super::depend::{self, Dependence};
use super::end::{body_ended, leave_children, release_undeferred};
use super::event::{self, Handle};
use super::queue::Scope;
use super::record::{Group, Task, COPIED, DEFERRED, DETACHED, FINAL, MOST_CHILDREN};
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
    th.member().sums.create(t.phase.get() as usize);
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
