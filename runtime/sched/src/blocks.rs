//! Loops whose iterations stay together in blocks.
//!
//! A program that writes `schedule(dynamic, 1024)` may count on it that nobody else runs an iteration of its chunk:
//! such a chunk may fill the words of a bitmap without atomics (GAP's breadth-first search does). A schedule that
//! divides the loop otherwise therefore divides blocks of that length, as if each were one iteration.

use crate::ranges::Range;

/// A loop as a sequence of blocks of `each` iterations. The last block may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    n: u64,
    each: u64,
}

impl Blocks {
    /// A loop of `n` iterations in blocks of `each`; 0 is taken for 1.
    #[must_use]
    pub fn new(n: u64, each: u64) -> Blocks {
        Blocks {
            n,
            each: each.max(1),
        }
    }

    /// The number of blocks.
    #[inline]
    #[must_use]
    pub fn count(self) -> u64 {
        if self.each == 1 {
            self.n
        } else {
            self.n.div_ceil(self.each)
        }
    }

    /// The number of blocks that hold `iterations` iterations.
    #[must_use]
    pub fn holding(self, iterations: u64) -> u64 {
        iterations.div_ceil(self.each)
    }

    /// Are there blocks of more than one iteration?
    #[inline]
    #[must_use]
    pub fn are_long(self) -> bool {
        self.each > 1
    }

    /// The number of iterations in the first `blocks` blocks.
    #[inline]
    #[must_use]
    pub fn length(self, blocks: u64) -> u64 {
        blocks.saturating_mul(self.each).min(self.n)
    }

    /// The iterations of a range of blocks.
    #[inline]
    #[must_use]
    pub fn iterations(self, blocks: Range) -> Range {
        Range::new(self.length(blocks.start), self.length(blocks.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cover_the_loop_in_whole_blocks(
            n in prop_oneof![0u64..500, (u64::MAX - 9)..=u64::MAX],
            each in prop_oneof![0u64..40, any::<u64>()],
            cut in any::<u64>(),
        ) {
            let blocks = Blocks::new(n, each);
            let cut = cut % blocks.count().saturating_add(1);
            let front = blocks.iterations(Range::new(0, cut));
            let back = blocks.iterations(Range::new(cut, blocks.count()));
            prop_assert_eq!((front.start, front.end, back.end), (0, back.start, n));
            if cut < blocks.count() {
                prop_assert_eq!(front.end % each.max(1), 0);
                prop_assert!(!back.is_empty());
            }
        }
    }
}
