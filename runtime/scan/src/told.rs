//! Calls of `omp_get_num_threads` whose answer is printed by one thread, and used for nothing else.
//!
//! A program prints once how many threads it runs with (`#pragma omp master` around a `printf`). Its loops fit a team
//! of any size, but the user would read the size of the virtual team. The runtime can answer such a call with the size
//! of the team that the program would have otherwise: it knows the call by its return address.
//!
//! Here the calls are only picked, by the straight code between the call and the output function. That the answer
//! goes nowhere else is shown by following it ([`Value::Shown`](crate::value::Value::Shown)), and that only one thread
//! reaches the call by [`is_for_one_thread`].

/// Return addresses of the calls that a virtual team answers with the size of the ordinary one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    after: [u64; MOST],
}

/// Regions with more such calls are refused: a program says once how many threads it has.
const MOST: usize = 4;

impl Told {
    /// No calls.
    pub const NONE: Told = Told { after: [0; MOST] };

    /// Has the region such a call?
    #[must_use]
    pub fn any(&self) -> bool {
        self.after[0] != 0
    }

    /// How many such calls the region has.
    #[must_use]
    pub fn count(&self) -> usize {
        self.addresses().count()
    }

    /// The return addresses.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.after.iter().copied().filter(|&address| address != 0)
    }

    /// Does a call that returns to this address get the size of the ordinary team?
    #[must_use]
    pub fn has(&self, return_address: u64) -> bool {
        return_address != 0 && self.after.contains(&return_address)
    }
}

impl FromIterator<u64> for Told {
    /// The first ones of these return addresses. No call returns to 0, which a damaged file may have.
    fn from_iter<I: IntoIterator<Item = u64>>(all: I) -> Told {
        let mut told = Told::NONE;
        let all = all.into_iter().filter(|&address| address != 0);
        for (slot, address) in told.after.iter_mut().zip(all) {
            *slot = address;
        }
        told
    }
}

pub(crate) use picked::{is_for_one_thread, pick};

mod picked {
    use super::MOST;
    use std::collections::{BTreeMap, BTreeSet};

    use crate::code::{Condition, Instruction, Op, Operand, FRAME, STACK};
    use crate::entry::Entry;
    use crate::findings::ZeroBranch;
    use crate::graph::Graph;
    use crate::library;
    use crate::nodes::{Next, Node};
    use crate::Callee;

    /// How many instructions after a call are looked at.
    const STRAIGHT: usize = 32;

