//! Tasks whose data the program fills in: allocated first, submitted when the data is in place.
//!
//! A compiler that copies a task's data itself (clang) asks for memory with [`allocate`], writes to it, and
//! hands it back with [`submit`]. The memory lies directly behind the task's record, so that its address
//! alone leads to the record.
//!
//! # Who may pass an address here
//! Every function that takes `data` requires an address that [`allocate`] gave in the same task, for a task
//! that has not ended and, except for [`handle`] and [`graph`], was not submitted. Compiled code upholds
//! this: the address is a local variable of the construct.

use super::depend::{self, Dependence};
use super::record::{Task, DEFERRED, DETACHED, FINAL, UNTIED};
use super::{end, event, run, siblings, wait};
use crate::init;
use crate::team::members::Outlined;
use crate::thread::Thread;
use crate::tool;
use crate::tool::tasks::{self, End};
use libc::c_void;

/// How a task is to be run.
#[derive(Debug)]
pub struct Submission<'a> {
    /// The body; its argument is the address of the task's data.
    pub body: Outlined,
    /// False: the maker runs the task before it goes on (`if(0)`).
    pub deferrable: bool,
    /// The `final` clause.
    pub is_final: bool,
    /// The `untied` clause.
    pub untied: bool,
    /// The `depend` clauses, in order.
    pub depends: &'a [Dependence],
    /// The `priority` clause, 0 without.
    pub priority: i32,
    /// The task is deferred even outside of parallel regions, as a construct for a device is: `target
    /// nowait`.
    pub outside: bool,
}

/// Alignment of a task's data.
pub const ALIGN: usize = 16;

/// Makes a child of the current task. Returns the address of `bytes` bytes for its data.
pub fn allocate(th: &Thread, bytes: usize) -> *mut u8 {
    let (t, data) = run::begin(th, th.task(), bytes, ALIGN);
    t.flags.set(0);
    t.home.set(core::ptr::null());
    t.node.set(core::ptr::null());
    t.priority.set(0);
    t.f.set(None);
    t.data.set(data.cast());
    data
}

/// The record in front of `data`.
///
/// # Safety
/// `data` is what the head of this module says.
unsafe fn record<'a>(data: *mut u8) -> &'a Task {
    // Records are aligned to 64 bytes and a multiple of that long: data begins where they end.
    const _: () = assert!(size_of::<Task>() % 64 == 0);
    // SAFETY: `allocate` put the record directly before the data.
    unsafe { &*data.sub(size_of::<Task>()).cast::<Task>() }
}

/// The handle of the task's completion event (`detach`): the task is complete when its body has ended and
/// [`super::end::fulfill`] was called with the handle.
///
/// # Safety
/// `data` is what the head of this module says.
pub unsafe fn event(data: *mut u8) -> *mut c_void {
    // SAFETY: this function's contract, which `abi` keeps: it passes what `allocate` gave, once the compiler's code
    // names the task.
    let t = unsafe { record(data) };
    t.flags.set(t.flags.get() | DETACHED);
    t.event.set(event::open(t));
    t.event.get().to_program()
}

/// The handle that [`event`] gave for this task.
///
/// # Safety
/// The task is not complete.
pub unsafe fn handle(data: *mut u8) -> *mut c_void {
    // SAFETY: this function's contract, which `abi` keeps: it passes what `allocate` gave, once the compiler's code
    // names the task.
    unsafe { record(data) }.event.get().to_program()
}

/// The task as its siblings see it: the addresses of its node among their dependences, and of its list of
/// successors; null where there is none.
///
/// # Safety
/// `data` came from [`allocate`], and the task has not ended.
pub unsafe fn graph(data: *mut u8) -> (*const c_void, *const c_void) {
    // SAFETY: this function's contract, which `abi` keeps: it passes what `allocate` gave, once the compiler's code
    // names the task.
    unsafe { siblings::look(record(data)) }
}

/// Discards a task that is not to run.
///
/// # Safety
/// `data` is what the head of this module says; the memory is gone afterwards.
pub unsafe fn discard(th: &Thread, data: *mut u8) {
    // SAFETY: this function's contract, which `abi` keeps: it passes what `allocate` gave, once the compiler's code
    // names the task.
    let t = unsafe { record(data) };
    if t.flags.get() & DETACHED != 0 && !event::discard(t.event.get()) {
        // Another thread is just fulfilling the event, and reads the record.
        wait::for_event(th, t);
    }
    // SAFETY: this function's contract, which `abi` keeps: nobody else knows the record, and it has no children.
    unsafe { end::release_undeferred(th, t) };
}

