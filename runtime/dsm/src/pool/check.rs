//! The checker: names lines that a node uses although its copy is stale, and lines that nodes wrote at the same time.
//!
//! For each line the window's ledger has the last change that was *owed* (a number that grows, who made it, where, and
//! at which point it was to be written back), and the number of the last change that was written back. A node notes
//! with each line that it takes which change that has. So a line whose last change is a later one, and was owed before
//! this node's last acquire, is stale: it was not written back, or not taken anew. Its page is kept from threads, so
//! that the next use of it is seen. The checker's steps of all nodes exclude each other: what was owed before an
//! acquire was written back whole.
//!
//! A change of a line whose last change the node has not got, and which another node made, is one of two in the same
//! interval.
#![forbid(unsafe_code)]

use super::lines::{Lines, Point, LINE};
use super::shared::Shared;
use super::window::{Head, Ledger};
use crate::by_page::ByPage;
use crate::{NodeId, PAGE};
use core::sync::atomic::Ordering;
use hetmp_core::report;
use std::collections::BTreeSet;

/// Lines that are named in a node at most.
const MOST: usize = 20;

/// A change of a line: its number, the node that made it, and the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    number: u64,
    node: NodeId,
    point: u8,
}

impl Change {
    fn packed(self) -> u64 {
        self.number << 16 | u64::from(self.node) << 8 | u64::from(self.point)
    }

    fn of(word: u64) -> Change {
        Change {
            number: word >> 16,
            node: (word >> 8) as u8,
            point: word as u8,
        }
    }
}

/// What one node has to check with.
pub(super) struct Check {
    me: NodeId,
    ledger: &'static Ledger,
    shared: &'static Shared,
    /// The last change that each line of a copy has.
    has: ByPage<Box<[u64; PAGE / LINE]>>,
    /// Pages with stale lines, and where that was found.
    kept: ByPage<Point>,
    said: BTreeSet<usize>,
}

/// Code of a region, or a part of the program outside of all.
struct Place(u64);

impl core::fmt::Display for Place {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.0 {
            0 => f.write_str("serial code"),
            code => write!(f, "region {code:#x}"),
        }
    }
}

impl Check {
    /// The checker of node `me`, where there is one.
    pub(super) fn new(shared: &'static Shared, me: NodeId) -> Option<Check> {
        Some(Check {
            me,
            ledger: shared.ledger.as_ref()?,
            shared,
            has: ByPage::default(),
            kept: ByPage::default(),
            said: BTreeSet::new(),
        })
    }

    fn owed(&self, page: u64, line: usize) -> Change {
        Change::of(self.ledger.owed.get(page, line))
    }

    fn is_stale(&self, page: u64, line: usize) -> bool {
        let owed = self.owed(page, line);
        let has = self.has.get(&page).map_or(0, |all| all[line]);
        owed.node != self.me && owed.number > has
    }

    fn stale(&self, page: u64) -> Lines {
        let all = (0..PAGE / LINE).filter(|line| self.is_stale(page, *line));
        Lines(all.fold(0, |lines, line| lines | 1 << line))
    }

    /// Says of a line what is wrong with it, once.
    fn say(&mut self, address: usize, what: core::fmt::Arguments<'_>) {
        if self.said.len() < MOST && self.said.insert(address) {
            report::warn(format_args!("pool: line {address:#x}: {what}"));
        }
    }

    /// The node is about to take these lines.
    pub(super) fn takes(&mut self, page: u64, lines: Lines) {
        let has = self
            .has
            .entry(page)
            .or_insert_with(|| Box::new([0; PAGE / LINE]));
        for line in lines.iter() {
            has[line] = self.ledger.done.get(page, line);
        }
    }

