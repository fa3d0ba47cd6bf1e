//! Regions that a thread may open as ordinary teams, or run as teams of one, without asking any further.
//!
//! A region that is not worth a virtual team must not pay for being examined each time. The thread that opens
//! it finds here how many more times it may do so without asking.
//!
//! An ordinary team of the size that the region asks for is right for any code, so it does not matter if
//! another object's function has come to the address meanwhile. A team of one is right only for the code that
//! was read. So only regions of the program itself, which is never unloaded, get such entries.

use core::cell::{Cell, OnceCell};

/// Number of sets, a power of two, and of entries in a set. A program with some hundred regions finds room: two regions
/// that shared an entry would drive each other out, and both would ask each time.
const SETS: usize = 128;
const WAYS: usize = 4;

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
    /// The set that `code` belongs to. Functions that look alike lie at equal distances, often a power of two, so all
    /// bits are mixed.
    fn set(entries: &[Entry], code: usize) -> &[Entry] {
        let mixed = (code as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let first = mixed as usize % SETS * WAYS;
        &entries[first..first + WAYS]
    }

    /// The entry of `code`, if it has one.
    #[inline]
    fn find(&self, code: usize) -> Option<&Entry> {
        let set = Self::set(self.entries.get()?, code);
        set.iter().find(|entry| entry.code.get() == code)
    }

    /// May the region of `code` run without asking, if a team has `threads` threads? If so, the execution
    /// counts as done.
    #[inline]
    pub(super) fn may_pass(&self, code: usize, threads: u32) -> Pass {
        let Some(entry) = self.find(code) else {
            return Pass::No;
        };
        let left = entry.left.get();
        if left == 0 || entry.threads.get() != threads {
            return Pass::No;
        }
        entry.left.set(left - 1);
        match entry.longest.get() {
            0 => Pass::Ordinary,
            longest => Pass::TeamOfOne { longest },
        }
    }

    fn pass(&self, code: usize, threads: u32, times: u32, longest: u64) {
        let fresh = || (0..SETS * WAYS).map(|_| Entry::default()).collect();
        let set = Self::set(self.entries.get_or_init(fresh), code);
        let own = set.iter().find(|entry| entry.code.get() == code);
        let least = || set.iter().min_by_key(|entry| entry.left.get());
        let Some(entry) = own.or_else(least) else {
            return;
        };
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
        self.find(code).map_or(0, |entry| entry.left.replace(0))
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
        assert_eq!(ways.may_pass(0x1230 + 16 * SETS, 2), Pass::No);
        for _ in 0..3 {
            assert_eq!(ways.may_pass(0x1230, 2), Pass::Ordinary);
        }
        assert_eq!(ways.may_pass(0x1230, 2), Pass::No);
    }

    /// The regions of a program with 200 of them, one after the other, time and again.
    #[test]
    fn many_regions_have_room() {
        for distance in [0x80, 0xc0, 0x100, 0x130, 0x1000] {
            let ways = Unasked::default();
            let regions: Vec<usize> = (0..200).map(|i| 0x40_1000 + i * distance).collect();
            for &code in &regions {
                ways.let_pass(code, 2, 100);
            }
            let pass = |&&code: &&usize| ways.may_pass(code, 2) == Pass::Ordinary;
            let found = regions.iter().filter(pass).count();
            assert!(found >= 190, "{found} of 200 at distances of {distance}");
        }
    }

    #[test]
    fn a_full_set_drops_the_region_that_must_ask_soonest() {
        let ways = Unasked::default();
        // The entries stand for the addresses of one set.
        let entries: Vec<Entry> = (0..SETS * WAYS).map(|_| Entry::default()).collect();
        let set = |code| Unasked::set(&entries, code).as_ptr();
        let alike = (0x1230usize..)
            .step_by(16)
            .filter(|&c| set(c) == set(0x1230));
        let codes: Vec<usize> = alike.take(WAYS + 1).collect();
        let code = |i: usize| codes[i];
        for i in 0..WAYS {
            ways.let_pass(code(i), 2, 10 - i as u32);
        }
        ways.let_pass(code(WAYS), 2, 3);
        assert_eq!(ways.may_pass(code(WAYS - 1), 2), Pass::No);
        assert_eq!(ways.may_pass(code(0), 2), Pass::Ordinary);
        assert_eq!(ways.may_pass(code(WAYS), 2), Pass::Ordinary);
    }

    #[test]
    fn teams_of_one_are_taken_back() {
        let ways = Unasked::default();
        ways.let_pass_alone(0x1230, 2, 10, 500);
        for _ in 0..4 {
            assert_eq!(ways.may_pass(0x1230, 2), Pass::TeamOfOne { longest: 500 });
        }
        assert_eq!(ways.take_back(0x1230 + 16 * SETS), 0);
        assert_eq!(ways.take_back(0x1230), 6);
        assert_eq!(ways.may_pass(0x1230, 2), Pass::No);
    }
}
