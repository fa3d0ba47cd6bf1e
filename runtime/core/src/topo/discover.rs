//! Reading sysfs.
//!
//! A list file such as `thread_siblings_list` names a whole group, so it is read once for each group, not once for
//! each CPU. On a machine of 256 CPUs this opens 600 files instead of 2000.

use super::{CoreType, Cpu, CpuSet};
use std::fmt::Write as _;
use std::path::Path;

/// More caches than any CPU has. Bounds the walk over sysfs.
const MAX_CACHES: u32 = 32;

struct Reader {
    path: String,
    sys_len: usize,
}

impl Reader {
    fn new(sys: &Path) -> Option<Self> {
        let path = sys.to_str()?.to_owned();
        let sys_len = path.len();
        Some(Reader { path, sys_len })
    }

    /// The trimmed text of the file at `relative` below sysfs.
    fn text(&mut self, relative: core::fmt::Arguments<'_>) -> Option<String> {
        self.path.truncate(self.sys_len);
        self.path.push('/');
        self.path.write_fmt(relative).ok()?;
        let text = std::fs::read_to_string(&self.path).ok()?;
        Some(text.trim().to_owned())
    }

    fn number(&mut self, relative: core::fmt::Arguments<'_>) -> Option<u32> {
        self.text(relative)?.parse().ok()
    }

    /// A CPU list; `None` if the file is missing or the list is empty.
    fn list(&mut self, relative: core::fmt::Arguments<'_>) -> Option<CpuSet> {
        let set = CpuSet::parse_list(&self.text(relative)?)?;
        (!set.is_empty()).then_some(set)
    }
}

pub(super) fn cpus(sys: &Path, allowed: &CpuSet) -> Vec<Cpu> {
    let Some(mut read) = Reader::new(sys) else {
        return bare(allowed);
    };
    let mut all = read
        .list(format_args!("devices/system/cpu/online"))
        .unwrap_or_default();
    all.extend_from(allowed);
    let mut cpus = bare(&all);

    // libgomp reads the `*_siblings_list` names, which every kernel has; the newer
    // `core_cpus_list` and `package_cpus_list` say the same.
    group(&mut cpus, &mut read, |read, id| {
        read.list(format_args!(
            "devices/system/cpu/cpu{id}/topology/thread_siblings_list"
        ))
    })
    .into_iter()
    .zip(&mut cpus)
    .for_each(|(found, cpu)| cpu.core = found.unwrap_or(cpu.id));

    let packages = group(&mut cpus, &mut read, |read, id| {
        read.list(format_args!(
            "devices/system/cpu/cpu{id}/topology/core_siblings_list"
        ))
    });
    let first_unknown = cpus
        .iter()
        .zip(&packages)
        .find(|(_, found)| found.is_none())
        .map_or(0, |(cpu, _)| cpu.id);
    for (cpu, found) in cpus.iter_mut().zip(packages) {
        cpu.package = found.unwrap_or(first_unknown);
    }

    let dies = group(&mut cpus, &mut read, |read, id| {
        read.list(format_args!(
            "devices/system/cpu/cpu{id}/topology/die_cpus_list"
        ))
    });
    for (cpu, found) in cpus.iter_mut().zip(dies) {
        cpu.die = found.unwrap_or(cpu.package);
    }

    last_level_caches(&mut cpus, &mut read);
    numa(&mut cpus, &mut read);
    for cpu in &mut cpus {
        let id = cpu.id;
        cpu.capacity = read.number(format_args!("devices/system/cpu/cpu{id}/cpu_capacity"));
        cpu.max_khz = read.number(format_args!(
            "devices/system/cpu/cpu{id}/cpufreq/cpuinfo_max_freq"
        ));
    }
    for (unit, kind) in [
        ("cpu_core", CoreType::Performance),
        ("cpu_atom", CoreType::Efficiency),
        ("cpu_lowpower", CoreType::LowPower),
    ] {
        if let Some(set) = read.list(format_args!("devices/{unit}/cpus")) {
            for cpu in cpus.iter_mut().filter(|cpu| set.contains(cpu.id)) {
                cpu.core_type = Some(kind);
            }
        }
    }
    cpus
}

