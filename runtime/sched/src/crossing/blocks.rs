//! Which part of a loop each node gets under `hetprobe` and `hetprobe-i`, where nodes have memory of their own.
//!
//! Iterations that are handed out on demand meet another node in each execution, and their pages travel. A loop that is
//! divided in one contiguous block for each node leaves pages where they are. So a region's loops are handed out on
//! demand once: that is the probing, which also moves pages for the first time. Then each node's block is in
//! proportion to what it did in a nanosecond.
//!
//! **Corrections.** A block's iterations may take more time than those of others. So executions show how much longer
//! the slowest node took than all would have taken if they had been done together, as far as the times of these blocks
//! tell. A block that was too slow is cut again, for as long as the program runs. Each correction moves the pages at
//! the blocks' borders. So it takes two executions to tell, and more the less there is to gain; and it is on trial
//! ([`super::change`]).
//!
//! Waiting for pages does not count, as in [`super::division`].
//!
//! Pure: times come in, blocks go out.

use super::change::{weight, Change};
use super::division::{is_clear, Part};
use crate::limits::ALIKE;

/// Blocks are corrected if the slowest node would be done earlier by this factor.
const RENEWAL: f64 = 1.1;

/// The whole of a loop in [`Blocks::bounds`].
pub const WHOLE: u32 = 1 << 30;

/// The nodes' parts in thousandths, rounded, of loops that have these bounds.
pub fn parts(bounds: &[u32]) -> Vec<u32> {
    let of = |b: &[u32]| (u64::from(b[1] - b[0]) * 2000 / u64::from(WHOLE)).div_ceil(2) as u32;
    bounds.windows(2).map(of).collect()
}

/// The division of one region's loops among nodes.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// By node: the part of each loop. Empty: on demand.
    shares: Vec<f64>,
    /// By node: what it did of the whole work in a nanosecond, on average of recent executions with these blocks;
    /// and their number.
    rates: Vec<f64>,
    runs: u32,
    change: Change<Vec<f64>>,
}

impl Blocks {
    /// The node's parts, each at least 0, in proportion to `weights`; `None` if all are 0.
    pub fn given(weights: impl Iterator<Item = f64> + Clone) -> Option<Blocks> {
        let sum: f64 = weights.clone().sum();
        (sum > 0.0).then(|| Blocks {
            shares: weights.map(|w| w / sum).collect(),
            ..Blocks::default()
        })
    }

    /// How the next execution's loops are divided: for each node where its block begins, and behind the last node where
    /// that ends, as parts of [`WHOLE`]. `None`: on demand.
    pub fn bounds(&self) -> Option<Vec<u32>> {
        if self.shares.is_empty() {
            return None;
        }
        let mut sum = 0.0;
        let mut bounds = vec![0];
        bounds.extend(self.shares.iter().map(|share| {
            sum += share;
            (sum * f64::from(WHOLE)).round().min(f64::from(WHOLE)) as u32
        }));
        if let Some(last) = bounds.last_mut() {
            *last = WHOLE;
        }
        Some(bounds)
    }

