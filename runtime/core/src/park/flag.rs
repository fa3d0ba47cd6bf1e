//! The word that threads wait on, and how none of them misses its wake-up.

#[cfg(not(loom))]
use super::spin::{core_here, Policy};
use super::spin::{Spinner, NOWHERE};
#[cfg(loom)]
use crate::sync::Futex;
use crate::sync::{fence, AtomicU32, Ordering};
#[cfg(not(loom))]
use crate::sys;

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
    pub(super) core: core::sync::atomic::AtomicU32,
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
    pub(crate) unsafe fn signal_ptr(this: *const Self, epoch: u32) {
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
    /// (otherwise see `Flag::signal_ptr`).
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

    /// As [`Flag::wait_nudged`], but sleeps at once. For a thread that may share its core with the awaited one: spinning
    /// would only delay that one.
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
