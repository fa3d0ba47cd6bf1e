//! Loops that are divided before they begin, in one block of iterations for each node, in a region that crosses nodes
//! (`hetprobe`, `hetprobe-i`, `static-csr`). [`hetmp_sched::crossing::blocks`] decides how.
//!
//! All nodes know the blocks, and a node's threads take chunks of their node's block. So pages stay where they were in
//! the region's last execution.
//!
//! **Nobody waits for a node that does not come.** A loop has no barrier at its beginning: a program's thread may wait
//! elsewhere until others have finished the loop, and it may be its node's only one. So a node *takes* its block when
//! its first thread arrives, and a block that is still free after [`Blocks::patience`] is taken by another node, whole.
//! A thread leaves the loop when all blocks are taken: the threads of the node that took one execute it. Patience is
//! needed because a region begins later on one node than on another, and a block that changes its node once takes its
//! pages along.
//!
//! **The loop's last chunk is handed out at the end**, when all blocks are taken and this node has nothing else left:
//! gcc takes `lastprivate` values from the thread whose last chunk has the loop's last iteration.
//!
//! **Chunks that the program asked for stay whole**, each in one thread: programs rely on it. So what is divided are
//! chunks.

use super::opening::Bounds;
use super::shares::Pool;
use super::table::{ask, table, CLAIM};
use crate::team::seat::Seat;
use crate::worksharing::kinds::{Next, NodeSchedule};
use hetmp_core::sys;
use hetmp_sched::crossing::blocks::WHOLE;
use hetmp_sched::limits::{FIRST_PERIOD, SLICE_NS, STRAYS};
use hetmp_sched::ranges::Range;
use std::sync::{Mutex, PoisonError};

/// A loop as this node sees it.
#[derive(Debug)]
pub(super) struct Blocks {
    /// The loop's number in its region, the same on all nodes.
    number: u64,
    iterations: u64,
    /// Each chunk is a multiple of this, but for the loop's last one.
    grain: u64,
    bounds: Bounds,
    me: usize,
    nodes: usize,
    /// Threads of the region on this node.
    threads: u64,
    key: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What this node has taken, as far as no thread has it.
    pool: Pool,
    /// The loop's last chunk, if this node has it and no thread yet.
    last: Option<Range>,
    /// When this node took its block; 0: not yet.
    began_ns: u64,
    /// The blocks that were taken when this node last asked, and those without iterations, as bits.
    taken: u64,
}

impl Blocks {
    /// `threads` of the region's threads are on node `me` of `nodes`.
    pub(super) fn new(
        number: u64,
        (iterations, grain): (u64, u64),
        bounds: Bounds,
        (me, nodes): (usize, usize),
        threads: u32,
        key: usize,
    ) -> Blocks {
        let mut blocks = Blocks {
            number,
            iterations,
            grain: grain.max(1),
            bounds,
            me,
            nodes,
            threads: threads.max(1).into(),
            key,
            state: Mutex::new(State {
                pool: Pool::default(),
                last: None,
                began_ns: 0,
                taken: 0,
            }),
        };
        let empty = blocks.empty();
        let state = blocks.state.get_mut();
        state.unwrap_or_else(PoisonError::into_inner).taken = empty;
        blocks
    }

    fn block(&self, node: usize) -> Range {
        let grains = u128::from(self.iterations.div_ceil(self.grain));
        let at = |bound: u32| {
            let grain = grains * u128::from(bound) / u128::from(WHOLE);
            (grain * u128::from(self.grain)).min(self.iterations.into()) as u64
        };
        Range::new(at(self.bounds[node]), at(self.bounds[node + 1]))
    }

    /// The nodes whose blocks have no iterations, as bits.
    fn empty(&self) -> u64 {
        (0..self.nodes)
            .filter(|&node| self.block(node).is_empty())
            .fold(0, |bits, node| bits | 1 << node)
    }

    /// How long a node whose own block took `ran_ns` waits for others to come: the loop takes at most about twice as
    /// long as without blocks, or some time slices of another process longer.
    fn patience(ran_ns: u64) -> u64 {
        ran_ns.max(u64::from(STRAYS) * SLICE_NS)
    }

