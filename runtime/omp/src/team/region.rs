//! Teams: the threads of one parallel region, and its start and end.
//!
//! # A region's life
//! 1. [`fork`]: the primary thread sizes the team, writes what the workers need into their slots
//!    and signals them (see `pool`). From here on it *is* thread 0 of the team.
//! 2. Everybody runs the outlined function.
//! 3. [`join`]: workers report and go back to their slots; the primary thread waits for them,
//!    finishes tasks that are left, and takes up its former context.
//!
//! A team is owned by the pool of the thread that opens regions at that depth, and reused for all
//! of them. It outlives its workers, so a worker on its way out may still look at it.
//!
//! # What makes the sharing sound
//! * [`Shared`] is written by the primary thread while no worker is in the team, and only read
//!   between fork and join. The slots' flags order the two.
//! * A [`Member`] is written by its own thread, except for its atomics.

use crate::icv::{Icv, ProcBind, UNLIMITED_THREADS};
use crate::init;
use crate::task::{Deque, Group, Sleep, Task, Tasks};
use crate::team::barrier::{Barrier, Seat};
use crate::team::pool::{Call, Pool};
use crate::thread::{SavedContext, Thread};
use crate::unlike::virtual_team::{self, VirtualTeam};
use crate::worksharing::work::{Cursor, Work, WorkChain};
use core::cell::Cell;
use hetmp_core::park::{Flag, Policy};
use hetmp_core::sync::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, CacheLine, Ordering};
use hetmp_core::trace::{self, Kind as Traced};

/// An outlined region or task body.
pub type Outlined = unsafe extern "C" fn(*mut libc::c_void);

/// What the threads of a region read about it.
#[derive(Debug)]
pub struct Shared {
    /// Size of the team.
    pub(crate) nthreads: Cell<u32>,
    /// [`Region::code`].
    pub(crate) code: Cell<usize>,
    /// Nesting level, counting inactive regions; 0 outside.
    pub(crate) level: Cell<u32>,
    /// Nesting level, counting only regions of more than one thread.
    pub(crate) active_level: Cell<u32>,
    /// Barriers are central (oversubscribed or cancellable) rather than spread.
    pub(crate) central: Cell<bool>,
    /// The region can be cancelled (`OMP_CANCELLATION`).
    pub(crate) cancellable: Cell<bool>,
    /// Internal control variables that implicit tasks start with.
    pub(crate) icv: Cell<Icv>,
    /// Numbers of threads that a clause of an outer region gives for the regions inside.
    pub(crate) nested: Cell<crate::ahead::Nested>,
    /// The team of the thread that opened the region, and its number there.
    pub(crate) parent: Cell<*const Team>,
    /// See `parent`.
    pub(crate) parent_tid: Cell<u32>,
    /// What the primary thread was doing.
    pub(crate) saved: Cell<SavedContext>,
    /// The size of team whose affinity was last shown (`OMP_DISPLAY_AFFINITY`).
    pub(crate) shown: Cell<u32>,
    /// Threads taken from the limit of the contention group.
    pub(crate) taken: Cell<u32>,
    /// The primary thread's place partition before the region.
    pub(crate) saved_partition: Cell<(u32, u32)>,
    /// What the members' placements were computed for: policy, primary thread's placement, size.
    pub(crate) placed_for: Cell<(u32, (u32, u32, u32), u32)>,
    /// The virtual team that this is the team of, or null: its members are real threads.
    pub(crate) virtual_team: Cell<*const VirtualTeam>,
}

/// The threads of one parallel region.
#[derive(Debug)]
pub struct Team {
    pub(crate) shared: CacheLine<Shared>,
    pub(crate) barrier: Barrier,
    /// As many as the team ever had threads; the first `nthreads` are in use.
    #[allow(clippy::vec_box, reason = "contexts point into members")]
    pub(crate) members: Vec<Box<Member>>,
    pub(crate) works: WorkChain,
    pub(crate) tasks: Tasks,
    /// The region was cancelled.
    pub(crate) cancelled: AtomicBool,
    /// `single` constructs that some thread of the region has taken.
    pub(crate) singles: CacheLine<AtomicU32>,
    /// What one thread passes to the others between two barriers.
    pub(crate) broadcast: AtomicPtr<libc::c_void>,
    /// Nanoseconds of the region in loops that schedules of ours divide, for the report. Added to by
    /// the thread that leaves such a loop last, and taken by the primary thread after the join.
    pub(crate) divided_ns: AtomicU64,
}

