//! Signals that hetrun passes on. One thread waits for them.
//!
//! System calls get live sets of signals.

use std::sync::mpsc::Sender;

/// The signals that are passed on to every process of the job.
const PASSED: [libc::c_int; 9] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGWINCH,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// True if a process normally ends by this signal.
pub(crate) fn asks_to_end(signal: i32) -> bool {
    matches!(
        signal,
        libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT
    )
}

/// Blocks the signals until the thread of [`watch`] takes them. Must be called before any thread starts, because
/// threads inherit the mask. The job's processes are started with an empty mask.
pub(crate) fn block() {
    let set = passed();
    // SAFETY: a live set; the old one is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, core::ptr::null_mut()) };
}

/// Empties the signal mask of a process that is about to run its program. Async-signal-safe.
pub(crate) fn unblock_all() {
    // SAFETY: plain data, which sigemptyset fills in.
    let mut set: libc::sigset_t = unsafe { core::mem::zeroed() };
    // SAFETY: a live set.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: a live set; the old one is not asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const set, core::ptr::null_mut()) };
}

fn passed() -> libc::sigset_t {
    // SAFETY: plain data, which sigemptyset fills in.
    let mut set: libc::sigset_t = unsafe { core::mem::zeroed() };
    // SAFETY: a live set.
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in PASSED {
        // SAFETY: a live set and a signal that exists.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}

/// Passes each signal on, in the form that `wrap` gives it.
pub(crate) fn watch<T: Send + 'static>(to: Sender<T>, wrap: fn(i32) -> T) {
    std::thread::spawn(move || {
        let set = passed();
        loop {
            let mut signal = 0;
            // SAFETY: a live set of blocked signals and a live number.
            let failed = unsafe { libc::sigwait(&raw const set, &raw mut signal) };
            if failed == 0 && to.send(wrap(signal)).is_err() {
                return;
            }
        }
    });
}

/// Stops hetrun itself, as the terminal has asked, until somebody continues it.
pub(crate) fn stop_self() {
    // SAFETY: a signal to this process; it goes on after SIGCONT.
    unsafe { libc::kill(libc::getpid(), libc::SIGSTOP) };
}

/// `SIGSEGV` for 11.
pub(crate) fn name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => "see signal(7)",
    }
}
