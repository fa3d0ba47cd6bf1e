//! Emulated slow cores: a thread that runs user code at a fraction of its speed.
//!
//! Heterogeneity must be testable on one small, uniform machine. A thread of a node with `speed` 0.33 calls
//! [`SlowThread::enter`] when it starts to run user code and [`SlowThread::leave`] when it stops; `u` nanoseconds of
//! user code then take `u / 0.33`. Nothing else is slowed: the engine leaves before it waits in a barrier. A thread
//! at full speed pays one predictable branch.
//!
//! # How
//!
//! While the thread is inside, a timer of the monotonic clock ticks at most `SLICE_US` after the account was last
//! settled. The tick's signal handler *burns* the time that the slow core would still need for the user code run
//! since then. It spins on the clock, so that the thread keeps its core as a slow core would; a sleeping thread would
//! lend the core to others, and wake late. `leave` settles the remainder, so that code shorter than a tick takes the
//! right time too. [`SlowThread::settle`] does the same without leaving, for a chunk of a loop that is measured by
//! itself.
//!
//! What counts is the thread's *running* time: time in which it was descheduled, or blocked in the kernel, is not
//! stretched. Ticks compare the thread's CPU clock with the elapsed time. Between `enter` and the first tick the
//! elapsed time is taken, which a tick's period bounds; so neither `enter` nor `leave` needs a system call. After a
//! thread has been seen descheduled, both calls ask the CPU clock too.
//!
//! A tick itself takes time from user code, up to 20 us where a hypervisor delivers the timer. This cost is measured
//! once for each process and counted as burned. (Speeds close to 1, above 0.96 on such machines, come out a little
//! slower: there a tick costs more than it has to burn.)
//!
//! # What a program can notice
//!
//! The process takes a real-time signal: the first below `SIGRTMAX - 4` that has its default action. If the program
//! takes it later, the next free one serves; of ticks that were set before, the program's handler may get one for each
//! thread, with `si_code` `SI_TIMER`. The handler leaves `errno` alone and restarts interrupted calls. Linux still ends
//! some calls with `EINTR` (signal(7)): `poll`, `select`, `epoll_wait`, `nanosleep`, and waits on semaphores with a
//! timeout. A program that does not expect this must not run on emulated nodes. A program that blocks all signals is
//! slowed at `leave` only. Only threads of slowed nodes, inside user code, see any of this.

use crate::float;
use crate::sys::ticks;
use core::cell::Cell;
use core::sync::atomic::{
    compiler_fence, AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed,
};
use core::sync::atomic::{AtomicI32, Ordering::SeqCst};

mod calibrate;
mod timer;

use calibrate::Calibration;

/// The longest time that user code runs before it is slowed, microseconds.
pub(crate) const SLICE_US: u64 = 500;

/// After the thread was seen descheduled, this many calls of `enter` read the CPU clock, a system call each: another
/// process that competes for the cores will do so again soon.
const CAREFUL: u32 = 1000;

