//! A copy of an outlined function in which the threads' parts of static loops are not equal.
//!
//! gcc makes each thread's part of a static loop of `n` iterations by
//!
//! ```text
//! q = n / threads; r = n % threads;
//! if (id < r) { q = q + 1; r = 0; }
//! first = q * id + r; end = first + q
//! ```
//!
//! and asks nobody. In the copy, other code takes the place of the division and of the branch. For a part that is to go
//! from `f` to `e` that code leaves `q = e - f` and `r = f - q * id`, and goes on as if `id >= r`: the program's own
//! code then makes `first = f` and `end = e` of them, in any form that the compiler chose. Where the parts lie is read
//! from a table, as fractions of `n`. So all loops of the function are divided alike, as loops of one length must be in
//! which iterations of one thread rely on each other. The number of threads, their numbers and what each of them keeps
//! for itself are the program's own.
//!
//! **When there is a copy.** The scan has found each division by the number of threads to be that of a split; the
//! quotient and the remainder go nowhere but into the bounds ([`crate::flow`] writes down what else would be made of
//! them); division, comparison and branch are straight code; and the function has no jump by a table and takes no
//! address of its own code, and no exception tables that cannot be copied. Functions that the region calls and that
//! have splits of their own are copied with it, as are those that call such functions.
//!
//! **What is assumed.** A function that was not followed has no static loop that relies on which thread ran which
//! iterations of a loop in the region that did not wait at its end. And the program has no array for each thread
//! that an equal part fills and a larger one would overflow, unless it finds the array by multiplying the thread number
//! by a number that is not a constant, which is refused. (The standard leaves the sizes of parts open.)
//!
//! **Where it lies.** All instructions keep their distances, so that only what leads out of the copied functions is
//! changed. This module makes the bytes; whoever asks for them has memory for them within 2 GiB of the function and its
//! object.

mod emit;

use emit::Emit;
use std::collections::{BTreeMap, BTreeSet};

use iced_x86::{Instruction, OpKind, Register};

use crate::code::x86::decoded;
use crate::code::{FlagsWritten, Op, Operand};
use crate::graph::Graph;
use crate::nodes::{Next, Node};
use crate::state::{RAX, RDX};
use crate::{Callee, Image, Machine, Why};

/// Where parts begin, as the copy reads it. It must not change while a thread is in the copy.
///
/// Layout: the number of threads (4 bytes), the largest `n` of 32 bits whose loop is made uneven (4 bytes), the largest
/// of 64 bits (8 bytes), the smallest of both (8 bytes), and one more fraction than there are threads (8 bytes each):
/// where the part of each thread begins, in units of 2^-32, the last one 1. With other numbers of threads, and in
/// shorter and longer loops, parts are equal.
pub const FRACTIONS_AT: usize = 24;

/// The fraction that is the whole loop.
pub const WHOLE: u64 = 1 << 32;

/// The fewest iterations that are divided unevenly. In a loop of as many iterations as threads each iteration has a
/// thread of its own, and may wait for the others.
pub fn fewest(threads: u32) -> u64 {
    4 * u64::from(threads)
}

/// The largest numbers of iterations for which the copy computes within 31 and within 63 bits.
pub fn limits(threads: u32) -> (u32, u64) {
    let threads = threads.max(1);
    (
        (i32::MAX as u32) / threads,
        // Times a fraction of 33 bits, of which the low 32 are dropped.
        (1u64 << 62) / u64::from(threads),
    )
}

/// A function of which a copy can be made.
#[derive(Debug)]
pub struct Plan {
    lowest: u64,
    end: u64,
    instructions: Vec<Piece>,
    sites: Vec<Site>,
    catches: bool,
}

/// One instruction as it is in the function.
#[derive(Debug)]
struct Piece {
    address: u64,
    bytes: Vec<u8>,
    /// Where in it a distance of 32 bits is to be corrected, since it leads out of the function.
    correct: Option<usize>,
}

/// Division, comparison and branch of a split.
#[derive(Debug)]
struct Site {
    division: u64,
    width: usize,
    divisor: Instruction,
    /// The comparison, and which of its operands is the thread number.
    comparison: Instruction,
    number: u32,
    /// Between division and branch.
    between: Vec<Instruction>,
    /// What lies behind the branch, where it leads, and whether it jumps if the thread has one iteration more.
    behind: u64,
    condition: u8,
    target: u64,
    less_jumps: bool,
}

