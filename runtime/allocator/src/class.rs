//! Sizes of blocks: multiples of 16 up to 128, then four to each power of two. Pure.
//!
//! A block is aligned to the largest power of two that divides its class's size. If a layout asks for an alignment
//! above 16, its size is first rounded up to a multiple of the alignment. The class is then such a multiple too:
//! between 2^n and 2^(n+1) all classes are multiples of 2^(n-2), and every multiple of a larger power of two is a
//! class itself.

use core::alloc::Layout;

/// Bytes of the largest class.
pub(super) const LARGEST: usize = 256 << 10;
/// Number of classes.
pub(super) const CLASSES: usize = up_to(LARGEST);

/// Classes of multiples of 16.
const FINE: usize = 8;
const FINE_BYTES: usize = 16 * FINE;

/// The number of classes of at most `bytes` bytes. `bytes` must be the size of a class.
pub(super) const fn up_to(bytes: usize) -> usize {
    index(bytes) + 1
}

/// The index of the smallest class that holds `bytes` bytes (at least 1).
const fn index(bytes: usize) -> usize {
    if bytes <= FINE_BYTES {
        return bytes.div_ceil(16) - 1;
    }
    let last = bytes - 1;
    let power = last.ilog2() as usize;
    FINE + (power - 7) * 4 + (last >> (power - 2)) - 4
}

/// A class of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class(u8);

impl Class {
    /// The class for a layout; `None` for a layout that gets a mapping of its own.
    #[inline]
    pub(super) fn of(layout: Layout) -> Option<Class> {
        let (size, align) = (layout.size().max(1), layout.align());
        if size > LARGEST || align > LARGEST {
            return None;
        }
        let size = if align > 16 {
            size.next_multiple_of(align)
        } else {
            size
        };
        Some(Class(index(size) as u8))
    }

    /// The class's number, below [`CLASSES`].
    #[inline]
    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Bytes of a block of this class.
    #[inline]
    pub(super) const fn bytes(self) -> usize {
        let i = self.0 as usize;
        if i < FINE {
            (i + 1) * 16
        } else {
            let (power, step) = (7 + (i - FINE) / 4, 4 + (i - FINE) % 4);
            (step + 1) << (power - 2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layout_fits_into_its_class() {
        for power in 0..=18 {
            let align = 1usize << power;
            let sizes = (0..2000)
                .chain((2000..=LARGEST).step_by(97))
                .chain([LARGEST]);
            for size in sizes {
                let layout = Layout::from_size_align(size, align).expect("a layout");
                let class = Class::of(layout).expect("a class");
                assert!(class.index() < CLASSES);
                let bytes = class.bytes();
                assert!(bytes >= size && bytes % align == 0, "{layout:?} {bytes}");
                // Little memory is lost: at most a fifth, or what the alignment needs.
                let least = size.max(1).next_multiple_of(align.max(16));
                assert!(bytes * 4 <= least * 5, "{layout:?} {bytes}");
            }
        }
        let above = Layout::from_size_align(LARGEST + 1, 1).expect("a layout");
        assert_eq!(Class::of(above), None);
    }

    #[test]
    fn classes_are_in_order_and_their_own() {
        let all: Vec<usize> = (0..CLASSES).map(|i| Class(i as u8).bytes()).collect();
        assert!(all.windows(2).all(|w| w[0] < w[1]));
        assert_eq!((all[0], all[CLASSES - 1]), (16, LARGEST));
        for (i, &bytes) in all.iter().enumerate() {
            assert_eq!((index(bytes), up_to(bytes)), (i, i + 1));
        }
    }
}
