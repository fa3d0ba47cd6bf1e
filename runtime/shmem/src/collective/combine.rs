//! The arithmetic of reductions: combines one contribution with another, element by element.
//!
//! Every function has the contract of `Combine`: two aligned blocks of `n` elements that do not overlap.

/// What a reduction does with two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The greater.
    Max,
    /// The smaller.
    Min,
    /// The sum; of integers, with wrap-around.
    Sum,
    /// The product; of integers, with wrap-around.
    Prod,
}

/// The type of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Type {
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    /// C's `long double`.
    LongDouble,
    ComplexF32,
    ComplexF64,
}

impl Type {
    /// C's plain `char`, which has a sign on x86-64 and none on Arm.
    pub const CHAR: Type = if core::ffi::c_char::MIN == 0 {
        Type::U8
    } else {
        Type::I8
    };

    /// Bytes of an element.
    #[inline]
    pub fn size(self) -> usize {
        match self {
            Type::I8 | Type::U8 => 1,
            Type::I16 | Type::U16 => 2,
            Type::I32 | Type::U32 | Type::F32 => 4,
            Type::I64 | Type::U64 | Type::F64 | Type::ComplexF32 => 8,
            Type::LongDouble | Type::ComplexF64 => 16,
        }
    }
}

/// Combines `n` elements: `into[i] = into[i] op with[i]`. Contract: both hold `n` aligned elements and do not
/// overlap.
pub(crate) type Combine = unsafe fn(into: *mut u8, with: *const u8, n: usize);

/// # Safety
/// Both hold `n` aligned elements and do not overlap.
#[inline(always)]
unsafe fn each<T: Copy>(into: *mut u8, with: *const u8, n: usize, op: impl Fn(T, T) -> T) {
    let (into, with) = (into.cast::<T>(), with.cast::<T>());
    for i in 0..n {
        // SAFETY: this function's contract: both hold `n` aligned elements and do not overlap.
        unsafe { *into.add(i) = op(*into.add(i), *with.add(i)) };
    }
}

macro_rules! arm {
    ($t:ty, $op:expr) => {{
        unsafe fn run(into: *mut u8, with: *const u8, n: usize) {
            // SAFETY: the contract of `Combine`: both hold `n` aligned elements and do not overlap.
            unsafe { each::<$t>(into, with, n, $op) }
        }
        Some(run as Combine)
    }};
}

macro_rules! integers {
    ($op:expr, $t:ty) => {
        match $op {
            Reduction::And => arm!($t, |a, b| a & b),
            Reduction::Or => arm!($t, |a, b| a | b),
            Reduction::Xor => arm!($t, |a, b| a ^ b),
            Reduction::Max => arm!($t, |a, b| a.max(b)),
            Reduction::Min => arm!($t, |a, b| a.min(b)),
            Reduction::Sum => arm!($t, |a, b| a.wrapping_add(b)),
            Reduction::Prod => arm!($t, |a, b| a.wrapping_mul(b)),
        }
    };
}

macro_rules! floats {
    ($op:expr, $t:ty) => {
        match $op {
            // A comparison and a selection, which the compiler vectorises. The specification does not define the
            // result for values that do not compare.
            Reduction::Max => arm!($t, |a, b| if b > a { b } else { a }),
            Reduction::Min => arm!($t, |a, b| if b < a { b } else { a }),
            Reduction::Sum => arm!($t, |a, b| a + b),
            Reduction::Prod => arm!($t, |a, b| a * b),
            Reduction::And | Reduction::Or | Reduction::Xor => None,
        }
    };
}

macro_rules! complex {
    ($op:expr, $t:ty) => {
        match $op {
            Reduction::Sum => arm!([$t; 2], |a, b| [a[0] + b[0], a[1] + b[1]]),
            Reduction::Prod => arm!([$t; 2], |a, b| [
                a[0] * b[0] - a[1] * b[1],
                a[0] * b[1] + a[1] * b[0]
            ]),
            _ => None,
        }
    };
}

