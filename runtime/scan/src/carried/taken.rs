//! Memory that each thread takes from the heap before its loops.
//!
//! ```text
//! #pragma omp parallel num_threads(2)
//! {
//!     double *row = malloc(m * sizeof *row);
//! #pragma omp for
//!     for (i = 0; i < n; i++) { fill(row, i); out[i] = use(row); }
//!     free(row);
//! }
//! ```
//!
//! Elsewhere memory outside of the frame is taken to be shared, so that no iteration reads without a race what another
//! one has stored. Such memory is not: through it an iteration may tell the next one of its chunk something. It is
//! treated like an array of the frame. What an allocator gives has nothing in it that a program could rely on, so that
//! the first iteration of each chunk finds nothing there. Iterations that know whether they are the first one in their
//! chunk are refused for that. So the memory carries nothing, as long as it is not written before the loop; what is
//! read from it after the loop is what the last iteration of some chunk has left.
//!
//! **How.** All addresses in such memory are made of what an allocator returned. A data flow over registers and words
//! of the frame finds out which may be. It ends where such an address is put into memory that pointers reach, or is
//! given to a function that may keep it: then the function is refused. So no address that is loaded from memory is one
//! of them, and no instruction but those whose address was made of one reaches the memory.

use std::collections::{BTreeMap, BTreeSet};

use super::dense::Open;
use super::function::{Function, Location, HEAP, POINTED, WORDS};
use super::interface::{caller_saved, Interface};
use super::levels::Level;
use crate::findings::Memory;
use crate::library;
use crate::nodes::Next;
use crate::value::Place;
use crate::Callee;

/// A set of locations.
type Set = Vec<u64>;

fn has(set: &Set, l: usize) -> bool {
    set.get(l / 64)
        .is_some_and(|word| word >> (l % 64) & 1 != 0)
}

fn put(set: &mut Set, l: usize, is_in: bool) {
    if let Some(word) = set.get_mut(l / 64) {
        *word = *word & !(1 << (l % 64)) | u64::from(is_in) << (l % 64);
    }
}

