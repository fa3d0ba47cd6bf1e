//! Which locations hold the same at a loop's entry.
//!
//! Compilers spill what a loop does not change, overwrite the register, and
//! load it again at the end of each iteration; or load a constant anew. Whether
//! a register is only reloaded with its value from before the loop can only be said by comparing with
//! what it was a copy of when the loop began.

use std::collections::{BTreeMap, BTreeSet};

use super::dense::{Open, Rows};
use super::function::{Function, Location, WORDS};
use super::steps::{Operand, Part};

/// For each location its class: the lowest location of it, or a constant of the
/// program.
type Classes = [u64];

/// Above all locations.
const CONSTANTS: u64 = 1 << 32;

/// The classes before each instruction that somebody has asked about, and before those on the ways to it. Most
/// questions are about the beginnings of loops: what loops do is not followed for them.
pub(super) struct Same {
    before: Rows<u64>,
    /// Whether the instruction's classes are known. With an instruction all those are from which it is reached.
    is_known: Vec<bool>,
}

impl Same {
    /// Whether both locations hold the same before the instruction.
    pub(super) fn is_equal(&self, index: usize, a: Location, b: Location) -> bool {
        let classes = self.before.get(index);
        a == b || classes.is_some_and(|classes| classes[a] == classes[b])
    }
}

impl Function<'_> {
    /// The classes before the instruction `index`.
    pub(super) fn same_until(&self, index: usize) -> Same {
        let mut same = self.same();
        self.look_at(&mut same, index);
        same
    }

    /// No classes are known.
    pub(super) fn same(&self) -> Same {
        Same {
            before: Rows::new(self.at.len(), self.locations),
            is_known: vec![false; self.at.len()],
        }
    }

    /// Finds the classes before the instruction `index`. What is known already depends on nothing that is new, since
    /// all from which it is reached is known, too.
    fn look_at(&self, same: &mut Same, index: usize) {
        let Same { before, is_known } = same;
        if std::mem::replace(&mut is_known[index], true) {
            return;
        }
        let mut is_new = vec![false; self.at.len()];
        is_new[index] = true;
        let mut ways = vec![index];
        let mut open = Open::new(self.at.len());
        while let Some(node) = ways.pop() {
            for &from in &self.predecessors[node] {
                if !std::mem::replace(&mut is_known[from], true) {
                    is_new[from] = true;
                    ways.push(from);
                } else if !is_new[from] {
                    open.insert(from);
                }
            }
        }
        let mut classes: Vec<u64> = (0..self.locations as u64).collect();
        if let Some(first) = self.entry().filter(|&first| is_new[first]) {
            before.set(first, &classes);
            open.insert(first);
        }
        while let Some(index) = open.pop_first() {
            let Some(here) = before.get(index) else {
                continue;
            };
            classes.copy_from_slice(here);
            self.copy(index, &mut classes);
            for &to in self.successors[index].iter().filter(|&&to| is_new[to]) {
                let (there, was_reached) = before.reach(to);
                if !was_reached {
                    there.copy_from_slice(&classes);
                }
                if !was_reached || meet(there, &classes) {
                    open.insert(to);
                }
            }
        }
    }

    /// One instruction.
    fn copy(&self, index: usize, classes: &mut Classes) {
        let effect = &self.effects[index];
        let held = effect
            .moves
            .as_ref()
            .filter(|moves| moves.copies)
            .and_then(|moves| match moves.made_of[..] {
                [(Operand::Location(from), _)] => {
                    // All words of a wide slot, or none.
                    let class = classes[from];
                    let whole = effect
                        .reads
                        .iter()
                        .all(|&l| l < WORDS || classes[l] == class);
                    whole.then_some((moves.to, class))
                }
                // Broken code may name addresses that no process has: such a one is not remembered.
                [(Operand::Constant(at), _)] => Some((moves.to, CONSTANTS.checked_add(at)?)),
                _ => None,
            });
        for l in effect.writes() {
            leave(classes, l);
        }
        if let Some((to, class)) = held {
            for l in effect.kills.iter().chain(&effect.may).copied() {
                if l == to || (to >= WORDS && l >= WORDS) {
                    // What it was a copy of may have been this very location.
                    if class >= CONSTANTS || classes[class as usize] == class {
                        enter(classes, l, class);
                    }
                }
            }
        }
    }

    /// What each location is a copy of where control comes to `header` from
    /// outside of `cycle`, of what the loop does not write.
    pub(super) fn copies_at(
        &self,
        header: usize,
        cycle: &BTreeSet<usize>,
        written: &BTreeSet<Location>,
        same: &mut Same,
    ) -> BTreeMap<Location, Part> {
        let mut entry: Option<Vec<u64>> = None;
        for &from in self.predecessors[header]
            .iter()
            .filter(|from| !cycle.contains(from))
        {
            self.look_at(same, from);
            let Some(mut classes) = same.before.get(from).map(<[u64]>::to_vec) else {
                continue;
            };
            self.copy(from, &mut classes);
            match &mut entry {
                None => entry = Some(classes),
                Some(old) => {
                    meet(old, &classes);
                }
            }
        }
        let Some(classes) = entry else {
            return BTreeMap::new();
        };
        let mut kept: BTreeMap<u64, Part> = BTreeMap::new();
        for (l, &class) in classes.iter().enumerate() {
            if class >= CONSTANTS {
                kept.entry(class)
                    .or_insert(Part::Constant(class - CONSTANTS));
            } else if !written.contains(&l) {
                kept.entry(class).or_insert(Part::Location(l));
            }
        }
        written
            .iter()
            .filter_map(|&l| Some((l, *kept.get(&classes[l])?)))
            .collect()
    }
}

/// The location holds something of its own.
fn leave(classes: &mut Classes, l: Location) {
    let old = l as u64;
    if classes[l] == old {
        // It gave its class the name.
        let next = (l + 1..classes.len()).find(|&other| classes[other] == old);
        if let Some(next) = next {
            for class in &mut classes[next..] {
                if *class == old {
                    *class = next as u64;
                }
            }
        }
    }
    classes[l] = old;
}

/// The location holds what a class holds.
fn enter(classes: &mut Classes, l: Location, class: u64) {
    let name = l as u64;
    if class < CONSTANTS && name < class {
        for other in classes.iter_mut() {
            if *other == class {
                *other = name;
            }
        }
        classes[l] = name;
    } else {
        classes[l] = class;
    }
}

/// What holds the same on both ways; whether that is less than before.
fn meet(old: &mut Classes, new: &Classes) -> bool {
    if old == new {
        return false;
    }
    // A class is named by the lowest of its locations, so that none before that location is of it.
    let before = old.to_vec();
    let mut changed = false;
    for (l, (class, &other)) in old.iter_mut().zip(new).enumerate() {
        let name = if *class == other && other >= CONSTANTS {
            other
        } else {
            let from = if *class < CONSTANTS {
                *class as usize
            } else {
                0
            };
            let is_same = |&at: &usize| before[at] == *class && new[at] == other;
            (from..l).find(is_same).unwrap_or(l) as u64
        };
        changed |= *class != name;
        *class = name;
    }
    changed
}
