//! `hetmp compare`: does hetmp help this program? Runs it under its own OpenMP runtime, under hetmp and under hetmp's
//! schedules, in turns, and compares times and outputs.
//!
//! **Data in**: arguments, the environment, a clock. **Data out**: a table and two sentences, or JSON.

use crate::columns::{time, Table};
use crate::progress::Progress;
use crate::run::{self, Prepared, Refusal, Under};
use crate::{which, Output};
use hetmp_core::file;
use hetmp_sched::schedule::Schedule;
use serde_json::json;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

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
    let mut first: Option<ExitStatus> = None;
    let count = ways.len();
    let progress = Progress::new(arguments.runs as usize * count);
    for round in 0..arguments.runs as usize {
        for turn in 0..count {
            let way = &mut ways[(round + turn) % count];
            progress.at(round * count + turn, &format!("under {}", way.name));
            let Run {
                seconds,
                status,
                output,
                said,
            } = match once(&mut way.command, arguments.input.as_deref()) {
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
            way.seconds.push(seconds);
            way.outputs.insert(output);
            if round == 0 {
                way.said = said;
            }
        }
    }
    let status = first.unwrap_or_default();
    let text = if arguments.json {
        format!("{:#}\n", as_json(&ways, &program, status))
    } else {
        as_text(arguments, &ways, status)
    };
    Output {
        text,
        ..Output::default()
    }
}

struct Run {
    seconds: f64,
    status: ExitStatus,
    /// A checksum of what it wrote to standard output.
    output: u64,
    /// The lines of hetmp on standard error.
    said: Vec<String>,
}

/// Runs it once. What it writes goes to files without a name, so that nobody has to read it while the program runs.
fn once(command: &mut Command, input: Option<&Path>) -> std::io::Result<Run> {
    let (mut output, mut errors) = (unnamed()?, unnamed()?);
    match input {
        Some(input) => command.stdin(file::open(input)?),
        None => command.stdin(Stdio::null()),
    };
    command
        .stdout(output.try_clone()?)
        .stderr(errors.try_clone()?);
    let begin = Instant::now();
    let status = command.status()?;
    let seconds = begin.elapsed().as_secs_f64();
    errors.rewind()?;
    let mut text = Vec::new();
    errors.take(1 << 16).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let said = text.lines().filter(|line| line.starts_with("hetmp: "));
    let mut hasher = DefaultHasher::new();
    let mut buffer = vec![0; 1 << 16];
    output.rewind()?;
    loop {
        match output.read(&mut buffer)? {
            0 => {
                return Ok(Run {
                    seconds,
                    status,
                    output: hasher.finish(),
                    said: said.map(str::to_owned).collect(),
                })
            }
            n => hasher.write(&buffer[..n]),
        }
    }
}

fn unnamed() -> std::io::Result<File> {
    let path = std::env::temp_dir().join(format!("hetmp-compare-{}", std::process::id()));
    let file = file::create(&path, 0o600)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, signal) => format!("signal {}", signal.unwrap_or(0)),
    }
}

/// Least, median and most.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (values[0], values[values.len() - 1]);
        let (a, b) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Spread {
            low,
            median: f64::midpoint(a, b),
            high,
        }
    }

    /// As `0.65 (0.60-0.70)`.
    fn ratio(self) -> String {
        format!("{:.2} ({:.2}-{:.2})", self.median, self.low, self.high)
    }
}

/// The times of `way` over those of `base` in the same rounds.
fn ratios(way: &[f64], base: &[f64]) -> Spread {
    Spread::of(way.iter().zip(base).map(|(a, b)| a / b))
}

