//! Parallel regions, barriers, cancellation.

use super::reduction;
use crate::entry::entries;
use core::ptr::null;
use hetmp_omp::cancel::{self, Construct};
use hetmp_omp::icv::ProcBind;
use hetmp_omp::team::{self, resolve_num_threads, Form, Outlined, Region};
use hetmp_omp::Thread;
use libc::{c_int, c_uint, c_void};

/// The `proc_bind` clause in gcc's flags: three bits, which are 0 if there is no clause.
pub(super) fn bind_of(flags: c_uint) -> Option<ProcBind> {
    match flags & 7 {
        0 => None,
        policy => ProcBind::from_raw(policy),
    }
}

/// The construct behind the number that compiled code passes to `cancel` and to cancellation points.
fn construct(which: c_int) -> Option<Construct> {
    Some(match which {
        1 => Construct::Parallel,
        2 => Construct::Worksharing,
        4 => Construct::Sections,
        8 => Construct::Taskgroup,
        _ => return None,
    })
}

/// The description of a region from the arguments that gcc passes.
pub(super) fn region(
    th: &Thread,
    f: Outlined,
    data: *mut c_void,
    num_threads: c_uint,
    flags: c_uint,
) -> Region {
    Region {
        entry: f,
        data,
        code: f as usize,
        form: Form::Data,
        nthreads: resolve_num_threads(th, num_threads, 0),
        asked: num_threads,
        bind: bind_of(flags),
        group: null(),
    }
}

entries! {
    "GOMP_1.0" default:
    /// A barrier of the current team.
    watched fn GOMP_barrier() {
        team::barrier(Thread::current());
    }

    /// Opens a region. The caller then runs its own part and calls `GOMP_parallel_end`.
    watched fn GOMP_parallel_start(f: Outlined, data: *mut c_void, num_threads: c_uint) {
        let th = Thread::current();
        let region = region(th, f, data, num_threads, 0);
        // SAFETY: the compiled code calls GOMP_parallel_end after its own part.
        unsafe { team::open(th, &region, None) };
    }

    /// Ends the region that the thread opened last.
    watched fn GOMP_parallel_end() {
        team::close(Thread::current());
    }

    "GOMP_4.0" default:
    /// Runs a whole region. `flags` holds the `proc_bind` clause.
    watched fn GOMP_parallel(f: Outlined, data: *mut c_void, num_threads: c_uint, flags: c_uint) {
        let th = Thread::current();
        let region = region(th, f, data, num_threads, flags);
        // SAFETY: the compiled code made f and data for this call.
        unsafe { team::parallel(th, &region, None) };
    }

    /// A barrier that can be cancelled. Returns true if the region was cancelled.
    watched fn GOMP_barrier_cancel() -> bool {
        team::barrier(Thread::current())
    }

    /// Cancels the innermost construct of this kind. If `active` is false, only asks whether the construct
    /// was cancelled.
    watched fn GOMP_cancel(which: c_int, active: bool) -> bool {
        let th = Thread::current();
        match construct(which) {
            Some(c) if active => cancel::cancel(th, c),
            Some(c) => cancel::is_cancelled(th, c),
            None => false,
        }
    }

    /// Returns true if the innermost construct of this kind was cancelled.
    watched fn GOMP_cancellation_point(which: c_int) -> bool {
        construct(which).is_some_and(|c| cancel::point(Thread::current(), c))
    }

    "GOMP_5.0" default:
    /// Runs a region with `reduction(task, ...)`. The first word of `data` is the descriptor of the
    /// reductions. Returns the number of threads.
    fn GOMP_parallel_reductions(f: Outlined, data: *mut c_void, num_threads: c_uint, flags: c_uint)
        -> c_uint
    {
        let th = Thread::current();
        let mut region = region(th, f, data, num_threads, flags);
        // SAFETY: the compiled code made f, data and the descriptor for this call, and combines
        // the private copies after it.
        unsafe {
            let group = reduction::parallel_group(*data.cast::<*mut usize>(), region.nthreads);
            region.group = &*group;
            team::parallel(th, &region, None)
        }
    }

    "GOMP_6.0.2" default:
    /// A barrier of the current team. `kind` says whether the program wrote it.
    watched fn GOMP_barrier_ext(_kind: c_int) {
        team::barrier(Thread::current());
    }

    /// A barrier that can be cancelled. Returns true if the region was cancelled.
    watched fn GOMP_barrier_cancel_ext(_kind: c_int) -> bool {
        team::barrier(Thread::current())
    }
}
