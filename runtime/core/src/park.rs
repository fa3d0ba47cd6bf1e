//! The one way to wait: spin under one policy, then sleep in the kernel.
//!
//! Everything that blocks (barriers, forks, joins, locks, ordered, task waits, queues) waits on a
//! [`Flag`] or with [`Spinner`], so that `OMP_WAIT_POLICY`, oversubscription and a loaded machine
//! are answered in one place.
//!
//! **How long to spin.** Waking a sleeping thread costs tens of microseconds, a cache-line hop some
//! 55 ns, so a thread that has a core to itself should spin for a good while. A thread that
//! shares its core should not spin at all: it burns the time of the very thread it waits for.
//! Which of the two holds is judged by
//! 1. the number of threads the runtime manages against the CPUs it may use ([`Policy::set_threads`]);
//! 2. a *gap*: two turns of a spin loop that lie a time slice apart mean that another program computes
//!    on this core. (Short gaps are everyday noise: interrupts, a daemon that wakes up. Sleeping
//!    because of them would cost far more than they do.)
//! 3. the number of runnable threads in the system against its CPUs, looked up once a wait has
//!    lasted a millisecond: the thread waited for may be the one without a core.
//!
//! A thread that shares its core with other threads *of the runtime* yields a few times before it
//! sleeps: the one it waits for is likely next in line on this very core, and a hand-over by yielding
//! costs a tenth of a sleep and a wake-up.
//!
//! Beside one other busy process, two threads that meet at barriers soon end up on *one* core: the
//! kernel gives the other core to that process. A thread that spins there keeps the awaited thread
//! from running, and sleeping costs two switches for each barrier. So while the machine is
//! contended, [`Flag::signal`] notes the core of the signaller, and a waiter on that very core yields
//! at once: one switch a barrier, and the two run as fast as one core can. A yield that takes a time
//! slice went to the other program instead; then everybody sleeps rather than yields for a while.
//!
//! 2 and 3 open a *contended* window in which spins are short; the window doubles while
//! contention is seen again soon after it closes, so that a machine that stays loaded is probed
//! ever more rarely, and a machine that becomes quiet is back to spinning within a second.

#[cfg(loom)]
use crate::sync::Futex;
use crate::sync::{fence, pause, AtomicU32, Ordering};
#[cfg(not(loom))]
use crate::sync::{AtomicU64, AtomicUsize};
#[cfg(not(loom))]
use crate::sys;

/// Process-wide waiting policy. All numbers are turns of the spin loop or ticks of
/// [`crate::sys::ticks`].
#[cfg(not(loom))]
#[derive(Debug)]
pub struct Policy {
    /// Turns to spin when every thread has a core.
    free: AtomicU64,
    /// Turns to spin when threads outnumber cores or the machine is loaded.
    throttled: AtomicU64,
    /// CPUs that the managed threads may use: the larger of the next two.
    cpus: AtomicUsize,
    /// CPUs that this process may use; 0: nobody has said it.
    own_cpus: AtomicUsize,
    /// CPUs that the processes of its job on this machine may use, all together; 0: there is no job.
    job_cpus: AtomicUsize,
    /// Threads the runtime manages in this process, and one for each other process of its job on this machine.
    threads: AtomicUsize,
    /// Tick until which spins are throttled because contention was seen.
    contended_until: AtomicU64,
    /// Length of the last contended window in ticks.
    window: AtomicU64,
    /// Tick until which nobody yields beside other load, because a yield gave the core to another
    /// program for a time slice.
    crowded_until: AtomicU64,
}

#[cfg(not(loom))]
static POLICY: Policy = Policy {
    free: AtomicU64::new(300_000),
    throttled: AtomicU64::new(100),
    cpus: AtomicUsize::new(usize::MAX),
    own_cpus: AtomicUsize::new(0),
    job_cpus: AtomicUsize::new(0),
    threads: AtomicUsize::new(1),
    contended_until: AtomicU64::new(0),
    window: AtomicU64::new(0),
    crowded_until: AtomicU64::new(0),
};

