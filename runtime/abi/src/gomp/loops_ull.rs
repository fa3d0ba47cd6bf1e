//! Worksharing loops over `unsigned long long`: `GOMP_loop_ull_*`; see [`super::loops`].

use super::keyed::keyed;
use super::loops::clause;
use super::reduction::{extras, Workshare};
use crate::entry::{entries, export};
use hetmp_omp::loops::SchedKind::{Dynamic, Guided, Static};
use hetmp_omp::loops::{self, Clause, Loop, LoopBounds, Order, RUNTIME};
use hetmp_omp::{doacross, ordered, Thread};
use libc::{c_long, c_uint, c_void};

/// A loop over `unsigned long long`; `incr` is negative modulo 2^64 where it counts down.
#[inline(always)]
fn unsigned(
    (up, start, end, incr): (bool, u64, u64, u64),
    clause: Clause,
    chunk: u64,
    order: Order,
    key: usize,
) -> Loop {
    Loop {
        bounds: LoopBounds::unsigned(up, start, end, incr),
        clause,
        chunk,
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
unsafe fn give(chunk: Option<(u64, u64)>, istart: *mut u64, iend: *mut u64) -> bool {
    let Some((s, e)) = chunk else { return false };
    // SAFETY: both pointers may be written: this function's contract.
    unsafe {
        *istart = s;
        *iend = e;
    }
    true
}

/// The numbers of iterations of a doacross loop's nested loops.
///
/// # Safety
/// `counts` points to `n` numbers, which stay unchanged while the result is used.
unsafe fn counts<'a>(n: c_uint, counts: *const u64) -> &'a [u64] {
    // SAFETY: `counts` points to `n` numbers, which stay while the result is used: this function's contract.
    unsafe { core::slice::from_raw_parts(counts, n as usize) }
}

entries! {
    "GOMP_2.0" default:
    /// Enters a loop with `schedule(static)` whose chunks must come in ascending order (`monotonic`).
    watched fn GOMP_loop_ull_static_start(
        up: bool, start: u64, end: u64, incr: u64, chunk: u64, istart: *mut u64, iend: *mut u64
    ) -> bool {
        let l = unsigned((up, start, end, incr), Some(Static), chunk, Order::Monotonic, 0);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    /// Enters a loop with `ordered schedule(static)`.
    watched fn GOMP_loop_ull_ordered_static_start(
        up: bool, start: u64, end: u64, incr: u64, chunk: u64, istart: *mut u64, iend: *mut u64
    ) -> bool {
        let l = unsigned((up, start, end, incr), Some(Static), chunk, Order::Ordered, 0);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(ordered::start(Thread::current(), &l), istart, iend) }
    }

    /// Enters a loop with `ordered schedule(dynamic)`.
    watched fn GOMP_loop_ull_ordered_dynamic_start(
        up: bool, start: u64, end: u64, incr: u64, chunk: u64, istart: *mut u64, iend: *mut u64
    ) -> bool {
        let l = unsigned((up, start, end, incr), Some(Dynamic), chunk, Order::Ordered, 0);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(ordered::start(Thread::current(), &l), istart, iend) }
    }

    /// Enters a loop with `ordered schedule(guided)`.
    watched fn GOMP_loop_ull_ordered_guided_start(
        up: bool, start: u64, end: u64, incr: u64, chunk: u64, istart: *mut u64, iend: *mut u64
    ) -> bool {
        let l = unsigned((up, start, end, incr), Some(Guided), chunk, Order::Ordered, 0);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(ordered::start(Thread::current(), &l), istart, iend) }
    }

    /// Enters a loop with `ordered schedule(runtime)`.
    watched fn GOMP_loop_ull_ordered_runtime_start(
        up: bool, start: u64, end: u64, incr: u64, istart: *mut u64, iend: *mut u64
    ) -> bool {
        let l = unsigned((up, start, end, incr), RUNTIME, 0, Order::Ordered, 0);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(ordered::start(Thread::current(), &l), istart, iend) }
    }

    /// The thread's next chunk of a loop without `ordered`.
    fn GOMP_loop_ull_runtime_next(istart: *mut u64, iend: *mut u64) -> bool {
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { loops::next_into(istart, iend) }
    }

    /// Ends the thread's chunk of a loop with `ordered`, and takes the next one.
    fn GOMP_loop_ull_ordered_runtime_next(istart: *mut u64, iend: *mut u64) -> bool {
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(ordered::next(Thread::current()), istart, iend) }
    }

    "GOMP_4.5" default:
    /// Enters a loop with `ordered(n) schedule(static)`. `sizes`: the number of iterations of each nested
    /// loop.
    watched fn GOMP_loop_ull_doacross_static_start(
        n: c_uint, sizes: *const u64, chunk: u64, istart: *mut u64, iend: *mut u64
    ) -> bool {
        // SAFETY: the compiled code passes an array of n numbers, and pointers to its variables.
        unsafe {
            let sizes = counts(n, sizes);
            let first = doacross::start(Thread::current(), Some(Static), chunk, sizes);
            give(first, istart, iend)
        }
    }

    /// Enters a loop with `ordered(n) schedule(dynamic)`. `sizes`: the number of iterations of each nested
    /// loop.
    watched fn GOMP_loop_ull_doacross_dynamic_start(
        n: c_uint, sizes: *const u64, chunk: u64, istart: *mut u64, iend: *mut u64
    ) -> bool {
        // SAFETY: the compiled code passes an array of n numbers, and pointers to its variables.
        unsafe {
            let sizes = counts(n, sizes);
            let first = doacross::start(Thread::current(), Some(Dynamic), chunk, sizes);
            give(first, istart, iend)
        }
    }

    /// Enters a loop with `ordered(n) schedule(guided)`. `sizes`: the number of iterations of each nested
    /// loop.
    watched fn GOMP_loop_ull_doacross_guided_start(
        n: c_uint, sizes: *const u64, chunk: u64, istart: *mut u64, iend: *mut u64
    ) -> bool {
        // SAFETY: the compiled code passes an array of n numbers, and pointers to its variables.
        unsafe {
            let sizes = counts(n, sizes);
            let first = doacross::start(Thread::current(), Some(Guided), chunk, sizes);
            give(first, istart, iend)
        }
    }

    /// Enters a loop with `ordered(n) schedule(runtime)`. `sizes`: the number of iterations of each nested
    /// loop.
    watched fn GOMP_loop_ull_doacross_runtime_start(
        n: c_uint, sizes: *const u64, istart: *mut u64, iend: *mut u64
    ) -> bool {
        // SAFETY: the compiled code passes an array of n numbers, and pointers to its variables.
        unsafe {
            let sizes = counts(n, sizes);
            let first = doacross::start(Thread::current(), RUNTIME, 0, sizes);
            give(first, istart, iend)
        }
    }

    "GOMP_5.0" default:
    /// Enters a loop with task reductions, or with memory that its threads share. If `istart` is null,
    /// compiled code divides the loop itself, and no chunk is taken.
    watched fn GOMP_loop_ull_start(
        up: bool, start: u64, end: u64, incr: u64, sched: c_long, chunk: u64,
        istart: *mut u64, iend: *mut u64, reductions: *mut usize, memory: *mut *mut c_void
    ) -> bool {
        let th = Thread::current();
        let (clause, order) = clause(sched);
        let l = unsigned((up, start, end, incr), clause, chunk, order, 0);
        // SAFETY: the compiled code passes its descriptor and pointers to its variables, or null.
        unsafe {
            let own = Workshare::new(reductions);
            loops::enter_with(th, &l, &extras(&own, memory));
            istart.is_null() || give(loops::next(th), istart, iend)
        }
    }

    /// `GOMP_loop_ull_start` for loops with `ordered`.
    watched fn GOMP_loop_ull_ordered_start(
        up: bool, start: u64, end: u64, incr: u64, sched: c_long, chunk: u64,
        istart: *mut u64, iend: *mut u64, reductions: *mut usize, memory: *mut *mut c_void
    ) -> bool {
        let (clause, _) = clause(sched);
        let l = unsigned((up, start, end, incr), clause, chunk, Order::Ordered, 0);
        // SAFETY: the compiled code passes its descriptor and pointers to its variables, or null.
        unsafe {
            let own = Workshare::new(reductions);
            let first = ordered::start_with(Thread::current(), &l, &extras(&own, memory));
            give(first, istart, iend)
        }
    }

    /// `GOMP_loop_ull_start` for loops with `ordered(n)`.
    watched fn GOMP_loop_ull_doacross_start(
        n: c_uint, sizes: *const u64, sched: c_long, chunk: u64,
        istart: *mut u64, iend: *mut u64, reductions: *mut usize, memory: *mut *mut c_void
    ) -> bool {
        let (clause, _) = clause(sched);
        // SAFETY: the compiled code passes an array of n numbers, and pointers to its variables.
        unsafe {
            let sizes = counts(n, sizes);
            let own = Workshare::new(reductions);
            let with = extras(&own, memory);
            let first = doacross::start_with(Thread::current(), clause, chunk, sizes, &with);
            give(first, istart, iend)
        }
    }
}

