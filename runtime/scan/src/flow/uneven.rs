//! What must be true for the parts of a function's static loops to be made uneven, written down while the function is
//! judged.
//!
//! The parts become uneven by other numbers in the place of `n / threads` and `n % threads` ([`crate::uneven`]).
//! Compiled code makes the bounds of a part from the two by sums and a product, so other numbers give other bounds.
//! Nothing else may be made from them. The number of threads stays what the program asked for, so that what it does
//! with the two numbers that the runtime answers does not matter, with an exception: a program that multiplies the
//! thread number by a number of its own computes places of equal parts, as in `out[thread * (n / threads) + k]`, which
//! a larger part would leave.

use std::collections::BTreeSet;

use super::Analysis;
use crate::code::{Instruction, Op};
use crate::graph::Graph;
use crate::state::{Flags, State};
use crate::value::{Order, Origin, Split, Value};
use crate::Why;

/// How a value depends on whether its split's comparison was made.
fn kind(value: Value) -> Option<(Split, Kind)> {
    use Value as V;
    Some(match value {
        V::Quotient(s) | V::QuotientPlus(s) | V::Product(s) | V::Shifted(s) => (s, Kind::Open),
        V::Remainder(s) | V::Tail(s) => (s, Kind::OpenRest),
        V::RemainderPick(s) | V::TailPick(s) => (s, Kind::Rest),
        V::ProductTail(s) | V::Less(s) => (s, Kind::Never),
        _ => return None,
    })
}

/// What a value of a split may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// For bounds only on a path on which the comparison was made: elsewhere it is the program's own quotient.
    Open,
    /// The same, and it may be negative.
    OpenRest,
    /// For bounds, and it may be negative.
    Rest,
    /// For nothing.
    Never,
}

