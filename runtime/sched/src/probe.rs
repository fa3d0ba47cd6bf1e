//! Measurements: a thread's report about a piece of the loop, and the sums over a node's threads.
//!
//! Times are *elapsed* times from a monotonic clock. A CPU-time clock would hide throttling, sleeping and
//! page traffic, and show all nodes alike.

/// Hardware counters of one thread over one piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions retired.
    pub instructions: u64,
    /// Last-level cache misses, or what the user named instead.
    pub cache_misses: u64,
}

/// One thread's measurement of one piece of work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// Elapsed time in nanoseconds.
    pub elapsed_ns: u64,
    /// Iterations run in that time.
    pub iterations: u64,
    /// Hardware counters, where the machine has them.
    pub counters: Option<Counters>,
}

impl Measurement {
    /// Adds the measurement of a further piece of the same work.
    pub fn merge(&mut self, m: &Measurement) {
        self.elapsed_ns = self.elapsed_ns.saturating_add(m.elapsed_ns);
        self.iterations = self.iterations.saturating_add(m.iterations);
        if let Some(c) = m.counters {
            let sum = self.counters.unwrap_or_default();
            self.counters = Some(Counters {
                instructions: sum.instructions.saturating_add(c.instructions),
                cache_misses: sum.cache_misses.saturating_add(c.cache_misses),
            });
        }
    }
}

/// Averages of one node for one loop, per iteration and core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeRate {
    /// Elapsed nanoseconds that one core spends on an iteration.
    pub ns_per_iteration: f64,
    /// Instructions per iteration.
    pub instructions: Option<f64>,
    /// Cache misses per iteration.
    pub cache_misses: Option<f64>,
}

impl NodeRate {
    /// A speed of which nothing else is known.
    #[must_use]
    pub const fn of(ns_per_iteration: f64) -> NodeRate {
        NodeRate {
            ns_per_iteration,
            instructions: None,
            cache_misses: None,
        }
    }

    /// `weight` parts of `new` and the rest of `self`. A field that only one of the two has is taken from
    /// that one.
    #[must_use]
    pub fn blend(&self, new: &NodeRate, weight: f64) -> NodeRate {
        let mix = |old: f64, new: f64| weight * new + (1.0 - weight) * old;
        let maybe = |old: Option<f64>, new: Option<f64>| match (old, new) {
            (Some(o), Some(n)) => Some(mix(o, n)),
            (one, other) => other.or(one),
        };
        NodeRate {
            ns_per_iteration: mix(self.ns_per_iteration, new.ns_per_iteration),
            instructions: maybe(self.instructions, new.instructions),
            cache_misses: maybe(self.cache_misses, new.cache_misses),
        }
    }
}

/// Sum of the measurements of a node's threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeTotal {
    sum: Measurement,
    reports: u32,
}

impl NodeTotal {
    /// Adds one thread's measurement. A measurement without iterations says nothing about their speed and is
    /// ignored.
    pub fn add(&mut self, m: &Measurement) {
        if m.iterations > 0 {
            self.reports += 1;
            self.sum.merge(m);
        }
    }

    /// Adds all measurements of `other`.
    pub fn merge(&mut self, other: &NodeTotal) {
        self.reports += other.reports;
        self.sum.merge(&other.sum);
    }

    /// Sum of the elapsed times in nanoseconds.
    #[must_use]
    pub fn elapsed_ns(&self) -> u64 {
        self.sum.elapsed_ns
    }

    /// Number of measurements in it.
    #[must_use]
    pub fn reports(&self) -> u32 {
        self.reports
    }

    /// The averages; `None` before the first measurement.
    #[must_use]
    pub fn rate(&self) -> Option<NodeRate> {
        let sum = &self.sum;
        let n = sum.iterations as f64;
        (sum.iterations > 0).then(|| NodeRate {
            // A coarse clock may read zero for a short piece, and a speed must stay finite.
            ns_per_iteration: sum.elapsed_ns.max(1) as f64 / n,
            instructions: sum.counters.map(|c| c.instructions as f64 / n),
            cache_misses: sum.counters.map(|c| c.cache_misses as f64 / n),
        })
    }
}

/// Iterations in each thread's probe chunk, so that all threads together use
/// `fraction` of the loop, and at least one iteration each.
#[must_use]
pub fn chunk(n: u64, threads: usize, fraction: f64) -> u64 {
    let threads = (threads as u64).max(1);
    ((n as f64 * fraction / threads as f64) as u64).clamp(1, (n / threads).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_blends() {
        let mut t = NodeTotal::default();
        assert!(t.rate().is_none());
        t.add(&Measurement {
            elapsed_ns: 900,
            iterations: 0,
            ..Default::default()
        });
        assert_eq!(t.reports(), 0);
        for elapsed_ns in [4000, 6000] {
            t.add(&Measurement {
                elapsed_ns,
                iterations: 5,
                counters: Some(Counters {
                    instructions: 10_000,
                    cache_misses: 50,
                }),
            });
        }
        let r = t.rate().unwrap();
        assert_eq!(r.ns_per_iteration, 1000.0);
        assert_eq!((r.instructions, r.cache_misses), (Some(2000.0), Some(10.0)));
        let newer = NodeRate {
            ns_per_iteration: 2000.0,
            instructions: None,
            cache_misses: None,
        };
        let b = r.blend(&newer, 0.75);
        assert_eq!(b.ns_per_iteration, 1750.0);
        assert_eq!(b.instructions, r.instructions);
    }

    #[test]
    fn zero_time_stays_finite() {
        let mut t = NodeTotal::default();
        t.add(&Measurement {
            iterations: 4,
            ..Default::default()
        });
        assert!(t.rate().unwrap().ns_per_iteration > 0.0);
    }

    #[test]
    fn chunks() {
        assert_eq!(chunk(1000, 4, 0.1), 25);
        assert_eq!(chunk(3, 4, 0.1), 1);
        assert_eq!(chunk(1000, 4, 1.0), 250);
        assert_eq!(chunk(0, 4, 0.1), 1);
        assert!(chunk(u64::MAX, 3, 1.0) <= u64::MAX / 3);
    }
}
