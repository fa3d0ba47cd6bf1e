//! The programs of `c-tests/shmem`: reads their header lines, and builds them.

use super::launch::{self, Command};
use hetmp_abi_compat::library;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// A program and its header lines (`shmem-test: NAME=VALUE`, described in `c-tests/shmem/README.md`).
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The file's name without its extension. The program's line begins with this name.
    pub(crate) name: String,
    source: PathBuf,
    /// The names of the ways to build it. Most tests use the first one.
    pub(crate) builds: Vec<String>,
    flags: Vec<String>,
    /// Variables for its runs.
    pub(crate) env: Vec<(String, String)>,
    /// Argument lists of its runs; `@pes` stands for the number of PEs.
    pub(crate) args: Vec<Vec<String>>,
    /// The numbers of PEs, if the program does not run with every number.
    pub(crate) pes: Vec<u32>,
    /// Also runs under Open MPI's OpenSHMEM, with the same output.
    pub(crate) peer: bool,
    /// Not run by the general tests: other modules have tests for it.
    pub(crate) manual: bool,
    /// The program takes seconds by its nature, so it is not repeated for every setting.
    pub(crate) slow: bool,
}

fn folder() -> PathBuf {
    library::root().join("c-tests/shmem")
}

/// All programs, by name.
pub(crate) fn all() -> Vec<Program> {
    let mut programs: Vec<Program> = fs::read_dir(folder())
        .expect("hetmp: folder c-tests/shmem: is needed")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c" || e == "cc"))
        .map(|path| read(&path))
        .collect();
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!programs.is_empty(), "hetmp: folder c-tests/shmem: empty");
    programs
}

/// The program of a name.
pub(crate) fn named(name: &str) -> Program {
    let found = all().into_iter().find(|p| p.name == name);
    found.unwrap_or_else(|| panic!("hetmp: program {name} (expected one of c-tests/shmem)"))
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn read(path: &Path) -> Program {
    let text = fs::read_to_string(path).expect("a readable program");
    let mut program = Program {
        name: path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned(),
        source: path.to_owned(),
        builds: vec![],
        flags: vec![],
        env: vec![],
        args: vec![],
        pes: vec![],
        peer: false,
        manual: false,
        slow: false,
    };
    for line in text.lines().take(12) {
        let Some((_, setting)) = line.split_once("shmem-test: ") else {
            continue;
        };
        let setting = setting.trim_end().trim_end_matches("*/").trim_end();
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        match name {
            "builds" => program.builds = words(value),
            "flags" => program.flags = words(value),
            "args" => program.args.push(words(value)),
            "env" => {
                let (name, value) = value.split_once('=').expect("env=NAME=VALUE");
                program.env.push((name.to_owned(), value.to_owned()));
            }
            "pes" => {
                let numbers = value.split_whitespace().map(|n| n.parse().expect("PEs"));
                program.pes = numbers.collect();
            }
            "peer" => program.peer = value == "yes",
            "manual" => program.manual = true,
            "slow" => program.slow = true,
            _ => panic!("hetmp: line {line} (expected the settings of c-tests/shmem/README.md)"),
        }
    }
    if program.builds.is_empty() {
        program.builds.push("default".to_owned());
    }
    if program.args.is_empty() {
        program.args.push(vec![]);
    }
    program
}

/// Where this runner keeps what it builds.
pub(crate) fn scratch() -> PathBuf {
    library::target_dir().join("shmem-tests")
}

/// The folder of an installation of the library under test, or the one that `HETMP_TEST_PREFIX` names.
pub(crate) fn prefix() -> &'static Path {
    static INSTALLED: OnceLock<PathBuf> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        let prefix = std::env::var_os("HETMP_TEST_PREFIX")
            .map_or_else(|| scratch().join("prefix"), PathBuf::from);
        forget_others(&prefix);
        library::installed(&prefix)
    })
}

