//! Loops whose iterations the runtime hands out, and sections, in a region that crosses nodes.
//!
//! The origin counts how many iterations of a loop are handed out. When a node has none left, one of its
//! threads asks the origin for a share of the rest by message, and the node's threads take their chunks from
//! this share. So one message serves many chunks. A node's shares come in ascending order, and so do the
//! chunks of each thread. In an ordered loop, or one whose iterations wait for earlier ones, a share is one chunk: the turns
//! go through the chunks of all nodes in order, so a node's threads would wait for each chunk of an earlier share of another node.

use super::table::{ask, table, ONE, TAKE};
use crate::team::seat::Seat;
use crate::worksharing::kinds::{Next, NodeSchedule};
use hetmp_sched::ranges::Range;
use std::sync::{Mutex, PoisonError};

/// What a loop is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) iterations: u64,
    pub(super) chunk: u64,
    /// The schedule is guided: chunks shrink with the rest of the share, down to `chunk`.
    pub(super) guided: bool,
    /// The chunks have turns, or wait for earlier ones.
    pub(super) ordered: bool,
    /// Threads of the region on this node.
    pub(super) threads: u32,
}

/// A loop as this node sees it.
#[derive(Debug)]
pub(crate) struct Shares {
    /// The loop's number in its region, the same on all nodes.
    number: u64,
    shape: Shape,
    key: usize,
    pool: Mutex<Pool>,
}

/// The node's share, as far as no thread has taken it.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) rest: Range,
    /// This node gets no more.
    pub(super) over: bool,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool {
            rest: Range::new(0, 0),
            over: false,
        }
    }
}

impl Pool {
    /// The next chunk, of `wanted` iterations or what is left.
    pub(super) fn cut(&mut self, wanted: u64) -> Next {
        if self.over {
            return Next::Done;
        }
        let start = self.rest.start;
        let end = start + wanted.min(self.rest.len());
        self.rest.start = end;
        Next::Range(Range::new(start, end))
    }
}

impl Shares {
    pub(super) fn new(number: u64, shape: Shape, key: usize) -> Shares {
        let shape = Shape {
            chunk: shape.chunk.max(1),
            threads: shape.threads.max(1),
            ..shape
        };
        Shares {
            number,
            shape,
            key,
            pool: Mutex::new(Pool::default()),
        }
    }

    /// The next chunk's number of iterations: at least 1, and at most what is left of the share.
    fn cut(&self, rest: Range) -> u64 {
        let Shape { chunk, threads, .. } = self.shape;
        let wanted = if self.shape.guided {
            (rest.len() / (2 * u64::from(threads))).max(chunk)
        } else {
            chunk
        };
        wanted.min(rest.len())
    }
}

impl NodeSchedule for Shares {
    fn next(&self, _seat: Seat, _gone: &dyn Fn() -> bool) -> Next {
        // The lock is held while the origin is asked, because the node's other threads can only wait for the
        // same answer.
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.rest.is_empty() && !pool.over {
            if let Some(t) = table() {
                let number = self.number | if self.shape.ordered { ONE } else { 0 };
                let words = [number, self.shape.iterations, self.shape.chunk];
                let [first, end, _] = ask(t, TAKE, words);
                pool.rest = Range::new(first, end.max(first));
                super::local::LOCAL.took(pool.rest.len());
            }
            pool.over = pool.rest.is_empty();
        }
        let wanted = self.cut(pool.rest);
        pool.cut(wanted)
    }

    fn key(&self) -> usize {
        self.key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_stay_within_the_share() {
        let shape = |chunk, guided| Shape {
            iterations: 100,
            chunk,
            guided,
            ordered: false,
            threads: 2,
        };
        let dynamic = Shares::new(0, shape(7, false), 0);
        let cut = |s: &Shares, n: u64| s.cut(Range::new(10, 10 + n));
        assert_eq!((cut(&dynamic, 20), cut(&dynamic, 5)), (7, 5));
        let guided = Shares::new(0, shape(3, true), 0);
        assert_eq!(
            (cut(&guided, 40), cut(&guided, 8), cut(&guided, 2)),
            (10, 3, 2)
        );
    }
}
