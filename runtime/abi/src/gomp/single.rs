//! `GOMP_single_*`, `GOMP_scope_start`, and `masked`.

use super::reduction::Workshare;
use crate::entry::entries;
use core::ptr::null_mut;
use hetmp_omp::{query, single, Thread};
use libc::{c_int, c_void};

entries! {
    "GOMP_1.0" default:
    /// Returns true in the thread that executes the construct.
    watched fn GOMP_single_start() -> bool {
        single::start(Thread::current())
    }

    /// `single` with `copyprivate`: null in the thread that executes the construct. The other threads get the
    /// pointer that this thread passes to `GOMP_single_copy_end`.
    watched fn GOMP_single_copy_start() -> *mut c_void {
        single::copy_start(Thread::current()).unwrap_or(null_mut())
    }

    /// Ends a construct with `copyprivate` in the thread that executed it.
    watched fn GOMP_single_copy_end(data: *mut c_void) {
        single::copy_end(Thread::current(), data);
    }

    "GOMP_5.1" default:
    /// Begins a `scope` with task reductions.
    watched fn GOMP_scope_start(reductions: *mut usize) {
        // SAFETY: the compiled code passes its descriptor.
        if let Some(own) = unsafe { Workshare::new(reductions) } {
            single::scope_start(Thread::current(), &own);
        }
    }

    "GOMP_6.0.2" default:
    /// `GOMP_single_start` in code that also says where the construct ends.
    watched fn GOMP_single_start_with_end() -> bool {
        single::start(Thread::current())
    }

    /// The end of the construct, in the thread that executed it.
    fn GOMP_single_end() {}

    /// Is this the number of the calling thread, which the `filter` clause of a `masked` construct names?
    fn GOMP_has_masked_thread_num(number: c_int) -> bool {
        query::thread_num() == number
    }

    /// The end of a `masked` construct.
    fn GOMP_masked_end() {}
}
