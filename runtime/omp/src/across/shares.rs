//! Loops whose iterations the runtime hands out, and sections, in a region that crosses nodes.
//!
//! The origin counts how many iterations of a loop are handed out. When a node has none left, one of its
//! threads asks the origin for a share of the rest by message, and the node's threads take their chunks from
//! this share. So one message serves many chunks. A node's shares come in ascending order, and so do the
//! chunks of each thread. In an ordered loop, or one whose iterations wait for earlier ones, a share is one chunk: the
//! turns go through the chunks of all nodes in order, so a node's threads would wait for each chunk of an earlier share
//! of another node. In a region's first trial, and where a part of the work is tried, shares are eighths of what a node
//! may get, or less, so that one which turns out to be slow is not left with much; and where a trial is hopeless, the
//! origin takes the rest ([`hetmp_sched::crossing::early`]).

use super::local::{self, LOCAL};
use super::table::{ask, table, Table, ONE, REST, TAKE};
use crate::team::seat::Seat;
use crate::worksharing::kinds::{Next, NodeSchedule};
use hetmp_core::sys;
use hetmp_sched::crossing::early::{begun, chunk, Pace, Trial};
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
    /// Iterations that this node has had so far, and how many all had together when it last took some.
    taken: u64,
    handed: u64,
    pace: Pace,
    /// When this node's first thread came, on its own clock.
    began_ns: u64,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool {
            rest: Range::new(0, 0),
            over: false,
            last: None,
            taken: 0,
            handed: 0,
            pace: Pace::default(),
            began_ns: 0,
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
    fn share(&self, t: &Table, pool: &mut Pool, trial: Option<Trial>) -> Range {
        let Shape {
            chunk,
            ordered,
            iterations,
            threads,
            ..
        } = self.shape;
        let most = local::most(t, iterations);
        let left = most.map_or(iterations, |most| most.saturating_sub(pool.taken));
        match trial.filter(|trial| trial.in_shares) {
            _ if left == 0 => Range::new(0, 0),
            _ if ordered => self.take(t, pool, ONE, chunk),
            Some(trial) => {
                let rest = iterations - pool.handed.min(iterations);
                let most = most.unwrap_or(iterations / u64::from(t.nodes));
                let few = (pool.pace).share(&trial, (rest, most), t.nodes, threads, chunk);
                self.take(t, pool, ONE, few.min((left / chunk * chunk).max(chunk)))
            }
            None => self.take(t, pool, 0, chunk),
        }
    }

    /// Takes iterations of the loop, `how` it says, for this node.
    fn take(&self, t: &Table, pool: &mut Pool, how: u64, grain: u64) -> Range {
        let words = [self.number | how, self.shape.iterations, grain];
        let [first, end, _] = ask(t, TAKE, words);
        let taken = Range::new(first, end.max(first));
        pool.taken += taken.len();
        pool.handed = taken.end;
        LOCAL.took(taken.len());
        taken
    }
}

impl NodeSchedule for Shares {
    fn next(&self, _seat: Seat) -> Next {
        // The lock is held while the origin is asked, because the node's other threads can only wait for the
        // same answer.
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let trial = local::trial();
        let mut gave_up = false;
        if let Some(t) = table() {
            let of = self.shape.iterations;
            let parts = || begun(of, pool.taken, pool.rest.len(), pool.handed);
            gave_up = trial.is_some_and(|trial| local::gives_up(t, &trial, parts));
            if gave_up && pool.last.is_none() {
                pool.last = Some(self.take(t, &mut pool, REST, self.shape.chunk));
            }
            if pool.rest.is_empty() && !pool.over {
                pool.rest = match pool.last {
                    Some(last) => {
                        pool.last = Some(Range::new(0, 0));
                        last
                    }
                    None => self.share(t, &mut pool, trial),
                };
            }
        }
        pool.over |= pool.rest.is_empty();
        let Shape {
            guided, threads, ..
        } = self.shape;
        let most = match trial.filter(|_| !gave_up) {
            Some(_) => {
                let now = sys::monotonic_ns();
                if pool.began_ns == 0 {
                    pool.began_ns = now;
                }
                let (done, ns) = (pool.taken - pool.rest.len(), now - pool.began_ns);
                pool.pace.most(done, threads, ns)
            }
            None => u64::MAX,
        };
        let wanted = chunk(pool.rest.len(), self.shape.chunk, guided, threads, most);
        pool.cut(wanted)
    }

    fn key(&self) -> usize {
        self.key
    }
}
