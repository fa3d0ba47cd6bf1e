//! The start and the end of a parallel region, and its barriers.
//!
//! # A region's life
//! 1. [`fork`]: the primary thread decides the team's size, writes what the workers need into their slots,
//!    and signals them ([`super::worker`] is their side). From now on it is thread 0 of the team.
//! 2. All threads run the outlined function.
//! 3. [`join`]: the workers report and go back to their slots. The primary thread waits for them, finishes
//!    tasks that are left, and returns to its former context.

use crate::affinity::{shown, threads};
use crate::boundary::Reason;
use crate::icv::{ProcBind, UNLIMITED_THREADS};
use crate::init;
use crate::task::record::Group;
use crate::task::wait::{self, TaskPastime};
use crate::team::members::{Outlined, Shared, Team};
use crate::team::pool::{Call, Pool};
use crate::team::seat::Seat;
use crate::team::spare;
use crate::team::worker;
use crate::thread::Thread;
use crate::tool;
use crate::tool::interface::Sync;
use crate::unlike::{nodes, place};
use crate::worksharing::work::Work;
use hetmp_core::park::Policy;
use hetmp_core::program::binding;
use hetmp_core::sync::Ordering;
pub use hetmp_scan::Form;

/// Prepares the worksharing construct in which the threads of a combined construct start.
pub type Prepare<'a> = &'a mut dyn FnMut(&Team, &Work);

/// A region that is to run.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The function that every thread of the team calls. It may differ from the program's own function: a
    /// compiler's ABI may need one that passes arguments on, and a virtual team needs one that runs several
    /// virtual threads.
    pub entry: Outlined,
    /// The argument of `entry`.
    pub data: *mut libc::c_void,
    /// Address of the function that the compiler outlined. Reports, profiles and traces identify the region
    /// by this address, and `hetmp-scan` reads the code there.
    pub code: usize,
    /// How the outlined function is called.
    pub form: Form,
    /// The number of threads, as [`resolve_num_threads`] found it.
    pub nthreads: u32,
    /// The number in the `num_threads` clause; 0 without the clause.
    pub asked: u32,
    /// The `proc_bind` clause.
    pub bind: Option<ProcBind>,
    /// A taskgroup with reductions, to which all implicit tasks belong; or null.
    pub group: *const Group,
}

