//! Everything that is known at one point of a function.

use std::cmp::Ordering;

use crate::code::{Condition, Roles, STACK};
use crate::slots::{Slot, Slots};
use crate::value::{join, Order, Origin, Place, Split, Value};
use crate::{Form, Machine};

/// Number of general-purpose registers, in the order of their encoding; the last one is the steps' of one instruction.
pub(crate) const GENERAL: usize = 33;
/// Number of vector registers.
pub(crate) const VECTOR: usize = 32;
/// Where divisions of x86-64 have the dividend and leave quotient and remainder.
pub(crate) const RAX: usize = 0;
pub(crate) const RDX: usize = 2;

/// What the last comparison was about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flags {
    /// Nothing of interest.
    Plain,
    /// `cmp id, remainder`; with the operands the other way round if swapped.
    IdRemainder { split: Split, swapped: bool },
    /// Threads other than the first find one of these, whatever the first one finds.
    Others(Outcomes),
    /// `cmp rsp, x`: where they are equal the stack pointer is `x`.
    StackEquals(Place),
    /// What this register took from a shared counter was compared with a constant: where they are equal, it is that.
    TicketEquals(usize),
    /// Depends on the numbers in another way.
    Taint(Origin),
}

/// What a comparison may have found, as a set of bits: one for each combination of the flags N, Z, C and V (no borrow),
/// in this order, as Arm writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcomes(u16);

impl Outcomes {
    const ZERO: u8 = 0b0100;

    /// The flags are these.
    pub(crate) fn just(flags: u8) -> Outcomes {
        Outcomes(1 << (flags & 0xf))
    }

    /// A number that is not negative was compared with another one.
    pub(crate) fn compared(a: u8, b: u8) -> Outcomes {
        let order = match a.cmp(&b) {
            Ordering::Less => 0b1000,
            Ordering::Equal => Outcomes::ZERO | 0b0010,
            Ordering::Greater => 0b0010,
        };
        Outcomes::just(order)
    }

    /// The result was zero, or was not; nothing else is known.
    pub(crate) fn zero(is_zero: bool) -> Outcomes {
        let all = (0..16).filter(|flags| (flags & Outcomes::ZERO != 0) == is_zero);
        Outcomes(all.fold(0, |set, flags| set | 1 << flags))
    }

    pub(crate) fn with(self, other: Outcomes) -> Outcomes {
        Outcomes(self.0 | other.0)
    }

    /// Whether the condition holds, or fails, for all of them.
    pub(crate) fn agree(self, condition: Condition) -> Option<bool> {
        let mut all = (0..16).filter(|flags| self.0 >> flags & 1 != 0);
        let first = holds(condition, all.next()?)?;
        all.all(|flags| holds(condition, flags) == Some(first))
            .then_some(first)
    }
}

fn holds(condition: Condition, flags: u8) -> Option<bool> {
    let [v, c, z, n] = [0, 1, 2, 3].map(|bit| flags >> bit & 1 != 0);
    use Condition as C;
    Some(match condition {
        C::Equal => z,
        C::NotEqual => !z,
        C::Less => n != v,
        C::GreaterOrEqual => n == v,
        C::Greater => !z && n == v,
        C::LessOrEqual => z || n != v,
        C::Below => !c,
        C::AboveOrEqual => c,
        C::Above => c && !z,
        C::BelowOrEqual => !c || z,
        C::None | C::Other => return None,
    })
}

impl Flags {
    pub(crate) fn origin(self) -> Origin {
        match self {
            Flags::Plain | Flags::StackEquals(_) | Flags::TicketEquals(_) => Origin::NONE,
            Flags::IdRemainder { .. } => Origin::ID.with(Origin::TEAM),
            Flags::Others(_) => Origin::ID,
            Flags::Taint(origin) => origin,
        }
    }
}

/// Where a value was copied from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Register(usize),
    Slot(Place),
    Constant(i64),
}

