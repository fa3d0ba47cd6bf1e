//! The parts of a [decision](crate::decide): its inputs, its outcome, and its reason in plain language.

use crate::energy::{Estimate, Power};
use crate::limits::SAME;
use crate::probe::NodeRate;
use crate::ways::Reason;
use core::fmt;

/// What the user wants to be least. Energy is modelled from the nodes' watts; while the watts of a node with
/// threads are not known, time decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Objective {
    /// Elapsed time.
    #[default]
    Time,
    /// Energy of all nodes.
    Energy,
    /// Energy times time.
    Edp,
}

impl Objective {
    /// All objectives.
    pub const ALL: [Objective; 3] = [Objective::Time, Objective::Energy, Objective::Edp];

    /// The objective's word in `HETMP_OBJECTIVE` and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Objective::Time => "time",
            Objective::Energy => "energy",
            Objective::Edp => "edp",
        }
    }

    /// The number that is to be least: seconds, joules, or joule seconds.
    #[must_use]
    pub fn score(self, e: &Estimate) -> f64 {
        match self {
            Objective::Time => e.seconds,
            Objective::Energy => e.joules,
            Objective::Edp => e.edp(),
        }
    }
}

/// One node as the decision sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeInput {
    /// Threads of the team on this node, one per core.
    pub threads: u32,
    /// The node's measured averages.
    pub rate: Option<NodeRate>,
    /// The node's watts, where these are known.
    pub power: Option<Power>,
}

/// Where the loop runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// All nodes with a share above zero; shares add up to 1.
    Split {
        /// Share of the iterations per node.
        shares: Box<[f64]>,
    },
    /// One node runs everything.
    OneNode {
        /// The node's number.
        node: usize,
        /// Why this node.
        why: Reason,
    },
}

/// A decision with the numbers it rests on. Its [`Display`](fmt::Display) is
/// the reason in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What was decided.
    pub choice: Choice,
    /// Core speed ratio per node, slowest measured node 1; `None` where
    /// nothing was measured.
    pub csr: Box<[Option<f64>]>,
    /// The inputs of the decision, by node.
    pub nodes: Box<[NodeInput]>,
    /// Modelled time and energy of one iteration: as decided, and with the division that would take the least
    /// time. Only where energy decided.
    pub(crate) modelled: Option<[Estimate; 2]>,
    /// What was to be least.
    pub(crate) objective: Objective,
}

impl Decision {
    /// Share of the iterations of each node, adding up to 1.
    pub fn shares(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        (0..self.nodes.len()).map(|i| match &self.choice {
            Choice::Split { shares } => shares[i],
            Choice::OneNode { node, .. } => f64::from(u8::from(*node == i)),
        })
    }

    /// Is it like `other` in everything that matters to an execution?
    #[must_use]
    pub fn is_like(&self, other: &Decision) -> bool {
        let kind = match (&self.choice, &other.choice) {
            (Choice::Split { .. }, Choice::Split { .. }) => true,
            (x, y) => x == y,
        };
        kind && self.csr.len() == other.csr.len()
            && self.csr.iter().zip(&*other.csr).all(|(x, y)| match (x, y) {
                (Some(x), Some(y)) => x.max(*y) <= SAME * x.min(*y),
                (x, y) => x.is_some() == y.is_some(),
            })
    }

    /// The chosen node, where one node runs everything.
    #[must_use]
    pub fn one_node(&self) -> Option<usize> {
        match self.choice {
            Choice::OneNode { node, .. } => Some(node),
            Choice::Split { .. } => None,
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ratios = |f: &mut fmt::Formatter<'_>| {
            f.write_str("; core speed ratio ")?;
            for (i, c) in self.csr.iter().enumerate() {
                let s = if i == 0 { "" } else { ":" };
                match c {
                    Some(c) => write!(f, "{s}{c:.2}")?,
                    None => write!(f, "{s}-")?,
                }
            }
            Ok(())
        };
        match &self.choice {
            Choice::Split { shares } => {
                f.write_str("split")?;
                ratios(f)?;
                f.write_str(" times cores ")?;
                for (i, n) in self.nodes.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { ":" }, n.threads)?;
                }
                f.write_str(if self.modelled.is_some() {
                    " and watts give "
                } else {
                    " gives "
                })?;
                for (i, s) in shares.iter().enumerate() {
                    write!(f, "{}{:.1}%", if i == 0 { "" } else { " " }, s * 100.0)?;
                }
            }
            Choice::OneNode { node, why } => {
                write!(f, "node {node} alone")?;
                if self.modelled.is_some() {
                    ratios(f)?;
                    f.write_str(":")?;
                } else {
                    f.write_str(",")?;
                }
                write!(f, " {}", why.sentence())?;
            }
        }
        self.price(f)
    }
}

impl Decision {
    /// What the objective had to do with it.
    fn price(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objective = self.objective;
        if objective == Objective::Time {
            return Ok(());
        }
        if let Some([chosen, by_time]) = &self.modelled {
            return write!(
                f,
                "; objective {}, modelled: {:.1} nJ and {:.1} ns per iteration, by time alone {:.1} nJ \
                 and {:.1} ns",
                objective.name(),
                chosen.joules * 1e9,
                chosen.seconds * 1e9,
                by_time.joules * 1e9,
                by_time.seconds * 1e9,
            );
        }
        let unknown = |n: &NodeInput| n.threads > 0 && n.power.is_none();
        match self.nodes.iter().position(unknown) {
            Some(i) => write!(
                f,
                "; objective {}: the watts of node {i} are not known, so by time",
                objective.name()
            ),
            None => write!(f, "; objective {}", objective.name()),
        }
    }
}
