//! What the runtime knows about one thread of the process.
//!
//! A [`Thread`] exists for every thread that ever called into the library, found through the self
//! pointer of `hetmp_core::tls`. Its [`Context`] says where in the program's parallel structure
//! the thread stands; a thread that opens a region saves its context, works as thread 0 of the
//! new team, and gets it back at the join.
//!
//! **Ownership.** Only the thread itself reads or writes its `Thread`; everything other threads
//! may touch lives in teams. That is why plain `Cell`s suffice, and why `Thread` is not `Sync`.

use crate::ahead::said::{Ahead, Index};
use crate::host::acc::attached::Attached;
use crate::init;
use crate::memory::copies::Copies;
use crate::task::record::{Task, TaskCache};
use crate::team::members::{Member, Team};
use crate::team::pool::Pool;
use crate::team::suspend::Suspend;
use crate::unlike::het::settled::Settled;
use crate::unlike::slow::SlowState;
use crate::unlike::virtual_team::lever::Opened;
use crate::unlike::virtual_team::unasked::Unasked;
use crate::worksharing::work::{Cursor, Work, WorkPos};
use core::any::Any;
use core::cell::{Cell, OnceCell, RefCell};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_core::tls;

/// Where a thread stands in the program: its team, its number there, its current task and
/// worksharing construct.
#[derive(Debug)]
pub(crate) struct Context {
    /// Number in the team, 0 for the primary thread: what the program is told. In a team of this process that is also
    /// the thread's *seat*, the index of its member, deque and place in schedules. Where a region's threads are in
    /// several processes the two differ ([`crate::across`]): `member` is then the seat, and constructs that go by
    /// seats do not cross.
    pub(crate) tid: Cell<u32>,
    /// Size of the team; a copy of what the team says, for the hot queries.
    pub(crate) nthreads: Cell<u32>,
    /// The team; never null. Outside parallel regions a team of one at level 0.
    pub(crate) team: Cell<*const Team>,
    /// This thread's part of the team; never null.
    pub(crate) member: Cell<*const Member>,
    /// The task that runs now; never null. The implicit task at first.
    pub(crate) task: Cell<*const Task>,
    /// The current worksharing construct, or null before the first.
    pub(crate) work: Cell<*const Work>,
    /// Where the next worksharing construct of the team is.
    pub(crate) pos: Cell<WorkPos>,
    /// This thread's progress in the current loop.
    pub(crate) cursor: Cell<Cursor>,
    /// `single` constructs met in this region.
    pub(crate) singles: Cell<u32>,
}

/// A context set aside by a thread that opened a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedContext {
    tid: u32,
    nthreads: u32,
    team: *const Team,
    member: *const Member,
    task: *const Task,
    work: *const Work,
    pos: WorkPos,
    cursor: Cursor,
    singles: u32,
}

impl SavedContext {
    /// Was the thread in its implicit task?
    pub(crate) fn is_in_implicit_task(&self) -> bool {
        // SAFETY: null, or the member that the context belongs to, which lives as long as its team.
        unsafe { self.member.as_ref() }
            .is_some_and(|m| core::ptr::eq(self.task, &raw const m.implicit))
    }

    /// Nothing set aside.
    pub(crate) const fn empty() -> SavedContext {
        SavedContext {
            tid: 0,
            nthreads: 0,
            team: core::ptr::null(),
            member: core::ptr::null(),
            task: core::ptr::null(),
            work: core::ptr::null(),
            pos: WorkPos::NOWHERE,
            cursor: Cursor::START,
            singles: 0,
        }
    }
}

