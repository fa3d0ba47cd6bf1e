//! What only the first thread of a team does: `if (id == 0)` around a block that the others skip.
//!
//! There is one such thread in a team of any size, so the block is harmless where the code behind it cannot tell
//! whether it was executed. First the block is followed ([`Held`]): which registers and words of the frame hold
//! something else at its end than at its beginning. What it saved around a call and loaded again does not. Then the
//! code behind it is followed until all that differs was overwritten ([`Behind`]).
//!
//! What the block writes to memory outside of the frame is the program's business: only one thread writes it.

pub(crate) mod held;

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{Instruction, Op, Roles, FRAME, STACK};
use crate::graph::Graph;
use crate::library;
use crate::nodes::Next;
use crate::Callee;
use held::{
    changed_by_calls, frame_base, moved_register, results, set, Effect, Equal, Held, Registers,
    Word, FLAGS, VECTOR,
};

/// The longest block that is followed, in instructions.
const LONGEST: usize = 2000;
/// How many instructions before a block are looked at.
const STRAIGHT: usize = 32;
/// This many words of the frame are told apart.
const WORDS: usize = 63;
/// Next to the bits of words: the stack pointer was raised, and words lie at other distances from it.
const RAISED: u64 = 1 << WORDS;
/// What the eight vector registers of arguments are.
const VECTOR_ARGUMENTS: Registers = 0xff << VECTOR;

/// Whether the function at an address may use what lies in these registers when it is called.
pub(crate) type Reads<'a> = &'a mut dyn FnMut(u64, Registers) -> bool;

/// A branch that asks whether the thread number is 0.
pub(crate) struct Block<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) branch: u64,
    /// Where thread 0 goes on, and where the others do.
    pub(crate) extra: u64,
    pub(crate) rest: u64,
    /// `rbp` points into the frame.
    pub(crate) has_frame_pointer: bool,
    /// The function returns something to a function that is followed.
    pub(crate) inner: bool,
}