/// Registers, flags and frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    machine: Machine,
    pub(crate) general: [Value; GENERAL],
    pub(crate) vector: [Value; VECTOR],
    pub(crate) flags: Flags,
    pub(crate) order: Order,
    /// What `rax` is a copy of, as long as neither has changed (x86-64).
    pub(crate) copied: Option<Source>,
    /// The last division by the number of threads, with what its dividend was a
    /// copy of: unoptimised code divides once for the quotient and once more
    /// for the remainder.
    pub(crate) divided: Option<(Split, Source)>,
    /// What was stored and is not plain; a missing place is plain.
    slots: Slots,
}

impl State {
    pub(crate) fn entry(machine: Machine) -> State {
        let mut general = [Value::Plain; GENERAL];
        general[STACK] = Value::Frame(Place { base: 0, offset: 0 });
        State {
            machine,
            general,
            vector: [Value::Plain; VECTOR],
            flags: Flags::Plain,
            order: Order::Unknown,
            copied: None,
            divided: None,
            slots: Slots::default(),
        }
    }

    /// What the runtime calls an outlined function with.
    pub(crate) fn outlined(form: Form, machine: Machine) -> State {
        let mut state = State::entry(machine);
        if form == Form::Numbers {
            for &n in &machine.roles().arguments[..2] {
                state.general[n] = Value::Teller;
            }
        }
        state
    }

