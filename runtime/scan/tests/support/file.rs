//! Programs that tests compiled, laid out in memory as the loader would, without running them.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;

use hetmp_scan::Form;
use object::{Object, ObjectSymbol};

/// A file at its own addresses, and its functions.
pub(crate) struct File {
    file: hetmp_scan::file::File<'static>,
    /// Functions by name, from the symbol table.
    pub(crate) functions: BTreeMap<String, u64>,
}

impl File {
    pub(crate) fn read(path: &Path) -> File {
        // For as long as the test's process lives.
        let data = std::fs::read(path).expect("the file can be read").leak();
        let mut functions = BTreeMap::new();
        for symbol in object::File::parse(&*data).expect("an ELF file").symbols() {
            let Ok(name) = symbol.name() else {
                continue;
            };
            if symbol.kind() == object::SymbolKind::Text && symbol.size() > 0 {
                functions.insert(name.to_string(), symbol.address());
            }
        }
        File {
            file: hetmp_scan::file::File::parse(data).expect("an x86-64 file"),
            functions,
        }
    }
}

impl Deref for File {
    type Target = hetmp_scan::file::File<'static>;

    fn deref(&self) -> &Self::Target {
        &self.file
    }
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
