//! `KMP_HW_SUBSET`: the part of the machine that a process may use.
//!
//! ```text
//! value := [:] item {, item}        ,: also x       in front ":": items count in the machine
//! item  := [count | *] unit [@ offset]
//! ```
//! An item without count, or with `*`, takes all units from the offset on. An item counts within each unit
//! that the items of larger units leave: `1s,2c` is two cores of one socket, `2c` is two cores of every
//! socket.

use super::CpuSet;
use hetmp_core::topo::{Cpu, Topology};

/// The units, from the largest to the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Unit {
    Socket,
    Numa,
    LlCache,
    Core,
    Thread,
}

impl Unit {
    fn named(name: &str) -> Option<Unit> {
        Some(match name {
            "s" | "socket" | "sockets" | "package" | "packages" => Unit::Socket,
            "n" | "d" | "numa" | "numa_domain" | "numa_domains" | "node" | "die" | "dice" => {
                Unit::Numa
            }
            "l" | "llc" | "ll_cache" | "ll_caches" | "l3_cache" | "l3" => Unit::LlCache,
            "c" | "core" | "cores" => Unit::Core,
            "t" | "thread" | "threads" => Unit::Thread,
            _ => return None,
        })
    }

    /// The number of the unit that `cpu` is in.
    fn of(self, cpu: &Cpu) -> usize {
        match self {
            Unit::Socket => cpu.package,
            Unit::Numa => cpu.numa,
            Unit::LlCache => cpu.llc,
            Unit::Core => cpu.core,
            Unit::Thread => cpu.id,
        }
    }
}

/// An item: `count` units from the `offset`-th on; with `None`, all from there on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Item {
    unit: Unit,
    count: Option<usize>,
    offset: usize,
}

/// A part of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subset {
    /// Offsets and counts refer to the whole machine, not to the units that larger items leave.
    absolute: bool,
    items: Vec<Item>,
}

/// Reads a value; `None` if it is not understood.
#[must_use]
pub(crate) fn parse(value: &[u8]) -> Option<Subset> {
    let text: String = core::str::from_utf8(value)
        .ok()?
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect::<String>()
        .to_ascii_lowercase();
    let (absolute, text) = match text.strip_prefix(':') {
        Some(rest) => (true, rest),
        None => (false, text.as_str()),
    };
    let mut items: Vec<Item> = Vec::new();
    // `x` separates, too: no unit's name contains it.
    for item in text.split([',', 'x']) {
        let (what, offset) = match item.split_once('@') {
            Some((what, offset)) => (what, offset.parse().ok()?),
            None => (item, 0),
        };
        let digits = what.len() - what.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (count, name) = what.split_at(digits);
        let (count, name) = match name.strip_prefix('*') {
            Some(name) if count.is_empty() => (None, name),
            _ if count.is_empty() => (None, name),
            _ => (Some(count.parse().ok().filter(|&n: &usize| n > 0)?), name),
        };
        let unit = Unit::named(name)?;
        if items.iter().any(|i| i.unit == unit) {
            return None;
        }
        items.push(Item {
            unit,
            count,
            offset,
        });
    }
    // Cores count within a socket, and threads within a core, even if the value names no sockets or cores.
    for unit in [Unit::Socket, Unit::Core, Unit::Thread] {
        if items.iter().all(|i| i.unit != unit) {
            items.push(Item {
                unit,
                count: None,
                offset: 0,
            });
        }
    }
    items.sort_by_key(|i| i.unit);
    Some(Subset { absolute, items })
}

impl Subset {
    /// The allowed CPUs of `machine` that belong to the part; `None` if the machine has too few units.
    #[must_use]
    pub(crate) fn of(&self, machine: &Topology) -> Option<CpuSet> {
        let mut parts = vec![machine.allowed().clone()];
        for item in &self.items {
            let mut next = Vec::new();
            if self.absolute {
                let all = parts.iter().flat_map(|p| split(machine, p, item.unit));
                take(item, all.collect(), &mut next)?;
            } else {
                for part in &parts {
                    take(item, split(machine, part, item.unit), &mut next)?;
                }
            }
            parts = next;
        }
        let mut cpus = CpuSet::new();
        for part in &parts {
            cpus.extend_from(part);
        }
        (!cpus.is_empty()).then_some(cpus)
    }
}