fn as_text(arguments: &Arguments, ways: &[Way], status: ExitStatus) -> String {
    let base = &ways[0];
    let of_time = |seconds: f64| time((seconds * 1e9) as u64);
    let rows = ways.iter().map(|way| {
        let spread = Spread::of(way.seconds.iter().copied());
        vec![
            way.name.clone(),
            of_time(spread.median),
            format!("{} - {}", of_time(spread.low), of_time(spread.high)),
            match std::ptr::eq(way, base) {
                true => String::new(),
                false => ratios(&way.seconds, &base.seconds).ratio(),
            },
        ]
    });
    let words: Vec<_> = arguments
        .under
        .program
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let mut out = format!("program   {}\n", words.join(" "));
    let turns = format!("{} of each, in turns", arguments.runs);
    out.push_str(&format!("runs      {turns}\n"));
    if base.name == "hetmp" {
        out.push_str(
            "nodes     slowed, which only hetmp's threads can be: not under its own runtime\n",
        );
    }
    if status.code() != Some(0) {
        out.push_str(&format!("ended by  {} in each run\n", ended(status)));
    }
    let said: BTreeSet<&String> = ways.iter().flat_map(|way| &way.said).collect();
    for line in said {
        out.push_str(&format!("{line}\n"));
    }
    out.push('\n');
    Table {
        titles: &[
            "under",
            ">median",
            "least - most",
            "time over the first row's",
        ],
        rows: rows.collect(),
    }
    .print(&mut out, usize::MAX);
    let others: Vec<(&str, Spread)> = ways[1..]
        .iter()
        .map(|way| (&*way.name, ratios(&way.seconds, &base.seconds)))
        .collect();
    let (sentence, fastest) = verdict(&base.name, &others, arguments.runs);
    out.push_str(&format!("\n{sentence}\n"));
    let named = |name: &str| ways.iter().find(|way| way.name == name);
    if let (Some(way), Some(plain)) = (fastest.and_then(named), named("hetmp")) {
        let (words, name) = (arguments.under.words(), &way.name);
        // How much of it is the schedule's.
        let ratio = ratios(&way.seconds, &plain.seconds);
        let plain_gains = others.iter().any(|(n, r)| *n == "hetmp" && r.high < 1.0);
        out.push_str(&advice(
            name,
            (ratio, plain_gains, base.name == "hetmp"),
            &words,
        ));
    }
    let outputs: Vec<(&str, &BTreeSet<u64>)> =
        ways.iter().map(|way| (&*way.name, &way.outputs)).collect();
    out.push_str(&format!("{}\n", same_output(&outputs, arguments.runs)));
    out
}

/// How to run the program as it was `fastest`, whose times over those of hetmp without a schedule have this spread. A
/// schedule that gains nothing of its own is not recommended. `is_first`: hetmp without a schedule is the first row;
/// else whether it gains over that.
fn advice(
    fastest: &str,
    (over_plain, plain_gains, is_first): (Spread, bool, bool),
    words: &str,
) -> String {
    let by_runtime = plain_gains && over_plain.high >= 1.0;
    if fastest == "hetmp" || by_runtime {
        let why = match by_runtime && fastest != "hetmp" {
            true => "Without a schedule hetmp gains as well: it is the runtime.\n",
            false => "",
        };
        return format!("{why}To run it so: hetmp run {words}\n");
    }
    let share = match is_first {
        true => String::new(),
        false => format!(
            "{fastest} takes {} of hetmp's time without a schedule.\n",
            over_plain.ratio()
        ),
    };
    format!("{share}To run it so: hetmp run --schedule {fastest} {words}\n")
}

/// The answer in a sentence, and what is faster than the first row: a difference is one that all rounds show.
fn verdict<'a>(base: &str, others: &[(&'a str, Spread)], runs: u32) -> (String, Option<&'a str>) {
    let least = |some: &dyn Fn(&Spread) -> bool| {
        let others = others.iter().filter(|(_, ratio)| some(ratio));
        others.min_by(|a, b| a.1.median.total_cmp(&b.1.median))
    };
    let faster = least(&|ratio| ratio.high < 1.0);
    let Some((name, ratio)) = faster.or_else(|| least(&|_| true)) else {
        return (format!("There is nothing to compare with {base}."), None);
    };
    let takes = format!("{name} takes {} of {base}'s time", ratio.ratio());
    let sentence = match () {
        () if runs < 3 => format!("At best, {takes}; more runs would tell more (-n 5)."),
        () if faster.is_some() => format!("Faster: {takes}, and less in every round."),
        () if others.iter().all(|(_, ratio)| ratio.low > 1.0) => {
            format!("Slower: at best, {takes}, and more in every round.")
        }
        () => format!(
            "No difference that every round shows: at best, {takes}. hetmp run --report says why, loop by loop."
        ),
    };
    (
        sentence,
        faster.filter(|_| runs >= 3).map(|(name, _)| *name),
    )
}

/// What the checksums say. A program that prints times differs from run to run under any runtime.
fn same_output(ways: &[(&str, &BTreeSet<u64>)], runs: u32) -> String {
    let (base, expected) = ways[0];
    if expected.len() > 1 {
        return format!(
            "Its output differs from run to run under {base}, so outputs were not compared. (Standard error is not: \
             times that a program prints belong there.)"
        );
    }
    let odd: Vec<&str> = ways
        .iter()
        .filter(|(_, o)| *o != expected)
        .map(|w| w.0)
        .collect();
    match odd[..] {
        [] => "Its output was equal in all runs.".to_owned(),
        _ if runs == 1 => {
            "Its outputs differ, perhaps from run to run under any runtime: more runs would tell (-n 5).".to_owned()
        }
        _ => format!(
            "Its output under {} differs from that under {base}.",
            odd.join(", ")
        ),
    }
}

