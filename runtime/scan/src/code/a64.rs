//! The front end for 64-bit Arm (A64): the instructions that compilers use. All others are unknown, and so refused.
//!
//! An instruction that does several things is lowered to as many steps, at the addresses of its four bytes: `ldp` loads
//! twice, `cbz` compares and branches. What the steps hand on to each other lies in a register of their own.

mod atomics;
mod memory;
mod registers;
mod vector;

use super::{
    Access, Address, Collects, Condition, FlagsWritten, Flow, Instruction, Op, Operand, Register,
    Used, FRAME, STACK,
};
use crate::Why;

/// The number of the stack pointer in instructions; for most of them the register that is always zero.
const ZERO: u8 = 31;
/// Where a call leaves the address to return to.
const LINK: u8 = 30;
/// What steps of one instruction hand on.
const SCRATCH: u8 = 32;

/// Decodes one instruction after the other.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: u64,
    steps: std::vec::IntoIter<Instruction>,
    /// The word that was read last is of SVE or SME.
    is_scalable: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], at: u64) -> Reader<'a> {
        Reader {
            bytes,
            at,
            steps: Vec::new().into_iter(),
            is_scalable: false,
        }
    }

    /// Address of the next step.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.bytes.len() < 4 && self.steps.len() == 0
    }

    /// Reads the call or jump before this address, to code that begins with `callee`, as the atomic instruction that
    /// it stands for, if it does.
    pub(crate) fn read_atomic(&mut self, callee: &[u8], comes_back: bool) -> Option<u64> {
        let call = self.at.checked_sub(4).filter(|_| self.steps.len() == 0)?;
        let (steps, bytes) = atomics::called(callee, call, comes_back)?;
        (self.at, self.steps) = (call, steps.into_iter());
        Some(bytes)
    }

    /// Why nothing was read.
    pub(crate) fn why_not(&self) -> Why {
        if self.is_scalable {
            Why::Scalable
        } else {
            Why::UnknownCode
        }
    }

    /// `None` where the bytes are no instruction that is known.
    pub(crate) fn read(&mut self) -> Option<Instruction> {
        if self.steps.len() == 0 {
            // Code between instructions is nothing that compilers make.
            let bytes = self.bytes.get(..4).filter(|_| self.at % 4 == 0)?;
            let word = u32::from_le_bytes(bytes.try_into().ok()?);
            self.bytes = &self.bytes[4..];
            let steps = lowered(word, self.at);
            let kind = bits(word, 25, 4);
            self.is_scalable = kind == 0b0010 || kind == 0 && bits(word, 31, 1) == 1;
            self.steps = steps.unwrap_or_default().into_iter();
        }
        let Some(step) = self.steps.next() else {
            self.at += 4;
            return None;
        };
        self.at = step.behind;
        Some(step)
    }
}

/// A register by its number in instructions. Stack pointer and frame pointer have the numbers that they have for all
/// machines, and change places with those registers.
const fn part(number: u8, size: u8) -> Register {
    let number = match number {
        31 => STACK as u8,
        29 => FRAME as u8,
        4 => 31,
        5 => 29,
        _ => number,
    };
    Register {
        number,
        size,
        is_high: false,
    }
}

const fn whole(number: u8) -> Register {
    part(number, 8)
}

/// The bits of a word from `low` on, `count` of them.
const fn bits(word: u32, low: u32, count: u32) -> u32 {
    word >> low & ((1 << count) - 1)
}

/// The same as a number with a sign.
const fn signed(word: u32, low: u32, count: u32) -> i64 {
    let shifted = word << (32 - low - count);
    (shifted as i32 >> (32 - count)) as i64
}

/// The register that the five bits from `low` on name.
const fn number(word: u32, low: u32) -> u8 {
    bits(word, low, 5) as u8
}

/// A register that is read, or zero.
fn read(number: u8, size: u8) -> Operand {
    if number == ZERO {
        Operand::Constant(0)
    } else {
        Operand::Register(part(number, size))
    }
}

