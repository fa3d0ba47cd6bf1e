//! The memory that operations use, and the trait through which it is read and written.

use crate::element::{self, Arithmetic, DivisionByZero, Type};
use core::fmt;

/// The memory that a buffer is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// A buffer of the user, by its number (`GOAL_USERSPACE`). Bound to memory when a run starts.
    User(u16),
    /// Memory that belongs to the run (`GOAL_SCRATCHPAD`).
    Scratchpad,
    /// No memory: reads give zeros, and writes are dropped. For schedules that have lengths only, such as those of
    /// simulators.
    Void,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Space::User(n) => write!(f, "user {n}"),
            Space::Scratchpad => f.write_str("scratchpad"),
            Space::Void => f.write_str("void"),
        }
    }
}

/// One contiguous piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The memory that the piece is a part of.
    pub space: Space,
    /// Where the piece begins in that memory, bytes.
    pub offset: u64,
    /// The piece's length, bytes.
    pub bytes: u64,
}

impl Buffer {
    /// A piece of a user's segment.
    #[must_use]
    pub const fn user(segment: u16, offset: u64, bytes: u64) -> Buffer {
        Buffer {
            space: Space::User(segment),
            offset,
            bytes,
        }
    }

    /// A piece of the scratchpad.
    #[must_use]
    pub const fn scratch(offset: u64, bytes: u64) -> Buffer {
        Buffer {
            space: Space::Scratchpad,
            offset,
            bytes,
        }
    }

    /// A piece with a length and no memory.
    #[must_use]
    pub const fn void(bytes: u64) -> Buffer {
        Buffer {
            space: Space::Void,
            offset: 0,
            bytes,
        }
    }

    /// True if the two pieces share a byte of memory.
    #[must_use]
    pub fn overlaps(&self, other: &Buffer) -> bool {
        self.space == other.space
            && self.space != Space::Void
            && self.bytes > 0
            && other.bytes > 0
            && self.offset < other.offset.saturating_add(other.bytes)
            && other.offset < self.offset.saturating_add(self.bytes)
    }
}

/// The length of all pieces together; `None` if it does not fit into 64 bits.
#[must_use]
pub fn total(pieces: &[Buffer]) -> Option<u64> {
    pieces
        .iter()
        .try_fold(0u64, |sum, piece| sum.checked_add(piece.bytes))
}

/// The segments and the scratchpad of one run. A validated schedule stays within the lengths that it declares, and
/// [`crate::rank::Rank::start`] refuses memory that is smaller.
pub trait Memory {
    /// Length of a user segment; 0 if it does not exist.
    fn segment_bytes(&self, segment: u16) -> u64;
    /// Makes a scratchpad of `bytes` zero bytes.
    fn make_scratchpad(&mut self, bytes: u64);
    /// The address of a piece in this process; 0 if it has none.
    fn address(&self, piece: &Buffer) -> u64 {
        let _ = piece;
        0
    }
    /// Copies a piece into `into`. Both have the same length.
    fn read(&self, piece: &Buffer, into: &mut [u8]);
    /// Copies `from` into a piece of the same length.
    fn write(&mut self, piece: &Buffer, from: &[u8]);

    /// `target = target OP operand`. Both pieces have the same length.
    ///
    /// # Errors
    /// Those of [`element::apply`].
    fn combine(
        &mut self,
        op: Arithmetic,
        element: Type,
        target: &Buffer,
        operand: &Buffer,
    ) -> Result<(), DivisionByZero> {
        let mut value = vec![0; target.bytes as usize];
        let mut other = vec![0; operand.bytes as usize];
        self.read(target, &mut value);
        self.read(operand, &mut other);
        let done = element::apply(op, element, &mut value, &other);
        self.write(target, &value);
        done
    }

    /// Copies one piece to another of the same length.
    fn copy(&mut self, into: &Buffer, from: &Buffer) {
        let mut value = vec![0; from.bytes as usize];
        self.read(from, &mut value);
        self.write(into, &value);
    }
}

/// Memory that owns its segments, for tests and for engines that copy data in and out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// The user's segments.
    pub segments: Vec<Vec<u8>>,
    scratchpad: Vec<u8>,
}

impl Owned {
    /// Memory with these segments.
    #[must_use]
    pub fn new(segments: Vec<Vec<u8>>) -> Owned {
        Owned {
            segments,
            scratchpad: Vec::new(),
        }
    }

    fn range(piece: &Buffer) -> core::ops::Range<usize> {
        let start = piece.offset as usize;
        start..start + piece.bytes as usize
    }
}

impl Memory for Owned {
    fn segment_bytes(&self, segment: u16) -> u64 {
        self.segments
            .get(usize::from(segment))
            .map_or(0, |s| s.len() as u64)
    }

    fn make_scratchpad(&mut self, bytes: u64) {
        self.scratchpad = vec![0; bytes as usize];
    }

    fn read(&self, piece: &Buffer, into: &mut [u8]) {
        match piece.space {
            Space::User(n) => {
                into.copy_from_slice(&self.segments[usize::from(n)][Self::range(piece)])
            }
            Space::Scratchpad => into.copy_from_slice(&self.scratchpad[Self::range(piece)]),
            Space::Void => into.fill(0),
        }
    }

    fn write(&mut self, piece: &Buffer, from: &[u8]) {
        match piece.space {
            Space::User(n) => {
                self.segments[usize::from(n)][Self::range(piece)].copy_from_slice(from);
            }
            Space::Scratchpad => self.scratchpad[Self::range(piece)].copy_from_slice(from),
            Space::Void => {}
        }
    }
}

/// Gathers the pieces into one block.
pub(crate) fn gather(memory: &dyn Memory, pieces: &[Buffer]) -> Vec<u8> {
    let mut block = vec![0; total(pieces).unwrap_or(0) as usize];
    gather_into(memory, pieces, 0, &mut block);
    block
}

/// Gathers what follows the first `skip` bytes of the pieces, until `into` is full or the pieces end.
pub(crate) fn gather_into(memory: &dyn Memory, pieces: &[Buffer], skip: u64, into: &mut [u8]) {
    let (mut skip, mut rest) = (skip, into);
    for piece in pieces {
        if skip >= piece.bytes {
            skip -= piece.bytes;
            continue;
        }
        let n = (piece.bytes - skip).min(rest.len() as u64);
        let part = Buffer {
            offset: piece.offset + skip,
            bytes: n,
            ..*piece
        };
        let (head, tail) = rest.split_at_mut(n as usize);
        memory.read(&part, head);
        rest = tail;
        skip = 0;
        if rest.is_empty() {
            return;
        }
    }
}

/// Scatters a block over the pieces, beginning `skip` bytes into them. Bytes that find no room are dropped.
pub(crate) fn scatter(memory: &mut dyn Memory, pieces: &[Buffer], skip: u64, block: &[u8]) {
    let (mut skip, mut rest) = (skip, block);
    for piece in pieces {
        if skip >= piece.bytes {
            skip -= piece.bytes;
            continue;
        }
        let room = piece.bytes - skip;
        let n = room.min(rest.len() as u64);
        let part = Buffer {
            offset: piece.offset + skip,
            bytes: n,
            ..*piece
        };
        memory.write(&part, &rest[..n as usize]);
        rest = &rest[n as usize..];
        skip = 0;
        if rest.is_empty() {
            return;
        }
    }
}
