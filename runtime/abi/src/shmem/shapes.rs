//! The shapes of the typed families: one macro for each C signature. The generated tables next to this file use them.
//! The shapes of collective routines are in [`super::team_shapes`].
//!
//! A row of a table is an element type (or the bytes of an element), the routine's name, and, if the routine has a
//! form with a context, that form's name. The parent module says what the SAFETY comments rely on.

pub(super) use super::routine::routines;
pub(super) use core::ffi::{c_char, c_int};
pub(super) use hetmp_shmem::amo::{self, Op};
pub(super) use hetmp_shmem::context::{Ctx, DEFAULT};
pub(super) use hetmp_shmem::rma;
pub(super) use hetmp_shmem::wait::{self, Values};

/// `SHMEM_CMP_NE`.
pub(super) const NOT_EQUAL: c_int = 1;

/// Bytes of `n` elements. A product that overflows becomes `usize::MAX`, which no buffer has: the engine's bounds
/// check refuses it.
#[inline(always)]
pub(super) fn bytes(n: usize, element: usize) -> usize {
    n.saturating_mul(element)
}

/// A C type of the atomic routines. The engine works on words of 32 or 64 bits; this trait converts.
pub(super) trait Scalar: Copy {
    /// The unsigned integer of the same size.
    type Word: amo::Word;
    /// The bits of the value.
    fn bits(self) -> Self::Word;
    /// The value that has these bits.
    fn from_word(word: Self::Word) -> Self;
}

macro_rules! scalar {
    ($($t:ty as $w:ty: $to:expr, $from:expr;)*) => { $(
        impl Scalar for $t {
            type Word = $w;
            #[inline(always)]
            fn bits(self) -> $w {
                $to(self)
            }
            #[inline(always)]
            fn from_word(word: $w) -> $t {
                $from(word)
            }
        }
    )* };
}
scalar! {
    i32 as u32: |v| v as u32, |w| w as i32;
    u32 as u32: core::convert::identity, core::convert::identity;
    f32 as u32: f32::to_bits, f32::from_bits;
    i64 as u64: |v| v as u64, |w| w as i64;
    u64 as u64: core::convert::identity, core::convert::identity;
    f64 as u64: f64::to_bits, f64::from_bits;
}

/// Zero, for an operand that the operation does not use.
#[inline(always)]
pub(super) fn none<T: Scalar>() -> T::Word {
    amo::Word::from_bits(0)
}

/// put and get, blocking and nonblocking: `void name(dest, source, nelems, pe)`.
macro_rules! block {
    ($function:path; $($size:literal $name:ident $($ctx:ident)?;)*) => { $(
        routines! {
            fn $name(dest: *mut u8, source: *const u8, nelems: usize, pe: c_int) {
                // SAFETY: the program's buffers.
                unsafe { $function(F, DEFAULT, dest, source, bytes(nelems, $size), pe) }
            }
            $(fn $ctx(ctx: Ctx, dest: *mut u8, source: *const u8, nelems: usize, pe: c_int) {
                // SAFETY: the program's buffers and context.
                unsafe { $function(F, ctx, dest, source, bytes(nelems, $size), pe) }
            })?
        }
    )* };
}

/// `void name(dest, value, pe)`.
macro_rules! p {
    ($($t:ident $name:ident $ctx:ident;)*) => { $(
        routines! {
            fn $name(dest: *mut $t, value: $t, pe: c_int) {
                // SAFETY: the program's object.
                unsafe { rma::p(F, DEFAULT, dest, value, pe) }
            }
            fn $ctx(ctx: Ctx, dest: *mut $t, value: $t, pe: c_int) {
                // SAFETY: the program's object and context.
                unsafe { rma::p(F, ctx, dest, value, pe) }
            }
        }
    )* };
}

/// `TYPE name(source, pe)`.
macro_rules! g {
    ($($t:ident $name:ident $ctx:ident;)*) => { $(
        routines! {
            fn $name(source: *const $t, pe: c_int) -> $t {
                // SAFETY: the program's object.
                unsafe { rma::g(F, DEFAULT, source, pe) }
            }
            fn $ctx(ctx: Ctx, source: *const $t, pe: c_int) -> $t {
                // SAFETY: the program's object and context.
                unsafe { rma::g(F, ctx, source, pe) }
            }
        }
    )* };
}

/// `void name(dest, source, dst, sst, nelems, pe)`.
macro_rules! strided {
    ($function:path; $($size:literal $name:ident $ctx:ident;)*) => { $(
        routines! {
            fn $name(dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: c_int) {
                // SAFETY: the program's buffers.
                unsafe { $function(F, DEFAULT, dest, source, dst, sst, $size, nelems, pe) }
            }
            fn $ctx(ctx: Ctx, dest: *mut u8, source: *const u8, dst: isize, sst: isize, nelems: usize, pe: c_int) {
                // SAFETY: the program's buffers and context.
                unsafe { $function(F, ctx, dest, source, dst, sst, $size, nelems, pe) }
            }
        }
    )* };
}

