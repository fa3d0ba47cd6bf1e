//! A thread of the process, as the runtime sees it.
//!
//! Every thread that ever called the library has a [`Thread`], which the self pointer of `hetmp_core::tls`
//! leads to. Its [`Context`] tells where in the program's parallel structure the thread is. A thread that
//! opens a region saves its context, works as thread 0 of the new team, and gets the saved context back at
//! the join.
//!
//! **Ownership.** Only the thread itself reads or writes its `Thread`. Everything that other threads may
//! touch belongs to a team; the exception is the counter `own_busy`, an atomic. So the other fields are plain
//! `Cell`s, and `Thread` is not `Sync`.

use crate::across::meter::Watch;
use crate::ahead::said::{Ahead, Index};
use crate::host::acc::attached::Attached;
use crate::icv::UNLIMITED_THREADS;
use crate::init;
use crate::memory::copies::Copies;
use crate::task::record::{Task, TaskCache};
use crate::team::members::{Member, Team};
use crate::team::pool::Pool;
use crate::team::seat::Seat;
use crate::team::spare;
use crate::team::suspend::Suspend;
use crate::tool::record::ThreadRecord;
use crate::tool::{self, attach, life};
use crate::unlike::het::settled::Settled;
use crate::unlike::slow::SlowState;
use crate::unlike::virtual_team::opened::Opened;
use crate::unlike::virtual_team::unasked::Unasked;
use crate::worksharing::singles::Met;
use crate::worksharing::work::{Cursor, Work, WorkPos};
use core::any::Any;
use core::cell::{Cell, OnceCell, RefCell};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use hetmp_core::counters::Reading;
use hetmp_core::program::binding;
use hetmp_core::tls;

/// Where in the program a thread is: its team, its number there, its current task and worksharing construct.
#[derive(Debug)]
pub(crate) struct Context {
    /// The thread's number in the team, as the program sees it; 0 for the primary thread. The runtime itself uses the
    /// thread's [`Seat`], which `member` knows.
    pub(crate) number: Cell<u32>,
    /// Number of threads in the team, as the program sees it: a copy of the team's own number, so that frequent
    /// queries are fast.
    pub(crate) nthreads: Cell<u32>,
    /// The team; never null. Outside of parallel regions it is a team of one thread at level 0.
    pub(crate) team: Cell<*const Team>,
    /// This thread's part of the team; never null.
    pub(crate) member: Cell<*const Member>,
    /// The current task; never null. When a region begins, it is the implicit task.
    pub(crate) task: Cell<*const Task>,
    /// The current worksharing construct; null before the first one.
    pub(crate) work: Cell<*const Work>,
    /// The place of the team's next worksharing construct.
    pub(crate) pos: Cell<WorkPos>,
    /// How far this thread is in the current loop.
    pub(crate) cursor: Cell<Cursor>,
    /// How far the thread is among the `single` constructs of this region.
    pub(crate) singles: Cell<Met>,
}

/// The context that a thread had before it opened a region.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedContext {
    number: u32,
    nthreads: u32,
    team: *const Team,
    member: *const Member,
    task: *const Task,
    work: *const Work,
    pos: WorkPos,
    cursor: Cursor,
    singles: Met,
}

impl SavedContext {
    /// Was the thread in its implicit task when the context was saved?
    pub(crate) fn is_in_implicit_task(&self) -> bool {
        // SAFETY: null, or the context's member, which lives as long as its team.
        unsafe { self.member.as_ref() }
            .is_some_and(|m| core::ptr::eq(self.task, &raw const m.implicit))
    }

    /// The task that the thread was in; null for a context of no team.
    pub(crate) fn task(&self) -> *const Task {
        self.task
    }

    /// A context of no team.
    pub(crate) const fn empty() -> SavedContext {
        SavedContext {
            number: 0,
            nthreads: 0,
            team: core::ptr::null(),
            member: core::ptr::null(),
            task: core::ptr::null(),
            work: core::ptr::null(),
            pos: WorkPos::NOWHERE,
            cursor: Cursor::START,
            singles: Met::NONE,
        }
    }
}

