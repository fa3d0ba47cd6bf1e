//! How long a node keeps a page that it was granted.
//!
//! A page that was granted stays for a random time before it can be taken away ([`crate::protocol`], "Holds"). After
//! that no node waits because of it.
//!
//! **How long.** Two nodes that fight for a page, as in a loop of atomic additions, get more done with each visit if
//! the hold is long. But most pages that go to and fro are not fought for: a region's data goes to the other node,
//! and back for the next region; a flag is set here and read there. There each hold is a pause in which nobody
//! works. So a hold is about as long as the transfer of a page: then neither costs more than twice what the better
//! length would. (Holds that grow with each return of the page, up to 2 ms, made each region of a loop of short
//! regions take 2.2 ms instead of 0.3 ms, and won nothing where nodes fight.)
//!
//! **Going first.** The origin can keep all pages that it has ([`Keep`]), so that its threads end their part of a
//! region before others take what they need.

use crate::by_page::ByPage;
use core::sync::atomic::{AtomicU64, Ordering};
use hetmp_core::sys;
use std::sync::OnceLock;

/// Until when a node keeps the pages that it has, and who decides that.
#[derive(Debug, Default)]
pub struct Keep {
    /// A time of the monotonic clock in nanoseconds.
    until: AtomicU64,
    judge: OnceLock<extern "C" fn()>,
}

impl Keep {
    /// Whoever waits for the end of a time of keeping looks this often, as it may end early.
    const LOOKS_NS: u64 = 500_000;

    /// From now on the node keeps its pages for `ns` nanoseconds.
    pub fn keep(&self, ns: u64) {
        let until = if ns == 0 {
            0
        } else {
            sys::monotonic_ns().saturating_add(ns)
        };
        self.until.store(until, Ordering::SeqCst);
    }

    /// `judge` is called on a thread that serves pages, whenever a thread of the node asks another one for a page. It
    /// may call [`Keep::keep`]. The first one stays.
    pub fn judged_by(&self, judge: extern "C" fn()) {
        let _ = self.judge.set(judge);
    }

    /// A thread of the node asks another node for a page.
    pub(crate) fn asks(&self) {
        if let Some(judge) = self.judge.get() {
            judge();
        }
    }

    /// Does the node keep its pages now?
    pub(crate) fn is_on(&self) -> bool {
        let until = self.until.load(Ordering::SeqCst);
        until != 0 && sys::monotonic_ns() < until
    }

    /// How long to wait for a page whose hold lasts `left` nanoseconds, if the node has it; 0: it is over.
    pub(crate) fn wait(&self, left: u64) -> u64 {
        if self.is_on() {
            Keep::LOOKS_NS
        } else {
            left
        }
    }
}

/// A hold lasts at least `least` nanoseconds, and less than `least + spread`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    least: u64,
    spread: u64,
}

impl Length {
    /// Where the server of a machine moves pages: 15 to 25 us each.
    pub(crate) const SERVED: Length = Length {
        least: 15_000,
        spread: 30_000,
    };
    /// Where pages travel in messages: some 100 us each.
    pub(crate) const SENT: Length = Length {
        least: 30_000,
        spread: 60_000,
    };
}

/// The hold of each page that a node was ever granted.
pub(crate) struct Holds {
    length: Length,
    /// When the page's hold ends, in nanoseconds of the monotonic clock.
    until: ByPage<u64>,
    random: u64,
}

impl Holds {
    pub(crate) fn new(seed: u64, length: Length) -> Holds {
        Holds {
            length,
            until: ByPage::default(),
            random: seed | 1,
        }
    }

    /// The page was granted just now.
    pub(crate) fn begin(&mut self, page: u64) {
        self.begin_at(page, sys::monotonic_ns());
    }

    /// The page was granted at this time of the monotonic clock, in nanoseconds.
    pub(crate) fn begin_at(&mut self, page: u64, now: u64) {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let Length { least, spread } = self.length;
        let until = now + least + self.random % spread;
        self.until.insert(page, until);
    }

    /// Nanoseconds until the page's hold ends; 0 if it is over.
    pub(crate) fn left(&self, page: u64) -> u64 {
        let until = self.until.get(&page).copied().unwrap_or(0);
        until.saturating_sub(sys::monotonic_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who waits looks again soon, as keeping may end early.
    #[test]
    fn keeping_ends_by_itself_or_when_told() {
        let keep = Keep::default();
        assert!(!keep.is_on());
        assert_eq!((keep.wait(0), keep.wait(7)), (0, 7));
        keep.keep(u64::MAX);
        assert!(keep.is_on());
        assert!((1..1_000_000).contains(&keep.wait(u64::MAX)));
        keep.keep(0);
        assert!(!keep.is_on());
        keep.keep(1_000_000);
        while keep.is_on() {
            core::hint::spin_loop();
        }
        assert_eq!(keep.wait(0), 0);
    }

    /// A page that comes back again and again is not kept longer each time, and not always for the same time.
    #[test]
    fn holds_stay_short_and_differ() {
        let Length { least, spread } = Length::SERVED;
        let mut holds = Holds::new(7, Length::SERVED);
        let mut lengths = Vec::new();
        for _ in 0..500 {
            let before = sys::monotonic_ns();
            holds.begin(3);
            let until = holds.until[&3];
            lengths.push(until - before);
            // The clock goes on between the two readings.
            assert!(until <= sys::monotonic_ns() + least + spread);
            assert!(until >= before + least);
        }
        lengths.sort_unstable();
        assert!(lengths[450] - lengths[50] > spread / 4, "{lengths:?}");
        assert_eq!(holds.left(4), 0);
    }
}