/// Two turns this far apart (some 1.5 ms at 2.6 GHz) had a time slice of another program between them.
#[cfg(not(loom))]
const GAP: u64 = 4_000_000;
/// A wait this long (some 1 ms) may look around in the system: next to it, sleeping costs little.
#[cfg(not(loom))]
const LONG_WAIT: u64 = 2_600_000;
/// Turns to spin while the machine is loaded (some 8 us): enough that two threads which both have
/// their cores do not put each other to sleep, a fraction of what a needless sleep costs.
#[cfg(not(loom))]
const CONTENDED: u64 = 500;
/// How often a thread that shares its core with others of the runtime yields before it sleeps.
#[cfg(not(loom))]
const YIELDS: u32 = 32;
/// How long nobody yields beside other load, once a yield took a time slice: some 50 ms. That slice
/// was some milliseconds, so even if each first yield costs one, no more than a tenth is lost.
#[cfg(not(loom))]
const CROWDED: u64 = 130_000_000;
/// First contended window: some 3 ms. A window too short would cost a loaded machine one long
/// spin per window; one too long would make a quiet machine sleep for no reason.
#[cfg(not(loom))]
const FIRST_WINDOW: u64 = 8_000_000;
/// Longest contended window: some 500 ms.
#[cfg(not(loom))]
const LONGEST_WINDOW: u64 = 1_300_000_000;

#[cfg(not(loom))]
impl Policy {
    /// Sets the spin lengths (turns): for threads with a core each, and for the others.
    pub fn set_spins(free: u64, throttled: u64) {
        POLICY.free.store(free, Ordering::Relaxed);
        POLICY
            .throttled
            .store(throttled.min(free), Ordering::Relaxed);
    }

    /// Sets how many CPUs the process may use (affinity mask and cgroup quota).
    pub fn set_cpus(cpus: usize) {
        POLICY.own_cpus.store(cpus.max(1), Ordering::Relaxed);
        Self::settle_cpus();
    }

    /// Adds a job: `others`, processes besides this one on this machine, and the CPUs that all of them may use. An
    /// engine of threads and one of processes say what they know in any order.
    pub fn join_job(others: usize, cpus: usize) {
        Self::add_threads(others as isize);
        POLICY.job_cpus.store(cpus.max(1), Ordering::Relaxed);
        Self::settle_cpus();
    }

    fn settle_cpus() {
        let own = POLICY.own_cpus.load(Ordering::Relaxed);
        let job = POLICY.job_cpus.load(Ordering::Relaxed);
        POLICY.cpus.store(own.max(job), Ordering::Relaxed);
    }

    /// Adds `more` (which may be negative) to the number of managed threads.
    pub fn add_threads(more: isize) {
        POLICY.threads.fetch_add(more as usize, Ordering::Relaxed);
    }

    /// Sets the number of managed threads; after `fork`, where all but one are gone.
    pub fn set_threads(threads: usize) {
        POLICY.threads.store(threads, Ordering::Relaxed);
    }

    /// True when the runtime's threads outnumber the CPUs it may use.
    #[inline]
    pub fn oversubscribed() -> bool {
        POLICY.threads.load(Ordering::Relaxed) > POLICY.cpus.load(Ordering::Relaxed)
    }

    /// True while contention seen lately keeps spins short.
    #[inline]
    pub fn contended() -> bool {
        let until = POLICY.contended_until.load(Ordering::Relaxed);
        until != 0 && sys::ticks() < until
    }

    /// True when contention was ever seen in this process.
    #[inline(always)]
    fn was_contended() -> bool {
        POLICY.contended_until.load(Ordering::Relaxed) != 0
    }

    /// True while yielding is known to give the core to another program.
    #[inline]
    fn crowded() -> bool {
        sys::ticks() < POLICY.crowded_until.load(Ordering::Relaxed)
    }

