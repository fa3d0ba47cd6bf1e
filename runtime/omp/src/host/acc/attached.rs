//! OpenACC's state of each thread.

use core::cell::Cell;

/// OpenACC's state of one thread. It is a part of `Thread`, so that the library needs no thread-local storage
/// beyond the self pointer.
#[derive(Debug)]
pub(crate) struct Attached {
    /// The session of the device that the thread is attached to; 0 for none.
    pub(super) session: Cell<usize>,
    /// Number of data regions that the thread is in.
    pub(super) data_regions: Cell<usize>,
    /// The profiling interface's callbacks are enabled in this thread.
    pub(super) callbacks: Cell<bool>,
    /// This thread is initialising the device. A callback that asks meanwhile must get the state before.
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
