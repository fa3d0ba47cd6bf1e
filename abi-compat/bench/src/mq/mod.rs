//! `bench mq`: message queues compared with the queues and buffers that programs write by hand.
//!
//! The sides of a comparison run in turns: A B C A B C. A value is the median of the rounds, shown with the smallest
//! and the largest. A ratio is the median of the rounds' ratios: a machine that gets slower meanwhile slows both
//! sides of a round. The parts:
//!
//! * `bandwidth`: messages to 1 to 64 slaves, divided by hand-written double buffers of the same threads;
//! * `platform`: the same on the modelled SW26010 and MT-3000, divided by transfers that the slaves start themselves,
//!   compared with the paper's figures;
//! * `spsc`: from one thread to one other, compared with rtrb and crossbeam's `ArrayQueue`;
//! * `apps`: matrix multiplication and password search, with queues and with hand-written buffers.
//!
//! [`programs`] compiles and runs the programs, the modules of the parts choose them, [`Bench::compare`] runs the sides
//! in turns and prints.

mod apps;
mod bandwidth;
mod platform;
mod programs;
mod spsc;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::machine::Machine;
use super::process;
use super::stats::{median, over, shown};
use programs::Programs;

/// A group of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Messages to many slaves, over hand-written double buffers.
    Bandwidth,
    /// The same on the modelled SW26010 and MT-3000.
    Platform,
    /// One thread to one other, compared with rtrb and ArrayQueue.
    Spsc,
    /// Matrix multiplication and password search.
    Apps,
}

/// What `bench mq` accepts.
#[derive(Args, Debug)]
pub struct MqArgs {
    /// Fewer rounds (3) and rows: for a look while working
    #[arg(long)]
    quick: bool,
    /// Rounds of each row; a round is one run of each of its sides [default: 9, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Only these parts, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    parts: Vec<Part>,
    /// The library [default: $HETMP_LIB, else libhetmp.so next to this program]
    #[arg(long, value_name = "PATH")]
    lib: Option<PathBuf>,
    /// Write everything that was measured to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// One way to do the work of a row.
struct Side {
    name: &'static str,
    program: PathBuf,
    args: Vec<String>,
    /// HETMP_PLATFORM.
    platform: Option<String>,
    /// The amount of work of one run: bytes, messages or operations, as the row counts.
    amount: f64,
}

impl Side {
    /// A run in an environment without anything else that steers the library.
    fn command(&self) -> Command {
        let mut command = process::bare(&self.program);
        command.args(&self.args);
        if let Some(platform) = &self.platform {
            command.env("HETMP_PLATFORM", platform);
        }
        command
    }
}

/// The results of one side in all rounds.
#[derive(serde::Serialize)]
struct Reached {
    name: &'static str,
    /// The value of each round, in the row's unit.
    values: Vec<f64>,
}

impl Reached {
    fn median(&self) -> f64 {
        median(self.values.iter().copied())
    }

    /// Median, smallest and largest value, with enough digits to tell them apart.
    fn shown(&self) -> String {
        shown(&self.values)
    }

    /// The median of the rounds' ratios to another side.
    fn over(&self, other: &Reached) -> f64 {
        over(&self.values, &other.values)
    }
}

/// A measured row.
#[derive(serde::Serialize)]
struct Row {
    part: &'static str,
    name: String,
    unit: &'static str,
    sides: Vec<Reached>,
}

#[derive(serde::Serialize)]
struct Report {
    machine: Machine,
    rounds: usize,
    rows: Vec<Row>,
}

/// State that all parts share.
struct Bench {
    programs: Programs,
    quick: bool,
    rounds: usize,
    report: Report,
}

/// How seconds become a row's values.
#[derive(Clone, Copy)]
enum Unit {
    /// Amount a second.
    Rate(&'static str),
    /// Nanoseconds for one of amount.
    Nanoseconds,
}

impl Bench {
    /// The sides of an application: each runs `APP A WAY ARGS` with another way.
    fn app_sides(
        &self,
        app: &str,
        ways: &[&'static str],
        args: &str,
        platform: Option<&str>,
        amount: f64,
    ) -> Vec<Side> {
        ways.iter()
            .map(|&way| Side {
                name: way,
                program: self.programs.path(app),
                args: words(&format!("A {way} {args}")),
                platform: platform.map(str::to_owned),
                amount,
            })
            .collect()
    }

    /// Runs the sides in turns, and adds the row to the report.
    fn compare(
        &mut self,
        part: &'static str,
        name: String,
        unit: Unit,
        sides: &[Side],
    ) -> Result<&Row> {
        let mut reached: Vec<Reached> = sides
            .iter()
            .map(|side| Reached {
                name: side.name,
                values: Vec::new(),
            })
            .collect();
        for _ in 0..self.rounds {
            for (side, reached) in sides.iter().zip(&mut reached) {
                let seconds = programs::seconds(side.command())?;
                reached.values.push(match unit {
                    Unit::Rate(_) => side.amount / seconds,
                    Unit::Nanoseconds => 1e9 * seconds / side.amount,
                });
            }
        }
        let unit = match unit {
            Unit::Rate(unit) => unit,
            Unit::Nanoseconds => "ns",
        };
        self.report.rows.push(Row {
            part,
            name,
            unit,
            sides: reached,
        });
        Ok(self.report.rows.last().expect("one was pushed"))
    }
}

/// Measures what `args` asks for and prints tables; the exit status is 0 whatever the times are.
///
/// # Errors
/// When a program cannot be compiled, fails, or gives a wrong result.
pub fn mq(args: &MqArgs) -> Result<ExitCode> {
    let library = super::find_library(args.lib.as_deref())?;
    let rounds = args.rounds.unwrap_or(if args.quick { 3 } else { 9 }) as usize;
    let mut bench = Bench {
        programs: Programs::build(&library)?,
        quick: args.quick,
        rounds,
        report: Report {
            machine: Machine::look(crate::programs::Compiler::Gcc),
            rounds,
            rows: Vec::new(),
        },
    };
    let machine = &bench.report.machine;
    println!("# Message queues\n");
    println!(
        "{}, {} cores, {}, {}; load {} before; {rounds} rounds in turns: median (least-most); ratios: median of the \
            rounds'.",
        machine.cpu, machine.cores, machine.kernel, machine.compiler, machine.load_before
    );
    let wants = |part| args.parts.is_empty() || args.parts.contains(&part);
    if wants(Part::Spsc) {
        spsc::measure(&mut bench)?;
    }
    if wants(Part::Bandwidth) {
        bandwidth::measure(&mut bench)?;
    }
    if wants(Part::Platform) {
        platform::measure(&mut bench)?;
    }
    if wants(Part::Apps) {
        apps::measure(&mut bench)?;
    }
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&bench.report)?;
        std::fs::write(file, text + "\n")
            .with_context(|| format!("--json {}: a file that can be written", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The words of an argument list.
fn words(line: &str) -> Vec<String> {
    line.split_ascii_whitespace().map(str::to_owned).collect()
}
