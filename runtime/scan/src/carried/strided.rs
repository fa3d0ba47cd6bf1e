//! Loops whose chunks are single iterations, dealt out in turn.
//!
//! gcc makes of `schedule(static, 1)`
//!
//! ```text
//! i = first + id * step;
//! if (i < n)
//!     do { body(i); i += threads * step; } while (i < n);
//! ```
//!
//! Each iteration below `n` belongs to one thread of a team of any size, no matter which, if
//!
//! * the number that is compared before the loop is the loop's first index, and is compared with the same
//!   bound in the same way as the next one is after each iteration;
//! * the index is a plain number plus as many times the thread number as it grows by the number of threads;
//! * the loop is left nowhere else.
//!
//! What else begins and grows by such multiples (addresses, which compilers make of indexes) names iterations as the
//! index does. Only where the loop begins is that known: the next index, before it is compared, still
//! belongs to no iteration, nor does what is left after the loop.

use std::collections::{BTreeMap, BTreeSet};

use super::around::{Around, Holding};
use super::effect::location;
use super::function::{Function, Location, WORDS};
use super::interface::Interface;
use super::levels::cycles;
use super::steps::{Held, Part, Sum};
use crate::code::{self, Condition, Instruction, Op};
use crate::entry::Entry;
use crate::findings::Frame;
use crate::graph::Graph;
use crate::nodes::Next;
use crate::state::{State, GENERAL};
use crate::strided::{Index, Strided};
use crate::value::{Place, Value};
use crate::Callee;

/// What an index is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Location(Location),
    Number(i64),
}

/// A comparison of an index with a bound, and when the loop goes on.
struct Compared {
    index: Location,
    bound: Bound,
    /// The condition, with the index first.
    goes_on: Condition,
    width: i64,
}

impl Compared {
    fn is_about(&self, l: Location) -> bool {
        self.index == l || self.bound == Bound::Location(l)
    }
}

/// Finds the loops of this kind in a function. `before` tells what a loop's header (the first argument) is reached with
/// from the instruction before the loop (the second one).
pub(crate) fn strided(
    graph: &Graph,
    frame: &Frame,
    known: &BTreeMap<u64, Interface>,
    before: &mut dyn FnMut(u64, u64) -> Option<State>,
) -> Vec<Strided> {
    let mut found = Vec::new();
    let Some(function) = Function::read(graph, frame, known, false) else {
        return found;
    };
    let mut open: Vec<BTreeSet<usize>> = vec![(0..function.at.len()).collect()];
    // Each turn takes the header out of a loop, so that it comes to an end.
    while let Some(nodes) = open.pop() {
        for cycle in cycles(&nodes, &function.successors, &function.predecessors) {
            match function.strided_loop(&cycle, before) {
                Some(strided) => found.push(strided),
                None => open.extend(function.header_of(&cycle).map(|header| {
                    let mut inner = cycle.clone();
                    inner.remove(&header);
                    inner
                })),
            }
        }
    }
    found
}

