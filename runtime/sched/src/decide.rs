//! How a loop is divided among coherent nodes: shares in proportion to core speed ratio times cores.
//!
//! With an [`Objective`] other than time, shares are those that cost least, modelled from the nodes' watts (see
//! [`crate::energy`]); that may be a single node. Whether nodes that have to fetch pages take part at all is decided
//! for whole programs, by measured times ([`crate::crossing`]).
//!
//! A pure function; the [`Decision`] keeps every number that led to it.

pub use crate::decision::{Choice, Decision, NodeInput, Objective};

use crate::energy::{self, Part};
use crate::ways::Reason;

/// Divides a loop.
///
/// Nodes without threads take no part. A node with threads but without a
/// measurement counts as fast as the slowest measured one.
#[must_use]
pub fn decide(nodes: &[NodeInput], objective: Objective) -> Decision {
    let measured = |n: &NodeInput| n.rate.filter(|_| n.threads > 0);
    let slowest = (nodes.iter().filter_map(measured))
        .map(|r| r.ns_per_iteration)
        .fold(0.0, f64::max);
    let csr: Box<[Option<f64>]> = (nodes.iter())
        .map(|n| measured(n).map(|r| slowest / r.ns_per_iteration))
        .collect();
    let inhabited = nodes.iter().filter(|n| n.threads > 0).count();
    let mut modelled = None;
    let choice = if inhabited <= 1 {
        Choice::OneNode {
            node: nodes.iter().position(|n| n.threads > 0).unwrap_or(0),
            why: Reason::OnlyNode,
        }
    } else {
        let weight = |(n, c): (&NodeInput, &Option<f64>)| f64::from(n.threads) * c.unwrap_or(1.0);
        let total: f64 = nodes.iter().zip(&csr).map(weight).sum();
        let by_speed: Box<[f64]> = nodes.iter().zip(&csr).map(|x| weight(x) / total).collect();
        match parts(nodes, slowest).filter(|_| objective != Objective::Time) {
            None => Choice::Split { shares: by_speed },
            Some(parts) => {
                let shares = energy::best(&parts, |e| objective.score(e));
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
        modelled,
        objective,
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

#[cfg(test)]
mod tests;
