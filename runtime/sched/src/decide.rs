//! Where a loop runs: three questions, in this order.
//!
//! 1. *Several nodes at all?* Only if computation pays for the page traffic:
//!    the fault period must exceed the link's threshold. Nodes that share
//!    memory coherently have no remote faults, so the answer there is yes.
//! 2. *If several, how much each?* Shares proportional to core speed ratio
//!    times cores.
//! 3. *If one, which?* Many cache misses per instruction: the node with the
//!    most cores (and with them bandwidth). Few: the one with the fastest
//!    cores. Without counters probe times cannot tell, since they contain page
//!    traffic that a single node would not pay: each node runs the region
//!    alone once, on later executions, and the fastest is kept.
//!
//! Where the cost of a fault and of a region beyond the link are known, the first
//! and the third question are answered by expected times instead: thresholds
//! know nothing of how long a loop is, nor of what a node alone would take.
//!
//! With an [`Objective`] other than time, the second and third question are
//! answered by what the division or the node costs in energy, modelled from
//! the nodes' watts (see [`crate::energy`]).
//!
//! A pure function; the [`Decision`] keeps every number that led to it.

pub use crate::decision::{
    Choice, Decision, Expected, Link, NodeInput, Objective, Rules, Seen, Thresholds, Why,
};

use crate::decision::NEGLIGIBLE;
use crate::energy::{self, Estimate, Part};

/// A node beyond the link that never ran the loop alone must promise to take no
/// more than this part of what the origin takes: data that other loops and the
/// program itself use at the origin would go there and back.
const UNTRIED: f64 = 0.6;
/// The part of a time that must be free of faults for what is left to mean
/// something.
const CLEAN: f64 = 0.8;
/// Of a time that was measured with faults, this part is taken for computation
/// at the least, where a node alone is judged by it.
const AT_LEAST: f64 = 0.5;
/// A choice by expected times must be better by this part than what there is:
/// going there moves the data.
const WORTH_MOVING: f64 = 0.03;

/// Answers the three questions.
///
/// Nodes without threads take no part. A node with threads but without a
/// measurement counts as fast as the slowest measured one.
#[must_use]
pub fn decide(nodes: &[NodeInput], rules: &Rules) -> Decision {
    decide_seen(nodes, rules, &Seen::default())
}

/// The same with what earlier executions have shown. Where the link is known
/// ([`Rules::knows_link`]) and faults are counted, expected times answer the
/// first and the third question.
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

/// What an iteration of the loop takes, divided and on each node alone; `None`
/// where a node with threads was not measured.
///
/// A node alone takes what was measured, or computes without the time of its
/// faults: its pages will be there. A division keeps its faults.
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
            // Faults at home are the doing of others that were tried: then
            // nothing is known of it but that its pages were there before.
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

/// The least of the expected times. Ties stay where they are, or at the origin.
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