/// `void name(dest, source, dst, sst, bsize, nblocks, pe)`.
macro_rules! strided_blocks {
    ($function:path; $($size:literal $name:ident $ctx:ident;)*) => { $(
        routines! {
            fn $name(
                dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize, pe: c_int,
            ) {
                // SAFETY: the program's buffers.
                unsafe { $function(F, DEFAULT, dest, source, dst, sst, $size, bsize, nblocks, pe) }
            }
            fn $ctx(
                ctx: Ctx, dest: *mut u8, source: *const u8, dst: isize, sst: isize, bsize: usize, nblocks: usize,
                pe: c_int,
            ) {
                // SAFETY: the program's buffers and context.
                unsafe { $function(F, ctx, dest, source, dst, sst, $size, bsize, nblocks, pe) }
            }
        }
    )* };
}

/// `TYPE name(source, pe)`.
macro_rules! fetch {
    ($($t:ident $name:ident $($ctx:ident)?;)*) => { $(
        routines! {
            fn $name(source: *const $t, pe: c_int) -> $t {
                // SAFETY: the program's object.
                <$t>::from_word(unsafe {
                    amo::fetching(F, DEFAULT, Op::Fetch, source.cast_mut().cast(), none::<$t>(), none::<$t>(), pe)
                })
            }
            $(fn $ctx(ctx: Ctx, source: *const $t, pe: c_int) -> $t {
                // SAFETY: the program's object and context.
                <$t>::from_word(unsafe {
                    amo::fetching(F, ctx, Op::Fetch, source.cast_mut().cast(), none::<$t>(), none::<$t>(), pe)
                })
            })?
        }
    )* };
}

/// `TYPE name(dest, value, pe)`.
macro_rules! fetching {
    ($op:ident; $($t:ident $name:ident $($ctx:ident)?;)*) => { $(
        routines! {
            fn $name(dest: *mut $t, value: $t, pe: c_int) -> $t {
                // SAFETY: the program's object.
                <$t>::from_word(unsafe {
                    amo::fetching(F, DEFAULT, Op::$op, dest.cast(), value.bits(), none::<$t>(), pe)
                })
            }
            $(fn $ctx(ctx: Ctx, dest: *mut $t, value: $t, pe: c_int) -> $t {
                // SAFETY: the program's object and context.
                <$t>::from_word(unsafe {
                    amo::fetching(F, ctx, Op::$op, dest.cast(), value.bits(), none::<$t>(), pe)
                })
            })?
        }
    )* };
}

/// `TYPE name(dest, pe)`.
macro_rules! fetching_inc {
    ($($t:ident $name:ident $($ctx:ident)?;)*) => { $(
        routines! {
            fn $name(dest: *mut $t, pe: c_int) -> $t {
                // SAFETY: the program's object.
                <$t>::from_word(unsafe {
                    amo::fetching(F, DEFAULT, Op::Inc, dest.cast(), none::<$t>(), none::<$t>(), pe)
                })
            }
            $(fn $ctx(ctx: Ctx, dest: *mut $t, pe: c_int) -> $t {
                // SAFETY: the program's object and context.
                <$t>::from_word(unsafe {
                    amo::fetching(F, ctx, Op::Inc, dest.cast(), none::<$t>(), none::<$t>(), pe)
                })
            })?
        }
    )* };
}

/// `TYPE name(dest, cond, value, pe)`.
macro_rules! compare {
    ($($t:ident $name:ident $($ctx:ident)?;)*) => { $(
        routines! {
            fn $name(dest: *mut $t, cond: $t, value: $t, pe: c_int) -> $t {
                // SAFETY: the program's object.
                <$t>::from_word(unsafe {
                    amo::fetching(F, DEFAULT, Op::CompareSwap, dest.cast(), value.bits(), cond.bits(), pe)
                })
            }
            $(fn $ctx(ctx: Ctx, dest: *mut $t, cond: $t, value: $t, pe: c_int) -> $t {
                // SAFETY: the program's object and context.
                <$t>::from_word(unsafe {
                    amo::fetching(F, ctx, Op::CompareSwap, dest.cast(), value.bits(), cond.bits(), pe)
                })
            })?
        }
    )* };
}

