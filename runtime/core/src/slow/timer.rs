//! The kernel timer of a thread, and the signal that it sends.
//!
//! The system calls are made directly, so that the handler may make them (timer_settime and clock_gettime are
//! async-signal-safe), and old C libraries need no further library.

use super::{tick, Account, SLICE_US};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, Ordering::Relaxed};
use libc::c_int;

/// What is said if [`signal`] finds no free signal.
pub(super) const NO_SIGNAL: &str =
    "the program has taken every real-time signal from SIGRTMIN+1 to \
    SIGRTMAX-5, and a timer needs one";

/// The calling thread's CPU clock, in ns.
pub(super) fn cpu_ns() -> u64 {
    crate::sys::thread_cpu_ns()
}

/// Starts the timer of the calling thread's account, and creates the timer if there is none. False if the system
/// refuses.
pub(super) fn arm(account: &Account) -> bool {
    let tid = crate::sys::gettid();
    let signal = signal();
    // Timers do not survive a fork, and the child's own timers reuse their numbers. So a timer that another thread
    // has made must not be touched.
    if account.tid.load(Relaxed) != tid {
        account.timer.store(-1, Relaxed);
        account.tid.store(tid, Relaxed);
    }
    if account.signal.load(Relaxed) != signal.unwrap_or(NONE) {
        // The program has taken the signal that the timer sends.
        delete(account);
    }
    let Some(signal) = signal else {
        return false;
    };
    if account.timer.load(Relaxed) < 0 {
        let Some(timer) = create(account, tid, signal) else {
            return false;
        };
        account.signal.store(signal, Relaxed);
        account.timer.store(timer, Relaxed);
    }
    set(account, SLICE_US * 1000)
}

/// Lets the timer tick once, in `ns` nanoseconds.
pub(super) fn set(account: &Account, ns: u64) -> bool {
    let zero = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let value = libc::itimerspec {
        it_interval: zero,
        it_value: libc::timespec {
            tv_sec: (ns / 1_000_000_000) as libc::time_t,
            tv_nsec: (ns % 1_000_000_000) as libc::c_long,
        },
    };
    // SAFETY: the specification is live; an unknown timer number is refused by the kernel.
    unsafe {
        libc::syscall(
            libc::SYS_timer_settime,
            account.timer.load(Relaxed),
            0,
            &value,
            core::ptr::null_mut::<libc::itimerspec>(),
        ) == 0
    }
}

fn create(account: &Account, tid: libc::pid_t, signal: c_int) -> Option<c_int> {
    // SAFETY: sigevent is plain data for which all-zero is valid.
    let mut event: libc::sigevent = unsafe { core::mem::zeroed() };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event.sigev_notify_thread_id = tid;
    event.sigev_value.sival_ptr = core::ptr::from_ref(account).cast_mut().cast();
    let mut timer: c_int = -1;
    // SAFETY: both pointers are to live values; the kernel's timer number is an int.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_timer_create,
            libc::CLOCK_MONOTONIC,
            core::ptr::from_mut(&mut event),
            core::ptr::from_mut(&mut timer),
        )
    };
    (rc == 0).then_some(timer)
}

/// Unblocks the timer's signal in the calling thread, if it is one of ours. Our threads block all signals.
pub(super) fn let_ticks_in() {
    if let Some(signal) = signal() {
        // SAFETY: the set is live, and initialised before use.
        unsafe {
            let mut ours = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(ours.as_mut_ptr());
            libc::sigaddset(ours.as_mut_ptr(), signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, ours.as_ptr(), core::ptr::null_mut());
        }
    }
}

