//! The machine that is simulated: nodes, the memories they see, links.

use crate::energy::Power;
use std::collections::BTreeMap;

/// How one kind of code runs on one core of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelOnNode {
    /// Speed of a core, where 1 is the core that the workload's times are
    /// given for.
    pub speed: f64,
    /// Last-level cache misses per 1000 instructions; `None`: as the workload
    /// says.
    pub misses_per_kilo: Option<f64>,
    /// Speed of a core in the serial parts of the program; `None`: `speed`.
    pub serial_speed: Option<f64>,
}

impl Default for KernelOnNode {
    fn default() -> Self {
        KernelOnNode {
            speed: 1.0,
            misses_per_kilo: None,
            serial_speed: None,
        }
    }
}

/// A set of like cores.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// Name, for people.
    pub name: String,
    /// Cores; one thread each.
    pub cores: u32,
    /// Number of the memory it sees coherently. Nodes of one memory have no
    /// remote faults among each other.
    pub memory: usize,
    /// Bytes per nanosecond (GB/s) that its cores can move to and from memory
    /// together; infinite if it is no limit.
    pub bandwidth: f64,
    /// What code runs like that `kernels` does not name.
    pub default: KernelOnNode,
    /// By name of the kernel.
    pub kernels: BTreeMap<String, KernelOnNode>,
    /// What it draws.
    pub power: Power,
}

impl Node {
    /// How the kernel `name` runs here.
    #[must_use]
    pub(crate) fn kernel(&self, name: &str) -> KernelOnNode {
        self.kernels.get(name).copied().unwrap_or(self.default)
    }
}

/// Between two memories. Times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkModel {
    /// What a thread waits for one page of another memory.
    pub fault_us: f64,
    /// How long the serving memory's side is busy with one page; pages that
    /// are asked for at once queue for it.
    pub occupancy_us: f64,
    /// What a parallel region costs more that has threads on both sides.
    pub barrier_us: f64,
    /// Fault period above which several nodes pay, as calibration would find
    /// it; the rule of [`crate::decide`].
    pub threshold_us: f64,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Platform {
    /// Name, for people.
    pub name: String,
    /// The nodes. The first is the origin: programs start there, and their
    /// data is there at first.
    pub nodes: Vec<Node>,
    /// Memories, at most 64.
    pub memories: usize,
    /// By pair of memories, `links[a * memories + b]`, the same both ways.
    pub links: Vec<LinkModel>,
    /// Cores count instructions and cache misses.
    pub counters: bool,
    /// What a call into the scheduler costs a thread, in nanoseconds.
    pub call_ns: f64,
    /// What opening and ending a parallel region costs, in microseconds:
    /// threads come to a loop up to so much late, and ending it takes half.
    pub fork_us: f64,
    /// Threads of nodes that a plan from earlier executions leaves out keep away
    /// from the loop for so many microseconds, so that they do not take
    /// iterations before the chosen node's threads are there. Where remote faults
    /// chose that node, the schedule makes them wait anyway.
    pub park_us: f64,
    /// Times of chunks vary by so much up or down (0.01: 1 %), evenly, drawn
    /// from the seed.
    pub jitter: f64,
}

impl Platform {
    /// The link between two memories; one that costs nothing within one.
    #[must_use]
    pub(crate) fn link(&self, a: usize, b: usize) -> LinkModel {
        if a == b {
            return LinkModel::default();
        }
        self.links
            .get(a * self.memories + b)
            .copied()
            .unwrap_or_default()
    }

    /// Highest threshold of all links: what a split over all nodes must pass.
    /// `None` where one memory serves all.
    #[must_use]
    pub fn threshold_us(&self) -> Option<f64> {
        self.worst(|l| l.threshold_us)
    }

    /// The highest of something over all links.
    #[must_use]
    pub(crate) fn worst(&self, of: impl Fn(LinkModel) -> f64) -> Option<f64> {
        (0..self.memories)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .map(|(a, b)| of(self.link(a, b)))
            .reduce(f64::max)
    }
}
