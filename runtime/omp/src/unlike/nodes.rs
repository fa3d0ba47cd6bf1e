//! Nodes of unlike speed: which thread belongs to which, where it runs, and how slow it is to be.
//!
//! Nodes are in use where `HETMP_NODES` tells them, or where one of hetmp's own schedules was asked
//! for and the machine has several. Otherwise nothing here runs: a region looks at [`active`], a
//! thread at its own speed.
//!
//! # Who belongs where
//! The cores are counted node by node, and thread `t` of an outermost team belongs to the node of
//! core `t`; further hardware threads of a core count after all cores, and with more threads than
//! that it begins again. It is bound to all CPUs of its node. Where `OMP_PLACES` or `OMP_PROC_BIND` put
//! threads on places, those bind, and a thread belongs to the node of its place. Threads of an
//! inner team belong to the node of the thread that opened it. As with places, the thread that
//! opened the region stays bound after it.

use crate::icv::{Globals, RunSched};
use crate::init;
use crate::team::region::Team;
use crate::thread::Thread;
use crate::unlike::speeds::{self, Kernel};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, Ordering};
use hetmp_core::report;
use hetmp_core::slow::SlowThread;
use hetmp_core::topo::{self, CpuSet, Nodes, Topology};
use hetmp_sched::csr;
use hetmp_sched::schedule::{Kind, Schedule};
use std::sync::OnceLock;

/// The nodes in use and the order in which threads fill them.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) nodes: Nodes,
    /// The node of core 0, 1, ...; not empty.
    order: Box<[u32]>,
}

static LAYOUT: OnceLock<Layout> = OnceLock::new();
/// `LAYOUT` is set, and is more than one node like the whole machine.
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

/// How many nodes there are; 1 where none are in use.
pub(crate) fn count() -> usize {
    layout().map_or(1, |l| l.nodes.len())
}

/// Is any node slowed on purpose?
pub(crate) fn any_slowed() -> bool {
    layout().is_some_and(|l| l.nodes.iter().any(|n| n.is_slowed()))
}

/// Finds the nodes when the runtime starts, and checks the schedule against them.
pub(crate) fn configure(globals: &mut Globals, machine: &dyn Fn() -> Topology) {
    let told = globals
        .ours
        .nodes
        .as_deref()
        .filter(|v| !v.trim_ascii().is_empty());
    let ours = globals.icv.run_sched.kind.is_ours();
    let verbose = globals.ours.verbose;
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
            adopt(nodes, &machine, verbose, |nodes| {
                !whole || nodes.iter().any(|n| n.is_slowed())
            });
        }
        None if ours => adopt(Nodes::discover(&machine), &machine, verbose, |nodes| {
            nodes.len() > 1
        }),
        None => {}
    }
    if let Kind::StaticCsr { ratios } = &globals.schedule.kind {
        if let Err(accepted) = csr::check(ratios, count()) {
            let name = if globals.ours.schedule_given {
                "HETMP_SCHEDULE"
            } else {
                "OMP_SCHEDULE"
            };
            let instead = Schedule::default();
            report::warn(format_args!(
                "{name} {}: {accepted}; {instead} holds",
                globals.schedule
            ));
            globals.schedule = instead;
            globals.icv.run_sched = RunSched::DEFAULT;
        }
    }
}

/// One of our schedules was chosen by the running program: finds nodes if nobody looked before.
/// Regions that begin from now on use them.
pub(crate) fn discover_late() {
    if LAYOUT.get().is_none() {
        let machine = Topology::discover();
        // By now this thread may be bound, and sees only a part of the machine.
        if *machine.allowed() == init::globals().allowed {
            adopt(Nodes::discover(&machine), &machine, false, |nodes| {
                nodes.len() > 1
            });
        }
    }
}

fn adopt(nodes: Nodes, machine: &Topology, verbose: bool, worth: impl Fn(&Nodes) -> bool) {
    let worth = worth(&nodes);
    let order = core_order(&nodes, machine);
    speeds::configure(&nodes, verbose);
    if LAYOUT.set(Layout { nodes, order }).is_ok() {
        ACTIVE.store(worth, Ordering::Relaxed);
    }
    if any_slowed() {
        // The first slow thread of a process finds out what a tick costs. Here, so that it does not do
        // so while the others are in the first loop already.
        SlowThread::new(topo::nodes::MIN_SPEED).prepare();
    }
}

