//! `GOMP_ordered_*`: ordered regions of loops with `ordered`.

use crate::entry::entries;
use hetmp_omp::{ordered, Thread};

entries! {
    "GOMP_1.0" default:
    /// Begins an ordered region: waits for the iteration's turn.
    watched fn GOMP_ordered_start() {
        ordered::enter(Thread::current());
    }

    /// Ends an ordered region.
    watched fn GOMP_ordered_end() {
        ordered::leave(Thread::current());
    }
}