/// One thread's part of a team.
#[derive(Debug)]
#[repr(align(128))]
pub struct Member {
    /// The implicit task of this thread.
    pub(crate) implicit: Task,
    /// Number of the last barrier this thread arrived at.
    pub(crate) epoch: Cell<u32>,
    /// Barrier flags others signal to this thread.
    pub(crate) seat: Seat,
    /// Tasks this thread made and nobody has begun.
    pub(crate) deque: CacheLine<Deque>,
    /// Tasks this thread deferred, for even and odd epochs. Written by this thread only.
    pub(crate) created: CacheLine<[AtomicU64; 2]>,
    /// Deferred tasks this thread finished, for even and odd epochs. Written by this thread only.
    pub(crate) finished: CacheLine<[AtomicU64; 2]>,
    /// Task waits of this thread sleep here; only ever nudged.
    pub(crate) idle: CacheLine<Flag>,
    /// Set while this thread sleeps and wants to be nudged when there are tasks.
    pub(crate) sleep: Sleep,
    /// Where this thread runs: place plus one (0: unbound), and its partition.
    pub(crate) placement: Cell<(u32, u32, u32)>,
    /// The node this thread belongs to plus one; 0 while no nodes are in use.
    pub(crate) node: Cell<u32>,
}

impl Member {
    fn new(capacity: u32) -> Member {
        Member {
            implicit: Task::implicit(),
            epoch: Cell::new(0),
            seat: Seat::new(capacity),
            deque: CacheLine(Deque::new()),
            created: CacheLine([AtomicU64::new(0), AtomicU64::new(0)]),
            finished: CacheLine([AtomicU64::new(0), AtomicU64::new(0)]),
            idle: CacheLine(Flag::new()),
            sleep: Sleep::new(),
            placement: Cell::new((0, 0, 0)),
            node: Cell::new(0),
        }
    }
}

impl Team {
    /// A team for up to `capacity` threads.
    pub(crate) fn new(capacity: u32) -> Team {
        Team {
            shared: CacheLine(Shared {
                nthreads: Cell::new(1),
                code: Cell::new(0),
                level: Cell::new(0),
                active_level: Cell::new(0),
                central: Cell::new(false),
                cancellable: Cell::new(false),
                icv: Cell::new(init::globals().icv),
                nested: Cell::new(crate::ahead::Nested::NONE),
                parent: Cell::new(core::ptr::null()),
                parent_tid: Cell::new(0),
                saved: Cell::new(SavedContext::empty()),
                shown: Cell::new(0),
                taken: Cell::new(0),
                saved_partition: Cell::new((0, 0)),
                placed_for: Cell::new((0, (0, 0, 0), 0)),
                virtual_team: Cell::new(core::ptr::null()),
            }),
            barrier: Barrier::new(),
            members: (0..capacity)
                .map(|_| Box::new(Member::new(capacity)))
                .collect(),
            works: WorkChain::new(),
            tasks: Tasks::new(),
            cancelled: AtomicBool::new(false),
            singles: CacheLine(AtomicU32::new(0)),
            broadcast: AtomicPtr::new(core::ptr::null_mut()),
            divided_ns: AtomicU64::new(0),
        }
    }

    /// The team of one that a thread outside parallel regions is.
    pub(crate) fn solo() -> Box<Team> {
        Box::new(Team::new(1))
    }

    /// Makes room for `n` threads. Only while no worker is in the team.
    fn grow(&mut self, n: u32) {
        self.tasks.quiesce();
        // Seats hold as many flags as the largest team needs, so all are made anew.
        let epoch = self.members[0].epoch.get();
        self.members = (0..n).map(|_| Box::new(Member::new(n))).collect();
        self.realign(epoch);
    }

    /// Brings every member to the same epoch, and forgets old signals and counts. Only while no
    /// worker is in the team.
    fn realign(&self, epoch: u32) {
        self.tasks.quiesce();
        for finished in &self.tasks.finished_outside {
            finished.store(0, Ordering::Relaxed);
        }
        for m in &self.members {
            m.epoch.set(epoch);
            m.sleep.forget();
            m.placement.set((0, 0, 0));
            for i in 0..2 {
                m.created[i].store(0, Ordering::Relaxed);
                m.finished[i].store(0, Ordering::Relaxed);
            }
        }
        self.shared.placed_for.set((0, (0, 0, 0), 0));
        self.barrier.reset(
            epoch,
            self.tasks.region_number(),
            self.members.iter().map(|m| &m.seat),
        );
        self.works.restart();
    }

