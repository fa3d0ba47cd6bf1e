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

use iced_x86::{Instruction, InstructionInfoFactory, OpAccess, Register};

use crate::graph::{Graph, Next};
use crate::step::{is_read, is_write};

/// The longest round that is looked at, in instructions.
const LONGEST: usize = 32;
/// Steps that a function is worth. Most paths end after a few, at a store or a
/// call.
const MOST_STEPS: usize = 200_000;

/// Whether the code has a loop that does nothing but look at memory.
pub(crate) fn any(graph: &Graph, factory: &mut InstructionInfoFactory) -> bool {
    let mut steps = MOST_STEPS;
    // The first instruction of a loop is one that something jumps to.
    graph
        .leaders
        .iter()
        .any(|&leader| polls(graph, leader, factory, &mut steps))
}

/// What one way through a round has done so far.
#[derive(Clone, Debug, Default)]
struct Round {
    length: usize,
    /// It has read memory.
    looks: bool,
    /// Registers that were written, and those that had been read before that.
    written: Vec<Register>,
    read: Vec<Register>,
}

impl Round {
    /// Does the next instruction. False: the round does more than look.
    fn step(&mut self, i: &Instruction, factory: &mut InstructionInfoFactory) -> bool {
        self.length += 1;
        let info = factory.info(i);
        if !is_fence(i) {
            for memory in info.used_memory() {
                if is_write(memory.access()) {
                    return false;
                }
                self.looks |= is_read(memory.access());
            }
        }
        let registers = || {
            let all = info.used_registers().iter();
            all.map(|r| (r.register().full_register(), r.access()))
        };
        for (register, access) in registers() {
            let before = !self.written.contains(&register);
            // What is written under a condition only may keep its value.
            if before && access != OpAccess::Write && !self.read.contains(&register) {
                self.read.push(register);
            }
        }
        for (register, access) in registers() {
            if is_write(access) {
                if self.read.contains(&register) {
                    // Carried on to the next round.
                    return false;
                }
                if !self.written.contains(&register) {
                    self.written.push(register);
                }
            }
        }
        self.length <= LONGEST
    }
}

/// Whether some way from `first` leads back to it and only looks.
fn polls(
    graph: &Graph,
    first: u64,
    factory: &mut InstructionInfoFactory,
    steps: &mut usize,
) -> bool {
    let mut open = vec![(first, Round::default())];
    while let Some((at, mut round)) = open.pop() {
        if at == first && round.length > 0 {
            if round.looks {
                return true;
            }
            continue;
        }
        let Some(node) = graph.nodes.get(&at) else {
            continue;
        };
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        if matches!(node.next, Next::Fall | Next::Jump(_) | Next::Branch(_))
            && round.step(&node.instruction, factory)
        {
            for next in graph.successors(at) {
                open.push((next, round.clone()));
            }
        }
    }
    false
}

/// A locked instruction that adds nothing to the stack: compilers' cheapest full fence.
fn is_fence(i: &Instruction) -> bool {
    i.has_lock_prefix() && i.memory_base() == Register::RSP && i.memory_index() == Register::None
}
