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
//! Where the cost of a fault and of a region beyond the link are known, expected times answer the first and
//! the third question instead. Thresholds know neither the length of a loop nor the time that a node alone
//! would take.
//!
//! With an [`Objective`] other than time, the second and the third question are answered by the energy that a
//! division or a node costs, modelled from the nodes' watts (see [`crate::energy`]).
//!
//! A pure function; the [`Decision`] keeps every number that led to it.

pub use crate::decision::{
    Choice, Decision, Expected, Link, NodeInput, Objective, Rules, Seen, Thresholds, Why,
};

use crate::decision::NEGLIGIBLE;
use crate::energy::{self, Estimate, Part};

/// A node beyond the link that never ran the loop alone must promise at most this part of the origin's time:
/// data that other loops and the program itself use at the origin would travel there and back.
const UNTRIED: f64 = 0.6;
/// The part of a measured time that must be free of faults before the rest of it means something.
const CLEAN: f64 = 0.8;
/// When a node alone is judged by a time that was measured with faults, at least this part of the time counts
/// as computation.
const AT_LEAST: f64 = 0.5;
/// Another choice must be better than the present one by this part in expected time: changing moves the data.
const WORTH_MOVING: f64 = 0.03;

/// Answers the three questions.
///
/// Nodes without threads take no part. A node with threads but without a
/// measurement counts as fast as the slowest measured one.
#[must_use]
pub fn decide(nodes: &[NodeInput], rules: &Rules) -> Decision {
    decide_seen(nodes, rules, &Seen::default())
}

/// [`decide`], with what earlier executions have shown. Where the link is known ([`Rules::knows_link`]) and
/// faults are counted, expected times answer the first and the third question.
#[must_use]
pub(crate) fn decide_seen(nodes: &[NodeInput], rules: &Rules, seen: &Seen) -> Decision {
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
    let linked = measured().any(|r| r.faults.is_some());
    let expected = (linked && inhabited > 1 && rules.knows_link())
        .then(|| expected(nodes, rules, seen))
        .flatten();
    let by_speed = || -> Box<[f64]> {
        let weight = |(n, c): (&NodeInput, &Option<f64>)| f64::from(n.threads) * c.unwrap_or(1.0);
        let total: f64 = nodes.iter().zip(&csr).map(weight).sum();
        nodes.iter().zip(&csr).map(|x| weight(x) / total).collect()
    };
    let choice = if let Some(e) = &expected {
        by_time(e, rules, seen, by_speed())
    } else if inhabited <= 1 {
        Choice::OneNode {
            node: nodes.iter().position(|n| n.threads > 0).unwrap_or(0),
            why: Why::OnlyOne,
        }
    } else if fault_period_us.is_some_and(|p| p <= fault_threshold_us) {
        which(nodes, &csr, misses_per_kilo, rules, priced.is_some())
    } else {
        let by_speed = by_speed();
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
                        why: Why::LeastCost,
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
        linked,
        expected,
        fault_threshold_us,
        misses_per_kilo,
        modelled,
        rules: *rules,
    }
}

/// Expected time of one iteration of the whole loop, divided and on each node alone; `None` where a node with
/// threads was not measured.
///
/// The time of a node alone is the measured one, or its computation without the time of its faults: its pages
/// will be there. A division keeps its faults.
fn expected(nodes: &[NodeInput], rules: &Rules, seen: &Seen) -> Option<Expected> {
    let link = rules.link?;
    let (fault_ns, region_ns) = (link.fault_us? * 1000.0, link.region_us? * 1000.0);
    let region = region_ns / seen.iterations.max(1) as f64;
    let mut per_ns = 0.0;
    let mut alone = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        if node.threads == 0 {
            alone.push(f64::INFINITY);
            continue;
        }
        let rate = node.rate?;
        let threads = f64::from(node.threads);
        per_ns += threads / rate.ns_per_iteration;
        let ns = rate.without_faults(fault_ns);
        if i == rules.origin {
            // Faults at home are caused by the other nodes that were tried. A time that is mostly faults then
            // only says that home needs no page traffic: count it as the best.
            let clean = ns >= CLEAN * rate.ns_per_iteration;
            let alone_ns = if clean { ns / threads } else { 0.0 };
            alone.push(node.alone_ns.unwrap_or(alone_ns));
        } else {
            let promised = ns.max(AT_LEAST * rate.ns_per_iteration) / threads / UNTRIED;
            alone.push(node.alone_ns.unwrap_or(promised) + region);
        }
    }
    Some(Expected {
        split: seen.split_ns.unwrap_or(1.0 / per_ns) + region,
        alone: alone.into(),
    })
}

/// Chooses the least of the expected times. Between equal times the loop stays where it is, or at the origin.
fn by_time(e: &Expected, rules: &Rules, seen: &Seen, by_speed: Box<[f64]>) -> Choice {
    let node = (0..e.alone.len())
        .reduce(|a, b| {
            let far = |i: usize| {
                if i == rules.origin {
                    1.0
                } else {
                    1.0 + WORTH_MOVING
                }
            };
            if e.alone[b] * far(b) < e.alone[a] * far(a) {
                b
            } else {
                a
            }
        })
        .unwrap_or(0);
    let held = if seen.split {
        1.0 / (1.0 + WORTH_MOVING)
    } else {
        1.0 + WORTH_MOVING
    };
    if e.split * held < e.alone[node] {
        if let split @ Choice::Split { .. } = without_negligible(by_speed) {
            return split;
        }
    }
    Choice::OneNode {
        node,
        why: Why::LeastTime,
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
            why: Why::NoGain,
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
            (best(&|i| (cores(i), speed(i))), Why::MostCores)
        }
        Some(_) => (best(&|i| (speed(i), cores(i))), Why::FastestCores),
        None => {
            // The origin comes first: the first execution must run somewhere anyway, and the data is there.
            let origin = candidates()
                .find(|&i| i == rules.origin)
                .or_else(|| candidates().next())
                .unwrap_or(0);
            if nodes[origin].alone_ns.is_none() {
                (origin, Why::Origin)
            } else if let Some(i) = candidates().find(|&i| nodes[i].alone_ns.is_none()) {
                (i, Why::Trial)
            } else if priced {
                (best(&|i| (-cost(i), 0.0)), Why::LeastCost)
            } else {
                let time = |i: usize| nodes[i].alone_ns.unwrap_or(f64::INFINITY);
                (best(&|i| (-time(i), 0.0)), Why::FastestAlone)
            }
        }
    };
    Choice::OneNode { node, why }
}

#[cfg(test)]
mod tests;
