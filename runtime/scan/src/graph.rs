//! The instructions of one function and where each of them leads.

mod registers;

use std::collections::{BTreeMap, BTreeSet};

use crate::code::{Address, FlagsWritten, Flow, Instruction, Op, Operand, Reader, Register};
use crate::library;
use crate::nodes::{Landing, Next, Node, Nodes, Numbers};
use crate::state::GENERAL;
use crate::strided::Strided;
use crate::{Callee, Image, Machine, Why};
pub(crate) use registers::Held;

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
    pub(crate) machine: Machine,
    pub(crate) nodes: Nodes,
    /// Addresses where paths begin or meet.
    pub(crate) leaders: BTreeSet<u64>,
    /// Some instruction reaches thread-local variables.
    pub(crate) thread_local: bool,
    /// The loops of single iterations that were found in it.
    pub(crate) strided: Vec<Strided>,
    /// A64: an instruction that makes an address that was not put together, perhaps of code.
    pub(crate) lost_page: Option<u64>,
    /// By calls of functions that call back (`qsort`): the function of the program that is called, where the code
    /// before the call says which.
    pub(crate) called_back: BTreeMap<u64, u64>,
}

/// An exclusive load and its store, which may fail.
struct Loop {
    store: usize,
    /// The registers of what was loaded, and of what is stored.
    old: usize,
    new: usize,
    /// The one instruction between them that makes the one of the other, and of what else.
    maker: Option<(usize, Operand)>,
}

/// A division, and what comes of it.
#[derive(Default)]
struct Split<'a> {
    steps: Vec<&'a Instruction>,
    ends: BTreeSet<u64>,
}

impl Split<'_> {
    fn is_like(&self, other: &Split<'_>) -> bool {
        let mut both = self.steps.iter().zip(&other.steps);
        let lengths = self.steps.len() == other.steps.len();
        lengths && self.ends == other.ends && both.all(|(a, b)| a.is_like(b))
    }
}

