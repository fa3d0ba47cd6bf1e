//! Drives an execution of a loop on the threads of this process: reads the clock around measured chunks.
//! [`super::schedule`] says what a thread does next.

use super::parts::Parts;
use super::schedule::{Chosen, Step};
use super::settled::{is_nearly_static, Way};
use super::{known, report};
use crate::team::seat::Seat;
use crate::unlike::nodes;
use crate::worksharing::kinds::{Next, NodeSchedule};
use core::mem::ManuallyDrop;
use core::sync::atomic::Ordering;
use hetmp_core::float;
use hetmp_core::sys::monotonic_ns;
use hetmp_core::trace;
use hetmp_sched::blocks::Blocks;
use hetmp_sched::ranges::Range;
use std::sync::Arc;

impl Parts {
    /// The next range of the thread in `seat`; `None`: the thread is done.
    fn next(&self, seat: usize) -> Option<Range> {
        let slot = &*self.slots[seat];
        match self.schedule.step(seat, slot.measured()) {
            Step::Run(range, measure) => {
                slot.begin(range, measure);
                Some(range)
            }
            Step::End => None,
        }
    }

    /// Notes in the trace that the thread on `seat` continues with `range`.
    #[cold]
    fn trace(&self, seat: usize, range: Option<Range>) {
        trace::chunk(
            core::ptr::from_ref(self) as usize as u64,
            self.schedule.key.region,
            self.schedule.team.node_of(seat) as u32,
            range.map(|r| (r.start, r.end)),
            self.slots[seat].is_measured(),
        );
    }

    /// The thread in `seat` is done. The last thread of the team brings in the record.
    fn leave(&self, seat: usize) -> Next {
        let slot = &*self.slots[seat];
        let now = monotonic_ns();
        slot.ended.store(now, Ordering::Relaxed);
        let elapsed = now - slot.started.load(Ordering::Relaxed);
        if !self.schedule.leave(seat, elapsed) {
            return Next::Done;
        }
        known::learn(self);
        let reported = self.schedule.divides() && report::wanted();
        Next::Last(if reported {
            monotonic_ns() - self.first_ns()
        } else {
            0
        })
    }
}

/// One execution of one loop. Its parts are given back when it is dropped.
#[derive(Debug)]
pub(super) struct Execution(ManuallyDrop<Box<Parts>>);

impl Execution {
    /// An execution of the loop `key` under `chosen`, which divides its blocks. The thread on seat `t` of the team
    /// belongs to node `node_of(t)`.
    pub(super) fn new(
        chosen: &Chosen,
        key: usize,
        blocks: Blocks,
        nthreads: u32,
        node_of: impl Fn(usize) -> u32,
    ) -> Execution {
        let parts = float::apart(|| known::parts(chosen, key, blocks, nthreads, node_of));
        Execution(ManuallyDrop::new(parts))
    }

    /// How the loop's next executions, with about `n` blocks each on `nthreads` threads, may run without being
    /// measured, if it is settled. `may_be_static`: the program leaves the schedule to the user.
    pub(super) fn settled(&self, n: u64, nthreads: u32, may_be_static: bool) -> Option<Way> {
        float::apart(|| self.settled_way(n, nthreads, may_be_static))
    }

    fn settled_way(&self, n: u64, nthreads: u32, may_be_static: bool) -> Option<Way> {
        let schedule = &self.0.schedule;
        if schedule.is_brief() {
            // On a cursor, threads that come early take what late ones would have got. It moves between cores for each
            // chunk, though, which takes as long as a brief loop. So only nodes that differ are worth it, or a
            // program that may rely on threads being absent.
            return Some(if may_be_static && !nodes::told_apart() {
                Way::Static
            } else {
                Way::Cursor
            });
        }
        let decision = schedule.fixed_plan()?;
        // Where nothing tells the nodes apart, what short loops measured of them is noise up to here, and each
        // thread's own arithmetic is cheaper than pieces that one thread cuts for the others.
        let nearly = || is_nearly_static(n, decision, &schedule.team, nthreads);
        Some(if !nodes::told_apart() && nearly() {
            Way::Static
        } else {
            Way::Pieces {
                decision: Arc::clone(decision),
                team: Arc::clone(&schedule.team),
            }
        })
    }
}

impl NodeSchedule for Execution {
    fn next(&self, seat: Seat) -> Next {
        let seat = seat.index();
        if self.0.schedule.has_left(seat) {
            return Next::Done;
        }
        let started = &self.0.slots[seat].started;
        if started.load(Ordering::Relaxed) == 0 {
            started.store(monotonic_ns(), Ordering::Relaxed);
        }
        let (range, answer) = float::apart(|| {
            let range = self.0.next(seat);
            let range = range.map(|blocks| self.0.blocks.iterations(blocks));
            let answer = match range {
                Some(range) => Next::Range(range),
                None => self.0.leave(seat),
            };
            (range, answer)
        });
        if trace::on() {
            self.0.trace(seat, range);
        }
        answer
    }

    fn key(&self) -> usize {
        self.0.schedule.key.region as usize
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        // SAFETY: this is the only place that takes the parts, and they are not used afterwards.
        known::give_back(unsafe { ManuallyDrop::take(&mut self.0) });
    }
}
