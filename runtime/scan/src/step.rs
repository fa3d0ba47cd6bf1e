//! What one instruction does to the state.
//!
//! The instructions that compilers use for the split are modelled one by one;
//! every other goes through [`Step::generic`].
//!
//! This file chooses the model and keeps track of copies, conditions and the stack; [`calculate`] has the
//! arithmetic, [`unmodelled`] all the rest.

mod calculate;
mod unmodelled;

use crate::code::{Condition, Instruction, Op, Operand, Register, FRAME, STACK};
use crate::findings::{Findings, Frame, Memory, ZeroBranch};
use crate::state::{Flags, Source, State, RAX, RDX};
use crate::value::{Order, Origin, Place, Value};
use crate::Why;

/// One instruction in its surroundings.
pub(crate) struct Step<'a> {
    pub(crate) state: &'a mut State,
    pub(crate) findings: &'a mut Findings,
    pub(crate) frame: &'a mut Frame,
}

impl Step<'_> {
    pub(crate) fn escape(&mut self, value: Value, why: Why, at: &Instruction) {
        self.findings.escape(value.origin(), why, at.at);
    }

    /// Executes `i`. Calls, jumps and returns are the caller's, apart from the
    /// operands that they read.
    pub(crate) fn execute(&mut self, i: &Instruction) -> Result<(), Why> {
        let width = i.width();
        match i.op {
            Op::Nothing => {}
            Op::Copy if width == 4 && self.is_told(i) => {
                self.frame.touch(i.at, Memory::Outside);
                self.write(i, 0, Value::Told);
            }
            Op::Copy if width >= 4 => self.copy(i),
            Op::Widen | Op::CopyVector => self.copy(i),
            Op::Extend if matches!(self.peek(i, 1), Some(Value::Less(_))) || self.is_bit(i, 1) => {
                self.copy(i);
            }
            Op::Copy if width == 1 && self.is_bit(i, 1) => {
                let value = self.read(i, 1);
                self.write_narrow(i, value);
            }
            Op::Test | Op::Compare | Op::Xor | Op::And | Op::Or
                if self.is_bit(i, 0) || self.is_bit(i, 1) =>
            {
                self.ask_bit(i);
            }
            // Only the widening to 64 bits: narrower numbers are not modelled.
            Op::WidenResult => {}
            Op::SpreadSign => {
                let sign = self.state.general[RAX];
                self.state.general[RDX] = if sign.is_free() {
                    Value::Plain
                } else {
                    sign.blurred()
                };
            }
            Op::Address => self.address(i),
            Op::Add
            | Op::Subtract
            | Op::Increment
            | Op::Decrement
            | Op::Compare
            | Op::Xor
            | Op::And
            | Op::Or
            | Op::Test
            | Op::AddCarry
            | Op::Negate
                if width >= 4 =>
            {
                self.arithmetic(i)?;
            }
            Op::CompareIf => self.compare_if(i),
            Op::FetchAdd if i.is_locked => self.count(i),
            Op::Multiply if width >= 4 => self.multiply(i),
            Op::ShiftLeft if width >= 4 && self.is_multiple(i) => self.shift(i),
            Op::Divide if width >= 4 => self.divide(i),
            Op::Push => self.push(i)?,
            Op::Pop if width == 8 => {
                let place = self.stack_pointer()?;
                self.frame.touch(i.at, Memory::Slot(place));
                let value = self.load(Memory::Slot(place), 8);
                self.state.general[STACK] = Value::Frame(place).add_constant(8);
                self.write(i, 0, value);
            }
            Op::Leave => {
                let Value::Frame(place) = self.state.general[FRAME] else {
                    return Err(Why::StackPointer);
                };
                self.frame.touch(i.at, Memory::Slot(place));
                self.state.general[FRAME] = self.load(Memory::Slot(place), 8);
                self.state.general[STACK] = Value::Frame(place).add_constant(8);
            }
            Op::Select if width >= 4 => self.select(i),
            Op::Set => {
                let value = match self.compared(i) {
                    Some(Picked::Less(split)) => Value::Less(split),
                    Some(Picked::Zero) => Value::IsFirst(true),
                    Some(Picked::NotZero) => Value::IsFirst(false),
                    _ => tainted(self.state.flags.origin()),
                };
                if width >= 4 {
                    self.write(i, 0, value);
                } else {
                    self.write_narrow(i, value);
                }
            }
            _ => self.generic(i),
        }
        self.follow_copies(i);
        if let Some(place) = self.made_address(i) {
            self.frame.take(place);
        }
        let is_lost = !matches!(
            self.state.general[STACK],
            Value::Frame(_) | Value::FrameFrom(_) | Value::InFrame
        );
        let only_read = matches!(i.op, Op::Compare | Op::Test | Op::Push);
        if is_stack_pointer(i) && !only_read && is_lost {
            return Err(Why::StackPointer);
        }
        Ok(())
    }

    fn copy(&mut self, i: &Instruction) {
        let value = self.read(i, 1);
        self.write(i, 0, value);
    }

    /// Whether it loads the number that the runtime handed to the function.
    fn is_told(&self, i: &Instruction) -> bool {
        let Some(address) = i.address.filter(|_| i.operand(1).is_memory()) else {
            return false;
        };
        let base = address.base.and_then(Register::general);
        address.index.is_none()
            && address.displacement == 0
            && !address.is_of_thread
            && base.is_some_and(|n| self.state.general[n] == Value::Teller)
    }

    /// The place of the frame whose address `i` has made, unless it only sets up
    /// the frame.
    fn made_address(&self, i: &Instruction) -> Option<Place> {
        let register = i.operand(0).general()?;
        let from = i.operand(1).register();
        let sets_up = register == FRAME && from.is_some_and(|from| from.is(STACK));
        match self.state.general[register] {
            Value::Frame(place) if register != STACK && !sets_up => Some(place),
            _ => None,
        }
    }

    /// Keeps track of what `rax` is a copy of.
    fn follow_copies(&mut self, i: &Instruction) {
        let copy = i.op == Op::Copy && i.width() >= 4 && i.operand(0).general() == Some(RAX);
        if !copy && !self.state.has_copies() {
            return;
        }
        self.state.forget_copies(|source| match source {
            Source::Register(n) => i.writes(n),
            Source::Slot(_) => i.stores(),
            Source::Constant(_) => false,
        });
        if copy {
            self.state.copied = match i.operand(1) {
                Operand::Register(register) => register
                    .general()
                    .filter(|&n| n != RAX)
                    .map(Source::Register),
                // As it was before: the address may have been overwritten by now.
                Operand::Memory => match self.frame.just_touched(i.at) {
                    Some(Memory::Slot(place)) if !self.frame.is_exposed(place) => {
                        Some(Source::Slot(place))
                    }
                    _ => None,
                },
                other => other.constant().map(Source::Constant),
            };
        }
    }

    /// Where the stack pointer points.
    pub(crate) fn stack_pointer(&self) -> Result<Place, Why> {
        match self.state.general[STACK] {
            Value::Frame(place) => Ok(place),
            _ => Err(Why::StackPointer),
        }
    }

    /// What a conditional branch reads: escapes, or what is known on each side.
    pub(crate) fn branch(&mut self, i: &Instruction) -> (Order, Order) {
        let both = (self.state.order, self.state.order);
        let asked = match i.asks {
            Some(n) if !i.reads_flags => self.asked(i, self.state.general[usize::from(n)]),
            _ => self.compared(i),
        };
        match asked {
            Some(Picked::Less(split)) => (Order::Less(split), Order::NotLess(split)),
            Some(Picked::NotLess(split)) => (Order::NotLess(split), Order::Less(split)),
            Some(picked @ (Picked::Zero | Picked::NotZero)) => {
                let asked = ZeroBranch {
                    zero_jumps: picked == Picked::Zero,
                    stack: self.state.general[STACK],
                    frame: self.state.general[FRAME],
                };
                self.findings.zero_branches.insert(i.at, asked);
                both
            }
            None => {
                if i.reads_flags {
                    let origin = self.state.flags.origin();
                    self.findings.escape(origin, Why::Branch, i.at);
                }
                if let Some(n) = i.asks {
                    let value = self.state.general[usize::from(n)];
                    // Was it the first one that came to the counter, or the last?
                    let whole = !i.reads_flags && i.condition != Condition::Other && i.width() >= 4;
                    if !whole || value != Value::Taint(Origin::TICKET) {
                        self.escape(value, Why::Branch, i);
                    }
                }
                both
            }
        }
    }

    /// Which of the known questions it is whether a register that holds `value`, or its lowest bit, is zero.
    fn asked(&self, i: &Instruction, value: Value) -> Option<Picked> {
        let first = match (i.condition, value) {
            (Condition::Equal | Condition::NotEqual, Value::Id) => false,
            (Condition::Equal | Condition::NotEqual, Value::IsFirst(first)) => first,
            _ => return None,
        };
        Some(if first == (i.condition == Condition::NotEqual) {
            Picked::Zero
        } else {
            Picked::NotZero
        })
    }

    /// Which of the known questions the condition of `i` asks.
    pub(crate) fn compared(&self, i: &Instruction) -> Option<Picked> {
        use Condition as C;
        match (self.state.flags, i.condition) {
            (Flags::IdRemainder { split, swapped }, condition) => match (swapped, condition) {
                (false, C::Less | C::Below) | (true, C::Greater | C::Above) => {
                    Some(Picked::Less(split))
                }
                (false, C::GreaterOrEqual | C::AboveOrEqual)
                | (true, C::LessOrEqual | C::BelowOrEqual) => Some(Picked::NotLess(split)),
                _ => None,
            },
            (Flags::Others(found), condition) => Some(if found.agree(condition)? {
                Picked::NotZero
            } else {
                Picked::Zero
            }),
            _ => None,
        }
    }

    fn set_flags(&mut self, origin: Origin) {
        self.state.flags = if origin.is_none() {
            Flags::Plain
        } else {
            Flags::Taint(origin)
        };
    }

    fn push(&mut self, i: &Instruction) -> Result<(), Why> {
        let value = self.read(i, 0);
        // Compilers push what a function must preserve, and arguments.
        if !value.is_handed() {
            self.escape(value, Why::Argument, i);
        }
        let place = self.stack_pointer()?;
        let Some(offset) = place.offset.checked_sub(8) else {
            return Err(Why::StackPointer);
        };
        let place = Place { offset, ..place };
        self.state.general[STACK] = Value::Frame(place);
        self.frame.touch(i.at, Memory::Slot(place));
        self.state.store(place, 8, value);
        Ok(())
    }
}

/// What a condition asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picked {
    /// Whether `id < remainder`.
    Less(u64),
    /// Whether `id >= remainder`.
    NotLess(u64),
    /// Whether `id == 0`, and perhaps something else besides.
    Zero,
    /// Whether `id != 0`, or something else.
    NotZero,
}

fn tainted(origin: Origin) -> Value {
    if origin.is_none() {
        Value::Plain
    } else {
        Value::Taint(origin)
    }
}

fn is_stack_pointer(i: &Instruction) -> bool {
    let register = i.operand(0).register();
    register.is_some_and(|register| register.is(STACK))
}
