//! Nodes: the sets of like cores that loops are split over.
//!
//! The user tells the nodes by `HETMP_NODES`, or they are found in the [`Topology`].
//!
//! # `HETMP_NODES`
//!
//! | value | nodes |
//! | --- | --- |
//! | `2` | the allowed cores split evenly, neighbours together |
//! | `cores=0-3,8,speed=1;cores=4-7,speed=0.33` | one node between semicolons |
//! | `@file.toml` | read from a file |
//!
//! The fields of a node, separated by commas: `cores` (a CPU list, required), `speed` (the fraction
//! of full speed its threads are slowed to, 0.01 to 1, default 1), `speed.NAME` (the same for
//! the kernel NAME only), `watts` (power of the whole node while all its cores compute),
//! `watts_idle` (while nothing runs on it, default 0) and `name` (letters, digits, `_`, `-`, `.`). A node
//! list prints in this syntax.
//!
//! # The file
//!
//! ```toml
//! [[node]]
//! name = "big"                  # optional
//! cores = "0-3"                 # required: a CPU list
//! speed = 1.0                   # optional
//! watts = 65.0                  # optional
//! watts_idle = 8.0              # optional
//!
//! [[node]]
//! name = "little"
//! cores = "4-7"
//! speed = { default = 0.5, lavaMD = 0.25 }   # per kernel name
//! ```
//!
//! # Discovery
//!
//! Without `HETMP_NODES`, allowed CPUs that differ in core type, in speed class, in memory node or
//! in last-level cache are different nodes, the fastest class first. A found node has speed 1:
//! `speed` asks for *emulated* slowness, and a slow core is slow without help. Its `capacity`
//! tells what the machine says about it.

use super::{Cpu, CpuSet, Topology};
use core::fmt;
use std::path::Path;

pub mod dsm;
mod file;
mod parse;

/// The lowest speed that can be asked for. A slower program could not be told from one that hangs.
pub const MIN_SPEED: f64 = 0.01;

/// A set of like cores.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its logical CPUs: never empty, all allowed, none in two nodes.
    pub cpus: CpuSet,
    /// The fraction of their full speed that its threads are to run at, [`MIN_SPEED`] to 1.
    pub speed: f64,
    /// Speeds for kernels by name, in place of `speed`.
    pub speeds: Vec<(String, f64)>,
    /// Power of the whole node while all its cores compute, in watts.
    pub watts: Option<f64>,
    /// Power of the whole node while nothing runs on it, in watts; at most `watts`.
    pub watts_idle: Option<f64>,
    /// A name for reports.
    pub name: Option<String>,
    /// The speed that the machine reports, where the fastest CPU has 1024. Found by discovery; no field of
    /// `HETMP_NODES` sets it.
    pub capacity: Option<u32>,
}

impl Node {
    /// A node of `cpus` at full speed.
    pub fn new(cpus: CpuSet) -> Self {
        Node {
            cpus,
            speed: 1.0,
            speeds: Vec::new(),
            watts: None,
            watts_idle: None,
            name: None,
            capacity: None,
        }
    }

    /// The speed for the kernel called `kernel`.
    pub fn speed_for(&self, kernel: &str) -> f64 {
        self.speeds
            .iter()
            .find(|(name, _)| name == kernel)
            .map_or(self.speed, |&(_, speed)| speed)
    }

    /// Whether its threads are slowed on purpose, for some kernel at least.
    pub fn is_slowed(&self) -> bool {
        self.speed < 1.0 || self.speeds.iter().any(|&(_, speed)| speed < 1.0)
    }
}

/// Prints one node of the `HETMP_NODES` list.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cores={},speed={}", self.cpus, self.speed)?;
        for (kernel, speed) in &self.speeds {
            write!(f, ",speed.{kernel}={speed}")?;
        }
        if let Some(watts) = self.watts {
            write!(f, ",watts={watts}")?;
        }
        if let Some(watts) = self.watts_idle {
            write!(f, ",watts_idle={watts}")?;
        }
        if let Some(name) = &self.name {
            write!(f, ",name={name}")?;
        }
        Ok(())
    }
}

/// The nodes of a process, at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Nodes(Vec<Node>);

