//! Threads that run a team's tasks without being in its current region: workers in the dock, and threads that fulfill
//! an event. The team may change, and its next region begin, only while there are none.
//!
//! # Memory ordering
//! A helper registers, passes a fence, and then looks whether the region is still open. Who ends a region closes it,
//! passes a fence, and then looks for helpers. So either the helper finds the region closed, or it is waited for (store
//! buffering: on AArch64 without LSE not even a sequentially consistent addition keeps a later load behind it). Opening
//! the next region is a release, looking whether one is open an acquire: a helper that sees it open sees its number,
//! too.

use crossbeam_utils::CachePadded;
use hetmp_core::sync::{fence, AtomicBool, AtomicU32, Ordering};

#[derive(Debug)]
pub(crate) struct Helpers {
    /// A task was deferred in this region. Until then nobody need look at deques.
    active: CachePadded<AtomicBool>,
    registered: CachePadded<AtomicU32>,
    /// The number of the current region, as wide as a flag's epoch.
    region: AtomicU32,
}

impl Helpers {
    pub(crate) fn new() -> Helpers {
        Helpers {
            active: CachePadded::new(AtomicBool::new(false)),
            registered: CachePadded::new(AtomicU32::new(0)),
            region: AtomicU32::new(0),
        }
    }

    #[inline(always)]
    pub(crate) fn active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(crate) fn activate(&self) {
        self.active.store(true, Ordering::SeqCst);
    }

    #[inline]
    pub(crate) fn region(&self) -> u32 {
        self.region.load(Ordering::Relaxed)
    }

    /// Does this region, and no later one, have tasks?
    #[inline]
    pub(crate) fn is_open(&self, region: u32) -> bool {
        self.active.load(Ordering::Acquire) && self.region() == region
    }

    pub(crate) fn enter(&self) {
        self.registered.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    pub(crate) fn leave(&self) {
        self.registered.fetch_sub(1, Ordering::Release);
    }

    /// Called in the child of a fork, in which there are no helpers.
    pub(crate) fn forget(&self) {
        self.registered.store(0, Ordering::Relaxed);
    }

    /// Numbers the next region. `mask` is that of a flag's epoch.
    #[inline]
    pub(crate) fn begin_region(&self, mask: u32) {
        self.region
            .store(self.region().wrapping_add(1) & mask, Ordering::Relaxed);
    }

    /// Waits for the helpers of the last region, and lets none of them come back.
    pub(crate) fn quiesce(&self, mask: u32) {
        self.begin_region(mask);
        self.await_none();
    }

    /// Sends helpers away after the last task.
    pub(crate) fn end_region(&self) {
        self.active.store(false, Ordering::Relaxed);
        self.await_none();
    }

    fn await_none(&self) {
        fence(Ordering::SeqCst);
        let mut spinner = hetmp_core::park::Spinner::new();
        // Helpers find no task to run any more: the wait is bounded by their look at every deque.
        while self.registered.load(Ordering::Acquire) != 0 {
            spinner.turn_or_rest();
        }
    }
}
