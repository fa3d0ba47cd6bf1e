//! The parts of an object that the linker can place: its functions, variables and constants.

use object::elf;
use object::{
    Object as _, ObjectComdat as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags,
    RelocationTarget, SectionFlags, SymbolKind,
};
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Text,
    Constant,
    Data,
    Bss,
}

/// A section that is placed by its name.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// That of a function, variable or constant in it.
    pub(crate) name: String,
    pub(crate) section: String,
    pub(crate) kind: Kind,
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// The linker keeps one of several in as many objects (inline functions and templates of C++).
    pub(crate) is_common: bool,
    /// No other object can name it.
    pub(crate) is_local: bool,
    /// All that has a name in it, by name: where, and how large.
    pub(crate) symbols: BTreeMap<String, (u64, u64)>,
}

/// One object of one machine.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) placed: Vec<Part>,
    /// Bytes of constants that are placed together: texts, tables of jumps.
    pub(crate) loose: u64,
    /// Names that others can use, and names of others.
    pub(crate) defined: Vec<String>,
    pub(crate) undefined: Vec<String>,
    /// Variables that whoever links defines (`COMMON` of Fortran): size and alignment.
    pub(crate) unplaced: BTreeMap<String, (u64, u64)>,
    /// Functions whose addresses are stored or passed on.
    pub(crate) addressed: Vec<String>,
    /// Variables that hold addresses of functions or variables of others: which, whose.
    pub(crate) points_out: Vec<(String, String)>,
}

/// A symbol with a place in a section.
struct Named {
    name: String,
    at: u64,
    size: u64,
    is_function: bool,
    is_local: bool,
}

/// Sections that each half has for itself, where its linker puts them.
const PRIVATE: &[&str] = &[
    ".eh_frame",
    ".gcc_except_table",
    ".init_array",
    ".fini_array",
    ".preinit_array",
    ".ctors",
    ".dtors",
    ".note",
    ".tm_clone_table",
    // What `target` regions would run on a device: each half has its own table.
    ".gnu.offload_",
];

/// Suffixes of functions that a compiler has made for its own use, and whose addresses nobody takes.
const CLONES: &[&str] = &[".constprop.", ".isra.", ".part.", ".cold", ".localalias"];

pub(crate) fn is_clone(name: &str) -> bool {
    CLONES.iter().any(|suffix| name.contains(suffix))
}

