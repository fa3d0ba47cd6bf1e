//! Moving bytes in registered memory. Engines touch the memory of programs only here.
//!
//! Programs may read that memory while an engine writes it; the API above says when they may trust what they read. A
//! naturally aligned word (a flag, a signal) may be polled without further rules, so up to 8 aligned bytes are moved
//! by one atomic access.

use crate::arithmetic::{apply, Arithmetic, DivisionByZero, Type};
use crate::descriptor::{Atomic, AtomicOp, SignalOp, Width};
use crate::keys::Span;
use core::sync::atomic::{fence, AtomicU16, AtomicU32, AtomicU64, AtomicU8, Ordering};

/// Copies `n` bytes from `from` to `to`; the two may overlap. A single aligned word is written in one access, and
/// read in one access if the source is aligned too.
///
/// # Safety
/// Both are valid for `n` bytes.
pub unsafe fn copy(from: *const u8, to: *mut u8, n: usize) {
    /// Copies one word; `$atomic` has the word's size.
    macro_rules! word {
        ($atomic:ty, $word:ty) => {{
            // The program may be writing the source at this moment, and this must read the old or the new word. A
            // source that is not aligned (bytes of a descriptor) is written by nobody.
            let value = if from as usize % n == 0 {
                // SAFETY: who calls has `n` valid bytes at `from`, and the alignment was just tested.
                unsafe { <$atomic>::from_ptr(from.cast_mut().cast()) }.load(Ordering::Relaxed)
            } else {
                // SAFETY: who calls has `n` valid bytes at `from`.
                unsafe { from.cast::<$word>().read_unaligned() }
            };
            // SAFETY: who calls has `n` valid bytes at `to`, and the guard of the match arm has tested the alignment.
            unsafe { <$atomic>::from_ptr(to.cast()) }.store(value, Ordering::Release);
        }};
    }
    match n {
        0 => {}
        1 => word!(AtomicU8, u8),
        2 if to as usize % 2 == 0 => word!(AtomicU16, u16),
        4 if to as usize % 4 == 0 => word!(AtomicU32, u32),
        8 if to as usize % 8 == 0 => word!(AtomicU64, u64),
        // SAFETY: who calls has `n` valid bytes at both; overlap is allowed.
        _ => unsafe { core::ptr::copy(from, to, n) },
    }
}

/// Bytes that [`compute`] handles at a time: a multiple of every element's size.
const PIECE: usize = 1024;

/// `target = target OP operand`, element by element. Elements are read and written piece by piece, so that a write of
/// another thread to the target meanwhile may be lost.
///
/// # Errors
/// The element whose divisor is zero. The elements before it are done.
pub fn compute(
    op: Arithmetic,
    element: Type,
    target: &Span<'_>,
    operand: &Span<'_>,
) -> Result<(), DivisionByZero> {
    let (mut a, mut b) = ([0u8; PIECE], [0u8; PIECE]);
    let len = target.len().min(operand.len());
    let size = element.bytes().max(1) as usize;
    let mut at = 0;
    while at < len {
        let n = PIECE.min(len - at);
        // SAFETY: `at + n` is within both spans, which keep their regions registered; the pieces have room.
        let to = unsafe {
            copy(operand.start().add(at), b.as_mut_ptr(), n);
            let to = target.start().add(at);
            copy(to, a.as_mut_ptr(), n);
            to
        };
        let result = apply(op, element, &mut a[..n], &b[..n]);
        let done = result.map_or_else(|e| e.element * size, |()| n);
        // SAFETY: `to` is `target.start() + at`, and `done` is at most `n`: `at + n` is within the span, which keeps
        // its region registered.
        unsafe { copy(a.as_ptr(), to, done) };
        result.map_err(|e| DivisionByZero {
            element: at / size + e.element,
        })?;
        at += n;
    }
    Ok(())
}

/// Runs an atomic on its word and returns the old value.
pub fn atomic(word: &Span<'_>, a: &Atomic) -> u64 {
    debug_assert_eq!(word.len(), a.width.bytes() as usize);
    let start = word.start();
    match a.width {
        Width::W8 => {
            // SAFETY: `execute::remote` found the word in bounds and aligned, and the span keeps its
            // region registered, which the owner promised stays valid memory.
            let w = unsafe { AtomicU64::from_ptr(start.cast()) };
            let (x, cmp) = (a.operand, a.comparand);
            match a.op {
                AtomicOp::Read => w.load(Ordering::SeqCst),
                AtomicOp::Write | AtomicOp::Swap => w.swap(x, Ordering::SeqCst),
                AtomicOp::CompareSwap => w
                    .compare_exchange(cmp, x, Ordering::SeqCst, Ordering::SeqCst)
                    .unwrap_or_else(|old| old),
                AtomicOp::Add => w.fetch_add(x, Ordering::SeqCst),
                AtomicOp::And => w.fetch_and(x, Ordering::SeqCst),
                AtomicOp::Or => w.fetch_or(x, Ordering::SeqCst),
                AtomicOp::Xor => w.fetch_xor(x, Ordering::SeqCst),
            }
        }
        Width::W4 => {
            // SAFETY: `execute::remote` found the word in bounds and aligned, and the span keeps its region
            // registered, which the owner promised stays valid memory.
            let w = unsafe { AtomicU32::from_ptr(start.cast()) };
            let (x, cmp) = (a.operand as u32, a.comparand as u32);
            u64::from(match a.op {
                AtomicOp::Read => w.load(Ordering::SeqCst),
                AtomicOp::Write | AtomicOp::Swap => w.swap(x, Ordering::SeqCst),
                AtomicOp::CompareSwap => w
                    .compare_exchange(cmp, x, Ordering::SeqCst, Ordering::SeqCst)
                    .unwrap_or_else(|old| old),
                AtomicOp::Add => w.fetch_add(x, Ordering::SeqCst),
                AtomicOp::And => w.fetch_and(x, Ordering::SeqCst),
                AtomicOp::Or => w.fetch_or(x, Ordering::SeqCst),
                AtomicOp::Xor => w.fetch_xor(x, Ordering::SeqCst),
            })
        }
    }
}

/// Writes a signal, after all data that this thread has copied before.
pub fn signal(word: &Span<'_>, op: SignalOp, value: u64) {
    debug_assert_eq!(word.len(), 8);
    // The data was copied by plain stores, which this fence orders before the signal.
    fence(Ordering::Release);
    // SAFETY: `execute::remote` found the word in bounds and aligned, or `Device::apply` did with `find`; the span
    // keeps its region registered.
    let w = unsafe { AtomicU64::from_ptr(word.start().cast()) };
    match op {
        SignalOp::Set => w.store(value, Ordering::Release),
        SignalOp::Add => {
            w.fetch_add(value, Ordering::AcqRel);
        }
    }
}
