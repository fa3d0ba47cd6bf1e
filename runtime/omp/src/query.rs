//! What a program may ask and set: the runtime library routines of OpenMP 5.1, sections 3.2 to
//! 3.6 and 3.10, that are not locks, allocators or devices.
//!
//! The hot ones ([`thread_num`], [`num_threads`], [`level`], [`active_level`]) read cells of the
//! calling thread, and do not register a thread that never used the runtime.
//!
//! Three variables are device-wide yet may change: `nteams-var`, `teams-thread-limit-var` and
//! `affinity-format-var`. They live here, and begin with what the environment said.

use crate::affinity::format::{self, Fields, NativeId};
use crate::affinity::CpuSet;
use crate::icv::{display, Icv};
use crate::init;
use crate::thread::Thread;
use core::sync::atomic::{AtomicI32, Ordering};
use hetmp_core::report;
use std::sync::Mutex;

/// Not changed since the start.
const UNCHANGED: i32 = -1;

static NUM_TEAMS: AtomicI32 = AtomicI32::new(UNCHANGED);
static TEAMS_THREAD_LIMIT: AtomicI32 = AtomicI32::new(UNCHANGED);
static AFFINITY_FORMAT: Mutex<Option<Box<[u8]>>> = Mutex::new(None);

/// `omp_get_thread_num`.
#[inline(always)]
#[must_use]
pub fn thread_num() -> i32 {
    Thread::try_current().map_or(0, |th| th.tid() as i32)
}