/// A thread of the process, as the runtime sees it.
#[derive(Debug)]
pub struct Thread {
    pub(crate) ctx: Context,
    /// In how many regions, one inside the other, this thread is the primary thread at present.
    pub(crate) depth: Cell<usize>,
    /// Pools of workers: one for each nesting depth at which this thread has opened a region.
    #[allow(clippy::vec_box, reason = "workers and contexts point into pools")]
    pub(crate) pools: RefCell<Vec<Box<Pool>>>,
    /// The team of one to which this thread belongs outside of regions; null for the pools' workers.
    pub(crate) solo: Cell<*mut Team>,
    /// The team of one for regions that are too short for more threads.
    pub(crate) of_one: OnceCell<Box<Team>>,
    /// Teams of one for target regions on the host, as far as they are not in use.
    #[allow(clippy::vec_box, reason = "contexts point into teams")]
    pub(crate) devices: RefCell<Vec<Box<Team>>>,
    /// The tick at which this thread last copied data in a `single copyprivate` that another thread executed;
    /// 0 if this thread executed the last one itself.
    pub(crate) copied_at: Cell<u64>,
    /// Freed task records that can be used again.
    pub(crate) cache: TaskCache,
    /// The team's number in the current league, and the size of the league less one.
    pub(crate) league: Cell<(u32, u32)>,
    /// The place to which this thread is bound, plus one; 0 if it is not bound.
    pub(crate) place: Cell<u32>,
    /// The place partition: its first place, and its length.
    pub(crate) partition: Cell<(u32, u32)>,
    /// Number of busy threads in the contention group, if this thread is the group's initial thread.
    pub(crate) own_busy: AtomicU32,
    /// The counter of busy threads in this thread's contention group; null means `own_busy`.
    pub(crate) busy: Cell<*const AtomicU32>,
    /// The node to which this thread belongs.
    pub(crate) node: Cell<u32>,
    /// OpenACC's data of this thread.
    pub(crate) acc: Attached,
    /// The state of emulated slowness.
    pub(crate) slow: SlowState,
    /// This thread's number among the threads of the process.
    pub(crate) index: Index,
    /// Critical sections that this thread is in: see `across::critical`. Used on several nodes only.
    pub(crate) sections: Cell<u64>,
    /// Ticks that this thread has spun at barriers of regions that cross nodes.
    pub(crate) spun: Cell<u64>,
    /// Where `across::early` stood when this thread last told what it did.
    pub(crate) probed: Cell<(Watch, Reading)>,
    /// Clauses that the program passed before the construct to which they belong.
    pub(crate) ahead: Ahead,
    /// This thread's copies of threadprivate variables.
    pub(crate) privates: Copies,
    /// The pieces of loops whose division is settled.
    pub(crate) settled: RefCell<Settled>,
    /// How virtual threads that have to wait are suspended; `None` if this thread runs no virtual threads.
    /// `VirtualTeam` sets the field to one of its runners and clears it before the region ends. The team
    /// lives longer than that.
    pub(crate) runner: Cell<Option<NonNull<dyn Suspend>>>,
    /// Regions that this thread opens without looking at what is known of them.
    pub(crate) unasked: Unasked,
    /// The team of virtual threads for regions that this thread opens. Its type is `VirtualTeam`.
    pub(crate) virtual_team: RefCell<Option<Box<dyn Any>>>,
    /// Set while a report is wanted: the outermost region whose own part this thread runs itself, without the
    /// runtime calling it.
    pub(crate) opened: Cell<Option<Opened>>,
    /// Runs the tasks that are left when the thread ends. Set by the code that defers tasks outside of
    /// regions.
    pub(crate) at_end: Cell<Option<fn(&Thread)>>,
    /// What the tool knows of this thread.
    pub(crate) tool: ThreadRecord,
}

