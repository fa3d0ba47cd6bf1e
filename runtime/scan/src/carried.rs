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
//! function be refused. From there a data flow over registers, flags and words
//! of the frame finds out what is stored, passed, used as an address or
//! branched upon:
//!
//! * an index may be anything; a counter only part of an address that has the
//!   chunk's first one in it as well; both may end the loop;
//! * a sum may be added to memory by an atomic instruction after the loop;
//! * what an iteration computed may be stored after the loop (`lastprivate`);
//! * nothing else is added to memory, and no function called, once a thread.
//!
//! Memory outside of the frame is taken to be shared: what one iteration
//! stores there, no other one reads without a race.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use crate::entry::{self, Entry};
use crate::findings::Frame;
use crate::graph::{Graph, Next};
use crate::operand::Memory;
use crate::state::{ARGUMENTS, CALLER_SAVED};
use crate::step::{is_read, is_write, Step};
use crate::value::Place;
use crate::Callee;

/// Number of a register, of the flags, or of a word of the frame.
type Location = usize;

const FLAGS: Location = 16;
const VECTORS: Location = 17;
const MASKS: Location = 49;
/// x87 and MMX registers.
const FLOATS: Location = 50;
/// What lies in the frame and is reached through pointers.
const POINTED: Location = 51;
const WORDS: Location = 52;

/// More words of the frame than this are not told apart.
const MOST_WORDS: usize = 2000;
/// More marks than this are not kept.
const MOST_MARKS: usize = 4_000_000;

/// What a value has to do with the division, as a set.
type Mark = u8;
/// Computed from the split: bounds of the chunk.
const BOUND: Mark = 1;
/// An index that grows by one.
const INDEX: Mark = 2;
/// An index that grows by another constant: an address, for instance.
const STRIDE: Mark = 4;
const COUNTER: Mark = 8;
const SUM: Mark = 16;
/// What the last iteration of a chunk left.
const LAST: Mark = 32;
/// Not known to be zero.
const SOME: Mark = 64;
/// Not (only) loaded from a place that an index or a bound names.
const OWN: Mark = 128;

/// Which locations an instruction reads and writes.
#[derive(Clone, Debug, Default)]
struct Effect {
    reads: Vec<Location>,
    address: Vec<Location>,
    /// Overwrites whole.
    kills: Vec<Location>,
    /// Overwrites in part, or perhaps.
    may: Vec<Location>,
    /// Marks that the result has beside those of what is read.
    fresh: Mark,
    loads_outside: bool,
    stores_outside: bool,
    atomic: bool,
    /// The result is zero.
    clears: bool,
    /// The result is what was loaded from outside of the frame.
    fetches: bool,
    /// A `lock cmpxchg`.
    exchanges: bool,
    /// `p = q + constant`.
    moves: Option<(Location, Location, By)>,
}

/// By what an index grows: a constant, and at most one other number that the
/// loop does not change.
type By = (i64, Option<Added>);

/// A number that is added, or subtracted where `negative`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Added {
    from: From,
    negative: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Location(Location),
    /// A constant of the program, at this address.
    Constant(u64),
}

/// How something lives from one iteration to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The same step each time.
    Steps(By),
    /// Whatever writes it writes zero.
    Cleared,
    /// Loaded from memory in each iteration.
    Fetched,
    /// What something with a step held, or something a constant apart from that.
    Follows,
    Other,
}

/// In place of the location that a sum begins with: it is zero, ...
const ZERO: Location = Location::MAX;
/// ... or what the location itself held, or zero.
const KEPT_OR_ZERO: Location = Location::MAX - 1;
/// ... or what was loaded from memory.
const FETCHED: Location = Location::MAX - 2;

struct Function<'a> {
    graph: &'a Graph,
    frame: &'a Frame,
    at: Vec<u64>,
    effects: Vec<Effect>,
    successors: Vec<Vec<usize>>,
    predecessors: Vec<Vec<usize>>,
    words: BTreeMap<(u8, i64), Location>,
    locations: usize,
    inner: bool,
}

/// A static loop.
struct Level {
    header: usize,
    nodes: BTreeSet<usize>,
    /// What lives from one iteration to the next.
    carried: BTreeMap<Location, Kind>,
    written: BTreeSet<Location>,
}

