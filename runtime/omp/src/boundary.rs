//! The boundary between the program's code and the runtime's.
//!
//! A thread that stops running the program's code calls [`Thread::leave_program`], and
//! [`Thread::enter_program`] before it goes on, with the same reason. Whoever wants to know what threads do
//! hangs here: emulated slowness (waiting is not work, and takes the same time on a slow core), whether
//! threads take equally long, traces, and, in time, tools and memory across processes. Where nobody does, each call is a test or two.
//!
//! Short calls that never wait (a chunk of a dynamic loop, a free lock) do not cross the boundary.

use crate::thread::Thread;
use crate::unlike::slow::Here;
use hetmp_core::trace::{self, Kind as Traced};

/// Why a thread is in the runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// It opens a region. It comes back by [`Thread::begin_part`].
    Fork,
    /// It has done its part of a region, and waits for the others'.
    Join,
    /// It is at a barrier.
    Barrier,
    /// It waits for a lock.
    Lock,
    /// It waits for its turn, or for a post of an earlier iteration.
    Order,
    /// It waits for tasks, or runs others meanwhile.
    Tasks,
    /// It asks a schedule that knows of nodes for iterations.
    Pieces,
    /// It goes from one virtual thread to another.
    Switch,
    /// The program tells which kernel it runs.
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
            // With all that is open inside of it.
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
        if trace::on() {
            let code = self.team().shared.code.get() as u64;
            trace::open(Traced::Region, code, threads.into(), self.tid().into());
        }
        self.enter_program(Reason::Fork);
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

    /// The thread is inside the loop whose key is `key`, or in none (0). While it is in the runtime.
    #[inline(always)]
    pub(crate) fn is_in_loop(&self, key: usize) {
        if self.slow.is_slowed() {
            self.slow.in_loop(self.here(), key);
        }
    }

    /// Where the thread stands.
    pub(crate) fn here(&self) -> Here {
        let team = self.team();
        Here {
            team: core::ptr::from_ref(team) as usize,
            number: team.tasks.region_number(),
            tid: self.tid(),
        }
    }
}
