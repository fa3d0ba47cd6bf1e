//! `hetmp which`: which OpenMP runtimes a program or a Python package would load, which of them libhetmp.so takes the
//! place of and how, and what the schedules can do with each part's regions. Nothing of the target is run.
//!
//! * [`part`] reads one file; [`search`] finds, as the dynamic loader does, what else is loaded with it; [`python`]
//!   asks an interpreter for a package's files.
//! * [`regions`] counts in a file's code, by the scan that the runtime itself uses. [`prepare`] keeps what that finds.
//! * [`text`] prints.
//!
//! **Data in**: ELF files, ld.so's configuration, what a package's installer wrote down. **Data out**: tables or JSON.

mod part;
pub(crate) mod prepare;
mod python;
mod regions;
mod search;
mod text;

use crate::elf;
use crate::run::program;
use crate::Output;
use part::{Part, Runtime};
use regions::Counts;
use search::{Process, Search, Way};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The interpreter whose packages are meant, if none is named.
const PYTHON: &str = "python3";

#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    targets: Targets,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What to look at.
#[derive(Debug, clap::Args)]
struct Targets {
    /// Programs or shared libraries, by path or as a shell finds them, or Python packages
    #[arg(required = true, value_name = "PROGRAM|PACKAGE")]
    targets: Vec<OsString>,
    /// The interpreter whose packages are meant [default: python3]
    #[arg(long, value_name = "FILE")]
    python: Option<String>,
}

/// An OpenMP runtime of the process.
#[derive(Debug, Serialize)]
struct FoundRuntime {
    path: PathBuf,
    runtime: Runtime,
    /// Under a name made up for one package.
    renamed: bool,
    /// Not a library of its own, but a part of this file.
    linked_in: bool,
    asked_by: Vec<PathBuf>,
    /// `LD_PRELOAD=libhetmp.so` takes its place.
    preload: bool,
    /// libhetmp.so's folder in `LD_LIBRARY_PATH` takes its place.
    library_path: bool,
    /// Names that a file takes from it and that libhetmp.so does not have, which is why nothing takes its place.
    needed: BTreeSet<String>,
}

/// A file that uses OpenMP.
#[derive(Debug, Serialize)]
struct FoundPart {
    path: PathBuf,
    /// How many of the runtime's functions it names.
    entries: usize,
    /// Missing where the code is for another machine than those that are read.
    #[serde(flatten)]
    counts: Option<Counts>,
}

#[derive(Debug, Default, Serialize)]
struct Found {
    /// Distributions of Python that were looked at, with versions.
    packages: Vec<String>,
    runtimes: Vec<FoundRuntime>,
    parts: Vec<FoundPart>,
    /// Libraries that are needed and not there.
    missing: Vec<String>,
    /// Files that were looked at.
    files: usize,
    /// One of them is for another machine than this one.
    foreign: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Output {
    let found = match look(arguments) {
        Ok(found) => found,
        Err(error) => return Output::refuse(error),
    };
    let text = if arguments.json {
        // Strings and numbers only: this cannot fail.
        serde_json::to_string_pretty(&found)
            .map_or_else(|error| error.to_string(), |text| text + "\n")
    } else {
        text::of(&found)
    };
    Output {
        text,
        ..Output::default()
    }
}

/// The name of the one OpenMP runtime that a program loads at its start; `None` if there is none, or several.
pub(crate) fn runtime(program: &Path) -> Option<&'static str> {
    let mut process = Process::default();
    let path = program::interpreted_by(program).ok()?;
    Search::new().load(&mut process, Part::read(&path).ok()?);
    let files = process.files.iter();
    let mut runtimes = files.filter_map(|file| file.part.is.or(file.part.holds));
    let first = runtimes.next()?;
    runtimes.next().is_none().then(|| first.name())
}

fn look(arguments: &Arguments) -> Result<Found, String> {
    let mut found = Found::default();
    let process = process(&arguments.targets, &mut found)?;
    found.fill(&process);
    Ok(found)
}

