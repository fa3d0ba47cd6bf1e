//! The instructions of one function and where each of them leads.

use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};

use crate::library;
use crate::nodes::{Landing, Next, Node, Nodes, Numbers};
use crate::state::{ARGUMENTS, CALLER_SAVED};
use crate::step::{is_read, is_write};
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
    /// By calls of functions that call back (`qsort`): the function of the program that is called, where the code before the
    /// call says which.
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
                if *budget == 0 || nodes.len() >= LONGEST {
                    return Err((Why::TooLong, at));
                }
                *budget -= 1;
                if !decoder.can_decode() {
                    return Err((Why::UnknownCode, at));
                }
                let instruction = decoder.decode();
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
                    Next::Call { callee, pad } => {
                        open.extend(pad.map(|pad| pad.address));
                        ends =
                            matches!(callee, Callee::Named(name) if library::never_returns(name));
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

    /// The address that the register holds before the instruction with this number, where the straight code before it puts a
    /// constant there (`lea function(%rip),%rcx`): nothing jumps in between, and nothing else writes the register.
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

    /// Whether the branch at `branch` only adds something for one thread: every
    /// path from `extra` comes to `rest` before the function ends (or `rest`
    /// does nothing more), and what the added code leaves in registers and in
    /// the frame is not used there.
    ///
    /// `has_frame_pointer` tells whether `rbp` points into the frame; `inner`
    /// that the function returns something to a function that is followed.
    pub(crate) fn only_adds(
        &self,
        branch: u64,
        (extra, rest): (u64, u64),
        has_frame_pointer: bool,
        inner: bool,
        factory: &mut InstructionInfoFactory,
    ) -> bool {
        let extra = self.skip_jumps(extra);
        let rest = self.skip_jumps(rest);
        if extra == rest || (!inner && self.does_nothing(rest)) {
            return true;
        }
        let mut added = BTreeSet::new();
        let mut open = vec![extra];
        while let Some(at) = open.pop() {
            if at == rest || !added.insert(at) {
                continue;
            }
            if at == branch {
                return false;
            }
            match self.nodes.get(&at).map(|node| &node.next) {
                None | Some(Next::Return | Next::TailCall(_)) => return false,
                Some(_) => {
                    for next in self.successors(at) {
                        open.push(self.skip_jumps(next));
                    }
                }
            }
        }
        !self.leaves_values(&added, rest, has_frame_pointer, inner, factory)
    }

    /// Whether code from `rest` on may use what the instructions `added` wrote
    /// to registers or to the frame.
    fn leaves_values(
        &self,
        added: &BTreeSet<u64>,
        rest: u64,
        has_frame_pointer: bool,
        inner: bool,
        factory: &mut InstructionInfoFactory,
    ) -> bool {
        let is_frame = |register: Register| {
            register == Register::RSP || (has_frame_pointer && register == Register::RBP)
        };
        let mut written = 0u64;
        let mut stores = BTreeSet::new();
        for at in added {
            let Some(node) = self.nodes.get(at) else {
                return true;
            };
            if node.next != Next::Fall {
                continue;
            }
            let i = &node.instruction;
            let effect = Effect::of(i, factory);
            written |= effect.writes | effect.may_write;
            if effect.stores && i.mnemonic() != Mnemonic::Push && is_frame(i.memory_base()) {
                if i.memory_index() != Register::None {
                    return true;
                }
                stores.insert((i.memory_base().number(), i.memory_displacement64()));
            }
        }
        let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
        let mut open = vec![(rest, written)];
        while let Some((at, left)) = open.pop() {
            let before = seen.get(&at).copied();
            if before.is_some_and(|before| left & !before == 0) {
                continue;
            }
            seen.insert(at, left | before.unwrap_or(0));
            let Some(node) = self.nodes.get(&at) else {
                return true;
            };
            let i = &node.instruction;
            let effect = Effect::of(i, factory);
            let mut left = left;
            match &node.next {
                Next::Call { callee, .. } | Next::TailCall(callee) => {
                    let arguments = match callee {
                        Callee::Runtime(entry) => entry.arguments(),
                        Callee::Named(name) => library::integers(name),
                        Callee::Inside(_) | Callee::Unknown => ARGUMENTS.len(),
                    };
                    let read = ARGUMENTS
                        .iter()
                        .take(arguments)
                        .fold(0, |all, n| all | 1 << n);
                    if left & (read | effect.reads) != 0 {
                        return true;
                    }
                    left &= !CALLER_SAVED.iter().fold(0u64, |all, n| all | 1 << n);
                    // Vector registers and flags.
                    left &= 0xffff;
                }
                Next::Return if inner && left & RESULTS != 0 => return true,
                Next::Return => {}
                _ if left & effect.reads != 0 => return true,
                _ => left &= !effect.writes,
            }
            if !stores.is_empty() && i.op_count() > 0 && is_frame(i.memory_base()) {
                let place = (i.memory_base().number(), i.memory_displacement64());
                let indexed = i.memory_index() != Register::None;
                if i.mnemonic() == Mnemonic::Lea || indexed || stores.contains(&place) {
                    return true;
                }
            }
            open.extend(self.successors(at).map(|next| (next, left)));
        }
        false
    }

    fn skip_jumps(&self, mut address: u64) -> u64 {
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
    fn does_nothing(&self, mut address: u64) -> bool {
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
                    let quiet = match i.mnemonic() {
                        Mnemonic::Pop => register,
                        Mnemonic::Leave | Mnemonic::Nop | Mnemonic::Vzeroupper => true,
                        Mnemonic::Add | Mnemonic::Lea | Mnemonic::Mov => stack,
                        _ => false,
                    };
                    if !quiet {
                        return false;
                    }
                    i.next_ip()
                }
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
    /// Where an exception thrown at `address` continues.
    fn pad(&mut self, image: &dyn Image, address: u64) -> Result<Option<Landing>, Why> {
        let known = self
            .known
            .iter()
            .find(|part| (part.start..part.end).contains(&address));
        if let Some(part) = known {
            return Ok(landing(part, address));
        }
        match image.unwind(address)? {
            None => Ok(None),
            Some(part) => {
                let pad = landing(&part, address);
                self.known.push(part);
                Ok(pad)
            }
        }
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
            Some(target) => Next::Call {
                callee: image.callee(target),
                pad: tables.pad(image, at).map_err(|why| (why, at))?,
            },
            None => return Err((Why::UnknownCode, at)),
        },
        FlowControl::IndirectCall => Next::Call {
            callee: slot(i).map_or(Callee::Unknown, |slot| image.slot(slot)),
            pad: tables.pad(image, at).map_err(|why| (why, at))?,
        },
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

/// `rax`, `rdx` and the first two vector registers.
const RESULTS: u64 = 0b101 | 0b11 << 17;

/// What an instruction reads and writes, one bit for each register: 16 general
/// ones, the flags, and vector registers.
#[derive(Default)]
struct Effect {
    reads: u64,
    /// Overwrites whole.
    writes: u64,
    /// Overwrites in part, or perhaps.
    may_write: u64,
    stores: bool,
}

impl Effect {
    fn of(i: &Instruction, factory: &mut InstructionInfoFactory) -> Effect {
        const FLAGS: u64 = 1 << 16;
        let mut effect = Effect::default();
        let info = factory.info(i);
        for used in info.used_registers() {
            let register = used.register();
            let bit = if register.is_gpr() {
                // The stack pointer's moves are the calls' own.
                if register.full_register() == Register::RSP {
                    continue;
                }
                1u64 << register.full_register().number()
            } else if register.is_vector_register() {
                1u64 << (17 + register.number().min(46))
            } else {
                continue;
            };
            if is_read(used.access()) {
                effect.reads |= bit;
            }
            if is_write(used.access()) {
                let whole = used.access() == OpAccess::Write
                    && (!register.is_gpr() || register.size() >= 4);
                if whole {
                    effect.writes |= bit;
                } else {
                    effect.may_write |= bit;
                }
            }
        }
        if i.rflags_read() != 0 {
            effect.reads |= FLAGS;
        }
        if i.rflags_modified() != 0 {
            // Which of them does not matter: compilers compare anew.
            effect.writes |= FLAGS;
        }
        effect.stores = info
            .used_memory()
            .iter()
            .any(|used| is_write(used.access()));
        // Saving a register is no use of it, and no argument outlives a push.
        if i.mnemonic() == Mnemonic::Push {
            effect.stores = false;
        }
        effect
    }
}
