//! Chunks of a loop, for compilers that want the last value of the loop variable in a chunk instead of the
//! value behind it, and that ask whether a chunk has the loop's last iteration.

use crate::thread::Thread;
use crate::worksharing::construct;
use crate::worksharing::kinds::Loop;
use crate::worksharing::loops;
use crate::worksharing::ordered;
use hetmp_sched::plain::{static_chunk, static_piece};
pub use hetmp_sched::ranges::{LoopBounds, Range};

/// A chunk, in values of the loop variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The first value.
    pub first: u64,
    /// The last value.
    pub last: u64,
    /// The piece contains the loop's last iteration.
    pub is_last: bool,
}

impl Piece {
    /// The piece of the iterations `range`, which must not be empty.
    #[inline]
    #[must_use]
    pub fn of(bounds: &LoopBounds, range: Range) -> Piece {
        Piece {
            first: bounds.value(range.start),
            last: bounds.value(range.end - 1),
            is_last: range.end == bounds.trip_count(),
        }
    }
}

/// Enters a loop without taking a chunk.
pub fn enter(th: &Thread, l: &Loop) {
    let (work, _) = construct::enter(th, |w| loops::prepare(w, th, th.nthreads(), l));
    construct::tell(th, work);
}

/// The calling thread's next chunk of its current loop.
#[inline]
pub fn next(th: &Thread) -> Option<Piece> {
    let work = construct::current(th)?;
    let range = if work.ordered.get() {
        ordered::next_range(th, work)
    } else {
        loops::take_range(th, work)
    }?;
    Some(Piece::of(&work.bounds.get(), range))
}

/// The step of the thread's current loop, in two's complement; 0 outside of loops.
#[inline]
#[must_use]
pub fn step(th: &Thread) -> u64 {
    construct::current(th).map_or(0, |w| w.bounds.get().incr())
}

/// The iterations that `schedule(static)` gives to member `me` of `team`, if the loop has `n` iterations.
#[inline]
#[must_use]
pub fn plain(n: u64, team: u64, me: u64) -> Range {
    static_piece(n, team, me)
}

/// The first chunk that `schedule(static, chunk)` gives to member `me` of `team`; `None` if the member gets
/// none.
#[inline]
#[must_use]
pub fn first_chunk(n: u64, chunk: u64, team: u64, me: u64) -> Option<Range> {
    static_chunk(n, chunk, team, me, 0)
}
