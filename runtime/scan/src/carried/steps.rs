//! What lives from one iteration to the next: by what it grows.
//!
//! Inside of a loop every location is followed as a sum of what locations held
//! at the loop's header. What is there when the loop begins again tells what kind of thing it is.

use std::collections::{BTreeMap, BTreeSet};

use super::effect::{location, Effect};
use super::function::{Function, Location, FLAGS, HEAP, MASKS, POINTED, VECTORS, WORDS};
use super::same::Same;
use crate::code::{self, Instruction, Op};
use crate::nodes::Next;
use crate::state::RAX;

/// More terms than this are not followed.
const MOST_TERMS: usize = 6;

/// Something that a sum is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// What this held at the loop's header.
    Location(Location),
    /// A constant of the program, at this address.
    Constant(u64),
}

/// A sum of a constant and of multiples of parts. The parts are in order, and
/// no multiple is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sum {
    constant: i64,
    terms: Vec<(Part, i64)>,
}

impl Sum {
    pub(super) fn of(part: Part) -> Sum {
        Sum {
            constant: 0,
            terms: vec![(part, 1)],
        }
    }

    pub(super) fn number(constant: i64) -> Sum {
        Sum {
            constant,
            terms: Vec::new(),
        }
    }

    /// `self + other * factor`, if that has few terms.
    pub(super) fn plus(&self, other: &Sum, factor: i64) -> Option<Sum> {
        let constant = other.constant.checked_mul(factor)?;
        let mut terms = self.terms.clone();
        for &(part, times) in &other.terms {
            let times = times.checked_mul(factor)?;
            match terms.binary_search_by_key(&part, |&(part, _)| part) {
                Ok(n) => terms[n].1 = terms[n].1.checked_add(times)?,
                Err(n) => terms.insert(n, (part, times)),
            }
        }
        terms.retain(|(_, times)| *times != 0);
        (terms.len() <= MOST_TERMS).then_some(Sum {
            constant: self.constant.checked_add(constant)?,
            terms,
        })
    }

    /// Whether it is what `location` held, and nothing else.
    pub(super) fn is(&self, location: Location) -> bool {
        self.constant == 0 && self.terms == [(Part::Location(location), 1)]
    }

    /// How many times `location` is in it, and what else how many times; `None` where it has a number or a constant of
    /// the program in it.
    pub(super) fn split(&self, location: Location) -> Option<(i64, Vec<(Location, i64)>)> {
        let mut own = 0;
        let mut others = Vec::new();
        for &(part, times) in &self.terms {
            match part {
                Part::Location(l) if l == location => own += times,
                Part::Location(l) => others.push((l, times)),
                Part::Constant(_) => return None,
            }
        }
        (self.constant == 0).then_some((own, others))
    }

    /// The location that it is a copy of.
    pub(super) fn copy(&self) -> Option<Location> {
        match self.terms[..] {
            [(Part::Location(location), 1)] if self.constant == 0 => Some(location),
            _ => None,
        }
    }
}

/// What a location holds at one point of a loop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Held {
    Sum(Sum),
    /// It was cleared.
    Zero,
    /// What the location itself held at the header, or zero.
    KeptOrZero,
    /// What was loaded from memory.
    Fetched,
}

/// How something lives from one iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It stays what it was.
    Stays,
    /// The same step each time; whether that is 1 or -1.
    Steps {
        one: bool,
    },
    /// Whatever writes it writes zero.
    Cleared,
    /// Loaded from memory in each iteration.
    Fetched,
    /// Made of things with a step.
    Follows,
    /// No iteration reads what it finds there, and either all of them write it or none does.
    AlwaysOrNever,
    Other,
}

/// An operand of a modelled instruction.
pub(super) enum Operand {
    Location(Location),
    Constant(u64),
    Number(i64),
}

/// An instruction that makes a sum: where to, and of what how many times.
pub(super) struct Moves {
    pub(super) to: Location,
    pub(super) made_of: Vec<(Operand, i64)>,
    /// Nothing but a copy.
    pub(super) copies: bool,
}

/// No process has addresses from here on.
const NOWHERE: u64 = 1 << 62;

