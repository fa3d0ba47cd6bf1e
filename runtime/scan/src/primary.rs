//! What only the first thread of a team does: `if (id == 0)` around a block that the others skip.
//!
//! There is one such thread in a team of any size, so the block is harmless where the code behind it cannot tell
//! whether it was executed. First the block is followed ([`Held`]): which registers and words of the frame hold
//! something else at its end than at its beginning. What it saved around a call and loaded again does not. Then the
//! code behind it is followed until all that differs was overwritten ([`Behind`]).
//!
//! What the block writes to memory outside of the frame is the program's business: only one thread writes it.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{FlagsWritten, Instruction, Op, Register, Roles, FRAME, STACK};
use crate::graph::Graph;
use crate::library;
use crate::nodes::Next;
use crate::state::GENERAL;
use crate::Callee;

/// The longest block that is followed, in instructions.
const LONGEST: usize = 2000;
/// So many instructions before a block are looked at.
const STRAIGHT: usize = 32;
/// So many words of the frame are told apart.
const WORDS: usize = 63;
/// Beside the bits of words: the stack pointer was raised, and words lie at other distances from it.
const RAISED: u64 = 1 << WORDS;
/// Registers by bits: general ones, the flags, and vector registers.
const REGISTERS: usize = VECTOR + crate::state::VECTOR;
/// A set of them.
pub(crate) type Registers = u128;
const FLAGS: usize = GENERAL;
pub(crate) const VECTOR: usize = FLAGS + 1;
/// What the eight vector registers of arguments are.
const VECTOR_ARGUMENTS: Registers = 0xff << VECTOR;

/// What a function may return.
fn results(roles: &Roles) -> Registers {
    set(&roles.results) | ((1 << roles.vector_results) - 1) << VECTOR
}

/// What a called function may change, apart from the flags.
fn changed_by_calls(roles: &Roles) -> Registers {
    let vectors = (0..crate::state::VECTOR).filter(|n| !roles.kept_vectors.contains(n));
    vectors.fold(set(roles.caller_saved), |all, n| all | 1 << (VECTOR + n))
}

fn set(registers: &[usize]) -> Registers {
    registers.iter().fold(0, |all, &n| all | 1 << n)
}

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

    /// The registers that hold the same as a word of the frame when the block begins, as the code before the branch
    /// shows: it has loaded or saved them.
    fn equal(&self) -> Equal {
        let mut equal = Equal::new();
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
                    equal.insert((n, word));
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

/// Registers and words that hold the same.
type Equal = BTreeSet<(usize, Word)>;

/// A word of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    base: usize,
    offset: i64,
    size: i64,
}

impl Word {
    /// What a memory operand names, if it is one of the frame with no index.
    fn of(i: &Instruction, has_frame_pointer: bool) -> Option<Word> {
        let address = i.address.filter(|address| address.index.is_none())?;
        Some(Word {
            base: frame_base(address.base, has_frame_pointer)?,
            offset: address.displacement,
            size: i.size,
        })
    }

    /// Words that lie at different registers may be the same ones.
    fn meets(self, other: Word) -> bool {
        self.base != other.base
            || self.offset < other.offset.saturating_add(other.size)
                && other.offset < self.offset.saturating_add(self.size)
    }

    fn covers(self, other: Word) -> bool {
        self.base == other.base
            && self.offset <= other.offset
            && self.offset.saturating_add(self.size) >= other.offset.saturating_add(other.size)
    }
}

fn frame_base(register: Option<Register>, has_frame_pointer: bool) -> Option<usize> {
    match register?.general()? {
        _ if register?.size < 8 => None,
        FRAME if has_frame_pointer => Some(FRAME),
        n => (n == STACK).then_some(n),
    }
}

/// What a register or a word of the frame holds: what lay there or elsewhere when the block began, or something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Register(usize),
    Word(Word),
    /// What a call left where it need not leave anything. Nobody reads it.
    Nothing,
    Other,
}

impl Source {
    fn join(self, other: Source) -> Source {
        match (self, other) {
            (a, b) if a == b => a,
            (Source::Nothing, x) | (x, Source::Nothing) => x,
            _ => Source::Other,
        }
    }
}

/// What registers and words of the frame hold at a point of the block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    registers: [Source; REGISTERS],
    /// Words that were written.
    words: BTreeMap<Word, Source>,
    /// The lowest word whose address was made, by the register that it was made from: somebody may have written there.
    from: Option<(usize, i64)>,
    /// The stack pointer was moved, and words lie at other distances from it.
    moved: bool,
}

impl Held {
    fn new() -> Held {
        Held {
            registers: std::array::from_fn(Source::Register),
            words: BTreeMap::new(),
            from: None,
            moved: false,
        }
    }

    fn join(&mut self, other: &Held) -> bool {
        let before = self.clone();
        for (mine, theirs) in self.registers.iter_mut().zip(other.registers) {
            *mine = mine.join(theirs);
        }
        for (&word, &theirs) in &other.words {
            let mine = self.words.entry(word).or_insert(Source::Word(word));
            *mine = mine.join(theirs);
        }
        for (&word, mine) in &mut self.words {
            if !other.words.contains_key(&word) {
                *mine = mine.join(Source::Word(word));
            }
        }
        self.from = match (self.from, other.from) {
            (Some((a, x)), Some((b, y))) => {
                Some((a.max(b), if a == b { x.min(y) } else { i64::MIN }))
            }
            (a, b) => a.or(b),
        };
        self.moved |= other.moved;
        *self != before
    }

