//! Abstract place names (OpenMP 5.1, section 6.5 `OMP_PLACES`) turned into CPU sets.

use super::{Cpu, CpuSet, Topology};

/// An abstract name of `OMP_PLACES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// One hardware thread a place.
    Threads,
    /// One core a place.
    Cores,
    /// One package a place.
    Sockets,
    /// The CPUs that share a last-level cache.
    LlCaches,
    /// The CPUs of one memory (NUMA) node.
    NumaDomains,
}

impl PlaceKind {
    /// Every kind, in the order of the specification.
    pub const ALL: [PlaceKind; 5] = [
        PlaceKind::Threads,
        PlaceKind::Cores,
        PlaceKind::Sockets,
        PlaceKind::LlCaches,
        PlaceKind::NumaDomains,
    ];

    /// The name as `OMP_PLACES` spells it.
    pub fn name(self) -> &'static str {
        match self {
            PlaceKind::Threads => "threads",
            PlaceKind::Cores => "cores",
            PlaceKind::Sockets => "sockets",
            PlaceKind::LlCaches => "ll_caches",
            PlaceKind::NumaDomains => "numa_domains",
        }
    }
}

impl Topology {
    /// The places that an abstract name stands for, at most `count` of them.
    ///
    /// Only allowed CPUs appear, and no place is empty. The order is libgomp 12's, so that a bound program finds its
    /// threads where they were: cores, sockets and caches by their lowest allowed CPU; threads core by core, with the
    /// hardware threads of a core side by side; memory nodes by their number.
    pub fn places(&self, kind: PlaceKind, count: Option<usize>) -> Vec<CpuSet> {
        let limit = count.unwrap_or(usize::MAX);
        let mut places = match kind {
            PlaceKind::Threads => self
                .grouped(|cpu| cpu.core)
                .iter()
                .flat_map(CpuSet::iter)
                .map(|cpu| CpuSet::from_iter([cpu]))
                .collect(),
            PlaceKind::Cores => self.grouped(|cpu| cpu.core),
            PlaceKind::Sockets => self.grouped(|cpu| cpu.package),
            PlaceKind::LlCaches => self.grouped(|cpu| cpu.llc),
            PlaceKind::NumaDomains => {
                let mut numbers: Vec<usize> = self.allowed_cpus().map(|cpu| cpu.numa).collect();
                numbers.sort_unstable();
                numbers.dedup();
                numbers
                    .iter()
                    .map(|&n| self.allowed_where(|cpu| cpu.numa == n))
                    .collect()
            }
        };
        places.truncate(limit);
        places
    }

    /// The allowed CPUs grouped by a key, groups ordered by their lowest CPU.
    pub(super) fn grouped<K: PartialEq>(&self, key: impl Fn(&Cpu) -> K) -> Vec<CpuSet> {
        let mut groups: Vec<(K, CpuSet)> = Vec::new();
        // CPUs come in ascending order, so that groups come in the order of their lowest CPU.
        for cpu in self.allowed_cpus() {
            let key = key(cpu);
            match groups.iter_mut().find(|(k, _)| *k == key) {
                Some((_, set)) => set.insert(cpu.id),
                None => groups.push((key, CpuSet::from_iter([cpu.id]))),
            }
        }
        groups.into_iter().map(|(_, set)| set).collect()
    }

    fn allowed_where(&self, keep: impl Fn(&Cpu) -> bool) -> CpuSet {
        self.allowed_cpus()
            .filter(|cpu| keep(cpu))
            .map(|cpu| cpu.id)
            .collect()
    }
}
