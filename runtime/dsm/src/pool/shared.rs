//! What all nodes of a pool map: the pool itself, which no hardware need keep coherent, and the window, which must be.
//!
//! Made before nodes are forked, and never unmapped. Words of the window are atomics, for which zero is a value, and a
//! table that nobody touches takes no memory.
//!
//! **What other nodes have written** is told by a set of lines for each reader and page, with three levels of bits
//! above it that say where sets are not empty: a reader finds them without knowing where to look, and no number of
//! writes can overflow it.

use super::flush;
use super::lines::{Lines, LINE};
use super::{LeftOut, Wanted};
use crate::loans::Twin;
use crate::{NodeId, PAGE};
use core::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use hetmp_core::sys;
use std::io;

/// Pages share so many locks.
const LOCKS: usize = 4096;
/// Bits of a word.
const BITS: usize = 64;

/// Words that all nodes map.
struct Table {
    at: *mut u8,
    words: usize,
}

// SAFETY: the mapping stays, and is only used as atomics.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

fn map(len: usize) -> io::Result<*mut u8> {
    // SAFETY: the call makes a new mapping.
    let at = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    match at {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(at.cast()),
    }
}

impl Table {
    fn new(words: usize) -> io::Result<Table> {
        let words = words.max(1);
        let at = map(words * size_of::<AtomicU64>())?;
        Ok(Table { at, words })
    }

    fn word(&self, i: usize) -> &AtomicU64 {
        assert!(i < self.words);
        // SAFETY: in bounds and aligned, zero at first, and only ever used as an atomic.
        unsafe { AtomicU64::from_ptr(self.at.cast::<u64>().add(i)) }
    }
}

/// Where nodes tell one node which lines they have written: the sets of lines, and the levels above.
struct Told([Table; 4]);

impl Told {
    fn new(pages: usize) -> io::Result<Told> {
        let of = |level: u32| Table::new(pages.div_ceil(BITS.pow(level)));
        Ok(Told([of(0)?, of(1)?, of(2)?, of(3)?]))
    }

    fn tell(&self, page: usize, lines: Lines) {
        let [sets, levels @ ..] = &self.0;
        sets.word(page).fetch_or(lines.0, Ordering::SeqCst);
        let mut at = page;
        // From below: who sees a bit finds what is under it.
        for level in levels {
            (level.word(at / BITS)).fetch_or(1 << (at % BITS), Ordering::SeqCst);
            at /= BITS;
        }
    }

    fn collect(&self, level: usize, at: usize, found: &mut dyn FnMut(u64, Lines)) {
        let word = self.0[level].word(at);
        let mut bits = match word.load(Ordering::SeqCst) {
            0 => return,
            _ => word.swap(0, Ordering::SeqCst),
        };
        if level == 0 {
            return found(at as u64, Lines(bits));
        }
        while bits != 0 {
            self.collect(level - 1, at * BITS + bits.trailing_zeros() as usize, found);
            bits &= bits - 1;
        }
    }

    fn collect_all(&self, found: &mut dyn FnMut(u64, Lines)) {
        (0..self.0[3].words).for_each(|at| self.collect(3, at, found));
    }
}

/// What the checker knows of each line.
pub(super) struct Ledger {
    /// The last change that was, or should have been, written back: see [`super::check`].
    pub(super) owed: Words,
    /// The number of the last change that was written back.
    pub(super) done: Words,
    /// The region in which the last change was made.
    pub(super) region: Words,
}

/// A word for each line of each page.
pub(super) struct Words(Table);

impl Words {
    pub(super) fn of(&self, page: u64, line: usize) -> &AtomicU64 {
        self.0.word(page as usize * (PAGE / LINE) + line)
    }
}

/// See the [module](self).
pub struct Shared {
    pool: *mut u8,
    len: usize,
    told: Vec<Told>,
    locks: Table,
    head: Table,
    pub(super) ledger: Option<Ledger>,
    says: bool,
    pub(super) left_out: Option<LeftOut>,
}

// SAFETY: the pool stays mapped. Nodes write bytes of it under the page's lock, as atomics.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl core::fmt::Debug for Shared {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// The window's first words.
#[derive(Clone, Copy)]
pub(super) enum Head {
    /// 1: from this region on, nodes ask nobody between points.
    Interval,
    /// Changes so far, for the checker.
    Changes,
    /// Lines written back so far.
    Written,
    /// Lines taken anew so far, and pages taken for the first time.
    Taken,
    Pages,
    /// The checker's lock.
    Lock,
}

