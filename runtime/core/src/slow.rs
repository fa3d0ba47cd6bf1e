//! Emulated slow cores: a thread that runs user code at a fraction of its speed.
//!
//! Heterogeneity must be testable on one small, uniform machine. A thread of a node with `speed`
//! 0.33 calls [`SlowThread::enter`] when it starts to run user code and [`SlowThread::leave`] when
//! it stops; `u` nanoseconds of user code then take `u / 0.33`. Nothing else is slowed: the engine
//! leaves before it waits in a barrier, and a thread at full speed pays one predictable branch.
//!
//! # How
//!
//! While inside, a timer of the monotonic clock ticks at most `SLICE_US` after the last account
//! was settled. The tick's signal handler *burns* what the slow core would still need for the user
//! code run since then: it spins on the clock, so that the thread keeps its core as a slow core
//! would (a sleeping one would lend it to others, and wake late). `leave` settles the
//! remainder, so that code shorter than a tick is right too; [`SlowThread::settle`] does the same
//! in between, for a chunk of a loop that is measured by itself.
//!
//! What counts is the *running* time of the thread: time it spent descheduled or blocked in the
//! kernel is not stretched. Ticks compare the thread's CPU clock with the elapsed time; the stretch
//! between `enter` and the first tick is bounded by the tick's own period, which keeps both calls
//! free of system calls. Where a thread has been seen descheduled, they ask the CPU clock too.
//!
//! A tick itself costs user code time, up to 20 us where a hypervisor delivers the timer. This is
//! measured once per process, and counted as a part of the burning. (Hence speeds so near to 1 that
//! ticks cost more than they burn, above 0.96 on such machines, come out a little slower.)
//!
//! # What a program can notice
//!
//! A real-time signal is taken (the first below `SIGRTMAX - 4` that has its default action).
//! Its handler restarts interrupted calls, but Linux ends `poll`, `select`, `epoll_wait`,
//! `nanosleep`, and waits on semaphores with a timeout with `EINTR` even so (signal(7)): a program
//! that does not expect it must not be run on emulated nodes. A program that blocks all signals is
//! slowed at `leave` only. Only threads of slowed nodes, inside user code, see any of this.

use crate::sys::ticks;
use core::cell::Cell;
use core::sync::atomic::{
    compiler_fence, AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed,
};
use core::sync::atomic::{AtomicI32, Ordering::SeqCst};

mod calibrate;
mod timer;

use calibrate::Calibration;

/// Longest time user code runs before it is slowed, in microseconds.
pub(crate) const SLICE_US: u64 = 500;

/// After the thread was seen descheduled, this many calls of `enter` are exact at the price of a
/// system call each: where one process competes for the cores, the next moment it does again.
const CAREFUL: u32 = 1000;

/// Where a [`SlowThread`] keeps account.
///
/// **Invariant**: only the owning thread and its own signal handler, which interrupts it, touch the
/// fields. Hence relaxed atomics, ordered against the handler by compiler fences, and no
/// read-modify-write: whoever is about to change the account clears `inside` first, and the handler
/// then keeps its hands off.
#[derive(Debug)]
struct Account {
    /// User code is running: the handler may account and burn.
    inside: AtomicBool,
    /// A tick is on its way.
    armed: AtomicBool,
    /// How many more times `enter` looks at the CPU clock itself, since the thread was descheduled
    /// not long ago, or ticks do not arrive.
    careful: AtomicU32,
    /// Ticks up to which user code has been accounted for.
    mark: AtomicU64,
    /// The thread's CPU clock at `mark`, in ns; 0: not read.
    mark_cpu: AtomicU64,
    /// Ticks still to be burned; negative: burned in advance.
    debt: AtomicI64,
    /// `1 / speed - 1`, as bits of an f64.
    stretch: AtomicU64,
    /// The kernel's timer, or -1.
    timer: AtomicI32,
    /// The thread that `timer` signals. Another one after a fork, when the timer is gone.
    tid: AtomicI32,
    /// The account of the calibration: the handler only notes when it ran.
    probing: bool,
}

impl Account {
    fn new(stretch: f64, probing: bool) -> Self {
        Account {
            inside: AtomicBool::new(false),
            armed: AtomicBool::new(false),
            careful: AtomicU32::new(0),
            mark: AtomicU64::new(0),
            mark_cpu: AtomicU64::new(0),
            debt: AtomicI64::new(0),
            stretch: AtomicU64::new(stretch.to_bits()),
            timer: AtomicI32::new(-1),
            tid: AtomicI32::new(0),
            probing,
        }
    }

    /// User code starts now, and owes nothing for what was before.
    fn mark_now(&self) {
        let careful = self.careful.load(Relaxed);
        let cpu = if careful > 0 {
            self.careful.store(careful - 1, Relaxed);
            timer::cpu_ns()
        } else {
            0
        };
        self.mark_cpu.store(cpu, Relaxed);
        self.mark.store(ticks(), Relaxed);
    }

    fn stretch(&self) -> f64 {
        f64::from_bits(self.stretch.load(Relaxed))
    }

