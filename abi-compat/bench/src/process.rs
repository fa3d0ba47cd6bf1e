//! Starts one benchmark process under one runtime, with only the OpenMP variables that
//! the configuration sets.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{bail, Context, Result};
use serde::de::DeserializeOwned;
use serde::Deserialize;

use super::programs::Programs;

/// The two runtimes of a comparison.
pub(crate) struct System {
    /// The runtime that an unmodified program gets.
    pub(crate) base: Runtime,
    pub(crate) ours: Runtime,
}

/// A library that serves OpenMP calls.
pub(crate) struct Runtime {
    /// The real path of its file.
    pub(crate) file: PathBuf,
    preload: bool,
}

/// The part of a row's line that names the library that served the run.
#[derive(Deserialize)]
struct Served {
    runtime: PathBuf,
}

impl Runtime {
    /// The library that the dynamic linker finds without a preload.
    pub(crate) fn system(programs: &Programs) -> Result<Self> {
        let mut runtime = Runtime {
            file: PathBuf::new(),
            preload: false,
        };
        runtime.file = runtime.serving(programs)?;
        Ok(runtime)
    }

    /// The library at `file` (a real path), put before everything else.
    pub(crate) fn preloaded(file: PathBuf) -> Self {
        Runtime {
            file,
            preload: true,
        }
    }

    /// Refuses a preload that does not take effect: both runs of a round would then use
    /// the same library, and the table would show parity.
    pub(crate) fn check(&self, programs: &Programs) -> Result<()> {
        let serving = self.serving(programs).with_context(|| {
            format!(
                "library {}: one that runs OpenMP programs",
                self.file.display()
            )
        })?;
        if serving != self.file {
            bail!(
                "library {}: one that exports libgomp's symbols and versions, but {} serves the \
                 calls of a program under this preload",
                self.file.display(),
                serving.display()
            );
        }
        Ok(())
    }

    fn serving(&self, programs: &Programs) -> Result<PathBuf> {
        let mut command = self.command(&programs.path("apibench"));
        command.args(["--row", "omp_get_thread_num serial", "--ms", "1"]);
        let served: Served = lines(command)?
            .pop()
            .context("program apibench: one line of JSON")?;
        Ok(served.runtime)
    }

    /// `program` under this runtime, without other variables that steer a runtime.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = bare(program);
        if self.preload {
            command.env("LD_PRELOAD", &self.file);
        }
        command
    }
}

/// `program` without a preload, even if this process was started with one.
pub(crate) fn bare(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if steers_a_runtime(&name) {
            command.env_remove(name);
        }
    }
    command
}

fn steers_a_runtime(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    [
        "OMP_",
        "GOMP_",
        "KMP_",
        "HETMP_",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

/// Runs `command` and reads its lines of JSON. The error says how it ended.
pub(crate) fn lines<T: DeserializeOwned>(mut command: Command) -> Result<Vec<T>> {
    let output = command
        .output()
        .with_context(|| format!("program {:?}: one that starts", command.get_program()))?;
    if !output.status.success() {
        bail!("{}", ending(&output));
    }
    String::from_utf8(output.stdout)?
        .lines()
        .map(|line| {
            serde_json::from_str(line).with_context(|| format!("line {line}: JSON of a row"))
        })
        .collect()
}

fn ending(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("no message");
    format!("{}; {said}", output.status)
}