    /// Where a copy of the answer lies.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Copy {
        Register(usize),
        /// A word of the frame, by its distance from `rsp` or `rbp`.
        Word(usize, i64),
    }

    /// The calls of `omp_get_num_threads` from which straight code leads to an output function that gets the answer.
    /// None where these are too many.
    pub(crate) fn pick(graph: &Graph) -> BTreeSet<u64> {
        let is_asked = |next: &Next| {
            matches!(
                next,
                Next::Call {
                    callee: Callee::Runtime(Entry::TeamSize),
                    ..
                }
            )
        };
        let mut picked = BTreeSet::new();
        for (number, node) in graph.nodes.values().enumerate() {
            if is_asked(&node.next) && is_printed(graph, number) {
                picked.insert(node.instruction.at);
            }
        }
        if picked.len() > MOST {
            picked.clear();
        }
        picked
    }

    /// Whether the answer to the call with this number is an argument of the next call, which prints it.
    fn is_printed(graph: &Graph, call: usize) -> bool {
        let roles = graph.machine.roles();
        let mut copies = BTreeSet::from([Copy::Register(roles.result())]);
        for number in call + 1..=call + STRAIGHT {
            let Some(node) = graph.nodes.at(number).filter(|node| !node.leads) else {
                return false;
            };
            match &node.next {
                Next::Fall => follow(&node.instruction, &mut copies),
                Next::Call {
                    callee: Callee::Named(name),
                    ..
                } => {
                    let printed = library::prints_from(name).unwrap_or(roles.arguments.len());
                    let mut printed = roles.arguments.iter().skip(printed);
                    return printed.any(|&n| copies.contains(&Copy::Register(n)));
                }
                _ => return false,
            }
        }
        false
    }

    fn follow(i: &Instruction, copies: &mut BTreeSet<Copy>) {
        let moves = matches!(i.op, Op::Copy | Op::Widen);
        let has_it = moves && place(i, 1).is_some_and(|from| copies.contains(&from));
        for used in &i.used {
            if let (true, Some(n)) = (used.is_written(), used.register.general()) {
                // Only widened, where it lies.
                if i.op != Op::WidenResult {
                    copies.remove(&Copy::Register(n));
                }
            }
        }
        if let Some(to) = place(i, 0) {
            if has_it {
                copies.insert(to);
            } else if matches!(to, Copy::Word(..)) {
                copies.remove(&to);
            }
        }
    }

    /// What an operand names.
    fn place(i: &Instruction, operand: usize) -> Option<Copy> {
        match i.operand(operand) {
            Operand::Register(register) if register.size >= 4 => {
                register.general().map(Copy::Register)
            }
            Operand::Memory => {
                let address = i.address?;
                let base = [STACK, FRAME].into_iter().find(|&n| address.is_at(n))?;
                Some(Copy::Word(base, address.displacement))
            }
            _ => None,
        }
    }

    /// Whether every way through the function to the instruction at `at` leads through a block that one thread of the
    /// team executes: the first one, as the branches of `zero` ask, or the one that a `single` has chosen.
    pub(crate) fn is_for_one_thread(
        graph: &Graph,
        zero: &BTreeMap<u64, ZeroBranch>,
        at: u64,
    ) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![graph.entry];
        while let Some(here) = open.pop() {
            if here == at {
                return false;
            }
            if !seen.insert(here) {
                continue;
            }
            let Some(node) = graph.nodes.get(&here) else {
                return false;
            };
            let Next::Branch(target) = node.next else {
                open.extend(graph.successors(here));
                continue;
            };
            let behind = node.instruction.behind;
            let one_jumps = match zero.get(&here) {
                Some(asked) => Some(asked.zero_jumps),
                None => is_chosen(graph, here),
            };
            match one_jumps {
                Some(true) => open.push(behind),
                Some(false) => open.push(target),
                None => open.extend([target, behind]),
            }
        }
        true
    }

    /// For the branch that asks whether the thread is the one that a `single` or `master` has chosen: whether it jumps
    /// if it is.
    fn is_chosen(graph: &Graph, branch: u64) -> Option<bool> {
        let number = graph.nodes.number(branch)?;
        let result = graph.machine.roles().result();
        let node = graph.nodes.at(number)?;
        let is_single = |node: &Node| {
            matches!(
                node.next,
                Next::Call {
                    callee: Callee::Runtime(Entry::Single),
                    ..
                }
            )
        };
        let jump = &node.instruction;
        let asked = graph.nodes.at(number.checked_sub(1)?)?;
        // A branch that asks the answer itself.
        let by_itself = jump.asks.map(usize::from) == Some(result) && !jump.reads_flags;
        if by_itself && is_single(asked) && !node.leads && asked.instruction.behind == jump.at {
            return match jump.condition {
                Condition::Equal => Some(false),
                Condition::NotEqual => Some(true),
                _ => None,
            };
        }
        let call = graph.nodes.at(number.checked_sub(2)?)?;
        let question = &asked.instruction;
        let straight = !asked.leads
            && !node.leads
            && call.instruction.behind == question.at
            && question.behind == jump.at;
        let is_answer = |operand: usize| {
            let register = question.operand(operand).register();
            register.is_some_and(|register| {
                register.general() == Some(result) && (register.size == 4 || register.is_low_byte())
            })
        };
        if !is_single(call) || !straight || question.operands().len() != 2 || !is_answer(0) {
            return None;
        }
        // The answer is 0 or 1.
        let equal_if_chosen = match question.op {
            Op::Test if is_answer(1) || question.operand(1).constant() == Some(0xff) => false,
            Op::Compare => match question.operand(1).constant()? {
                0 => false,
                1 => true,
                _ => return None,
            },
            _ => return None,
        };
        match jump.condition {
            Condition::Equal => Some(equal_if_chosen),
            Condition::NotEqual => Some(!equal_if_chosen),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn return_addresses() {
        let none = Told::NONE;
        assert!(!none.any() && !none.has(0) && !none.has(1));
        let two: Told = [0x10, 0x20].into_iter().collect();
        assert!(two.any() && two.count() == 2 && two.has(0x10) && two.has(0x20));
        assert!(!two.has(0x11) && !two.has(0));
    }
}
