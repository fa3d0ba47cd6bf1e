//! What each instruction reads and writes, in registers, flags and words of the
//! frame.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::function::{
    Function, Location, Mark, BOUND, FLAGS, FLOATS, MASKS, OWN, POINTED, SOME, VECTORS,
};
use super::interface::{caller_saved, Interface};
use super::steps::{Moves, Operand};
use crate::entry::Entry;
use crate::findings::Memory;
use crate::library;
use crate::state::ARGUMENTS;
use crate::step::{is_read, is_write, Step};
use crate::value::Place;
use crate::Callee;

/// Which locations an instruction reads and writes.
#[derive(Default)]
pub(super) struct Effect {
    pub(super) reads: Vec<Location>,
    pub(super) address: Vec<Location>,
    /// Overwrites whole.
    pub(super) kills: Vec<Location>,
    /// Overwrites in part, or perhaps.
    pub(super) may: Vec<Location>,
    /// Leaves nothing there that could be relied on.
    pub(super) loses: Vec<Location>,
    /// Marks that the result has beside those of what is read.
    pub(super) fresh: Mark,
    /// It may read memory outside of the frame.
    pub(super) loads: bool,
    /// What it reads there counts: unlike the old value of an atomic update.
    pub(super) loads_outside: bool,
    pub(super) stores_outside: bool,
    pub(super) atomic: bool,
    /// The result is zero.
    pub(super) clears: bool,
    /// The result is what was loaded from outside of the frame.
    pub(super) fetches: bool,
    /// A `lock cmpxchg`.
    pub(super) exchanges: bool,
    /// For a call whose callee leaves what is made of its arguments nowhere but there: in these locations.
    pub(super) hands_back: Option<Vec<Location>>,
    /// The result as a sum.
    pub(super) moves: Option<Moves>,
}

impl Effect {
    /// All that it changes.
    pub(super) fn writes(&self) -> impl Iterator<Item = Location> + '_ {
        let all = self.kills.iter().chain(&self.may).chain(&self.loses);
        all.copied()
    }

    /// Whether the result is one of the operands plus a constant.
    pub(super) fn is_shift(&self) -> bool {
        let Some(moves) = &self.moves else {
            return false;
        };
        let mut parts = 0;
        for (operand, times) in &moves.made_of {
            match operand {
                Operand::Location(_) if *times == 1 => parts += 1,
                Operand::Location(_) | Operand::Constant(_) => return false,
                Operand::Number(_) => {}
            }
        }
        // Beside it only what the instruction has as an address.
        parts == 1 && !self.loads_outside
    }

    /// The call of a function whose result is a number or an address: nothing that could be relied on is left in the
    /// other registers that calls may change.
    fn returns_number(&mut self) {
        self.kills.push(0);
        self.loses
            .extend(caller_saved().filter(|l| *l != 0 && *l != FLOATS));
    }

    /// A call's results; what else it may change.
    fn returns(&mut self) {
        const RESULTS: [Location; 4] = [0, 2, VECTORS, VECTORS + 1];
        self.kills.extend(RESULTS);
        self.may.push(FLOATS);
        self.loses
            .extend(caller_saved().filter(|l| !RESULTS.contains(l) && *l != FLOATS));
    }
}

