//! A team of virtual threads, run by fewer real ones.
//!
//! # How a region runs
//! To the rest of the runtime the region is an ordinary one of as many threads as there are real ones,
//! whose outlined function is [`VirtualTeam::run`]. There each real thread becomes a *runner*. It
//! takes one virtual thread after the other from its block (`hetmp_sched::virtual_team`), puts
//! on its context (number, team, implicit task: everything the program can ask), and calls the
//! program's outlined function. All constructs of the runtime then work for a virtual thread as they
//! do for a real one, because they know threads by their context only.
//!
//! **Directly** on the runner's own stack, where the code was read and nothing in it can wait.
//! **As fibers** otherwise: each virtual thread that is begun gets a stack. One that comes to its end
//! without waiting leaves the stack to the next one. One that arrives at a barrier is suspended,
//! and the runner goes on with the next virtual thread; when it has no more to run, it arrives at the
//! barrier with all of its own at once, and when everybody has, runs them on in turn.
//!
//! **A virtual thread that was begun stays with its runner**: compilers keep addresses of
//! thread-local variables across calls. Only those that nobody has begun are stolen. The one
//! exception is [`VirtualTeam::expand`], when all would wait for ever otherwise.
//!
//! # What makes the sharing sound
//! * [`Job`] and the team's shared part are written by the primary thread before the real team
//!   starts and after it has ended.
//! * A [`Runner`]'s cells are touched by its own thread only; its `ready` queue also by whoever
//!   expands the team, hence under `lock`.
//! * A [`Fiber`] belongs to the runner in whose lists it is.

use super::exceptions::InFlight;
use super::fiber::{current, fiber_main, stack_bytes, suspend, Fiber, Runner, State};
use super::lever::Lever;
use super::switch::{self, Left, Stack};
use super::watchdog::{self, Sight};
use crate::boundary::Reason;
use crate::init;
use crate::task::wait::{self, TaskPastime};
use crate::team::barrier::wait_on;
use crate::team::members::{Outlined, Team};
use crate::team::region::Region;
use crate::team::suspend::Suspend;
use crate::thread::{SavedContext, Thread};
use crate::worksharing::work::WorkPos;
use core::cell::Cell;
use core::ptr::{null, null_mut, NonNull};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicU8, Ordering};
use hetmp_core::park::{Flag, Spinner};
use hetmp_core::sys::{self, monotonic_ns};
use hetmp_core::trace::{self, Kind};
use hetmp_sched::virtual_team::{Blocks, Steal};
use std::collections::VecDeque;
use std::sync::Mutex;

/// Looks of a fiber that waits between two yields: some 5 us.
const SPINS: u32 = 300;
/// Nanoseconds that a fiber waits before it lets others of its runner run.
const PATIENCE_NS: u64 = 1_000_000;

/// How a virtual team runs a region.
#[derive(Debug)]
pub(super) struct How {
    /// Virtual threads.
    pub(super) pieces: u32,
    /// Real threads.
    pub(super) runners: u32,
    /// Virtual threads have stacks of their own.
    pub(super) fibers: bool,
    /// No stealing.
    pub(super) keep: bool,
    /// Each virtual thread's time is measured.
    pub(super) timed: bool,
    /// The primary thread runs all virtual threads.
    pub(super) alone: bool,
    /// What each runner gets of the virtual threads, in proportion.
    pub(super) weights: Vec<f64>,
    /// Nanoseconds that each runner needs for one; 0: not known.
    pub(super) paces: Vec<f64>,
}

/// Most virtual threads of a team.
pub(super) const MOST_PIECES: u32 = 4096;

/// What a region is to its runners.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    pub(super) entry: Outlined,
    pub(super) data: *mut libc::c_void,
    /// See `Region::code`.
    code: usize,
    pieces: u32,
    runners: u32,
    /// Virtual threads have stacks of their own.
    fibers: bool,
    /// Blocks are kept to: shares were learned for stretches that nobody can steal in.
    keep: bool,
    /// What virtual threads take is measured, one by one.
    timed: bool,
    /// The primary thread runs all of them.
    alone: bool,
    /// The first barrier epoch and the first worksharing construct of every virtual thread.
    epoch: u32,
    pos: WorkPos,
    number: u32,
}

