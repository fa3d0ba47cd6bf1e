//! Reading and writing an instruction's operands: registers in part and whole,
//! the frame, and everything outside of it.

use crate::code::{Instruction, Operand, Register};
use crate::findings::Memory;
use crate::step::Step;
use crate::value::{Place, Value};
use crate::Why;

impl Step<'_> {
    /// A register operand's value, without looking at memory.
    pub(crate) fn peek(&self, i: &Instruction, operand: usize) -> Option<Value> {
        i.operand(operand).general().map(|n| self.state.general[n])
    }

    /// An operand's value. Narrow registers give what is left of the number.
    pub(crate) fn read(&mut self, i: &Instruction, operand: usize) -> Value {
        match i.operand(operand) {
            Operand::Constant(0) => Value::Zero,
            Operand::Register(register) => self.read_register(register),
            Operand::Memory => {
                let memory = self.memory(i);
                self.load(memory, i.size)
            }
            Operand::Constant(_) | Operand::Other => Value::Plain,
        }
    }

    pub(crate) fn read_register(&self, register: Register) -> Value {
        if let Some(n) = register.general() {
            let value = self.state.general[n];
            let is_bit = matches!(value, Value::IsFirst(_)) && register.is_low_byte();
            return if register.size >= 4 || matches!(value, Value::Less(_)) || is_bit {
                // The low half of a pointer is no pointer that is followed.
                if register.size == 4 && value.is_pointer() {
                    Value::InFrame
                } else {
                    value
                }
            } else if matches!(value, Value::LowPlain(_)) && register.is_low_byte() {
                Value::Plain
            } else {
                value.blurred()
            };
        }
        let vector = register.vector();
        vector.map_or(Value::Plain, |n| self.state.vector[n])
    }

    pub(crate) fn load(&self, memory: Memory, size: i64) -> Value {
        match memory {
            Memory::Outside => Value::Plain,
            // Where the place that it was made from is lost, it still reaches nothing below the lowest one whose
            // address was taken.
            Memory::SomeSlot(Place::LOWEST) => self
                .state
                .load_from(self.frame.taken.unwrap_or(Place::LOWEST)),
            Memory::SomeSlot(from) => self.state.load_from(from),
            Memory::Slot(place) => {
                let value = self.state.load(place, size);
                // Others may have written there in between.
                if value.is_free() && self.frame.is_exposed(place) {
                    value.blurred()
                } else {
                    value
                }
            }
        }
    }

    pub(crate) fn write(&mut self, i: &Instruction, operand: usize, value: Value) {
        match i.operand(operand) {
            Operand::Register(register) => self.write_register(register, value),
            Operand::Memory => {
                let memory = self.memory(i);
                self.store(memory, i.size, value, i);
            }
            Operand::Constant(_) | Operand::Other => {}
        }
    }

    pub(crate) fn write_register(&mut self, register: Register, value: Value) {
        if let Some(n) = register.general() {
            self.state.general[n] = match register.size {
                8 => value,
                4 if value.is_pointer() => Value::InFrame,
                4 => value,
                _ => overwrite_part(self.state.general[n], value, register),
            };
        } else if let Some(n) = register.vector() {
            self.state.vector[n] = value;
        }
    }

    /// Writes a byte: a plain rest of the register does not matter for the
    /// bit of a comparison, which compilers widen before they use it.
    pub(crate) fn write_narrow(&mut self, i: &Instruction, value: Value) {
        let part = i.operand(0).register();
        match part.and_then(|part| Some((part, part.general()?))) {
            Some((part, n)) => {
                let old = self.state.general[n];
                self.state.general[n] = match value {
                    Value::Less(_) if old == Value::Zero || old == Value::Plain => value,
                    // Of the thread number's own register compilers use the lowest byte alone from then on.
                    Value::IsFirst(_)
                        if matches!(
                            old,
                            Value::Zero
                                | Value::Plain
                                | Value::Dead
                                | Value::Id
                                | Value::LowPlain(_)
                                | Value::IsFirst(_)
                        ) && part.is_low_byte() =>
                    {
                        value
                    }
                    _ => overwrite_part(old, value, part),
                };
            }
            None => self.write(i, 0, value),
        }
    }

    pub(crate) fn store(&mut self, memory: Memory, size: i64, value: Value, i: &Instruction) {
        match memory {
            Memory::Slot(place) => {
                if !value.is_handed() {
                    self.frame.hide(place, value.origin(), i.at);
                }
                self.state.store(place, size.max(1), value);
            }
            Memory::SomeSlot(_) => {
                // Which variable it is, is not followed.
                self.escape(value, Why::Store, i);
                self.frame.expose(value);
            }
            Memory::Outside => {
                self.escape(value, Why::Store, i);
                self.frame.expose(value);
            }
        }
    }

    /// Classifies the memory operand, and checks its address.
    pub(crate) fn memory(&mut self, i: &Instruction) -> Memory {
        let memory = self.classify(i);
        if let Memory::SomeSlot(from) = memory {
            self.frame.index(from);
        }
        self.frame.touch(i.at, memory);
        memory
    }

    fn classify(&mut self, i: &Instruction) -> Memory {
        let mut address = Value::Plain;
        let mut known = true;
        let Some(made_of) = i.address else {
            return Memory::Outside;
        };
        for (register, is_index) in [(made_of.base, false), (made_of.index, true)] {
            let value = match register.map(|part| (part.general(), part.vector())) {
                Some((Some(n), _)) => self.state.general[n],
                Some((_, Some(n))) => self.state.vector[n],
                _ => continue,
            };
            self.escape(value, Why::Address, i);
            if is_index && value.is_pointer() && made_of.scale != 1 {
                address = Value::InFrame;
                continue;
            }
            if !value.is_free() {
                known = false;
            }
            address = match (address.points_from(), value.points_from()) {
                _ if !is_index => value,
                (Some(_), Some(_)) => Value::InFrame,
                (Some(Place::LOWEST), None) | (None, Some(Place::LOWEST)) => Value::InFrame,
                (Some(from), None) | (None, Some(from)) => Value::FrameFrom(from),
                (None, None) => address,
            };
        }
        // Thread-local storage; the fields are not the frame's.
        if made_of.is_of_thread || !known {
            return Memory::Outside;
        }
        match address.add_constant(made_of.displacement) {
            Value::Frame(place) => Memory::Slot(place),
            value => match value.points_from() {
                Some(from) => Memory::SomeSlot(from),
                None => Memory::Outside,
            },
        }
    }
}

/// What a register holds after part of it was overwritten.
pub(crate) fn overwrite_part(old: Value, value: Value, part: Register) -> Value {
    if value.is_free() && !value.is_pointer() && !old.is_free() && part.is_low_byte() {
        Value::LowPlain(old.origin())
    } else {
        old.mixed(value)
    }
}
