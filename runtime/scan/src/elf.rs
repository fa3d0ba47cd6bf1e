//! What an ELF object says about itself to the loader: which name each slot of
//! its offset tables stands for, its notes, and where its exception tables are.
//!
//! Works on the object as it is mapped, so that the same code reads a running
//! process's libraries and a file that a test laid out in memory. Everything
//! read is checked against the segments; nonsense gives less, never a panic.

use std::collections::BTreeMap;

use crate::{Callee, Entry, Unwind, Why};

/// A loaded segment or another entry of the program header table, in
/// addresses as mapped.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// `p_type`.
    pub kind: u32,
    /// `p_flags`.
    pub flags: u32,
    /// First address.
    pub start: u64,
    /// Length in memory, in bytes.
    pub length: u64,
}

/// Gives the mapped bytes of an object.
pub trait Memory {
    /// The bytes from `address` to the end of the segment that holds it, if it
    /// can be read.
    fn from(&self, address: u64) -> Option<&[u8]>;
}

/// What was read from the dynamic section and the notes.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    base: u64,
    segments: Vec<Segment>,
    slots: BTreeMap<u64, Slot>,
    symbols: u64,
    strings: u64,
    eh_frame_header: Option<u64>,
    /// Where the names of the libraries that the object is linked with begin among the strings, and its own name as a
    /// library.
    needed: Vec<u64>,
    name: Option<u64>,
    /// The build's identifier, empty where there is none.
    pub(crate) build_id: Vec<u8>,
    /// Whether there is thread-local storage.
    pub(crate) has_tls: bool,
}

#[derive(Clone, Copy, Debug)]
enum Slot {
    Symbol(u32),
    Relative(u64),
}

pub(crate) const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_NOTE: u32 = 4;
const PT_TLS: u32 = 7;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PF_X: u32 = 1;
pub(crate) const PF_W: u32 = 2;

const DT_NEEDED: u64 = 1;
const DT_PLTRELSZ: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_SONAME: u64 = 14;
const DT_JMPREL: u64 = 23;

/// Relocations by a symbol's address: `R_X86_64_64`, `_GLOB_DAT` and `_JUMP_SLOT`, and `R_AARCH64_ABS64` and so on. No
/// number of one machine means anything else for the other one.
const BY_SYMBOL: [u32; 6] = [1, 6, 7, 257, 1025, 1026];
/// `R_X86_64_RELATIVE` and `R_AARCH64_RELATIVE`.
const RELATIVE: [u32; 2] = [8, 1027];

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let part = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(part.try_into().ok()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let part = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(part.try_into().ok()?))
}

/// The slot through which an entry of the procedure linkage table at `target` jumps; none if no such entry is there.
fn linked(memory: &dyn Memory, target: u64) -> Option<u64> {
    let mut bytes = memory.from(target)?;
    let mut at = target;
    for mark in [&[0xf3, 0x0f, 0x1e, 0xfa][..], &[0xf2]] {
        if let Some(rest) = bytes.strip_prefix(mark) {
            bytes = rest;
            at += mark.len() as u64;
        }
    }
    let Some(bytes) = bytes.strip_prefix(&[0xff, 0x25]) else {
        return linked_a64(bytes, at);
    };
    let displacement = u32_at(bytes, 0)? as i32;
    Some(
        at.wrapping_add(6)
            .wrapping_add_signed(i64::from(displacement)),
    )
}

/// The same for A64: `adrp x16, page; ldr x17, [x16, slot]; add x16, x16, slot; br x17`, after a landing mark or not.
fn linked_a64(mut bytes: &[u8], mut at: u64) -> Option<u64> {
    if u32_at(bytes, 0)? == 0xd503_245f {
        bytes = &bytes[4..];
        at += 4;
    }
    let words = [0, 4, 12].map(|n| u32_at(bytes, n));
    let [Some(page), Some(load), Some(0xd61f_0220)] = words else {
        return None;
    };
    if page & 0x9f00_001f != 0x9000_0010 || load & 0xffc0_03ff != 0xf940_0211 {
        return None;
    }
    let pages = ((page << 8) as i32 >> 13 << 2) | (page >> 29 & 3) as i32;
    let page = (at & !0xfff).wrapping_add_signed(i64::from(pages) << 12);
    Some(page.wrapping_add(u64::from(load >> 10 & 0xfff) * 8))
}