unsafe extern "C" fn nothing(_: *mut libc::c_void) {}

/// Were virtual threads given real ones of their own?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expanded {
    /// No.
    No,
    /// The runtime saw that one was about to wait where it cannot be suspended.
    Needed,
    /// One was found stuck, by time. Certain if it had a core all the while.
    Stuck { certain: bool },
}

impl Expanded {
    const NO: u8 = 0;
    const NEEDED: u8 = 1;
    const MAYBE_STUCK: u8 = 2;
    const STUCK: u8 = 3;

    fn code(self) -> u8 {
        match self {
            Expanded::No => Self::NO,
            Expanded::Needed => Self::NEEDED,
            Expanded::Stuck { certain: false } => Self::MAYBE_STUCK,
            Expanded::Stuck { certain: true } => Self::STUCK,
        }
    }

    fn of_code(code: u8) -> Expanded {
        match code {
            Self::NO => Expanded::No,
            Self::NEEDED => Expanded::Needed,
            Self::MAYBE_STUCK => Expanded::Stuck { certain: false },
            _ => Expanded::Stuck { certain: true },
        }
    }
}

/// What one run of a region measured.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    /// Nanoseconds in the program's code and virtual threads, by runner.
    pub(super) runners: Vec<(u64, u32)>,
    /// Virtual threads that took more than an eighth of the mean time.
    pub(super) substantial: u32,
    /// Some virtual thread was suspended.
    pub(super) suspended: bool,
    /// Virtual threads were given threads of their own.
    pub(super) expanded: Expanded,
    /// Tasks were deferred.
    pub(super) tasks: bool,
}

/// A team of virtual threads. Belongs to the thread that opens the regions, and is used for all of
/// them.
#[derive(Debug)]
pub(crate) struct VirtualTeam {
    pub(super) team: Team,
    pub(super) blocks: Blocks,
    pub(super) runners: Box<[Runner]>,
    job: Cell<Job>,
    /// Virtual threads that came to their end, counted when a runner leaves.
    finished: AtomicU32,
    /// Size of the real team: all runners store the same.
    real: AtomicU32,
    /// Virtual thread 0, kept back for the primary thread.
    first: Cell<Option<u32>>,
    /// Numbers of the regions whose virtual threads all have.
    done: Flag,
    /// Where the worksharing constructs were when the primary thread's last virtual thread ended.
    end: Cell<WorkPos>,
    suspended: AtomicBool,
    /// An [`Expanded`], the worst so far.
    expanded: AtomicU8,
    /// Longest stretch of the program's code without a switch so far, in ns.
    pub(super) longest_ns: AtomicU64,
    /// Nanoseconds spent by each virtual thread. Written by its runner.
    spent: Box<[AtomicU64]>,
    /// Stacks made so far.
    stacks: Cell<u32>,
    /// The signals that the owner of the team blocks; additional threads do so too.
    pub(super) mask: libc::sigset_t,
    /// Tasks were deferred in the last region.
    deferred: Cell<bool>,
    /// The watchdog's.
    pub(super) sight: Sight,
    /// Fibers of threads that joined and left.
    #[allow(clippy::vec_box, reason = "as above")]
    pub(super) orphans: Mutex<Vec<Box<Fiber>>>,
}

// SAFETY: shared between its runners as the module's head says.
unsafe impl Sync for VirtualTeam {}

impl VirtualTeam {
    /// A team of up to `pieces` virtual threads on `runners` real ones.
    pub(super) fn new(pieces: u32, runners: u32) -> Box<VirtualTeam> {
        let team = Box::new(VirtualTeam {
            team: Team::new(pieces),
            blocks: Blocks::new(runners as usize),
            runners: (0..runners).map(Runner::new).collect(),
            job: Cell::new(Job {
                entry: nothing,
                data: null_mut(),
                code: 0,
                pieces,
                runners,
                fibers: false,
                keep: false,
                timed: true,
                alone: false,
                epoch: 0,
                pos: WorkPos::NOWHERE,
                number: 0,
            }),
            finished: AtomicU32::new(0),
            real: AtomicU32::new(0),
            stacks: Cell::new(0),
            mask: thread_mask(),
            first: Cell::new(None),
            done: Flag::new(),
            end: Cell::new(WorkPos::NOWHERE),
            suspended: AtomicBool::new(false),
            expanded: AtomicU8::new(Expanded::NO),
            longest_ns: AtomicU64::new(0),
            spent: (0..pieces).map(|_| AtomicU64::new(0)).collect(),
            deferred: Cell::new(false),
            sight: Sight::new(),
            orphans: Mutex::new(Vec::new()),
        });
        watchdog::add(&team);
        team
    }

