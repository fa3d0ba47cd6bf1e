//! Writes the report of a program that does not end by `exit`.
//!
//! A thread of the library, the *keeper*, writes the report soon after the first region, and then about once
//! a second if there is news: that much survives `SIGKILL` and `_exit`. It also writes when a signal arrives
//! that ends the program, if the program has no handler for it. The library's handler only wakes the keeper
//! and waits for it, for at most [`PATIENCE`]. Formatting, allocating and writing happen in the keeper, an
//! ordinary thread, so that the handler does nothing that a handler must not do. If the crashed thread holds
//! a lock that the keeper needs (the allocator's, say), the handler stops waiting, and the last written
//! report remains.
//!
//! Then the signal takes its usual course: the default action, with the same status for the parent and the
//! same core dump.

use super::ending::Ending;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use hetmp_core::bell::{LocalBell, Naps};
use hetmp_core::sys::{gettid, monotonic_ns};

/// Signals that end a program that does not handle them.
const SIGNALS: [libc::c_int; 9] = [
    libc::SIGABRT,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGXCPU,
];

/// How long a signal handler waits for the keeper, in nanoseconds.
const PATIENCE: u64 = 2_000_000_000;
/// Shortest time between two reports while the program runs, in nanoseconds; the first reports come sooner.
const INTERVAL: u64 = 1_000_000_000;
const FIRST: u64 = 10_000_000;
/// The keeper works at most one part in this many of the time.
const MOST_WORK: u64 = 100;

/// The process that has a keeper.
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// The signal that arrived, or 0.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The keeper sleeps on this bell until a signal arrives.
static ARRIVED: LocalBell = LocalBell::local();
/// The keeper has written the last report.
static WRITTEN: AtomicBool = AtomicBool::new(false);
/// Handlers sleep on this bell until the last report is written.
static DONE: LocalBell = LocalBell::local();
/// Counts what was added to the report.
static NEWS: AtomicU64 = AtomicU64::new(0);
static STARTED: AtomicBool = AtomicBool::new(false);

/// Writes the report; false when there is nothing more to write, now or later.
type Write = fn(Ending) -> bool;

/// Something was added to the report, which the keeper will write by `write`.
#[inline]
pub(super) fn news(write: Write) {
    NEWS.fetch_add(1, Ordering::Relaxed);
    if !STARTED.load(Ordering::Relaxed) {
        start(write);
    }
}

/// Starts the keeper and handles the signals. Done once, at the first news, and not while the library is
/// loaded, when no thread may be started.
#[cold]
fn start(write: Write) {
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: getpid has no preconditions. Masks and attributes are initialised before they are used. The
    // keeper inherits a mask that blocks all signals, so that the program's signals go to the program's
    // threads.
    let started = unsafe {
        PROCESS.store(libc::getpid(), Ordering::Relaxed);
        let mut all = core::mem::zeroed();
        let mut old = core::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        let mut attributes = core::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_attr_setstacksize(&mut attributes, 512 << 10);
        let mut thread = core::mem::zeroed();
        let error =
            libc::pthread_create(&mut thread, &attributes, keep, write as *mut libc::c_void);
        libc::pthread_attr_destroy(&mut attributes);
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, core::ptr::null_mut());
        error == 0
    };
    if started {
        SIGNALS.into_iter().for_each(watch);
    }
}

/// Handles `signal`, if the program has no handler for it.
fn watch(signal: libc::c_int) {
    // SAFETY: the records are plain data; the handler can be called as long as the process lives.
    unsafe {
        let mut old: libc::sigaction = core::mem::zeroed();
        if libc::sigaction(signal, core::ptr::null(), &mut old) != 0
            || old.sa_sigaction != libc::SIG_DFL
        {
            return;
        }
        let mut ours: libc::sigaction = core::mem::zeroed();
        ours.sa_sigaction = on_signal as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(signal, &ours, core::ptr::null_mut());
    }
}

/// The signal handler. It does only what is async-signal-safe: getpid, sigaction, tgkill, atomics, and sleeping on a
/// bell.
extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: getpid has no preconditions.
    let ours = unsafe { libc::getpid() } == PROCESS.load(Ordering::Relaxed);
    if ours {
        // The first handler asks the keeper; all handlers wait, since the process must not end while the
        // keeper writes.
        let _ = SIGNAL.compare_exchange(0, signal, Ordering::AcqRel, Ordering::Relaxed);
        ARRIVED.ring();
        sleep(&DONE, PATIENCE, || WRITTEN.load(Ordering::Acquire));
    }
    // SAFETY: the records are plain data; this restores the signal's default action.
    unsafe {
        let mut default: libc::sigaction = core::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &default, core::ptr::null_mut());
        // A fault of the thread itself (si_code above 0) happens again on return, and a core dump then shows
        // the place. Any other signal is sent once more, and delivered on return.
        if info.is_null() || (*info).si_code <= 0 {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), gettid(), signal);
        }
    }
}

/// Sleeps on `bell` until `done` says true, at most about `ns` nanoseconds.
fn sleep(bell: &LocalBell, ns: u64, done: impl Fn() -> bool) {
    let end = monotonic_ns().saturating_add(ns);
    let nap = Naps {
        shortest: ns,
        longest: ns,
    };
    bell.sleep(nap, &mut || done(), &mut || monotonic_ns() < end);
}

extern "C" fn keep(write: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `start` passed a `Write` as this pointer.
    let write = unsafe { core::mem::transmute::<*mut libc::c_void, Write>(write) };
    // SAFETY: the name is a C string of fewer than 16 bytes.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), c"hetmp-report".as_ptr()) };
    hetmp_core::float::default_here();
    let mut written = 0;
    let mut interval = FIRST;
    let mut pause = FIRST;
    loop {
        sleep(&ARRIVED, pause, || SIGNAL.load(Ordering::Acquire) != 0);
        let signal = SIGNAL.load(Ordering::Acquire);
        let from = monotonic_ns();
        let news = NEWS.load(Ordering::Relaxed);
        if signal != 0 {
            write(Ending::Signal(signal));
            WRITTEN.store(true, Ordering::Release);
            DONE.ring();
            return core::ptr::null_mut();
        }
        if news != written {
            written = news;
            if !write(Ending::Running) {
                // The report is complete, or cannot be written: wait only for signals now.
                pause = u64::MAX / 2;
                continue;
            }
        }
        interval = INTERVAL.min(2 * interval);
        pause = interval.max(MOST_WORK * (monotonic_ns() - from));
    }
}