/// Opens a region: the calling thread becomes thread 0 of a new team, and the team's other threads start.
/// `first` prepares the worksharing construct in which every thread of a combined construct starts. Returns
/// the number of threads in the team.
///
/// # Safety
/// `region.entry` may be called with `region.data` by all threads until [`join`], which the same
/// thread calls when its own part is over.
pub(crate) unsafe fn fork(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    th.leave_program(Reason::Fork);
    let depth = th.depth.get();
    let mut pools = th.pools.borrow_mut();
    while pools.len() <= depth {
        let kept = if pools.is_empty() {
            spare::take()
        } else {
            None
        };
        pools.push(kept.unwrap_or_else(Pool::new));
    }
    let pool: &mut Pool = &mut pools[depth];
    let n = if region.nthreads > 1 {
        binding::check_at(region.code);
        pool.ensure_workers(region.nthreads - 1, worker::main) + 1
    } else {
        1
    };
    let team: &mut Team = &mut pool.team;
    if (team.members.len() as u32) < n {
        team.grow(n);
        team.resize(n);
    } else if team.shared.nthreads.get() != n {
        // Threads that had no part in earlier regions have old epochs.
        let epoch = team.members[0].epoch.get();
        team.realign(epoch);
        team.resize(n);
    }
    let s = &team.shared;
    s.code.set(region.code);
    if tool::on() {
        tell_begin(th, s, region);
    }
    let outer = th.team();
    s.level.set(outer.level() + 1);
    s.active_level.set(outer.active_level() + u32::from(n > 1));
    let mut start = init::globals().team_icv(th.task().icv(), s.level.get() as usize, region.bind);
    let nested = th.ahead.nested(outer.shared.nested.get());
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
    s.parent_number.set(th.number());
    s.cancellable.set(init::globals().cancellation);
    let central = s.cancellable.get()
        || (n > 2 && Policy::oversubscribed() && !nodes::distance_is_emulated())
        || n > crate::MAX_SPREAD;
    if s.central.get() != central {
        // The flags of the other kind of barrier may be any number of epochs old. If they were more than half
        // of all numbers old, they would look as if they had been reached.
        let epoch = team.members[0].epoch.get();
        team.realign(epoch);
        s.central.set(central);
    }
    s.saved.set(th.save());
    team.tasks.begin_region();
    team.singles.restart(0);
    if n > 1 {
        threads::place(th, team, start.bind);
    } else if init::globals().as_libomp {
        // libomp binds a thread as soon as the thread opens a region, even a region of one thread.
        threads::bind_first(th);
    }
    if nodes::active() {
        place::place(th, team, n);
        if let Some(distance) = nodes::distance() {
            team.arrange(n, distance);
        }
    }
    let s = &team.shared;
    // SAFETY: no thread has begun the region.
    let pos = unsafe { team.works.position() };
    let entered = if let Some(prepare) = first {
        // SAFETY: as above; all threads get the node and the place.
        unsafe {
            let (work, next) = team.works.at(pos);
            work.open_first(&mut |w| prepare(team, w));
            (work as *const Work, next)
        }
    } else {
        (core::ptr::null(), pos)
    };
    let show = init::globals().display_affinity && {
        if init::globals().as_libomp {
            // libomp shows a thread's affinity when it differs from that in the thread's last region, even in
            // a region of one thread.
            let now = (s.level.get(), n, start.bind as u32);
            th.ahead.shown.replace(now) != now
        } else {
            // A team inside another region may get other places each time, so it is shown each time.
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
    th.become_member(team, Seat::FIRST, n);
    th.ctx.work.set(entered.0);
    th.ctx.pos.set(entered.1);
    team.members[0].implicit.set_group(region.group);
    th.depth.set(depth + 1);
    if show {
        shown::display_affinity(b"");
    }
    th.begin_part(n);
    n
}

/// Tells the tool that `th` opens `region`, in a team that shares `shared`.
#[cold]
fn tell_begin(th: &Thread, shared: &Shared, region: &Region) {
    let asked = match region.asked {
        0 => th.task().icv().nthreads,
        n => n,
    };
    tool::events::region_begins(th, &shared.tool, asked);
}

/// Ends the region that the calling thread opened last. The caller is thread 0 of it.
pub(crate) fn join(th: &Thread) {
    th.leave_program(Reason::Join);
    let told = tool::on();
    if told {
        tool::events::part_waits(th);
    }
    let team = th.team();
    let m = th.member();
    let n = team.seats();
    let epoch = m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK;
    m.epoch.set(epoch);
    if n > 1 {
        let number = team.tasks.region_number();
        let mut pastime = TaskPastime::new(th);
        if team.shared.central.get() {
            team.barrier.collect(number, n, &mut pastime);
        } else {
            team.barrier
                .join_spread(number, Seat::FIRST, n, |seat| team.signals(seat), pastime);
        }
    }
    if team.tasks.active() {
        wait::drain(th, epoch.wrapping_sub(1));
        if team.cancelled.load(Ordering::Relaxed) {
            // Some members may have left a barrier to which others had not come. So tasks may have been made
            // before barriers with an even and before barriers with an odd number.
            wait::drain(th, epoch);
        }
        team.tasks.end_region();
    }
    if told {
        tool::events::part_ends(th);
    }
    m.implicit.end_implicit();
    if team.cancelled.load(Ordering::Relaxed) {
        // Some threads may have left out barriers and worksharing constructs that others entered.
        team.cancelled.store(false, Ordering::Relaxed);
        let next = team
            .in_use()
            .iter()
            .map(|m| m.epoch.get())
            .fold(epoch, |a, b| if newer(b, a) { b } else { a });
        team.realign(next);
        // SAFETY: all threads have left the region.
        unsafe { team.works.restart() };
    } else {
        // SAFETY: as above, and all have met the same constructs.
        unsafe { team.works.settle(th.ctx.pos.get()) };
    }
    threads::leave(th, team);
    if team.shared.taken.get() != 0 {
        th.busy()
            .fetch_sub(team.shared.taken.get(), Ordering::Relaxed);
    }
    let saved = team.shared.saved.get();
    th.depth.set(th.depth.get() - 1);
    th.restore(&saved);
    if told {
        tool::events::region_ends(th, &team.shared.tool);
    }
    th.enter_program(Reason::Join);
}

/// Does epoch `a` come after `b`?
fn newer(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) & crate::EPOCH_MASK) < (crate::EPOCH_MASK >> 1) && a != b
}

/// The `barrier` construct. Returns true if the region was cancelled, and the barrier therefore was not completed.
#[inline]
pub fn barrier(th: &Thread) -> bool {
    barrier_of(th, Sync::Explicit)
}

