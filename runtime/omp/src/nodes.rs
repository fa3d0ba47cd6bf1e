//! Nodes of unlike speed: which thread belongs to which, and how slow it is to be.

use crate::thread::Thread;

/// Emulated slowness of one thread.
#[derive(Debug, Default)]
pub struct SlowState {}

impl SlowState {
    pub(crate) const fn new() -> SlowState {
        SlowState {}
    }

    /// The thread begins to run code of the program inside a region.
    #[inline(always)]
    pub(crate) fn enter(&self, _th: &Thread) {}

    /// The thread stops running code of the program.
    #[inline(always)]
    pub(crate) fn leave(&self) {}
}
