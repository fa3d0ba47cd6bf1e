//! Atomic memory operations (specification 1.5, section 9.7).
//!
//! Words are 32 or 64 bits. Addition and the bitwise operations are the same for signed and unsigned integers,
//! and floating-point values are only fetched, set and swapped, so that the entries pass bits.

use crate::context::{self, Ctx};
use crate::fail;
use crate::way::{self, Way};
use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What is done to the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Nothing: its value is read.
    Fetch,
    /// It becomes the operand.
    Set,
    /// It becomes the operand.
    Swap,
    /// It becomes the operand if it equals the condition.
    CompareSwap,
    /// The operand is added, with wrap-around.
    Add,
    /// Bitwise and with the operand.
    And,
    /// Bitwise or with the operand.
    Or,
    /// Bitwise exclusive or with the operand.
    Xor,
    /// 1 is added; the operand does not count.
    Inc,
}

/// A word that atomics work on.
pub trait Word: Copy + PartialEq + Send + 'static {
    /// Runs `op` on the word at `at`, and returns what was there before.
    ///
    /// # Safety
    /// `at` is aligned, valid, and accessed by others only atomically or in the way the program orders.
    unsafe fn run(at: *mut u8, op: Op, operand: Self, condition: Self) -> Self;
    /// Its bits.
    fn bits(self) -> u64;
    /// From bits; those above its size do not count.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! word {
    ($t:ty, $atomic:ty) => {
        impl Word for $t {
            // Acquire and release: atomics are unordered in OpenSHMEM, but a program that spins on one and then
            // reads what another PE put and fenced expects to see it; on x86-64 both are free.
            #[inline(always)]
            unsafe fn run(at: *mut u8, op: Op, operand: $t, condition: $t) -> $t {
                // SAFETY: the caller's promise.
                let word = unsafe { <$atomic>::from_ptr(at.cast()) };
                match op {
                    Op::Fetch => word.load(Ordering::Acquire),
                    Op::Set => {
                        word.store(operand, Ordering::Release);
                        operand
                    }
                    Op::Swap => word.swap(operand, Ordering::AcqRel),
                    Op::CompareSwap => match word.compare_exchange(
                        condition,
                        operand,
                        Ordering::AcqRel,
                        Ordering::Acquire,
                    ) {
                        Ok(old) | Err(old) => old,
                    },
                    Op::Add => word.fetch_add(operand, Ordering::AcqRel),
                    Op::Inc => word.fetch_add(1, Ordering::AcqRel),
                    Op::And => word.fetch_and(operand, Ordering::AcqRel),
                    Op::Or => word.fetch_or(operand, Ordering::AcqRel),
                    Op::Xor => word.fetch_xor(operand, Ordering::AcqRel),
                }
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                self as u64
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> $t {
                bits as $t
            }
        }
    };
}
word!(u32, AtomicU32);
word!(u64, AtomicU64);

/// The way to the word of an atomic, or the job ends. One that is not aligned is no word: adapters refuse it, and so do
/// processors other than x86-64's.
fn find<W: Word>(f: &'static str, ctx: Ctx, dest: *mut W, pe: c_int) -> Way {
    let (address, bytes) = (dest as usize, size_of::<W>());
    if address % bytes != 0 {
        fail::die(
            f,
            format_args!("PE {pe}: address {address:#x}: a multiple of {bytes} is accepted"),
        );
    }
    way::find(f, ctx, address, bytes, pe).way
}

/// Runs `op` on the word `dest` of `pe` and returns what was there before.
///
/// # Safety
/// `dest` is aligned.
#[inline(always)]
pub unsafe fn fetching<W: Word>(
    f: &'static str,
    ctx: Ctx,
    op: Op,
    dest: *mut W,
    operand: W,
    condition: W,
    pe: c_int,
) -> W {
    if let Some(at) = context::direct(ctx, dest as usize, size_of::<W>(), pe) {
        // SAFETY: found in bounds; alignment carries over.
        return unsafe { W::run(at, op, operand, condition) };
    }
    // SAFETY: passed on.
    unsafe { fetching_cold(f, ctx, op, dest, operand, condition, pe) }
}

#[cold]
#[inline(never)]
unsafe fn fetching_cold<W: Word>(
    f: &'static str,
    ctx: Ctx,
    op: Op,
    dest: *mut W,
    operand: W,
    condition: W,
    pe: c_int,
) -> W {
    match find(f, ctx, dest, pe) {
        // SAFETY: as in `fetching`.
        Way::Here(at) => unsafe { W::run(at, op, operand, condition) },
        Way::Queue(to) => to.fetching(f, ctx, op, operand, condition),
    }
}

/// Runs `op` on the word `dest` of `pe`.
///
/// # Safety
/// `dest` is aligned.
#[inline(always)]
pub unsafe fn update<W: Word>(
    f: &'static str,
    ctx: Ctx,
    op: Op,
    dest: *mut W,
    operand: W,
    pe: c_int,
) {
    if let Some(at) = context::direct(ctx, dest as usize, size_of::<W>(), pe) {
        // SAFETY: found in bounds; alignment carries over.
        unsafe { W::run(at, op, operand, operand) };
        return;
    }
    // SAFETY: passed on.
    unsafe { update_cold(f, ctx, op, dest, operand, pe) }
}

#[cold]
#[inline(never)]
unsafe fn update_cold<W: Word>(
    f: &'static str,
    ctx: Ctx,
    op: Op,
    dest: *mut W,
    operand: W,
    pe: c_int,
) {
    match find(f, ctx, dest, pe) {
        // SAFETY: as in `update`.
        Way::Here(at) => {
            // SAFETY: as in `update`.
            unsafe { W::run(at, op, operand, operand) };
        }
        Way::Queue(to) => to.update(f, ctx, op, operand),
    }
}

/// As [`fetching`]; the old value is in `*fetch` after the next quiet.
///
/// # Safety
/// As [`fetching`]; `fetch` is writable and left alone until then.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
#[inline(always)]
pub unsafe fn fetching_nbi<W: Word>(
    f: &'static str,
    ctx: Ctx,
    fetch: *mut W,
    op: Op,
    dest: *mut W,
    operand: W,
    condition: W,
    pe: c_int,
) {
    if let Some(at) = context::direct(ctx, dest as usize, size_of::<W>(), pe) {
        // SAFETY: found in bounds; alignment carries over; `fetch` is the caller's promise.
        unsafe { *fetch = W::run(at, op, operand, condition) };
        return;
    }
    // SAFETY: passed on.
    unsafe { fetching_nbi_cold(f, ctx, fetch, op, dest, operand, condition, pe) }
}

#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
#[cold]
#[inline(never)]
unsafe fn fetching_nbi_cold<W: Word>(
    f: &'static str,
    ctx: Ctx,
    fetch: *mut W,
    op: Op,
    dest: *mut W,
    operand: W,
    condition: W,
    pe: c_int,
) {
    match find(f, ctx, dest, pe) {
        // SAFETY: as in `fetching_nbi`.
        Way::Here(at) => unsafe { *fetch = W::run(at, op, operand, condition) },
        // SAFETY: as in `fetching_nbi`.
        Way::Queue(to) => unsafe { to.fetching_nbi(f, ctx, fetch, op, operand, condition) },
    }
}