    /// What the current region is.
    pub(super) fn job(&self) -> Job {
        self.job.get()
    }

    /// Does the team fit?
    pub(super) fn is_for(&self, pieces: u32, runners: u32) -> bool {
        self.job.get().pieces == pieces && self.runners.len() == runners as usize
    }

    /// Prepares a region. The calling thread is about to open it, and no other thread is here.
    pub(super) fn prepare(&self, th: &Thread, region: &Region, how: &How) {
        let team = &self.team;
        let s = &team.shared;
        let pieces = self.job.get().pieces;
        let outer = th.team();
        s.nthreads.set(pieces);
        s.code.set(region.code);
        s.level.set(outer.level() + 1);
        s.active_level.set(outer.active_level() + 1);
        s.central.set(true);
        s.is_virtual.set(true);
        let start = init::globals().team_icv(th.task().icv(), s.level.get() as usize, None);
        s.icv.set(start.icv);
        s.parent.set(outer);
        s.parent_tid.set(th.tid());
        team.tasks.begin_region();
        if team.singles.load(Ordering::Relaxed) != 0 {
            team.singles.store(0, Ordering::Relaxed);
        }
        self.job.set(Job {
            entry: region.entry,
            data: region.data,
            code: region.code,
            pieces,
            runners: self.runners.len() as u32,
            fibers: how.fibers,
            keep: how.keep,
            timed: how.timed || trace::on(),
            alone: how.alone,
            epoch: team.members[0].epoch.get(),
            pos: team.works.position(),
            number: team.tasks.region_number(),
        });
        self.finished.store(0, Ordering::Relaxed);
        self.suspended.store(false, Ordering::Relaxed);
        self.expanded.store(Expanded::NO, Ordering::Relaxed);
        self.longest_ns.store(0, Ordering::Relaxed);
        for spent in &*self.spent {
            spent.store(0, Ordering::Relaxed);
        }
        for r in &*self.runners {
            r.team.set(self);
            r.busy_ns.set(0);
            r.begun.set(0);
            r.ended.set(0);
            r.thread.store(0, Ordering::Relaxed);
        }
        if !how.alone {
            // What one runner kept the others may need.
            for r in &*self.runners {
                self.give_away_idle(r);
            }
        }
        self.blocks.deal(pieces, &how.weights);
        self.first.set(self.blocks.take_first());
        for (i, &pace) in how.paces.iter().enumerate().take(self.runners.len()) {
            if pace > 0.0 {
                self.blocks.set_pace(i, pace);
            }
        }
    }

    /// The outlined function of the real team: a runner's part of the region.
    ///
    /// # Safety
    /// `team` is a prepared team, and the calling thread is one of those that it was prepared for.
    pub(super) unsafe extern "C" fn run(team: *mut libc::c_void) {
        // SAFETY: the caller's promise; it outlives the real team's region.
        let team = unsafe { &*team.cast::<VirtualTeam>() };
        let th = Thread::current();
        th.leave_program(Reason::Switch);
        let index = th.tid() as usize;
        team.real.store(th.nthreads(), Ordering::Relaxed);
        let real = th.save();
        if let Some(runner) = team.runners.get(index) {
            // The primary thread is virtual thread 0 as well: the program may have things to do
            // that belong there.
            let first = if index == 0 { team.first.get() } else { None };
            // SAFETY: no preconditions.
            let thread = unsafe { libc::pthread_self() };
            runner.thread.store(thread as u64, Ordering::Relaxed);
            team.work(th, runner, first);
            team.leave(th, runner);
        }
        if index == 0 {
            team.collect(th);
        }
        th.runner.set(None);
        th.restore(&real);
        th.enter_program(Reason::Switch);
    }

