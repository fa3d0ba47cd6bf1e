//! Do the iterations of a function's static loops depend on how they are
//! divided?
//!
//! A team of any size fits where the numbers go into the bounds of loops alone.
//! But a program that asked for two threads may count on two chunks: what a
//! private variable carries from one iteration to the next (`firstprivate(a)
//! lastprivate(a)` with `a += i`), how many iterations a thread has had, how
//! often something was done once a thread. This analysis claims, for one
//! function, that none of that reaches memory that others see.
//!
//! **How.** The outermost loops that end by comparing with a bound of the split
//! are the static ones. What lives from one of their iterations to the next is
//! an index (it starts at the chunk's first iteration and grows by a constant),
//! a counter (it starts elsewhere), a sum that starts at zero, or makes the
//! function be refused. What was never set before the loop does not live on: an
//! iteration that reads it has written it (a scratch array). A register that is only reloaded with its value from
//! before the loop carries nothing. Nor does what no iteration reads before it has written it, where all of them write
//! it or none does: what is left after the loop is the last iteration's, or what was there before.
//! From there a data flow over registers, flags and words
//! of the frame finds out what is stored, passed, used as an address or
//! branched upon:
//!
//! * an index may be anything; a counter only part of an address that has the
//!   chunk's first one in it as well; both may end the loop;
//! * a sum may be added to memory by an atomic instruction after the loop, by the operation that its iterations
//!   collected it by ([`sums`]);
//! * what an iteration computed, and the index, may be stored after the loop where the chunk's end was found equal to
//!   the number of iterations (`lastprivate`): the thread with the last chunk is the only one that does so. Anywhere
//!   else it would be what the last iteration of *some* chunk left (`master`, `single`);
//! * the end of the chunk, or what lies a constant from it, may be stored where it was compared with
//!   the last iteration's number and found equal (a `lastprivate` index);
//! * nothing else is added to memory, and no function called, once a thread.
//!
//! Memory outside of the frame is taken to be shared: what one iteration
//! stores there, no other one reads without a race. Memory that each thread takes from the heap before its loop is not
//! shared, and is treated like an array of the frame ([`taken`]).

mod around;
mod dense;
mod effect;
mod ends;
mod function;
mod interface;
mod judge;
mod levels;
mod same;
mod steps;
mod strided;
mod sums;
mod taken;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) use interface::Interface;
pub(crate) use strided::{is_alone, strided};

use crate::code::{Address, Op, Operand};
use crate::entry::Entry;
use crate::findings::Frame;
use crate::graph::Graph;
use crate::nodes::{Next, Node};
use crate::{Callee, Form};
use dense::{Open, Rows, Sets};
use effect::{is_exchange, target};
use function::*;
use levels::{Facts, Level};
use steps::Kind;

/// More words of the frame than this are not told apart.
const MOST_WORDS: usize = 2000;
/// More marks than this are not kept.
const MOST_MARKS: usize = 4_000_000;

/// Whether the function's results are the same however its loops are divided;
/// otherwise an instruction that shows why not.
pub(crate) fn check(
    (graph, frame): (&Graph, &Frame),
    (splits, ends): (&BTreeSet<u64>, &BTreeSet<u64>),
    known: &BTreeMap<u64, Interface>,
    inner: bool,
    form: Form,
) -> Result<(), u64> {
    let first = graph.nodes.keys().next().unwrap_or(0);
    let read = Function::read(graph, frame, known, inner);
    let mut function = read.ok_or(first)?;
    let nodes = |all: &BTreeSet<u64>| -> BTreeSet<usize> {
        all.iter()
            .filter_map(|at| function.at.binary_search(at).ok())
            .collect()
    };
    if splits.len() == 1 {
        function.ends = nodes(ends);
    }
    let mut splits = nodes(splits);
    let doubled = graph.nodes.values().enumerate().filter(|(_, node)| {
        let first = node.instruction.same_as.map(|at| graph.nodes.number(at));
        first.flatten().is_some_and(|n| splits.contains(&n))
    });
    let doubled: Vec<usize> = doubled.map(|(n, _)| n).collect();
    splits.extend(doubled);
    function.form = form;
    function.alone();
    let mut levels = function.static_loops(&splits)?;
    let takes = function.takes(&levels);
    if !inner && !takes.is_empty() {
        function.follow_taken(takes, known)?;
        // With what goes through that memory.
        levels = function.static_loops(&splits)?;
        if !function.takes(&levels).is_subset(&function.own_calls) {
            return Err(first);
        }
    }
    let marks = function.flow(&splits, &levels)?;
    function.judge(&marks, &splits, &levels)
}

