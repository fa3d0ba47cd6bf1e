//! The `hetmp` command: shows what the runtime sees, has learned and has decided, for people and scripts.
//!
//! * **What it is**: one subcommand a module. `info` shows the machine as the runtime sees it.
//! * **What it owns**: the command line and the layout of what is printed; every fact and every
//!   format comes from the library's own crates (`hetmp-core` for most), so that command and library cannot disagree.
//! * **Data in**: arguments, the environment, sysfs and cgroup files. **Data out**: text or JSON on
//!   standard output, one-line errors on standard error.
//!
//! Exit status: 0; 1 if something that was asked for is not available (a bad `HETMP_NODES`, output that cannot be
//! written); 2 for bad arguments and files. `run` ends as its program ends, or with 126 and 127 as shells do.

mod calibrate;
mod columns;
mod compare;
mod elf;
mod examples;
mod goal;
mod info;
mod library;
mod outputs;
mod pages;
mod profile;
mod progress;
mod report;
mod run;
mod simulate;
mod source;
mod which;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::io::Write as _;
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(
    name = "hetmp",
    version,
    about = "An OpenMP runtime for machines with unlike cores: what it sees and decides"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measures the nodes and the links between them, for HETMP_CALIBRATION
    Calibrate(calibrate::Arguments),
    /// Runs a program under its own OpenMP runtime and under hetmp's schedules, in turns: does hetmp help?
    Compare(compare::Arguments),
    /// Looks at schedules of collective communication
    Goal(goal::Arguments),
    /// Prints the completion of a shell
    Completions(pages::Completions),
    /// Shows the machine, the CPUs and threads a program gets, places, and nodes
    Info(info::Arguments),
    /// Writes the man pages of all commands into a folder
    Man(pages::Man),
    /// Reads the code of programs or Python packages beforehand, so that no run has to
    Prepare(which::prepare::Arguments),
    /// Shows the file that a program left under HETMP_REPORT
    Report(report::Arguments),
    /// Runs a program on hetmp
    Run(run::Arguments),
    /// Runs described programs on described machines under the schedules, and compares them
    Simulate(simulate::Arguments),
    /// Shows which OpenMP runtimes a program or Python package would load, and what would become of them
    Which(which::Arguments),
}

/// The whole command line.
fn command() -> clap::Command {
    examples::with(Arguments::command(), "")
}

fn main() -> ExitCode {
    let parsed = command().try_get_matches();
    let arguments = match parsed.and_then(|found| Arguments::from_arg_matches(&found)) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let output = match arguments.command {
        Command::Calibrate(arguments) => calibrate::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Goal(arguments) => goal::run(&arguments),
        Command::Completions(arguments) => pages::completions(&arguments, command()),
        Command::Info(arguments) => info::run(&arguments),
        Command::Man(arguments) => pages::man(&arguments, command()),
        Command::Prepare(arguments) => which::prepare::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Which(arguments) => which::run(&arguments),
    };
    for error in &output.errors {
        hetmp_core::report::warn(format_args!("{error}"));
    }
    let written = std::io::stdout()
        .lock()
        .write_all(output.text.as_bytes())
        .and_then(|()| std::io::stdout().flush());
    match written {
        Ok(()) if output.errors.is_empty() => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(output.status),
        // As in `hetmp info | head -1`: the reader has all that it wanted.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            hetmp_core::report::warn(format_args!(
                "standard output: a place that takes {} bytes is needed ({error})",
                output.text.len()
            ));
            ExitCode::FAILURE
        }
    }
}

/// Prints help where help was asked for, or what is wrong with the arguments, in one line.
fn refuse(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind::{
        DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion,
    };
    let asked = matches!(error.kind(), DisplayHelp | DisplayVersion);
    if asked || error.kind() == DisplayHelpOnMissingArgumentOrSubcommand {
        // A reader that leaves has all that it wanted.
        let _ = error.print();
    } else {
        let line = one_line(&error.render().to_string());
        hetmp_core::report::warn(format_args!("{line}"));
    }
    match asked {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(2),
    }
}

/// The one line of a refusal by the parser of arguments, which says what is wrong, then offers advice and the usage,
/// with empty lines between.
fn one_line(refusal: &str) -> String {
    let what = refusal.split("\n\n").next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(what);
    let words: Vec<&str> = what.split_whitespace().collect();
    let usage = refusal.split_once("Usage: ").map_or("hetmp", |u| u.1);
    let command: Vec<&str> = usage
        .split_whitespace()
        .take_while(|w| w.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect();
    // What the parser offers for a misspelt word: `  tip: a similar subcommand exists: 'report'`.
    let similar: Vec<&str> = refusal
        .lines()
        .filter_map(|line| line.trim().strip_prefix("tip: ")?.split_once("similar"))
        .flat_map(|(_, names)| names.split('\'').skip(1).step_by(2))
        .collect();
    let expected = match similar[..] {
        [] => format!("what {} --help lists", command.join(" ")),
        _ => similar.join(" or "),
    };
    format!("{} (expected {expected})", words.join(" "))
}

/// The output of a subcommand.
struct Output {
    /// For standard output.
    text: String,
    /// Lines for standard error.
    errors: Vec<String>,
    /// The exit status if there are errors: 1 or 2, as the top of this file says.
    status: u8,
}

impl Default for Output {
    fn default() -> Self {
        Output {
            text: String::new(),
            errors: Vec::new(),
            status: 1,
        }
    }
}

impl Output {
    /// Bad input: one line, and exit status 2.
    fn refuse(error: impl ToString) -> Self {
        Output {
            errors: vec![error.to_string()],
            status: 2,
            ..Output::default()
        }
    }
}