    /// Runs virtual threads until there are no more for this runner.
    pub(super) fn work(&self, th: &Thread, r: &Runner, mut next: Option<u32>) {
        th.runner.set(Some(NonNull::from(r as &dyn Suspend)));
        let job = self.job.get();
        let few = self.are_few(&job);
        let mut spinner = Spinner::new();
        loop {
            // Fibers that go on, then virtual threads that nobody has begun, then fibers that
            // have waited for something and may wait still.
            if let Some(fiber) = self.next_ready(r) {
                self.resume(th, r, fiber);
                spinner = Spinner::new();
                continue;
            }
            let given = next.take().or_else(|| r.handed.take());
            if let Some(piece) = given.or_else(|| self.next_piece(r, &job, few)) {
                self.begin(th, r, piece, &job);
                spinner = Spinner::new();
                continue;
            }
            if let Some(fiber) = r.with_ready(VecDeque::pop_front) {
                // Whoever it waits for may need this core.
                sys::yield_now();
                self.resume(th, r, fiber);
                continue;
            }
            // SAFETY: only this thread touches the list.
            if !unsafe { &*r.waiting.get() }.is_empty() {
                self.meet(th, r, &job);
                continue;
            }
            if job.keep || r.index >= job.runners || self.blocks.left() == 0 {
                return;
            }
            // Pieces are left that their owner will be done with sooner; it may be wrong about that.
            if !spinner.turn() {
                sys::yield_now();
            }
        }
    }

    /// A fiber that can go on for certain.
    fn next_ready(&self, r: &Runner) -> Option<*const Fiber> {
        if !r.has_ready() {
            return None;
        }
        r.with_ready(|queue| {
            let certain = queue.iter().position(|&f| {
                // SAFETY: fibers in a list are alive.
                unsafe { &*f }.state.get() == State::Barrier
            })?;
            queue.remove(certain)
        })
    }

    /// A virtual thread that nobody has begun. None for a thread that joined for a certain one.
    #[inline]
    fn next_piece(&self, r: &Runner, job: &Job, few: bool) -> Option<u32> {
        if r.index >= job.runners {
            return None;
        }
        let index = r.index as usize;
        let own = self.blocks.take(index);
        if few {
            return own.or_else(|| self.blocks.take_any());
        }
        if own.is_some() || job.keep {
            return own;
        }
        match self.blocks.steal(index) {
            Steal::Piece(piece) => Some(piece),
            Steal::NotWorth | Steal::Nothing => None,
        }
    }

    /// Begins virtual thread `piece`.
    fn begin(&self, th: &Thread, r: &Runner, piece: u32, job: &Job) {
        r.begun.set(r.begun.get() + 1);
        if job.fibers {
            if let Some(fiber) = self.fiber(r) {
                self.begin_on(fiber, piece);
                self.resume(th, r, fiber);
                return;
            }
        }
        // On this stack.
        self.enter(th, piece, job);
        r.current.set(null());
        let t0 = self.clock(job);
        r.turn();
        th.enter_program(Reason::Switch);
        // SAFETY: the promise made where the region was opened.
        unsafe { (job.entry)(job.data) };
        th.leave_program(Reason::Switch);
        r.turn();
        self.account(r, piece, t0);
        self.end(th, r);
    }

    /// Virtual thread `piece` is to begin on `fiber`, which is in no list.
    fn begin_on(&self, fiber: *const Fiber, piece: u32) {
        // SAFETY: in no list, so the calling runner's alone.
        let f = unsafe { &*fiber };
        f.piece.set(piece);
        f.state.set(State::Finished);
        f.in_flight.set(InFlight::NONE);
        // Begun anew each time, with the control words of the thread that begins it.
        f.left
            .set(f.stack.begin(fiber_main, fiber.cast_mut().cast()));
    }

    /// Puts on the context of virtual thread `piece` at its start.
    fn enter(&self, th: &Thread, piece: u32, job: &Job) {
        let m = &self.team.members[piece as usize];
        m.epoch.set(job.epoch);
        th.become_member(&self.team, piece, job.pieces);
        th.ctx.pos.set(job.pos);
        m.implicit.set_group(null());
    }

