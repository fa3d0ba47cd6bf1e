//! Regions that a thread may open as ordinary teams, or run as teams of one, without asking any further.
//!
//! A region that is not worth a virtual team must not pay for being examined each time. The thread that opens
//! it finds here how many more times it may do so without asking.
//!
//! An ordinary team of the size that the region asks for is right for any code, so it does not matter if
//! another object's function has come to the address meanwhile. A team of one is right only for the code that
//! was read. So only regions of the program itself, which is never unloaded, get such entries.

use core::cell::{Cell, OnceCell};

/// Number of entries, a power of two.
const ENTRIES: usize = 256;

#[derive(Debug, Default)]
struct Entry {
    /// Address of the outlined function; 0: none.
    code: Cell<usize>,
    threads: Cell<u32>,
    left: Cell<u32>,
    /// Most ticks of an execution by a team of one; 0: teams have the ordinary size.
    longest: Cell<u64>,
}

/// How a region may run without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// It must ask.
    No,
    /// As an ordinary team.
    Ordinary,
    /// As a team of one. If an execution takes more ticks than `longest`, the caller tells
    /// [`Unasked::take_back`].
    TeamOfOne { longest: u64 },
}

/// One thread's table. Only a thread that opens regions has one.
#[derive(Debug, Default)]
pub(crate) struct Unasked {
    entries: OnceCell<Box<[Entry]>>,
}

impl Unasked {
    /// The entry for `code`. Functions begin at multiples of 16, so the low four bits are dropped.
    fn of(entries: &[Entry], code: usize) -> &Entry {
        &entries[(code >> 4) % ENTRIES]
    }

    /// May the region of `code` run without asking, if a team has `threads` threads? If so, the execution
    /// counts as done.
    #[inline]
    pub(super) fn may_pass(&self, code: usize, threads: u32) -> Pass {
        let Some(entries) = self.entries.get() else {
            return Pass::No;
        };
        let entry = Self::of(entries, code);
        let left = entry.left.get();
        if left == 0 || entry.code.get() != code || entry.threads.get() != threads {
            return Pass::No;
        }
        entry.left.set(left - 1);
        match entry.longest.get() {
            0 => Pass::Ordinary,
            longest => Pass::TeamOfOne { longest },
        }
    }

    fn pass(&self, code: usize, threads: u32, times: u32, longest: u64) {
        let fresh = || (0..ENTRIES).map(|_| Entry::default()).collect();
        let entry = Self::of(self.entries.get_or_init(fresh), code);
        entry.code.set(code);
        entry.threads.set(threads);
        entry.left.set(times);
        entry.longest.set(longest);
    }

    /// The region may open as an ordinary team `times` times.
    pub(super) fn let_pass(&self, code: usize, threads: u32, times: u32) {
        self.pass(code, threads, times, 0);
    }

    /// The region may run as a team of one `times` times, as long as none takes more than `longest` ticks.
    pub(super) fn let_pass_alone(&self, code: usize, threads: u32, times: u32, longest: u64) {
        self.pass(code, threads, times, longest.max(1));
    }

    /// The region must ask again. Returns how many more times it might have run.
    #[cold]
    pub(super) fn take_back(&self, code: usize) -> u32 {
        let Some(entries) = self.entries.get() else {
            return 0;
        };
        let entry = Self::of(entries, code);
        if entry.code.get() == code {
            entry.left.replace(0)
        } else {
            0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_times_and_no_other() {
        let ways = Unasked::default();
        assert_eq!(ways.may_pass(0x1230, 2), Pass::No);
        ways.let_pass(0x1230, 2, 3);
        assert_eq!(ways.may_pass(0x1230, 3), Pass::No);
        // Another function with the same entry of the table.
        assert_eq!(ways.may_pass(0x1230 + 16 * ENTRIES, 2), Pass::No);
        for _ in 0..3 {
            assert_eq!(ways.may_pass(0x1230, 2), Pass::Ordinary);
        }
        assert_eq!(ways.may_pass(0x1230, 2), Pass::No);
    }

    #[test]
    fn teams_of_one_are_taken_back() {
        let ways = Unasked::default();
        ways.let_pass_alone(0x1230, 2, 10, 500);
        for _ in 0..4 {
            assert_eq!(ways.may_pass(0x1230, 2), Pass::TeamOfOne { longest: 500 });
        }
        assert_eq!(ways.take_back(0x1230 + 16 * ENTRIES), 0);
        assert_eq!(ways.take_back(0x1230), 6);
        assert_eq!(ways.may_pass(0x1230, 2), Pass::No);
    }
}
