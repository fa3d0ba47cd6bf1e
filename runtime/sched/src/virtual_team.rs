//! Placing the pieces of a virtual team: blocks of neighbours, stolen from the far end.
//!
//! A region whose loops the compiler divided itself, by thread number, is run as a team of more virtual
//! threads than real ones. To the scheduler that is a loop with one *piece* for each virtual thread. Each
//! real thread, here a *runner*, gets a contiguous block of pieces, in proportion to the speed of its node,
//! and takes them from the front. A runner that has none left steals from the back of another runner's block.
//! Neighbouring pieces touch neighbouring memory. A shared counter would deal neighbours to different
//! runners, and lose what their caches hold.
//!
//! **Every piece exactly once.** A block is one word, `from` and `to`; both ends move only by
//! compare-exchange on the whole word.
//!
//! **When stealing does not pay.** A slow runner that takes the last piece of a fast runner finishes it when
//! the fast runner would have been done long ago. So a runner steals only if the victim needs at least as
//! long for all that is left in its block as the thief needs for one piece. The time of a piece is measured
//! while the region runs, or known from earlier executions. While it is not known, every runner steals.
//!
//! # Memory ordering
//! All accesses are relaxed, because a piece's number carries no other data. The start of the region orders
//! everything that the pieces read.

use crate::csr;
use crate::primitive::{AtomicU64, Ordering};
use crate::ranges::Range;
use crossbeam_utils::CachePadded;

/// One runner's block, and the time it needs for a piece.
#[derive(Debug, Default)]
struct Block {
    /// Pieces left: first in the upper half, one past the last in the lower half.
    pieces: AtomicU64,
    /// Nanoseconds per piece; 0: not known.
    pace: AtomicU64,
}

/// The pieces of one region, dealt to runners.
#[derive(Debug)]
pub struct Blocks {
    blocks: Box<[CachePadded<Block>]>,
}

fn pack(from: u32, to: u32) -> u64 {
    u64::from(from) << 32 | u64::from(to)
}

fn unpack(pieces: u64) -> (u32, u32) {
    ((pieces >> 32) as u32, pieces as u32)
}

/// The answer to a runner without pieces of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steal {
    /// Run this piece.
    Piece(u32),
    /// There are pieces, but their owner will have run them sooner: look again a little later.
    NotWorth,
    /// There are no pieces left.
    Nothing,
}

impl Blocks {
    /// Empty blocks for `runners` runners, at least one.
    #[must_use]
    pub fn new(runners: usize) -> Self {
        Blocks {
            blocks: (0..runners.max(1))
                .map(|_| CachePadded::default())
                .collect(),
        }
    }

    /// Deals out pieces `0..pieces` in proportion to `weights`, which has one entry for each runner, in
    /// order. No runner may be taking pieces meanwhile.
    ///
    /// A weight that is not positive and finite counts as zero; if all are zero, all runners get equal
    /// blocks.
    pub fn deal(&self, pieces: u32, weights: &[f64]) {
        let all = Range {
            start: 0,
            end: u64::from(pieces),
        };
        let given = (0..self.blocks.len()).map(|i| weights.get(i).copied().unwrap_or(0.0));
        for (block, part) in self.blocks.iter().zip(csr::split(all, given)) {
            let word = pack(part.start as u32, part.end as u32);
            block.pieces.store(word, Ordering::Relaxed);
            block.pace.store(0, Ordering::Relaxed);
        }
    }

    /// Sets the nanoseconds that `runner` needs for a piece.
    pub fn set_pace(&self, runner: usize, ns: f64) {
        // Zero would mean "not known".
        let ns = (ns as u64).max(1);
        self.blocks[runner].pace.store(ns, Ordering::Relaxed);
    }

    /// The next piece of `runner`'s own block.
    #[inline]
    pub fn take(&self, runner: usize) -> Option<u32> {
        let word = &self.blocks[runner].pieces;
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            let (from, to) = unpack(seen);
            if from >= to {
                return None;
            }
            match word.compare_exchange(
                seen,
                pack(from + 1, to),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(from),
                Err(now) => seen = now,
            }
        }
    }

    /// Takes piece 0, for a runner that must run it itself. Call it before any runner takes pieces.
    pub fn take_first(&self) -> Option<u32> {
        (0..self.blocks.len())
            .find(|&i| {
                let (from, to) = unpack(self.blocks[i].pieces.load(Ordering::Relaxed));
                from == 0 && to > 0
            })
            .and_then(|i| self.take(i))
    }

    /// Takes a piece for `thief` from the far end of another block: of the blocks worth stealing from, the
    /// one with the most work left.
    pub fn steal(&self, thief: usize) -> Steal {
        let mine = self.blocks[thief].pace.load(Ordering::Relaxed);
        loop {
            let mut best: Option<(u128, usize, u64)> = None;
            let mut any = false;
            for (i, block) in self.blocks.iter().enumerate() {
                let seen = block.pieces.load(Ordering::Relaxed);
                let (from, to) = unpack(seen);
                if i == thief || from >= to {
                    continue;
                }
                any = true;
                let pace = block.pace.load(Ordering::Relaxed);
                let left = u128::from(to - from);
                // If either pace is unknown, count pieces as if both runners were equally fast.
                let known = mine != 0 && pace != 0;
                let needs = left * u128::from(if known { pace } else { 1 });
                if known && needs < u128::from(mine) {
                    continue;
                }
                if best.is_none_or(|(most, ..)| needs > most) {
                    best = Some((needs, i, seen));
                }
            }
            let Some((_, victim, seen)) = best else {
                return if any { Steal::NotWorth } else { Steal::Nothing };
            };
            if let Some(piece) = self.take_last(victim, seen) {
                return Steal::Piece(piece);
            }
        }
    }

    /// Takes any piece that nobody has begun, whatever it costs: for a thread that joins because another
    /// thread may be waiting for that piece.
    pub fn take_any(&self) -> Option<u32> {
        self.blocks.iter().enumerate().find_map(|(i, block)| loop {
            let seen = block.pieces.load(Ordering::Relaxed);
            let (from, to) = unpack(seen);
            if from >= to {
                return None;
            }
            if let Some(piece) = self.take_last(i, seen) {
                return Some(piece);
            }
        })
    }

    /// Tries to take the last piece of `victim`'s block, whose word was `seen` and is not empty.
    fn take_last(&self, victim: usize, seen: u64) -> Option<u32> {
        let (from, to) = unpack(seen);
        self.blocks[victim]
            .pieces
            .compare_exchange(
                seen,
                pack(from, to - 1),
                Ordering::Relaxed,
                Ordering::Relaxed,
            )
            .ok()
            .map(|_| to - 1)
    }

    /// Pieces that nobody has begun.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.blocks
            .iter()
            .map(|b| {
                let (from, to) = unpack(b.pieces.load(Ordering::Relaxed));
                to.saturating_sub(from)
            })
            .sum()
    }
}