    /// The virtual thread whose context the thread wears has come to its end.
    fn end(&self, th: &Thread, r: &Runner) {
        let m = th.member();
        // Not while others of this runner are suspended: a task could wait here for a lock that one of
        // them holds. The last one to end leaves none behind.
        if self.team.tasks.active() && !r.has_ready() {
            wait::work_off(th);
        }
        m.epoch
            .set(m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK);
        m.implicit.end_implicit();
        if r.index == 0 {
            self.end.set(th.ctx.pos.get());
        }
        r.ended.set(r.ended.get() + 1);
    }

    /// The time now, if times are wanted; else 0.
    fn clock(&self, job: &Job) -> u64 {
        if job.timed {
            monotonic_ns()
        } else {
            0
        }
    }

    /// Books the time since `t0` on virtual thread `piece` and its runner.
    fn account(&self, r: &Runner, piece: u32, t0: u64) {
        if t0 == 0 {
            return;
        }
        let ns = monotonic_ns() - t0;
        self.trace(piece, t0);
        r.busy_ns.set(r.busy_ns.get() + ns);
        let spent = &self.spent[piece as usize];
        spent.store(spent.load(Ordering::Relaxed) + ns, Ordering::Relaxed);
        if ns > self.longest_ns.load(Ordering::Relaxed) {
            self.longest_ns.store(ns, Ordering::Relaxed);
        }
        if let Some(begun) = (r.index < self.job.get().runners).then(|| r.begun.get()) {
            self.blocks.set_pace(
                r.index as usize,
                r.busy_ns.get() as f64 / f64::from(begun.max(1)),
            );
        }
    }

    /// Tells the trace what the calling runner has done since `t0`.
    #[inline(always)]
    fn trace(&self, piece: u32, t0: u64) {
        if trace::on() {
            let job = self.job.get();
            let node = Thread::current().node.get();
            trace::done(
                Kind::Piece,
                node,
                t0,
                job.code as u64,
                piece.into(),
                job.pieces.into(),
            );
        }
    }

    /// Makes a stack for each virtual thread, before the region begins: once it runs, the lack of one
    /// could not be mended. False: there is no memory for them.
    pub(super) fn reserve_stacks(&self) -> bool {
        while self.stacks.get() < self.job.get().pieces {
            let Some(stack) = Stack::new(stack_bytes(), self.stacks.get()) else {
                // Those that there are would be missing where real threads want theirs.
                for r in &*self.runners {
                    self.give_away_idle(r);
                }
                if let Ok(mut orphans) = self.orphans.lock() {
                    orphans.clear();
                    self.stacks.set(0);
                }
                return false;
            };
            self.stacks.set(self.stacks.get() + 1);
            let fiber = Box::new(Fiber {
                stack,
                left: Cell::new(Left::NOWHERE),
                team: Cell::new(self),
                piece: Cell::new(0),
                state: Cell::new(State::Finished),
                saved: Cell::new(SavedContext::empty()),
                in_flight: Cell::new(InFlight::NONE),
                errno: Cell::new(0),
            });
            if let Ok(mut orphans) = self.orphans.lock() {
                orphans.push(fiber);
            }
        }
        true
    }

    /// A fiber to run a virtual thread on: one of this runner's, or one that nobody has. There are as
    /// many as virtual threads, and a runner that is not the only one keeps none that it does not use,
    /// so there is one. (If there were none, the virtual thread would begin on this stack.)
    fn fiber(&self, r: &Runner) -> Option<*const Fiber> {
        // SAFETY: only this thread touches the list.
        let idle = unsafe { &mut *r.idle.get() };
        let fiber = match idle.pop() {
            Some(fiber) => fiber,
            None => self.orphans.lock().ok()?.pop()?,
        };
        Some(Box::into_raw(fiber))
    }

    /// Gives back a fiber that [`VirtualTeam::fiber`] gave or a virtual thread has left, and on which
    /// nothing is to go on.
    fn put_away(&self, r: &Runner, fiber: *const Fiber) {
        // SAFETY: made by `Box::into_raw` in `fiber`, and in no list.
        let fiber = unsafe { Box::from_raw(fiber.cast_mut()) };
        if self.job.get().alone && r.index == 0 {
            // SAFETY: only this thread touches the list of idle ones.
            unsafe { (*r.idle.get()).push(fiber) };
        } else if let Ok(mut orphans) = self.orphans.lock() {
            orphans.push(fiber);
        }
    }