    /// How many turns a wait that begins now may spin, and how often it may yield then.
    /// `core` is where the awaited thread was last seen, as [`core_here`] says it.
    #[inline]
    fn budget(core: u32) -> (u64, u32) {
        if Self::contended() {
            if Self::oversubscribed() {
                // Spinning or yielding would only help the other program.
                (0, 0)
            } else if core != NOWHERE && core == core_here() {
                (0, if Self::crowded() { 0 } else { YIELDS })
            } else {
                (POLICY.free.load(Ordering::Relaxed).min(CONTENDED), 0)
            }
        } else if Self::oversubscribed() {
            (POLICY.throttled.load(Ordering::Relaxed), YIELDS)
        } else {
            (POLICY.free.load(Ordering::Relaxed), 0)
        }
    }

    #[cold]
    fn saw_contention(now: u64) {
        let until = POLICY.contended_until.load(Ordering::Relaxed);
        if now < until {
            return;
        }
        let last = POLICY.window.load(Ordering::Relaxed);
        // Soon after the previous window closed: the load is still there, look again later.
        let window = if last != 0 && now < until.saturating_add(last) {
            (last * 2).min(LONGEST_WINDOW)
        } else {
            FIRST_WINDOW
        };
        POLICY.window.store(window, Ordering::Relaxed);
        POLICY
            .contended_until
            .store(now + window, Ordering::Relaxed);
    }
}

/// Counts the turns of one wait and says when to stop spinning.
///
/// For waits that are not on a [`Flag`]: `while !done() { if !spinner.turn() { sleep } }`.
#[derive(Debug)]
pub struct Spinner {
    left: u64,
    #[cfg(not(loom))]
    yields: u32,
    #[cfg(not(loom))]
    turns: u64,
    #[cfg(not(loom))]
    last: u64,
    /// Tick at which to look how busy the system is.
    #[cfg(not(loom))]
    look_at: u64,
}

#[cfg(not(loom))]
impl Spinner {
    /// Begins a wait for a thread that may be anywhere.
    #[inline]
    pub fn new() -> Spinner {
        Self::for_thread_on(NOWHERE)
    }

    /// Begins a wait for a thread that was last seen on `core`.
    #[inline]
    fn for_thread_on(core: u32) -> Spinner {
        let (left, yields) = Policy::budget(core);
        Spinner {
            left,
            yields,
            turns: 0,
            last: 0,
            look_at: 0,
        }
    }

    /// One turn. False when it is time to sleep.
    #[inline]
    pub fn turn(&mut self) -> bool {
        if self.left == 0 {
            return self.yields != 0 && self.yield_core();
        }
        self.left -= 1;
        self.turns += 1;
        pause();
        if self.turns % 16 == 0 {
            self.look_around();
        }
        true
    }

    #[cold]
    fn yield_core(&mut self) -> bool {
        self.yields -= 1;
        let before = sys::ticks();
        sys::yield_now();
        let now = sys::ticks();
        if now.wrapping_sub(before) > GAP {
            // Somebody computes on this core, for whole time slices: sleep, so that the wake-up has
            // a claim to the core.
            self.yields = 0;
            Policy::saw_contention(now);
            POLICY.crowded_until.store(now + CROWDED, Ordering::Relaxed);
            return false;
        }
        true
    }

    #[inline]
    fn look_around(&mut self) {
        let now = sys::ticks();
        if self.last == 0 {
            self.look_at = now.wrapping_add(LONG_WAIT);
        } else if now.wrapping_sub(self.last) > GAP {
            Policy::saw_contention(now);
            self.give_up();
        } else if now.wrapping_sub(self.look_at) < 1 << 63 {
            self.look_at = now.wrapping_add(LONG_WAIT);
            if system_is_busy() {
                Policy::saw_contention(sys::ticks());
                self.give_up();
            }
        }
        self.last = now;
    }

    fn give_up(&mut self) {
        self.left = 0;
        self.yields = 0;
    }
}

#[cfg(loom)]
impl Spinner {
    /// Begins a wait; the model sleeps at once, so that both ways of waiting are explored.
    pub fn new() -> Spinner {
        Spinner { left: 1 }
    }

    fn for_thread_on(_core: u32) -> Spinner {
        Self::new()
    }

