//! Nodes of unlike speed: which there are, and in which order threads fill them.
//!
//! Nodes are in use if `HETMP_NODES` describes them, or if one of hetmp's own schedules is selected and the
//! machine has several. Otherwise this code does not run: a region looks at [`active`], a thread at its own
//! speed ([`super::slow`]).
//!
//! **Data in**: `HETMP_NODES`, the machine's topology. **Data out**: the nodes, to which [`super::place`]
//! takes threads.

use crate::icv::{Globals, RunSched};
use crate::team::levels::{Distance, Emulated};
use crate::unlike::speeds;
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::env::text::quoted;
use hetmp_core::report;
use hetmp_core::slow::SlowThread;
use hetmp_core::topo::{self, CpuSet, Nodes, Topology};
use hetmp_core::whole::OnceLock;
use hetmp_sched::csr;
use hetmp_sched::schedule::Schedule;

/// The nodes in use and the order in which threads fill them.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) nodes: Nodes,
    /// The node of core 0, 1, and so on; not empty.
    pub(super) order: Box<[u32]>,
    /// The description or the machine's topology shows a difference between nodes.
    told_apart: bool,
    /// How far the nodes are apart, where barriers are to care.
    distance: Option<Distance>,
}

static LAYOUT: OnceLock<Layout> = OnceLock::new();
/// `LAYOUT` is set, and is not merely one node like the whole machine.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Are nodes in use?
#[inline(always)]
pub(crate) fn active() -> bool {
    // Relaxed: `layout` synchronises.
    ACTIVE.load(Ordering::Relaxed)
}

/// The nodes, if they are in use.
pub(crate) fn layout() -> Option<&'static Layout> {
    LAYOUT.get().filter(|_| active())
}

/// The number of nodes; 1 if nodes are not in use.
pub(crate) fn count() -> usize {
    layout().map_or(1, |l| l.nodes.len())
}

/// Is any node slowed on purpose?
pub(crate) fn any_slowed() -> bool {
    layout().is_some_and(|l| l.nodes.iter().any(|n| n.is_slowed()))
}

/// Do the nodes differ in any property that is known before measuring?
pub(crate) fn told_apart() -> bool {
    layout().is_some_and(|l| l.told_apart)
}

/// How far the nodes are apart, if they are.
#[inline]
pub(crate) fn distance() -> Option<Distance> {
    layout()?.distance
}

/// Is that emulated?
#[cold]
pub(crate) fn distance_is_emulated() -> bool {
    distance().is_some_and(|d| d.emulated.is_some())
}

/// How many times as long a signal is assumed to take between nodes that share no cache. Chosen low: of barriers in
/// levels, those that are faster here are so wherever the nodes are further apart.
const NO_SHARED_CACHE: f64 = 2.0;

/// How far `nodes` are apart.
fn distance_of(
    nodes: &Nodes,
    machine: &Topology,
    emulated: Option<Emulated>,
    verbose: bool,
) -> Option<Distance> {
    if nodes.len() < 2 {
        return None;
    }
    match emulated {
        Some(e) => Some(Distance {
            ratio: e.far_ns as f64 / e.near_ns as f64,
            emulated,
            verbose,
        }),
        None => nodes.share_no_cache(machine).then_some(Distance {
            ratio: NO_SHARED_CACHE,
            emulated: None,
            verbose,
        }),
    }
}