    /// Size of the team.
    #[inline(always)]
    pub fn nthreads(&self) -> u32 {
        self.shared.nthreads.get()
    }

    /// Nesting level (`omp_get_level`).
    #[inline(always)]
    pub fn level(&self) -> u32 {
        self.shared.level.get()
    }

    /// Nesting level of active regions (`omp_get_active_level`).
    #[inline(always)]
    pub fn active_level(&self) -> u32 {
        self.shared.active_level.get()
    }

    /// Are the members virtual threads?
    #[inline(always)]
    pub(crate) fn is_virtual(&self) -> bool {
        !self.shared.virtual_team.get().is_null()
    }

    /// The team around this one and the number there of the thread that opened this one.
    pub fn parent(&self) -> Option<(&Team, u32)> {
        // SAFETY: the enclosing team is in use as long as this one is.
        unsafe { self.shared.parent.get().as_ref() }.map(|t| (t, self.shared.parent_tid.get()))
    }

    #[inline(always)]
    fn seat(&self, tid: u32) -> &Seat {
        &self.members[tid as usize].seat
    }

    /// Makes the calling thread member `tid`: resets its implicit task and its context.
    #[inline]
    pub(crate) fn enter(&self, th: &Thread, tid: u32, nthreads: u32) {
        let m: &Member = &self.members[tid as usize];
        m.implicit.begin_implicit(self.shared.icv.as_ptr(), self, m);
        let c = &th.ctx;
        c.tid.set(tid);
        c.nthreads.set(nthreads);
        c.team.set(self);
        c.member.set(m);
        c.task.set(&m.implicit);
        c.work.set(core::ptr::null());
        c.cursor.set(Cursor::START);
        c.singles.set(0);
    }
}

/// Prepares the worksharing construct that a combined construct starts in.
pub type Prepare<'a> = &'a mut dyn FnMut(&Team, &Work);

/// What a region is to be.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// What every thread of the team calls. Not always the program's own function: a compiler's ABI
    /// may need one that hands over arguments, and a virtual team one that runs many threads.
    pub entry: Outlined,
    /// The argument of `entry`.
    pub data: *mut libc::c_void,
    /// Address of the function that the compiler outlined: tells this region of the program from
    /// others, in reports, profiles and traces, and is what is read to find out what the region does.
    pub code: usize,
    /// Number of threads, resolved.
    pub nthreads: u32,
    /// The `num_threads` clause, 0 for none.
    pub asked: u32,
    /// The `proc_bind` clause, 0 for none.
    pub bind: u32,
    /// Taskgroup with reductions that all implicit tasks belong to, or null.
    pub group: *const Group,
}