    /// One turn, then sleep.
    pub fn turn(&mut self) -> bool {
        pause();
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}

impl Default for Spinner {
    fn default() -> Self {
        Self::new()
    }
}

/// No core, in a [`Flag`].
const NOWHERE: u32 = 0;

/// The core that the calling thread runs on, as a number other than [`NOWHERE`].
#[cfg(not(loom))]
#[inline]
fn core_here() -> u32 {
    // SAFETY: sched_getcpu has no preconditions.
    let core = unsafe { libc::sched_getcpu() };
    // An error is -1, which becomes `NOWHERE`.
    core.wrapping_add(1) as u32
}

/// True when more threads are runnable in the system than it has CPUs online.
#[cfg(not(loom))]
#[cold]
fn system_is_busy() -> bool {
    let mut buffer = [0u8; 64];
    // The file is opened each time: a kept descriptor could be closed or reused by the program.
    // SAFETY: the path is a C string and the buffer is live and of the length given.
    let n = unsafe {
        let saved = sys::errno();
        let fd = libc::open(c"/proc/loadavg".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let n = if fd < 0 {
            -1
        } else {
            let n = libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len());
            libc::close(fd);
            n
        };
        *libc::__errno_location() = saved;
        n
    };
    if n <= 0 {
        return false;
    }
    // "0.00 0.01 0.05 3/123 4567": the fourth field is runnable/total.
    let text = &buffer[..n as usize];
    let mut running: usize = 0;
    if let Some(field) = text.split(|&b| b == b' ').nth(3) {
        for &b in field.iter().take_while(|b| b.is_ascii_digit()) {
            running = running
                .saturating_mul(10)
                .saturating_add((b - b'0') as usize);
        }
    }
    // SAFETY: sysconf has no preconditions.
    let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    online > 0 && running > online as usize
}

const AWAKE: u32 = 0;
const SLEEPING: u32 = 1;
const NUDGED: u32 = 2;
const STATE: u32 = 3;

/// A 30-bit epoch that threads wait for, with their sleep recorded in the same word.
///
/// The low two bits say whether somebody sleeps on the word; the rest is the epoch, compared
/// cyclically ("reached" means equal or up to 2^29 - 1 later).
///
/// # Memory ordering
/// [`signal`](Flag::signal) releases and a wait that sees the epoch acquires: what the signaller
/// wrote before is visible after. `signal` is a swap rather than a store because it must also learn
/// whether anybody sleeps: with a plain store followed by a load of a separate "sleeping" word the
/// two could be reordered, the waiter could announce its sleep in between, and nobody would wake
/// it. For the same reason a waiter announces its sleep by compare-exchange on the same word.
///
/// **`SHARED`.** A flag of one process by default. A [`SharedFlag`] may lie in memory that several processes map:
/// the kernel then finds its sleepers by the page, which makes a sleep and a wake-up a little dearer. A word of
/// zeros is a flag at epoch 0.
#[derive(Debug)]
#[repr(C)]
pub struct Flag<const SHARED: bool = false> {
    word: AtomicU32,
    /// The core from which the flag was last signalled while the machine was contended, or
    /// [`NOWHERE`]. A hint: it may be old, and orders nothing.
    core: core::sync::atomic::AtomicU32,
    #[cfg(loom)]
    kernel: Futex,
}

/// A [`Flag`] for memory that several processes map.
pub type SharedFlag = Flag<true>;

impl Default for Flag {
    fn default() -> Self {
        Self::new()
    }
}

impl Flag {
    /// A flag at epoch 0.
    #[cfg(not(loom))]
    pub const fn new() -> Flag {
        Flag {
            word: AtomicU32::new(0),
            core: core::sync::atomic::AtomicU32::new(NOWHERE),
        }
    }

    /// A flag at epoch 0.
    #[cfg(loom)]
    pub fn new() -> Flag {
        Flag {
            word: AtomicU32::new(0),
            core: core::sync::atomic::AtomicU32::new(NOWHERE),
            kernel: Futex::new(),
        }
    }
}

impl Default for SharedFlag {
    fn default() -> Self {
        Self::shared()
    }
}

impl SharedFlag {
    /// A flag at epoch 0.
    #[cfg(not(loom))]
    pub const fn shared() -> SharedFlag {
        Flag {
            word: AtomicU32::new(0),
            core: core::sync::atomic::AtomicU32::new(NOWHERE),
        }
    }

