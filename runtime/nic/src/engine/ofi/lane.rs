//! The puts of a rank to one peer, of which one vouches for those before it.
//!
//! A put is over when its bytes are in the target's memory. If every put has the provider say so, the target sends an
//! answer for each: over TCP a system call more on both sides, a third of what a put of 4 KiB costs. Where the provider
//! keeps write after write, one answer is enough for several puts: once a put has arrived, so have all puts to the same
//! peer that were handed to the provider before. The earlier ones are *silent*: of them the provider says only that
//! their sources may be written again.
//!
//! Nobody knows whether another put will follow. So the latest put is *held* until the next one comes, and goes without
//! a word then, or until the initiator has nothing more for this peer, and goes as the one that vouches. A silent put
//! therefore always has a put behind it that vouches.

use super::slots::Slot;
use core::ffi::c_void;
use std::collections::VecDeque;

/// The most silent puts in a row. A queue pair gets the slots of its descriptors back when the puts are over, not when
/// they were sent.
const MOST: usize = 15;
/// The most bytes of silent puts in a row: an answer costs little compared with that many.
const MOST_BYTES: usize = 256 * 1024;

/// A put that the provider has not got yet.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) id: u64,
    pub(super) slot: *mut Slot,
    pub(super) from: *const u8,
    pub(super) len: usize,
    pub(super) descriptor: *mut c_void,
    /// Address and key at the target.
    pub(super) at: (u64, u64),
    /// The word for the target's completion queue.
    pub(super) data: Option<u64>,
}

/// A put that went without a word.
#[derive(Clone, Copy, Debug)]
struct Silent {
    number: u64,
    slot: *mut Slot,
}

/// The puts to one peer.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) held: Option<Held>,
    /// How many puts the provider has got.
    posted: u64,
    /// Silent puts for which nobody has vouched yet, by their numbers.
    silent: VecDeque<Silent>,
    /// How many silent puts have gone since the last one that vouches, and their bytes.
    row: (usize, usize),
}

impl Lane {
    /// Whether a put of `len` bytes may go silently, if another one follows.
    pub(super) fn may_be_silent(&self, len: usize) -> bool {
        self.row.0 < MOST && self.row.1 + len <= MOST_BYTES
    }

    /// The provider has got a silent put.
    pub(super) fn went_silently(&mut self, slot: *mut Slot, len: usize) {
        self.posted += 1;
        self.silent.push_back(Silent {
            number: self.posted,
            slot,
        });
        self.row = (self.row.0 + 1, self.row.1 + len);
    }

    /// The provider has got a put that vouches. Its number is for [`Lane::vouched`].
    pub(super) fn went(&mut self) -> u64 {
        self.posted += 1;
        self.row = (0, 0);
        self.posted
    }

    /// The put with this number has arrived, and with it the earlier ones. Takes the silent ones off the list, one by
    /// one.
    pub(super) fn vouched(&mut self, number: u64) -> Option<*mut Slot> {
        let first = self.silent.front()?;
        if first.number > number {
            return None;
        }
        self.silent.pop_front().map(|s| s.slot)
    }

    /// A silent put has failed.
    pub(super) fn forget(&mut self, slot: *mut Slot) {
        self.silent.retain(|s| s.slot != slot);
    }
}

#[cfg(test)]
mod tests {
    use super::{Lane, MOST, MOST_BYTES};
    use crate::engine::ofi::slots::Slot;

    fn slot(n: usize) -> *mut Slot {
        core::ptr::without_provenance_mut(n)
    }

    #[test]
    fn a_put_vouches_for_those_before_it_only() {
        let mut lane = Lane::default();
        lane.went_silently(slot(1), 8);
        lane.went_silently(slot(2), 8);
        let first = lane.went();
        lane.went_silently(slot(4), 8);
        let second = lane.went();
        assert_eq!(lane.vouched(first), Some(slot(1)));
        assert_eq!(lane.vouched(first), Some(slot(2)));
        assert_eq!(lane.vouched(first), None, "4 was posted later");
        assert_eq!(lane.vouched(second), Some(slot(4)));
        assert_eq!(lane.vouched(second), None);
    }

    #[test]
    fn completions_in_another_order_lose_nothing() {
        let mut lane = Lane::default();
        lane.went_silently(slot(1), 8);
        let first = lane.went();
        lane.went_silently(slot(3), 8);
        let second = lane.went();
        // The provider tells of the second put first.
        assert_eq!(lane.vouched(second), Some(slot(1)));
        assert_eq!(lane.vouched(second), Some(slot(3)));
        assert_eq!(lane.vouched(first), None);
        lane.went_silently(slot(5), 8);
        lane.forget(slot(5));
        let third = lane.went();
        assert_eq!(lane.vouched(third), None);
    }

    #[test]
    fn rows_of_silent_puts_end() {
        let mut lane = Lane::default();
        for n in 0..MOST {
            assert!(lane.may_be_silent(64));
            lane.went_silently(slot(n + 1), 64);
        }
        assert!(!lane.may_be_silent(64));
        lane.went();
        assert!(lane.may_be_silent(MOST_BYTES));
        lane.went_silently(slot(1), MOST_BYTES);
        assert!(!lane.may_be_silent(1));
        assert!(!Lane::default().may_be_silent(MOST_BYTES + 1));
    }
}
