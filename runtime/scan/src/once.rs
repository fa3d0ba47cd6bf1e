//! What each thread of a team does once, with any share of the work: a line printed, a counter raised.
//!
//! A program with two threads that prints a line in each, or counts its threads, is not one for sixteen virtual
//! threads. What each thread adds up of its iterations is another matter, and so is what only some threads come to
//! (`single`, `master`, an error): only that is found here which lies on every way through the function.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{Condition, Op, STACK};
use crate::graph::{Graph, Held};
use crate::library;
use crate::nodes::{Next, Node};
use crate::{Callee, Machine};

/// Where each thread that runs the function prints or counts, if it does. `always` has the called functions that do.
pub(crate) fn each_thread(graph: &Graph, always: &BTreeMap<u64, u64>) -> Option<u64> {
    let seen = |(number, node): &(usize, &Node)| is_seen(graph, *number, node, always);
    let nodes = graph.nodes.values().enumerate().filter(seen);
    let places: BTreeSet<u64> = nodes.map(|(_, node)| node.instruction.at).collect();
    let first = *places.first()?;
    are_on_every_way(graph, &places).then_some(first)
}

/// Can others see how often this was executed?
fn is_seen(graph: &Graph, number: usize, node: &Node, always: &BTreeMap<u64, u64>) -> bool {
    match &node.next {
        Next::Call { callee, .. } | Next::TailCall(callee) => match callee {
            Callee::Named(name) => library::puts_out(name),
            Callee::Inside(target) => always.contains_key(target),
            _ => false,
        },
        _ if graph.machine == Machine::A64 => may_count(graph, number, node),
        _ => counts(node) && !asks_for_the_last(graph, node),
    }
}

/// Whether the instruction adds the same number to shared memory each time.
fn counts(node: &Node) -> bool {
    let i = &node.instruction;
    // Compilers also add nothing to the top of the stack, as a fence.
    if !i.is_locked || i.base().is_some_and(|base| base.is(STACK)) {
        return false;
    }
    match i.op {
        Op::Increment | Op::Decrement => true,
        Op::Add | Op::Subtract => i.operand(1).register().is_none(),
        _ => false,
    }
}

/// Whether the instruction may do so, where what it adds is in a register (`ldadd`), or added by another one (`stxr`).
/// Of a number that is taken from the counter its use says more, which is followed elsewhere.
fn may_count(graph: &Graph, number: usize, node: &Node) -> bool {
    let i = &node.instruction;
    match i.op {
        _ if !i.is_locked => false,
        Op::Copy => true,
        Op::FetchAdd => {
            let result = i.operand(2).general();
            let adds = |held: &Held| !matches!(held, Held::Other | Held::Constant(0));
            !result.is_some_and(|n| graph.is_read(number, n))
                && graph.held(number, i.operand(1)).iter().any(adds)
        }
        _ => false,
    }
}

/// Whether the code behind it asks whether the counter has come to zero: threads that count down to find out who is the
/// last began with their number.
fn asks_for_the_last(graph: &Graph, node: &Node) -> bool {
    let behind = graph.nodes.get(&node.instruction.behind);
    behind.is_some_and(|node| node.instruction.condition != Condition::None)
}

/// Whether the function cannot return without one of the instructions at `places`.
fn are_on_every_way(graph: &Graph, places: &BTreeSet<u64>) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![graph.entry];
    while let Some(at) = open.pop() {
        if places.contains(&at) || !seen.insert(at) {
            continue;
        }
        let Some(node) = graph.nodes.get(&at) else {
            return false;
        };
        match &node.next {
            Next::Return => return false,
            Next::TailCall(Callee::Named(name)) if library::never_returns(name) => {}
            Next::TailCall(_) => return false,
            _ => open.extend(node.successors().into_iter().flatten()),
        }
    }
    true
}
