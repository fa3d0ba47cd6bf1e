//! Mutual exclusion for the runtime itself and for the locks programs use.
//!
//! A lock does not own what it guards: it is a word and its sleepers, so all here is safe but the tests' own cells.

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

/// The most pauses between two looks at a held lock; together some 100 ns.
const MOST_PAUSES: u32 = 8;

/// A lock of one word that spins and then sleeps, under the waiting policy.
///
/// Zero-initialised memory is a free lock; C programs rely on that for `omp_lock_t` and for the pointer of a named
/// critical section. A thread may release a lock that another thread took.
///
/// # Memory ordering
/// Taking acquires, releasing releases. A thread swaps `WANTED` into the word before it sleeps. The holder later
/// swaps `FREE` in, sees `WANTED`, and wakes a sleeper. A sleeper that gets the lock leaves `WANTED` in the word,
/// because other threads may sleep too.
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
        // Looks at a held lock are rare: each takes the cache line from the holder, who needs the line for the
        // release, and whoever has just released often takes the lock again.
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
            // The next holder may already have destroyed the lock. The kernel gets the address only, and reads
            // nothing there.
            #[cfg(not(loom))]
            sys::futex_wake(word, 1);
            #[cfg(loom)]
            self.kernel.wake_one();
        }
    }

    /// True if any thread holds the lock.
    pub fn is_held(&self) -> bool {
        self.word.load(Ordering::Relaxed) != FREE
    }
}

/// A lock whose word names its holder: a number of the caller's choice, not 0 and below 2^31.
///
/// Zero-initialised memory is a free lock. Its holder releases it, or another thread on the holder's behalf.
///
/// # Memory ordering
/// Taking acquires, releasing releases. A thread puts `ASLEEP` into the word before it sleeps. The holder later swaps
/// 0 in, sees the mark, and wakes one thread. That thread leaves the mark in the word, because other threads may
/// sleep too.
#[derive(Debug, Default)]
#[cfg_attr(not(loom), repr(transparent))]
pub struct OwnedLock {
    word: AtomicU32,
    #[cfg(loom)]
    kernel: Futex,
}

/// In the word of an [`OwnedLock`]: some thread may sleep on it.
const ASLEEP: u32 = 1 << 31;

impl OwnedLock {
    /// A free lock.
    #[cfg(not(loom))]
    pub const fn new() -> OwnedLock {
        OwnedLock {
            word: AtomicU32::new(0),
        }
    }

    /// A free lock.
    #[cfg(loom)]
    pub fn new() -> OwnedLock {
        OwnedLock::default()
    }

    /// Takes the lock for `me` if it is free.
    ///
    /// # Errors
    /// The number of the holder, if the lock is held.
    #[inline]
    pub fn try_take(&self, me: u32) -> Result<(), u32> {
        debug_assert!(me != 0 && me < ASLEEP);
        self.replace(me).map_err(|held| held & !ASLEEP)
    }

    /// Stores `word` if the lock is free; else returns the word that is there.
    #[inline]
    fn replace(&self, word: u32) -> Result<(), u32> {
        self.word
            .compare_exchange(0, word, Ordering::Acquire, Ordering::Relaxed)
            .map(|_| ())
    }

    /// Takes the lock for `me`, which does not hold it.
    #[cold]
    pub fn take(&self, me: u32) {
        let mut spinner = Spinner::new();
        while spinner.turn() {
            if self.word.load(Ordering::Relaxed) == 0 && self.try_take(me).is_ok() {
                return;
            }
        }
        loop {
            let Err(held) = self.replace(me | ASLEEP) else {
                return;
            };
            let marked = held | ASLEEP;
            // A thread sleeps only on a word that carries the mark; if the word changed, it looks again.
            if held == marked
                || self
                    .word
                    .compare_exchange(held, marked, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
            {
                #[cfg(not(loom))]
                sys::futex_wait(&self.word, marked);
                #[cfg(loom)]
                self.kernel.wait(&self.word, marked);
            }
        }
    }

    /// Releases the lock.
    #[inline]
    pub fn release(&self) {
        #[cfg(not(loom))]
        let word = self.word.as_ptr();
        if self.word.swap(0, Ordering::Release) & ASLEEP != 0 {
            // The next holder may already have destroyed the lock. The kernel gets the address only, and reads
            // nothing there.
            #[cfg(not(loom))]
            sys::futex_wake(word, 1);
            #[cfg(loom)]
            self.kernel.wake_one();
        }
    }

    /// True if any thread holds the lock.
    pub fn is_held(&self) -> bool {
        self.word.load(Ordering::Relaxed) != 0
    }
}

/// A spin lock for critical sections of a few instructions, released by a plain store.
///
/// For data that one thread takes nearly always: half the cost of a [`Lock`]. A waiter whose spin runs out yields its
/// core, in case the holder was descheduled.
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
            spinner.turn_or_rest();
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

    #[test]
    fn an_owned_lock_excludes_and_names_its_holder() {
        struct Owned(OwnedLock, Cell<u64>);
        // SAFETY: the cell is only touched with the lock held.
        unsafe impl Sync for Owned {}
        impl Owned {
            fn increment(&self, me: u32) {
                if self.0.try_take(me).is_err() {
                    self.0.take(me);
                }
                assert_eq!(self.0.try_take(me), Err(me));
                self.1.set(self.1.get() + 1);
                self.0.release();
            }
        }
        let owned = Owned(OwnedLock::new(), Cell::new(0));
        std::thread::scope(|s| {
            for me in 1..=4 {
                let owned = &owned;
                s.spawn(move || (0..20_000).for_each(|_| owned.increment(me)));
            }
        });
        assert_eq!(owned.1.get(), 80_000);
        assert!(!owned.0.is_held());
        assert_eq!((owned.0.try_take(7), owned.0.try_take(8)), (Ok(()), Err(7)));
    }
}