    /// The node has changed these lines of the page at `address`, and writes them back at `point` (or fails to).
    pub(super) fn wrote(
        &mut self,
        (page, address): (u64, usize),
        lines: Lines,
        (point, region): (Point, u64),
        is_done: bool,
    ) {
        let changes = self.shared.head(Head::Changes);
        let number = changes.fetch_add(1, Ordering::SeqCst) + 1;
        let me = self.me;
        let change = Change {
            number,
            node: me,
            point: point as u8,
        };
        for line in lines.iter() {
            let before = self.owed(page, line);
            let other = self.ledger.region.get(page, line);
            if self.is_stale(page, line) {
                self.say(
                    address + line * LINE,
                    format_args!(
                        "nodes {} ({}) and {} ({}) wrote to it at the same time: bytes of both are kept, which costs \
                         time (expected data of one node in each line of {LINE} bytes)",
                        before.node,
                        Place(other),
                        me,
                        Place(region)
                    ),
                );
            } else if let Some(has) = self.has.get_mut(&page) {
                has[line] = number;
            }
            self.ledger.owed.set(page, line, change.packed());
            self.ledger.region.set(page, line, region);
            if is_done {
                self.ledger.done.set(page, line, number);
            }
        }
    }

    /// The node has taken anew what it was told at `point`. Is the page, whose copy it keeps, to be kept from threads?
    pub(super) fn keeps(&mut self, page: u64, point: Point) -> bool {
        let is_stale = !self.stale(page).is_empty();
        if is_stale {
            self.kept.insert(page, point);
        }
        is_stale
    }

    /// A thread uses the page at `address`.
    pub(super) fn uses(&mut self, page: u64, address: usize) {
        let Some(here) = self.kept.remove(&page) else {
            return;
        };
        let me = self.me;
        for line in self.stale(page).iter() {
            let owed = self.owed(page, line);
            let done = self.ledger.done.get(page, line);
            let region = self.ledger.region.get(page, line);
            let (what, at) = if done < owed.number {
                ("was not written back", Point::numbered(owed.point))
            } else {
                ("was not taken anew", Some(here))
            };
            let at = at.map_or(String::new(), |p| p.to_string());
            self.say(
                address + line * LINE,
                format_args!(
                    "node {} uses it as it was before node {} wrote it in {}: it {what} at {at}",
                    me,
                    owed.node,
                    Place(region)
                ),
            );
        }
    }

    /// The node has no copy of the page any more.
    pub(super) fn drops(&mut self, page: u64) {
        self.has.remove(&page);
        self.kept.remove(&page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::{Shared, Wanted};

    const ALL: (Point, u64) = (Point::Barrier, 0x400);

    fn two() -> [Check; 2] {
        let wanted = Wanted {
            checks: true,
            ..Wanted::default()
        };
        let shared = Shared::new(2 * PAGE, 2, &wanted).expect("addresses");
        [0, 1].map(|me| Check::new(shared, me).expect("a ledger"))
    }

    #[test]
    fn a_line_is_stale_until_it_is_taken() {
        let [mut a, mut b] = two();
        let line = Lines(1 << 5);
        a.takes(1, Lines::ALL);
        b.takes(1, Lines::ALL);
        a.wrote((1, PAGE), line, ALL, true);
        assert_eq!(b.stale(1), line);
        assert!(b.keeps(1, Point::Lock) && !a.keeps(1, Point::Lock));
        b.uses(1, PAGE);
        assert_eq!(b.said.iter().collect::<Vec<_>>(), [&(PAGE + 5 * LINE)]);
        b.takes(1, line);
        assert!(b.stale(1).is_empty() && !b.keeps(1, Point::Lock));
        // One that was not written back is stale although it was taken.
        a.wrote((1, PAGE), line, ALL, false);
        b.takes(1, line);
        assert_eq!(b.stale(1), line);
    }

    #[test]
    fn two_writers_of_a_line_are_named() {
        let [mut a, mut b] = two();
        a.takes(0, Lines::ALL);
        b.takes(0, Lines::ALL);
        a.wrote((0, 0), Lines(1), ALL, true);
        b.wrote((0, 0), Lines(2), ALL, true);
        assert!(a.said.is_empty() && b.said.is_empty());
        b.wrote((0, 0), Lines(1), ALL, true);
        assert_eq!(b.said.iter().collect::<Vec<_>>(), [&0]);
        // In turn, after each has taken what the other wrote, there is nothing to say.
        a.takes(0, Lines::ALL);
        a.wrote((0, 0), Lines(1), ALL, true);
        assert!(a.said.is_empty());
    }
}
