//! ELF files laid out as the loader would, without running them: what `hetmp which` and tests read.

mod calls;

use crate::elf::{Memory, Segment, Tables};
use crate::kept::Identity;
use crate::{Callee, Form, Image, Machine, Unwind, Why};
use std::ops::Range;

/// An ELF file for x86-64 or 64-bit Arm, at its own addresses.
#[derive(Debug)]
pub struct File<'a> {
    machine: Machine,
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
    /// What the first four arguments are, where the code before the call puts constants or
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
const EM_AARCH64: u16 = 183;
const PT_LOAD: u32 = 1;

impl<'a> File<'a> {
    /// Reads a 64-bit ELF file for one of these machines; `None` where `data` is none, or is cut off.
    pub fn parse(data: &'a [u8]) -> Option<File<'a>> {
        let half = |at: usize| Some(u16::from_le_bytes(data.get(at..at + 2)?.try_into().ok()?));
        let word = |at: usize| crate::elf::u64_at(data, at);
        // Class 64, little endian.
        if !data.starts_with(b"\x7fELF\x02\x01") || data.len() < ELF_HEADER {
            return None;
        }
        let machine = match half(18)? {
            EM_X86_64 => Machine::X86_64,
            EM_AARCH64 => Machine::A64,
            _ => return None,
        };
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
        Some(File {
            machine,
            memory,
            tables,
        })
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
}

impl Image for File<'_> {
    fn machine(&self) -> Machine {
        self.machine
    }

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
