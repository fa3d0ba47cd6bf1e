//! Loops that wait for another thread by looking at memory.
//!
//! `while (!flag) flush;` makes no call that anybody could see. In machine code
//! such a loop has a property that no computing loop has: nothing in it is
//! carried from one round to the next. Every register that it reads was written
//! in the same round or never, and it stores nothing. So each round does what
//! the last one did, unless memory has changed meanwhile, and only another
//! thread can have changed it.
//!
//! Not found are loops that also count their rounds, call something, or store
//! (locks made of compare-and-exchange).

use crate::code::{Access, Instruction, Register, REGISTERS, STACK};
use crate::graph::Graph;
use crate::nodes::{Next, Node};

/// The longest round that is looked at, in instructions.
const LONGEST: usize = 32;
/// Steps that a function is worth. Most paths end after a few, at a store or a
/// call.
const MOST_STEPS: usize = 200_000;

/// Whether the code has a loop that does nothing but look at memory.
pub(crate) fn any(graph: &Graph) -> bool {
    let mut steps = MOST_STEPS;
    let mut parts = Parts::of(graph);
    // The first instruction of a loop is one that something jumps to.
    (0..graph.nodes.len()).any(|number| {
        let leads = graph.nodes.at(number).is_some_and(|node| node.leads);
        leads && parts.inside[number] && polls(&mut parts, number, &mut steps)
    })
}

/// Registers, as a set of whole ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Registers([u64; REGISTERS / 64]);

impl Registers {
    fn insert(&mut self, register: Register) {
        let n = usize::from(register.number);
        if let Some(word) = self.0.get_mut(n / 64) {
            *word |= 1 << (n % 64);
        }
    }

    fn with(self, other: Registers) -> Registers {
        Registers(std::array::from_fn(|n| self.0[n] | other.0[n]))
    }

    fn without(self, other: Registers) -> Registers {
        Registers(std::array::from_fn(|n| self.0[n] & !other.0[n]))
    }

    fn meets(self, other: Registers) -> bool {
        (0..self.0.len()).any(|n| self.0[n] & other.0[n] != 0)
    }
}

/// What one instruction of a round does.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    looks: bool,
    /// Registers that it writes, and those whose old values it needs. What is written under a condition only may keep
    /// its value.
    writes: Registers,
    reads: Registers,
}

impl Part {
    /// `None` where it does more than look.
    fn of(node: &Node) -> Option<Part> {
        if !goes_on(node) {
            return None;
        }
        let i = &node.instruction;
        let mut part = Part::default();
        if !is_fence(i) {
            if i.stores() {
                return None;
            }
            part.looks = i.loads();
        }
        for used in &i.used {
            if used.access != Access::Writes {
                part.reads.insert(used.register);
            }
            if used.is_written() {
                part.writes.insert(used.register);
            }
        }
        Some(part)
    }
}

/// What one way through a round has done so far.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    length: usize,
    /// It has read memory.
    looks: bool,
    /// Registers that were written, and those that had been read before that.
    written: Registers,
    read: Registers,
}

impl Round {
    /// Does the next instruction. False: the round does more than look.
    fn step(&mut self, part: &Part) -> bool {
        self.length += 1;
        self.looks |= part.looks;
        self.read = self.read.with(part.reads.without(self.written));
        // What is read before it is written is carried on to the next round.
        if part.writes.meets(self.read) {
            return false;
        }
        self.written = self.written.with(part.writes);
        self.length <= LONGEST
    }
}

/// The instructions of a function by their numbers.
struct Parts<'a> {
    graph: &'a Graph,
    /// The numbers of those that may come next.
    next: Vec<[Option<usize>; 2]>,
    /// Whether it may belong to a round: ways lead from it back to it on which nothing is called or stored.
    inside: Vec<bool>,
    /// What they do, of those that were looked at.
    known: Vec<Option<Option<Part>>>,
}

impl<'a> Parts<'a> {
    fn of(graph: &'a Graph) -> Parts<'a> {
        let nodes = graph.nodes.values();
        let mut parts = Parts {
            graph,
            next: nodes.map(|node| graph.nodes.successors(node)).collect(),
            inside: Vec::new(),
            known: vec![None; graph.nodes.len()],
        };
        parts.inside = (0..parts.known.len())
            .map(|number| parts.may_look(number))
            .collect();
        parts.leave_circles();
        parts
    }

    /// Whether an instruction may belong to a round.
    fn may_look(&self, number: usize) -> bool {
        self.graph.nodes.at(number).is_some_and(|node| {
            let i = &node.instruction;
            goes_on(node) && (!i.stores() || is_fence(i))
        })
    }

    /// Takes out of `inside` what nothing leads to, or what leads nowhere, until only circles and the ways between
    /// them are left.
    fn leave_circles(&mut self) {
        let count = self.next.len();
        let mut before = vec![Vec::new(); count];
        let mut ways = vec![(0usize, 0usize); count];
        for (number, next) in self.next.iter().enumerate() {
            for &to in next.iter().flatten() {
                if self.inside[number] && self.inside[to] {
                    before[to].push(number);
                    ways[number].1 += 1;
                    ways[to].0 += 1;
                }
            }
        }
        let ends = |&number: &usize| ways[number].0 == 0 || ways[number].1 == 0;
        let mut open: Vec<usize> = (0..count).filter(ends).collect();
        while let Some(number) = open.pop() {
            if !std::mem::replace(&mut self.inside[number], false) {
                continue;
            }
            for &to in self.next[number].iter().flatten() {
                if self.inside[to] {
                    ways[to].0 -= 1;
                    if ways[to].0 == 0 {
                        open.push(to);
                    }
                }
            }
            for &from in &before[number] {
                if self.inside[from] {
                    ways[from].1 -= 1;
                    if ways[from].1 == 0 {
                        open.push(from);
                    }
                }
            }
        }
    }

    fn part(&mut self, number: usize) -> Option<Part> {
        let known = self.known.get_mut(number)?;
        if known.is_none() {
            *known = Some(Part::of(self.graph.nodes.at(number)?));
        }
        (*known)?
    }
}

/// Whether some way from `first` leads back to it and only looks.
fn polls(parts: &mut Parts, first: usize, steps: &mut usize) -> bool {
    let mut open = vec![(first, Round::default())];
    while let Some((number, mut round)) = open.pop() {
        if number == first && round.length > 0 {
            if round.looks {
                return true;
            }
            continue;
        }
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        let part = parts.part(number);
        if part.is_some_and(|part| round.step(&part)) {
            let next = parts.next[number].into_iter().flatten();
            open.extend(next.filter(|&to| parts.inside[to]).map(|to| (to, round)));
        }
    }
    false
}

/// Whether what comes after an instruction is in the same function, with no call between.
fn goes_on(node: &Node) -> bool {
    matches!(node.next, Next::Fall | Next::Jump(_) | Next::Branch(_))
}

/// A locked instruction that adds nothing to the stack: compilers' cheapest full fence.
fn is_fence(i: &Instruction) -> bool {
    i.is_locked && i.address.is_some_and(|address| address.is_at(STACK))
}
