//! Numbers with a point, and vectors.
//!
//! What an instruction computes matters to sums alone. All others need to know which registers it reads, and whether
//! something of the old result is left: it is taken to be, where that is not known.

use super::{bits, condition, number, part, read, written, Lower};
use crate::code::{Access, Collects, FlagsWritten, Instruction, Op, Operand, Register, VECTORS};

fn vector(n: u8, size: u8) -> Register {
    part(VECTORS + n, size)
}

impl Lower {
    pub(super) fn vectors(&mut self, word: u32) -> Option<()> {
        match (bits(word, 30, 1), bits(word, 28, 1), bits(word, 24, 5)) {
            // Scalars.
            (0, 1, 0b11110 | 0b11111) if bits(word, 29, 1) == 0 => self.scalar(word),
            _ if bits(word, 31, 1) == 0 => self.elements(word),
            _ => None,
        }
    }

    fn made(&mut self, to: Register, from: &[Operand], collects: Collects) -> &mut Instruction {
        let step = self.step(Op::Other, Some(to), from);
        step.collects = collects;
        step
    }

    fn scalar(&mut self, word: u32) -> Option<()> {
        let size = match bits(word, 22, 2) {
            0b00 => 4,
            0b01 => 8,
            0b10 => 16,
            _ => 2,
        };
        let (to, a, b) = (number(word, 0), number(word, 5), number(word, 16));
        let (result, x) = (vector(to, size), Operand::Register(vector(a, size)));
        let y = Operand::Register(vector(b, size));
        if bits(word, 24, 1) == 1 {
            let c = Operand::Register(vector(number(word, 10), size));
            let adds = bits(word, 21, 1) == 0;
            let collects = if adds {
                Collects::AddsProduct(1, 2)
            } else {
                Collects::Nothing
            };
            self.made(result, &[x, y, c], collects).multiplies = true;
            return Some(());
        }
        let general = if bits(word, 31, 1) == 1 { 8 } else { 4 };
        if bits(word, 21, 1) == 0 || bits(word, 10, 6) == 0 {
            // From and to numbers without a point.
            let fixed = bits(word, 21, 1) == 0;
            match (bits(word, 19, 2), bits(word, 16, 3)) {
                (0b00 | 0b01, 0b110) if !fixed => {
                    let step = self.step(Op::CopyVector, Some(written(to, general)), &[x]);
                    step.moves = general == 8;
                }
                (0b00 | 0b01, 0b111) if !fixed => {
                    let from = read(a, general);
                    let high = bits(word, 19, 2) == 0b01;
                    let result = vector(to, general);
                    let step = if high {
                        self.change(Op::Other, result, &[from])
                    } else {
                        self.step(Op::CopyVector, Some(result), &[from])
                    };
                    step.moves = general == 8 && !high;
                    step.clears = !high && from == Operand::Constant(0);
                }
                (_, 0b010 | 0b011) => {
                    self.made(result, &[read(a, general)], Collects::Moves);
                }
                (_, 0b000 | 0b001 | 0b100 | 0b101) => {
                    self.made(written(to, general), &[x], Collects::Nothing);
                }
                _ => return None,
            }
            return Some(());
        }
        match bits(word, 10, 2) {
            0b10 => {
                let collects = match bits(word, 12, 4) {
                    2 => Collects::Adds,
                    3 => Collects::Subtracts(2),
                    4 | 6 => Collects::Most,
                    5 | 7 => Collects::Least,
                    _ => Collects::Nothing,
                };
                self.made(result, &[x, y], collects).multiplies = bits(word, 12, 4) == 0;
            }
            0b11 => {
                let step = self.made(result, &[x, y], Collects::OneOf(1, 2));
                step.condition = condition(bits(word, 12, 4));
                step.reads_flags = true;
            }
            0b01 => {
                self.compare_if(word, x, y);
            }
            _ if bits(word, 10, 3) == 0b100 => self.number(word, result).moves = true,
            _ if bits(word, 10, 4) == 0b1000 => {
                let with_zero = bits(word, 3, 1) == 1;
                let y = if with_zero { Operand::Constant(0) } else { y };
                self.step(Op::Other, None, &[x, y]).flags = FlagsWritten::All;
            }
            _ if bits(word, 10, 5) == 0b10000 => {
                let kind = bits(word, 15, 6);
                let collects = match kind {
                    0 | 4..=7 => Collects::Moves,
                    _ => Collects::Nothing,
                };
                self.made(result, &[x], collects).moves = kind == 0;
            }
            _ => return None,
        }
        Some(())
    }

