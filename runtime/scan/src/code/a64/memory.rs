//! Loads and stores.

use super::{bits, number, part, read, signed, uses, whole, written, Lower, ZERO};
use crate::code::{
    Access, Address, Collects, Instruction, Op, Operand, Reach, Register, Used, FRAME, STACK,
    VECTORS,
};

/// What is loaded or stored.
#[derive(Clone, Copy)]
struct Moved {
    register: Register,
    /// Of the memory, in bytes.
    size: u8,
    loads: bool,
    /// It is widened with its sign.
    is_signed: bool,
    /// It stores nothing but zeros.
    is_zero: bool,
}

impl Moved {
    fn vector(n: u8, size: u8, loads: bool) -> Moved {
        Moved {
            register: part(VECTORS + n, size),
            size,
            loads,
            is_signed: false,
            is_zero: false,
        }
    }

    /// Loads into all of a register, or stores its lowest part. `wide`: a number with a sign is widened to 64 bits.
    fn general(n: u8, size: u8, loads: bool, wide: Option<bool>) -> Moved {
        let register = match (loads, wide) {
            (true, Some(true)) => written(n, 8),
            (true, _) => written(n, size.max(4)),
            (false, _) => part(n, size),
        };
        Moved {
            register,
            size,
            loads,
            is_signed: wide.is_some(),
            is_zero: !loads && n == ZERO,
        }
    }
}

/// What the bits that single loads and stores have in common say of a general register.
fn general(word: u32) -> Option<Moved> {
    let (kind, opcode) = (bits(word, 30, 2), bits(word, 22, 2));
    let target = number(word, 0);
    Some(match (opcode, kind) {
        (0b00 | 0b01, _) => Moved::general(target, 1 << kind, opcode == 0b01, None),
        (0b10, 0..=2) | (0b11, 0 | 1) => {
            Moved::general(target, 1 << kind, true, Some(opcode == 0b10))
        }
        _ => return None,
    })
}

impl Lower {
    pub(super) fn memory(&mut self, word: u32) -> Option<()> {
        let vector = bits(word, 26, 1) == 1;
        match (bits(word, 27, 3), bits(word, 24, 2)) {
            (0b001, 0b00) if !vector => self.exclusive(word),
            (0b001, _) if vector => self.structures(word),
            (0b011, 0b00) => {
                let at = self.at.wrapping_add_signed(signed(word, 5, 19) << 2);
                let n = number(word, 0);
                let moved = match (bits(word, 30, 2), vector) {
                    (kind @ 0b00..=0b10, true) => Moved::vector(n, 4 << kind, true),
                    (0b10, false) => Moved::general(n, 4, true, Some(true)),
                    (kind @ 0b00..=0b01, false) => Moved::general(n, 4 << kind, true, None),
                    _ => return None,
                };
                self.moves(moved, Address::fixed_at(at));
                Some(())
            }
            // `ldapur`, `stlur`: ordered, at a distance.
            (0b011, 0b01) if !vector && bits(word, 21, 1) == 0 && bits(word, 10, 2) == 0 => {
                let moved = general(word)?;
                let displacement = signed(word, 12, 9);
                let base = Address::of(whole(number(word, 5)));
                self.moves(
                    moved,
                    Address {
                        displacement,
                        ..base
                    },
                );
                Some(())
            }
            (0b101, _) => self.pair(word),
            (0b111, _) => self.single(word),
            _ => None,
        }
    }

    /// One load or store.
    fn moves(&mut self, moved: Moved, address: Address) -> &mut Instruction {
        let Moved { register, size, .. } = moved;
        let vector = register.vector().is_some();
        let is_zero = moved.is_zero;
        let is_word = size >= 4;
        let op = match moved.is_signed {
            _ if vector => Op::Other,
            true if is_word => Op::Widen,
            true => Op::Other,
            false if moved.loads && !is_word => Op::Extend,
            false => Op::Copy,
        };
        let step = if moved.loads {
            self.step(op, Some(register), &[Operand::Memory])
        } else if is_zero {
            self.step(op, None, &[Operand::Memory, Operand::Constant(0)])
        } else {
            self.step(op, None, &[Operand::Memory, Operand::Register(register)])
        };
        step.read &= if moved.loads { !1 } else { !0 };
        reaches(step, address, size.into(), (moved.loads, !moved.loads));
        step.moves = matches!(op, Op::Copy | Op::Widen) || vector && is_word;
        step.saves = is_word && !moved.is_signed && !is_zero;
        step.fetches = moved.loads && is_word && size <= 8;
        let framed = |base: Register| base.is(STACK) || base.is(FRAME);
        step.is_of_end = moved.loads && address.index.is_none() && address.base.is_some_and(framed);
        step.collects = if op == Op::Extend || op == Op::Other && !vector {
            Collects::Widens
        } else {
            Collects::Moves
        };
        step
    }

