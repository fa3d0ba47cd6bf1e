//! Where a loop runs: three questions, in this order.
//!
//! 1. *Several nodes at all?* Only if computation pays for the page traffic: the fault period must exceed the
//!    link's threshold. Nodes that share memory coherently have no remote faults; for them the answer is yes.
//! 2. *If several, how much each?* Shares proportional to core speed ratio
//!    times cores.
//! 3. *If one, which?* With many cache misses per instruction: the node with the most cores (and so the most
//!    bandwidth). With few: the node with the fastest cores. Without counters the probe times cannot tell,
//!    since they contain page traffic that a single node would not have. Then each node runs the region alone
//!    once, in later executions, and the fastest is kept.
//!
//! Thresholds know neither the length of a loop nor the time that a node alone would take. Where whole programs can
//! be watched, [`crate::crossing`] decides by measured times instead.
//!
//! With an [`Objective`] other than time, the second and the third question are answered by the energy that a
//! division or a node costs, modelled from the nodes' watts (see [`crate::energy`]).
//!
//! A pure function; the [`Decision`] keeps every number that led to it.

pub use crate::decision::{Choice, Decision, Link, NodeInput, Objective, Rules, Thresholds};

use crate::energy::{self, Estimate, Part};
use crate::limits::NEGLIGIBLE;
use crate::ways::Reason;

/// Answers the three questions.
///
/// Nodes without threads take no part. A node with threads but without a
/// measurement counts as fast as the slowest measured one.
#[must_use]
pub fn decide(nodes: &[NodeInput], rules: &Rules) -> Decision {
    let measured = || {
        nodes
            .iter()
            .filter(|n| n.threads > 0)
            .filter_map(|n| n.rate)
    };
    let slowest = measured().map(|r| r.ns_per_iteration).fold(0.0, f64::max);
    let csr: Box<[Option<f64>]> = nodes
        .iter()
        .map(|n| {
            n.rate
                .filter(|_| n.threads > 0)
                .map(|r| slowest / r.ns_per_iteration)
        })
        .collect();
    let fault_period_us = measured()
        .filter_map(|r| r.fault_period_us())
        .reduce(f64::min);
    let fault_threshold_us = rules
        .link
        .map_or(rules.thresholds.fault_period_us, |l| l.fault_period_us);
    let misses_per_kilo = {
        let (m, i) = measured().fold((0.0, 0.0), |(m, i), r| {
            match (r.cache_misses, r.instructions) {
                (Some(rm), Some(ri)) => (m + rm, i + ri),
                _ => (m, i),
            }
        });
        (i > 0.0).then(|| 1000.0 * m / i)
    };

    let inhabited = nodes.iter().filter(|n| n.threads > 0).count();
    let priced = (rules.objective != Objective::Time)
        .then(|| parts(nodes, slowest))
        .flatten();
    let mut modelled = None;
    let choice = if inhabited <= 1 {
        Choice::OneNode {
            node: nodes.iter().position(|n| n.threads > 0).unwrap_or(0),
            why: Reason::OnlyNode,
        }
    } else if fault_period_us.is_some_and(|p| p <= fault_threshold_us) {
        which(nodes, &csr, misses_per_kilo, rules, priced.is_some())
    } else {
        let weight = |(n, c): (&NodeInput, &Option<f64>)| f64::from(n.threads) * c.unwrap_or(1.0);
        let total: f64 = nodes.iter().zip(&csr).map(weight).sum();
        let by_speed: Box<[f64]> = nodes.iter().zip(&csr).map(|x| weight(x) / total).collect();
        match priced {
            None if fault_period_us.is_some() => without_negligible(by_speed),
            None => Choice::Split { shares: by_speed },
            Some(parts) => {
                let shares = energy::best(&parts, |e| rules.objective.score(e));
                modelled = Some([
                    energy::of_split(1, &parts, &shares),
                    energy::of_split(1, &parts, &by_speed),
                ]);
                match shares.iter().position(|&s| s == 1.0) {
                    Some(node) => Choice::OneNode {
                        node,
                        why: Reason::LeastCost,
                    },
                    None => Choice::Split {
                        shares: shares.into(),
                    },
                }
            }
        }
    };
    Decision {
        choice,
        csr,
        nodes: nodes.into(),
        fault_period_us,
        fault_threshold_us,
        misses_per_kilo,
        modelled,
        rules: *rules,
    }
}