    /// Accounts for the user code between `mark` and `now`, of which `pre` ticks were the delivery
    /// of a signal and no user code. Returns the debt, in ticks.
    fn account(&self, now: u64, cpu_now: u64, pre: u64, c: &Calibration) -> i64 {
        let elapsed = now.saturating_sub(self.mark.load(Relaxed));
        let mark_cpu = self.mark_cpu.load(Relaxed);
        let run = if mark_cpu != 0 && cpu_now > mark_cpu {
            let run = c.to_ticks(cpu_now - mark_cpu);
            // The clocks differ by some microseconds of interrupt handling; only a real gap is a
            // pause.
            if run + c.gap < elapsed {
                self.careful.store(CAREFUL, Relaxed);
                run
            } else {
                elapsed
            }
        } else {
            elapsed
        };
        let user = run.saturating_sub(pre);
        let stretched = (user as f64 * self.stretch()) as i64;
        self.debt.load(Relaxed) + stretched - (run - user) as i64
    }
}

/// The slow-down of one thread. Used by that thread only.
#[derive(Debug)]
pub struct SlowThread {
    /// Below 1: slowed.
    speed: Cell<f64>,
    /// Null until the thread first enters while slowed; then a leaked box, freed by `drop`.
    account: Cell<*mut Account>,
}

impl SlowThread {
    /// A thread that runs at `speed`, limited to [`crate::topo::nodes::MIN_SPEED`] to 1; NaN
    /// means 1. Nothing is set up before the thread first enters.
    pub const fn new(speed: f64) -> Self {
        SlowThread {
            speed: Cell::new(limited(speed)),
            account: Cell::new(core::ptr::null_mut()),
        }
    }

    /// The speed in force.
    pub fn speed(&self) -> f64 {
        self.speed.get()
    }

    /// Changes the speed, between `leave` and `enter`.
    pub fn set_speed(&self, speed: f64) {
        let speed = limited(speed);
        if speed != self.speed.get() {
            self.leave();
            self.speed.set(speed);
            if let Some(account) = self.account() {
                account
                    .stretch
                    .store((1.0 / speed - 1.0).to_bits(), Relaxed);
            }
        }
    }

    /// Sets up what the first `enter` would (some milliseconds in the process's first such thread,
    /// microseconds in others), so that no measured region pays for it.
    pub fn prepare(&self) {
        if self.speed.get() < 1.0 && self.account.get().is_null() {
            self.set_up();
        }
    }

    /// The thread starts to run user code. Does nothing at full speed, or when already inside.
    #[inline]
    pub fn enter(&self) {
        if self.speed.get() < 1.0 {
            self.enter_slow();
        }
    }

    /// The thread stops running user code: returns when the slow core would have come this far.
    /// Does nothing at full speed, or outside.
    #[inline]
    pub fn leave(&self) {
        if self.speed.get() < 1.0 {
            self.settle_slow(false);
        }
    }

    /// Inside, brings the account up to date: returns when the slow core would have come this far,
    /// and stays inside.
    #[inline]
    pub fn settle(&self) {
        if self.speed.get() < 1.0 {
            self.settle_slow(true);
        }
    }

    /// Whether the thread is between `enter` and `leave`, and slowed.
    #[cfg(test)]
    fn is_inside(&self) -> bool {
        self.account().is_some_and(|a| a.inside.load(Relaxed))
    }

    fn account(&self) -> Option<&Account> {
        // SAFETY: null, or the box leaked by `set_up`, which only `drop` frees; only shared
        // references to it are ever made.
        unsafe { self.account.get().as_ref() }
    }

    #[cold]
    fn set_up(&self) {
        calibrate::get();
        let account = Box::new(Account::new(1.0 / self.speed.get() - 1.0, false));
        self.account.set(Box::into_raw(account));
    }

    fn enter_slow(&self) {
        self.prepare();
        let Some(account) = self.account() else {
            return;
        };
        if account.inside.load(Relaxed) {
            return;
        }
        account.mark_now();
        // Inside first, and only then a look at `armed`: a tick that comes in between then re-arms
        // the timer; in the other order it would find nobody inside, and be the last one.
        compiler_fence(SeqCst);
        account.inside.store(true, Relaxed);
        compiler_fence(SeqCst);
        if !account.armed.load(Relaxed) {
            arm_and_enter(account);
        }
    }

    fn settle_slow(&self, stay: bool) {
        let Some(account) = self.account() else {
            return;
        };
        if !account.inside.load(Relaxed) {
            return;
        }
        account.inside.store(false, Relaxed);
        compiler_fence(SeqCst);
        let c = calibrate::get();
        let cpu_now = match account.mark_cpu.load(Relaxed) {
            0 => 0,
            _ => timer::cpu_ns(),
        };
        let now = ticks();
        if now.saturating_sub(account.mark.load(Relaxed)) > 3 * c.slice {
            // A tick was due long ago: signals are blocked, or the timer was lost in a fork.
            // The next `enter` sets it again.
            account.armed.store(false, Relaxed);
            account.careful.store(CAREFUL, Relaxed);
        }
        let debt = account.account(now, cpu_now, 0, c);
        let left = burn(debt, now, c);
        account.debt.store(left.max(-(c.advance as i64)), Relaxed);
        if stay {
            account.mark_now();
            compiler_fence(SeqCst);
            account.inside.store(true, Relaxed);
            compiler_fence(SeqCst);
            if !account.armed.load(Relaxed) {
                arm_and_enter(account);
            }
        }
    }
}

