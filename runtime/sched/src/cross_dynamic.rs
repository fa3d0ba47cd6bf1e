//! `cross-dynamic`: two-level dynamic scheduling.
//!
//! Threads take chunks from their node's pool. A thread that finds the pool empty becomes the node's leader
//! and refills it in bulk from the global pool. The global cursor's cache line then crosses nodes once per
//! refill and not once per chunk. Nobody waits for a leader: a thread that finds the pool empty while another
//! thread refills it takes a single chunk from the global pool.
//!
//! A node's pool is one word: the number of its first chunk, and how many chunks have been taken since. One
//! addition to the word tells a thread which chunk it got, or that the pool was empty, no matter which refills
//! happened in between.
//!
//! # Memory ordering
//! Everything about ranges is relaxed: a taken range carries no other data (see [`crate::plain`]), and every
//! word describes itself. The leader's flag is taken with acquire and given back with release, so that the
//! next leader sees the last refill. Without that, the next leader could believe a freshly filled pool empty
//! and overwrite it, and its iterations would be lost.

use crate::placement::Placement;
use crate::primitive::{AtomicBool, AtomicU64, Ordering};
use crate::ranges::Range;
use crate::record::{LoopRecord, Tally};
use crate::schedule::Kind;
use crate::virtual_team::PIECES_PER_RUNNER;
use crossbeam_utils::CachePadded;
use std::sync::Arc;

/// Bits of a pool word that count the chunks taken.
const TAKEN_BITS: u32 = 24;
const TAKEN_MASK: u64 = (1 << TAKEN_BITS) - 1;
/// Most chunks of a loop, so that a chunk's number fits the other bits of a word. Longer loops get larger
/// chunks than asked for.
const MOST_CHUNKS: u64 = 1 << 39;

#[derive(Debug, Default)]
struct NodePool {
    word: CachePadded<AtomicU64>,
    /// A thread refills this pool.
    leading: CachePadded<AtomicBool>,
    /// Chunks per refill; constant while the loop runs.
    refill: u64,
}

/// One execution of one loop under `cross-dynamic`.
#[derive(Debug)]
pub struct CrossDynamic {
    team: Arc<Placement>,
    n: u64,
    /// The chunk size that was asked for.
    asked: u64,
    chunk: u64,
    chunks: u64,
    /// Number of the next chunk of the global pool.
    global: CachePadded<AtomicU64>,
    nodes: Box<[NodePool]>,
    tally: Tally,
}

impl CrossDynamic {
    /// State for a loop of `n` iterations in chunks of `chunk` (0 counts as 1). A loop of more than 2^39
    /// chunks gets larger chunks.
    #[must_use]
    pub fn new(n: u64, chunk: u64, team: Arc<Placement>) -> Self {
        let mut state = CrossDynamic {
            n: 0,
            asked: chunk,
            chunk: 1,
            chunks: 0,
            global: CachePadded::default(),
            nodes: team.nodes().iter().map(|_| NodePool::default()).collect(),
            tally: Tally::new(team.threads()),
            team,
        };
        state.restart(n, chunk);
        state
    }

    /// Prepares the same state for another loop with the same team. The caller
    /// makes it visible to the team's threads.
    pub fn restart(&mut self, n: u64, chunk: u64) {
        self.n = n;
        self.asked = chunk;
        self.chunk = chunk.max(1).max(n.div_ceil(MOST_CHUNKS));
        self.chunks = n.div_ceil(self.chunk);
        self.global.store(0, Ordering::Relaxed);
        self.tally.reset();
        let pieces = u64::from(PIECES_PER_RUNNER);
        let inhabited = self.team.inhabited().max(1) as u64;
        for (node, shape) in self.nodes.iter_mut().zip(self.team.nodes()) {
            // A loop with few chunks is not given away in one refill.
            let few = self.chunks / (inhabited * pieces);
            node.refill = (u64::from(shape.threads) * pieces)
                .min(few)
                .clamp(1, TAKEN_MASK / 2);
            // Empty: all chunks of a refill that began at chunk 0 count as taken.
            node.word.store(node.refill, Ordering::Relaxed);
            node.leading.store(false, Ordering::Relaxed);
        }
    }

    pub(crate) fn asked(&self) -> u64 {
        self.asked
    }

    /// Next chunk of thread `tid`, or `None` when all are taken.
    #[inline]
    pub fn next(&self, tid: usize) -> Option<Range> {
        let node = self.team.node_of(tid);
        let chunk = self
            .take_pooled(node)
            .or_else(|| self.take_cold(node, None))?;
        let r = self.range(chunk);
        self.tally.add(tid, r.len());
        Some(r)
    }

    /// [`next`](Self::next) for loops in which every thread's iterations must ascend: takes a chunk that
    /// begins at iteration `after` or later. `after` is the end of the thread's last chunk, and 0 at first.
    /// Not to be mixed with [`next`](Self::next) in one execution.
    ///
    /// A thread that took a chunk past its node's pool, because another thread was about to refill it, leaves
    /// the pool's lower chunks alone. These are not lost: the leader that brought them has had only the first
    /// of them, so it may take all others, and leaves the loop only when there are none.
    pub fn next_after(&self, tid: usize, after: u64) -> Option<Range> {
        let node = self.team.node_of(tid);
        let least = after.div_ceil(self.chunk);
        let chunk = self
            .take_pooled_from(node, least)
            .or_else(|| self.take_cold(node, Some(least)))?;
        let r = self.range(chunk);
        self.tally.add(tid, r.len());
        Some(r)
    }

