//! How the runners of a virtual team leave fibers and return to them: the stacks, and the switches
//! between them.
//!
//! * [`VirtualTeam::resume`]: from the runner to a fiber, and back when the fiber gives the runner back.
//! * [`VirtualTeam::run_at_home`]: from virtual thread 0, which is on the primary thread's own stack, to a fiber's
//!   stack.
//! * [`VirtualTeam::hand_over`]: from a fiber at a barrier to another fiber.
//! * [`VirtualTeam::ended`]: from a fiber whose virtual thread has ended to another fiber.

use super::exceptions::InFlight;
use super::fiber::{fiber_main, give_back, runner_main, stack_bytes, Fiber, Runner, State};
use super::run::VirtualTeam;
use super::switch::{self, Stack};
use crate::boundary::Reason;
use crate::team::suspend::Suspend;
use crate::thread::Thread;
use core::ptr::{null, NonNull};

impl VirtualTeam {
    /// Lets virtual thread `piece` begin on `fiber`, which is in no list.
    pub(super) fn begin_on(&self, fiber: *const Fiber, piece: u32) {
        // SAFETY: the fiber is in no list, so only the calling runner has it.
        let f = unsafe { &*fiber };
        f.piece.set(piece);
        f.state.set(State::Finished);
        f.in_flight.set(InFlight::NONE);
        // Prepared anew each time, with the floating-point control words of the thread that begins it.
        if let Some(stack) = &f.stack {
            f.left.set(stack.begin(fiber_main, fiber.cast_mut().cast()));
        }
    }

