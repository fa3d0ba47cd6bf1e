//! A PE's symmetric memory: one file in memory, which every peer on the machine maps as a whole.
//!
//! ```text
//! offset 0              control        data           heap
//!        | control block | static data | symmetric heap |
//! ```
//!
//! [`hetmp_nic::job`] makes and maps the file, and adds its own data at the end.

use hetmp_core::page;
use std::ops::Range;

/// Sizes of the parts in bytes, all multiples of a page; the same in every PE of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) control: usize,
    pub(crate) data: usize,
    pub(crate) heap: usize,
}

impl Layout {
    /// A layout with at least these sizes. The data part is padded so that the heap is aligned.
    pub(crate) fn new(control: usize, data: usize, heap: usize) -> Layout {
        let control = pages(control);
        Layout {
            control,
            data: (control + pages(data)).next_multiple_of(HEAP_ALIGN) - control,
            heap: pages(heap.max(1)),
        }
    }

    /// Offset of the static data.
    pub(crate) fn data_at(&self) -> usize {
        self.control
    }

    /// Offset of the heap.
    pub(crate) fn heap_at(&self) -> usize {
        self.control + self.data
    }

    /// The length of all parts together.
    pub(crate) fn len(&self) -> usize {
        self.control + self.data + self.heap
    }
}

/// A segment as mapped here, this PE's or a peer's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) base: *mut u8,
    pub(crate) layout: Layout,
}

// SAFETY: the memory stays mapped, and this type accesses none of it: users of `base` order their own accesses.
unsafe impl Sync for Segment {}

impl Segment {
    /// The addresses of the heap in this mapping.
    pub(crate) fn heap(&self) -> Range<usize> {
        let start = self.base as usize + self.layout.heap_at();
        start..start + self.layout.heap
    }

    /// The start of the static data's copy in this mapping.
    pub(crate) fn data(&self) -> *mut u8 {
        self.base.wrapping_add(self.layout.data_at())
    }
}

/// The alignment of the heap in every mapping, bytes.
pub(crate) const HEAP_ALIGN: usize = 2 << 20;

/// Rounds a size up to whole pages.
fn pages(bytes: usize) -> usize {
    bytes.next_multiple_of(page::LARGEST)
}
