//! Point-to-point synchronisation (specification 1.5, section 9.9), and how a PE waits for others.
//!
//! **Waiting.** A PE first spins, as the policy of [`hetmp_core::park`] says (shortly if the PEs of this machine
//! outnumber its CPUs). Then it gives its core away for a while: the awaited PE may be queued on this very core, and
//! handing over costs half a microsecond. Then it sleeps, at once if a thread that computes takes the core
//! ([`give_core`]). Peers that write the library's own flags, and engines that
//! bring data, wake it through its [bell](hetmp_core::bell::Bell). A plain store by a peer rings no bell, so that a
//! sleep ends by itself after `NAPS`.

use crate::fail;
use crate::queue;
use crate::standstill::Watch;
use crate::world::{self, World};
use core::ffi::c_int;
use core::sync::atomic::{fence, AtomicU32, Ordering};
use hetmp_core::bell::Naps;
use hetmp_core::park::{self, give_core, Policy, Spinner};

/// How often the core is given away before a sleep: some 0.1 to 0.3 ms.
const YIELDS: u32 = 200;
/// The same number if an engine brings the awaited data: the engine's thread takes a while to take over from a PE
/// that sleeps.
const ENGINE_YIELDS: u32 = 4000;
/// How long a sleep lasts while nobody rings, nanoseconds.
const NAPS: Naps = Naps {
    shortest: 50_000,
    longest: 1_000_000,
};

/// Waits until `done` says true, in the function `f`.
#[cold]
#[inline(never)]
pub(crate) fn until_true(f: &'static str, world: &'static World, done: &mut dyn FnMut() -> bool) {
    let engine = queue::net().map(|net| net.engine);
    // While this thread has nothing else to do, it drives the engine itself, so that no other thread is needed.
    let mut look = || done() || engine.is_some_and(|e| e.progress() && done());
    let mut spinner = Spinner::new();
    while spinner.turn() {
        if look() {
            return;
        }
    }
    let yields = if engine.is_some() {
        ENGINE_YIELDS
    } else {
        YIELDS
    };
    for _ in 0..yields {
        let gave = give_core();
        if look() {
            return;
        }
        if !gave {
            break;
        }
    }
    let mut watch = Watch::new(f, world);
    world.control().bell.sleep(NAPS, done, &mut || {
        watch.napped();
        true
    });
}

/// A type of variable that can be waited for.
pub trait Value: Copy + PartialOrd + core::fmt::Display {}
impl Value for i16 {}
impl Value for u16 {}
impl Value for i32 {}
impl Value for u32 {}
impl Value for i64 {}
impl Value for u64 {}

/// The values with which variables are compared.
#[derive(Clone, Copy, Debug)]
pub enum Values<T> {
    /// The same value for all variables.
    One(T),
    /// A value for each variable, by its index.
    Each(*const T),
}

impl<T: Value> Values<T> {
    /// # Safety
    /// The array has more than `i` values.
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> T {
        match self {
            Values::One(v) => *v,
            // SAFETY: this function's contract: the array has more than `i` values.
            Values::Each(p) => unsafe { p.add(i).read() },
        }
    }
}

#[inline(always)]
fn compare<T: Value>(f: &'static str, a: T, cmp: c_int, b: T) -> bool {
    match cmp {
        0 => a == b,
        1 => a != b,
        2 => a > b,
        3 => a >= b,
        4 => a < b,
        5 => a <= b,
        _ => fail::die(
            f,
            format_args!("comparison {cmp}: unknown (expected SHMEM_CMP_EQ, NE, GT, GE, LT or LE)"),
        ),
    }
}

/// # Safety
/// `at` is an aligned variable.
#[inline(always)]
unsafe fn load<T: Value>(at: *mut T) -> T {
    // SAFETY: this function's contract: `at` is an aligned variable. Volatile, since peers write it.
    let value = unsafe { at.read_volatile() };
    // What the writer wrote before this value is read after it.
    fence(Ordering::Acquire);
    value
}

/// Waits until the variable compares with `value` as `cmp` says, and returns the variable's value.
///
/// # Safety
/// `ivar` is an aligned variable of this PE.
#[inline(always)]
pub unsafe fn until<T: Value>(f: &'static str, ivar: *mut T, cmp: c_int, value: T) -> T {
    // SAFETY: this function's contract: `ivar` is an aligned variable of this PE.
    let first = unsafe { load(ivar) };
    if world::is_direct() && compare(f, first, cmp, value) {
        return first;
    }
    // SAFETY: this function's contract: `ivar` is an aligned variable of this PE.
    unsafe { until_cold(f, ivar, cmp, value) }
}