/// The units of a part, in the order of their lowest CPU.
fn split(machine: &Topology, part: &CpuSet, unit: Unit) -> Vec<CpuSet> {
    let mut groups: Vec<(usize, CpuSet)> = Vec::new();
    for cpu in part.iter() {
        let key = machine.cpu(cpu).map_or(cpu, |c| unit.of(c));
        match groups.iter_mut().find(|g| g.0 == key) {
            Some(group) => group.1.insert(cpu),
            None => groups.push((key, CpuSet::from_iter([cpu]))),
        }
    }
    groups.into_iter().map(|g| g.1).collect()
}

/// Adds the units that an item takes to `to`; `None` if there are too few.
fn take(item: &Item, units: Vec<CpuSet>, to: &mut Vec<CpuSet>) -> Option<()> {
    let end = match item.count {
        Some(count) => item.offset.checked_add(count)?,
        None => units.len(),
    };
    if end > units.len() || item.offset >= end {
        return None;
    }
    to.extend(units.into_iter().take(end).skip(item.offset));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Two sockets of two cores of two threads: CPU = socket * 4 + core * 2 + thread.
    fn machine() -> (tempdir::Dir, Topology) {
        let dir = tempdir::Dir::new();
        let at = |cpu: usize, name: &str, text: String| {
            let folder = dir
                .path()
                .join(format!("devices/system/cpu/cpu{cpu}/topology"));
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join(name), text).expect("a file");
        };
        for cpu in 0..8 {
            let (socket, core) = (cpu / 4, cpu / 2);
            at(cpu, "physical_package_id", socket.to_string());
            at(cpu, "core_id", (core % 2).to_string());
            let siblings = format!("{}-{}", core * 2, core * 2 + 1);
            at(cpu, "thread_siblings_list", siblings.clone());
            at(cpu, "core_cpus_list", siblings);
            let package = format!("{}-{}", socket * 4, socket * 4 + 3);
            at(cpu, "core_siblings_list", package.clone());
            at(cpu, "package_cpus_list", package);
        }
        std::fs::write(dir.path().join("devices/system/cpu/online"), "0-7\n").expect("a file");
        let machine = Topology::from_sysfs(dir.path(), (0..8).collect());
        (dir, machine)
    }

    /// A folder that is removed when its owner is dropped.
    mod tempdir {
        use super::Path;
        pub(super) struct Dir(std::path::PathBuf);
        impl Dir {
            pub(super) fn new() -> Dir {
                use std::sync::atomic::{AtomicU32, Ordering};
                static NEXT: AtomicU32 = AtomicU32::new(0);
                let n = NEXT.fetch_add(1, Ordering::Relaxed);
                let path =
                    std::env::temp_dir().join(format!("hetmp-subset-{}-{n}", std::process::id()));
                std::fs::create_dir_all(&path).expect("a folder");
                Dir(path)
            }
            pub(super) fn path(&self) -> &Path {
                &self.0
            }
        }
        impl Drop for Dir {
            fn drop(&mut self) {
                let _ = std::fs::remove_dir_all(&self.0);
            }
        }
    }

    fn cpus(value: &str) -> Option<Vec<usize>> {
        let (_dir, machine) = machine();
        let subset = parse(value.as_bytes())?;
        Some(subset.of(&machine)?.iter().collect())
    }

    #[test]
    fn counts_are_within_the_larger_part() {
        assert_eq!(cpus("1s,1c,1t"), Some(vec![0]));
        assert_eq!(cpus("1c"), Some(vec![0, 1, 4, 5]));
        assert_eq!(cpus("1t"), Some(vec![0, 2, 4, 6]));
        assert_eq!(cpus("1t, 1S@1 ,2cores"), Some(vec![4, 6]));
        assert_eq!(cpus("1sx1cx2t"), Some(vec![0, 1]));
        assert_eq!(cpus("*s,1c@1"), Some(vec![2, 3, 6, 7]));
    }

    #[test]
    fn a_colon_counts_in_the_machine() {
        assert_eq!(cpus(":3t@1"), Some(vec![1, 2, 3]));
        assert_eq!(cpus(":1s,2t@1"), Some(vec![1, 2]));
    }

    #[test]
    fn what_the_machine_has_not_is_refused() {
        for value in ["3s", "3c", "1s@2", ":9t", "3t"] {
            assert!(parse(value.as_bytes()).is_some(), "{value}");
            assert_eq!(cpus(value), None, "{value}");
        }
        for value in ["", ",", "0c", "2y", "1c,1c", "c@x", "1c:intel_atom", "-1c"] {
            assert_eq!(parse(value.as_bytes()), None, "{value}");
        }
    }
}
