//! Copies of pages that a home lends to several nodes which write different bytes of them
//! ([`crate::directory`], "Pages that are lent"): when that is done, and what a node wrote.
//!
//! **Bytes.** Threads may write neighbouring bytes (the memory model of C11). So what a node wrote is found by bytes:
//! where its copy differs from the *twin*, the copy as it came. A byte that was written and did not change need not be
//! known: nobody else may have written it.
//!
//! **While a home's threads write** to a page, it is read for another node, and what that wrote is put into it. Each
//! byte is written by one of them only, so that only single bytes need be whole.

use crate::PAGE;
use core::sync::atomic::{AtomicU32, AtomicU8, Ordering};
use hetmp_core::sys;

/// May homes lend pages? Each time that they may, until threads of the home meet others, is a *round* of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lending(u32);

impl Lending {
    /// They may not.
    pub const OFF: Lending = Lending(0);

    /// They may, from the round with this number on.
    pub fn on(round: u32) -> Lending {
        Lending(round.max(1))
    }

    /// The same when the home's threads have met others for the `order`th time. Both numbers only grow.
    pub(crate) fn at(self, order: u64) -> Lending {
        match self {
            Lending::OFF => self,
            Lending(first) => Lending::on(first.wrapping_add(order as u32)),
        }
    }

    pub(crate) fn round(self) -> Option<u32> {
        (self.0 != 0).then_some(self.0)
    }
}

/// The [`Lending`] of a process, which the program's threads set and those that serve pages read.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    now: AtomicU32,
    last: AtomicU32,
}

impl Switch {
    /// Called by one thread at a time.
    pub(crate) fn set(&self, on: bool) {
        let new = match on {
            // The number is only compared with those of pages; that it begins anew once in 2^32 regions does no harm.
            true => self
                .last
                .fetch_add(1, Ordering::Relaxed)
                .wrapping_add(1)
                .max(1),
            false => 0,
        };
        self.now.store(new, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> Lending {
        Lending(self.now.load(Ordering::SeqCst))
    }
}

/// The longest time that a node keeps a loan, in nanoseconds: a thread that looks at memory until another one has
/// changed it, without the atomic operations that this needs, goes on then. Giving a page back and borrowing it again
/// takes a hundredth of it.
pub(crate) const LONGEST_NS: u64 = 10_000_000;

/// Since when a node has loans.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Loaned(Option<u64>);

impl Loaned {
    /// A loan begins.
    pub(crate) fn begin(&mut self) {
        self.0.get_or_insert_with(sys::monotonic_ns);
    }

    /// Nanoseconds until all of the node's loans, of which there are `loans`, are to be given back; `None`: there are
    /// none. After that time they begin anew.
    pub(crate) fn left_ns(&mut self, loans: usize) -> Option<u64> {
        let now = sys::monotonic_ns();
        let since = self.0.filter(|_| loans > 0);
        let left = since.map(|since| (since + LONGEST_NS).saturating_sub(now));
        self.0 = if left == Some(0) { Some(now) } else { since };
        left
    }
}

/// The bytes of a page as they came.
pub(crate) type Twin = Box<[u8; PAGE]>;

/// Bytes of what [`encode`] writes at most: a bit for each byte of a page, and the bytes.
pub(crate) const ENCODED: usize = PAGE / 8 + PAGE;

/// Writes which bytes of a page differ from its twin, and what they are now. Returns the length; 0 if none differ.
pub(crate) fn encode(now: &[u8; PAGE], twin: &Twin, to: &mut [u8; ENCODED]) -> usize {
    let (bits, bytes) = to.split_at_mut(PAGE / 8);
    bits.fill(0);
    let mut count = 0;
    for (i, (new, old)) in now.iter().zip(twin.iter()).enumerate() {
        if new != old {
            bits[i / 8] |= 1 << (i % 8);
            bytes[count] = *new;
            count += 1;
        }
    }
    if count == 0 {
        0
    } else {
        PAGE / 8 + count
    }
}

/// Puts what [`encode`] wrote into a page.
pub(crate) fn decode(from: &[u8; ENCODED], to: &[AtomicU8; PAGE]) {
    let (bits, mut bytes) = from.split_at(PAGE / 8);
    for (i, to) in to.iter().enumerate() {
        if bits[i / 8] >> (i % 8) & 1 != 0 {
            if let Some((byte, rest)) = bytes.split_first() {
                to.store(*byte, Ordering::Relaxed);
                bytes = rest;
            }
        }
    }
}

/// Puts the bytes that differ from the twin into a page.
pub(crate) fn merge(now: &[u8; PAGE], twin: &Twin, to: &[AtomicU8; PAGE]) {
    for ((new, old), to) in now.iter().zip(twin.iter()).zip(to) {
        if new != old {
            to.store(*new, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_lending_is_another_one() {
        let switch = Switch::default();
        assert_eq!(switch.get(), Lending::OFF);
        switch.set(true);
        let first = switch.get();
        switch.set(false);
        assert_eq!(switch.get().round(), None);
        switch.set(true);
        assert!(switch.get() != first && switch.get().round().is_some());
        switch.last.store(u32::MAX, Ordering::Relaxed);
        switch.set(true);
        assert_ne!(switch.get(), Lending::OFF);
    }

    fn page() -> impl Strategy<Value = Vec<u8>> {
        // Few values, so that bytes are often equal.
        prop::collection::vec(0..3u8, PAGE)
    }

    fn whole(bytes: &[u8]) -> Twin {
        Box::new(bytes.try_into().expect("a page"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// What two nodes wrote to different bytes is in the page, whichever gives it back first.
        #[test]
        fn bytes_of_two_nodes_meet(
            twin in page(),
            a in page(),
            b in page(),
            whose in prop::collection::vec(0..3u8, PAGE),
        ) {
            let wrote = |node: u8, new: &[u8]| {
                let mut copy = whole(&twin);
                for i in 0..PAGE {
                    if whose[i] == node {
                        copy[i] = new[i];
                    }
                }
                copy
            };
            let copies = [wrote(0, &a), wrote(1, &b)];
            let twin = whole(&twin);
            let mut expected = twin.clone();
            for i in 0..PAGE {
                if let Some(copy) = copies.get(usize::from(whose[i])) {
                    expected[i] = copy[i];
                }
            }
            for order in [[0, 1], [1, 0]] {
                let merged: [AtomicU8; PAGE] = core::array::from_fn(|i| AtomicU8::new(twin[i]));
                let decoded: [AtomicU8; PAGE] = core::array::from_fn(|i| AtomicU8::new(twin[i]));
                for node in order {
                    merge(&copies[node], &twin, &merged);
                    let mut bytes = [0; ENCODED];
                    if encode(&copies[node], &twin, &mut bytes) > 0 {
                        decode(&bytes, &decoded);
                    }
                }
                for i in 0..PAGE {
                    prop_assert_eq!(merged[i].load(Ordering::Relaxed), expected[i]);
                    prop_assert_eq!(decoded[i].load(Ordering::Relaxed), expected[i]);
                }
            }
        }
    }
}
