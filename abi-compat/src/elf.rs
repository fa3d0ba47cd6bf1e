//! Reads what a shared library offers to the dynamic loader: soname, version nodes,
//! versioned exports, thread-local storage.

use object::elf;
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader, Sym};
use object::Endianness;
use std::collections::BTreeMap;
use std::path::Path;

/// A defined dynamic symbol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its version node; none if it is unversioned.
    pub node: Option<String>,
    /// It is the default version of its name.
    pub default: bool,
    /// It is a function.
    pub function: bool,
    /// Its binding is weak.
    pub weak: bool,
}

/// The parts of a shared library that the dynamic loader sees.
#[derive(Clone, Debug)]
pub struct SharedLibrary {
    /// `DT_SONAME`.
    pub soname: Option<String>,
    /// `DT_NEEDED`.
    pub needed: Vec<String>,
    /// `DF_1_NODELETE` is set.
    pub nodelete: bool,
    /// Every defined dynamic symbol except the version nodes' own.
    pub symbols: Vec<Symbol>,
    /// Version nodes and the node each inherits from.
    pub nodes: BTreeMap<String, Option<String>>,
    /// Bytes of thread-local storage.
    pub tls_size: u64,
}

/// Reads the 64-bit little-endian shared library at `path`.
///
/// # Errors
/// One line: the file cannot be read or is not such a library.
pub fn read(path: &Path) -> Result<SharedLibrary, String> {
    let data = std::fs::read(path).map_err(|e| format!("library {}: {e}", path.display()))?;
    parse(&data).map_err(|e| {
        format!(
            "library {}: {e} (expected a 64-bit ELF shared library)",
            path.display()
        )
    })
}

fn parse(data: &[u8]) -> object::Result<SharedLibrary> {
    let file = ElfFile64::<Endianness>::parse(data)?;
    let header = file.elf_header();
    let endian = header.endian()?;
    let sections = header.sections(endian, data)?;
    let segments = header.program_headers(endian, data)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();

    let mut library = SharedLibrary {
        soname: None,
        needed: Vec::new(),
        nodelete: false,
        symbols: Vec::new(),
        nodes: BTreeMap::new(),
        tls_size: segments
            .iter()
            .filter(|s| s.p_type(endian) == elf::PT_TLS)
            .map(|s| s.p_memsz(endian))
            .sum(),
    };

    if let Some((entries, link)) = sections.dynamic(endian, data)? {
        let strings = sections.strings(endian, data, link)?;
        for entry in entries {
            let tag = entry.tag32(endian);
            match tag {
                Some(elf::DT_SONAME) => {
                    library.soname = Some(text(entry.string(endian, strings)?));
                }
                Some(elf::DT_NEEDED) => library.needed.push(text(entry.string(endian, strings)?)),
                Some(elf::DT_FLAGS_1) => {
                    library.nodelete = entry.d_val(endian) & u64::from(elf::DF_1_NODELETE) != 0;
                }
                _ => {}
            }
        }
    }

    if let Some((mut definitions, link)) = sections.gnu_verdef(endian, data)? {
        let strings = sections.strings(endian, data, link)?;
        while let Some((definition, mut names)) = definitions.next()? {
            let mut own = None;
            let mut parent = None;
            while let Some(name) = names.next()? {
                let name = text(name.name(endian, strings)?);
                if own.is_none() {
                    own = Some(name);
                } else {
                    parent = Some(name);
                }
            }
            // The base definition is no version node: its name is the soname.
            if definition.vd_flags.get(endian) & elf::VER_FLG_BASE == 0 {
                if let Some(own) = own {
                    library.nodes.insert(own, parent);
                }
            }
        }
    }

    let versions = sections.versions(endian, data)?;
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM)?;
    for (index, symbol) in symbols.enumerate() {
        if symbol.st_shndx(endian) == elf::SHN_UNDEF || symbol.is_local() {
            continue;
        }
        let name = text(symbols.symbol_name(endian, symbol)?);
        let (node, default) = match &versions {
            None => (None, true),
            Some(versions) => {
                let version = versions.version_index(endian, index);
                let node = versions.version(version)?.map(|v| text(v.name()));
                (node, !version.is_hidden())
            }
        };
        // The linker also defines an absolute symbol of the node's own name for each version node.
        if symbol.st_shndx(endian) == elf::SHN_ABS && node.as_ref() == Some(&name) {
            continue;
        }
        let function = matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC);
        library.symbols.push(Symbol {
            name,
            node,
            default,
            function,
            weak: symbol.st_bind() == elf::STB_WEAK,
        });
    }
    library.symbols.sort();
    Ok(library)
}
