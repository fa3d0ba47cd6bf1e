//! What may be done with what the division decides.

use std::collections::BTreeSet;

use super::dense::Rows;
use super::effect::results;
use super::function::{Function, Location, Mark};
use super::function::{BOUND, COUNTER, INDEX, LAST, OWN, PLAIN, SET, SOME, SPOILT, STRIDE, SUM};
use super::levels::Level;
use super::sums;
use crate::code::Op;
use crate::entry::Entry;
use crate::library;
use crate::nodes::Next;
use crate::Callee;

impl Function<'_> {
    pub(super) fn is_push(&self, index: usize) -> bool {
        self.node(index).instruction.op == Op::Push
    }

    /// From which instructions a static loop may be entered without another
    /// division or a barrier in between: what stores to the chunk there may be
    /// its first iteration, which the compiler took apart because it differs.
    fn before_levels(&self, splits: &BTreeSet<usize>, levels: &[Level]) -> BTreeSet<usize> {
        let mut before = BTreeSet::new();
        let mut open: Vec<usize> = levels.iter().map(|level| level.header).collect();
        while let Some(index) = open.pop() {
            for &from in &self.predecessors[index] {
                let barrier = matches!(
                    self.next(from),
                    Next::Call {
                        callee: Callee::Runtime(Entry::Barrier),
                        ..
                    }
                );
                let inside = levels.iter().any(|level| level.nodes.contains(&from));
                if !barrier && !inside && !splits.contains(&from) && before.insert(from) {
                    open.push(from);
                }
            }
        }
        before
    }

    /// Whether the sum that the atomic instruction stores is put together with others by the operation that collected
    /// it.
    fn is_put_together(&self, index: usize, state: &[Mark]) -> bool {
        let i = &self.node(index).instruction;
        let has = self.effects[index]
            .reads
            .iter()
            .fold(0, |m, &l| m | state[l]);
        let by = sums::collects(i, &|l| state[l] & SUM != 0, has, false);
        by.is_some_and(|by| has & SPOILT == 0 && !sums::is_mixed(has | by))
    }

    pub(super) fn judge(
        &self,
        marks: &Rows<Mark>,
        splits: &BTreeSet<usize>,
        levels: &[Level],
    ) -> Result<(), u64> {
        let before = self.before_levels(splits, levels);
        let any_chunk = self.any_chunk(marks, splits);
        for index in 0..self.at.len() {
            let Some(state) = marks.get(index) else {
                continue;
            };
            let level = levels.iter().find(|level| level.nodes.contains(&index));
            let all = |locations: &[Location]| {
                locations.iter().fold(0, |m, &l| m | state[l]) & !(SET | PLAIN)
            };
            let effect = &self.effects[index];
            let data = all(&effect.reads);
            let address = all(&effect.address);
            let based = address & (BOUND | INDEX | STRIDE) != 0;
            let mut fine = address & (SUM | LAST) == 0 && (address & COUNTER == 0 || based);
            // An index has the chunk's beginning in it already: with the beginning subtracted it is a counter.
            fine &= level.is_none() || address & BOUND == 0 || address & (INDEX | STRIDE) == 0;
            match self.next(index) {
                Next::Call { callee, .. } | Next::TailCall(callee) => {
                    fine &= data & (SUM | LAST | COUNTER) == 0;
                    // What the compiler made of a loop that copies or clears.
                    fine &= if level.is_none() && copies(callee) {
                        data & (BOUND | INDEX | STRIDE) == 0 || !before.contains(&index)
                    } else {
                        let by_each =
                            || may_be_done_by_each(callee) || self.own_calls.contains(&index);
                        data & BOUND == 0 && (level.is_some() || by_each())
                    };
                }
                Next::Branch(_) => {
                    fine &= data & (SUM | LAST) == 0;
                    let ends = level.is_some_and(|level| {
                        self.successors[index]
                            .iter()
                            .any(|to| !level.nodes.contains(to))
                    });
                    if level.is_some() {
                        fine &= ends || data & (BOUND | COUNTER) == 0;
                    } else {
                        fine &= data & COUNTER == 0;
                    }
                }
                Next::Return if self.inner => {
                    let left = all(&results(self.graph.machine.roles()));
                    fine &= left & (SUM | LAST | BOUND | COUNTER) == 0;
                }
                _ if self.is_push(index) && data & (SUM | LAST | COUNTER) != 0 => {
                    // An argument; but compilers also push what they preserve.
                    fine = false;
                }
                _ if effect.stores_outside => {
                    fine &= !based || level.is_some() || !before.contains(&index);
                    fine &= match (level.is_some(), effect.atomic) {
                        (true, _) => data & !(INDEX | SOME | OWN) == 0,
                        (false, true) => {
                            data & SUM != 0
                                && data & (BOUND | STRIDE | COUNTER | LAST) == 0
                                && self.is_put_together(index, state)
                        }
                        // An iteration that the compiler took out of the loop.
                        (false, false) if based => data & !(INDEX | SOME | OWN) == 0,
                        // `lastprivate`.
                        (false, false) if !any_chunk.contains(&index) => {
                            data & (SUM | BOUND | STRIDE | COUNTER) == 0
                        }
                        (false, false) => data & !(SOME | OWN) == 0,
                    };
                }
                _ => {}
            }
            if !fine {
                return Err(self.at[index]);
            }
        }
        Ok(())
    }
}

/// Whether it is not noticed how many threads of a team call this outside of
/// their loops.
fn may_be_done_by_each(callee: &Callee) -> bool {
    match callee {
        Callee::Runtime(entry) => matches!(
            entry,
            Entry::ThreadNumber
                | Entry::TeamSize
                | Entry::Barrier
                | Entry::Single
                | Entry::CopyPrivate
                | Entry::Sections
                | Entry::LoopDispatch
                | Entry::Time
                | Entry::Atomic
                | Entry::AtomicEnd
                | Entry::StaticLoop
                | Entry::ProcessNumber
                | Entry::Mark
        ),
        Callee::Named(name) => library::takes_no_integers(name) || library::never_returns(name),
        Callee::Inside(_) | Callee::Unknown => false,
    }
}

fn copies(callee: &Callee) -> bool {
    matches!(callee, Callee::Named(name) if ["memcpy", "memmove", "memset"]
        .contains(&name.split('@').next().unwrap_or(name)))
}
