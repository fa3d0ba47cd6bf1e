//! Runners and fibers. A runner is a real thread of a virtual team; a fiber is a stack that a runner can
//! leave.
//!
//! [`super::run`] explains what they are for, and which thread may touch which of them.

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

/// Why a fiber has given control back to its runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its virtual thread has ended; the stack is free for another one.
    Finished,
    /// Its virtual thread waits at a barrier.
    Barrier,
    /// Its virtual thread waits for a lock, and must look again.
    Lock,
    /// Its virtual thread waits for something else, and must look again.
    Waiting,
}

/// A stack, and the virtual thread that runs on it.
#[derive(Debug)]
pub(super) struct Fiber {
    /// `None`: the stack of the thread that opened the region ([`VirtualTeam::run_at_home`]).
    pub(super) stack: Option<Stack>,
    pub(super) left: Cell<Left>,
    pub(super) team: Cell<*const VirtualTeam>,
    pub(super) piece: Cell<u32>,
    pub(super) state: Cell<State>,
    pub(super) saved: Cell<SavedContext>,
    pub(super) in_flight: Cell<InFlight>,
    pub(super) errno: Cell<libc::c_int>,
}

impl Fiber {
    pub(super) fn new(stack: Option<Stack>) -> Fiber {
        Fiber {
            stack,
            left: Cell::new(Left::NOWHERE),
            team: Cell::new(null()),
            piece: Cell::new(0),
            state: Cell::new(State::Finished),
            saved: Cell::new(SavedContext::empty()),
            in_flight: Cell::new(InFlight::NONE),
            errno: Cell::new(0),
        }
    }

    /// Can the fiber continue on another real thread, if it must? It can at a barrier or when it waits for a
    /// lock: there its callers keep no reference to the thread that they return on. Inside of an explicit
    /// task they do.
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
    /// Where the runner left its own stack.
    pub(super) own: Cell<Left>,
    /// Fibers that wait at the barrier.
    pub(super) waiting: UnsafeCell<Vec<*const Fiber>>,
    /// Fibers without a virtual thread.
    #[allow(clippy::vec_box, reason = "fibers know their own address")]
    pub(super) idle: UnsafeCell<Vec<Box<Fiber>>>,
    /// Guards `ready`.
    pub(super) lock: Brief,
    /// Fibers that can continue.
    pub(super) ready: UnsafeCell<VecDeque<*const Fiber>>,
    /// Length of `ready`, written under the lock. A runner that reads 0 without the lock misses nothing that
    /// its own thread has put there.
    ready_len: AtomicU32,
    /// When the running virtual thread began or continued; 0: times are not wanted.
    pub(super) since: Cell<u64>,
    /// Counts up at both ends of each stretch of the program's code, so it is odd inside. For the watchdog.
    pub(super) turns: AtomicU64,
    /// The real thread (`pthread_t`) of this runner, or 0.
    pub(super) thread: AtomicU64,
    /// The watchdog's last reading of `turns`; since when it is the same (ns); and the thread's CPU time then
    /// (ns).
    pub(super) seen: AtomicU64,
    pub(super) stuck_since: AtomicU64,
    pub(super) stuck_cpu: AtomicU64,
    /// In this region: nanoseconds in the program's code, and virtual threads begun.
    pub(super) busy_ns: Cell<u64>,
    pub(super) begun: Cell<u32>,
    /// Virtual threads that have ended in this region.
    pub(super) ended: Cell<u32>,
    /// A virtual thread that a fiber took for the runner to begin on the runner's own stack.
    pub(super) handed: Cell<Option<u32>>,
    /// A fiber whose virtual thread has ended, and which the runner has left for another fiber; or null.
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