/// Opens a region: the calling thread becomes thread 0 of a new team, whose other threads start.
///
/// `first` prepares the worksharing construct of a combined construct, which every thread starts in.
///
/// Returns the size of the team.
///
/// # Safety
/// `region.entry` may be called with `region.data` by all threads until [`join`], which the same
/// thread calls when its own part is over.
pub unsafe fn fork(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    if init::forked() {
        // The workers stayed in the parent process.
        init::after_fork(th);
    }
    th.slow.leave();
    let depth = th.depth.get();
    let mut pools = th.pools.borrow_mut();
    while pools.len() <= depth {
        pools.push(Pool::new());
    }
    let pool: &mut Pool = &mut pools[depth];
    let n = if region.nthreads > 1 {
        pool.ensure_workers(region.nthreads - 1) + 1
    } else {
        1
    };
    let team: &mut Team = &mut pool.team;
    if (team.members.len() as u32) < n {
        team.grow(n);
        team.shared.nthreads.set(n);
    } else if team.shared.nthreads.get() != n {
        // Threads that sat out earlier regions have old epochs.
        let epoch = team.members[0].epoch.get();
        team.realign(epoch);
        team.shared.nthreads.set(n);
    }
    let s = &team.shared;
    s.code.set(region.code);
    let outer = th.team();
    s.level.set(outer.level() + 1);
    s.active_level.set(outer.active_level() + u32::from(n > 1));
    let clause = ProcBind::from_raw(region.bind & 7).filter(|_| region.bind & 7 != 0);
    let mut start = init::globals().team_icv(th.task().icv(), s.level.get() as usize, clause);
    let nested = crate::ahead::nested(th, outer.shared.nested.get());
    if let Some(n) = nested.number() {
        start.icv.nthreads = n;
    }
    s.nested.set(nested);
    s.icv.set(start.icv);
    s.taken.set(if start.icv.thread_limit == UNLIMITED_THREADS {
        0
    } else {
        region.nthreads - 1
    });
    s.parent.set(outer);
    s.parent_tid.set(th.tid());
    s.cancellable.set(init::globals().cancellation);
    let central =
        s.cancellable.get() || (n > 2 && Policy::oversubscribed()) || n > crate::MAX_SPREAD;
    if s.central.get() != central {
        // The flags of the other kind of barrier were left behind by any number of epochs; more than
        // half of the numbers there are, and they would look reached.
        let epoch = team.members[0].epoch.get();
        team.realign(epoch);
        s.central.set(central);
    }
    s.saved.set(th.save());
    team.tasks.begin_region();
    if team.singles.load(Ordering::Relaxed) != 0 {
        team.singles.store(0, Ordering::Relaxed);
    }
    if n > 1 {
        crate::affinity::threads::place(th, team, start.bind);
    } else if init::globals().as_libomp {
        // libomp binds a thread as soon as it meets it, also for a region of one.
        crate::affinity::threads::bind_first(th);
    }
    if crate::unlike::nodes::active() {
        crate::unlike::nodes::place(th, team, n);
    }
    let pos = team.works.position();
    let entered = if let Some(prepare) = first {
        let (work, next) = team.works.at(pos);
        work.open_first(&mut |w| prepare(team, w));
        (work as *const Work, next)
    } else {
        (core::ptr::null(), pos)
    };
    let show = init::globals().display_affinity && {
        if init::globals().as_libomp {
            // libomp shows whatever differs from the thread's last region, also of one thread.
            let now = (s.level.get(), n, start.bind as u32);
            th.ahead.shown.replace(now) != now
        } else {
            // Teams inside a region may have other places each time.
            n > 1 && (outer.level() > 0 || s.shown.get() != n)
        }
    };
    if show {
        s.shown.set(n);
    }
    if n > 1 {
        let epoch = team.members[0].epoch.get();
        if s.central.get() {
            team.barrier.expect(n - 1);
        }
        let call = Call {
            entry: region.entry,
            data: region.data,
            team,
            nthreads: n,
            epoch,
            number: team.tasks.region_number(),
            work: entered.0,
            pos: entered.1,
            group: region.group,
            busy: th.busy(),
            league: th.league.get(),
            show,
        };
        pool.start(n - 1, &call);
    }
    let team: &Team = &pool.team;
    team.enter(th, 0, n);
    th.ctx.work.set(entered.0);
    th.ctx.pos.set(entered.1);
    team.members[0].implicit.set_group(region.group);
    th.depth.set(depth + 1);
    if show {
        crate::query::display_affinity(b"");
    }
    if trace::on() {
        trace::open(Traced::Region, region.code as u64, n.into(), 0);
    }
    th.slow.enter(th);
    n
}