impl Nodes {
    /// The value of `HETMP_NODES` without blanks around it, if it tells the nodes of one process: `dsm:` asks for nodes
    /// with memory of their own, which processes without OpenMP do not have.
    #[must_use]
    pub fn told(value: Option<&[u8]>) -> Option<&[u8]> {
        value
            .map(<[u8]>::trim_ascii)
            .filter(|v| !v.is_empty() && !v.starts_with(b"dsm:"))
    }

    /// The nodes [told](Self::told) by the value of `HETMP_NODES`, or else found.
    ///
    /// Errors: [`NodeError`]. The caller prints it as one line and goes on with [`Nodes::discover`].
    pub fn from_env(value: Option<&[u8]>, machine: &Topology) -> Result<Self, NodeError> {
        match Nodes::told(value) {
            Some(value) => Nodes::parse(value, machine),
            None => Ok(Nodes::discover(machine)),
        }
    }

    /// Reads a value of `HETMP_NODES`; files are read from the file system.
    pub fn parse(value: &[u8], machine: &Topology) -> Result<Self, NodeError> {
        let read = |path: &Path| crate::file::text(path, crate::file::SMALL);
        parse::value(value, machine, &read).map(Nodes)
    }

    /// Groups the allowed CPUs by what distinguishes them; one node on a uniform machine.
    pub fn discover(machine: &Topology) -> Self {
        let classes = speed_classes(machine);
        let class_of = |cpu: &Cpu| classes.iter().position(|class| class.contains(cpu.id));
        let mut groups = machine.grouped(|cpu| {
            let cache = shared_cache(cpu, machine);
            (cpu.core_type, class_of(cpu), cpu.numa, cache)
        });
        // The sort is stable: within a class the order of the lowest CPUs stays.
        groups.sort_by_key(|set| {
            let first = set.first().and_then(|cpu| machine.cpu(cpu));
            first.map(|cpu| (cpu.core_type, class_of(cpu)))
        });
        let mut nodes: Vec<Node> = groups.into_iter().map(Node::new).collect();
        for node in &mut nodes {
            let members = || node.cpus.iter().filter_map(|id| machine.cpu(id));
            node.capacity = members().filter_map(|cpu| cpu.capacity).max();
            let kind = members().next().and_then(|cpu| cpu.core_type);
            node.name = kind.map(|kind| kind.name().to_owned());
        }
        if nodes.is_empty() {
            // Linux has no empty affinity masks, but a list of nodes must not be empty.
            nodes.push(Node::new(CpuSet::from_iter([0])));
        }
        Nodes(nodes)
    }

    /// True if something the user told or the machine reports sets one node apart from another. Equal nodes may still
    /// differ in a run, because of other processes or the place of memory.
    pub fn are_told_apart(&self, machine: &Topology) -> bool {
        let classes = speed_classes(machine);
        let said = |node: &Node| {
            let mut kinds: Vec<_> = node
                .cpus
                .iter()
                .filter_map(|id| machine.cpu(id))
                .map(|cpu| {
                    (
                        cpu.core_type,
                        classes.iter().position(|c| c.contains(cpu.id)),
                    )
                })
                .collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds
        };
        self.0.windows(2).any(|pair| {
            let (a, b) = (&pair[0], &pair[1]);
            (a.speed, &a.speeds, a.watts, a.watts_idle)
                != (b.speed, &b.speeds, b.watts, b.watts_idle)
                || said(a) != said(b)
        })
    }

    /// True if it is known that no two nodes share a cache: they are in different memory nodes, or under different
    /// caches that several cores use. Virtual machines often hide their outer caches; such nodes count as sharing one.
    pub fn share_no_cache(&self, machine: &Topology) -> bool {
        let kinds = |node: &Node| -> Vec<(usize, Option<usize>)> {
            let mut kinds: Vec<_> = node
                .cpus
                .iter()
                .filter_map(|id| machine.cpu(id))
                .map(|cpu| {
                    // Clusters without a known cache may share an outer one.
                    let cache = shared_cache(cpu, machine).filter(|_| cpu.llc_level.is_some());
                    (cpu.numa, cache)
                })
                .collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds
        };
        let kinds: Vec<_> = self.0.iter().map(kinds).collect();
        let apart = |a: &(usize, Option<usize>), b: &(usize, Option<usize>)| {
            a.0 != b.0 || matches!((a.1, b.1), (Some(x), Some(y)) if x != y)
        };
        kinds.iter().enumerate().all(|(at, mine)| {
            let others = kinds[at + 1..].iter().flatten();
            others.into_iter().all(|b| mine.iter().all(|a| apart(a, b)))
        })
    }