/// A register that is written; what goes to the one that is always zero is lost.
fn written(number: u8, size: u8) -> Register {
    if number == ZERO {
        part(SCRATCH, size)
    } else {
        part(number, size)
    }
}

/// The steps of one instruction.
struct Lower {
    at: u64,
    steps: Vec<Instruction>,
}

impl Lower {
    /// A step that makes its result of `from`.
    fn step(&mut self, op: Op, to: Option<Register>, from: &[Operand]) -> &mut Instruction {
        let mut operands = [Operand::Other; 5];
        let all = to
            .map(Operand::Register)
            .into_iter()
            .chain(from.iter().copied());
        let mut count = 0;
        for (slot, operand) in operands.iter_mut().zip(all) {
            *slot = operand;
            count += 1;
        }
        let first = u8::from(to.is_some());
        let written = to.map(|register| Used {
            register,
            access: Access::Writes,
        });
        let read = from.iter().filter_map(|operand| operand.register());
        let read = read.map(|register| Used {
            register,
            access: Access::Reads,
        });
        let at = self.at + self.steps.len() as u64;
        self.steps.push(Instruction {
            at,
            behind: at + 1,
            op,
            flow: Flow::Falls,
            condition: Condition::None,
            collects: match op {
                Op::Copy | Op::Widen | Op::CopyVector => Collects::Moves,
                Op::Extend => Collects::Widens,
                Op::Add | Op::FetchAdd => Collects::Adds,
                Op::Address => Collects::AddsIndex,
                Op::Negate => Collects::Negates,
                Op::Subtract => Collects::Subtracts(count - 1),
                Op::Or => Collects::Ors,
                Op::Xor => Collects::Xors,
                Op::Select => Collects::OneOf(0, 1),
                _ => Collects::Nothing,
            },
            operands,
            count,
            read: (1 << count) - (1 << first),
            address: None,
            size: 0,
            reach: None,
            used: written.into_iter().chain(read).collect(),
            reads_flags: false,
            flags: FlagsWritten::None,
            is_locked: false,
            repeats: &[],
            asks: None,
            is_exclusive: false,
            uses_floats: false,
            is_thread_local: false,
            moves: matches!(op, Op::Copy | Op::Widen),
            saves: false,
            fetches: false,
            clears: false,
            makes_ones: false,
            makes_scalar: false,
            multiplies: op == Op::Multiply,
            is_of_end: op == Op::Nothing,
            names: None,
            same_as: None,
        });
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    /// A step that changes what is in a register.
    fn change(&mut self, op: Op, to: Register, from: &[Operand]) -> &mut Instruction {
        let step = self.step(op, Some(to), from);
        step.used[0].access = Access::Changes;
        step.read |= 1;
        step
    }

    /// Reads `from`, and sets the flags.
    fn compare(&mut self, op: Op, from: &[Operand]) {
        self.step(op, None, from).flags = FlagsWritten::All;
    }

    /// `a` and `b` are compared if the condition with this code holds.
    fn compare_if(&mut self, word: u32, a: Operand, b: Operand) {
        let otherwise = Operand::Constant(bits(word, 0, 4).into());
        self.compare(Op::CompareIf, &[a, b, otherwise]);
        if let Some(step) = self.steps.last_mut() {
            step.condition = condition(bits(word, 12, 4));
            step.reads_flags = true;
        }
    }

    fn copy(&mut self, to: Register, from: Operand) -> &mut Instruction {
        self.step(Op::Copy, Some(to), &[from])
    }

    /// A sum in the form of an address.
    fn sum(&mut self, to: Register, address: Address) -> &mut Instruction {
        let step = self.step(Op::Address, Some(to), &[Operand::Memory]);
        uses(step, &address);
        step.address = Some(address);
        step
    }

    fn branch(&mut self, target: u64, condition: Condition) {
        let step = self.step(Op::Other, None, &[]);
        step.flow = Flow::Branches(target);
        step.condition = condition;
        step.reads_flags = true;
    }

    /// A branch that asks whether a register, or a bit of its lowest byte, is zero. The flags stay what they are.
    fn branch_by(&mut self, target: u64, register: u8, is_not: u32, size: u8) {
        let operand = read(register, size);
        let step = self.step(Op::Other, None, &[operand]);
        step.flow = Flow::Branches(target);
        step.condition = if is_not == 1 {
            Condition::NotEqual
        } else {
            Condition::Equal
        };
        step.asks = operand.general().map(|n| n as u8);
    }

    fn flow(&mut self, flow: Flow, pointer: Option<Register>) {
        let operand = pointer.map(Operand::Register);
        let step = self.step(Op::Other, None, operand.as_slice());
        step.flow = flow;
    }
}

/// The registers of its address are read.
fn uses(step: &mut Instruction, address: &Address) {
    let read = address.registers().map(|register| Used {
        register,
        access: Access::Reads,
    });
    step.used = step.used.iter().copied().chain(read).collect();
}

fn lowered(word: u32, at: u64) -> Option<Vec<Instruction>> {
    let mut lower = Lower {
        at,
        steps: Vec::new(),
    };
    match bits(word, 25, 4) {
        0b1000 | 0b1001 => lower.immediate(word)?,
        0b1010 | 0b1011 => lower.branches(word)?,
        0b0100 | 0b0110 | 0b1100 | 0b1110 => lower.memory(word)?,
        0b0101 | 0b1101 => lower.registers(word)?,
        0b0111 | 0b1111 => lower.vectors(word)?,
        _ => return None,
    }
    let mut steps = lower.steps;
    let last = steps.len().checked_sub(1)?;
    steps[last].behind = at + 4;
    (steps.len() <= 4).then_some(steps)
}

fn condition(code: u32) -> Condition {
    use Condition as C;
    match code {
        0 => C::Equal,
        1 => C::NotEqual,
        2 => C::AboveOrEqual,
        3 => C::Below,
        8 => C::Above,
        9 => C::BelowOrEqual,
        10 => C::GreaterOrEqual,
        11 => C::Less,
        12 => C::Greater,
        13 => C::LessOrEqual,
        _ => C::Other,
    }
}

/// The number that a logical instruction has in it, as bits.
fn bit_pattern(word: u32, wide: bool) -> Option<i64> {
    let (n, rotated, length) = (bits(word, 22, 1), bits(word, 16, 6), bits(word, 10, 6));
    let pattern = n << 6 | !length & 0x3f;
    let size = 31u32.checked_sub(pattern.leading_zeros())?;
    if size < 1 || n == 1 && !wide {
        return None;
    }
    let size = 1u32 << size;
    let ones = (length & (size - 1)) + 1;
    if ones == size {
        return None;
    }
    let all = if size == 64 {
        u64::MAX
    } else {
        (1 << size) - 1
    };
    let mut element = (1u64 << ones) - 1;
    let by = rotated & (size - 1);
    if by != 0 {
        element = (element >> by | element << (size - by)) & all;
    }
    let mut number = element;
    let mut have = size;
    while have < 64 {
        number |= number << have;
        have *= 2;
    }
    Some(if wide {
        number as i64
    } else {
        i64::from(number as u32 as i32)
    })
}

impl Lower {
    /// Data processing with a number in the instruction.
    fn immediate(&mut self, word: u32) -> Option<()> {
        let wide = bits(word, 31, 1) == 1;
        let size = if wide { 8 } else { 4 };
        let (to, from) = (number(word, 0), number(word, 5));
        match bits(word, 23, 3) {
            0b000 | 0b001 => {
                let distance = signed(word, 5, 19) << 2 | i64::from(bits(word, 29, 2));
                let fixed = if wide {
                    (self.at & !0xfff).wrapping_add_signed(distance << 12)
                } else {
                    self.at.wrapping_add_signed(distance)
                };
                let step = self.sum(written(to, 8), Address::fixed_at(fixed));
                // A page alone is no address of anything: see `resolve`.
                step.names = (!wide).then_some(fixed);
            }
            0b010 => {
                let by = i64::from(bits(word, 10, 12)) << (12 * bits(word, 22, 1));
                let subtracts = bits(word, 30, 1) == 1;
                let source = part(from, size);
                let by = if subtracts { -by } else { by };
                if bits(word, 29, 1) == 0 {
                    self.add_number(part(to, size), source, by);
                } else if to == ZERO {
                    self.compare(
                        Op::Compare,
                        &[Operand::Register(source), Operand::Constant(-by)],
                    );
                } else {
                    let operands = [Operand::Register(source), Operand::Constant(-by)];
                    let step = self.step(Op::Subtract, Some(part(to, size)), &operands);
                    step.flags = FlagsWritten::All;
                }
            }
            0b100 => {
                let by = Operand::Constant(bit_pattern(word, wide)?);
                self.logical(bits(word, 29, 2), to, read(from, size), by, size, true);
            }
            0b101 => {
                let shift = 16 * bits(word, 21, 2);
                let number = i64::from(bits(word, 5, 16)) << shift;
                let number = match bits(word, 29, 2) {
                    0b00 => !number,
                    0b10 => number,
                    0b11 => {
                        // Part of a longer number.
                        self.change(Op::Other, written(to, size), &[Operand::Constant(1)]);
                        return Some(());
                    }
                    _ => return None,
                };
                let number = if wide {
                    number
                } else {
                    i64::from(number as i32)
                };
                self.copy(written(to, size), Operand::Constant(number));
            }
            0b110 => self.bit_field(word, to, from, size)?,
            0b111 => {
                let other = read(number(word, 16), size);
                self.step(
                    Op::Other,
                    Some(written(to, size)),
                    &[read(from, size), other],
                );
            }
            _ => return None,
        }
        Some(())
    }

