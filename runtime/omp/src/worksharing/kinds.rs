//! What a loop is: its bounds, what its clauses say, and how its iterations are handed out.

use core::fmt::Debug;
pub use hetmp_sched::ranges::LoopBounds;
use hetmp_sched::ranges::Range;

/// How the iterations of a construct are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handing {
    /// By the thread's number.
    Static,
    /// From a shared cursor, in chunks of one size.
    Dynamic,
    /// From a shared cursor, in chunks that shrink.
    Guided,
    /// By a schedule that knows of nodes.
    Ours,
    /// One piece a thread, by the settled plan of a schedule that knows of nodes.
    Fixed,
    /// Numbers of sections, one by one: not a loop's iterations.
    Sections,
}

/// What the `schedule` clause says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// `static`; also `auto`.
    Static,
    /// `dynamic`.
    Dynamic,
    /// `guided`.
    Guided,
    /// `simd: guided`: chunks are multiples of the chunk size.
    GuidedWhole,
    /// `runtime`: what the internal control variable says.
    Runtime,
}

/// What binds the iterations of a loop to an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    None,
    /// Chunks of a thread come in increasing order: `monotonic`.
    Monotonic,
    /// Chunks come in increasing order, whoever takes them: iterations wait for earlier ones (doacross). Were an
    /// earlier chunk left for a thread that is inside of a later one, that thread would wait for itself.
    Global,
    /// The loop has an `ordered` clause.
    Ordered,
}

/// A worksharing loop, as all threads of the team describe it.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// Its bounds.
    pub bounds: LoopBounds,
    /// Its schedule.
    pub clause: Clause,
    /// The chunk size in iterations; 0 where none was given. Of no meaning for [`Clause::Runtime`].
    pub chunk: u64,
    /// Its order.
    pub order: Order,
    /// An address that tells this loop of the program from others, or 0.
    pub key: usize,
}

/// One execution of a loop under a schedule that knows of nodes.
pub(crate) trait NodeSchedule: Debug + Send + Sync {
    /// The next chunk of normalised iterations for the thread in `seat`, which is the calling thread. The call
    /// waits where the schedule says so, at most until `gone` says that the loop was cancelled.
    fn next(&self, seat: usize, gone: &dyn Fn() -> bool) -> Next;

    /// The number that tells this loop of the program from others, or 0.
    fn key(&self) -> usize;
}

/// What a thread gets from a schedule that knows of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A chunk.
    Range(Range),
    /// It is done with the loop, and will not ask again.
    Done,
    /// Nothing is left for the thread, and it is the last one of the team. The loop took this number of nanoseconds
    /// where a report wants to know; else 0.
    Last(u64),
}