/// A jump of this length (near, 32 bits) has to have room where the division was.
const JUMP: u64 = 5;
/// The farthest that a function's parts may lie apart.
const APART: u64 = 256 << 20;
/// Room for the code of one site.
const SITE_ROOM: u64 = 512;

impl Plan {
    /// Reads the function at `entry`, which gcc outlined.
    ///
    /// # Errors
    /// Why no copy can be made, and where that shows.
    pub fn of(image: &dyn Image, entry: u64) -> Result<Plan, (Why, u64)> {
        if image.machine() != Machine::X86_64 {
            return Err((Why::NotX86, entry));
        }
        let (graphs, found) = crate::flow::look_at_parts(image, entry)?;
        if let Some((at, why)) = found.forbidden {
            return Err((why, at));
        }
        let copied = Copied::of(&graphs, &found.divisions);
        if !copied.graphs.contains_key(&entry) {
            return Err((Why::NoStaticLoop, entry));
        }
        let mut sites = Vec::new();
        for &division in &found.divisions {
            let mut own = found
                .branches
                .iter()
                .filter(|(_, (split, _))| *split == division);
            let (Some((&branch, &(_, less_jumps))), None) = (own.next(), own.next()) else {
                return Err((Why::Branch, division));
            };
            // Code that one function jumps to and another one calls belongs to both, and has places where paths meet in
            // either.
            let mut site = None;
            for graph in copied.holding(division) {
                let found = Site::of(image, graph, division, branch, less_jumps);
                site = Some(found.ok_or((Why::Branch, division))?);
            }
            sites.push(site.ok_or((Why::Branch, division))?);
        }
        let mut instructions = BTreeMap::new();
        for node in copied.nodes() {
            let at = node.instruction.at;
            let piece = Piece::of(image, &copied, node);
            instructions.insert(at, piece.ok_or((Why::UnknownCode, at))?);
        }
        let instructions: Vec<Piece> = instructions.into_values().collect();
        let lowest = instructions.first().map_or(entry, |piece| piece.address);
        let ends = instructions
            .iter()
            .map(|piece| piece.address + piece.bytes.len() as u64);
        let end = ends.max().unwrap_or(entry);
        if end - lowest > APART {
            return Err((Why::TooLong, entry));
        }
        let catches = copied
            .nodes()
            .any(|node| matches!(node.next, Next::Call { pad: Some(_), .. }));
        Ok(Plan {
            lowest,
            end,
            instructions,
            sites,
            catches,
        })
    }

    /// Whether exceptions continue in the function, so that its copy needs records of its own
    /// ([`crate::loaded::Loaded::frames`]).
    pub fn catches(&self) -> bool {
        self.catches
    }

    /// Addresses of the function's instructions.
    pub fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.instructions.iter().map(|piece| piece.address)
    }

    /// First address of the function, and how many bytes from there on the copy takes, with the code that is added.
    pub fn span(&self) -> (u64, u64) {
        let added = self.sites.len() as u64 * SITE_ROOM;
        (self.lowest, self.end - self.lowest + 16 + added)
    }

    /// The copy's bytes, by addresses in ascending order, where each instruction lies `distance` behind its original,
    /// and the [table](FRACTIONS_AT) at `table`. `None`: something is too far away.
    pub fn write(&self, distance: i64, table: u64) -> Option<Vec<(u64, Vec<u8>)>> {
        let mut code: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        for piece in &self.instructions {
            let mut bytes = piece.bytes.clone();
            if let Some(at) = piece.correct {
                let field = bytes.get_mut(at..at + 4)?;
                let old = i32::from_le_bytes((&*field).try_into().ok()?);
                let new = i64::from(old).checked_sub(distance)?;
                field.copy_from_slice(&i32::try_from(new).ok()?.to_le_bytes());
            }
            code.insert(piece.address.checked_add_signed(distance)?, bytes);
        }
        let mut free = (self.end.checked_add_signed(distance)? + 15) & !15;
        for site in &self.sites {
            let stub = site.write(distance, free, table)?;
            if stub.len() as u64 > SITE_ROOM {
                return None;
            }
            let mut at = site.division.checked_add_signed(distance)?;
            let end = site.behind.checked_add_signed(distance)?;
            let inside: Vec<u64> = code.range(at..end).map(|(&at, _)| at).collect();
            for old in inside {
                code.remove(&old);
            }
            let mut jump = vec![0xe9];
            jump.extend(near(at + JUMP, free)?);
            // Nobody comes to the rest of these bytes.
            jump.resize((end - at) as usize, 0xcc);
            code.insert(std::mem::replace(&mut at, end), jump);
            code.insert(free, stub);
            free += SITE_ROOM;
        }
        Some(code.into_iter().collect())
    }
}