/// Submits a task. It may have ended when this returns.
///
/// # Safety
/// `data` is what the head of this module says; `how.body` may be called with it once.
pub unsafe fn submit(th: &Thread, data: *mut u8, how: &Submission<'_>) {
    // SAFETY: this function's contract, which `abi` keeps: it passes what `allocate` gave, once the compiler's code
    // names the task.
    let t = unsafe { record(data) };
    let parent = th.task();
    let team = th.team();
    // The task belongs to the taskgroup around its submission.
    t.group.set(parent.group.get());
    if run::cancelled(th) {
        // SAFETY: this function's contract, which `abi` keeps: it passes what `allocate` gave, once the compiler's
        // code names the task.
        return unsafe { discard(th, data) };
    }
    // Outside of regions no other thread can run the task. In a final task, its children are final, too.
    let outside = team.level() == 0 && how.outside && how.deferrable;
    if outside {
        run::finish_at_exit(th);
    }
    let here = (team.level() == 0 && !outside) || parent.flags.get() & FINAL != 0;
    // A detached task is deferred even there: only its maker may know the event, and fulfill it after it goes
    // on.
    let detached = t.flags.get() & DETACHED != 0;
    let alone = !how.outside && runs_alone(th, parent, how.depends);
    if !how.deferrable || ((here || alone) && !detached) {
        if !how.depends.is_empty() {
            depend::wait_for(th, how.depends);
        }
        // SAFETY: `abi` passes a body that compiled code made for this data; `leave` ends what `enter` began.
        unsafe {
            enter(th, data, how.is_final, how.untied);
            (how.body)(data.cast());
            leave(th, data);
        }
        return;
    }
    if team.level() == 0 {
        th.at_end.set(Some(run::finish_outside));
    }
    run::count_child(th, parent);
    t.home.set(parent.group.get());
    t.flags
        .set((t.flags.get() & DETACHED) | DEFERRED | clauses(how.is_final, how.untied));
    t.f.set(Some(how.body));
    if how.priority > 0 {
        t.priority
            .set(how.priority.min(init::globals().max_task_priority));
    }
    if parent.is_implicit() {
        // A taskwait or a barrier may lie between the allocation and this call.
        t.phase.set(th.member().epoch.get() & 1);
    }
    if tool::on() {
        tasks::made(th, t, false, how.depends);
    }
    let depends = Some(how.depends).filter(|d| !d.is_empty());
    // SAFETY: this function's contract, which `abi` keeps: it passes what `allocate` gave, once the compiler's code
    // names the task.
    unsafe { run::launch(th, team, parent, t, depends, here || run::crowded(th)) };
}

/// Is a task of this thread, which is alone in its team, to run at once? It could as well wait in the queue, but
/// programs of the compilers that submit tasks know their runtime to run them at once. Not if the task would have to
/// wait for another one, whose event only its maker may fulfill. And not if each task makes the next: the tasks of a
/// chain, each inside of the one before, could be too many for the stack.
#[inline]
fn runs_alone(th: &Thread, parent: &Task, depends: &[Dependence]) -> bool {
    /// Explicit tasks that may be inside of each other.
    const DEEPEST: u32 = 32;
    th.nthreads() == 1
        && parent.depth.get() < DEEPEST
        && (depends.is_empty() || !th.team().tasks.active())
}

/// The flags of a task with these clauses.
fn clauses(is_final: bool, untied: bool) -> u32 {
    (if is_final { FINAL } else { 0 }) | (if untied { UNTIED } else { 0 })
}

/// Makes the task the current one, for compiled code that calls the body itself.
///
/// # Safety
/// `data` is what the head of this module says; [`leave`] follows on the same thread.
pub unsafe fn enter(th: &Thread, data: *mut u8, is_final: bool, untied: bool) {
    // SAFETY: this function's contract, which `abi` keeps: it passes what `allocate` gave, once the compiler's code
    // names the task.
    let t = unsafe { record(data) };
    let parent = th.task();
    t.group.set(parent.group.get());
    let inherited = parent.flags.get() & FINAL;
    let detached = t.flags.get() & DETACHED;
    t.flags
        .set(detached | inherited | clauses(is_final, untied));
    if detached != 0 {
        // SAFETY: this function's contract, which `abi` keeps: nobody else knows of the task.
        unsafe { count_detached(th, parent, t) };
    }
    if tool::on() {
        tasks::made(th, t, true, &[]);
        tasks::begins_in_program(th, parent, t);
    }
    th.ctx.task.set(t);
}

/// Counts an undeferred task that completes only when its event is fulfilled. Its maker waits for the end of its body
/// alone (OpenMP 5.1, "undeferred task"), and may be the one that fulfills the event later. From then on the task is
/// like a deferred one.
///
/// # Safety
/// Nobody else knows of `t`, whose body has not begun.
#[cold]
unsafe fn count_detached(th: &Thread, parent: &Task, t: &Task) {
    if th.team().level() == 0 {
        th.at_end.set(Some(run::finish_outside));
    }
    run::count_child(th, parent);
    t.home.set(parent.group.get());
    t.flags.set(t.flags.get() | DEFERRED);
    if parent.is_implicit() {
        // A taskwait or a barrier may lie between the allocation and this call.
        t.phase.set(th.member().epoch.get() & 1);
    }
    run::count(th, th.team(), t);
}

/// Ends a task that [`enter`] began; it is gone afterwards.
///
/// # Safety
/// `data` belongs to the current task, which [`enter`] made current.
pub unsafe fn leave(th: &Thread, data: *mut u8) {
    // SAFETY: this function's contract, which `abi` keeps: it passes what `allocate` gave, once the compiler's code
    // names the task.
    let t = unsafe { record(data) };
    th.ctx.task.set(t.parent.get());
    let detached = t.flags.get() & DETACHED != 0;
    if tool::on() {
        let how = if detached && !event::is_fulfilled(t.event.get()) {
            End::Detached
        } else {
            End::Complete
        };
        tasks::ends(th, t, th.task(), how);
    }
    end::leave_children(t);
    if detached {
        // SAFETY: the body has ended, and `enter` counted the task.
        return unsafe { end::body_ended(th, t, false) };
    }
    // SAFETY: the body has ended; only the task's children refer to the record.
    unsafe { end::release_undeferred(th, t) };
}