    /// An execution across all nodes took `ns` and showed this, by node.
    pub fn ran(&mut self, parts: &[Part], ns: f64) {
        let cores = |p: &Part| f64::from(p.threads.min(p.cores.max(1)).max(1));
        let whole: Option<Vec<f64>> = parts.iter().map(Part::whole_ns).collect();
        if self.shares.len() != parts.len() {
            // Parts too short to tell a node's speed tell no more another time, and like nodes are equal.
            let by_time = whole.filter(|ns| {
                let shortest = ns.iter().copied().fold(f64::INFINITY, f64::min);
                ns.iter().any(|&ns| ns > ALIKE * shortest)
            });
            let each = by_time.unwrap_or_else(|| vec![1.0; parts.len()]);
            let weights = parts.iter().zip(&each).map(|(p, ns)| cores(p) / ns);
            *self = Blocks::given(weights).unwrap_or_default();
            return;
        }
        if let Some(old) = self.change.ran(ns) {
            (self.shares, self.runs) = (old, 0);
            return;
        }
        let Some(whole) = whole else { return };
        let rates = parts.iter().zip(&whole).map(|(p, ns)| cores(p) / ns);
        self.runs = self.runs.saturating_add(1);
        self.rates.resize(parts.len(), 0.0);
        for (mean, rate) in self.rates.iter_mut().zip(rates) {
            *mean += weight(self.runs) * (rate - *mean);
        }
        let slowest = (self.shares.iter().zip(&self.rates))
            .map(|(share, rate)| share / rate)
            .fold(0.0, f64::max);
        let gain = slowest * self.rates.iter().sum::<f64>();
        if self.runs > 1 && is_clear(gain, RENEWAL, self.runs) && self.change.may_begin() {
            let sum: f64 = self.rates.iter().sum();
            let new = self.rates.iter().map(|rate| rate / sum).collect();
            self.change.begin(core::mem::replace(&mut self.shares, new));
            self.runs = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a loop whose iteration at `x`, from 0 to 1, costs `cost(x)` nanoseconds times the number of iterations, on
    /// nodes with one core each that take `slow[k]` times as long. Returns the part.
    fn run(blocks: &mut Blocks, slow: &[f64], cost: &dyn Fn(f64) -> f64) -> f64 {
        const STEPS: usize = 10_000;
        let at = |i: usize| cost((i as f64 + 0.5) / STEPS as f64) / STEPS as f64;
        let all: f64 = (0..STEPS).map(at).sum();
        let parts: Vec<Part> = match blocks.bounds() {
            // On demand each node gets in proportion to its speed, of all parts of the loop.
            None => {
                let speeds: f64 = slow.iter().map(|s| 1.0 / s).sum();
                let part = |s: &f64| (1.0 / s / speeds, all / speeds);
                (slow.iter().map(part))
                    .map(|(work, ran_ns)| of(work, ran_ns))
                    .collect()
            }
            Some(bounds) => {
                let step = |b: u32| (f64::from(b) / f64::from(WHOLE) * STEPS as f64) as usize;
                (bounds.windows(2).zip(slow))
                    .map(|(b, s)| {
                        let (from, to) = (step(b[0]), step(b[1]));
                        let ns: f64 = (from..to).map(at).sum();
                        of((to - from) as f64 / STEPS as f64, ns * s)
                    })
                    .collect()
            }
        };
        let ns = parts.iter().map(|p| p.ran_ns).fold(0.0, f64::max);
        blocks.ran(&parts, ns);
        ns
    }

    /// The longest part of the last of `runs` executions.
    fn runs(blocks: &mut Blocks, slow: &[f64], cost: &dyn Fn(f64) -> f64, runs: usize) -> f64 {
        (0..runs).fold(0.0, |_, _| run(blocks, slow, cost))
    }

    fn of(work: f64, ran_ns: f64) -> Part {
        Part {
            cores: 1,
            threads: 1,
            work,
            ran_ns,
            waited_ns: 0.0,
            done_ns: 0.0,
        }
    }

    /// The shares of all nodes in thousandths.
    fn shares(blocks: &Blocks) -> Vec<u32> {
        parts(&blocks.bounds().expect("blocks"))
    }

    #[test]
    fn blocks_are_in_proportion_to_speeds() {
        let mut blocks = Blocks::default();
        assert_eq!(blocks.bounds(), None);
        run(&mut blocks, &[1.0, 3.0], &|_| 1e8);
        assert_eq!(shares(&blocks), [750, 250]);
        // Settled: nothing moves any more.
        let settled = blocks.bounds();
        for _ in 0..20 {
            run(&mut blocks, &[1.0, 3.1], &|_| 1e8);
            assert_eq!(blocks.bounds(), settled);
        }
    }

    /// Cores and threads count: a node with two of each does twice as much.
    #[test]
    fn a_node_with_more_cores_has_more() {
        let mut blocks = Blocks::default();
        let two = Part {
            cores: 2,
            threads: 4,
            ..of(0.5, 50e6)
        };
        blocks.ran(&[of(0.5, 50e6), two], 50e6);
        assert_eq!(shares(&blocks), [333, 667]);
    }

    #[test]
    fn blocks_of_unlike_iterations_take_the_same_time() {
        let triangle = |x: f64| 1e9 * x;
        for nodes in [&[1.0, 1.0][..], &[1.0, 3.0], &[1.0, 1.0, 2.0]] {
            let speeds: f64 = nodes.iter().map(|s| 1.0 / s).sum();
            let ideal = 1e9 / 2.0 / speeds;
            let last = runs(&mut Blocks::default(), nodes, &triangle, 16);
            assert!(last < 1.15 * ideal, "{nodes:?}: {last}");
        }
    }

    /// Work that changes its place, and a node that has become five times as slow.
    #[test]
    fn blocks_follow_what_changes() {
        let rises = |x: f64| 1e9 * (0.6 + x);
        let falls = |x: f64| 1e9 * (1.6 - x);
        let mut blocks = Blocks::default();
        runs(&mut blocks, &[1.0, 1.0], &rises, 6);
        // The work changes just while a change is on trial, which is then taken back.
        let last = runs(&mut blocks, &[1.0, 1.0], &falls, 60);
        assert!(last < 1.1 * 1e9 * 1.1 / 2.0, "{last}");
        let mut blocks = Blocks::default();
        runs(&mut blocks, &[1.0, 1.0], &|_| 1e9, 6);
        runs(&mut blocks, &[1.0, 5.0], &|_| 1e9, 12);
        assert_eq!(shares(&blocks), [833, 167]);
    }

    /// Like nodes of which other programs take a half at times: blocks stay almost always.
    #[test]
    fn noise_moves_few_blocks() {
        let mut blocks = Blocks::default();
        let (mut seed, mut moves, mut bounds) = (0x9e37_79b9_u32, 0, None);
        for _ in 0..1000 {
            let mut slow = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                1.0 + 0.5 * f64::from(seed >> 8) / f64::from(1 << 24)
            };
            run(&mut blocks, &[slow(), slow()], &|_| 1e8);
            moves += u32::from(blocks.bounds() != bounds);
            bounds = blocks.bounds();
        }
        assert!(moves < 8, "{moves}");
    }

    /// Parts that are too short to tell: equal blocks by cores.
    #[test]
    fn short_loops_are_divided_equally() {
        let mut blocks = Blocks::default();
        assert_eq!(blocks.bounds(), None);
        for parts in [
            [of(0.9, 1000.0), of(0.1, 9000.0)],
            [of(0.5, 1000.0), of(0.5, 9000.0)],
        ] {
            blocks.ran(&parts, 9000.0);
            assert_eq!(shares(&blocks), [500, 500]);
        }
    }

    #[test]
    fn bounds_cover_the_loop() {
        for weights in [&[1.0][..], &[3.0, 1.0], &[1.0; 7], &[0.0, 1.0, 0.0]] {
            let bounds = (Blocks::given(weights.iter().copied()))
                .and_then(|b| b.bounds())
                .expect("bounds");
            assert_eq!((bounds[0], bounds[weights.len()]), (0, WHOLE));
            assert!(bounds.is_sorted(), "{bounds:?}");
        }
        assert!(Blocks::given([0.0, 0.0].into_iter()).is_none());
    }
}