/// `omp_get_num_threads`.
#[inline(always)]
#[must_use]
pub fn num_threads() -> i32 {
    Thread::try_current().map_or(1, |th| th.nthreads() as i32)
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

/// Where the calling thread, or the ancestor it descends from, stood at nesting level `level`:
/// thread number and team size. `None` for levels that do not enclose the call.
fn at_level(level: i32) -> Option<(i32, i32)> {
    let Some(th) = Thread::try_current() else {
        return (level == 0).then_some((0, 1));
    };
    let mut team = th.team();
    let mut tid = th.tid();
    let wanted = u32::try_from(level).ok()?;
    let mut above = team.level().checked_sub(wanted)?;
    while above > 0 {
        (team, tid) = team.parent()?;
        above -= 1;
    }
    Some((tid as i32, team.nthreads() as i32))
}

/// `omp_get_ancestor_thread_num`; -1 outside the levels there are.
#[must_use]
pub fn ancestor_thread_num(level: i32) -> i32 {
    at_level(level).map_or(-1, |(tid, _)| tid)
}

/// `omp_get_team_size`; -1 outside the levels there are.
#[must_use]
pub fn team_size(level: i32) -> i32 {
    at_level(level).map_or(-1, |(_, size)| size)
}

/// The variables of the current data environment.
#[must_use]
pub fn icv() -> Icv {
    *Thread::current().task().icv()
}

/// `omp_get_max_threads`: how many threads the next region gets at most. Where regions are run as
/// virtual teams, the number of virtual threads.
#[must_use]
pub fn max_threads() -> i32 {
    crate::unlike::virtual_team::told_threads(icv().nthreads) as i32
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

/// `omp_get_num_procs`: CPUs that the calling thread may use; with places or nodes, those that the
/// process could use at its start, because a bound thread sees its own place only.
#[must_use]
pub fn num_procs() -> i32 {
    crate::unlike::virtual_team::told_cores();
    let globals = init::globals();
    let start = globals.allowed.count();
    let count = if globals.places.is_empty() && !crate::unlike::nodes::active() {
        allowed_now().unwrap_or(start)
    } else {
        start
    };
    count.max(1) as i32
}

/// Size of the calling thread's affinity mask.
fn allowed_now() -> Option<usize> {
    // The kernel fails for buffers smaller than its own mask; 8192 CPUs is the most it knows.
    let mut words = [0u64; 128];
    // SAFETY: the buffer has the size given.
    let bytes = unsafe {
        libc::syscall(
            libc::SYS_sched_getaffinity,
            0,
            core::mem::size_of_val(&words),
            words.as_mut_ptr(),
        )
    };
    if bytes <= 0 {
        return None;
    }
    let count: u32 = words.iter().map(|w| w.count_ones()).sum();
    (count > 0).then_some(count as usize)
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
    // SAFETY: the pointer is to a live timespec.
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

/// The CPUs of place `place`; empty for numbers without place.
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

/// The place numbers of the calling thread's partition.
#[must_use]
pub fn partition() -> core::ops::Range<i32> {
    if init::globals().places.is_empty() {
        0..0
    } else {
        let (first, count) = bound_thread().partition.get();
        first as i32..(first + count) as i32
    }
}

/// The calling thread, bound to a place if it was not yet. Only where there are places.
fn bound_thread() -> &'static Thread {
    let th = Thread::current();
    if th.place.get() == 0 {
        crate::affinity::threads::initial(th);
    }
    th
}

/// `omp_set_affinity_format`.
pub fn set_affinity_format(format: &[u8]) {
    *lock_format() = Some(format.into());
}

/// Runs `read` on the current affinity format.
pub fn with_affinity_format<R>(read: impl FnOnce(&[u8]) -> R) -> R {
    let changed = lock_format();
    match &*changed {
        Some(format) => read(format),
        None => read(&init::globals().affinity_format),
    }
}

fn lock_format() -> std::sync::MutexGuard<'static, Option<Box<[u8]>>> {
    AFFINITY_FORMAT
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Runs `write` with what the fields of an affinity format are for the calling thread.
fn with_fields<R>(write: impl FnOnce(&Fields<'_>) -> R) -> R {
    let globals = init::globals();
    let th = Thread::current();
    let cpus = th
        .place
        .get()
        .checked_sub(1)
        .and_then(|p| globals.places.get(p as usize))
        // Nobody can be bound to a place without a CPU for this process (`GOMP_CPU_AFFINITY`).
        .filter(|place| place.iter().any(|cpu| globals.allowed.contains(cpu)))
        .or_else(|| crate::unlike::nodes::bound_to(th))
        .unwrap_or(&globals.allowed);
    // SAFETY: neither call has preconditions.
    let (process_id, thread) = unsafe { (libc::getpid(), libc::pthread_self()) };
    let native_thread_id = if globals.as_libomp {
        NativeId::Kernel(hetmp_core::sys::gettid())
    } else {
        NativeId::Pthread(thread)
    };
    let level = level();
    write(&Fields {
        team_num: team_num(),
        num_teams: num_teams(),
        level,
        thread_num: thread_num(),
        num_threads: num_threads(),
        ancestor_tnum: ancestor_thread_num(level - 1),
        process_id,
        native_thread_id,
        affinity: cpus,
        host: &host_name,
        unknown: globals.as_libomp.then_some("undefined"),
    })
}

/// `uname`'s node name.
fn host_name() -> Vec<u8> {
    // SAFETY: all bytes zero is a valid utsname, and uname fills it in.
    let (ok, name) = unsafe {
        let mut name: libc::utsname = core::mem::zeroed();
        (libc::uname(&mut name) == 0, name.nodename)
    };
    if !ok {
        return b"node".to_vec();
    }
    name.iter()
        .map(|&c| c as u8)
        .take_while(|&c| c != 0)
        .collect()
}

fn bad_format(why: &format::BadFormat) -> ! {
    report::fatal(format_args!("affinity format: {}", why.0))
}

/// `omp_capture_affinity`: writes what fits of the expanded `format` (empty: the current one) into
/// `buffer`, without terminating zero; returns the length of the whole.
pub fn capture_affinity(format: &[u8], buffer: &mut [u8]) -> usize {
    let expand = |format: &[u8], buffer: &mut [u8]| {
        with_fields(|f| format::expand(format, f, buffer)).unwrap_or_else(|why| bad_format(&why))
    };
    if format.is_empty() {
        with_affinity_format(|format| expand(format, buffer))
    } else {
        expand(format, buffer)
    }
}

/// `omp_display_affinity`: one line, of `format` (empty: the current one). On standard error, where libgomp writes
/// such lines; on standard output for programs that were built for libomp.
pub fn display_affinity(format: &[u8]) {
    let line = |format: &[u8]| {
        with_fields(|f| format::line(format, f)).unwrap_or_else(|why| bad_format(&why))
    };
    let text = if format.is_empty() {
        with_affinity_format(line)
    } else {
        line(format)
    };
    if init::globals().as_libomp {
        report::print(&text);
    } else {
        report::write_all(libc::STDERR_FILENO, &text);
    }
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

/// `KMP_SETTINGS`: what is set, and what holds.
pub(crate) fn display_settings(snapshot: &hetmp_core::env::Snapshot) {
    let globals = init::globals();
    let text = display::settings(
        globals,
        &display::Current::unchanged(globals),
        snapshot.iter(),
    );
    report::write_all(libc::STDERR_FILENO, &text);
}

/// `omp_pause_resource` for the host, and `omp_pause_resource_all`: ends the worker threads. False
/// inside a parallel region.
pub fn pause() -> bool {
    let Some(th) = Thread::try_current() else {
        return true;
    };
    if th.team().level() > 0 {
        return false;
    }
    if th.depth.get() > 0 {
        // In a target region inside a parallel region: those workers are at work.
        return true;
    }
    if init::forked() {
        // The workers stayed in the parent process.
        init::after_fork(th);
    }
    for pool in th.pools.take() {
        pool.shut_down();
    }
    true
}
