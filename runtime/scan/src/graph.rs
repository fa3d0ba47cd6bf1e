//! The instructions of one function and where each of them leads.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpKind, Register,
};

use crate::library;
use crate::nodes::{Landing, Next, Node, Nodes, Numbers};
use crate::state::ARGUMENTS;
use crate::step::is_write;
use crate::strided::Strided;
use crate::{Callee, Image, Why};

fn landing(part: &crate::Unwind, call: u64) -> Option<Landing> {
    part.pad(call).map(|address| Landing {
        address,
        pushed: part.pushed(call),
    })
}

/// The code that is reachable from a function's entry without leaving it.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// Address of the first instruction to be executed.
    pub(crate) entry: u64,
    pub(crate) nodes: Nodes,
    /// Addresses where paths begin or meet.
    pub(crate) leaders: BTreeSet<u64>,
    /// Some instruction reaches thread-local variables.
    pub(crate) thread_local: bool,
    /// The loops of single iterations that were found in it.
    pub(crate) strided: Vec<Strided>,
    /// By calls of functions that call back (`qsort`): the function of the program that is called, where the code
    /// before the call says which.
    pub(crate) called_back: BTreeMap<u64, u64>,
}

/// So many instructions before a call are looked at for its arguments.
const STRAIGHT: usize = 32;

/// The longest function that is followed, in instructions.
const LONGEST: usize = 30_000;

impl Graph {
    /// Decodes the function at `entry`; `budget` is what is left for the whole
    /// scan.
    ///
    /// # Errors
    /// Why it cannot be followed, and where.
    pub(crate) fn read(
        image: &dyn Image,
        entry: u64,
        budget: &mut usize,
    ) -> Result<Graph, (Why, u64)> {
        Graph::read_all(image, entry, budget, true)
    }

    /// Decodes the first instructions of the function, at most `count`. Where these lead on there is nothing.
    ///
    /// # Errors
    /// As [`Graph::read`], but for the length.
    pub(crate) fn read_beginning(
        image: &dyn Image,
        entry: u64,
        mut count: usize,
    ) -> Result<Graph, (Why, u64)> {
        Graph::read_all(image, entry, &mut count, false)
    }

    fn read_all(
        image: &dyn Image,
        entry: u64,
        budget: &mut usize,
        whole: bool,
    ) -> Result<Graph, (Why, u64)> {
        let mut graph = Graph {
            entry,
            ..Graph::default()
        };
        let mut tables = Tables::default();
        let mut nodes: Vec<Node> = Vec::new();
        let mut numbers = Numbers::from(entry);
        let mut open = vec![entry];
        while let Some(start) = open.pop() {
            if !graph.leaders.insert(start) || numbers.get(start).is_some() {
                continue;
            }
            let bytes = image.code(start).ok_or((Why::UnknownCode, start))?;
            let mut decoder = Decoder::with_ip(64, bytes, start, DecoderOptions::NONE);
            loop {
                let at = decoder.ip();
                if numbers.get(at).is_some() {
                    graph.leaders.insert(at);
                    break;
                }
                if *budget == 0 && !whole {
                    break;
                }
                if *budget == 0 || nodes.len() >= LONGEST {
                    return Err((Why::TooLong, at));
                }
                *budget -= 1;
                if !decoder.can_decode() {
                    return Err((Why::UnknownCode, at));
                }
                let instruction = decoder.decode();
                image.decoded(at, decoder.ip());
                if instruction.is_invalid() {
                    return Err((Why::UnknownCode, at));
                }
                graph.thread_local |= reaches_thread_local(&instruction);
                let next = follow(image, &mut tables, &instruction)?;
                let mut ends = true;
                match &next {
                    Next::Fall => ends = false,
                    Next::Jump(target) => open.push(*target),
                    Next::Branch(target) => {
                        open.push(*target);
                        open.push(instruction.next_ip());
                    }
                    Next::Call { pad, .. } => {
                        open.extend(pad.map(|pad| pad.address));
                        ends = next.never_comes_back();
                    }
                    Next::TailCall(_) | Next::Return | Next::Stop => {}
                }
                let leads = false;
                numbers.insert(at, nodes.len());
                nodes.push(Node {
                    instruction,
                    next,
                    leads,
                });
                if ends {
                    break;
                }
            }
        }
        for leader in &graph.leaders {
            if let Some(node) = numbers.get(*leader).and_then(|n| nodes.get_mut(n)) {
                node.leads = true;
            }
        }
        graph.nodes = Nodes::sorted(nodes, &numbers);
        graph.find_called_back(image);
        Ok(graph)
    }

