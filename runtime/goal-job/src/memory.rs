//! The memory of one run: the program's own, by address, and the scratchpad.

use hetmp_goal::memory::{Buffer, Memory, Space};

/// Memory that a user's segment is bound to when a run starts.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Where it begins.
    pub start: *mut u8,
    /// Its length, bytes.
    pub bytes: u64,
}

impl Segment {
    /// The whole address space of the process: offsets are addresses. What graphs of the C API have as segment 0.
    pub const ADDRESSES: Segment = Segment {
        start: core::ptr::null_mut(),
        bytes: u64::MAX,
    };
}

/// The segments and the scratchpad of a run.
#[derive(Debug)]
pub(crate) struct Bound {
    segments: Box<[Segment]>,
    scratchpad: Vec<u8>,
}

// SAFETY: whoever started the run has promised that the segments are valid, and left alone, until it has ended; one
// thread at a time works on a run (it owns the rank).
unsafe impl Send for Bound {}

impl Bound {
    /// Memory with a scratchpad of this length, of zeros. `None`: there is no memory for it.
    ///
    /// # Safety
    /// Each segment is valid for reads and writes of its length until the run has ended, and nobody else accesses what the
    /// schedule uses of it meanwhile. Of [`Segment::ADDRESSES`] this holds for the pieces that the schedule uses.
    pub(crate) unsafe fn new(segments: Box<[Segment]>, scratchpad: u64) -> Option<Bound> {
        let bytes = usize::try_from(scratchpad).ok()?;
        let mut pad = Vec::new();
        pad.try_reserve_exact(bytes).ok()?;
        pad.resize(bytes, 0);
        Some(Bound {
            segments,
            scratchpad: pad,
        })
    }

    /// Where a piece lies; null for one without memory.
    fn at(&self, piece: &Buffer) -> *mut u8 {
        match piece.space {
            Space::User(n) => match self.segments.get(usize::from(n)) {
                Some(s) if s.start.is_null() => {
                    core::ptr::with_exposed_provenance_mut(piece.offset as usize)
                }
                Some(s) => s.start.wrapping_add(piece.offset as usize),
                None => core::ptr::null_mut(),
            },
            Space::Scratchpad => self
                .scratchpad
                .as_ptr()
                .cast_mut()
                .wrapping_add(piece.offset as usize),
            Space::Void => core::ptr::null_mut(),
        }
    }
}

impl Memory for Bound {
    fn segment_bytes(&self, segment: u16) -> u64 {
        self.segments
            .get(usize::from(segment))
            .map_or(0, |s| s.bytes)
    }

    fn make_scratchpad(&mut self, bytes: u64) {
        assert_eq!(bytes, self.scratchpad.len() as u64, "made by `new`");
    }

    fn read(&self, piece: &Buffer, into: &mut [u8]) {
        if piece.space == Space::Void {
            into.fill(0);
        } else if !into.is_empty() {
            // SAFETY: a validated schedule's piece lies within its segment or the scratchpad, which are valid by the
            // promise to `new`; `into` is memory of this library's.
            unsafe { core::ptr::copy_nonoverlapping(self.at(piece), into.as_mut_ptr(), into.len()) }
        }
    }

    fn write(&mut self, piece: &Buffer, from: &[u8]) {
        match piece.space {
            Space::Void => {}
            Space::Scratchpad => {
                let at = piece.offset as usize;
                self.scratchpad[at..at + from.len()].copy_from_slice(from);
            }
            Space::User(_) if from.is_empty() => {}
            // SAFETY: as in `read`.
            Space::User(_) => unsafe {
                core::ptr::copy_nonoverlapping(from.as_ptr(), self.at(piece), from.len())
            },
        }
    }
}
