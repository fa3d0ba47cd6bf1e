//! Instructions that calculate: what compilers make a split of iterations, a loop's bounds and addresses from.

use super::{is_stack_pointer, tainted, Picked, Step};
use crate::findings::Memory;
use crate::state::{Flags, RAX, RDX};
use crate::value::{Origin, Place, Value};
use crate::Why;
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};

impl Step<'_> {
    pub(super) fn lea(&mut self, i: &Instruction) {
        let scale = i.memory_index_scale();
        let base = super::general(i.memory_base()).map(|n| self.state.general[n]);
        let index = super::general(i.memory_index()).map(|n| self.state.general[n]);
        let displacement = i.memory_displacement64() as i64;
        let displacement = if i.op0_register().size() == 4 {
            i64::from(displacement as i32)
        } else {
            displacement
        };
        let value = match (base, index) {
            (None, None) => Value::Plain,
            (Some(a), None) => a.add_constant(displacement),
            (base, Some(b)) => {
                let scaled = b.times(i64::from(scale));
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
        let value = if base.is_none() && index.is_none() {
            Value::Plain
        } else {
            value
        };
        self.write_register(i.op0_register(), value);
    }

    /// Remembers that `i` adds the two, if that gives the end of a chunk.
    fn note_end(&mut self, a: Value, b: Value, i: &Instruction) {
        if a.ends_chunk(b) {
            self.findings.ends.insert(i.ip());
        }
    }

    pub(super) fn arithmetic(&mut self, i: &Instruction) -> Result<(), Why> {
        use Mnemonic as M;
        let mnemonic = i.mnemonic();
        let same = i.op_count() == 2
            && i.op0_kind() == OpKind::Register
            && i.op1_kind() == OpKind::Register
            && i.op0_register() == i.op1_register();
        if same && matches!(mnemonic, M::Xor | M::Sub) {
            self.write_register(i.op0_register(), Value::Zero);
            self.state.flags = Flags::Plain;
            return Ok(());
        }
        let a = self.read(i, 0);
        let b = if i.op_count() > 1 {
            self.read(i, 1)
        } else {
            Value::Plain
        };
        let constant = if i.op_count() > 1 {
            Self::constant(i, 1)
        } else {
            None
        };
        if mnemonic == M::Add {
            self.note_end(a, b, i);
        }
        let first_or_last = match mnemonic {
            M::Test => same,
            M::Cmp => matches!(constant, Some(-1..=1)),
            _ => false,
        };
        if first_or_last && a == Value::Taint(Origin::TICKET) {
            self.state.flags = Flags::Plain;
            return Ok(());
        }
        if (mnemonic == M::Test && (same || constant == Some(-1))) && a == Value::Id {
            self.state.flags = Flags::IdZero;
            return Ok(());
        }
        let result = match (mnemonic, constant) {
            (M::Add, Some(c)) => a.add_constant(c),
            (M::Sub, Some(c)) => a.add_constant(c.wrapping_neg()),
            (M::Inc, _) => a.add_constant(1),
            (M::Dec, _) => a.add_constant(-1),
            (M::Add, None) => a.add(b),
            (M::Sub | M::Cmp, None) => a.subtract(b),
            (M::Or, None) if same => a,
            (M::And, None) if same => a,
            (M::And, Some(_)) if is_stack_pointer(i) => self.align(i)?,
            (M::Adc, Some(0)) => match (self.state.flags, a) {
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
            (M::Adc, _) => a.mixed(b).mixed(tainted(self.state.flags.origin())),
            // The lowest byte of the result depends on the lowest bytes alone.
            (M::And | M::Or | M::Xor, _) if a.has_plain_byte() && b.has_plain_byte() => {
                match a.origin().with(b.origin()) {
                    origin if origin.is_none() => a.mixed(b),
                    origin => Value::LowPlain(origin),
                }
            }
            // The negative of a product cancels one.
            (M::Neg, _) => Value::Zero.mixed(Value::Plain).subtract(a),
            _ => a.mixed(b),
        };
        let result = if is_stack_pointer(i) && mnemonic == M::Sub && constant.is_none() {
            // A variable-length array.
            self.align(i)?
        } else {
            result
        };
        let old = self.state.flags.origin();
        match (mnemonic, a, b) {
            (M::Cmp | M::Sub, Value::Id, Value::Remainder(split)) => {
                self.state.flags = Flags::IdRemainder {
                    split,
                    swapped: false,
                };
            }
            (M::Cmp | M::Sub, Value::Remainder(split), Value::Id) => {
                self.state.flags = Flags::IdRemainder {
                    split,
                    swapped: true,
                };
            }
            (M::Cmp, Value::Id, Value::Zero) => self.state.flags = Flags::IdZero,
            (M::Cmp, _, Value::Frame(place)) if is_stack_pointer(i) => {
                self.state.flags = Flags::StackEquals(place);
            }
            // These leave the carry as it was.
            (M::Inc | M::Dec, ..) => self.set_flags(a.origin().with(old)),
            _ => self.set_flags(a.origin().with(b.origin())),
        }
        if !matches!(mnemonic, M::Cmp | M::Test) {
            self.write(i, 0, result);
        }
        Ok(())
    }

    /// Whether the operand is a [`Value::IsFirst`].
    pub(super) fn is_bit(&self, i: &Instruction, operand: u32) -> bool {
        if operand >= i.op_count() {
            return false;
        }
        let value = match i.op_kind(operand) {
            OpKind::Register => {
                // Not `%ah`.
                let register = i.op_register(operand);
                super::general(register)
                    .filter(|_| register.size() != 1 || crate::operand::is_low_byte(register))
                    .map(|n| self.state.general[n])
            }
            OpKind::Memory if i.memory_index() == Register::None => {
                let base = super::general(i.memory_base()).map(|n| self.state.general[n]);
                let address = base.map(|base| base.add_constant(i.memory_displacement64() as i64));
                match address {
                    Some(Value::Frame(place)) => {
                        let size = i.memory_size().size() as i64;
                        Some(self.state.load(place, size))
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        matches!(value, Some(Value::IsFirst(_)))
    }

    /// Compares such a value with 0 or 1, turns it over, or asks for something else besides.
    pub(super) fn ask_bit(&mut self, i: &Instruction, factory: &mut InstructionInfoFactory) {
        use Mnemonic as M;
        let same = i.op0_kind() == OpKind::Register
            && i.op1_kind() == OpKind::Register
            && i.op0_register() == i.op1_register();
        let (a, b) = (self.read(i, 0), self.read(i, 1));
        let is_plain = |value: Value| value.is_free() && !value.is_pointer();
        let asked = match (i.mnemonic(), a, b, Self::constant(i, 1)) {
            (M::Xor, ..) if same => {
                self.state.flags = Flags::Plain;
                self.write_register(i.op0_register(), Value::Zero);
                return;
            }
            (M::Test | M::And | M::Or, Value::IsFirst(first), ..) if same => first,
            (M::Test | M::And, Value::IsFirst(first), _, Some(1))
            | (M::Cmp, Value::IsFirst(first), _, Some(0)) => first,
            (M::Cmp | M::Xor, Value::IsFirst(first), _, Some(1)) => !first,
            // Only one of many bits is looked at.
            (M::Test | M::And | M::Or, .., Some(_)) => return self.generic(i, factory.info(i)),
            (M::Test | M::And, Value::IsFirst(true), x, None)
            | (M::Test | M::And, x, Value::IsFirst(true), None)
                if is_plain(x) =>
            {
                true
            }
            (M::Or, Value::IsFirst(false), x, None) | (M::Or, x, Value::IsFirst(false), None)
                if is_plain(x) =>
            {
                false
            }
            _ => return self.generic(i, factory.info(i)),
        };
        self.state.flags = Flags::IsFirst(asked);
        if matches!(i.mnemonic(), M::Test | M::Cmp) {
            return;
        }
        if self.width(i) == 1 {
            self.write_narrow(i, Value::IsFirst(asked));
        } else {
            self.write(i, 0, Value::IsFirst(asked));
        }
    }

    /// A new base: what the stack pointer is afterwards is not known as an
    /// offset from the old one.
    fn align(&mut self, i: &Instruction) -> Result<Value, Why> {
        let base = self.frame.base(i.ip()).ok_or(Why::StackPointer)?;
        Ok(Value::Frame(Place { base, offset: 0 }))
    }

    pub(super) fn multiply(&mut self, i: &Instruction) {
        let (a, b) = if i.op_count() == 3 {
            (self.read(i, 1), self.read(i, 2))
        } else {
            (self.read(i, 0), self.read(i, 1))
        };
        let order = self.state.order;
        let result = match Self::constant(i, i.op_count() - 1) {
            Some(factor) if a.is_multiple() => a.times(factor),
            _ => a.multiply(b, order),
        };
        if let Value::Product(split) | Value::ProductPick(split) = result {
            self.findings.splits.insert(split);
        }
        self.set_flags(a.origin().with(b.origin()));
        self.write(i, 0, result);
    }

    /// Whether it shifts a multiple of one of the numbers by a constant.
    pub(super) fn is_multiple(&self, i: &Instruction) -> bool {
        self.peek(i, 0).is_some_and(Value::is_multiple)
            && matches!(Self::constant(i, 1), Some(0..=30))
    }

    pub(super) fn shift(&mut self, i: &Instruction) {
        let value = self.read(i, 0);
        let by = Self::constant(i, 1).unwrap_or(0);
        self.set_flags(value.origin());
        self.write(i, 0, value.times(1 << by));
    }

    pub(super) fn divide(&mut self, i: &Instruction) {
        let divisor = self.read(i, 0);
        let low = self.state.general[RAX];
        let high = self.state.general[RDX];
        let dividend = low.mixed(high);
        let divisor = match divisor {
            // Its old result must not pair with the new one.
            value if value.split() == Some(i.ip()) => value.outdated(),
            value => value,
        };
        let again = match (self.state.copied, self.state.divided) {
            (Some(source), Some((split, same))) if source == same => Some(split),
            _ => None,
        };
        if again.is_none() {
            self.state.forget_split(i.ip());
        }
        let split = again.unwrap_or(i.ip());
        let (quotient, remainder) = dividend.divide(divisor, split);
        self.state.general[RAX] = quotient;
        self.state.general[RDX] = remainder;
        if let (Some(source), Value::Quotient(split)) = (self.state.copied, quotient) {
            self.state.divided = Some((split, source));
        }
        self.set_flags(dividend.origin().with(divisor.origin()));
    }

    /// Adds to a counter that threads share, and takes what it was. A thread may number itself by
    /// that, and index an array by the number; not so if all that it asks is whether it was the first
    /// or the last one (see [`Step::arithmetic`]).
    pub(super) fn count(&mut self, i: &Instruction) {
        let memory = self.memory(i);
        let added = self.read(i, 1);
        if let Memory::Slot(_) | Memory::SomeSlot(_) = memory {
            self.generic_store(memory, i);
        } else {
            self.escape(added, Why::Store, i);
        }
        self.write(i, 1, Value::Taint(Origin::TICKET));
        // Of the sum, which nobody has a register for.
        self.state.flags = Flags::Plain;
    }

    /// What lies there is not followed any more.
    fn generic_store(&mut self, memory: Memory, i: &Instruction) {
        let size = i.memory_size().size() as i64;
        self.store(memory, size, Value::Plain, i);
    }

    pub(super) fn conditional_move(&mut self, i: &Instruction) {
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
