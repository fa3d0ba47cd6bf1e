//! Which mechanisms for unlike cores are in use in this process, as bits that are set when the runtime
//! starts.
//!
//! A loop or a region pays one load if none is in use. Everything that the mechanisms need beyond these bits
//! (a report's file, counters, the profile) is set up by the first region that is looked at.

use super::nodes;
use super::virtual_team::switch;
use crate::icv::{Globals, SchedKind, StaticLoops};
use core::sync::atomic::{AtomicI32, AtomicU64, AtomicU8, Ordering};
use hetmp_core::sys::{monotonic_ns, process_cpu_ns};
use std::time::SystemTime;

/// For loops: the environment selects one of hetmp's own schedules, which also replaces the program's
/// `dynamic` and `guided`.
pub(super) const REPLACE: u8 = 1;
/// For loops: the driver in `het` also hands out plain schedules.
pub(super) const OBSERVE: u8 = 2;
/// For loops: the environment selects `hetprobe`.
pub(super) const PROBE: u8 = 4;

/// For regions: they may be run as virtual teams.
pub(super) const VIRTUAL: u8 = 1;
/// For regions: they are timed for the report.
pub(super) const REPORT: u8 = 2;
/// For regions: run them as virtual teams even where nothing is gained.
pub(super) const FORCE: u8 = 4;
/// For regions: also those whose program asked for a number of threads.
pub(super) const WIDE: u8 = 8;
/// For regions: only those whose threads were seen to take unlike times, since no property of the nodes
/// differs.
pub(super) const EVEN: u8 = 32;
/// For regions: looking at them is to cost a program little time.
pub(super) const SPARING: u8 = 64;
/// For regions: the set-up has not happened yet.
const UNPREPARED: u8 = 16;

// Relaxed: written when the runtime starts, before any region. The values that the bits stand for are in
// `Globals`.
static LOOPS: AtomicU8 = AtomicU8::new(0);
static REGIONS: AtomicU8 = AtomicU8::new(0);
/// The process that reports; its children by `fork` do not.
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// When the runtime started: nanoseconds of the monotonic clock, and milliseconds of the calendar.
static STARTED: AtomicU64 = AtomicU64::new(0);
static STARTED_UNIX_MS: AtomicU64 = AtomicU64::new(0);
/// Nanoseconds that the process had computed until then: reading its input, for example.
static BEFORE: AtomicU64 = AtomicU64::new(0);

/// The bits of loops.
#[inline(always)]
pub(super) fn loops() -> u8 {
    LOOPS.load(Ordering::Relaxed)
}

/// The bits of regions.
#[inline(always)]
pub(super) fn regions() -> u8 {
    REGIONS.load(Ordering::Relaxed)
}

/// Is any bit of regions set? One load, in every program.
#[inline(always)]
pub(crate) fn watches() -> bool {
    regions() != 0
}

/// Has the set-up not happened yet?
#[inline]
pub(super) fn is_unprepared() -> bool {
    regions() & UNPREPARED != 0
}

/// The set-up is done.
pub(super) fn prepared() {
    REGIONS.fetch_and(!UNPREPARED, Ordering::Relaxed);
}

/// From now on regions are not run as virtual teams.
pub(crate) fn forget_virtual() {
    REGIONS.fetch_and(!VIRTUAL, Ordering::Relaxed);
}

/// Is there a file to write that lists every loop?
pub(super) fn filed(globals: &Globals) -> bool {
    globals.ours.report.is_some() || globals.ours.trace.is_some()
}

/// Are loops timed even where none of hetmp's schedules hands them out?
fn timed(globals: &Globals) -> bool {
    filed(globals) || (globals.ours.verbose && nodes::active())
}

/// Is there anything to report, to a file or to the user?
pub(super) fn reports(globals: &Globals) -> bool {
    timed(globals) || (globals.ours.verbose && globals.icv.run_sched.kind.is_ours())
}

/// Is this the process that started the runtime, and not a child of it by `fork`?
pub(super) fn in_first_process() -> bool {
    // SAFETY: getpid has no preconditions.
    unsafe { libc::getpid() == PROCESS.load(Ordering::Relaxed) }
}

/// When the runtime started, in nanoseconds of the monotonic clock.
pub(super) fn started_ns() -> u64 {
    STARTED.load(Ordering::Relaxed)
}

/// Starts the clock of [`ran_ns`]: where regions are looked at, or may run on other nodes.
pub(crate) fn start_clock() {
    STARTED.store(monotonic_ns(), Ordering::Relaxed);
    BEFORE.store(process_cpu_ns(), Ordering::Relaxed);
}

/// How long the program has run, in nanoseconds: what it has computed before the runtime started, and the time since
/// then.
pub(super) fn ran_ns() -> u64 {
    BEFORE.load(Ordering::Relaxed) + monotonic_ns().saturating_sub(started_ns())
}

/// When the runtime started, in milliseconds of the calendar.
pub(super) fn started_unix_ms() -> u64 {
    STARTED_UNIX_MS.load(Ordering::Relaxed)
}

/// Sets the bits as the environment asks. Called once, after [`nodes::configure`].
pub(crate) fn configure(globals: &Globals) {
    let kind = globals.icv.run_sched.kind;
    let mut loops = 0;
    if kind.is_ours() {
        loops |= REPLACE;
    }
    if kind == SchedKind::HetProbe {
        loops |= PROBE;
    }
    if nodes::any_slowed() || timed(globals) {
        loops |= OBSERVE;
    }
    let mut regions = 0;
    if reports(globals) {
        regions |= REPORT;
    }
    if loops != 0 || regions != 0 || globals.ours.profile.is_some() {
        regions |= UNPREPARED;
        // SAFETY: getpid has no preconditions.
        PROCESS.store(unsafe { libc::getpid() }, Ordering::Relaxed);
        start_clock();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        STARTED_UNIX_MS.store(since.map_or(0, |t| t.as_millis() as u64), Ordering::Relaxed);
    }
    if kind.is_ours() && switch::AVAILABLE {
        match globals.ours.static_loops {
            StaticLoops::Off => {}
            StaticLoops::Auto | StaticLoops::Uneven if nodes::count() > 1 => regions |= VIRTUAL,
            StaticLoops::Wide if nodes::count() > 1 => regions |= VIRTUAL | WIDE,
            StaticLoops::Auto | StaticLoops::Uneven | StaticLoops::Wide => {}
            StaticLoops::Force | StaticLoops::ForceUneven => regions |= VIRTUAL | FORCE,
        }
        // Only `hetprobe` without a profile may wait for evidence: with another schedule the user has already
        // decided about the nodes, and a profile already knows regions.
        let open = kind.learns() && regions & FORCE == 0 && globals.ours.profile.is_none();
        if open && regions & VIRTUAL != 0 {
            regions |= if nodes::told_apart() { SPARING } else { EVEN };
        }
    }
    LOOPS.store(loops, Ordering::Relaxed);
    REGIONS.store(regions, Ordering::Relaxed);
}
