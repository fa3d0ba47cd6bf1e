//! Normalised iteration ranges, and the way back to the user's loop variable.

/// Iterations `start..end` of a normalised loop (half open).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Range {
    /// First iteration.
    pub start: u64,
    /// One past the last iteration.
    pub end: u64,
}

impl Range {
    /// The range `start..end`; `end` must not be below `start`.
    #[inline]
    #[must_use]
    pub fn new(start: u64, end: u64) -> Self {
        debug_assert!(start <= end);
        Range { start, end }
    }

    /// Number of iterations.
    #[inline]
    #[must_use]
    pub fn len(self) -> u64 {
        self.end - self.start
    }

    /// Whether the range holds no iteration.
    #[inline]
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }
}

/// The bounds of a loop as the program wrote them, and its trip count.
///
/// Signed and unsigned loops share one representation: two's complement in 64
/// bits. Signedness and direction matter for the trip count only, which is
/// computed once; every value of the loop variable is then
/// `start + k * incr` modulo 2^64.
///
/// ```
/// use hetmp_sched::ranges::{LoopBounds, Range};
/// // for (long i = 10; i > -1; i -= 3): 10 7 4 1
/// let b = LoopBounds::signed(10, -1, -3);
/// assert_eq!(b.trip_count(), 4);
/// assert_eq!(b.to_user(Range::new(1, 3)), (7, 1));
/// // The last piece ends at the bound of the loop itself, not at -2.
/// assert_eq!(b.to_user(Range::new(3, 4)), (1, -1i64 as u64));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LoopBounds {
    start: u64,
    end: u64,
    incr: u64,
    n: u64,
}

impl LoopBounds {
    /// `for (i = start; i < end; i += incr)`, or `i > end` where `incr` is
    /// negative (OpenMP 5.0, 2.9.1, canonical loop form after conversion to a
    /// strict comparison).
    ///
    /// A step of zero is no canonical loop; it counts as a loop without
    /// iterations.
    #[inline]
    #[must_use]
    pub fn signed(start: i64, end: i64, incr: i64) -> Self {
        // The distance between any two i64 fits a u64.
        let distance = match incr {
            i64::MIN..=-1 if start > end => start.wrapping_sub(end) as u64,
            1.. if start < end => end.wrapping_sub(start) as u64,
            _ => 0,
        };
        LoopBounds {
            start: start as u64,
            end: end as u64,
            incr: incr as u64,
            n: steps(distance, incr.unsigned_abs()),
        }
    }

    /// The bounds of an `unsigned long long` loop.
    ///
    /// `up` tells the direction. `incr` is what is added each time, modulo
    /// 2^64: a loop that counts down by 2 has `up == false` and
    /// `incr == 2u64.wrapping_neg()`, as the GOMP entries pass it.
    #[inline]
    #[must_use]
    pub fn unsigned(up: bool, start: u64, end: u64, incr: u64) -> Self {
        let (distance, step) = if up {
            (end.saturating_sub(start), incr)
        } else {
            (start.saturating_sub(end), incr.wrapping_neg())
        };
        LoopBounds {
            start,
            end,
            incr,
            n: steps(distance, step),
        }
    }

    /// `for (i = first; i <= last; i += incr)`, or `i >= last` where `incr` is negative. Some compilers
    /// (clang) pass the last value rather than the value behind it, because the latter may not fit the
    /// variable's type.
    ///
    /// A loop over all 2^64 values of the widest type would have a trip count of 2^64, which does not fit.
    /// Its trip count is 2^64 - 1 here.
    #[inline]
    #[must_use]
    pub fn signed_to(first: i64, last: i64, incr: i64) -> Self {
        let distance = match incr {
            i64::MIN..=-1 if first >= last => first.wrapping_sub(last) as u64,
            1.. if first <= last => last.wrapping_sub(first) as u64,
            _ => return Self::signed(first, first, incr),
        };
        LoopBounds {
            start: first as u64,
            end: last.wrapping_add(incr.signum()) as u64,
            incr: incr as u64,
            n: (distance / incr.unsigned_abs()).saturating_add(1),
        }
    }

