//! What reading regions' code has cost this process, and what virtual teams have gained ([`hetmp_sched::budget`]).

use crate::unlike::modes;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hetmp_core::float;
use hetmp_scan::loaded::length_of;
use hetmp_sched::budget::{Budget, Length};

// Relaxed: the sums are estimates, and carry no other data. Times are nanoseconds.
static SPENT_NS: AtomicU64 = AtomicU64::new(0);
static PREPARED_NS: AtomicU64 = AtomicU64::new(0);
static READ: AtomicU32 = AtomicU32::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);
static GAINED_NS: AtomicU64 = AtomicU64::new(0);

/// The sums so far.
pub(super) fn so_far() -> Budget {
    Budget {
        spent_ns: SPENT_NS.load(Ordering::Relaxed) as f64,
        prepared_ns: PREPARED_NS.load(Ordering::Relaxed) as f64,
        regions: READ.load(Ordering::Relaxed),
        bytes: BYTES.load(Ordering::Relaxed) as f64,
        gained_ns: GAINED_NS.load(Ordering::Relaxed) as f64,
    }
}

/// How much there is to read of the function at `code`. `asked`: the program asked for a number of threads.
pub(super) fn length(code: usize, asked: bool) -> Length {
    Length::new(length_of(code as u64), asked)
}

/// How long reading the function at `code` may take, in nanoseconds: some times as long as is expected. `asked` as for [`length`].
pub(super) fn most_ns(code: usize, asked: bool) -> u64 {
    const MOST: f64 = 3.0;
    float::apart(|| (MOST * so_far().expected_ns(length(code, asked))) as u64)
}

/// Does the time that the program has run pay for so many more nanoseconds of reading: does all reading then take less than a
/// fiftieth of it? Without floating point: the program may have set its modes.
pub(super) fn pays_for(ns: u64) -> bool {
    SPENT_NS.load(Ordering::Relaxed).saturating_add(ns) <= modes::ran_ns() / 50
}

/// Runs `read`, which reads so much of a region's code, and counts its time. This is the processor's time, so that other processes,
/// which may hold the core meanwhile, do not count.
pub(super) fn spend<R>(length: Length, read: impl FnOnce() -> R) -> R {
    let began = cpu_ns();
    if READ.load(Ordering::Relaxed) == 0 {
        hetmp_core::aside::run(hetmp_scan::prepare);
        PREPARED_NS.fetch_add(cpu_ns().saturating_sub(began), Ordering::Relaxed);
    }
    let result = read();
    SPENT_NS.fetch_add(cpu_ns().saturating_sub(began), Ordering::Relaxed);
    READ.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(length.bytes() as u64, Ordering::Relaxed);
    result
}

/// Runs `read`, which brings to an end what was begun in time that threads waited, and counts its time.
pub(super) fn spend_on_rest(read: impl FnOnce()) {
    let began = cpu_ns();
    read();
    SPENT_NS.fetch_add(cpu_ns().saturating_sub(began), Ordering::Relaxed);
}

/// Has any code been read? Before that the decoder unpacks its tables.
pub(super) fn is_prepared() -> bool {
    READ.load(Ordering::Relaxed) != 0
}

/// A virtual team was faster than an ordinary one by about `ns` nanoseconds.
pub(super) fn gain(ns: u64) {
    GAINED_NS.fetch_add(ns, Ordering::Relaxed);
}

/// The calling thread's processor time.
fn cpu_ns() -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a live timespec, and the clock exists on every Linux.
    unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t);
    }
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