/// The account of a [`SlowThread`]: how much it has run, and how much it still has to burn.
///
/// **Invariant**: only the owning thread touches the fields, and its own signal handler, which interrupts it. Hence
/// relaxed atomics, ordered against the handler by compiler fences, and no read-modify-write operations. The thread
/// clears `inside` before it changes the account, and the handler touches no account whose `inside` is clear.
#[derive(Debug)]
struct Account {
    /// User code is running: the handler may account and burn.
    inside: AtomicBool,
    /// The timer is set: a tick will come.
    armed: AtomicBool,
    /// How many more calls of `enter` read the CPU clock: not 0 after the thread was descheduled, or if ticks do not
    /// arrive.
    careful: AtomicU32,
    /// The tick-counter value up to which user code has been accounted for.
    mark: AtomicU64,
    /// The thread's CPU clock at `mark`, in ns; 0 if it was not read then.
    mark_cpu: AtomicU64,
    /// Ticks still to be burned; negative if more was burned than needed.
    debt: AtomicI64,
    /// `1 / speed - 1`, as bits of an f64.
    stretch: AtomicU64,
    /// The kernel's timer, or -1.
    timer: AtomicI32,
    /// The signal that `timer` sends; 0: there was none yet.
    signal: AtomicI32,
    /// The thread that `timer` signals. In a forked child this is another thread, and the timer is gone.
    tid: AtomicI32,
    /// The account belongs to the calibration: the handler only notes when it ran.
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
            signal: AtomicI32::new(0),
            tid: AtomicI32::new(0),
            probing,
        }
    }

    /// User code starts now. Time before this moment is not stretched.
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

    /// Accounts for the user code between `mark` and `now`. Of that time, `pre` ticks were the delivery of a signal.
    /// Returns the debt in ticks.
    fn account(&self, now: u64, cpu_now: u64, pre: u64, c: &Calibration) -> i64 {
        let elapsed = now.saturating_sub(self.mark.load(Relaxed));
        let mark_cpu = self.mark_cpu.load(Relaxed);
        let run = if mark_cpu != 0 && cpu_now > mark_cpu {
            let run = c.to_ticks(cpu_now - mark_cpu);
            // Interrupt handling makes the two clocks differ by some microseconds. Only a larger gap is a pause.
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

/// The slow-down of one thread. Only that thread uses it.
#[derive(Debug)]
pub struct SlowThread {
    /// The speed; below 1 the thread is slowed.
    speed: Cell<f64>,
    /// Null until the thread first enters while slowed. Then a leaked box, which `drop` frees.
    account: Cell<*mut Account>,
}

impl SlowThread {
    /// A thread that runs at `speed`, limited to the range from [`crate::topo::nodes::MIN_SPEED`] to 1; NaN means 1.
    /// The timer is set up when the thread first enters.
    pub const fn new(speed: f64) -> Self {
        SlowThread {
            speed: Cell::new(limited(speed)),
            account: Cell::new(core::ptr::null_mut()),
        }
    }

    /// The current speed.
    pub fn speed(&self) -> f64 {
        self.speed.get()
    }

    /// Changes the speed. Call it outside, between `leave` and `enter`.
    pub fn set_speed(&self, speed: f64) {
        let speed = limited(speed);
        if speed != self.speed.get() {
            self.leave();
            self.speed.set(speed);
            if let Some(account) = self.account() {
                let stretch = float::apart(|| 1.0 / speed - 1.0);
                account.stretch.store(stretch.to_bits(), Relaxed);
            }
        }
    }

    /// Does what the first `enter` would have to do, so that no measured region pays for it: some milliseconds in the
    /// first such thread of the process, microseconds in others.
    pub fn prepare(&self) {
        if self.speed.get() < 1.0 && self.account.get().is_null() {
            self.set_up();
        }
    }

    /// The thread starts to run user code. No effect at full speed, or if the thread is already inside.
    #[inline]
    pub fn enter(&self) {
        if self.speed.get() < 1.0 {
            float::apart(|| self.enter_slow());
        }
    }

    /// The thread stops running user code. Returns when the slow core would have got to this point. No effect at full
    /// speed, or outside.
    #[inline]
    pub fn leave(&self) {
        if self.speed.get() < 1.0 {
            float::apart(|| self.settle_slow(false));
        }
    }

    /// Settles the account while staying inside: returns when the slow core would have got to this point.
    #[inline]
    pub fn settle(&self) {
        if self.speed.get() < 1.0 {
            float::apart(|| self.settle_slow(true));
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
        let account = float::apart(|| {
            calibrate::get();
            Box::new(Account::new(1.0 / self.speed.get() - 1.0, false))
        });
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
        // First `inside`, then the look at `armed`. A tick that comes in between finds the thread inside and sets the
        // timer again. In the other order the tick would find nobody inside, set no timer, and be the last one.
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
            // A tick is long overdue: signals are blocked, or a fork has lost the timer. The next `enter` sets it
            // again.
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
        // SAFETY: the box was leaked by `set_up`. Its timer is deleted, and no signal that carries its address is
        // pending, so nobody else has the pointer.
        drop(unsafe { Box::from_raw(self.account.get()) });
    }
}

const fn limited(speed: f64) -> f64 {
    // A NaN fails both comparisons and takes the last branch.
    if speed < crate::topo::nodes::MIN_SPEED {
        crate::topo::nodes::MIN_SPEED
    } else if speed < 1.0 {
        speed
    } else {
        1.0
    }
}

/// The thread is inside, and no tick will come: starts the timer. The time of the system call counts as burned.
#[cold]
fn arm_and_enter(account: &Account) {
    loop {
        account.inside.store(false, Relaxed);
        compiler_fence(SeqCst);
        let start = ticks();
        account.armed.store(true, Relaxed);
        if !timer::arm(account) {
            // There is no timer, so that only `leave` slows the thread.
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
        // The thread was descheduled here for a whole slice, and the tick came before user code ran: set the timer
        // again.
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
        // The thread is in the runtime or idle, and further ticks would disturb it.
        account.armed.store(false, Relaxed);
        return;
    }
    account.inside.store(false, Relaxed);
    compiler_fence(SeqCst);
    let c = calibrate::get();
    let cpu_now = timer::cpu_ns();
    if account.mark_cpu.load(Relaxed) == 0 {
        // The first tick since `enter`, at which the CPU clock was not read. A tick is never set for longer than a
        // slice, so the thread has run no longer than that.
        let longest = c.slice + c.pre;
        if start.saturating_sub(account.mark.load(Relaxed)) > longest + c.gap {
            account.mark.store(start - longest, Relaxed);
            account.careful.store(CAREFUL, Relaxed);
        }
    }
    let debt = account.account(start, cpu_now, c.pre, c) - c.post as i64;
    // The timer is started before burning, so that the time of its system call counts as burned.
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

/// Spins until the thread has run for `debt` ticks since `start`. Returns the ticks that are left, negative if it ran
/// over.
fn burn(debt: i64, start: u64, c: &Calibration) -> i64 {
    if debt <= 0 {
        return debt - (ticks() - start) as i64;
    }
    let debt = debt as u64;
    if debt < c.gap {
        // Shorter than it takes to read the CPU clock, and too short to be interrupted often.
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
        // Only a gap between the clocks is a pause, in which nothing burns; `account` decides the same way.
        let burned = if run + c.gap < elapsed { run } else { elapsed };
        if burned >= debt {
            return debt as i64 - burned as i64;
        }
        target = now + (debt - burned);
    }
}

fn spin_until(target: u64) {
    // No pause instruction here: it can trap under a hypervisor.
    while ticks() < target {}
}

#[cfg(test)]
mod tests;
