//! The boundary between the program's code and the runtime's.
//!
//! A thread that stops running the program's code calls [`Thread::leave_program`], and
//! [`Thread::enter_program`] with the same reason before it goes on. All code that observes threads is called
//! from here: emulated slowness (waiting is not work, and takes the same time on a slow core), the comparison
//! of threads' times, and traces. If none of these is on, each call is a test or two. Tools learn of the same moments
//! in [`crate::tool`], which needs to know which construct it is.
//!
//! Short calls that never wait (a chunk of a dynamic loop, a free lock) do not cross the boundary.

use crate::thread::Thread;
use crate::tool;
use crate::unlike::slow::Here;
use hetmp_core::observers;
use hetmp_core::trace::{self, Kind as Traced};

/// Why a thread is in the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The thread opens a region. It comes back by [`Thread::begin_part`].
    Fork,
    /// The thread has done its part of a region, and waits for the other threads.
    Join,
    /// The thread is at a barrier.
    Barrier,
    /// The thread waits for a lock.
    Lock,
    /// The thread waits for its turn in an `ordered` loop, or for the post of an earlier iteration (doacross).
    Order,
    /// The thread waits for tasks, and may run other tasks meanwhile.
    Tasks,
    /// The thread asks a node schedule for iterations.
    Pieces,
    /// The thread switches from one virtual thread to another.
    Switch,
    /// The program tells the runtime which kernel it runs.
    Told,
}

impl Thread {
    /// The thread leaves the program's code.
    #[inline(always)]
    pub(crate) fn leave_program(&self, why: Reason) {
        self.slow.leave();
        match why {
            Reason::Join => trace::open(Traced::Join, 0, 0, 0),
            Reason::Barrier => trace::open(Traced::Barrier, 0, 0, 0),
            _ => {}
        }
    }

    /// The thread goes back to the program's code.
    #[inline(always)]
    pub(crate) fn enter_program(&self, why: Reason) {
        match why {
            // This closes the join, too, and everything else that is open inside the region.
            Reason::Join => trace::close(Traced::Region),
            Reason::Barrier => trace::close(Traced::Barrier),
            _ => {}
        }
        if self.slow.is_watched() {
            self.enter_watched();
        }
    }

    /// The thread enters the program's code for its part of a region of `threads` threads.
    #[inline(always)]
    pub(crate) fn begin_part(&self, threads: u32) {
        if observers::any() {
            self.begin_observed(threads);
        }
        self.enter_program(Reason::Fork);
    }

    #[cold]
    fn begin_observed(&self, threads: u32) {
        let code = self.team().shared.code.get() as u64;
        trace::open(Traced::Region, code, threads.into(), self.number().into());
        if tool::on() {
            tool::events::part_begins(self, threads);
        }
    }

    /// A worker's part of a region is over, and the thread goes back to where workers wait.
    #[inline(always)]
    pub(crate) fn end_part(&self) {
        trace::close(Traced::Region);
    }

    #[cold]
    fn enter_watched(&self) {
        let team = self.team();
        if team.level() > 0 {
            self.slow.enter(self.here(), team.shared.code.get());
        }
    }

    /// Notes that the thread is inside the loop with this `key`, or inside none (0). Called between
    /// [`leave_program`](Self::leave_program) and [`enter_program`](Self::enter_program).
    #[inline(always)]
    pub(crate) fn is_in_loop(&self, key: usize) {
        if self.slow.is_slowed() {
            self.slow.in_loop(self.here(), key);
        }
    }

    /// The thread's position: team, region number, thread number.
    pub(crate) fn here(&self) -> Here {
        let team = self.team();
        Here {
            team: core::ptr::from_ref(team) as usize,
            number: team.tasks.region_number(),
            seat: self.seat(),
        }
    }
}
