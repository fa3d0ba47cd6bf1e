//! What each process on this machine is told of nodes, and which CPUs it has.

use super::host::Plan;
use hetmp_core::topo::nodes::dsm::{self, Member};
use hetmp_core::topo::{CpuSet, Node, Nodes, PlaceKind, Topology};
use std::ffi::OsString;

/// Which CPUs a process has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Bind {
    /// The processes of a machine divide its cores, so that each has some of its own, and its OpenMP threads as many as
    /// are right for it. On a machine of unlike cores each gets its part of every kind.
    ///
    /// They are not bound if there are fewer cores than processes, if a process is alone, and where somebody has said
    /// already which CPUs or how many threads a process has.
    #[default]
    Share,
    None,
    To {
        kind: PlaceKind,
        /// This many cores or hardware threads each.
        each: u32,
        /// It is an error if there are too few of them. Otherwise the processes are not bound then.
        strict: bool,
    },
}

impl Bind {
    pub(crate) fn to(kind: PlaceKind) -> Self {
        Self::To {
            kind,
            each: 1,
            strict: true,
        }
    }

    /// The CPUs of each process. An empty set stands for all CPUs.
    fn divide(&self, count: usize, machine: &Topology) -> Result<Vec<CpuSet>, String> {
        let all = || vec![CpuSet::new(); count];
        Ok(match self {
            Self::None => all(),
            Self::Share => share(count, machine).unwrap_or_else(all),
            Self::To { kind, each, strict } => {
                let places = machine.places(*kind, None);
                // Caches, memory and sockets are for several processes.
                if !matches!(kind, PlaceKind::Cores | PlaceKind::Threads) {
                    return Ok((0..count)
                        .map(|i| places[i * places.len() / count].clone())
                        .collect());
                }
                let each = *each as usize;
                let most = places.len() / each;
                if count <= most {
                    places.chunks(each).take(count).map(union).collect()
                } else if *strict {
                    return Err(format!(
                        "option --bind-to: '{count}' processes of {each} {}: more than there are (expected at most \
                         {most}, or --oversubscribe)",
                        kind.name()
                    ));
                } else {
                    all()
                }
            }
        })
    }
}

fn union(sets: &[CpuSet]) -> CpuSet {
    sets.iter().flat_map(CpuSet::iter).collect()
}

/// The `i`th of `count` parts of `things`.
fn part<T>(things: &[T], i: usize, count: usize) -> &[T] {
    &things[i * things.len() / count..(i + 1) * things.len() / count]
}

/// Equal parts of the cores. `None` if there is not one of each kind for each process.
fn share(count: usize, machine: &Topology) -> Option<Vec<CpuSet>> {
    let nodes = Nodes::discover(machine);
    let cores = machine.places(PlaceKind::Cores, None);
    let kinds: Vec<Vec<CpuSet>> = if nodes.are_told_apart(machine) {
        let of = |node: &Node| -> Vec<CpuSet> {
            let parts = cores.iter().map(|core| core.intersection(&node.cpus));
            parts.filter(|core| !core.is_empty()).collect()
        };
        nodes.iter().map(of).collect()
    } else {
        vec![cores]
    };
    if count < 2 || kinds.iter().any(|cores| cores.len() < count) {
        return None;
    }
    let of = |i| kinds.iter().flat_map(move |cores| part(cores, i, count));
    Some(
        (0..count)
            .map(|i| of(i).flat_map(CpuSet::iter).collect())
            .collect(),
    )
}

/// The place of one process.
#[derive(Debug, PartialEq)]
pub(crate) struct Place {
    /// The value of `HETMP_NODES`; `None` leaves the variable alone.
    pub(crate) nodes: Option<String>,
    /// Its CPUs; all if the set is empty.
    pub(crate) cpus: CpuSet,
}

/// The variables with which somebody says which CPUs a program has.
const TELLING: [&str; 4] = [
    "HETMP_NODES",
    "OMP_PLACES",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
];

/// True if the variables of a process ask for other CPUs than a share, or for more threads than it has CPUs.
fn asks_for_more(share: &CpuSet, variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let threads = variable("OMP_NUM_THREADS").and_then(|text| {
        let text = text.to_str()?;
        text.split(',').next()?.trim().parse().ok()
    });
    threads.is_some_and(|n: usize| n > share.count())
        || TELLING.iter().any(|name| variable(name).is_some())
}

