//! Finds function, file and line for an offset in an object file.
//!
//! Line numbers come from the object's debug information, or from a separate file that the build id names
//! (`/usr/lib/debug/.build-id`). Without both, there is only the function's name, from the symbol table or from the
//! report. An object that was changed since the report is not read, because its lines would be wrong.

use addr2line::Loader;
use hetmp_core::object::{plain_name, Functions};
use object::Object as _;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where separate debug information lies; gdb looks here too.
const DEBUG: &str = "/usr/lib/debug/.build-id";

/// A place in the program.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Place {
    pub(crate) region: String,
    pub(crate) module: Option<String>,
    pub(crate) build_id: Option<String>,
    pub(crate) offset: u64,
    pub(crate) symbol: Option<String>,
}

/// A place in the source, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Source {
    /// The function's name in the source.
    pub(crate) function: Option<String>,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// Why no more is known.
    pub(crate) note: Option<&'static str>,
}

/// Shows the source line; if that is not known, the function; else the offset.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => {
                let name = Path::new(file).file_name().unwrap_or_default();
                write!(f, "{}:{line}", name.to_string_lossy())
            }
            (Some(file), None) => f.write_str(file),
            (None, _) => f.write_str("-"),
        }
    }
}

struct Module {
    functions: Functions,
    /// The object itself, then its separate debug information.
    loaders: Vec<Loader>,
    note: Option<&'static str>,
}

/// All objects that were read so far.
#[derive(Default)]
pub(crate) struct Sources {
    modules: BTreeMap<(PathBuf, Option<String>), Module>,
}

impl Sources {
    /// The source of `place`. `after_call`: the place is the return address of a call, and the line of the call is
    /// wanted, unless it is where a function begins: the body of a region that is one loop.
    pub(crate) fn find(&mut self, place: &Place, after_call: bool) -> Source {
        let recorded = |note| Source {
            function: place.symbol.as_deref().map(|s| plain_name(s).to_owned()),
            note,
            ..Source::default()
        };
        let Some(path) = &place.module else {
            return recorded(Some("code that is in no file"));
        };
        let key = (PathBuf::from(path), place.build_id.clone());
        let module = self
            .modules
            .entry(key)
            .or_insert_with_key(|(path, id)| Module::open(path, id.as_deref()));
        let before = place.offset.saturating_sub(u64::from(after_call));
        let begins = module.functions.at(before) != module.functions.at(place.offset);
        let at = if begins { place.offset } else { before };
        let mut source = recorded(module.note);
        if let Some(name) = module.functions.at(at) {
            source.function = Some(plain_name(name).to_owned());
        }
        for loader in &module.loaders {
            // Damaged debug information counts as none.
            if let Ok(Some(location)) = loader.find_location(at) {
                if let (Some(file), Some(line)) = (location.file, location.line) {
                    source.file = Some(file.to_owned());
                    source.line = Some(line);
                    return source;
                }
            }
        }
        source.note = source
            .note
            .or(Some("no debug information (compile with -g)"));
        source
    }
}

impl Module {
    fn open(path: &Path, build_id: Option<&str>) -> Module {
        let mut module = Module {
            functions: Functions::default(),
            loaders: Vec::new(),
            note: None,
        };
        // The path in a report may name anything, and a pipe would never end.
        match hetmp_core::file::bytes(path, hetmp_core::file::LARGE).ok() {
            None => module.note = Some("the file is gone"),
            Some(bytes) if differs(&bytes, build_id) => {
                module.note = Some("the file was changed since");
            }
            Some(_) => {
                module.functions = Functions::of(path);
                module.loaders.extend(Loader::new(path));
            }
        }
        let split = build_id
            .filter(|id| id.len() > 2 && id.bytes().all(|b| b.is_ascii_hexdigit()))
            .map(|id| {
                Path::new(DEBUG)
                    .join(&id[..2])
                    .join(format!("{}.debug", &id[2..]))
            });
        if let Some(split) = split.filter(|p| p.is_file()) {
            module.loaders.extend(Loader::new(split));
        }
        module
    }
}

/// True if this is not the object with that build id.
fn differs(bytes: &[u8], build_id: Option<&str>) -> bool {
    let Some(wanted) = build_id else { return false };
    let Ok(file) = object::File::parse(bytes) else {
        return true;
    };
    let found = file.build_id().ok().flatten().unwrap_or_default();
    let hex: String = found.iter().map(|b| format!("{b:02x}")).collect();
    hex != wanted
}
