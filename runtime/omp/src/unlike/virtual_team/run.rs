//! A team of virtual threads, run by fewer real ones.
//!
//! # How a region runs
//! To the rest of the runtime the region is an ordinary one with as many threads as there are real ones, and
//! with [`VirtualTeam::run`] as its outlined function. There each real thread becomes a *runner*. It takes
//! one virtual thread after the other from its block (`hetmp_sched::virtual_team`), makes its context the
//! thread's own (number, team, implicit task: everything that the program can ask for), and calls the
//! program's outlined function. All constructs of the runtime then work for a virtual thread as for a real
//! one, because they know a thread only by its context.
//!
//! Virtual threads run **directly** on the runner's own stack if the code was read and nothing in it can
//! wait. Otherwise they run **as fibers**: each virtual thread that is begun gets a stack; number 0 keeps that of the
//! primary thread, which is what programs expect there, and the primary thread's runner works on a fiber's meanwhile.
//! One that ends without waiting leaves the stack to the next one. One that arrives at a barrier is suspended, and the
//! runner goes on with the next virtual thread. When the runner has no more to run, it arrives at the barrier
//! with all of its virtual threads at once. When all runners have arrived, it continues them in turn.
//!
//! **A virtual thread that was begun stays with its runner**, because compilers keep addresses of
//! thread-local variables across calls. Only virtual threads that nobody has begun are stolen. The one
//! exception is [`VirtualTeam::expand`], when all would otherwise wait for ever.
//!
//! # What makes the sharing sound
//! * Only the primary thread writes [`Job`] and the team's shared part: before the real team starts, and
//!   after it has ended.
//! * Only a [`Runner`]'s own thread touches its cells. Its `ready` queue is also touched by a thread that
//!   expands the team, hence under `lock`.
//! * A [`Fiber`] belongs to the runner in whose lists it is.

use super::fiber::{Fiber, Runner, State};
use super::job::{Expanded, How, Job, Outcome};
use super::sight::Sight;
use super::watchdog;
use crate::boundary::Reason;
use crate::init;
use crate::query;
use crate::task::wait::{self, TaskPastime};
use crate::team::barrier::wait_on;
use crate::team::members::{Printed, Team};
use crate::team::region::Region;
use crate::team::seat::Seat;
use crate::team::suspend::Suspend;
use crate::thread::Thread;
use crate::worksharing::work::WorkPos;
use core::cell::Cell;
use core::ptr::{null, null_mut, NonNull};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicU8, Ordering};
use hetmp_core::float;
use hetmp_core::park::{Flag, Spinner};
use hetmp_core::sys::{self, monotonic_ns};
use hetmp_core::trace::{self, Kind};
use hetmp_sched::virtual_team::{Blocks, Steal};
use hetmp_sched::ways::Way;
use std::collections::VecDeque;
use std::sync::Mutex;

unsafe extern "C" fn nothing(_: *mut libc::c_void) {}

/// A team of virtual threads. It belongs to the thread that opens the regions, which uses it for all of them.
#[derive(Debug)]
pub(crate) struct VirtualTeam {
    pub(super) team: Team,
    pub(super) blocks: Blocks,
    pub(super) runners: Box<[Runner]>,
    pub(super) job: Cell<Job>,
    /// Virtual threads that have ended, added when a runner leaves.
    finished: AtomicU32,
    /// Size of the real team; all runners store the same value.
    real: AtomicU32,
    /// Virtual thread 0, which is kept for the primary thread.
    first: Cell<Option<u32>>,
    /// Signals the number of a region when all its virtual threads have ended.
    done: Flag,
    /// Position of the worksharing constructs when the primary thread's last virtual thread ended.
    end: Cell<WorkPos>,
    pub(super) suspended: AtomicBool,
    /// The code of an [`Expanded`]: the worst so far.
    expanded: AtomicU8,
    /// Longest stretch of the program's code without a switch so far, in nanoseconds.
    pub(super) longest_ns: AtomicU64,
    /// [`How::was_read`] of the current region. Relaxed: written while the watchdog does not watch, see
    /// [`Sight`].
    pub(super) was_read: AtomicBool,
    /// Nanoseconds of each virtual thread. Written by its runner.
    spent: Box<[AtomicU64]>,
    /// Number of stacks made so far.
    pub(super) stacks: Cell<u32>,
    /// The signals that the team's owner blocks; additional threads block the same.
    pub(super) mask: libc::sigset_t,
    /// Tasks were deferred in the last region.
    deferred: Cell<bool>,
    /// State of the watchdog.
    pub(super) sight: Sight,
    /// Fibers that no runner has.
    #[allow(clippy::vec_box, reason = "fibers know their own address")]
    pub(super) orphans: Mutex<Vec<Box<Fiber>>>,
    /// Virtual thread 0, on the stack of the thread that opened the region.
    pub(super) home: Fiber,
}

