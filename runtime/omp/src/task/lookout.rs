//! The lookout: a thread of a team that is awake and looks for tasks, so that nobody need be woken for a new one.
//!
//! Eight threads share two cores, and one of them makes thousands of tiny tasks. Waking a sleeper for each task is
//! worse than useless: the kernel may put the woken thread on the maker's core, ahead of the maker. It finds one task
//! or none, looks around for a while and sleeps again, and the next task wakes the next thread. So where threads
//! outnumber cores, a team has one lookout at most, and while there is one a maker of tasks wakes nobody. A lookout
//! that finds a task stops being one, and wakes the next thread if there are more tasks.
//!
//! A thread becomes the lookout when it is woken for a task, and when it finds nothing to do while others sleep.
//!
//! # Memory ordering
//! A maker queues a task, then passes a sequentially consistent fence, then looks whether there is a lookout. A thread
//! that stops being the lookout says so first, then passes a fence, and then looks for tasks a last time. So either the
//! maker sees that there is none and wakes a thread, or the last look finds the task. To say so is to store zero,
//! whatever the word holds: each value that a maker may have trusted is then followed by its writer's last look.
//!
//! # A lookout that does not run
//! The kernel may have no core for the lookout, for example where it waits on the maker's own core while another core
//! idles. So a lookout says again and again when it last looked, and a maker trusts that for [`FRESH`] only. Then it
//! wakes one more thread. Two lookouts do no harm.

use hetmp_core::sync::{AtomicU64, Ordering};

/// There is a lookout.
const HELD: u64 = 1 << 63;

/// How long a lookout is trusted after its last look, in units of 256 ticks: some 100 us at 2.6 GHz, longer than it
/// takes to wake a thread on an idle core.
const FRESH: u32 = 1000;

/// When a lookout of which region last looked for tasks.
#[derive(Debug)]
pub(crate) struct Lookout(AtomicU64);

/// The time in units of 256 ticks.
pub(crate) fn time(ticks: u64) -> u32 {
    (ticks >> 8) as u32
}

fn word(region: u32, now: u32) -> u64 {
    HELD | u64::from(region) << 32 | u64::from(now)
}

fn is_trusted(held: u64, region: u32, now: u32) -> bool {
    held >> 32 == word(region, now) >> 32 && now.wrapping_sub(held as u32) < FRESH
}

impl Lookout {
    pub(crate) fn new() -> Lookout {
        Lookout(AtomicU64::new(0))
    }

    /// Is there a lookout of this region? The caller has passed a fence after it queued a task.
    pub(crate) fn is_there(&self, region: u32, now: u32) -> bool {
        is_trusted(self.0.load(Ordering::Relaxed), region, now)
    }

    /// Takes the part for the calling thread, or for one that is about to be woken. False: there is a lookout.
    pub(crate) fn take(&self, region: u32, now: u32) -> bool {
        let mut held = self.0.load(Ordering::Relaxed);
        // The word may change because a lookout that is not trusted leaves: then the part is to be had nevertheless.
        while !is_trusted(held, region, now) {
            match self.0.compare_exchange_weak(
                held,
                word(region, now),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return true,
                Err(other) => held = other,
            }
        }
        false
    }

    /// The calling lookout has looked and found nothing.
    pub(crate) fn looked(&self, region: u32, now: u32) {
        self.0.store(word(region, now), Ordering::Relaxed);
    }

    /// The calling lookout gives up its part. It passes a fence next, and looks for tasks after that.
    pub(crate) fn leave(&self) {
        self.0.swap(0, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_region_has_one_lookout_at_a_time() {
        let l = Lookout::new();
        assert!(!l.is_there(0, 5));
        assert!(l.take(0, 5));
        assert!(l.is_there(0, 6) && !l.take(0, 6));
        l.leave();
        assert!(!l.is_there(0, 6) && l.take(0, 6));
    }

    #[test]
    fn a_lookout_that_has_not_looked_for_long_is_not_trusted() {
        let l = Lookout::new();
        // The clock wraps around meanwhile.
        assert!(l.take(7, u32::MAX));
        assert!(l.is_there(7, FRESH - 2));
        assert!(!l.is_there(7, FRESH - 1));
        l.looked(7, FRESH);
        assert!(l.is_there(7, FRESH + 1));
        assert!(l.take(7, 3 * FRESH));
    }

    #[test]
    fn the_lookout_of_the_last_region_is_none_of_this_one() {
        let l = Lookout::new();
        assert!(l.take(7, 0));
        assert!(!l.is_there(8, 0) && l.take(8, 0));
    }
}
