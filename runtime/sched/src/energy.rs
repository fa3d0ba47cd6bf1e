//! Energy of a split: the time and the joules that a division of a loop over nodes costs, and which division
//! costs least.
//!
//! This is a model, not a measurement: a node draws `idle_watts` as long as the loop runs anywhere, and
//! `core_watts` more for every core that computes. Threads that wait are parked and draw nothing extra. The
//! model leaves out page traffic, memory and the link. Its results are *modelled*, and callers label them so.
//!
//! # Which divisions are worth looking at
//! Let node `i` run `x_i` of `n` iterations in a loop that takes the time `t`.
//! Then `x_i <= t * r_i`, with `r_i` its iterations per second on all cores,
//! and the energy is `idle * t + sum(c_i * x_i)`, with `c_i = core_watts /
//! (iterations per second of one core)` the *marginal energy* of an iteration
//! there. For a given `t` the cheapest division fills nodes in the order of
//! `c_i`. So energy as a function of time is piecewise linear, its corners are
//! where the first `k` nodes of that order are filled and the rest rest, and a
//! linear piece `a + b * t` has its least value, and the least of `t * (a + b *
//! t)` over an interval too, at one of its ends (for `b < 0` the product is
//! concave; for `b >= 0` it grows, as `a` is not negative). Therefore `best`
//! tries the prefixes of that order, each divided so that its nodes end
//! together, and nothing else.

/// The watts of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Power {
    /// Watts of the whole node when nothing runs on it.
    pub idle_watts: f64,
    /// Watts that each computing core adds.
    pub core_watts: f64,
}

/// A node's input to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Part {
    /// Cores that take part, i.e. threads of the team.
    pub threads: u32,
    /// Nanoseconds that one core spends on an iteration. A node whose value is not positive and finite cannot
    /// run iterations.
    pub ns_per_iteration: f64,
    /// The node's watts.
    pub power: Power,
}

impl Part {
    /// Iterations per nanosecond on all cores.
    fn rate(&self) -> f64 {
        let ns = self.ns_per_iteration;
        if ns > 0.0 && ns.is_finite() {
            f64::from(self.threads) / ns
        } else {
            0.0
        }
    }
}

/// Time and energy of one execution of a loop. Modelled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Elapsed time in seconds.
    pub seconds: f64,
    /// Energy of all nodes in joules.
    pub joules: f64,
}

impl Estimate {
    /// Energy-delay product, in joule seconds.
    #[must_use]
    pub(crate) fn edp(&self) -> f64 {
        self.seconds * self.joules
    }
}

/// Time and energy of `n` iterations of which node `i` runs the part
/// `shares[i]`. A share on a node that cannot run iterations makes both
/// infinite; missing shares count as zero.
#[must_use]
pub(crate) fn of_split(n: u64, parts: &[Part], shares: &[f64]) -> Estimate {
    let n = n as f64;
    let mut ns = 0.0f64;
    let mut core_ns_watts = 0.0;
    for (part, share) in parts.iter().zip(shares).filter(|&(_, &s)| s > 0.0) {
        let rate = part.rate();
        if rate == 0.0 {
            return Estimate {
                seconds: f64::INFINITY,
                joules: f64::INFINITY,
            };
        }
        ns = ns.max(n * share / rate);
        core_ns_watts += n * share * part.ns_per_iteration * part.power.core_watts;
    }
    let idle: f64 = parts.iter().map(|p| p.power.idle_watts).sum();
    Estimate {
        seconds: ns * 1e-9,
        joules: (idle * ns + core_ns_watts) * 1e-9,
    }
}

