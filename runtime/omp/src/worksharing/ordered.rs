//! The `ordered` construct in worksharing loops (OpenMP 5.1, section 2.19.9).
//!
//! The node holds the number of the iteration whose turn it is. A thread that holds a chunk has
//! its turn when that is the chunk's first iteration; it passes the turn on by storing the chunk's
//! end. Chunks partition the iterations, so this works for every schedule, a thread without
//! iterations needs not take part, and one store hands the turn over.
//!
//! A thread passes the turn on when it asks for its next chunk, or, if its chunk is a single
//! iteration, when its ordered region ends: there cannot be a second one in the iteration.
//!
//! # Waiting
//! A thread that waits for its turn has left the program ([`Reason::Order`]): the clock of an emulated slow core stands.
//!
//! Spinning threads look at the turn itself. For sleeping threads this file has code of its own, because no word of
//! `hetmp-core` fits. A `Lock` wakes any one of its waiters, but each turn is one certain thread's. A `Flag` has 30 bits;
//! a turn is the 64-bit number of an iteration, and the kernel sleeps on 32 bits. So threads sleep at one of a few
//! places. Sleeper and passer both compute the place from the number of the iteration, so that few others are woken
//! along.
//!
//! Without care a sleeper could miss the store of its turn. The sleeper counts itself and then looks at the turn; the
//! passer stores the turn and then looks at the count, both sequentially consistent. So at least one of the two sees
//! what the other did.

use crate::boundary::Reason;
use crate::thread::Thread;
use crate::worksharing::construct::{self, Extras};
use crate::worksharing::kinds::Loop;
use crate::worksharing::loops;
use crate::worksharing::work::{Parked, Work, PARKED};
use hetmp_core::park::Spinner;
use hetmp_core::sync::Ordering;
use hetmp_core::sys;
use hetmp_sched::ranges::Range;

const NOTHING: Range = Range { start: 0, end: 0 };

/// Enters a loop with an `ordered` clause and takes the thread's first chunk.
pub fn start(th: &Thread, l: &Loop) -> Option<(u64, u64)> {
    let (work, _) = construct::enter(th, |w| loops::prepare(w, th, th.nthreads(), l));
    take(th, work)
}

/// [`start`] for a loop that has further clauses.
///
/// # Safety
/// `extras.memory` is null, or leads to a word that compiled code reads and writes: a size, then an address.
pub unsafe fn start_with(th: &Thread, l: &Loop, extras: &Extras<'_>) -> Option<(u64, u64)> {
    // SAFETY: this function's contract on `extras.memory`, which `abi` keeps with compiled code's pointer.
    let work =
        unsafe { construct::enter_with(th, extras, |w| loops::prepare(w, th, th.nthreads(), l)) };
    take(th, work)
}

/// Ends the thread's chunk in its turn, and takes the next one.
pub fn next(th: &Thread) -> Option<(u64, u64)> {
    let work = construct::current(th)?;
    Some(work.bounds.get().to_user(next_range(th, work)?))
}

/// [`next`], in normalised iterations.
pub(crate) fn next_range(th: &Thread, work: &Work) -> Option<Range> {
    let chunk = th.ctx.cursor.get().chunk;
    if !chunk.is_empty() {
        wait(th, work, chunk.start);
        pass(th, work, chunk.end);
    }
    take_range(th, work)
}

fn take(th: &Thread, work: &Work) -> Option<(u64, u64)> {
    Some(work.bounds.get().to_user(take_range(th, work)?))
}

fn take_range(th: &Thread, work: &Work) -> Option<Range> {
    let range = loops::take_range(th, work);
    let mut cursor = th.ctx.cursor.get();
    cursor.chunk = range.unwrap_or(NOTHING);
    th.ctx.cursor.set(cursor);
    range
}

/// Begins an ordered region: waits for the turn of the thread's chunk.
#[inline]
pub fn enter(th: &Thread) {
    let Some(work) = construct::current(th) else {
        // Outside any loop there is nothing to wait for.
        return;
    };
    let chunk = th.ctx.cursor.get().chunk;
    if work.ordered.get() && !chunk.is_empty() {
        wait(th, work, chunk.start);
    }
}

/// Ends an ordered region.
#[inline]
pub fn leave(th: &Thread) {
    let Some(work) = construct::current(th) else {
        return;
    };
    let mut cursor = th.ctx.cursor.get();
    if work.ordered.get() && cursor.chunk.len() == 1 {
        pass(th, work, cursor.chunk.end);
        cursor.chunk = NOTHING;
        th.ctx.cursor.set(cursor);
    }
}

/// Waits until it is the turn of iteration `k`.
#[inline]
fn wait(th: &Thread, work: &Work, k: u64) {
    // Acquire: what was done in earlier turns happened before this one.
    if work.turn.load(Ordering::Acquire) != k {
        wait_long(th, work, k);
    }
}

#[cold]
#[inline(never)]
fn wait_long(th: &Thread, work: &Work, k: u64) {
    let mine = || work.turn.load(Ordering::Acquire) == k;
    if th.suspend_for_others(&mut || mine()) {
        return;
    }
    th.leave_program(Reason::Order);
    let mut spinner = Spinner::new();
    while !mine() {
        if !spinner.turn() {
            sleep(place(th, k), || work.turn.load(Ordering::SeqCst) == k);
            break;
        }
    }
    th.enter_program(Reason::Order);
}

fn sleep(at: &Parked, mine: impl Fn() -> bool) {
    at.sleepers.fetch_add(1, Ordering::SeqCst);
    loop {
        let wakes = at.wakes.load(Ordering::SeqCst);
        if mine() {
            break;
        }
        sys::futex_wait(&at.wakes, wakes);
    }
    at.sleepers.fetch_sub(1, Ordering::Relaxed);
}

/// Makes it the turn of iteration `k`.
#[inline]
fn pass(th: &Thread, work: &Work, k: u64) {
    work.turn.swap(k, Ordering::SeqCst);
    let at = place(th, k);
    if at.sleepers.load(Ordering::SeqCst) != 0 {
        wake(at);
    }
}

#[cold]
fn wake(at: &Parked) {
    at.wakes.fetch_add(1, Ordering::SeqCst);
    sys::futex_wake(at.wakes.as_ptr(), i32::MAX);
}

/// Where threads sleep that wait for the turn of iteration `k`.
#[inline]
fn place(th: &Thread, k: u64) -> &Parked {
    // Fibonacci hashing: chunks begin at multiples of anything.
    let hash = k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - PARKED.trailing_zeros());
    &th.team().works.parked[hash as usize]
}
