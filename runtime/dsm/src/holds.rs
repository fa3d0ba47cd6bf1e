//! How long a node keeps a page that it was granted.
//!
//! A page that was granted stays for a random time before it can be taken away ([`crate::protocol`],
//! "Holds"). If the page comes back within 5 ms of the end of its last hold, the random part is drawn from a
//! range twice as long as before, up to some 2 ms: nodes that fight for a page then get more done with each
//! visit of it. After a hold has ended, no node waits because of it.

use hetmp_core::sys;
use std::collections::BTreeMap;

/// The shortest hold, and the shortest range of its random part, in nanoseconds.
const HOLD: u64 = 30_000;
/// Nanoseconds. A page that comes back this soon after its last hold is fought for.
const AGAIN: u64 = 5_000_000;
/// Most doublings of the random part.
const DOUBLINGS: u32 = 6;

struct Hold {
    /// When the hold ends, in nanoseconds of the monotonic clock.
    until: u64,
    /// How often its random part was doubled.
    doubled: u32,
}

/// The hold of each page that a node was ever granted.
pub(crate) struct Holds {
    of: BTreeMap<u64, Hold>,
    random: u64,
}

impl Holds {
    pub(crate) fn new(seed: u64) -> Holds {
        Holds {
            of: BTreeMap::new(),
            random: seed | 1,
        }
    }

    /// The page was granted just now.
    pub(crate) fn begin(&mut self, page: u64) {
        let now = sys::monotonic_ns();
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let hold = self.of.entry(page).or_insert(Hold {
            until: 0,
            doubled: 0,
        });
        hold.doubled = if now.saturating_sub(hold.until) < AGAIN && hold.until != 0 {
            (hold.doubled + 1).min(DOUBLINGS)
        } else {
            0
        };
        hold.until = now + HOLD + self.random % (HOLD << hold.doubled);
    }

    /// Nanoseconds until the page's hold ends; 0 if it is over.
    pub(crate) fn left(&self, page: u64) -> u64 {
        let until = self.of.get(&page).map_or(0, |h| h.until);
        until.saturating_sub(sys::monotonic_ns())
    }
}