/// CPUs of which only the number is known.
fn bare(all: &CpuSet) -> Vec<Cpu> {
    let first = all.first().unwrap_or(0);
    all.iter()
        .map(|id| Cpu {
            id,
            core: id,
            package: first,
            die: first,
            llc: first,
            llc_level: None,
            numa: 0,
            capacity: None,
            max_khz: None,
            core_type: None,
        })
        .collect()
}

/// For each CPU the lowest CPU of its group; `None` where the machine does not say.
///
/// A list that leaves out the CPU it was read for describes nothing and is ignored.
fn group(
    cpus: &mut [Cpu],
    read: &mut Reader,
    list: impl Fn(&mut Reader, usize) -> Option<CpuSet>,
) -> Vec<Option<usize>> {
    let mut found: Vec<Option<usize>> = vec![None; cpus.len()];
    for at in 0..cpus.len() {
        if found[at].is_some() {
            continue;
        }
        let Some(set) = list(read, cpus[at].id).filter(|set| set.contains(cpus[at].id)) else {
            continue;
        };
        // The lowest *known* CPU names the group. That is this one: a lower member would have named the group before.
        let name = cpus[at].id;
        for other in at..cpus.len() {
            if found[other].is_none() && set.contains(cpus[other].id) {
                found[other] = Some(name);
            }
        }
    }
    found
}

/// Finds the cache of the highest level for each CPU. If there are several at that level, the last one counts, as in
/// libgomp. libgomp looks up the cache's index for the first CPU only. On hybrid processors some CPUs lack the
/// outermost cache, so here every group is asked.
fn last_level_caches(cpus: &mut [Cpu], read: &mut Reader) {
    let mut done = CpuSet::new();
    let mut unknown = Vec::new();
    for at in 0..cpus.len() {
        let id = cpus[at].id;
        if done.contains(id) {
            continue;
        }
        let mut last: Option<(u32, u32)> = None;
        for index in 0..MAX_CACHES {
            let Some(level) = read.number(format_args!(
                "devices/system/cpu/cpu{id}/cache/index{index}/level"
            )) else {
                break;
            };
            if last.is_none_or(|(highest, _)| level >= highest) {
                last = Some((level, index));
            }
        }
        let sharing = last.and_then(|(level, index)| {
            let set = read.list(format_args!(
                "devices/system/cpu/cpu{id}/cache/index{index}/shared_cpu_list"
            ))?;
            set.contains(id).then_some((level, set))
        });
        match sharing {
            Some((level, set)) => {
                for cpu in cpus[at..].iter_mut() {
                    if set.contains(cpu.id) && !done.contains(cpu.id) {
                        cpu.llc = id;
                        cpu.llc_level = Some(level);
                        done.insert(cpu.id);
                    }
                }
            }
            None => unknown.push(at),
        }
    }
    if !unknown.is_empty() {
        clusters(cpus, read, &unknown);
    }
}

/// Many Arm kernels do not know their caches, but do know which cores are one cluster, and with that share a cache.
fn clusters(cpus: &mut [Cpu], read: &mut Reader, unknown: &[usize]) {
    let clusters = group(cpus, read, |read, id| {
        read.list(format_args!(
            "devices/system/cpu/cpu{id}/topology/cluster_cpus_list"
        ))
    });
    for &at in unknown {
        // A "cluster" of one core is how the kernel says that it knows none.
        let has_cores = |name: &usize| {
            let members = cpus
                .iter()
                .zip(&clusters)
                .filter(|(_, c)| **c == Some(*name));
            members
                .into_iter()
                .any(|(cpu, _)| cpu.core != cpus[at].core)
        };
        cpus[at].llc = clusters[at].filter(has_cores).unwrap_or(cpus[at].die);
    }
}

fn numa(cpus: &mut [Cpu], read: &mut Reader) {
    let Some(online) = read.list(format_args!("devices/system/node/online")) else {
        return;
    };
    let mut left: CpuSet = cpus.iter().map(|cpu| cpu.id).collect();
    for node in &online {
        let Some(set) = read.list(format_args!("devices/system/node/node{node}/cpulist")) else {
            continue;
        };
        // A CPU belongs to the first node that names it, as in libgomp.
        let set = set.intersection(&left);
        left = left.difference(&set);
        for cpu in cpus.iter_mut().filter(|cpu| set.contains(cpu.id)) {
            cpu.numa = node;
        }
    }
}
