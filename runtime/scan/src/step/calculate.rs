//! Instructions that calculate: what compilers make a split of iterations, a loop's bounds and addresses from.

use super::{is_stack_pointer, tainted, Picked, Step};
use crate::code::{FlagsWritten, Instruction, Op, Operand, Register};
use crate::findings::Memory;
use crate::state::{Flags, Outcomes, Source, RAX, RDX};
use crate::value::{Origin, Place, Value};
use crate::Why;

impl Step<'_> {
    pub(super) fn address(&mut self, i: &Instruction) {
        let (Operand::Register(to), Some(address)) = (i.operand(0), i.address) else {
            return;
        };
        let value = |part: Option<Register>| Some(self.state.general[part?.general()?]);
        let (base, index) = (value(address.base), value(address.index));
        let displacement = if to.size == 4 {
            i64::from(address.displacement as i32)
        } else {
            address.displacement
        };
        let value = match (base, index) {
            (None, None) => Value::Plain,
            (Some(a), None) => a.add_constant(displacement),
            (base, Some(b)) => {
                let scaled = b.times(address.scale);
                let base = base.unwrap_or(Value::Zero);
                self.note_end(base, scaled, i);
                let sum = base.add(scaled);
                if sum == Value::Zero {
                    Value::Plain
                } else {
                    sum.add_constant(displacement)
                }
            }
        };
        self.write_register(to, value);
    }

    /// Remembers that `i` adds the two, if that gives the end of a chunk.
    fn note_end(&mut self, a: Value, b: Value, i: &Instruction) {
        if a.ends_chunk(b) {
            self.findings.ends.insert(i.at);
        }
    }

    pub(super) fn arithmetic(&mut self, i: &Instruction) -> Result<(), Why> {
        let op = i.op;
        if let (Some(register), Op::Xor | Op::Subtract) = (i.same_register(), op) {
            self.write_register(register, Value::Zero);
            self.state.flags = Flags::Plain;
            return Ok(());
        }
        let same = i.same_register().is_some();
        // Where the result has a place of its own, what it is made of comes behind it.
        let first = i
            .operands()
            .len()
            .saturating_sub(if op == Op::Negate { 1 } else { 2 });
        let first = if i.operands().len() == 1 { 0 } else { first };
        let a = self.read(i, first);
        let b = self.read(i, first + 1);
        let constant = i.operand(first + 1).constant();
        if op == Op::Add {
            self.note_end(a, b, i);
        }
        let first_or_last = match op {
            Op::Test => same,
            Op::Compare => matches!(constant, Some(-1..=1)),
            _ => false,
        };
        if first_or_last && a == Value::Taint(Origin::TICKET) {
            self.state.flags = match i.operand(first).general() {
                Some(n) if op == Op::Compare => Flags::TicketEquals(n),
                _ => Flags::Plain,
            };
            return Ok(());
        }
        if op == Op::Test && (same || constant == Some(-1)) && a == Value::Id {
            self.state.flags = Flags::Others(Outcomes::compared(1, 0));
            return Ok(());
        }
        let result = match (op, constant) {
            (Op::Add, Some(c)) => a.add_constant(c),
            (Op::Subtract, Some(c)) => a.add_constant(c.wrapping_neg()),
            (Op::Increment, _) => a.add_constant(1),
            (Op::Decrement, _) => a.add_constant(-1),
            (Op::Add, None) => a.add(b),
            (Op::Subtract, None) if self.is_rest(i, first, b) => match b.split() {
                Some(split) => Value::Remainder(split),
                None => a.subtract(b),
            },
            (Op::Subtract | Op::Compare, None) => a.subtract(b),
            (Op::Or, None) if same => a,
            (Op::And, None) if same => a,
            (Op::And, Some(_)) if is_stack_pointer(i) => self.align(i)?,
            (Op::AddCarry, Some(0)) => match (self.state.flags, a) {
                // The carry of `cmp id, remainder`.
                (
                    Flags::IdRemainder {
                        split,
                        swapped: false,
                    },
                    Value::Quotient(s),
                ) if s == split => Value::QuotientPick(s),
                (flags, a) => a.mixed(tainted(flags.origin())),
            },
            (Op::AddCarry, _) => a.mixed(b).mixed(tainted(self.state.flags.origin())),
            // The lowest byte of the result depends on the lowest bytes alone.
            (Op::And | Op::Or | Op::Xor, _) if a.has_plain_byte() && b.has_plain_byte() => {
                match a.origin().with(b.origin()) {
                    origin if origin.is_none() => a.mixed(b),
                    origin => Value::LowPlain(origin),
                }
            }
            // The negative of a product cancels one.
            (Op::Negate, _) => Value::Zero.mixed(Value::Plain).subtract(a),
            _ => a.mixed(b),
        };
        let result = if is_stack_pointer(i) && op == Op::Subtract && constant.is_none() {
            // A variable-length array.
            self.align(i)?
        } else {
            result
        };
        let old = self.state.flags.origin();
        match (op, a, b) {
            _ if i.flags == FlagsWritten::None => {}
            (Op::Compare | Op::Subtract, Value::Id, Value::Remainder(split)) => {
                self.state.flags = Flags::IdRemainder {
                    split,
                    swapped: false,
                };
            }
            (Op::Compare | Op::Subtract, Value::Remainder(split), Value::Id) => {
                self.state.flags = Flags::IdRemainder {
                    split,
                    swapped: true,
                };
            }
            (Op::Compare, Value::Id, Value::Zero) => {
                self.state.flags = Flags::Others(Outcomes::compared(1, 0));
            }
            (Op::Compare, _, Value::Frame(place)) if is_stack_pointer(i) => {
                self.state.flags = Flags::StackEquals(place);
            }
            // These leave the carry as it was.
            (Op::Increment | Op::Decrement, ..) => self.set_flags(a.origin().with(old)),
            _ => self.set_flags(a.origin().with(b.origin())),
        }
        if !matches!(op, Op::Compare | Op::Test) {
            self.write(i, 0, result);
        }
        Ok(())
    }

    /// Whether it subtracts what all threads have in common (`b`) from what was divided among them.
    fn is_rest(&self, i: &Instruction, from: usize, b: Value) -> bool {
        let divided = i.operand(from).general().map(Source::Register);
        matches!((b, self.state.divided), (Value::Covered(s), Some((split, source)))
            if s == split && divided == Some(source))
    }

    /// Whether the operand is a [`Value::IsFirst`].
    pub(super) fn is_bit(&self, i: &Instruction, operand: usize) -> bool {
        let value = match i.operand(operand) {
            Operand::Register(register) => register
                .general()
                .filter(|_| !register.is_high)
                .map(|n| self.state.general[n]),
            Operand::Memory if i.index().is_none() => {
                let base = i.base().and_then(Register::general);
                let address = base.map(|n| self.state.general[n].add_constant(i.displacement()));
                match address {
                    Some(Value::Frame(place)) => Some(self.state.load(place, i.size)),
                    _ => None,
                }
            }
            _ => None,
        };
        matches!(value, Some(Value::IsFirst(_)))
    }

    /// Compares such a value with 0 or 1, turns it over, or asks for something else besides.
    pub(super) fn ask_bit(&mut self, i: &Instruction) {
        let same = i.same_register();
        if let (Some(register), Op::Xor) = (same, i.op) {
            self.state.flags = Flags::Plain;
            self.write_register(register, Value::Zero);
            return;
        }
        let (a, b) = (self.read(i, 0), self.read(i, 1));
        let is_plain = |value: Value| value.is_free() && !value.is_pointer();
        let asked = match (i.op, a, b, i.operand(1).constant()) {
            (Op::Test | Op::And | Op::Or, Value::IsFirst(first), ..) if same.is_some() => first,
            (Op::Test | Op::And, Value::IsFirst(first), _, Some(1))
            | (Op::Compare, Value::IsFirst(first), _, Some(0)) => first,
            (Op::Compare | Op::Xor, Value::IsFirst(first), _, Some(1)) => !first,
            // Only one of many bits is looked at.
            (Op::Test | Op::And | Op::Or, .., Some(_)) => return self.generic(i),
            (Op::Test | Op::And, Value::IsFirst(true), x, None)
            | (Op::Test | Op::And, x, Value::IsFirst(true), None)
                if is_plain(x) =>
            {
                true
            }
            (Op::Or, Value::IsFirst(false), x, None) | (Op::Or, x, Value::IsFirst(false), None)
                if is_plain(x) =>
            {
                false
            }
            _ => return self.generic(i),
        };
        self.state.flags = Flags::Others(Outcomes::zero(asked));
        if matches!(i.op, Op::Test | Op::Compare) {
            return;
        }
        if i.width() == 1 {
            self.write_narrow(i, Value::IsFirst(asked));
        } else {
            self.write(i, 0, Value::IsFirst(asked));
        }
    }

    /// Compares where a condition holds, else leaves other flags: `a && b` without a branch.
    pub(super) fn compare_if(&mut self, i: &Instruction) {
        let (a, b) = (self.read(i, 0), self.read(i, 1));
        let constant = |n| i.operand(n).constant().and_then(|c| u8::try_from(c).ok());
        let before = self.state.flags;
        let found = constant(2).and_then(|otherwise| {
            let otherwise = Outcomes::just(otherwise);
            match (before, a, constant(1)) {
                // Of the threads only the first one may compare.
                (Flags::Others(found), ..) => {
                    let fails = found.agree(i.condition) == Some(false);
                    (fails && a.is_free() && b.is_free()).then_some(otherwise)
                }
                _ if !before.origin().is_none() => None,
                (_, Value::Id, Some(0)) => Some(Outcomes::compared(1, 0).with(otherwise)),
                (_, Value::IsFirst(first), Some(with)) => {
                    Some(Outcomes::compared(u8::from(!first), with).with(otherwise))
                }
                _ => None,
            }
        });
        match found {
            Some(found) => self.state.flags = Flags::Others(found),
            None => self.set_flags(a.origin().with(b.origin()).with(before.origin())),
        }
    }

    /// A new base: what the stack pointer is afterwards is not known as an
    /// offset from the old one.
    fn align(&mut self, i: &Instruction) -> Result<Value, Why> {
        let base = self.frame.base(i.at).ok_or(Why::StackPointer)?;
        Ok(Value::Frame(Place { base, offset: 0 }))
    }

    pub(super) fn multiply(&mut self, i: &Instruction) {
        let last = i.operands().len() - 1;
        let (a, b) = (self.read(i, last - 1), self.read(i, last));
        let order = self.state.order;
        let result = match i.operand(last).constant() {
            Some(factor) if a.is_multiple() => a.times(factor),
            _ => a.multiply(b, order),
        };
        if let Value::Product(split) | Value::ProductPick(split) = result {
            self.findings.splits.insert(split);
        }
        if i.flags != FlagsWritten::None {
            self.set_flags(a.origin().with(b.origin()));
        }
        self.write(i, 0, result);
    }

    /// Whether it shifts a multiple of one of the numbers by a constant.
    pub(super) fn is_multiple(&self, i: &Instruction) -> bool {
        let last = i.operands().len() - 1;
        self.peek(i, last - 1).is_some_and(Value::is_multiple)
            && matches!(i.operand(last).constant(), Some(0..=30))
    }

    pub(super) fn shift(&mut self, i: &Instruction) {
        let last = i.operands().len() - 1;
        let value = self.read(i, last - 1);
        let by = i.operand(last).constant().unwrap_or(0);
        if i.flags != FlagsWritten::None {
            self.set_flags(value.origin());
        }
        self.write(i, 0, value.times(1 << by));
    }

    pub(super) fn divide(&mut self, i: &Instruction) {
        if i.operands().len() == 3 {
            return self.divide_registers(i);
        }
        let divisor = self.read(i, 0);
        let low = self.state.general[RAX];
        let high = self.state.general[RDX];
        let dividend = low.mixed(high);
        let divisor = match divisor {
            // Its old result must not pair with the new one.
            value if value.split() == Some(i.at) => value.outdated(),
            value => value,
        };
        let again = match (self.state.copied, self.state.divided) {
            (Some(source), Some((split, same))) if source == same => Some(split),
            _ => None,
        };
        if again.is_none() {
            self.state.forget_split(i.at);
        }
        let split = again.unwrap_or(i.at);
        let (quotient, remainder) = dividend.divide(divisor, split);
        self.state.general[RAX] = quotient;
        self.state.general[RDX] = remainder;
        if let (Some(source), Value::Quotient(split)) = (self.state.copied, quotient) {
            self.state.divided = Some((split, source));
        }
        self.set_flags(dividend.origin().with(divisor.origin()));
    }

    /// A division that leaves a quotient alone.
    fn divide_registers(&mut self, i: &Instruction) {
        let (dividend, divisor) = (self.read(i, 1), self.read(i, 2));
        let here = i.same_as.unwrap_or(i.at);
        let divisor = match divisor {
            value if value.split() == Some(here) => value.outdated(),
            value => value,
        };
        let source = i.operand(1).general().map(Source::Register);
        let again = match (source, self.state.divided) {
            (Some(source), Some((split, same))) if source == same => Some(split),
            _ => None,
        };
        if again.is_none() {
            self.state.forget_split(here);
        }
        let (quotient, _) = dividend.divide(divisor, again.unwrap_or(here));
        self.write(i, 0, quotient);
        if let (Some(source), Value::Quotient(split)) = (source, quotient) {
            self.state.divided = Some((split, source));
        }
    }

    /// Adds to a counter that threads share, and takes what it was. A thread may number itself by
    /// that, and index an array by the number; not so if all that it asks is whether it was the first
    /// or the last one (see [`Step::arithmetic`]).
    pub(super) fn count(&mut self, i: &Instruction) {
        let memory = self.memory(i);
        let added = self.read(i, 1);
        let last = i.operands().len() - 1;
        if let Memory::Slot(_) | Memory::SomeSlot(_) = memory {
            self.generic_store(memory, i);
        } else {
            self.escape(added, Why::Store, i);
        }
        self.write(i, last, Value::Taint(Origin::TICKET));
        if matches!(self.state.flags, Flags::TicketEquals(_)) {
            self.state.flags = Flags::Plain;
        }
        // Of the sum, which nobody has a register for.
        if i.flags != FlagsWritten::None {
            self.state.flags = Flags::Plain;
        }
    }

    /// What lies there is not followed any more.
    fn generic_store(&mut self, memory: Memory, i: &Instruction) {
        self.store(memory, i.size, Value::Plain, i);
    }

    pub(super) fn select(&mut self, i: &Instruction) {
        let old = self.read(i, 0);
        let new = self.read(i, 1);
        let origin = self.state.flags.origin();
        let value = match self.compared(i) {
            Some(Picked::Less(split)) => Value::pick(new, old, split),
            Some(Picked::NotLess(split)) => Value::pick(old, new, split),
            // Two plain numbers need not be the same one.
            _ if old == new && origin.is_none() => old,
            _ => old.mixed(new).mixed(tainted(origin)),
        };
        self.write(i, 0, value);
    }
}
