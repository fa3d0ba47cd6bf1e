//! Worksharing loops over `long`: `GOMP_loop_*` and `GOMP_parallel_loop_*`.
//!
//! `*_start` enters the construct and takes the first chunk, `*_next` takes another one, `*_end*`
//! ends the construct. What a `next` does was decided at the start, so the names of a `next` are
//! names of one function.

use super::keyed::keyed;
use super::parallel::region;
use super::reduction::{extras, Workshare};
use crate::entry::{entries, export};
use hetmp_omp::loops::SchedKind::{Dynamic, Guided, Static};
use hetmp_omp::loops::{self, Clause, Loop, LoopBounds, Order, RUNTIME};
use hetmp_omp::team::Outlined;
use hetmp_omp::{doacross, ordered, Thread};
use libc::{c_long, c_uint, c_void};

/// The clause behind a schedule number of the entries of GOMP_5.0, and its order: 1 to 3 are static,
/// dynamic and guided, 0 is `runtime`, 4 is `nonmonotonic: runtime`, and bit 31 says `monotonic`.
pub(super) fn clause(sched: c_long) -> (Clause, Order) {
    let number = sched & 0x7fff_ffff;
    let order = match (sched & (1 << 31), number) {
        (0, 4) => Order::None,
        (0, _) => Order::Customary,
        _ => Order::Monotonic,
    };
    let clause = match number {
        1 => Some(Static),
        2 => Some(Dynamic),
        3 => Some(Guided),
        _ => RUNTIME,
    };
    (clause, order)
}

/// A loop over `long`.
#[inline(always)]
fn signed(
    (start, end, incr): (c_long, c_long, c_long),
    clause: Clause,
    chunk: c_long,
    order: Order,
    key: usize,
) -> Loop {
    Loop {
        bounds: LoopBounds::signed(start, end, incr),
        clause,
        // A chunk size that is not positive counts as none.
        chunk: chunk.max(0) as u64,
        whole: false,
        order,
        key,
    }
}

/// Writes a chunk to the program's variables. Returns false if there is no chunk.
///
/// # Safety
/// Both pointers may be written.
#[inline(always)]
unsafe fn give(chunk: Option<(u64, u64)>, istart: *mut c_long, iend: *mut c_long) -> bool {
    let Some((s, e)) = chunk else { return false };
    // SAFETY: both pointers may be written: this function's contract.
    unsafe {
        *istart = s as c_long;
        *iend = e as c_long;
    }
    true
}

/// The numbers of iterations of a doacross loop's nested loops.
///
/// # Safety
/// `counts` points to `n` numbers, which stay unchanged while the result is used.
unsafe fn counts<'a>(n: c_uint, counts: *const c_long) -> &'a [u64] {
    // SAFETY: `counts` points to `n` numbers, which stay unchanged: this function's contract. A
    // number of iterations is not negative, so its bits are the same as a `u64`.
    unsafe { core::slice::from_raw_parts(counts.cast::<u64>(), n as usize) }
}