/// Removes programs that an earlier run built for another prefix: their rpath names that prefix.
fn forget_others(prefix: &Path) {
    let bin = scratch().join("bin");
    let note = bin.join("prefix");
    let own = prefix.display().to_string();
    if fs::read_to_string(&note).is_ok_and(|text| text == own) {
        return;
    }
    let _ = fs::remove_dir_all(&bin);
    fs::create_dir_all(&bin)
        .and_then(|()| fs::write(&note, own))
        .expect("a folder to build in");
}

/// Which library a program is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Library {
    /// Ours, by the compiler wrapper that is installed.
    Ours,
    /// Open MPI's.
    OpenMpi,
}

fn flags_of(build: &str, cxx: bool) -> Vec<String> {
    let standard = match build {
        "c++11" => "-std=c++11",
        "c++20" => "-std=c++20",
        _ if cxx => "-std=c++17",
        _ => "-std=gnu11",
    };
    let of_build: &[&str] = match build {
        "default" | "c++11" | "c++20" => &["-O1"],
        "O0" => &["-O0"],
        "pie" => &["-O1", "-fPIE", "-pie"],
        "nopie" => &["-O1", "-fno-pie", "-no-pie"],
        "asan" => &[
            "-O1",
            "-fsanitize=address,undefined",
            "-fno-omit-frame-pointer",
        ],
        other => {
            panic!("hetmp: build {other} (expected default, O0, pie, nopie, asan, c++11, c++20)")
        }
    };
    std::iter::once(standard)
        .chain(of_build.iter().copied())
        .map(str::to_owned)
        .collect()
}

type Made = Arc<OnceLock<Result<PathBuf, String>>>;

impl Program {
    /// The executable for one way to build the program. It is built at the first call.
    pub(crate) fn build(&self, build: &str, library: Library) -> Result<PathBuf, String> {
        static MADE: Mutex<BTreeMap<(String, String, Library), Made>> = Mutex::new(BTreeMap::new());
        let made = {
            let mut all = MADE.lock().unwrap_or_else(PoisonError::into_inner);
            let key = (self.name.clone(), build.to_owned(), library);
            Arc::clone(all.entry(key).or_default())
        };
        made.get_or_init(|| self.make(build, library)).clone()
    }

    fn make(&self, build: &str, library: Library) -> Result<PathBuf, String> {
        let cxx = self.source.extension().is_some_and(|e| e == "cc");
        let (wrapper, of) = match library {
            Library::Ours => (
                prefix().join(if cxx { "bin/oshc++" } else { "bin/oshcc" }),
                "ours",
            ),
            Library::OpenMpi => (PathBuf::from("/usr/bin/oshcc"), "openmpi"),
        };
        let bin = scratch().join("bin");
        fs::create_dir_all(&bin).map_err(|e| format!("folder {}: {e}", bin.display()))?;
        let out = bin.join(format!("{}-{build}-{of}", self.name));
        if current(&out, &self.source) {
            return Ok(out);
        }
        let mut command = Command::new(wrapper)
            .args(flags_of(build, cxx))
            .args(["-g", "-Wall", "-Wextra"])
            .args(&self.flags)
            .args([
                self.source.display().to_string(),
                "-o".to_owned(),
                out.display().to_string(),
            ])
            .limit(Duration::from_secs(240));
        if library == Library::Ours {
            command = command.args(["-Werror"]);
        }
        let result = command.run();
        if result.ending == launch::Ending::Exit(0) {
            return Ok(out);
        }
        Err(format!(
            "program {}, build {build}, library {of}: {}\n{}{}",
            self.name, result.ending, result.stdout, result.stderr
        ))
    }
}

/// Whether a program that an earlier run built is newer than all files that it was built from.
fn current(program: &Path, source: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
    let Some(built) = time(program) else {
        return false;
    };
    let mut parts = vec![
        source.to_owned(),
        folder().join("shtest.h"),
        folder().join("types.h"),
    ];
    for header in ["shmem.h", "pshmem.h", "shmemx.h"] {
        parts.push(library::root().join("include").join(header));
    }
    parts.push(library::root().join("scripts/install"));
    parts
        .iter()
        .all(|p| time(p).unwrap_or(SystemTime::UNIX_EPOCH) < built)
}