/// The files of all targets. Packages of Python are named in `found`.
fn process(asked: &Targets, found: &mut Found) -> Result<Process, String> {
    let search = Search::new();
    let mut process = Process::default();
    let python = asked.python.as_deref();
    for target in &asked.targets {
        let file = file(target)?;
        // A script with the name of a package starts it.
        let is_program = target.as_bytes().contains(&b'/')
            || python.is_none() && file.as_deref().is_some_and(elf::is_one);
        if !is_program {
            match package(target, python, &search, &mut process, found) {
                Ok(true) => continue,
                Err(error) if file.is_none() => return Err(error),
                _ => {}
            }
        }
        let Some(path) = file else {
            return Err(format!(
                "{}: neither a program that a shell would find nor a package of {} (expected such a name)",
                Path::new(target).display(),
                python.unwrap_or(PYTHON)
            ));
        };
        let path = program::interpreted_by(&path)?;
        let part =
            Part::read_any(&path).map_err(|unfit| search::refused("program", &path, &unfit))?;
        search.load(&mut process, part);
    }
    Ok(process)
}

/// The file that `target` means, `None` where there is none.
fn file(target: &OsString) -> Result<Option<PathBuf>, String> {
    let direct = Path::new(target);
    if direct.is_file() {
        return Ok(Some(direct.to_owned()));
    }
    if !target.as_bytes().contains(&b'/') {
        return Ok(program::found(target));
    }
    let why = if direct.is_dir() {
        "a folder"
    } else if direct.exists() {
        "not a regular file"
    } else {
        "not found"
    };
    Err(format!(
        "program {}: {why} (expected an ELF file, a script or a Python package)",
        direct.display()
    ))
}

/// Adds a package of `python` with what it requires. False where there is none of that name.
fn package(
    target: &OsString,
    python: Option<&str>,
    search: &Search,
    process: &mut Process,
    found: &mut Found,
) -> Result<bool, String> {
    let name = target.to_string_lossy();
    let Some(package) = python::package(python.unwrap_or(PYTHON), &name)? else {
        return Ok(false);
    };
    // An interpreter that is no ELF file of its own (a launcher) is left out.
    if let Ok(part) = Part::read(&package.python) {
        search.load(process, part);
    }
    for distribution in &package.distributions {
        let name = format!("{} {}", distribution.name, distribution.version);
        if !found.packages.iter().any(|known| known == name.trim()) {
            found.packages.push(name.trim().to_owned());
        }
        for path in &distribution.files {
            // A wheel may hold files for other machines.
            let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
            if let Ok(part) = Part::read(&whole) {
                search.load(process, part);
            }
        }
    }
    Ok(true)
}

/// The names that the files of the process ask for and that libhetmp.so does not have. None if that library is not
/// where these commands are.
fn needed(process: &Process) -> BTreeSet<String> {
    let library = crate::library::beside_this_command("libhetmp.so");
    let Some(ours) = library.and_then(|path| Part::read(&path).ok()) else {
        return BTreeSet::new();
    };
    let users = process.files.iter().filter(|file| file.part.is.is_none());
    users
        .flat_map(|file| file.part.asks.difference(&ours.brings))
        .cloned()
        .collect()
}

impl Found {
    fn fill(&mut self, process: &Process) {
        self.files = process.files.len();
        self.foreign = process.files.iter().any(|file| !file.part.is_native);
        // What came with a file named later is there when the process needs it.
        let there = |name: &str| {
            process
                .files
                .iter()
                .any(|file| file.part.soname.as_deref() == Some(name))
        };
        self.missing = process
            .missing
            .iter()
            .filter(|name| !there(name))
            .cloned()
            .collect();
        let needed = needed(process);
        for file in &process.files {
            let part = &file.part;
            let Some(runtime) = part.is.or(part.holds) else {
                continue;
            };
            let linked_in = part.is.is_none();
            let needed: BTreeSet<String> = if linked_in {
                BTreeSet::new()
            } else {
                needed.intersection(&part.brings).cloned().collect()
            };
            let by_plain_names = file.way == Way::Searched
                && file.names.iter().all(|name| Runtime::is_plain_name(name));
            self.runtimes.push(FoundRuntime {
                path: part.path.clone(),
                runtime,
                renamed: part.is_renamed() && runtime != Runtime::Libhetmp,
                linked_in,
                asked_by: file
                    .users
                    .iter()
                    .map(|&user| process.files[user].part.path.clone())
                    .collect(),
                preload: !linked_in && needed.is_empty(),
                library_path: !linked_in && needed.is_empty() && by_plain_names,
                needed,
            });
        }
        for file in &process.files {
            let part = &file.part;
            if part.is.is_none() && !part.asks.is_empty() {
                self.parts.push(FoundPart {
                    path: part.path.clone(),
                    entries: part.asks.len(),
                    counts: Counts::of(part),
                });
            }
        }
    }
}