impl Thread {
    /// The calling thread. A thread that the program made is registered at its first call.
    #[inline(always)]
    pub fn current() -> &'static Thread {
        let p: *const Thread = tls::get().cast();
        if p.is_null() {
            adopt()
        } else {
            // SAFETY: the word holds null or the thread's own record, which lives until the thread has ended.
            // The reference does not leave the thread (`Thread` is not Send).
            unsafe { &*p }
        }
    }

    /// The calling thread, if it has ever used the runtime.
    #[inline(always)]
    pub(crate) fn try_current() -> Option<&'static Thread> {
        let p: *const Thread = tls::get().cast();
        // SAFETY: the word holds null or the thread's own record, which lives until the thread has ended. The
        // reference does not leave the thread (`Thread` is not Send).
        unsafe { p.as_ref() }
    }

    pub(crate) fn new() -> Thread {
        Thread {
            ctx: Context {
                number: Cell::new(0),
                nthreads: Cell::new(1),
                team: Cell::new(core::ptr::null()),
                member: Cell::new(core::ptr::null()),
                task: Cell::new(core::ptr::null()),
                work: Cell::new(core::ptr::null()),
                pos: Cell::new(WorkPos::NOWHERE),
                cursor: Cell::new(Cursor::START),
                singles: Cell::new(Met::NONE),
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
            sections: Cell::new(0),
            spun: Cell::new(0),
            probed: Cell::default(),
            ahead: Ahead::new(),
            privates: Copies::new(),
            settled: RefCell::new(Settled::new()),
            runner: Cell::new(None),
            unasked: Unasked::default(),
            virtual_team: RefCell::new(None),
            opened: Cell::new(None),
            at_end: Cell::new(None),
            tool: ThreadRecord::new(),
        }
    }

    /// The thread's team.
    #[inline(always)]
    pub(crate) fn team(&self) -> &Team {
        // SAFETY: the pointer was set to a live team before the thread could use its record. A team lives
        // until its pool or the thread ends, and the context leaves the team before that.
        unsafe { &*self.ctx.team.get() }
    }

    /// The thread's part of its team.
    #[inline(always)]
    pub(crate) fn member(&self) -> &Member {
        // SAFETY: set together with `team`, to a member of that team. Members live as long as their team, and
        // the team lives at least until the context has left it.
        unsafe { &*self.ctx.member.get() }
    }

    /// The current task.
    #[inline(always)]
    pub(crate) fn task(&self) -> &Task {
        // SAFETY: an implicit task lives as long as its team, and an explicit task at least as long as it is
        // current.
        unsafe { &*self.ctx.task.get() }
    }

    /// The thread's number in the team, as the program sees it (`omp_get_thread_num`).
    #[inline(always)]
    pub fn number(&self) -> u32 {
        self.ctx.number.get()
    }

    /// The thread's index in its team.
    #[inline(always)]
    pub(crate) fn seat(&self) -> Seat {
        self.member().seat
    }

    /// The number of threads in the team, as the program sees it (`omp_get_num_threads`).
    #[inline(always)]
    pub fn nthreads(&self) -> u32 {
        self.ctx.nthreads.get()
    }

    /// The counter of busy threads in the contention group.
    pub(crate) fn busy(&self) -> &AtomicU32 {
        // SAFETY: null, or the counter of the group's initial thread, which lives until this thread's region
        // has ended.
        unsafe { self.busy.get().as_ref() }.unwrap_or(&self.own_busy)
    }

    /// Puts the thread on `seat` of `team`, which is also its number: gives it a fresh implicit task and a fresh
    /// context.
    #[inline]
    pub(crate) fn become_member(&self, team: &Team, seat: Seat, nthreads: u32) {
        let m = team.member(seat);
        m.implicit
            .begin_implicit(team.shared.icv.as_ptr(), team, &raw const m.sleep);
        let c = &self.ctx;
        c.number.set(seat.get());
        c.nthreads.set(nthreads);
        c.team.set(team);
        c.member.set(m);
        c.task.set(&m.implicit);
        c.work.set(core::ptr::null());
        c.cursor.set(Cursor::START);
        c.singles.set(Met::NONE);
    }

    /// Tells the tool of this thread, which the program made, unless the tool knows it.
    #[cold]
    pub(crate) fn tell_begin(&self) {
        if !self.tool.has_begun() {
            life::begin_initial(&self.tool, self.task().tool(), &self.team().shared.tool);
        }
    }

    /// Called in the child of a fork by its first thread: those that fulfilled events of its tasks do not exist.
    pub(crate) fn after_fork(&self) {
        // SAFETY: null, or the team that `adopt` made, which is freed only when this thread ends.
        let solo = unsafe { self.solo.get().as_ref() };
        let devices = self.devices.borrow();
        let teams = solo.into_iter().chain(self.of_one.get().map(|t| &**t));
        for team in teams.chain(devices.iter().map(|t| &**t)) {
            team.tasks.helpers.forget();
        }
    }

    /// Does the thread run virtual threads?
    #[inline(always)]
    pub(crate) fn is_runner(&self) -> bool {
        self.runner.get().is_some()
    }

    #[inline(always)]
    fn suspends(&self) -> Option<&dyn Suspend> {
        // SAFETY: `VirtualTeam` sets the field to one of its runners, and clears it before the team is
        // dropped.
        self.runner.get().map(|p| unsafe { p.as_ref() })
    }

    /// [`Suspend::wait_for_lock`], if the thread runs virtual threads; otherwise false.
    #[inline(always)]
    pub(crate) fn suspend_for_lock(&self, done: &mut dyn FnMut() -> bool) -> bool {
        self.suspends().is_some_and(|s| s.wait_for_lock(done))
    }

    /// [`Suspend::wait_for_others`], if the thread runs virtual threads; otherwise false.
    #[inline(always)]
    pub(crate) fn suspend_for_others(&self, done: &mut dyn FnMut() -> bool) -> bool {
        self.suspends().is_some_and(|s| s.wait_for_others(done))
    }

    /// [`Suspend::barrier`], if the thread runs virtual threads.
    #[cold]
    pub(crate) fn suspend_at_barrier(&self) {
        if let Some(s) = self.suspends() {
            s.barrier();
        }
    }

    /// Takes up to `wanted - 1` further threads for a region from the limit of the contention group. Returns
    /// the number of threads that the team may have.
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

    /// Frees what [`Thread::take_from_limit`] took for a region of `n` threads that is over.
    pub(crate) fn return_to_limit(&self, n: u32, limit: u32) {
        if limit != UNLIMITED_THREADS {
            self.busy().fetch_sub(n - 1, Ordering::Relaxed);
        }
    }

    /// Returns a copy of the context.
    #[inline]
    pub(crate) fn save(&self) -> SavedContext {
        let c = &self.ctx;
        SavedContext {
            number: c.number.get(),
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

    /// Sets the context to a saved one.
    #[inline]
    pub(crate) fn restore(&self, s: &SavedContext) {
        let c = &self.ctx;
        c.number.set(s.number);
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

/// Registers a thread that the program made, at its first call into the runtime.
#[cold]
#[inline(never)]
fn adopt() -> &'static Thread {
    let _whole = hetmp_core::whole::stretch();
    let tool = hetmp_core::sys::keeping_errno(|| {
        init::once();
        binding::check();
        attach::attach()
    });
    if tool {
        if let Some(th) = Thread::try_current() {
            // The tool's first function used the runtime, and so registered this thread.
            return th;
        }
    }
    let thread = Box::new(Thread::new());
    let solo = Box::into_raw(Team::solo());
    thread.solo.set(solo);
    // SAFETY: `solo` was made in the line above, and is freed only when this thread ends.
    thread.become_member(unsafe { &*solo }, Seat::FIRST, 1);
    let p = Box::into_raw(thread);
    tls::set(p.cast());
    init::on_thread_exit(p.cast(), release);
    // SAFETY: `p` comes from `Box::into_raw` and is freed by `release`, when the thread ends.
    let th = unsafe { &*p };
    if tool {
        th.tell_begin();
    }
    th
}

/// Frees what a thread of the program owned. The system calls this function when the thread ends.
unsafe extern "C" fn release(p: *mut libc::c_void) {
    // SAFETY: `adopt` registered `p`, and `p` is freed only in the lines below.
    let th = unsafe { &*p.cast::<Thread>() };
    if let Some(finish) = th.at_end.get() {
        finish(th);
    }
    if tool::on() {
        let outside = th.team().level() == 0;
        life::end_initial(&th.tool, outside.then(|| th.task().tool()));
    }
    tls::set(core::ptr::null_mut());
    // SAFETY: `adopt` registered `p`, and the system passes it exactly once, after the thread's last use of
    // the runtime. (If another destructor uses the runtime later, the thread is registered anew.)
    let thread = unsafe { Box::from_raw(p.cast::<Thread>()) };
    for (depth, pool) in thread.pools.take().into_iter().enumerate() {
        if init::forked() {
            // The workers stayed in the parent process.
            pool.forget();
            continue;
        }
        let ends = if depth == 0 {
            spare::keep(pool)
        } else {
            Some(pool)
        };
        if let Some(pool) = ends {
            pool.shut_down();
        }
    }
    let solo = thread.solo.get();
    if !solo.is_null() {
        // SAFETY: `adopt` made the team with `Box::into_raw`, and this thread has left it.
        let team = unsafe { Box::from_raw(solo) };
        if !(team.quiescent(0) && team.quiescent(1)) {
            // A task waits for its event. Whoever fulfills that later completes the task, which refers to the team.
            Box::leak(team);
        }
    }
}
