//! The records of tasks and taskgroups, and the memory that tasks come from.
//!
//! A record is written by the thread that makes the task until it is shared, afterwards by the thread that runs it; it
//! lives until the records of its children are released. Records go back to the cache of some thread, and are never
//! freed while the process lives.

use super::copies::Reductions;
use super::counts::{Counts, Live};
use super::event;
use super::recycle::{Depot, Record, Recycler};
use super::siblings;
use super::sleep::Sleep;
use crate::across::table::table;
use crate::icv::Icv;
use crate::team::members::{Outlined, Team};
use crate::tool::record::TaskRecord;
use core::cell::{Cell, OnceCell, UnsafeCell};
use hetmp_core::sync::{AtomicBool, Ordering};

/// The task is an implicit one.
pub(crate) const IMPLICIT: u32 = 1;
/// The task is final: its children run at once.
pub(crate) const FINAL: u32 = 2;
/// The task was deferred: it is counted, and is a member of its taskgroup.
pub(crate) const DEFERRED: u32 = 4;
/// The task completes only when its event is fulfilled.
pub(crate) const DETACHED: u32 = 8;
/// A copy constructor made the task's data, so the body must run to destroy it.
pub(crate) const COPIED: u32 = 16;

/// The task is untied. Only a tool is told so: an untied task, too, stays with its thread.
pub(crate) const UNTIED: u32 = 32;

/// Most children that are counted at a time; with more, the maker waits for them.
pub(super) const MOST_CHILDREN: u32 = 1 << 30;

/// One task, implicit or explicit. An explicit task's data lies behind its record.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Task {
    pub(super) counts: Counts,
    /// Children made by this task; written by the thread that runs it.
    pub(super) spawned: Cell<u32>,
    pub(crate) flags: Cell<u32>,
    pub(crate) f: Cell<Option<Outlined>>,
    pub(crate) data: Cell<*mut libc::c_void>,
    /// The task that made this one; null for implicit tasks.
    pub(crate) parent: Cell<*const Task>,
    /// Explicit ancestors, 0 for implicit tasks.
    pub(crate) depth: Cell<u32>,
    /// Parity of the number of the barrier that the task was made before.
    pub(crate) phase: Cell<u32>,
    /// The innermost taskgroup of the task's code at this moment, or null.
    pub(crate) group: Cell<*const Group>,
    /// The taskgroup in which the task was made.
    pub(crate) home: Cell<*const Group>,
    pub(crate) team: Cell<*const Team>,
    /// The sleep of the member that runs the task. Set before the task can have children.
    pub(crate) runner: Cell<*const Sleep>,
    icv: Cell<*const Icv>,
    own_icv: UnsafeCell<Icv>,
    /// The sites at which the task's children name dependences.
    pub(crate) children: UnsafeCell<Option<Box<siblings::Sites>>>,
    /// The task's node among its siblings' dependences; null without dependences.
    pub(crate) node: Cell<*const siblings::Node>,
    pub(crate) priority: Cell<i32>,
    /// The event of a detachable task.
    pub(crate) event: Cell<event::Handle>,
    /// Bytes of the allocation; 0 for a record that is part of another object.
    size: Cell<u32>,
    /// Links free records.
    next_free: Cell<*mut Task>,
    /// What the tool knows of the task. Made when a tool sees this record for the first time, and kept with it.
    tool: OnceCell<Box<TaskRecord>>,
}

// Data begins right behind the record: a larger record makes every task larger.
const _: () = assert!(size_of::<Task>() == 192);

impl Task {
    /// An implicit task, part of a team member.
    pub(crate) fn implicit() -> Task {
        Task {
            counts: Counts::new(),
            spawned: Cell::new(0),
            flags: Cell::new(IMPLICIT),
            f: Cell::new(None),
            data: Cell::new(core::ptr::null_mut()),
            parent: Cell::new(core::ptr::null()),
            depth: Cell::new(0),
            phase: Cell::new(0),
            group: Cell::new(core::ptr::null()),
            home: Cell::new(core::ptr::null()),
            team: Cell::new(core::ptr::null()),
            runner: Cell::new(core::ptr::null()),
            icv: Cell::new(core::ptr::null()),
            own_icv: UnsafeCell::new(Icv::initial(1)),
            children: UnsafeCell::new(None),
            node: Cell::new(core::ptr::null()),
            priority: Cell::new(0),
            event: Cell::new(event::Handle::DISCARDED),
            size: Cell::new(0),
            next_free: Cell::new(core::ptr::null_mut()),
            tool: OnceCell::new(),
        }
    }

