//! Where the adapter's thread runs: not on the core of an initiator that could have it for itself.
//!
//! Schedulers like to put who was woken beside who woke it, and see no reason to part the two while each sleeps as
//! soon as the other runs. A hand-over a post is what follows, twenty times the cost of two cores. After a few of
//! them the thread asks for another core, and is free to come back: where all cores are busy the scheduler
//! brings it back soon, and it asks ever more rarely.

use hetmp_core::park::Policy;
use hetmp_core::sys;

/// Hand-overs in a row before the thread asks for another core.
const PATIENCE: u32 = 4;
/// Nanoseconds from one request to the next.
const SOON: u64 = 5_000_000;
const LATEST: u64 = 1_000_000_000;

/// The processor that this thread runs on.
pub(super) fn cpu() -> i32 {
    // SAFETY: no preconditions.
    unsafe { libc::sched_getcpu() }
}

/// What the thread remembers of its hand-overs.
#[derive(Debug)]
pub(super) struct Place {
    shared: u32,
    asked_at: u64,
    pause: u64,
}

impl Place {
    pub(super) fn new() -> Place {
        Place {
            shared: 0,
            asked_at: 0,
            pause: SOON,
        }
    }

    /// After a wake-up: true if the thread shares its core with who woke it, and should sleep rather than spin.
    pub(super) fn shares(&mut self, waker: i32) -> bool {
        if waker != cpu() {
            self.shared = 0;
            return false;
        }
        self.shared += 1;
        if self.shared < PATIENCE || Policy::oversubscribed() {
            return true;
        }
        let now = sys::monotonic_ns();
        let since = now - self.asked_at;
        if since < self.pause {
            return true;
        }
        // Coming back soon means that there is no core to be had.
        self.pause = if since < 4 * self.pause {
            (self.pause * 2).min(LATEST)
        } else {
            SOON
        };
        self.asked_at = now;
        self.shared = 0;
        !leave(waker)
    }
}

/// Moves this thread off a processor, if it may use another one.
fn leave(cpu: i32) -> bool {
    let Ok(cpu) = usize::try_from(cpu) else {
        return false;
    };
    if cpu >= libc::CPU_SETSIZE as usize {
        return false;
    }
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: bit sets, for which zero is a value, that live through the calls; only this thread is concerned, and
    // gets back what it may use.
    unsafe {
        let mut may: libc::cpu_set_t = core::mem::zeroed();
        if libc::sched_getaffinity(0, size, &mut may) != 0 {
            return false;
        }
        let mut others = may;
        libc::CPU_CLR(cpu, &mut others);
        if libc::CPU_COUNT(&others) == 0 || libc::sched_setaffinity(0, size, &others) != 0 {
            return false;
        }
        libc::sched_setaffinity(0, size, &may);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_may_move_leaves_the_core_and_keeps_what_it_may_use() {
        // A thread of its own: the processors of others are not touched.
        std::thread::spawn(|| {
            let allowed = || {
                // SAFETY: the set is live and of the size given.
                unsafe {
                    let mut may: libc::cpu_set_t = core::mem::zeroed();
                    libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut may);
                    libc::CPU_COUNT(&may)
                }
            };
            let before = allowed();
            assert_eq!(leave(cpu()), before > 1);
            assert_eq!(allowed(), before);
            assert!(!leave(-1) && !leave(i32::MAX));
        })
        .join()
        .expect("no panic");
    }

    #[test]
    fn a_waker_on_another_core_ends_the_count() {
        let mut p = Place::new();
        for _ in 0..PATIENCE - 1 {
            let here = cpu();
            // Where the scheduler moves this thread between the two looks, the count ends, too.
            if p.shares(here) {
                assert!(p.shared > 0);
            }
        }
        assert!(!p.shares(-1));
        assert_eq!(p.shared, 0);
    }
}