impl Function<'_> {
    /// The instruction as a sum.
    pub(super) fn moves(&self, i: &Instruction, effect: &Effect) -> Option<Moves> {
        let word = |all: &[Location]| all.iter().copied().find(|&l| l >= WORDS);
        let to = match i.operand(0) {
            code::Operand::Register(register) if register.size >= 4 => location(register)?,
            code::Operand::Memory => word(&effect.kills).or_else(|| word(&effect.may))?,
            _ if i.op == Op::WidenResult => RAX,
            _ => return None,
        };
        // Where the result has a place of its own, what it is made of comes behind it.
        let last = i.operands().len().saturating_sub(1);
        let own = || Operand::Location(to);
        let operand = |o: usize| match i.operand(o) {
            code::Operand::Register(register) => location(register).map(Operand::Location),
            code::Operand::Memory => match i.address?.fixed() {
                Some(at) => Some(Operand::Constant(at)),
                None => word(&effect.reads).map(Operand::Location),
            },
            code::Operand::Constant(number) => Some(Operand::Number(number)),
            code::Operand::Other => None,
        };
        let first = || match last {
            2 => operand(1),
            _ => Some(own()),
        };
        if i.moves || i.op == Op::WidenResult {
            let from = match i.op {
                Op::WidenResult => own(),
                _ => match operand(1)? {
                    // No number is added to a vector: what matters is that it is the same one.
                    Operand::Number(number) if (VECTORS..MASKS).contains(&to) => {
                        Operand::Constant(NOWHERE | number as u64)
                    }
                    from => from,
                },
            };
            let copies = !matches!(from, Operand::Number(_));
            return copies.then(|| Moves {
                to,
                made_of: vec![(from, 1)],
                copies,
            });
        }
        let made_of = match i.op {
            Op::Increment => vec![(own(), 1), (Operand::Number(1), 1)],
            Op::Decrement => vec![(own(), 1), (Operand::Number(-1), 1)],
            Op::Add => vec![(first()?, 1), (operand(last)?, 1)],
            Op::Subtract => vec![(first()?, 1), (operand(last)?, -1)],
            Op::Negate if last == 0 => vec![(own(), -1)],
            Op::Negate => vec![(operand(last)?, -1)],
            Op::ShiftLeft => match i.operand(last).constant() {
                Some(by @ 0..=32) => vec![(first()?, 1 << by)],
                _ => return None,
            },
            Op::Multiply => vec![(operand(1)?, i.operand(2).constant()?)],
            Op::AddVector if i.operands().len() == 2 => vec![(own(), 1), (operand(1)?, 1)],
            Op::AddVector => vec![(operand(1)?, 1), (operand(2)?, 1)],
            Op::Address => {
                let address = i.address.filter(|address| !address.is_fixed)?;
                let mut made_of = Vec::new();
                for (register, times) in [(address.base, 1), (address.index, address.scale)] {
                    if let Some(register) = register {
                        made_of.push((Operand::Location(location(register)?), times));
                    }
                }
                if made_of.is_empty() {
                    return None;
                }
                // Shown without sign where the result has 32 bits.
                let displacement = if i.width() == 4 {
                    i64::from(address.displacement as i32)
                } else {
                    address.displacement
                };
                made_of.push((Operand::Number(displacement), 1));
                made_of
            }
            _ => return None,
        };
        Some(Moves {
            to,
            made_of,
            copies: false,
        })
    }

    /// How each location that the loop writes lives on from one time that the
    /// loop comes to its header to the next, where that is known and `is_needed`.
    pub(super) fn steps(
        &self,
        header: usize,
        cycle: &BTreeSet<usize>,
        written: &BTreeSet<Location>,
        is_needed: &dyn Fn(Location) -> bool,
        same: &mut Same,
    ) -> BTreeMap<Location, Kind> {
        // What is taken to be what it was a copy of before, as long as it comes
        // around as that.
        let mut copies = self.copies_at(header, cycle, written, same);
        // What nothing in the loop copies anything to does not come around as a copy. To find that out below would take
        // a round through the whole loop.
        let mut is_copied = vec![false; self.locations];
        for effect in cycle.iter().map(|&node| &self.effects[node]) {
            if effect.moves.as_ref().is_some_and(|moves| moves.copies) {
                let all = effect.kills.iter().chain(&effect.may);
                all.for_each(|&l| is_copied[l] = true);
            }
        }
        copies.retain(|&l, _| is_copied[l]);
        let start = |copies: &BTreeMap<Location, Part>| {
            written
                .iter()
                .map(|&l| (l, copies.get(&l).copied().unwrap_or(Part::Location(l))))
                .map(|(l, part)| (l, Held::Sum(Sum::of(part))))
                .collect()
        };
        let mut around = self.around(header, cycle, written, &start(&copies));
        loop {
            let before = copies.len();
            let back = around.back();
            copies.retain(|&l, part| back.get(l) == Some(&Held::Sum(Sum::of(*part))));
            if copies.len() == before {
                break;
            }
            around = self.around(header, cycle, written, &start(&copies));
        }
        let back = around.back();
        let sum = |l: Location| match back.get(l) {
            Some(Held::Sum(sum)) => Some(sum),
            _ => None,
        };
        let stays = |part: Part| match part {
            Part::Location(l) => {
                !written.contains(&l)
                    || copies.contains_key(&l)
                    || sum(l).is_some_and(|sum| sum.is(l))
            }
            Part::Constant(_) => true,
        };
        // By what the location grows, if all that is known.
        let step = |l: Location| {
            let sum = sum(l)?;
            let own = |part: Part| match part {
                Part::Location(other) => l == other || self.is_same_slot(l, other),
                Part::Constant(_) => false,
            };
            let mut itself = 0;
            let mut others = 0;
            for &(part, times) in &sum.terms {
                if own(part) {
                    itself += times;
                } else if stays(part) {
                    others += 1;
                } else {
                    return None;
                }
            }
            (itself == 1).then_some((sum.constant, others))
        };
        let kind = |l: Location, held: &Held| match held {
            _ if copies.contains_key(&l) => Kind::Stays,
            Held::Zero | Held::KeptOrZero => Kind::Cleared,
            Held::Fetched => Kind::Fetched,
            Held::Sum(sum) => match (step(l), sum.copy()) {
                (Some((0, 0)), _) => Kind::Stays,
                (Some((constant, others)), _) => Kind::Steps {
                    one: others == 0 && matches!(constant, 1 | -1),
                },
                (None, Some(from)) if back.get(from) == Some(&Held::Fetched) => Kind::Fetched,
                (None, _) => {
                    let mut varies = false;
                    let known = sum.terms.iter().all(|&(part, _)| match part {
                        Part::Location(from) if !stays(part) => {
                            varies = true;
                            step(from).is_some()
                        }
                        _ => true,
                    });
                    if known && varies {
                        Kind::Follows
                    } else {
                        Kind::Other
                    }
                }
            },
        };
        let mut kinds: BTreeMap<Location, Kind> =
            back.iter().map(|(l, held)| (l, kind(l, held))).collect();
        // Does the instruction only read what is the same in all iterations?
        let is_steady = |node: usize| {
            let effect = &self.effects[node];
            let inside = around.before(node);
            let part = |l: Location| match inside.as_ref().and_then(|all| all.get(l)) {
                Some(Held::Sum(sum)) => sum.terms.iter().all(|&(part, _)| stays(part)),
                Some(_) => false,
                None => !written.contains(&l),
            };
            !effect.loads_outside && effect.reads.iter().all(|&l| l != POINTED && part(l))
        };
        for &l in written.iter().filter(|&&l| is_needed(l)) {
            let known = kinds.get(&l).is_some_and(|kind| *kind != Kind::Other);
            if !known && self.always_or_never(l, header, cycle, &is_steady) {
                kinds.insert(l, Kind::AlwaysOrNever);
            }
        }
        kinds
    }

    /// Whether no iteration reads what it finds in `l`, and whether an iteration writes it is decided by
    /// things that are the same in all iterations (an inner loop that is run `n` times).
    fn always_or_never(
        &self,
        l: Location,
        header: usize,
        cycle: &BTreeSet<usize>,
        is_steady: &dyn Fn(usize) -> bool,
    ) -> bool {
        if l == POINTED || l == HEAP {
            return false;
        }
        let kills = |node: usize| self.effects[node].kills.contains(&l);
        // What is reached from the header without a write.
        let mut found = vec![false; self.at.len()];
        found[header] = true;
        let mut open = vec![header];
        while let Some(node) = open.pop() {
            let effect = &self.effects[node];
            if effect.reads.contains(&l)
                || effect.address.contains(&l)
                || effect.may.contains(&l)
                || effect.loses.contains(&l)
            {
                return false;
            }
            if kills(node) {
                continue;
            }
            for &to in self.successors[node].iter().filter(|to| cycle.contains(to)) {
                if to != header && !std::mem::replace(&mut found[to], true) {
                    open.push(to);
                }
            }
        }
        // From where the next iteration is reached without a write.
        let mut passes = vec![false; self.at.len()];
        let mut all = Vec::new();
        let mut open = vec![header];
        while let Some(node) = open.pop() {
            for &from in &self.predecessors[node] {
                if found[from] && !kills(from) && !std::mem::replace(&mut passes[from], true) {
                    all.push(from);
                    open.push(from);
                }
            }
        }
        all.iter().all(|&node| {
            let inside = || self.successors[node].iter().filter(|to| cycle.contains(to));
            let decides = inside().any(|&to| to != header && !passes[to]);
            if !decides {
                return true;
            }
            let compared = node.checked_sub(1);
            matches!(self.next(node), Next::Branch(_))
                && compared.is_some_and(|compared| {
                    self.predecessors[node] == [compared]
                        && self.effects[compared].kills.contains(&FLAGS)
                        && !self.effects[compared].reads.contains(&FLAGS)
                        && is_steady(compared)
                })
        })
    }

    /// Two words of one slot, whose first stands for both.
    fn is_same_slot(&self, a: Location, b: Location) -> bool {
        a >= WORDS && b >= WORDS && a == b + 1
    }
}
