//! What is in a register or a word of the stack frame, as far as the two
//! numbers are concerned.
//!
//! The values follow the split that compilers emit (libgomp's ABI leaves
//! static loops to the compiler):
//!
//! ```text
//! q = n / threads; r = n % threads;           Quotient, Remainder
//! if (id < r) { q = q + 1; r = 0; }           QuotientPick, RemainderPick
//! first = q * id + r; last = first + q        Product + Remainder = Plain
//! ```
//!
//! `0 <= q * id + r <= n - q` for every number of threads, so a sum of a
//! product and its own remainder is as good as any other number of the
//! program. A remainder alone is not (`hash % threads` names a thread), nor is
//! the identifier alone. The picked quotient with an unpicked remainder would
//! leave `0..=n`, hence the separate names.

mod arithmetic;

/// Which of the two numbers something stems from, or a counter that stands for
/// them, as a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Origin(u8);

impl Origin {
    pub(crate) const NONE: Origin = Origin(0);
    pub(crate) const ID: Origin = Origin(1);
    pub(crate) const TEAM: Origin = Origin(2);
    /// A number that an atomic counter gave out. Threads may number themselves
    /// by it.
    pub(crate) const TICKET: Origin = Origin(4);

    pub(crate) fn with(self, other: Origin) -> Origin {
        Origin(self.0 | other.0)
    }

    pub(crate) fn has(self, other: Origin) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// A place in the stack: offset from a base. Base 0 is the stack pointer at
/// the function's entry; a later base (an aligned stack pointer, a
/// variable-length array) lies below all earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) base: u8,
    pub(crate) offset: i64,
}

impl Place {
    /// Below everything.
    pub(crate) const LOWEST: Place = Place {
        base: u8::MAX,
        offset: i64::MIN,
    };

    /// Whether a pointer to `other`, used upwards, could reach this place.
    pub(crate) fn is_at_or_above(self, other: Place) -> bool {
        self.base < other.base || (self.base == other.base && self.offset >= other.offset)
    }
}

/// Names one split: the address of its division.
pub(crate) type Split = u64;

/// An abstract value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Has nothing to do with the two numbers, or is bounded by the program's
    /// own numbers whatever they are.
    Plain,
    /// What a call left in a register that it need not keep.
    Dead,
    /// Something that stems from the numbers on one path, and [`Value::Dead`]
    /// on another: no argument, since nobody passes what a call may have
    /// changed.
    Stale(Origin),
    /// The low byte was overwritten with something plain, the rest was not.
    LowPlain(Origin),
    /// The constant 0.
    Zero,
    /// Address of a known place of the frame.
    Frame(Place),
    /// Address of a place of the frame at or above this one.
    FrameFrom(Place),
    /// Address of some place of the frame.
    InFrame,
    /// Address of some place of the frame on one path, and [`Value::Dead`] on
    /// another.
    StaleFrame,
    /// The thread number itself.
    Id,
    /// The number of threads itself.
    Team,
    /// The answer of a call that the runtime answers with the number of threads of the ordinary team, whatever team
    /// runs: it may be printed, and nothing else.
    Shown,
    /// A number that the runtime handed to the outlined function, to be handed back to the runtime. No variable
    /// of the program, so that whoever may see the frame or an argument learns nothing.
    Told,
    /// Where such a number lies: what the outlined function gets.
    Teller,
    /// `n / threads`.
    Quotient(Split),
    /// `n / threads * threads`: how many iterations all threads have where each has as many as the others.
    Covered(Split),
    /// `n / threads + 1`.
    QuotientPlus(Split),
    /// `n / threads`, plus 1 where `id < n % threads`.
    QuotientPick(Split),
    /// `n % threads`.
    Remainder(Split),
    /// `n % threads`, or 0 where `id < n % threads`.
    RemainderPick(Split),
    /// At most `n % threads`, plus a plain number.
    Tail(Split),
    /// The same for a picked remainder.
    TailPick(Split),
    /// `id * Quotient`.
    Product(Split),
    /// `id * QuotientPick`.
    ProductPick(Split),
    /// `Product`, plus a plain number.
    Shifted(Split),
    /// `ProductPick`, plus a plain number.
    ShiftedPick(Split),
    /// `ProductPick + Remainder`: right only where `id >= n % threads`.
    ProductTail(Split),
    /// 1 where `id < n % threads`, else 0.
    Less(Split),
    /// The first iteration of the thread's chunk: a number of the program as good as any other.
    First(Split),
    /// A multiple of the thread number, plus a plain number: where a loop of chunks of one iteration begins.
    Spread(i32),
    /// A multiple of the number of threads: what such a loop goes on by.
    Laps(i32),
    /// A truth value in the lowest byte. If `true`: it is true in no thread but the first (`id == 0`, `id == 0 && x`).
    /// If
    /// `false`: it fails in no thread but the first (`id != 0`).
    IsFirst(bool),
    /// What a function left in a register of results, where that may be something else in the first thread. Mostly the
    /// function has no result, and it is nothing.
    Left,
    /// Anything else that stems from the two numbers.
    Taint(Origin),
}

