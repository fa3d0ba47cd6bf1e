//! What must hold for the parts of a function's static loops to be made uneven, written down while the function is
//! judged.
//!
//! The parts become uneven by other numbers in the place of `n / threads` and `n % threads` ([`crate::uneven`]).
//! Compiled code makes the bounds of a part from the two by sums and a product, so other numbers give other bounds.
//! Nothing else may be made from them. The number of threads stays what the program asked for, so that what it does
//! with the two numbers that the runtime answers does not matter, with an exception: a program that multiplies the
//! thread number by a number of its own computes places of equal parts, as in `out[thread * (n / threads) + k]`, which
//! a larger part would leave.

use std::collections::BTreeSet;

use iced_x86::{Instruction, Mnemonic, OpKind};

use super::Analysis;
use crate::graph::Graph;
use crate::state::{Flags, State, ARGUMENTS};
use crate::step::{general, is_read};
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
        let at = i.ip();
        let compares = matches!(state.flags, Flags::IdRemainder { .. });
        if compares && i.rflags_read() != 0 && !i.is_jcc_short_or_near() {
            // A conditional move instead of a branch.
            self.findings.uneven.forbid(at, Why::Branch);
        }
        let mut read = Vec::new();
        for used in self.factory.info(i).used_registers() {
            if !is_read(used.access()) {
                continue;
            }
            let register = used.register();
            if let Some(n) = general(register) {
                read.push((state.general[n], register.size(), Some(n)));
            } else if let Some(n) = crate::operand::vector(register) {
                read.push((state.vector[n], 4, None));
            }
        }
        if let Some(place) = frame_operand(i, state) {
            let size = i.memory_size().size();
            read.push((state.load(place, size as i64), size.min(4), None));
        }
        if multiplies(i) {
            // By a constant: a distance that no part's length has to do with.
            let constant = (0..i.op_count()).any(|n| crate::step::Step::constant(i, n).is_some());
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
        let takes_part = matches!(i.mnemonic(), Mnemonic::Mov | Mnemonic::Cmp);
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
            let whole = size == 8 && i.mnemonic() != Mnemonic::Mov && writes_whole(i);
            if let (true, true, Some(n)) = (rest, whole, register) {
                if !self.is_whole(graph, at, split, n) {
                    self.findings.uneven.forbid(at, Why::Address);
                }
            }
        }
    }

    /// Writes down what a call gets of splits.
    pub(super) fn note_arguments(&mut self, at: u64, state: &State) {
        for n in ARGUMENTS {
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
                    self.findings.uneven.branches.insert(i.ip(), (split, less));
                }
                _ => self.findings.uneven.forbid(i.ip(), Why::Branch),
            }
        }
    }

    /// Writes down that `i` was a division by the number of threads, if it was.
    pub(super) fn note_division(&mut self, i: &Instruction, state: &State) {
        if matches!(i.mnemonic(), Mnemonic::Div | Mnemonic::Idiv) {
            match state.general[crate::state::RAX] {
                Value::Quotient(split) if split == i.ip() => {
                    self.findings.uneven.divisions.insert(split);
                }
                // The same division made once more.
                Value::Quotient(_) => self.findings.uneven.forbid(i.ip(), Why::Branch),
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
            if node.instruction.ip() == at {
                return true;
            }
            if node.next != crate::nodes::Next::Fall || node.instruction.ip() > at {
                return false;
            }
            number += 1;
        }
    }

    /// Whether all 64 bits of the register are the number, with its sign: of a division of 64 bits, or widened before.
    fn is_whole(&mut self, graph: &Graph, at: u64, division: u64, register: usize) -> bool {
        let wide = graph
            .nodes
            .get(&division)
            .is_some_and(|node| crate::operand::width(&node.instruction) == 8);
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
                && crate::state::CALLER_SAVED.contains(&register);
            let writes = self.factory.info(i).used_registers().iter().any(|used| {
                crate::step::is_write(used.access()) && general(used.register()) == Some(register)
            });
            let goes_on = match i.mnemonic() {
                _ if called => false,
                _ if !writes => from(number, register, &mut open),
                Mnemonic::Movsxd | Mnemonic::Cdqe => true,
                // Nothing.
                Mnemonic::Xor => {
                    i.op1_kind() == OpKind::Register && i.op0_register() == i.op1_register()
                }
                Mnemonic::Mov
                    if i.op1_kind() == OpKind::Register && i.op0_register().size() == 8 =>
                {
                    general(i.op1_register()).is_some_and(|source| from(number, source, &mut open))
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
    let narrow =
        i.op_count() > 0 && i.op0_kind() == OpKind::Register && i.op0_register().size() < 8;
    !(i.mnemonic() == Mnemonic::Lea && narrow)
}

/// The place in the frame that an operand of `i` names, where it is known.
fn frame_operand(i: &Instruction, state: &State) -> Option<crate::value::Place> {
    let any = (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::Memory);
    if !any || i.mnemonic() == Mnemonic::Lea || general(i.memory_index()).is_some() {
        return None;
    }
    let base = state.general[general(i.memory_base())?];
    match base.add_constant(i.memory_displacement64() as i64) {
        Value::Frame(place) => Some(place),
        _ => None,
    }
}

/// Whether it multiplies, or shifts by a number that is not in it.
fn multiplies(i: &Instruction) -> bool {
    use Mnemonic as M;
    match i.mnemonic() {
        M::Imul | M::Mul | M::Mulx => true,
        M::Shl | M::Shlx | M::Shld => i.op_kind(i.op_count() - 1) == OpKind::Register,
        M::Pmuludq | M::Vpmuludq | M::Pmulld | M::Vpmulld | M::Vpmullq | M::Pmuldq | M::Vpmuldq => {
            true
        }
        M::Mulsd | M::Vmulsd | M::Mulss | M::Vmulss | M::Mulpd | M::Vmulpd => true,
        _ => false,
    }
}