impl Analysis<'_> {
    /// Writes down what `i`, which is about to be executed in this state, reads of splits.
    pub(super) fn note_reads(&mut self, graph: &Graph, i: &Instruction, state: &State) {
        let at = i.at;
        let compares = matches!(state.flags, Flags::IdRemainder { .. });
        if compares && i.reads_flags {
            // A conditional move instead of a branch.
            self.findings.uneven.forbid(at, Why::Branch);
        }
        let mut read = Vec::new();
        for used in i.used.iter().filter(|used| used.is_read()) {
            let register = used.register;
            if let Some(n) = register.general() {
                read.push((state.general[n], i64::from(register.size), Some(n)));
            } else if let Some(n) = register.vector() {
                read.push((state.vector[n], 4, None));
            }
        }
        if let Some(place) = frame_operand(i, state) {
            read.push((state.load(place, i.size), i.size.min(4), None));
        }
        if i.multiplies {
            // By a constant: a distance that no part's length has to do with.
            let constant = i.operands().iter().any(|o| o.constant().is_some());
            let stems = read
                .iter()
                .any(|(value, ..)| value.origin().has(Origin::ID));
            let bounds = read.iter().any(|&(value, ..)| {
                matches!(
                    value,
                    Value::Quotient(_) | Value::QuotientPick(_) | Value::QuotientPlus(_)
                )
            }) && read.iter().any(|&(value, ..)| value == Value::Id);
            if stems && !constant && !bounds {
                self.findings.uneven.forbid(at, Why::Address);
            }
        }
        let takes_part = matches!(i.op, Op::Copy | Op::Compare);
        for (value, size, register) in read {
            let Some((split, kind)) = kind(value) else {
                continue;
            };
            let decided = matches!(state.order, Order::Less(s) | Order::NotLess(s) if s == split);
            let in_window = takes_part && self.is_before_branch(graph, at, split);
            if kind == Kind::Never || kind != Kind::Rest && !decided && !in_window {
                self.findings.uneven.forbid(at, Why::Branch);
            }
            // What is negative in 32 bits must have been widened with its sign.
            let rest = matches!(kind, Kind::Rest | Kind::OpenRest);
            let whole = size == 8 && i.op != Op::Copy && writes_whole(i);
            if let (true, true, Some(n)) = (rest, whole, register) {
                if !self.is_whole(graph, at, split, n) {
                    self.findings.uneven.forbid(at, Why::Address);
                }
            }
        }
    }

    /// Writes down what a call gets of splits.
    pub(super) fn note_arguments(&mut self, at: u64, state: &State) {
        for &n in state.roles().arguments {
            let value = state.general[n];
            if kind(value).is_some_and(|(_, kind)| kind != Kind::Rest) {
                self.findings.uneven.forbid(at, Why::Argument);
            }
        }
    }

    /// Writes down what the branch `i` asks.
    pub(super) fn note_branch(&mut self, i: &Instruction, state: &State, taken: Order) {
        if let Flags::IdRemainder { split, .. } = state.flags {
            match taken {
                Order::Less(s) | Order::NotLess(s) if s == split => {
                    let less = matches!(taken, Order::Less(_));
                    self.findings.uneven.branches.insert(i.at, (split, less));
                }
                _ => self.findings.uneven.forbid(i.at, Why::Branch),
            }
        }
    }

    /// Writes down that `i` was a division by the number of threads, if it was.
    pub(super) fn note_division(&mut self, i: &Instruction, state: &State) {
        if i.op == Op::Divide {
            match state.general[crate::state::RAX] {
                Value::Quotient(split) if split == i.at => {
                    self.findings.uneven.divisions.insert(split);
                }
                // The same division made once more.
                Value::Quotient(_) => self.findings.uneven.forbid(i.at, Why::Branch),
                _ => {}
            }
        }
    }

    /// Whether the instruction lies in the straight code between the division and the first branch after it.
    fn is_before_branch(&self, graph: &Graph, at: u64, division: u64) -> bool {
        let Some(mut number) = graph.nodes.number(division) else {
            return false;
        };
        loop {
            let Some(node) = graph.nodes.at(number) else {
                return false;
            };
            if node.instruction.at == at {
                return true;
            }
            if node.next != crate::nodes::Next::Fall || node.instruction.at > at {
                return false;
            }
            number += 1;
        }
    }

    /// Whether all 64 bits of the register are the number, with its sign: of a division of 64 bits, or widened before.
    fn is_whole(&self, graph: &Graph, at: u64, division: u64, register: usize) -> bool {
        let wide = graph
            .nodes
            .get(&division)
            .is_some_and(|node| node.instruction.width() == 8);
        if wide {
            return true;
        }
        let mut before = vec![Vec::new(); graph.nodes.len()];
        for (number, node) in graph.nodes.values().enumerate() {
            for next in graph.nodes.successors(node).into_iter().flatten() {
                before[next].push(number);
            }
        }
        // Every path backwards comes to an instruction that leaves all 64 bits right.
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut seen = BTreeSet::new();
        let Some(number) = graph.nodes.number(at) else {
            return false;
        };
        let from = |number: usize, register: usize, open: &mut Vec<(usize, usize)>| {
            open.extend(before[number].iter().map(|&b| (b, register)));
            !before[number].is_empty()
        };
        if !from(number, register, &mut open) {
            return false;
        }
        while let Some((number, register)) = open.pop() {
            if !seen.insert((number, register)) {
                continue;
            }
            let Some(node) = graph.nodes.at(number) else {
                return false;
            };
            let i = &node.instruction;
            let called = matches!(node.next, crate::nodes::Next::Call { .. })
                && graph.machine.roles().caller_saved.contains(&register);
            let goes_on = match i.op {
                _ if called => false,
                _ if !i.writes(register) => from(number, register, &mut open),
                Op::Widen | Op::WidenResult => true,
                // Nothing.
                Op::Xor => i.same_register().is_some(),
                Op::Copy if i.width() == 8 => {
                    let source = i.operand(1).general();
                    source.is_some_and(|source| from(number, source, &mut open))
                }
                _ => false,
            };
            if !goes_on {
                return false;
            }
        }
        true
    }
}

/// Whether the 64 bits of what it reads matter: not for an address of which 32 bits are kept.
fn writes_whole(i: &Instruction) -> bool {
    !(i.op == Op::Address && i.width() < 8)
}

/// The place in the frame that an operand of `i` names, where it is known.
fn frame_operand(i: &Instruction, state: &State) -> Option<crate::value::Place> {
    let address = i.address.filter(|_| i.op != Op::Address)?;
    if address.index.is_some_and(|index| index.general().is_some()) {
        return None;
    }
    let base = state.general[address.base?.general()?];
    match base.add_constant(address.displacement) {
        Value::Frame(place) => Some(place),
        _ => None,
    }
}