/// What the branches taken so far say about `id < n % threads`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Unknown,
    Less(Split),
    NotLess(Split),
}

use Value::*;

impl Value {
    /// Which numbers it would betray; none where it may flow anywhere.
    pub(crate) fn origin(self) -> Origin {
        match self {
            Plain | Dead | Zero | Frame(_) | FrameFrom(_) | InFrame | StaleFrame => Origin::NONE,
            Quotient(_) | QuotientPlus(_) | QuotientPick(_) => Origin::NONE,
            Product(_) | ProductPick(_) | Shifted(_) | ShiftedPick(_) | First(_) => Origin::NONE,
            Id | Told | Teller | Spread(_) | IsFirst(_) | Left => Origin::ID,
            Team | Shown | Laps(_) | Covered(_) => Origin::TEAM,
            Remainder(_) | RemainderPick(_) | Tail(_) | TailPick(_) => Origin::TEAM,
            Less(_) | ProductTail(_) => Origin::ID.with(Origin::TEAM),
            Taint(origin) | Stale(origin) | LowPlain(origin) => origin,
        }
    }

    /// What only the compiler itself hands on.
    pub(crate) fn is_handed(self) -> bool {
        matches!(self, Told | Teller)
    }

    /// Whether its lowest byte has nothing to do with the numbers.
    pub(crate) fn has_plain_byte(self) -> bool {
        matches!(self, LowPlain(_)) || self.is_free() && !self.is_pointer()
    }

    pub(crate) fn is_free(self) -> bool {
        self.origin().is_none()
    }

    pub(crate) fn is_pointer(self) -> bool {
        matches!(self, Frame(_) | FrameFrom(_) | InFrame | StaleFrame)
    }

    /// The lowest place of the frame that it may point to, where it is a pointer.
    pub(crate) fn points_from(self) -> Option<Place> {
        match self {
            Frame(place) | FrameFrom(place) => Some(place),
            InFrame | StaleFrame => Some(Place::LOWEST),
            _ => None,
        }
    }

    /// The split that it belongs to.
    pub(crate) fn split(self) -> Option<Split> {
        match self {
            Quotient(s) | QuotientPlus(s) | QuotientPick(s) | Remainder(s) | RemainderPick(s)
            | Tail(s) | TailPick(s) | Product(s) | ProductPick(s) | ProductTail(s) | Less(s)
            | Shifted(s) | ShiftedPick(s) | First(s) | Covered(s) => Some(s),
            Plain | Dead | Stale(_) | LowPlain(_) | Zero | Frame(_) | FrameFrom(_) | InFrame
            | StaleFrame | Id | Team | Shown | Told | Teller | Spread(_) | Laps(_) | IsFirst(_)
            | Left | Taint(_) => None,
        }
    }

    /// What is left of it when only part of it is kept, or when it is an
    /// operand of something that is not modelled.
    pub(crate) fn blurred(self) -> Value {
        if self.is_pointer() {
            InFrame
        } else if self.is_free() {
            Plain
        } else {
            Taint(self.origin())
        }
    }

    /// What an operation that is not modelled makes of two operands.
    pub(crate) fn mixed(self, other: Value) -> Value {
        let origin = self.origin().with(other.origin());
        if !origin.is_none() {
            Taint(origin)
        } else if self.is_pointer() || other.is_pointer() {
            InFrame
        } else {
            Plain
        }
    }

    /// The value, where the first thread may leave something else.
    pub(crate) fn left(self) -> Value {
        if self.is_free() {
            Left
        } else {
            self.mixed(Left)
        }
    }

    /// After the division of its split has been made again, with other
    /// operands.
    pub(crate) fn outdated(self) -> Value {
        if self.is_free() {
            Plain
        } else {
            Taint(self.origin())
        }
    }

