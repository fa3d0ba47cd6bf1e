//! Types of elements, and arithmetic on arrays of elements. [`Work::Compute`](crate::descriptor::Work::Compute) does
//! it to registered memory, and GOAL's interpreter to the memory of a run.
//!
//! GOAL has signed and unsigned integers of 1 to 64 bits and two floating point types (paper, section 2.1). An
//! integer is stored little-endian in the smallest of 1, 2, 4 and 8 bytes that has room for its bits; the remaining
//! high bits are copies of the sign, or zero. Results wrap around at the type's number of bits.

use core::fmt;

/// The type of the elements of a local operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// Two's complement, of 1 to 64 bits.
    Signed(u8),
    /// Without a sign, of 1 to 64 bits.
    Unsigned(u8),
    /// IEEE 754 binary32.
    Float,
    /// IEEE 754 binary64.
    Double,
}

impl Type {
    /// Bytes of an element; 0 for a width that does not exist.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        match self {
            Type::Signed(bits) | Type::Unsigned(bits) => match bits {
                1..=8 => 1,
                9..=16 => 2,
                17..=32 => 4,
                33..=64 => 8,
                _ => 0,
            },
            Type::Float => 4,
            Type::Double => 8,
        }
    }

    /// The type's byte in descriptors and binary schedules: the class in the two high bits, below it the width minus
    /// one.
    #[must_use]
    pub fn to_raw(self) -> u8 {
        match self {
            Type::Signed(bits) => bits.wrapping_sub(1) & 0x3f,
            Type::Unsigned(bits) => 0x40 | (bits.wrapping_sub(1) & 0x3f),
            Type::Float => 0x80,
            Type::Double => 0x81,
        }
    }

    /// The inverse of [`Type::to_raw`]; `None` for bytes that are no type.
    #[must_use]
    pub fn from_raw(raw: u8) -> Option<Type> {
        match raw {
            0x00..=0x3f => Some(Type::Signed(raw + 1)),
            0x40..=0x7f => Some(Type::Unsigned((raw & 0x3f) + 1)),
            0x80 => Some(Type::Float),
            0x81 => Some(Type::Double),
            _ => None,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Type::Float | Type::Double)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Signed(bits) => write!(f, "i{bits}"),
            Type::Unsigned(bits) => write!(f, "u{bits}"),
            Type::Float => f.write_str("f32"),
            Type::Double => f.write_str("f64"),
        }
    }
}

/// What a local operation does with each pair of elements: `target = target OP operand`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Arithmetic {
    /// Sum.
    Add = 0,
    /// Difference, target minus operand.
    Sub = 1,
    /// Product.
    Mul = 2,
    /// Quotient, target by operand; of integers rounded towards zero.
    Div = 3,
    /// The larger number. If one of two floating point numbers is not a number, the other one.
    Max = 4,
    /// The smaller number. If one of two floating point numbers is not a number, the other one.
    Min = 5,
    /// Bitwise and; of integers.
    And = 6,
    /// Bitwise or; of integers.
    Or = 7,
    /// Bitwise exclusive or; of integers.
    Xor = 8,
}

impl Arithmetic {
    /// Every operation.
    pub const ALL: [Arithmetic; 9] = [
        Arithmetic::Add,
        Arithmetic::Sub,
        Arithmetic::Mul,
        Arithmetic::Div,
        Arithmetic::Max,
        Arithmetic::Min,
        Arithmetic::And,
        Arithmetic::Or,
        Arithmetic::Xor,
    ];

    /// The operation with this number; `None` if there is none.
    #[must_use]
    pub fn from_raw(raw: u8) -> Option<Arithmetic> {
        Arithmetic::ALL.get(usize::from(raw)).copied()
    }

    /// Whether the operation exists for elements of this type.
    #[must_use]
    pub fn takes(self, element: Type) -> bool {
        let bitwise = matches!(self, Arithmetic::And | Arithmetic::Or | Arithmetic::Xor);
        element.bytes() != 0 && !(bitwise && element.is_float())
    }
}

impl fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arithmetic::Add => "add",
            Arithmetic::Sub => "sub",
            Arithmetic::Mul => "mul",
            Arithmetic::Div => "div",
            Arithmetic::Max => "max",
            Arithmetic::Min => "min",
            Arithmetic::And => "and",
            Arithmetic::Or => "or",
            Arithmetic::Xor => "xor",
        })
    }
}

