//! What each instruction reads and writes, in registers, flags and words of the
//! frame.

use std::collections::{BTreeMap, BTreeSet};

use super::function::{
    Function, Location, Mark, BOUND, FLAGS, FLOATS, MASKS, OWN, POINTED, SOME, VECTORS,
};
use super::interface::{caller_saved, Interface};
use super::steps::{Moves, Operand};
use crate::code::{Address, FlagsWritten, Instruction, Op, Register, Roles, STACK};
use crate::entry::Entry;
use crate::findings::Memory;
use crate::library;
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
    /// Marks that the result has besides those of what is read.
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
        // Next to it only what the instruction has as an address.
        parts == 1 && !self.loads_outside
    }

    /// The call of a function whose result is a number or an address: nothing that could be relied on is left in the
    /// other registers that calls may change.
    fn returns_number(&mut self, roles: &Roles) {
        self.kills.push(roles.result());
        self.loses
            .extend(caller_saved(roles).filter(|l| *l != roles.result() && *l != FLOATS));
    }

    /// A call's results; what else it may change.
    fn returns(&mut self, roles: &Roles) {
        let results = results(roles);
        self.kills.extend(&results);
        self.may.push(FLOATS);
        self.loses
            .extend(caller_saved(roles).filter(|l| !results.contains(l) && *l != FLOATS));
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
        let roles = self.graph.machine.roles();
        let mut sees_frame = self.frame.exposed.is_some();
        match callee {
            Callee::Runtime(entry) => {
                effect
                    .reads
                    .extend(roles.first_arguments(entry.arguments()));
                if *entry == Entry::Time {
                    effect.returns(roles);
                } else {
                    effect.returns_number(roles);
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
                effect
                    .reads
                    .extend(roles.first_arguments(library::integers(name)));
                effect
                    .reads
                    .extend(VECTORS..VECTORS + library::vectors(name));
                effect.returns(roles);
                sees_frame &= !library::takes_no_integers(name)
                    && !library::never_returns(name)
                    && !library::takes_memory(name)
                    && !library::gives_memory_back(name);
            }
            Callee::Inside(target) => {
                let any = Interface::any(roles);
                let interface = known.get(target).unwrap_or(&any);
                effect.reads.extend(&interface.takes);
                effect.may.extend(&interface.changes);
                effect.hands_back = (!interface.keeps).then(|| interface.hands_back.clone());
            }
            Callee::Unknown => {
                effect.reads.extend(roles.arguments);
                effect.reads.extend(VECTORS..VECTORS + 8);
                effect.returns(roles);
            }
        }
        if sees_frame {
            effect.reads.push(POINTED);
            effect.may.push(POINTED);
        }
        effect
    }

    pub(super) fn plain(&mut self, i: &Instruction, targets: &BTreeSet<Address>) -> Effect {
        let mut effect = Effect::default();
        let clears = i.clears;
        let parts = || i.address.iter().flat_map(|address| address.registers());
        effect.address.extend(parts().filter_map(location));
        for used in &i.used {
            let register = used.register;
            let Some(l) = location(register) else {
                continue;
            };
            // `mov (%rax),%rax` uses the old value as an address alone.
            let only_address = i.op != Op::Address
                && parts().any(|part| part.is_in(register))
                && !i.reads_operand(register);
            let rest = i.makes_scalar && i.operand(0).register() == Some(register);
            if used.is_read() && !only_address && !clears && !rest {
                effect.reads.push(l);
            }
            if used.is_written() {
                if used.is_overwritten() || clears || rest {
                    effect.kills.push(l);
                } else {
                    effect.may.push(l);
                }
            }
        }
        if i.reads_flags {
            effect.reads.push(FLAGS);
        }
        if i.flags != FlagsWritten::None {
            effect.kills.push(FLAGS);
        }
        let (loads, stores) = (i.loads(), i.stores());
        let size = i.reach.map_or(8, |reach| reach.size);
        if i.op == Op::Address {
            effect.address.clear();
        } else if loads || stores {
            match self.frame.touched(i.at) {
                Some(Memory::Slot(place)) => {
                    let mut words = self.words_of(place, size);
                    // What a function preserves for its caller, and arguments, is
                    // nothing that a pointer reaches.
                    if words == [POINTED] && matches!(i.op, Op::Push | Op::Pop) {
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
                    let is_target = || i.address.is_some_and(|a| targets.contains(&target(a)));
                    effect.loads_outside = loads && !is_target();
                    // A pointer into the frame may have come back from there.
                    if loads && self.frame.exposed.is_some() {
                        effect.reads.push(POINTED);
                    }
                    if stores && self.frame.exposed.is_some() {
                        effect.may.push(POINTED);
                    }
                    effect.stores_outside = stores;
                    effect.atomic = stores && (i.is_locked || i.op == Op::Swap);
                }
            }
        }
        if i.uses_floats {
            effect.reads.push(FLOATS);
            effect.may.push(FLOATS);
        }
        let number = i.operands().iter().skip(1).find_map(|o| o.constant());
        let to = i.operand(0).register();
        let is_vector = to.is_some_and(|to| to.vector().is_some());
        if number.is_some_and(|n| n != 0) && !is_vector && !clears {
            effect.fresh |= SOME | OWN;
        }
        if clears || number == Some(0) {
            effect.fresh |= OWN;
        } else if effect.reads.is_empty() && !loads {
            // A number from nowhere: the address of something, for instance.
            effect.fresh |= SOME | OWN;
        }
        if i.makes_ones {
            effect.fresh |= SOME | OWN;
        }
        effect.exchanges = is_exchange(i);
        effect.clears = clears;
        effect.fetches = effect.loads_outside && !stores && effect.may.is_empty() && i.fetches;
        effect.moves = self.moves(i, &effect);
        effect
    }
}

/// What a called function may return.
pub(super) fn results(roles: &Roles) -> Vec<Location> {
    let vectors = VECTORS..VECTORS + roles.vector_results;
    roles.results.into_iter().chain(vectors).collect()
}

pub(super) fn location(register: Register) -> Option<Location> {
    if let Some(n) = register.general() {
        (n != STACK).then_some(n)
    } else if let Some(n) = register.vector() {
        Some(VECTORS + n)
    } else if register.is_mask() {
        Some(MASKS)
    } else if register.is_float() {
        Some(FLOATS)
    } else {
        None
    }
}

/// An address by which loads and stores of one place are told, whatever their form.
pub(super) fn target(address: Address) -> Address {
    Address {
        scale: 1,
        ..address
    }
}

pub(super) fn is_exchange(i: &Instruction) -> bool {
    i.op == Op::CompareAndSwap && i.is_locked
}
