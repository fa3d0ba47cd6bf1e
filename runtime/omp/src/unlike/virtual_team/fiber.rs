//! Runners and fibers: a real thread of a virtual team, and the stack that it can leave.
//!
//! See [`super::run`] for what they are for, and for who may touch which of them.

use super::exceptions::InFlight;
use super::run::VirtualTeam;
use super::switch::{self, Left, Stack};
use crate::boundary::Reason;
use crate::init;
use crate::thread::{SavedContext, Thread};
use core::cell::{Cell, UnsafeCell};
use core::ptr::null;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use hetmp_core::lock::Brief;
use hetmp_core::sys;
use std::collections::VecDeque;

/// Why a fiber gave its runner back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its virtual thread has come to its end; the stack is free for another.
    Finished,
    /// It waits at a barrier.
    Barrier,
    /// It waits for a lock, and asks again.
    Lock,
    /// It waits for something else, and asks again.
    Waiting,
}

/// A stack and the virtual thread on it.
#[derive(Debug)]
pub(super) struct Fiber {
    pub(super) stack: Stack,
    pub(super) left: Cell<Left>,
    pub(super) team: Cell<*const VirtualTeam>,
    pub(super) piece: Cell<u32>,
    pub(super) state: Cell<State>,
    pub(super) saved: Cell<SavedContext>,
    pub(super) in_flight: Cell<InFlight>,
    pub(super) errno: Cell<libc::c_int>,
}

impl Fiber {
    /// Can it go on on another real thread, if it must? At a barrier or for a lock: there its callers
    /// keep nothing of the thread that they come back on. Inside of an explicit task they do.
    pub(super) fn may_move(&self) -> bool {
        matches!(self.state.get(), State::Barrier | State::Lock)
            && self.saved.get().is_in_implicit_task()
    }
}

/// A real thread of a virtual team.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Runner {
    pub(super) team: Cell<*const VirtualTeam>,
    pub(super) index: u32,
    /// The fiber that runs, or null.
    pub(super) current: Cell<*const Fiber>,
    /// Where the runner's own stack was left.
    pub(super) own: Cell<Left>,
    /// Fibers that arrived at the barrier.
    pub(super) waiting: UnsafeCell<Vec<*const Fiber>>,
    /// Fibers without a virtual thread.
    #[allow(clippy::vec_box, reason = "fibers know their own address")]
    pub(super) idle: UnsafeCell<Vec<Box<Fiber>>>,
    /// Guards `ready`.
    pub(super) lock: Brief,
    /// Fibers that can go on.
    pub(super) ready: UnsafeCell<VecDeque<*const Fiber>>,
    /// How many these are. Written under the lock; who reads 0 without it has missed nothing that the
    /// runner's own thread has put there.
    ready_len: AtomicU32,
    /// When the virtual thread that runs was begun or taken up again; 0: times are not wanted.
    pub(super) since: Cell<u64>,
    /// Odd while the program's code runs; counts up at both ends. For the watchdog.
    pub(super) turns: AtomicU64,
    /// The thread that runs it, or 0.
    pub(super) thread: AtomicU64,
    /// What the watchdog saw last; since when it is the same, and the thread's CPU clock then.
    pub(super) seen: AtomicU64,
    pub(super) stuck_since: AtomicU64,
    pub(super) stuck_cpu: AtomicU64,
    /// Nanoseconds in the program's code, and virtual threads begun, in this region.
    pub(super) busy_ns: Cell<u64>,
    pub(super) begun: Cell<u32>,
    /// Virtual threads that came to their end.
    pub(super) ended: Cell<u32>,
    /// A virtual thread that a fiber took for the runner to begin.
    pub(super) handed: Cell<Option<u32>>,
    /// A fiber whose virtual thread has ended, and which the runner has left for another one; or null.
    pub(super) left_behind: Cell<*const Fiber>,
}

impl Runner {
    pub(super) fn new(index: u32) -> Runner {
        Runner {
            team: Cell::new(null()),
            index,
            current: Cell::new(null()),
            own: Cell::new(Left::NOWHERE),
            waiting: UnsafeCell::new(Vec::new()),
            idle: UnsafeCell::new(Vec::new()),
            lock: Brief::new(),
            ready: UnsafeCell::new(VecDeque::new()),
            ready_len: AtomicU32::new(0),
            since: Cell::new(0),
            turns: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            thread: AtomicU64::new(0),
            stuck_since: AtomicU64::new(0),
            stuck_cpu: AtomicU64::new(0),
            busy_ns: Cell::new(0),
            begun: Cell::new(0),
            ended: Cell::new(0),
            handed: Cell::new(None),
            left_behind: Cell::new(null()),
        }
    }