impl Drop for SlowThread {
    fn drop(&mut self) {
        let Some(account) = self.account() else {
            return;
        };
        account.inside.store(false, Relaxed);
        compiler_fence(SeqCst);
        timer::delete(account);
        // SAFETY: the box leaked by `set_up`; its timer is deleted and no signal that carries
        // its address is pending, so nobody else holds the pointer.
        drop(unsafe { Box::from_raw(self.account.get()) });
    }
}

const fn limited(speed: f64) -> f64 {
    // Written so that NaN ends in the last branch.
    if speed < crate::topo::nodes::MIN_SPEED {
        crate::topo::nodes::MIN_SPEED
    } else if speed < 1.0 {
        speed
    } else {
        1.0
    }
}

/// The thread is inside, and no tick is coming: starts the timer. The system call is credited as
/// time burned.
#[cold]
fn arm_and_enter(account: &Account) {
    loop {
        account.inside.store(false, Relaxed);
        compiler_fence(SeqCst);
        let start = ticks();
        account.armed.store(true, Relaxed);
        if !timer::arm(account) {
            // Then `leave` alone slows the thread.
            account.armed.store(false, Relaxed);
        }
        let now = ticks();
        let credit = now.saturating_sub(start).min(calibrate::get().advance) as i64;
        account
            .debt
            .store(account.debt.load(Relaxed) - credit, Relaxed);
        account.mark.store(now, Relaxed);
        let armed = account.armed.load(Relaxed);
        compiler_fence(SeqCst);
        account.inside.store(true, Relaxed);
        compiler_fence(SeqCst);
        // Descheduled for a whole slice right here, the tick came too early: once more.
        if !armed || account.armed.load(Relaxed) {
            return;
        }
    }
}

/// Runs in the signal handler, on the thread that owns `account`.
fn tick(account: &Account) {
    let start = ticks();
    if account.probing {
        calibrate::note(account, start);
        return;
    }
    if !account.inside.load(Relaxed) {
        // The thread is in the runtime or idle, and must not be woken again.
        account.armed.store(false, Relaxed);
        return;
    }
    account.inside.store(false, Relaxed);
    compiler_fence(SeqCst);
    let c = calibrate::get();
    let cpu_now = timer::cpu_ns();
    if account.mark_cpu.load(Relaxed) == 0 {
        // The first tick since `enter`: what the CPU clock said then is not known. No tick is set
        // for longer than a slice, so more cannot have been run.
        let longest = c.slice + c.pre;
        if start.saturating_sub(account.mark.load(Relaxed)) > longest + c.gap {
            account.mark.store(start - longest, Relaxed);
            account.careful.store(CAREFUL, Relaxed);
        }
    }
    let debt = account.account(start, cpu_now, c.pre, c) - c.post as i64;
    // The timer is started first, since its system call is then a part of the burning.
    let rest = c.to_ns(debt.max(0) as u64);
    account
        .armed
        .store(timer::set(account, rest + SLICE_US * 1000), Relaxed);
    let left = burn(debt, start, c);
    account.debt.store(left.max(-(c.advance as i64)), Relaxed);
    account
        .mark_cpu
        .store(timer::cpu_ns() + c.to_ns(c.post), Relaxed);
    account.mark.store(ticks() + c.post, Relaxed);
    compiler_fence(SeqCst);
    account.inside.store(true, Relaxed);
}

/// Spins until the thread has run for `debt` ticks since `start`. Returns what is left, negative
/// when it ran over.
fn burn(debt: i64, start: u64, c: &Calibration) -> i64 {
    if debt <= 0 {
        return debt - (ticks() - start) as i64;
    }
    let debt = debt as u64;
    if debt < c.gap {
        // Too short for a look at the CPU clock, and to be interrupted often enough to matter.
        spin_until(start + debt);
        return debt as i64 - (ticks() - start) as i64;
    }
    let cpu_start = timer::cpu_ns();
    let mut target = start + debt;
    loop {
        spin_until(target);
        let now = ticks();
        let elapsed = now - start;
        let run = c.to_ticks(timer::cpu_ns().saturating_sub(cpu_start));
        // As in `account`: only a gap between the clocks is a pause, and nothing burns in it.
        let burned = if run + c.gap < elapsed { run } else { elapsed };
        if burned >= debt {
            return debt as i64 - burned as i64;
        }
        target = now + (debt - burned);
    }
}

fn spin_until(target: u64) {
    // Without the pause instruction, which can trap under a hypervisor.
    while ticks() < target {}
}

#[cfg(test)]
mod tests;
