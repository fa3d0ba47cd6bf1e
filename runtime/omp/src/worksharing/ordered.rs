//! The `ordered` construct in worksharing loops (OpenMP 5.1, section 2.19.9).
//!
//! The construct's node holds the number of the iteration whose turn it is. A thread with a chunk has its
//! turn when this number is the chunk's first iteration. The thread passes the turn on by storing the number
//! behind the chunk's last iteration. This works with every schedule, because chunks do not overlap and leave
//! no gaps. A thread without iterations takes no part, and passing the turn on costs one store.
//!
//! A thread passes the turn on when it asks for its next chunk. If its chunk is a single iteration, the
//! thread does so already at the end of its ordered region, because an iteration has at most one such region.
//!
//! # Across nodes
//! If some of the team's threads are in other processes, the origin keeps the turn, and threads wait for it and pass it
//! on by messages. The node's word then holds the loop's number, with all bits inverted: so it is never the number of
//! an iteration, and a thread that looks at the word finds that it has to wait.
//!
//! # Waiting
//! A thread that waits for its turn has left the program (`Reason::Order`). If it emulates a slow core, its
//! clock stands meanwhile.
//!
//! A spinning thread looks at the turn itself. A sleeping thread lies on a [`LocalBell`]. (A `Lock` would wake
//! any one of its waiters, but each turn belongs to one certain thread; and a `Flag` has 30 bits, but a turn is
//! the 64-bit number of an iteration.) Each team has a few bells. The sleeping thread and the thread that passes
//! the turn on both compute the bell from the iteration's number, so few other threads are woken in vain.
//!
//! The turn is passed on by a swap, which is a fence already. So the bell is rung without another one: a second
//! fence would double what the passing costs.

use crate::across::local as across;
use crate::boundary::Reason;
use crate::thread::Thread;
use crate::tool::interface::Mutex;
use crate::tool::{self, mutex};
use crate::worksharing::construct::{self, Extras};
use crate::worksharing::kinds::Loop;
use crate::worksharing::loops;
use crate::worksharing::work::{Work, BELLS};
use hetmp_core::bell::LocalBell;
use hetmp_core::park::Spinner;
use hetmp_core::sync::Ordering;
use hetmp_sched::ranges::Range;

const NOTHING: Range = Range { start: 0, end: 0 };

/// Enters a loop with an `ordered` clause and takes the thread's first chunk.
pub fn start(th: &Thread, l: &Loop) -> Option<(u64, u64)> {
    let (work, _) = construct::enter(th, |w| loops::prepare(w, th, th.nthreads(), l));
    take(th, construct::tell(th, work))
}

/// [`start`] for a loop that has further clauses.
///
/// # Safety
/// `extras.memory` is null, or the address of a word of compiled code that holds a size and may be
/// overwritten.
pub unsafe fn start_with(th: &Thread, l: &Loop, extras: &Extras<'_>) -> Option<(u64, u64)> {
    // SAFETY: `extras.memory` is as `construct::enter_with` demands: this function's contract.
    let work =
        unsafe { construct::enter_with(th, extras, |w| loops::prepare(w, th, th.nthreads(), l)) };
    take(th, construct::tell(th, work))
}

/// Waits for the turn of the thread's chunk if needed, passes the turn on, and takes the next chunk.
pub fn next(th: &Thread) -> Option<(u64, u64)> {
    let work = construct::current(th)?;
    Some(work.bounds.get().to_user(next_range(th, work)?))
}

/// The same as [`next`], in normalised iterations.
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
        // Outside of any loop a thread waits for nothing.
        if tool::on() {
            mutex::acquires(Mutex::Ordered, outside(th), || {});
        }
        return;
    };
    let chunk = th.ctx.cursor.get().chunk;
    if work.ordered.get() && !chunk.is_empty() {
        if tool::on() {
            return mutex::acquires(Mutex::Ordered, id(work), || wait(th, work, chunk.start));
        }
        wait(th, work, chunk.start);
    }
}

/// Ends an ordered region.
#[inline]
pub fn leave(th: &Thread) {
    let Some(work) = construct::current(th) else {
        if tool::on() {
            mutex::released(Mutex::Ordered, outside(th));
        }
        return;
    };
    if tool::on() && work.ordered.get() {
        mutex::released(Mutex::Ordered, id(work));
    }
    let mut cursor = th.ctx.cursor.get();
    if work.ordered.get() && cursor.chunk.len() == 1 {
        pass(th, work, cursor.chunk.end);
        cursor.chunk = NOTHING;
        th.ctx.cursor.set(cursor);
    }
}

/// By what a tool knows the turns of a loop.
fn id(work: &Work) -> usize {
    core::ptr::from_ref(work).addr()
}

/// By what a tool knows `ordered` outside of any loop.
fn outside(th: &Thread) -> usize {
    core::ptr::from_ref(th.team()).addr()
}

/// Waits until it is the turn of iteration `k`.
#[inline]
fn wait(th: &Thread, work: &Work, k: u64) {
    // Acquire: everything that threads did in earlier turns happened before this turn.
    if work.turn.load(Ordering::Acquire) != k {
        wait_long(th, work, k);
    }
}

#[cold]
#[inline(never)]
fn wait_long(th: &Thread, work: &Work, k: u64) {
    if th.team().is_across() {
        th.leave_program(Reason::Order);
        across::wait_for_turn(!work.turn.load(Ordering::Relaxed), k);
        th.enter_program(Reason::Order);
        return;
    }
    let mine = || work.turn.load(Ordering::Acquire) == k;
    if th.suspend_for_others(&mut || mine()) {
        return;
    }
    th.leave_program(Reason::Order);
    let mut spinner = Spinner::new();
    while !mine() {
        if !spinner.turn() {
            bell(th, k).sleep_until(&mut || mine());
            break;
        }
    }
    th.enter_program(Reason::Order);
}

/// Makes it the turn of iteration `k`.
#[inline]
fn pass(th: &Thread, work: &Work, k: u64) {
    if th.team().is_across() {
        return across::pass_turn(!work.turn.load(Ordering::Relaxed), k);
    }
    work.turn.swap(k, Ordering::SeqCst);
    bell(th, k).ring_after_swap();
}

/// The bell of the threads that wait for the turn of iteration `k`.
#[inline]
fn bell(th: &Thread, k: u64) -> &LocalBell {
    // Fibonacci hashing: it spreads the numbers well even if all chunks begin at multiples of the same
    // number.
    let hash = k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - BELLS.trailing_zeros());
    &th.team().works.bells[hash as usize]
}