/// The division with the least `score`: the time, the energy or the energy-delay product of an [`Estimate`],
/// or another score that is monotonic in both and concave along a line of constant slope. Shares add up to 1,
/// or are all zero if no node can run iterations. Of two equal divisions the one over more nodes is taken.
#[must_use]
pub(crate) fn best(parts: &[Part], score: impl Fn(&Estimate) -> f64) -> Vec<f64> {
    let marginal = |i: usize| parts[i].power.core_watts * parts[i].ns_per_iteration;
    let mut order: Vec<usize> = (0..parts.len())
        .filter(|&i| parts[i].rate() > 0.0)
        .collect();
    order.sort_by(|&a, &b| marginal(a).total_cmp(&marginal(b)));
    let mut best = vec![0.0; parts.len()];
    let mut least = f64::INFINITY;
    for k in 1..=order.len() {
        let total: f64 = order[..k].iter().map(|&i| parts[i].rate()).sum();
        let mut shares = vec![0.0; parts.len()];
        for &i in &order[..k] {
            shares[i] = parts[i].rate() / total;
        }
        // Any number of iterations will do: time and energy grow in proportion to it.
        let s = score(&of_split(1_000_000, parts, &shares));
        if s <= least {
            (least, best) = (s, shares);
        }
    }
    best
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn part(threads: u32, ns: f64, idle_watts: f64, core_watts: f64) -> Part {
        Part {
            threads,
            ns_per_iteration: ns,
            power: Power {
                idle_watts,
                core_watts,
            },
        }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} {b}");
    }

    /// 10^9 iterations of 10 ns on 4 cores: 2.5 s; (20 + 4 * 5) W.
    #[test]
    fn one_node() {
        let e = of_split(1_000_000_000, &[part(4, 10.0, 20.0, 5.0)], &[1.0]);
        close(e.seconds, 2.5);
        close(e.joules, 100.0);
        close(e.edp(), 250.0);
        let zero = of_split(0, &[part(4, 10.0, 20.0, 5.0)], &[1.0]);
        assert_eq!((zero.seconds, zero.joules), (0.0, 0.0));
    }

    /// Fast core 10 ns at 30 W, slow core 30 ns at 2 W, no idle power. Fast
    /// alone for 10^9: 10 s, 300 J. Both 3:1: 7.5 s, 7.5 * 32 = 240 J. Slow
    /// alone: 30 s, 60 J. Energy wants the slow one, EDP (3000, 1800, 1800) is
    /// a tie and takes more nodes.
    #[test]
    fn each_objective_wants_something_else() {
        let parts = [part(1, 10.0, 0.0, 30.0), part(1, 30.0, 0.0, 2.0)];
        let n = 1_000_000_000;
        let both = of_split(n, &parts, &[0.75, 0.25]);
        close(both.seconds, 7.5);
        close(both.joules, 240.0);
        close(of_split(n, &parts, &[0.0, 1.0]).joules, 60.0);
        assert_eq!(best(&parts, |e| e.seconds), [0.75, 0.25]);
        assert_eq!(best(&parts, |e| e.joules), [0.0, 1.0]);
        assert_eq!(best(&parts, |e| (e.edp() * 1e9).round()), [0.75, 0.25]);
        // 10 W that are drawn anyway: slow alone 360 J, both 315 J.
        let idle = [part(1, 10.0, 10.0, 30.0), part(1, 30.0, 0.0, 2.0)];
        close(of_split(n, &idle, &[0.0, 1.0]).joules, 360.0);
        close(of_split(n, &idle, &[0.75, 0.25]).joules, 315.0);
        assert_eq!(best(&idle, |e| e.joules), [0.75, 0.25]);
    }

    #[test]
    fn nodes_that_cannot() {
        let parts = [part(0, 10.0, 1.0, 1.0), part(2, f64::NAN, 1.0, 1.0)];
        assert_eq!(best(&parts, |e| e.joules), [0.0, 0.0]);
        assert_eq!(best(&[], |e| e.joules), [0.0; 0]);
        assert!(of_split(1, &parts, &[0.0, 1.0]).seconds.is_infinite());
    }

    proptest! {
        /// No division is better than the one that is found.
        #[test]
        fn nothing_is_better(
            nodes in prop::collection::vec((1u32..9, 1.0f64..100.0, 0.0f64..50.0, 0.0f64..20.0), 1..5),
            weights in prop::collection::vec(0.0f64..1.0, 5),
        ) {
            let parts: Vec<Part> = nodes.iter().map(|&(t, ns, i, c)| part(t, ns, i, c)).collect();
            let sum: f64 = weights[..parts.len()].iter().sum();
            prop_assume!(sum > 0.0);
            let other: Vec<f64> = weights[..parts.len()].iter().map(|w| w / sum).collect();
            let scores: [fn(&Estimate) -> f64; 3] = [|e| e.seconds, |e| e.joules, Estimate::edp];
            for score in scores {
                let found = score(&of_split(1000, &parts, &best(&parts, score)));
                let tried = score(&of_split(1000, &parts, &other));
                prop_assert!(found <= tried * (1.0 + 1e-9), "{} {}", found, tried);
            }
        }
    }
}