    /// A flag at epoch 0.
    #[cfg(loom)]
    pub fn shared() -> SharedFlag {
        Flag {
            word: AtomicU32::new(0),
            core: core::sync::atomic::AtomicU32::new(NOWHERE),
            kernel: Futex::new(),
        }
    }
}

impl<const SHARED: bool> Flag<SHARED> {
    #[cfg(not(loom))]
    const SCOPE: sys::Scope = if SHARED {
        sys::Scope::Machine
    } else {
        sys::Scope::Process
    };

    /// Sets the epoch without waking anybody. Only for a flag that nobody waits on.
    pub fn reset(&self, epoch: u32) {
        self.word.store(epoch << 2, Ordering::Relaxed);
    }

    /// The current epoch (acquire).
    #[inline(always)]
    pub fn epoch(&self) -> u32 {
        self.word.load(Ordering::Acquire) >> 2
    }

    /// True when `epoch` has been signalled (acquire).
    #[inline(always)]
    pub fn reached(&self, epoch: u32) -> bool {
        reached(self.word.load(Ordering::Acquire), epoch)
    }

    /// Sets the epoch and wakes every sleeper.
    ///
    /// Takes a pointer because the memory may be reused by a released waiter before this returns.
    ///
    /// # Safety
    /// `this` is a live flag when the call begins.
    #[inline]
    pub unsafe fn signal_ptr(this: *const Self, epoch: u32) {
        // SAFETY: this function's contract: the flag lives until the swap below has released the waiters.
        let flag = unsafe { &*this };
        #[cfg(not(loom))]
        let word = flag.word.as_ptr();
        // Before the swap: after it the memory may be somebody else's.
        #[cfg(not(loom))]
        if Policy::was_contended() {
            flag.core.store(core_here(), Ordering::Relaxed);
        }
        let before = flag.word.swap(epoch << 2, Ordering::AcqRel);
        if before & STATE == SLEEPING {
            #[cfg(not(loom))]
            sys::futex_wake_in(Self::SCOPE, word, i32::MAX);
            #[cfg(loom)]
            flag.kernel.wake_all();
        }
    }

    /// Sets the epoch and wakes every sleeper. The flag must outlive its waiters' use of it
    /// (otherwise see [`Flag::signal_ptr`]).
    #[inline(always)]
    pub fn signal(&self, epoch: u32) {
        // SAFETY: a reference is live.
        unsafe { Self::signal_ptr(self, epoch) }
    }

    /// Wakes the sleepers without changing the epoch, so that they poll again. True if somebody
    /// slept.
    pub fn nudge(&self) -> bool {
        // Either the sleeper's last poll sees what the caller wrote, or this load sees its mark.
        fence(Ordering::SeqCst);
        let mut cur = self.word.load(Ordering::Relaxed);
        while cur & STATE == SLEEPING {
            match self.word.compare_exchange_weak(
                cur,
                (cur & !STATE) | NUDGED,
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    #[cfg(not(loom))]
                    sys::futex_wake_in(Self::SCOPE, self.word.as_ptr(), i32::MAX);
                    #[cfg(loom)]
                    self.kernel.wake_all();
                    return true;
                }
                Err(now) => cur = now,
            }
        }
        false
    }

    /// Waits until `epoch` is reached.
    #[inline]
    pub fn wait(&self, epoch: u32) {
        if !self.reached(epoch) {
            self.wait_polling(epoch, &mut || Poll::Idle, &mut |_| {});
        }
    }