/// How many instructions before a call are looked at for its arguments.
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
            machine: image.machine(),
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
            let mut reader = Reader::new(graph.machine, bytes, start);
            loop {
                let at = reader.at();
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
                if reader.is_at_end() {
                    return Err((Why::UnknownCode, at));
                }
                let instruction = reader.read();
                image.decoded(at, reader.at());
                let instruction = instruction.ok_or_else(|| (reader.why_not(), at))?;
                if let Flow::Calls(target) | Flow::Jumps(target) = instruction.flow {
                    let comes_back = instruction.flow == Flow::Calls(target);
                    let inside = matches!(image.callee(target), Callee::Inside(_));
                    let callee = image.code(target).filter(|_| inside);
                    let bytes = callee.and_then(|code| reader.read_atomic(code, comes_back));
                    if let Some(bytes) = bytes {
                        image.decoded(target, target + bytes);
                        continue;
                    }
                }
                graph.thread_local |= instruction.is_thread_local;
                let next = follow(image, &mut tables, &instruction)?;
                let mut ends = true;
                match &next {
                    Next::Fall => ends = false,
                    Next::Jump(target) => open.push(*target),
                    Next::Branch(target) => {
                        open.push(*target);
                        open.push(instruction.behind);
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
        if graph.machine == Machine::A64 {
            graph.find_constants();
            graph.find_counters();
            graph.find_compared();
            graph.find_doubled();
        }
        graph.find_called_back(image);
        Ok(graph)
    }

    /// In A64 the address of something is a page and a distance from it, in two instructions: makes one constant of it,
    /// where both are in straight code.
    fn find_constants(&mut self) {
        let mut pages: [Option<u64>; GENERAL] = [None; GENERAL];
        // The instructions that made a page of which nothing was made so far.
        let mut open: [Option<u64>; GENERAL] = [None; GENERAL];
        let mut behind = None;
        for node in self.nodes.values_mut() {
            let leads = node.leads || behind != Some(node.instruction.at);
            if leads {
                self.lost_page = self.lost_page.or(open.into_iter().flatten().min());
                pages = [None; GENERAL];
                open = [None; GENERAL];
            }
            let i = &mut node.instruction;
            behind = Some(i.behind);
            let is_page = i.op == Op::Address && i.names.is_none();
            let page = i
                .address
                .filter(|_| is_page)
                .and_then(|address| address.fixed());
            if let (Some(address), None) = (i.address, page) {
                let base = address
                    .base
                    .and_then(Register::general)
                    .filter(|_| address.index.is_none());
                if let Some((n, page)) = base.and_then(|n| Some((n, pages[n]?))) {
                    let at = page.wrapping_add_signed(address.displacement);
                    open[n] = None;
                    i.address = Some(Address::fixed_at(at));
                    if i.op == Op::Address {
                        i.names = Some(at);
                    }
                }
            }
            for n in (0..GENERAL).filter(|&n| i.writes(n)) {
                self.lost_page = self.lost_page.or(open[n]);
                (pages[n], open[n]) = (None, None);
            }
            if let (Some(page), Some(n)) = (page, i.operand(0).general()) {
                (pages[n], open[n]) = (Some(page), Some(i.at));
            }
        }
        self.lost_page = self.lost_page.or(open.into_iter().flatten().min());
    }

    /// In A64 an atomic operation may be a load, an operation on what was loaded, and a store that fails if somebody
    /// came in between: the three are taken for one, at the load. Where the operation is not seen, it is taken for one
    /// that adds.
    fn find_counters(&mut self) {
        for load in 0..self.nodes.len() {
            let Some(found) = self.loop_of(load) else {
                continue;
            };
            let mut done = Vec::new();
            let mut operation = None;
            if let Some((maker, with)) = found.maker {
                let is_read = |register| self.is_read(found.store, register);
                done.push(found.store);
                // The new number may be used, too.
                if !is_read(found.old) && !is_read(found.new) {
                    done.push(maker);
                }
                let made_by = self.nodes.at(maker).map(|node| &node.instruction);
                operation = made_by.map(|i| (i.op, i.collects, with));
            }
            for (number, node) in self.nodes.values_mut().enumerate() {
                if number == load {
                    node.instruction.becomes_atomic(operation);
                } else if done.contains(&number) {
                    node.instruction.becomes_nothing();
                }
            }
        }
    }

    /// Where a number that was taken from a counter is compared with a constant that lies in a register, puts the
    /// constant in.
    fn find_compared(&mut self) {
        let instructions = || self.nodes.values().map(|node| &node.instruction);
        let counters = instructions().filter(|i| i.op == Op::FetchAdd);
        let tickets: BTreeSet<usize> = counters.filter_map(|i| i.operand(2).general()).collect();
        let compares = instructions().enumerate().filter(|(_, i)| {
            let ticket = i.operand(0).general().is_some_and(|n| tickets.contains(&n));
            i.op == Op::Compare && ticket && i.operand(1).general().is_some()
        });
        let compares = compares.filter_map(|(number, i)| {
            let all = self.held(number, i.operand(1));
            match all.first() {
                Some(&Held::Constant(with)) if all.len() == 1 => Some((number, with)),
                _ => None,
            }
        });
        for (number, with) in compares.collect::<Vec<(usize, i64)>>() {
            if let Some(node) = self.nodes.values_mut().nth(number) {
                node.instruction.compares_with(with);
            }
        }
    }

    /// The store that belongs to the exclusive load with this number, in straight code, where it stores something that
    /// was made of what was loaded.
    fn loop_of(&self, load: usize) -> Option<Loop> {
        let first = &self.nodes.at(load)?.instruction;
        if !(first.is_exclusive && first.loads()) {
            return None;
        }
        let old = first.operand(0).general()?;
        let mut from = [false; GENERAL];
        from[old] = true;
        let mut makers = Vec::new();
        for number in load + 1..load + STRAIGHT {
            let Some(node) = self.nodes.at(number) else {
                break;
            };
            let i = &node.instruction;
            if i.is_exclusive && i.stores() {
                let new = i.operand(1).general().filter(|&n| from[n])?;
                let maker = match makers[..] {
                    [maker] => self.nodes.at(maker).map(|node| (maker, &node.instruction)),
                    _ => None,
                };
                let maker = maker.filter(|(_, i)| i.writes(new));
                return Some(Loop {
                    store: number,
                    old,
                    new,
                    maker: maker.and_then(|(maker, i)| Some((maker, i.other_than(old)?))),
                });
            }
            // Elsewhere it is not looked for.
            if !matches!(node.next, Next::Fall | Next::Branch(_)) {
                break;
            }
            let read = i.used.iter().filter(|used| used.is_read());
            let mut read = read.filter_map(|used| used.register.general());
            let derived = read.any(|n| from[n]);
            if derived {
                makers.push(number);
            }
            for n in (0..GENERAL).filter(|&n| i.writes(n)) {
                from[n] = derived;
            }
        }
        Some(Loop {
            store: load,
            old,
            new: old,
            maker: None,
        })
    }

    /// Divisions of the same numbers whose results go the same way: compilers put one at the end of each way instead of
    /// joining the ways before it.
    fn find_doubled(&mut self) {
        let mut first: Vec<(u64, Split<'_>)> = Vec::new();
        let mut doubled = Vec::new();
        for (number, node) in self.nodes.values().enumerate() {
            let i = &node.instruction;
            let Some(split) = (i.op == Op::Divide).then(|| self.split_at(i)).flatten() else {
                continue;
            };
            let is_same = |other: &&(u64, Split<'_>)| other.1.is_like(&split);
            match first.iter().find(is_same) {
                Some(&(at, _)) => doubled.push((number, at)),
                None => first.push((i.at, split)),
            }
        }
        for (number, at) in doubled {
            if let Some(node) = self.nodes.values_mut().nth(number) {
                node.instruction.same_as = Some(at);
            }
        }
    }

    /// What straight code does with a division's numbers, up to a branch.
    fn split_at(&self, division: &Instruction) -> Option<Split<'_>> {
        let results = [
            division.operand(0).general()?,
            division.operand(1).general()?,
        ];
        let is_of_it = |i: &Instruction| {
            let all = i.used.iter().filter_map(|used| used.register.general());
            all.into_iter().any(|n| results.contains(&n)) || i.flags != FlagsWritten::None
        };
        let mut split = Split::default();
        let mut at = division.at;
        for _ in 0..STRAIGHT {
            let node = self.nodes.get(&self.skip_jumps(at))?;
            let i = &node.instruction;
            match &node.next {
                Next::Fall if is_of_it(i) => split.steps.push(i),
                Next::Fall => {}
                Next::Branch(_) => {
                    let ends = node.successors().into_iter().flatten();
                    split.ends = ends.map(|at| self.skip_jumps(at)).collect();
                    return Some(split);
                }
                _ => return None,
            }
            at = i.behind;
        }
        None
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
            let target = self.function_in(number, self.machine.roles().arguments[argument]);
            if let Some(target) = target.filter(|&target| image.code(target).is_some()) {
                self.called_back.insert(node.instruction.at, target);
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
            if after.leads || node.next != Next::Fall || i.behind != after.instruction.at {
                return None;
            }
            if i.operand(0).general() == Some(register) {
                let address = i.address.filter(|_| i.op == Op::Address)?;
                return address.fixed();
            }
            // Registers that are written without being the first operand.
            if i.writes(register) {
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
                Some(node) if node.instruction.op == Op::Nothing => {
                    address = node.instruction.behind;
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
                Next::Fall if i.is_of_end => i.behind,
                Next::Branch(target) if self.fails(*target) => i.behind,
                Next::Branch(target) if self.fails(i.behind) => *target,
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
                Next::Fall if node.instruction.op == Op::Nothing => node.instruction.behind,
                Next::Jump(target) => *target,
                _ => return false,
            };
        }
        false
    }
}

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
        let address = i.at;
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
            last: part.is_some_and(|part| part.end == i.behind),
        })
    }
}

fn follow(image: &dyn Image, tables: &mut Tables, i: &Instruction) -> Result<Next, (Why, u64)> {
    Ok(match i.flow {
        Flow::Falls => Next::Fall,
        Flow::Jumps(target) => match image.callee(target) {
            Callee::Inside(target) => Next::Jump(target),
            callee => Next::TailCall(callee),
        },
        Flow::Branches(target) => Next::Branch(target),
        Flow::JumpsThrough(slot) => match slot.map(|slot| image.slot(slot)) {
            Some(callee @ (Callee::Runtime(_) | Callee::Named(_))) => Next::TailCall(callee),
            Some(Callee::Inside(target)) => Next::Jump(target),
            _ => return Err((Why::IndirectJump, i.at)),
        },
        Flow::Calls(target) => tables.call(image, i, image.callee(target))?,
        Flow::CallsThrough(slot) => {
            let callee = slot.map_or(Callee::Unknown, |slot| image.slot(slot));
            tables.call(image, i, callee)?
        }
        Flow::Returns => Next::Return,
        Flow::Stops => Next::Stop,
        Flow::Unknown => return Err((Why::UnknownCode, i.at)),
    })
}
