//! The interface by which a thread that waits for its team does something else for the runtime meanwhile.
//!
//! In an ordinary team on unlike nodes the fast threads wait for the slow ones at every barrier. What the runtime
//! would have to do anyway (reading a region's code) costs the program nothing there. Barriers know only this trait. A
//! thread without such work pays one test at each turn of a wait.

use core::fmt::Debug;

/// Work that can be done in small portions, by whichever thread of the team has time.
pub(crate) trait SpareTime: Debug {
    /// Works for a few microseconds. False: nothing is left to do, or another thread is at it.
    fn portion(&self) -> bool;
}
