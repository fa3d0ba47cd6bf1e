//! One ELF file, as the dynamic loader and a linker's reader see it: what it needs, where it says that lies, and which
//! OpenMP names it asks for or brings.

use crate::elf::{self, Dynamic};
use object::elf::{FileHeader64, Sym64, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME};
use object::endian::Endianness;
use object::read::elf::{ElfFile64, FileHeader as _};
use object::{Object as _, ObjectSymbol as _};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Which OpenMP runtime a file is, or has in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Runtime {
    /// gcc's.
    Libgomp,
    /// LLVM's.
    Libomp,
    /// Intel's.
    Libiomp5,
    /// This project's.
    Libhetmp,
    /// With the entries of one, under a name that says nothing.
    Unknown,
}

impl Runtime {
    pub(super) fn name(self) -> &'static str {
        match self {
            Runtime::Libgomp => "libgomp",
            Runtime::Libomp => "libomp",
            Runtime::Libiomp5 => "libiomp5",
            Runtime::Libhetmp => "libhetmp",
            Runtime::Unknown => "unknown",
        }
    }

    /// The names under which programs need it as it is installed, for which ours are installed too.
    pub(super) fn is_plain_name(name: &str) -> bool {
        matches!(
            name,
            "libgomp.so.1" | "libomp.so" | "libomp.so.5" | "libiomp5.so"
        )
    }

    /// Of a file that has the entries by which compiled code opens regions.
    fn of(file_name: &str, soname: Option<&str>, gomp: bool, kmpc: bool) -> Option<Runtime> {
        if !gomp && !kmpc {
            return None;
        }
        let either = |start: &str| {
            file_name.starts_with(start) || soname.is_some_and(|name| name.starts_with(start))
        };
        Some(if either("libhetmp") {
            Runtime::Libhetmp
        } else if either("libgomp") {
            Runtime::Libgomp
        } else if either("libiomp") {
            Runtime::Libiomp5
        } else if either("libomp") {
            Runtime::Libomp
        } else {
            Runtime::Unknown
        })
    }
}

/// What is known about one file.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) soname: Option<String>,
    /// In their order.
    pub(super) needed: Vec<String>,
    /// Folders to search before `LD_LIBRARY_PATH`, with `$ORIGIN` replaced; empty where there are `runpaths`.
    pub(super) rpaths: Vec<PathBuf>,
    /// Folders to search after `LD_LIBRARY_PATH`.
    pub(super) runpaths: Vec<PathBuf>,
    /// OpenMP names that another file must bring, as `NAME@VERSION` where a version is asked for.
    pub(super) asks: BTreeSet<String>,
    /// OpenMP names that it brings, with and without their versions.
    pub(super) brings: BTreeSet<String>,
    /// It is an OpenMP runtime.
    pub(super) is: Option<Runtime>,
    /// A runtime was linked into it.
    pub(super) holds: Option<Runtime>,
    pub(super) data: Vec<u8>,
    /// This machine runs it.
    pub(super) is_native: bool,
}

/// Why a file is none that this can read.
#[derive(Debug)]
pub(super) struct Unfit(pub(super) String);

