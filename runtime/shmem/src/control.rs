//! The control block at the start of every segment: the flags and small data of PEs, apart from the program's own
//! memory.
//!
//! ```text
//! | Control | cells: by team, by rank in it | pages: by team, by rank in it, two each | entries: by PE |
//! ```
//!
//! Everything here is atomic, or is passed on by an atomic. Zero is the first state of all of it: a segment is a new
//! file, whose pages cost nothing until they are touched. A [`Cell`] and its pages have one writer: the member with
//! that rank in that team.

use core::sync::atomic::{AtomicU64, AtomicU8, Ordering};
use crossbeam_utils::CachePadded;
use hetmp_core::bell::Bell;

/// The most teams that a PE can be in, the predefined ones included.
pub(crate) const TEAMS: usize = 512;

/// The part of the block that all peers use.
#[repr(C)]
pub(crate) struct Control {
    /// This PE sleeps on the bell while it waits for peers. Flags of collectives ring it without a fence: see
    /// [`crate::link`].
    pub(crate) bell: CachePadded<Bell>,
}

/// Bytes of data that travel next to their flag in one cache line.
pub(crate) const SMALL: usize = 56;

/// Bytes of a page, for contributions that do not fit next to their flag.
pub(crate) const PAGE_BYTES: usize = 2048;

/// The words that one member of a team writes for another.
#[repr(C, align(64))]
pub(crate) struct Cell {
    /// The last step that the writer has done. Steps are counted and never reset.
    pub(crate) told: AtomicU64,
    _own_line: [u64; 7],
    /// Contributions to exchanges, used in turn. An exchange ends only after all members have begun it; so the
    /// one before it has ended for all members, and its line can be written again.
    pub(crate) lines: [Line; 2],
    _pair: [u64; 8],
}

/// A flag with its data.
#[repr(C, align(64))]
pub(crate) struct Line {
    /// The step to which the data, or the page of this turn, belong.
    pub(crate) step: AtomicU64,
    pub(crate) data: [u8; SMALL],
}

/// Where a peer waits, as the peer has told this PE: see [`crate::standstill`].
#[repr(C, align(64))]
pub(crate) struct Entry {
    pub(crate) state: AtomicU64,
    /// The function, padded with zeros.
    name: [AtomicU8; NAME],
}

/// Bytes of a function's name. A longer name is cut.
const NAME: usize = 56;

impl Entry {
    /// Offset of the name in an entry.
    pub(crate) const NAME_AT: u64 = core::mem::offset_of!(Entry, name) as u64;

    /// A function's name in the form in which an entry stores it.
    pub(crate) fn name(f: &str) -> [u8; NAME] {
        let mut name = [0; NAME];
        for (to, from) in name.iter_mut().zip(f.bytes()) {
            *to = from;
        }
        name
    }

    /// The name stored in this entry.
    pub(crate) fn text(&self) -> String {
        self.name
            .iter()
            .map(|b| b.load(Ordering::Relaxed))
            .take_while(|b| *b != 0)
            .map(char::from)
            .collect()
    }
}

/// Offset of the first cell.
const CELLS_AT: usize = size_of::<Control>().next_multiple_of(4096);

/// Offset, in the segment of any member of `team`, of the cell that the member with rank `rank` writes, in a job of
/// `n` PEs.
pub(crate) fn cell_at(n: u32, team: u32, rank: u32) -> u64 {
    let index = team as usize * n as usize + rank as usize;
    (CELLS_AT + index * size_of::<Cell>()) as u64
}

/// Offset of the page that belongs to such a cell, for exchanges of this turn.
pub(crate) fn page_at(n: u32, team: u32, rank: u32, turn: usize) -> u64 {
    let index = (team as usize * n as usize + rank as usize) * 2 + turn;
    cell_at(n, TEAMS as u32, 0).next_multiple_of(4096) + (index * PAGE_BYTES) as u64
}

/// Offset of the entry that `pe` writes, in a job of `n` PEs.
pub(crate) fn entry_at(n: u32, pe: u32) -> u64 {
    page_at(n, TEAMS as u32, 0, 0) + (pe as usize * size_of::<Entry>()) as u64
}

/// Bytes of a control block in a job of `n` PEs.
pub(crate) fn bytes(n: u32) -> usize {
    entry_at(n, n).next_multiple_of(4096) as usize
}

const _: () =
    assert!(size_of::<Cell>() == 256 && size_of::<Line>() == 64 && size_of::<Entry>() == 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_overlap() {
        for n in [1, 2, 7, 64] {
            let last = cell_at(n, TEAMS as u32 - 1, n - 1);
            assert!(cell_at(n, 0, 0) as usize >= size_of::<Control>());
            assert!(last + 256 <= page_at(n, 0, 0, 0));
            let page = page_at(n, TEAMS as u32 - 1, n - 1, 1);
            assert_eq!(page + PAGE_BYTES as u64, entry_at(n, 0));
            assert!(entry_at(n, n) as usize <= bytes(n) && entry_at(n, 0) % 64 == 0);
            if n > 1 {
                assert_eq!(page_at(n, 0, 1, 0), page_at(n, 0, 0, 1) + 2048);
                assert_eq!(cell_at(n, 1, 0), cell_at(n, 0, n - 1) + 256);
            }
        }
    }
}
