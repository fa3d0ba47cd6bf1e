//! Which memory holds which page: the protocol of a distributed shared memory,
//! as far as it costs time.
//!
//! A page has copies in one or several memories. To read it a memory needs a copy; to write it, the only
//! copy. Getting either takes a *remote fault*. A thread that needs a page which another thread of its memory
//! is fetching waits for the page, and has had a fault, too. The pages of a chunk are touched once each, all
//! at the chunk's start. The model does not follow pages that two nodes write in turns *while* their chunks
//! run.

use super::cost::hash;
use super::workload::{Access, Array, Pattern};
use hetmp_sched::ranges::Range;

/// Pages of all arrays.
#[derive(Debug)]
pub(super) struct Pages {
    arrays: Vec<Held>,
    memories: usize,
}

#[derive(Debug)]
struct Held {
    /// Memories that have a copy, one bit each.
    copies: Vec<u64>,
    /// Pages of which memory `m` has a copy.
    readable: Vec<u64>,
    /// Pages of which memory `m` has the only copy.
    owned: Vec<u64>,
    pages_per_unit: u64,
    /// When the last fetch of a page is over.
    ready: Vec<u64>,
    /// The time when all fetches into memory `m` are over.
    quiet: Vec<u64>,
}

/// The result of a thread's touches.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    /// Pages that must come, by the memory that serves them.
    pub(super) from: Vec<u64>,
    /// Pages that another thread is already fetching.
    pub(super) coming: u64,
    /// The time when the last of those is there.
    pub(super) until: u64,
    /// Array and page of each page that must come.
    fetched: Vec<(usize, usize)>,
}

impl Faults {
    /// No touches yet, with this number of memories.
    pub(super) fn none(memories: usize) -> Faults {
        Faults {
            from: vec![0; memories],
            ..Faults::default()
        }
    }

    /// Number of pages that must come.
    pub(super) fn moved(&self) -> u64 {
        self.from.iter().sum()
    }
}

/// The memory that touches, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Toucher {
    pub(super) memory: usize,
    pub(super) now: u64,
}

impl Pages {
    /// All pages are in memory `origin` and nowhere else.
    pub(super) fn new(arrays: &[Array], memories: usize, origin: usize) -> Pages {
        let arrays = arrays
            .iter()
            .map(|a| {
                let mut counts = vec![0; memories];
                counts[origin] = a.units;
                Held {
                    copies: vec![1 << origin; a.units as usize],
                    readable: counts.clone(),
                    owned: counts,
                    pages_per_unit: a.pages_per_unit,
                    ready: vec![0; a.units as usize],
                    quiet: vec![0; memories],
                }
            })
            .collect();
        Pages { arrays, memories }
    }

    /// The pages of `faults` arrive, one after the other, between `from` and `until`.
    pub(super) fn fetch(&mut self, faults: &Faults, m: usize, from: u64, until: u64) {
        let count = faults.fetched.len() as u64;
        for (k, &(array, unit)) in (1..).zip(&faults.fetched) {
            let held = &mut self.arrays[array];
            held.ready[unit] = from + (until - from) * k / count;
            held.quiet[m] = held.quiet[m].max(until);
        }
    }

    /// A thread runs `range` of a loop of `n` iterations. Adds its faults to `faults`.
    pub(super) fn touch(
        &mut self,
        access: &Access,
        range: Range,
        n: u64,
        by: Toucher,
        faults: &mut Faults,
    ) {
        let m = by.memory;
        if self.memories <= 1 || range.is_empty() {
            return;
        }
        let a = access.array;
        let held = &mut self.arrays[a];
        let units = held.copies.len() as u64;
        let enough = if access.writes {
            &held.owned
        } else {
            &held.readable
        };
        if units == 0 || (enough[m] == units && held.quiet[m] <= by.now) {
            return;
        }
        let at = |i: u64, of: u64| (u128::from(i) * u128::from(of) / u128::from(n.max(1))) as u64;
        // The page that holds the end of the range's part is touched too.
        let part = |of: u64| {
            let first = at(range.start, of).min(of - 1);
            let last = at(range.end, of)
                .saturating_sub(u64::from(
                    (u128::from(range.end) * u128::from(of)) % u128::from(n.max(1)) == 0,
                ))
                .clamp(first, of - 1);
            (first, last)
        };
        match access.pattern {
            Pattern::Block { halo } => {
                let (first, last) = part(units);
                let last = (last + halo).min(units - 1);
                let first = first.saturating_sub(halo);
                held.touch_all(first..=last, access, by, faults);
            }
            Pattern::Across { rows } => {
                let rows = rows.clamp(1, units);
                let columns = units / rows;
                let (first, last) = part(columns);
                for row in 0..rows {
                    let row = row * columns;
                    held.touch_all(row + first..=row + last, access, by, faults);
                }
            }
            Pattern::All => held.touch_all(0..=units - 1, access, by, faults),
            Pattern::Scattered { per_iteration } => {
                let count = |i: u64| (i as f64 * per_iteration) as u64;
                for touch in count(range.start)..count(range.end) {
                    let unit = hash(touch ^ (a as u64) << 56) % units;
                    held.touch_one(unit as usize, access, by, faults);
                }
            }
        }
    }
}

impl Held {
    fn touch_all(
        &mut self,
        units: core::ops::RangeInclusive<u64>,
        access: &Access,
        by: Toucher,
        faults: &mut Faults,
    ) {
        for unit in units {
            self.touch_one(unit as usize, access, by, faults);
        }
    }

