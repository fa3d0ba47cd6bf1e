//! The stacks of the program's threads: addresses of this node's part. What an ended thread had is used again.
//!
//! When is a stack free? The C library and the kernel use a thread's control block, at the stack's upper end, until the
//! thread is gone *and* nobody will join it. So a stack is freed when a join has returned; that of a detached thread is
//! freed at a later [`take`], once the kernel has written a zero to the word of the control block that had the thread's
//! number: its last use of the block.

use crate::{kernel, place};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use libc::{c_int, pthread_t};
use pages::backend::sigsegv;
use pages::PAGE;

/// Addresses are handed out in such units: stacks keep a distance from each other.
const UNIT: usize = 2 << 20;
const UNITS: usize = place::STACKS / UNIT;

/// What is known of [`UNIT`] addresses. Written under [`LOCK`].
struct Unit {
    /// The units of the stack that begins here; 0 if none does.
    len: AtomicUsize,
    /// The lowest page is kept from all threads: the guard of the stack that begins here, or of one that did.
    guarded: AtomicBool,
    /// The control block of the thread on this stack, once the thread is detached; else 0.
    detached: AtomicUsize,
}

static ALL: [Unit; UNITS] = [const {
    Unit {
        len: AtomicUsize::new(0),
        guarded: AtomicBool::new(false),
        detached: AtomicUsize::new(0),
    }
}; UNITS];

static LOCK: AtomicBool = AtomicBool::new(false);
/// Detached threads whose stacks are not free yet, and how many of them make a search for ended ones worth its time:
/// twice as many as the last search left. So a thread's start costs the same on average, however many there are.
static DETACHED: AtomicUsize = AtomicUsize::new(0);
static SEARCH_AT: AtomicUsize = AtomicUsize::new(SOME);
const SOME: usize = 16;
/// Where a control block has the thread's number; 0 if that is not known.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// Notes what this process must know before its first [`take`]. Called on the first thread, before the program begins.
pub(crate) fn begin() {
    let block = kernel::control_block();
    let number = kernel::word_of_thread().map(|word| word.as_ptr().addr().wrapping_sub(block));
    NUMBER.store(number.unwrap_or(0), Ordering::Relaxed);
    sigsegv::set_guards(is_guard);
}

fn locked<T>(body: impl FnOnce() -> T) -> T {
    while LOCK
        .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
        .is_err()
    {
        hetmp_core::sys::yield_now();
    }
    let result = body();
    LOCK.store(false, Ordering::Release);
    result
}

/// The unit of an address, if that lies among this node's stacks.
fn unit_of(address: usize) -> Option<usize> {
    let all = place::stacks();
    all.contains(&address).then(|| (address - all.start) / UNIT)
}

fn address_of(unit: usize) -> usize {
    place::stacks().start + unit * UNIT
}

/// The stack of the thread with this control block, by its first unit. `None`: the program has provided the stack.
fn stack_of(thread: pthread_t) -> Option<usize> {
    let at = unit_of(thread as usize)?;
    (0..=at)
        .rev()
        .find(|unit| ALL[*unit].len.load(Ordering::Relaxed) != 0)
}

/// May no thread use this address of a stack? Async-signal-safe.
pub(crate) fn is_guard(address: usize) -> bool {
    unit_of(address).is_some_and(|unit| {
        address - address_of(unit) < PAGE && ALL[unit].guarded.load(Ordering::Acquire)
    })
}

/// Makes the calling thread's stack end where one of the mappings in `/proc/self/maps` ends: R takes that end for its
/// stack's.
pub(crate) fn end_mapping() {
    let end = kernel::control_block().next_multiple_of(UNIT);
    // Whether a page is in a dump makes no difference but that it is a mapping of its own. A refusal is no harm.
    // SAFETY: the advice changes nothing for who uses the page.
    unsafe { libc::syscall(libc::SYS_madvise, end, PAGE, libc::MADV_DONTDUMP) };
}

/// Frees the stack that begins at this unit. Its guard stays: most stacks are as long as those before them.
fn free(unit: usize) {
    let stack = &ALL[unit];
    if stack.detached.swap(0, Ordering::Relaxed) != 0 {
        DETACHED.fetch_sub(1, Ordering::Relaxed);
    }
    stack.len.store(0, Ordering::Relaxed);
}

