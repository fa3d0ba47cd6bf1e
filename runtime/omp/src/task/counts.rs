//! How many children of a task are complete and released, and when the task's record may be freed.
//!
//! A child holds a pointer to its parent. So a record stays until its task is complete *and* the records of
//! all its children are released. One word counts both. A child without children of its own, which is
//! complete and released at once, then costs one atomic operation.
//!
//! # Memory ordering
//! All counting acquires and releases. The thread that counts last, and frees the record, comes after
//! everything that others did with it. A thread that sees all children complete sees what they wrote. A
//! waiter's mark and a child's completion meet in the same word, so that one of them sees the other.

use hetmp_core::sync::{AtomicU64, Ordering};

/// One completed child, in the high half.
const JOINED: u64 = 1 << 32;
/// A thread waits for the children: the top bit.
const WAITING: u64 = 1 << 63;
/// Low half of a complete task whose children are all released.
const DEAD: u32 = 1 << 31;

/// Completed children (bits 32 to 62), released children (bits 0 to 30), and whether a thread waits (bit 63).
///
/// The number of children made is kept by the thread that runs the task (`Task::spawned`), and stays below
/// 2^31.
#[derive(Debug)]
pub(crate) struct Counts(AtomicU64);

/// What counting a child found in the parent's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// A thread waits for the children: nudge it.
    pub(crate) waiting: bool,
    /// The record is complete and has no children left: free it.
    pub(crate) dead: bool,
}

impl Counts {
    pub(crate) fn new() -> Counts {
        Counts(AtomicU64::new(0))
    }

    /// Starts again from zero. Only while the task has no children.
    #[inline]
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Number of children that are complete.
    #[inline]
    pub(crate) fn joined(&self) -> u32 {
        ((self.0.load(Ordering::Acquire) & !WAITING) >> 32) as u32
    }

    /// Number of children whose records are released.
    #[inline]
    pub(crate) fn released(&self) -> u32 {
        self.0.load(Ordering::Acquire) as u32
    }

    /// Marks that the task's thread waits for children, or no longer waits.
    pub(crate) fn set_waiting(&self, yes: bool) {
        if yes {
            self.0.fetch_or(WAITING, Ordering::SeqCst);
        } else {
            self.0.fetch_and(!WAITING, Ordering::Relaxed);
        }
    }

    /// Counts a child that is complete but whose record stays. True when a thread waits.
    #[inline]
    pub(crate) fn child_complete(&self) -> bool {
        self.0.fetch_add(JOINED, Ordering::AcqRel) & WAITING != 0
    }

    /// Counts a child whose record is released; `complete`: the child is complete only now. Unless the answer
    /// is `dead`, the record may be gone.
    #[inline]
    pub(crate) fn child_released(&self, complete: bool) -> Told {
        let told = 1 + if complete { JOINED } else { 0 };
        let before = self.0.fetch_add(told, Ordering::AcqRel);
        Told {
            waiting: complete && before & WAITING != 0,
            dead: (before as u32).wrapping_add(1) == DEAD,
        }
    }

    /// Counts the task itself as complete, after it made `spawned` children since the last reset. True when
    /// all of them are released. Otherwise the record belongs to the last child, and may be gone.
    #[inline]
    pub(crate) fn complete(&self, spawned: u32) -> bool {
        let before = self
            .0
            .fetch_add(u64::from(DEAD - spawned), Ordering::AcqRel);
        before as u32 == spawned
    }
}

/// The number of tasks of a taskgroup that are not complete, and whether its owner waits (the top bit).
#[derive(Debug)]
pub(crate) struct Live(AtomicU64);

impl Live {
    pub(crate) fn new() -> Live {
        Live(AtomicU64::new(0))
    }

    /// Counts one more task. Relaxed: its maker is the group's owner, or itself a task of the group, which
    /// therefore is not empty.
    #[inline]
    pub(crate) fn enter(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// One task is complete. True when it was the last and the owner waits: nudge the owner. The group may be
    /// gone.
    #[inline]
    pub(crate) fn leave(&self) -> bool {
        self.0.fetch_sub(1, Ordering::AcqRel) == WAITING | 1
    }

    /// True when all tasks are complete (acquire).
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Acquire) & !WAITING == 0
    }

    /// Marks that the owner waits, or no longer waits.
    pub(crate) fn set_waiting(&self, yes: bool) {
        if yes {
            self.0.fetch_or(WAITING, Ordering::SeqCst);
        } else {
            self.0.fetch_and(!WAITING, Ordering::Relaxed);
        }
    }
}
