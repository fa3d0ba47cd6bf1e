//! The memory of one run: the segments, which belong to the program, and the scratchpad.
//!
//! Who starts a run keeps its segments valid and leaves them alone until the run has ended; a schedule was validated,
//! so its pieces lie inside of them; and one thread at a time, which owns the rank, moves the run on.

use core::cell::UnsafeCell;
use hetmp_goal::element::{self, Arithmetic, DivisionByZero, Type};
use hetmp_goal::memory::{Buffer, Memory, Space};

/// Memory to which a segment is bound when a run starts.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Where it begins.
    pub start: *mut u8,
    /// Its length, bytes.
    pub bytes: u64,
}

impl Segment {
    /// The whole address space of the process, so that offsets are addresses. Segment 0 of graphs that were made by
    /// the C API.
    pub const ADDRESSES: Segment = Segment {
        start: core::ptr::null_mut(),
        bytes: u64::MAX,
    };
}

/// Up to this many segments are kept without an allocation: the address space and three more, or the two of a
/// collective.
const FEW: usize = 4;
/// Up to this many bytes of scratchpad are kept without an allocation.
const SHORT: usize = 128;

/// The segments and the scratchpad of a run.
#[derive(Debug)]
pub(crate) struct Bound {
    few: [Segment; FEW],
    /// All segments, if there are more than [`FEW`].
    many: Box<[Segment]>,
    /// A short scratchpad. In a cell, because it is written through a shared reference, as a long one is through its
    /// pointer.
    short: UnsafeCell<[u64; SHORT / 8]>,
    _long: Vec<u8>,
    /// Where a long scratchpad lies; null if it is short. Taken once, so that all accesses go through one pointer.
    pad: *mut u8,
    bytes: u64,
}

// SAFETY: who started the run has promised that the segments are valid, and that nobody else uses them, until the run
// has ended. One thread at a time works on a run: the one that owns the rank.
unsafe impl Send for Bound {}

impl Bound {
    /// The memory of a run, with a scratchpad of `scratchpad` zero bytes. `None` if there is no memory for the
    /// scratchpad.
    ///
    /// # Safety
    /// Each segment is valid for reads and writes of its length until the run has ended, and meanwhile nobody else
    /// accesses what the schedule uses of it. For [`Segment::ADDRESSES`] this is for the pieces that the schedule
    /// uses.
    pub(crate) unsafe fn new(segments: &[Segment], scratchpad: u64) -> Option<Bound> {
        let bytes = usize::try_from(scratchpad).ok()?;
        let mut long = Vec::new();
        let mut pad = core::ptr::null_mut();
        if bytes > SHORT {
            long.try_reserve_exact(bytes).ok()?;
            long.resize(bytes, 0);
            pad = long.as_mut_ptr();
        }
        let none = Segment {
            start: core::ptr::null_mut(),
            bytes: 0,
        };
        let mut few = [none; FEW];
        let mut many = Box::default();
        match few.get_mut(..segments.len()) {
            Some(few) => few.copy_from_slice(segments),
            None => many = segments.into(),
        }
        Some(Bound {
            few,
            many,
            short: UnsafeCell::new([0; SHORT / 8]),
            _long: long,
            pad,
            bytes: scratchpad,
        })
    }

    fn segment(&self, n: u16) -> Option<&Segment> {
        let all: &[Segment] = if self.many.is_empty() {
            &self.few
        } else {
            &self.many
        };
        all.get(usize::from(n))
    }

    fn pad(&self) -> *mut u8 {
        if self.pad.is_null() {
            self.short.get().cast()
        } else {
            self.pad
        }
    }

    /// The address of a piece; null for a piece without memory. All accesses to the scratchpad use one pointer.
    fn at(&self, piece: &Buffer) -> *mut u8 {
        match piece.space {
            Space::User(n) => match self.segment(n) {
                Some(s) if s.start.is_null() => {
                    core::ptr::with_exposed_provenance_mut(piece.offset as usize)
                }
                Some(s) => s.start.wrapping_add(piece.offset as usize),
                None => core::ptr::null_mut(),
            },
            Space::Scratchpad => self.pad().wrapping_add(piece.offset as usize),
            Space::Void => core::ptr::null_mut(),
        }
    }
}

impl Memory for Bound {
    fn segment_bytes(&self, segment: u16) -> u64 {
        self.segment(segment).map_or(0, |s| s.bytes)
    }

    fn make_scratchpad(&mut self, bytes: u64) {
        assert_eq!(bytes, self.bytes, "made by `new`");
    }

    fn address(&self, piece: &Buffer) -> u64 {
        self.at(piece).expose_provenance() as u64
    }

    fn read(&self, piece: &Buffer, into: &mut [u8]) {
        if piece.space == Space::Void {
            into.fill(0);
        } else if !into.is_empty() {
            // SAFETY: a piece of a validated schedule lies within its segment, which who called `new` keeps valid, or
            // within the scratchpad. `into` is memory of this library.
            unsafe { core::ptr::copy_nonoverlapping(self.at(piece), into.as_mut_ptr(), into.len()) }
        }
    }

    fn write(&mut self, piece: &Buffer, from: &[u8]) {
        if piece.space != Space::Void && !from.is_empty() {
            // SAFETY: a piece of a validated schedule lies within its segment, which who called `new` keeps valid, or
            // within the scratchpad. `from` is memory of this library.
            unsafe { core::ptr::copy_nonoverlapping(from.as_ptr(), self.at(piece), from.len()) }
        }
    }

    fn combine(
        &mut self,
        op: Arithmetic,
        element: Type,
        target: &Buffer,
        operand: &Buffer,
    ) -> Result<(), DivisionByZero> {
        let (to, from) = (self.at(target), self.at(operand));
        let n = target.bytes as usize;
        if to.is_null() || from.is_null() || to.addr().abs_diff(from.addr()) < n {
            let mut value = vec![0; n];
            let mut other = vec![0; n];
            self.read(target, &mut value);
            self.read(operand, &mut other);
            let done = element::apply(op, element, &mut value, &other);
            self.write(target, &value);
            return done;
        }
        // SAFETY: pieces of a validated schedule lie within their segments, which who called `new` keeps valid, or
        // within the scratchpad. Both are `n` bytes long, and were just found not to overlap.
        let (value, other) = unsafe {
            (
                core::slice::from_raw_parts_mut(to, n),
                core::slice::from_raw_parts(from, n),
            )
        };
        element::apply(op, element, value, other)
    }

    fn copy(&mut self, into: &Buffer, from: &Buffer) {
        let (to, source) = (self.at(into), self.at(from));
        if to.is_null() {
            return;
        }
        if source.is_null() {
            let zeros = vec![0; into.bytes as usize];
            return self.write(into, &zeros);
        }
        // SAFETY: pieces of a validated schedule lie within their segments, which who called `new` keeps valid, or
        // within the scratchpad. Both have the same length; they may overlap.
        unsafe { core::ptr::copy(source, to, into.bytes as usize) }
    }
}