// SAFETY: the runners share the team by the rules at the head of this module.
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
            was_read: AtomicBool::new(false),
            spent: (0..pieces).map(|_| AtomicU64::new(0)).collect(),
            deferred: Cell::new(false),
            sight: Sight::new(),
            orphans: Mutex::new(Vec::new()),
            home: Fiber::new(None),
        });
        watchdog::add(&team);
        team
    }

    /// The current region.
    pub(super) fn job(&self) -> Job {
        self.job.get()
    }

    /// Does the team have this size?
    pub(super) fn is_for(&self, pieces: u32, runners: u32) -> bool {
        self.job.get().pieces == pieces && self.runners.len() == runners as usize
    }

    /// Prepares a region. Called by the thread that is about to open it, while no other thread is in the
    /// team.
    pub(super) fn prepare(&self, th: &Thread, region: &Region, how: &How) {
        let team = &self.team;
        let s = &team.shared;
        let pieces = self.job.get().pieces;
        let outer = th.team();
        team.resize(pieces);
        s.code.set(region.code);
        s.level.set(outer.level() + 1);
        s.active_level.set(outer.active_level() + 1);
        s.central.set(true);
        s.is_virtual.set(true);
        s.printed.set(Printed {
            calls: how.told,
            answer: region.nthreads,
        });
        if how.told.any() {
            query::printed_begins();
        }
        let start = init::globals().team_icv(th.task().icv(), s.level.get() as usize, None);
        s.icv.set(start.icv);
        s.parent.set(outer);
        s.parent_number.set(th.number());
        team.tasks.begin_region();
        team.singles.restart(0);
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
            // SAFETY: no virtual thread has begun.
            pos: unsafe { team.works.position() },
            number: team.tasks.region_number(),
        });
        self.finished.store(0, Ordering::Relaxed);
        self.suspended.store(false, Ordering::Relaxed);
        self.expanded.store(Expanded::NO, Ordering::Relaxed);
        self.longest_ns.store(0, Ordering::Relaxed);
        self.was_read.store(how.was_read, Ordering::Relaxed);
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
            // Other runners may need the stacks that one runner has kept.
            for r in &*self.runners {
                self.give_away_idle(r);
            }
        }
        float::apart(|| self.blocks.deal(pieces, &how.weights));
        self.first.set(self.blocks.take_first());
        for (i, &pace) in how.paces.iter().enumerate().take(self.runners.len()) {
            if pace > 0.0 {
                float::apart(|| self.blocks.set_pace(i, pace));
            }
        }
    }

    /// The outlined function of the real team: one runner's part of the region.
    ///
    /// # Safety
    /// `team` is a prepared team, and the calling thread is one of the threads that it was prepared for.
    pub(super) unsafe extern "C" fn run(team: *mut libc::c_void) {
        // SAFETY: `parallel.rs` makes a region of this function with the prepared team, which outlives the
        // region.
        let team = unsafe { &*team.cast::<VirtualTeam>() };
        let th = Thread::current();
        th.leave_program(Reason::Switch);
        let index = th.seat().index();
        team.real.store(th.nthreads(), Ordering::Relaxed);
        let real = th.save();
        if let Some(runner) = team.runners.get(index) {
            // The primary thread also runs virtual thread 0: the program may expect certain actions on its
            // initial thread.
            let first = if index == 0 { team.first.get() } else { None };
            // SAFETY: pthread_self has no preconditions.
            let thread = unsafe { libc::pthread_self() };
            runner.thread.store(thread as u64, Ordering::Relaxed);
            let ran = match first {
                Some(piece) if team.job.get().fibers => team.run_at_home(th, runner, piece),
                _ => false,
            };
            if !ran {
                team.work(th, runner, first);
                team.leave(th, runner);
                if index == 0 {
                    team.collect(th);
                }
            }
        }
        th.runner.set(None);
        th.restore(&real);
        th.enter_program(Reason::Switch);
    }

    /// Runs virtual threads until this runner has no more.
    pub(super) fn work(&self, th: &Thread, r: &Runner, mut next: Option<u32>) {
        th.runner.set(Some(NonNull::from(r as &dyn Suspend)));
        let job = self.job.get();
        let few = self.are_few(&job);
        let mut spinner = Spinner::new();
        loop {
            // First fibers that can continue for certain, then virtual threads that nobody has begun, then
            // fibers that may still be waiting.
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
                // The thread that the fiber waits for may need this core.
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
            // Pieces are left that their owner should have run sooner. It may turn out otherwise, so look
            // again.
            spinner.turn_or_rest();
        }
    }

    /// Takes a fiber that can continue for certain.
    pub(super) fn next_ready(&self, r: &Runner) -> Option<*const Fiber> {
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

    /// Takes a virtual thread that nobody has begun. An additional thread, which joined for a certain one,
    /// gets none.
    #[inline]
    pub(super) fn next_piece(&self, r: &Runner, job: &Job, few: bool) -> Option<u32> {
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
        match float::apart(|| self.blocks.steal(index)) {
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
        // Run it on this stack.
        self.enter(th, piece, job);
        r.current.set(null());
        let t0 = self.clock(job);
        r.turn();
        th.enter_program(Reason::Switch);
        // SAFETY: `prepare` took function and data from the region, which compiled code made for every thread
        // of a team.
        unsafe { (job.entry)(job.data) };
        th.leave_program(Reason::Switch);
        r.turn();
        self.account(r, piece, t0);
        self.end(th, r);
    }

    /// Makes the context of virtual thread `piece`, at its start, the thread's own.
    pub(super) fn enter(&self, th: &Thread, piece: u32, job: &Job) {
        let seat = Seat::new(piece);
        let m = self.team.member(seat);
        m.epoch.set(job.epoch);
        th.become_member(&self.team, seat, job.pieces);
        th.ctx.pos.set(job.pos);
        m.implicit.set_group(null());
    }

    /// The virtual thread whose context the thread has now has ended.
    pub(super) fn end(&self, th: &Thread, r: &Runner) {
        let m = th.member();
        // Not while other virtual threads of this runner are suspended: a task could wait here for a lock
        // that one of them holds. The last one to end finds none suspended.
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

    /// The time now in nanoseconds, or 0 if times are not wanted.
    pub(super) fn clock(&self, job: &Job) -> u64 {
        if job.timed {
            monotonic_ns()
        } else {
            0
        }
    }

    /// Adds the time since `t0` to virtual thread `piece` and to its runner.
    pub(super) fn account(&self, r: &Runner, piece: u32, t0: u64) {
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
            float::apart(|| {
                let pace = r.busy_ns.get() as f64 / f64::from(begun.max(1));
                self.blocks.set_pace(r.index as usize, pace);
            });
        }
    }

    /// Notes in the trace what the calling runner has done since `t0`.
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

    /// There are fewer real threads than the blocks were dealt for, so no runner keeps to its block.
    pub(super) fn are_few(&self, job: &Job) -> bool {
        self.real.load(Ordering::Relaxed) < job.runners
    }

    /// Arrives at the barrier with all fibers that wait for it. When all runners have arrived, these fibers
    /// can continue.
    fn meet(&self, th: &Thread, r: &Runner, job: &Job) {
        // SAFETY: only this thread touches the list. The only code of the program that runs below is that of
        // tasks, which meet no barrier.
        let waiting = unsafe { &mut *r.waiting.get() };
        // SAFETY: fibers in a list are alive.
        let saved = unsafe { &*waiting[0] }.saved.get();
        // Tasks that run here belong to one of the waiting virtual threads.
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

    /// `arrived` of the team's `pieces` virtual threads are at barrier number `epoch`.
    pub(super) fn arrive(&self, th: &Thread, epoch: u32, arrived: u32, pieces: u32) {
        let mut pastime = TaskPastime::new(th);
        self.team
            .barrier
            .central_batch(epoch, arrived, pieces, &th.member().idle, &mut pastime);
        if self.team.tasks.active() {
            wait::drain(th, epoch.wrapping_sub(1));
            wait::drained(&self.team);
        }
    }

    /// How the region that has just ended was run.
    pub(super) fn way(&self) -> Way {
        if self.suspended.load(Ordering::Relaxed) {
            Way::Fibers
        } else {
            Way::Virtual
        }
    }

    /// Did virtual threads of that region get real threads of their own?
    pub(super) fn is_expanded(&self) -> bool {
        self.expanded.load(Ordering::Relaxed) != Expanded::NO
    }

    /// Notes that virtual threads get real threads, and why.
    pub(super) fn note_expanded(&self, why: Expanded) {
        self.expanded.fetch_max(why.code(), Ordering::Relaxed);
    }

    /// A runner has nothing more to run.
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

    /// The primary thread's end of the region: waits for all virtual threads, and runs the remaining tasks.
    pub(super) fn collect(&self, th: &Thread) {
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
        // SAFETY: all virtual threads have ended, at this place.
        unsafe { self.team.works.settle(self.end.get()) };
    }

    /// The measurements of the region that has just ended. Called by the primary thread.
    pub(super) fn outcome(&self) -> Outcome {
        let spent = || self.spent.iter().map(|s| s.load(Ordering::Relaxed));
        // Compared with the mean and not with the longest, which may have lost its core for a while.
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
    }
}

/// The signals that the calling thread blocks.
fn thread_mask() -> libc::sigset_t {
    let mut mask = core::mem::MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is live, and all zeros are a valid empty set.
    unsafe {
        libc::pthread_sigmask(libc::SIG_SETMASK, core::ptr::null(), mask.as_mut_ptr());
        mask.assume_init()
    }
}