    /// The position of the node that holds `cpu`.
    pub fn of_cpu(&self, cpu: usize) -> Option<usize> {
        self.0.iter().position(|node| node.cpus.contains(cpu))
    }
}

impl core::ops::Deref for Nodes {
    type Target = [Node];
    fn deref(&self) -> &[Node] {
        &self.0
    }
}

/// Prints the syntax that `HETMP_NODES` accepts.
impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, node) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(";")?;
            }
            write!(f, "{node}")?;
        }
        Ok(())
    }
}

/// The cache that `cpu` shares with other cores. A cache that only one core uses groups nothing: virtual machines hide
/// their outer caches, and would otherwise fall apart into single cores.
fn shared_cache(cpu: &Cpu, machine: &Topology) -> Option<usize> {
    machine
        .cpus()
        .iter()
        .any(|other| other.llc == cpu.llc && other.core != cpu.core)
        .then_some(cpu.llc)
}

/// Allowed CPUs in classes of like speed, fastest first.
///
/// Uses `cpu_capacity` if every CPU has one, else the highest frequency. Favoured cores of one kind ("turbo boost
/// max", preferred cores) differ by some percent and are one class; kinds of cores differ by far more.
fn speed_classes(machine: &Topology) -> Vec<CpuSet> {
    let all = |value: &dyn Fn(&Cpu) -> Option<u32>| -> Option<Vec<(u32, usize)>> {
        machine
            .allowed_cpus()
            .map(|cpu| Some((value(cpu)?, cpu.id)))
            .collect()
    };
    let (mut speeds, percent) = match all(&|cpu| cpu.capacity) {
        Some(speeds) if speeds.iter().any(|&(speed, _)| speed != speeds[0].0) => (speeds, 90),
        _ => match all(&|cpu| cpu.max_khz) {
            Some(speeds) => (speeds, 80),
            None => return vec![machine.allowed().clone()],
        },
    };
    speeds.sort_unstable_by(|a, b| b.cmp(a));
    let mut classes: Vec<(u32, CpuSet)> = Vec::new();
    for (speed, id) in speeds {
        match classes.last_mut() {
            Some((top, set)) if u64::from(speed) * 100 >= u64::from(*top) * percent => {
                set.insert(id);
            }
            _ => classes.push((speed, CpuSet::from_iter([id]))),
        }
    }
    classes.into_iter().map(|(_, set)| set).collect()
}

/// Why a value of `HETMP_NODES` was refused. Prints as one line, `HETMP_NODES: '<value>': <what is wrong> (expected
/// <what>)`, without
/// the prefix `hetmp: `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeError {
    value: String,
    wrong: String,
}

impl NodeError {
    /// What is wrong with the value, and what is expected instead.
    pub fn wrong(&self) -> &str {
        &self.wrong
    }

    /// The most characters of a value that a message repeats.
    const SHOWN: usize = 200;

    fn new(value: &[u8], wrong: impl Into<String>) -> Self {
        // Control characters would break the promise of one line.
        let clean = |text: &str| -> String {
            let mut shown: String = text
                .chars()
                .take(Self::SHOWN)
                .map(|c| if c.is_control() { ' ' } else { c })
                .collect();
            if text.chars().nth(Self::SHOWN).is_some() {
                shown.push_str("...");
            }
            shown
        };
        NodeError {
            value: clean(&String::from_utf8_lossy(value)),
            wrong: clean(&wrong.into()),
        }
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HETMP_NODES: '{}': {}", self.value, self.wrong)
    }
}

impl std::error::Error for NodeError {}

#[cfg(test)]
mod tests;