impl Block<'_> {
    /// Whether only thread 0 can tell that it was executed: every path from `extra` comes to `rest` before the
    /// function ends (or `rest` does nothing more), and what differs then is not used. The result is the registers that
    /// may be different when the function returns. `is_shown` tells whether the word at this distance from `rsp` or, if
    /// `true`, from `rbp` can be reached by its address.
    pub(crate) fn only_adds(
        &self,
        reads: Reads<'_>,
        is_shown: &dyn Fn(bool, i64) -> bool,
    ) -> Option<Registers> {
        let graph = self.graph;
        let extra = graph.skip_jumps(self.extra);
        let rest = graph.skip_jumps(self.rest);
        if extra == rest || (!self.inner && graph.does_nothing(rest)) {
            return Some(0);
        }
        let equal = self.equal();
        let (held, ends) = self.follow(extra, rest)?;
        if ends && !graph.does_nothing(rest) {
            return None;
        }
        // Thread 0 returned in another way, with whatever lay in the registers of results there.
        let roles = graph.machine.roles();
        let results = if ends { results(roles) } else { 0 };
        let Some(held) = held else {
            return Some(if self.inner { results } else { 0 });
        };
        let behind = Behind {
            graph,
            words: held.changed_words(&equal),
            from: held.from,
            has_frame_pointer: self.has_frame_pointer,
        };
        // Code that has the address of a word may read it unseen.
        let shown = |word: &Word| is_shown(word.base == FRAME, word.offset);
        if behind.words.len() > WORDS || behind.words.iter().any(shown) {
            return None;
        }
        let left = behind.differs(rest, held.changed_registers(&equal), reads)?;
        Some(if self.inner { results | left } else { 0 })
    }

    /// The registers that hold the same as a word of the frame, or another register, when the block begins, as the code
    /// before the branch shows: it has loaded, saved or copied them.
    fn equal(&self) -> Equal {
        let mut equal = Equal::default();
        let (mut registers, mut words): (Registers, Vec<Word>) = (0, Vec::new());
        let Some(mut number) = self.graph.nodes.number(self.branch) else {
            return equal;
        };
        for _ in 0..STRAIGHT {
            let after = number;
            let Some(node) = number.checked_sub(1).and_then(|n| self.graph.nodes.at(n)) else {
                break;
            };
            number = after - 1;
            let i = &node.instruction;
            let falls = matches!(node.next, Next::Fall | Next::Branch(_));
            if !falls || !self.comes_only_from(after, i) {
                break;
            }
            let effect = Effect::of(i);
            if effect.moves_stack {
                break;
            }
            let word = Word::of(i, self.has_frame_pointer);
            if let (Some(Some(n)), Some(word)) = (moved_register(i), word) {
                if registers & 1 << n == 0 && !words.iter().any(|other| other.meets(word)) {
                    equal.words.insert((n, word));
                }
            }
            let copied =
                (i.op == Op::Copy).then(|| (i.operand(0).general(), i.operand(1).general()));
            if let Some((Some(a), Some(b))) = copied {
                if registers & (1 << a | 1 << b) == 0 {
                    equal.twins.insert((a.min(b), a.max(b)));
                }
            }
            registers |= effect.writes | effect.may_write;
            let framed = frame_base(i.base(), self.has_frame_pointer).is_some();
            match word {
                Some(word) if effect.stores => words.push(word),
                None if effect.stores && framed => break,
                _ => {}
            }
        }
        equal
    }

    /// Whether nothing leads to the instruction with this number but `before`, which lies before it.
    fn comes_only_from(&self, number: usize, before: &Instruction) -> bool {
        let Some(node) = self.graph.nodes.at(number) else {
            return false;
        };
        let at = node.instruction.at;
        if before.behind != at {
            return false;
        }
        !node.leads
            || !self.graph.nodes.values().any(|from| match &from.next {
                Next::Jump(target) | Next::Branch(target) => *target == at,
                Next::Call { pad, .. } => pad.is_some_and(|pad| pad.address == at),
                _ => false,
            })
    }

    /// Follows the block. What is held where it comes to `rest`, if it does, and whether the function ends in it.
    fn follow(&self, extra: u64, rest: u64) -> Option<(Option<Held>, bool)> {
        let graph = self.graph;
        let mut states = BTreeMap::from([(extra, Held::new())]);
        let mut open = BTreeSet::from([extra]);
        let (mut end, mut ends): (Option<Held>, bool) = (None, false);
        let mut steps = 0;
        while let Some(at) = open.pop_first() {
            steps += 1;
            // A loop back to the question itself would be one that thread 0 alone runs on.
            if at == self.branch || steps > 8 * LONGEST || states.len() > LONGEST {
                return None;
            }
            let node = graph.nodes.get(&at)?;
            let mut held = states.get(&at)?.clone();
            match &node.next {
                Next::Return | Next::TailCall(_) => {
                    ends = true;
                    continue;
                }
                Next::Call { .. } => held.call(graph.machine.roles()),
                Next::Fall => held.execute(&node.instruction, self.has_frame_pointer),
                Next::Jump(_) | Next::Branch(_) | Next::Stop => {}
            }
            for next in graph.successors(at) {
                let next = graph.skip_jumps(next);
                if next == rest {
                    match &mut end {
                        None => end = Some(held.clone()),
                        Some(end) => {
                            end.join(&held);
                        }
                    }
                    continue;
                }
                match states.get_mut(&next) {
                    None => {
                        states.insert(next, held.clone());
                        open.insert(next);
                    }
                    Some(old) => {
                        if old.join(&held) {
                            open.insert(next);
                        }
                    }
                }
            }
        }
        Some((end, ends))
    }
}

/// The code behind a block.
struct Behind<'a> {
    graph: &'a Graph,
    /// The words of the frame that differ.
    words: Vec<Word>,
    /// From here on words may differ, too.
    from: Option<(usize, i64)>,
    has_frame_pointer: bool,
}

