//! Affinity as text: `omp_capture_affinity`, `omp_display_affinity` and `OMP_DISPLAY_AFFINITY`.
//!
//! System calls without preconditions fill in plain data.

use super::format::{self, Fields, NativeId};
use crate::init;
use crate::thread::Thread;
use hetmp_core::report;
use hetmp_core::whole::{Held, Mutex};

static AFFINITY_FORMAT: Mutex<Option<Box<[u8]>>> = Mutex::new(None);

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

fn lock_format() -> Held<'static, Option<Box<[u8]>>> {
    AFFINITY_FORMAT.lock()
}

/// Runs `write` with the values of an affinity format's fields for the calling thread.
fn with_fields<R>(write: impl FnOnce(&Fields<'_>) -> R) -> R {
    let globals = init::globals();
    let th = Thread::current();
    let cpus = th
        .place
        .get()
        .checked_sub(1)
        .and_then(|p| globals.places.get(p as usize))
        // A thread cannot be bound to a place without a usable CPU (`GOMP_CPU_AFFINITY` may have such
        // places).
        .filter(|place| place.iter().any(|cpu| globals.allowed.contains(cpu)))
        .unwrap_or(&globals.allowed);
    // SAFETY: neither call has preconditions.
    let (process_id, thread) = unsafe { (libc::getpid(), libc::pthread_self()) };
    let native_thread_id = if globals.as_libomp {
        NativeId::Kernel(hetmp_core::sys::gettid())
    } else {
        NativeId::Pthread(thread)
    };
    let (team, (league, others)) = (th.team(), th.league.get());
    write(&Fields {
        team_num: league as i32,
        num_teams: others.wrapping_add(1) as i32,
        level: team.level() as i32,
        thread_num: th.number() as i32,
        num_threads: th.nthreads() as i32,
        ancestor_tnum: team.parent().map_or(-1, |(_, tid)| tid as i32),
        process_id,
        native_thread_id,
        affinity: cpus,
        host: &host_name,
        unknown: globals.as_libomp.then_some("undefined"),
    })
}

/// The node name of `uname`.
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

/// `omp_capture_affinity`: expands `format` (empty: the current one) into `buffer` as far as it fits, without
/// a terminating zero. Returns the length of the whole text.
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

/// `omp_display_affinity`: writes one line by `format` (empty: the current one). The line goes to standard
/// error, as in libgomp; for programs that were built for libomp, to standard output.
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