impl Shared {
    /// A pool of `len` bytes in memory of this machine, for `nodes` nodes that will be forked.
    ///
    /// # Errors
    /// There are no addresses left.
    pub fn new(
        len: usize,
        nodes: NodeId,
        wanted: Wanted,
    ) -> io::Result<&'static Shared> {
        let pages = len / PAGE;
        let words = || Table::new(pages * (PAGE / LINE)).map(Words);
        let ledger = || -> io::Result<Ledger> {
            Ok(Ledger {
                owed: words()?,
                done: words()?,
                region: words()?,
            })
        };
        Ok(Box::leak(Box::new(Shared {
            pool: map(len)?,
            len,
            told: (0..nodes).map(|_| Told::new(pages)).collect::<Result<_, _>>()?,
            locks: Table::new(LOCKS)?,
            head: Table::new(Head::Lock as usize + 1)?,
            ledger: wanted.checks.then(ledger).transpose()?,
            says: wanted.says,
            left_out: wanted.left_out,
        })))
    }

    /// Where the pool lies in this process.
    pub fn base(&self) -> *mut u8 {
        self.pool
    }

    pub(super) fn head(&self, word: Head) -> &AtomicU64 {
        self.head.word(word as usize)
    }

    pub(super) fn count(&self, word: Head, more: u32) {
        self.head(word).fetch_add(more.into(), Ordering::Relaxed);
    }

    /// Tells all nodes but `me` that these lines have changed.
    pub(super) fn tell(&self, me: NodeId, page: u64, lines: Lines) {
        let others = self.told.iter().enumerate();
        for (_, told) in others.filter(|(node, _)| *node != usize::from(me)) {
            told.tell(page as usize, lines);
        }
    }

    /// What node `me` was told since the last time.
    pub(super) fn told(&self, me: NodeId, found: &mut dyn FnMut(u64, Lines)) {
        self.told[usize::from(me)].collect_all(found);
    }

    /// Runs `body` while no other node runs one for the same word of a table.
    fn locked<R>(word: &AtomicU64, body: impl FnOnce() -> R) -> R {
        while word.swap(1, Ordering::Acquire) != 0 {
            sys::yield_now();
        }
        let result = body();
        word.store(0, Ordering::Release);
        result
    }

    /// Runs `body` alone among all nodes, where there is a checker.
    pub(super) fn alone<R>(&self, body: impl FnOnce() -> R) -> R {
        match self.ledger {
            Some(_) => Shared::locked(self.head(Head::Lock), body),
            None => body(),
        }
    }

    fn page(&self, page: u64) -> *mut u8 {
        assert!((page as usize) < self.len / PAGE);
        self.pool.wrapping_add(page as usize * PAGE)
    }

    /// Invalidates these lines in this processor's caches.
    fn invalidate(&self, page: u64, lines: Lines) {
        let at = self.page(page);
        for i in lines.iter() {
            flush::invalidate(at.wrapping_add(i * LINE));
        }
        flush::fence();
    }

    /// Copies these lines of a page to `to`.
    ///
    /// # Safety
    /// `to` is a page's memory, of which no thread uses these lines.
    pub(super) unsafe fn take(&self, page: u64, lines: Lines, to: *mut u8) {
        self.invalidate(page, lines);
        let from = self.page(page);
        for i in lines.iter() {
            // SAFETY: the page is in the pool, and `to` a page's memory: this function's contract.
            unsafe { to.add(i * LINE).copy_from_nonoverlapping(from.add(i * LINE), LINE) };
        }
        self.count(Head::Taken, lines.len());
    }

    /// Writes the bytes of these lines that differ from the twin to the pool.
    pub(super) fn write_back(&self, page: u64, lines: Lines, now: &[u8; PAGE], twin: &Twin) {
        let lock = self.locks.word(page as usize % LOCKS);
        Shared::locked(lock, || {
            // Other nodes' bytes of these lines are in memory, not in this cache.
            self.invalidate(page, lines);
            let at = self.page(page);
            for i in lines.iter() {
                for byte in i * LINE..(i + 1) * LINE {
                    if now[byte] != twin[byte] {
                        // SAFETY: the byte is in the pool, where others use it as an atomic or copy it without a race:
                        // a byte that this node has written no other node reads now.
                        let to = unsafe { AtomicU8::from_ptr(at.add(byte)) };
                        to.store(now[byte], Ordering::Relaxed);
                    }
                }
                flush::write_back(at.wrapping_add(i * LINE));
            }
            flush::fence();
        });
        self.count(Head::Written, lines.len());
    }

    /// One line about what was done so far, if the user wants it.
    pub(super) fn said(&self) -> Option<String> {
        let n = |word| self.head(word).load(Ordering::Relaxed);
        let said = || format!(
            "pool: {} lines written back ({}), {} taken, {} of them with {} pages",
            n(Head::Written),
            flush::name(),
            n(Head::Taken),
            n(Head::Pages) * (PAGE / LINE) as u64,
            n(Head::Pages)
        );
        self.says.then(said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reader_is_told_once() {
        let shared = Shared::new(300_000 * PAGE, 3, Wanted::default()).expect("addresses");
        let told = |node| {
            let mut all = Vec::new();
            shared.told(node, &mut |page, lines: Lines| all.push((page, lines.0)));
            all
        };
        for (page, lines) in [(7, 1), (299_999, 4), (7, 2), (64, u64::MAX)] {
            shared.tell(1, page, Lines(lines));
        }
        let all = [(7, 3), (64, u64::MAX), (299_999, 4)];
        assert_eq!((told(0), told(1), told(2)), (all.to_vec(), vec![], all.to_vec()));
        assert_eq!((told(0), told(2)), (vec![], vec![]));
    }

    #[test]
    fn bytes_of_two_nodes_meet_in_a_line() {
        let shared = Shared::new(PAGE, 2, Wanted::default()).expect("addresses");
        let twin: Twin = Box::new([0; PAGE]);
        for (byte, value) in [(130, 5), (131, 6)] {
            let mut now = *twin;
            now[byte] = value;
            let lines = Lines::changed(&now, &twin);
            assert_eq!(lines.iter().collect::<Vec<_>>(), [2]);
            shared.write_back(0, lines, &now, &twin);
        }
        let mut page = [0; PAGE];
        // SAFETY: nobody else uses the page.
        unsafe { shared.take(0, Lines(4), page.as_mut_ptr()) };
        assert_eq!(page[128..133], [0, 0, 5, 6, 0]);
    }
}