impl Parts {
    /// # Errors
    /// What is wrong with the object, and what is expected.
    pub(crate) fn read(bytes: &[u8]) -> Result<Parts, String> {
        let broken = |e: object::Error| format!("{e} (expected an object of hetcc)");
        let file = object::File::parse(bytes).map_err(broken)?;
        let mut parts = Parts::default();
        let mut of_section: HashMap<usize, Vec<Named>> = HashMap::new();
        for symbol in file.symbols() {
            let name = symbol.name().map_err(broken)?.to_owned();
            if name.is_empty() || symbol.kind() == SymbolKind::File {
                continue;
            }
            if symbol.is_common() && symbol.kind() != SymbolKind::Tls {
                let raw = object::ObjectSymbol::address(&symbol).max(1);
                parts.unplaced.insert(name, (symbol.size(), raw));
                continue;
            }
            if symbol.is_undefined() {
                if !symbol.is_weak() {
                    parts.undefined.push(name);
                }
                continue;
            }
            if !symbol.is_local() {
                parts.defined.push(name.clone());
            }
            let is_function = symbol.kind() == SymbolKind::Text;
            let is_named = is_function || symbol.kind() == SymbolKind::Data;
            if let (Some(section), true) = (symbol.section_index(), is_named) {
                let row = Named {
                    name,
                    at: symbol.address(),
                    size: symbol.size(),
                    is_function,
                    is_local: symbol.is_local(),
                };
                of_section.entry(section.0).or_default().push(row);
            }
        }
        let common: Vec<usize> = file
            .comdats()
            .flat_map(|c| c.sections().map(|s| s.0).collect::<Vec<_>>())
            .collect();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags } = section.flags() else {
                continue;
            };
            let has = |flag: u32| sh_flags & u64::from(flag) != 0;
            let name = section.name().map_err(broken)?;
            // DW.ref: the address of a library's function, for the tables of exceptions.
            let is_private =
                PRIVATE.iter().any(|p| name.starts_with(p)) || name.contains(".DW.ref.");
            if !has(elf::SHF_ALLOC) || has(elf::SHF_TLS) || is_private || section.size() == 0 {
                continue;
            }
            let is_empty = section.kind() == object::SectionKind::UninitializedData;
            let (kind, begin) = match (has(elf::SHF_EXECINSTR), has(elf::SHF_WRITE)) {
                (true, false) => (Kind::Text, ".text"),
                (false, false) => (Kind::Constant, ".rodata"),
                (_, true) if is_empty => (Kind::Bss, ".bss"),
                _ => (Kind::Data, ".data"),
            };
            if !name.starts_with(begin) {
                return Err(format!(
                    "section '{name}' is placed by its program (expected none)"
                ));
            }
            let symbols = of_section.remove(&section.index().0).unwrap_or_default();
            let symbols: Vec<_> = symbols
                .into_iter()
                .filter(|s| s.is_function == (kind == Kind::Text))
                .collect();
            let first = symbols.iter().min_by_key(|s| (s.at, s.is_local, &s.name));
            parts.relocations(&file, &section, kind, first.map_or("", |f| &f.name))?;
            let Some(first) = first else {
                match kind {
                    // Texts and tables of jumps.
                    Kind::Constant => {
                        let room = section.size().saturating_add(section.align().max(64));
                        parts.loose = parts.loose.saturating_add(room);
                    }
                    // Thunks and the like, which only their own object calls.
                    Kind::Text => {}
                    _ => return Err(format!("section '{name}' has no variable (expected one)")),
                }
                continue;
            };
            parts.placed.push(Part {
                name: first.name.clone(),
                section: name.to_owned(),
                kind,
                size: section.size(),
                align: section.align().max(1),
                is_common: common.contains(&section.index().0),
                is_local: first.is_local,
                symbols: symbols
                    .into_iter()
                    .map(|s| (s.name, (s.at, s.size)))
                    .collect(),
            });
        }
        parts.addressed.sort_unstable();
        parts.addressed.dedup();
        Ok(parts)
    }

    /// Whose addresses a section holds.
    fn relocations(
        &mut self,
        file: &object::File<'_>,
        section: &object::Section<'_, '_>,
        kind: Kind,
        name: &str,
    ) -> Result<(), String> {
        for (_, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                continue;
            };
            let is_arm = file.architecture() == object::Architecture::Aarch64;
            // Anything but a call or jump.
            let (takes, bias) = match (is_arm, r_type) {
                (false, elf::R_X86_64_64 | elf::R_X86_64_32 | elf::R_X86_64_32S) => (true, 0),
                (false, elf::R_X86_64_PC32) => (true, 4),
                (true, elf::R_AARCH64_ABS64 | elf::R_AARCH64_ADR_PREL_PG_HI21) => (true, 0),
                _ => (false, 0),
            };
            let RelocationTarget::Symbol(index) = relocation.target() else {
                continue;
            };
            let Ok(symbol) = file.symbol_by_index(index) else {
                continue;
            };
            if !takes {
                continue;
            }
            if symbol.is_undefined() {
                let outside = symbol.name().unwrap_or_default().to_owned();
                if matches!(kind, Kind::Data) {
                    self.points_out.push((name.to_owned(), outside));
                }
                continue;
            }
            // A function of this object, by its own name or by its section and the place there.
            let at = symbol
                .address()
                .wrapping_add_signed(relocation.addend())
                .wrapping_add_signed(bias);
            let target = match symbol.kind() {
                SymbolKind::Text => Some(symbol.name().unwrap_or_default().to_owned()),
                SymbolKind::Section => file
                    .symbols()
                    .find(|s| {
                        s.kind() == SymbolKind::Text
                            && s.section_index() == symbol.section_index()
                            && s.address() == at
                    })
                    .map(|s| s.name().unwrap_or_default().to_owned()),
                _ => None,
            };
            self.addressed.extend(target.filter(|t| !is_clone(t)));
        }
        Ok(())
    }
}