/// A worker's part of a region, between its slot's signal and its report. Returns the region's
/// number, for helping with its tasks afterwards.
///
/// # Safety
/// `call` is the one the worker's slot was signalled for.
pub(crate) unsafe fn work(th: &Thread, tid: u32, call: &Call) -> u32 {
    // SAFETY: the team is owned by the pool that owns this worker; see the module's head.
    let team = unsafe { &*call.team };
    let m: &Member = &team.members[tid as usize];
    m.epoch.set(call.epoch);
    if m.sleep.is_announced() {
        // Woken by the start of this region, not by a nudge.
        crate::task::wake_up(team, m);
    }
    team.enter(th, tid, call.nthreads);
    th.ctx.work.set(call.work);
    th.ctx.pos.set(call.pos);
    m.implicit.set_group(call.group);
    th.busy.set(call.busy);
    th.league.set(call.league);
    crate::affinity::threads::settle(th, team, tid);
    if call.show {
        crate::query::display_affinity(b"");
    }
    if trace::on() {
        let code = team.shared.code.get() as u64;
        trace::open(Traced::Region, code, call.nthreads.into(), tid.into());
    }
    th.slow.enter(th);
    // SAFETY: the promise made to `fork`.
    unsafe { (call.entry)(call.data) };
    th.slow.leave();
    trace::open(Traced::Join, 0, 0, 0);
    if team.tasks.active() {
        crate::task::work_off(th);
    }
    let epoch = m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK;
    m.epoch.set(epoch);
    m.implicit.end_implicit();
    if team.shared.central.get() {
        team.barrier.report(call.number);
    } else {
        team.barrier.join_spread(
            call.number,
            tid,
            call.nthreads,
            |t| team.seat(t),
            &mut crate::task::TaskPastime::new(th),
        );
    }
    trace::close(Traced::Region);
    call.number
}

/// Ends the region that the calling thread opened last, and is thread 0 of.
pub fn join(th: &Thread) {
    th.slow.leave();
    trace::open(Traced::Join, 0, 0, 0);
    let team = th.team();
    let m = th.member();
    let n = team.nthreads();
    let epoch = m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK;
    m.epoch.set(epoch);
    if n > 1 {
        let number = team.tasks.region_number();
        let mut pastime = crate::task::TaskPastime::new(th);
        if team.shared.central.get() {
            team.barrier.collect(number, n, &mut pastime);
        } else {
            team.barrier
                .join_spread(number, 0, n, |t| team.seat(t), &mut pastime);
        }
    }
    if team.tasks.active() {
        crate::task::drain(th, epoch.wrapping_sub(1));
        if team.cancelled.load(Ordering::Relaxed) {
            // Members may have left a barrier that others had not come to: their tasks were made
            // before barriers of either parity.
            crate::task::drain(th, epoch);
        }
        team.tasks.end_region();
    }
    m.implicit.end_implicit();
    if team.cancelled.load(Ordering::Relaxed) {
        // Some threads may have skipped barriers and worksharing constructs that others entered.
        team.cancelled.store(false, Ordering::Relaxed);
        let next = team
            .members
            .iter()
            .take(n as usize)
            .map(|m| m.epoch.get())
            .fold(epoch, |a, b| if newer(b, a) { b } else { a });
        team.realign(next);
        team.works.restart();
    } else {
        team.works.settle(th.ctx.pos.get());
    }
    crate::affinity::threads::leave(th, team);
    if team.shared.taken.get() != 0 {
        th.busy()
            .fetch_sub(team.shared.taken.get(), Ordering::Relaxed);
    }
    let saved = team.shared.saved.get();
    th.depth.set(th.depth.get() - 1);
    th.restore(&saved);
    trace::close(Traced::Region);
    th.slow.enter(th);
}

/// True when epoch `a` comes after `b`.
fn newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) & crate::EPOCH_MASK) < (crate::EPOCH_MASK >> 1) && a != b
}

/// A barrier of the team (`GOMP_barrier` and the implied ones).
///
/// Returns true when the region was cancelled instead.
#[inline]
pub fn barrier(th: &Thread) -> bool {
    let team = th.team();
    let n = th.nthreads();
    let m = th.member();
    if n == 1 {
        if team.tasks.active() {
            let epoch = m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK;
            m.epoch.set(epoch);
            crate::task::drain(th, epoch.wrapping_sub(1));
        }
        return false;
    }
    th.slow.leave();
    if team.is_virtual() {
        virtual_team::barrier(th);
        return false;
    }
    let epoch = m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK;
    let mut pastime = crate::task::TaskPastime::new(th);
    let _traced = trace::scope(Traced::Barrier, 0, 0, 0);
    if team.shared.cancellable.get() {
        let mut cancelled = team.cancelled.load(Ordering::Acquire);
        if !cancelled {
            m.epoch.set(epoch);
            pastime.leave_when_cancelled();
            team.barrier.central(epoch, n, &mut pastime);
            // A barrier that everybody reached counts, even if the region was cancelled since.
            cancelled =
                team.cancelled.load(Ordering::Acquire) && !team.barrier.gone_flag().reached(epoch);
        }
        if cancelled {
            th.slow.enter(th);
            return true;
        }
    } else if team.shared.central.get() {
        m.epoch.set(epoch);
        team.barrier.central(epoch, n, &mut pastime);
    } else {
        m.epoch.set(epoch);
        team.barrier
            .spread(epoch, th.tid(), n, |t| team.seat(t), &mut pastime);
    }
    if team.tasks.active() {
        crate::task::drain(th, epoch.wrapping_sub(1));
        crate::task::drained(team);
    }
    th.slow.enter(th);
    false
}