    /// Are there fibers that could continue?
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

/// The rest of the primary thread's part of a region, on a fiber's stack, while virtual thread 0 has the thread's own
/// ([`VirtualTeam::run_at_home`]).
pub(super) unsafe extern "C" fn runner_main(team: *mut libc::c_void) -> ! {
    // SAFETY: `run_at_home` passes its team, which outlives the region.
    let team = unsafe { &*team.cast::<VirtualTeam>() };
    let th = Thread::current();
    let runner = runner_of(th);
    team.is_back(th, runner);
    team.work(th, runner, None);
    team.leave(th, runner);
    team.collect(th);
    let mut nowhere = Left::NOWHERE;
    // SAFETY: `collect` has waited for all virtual threads, so thread 0 has left its stack for the last time; whoever
    // ran it there at last wrote `left` before it reported.
    unsafe { switch::switch(&mut nowhere, team.home.left.get()) };
    unreachable!("the primary thread has left the region")
}

/// The function that runs on a fiber's stack: virtual threads, one after the other.
pub(super) unsafe extern "C" fn fiber_main(fiber: *mut libc::c_void) -> ! {
    // SAFETY: fibers are freed only with the team, when none of them runs.
    let fiber = unsafe { &*fiber.cast::<Fiber>() };
    loop {
        // SAFETY: the team outlives its fibers.
        let job = unsafe { (*fiber.team.get()).job() };
        // SAFETY: `prepare` took function and data from the region, which compiled code made for every thread of a
        // team.
        unsafe { (job.entry)(job.data) };
        fiber.state.set(State::Finished);
        if !begins_another(fiber) {
            // `give_back` does not return: the next virtual thread on this stack begins from the top.
            give_back(fiber);
        }
    }
}

/// The virtual thread on `fiber` has ended. True: another one begins on this stack. If another fiber
/// continues instead, this function does not return.
#[inline(never)]
fn begins_another(fiber: &Fiber) -> bool {
    let th = Thread::current();
    let runner = runner_of(th);
    // SAFETY: the team outlives its fibers.
    unsafe { &*fiber.team.get() }.ended(th, runner, fiber)
}

/// Leaves a fiber for its runner. When the fiber continues, it may be with another thread's runner.
#[inline(never)]
pub(super) fn give_back(fiber: &Fiber) {
    // Look the runner up anew each time: compilers must not keep it across the switch.
    let runner = runner_of(Thread::current());
    // SAFETY: the runner waits in `resume`, or is about to begin `runner_main`.
    unsafe { switch::switch(fiber.left.as_ptr(), runner.own.get()) };
}

/// `fiber` waits at a barrier. True: another fiber has run meanwhile, and this one continues.
#[inline(never)]
fn hands_over(fiber: &Fiber) -> bool {
    let th = Thread::current();
    let runner = runner_of(th);
    // SAFETY: the team outlives its fibers.
    unsafe { &*fiber.team.get() }.hand_over(th, runner, fiber)
}

/// `fiber` continues.
#[inline(never)]
fn goes_on(fiber: &Fiber) {
    let runner = runner_of(Thread::current());
    // SAFETY: the team outlives its fibers.
    unsafe { &*fiber.team.get() }.arrived(runner);
}

/// Suspends the running fiber. Returns when it continues.
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
    // SAFETY: __errno_location gives the calling thread's errno, and the thread may be another one now.
    unsafe { *libc::__errno_location() = fiber.errno.get() };
}

/// The runner that the calling thread is, if it is one.
fn runner(th: &Thread) -> Option<&Runner> {
    // SAFETY: the field holds only runners, and a runner is alive while it is there.
    th.runner
        .get()
        .map(|p| unsafe { p.cast::<Runner>().as_ref() })
}

/// The runner of the fiber that the calling thread runs.
fn runner_of(th: &Thread) -> &Runner {
    runner(th).unwrap_or_else(|| unreachable!("a fiber runs on a runner"))
}

/// The fiber that the calling thread runs, if it runs one that can be suspended.
pub(super) fn current(th: &Thread) -> Option<&Fiber> {
    let runner = runner(th)?;
    // SAFETY: the runner is in a region, so its team is set and alive. (In a region inside of the virtual
    // team's region the thread is not suspended, because its pools are taken and given back in order.)
    if !core::ptr::eq(th.team(), unsafe { &(*runner.team.get()).team }) {
        return None;
    }
    // SAFETY: null, or alive while it runs.
    unsafe { runner.current.get().as_ref() }
}

/// The size of a virtual thread's stack in bytes: that of a worker's.
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
