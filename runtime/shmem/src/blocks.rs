//! The bookkeeping of a symmetric heap, without any memory or communication: [`crate::heap`] does the rest.

use std::collections::BTreeMap;

/// The alignment of every block: a cache line, so that blocks of two calls share no line.
pub(crate) const ALIGN: usize = 64;

/// Which parts of one heap are free and taken, as offsets from its start.
#[derive(Debug)]
pub(crate) struct Heap {
    /// Free ranges: start to length. Two of them never touch.
    free: BTreeMap<usize, usize>,
    /// Blocks in use: start to the length taken and the length asked for.
    taken: BTreeMap<usize, (usize, usize)>,
}

impl Heap {
    /// A heap of `len` free bytes.
    pub(crate) fn new(len: usize) -> Heap {
        let free = if len == 0 {
            BTreeMap::new()
        } else {
            BTreeMap::from([(0, len)])
        };
        Heap {
            free,
            taken: BTreeMap::new(),
        }
    }

    /// Takes the first free place for `bytes` bytes aligned to `align` (a power of two).
    pub(crate) fn allocate(&mut self, bytes: usize, align: usize) -> Option<usize> {
        let len = bytes.max(1).checked_next_multiple_of(ALIGN)?;
        let align = align.max(ALIGN);
        let (start, room, at) = self.free.iter().find_map(|(&start, &room)| {
            let at = start.checked_next_multiple_of(align)?;
            (at.checked_add(len)? <= start + room).then_some((start, room, at))
        })?;
        self.free.remove(&start);
        if at > start {
            self.free.insert(start, at - start);
        }
        let end = at + len;
        if end < start + room {
            self.free.insert(end, start + room - end);
        }
        self.taken.insert(at, (len, bytes));
        Some(at)
    }

    /// Frees a block. False if none begins at `at`.
    pub(crate) fn release(&mut self, at: usize) -> bool {
        let Some((len, _)) = self.taken.remove(&at) else {
            return false;
        };
        let (mut start, mut end) = (at, at + len);
        if let Some(after) = self.free.remove(&end) {
            end += after;
        }
        if let Some((&before, &room)) = self.free.range(..start).next_back() {
            if before + room == start {
                self.free.remove(&before);
                start = before;
            }
        }
        self.free.insert(start, end - start);
        true
    }

    /// Changes the block that begins at `at` to `bytes` bytes without moving it. False if that is impossible.
    pub(crate) fn resize(&mut self, at: usize, bytes: usize) -> bool {
        let (Some(&(had, _)), Some(len)) = (
            self.taken.get(&at),
            bytes.max(1).checked_next_multiple_of(ALIGN),
        ) else {
            return false;
        };
        if len > had {
            let room = self.free.get(&(at + had)).copied().unwrap_or(0);
            if had + room < len {
                return false;
            }
            self.free.remove(&(at + had));
            if had + room > len {
                self.free.insert(at + len, had + room - len);
            }
        } else if len < had {
            // The part that is cut off joins the free range after it.
            let after = self.free.remove(&(at + had)).unwrap_or(0);
            self.free.insert(at + len, had - len + after);
        }
        self.taken.insert(at, (len, bytes));
        true
    }

    /// The length that was asked for when the block at `at` was allocated; `None` if none begins there.
    pub(crate) fn size_of(&self, at: usize) -> Option<usize> {
        self.taken.get(&at).map(|&(_, asked)| asked)
    }

    /// The number of free bytes, and the length of the longest free range.
    pub(crate) fn room(&self) -> (usize, usize) {
        (
            self.free.values().sum(),
            self.free.values().copied().max().unwrap_or(0),
        )
    }

    /// The block that contains offset `at`: its start and the length that was asked for.
    pub(crate) fn block(&self, at: usize) -> Option<(usize, usize)> {
        let (&start, &(len, asked)) = self.taken.range(..=at).next_back()?;
        (at < start + len).then_some((start, asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_overlap_and_come_back_whole() {
        let mut h = Heap::new(1 << 16);
        let a = h.allocate(1, 1).expect("room");
        let b = h.allocate(100, 4096).expect("room");
        let c = h.allocate(64, 1).expect("room");
        assert_eq!((a, b), (0, 4096));
        // First fit: the gap before the aligned block is used.
        assert_eq!(c, 64);
        assert_eq!(h.size_of(b), Some(100));
        assert_eq!(h.block(b + 99), Some((b, 100)));
        assert_eq!(h.block(b + 128), None);
        assert!(!h.release(1));
        assert!(h.release(a) && h.release(c) && h.release(b));
        assert_eq!(h.room(), (1 << 16, 1 << 16));
        let a = h.allocate(128, 1).expect("room");
        let b = h.allocate(64, 1).expect("room");
        assert!(h.resize(a, 10) && h.size_of(a) == Some(10));
        // The block may grow again into what was cut off, and not into the next block.
        assert!(h.resize(a, 128) && !h.resize(a, 129));
        assert!(h.release(b) && h.resize(a, 1 << 16) && h.room() == (0, 0));
        assert!(h.resize(a, 1) && h.release(a));
        assert_eq!(h.room(), (1 << 16, 1 << 16));
        assert_eq!(h.allocate((1 << 16) + 1, 1), None);
        assert_eq!(h.allocate(usize::MAX, 1), None);
    }
}
