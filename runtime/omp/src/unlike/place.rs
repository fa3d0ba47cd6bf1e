//! Which thread belongs to which node, and binding it there.
//!
//! # Which thread belongs where
//! The cores are counted node by node, and thread `t` of an outermost team belongs to the node of core `t`.
//! Further hardware threads of a core count after all cores; with even more threads the count starts again. A
//! thread is bound to all CPUs of its node. If `OMP_PLACES` or `OMP_PROC_BIND` puts threads on places, the
//! places bind the threads, and a thread belongs to the node of its place. Threads of an inner team belong to
//! the node of the thread that opened it. As with places, the thread that opened the region stays bound after
//! the region.

use super::nodes::{layout, Layout};
use crate::init;
use crate::team::members::Team;
use crate::thread::Thread;
use hetmp_core::topo::{self, CpuSet};

/// Sets the nodes of the members of a team that is about to start, and binds the calling thread, which opens
/// the region, to its node. Only called if nodes are in use, after the team's size and placements are set.
#[cold]
pub(crate) fn place(th: &Thread, team: &Team, nthreads: u32) {
    let Some(layout) = layout() else { return };
    // A region of one thread inside an active region has the same active level: its thread stays where it is.
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
        // Written only if it changes, so that the cache line stays with the member's thread.
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

/// Moves the thread to node `node - 1`, if it is not there.
#[inline]
pub(crate) fn settle(th: &Thread, node: u32) {
    if node != 0 && th.slow.home() != node {
        go_to(th, node);
    }
}

#[cold]
fn go_to(th: &Thread, node: u32) {
    let Some(layout) = layout() else { return };
    let Some(n) = layout.nodes.get(node as usize - 1) else {
        return;
    };
    th.node.set(node - 1);
    if th.place.get() == 0 {
        bind(&n.cpus);
    }
    th.slow.go_to(node as usize - 1, n);
}

/// The CPUs of the node that a thread was bound to, if it was.
pub(crate) fn bound_to(th: &Thread) -> Option<&'static CpuSet> {
    let node = th.slow.home().checked_sub(1)?;
    Some(&layout()?.nodes.get(node as usize)?.cpus)
}

fn bind(cpus: &CpuSet) {
    // CPUs may have gone offline since the start; the thread then stays where it is.
    let _ = topo::set_affinity(cpus);
}
