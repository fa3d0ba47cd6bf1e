//! Machine code of x86-64, written instruction by instruction for the place where it will run.

use super::near;
use iced_x86::{Code, Encoder, Instruction, OpKind, Register};

/// Code from one address on.
pub(super) struct Emit {
    pub(super) at: u64,
    pub(super) bytes: Vec<u8>,
}

impl Emit {
    pub(super) fn here(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes back what [`Site::write`] pushed.
    pub(super) fn restore(&mut self) {
        self.raw(&[0x5f, 0x5e, 0x59]); // pop rdi, rsi, rcx
        self.raw(&[0x48, 0x8d, 0xa4, 0x24]); // lea 144(%rsp),%rsp
        self.raw(&144i32.to_le_bytes());
    }

    /// Pushes an operand of `i`, where the stack pointer was lowered by `lowered` since.
    pub(super) fn push(&mut self, i: &Instruction, operand: u32, lowered: i64) -> Option<()> {
        let push = match i.op_kind(operand) {
            OpKind::Register => {
                Instruction::with1(Code::Push_r64, i.op_register(operand).full_register()).ok()?
            }
            _ => {
                let shift = if i.memory_base().full_register() == Register::RSP {
                    lowered
                } else {
                    0
                };
                let operand = iced_x86::MemoryOperand::with_base_displ(
                    i.memory_base(),
                    (i.memory_displacement64() as i64).checked_add(shift)?,
                );
                Instruction::with1(Code::Push_rm64, operand).ok()?
            }
        };
        self.again(&push)
    }

    /// The instruction as it is, at this place.
    pub(super) fn again(&mut self, i: &Instruction) -> Option<()> {
        let mut encoder = Encoder::new(64);
        encoder.encode(i, self.here()).ok()?;
        self.bytes.extend(encoder.take_buffer());
        Some(())
    }

    pub(super) fn go(&mut self, to: u64) -> Option<()> {
        self.raw(&[0xe9]);
        let from = self.here() + 4;
        self.raw(&near(from, to)?);
        Some(())
    }

    /// A conditional jump to a place that comes later.
    pub(super) fn jump(&mut self, condition: u8) -> usize {
        self.raw(&[0x0f, condition, 0, 0, 0, 0]);
        self.bytes.len()
    }

    /// What jumped there comes here.
    pub(super) fn land(&mut self, jump: usize) -> Option<()> {
        let distance = u32::try_from(self.bytes.len() - jump).ok()?;
        self.bytes[jump - 4..jump].copy_from_slice(&distance.to_le_bytes());
        Some(())
    }
}