/// Whether `address` is in an executable one of `segments`.
pub(crate) fn is_code(segments: &[Segment], address: u64) -> bool {
    segments.iter().any(|s| {
        s.kind == PT_LOAD
            && s.flags & PF_X != 0
            && address >= s.start
            && address - s.start < s.length
    })
}

/// The identifier of the build, from the notes.
pub(crate) fn build_id(memory: &dyn Memory, segments: &[Segment]) -> Option<Vec<u8>> {
    let notes = segments.iter().filter(|s| s.kind == PT_NOTE);
    notes.filter_map(|segment| noted(memory, segment)).last()
}

fn noted(memory: &dyn Memory, segment: &Segment) -> Option<Vec<u8>> {
    let bytes = memory.from(segment.start)?;
    let bytes = &bytes[..bytes.len().min(segment.length as usize)];
    let mut found = None;
    let mut at = 0;
    while let (Some(name), Some(length), Some(kind)) = (
        u32_at(bytes, at),
        u32_at(bytes, at + 4),
        u32_at(bytes, at + 8),
    ) {
        let name_at = at + 12;
        let padded = |n: u32| (n as usize).div_ceil(4) * 4;
        let data_at = name_at + padded(name);
        if kind == 3 && bytes.get(name_at..name_at + 4) == Some(b"GNU\0") {
            if let Some(id) = bytes.get(data_at..data_at + length as usize) {
                found = Some(id.to_vec());
            }
        }
        at = data_at + padded(length);
    }
    found
}

impl Tables {
    /// Reads an object that is mapped at `base` (what is added to the
    /// addresses in its file).
    pub fn read(memory: &dyn Memory, base: u64, segments: Vec<Segment>) -> Tables {
        let mut tables = Tables {
            base,
            ..Tables::default()
        };
        for segment in &segments {
            match segment.kind {
                PT_TLS => tables.has_tls = true,
                PT_GNU_EH_FRAME => tables.eh_frame_header = Some(segment.start),
                _ => {}
            }
        }
        tables.build_id = build_id(memory, &segments).unwrap_or_default();
        let dynamic = segments.iter().find(|s| s.kind == PT_DYNAMIC).copied();
        tables.segments = segments;
        if let Some(dynamic) = dynamic {
            tables.read_dynamic(memory, dynamic.start);
        }
        tables
    }

    /// Whether there is code at `address`.
    pub fn is_code(&self, address: u64) -> bool {
        is_code(&self.segments, address)
    }