/// The function for an operation on a type; `None` if C has no such operation.
#[inline]
pub(crate) fn combine(op: Reduction, t: Type) -> Option<Combine> {
    match t {
        Type::I8 => integers!(op, i8),
        Type::I16 => integers!(op, i16),
        Type::I32 => integers!(op, i32),
        Type::I64 => integers!(op, i64),
        Type::U8 => integers!(op, u8),
        Type::U16 => integers!(op, u16),
        Type::U32 => integers!(op, u32),
        Type::U64 => integers!(op, u64),
        Type::F32 => floats!(op, f32),
        Type::F64 => floats!(op, f64),
        Type::LongDouble => long_doubles(op),
        Type::ComplexF32 => complex!(op, f32),
        Type::ComplexF64 => complex!(op, f64),
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn long_doubles(op: Reduction) -> Option<Combine> {
    use super::long_double::{add, max, min, multiply, SIZE};
    macro_rules! each {
        ($one:path) => {{
            unsafe fn run(into: *mut u8, with: *const u8, n: usize) {
                for i in 0..n {
                    // SAFETY: the contract of `Combine`: both hold `n` numbers and do not overlap.
                    unsafe { $one(into.add(i * SIZE), with.add(i * SIZE)) };
                }
            }
            Some(run as Combine)
        }};
    }
    match op {
        Reduction::Sum => each!(add),
        Reduction::Prod => each!(multiply),
        Reduction::Max => each!(max),
        Reduction::Min => each!(min),
        Reduction::And | Reduction::Or | Reduction::Xor => None,
    }
}

/// What `long double` is elsewhere, nobody has tried. A call is refused by a line.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn long_doubles(_op: Reduction) -> Option<Combine> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T: Copy>(op: Reduction, t: Type, a: &[T], b: &[T]) -> Vec<T> {
        assert_eq!(size_of::<T>(), t.size());
        let mut into = a.to_vec();
        let f = combine(op, t).expect("an operation of C");
        // SAFETY: two slices of the type's size.
        unsafe { f(into.as_mut_ptr().cast(), b.as_ptr().cast(), a.len()) };
        into
    }

    #[test]
    fn integers_wrap_and_keep_their_sign() {
        use Reduction::*;
        assert_eq!(run(Sum, Type::I8, &[100i8, -1], &[100, -2]), [-56, -3]);
        assert_eq!(run(Max, Type::I32, &[-5, 7], &[3, -9]), [3, 7]);
        assert_eq!(run(Max, Type::U32, &[u32::MAX, 7], &[3, 9]), [u32::MAX, 9]);
        assert_eq!(run(Min, Type::I64, &[-5i64], &[3]), [-5]);
        assert_eq!(run(Prod, Type::U16, &[300u16], &[300]), [24464]);
        assert_eq!(run(And, Type::U8, &[0xf3u8], &[0x3f]), [0x33]);
        assert_eq!(run(Or, Type::U8, &[0xf0u8], &[0x0f]), [0xff]);
        assert_eq!(run(Xor, Type::I16, &[0x0ff0i16], &[0x00ff]), [0x0f0f]);
    }

    #[test]
    fn floats_and_complex_numbers() {
        use Reduction::*;
        assert_eq!(run(Sum, Type::F32, &[1.5f32], &[2.25]), [3.75]);
        assert_eq!(run(Max, Type::F64, &[1.5, -4.0], &[2.0, -5.0]), [2.0, -4.0]);
        assert_eq!(run(Min, Type::F64, &[1.5, -4.0], &[2.0, -5.0]), [1.5, -5.0]);
        let product = run(Prod, Type::ComplexF64, &[[1.0, 2.0]], &[[3.0, -1.0]]);
        assert_eq!(product, [[5.0, 5.0]]);
        let sum = run(Sum, Type::ComplexF32, &[[1.0f32, 2.0]], &[[3.0, -1.0]]);
        assert_eq!(sum, [[4.0, 1.0]]);
        assert!(combine(And, Type::F64).is_none());
        assert!(combine(Max, Type::ComplexF64).is_none());
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn long_doubles_keep_their_precision() {
        use Reduction::*;
        // 2^63 + 1 needs more than the 53 bits of a double: sign, exponent, and the 63 bits below the first one.
        let number = |below: u64, exponent: i32, negative: bool| -> u128 {
            let top = (16383 + exponent) as u128 | u128::from(negative) << 15;
            if cfg!(target_arch = "x86_64") {
                u128::from(1 << 63 | below) | top << 64
            } else {
                u128::from(below) << 49 | top << 112
            }
        };
        // The 80-bit numbers of x86-64 are padded with anything.
        let mask = if cfg!(target_arch = "x86_64") {
            (1u128 << 80) - 1
        } else {
            u128::MAX
        };
        let (one, big) = (number(0, 0, false), number(0, 63, false));
        let sum = run(Sum, Type::LongDouble, &[big, one], &[one, one]);
        assert_eq!(sum[0] & mask, number(1, 63, false));
        assert_eq!(sum[1] & mask, number(0, 1, false));
        let minus = number(0, 0, true);
        let product = run(Prod, Type::LongDouble, &[big], &[minus]);
        assert_eq!(product[0] & mask, number(0, 63, true));
        let max = run(Max, Type::LongDouble, &[minus, big], &[one, one]);
        assert_eq!(max, [one, big]);
        let min = run(Min, Type::LongDouble, &[minus, big], &[one, one]);
        assert_eq!(min, [minus, one]);
        // A number that does not compare takes nobody's place.
        let nan = number(1 << 62, 16384, false);
        assert_eq!(run(Max, Type::LongDouble, &[one], &[nan]), [one]);
        assert_eq!(run(Min, Type::LongDouble, &[one], &[nan]), [one]);
    }
}
