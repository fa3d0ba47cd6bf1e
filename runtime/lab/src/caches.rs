//! Each node's cache, as far as scheduling changes what is in it.
//!
//! The data of a loop's iterations are in the cache of the node that ran these iterations last. A node that runs them
//! next, and is another one, has to get them. How much of a node's own data its cache cannot hold is a number of
//! the workload (its misses), and does not depend on the schedule.

use hetmp_sched::ranges::Range;

/// The most blocks of iterations that are followed.
const BLOCKS: u64 = 1 << 16;
const NOBODY: u16 = u16::MAX;

/// Which node ran the iterations of one loop last.
#[derive(Debug, Default)]
pub(super) struct LastRun {
    /// Iterations of a block.
    block: u64,
    /// By block.
    node: Vec<u16>,
}

impl LastRun {
    /// For a loop of `n` iterations that nobody has run; without memory if `follow` is false.
    pub(super) fn new(n: u64, follow: bool) -> LastRun {
        let block = n.div_ceil(BLOCKS).max(1);
        let blocks = if follow { n.div_ceil(block) } else { 0 };
        LastRun {
            block,
            node: vec![NOBODY; blocks as usize],
        }
    }

    /// Node `node` runs `range`. Returns how many of these iterations another node ran last. A block belongs to the
    /// node that ran any of it last.
    pub(super) fn run(&mut self, node: usize, range: Range) -> u64 {
        if self.node.is_empty() || range.is_empty() {
            return 0;
        }
        let (first, last) = (range.start / self.block, (range.end - 1) / self.block);
        let mut cold = 0;
        for at in first..=last {
            let (from, until) = (at * self.block, (at + 1) * self.block);
            let owner = &mut self.node[at as usize];
            if usize::from(*owner) != node {
                cold += until.min(range.end) - from.max(range.start);
                *owner = node as u16;
            }
        }
        cold
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_node_keeps_what_it_ran_last() {
        let mut c = LastRun::new(100, true);
        assert_eq!(c.run(0, Range::new(0, 100)), 100);
        assert_eq!(c.run(0, Range::new(10, 90)), 0);
        assert_eq!(c.run(1, Range::new(50, 60)), 10);
        assert_eq!(c.run(1, Range::new(55, 65)), 5);
        assert_eq!(c.run(0, Range::new(0, 100)), 15);
        let mut large = LastRun::new(10 * BLOCKS, true);
        assert_eq!(large.run(0, Range::new(0, 10 * BLOCKS)), 10 * BLOCKS);
        assert_eq!(large.run(1, Range::new(5, 25)), 20);
        assert_eq!(large.run(0, Range::new(0, 40)), 30);
        assert_eq!(LastRun::new(100, false).run(0, Range::new(0, 100)), 0);
    }
}