    pub(crate) fn roles(&self) -> &'static Roles {
        self.machine.roles()
    }

    /// Takes in what another path brings; tells whether anything changed.
    pub(crate) fn join(&mut self, other: &State) -> bool {
        let (mine, theirs) = (self.order, other.order);
        let mut changed = false;
        let mut merge = |a: &mut Value, b: &Value| {
            // As nearly always.
            if a == b {
                return;
            }
            let value = join((*a, mine), (*b, theirs));
            changed |= value != *a;
            *a = value;
        };
        for (a, b) in self.general.iter_mut().zip(&other.general) {
            merge(a, b);
        }
        for (a, b) in self.vector.iter_mut().zip(&other.vector) {
            merge(a, b);
        }
        changed |= self.slots.join(&other.slots, mine, theirs);
        if self.flags != other.flags {
            let origin = self.flags.origin().with(other.flags.origin());
            let flags = if origin.is_none() {
                Flags::Plain
            } else {
                Flags::Taint(origin)
            };
            changed |= flags != self.flags;
            self.flags = flags;
        }
        if self.copied != other.copied && self.copied.is_some() {
            self.copied = None;
            changed = true;
        }
        if self.divided != other.divided && self.divided.is_some() {
            self.divided = None;
            changed = true;
        }
        if self.order != other.order && self.order != Order::Unknown {
            self.order = Order::Unknown;
            changed = true;
        }
        changed
    }

    /// What was compared last was found equal.
    pub(crate) fn found_equal(&mut self) {
        match self.flags {
            Flags::StackEquals(place) => self.general[STACK] = Value::Frame(place),
            Flags::TicketEquals(n) if self.general[n] == Value::Taint(Origin::TICKET) => {
                self.general[n] = Value::Plain;
            }
            _ => {}
        }
    }

    /// Whether anything depends on which registers and places are written.
    pub(crate) fn has_copies(&self) -> bool {
        self.copied.is_some() || self.divided.is_some()
    }

    /// Forgets copies of what `changed` says was written.
    pub(crate) fn forget_copies(&mut self, changed: impl Fn(Source) -> bool) {
        if changed(Source::Register(RAX)) || self.copied.is_some_and(&changed) {
            self.copied = None;
        }
        if self.divided.is_some_and(|(_, source)| changed(source)) {
            self.divided = None;
        }
    }

    /// Forgets that values belong to a split whose division is made anew.
    pub(crate) fn forget_split(&mut self, split: Split) {
        let outdated = |value: &mut Value| {
            if value.split() == Some(split) {
                *value = value.outdated();
            }
        };
        self.general.iter_mut().for_each(outdated);
        self.vector.iter_mut().for_each(outdated);
        self.slots.change(outdated);
        if matches!(self.flags, Flags::IdRemainder { split: s, .. } if s == split) {
            self.flags = Flags::Taint(self.flags.origin());
        }
        if matches!(self.order, Order::Less(s) | Order::NotLess(s) if s == split) {
            self.order = Order::Unknown;
        }
        if self.divided.is_some_and(|(s, _)| s == split) {
            self.divided = None;
        }
    }

    /// The value at a place of the frame.
    pub(crate) fn load(&self, place: Place, size: i64) -> Value {
        let end = place.offset.saturating_add(size);
        let mut value: Option<Value> = None;
        for (at, slot) in self.overlapping(place, size) {
            let part = if at == place && slot.size == size {
                slot.value
            } else if at == place && slot.size > size && size >= 4 && !slot.value.is_pointer() {
                // The low half of a widened number is the number.
                slot.value
            } else if at == place && matches!(slot.value, Value::IsFirst(_)) {
                slot.value
            } else {
                slot.value.blurred()
            };
            let whole = at.offset <= place.offset && at.offset + slot.size >= end;
            value = Some(match value {
                None if whole => part,
                None => part.mixed(Value::Plain),
                Some(v) => v.mixed(part),
            });
        }
        let others = self.tainted(|at| at.base != place.base);
        match value {
            Some(value) => value,
            // Bases may overlap in ways that are not followed; a place that
            // was never written through this one might be one of theirs.
            None if others.is_none() => Value::Plain,
            None => Value::Taint(others),
        }
    }

    /// What a load from an unknown place of the frame, this one or one above it,
    /// may see.
    pub(crate) fn load_from(&self, from: Place) -> Value {
        let reached = |at: Place, slot: &Slot| {
            let end = at.offset.saturating_add(slot.size - 1);
            Place { offset: end, ..at }.is_at_or_above(from)
        };
        // No index of the program's reaches what the compiler keeps for itself.
        let own = |slot: &Slot| slot.value.is_handed();
        let mut seen = self
            .slots
            .iter()
            .filter(|(at, slot)| reached(*at, slot) && !own(slot));
        let origin = seen.clone().fold(Origin::NONE, |origin, (_, slot)| {
            origin.with(slot.value.origin())
        });
        if !origin.is_none() {
            Value::Taint(origin)
        } else if seen.any(|(_, slot)| slot.value.is_pointer()) {
            Value::InFrame
        } else {
            Value::Plain
        }
    }

    /// Which numbers lie in the places that `which` names.
    pub(crate) fn tainted(&self, which: impl Fn(Place) -> bool) -> Origin {
        self.slots
            .iter()
            .filter(|(place, slot)| which(*place) && !slot.value.is_handed())
            .fold(Origin::NONE, |origin, (_, slot)| {
                origin.with(slot.value.origin())
            })
    }

    /// Overwrites a place of the frame.
    pub(crate) fn store(&mut self, place: Place, size: i64, value: Value) {
        let end = place.offset.saturating_add(size);
        let old: Vec<(Place, Slot)> = self.overlapping(place, size).collect();
        for (at, slot) in old {
            if at.offset >= place.offset && at.offset + slot.size <= end {
                self.slots.remove(at);
            } else if slot.value.is_pointer() && slot.size <= 8 {
                // What is left of an address is none.
                self.slots.remove(at);
            } else if let Some(slot) = self.slots.get_mut(at) {
                slot.value = slot.value.blurred();
            }
        }
        let blurred = self.slots.get(place).map(|slot| slot.value);
        if let Some(old) = blurred {
            // A longer slot at the same place keeps its length.
            if let Some(slot) = self.slots.get_mut(place) {
                slot.value = old.mixed(value);
            }
        } else if value != Value::Plain {
            self.slots.insert(place, Slot { size, value });
        }
    }

    fn overlapping(&self, place: Place, size: i64) -> impl Iterator<Item = (Place, Slot)> + '_ {
        self.slots.overlapping(place, size)
    }
}