entries! {
    "GOMP_1.0" default:
    /// Enters a loop with `schedule(static)` whose chunks must come in ascending order (`monotonic`).
    watched fn GOMP_loop_static_start(
        start: c_long, end: c_long, incr: c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long
    ) -> bool {
        let l = signed((start, end, incr), Some(Static), chunk, Order::Monotonic, 0);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    /// Enters a loop with `ordered schedule(static)`.
    watched fn GOMP_loop_ordered_static_start(
        start: c_long, end: c_long, incr: c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long
    ) -> bool {
        let l = signed((start, end, incr), Some(Static), chunk, Order::Ordered, 0);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(ordered::start(Thread::current(), &l), istart, iend) }
    }

    /// Enters a loop with `ordered schedule(dynamic)`.
    watched fn GOMP_loop_ordered_dynamic_start(
        start: c_long, end: c_long, incr: c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long
    ) -> bool {
        let l = signed((start, end, incr), Some(Dynamic), chunk, Order::Ordered, 0);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(ordered::start(Thread::current(), &l), istart, iend) }
    }

    /// Enters a loop with `ordered schedule(guided)`.
    watched fn GOMP_loop_ordered_guided_start(
        start: c_long, end: c_long, incr: c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long
    ) -> bool {
        let l = signed((start, end, incr), Some(Guided), chunk, Order::Ordered, 0);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(ordered::start(Thread::current(), &l), istart, iend) }
    }

    /// Enters a loop with `ordered schedule(runtime)`.
    watched fn GOMP_loop_ordered_runtime_start(
        start: c_long, end: c_long, incr: c_long, istart: *mut c_long, iend: *mut c_long
    ) -> bool {
        let l = signed((start, end, incr), RUNTIME, 0, Order::Ordered, 0);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(ordered::start(Thread::current(), &l), istart, iend) }
    }

    /// The thread's next chunk of a loop without `ordered`.
    fn GOMP_loop_runtime_next(istart: *mut c_long, iend: *mut c_long) -> bool {
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { loops::next_into(istart.cast(), iend.cast()) }
    }

    /// Ends the thread's chunk of a loop with `ordered`, and takes the next one.
    fn GOMP_loop_ordered_runtime_next(istart: *mut c_long, iend: *mut c_long) -> bool {
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(ordered::next(Thread::current()), istart, iend) }
    }

    /// Ends a loop, with a barrier.
    watched fn GOMP_loop_end() {
        loops::end(Thread::current());
    }

    /// Ends a loop without a barrier: nothing to do until the thread enters its next construct.
    watched fn GOMP_loop_end_nowait() {
        loops::end_nowait();
    }

    /// Opens a region that consists of a loop with `schedule(static)`.
    watched fn GOMP_parallel_loop_static_start(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, chunk: c_long
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), Some(Static), chunk, Order::Monotonic, f as usize);
        // SAFETY: the compiled code calls GOMP_parallel_end after its own part.
        unsafe { loops::fork(th, &region(th, f, data, num_threads, 0), &l) };
    }

    /// Opens a region that consists of a loop with `schedule(dynamic)`.
    watched fn GOMP_parallel_loop_dynamic_start(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, chunk: c_long
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), Some(Dynamic), chunk, Order::Monotonic, f as usize);
        // SAFETY: the compiled code calls GOMP_parallel_end after its own part.
        unsafe { loops::fork(th, &region(th, f, data, num_threads, 0), &l) };
    }

    /// Opens a region that consists of a loop with `schedule(guided)`.
    watched fn GOMP_parallel_loop_guided_start(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, chunk: c_long
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), Some(Guided), chunk, Order::Monotonic, f as usize);
        // SAFETY: the compiled code calls GOMP_parallel_end after its own part.
        unsafe { loops::fork(th, &region(th, f, data, num_threads, 0), &l) };
    }

    /// Opens a region that consists of a loop with `schedule(runtime)`.
    watched fn GOMP_parallel_loop_runtime_start(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), RUNTIME, 0, Order::Monotonic, f as usize);
        // SAFETY: the compiled code calls GOMP_parallel_end after its own part.
        unsafe { loops::fork(th, &region(th, f, data, num_threads, 0), &l) };
    }

    "GOMP_4.0" default:
    /// Runs a region that consists of a loop with `schedule(static)` whose chunks must come in ascending
    /// order (`monotonic`).
    watched fn GOMP_parallel_loop_static(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, chunk: c_long, flags: c_uint
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), Some(Static), chunk, Order::Monotonic, f as usize);
        // SAFETY: the compiled code made f and data for this call.
        unsafe { loops::parallel(th, &region(th, f, data, num_threads, flags), &l) };
    }

    /// Runs a region that consists of a loop with `schedule(dynamic)` whose chunks must come in ascending
    /// order (`monotonic`).
    watched fn GOMP_parallel_loop_dynamic(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, chunk: c_long, flags: c_uint
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), Some(Dynamic), chunk, Order::Monotonic, f as usize);
        // SAFETY: the compiled code made f and data for this call.
        unsafe { loops::parallel(th, &region(th, f, data, num_threads, flags), &l) };
    }

    /// Runs a region that consists of a loop with `schedule(guided)` whose chunks must come in ascending
    /// order (`monotonic`).
    watched fn GOMP_parallel_loop_guided(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, chunk: c_long, flags: c_uint
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), Some(Guided), chunk, Order::Monotonic, f as usize);
        // SAFETY: the compiled code made f and data for this call.
        unsafe { loops::parallel(th, &region(th, f, data, num_threads, flags), &l) };
    }

    /// Runs a region that consists of a loop with `schedule(runtime)` whose chunks must come in ascending
    /// order (`monotonic`).
    watched fn GOMP_parallel_loop_runtime(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, flags: c_uint
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), RUNTIME, 0, Order::Monotonic, f as usize);
        // SAFETY: the compiled code made f and data for this call.
        unsafe { loops::parallel(th, &region(th, f, data, num_threads, flags), &l) };
    }

    /// Ends a loop that can be cancelled, with a barrier. True if the region was cancelled.
    watched fn GOMP_loop_end_cancel() -> bool {
        loops::end_cancel(Thread::current())
    }

    "GOMP_4.5" default:
    /// Runs a region that consists of a loop with `schedule(dynamic)`.
    watched fn GOMP_parallel_loop_nonmonotonic_dynamic(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, chunk: c_long, flags: c_uint
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), Some(Dynamic), chunk, Order::Customary, f as usize);
        // SAFETY: the compiled code made f and data for this call.
        unsafe { loops::parallel(th, &region(th, f, data, num_threads, flags), &l) };
    }

    /// Runs a region that consists of a loop with `schedule(guided)`.
    watched fn GOMP_parallel_loop_nonmonotonic_guided(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, chunk: c_long, flags: c_uint
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), Some(Guided), chunk, Order::Customary, f as usize);
        // SAFETY: the compiled code made f and data for this call.
        unsafe { loops::parallel(th, &region(th, f, data, num_threads, flags), &l) };
    }

    /// Enters a loop with `ordered(n) schedule(static)`. `sizes`: the number of iterations of each nested
    /// loop.
    watched fn GOMP_loop_doacross_static_start(
        n: c_uint, sizes: *const c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long
    ) -> bool {
        // SAFETY: the compiled code passes an array of n numbers, and pointers to its variables.
        unsafe {
            let sizes = counts(n, sizes);
            let first = doacross::start(Thread::current(), Some(Static), chunk.max(0) as u64, sizes);
            give(first, istart, iend)
        }
    }

    /// Enters a loop with `ordered(n) schedule(dynamic)`. `sizes`: the number of iterations of each nested
    /// loop.
    watched fn GOMP_loop_doacross_dynamic_start(
        n: c_uint, sizes: *const c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long
    ) -> bool {
        // SAFETY: the compiled code passes an array of n numbers, and pointers to its variables.
        unsafe {
            let sizes = counts(n, sizes);
            let first = doacross::start(Thread::current(), Some(Dynamic), chunk.max(0) as u64, sizes);
            give(first, istart, iend)
        }
    }

    /// Enters a loop with `ordered(n) schedule(guided)`. `sizes`: the number of iterations of each nested
    /// loop.
    watched fn GOMP_loop_doacross_guided_start(
        n: c_uint, sizes: *const c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long
    ) -> bool {
        // SAFETY: the compiled code passes an array of n numbers, and pointers to its variables.
        unsafe {
            let sizes = counts(n, sizes);
            let first = doacross::start(Thread::current(), Some(Guided), chunk.max(0) as u64, sizes);
            give(first, istart, iend)
        }
    }

    /// Enters a loop with `ordered(n) schedule(runtime)`. `sizes`: the number of iterations of each nested
    /// loop.
    watched fn GOMP_loop_doacross_runtime_start(
        n: c_uint, sizes: *const c_long, istart: *mut c_long, iend: *mut c_long
    ) -> bool {
        // SAFETY: the compiled code passes an array of n numbers, and pointers to its variables.
        unsafe {
            let sizes = counts(n, sizes);
            let first = doacross::start(Thread::current(), RUNTIME, 0, sizes);
            give(first, istart, iend)
        }
    }

    "GOMP_5.0" default:
    /// Runs a region that consists of a loop with `schedule(nonmonotonic: runtime)`.
    watched fn GOMP_parallel_loop_nonmonotonic_runtime(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, flags: c_uint
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), RUNTIME, 0, Order::None, f as usize);
        // SAFETY: the compiled code made f and data for this call.
        unsafe { loops::parallel(th, &region(th, f, data, num_threads, flags), &l) };
    }

    /// Runs a region that consists of a loop with `schedule(runtime)`.
    watched fn GOMP_parallel_loop_maybe_nonmonotonic_runtime(
        f: Outlined, data: *mut c_void, num_threads: c_uint,
        start: c_long, end: c_long, incr: c_long, flags: c_uint
    ) {
        let th = Thread::current();
        let l = signed((start, end, incr), RUNTIME, 0, Order::Customary, f as usize);
        // SAFETY: the compiled code made f and data for this call.
        unsafe { loops::parallel(th, &region(th, f, data, num_threads, flags), &l) };
    }

    /// Enters a loop with task reductions, or with memory that its threads share. If `istart` is null,
    /// compiled code divides the loop itself, and no chunk is taken.
    watched fn GOMP_loop_start(
        start: c_long, end: c_long, incr: c_long, sched: c_long, chunk: c_long,
        istart: *mut c_long, iend: *mut c_long, reductions: *mut usize, memory: *mut *mut c_void
    ) -> bool {
        let th = Thread::current();
        let (clause, order) = clause(sched);
        let l = signed((start, end, incr), clause, chunk, order, 0);
        // SAFETY: the compiled code passes its descriptor and pointers to its variables, or null.
        unsafe {
            let own = Workshare::new(reductions);
            loops::enter_with(th, &l, &extras(&own, memory));
            istart.is_null() || give(loops::next(th), istart, iend)
        }
    }

    /// `GOMP_loop_start` for loops with `ordered`.
    watched fn GOMP_loop_ordered_start(
        start: c_long, end: c_long, incr: c_long, sched: c_long, chunk: c_long,
        istart: *mut c_long, iend: *mut c_long, reductions: *mut usize, memory: *mut *mut c_void
    ) -> bool {
        let (clause, _) = clause(sched);
        let l = signed((start, end, incr), clause, chunk, Order::Ordered, 0);
        // SAFETY: the compiled code passes its descriptor and pointers to its variables, or null.
        unsafe {
            let own = Workshare::new(reductions);
            let first = ordered::start_with(Thread::current(), &l, &extras(&own, memory));
            give(first, istart, iend)
        }
    }

    /// `GOMP_loop_start` for loops with `ordered(n)`.
    watched fn GOMP_loop_doacross_start(
        n: c_uint, sizes: *const c_long, sched: c_long, chunk: c_long,
        istart: *mut c_long, iend: *mut c_long, reductions: *mut usize, memory: *mut *mut c_void
    ) -> bool {
        let (clause, _) = clause(sched);
        // SAFETY: the compiled code passes an array of n numbers, and pointers to its variables.
        unsafe {
            let sizes = counts(n, sizes);
            let own = Workshare::new(reductions);
            let with = extras(&own, memory);
            let chunk = chunk.max(0) as u64;
            let first = doacross::start_with(Thread::current(), clause, chunk, sizes, &with);
            give(first, istart, iend)
        }
    }
}