    /// Waits until `epoch` is reached; meanwhile calls `poll` at every turn, and around the
    /// sleep `asleep(true)` before the last poll and `asleep(false)` after.
    ///
    /// `asleep(true)` lets the caller announce that it will need a [`nudge`](Flag::nudge): from the
    /// announcement on, a nudge keeps this thread from sleeping. The poll that follows catches
    /// work that came before the announcement.
    #[cold]
    pub fn wait_polling(
        &self,
        epoch: u32,
        poll: &mut dyn FnMut() -> Poll,
        asleep: &mut dyn FnMut(bool),
    ) {
        'again: loop {
            let mut spinner = Spinner::for_thread_on(self.core.load(Ordering::Relaxed));
            loop {
                if self.reached(epoch) {
                    return;
                }
                match poll() {
                    Poll::Idle => {}
                    Poll::Worked => continue 'again,
                    Poll::Leave => return,
                }
                if !spinner.turn() {
                    break;
                }
            }
            loop {
                let cur = self.word.load(Ordering::Acquire);
                if reached(cur, epoch) {
                    asleep(false);
                    return;
                }
                let sleeping = (cur & !STATE) | SLEEPING;
                if cur != sleeping
                    && self
                        .word
                        .compare_exchange(cur, sleeping, Ordering::AcqRel, Ordering::Relaxed)
                        .is_err()
                {
                    continue;
                }
                // After the mark: whoever takes the announcement down then finds the mark too, and
                // this thread does not fall asleep unannounced. Anew at every turn, since a nudge
                // takes the announcement down.
                asleep(true);
                // The mark before the last poll, as in `nudge` the reason for it before the look
                // at the mark.
                fence(Ordering::SeqCst);
                match poll() {
                    Poll::Idle => {}
                    // The word stays marked SLEEPING: other sleepers may rely on the mark, and at
                    // worst the signaller makes one needless system call.
                    Poll::Worked => {
                        asleep(false);
                        continue 'again;
                    }
                    Poll::Leave => {
                        asleep(false);
                        // This thread's mark may have covered a nudge that another one, about to
                        // fall asleep, was to find.
                        self.nudge();
                        return;
                    }
                }
                #[cfg(not(loom))]
                sys::futex_wait_in(Self::SCOPE, &self.word, sleeping);
                #[cfg(loom)]
                self.kernel.wait(&self.word, sleeping);
            }
        }
    }

    /// Waits until `done` says so, on a flag that is only ever [nudged](Flag::nudge), for some `ns`
    /// nanoseconds at most. False: the time is over.
    #[cfg(not(loom))]
    #[cold]
    pub fn wait_nudged(&self, ns: u64, done: &mut dyn FnMut() -> bool) -> bool {
        let mut spinner = Spinner::new();
        loop {
            if done() {
                return true;
            }
            if !spinner.turn() {
                return self.sleep_nudged(ns, done);
            }
        }
    }

    /// The same without spinning: for who shares its core with the one that it waits for.
    #[cfg(not(loom))]
    #[cold]
    pub fn sleep_nudged(&self, ns: u64, done: &mut dyn FnMut() -> bool) -> bool {
        let deadline = sys::monotonic_ns().saturating_add(ns);
        loop {
            let cur = self.word.load(Ordering::Acquire);
            let sleeping = (cur & !STATE) | SLEEPING;
            if cur != sleeping
                && self
                    .word
                    .compare_exchange(cur, sleeping, Ordering::AcqRel, Ordering::Relaxed)
                    .is_err()
            {
                continue;
            }
            // The mark before the last look, as in `wait_polling`.
            fence(Ordering::SeqCst);
            if done() {
                return true;
            }
            let now = sys::monotonic_ns();
            if now >= deadline {
                return false;
            }
            sys::futex_wait_for_in(Self::SCOPE, &self.word, sleeping, deadline - now);
        }
    }
}

/// What a poll during a wait found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Nothing to do: keep waiting.
    Idle,
    /// Something was done: look at the flag again, and spin afresh.
    Worked,
    /// Stop waiting although the epoch was not reached.
    Leave,
}

#[inline(always)]
fn reached(word: u32, epoch: u32) -> bool {
    // Cyclic comparison of 30-bit epochs in the top bits of a word.
    (word & !STATE).wrapping_sub(epoch << 2) as i32 >= 0
}