    /// Whether it is the length of a thread's chunk, or would be.
    pub(crate) fn is_quotient(self) -> bool {
        matches!(self, Quotient(_) | QuotientPlus(_) | QuotientPick(_))
    }

    /// Whether the sum of the two is the end of a thread's chunk: its first iteration and its length.
    pub(crate) fn ends_chunk(self, other: Value) -> bool {
        matches!(
            (self, other),
            (First(a), Quotient(b) | QuotientPick(b)) | (Quotient(b) | QuotientPick(b), First(a))
                if a == b
        )
    }

    /// How many times the thread number it is, next to a plain number.
    pub(crate) fn threads_before(self) -> Option<i32> {
        match self {
            Id => Some(1),
            Spread(times) => Some(times),
            _ => None,
        }
    }

    /// How many times the number of threads it is.
    pub(crate) fn laps(self) -> Option<i32> {
        match self {
            Team => Some(1),
            Laps(times) => Some(times),
            _ => None,
        }
    }

    /// Whether it is a multiple of one of the two numbers, or has one in it.
    pub(crate) fn is_multiple(self) -> bool {
        self.threads_before().is_some() || self.laps().is_some()
    }

    /// One of two values, by whether `id < n % threads` of `split`.
    pub(crate) fn pick(less: Value, not_less: Value, split: Split) -> Value {
        join(
            (less, Order::Less(split)),
            (not_less, Order::NotLess(split)),
        )
    }
}

/// The value as one of the picked pair, where it is one: a raised quotient and
/// a cleared remainder where the identifier is below the remainder, the
/// untouched ones where it is not.
fn as_picked((value, order): (Value, Order), split: Split) -> Option<Value> {
    match (value, order) {
        (QuotientPick(s) | Quotient(s), _) if s == split => Some(QuotientPick(s)),
        (QuotientPlus(s), Order::Less(o)) if s == split && o == s => Some(QuotientPick(s)),
        (RemainderPick(s), _) if s == split => Some(RemainderPick(s)),
        (Remainder(s), Order::NotLess(o)) if s == split && o == s => Some(RemainderPick(s)),
        (Zero, Order::Less(o)) if o == split => Some(RemainderPick(o)),
        (Product(s) | ProductPick(s), _) if s == split => Some(ProductPick(s)),
        (Shifted(s) | ShiftedPick(s), _) if s == split => Some(ShiftedPick(s)),
        _ => None,
    }
}

/// A sum that is right where its path comes from is as good as any number.
fn where_right((value, order): (Value, Order)) -> (Value, Order) {
    match (value, order) {
        (ProductTail(s), Order::NotLess(o)) if s == o => (Plain, order),
        pair => pair,
    }
}