    /// Makes a stack for each virtual thread. Done before the region begins, because a missing stack could
    /// not be provided later. False: there is no memory for them.
    pub(super) fn reserve_stacks(&self) -> bool {
        while self.stacks.get() < self.job.get().pieces {
            let Some(stack) = Stack::new(stack_bytes(), self.stacks.get()) else {
                // Give the existing stacks back, since real threads will need the memory for theirs.
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
            let fiber = Box::new(Fiber::new(Some(stack)));
            fiber.team.set(self);
            if let Ok(mut orphans) = self.orphans.lock() {
                orphans.push(fiber);
            }
        }
        true
    }

    /// A fiber for a virtual thread: one of this runner's, or one that no runner has. There is always one:
    /// there are as many fibers as virtual threads, and a runner keeps no idle fibers unless it runs alone.
    /// (If there were none, the virtual thread would begin on the runner's own stack.)
    pub(super) fn fiber(&self, r: &Runner) -> Option<*const Fiber> {
        // SAFETY: only this thread touches the list.
        let idle = unsafe { &mut *r.idle.get() };
        let fiber = match idle.pop() {
            Some(fiber) => fiber,
            None => self.orphans.lock().ok()?.pop()?,
        };
        Some(Box::into_raw(fiber))
    }

    /// Gives back a fiber that [`VirtualTeam::fiber`] gave or that a virtual thread has left. Nothing
    /// continues on it.
    fn put_away(&self, r: &Runner, fiber: *const Fiber) {
        // SAFETY: `fiber` made the pointer by `Box::into_raw`, and the fiber is in no list.
        let fiber = unsafe { Box::from_raw(fiber.cast_mut()) };
        if self.job.get().alone && r.index == 0 {
            // SAFETY: only this thread touches the list of idle fibers.
            unsafe { (*r.idle.get()).push(fiber) };
        } else if let Ok(mut orphans) = self.orphans.lock() {
            orphans.push(fiber);
        }
    }

    /// The running `fiber` waits at a barrier. If its runner has another fiber to run, switches to it
    /// directly, and not by way of the runner's own stack. (A processor predicts returns from the calls
    /// before them. After a change of stacks its predictions for all pending returns are wrong, unless both
    /// stacks were reached by the same calls.) Returns true when `fiber` continues. Returns false, with
    /// nothing done, if there is no other fiber.
    pub(super) fn hand_over(&self, th: &Thread, r: &Runner, fiber: &Fiber) -> bool {
        let next = match self.next_ready(r) {
            Some(next) => next,
            None => {
                let job = self.job.get();
                let Some(piece) = self.next_piece(r, &job, self.are_few(&job)) else {
                    return false;
                };
                let Some(next) = self.fiber(r) else {
                    // The runner will begin this virtual thread on its own stack.
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
        // SAFETY: `go_on` made `next` the fiber to run, and no other thread can continue it. `fiber` is in a
        // list, and is continued by the thread that takes it out.
        unsafe { switch::switch(fiber.left.as_ptr(), (*next).left.get()) };
        true
    }

    /// The first action of a fiber that continues: puts away the fiber from which the runner came, if a
    /// virtual thread has ended there.
    pub(super) fn arrived(&self, r: &Runner) {
        let behind = r.left_behind.replace(null());
        if !behind.is_null() {
            self.put_away(r, behind);
        }
    }

    /// The virtual thread on `fiber` has ended. If another fiber of the runner can continue, switches to it
    /// and does not return. Returns true if another virtual thread begins on `fiber`. Returns false, with
    /// nothing done, if there is nothing more to run.
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
        // The fiber that continues puts this one away. If this one were put away now, another runner might
        // begin a virtual thread on it at once.
        r.left_behind.set(fiber);
        // SAFETY: `go_on` made `next` the fiber to run, and no other thread can continue it. Nothing
        // continues on this fiber's stack.
        unsafe { switch::switch(fiber.left.as_ptr(), (*next).left.get()) };
        unreachable!("a fiber that was put away goes on")
    }

    /// Makes `next` the runner's current fiber, just before the switch to it.
    fn go_on(&self, th: &Thread, r: &Runner, next: *const Fiber) {
        // SAFETY: the fiber is in no list, so only this runner has it; fibers are freed only with the team.
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

    /// Runs a fiber until it gives control back to the runner.
    pub(super) fn resume(&self, th: &Thread, r: &Runner, fiber: *const Fiber) {
        // SAFETY: the fiber is in no list, so only this runner has it; fibers are freed only with the team.
        let f = unsafe { &*fiber };
        let outside = InFlight::take();
        self.go_on(th, r, fiber);
        // SAFETY: the fiber's stack was left by `suspend`, by its end, or by its making, and no other thread
        // can continue it.
        unsafe { switch::switch(r.own.as_ptr(), f.left.get()) };
        self.is_back(th, r);
        outside.put();
    }

    /// A fiber has given the runner back.
    pub(super) fn is_back(&self, th: &Thread, r: &Runner) {
        th.leave_program(Reason::Switch);
        r.turn();
        // Fibers may have handed over to each other meanwhile: this is the last of them.
        let fiber = r.current.replace(null());
        // SAFETY: the fiber has just run on this thread; fibers are freed only with the team.
        let f = unsafe { &*fiber };
        self.account(r, f.piece.get(), r.since.get());
        match f.state.get() {
            State::Finished => {
                self.end(th, r);
                if f.stack.is_some() {
                    self.put_away(r, fiber);
                }
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
    }

    /// Runs virtual thread `piece` as a fiber on the calling thread's own stack, and all that is left of this thread's
    /// part of the region on another fiber's. So what a program does as its primary thread finds the room that the
    /// primary thread has, which a fiber, whose stack is a worker's, may lack. Returns at the end of the region; false:
    /// there is no fiber, and nothing has happened.
    #[inline(never)]
    pub(super) fn run_at_home(&self, th: &Thread, r: &Runner, piece: u32) -> bool {
        let Some(lender) = self.fiber(r) else {
            return false;
        };
        // SAFETY: the fiber is in no list, so only this runner has it; fibers are freed only with the team.
        let Some(stack) = (unsafe { &(*lender).stack }) else {
            unreachable!("only `home` has no stack, and it is in no list of idle fibers")
        };
        let this = core::ptr::from_ref(self).cast_mut().cast();
        r.own.set(stack.begin(runner_main, this));
        let outside = InFlight::take();
        let home = &self.home;
        home.team.set(self);
        home.piece.set(piece);
        home.state.set(State::Finished);
        r.begun.set(r.begun.get() + 1);
        th.runner.set(Some(NonNull::from(r as &dyn Suspend)));
        self.go_on(th, r, home);
        let job = self.job.get();
        // SAFETY: `prepare` took function and data from the region, which compiled code made for every thread of a
        // team.
        unsafe { (job.entry)(job.data) };
        // An additional thread may have come this far, in place of the one that began. The latter returns here when
        // `runner_main` has ended.
        home.state.set(State::Finished);
        give_back(home);
        outside.put();
        self.put_away(r, lender);
        true
    }

    /// Gives away the idle fibers of `r`, for other runners. Called by the runner's own thread, or by the
    /// primary thread while there is no region.
    pub(super) fn give_away_idle(&self, r: &Runner) {
        // SAFETY: the caller is the only thread that touches the list.
        let idle = unsafe { &mut *r.idle.get() };
        if !idle.is_empty() {
            if let Ok(mut orphans) = self.orphans.lock() {
                orphans.append(idle);
            }
        }
    }
}