keyed! {
    6 "GOMP_1.0"
    /// Enters a loop with `schedule(dynamic)` whose chunks must come in ascending order (`monotonic`).
    fn GOMP_loop_dynamic_start(
        start: c_long, end: c_long, incr: c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long, key: usize
    ) -> bool {
        let l = signed((start, end, incr), Some(Dynamic), chunk, Order::Monotonic, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    6 "GOMP_1.0"
    /// Enters a loop with `schedule(guided)` whose chunks must come in ascending order (`monotonic`).
    fn GOMP_loop_guided_start(
        start: c_long, end: c_long, incr: c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long, key: usize
    ) -> bool {
        let l = signed((start, end, incr), Some(Guided), chunk, Order::Monotonic, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    5 "GOMP_1.0"
    /// Enters a loop with `schedule(runtime)` whose chunks must come in ascending order (`monotonic`).
    fn GOMP_loop_runtime_start(
        start: c_long, end: c_long, incr: c_long, istart: *mut c_long, iend: *mut c_long, key: usize
    ) -> bool {
        let l = signed((start, end, incr), RUNTIME, 0, Order::Monotonic, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    6 "GOMP_4.5"
    /// Enters a loop with `schedule(dynamic)`.
    fn GOMP_loop_nonmonotonic_dynamic_start(
        start: c_long, end: c_long, incr: c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long, key: usize
    ) -> bool {
        let l = signed((start, end, incr), Some(Dynamic), chunk, Order::Customary, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    6 "GOMP_4.5"
    /// Enters a loop with `schedule(guided)`.
    fn GOMP_loop_nonmonotonic_guided_start(
        start: c_long, end: c_long, incr: c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long, key: usize
    ) -> bool {
        let l = signed((start, end, incr), Some(Guided), chunk, Order::Customary, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    5 "GOMP_5.0"
    /// Enters a loop with `schedule(nonmonotonic: runtime)`.
    fn GOMP_loop_nonmonotonic_runtime_start(
        start: c_long, end: c_long, incr: c_long, istart: *mut c_long, iend: *mut c_long, key: usize
    ) -> bool {
        let l = signed((start, end, incr), RUNTIME, 0, Order::None, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    5 "GOMP_5.0"
    /// Enters a loop with `schedule(runtime)`, whose chunks must come in ascending order only if the schedule
    /// says so.
    fn GOMP_loop_maybe_nonmonotonic_runtime_start(
        start: c_long, end: c_long, incr: c_long, istart: *mut c_long, iend: *mut c_long, key: usize
    ) -> bool {
        let l = signed((start, end, incr), RUNTIME, 0, Order::Customary, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }
}

export!(
    GOMP_loop_runtime_next,
    "GOMP_loop_static_next",
    "GOMP_1.0",
    "@@"
);
export!(
    GOMP_loop_runtime_next,
    "GOMP_loop_dynamic_next",
    "GOMP_1.0",
    "@@"
);
export!(
    GOMP_loop_runtime_next,
    "GOMP_loop_guided_next",
    "GOMP_1.0",
    "@@"
);
export!(
    GOMP_loop_runtime_next,
    "GOMP_loop_nonmonotonic_dynamic_next",
    "GOMP_4.5",
    "@@"
);
export!(
    GOMP_loop_runtime_next,
    "GOMP_loop_nonmonotonic_guided_next",
    "GOMP_4.5",
    "@@"
);
export!(
    GOMP_loop_runtime_next,
    "GOMP_loop_nonmonotonic_runtime_next",
    "GOMP_5.0",
    "@@"
);
export!(
    GOMP_loop_runtime_next,
    "GOMP_loop_maybe_nonmonotonic_runtime_next",
    "GOMP_5.0",
    "@@"
);
export!(
    GOMP_loop_ordered_runtime_next,
    "GOMP_loop_ordered_static_next",
    "GOMP_1.0",
    "@@"
);
export!(
    GOMP_loop_ordered_runtime_next,
    "GOMP_loop_ordered_dynamic_next",
    "GOMP_1.0",
    "@@"
);
export!(
    GOMP_loop_ordered_runtime_next,
    "GOMP_loop_ordered_guided_next",
    "GOMP_1.0",
    "@@"
);
