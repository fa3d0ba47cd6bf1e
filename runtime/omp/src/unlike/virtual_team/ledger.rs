//! What looking at regions has cost this process, and what it may cost.
//!
//! There is one account for all of it. Whoever looks (reads code, copies functions) enters what that took of the
//! processor's time, so that other processes, which may hold the core meanwhile, do not count. As long as something is left,
//! a region is looked at before its execution; after that only beside the program ([`super::reader`]).

use crate::unlike::modes;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::sys::thread_cpu_ns;

/// Nanoseconds that looking may take in every process. Regions of 8 KB, of which long programs may have a single one that runs once, take
/// 3 ms; nobody waits for a program that feels 20...
const ALLOWANCE_NS: u64 = 20_000_000;
/// ...or one part in so many of the time that the program has run, if that is more.
const ONE_IN: u64 = 100;

// Relaxed: a sum that carries no other data.
static SPENT_NS: AtomicU64 = AtomicU64::new(0);

/// What is left of the allowance, in nanoseconds. Without floating point: the program may have set its modes.
pub(super) fn left_ns() -> u64 {
    left_of(SPENT_NS.load(Ordering::Relaxed), modes::ran_ns())
}

fn left_of(spent_ns: u64, ran_ns: u64) -> u64 {
    ALLOWANCE_NS.max(ran_ns / ONE_IN).saturating_sub(spent_ns)
}

/// Runs `look`, and enters what it takes of the calling thread's time.
pub(super) fn spend<R>(look: impl FnOnce() -> R) -> R {
    let began = thread_cpu_ns();
    let result = look();
    SPENT_NS.fetch_add(thread_cpu_ns().saturating_sub(began), Ordering::Relaxed);
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowance_is_a_fixed_time_and_a_part_of_long_ones() {
        const S: u64 = 1_000_000_000;
        assert_eq!(left_of(0, 0), 20_000_000);
        assert_eq!(left_of(15_000_000, S), 5_000_000);
        assert_eq!(left_of(90_000_000, S), 0);
        assert_eq!(left_of(90_000_000, 10 * S), 10_000_000);
    }
}