    /// A pair of registers.
    fn pair(&mut self, word: u32) -> Option<()> {
        let (kind, vector) = (bits(word, 30, 2), bits(word, 26, 1) == 1);
        let loads = bits(word, 22, 1) == 1;
        let (size, widened) = match (kind, vector) {
            (0b00..=0b10, true) => (4u8 << kind, None),
            (0b00, false) => (4, None),
            (0b01, false) if loads => (4, Some(true)),
            (0b10, false) => (8, None),
            _ => return None,
        };
        let (before, offset, after) =
            index(bits(word, 23, 2), signed(word, 15, 7) * i64::from(size));
        let base = number(word, 5);
        let mut both = [
            (number(word, 0), offset),
            (number(word, 10), offset + i64::from(size)),
        ];
        // Whatever takes the base away comes last.
        if loads && both[0].0 == base {
            both.reverse();
        }
        self.shift_base(base, before);
        for (n, displacement) in both {
            let moved = if vector {
                Moved::vector(n, size, loads)
            } else {
                Moved::general(n, size, loads, widened)
            };
            self.moves(
                moved,
                Address {
                    displacement,
                    ..Address::of(whole(base))
                },
            );
        }
        self.shift_base(base, after);
        Some(())
    }

    /// Adds to the base register, before or after it is used.
    fn shift_base(&mut self, base: u8, by: i64) {
        if by != 0 {
            self.add_number(whole(base), whole(base), by);
        }
    }

    /// One register.
    fn single(&mut self, word: u32) -> Option<()> {
        let (kind, opcode) = (bits(word, 30, 2), bits(word, 22, 2));
        let (target, base) = (number(word, 0), number(word, 5));
        let scaled = bits(word, 24, 2) == 0b01;
        if bits(word, 25, 1) == 1 {
            return None;
        }
        if !scaled && bits(word, 21, 1) == 1 && bits(word, 10, 2) == 0b00 {
            return self.atomic(word);
        }
        let moved = if bits(word, 26, 1) == 1 {
            match (kind, opcode) {
                (0, 0b10 | 0b11) => Moved::vector(target, 16, opcode == 0b11),
                (_, 0b00 | 0b01) => Moved::vector(target, 1 << kind, opcode == 0b01),
                _ => return None,
            }
        } else {
            if (opcode, kind) == (0b10, 3) {
                // A prefetch.
                self.step(Op::Nothing, None, &[]);
                return Some(());
            }
            general(word)?
        };
        let at = Address::of(whole(base));
        if scaled {
            let displacement = i64::from(bits(word, 10, 12)) * i64::from(moved.size);
            self.moves(moved, Address { displacement, ..at });
            return Some(());
        }
        if bits(word, 21, 1) == 1 {
            let other = number(word, 16);
            let wide = match bits(word, 13, 3) {
                0b011 | 0b111 => 8,
                0b010 | 0b110 => 4,
                _ => return None,
            };
            if bits(word, 10, 2) != 0b10 || other == ZERO {
                return None;
            }
            let scale = if bits(word, 12, 1) == 1 {
                moved.size
            } else {
                1
            };
            let index = Some(part(other, wide));
            self.moves(
                moved,
                Address {
                    index,
                    scale: scale.into(),
                    ..at
                },
            );
            return Some(());
        }
        let mode = match bits(word, 10, 2) {
            0b00 => 0b10,
            mode @ (0b01 | 0b11) => mode,
            _ => return None,
        };
        let (before, displacement, after) = index(mode, signed(word, 12, 9));
        self.shift_base(base, before);
        self.moves(moved, Address { displacement, ..at });
        self.shift_base(base, after);
        Some(())
    }

    /// Exclusive loads and stores, and ordered ones; compare and swap.
    fn exclusive(&mut self, word: u32) -> Option<()> {
        let size = 1u8 << bits(word, 30, 2);
        let loads = bits(word, 22, 1) == 1;
        let (target, status) = (number(word, 0), number(word, 16));
        let address = Address::of(whole(number(word, 5)));
        let moved = Moved::general(target, size, loads, None);
        match (bits(word, 23, 1), bits(word, 21, 1)) {
            (0, 0) => {
                let step = self.moves(moved, address);
                (step.is_locked, step.is_exclusive) = (!loads, true);
                if !loads {
                    // Whether it did.
                    self.step(Op::Other, Some(written(status, 4)), &[]);
                }
            }
            (1, 0) => {
                self.moves(moved, address);
            }
            (1, 1) if number(word, 10) == ZERO => {
                let new = read(target, size.max(4));
                let step = self.change(
                    Op::CompareAndSwap,
                    written(status, size.max(4)),
                    &[Operand::Memory, new],
                );
                reaches(step, address, size.into(), (true, true));
                step.is_locked = true;
                step.collects = Collects::Moves;
            }
            _ => return None,
        }
        Some(())
    }

