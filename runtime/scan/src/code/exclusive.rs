//! A load and a store that fails if somebody came in between, read as one atomic instruction.

use super::{Access, Collects, Instruction, Op, Operand, Reach, Register, Used};

impl Instruction {
    /// A load, as one step with the store behind it: does this with memory and the operand, and takes what was there.
    /// Where it is not known what, it adds.
    pub(crate) fn becomes_atomic(&mut self, operation: Option<(Op, Collects, Operand)>) {
        let (op, collects, with) =
            operation.unwrap_or((Op::Add, Collects::Adds, Operand::Constant(1)));
        let to = self.operands[0];
        let adds = matches!(op, Op::Add | Op::Subtract | Op::Address);
        self.op = if adds { Op::FetchAdd } else { Op::Other };
        self.collects = if adds { Collects::Adds } else { collects };
        self.operands[..3].copy_from_slice(&[Operand::Memory, with, to]);
        (self.count, self.read, self.is_locked) = (3, 0b11, true);
        (self.moves, self.saves, self.fetches) = (false, false, false);
        if operation.is_some() {
            self.reach = self.reach.map(|reach| Reach {
                stores: true,
                ..reach
            });
            let read = with.register().map(|register| Used {
                register,
                access: Access::Reads,
            });
            self.used = self.used.iter().copied().chain(read).collect();
        }
    }

    /// It compares with this constant, which a register holds.
    pub(crate) fn compares_with(&mut self, constant: i64) {
        self.operands[1] = Operand::Constant(constant);
    }

    /// Another instruction stands for it.
    pub(crate) fn becomes_nothing(&mut self) {
        self.op = Op::Nothing;
        self.collects = Collects::Nothing;
        (self.count, self.read, self.used) = (0, 0, Box::default());
        (self.address, self.reach, self.size) = (None, None, 0);
        (self.is_locked, self.is_exclusive) = (false, false);
        (self.moves, self.saves, self.fetches) = (false, false, false);
    }

    /// What it makes the result of besides the register, if it does one operation on both.
    pub(crate) fn other_than(&self, register: usize) -> Option<Operand> {
        let is_it = |part: Option<Register>| part.and_then(Register::general) == Some(register);
        match (self.op, self.address) {
            (Op::Address, Some(sum)) => match (sum.base, sum.index, sum.displacement) {
                (base, None, by) if is_it(base) => Some(Operand::Constant(by)),
                (base, Some(index), 0) if is_it(base) && sum.scale == 1 && !is_it(sum.index) => {
                    Some(Operand::Register(index))
                }
                (Some(base), index, 0) if is_it(index) && sum.scale == 1 && !is_it(sum.base) => {
                    Some(Operand::Register(base))
                }
                _ => None,
            },
            (Op::Add | Op::And | Op::Or | Op::Xor, None) => {
                let (a, b) = (self.operand(1), self.operand(2));
                match (is_it(a.register()), is_it(b.register())) {
                    (true, false) => Some(b),
                    (false, true) => Some(a),
                    _ => None,
                }
            }
            (Op::Subtract, None) if is_it(self.operand(1).register()) => {
                Some(self.operand(2)).filter(|o| !is_it(o.register()))
            }
            _ => None,
        }
    }
}
