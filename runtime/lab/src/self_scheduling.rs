//! Three self-scheduling techniques of the LB4OMP collection, for comparison in
//! the simulator: `fac2`, `mfac`, `awf-b`.
//!
//! All hand out *batches*: of what is left, a batch takes a part, and gives as
//! many chunks as there are threads.
//!
//! * `fac2` (practical factoring): a batch takes half of what is left.
//! * `mfac` (factoring): a batch takes as much as the variation of the
//!   iterations' costs allows (S. Flynn Hummel, E. Schonberg, L. E. Flynn,
//!   1992). The collection profiles that variation before; here the model knows
//!   it. With even costs the first batch takes all, as the technique expects
//!   threads to be alike.
//! * `awf-b` (adaptive weighted factoring, by batches): as `fac2`, but a chunk
//!   is weighted by the thread's measured speed, anew in each batch
//!   (I. Banicescu, V. Velusamy, J. Devaprasad, 2003).

use hetmp_sched::probe::Measurement;
use hetmp_sched::ranges::Range;

/// A technique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Technique {
    /// Practical factoring.
    Fac2,
    /// Factoring by known variation.
    Mfac,
    /// Adaptive weighted factoring.
    AwfB,
}

impl Technique {
    /// All of them.
    pub const ALL: [Technique; 3] = [Technique::Fac2, Technique::Mfac, Technique::AwfB];

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Technique::Fac2 => "fac2",
            Technique::Mfac => "mfac",
            Technique::AwfB => "awf-b",
        }
    }
}

/// What a thread's chunks took, later ones counting for more.
#[derive(Clone, Copy, Debug, Default)]
struct Performance {
    chunks: f64,
    weighted_ns: f64,
    weighted_iterations: f64,
}

impl Performance {
    fn add(&mut self, m: &Measurement) {
        self.chunks += 1.0;
        self.weighted_ns += self.chunks * m.elapsed_ns as f64;
        self.weighted_iterations += self.chunks * m.iterations as f64;
    }

    fn ns_per_iteration(&self) -> Option<f64> {
        (self.weighted_iterations > 0.0 && self.weighted_ns > 0.0)
            .then(|| self.weighted_ns / self.weighted_iterations)
    }
}

/// One execution of one loop.
#[derive(Debug)]
pub(super) struct SelfScheduling {
    technique: Technique,
    n: u64,
    next: u64,
    /// Standard deviation of an iteration's cost over its mean.
    variation: f64,
    /// Chunks that the running batch has still to give.
    chunks_left: usize,
    /// An even chunk of the running batch.
    chunk: f64,
    first: bool,
    weights: Vec<f64>,
    performance: Vec<Performance>,
}

impl SelfScheduling {
    pub(super) fn new(technique: Technique, n: u64, threads: usize, variation: f64) -> Self {
        SelfScheduling {
            technique,
            n,
            next: 0,
            variation,
            chunks_left: 0,
            chunk: 0.0,
            first: true,
            weights: vec![1.0; threads],
            performance: vec![Performance::default(); threads],
        }
    }

    /// The next chunk of thread `tid`, with the measurement of its last one.
    pub(super) fn take(&mut self, tid: usize, m: Option<&Measurement>) -> Option<Range> {
        if let Some(m) = m {
            self.performance[tid].add(m);
        }
        let left = self.n - self.next;
        if left == 0 {
            return None;
        }
        if self.chunks_left == 0 {
            self.begin_batch(left);
        }
        self.chunks_left -= 1;
        let size = (self.chunk * self.weights[tid]).ceil().max(1.0) as u64;
        let start = self.next;
        self.next += size.min(left);
        Some(Range::new(start, self.next))
    }

    fn begin_batch(&mut self, left: u64) {
        let threads = self.weights.len() as f64;
        let left = left as f64;
        let part = match self.technique {
            Technique::Fac2 | Technique::AwfB => 2.0,
            Technique::Mfac => {
                let b = threads / (2.0 * left.sqrt()) * self.variation;
                let least = if self.first { 1.0 } else { 2.0 };
                least + b * b + b * (b * b + least * 2.0).sqrt()
            }
        };
        self.first = false;
        self.chunk = left / (part * threads);
        self.chunks_left = self.weights.len();
        if self.technique == Technique::AwfB {
            self.weigh();
        }
    }

    /// Weights by speed, one in the mean. A thread that has measured nothing
    /// keeps an even one.
    fn weigh(&mut self) {
        let speeds: Vec<Option<f64>> = self
            .performance
            .iter()
            .map(|p| p.ns_per_iteration().map(f64::recip))
            .collect();
        let (count, sum) = speeds
            .iter()
            .flatten()
            .fold((0.0, 0.0), |(c, s), x| (c + 1.0, s + x));
        if count > 0.0 {
            for (w, speed) in self.weights.iter_mut().zip(&speeds) {
                *w = speed.map_or(1.0, |s| s * count / sum);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(technique: Technique, n: u64, threads: usize, variation: f64) -> Vec<u64> {
        let mut s = SelfScheduling::new(technique, n, threads, variation);
        let mut out = Vec::new();
        let mut at = 0;
        for tid in (0..threads).cycle() {
            let Some(r) = s.take(tid, None) else { break };
            assert_eq!(r.start, at);
            at = r.end;
            out.push(r.len());
        }
        assert_eq!(at, n);
        out
    }

    #[test]
    fn batches() {
        assert_eq!(
            sizes(Technique::Fac2, 100, 2, 0.0),
            [25, 25, 13, 13, 6, 6, 3, 3, 2, 2, 1, 1]
        );
        assert_eq!(sizes(Technique::Mfac, 100, 2, 0.0), [50, 50]);
        // b = 2 / (2 * 10) * 1 = 0.1: 1 + 0.01 + 0.1 * sqrt(2.01) = 1.1518; 100 / 2.3036 = 43.4.
        assert_eq!(sizes(Technique::Mfac, 100, 2, 1.0)[..2], [44, 44]);
    }

    #[test]
    fn weights_follow_the_speeds() {
        let mut s = SelfScheduling::new(Technique::AwfB, 1000, 2, 0.0);
        let took = |r: Range, ns: u64| Measurement {
            elapsed_ns: ns * r.len(),
            iterations: r.len(),
            ..Measurement::default()
        };
        let (a, b) = (s.take(0, None).unwrap(), s.take(1, None).unwrap());
        assert_eq!((a.len(), b.len()), (250, 250));
        // 3 to 1 once both are known.
        let a = s.take(0, Some(&took(a, 10))).unwrap();
        let b = s.take(1, Some(&took(b, 30))).unwrap();
        let (c, d) = (s.take(0, Some(&took(a, 10))), s.take(1, Some(&took(b, 30))));
        let (c, d) = (c.unwrap().len() as f64, d.unwrap().len() as f64);
        assert!((c / d - 3.0).abs() < 0.1, "{c} {d}");
    }

    proptest! {
        #[test]
        fn all_iterations_once(n in prop_oneof![0u64..3000, Just(1u64 << 40)], threads in 1usize..40,
                               variation in 0.0f64..3.0) {
            for t in Technique::ALL {
                sizes(t, n, threads, variation);
            }
        }
    }
}
