//! Puts on their way to a rank, as its board lists them: who reads their bytes now gets old ones, or a mixture.
//!
//! An initiator lists a put before it announces the put. The adapter takes it off the list before it writes the last
//! piece, so that whoever has seen that piece finds no put on the list. A list that is full takes no more puts.

use super::{Access, Board, Kind, BUSY, WORDS};
use core::sync::atomic::{fence, Ordering};

/// Puts that a list has room for.
pub(super) const FLIGHTS: usize = 64;
/// Shorter puts are not listed: a program may poll a word by loads of its own, and then the word is a flag.
pub(super) const SHORTEST: u32 = 9;

impl Board {
    /// Lists a put of `initiator`.
    pub(crate) fn depart(&self, initiator: u32, put: &Access, epoch: u16) {
        if put.len < SHORTEST {
            return;
        }
        for place in self.flight_places() {
            let stamp = self.word(place, 0);
            if stamp
                .compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
            {
                continue;
            }
            let who = u64::from(initiator) | u64::from(epoch) << 48;
            for (i, w) in [who, put.site, put.address, u64::from(put.len)]
                .into_iter()
                .enumerate()
            {
                self.word(place, i + 1).store(w, Ordering::Relaxed);
            }
            // No two flights have one stamp: a reader notices that the place was used again.
            let n = self.word(0, 2).fetch_add(1, Ordering::Relaxed);
            stamp.store(n + 1, Ordering::Release);
            return;
        }
    }

    /// Takes a put of `initiator` off the list.
    pub(crate) fn land(&self, initiator: u32, address: u64, len: u32) {
        for place in self.flight_places() {
            let stamp = self.word(place, 0).load(Ordering::Acquire);
            let at = |i| self.word(place, i).load(Ordering::Relaxed);
            if stamp != 0
                && stamp != BUSY
                && at(1) as u32 == initiator
                && at(3) == address
                && at(4) == u64::from(len)
            {
                self.word(place, 0).store(0, Ordering::Release);
                return;
            }
        }
    }

    /// Calls `visit` with the initiator of each put on its way, and the put. Allocates nothing.
    pub fn flights(&self, mut visit: impl FnMut(u32, Access)) {
        for place in self.flight_places() {
            let stamp = self.word(place, 0).load(Ordering::Acquire);
            if stamp == 0 || stamp == BUSY {
                continue;
            }
            let at = |i| self.word(place, i).load(Ordering::Relaxed);
            let (who, site, address, len) = (at(1), at(2), at(3), at(4) as u32);
            fence(Ordering::Acquire);
            if self.word(place, 0).load(Ordering::Relaxed) == stamp && !self.settled(who) {
                let kind = Kind::Put;
                visit(
                    who as u32,
                    Access {
                        kind,
                        site,
                        address,
                        len,
                    },
                );
            }
        }
    }

    fn flight_places(&self) -> core::ops::Range<usize> {
        const { assert!(WORDS > 4) };
        super::ENTRIES + 1..super::ENTRIES + 1 + FLIGHTS
    }
}
