//! The checker: finds two writes of an initiator that nothing orders, and tells the target that waits for the second.
//!
//! Every rank has a [`Board`] in memory that its peers have mapped. An initiator remembers for every target what it
//! wrote since its last fence to that target (`Tracker`). When it posts another write, it pins the earlier write and
//! the new one as a pair to the target's board, *before* it announces the new one to its adapter. When a wait or test
//! of the target has succeeded, the target asks its board about the word it looked at ([`Board::observe`]). So a
//! report does not depend on luck: it does not matter which of the two writes arrived first this time.
//!
//! **What is reported** is a missing order: the target waited for the second write, and the data of the first need
//! not be there yet. A report is harmless if the target reads the first write's data only after a barrier, or after
//! another flag that is ordered; a fence between the two costs little then.
//!
//! **What is not reported**: a put's data before its own signal (always ordered); an atomic or signal before another
//! one on the same word (fences do not decide their order, or both orders give the same value); operations that fetch
//! (their result shows that they took effect); pairs on different queue pairs; what is posted without a site; memory
//! that the target polls without a wait.

mod entry;
mod flights;
mod tracker;

use entry::Entry;
use hetmp_core::sync::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
pub(crate) use tracker::Tracker;

/// Words of an entry.
const WORDS: usize = 8;
/// Entries of a board. One more place, the first, holds its counts.
const ENTRIES: usize = 255;
/// Bytes of a board in shared memory.
pub const BOARD_BYTES: usize = (ENTRIES + 1 + flights::FLIGHTS) * WORDS * 8;
/// How many writes to one target an initiator remembers.
const REMEMBERED: usize = 8;

/// What kind of write it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Data of a put.
    Put = 0,
    /// An atomic.
    Atomic = 1,
    /// The signal of a put.
    Signal = 2,
}

/// A write, as a report names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// What it was.
    pub kind: Kind,
    /// Where in the program the write was posted: a number that the initiator chose, such as [`site`]'s.
    pub site: u64,
    /// First address, as the target registered it.
    pub address: u64,
    /// Bytes.
    pub len: u32,
}

impl Access {
    /// True if one of the bytes is written.
    pub fn overlaps(&self, address: u64, len: u32) -> bool {
        self.address < address.saturating_add(u64::from(len))
            && address < self.address.saturating_add(u64::from(self.len))
    }
}

/// Two writes of one initiator that nothing orders. The target waited for the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    /// The initiator's rank.
    pub initiator: u32,
    /// The earlier write.
    pub first: Access,
    /// The write that the target waited for.
    pub flag: Access,
}

impl core::fmt::Display for Race {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let name = |k: Kind| match k {
            Kind::Put => "put",
            Kind::Atomic => "atomic",
            Kind::Signal => "signal",
        };
        write!(
            f,
            "{} of {} bytes to {:#x} by PE {} at {:#x}, then {} to the flag {:#x} at {:#x}: \
             a fence between the two is what orders them",
            name(self.first.kind),
            self.first.len,
            self.first.address,
            self.initiator,
            self.first.site,
            name(self.flag.kind),
            self.flag.address,
            self.flag.site,
        )
    }
}

/// The board of one rank, as mapped in this process.
///
/// # Memory ordering
/// [`Entry`] says how entries are written and read. A report is on the board before the target sees the flag: the
/// initiator pins the pair before it rings, and the adapter writes the flag after it took the descriptor (release and
/// acquire on the doorbell, then on the flag).
#[derive(Debug)]
pub struct Board {
    start: *const AtomicU64,
    /// For each entry the stamp of the pair that this process was told last.
    told: Mutex<[u64; ENTRIES + 1]>,
}

// SAFETY: the memory is accessed by atomics only. Who called `at` keeps it valid while the board is used.
unsafe impl Send for Board {}
// SAFETY: the memory is accessed by atomics only.
unsafe impl Sync for Board {}

impl Board {
    /// The board at `start`: [`BOARD_BYTES`] bytes that were zero before the first rank used them.
    ///
    /// # Safety
    /// `start` is aligned to 8 and valid for that many bytes while the result is used, and nobody accesses
    /// them but through boards.
    pub unsafe fn at(start: *mut u8) -> Board {
        Board {
            start: start.cast::<AtomicU64>().cast_const(),
            told: Mutex::new([0; ENTRIES + 1]),
        }
    }

    /// The same board once more, for another reader, who is told everything anew.
    #[must_use]
    pub fn again(&self) -> Board {
        // SAFETY: the memory of this board, under the promise that its maker was given.
        unsafe { Board::at(self.start.cast::<u8>().cast_mut()) }
    }