/// A split by `shares` of the nodes that have more than [`NEGLIGIBLE`] ones.
fn without_negligible(mut shares: Box<[f64]>) -> Choice {
    let kept = |s: f64| if s < NEGLIGIBLE { 0.0 } else { s };
    let total: f64 = shares.iter().map(|&s| kept(s)).sum();
    // So many nodes that each has little: all of them.
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

/// The nodes as the model of energy sees them; `None` where something is not
/// known of a node with threads, or nothing was measured at all. As in
/// [`decide`], an unmeasured node counts as the slowest.
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

/// The third question.
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
    // The first of equals, so that the outcome does not depend on chance.
    let best = |score: &dyn Fn(usize) -> (f64, f64)| {
        candidates()
            .reduce(|a, b| if score(b) > score(a) { b } else { a })
            .unwrap_or(0)
    };
    // How fast cores compute: what the probe waited for pages, one node alone
    // would not.
    let fault_us = rules.link.and_then(|l| l.fault_us).unwrap_or(0.0);
    let speed = |i: usize| match (nodes[i].rate, csr[i]) {
        (Some(r), Some(_)) => r.without_faults(fault_us * 1000.0).recip(),
        _ => 0.0,
    };
    let cores = |i: usize| f64::from(nodes[i].threads);
    // What a node alone costs: it computes for `t`, the others only draw.
    let cost = |i: usize| {
        let power = |k: usize| nodes[k].power.unwrap_or_default();
        let seconds = nodes[i].alone_ns.unwrap_or(f64::INFINITY) * 1e-9;
        let idle: f64 = (0..nodes.len()).map(|k| power(k).idle_watts).sum();
        rules.objective.score(&Estimate {
            seconds,
            joules: seconds * (idle + cores(i) * power(i).core_watts),
        })
    };
    // Counters tell which node is fastest, not which costs least.
    let (node, why) = match misses_per_kilo.filter(|_| !priced) {
        Some(m) if m > rules.thresholds.misses_per_kilo => {
            (best(&|i| (cores(i), speed(i))), Why::MostCores)
        }
        Some(_) => (best(&|i| (speed(i), cores(i))), Why::FastestCores),
        None => {
            // The origin's turn is the first: it comes with the first
            // execution, which must run somewhere anyway.
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
mod tests {
    use super::*;
    use crate::energy::Power;
    use crate::probe::NodeRate;

    fn node(threads: u32, ns: f64) -> NodeInput {
        NodeInput {
            threads,
            rate: Some(NodeRate {
                ns_per_iteration: ns,
                faults: None,
                instructions: None,
                cache_misses: None,
            }),
            ..NodeInput::default()
        }
    }

    fn faulting(threads: u32, ns: f64, period_us: f64, misses: Option<f64>) -> NodeInput {
        let mut n = node(threads, ns);
        if let Some(r) = &mut n.rate {
            r.faults = Some(ns / 1000.0 / period_us);
            r.instructions = misses.map(|_| 1000.0);
            r.cache_misses = misses;
        }
        n
    }

    #[test]
    fn coherent_nodes_split_by_speed_times_cores() {
        let d = decide(&[node(1, 10.0), node(3, 30.0)], &Rules::default());
        assert_eq!(&*d.csr, [Some(3.0), Some(1.0)]);
        assert_eq!(d.shares().collect::<Vec<_>>(), [0.5, 0.5]);
        assert_eq!(
            d.to_string(),
            "split, no remote faults; core speed ratio 3.00:1.00 times cores 1:3 gives 50.0% 50.0%"
        );
    }

    #[test]
    fn empty_and_unmeasured_nodes() {
        let silent = NodeInput {
            threads: 2,
            ..Default::default()
        };
        let d = decide(
            &[node(1, 10.0), NodeInput::default(), node(1, 20.0), silent],
            &Rules::default(),
        );
        assert_eq!(
            d.shares().collect::<Vec<_>>(),
            [0.4, 0.0, 0.2, 0.4],
            "an unmeasured node counts as the slowest"
        );
        let d = decide(&[NodeInput::default(), node(2, 1.0)], &Rules::default());
        assert_eq!(d.one_node(), Some(1));
        assert_eq!(d.to_string(), "node 1 alone, no other node has threads");
        let d = decide(&[silent, silent], &Rules::default());
        assert_eq!(d.shares().collect::<Vec<_>>(), [0.5, 0.5]);
        assert_eq!(decide(&[], &Rules::default()).one_node(), Some(0));
    }

    #[test]
    fn faults_decide_between_one_and_several() {
        let two = |p| [faulting(2, 10.0, 1e9, None), faulting(8, 20.0, p, None)];
        assert!(decide(&two(101.0), &Rules::default()).one_node().is_none());
        let d = decide(&two(99.0), &Rules::default());
        assert_eq!(
            d.choice,
            Choice::OneNode {
                node: 0,
                why: Why::Origin
            }
        );
        let slow_link = Rules {
            link: Some(Link {
                fault_period_us: 500.0,
                ..Link::default()
            }),
            ..Rules::default()
        };
        assert!(decide(&two(101.0), &slow_link).one_node().is_some());
    }

    #[test]
    fn counters_choose_the_node() {
        for (misses, node, why) in [(5.0, 1, Why::MostCores), (1.0, 0, Why::FastestCores)] {
            let nodes = [2, 8]
                .map(|threads| faulting(threads, 10.0 * f64::from(threads), 5.0, Some(misses)));
            let d = decide(&nodes, &Rules::default());
            assert_eq!(d.choice, Choice::OneNode { node, why });
            assert_eq!(d.misses_per_kilo, Some(misses));
        }
    }

    /// Over a link a node with next to nothing takes nothing; coherent ones keep it.
    #[test]
    fn negligible_shares() {
        let d = decide(
            &[node(2, 10.0), faulting(2, 1000.0, 200.0, None)],
            &Rules::default(),
        );
        assert_eq!(
            d.choice,
            Choice::OneNode {
                node: 0,
                why: Why::NoGain
            }
        );
        assert!(d.is_confined());
        assert!(d.to_string().ends_with("less than 2% each"), "{d}");
        let d = decide(&[node(2, 10.0), node(2, 1000.0)], &Rules::default());
        assert!(!d.is_confined() && d.one_node().is_none());
    }

    /// 100 ns of which 90 are faults against 50 without any.
    #[test]
    fn fastest_cores_without_faults() {
        let mut nodes = [node(2, 50.0), node(2, 100.0)];
        for (n, faults) in nodes.iter_mut().zip([0.0, 9e-4]) {
            let r = n.rate.as_mut().unwrap();
            (r.faults, r.instructions, r.cache_misses) = (Some(faults), Some(1000.0), Some(1.0));
        }
        let by = |fault_us| {
            let link = Some(Link {
                fault_period_us: 1000.0,
                fault_us,
                ..Link::default()
            });
            let rules = Rules {
                link,
                ..Rules::default()
            };
            decide(&nodes, &rules).one_node()
        };
        assert_eq!((by(None), by(Some(100.0))), (Some(0), Some(1)));
    }

    #[test]
    fn without_counters_every_node_gets_its_turn() {
        let mut nodes = [10.0, 20.0, 30.0].map(|ns| faulting(2, ns, 5.0, None));
        let rules = Rules {
            origin: 1,
            ..Rules::default()
        };
        let mut turns = Vec::new();
        for alone in [7.0, 9.0, 5.0] {
            let d = decide(&nodes, &rules);
            let i = d.one_node().unwrap();
            turns.push(i);
            nodes[i].alone_ns = Some(alone);
        }
        assert_eq!(turns, [1, 0, 2]);
        let d = decide(&nodes, &rules);
        assert_eq!(
            d.choice,
            Choice::OneNode {
                node: 2,
                why: Why::FastestAlone
            }
        );
        assert!(d.to_string().ends_with("9.0 7.0 5.0 ns per iteration"));
    }

    fn drawing(mut n: NodeInput, idle_watts: f64, core_watts: f64) -> NodeInput {
        n.power = Some(Power {
            idle_watts,
            core_watts,
        });
        n
    }

    fn wanting(objective: Objective) -> Rules {
        Rules {
            objective,
            ..Rules::default()
        }
    }

    /// A fast core (10 ns, 30 W more) and a slow one (30 ns, 2 W more), no idle power. Per
    /// iteration: split 7.5 ns and 7.5 * 32 = 240 nJ; slow alone 30 ns and 60 nJ; fast alone 10 ns
    /// and 300 nJ.
    #[test]
    fn energy_may_want_one_node_where_time_wants_both() {
        let nodes = [
            drawing(node(1, 10.0), 0.0, 30.0),
            drawing(node(1, 30.0), 0.0, 2.0),
        ];
        let d = decide(&nodes, &wanting(Objective::Time));
        assert_eq!(d.shares().collect::<Vec<_>>(), [0.75, 0.25]);
        assert_eq!(d.modelled, None);
        let d = decide(&nodes, &wanting(Objective::Energy));
        assert_eq!(
            d.choice,
            Choice::OneNode {
                node: 1,
                why: Why::LeastCost
            }
        );
        let [chosen, by_time] = d.modelled.expect("modelled");
        assert!((chosen.joules - 60e-9).abs() < 1e-18 && (chosen.seconds - 30e-9).abs() < 1e-18);
        assert!((by_time.joules - 240e-9).abs() < 1e-18);
        assert_eq!(
            d.to_string(),
            "node 1 alone; core speed ratio 3.00:1.00 and watts; objective energy, modelled: 60.0 nJ \
             and 30.0 ns per iteration, by time alone 240.0 nJ and 7.5 ns"
        );
        // With 10 W that are drawn anyway: slow alone 30 * 12 = 360 nJ, both 7.5 * 42 = 315 nJ.
        let idle = [
            drawing(node(1, 10.0), 10.0, 30.0),
            drawing(node(1, 30.0), 0.0, 2.0),
        ];
        let d = decide(&idle, &wanting(Objective::Energy));
        assert_eq!(d.shares().collect::<Vec<_>>(), [0.75, 0.25]);
        assert!(d
            .to_string()
            .contains("1:1 and watts give 75.0% 25.0%; objective energy"));
        // Energy times time, slow core at 1 W: both 7.5 * 7.5 * 31 = 1743.75, slow alone 30 * 30 = 900.
        let edp = [
            drawing(node(1, 10.0), 0.0, 30.0),
            drawing(node(1, 30.0), 0.0, 1.0),
        ];
        assert_eq!(decide(&edp, &wanting(Objective::Edp)).one_node(), Some(1));
        // At 2.5 W it is 2250 against 7.5 * 7.5 * 32.5 = 1828.125.
        let edp = [
            drawing(node(1, 10.0), 0.0, 30.0),
            drawing(node(1, 30.0), 0.0, 2.5),
        ];
        assert_eq!(decide(&edp, &wanting(Objective::Edp)).one_node(), None);
    }

    #[test]
    fn without_watts_time_decides_and_says_so() {
        let nodes = [drawing(node(1, 10.0), 0.0, 30.0), node(1, 30.0)];
        let d = decide(&nodes, &wanting(Objective::Energy));
        assert_eq!(d.shares().collect::<Vec<_>>(), [0.75, 0.25]);
        assert!(d
            .to_string()
            .ends_with("objective energy: the watts of node 1 are not known, so by time"));
        // A node without threads need not be known.
        let nodes = [
            drawing(node(1, 10.0), 0.0, 30.0),
            drawing(node(1, 30.0), 0.0, 2.0),
            NodeInput::default(),
        ];
        assert_eq!(
            decide(&nodes, &wanting(Objective::Energy)).one_node(),
            Some(1)
        );
    }

    /// Where faults forbid a split, the nodes take turns, and the cheapest is kept: 20 ns at 30 W
    /// are 600 nJ, 40 ns at 2 W are 80 nJ. Counters do not matter then.
    #[test]
    fn of_single_nodes_the_cheapest_is_kept() {
        let mut nodes = [
            drawing(faulting(1, 10.0, 5.0, Some(9.0)), 0.0, 30.0),
            drawing(faulting(1, 30.0, 5.0, Some(9.0)), 0.0, 2.0),
        ];
        for alone in [20.0, 40.0] {
            let i = decide(&nodes, &wanting(Objective::Energy))
                .one_node()
                .unwrap();
            nodes[i].alone_ns = Some(alone);
        }
        let d = decide(&nodes, &wanting(Objective::Energy));
        assert_eq!(
            d.choice,
            Choice::OneNode {
                node: 1,
                why: Why::LeastCost
            }
        );
        assert!(
            d.to_string().contains("by watts and time 20.0 40.0 ns"),
            "{d}"
        );
        let d = decide(&nodes, &wanting(Objective::Time));
        assert_eq!(
            d.one_node(),
            Some(0),
            "counters: most cores, then the fastest"
        );
    }
}