    /// Adds a number; the stack pointer is one of the registers.
    fn add_number(&mut self, to: Register, from: Register, by: i64) {
        let source = Operand::Register(from);
        let ends = to.is(STACK);
        if by == 0 {
            self.copy(to, source);
        } else if to == from && ends {
            let op = if by < 0 { Op::Subtract } else { Op::Add };
            self.change(op, to, &[Operand::Constant(by.abs())]);
        } else {
            let address = Address {
                displacement: by,
                ..Address::of(from)
            };
            self.sum(to, address);
        }
        if let Some(step) = self.steps.last_mut() {
            step.is_of_end = ends;
        }
    }

    /// `and`, `orr`, `eor`, `ands` of something with a number, or a register that is neither shifted nor inverted.
    fn logical(&mut self, kind: u32, to: u8, a: Operand, b: Operand, size: u8, stack: bool) {
        let nothing = Operand::Constant(0);
        match kind {
            0b11 if to == ZERO => return self.compare(Op::Test, &[a, b]),
            0b01 if a == nothing => {
                let to = if stack {
                    part(to, size)
                } else {
                    written(to, size)
                };
                self.copy(to, b);
                return;
            }
            _ => {}
        }
        let to = if stack && kind != 0b11 {
            part(to, size)
        } else {
            written(to, size)
        };
        let op = match kind {
            0b01 => Op::Or,
            0b10 => Op::Xor,
            _ => Op::And,
        };
        let step = self.step(op, Some(to), &[a, b]);
        if kind == 0b11 {
            step.flags = FlagsWritten::All;
        }
    }

