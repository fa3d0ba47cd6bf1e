//! ELF files laid out as the loader would, without running them: what `hetmp which` and tests read.

use crate::elf::{Memory, Segment, Tables};
use crate::kept::Identity;
use crate::{Callee, Form, Image, Unwind, Why};
use std::ops::Range;

/// An x86-64 ELF file at its own addresses.
#[derive(Debug)]
pub struct File<'a> {
    memory: Content<'a>,
    tables: Tables,
}

/// The loadable segments, as far as the file holds them: what the loader fills with zeros is not code.
#[derive(Debug)]
struct Content<'a> {
    data: &'a [u8],
    loads: Vec<(u64, Range<usize>)>,
}

impl Memory for Content<'_> {
    fn from(&self, address: u64) -> Option<&[u8]> {
        let (start, range) = self.loads.iter().find(|(start, range)| {
            address >= *start && address - start < (range.end - range.start) as u64
        })?;
        self.data[range.clone()].get((address - start) as usize..)
    }
}

/// A call of a function by its name in the offset tables, or a jump to one at a function's end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Address of the instruction.
    pub address: u64,
    /// The function's name, without a version.
    pub name: String,
    /// What the first four arguments (`rdi`, `rsi`, `rdx`, `rcx`) are, where the code before the call puts constants or
    /// addresses there, or the code above it into registers that calls preserve. A hint: ways that join before the call
    /// are not looked at.
    pub arguments: [Option<u64>; 4],
}

impl Site {
    /// Where the region begins that the call opens, and how the compiler outlined it; `None` where the call opens none
    /// or the address is not known.
    pub fn region(&self) -> Option<(u64, Form)> {
        let name = self.name.as_str();
        if name.starts_with("GOMP_parallel") && name != "GOMP_parallel_end" {
            return Some((self.arguments[0]?, Form::Data));
        }
        if matches!(name, "__kmpc_fork_call" | "__kmpc_fork_call_if") {
            return Some((self.arguments[2]?, Form::Numbers));
        }
        None
    }
}

const ELF_HEADER: usize = 64;
const EM_X86_64: u16 = 62;
const PT_LOAD: u32 = 1;

impl<'a> File<'a> {
    /// Reads a 64-bit ELF file for x86-64; `None` where `data` is none, or is cut off.
    pub fn parse(data: &'a [u8]) -> Option<File<'a>> {
        let half = |at: usize| Some(u16::from_le_bytes(data.get(at..at + 2)?.try_into().ok()?));
        let word = |at: usize| crate::elf::u64_at(data, at);
        // Class 64, little endian.
        if !data.starts_with(b"\x7fELF\x02\x01") || data.len() < ELF_HEADER {
            return None;
        }
        if half(18)? != EM_X86_64 {
            return None;
        }
        let (headers, count) = (usize::try_from(word(32)?).ok()?, half(56)?);
        let mut segments = Vec::new();
        let mut loads = Vec::new();
        for index in 0..usize::from(count) {
            let at = headers.checked_add(index * 56)?;
            let header = data.get(at..at.checked_add(56)?)?;
            let segment = Segment {
                kind: crate::elf::u32_at(header, 0)?,
                flags: crate::elf::u32_at(header, 4)?,
                start: word(at + 16)?,
                length: word(at + 40)?,
            };
            if segment.kind == PT_LOAD {
                let offset = usize::try_from(word(at + 8)?).ok()?;
                let size = usize::try_from(word(at + 32)?).ok()?;
                let end = offset.checked_add(size)?;
                if end > data.len() {
                    return None;
                }
                loads.push((segment.start, offset..end));
            }
            segments.push(segment);
        }
        let memory = Content { data, loads };
        let tables = Tables::read(&memory, 0, segments);
        Some(File { memory, tables })
    }

    /// By what the file is known when it is loaded.
    pub fn identity(&self) -> Option<Identity> {
        Identity::of(&self.memory, 0, self.tables.segments())
    }

    /// Whether the file has thread-local variables of its own.
    pub fn has_thread_locals(&self) -> bool {
        self.tables.has_tls
    }

    /// The calls and final jumps to functions of other objects whose names `wanted` takes, in the order of their
    /// addresses.
    #[cfg(target_arch = "x86_64")]
    pub fn calls(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<Site> {
        let mut sites = Vec::new();
        for (start, range) in &self.memory.loads {
            if self.tables.is_code(*start) {
                self.calls_in(*start, &self.memory.data[range.clone()], wanted, &mut sites);
            }
        }
        sites.sort_by_key(|site| site.address);
        sites
    }

    #[cfg(target_arch = "x86_64")]
    fn calls_in(
        &self,
        start: u64,
        code: &[u8],
        wanted: &dyn Fn(&str) -> bool,
        sites: &mut Vec<Site>,
    ) {
        use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register};
        use std::collections::HashMap;

        let mut names: HashMap<u64, Option<String>> = HashMap::new();
        let mut known = Constants::default();
        // Whether something was done since the code before last went elsewhere.
        let mut amid = false;
        let mut decoder = Decoder::with_ip(64, code, start, DecoderOptions::NONE);
        for instruction in &mut decoder {
            let flow = instruction.flow_control();
            let name = match flow {
                FlowControl::Call | FlowControl::UnconditionalBranch => {
                    let target = instruction.near_branch_target();
                    names
                        .entry(target)
                        .or_insert_with(|| self.tables.callee_name(&self.memory, target))
                        .clone()
                }
                // `call *slot(%rip)`, and `jmp *slot(%rip)` at a function's end. A jump with nothing before it is
                // the linkage table itself.
                FlowControl::IndirectCall | FlowControl::IndirectBranch
                    if (amid || flow == FlowControl::IndirectCall)
                        && instruction.op0_kind() == OpKind::Memory
                        && instruction.memory_base() == Register::RIP =>
                {
                    let slot = instruction.memory_displacement64();
                    self.tables.slot_name(&self.memory, slot)
                }
                _ => None,
            };
            if let Some(name) = name.filter(|name| wanted(name)) {
                sites.push(Site {
                    address: instruction.ip(),
                    name,
                    arguments: known.arguments(),
                });
            }
            match flow {
                FlowControl::Next | FlowControl::ConditionalBranch => {
                    known.step(&instruction);
                    amid |= !matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Endbr64);
                }
                _ => {
                    known.leave();
                    amid = matches!(flow, FlowControl::Call | FlowControl::IndirectCall);
                }
            }
        }
    }

