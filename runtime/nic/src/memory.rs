//! Moving bytes in registered memory: the only place where engines touch the memory of programs.
//!
//! Programs read that memory while an engine writes it; the API above says when they may trust it. What
//! they may poll without more (a flag, a signal) is a naturally aligned word, so up to 8 aligned
//! bytes are moved by one atomic access.

use crate::descriptor::{Atomic, AtomicOp, SignalOp, Width};
use crate::keys::Span;
use core::sync::atomic::{fence, AtomicU16, AtomicU32, AtomicU64, AtomicU8, Ordering};

/// Copies `n` bytes from `from` to `to`, which may overlap; a single aligned word is written in one access,
/// and read in one where the source is aligned as well.
///
/// # Safety
/// Both are valid for `n` bytes.
pub unsafe fn copy(from: *const u8, to: *mut u8, n: usize) {
    /// One word; `$atomic` has its size.
    macro_rules! word {
        ($atomic:ty, $word:ty) => {{
            // The program may be writing the source, and must then get the old or the new word. A source
            // that is not aligned (bytes of a descriptor) is nobody else's.
            let value = if from as usize % n == 0 {
                // SAFETY: valid by the caller's promise, aligned as tested.
                unsafe { <$atomic>::from_ptr(from.cast_mut().cast()) }.load(Ordering::Relaxed)
            } else {
                // SAFETY: valid by the caller's promise.
                unsafe { from.cast::<$word>().read_unaligned() }
            };
            // SAFETY: valid by the caller's promise, aligned as the guard of the arm says.
            unsafe { <$atomic>::from_ptr(to.cast()) }.store(value, Ordering::Release);
        }};
    }
    match n {
        0 => {}
        1 => word!(AtomicU8, u8),
        2 if to as usize % 2 == 0 => word!(AtomicU16, u16),
        4 if to as usize % 4 == 0 => word!(AtomicU32, u32),
        8 if to as usize % 8 == 0 => word!(AtomicU64, u64),
        // SAFETY: valid by the caller's promise; overlap is allowed.
        _ => unsafe { core::ptr::copy(from, to, n) },
    }
}

/// Runs an atomic on its word and gives the old value.
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
            // SAFETY: as above.
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

/// Writes a signal, after all data that this thread copied before.
pub fn signal(word: &Span<'_>, op: SignalOp, value: u64) {
    debug_assert_eq!(word.len(), 8);
    // The data was copied by plain stores.
    fence(Ordering::Release);
    // SAFETY: as in `atomic`.
    let w = unsafe { AtomicU64::from_ptr(word.start().cast()) };
    match op {
        SignalOp::Set => w.store(value, Ordering::Release),
        SignalOp::Add => {
            w.fetch_add(value, Ordering::AcqRel);
        }
    }
}