    #[inline]
    fn touch_one(&mut self, unit: usize, access: &Access, by: Toucher, faults: &mut Faults) {
        let mine = 1 << by.memory;
        let copies = self.copies[unit];
        if copies == mine || (!access.writes && copies & mine != 0) {
            if self.quiet[by.memory] > by.now && self.ready[unit] > by.now {
                faults.coming += self.pages_per_unit;
                faults.until = faults.until.max(self.ready[unit]);
            }
            return;
        }
        faults.fetched.push((access.array, unit));
        self.fault(unit, access.writes, by.memory, faults);
    }

    #[cold]
    fn fault(&mut self, unit: usize, writes: bool, m: usize, faults: &mut Faults) {
        let mine = 1u64 << m;
        let copies = self.copies[unit];
        // The memory with the lowest number among the other copies serves the page, or gives its copy up.
        let server = (copies & !mine).trailing_zeros() as usize;
        faults.from[server] += self.pages_per_unit;
        let after = if writes { mine } else { copies | mine };
        for other in 0..self.readable.len() {
            let bit = 1 << other;
            match (copies & bit != 0, after & bit != 0) {
                (true, false) => self.readable[other] -= 1,
                (false, true) => self.readable[other] += 1,
                _ => {}
            }
            match (copies == bit, after == bit) {
                (true, false) => self.owned[other] -= 1,
                (false, true) => self.owned[other] += 1,
                _ => {}
            }
        }
        self.copies[unit] = after;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn access(pattern: Pattern, writes: bool) -> Access {
        Access {
            array: 0,
            pattern,
            writes,
        }
    }

    fn faults(p: &mut Pages, a: &Access, start: u64, end: u64, m: usize) -> u64 {
        let mut f = Faults::none(p.memories);
        let by = Toucher { memory: m, now: 0 };
        p.touch(a, Range::new(start, end), 100, by, &mut f);
        assert_eq!(f.coming, 0);
        f.moved()
    }

    fn pages(units: u64) -> Pages {
        Pages::new(
            &[Array {
                name: String::new(),
                units,
                pages_per_unit: 1,
            }],
            2,
            0,
        )
    }

    #[test]
    fn reading_shares_and_writing_takes_away() {
        let block = Pattern::Block { halo: 0 };
        let (read, write) = (access(block, false), access(block, true));
        let mut p = pages(100);
        assert_eq!(faults(&mut p, &write, 0, 100, 0), 0);
        assert_eq!(faults(&mut p, &read, 50, 100, 1), 50);
        assert_eq!(faults(&mut p, &read, 0, 100, 0), 0);
        // The origin must take copies away before it writes again.
        assert_eq!(faults(&mut p, &write, 0, 100, 0), 50);
        assert_eq!(faults(&mut p, &write, 0, 100, 0), 0);
        assert_eq!(faults(&mut p, &write, 99, 100, 1), 1);
        assert_eq!(faults(&mut p, &write, 99, 100, 1), 0);
        assert_eq!(faults(&mut p, &read, 0, 100, 0), 1);
        assert_eq!(p.arrays[0].owned, [99, 0]);
        assert_eq!(p.arrays[0].readable, [100, 1]);
    }

    #[test]
    fn patterns() {
        let f = |pattern, start, end, units| {
            faults(&mut pages(units), &access(pattern, false), start, end, 1)
        };
        // Pages of 2.5 iterations: 10..=19 touch 4 to 7.
        assert_eq!(f(Pattern::Block { halo: 0 }, 10, 20, 40), 4);
        assert_eq!(f(Pattern::Block { halo: 0 }, 11, 19, 40), 4);
        assert_eq!(f(Pattern::Block { halo: 1 }, 10, 20, 40), 6);
        assert_eq!(f(Pattern::Block { halo: 1 }, 0, 10, 40), 5);
        // Several iterations share a page.
        assert_eq!(f(Pattern::Block { halo: 0 }, 0, 3, 10), 1);
        assert_eq!(f(Pattern::Across { rows: 10 }, 0, 25, 40), 10);
        assert_eq!(f(Pattern::Across { rows: 10 }, 20, 30, 40), 20);
        assert_eq!(f(Pattern::All, 5, 6, 40), 40);
        assert_eq!(f(Pattern::All, 5, 5, 40), 0);
        let scattered = f(Pattern::Scattered { per_iteration: 0.5 }, 0, 40, 4000);
        assert!((19..=20).contains(&scattered), "{scattered}");
    }

    #[test]
    fn a_page_on_its_way_is_waited_for() {
        let mut p = pages(10);
        let all = access(Pattern::All, false);
        let mut touch = |m, now, fetch: bool| {
            let mut f = Faults::none(2);
            let by = Toucher { memory: m, now };
            p.touch(&all, Range::new(0, 1), 1, by, &mut f);
            if fetch {
                p.fetch(&f, m, now, now + 1000);
            }
            (f.moved(), f.coming, f.until)
        };
        assert_eq!(touch(1, 500, true), (10, 0, 0));
        assert_eq!(touch(1, 600, false), (0, 9, 1500));
        assert_eq!(touch(1, 1450, false), (0, 1, 1500));
        assert_eq!(touch(1, 1500, false), (0, 0, 0));
        assert_eq!(touch(0, 600, false), (0, 0, 0));
    }

    #[test]
    fn two_nodes_that_write_one_page_take_turns() {
        let mut p = pages(1);
        let w = access(Pattern::Block { halo: 0 }, true);
        let total: u64 = (0..10)
            .map(|i| faults(&mut p, &w, i, i + 1, i as usize % 2))
            .sum();
        assert_eq!(total, 9);
    }
}