    fn changed_registers(&self, equal: &Equal) -> Registers {
        let changed = |(n, source): (usize, &Source)| match *source {
            _ if n == STACK => false,
            Source::Register(r) => r != n,
            Source::Word(word) => !equal.contains(&(n, word)),
            Source::Nothing => false,
            Source::Other => true,
        };
        let all = self.registers.iter().enumerate();
        all.filter(|&register| changed(register))
            .fold(0, |bits, (n, _)| bits | 1 << n)
    }

    fn changed_words(&self, equal: &Equal) -> Vec<Word> {
        let changed = |(&word, source): (&Word, &Source)| match *source {
            Source::Word(same) if same == word => None,
            Source::Register(n) if equal.contains(&(n, word)) => None,
            _ => Some(word),
        };
        self.words.iter().filter_map(changed).collect()
    }

    fn call(&mut self, roles: &Roles) {
        let (changed, results) = (changed_by_calls(roles) | 1 << FLAGS, results(roles));
        for (n, register) in self.registers.iter_mut().enumerate() {
            // What it returns, if it returns something.
            if results & 1 << n != 0 {
                *register = Source::Other;
            } else if changed & 1 << n != 0 {
                *register = Source::Nothing;
            }
        }
    }

    fn execute(&mut self, i: &Instruction, has_frame_pointer: bool) {
        if let Some(Some(n)) = moved_register(i) {
            if let Some(word) = Word::of(i, has_frame_pointer) {
                if i.operand(0).is_memory() {
                    self.store(word, self.registers[n]);
                } else {
                    self.registers[n] = self.load(word);
                }
                return;
            }
        }
        let effect = Effect::of(i);
        self.moved |= effect.moves_stack;
        let base = frame_base(i.base(), has_frame_pointer);
        if let Some(base) = base.filter(|_| !effect.moves_stack) {
            let word = Word::of(i, has_frame_pointer);
            match word {
                Some(word) if i.op == Op::Address => self.show(base, word.offset),
                _ if i.op == Op::Address => self.show(base, i64::MIN),
                Some(word) if effect.stores => self.store(word, Source::Other),
                None if effect.stores => self.show(base, i64::MIN),
                _ => {}
            }
        }
        self.write(&effect);
    }

    /// From this word on others may write.
    fn show(&mut self, base: usize, offset: i64) {
        let offset = if self.moved { i64::MIN } else { offset };
        self.from = match self.from {
            Some((old, from)) if old == base => Some((base, from.min(offset))),
            Some(_) => Some((base, i64::MIN)),
            None => Some((base, offset)),
        };
    }

    fn write(&mut self, effect: &Effect) {
        for (n, register) in self.registers.iter_mut().enumerate() {
            if (effect.writes | effect.may_write) & 1 << n != 0 {
                *register = Source::Other;
            }
        }
    }

    fn store(&mut self, word: Word, source: Source) {
        if self.moved {
            // Which word it is, is not followed.
            self.show(word.base, i64::MIN);
            return;
        }
        for (old, held) in &mut self.words {
            if *old != word && old.meets(word) {
                *held = Source::Other;
            }
        }
        self.words.insert(word, source);
    }

    fn load(&self, word: Word) -> Source {
        match self.words.get(&word) {
            Some(source) => *source,
            None if self.moved || self.words.keys().any(|old| old.meets(word)) => Source::Other,
            None => Source::Word(word),
        }
    }
}

/// For an instruction that only moves between a register and memory: the register, if it is followed.
fn moved_register(i: &Instruction) -> Option<Option<usize>> {
    let mut registers = i.operands().iter().filter_map(|operand| operand.register());
    i.saves.then(|| registers.next().and_then(bit))
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

/// The bit of a register.
fn bit(register: Register) -> Option<usize> {
    let vector = || register.vector().map(|n| n + VECTOR);
    register.general().or_else(vector)
}

/// What an instruction reads and writes, one bit for each register.
#[derive(Default)]
struct Effect {
    reads: Registers,
    /// Overwrites whole.
    writes: Registers,
    /// Overwrites in part, or perhaps.
    may_write: Registers,
    stores: bool,
    loads: bool,
    /// It changes the stack pointer.
    moves_stack: bool,
}

impl Effect {
    fn of(i: &Instruction) -> Effect {
        let mut effect = Effect::default();
        for used in &i.used {
            let Some(n) = bit(used.register) else {
                continue;
            };
            // The stack pointer's moves are the calls' own.
            if n == STACK {
                effect.moves_stack |= used.is_written();
                continue;
            }
            if used.is_read() {
                effect.reads |= 1 << n;
            }
            if used.is_written() {
                if used.is_overwritten() {
                    effect.writes |= 1 << n;
                } else {
                    effect.may_write |= 1 << n;
                }
            }
        }
        if i.reads_flags {
            effect.reads |= 1 << FLAGS;
        }
        if i.flags != FlagsWritten::None {
            // Which of them does not matter: compilers compare anew.
            effect.writes |= 1 << FLAGS;
        }
        effect.loads = i.loads();
        // Saving a register is no use of it, and no argument outlives a push.
        effect.stores = i.stores() && i.op != Op::Push;
        effect
    }
}