#[inline(never)]
unsafe fn until_cold<T: Value>(f: &'static str, ivar: *mut T, cmp: c_int, value: T) -> T {
    let world = world::need(f);
    check_place(f, world, ivar as usize, size_of::<T>());
    let mut seen = value;
    until_true(f, world, &mut || {
        // SAFETY: `ivar` is an aligned variable of this PE: the contract of `until`, the only caller.
        seen = unsafe { load(ivar) };
        compare(f, seen, cmp, value)
    });
    observed(f, ivar, 1);
    seen
}

/// Tells the checker of the modelled memory, if there is one, that a wait or test has found its value here.
#[inline(always)]
fn observed<T>(f: &'static str, ivar: *const T, n: usize) {
    if !world::is_direct() {
        tell_checker(f, ivar as usize, n * size_of::<T>());
    }
}

/// Tells the checker which variables a wait or test looks at; it may look at some of them only.
#[inline(always)]
fn awaits<T>(f: &'static str, ivars: *const T, n: usize) {
    if !world::is_direct() {
        queue::awaits(world::need(f), ivars as usize, n * size_of::<T>());
    }
}

#[cold]
#[inline(never)]
fn tell_checker(f: &'static str, address: usize, bytes: usize) {
    queue::observed(world::need(f), address, bytes);
}

/// Under `HETMP_CHECK`: ends the job for a variable that no other PE can write, because the wait would never end.
fn check_place(f: &'static str, world: &World, address: usize, bytes: usize) {
    if world.settings.check && world.offset(address, bytes).is_none() {
        fail::bad_address(f, address, bytes, world.me as c_int);
    }
}

/// True unless `status` excludes element `i`.
///
/// # Safety
/// `status` is null or has more than `i` elements.
#[inline(always)]
unsafe fn counts(status: *const c_int, i: usize) -> bool {
    // SAFETY: this function's contract: `status` is null or has more than `i` elements.
    status.is_null() || unsafe { *status.add(i) } == 0
}

/// The arrays of a wait or test, and the specification's conditions on them.
struct Array<T> {
    f: &'static str,
    ivars: *mut T,
    n: usize,
    status: *const c_int,
    cmp: c_int,
    values: Values<T>,
}

impl<T: Value> Array<T> {
    /// # Safety
    /// The arrays have `n` elements; `status` may be null.
    unsafe fn holds(&self, i: usize) -> bool {
        // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null.
        unsafe {
            let value = load(self.ivars.add(i));
            compare(self.f, value, self.cmp, self.values.at(i))
        }
    }

    /// # Safety
    /// As [`Array::holds`].
    unsafe fn is_empty(&self) -> bool {
        // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null.
        (0..self.n).all(|i| unsafe { !counts(self.status, i) })
    }

    /// # Safety
    /// As [`Array::holds`].
    unsafe fn all(&self) -> bool {
        // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null.
        (0..self.n).all(|i| unsafe { !counts(self.status, i) || self.holds(i) })
    }

    /// # Safety
    /// As [`Array::holds`]. `from` is the index at which to begin.
    unsafe fn any(&self, from: usize) -> Option<usize> {
        (0..self.n)
            .map(|i| (from + i) % self.n)
            // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null.
            .find(|&i| unsafe { counts(self.status, i) && self.holds(i) })
    }

    /// # Safety
    /// As [`Array::holds`]; `indices` has room for `n`.
    unsafe fn some(&self, indices: *mut usize) -> usize {
        let mut found = 0;
        for i in 0..self.n {
            // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null. `indices` has
            // room for `n`. Not more are found than looked at.
            unsafe {
                if counts(self.status, i) && self.holds(i) {
                    *indices.add(found) = i;
                    found += 1;
                }
            }
        }
        found
    }
}

/// The start of the next search for any element. It moves on, so that no element starves.
static TURN: AtomicU32 = AtomicU32::new(0);

fn turn() -> usize {
    TURN.fetch_add(1, Ordering::Relaxed) as usize
}

/// `shmem_wait_until_all` and `_vector`.
///
/// # Safety
/// The arrays have `n` elements; `status` may be null.
pub unsafe fn until_all<T: Value>(
    f: &'static str,
    ivars: *mut T,
    n: usize,
    status: *const c_int,
    cmp: c_int,
    values: Values<T>,
) {
    let world = world::need(f);
    let a = Array {
        f,
        ivars,
        n,
        status,
        cmp,
        values,
    };
    // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null.
    unsafe {
        if !a.all() {
            until_true(f, world, &mut || a.all());
        }
    }
    observed(f, ivars, n);
}

