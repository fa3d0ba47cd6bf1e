//! Doacross loops: `ordered(n)` with `depend(source)` and `depend(sink: ...)` (OpenMP 5.1, section
//! 2.19.9.2).
//!
//! The state of such a loop is in `super::posts`.

use crate::across::local as across;
use crate::boundary::Reason;
use crate::thread::Thread;
use crate::tool;
use crate::worksharing::construct::{self, Extras};
use crate::worksharing::kinds::{Clause, Handing, Loop, LoopBounds, Order};
use crate::worksharing::loops;
pub(crate) use crate::worksharing::posts::Announced;
use crate::worksharing::posts::Doacross;
use crate::worksharing::work::Work;
use core::any::Any;
use hetmp_core::park::{rest, Policy, Spinner};
use hetmp_core::sync::{fence, pause, Ordering};
use std::sync::Arc;

/// How many turns a waiting thread spins at first, whatever the waiting policy says, and again each time
/// after it has given its core away. The reason: a loop has very many such waits, and usually the iteration
/// that is waited for ends soon.
const SHORT: u32 = 200;

fn wait_for(th: &Thread, d: &Doacross, at: impl Fn(usize) -> u64) {
    if let Some(posted) = d.posted(&at) {
        if posted() {
            return;
        }
        match d.across {
            Some(number) if !d.thread(&at).is_some_and(across::is_here) => {
                let (slot, iteration) = d.place(&at);
                across::await_post(number, slot, iteration);
            }
            _ => wait_until(th, d, posted),
        }
    }
}

#[inline]
fn wait_in(th: &Thread, d: &Doacross, at: impl Fn(usize) -> u64) {
    wait_for(th, d, &at);
    if tool::on() {
        tool::events::doacross(th, false, (0..d.counts.len()).map(at));
    }
}

#[inline]
fn post_in(th: &Thread, d: &Doacross, at: impl Fn(usize) -> u64) {
    if tool::on() {
        tool::events::doacross(th, true, (0..d.counts.len()).map(&at));
    }
    d.poster.note();
    d.post(&at);
    if let Some(number) = d.across {
        let (slot, iteration) = d.place(at);
        across::post(number, slot, iteration);
    }
}

#[cold]
fn wait_until(th: &Thread, d: &Doacross, done: impl Fn() -> bool) {
    if th.suspend_for_others(&mut || done()) {
        return;
    }
    th.leave_program(Reason::Order);
    let length = || match Policy::oversubscribed() || d.poster.shares_core() {
        true => SHORT / 10,
        false => SHORT,
    };
    let mut left = length();
    let mut spinner = Spinner::new();
    while !done() {
        if left > 0 {
            left -= 1;
            pause();
        } else if d.poster.shares_core() || !spinner.turn() {
            rest();
            left = length();
        }
    }
    th.enter_program(Reason::Order);
}

/// The outermost loop: the one whose iterations are divided among the threads.
fn outermost(clause: Clause, chunk: u64, counts: &[u64]) -> Loop {
    Loop {
        bounds: LoopBounds::unsigned(true, 0, counts.first().copied().unwrap_or(0), 1),
        clause,
        chunk,
        whole: false,
        order: Order::Global,
        key: 0,
    }
}

fn prepare(work: &Work, th: &Thread, l: &Loop, counts: &[u64]) {
    loops::prepare(work, th, th.nthreads(), l);
    // In a team of one thread, or without iterations, no thread waits.
    if th.nthreads() > 1 && !counts.contains(&0) && !counts.is_empty() {
        let across = th.team().is_across();
        let (kind, chunk) = match work.kind.get() {
            // Nodes take chunks as they come.
            Handing::Ours if across => (Handing::Guided, 0),
            kind => (kind, work.chunk.get()),
        };
        let d = Doacross::new(counts, kind, chunk, u64::from(th.nthreads()));
        let d = if across { d.cross(across::number()) } else { d };
        // SAFETY: only this thread touches the node before it is published.
        unsafe { *work.doacross.get() = Some(Box::new(d)) };
        th.team().works.note_heavy();
    }
}

/// Enters a doacross loop and takes the thread's first chunk. `counts`: the number of iterations of each
/// nested loop, the outermost first.
pub fn start(th: &Thread, clause: Clause, chunk: u64, counts: &[u64]) -> Option<(u64, u64)> {
    let l = outermost(clause, chunk, counts);
    let (work, _) = construct::enter(th, |w| prepare(w, th, &l, counts));
    construct::tell(th, work);
    loops::next(th)
}

/// [`start`] for a loop that has further clauses.
///
/// # Safety
/// `extras.memory` is null, or the address of a word of compiled code that holds a size and may be
/// overwritten.
pub unsafe fn start_with(
    th: &Thread,
    clause: Clause,
    chunk: u64,
    counts: &[u64],
    extras: &Extras<'_>,
) -> Option<(u64, u64)> {
    let l = outermost(clause, chunk, counts);
    // SAFETY: `extras.memory` is as `enter_with` demands: this function's contract.
    let work = unsafe { construct::enter_with(th, extras, |w| prepare(w, th, &l, counts)) };
    construct::tell(th, work);
    loops::next(th)
}

fn current(th: &Thread) -> Option<&Doacross> {
    let work = construct::current(th)?;
    // SAFETY: the first thread wrote the field before it published the node, and no thread has written it
    // since.
    unsafe { (*work.doacross.get()).as_deref() }
}

/// Announces a doacross loop whose nested loops have `counts` iterations, the outermost first. All threads of
/// the team call this function.
pub fn announce(th: &Thread, counts: &[u64]) -> Announced {
    if th.nthreads() == 1 || counts.is_empty() || counts.contains(&0) {
        return Announced { state: None };
    }
    // It is not known yet which thread gets which iteration, so each iteration gets a slot of its own.
    let make = || -> Arc<dyn Any + Send + Sync> {
        let d = Doacross::new(counts, Handing::Guided, 0, u64::from(th.nthreads()));
        if th.team().is_across() {
            return Arc::new(d.cross(across::number()));
        }
        Arc::new(d)
    };
    Announced {
        state: construct::share(th, make).downcast().ok(),
    }
}

impl Announced {
    /// Posts an iteration, as the function [`post`] does.
    pub fn post(&self, th: &Thread, at: impl Fn(usize) -> u64) {
        match &self.state {
            Some(d) => post_in(th, d, at),
            None => fence(Ordering::SeqCst),
        }
    }

    /// Waits for an iteration, as the function [`wait`] does. Returns at once if the loop has no such
    /// iteration.
    pub fn wait(&self, th: &Thread, at: impl Fn(usize) -> u64) {
        match &self.state {
            Some(d) => {
                if (0..d.counts.len()).all(|i| at(i) < d.counts[i]) {
                    wait_in(th, d, at);
                }
            }
            None => fence(Ordering::SeqCst),
        }
    }
}

/// Posts the iteration with the numbers `at(0)`, `at(1)` and so on, one for each nested loop.
pub fn post(th: &Thread, at: impl Fn(usize) -> u64) {
    match current(th) {
        Some(d) => post_in(th, d, at),
        None => fence(Ordering::SeqCst),
    }
}

/// Waits until the iteration with the numbers `at(0)`, `at(1)` and so on has posted.
pub fn wait(th: &Thread, at: impl Fn(usize) -> u64) {
    match current(th) {
        Some(d) => wait_in(th, d, at),
        None => fence(Ordering::SeqCst),
    }
}
