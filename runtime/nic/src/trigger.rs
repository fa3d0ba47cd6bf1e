//! Counters and the operations that wait for them, as in Portals 4: a pure table.
//!
//! Counters may lie in memory that peers map: they are atomics, for which zero is a value.

use crate::array::Array;
#[cfg(not(loom))]
use crate::array::Shareable;
use crate::descriptor::CounterId;
use hetmp_core::sync::{AtomicU64, Ordering};
use std::collections::BTreeMap;

/// The counters of one rank. Only engines add; anybody may read.
#[derive(Debug)]
pub struct Counters {
    values: Array<AtomicU64>,
}

// SAFETY: an atomic, for which zero is a value.
#[cfg(not(loom))]
unsafe impl Shareable for AtomicU64 {}

impl Counters {
    /// `n` counters at 0.
    pub fn new(n: usize) -> Counters {
        Counters {
            values: Array::own((0..n).map(|_| AtomicU64::new(0))),
        }
    }

    /// Bytes that `n` counters take in mapped memory.
    #[cfg(not(loom))]
    pub(crate) fn bytes(n: usize) -> usize {
        Array::<AtomicU64>::bytes(n)
    }

    /// `n` counters in mapped memory, behind which `at` is moved.
    ///
    /// # Safety
    /// As [`Array::at`].
    #[cfg(not(loom))]
    pub(crate) unsafe fn at(at: &mut *mut u8, n: usize) -> Counters {
        Counters {
            // SAFETY: this function's contract is that of `Array::at` for `n` counters.
            values: unsafe { Array::at(at, n) },
        }
    }

    /// What a counter says (acquire: what was counted is visible), or `None` if there is no such counter.
    pub fn value(&self, counter: CounterId) -> Option<u64> {
        self.values
            .get(counter.0 as usize)
            .map(|v| v.load(Ordering::Acquire))
    }

    /// True if there is such a counter.
    pub fn has(&self, counter: CounterId) -> bool {
        (counter.0 as usize) < self.values.len()
    }

    #[cfg(not(loom))]
    pub(crate) fn add(&self, counter: CounterId, n: u64) {
        if let Some(v) = self.values.get(counter.0 as usize) {
            v.fetch_add(n, Ordering::AcqRel);
        }
    }
}

/// Operations held back, by counter and threshold.
#[derive(Debug)]
pub struct Triggers<T> {
    waiting: BTreeMap<(u32, u64, u64), T>,
    order: u64,
}

impl<T> Default for Triggers<T> {
    fn default() -> Self {
        Triggers {
            waiting: BTreeMap::new(),
            order: 0,
        }
    }
}

impl<T> Triggers<T> {
    /// Gives the operation back if it need not wait: its counter has come to `threshold`, and no operation of the same
    /// wait is still held back. Otherwise holds it back.
    ///
    /// Other processes move counters at any time, also between two operations of one wait. The later one, a fence or a
    /// count perhaps, must not go before the earlier one.
    pub fn pass(
        &mut self,
        counters: &Counters,
        (counter, threshold): (CounterId, u64),
        operation: T,
    ) -> Option<T> {
        let of_wait = (counter.0, threshold, 0)..=(counter.0, threshold, u64::MAX);
        let is_first = self.waiting.range(of_wait).next().is_none();
        if is_first && counters.value(counter).is_some_and(|v| v >= threshold) {
            return Some(operation);
        }
        self.hold(counter, threshold, operation);
        None
    }

    /// Holds an operation back until `counter >= threshold`.
    fn hold(&mut self, counter: CounterId, threshold: u64, operation: T) {
        self.waiting
            .insert((counter.0, threshold, self.order), operation);
        self.order += 1;
    }

    /// The next operation whose threshold `value` reaches: lowest threshold first, then in the order in
    /// which they were held back.
    pub fn release(&mut self, counter: CounterId, value: u64) -> Option<T> {
        let first = self
            .waiting
            .range((counter.0, 0, 0)..=(counter.0, value, u64::MAX))
            .next()
            .map(|(k, _)| *k)?;
        self.waiting.remove(&first)
    }

    /// Every operation whose threshold its counter's `value` reaches, in the order of
    /// [`Triggers::release`] for each counter.
    pub fn ready(&mut self, value: impl Fn(CounterId) -> u64) -> Vec<T> {
        let mut ready = Vec::new();
        let mut from = Some(0);
        while let Some(c) = from {
            let Some(((counter, ..), _)) = self.waiting.range((c, 0, 0)..).next() else {
                break;
            };
            let counter = *counter;
            let value = value(CounterId(counter));
            while let Some(t) = self.release(CounterId(counter), value) {
                ready.push(t);
            }
            from = counter.checked_add(1);
        }
        ready
    }

    /// How many are held back.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True if none is.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Gives up all of them.
    pub fn take_all(&mut self) -> Vec<T> {
        core::mem::take(&mut self.waiting).into_values().collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_operation_does_not_pass_one_of_the_same_wait() {
        let counters = Counters::new(2);
        let mut t = Triggers::default();
        let wait = (CounterId(1), 3);
        assert_eq!(t.pass(&counters, wait, "put"), None);
        // A peer moves the counter after the put was held back, and before the count is taken.
        counters.add(CounterId(1), 3);
        assert_eq!(t.pass(&counters, wait, "count"), None);
        assert_eq!(t.pass(&counters, (CounterId(1), 2), "other"), Some("other"));
        let ready = t.ready(|c| counters.value(c).unwrap_or(0));
        assert_eq!(ready, ["put", "count"]);
        assert_eq!(t.pass(&counters, wait, "later"), Some("later"));
    }

    #[test]
    fn operations_run_by_threshold_and_then_in_order() {
        let mut t = Triggers::default();
        t.hold(CounterId(1), 2, 'c');
        t.hold(CounterId(1), 1, 'a');
        t.hold(CounterId(2), 0, 'x');
        t.hold(CounterId(1), 1, 'b');
        assert_eq!(t.release(CounterId(1), 0), None);
        let got: String = core::iter::from_fn(|| t.release(CounterId(1), 2)).collect();
        assert_eq!(got, "abc");
        assert_eq!(t.len(), 1);
        t.hold(CounterId(u32::MAX), 5, 'y');
        assert_eq!(t.ready(|c| u64::from(c.0 == u32::MAX) * 5), ['x', 'y']);
        t.hold(CounterId(2), 0, 'x');
        assert_eq!(t.release(CounterId(2), 0), Some('x'));
        assert!(t.is_empty());
    }
}