    /// Takes the block of `node` if it is free. Returns whether it was.
    fn take(&self, state: &mut State, node: usize) -> bool {
        let Some(t) = table() else { return false };
        let [mine, taken, _] = ask(t, CLAIM, [self.number, node as u64, 0]);
        state.taken |= taken;
        if mine != 0 {
            let block = self.block(node);
            super::local::LOCAL.took(block.len());
            (state.pool.rest, state.last) = self.but_last(block, state.last);
        }
        mine != 0
    }

    /// The block without the loop's last chunk, and that chunk if this block or an earlier one had it.
    fn but_last(&self, block: Range, last: Option<Range>) -> (Range, Option<Range>) {
        if block.is_empty() || block.end != self.iterations {
            return (block, last);
        }
        let from = (self.iterations - 1) / self.grain * self.grain;
        (
            Range::new(block.start, from),
            Some(Range::new(from, block.end)),
        )
    }

    /// Takes this node's block, or else one that nobody has come for, or else the loop's last chunk; the pool stays
    /// empty if there is none of these.
    fn refill(&self, state: &mut State) {
        let free = |taken: u64| (0..self.nodes).find(|n| taken & 1 << n == 0);
        if state.began_ns == 0 {
            state.began_ns = sys::monotonic_ns();
            if state.taken & 1 << self.me == 0
                && self.take(state, self.me)
                && !state.pool.rest.is_empty()
            {
                return;
            }
        }
        let done_ns = sys::monotonic_ns();
        let patience = Blocks::patience(done_ns - state.began_ns);
        let until = done_ns + patience;
        let mut looked_ns = 0;
        while free(state.taken).is_some() {
            let now = sys::monotonic_ns();
            if now >= until {
                let took = free(state.taken).is_some_and(|node| self.take(state, node));
                if took && !state.pool.rest.is_empty() {
                    return;
                }
            } else if now - looked_ns >= patience / u64::from(FIRST_PERIOD) {
                // A look may take a message.
                looked_ns = now;
                self.take(state, usize::MAX);
            } else {
                sys::yield_now();
            }
        }
        match state.last.take() {
            Some(last) => state.pool.rest = last,
            None => state.pool.over = true,
        }
    }
}

impl NodeSchedule for Blocks {
    fn next(&self, _seat: Seat) -> Next {
        // The lock is held while the node waits for others, because its other threads can only wait for the same
        // answer.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.pool.rest.is_empty() && !state.pool.over {
            self.refill(&mut state);
        }
        // Chunks that shrink: the node's threads may be unlike, and iterations, too.
        let grains = state.pool.rest.len() / self.grain / (2 * self.threads);
        state.pool.cut(grains.max(1) * self.grain)
    }

    fn key(&self) -> usize {
        self.key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_iteration_is_in_one_block() {
        let third = WHOLE / 3;
        let cases: [(&[u32], usize); 3] = [
            (&[0, third, WHOLE], 2),
            (&[0, 0, third, WHOLE], 3),
            (&[0, WHOLE, WHOLE], 2),
        ];
        for (given, nodes) in cases {
            let mut bounds = Bounds::default();
            bounds[..given.len()].copy_from_slice(given);
            for iterations in [0, 1, 2, 3, 100, u64::MAX] {
                for grain in [1, 3, 100, u64::MAX] {
                    let blocks = Blocks::new(0, (iterations, grain), bounds, (0, nodes), 1, 0);
                    let (mut next, mut last) = (0, None);
                    for node in 0..nodes {
                        let block = blocks.block(node);
                        assert_eq!(block.start, next);
                        assert!(block.end % grain == 0 || block.end == iterations);
                        let marked = blocks.empty() & 1 << node != 0;
                        assert_eq!(marked, block.is_empty());
                        next = block.end;
                        let (rest, held) = blocks.but_last(block, last);
                        assert_eq!(rest.start, block.start);
                        assert!(rest.len() % grain == 0);
                        last = held;
                    }
                    assert_eq!(next, iterations);
                    let expected = (iterations > 0).then_some(iterations);
                    assert_eq!(last.map(|l| l.end), expected);
                    assert!(last.is_none_or(|l| !l.is_empty() && l.len() <= grain));
                }
            }
        }
    }
}