    pub(super) fn with_ready<R>(&self, f: impl FnOnce(&mut VecDeque<*const Fiber>) -> R) -> R {
        self.lock.lock();
        // SAFETY: the lock is held.
        let queue = unsafe { &mut *self.ready.get() };
        let r = f(queue);
        self.ready_len.store(queue.len() as u32, Ordering::Relaxed);
        self.lock.unlock();
        r
    }

    /// Has it fibers that could go on?
    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        self.ready_len.load(Ordering::Relaxed) != 0
    }

    /// A stretch of the program's code begins or ends. Only the runner's thread writes the count.
    pub(super) fn turn(&self) {
        let turns = self.turns.load(Ordering::Relaxed);
        self.turns.store(turns + 1, Ordering::Relaxed);
    }
}

/// What runs on a fiber's stack: one virtual thread.
pub(super) unsafe extern "C" fn fiber_main(fiber: *mut libc::c_void) -> ! {
    // SAFETY: freed only with the team, when it does not run.
    let fiber = unsafe { &*fiber.cast::<Fiber>() };
    loop {
        // SAFETY: the team outlives its fibers.
        let job = unsafe { (*fiber.team.get()).job() };
        // SAFETY: `prepare` took function and data from the region, which compiled code made for every thread of a
        // team.
        unsafe { (job.entry)(job.data) };
        fiber.state.set(State::Finished);
        if !begins_another(fiber) {
            // Not taken up again: the next virtual thread on this stack begins anew.
            give_back(fiber);
        }
    }
}

/// The virtual thread on `fiber` has come to its end. True: another one begins on its stack. It is not
/// taken up again where another fiber goes on.
#[inline(never)]
fn begins_another(fiber: &Fiber) -> bool {
    let th = Thread::current();
    let runner = runner_of(th);
    // SAFETY: the team outlives its fibers.
    unsafe { &*fiber.team.get() }.ended(th, runner, fiber)
}

/// Leaves a fiber for its runner, which may be another thread's when the fiber goes on.
#[inline(never)]
fn give_back(fiber: &Fiber) {
    // Asked anew each time: see the module's head.
    let runner = runner_of(Thread::current());
    // SAFETY: the runner waits on its own stack, in `resume`.
    unsafe { switch::switch(fiber.left.as_ptr(), runner.own.get()) };
}

/// `fiber` waits at a barrier. True: another one has run meanwhile, and this one goes on.
#[inline(never)]
fn hands_over(fiber: &Fiber) -> bool {
    let th = Thread::current();
    let runner = runner_of(th);
    // SAFETY: the team outlives its fibers.
    unsafe { &*fiber.team.get() }.hand_over(th, runner, fiber)
}

/// `fiber` has been taken up again.
#[inline(never)]
fn goes_on(fiber: &Fiber) {
    let runner = runner_of(Thread::current());
    // SAFETY: the team outlives its fibers.
    unsafe { &*fiber.team.get() }.arrived(runner);
}

/// Suspends the running fiber; returns when it goes on.
#[inline(never)]
pub(super) fn suspend(fiber: &Fiber, state: State) {
    let th = Thread::current();
    th.leave_program(Reason::Switch);
    fiber.saved.set(th.save());
    fiber.errno.set(sys::errno());
    fiber.state.set(state);
    if state != State::Barrier || !hands_over(fiber) {
        give_back(fiber);
    }
    goes_on(fiber);
    // SAFETY: __errno_location points to the calling thread's errno, which may be another's now.
    unsafe { *libc::__errno_location() = fiber.errno.get() };
}

/// The runner that the calling thread is, if it is one.
fn runner(th: &Thread) -> Option<&Runner> {
    // SAFETY: whatever is in the field is alive; nothing but runners is ever put there.
    th.runner
        .get()
        .map(|p| unsafe { p.cast::<Runner>().as_ref() })
}

/// The runner of the fiber that the calling thread runs.
fn runner_of(th: &Thread) -> &Runner {
    runner(th).unwrap_or_else(|| unreachable!("a fiber runs on a runner"))
}

/// The fiber that the calling thread runs, if it does and can be suspended.
pub(super) fn current(th: &Thread) -> Option<&Fiber> {
    let runner = runner(th)?;
    // In a region inside of the virtual team's, the thread stays: its pools are taken and given back
    // in order.
    // SAFETY: set while the runner is in a region, as it is.
    if !core::ptr::eq(th.team(), unsafe { &(*runner.team.get()).team }) {
        return None;
    }
    // SAFETY: null, or alive while it runs.
    unsafe { runner.current.get().as_ref() }
}

/// The size of a virtual thread's stack: that of a worker.
pub(super) fn stack_bytes() -> usize {
    let mut bytes = 0usize;
    // SAFETY: the attributes are initialised for the life of the process.
    let error = unsafe { libc::pthread_attr_getstacksize(init::thread_attributes(), &mut bytes) };
    if error != 0 || bytes == 0 {
        8 << 20
    } else {
        bytes
    }
}
