//! What looking at regions has cost this process, and what it may cost.
//!
//! There is one account for all of it. Whoever looks (reads code, copies functions) enters what that took of the
//! processor's time, so that other processes, which may hold the core meanwhile, do not count. Whoever tries ways of a
//! region enters after each pair of executions what the worse way has lost so far ([`hetmp_sched::gain`]); and what
//! trials of other nodes of a distributed shared memory have lost ([`hetmp_sched::crossing`]). As long as something is
//! left, a region is looked at before its execution, and ways are tried; after that code is read only while the
//! program ([`super::reader`]).

use crate::unlike::modes;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use hetmp_core::sys::thread_cpu_ns;
use hetmp_sched::limits::allowed_ns;

// Relaxed: sums that carry no other data.
static LOOKED_NS: AtomicU64 = AtomicU64::new(0);
/// Signed: what is taken back is rounded, too.
static LOST_NS: AtomicI64 = AtomicI64::new(0);

/// The account, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Balance {
    /// The processor's time that looking at code has taken.
    pub(crate) looked: u64,
    /// What trials have lost.
    pub(crate) lost: u64,
    pub(crate) allowed: u64,
}

impl Balance {
    pub(crate) fn now() -> Balance {
        Balance {
            looked: LOOKED_NS.load(Ordering::Relaxed),
            lost: LOST_NS.load(Ordering::Relaxed).max(0) as u64,
            allowed: allowed_ns(modes::ran_ns()),
        }
    }

    fn left(self) -> u64 {
        self.allowed
            .saturating_sub(self.looked)
            .saturating_sub(self.lost)
    }
}

/// What is left of the allowance, in nanoseconds. Without floating point: the program may have set its modes.
pub(crate) fn left_ns() -> u64 {
    Balance::now().left()
}

/// Enters nanoseconds that a trial has lost; takes back what it is now known not to have lost, if negative.
pub(crate) fn charge(ns: f64) {
    LOST_NS.fetch_add(ns as i64, Ordering::Relaxed);
}

/// Runs `look`, and enters what it takes of the calling thread's time.
pub(super) fn spend<R>(look: impl FnOnce() -> R) -> R {
    let began = thread_cpu_ns();
    let result = look();
    LOOKED_NS.fetch_add(thread_cpu_ns().saturating_sub(began), Ordering::Relaxed);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowance_is_a_fixed_time_and_a_part_of_long_ones() {
        const S: u64 = 1_000_000_000;
        let left = |looked, lost, ran_ns| {
            let allowed = allowed_ns(ran_ns);
            Balance {
                looked,
                lost,
                allowed,
            }
            .left()
        };
        assert_eq!(left(0, 0, 0), 20_000_000);
        assert_eq!(left(15_000_000, 1_000_000, S), 4_000_000);
        assert_eq!(left(10_000_000, 80_000_000, S), 0);
        assert_eq!(left(10_000_000, 80_000_000, 10 * S), 10_000_000);
    }
}
