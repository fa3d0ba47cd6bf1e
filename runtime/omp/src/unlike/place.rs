//! Which thread belongs to which node, and taking it there.
//!
//! # Which thread belongs where
//! The cores are counted node by node, and thread `t` of an outermost team belongs to the node of core `t`.
//! Further hardware threads of a core count after all cores; with even more threads the count starts again.
//! If `OMP_PLACES` or `OMP_PROC_BIND` puts threads on places, the places bind the threads, and a thread belongs
//! to the node of its place. Threads of an inner team belong to the node of the thread that opened it.
//!
//! # Taken there, not bound
//! Nobody asked for binding, and what the program starts in a region (threads, processes) would inherit it. So a
//! thread that begins its part of a region on a CPU of another node moves, and may run where it might before. The
//! kernel leaves it there as long as the team's other threads keep their CPUs busy. A region whose threads are
//! where they belong costs no system call.

use super::nodes::{layout, Layout};
use crate::init;
use crate::team::members::Team;
use crate::thread::Thread;
use hetmp_core::float;
use hetmp_core::topo::{self, CpuSet};

/// Sets the nodes of the members of a team that is about to start, and takes the calling thread, which opens
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

/// Takes the thread to node `node - 1`, if it is not there.
#[inline]
pub(crate) fn settle(th: &Thread, node: u32) {
    if node != 0 {
        go_to(th, node);
    }
}

fn go_to(th: &Thread, node: u32) {
    let Some(layout) = layout() else { return };
    let Some(n) = layout.nodes.get(node as usize - 1) else {
        return;
    };
    if th.slow.home() != node {
        th.node.set(node - 1);
        th.slow.go_to(node as usize - 1, n);
    }
    // SAFETY: the call has no preconditions; -1 is an error.
    let cpu = unsafe { libc::sched_getcpu() };
    if th.place.get() == 0 && usize::try_from(cpu).is_ok_and(|cpu| !n.cpus.contains(cpu)) {
        float::apart(|| move_to(&n.cpus));
    }
}

/// Moves the calling thread to one of `cpus`, unless the program has forbidden it all of them.
#[cold]
fn move_to(cpus: &CpuSet) {
    let before = topo::affinity();
    let there = before.intersection(cpus);
    // CPUs may have gone offline since the start; the thread then stays where it is.
    if !there.is_empty() && topo::set_affinity(&there).is_ok() {
        let _ = topo::set_affinity(&before);
    }
}
