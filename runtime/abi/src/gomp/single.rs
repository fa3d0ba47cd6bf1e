//! `GOMP_single_*` and `GOMP_scope_start`.

use super::reduction::Workshare;
use crate::entry::entries;
use core::ptr::null_mut;
use hetmp_omp::{single, Thread};
use libc::c_void;

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
}
