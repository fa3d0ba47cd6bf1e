//! The arithmetic of reductions: combines one contribution with another, element by element.

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
        Type::LongDouble => long_double(op),
        Type::ComplexF32 => complex!(op, f32),
        Type::ComplexF64 => complex!(op, f64),
    }
}

/// The 80-bit numbers of x86-64, for which Rust has no type.
#[cfg(target_arch = "x86_64")]
fn long_double(op: Reduction) -> Option<Combine> {
    use core::arch::asm;
    const SIZE: usize = 16;

    macro_rules! arithmetic {
        ($instruction:literal) => {{
            unsafe fn run(into: *mut u8, with: *const u8, n: usize) {
                for i in 0..n {
                    // SAFETY: the contract of `Combine`: both hold `n` numbers and do not overlap; the register
                    // stack is left as it was.
                    unsafe {
                        asm!(
                            "fld tbyte ptr [{a}]",
                            "fld tbyte ptr [{b}]",
                            $instruction,
                            "fstp tbyte ptr [{a}]",
                            a = in(reg) into.add(i * SIZE),
                            b = in(reg) with.add(i * SIZE),
                            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                            options(nostack),
                        );
                    }
                }
            }
            Some(run as Combine)
        }};
    }

    /// # Safety
    /// Both point to a number.
    unsafe fn less(a: *const u8, b: *const u8) -> bool {
        let below: u8;
        // SAFETY: this function's contract: both point to a number. The register stack is left as it was.
        unsafe {
            asm!(
                "fld tbyte ptr [{b}]",
                "fld tbyte ptr [{a}]",
                "fcomip st, st(1)",
                "fstp st(0)",
                // If the two numbers do not compare, both carry and parity are set.
                "setnp {p}",
                "setb {below}",
                "and {below}, {p}",
                a = in(reg) a,
                b = in(reg) b,
                p = out(reg_byte) _,
                below = out(reg_byte) below,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack, readonly),
            );
        }
        below != 0
    }

    unsafe fn max(into: *mut u8, with: *const u8, n: usize) {
        for i in 0..n {
            // SAFETY: the contract of `Combine`: both hold `n` numbers, of `SIZE` bytes each.
            unsafe {
                let (a, b) = (into.add(i * SIZE), with.add(i * SIZE));
                if less(a, b) {
                    core::ptr::copy_nonoverlapping(b, a, SIZE);
                }
            }
        }
    }

    unsafe fn min(into: *mut u8, with: *const u8, n: usize) {
        for i in 0..n {
            // SAFETY: the contract of `Combine`: both hold `n` numbers, of `SIZE` bytes each.
            unsafe {
                let (a, b) = (into.add(i * SIZE), with.add(i * SIZE));
                if less(b, a) {
                    core::ptr::copy_nonoverlapping(b, a, SIZE);
                }
            }
        }
    }

    match op {
        Reduction::Sum => arithmetic!("faddp st(1), st"),
        Reduction::Prod => arithmetic!("fmulp st(1), st"),
        Reduction::Max => Some(max as Combine),
        Reduction::Min => Some(min as Combine),
        Reduction::And | Reduction::Or | Reduction::Xor => None,
    }
}

/// On other processors `long double` has another format, for which stable Rust has neither a type nor instructions. A
/// call is refused by a line.
#[cfg(not(target_arch = "x86_64"))]
fn long_double(_op: Reduction) -> Option<Combine> {
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

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn long_doubles_keep_their_precision() {
        use Reduction::*;
        // 2^63 + 1 needs all 64 bits of the mantissa: sign and exponent 16383 + 63, integer bit set.
        let number = |mantissa: u64, exponent: i32, negative: bool| -> u128 {
            let top = (16383 + exponent) as u128 | u128::from(negative) << 15;
            u128::from(mantissa) | top << 64
        };
        let (one, big) = (number(1 << 63, 0, false), number(1 << 63, 63, false));
        let mask = (1u128 << 80) - 1;
        let sum = run(Sum, Type::LongDouble, &[big, one], &[one, one]);
        assert_eq!(sum[0] & mask, number((1 << 63) | 1, 63, false));
        assert_eq!(sum[1] & mask, number(1 << 63, 1, false));
        let minus = number(1 << 63, 0, true);
        let product = run(Prod, Type::LongDouble, &[big], &[minus]);
        assert_eq!(product[0] & mask, number(1 << 63, 63, true));
        assert_eq!(
            run(Max, Type::LongDouble, &[minus, big], &[one, one]),
            [one, big]
        );
        assert_eq!(
            run(Min, Type::LongDouble, &[minus, big], &[one, one]),
            [minus, one]
        );
    }
}
