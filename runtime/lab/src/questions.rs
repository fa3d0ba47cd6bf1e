//! The three questions by which the paper decides where a loop runs:
//!
//! 1. *Several nodes at all?* Only if the fault period, the core time for each remote fault, exceeds the link's
//!    threshold. Nodes that share memory coherently have no remote faults; for them the answer is yes.
//! 2. *If several, how much each?* Shares proportional to core speed ratio times cores.
//! 3. *If one, which?* With many cache misses per instruction the node with the most cores (and so the most
//!    bandwidth), with few the node with the fastest cores. Without counters the probe cannot tell: the origin.
//!
//! The runtime asks none of them: it compares measured times ([`hetmp_sched::crossing`]).

use hetmp_sched::limits::NEGLIGIBLE;
use hetmp_sched::probe::{Measurement, NodeRate, NodeTotal};
use std::fmt;

/// A thread's measurement of a piece of a loop, with its remote faults.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measured {
    pub(super) of: Measurement,
    pub(super) faults: u64,
}

impl Measured {
    pub(super) fn merge(&mut self, other: &Measured) {
        self.of.merge(&other.of);
        self.faults += other.faults;
    }
}

/// The sum of a node's measurements.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Total {
    of: NodeTotal,
    iterations: u64,
    faults: u64,
}

impl Total {
    pub(super) fn add(&mut self, m: &Measured) {
        self.of.add(&m.of);
        self.iterations += m.of.iterations;
        self.faults += m.faults;
    }

    pub(super) fn rate(&self) -> Option<Rate> {
        Some(Rate {
            of: self.of.rate()?,
            faults: self.faults as f64 / self.iterations as f64,
        })
    }
}

/// Averages of one node for one loop, per iteration and core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate {
    of: NodeRate,
    faults: f64,
}

impl Rate {
    /// `weight` parts of `new` and the rest of `self`.
    pub(super) fn blend(&self, new: &Rate, weight: f64) -> Rate {
        Rate {
            of: self.of.blend(&new.of, weight),
            faults: weight * new.faults + (1.0 - weight) * self.faults,
        }
    }

    fn period_us(&self) -> Option<f64> {
        (self.faults > 0.0).then(|| self.of.ns_per_iteration / self.faults / 1000.0)
    }
}

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Thresholds {
    /// Fault period in microseconds that must be exceeded to use several nodes.
    pub(super) fault_period_us: f64,
    /// Cache misses per 1000 instructions above which a loop counts as bound by memory.
    pub(super) misses_per_kilo: f64,
}

/// The paper's.
impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds {
            fault_period_us: 100.0,
            misses_per_kilo: 3.0,
        }
    }
}

/// The answers, with the numbers they rest on.
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The only node, or none if several work.
    pub(super) node: Option<usize>,
    /// Share of each node, 1 together.
    pub(super) shares: Vec<f64>,
    /// Core speed ratio of each node, the slowest 1.
    pub(super) csr: Vec<Option<f64>>,
    period_us: Option<f64>,
    misses_per_kilo: Option<f64>,
    thresholds: Thresholds,
}