keyed! {
    7 "GOMP_2.0"
    /// Enters a loop with `schedule(dynamic)` whose chunks must come in ascending order (`monotonic`).
    fn GOMP_loop_ull_dynamic_start(
        up: bool, start: u64, end: u64, incr: u64, chunk: u64, istart: *mut u64, iend: *mut u64, key: usize
    ) -> bool {
        let l = unsigned((up, start, end, incr), Some(Dynamic), chunk, Order::Monotonic, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    7 "GOMP_2.0"
    /// Enters a loop with `schedule(guided)` whose chunks must come in ascending order (`monotonic`).
    fn GOMP_loop_ull_guided_start(
        up: bool, start: u64, end: u64, incr: u64, chunk: u64, istart: *mut u64, iend: *mut u64, key: usize
    ) -> bool {
        let l = unsigned((up, start, end, incr), Some(Guided), chunk, Order::Monotonic, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    6 "GOMP_2.0"
    /// Enters a loop with `schedule(runtime)` whose chunks must come in ascending order (`monotonic`).
    fn GOMP_loop_ull_runtime_start(
        up: bool, start: u64, end: u64, incr: u64, istart: *mut u64, iend: *mut u64, key: usize
    ) -> bool {
        let l = unsigned((up, start, end, incr), RUNTIME, 0, Order::Monotonic, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    7 "GOMP_4.5"
    /// Enters a loop with `schedule(dynamic)`.
    fn GOMP_loop_ull_nonmonotonic_dynamic_start(
        up: bool, start: u64, end: u64, incr: u64, chunk: u64, istart: *mut u64, iend: *mut u64, key: usize
    ) -> bool {
        let l = unsigned((up, start, end, incr), Some(Dynamic), chunk, Order::Customary, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    7 "GOMP_4.5"
    /// Enters a loop with `schedule(guided)`.
    fn GOMP_loop_ull_nonmonotonic_guided_start(
        up: bool, start: u64, end: u64, incr: u64, chunk: u64, istart: *mut u64, iend: *mut u64, key: usize
    ) -> bool {
        let l = unsigned((up, start, end, incr), Some(Guided), chunk, Order::Customary, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    6 "GOMP_5.0"
    /// Enters a loop with `schedule(nonmonotonic: runtime)`.
    fn GOMP_loop_ull_nonmonotonic_runtime_start(
        up: bool, start: u64, end: u64, incr: u64, istart: *mut u64, iend: *mut u64, key: usize
    ) -> bool {
        let l = unsigned((up, start, end, incr), RUNTIME, 0, Order::None, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }

    6 "GOMP_5.0"
    /// Enters a loop with `schedule(runtime)`, whose chunks must come in ascending order only if the schedule
    /// says so.
    fn GOMP_loop_ull_maybe_nonmonotonic_runtime_start(
        up: bool, start: u64, end: u64, incr: u64, istart: *mut u64, iend: *mut u64, key: usize
    ) -> bool {
        let l = unsigned((up, start, end, incr), RUNTIME, 0, Order::Customary, key);
        // SAFETY: the compiled code passes pointers to its variables.
        unsafe { give(loops::start(Thread::current(), &l), istart, iend) }
    }
}

export!(
    GOMP_loop_ull_runtime_next,
    "GOMP_loop_ull_static_next",
    "GOMP_2.0",
    "@@"
);
export!(
    GOMP_loop_ull_runtime_next,
    "GOMP_loop_ull_dynamic_next",
    "GOMP_2.0",
    "@@"
);
export!(
    GOMP_loop_ull_runtime_next,
    "GOMP_loop_ull_guided_next",
    "GOMP_2.0",
    "@@"
);
export!(
    GOMP_loop_ull_runtime_next,
    "GOMP_loop_ull_nonmonotonic_dynamic_next",
    "GOMP_4.5",
    "@@"
);
export!(
    GOMP_loop_ull_runtime_next,
    "GOMP_loop_ull_nonmonotonic_guided_next",
    "GOMP_4.5",
    "@@"
);
export!(
    GOMP_loop_ull_runtime_next,
    "GOMP_loop_ull_nonmonotonic_runtime_next",
    "GOMP_5.0",
    "@@"
);
export!(
    GOMP_loop_ull_runtime_next,
    "GOMP_loop_ull_maybe_nonmonotonic_runtime_next",
    "GOMP_5.0",
    "@@"
);
export!(
    GOMP_loop_ull_ordered_runtime_next,
    "GOMP_loop_ull_ordered_static_next",
    "GOMP_2.0",
    "@@"
);
export!(
    GOMP_loop_ull_ordered_runtime_next,
    "GOMP_loop_ull_ordered_dynamic_next",
    "GOMP_2.0",
    "@@"
);
export!(
    GOMP_loop_ull_ordered_runtime_next,
    "GOMP_loop_ull_ordered_guided_next",
    "GOMP_2.0",
    "@@"
);
