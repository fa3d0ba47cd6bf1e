//! A folder of one test, with the programs that the test compiles. The folder goes when the test ends.

use crate::exec::{self, Outcome};
use crate::library;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a program of [`Scratch::run`] may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A folder that is removed when the value is dropped.
pub struct Scratch {
    /// The folder's path.
    pub folder: PathBuf,
}

impl Scratch {
    /// A folder `name` of this process among the system's temporary files.
    ///
    /// # Panics
    /// The folder cannot be made.
    #[must_use]
    pub fn new(name: &str) -> Scratch {
        Scratch::below(&std::env::temp_dir(), name)
    }

    /// The same below cargo's target folder: for what is large, or must be found there.
    ///
    /// # Panics
    /// The folder cannot be made.
    #[must_use]
    pub fn in_target(name: &str) -> Scratch {
        Scratch::below(&library::target_dir(), name)
    }

    fn below(parent: &Path, name: &str) -> Scratch {
        let folder = parent.join(format!("hetmp-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        Scratch { folder }
    }

    /// The path of a file in this folder, as text for a command line.
    #[must_use]
    pub fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Compiles a C source with gcc's OpenMP. The program is put into this folder, under its source's name.
    ///
    /// # Panics
    /// The source does not compile.
    #[must_use]
    pub fn compile(&self, source: &Path) -> PathBuf {
        let name = source.file_stem().expect("a source has a name");
        let program = self.folder.join(name);
        let out = Command::new("gcc")
            .args(["-fopenmp", "-O2", "-Wall", "-o"])
            .arg(&program)
            .arg(source)
            .arg("-I")
            .arg(library::root().join("c-tests/openmp"))
            .arg("-lm")
            .output()
            .expect("gcc starts");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{said}");
        program
    }

    /// Writes a file into this folder. Its path, as text for a command line.
    ///
    /// # Panics
    /// The text cannot be written.
    pub fn write(&self, name: &str, text: &str) -> String {
        let file = self.path(name);
        fs::write(&file, text).unwrap_or_else(|e| panic!("{file}: {e}"));
        file
    }

    /// Compiles a program from a text in a test.
    ///
    /// # Panics
    /// The text cannot be written or does not compile.
    #[must_use]
    pub fn compile_text(&self, name: &str, text: &str) -> PathBuf {
        let source = self.write(&format!("{name}.c"), text);
        self.compile(Path::new(&source))
    }

    /// Runs a program in this folder under the library, with `env` on top.
    ///
    /// # Panics
    /// The program cannot be started.
    pub fn run(&self, program: &Path, args: &[&str], env: &[(&str, &str)]) -> Outcome {
        let preload = library::fresh().display().to_string();
        let env: Vec<(String, String)> = [("LD_PRELOAD", preload.as_str())]
            .iter()
            .chain(env)
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
        exec::run(&exec::Program {
            path: program,
            args: &args,
            env: &env,
            dir: &self.folder,
            limit: LIMIT,
            merge: false,
        })
        .unwrap_or_else(|e| panic!("{}: {e}", program.display()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
