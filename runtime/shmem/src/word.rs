//! Words that atomic operations work on, and what is done to them.
//!
//! The callers in `amo` have found the word in bounds; the program promises that it is aligned.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// An atomic operation on a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The value is read and not changed.
    Fetch,
    /// The word becomes the operand. Nothing is fetched.
    Set,
    /// The word becomes the operand; the old value is fetched.
    Swap,
    /// The word becomes the operand if it equals the condition.
    CompareSwap,
    /// The operand is added, with wrap-around.
    Add,
    /// Bitwise and with the operand.
    And,
    /// Bitwise or with the operand.
    Or,
    /// Bitwise exclusive or with the operand.
    Xor,
    /// 1 is added; the operand is ignored.
    Inc,
}

/// A word that atomics work on.
pub trait Word: Copy + PartialEq + Send + 'static {
    /// Runs `op` on the word at `at`, and returns the old value.
    ///
    /// # Safety
    /// `at` is aligned, valid, and accessed by others only atomically or in the way the program orders.
    unsafe fn run(at: *mut u8, op: Op, operand: Self, condition: Self) -> Self;
    /// The value's bits.
    fn bits(self) -> u64;
    /// A value of these bits; higher bits are ignored.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! word {
    ($t:ty, $atomic:ty) => {
        impl Word for $t {
            // Acquire and release. OpenSHMEM does not order atomics, but a program that spins on one, and then reads
            // what another PE has put and fenced, expects to see the data. On x86-64 both are free.
            #[inline(always)]
            unsafe fn run(at: *mut u8, op: Op, operand: $t, condition: $t) -> $t {
                // SAFETY: the callers in `amo` have found the word in bounds, and the program passes an aligned word.
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