    /// The iterations of a chunk.
    #[inline]
    fn range(&self, chunk: u64) -> Range {
        let start = chunk * self.chunk;
        Range {
            start,
            end: start + self.chunk.min(self.n - start),
        }
    }

    /// Thread `tid` has entered the loop. Only the record needs this.
    pub fn arrive(&self, tid: usize) {
        self.tally.arrive(tid);
    }

    /// Thread `tid` has left the loop after `elapsed_ns` nanoseconds. Only the record needs this.
    pub fn finish(&self, tid: usize, elapsed_ns: u64) {
        self.tally.leave(tid, elapsed_ns);
    }

    /// The record of this execution. Call it after all threads have left.
    #[must_use]
    pub fn record(&self) -> LoopRecord {
        LoopRecord::new(Kind::CrossDynamic, self.n, &self.team, &self.tally)
    }

    /// Takes a chunk from the pool of `node` and returns its number.
    #[inline]
    fn take_pooled(&self, node: usize) -> Option<u64> {
        let pool = &self.nodes[node];
        // Look before adding: otherwise threads that try again and again while a leader works could carry the
        // low bits into the high ones.
        if self.is_empty(pool, pool.word.load(Ordering::Relaxed)) {
            return None;
        }
        let word = pool.word.fetch_add(1, Ordering::Relaxed);
        if self.is_empty(pool, word) {
            return None;
        }
        Some((word >> TAKEN_BITS) + (word & TAKEN_MASK))
    }

    #[inline]
    fn is_empty(&self, pool: &NodePool, word: u64) -> bool {
        let taken = word & TAKEN_MASK;
        taken >= pool.refill || (word >> TAKEN_BITS) + taken >= self.chunks
    }

    /// [`take_pooled`](Self::take_pooled) for a thread that may take chunk `least` or a later one. A word
    /// never takes an old value again, because refills begin at ever higher chunks. So the exchange succeeds
    /// only on the word that was examined.
    fn take_pooled_from(&self, node: usize, least: u64) -> Option<u64> {
        let pool = &self.nodes[node];
        let mut word = pool.word.load(Ordering::Relaxed);
        loop {
            let chunk = (word >> TAKEN_BITS) + (word & TAKEN_MASK);
            if self.is_empty(pool, word) || chunk < least {
                return None;
            }
            match pool.word.compare_exchange_weak(
                word,
                word + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(chunk),
                Err(now) => word = now,
            }
        }
    }

    fn pooled(&self, node: usize, least: Option<u64>) -> Option<u64> {
        match least {
            None => self.take_pooled(node),
            Some(least) => self.take_pooled_from(node, least),
        }
    }

    /// Takes a chunk for a thread that found none in its node's pool. `least`: the first chunk it may have,
    /// where its chunks must ascend.
    #[cold]
    fn take_cold(&self, node: usize, least: Option<u64>) -> Option<u64> {
        let pool = &self.nodes[node];
        loop {
            if pool
                .leading
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_err()
            {
                // Another thread refills: do not wait, take one chunk past the pool.
                return self
                    .take_global(1)
                    .or_else(|| self.take_elsewhere(node, least));
            }
            // Look again: the last leader may have refilled the pool already.
            if self.is_empty(pool, pool.word.load(Ordering::Relaxed)) {
                let first = self.take_global(pool.refill);
                if let Some(first) = first {
                    // The leader keeps the first chunk. The word is exchanged and not stored: an exchange
                    // orders the refill after every late addition to the old word in any model of memory.
                    // Loom's model does not know that no addition can slip in before a plain store.
                    pool.word.swap(first << TAKEN_BITS | 1, Ordering::Relaxed);
                }
                pool.leading.store(false, Ordering::Release);
                return first.or_else(|| self.take_elsewhere(node, least));
            }
            pool.leading.store(false, Ordering::Release);
            if let Some(chunk) = self.pooled(node, least) {
                return Some(chunk);
            }
            if least.is_some() && !self.is_empty(pool, pool.word.load(Ordering::Relaxed)) {
                // The pool's chunks come before those that this thread has had: leave them to others.
                return self
                    .take_global(1)
                    .or_else(|| self.take_elsewhere(node, least));
            }
        }
    }

    /// Claims `count` chunks of the global pool and returns the number of the first. The last claim may reach
    /// past the end.
    fn take_global(&self, count: u64) -> Option<u64> {
        // Look first: this bounds how far the cursor can pass the end.
        if self.global.load(Ordering::Relaxed) >= self.chunks {
            return None;
        }
        let first = self.global.fetch_add(count, Ordering::Relaxed);
        (first < self.chunks).then_some(first)
    }

    /// At the end of the loop: takes a chunk from another node's pool. That node's threads would also run it
    /// (the leader that filled the pool is in the loop), but later.
    fn take_elsewhere(&self, node: usize, least: Option<u64>) -> Option<u64> {
        (1..self.nodes.len())
            .map(|k| (node + k) % self.nodes.len())
            .find_map(|i| self.pooled(i, least))
    }
}
