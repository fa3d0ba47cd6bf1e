//! Atomic constructs (`__kmpc_atomic_*`). Today's clang emits instructions instead; code from older compilers
//! calls these functions.
//!
//! A name tells the variable's type and the operation. A name with `_cpt` returns a value: the value before
//! the operation, or, if the last argument is not 0, the value after it. A name with `_rev` takes the
//! operands in the other order. `long double` and complex types are in `c/atomics.c`.

use super::Loc;
use crate::entry::{entries, export};
use core::sync::atomic::{
    AtomicU16, AtomicU32, AtomicU64, AtomicU8,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use hetmp_omp::critical;
use libc::c_void;

/// A type for which processors have an atomic compare-and-exchange.
trait Atom: Copy {
    /// An integer of the type's size. Values are compared by their bits.
    type Bits: Copy + PartialEq;
    fn bits(self) -> Self::Bits;
    fn from_bits(bits: Self::Bits) -> Self;
    /// # Safety
    /// `p` points to an aligned variable of the program.
    unsafe fn read(p: *mut Self) -> Self::Bits;
    /// # Safety
    /// `p` points to an aligned variable of the program.
    unsafe fn exchange(p: *mut Self, old: Self::Bits, new: Self::Bits) -> Result<(), Self::Bits>;
}

macro_rules! atom {
    ($($t:ty, $bits:ty, $atomic:ty, $to:expr, $from:expr;)+) => {$(
        impl Atom for $t {
            type Bits = $bits;
            #[inline]
            fn bits(self) -> $bits {
                $to(self)
            }
            #[inline]
            fn from_bits(bits: $bits) -> $t {
                $from(bits)
            }
            #[inline]
            unsafe fn read(p: *mut $t) -> $bits {
                // SAFETY: `p` is an aligned variable of the program: the contract of `Atom::read`. Size and
                // alignment are those of the atomic type.
                unsafe { &*p.cast::<$atomic>() }.load(Relaxed)
            }
            #[inline]
            unsafe fn exchange(p: *mut $t, old: $bits, new: $bits) -> Result<(), $bits> {
                // SAFETY: `p` is an aligned variable of the program: the contract of `Atom::exchange`. Size and
                // alignment are those of the atomic type.
                let a = unsafe { &*p.cast::<$atomic>() };
                a.compare_exchange_weak(old, new, AcqRel, Acquire).map(|_| ())
            }
        }
    )+};
}

atom! {
    i8, u8, AtomicU8, |v: i8| v as u8, |b: u8| b as i8;
    u8, u8, AtomicU8, |v| v, |b| b;
    i16, u16, AtomicU16, |v: i16| v as u16, |b: u16| b as i16;
    u16, u16, AtomicU16, |v| v, |b| b;
    i32, u32, AtomicU32, |v: i32| v as u32, |b: u32| b as i32;
    u32, u32, AtomicU32, |v| v, |b| b;
    i64, u64, AtomicU64, |v: i64| v as u64, |b: u64| b as i64;
    u64, u64, AtomicU64, |v| v, |b| b;
    f32, u32, AtomicU32, f32::to_bits, f32::from_bits;
    f64, u64, AtomicU64, f64::to_bits, f64::from_bits;
}

/// Replaces the variable's value by `f` of it. Returns the values before and after. If the variable is not
/// aligned (in a packed structure), the lock of atomic constructs guards it.
///
/// # Safety
/// `p` points to a variable of the program.
#[inline]
unsafe fn update<T: Atom>(p: *mut T, f: impl Fn(T) -> T) -> (T, T) {
    if !p.is_aligned() {
        critical::atomic_begin();
        // SAFETY: `p` is a variable of the program: this function's contract. The lock keeps other updates
        // away.
        let old = unsafe { p.read_unaligned() };
        let new = f(old);
        // SAFETY: `p` is a variable of the program: this function's contract. The lock keeps other updates away.
        unsafe { p.write_unaligned(new) };
        critical::atomic_end();
        return (old, new);
    }
    // SAFETY: `p` is a variable of the program: this function's contract. The test above showed that it is
    // aligned.
    let mut old = unsafe { T::read(p) };
    loop {
        let new = f(T::from_bits(old));
        // SAFETY: `p` is a variable of the program: this function's contract. The test above showed that it
        // is aligned.
        match unsafe { T::exchange(p, old, new.bits()) } {
            Ok(()) => return (T::from_bits(old), new),
            Err(now) => old = now,
        }
    }
}

/// One operation for one type: the plain form, or with `captured` the form that returns a value.
macro_rules! operation {
    ($type:literal, $t:ty, $rhs:ty, $name:ident, $op:literal, $f:expr) => {
        unsafe extern "C" fn $name(_loc: Loc, _gtid: i32, p: *mut $t, rhs: $rhs) {
            // SAFETY: the compiled code passes its variable.
            unsafe { update(p, |x: $t| $f(x, rhs)) };
        }
        export!(
            $name,
            concat!("__kmpc_atomic_", $type, "_", $op),
            "VERSION",
            "@@"
        );
    };
    (captured $type:literal, $t:ty, $name:ident, $op:literal, $f:expr) => {
        unsafe extern "C" fn $name(_loc: Loc, _gtid: i32, p: *mut $t, rhs: $t, flag: i32) -> $t {
            // SAFETY: the compiled code passes its variable.
            let (old, new) = unsafe { update(p, |x: $t| $f(x, rhs)) };
            if flag != 0 {
                new
            } else {
                old
            }
        }
        export!(
            $name,
            concat!("__kmpc_atomic_", $type, "_", $op),
            "VERSION",
            "@@"
        );
    };
}

/// All operations for one type. Each has a plain and a captured form. Operations in front of the first `|`
/// also have both forms with reversed operands.
macro_rules! family {
    (
        $module:ident, $type:literal, $t:ty;
        $($r:ident $r_cpt:ident $r_rev:ident $r_cpt_rev:ident
          $rn:literal $rn_cpt:literal $rn_rev:literal $rn_cpt_rev:literal = $rf:expr;)*
        $(| $o:ident $o_cpt:ident $on:literal $on_cpt:literal = $of:expr;)*
    ) => {
        mod $module {
            use super::*;
            $(
                operation!($type, $t, $t, $r, $rn, $rf);
                operation!(captured $type, $t, $r_cpt, $rn_cpt, $rf);
                operation!($type, $t, $t, $r_rev, $rn_rev, |x, rhs| $rf(rhs, x));
                operation!(captured $type, $t, $r_cpt_rev, $rn_cpt_rev, |x, rhs| $rf(rhs, x));
            )*
            $(
                operation!($type, $t, $t, $o, $on, $of);
                operation!(captured $type, $t, $o_cpt, $on_cpt, $of);
            )*
        }
    };
}

/// Reading, writing and exchanging, for one type.
macro_rules! access {
    ($module:ident, $type:literal, $t:ty) => {
        mod $module {
            use super::*;
            unsafe extern "C" fn rd(_loc: Loc, _gtid: i32, p: *mut $t) -> $t {
                // SAFETY: the compiled code passes its variable.
                unsafe { update(p, |x: $t| x) }.0
            }
            unsafe extern "C" fn wr(_loc: Loc, _gtid: i32, p: *mut $t, rhs: $t) {
                // SAFETY: the compiled code passes its variable.
                unsafe { update(p, |_: $t| rhs) };
            }
            unsafe extern "C" fn swp(_loc: Loc, _gtid: i32, p: *mut $t, rhs: $t) -> $t {
                // SAFETY: the compiled code passes its variable.
                unsafe { update(p, |_: $t| rhs) }.0
            }
            export!(rd, concat!("__kmpc_atomic_", $type, "_rd"), "VERSION", "@@");
            export!(wr, concat!("__kmpc_atomic_", $type, "_wr"), "VERSION", "@@");
            export!(
                swp,
                concat!("__kmpc_atomic_", $type, "_swp"),
                "VERSION",
                "@@"
            );
        }
    };
}

macro_rules! integers {
    ($($module:ident $mixed:ident $reads:ident $unsigned:ident $type:literal $utype:literal $t:ident $u:ident;)+) => {$(
        family! {
            $module, $type, $t;
            sub sub_cpt sub_rev sub_cpt_rev "sub" "sub_cpt" "sub_rev" "sub_cpt_rev" = $t::wrapping_sub;
            div div_cpt div_rev div_cpt_rev "div" "div_cpt" "div_rev" "div_cpt_rev" = $t::wrapping_div;
            shl shl_cpt shl_rev shl_cpt_rev "shl" "shl_cpt" "shl_rev" "shl_cpt_rev"
                = |x: $t, n: $t| x.wrapping_shl(n as u32);
            shr shr_cpt shr_rev shr_cpt_rev "shr" "shr_cpt" "shr_rev" "shr_cpt_rev"
                = |x: $t, n: $t| x.wrapping_shr(n as u32);
            | add add_cpt "add" "add_cpt" = $t::wrapping_add;
            | mul mul_cpt "mul" "mul_cpt" = $t::wrapping_mul;
            | andb andb_cpt "andb" "andb_cpt" = |x: $t, y: $t| x & y;
            | orb orb_cpt "orb" "orb_cpt" = |x: $t, y: $t| x | y;
            | xor xor_cpt "xor" "xor_cpt" = |x: $t, y: $t| x ^ y;
            | neqv neqv_cpt "neqv" "neqv_cpt" = |x: $t, y: $t| x ^ y;
            | eqv eqv_cpt "eqv" "eqv_cpt" = |x: $t, y: $t| x ^ !y;
            | andl andl_cpt "andl" "andl_cpt" = |x: $t, y: $t| $t::from(x != 0 && y != 0);
            | orl orl_cpt "orl" "orl_cpt" = |x: $t, y: $t| $t::from(x != 0 || y != 0);
            | min min_cpt "min" "min_cpt" = |x: $t, y: $t| x.min(y);
            | max max_cpt "max" "max_cpt" = |x: $t, y: $t| x.max(y);
        }
        mod $mixed {
            use super::*;
            operation!($type, $t, f64, mul, "mul_float8", |x: $t, y: f64| (x as f64 * y) as $t);
            operation!($type, $t, f64, div, "div_float8", |x: $t, y: f64| (x as f64 / y) as $t);
        }
        access!($reads, $type, $t);
        family! {
            $unsigned, $utype, $u;
            div div_cpt div_rev div_cpt_rev "div" "div_cpt" "div_rev" "div_cpt_rev" = $u::wrapping_div;
            shr shr_cpt shr_rev shr_cpt_rev "shr" "shr_cpt" "shr_rev" "shr_cpt_rev"
                = |x: $u, n: $u| x.wrapping_shr(n as u32);
        }
    )+};
}

integers! {
    fixed1 fixed1_mixed fixed1_access fixed1u "fixed1" "fixed1u" i8 u8;
    fixed2 fixed2_mixed fixed2_access fixed2u "fixed2" "fixed2u" i16 u16;
    fixed4 fixed4_mixed fixed4_access fixed4u "fixed4" "fixed4u" i32 u32;
    fixed8 fixed8_mixed fixed8_access fixed8u "fixed8" "fixed8u" i64 u64;
}

macro_rules! floats {
    ($($module:ident $reads:ident $type:literal $t:ident;)+) => {$(
        family! {
            $module, $type, $t;
            sub sub_cpt sub_rev sub_cpt_rev "sub" "sub_cpt" "sub_rev" "sub_cpt_rev" = |x: $t, y: $t| x - y;
            div div_cpt div_rev div_cpt_rev "div" "div_cpt" "div_rev" "div_cpt_rev" = |x: $t, y: $t| x / y;
            | add add_cpt "add" "add_cpt" = |x: $t, y: $t| x + y;
            | mul mul_cpt "mul" "mul_cpt" = |x: $t, y: $t| x * y;
            | min min_cpt "min" "min_cpt" = |x: $t, y: $t| if x < y { x } else { y };
            | max max_cpt "max" "max_cpt" = |x: $t, y: $t| if x > y { x } else { y };
        }
        access!($reads, $type, $t);
    )+};
}

floats! {
    float4 float4_access "float4" f32;
    float8 float8_access "float8" f64;
}

operation!(
    "float4",
    f32,
    f64,
    float4_add_float8,
    "add_float8",
    |x: f32, y: f64| (f64::from(x) + y) as f32
);
operation!(
    "float4",
    f32,
    f64,
    float4_sub_float8,
    "sub_float8",
    |x: f32, y: f64| (f64::from(x) - y) as f32
);
operation!(
    "float4",
    f32,
    f64,
    float4_mul_float8,
    "mul_float8",
    |x: f32, y: f64| (f64::from(x) * y) as f32
);
operation!(
    "float4",
    f32,
    f64,
    float4_div_float8,
    "div_float8",
    |x: f32, y: f64| (f64::from(x) / y) as f32
);

/// Comparing and exchanging: if the variable's value is `e`, the value becomes `d`.
macro_rules! compare {
    ($($module:ident $n:literal $t:ty;)+) => {$(
        mod $module {
            use super::*;

            /// Compares and exchanges. Returns the value before.
            unsafe fn exchange(p: *mut $t, e: $t, d: $t) -> $t {
                // SAFETY: the compiled code passes its variable.
                unsafe { update(p, |x: $t| if x == e { d } else { x }) }.0
            }
            unsafe extern "C" fn whether(_loc: Loc, _gtid: i32, p: *mut $t, e: $t, d: $t) -> bool {
                // SAFETY: the compiled code passes its variable.
                unsafe { exchange(p, e, d) == e }
            }
            unsafe extern "C" fn before(_loc: Loc, _gtid: i32, p: *mut $t, e: $t, d: $t) -> $t {
                // SAFETY: the compiled code passes its variable.
                unsafe { exchange(p, e, d) }
            }
            unsafe extern "C" fn whether_or_value(
                _loc: Loc, _gtid: i32, p: *mut $t, e: $t, d: $t, value: *mut $t,
            ) -> bool {
                // SAFETY: the compiled code passes its variables.
                unsafe {
                    let old = exchange(p, e, d);
                    if old != e {
                        *value = old;
                    }
                    old == e
                }
            }
            unsafe extern "C" fn before_and_value(
                _loc: Loc, _gtid: i32, p: *mut $t, e: $t, d: $t, value: *mut $t,
            ) -> $t {
                // SAFETY: the compiled code passes its variables.
                unsafe {
                    let old = exchange(p, e, d);
                    *value = if old == e { d } else { old };
                    old
                }
            }
            export!(whether, concat!("__kmpc_atomic_bool_", $n, "_cas"), "VERSION", "@@");
            export!(before, concat!("__kmpc_atomic_val_", $n, "_cas"), "VERSION", "@@");
            export!(whether_or_value, concat!("__kmpc_atomic_bool_", $n, "_cas_cpt"), "VERSION", "@@");
            export!(before_and_value, concat!("__kmpc_atomic_val_", $n, "_cas_cpt"), "VERSION", "@@");
        }
    )+};
}

compare! {
    compare1 "1" i8;
    compare2 "2" i16;
    compare4 "4" i32;
    compare8 "8" i64;
}

/// Applies an operation to its second and third argument, and writes the result to its first.
type Operation = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void);