    /// Fewer real threads than runners were counted on: nobody keeps to a block.
    fn are_few(&self, job: &Job) -> bool {
        self.real.load(Ordering::Relaxed) < job.runners
    }

    /// `fiber`, which runs, waits at a barrier. Where its runner has something else to run on another
    /// fiber, goes there at once, not by way of the runner's own stack: a processor foresees returns
    /// by the calls before them, and after each change of stacks it is wrong about all that are
    /// pending, unless both stacks have come by the same calls. Returns true when the fiber goes on
    /// again; false, with nothing done, if there is nothing else.
    pub(super) fn hand_over(&self, th: &Thread, r: &Runner, fiber: &Fiber) -> bool {
        let next = match self.next_ready(r) {
            Some(next) => next,
            None => {
                let job = self.job.get();
                let Some(piece) = self.next_piece(r, &job, self.are_few(&job)) else {
                    return false;
                };
                let Some(next) = self.fiber(r) else {
                    // The runner begins it on its own stack.
                    r.handed.set(Some(piece));
                    return false;
                };
                r.begun.set(r.begun.get() + 1);
                self.begin_on(next, piece);
                next
            }
        };
        r.turn();
        self.account(r, fiber.piece.get(), r.since.get());
        fiber.in_flight.set(InFlight::take());
        // SAFETY: only this thread touches the list.
        unsafe { (*r.waiting.get()).push(fiber) };
        self.go_on(th, r, next);
        // SAFETY: `go_on` made it the fiber to run, and nobody else can take it up. This one is in a
        // list, and taken up again by whoever takes it out.
        unsafe { switch::switch(fiber.left.as_ptr(), (*next).left.get()) };
        true
    }

    /// What a fiber does first that goes on: puts away the one that the runner has come from, if a
    /// virtual thread has ended there.
    pub(super) fn arrived(&self, r: &Runner) {
        let behind = r.left_behind.replace(null());
        if !behind.is_null() {
            self.put_away(r, behind);
        }
    }

    /// The virtual thread on `fiber` has come to its end. Where another fiber of the runner can go on,
    /// goes there and does not return. Returns true where another virtual thread begins on the
    /// fiber; false, with nothing done, if there is nothing more.
    pub(super) fn ended(&self, th: &Thread, r: &Runner, fiber: &Fiber) -> bool {
        let next = self.next_ready(r);
        let job = self.job.get();
        let piece = if next.is_none() {
            self.next_piece(r, &job, self.are_few(&job))
        } else {
            None
        };
        if next.is_none() && piece.is_none() {
            return false;
        }
        th.leave_program(Reason::Switch);
        r.turn();
        self.account(r, fiber.piece.get(), r.since.get());
        let _ = InFlight::take();
        self.end(th, r);
        if let Some(piece) = piece {
            r.begun.set(r.begun.get() + 1);
            fiber.piece.set(piece);
            self.enter(th, piece, &job);
            r.since.set(self.clock(&job));
            r.turn();
            th.enter_program(Reason::Switch);
            return true;
        }
        let Some(next) = next else { return false };
        self.go_on(th, r, next);
        // By the fiber that goes on: another runner may begin something on it at once.
        r.left_behind.set(fiber);
        // SAFETY: `go_on` made it the fiber to run, and nobody else can take it up. This one's stack is
        // not taken up again.
        unsafe { switch::switch(fiber.left.as_ptr(), (*next).left.get()) };
        unreachable!("a fiber that was put away goes on")
    }

    /// Makes `next` the fiber that the runner runs, for the switch to it.
    fn go_on(&self, th: &Thread, r: &Runner, next: *const Fiber) {
        // SAFETY: in no list, so this runner's alone; freed only with the team.
        let f = unsafe { &*next };
        let job = self.job.get();
        if f.state.get() == State::Finished {
            self.enter(th, f.piece.get(), &job);
        } else {
            th.restore(&f.saved.get());
            f.in_flight.get().put();
        }
        r.current.set(f);
        r.since.set(self.clock(&job));
        r.turn();
        th.enter_program(Reason::Switch);
    }