    /// `ldadd` and the like, `swp`, `ldapr`.
    fn atomic(&mut self, word: u32) -> Option<()> {
        if bits(word, 26, 1) == 1 {
            return None;
        }
        let size = 1u8 << bits(word, 30, 2);
        let (target, other) = (number(word, 0), number(word, 16));
        let address = Address::of(whole(number(word, 5)));
        let (op, collects) = match (bits(word, 15, 1), bits(word, 12, 3)) {
            (1, 0b100) if other == ZERO => {
                self.moves(Moved::general(target, size, true, None), address);
                return Some(());
            }
            (1, 0b000) => (Op::Swap, Collects::Moves),
            (0, 0b000) => (Op::FetchAdd, Collects::Adds),
            (0, 0b001) => (Op::Other, Collects::Nothing),
            (0, 0b010) => (Op::Other, Collects::Xors),
            (0, 0b011) => (Op::Other, Collects::Ors),
            (0, 0b100 | 0b110) => (Op::Other, Collects::Most),
            (0, _) => (Op::Other, Collects::Least),
            _ => return None,
        };
        let step = self.step(op, None, &[Operand::Memory, read(other, size.max(4))]);
        reaches(step, address, size.into(), (true, true));
        step.is_locked = true;
        step.collects = collects;
        // What was there is the last operand.
        let register = written(target, size.max(4));
        step.operands[2] = Operand::Register(register);
        step.count = 3;
        let access = Access::Writes;
        step.used = step
            .used
            .iter()
            .copied()
            .chain([Used { register, access }])
            .collect();
        Some(())
    }

    /// `ld1`, `st1` and the like: registers and memory, one after the other or by elements.
    fn structures(&mut self, word: u32) -> Option<()> {
        if bits(word, 31, 1) == 1 {
            return None;
        }
        let loads = bits(word, 22, 1) == 1;
        let length = 8u8 << bits(word, 30, 1);
        let (count, size, all) = if bits(word, 24, 1) == 0 {
            let count = match bits(word, 12, 4) {
                0b0000 | 0b0010 => 4,
                0b0100 | 0b0110 => 3,
                0b1000 | 0b1010 => 2,
                0b0111 => 1,
                _ => return None,
            };
            (count, length * count, true)
        } else {
            let count = 1 + (bits(word, 13, 1) << 1 | bits(word, 21, 1)) as u8;
            let kind = bits(word, 14, 2);
            let size = match kind {
                0b10 => 4 << bits(word, 10, 1),
                // One element in all places.
                0b11 => 1 << bits(word, 10, 2),
                _ => 1 << kind,
            };
            (count, size * count, kind == 0b11)
        };
        let (first, base) = (number(word, 0), number(word, 5));
        let address = Address::of(whole(base));
        let registers =
            (0..count).map(|n| Operand::Register(part(VECTORS + (first + n) % 32, length)));
        let step = self.step(Op::Other, None, &registers.collect::<Vec<_>>());
        if loads {
            let access = if all { Access::Writes } else { Access::Changes };
            step.used.iter_mut().for_each(|used| used.access = access);
        }
        reaches(step, address, size.into(), (loads, !loads));
        step.collects = Collects::Moves;
        if bits(word, 23, 1) == 1 {
            match number(word, 16) {
                ZERO => self.shift_base(base, size.into()),
                by => {
                    let index = Some(whole(by));
                    self.sum(whole(base), Address { index, ..address });
                }
            }
        }
        Some(())
    }
}

fn reaches(step: &mut Instruction, address: Address, size: i64, (loads, stores): (bool, bool)) {
    uses(step, &address);
    step.address = Some(address);
    step.size = size;
    step.reach = Some(Reach {
        loads,
        stores,
        size,
        ..Reach::default()
    });
}

/// What is added to the base before, the distance from it, and what is added after.
fn index(mode: u32, distance: i64) -> (i64, i64, i64) {
    match mode {
        0b01 => (0, 0, distance),
        0b11 => (distance, 0, 0),
        _ => (0, distance, 0),
    }
}