/// The number of pieces for a team of `runners` real threads: enough for shares in steps of an eighth of a
/// thread, and never more than `most`.
#[must_use]
pub fn pieces(runners: u32, most: u32) -> u32 {
    runners.saturating_mul(PIECES_PER_RUNNER).min(most)
}

/// Pieces for each real thread, the most threads on nodes for each that a region would have, and the chunks that a
/// thread gets at once where nodes share a loop. In lud, lavaMD and cfd eight cost nothing measurable. Fewer under
/// loom, so that all meet often.
pub(crate) const PIECES_PER_RUNNER: u32 = if cfg!(loom) { 2 } else { 8 };

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_follow_weights() {
        let b = Blocks::new(2);
        b.deal(16, &[1.0, 0.33]);
        let first: Vec<u32> = core::iter::from_fn(|| b.take(0)).collect();
        assert_eq!(first, (0..12).collect::<Vec<_>>());
        assert_eq!(b.left(), 4);
        assert_eq!(b.take(1), Some(12));
        b.deal(7, &[0.0, f64::NAN]);
        assert_eq!(b.left(), 7);
        assert_eq!(b.take(0), Some(0));
        b.deal(7, &[0.0, 1.0]);
        assert_eq!(b.take(0), None);
    }

    #[test]
    fn thieves_take_what_is_worth_it() {
        let b = Blocks::new(2);
        b.deal(4, &[1.0, 0.0]);
        // Nothing known: steal from the far end.
        assert_eq!(b.steal(1), Steal::Piece(3));
        b.set_pace(0, 100.0);
        b.set_pace(1, 300.0);
        assert_eq!(b.steal(1), Steal::Piece(2));
        // Two pieces of 100 ns each are done before one of 300 ns.
        assert_eq!(b.steal(1), Steal::NotWorth);
        assert_eq!(b.take_any(), Some(1));
        assert_eq!(b.take(0), Some(0));
        assert_eq!(b.steal(1), Steal::Nothing);
        assert_eq!(b.take_any(), None);
    }

    #[test]
    fn numbers_of_pieces() {
        assert_eq!(pieces(2, u32::MAX), 16);
        assert_eq!(pieces(2, 5), 5);
        assert_eq!(pieces(u32::MAX, u32::MAX), u32::MAX);
    }

    proptest! {
        #[test]
        fn every_piece_exactly_once(
            pieces in 0u32..200,
            weights in prop::collection::vec(0.0f64..4.0, 1..6),
            steps in prop::collection::vec((0usize..6, 0u8..3, 0u64..1000), 0..400),
        ) {
            let b = Blocks::new(weights.len());
            b.deal(pieces, &weights);
            let mut seen = vec![0u32; pieces as usize];
            for (who, what, ns) in steps {
                let who = who % weights.len();
                let piece = match what {
                    0 => b.take(who),
                    1 => match b.steal(who) { Steal::Piece(p) => Some(p), _ => None },
                    _ => { b.set_pace(who, ns as f64); None }
                };
                if let Some(p) = piece { seen[p as usize] += 1; }
            }
            while let Some(p) = b.take_any() { seen[p as usize] += 1; }
            prop_assert!(seen.iter().all(|&n| n == 1));
            prop_assert_eq!(b.left(), 0);
        }

        #[test]
        fn threads_take_and_steal(pieces in 1u32..64, threads in 2usize..5) {
            let b = Blocks::new(threads);
            b.deal(pieces, &vec![1.0; threads]);
            let counts: Vec<AtomicU64> = (0..pieces).map(|_| AtomicU64::new(0)).collect();
            std::thread::scope(|s| {
                for t in 0..threads {
                    let (b, counts) = (&b, &counts);
                    s.spawn(move || {
                        while let Some(p) = b.take(t) {
                            counts[p as usize].fetch_add(1, Ordering::Relaxed);
                        }
                        while let Steal::Piece(p) = b.steal(t) {
                            counts[p as usize].fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            });
            prop_assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1));
        }
    }
}
