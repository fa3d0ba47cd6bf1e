//! Shared by the tests of reports and traces: a folder for each test, in which programs are compiled and run, and from
//! which JSON files are read.

use hetmp_abi_compat::exec::Outcome;
use serde_json::Value;
use std::fs;
use std::ops::Deref;
use std::path::Path;

/// Whether this process may use two CPUs, for two nodes. If not, prints a line; the test then returns.
pub(crate) fn two_cpus() -> bool {
    let two = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    if !two {
        eprintln!("skipped: one CPU is one node");
    }
    two
}

/// A folder of one test, with reports to read.
pub(crate) struct Scratch(hetmp_abi_compat::scratch::Scratch);

impl Deref for Scratch {
    type Target = hetmp_abi_compat::scratch::Scratch;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Scratch {
    pub(crate) fn new(name: &str) -> Scratch {
        Scratch(hetmp_abi_compat::scratch::Scratch::new(name))
    }

    /// Runs a program under the library with two threads, unless `env` says otherwise. The current folder is this one.
    pub(crate) fn run(&self, program: &Path, args: &[&str], env: &[(&str, &str)]) -> Outcome {
        let mut all = vec![("OMP_NUM_THREADS", "2")];
        all.extend(env);
        self.0.run(program, args, &all)
    }

    /// A file of this folder as JSON.
    pub(crate) fn json(&self, name: &str) -> Value {
        let text =
            fs::read_to_string(self.folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The files that a program has written into this folder: all files but the source and the program `ends`, which
    /// the test made.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .filter(|n| !n.starts_with("ends"))
            .collect();
        names.sort();
        names
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