    /// [`signed_to`](Self::signed_to) for unsigned loops. The step is signed and tells the direction.
    #[inline]
    #[must_use]
    pub fn unsigned_to(first: u64, last: u64, incr: i64) -> Self {
        let distance = match incr {
            i64::MIN..=-1 if first >= last => first - last,
            1.. if first <= last => last - first,
            _ => return Self::unsigned(true, first, first, incr as u64),
        };
        LoopBounds {
            start: first,
            end: last.wrapping_add_signed(incr.signum()),
            incr: incr as u64,
            n: (distance / incr.unsigned_abs()).saturating_add(1),
        }
    }

    /// Number of iterations.
    #[inline]
    #[must_use]
    pub fn trip_count(&self) -> u64 {
        self.n
    }

    /// The whole loop.
    #[inline]
    #[must_use]
    pub fn all(&self) -> Range {
        Range {
            start: 0,
            end: self.n,
        }
    }

    /// Value of the loop variable in iteration `k`, in 64 bits of two's
    /// complement.
    #[inline]
    #[must_use]
    pub fn value(&self, k: u64) -> u64 {
        self.start.wrapping_add(k.wrapping_mul(self.incr))
    }

    /// What is added per iteration, in two's complement.
    #[inline]
    #[must_use]
    pub fn incr(&self) -> u64 {
        self.incr
    }

    /// First value of the loop variable in `range`, and the bound that the
    /// compiled inner loop compares with.
    ///
    /// The bound is `start + k * incr` for every piece but the last, whose
    /// bound is the loop's own `end`. With a step other than one that may be
    /// less than a whole step away from the last value, which selects the same
    /// iterations; the arithmetic value could lie outside the type, where the
    /// compiled comparison would be wrong.
    #[inline]
    #[must_use]
    pub fn to_user(&self, range: Range) -> (u64, u64) {
        debug_assert!(!range.is_empty() && range.end <= self.n);
        // Loops with a step of one skip both multiplications: these would take a good part of the time of a
        // chunk of one iteration.
        let value = |k: u64| {
            if self.incr == 1 {
                self.start.wrapping_add(k)
            } else {
                self.value(k)
            }
        };
        let end = if range.end == self.n {
            self.end
        } else {
            value(range.end)
        };
        (value(range.start), end)
    }
}