impl Function<'_> {
    fn callee(&self, index: usize) -> Option<&Callee> {
        match self.next(index) {
            Next::Call { callee, .. } | Next::TailCall(callee) => Some(callee),
            _ => None,
        }
    }

    fn calls(&self, index: usize, is_wanted: impl Fn(&str) -> bool) -> bool {
        matches!(self.callee(index), Some(Callee::Named(name)) if is_wanted(name))
    }

    /// The calls outside of the loops that take memory.
    pub(super) fn takes(&self, levels: &[Level]) -> BTreeSet<usize> {
        (0..self.at.len())
            .filter(|&index| self.calls(index, library::takes_memory))
            .filter(|index| levels.iter().all(|level| !level.nodes.contains(index)))
            .collect()
    }

    /// Has the loads and stores that may reach memory which the calls `takes` took read and write [`HEAP`], too.
    ///
    /// # Errors
    /// The address of an instruction that puts an address in that memory where it is not followed.
    pub(super) fn follow_taken(
        &mut self,
        takes: BTreeSet<usize>,
        known: &BTreeMap<u64, Interface>,
    ) -> Result<(), u64> {
        let states = self.made_of(self.no_locations(), &takes, known);
        self.own_calls = takes;
        for (index, state) in states.iter().enumerate() {
            let Some(state) = state else {
                continue;
            };
            let reached = self.handled(index, state, known);
            let (reads, writes) = reached.ok_or(self.at[index])?;
            if has(state, self.graph.machine.roles().arguments[0])
                && self.calls(index, library::gives_memory_back)
            {
                self.own_calls.insert(index);
            }
            let effect = &mut self.effects[index];
            if reads {
                effect.reads.push(HEAP);
                effect.fetches = false;
            }
            if writes {
                effect.may.push(HEAP);
            }
        }
        Ok(())
    }

    /// In which of the registers that calls may change the function leaves what is made of an address that it is given;
    /// `None` where it may keep one elsewhere, or give it to somebody who does.
    pub(super) fn handed_back(&self, known: &BTreeMap<u64, Interface>) -> Option<Vec<Location>> {
        let mut arguments = self.no_locations();
        let roles = self.graph.machine.roles();
        for &l in roles.arguments {
            put(&mut arguments, l, true);
        }
        let states = self.made_of(arguments, &BTreeSet::new(), known);
        let mut left = BTreeSet::new();
        for (index, state) in states.iter().enumerate() {
            let Some(state) = state else {
                continue;
            };
            self.handled(index, state, known)?;
            match self.next(index) {
                Next::Return => left.extend(caller_saved(roles).filter(|&l| has(state, l))),
                // What another function leaves.
                Next::TailCall(_) => left.extend(caller_saved(roles)),
                _ => {}
            }
        }
        Some(left.into_iter().collect())
    }

    /// Whether the function may read arguments that are passed in memory: behind the return address.
    pub(super) fn reads_stack(&self) -> bool {
        let first = Place {
            base: 0,
            offset: self.graph.machine.roles().stacked,
        };
        let touched = |&at: &u64| match self.frame.touched(at) {
            Some(Memory::Slot(place)) => place.is_at_or_above(first),
            Some(Memory::SomeSlot(_)) => true,
            _ => false,
        };
        self.frame.exposed.is_some() || self.at.iter().any(touched)
    }

    fn no_locations(&self) -> Set {
        vec![0; self.locations.div_ceil(64)]
    }

    /// Before each instruction the locations that may hold something made of what `start` has at the function's entry,
    /// or of what the calls `takes` return.
    fn made_of(
        &self,
        start: Set,
        takes: &BTreeSet<usize>,
        known: &BTreeMap<u64, Interface>,
    ) -> Vec<Option<Set>> {
        let mut states: Vec<Option<Set>> = vec![None; self.at.len()];
        let Some(first) = self.entry() else {
            return states;
        };
        states[first] = Some(start);
        let mut open = Open::new(self.at.len());
        open.insert(first);
        while let Some(index) = open.pop_first() {
            let Some(mut state) = states[index].clone() else {
                continue;
            };
            let effect = &self.effects[index];
            let made = takes.contains(&index) || effect.reads.iter().any(|&l| has(&state, l));
            // Those calls that might leave one in memory are refused.
            let may_be_made = |l: Location| match self.callee(index) {
                None => true,
                Some(Callee::Inside(target)) => {
                    let callee = known.get(target);
                    callee.is_none_or(|callee| callee.hands_back.contains(&l))
                }
                Some(_) => l == self.graph.machine.roles().result(),
            };
            for &l in &effect.kills {
                put(&mut state, l, made && may_be_made(l));
            }
            for &l in effect.may.iter().filter(|&&l| made && may_be_made(l)) {
                put(&mut state, l, true);
            }
            for &l in &effect.loses {
                put(&mut state, l, false);
            }
            for &to in &self.successors[index] {
                let changed = match &mut states[to] {
                    None => {
                        states[to] = Some(state.clone());
                        true
                    }
                    Some(old) => {
                        let mut changed = false;
                        for (old, new) in old.iter_mut().zip(&state) {
                            changed |= new & !*old != 0;
                            *old |= new;
                        }
                        changed
                    }
                };
                if changed {
                    open.insert(to);
                }
            }
        }
        states
    }

    /// Whether the instruction reads, and whether it writes, memory that the thread has taken, if the locations `state`
    /// may hold addresses in it before the instruction. `None` where such an address may be put where it is not
    /// followed.
    fn handled(
        &self,
        index: usize,
        state: &Set,
        known: &BTreeMap<u64, Interface>,
    ) -> Option<(bool, bool)> {
        let effect = &self.effects[index];
        let is_one = |l: &usize| has(state, *l);
        let data = effect.reads.iter().any(is_one);
        let address = effect.address.iter().any(is_one);
        match self.callee(index) {
            None => {
                let kept = effect.stores_outside
                    || self.is_push(index)
                    || effect.writes().any(|l| l == POINTED);
                // String instructions have their addresses in registers that they also count.
                let reads = effect.loads && (address || data);
                (!data || !kept).then_some((reads, effect.stores_outside && address))
            }
            // An argument that is passed in memory may be any word.
            Some(Callee::Inside(target))
                if known.get(target).is_none_or(|callee| callee.reads_stack)
                    && (WORDS..self.locations).any(|l| is_one(&l)) =>
            {
                None
            }
            Some(_) if !data => Some((false, false)),
            Some(Callee::Named(name))
                if library::takes_memory(name) || library::gives_memory_back(name) =>
            {
                Some((false, false))
            }
            Some(Callee::Named(name)) if library::keeps_no_address(name) => Some((true, true)),
            Some(Callee::Inside(target)) => {
                let keeps = known.get(target).is_none_or(|callee| callee.keeps);
                (!keeps).then_some((true, true))
            }
            Some(Callee::Named(_) | Callee::Runtime(_) | Callee::Unknown) => None,
        }
    }
}
