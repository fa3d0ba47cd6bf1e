//! Where it is known that the chunk at hand has the last iteration.
//!
//! `lastprivate(i)` of a loop's own index becomes `if (end == n) shared = end - 1`. The end of a chunk
//! says how the loop is divided, but not where it was just found to be the number of iterations.

use std::collections::BTreeSet;

use super::dense::Rows;
use super::function::{Function, Location, Mark};
use super::function::{BOUND, COUNTER, HEAP, INDEX, LAST, ODD, POINTED, STRIDE, SUM, WORDS};
use crate::code::{Condition, Op};
use crate::nodes::Next;

impl Function<'_> {
    /// Where the branch at `index` leads if the comparison before it, of the end of a chunk with
    /// something that the division does not decide, found equal numbers.
    pub(super) fn equal_with_end(&self, index: usize, state: &[Mark]) -> Option<usize> {
        let node = |n: usize| self.node(n);
        let Next::Branch(target) = node(index).next else {
            return None;
        };
        let compared = index.checked_sub(1)?;
        let compare = &node(compared).instruction;
        if self.ends.is_empty()
            || compare.op != Op::Compare
            || compare.behind != self.at[index]
            || self.predecessors[index] != [compared]
        {
            return None;
        }
        let effect = &self.effects[compared];
        let is_bound = |l: Location| state[l] & BOUND != 0;
        let end = effect.reads.iter().copied().find(|&l| is_bound(l))?;
        // One register, or the words of one slot.
        let same_operand = |l: Location| l == end || (l >= WORDS && end >= WORDS);
        let known = effect.reads.iter().all(|&l| {
            if is_bound(l) {
                same_operand(l) && l != POINTED && l != HEAP && state[l] & ODD == 0
            } else {
                state[l] & (INDEX | STRIDE | COUNTER | SUM | LAST) == 0
            }
        });
        if !known || effect.address.iter().any(|&l| is_bound(l)) {
            return None;
        }
        let to = match node(index).instruction.condition {
            Condition::Equal => target,
            Condition::NotEqual => node(index).instruction.behind,
            _ => return None,
        };
        self.at.binary_search(&to).ok()
    }

    /// The instructions that are reached while the chunk at hand is not known to have the loop's last iteration: from
    /// the function's entry, or from where the next chunk is computed, without a comparison that has found its end.
    pub(super) fn any_chunk(
        &self,
        marks: &Rows<Mark>,
        splits: &BTreeSet<usize>,
    ) -> BTreeSet<usize> {
        let mut open: Vec<usize> = self
            .entry()
            .into_iter()
            .chain(splits.iter().copied())
            .collect();
        let mut found: BTreeSet<usize> = open.iter().copied().collect();
        while let Some(index) = open.pop() {
            // Settled marks: on its first visit a comparison may not yet have met the chunk's end.
            let last = marks
                .get(index)
                .and_then(|state| self.equal_with_end(index, state));
            for &to in &self.successors[index] {
                if last != Some(to) && found.insert(to) {
                    open.push(to);
                }
            }
        }
        found
    }
}

/// The marks where the end of the chunk is known to be the number of iterations.
pub(super) fn at_the_last(state: &[Mark]) -> Vec<Mark> {
    let known = |mark: &Mark| match mark & (BOUND | ODD) {
        BOUND => mark & !BOUND,
        _ => *mark,
    };
    state.iter().map(known).collect()
}