    /// What the tool knows of the task. Called only while a tool is attached, and first by the thread that begins the
    /// task.
    pub(crate) fn tool(&self) -> &TaskRecord {
        self.tool.get_or_init(|| Box::new(TaskRecord::new()))
    }

    /// Bytes of an explicit task's record and data.
    pub(crate) fn bytes(&self) -> usize {
        self.size.get() as usize
    }

    /// Begins an implicit task of `team`, run by the member whose sleep is `runner`.
    #[inline]
    pub(crate) fn begin_implicit(&self, icv: *const Icv, team: *const Team, runner: *const Sleep) {
        self.counts.reset();
        self.spawned.set(0);
        self.group.set(core::ptr::null());
        self.team.set(team);
        self.runner.set(runner);
        self.icv.set(icv);
    }

    /// Ends an implicit task. Its children may still run; they do not need anything that is freed here.
    #[inline]
    pub(crate) fn end_implicit(&self) {
        // SAFETY: only the thread that runs a task touches `children`.
        unsafe {
            if (*self.children.get()).is_some() {
                *self.children.get() = None;
            }
        }
    }

    /// Puts the task into the taskgroup that its region made for all implicit tasks.
    #[inline]
    pub(crate) fn set_group(&self, group: *const Group) {
        self.group.set(group);
    }

    /// The internal control variables of this data environment.
    #[inline]
    pub(crate) fn icv(&self) -> &Icv {
        // SAFETY: the pointer leads to `own_icv`, or to variables of the team, which are not written while
        // the task exists. `own_icv` is written only by `change_icv` and `inherit_icv`, between uses.
        unsafe { &*self.icv.get() }
    }

    /// Changes the internal control variables of this data environment only.
    pub(crate) fn change_icv(&self, change: impl FnOnce(&mut Icv)) {
        let mut icv = *self.icv();
        change(&mut icv);
        // SAFETY: only the thread that runs the task calls this, and no reference from `icv()` is kept across
        // calls into the runtime.
        unsafe { *self.own_icv.get() = icv };
        self.icv.set(self.own_icv.get());
    }

    /// Gives a new task the variables of its parent.
    #[inline]
    pub(super) fn inherit_icv(&self, parent: &Task) {
        let theirs = parent.icv.get();
        if core::ptr::eq(theirs, parent.own_icv.get()) {
            // SAFETY: the parent is the running task of this thread; the child is not shared yet. The values
            // are copied, because the parent's own copy may change or go while the child exists.
            unsafe { *self.own_icv.get() = *theirs };
            self.icv.set(self.own_icv.get());
        } else {
            self.icv.set(theirs);
        }
    }

    /// Is the task final (`omp_in_final`)?
    pub(crate) fn is_final(&self) -> bool {
        self.flags.get() & FINAL != 0
    }

    /// Is it an implicit task?
    pub(crate) fn is_implicit(&self) -> bool {
        self.flags.get() & IMPLICIT != 0
    }

    /// True when all children made so far are complete (acquire).
    #[inline]
    pub(super) fn children_done(&self) -> bool {
        self.counts.joined() == self.spawned.get()
    }

    /// The number of children that are made and not complete.
    #[inline]
    pub(super) fn children_left(&self) -> u32 {
        self.spawned.get().wrapping_sub(self.counts.joined())
    }

    /// Whether the task at address `waiter` is this one, or its parent, or its parent's parent, and so on.
    pub(super) fn is_or_descends_from(&self, waiter: *const ()) -> bool {
        let mut p = core::ptr::from_ref(self);
        loop {
            if p.cast() == waiter {
                return true;
            }
            // SAFETY: a record lives until the records of its children are released.
            match unsafe { &*p }.parent.get() {
                parent if parent.is_null() => return false,
                parent => p = parent,
            }
        }
    }

