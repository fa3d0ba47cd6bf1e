//! The word that threads wait on, and how none of them misses its wake-up.
//!
//! The waiter owns the flag, and may free it as soon as it is released: so a signal takes what it needs (the address of
//! the word) before the swap that releases, and touches nothing afterwards.

#[cfg(not(loom))]
use super::spin::{note_here, Policy};
use super::spin::{Spinner, NOWHERE};
#[cfg(loom)]
use crate::sync::Futex;
use crate::sync::{fence, AtomicU32, Ordering};
#[cfg(not(loom))]
use crate::sys;

// Values of the low two bits; 0 means that nobody sleeps.
const SLEEPING: u32 = 1;
const NUDGED: u32 = 2;
const STATE: u32 = 3;

/// A 30-bit epoch that threads wait for, with their sleep recorded in the same word.
///
/// The low two bits say whether somebody sleeps on the word; the rest is the epoch, compared
/// cyclically ("reached" means equal or up to 2^29 - 1 later).
///
/// # Memory ordering
/// [`signal`](Flag::signal) releases, and a wait that sees the epoch acquires: what the signaller wrote before is
/// visible to the waiter. `signal` must also learn whether anybody sleeps. With a plain store, followed by a load of
/// a separate "sleeping" word, the processor could reorder the two: a waiter could announce its sleep in between, and
/// nobody would wake it. So `signal` is one swap of a word that holds both, and a waiter announces its sleep by
/// compare-exchange on the same word.
///
/// **`SHARED`.** A [`Flag`] belongs to one process. A [`SharedFlag`] may lie in memory that several processes map:
/// the kernel then finds the sleepers by the page, so that sleeping and waking cost a little more. A word of zeros is
/// a flag at epoch 0.
#[derive(Debug)]
#[repr(C)]
pub struct Flag<const SHARED: bool = false> {
    word: AtomicU32,
    /// Who last signalled the flag while the machine was contended or threads were young, and on which core
    /// ([`note_here`]), or [`NOWHERE`]. A hint that may be out of date; nothing is ordered by it.
    pub(super) note: core::sync::atomic::AtomicU32,
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
            note: core::sync::atomic::AtomicU32::new(NOWHERE),
        }
    }

    /// A flag at epoch 0.
    #[cfg(loom)]
    pub fn new() -> Flag {
        Flag {
            word: AtomicU32::new(0),
            note: core::sync::atomic::AtomicU32::new(NOWHERE),
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
            note: core::sync::atomic::AtomicU32::new(NOWHERE),
        }
    }

    /// A flag at epoch 0.
    #[cfg(loom)]
    pub fn shared() -> SharedFlag {
        Flag {
            word: AtomicU32::new(0),
            note: core::sync::atomic::AtomicU32::new(NOWHERE),
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
    /// Takes a pointer, because a released waiter may reuse the memory before this call returns.
    ///
    /// # Safety
    /// `this` is a live flag when the call begins.
    #[inline]
    pub unsafe fn signal_ptr(this: *const Self, epoch: u32) {
        // SAFETY: who calls has a flag that lives when the call begins, and it lives until the swap below releases
        // its waiters.
        let flag = unsafe { &*this };
        #[cfg(not(loom))]
        let word = flag.word.as_ptr();
        // Stored before the swap, after which the memory may belong to somebody else.
        #[cfg(not(loom))]
        if Policy::notes_cores() {
            flag.note.store(note_here(), Ordering::Relaxed);
        }
        let before = flag.word.swap(epoch << 2, Ordering::AcqRel);
        if before & STATE == SLEEPING {
            #[cfg(not(loom))]
            sys::futex_wake_in(Self::SCOPE, word, i32::MAX);
            #[cfg(loom)]
            flag.kernel.wake_all();
        }
    }

    /// Sets the epoch and wakes every sleeper. The flag must outlive this call; where a waiter may free it at once,
    /// use [`Flag::signal_ptr`].
    #[inline(always)]
    pub fn signal(&self, epoch: u32) {
        // SAFETY: a reference is live.
        unsafe { Self::signal_ptr(self, epoch) }
    }

    /// Wakes the sleepers without changing the epoch, so that they poll again. True if a thread slept.
    pub fn nudge(&self) -> bool {
        // The caller has written something, and a sleeper polls after it has marked the word. With this fence, either
        // that poll sees what the caller wrote, or the load below sees the mark.
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

    /// Waits until `epoch` is reached, and calls `poll` at every turn. Before the last poll ahead of a sleep it calls
    /// `asleep(true)`, and after the sleep `asleep(false)`.
    ///
    /// `asleep(true)` lets the caller announce that this thread will need a [`nudge`](Flag::nudge). A nudge after the
    /// announcement keeps the thread from sleeping. Work that came before the announcement is found by the poll that
    /// follows.
    #[cold]
    pub fn wait_polling(
        &self,
        epoch: u32,
        poll: &mut dyn FnMut() -> Poll,
        asleep: &mut dyn FnMut(bool),
    ) {
        'again: loop {
            let mut spinner = Spinner::for_signaller(self.note.load(Ordering::Relaxed));
            loop {
                if self.reached(epoch) {
                    return;
                }
                match poll() {
                    Poll::Idle => {}
                    Poll::Needless => spinner.hurry(),
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
                // Announced after the mark, so that a thread which withdraws the announcement and nudges finds the
                // mark: otherwise this thread could fall asleep unannounced. Announced anew at every turn, since each
                // nudge withdraws the announcement.
                asleep(true);
                // Pairs with the fence in `nudge`: here the mark comes before the last poll, there the reason for the
                // nudge comes before the look at the mark.
                fence(Ordering::SeqCst);
                match self.poll_announced(poll, asleep) {
                    Poll::Idle | Poll::Needless => {}
                    Poll::Worked => continue 'again,
                    Poll::Leave => return,
                }
                #[cfg(not(loom))]
                sys::futex_wait_in(Self::SCOPE, &self.word, sleeping);
                #[cfg(loom)]
                self.kernel.wait(&self.word, sleeping);
                // Whoever nudged this thread has likely left it some work. It takes that before it marks the word anew:
                // others would else nudge a thread that is awake, each by a system call.
                if !self.reached(epoch) {
                    match self.poll_announced(poll, asleep) {
                        Poll::Idle | Poll::Needless => {}
                        Poll::Worked => continue 'again,
                        Poll::Leave => return,
                    }
                }
            }
        }
    }

    /// A look for work by a thread that has marked the word and announced its sleep. If there is something to do, the
    /// thread is awake again.
    fn poll_announced(&self, poll: &mut dyn FnMut() -> Poll, asleep: &mut dyn FnMut(bool)) -> Poll {
        let found = poll();
        match found {
            Poll::Idle | Poll::Needless => {}
            // The word stays marked SLEEPING, because other sleepers may rely on the mark. At worst a signaller makes
            // one needless system call.
            Poll::Worked => asleep(false),
            Poll::Leave => {
                asleep(false);
                // A nudge that was meant for another thread, which is about to sleep, may have found this thread's mark
                // instead. Pass it on.
                self.nudge();
            }
        }
        found
    }

    /// Waits until `done` says true, on a flag that only [`nudge`](Flag::nudge) is used on. Gives up after about `ns`
    /// nanoseconds and returns false.
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

    /// Like [`Flag::wait_nudged`], but sleeps at once. Use this when the awaited thread may be queued on this
    /// thread's own core: spinning would only delay it.
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
            // Pairs with the fence in `nudge`: the mark comes before the last look.
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
    /// Nothing to do, and another thread looks for work while threads outnumber cores: sleep soon.
    Needless,
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