    /// Fills [`Graph::called_back`].
    fn find_called_back(&mut self, image: &dyn Image) {
        for (number, node) in self.nodes.values().enumerate() {
            let Next::Call {
                callee: Callee::Named(name),
                ..
            } = &node.next
            else {
                continue;
            };
            let Some(argument) = library::calls_argument(name) else {
                continue;
            };
            let target = self.function_in(number, ARGUMENTS[argument]);
            if let Some(target) = target.filter(|&target| image.code(target).is_some()) {
                self.called_back.insert(node.instruction.ip(), target);
            }
        }
    }

    /// The address that the register holds before the instruction with this number, where the straight code before it
    /// puts a constant there (`lea function(%rip),%rcx`): nothing jumps in between, and nothing else writes the
    /// register.
    fn function_in(&self, number: usize, register: usize) -> Option<u64> {
        let mut after = self.nodes.at(number)?;
        for number in (0..number).rev().take(STRAIGHT) {
            let node = self.nodes.at(number)?;
            let i = &node.instruction;
            if after.leads || node.next != Next::Fall || i.next_ip() != after.instruction.ip() {
                return None;
            }
            let to = i.op0_register();
            let is_it = |register_: Register| {
                register_.is_gpr() && register_.full_register().number() == register
            };
            if i.op_count() > 0 && i.op0_kind() == OpKind::Register && is_it(to) {
                return (i.mnemonic() == Mnemonic::Lea && i.is_ip_rel_memory_operand())
                    .then(|| i.ip_rel_memory_address());
            }
            // Registers that are written without being the first operand.
            let mut factory = InstructionInfoFactory::new();
            let writes = factory
                .info(i)
                .used_registers()
                .iter()
                .any(|used| is_write(used.access()) && is_it(used.register()));
            if writes {
                return None;
            }
            after = node;
        }
        None
    }

    /// The instructions that may come after the one at `address`.
    pub(crate) fn successors(&self, address: u64) -> impl Iterator<Item = u64> {
        let both = self.nodes.get(&address).map(Node::successors);
        both.into_iter().flatten().flatten()
    }

    /// Whether the branch at `branch` compares the index of a loop of single iterations with its bound.
    pub(crate) fn limits_strided(&self, branch: u64) -> bool {
        self.strided
            .iter()
            .any(|strided| strided.branches.contains(&branch))
    }

    /// Where the jumps from `address` on lead, if it only jumps.
    pub(crate) fn skip_jumps(&self, mut address: u64) -> u64 {
        for _ in 0..8 {
            match self.nodes.get(&address) {
                Some(node) if matches!(node.next, Next::Jump(_)) => {
                    if let Next::Jump(target) = node.next {
                        address = target;
                    }
                }
                Some(node) if node.instruction.mnemonic() == Mnemonic::Nop => {
                    address = node.instruction.next_ip();
                }
                _ => break,
            }
        }
        address
    }

    /// Whether the code from here on only returns.
    pub(crate) fn does_nothing(&self, mut address: u64) -> bool {
        for _ in 0..24 {
            let Some(node) = self.nodes.get(&address) else {
                return false;
            };
            let i = &node.instruction;
            address = match &node.next {
                Next::Return => return true,
                Next::Jump(target) => *target,
                Next::Fall => {
                    let register = i.op_count() > 0 && i.op0_kind() == OpKind::Register;
                    let stack = register && i.op0_register() == Register::RSP;
                    let framed = |n| {
                        i.op_kind(n) == OpKind::Memory
                            && matches!(i.memory_base(), Register::RSP | Register::RBP)
                    };
                    let quiet = match i.mnemonic() {
                        Mnemonic::Pop => register,
                        // The stack protector's word, whose check may fail below. (What lies in registers then is the
                        // caller's business.)
                        Mnemonic::Mov if register && !stack && framed(1) => true,
                        Mnemonic::Sub | Mnemonic::Xor | Mnemonic::Cmp
                            if i.segment_prefix() == Register::FS =>
                        {
                            !reaches_thread_local(i)
                        }
                        Mnemonic::Leave | Mnemonic::Nop | Mnemonic::Vzeroupper => true,
                        Mnemonic::Add | Mnemonic::Lea | Mnemonic::Mov => stack,
                        _ => false,
                    };
                    if !quiet {
                        return false;
                    }
                    i.next_ip()
                }
                Next::Branch(target) if self.fails(*target) => i.next_ip(),
                Next::Branch(target) if self.fails(i.next_ip()) => *target,
                _ => return false,
            };
        }
        false
    }