impl<'a> Function<'a> {
    /// `None` where the frame has too many words.
    fn read(
        graph: &'a Graph,
        frame: &'a Frame,
        known: &BTreeMap<u64, Interface>,
        inner: bool,
    ) -> Option<Function<'a>> {
        let at: Vec<u64> = graph.nodes.keys().collect();
        let mut function = Function {
            graph,
            frame,
            effects: Vec::new(),
            successors: Vec::new(),
            predecessors: vec![Vec::new(); at.len()],
            words: BTreeMap::new(),
            locations: WORDS,
            inner,
            ends: BTreeSet::new(),
            form: Form::Data,
            own_calls: BTreeSet::new(),
            at,
        };
        let instructions = || graph.nodes.values().map(|node| &node.instruction);
        let exchanges = instructions().filter(|i| is_exchange(i));
        let mut targets: BTreeSet<Address> =
            exchanges.filter_map(|i| i.address).map(target).collect();
        // The address of one may have been taken before it was first loaded.
        for i in instructions() {
            let Operand::Register(to) = i.operand(0) else {
                continue;
            };
            if targets.contains(&Address::of(to)) {
                match (i.op, i.operand(1)) {
                    (Op::Address, _) => targets.extend(i.address.map(target)),
                    (Op::Copy, Operand::Register(from)) => targets.extend([Address::of(from)]),
                    _ => {}
                }
            }
        }
        for index in 0..function.at.len() {
            let address = function.at[index];
            let node = &graph.nodes[&address];
            let effect = match &node.next {
                Next::Call { callee, .. } | Next::TailCall(callee) => {
                    function.call(address, callee, known)
                }
                _ => function.plain(&node.instruction, &targets),
            };
            function.effects.push(effect);
            let next: Vec<usize> = graph
                .successors(address)
                .filter_map(|to| function.at.binary_search(&to).ok())
                .collect();
            for &to in &next {
                function.predecessors[to].push(index);
            }
            function.successors.push(next);
        }
        let size = function.at.len() * function.locations;
        (function.words.len() <= MOST_WORDS && size <= MOST_MARKS).then_some(function)
    }

    /// The static loops of the function, whose chunks are computed at `splits`.
    fn static_loops(&self, splits: &BTreeSet<usize>) -> Result<Vec<Level>, u64> {
        let mut facts = Facts {
            bounds: self.flow(splits, &[])?,
            live: self.live(),
            same: self.same(),
        };
        let mut levels = Vec::new();
        let all: BTreeSet<usize> = (0..self.at.len()).collect();
        self.levels(&all, splits, &mut facts, &mut levels, 0)?;
        if levels.is_empty() && !splits.is_empty() {
            return Err(self.at.first().copied().unwrap_or(0));
        }
        Ok(levels)
    }

    /// What is still needed at each instruction.
    fn live(&self) -> Sets {
        let mut used = Sets::new(self.at.len(), self.locations);
        let mut changed = Sets::new(self.at.len(), self.locations);
        for (index, effect) in self.effects.iter().enumerate() {
            for &l in effect.kills.iter().chain(&effect.loses) {
                changed.put(index, l);
            }
            for &l in effect.reads.iter().chain(&effect.address) {
                used.put(index, l);
            }
            if self.inner && matches!(self.next(index), Next::Return) {
                for l in effect::results(self.graph.machine.roles()) {
                    used.put(index, l);
                }
            }
        }
        let mut live = Sets::new(self.at.len(), self.locations);
        let mut behind = vec![0; self.locations.div_ceil(64)];
        // From the end: what an instruction needs is known once those behind it are.
        let from_end = |index: usize| self.at.len() - 1 - index;
        let mut open = Open::new(self.at.len());
        (0..self.at.len()).for_each(|index| open.insert(index));
        while let Some(index) = open.pop_first().map(from_end) {
            behind.fill(0);
            for &to in &self.successors[index] {
                for (all, word) in behind.iter_mut().zip(live.of(to)) {
                    *all |= word;
                }
            }
            let (used, changed) = (used.of(index), changed.of(index));
            if live.add(index, |n| behind[n] & !changed[n] | used[n]) {
                for &from in &self.predecessors[index] {
                    open.insert(from_end(from));
                }
            }
        }
        live
    }

    fn node(&self, index: usize) -> &Node {
        // The function has the graph's instructions, in their order.
        self.graph.nodes.at(index).expect("an instruction")
    }

    fn next(&self, index: usize) -> &Next {
        &self.node(index).next
    }

    /// The marks of all locations before each instruction, as far as it can be
    /// reached.
    fn flow(&self, splits: &BTreeSet<usize>, levels: &[Level]) -> Result<Rows<Mark>, u64> {
        let mut states = Rows::new(self.at.len(), self.locations);
        let Some(first) = self.entry() else {
            return Ok(states);
        };
        let mut level_of: Vec<Option<usize>> = vec![None; self.at.len()];
        for (n, level) in levels.iter().enumerate() {
            level
                .nodes
                .iter()
                .for_each(|&node| level_of[node] = Some(n));
        }
        states.set(first, &self.arguments());
        let mut open = Open::new(self.at.len());
        open.insert(first);
        let mut state = Vec::new();
        while let Some(index) = open.pop_first() {
            let Some(before) = states.get(index) else {
                continue;
            };
            state.clear();
            state.extend_from_slice(before);
            let here = level_of[index];
            self.transfer(index, &mut state, splits, here.is_some());
            let last = self.equal_with_end(index, &state);
            for &to in &self.successors[index] {
                let at_the_last;
                let state: &[Mark] = if last == Some(to) {
                    at_the_last = ends::at_the_last(&state);
                    &at_the_last
                } else {
                    &state
                };
                let there = level_of[to];
                let sent: Cow<[Mark]> = match (here, there) {
                    (a, b) if a == b => match b.map(|b| &levels[b]) {
                        // Once around: what is carried is what it was.
                        Some(level) if level.header == to => {
                            let mut sent = state.to_vec();
                            let there = states.get(to);
                            for (&l, kind) in &level.carried {
                                let is_sum = || there.is_some_and(|s| s[l] & SUM != 0);
                                sent[l] = match kind {
                                    Kind::AlwaysOrNever => sent[l] | LAST,
                                    // Overwritten by something else, it is no sum.
                                    _ if is_sum() && sent[l] & PLAIN != 0 => SPOILT,
                                    _ if is_sum() => sent[l] & COLLECTED,
                                    _ => 0,
                                };
                            }
                            Cow::Owned(sent)
                        }
                        _ => Cow::Borrowed(state),
                    },
                    (a, b) => {
                        let mut sent = state.to_vec();
                        if let Some(a) = a {
                            for &l in &levels[a].written {
                                let known = INDEX | STRIDE | COUNTER | SUM;
                                // Nothing is known of it either where the loop is left at its header.
                                let is_left = sent[l] != 0 || levels[a].leaves.contains(&l);
                                if is_left && sent[l] & known == 0 {
                                    sent[l] |= LAST;
                                }
                            }
                        }
                        if let Some(b) = b {
                            self.enter(&levels[b], &mut sent)?;
                        }
                        Cow::Owned(sent)
                    }
                };
                // Nothing, so far, where the instruction was not reached before.
                let (old, was_reached) = states.reach(to);
                let mut new = 0;
                for (old, sent) in old.iter_mut().zip(&*sent) {
                    new |= sent & !*old;
                    *old |= sent;
                }
                if new != 0 || !was_reached {
                    open.insert(to);
                }
            }
        }
        Ok(states)
    }

    fn entry(&self) -> Option<usize> {
        self.at.binary_search(&self.graph.entry).ok()
    }

    /// What lies between the beginning and the end of an atomic block is atomic: threads add their parts there.
    fn alone(&mut self) {
        let kind = |index: usize| match self.next(index) {
            Next::Call {
                callee: Callee::Runtime(entry),
                ..
            } => Some(*entry),
            _ => None,
        };
        let ends = (0..self.at.len()).filter(|&index| kind(index) == Some(Entry::AtomicEnd));
        let mut open: Vec<usize> = ends.collect();
        let mut inside = BTreeSet::new();
        while let Some(index) = open.pop() {
            for &from in &self.predecessors[index] {
                if kind(from) != Some(Entry::Atomic) && inside.insert(from) {
                    open.push(from);
                }
            }
        }
        if self.entry().is_some_and(|entry| inside.contains(&entry)) {
            // An end without a beginning.
            return;
        }
        for index in inside {
            let effect = &mut self.effects[index];
            effect.loads_outside = false;
            effect.atomic = effect.stores_outside;
        }
    }

    /// The marks at the function's entry: what callers hand over. gcc's outlined
    /// functions get one pointer, clang's a word for each variable.
    fn arguments(&self) -> Vec<Mark> {
        let something = SET | SOME | OWN;
        let mut marks = vec![0; self.locations];
        let roles = self.graph.machine.roles();
        marks[roles.arguments[0]] = something;
        if self.form == Form::Numbers {
            for &register in roles.arguments {
                marks[register] = something;
            }
            for (_, &location) in self.words.range((0, roles.stacked / 4)..(1, i64::MIN)) {
                marks[location] = something;
            }
        }
        if self.inner {
            marks[..POINTED].fill(something);
        }
        // Constants come from nowhere there.
        marks[MASKS] = something;
        marks[FLOATS] = something;
        marks
    }

    /// What is carried becomes an index, a counter, or a sum.
    fn enter(&self, level: &Level, state: &mut [Mark]) -> Result<(), u64> {
        for (&l, kind) in &level.carried {
            let before = state[l] & !(SET | PLAIN);
            let chunk = before & (BOUND | INDEX | STRIDE) != 0;
            let made = match kind {
                // Nothing is there before the first iteration, so that each one
                // that reads it has written it.
                _ if state[l] == 0 => continue,
                Kind::Cleared if before & !OWN == 0 => OWN,
                Kind::AlwaysOrNever if before & !(SOME | OWN) == 0 => continue,
                // Fetched in the iteration before, and before the first one.
                Kind::Fetched if before == SOME => SOME,
                Kind::Follows if chunk && before & (SUM | COUNTER | LAST) == 0 => STRIDE | OWN,
                Kind::Steps { one } if before & (SUM | COUNTER | LAST) == 0 => {
                    if !chunk {
                        COUNTER | OWN
                    } else if *one {
                        INDEX | OWN
                    } else {
                        STRIDE | OWN
                    }
                }
                _ if before & !(SUM | INDEX | OWN | COLLECTED) == 0
                    && l != POINTED
                    && l != HEAP =>
                {
                    SUM | OWN | before & COLLECTED
                }
                _ => return Err(self.at[level.header]),
            };
            state[l] = made | SET;
        }
        Ok(())
    }

    fn transfer(&self, index: usize, state: &mut [Mark], splits: &BTreeSet<usize>, in_level: bool) {
        let effect = &self.effects[index];
        let mut mark = effect.fresh;
        for &l in &effect.reads {
            mark |= state[l];
        }
        let address = effect.address.iter().fold(0, |m, &l| m | state[l]);
        let loads_own = effect.loads_outside && address & (BOUND | INDEX | STRIDE) == 0;
        if effect.loads_outside {
            mark |= SOME;
        }
        if loads_own {
            mark |= OWN;
        }
        if splits.contains(&index) {
            mark |= BOUND;
        }
        if self.ends.contains(&index) {
            mark &= !ODD;
        } else if mark & BOUND != 0 && !effect.is_shift() {
            mark |= ODD;
        }
        if mark & SUM != 0 && mark & SOME != 0 {
            // What the compiler took out of the loop adds elements, too; anything
            // else would be added once a thread.
            let elements = effect
                .reads
                .iter()
                .all(|&l| state[l] & SUM != 0 || state[l] & (OWN | COUNTER | LAST | SOME) == SOME);
            if in_level || elements && effect.fresh & SOME == 0 && !loads_own {
                mark &= !SOME;
            } else {
                mark |= LAST;
            }
        }
        if mark & SUM != 0 && mark & INDEX != 0 {
            // A sum of indexes. After the loop it would be the index of some chunk's last iteration.
            if in_level {
                mark &= !INDEX;
            } else {
                mark |= LAST;
            }
        }
        if mark & SUM != 0 {
            let i = &self.node(index).instruction;
            let is_sum = |l: Location| state[l] & SUM != 0;
            mark |= sums::collects(i, &is_sum, mark, in_level).unwrap_or(SPOILT);
        }
        // What is made of nothing is nothing.
        if mark != 0 {
            mark |= SET;
        }
        if mark & SUM == 0 && mark != 0 {
            mark |= PLAIN;
        } else {
            mark &= !PLAIN;
        }
        for &l in &effect.kills {
            state[l] = mark;
        }
        // What a callee computes without handing its arguments back: of numbers in vector registers, and of memory.
        let of_others = effect.hands_back.as_ref().map_or(mark, |_| {
            let arguments = self.graph.machine.roles().arguments;
            let others = effect.reads.iter().filter(|l| !arguments.contains(l));
            others.fold(effect.fresh | SET, |mark, &l| mark | state[l])
        });
        let is_handed_back =
            |l: &Location| effect.hands_back.as_ref().is_none_or(|all| all.contains(l));
        for l in &effect.may {
            state[*l] |= if is_handed_back(l) { mark } else { of_others };
        }
        for &l in &effect.loses {
            state[l] = 0;
        }
        if effect.exchanges {
            // Whether somebody came in between says nothing about the value.
            for l in effect.writes().filter(|&l| l < VECTORS || l == FLAGS) {
                state[l] = SET;
            }
        }
    }
}
