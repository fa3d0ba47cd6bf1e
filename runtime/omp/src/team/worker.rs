//! The code that a worker runs: it waits at its slot, helps with tasks there, and does its part of each
//! region for which it is started.

use crate::affinity::{shown, threads};
use crate::boundary::Reason;
use crate::task::wait::{self, DockPastime, TaskPastime};
use crate::team::barrier::wait_on;
use crate::team::members::Team;
use crate::team::pool::{Call, Slot};
use crate::team::seat::Seat;
use crate::thread::Thread;
use crate::tool::{self, life};
use core::sync::atomic::Ordering;
use hetmp_core::park::Policy;
use hetmp_core::tls;

/// Does a worker's part of a region, from the slot's signal to the worker's report. Returns the region's
/// number, which the worker needs to help with the region's tasks afterwards.
///
/// # Safety
/// The worker's slot was signalled for `call`.
unsafe fn work(th: &Thread, seat: Seat, call: &Call) -> u32 {
    // SAFETY: the pool that owns this worker owns the team, too, and ends its workers before the team goes.
    let team = unsafe { &*call.team };
    let m = team.member(seat);
    m.epoch.set(call.epoch);
    if m.sleep.is_marked() {
        // The start of this region has woken the thread, not a nudge, so nobody has withdrawn its
        // announcement. Or it was the lookout in the dock.
        wait::wake_up(team, m);
    }
    th.become_member(team, seat, call.nthreads);
    th.ctx.work.set(call.work);
    th.ctx.pos.set(call.pos);
    m.implicit.set_group(call.group);
    th.busy.set(call.busy);
    th.league.set(call.league);
    threads::settle(th, m);
    if call.show {
        shown::display_affinity(b"");
    }
    th.begin_part(call.nthreads);
    // SAFETY: compiled code made the function to be called by all threads of the region with this data, and
    // the primary thread keeps the data until the join.
    unsafe { (call.entry)(call.data) };
    th.leave_program(Reason::Join);
    let told = tool::on();
    if told {
        tool::events::part_waits(th);
    }
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
            seat,
            call.nthreads,
            |seat| team.signals(seat),
            TaskPastime::new(th),
        );
    }
    th.end_part();
    if told {
        tool::events::worker_leaves(th);
    }
    call.number
}

/// The function that a worker runs all its life.
pub(super) extern "C" fn main(slot: *mut libc::c_void) -> *mut libc::c_void {
    Policy::runs();
    let slot: *const Slot = slot.cast();
    // SAFETY: the slot outlives the worker, because `Pool::shut_down` joins the worker before it frees the
    // slot.
    let slot = unsafe { &*slot };
    let thread = Thread::new();
    tls::set(core::ptr::from_ref(&thread).cast_mut().cast());
    if tool::on() {
        life::begin_worker(&thread.tool);
    }
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
        // SAFETY: the owner wrote the call before the signal that `wait_on` saw.
        let call = unsafe { (*slot.call.get()).assume_init_read() };
        team = call.team;
        // SAFETY: the owner signalled this worker's slot for this call.
        region = unsafe { work(&thread, slot.seat, &call) };
    }
    for pool in thread.pools.take() {
        pool.shut_down();
    }
    if tool::on() {
        life::end_worker(&thread.tool);
    }
    tls::set(core::ptr::null_mut());
    core::ptr::null_mut()
}