/// The distance of a jump that ends at `from`.
fn near(from: u64, to: u64) -> Option<[u8; 4]> {
    let distance = i32::try_from(to.wrapping_sub(from) as i64).ok()?;
    Some(distance.to_le_bytes())
}

/// The functions that are copied: those with a division, and those that call them.
struct Copied<'a> {
    graphs: BTreeMap<u64, &'a Graph>,
}

impl<'a> Copied<'a> {
    fn of(graphs: &'a BTreeMap<u64, Graph>, divisions: &BTreeSet<u64>) -> Copied<'a> {
        let divides = |graph: &Graph| divisions.iter().any(|at| graph.nodes.contains_key(at));
        let mut copied: BTreeMap<u64, &Graph> = graphs
            .iter()
            .filter(|(_, graph)| divides(graph))
            .map(|(&entry, graph)| (entry, graph))
            .collect();
        loop {
            let calls = |graph: &Graph| {
                graph.nodes.values().any(|node| match &node.next {
                    Next::Call {
                        callee: Callee::Inside(to),
                        ..
                    }
                    | Next::TailCall(Callee::Inside(to)) => copied.contains_key(to),
                    _ => false,
                })
            };
            let further: Vec<u64> = graphs
                .iter()
                .filter(|(entry, graph)| !copied.contains_key(entry) && calls(graph))
                .map(|(&entry, _)| entry)
                .collect();
            if further.is_empty() {
                return Copied { graphs: copied };
            }
            copied.extend(
                further
                    .iter()
                    .filter_map(|entry| graphs.get_key_value(entry))
                    .map(|(&e, g)| (e, g)),
            );
        }
    }

    fn nodes(&self) -> impl Iterator<Item = &'a Node> + '_ {
        self.graphs.values().flat_map(|graph| graph.nodes.values())
    }

    fn holding(&self, address: u64) -> impl Iterator<Item = &'a Graph> + '_ {
        let all = self.graphs.values().copied();
        all.filter(move |graph| graph.nodes.contains_key(&address))
    }

    fn contains(&self, address: u64) -> bool {
        self.holding(address).next().is_some()
    }
}

impl Piece {
    fn of(image: &dyn Image, copied: &Copied, node: &Node) -> Option<Piece> {
        let (at, behind) = (node.instruction.at, node.instruction.behind);
        let length = usize::try_from(behind - at).ok()?;
        let mut bytes = image.code(at)?.get(..length)?.to_vec();
        let mut decoder =
            iced_x86::Decoder::with_ip(64, &bytes, at, iced_x86::DecoderOptions::NONE);
        let i = decoder.decode();
        let offsets = decoder.get_constant_offsets(&i);
        let mut correct = None;
        if i.is_ip_rel_memory_operand() {
            // Its own address, which others would come to.
            if copied.contains(i.ip_rel_memory_address()) || offsets.displacement_size() != 4 {
                return None;
            }
            correct = Some(offsets.displacement_offset());
        }
        let near = (0..i.op_count()).any(|n| i.op_kind(n) == OpKind::NearBranch64);
        // Where it leads in the copied code, if it leads there.
        let inside = match &node.next {
            Next::Jump(to) | Next::Branch(to) => Some(*to),
            Next::Call {
                callee: Callee::Inside(to),
                ..
            }
            | Next::TailCall(Callee::Inside(to))
                if copied.graphs.contains_key(to) =>
            {
                Some(*to)
            }
            _ => None,
        };
        match inside {
            // Through a pointer it would come to the original.
            Some(_) if !near => return None,
            Some(to) if to == i.near_branch64() => {}
            // Through the linkage table.
            Some(to) => {
                if offsets.immediate_size() != 4 {
                    return None;
                }
                let distance = i32::try_from(to.wrapping_sub(behind) as i64).ok()?;
                let at = offsets.immediate_offset();
                bytes
                    .get_mut(at..at + 4)?
                    .copy_from_slice(&distance.to_le_bytes());
            }
            None if near => {
                if offsets.immediate_size() != 4 || copied.contains(i.near_branch64()) {
                    return None;
                }
                correct = Some(offsets.immediate_offset());
            }
            None => {}
        }
        // A constant that is an address of the function, in a program at fixed addresses.
        for n in 0..i.op_count() {
            let constant = matches!(
                i.op_kind(n),
                OpKind::Immediate32 | OpKind::Immediate32to64 | OpKind::Immediate64
            );
            if constant && copied.contains(i.immediate(n)) {
                return None;
            }
        }
        Some(Piece {
            address: at,
            bytes,
            correct,
        })
    }
}

impl Site {
    fn of(
        image: &dyn Image,
        graph: &Graph,
        division: u64,
        branch: u64,
        less_jumps: bool,
    ) -> Option<Site> {
        let first = graph.nodes.number(division)?;
        let divides = graph.nodes.at(first)?;
        let mut nodes: Vec<&Node> = Vec::new();
        let mut behind = divides.instruction.behind;
        let mut number = first + 1;
        let last = loop {
            let node = graph.nodes.at(number)?;
            if node.leads || node.instruction.at != behind {
                return None;
            }
            if node.instruction.at == branch {
                break node;
            }
            if node.next != Next::Fall || nodes.len() >= 16 {
                return None;
            }
            behind = node.instruction.behind;
            nodes.push(node);
            number += 1;
        };
        let bytes_of = |node: &Node| decoded(image.code(node.instruction.at)?, node.instruction.at);
        let divisor = bytes_of(divides)?;
        let between: Vec<Instruction> = nodes
            .iter()
            .map(|node| bytes_of(node))
            .collect::<Option<_>>()?;
        let Next::Branch(target) = last.next else {
            return None;
        };
        if last.instruction.behind - division < JUMP {
            return None;
        }
        let compares = nodes
            .iter()
            .position(|node| node.instruction.op == Op::Compare)?;
        let comparison = between[compares];
        // The remainder is what the division left in `rdx`, or a copy of it.
        let mut rests = BTreeSet::from([RDX]);
        let before = || nodes[..compares].iter().map(|node| &node.instruction);
        for i in before() {
            // A store may be to a variable of the program's own; and the number of threads must still be there.
            if i.stores() {
                return None;
            }
            let from = i.operand(1).general().filter(|_| i.op == Op::Copy);
            let copies = from.is_some_and(|from| rests.contains(&from));
            rests.retain(|&register| !i.writes(register));
            rests.extend(i.operand(0).general().filter(|_| copies));
        }
        let mut behind = nodes[compares + 1..].iter().map(|node| &node.instruction);
        if behind.any(|i| i.flags != FlagsWritten::None || i.stores()) {
            return None;
        }
        let compared = &nodes[compares].instruction;
        let is_rest = |n: usize| {
            let register = compared.operand(n).general();
            register.is_some_and(|register| rests.contains(&register))
        };
        let number = match (is_rest(0), is_rest(1)) {
            (false, true) => 0,
            (true, false) => 1,
            _ => return None,
        };
        // What is read before the instructions between must be unchanged at the comparison.
        let registers = match compared.operand(number as usize) {
            Operand::Register(register) => vec![register],
            Operand::Memory => compared.address?.registers().collect(),
            _ => return None,
        };
        // The division itself writes the first two.
        let is_lost = |n: usize| n == RAX || n == RDX || before().any(|i| i.writes(n));
        let mut registers = registers.into_iter().filter_map(|part| part.general());
        if registers.any(is_lost) || !is_simple(&comparison, number) || !is_simple(&divisor, 0) {
            return None;
        }
        let code = image.code(branch)?;
        let condition = match *code.get(..2)? {
            [short @ 0x70..=0x7f, _] => short & 15,
            [0x0f, long @ 0x80..=0x8f] => long & 15,
            _ => return None,
        };
        Some(Site {
            division,
            width: divides.instruction.width(),
            divisor,
            comparison,
            number,
            between,
            behind: last.instruction.behind,
            condition,
            target,
            less_jumps,
        })
    }