/// The least value that covers both, where two paths meet.
pub(crate) fn join(a: (Value, Order), b: (Value, Order)) -> Value {
    if a.0 == b.0 {
        return a.0;
    }
    let (a, b) = (where_right(a), where_right(b));
    if let Some(split) = a.0.split().or(b.0.split()) {
        if let (Some(x), Some(y)) = (as_picked(a, split), as_picked(b, split)) {
            if x == y {
                return x;
            }
        }
    }
    match (a.0, b.0) {
        (Told | Teller, x) | (x, Told | Teller)
            if x.is_handed() || x.is_free() && !x.is_pointer() =>
        {
            Told
        }
        (LowPlain(o), x) | (x, LowPlain(o)) if x.is_free() && !x.is_pointer() => LowPlain(o),
        (Frame(p), Frame(q)) if p.base == q.base => FrameFrom(p.min(q)),
        // Once it comes from further below it may come from anywhere.
        (FrameFrom(p), Frame(q) | FrameFrom(q)) | (Frame(q), FrameFrom(p))
            if p.base == q.base && p.offset <= q.offset =>
        {
            FrameFrom(p)
        }
        (StaleFrame, x) | (x, StaleFrame) if x.is_free() => StaleFrame,
        (Dead, x) | (x, Dead) if x.is_pointer() => StaleFrame,
        (Dead, x) | (x, Dead) if !x.is_free() => Stale(x.origin()),
        (Stale(_), x) | (x, Stale(_)) => Stale(a.0.origin().with(b.0.origin()).with(x.origin())),
        // Between 0 and the remainder, in one way or another.
        (
            Zero | Remainder(_) | RemainderPick(_) | Tail(_),
            Zero | Remainder(_) | RemainderPick(_) | Tail(_),
        ) => match (a.0.split(), b.0.split()) {
            (Some(s), None) | (None, Some(s)) => Tail(s),
            (Some(s), Some(t)) if s == t => Tail(s),
            _ => Taint(a.0.origin().with(b.0.origin())),
        },
        (x, y) => x.mixed(y),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Split = 7;

    #[test]
    fn the_compilers_split_is_plain() {
        let first = Id.multiply(Quotient(S), Order::Unknown).add(Remainder(S));
        assert_eq!(first, First(S));
        assert!(first.ends_chunk(Quotient(S)) && !first.ends_chunk(Quotient(S + 1)));
        assert_eq!(first.add(Quotient(S)), Plain);
        // One more, or less: no bound of the chunk, but as good as any number.
        assert_eq!(first.add_constant(1), Plain);
        let shifted = Id.multiply(Quotient(S), Order::Unknown).add(Plain);
        assert_eq!(shifted.add(Remainder(S)), Plain);
        let q = join(
            (QuotientPlus(S), Order::Less(S)),
            (Quotient(S), Order::NotLess(S)),
        );
        let r = join((Zero, Order::Less(S)), (Remainder(S), Order::NotLess(S)));
        assert_eq!(Id.multiply(q, Order::Unknown).add(r), First(S));
    }

    /// Paths may bring their values in any order and again and again: what has
    /// been joined must come to rest.
    #[test]
    fn joins_come_to_rest() {
        let place = Place { base: 0, offset: 8 };
        let all = [
            Plain,
            Dead,
            Stale(Origin::ID),
            LowPlain(Origin::TEAM),
            Zero,
            Frame(place),
            FrameFrom(place),
            FrameFrom(Place { base: 0, offset: 0 }),
            InFrame,
            StaleFrame,
            Id,
            Team,
            Shown,
            Told,
            Teller,
            Quotient(S),
            Covered(S),
            QuotientPlus(S),
            QuotientPick(S),
            Remainder(S),
            RemainderPick(S),
            Tail(S),
            TailPick(S),
            Product(S),
            ProductPick(S),
            Shifted(S),
            ShiftedPick(S),
            ProductTail(S),
            Less(S),
            First(S),
            Spread(1),
            Spread(3),
            Laps(3),
            IsFirst(true),
            IsFirst(false),
            Left,
            Taint(Origin::ID),
            Quotient(S + 1),
            Remainder(S + 1),
        ];
        let orders = [Order::Unknown, Order::Less(S), Order::NotLess(S)];
        for a in all {
            for b in all {
                for c in all {
                    for order in orders {
                        let mut value = a;
                        let mut changes = 0;
                        for turn in 0..60 {
                            let next = [a, b, c][turn % 3];
                            let joined = join((value, Order::Unknown), (next, order));
                            changes += usize::from(joined != value);
                            value = joined;
                        }
                        assert!(changes <= 6, "{a:?} {b:?} {c:?} {order:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn multiples_stay_tainted() {
        assert_eq!(Id.times(8).add(Plain), Spread(8));
        assert_eq!(Id.add(Id.times(2)), Spread(3));
        assert_eq!(Team.add(Team.times(4)), Laps(5));
        for value in [Id.times(8), Team.times(8), Id.add(Team), Team.add(Plain)] {
            assert!(!value.is_free(), "{value:?}");
        }
        // The next iteration is none before it was compared with the last one.
        assert_eq!(Plain.add(Team), Taint(Origin::TEAM));
        assert!(!Id.times(i64::MAX).is_free());
    }

    #[test]
    fn what_is_not_the_split_stays_tainted() {
        // The remainder was not cleared.
        let raised = Id.multiply(QuotientPick(S), Order::Unknown);
        assert!(!raised.add(Remainder(S)).is_free());
        // The quotient was raised for everybody.
        assert!(!Id.multiply(QuotientPlus(S), Order::Unknown).is_free());
        let q = join(
            (QuotientPlus(S), Order::NotLess(S)),
            (Quotient(S), Order::Less(S)),
        );
        assert!(!Id.multiply(q, Order::Unknown).is_free());
        // Another split's remainder.
        assert!(!Product(S).add(Remainder(S + 1)).is_free());
        assert!(!Id.multiply(Plain, Order::Unknown).is_free());
        assert!(!Id.add_constant(1).is_free());
        assert!(!Plain.subtract(Id).is_free());
        assert!(!join((Id, Order::Unknown), (Zero, Order::Unknown)).is_free());
        // A tail is at most the remainder, twice it is more.
        assert!(!Remainder(S).add(Remainder(S)).add(Product(S)).is_free());
    }
}
