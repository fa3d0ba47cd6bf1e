//! The control block at the start of every segment: what PEs tell each other outside of the program's own memory.
//!
//! Everything in it is atomic, and zero is its first state: a segment is a new file.

use core::sync::atomic::{AtomicU32, AtomicU64};
use hetmp_core::sync::CacheLine;

/// Words of a set of CPUs.
pub(crate) const CPU_WORDS: usize = 16;

/// Rounds of a dissemination barrier: enough for the most PEs of a job.
pub(crate) const ROUNDS: usize = 20;

/// What peers know of a PE.
#[repr(C)]
pub(crate) struct Control {
    /// CPUs that this PE may use, written before the first fence of the job.
    pub(crate) cpus: [AtomicU64; CPU_WORDS],
    /// Sleeping and waking of this PE: see [`crate::wait`].
    pub(crate) bell: CacheLine<Bell>,
    /// Barriers of the world that this PE has begun; nobody else looks.
    pub(crate) barriers: CacheLine<AtomicU64>,
    /// By round: the last barrier that the peer of that round has told.
    pub(crate) rounds: [CacheLine<AtomicU64>; ROUNDS],
}

/// A PE that waits for its peers may sleep on this.
///
/// # Memory ordering
/// A waiter counts itself in `sleepers`, then looks at what it waits for, then sleeps on `rings`; a peer
/// changes that, then looks at `sleepers`; sequentially consistent fences lie between on both sides. One of
/// the two sees the other.
#[repr(C)]
pub(crate) struct Bell {
    pub(crate) rings: AtomicU32,
    pub(crate) sleepers: AtomicU32,
}
