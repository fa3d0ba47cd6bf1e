//! The memory of one run: the program's own, by address, and the scratchpad.

use core::cell::UnsafeCell;
use hetmp_goal::element::{self, Arithmetic, DivisionByZero, Type};
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

/// Segments that need no memory of their own: the address space and some, or the two of a collective.
const FEW: usize = 4;
/// Bytes of a scratchpad that needs none.
const SHORT: usize = 128;

/// The segments and the scratchpad of a run.
#[derive(Debug)]
pub(crate) struct Bound {
    few: [Segment; FEW],
    /// All, where there are more.
    many: Box<[Segment]>,
    /// A short scratchpad. Reached by a shared reference, as a long one is by a pointer.
    short: UnsafeCell<[u64; SHORT / 8]>,
    _long: Vec<u8>,
    /// Where the long one lies, taken once, so that all accesses come from one pointer; null where the scratchpad is short.
    pad: *mut u8,
    bytes: u64,
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

    /// Where a piece lies; null for one without memory. The scratchpad is reached by its own pointer throughout.
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
        if piece.space != Space::Void && !from.is_empty() {
            // SAFETY: a validated schedule's piece lies within its segment or the scratchpad, which are valid by the
            // promise to `new`; `from` is memory of this library's.
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
        // SAFETY: the pieces of a validated schedule lie within their segments or the scratchpad, which are valid by the
        // promise to `new`. Both are `n` bytes long, and were just tested to lie apart from each other.
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
        // SAFETY: the pieces of a validated schedule lie within their segments or the scratchpad, which are valid by the
        // promise to `new`. Both have one length; they may overlap.
        unsafe { core::ptr::copy(source, to, into.bytes as usize) }
    }
}
