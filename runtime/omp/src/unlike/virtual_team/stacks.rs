//! How the runners of a virtual team leave fibers and take them up: the stacks, and the three switches between them.
//!
//! * [`VirtualTeam::resume`]: from the runner's own stack to a fiber, and back when the fiber gives the runner back.
//! * [`VirtualTeam::hand_over`]: from a fiber at a barrier to another fiber.
//! * [`VirtualTeam::ended`]: from a fiber whose virtual thread has ended to another fiber.

use super::exceptions::InFlight;
use super::fiber::{fiber_main, stack_bytes, Fiber, Runner, State};
use super::run::VirtualTeam;
use super::switch::{self, Left, Stack};
use crate::boundary::Reason;
use crate::thread::{SavedContext, Thread};
use core::cell::Cell;
use core::ptr::null;

impl VirtualTeam {
    /// Virtual thread `piece` is to begin on `fiber`, which is in no list.
    pub(super) fn begin_on(&self, fiber: *const Fiber, piece: u32) {
        // SAFETY: in no list, so the calling runner's alone.
        let f = unsafe { &*fiber };
        f.piece.set(piece);
        f.state.set(State::Finished);
        f.in_flight.set(InFlight::NONE);
        // Begun anew each time, with the control words of the thread that begins it.
        f.left
            .set(f.stack.begin(fiber_main, fiber.cast_mut().cast()));
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
    pub(super) fn fiber(&self, r: &Runner) -> Option<*const Fiber> {
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
    pub(super) fn resume(&self, th: &Thread, r: &Runner, fiber: *const Fiber) {
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

    /// Gives the fibers that `r` has no use for to whoever needs them. For its own thread, or the primary
    /// thread while there is no region.
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
