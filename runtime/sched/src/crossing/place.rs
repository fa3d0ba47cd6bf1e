//! Where regions may run.

/// A thread cannot touch more pages than one in this many nanoseconds of its work.
pub(super) const TOUCH_NS: f64 = 50.0;

/// Where an execution of a region runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the origin, in one process.
    Home,
    /// On all nodes.
    Across,
    /// Whole on this node, which is not the origin.
    Node(usize),
}
