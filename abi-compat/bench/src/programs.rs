//! Compiles the C programs of `c-tests/bench/`, each once for each content of its sources.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Error, Result};
use hetmp_abi_compat::{clang, library};

/// Flags as for a released program: slow code of the program would hide the runtime's time.
const FLAGS: [&str; 4] = ["-O2", "-std=gnu11", "-D_GNU_SOURCE", "-pthread"];

/// The programs of this benchmark, without `.c`; the others of the folder belong to other benchmarks.
const PROGRAMS: [&str; 11] = [
    "apibench",
    "arraybench",
    "busy",
    "far",
    "floor",
    "loadbench",
    "plain",
    "schedbench",
    "startup",
    "syncbench",
    "taskbench",
];

/// Programs that know nothing of OpenMP: neither compiled nor linked for it.
const WITHOUT_OPENMP: [&str; 2] = ["plain", "busy"];

/// The compiler of the programs, which also decides the runtime that they ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Compiler {
    /// gcc: libgomp.
    Gcc,
    /// clang 19: libomp.
    Clang,
}

impl Compiler {
    /// The command.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang => clang::CLANG,
        }
    }

    /// The runtime that its programs use without a preload.
    pub(crate) fn runtime(self) -> &'static str {
        match self {
            Compiler::Gcc => "libgomp",
            Compiler::Clang => "libomp",
        }
    }

    /// The option by which its programs find the runtime that belongs to the compiler, if there is need for one.
    fn runtime_path(self) -> Result<Option<String>> {
        match self {
            Compiler::Gcc => Ok(None),
            Compiler::Clang => Ok(Some(clang::runtime_path().map_err(Error::msg)?)),
        }
    }
}

/// The compiled programs. They lie next to this program in the target folder. Their names
/// have a hash of the sources: an edited source is compiled to another file.
pub(crate) struct Programs {
    folder: PathBuf,
    hash: u64,
    runtime_path: Option<String>,
}

impl Programs {
    /// Compiles the programs that are not there yet.
    pub(crate) fn build(compiler: Compiler) -> Result<Self> {
        let sources = library::root().join("c-tests/bench");
        let source = |name: &str| sources.join(format!("{name}.c"));
        let shared = source("harness");

        let runtime_path = compiler.runtime_path()?;
        let mut hasher = DefaultHasher::new();
        FLAGS.hash(&mut hasher);
        if compiler != Compiler::Gcc {
            (compiler.command(), &runtime_path).hash(&mut hasher);
        }
        let programs = PROGRAMS.iter().map(|name| source(name));
        for file in programs.chain([shared.clone(), sources.join("harness.h")]) {
            fs::read(&file)
                .with_context(|| format!("file {}: a checkout's c-tests/bench", file.display()))?
                .hash(&mut hasher);
        }
        let folder = std::env::current_exe()?.with_file_name("bench-programs");
        fs::create_dir_all(&folder)?;
        let programs = Programs {
            folder,
            hash: hasher.finish(),
            runtime_path,
        };

        for name in PROGRAMS {
            if !programs.path(name).exists() {
                programs.compile(compiler, name, &source(name), &shared)?;
            }
        }
        Ok(programs)
    }

    /// Where the program made from `name`.c lies.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{:016x}", self.hash))
    }

    fn compile(&self, compiler: Compiler, name: &str, source: &Path, shared: &Path) -> Result<()> {
        // Another run may start at the same moment, and must not execute a file that is
        // half written. So compile to another name, then rename.
        let part = self
            .folder
            .join(format!("{name}-{}.part", std::process::id()));
        let mut command = Command::new(compiler.command());
        command.args(FLAGS).arg("-o").arg(&part).arg(source);
        if !WITHOUT_OPENMP.contains(&name) {
            command.arg("-fopenmp").arg(shared).args(&self.runtime_path);
            if compiler == Compiler::Clang {
                // For atomic operations on 16 bytes. clang's code calls libatomic, gcc's code calls libgomp.
                command.arg("-latomic");
            }
        }
        let output = command.output().with_context(|| {
            format!(
                "compiler {}: installed (scripts/setup does it)",
                compiler.command()
            )
        })?;
        if !output.status.success() {
            bail!(
                "program {name}.c: one that {} compiles, but it says\n{}",
                compiler.command(),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        fs::rename(&part, self.path(name))?;
        Ok(())
    }
}
