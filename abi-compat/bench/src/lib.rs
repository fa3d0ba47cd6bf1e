//! Times of the OpenMP runtime against the system's libgomp.
//!
//! The programs of `c-tests/bench/` are compiled once with plain
//! `gcc -fopenmp`. Each row of each program is a process of its own, which runs
//! alternately under libgomp (nothing preloaded) and under the library that is
//! compared (`LD_PRELOAD`). A round is one such pair. A row's ratio is the median of
//! its rounds' ratios: the machine may get faster or slower over the minutes of a
//! whole run, but hardly between the two runs of a round.
//!
//! Data flows one way: [`programs`] builds, [`machine`] and [`floor`] describe the
//! machine, [`micro`], [`load`] and [`startup`] measure, [`report`] and [`plot`] show.
//! No time makes a run fail. The exit status is 1 if a row could not be run.
//!
//! The other commands:
//! * [`sched`]: loop schedules on nodes of unlike speed, with the kernels of `c-tests/kernels/`;
//! * [`simd`]: kernels in `hetmp/simd.h` compared with the same kernels in intrinsics;
//! * [`mq`]: message queues compared with programs' own queues and buffers;
//! * [`shmem`]: OpenSHMEM operations compared with another library's;
//! * [`gio`]: operations that workgroups post themselves, compared with those posted for them.

mod floor;
mod gio;
mod load;
mod machine;
mod micro;
mod mq;
mod plot;
mod process;
mod programs;
mod report;
mod sched;
mod shmem;
mod simd;
mod startup;
mod stats;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{bail, Context, Error, Result};
use clap::{Args, ValueEnum};
use hetmp_abi_compat::clang;
use regex::Regex;

pub use gio::{gio, GioArgs};
pub use mq::{mq, MqArgs};
use process::{Runtime, System};
use programs::{Compiler, Programs};
pub use sched::{sched, SchedArgs};
pub use shmem::{shmem, ShmemArgs};
pub use simd::{simd, SimdArgs};

/// A group of rows that is measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Suite {
    /// Regions, worksharing, mutual exclusion.
    Sync,
    /// Loop schedules.
    Sched,
    /// Explicit tasks.
    Task,
    /// Data clauses for arrays.
    Array,
    /// Small omp_* calls.
    Api,
    /// Program start and first region.
    Startup,
    /// Short regions next to busy processes.
    Load,
}

/// What `bench omp` accepts.
#[derive(Args, Debug)]
pub struct OmpArgs {
    /// Fewer rounds (3) and shorter rows: for a look while working
    #[arg(long)]
    quick: bool,
    /// Rounds of each row; a round is one run under each runtime [default: 9, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Time of one run of one row, in milliseconds [default: 30, quick: 12]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..=10000))]
    ms: Option<u32>,
    /// Only rows whose "suite/name" matches this regular expression, as in '^sync/BARRIER$'
    #[arg(long, value_name = "RE")]
    rows: Option<Regex>,
    /// Only configurations that match, of: 2t default, 2t active, 2t passive, 8t default, 8t passive
    #[arg(long, value_name = "RE")]
    configs: Option<Regex>,
    /// Only these suites, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    suites: Vec<Suite>,
    /// Who compiles the programs: gcc (then the other runtime is libgomp) or clang (clang 19, libomp)
    #[arg(long, value_name = "NAME", value_enum, default_value = "gcc")]
    compiler: programs::Compiler,
    /// The library to compare [default: $HETMP_LIB, else libhetmp.so next to this program].
    /// Given the path of the system's libgomp.so.1, the tool compares libgomp with itself
    #[arg(long, value_name = "PATH")]
    lib: Option<PathBuf>,
    /// What to compare with, in place of the system's library: the libhetmp.so of an earlier build
    /// shows what a change costs
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// Write everything that was measured to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the ratios into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl OmpArgs {
    fn wants(&self, suite: Suite) -> bool {
        self.suites.is_empty() || self.suites.contains(&suite)
    }

    fn wants_row(&self, suite: Suite, row: &str) -> bool {
        let name = suite.to_possible_value().expect("no suite is hidden");
        self.rows
            .as_ref()
            .is_none_or(|rows| rows.is_match(&format!("{}/{row}", name.get_name())))
    }

