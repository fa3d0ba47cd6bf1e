//! What additions, subtractions, multiplications and divisions make of values.

use super::Value::*;
use super::{Order, Origin, Place, Split, Value};

impl Value {
    pub(crate) fn add_constant(self, constant: i64) -> Value {
        match self {
            _ if constant == 0 => self,
            Frame(place) => match place.offset.checked_add(constant) {
                Some(offset) => Frame(Place { offset, ..place }),
                None => InFrame,
            },
            FrameFrom(place) => match place.offset.checked_add(constant) {
                Some(offset) => FrameFrom(Place { offset, ..place }),
                None => InFrame,
            },
            Quotient(s) if constant == 1 => QuotientPlus(s),
            _ => self.add(Plain),
        }
    }

    /// The value multiplied by a number that the program's code has in it.
    pub(crate) fn times(self, factor: i64) -> Value {
        let times = |old: i32| i32::try_from(i64::from(old).checked_mul(factor)?).ok();
        match (self.threads_before(), self.laps()) {
            _ if factor == 1 => self,
            (Some(old), _) => times(old).map_or(Taint(Origin::ID), Spread),
            (_, Some(old)) => times(old).map_or(Taint(Origin::TEAM), Laps),
            _ => self.mixed(Plain),
        }
    }

    /// The sum of two values that are multiples of one of the two numbers, or of one that is and a plain one.
    fn add_multiples(self, other: Value) -> Option<Value> {
        let is_plain = |value: Value| value == Plain;
        match (self.threads_before(), other.threads_before()) {
            (Some(a), Some(b)) => return Some(a.checked_add(b).map_or(Taint(Origin::ID), Spread)),
            (Some(a), None) if is_plain(other) => return Some(Spread(a)),
            (None, Some(b)) if is_plain(self) => return Some(Spread(b)),
            _ => {}
        }
        let (a, b) = (self.laps()?, other.laps()?);
        Some(a.checked_add(b).map_or(Taint(Origin::TEAM), Laps))
    }

    /// The value, where what is made of it is no chunk's bound any more.
    fn as_number(self) -> Value {
        if matches!(self, First(_)) {
            Plain
        } else {
            self
        }
    }

    pub(crate) fn add(self, other: Value) -> Value {
        match (self, other) {
            (Zero, x) | (x, Zero) => x,
            (First(_), x) | (x, First(_)) => Plain.add(x.as_number()),
            (Quotient(a), Less(b)) | (Less(b), Quotient(a)) if a == b => QuotientPick(a),
            // The product and its own remainder: within 0..=n.
            (Product(a), Remainder(b)) | (Remainder(b), Product(a)) if a == b => First(a),
            (ProductPick(a), RemainderPick(b)) | (RemainderPick(b), ProductPick(a)) if a == b => {
                First(a)
            }
            (Product(a) | Shifted(a), Remainder(b) | Tail(b) | RemainderPick(b) | TailPick(b))
            | (Remainder(b) | Tail(b) | RemainderPick(b) | TailPick(b), Product(a) | Shifted(a))
                if a == b =>
            {
                Plain
            }
            (ProductPick(a) | ShiftedPick(a), RemainderPick(b) | TailPick(b))
            | (RemainderPick(b) | TailPick(b), ProductPick(a) | ShiftedPick(a))
                if a == b =>
            {
                Plain
            }
            (ProductPick(a) | ShiftedPick(a), Remainder(b) | Tail(b))
            | (Remainder(b) | Tail(b), ProductPick(a) | ShiftedPick(a))
                if a == b =>
            {
                ProductTail(a)
            }
            // Arrays are used upwards.
            (Frame(place) | FrameFrom(place), Plain) | (Plain, Frame(place) | FrameFrom(place)) => {
                FrameFrom(place)
            }
            (a, b) if a.is_pointer() || b.is_pointer() => a.mixed(b),
            (
                Product(_) | ProductPick(_) | Shifted(_) | ShiftedPick(_),
                Product(_) | ProductPick(_) | Shifted(_) | ShiftedPick(_),
            ) => Plain,
            (ProductTail(s), x) | (x, ProductTail(s)) if x.is_free() => ProductTail(s),
            (Product(s) | Shifted(s), x) | (x, Product(s) | Shifted(s)) if x.is_free() => {
                Shifted(s)
            }
            (ProductPick(s) | ShiftedPick(s), x) | (x, ProductPick(s) | ShiftedPick(s))
                if x.is_free() =>
            {
                ShiftedPick(s)
            }
            (Remainder(s) | Tail(s), x) | (x, Remainder(s) | Tail(s)) if x.is_free() => Tail(s),
            (RemainderPick(s) | TailPick(s), x) | (x, RemainderPick(s) | TailPick(s))
                if x.is_free() =>
            {
                TailPick(s)
            }
            (a, b) => a.add_multiples(b).unwrap_or_else(|| a.mixed(b)),
        }
    }

    pub(crate) fn subtract(self, other: Value) -> Value {
        match (self, other) {
            (x, Zero) => x,
            // The distance of two places.
            (a, b) if a.is_pointer() && b.is_pointer() => Plain,
            // `first - id * q` would be the remainder again.
            (_, Product(_) | ProductPick(_) | Shifted(_) | ShiftedPick(_)) => {
                Taint(Origin::ID.with(Origin::TEAM))
            }
            // Below where it pointed.
            (a, b) if a.is_pointer() && b.is_free() && !b.is_pointer() => a.mixed(b),
            (a, b) if b.is_free() && !b.is_pointer() => a.add(Plain),
            (a, b) => a.mixed(b),
        }
    }

    /// A product. `order` is what is known where it is made: only there does a
    /// quotient that was raised unconditionally belong to the split.
    pub(crate) fn multiply(self, other: Value, order: Order) -> Value {
        match (self, other) {
            (Zero, _) | (_, Zero) => Zero,
            (Id, Quotient(s)) | (Quotient(s), Id) => Product(s),
            (Team, Quotient(s)) | (Quotient(s), Team) => Covered(s),
            (Id, QuotientPick(s)) | (QuotientPick(s), Id) => ProductPick(s),
            (Id, QuotientPlus(s)) | (QuotientPlus(s), Id) if order == Order::Less(s) => {
                ProductPick(s)
            }
            (a, b) => a.mixed(b),
        }
    }

    /// The quotient of a division, and its remainder; the division is at
    /// `split`.
    pub(crate) fn divide(self, divisor: Value, split: Split) -> (Value, Value) {
        match (self, divisor) {
            (a, Team) if a.is_free() && !a.is_pointer() => (Quotient(split), Remainder(split)),
            // `i / q` is the number of the thread that has iteration `i`.
            (a, Quotient(_) | QuotientPlus(_) | QuotientPick(_)) => {
                let value = Taint(a.origin().with(Origin::TEAM));
                (value, value)
            }
            (a, b) => (a.mixed(b), a.mixed(b)),
        }
    }
}