/// One thread of the process, as the runtime sees it.
#[derive(Debug)]
pub struct Thread {
    pub(crate) ctx: Context,
    /// How many regions this thread is the primary thread of right now.
    pub(crate) depth: Cell<usize>,
    /// Pools of workers, one for each depth at which this thread opened a region.
    #[allow(clippy::vec_box, reason = "workers and contexts point into pools")]
    pub(crate) pools: RefCell<Vec<Box<Pool>>>,
    /// The team of one that this thread is when it is in no region; null for workers of ours.
    pub(crate) solo: Cell<*mut Team>,
    /// The team of one for regions that are too short for more.
    pub(crate) of_one: OnceCell<Box<Team>>,
    /// Teams of one for target regions on the host, those not in use.
    #[allow(clippy::vec_box, reason = "contexts point into teams")]
    pub(crate) devices: RefCell<Vec<Box<Team>>>,
    /// Tick at which this thread last got another's data from a `single copyprivate`; 0 when it
    /// executed the last one itself.
    pub(crate) copied_at: Cell<u64>,
    /// Freed task records for reuse.
    pub(crate) cache: TaskCache,
    /// Number of the team in the current league, and the size of the league less one.
    pub(crate) league: Cell<(u32, u32)>,
    /// The place this thread is bound to plus one; 0 when unbound.
    pub(crate) place: Cell<u32>,
    /// The place partition: first place and length.
    pub(crate) partition: Cell<(u32, u32)>,
    /// Threads in use in the contention group, if this is its initial thread.
    pub(crate) own_busy: AtomicU32,
    /// Threads in use in this thread's contention group; null: `own_busy`.
    pub(crate) busy: Cell<*const AtomicU32>,
    /// The node this thread belongs to.
    pub(crate) node: Cell<u32>,
    /// What OpenACC keeps for each thread.
    pub(crate) acc: Attached,
    /// Emulated slowness.
    pub(crate) slow: SlowState,
    /// Number among the threads of the process.
    pub(crate) index: Index,
    /// What the program said ahead of a construct.
    pub(crate) ahead: Ahead,
    /// This thread's copies of threadprivate variables.
    pub(crate) privates: Copies,
    /// Pieces of settled loops.
    pub(crate) settled: RefCell<Settled>,
    /// How this thread suspends its virtual threads where they wait; `None` where the thread runs none. Set by
    /// `VirtualTeam` to a runner of the team, and cleared before the region ends, which the team outlives.
    pub(crate) runner: Cell<Option<NonNull<dyn Suspend>>>,
    /// Regions that this thread opens without asking what is known of them.
    pub(crate) unasked: Unasked,
    /// The team of virtual threads for regions that this thread opens: a `VirtualTeam`.
    pub(crate) virtual_team: RefCell<Option<Box<dyn Any>>>,
    /// The outermost region that this thread opened without handing over its own part, where a
    /// report is wanted.
    pub(crate) opened: Cell<Option<Opened>>,
    /// Runs the tasks that are left when the thread ends. Set by whoever defers some outside of regions.
    pub(crate) at_end: Cell<Option<fn(&Thread)>>,
}

impl Thread {
    /// The calling thread; a thread of the application is registered at its first call.
    #[inline(always)]
    pub fn current() -> &'static Thread {
        let p: *const Thread = tls::get().cast();
        if p.is_null() {
            adopt()
        } else {
            // SAFETY: the word holds null or the thread's own record, which lives until the
            // thread has ended; the reference does not leave the thread (`Thread` is not Send).
            unsafe { &*p }
        }
    }

    /// The calling thread if it has ever used the runtime.
    #[inline(always)]
    pub(crate) fn try_current() -> Option<&'static Thread> {
        let p: *const Thread = tls::get().cast();
        // SAFETY: the word holds null or the thread's own record, which lives until the thread has ended; the
        // reference does not leave the thread (`Thread` is not Send).
        unsafe { p.as_ref() }
    }

    pub(crate) fn new() -> Thread {
        Thread {
            ctx: Context {
                tid: Cell::new(0),
                nthreads: Cell::new(1),
                team: Cell::new(core::ptr::null()),
                member: Cell::new(core::ptr::null()),
                task: Cell::new(core::ptr::null()),
                work: Cell::new(core::ptr::null()),
                pos: Cell::new(WorkPos::NOWHERE),
                cursor: Cell::new(Cursor::START),
                singles: Cell::new(0),
            },
            depth: Cell::new(0),
            pools: RefCell::new(Vec::new()),
            solo: Cell::new(core::ptr::null_mut()),
            of_one: OnceCell::new(),
            devices: RefCell::new(Vec::new()),
            copied_at: Cell::new(0),
            cache: TaskCache::new(),
            league: Cell::new((0, 0)),
            place: Cell::new(0),
            partition: Cell::new((0, 0)),
            own_busy: AtomicU32::new(1),
            busy: Cell::new(core::ptr::null()),
            node: Cell::new(0),
            acc: Attached::new(),
            slow: SlowState::new(),
            index: Index::new(),
            ahead: Ahead::new(),
            privates: Copies::new(),
            settled: RefCell::new(Settled::new()),
            runner: Cell::new(None),
            unasked: Unasked::default(),
            virtual_team: RefCell::new(None),
            opened: Cell::new(None),
            at_end: Cell::new(None),
        }
    }

    /// The thread's team.
    #[inline(always)]
    pub(crate) fn team(&self) -> &Team {
        // SAFETY: set to a live team before the thread's record is published to the thread; a team
        // lives until its pool or the thread ends, both after the context left it.
        unsafe { &*self.ctx.team.get() }
    }

    /// The thread's part of its team.
    #[inline(always)]
    pub(crate) fn member(&self) -> &Member {
        // SAFETY: set together with `team`, to a member of that team; members live as long as their team, and a team
        // until the context has left it.
        unsafe { &*self.ctx.member.get() }
    }

    /// The current task.
    #[inline(always)]
    pub(crate) fn task(&self) -> &Task {
        // SAFETY: implicit tasks live with their team; an explicit task lives while it is current.
        unsafe { &*self.ctx.task.get() }
    }

    /// Number in the team (`omp_get_thread_num`).
    #[inline(always)]
    pub fn tid(&self) -> u32 {
        self.ctx.tid.get()
    }

    /// Size of the team (`omp_get_num_threads`).
    #[inline(always)]
    pub fn nthreads(&self) -> u32 {
        self.ctx.nthreads.get()
    }

    /// Threads in use in the contention group.
    pub(crate) fn busy(&self) -> &AtomicU32 {
        // SAFETY: null or the counter of the initial thread, which waits for this one's region.
        unsafe { self.busy.get().as_ref() }.unwrap_or(&self.own_busy)
    }

    /// Makes the thread member `tid` of `team`: resets its implicit task and its context.
    #[inline]
    pub(crate) fn become_member(&self, team: &Team, tid: u32, nthreads: u32) {
        let m: &Member = &team.members[tid as usize];
        m.implicit
            .begin_implicit(team.shared.icv.as_ptr(), team, &raw const m.sleep);
        let c = &self.ctx;
        c.tid.set(tid);
        c.nthreads.set(nthreads);
        c.team.set(team);
        c.member.set(m);
        c.task.set(&m.implicit);
        c.work.set(core::ptr::null());
        c.cursor.set(Cursor::START);
        c.singles.set(0);
    }

    /// Does the thread run virtual threads?
    #[inline(always)]
    pub(crate) fn is_runner(&self) -> bool {
        self.runner.get().is_some()
    }

    #[inline(always)]
    fn suspends(&self) -> Option<&dyn Suspend> {
        // SAFETY: `VirtualTeam` sets the field to a runner of its own and clears it before the team can go.
        self.runner.get().map(|p| unsafe { p.as_ref() })
    }

    /// [`Suspend::wait_for_lock`] where virtual threads run; false elsewhere.
    #[inline(always)]
    pub(crate) fn suspend_for_lock(&self, done: &mut dyn FnMut() -> bool) -> bool {
        self.suspends().is_some_and(|s| s.wait_for_lock(done))
    }

    /// [`Suspend::wait_for_others`] where virtual threads run; false elsewhere.
    #[inline(always)]
    pub(crate) fn suspend_for_others(&self, done: &mut dyn FnMut() -> bool) -> bool {
        self.suspends().is_some_and(|s| s.wait_for_others(done))
    }

    /// [`Suspend::barrier`], in a virtual team.
    #[cold]
    pub(crate) fn suspend_at_barrier(&self) {
        if let Some(s) = self.suspends() {
            s.barrier();
        }
    }

    /// Takes up to `wanted - 1` more threads for a region from the limit of the contention group;
    /// returns the size of team that this allows.
    pub(crate) fn take_from_limit(&self, wanted: u32, limit: u32) -> u32 {
        let mut n = 1;
        let _ = self
            .busy()
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |busy| {
                n = wanted.min(limit.saturating_sub(busy) + 1);
                Some(busy + n - 1)
            });
        n
    }

    /// Sets the context aside.
    #[inline]
    pub(crate) fn save(&self) -> SavedContext {
        let c = &self.ctx;
        SavedContext {
            tid: c.tid.get(),
            nthreads: c.nthreads.get(),
            team: c.team.get(),
            member: c.member.get(),
            task: c.task.get(),
            work: c.work.get(),
            pos: c.pos.get(),
            cursor: c.cursor.get(),
            singles: c.singles.get(),
        }
    }

    /// Takes a context up again.
    #[inline]
    pub(crate) fn restore(&self, s: &SavedContext) {
        let c = &self.ctx;
        c.tid.set(s.tid);
        c.nthreads.set(s.nthreads);
        c.team.set(s.team);
        c.member.set(s.member);
        c.task.set(s.task);
        c.work.set(s.work);
        c.pos.set(s.pos);
        c.cursor.set(s.cursor);
        c.singles.set(s.singles);
    }
}

