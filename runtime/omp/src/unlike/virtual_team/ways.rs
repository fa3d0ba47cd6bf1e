//! Regions that a thread may open as ordinary teams without looking any further.
//!
//! A region that is not worth a virtual team is not to pay for having been thought about either:
//! the thread that opens it finds here how many more times it may do so unasked.
//!
//! An ordinary team of the size that the region asks for is right for any code, so it does not
//! matter if another object's function has come to the address meanwhile.

use core::cell::{Cell, OnceCell};

/// A power of two.
const ENTRIES: usize = 64;

#[derive(Debug, Default)]
struct Entry {
    /// Address of the outlined function; 0: none.
    code: Cell<usize>,
    threads: Cell<u32>,
    left: Cell<u32>,
}

/// What one thread knows. Only a thread that opens regions has the table.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    entries: OnceCell<Box<[Entry]>>,
}

impl Ways {
    /// Functions begin at multiples of 16.
    fn of(entries: &[Entry], code: usize) -> &Entry {
        &entries[(code >> 4) % ENTRIES]
    }

    /// May the region of `code` be opened as an ordinary team of `threads`, unasked? Counts as done.
    #[inline]
    pub(super) fn may_pass(&self, code: usize, threads: u32) -> bool {
        let Some(entries) = self.entries.get() else {
            return false;
        };
        let entry = Self::of(entries, code);
        let left = entry.left.get();
        if left == 0 || entry.code.get() != code || entry.threads.get() != threads {
            return false;
        }
        entry.left.set(left - 1);
        true
    }

    /// It may, so many times.
    pub(super) fn let_pass(&self, code: usize, threads: u32, times: u32) {
        let fresh = || (0..ENTRIES).map(|_| Entry::default()).collect();
        let entry = Self::of(self.entries.get_or_init(fresh), code);
        entry.code.set(code);
        entry.threads.set(threads);
        entry.left.set(times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_times_and_no_other() {
        let ways = Ways::default();
        assert!(!ways.may_pass(0x1230, 2));
        ways.let_pass(0x1230, 2, 3);
        assert!(!ways.may_pass(0x1230, 3));
        // Another function in the same place of the table.
        assert!(!ways.may_pass(0x1230 + 16 * ENTRIES, 2));
        for _ in 0..3 {
            assert!(ways.may_pass(0x1230, 2));
        }
        assert!(!ways.may_pass(0x1230, 2));
    }
}