    fn wants_config(&self, config: &str) -> bool {
        self.configs
            .as_ref()
            .is_none_or(|configs| configs.is_match(config))
    }

    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 3 } else { 9 }) as usize
    }

    fn row_ms(&self) -> u32 {
        self.ms.unwrap_or(if self.quick { 12 } else { 30 })
    }
}

/// Measures what `args` asks for and prints the tables. An error is a run that
/// could not start (no compiler, no library, a file that cannot be written).
pub fn omp(args: &OmpArgs) -> Result<ExitCode> {
    let library = find_library(args.lib.as_deref())?;
    let programs = Programs::build(args.compiler)?;
    let base = match &args.against {
        Some(earlier) => Runtime::preloaded(find_library(Some(earlier))?),
        None => Runtime::system(&programs)?,
    };
    let version = match (&args.against, args.compiler) {
        (None, Compiler::Clang) => Some(version_of_libomp(&base)?),
        _ => None,
    };
    let system = System {
        base,
        ours: Runtime::preloaded(library),
    };
    system.base.check(&programs)?;
    system.ours.check(&programs)?;

    let mut report = report::Report {
        machine: machine::Machine::look(args.compiler),
        peer: match args.against {
            Some(_) => "the other",
            None => args.compiler.runtime(),
        },
        base: system.base.file.display().to_string(),
        base_version: version,
        library: system.ours.file.display().to_string(),
        self_check: system.base.file == system.ours.file,
        rounds: args.rounds(),
        row_ms: args.row_ms(),
        floor_before: floor::measure(&programs)?,
        floor_after: None,
        rows: Vec::new(),
        startup: None,
        load: Vec::new(),
    };
    report.print_head();

    micro::measure(args, &programs, &system, &mut report)?;
    if args.wants(Suite::Startup) {
        startup::measure(args, &programs, &system, &mut report)?;
    }
    if args.wants(Suite::Load) {
        load::measure(args, &programs, &system, &mut report)?;
    }
    report.floor_after = Some(floor::measure(&programs)?);
    report.print_summary();

    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(file, text + "\n")
            .with_context(|| format!("--json {}: a file that can be written", file.display()))?;
    }
    if let Some(file) = &args.svg {
        plot::draw(&report, file)
            .with_context(|| format!("--svg {}: a file that can be written", file.display()))?;
    }
    Ok(if report.failures() == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The version of clang's own runtime. An error if `base` is another library: some table of the dynamic linker's comes
/// before what the programs say.
fn version_of_libomp(base: &Runtime) -> Result<String> {
    let own = clang::runtime().map_err(Error::msg)?;
    if base.file != own {
        bail!(
            "library {}: serves the calls of its programs (expected {}, which belongs to {})",
            base.file.display(),
            own.display(),
            clang::CLANG
        );
    }
    clang::version().map_err(Error::msg)
}

fn find_library(given: Option<&Path>) -> Result<PathBuf> {
    let path = match (given, std::env::var_os("HETMP_LIB")) {
        (Some(path), _) => path.to_path_buf(),
        (None, Some(path)) => PathBuf::from(path),
        (None, None) => std::env::current_exe()?.with_file_name("libhetmp.so"),
    };
    match path.canonicalize() {
        Ok(real) if real.is_file() => Ok(real),
        _ => bail!(
            "library {}: an existing file; `cargo build --release -p hetmp` makes libhetmp.so",
            path.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_by_clang_are_compared_with_clangs_own_runtime() {
        if !clang::installed() {
            return;
        }
        let programs = Programs::build(Compiler::Clang).unwrap();
        let own = Runtime::system(&programs).unwrap();
        assert_eq!(own.file, clang::runtime().unwrap());
        assert_eq!(version_of_libomp(&own).unwrap(), clang::version().unwrap());

        let other = Runtime::preloaded("/lib/other/libomp.so.5".into());
        let why = version_of_libomp(&other).unwrap_err().to_string();
        assert!(
            why.contains("/lib/other/libomp.so.5") && why.lines().count() == 1,
            "{why}"
        );
    }
}