    fn entry(&self, entry: usize) -> Entry<'_> {
        debug_assert!(entry <= ENTRIES + flights::FLIGHTS);
        // SAFETY: the entry lies within the [`BOARD_BYTES`] that the caller of `at` keeps valid.
        Entry(unsafe { core::slice::from_raw_parts(self.start.add(entry * WORDS), WORDS) })
    }

    fn word(&self, entry: usize, word: usize) -> &AtomicU64 {
        &self.entry(entry).0[word]
    }

    /// All ranks have met, and everything posted before has been done. Pairs from before that are settled and will
    /// not be reported. Every rank calls this for its own board, the same number of times.
    pub fn advance(&self) {
        self.word(0, 1).fetch_add(1, Ordering::Relaxed);
    }

    /// The low 16 bits of the number of calls of [`Board::advance`] on this board.
    fn epoch(&self) -> u16 {
        self.word(0, 1).load(Ordering::Relaxed) as u16
    }

    /// True if `who`, the second word of an entry, was written before all ranks have met.
    fn settled(&self, who: u64) -> bool {
        // An initiator may leave a meeting before the board's owner does, and never the other way round.
        ((who >> 48) as u16).wrapping_sub(self.epoch()) > u16::MAX / 2
    }

    /// Takes a pair off the board, unless its entry is another pair's by now.
    fn withdraw(&self, (entry, stamp): (usize, u64)) {
        let _ =
            self.word(entry, 0)
                .compare_exchange(stamp, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Pins a pair, and returns its entry and stamp. `epoch` is that of the initiator's own board when it posted the
    /// second write.
    fn pin(&self, race: &Race, epoch: u16) -> Option<(usize, u64)> {
        let n = self.word(0, 0).fetch_add(1, Ordering::Relaxed);
        let entry = 1 + (n % ENTRIES as u64) as usize;
        // A writer that is a whole round behind is still writing this entry: drop this report rather than mix two.
        if !self.entry(entry).take() {
            return None;
        }
        let lens = u64::from(race.first.len) | u64::from(race.flag.len) << 32;
        let who = u64::from(race.initiator)
            | (race.first.kind as u64) << 32
            | (race.flag.kind as u64) << 40
            | u64::from(epoch) << 48;
        let words = [
            who,
            race.first.site,
            race.first.address,
            race.flag.site,
            race.flag.address,
            lens,
        ];
        self.entry(entry).write(&words, n + 1);
        Some((entry, n + 1))
    }

    /// The pairs on the board whose second write touches the `len` bytes at `address` (the owner's addresses), which
    /// a wait or test of the owner has just seen. Each pair is returned once.
    pub fn observe(&self, address: u64, len: u32) -> Vec<Race> {
        let mut races = Vec::new();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        for entry in 1..=ENTRIES {
            let Some((stamp, w)) = self.entry(entry).read::<6>() else {
                continue;
            };
            let kind = |code: u64| match code & 0xff {
                0 => Kind::Put,
                1 => Kind::Atomic,
                _ => Kind::Signal,
            };
            let race = Race {
                initiator: w[0] as u32,
                first: Access {
                    kind: kind(w[0] >> 32),
                    site: w[1],
                    address: w[2],
                    len: w[5] as u32,
                },
                flag: Access {
                    kind: kind(w[0] >> 40),
                    site: w[3],
                    address: w[4],
                    len: (w[5] >> 32) as u32,
                },
            };
            if !self.settled(w[0]) && race.flag.overlaps(address, len) && told[entry] != stamp {
                told[entry] = stamp;
                races.push((stamp, race));
            }
        }
        races.sort_unstable_by_key(|(stamp, _)| *stamp);
        races.into_iter().map(|(_, race)| race).collect()
    }
}

/// A code address as an offset in the file that it was loaded from, which `addr2line` understands. Processes that
/// loaded the file at different addresses get the same number. An address that belongs to no file is returned as it
/// is.
pub fn site(address: usize) -> u64 {
    // SAFETY: a plain struct of pointers, for which zero is a value.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    // SAFETY: any address may be asked about; the struct lives through the call.
    let found = unsafe { libc::dladdr(address as *const libc::c_void, &mut info) };
    let base = info.dli_fbase as usize;
    if found != 0 && base != 0 && base <= address {
        (address - base) as u64
    } else {
        address as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::descriptor::{
        Atomic, AtomicOp, Fetch, Inline, Key, Local, Remote, Signal, SignalOp, Source, Width, Work,
    };
    use std::sync::Arc;

    const DATA: u64 = 0x1000;
    const FLAG: u64 = 0x2000;

    fn boards(n: usize) -> Arc<[Board]> {
        (0..n)
            .map(|_| {
                let words = Box::leak(vec![0u64; BOARD_BYTES / 8].into_boxed_slice());
                // SAFETY: leaked, aligned, of that length, and used by this board only.
                unsafe { Board::at(words.as_mut_ptr().cast()) }
            })
            .collect()
    }

    fn remote(address: u64) -> Remote {
        Remote {
            address,
            key: Key(1),
        }
    }

    fn put(address: u64, len: u32, signal: bool) -> Work {
        Work::Put {
            source: Source::Memory(Local::default(), len),
            remote: remote(address),
            signal: signal.then_some(Signal {
                remote: remote(FLAG),
                op: SignalOp::Set,
                value: 1,
            }),
        }
    }

    fn flag() -> Work {
        Work::Put {
            source: Source::Inline(Inline::new(&[1; 8]).expect("fits")),
            remote: remote(FLAG),
            signal: None,
        }
    }

    fn add(address: u64, fetch: Fetch) -> Work {
        Work::Atomic(Atomic {
            op: AtomicOp::Add,
            width: Width::W8,
            fetch,
            remote: remote(address),
            operand: 1,
            comparand: 0,
        })
    }

    /// Pairs of sites (the places in the list, from 1) that rank 1 hears of when it waited for the flag.
    fn heard(works: &[(u32, Work)]) -> Vec<(u64, u64)> {
        let boards = boards(3);
        let mut t = Tracker::new(0, boards.clone());
        for (n, (peer, work)) in works.iter().enumerate() {
            t.site = n as u64 + 1;
            t.posted(n as u64, *peer, work);
        }
        let races = boards[1].observe(FLAG, 8);
        assert!(boards[1].observe(FLAG, 8).is_empty(), "each pair once");
        assert!(races.iter().all(|r| r.initiator == 0));
        races.iter().map(|r| (r.first.site, r.flag.site)).collect()
    }

    #[test]
    fn a_put_and_a_flag_that_no_fence_orders_are_named() {
        assert_eq!(heard(&[(1, put(DATA, 64, false)), (1, flag())]), [(1, 2)]);
        // A flag may be an atomic, or the signal of another put.
        let atomic = add(FLAG, Fetch::No);
        assert_eq!(heard(&[(1, put(DATA, 64, false)), (1, atomic)]), [(1, 2)]);
        let other = put(0x3000, 8, true);
        assert_eq!(heard(&[(1, put(DATA, 64, false)), (1, other)]), [(1, 2)]);
        // A fence to another target, or one before the data, orders nothing here.
        let works = [
            (1, Work::Fence),
            (1, put(DATA, 64, false)),
            (2, Work::Fence),
            (1, flag()),
        ];
        assert_eq!(heard(&works), [(2, 4)]);
        // Each of several is named: nobody knows here which of them the target reads.
        let works = [
            (1, put(DATA, 8, false)),
            (1, put(0x1100, 8, false)),
            (1, flag()),
        ];
        assert_eq!(heard(&works), [(1, 3), (2, 3)]);
    }

    #[test]
    fn what_is_ordered_or_needs_no_order_is_not() {
        let fenced = [(1, put(DATA, 64, false)), (1, Work::Fence), (1, flag())];
        assert_eq!(heard(&fenced), []);
        assert_eq!(heard(&[(1, put(DATA, 64, true))]), [], "its own signal");
        assert_eq!(heard(&[(1, put(DATA, 64, true)), (1, flag())]), []);
        assert_eq!(heard(&[(2, put(DATA, 64, false)), (1, flag())]), []);
        assert_eq!(heard(&[(1, put(DATA, 0, false)), (1, flag())]), []);
        let count = || (1, add(FLAG, Fetch::No));
        assert_eq!(heard(&[count(), count(), count()]), [], "a counter");
        let fetched = (1, add(DATA, Fetch::Completion));
        assert_eq!(heard(&[fetched, (1, flag())]), [], "it has taken effect");
        // A wait for something else.
        let elsewhere = (1, put(0x3000, 8, false));
        assert_eq!(heard(&[(1, put(DATA, 64, false)), elsewhere]), []);
    }

    #[test]
    fn quiet_orders_everything_and_no_site_is_no_report() {
        let boards = boards(2);
        let mut t = Tracker::new(1, boards.clone());
        t.site = 1;
        t.posted(0, 0, &put(DATA, 8, false));
        t.quiet();
        t.posted(1, 0, &flag());
        t.quiet();
        t.site = 0;
        t.posted(2, 0, &put(DATA, 8, false));
        t.site = 2;
        t.posted(3, 0, &flag());
        assert_eq!(boards[0].observe(FLAG, 8), []);
    }

    #[test]
    fn a_board_that_ran_over_keeps_the_latest() {
        let boards = boards(2);
        let mut t = Tracker::new(0, boards.clone());
        for n in 1..=1000 {
            t.site = n;
            t.posted(n, 1, &put(DATA, 8, false));
        }
        t.site = 2000;
        t.posted(1001, 1, &flag());
        let races = boards[1].observe(FLAG + 4, 4);
        let firsts: Vec<u64> = races.iter().map(|r| r.first.site).collect();
        assert_eq!(firsts, (993..=1000).collect::<Vec<u64>>());
        assert!(races.iter().all(|r| r.flag.site == 2000));
        assert_eq!(
            races[7].to_string(),
            "put of 8 bytes to 0x1000 by PE 0 at 0x3e8, then put to the flag 0x2000 at 0x7d0: \
             a fence between the two is what orders them"
        );
    }

    #[test]
    fn writers_at_once_never_mix_two_reports() {
        let boards = boards(1);
        let mut seen = 0;
        std::thread::scope(|s| {
            for rank in 1..4u32 {
                let boards = &boards;
                s.spawn(move || {
                    for n in 0..3000u64 {
                        let access = Access {
                            kind: Kind::Put,
                            site: n << 8 | u64::from(rank),
                            address: FLAG + u64::from(rank),
                            len: rank,
                        };
                        let race = Race {
                            initiator: rank,
                            first: access,
                            flag: access,
                        };
                        boards[0].pin(&race, 0);
                    }
                });
            }
            for _ in 0..200 {
                for r in boards[0].observe(FLAG, 64) {
                    seen += 1;
                    let rank = u64::from(r.initiator);
                    assert_eq!((r.first.address, r.first.site & 255), (FLAG + rank, rank));
                    assert_eq!(r.first, r.flag);
                }
            }
        });
        seen += boards[0].observe(FLAG, 64).len();
        assert!(seen > 0);
    }

    #[test]
    fn what_was_posted_before_all_met_is_settled() {
        let boards = boards(2);
        let mut t = Tracker::new(0, boards.clone());
        let mut post = |site| {
            t.site = site;
            t.posted(2 * site, 1, &put(DATA, 64, false));
            t.posted(2 * site + 1, 1, &flag());
        };
        post(1);
        boards[0].advance();
        // The initiator is out of the meeting, the target still in it: what comes now counts.
        post(2);
        boards[1].advance();
        let mut heard: Vec<u64> = boards[1]
            .observe(FLAG, 8)
            .iter()
            .map(|r| r.flag.site)
            .collect();
        heard.dedup();
        assert_eq!(heard, [2]);
    }

    #[test]
    fn a_pair_is_withdrawn_by_a_write_that_is_ordered_after_it() {
        let other = || put(0x3000, 8, false);
        let heard_after = |order: &dyn Fn(&mut Tracker), peer: u32| {
            let boards = boards(3);
            let mut t = Tracker::new(0, boards.clone());
            t.site = 1;
            t.posted(0, 1, &put(DATA, 64, false));
            t.posted(1, 1, &flag());
            order(&mut t);
            t.posted(3, peer, &other());
            boards[1].observe(FLAG, 8).len()
        };
        // Who waits for the write behind the fence may then look at the flag and read the data.
        assert_eq!(heard_after(&|t| t.posted(2, 1, &Work::Fence), 1), 0);
        assert_eq!(heard_after(&|t| t.posted(2, 1, &Work::Fence), 2), 1);
        assert_eq!(heard_after(&|t| t.posted(2, 2, &Work::Fence), 2), 1);
        // After a quiet, also another rank may have heard and told.
        assert_eq!(heard_after(&Tracker::quiet, 2), 0);
        assert_eq!(heard_after(&|_| {}, 1), 1);
    }

    #[test]
    fn puts_are_listed_until_they_land() {
        let boards = boards(1);
        let board = &boards[0];
        let listed = || {
            let mut all = Vec::new();
            board.flights(|initiator, put| all.push((initiator, put.site, put.len)));
            all
        };
        let long = |site, len| Access {
            kind: Kind::Put,
            site,
            address: DATA,
            len,
        };
        board.depart(1, &long(5, 8), 0);
        assert_eq!(listed(), [], "a word may be a flag that the program polls");
        board.depart(1, &long(5, 64), 0);
        board.depart(2, &long(6, 64), 0);
        board.land(1, DATA, 65);
        assert_eq!(listed(), [(1, 5, 64), (2, 6, 64)]);
        board.land(1, DATA, 64);
        assert_eq!(listed(), [(2, 6, 64)]);
        for n in 0..1000 {
            board.depart(1, &long(n, 100), 0);
        }
        assert_eq!(listed().len(), flights::FLIGHTS);
        board.advance();
        assert_eq!(listed(), [], "all have met");
    }

    #[test]
    fn a_site_is_an_offset_in_its_file() {
        let here = site as fn(usize) -> u64 as usize;
        let offset = site(here);
        assert!(offset > 0 && offset < here as u64);
        assert_eq!(site(7), 7);
    }
}