/// Deletes the timer. Afterwards no signal that carries the account's address is pending, so that the account may be
/// freed. (A thread that ends without this takes its pending signals with it.)
pub(super) fn delete(account: &Account) {
    let timer = account.timer.swap(-1, Relaxed);
    if timer < 0 || account.tid.load(Relaxed) != crate::sys::gettid() {
        return;
    }
    let signal = account.signal.load(Relaxed);
    if !is_ours(signal) {
        // The program has taken the signal, and may wait for it. Its handler gets what is pending.
        // SAFETY: the timer is our own.
        unsafe { libc::syscall(libc::SYS_timer_delete, timer) };
        return;
    }
    // SAFETY: the sets are initialised before use, all pointers are to live values, and the timer
    // is our own. Kernels before 6.13 leave the signal of a deleted timer pending: it is taken
    // from the queue while it cannot be delivered. Only our timers send this signal.
    unsafe {
        let mut ours = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(ours.as_mut_ptr());
        libc::sigaddset(ours.as_mut_ptr(), signal);
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        libc::pthread_sigmask(libc::SIG_BLOCK, ours.as_ptr(), before.as_mut_ptr());
        libc::syscall(libc::SYS_timer_delete, timer);
        let now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        while libc::sigtimedwait(ours.as_ptr(), core::ptr::null_mut(), &now) == signal {}
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), core::ptr::null_mut());
    }
}

/// The signal of this process's ticks: 0: not looked for yet; [`NONE`]: there is none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
const NONE: c_int = -1;

/// The signal of this process's ticks, with its handler in place.
///
/// The first below `SIGRTMAX - 4` that has its default action, or our handler already. Debuggers and language runtimes
/// use the last few signals, and C libraries the first. A program that takes it for itself later keeps it, and the next
/// free one serves.
pub(super) fn signal() -> Option<c_int> {
    let known = SIGNAL.load(Relaxed);
    if known == NONE || known > 0 && is_ours(known) {
        return Some(known).filter(|&s| s != NONE);
    }
    let free = (libc::SIGRTMIN() + 1..=libc::SIGRTMAX() - 5)
        .rev()
        .find(|&signal| take(signal));
    let found = free.unwrap_or(NONE);
    if let Err(theirs) = SIGNAL.compare_exchange(known, found, Relaxed, Relaxed) {
        // Another thread was faster. What this one took keeps our handler: it may be the same signal, whose default
        // action ends the process.
        return Some(theirs).filter(|&s| s != NONE);
    }
    if known > 0 {
        match free {
            Some(signal) => crate::report::warn(format_args!(
                "emulated speed: the program has taken signal {known}: signal {signal} instead"
            )),
            None => crate::report::warn(format_args!(
                "emulated speed: {NO_SIGNAL}: threads are slowed at the end of a region only"
            )),
        }
    }
    free
}

/// Is our handler in place?
fn is_ours(signal: c_int) -> bool {
    // SAFETY: the action is live, and all-zero is a valid one.
    unsafe {
        let mut now: libc::sigaction = core::mem::zeroed();
        libc::sigaction(signal, core::ptr::null(), &mut now) == 0
            && now.sa_sigaction == ENTRY as usize
    }
}

const ENTRY: extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void) = handler;

/// Installs the handler for `signal` if it has its default action. True if the handler is in place.
fn take(signal: c_int) -> bool {
    // SAFETY: the actions are live and fully initialised (all-zero is a valid action with an empty
    // mask and the default disposition); the handler has the signature that SA_SIGINFO asks for.
    unsafe {
        let mut old: libc::sigaction = core::mem::zeroed();
        if libc::sigaction(signal, core::ptr::null(), &mut old) != 0 {
            return false;
        }
        if old.sa_sigaction != libc::SIG_DFL {
            return old.sa_sigaction == ENTRY as usize;
        }
        let mut new: libc::sigaction = core::mem::zeroed();
        new.sa_sigaction = ENTRY as usize;
        // ONSTACK: programs with small stacks of their own (fibers, Go) install a large one for signals; elsewhere
        // the flag has no effect. With an empty mask the program's own signals still arrive while we burn.
        new.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigaction(signal, &new, core::ptr::null_mut()) == 0
    }
}

extern "C" fn handler(_: c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands a live siginfo to a handler installed with SA_SIGINFO. Only timers
    // fill in a pointer that is ours; the same signal from kill or sigqueue is ignored. The
    // account lives until `delete` has made sure that no more signals of it are pending.
    unsafe {
        if (*info).si_code != libc::SI_TIMER {
            return;
        }
        let errno = *libc::__errno_location();
        if let Some(account) = (*info).si_value().sival_ptr.cast::<Account>().as_ref() {
            tick(account);
        }
        *libc::__errno_location() = errno;
    }
}