/// The node of core 0, 1, ...
fn core_order(nodes: &Nodes, machine: &Topology) -> Box<[u32]> {
    let core = |id| machine.cpu(id).map_or(id, |cpu| cpu.core);
    fill_order(
        nodes
            .iter()
            .map(|node| node.cpus.iter().map(core).collect()),
    )
}

/// The order in which threads fill nodes, of whose CPUs the cores are given: the nodes in turn with
/// one thread a core, then with their second hardware threads, and so on.
fn fill_order(nodes: impl Iterator<Item = Vec<usize>>) -> Box<[u32]> {
    let mut threads: Vec<(usize, u32)> = Vec::new();
    for (cores, node) in nodes.zip(0u32..) {
        for (i, core) in cores.iter().enumerate() {
            let siblings = cores[..i].iter().filter(|&c| c == core).count();
            threads.push((siblings, node));
        }
    }
    // Stable: within a round the nodes stay in order.
    threads.sort_by_key(|&(siblings, _)| siblings);
    threads.into_iter().map(|(_, node)| node).collect()
}

/// Says to which nodes the members of a team belong that is about to start, and takes the calling
/// thread, which opens it, to its own. Only where nodes are in use; the team's size and placements
/// are set.
#[cold]
pub(crate) fn place(th: &Thread, team: &Team, nthreads: u32) {
    let Some(layout) = layout() else { return };
    // A region of one thread inside an active one has that one's active level: its thread stays.
    let outermost = team.active_level() <= u32::from(nthreads > 1);
    for (t, m) in team.members.iter().enumerate().take(nthreads as usize) {
        let (place, ..) = m.placement.get();
        let node = if place != 0 {
            node_of_place(layout, place).unwrap_or_else(|| th.node.get())
        } else if outermost {
            layout.order[t % layout.order.len()]
        } else {
            th.node.get()
        };
        // Written only where it changes, so that the line stays with the member's thread.
        if m.node.get() != node + 1 {
            m.node.set(node + 1);
        }
    }
    settle(th, team.members[0].node.get());
}

fn node_of_place(layout: &Layout, place: u32) -> Option<u32> {
    let cpus = init::globals().places.get(place as usize - 1)?;
    let node = layout.nodes.of_cpu(cpus.first()?)?;
    Some(node as u32)
}

/// The node that thread `t` of an outermost team belongs to, where nobody put it on a place.
pub(crate) fn of_thread(t: usize) -> u32 {
    layout().map_or(0, |l| l.order[t % l.order.len()])
}

/// A thread goes to the node numbered `node - 1`, if it is not there.
#[inline]
pub(crate) fn settle(th: &Thread, node: u32) {
    if node != 0 && th.slow.home.get() != node {
        go_to(th, node);
    }
}

#[cold]
fn go_to(th: &Thread, node: u32) {
    let Some(layout) = layout() else { return };
    let Some(n) = layout.nodes.get(node as usize - 1) else {
        return;
    };
    th.slow.home.set(node);
    th.node.set(node - 1);
    if th.place.get() == 0 {
        bind(&n.cpus);
    }
    th.slow.slowed.set(n.is_slowed());
    let index = node as usize - 1;
    if speeds::active() {
        th.slow.thread.set_speed(speeds::least_speed(index));
        th.slow.code.set((0, 0));
    } else {
        th.slow.thread.set_speed(n.speed);
    }
    // Now, so that no measured loop pays for it.
    th.slow.thread.prepare();
}

/// The CPUs of the node that a thread was bound to, if it was.
pub(crate) fn bound_to(th: &Thread) -> Option<&'static CpuSet> {
    let node = th.slow.home.get().checked_sub(1)?;
    Some(&layout()?.nodes.get(node as usize)?.cpus)
}

fn bind(cpus: &CpuSet) {
    // CPUs can have gone offline since the start; then the thread stays where it may run.
    let _ = topo::set_affinity(cpus);
}