/// `void name(dest, value, pe)`.
macro_rules! update {
    ($op:ident; $($t:ident $name:ident $($ctx:ident)?;)*) => { $(
        routines! {
            fn $name(dest: *mut $t, value: $t, pe: c_int) {
                // SAFETY: the program's object.
                unsafe { amo::update::<<$t as Scalar>::Word>(F, DEFAULT, Op::$op, dest.cast(), value.bits(), pe) }
            }
            $(fn $ctx(ctx: Ctx, dest: *mut $t, value: $t, pe: c_int) {
                // SAFETY: the program's object and context.
                unsafe { amo::update::<<$t as Scalar>::Word>(F, ctx, Op::$op, dest.cast(), value.bits(), pe) }
            })?
        }
    )* };
}

/// `void name(dest, pe)`.
macro_rules! inc {
    ($($t:ident $name:ident $($ctx:ident)?;)*) => { $(
        routines! {
            fn $name(dest: *mut $t, pe: c_int) {
                // SAFETY: the program's object.
                unsafe { amo::update::<<$t as Scalar>::Word>(F, DEFAULT, Op::Inc, dest.cast(), none::<$t>(), pe) }
            }
            $(fn $ctx(ctx: Ctx, dest: *mut $t, pe: c_int) {
                // SAFETY: the program's object and context.
                unsafe { amo::update::<<$t as Scalar>::Word>(F, ctx, Op::Inc, dest.cast(), none::<$t>(), pe) }
            })?
        }
    )* };
}

/// `void name(fetch, source, pe)`.
macro_rules! fetch_nbi {
    ($($t:ident $name:ident $ctx:ident;)*) => { $(
        routines! {
            fn $name(fetch: *mut $t, source: *const $t, pe: c_int) {
                // SAFETY: the program's objects.
                unsafe {
                    amo::fetching_nbi(
                        F, DEFAULT, fetch.cast(), Op::Fetch, source.cast_mut().cast(), none::<$t>(), none::<$t>(), pe,
                    )
                }
            }
            fn $ctx(ctx: Ctx, fetch: *mut $t, source: *const $t, pe: c_int) {
                // SAFETY: the program's objects and context.
                unsafe {
                    amo::fetching_nbi(
                        F, ctx, fetch.cast(), Op::Fetch, source.cast_mut().cast(), none::<$t>(), none::<$t>(), pe,
                    )
                }
            }
        }
    )* };
}

/// `void name(fetch, dest, value, pe)`.
macro_rules! fetching_nbi {
    ($op:ident; $($t:ident $name:ident $ctx:ident;)*) => { $(
        routines! {
            fn $name(fetch: *mut $t, dest: *mut $t, value: $t, pe: c_int) {
                // SAFETY: the program's objects.
                unsafe {
                    amo::fetching_nbi(
                        F, DEFAULT, fetch.cast(), Op::$op, dest.cast(), value.bits(), none::<$t>(), pe,
                    )
                }
            }
            fn $ctx(ctx: Ctx, fetch: *mut $t, dest: *mut $t, value: $t, pe: c_int) {
                // SAFETY: the program's objects and context.
                unsafe {
                    amo::fetching_nbi(F, ctx, fetch.cast(), Op::$op, dest.cast(), value.bits(), none::<$t>(), pe)
                }
            }
        }
    )* };
}

/// `void name(fetch, dest, pe)`.
macro_rules! fetching_inc_nbi {
    ($($t:ident $name:ident $ctx:ident;)*) => { $(
        routines! {
            fn $name(fetch: *mut $t, dest: *mut $t, pe: c_int) {
                // SAFETY: the program's objects.
                unsafe {
                    amo::fetching_nbi(
                        F, DEFAULT, fetch.cast(), Op::Inc, dest.cast(), none::<$t>(), none::<$t>(), pe,
                    )
                }
            }
            fn $ctx(ctx: Ctx, fetch: *mut $t, dest: *mut $t, pe: c_int) {
                // SAFETY: the program's objects and context.
                unsafe {
                    amo::fetching_nbi(F, ctx, fetch.cast(), Op::Inc, dest.cast(), none::<$t>(), none::<$t>(), pe)
                }
            }
        }
    )* };
}

/// `void name(fetch, dest, cond, value, pe)`.
macro_rules! compare_nbi {
    ($($t:ident $name:ident $ctx:ident;)*) => { $(
        routines! {
            fn $name(fetch: *mut $t, dest: *mut $t, cond: $t, value: $t, pe: c_int) {
                // SAFETY: the program's objects.
                unsafe {
                    amo::fetching_nbi(
                        F, DEFAULT, fetch.cast(), Op::CompareSwap, dest.cast(), value.bits(), cond.bits(), pe,
                    )
                }
            }
            fn $ctx(ctx: Ctx, fetch: *mut $t, dest: *mut $t, cond: $t, value: $t, pe: c_int) {
                // SAFETY: the program's objects and context.
                unsafe {
                    amo::fetching_nbi(
                        F, ctx, fetch.cast(), Op::CompareSwap, dest.cast(), value.bits(), cond.bits(), pe,
                    )
                }
            }
        }
    )* };
}