fn as_json(ways: &[Way], program: &str, status: ExitStatus) -> serde_json::Value {
    let base = &ways[0];
    let rows: Vec<_> = ways
        .iter()
        .map(|way| {
            let spread = ratios(&way.seconds, &base.seconds);
            json!({
                "under": way.name,
                "seconds": way.seconds,
                "ratio": { "median": spread.median, "low": spread.low, "high": spread.high },
                "output_as_first": way.outputs == base.outputs,
            })
        })
        .collect();
    json!({ "hetmp_compare": 1, "program": program, "ended": ended(status), "ways": rows })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(low: f64, median: f64, high: f64) -> Spread {
        Spread { low, median, high }
    }

    #[test]
    fn ratios_are_of_the_same_round() {
        // Both got slower together: the ratio did not change.
        assert_eq!(
            ratios(&[1.0, 2.0, 4.0], &[2.0, 4.0, 8.0]),
            spread(0.5, 0.5, 0.5)
        );
        assert_eq!(
            Spread::of([4.0, 1.0, 3.0, 2.0].into_iter()),
            spread(1.0, 2.5, 4.0)
        );
    }

    #[test]
    fn a_difference_is_one_of_every_round() {
        let said = |ratio| {
            verdict(
                "libgomp",
                &[("hetmp", spread(1.1, 1.2, 1.3)), ("hetprobe", ratio)],
                5,
            )
            .0
        };
        assert!(
            said(spread(0.6, 0.65, 0.99)).starts_with("Faster: hetprobe takes 0.65 (0.60-0.99)")
        );
        assert!(said(spread(0.6, 0.65, 1.01)).starts_with("No difference"));
        assert!(said(spread(1.01, 1.05, 1.1)).starts_with("Slower: at best, hetprobe"));
        // The least median does not win if a round contradicts it.
        let others = [
            ("hetprobe", spread(0.65, 0.81, 0.82)),
            ("hetprobe-i", spread(0.62, 0.75, 1.14)),
        ];
        let (sentence, fastest) = verdict("hetmp", &others, 3);
        assert!(sentence.starts_with("Faster: hetprobe takes 0.81"));
        assert_eq!(fastest, Some("hetprobe"));
        // One round cannot show how far rounds lie apart.
        let (sentence, fastest) = verdict("libgomp", &[("hetmp", spread(0.5, 0.5, 0.5))], 1);
        assert!(sentence.contains("-n 5") && fastest.is_none());
    }

    #[test]
    fn a_schedule_that_gains_nothing_of_its_own_is_not_recommended() {
        let (gains, not) = (spread(0.5, 0.6, 0.7), spread(0.96, 1.01, 1.16));
        let said = |ratio, plain| advice("hetprobe", (ratio, plain, false), "--nodes 'a;b' ./p");
        assert!(said(not, true).ends_with("so: hetmp run --nodes 'a;b' ./p\n"));
        assert!(said(gains, true).starts_with("hetprobe takes 0.60"));
        assert!(said(not, false).ends_with("run --schedule hetprobe --nodes 'a;b' ./p\n"));
        let slowed = advice("hetprobe", (gains, false, true), "./p");
        assert_eq!(slowed, "To run it so: hetmp run --schedule hetprobe ./p\n");
        assert!(advice("hetmp", (spread(1.0, 1.0, 1.0), true, false), "./p").starts_with("To run"));
    }

    #[test]
    fn outputs_are_compared_where_they_are_stable() {
        let (one, other, both) = ([1].into(), [2].into(), [1, 2].into());
        assert!(same_output(&[("libgomp", &one), ("hetmp", &one)], 2).contains("equal"));
        assert!(same_output(
            &[("libgomp", &one), ("hetmp", &one), ("hetprobe", &other)],
            2
        )
        .contains("under hetprobe differs from that under libgomp"));
        assert!(
            same_output(&[("libgomp", &one), ("hetmp", &both)], 2).contains("under hetmp differs")
        );
        assert!(same_output(&[("libgomp", &both), ("hetmp", &one)], 2).contains("not compared"));
        assert!(same_output(&[("libgomp", &one), ("hetmp", &other)], 1).contains("perhaps"));
    }
}