/// `shmem_wait_until_any` and `_vector`: an index, or `SIZE_MAX` for an empty set.
///
/// # Safety
/// As [`until_all`].
pub unsafe fn until_any<T: Value>(
    f: &'static str,
    ivars: *mut T,
    n: usize,
    status: *const c_int,
    cmp: c_int,
    values: Values<T>,
) -> usize {
    let world = world::need(f);
    let a = Array {
        f,
        ivars,
        n,
        status,
        cmp,
        values,
    };
    // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null.
    unsafe {
        if a.is_empty() {
            return usize::MAX;
        }
        awaits(f, ivars, n);
        let from = turn();
        let mut found = a.any(from);
        if found.is_none() {
            until_true(f, world, &mut || {
                found = a.any(from);
                found.is_some()
            });
        }
        let found = found.unwrap_or(usize::MAX);
        observed(f, ivars.wrapping_add(found), 1);
        found
    }
}

/// `shmem_wait_until_some` and `_vector`: how many indices were written, 0 for an empty set.
///
/// # Safety
/// As [`until_all`]; `indices` has room for `n`.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn until_some<T: Value>(
    f: &'static str,
    ivars: *mut T,
    n: usize,
    indices: *mut usize,
    status: *const c_int,
    cmp: c_int,
    values: Values<T>,
) -> usize {
    let world = world::need(f);
    let a = Array {
        f,
        ivars,
        n,
        status,
        cmp,
        values,
    };
    // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null. `indices` has room for
    // `n`.
    unsafe {
        if a.is_empty() {
            return 0;
        }
        awaits(f, ivars, n);
        let mut found = a.some(indices);
        if found == 0 {
            until_true(f, world, &mut || {
                found = a.some(indices);
                found != 0
            });
        }
        for i in 0..found {
            observed(f, ivars.wrapping_add(*indices.add(i)), 1);
        }
        found
    }
}

/// `shmem_test`: 1 if the variable compares as asked, else 0.
///
/// # Safety
/// As [`until`].
#[inline(always)]
pub unsafe fn test<T: Value>(f: &'static str, ivar: *mut T, cmp: c_int, value: T) -> c_int {
    // SAFETY: this function's contract: `ivar` is an aligned variable of this PE.
    let held = compare(f, unsafe { load(ivar) }, cmp, value);
    if held {
        observed(f, ivar, 1);
    } else {
        looked_in_vain(f);
    }
    c_int::from(held)
}

/// Called after a test that failed: a program that tests in a loop must not keep the awaited PE from running.
#[inline(always)]
fn looked_in_vain(f: &'static str) {
    if !world::is_direct() || Policy::oversubscribed() {
        cold_look(f);
    }
}

#[cold]
#[inline(never)]
fn cold_look(f: &'static str) {
    world::need(f);
    let worked = queue::net().is_some_and(|net| net.engine.progress());
    if !worked {
        park::rest();
    }
}

/// `shmem_test_all` and `_vector`.
///
/// # Safety
/// As [`until_all`].
pub unsafe fn test_all<T: Value>(
    f: &'static str,
    ivars: *mut T,
    n: usize,
    status: *const c_int,
    cmp: c_int,
    values: Values<T>,
) -> c_int {
    let a = Array {
        f,
        ivars,
        n,
        status,
        cmp,
        values,
    };
    awaits(f, ivars, n);
    // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null.
    let held = unsafe { a.all() };
    if held {
        observed(f, ivars, n);
    } else {
        looked_in_vain(f);
    }
    c_int::from(held)
}

/// `shmem_test_any` and `_vector`: an index, or `SIZE_MAX` if no element compares as asked.
///
/// # Safety
/// As [`until_all`].
pub unsafe fn test_any<T: Value>(
    f: &'static str,
    ivars: *mut T,
    n: usize,
    status: *const c_int,
    cmp: c_int,
    values: Values<T>,
) -> usize {
    let a = Array {
        f,
        ivars,
        n,
        status,
        cmp,
        values,
    };
    if n == 0 {
        return usize::MAX;
    }
    awaits(f, ivars, n);
    // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null.
    let found = unsafe { a.any(turn()) };
    match found {
        Some(i) => observed(f, ivars.wrapping_add(i), 1),
        None => looked_in_vain(f),
    }
    found.unwrap_or(usize::MAX)
}

/// `shmem_test_some` and `_vector`: how many indices were written.
///
/// # Safety
/// As [`until_some`].
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
pub unsafe fn test_some<T: Value>(
    f: &'static str,
    ivars: *mut T,
    n: usize,
    indices: *mut usize,
    status: *const c_int,
    cmp: c_int,
    values: Values<T>,
) -> usize {
    let a = Array {
        f,
        ivars,
        n,
        status,
        cmp,
        values,
    };
    awaits(f, ivars, n);
    // SAFETY: this function's contract: the arrays have `n` elements; `status` may be null. `indices` has room for
    // `n`.
    let found = unsafe { a.some(indices) };
    if found == 0 {
        looked_in_vain(f);
    }
    for i in 0..found {
        // SAFETY: the search has written the first `found` indices.
        observed(f, ivars.wrapping_add(unsafe { *indices.add(i) }), 1);
    }
    found
}