/// Whether compiled code finds this name in an OpenMP runtime.
pub(super) fn is_openmp(name: &str) -> bool {
    [
        "GOMP_", "GOACC_", "__kmpc_", "kmp_", "kmpc_", "omp_", "ompc_",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

impl Part {
    /// A file for this machine.
    pub(super) fn read(path: &Path) -> Result<Part, Unfit> {
        Part::read_any(path).and_then(|part| {
            if part.is_native {
                Ok(part)
            } else {
                Err(Unfit("for another architecture".to_owned()))
            }
        })
    }

    /// A file for any machine with 64 bits.
    pub(super) fn read_any(path: &Path) -> Result<Part, Unfit> {
        let unread = |error: std::io::Error| Unfit(error.to_string());
        hetmp_core::file::open(path).map_err(unread)?;
        if !elf::is_one(path) {
            return Err(Unfit("not an ELF file".to_owned()));
        }
        let data = hetmp_core::file::bytes(path, hetmp_core::file::LARGE).map_err(unread)?;
        Part::parse(path, data)
    }

    fn parse(path: &Path, data: Vec<u8>) -> Result<Part, Unfit> {
        let dynamic = Dynamic::read_any(&*data).map_err(Unfit)?;
        let broken = |error: object::Error| Unfit(format!("broken: {error}"));
        let header = FileHeader64::<Endianness>::parse(&*data).map_err(broken)?;
        let endian = header.endian().map_err(broken)?;
        let origin = path
            .canonicalize()
            .ok()
            .and_then(|whole| whole.parent().map(Path::to_owned))
            .unwrap_or_default();
        let folders = |wanted: u32| -> Vec<PathBuf> {
            dynamic
                .texts(wanted)
                .iter()
                .flat_map(|list| list.split(':'))
                .filter(|folder| !folder.is_empty())
                .map(|folder| PathBuf::from(expand(folder, &origin)))
                .collect()
        };
        let runpaths = folders(DT_RUNPATH);
        // The loader takes no notice of the older kind next to the newer.
        let rpaths = if runpaths.is_empty() {
            folders(DT_RPATH)
        } else {
            Vec::new()
        };
        let (soname, needed) = (dynamic.texts(DT_SONAME).pop(), dynamic.texts(DT_NEEDED));

        let file = ElfFile64::<Endianness>::parse(&*data).map_err(broken)?;
        let (mut asks, mut brings) = (BTreeSet::new(), BTreeSet::new());
        let (mut gomp, mut kmpc) = (false, false);
        let sections = header.sections(endian, &*data).ok();
        let versions = sections.and_then(|all| all.versions(endian, &*data).ok()?);
        for symbol in file.dynamic_symbols() {
            let Ok(name) = symbol.name() else { continue };
            let name = name.split('@').next().unwrap_or(name);
            let version = versions.as_ref().and_then(|all| {
                let index = all.version_index(endian, symbol.index());
                all.version(index).ok()?
            });
            if is_openmp(name) {
                let whole = version.map_or(name.to_owned(), |version| {
                    format!("{name}@{}", String::from_utf8_lossy(version.name()))
                });
                if symbol.is_undefined() {
                    asks.insert(whole);
                } else if is_global(symbol.elf_symbol()) {
                    brings.extend([whole, name.to_owned()]);
                }
            }
            if !symbol.is_undefined() && is_global(symbol.elf_symbol()) {
                gomp |= name == "GOMP_parallel";
                kmpc |= name == "__kmpc_fork_call";
            }
        }
        let (mut gomp_inside, mut kmpc_inside) = (false, false);
        for symbol in file.symbols().filter(|symbol| symbol.is_definition()) {
            let Ok(name) = symbol.name() else { continue };
            let name = name.split('@').next().unwrap_or(name);
            gomp_inside |= name == "GOMP_parallel";
            kmpc_inside |= name == "__kmpc_fork_call";
        }
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let exported = Runtime::of(&file_name, soname.as_deref(), gomp, kmpc);
        // A program, or a client under its own name, that exports a runtime's entries has the runtime in it.
        let is = exported.filter(|kind| {
            !dynamic.has_interpreter && (*kind != Runtime::Unknown || file_name.contains("omp"))
        });
        let holds = if is.is_some() {
            None
        } else if kmpc_inside || kmpc {
            Some(Runtime::Libomp)
        } else if gomp_inside || gomp {
            Some(Runtime::Libgomp)
        } else {
            None
        };
        Ok(Part {
            is_native: dynamic.is_native(),
            path: path.to_owned(),
            soname,
            needed,
            rpaths,
            runpaths,
            asks,
            brings,
            is,
            holds,
            data,
        })
    }

    /// A runtime under a name that was made up for one package (`libgomp-a34b3233.so.1.0.0`).
    pub(super) fn is_renamed(&self) -> bool {
        let name = self
            .soname
            .clone()
            .or_else(|| Some(self.path.file_name()?.to_string_lossy().into_owned()));
        self.is.is_some() && !name.is_some_and(|name| Runtime::is_plain_name(&name))
    }
}

fn is_global(symbol: &Sym64<Endianness>) -> bool {
    symbol.st_bind() != object::elf::STB_LOCAL
}

/// The loader's tokens in a folder's name.
fn expand(folder: &str, origin: &Path) -> String {
    let origin = origin.to_string_lossy();
    let mut text = folder.to_owned();
    for (token, value) in [
        ("ORIGIN", &*origin),
        ("LIB", "lib/x86_64-linux-gnu"),
        ("PLATFORM", "x86_64"),
    ] {
        text = text.replace(&format!("${{{token}}}"), value);
        text = text.replace(&format!("${token}"), value);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtimes_by_what_they_bring_and_their_names() {
        let of = Runtime::of;
        assert_eq!(of("libm.so.6", None, false, false), None);
        assert_eq!(
            of("libgomp.so.1", None, true, false),
            Some(Runtime::Libgomp)
        );
        let renamed = of(
            "libgomp-a34b3233.so.1.0.0",
            Some("libgomp-a34b3233.so.1.0.0"),
            true,
            false,
        );
        assert_eq!(renamed, Some(Runtime::Libgomp));
        // LLVM's has gcc's entries, too.
        assert_eq!(of("libomp.so.5", None, true, true), Some(Runtime::Libomp));
        assert_eq!(
            of("x.so", Some("libiomp5.so"), true, true),
            Some(Runtime::Libiomp5)
        );
        assert_eq!(
            of("libgomp.so.1", Some("libhetmp.so"), true, true),
            Some(Runtime::Libhetmp)
        );
        assert_eq!(
            of("libvendor.so", None, false, true),
            Some(Runtime::Unknown)
        );
    }

    #[test]
    fn the_loaders_tokens() {
        let origin = Path::new("/opt/x");
        assert_eq!(expand("$ORIGIN/../x.libs", origin), "/opt/x/../x.libs");
        assert_eq!(expand("${ORIGIN}", origin), "/opt/x");
        assert_eq!(expand("/plain", origin), "/plain");
    }

    #[test]
    fn what_is_no_file_of_this_machine() {
        let why = |bytes: &[u8]| {
            Part::parse(Path::new("x"), bytes.to_vec())
                .err()
                .map(|unfit| unfit.0)
        };
        assert_eq!(why(b"#!/bin/sh").as_deref(), Some("not an ELF file"));
        assert_eq!(why(b"\x7fELF").as_deref(), Some("for another architecture"));
        let cut = why(b"\x7fELF\x02\x01\x01\0\0\0");
        assert!(cut.is_some_and(|why| why.starts_with("broken")));
    }
}