/// A barrier of the team that is there because of `kind`. Returns as [`barrier`] does.
#[inline]
pub fn barrier_of(th: &Thread, kind: Sync) -> bool {
    if tool::on() {
        return tool::events::waits(th, kind, || pass(th));
    }
    pass(th)
}

/// Waits in a barrier of the team. Returns as [`barrier`] does.
#[inline]
fn pass(th: &Thread) -> bool {
    let team = th.team();
    let m = th.member();
    if th.nthreads() == 1 {
        if team.tasks.active() {
            let epoch = m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK;
            m.epoch.set(epoch);
            wait::drain(th, epoch.wrapping_sub(1));
        }
        return false;
    }
    if team.is_virtual() {
        th.suspend_at_barrier();
        return false;
    }
    if team.shared.across.get() {
        crate::across::local::barrier(core::ptr::null_mut());
        return false;
    }
    th.leave_program(Reason::Barrier);
    let n = team.seats();
    let epoch = m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK;
    let mut pastime = TaskPastime::new(th);
    if team.shared.cancellable.get() {
        let mut cancelled = team.cancelled.load(Ordering::Acquire);
        if !cancelled {
            m.epoch.set(epoch);
            pastime.leave_when_cancelled();
            team.barrier.central(epoch, n, &m.idle, &mut pastime);
            // A barrier that all threads have reached counts as complete, even if the region was cancelled
            // after that.
            cancelled =
                team.cancelled.load(Ordering::Acquire) && !team.barrier.gone_flag().reached(epoch);
        }
        if cancelled {
            th.enter_program(Reason::Barrier);
            return true;
        }
    } else if team.shared.central.get() {
        m.epoch.set(epoch);
        team.barrier.central(epoch, n, &m.idle, &mut pastime);
    } else if team.shared.levels.get() {
        m.epoch.set(epoch);
        team.placed.current().pass(epoch, m.seat, &mut pastime);
    } else {
        m.epoch.set(epoch);
        team.barrier
            .spread(epoch, m.seat, n, |seat| team.signals(seat), &mut pastime);
    }
    if team.tasks.active() {
        wait::drain(th, epoch.wrapping_sub(1));
        wait::drained(team);
    }
    th.enter_program(Reason::Barrier);
    false
}

/// Runs `region` in a team of as many real threads as the region has.
///
/// # Safety
/// All threads of the region may call `region.entry` with `region.data` until this function returns.
#[inline]
pub(crate) unsafe fn ordinary(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    // SAFETY: all threads of the region may call its function: this function's contract. `join` follows
    // below.
    let n = unsafe { fork(th, region, first) };
    // SAFETY: this function's contract: compiled code made the function to be called with this data by every thread
    // of the team.
    unsafe { (region.entry)(region.data) };
    join(th);
    n
}

/// Runs `region` in a team of the calling thread alone. The region must be one for which a team of any size
/// is right.
///
/// [`fork`] with one thread would change the size of the pool's team, and the next region wants that team as
/// it is. Regions inside `region` have the same nesting levels as inside a larger team.
///
/// # Safety
/// The calling thread may call `region.entry` with `region.data`. It is outside of any region.
pub(crate) unsafe fn of_one(th: &Thread, region: &Region) {
    th.leave_program(Reason::Fork);
    let team: &Team = th.of_one.get_or_init(Team::solo);
    let s = &team.shared;
    let outer = th.team();
    s.code.set(region.code);
    if tool::on() {
        tell_begin(th, s, region);
    }
    s.level.set(outer.level() + 1);
    s.active_level.set(outer.active_level() + 1);
    let level = s.level.get() as usize;
    s.icv
        .set(init::globals().team_icv(th.task().icv(), level, None).icv);
    s.parent.set(outer);
    s.parent_number.set(th.number());
    s.saved.set(th.save());
    team.tasks.begin_region();
    team.singles.restart(0);
    th.become_member(team, Seat::FIRST, 1);
    // SAFETY: the team has one thread, this one.
    th.ctx.pos.set(unsafe { team.works.position() });
    team.members[0].implicit.set_group(region.group);
    th.depth.set(th.depth.get() + 1);
    th.begin_part(1);
    // SAFETY: this thread may call the function: this function's contract.
    unsafe { (region.entry)(region.data) };
    join(th);
}

/// The number of threads of a region that asks for `specified` threads (0: for the default number), if the
/// program can use at most `most` threads (0: any number). OpenMP 5.1, section 2.6.1.
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