/// Registers a thread of the application: its first call into the runtime.
#[cold]
#[inline(never)]
fn adopt() -> &'static Thread {
    init::once();
    let thread = Box::new(Thread::new());
    let solo = Box::into_raw(Team::solo());
    thread.solo.set(solo);
    // SAFETY: `solo` was made above and is freed only when this thread ends.
    thread.become_member(unsafe { &*solo }, 0, 1);
    let p = Box::into_raw(thread);
    tls::set(p.cast());
    init::on_thread_exit(p.cast(), release);
    // SAFETY: `p` comes from `Box::into_raw` and is freed by `release`, when the thread ends.
    unsafe { &*p }
}

/// Frees what an application thread owned; called by the system when the thread ends.
unsafe extern "C" fn release(p: *mut libc::c_void) {
    // SAFETY: `p` is the pointer registered in `adopt`, and not freed before the lines below.
    let th = unsafe { &*p.cast::<Thread>() };
    if let Some(finish) = th.at_end.get() {
        finish(th);
    }
    tls::set(core::ptr::null_mut());
    // SAFETY: `p` is the pointer registered in `adopt`, passed exactly once, after the thread's last
    // use of the runtime (a later use, from another destructor, registers the thread anew).
    let thread = unsafe { Box::from_raw(p.cast::<Thread>()) };
    for pool in thread.pools.take() {
        pool.shut_down();
    }
    let solo = thread.solo.get();
    if !solo.is_null() {
        // SAFETY: made by `Box::into_raw` in `adopt`; nobody else refers to a team of one.
        drop(unsafe { Box::from_raw(solo) });
    }
}