/// The places of the plan's processes on this machine. `machine` is asked for only if it matters. `inherited` are the
/// variables that the processes get from this one.
///
/// # Errors
/// One line.
pub(crate) fn places(
    plan: &Plan,
    machine: impl FnOnce() -> Topology,
    inherited: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<Place>, String> {
    let count = plan.ranks.len();
    let Some(text) = &plan.nodes else {
        let nodes = plan.dsm.then(|| "dsm:job".to_owned());
        let asked = matches!(plan.bind, Bind::To { .. });
        let sets = if asked || (plan.bind == Bind::Share && count > 1 && !plan.dsm) {
            plan.bind.divide(count, &machine())?
        } else {
            vec![CpuSet::new(); count]
        };
        let place = |((_, program), cpus): (&(u32, u32), CpuSet)| {
            let own = &plan.programs[*program as usize].variables;
            let variable = |name: &str| {
                let own = own.iter().rev().find(|(n, _)| n == name);
                own.map(|(_, value)| value.clone())
                    .or_else(|| inherited(name))
            };
            let free = plan.bind == Bind::Share && asks_for_more(&cpus, &variable);
            Place {
                nodes: nodes.clone(),
                cpus: if free { CpuSet::new() } else { cpus },
            }
        };
        return Ok(plan.ranks.iter().zip(sets).map(place).collect());
    };
    let machine = &machine();
    let refuse = |error: &dyn core::fmt::Display| format!("option --nodes: {error}");
    if !plan.dsm {
        let nodes = Nodes::parse(text.as_bytes(), machine).map_err(|e| refuse(&e))?;
        // If there are more processes than nodes, neighbours share a node.
        let place = |i: usize| {
            let node = &nodes[i * nodes.len() / count];
            Place {
                nodes: Some(node.to_string()),
                cpus: node.cpus.clone(),
            }
        };
        return Ok((0..count).map(place).collect());
    }
    let members = dsm::members(text, plan.size as usize).map_err(|e| refuse(&e))?;
    // Threads are slowed down by the time that they had on their CPUs. So each process gets CPUs of its own.
    let parts = machine.allowed().count().min(count);
    let parts = Nodes::parse(parts.to_string().as_bytes(), machine).map_err(|e| refuse(&e))?;
    let place = |(i, (rank, _)): (usize, &(u32, u32))| {
        Ok(match members.get(*rank as usize) {
            None => return Err(refuse(&"nothing is said of a node")),
            Some(Member::Speed(speed)) => Place {
                nodes: Some(format!("dsm:job;speed={speed}")),
                cpus: parts[i * parts.len() / count].cpus.clone(),
            },
            Some(Member::Nodes(nodes)) => Place {
                nodes: Some(format!("dsm:job;{}", nodes.replace(';', "+"))),
                cpus: dsm::cpus(nodes, machine).map_err(|e| format!("node {nodes}: {e}"))?,
            },
        })
    };
    plan.ranks.iter().enumerate().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::{places, Bind};
    use crate::host::{Plan, Program};
    use hetmp_core::topo::{CpuSet, PlaceKind, Topology};
    use std::ffi::OsString;

    /// A machine of `count` cores. The last `slow` of them are of another kind.
    fn machine(name: &str, count: usize, slow: usize) -> Topology {
        let root = std::env::temp_dir().join(format!("hetrun-{}-{name}", std::process::id()));
        for cpu in 0..count {
            let folder = root.join(format!("devices/system/cpu/cpu{cpu}"));
            std::fs::create_dir_all(&folder).expect("a folder");
            let capacity = if cpu < count - slow { "1024" } else { "400" };
            std::fs::write(folder.join("cpu_capacity"), capacity).expect("a file");
        }
        let machine = Topology::from_sysfs(&root, (0..count).collect());
        std::fs::remove_dir_all(&root).expect("removed");
        machine
    }

    fn plan(count: u32, bind: Bind) -> Plan {
        Plan {
            size: count,
            ranks: (0..count).map(|rank| (rank, 0)).collect(),
            programs: vec![Program {
                words: vec!["p".into()],
                directory: "/".into(),
                variables: Vec::new(),
            }],
            secret: [0; 32],
            address: String::new(),
            nodes: None,
            bind,
            whole: true,
            dsm: false,
            host_timeout: 0,
        }
    }

    /// The CPUs of each process, with a space between; `*` for all.
    fn cpus(plan: &Plan, machine: &Topology, variables: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(n, _)| *n == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let shown = |cpus: &CpuSet| match cpus.is_empty() {
            true => "*".to_owned(),
            false => cpus.to_string(),
        };
        let places = places(plan, || machine.clone(), &variable)?;
        let sets: Vec<String> = places.iter().map(|place| shown(&place.cpus)).collect();
        Ok(sets.join(" "))
    }

    #[test]
    fn processes_divide_the_cores() {
        let (eight, unlike) = (machine("eight", 8, 0), machine("unlike", 8, 4));
        for (count, like, parts) in [
            // A process that is alone keeps all.
            (1, "*", "*"),
            (2, "0-3 4-7", "0-1,4-5 2-3,6-7"),
            (3, "0-1 2-4 5-7", "0,4 1,5 2-3,6-7"),
            (4, "0-1 2-3 4-5 6-7", "0,4 1,5 2,6 3,7"),
            (5, "0 1-2 3 4-5 6-7", "* * * * *"),
            (8, "0 1 2 3 4 5 6 7", "* * * * * * * *"),
            (9, "* * * * * * * * *", "* * * * * * * * *"),
        ] {
            let plan = plan(count, Bind::Share);
            assert_eq!(cpus(&plan, &eight, &[]).as_deref(), Ok(like));
            assert_eq!(cpus(&plan, &unlike, &[]).as_deref(), Ok(parts));
        }
    }

    /// What the user says of CPUs and threads is about the CPUs that the processes would have without hetrun.
    #[test]
    fn who_says_where_threads_run_is_not_bound() {
        let eight = machine("told", 8, 0);
        let mut two = plan(2, Bind::Share);
        for (name, value, bound) in [
            ("OMP_NUM_THREADS", "4", true),
            ("OMP_NUM_THREADS", "4,8", true),
            ("OMP_NUM_THREADS", "5", false),
            ("OMP_PLACES", "{0:8}", false),
            ("HETMP_NODES", "cores=0-3;cores=4-7", false),
            ("GOMP_CPU_AFFINITY", "0-7", false),
            ("KMP_AFFINITY", "compact", false),
            ("OMP_PROC_BIND", "close", true),
        ] {
            let expected = if bound { "0-3 4-7" } else { "* *" };
            assert_eq!(
                cpus(&two, &eight, &[(name, value)]).as_deref(),
                Ok(expected),
                "{name}={value}"
            );
        }
        // A program's own variables hide those that it would inherit, and bind or free only its own processes.
        two.programs.push(two.programs[0].clone());
        two.programs[1].variables = vec![("OMP_NUM_THREADS".into(), "8".into())];
        two.ranks[1].1 = 1;
        let inherited = [("OMP_NUM_THREADS", "2")];
        assert_eq!(cpus(&two, &eight, &inherited).as_deref(), Ok("0-3 *"));
        two.dsm = true;
        assert_eq!(cpus(&two, &eight, &[]).as_deref(), Ok("* *"));
    }

    #[test]
    fn bindings_that_are_asked_for() {
        let eight = machine("asked", 8, 0);
        let to = |kind, each, strict| Bind::To { kind, each, strict };
        let cores = PlaceKind::Cores;
        for (count, bind, expected) in [
            (2, Bind::None, Ok("* *")),
            (1, to(cores, 1, true), Ok("0")),
            (3, to(cores, 1, true), Ok("0 1 2")),
            (2, to(cores, 3, true), Ok("0-2 3-5")),
            (2, to(PlaceKind::Threads, 1, true), Ok("0 1")),
            (3, to(cores, 3, false), Ok("* * *")),
            (3, to(PlaceKind::Sockets, 1, true), Ok("0-7 0-7 0-7")),
            (
                3,
                to(cores, 3, true),
                Err("option --bind-to: '3' processes of 3 cores: more than there are (expected at most 2, or \
                     --oversubscribe)"),
            ),
        ] {
            let got = cpus(&plan(count, bind), &eight, &[("OMP_NUM_THREADS", "8")]);
            assert_eq!(got, expected.map(str::to_owned).map_err(str::to_owned));
        }
    }
}
