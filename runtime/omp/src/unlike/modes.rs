//! Which of the ways for unlike cores are in use in this process: bits that are set when the runtime starts.
//!
//! A loop or a region that has none of them to ask pays one load. What the ways need beyond these bits (a
//! report's file, counters, the profile) is set up by the first region that is looked at.

use super::nodes;
use super::virtual_team::switch;
use crate::icv::{Globals, SchedKind, StaticLoops};
use core::sync::atomic::{AtomicI32, AtomicU64, AtomicU8, Ordering};
use hetmp_core::sys::monotonic_ns;
use std::time::SystemTime;

/// Of loops: the environment names one of our schedules, so that a program's `dynamic` and `guided` give way.
pub(super) const REPLACE: u8 = 1;
/// Of loops: plain schedules are driven by ours, too.
pub(super) const OBSERVE: u8 = 2;
/// Of loops: the environment names `hetprobe`.
pub(super) const PROBE: u8 = 4;

/// Of regions: they may be run as virtual teams.
pub(super) const LEVERS: u8 = 1;
/// Of regions: they are timed for the report.
pub(super) const REPORT: u8 = 2;
/// Of regions: also where nothing is to be gained.
pub(super) const FORCE: u8 = 4;
/// Of regions: also where the program asked for a number of threads.
pub(super) const WIDE: u8 = 8;
/// Of regions: only those whose threads were seen to take unlike times, since nothing else tells the nodes apart.
pub(super) const EVEN: u8 = 32;
/// Of regions: what the ways need is not set up yet.
const UNPREPARED: u8 = 16;

// Relaxed: written when the runtime starts, before any region; what they stand for is in `Globals`.
static LOOPS: AtomicU8 = AtomicU8::new(0);
static REGIONS: AtomicU8 = AtomicU8::new(0);
/// The process that reports: not its children by `fork`.
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// When the runtime started, by the monotonic clock and, in milliseconds, by the calendar's.
static STARTED: AtomicU64 = AtomicU64::new(0);
static STARTED_UNIX_MS: AtomicU64 = AtomicU64::new(0);

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

/// Is anything to be done about regions? One load, in every program.
#[inline(always)]
pub(crate) fn watches() -> bool {
    regions() != 0
}

/// Is anything not set up yet?
#[inline]
pub(super) fn is_unprepared() -> bool {
    regions() & UNPREPARED != 0
}

/// Everything is set up.
pub(super) fn prepared() {
    REGIONS.fetch_and(!UNPREPARED, Ordering::Relaxed);
}

/// Regions are not run as virtual teams any more.
pub(super) fn forget_levers() {
    REGIONS.fetch_and(!LEVERS, Ordering::Relaxed);
}

/// Is there a file to be written in which every loop has its place?
pub(super) fn filed(globals: &Globals) -> bool {
    globals.ours.report.is_some() || globals.ours.trace.is_some()
}

/// Are loops to be timed although nothing of ours schedules them?
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

/// The same in milliseconds of the calendar.
pub(super) fn started_unix_ms() -> u64 {
    STARTED_UNIX_MS.load(Ordering::Relaxed)
}

/// Sets the bits by what the environment asks for. Once, after [`nodes::configure`].
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
        STARTED.store(monotonic_ns(), Ordering::Relaxed);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        STARTED_UNIX_MS.store(since.map_or(0, |t| t.as_millis() as u64), Ordering::Relaxed);
    }
    if kind.is_ours() && switch::AVAILABLE {
        match globals.ours.static_loops {
            StaticLoops::Off => {}
            StaticLoops::Auto if nodes::count() > 1 => regions |= LEVERS,
            StaticLoops::Wide if nodes::count() > 1 => regions |= LEVERS | WIDE,
            StaticLoops::Auto | StaticLoops::Wide => {}
            StaticLoops::Force => regions |= LEVERS | FORCE,
        }
        // Who names another schedule has decided what the nodes are, and a profile knows regions already.
        let asks = matches!(kind, SchedKind::HetProbe | SchedKind::HetProbeI);
        let open = asks && regions & FORCE == 0 && globals.ours.profile.is_none();
        if open && regions & LEVERS != 0 && !nodes::told_apart() {
            regions |= EVEN;
        }
    }
    LOOPS.store(loops, Ordering::Relaxed);
    REGIONS.store(regions, Ordering::Relaxed);
}
