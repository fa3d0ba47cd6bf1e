//! Loops whose iterations the runtime hands out, and sections, in a region that crosses nodes.
//!
//! The origin counts how many iterations of a loop are handed out. When a node has none left, one of its
//! threads asks the origin for a share of the rest by message, and the node's threads take their chunks from
//! this share. So one message serves many chunks. A node's shares come in ascending order, and so do the
//! chunks of each thread. In an ordered loop, or one whose iterations wait for earlier ones, a share is one chunk: the
//! turns go through the chunks of all nodes in order, so a node's threads would wait for each chunk of an earlier share
//! of another node. In a region's first trial a share is at most a [`PART`] of what the node had before, so that a node
//! which turns out to be slow is not left with much; and where a trial is hopeless, the origin takes the rest
//! ([`super::early`]).

use super::local::{self, Trying, LOCAL};
use super::table::{ask, table, Table, ONE, REST, TAKE};
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
    /// What comes after `rest`, on a node that has taken all that was left; `None`: it has not.
    last: Option<Range>,
    /// Iterations that this node has had so far.
    taken: u64,
}

/// In a first trial, a share is so small a part of what the node had before.
const PART: u64 = 4;
/// In a trial, a chunk has at most so many iterations unless the program asks for more: with a page fault each they
/// take some milliseconds, before the origin looks again.
const TRIED: u64 = 64;

impl Default for Pool {
    fn default() -> Pool {
        Pool {
            rest: Range::new(0, 0),
            over: false,
            last: None,
            taken: 0,
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

    /// The node's next share.
    fn share(&self, t: &Table, pool: &mut Pool, trying: Trying) -> Range {
        let Shape { chunk, ordered, .. } = self.shape;
        let left = local::most(t, self.shape.iterations).saturating_sub(pool.taken);
        match trying {
            _ if left == 0 => Range::new(0, 0),
            _ if ordered => self.take(t, pool, ONE, chunk),
            _ if left < self.shape.iterations => {
                self.take(t, pool, ONE, (left / chunk * chunk).max(chunk))
            }
            Trying::First => {
                let few = (pool.taken / PART / chunk * chunk).max(chunk);
                self.take(t, pool, ONE, few)
            }
            _ => self.take(t, pool, 0, chunk),
        }
    }

    /// Takes iterations of the loop, `how` it says, for this node.
    fn take(&self, t: &Table, pool: &mut Pool, how: u64, grain: u64) -> Range {
        let words = [self.number | how, self.shape.iterations, grain];
        let [first, end, _] = ask(t, TAKE, words);
        let taken = Range::new(first, end.max(first));
        pool.taken += taken.len();
        LOCAL.took(taken.len());
        taken
    }

    /// The next chunk's number of iterations: at least 1, and at most what is left of the share.
    fn cut(&self, rest: Range, trying: Trying) -> u64 {
        let Shape { chunk, threads, .. } = self.shape;
        let wanted = if self.shape.guided {
            (rest.len() / (2 * u64::from(threads)) / chunk * chunk).max(chunk)
        } else {
            chunk
        };
        let most = match trying {
            Trying::First | Trying::Again => (TRIED / chunk * chunk).max(chunk),
            Trying::Nothing | Trying::GaveUp => u64::MAX,
        };
        wanted.min(most).min(rest.len())
    }
}

impl NodeSchedule for Shares {
    fn next(&self, _seat: Seat, _gone: &dyn Fn() -> bool) -> Next {
        // The lock is held while the origin is asked, because the node's other threads can only wait for the
        // same answer.
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let mut trying = Trying::Nothing;
        if let Some(t) = table() {
            trying = local::trying(t);
            if trying == Trying::GaveUp && pool.last.is_none() {
                pool.last = Some(self.take(t, &mut pool, REST, self.shape.chunk));
            }
            if pool.rest.is_empty() && !pool.over {
                pool.rest = match pool.last {
                    Some(last) => {
                        pool.last = Some(Range::new(0, 0));
                        last
                    }
                    None => self.share(t, &mut pool, trying),
                };
            }
        }
        pool.over |= pool.rest.is_empty();
        let wanted = self.cut(pool.rest, trying);
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
        let cut = |s: &Shares, n: u64| s.cut(Range::new(10, 10 + n), Trying::Nothing);
        assert_eq!((cut(&dynamic, 20), cut(&dynamic, 5)), (7, 5));
        let guided = Shares::new(0, shape(3, true), 0);
        assert_eq!(
            (cut(&guided, 40), cut(&guided, 8), cut(&guided, 2)),
            (9, 3, 2)
        );
        let tried = |s: &Shares| s.cut(Range::new(0, 10_000), Trying::First);
        let large = Shares::new(0, shape(100, true), 0);
        assert_eq!(
            (tried(&dynamic), tried(&guided), tried(&large)),
            (7, 63, 100)
        );
    }
}