impl Behind<'_> {
    /// Follows the code from `rest` on, where these registers differ. `None`: something that differs may be used.
    /// Otherwise the registers of results that differ when the function returns.
    fn differs(&self, rest: u64, registers: Registers, reads: Reads<'_>) -> Option<Registers> {
        let roles = self.graph.machine.roles();
        let mut returned = 0;
        let mut seen: BTreeMap<u64, (Registers, u64)> = BTreeMap::new();
        let words = (0..self.words.len()).fold(0u64, |bits, n| bits | 1 << n);
        let mut open = vec![(rest, registers, words)];
        while let Some((at, mut left, mut words)) = open.pop() {
            let before = seen.get(&at).copied();
            let (known, known_words) = before.unwrap_or((0, 0));
            if before.is_some() && left & !known == 0 && words & !known_words == 0 {
                continue;
            }
            seen.insert(at, (left | known, words | known_words));
            if left == 0 && words & !RAISED == 0 && self.from.is_none() {
                continue;
            }
            let node = self.graph.nodes.get(&at)?;
            let i = &node.instruction;
            let effect = Effect::of(i);
            match &node.next {
                Next::Call { callee, .. } | Next::TailCall(callee) => {
                    if left & effect.reads != 0 || passes(callee, left, roles, reads) {
                        return None;
                    }
                    left &= !(changed_by_calls(roles) | 1 << FLAGS);
                }
                Next::Return => returned |= left & results(roles),
                _ if left & effect.reads != 0 => return None,
                _ => left &= !effect.writes,
            }
            if node.next == Next::Fall && (words != 0 || self.from.is_some()) {
                words = self.reaches(i, &effect, words)?;
            }
            open.extend(self.graph.successors(at).map(|next| (next, left, words)));
        }
        Some(returned)
    }

    /// Which words still differ after `i`. `None`: it may use one.
    fn reaches(&self, i: &Instruction, effect: &Effect, words: u64) -> Option<u64> {
        if i.operands().is_empty() {
            return Some(words);
        }
        if effect.moves_stack {
            // The end of the frame is known by this; what lowers the stack pointer is not followed.
            let raises = match i.op {
                Op::Pop | Op::Add | Op::Leave => true,
                Op::Address => i.operand(0).general() == Some(STACK),
                _ => false,
            };
            return raises.then_some(words | RAISED);
        }
        let Some(base) = frame_base(i.base(), self.has_frame_pointer) else {
            return Some(words);
        };
        if words & RAISED != 0 {
            return None;
        }
        let word = Word::of(i, self.has_frame_pointer)?;
        let is_above = |(from_base, from): (usize, i64)| {
            base != from_base || word.offset.saturating_add(word.size) > from
        };
        if i.op == Op::Address || self.from.is_some_and(is_above) {
            return None;
        }
        let only_writes = effect.stores && !effect.loads;
        let mut left = words;
        for (n, &other) in self.words.iter().enumerate() {
            if words & 1 << n == 0 || !word.meets(other) {
                continue;
            }
            if !only_writes {
                return None;
            }
            if word.covers(other) {
                left &= !(1 << n);
            }
        }
        Some(left)
    }
}

/// Whether a call hands on something that differs.
fn passes(callee: &Callee, left: Registers, roles: &Roles, reads: Reads<'_>) -> bool {
    let integers = |count: usize| set(roles.first_arguments(count));
    match callee {
        Callee::Runtime(entry) => left & integers(entry.arguments()) != 0,
        Callee::Named(name) => {
            let vectors: Registers = (1 << library::vectors(name)) - 1;
            left & (integers(library::integers(name)) | vectors << VECTOR) != 0
        }
        Callee::Unknown => left & (set(roles.arguments) | VECTOR_ARGUMENTS) != 0,
        Callee::Inside(target) => {
            let all = set(roles.arguments) | VECTOR_ARGUMENTS;
            left & all != 0 && reads(*target, left & all)
        }
    }
}

/// Whether the function that `graph` is of may use what these registers hold when it is called.
pub(crate) fn uses(graph: &Graph, registers: Registers, reads: Reads<'_>) -> bool {
    let behind = Behind {
        graph,
        words: Vec::new(),
        from: None,
        has_frame_pointer: false,
    };
    // What it does not touch it does not return, either.
    behind.differs(graph.entry, registers, reads).is_none()
}