/// Any operation, on a variable of any size.
unsafe extern "C" fn any(_loc: Loc, _gtid: i32, lhs: *mut c_void, rhs: *mut c_void, f: Operation) {
    critical::atomic_begin();
    // SAFETY: the compiled code passes a function that fits its variables.
    unsafe { f(lhs, lhs, rhs) };
    critical::atomic_end();
}

export!(any, "__kmpc_atomic_1", "VERSION", "@@");
export!(any, "__kmpc_atomic_2", "VERSION", "@@");
export!(any, "__kmpc_atomic_4", "VERSION", "@@");
export!(any, "__kmpc_atomic_8", "VERSION", "@@");
export!(any, "__kmpc_atomic_10", "VERSION", "@@");
export!(any, "__kmpc_atomic_16", "VERSION", "@@");
export!(any, "__kmpc_atomic_20", "VERSION", "@@");
export!(any, "__kmpc_atomic_32", "VERSION", "@@");

entries! {
    "VERSION" default:
    /// Begins an atomic construct for which there is no entry.
    fn __kmpc_atomic_start() {
        critical::atomic_begin();
    }

    /// Ends an atomic construct that `__kmpc_atomic_start` began.
    fn __kmpc_atomic_end() {
        critical::atomic_end();
    }
}

/// Exports functions that `c/atomics.c` defines.
macro_rules! from_c {
    ($($type:literal: $($op:literal)+;)+) => {$($(
        core::arch::global_asm!(
            ".pushsection .text.hetmp_entry, \"ax\", @progbits",
            ".p2align 4",
            concat!(".globl hetmp_entry.atomic_", $type, "_", $op),
            concat!(".type hetmp_entry.atomic_", $type, "_", $op, ", @function"),
            concat!("hetmp_entry.atomic_", $type, "_", $op, ":"),
            concat!("jmp hetmp_atomic_", $type, "_", $op),
            concat!(".size hetmp_entry.atomic_", $type, "_", $op, ", . - hetmp_entry.atomic_", $type, "_", $op),
            concat!(
                ".symver hetmp_entry.atomic_", $type, "_", $op, ", __kmpc_atomic_", $type, "_", $op,
                "@@VERSION, remove"
            ),
            ".popsection",
        );
    )+)+};
}

#[cfg(target_arch = "x86_64")]
from_c! {
    "float10": "add" "sub" "mul" "div" "sub_rev" "div_rev" "wr" "rd" "swp" "min" "max" "add_cpt" "sub_cpt"
        "mul_cpt" "div_cpt" "sub_cpt_rev" "div_cpt_rev" "min_cpt" "max_cpt";
    "cmplx4": "add" "sub" "mul" "div" "sub_rev" "div_rev" "wr" "rd" "swp" "add_cpt" "sub_cpt" "mul_cpt"
        "div_cpt" "sub_cpt_rev" "div_cpt_rev" "add_cmplx8" "sub_cmplx8" "mul_cmplx8" "div_cmplx8";
    "cmplx8": "add" "sub" "mul" "div" "sub_rev" "div_rev" "wr" "rd" "swp" "add_cpt" "sub_cpt" "mul_cpt"
        "div_cpt" "sub_cpt_rev" "div_cpt_rev";
    "cmplx10": "add" "sub" "mul" "div" "sub_rev" "div_rev" "wr" "rd" "swp" "add_cpt" "sub_cpt" "mul_cpt"
        "div_cpt" "sub_cpt_rev" "div_cpt_rev";
}