/// Emulated slowness of one thread, and the node it was taken to.
#[derive(Debug)]
pub(crate) struct SlowState {
    thread: SlowThread,
    /// The node plus one; 0: none yet.
    home: Cell<u32>,
    /// The node is slowed, for some kernel at least.
    slowed: Cell<bool>,
    /// The code that was last asked for its kernel, and the answer.
    code: Cell<(usize, Kernel)>,
    /// The loop that the thread is in, where it comes to the scheduler.
    in_loop: Cell<(usize, Here)>,
    /// What the program has told.
    told: Cell<Option<(Kernel, Here)>>,
}

/// A thread of a region; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Here {
    team: usize,
    number: u32,
    tid: u32,
}

impl Here {
    fn of(th: &Thread) -> Here {
        let team = th.team();
        Here {
            team: core::ptr::from_ref(team) as usize,
            number: team.tasks.region_number(),
            tid: th.tid(),
        }
    }
}

impl SlowState {
    pub(crate) const fn new() -> SlowState {
        SlowState {
            thread: SlowThread::new(1.0),
            home: Cell::new(0),
            slowed: Cell::new(false),
            code: Cell::new((0, 0)),
            in_loop: Cell::new((
                0,
                Here {
                    team: 0,
                    number: 0,
                    tid: 0,
                },
            )),
            told: Cell::new(None),
        }
    }

    /// The thread begins to run code of the program inside a region. Outside of regions nothing
    /// is slowed, so that a call at the end of a region need not know what is around it.
    #[inline(always)]
    pub(crate) fn enter(&self, th: &Thread) {
        if self.slowed.get() {
            self.enter_region(th);
        }
    }

    #[cold]
    fn enter_region(&self, th: &Thread) {
        if th.team().level() > 0 {
            if speeds::active() {
                self.choose(th);
            }
            self.thread.enter();
        }
    }

    /// Sets the speed for the code that is about to run.
    fn choose(&self, th: &Thread) {
        let here = Here::of(th);
        let kernel = match self.told.get() {
            Some((kernel, place)) if place == here => kernel,
            _ => {
                // The loop's function, or else the one around it.
                let (code, place) = self.in_loop.get();
                let own = if code != 0 && place == here {
                    self.kernel_of(code)
                } else {
                    0
                };
                match own {
                    0 => self.kernel_of(th.team().shared.code.get()),
                    kernel => kernel,
                }
            }
        };
        if let Some(node) = self.home.get().checked_sub(1) {
            self.thread.set_speed(speeds::speed(node as usize, kernel));
        }
    }

    fn kernel_of(&self, code: usize) -> Kernel {
        if code == 0 {
            return 0;
        }
        let (last, kernel) = self.code.get();
        if last == code {
            return kernel;
        }
        let kernel = speeds::of_code(code);
        self.code.set((code, kernel));
        kernel
    }

    /// The thread is inside the loop whose key is `key`, or in none (0). Between `leave` and
    /// `enter`.
    #[inline(always)]
    pub(crate) fn in_loop(&self, th: &Thread, key: usize) {
        if self.slowed.get() && speeds::active() {
            self.in_loop.set((key, Here::of(th)));
        }
    }

    /// The program says which kernel the thread runs now, or (`None`) leaves it to us again.
    pub(crate) fn tell(&self, th: &Thread, kernel: Option<Kernel>) {
        self.told.set(kernel.map(|k| (k, Here::of(th))));
        if self.slowed.get() && th.team().level() > 0 {
            self.leave();
            self.enter(th);
        }
    }

    /// The thread stops running code of the program: returns when a slow core would have come this
    /// far.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        self.thread.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_fill_core_by_core() {
        let order = |nodes: &[&[usize]]| fill_order(nodes.iter().map(|n| n.to_vec()));
        assert_eq!(*order(&[&[0], &[1]]), [0, 1]);
        assert_eq!(*order(&[&[4, 5, 6], &[0]]), [0, 0, 0, 1]);
        // Two hardware threads a core on node 0, none on node 1.
        assert_eq!(*order(&[&[0, 0, 2, 2], &[4, 5]]), [0, 0, 1, 1, 0, 0]);
    }
}