/// What a followed function has to do with its caller's registers, of those
/// that calls may change.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    /// It reads them before it writes them.
    takes: Vec<Location>,
    /// It writes them.
    changes: Vec<Location>,
}

impl Interface {
    fn any() -> Interface {
        Interface {
            takes: caller_saved().collect(),
            changes: caller_saved().collect(),
        }
    }

    pub(crate) fn of(
        graph: &Graph,
        frame: &Frame,
        known: &BTreeMap<u64, Interface>,
        factory: &mut InstructionInfoFactory,
    ) -> Interface {
        let function = Function::read(graph, frame, known, false, factory);
        let Some((function, first)) = function.and_then(|f| f.entry().map(|first| (f, first)))
        else {
            return Interface::any();
        };
        let live = function.live();
        let written: BTreeSet<Location> = function
            .effects
            .iter()
            .flat_map(|effect| effect.kills.iter().chain(&effect.may))
            .copied()
            .collect();
        Interface {
            takes: caller_saved().filter(|l| live[first].contains(l)).collect(),
            changes: caller_saved().filter(|l| written.contains(l)).collect(),
        }
    }
}

fn caller_saved() -> impl Iterator<Item = Location> {
    CALLER_SAVED.into_iter().chain(FLAGS..POINTED)
}

/// Whether the function's results are the same however its loops are divided;
/// otherwise an instruction that shows why not.
pub(crate) fn check(
    graph: &Graph,
    frame: &Frame,
    splits: &BTreeSet<u64>,
    known: &BTreeMap<u64, Interface>,
    inner: bool,
    factory: &mut InstructionInfoFactory,
) -> Result<(), u64> {
    let first = graph.nodes.keys().next().copied().unwrap_or(0);
    let function = Function::read(graph, frame, known, inner, factory).ok_or(first)?;
    let splits: BTreeSet<usize> = splits
        .iter()
        .filter_map(|at| function.at.binary_search(at).ok())
        .collect();
    let bounds = function.flow(&splits, &[])?;
    let live = function.live();
    let mut levels = Vec::new();
    let all: BTreeSet<usize> = (0..function.at.len()).collect();
    function.levels(&all, &splits, &bounds, &live, &mut levels, 0)?;
    if levels.is_empty() && !splits.is_empty() {
        return Err(first);
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
        factory: &mut InstructionInfoFactory,
    ) -> Option<Function<'a>> {
        let at: Vec<u64> = graph.nodes.keys().copied().collect();
        let mut function = Function {
            graph,
            frame,
            effects: Vec::new(),
            successors: Vec::new(),
            predecessors: vec![Vec::new(); at.len()],
            words: BTreeMap::new(),
            locations: WORDS,
            inner,
            at,
        };
        let targets: BTreeSet<(Register, Register, u64)> = graph
            .nodes
            .values()
            .filter(|node| is_exchange(&node.instruction))
            .map(|node| operand(&node.instruction))
            .collect();
        for index in 0..function.at.len() {
            let address = function.at[index];
            let node = &graph.nodes[&address];
            let effect = match &node.next {
                Next::Call { callee, .. } | Next::TailCall(callee) => function.call(callee, known),
                _ => function.plain(&node.instruction, &targets, factory),
            };
            function.effects.push(effect);
            let next: Vec<usize> = graph
                .successors(address)
                .iter()
                .filter_map(|to| function.at.binary_search(to).ok())
                .collect();
            for &to in &next {
                function.predecessors[to].push(index);
            }
            function.successors.push(next);
        }
        let size = function.at.len() * function.locations;
        (function.words.len() <= MOST_WORDS && size <= MOST_MARKS).then_some(function)
    }

    fn words_of(&mut self, place: Place, size: i64) -> Vec<Location> {
        if self.frame.is_exposed(place) || self.frame.is_indexed(place) {
            return vec![POINTED];
        }
        let first = place.offset.div_euclid(4);
        let last = (place.offset + size.clamp(1, 64) - 1).div_euclid(4);
        (first..=last)
            .map(|word| {
                let next = self.locations;
                let location = *self.words.entry((place.base, word)).or_insert(next);
                if location == next {
                    self.locations += 1;
                }
                location
            })
            .collect()
    }

    fn call(&mut self, callee: &Callee, known: &BTreeMap<u64, Interface>) -> Effect {
        let mut effect = Effect {
            fresh: SOME | OWN,
            ..Effect::default()
        };
        let mut sees_frame = self.frame.exposed.is_some();
        match callee {
            Callee::Runtime(entry) => {
                effect.reads.extend(&ARGUMENTS[..entry.arguments()]);
                effect.kills.extend(caller_saved());
                if *entry == Entry::ThreadNumber {
                    effect.fresh |= BOUND;
                }
                sees_frame &= *entry == Entry::CopyPrivate;
            }
            Callee::Named(name) => {
                effect.reads.extend(&ARGUMENTS[..entry::integers(name)]);
                effect.reads.extend(VECTORS..VECTORS + entry::vectors(name));
                effect.kills.extend(caller_saved());
                sees_frame &= !entry::takes_no_integers(name) && !entry::never_returns(name);
            }
            Callee::Inside(target) => {
                let any = Interface::any();
                let interface = known.get(target).unwrap_or(&any);
                effect.reads.extend(&interface.takes);
                effect.may.extend(&interface.changes);
            }
            Callee::Unknown => {
                effect.reads.extend(ARGUMENTS);
                effect.reads.extend(VECTORS..VECTORS + 8);
                effect.kills.extend(caller_saved());
            }
        }
        if sees_frame {
            effect.reads.push(POINTED);
            effect.may.push(POINTED);
        }
        effect
    }

    fn plain(
        &mut self,
        i: &Instruction,
        targets: &BTreeSet<(Register, Register, u64)>,
        factory: &mut InstructionInfoFactory,
    ) -> Effect {
        let mut effect = Effect::default();
        let info = factory.info(i);
        let clears = is_clearing(i);
        let explicit = (0..i.op_count()).any(|o| i.op_kind(o) == OpKind::Memory);
        let address = [i.memory_base(), i.memory_index()];
        if explicit {
            effect
                .address
                .extend(address.iter().filter_map(|&r| location(r)));
        }
        let is_operand = |register: Register| {
            (0..i.op_count()).any(|o| {
                i.op_kind(o) == OpKind::Register
                    && i.op_register(o).full_register() == register.full_register()
            })
        };
        for used in info.used_registers() {
            let register = used.register();
            let Some(l) = location(register) else {
                continue;
            };
            let only_address = explicit
                && address
                    .iter()
                    .any(|r| r.full_register() == register.full_register())
                && !is_operand(register)
                && i.mnemonic() != Mnemonic::Lea;
            if is_read(used.access()) && !only_address && !clears {
                effect.reads.push(l);
            }
            if is_write(used.access()) {
                let whole = used.access() == OpAccess::Write
                    && (!register.is_gpr() || register.size() >= 4);
                if whole || clears {
                    effect.kills.push(l);
                } else {
                    effect.may.push(l);
                }
            }
        }
        if i.rflags_read() != 0 {
            effect.reads.push(FLAGS);
        }
        if i.rflags_modified() != 0 {
            effect.kills.push(FLAGS);
        }
        let (mut loads, mut stores) = (false, false);
        for used in info.used_memory() {
            loads |= is_read(used.access());
            stores |= is_write(used.access());
        }
        let size = info
            .used_memory()
            .iter()
            .map(|used| used.memory_size().size() as i64)
            .max()
            .unwrap_or(8);
        if i.mnemonic() == Mnemonic::Lea {
            effect.address.clear();
        } else if loads || stores {
            match self.frame.touched.get(&i.ip()) {
                Some(&Memory::Slot(place)) => {
                    let words = self.words_of(place, size);
                    if loads {
                        effect.reads.extend(&words);
                    }
                    if stores {
                        let whole =
                            !loads && words != [POINTED] && place.offset % 4 == 0 && size >= 4;
                        let to = if whole {
                            &mut effect.kills
                        } else {
                            &mut effect.may
                        };
                        to.extend(&words);
                    }
                }
                Some(Memory::SomeSlot) => {
                    if loads {
                        effect.reads.push(POINTED);
                    }
                    if stores {
                        effect.may.push(POINTED);
                    }
                }
                _ => {
                    effect.loads_outside = loads && !targets.contains(&operand(i));
                    // A pointer into the frame may have come back from there.
                    if loads && self.frame.exposed.is_some() {
                        effect.reads.push(POINTED);
                    }
                    if stores && self.frame.exposed.is_some() {
                        effect.may.push(POINTED);
                    }
                    effect.stores_outside = stores;
                    effect.atomic =
                        stores && (i.has_lock_prefix() || i.mnemonic() == Mnemonic::Xchg);
                }
            }
        }
        use iced_x86::CpuidFeature as C;
        if i.cpuid_features()
            .iter()
            .any(|f| matches!(f, C::FPU | C::FPU287 | C::FPU387 | C::MMX))
        {
            effect.reads.push(FLOATS);
            effect.may.push(FLOATS);
        }
        let number = (1..i.op_count()).find_map(|o| Step::constant(i, o));
        if number.is_some_and(|n| n != 0) && !i.op0_register().is_vector_register() && !clears {
            effect.fresh |= SOME | OWN;
        }
        if clears || number == Some(0) {
            effect.fresh |= OWN;
        }
        effect.exchanges = is_exchange(i);
        effect.clears = clears;
        effect.fetches = effect.loads_outside
            && !stores
            && effect.may.is_empty()
            && matches!(
                i.mnemonic(),
                Mnemonic::Mov | Mnemonic::Movsxd | Mnemonic::Movsd | Mnemonic::Movss
            );
        effect.moves = self.moves(i, &effect);
        effect
    }

    /// The instruction as `p = q + step`.
    fn moves(&self, i: &Instruction, effect: &Effect) -> Option<(Location, Location, By)> {
        use Mnemonic as M;
        let word = |effect: &[Location]| effect.iter().copied().find(|&l| l >= WORDS);
        let target = match i.op0_kind() {
            OpKind::Register if i.op0_register().size() >= 4 => location(i.op0_register())?,
            OpKind::Memory => word(&effect.kills).or_else(|| word(&effect.may))?,
            _ => return None,
        };
        let source = |operand: u32| match i.op_kind(operand) {
            OpKind::Register => location(i.op_register(operand)),
            OpKind::Memory => word(&effect.reads),
            _ => None,
        };
        let constant = Step::constant(i, 1);
        let added = |operand: u32, negative: bool| {
            let from = if i.op_kind(operand) == OpKind::Memory && i.is_ip_rel_memory_operand() {
                From::Constant(i.ip_rel_memory_address())
            } else {
                From::Location(source(operand)?)
            };
            Some(Added { from, negative })
        };
        Some(match i.mnemonic() {
            M::Mov
            | M::Movsxd
            | M::Movdqa
            | M::Movdqu
            | M::Movaps
            | M::Movapd
            | M::Movups
            | M::Vmovdqa
            | M::Vmovdqu
            | M::Vmovaps
            | M::Vmovapd
            | M::Vmovups
            | M::Vmovdqa64
            | M::Movq
            | M::Vmovq => (target, source(1)?, (0, None)),
            M::Movsd | M::Movss | M::Vmovsd | M::Vmovss
                if i.op_count() == 2
                    && (i.op0_kind() == OpKind::Memory || i.op1_kind() == OpKind::Memory) =>
            {
                (target, source(1)?, (0, None))
            }
            M::Inc => (target, target, (1, None)),
            M::Dec => (target, target, (-1, None)),
            M::Add | M::Sub => {
                let negative = i.mnemonic() == M::Sub;
                match constant {
                    Some(c) if negative => (target, target, (c.wrapping_neg(), None)),
                    Some(c) => (target, target, (c, None)),
                    None => (target, target, (0, Some(added(1, negative)?))),
                }
            }
            M::Paddd | M::Paddq | M::Paddw | M::Paddb => {
                (target, target, (0, Some(added(1, false)?)))
            }
            M::Vpaddd | M::Vpaddq | M::Vpaddw | M::Vpaddb => {
                (target, source(1)?, (0, Some(added(2, false)?)))
            }
            M::Lea if i.memory_index() == Register::None => (
                target,
                location(i.memory_base())?,
                (i.memory_displacement64() as i64, None),
            ),
            _ => return None,
        })
    }

    /// What is still needed at each instruction.
    fn live(&self) -> Vec<BTreeSet<Location>> {
        let mut live = vec![BTreeSet::new(); self.at.len()];
        let mut open: BTreeSet<usize> = (0..self.at.len()).collect();
        while let Some(index) = open.pop_last() {
            let effect = &self.effects[index];
            let mut now: BTreeSet<Location> = self.successors[index]
                .iter()
                .flat_map(|&to| live[to].iter().copied())
                .collect();
            for l in &effect.kills {
                now.remove(l);
            }
            now.extend(effect.reads.iter().chain(&effect.address));
            if self.inner && matches!(self.next(index), Next::Return) {
                now.extend([0, 2, VECTORS, VECTORS + 1]);
            }
            if now != live[index] {
                live[index] = now;
                open.extend(&self.predecessors[index]);
            }
        }
        live
    }

    fn next(&self, index: usize) -> &Next {
        &self.graph.nodes[&self.at[index]].next
    }

    /// The marks of all locations before each instruction, as far as it can be
    /// reached.
    fn flow(
        &self,
        splits: &BTreeSet<usize>,
        levels: &[Level],
    ) -> Result<Vec<Option<Vec<Mark>>>, u64> {
        let mut states: Vec<Option<Vec<Mark>>> = vec![None; self.at.len()];
        let Some(first) = self.entry() else {
            return Ok(states);
        };
        let mut level_of: BTreeMap<usize, usize> = BTreeMap::new();
        for (n, level) in levels.iter().enumerate() {
            level_of.extend(level.nodes.iter().map(|&node| (node, n)));
        }
        states[first] = Some(vec![SOME | OWN; self.locations]);
        let mut open = BTreeSet::from([first]);
        while let Some(index) = open.pop_first() {
            let Some(mut state) = states[index].clone() else {
                continue;
            };
            let here = level_of.get(&index).copied();
            self.transfer(index, &mut state, splits, here.is_some());
            for &to in &self.successors[index] {
                let there = level_of.get(&to).copied();
                let sent = match (here, there) {
                    (a, b) if a == b => match b.map(|b| &levels[b]) {
                        // Once around: what is carried is what it was.
                        Some(level) if level.header == to => {
                            let mut sent = state.clone();
                            for &l in level.carried.keys() {
                                sent[l] = 0;
                            }
                            sent
                        }
                        _ => state.clone(),
                    },
                    (a, b) => {
                        let mut sent = state.clone();
                        if let Some(a) = a {
                            for &l in &levels[a].written {
                                if sent[l] & (INDEX | STRIDE | COUNTER | SUM) == 0 {
                                    sent[l] |= LAST;
                                }
                            }
                        }
                        if let Some(b) = b {
                            self.enter(&levels[b], &mut sent)?;
                        }
                        sent
                    }
                };
                let changed = match &mut states[to] {
                    None => {
                        states[to] = Some(sent);
                        true
                    }
                    Some(old) => {
                        let mut changed = false;
                        for (old, new) in old.iter_mut().zip(sent) {
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
        Ok(states)
    }

    fn entry(&self) -> Option<usize> {
        self.at.binary_search(&self.graph.entry).ok()
    }

    /// What is carried becomes an index, a counter, or a sum.
    fn enter(&self, level: &Level, state: &mut [Mark]) -> Result<(), u64> {
        for (&l, kind) in &level.carried {
            let before = state[l];
            let chunk = before & (BOUND | INDEX | STRIDE) != 0;
            state[l] = match kind {
                Kind::Cleared if before & !OWN == 0 => OWN,
                // Fetched in the iteration before, and before the first one.
                Kind::Fetched if before == SOME => SOME,
                Kind::Follows if chunk && before & (SUM | COUNTER | LAST) == 0 => STRIDE | OWN,
                Kind::Steps(step) if before & (SUM | COUNTER | LAST) == 0 => {
                    if !chunk {
                        COUNTER | OWN
                    } else if matches!(step, (1 | -1, None)) {
                        INDEX | OWN
                    } else {
                        STRIDE | OWN
                    }
                }
                _ if before & !(SUM | INDEX | OWN) == 0 && l != POINTED => SUM | OWN,
                _ => return Err(self.at[level.header]),
            };
        }
        Ok(())
    }

    fn transfer(&self, index: usize, state: &mut [Mark], splits: &BTreeSet<usize>, in_level: bool) {
        let effect = &self.effects[index];
        let mut mark = effect.fresh;
        for &l in &effect.reads {
            mark |= state[l];
        }
        if effect.loads_outside {
            let address = effect.address.iter().fold(0, |m, &l| m | state[l]);
            mark |= SOME;
            if address & (BOUND | INDEX | STRIDE) == 0 {
                mark |= OWN;
            }
        }
        if splits.contains(&index) {
            mark |= BOUND;
        }
        if mark & SUM != 0 && mark & SOME != 0 {
            if in_level {
                mark &= !SOME;
            } else {
                mark |= LAST;
            }
        }
        for &l in &effect.kills {
            state[l] = mark;
        }
        for &l in &effect.may {
            state[l] |= mark;
        }
        if effect.exchanges {
            // Whether somebody came in between says nothing about the value.
            state[FLAGS] = 0;
            state[0] = 0;
        }
    }

    /// Finds the outermost loops among `nodes` that end at a bound of a chunk.
    fn levels(
        &self,
        nodes: &BTreeSet<usize>,
        splits: &BTreeSet<usize>,
        bounds: &[Option<Vec<Mark>>],
        live: &[BTreeSet<Location>],
        found: &mut Vec<Level>,
        depth: u32,
    ) -> Result<(), u64> {
        for cycle in cycles(nodes, &self.successors, &self.predecessors) {
            let at = cycle.first().map_or(0, |&n| self.at[n]);
            if depth > 24 {
                return Err(at);
            }
            let inner: BTreeSet<usize> = cycle.difference(splits).copied().collect();
            if inner.len() < cycle.len() {
                self.levels(&inner, splits, bounds, live, found, depth + 1)?;
                continue;
            }
            let marked = |node: usize, l: Location| {
                bounds[node]
                    .as_ref()
                    .is_some_and(|state| state[l] & BOUND != 0)
            };
            let uses = cycle.iter().any(|&node| {
                let effect = &self.effects[node];
                effect
                    .reads
                    .iter()
                    .chain(&effect.address)
                    .any(|&l| marked(node, l))
            });
            if !uses {
                continue;
            }
            let headers: Vec<usize> = cycle
                .iter()
                .copied()
                .filter(|&n| self.predecessors[n].iter().any(|p| !cycle.contains(p)))
                .collect();
            let [header] = headers[..] else {
                return Err(at);
            };
            let ends_at_bound = cycle.iter().any(|&node| {
                matches!(self.next(node), Next::Branch(_))
                    && self.successors[node].iter().any(|to| !cycle.contains(to))
                    && self.effects[node].reads.iter().any(|&l| marked(node, l))
            });
            if !ends_at_bound {
                let inner: BTreeSet<usize> =
                    cycle.iter().copied().filter(|&n| n != header).collect();
                self.levels(&inner, splits, bounds, live, found, depth + 1)?;
                continue;
            }
            let written: BTreeSet<Location> = cycle
                .iter()
                .flat_map(|&n| self.effects[n].kills.iter().chain(&self.effects[n].may))
                .copied()
                .collect();
            let steps = self.steps(header, &cycle, &written);
            let carried = live[header]
                .intersection(&written)
                .filter(|&&l| l != FLAGS)
                .map(|&l| (l, steps.get(&l).copied().unwrap_or(Kind::Other)))
                .filter(|(_, kind)| *kind != Kind::Steps((0, None)))
                .collect();
            found.push(Level {
                header,
                nodes: cycle,
                carried,
                written,
            });
        }
        Ok(())
    }

    /// Which locations hold, each time that the loop comes to its header again,
    /// what they held before plus the same step.
    fn steps(
        &self,
        header: usize,
        cycle: &BTreeSet<usize>,
        written: &BTreeSet<Location>,
    ) -> BTreeMap<Location, Kind> {
        type Sums = BTreeMap<Location, (Location, By)>;
        let start: Sums = written.iter().map(|&l| (l, (l, (0, None)))).collect();
        let mut states: BTreeMap<usize, Sums> = BTreeMap::from([(header, start)]);
        let mut back: Option<Sums> = None;
        let mut open = BTreeSet::from([header]);
        let meet = |old: &mut Sums, new: &Sums| {
            let before = old.clone();
            old.retain(|&l, sum| {
                let Some(other) = new.get(&l) else {
                    return false;
                };
                // What it was, or zero.
                let known = |&(origin, by): &(Location, By)| {
                    by == (0, None) && [l, ZERO, KEPT_OR_ZERO].contains(&origin)
                };
                if sum != other && known(sum) && known(other) {
                    *sum = (KEPT_OR_ZERO, (0, None));
                    return true;
                }
                sum == other
            });
            *old != before
        };
        while let Some(index) = open.pop_first() {
            let Some(mut sums) = states.get(&index).cloned() else {
                continue;
            };
            let effect = &self.effects[index];
            let value = effect.moves.and_then(|(to, from, (by, plain))| {
                let held = |l: Location| match sums.get(&l) {
                    Some(&sum) => Some(sum),
                    None if !written.contains(&l) => Some((l, (0, None))),
                    None => None,
                };
                let (origin, (sum, before)) = held(from)?;
                let plain = match (before, plain) {
                    (before, None) => before,
                    (None, Some(added)) => {
                        // It must be the same each time.
                        let from = match added.from {
                            From::Location(l) => match held(l)? {
                                (origin, (0, None)) if origin < FETCHED => From::Location(origin),
                                _ => return None,
                            },
                            constant => constant,
                        };
                        Some(Added { from, ..added })
                    }
                    (Some(_), Some(_)) => return None,
                };
                Some((to, (origin, (sum.checked_add(by)?, plain))))
            });
            for l in effect.kills.iter().chain(&effect.may) {
                sums.remove(l);
            }
            if effect.fetches {
                sums.extend(effect.kills.iter().map(|&l| (l, (FETCHED, (0, None)))));
            }
            if effect.clears {
                sums.extend(effect.kills.iter().map(|&l| (l, (ZERO, (0, None)))));
            }
            if let Some((to, value)) = value {
                // All words of a wide slot move together; the first stands for them.
                for &l in effect.kills.iter().chain(&effect.may) {
                    if l == to || (to >= WORDS && l >= WORDS) {
                        sums.insert(l, value);
                    }
                }
            }
            for &to in self.successors[index]
                .iter()
                .filter(|to| cycle.contains(to))
            {
                if to == header {
                    match &mut back {
                        None => back = Some(sums.clone()),
                        Some(old) => {
                            meet(old, &sums);
                        }
                    }
                    continue;
                }
                match states.get_mut(&to) {
                    None => {
                        states.insert(to, sums.clone());
                        open.insert(to);
                    }
                    Some(old) => {
                        if meet(old, &sums) {
                            open.insert(to);
                        }
                    }
                }
            }
        }
        // The last round of what came back is the settled one only if nothing
        // was met after it; `meet` only takes away, so what is left holds.
        let back = back.unwrap_or_default();
        let came_from = |l: Location| back.get(&l).map(|&(origin, _)| origin);
        // A number that is added must come back unchanged.
        let constant = |by: By| match by.1.map(|added| added.from) {
            Some(From::Location(l)) => {
                !written.contains(&l) || back.get(&l) == Some(&(l, (0, None)))
            }
            _ => true,
        };
        back.iter()
            .map(|(&l, &sum)| (l, sum))
            .filter_map(|(l, (origin, by))| match origin {
                ZERO | KEPT_OR_ZERO => Some((l, Kind::Cleared)),
                FETCHED => Some((l, Kind::Fetched)),
                _ if l == origin || self.same_slot(l, origin) => {
                    constant(by).then_some((l, Kind::Steps(by)))
                }
                _ if by == (0, None) && came_from(origin) == Some(FETCHED) => {
                    Some((l, Kind::Fetched))
                }
                _ if came_from(origin) == Some(origin) && constant(by) => Some((l, Kind::Follows)),
                _ => None,
            })
            .collect()
    }

    /// Two words of one slot, whose first stands for both.
    fn same_slot(&self, a: Location, b: Location) -> bool {
        a >= WORDS && b >= WORDS && a == b + 1
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

    fn judge(
        &self,
        marks: &[Option<Vec<Mark>>],
        splits: &BTreeSet<usize>,
        levels: &[Level],
    ) -> Result<(), u64> {
        let before = self.before_levels(splits, levels);
        for (index, state) in marks.iter().enumerate() {
            let Some(state) = state else {
                continue;
            };
            let level = levels.iter().find(|level| level.nodes.contains(&index));
            let all = |locations: &[Location]| locations.iter().fold(0, |m, &l| m | state[l]);
            let effect = &self.effects[index];
            let data = all(&effect.reads);
            let address = all(&effect.address);
            let based = address & (BOUND | INDEX | STRIDE) != 0;
            let mut fine = address & (SUM | LAST) == 0 && (address & COUNTER == 0 || based);
            match self.next(index) {
                Next::Call { callee, .. } | Next::TailCall(callee) => {
                    fine &= data & (SUM | LAST | COUNTER) == 0;
                    // What the compiler made of a loop that copies or clears.
                    fine &= if level.is_none() && copies(callee) {
                        data & (BOUND | INDEX | STRIDE) == 0 || !before.contains(&index)
                    } else {
                        data & BOUND == 0 && (level.is_some() || may_be_done_by_each(callee))
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
                    let left = all(&[0, 2, VECTORS, VECTORS + 1]);
                    fine &= left & (SUM | LAST | BOUND | COUNTER) == 0;
                }
                _ if effect.stores_outside => {
                    fine &= !based || level.is_some() || !before.contains(&index);
                    fine &= match (level.is_some(), effect.atomic) {
                        (true, _) => data & !(INDEX | SOME | OWN) == 0,
                        (false, true) => {
                            data & SUM != 0 && data & (BOUND | STRIDE | COUNTER | LAST) == 0
                        }
                        (false, false) => data & (SUM | BOUND | STRIDE | COUNTER) == 0,
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
        ),
        Callee::Named(name) => entry::takes_no_integers(name) || entry::never_returns(name),
        Callee::Inside(_) | Callee::Unknown => false,
    }
}

fn copies(callee: &Callee) -> bool {
    matches!(callee, Callee::Named(name) if ["memcpy", "memmove", "memset"]
        .contains(&name.split('@').next().unwrap_or(name)))
}

fn location(register: Register) -> Option<Location> {
    if register.is_gpr() {
        let n = register.full_register().number();
        (n != 4).then_some(n)
    } else if register.is_vector_register() {
        Some(VECTORS + register.number().min(31))
    } else if register.is_k() {
        Some(MASKS)
    } else if register.is_st() || register.is_mm() {
        Some(FLOATS)
    } else {
        None
    }
}

fn operand(i: &Instruction) -> (Register, Register, u64) {
    (i.memory_base(), i.memory_index(), i.memory_displacement64())
}

fn is_exchange(i: &Instruction) -> bool {
    i.mnemonic() == Mnemonic::Cmpxchg && i.has_lock_prefix()
}

/// Whether the result is zero whatever the registers held.
fn is_clearing(i: &Instruction) -> bool {
    use Mnemonic as M;
    let register = |o: u32| (i.op_kind(o) == OpKind::Register).then(|| i.op_register(o));
    let same = match i.op_count() {
        2 => register(0).is_some() && register(0) == register(1),
        3 => register(1).is_some() && register(1) == register(2),
        _ => false,
    };
    same && matches!(
        i.mnemonic(),
        M::Xor
            | M::Sub
            | M::Pxor
            | M::Xorps
            | M::Xorpd
            | M::Vpxor
            | M::Vxorps
            | M::Vxorpd
            | M::Vpxord
            | M::Vpxorq
    )
}

/// The maximal sets of nodes in which each can reach each other.
fn cycles(
    nodes: &BTreeSet<usize>,
    successors: &[Vec<usize>],
    predecessors: &[Vec<usize>],
) -> Vec<BTreeSet<usize>> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    for &root in nodes {
        if !seen.insert(root) {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.pop() {
            match successors[node].get(next) {
                Some(to) => {
                    stack.push((node, next + 1));
                    if nodes.contains(to) && seen.insert(*to) {
                        stack.push((*to, 0));
                    }
                }
                None => order.push(node),
            }
        }
    }
    let mut taken = BTreeSet::new();
    let mut found = Vec::new();
    for &root in order.iter().rev() {
        if !taken.insert(root) {
            continue;
        }
        let mut all = BTreeSet::from([root]);
        let mut open = vec![root];
        while let Some(node) = open.pop() {
            for &from in &predecessors[node] {
                if nodes.contains(&from) && taken.insert(from) {
                    all.insert(from);
                    open.push(from);
                }
            }
        }
        if all.len() > 1 || successors[root].contains(&root) {
            found.push(all);
        }
    }
    found
}
