//! Puts on their way to a rank, as its board lists them: who reads their bytes now gets old ones, or a mixture.
//!
//! An initiator lists a put before it announces the put. The adapter takes it off the list before it writes the last
//! piece, so that whoever has seen that piece finds no put on the list. A list that is full takes no more puts.

use super::{Access, Board, Kind, WORDS};
use hetmp_core::sync::Ordering;

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
            if !self.entry(place).take_free() {
                continue;
            }
            let who = u64::from(initiator) | u64::from(epoch) << 48;
            // No two flights have one stamp: a reader notices that the place was used again.
            let n = self.word(0, 2).fetch_add(1, Ordering::Relaxed);
            let words = [who, put.site, put.address, u64::from(put.len)];
            self.entry(place).write(&words, n + 1);
            return;
        }
    }

    /// Takes a put of `initiator` off the list.
    pub(crate) fn land(&self, initiator: u32, address: u64, len: u32) {
        for place in self.flight_places() {
            let Some((_, [who, _, at, bytes])) = self.entry(place).read() else {
                continue;
            };
            if who as u32 == initiator && at == address && bytes == u64::from(len) {
                self.word(place, 0).store(0, Ordering::Release);
                return;
            }
        }
    }

    /// Calls `visit` with the initiator of each put on its way, and the put. Allocates nothing.
    pub fn flights(&self, mut visit: impl FnMut(u32, Access)) {
        for place in self.flight_places() {
            let Some((_, [who, site, address, len])) = self.entry(place).read() else {
                continue;
            };
            if !self.settled(who) {
                let len = len as u32;
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
