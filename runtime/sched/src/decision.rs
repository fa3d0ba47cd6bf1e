//! The parts of a [decision](crate::decide): its inputs, its outcome, and its reason in plain language.

use crate::energy::{Estimate, Power};
use crate::limits::SAME;
use crate::probe::NodeRate;
use crate::ways::Reason;
use core::fmt;

/// Thresholds of the three questions. The defaults are the paper's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Fault period in microseconds that must be exceeded to use several
    /// nodes, where no calibrated [`Link`] is known.
    pub fault_period_us: f64,
    /// Cache misses per 1000 instructions above which a loop counts as bound
    /// by memory.
    pub misses_per_kilo: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            fault_period_us: 100.0,
            misses_per_kilo: 3.0,
        }
    }
}

/// What is known about the link between the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Link {
    /// Calibrated fault period threshold in microseconds.
    pub fault_period_us: f64,
    /// The least time that a thread waits for a page, in microseconds, where it was measured. Core speeds are
    /// then compared without that time.
    pub fault_us: Option<f64>,
    /// Microseconds that a parallel region takes longer when a node beyond the link has a part in it, where
    /// this was measured. With both, the simulator decides for all regions.
    pub region_us: Option<f64>,
}

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

/// Everything about the machine and the user that a decision depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rules {
    /// The thresholds of the three questions.
    pub thresholds: Thresholds,
    /// The link, where nodes are coupled by a calibrated one.
    pub link: Option<Link>,
    /// What is to be least.
    pub objective: Objective,
    /// The node that holds the data at first, and runs whatever cannot be decided.
    pub origin: usize,
}

/// One node as the decision sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeInput {
    /// Threads of the team on this node, one per core.
    pub threads: u32,
    /// The node's measured averages.
    pub rate: Option<NodeRate>,
    /// Nanoseconds per iteration of the whole loop when this node ran the
    /// region alone.
    pub alone_ns: Option<f64>,
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
    /// Lowest fault period of the nodes in microseconds, where there were
    /// remote faults.
    pub fault_period_us: Option<f64>,
    /// The threshold that `fault_period_us` was compared with, in microseconds.
    pub fault_threshold_us: f64,
    /// Cache misses per 1000 instructions over all nodes, where counted.
    pub misses_per_kilo: Option<f64>,
    /// Modelled time and energy of one iteration: as decided, and with the division that would take the least
    /// time. Only where energy decided.
    pub(crate) modelled: Option<[Estimate; 2]>,
    /// The rules of the decision.
    pub(crate) rules: Rules,
}

impl Decision {
    /// Share of the iterations of each node, adding up to 1.
    pub fn shares(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        (0..self.nodes.len()).map(|i| match &self.choice {
            Choice::Split { shares } => shares[i],
            Choice::OneNode { node, .. } => f64::from(u8::from(*node == i)),
        })
    }

    /// Whether one node was chosen because of remote faults.
    #[must_use]
    pub(crate) fn is_confined(&self) -> bool {
        self.fault_period_us.is_some() && self.one_node().is_some()
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
        let list = |f: &mut fmt::Formatter<'_>, separator: &str| {
            for (i, c) in self.csr.iter().enumerate() {
                let s = if i == 0 { "" } else { separator };
                match c {
                    Some(c) => write!(f, "{s}{c:.2}")?,
                    None => write!(f, "{s}-")?,
                }
            }
            Ok(())
        };
        match &self.choice {
            Choice::Split { shares } => {
                match self.fault_period_us {
                    None => f.write_str("split, no remote faults")?,
                    Some(p) => write!(
                        f,
                        "split, {p:.1} us of work per remote fault exceed {} us",
                        self.fault_threshold_us
                    )?,
                }
                f.write_str("; core speed ratio ")?;
                list(f, ":")?;
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
                if let Some(p) = self.fault_period_us.filter(|_| *why != Reason::Negligible) {
                    write!(
                        f,
                        ", {p:.1} us of work per remote fault do not exceed {} us",
                        self.fault_threshold_us
                    )?;
                }
                let limit = self.rules.thresholds.misses_per_kilo;
                let misses = self.misses_per_kilo.unwrap_or(0.0);
                let text = why.sentence();
                let shared = *why == Reason::Negligible || self.modelled.is_some();
                match why {
                    Reason::Negligible | Reason::LeastCost if shared => {
                        f.write_str("; core speed ratio ")?;
                        list(f, ":")?;
                        write!(f, ": {text}")?;
                    }
                    Reason::MostCores => write!(
                        f,
                        "; {misses:.2} cache misses per 1000 instructions exceed {limit}: {text}"
                    )?,
                    Reason::FastestCores => write!(
                        f,
                        "; {misses:.2} cache misses per 1000 instructions do not exceed {limit}: {text}"
                    )?,
                    Reason::Untried | Reason::Tried => write!(f, "; no counters: {text}")?,
                    Reason::FastestAlone | Reason::LeastCost => {
                        write!(f, "; no counters: {text}, ")?;
                        self.list_alone(f)?;
                    }
                    _ => write!(f, ", {text}")?,
                }
            }
        }
        self.price(f)
    }
}

impl Decision {
    fn list_alone(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, n) in self.nodes.iter().enumerate() {
            let s = if i == 0 { "" } else { " " };
            match n.alone_ns {
                Some(t) => write!(f, "{s}{t:.1}")?,
                None => write!(f, "{s}-")?,
            }
        }
        f.write_str(" ns per iteration")
    }

    /// What the objective had to do with it.
    fn price(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objective = self.rules.objective;
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
