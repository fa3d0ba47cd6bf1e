//! Waking a thread of another process.
//!
//! A [`Bell`] lies in memory that several processes map. A thread that waits for a change in that memory spins first
//! ([`crate::park`]) and then sleeps on the bell. A process that makes the change rings the bell afterwards.

#[cfg(loom)]
use crate::sync::Futex;
use crate::sync::{fence, AtomicU32, Ordering};
#[cfg(not(loom))]
use crate::sys::{self, Scope};

/// Sleeping and waking between processes. Eight zero bytes are a bell that nobody sleeps on.
///
/// # Memory ordering
/// A waiter counts itself in `sleepers`, then looks whether its wait is over, then sleeps on `rings`. A peer makes
/// the change that ends the wait, then looks at `sleepers`. Both have a sequentially consistent fence between their
/// two steps, so that at least one of them sees what the other did. Without the fences a peer could miss a waiter
/// that has just looked, and the waiter would sleep on.
///
/// [`Bell::ring_unfenced`] leaves out the peer's fence, for paths on which that fence would be the largest cost. It
/// can miss a waiter that goes to sleep within the time that a store needs to become visible (some 0.1 us). For that
/// reason every sleep ends by itself after a nap. A waiter stays counted until its whole wait ends, so a missed ring
/// delays it by its first nap at most.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Bell {
    rings: AtomicU32,
    sleepers: AtomicU32,
    #[cfg(loom)]
    kernel: Futex,
}

/// How long a sleep lasts while nobody rings. Each nap is twice as long as the one before it.
#[derive(Clone, Copy, Debug)]
pub struct Naps {
    /// The first nap, nanoseconds.
    pub shortest: u64,
    /// The longest nap, nanoseconds.
    pub longest: u64,
}

impl Bell {
    /// A bell that nobody sleeps on.
    pub fn new() -> Bell {
        Bell::default()
    }

    /// Wakes all sleepers. The caller has made the change that they wait for before.
    #[inline]
    pub fn ring(&self) {
        fence(Ordering::SeqCst);
        self.ring_unfenced();
    }

    /// Like [`Bell::ring`], but without a fence: it may miss a waiter that is just falling asleep (see "Memory
    /// ordering").
    #[inline(always)]
    pub fn ring_unfenced(&self) {
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            self.awaken();
        }
    }

    #[cold]
    fn awaken(&self) {
        self.rings.fetch_add(1, Ordering::Release);
        #[cfg(not(loom))]
        sys::futex_wake_in(Scope::Machine, self.rings.as_ptr(), i32::MAX);
        #[cfg(loom)]
        self.kernel.wake_all();
    }

    /// Sleeps until `done` says true, and then returns true. After each nap at whose end `done` still says false,
    /// `napped` is called; if it says false, the wait ends and false is returned.
    pub fn sleep(
        &self,
        naps: Naps,
        done: &mut dyn FnMut() -> bool,
        napped: &mut dyn FnMut() -> bool,
    ) -> bool {
        let mut nap = naps.shortest;
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let held = loop {
            let seen = self.rings.load(Ordering::Acquire);
            // Between counting this sleeper and the look at what it waits for: see "Memory ordering".
            fence(Ordering::SeqCst);
            if done() {
                break true;
            }
            #[cfg(not(loom))]
            sys::futex_wait_for_in(Scope::Machine, &self.rings, seen, nap);
            #[cfg(loom)]
            self.kernel.wait(&self.rings, seen);
            nap = nap.saturating_mul(2).min(naps.longest);
            if done() {
                break true;
            }
            if !napped() {
                break false;
            }
        };
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        held
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use core::sync::atomic::AtomicBool;

    const NAPS: Naps = Naps {
        shortest: 1_000_000_000,
        longest: 1_000_000_000,
    };

    #[test]
    fn a_sleeper_is_woken_and_may_give_up() {
        let bell = Bell::new();
        let done = AtomicBool::new(false);
        std::thread::scope(|s| {
            s.spawn(|| {
                while bell.sleepers.load(Ordering::SeqCst) == 0 {
                    std::thread::yield_now();
                }
                done.store(true, Ordering::Release);
                bell.ring();
            });
            let held = bell.sleep(NAPS, &mut || done.load(Ordering::Acquire), &mut || true);
            assert!(held);
        });
        let short = Naps {
            shortest: 1000,
            longest: 1000,
        };
        let mut left = 3;
        let held = bell.sleep(short, &mut || false, &mut || {
            left -= 1;
            left > 0
        });
        assert!(!held && left == 0);
        assert_eq!(bell.sleepers.load(Ordering::Relaxed), 0);
    }
}
