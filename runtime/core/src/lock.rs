//! Mutual exclusion for the runtime itself and for the locks programs use.

use crate::park::Spinner;
#[cfg(loom)]
use crate::sync::Futex;
use crate::sync::{AtomicU32, Ordering};
#[cfg(not(loom))]
use crate::sys;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and somebody may sleep on the word.
const WANTED: u32 = 2;

/// Turns between two looks at a lock that is held, at most; some 100 ns.
const MOST_PAUSES: u32 = 8;

/// A lock of one word that spins and then sleeps, under the waiting policy.
///
/// Zero-initialised memory is a free lock; C programs rely on that for `omp_lock_t` and for the
/// pointer of a named critical section. It may be released by another thread than the one
/// that took it.
///
/// # Memory ordering
/// Taking acquires, releasing releases. A sleeper first swaps `WANTED` into the word, so the
/// holder that swaps `FREE` in afterwards sees it and wakes; a sleeper that gets the lock keeps
/// `WANTED`, because there may be others it does not know of.
#[derive(Debug, Default)]
#[cfg_attr(not(loom), repr(transparent))]
pub struct Lock {
    word: AtomicU32,
    #[cfg(loom)]
    kernel: Futex,
}

impl Lock {
    /// A free lock.
    #[cfg(not(loom))]
    pub const fn new() -> Lock {
        Lock {
            word: AtomicU32::new(FREE),
        }
    }

    /// A free lock.
    #[cfg(loom)]
    pub fn new() -> Lock {
        Lock {
            word: AtomicU32::new(FREE),
            kernel: Futex::new(),
        }
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub fn try_lock(&self) -> bool {
        self.word
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes the lock.
    #[inline(always)]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    #[cold]
    fn lock_slow(&self) {
        let mut spinner = Spinner::new();
        // Look rarely: every look takes the line from the holder, who needs it to release, and whoever
        // just released often wants the lock again.
        let mut pauses = 1;
        'spin: loop {
            if self.word.load(Ordering::Relaxed) == FREE && self.try_lock() {
                return;
            }
            for _ in 0..pauses {
                if !spinner.turn() {
                    break 'spin;
                }
            }
            pauses = (pauses * 2).min(MOST_PAUSES);
        }
        while self.word.swap(WANTED, Ordering::Acquire) != FREE {
            #[cfg(not(loom))]
            sys::futex_wait(&self.word, WANTED);
            #[cfg(loom)]
            self.kernel.wait(&self.word, WANTED);
        }
    }

    /// Releases the lock.
    #[inline(always)]
    pub fn unlock(&self) {
        #[cfg(not(loom))]
        let word = self.word.as_ptr();
        if self.word.swap(FREE, Ordering::Release) == WANTED {
            // The next holder may already have destroyed the lock: only its address is used.
            #[cfg(not(loom))]
            sys::futex_wake(word, 1);
            #[cfg(loom)]
            self.kernel.wake_one();
        }
    }

    /// Is it held by anybody?
    pub fn is_held(&self) -> bool {
        self.word.load(Ordering::Relaxed) != FREE
    }
}

/// A spin lock for critical sections of a few instructions, released by a plain store.
///
/// For data that is nearly always taken by the same thread: half the cost of a [`Lock`]. A waiter
/// whose spin runs out yields its core, in case the holder was descheduled.
#[derive(Debug, Default)]
pub struct Brief {
    word: AtomicU32,
}

impl Brief {
    /// A free lock.
    #[cfg(not(loom))]
    pub const fn new() -> Brief {
        Brief {
            word: AtomicU32::new(FREE),
        }
    }

    /// A free lock.
    #[cfg(loom)]
    pub fn new() -> Brief {
        Brief {
            word: AtomicU32::new(FREE),
        }
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub fn try_lock(&self) -> bool {
        self.word
            .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes the lock.
    #[inline(always)]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_slow();
        }
    }

    #[cold]
    fn lock_slow(&self) {
        let mut spinner = Spinner::new();
        while self.word.load(Ordering::Relaxed) != FREE || !self.try_lock() {
            if !spinner.turn() {
                #[cfg(not(loom))]
                sys::yield_now();
                #[cfg(loom)]
                loom::thread::yield_now();
            }
        }
    }

    /// Releases the lock.
    #[inline(always)]
    pub fn unlock(&self) {
        self.word.store(FREE, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Counter(Lock, Brief, Cell<u64>);
    // SAFETY: the cell is only touched with both locks held.
    unsafe impl Sync for Counter {}

    impl Counter {
        fn increment(&self) {
            self.0.lock();
            self.1.lock();
            self.2.set(self.2.get() + 1);
            self.1.unlock();
            self.0.unlock();
        }
    }

    #[test]
    fn locks_exclude() {
        let c = Counter(Lock::new(), Brief::new(), Cell::new(0));
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..20_000 {
                        c.increment();
                    }
                });
            }
        });
        assert_eq!(c.2.get(), 80_000);
        assert!(!c.0.is_held() && c.0.try_lock() && !c.0.try_lock());
    }
}
