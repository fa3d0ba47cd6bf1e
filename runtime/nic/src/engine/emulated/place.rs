//! Keeps the adapter's thread off an initiator's core, if there is another core.
//!
//! Schedulers like to put a woken thread on the core of its waker, and see no reason to part the two while each
//! sleeps as soon as the other runs. Then every post costs a hand-over, twenty times as much as with two cores. After
//! a few hand-overs the thread moves to another core, and may come back later. If all cores are busy, the scheduler
//! brings it back soon, and the thread then moves ever more rarely.

use hetmp_core::park::Policy;
use hetmp_core::sys;

/// Hand-overs in a row before the thread moves.
const PATIENCE: u32 = 4;
/// The first pause between two moves, nanoseconds.
const SOON: u64 = 5_000_000;
const LATEST: u64 = 1_000_000_000;

/// The processor on which the calling thread runs.
pub(super) fn cpu() -> i32 {
    // SAFETY: no preconditions.
    unsafe { libc::sched_getcpu() }
}

/// The thread's recent hand-overs.
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

    /// Called after a wake-up. True if the thread shares its waker's core, and should sleep rather than spin.
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
        // The thread was brought back soon: no core is free.
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

/// Moves this thread off a processor, if it is allowed to use another one.
fn leave(cpu: i32) -> bool {
    let Ok(cpu) = usize::try_from(cpu) else {
        return false;
    };
    if cpu >= libc::CPU_SETSIZE as usize {
        return false;
    }
    let size = size_of::<libc::cpu_set_t>();
    // SAFETY: bit sets, for which zero is a value, live through the calls. They concern this thread only, and its own
    // mask is restored.
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
        // Runs in a thread of its own, so that other tests keep their processors.
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
            // If the scheduler moves this thread between the two calls, the count ends too.
            if p.shares(here) {
                assert!(p.shared > 0);
            }
        }
        assert!(!p.shares(-1));
        assert_eq!(p.shared, 0);
    }
}
