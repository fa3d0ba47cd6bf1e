//! The control block at the start of every segment: what PEs tell each other outside of the program's own memory.
//!
//! ```text
//! | Control | cells: by team, by rank in it | pages: by team, by rank in it, two each |
//! ```
//!
//! Everything is atomic or handed over by an atomic, and zero is its first state: a segment is a new file, whose
//! pages cost nothing until they are touched. A [`Cell`] and its pages have one writer: the member of that team
//! with that rank.

use core::sync::atomic::{AtomicU32, AtomicU64};
use hetmp_core::sync::CacheLine;

/// Teams that a PE can be in at a time, with those that are there from the start.
pub(crate) const TEAMS: usize = 512;

/// What peers know of a PE.
#[repr(C)]
pub(crate) struct Control {
    /// Sleeping and waking of this PE: see [`crate::wait`].
    pub(crate) bell: CacheLine<Bell>,
}

/// A PE that waits for its peers may sleep on this.
///
/// # Memory ordering
/// A waiter counts itself in `sleepers`, then looks at what it waits for, then sleeps on `rings`; a peer
/// changes that, then looks at `sleepers`; sequentially consistent fences lie between on both sides. One of
/// the two sees the other. (Flags of collectives go without the peer's fence: see [`crate::link`].)
#[repr(C)]
pub(crate) struct Bell {
    pub(crate) rings: AtomicU32,
    pub(crate) sleepers: AtomicU32,
}

/// Bytes that travel beside their flag in one cache line.
pub(crate) const SMALL: usize = 56;

/// Bytes of a page: contributions that do not fit beside their flag.
pub(crate) const PAGE_BYTES: usize = 2048;

/// What one member of a team tells another.
#[repr(C, align(64))]
pub(crate) struct Cell {
    /// The last step that the writer has told about: steps are counted, never reset.
    pub(crate) told: AtomicU64,
    _own_line: [u64; 7],
    /// Contributions to exchanges, by turns: an exchange ends only when everybody began it, so that the one before
    /// it is over everywhere, and its half can be written again.
    pub(crate) lines: [Line; 2],
    _pair: [u64; 8],
}

/// A flag and its data.
#[repr(C, align(64))]
pub(crate) struct Line {
    /// The step that the data, or the page of this turn, belong to.
    pub(crate) step: AtomicU64,
    pub(crate) data: [u8; SMALL],
}

/// Offset of the first cell.
const CELLS_AT: usize = size_of::<Control>().next_multiple_of(4096);

/// Offset of `team`'s cell of the member with rank `rank`, in the segment of any of its members, in a job of `n`.
pub(crate) fn cell_at(n: u32, team: u32, rank: u32) -> u64 {
    let index = team as usize * n as usize + rank as usize;
    (CELLS_AT + index * size_of::<Cell>()) as u64
}

/// Offset of the page beside such a cell for exchanges of a turn.
pub(crate) fn page_at(n: u32, team: u32, rank: u32, turn: usize) -> u64 {
    let index = (team as usize * n as usize + rank as usize) * 2 + turn;
    cell_at(n, TEAMS as u32, 0).next_multiple_of(4096) + (index * PAGE_BYTES) as u64
}

/// Bytes of a control block in a job of `n`.
pub(crate) fn bytes(n: u32) -> usize {
    page_at(n, TEAMS as u32, 0, 0) as usize
}

const _: () = assert!(size_of::<Cell>() == 256 && size_of::<Line>() == 64);

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
            assert_eq!(page as usize + PAGE_BYTES, bytes(n));
            if n > 1 {
                assert_eq!(page_at(n, 0, 1, 0), page_at(n, 0, 0, 1) + 2048);
                assert_eq!(cell_at(n, 1, 0), cell_at(n, 0, n - 1) + 256);
            }
        }
    }
}
