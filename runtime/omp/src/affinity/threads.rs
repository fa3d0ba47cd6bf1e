//! Putting the threads of a team on their places.
//!
//! The primary thread computes all placements (by [`crate::affinity::bind`]) and stores them with the
//! members; each worker binds itself when it enters the region. While policy, placement and size stay the
//! same, which is nearly always, nothing is computed again.

use crate::affinity::bind::{team_places, Placement};
use crate::icv::ProcBind;
use crate::init;
use crate::team::members::{Member, Team};
use crate::thread::Thread;
use crate::unlike::place;
use hetmp_core::topo;
use hetmp_core::whole::OnceLock;

/// Computes the placements of the team's members. Called by the primary thread before it starts the workers.
#[inline]
pub(crate) fn place(th: &Thread, team: &Team, policy: ProcBind) {
    if !init::globals().places.is_empty() {
        place_slow(th, team, policy);
    }
}

/// Binds a thread of the application to the first place. Only called if there are places.
#[cold]
pub(crate) fn initial(th: &Thread) {
    th.partition.set((0, init::globals().places.len() as u32));
    go_to(th, 1);
}

/// Binds a thread that has no place yet to the first place, if there are places.
pub(crate) fn bind_first(th: &Thread) {
    if th.place.get() == 0 && !init::globals().places.is_empty() {
        initial(th);
    }
}

fn place_slow(th: &Thread, team: &Team, policy: ProcBind) {
    if th.place.get() == 0 {
        initial(th);
    }
    let (first, count) = th.partition.get();
    team.shared.saved_partition.set((first, count));
    let here = (th.place.get(), first, count);
    let wanted = (policy as u32, here, team.seats());
    if team.shared.placed_for.get() != wanted {
        let primary = crate::affinity::threads::here(th);
        for (m, p) in team
            .members
            .iter()
            .zip(team_places(policy, primary, team.seats()))
        {
            m.placement.set((p.place + 1, p.first, p.count));
        }
        team.shared.placed_for.set(wanted);
    }
    let (_, first, count) = team.members[0].placement.get();
    th.partition.set((first, count));
}

/// A worker binds itself to the place that the primary thread computed.
#[inline]
pub(crate) fn settle(th: &Thread, m: &Member) {
    let (place, first, count) = m.placement.get();
    if place != 0 {
        th.partition.set((first, count));
        if th.place.get() != place {
            go_to(th, place);
        }
    }
    place::settle(th, m.node.get());
}

/// The primary thread leaves the region: its partition becomes what it was before.
#[inline]
pub(crate) fn leave(th: &Thread, team: &Team) {
    if th.place.get() != 0 {
        let saved = team.shared.saved_partition.get();
        if saved.1 != 0 {
            th.partition.set(saved);
        }
        if resets() && team.level() == 1 {
            th.place.set(0);
            let _ = topo::set_affinity(&init::globals().allowed);
        }
    }
}

/// A child of `fork` begins with all CPUs of the process where libomp's does: if its thread was bound to a place, the
/// child, and what it executes, would have that place alone. With libgomp it has.
fn free_children() {
    static WATCHED: OnceLock<()> = OnceLock::new();
    // SAFETY: the handler can be called in every child, since the library is never unloaded.
    WATCHED.get_or_init(|| unsafe {
        libc::pthread_atfork(None, None, Some(free_child));
    });
}

extern "C" fn free_child() {
    if let Some(th) = Thread::try_current().filter(|th| th.place.get() != 0) {
        th.place.set(0);
        let _ = topo::set_affinity(&init::globals().allowed);
    }
}

/// Whether the primary thread gets back all CPUs of the process behind an outermost region
/// (`KMP_AFFINITY=reset`).
fn resets() -> bool {
    let affinity = &init::globals().libomp.affinity;
    affinity.as_ref().is_some_and(|a| a.reset)
}

/// The placement of each of `count` teams of a league. `None` where threads are not bound, or where the
/// program expects libgomp's leagues, in which every team has all places.
pub(crate) fn league(th: &Thread, count: u32) -> Option<Vec<Placement>> {
    let globals = init::globals();
    if globals.places.is_empty() || !globals.as_libomp || count < 2 {
        return None;
    }
    if th.place.get() == 0 {
        initial(th);
    }
    Some(team_places(globals.libomp.teams_bind, here(th), count).collect())
}

/// The calling thread's place and partition. Only called if the thread is bound.
pub(crate) fn here(th: &Thread) -> Placement {
    let (first, count) = th.partition.get();
    Placement {
        place: th.place.get() - 1,
        first,
        count,
    }
}

/// Moves the calling thread to another place and partition.
pub(crate) fn move_to(th: &Thread, to: Placement) {
    th.partition.set((to.first, to.count));
    if th.place.get() != to.place + 1 {
        go_to(th, to.place + 1);
    }
}

#[cold]
fn go_to(th: &Thread, place: u32) {
    if init::globals().as_libomp {
        free_children();
    }
    th.place.set(place);
    if let Some(cpus) = init::globals().places.get(place as usize - 1) {
        // A place may have gone offline since the start; the thread then stays where it is.
        let _ = topo::set_affinity(cpus);
    }
}
