//! Which lines of which pages are written back and taken anew, at which point: decisions, without memory.
//!
//! A node's copy of a page is *clean* (its threads read it) or *dirty* (they write it, and its twin has the bytes as
//! they were). At a release every dirty page is write-protected, what differs from its twin is written back, and the
//! page is clean. At an acquire the lines that other nodes have written back since the last one are taken anew; a dirty
//! page among them is written back first, since its twin would be out of date. The lines of a page that other nodes
//! read and that this one has not changed stay as they are.
#![forbid(unsafe_code)]

use crate::by_page::ByPage;
use crate::{Access, PAGE};
use std::collections::BTreeSet;

/// Bytes of a line.
pub(crate) const LINE: usize = 64;

/// A set of a page's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines(pub(crate) u64);

impl Lines {
    pub(crate) const ALL: Lines = Lines(u64::MAX);

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The lines' numbers, ascending.
    pub(crate) fn iter(self) -> impl Iterator<Item = usize> {
        (0..PAGE / LINE).filter(move |i| self.0 >> i & 1 != 0)
    }

    /// The lines in which two versions of a page differ.
    pub(crate) fn changed(now: &[u8; PAGE], twin: &[u8; PAGE]) -> Lines {
        let both = now.chunks_exact(LINE).zip(twin.chunks_exact(LINE));
        let bits = both.enumerate().filter(|(_, (new, old))| new != old);
        Lines(bits.fold(0, |all, (i, _)| all | 1 << i))
    }
}

/// Where in the program's run lines are written back or taken anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Point {
    /// The origin opens a region.
    RegionBegins,
    /// Another node begins its part of it.
    PartBegins,
    /// Another node's part is over.
    PartEnds,
    /// All parts are over, and the origin goes on.
    RegionEnds,
    /// A barrier.
    Barrier,
    /// A lock or critical section is taken.
    Lock,
    /// It is given back.
    Unlock,
    /// Another request that orders memory.
    Order,
    /// An owned page goes to another node.
    GivenAway,
}

impl Point {
    const ALL: [(Point, &'static str); 9] = [
        (Point::RegionBegins, "fork"),
        (Point::PartBegins, "begin"),
        (Point::PartEnds, "end"),
        (Point::RegionEnds, "join"),
        (Point::Barrier, "barrier"),
        (Point::Lock, "lock"),
        (Point::Unlock, "unlock"),
        (Point::Order, "order"),
        (Point::GivenAway, "owned"),
    ];

    /// The point with this word in tests.
    pub(crate) fn named(word: &str) -> Option<Point> {
        Point::ALL.iter().find(|p| p.1 == word).map(|p| p.0)
    }

    /// The point with this number.
    pub(crate) fn numbered(number: u8) -> Option<Point> {
        Point::ALL.iter().map(|p| p.0).find(|p| *p as u8 == number)
    }

    /// Are lines written back here?
    pub(crate) fn releases(self) -> bool {
        !matches!(self, Point::PartBegins | Point::RegionEnds | Point::Lock)
    }

    /// Are lines taken anew here?
    pub(crate) fn acquires(self) -> bool {
        matches!(
            self,
            Point::PartBegins | Point::RegionEnds | Point::Barrier | Point::Lock | Point::Order
        )
    }

    /// Do nodes meet here, whoever owns pages? What comes after may be of the other kind.
    pub(crate) fn is_of_regions(self) -> bool {
        matches!(
            self,
            Point::RegionBegins | Point::PartBegins | Point::PartEnds | Point::RegionEnds
        )
    }
}

impl core::fmt::Display for Point {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Point::RegionBegins => "the beginning of a region",
            Point::PartBegins => "the beginning of a node's part",
            Point::PartEnds => "the end of a node's part",
            Point::RegionEnds => "the end of a region",
            Point::Barrier => "a barrier",
            Point::Lock => "taking a lock",
            Point::Unlock => "giving a lock back",
            Point::Order => "an ordered step",
            Point::GivenAway => "giving a page away",
        })
    }
}

/// What is to be done with a node's copy, in the order given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// From now on threads may do exactly this much with the page.
    Protect { page: u64, access: Access },
    /// Take these lines from the pool. No thread uses the page, or none uses these lines.
    Take { page: u64, lines: Lines },
    /// Keep the copy's bytes: from the next step on threads write.
    Twin { page: u64 },
    /// Write back what differs from the twin, which is then forgotten. No thread writes the page.
    WriteBack { page: u64, point: Point },
}

/// The copies that a node has: of a page that is not here, none.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    clean: ByPage<()>,
    dirty: BTreeSet<u64>,
}

impl Copies {
    /// What the node's threads may do with its copy.
    pub(crate) fn access(&self, page: u64) -> Access {
        if self.dirty.contains(&page) {
            Access::Write
        } else if self.clean.contains_key(&page) {
            Access::Read
        } else {
            Access::None
        }
    }

    /// The pages of which there are copies that nobody writes.
    pub(crate) fn clean(&self) -> impl Iterator<Item = u64> + '_ {
        self.clean.keys().copied()
    }

    /// Threads may do this much with the page from now on, or more if they may already.
    pub(crate) fn raise(&mut self, page: u64, access: Access, out: &mut Vec<Step>) {
        let has = self.access(page);
        if has == Access::None && access != Access::None {
            let lines = Lines::ALL;
            out.push(Step::Take { page, lines });
            self.clean.insert(page, ());
        }
        if has < Access::Write && access == Access::Write {
            out.push(Step::Twin { page });
            self.clean.remove(&page);
            self.dirty.insert(page);
        }
        // Even if the right was there: then the mapping was not in place.
        let access = self.access(page);
        out.push(Step::Protect { page, access });
    }

    /// Threads may do no more than this with the page from now on.
    pub(crate) fn lower(&mut self, page: u64, access: Access, point: Point, out: &mut Vec<Step>) {
        let has = self.access(page);
        if has <= access {
            return;
        }
        out.push(Step::Protect { page, access });
        self.clean.remove(&page);
        if self.dirty.remove(&page) {
            out.push(Step::WriteBack { page, point });
        }
        if access == Access::Read {
            self.clean.insert(page, ());
        }
    }

    /// All that the node has written is written back. Its copies stay.
    pub(crate) fn release(&mut self, point: Point, out: &mut Vec<Step>) {
        let access = Access::Read;
        // First all are protected: neighbours are so at once.
        out.extend((self.dirty.iter()).map(|&page| Step::Protect { page, access }));
        for page in core::mem::take(&mut self.dirty) {
            out.push(Step::WriteBack { page, point });
            self.clean.insert(page, ());
        }
    }

    /// Other nodes have written these lines of a page.
    pub(crate) fn acquire(&mut self, page: u64, lines: Lines, point: Point, out: &mut Vec<Step>) {
        self.lower(page, Access::Read, point, out);
        if self.access(page) != Access::None {
            out.push(Step::Take { page, lines });
        }
    }

    /// No copy stays.
    pub(crate) fn drop_all(&mut self, point: Point, out: &mut Vec<Step>) {
        let mut all: Vec<u64> = self.clean().chain(self.dirty.iter().copied()).collect();
        all.sort_unstable();
        let access = Access::None;
        out.extend(all.iter().map(|&page| Step::Protect { page, access }));
        let dirty = core::mem::take(&mut self.dirty);
        out.extend((dirty.into_iter()).map(|page| Step::WriteBack { page, point }));
        self.clean.clear();
    }
}

#[cfg(test)]
mod tests;