    /// Runs a fiber until it gives the runner back.
    fn resume(&self, th: &Thread, r: &Runner, fiber: *const Fiber) {
        // SAFETY: in no list, so this runner's alone; freed only with the team.
        let f = unsafe { &*fiber };
        let outside = InFlight::take();
        self.go_on(th, r, fiber);
        // SAFETY: the fiber was left there, by `suspend`, its end, or its making, and nobody else
        // can take it up.
        unsafe { switch::switch(r.own.as_ptr(), f.left.get()) };
        th.leave_program(Reason::Switch);
        r.turn();
        // Fibers may have handed over to each other meanwhile: this is the last one.
        let fiber = r.current.replace(null());
        // SAFETY: the fiber that has just run on this thread; freed only with the team.
        let f = unsafe { &*fiber };
        self.account(r, f.piece.get(), r.since.get());
        match f.state.get() {
            State::Finished => {
                self.end(th, r);
                self.put_away(r, fiber);
            }
            State::Barrier => {
                f.in_flight.set(InFlight::take());
                // SAFETY: only this thread touches the list.
                unsafe { (*r.waiting.get()).push(fiber) };
            }
            State::Lock | State::Waiting => {
                f.in_flight.set(InFlight::take());
                r.with_ready(|q| q.push_back(fiber));
            }
        }
        outside.put();
    }

    /// Arrives at the barrier with all fibers that wait for it, and lets them go on when everybody
    /// has arrived.
    fn meet(&self, th: &Thread, r: &Runner, job: &Job) {
        // SAFETY: only this thread touches the list, and nothing below runs the program's code but
        // tasks, which meet no barrier.
        let waiting = unsafe { &mut *r.waiting.get() };
        // SAFETY: fibers in a list are alive.
        let saved = unsafe { &*waiting[0] }.saved.get();
        // Tasks that are run here are run by one of the virtual threads that wait.
        th.restore(&saved);
        let epoch = th.member().epoch.get();
        let arrived = waiting.len() as u32;
        self.arrive(th, epoch, arrived, job.pieces);
        r.with_ready(|q| {
            for &fiber in waiting.iter() {
                q.push_back(fiber);
            }
        });
        waiting.clear();
    }

    /// `arrived` virtual threads are at barrier number `epoch` of `pieces`.
    fn arrive(&self, th: &Thread, epoch: u32, arrived: u32, pieces: u32) {
        let mut pastime = TaskPastime::new(th);
        self.team
            .barrier
            .central_batch(epoch, arrived, pieces, &mut pastime);
        if self.team.tasks.active() {
            wait::drain(th, epoch.wrapping_sub(1));
            wait::drained(&self.team);
        }
    }

    /// How the region that has just ended ran.
    pub(super) fn lever(&self) -> Lever {
        if self.suspended.load(Ordering::Relaxed) {
            Lever::Fibers
        } else {
            Lever::VirtualTeam
        }
    }

    /// Did virtual threads get real ones of their own in it?
    pub(super) fn is_expanded(&self) -> bool {
        self.expanded.load(Ordering::Relaxed) != Expanded::NO
    }

    /// Notes that virtual threads get real ones, and why.
    pub(super) fn note_expanded(&self, why: Expanded) {
        self.expanded.fetch_max(why.code(), Ordering::Relaxed);
    }

    /// A runner has nothing more to do.
    pub(super) fn leave(&self, th: &Thread, r: &Runner) {
        let job = self.job.get();
        let ended = r.ended.get();
        th.runner.set(None);
        if !job.alone || r.index >= job.runners {
            self.give_away_idle(r);
        }
        if ended != 0 && self.finished.fetch_add(ended, Ordering::AcqRel) + ended == job.pieces {
            self.done.signal(job.number);
        }
    }