    /// Vectors, and scalars that are computed like their elements.
    fn elements(&mut self, word: u32) -> Option<()> {
        let scalar = bits(word, 28, 1) == 1;
        let double = bits(word, 30, 1) == 1;
        let second = bits(word, 29, 1) == 1;
        let size = if double && !scalar { 16 } else { 8 };
        let (to, a, b) = (number(word, 0), number(word, 5), number(word, 16));
        let (result, x) = (vector(to, size), Operand::Register(vector(a, size)));
        let y = Operand::Register(vector(b, size));
        let low = bits(word, 10, 2);
        if bits(word, 24, 1) == 1 {
            // By one element, by a constant.
            let kind = bits(word, 12, 4);
            if bits(word, 10, 1) == 0 {
                let adds = matches!(kind, 0b0001 | 0b0101) && !second;
                let keeps = matches!(kind, 0b0000..=0b0111) && !(kind == 0b0011 && scalar);
                let step = self.of(keeps, result, &[x, y]);
                step.multiplies = true;
                step.collects = if adds {
                    Collects::AddsProduct(1, 2)
                } else {
                    Collects::Nothing
                };
                return Some(());
            }
            if bits(word, 19, 4) == 0 && !scalar {
                // `movi` and the like; `orr` and `bic` change what is there.
                let mode = bits(word, 12, 4);
                let keeps = mode & 1 == 1 && mode < 0b1100;
                let value = bits(word, 16, 3) << 5 | bits(word, 5, 5);
                let clears = value == 0 && (mode < 0b1100 && !second || mode == 0b1110);
                if keeps || clears {
                    self.of(keeps, result, &[]).clears = clears && !keeps;
                } else {
                    self.number(word, result).moves = true;
                }
                return Some(());
            }
            let kind = bits(word, 11, 5);
            let inserts = second && matches!(kind, 0b01000 | 0b01010);
            let keeps = inserts
                || matches!(kind, 0b00010 | 0b00110)
                || matches!(kind, 0b10000..=0b10011) && double;
            let widens = kind == 0b10100 && bits(word, 16, 3) == 0;
            let step = self.of(keeps, result, &[x]);
            step.collects = if widens {
                Collects::Moves
            } else {
                Collects::Nothing
            };
            return Some(());
        }
        if bits(word, 21, 1) == 1 {
            match (low, bits(word, 17, 4)) {
                (0b01 | 0b11, _) => self.three(word, result, x, y),
                (0b00, _) => {
                    let kind = bits(word, 12, 4);
                    let keeps = matches!(kind, 0b0101 | 0b1000..=0b1011)
                        || matches!(kind, 0b0100 | 0b0110) && double;
                    let step = self.of(keeps, result, &[x, y]);
                    step.multiplies = kind >= 0b1000;
                    step.collects = match kind {
                        0b0000 | 0b0001 => Collects::Adds,
                        0b1000 => Collects::AddsProduct(2, 3),
                        _ => Collects::Nothing,
                    };
                }
                (0b10, 0b0000) => {
                    let kind = bits(word, 12, 5);
                    let narrows = matches!(kind, 0b10010 | 0b10100 | 0b10110) && double;
                    let keeps = narrows || matches!(kind, 0b00110 | 0b00011);
                    let step = self.of(keeps, result, &[x]);
                    step.collects = match kind {
                        // Longer or shorter, or with a point.
                        0b10111 | 0b10110 | 0b11101 => Collects::Moves,
                        _ => Collects::Nothing,
                    };
                }
                // Of all elements; of two that are a scalar.
                (0b10, 0b1000) => {
                    let kind = bits(word, 12, 5);
                    let step = self.of(false, result, &[x]);
                    step.collects = match kind {
                        0b11011 | 0b00011 => Collects::Adds,
                        0b01101 if scalar && second => Collects::Adds,
                        0b01010 => Collects::Most,
                        0b11010 => Collects::Least,
                        0b01100 | 0b01111 if bits(word, 23, 1) == 1 => Collects::Least,
                        0b01100 | 0b01111 => Collects::Most,
                        _ => Collects::Nothing,
                    };
                }
                _ => return None,
            }
            return Some(());
        }
        match (low, bits(word, 15, 1)) {
            // Copies of elements.
            (0b01 | 0b11, 0) if bits(word, 22, 2) == 0 && bits(word, 10, 1) == 1 => {
                let kind = bits(word, 11, 4);
                let general = if double { 8 } else { 4 };
                let step = match kind {
                    _ if second => self.change(Op::Other, result, &[x]),
                    0b0000 => self.step(Op::Other, Some(result), &[x]),
                    0b0001 => self.step(Op::Other, Some(result), &[read(a, general)]),
                    0b0011 => self.change(Op::Other, result, &[read(a, general)]),
                    0b0101 | 0b0111 => self.step(Op::Other, Some(written(to, general)), &[x]),
                    _ => return None,
                };
                step.collects = Collects::Moves;
            }
            // `ext`; zip and the like.
            (0b00 | 0b10, 0) if second && !scalar => {
                self.made(result, &[x, y], Collects::Moves);
            }
            (0b10, 0) if !scalar => {
                self.made(result, &[x, y], Collects::Moves);
            }
            // `tbl`, `tbx`.
            (0b00, 0) if !scalar => {
                let count = bits(word, 13, 2) as u8 + 1;
                let table = (0..count).map(|n| Operand::Register(vector((a + n) % 32, 16)));
                let from: Vec<Operand> = table.chain([y]).collect();
                let keeps = bits(word, 12, 1) == 1;
                let step = self.step(Op::Other, None, &from[..from.len().min(5)]);
                let access = if keeps {
                    Access::Changes
                } else {
                    Access::Writes
                };
                let to = crate::code::Used {
                    register: result,
                    access,
                };
                step.used = step.used.iter().copied().chain([to]).collect();
            }
            // Products of pairs, complex numbers.
            (0b01 | 0b11, 1) => {
                self.change(Op::Other, result, &[x, y]).multiplies = true;
            }
            _ => return None,
        }
        Some(())
    }