    /// Without a decoder for this machine's code: none.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn calls(&self, _wanted: &dyn Fn(&str) -> bool) -> Vec<Site> {
        Vec::new()
    }
}

/// What general registers hold, as far as the last straight piece of code tells, and for those that calls preserve the
/// code before: compilers take the addresses of the functions that a loop passes before the loop.
#[cfg(target_arch = "x86_64")]
#[derive(Default)]
struct Constants([Option<u64>; 16]);

/// `rbx`, `rbp`, `r12` to `r15`: what a function finds there, a call leaves there.
#[cfg(target_arch = "x86_64")]
const PRESERVED: [usize; 6] = [3, 5, 12, 13, 14, 15];

#[cfg(target_arch = "x86_64")]
impl Constants {
    fn arguments(&self) -> [Option<u64>; 4] {
        use iced_x86::Register as R;
        [R::RDI, R::RSI, R::RDX, R::RCX].map(|register| self.0[register.number()])
    }

    /// The code goes elsewhere. What calls preserve is still there, for most ways that lead on.
    fn leave(&mut self) {
        for (number, value) in self.0.iter_mut().enumerate() {
            if !PRESERVED.contains(&number) {
                *value = None;
            }
        }
    }

    fn step(&mut self, instruction: &iced_x86::Instruction) {
        use iced_x86::{Mnemonic, OpKind, Register};
        if instruction.op_count() == 0 || instruction.op0_kind() != OpKind::Register {
            return;
        }
        let to = instruction.op0_register();
        if !to.is_gpr() {
            return;
        }
        let wide = to.is_gpr32() || to.is_gpr64();
        self.0[to.full_register().number()] = match (instruction.mnemonic(), instruction.op1_kind())
        {
            // These write no register.
            (Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push, _) => return,
            // The caller gets its value back at one of the function's ends, behind which more of the function may lie.
            (Mnemonic::Pop, _) if PRESERVED.contains(&to.full_register().number()) => return,
            (Mnemonic::Lea, _) if instruction.memory_base() == Register::RIP => {
                Some(instruction.memory_displacement64())
            }
            (Mnemonic::Mov, OpKind::Register) if wide && instruction.op1_register().is_gpr() => {
                self.0[instruction.op1_register().number()]
            }
            (
                Mnemonic::Mov,
                OpKind::Immediate32 | OpKind::Immediate64 | OpKind::Immediate32to64,
            ) if wide => Some(instruction.immediate(1)),
            (Mnemonic::Xor, OpKind::Register) if wide && instruction.op1_register() == to => {
                Some(0)
            }
            _ => None,
        };
    }
}

impl Image for File<'_> {
    fn code(&self, address: u64) -> Option<&[u8]> {
        if self.tables.is_code(address) {
            self.memory.from(address)
        } else {
            None
        }
    }

    fn callee(&self, target: u64) -> Callee {
        self.tables.callee(&self.memory, target)
    }

    fn slot(&self, slot: u64) -> Callee {
        self.tables.slot(&self.memory, slot)
    }

    fn unwind(&self, address: u64) -> Result<Option<Unwind>, Why> {
        self.tables.unwind(&self.memory, address)
    }
}
