//! What OpenACC keeps for each thread.

use core::cell::Cell;

/// What OpenACC knows of a thread; part of `Thread`, so that the library needs no thread-local storage
/// beyond the self pointer.
#[derive(Debug)]
pub(crate) struct Attached {
    /// The session of the device it is attached to; 0 for none.
    pub(super) session: Cell<usize>,
    /// Data regions it is in.
    pub(super) data_regions: Cell<usize>,
    /// Callbacks of the profiling interface are enabled in this thread.
    pub(super) callbacks: Cell<bool>,
    /// This thread is initialising the device; callbacks may ask meanwhile.
    pub(super) initialising: Cell<bool>,
}

impl Attached {
    pub(crate) const fn new() -> Attached {
        Attached {
            session: Cell::new(0),
            data_regions: Cell::new(0),
            callbacks: Cell::new(true),
            initialising: Cell::new(false),
        }
    }
}