/// Finds the nodes when the runtime starts, and checks the schedule against their number.
pub(crate) fn configure(globals: &mut Globals, machine: &dyn Fn() -> Topology) {
    let told = Nodes::told(globals.ours.nodes.as_deref());
    let ours = globals.icv.run_sched.kind.is_ours();
    let verbose = globals.ours.verbose;
    let far = globals.ours.far;
    let value = globals.ours.nodes.as_deref().unwrap_or_default();
    // The variable is gone when such nodes have started.
    let not_yet = told.is_none() && !value.trim_ascii().is_empty();
    if not_yet && verbose {
        report::warn(format_args!(
            "HETMP_NODES: {}: OpenMP is used where there are no nodes yet (expected a program, or a library loaded at \
             its start, that uses it)",
            quoted(value)
        ));
    }
    if told.is_none() && !ours {
        return;
    }
    let machine = machine();
    let told = told.and_then(|value| match Nodes::parse(value, &machine) {
        Ok(nodes) => Some(nodes),
        Err(error) => {
            report::warn(format_args!("{error}"));
            None
        }
    });
    match told {
        Some(nodes) => {
            let whole = nodes.len() == 1 && nodes[0].cpus == *machine.allowed();
            adopt(nodes, &machine, verbose, far, |nodes| {
                !whole || nodes.iter().any(|n| n.is_slowed())
            });
        }
        None if ours => adopt(Nodes::discover(&machine), &machine, verbose, far, |nodes| {
            nodes.len() > 1
        }),
        None => {}
    }
    let fits = |schedule: &Schedule| match schedule.kind.ratios() {
        [] => Ok(()),
        // Ratios of processes without common memory say on which of them regions run.
        _ if not_yet => Ok(()),
        ratios => csr::check(ratios, crate::across::table::nodes().unwrap_or_else(count)),
    };
    if let Err(wrong) = fits(&globals.schedule) {
        let name = if globals.ours.schedule_given {
            "HETMP_SCHEDULE"
        } else {
            "OMP_SCHEDULE"
        };
        let mut instead = globals.ours.schedule_instead.clone();
        if fits(&instead).is_err() {
            // Both variables give ratios, and neither gives as many as there are nodes.
            instead = Schedule::default();
        }
        report::warn(format_args!(
            "{name}: '{}': {wrong}; {instead} is used",
            globals.schedule
        ));
        globals.icv.run_sched = RunSched::from(&instead);
        globals.schedule = instead;
    }
}

/// The running program has selected one of hetmp's own schedules: finds the nodes, unless that was done.
/// Regions that begin from now on use them.
pub(crate) fn discover_late(allowed: &CpuSet) {
    if LAYOUT.get().is_none() {
        hetmp_core::float::apart(|| {
            let machine = Topology::discover();
            // This thread may be bound by now, and then sees only a part of the machine.
            if machine.allowed() == allowed {
                let far = crate::init::globals().ours.far;
                adopt(Nodes::discover(&machine), &machine, false, far, |nodes| {
                    nodes.len() > 1
                });
            }
        });
    }
}

fn adopt(
    nodes: Nodes,
    machine: &Topology,
    verbose: bool,
    far: Option<Emulated>,
    worth: impl Fn(&Nodes) -> bool,
) {
    let worth = worth(&nodes);
    let order = core_order(&nodes, machine);
    let told_apart = nodes.are_told_apart(machine);
    speeds::configure(&nodes, verbose);
    let distance = distance_of(&nodes, machine, far, verbose);
    let layout = Layout {
        nodes,
        order,
        told_apart,
        distance,
    };
    if LAYOUT.set(layout).is_ok() {
        ACTIVE.store(worth, Ordering::Relaxed);
    }
    if any_slowed() {
        // The first slow thread of a process measures the cost of a tick. Do it here, so that the first loop
        // does not wait for it.
        SlowThread::new(topo::nodes::MIN_SPEED).prepare();
    }
}

/// The node of core 0, 1, and so on.
fn core_order(nodes: &Nodes, machine: &Topology) -> Box<[u32]> {
    let core = |id| machine.cpu(id).map_or(id, |cpu| cpu.core);
    fill_order(
        nodes
            .iter()
            .map(|node| node.cpus.iter().map(core).collect()),
    )
}

/// The order in which threads fill nodes; `nodes` gives the core of each of a node's CPUs. First come the
/// nodes in turn with one thread for each core, then with their cores' second hardware threads, and so on.
fn fill_order(nodes: impl Iterator<Item = Vec<usize>>) -> Box<[u32]> {
    let mut threads: Vec<(usize, u32)> = Vec::new();
    for (cores, node) in nodes.zip(0u32..) {
        for (i, core) in cores.iter().enumerate() {
            let siblings = cores[..i].iter().filter(|&c| c == core).count();
            threads.push((siblings, node));
        }
    }
    // The sort is stable: within a round the nodes stay in order.
    threads.sort_by_key(|&(siblings, _)| siblings);
    threads.into_iter().map(|(_, node)| node).collect()
}

/// The node of thread `t` of an outermost team, if no place decides it.
pub(crate) fn of_thread(t: usize) -> u32 {
    layout().map_or(0, |l| l.order[t % l.order.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_fill_core_by_core() {
        let order = |nodes: &[&[usize]]| fill_order(nodes.iter().map(|n| n.to_vec()));
        assert_eq!(*order(&[&[0], &[1]]), [0, 1]);
        assert_eq!(*order(&[&[4, 5, 6], &[0]]), [0, 0, 0, 1]);
        // Two hardware threads for each core on node 0, one on node 1.
        assert_eq!(*order(&[&[0, 0, 2, 2], &[4, 5]]), [0, 0, 1, 1, 0, 0]);
    }
}