/// A split by `shares`, without the nodes whose share is below [`NEGLIGIBLE`].
fn without_negligible(mut shares: Box<[f64]>) -> Choice {
    let kept = |s: f64| if s < NEGLIGIBLE { 0.0 } else { s };
    let total: f64 = shares.iter().map(|&s| kept(s)).sum();
    // There are so many nodes that every share is small: keep all of them.
    if total == 0.0 {
        return Choice::Split { shares };
    }
    for s in &mut *shares {
        *s = kept(*s) / total;
    }
    match shares.iter().position(|&s| s == 1.0) {
        Some(node) => Choice::OneNode {
            node,
            why: Reason::Negligible,
        },
        None => Choice::Split { shares },
    }
}

/// The nodes as the model of energy sees them. `None` where the watts of a node with threads are not known,
/// or nothing was measured at all. A node that was not measured counts as the slowest one, as in [`decide`].
fn parts(nodes: &[NodeInput], slowest: f64) -> Option<Vec<Part>> {
    let known = |n: &NodeInput| {
        let power = if n.threads > 0 {
            n.power?
        } else {
            n.power.unwrap_or_default()
        };
        Some(Part {
            threads: n.threads,
            ns_per_iteration: n.rate.map_or(slowest, |r| r.ns_per_iteration),
            power,
        })
    };
    nodes
        .iter()
        .map(known)
        .collect::<Option<Vec<Part>>>()
        .filter(|_| slowest > 0.0)
}

/// Answers the third question: which node alone.
fn which(
    nodes: &[NodeInput],
    csr: &[Option<f64>],
    misses_per_kilo: Option<f64>,
    rules: &Rules,
    priced: bool,
) -> Choice {
    let candidates = || {
        nodes
            .iter()
            .enumerate()
            .filter(|(_, n)| n.threads > 0)
            .map(|(i, _)| i)
    };
    // Of equal nodes the first is taken, so that the outcome does not depend on chance.
    let best = |score: &dyn Fn(usize) -> (f64, f64)| {
        candidates()
            .reduce(|a, b| if score(b) > score(a) { b } else { a })
            .unwrap_or(0)
    };
    // How fast cores compute: without the time that the probe waited for pages, which one node alone would
    // not wait.
    let fault_us = rules.link.and_then(|l| l.fault_us).unwrap_or(0.0);
    let speed = |i: usize| match (nodes[i].rate, csr[i]) {
        (Some(r), Some(_)) => r.without_faults(fault_us * 1000.0).recip(),
        _ => 0.0,
    };
    let cores = |i: usize| f64::from(nodes[i].threads);
    // The cost of running on node `i` alone: it computes for `seconds`, while the other nodes draw their idle
    // watts.
    let cost = |i: usize| {
        let power = |k: usize| nodes[k].power.unwrap_or_default();
        let seconds = nodes[i].alone_ns.unwrap_or(f64::INFINITY) * 1e-9;
        let idle: f64 = (0..nodes.len()).map(|k| power(k).idle_watts).sum();
        rules.objective.score(&Estimate {
            seconds,
            joules: seconds * (idle + cores(i) * power(i).core_watts),
        })
    };
    // Counters tell which node is fastest, not which node costs least.
    let (node, why) = match misses_per_kilo.filter(|_| !priced) {
        Some(m) if m > rules.thresholds.misses_per_kilo => {
            (best(&|i| (cores(i), speed(i))), Reason::MostCores)
        }
        Some(_) => (best(&|i| (speed(i), cores(i))), Reason::FastestCores),
        None => {
            // The origin comes first: the first execution must run somewhere anyway, and the data is there.
            let origin = candidates()
                .find(|&i| i == rules.origin)
                .or_else(|| candidates().next())
                .unwrap_or(0);
            if nodes[origin].alone_ns.is_none() {
                (origin, Reason::Untried)
            } else if let Some(i) = candidates().find(|&i| nodes[i].alone_ns.is_none()) {
                (i, Reason::Tried)
            } else if priced {
                (best(&|i| (-cost(i), 0.0)), Reason::LeastCost)
            } else {
                let time = |i: usize| nodes[i].alone_ns.unwrap_or(f64::INFINITY);
                (best(&|i| (-time(i), 0.0)), Reason::FastestAlone)
            }
        }
    };
    Choice::OneNode { node, why }
}

#[cfg(test)]
mod tests;