    /// Whether `ancestor` is this task's parent, or its parent's parent, and so on.
    pub(super) fn descends_from(&self, ancestor: &Task) -> bool {
        let depth = ancestor.depth.get();
        let mut p = self.parent.get();
        while !p.is_null() {
            // SAFETY: a record lives until the records of its children are released.
            let t = unsafe { &*p };
            if t.depth.get() <= depth {
                return core::ptr::eq(t, ancestor);
            }
            p = t.parent.get();
        }
        false
    }
}

/// One taskgroup: counts its deferred tasks that are not complete.
#[derive(Debug)]
pub struct Group {
    live: Live,
    pub(crate) cancelled: AtomicBool,
    pub(crate) outer: Cell<*const Group>,
    /// The sleep of the member that waits at the end; null for a group that a whole region shares.
    runner: Cell<*const Sleep>,
    /// A compiler's ABI may keep its description of task reductions here; null for none. Groups inside
    /// inherit the description.
    description: Cell<*mut usize>,
    /// Task reductions whose copies the runtime makes. Written by the task that began the group, before it
    /// makes tasks that may read this.
    privates: UnsafeCell<Option<Box<Reductions>>>,
    /// The group was made for a worksharing construct with task reductions.
    pub(crate) workshare: Cell<bool>,
}

impl Group {
    /// A group inside `outer`. The member whose sleep is `runner` waits for its end.
    pub(crate) fn new(outer: *const Group, runner: *const Sleep) -> Group {
        Group {
            live: Live::new(),
            cancelled: AtomicBool::new(false),
            outer: Cell::new(outer),
            runner: Cell::new(runner),
            // Reductions of the groups around are in scope inside, too.
            description: Cell::new(
                Group::of(outer).map_or(core::ptr::null_mut(), |o| o.description.get()),
            ),
            workshare: Cell::new(false),
            privates: UnsafeCell::new(None),
        }
    }

    /// The description that a compiler's ABI keeps of the task reductions in scope here; null for none.
    pub fn description(&self) -> *mut usize {
        self.description.get()
    }

    /// Sets the ABI's description. Called by the task that began the group, before it makes tasks that may
    /// read this.
    pub fn describe(&self, description: *mut usize) {
        self.description.set(description);
    }

    /// Gives the group reductions. Called by the task that began the group, before it makes tasks.
    pub(super) fn set_privates(&self, reductions: Reductions) {
        // SAFETY: nobody else reads this yet: compiled code calls this between the start of the construct and
        // its first task.
        unsafe { *self.privates.get() = Some(Box::new(reductions)) };
    }

    /// The group's reductions.
    pub(super) fn privates(&self) -> Option<&Reductions> {
        // SAFETY: only `set_privates` writes this, before the group's tasks, which read it, are made.
        unsafe { (*self.privates.get()).as_deref() }
    }

    /// The group at `p`, unless null.
    #[inline]
    pub(crate) fn of<'a>(p: *const Group) -> Option<&'a Group> {
        // SAFETY: a group lives until its owner has seen all its tasks complete. A task's pointer to the
        // group is used only by the task and for its completion.
        unsafe { p.as_ref() }
    }

    /// Whether the group was cancelled, or the group around it if this one belongs to a worksharing
    /// construct.
    pub(crate) fn is_cancelled(p: *const Group) -> bool {
        Group::of(p).is_some_and(|g| {
            g.cancelled.load(Ordering::Relaxed)
                || (g.workshare.get()
                    && Group::of(g.outer.get())
                        .is_some_and(|o| o.cancelled.load(Ordering::Relaxed)))
        })
    }

    /// `cancel taskgroup` by a task of the group.
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

    /// One task is complete. Returns the sleep of the member to nudge, or null. The group may be gone when
    /// this returns.
    #[inline]
    pub(crate) fn leave(&self) -> *const Sleep {
        let runner = self.runner.get();
        if self.live.leave() {
            runner
        } else {
            core::ptr::null()
        }
    }

