//! What locations hold at the points of a loop, as sums of what they held at its header.
//!
//! The same few sums stand in many places: states have numbers for them.

use std::collections::{BTreeMap, BTreeSet};

use super::dense::{Open, Rows};
use super::function::{Function, Location, WORDS};
use super::steps::{Held, Operand, Part, Sum};

/// What each location holds where a loop begins, as far as that is known.
pub(super) type Start = BTreeMap<Location, Held>;

/// The number of something that is held.
type Name = u32;

/// Nothing is known.
const UNKNOWN: Name = 0;
const ZERO: Name = 1;
const KEPT_OR_ZERO: Name = 2;
const FETCHED: Name = 3;

/// Numbers for what is held.
struct Names {
    /// By number, from 1 on.
    held: Vec<Held>,
    numbers: BTreeMap<Held, Name>,
}

impl Names {
    fn new() -> Names {
        let mut names = Names {
            held: Vec::new(),
            numbers: BTreeMap::new(),
        };
        for (held, number) in [
            (Held::Zero, ZERO),
            (Held::KeptOrZero, KEPT_OR_ZERO),
            (Held::Fetched, FETCHED),
        ] {
            let given = names.of(held);
            debug_assert_eq!(given, number);
        }
        names
    }

    fn of(&mut self, held: Held) -> Name {
        if let Some(&number) = self.numbers.get(&held) {
            return number;
        }
        self.held.push(held.clone());
        let number = self.held.len() as Name;
        self.numbers.insert(held, number);
        number
    }

    fn held(&self, name: Name) -> Option<&Held> {
        self.held.get((name as usize).checked_sub(1)?)
    }
}

/// The locations that a loop writes, in order, and how many of them come before each location.
struct Written {
    all: Vec<Location>,
    position: Vec<Option<u32>>,
}

impl Written {
    fn new(written: &BTreeSet<Location>, locations: usize) -> Written {
        let all: Vec<Location> = written.iter().copied().collect();
        let mut position = vec![None; locations];
        for (n, &l) in all.iter().enumerate() {
            position[l] = Some(n as u32);
        }
        Written { all, position }
    }

    fn position(&self, l: Location) -> Option<usize> {
        self.position[l].map(|n| n as usize)
    }
}

/// What the written locations hold at the points of a loop, and when it comes around.
pub(super) struct Around {
    written: Written,
    names: Names,
    back: Vec<Name>,
    /// By an instruction's place among those of the loop.
    states: Rows<Name>,
    /// The place of an instruction.
    places: Vec<Option<u32>>,
}

/// What the written locations hold at one point.
pub(super) struct Holding<'a> {
    around: &'a Around,
    row: &'a [Name],
}

impl<'a> Holding<'a> {
    /// What the location holds, where that is known; `None` also where the loop does not write it.
    pub(super) fn get(&self, l: Location) -> Option<&'a Held> {
        let at = self.around.written.position(l)?;
        self.around.names.held(self.row[at])
    }

    /// All that is known.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Location, &'a Held)> + '_ {
        let all = self.around.written.all.iter().zip(self.row);
        all.filter_map(|(&l, &name)| Some((l, self.around.names.held(name)?)))
    }
}

impl Around {
    fn new(written: &BTreeSet<Location>, locations: usize) -> Around {
        let written = Written::new(written, locations);
        Around {
            back: vec![UNKNOWN; written.all.len()],
            written,
            names: Names::new(),
            states: Rows::new(0, 0),
            places: Vec::new(),
        }
    }

    fn row(&mut self, start: &Start) -> Vec<Name> {
        let mut row = vec![UNKNOWN; self.written.all.len()];
        for (&l, held) in start {
            if let Some(at) = self.written.position(l) {
                row[at] = self.names.of(held.clone());
            }
        }
        row
    }

    /// When the loop comes around.
    pub(super) fn back(&self) -> Holding<'_> {
        Holding {
            around: self,
            row: &self.back,
        }
    }

    /// Before an instruction of the loop, where it is reached.
    pub(super) fn before(&self, index: usize) -> Option<Holding<'_>> {
        let place = (*self.places.get(index)?)? as usize;
        let row = self.states.get(place)?;
        Some(Holding { around: self, row })
    }
}