/// A quotient of integers whose divisor is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DivisionByZero {
    /// The element's index, from 0. The elements before it are done; this one and those after it are unchanged.
    pub element: usize,
}

/// Whole elements of `N` bytes.
#[inline(always)]
fn elements<const N: usize>(bytes: &[u8]) -> &[[u8; N]] {
    // SAFETY: `len / N` arrays of `N` bytes lie within the slice, and arrays of bytes need no alignment.
    unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / N) }
}

/// Whole elements of `N` bytes, for writing.
#[inline(always)]
fn elements_mut<const N: usize>(bytes: &mut [u8]) -> &mut [[u8; N]] {
    // SAFETY: `len / N` arrays of `N` bytes lie within the slice, and arrays of bytes need no alignment. The slice is
    // borrowed as long as they are.
    unsafe { core::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), bytes.len() / N) }
}

/// `target = f(target, operand)` for all elements of `N` bytes. Each type and operation gets a function of its own:
/// in one function with a hundred loops, the compiler gave up before it came to vectors.
#[inline(never)]
fn each<const N: usize>(
    target: &mut [u8],
    operand: &[u8],
    f: impl Fn([u8; N], [u8; N]) -> [u8; N],
) {
    for (a, b) in elements_mut::<N>(target).iter_mut().zip(elements(operand)) {
        *a = f(*a, *b);
    }
}

/// Like [`each`], for division: `f` returns `None` if the divisor is zero.
#[inline(never)]
fn each_quotient<const N: usize>(
    target: &mut [u8],
    operand: &[u8],
    f: impl Fn([u8; N], [u8; N]) -> Option<[u8; N]>,
) -> Result<(), DivisionByZero> {
    let pairs = elements_mut::<N>(target).iter_mut().zip(elements(operand));
    for (element, (a, b)) in pairs.enumerate() {
        *a = f(*a, *b).ok_or(DivisionByZero { element })?;
    }
    Ok(())
}

/// Integers that fill their bytes. One loop for each operation, so that the compiler can use vectors.
macro_rules! whole {
    ($t:ty, $op:expr, $target:expr, $operand:expr) => {{
        let (target, operand): (&mut [u8], &[u8]) = ($target, $operand);
        macro_rules! with {
            ($f:expr) => {
                each(target, operand, |x, y| {
                    let f: fn($t, $t) -> $t = $f;
                    f(<$t>::from_le_bytes(x), <$t>::from_le_bytes(y)).to_le_bytes()
                })
            };
        }
        match $op {
            Arithmetic::Add => with!(|a, b| a.wrapping_add(b)),
            Arithmetic::Sub => with!(|a, b| a.wrapping_sub(b)),
            Arithmetic::Mul => with!(|a, b| a.wrapping_mul(b)),
            Arithmetic::Max => with!(|a, b| a.max(b)),
            Arithmetic::Min => with!(|a, b| a.min(b)),
            Arithmetic::And => with!(|a, b| a & b),
            Arithmetic::Or => with!(|a, b| a | b),
            Arithmetic::Xor => with!(|a, b| a ^ b),
            Arithmetic::Div => {
                return each_quotient(target, operand, |x, y| {
                    let (a, b) = (<$t>::from_le_bytes(x), <$t>::from_le_bytes(y));
                    (b != 0).then(|| a.wrapping_div(b).to_le_bytes())
                })
            }
        }
        Ok(())
    }};
}