    /// Whether the code from here on only calls what never returns.
    fn fails(&self, mut address: u64) -> bool {
        for _ in 0..4 {
            let Some(node) = self.nodes.get(&address) else {
                return false;
            };
            address = match &node.next {
                Next::Call {
                    callee: Callee::Named(name),
                    ..
                } => return library::never_returns(name),
                Next::Fall if node.instruction.mnemonic() == Mnemonic::Nop => {
                    node.instruction.next_ip()
                }
                Next::Jump(target) => *target,
                _ => return false,
            };
        }
        false
    }
}

/// Whether an operand lies relative to the thread pointer. Not counted is the
/// word that the stack protector compares, at a place that the ABI fixes.
fn reaches_thread_local(i: &Instruction) -> bool {
    let relative = |register| matches!(register, Register::FS | Register::GS);
    if !relative(i.segment_prefix()) {
        return false;
    }
    let canary = i.memory_base() == Register::None
        && i.memory_index() == Register::None
        && i.memory_displacement64() == CANARY;
    !canary && i.mnemonic() != Mnemonic::Nop
}

/// Offset of the stack protector's word from the thread pointer.
const CANARY: u64 = 0x28;

/// The exception tables that were looked up so far.
#[derive(Default)]
struct Tables {
    known: Vec<crate::Unwind>,
}

impl Tables {
    /// The call `i` of `callee`: where an exception that it throws continues, and whether code of the caller stands
    /// behind it.
    fn call(
        &mut self,
        image: &dyn Image,
        i: &Instruction,
        callee: Callee,
    ) -> Result<Next, (Why, u64)> {
        let address = i.ip();
        let is_here = |part: &crate::Unwind| (part.start..part.end).contains(&address);
        if !self.known.iter().any(is_here) {
            self.known
                .extend(image.unwind(address).map_err(|why| (why, address))?);
        }
        let part = self.known.iter().find(|part| is_here(part));
        Ok(Next::Call {
            callee,
            pad: part.and_then(|part| landing(part, address)),
            // What a program's own function ends with, such as `__clang_call_terminate`, does not say by its name that
            // it does not return. Code never runs from one function into the next one, which is not read as if it were
            // this one's.
            last: part.is_some_and(|part| part.end == i.next_ip()),
        })
    }
}

fn follow(image: &dyn Image, tables: &mut Tables, i: &Instruction) -> Result<Next, (Why, u64)> {
    let at = i.ip();
    Ok(match i.flow_control() {
        FlowControl::Next => Next::Fall,
        FlowControl::UnconditionalBranch => match direct(i) {
            Some(target) => match image.callee(target) {
                Callee::Inside(target) => Next::Jump(target),
                callee => Next::TailCall(callee),
            },
            None => return Err((Why::UnknownCode, at)),
        },
        FlowControl::ConditionalBranch => match direct(i) {
            Some(target) => Next::Branch(target),
            None => return Err((Why::UnknownCode, at)),
        },
        FlowControl::IndirectBranch => match slot(i).map(|slot| image.slot(slot)) {
            Some(callee @ (Callee::Runtime(_) | Callee::Named(_))) => Next::TailCall(callee),
            Some(Callee::Inside(target)) => Next::Jump(target),
            _ => return Err((Why::IndirectJump, at)),
        },
        FlowControl::Call => match direct(i) {
            Some(target) => tables.call(image, i, image.callee(target))?,
            None => return Err((Why::UnknownCode, at)),
        },
        FlowControl::IndirectCall => {
            let callee = slot(i).map_or(Callee::Unknown, |slot| image.slot(slot));
            tables.call(image, i, callee)?
        }
        FlowControl::Return if matches!(i.code(), Code::Retnq) => Next::Return,
        FlowControl::Exception if i.mnemonic() == Mnemonic::Ud2 => Next::Stop,
        FlowControl::Interrupt if i.mnemonic() == Mnemonic::Int3 => Next::Stop,
        _ => return Err((Why::UnknownCode, at)),
    })
}

fn direct(i: &Instruction) -> Option<u64> {
    (i.op0_kind() == OpKind::NearBranch64).then(|| i.near_branch64())
}

/// The address of the pointer that a jump or call goes through, where it is a
/// constant.
fn slot(i: &Instruction) -> Option<u64> {
    (i.op0_kind() == OpKind::Memory && i.is_ip_rel_memory_operand())
        .then(|| i.ip_rel_memory_address())
}
