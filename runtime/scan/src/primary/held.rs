//! What registers and words of the frame hold along a block, and what an instruction does to them.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{FlagsWritten, Instruction, Op, Register, Roles, FRAME, STACK};
use crate::state::GENERAL;

/// Registers by bits: general ones, the flags, and vector registers.
const REGISTERS: usize = VECTOR + crate::state::VECTOR;
/// A set of them.
pub(crate) type Registers = u128;
pub(super) const FLAGS: usize = GENERAL;
pub(crate) const VECTOR: usize = FLAGS + 1;

/// What a function may return.
pub(super) fn results(roles: &Roles) -> Registers {
    set(&roles.results) | ((1 << roles.vector_results) - 1) << VECTOR
}

/// What a called function may change, apart from the flags.
pub(super) fn changed_by_calls(roles: &Roles) -> Registers {
    let vectors = (0..crate::state::VECTOR).filter(|n| !roles.kept_vectors.contains(n));
    vectors.fold(set(roles.caller_saved), |all, n| all | 1 << (VECTOR + n))
}

pub(super) fn set(registers: &[usize]) -> Registers {
    registers.iter().fold(0, |all, &n| all | 1 << n)
}

/// What holds the same when the block begins.
#[derive(Default)]
pub(super) struct Equal {
    /// Registers and words of the frame.
    pub(super) words: BTreeSet<(usize, Word)>,
    /// Pairs of registers, the lower number first.
    pub(super) twins: BTreeSet<(usize, usize)>,
}

/// A word of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word {
    pub(super) base: usize,
    pub(super) offset: i64,
    pub(super) size: i64,
}

impl Word {
    /// What a memory operand names, if it is one of the frame with no index.
    pub(super) fn of(i: &Instruction, has_frame_pointer: bool) -> Option<Word> {
        let address = i.address.filter(|address| address.index.is_none())?;
        Some(Word {
            base: frame_base(address.base, has_frame_pointer)?,
            offset: address.displacement,
            size: i.size,
        })
    }

    /// Words that lie at different registers may be the same ones.
    pub(super) fn meets(self, other: Word) -> bool {
        self.base != other.base
            || self.offset < other.offset.saturating_add(other.size)
                && other.offset < self.offset.saturating_add(self.size)
    }

    pub(super) fn covers(self, other: Word) -> bool {
        self.base == other.base
            && self.offset <= other.offset
            && self.offset.saturating_add(self.size) >= other.offset.saturating_add(other.size)
    }
}

pub(super) fn frame_base(register: Option<Register>, has_frame_pointer: bool) -> Option<usize> {
    match register?.general()? {
        _ if register?.size < 8 => None,
        FRAME if has_frame_pointer => Some(FRAME),
        n => (n == STACK).then_some(n),
    }
}

/// What a register or a word of the frame holds: what lay there or elsewhere when the block began, or something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
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
pub(super) struct Held {
    registers: [Source; REGISTERS],
    /// Words that were written.
    words: BTreeMap<Word, Source>,
    /// The lowest word whose address was made, by the register that it was made from: somebody may have written there.
    pub(super) from: Option<(usize, i64)>,
    /// The stack pointer was moved, and words lie at other distances from it.
    moved: bool,
}

impl Held {
    pub(super) fn new() -> Held {
        Held {
            registers: std::array::from_fn(Source::Register),
            words: BTreeMap::new(),
            from: None,
            moved: false,
        }
    }

    pub(super) fn join(&mut self, other: &Held) -> bool {
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

    pub(super) fn changed_registers(&self, equal: &Equal) -> Registers {
        let changed = |(n, source): (usize, &Source)| match *source {
            _ if n == STACK => false,
            Source::Register(r) => r != n && !equal.twins.contains(&(r.min(n), r.max(n))),
            Source::Word(word) => !equal.words.contains(&(n, word)),
            Source::Nothing => false,
            Source::Other => true,
        };
        let all = self.registers.iter().enumerate();
        all.filter(|&register| changed(register))
            .fold(0, |bits, (n, _)| bits | 1 << n)
    }

    pub(super) fn changed_words(&self, equal: &Equal) -> Vec<Word> {
        let changed = |(&word, source): (&Word, &Source)| match *source {
            Source::Word(same) if same == word => None,
            Source::Register(n) if equal.words.contains(&(n, word)) => None,
            _ => Some(word),
        };
        self.words.iter().filter_map(changed).collect()
    }

    pub(super) fn call(&mut self, roles: &Roles) {
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

    pub(super) fn execute(&mut self, i: &Instruction, has_frame_pointer: bool) {
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
pub(super) fn moved_register(i: &Instruction) -> Option<Option<usize>> {
    let mut registers = i.operands().iter().filter_map(|operand| operand.register());
    i.saves.then(|| registers.next().and_then(bit))
}

/// The bit of a register.
fn bit(register: Register) -> Option<usize> {
    let vector = || register.vector().map(|n| n + VECTOR);
    register.general().or_else(vector)
}

/// What an instruction reads and writes, one bit for each register.
#[derive(Default)]
pub(super) struct Effect {
    pub(super) reads: Registers,
    /// Overwrites whole.
    pub(super) writes: Registers,
    /// Overwrites in part, or perhaps.
    pub(super) may_write: Registers,
    pub(super) stores: bool,
    pub(super) loads: bool,
    /// It changes the stack pointer.
    pub(super) moves_stack: bool,
}

impl Effect {
    pub(super) fn of(i: &Instruction) -> Effect {
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