impl Function<'_> {
    /// The one instruction by which a loop is entered.
    fn header_of(&self, cycle: &BTreeSet<usize>) -> Option<usize> {
        let mut headers = cycle
            .iter()
            .copied()
            .filter(|&n| self.predecessors[n].iter().any(|p| !cycle.contains(p)));
        headers.next().filter(|_| headers.next().is_none())
    }

    fn strided_loop(
        &self,
        cycle: &BTreeSet<usize>,
        before: &mut dyn FnMut(u64, u64) -> Option<State>,
    ) -> Option<Strided> {
        let header = self.header_of(cycle)?;
        let latches = self.exits(cycle)?;
        let inside = |node: usize| cycle.contains(&node);
        let outside: Vec<usize> = self.predecessors[header]
            .iter()
            .copied()
            .filter(|&p| !inside(p))
            .collect();
        let [entered] = outside[..] else {
            return None;
        };
        // Nothing comes back to the header but what a comparison lets through, and whatever one lets through does.
        let mut back = self.predecessors[header].iter().filter(|&&p| inside(p));
        if back.clone().count() != latches.len()
            || !back.all(|&p| latches.iter().any(|&latch| self.leads_only(latch, p)))
        {
            return None;
        }
        let (guard, path) = self.guard(entered)?;
        let next = path.first().copied().unwrap_or(header);
        let firsts = self.compared(guard, |to| to == next)?;
        let lasts: Vec<Vec<Compared>> = latches
            .iter()
            .map(|&latch| self.compared(latch, inside))
            .collect::<Option<_>>()?;
        let state = before(self.at[header], self.at[entered])?;
        let value = |l: Location| self.value_of(&state, l);

        // Is what is compared at the end the next index?
        let written: BTreeSet<Location> = cycle
            .iter()
            .flat_map(|&n| self.effects[n].writes())
            .collect();
        let steps = |l: Location| value(l).and_then(Value::threads_before);
        if !written.iter().any(|&l| steps(l).is_some()) {
            return None;
        }
        // All else is nothing that is asked for.
        let is_of_use = |l: &Location| {
            // Of a wide slot the other half is, too.
            value(*l).is_some_and(|value| value.is_multiple() || *l >= WORDS && !value.is_free())
                || lasts.iter().flatten().any(|last| last.is_about(*l))
        };
        let start = written
            .iter()
            .copied()
            .filter(is_of_use)
            .map(|l| (l, Held::Sum(Sum::of(Part::Location(l)))))
            .collect();
        let around = self.around(header, cycle, &written, &start);
        let held = |latch: usize, l: Location| match around.before(latch - 1)?.get(l) {
            Some(Held::Sum(sum)) => Some(sum.clone()),
            Some(_) => None,
            None => (!written.contains(&l)).then(|| Sum::of(Part::Location(l))),
        };
        let around = around.back();
        let stays = |l: Location| {
            !written.contains(&l) || matches!(around.get(l), Some(Held::Sum(sum)) if sum.is(l))
        };
        // How many times the number of threads something grows by.
        let grows_by = |l: Location| -> Option<i64> {
            let Some(Held::Sum(sum)) = around.get(l) else {
                return None;
            };
            let (own, others) = sum.split(l)?;
            let mut times = 0i64;
            for (part, factor) in others {
                let laps = value(part).filter(|_| stays(part))?.laps()?;
                times = times.checked_add(i64::from(laps).checked_mul(factor)?)?;
            }
            (own == 1).then_some(times)
        };
        let is_index = |l: Location| {
            let steps = steps(l).map(i64::from);
            steps.is_some_and(|steps| steps != 0 && grows_by(l) == Some(steps))
        };
        let start = self.along(&path);
        let start = start.back();
        let same = self.same_until(guard);
        let was = |l: Location, other: Location| match start.get(l) {
            Some(Held::Sum(sum)) => sum.copy().is_some_and(|l| same.is_equal(guard, l, other)),
            _ => false,
        };
        let same_bound = |latch: usize, last: Bound, first: Bound| match (last, first) {
            (Bound::Number(a), Bound::Number(b)) => a == b,
            (Bound::Location(a), Bound::Location(b)) => held(latch, a)
                .and_then(|sum| sum.copy())
                .filter(|&l| stays(l))
                .is_some_and(|l| was(l, b) && value(l).is_some_and(is_plain)),
            _ => false,
        };
        let fits = |latch: usize, last: &Compared, first: &Compared| {
            // What is compared at the end is the next index, and what was compared before the loop the first one.
            let next = held(latch, last.index).map(Held::Sum);
            let index = written
                .iter()
                .copied()
                .find(|&l| is_index(l) && around.get(l) == next.as_ref() && was(l, first.index));
            let upwards = index.and_then(steps).map(|steps| steps > 0);
            use Condition as C;
            let limits = match last.goes_on {
                C::Less | C::LessOrEqual | C::Below | C::BelowOrEqual => upwards == Some(true),
                C::Greater | C::GreaterOrEqual | C::Above | C::AboveOrEqual => {
                    upwards == Some(false)
                }
                _ => false,
            };
            limits
                && (first.goes_on, first.width) == (last.goes_on, last.width)
                && same_bound(latch, last.bound, first.bound)
        };
        for (&latch, lasts) in latches.iter().zip(&lasts) {
            let fits = |last| firsts.iter().any(|first| fits(latch, last, first));
            if !lasts.iter().any(fits) {
                return None;
            }
        }
        let indexes = written
            .iter()
            .filter(|&&l| is_index(l))
            .filter_map(|&l| self.place_of(l, &around))
            .collect();
        Some(Strided {
            header: self.at[header],
            branches: latches
                .iter()
                .chain([&guard])
                .map(|&n| self.at[n])
                .collect(),
            indexes,
            callees: self.callees(cycle)?,
        })
    }

    /// The branches of a loop that lead out of it: all that do.
    fn exits(&self, cycle: &BTreeSet<usize>) -> Option<Vec<usize>> {
        let exits: Vec<usize> = cycle
            .iter()
            .copied()
            .filter(|&n| self.successors[n].iter().any(|to| !cycle.contains(to)))
            .collect();
        let branches = exits
            .iter()
            .all(|&n| matches!(self.next(n), Next::Branch(_)));
        branches.then_some(exits)
    }

    /// Whether `node` is `branch`, or only jumps behind it.
    fn leads_only(&self, branch: usize, mut node: usize) -> bool {
        for _ in 0..8 {
            if node == branch {
                return true;
            }
            let jumps = matches!(self.next(node), Next::Jump(_));
            match self.predecessors[node][..] {
                [before] if jumps => node = before,
                _ => return false,
            }
        }
        false
    }

    /// The branch that decides whether `node` is reached, and the instructions between, of which each leads to the next
    /// one alone.
    fn guard(&self, node: usize) -> Option<(usize, Vec<usize>)> {
        let mut path = Vec::new();
        let mut node = node;
        while !matches!(self.next(node), Next::Branch(_)) {
            if path.len() > 200 || self.successors[node].len() != 1 {
                return None;
            }
            path.push(node);
            let [before] = self.predecessors[node][..] else {
                return None;
            };
            node = before;
        }
        path.reverse();
        Some((node, path))
    }

    /// What the branch at `branch` has just compared, and what must be true for it to lead to where `goes_on` says;
    /// with the one operand as the index, and with the other.
    fn compared(&self, branch: usize, goes_on: impl Fn(usize) -> bool) -> Option<Vec<Compared>> {
        let node = |n: usize| self.node(n);
        let Next::Branch(target) = node(branch).next else {
            return None;
        };
        let compare = branch.checked_sub(1)?;
        let i = &node(compare).instruction;
        if i.op != Op::Compare
            || i.behind != self.at[branch]
            || self.predecessors[branch] != [compare]
        {
            return None;
        }
        let target = self.at.binary_search(&target).ok()?;
        let behind = node(branch).instruction.behind;
        let behind = self.at.binary_search(&behind).ok()?;
        let mut condition = node(branch).instruction.condition;
        match (goes_on(target), goes_on(behind)) {
            (true, false) => {}
            (false, true) => condition = condition.opposite()?,
            _ => return None,
        }
        let (a, b) = (self.operand(i, compare, 0)?, self.operand(i, compare, 1)?);
        let mut registers = i.operands().iter().filter_map(|o| o.register());
        let width = registers.next().map_or(i.size, |r| i64::from(r.size));
        if width < 4 {
            return None;
        }
        let of = |index: Bound, bound: Bound, goes_on: Option<Condition>| match index {
            Bound::Location(index) => Some(Compared {
                index,
                bound,
                goes_on: goes_on?,
                width,
            }),
            Bound::Number(_) => None,
        };
        let ways = [of(a, b, Some(condition)), of(b, a, condition.swapped())];
        Some(ways.into_iter().flatten().collect())
    }

    fn operand(&self, i: &Instruction, index: usize, operand: usize) -> Option<Bound> {
        match i.operand(operand) {
            code::Operand::Register(register) => location(register).map(Bound::Location),
            code::Operand::Memory => {
                // Only what lies in the frame stays what it is.
                let effect = &self.effects[index];
                let word = effect.reads.iter().copied().find(|&l| l >= WORDS)?;
                (!effect.loads_outside).then_some(Bound::Location(word))
            }
            other => other.constant().map(Bound::Number),
        }
    }

    /// What the locations hold after these instructions, by what they held before.
    fn along(&self, path: &[usize]) -> Around {
        let everything: BTreeSet<Location> = (0..self.locations).collect();
        let itself = |l| (l, Held::Sum(Sum::of(Part::Location(l))));
        let start = (0..self.locations).map(itself).collect();
        self.after(path, &everything, &start)
    }

    /// What a location holds, where that is followed.
    fn value_of(&self, state: &State, l: Location) -> Option<Value> {
        if l < GENERAL {
            return Some(state.general[l]);
        }
        // Of a wide slot the low half is the number.
        Some(state.load(self.word(l)?, 4))
    }

    /// The word of the frame with this number.
    fn word(&self, l: Location) -> Option<Place> {
        let (&(base, word), _) = self.words.iter().find(|(_, &other)| other == l)?;
        let offset = word.checked_mul(4)?;
        Some(Place { base, offset })
    }

    fn place_of(&self, l: Location, around: &Holding) -> Option<Index> {
        if l < GENERAL {
            return Some(Index::Register(l));
        }
        let place = self.word(l)?;
        let (&(base, word), _) = self.words.iter().find(|(_, &other)| other == l)?;
        let behind = self.words.get(&(base, word + 1));
        let wide = behind.is_some_and(|&behind| around.get(behind) == around.get(l));
        Some(Index::Slot(place, if wide { 8 } else { 4 }))
    }

    /// The functions that the loop calls, or `None` where it calls something that all threads of a team must call
    /// equally often.
    fn callees(&self, cycle: &BTreeSet<usize>) -> Option<Vec<u64>> {
        let mut all = Vec::new();
        for &node in cycle {
            match self.next(node) {
                Next::Call { callee, .. } | Next::TailCall(callee) => match callee {
                    Callee::Runtime(entry) if !is_alone(*entry) => return None,
                    Callee::Inside(target) => all.push(*target),
                    _ => {}
                },
                _ => {}
            }
        }
        Some(all)
    }
}

/// Whether a thread may call this as often as it likes.
pub(crate) fn is_alone(entry: Entry) -> bool {
    matches!(
        entry,
        Entry::ThreadNumber
            | Entry::TeamSize
            | Entry::Critical
            | Entry::Atomic
            | Entry::AtomicEnd
            | Entry::Lock
            | Entry::Allocate
            | Entry::Time
            | Entry::ProcessNumber
            | Entry::Mark
    )
}

fn is_plain(value: Value) -> bool {
    value.is_free() && !value.is_pointer() && value.split().is_none()
}
