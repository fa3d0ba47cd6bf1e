//! Loops with `ordered(n)`: iterations that wait for each other.

use super::Loc;
use crate::entry::entries;
use hetmp_omp::ahead::{keep_doacross, with_doacross, Doacross};
use hetmp_omp::pieces::LoopBounds;
use hetmp_omp::{doacross, Thread};

/// One nested loop (`kmp_dim`): first value, last value, step.
#[repr(C)]
pub(crate) struct Dimension {
    first: i64,
    last: i64,
    step: i64,
}

/// The number of the iteration in which the loop variable is `value`. Values before the first iteration give
/// a huge number.
fn number((first, step): (i64, i64), value: i64) -> u64 {
    let (distance, step) = if step > 0 {
        (i128::from(value) - i128::from(first), i128::from(step))
    } else {
        (i128::from(first) - i128::from(value), -i128::from(step))
    };
    if distance < 0 {
        return u64::MAX;
    }
    u64::try_from(distance / step.max(1)).unwrap_or(u64::MAX)
}

entries! {
    "VERSION" default:
    /// Announces the doacross loop of `count` nested loops that the thread is about to enter.
    fn __kmpc_doacross_init(_loc: Loc, _gtid: i32, count: i32, dimensions: *const Dimension) {
        let th = Thread::current();
        // SAFETY: the compiled code passes an array of that size.
        let d = unsafe { core::slice::from_raw_parts(dimensions, count.max(0) as usize) };
        let counts: Vec<u64> = d
            .iter()
            .map(|d| LoopBounds::signed_to(d.first, d.last, d.step).trip_count())
            .collect();
        keep_doacross(th, Some(Doacross {
            state: doacross::announce(th, &counts),
            dimensions: d.iter().map(|d| (d.first, d.step)).collect(),
        }));
    }

    /// Waits for the iteration with these values of the loop variables.
    fn __kmpc_doacross_wait(_loc: Loc, _gtid: i32, at: *const i64) {
        let th = Thread::current();
        with_doacross(th, |d| {
            // SAFETY: the compiled code passes one value for each nested loop.
            d.state.wait(th, |i| number(d.dimensions[i], unsafe { *at.add(i) }));
        });
    }

    /// Called when the iteration with these values of the loop variables has reached its `depend(source)`.
    fn __kmpc_doacross_post(_loc: Loc, _gtid: i32, at: *const i64) {
        let th = Thread::current();
        with_doacross(th, |d| {
            // SAFETY: the compiled code passes one value for each nested loop.
            d.state.post(th, |i| number(d.dimensions[i], unsafe { *at.add(i) }));
        });
    }

    /// Called when the thread has ended its part of the loop.
    fn __kmpc_doacross_fini(_loc: Loc, _gtid: i32) {
        keep_doacross(Thread::current(), None);
    }
}
