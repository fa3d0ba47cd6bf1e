//! Shared by the tests of reports and traces: a folder for each test, in which programs are compiled and run, and from
//! which JSON files are read.

use hetmp_abi_compat::exec::{self, Outcome};
use hetmp_abi_compat::library;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Whether this process may use two CPUs, for two nodes. If not, prints a line; the test then returns.
pub(crate) fn two_cpus() -> bool {
    let two = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    if !two {
        eprintln!("skipped: one CPU is one node");
    }
    two
}

/// A folder of one test, removed at its end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Scratch {
        let dir = std::env::temp_dir().join(format!("hetmp-report-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    /// Compiles a C source with OpenMP. The program is put into this folder, under its source's name.
    pub(crate) fn compile(&self, source: &Path) -> PathBuf {
        let program = self.0.join(source.file_stem().unwrap());
        let out = Command::new("gcc")
            .args(["-fopenmp", "-O2", "-o"])
            .arg(&program)
            .arg(source)
            .arg("-I")
            .arg(library::root().join("c-tests"))
            .arg("-lm")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{said}");
        program
    }

    /// Compiles a program from a text in a test.
    pub(crate) fn compile_text(&self, name: &str, text: &str) -> PathBuf {
        let source = self.0.join(name).with_extension("c");
        fs::write(&source, text).unwrap();
        self.compile(&source)
    }

    /// Runs a program under the library with two threads, unless `env` says otherwise. The current folder is this one.
    pub(crate) fn run(&self, program: &Path, args: &[&str], env: &[(&str, &str)]) -> Outcome {
        let preload = library::fresh().display().to_string();
        let base = [("LD_PRELOAD", preload.as_str()), ("OMP_NUM_THREADS", "2")];
        let env: Vec<(String, String)> = base
            .iter()
            .chain(env)
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
        exec::run(&exec::Program {
            path: program,
            args: &args,
            env: &env,
            dir: &self.0,
            limit: Duration::from_secs(60),
            merge: false,
        })
        .unwrap()
    }

    /// A file of this folder as JSON.
    pub(crate) fn json(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The files that a program has written into this folder: all files but the source and the program `ends`, which
    /// the test made.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .filter(|n| !n.starts_with("ends"))
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn stderr(out: &Outcome) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

pub(crate) fn number(value: &Value, field: &str) -> u64 {
    value[field]
        .as_u64()
        .unwrap_or_else(|| panic!("{field} in {value}"))
}

pub(crate) fn list<'a>(value: &'a Value, field: &str) -> &'a Vec<Value> {
    value[field]
        .as_array()
        .unwrap_or_else(|| panic!("{field} in {value}"))
}
