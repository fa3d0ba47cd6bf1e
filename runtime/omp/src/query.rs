//! The runtime library routines of OpenMP 5.1, sections 3.2 to 3.6 and 3.10: everything that programs may ask
//! and set, except for locks, allocators and devices.
//!
//! The hot routines ([`thread_num`], [`num_threads`], [`level`], [`active_level`]) read cells of the calling
//! thread, and do not register a thread that never used the runtime.
//!
//! Three variables are device-wide and yet may change: `nteams-var`, `teams-thread-limit-var` and
//! `affinity-format-var`. This module keeps the first two, `affinity::shown` the third. They start with the
//! values of the environment.

pub use crate::affinity::shown::{
    capture_affinity, display_affinity, set_affinity_format, with_affinity_format,
};
use crate::affinity::{processors, threads, CpuSet};
use crate::icv::{display, Icv};
use crate::init;
use crate::team::spare;
use crate::thread::Thread;
use crate::tool::attach;
use crate::unlike::virtual_team::parallel as virtual_team;
use crate::unlike::ways;
use core::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use hetmp_core::report;

/// The program has not changed the value.
const UNCHANGED: i32 = -1;

static NUM_TEAMS: AtomicI32 = AtomicI32::new(UNCHANGED);
static TEAMS_THREAD_LIMIT: AtomicI32 = AtomicI32::new(UNCHANGED);

/// `omp_get_thread_num`.
#[inline(always)]
#[must_use]
pub fn thread_num() -> i32 {
    Thread::try_current().map_or(0, |th| th.number() as i32)
}

/// `omp_get_num_threads`.
#[inline(always)]
#[must_use]
pub fn num_threads() -> i32 {
    Thread::try_current().map_or_else(not_known_yet, |th| th.nthreads() as i32)
}

/// Some virtual team has had a region that prints its number of threads. The entry `omp_get_num_threads` tests this
/// byte by its address. Relaxed: the byte is set before the real threads of that team start.
pub static PRINTED: AtomicU8 = AtomicU8::new(0);

/// From now on the entry passes its return address to [`num_threads_at`].
pub(crate) fn printed_begins() {
    PRINTED.store(1, Ordering::Relaxed);
}

/// `omp_get_num_threads`, where the call returns to this address: the user of a program that prints the number does not
/// read how many virtual threads there are.
#[must_use]
pub fn num_threads_at(return_address: usize) -> i32 {
    let Some(th) = Thread::try_current() else {
        return num_threads();
    };
    let team = &th.team().shared;
    let printed = team.printed.get();
    if team.is_virtual.get() && printed.calls.has(return_address as u64) {
        printed.answer as i32
    } else {
        num_threads()
    }
}

/// The number of threads around a thread that has not used the runtime. A tool begins with the program's first
/// question.
#[cold]
fn not_known_yet() -> i32 {
    attach::attach();
    1
}

/// `omp_get_level`.
#[inline(always)]
#[must_use]
pub fn level() -> i32 {
    Thread::try_current().map_or(0, |th| th.team().level() as i32)
}

/// `omp_get_active_level`.
#[inline(always)]
#[must_use]
pub fn active_level() -> i32 {
    Thread::try_current().map_or(0, |th| th.team().active_level() as i32)
}

/// The thread number and team size of the calling thread, or of its ancestor, at nesting level `level`.
/// `None` for levels that do not enclose the call.
fn at_level(level: i32) -> Option<(i32, i32)> {
    let Some(th) = Thread::try_current() else {
        return (level == 0).then_some((0, 1));
    };
    let mut team = th.team();
    let mut tid = th.number();
    let wanted = u32::try_from(level).ok()?;
    let mut above = team.level().checked_sub(wanted)?;
    while above > 0 {
        (team, tid) = team.parent()?;
        above -= 1;
    }
    Some((tid as i32, team.nthreads() as i32))
}

/// `omp_get_ancestor_thread_num`; -1 for levels that do not enclose the call.
#[must_use]
pub fn ancestor_thread_num(level: i32) -> i32 {
    at_level(level).map_or(-1, |(tid, _)| tid)
}

/// `omp_get_team_size`; -1 for levels that do not enclose the call.
#[must_use]
pub fn team_size(level: i32) -> i32 {
    at_level(level).map_or(-1, |(_, size)| size)
}

/// The variables of the current data environment.
#[must_use]
pub fn icv() -> Icv {
    *Thread::current().task().icv()
}

/// `omp_get_max_threads`: the most threads that the next region gets. Where regions run as virtual teams, the
/// number of virtual threads.
#[must_use]
pub fn max_threads() -> i32 {
    virtual_team::told_threads(&icv()) as i32
}

/// Changes the variables of the current data environment.
pub fn change_icv(change: impl FnOnce(&mut Icv)) {
    Thread::current().task().change_icv(change);
}

/// `omp_in_final`.
#[must_use]
pub fn in_final() -> bool {
    Thread::try_current().is_some_and(|th| th.task().is_final())
}