/// `void name(dest, source, nelems, sig_addr, signal, sig_op, pe)`.
macro_rules! signal {
    ($nbi:literal; $($size:literal $name:ident $ctx:ident;)*) => { $(
        routines! {
            fn $name(
                dest: *mut u8, source: *const u8, nelems: usize, sig_addr: *mut u64, signal: u64, sig_op: c_int,
                pe: c_int,
            ) {
                // SAFETY: the program's buffers and signal.
                unsafe {
                    hetmp_shmem::signal::put(
                        F, DEFAULT, dest, source, bytes(nelems, $size), sig_addr, signal, sig_op, pe, $nbi,
                    )
                }
            }
            fn $ctx(
                ctx: Ctx, dest: *mut u8, source: *const u8, nelems: usize, sig_addr: *mut u64, signal: u64,
                sig_op: c_int, pe: c_int,
            ) {
                // SAFETY: the program's buffers, signal and context.
                unsafe {
                    hetmp_shmem::signal::put(
                        F, ctx, dest, source, bytes(nelems, $size), sig_addr, signal, sig_op, pe, $nbi,
                    )
                }
            }
        }
    )* };
}

/// `void name(ivar, cmp, cmp_value)`.
macro_rules! wait_until {
    ($($t:ident $name:ident;)*) => { $(
        routines! {
            fn $name(ivar: *mut $t, cmp: c_int, cmp_value: $t) {
                // SAFETY: the program's object.
                unsafe { wait::until(F, ivar, cmp, cmp_value) };
            }
        }
    )* };
}

/// `void name(ivar, cmp_value)`: waits until the variable has another value than `cmp_value`.
macro_rules! until_changed {
    ($($t:ident $name:ident;)*) => { $(
        routines! {
            fn $name(ivar: *mut $t, cmp_value: $t) {
                // SAFETY: the program's object.
                unsafe { wait::until(F, ivar, NOT_EQUAL, cmp_value) };
            }
        }
    )* };
}

/// `int name(ivar, cmp, cmp_value)`.
macro_rules! test_one {
    ($($t:ident $name:ident;)*) => { $(
        routines! {
            fn $name(ivar: *mut $t, cmp: c_int, cmp_value: $t) -> c_int {
                // SAFETY: the program's object.
                unsafe { wait::test(F, ivar, cmp, cmp_value) }
            }
        }
    )* };
}

/// `name(ivars, nelems, status, cmp, cmp_value)`.
macro_rules! many {
    ($function:ident $r:ty; $($t:ident $name:ident;)*) => { $(
        routines! {
            fn $name(ivars: *mut $t, nelems: usize, status: *const c_int, cmp: c_int, cmp_value: $t) -> $r {
                // SAFETY: the program's arrays.
                unsafe { wait::$function(F, ivars, nelems, status, cmp, Values::One(cmp_value)) }
            }
        }
    )* };
}

/// `name(ivars, nelems, status, cmp, cmp_values)`.
macro_rules! many_vector {
    ($function:ident $r:ty; $($t:ident $name:ident;)*) => { $(
        routines! {
            fn $name(
                ivars: *mut $t, nelems: usize, status: *const c_int, cmp: c_int, cmp_values: *const $t,
            ) -> $r {
                // SAFETY: the program's arrays.
                unsafe { wait::$function(F, ivars, nelems, status, cmp, Values::Each(cmp_values)) }
            }
        }
    )* };
}

/// `size_t name(ivars, nelems, indices, status, cmp, cmp_value)`.
macro_rules! some {
    ($function:ident; $($t:ident $name:ident;)*) => { $(
        routines! {
            fn $name(
                ivars: *mut $t, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int, cmp_value: $t,
            ) -> usize {
                // SAFETY: the program's arrays.
                unsafe { wait::$function(F, ivars, nelems, indices, status, cmp, Values::One(cmp_value)) }
            }
        }
    )* };
}

/// `size_t name(ivars, nelems, indices, status, cmp, cmp_values)`.
macro_rules! some_vector {
    ($function:ident; $($t:ident $name:ident;)*) => { $(
        routines! {
            fn $name(
                ivars: *mut $t, nelems: usize, indices: *mut usize, status: *const c_int, cmp: c_int,
                cmp_values: *const $t,
            ) -> usize {
                // SAFETY: the program's arrays.
                unsafe { wait::$function(F, ivars, nelems, indices, status, cmp, Values::Each(cmp_values)) }
            }
        }
    )* };
}

pub(super) use {
    block, compare, compare_nbi, fetch, fetch_nbi, fetching, fetching_inc, fetching_inc_nbi,
    fetching_nbi, g, inc, many, many_vector, p, signal, some, some_vector, strided, strided_blocks,
    test_one, until_changed, update, wait_until,
};