const _: () = assert!(AWAKE == 0);

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicBool;
    use std::sync::Arc;

    #[test]
    fn epochs_compare_cyclically() {
        let f = Flag::new();
        assert!(f.reached(0));
        assert!(!f.reached(1));
        f.signal(1);
        assert!(f.reached(1) && f.reached(0) && !f.reached(2));
        f.reset((1 << 30) - 1);
        assert!(f.reached((1 << 30) - 1) && !f.reached(0));
        f.signal(0);
        assert!(f.reached(0));
    }

    #[test]
    fn a_wait_for_a_nudge_ends_by_itself() {
        let f = Flag::new();
        assert!(f.wait_nudged(u64::MAX, &mut || true));
        let start = sys::monotonic_ns();
        assert!(!f.wait_nudged(3_000_000, &mut || false));
        assert!(sys::monotonic_ns() - start >= 3_000_000);
        let done = AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                // The sleeper has marked the flag before a nudge says true.
                while !f.nudge() {
                    std::thread::yield_now();
                }
                done.store(true, Ordering::Release);
                f.nudge();
            });
            assert!(f.wait_nudged(u64::MAX, &mut || done.load(Ordering::Acquire)));
        });
    }

    #[test]
    fn a_sleeper_is_woken_and_a_nudge_makes_it_poll() {
        let f = Arc::new(Flag::new());
        let polls = Arc::new(AtomicUsize::new(0));
        let (f2, p2) = (f.clone(), polls.clone());
        let t = std::thread::spawn(move || {
            f2.wait_polling(
                1,
                &mut || {
                    p2.fetch_add(1, Ordering::Relaxed);
                    Poll::Idle
                },
                &mut |_| {},
            );
        });
        while !f.nudge() {
            std::thread::yield_now();
        }
        f.signal(1);
        t.join().expect("waiter");
        assert!(polls.load(Ordering::Relaxed) > 0);
    }

    /// The policy is the process's: tests that change it take turns.
    static POLICY_TESTS: std::sync::Mutex<()> = std::sync::Mutex::new(());

    #[test]
    fn beside_other_load_a_waiter_yields_to_the_signaller_on_its_own_core() {
        let _turn = POLICY_TESTS.lock();
        let f = Flag::new();
        POLICY.contended_until.store(0, Ordering::Relaxed);
        f.signal(1);
        assert_eq!(f.core.load(Ordering::Relaxed), NOWHERE);

        let free = POLICY.free.load(Ordering::Relaxed);
        assert_eq!(Policy::budget(core_here()), (free, 0));
        POLICY.contended_until.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(Policy::budget(NOWHERE), (CONTENDED, 0));
        // The test may be moved to another core at any moment, but not each time.
        let on_core = || {
            f.signal(2);
            Policy::budget(f.core.load(Ordering::Relaxed))
        };
        assert!((0..1000).any(|_| on_core() == (0, YIELDS)));
        // A yield went to another program: sleep.
        POLICY.crowded_until.store(u64::MAX, Ordering::Relaxed);
        assert!((0..1000).any(|_| on_core() == (0, 0)));
        POLICY.crowded_until.store(0, Ordering::Relaxed);
        // More threads than cores, and another program.
        let (cpus, threads) = (&POLICY.cpus, &POLICY.threads);
        let before = (
            cpus.swap(2, Ordering::Relaxed),
            threads.swap(3, Ordering::Relaxed),
        );
        assert_eq!(Policy::budget(NOWHERE), (0, 0));
        assert!((0..1000).all(|_| on_core() == (0, 0)));
        cpus.store(before.0, Ordering::Relaxed);
        threads.store(before.1, Ordering::Relaxed);
        assert!((0..1000).any(|_| Policy::budget(core_here() + 1) == (CONTENDED, 0)));
        POLICY.contended_until.store(0, Ordering::Relaxed);
    }

    #[test]
    fn contention_windows_grow_and_close() {
        let _turn = POLICY_TESTS.lock();
        let now = sys::ticks();
        Policy::saw_contention(now);
        assert!(Policy::contended());
        let first = POLICY.contended_until.load(Ordering::Relaxed);
        Policy::saw_contention(first + 1);
        let second = POLICY.contended_until.load(Ordering::Relaxed);
        assert!(second - first > first - now);
        POLICY.contended_until.store(0, Ordering::Relaxed);
        assert!(!Policy::contended());
    }
}
