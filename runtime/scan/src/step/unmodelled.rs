//! Instructions that are not modelled one by one: the decoder says what they read and write, and everything that
//! is read is taken to decide everything that is written.

use super::{general, is_read, is_write, tainted, Step};
use crate::findings::Memory;
use crate::operand::{overwrite_part, vector};
use crate::state::RSP;
use crate::value::{Origin, Place, Value};
use crate::Why;
use iced_x86::{Instruction, InstructionInfo, Mnemonic, OpAccess, OpKind, Register, RflagsBits};

impl Step<'_> {
    /// An instruction that is not modelled.
    pub(super) fn generic(&mut self, i: &Instruction, info: &InstructionInfo) {
        let mut address_registers = [Register::None; 4];
        let has_memory = !info.used_memory().is_empty();
        let mut memory = None;
        if has_memory {
            // Explicit operands; the others are the stack's and the string
            // instructions', whose registers are checked below.
            if (0..i.op_count()).any(|o| i.op_kind(o) == OpKind::Memory) {
                memory = Some(self.memory(i));
                address_registers[0] = i.memory_base().full_register();
                address_registers[1] = i.memory_index().full_register();
            } else {
                for used in info.used_memory() {
                    for register in [used.base(), used.index()] {
                        if let Some(n) = general(register) {
                            let value = self.state.general[n];
                            self.escape(value, Why::Address, i);
                            if value.is_pointer() {
                                // Backwards, too.
                                memory = Some(Memory::SomeSlot(Place::LOWEST));
                                self.frame.index(Place::LOWEST);
                            }
                        }
                    }
                }
                let reached = *memory.get_or_insert(Memory::Outside);
                self.frame.touch(i.ip(), reached);
            }
        }
        let is_operand = |register: Register| {
            (0..i.op_count()).any(|o| {
                i.op_kind(o) == OpKind::Register
                    && i.op_register(o).full_register() == register.full_register()
            })
        };
        let mut data = Value::Plain;
        for used in info.used_registers() {
            let register = used.register();
            let only_address =
                address_registers.contains(&register.full_register()) && !is_operand(register);
            if is_read(used.access()) && !only_address {
                data = data.mixed(self.read_register(register));
            }
        }
        if let Some(memory) = memory {
            if info.used_memory().iter().any(|used| is_read(used.access())) {
                let size = i.memory_size().size() as i64;
                data = data.mixed(self.load(memory, size));
            }
        }
        if i.rflags_read() != 0 {
            data = data.mixed(tainted(self.state.flags.origin()));
        }
        // How often it is done is seen in memory as much as what.
        if i.is_string_instruction() {
            for n in [1, 6, 7] {
                let value = self.state.general[n];
                self.escape(value, Why::Address, i);
            }
        }
        for used in info.used_registers() {
            if !is_write(used.access()) {
                continue;
            }
            let register = used.register();
            let keeps = matches!(used.access(), OpAccess::CondWrite | OpAccess::ReadCondWrite);
            if let Some(n) = general(register) {
                let old = self.state.general[n];
                self.state.general[n] = if keeps {
                    old.mixed(data)
                } else if register.size() < 4 {
                    overwrite_part(old, data, register)
                } else if n == RSP {
                    // Only what changes it by a known amount is modelled.
                    Value::Plain
                } else {
                    data
                };
            } else if let Some(n) = vector(register) {
                let old = self.state.vector[n];
                self.state.vector[n] = if keeps { old.mixed(data) } else { data };
            } else if !register.is_segment_register() {
                // x87, MMX and mask registers are not followed.
                self.escape(data, Why::Store, i);
                self.frame.expose(data);
            }
        }
        if let Some(memory) = memory {
            if info
                .used_memory()
                .iter()
                .any(|used| is_write(used.access()))
            {
                let size = i.memory_size().size() as i64;
                let size = info
                    .used_memory()
                    .iter()
                    .map(|used| used.memory_size().size() as i64)
                    .max()
                    .unwrap_or(size)
                    .max(size);
                self.store(memory, size, data, i);
            }
        }
        let status =
            RflagsBits::CF | RflagsBits::ZF | RflagsBits::SF | RflagsBits::OF | RflagsBits::PF;
        let modified = i.rflags_modified();
        if modified & status != 0 {
            let old = if modified & status == status && !is_shift(i) {
                Origin::NONE
            } else {
                self.state.flags.origin()
            };
            self.set_flags(data.origin().with(old));
        }
    }
}

/// Whether a count of zero would leave the flags alone.
fn is_shift(i: &Instruction) -> bool {
    use Mnemonic as M;
    matches!(
        i.mnemonic(),
        M::Shl | M::Shr | M::Sar | M::Sal | M::Shld | M::Shrd | M::Rol | M::Ror | M::Rcl | M::Rcr
    )
}