macro_rules! float {
    ($t:ty, $op:expr, $target:expr, $operand:expr) => {{
        let (target, operand): (&mut [u8], &[u8]) = ($target, $operand);
        macro_rules! with {
            ($f:expr) => {
                each(target, operand, |x, y| {
                    let f: fn($t, $t) -> $t = $f;
                    f(<$t>::from_le_bytes(x), <$t>::from_le_bytes(y)).to_le_bytes()
                })
            };
        }
        match $op {
            Arithmetic::Add => with!(|a, b| a + b),
            Arithmetic::Sub => with!(|a, b| a - b),
            Arithmetic::Mul => with!(|a, b| a * b),
            Arithmetic::Div => with!(|a, b| a / b),
            // Of two zeros with different signs, `max` may return either one. Combining the bits gives the same
            // result everywhere.
            Arithmetic::Max => with!(|a, b| if a == b {
                <$t>::from_bits(a.to_bits() & b.to_bits())
            } else {
                a.max(b)
            }),
            Arithmetic::Min => with!(|a, b| if a == b {
                <$t>::from_bits(a.to_bits() | b.to_bits())
            } else {
                a.min(b)
            }),
            // A caller that has asked `Arithmetic::takes` does not get here.
            Arithmetic::And | Arithmetic::Or | Arithmetic::Xor => {
                debug_assert!(false, "{} of floating point numbers", $op);
            }
        }
        Ok(())
    }};
}

/// `target[i] = target[i] OP operand[i]` for all elements. Both slices have the same length; bytes after the last
/// whole element are left alone. Bitwise operations on floating point numbers do nothing: see [`Arithmetic::takes`].
///
/// # Errors
/// [`DivisionByZero`]; elements before the faulty one are done.
pub fn apply(
    op: Arithmetic,
    element: Type,
    target: &mut [u8],
    operand: &[u8],
) -> Result<(), DivisionByZero> {
    match element {
        Type::Float => float!(f32, op, target, operand),
        Type::Double => float!(f64, op, target, operand),
        Type::Signed(8) => whole!(i8, op, target, operand),
        Type::Signed(16) => whole!(i16, op, target, operand),
        Type::Signed(32) => whole!(i32, op, target, operand),
        Type::Signed(64) => whole!(i64, op, target, operand),
        Type::Unsigned(8) => whole!(u8, op, target, operand),
        Type::Unsigned(16) => whole!(u16, op, target, operand),
        Type::Unsigned(32) => whole!(u32, op, target, operand),
        Type::Unsigned(64) => whole!(u64, op, target, operand),
        Type::Signed(bits) => narrow(op, element, target, operand, |bytes| signed(bytes, bits)),
        Type::Unsigned(bits) => narrow(op, element, target, operand, |bytes| unsigned(bytes, bits)),
    }
}

