//! Atomic constructs (`__kmpc_atomic_*`). Today's clang emits instructions instead; code from older compilers
//! calls these functions.
//!
//! A name tells the variable's type and the operation. A name with `_cpt` returns a value: the value before
//! the operation, or, if the last argument is not 0, the value after it. A name with `_rev` takes the
//! operands in the other order. `long double` and complex types are in `c/atomics.c`, under the lock of atomic
//! constructs.

use super::Loc;
use crate::entry::{entries, export};
use core::sync::atomic::{
    AtomicI16, AtomicI32, AtomicI64, AtomicI8, AtomicU16, AtomicU32, AtomicU64, AtomicU8,
    Ordering::{AcqRel, Acquire},
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
    unsafe fn swap(p: *mut Self, new: Self::Bits) -> Self::Bits;
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
                unsafe { &*p.cast::<$atomic>() }.load(Acquire)
            }
            #[inline]
            unsafe fn swap(p: *mut $t, new: $bits) -> $bits {
                // SAFETY: `p` is an aligned variable of the program: the contract of `Atom::swap`. Size and
                // alignment are those of the atomic type.
                unsafe { &*p.cast::<$atomic>() }.swap(new, AcqRel)
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

/// Replaces the value of a variable that is not aligned (in a packed structure) by `f` of it: the lock of atomic
/// constructs guards the variable. Returns the values before and after.
///
/// # Safety
/// `p` points to a variable of the program.
#[cold]
unsafe fn update_unaligned<T: Atom>(p: *mut T, f: impl Fn(T) -> T) -> (T, T) {
    critical::atomic_begin();
    // SAFETY: `p` is a variable of the program: this function's contract. The lock keeps other updates away.
    let old = unsafe { p.read_unaligned() };
    let new = f(old);
    // SAFETY: `p` is a variable of the program: this function's contract. The lock keeps other updates away.
    unsafe { p.write_unaligned(new) };
    critical::atomic_end();
    (old, new)
}

/// Replaces the variable's value by `f` of it. Returns the values before and after.
///
/// # Safety
/// `p` points to a variable of the program.
#[inline]
unsafe fn update<T: Atom>(p: *mut T, f: impl Fn(T) -> T) -> (T, T) {
    if !p.is_aligned() {
        // SAFETY: `p` is a variable of the program: this function's contract.
        return unsafe { update_unaligned(p, f) };
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

/// As [`update`], for operations that often leave the value as it is, such as a maximum: then nothing is written, and
/// the threads' caches can share the variable.
///
/// # Safety
/// `p` points to a variable of the program.
#[inline]
unsafe fn update_if_changed<T: Atom>(p: *mut T, f: impl Fn(T) -> T) -> (T, T) {
    if !p.is_aligned() {
        // SAFETY: `p` is a variable of the program: this function's contract.
        return unsafe { update_unaligned(p, f) };
    }
    // SAFETY: `p` is a variable of the program: this function's contract. The test above showed that it is
    // aligned.
    let mut old = unsafe { T::read(p) };
    loop {
        let new = f(T::from_bits(old));
        if new.bits() == old {
            return (new, new);
        }
        // SAFETY: `p` is a variable of the program: this function's contract. The test above showed that it
        // is aligned.
        match unsafe { T::exchange(p, old, new.bits()) } {
            Ok(()) => return (T::from_bits(old), new),
            Err(now) => old = now,
        }
    }
}

/// Reads the variable.
///
/// # Safety
/// `p` points to a variable of the program.
#[inline]
unsafe fn read<T: Atom>(p: *mut T) -> T {
    if p.is_aligned() {
        // SAFETY: `p` is a variable of the program, by this function's contract, and aligned.
        T::from_bits(unsafe { T::read(p) })
    } else {
        // SAFETY: `p` is a variable of the program: this function's contract.
        unsafe { update_unaligned(p, |x| x) }.0
    }
}

/// Writes the variable. Returns the value before.
///
/// # Safety
/// `p` points to a variable of the program.
#[inline]
unsafe fn swap<T: Atom>(p: *mut T, new: T) -> T {
    if p.is_aligned() {
        // SAFETY: `p` is a variable of the program, by this function's contract, and aligned.
        T::from_bits(unsafe { T::swap(p, new.bits()) })
    } else {
        // SAFETY: `p` is a variable of the program: this function's contract.
        unsafe { update_unaligned(p, move |_| new) }.0
    }
}

/// Operations on integers for which processors have one instruction: under contention every try succeeds. Each returns
/// the values before and after.
trait Instruction: Atom {
    /// # Safety
    /// `p` points to a variable of the program.
    unsafe fn add(p: *mut Self, rhs: Self) -> (Self, Self);
    /// # Safety
    /// `p` points to a variable of the program.
    unsafe fn sub(p: *mut Self, rhs: Self) -> (Self, Self);
    /// # Safety
    /// `p` points to a variable of the program.
    unsafe fn and(p: *mut Self, rhs: Self) -> (Self, Self);
    /// # Safety
    /// `p` points to a variable of the program.
    unsafe fn or(p: *mut Self, rhs: Self) -> (Self, Self);
    /// # Safety
    /// `p` points to a variable of the program.
    unsafe fn xor(p: *mut Self, rhs: Self) -> (Self, Self);
}

macro_rules! instruction {
    ($t:ident $atomic:ident: $($op:ident $fetch:ident $pure:expr;)+) => {
        impl Instruction for $t {
            $(
                #[inline]
                unsafe fn $op(p: *mut $t, rhs: $t) -> ($t, $t) {
                    let f = move |x: $t| $pure(x, rhs);
                    if !p.is_aligned() {
                        // SAFETY: `p` is a variable of the program: the contract of the trait's functions.
                        return unsafe { update_unaligned(p, f) };
                    }
                    // SAFETY: `p` is a variable of the program, by the contract of the trait's functions, and
                    // aligned. Its size is that of the atomic type.
                    let a = unsafe { &*p.cast::<$atomic>() };
                    let old = a.$fetch(rhs, AcqRel);
                    (old, f(old))
                }
            )+
        }
    };
    ($($t:ident $atomic:ident;)+) => {$(
        instruction! {
            $t $atomic:
            add fetch_add $t::wrapping_add;
            sub fetch_sub $t::wrapping_sub;
            and fetch_and |x: $t, y: $t| x & y;
            or fetch_or |x: $t, y: $t| x | y;
            xor fetch_xor |x: $t, y: $t| x ^ y;
        }
    )+};
}

instruction! {
    i8 AtomicI8;
    i16 AtomicI16;
    i32 AtomicI32;
    i64 AtomicI64;
}

/// How an operation `f` comes to the variable at `p`: by a loop (`update`, or `reversed` with the operands in the other
/// order), by a loop that need not write (`if_changed`), or by a function that does it all (`instruction`). Values
/// before and after.
macro_rules! apply {
    (update $t:ty, $p:ident, $rhs:ident, $f:expr) => {
        update($p, move |x: $t| $f(x, $rhs))
    };
    (reversed $t:ty, $p:ident, $rhs:ident, $f:expr) => {
        update($p, move |x: $t| $f($rhs, x))
    };
    (if_changed $t:ty, $p:ident, $rhs:ident, $f:expr) => {
        update_if_changed($p, move |x: $t| $f(x, $rhs))
    };
    (instruction $t:ty, $p:ident, $rhs:ident, $f:expr) => {
        $f($p, $rhs)
    };
}

/// One operation for one type: the plain form, or with `captured` the form that returns a value.
macro_rules! operation {
    ($way:ident $type:literal, $t:ty, $rhs:ty, $name:ident, $op:literal, $f:expr) => {
        unsafe extern "C" fn $name(_loc: Loc, _gtid: i32, p: *mut $t, rhs: $rhs) {
            // SAFETY: the compiled code passes its variable.
            unsafe { apply!($way $t, p, rhs, $f) };
        }
        export!(
            $name,
            concat!("__kmpc_atomic_", $type, "_", $op),
            "VERSION",
            "@@"
        );
    };
    (captured $way:ident $type:literal, $t:ty, $name:ident, $op:literal, $f:expr) => {
        unsafe extern "C" fn $name(_loc: Loc, _gtid: i32, p: *mut $t, rhs: $t, flag: i32) -> $t {
            // SAFETY: the compiled code passes its variable.
            let (old, new) = unsafe { apply!($way $t, p, rhs, $f) };
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

/// Operations for one type, each in the plain and the captured form, by the way ([`apply`]) that stands in front.
macro_rules! family {
    (
        $module:ident, $type:literal, $t:ty;
        $($way:ident $o:ident $o_cpt:ident $on:literal $on_cpt:literal = $f:expr;)*
    ) => {
        mod $module {
            use super::*;
            $(
                operation!($way $type, $t, $t, $o, $on, $f);
                operation!(captured $way $type, $t, $o_cpt, $on_cpt, $f);
            )*
        }
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! looks_first {
    ($keeps:literal) => {
        concat!("test dl, {rest}\njne 9f\n", $keeps, "\n9:")
    };
}
#[cfg(not(target_arch = "x86_64"))]
macro_rules! looks_first {
    ($keeps:literal) => {
        "/* {rest} */"
    };
}

/// A minimum or maximum for one type, in the plain and the captured form.
///
/// Most calls of a minimum or maximum leave the value as it is, and take a nanosecond. So on x86-64 the stub of the
/// plain form looks first, with the instructions `$keeps` that jump to `8:` if the variable at `rdx` keeps its value,
/// and calls the function only if the value changes. A variable that is not aligned is not read in one piece: the
/// function takes it.
macro_rules! extreme {
    ($module:ident, $type:literal, $t:ty, $op:literal, $cpt:literal, $keeps:literal, $f:expr) => {
        mod $module {
            use super::*;
            unsafe extern "C" fn plain(_loc: Loc, _gtid: i32, p: *mut $t, rhs: $t) {
                // SAFETY: the compiled code passes its variable.
                unsafe { update_if_changed(p, move |x: $t| $f(x, rhs)) };
            }
            core::arch::global_asm!(
                ".pushsection .text.hetmp_entry, \"ax\", @progbits",
                ".p2align 4",
                concat!(".globl hetmp_entry.atomic_", $type, "_", $op),
                concat!(".type hetmp_entry.atomic_", $type, "_", $op, ", @function"),
                concat!("hetmp_entry.atomic_", $type, "_", $op, ":"),
                looks_first!($keeps),
                $crate::machine::jump!("{f}"),
                "8:",
                "ret",
                concat!(".size hetmp_entry.atomic_", $type, "_", $op, ", . - hetmp_entry.atomic_", $type, "_", $op),
                concat!(
                    ".symver hetmp_entry.atomic_", $type, "_", $op, ", __kmpc_atomic_", $type, "_", $op,
                    "@@VERSION, remove"
                ),
                ".popsection",
                f = sym plain,
                rest = const align_of::<$t>() - 1,
            );
            operation!(captured if_changed $type, $t, captured, $cpt, $f);
        }
    };
}

macro_rules! extremes {
    ($($min:ident $max:ident $type:literal $t:ty: $least:literal $most:literal;)+) => {$(
        extreme!($min, $type, $t, "min", "min_cpt", $least, |x: $t, y: $t| if y < x { y } else { x });
        extreme!($max, $type, $t, "max", "max_cpt", $most, |x: $t, y: $t| if y > x { y } else { x });
    )+};
}

// The operand is in `rcx` or `xmm0`. A comparison with a NaN does not jump; the functions then keep the value, as
// libomp does.
extremes! {
    fixed1_min fixed1_max "fixed1" i8: "cmp byte ptr [rdx], cl\njle 8f" "cmp byte ptr [rdx], cl\njge 8f";
    fixed2_min fixed2_max "fixed2" i16: "cmp word ptr [rdx], cx\njle 8f" "cmp word ptr [rdx], cx\njge 8f";
    fixed4_min fixed4_max "fixed4" i32: "cmp dword ptr [rdx], ecx\njle 8f" "cmp dword ptr [rdx], ecx\njge 8f";
    fixed8_min fixed8_max "fixed8" i64: "cmp qword ptr [rdx], rcx\njle 8f" "cmp qword ptr [rdx], rcx\njge 8f";
    float4_min float4_max "float4" f32:
        "comiss xmm0, dword ptr [rdx]\njae 8f" "movss xmm1, dword ptr [rdx]\ncomiss xmm1, xmm0\njae 8f";
    float8_min float8_max "float8" f64:
        "comisd xmm0, qword ptr [rdx]\njae 8f" "movsd xmm1, qword ptr [rdx]\ncomisd xmm1, xmm0\njae 8f";
}

/// Reading, writing and exchanging, for one type.
macro_rules! access {
    ($module:ident, $type:literal, $t:ty) => {
        mod $module {
            use super::*;
            unsafe extern "C" fn rd(_loc: Loc, _gtid: i32, p: *mut $t) -> $t {
                // SAFETY: the compiled code passes its variable.
                unsafe { read(p) }
            }
            unsafe extern "C" fn wr(_loc: Loc, _gtid: i32, p: *mut $t, rhs: $t) {
                // SAFETY: the compiled code passes its variable.
                unsafe { swap(p, rhs) };
            }
            unsafe extern "C" fn swp(_loc: Loc, _gtid: i32, p: *mut $t, rhs: $t) -> $t {
                // SAFETY: the compiled code passes its variable.
                unsafe { swap(p, rhs) }
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
            instruction add add_cpt "add" "add_cpt" = $t::add;
            instruction sub sub_cpt "sub" "sub_cpt" = $t::sub;
            instruction andb andb_cpt "andb" "andb_cpt" = $t::and;
            instruction orb orb_cpt "orb" "orb_cpt" = $t::or;
            instruction xor xor_cpt "xor" "xor_cpt" = $t::xor;
            instruction neqv neqv_cpt "neqv" "neqv_cpt" = $t::xor;
            instruction eqv eqv_cpt "eqv" "eqv_cpt" = |p, y: $t| $t::xor(p, !y);
            update mul mul_cpt "mul" "mul_cpt" = $t::wrapping_mul;
            update div div_cpt "div" "div_cpt" = $t::wrapping_div;
            update shl shl_cpt "shl" "shl_cpt" = |x: $t, n: $t| x.wrapping_shl(n as u32);
            update shr shr_cpt "shr" "shr_cpt" = |x: $t, n: $t| x.wrapping_shr(n as u32);
            update andl andl_cpt "andl" "andl_cpt" = |x: $t, y: $t| $t::from(x != 0 && y != 0);
            update orl orl_cpt "orl" "orl_cpt" = |x: $t, y: $t| $t::from(x != 0 || y != 0);
            reversed sub_rev sub_cpt_rev "sub_rev" "sub_cpt_rev" = $t::wrapping_sub;
            reversed div_rev div_cpt_rev "div_rev" "div_cpt_rev" = $t::wrapping_div;
            reversed shl_rev shl_cpt_rev "shl_rev" "shl_cpt_rev" = |x: $t, n: $t| x.wrapping_shl(n as u32);
            reversed shr_rev shr_cpt_rev "shr_rev" "shr_cpt_rev" = |x: $t, n: $t| x.wrapping_shr(n as u32);
        }
        mod $mixed {
            use super::*;
            operation!(update $type, $t, f64, mul, "mul_float8", |x: $t, y: f64| (x as f64 * y) as $t);
            operation!(update $type, $t, f64, div, "div_float8", |x: $t, y: f64| (x as f64 / y) as $t);
        }
        access!($reads, $type, $t);
        family! {
            $unsigned, $utype, $u;
            update div div_cpt "div" "div_cpt" = $u::wrapping_div;
            update shr shr_cpt "shr" "shr_cpt" = |x: $u, n: $u| x.wrapping_shr(n as u32);
            reversed div_rev div_cpt_rev "div_rev" "div_cpt_rev" = $u::wrapping_div;
            reversed shr_rev shr_cpt_rev "shr_rev" "shr_cpt_rev" = |x: $u, n: $u| x.wrapping_shr(n as u32);
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
            update add add_cpt "add" "add_cpt" = |x: $t, y: $t| x + y;
            update sub sub_cpt "sub" "sub_cpt" = |x: $t, y: $t| x - y;
            update mul mul_cpt "mul" "mul_cpt" = |x: $t, y: $t| x * y;
            update div div_cpt "div" "div_cpt" = |x: $t, y: $t| x / y;
            reversed sub_rev sub_cpt_rev "sub_rev" "sub_cpt_rev" = |x: $t, y: $t| x - y;
            reversed div_rev div_cpt_rev "div_rev" "div_cpt_rev" = |x: $t, y: $t| x / y;
        }
        access!($reads, $type, $t);
    )+};
}

floats! {
    float4 float4_access "float4" f32;
    float8 float8_access "float8" f64;
}

/// `float` variables with `double` operands.
mod float4_mixed {
    use super::*;
    operation!(update "float4", f32, f64, add, "add_float8", |x: f32, y: f64| (f64::from(x) + y) as f32);
    operation!(update "float4", f32, f64, sub, "sub_float8", |x: f32, y: f64| (f64::from(x) - y) as f32);
    operation!(update "float4", f32, f64, mul, "mul_float8", |x: f32, y: f64| (f64::from(x) * y) as f32);
    operation!(update "float4", f32, f64, div, "div_float8", |x: f32, y: f64| (f64::from(x) / y) as f32);
}

/// Comparing and exchanging: if the variable's value is `e`, the value becomes `d`.
macro_rules! compare {
    ($($module:ident $n:literal $t:ty;)+) => {$(
        mod $module {
            use super::*;

            /// Compares and exchanges. Returns the value before.
            unsafe fn exchange(p: *mut $t, e: $t, d: $t) -> $t {
                // SAFETY: the compiled code passes its variable.
                unsafe { update_if_changed(p, move |x: $t| if x == e { d } else { x }) }.0
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

// By these names `c/atomics.c` takes and gives back the lock of atomic constructs. So these constructs wait as all
// others do, and tools and nodes are told.
core::arch::global_asm!(
    ".pushsection .text.hetmp_entry, \"ax\", @progbits",
    ".p2align 4",
    ".globl hetmp_atomic_begin",
    ".hidden hetmp_atomic_begin",
    ".type hetmp_atomic_begin, @function",
    "hetmp_atomic_begin:",
    crate::machine::jump!("{begin}"),
    ".size hetmp_atomic_begin, . - hetmp_atomic_begin",
    ".p2align 4",
    ".globl hetmp_atomic_end",
    ".hidden hetmp_atomic_end",
    ".type hetmp_atomic_end, @function",
    "hetmp_atomic_end:",
    crate::machine::jump!("{end}"),
    ".size hetmp_atomic_end, . - hetmp_atomic_end",
    ".popsection",
    begin = sym begin,
    end = sym end,
);

extern "C" fn begin() {
    critical::atomic_begin();
}

extern "C" fn end() {
    critical::atomic_end();
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
            $crate::machine::jump!("hetmp_atomic_", $type, "_", $op),
            concat!(".size hetmp_entry.atomic_", $type, "_", $op, ", . - hetmp_entry.atomic_", $type, "_", $op),
            concat!(
                ".symver hetmp_entry.atomic_", $type, "_", $op, ", __kmpc_atomic_", $type, "_", $op,
                "@@VERSION, remove"
            ),
            ".popsection",
        );
    )+)+};
}

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
