//! The window: words that all nodes map, and that must be coherent.
//!
//! Made before nodes are forked, and never unmapped. All are atomics, for which zero is a value, and a table that
//! nobody touches takes no memory.
//!
//! **What other nodes have written** is told by a set of lines for each reader and page, with three levels of bits
//! above it that say where sets are not empty: a reader finds them without knowing where to look, and no number of
//! writes can overflow it.

use super::lines::{Lines, LINE};
use crate::PAGE;
use core::sync::atomic::{AtomicU64, Ordering};
use std::io;

/// Bits of a word.
const BITS: usize = 64;

/// Words that all nodes map.
pub(super) struct Table {
    at: *mut u8,
    words: usize,
}

// SAFETY: the mapping stays, and is only used as atomics.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

pub(super) fn map(len: usize) -> io::Result<*mut u8> {
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
    pub(super) fn new(words: usize) -> io::Result<Table> {
        let words = words.max(1);
        let at = map(words * size_of::<AtomicU64>())?;
        Ok(Table { at, words })
    }

    pub(super) fn word(&self, i: usize) -> &AtomicU64 {
        assert!(i < self.words);
        // SAFETY: in bounds and aligned, zero at first, and only ever used as an atomic.
        unsafe { AtomicU64::from_ptr(self.at.cast::<u64>().add(i)) }
    }
}

/// Where nodes tell one node which lines they have written: the sets of lines, and the levels above.
pub(super) struct Told([Table; 4]);

impl Told {
    pub(super) fn new(pages: usize) -> io::Result<Told> {
        let of = |level: u32| Table::new(pages.div_ceil(BITS.pow(level)));
        Ok(Told([of(0)?, of(1)?, of(2)?, of(3)?]))
    }

    pub(super) fn tell(&self, page: usize, lines: Lines) {
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

    pub(super) fn collect_all(&self, found: &mut dyn FnMut(u64, Lines)) {
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

impl Ledger {
    pub(super) fn new(pages: usize) -> io::Result<Ledger> {
        Ok(Ledger {
            owed: Words::new(pages)?,
            done: Words::new(pages)?,
            region: Words::new(pages)?,
        })
    }
}

/// A word for each line of each page.
pub(super) struct Words(Table);

impl Words {
    pub(super) fn new(pages: usize) -> io::Result<Words> {
        Table::new(pages * (PAGE / LINE)).map(Words)
    }

    fn of(&self, page: u64, line: usize) -> &AtomicU64 {
        self.0.word(page as usize * (PAGE / LINE) + line)
    }

    pub(super) fn get(&self, page: u64, line: usize) -> u64 {
        self.of(page, line).load(Ordering::SeqCst)
    }

    pub(super) fn set(&self, page: u64, line: usize, value: u64) {
        self.of(page, line).store(value, Ordering::SeqCst);
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
    /// Pages for which there is room in the pool's file so far.
    Room,
    /// The checker's lock.
    Lock,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_told_once() {
        let told = Told::new(300_000).expect("addresses");
        for (page, lines) in [(7, 1), (299_999, 4), (7, 2), (64, u64::MAX)] {
            told.tell(page, Lines(lines));
        }
        let all = || {
            let mut all = Vec::new();
            told.collect_all(&mut |page, lines| all.push((page, lines.0)));
            all
        };
        assert_eq!(all(), [(7, 3), (64, u64::MAX), (299_999, 4)]);
        assert_eq!(all(), []);
    }
}
