//! Instructions that are not modelled one by one: the decoder says what they read and write, and everything that
//! is read is taken to decide everything that is written.

use super::{tainted, Step};
use crate::code::{FlagsWritten, Instruction, STACK};
use crate::findings::Memory;
use crate::operand::overwrite_part;
use crate::value::{Place, Value};
use crate::Why;

impl Step<'_> {
    /// An instruction that is not modelled.
    pub(super) fn generic(&mut self, i: &Instruction) {
        let mut memory = None;
        let mut address = None;
        if let Some(reach) = i.reach {
            // Explicit operands; the others are the stack's and the string
            // instructions', whose registers are checked below.
            if i.address.is_some() {
                memory = Some(self.memory(i));
                address = i.address;
            } else {
                for n in reach.implicit.into_iter().flatten() {
                    let value = self.state.general[usize::from(n)];
                    self.escape(value, Why::Address, i);
                    if value.is_pointer() {
                        // Backwards, too.
                        memory = Some(Memory::SomeSlot(Place::LOWEST));
                        self.frame.index(Place::LOWEST);
                    }
                }
                let reached = *memory.get_or_insert(Memory::Outside);
                self.frame.touch(i.at, reached);
            }
        }
        let mut data = Value::Plain;
        for used in &i.used {
            let register = used.register;
            let only_address = address
                .is_some_and(|address| address.registers().any(|part| part.is_in(register)))
                && !i.has_operand(register);
            if used.is_read() && !only_address {
                data = data.mixed(self.read_register(register));
            }
        }
        if let Some(memory) = memory.filter(|_| i.loads()) {
            data = data.mixed(self.load(memory, i.size));
        }
        if i.reads_flags {
            data = data.mixed(tainted(self.state.flags.origin()));
        }
        // How often it is done is seen in memory as much as what.
        for &n in i.repeats {
            let value = self.state.general[usize::from(n)];
            self.escape(value, Why::Address, i);
        }
        for used in i.used.iter().filter(|used| used.is_written()) {
            let register = used.register;
            if let Some(n) = register.general() {
                let old = self.state.general[n];
                self.state.general[n] = if used.may_stay() {
                    old.mixed(data)
                } else if register.size < 4 {
                    overwrite_part(old, data, register)
                } else if n == STACK {
                    // Only what changes it by a known amount is modelled.
                    Value::Plain
                } else {
                    data
                };
            } else if let Some(n) = register.vector() {
                let old = self.state.vector[n];
                let keeps = used.may_stay();
                self.state.vector[n] = if keeps { old.mixed(data) } else { data };
            } else if !register.is_segment() {
                // x87, MMX and mask registers are not followed.
                self.escape(data, Why::Store, i);
                self.frame.expose(data);
            }
        }
        if let (Some(memory), Some(reach)) = (memory, i.reach.filter(|reach| reach.stores)) {
            self.store(memory, reach.size.max(i.size), data, i);
        }
        match i.flags {
            FlagsWritten::None | FlagsWritten::Unasked => {}
            FlagsWritten::Some => {
                let old = self.state.flags.origin();
                self.set_flags(data.origin().with(old));
            }
            FlagsWritten::All => self.set_flags(data.origin()),
        }
    }
}