    /// A number that is in the instruction, which is all but the register's name.
    fn number(&mut self, word: u32, result: Register) -> &mut Instruction {
        let number = Operand::Constant(i64::from(word >> 5));
        self.step(Op::Other, Some(result), &[number])
    }

    /// A result of which something old is left, or nothing.
    fn of(&mut self, keeps: bool, result: Register, from: &[Operand]) -> &mut Instruction {
        if keeps {
            self.change(Op::Other, result, from)
        } else {
            self.step(Op::Other, Some(result), from)
        }
    }

    /// Three registers with elements of one size.
    fn three(&mut self, word: u32, result: Register, x: Operand, y: Operand) {
        let second = bits(word, 29, 1) == 1;
        let kind = bits(word, 11, 5);
        let high = bits(word, 23, 1) == 1;
        use Collects as C;
        let (keeps, collects) = match (kind, second) {
            (0b10000, false) => (false, C::Adds),
            (0b10000, true) => (false, C::Subtracts(2)),
            (0b10111, false) => (false, C::Adds),
            (0b10010, _) => (
                true,
                if second {
                    C::Nothing
                } else {
                    C::AddsProduct(1, 2)
                },
            ),
            (0b01111, _) => (true, C::Nothing),
            (0b11001, false) => (true, C::AddsProduct(1, 2)),
            (0b11010, false) => (false, if high { C::Subtracts(2) } else { C::Adds }),
            (0b11010, true) => (false, if high { C::Nothing } else { C::Adds }),
            (0b01100 | 0b10100, _) => (false, C::Most),
            (0b01101 | 0b10101, _) => (false, C::Least),
            (0b11000 | 0b11110, false) => (false, if high { C::Least } else { C::Most }),
            (0b00011, false) => match bits(word, 22, 2) {
                0b10 if x == y => (false, C::Moves),
                0b10 => (false, C::Ors),
                _ => (false, C::Nothing),
            },
            (0b00011, true) => match bits(word, 22, 2) {
                0b00 => (false, C::Xors),
                // One or the other, bit by bit.
                _ => (true, C::Nothing),
            },
            _ => (false, C::Nothing),
        };
        let step = self.of(keeps, result, &[x, y]);
        step.collects = collects;
        step.moves = collects == C::Moves;
        step.clears = collects == C::Xors && x == y;
        step.multiplies = matches!(kind, 0b10011 | 0b11011 | 0b10110);
        if kind == 0b10000 && !second {
            step.op = Op::AddVector;
        }
    }
}