    fn bit_field(&mut self, word: u32, to: u8, from: u8, size: u8) -> Option<()> {
        let (rotated, last) = (bits(word, 16, 6), bits(word, 10, 6));
        let width = 8 * u32::from(size);
        if bits(word, 22, 1) != u32::from(size == 8) || rotated.max(last) >= width {
            return None;
        }
        let result = written(to, size);
        let source = read(from, size);
        match bits(word, 29, 2) {
            0b00 => match (rotated, last) {
                (0, 31) if size == 8 => {
                    self.step(Op::Widen, Some(result), &[read(from, 4)]);
                }
                (_, 31) if size == 8 && rotated > 32 => {
                    // Widened, then shifted: an index of elements.
                    self.step(Op::Widen, Some(whole(SCRATCH)), &[read(from, 4)]);
                    self.shift_left(result, Operand::Register(whole(SCRATCH)), 64 - rotated);
                }
                (0, 7 | 15) => {
                    let narrow = read(from, (last as u8 + 1) / 8);
                    let step = self.step(Op::Other, Some(result), &[narrow]);
                    step.collects = Collects::Widens;
                }
                _ => {
                    self.step(Op::Other, Some(result), &[source]);
                }
            },
            0b10 if last + 1 == rotated => self.shift_left(result, source, width - rotated),
            0b10 => match (rotated, last) {
                (0, 7 | 15) => {
                    let narrow = read(from, (last as u8 + 1) / 8);
                    self.step(Op::Extend, Some(result), &[narrow]);
                }
                (0, 31) if size == 8 => {
                    self.copy(written(to, 4), read(from, 4));
                }
                (_, 31) if size == 8 && rotated > 32 => {
                    self.copy(part(SCRATCH, 4), read(from, 4));
                    self.shift_left(result, Operand::Register(whole(SCRATCH)), 64 - rotated);
                }
                _ => {
                    self.step(Op::Other, Some(result), &[source]);
                }
            },
            0b01 => {
                self.change(Op::Other, result, &[source]);
            }
            _ => return None,
        }
        Some(())
    }