    /// The code that takes the place of the division, the comparison and the branch, to lie at `at`.
    fn write(&self, distance: i64, at: u64, table: u64) -> Option<Vec<u8>> {
        let mut code = Emit {
            at,
            bytes: Vec::new(),
        };
        let wide = self.width == 8;
        // Below the red zone: the thread number, the number of threads, and three registers.
        code.raw(&[0x48, 0x8d, 0x64, 0x24, 0x80]); // lea -128(%rsp),%rsp
        code.push(&self.divisor, 0, 128)?;
        code.push(&self.comparison, self.number, 136)?;
        code.raw(&[0x51, 0x56, 0x57]); // push rcx, rsi, rdi
        code.raw(&[0x8b, 0x74, 0x24, 0x20]); // mov 32(%rsp),%esi
        code.raw(&[0x48, 0x8d, 0x3d]); // lea table(%rip),%rdi
        let behind = code.here() + 4;
        code.raw(&near(behind, table)?);
        let mut equal = Vec::new();
        code.raw(&[0x3b, 0x37]); // cmp (%rdi),%esi
        equal.push(code.jump(0x85)); // jne
        if wide {
            code.raw(&[0x48, 0x85, 0xd2]); // test %rdx,%rdx
            equal.push(code.jump(0x85));
            code.raw(&[0x48, 0x3b, 0x47, 0x08]); // cmp 8(%rdi),%rax
        } else {
            code.raw(&[0x85, 0xd2]); // test %edx,%edx
            equal.push(code.jump(0x85));
            code.raw(&[0x3b, 0x47, 0x04]); // cmp 4(%rdi),%eax
        }
        equal.push(code.jump(0x87)); // ja: negative numbers, too
        if wide {
            code.raw(&[0x48, 0x3b, 0x47, 0x10]); // cmp 16(%rdi),%rax
        } else {
            code.raw(&[0x3b, 0x47, 0x10]); // cmp 16(%rdi),%eax
        }
        equal.push(code.jump(0x82)); // jb
        code.raw(&[0x8b, 0x74, 0x24, 0x18]); // mov 24(%rsp),%esi
        code.raw(&[0x3b, 0x37]); // cmp (%rdi),%esi
        equal.push(code.jump(0x83)); // jae
        if wide {
            code.raw(&[0x48, 0x89, 0xc1]); // mov %rax,%rcx
        } else {
            code.raw(&[0x89, 0xc1]); // mov %eax,%ecx
        }
        // The end, kept where the thread number was; then the beginning.
        code.raw(&[0x48, 0x8b, 0x44, 0xf7, 0x20]); // mov 32(%rdi,%rsi,8),%rax
        code.raw(&[0x48, 0xf7, 0xe1]); // mul %rcx
        code.raw(&[0x48, 0x0f, 0xac, 0xd0, 0x20]); // shrd $32,%rdx,%rax
        code.raw(&[0x48, 0x89, 0x44, 0x24, 0x18]); // mov %rax,24(%rsp)
        code.raw(&[0x48, 0x8b, 0x44, 0xf7, 0x18]); // mov 24(%rdi,%rsi,8),%rax
        code.raw(&[0x48, 0xf7, 0xe1]); // mul %rcx
        code.raw(&[0x48, 0x0f, 0xac, 0xd0, 0x20]); // shrd $32,%rdx,%rax
        code.raw(&[0x48, 0x8b, 0x4c, 0x24, 0x18]); // mov 24(%rsp),%rcx
        code.raw(&[0x48, 0x29, 0xc1]); // sub %rax,%rcx
        code.raw(&[0x48, 0x0f, 0xaf, 0xf1]); // imul %rcx,%rsi
        code.raw(&[0x48, 0x29, 0xf0]); // sub %rsi,%rax
        if wide {
            code.raw(&[0x48, 0x89, 0xc2, 0x48, 0x89, 0xc8]); // mov %rax,%rdx; mov %rcx,%rax
        } else {
            code.raw(&[0x89, 0xc2, 0x89, 0xc8]); // mov %eax,%edx; mov %ecx,%eax
        }
        code.restore();
        for i in &self.between {
            code.again(i)?;
        }
        let behind = self.behind.checked_add_signed(distance)?;
        let target = self.target.checked_add_signed(distance)?;
        code.go(if self.less_jumps { behind } else { target })?;
        // Equal parts, as the program made them.
        for jump in equal {
            code.land(jump)?;
        }
        code.restore();
        code.again(&self.divisor)?;
        for i in &self.between {
            code.again(i)?;
        }
        code.raw(&[0x0f, 0x80 | self.condition]);
        let from = code.here() + 4;
        code.raw(&near(from, target)?);
        code.go(behind)?;
        Some(code.bytes)
    }
}

/// Whether the operand can be read once more by a push: a register, or a word of the frame.
fn is_simple(i: &Instruction, operand: u32) -> bool {
    match i.op_kind(operand) {
        OpKind::Register => i.op_register(operand).size() >= 4,
        OpKind::Memory => {
            i.memory_index() == Register::None
                && i.segment_prefix() == Register::None
                && matches!(i.memory_base(), Register::RSP | Register::RBP)
        }
        _ => false,
    }
}
