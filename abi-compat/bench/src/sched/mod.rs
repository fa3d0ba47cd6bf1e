//! Times of the loop schedules on nodes of unlike speed: `bench sched`.
//!
//! The kernels of `c-tests/kernels/` are compiled with plain `gcc -fopenmp` and run under the
//! library with emulated nodes: one node at full speed, the other at a third of it. The variants of
//! a comparison run in turns; a round is one run of each. A ratio is the median of the rounds'
//! ratios, shown with the smallest and the largest. Emulated nodes slow only threads of the library,
//! so the baseline is the library's own `static` under the same nodes. A comparison with libgomp
//! slows the threads of both from outside ([`quota`]).
//!
//! Data flows one way: [`cores`] divides the CPUs among the nodes, [`kernel`] builds and runs,
//! [`compare`] runs variants in turns, [`parts`] chooses the variants and prints the tables,
//! [`reach`] reads the reports that the library writes, [`report`] holds all results for `--json`.
//! No time makes a run fail. The tables mark values that miss the aim.

mod compare;
mod cores;
mod far;
mod kernel;
mod paper;
mod parts;
mod quota;
mod reach;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use clap::{Args, ValueEnum};
use regex::Regex;

use super::machine::Machine;
use cores::Cores;
use kernel::Bench;
use report::Report;

/// The parts of the benchmark, by the letters that the documentation uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Part {
    /// Every schedule on unlike nodes, loops with schedule(runtime)
    A,
    /// What probing costs: hetprobe compared with the ideal static split (uses the runs of a)
    B,
    /// Loops without a schedule clause: hetprobe compared with static
    C,
    /// Equal nodes: hetprobe compared with static
    D,
    /// Irregular loops: hetprobe-i compared with hetprobe
    E,
    /// Barriers over nodes that are far apart, emulated: level by level compared with round all threads
    F,
    /// Which part of the time in regions went each way, or was kept by each reason
    G,
}

/// What `bench sched` accepts.
#[derive(Args, Debug)]
pub struct SchedArgs {
    /// Three rounds of five kernels: for a look while working
    #[arg(long)]
    quick: bool,
    /// Rounds; a round is one run of everything that is compared [default: 5, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Only these parts, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    parts: Vec<Part>,
    /// Only kernels whose name matches this regular expression
    #[arg(long, value_name = "RE")]
    kernels: Option<Regex>,
    /// Speed of the slow node, the fast one has 1
    #[arg(long, value_name = "S", default_value_t = 0.33, value_parser = speed)]
    speed: f64,
    /// Size of the kernels: S is for trying the tool
    #[arg(long, value_name = "S|A", default_value = "A", value_parser = ["S", "A"])]
    size: String,
    /// Laps of a kernel [default: the kernel's own number]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10000))]
    laps: Option<u32>,
    /// In part g, run packaged programs too, those of scripts/real-programs that are installed
    #[arg(long)]
    programs: bool,
    /// The library to measure [default: $HETMP_LIB, else libhetmp.so next to this program]
    #[arg(long, value_name = "PATH")]
    lib: Option<PathBuf>,
    /// Write everything that was measured to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn speed(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|s| (0.05..=1.0).contains(s))
        .ok_or_else(|| "expected a number from 0.05 to 1".to_owned())
}

impl SchedArgs {
    fn wants(&self, part: Part) -> bool {
        self.parts.is_empty() || self.parts.contains(&part)
    }

    fn wants_kernel(&self, name: &str) -> bool {
        match &self.kernels {
            Some(names) => names.is_match(name),
            None => !self.quick || kernel::QUICK.contains(&name),
        }
    }

    fn rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.quick { 3 } else { 5 }) as usize
    }

    /// Arguments of a kernel.
    fn arguments(&self) -> Vec<String> {
        let mut all = vec![self.size.clone()];
        all.extend(self.laps.map(|n| n.to_string()));
        all
    }
}

/// Measures what `args` asks for and prints the tables. An error is a run that
/// could not start (no compiler, no library, one CPU only, a file that cannot be written).
pub fn sched(args: &SchedArgs) -> Result<ExitCode> {
    let mut names = kernel::KERNELS.iter().map(|k| k.0).chain(["mix"]);
    if let (Some(re), false) = (&args.kernels, names.any(|name| args.wants_kernel(name))) {
        bail!(
            "option --kernels {re}: not usable (expected a regular expression that matches one of {})",
            kernel::names()
        );
    }
    let library = super::find_library(args.lib.as_deref())?;
    let cores = Cores::allowed()?;
    let bench = Bench {
        library,
        threads: cores.count(),
        // A kernel takes some seconds at most. This limit ends a kernel that hangs.
        limit: Duration::from_secs(120),
    };
    bench.check()?;
    let mut report = Report {
        machine: Machine::look(crate::programs::Compiler::Gcc),
        library: bench.library.display().to_string(),
        unlike: cores.unlike(args.speed),
        alike: cores.alike(),
        speed: args.speed,
        threads: bench.threads,
        rounds: args.rounds(),
        size: args.size.clone(),
        groups: Vec::new(),
        quota: None,
        far: Vec::new(),
        reach: Vec::new(),
    };
    report.print_head();

    if args.wants(Part::A) || args.wants(Part::B) {
        parts::schedules(args, &bench, &cores, &mut report)?;
    }
    if args.wants(Part::B) {
        parts::probing(&report);
    }
    if args.wants(Part::C) {
        parts::without_clause(args, &bench, &cores, &mut report)?;
        parts::against_libgomp(args, &bench, &cores, &mut report)?;
    }
    if args.wants(Part::D) {
        parts::equal_nodes(args, &bench, &mut report)?;
    }
    if args.wants(Part::E) {
        parts::irregular(args, &bench, &cores, &mut report)?;
    }
    if args.wants(Part::F) {
        report.far = far::measure(args, &bench.library, [cores.fast[0], cores.slow[0]])?;
    }
    if args.wants(Part::G) {
        reach::measure(args, &bench, &cores, &mut report)?;
    }
    report.print_end();

    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(file, text + "\n")
            .with_context(|| format!("--json {}: a file that can be written", file.display()))?;
    }
    Ok(if report.failures() == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