impl Function<'_> {
    fn words_of(&mut self, place: Place, size: i64) -> Vec<Location> {
        if self.frame.is_exposed(place) || self.frame.is_indexed(place) {
            return vec![POINTED];
        }
        let first = place.offset.div_euclid(4);
        let last = (place.offset + size.clamp(1, 64) - 1).div_euclid(4);
        (first..=last)
            .map(|word| {
                let next = self.locations;
                let location = *self.words.entry((place.base, word)).or_insert(next);
                if location == next {
                    self.locations += 1;
                }
                location
            })
            .collect()
    }

    pub(super) fn call(
        &mut self,
        at: u64,
        callee: &Callee,
        known: &BTreeMap<u64, Interface>,
    ) -> Effect {
        let mut effect = Effect {
            fresh: SOME | OWN,
            ..Effect::default()
        };
        let mut sees_frame = self.frame.exposed.is_some();
        match callee {
            Callee::Runtime(entry) => {
                effect.reads.extend(&ARGUMENTS[..entry.arguments()]);
                if *entry == Entry::Time {
                    effect.returns();
                } else {
                    effect.returns_number();
                }
                if *entry == Entry::ThreadNumber {
                    effect.fresh |= BOUND;
                }
                // The loop's variables; see `Frame::divided`.
                for place in self.frame.divided.get(&at).copied().into_iter().flatten() {
                    let words = self.words_of(place, 4);
                    if words == [POINTED] {
                        effect.may.extend(words);
                    } else {
                        effect.kills.extend(words);
                    }
                }
                sees_frame &= *entry == Entry::CopyPrivate;
            }
            Callee::Named(name) => {
                effect.reads.extend(&ARGUMENTS[..library::integers(name)]);
                effect
                    .reads
                    .extend(VECTORS..VECTORS + library::vectors(name));
                effect.returns();
                sees_frame &= !library::takes_no_integers(name)
                    && !library::never_returns(name)
                    && !library::takes_memory(name)
                    && !library::gives_memory_back(name);
            }
            Callee::Inside(target) => {
                let any = Interface::any();
                let interface = known.get(target).unwrap_or(&any);
                effect.reads.extend(&interface.takes);
                effect.may.extend(&interface.changes);
                effect.hands_back = (!interface.keeps).then(|| interface.hands_back.clone());
            }
            Callee::Unknown => {
                effect.reads.extend(ARGUMENTS);
                effect.reads.extend(VECTORS..VECTORS + 8);
                effect.returns();
            }
        }
        if sees_frame {
            effect.reads.push(POINTED);
            effect.may.push(POINTED);
        }
        effect
    }

    pub(super) fn plain(
        &mut self,
        i: &Instruction,
        targets: &BTreeSet<(Register, Register, u64)>,
        factory: &mut InstructionInfoFactory,
    ) -> Effect {
        let mut effect = Effect::default();
        let info = factory.info(i);
        let clears = is_clearing(i);
        let explicit = (0..i.op_count()).any(|o| i.op_kind(o) == OpKind::Memory);
        let address = [i.memory_base(), i.memory_index()];
        if explicit {
            effect
                .address
                .extend(address.iter().filter_map(|&r| location(r)));
        }
        // `mov (%rax),%rax` uses the old value as an address alone.
        let is_operand = |register: Register| {
            (0..i.op_count()).any(|o| {
                i.op_kind(o) == OpKind::Register
                    && i.op_register(o).full_register() == register.full_register()
                    && is_read(info.op_access(o))
            })
        };
        for used in info.used_registers() {
            let register = used.register();
            let Some(l) = location(register) else {
                continue;
            };
            let only_address = explicit
                && address
                    .iter()
                    .any(|r| r.full_register() == register.full_register())
                && !is_operand(register)
                && i.mnemonic() != Mnemonic::Lea;
            let rest = i.op_count() > 0
                && i.op_kind(0) == OpKind::Register
                && register == i.op_register(0)
                && makes_a_scalar(i);
            if is_read(used.access()) && !only_address && !clears && !rest {
                effect.reads.push(l);
            }
            if is_write(used.access()) {
                let whole = used.access() == OpAccess::Write
                    && (!register.is_gpr() || register.size() >= 4);
                if whole || clears || rest {
                    effect.kills.push(l);
                } else {
                    effect.may.push(l);
                }
            }
        }
        if i.rflags_read() != 0 {
            effect.reads.push(FLAGS);
        }
        if i.rflags_modified() != 0 {
            effect.kills.push(FLAGS);
        }
        let (mut loads, mut stores) = (false, false);
        for used in info.used_memory() {
            loads |= is_read(used.access());
            stores |= is_write(used.access());
        }
        let size = info
            .used_memory()
            .iter()
            .map(|used| used.memory_size().size() as i64)
            .max()
            .unwrap_or(8);
        if i.mnemonic() == Mnemonic::Lea {
            effect.address.clear();
        } else if loads || stores {
            match self.frame.touched(i.ip()) {
                Some(Memory::Slot(place)) => {
                    let mut words = self.words_of(place, size);
                    // What a function preserves for its caller, and arguments, is
                    // nothing that a pointer reaches.
                    if words == [POINTED] && matches!(i.mnemonic(), Mnemonic::Push | Mnemonic::Pop)
                    {
                        words.clear();
                    }
                    if loads {
                        effect.reads.extend(&words);
                    }
                    if stores {
                        let whole =
                            !loads && words != [POINTED] && place.offset % 4 == 0 && size >= 4;
                        let to = if whole {
                            &mut effect.kills
                        } else {
                            &mut effect.may
                        };
                        to.extend(&words);
                    }
                }
                Some(Memory::SomeSlot(_)) => {
                    if loads {
                        effect.reads.push(POINTED);
                    }
                    if stores {
                        effect.may.push(POINTED);
                    }
                }
                _ => {
                    effect.loads = loads;
                    effect.loads_outside = loads && !targets.contains(&operand(i));
                    // A pointer into the frame may have come back from there.
                    if loads && self.frame.exposed.is_some() {
                        effect.reads.push(POINTED);
                    }
                    if stores && self.frame.exposed.is_some() {
                        effect.may.push(POINTED);
                    }
                    effect.stores_outside = stores;
                    effect.atomic =
                        stores && (i.has_lock_prefix() || i.mnemonic() == Mnemonic::Xchg);
                }
            }
        }
        use iced_x86::CpuidFeature as C;
        if i.cpuid_features()
            .iter()
            .any(|f| matches!(f, C::FPU | C::FPU287 | C::FPU387 | C::MMX))
        {
            effect.reads.push(FLOATS);
            effect.may.push(FLOATS);
        }
        let number = (1..i.op_count()).find_map(|o| Step::constant(i, o));
        if number.is_some_and(|n| n != 0) && !i.op0_register().is_vector_register() && !clears {
            effect.fresh |= SOME | OWN;
        }
        if clears || number == Some(0) {
            effect.fresh |= OWN;
        } else if effect.reads.is_empty() && !loads {
            // A number from nowhere: the address of something, for instance.
            effect.fresh |= SOME | OWN;
        }
        if makes_ones(i) {
            effect.fresh |= SOME | OWN;
        }
        effect.exchanges = is_exchange(i);
        effect.clears = clears;
        effect.fetches = effect.loads_outside
            && !stores
            && effect.may.is_empty()
            && matches!(
                i.mnemonic(),
                Mnemonic::Mov | Mnemonic::Movsxd | Mnemonic::Movsd | Mnemonic::Movss
            );
        effect.moves = self.moves(i, &effect);
        effect
    }
}