/// Integers of other widths, one by one. 128 bits have room for the product of two 64-bit factors.
fn narrow(
    op: Arithmetic,
    element: Type,
    target: &mut [u8],
    operand: &[u8],
    value: impl Fn(&[u8]) -> i128,
) -> Result<(), DivisionByZero> {
    let size = element.bytes().max(1) as usize;
    let pairs = target
        .chunks_exact_mut(size)
        .zip(operand.chunks_exact(size));
    for (place, (x, y)) in pairs.enumerate() {
        let (a, b) = (value(x), value(y));
        let r = match op {
            Arithmetic::Add => a + b,
            Arithmetic::Sub => a - b,
            Arithmetic::Mul => a.wrapping_mul(b),
            Arithmetic::Div if b == 0 => return Err(DivisionByZero { element: place }),
            Arithmetic::Div => a / b,
            Arithmetic::Max => a.max(b),
            Arithmetic::Min => a.min(b),
            Arithmetic::And => a & b,
            Arithmetic::Or => a | b,
            Arithmetic::Xor => a ^ b,
        };
        // The result wraps at the type's number of bits; then the bits above are filled as the type stores them.
        let r = match element {
            Type::Signed(bits) => sign_extend(r as u64, bits) as u64,
            Type::Unsigned(bits) => (r as u64) & mask(bits),
            Type::Float | Type::Double => r as u64,
        };
        x.copy_from_slice(&r.to_le_bytes()[..size]);
    }
    Ok(())
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn mask(bits: u8) -> u64 {
    u64::MAX >> (64 - u32::from(bits.clamp(1, 64)))
}

fn sign_extend(value: u64, bits: u8) -> i64 {
    let above = 64 - u32::from(bits.clamp(1, 64));
    ((value << above) as i64) >> above
}

fn signed(bytes: &[u8], bits: u8) -> i128 {
    i128::from(sign_extend(word(bytes), bits))
}

fn unsigned(bytes: &[u8], bits: u8) -> i128 {
    i128::from(word(bytes) & mask(bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_one_type_or_none() {
        for raw in 0..=255u8 {
            if let Some(t) = Type::from_raw(raw) {
                assert_eq!(t.to_raw(), raw);
                assert!(t.bytes() > 0);
            }
        }
        assert_eq!(Type::Signed(0).bytes(), 0);
        assert_eq!(Type::Unsigned(65).bytes(), 0);
    }

    #[test]
    fn integers_wrap_at_their_width() {
        let run = |op, t, a: i64, b: i64| {
            let size = t_size(t);
            let mut target = a.to_le_bytes()[..size].to_vec();
            apply(op, t, &mut target, &b.to_le_bytes()[..size]).map(|()| word(&target))
        };
        fn t_size(t: Type) -> usize {
            t.bytes() as usize
        }
        assert_eq!(run(Arithmetic::Add, Type::Unsigned(3), 7, 2), Ok(1));
        assert_eq!(run(Arithmetic::Sub, Type::Unsigned(8), 1, 2), Ok(255));
        // -4 - 1 wraps to 3 in three bits, and the bits above copy the sign of 3.
        assert_eq!(run(Arithmetic::Sub, Type::Signed(3), -4, 1), Ok(3));
        assert_eq!(run(Arithmetic::Add, Type::Signed(3), 3, 1), Ok(0xfc));
        assert_eq!(
            run(Arithmetic::Div, Type::Signed(64), i64::MIN, -1),
            Ok(i64::MIN as u64)
        );
        assert_eq!(run(Arithmetic::Max, Type::Signed(1), -1, 0), Ok(0));
        assert_eq!(
            run(Arithmetic::Div, Type::Unsigned(16), 1, 0),
            Err(DivisionByZero { element: 0 })
        );
        assert_eq!(
            run(Arithmetic::Mul, Type::Unsigned(64), -1, -1),
            Ok(1),
            "the largest product wraps"
        );
    }

    #[test]
    fn zeros_and_not_a_number_have_one_answer() {
        let run = |op, a: f64, b: f64| {
            let mut t = a.to_le_bytes().to_vec();
            apply(op, Type::Double, &mut t, &b.to_le_bytes()).unwrap();
            f64::from_le_bytes(t.try_into().unwrap())
        };
        for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
            assert!(run(Arithmetic::Max, a, b).is_sign_positive());
            assert!(run(Arithmetic::Min, a, b).is_sign_negative());
        }
        assert_eq!(run(Arithmetic::Max, f64::NAN, 2.0), 2.0);
        assert_eq!(run(Arithmetic::Min, 2.0, f64::NAN), 2.0);
        assert_eq!(run(Arithmetic::Max, -3.0, -3.0), -3.0);
        assert_eq!(run(Arithmetic::Min, -3.0, -3.0), -3.0);
    }

    /// The loops for whole bytes give the same results as the general way.
    #[test]
    fn whole_widths_agree_with_the_general_way() {
        let bytes: Vec<u8> = (0..64u8)
            .map(|i| i.wrapping_mul(37).wrapping_add(129))
            .collect();
        let other: Vec<u8> = (0..64u8).map(|i| i.wrapping_mul(91) ^ 0x5a | 1).collect();
        for bits in [8, 16, 32, 64] {
            for op in Arithmetic::ALL {
                for t in [Type::Signed(bits), Type::Unsigned(bits)] {
                    let (mut fast, mut slow) = (bytes.clone(), bytes.clone());
                    let value = |b: &[u8]| match t {
                        Type::Signed(_) => signed(b, bits),
                        _ => unsigned(b, bits),
                    };
                    assert_eq!(apply(op, t, &mut fast, &other), Ok(()));
                    assert_eq!(narrow(op, t, &mut slow, &other, value), Ok(()));
                    assert_eq!(fast, slow, "{op} {t}");
                }
            }
        }
    }

    #[test]
    fn a_zero_divisor_is_named_and_what_is_before_it_is_done() {
        for t in [Type::Unsigned(8), Type::Signed(8), Type::Unsigned(5)] {
            let mut target = [8, 6, 4, 2];
            let refused = apply(Arithmetic::Div, t, &mut target, &[2, 2, 0, 1]);
            assert_eq!(refused, Err(DivisionByZero { element: 2 }), "{t}");
            assert_eq!(target, [4, 3, 4, 2]);
        }
    }
}
