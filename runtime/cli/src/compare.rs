//! `hetmp compare`: does hetmp help this program? Runs it under its own OpenMP runtime, under hetmp and under hetmp's
//! schedules, in turns, and compares times and outputs.
//!
//! * [`mod@look`] asks whether a schedule divides anything in it.
//! * [`mod@once`] runs it once; [`load`] tells how busy other programs kept the CPUs meanwhile.
//! * [`answer`] says what came of it.
//!
//! **Data in**: arguments, the environment, clocks. **Data out**: a table and a few sentences, or JSON.

mod answer;
mod load;
mod look;
mod once;

use crate::progress::Progress;
use crate::run::{self, Prepared, Refusal, Under};
use crate::{which, Output};
use answer::{as_json, as_text, ended};
use hetmp_core::file;
use hetmp_sched::schedule::Schedule;
use load::Load;
use look::look;
use once::{once, Run};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

#[derive(Debug, clap::Args)]
#[command(override_usage = "hetmp compare [OPTIONS] [--] PROGRAM [ARGUMENTS]...")]
pub(crate) struct Arguments {
    /// Runs under each
    #[arg(short = 'n', long, value_name = "RUNS", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// A schedule, as in HETMP_SCHEDULE; may be repeated [default: hetprobe and hetprobe-i]
    #[arg(long, value_name = "SCHEDULE")]
    schedule: Vec<OsString>,
    #[command(flatten)]
    under: Under,
    /// Standard input of each run [default: empty]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One way to run the program, and what was seen.
struct Way {
    name: String,
    command: Command,
    seconds: Vec<f64>,
    /// What all its threads together used of the CPUs, in the same rounds.
    cpu_seconds: Vec<f64>,
    /// Checksums of what the runs wrote to standard output.
    outputs: BTreeSet<u64>,
    /// What hetmp said on standard error in the first run.
    said: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Output {
    match ways(arguments) {
        Ok(ways) => measured(arguments, ways),
        Err(refusal) => refusal.into(),
    }
}

/// The ways to run the program, the one that the others are compared with first.
fn ways(arguments: &Arguments) -> Result<Vec<Way>, Refusal> {
    if let Some(input) = &arguments.input {
        file::open(input).map_err(|error| {
            Refusal::usage(format_args!(
                "option --input: '{}': {error} (expected a file that can be read)",
                input.display()
            ))
        })?;
    }
    let way = |name: String, command| Way {
        name,
        command,
        seconds: Vec::new(),
        cpu_seconds: Vec::new(),
        outputs: BTreeSet::new(),
        said: Vec::new(),
    };
    let prepared = || {
        let mut prepared = run::prepare(&arguments.under, None)?;
        without_ours(&mut prepared.command);
        Ok::<Prepared, Refusal>(prepared)
    };
    let mut ways = Vec::new();
    let plain = prepared()?;
    if !plain.slowed {
        let name = which::runtime(&plain.path)
            .filter(|name| matches!(*name, "libgomp" | "libomp" | "libiomp5"))
            .unwrap_or("without hetmp");
        ways.push(way(name.to_owned(), alone(prepared()?)));
    }
    ways.push(way("hetmp".to_owned(), plain.command));
    let default = [OsString::from("hetprobe"), OsString::from("hetprobe-i")];
    let schedules = match &arguments.schedule[..] {
        [] => &default[..],
        named => named,
    };
    for schedule in schedules {
        let schedule = run::checked(schedule)?;
        let mut command = prepared()?.command;
        command.env("HETMP_SCHEDULE", schedule);
        ways.push(way(schedule.to_string_lossy().into_owned(), command));
    }
    Ok(ways)
}

/// Takes hetmp's schedules out of the environment: one way of each comparison names its own.
fn without_ours(command: &mut Command) {
    command.env_remove("HETMP_SCHEDULE");
    let named = std::env::var_os("OMP_SCHEDULE").unwrap_or_default();
    if Schedule::parse(&named.to_string_lossy()).is_ok_and(|schedule| schedule.is_ours()) {
        command.env_remove("OMP_SCHEDULE");
    }
}

/// The program on the runtime that it would have without this command: neither preloaded nor found by hetmp's folder.
fn alone(prepared: Prepared) -> Command {
    let Prepared {
        mut command,
        library,
        ..
    } = prepared;
    let same = |path: &Path| path.canonicalize().ok() == library.canonicalize().ok();
    let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let mut others = OsString::new();
    for name in before.as_bytes().split(|byte| matches!(byte, b':' | b' ')) {
        let path = Path::new(OsStr::from_bytes(name));
        let file = path.file_name().unwrap_or_default().as_bytes();
        if !name.is_empty() && !file.starts_with(b"libhetmp") && !same(path) {
            others.push(path);
            others.push(":");
        }
    }
    match others.is_empty() {
        true => command.env_remove("LD_PRELOAD"),
        false => command.env("LD_PRELOAD", others),
    };
    if let Some(folders) = std::env::var_os("LD_LIBRARY_PATH") {
        let others =
            std::env::split_paths(&folders).filter(|folder| Some(&**folder) != library.parent());
        if let Ok(others) = std::env::join_paths(others) {
            command.env("LD_LIBRARY_PATH", others);
        }
    }
    command
}

/// Runs the ways in turns, each round from another one on, since a machine's pace drifts.
fn measured(arguments: &Arguments, mut ways: Vec<Way>) -> Output {
    let failed = |line: String| Output {
        errors: vec![line],
        ..Output::default()
    };
    let program = arguments.under.program[0].to_string_lossy().into_owned();
    // The schedules stand behind hetmp without one.
    let schedule = 1 + ways.iter().take_while(|way| way.name != "hetmp").count();
    let input = arguments.input.as_deref();
    let looked = match ways.get_mut(schedule).map(|way| look(way, input)) {
        None => String::new(),
        Some(Ok(Some(line))) => line,
        Some(Ok(None)) => {
            return failed(format!(
                "program {program}: ran no parallel region (expected one that uses OpenMP; hetmp which says what it \
                 would load)"
            ));
        }
        Some(Err(error)) => {
            return failed(format!(
                "program {program}: {error} (expected a program of this machine)"
            ));
        }
    };
    let mut first: Option<ExitStatus> = None;
    let load = Load::now();
    let count = ways.len();
    let progress = Progress::new(arguments.runs as usize * count);
    for round in 0..arguments.runs as usize {
        for turn in 0..count {
            let way = &mut ways[(round + turn) % count];
            progress.at(round * count + turn, &format!("under {}", way.name));
            let Run {
                seconds,
                cpu_seconds,
                status,
                output,
                said,
            } = match once(&mut way.command, input) {
                Ok(run) => run,
                Err(error) => {
                    return failed(format!(
                        "program {program}: {error} (expected a program of this machine)"
                    ));
                }
            };
            let expected = *first.get_or_insert(status);
            if status != expected {
                return failed(format!(
                    "program {program}, under {}: {} (expected: {}, as in the first run)",
                    way.name,
                    ended(status),
                    ended(expected)
                ));
            }
            if status.signal().is_some() {
                return failed(format!(
                    "program {program}, under {}: {} (expected a program that ends by itself)",
                    way.name,
                    ended(status)
                ));
            }
            way.seconds.push(seconds);
            way.cpu_seconds.push(cpu_seconds);
            way.outputs.insert(output);
            if round == 0 {
                way.said = said;
            }
        }
    }
    let status = first.unwrap_or_default();
    let ours = ways.iter().flat_map(|way| &way.cpu_seconds).sum();
    let others = load.and_then(|load| load.of_others(ours));
    let text = if arguments.json {
        format!("{:#}\n", as_json(&ways, &program, status, others))
    } else {
        let looked = ways.get(schedule).map(|way| (&*way.name, &*looked));
        as_text(arguments, &ways, status, (others, looked))
    };
    Output {
        text,
        ..Output::default()
    }
}