impl Function<'_> {
    /// What the written locations hold when the loop comes around, and before each of its instructions. `start` is what
    /// they hold at its header.
    pub(super) fn around(
        &self,
        header: usize,
        cycle: &BTreeSet<usize>,
        written: &BTreeSet<Location>,
        start: &Start,
    ) -> Around {
        let mut around = Around::new(written, self.locations);
        let mut state = around.row(start);
        let own: Vec<Name> = around
            .written
            .all
            .iter()
            .map(|&l| around.names.of(Held::Sum(Sum::of(Part::Location(l)))))
            .collect();
        let mut places = vec![None; self.at.len()];
        for (n, &node) in cycle.iter().enumerate() {
            places[node] = Some(n as u32);
        }
        let place = |node: usize| places[node].map(|n| n as usize);
        let nodes: Vec<usize> = cycle.iter().copied().collect();
        let mut states = Rows::new(nodes.len(), state.len());
        let mut open = Open::new(nodes.len());
        if let Some(first) = place(header) {
            states.set(first, &state);
            open.insert(first);
        }
        let mut back: Option<Vec<Name>> = None;
        while let Some(here) = open.pop_first() {
            let index = nodes[here];
            let Some(before) = states.get(here) else {
                continue;
            };
            state.copy_from_slice(before);
            self.follow(index, &mut state, &around.written, &mut around.names);
            for &to in &self.successors[index] {
                let Some(there) = place(to) else {
                    continue;
                };
                if to == header {
                    match &mut back {
                        None => back = Some(state.clone()),
                        Some(old) => {
                            meet(old, &state, &own);
                        }
                    }
                    continue;
                }
                let (old, was_reached) = states.reach(there);
                if !was_reached {
                    old.copy_from_slice(&state);
                }
                if !was_reached || meet(old, &state, &own) {
                    open.insert(there);
                }
            }
        }
        // The last round of what came back is the settled one only if nothing
        // was met after it; `meet` only takes away, so what is left holds.
        if let Some(back) = back {
            around.back = back;
        }
        around.states = states;
        around.places = places;
        around
    }

    /// What the written locations hold after these instructions, one after the other.
    pub(super) fn after(
        &self,
        path: &[usize],
        written: &BTreeSet<Location>,
        start: &Start,
    ) -> Around {
        let mut around = Around::new(written, self.locations);
        let mut state = around.row(start);
        for &node in path {
            self.follow(node, &mut state, &around.written, &mut around.names);
        }
        around.back = state;
        around
    }

    /// One instruction.
    fn follow(&self, index: usize, state: &mut [Name], written: &Written, names: &mut Names) {
        let effect = &self.effects[index];
        let holds = |l: Location| {
            let at = written.position(l)?;
            Some(state[at]).filter(|&name| name != UNKNOWN)
        };
        let held = |operand: &Operand, names: &mut Names| match *operand {
            Operand::Number(number) => Some(names.of(Held::Sum(Sum::number(number)))),
            Operand::Constant(at) => Some(names.of(Held::Sum(Sum::of(Part::Constant(at))))),
            Operand::Location(l) => match holds(l) {
                // All words of a wide slot, or none.
                _ if l >= WORDS && !one_thing(&effect.reads, &holds, names) => None,
                None if written.position(l).is_none() => {
                    Some(names.of(Held::Sum(Sum::of(Part::Location(l)))))
                }
                held => held,
            },
        };
        let value = effect.moves.as_ref().and_then(|moves| {
            if let ([(operand, 1)], true) = (&moves.made_of[..], moves.copies) {
                let held = held(operand, names)?;
                // Only of the location itself is that said.
                return (held != KEPT_OR_ZERO).then_some((moves.to, held));
            }
            let mut sum = Sum::default();
            for (operand, times) in &moves.made_of {
                let name = held(operand, names)?;
                let Some(Held::Sum(part)) = names.held(name) else {
                    return None;
                };
                sum = sum.plus(part, *times)?;
            }
            Some((moves.to, names.of(Held::Sum(sum))))
        });
        let mut put = |l: Location, name: Name| {
            if let Some(at) = written.position(l) {
                state[at] = name;
            }
        };
        effect.writes().for_each(|l| put(l, UNKNOWN));
        if effect.fetches {
            effect.kills.iter().for_each(|&l| put(l, FETCHED));
        }
        if effect.clears {
            effect.kills.iter().for_each(|&l| put(l, ZERO));
        }
        if let Some((to, value)) = value {
            // All words of a wide slot move together; the first stands for them.
            for &l in effect.kills.iter().chain(&effect.may) {
                if l == to || (to >= WORDS && l >= WORDS) {
                    put(l, value);
                }
            }
        }
    }
}

/// Whether the words of a slot that is read were last written together.
fn one_thing(reads: &[Location], holds: &impl Fn(Location) -> Option<Name>, names: &Names) -> bool {
    let mut words = reads.iter().copied().filter(|&l| l >= WORDS);
    let first = words.clone().next().and_then(holds);
    let is_own = |l: Location| {
        let held = holds(l).and_then(|name| names.held(name));
        matches!(held, Some(Held::Sum(sum)) if sum.is(l))
    };
    words.clone().all(|l| holds(l) == first) || words.all(is_own)
}

/// What holds on both ways; whether that is less than before. `own`: the names of what the locations held at the
/// header.
fn meet(old: &mut [Name], new: &[Name], own: &[Name]) -> bool {
    let mut changed = false;
    for ((held, &other), &own) in old.iter_mut().zip(new).zip(own) {
        if *held == other || *held == UNKNOWN {
            continue;
        }
        let known = |name: Name| name == own || name == ZERO || name == KEPT_OR_ZERO;
        let both = if known(*held) && known(other) {
            KEPT_OR_ZERO
        } else {
            UNKNOWN
        };
        changed |= *held != both;
        *held = both;
    }
    changed
}
