//! What iterations cost: sums over ranges of a loop, by kind of iteration.

use super::workload::{LoopModel, Spread};
use hetmp_sched::ranges::Range;

/// A well mixed function of a number (the finaliser of splitmix64).
pub(super) fn hash(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A number in `[0, 1)` from a hash.
pub(super) fn unit(x: u64) -> f64 {
    (hash(x) >> 11) as f64 / (1u64 << 53) as f64
}

/// Largest loop whose costs may vary: sums are kept for each iteration.
pub(super) const MOST_VARIED: u64 = 1 << 26;

/// Weighted iterations of a range, by kind. An iteration weighs its cost divided by the mean cost of its
/// kind.
#[derive(Debug)]
pub(super) struct Costs {
    n: u64,
    /// Part and period of the second kind of iterations; a part of 0 means there is none.
    part: f64,
    period: u64,
    /// For each kind, the sums of weights before each iteration, with one entry more than iterations; empty
    /// if all iterations weigh 1.
    sums: Option<[Vec<f64>; 2]>,
}

impl Costs {
    pub(super) fn new(l: &LoopModel, seed: u64) -> Costs {
        let (part, period) = l
            .mix
            .as_ref()
            .map_or((0.0, 1), |m| (m.part.clamp(0.0, 1.0), m.period.max(1)));
        let mut costs = Costs {
            n: l.iterations,
            part,
            period,
            sums: None,
        };
        if l.spread != Spread::Even && l.iterations <= MOST_VARIED {
            let mut sums = [0, 1].map(|_| Vec::with_capacity(l.iterations as usize + 1));
            let mut so_far = [0.0; 2];
            for i in 0..l.iterations {
                for (all, &s) in sums.iter_mut().zip(&so_far) {
                    all.push(s);
                }
                so_far[usize::from(costs.is_second(i))] += weight(l.spread, i, l.iterations, seed);
            }
            for (all, &s) in sums.iter_mut().zip(&so_far) {
                all.push(s);
            }
            costs.sums = Some(sums);
        }
        costs
    }

    /// Standard deviation of an iteration's cost over the mean cost, within its kind.
    pub(super) fn variation(&self) -> f64 {
        let Some(sums) = &self.sums else { return 0.0 };
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for of_kind in sums {
            for pair in of_kind.windows(2) {
                let w = pair[1] - pair[0];
                if w > 0.0 {
                    count += 1.0;
                    sum += w;
                    squares += w * w;
                }
            }
        }
        let mean: f64 = sum / f64::max(count, 1.0);
        if mean > 0.0 {
            (squares / count - mean * mean).max(0.0).sqrt() / mean
        } else {
            0.0
        }
    }

    fn is_second(&self, i: u64) -> bool {
        ((i % self.period) as f64) < self.part * self.period as f64
    }

    /// Iterations of the second kind before `i`.
    fn second_before(&self, i: u64) -> u64 {
        let each = ((self.part * self.period as f64).ceil() as u64).min(self.period);
        (i / self.period) * each + (i % self.period).min(each)
    }

    /// Iterations of each kind in `range`.
    pub(super) fn counts(&self, range: Range) -> [f64; 2] {
        if self.part == 0.0 {
            return [range.len() as f64, 0.0];
        }
        let second = self.second_before(range.end) - self.second_before(range.start);
        [(range.len() - second) as f64, second as f64]
    }

    /// Weight of each kind in `range`.
    pub(super) fn weights(&self, range: Range) -> [f64; 2] {
        debug_assert!(range.end <= self.n);
        match &self.sums {
            None => self.counts(range),
            Some(sums) => {
                [0, 1].map(|k| sums[k][range.end as usize] - sums[k][range.start as usize])
            }
        }
    }
}

/// Cost of iteration `i` of `n` over the mean.
fn weight(spread: Spread, i: u64, n: u64, seed: u64) -> f64 {
    let draw = || unit(seed ^ hash(i));
    match spread {
        Spread::Even => 1.0,
        Spread::Uniform(a) => 1.0 + a * (2.0 * draw() - 1.0),
        Spread::Exponential(a) => 1.0 - a - a * (1.0 - draw()).ln(),
        Spread::Ramp(a) => 1.0 + a * (1.0 - (2 * i + 1) as f64 / n as f64),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::workload::Mix;

    fn model(n: u64, spread: Spread) -> LoopModel {
        LoopModel {
            iterations: n,
            spread,
            ..Default::default()
        }
    }

    #[test]
    fn means_stay() {
        for (spread, tolerance) in [
            (Spread::Even, 0.0),
            (Spread::Uniform(0.5), 0.02),
            (Spread::Exponential(1.0), 0.05),
            (Spread::Ramp(0.7), 1e-9),
            (Spread::Ramp(-1.0), 1e-9),
        ] {
            let c = Costs::new(&model(10_000, spread), 7);
            let [w, second] = c.weights(Range::new(0, 10_000));
            assert!((w / 1e4 - 1.0).abs() <= tolerance, "{spread:?} {w}");
            assert_eq!(second, 0.0);
        }
        let c = Costs::new(&model(100, Spread::Ramp(1.0)), 7);
        let half = c.weights(Range::new(0, 50))[0];
        assert!((half - 75.0).abs() < 1e-9, "{half}");
    }

    #[test]
    fn six_of_ten() {
        let mut l = model(95, Spread::Even);
        l.mix = Some(Mix {
            part: 0.6,
            period: 10,
            ..Default::default()
        });
        for spread in [Spread::Even, Spread::Ramp(0.0)] {
            l.spread = spread;
            let c = Costs::new(&l, 1);
            assert_eq!(c.weights(Range::new(0, 95)), [36.0, 59.0]);
            assert_eq!(c.weights(Range::new(3, 17)), [5.0, 9.0]);
            assert_eq!(c.weights(Range::new(6, 10)), [4.0, 0.0]);
        }
    }
}
