//! Where the value of a register was written, and who reads it.

use std::collections::BTreeSet;

use super::Graph;
use crate::code::{Op, Operand, Used};
use crate::nodes::Next;

/// What an operand holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Held {
    Constant(i64),
    /// A constant that takes several instructions, other than 0.
    LongConstant,
    /// What the function was called with.
    Argument,
    Other,
}

impl Graph {
    /// What the operand may hold before the instruction with this number.
    pub(crate) fn held(&self, number: usize, operand: Operand) -> BTreeSet<Held> {
        let mut before = vec![Vec::new(); self.nodes.len()];
        for (from, node) in self.nodes.values().enumerate() {
            for to in self.nodes.successors(node).into_iter().flatten() {
                before[to].push(from);
            }
        }
        let entry = self.nodes.number(self.entry);
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![(number, operand)];
        while let Some((number, operand)) = open.pop() {
            let register = match (operand, operand.general()) {
                (Operand::Constant(constant), _) => {
                    found.insert(Held::Constant(constant));
                    continue;
                }
                (_, Some(register)) => register,
                (_, None) => {
                    found.insert(Held::Other);
                    continue;
                }
            };
            if !seen.insert((number, register)) {
                continue;
            }
            if Some(number) == entry {
                found.insert(Held::Argument);
            }
            for &from in &before[number] {
                let Some(node) = self.nodes.at(from) else {
                    continue;
                };
                let i = &node.instruction;
                let calls = matches!(node.next, Next::Call { .. });
                if calls && self.machine.roles().caller_saved.contains(&register) {
                    found.insert(Held::Other);
                } else if !i.writes(register) {
                    open.push((from, operand));
                } else if i.op == Op::Copy && i.operand(0).general() == Some(register) {
                    open.push((from, i.operand(1)));
                } else if i.op == Op::Other && i.operands() == [i.operand(0), Operand::Constant(1)]
                {
                    // `movk`, or what looks like it.
                    found.insert(Held::LongConstant);
                } else {
                    found.insert(Held::Other);
                }
            }
        }
        found
    }

    /// Whether an instruction that may come after the one with this number reads what that has left in the register. (A
    /// call does not: what is handed on is judged elsewhere.)
    pub(crate) fn is_read(&self, number: usize, register: usize) -> bool {
        let is_lost = self.machine.roles().caller_saved.contains(&register);
        let after = |number: usize| {
            let next = self
                .nodes
                .at(number)
                .map(|node| self.nodes.successors(node));
            next.into_iter().flatten().flatten()
        };
        let mut seen = BTreeSet::new();
        let mut open: Vec<usize> = after(number).collect();
        while let Some(number) = open.pop() {
            let Some(node) = self.nodes.at(number).filter(|_| seen.insert(number)) else {
                continue;
            };
            let i = &node.instruction;
            let of_it = |used: &&Used| used.register.general() == Some(register);
            if i.used.iter().filter(of_it).any(|used| used.is_read()) {
                return true;
            }
            let calls = matches!(node.next, Next::Call { .. } | Next::TailCall(_));
            if !(i.writes(register) || calls && is_lost) {
                open.extend(after(number));
            }
        }
        false
    }
}
