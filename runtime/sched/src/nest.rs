//! Nests of loops whose bounds do not depend on each other, numbered as one loop.
//!
//! A loop's bounds are integers of one of four types, and its variable may be narrower. All are passed as 64 bits, of
//! which the type's lower ones count. Iterations of the nest are numbered with the innermost loop running fastest.

/// A type of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// Its width: 8, 16, 32 or 64.
    pub bits: u32,
    /// It has negative values.
    pub signed: bool,
}

impl Integer {
    /// The value of the lower bits of `raw`.
    fn value(self, raw: u64) -> i128 {
        let unused = 64 - self.bits;
        if self.signed {
            i128::from((raw as i64) << unused >> unused)
        } else {
            i128::from(raw << unused >> unused)
        }
    }

    /// `value` wrapped into the type, and extended to 64 bits by its sign.
    fn extended(self, value: i128) -> u64 {
        self.value(value as u64) as u64
    }

    /// `raw` with its lower bits replaced by `value`.
    fn replaced(self, raw: u64, value: i128) -> u64 {
        let mask = u64::MAX >> (64 - self.bits);
        raw & !mask | value as u64 & mask
    }
}

/// How the variable is compared with its last bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `!=`
    Unequal,
    /// `<`
    Below,
    /// `>`
    Above,
}

/// A loop of a nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NestLoop {
    /// The type of its bounds.
    pub bounds: Integer,
    /// The comparison that lets it go on.
    pub until: Until,
    /// First value of its variable.
    pub first: u64,
    /// What its variable is compared with.
    pub last: u64,
    /// What is added each time; signed, although the bounds may be unsigned.
    pub step: u64,
}

impl NestLoop {
    /// What is added each time, as a number.
    fn step(&self) -> i128 {
        let signed = Integer {
            signed: true,
            ..self.bounds
        };
        signed.value(self.step)
    }

    /// The same loop with a bound that belongs to it: `<=` or `>=`.
    #[must_use]
    pub fn canonical(mut self) -> NestLoop {
        let up = match self.until {
            Until::AtMost | Until::AtLeast => return self,
            Until::Below => true,
            Until::Above => false,
            Until::Unequal => self.step() > 0,
        };
        let (until, by) = if up {
            (Until::AtMost, -1)
        } else {
            (Until::AtLeast, 1)
        };
        let last = self.bounds.value(self.last) + by;
        self.last = self.bounds.replaced(self.last, last);
        self.until = until;
        self
    }

    /// The iterations of a canonical loop.
    #[must_use]
    pub fn trip_count(&self) -> u64 {
        let (first, last) = (self.bounds.value(self.first), self.bounds.value(self.last));
        let distance = match self.until {
            Until::AtMost | Until::Below | Until::Unequal => last - first,
            Until::AtLeast | Until::Above => first - last,
        };
        if distance < 0 {
            return 0;
        }
        // A step of 0 is not allowed, and has one iteration here.
        match distance.checked_div(self.step().abs()) {
            Some(steps) => (steps + 1) as u64,
            None => 1,
        }
    }

    /// The value of the variable, of type `variable`, in the loop's iteration `number`.
    #[must_use]
    pub fn value(&self, variable: Integer, number: u64) -> u64 {
        let value = self.bounds.value(self.first) + i128::from(number) * self.step();
        variable.extended(value)
    }
}

/// The numbers that iteration `number` of a nest has in each loop, innermost loop first. `counts` are the loops' trip
/// counts in the same order. Ends early at a loop without iterations.
pub fn numbers(
    mut number: u64,
    counts: impl IntoIterator<Item = u64>,
) -> impl Iterator<Item = u64> {
    counts.into_iter().map_while(move |count| {
        let own = number.checked_rem(count)?;
        number /= count;
        Some(own)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const I32: Integer = Integer {
        bits: 32,
        signed: true,
    };

    fn of(until: Until, first: i32, last: i32, step: i32) -> NestLoop {
        let raw = |v: i32| 0xABCD_0000_0000 | u64::from(v as u32);
        NestLoop {
            bounds: I32,
            until,
            first: raw(first),
            last: raw(last),
            step: raw(step),
        }
    }

    /// Against the loop itself, for small bounds.
    #[test]
    fn counts_and_values_are_those_of_the_loop() {
        for first in -4i32..5 {
            for last in -4i32..5 {
                for step in [-3i32, -2, -1, 1, 2, 3] {
                    for until in [Until::AtMost, Until::AtLeast, Until::Below, Until::Above] {
                        let up = matches!(until, Until::AtMost | Until::Below);
                        if up != (step > 0) {
                            continue;
                        }
                        let mut values = Vec::new();
                        let mut v = first;
                        while match until {
                            Until::AtMost => v <= last,
                            Until::AtLeast => v >= last,
                            Until::Below => v < last,
                            _ => v > last,
                        } {
                            values.push(i64::from(v) as u64);
                            v += step;
                        }
                        let l = of(until, first, last, step).canonical();
                        assert!(matches!(l.until, Until::AtMost | Until::AtLeast));
                        assert_eq!(l.trip_count(), values.len() as u64, "{l:?}");
                        for (n, v) in values.iter().enumerate() {
                            assert_eq!(l.value(I32, n as u64), *v, "{l:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn unequal_goes_the_way_of_the_step() {
        let up = of(Until::Unequal, 0, 6, 2).canonical();
        assert_eq!((up.until, up.trip_count()), (Until::AtMost, 3));
        let down = of(Until::Unequal, 6, 0, -2).canonical();
        assert_eq!((down.until, down.trip_count()), (Until::AtLeast, 3));
    }

    #[test]
    fn the_whole_range_of_a_type_is_counted() {
        let all = of(Until::AtMost, i32::MIN, i32::MAX, 1);
        assert_eq!(all.trip_count(), 1 << 32);
        let byte = Integer {
            bits: 8,
            signed: true,
        };
        assert_eq!(all.value(byte, 0x80), (-128i64) as u64, "wrapped");
    }

    #[test]
    fn bits_beyond_the_type_stay() {
        let l = of(Until::Below, 0, 0, 1).canonical();
        assert_eq!(l.last, 0xABCD_FFFF_FFFF);
    }

    #[test]
    fn the_innermost_loop_runs_fastest() {
        let split = |n| numbers(n, [3, 2]).collect::<Vec<_>>();
        assert_eq!(split(0), [0, 0]);
        assert_eq!(split(1), [1, 0]);
        assert_eq!(split(3), [0, 1]);
        assert_eq!(split(5), [2, 1]);
        assert_eq!(numbers(1, [3, 0]).count(), 1);
    }
}
