//! Data processing with registers alone.

use super::{bits, condition, number, part, read, written, Lower, SCRATCH, ZERO};
use crate::code::{Address, Condition, FlagsWritten, Op, Operand, Register, STACK};

impl Lower {
    pub(super) fn registers(&mut self, word: u32) -> Option<()> {
        let size = if bits(word, 31, 1) == 1 { 8 } else { 4 };
        let (to, a, b) = (number(word, 0), number(word, 5), number(word, 16));
        let kind = bits(word, 29, 2);
        match (bits(word, 28, 1), bits(word, 21, 4)) {
            (0, 0b0000..=0b0111) => {
                let (shift, by) = (bits(word, 22, 2), bits(word, 10, 6));
                let inverted = bits(word, 21, 1) == 1;
                if by == 0 && !inverted {
                    self.logical(kind, to, read(a, size), read(b, size), size, false);
                    return Some(());
                }
                let scaled = shift == 0 && !inverted && kind != 0b11;
                if scaled && a == ZERO && kind == 0b01 {
                    self.shift_left(written(to, size), read(b, size), by);
                    return Some(());
                }
                let step = self.step(
                    Op::Other,
                    Some(written(to, size)),
                    &[read(a, size), read(b, size)],
                );
                if kind == 0b11 {
                    step.flags = FlagsWritten::All;
                }
            }
            (0, op) if op & 1 == 0 => {
                let (shift, by) = (bits(word, 22, 2), bits(word, 10, 6));
                let b = match (shift, by) {
                    (_, 0) => read(b, size),
                    (0, by) if b != ZERO => {
                        let a_is_some = a != ZERO;
                        let a = part(a, size);
                        // One sum, in the form of an address.
                        if kind == 0 && by < 8 && a_is_some {
                            let address = Address {
                                index: Some(part(b, size)),
                                scale: 1 << by,
                                ..Address::of(a)
                            };
                            self.sum(written(to, size), address);
                            return Some(());
                        }
                        self.shift_left(part(SCRATCH, size), read(b, size), by);
                        Operand::Register(part(SCRATCH, size))
                    }
                    _ => {
                        let other = Some(part(SCRATCH, size));
                        self.step(Op::Other, other, &[read(b, size)]);
                        Operand::Register(part(SCRATCH, size))
                    }
                };
                self.add(kind, written(to, size), to == ZERO, read(a, size), b);
            }
            (0, _) => {
                let (option, by) = (bits(word, 13, 3), bits(word, 10, 3));
                let scratch = part(SCRATCH, size);
                let mut other = read(b, size);
                let op = match option {
                    _ if b == ZERO => None,
                    0b010 if size == 4 => None,
                    0b011 | 0b111 if size == 8 => None,
                    0b010 => Some(Op::Copy),
                    0b110 if size == 8 => Some(Op::Widen),
                    // Of a part.
                    _ => Some(Op::Other),
                };
                if let Some(op) = op {
                    let to = part(SCRATCH, if op == Op::Copy { 4 } else { size });
                    self.step(op, Some(to), &[read(b, 4)]);
                    other = Operand::Register(scratch);
                }
                if by != 0 && b != ZERO {
                    self.shift_left(scratch, other, by);
                    other = Operand::Register(scratch);
                }
                let b = other;
                // The stack pointer is one of these registers.
                let target = if kind & 1 == 1 {
                    written(to, size)
                } else {
                    part(to, size)
                };
                let is_compared = kind & 1 == 1 && to == ZERO;
                self.add(
                    kind,
                    target,
                    is_compared,
                    Operand::Register(part(a, size)),
                    b,
                );
            }
            (1, 0b0000) => {
                let from = [read(a, size), read(b, size)];
                let step = self.step(Op::Other, Some(written(to, size)), &from);
                step.reads_flags = true;
                if kind & 1 == 1 {
                    step.flags = FlagsWritten::All;
                }
            }
            (1, 0b0010) => {
                let negates = bits(word, 30, 1) == 0;
                let other = match bits(word, 11, 1) {
                    1 if negates => Operand::Constant(-i64::from(b)),
                    1 => Operand::Constant(b.into()),
                    _ => read(b, size),
                };
                if negates && other == Operand::Constant(0) {
                    // It would carry otherwise.
                    return None;
                }
                self.compare_if(word, read(a, size), other);
            }
            (1, 0b0100) => self.select(word, written(to, size), (a, b), size)?,
            (1, 0b0110) if bits(word, 30, 1) == 1 => {
                self.step(Op::Other, Some(written(to, size)), &[read(a, size)]);
            }
            (1, 0b0110) => {
                let from = [read(a, size), read(b, size)];
                let op = match bits(word, 10, 6) {
                    0b000010 | 0b000011 => Op::Divide,
                    0b001000..=0b001011 | 0b010000..=0b010111 => Op::Other,
                    _ => return None,
                };
                let step = self.step(op, Some(written(to, size)), &from);
                step.multiplies = bits(word, 10, 6) == 0b001000;
            }
            (1, 0b1000..=0b1111) => {
                let c = number(word, 10);
                let subtracts = bits(word, 15, 1) == 1;
                let result = written(to, size);
                // The factors of a longer product are halves.
                let narrow = match bits(word, 21, 3) {
                    0b000 => size,
                    0b001 | 0b101 if size == 8 => 4,
                    // Its upper half.
                    0b010 | 0b110 if size == 8 => {
                        let from = [read(a, 8), read(b, 8)];
                        self.step(Op::Other, Some(result), &from).multiplies = true;
                        return Some(());
                    }
                    _ => return None,
                };
                let product = if c == ZERO {
                    result
                } else {
                    part(SCRATCH, size)
                };
                let factors = [read(a, narrow), read(b, narrow)];
                self.step(Op::Multiply, Some(product), &factors);
                let product = Operand::Register(product);
                match (c == ZERO, subtracts) {
                    (true, false) => {}
                    (true, true) => {
                        self.step(Op::Negate, Some(result), &[product]);
                    }
                    (false, false) => {
                        self.step(Op::Add, Some(result), &[product, read(c, size)]);
                    }
                    (false, true) => {
                        self.step(Op::Subtract, Some(result), &[read(c, size), product]);
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// `add`, `adds`, `sub`, `subs` by the bits of `kind`. `lost`: only the flags are asked for.
    fn add(&mut self, kind: u32, to: Register, lost: bool, a: Operand, b: Operand) {
        let (subtracts, compares) = (kind & 2 != 0, kind & 1 != 0);
        if subtracts && compares && lost {
            return self.compare(Op::Compare, &[a, b]);
        }
        let nothing = Operand::Constant(0);
        let step = match (subtracts, a, b) {
            (true, a, b) if a == nothing => self.step(Op::Negate, Some(to), &[b]),
            (true, Operand::Register(a), b) if a == to && a.is(STACK) => {
                self.change(Op::Subtract, to, &[b])
            }
            (true, a, b) => self.step(Op::Subtract, Some(to), &[a, b]),
            (false, Operand::Register(a), Operand::Register(b)) if !compares => {
                let address = Address {
                    index: Some(b),
                    ..Address::of(a)
                };
                self.sum(to, address)
            }
            (false, a, b) => self.step(Op::Add, Some(to), &[a, b]),
        };
        if compares {
            step.flags = FlagsWritten::All;
        }
    }

    /// `csel` and the like.
    fn select(&mut self, word: u32, to: Register, (a, b): (u8, u8), size: u8) -> Option<()> {
        let code = bits(word, 12, 4);
        let (holds, fails) = (condition(code), condition(code ^ 1));
        let kind = (bits(word, 30, 1), bits(word, 10, 2));
        let (x, y) = (read(a, size), read(b, size));
        let choose = |lower: &mut Lower, to: Register, from: Operand, condition: Condition| {
            let step = lower.change(Op::Select, to, &[from]);
            step.condition = condition;
            step.reads_flags = true;
        };
        let to_operand = Operand::Register(to);
        match kind {
            (0, 0b00) if y == to_operand => choose(self, to, x, holds),
            (0, 0b00) if x == to_operand => choose(self, to, y, fails),
            (0, 0b00) => {
                self.copy(to, y);
                choose(self, to, x, holds);
            }
            // One or nothing.
            (0, 0b01) if a == ZERO && b == ZERO => {
                let step = self.step(Op::Set, Some(to), &[]);
                step.condition = fails;
                step.reads_flags = true;
            }
            (0, 0b01) => {
                let scratch = part(SCRATCH, size);
                match y {
                    Operand::Register(register) => {
                        let address = Address {
                            displacement: 1,
                            ..Address::of(register)
                        };
                        self.sum(scratch, address);
                    }
                    _ => {
                        self.copy(scratch, Operand::Constant(1));
                    }
                }
                choose(self, scratch, x, holds);
                self.copy(to, Operand::Register(scratch));
            }
            (1, 0b00 | 0b01) => {
                self.step(Op::Other, Some(to), &[x, y]).reads_flags = true;
            }
            _ => return None,
        }
        Some(())
    }
}
