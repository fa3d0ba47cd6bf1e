//! What is known must survive a program that does not end by `exit`.
//!
//! A thread of ours, the *keeper*, writes the report again soon after the first region and then about
//! once a second, if anything was added: that is what is left after `SIGKILL` or `_exit`. It also writes when one of the signals
//! that end a program comes and the program has no handler for it. The handler itself
//! only wakes the keeper and waits for it, for [`PATIENCE`] at most; formatting, allocating and
//! writing all happen in the keeper, an ordinary thread. So nothing that is not allowed in a handler is
//! done in one. If the crashed thread holds a lock that the keeper needs (the allocator's, say), the
//! handler stops waiting, and the last written report remains.
//!
//! Then the signal takes its course: the default action, with the same status for the parent and
//! the same core dump.

use super::ending::Ending;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};
use hetmp_core::sys::{futex_wake, gettid, monotonic_ns};

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
/// Time between two reports of a program that runs, at least; the first ones come sooner.
const INTERVAL: u64 = 1_000_000_000;
const FIRST: u64 = 10_000_000;
/// The keeper uses at most this part of one core.
const MOST_WORK: u64 = 100;

/// The process that has a keeper.
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// The signal that came, or 0. What the keeper sleeps on.
static SIGNAL: AtomicU32 = AtomicU32::new(0);
/// The keeper has done what it can. What handlers sleep on.
static WRITTEN: AtomicU32 = AtomicU32::new(0);
/// Counts what was added.
static NEWS: AtomicU64 = AtomicU64::new(0);
static STARTED: AtomicBool = AtomicBool::new(false);

/// Writes what there is; false when there is nothing more to write, now or later.
type Write = fn(Ending) -> bool;

/// Something was added that the next report, which `write` writes, will have.
#[inline]
pub(super) fn news(write: Write) {
    NEWS.fetch_add(1, Ordering::Relaxed);
    if !STARTED.load(Ordering::Relaxed) {
        start(write);
    }
}

/// Starts the keeper and watches the signals. Once, at the first news: not while the library is
/// loaded, where a thread has no business.
#[cold]
fn start(write: Write) {
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: getpid has no preconditions. The masks and the attributes are initialised before they are used.
    // The keeper inherits a mask without any signal, so that none of the program's is delivered to it.
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

/// Handles `signal` if nobody else does.
fn watch(signal: libc::c_int) {
    // SAFETY: the records are plain data; the handler lives as long as the process.
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

/// Only what is async-signal-safe: getpid, futex, sigaction, tgkill, and atomics.
extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: getpid has no preconditions.
    let ours = unsafe { libc::getpid() } == PROCESS.load(Ordering::Relaxed);
    if ours {
        // The first one asks, all wait: the process must not end under the keeper.
        let _ = SIGNAL.compare_exchange(0, signal as u32, Ordering::AcqRel, Ordering::Relaxed);
        futex_wake(SIGNAL.as_ptr(), 1);
        let end = monotonic_ns() + PATIENCE;
        while WRITTEN.load(Ordering::Acquire) == 0 {
            let now = monotonic_ns();
            if now >= end {
                break;
            }
            wait(&WRITTEN, 0, end - now);
        }
    }
    // SAFETY: plain data; the default action of the signal follows.
    unsafe {
        let mut default: libc::sigaction = core::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &default, core::ptr::null_mut());
        // What the thread itself did wrong (si_code above 0) it does again on return, and a core
        // dump then shows the place. Anything else is sent once more, and delivered on return.
        if info.is_null() || (*info).si_code <= 0 {
            libc::syscall(libc::SYS_tgkill, libc::getpid(), gettid(), signal);
        }
    }
}

/// Sleeps while `*word == expected`, at most `ns`.
fn wait(word: &AtomicU32, expected: u32, ns: u64) {
    let time = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: the word and the time are live; the kernel only reads them.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            &raw const time,
        );
    }
}

extern "C" fn keep(write: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `start` passes a `Write`.
    let write = unsafe { core::mem::transmute::<*mut libc::c_void, Write>(write) };
    // SAFETY: the name is a C string of fewer than 16 bytes.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), c"hetmp-report".as_ptr()) };
    let mut written = 0;
    let mut interval = FIRST;
    let mut pause = FIRST;
    loop {
        wait(&SIGNAL, 0, pause);
        let signal = SIGNAL.load(Ordering::Acquire);
        let from = monotonic_ns();
        let news = NEWS.load(Ordering::Relaxed);
        if signal != 0 {
            write(Ending::Signal(signal as libc::c_int));
            WRITTEN.store(1, Ordering::Release);
            futex_wake(WRITTEN.as_ptr(), i32::MAX);
            return core::ptr::null_mut();
        }
        if news != written {
            written = news;
            if !write(Ending::Running) {
                // It has ended, or cannot be written: only a signal is waited for now.
                pause = u64::MAX / 2;
                continue;
            }
        }
        interval = INTERVAL.min(2 * interval);
        pause = interval.max(MOST_WORK * (monotonic_ns() - from));
    }
}
