//! `GOMP_sections_*`. Sections are numbered from 1. An entry returns 0 when no section is left.

use super::reduction::{extras, Workshare};
use crate::entry::entries;
use core::ptr::null;
use hetmp_omp::team::{resolve_num_threads, Form, Outlined, Region};
use hetmp_omp::{loops, sections, Thread};
use libc::{c_uint, c_void};

fn region(
    th: &Thread,
    f: Outlined,
    data: *mut c_void,
    (num_threads, count): (c_uint, c_uint),
    flags: c_uint,
) -> Region {
    Region {
        entry: f,
        data,
        code: f as usize,
        form: Form::Data,
        // With dynamic adjustment of the number of threads, a region gets no more threads than it has
        // sections.
        nthreads: resolve_num_threads(th, num_threads, count),
        asked: num_threads,
        bind: super::parallel::bind_of(flags),
        group: null(),
    }
}

entries! {
    "GOMP_1.0" default:
    /// Enters a construct of `count` sections. Returns the thread's first section.
    watched fn GOMP_sections_start(count: c_uint) -> c_uint {
        sections::start(Thread::current(), count)
    }

    /// The thread's next section.
    watched fn GOMP_sections_next() -> c_uint {
        sections::next(Thread::current())
    }

    /// Ends the construct, with a barrier.
    watched fn GOMP_sections_end() {
        loops::end(Thread::current());
    }

    /// Ends the construct without a barrier: nothing to do until the thread enters its next construct.
    watched fn GOMP_sections_end_nowait() {
        loops::end_nowait();
    }

    /// Opens a region that consists of `count` sections.
    watched fn GOMP_parallel_sections_start(
        f: Outlined, data: *mut c_void, num_threads: c_uint, count: c_uint
    ) {
        let th = Thread::current();
        // SAFETY: the compiled code calls GOMP_parallel_end after its own part.
        unsafe { sections::fork(th, &region(th, f, data, (num_threads, count), 0), count) };
    }

    "GOMP_4.0" default:
    /// Runs a region that consists of `count` sections.
    watched fn GOMP_parallel_sections(
        f: Outlined, data: *mut c_void, num_threads: c_uint, count: c_uint, flags: c_uint
    ) {
        let th = Thread::current();
        // SAFETY: the compiled code made f and data for this call.
        unsafe { sections::parallel(th, &region(th, f, data, (num_threads, count), flags), count) };
    }

    /// Ends a construct that can be cancelled, with a barrier. Returns true if the region was cancelled.
    watched fn GOMP_sections_end_cancel() -> bool {
        loops::end_cancel(Thread::current())
    }

    "GOMP_5.0" default:
    /// Enters sections with task reductions, or with memory that their threads share.
    watched fn GOMP_sections2_start(
        count: c_uint, reductions: *mut usize, memory: *mut *mut c_void
    ) -> c_uint {
        // SAFETY: the compiled code passes its descriptor and pointers to its variables, or null.
        unsafe {
            let own = Workshare::new(reductions);
            sections::start_with(Thread::current(), count, &extras(&own, memory))
        }
    }
}