/// `omp_in_explicit_task`.
#[must_use]
pub fn in_explicit_task() -> bool {
    Thread::try_current().is_some_and(|th| !th.task().is_implicit())
}

/// `omp_get_num_procs`: the number of CPUs that the calling thread may use, counted anew each time as libgomp does, or
/// only once as libomp does ([`processors::count_once`]). With places, where a bound thread may use only its own, the
/// number that the process could use at its start.
#[must_use]
pub fn num_procs() -> i32 {
    virtual_team::told_cores();
    let globals = init::globals();
    let start = globals.allowed.count();
    let count = if !globals.places.is_empty() {
        start
    } else if globals.as_libomp {
        processors::count_once()
    } else {
        processors::allowed_now().unwrap_or(start)
    };
    count.max(1) as i32
}

/// `omp_get_wtime`, in seconds.
#[must_use]
pub fn wtime() -> f64 {
    seconds(libc::clock_gettime)
}

/// `omp_get_wtick`, in seconds.
#[must_use]
pub fn wtick() -> f64 {
    seconds(libc::clock_getres)
}

fn seconds(ask: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int) -> f64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer leads to a live timespec.
    unsafe { ask(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}

/// `omp_set_num_teams`; negative numbers change nothing.
pub fn set_num_teams(n: i32) {
    if n >= 0 {
        NUM_TEAMS.store(n, Ordering::Relaxed);
    }
}

/// `omp_get_max_teams`; 0: the implementation chooses.
#[must_use]
pub fn max_teams() -> i32 {
    match NUM_TEAMS.load(Ordering::Relaxed) {
        UNCHANGED => init::globals().num_teams,
        n => n,
    }
}

/// `omp_set_teams_thread_limit`; negative numbers change nothing.
pub fn set_teams_thread_limit(n: i32) {
    if n >= 0 {
        TEAMS_THREAD_LIMIT.store(n, Ordering::Relaxed);
    }
}

/// `omp_get_teams_thread_limit`; 0: no limit.
#[must_use]
pub fn teams_thread_limit() -> i32 {
    match TEAMS_THREAD_LIMIT.load(Ordering::Relaxed) {
        UNCHANGED => init::globals().teams_thread_limit,
        n => n,
    }
}

/// `omp_get_num_teams`.
#[must_use]
pub fn num_teams() -> i32 {
    Thread::try_current().map_or(1, |th| th.league.get().1.wrapping_add(1) as i32)
}

/// `omp_get_team_num`.
#[must_use]
pub fn team_num() -> i32 {
    Thread::try_current().map_or(0, |th| th.league.get().0 as i32)
}

/// `omp_get_num_places`.
#[must_use]
pub fn num_places() -> i32 {
    init::globals().places.len() as i32
}

/// The CPUs of place `place`; none for numbers without a place.
pub fn place_cpus(place: i32) -> impl Iterator<Item = i32> {
    usize::try_from(place)
        .ok()
        .and_then(|p| init::globals().places.get(p))
        .into_iter()
        .flat_map(CpuSet::iter)
        .map(|cpu| cpu as i32)
}

/// `omp_get_place_num`: the place of the calling thread, -1 if it is not bound.
#[must_use]
pub fn place_num() -> i32 {
    if init::globals().places.is_empty() {
        -1
    } else {
        bound_thread().place.get() as i32 - 1
    }
}

/// The numbers of the places in the calling thread's partition.
#[must_use]
pub fn partition() -> core::ops::Range<i32> {
    if init::globals().places.is_empty() {
        0..0
    } else {
        let (first, count) = bound_thread().partition.get();
        first as i32..(first + count) as i32
    }
}

/// The calling thread, which is bound to a place now if it was not before. Only called if there are places.
fn bound_thread() -> &'static Thread {
    let th = Thread::current();
    if th.place.get() == 0 {
        threads::initial(th);
    }
    th
}

/// `omp_display_env`.
pub fn display_env(verbose: bool) {
    let text = with_affinity_format(|format| {
        let current = display::Current {
            num_teams: max_teams(),
            teams_thread_limit: teams_thread_limit(),
            affinity_format: format,
        };
        display::text(init::globals(), &current, verbose)
    });
    report::write_all(libc::STDERR_FILENO, &text);
}

/// `omp_pause_resource` for the host, and `omp_pause_resource_all`: ends the worker threads. False inside a
/// parallel region.
pub fn pause() -> bool {
    let Some(th) = Thread::try_current() else {
        if !init::forked() {
            spare::shut_down();
        }
        return true;
    };
    if th.team().level() > 0 {
        return false;
    }
    if th.depth.get() > 0 {
        // The thread is in a target region inside a parallel region, whose workers are at work.
        return true;
    }
    if init::forked() {
        // The workers stayed in the parent process.
        ways::after_fork(th);
    }
    for pool in th.pools.take() {
        pool.shut_down();
    }
    spare::shut_down();
    crate::across::pause(th);
    true
}
