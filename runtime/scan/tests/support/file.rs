//! ELF files laid out in memory as the loader would, without running them.

use std::collections::BTreeMap;
use std::path::Path;

use hetmp_scan::elf::{Memory, Segment, Tables};
use hetmp_scan::{Callee, Form, Image, Unwind, Why};
use object::{Object, ObjectSymbol};

/// The segments of a file at its own addresses.
pub(crate) struct File {
    memory: Bytes,
    tables: Tables,
    /// Functions by name, from the symbol table.
    pub(crate) functions: BTreeMap<String, u64>,
}

struct Bytes(Vec<(u64, Vec<u8>)>);

impl Memory for Bytes {
    fn from(&self, address: u64) -> Option<&[u8]> {
        let (start, bytes) = self
            .0
            .iter()
            .find(|(start, bytes)| address >= *start && address - start < bytes.len() as u64)?;
        bytes.get((address - start) as usize..)
    }
}

impl File {
    pub(crate) fn read(path: &Path) -> File {
        let data = std::fs::read(path).expect("the file can be read");
        let word = |at: usize| u64::from_le_bytes(data[at..at + 8].try_into().unwrap());
        let half = |at: usize| u32::from_le_bytes(data[at..at + 4].try_into().unwrap());
        let (headers, count) = (word(32) as usize, half(56) as u16);
        let mut segments = Vec::new();
        let mut bytes = Vec::new();
        for index in 0..usize::from(count) {
            let at = headers + index * 56;
            let segment = Segment {
                kind: half(at),
                flags: half(at + 4),
                start: word(at + 16),
                length: word(at + 40),
            };
            if segment.kind == 1 {
                let (offset, size) = (word(at + 8) as usize, word(at + 32) as usize);
                let mut content = data[offset..offset + size].to_vec();
                content.resize(segment.length as usize, 0);
                bytes.push((segment.start, content));
            }
            segments.push(segment);
        }
        let memory = Bytes(bytes);
        let tables = Tables::read(&memory, 0, segments);
        let file = object::File::parse(&*data).expect("an ELF file");
        let functions = file
            .symbols()
            .filter(|symbol| symbol.kind() == object::SymbolKind::Text && symbol.size() > 0)
            .filter_map(|symbol| Some((symbol.name().ok()?.to_string(), symbol.address())))
            .collect();
        File {
            memory,
            tables,
            functions,
        }
    }
}

impl Image for File {
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

/// The functions that calls of `GOMP_parallel` start, found in the code.
#[allow(dead_code, reason = "each test uses what it needs of this file")]
pub(crate) fn outlined(file: &File) -> Vec<u64> {
    use hetmp_scan::Entry;
    let mut found = std::collections::BTreeSet::new();
    for (start, bytes) in &file.memory.0 {
        if !file.tables.is_code(*start) {
            continue;
        }
        // Every `call rel32` that leads to the runtime; the last `lea rdi,
        // [rip+x]` or `mov edi, x` in the 64 bytes before it.
        for at in 0..bytes.len().saturating_sub(7) {
            if bytes[at] != 0xe8 {
                continue;
            }
            let rel = i32::from_le_bytes(bytes[at + 1..at + 5].try_into().unwrap());
            let target = (start + at as u64 + 5).wrapping_add_signed(i64::from(rel));
            if file.callee(target) != Callee::Runtime(Entry::NestedParallel) {
                continue;
            }
            for back in (at.saturating_sub(96)..at).rev() {
                if bytes.get(back..back + 3) == Some(&[0x48, 0x8d, 0x3d]) {
                    let rel = i32::from_le_bytes(bytes[back + 3..back + 7].try_into().unwrap());
                    let function = (start + back as u64 + 7).wrapping_add_signed(i64::from(rel));
                    if file.tables.is_code(function) {
                        found.insert(function);
                        break;
                    }
                }
            }
        }
    }
    found.into_iter().collect()
}

/// In which form a compiler outlined the function of this name, if one did.
#[allow(dead_code, reason = "each test uses what it needs of this file")]
pub(crate) fn form(name: &str) -> Option<Form> {
    if name.contains("._omp_fn.") && !name.ends_with(".cold") {
        return Some(Form::Data);
    }
    // Of several in a function clang numbers all but the first.
    let (_, rest) = name.split_once(".omp_outlined")?;
    let number = rest.strip_prefix('.').unwrap_or(rest);
    number
        .chars()
        .all(|c| c.is_ascii_digit())
        .then_some(Form::Numbers)
}