/// Answers for nodes with these numbers of threads, from what was measured.
pub(super) fn answer(threads: &[u32], rates: &[Option<Rate>], thresholds: Thresholds) -> Answers {
    let rate = |i: usize| rates[i].filter(|_| threads[i] > 0);
    let measured = || (0..threads.len()).filter_map(rate);
    let slowest = measured()
        .map(|r| r.of.ns_per_iteration)
        .fold(0.0, f64::max);
    let csr: Vec<Option<f64>> = (0..threads.len())
        .map(|i| rate(i).map(|r| slowest / r.of.ns_per_iteration))
        .collect();
    let period_us = measured().filter_map(|r| r.period_us()).reduce(f64::min);
    let (misses, instructions) = measured()
        .filter_map(|r| Some((r.of.cache_misses?, r.of.instructions?)))
        .fold((0.0, 0.0), |(m, i), r| (m + r.0, i + r.1));
    let misses_per_kilo = (instructions > 0.0).then(|| 1000.0 * misses / instructions);
    let inhabited = || (0..threads.len()).filter(|&i| threads[i] > 0);
    // Of equal nodes the first is taken.
    let best = |score: &dyn Fn(usize) -> (f64, f64)| {
        let first = inhabited().reduce(|a, b| if score(b) > score(a) { b } else { a });
        first.unwrap_or(0)
    };
    let weight = |i: usize| f64::from(threads[i]) * csr[i].unwrap_or(1.0);
    let total: f64 = inhabited().map(weight).sum();
    let mut shares: Vec<f64> = (0..threads.len())
        .map(|i| {
            if threads[i] > 0 {
                weight(i) / total
            } else {
                0.0
            }
        })
        .collect();
    let faults_forbid = period_us.is_some_and(|us| us <= thresholds.fault_period_us);
    let node = if inhabited().count() > 1 && faults_forbid {
        let (cores, speed) = (
            |i: usize| f64::from(threads[i]),
            |i: usize| csr[i].unwrap_or(0.0),
        );
        Some(match misses_per_kilo {
            Some(m) if m > thresholds.misses_per_kilo => best(&|i| (cores(i), speed(i))),
            Some(_) => best(&|i| (speed(i), cores(i))),
            None => inhabited().next().unwrap_or(0),
        })
    } else {
        // Next to nothing is none, if it costs faults and something is left.
        let kept: f64 = shares.iter().filter(|&&s| s >= NEGLIGIBLE).sum();
        if period_us.is_some() && kept > 0.0 {
            for share in &mut shares {
                *share = if *share < NEGLIGIBLE {
                    0.0
                } else {
                    *share / kept
                };
            }
        }
        shares.iter().position(|&share| share == 1.0)
    };
    if let Some(node) = node {
        shares = (0..threads.len())
            .map(|i| f64::from(u8::from(i == node)))
            .collect();
    }
    Answers {
        node,
        shares,
        csr,
        period_us,
        misses_per_kilo,
        thresholds,
    }
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(node) => write!(f, "node {node} alone")?,
            None => f.write_str("split")?,
        }
        match self.period_us {
            Some(us) => write!(
                f,
                "; {us:.1} us of work per remote fault, and {} are needed",
                self.thresholds.fault_period_us
            )?,
            None => f.write_str("; no remote faults")?,
        }
        match self.misses_per_kilo {
            Some(misses) => write!(
                f,
                "; {misses:.2} cache misses per 1000 instructions, and {} ask for many cores",
                self.thresholds.misses_per_kilo
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(ns: f64, period_us: f64, misses: Option<f64>) -> Option<Rate> {
        let mut of = NodeRate::of(ns);
        of.instructions = misses.map(|_| 1000.0);
        of.cache_misses = misses;
        Some(Rate {
            of,
            faults: ns / 1000.0 / period_us,
        })
    }

    #[test]
    fn faults_decide_between_one_and_several() {
        let two = |us| {
            let rates = [rate(10.0, 1e9, None), rate(20.0, us, None)];
            answer(&[2, 8], &rates, Thresholds::default())
        };
        let split = two(101.0);
        assert_eq!(
            (split.node, &*split.csr),
            (None, &[Some(2.0), Some(1.0)][..])
        );
        assert!((split.shares[0] - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(two(99.0).shares, [1.0, 0.0]);
    }

    #[test]
    fn counters_choose_the_node() {
        for (misses, node) in [(5.0, 1), (1.0, 0)] {
            let rates = [20.0, 80.0].map(|ns| rate(ns, 5.0, Some(misses)));
            let got = answer(&[2, 8], &rates, Thresholds::default());
            assert_eq!(got.node, Some(node), "{got}");
        }
    }

    /// Over a link a node with next to nothing takes nothing; coherent ones keep it.
    #[test]
    fn negligible_shares() {
        let slow = |us| [rate(10.0, 1e9, None), rate(1000.0, us, None)];
        let got = answer(&[2, 2], &slow(200.0), Thresholds::default());
        assert_eq!(got.shares, [1.0, 0.0]);
        let coherent = slow(1.0).map(|r| r.map(|r| Rate { faults: 0.0, ..r }));
        assert_eq!(answer(&[2, 2], &coherent, Thresholds::default()).node, None);
    }

    /// A node without threads takes no part, and one without a measurement counts as the slowest.
    #[test]
    fn empty_and_unmeasured_nodes() {
        let rates = [rate(10.0, 1e9, None), None, None];
        let got = answer(&[1, 0, 1], &rates, Thresholds::default());
        assert_eq!(got.shares, [0.5, 0.0, 0.5]);
    }
}