    /// Takes the group's reductions, at its end.
    pub(super) fn into_privates(self) -> Option<Box<Reductions>> {
        self.privates.into_inner()
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

/// Task records of one thread that are free for reuse.
#[derive(Debug)]
pub(crate) struct TaskCache {
    small: Recycler<Task>,
    pub(crate) nodes: Recycler<siblings::Node>,
}

/// Data of at most this many bytes gets a record of one common size, which is kept for reuse.
const SMALL_DATA: usize = 128;
/// Bytes of a kept record.
const SMALL: usize = core::mem::size_of::<Task>() + SMALL_DATA;

static DEPOT: Depot<Task> = Depot::new();

// SAFETY: a free record refers to nothing that belongs to a thread.
unsafe impl Record for Task {
    #[inline]
    fn next(&self) -> &Cell<*mut Task> {
        &self.next_free
    }
    unsafe fn dispose(this: *mut Task) {
        // SAFETY: by the trait's contract the recycler passes a record from a list that nobody else sees.
        unsafe { dispose(this) };
    }
    fn depot() -> &'static Depot<Task> {
        &DEPOT
    }
}

impl TaskCache {
    pub(crate) const fn new() -> TaskCache {
        TaskCache {
            small: Recycler::new(),
            nodes: Recycler::new(),
        }
    }

    /// A record with room for `bytes` bytes of data, and the data's address. The record's cells hold old
    /// values, except `size`; the caller sets them all.
    #[inline]
    pub(super) fn take(&self, bytes: usize, align: usize) -> (*mut Task, *mut u8) {
        let kept = if bytes <= SMALL_DATA && align <= 64 {
            self.small.take()
        } else {
            None
        };
        let task = kept.unwrap_or_else(|| fresh(bytes, align));
        // SAFETY: the allocation has room for the data after the record, aligned.
        let data = unsafe { task.cast::<u8>().add(core::mem::size_of::<Task>()) };
        let data = data.wrapping_add(data.align_offset(align.max(1)));
        (task, data)
    }

    /// Takes a record back.
    ///
    /// # Safety
    /// Nobody uses the record any more.
    #[inline]
    pub(super) unsafe fn give(&self, task: *mut Task) {
        // SAFETY: by this function's contract nobody uses the record: the caller has seen its counts say so.
        unsafe {
            if (*task).size.get() as usize == SMALL {
                self.small.give(task);
            } else {
                dispose(task);
            }
        }
    }
}

#[cold]
fn fresh(bytes: usize, align: usize) -> *mut Task {
    let size = if bytes <= SMALL_DATA && align <= 64 {
        SMALL
    } else {
        core::mem::size_of::<Task>() + bytes + align
    };
    let layout = std::alloc::Layout::from_size_align(size, 64).unwrap_or_else(|_| {
        hetmp_core::report::fatal(format_args!("task data of {bytes} bytes: too large"))
    });
    let p = match table() {
        // What the program finds at an address of a task's data, it must find there on every node.
        Some(nodes) => (nodes.allocate)(size, layout.align()),
        // SAFETY: the size is not zero.
        None => unsafe { std::alloc::alloc(layout) },
    };
    let p = p.cast::<Task>();
    if p.is_null() {
        hetmp_core::report::fatal(format_args!("out of memory for a task of {bytes} bytes"));
    }
    // SAFETY: fresh memory of sufficient size and alignment.
    unsafe {
        p.write(Task::implicit());
        (*p).size.set(u32::try_from(size).unwrap_or(0));
        if (*p).size.get() == 0 {
            hetmp_core::report::fatal(format_args!("task data of {bytes} bytes: too large"));
        }
    }
    p
}

/// Returns a record to the system.
///
/// # Safety
/// The record came from `fresh`, and nobody uses it any more.
pub(super) unsafe fn dispose(task: *mut Task) {
    // SAFETY: by this function's contract nobody uses the record: the caller has seen its counts say so. The
    // layout is the one of its allocation.
    unsafe {
        let size = (*task).size.get() as usize;
        core::ptr::drop_in_place(task);
        if let Some(nodes) = table().filter(|t| (t.is_shared)(task.addr())) {
            return (nodes.free)(task.cast());
        }
        std::alloc::dealloc(
            task.cast(),
            std::alloc::Layout::from_size_align_unchecked(size, 64),
        );
    }
}