/// `ceil(distance / step)`, without an intermediate sum that could overflow;
/// zero for a step of zero.
#[inline]
fn steps(distance: u64, step: u64) -> u64 {
    if distance == 0 || step == 0 {
        return 0;
    }
    if step == 1 {
        return distance;
    }
    (distance - 1) / step + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn extremes() {
        assert_eq!(
            LoopBounds::signed(i64::MIN, i64::MAX, 1).trip_count(),
            u64::MAX
        );
        assert_eq!(
            LoopBounds::signed(i64::MAX, i64::MIN, -1).trip_count(),
            u64::MAX
        );
        assert_eq!(
            LoopBounds::signed(i64::MIN, i64::MAX, i64::MAX).trip_count(),
            3
        );
        assert_eq!(
            LoopBounds::signed(i64::MAX, i64::MIN, i64::MIN).trip_count(),
            2
        );
        assert_eq!(LoopBounds::signed(5, 5, 1).trip_count(), 0);
        assert_eq!(LoopBounds::signed(6, 5, 1).trip_count(), 0);
        assert_eq!(LoopBounds::signed(4, 5, -1).trip_count(), 0);
        assert_eq!(LoopBounds::signed(0, 5, 0).trip_count(), 0);
        let down = LoopBounds::unsigned(false, u64::MAX, 0, 1u64.wrapping_neg());
        assert_eq!(down.trip_count(), u64::MAX);
        assert_eq!(
            LoopBounds::unsigned(true, 0, u64::MAX, u64::MAX).trip_count(),
            1
        );
        assert_eq!(LoopBounds::unsigned(true, 7, 3, 1).trip_count(), 0);
        // A step so large that start + n * step leaves the type.
        let b = LoopBounds::signed(i64::MAX - 5, i64::MAX, 4);
        assert_eq!(b.trip_count(), 2);
        assert_eq!(signed(b, Range::new(1, 2)), (i64::MAX - 1, i64::MAX));
    }

    fn signed(b: LoopBounds, range: Range) -> (i64, i64) {
        let (s, e) = b.to_user(range);
        (s as i64, e as i64)
    }

    /// What the compiled loop does with a piece: how often it runs.
    fn runs_signed(s: i64, e: i64, incr: i64) -> u64 {
        let (s, e, incr) = (i128::from(s), i128::from(e), i128::from(incr));
        let d = if incr > 0 { e - s } else { s - e };
        let step = incr.abs();
        if d <= 0 {
            0
        } else {
            ((d + step - 1) / step) as u64
        }
    }

    proptest! {
        #[test]
        fn signed_pieces_cover(s: i64, e: i64, incr in prop_oneof![any::<i64>(), -9i64..10], cut: u64) {
            prop_assume!(incr != 0);
            let b = LoopBounds::signed(s, e, incr);
            let n = runs_signed(s, e, incr);
            prop_assert_eq!(b.trip_count(), n);
            if n > 1 {
                let k = 1 + cut % (n - 1);
                let (a0, a1) = signed(b, Range::new(0, k));
                let (b0, b1) = signed(b, Range::new(k, n));
                prop_assert_eq!(a0, s);
                prop_assert_eq!(b1, e);
                prop_assert_eq!(i128::from(b0), i128::from(s) + i128::from(k) * i128::from(incr));
                prop_assert_eq!(a1, b0);
                prop_assert_eq!(runs_signed(a0, a1, incr), k);
                prop_assert_eq!(runs_signed(b0, b1, incr), n - k);
            }
        }

        #[test]
        fn last_values_included(s: i64, e: i64, incr in prop_oneof![any::<i64>(), -9i64..10]) {
            prop_assume!(incr != 0);
            let d = (i128::from(e) - i128::from(s)) * i128::from(incr.signum());
            let n = if d < 0 { 0 } else { d / i128::from(incr.unsigned_abs()) + 1 };
            prop_assume!(n <= i128::from(u64::MAX));
            let b = LoopBounds::signed_to(s, e, incr);
            prop_assert_eq!(i128::from(b.trip_count()), n);
            if n > 0 {
                let last = i128::from(b.value(b.trip_count() - 1) as i64);
                prop_assert_eq!(last, i128::from(s) + (n - 1) * i128::from(incr));
            }
            // Unsigned values compare like signed values whose top bit is flipped.
            let flip = |v: i64| (v as u64) ^ (1 << 63);
            let u = LoopBounds::unsigned_to(flip(s), flip(e), incr);
            prop_assert_eq!(u.trip_count(), b.trip_count());
        }

        #[test]
        fn unsigned_count(up: bool, s: u64, e: u64, step in prop_oneof![1u64.., 1u64..10]) {
            let incr = if up { step } else { step.wrapping_neg() };
            let b = LoopBounds::unsigned(up, s, e, incr);
            let d = if up { i128::from(e) - i128::from(s) } else { i128::from(s) - i128::from(e) };
            let n = if d <= 0 { 0 } else { (d as u128).div_ceil(u128::from(step)) };
            prop_assert_eq!(u128::from(b.trip_count()), n);
            if n > 0 {
                let last = b.to_user(Range::new(n as u64 - 1, n as u64));
                prop_assert_eq!(last.1, e);
                let before_end = if up { last.0 < e } else { last.0 > e };
                prop_assert!(before_end);
            }
        }
    }
}
