//! Atomic memory operations (specification 1.5, section 9.7).
//!
//! Words have 32 or 64 bits. The entries pass bits: addition and the bitwise operations are the same for signed and
//! unsigned integers, and floating-point values are only fetched, set and swapped.

use crate::context::handle::{self, Ctx};
use crate::fail;
use crate::way::{self, Way};
pub use crate::word::{Op, Word};
use core::ffi::c_int;

/// The way to the word of an atomic. Ends the job for an address that is wrong or not aligned: adapters refuse
/// unaligned words, and so do processors other than x86-64.
fn find<W: Word>(f: &'static str, ctx: Ctx, dest: *mut W, pe: c_int) -> Way {
    let (address, bytes) = (dest as usize, size_of::<W>());
    if address % bytes != 0 {
        fail::die(
            f,
            format_args!(
                "PE {pe}: address {address:#x}: not aligned (expected a multiple of {bytes})"
            ),
        );
    }
    way::find(f, ctx, address, bytes, pe).way
}

/// Runs `op` on the word `dest` of `pe`, and returns the old value.
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
    if let Some(at) = handle::direct(ctx, dest as usize, size_of::<W>(), pe) {
        // SAFETY: found in bounds; alignment carries over.
        return unsafe { W::run(at, op, operand, condition) };
    }
    // SAFETY: this function's contract: `dest` is aligned.
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
        // SAFETY: found in bounds by `find`; the program passes an aligned word: the contract of `fetching`, the
        // only caller.
        Way::Here(at) => unsafe { W::run(at, op, operand, condition) },
        Way::Queue(to) => to.fetching(f, op, operand, condition),
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
    if let Some(at) = handle::direct(ctx, dest as usize, size_of::<W>(), pe) {
        // SAFETY: found in bounds; alignment carries over.
        unsafe { W::run(at, op, operand, operand) };
        return;
    }
    // SAFETY: this function's contract: `dest` is aligned.
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
        // SAFETY: found in bounds by `find`; the program passes an aligned word: the contract of `update`, the
        // only caller.
        Way::Here(at) => {
            // SAFETY: found in bounds by `find`; the program passes an aligned word: the contract of `update`, the
            // only caller.
            unsafe { W::run(at, op, operand, operand) };
        }
        Way::Queue(to) => to.update(f, op, operand),
    }
}

/// Like [`fetching`], but the old value is in `*fetch` after the next quiet.
///
/// # Safety
/// As [`fetching`]; `fetch` is writable and left alone until that quiet.
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
    if let Some(at) = handle::direct(ctx, dest as usize, size_of::<W>(), pe) {
        // SAFETY: found in bounds; the program passes an aligned word, and a `fetch` that is writable: this
        // function's contract.
        unsafe { *fetch = W::run(at, op, operand, condition) };
        return;
    }
    // SAFETY: this function's contract: `dest` is aligned. `fetch` is writable and left alone until quiet.
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
        // SAFETY: found in bounds by `find`; the word is aligned and `fetch` writable: the contract of
        // `fetching_nbi`, the only caller.
        Way::Here(at) => unsafe { *fetch = W::run(at, op, operand, condition) },
        // SAFETY: `fetch` is writable and left alone until quiet: the contract of `fetching_nbi`, the only caller.
        Way::Queue(to) => unsafe { to.fetching_nbi(f, fetch, op, operand, condition) },
    }
}
