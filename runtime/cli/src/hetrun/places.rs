//! What each process on this machine is told of nodes, and which CPUs it has.

use super::host::Plan;
use hetmp_core::topo::nodes::dsm::{self, Member};
use hetmp_core::topo::{CpuSet, Nodes, Topology};

/// The place of one process.
#[derive(Debug, PartialEq)]
pub(crate) struct Place {
    /// The value of `HETMP_NODES`; `None` leaves the variable alone.
    pub(crate) nodes: Option<String>,
    /// Its CPUs; all if the set is empty.
    pub(crate) cpus: CpuSet,
}

/// The places of the plan's processes on this machine. Who describes no nodes does not wait until the `machine` is looked at.
///
/// # Errors
/// One line.
pub(crate) fn places(
    plan: &Plan,
    machine: impl FnOnce() -> Topology,
) -> Result<Vec<Place>, String> {
    let anywhere = |nodes: Option<&str>| Place {
        nodes: nodes.map(str::to_owned),
        cpus: CpuSet::default(),
    };
    let count = plan.count as usize;
    let Some(text) = &plan.nodes else {
        let same = plan.dsm.then_some("dsm:job");
        return Ok((0..count).map(|_| anywhere(same)).collect());
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
    let here = members.iter().skip(plan.first as usize).take(count);
    // Threads are slowed down by the time that they had on their CPUs. So each process gets CPUs of its own.
    let parts = machine.allowed().count().min(count);
    let parts = Nodes::parse(parts.to_string().as_bytes(), machine).map_err(|e| refuse(&e))?;
    let place = |(i, member): (usize, &Member)| {
        Ok(match member {
            Member::Speed(speed) => Place {
                nodes: Some(format!("dsm:job;speed={speed}")),
                cpus: parts[i * parts.len() / count].cpus.clone(),
            },
            Member::Nodes(nodes) => Place {
                nodes: Some(format!("dsm:job;{}", nodes.replace(';', "+"))),
                cpus: dsm::cpus(nodes, machine).map_err(|e| format!("node {nodes}: {e}"))?,
            },
        })
    };
    here.enumerate().map(place).collect()
}