pub(super) fn location(register: Register) -> Option<Location> {
    if register.is_gpr() {
        let n = register.full_register().number();
        (n != 4).then_some(n)
    } else if register.is_vector_register() {
        Some(VECTORS + register.number().min(31))
    } else if register.is_k() {
        Some(MASKS)
    } else if register.is_st() || register.is_mm() {
        Some(FLOATS)
    } else {
        None
    }
}

pub(super) fn operand(i: &Instruction) -> (Register, Register, u64) {
    (i.memory_base(), i.memory_index(), i.memory_displacement64())
}

pub(super) fn is_exchange(i: &Instruction) -> bool {
    i.mnemonic() == Mnemonic::Cmpxchg && i.has_lock_prefix()
}

/// Whether the result is a number in the lowest part of a vector register, whose
/// rest stays what it was: nothing that compilers use.
fn makes_a_scalar(i: &Instruction) -> bool {
    use Mnemonic as M;
    i.op_count() == 2
        && i.op_kind(1) != OpKind::Immediate8
        && !is_same(i)
        && matches!(
            i.mnemonic(),
            M::Cvtsi2sd
                | M::Cvtsi2ss
                | M::Cvtss2sd
                | M::Cvtsd2ss
                | M::Sqrtsd
                | M::Sqrtss
                | M::Rsqrtss
                | M::Rcpss
        )
}

/// Whether both operands are the same register.
fn is_same(i: &Instruction) -> bool {
    let register = |o: u32| (i.op_kind(o) == OpKind::Register).then(|| i.op_register(o));
    match i.op_count() {
        2 => register(0).is_some() && register(0) == register(1),
        3 => register(1).is_some() && register(1) == register(2),
        _ => false,
    }
}

/// Whether the result is all ones, or all zeros, whatever the registers held.
fn makes_ones(i: &Instruction) -> bool {
    use Mnemonic as M;
    is_same(i)
        && matches!(
            i.mnemonic(),
            M::Sbb
                | M::Pcmpeqb
                | M::Pcmpeqw
                | M::Pcmpeqd
                | M::Pcmpeqq
                | M::Vpcmpeqb
                | M::Vpcmpeqw
                | M::Vpcmpeqd
                | M::Vpcmpeqq
        )
}

/// Whether the result is zero whatever the registers held.
fn is_clearing(i: &Instruction) -> bool {
    use Mnemonic as M;
    is_same(i)
        && matches!(
            i.mnemonic(),
            M::Xor
                | M::Sub
                | M::Pxor
                | M::Xorps
                | M::Xorpd
                | M::Vpxor
                | M::Vxorps
                | M::Vxorpd
                | M::Vpxord
                | M::Vpxorq
        )
}
