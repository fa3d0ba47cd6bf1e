//! Distributed locks (specification 1.5, section 9.12), on one `long` of the program.
//!
//! The lock's home is PE 0. Its word there is a ticket lock: the low half is the ticket being served, the high half
//! the next ticket to be drawn. So PEs get the lock in the order in which they ask for it, and zero is a free lock.
//! When nobody holds the lock or waits for it, the word is set to zero again, so that the memory may be used for
//! something else.

use crate::amo::{self, Op};
use crate::context::{self, DEFAULT};
use crate::wait;
use crate::world;
use core::ffi::{c_int, c_long};

/// The PE on which the lock's word counts.
const HOME: c_int = 0;
const NEXT: u64 = 1 << 32;

fn serving(word: u64) -> u32 {
    word as u32
}

fn next(word: u64) -> u32 {
    (word >> 32) as u32
}

/// `shmem_set_lock`: returns when this PE holds the lock.
///
/// # Safety
/// `lock` is a symmetric variable that only lock functions touch.
pub unsafe fn set(f: &'static str, lock: *mut c_long) {
    let world = world::need(f);
    let word = lock.cast::<u64>();
    // SAFETY: this function's contract: `lock` is a symmetric variable that only lock functions touch.
    unsafe {
        let drawn = amo::fetching(f, DEFAULT, Op::Add, word, NEXT, 0, HOME);
        let mine = next(drawn);
        if serving(drawn) != mine {
            wait::until_true(f, world, &mut || {
                serving(amo::fetching(f, DEFAULT, Op::Fetch, word, 0, 0, HOME)) == mine
            });
        }
    }
}

/// `shmem_clear_lock`: what this PE did while it held the lock is done before the next holder continues.
///
/// # Safety
/// As [`set`].
pub unsafe fn clear(f: &'static str, lock: *mut c_long) {
    let world = world::need(f);
    context::quiet_all(f);
    let word = lock.cast::<u64>();
    // SAFETY: this function's contract: `lock` is a symmetric variable that only lock functions touch.
    unsafe {
        let mut old = amo::fetching(f, DEFAULT, Op::Fetch, word, 0, 0, HOME);
        loop {
            if world.settings.check && serving(old) == next(old) {
                crate::fail::die(
                    f,
                    format_args!("lock {lock:p}: not held (expected a lock that is)"),
                );
            }
            // The addition must not carry from the lower half into the upper one.
            let served = u64::from(serving(old).wrapping_add(1)) | (old & !0xffff_ffff);
            let new = if serving(served) == next(served) {
                0
            } else {
                served
            };
            let seen = amo::fetching(f, DEFAULT, Op::CompareSwap, word, new, old, HOME);
            if seen == old {
                return;
            }
            old = seen;
        }
    }
}

/// `shmem_test_lock`: 0 if the lock was free and is now held, else 1.
///
/// # Safety
/// As [`set`].
pub unsafe fn test(f: &'static str, lock: *mut c_long) -> c_int {
    let word = lock.cast::<u64>();
    // SAFETY: this function's contract: `lock` is a symmetric variable that only lock functions touch.
    let old = unsafe { amo::fetching(f, DEFAULT, Op::CompareSwap, word, NEXT, 0, HOME) };
    if old != 0 {
        hetmp_core::park::rest();
    }
    c_int::from(old != 0)
}
