//! Waking threads that wait for a change of some memory.
//!
//! A thread that waits spins first ([`crate::park`]) and then sleeps on the bell. Whoever makes the change rings the
//! bell afterwards. What the change is, only the two of them know: a number that has come, a slot that is free. So a
//! bell serves waits for which the 30-bit epoch of a [`crate::park::Flag`] is too narrow.
//!
//! A [`Bell`] lies in memory that several processes map. A [`LocalBell`] belongs to one process.

#[cfg(loom)]
use crate::sync::Futex;
use crate::sync::{fence, AtomicU32, Ordering};
#[cfg(not(loom))]
use crate::sys::{self, Scope};

/// Sleeping and waking between processes. Eight zero bytes are a bell that nobody sleeps on.
///
/// **`SHARED`.** A [`Bell`] may lie in memory that several processes map. A [`LocalBell`] belongs to one process, and
/// its system calls are a little shorter.
///
/// **In signal handlers.** Sleeping and ringing are atomics and the system call `futex`, and leave `errno` alone. So
/// both are async-signal-safe, as far as the closures are.
///
/// # Memory ordering
/// A waiter counts itself in `sleepers`, then looks whether its wait is over, then sleeps on `rings`. A peer makes
/// the change that ends the wait, then looks at `sleepers`. Both have a sequentially consistent fence between their
/// two steps, so that at least one of them sees what the other did. Without the fences a peer could miss a waiter
/// that has just looked, and the waiter would sleep on.
///
/// [`Bell::ring_unfenced`] leaves out the peer's fence, for paths on which that fence would be the largest cost. It
/// can miss a waiter that goes to sleep within the time that a store needs to become visible (some 0.1 us). For that
/// reason every sleep of [`Bell::sleep`] ends by itself after a nap. A waiter stays counted until its whole wait ends,
/// so a missed ring delays it by its first nap at most.
///
/// [`Bell::ring_after_swap`] needs no fence of its own: it is for peers whose change is an atomic exchange. All three
/// (the exchange, the look at `sleepers`, and the waiter's fence) are sequentially consistent, so that they happen in
/// one order for everybody.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Bell<const SHARED: bool = true> {
    rings: AtomicU32,
    sleepers: AtomicU32,
    #[cfg(loom)]
    kernel: Futex,
}

/// A [`Bell`] for the threads of one process.
pub type LocalBell = Bell<false>;

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
}

impl LocalBell {
    /// A bell that nobody sleeps on.
    #[cfg(not(loom))]
    pub const fn local() -> LocalBell {
        Bell {
            rings: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
        }
    }

    /// A bell that nobody sleeps on.
    #[cfg(loom)]
    pub fn local() -> LocalBell {
        Bell::default()
    }
}

impl<const SHARED: bool> Bell<SHARED> {
    #[cfg(not(loom))]
    const SCOPE: Scope = if SHARED {
        Scope::Machine
    } else {
        Scope::Process
    };

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

    /// Like [`Bell::ring`], for a caller that made the change by a sequentially consistent exchange (swap, addition)
    /// instead of a store. On x86 such an exchange is a fence already, and a second one would cost as much again.
    #[inline(always)]
    pub fn ring_after_swap(&self) {
        // Loom takes sequentially consistent accesses for weaker ones than they are.
        #[cfg(loom)]
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) != 0 {
            self.awaken();
        }
    }

    #[cold]
    fn awaken(&self) {
        self.rings.fetch_add(1, Ordering::Release);
        #[cfg(not(loom))]
        sys::futex_wake_in(Self::SCOPE, self.rings.as_ptr(), i32::MAX);
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
            sys::futex_wait_for_in(Self::SCOPE, &self.rings, seen, nap);
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

    /// Sleeps until `done` says true, however long that takes. Whoever ends this wait must ring with a fence
    /// ([`Bell::ring`], [`Bell::ring_after_swap`]).
    pub fn sleep_until(&self, done: &mut dyn FnMut() -> bool) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        // Between counting this sleeper and its first look at what it waits for: see "Memory ordering". A ring that
        // comes later finds this sleeper counted, and changes `rings`.
        fence(Ordering::SeqCst);
        loop {
            let seen = self.rings.load(Ordering::Acquire);
            if done() {
                break;
            }
            #[cfg(not(loom))]
            sys::futex_wait_in(Self::SCOPE, &self.rings, seen);
            #[cfg(loom)]
            self.kernel.wait(&self.rings, seen);
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
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

    /// Each thread sleeps until the other one has taken its step: a ring that is missed hangs the test.
    #[test]
    fn threads_that_take_turns_miss_no_ring() {
        const TURNS: u32 = 2000;
        let (bells, turn) = ([LocalBell::local(), LocalBell::local()], AtomicU32::new(0));
        std::thread::scope(|s| {
            for me in 0..2 {
                let (bells, turn) = (&bells, &turn);
                s.spawn(move || {
                    for k in (me..TURNS).step_by(2) {
                        bells[me as usize].sleep_until(&mut || turn.load(Ordering::Acquire) == k);
                        turn.swap(k + 1, Ordering::SeqCst);
                        bells[1 - me as usize].ring_after_swap();
                    }
                });
            }
        });
        assert_eq!(turn.load(Ordering::Relaxed), TURNS);
        assert!(bells
            .iter()
            .all(|b| b.sleepers.load(Ordering::Relaxed) == 0));
    }
}