    fn shift_left(&mut self, to: Register, from: Operand, by: u32) {
        self.step(
            Op::ShiftLeft,
            Some(to),
            &[from, Operand::Constant(by.into())],
        );
    }

    fn branches(&mut self, word: u32) -> Option<()> {
        let near = |low, count| self.at.wrapping_add_signed(signed(word, low, count) << 2);
        let tested = number(word, 0);
        match bits(word, 29, 3) {
            0b000 => self.flow(Flow::Jumps(near(0, 26)), None),
            0b100 => self.flow(Flow::Calls(near(0, 26)), None),
            0b001 | 0b101 => {
                // By all bits, or by one.
                let one = bits(word, 25, 1) == 1;
                let bit = bits(word, 31, 1) << 5 | bits(word, 19, 5);
                let target = if one { near(5, 14) } else { near(5, 19) };
                self.branch_by(target, tested, bits(word, 24, 1), if one { 1 } else { 8 });
                if one && bit != 0 {
                    // Of any other bit than the lowest one nothing is known.
                    self.steps.last_mut()?.condition = Condition::Other;
                }
            }
            0b010 if bits(word, 24, 5) == 0b10100 => {
                let target = near(5, 19);
                match bits(word, 0, 4) {
                    14 | 15 => self.flow(Flow::Jumps(target), None),
                    code => self.branch(target, condition(code)),
                }
            }
            0b110 => self.system(word)?,
            _ => return None,
        }
        Some(())
    }

    fn system(&mut self, word: u32) -> Option<()> {
        let register = number(word, 0);
        let hint = word & 0xffff_f01f == 0xd503_201f;
        // Barriers of all kinds; `clrex`.
        let fence = word & 0xffff_f01f == 0xd503_301f;
        if hint || fence {
            let op = if fence { Op::Fence } else { Op::Nothing };
            self.step(op, None, &[]);
        } else if word & 0xffe0_001f == 0xd420_0000 {
            self.flow(Flow::Stops, None);
        } else if word & 0xfff0_0000 == 0xd530_0000 {
            let step = self.step(Op::Other, Some(written(register, 8)), &[]);
            // `tpidr_el0`.
            step.is_thread_local = word & 0x000f_ffe0 == 0x000b_d040;
        } else if word & 0xfff0_0000 == 0xd510_0000 {
            self.step(Op::Other, None, &[read(register, 8)]);
        } else {
            let pointer = whole(number(word, 5));
            match word & 0xffff_fc1f {
                0xd61f_0000 => self.flow(Flow::JumpsThrough(None), Some(pointer)),
                0xd63f_0000 => self.flow(Flow::CallsThrough(None), Some(pointer)),
                0xd65f_0000 if pointer == whole(LINK) => self.flow(Flow::Returns, None),
                // With a check of the address.
                _ if word & 0xffff_fbff == 0xd65f_0bff => self.flow(Flow::Returns, None),
                _ => return None,
            }
        }
        Some(())
    }
}
