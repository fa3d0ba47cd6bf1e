//! What a worker does: it waits at its slot, helps with tasks meanwhile, and takes its part of each region
//! that it is started for.

use crate::affinity::{shown, threads};
use crate::boundary::Reason;
use crate::task::wait::{self, DockPastime, TaskPastime};
use crate::team::barrier::wait_on;
use crate::team::members::{Member, Team};
use crate::team::pool::{Call, Slot};
use crate::thread::Thread;
use core::sync::atomic::Ordering;
use hetmp_core::tls;

/// A worker's part of a region, between its slot's signal and its report. Returns the region's
/// number, for helping with its tasks afterwards.
///
/// # Safety
/// `call` is the one the worker's slot was signalled for.
unsafe fn work(th: &Thread, tid: u32, call: &Call) -> u32 {
    // SAFETY: the team is owned by the pool that owns this worker; see the module's head.
    let team = unsafe { &*call.team };
    let m: &Member = &team.members[tid as usize];
    m.epoch.set(call.epoch);
    if m.sleep.is_announced() {
        // Woken by the start of this region, not by a nudge.
        wait::wake_up(team, m);
    }
    th.become_member(team, tid, call.nthreads);
    th.ctx.work.set(call.work);
    th.ctx.pos.set(call.pos);
    m.implicit.set_group(call.group);
    th.busy.set(call.busy);
    th.league.set(call.league);
    threads::settle(th, team, tid);
    if call.show {
        shown::display_affinity(b"");
    }
    th.begin_part(call.nthreads);
    // SAFETY: compiled code made the function for all threads of the region, with this data; the primary thread keeps
    // the data until the join.
    unsafe { (call.entry)(call.data) };
    th.leave_program(Reason::Join);
    if team.tasks.active() {
        wait::work_off(th);
    }
    let epoch = m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK;
    m.epoch.set(epoch);
    m.implicit.end_implicit();
    if team.shared.central.get() {
        team.barrier.report(call.number);
    } else {
        team.barrier.join_spread(
            call.number,
            tid,
            call.nthreads,
            |t| team.seat(t),
            &mut TaskPastime::new(th),
        );
    }
    th.end_part();
    call.number
}

/// What a worker runs, from its start to its end.
pub(super) extern "C" fn main(slot: *mut libc::c_void) -> *mut libc::c_void {
    let slot: *const Slot = slot.cast();
    // SAFETY: the slot outlives the worker (`shut_down` joins before it frees).
    let slot = unsafe { &*slot };
    let thread = Thread::new();
    tls::set(core::ptr::from_ref(&thread).cast_mut().cast());
    let mut number = 0u32;
    let mut team: *const Team = core::ptr::null();
    let mut region = 0;
    loop {
        number = number.wrapping_add(1) & crate::EPOCH_MASK;
        if !slot.go.reached(number) {
            // SAFETY: `team` is null or the pool's team, which lives as long as this worker.
            let mut dock = unsafe { DockPastime::new(&thread, team, region) };
            wait_on(&slot.go, number, &mut dock);
        }
        if slot.exit.load(Ordering::Relaxed) {
            break;
        }
        // SAFETY: written before the signal that `wait_on` saw.
        let call = unsafe { (*slot.call.get()).assume_init_read() };
        team = call.team;
        // SAFETY: this worker was started for this call.
        region = unsafe { work(&thread, slot.tid, &call) };
    }
    for pool in thread.pools.take() {
        pool.shut_down();
    }
    tls::set(core::ptr::null_mut());
    core::ptr::null_mut()
}
