//! What was decided for an execution, by whichever rule.

use super::questions::Answers;
use hetmp_sched::decide::Decision;
use hetmp_sched::ways::Reason;
use std::fmt;
use std::sync::Arc;

/// A decision. Its [`Display`](fmt::Display) is the reason in words.
#[derive(Clone, Debug)]
pub enum Decided {
    /// By a schedule of the runtime: a division among coherent nodes.
    Schedule(Arc<Decision>),
    /// By the runtime's rule for nodes that are coupled by page traffic.
    Rule {
        /// Share of the iterations of each node, 1 together.
        shares: Vec<f64>,
        /// Why one node runs the loop; `None` if all do.
        why: Option<Reason>,
    },
    /// By the paper's questions.
    Paper(Arc<Answers>),
}

impl Decided {
    /// Share of the iterations of each node, 1 together.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        match self {
            Decided::Schedule(d) => d.shares().collect(),
            Decided::Rule { shares, .. } => shares.clone(),
            Decided::Paper(a) => a.shares.clone(),
        }
    }

    /// The only node, if one runs the loop.
    #[must_use]
    pub fn one_node(&self) -> Option<usize> {
        match self {
            Decided::Schedule(d) => d.one_node(),
            Decided::Rule { shares, why } => shares.iter().position(|&s| s == 1.0 && why.is_some()),
            Decided::Paper(a) => a.node,
        }
    }
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decided::Schedule(d) => d.fmt(f),
            Decided::Rule { why: None, .. } => f.write_str("split"),
            Decided::Rule { why: Some(why), .. } => {
                write!(
                    f,
                    "node {} alone, {}",
                    self.one_node().unwrap_or(0),
                    why.sentence()
                )
            }
            Decided::Paper(a) => a.fmt(f),
        }
    }
}
