//! The machine that is simulated: nodes, the memories they see, links.

use hetmp_sched::energy::Power;
use std::collections::BTreeMap;

/// How one kind of code runs on one core of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelOnNode {
    /// Speed of a core, relative to the core that the workload's times are given for.
    pub speed: f64,
    /// Last-level cache misses per 1000 instructions; `None`: the workload's number.
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
    /// The memory that the node sees coherently. Nodes with the same memory have no remote faults among each
    /// other.
    pub memory: usize,
    /// Bytes per nanosecond (GB/s) that the node's cores together can move to and from memory; infinite for
    /// no limit.
    pub bandwidth: f64,
    /// Nanoseconds for which a core waits for a line that its node's cache lost; see [`super::LoopModel::cold_misses`].
    pub miss_ns: f64,
    /// How kernels run that `kernels` does not name.
    pub default: KernelOnNode,
    /// How single kernels run, by name.
    pub kernels: BTreeMap<String, KernelOnNode>,
    /// The node's watts.
    pub power: Power,
}

impl Node {
    /// How the kernel `name` runs here.
    #[must_use]
    pub(crate) fn kernel(&self, name: &str) -> KernelOnNode {
        self.kernels.get(name).copied().unwrap_or(self.default)
    }
}

/// The link between two memories. Times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkModel {
    /// Time that a thread waits for one page of another memory.
    pub fault_us: f64,
    /// Time that the serving memory's side is busy with one page. Pages that are asked for at once queue for
    /// it.
    pub occupancy_us: f64,
    /// Additional time of a parallel region with threads on both sides.
    pub barrier_us: f64,
    /// Fault period above which several nodes pay, as calibration would find it.
    pub threshold_us: f64,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Platform {
    /// Name, for people.
    pub name: String,
    /// The nodes. The first is the origin: programs and their data start there.
    pub nodes: Vec<Node>,
    /// Memories, at most 64.
    pub memories: usize,
    /// Links by pair of memories, `links[a * memories + b]`, the same in both directions.
    pub links: Vec<LinkModel>,
    /// Cores count instructions and cache misses.
    pub counters: bool,
    /// Nanoseconds that a call into the scheduler costs a thread.
    pub call_ns: f64,
    /// Microseconds that opening and ending a parallel region costs. Threads come to a loop up to this much
    /// late, and the end takes half of it.
    pub fork_us: f64,
    /// Times of chunks vary evenly by up to this part up or down (0.01: 1 %), drawn from the seed.
    pub jitter: f64,
}

impl Platform {
    /// The link between two memories; within one memory, a link that costs nothing.
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

    /// The highest threshold of all links, which a split over all nodes must pass. `None` where one memory
    /// serves all nodes.
    #[must_use]
    pub fn threshold_us(&self) -> Option<f64> {
        self.worst(|l| l.threshold_us)
    }

    /// The highest value of `of` over all links.
    #[must_use]
    pub(crate) fn worst(&self, of: impl Fn(LinkModel) -> f64) -> Option<f64> {
        (0..self.memories)
            .flat_map(|a| (0..a).map(move |b| (a, b)))
            .map(|(a, b)| of(self.link(a, b)))
            .reduce(f64::max)
    }
}
