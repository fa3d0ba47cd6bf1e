//! Asynchronous queues, which are always empty.

use crate::entry::{entries, export};
use crate::variadic::{variadic, VaList};
use hetmp_omp::acc;
use libc::c_int;

entries! {
    "OACC_2.0" default:
    /// Is all work on a queue done?
    fn acc_async_test(queue: c_int) -> c_int {
        acc::queue_is_empty(queue);
        1
    }

    /// Fortran form of `acc_async_test`.
    fn acc_async_test_h_(queue: &c_int) -> c_int {
        acc::queue_is_empty(*queue);
        1
    }

    /// Is all work on all queues done?
    fn acc_async_test_all() -> c_int {
        acc::all_queues_are_empty();
        1
    }

    /// Waits for a queue.
    fn acc_wait(queue: c_int) {
        acc::queue_is_empty(queue);
    }

    /// Fortran form of `acc_wait`.
    fn acc_wait_h_(queue: &c_int) {
        acc::queue_is_empty(*queue);
    }

    /// Makes the second queue wait for the first.
    fn acc_wait_async(first: c_int, second: c_int) {
        acc::queue_is_empty(first);
        acc::queue_is_empty(second);
    }

    /// Fortran form of `acc_wait_async`.
    fn acc_wait_async_h_(first: *const c_int, second: *const c_int) {
        // SAFETY: the program passes integers.
        unsafe {
            acc::queue_is_empty(*first);
            acc::queue_is_empty(*second);
        }
    }

    /// Waits for all queues.
    fn acc_wait_all() {
        acc::all_queues_are_empty();
    }

    /// Makes a queue wait for all others.
    fn acc_wait_all_async(queue: c_int) {
        acc::queue_is_empty(queue);
    }

    /// Fortran form of `acc_wait_all_async`.
    fn acc_wait_all_async_h_(queue: *const c_int) {
        // SAFETY: the program passes an integer.
        acc::queue_is_empty(unsafe { *queue });
    }
}

// Names from OpenACC 1.0, and Fortran forms of functions without arguments.
export!(acc_wait, "acc_async_wait", "OACC_2.0.1", "@@");
export!(acc_wait_all, "acc_async_wait_all", "OACC_2.0.1", "@@");
export!(
    acc_async_test_all,
    "acc_async_test_all_h_",
    "OACC_2.0",
    "@@"
);
export!(acc_wait_all, "acc_wait_all_h_", "OACC_2.0", "@@");

/// The `wait` directive. Arguments: the `async` clause's queue, the number of queues to wait for, and these
/// queues.
unsafe extern "C" fn wait(named: *const u64, rest: *mut VaList) {
    // SAFETY: the stub passes the stored registers and its own list; the compiled code passes as many
    // integers as `count` says.
    unsafe {
        let (queue, count) = (*named as c_int, *named.add(1) as c_int);
        acc::wait(queue, (0..count).map(|_| (*rest).next_int()));
    }
}

variadic!(wait, "GOACC_wait", "GOACC_2.0", 2);
