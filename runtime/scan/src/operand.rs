//! Reading and writing an instruction's operands: registers in part and whole,
//! the frame, and everything outside of it.

use iced_x86::{Instruction, OpKind, Register};

use crate::findings::Memory;
use crate::state::VECTOR;
use crate::step::{general, Step};
use crate::value::{Place, Value};
use crate::Why;

impl Step<'_> {
    pub(crate) fn width(&self, i: &Instruction) -> usize {
        if i.op_count() == 0 {
            return 0;
        }
        match i.op0_kind() {
            OpKind::Register => i.op0_register().size(),
            OpKind::Memory => i.memory_size().size(),
            OpKind::Immediate8to64
            | OpKind::Immediate32to64
            | OpKind::Immediate8to32
            | OpKind::Immediate8
            | OpKind::Immediate32 => 8,
            _ => 0,
        }
    }

    /// A register operand's value, without looking at memory.
    pub(crate) fn peek(&self, i: &Instruction, operand: u32) -> Option<Value> {
        (i.op_kind(operand) == OpKind::Register)
            .then(|| general(i.op_register(operand)).map(|n| self.state.general[n]))
            .flatten()
    }

    pub(crate) fn constant(i: &Instruction, operand: u32) -> Option<i64> {
        match i.op_kind(operand) {
            OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64 => {
                let value = i.immediate(operand);
                // Immediates of 32-bit operations are shown without sign.
                Some(match i.op_kind(operand) {
                    OpKind::Immediate32 | OpKind::Immediate8to32 => i64::from(value as u32 as i32),
                    _ => value as i64,
                })
            }
            _ => None,
        }
    }

    /// An operand's value. Narrow registers give what is left of the number.
    pub(crate) fn read(&mut self, i: &Instruction, operand: u32) -> Value {
        if let Some(constant) = Self::constant(i, operand) {
            return if constant == 0 {
                Value::Zero
            } else {
                Value::Plain
            };
        }
        match i.op_kind(operand) {
            OpKind::Register => self.read_register(i.op_register(operand)),
            OpKind::Memory => {
                let memory = self.memory(i);
                let size = i.memory_size().size() as i64;
                self.load(memory, size)
            }
            _ => Value::Plain,
        }
    }

    pub(crate) fn read_register(&self, register: Register) -> Value {
        if let Some(n) = general(register) {
            let value = self.state.general[n];
            let is_bit = matches!(value, Value::IsFirst(_)) && is_low_byte(register);
            return if register.size() >= 4 || matches!(value, Value::Less(_)) || is_bit {
                // The low half of a pointer is no pointer that is followed.
                if register.size() == 4 && value.is_pointer() {
                    Value::InFrame
                } else {
                    value
                }
            } else if matches!(value, Value::LowPlain(_)) && is_low_byte(register) {
                Value::Plain
            } else {
                value.blurred()
            };
        }
        vector(register).map_or(Value::Plain, |n| self.state.vector[n])
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

    pub(crate) fn write(&mut self, i: &Instruction, operand: u32, value: Value) {
        match i.op_kind(operand) {
            OpKind::Register => self.write_register(i.op_register(operand), value),
            OpKind::Memory => {
                let memory = self.memory(i);
                let size = i.memory_size().size() as i64;
                self.store(memory, size, value, i);
            }
            _ => {}
        }
    }

    pub(crate) fn write_register(&mut self, register: Register, value: Value) {
        if let Some(n) = general(register) {
            self.state.general[n] = match register.size() {
                8 => value,
                4 if value.is_pointer() => Value::InFrame,
                4 => value,
                _ => overwrite_part(self.state.general[n], value, register),
            };
        } else if let Some(n) = vector(register) {
            self.state.vector[n] = value;
        }
    }

    /// Writes a byte: a plain rest of the register does not matter for the
    /// bit of a comparison, which compilers widen before they use it.
    pub(crate) fn write_narrow(&mut self, i: &Instruction, value: Value) {
        match (i.op0_kind(), general(i.op0_register())) {
            (OpKind::Register, Some(n)) => {
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
                        ) && is_low_byte(i.op0_register()) =>
                    {
                        value
                    }
                    _ => overwrite_part(old, value, i.op0_register()),
                };
            }
            _ => self.write(i, 0, value),
        }
    }

    pub(crate) fn store(&mut self, memory: Memory, size: i64, value: Value, i: &Instruction) {
        match memory {
            Memory::Slot(place) => {
                if !value.is_handed() {
                    self.frame.hide(place, value.origin(), i.ip());
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
        self.frame.touch(i.ip(), memory);
        memory
    }

    fn classify(&mut self, i: &Instruction) -> Memory {
        let mut address = Value::Plain;
        let mut known = true;
        for (register, is_index) in [(i.memory_base(), false), (i.memory_index(), true)] {
            let value = if let Some(n) = general(register) {
                self.state.general[n]
            } else if let Some(n) = vector(register) {
                self.state.vector[n]
            } else {
                continue;
            };
            self.escape(value, Why::Address, i);
            if is_index && value.is_pointer() && i.memory_index_scale() != 1 {
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
        if matches!(i.segment_prefix(), Register::FS | Register::GS) || !known {
            return Memory::Outside;
        }
        match address.add_constant(i.memory_displacement64() as i64) {
            Value::Frame(place) => Memory::Slot(place),
            value => match value.points_from() {
                Some(from) => Memory::SomeSlot(from),
                None => Memory::Outside,
            },
        }
    }
}

pub(crate) fn vector(register: Register) -> Option<usize> {
    register
        .is_vector_register()
        .then(|| register.number())
        .filter(|&n| n < VECTOR)
}

pub(crate) fn is_low_byte(register: Register) -> bool {
    register.size() == 1
        && !matches!(
            register,
            Register::AH | Register::BH | Register::CH | Register::DH
        )
}

/// What a register holds after part of it was overwritten.
pub(crate) fn overwrite_part(old: Value, value: Value, part: Register) -> Value {
    if value.is_free() && !value.is_pointer() && !old.is_free() && is_low_byte(part) {
        Value::LowPlain(old.origin())
    } else {
        old.mixed(value)
    }
}

/// The width of a division's operands, in bytes.
pub(crate) fn width(i: &Instruction) -> usize {
    match i.op0_kind() {
        OpKind::Register => i.op0_register().size(),
        _ => i.memory_size().size(),
    }
}