    /// The segments as the object's headers name them.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    fn read_dynamic(&mut self, memory: &dyn Memory, start: u64) {
        let Some(bytes) = memory.from(start) else {
            return;
        };
        let mut values = BTreeMap::new();
        let mut at = 0;
        while let (Some(tag), Some(value)) = (u64_at(bytes, at), u64_at(bytes, at + 8)) {
            if tag == 0 {
                break;
            }
            match tag {
                DT_NEEDED => self.needed.push(value),
                DT_SONAME => self.name = Some(value),
                _ => {}
            }
            values.entry(tag).or_insert(value);
            at += 16;
        }
        // The C library adds the base to these in place; the vDSO and objects
        // whose dynamic section is read-only keep what the file says.
        let address = |tag: u64| {
            values
                .get(&tag)
                .map(|&value| self.mapped(value))
                .unwrap_or(0)
        };
        let length = |tag: u64| values.get(&tag).copied().unwrap_or(0);
        let (symbols, strings) = (address(DT_SYMTAB), address(DT_STRTAB));
        let lists = [
            (address(DT_JMPREL), length(DT_PLTRELSZ)),
            (address(DT_RELA), length(DT_RELASZ)),
        ];
        self.symbols = symbols;
        self.strings = strings;
        for (start, length) in lists {
            if start == 0 {
                continue;
            }
            let Some(bytes) = memory.from(start) else {
                continue;
            };
            let bytes = &bytes[..bytes.len().min(length as usize)];
            for entry in bytes.chunks_exact(24) {
                let (Some(offset), Some(info), Some(addend)) =
                    (u64_at(entry, 0), u64_at(entry, 8), u64_at(entry, 16))
                else {
                    continue;
                };
                let slot = self.base.wrapping_add(offset);
                match info as u32 {
                    kind if BY_SYMBOL.contains(&kind) => {
                        self.slots.insert(slot, Slot::Symbol((info >> 32) as u32));
                    }
                    kind if RELATIVE.contains(&kind) => {
                        let target = self.base.wrapping_add(addend);
                        if self.is_code(target) {
                            self.slots.insert(slot, Slot::Relative(target));
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn mapped(&self, value: u64) -> u64 {
        let inside = |address: u64| {
            self.segments
                .iter()
                .any(|s| s.kind == PT_LOAD && address >= s.start && address - s.start < s.length)
        };
        if inside(value) {
            value
        } else {
            self.base.wrapping_add(value)
        }
    }

    /// Where a pointer that the loader fills leads.
    pub fn slot(&self, memory: &dyn Memory, slot: u64) -> Callee {
        match self.slots.get(&slot) {
            None => Callee::Unknown,
            Some(Slot::Relative(target)) => Callee::Inside(*target),
            Some(Slot::Symbol(index)) => self.symbol(memory, *index).unwrap_or(Callee::Unknown),
        }
    }

    /// Whether the object asks for an entry of one of these kinds. An OpenMP runtime that calls its own entries does
    /// not.
    pub(crate) fn asks_for_any(&self, memory: &dyn Memory, entries: &[Entry]) -> bool {
        self.asks_for_what(memory, &|index, name| {
            Entry::of_name(name).is_some_and(|entry| entries.contains(&entry))
                && self.is_elsewhere(memory, index)
        })
    }

    /// Whether another object must define the symbol.
    fn is_elsewhere(&self, memory: &dyn Memory, index: u32) -> bool {
        let section = self
            .symbols
            .checked_add(u64::from(index) * 24)
            .and_then(|at| memory.from(at)?.get(6..8));
        section == Some(&[0, 0])
    }

    /// Whether the object asks for the function of this name.
    pub(crate) fn asks_for_name(&self, memory: &dyn Memory, name: &str) -> bool {
        self.asks_for_what(memory, &|_, asked| asked == name)
    }

    /// Whether the object asks for a symbol for which `is_wanted`, by the symbol's number and name. Objects have
    /// thousands of them: no name is copied.
    fn asks_for_what(&self, memory: &dyn Memory, is_wanted: &dyn Fn(u32, &str) -> bool) -> bool {
        self.slots.values().any(|slot| match slot {
            Slot::Symbol(index) => {
                let name = self.name_bytes(memory, *index);
                let name = name.and_then(|name| std::str::from_utf8(name).ok());
                name.is_some_and(|name| is_wanted(*index, name))
            }
            Slot::Relative(_) => false,
        })
    }

    /// Names of the libraries that the object is linked with.
    pub(crate) fn needed(&self, memory: &dyn Memory) -> Vec<String> {
        let names = self.needed.iter();
        names.filter_map(|&at| self.string(memory, at)).collect()
    }

    /// The name by which others are linked with the object.
    pub(crate) fn own_name(&self, memory: &dyn Memory) -> Option<String> {
        self.string(memory, self.name?)
    }

    /// Bytes of its executable segments.
    pub(crate) fn code_bytes(&self) -> u64 {
        let code = |s: &&Segment| s.kind == PT_LOAD && s.flags & PF_X != 0;
        self.segments.iter().filter(code).map(|s| s.length).sum()
    }

    fn name(&self, memory: &dyn Memory, index: u32) -> Option<String> {
        let name = self.name_bytes(memory, index)?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    fn name_bytes<'m>(&self, memory: &'m dyn Memory, index: u32) -> Option<&'m [u8]> {
        let at = self.symbols.checked_add(u64::from(index) * 24)?;
        let name_at = u32_at(memory.from(at)?, 0)?;
        self.bytes_of(memory, u64::from(name_at))
    }

    fn string(&self, memory: &dyn Memory, at: u64) -> Option<String> {
        let bytes = self.bytes_of(memory, at)?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    fn bytes_of<'m>(&self, memory: &'m dyn Memory, at: u64) -> Option<&'m [u8]> {
        let name = memory.from(self.strings.checked_add(at)?)?;
        let end = name.iter().take(4096).position(|&byte| byte == 0)?;
        Some(&name[..end])
    }

    fn symbol(&self, memory: &dyn Memory, index: u32) -> Option<Callee> {
        let at = self.symbols.checked_add(u64::from(index) * 24)?;
        let bytes = memory.from(at)?;
        let section = u16::from_le_bytes(bytes.get(6..8)?.try_into().ok()?);
        let value = u64_at(bytes, 8)?;
        let name = self.name(memory, index)?;
        Some(match Entry::of_name(&name) {
            Some(entry) => Callee::Runtime(entry),
            // Defined here: the loader might prefer another definition, but
            // programs that replace their own functions are not outlined code.
            None if section != 0 && self.is_code(self.base.wrapping_add(value)) => {
                Callee::Inside(self.base.wrapping_add(value))
            }
            None if name.is_empty() => Callee::Unknown,
            None => Callee::Named(name),
        })
    }

    /// Where a direct call or jump leads: through an entry of the procedure
    /// linkage table, with or without the landing mark of indirect-branch
    /// tracking, or to a function of the object.
    pub fn callee(&self, memory: &dyn Memory, target: u64) -> Callee {
        if !self.is_code(target) {
            return Callee::Unknown;
        }
        match linked(memory, target) {
            Some(slot) => self.slot(memory, slot),
            None => Callee::Inside(target),
        }
    }

    /// The name of the function that a direct call to `target` reaches through the procedure linkage table, where
    /// it does. Where [`Tables::callee`] says what kind of entry of the runtime that is, this says which one.
    pub(crate) fn callee_name(&self, memory: &dyn Memory, target: u64) -> Option<String> {
        self.slot_name(memory, linked(memory, target)?)
    }

    /// The name of the function whose address the loader puts into `slot`.
    pub(crate) fn slot_name(&self, memory: &dyn Memory, slot: u64) -> Option<String> {
        match self.slots.get(&slot)? {
            Slot::Symbol(index) => self.name(memory, *index),
            Slot::Relative(_) => None,
        }
    }

    /// The records of the part of a function that holds `address`, for a copy that lies `distance` behind it.
    pub(crate) fn frames(
        &self,
        memory: &dyn Memory,
        address: u64,
        distance: i64,
    ) -> Option<crate::unwind::frames::Part> {
        crate::unwind::frames::part(memory, self.eh_frame_header?, address, distance)
    }

    /// The exception tables' record of the function that holds `address`.
    ///
    /// # Errors
    /// [`Why::Unwind`] where there is a record but it is not understood.
    pub fn unwind(&self, memory: &dyn Memory, address: u64) -> Result<Option<Unwind>, Why> {
        match self.eh_frame_header {
            None => Ok(None),
            Some(header) => crate::unwind::find(memory, header, address),
        }
    }
}