/// Frees the stacks of detached threads that are gone.
fn search() {
    let number = NUMBER.load(Ordering::Relaxed);
    let mut unit = 0;
    while unit < UNITS && number != 0 {
        let len = ALL[unit].len.load(Ordering::Relaxed);
        let thread = ALL[unit].detached.load(Ordering::Relaxed);
        if thread != 0 {
            let word: *mut i32 = core::ptr::with_exposed_provenance_mut(thread + number);
            // SAFETY: the word lies in the thread's control block, on a stack that nobody else gets before it is freed.
            if unsafe { AtomicI32::from_ptr(word) }.load(Ordering::Acquire) == 0 {
                free(unit);
            }
        }
        unit += len.max(1);
    }
    let left = DETACHED.load(Ordering::Relaxed);
    SEARCH_AT.store(2 * left + SOME, Ordering::Relaxed);
}

/// The first of `len` units in a row that belong to no stack.
fn room(len: usize) -> Option<usize> {
    let (mut first, mut unit) = (0, 0);
    while unit < UNITS {
        match ALL[unit].len.load(Ordering::Relaxed) {
            0 => unit += 1,
            used => {
                unit += used;
                first = unit;
            }
        }
        if unit - first >= len {
            return Some(first);
        }
    }
    None
}

/// Lets threads use the lowest page of a unit, or keeps it from them.
fn guard(unit: usize, on: bool) -> bool {
    let was = ALL[unit].guarded.swap(on, Ordering::Release);
    // Where a signal handler serves page faults, the first one gives the page its rights back.
    if was == on || kernel::is_on() && !on {
        return true;
    }
    let may = match on {
        true => libc::PROT_NONE,
        false => place::rights(),
    };
    // SAFETY: the page is the lowest one of addresses that only the stack has for which it is changed.
    unsafe { libc::syscall(libc::SYS_mprotect, address_of(unit), PAGE, may) == 0 }
}

/// Addresses for a stack of at least `len` bytes, with a guard page below. `None` if there is no room left. The memory
/// may hold what another thread has left there.
pub(crate) fn take(len: usize) -> Option<Range<usize>> {
    let len = len.checked_next_multiple_of(UNIT)? / UNIT;
    let unit = locked(|| {
        if DETACHED.load(Ordering::Relaxed) >= SEARCH_AT.load(Ordering::Relaxed) {
            search();
        }
        let unit = room(len).or_else(|| {
            search();
            room(len)
        })?;
        ALL[unit].len.store(len, Ordering::Relaxed);
        Some(unit)
    })?;
    // The units are this thread's now.
    if !(unit..unit + len).all(|at| guard(at, at == unit)) {
        locked(|| free(unit));
        return None;
    }
    let start = address_of(unit);
    Some(start + PAGE..start + len * UNIT)
}

/// No thread was made on the stack that [`take`] gave.
pub(crate) fn give_back(stack: &Range<usize>) {
    locked(|| unit_of(stack.start).into_iter().for_each(free));
}

/// Nobody will wait for the end of this thread, which is on a stack that [`take`] gave, or that the program has
/// provided.
pub(crate) fn detached(thread: pthread_t) {
    locked(|| {
        let unit = stack_of(thread).map(|unit| &ALL[unit]);
        if unit.is_some_and(|u| u.detached.swap(thread as usize, Ordering::Relaxed) == 0) {
            DETACHED.fetch_add(1, Ordering::Relaxed);
        }
    });
}

/// A function of the C library has waited for the thread's end, or has detached the thread, and returned `error`.
/// Called by `ends.c`.
#[no_mangle]
extern "C" fn hetmp_thread_ends(thread: pthread_t, error: c_int, is_detached: bool) -> c_int {
    if error == 0 && place::started() {
        match is_detached {
            true => detached(thread),
            false => locked(|| stack_of(thread).into_iter().for_each(free)),
        }
    }
    error
}

extern "C" {
    static hetmp_ends: u8;
}

/// Makes the linker take `ends.c`, whose functions only other objects call.
#[used]
static ENDS: Pointer = Pointer(&raw const hetmp_ends);

struct Pointer(#[expect(dead_code, reason = "for the linker")] *const u8);

// SAFETY: nobody reads what the pointer leads to.
unsafe impl Sync for Pointer {}