/// Opens `region`, whose primary thread runs its own part: as [`fork`], and seen by the report.
///
/// # Safety
/// As for [`fork`], with [`close`] for [`join`].
pub unsafe fn open(th: &Thread, region: &Region, first: Option<Prepare<'_>>) {
    if virtual_team::watches() {
        // SAFETY: the caller of `open` makes the promise that `fork` asks for.
        unsafe { virtual_team::open(th, region, first) };
    } else {
        // SAFETY: the caller of `open` makes the promise that `fork` asks for.
        unsafe { fork(th, region, first) };
    }
}

/// Ends the region that the calling thread opened last by [`open`].
pub fn close(th: &Thread) {
    join(th);
    if virtual_team::watches() {
        virtual_team::close(th);
    }
}

/// Runs `region` from fork to join on the calling thread.
///
/// # Safety
/// As for [`fork`].
pub unsafe fn parallel(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    if virtual_team::watches() {
        // SAFETY: the caller's promise.
        return unsafe { virtual_team::parallel(th, region, first) };
    }
    // SAFETY: the caller's promise.
    unsafe { ordinary(th, region, first) }
}

/// The same as a team of as many real threads as the region says.
///
/// # Safety
/// As for [`fork`].
pub(crate) unsafe fn ordinary(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    // SAFETY: the caller's promise.
    let n = unsafe { fork(th, region, first) };
    // SAFETY: the caller's promise.
    unsafe { (region.entry)(region.data) };
    join(th);
    n
}

/// Runs `region`, for which a team of any size is right, as a team of the calling thread alone.
///
/// Not by [`fork`] with one thread: that would take the pool's team apart, whose threads the next region
/// wants. Inside, regions are as nested as they are in a larger team.
///
/// # Safety
/// As for [`fork`]; the region lies in no other.
pub(crate) unsafe fn of_one(th: &Thread, region: &Region) {
    if init::forked() {
        init::after_fork(th);
    }
    th.slow.leave();
    let team: &Team = th.of_one.get_or_init(Team::solo);
    let s = &team.shared;
    let outer = th.team();
    s.code.set(region.code);
    s.level.set(outer.level() + 1);
    s.active_level.set(outer.active_level() + 1);
    let level = s.level.get() as usize;
    s.icv
        .set(init::globals().team_icv(th.task().icv(), level, None).icv);
    s.parent.set(outer);
    s.parent_tid.set(th.tid());
    s.saved.set(th.save());
    team.tasks.begin_region();
    if team.singles.load(Ordering::Relaxed) != 0 {
        team.singles.store(0, Ordering::Relaxed);
    }
    team.enter(th, 0, 1);
    th.ctx.pos.set(team.works.position());
    team.members[0].implicit.set_group(region.group);
    th.depth.set(th.depth.get() + 1);
    trace::open(Traced::Region, region.code as u64, 1, 0);
    th.slow.enter(th);
    // SAFETY: the caller of `of_one` makes the promise that `fork` asks for.
    unsafe { (region.entry)(region.data) };
    join(th);
}

/// How many threads a region gets that asks for `specified` (0: the default), where the program has
/// use for at most `most` (0: any number). OpenMP 5.1, section 2.6.1.
pub fn resolve_num_threads(th: &Thread, specified: u32, most: u32) -> u32 {
    let icv = th.task().icv();
    let active = th.team().active_level();
    if specified == 1 || active >= u32::from(icv.max_active_levels) {
        return 1;
    }
    let mut n = if specified == 0 {
        icv.nthreads
    } else {
        specified
    };
    if icv.dynamic {
        n = n.min(init::globals().available_cpus);
        if most != 0 {
            n = n.min(most);
        }
    }
    if icv.thread_limit != UNLIMITED_THREADS && n > 1 {
        n = th.take_from_limit(n, icv.thread_limit);
    }
    n.max(1)
}