    /// Gives the fibers that `r` has no use for to whoever needs them. For its own thread, or the primary
    /// thread while there is no region.
    fn give_away_idle(&self, r: &Runner) {
        // SAFETY: the caller is the only thread that touches the list.
        let idle = unsafe { &mut *r.idle.get() };
        if !idle.is_empty() {
            if let Ok(mut orphans) = self.orphans.lock() {
                orphans.append(idle);
            }
        }
    }

    /// The primary thread's end of the region: waits for all virtual threads, and runs the tasks
    /// that are left.
    fn collect(&self, th: &Thread) {
        let job = self.job.get();
        let m = &*self.team.members[0];
        th.ctx.team.set(&self.team);
        th.ctx.member.set(m);
        th.ctx.task.set(&m.implicit);
        wait_on(&self.done, job.number, &mut TaskPastime::new(th));
        self.deferred.set(self.team.tasks.active());
        if self.team.tasks.active() {
            let epoch = m.epoch.get();
            wait::drain(th, epoch.wrapping_sub(1));
            self.team.tasks.end_region();
        }
        self.team.works.settle(self.end.get());
    }

    /// What the region that has just ended measured. For the primary thread.
    pub(super) fn outcome(&self) -> Outcome {
        let spent = || self.spent.iter().map(|s| s.load(Ordering::Relaxed));
        // Against the mean, not the longest: that one may have lost its core for a while.
        let mean = spent().sum::<u64>() / self.spent.len().max(1) as u64;
        Outcome {
            runners: self
                .runners
                .iter()
                .map(|r| (r.busy_ns.get(), r.begun.get()))
                .collect(),
            substantial: spent().filter(|&s| s > mean / 8).count() as u32,
            suspended: self.suspended.load(Ordering::Relaxed),
            expanded: Expanded::of_code(self.expanded.load(Ordering::Relaxed)),
            tasks: self.deferred.get(),
        }
    }
}

impl Drop for VirtualTeam {
    fn drop(&mut self) {
        watchdog::remove(self);
        self.team.tasks.quiesce();
    }
}

impl Suspend for Runner {
    #[cold]
    fn wait_for_lock(&self, done: &mut dyn FnMut() -> bool) -> bool {
        self.wait_as(State::Lock, done)
    }

    #[cold]
    fn wait_for_others(&self, done: &mut dyn FnMut() -> bool) -> bool {
        if self.wait_as(State::Waiting, done) {
            return true;
        }
        // SAFETY: set while the runner is in a region, as it is.
        unsafe { &*self.team.get() }.expand(Expanded::Needed, &|_| false);
        false
    }

    #[cold]
    fn barrier(&self) {
        let th = Thread::current();
        th.leave_program(Reason::Switch);
        // SAFETY: set while the runner is in a region, as it is.
        let team = unsafe { &*self.team.get() };
        let m = th.member();
        let epoch = m.epoch.get().wrapping_add(1) & crate::EPOCH_MASK;
        m.epoch.set(epoch);
        if !team.suspended.load(Ordering::Relaxed) {
            team.suspended.store(true, Ordering::Relaxed);
        }
        if let Some(fiber) = current(th) {
            suspend(fiber, State::Barrier);
            return;
        }
        // On the runner's own stack: it cannot take up another virtual thread meanwhile.
        team.expand(Expanded::Needed, &|_| false);
        team.arrive(th, epoch, 1, th.nthreads());
        th.enter_program(Reason::Switch);
    }
}

impl Runner {
    fn wait_as(&self, state: State, done: &mut dyn FnMut() -> bool) -> bool {
        let Some(fiber) = current(Thread::current()) else {
            return false;
        };
        // Whoever has what is waited for is mostly another real thread, and gives it back soon. To go on
        // with another virtual thread has a price: to libraries both are the same thread.
        let patience = monotonic_ns() + PATIENCE_NS;
        loop {
            for _ in 0..SPINS {
                if done() {
                    return true;
                }
                hetmp_core::sync::pause();
            }
            if monotonic_ns() < patience {
                sys::yield_now();
            } else {
                suspend(fiber, state);
            }
        }
    }
}

/// The signals that the calling thread blocks.
fn thread_mask() -> libc::sigset_t {
    let mut mask = core::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is live; zeroed, it is a valid empty one.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, core::ptr::null(), mask.as_mut_ptr());
        mask.assume_init()
    }
}
