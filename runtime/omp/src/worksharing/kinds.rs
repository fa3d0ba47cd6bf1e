//! The description of a loop: its bounds, its clauses, and the way in which its iterations are handed out.
//!
//! # A schedule is three things
//! * [`SchedKind`] is a name and no more: the word in a `schedule` clause, the number of `omp_set_schedule`, the
//!   kind in the control variable that every task copies.
//! * [`Kind`](hetmp_sched::schedule::Kind) is a schedule with its parameters (ratios, percentages), as
//!   `OMP_SCHEDULE` gives it and as `hetmp-sched` runs it. It owns memory, so tasks cannot copy it.
//! * [`Handing`] is the code that hands out one construct's pieces. It also stands for what no schedule is called:
//!   sections, and the settled pieces of a loop that need not be measured again.
//!
//! When a loop begins, the first thread goes down this list once. After that each piece costs a match on
//! [`Handing`].

pub use crate::icv::SchedKind;
use crate::team::seat::Seat;
use core::fmt::Debug;
pub use hetmp_sched::ranges::LoopBounds;
use hetmp_sched::ranges::Range;

/// How the iterations of a construct are handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handing {
    /// Each thread computes its iterations from its number.
    Static,
    /// From a counter that all threads share, in chunks of one size.
    Dynamic,
    /// From a counter that all threads share, in chunks that shrink.
    Guided,
    /// By a schedule that knows of nodes ([`NodeSchedule`]).
    Ours,
    /// One piece for each thread, by the settled plan of a schedule that knows of nodes.
    Fixed,
    /// Sections, one by one, instead of iterations of a loop.
    Sections,
}

/// The word in a loop's `schedule` clause. `None` is `runtime`: the internal control variable decides.
pub type Clause = Option<SchedKind>;

/// `schedule(runtime)`.
pub const RUNTIME: Clause = None;

/// The order that the chunks of a loop must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Order {
    /// No order.
    None,
    /// No order was promised, but under the runtime that the program was compiled for (libgomp) the chunks of each
    /// thread ascend, and programs rely on it. `nonmonotonic:` in `OMP_SCHEDULE` gives it up.
    Customary,
    /// The chunks of each thread come in ascending order: `monotonic`.
    Monotonic,
    /// Chunks are handed out in ascending order, whichever thread takes them. A doacross loop needs this,
    /// because its iterations wait for earlier ones: if an earlier chunk were left for a thread that is
    /// inside a later chunk, this thread would wait for itself.
    Global,
    /// The loop has an `ordered` clause.
    Ordered,
}

/// A worksharing loop. All threads of the team describe it in the same way.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Loop {
    /// The loop's bounds.
    pub bounds: LoopBounds,
    /// The loop's schedule.
    pub clause: Clause,
    /// The chunk size in iterations; 0 if the program gave none. [`RUNTIME`] does not use it.
    pub chunk: u64,
    /// `simd: guided`: the chunks are multiples of the chunk size.
    pub whole: bool,
    /// The loop's order.
    pub order: Order,
    /// An address that distinguishes this loop from the program's other loops, or 0.
    pub key: usize,
}

/// One execution of a loop by a schedule that knows of nodes.
pub(crate) trait NodeSchedule: Debug + Send + Sync {
    /// The next chunk for the thread in `seat`, which is the calling thread, in normalised iterations. If the
    /// schedule has to wait, this call waits.
    fn next(&self, seat: Seat) -> Next;

    /// An address that distinguishes this loop from the program's other loops, or 0.
    fn key(&self) -> usize;
}

/// The answer of a schedule that knows of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A chunk.
    Range(Range),
    /// The thread has finished the loop and will not ask again.
    Done,
    /// The thread has finished the loop, and is the last one of the team to do so. If a report needs it, the
    /// number is the loop's time in nanoseconds; otherwise 0.
    Last(u64),
}
