//! `hetmp simulate`: runs described programs on described machines, under the real code of the schedules.
//!
//! * `library` holds what is shipped; `file` reads platforms and workloads (TOML); `compare` simulates every program
//!   under every strategy; `paper` knows the paper's figures; `random` simulates random programs; `text`, `json` and
//!   `svg` show the results.
//!
//! The simulation itself is `hetmp_lab`.

mod compare;
mod file;
mod format;
mod json;
mod library;
mod paper;
mod random;
mod svg;
mod text;

use crate::outputs::{self, By};
use crate::progress::Progress;
use crate::Output;
use compare::{Column, Comparison, Request};
use hetmp_lab::{Strategy, Technique};
use hetmp_sched::csr;
use hetmp_sched::decide::Objective;
use hetmp_sched::schedule::{self, Kind, Schedule};
use library::What;
use std::path::Path;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Machine: a shipped name or a TOML file; may be repeated
    #[arg(long, value_name = "NAME|FILE", default_value = "xeon-thunderx-rdma")]
    platform: Vec<String>,
    /// Program: a shipped name, a TOML file, or `all`; may be repeated [default: the paper's ten]
    #[arg(long, value_name = "NAME|FILE")]
    workload: Vec<String>,
    /// One more schedule, in the syntax of OMP_SCHEDULE, or fac2, mfac, awf-b; may be repeated
    #[arg(long, value_name = "SCHEDULE")]
    schedule: Vec<String>,
    /// Adds the schedules of others: aid-static, aid-hybrid, aid-dynamic, fac2, mfac, awf-b
    #[arg(long)]
    others: bool,
    /// What decisions and gains are about: time, energy or edp; energy is modelled
    #[arg(long, value_name = "WORD", default_value = "time")]
    objective: String,
    /// Seed of everything random: costs of iterations, jitter
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Sets the part of the second kind of iterations, in percent, where loops have one; each
    /// value is a program of its own
    #[arg(long, value_name = "PERCENT", value_delimiter = ',')]
    irregularity: Vec<f64>,
    /// Adds each loop's decision with the numbers behind it
    #[arg(long)]
    details: bool,
    /// Runs N random programs on random machines instead, and compares hetprobe with the best
    /// choice by hand
    #[arg(long, value_name = "N", conflicts_with_all = ["list", "show", "sources", "json", "svg", "paper"])]
    random: Option<u64>,
    /// Adds the paper's figures; with the paper's ten programs
    #[arg(long)]
    paper: bool,
    /// Prints JSON
    #[arg(long, conflicts_with_all = ["list", "show", "sources"])]
    json: bool,
    /// Also draws the gains into an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<String>,
    /// Lists what is shipped
    #[arg(long)]
    list: bool,
    /// Says for each number of the shipped files its source, as Markdown
    #[arg(long)]
    sources: bool,
    /// Prints a shipped file, to start one's own from
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
}

/// The shipped names that the option of this name takes, for shells.
pub(crate) fn names(option: &str) -> Vec<&'static str> {
    let of = |what: What| what.shipped().iter().map(|(name, _)| *name);
    match option {
        "platform" => of(What::Platform).collect(),
        "workload" => of(What::Workload).chain(["all"]).collect(),
        "show" => of(What::Platform).chain(of(What::Workload)).collect(),
        _ => Vec::new(),
    }
}

pub(crate) fn run(arguments: &Arguments) -> Output {
    match answer(arguments) {
        Ok(output) => output,
        Err(error) => Output::refuse(error),
    }
}

fn answer(arguments: &Arguments) -> Result<Output, String> {
    let printed = |text: String| Output {
        text,
        ..Output::default()
    };
    if arguments.list {
        return Ok(printed(text::listing()?));
    }
    if arguments.sources {
        return Ok(printed(text::sources()?));
    }
    if let Some(name) = &arguments.show {
        return show(name).map(printed);
    }
    if let Some(count) = arguments.random {
        if !(1..=100_000).contains(&count) {
            return Err(format!(
                "--random: '{count}': out of range (expected 1 to 100000)"
            ));
        }
        return Ok(printed(random::table(arguments.seed, count)));
    }
    let requests = requests(arguments)?;
    if let Some(path) = &arguments.svg {
        outputs::check(&[("--svg", Path::new(path), By::Command)])?;
    }
    let progress = Progress::new(requests.len());
    let comparisons = requests.iter().enumerate().map(|(i, request)| {
        progress.at(i, "platform and programs");
        compare::run(request)
    });
    let comparisons: Vec<Comparison> = comparisons.collect();
    drop(progress);
    let mut output = Output::default();
    if let Some(path) = &arguments.svg {
        // The pictures of several platforms lie below each other.
        let written = outputs::write("--svg", Path::new(path), svg::draw(&comparisons)?);
        output.errors.extend(written.err());
    }
    output.text = if arguments.json {
        format!("{:#}\n", json::all(&comparisons))
    } else {
        let parts: Vec<String> = comparisons
            .iter()
            .map(|c| text::table(c, arguments.details, arguments.paper))
            .collect();
        parts.join("\n")
    };
    Ok(output)
}

fn show(name: &str) -> Result<String, String> {
    [What::Platform, What::Workload]
        .iter()
        .flat_map(|what| what.shipped())
        .find(|(n, _)| *n == name)
        .map(|(_, text)| (*text).to_owned())
        .ok_or_else(|| format!("--show: '{name}': unknown (expected a name that --list shows)"))
}

/// The column of the schedule that the user has named by `text`.
fn column(text: &str) -> Result<Column, String> {
    let technique = Technique::ALL
        .into_iter()
        .find(|t| t.name().eq_ignore_ascii_case(text.trim()));
    if let Some(technique) = technique {
        return Ok(Column {
            name: technique.name().to_owned(),
            strategy: Strategy::SelfScheduled(technique),
        });
    }
    let schedule = Schedule::parse(text).map_err(|e| {
        format!(
            "--schedule: '{text}': not understood (expected {}, or fac2, mfac, awf-b)",
            e.expected
        )
    })?;
    Ok(Column {
        name: schedule.to_string(),
        strategy: Strategy::All(schedule),
    })
}

/// What has to be simulated: one request for each platform.
fn requests(arguments: &Arguments) -> Result<Vec<Request>, String> {
    let objective = Objective::ALL
        .into_iter()
        .find(|o| o.name() == arguments.objective)
        .ok_or_else(|| {
            format!(
                "--objective: '{}': unknown (expected time, energy or edp)",
                arguments.objective
            )
        })?;
    let mut schedules: Vec<&str> = arguments.schedule.iter().map(String::as_str).collect();
    if arguments.others {
        let words = schedule::TABLE.iter().map(|row| row.word);
        let others = words.filter(|word| word.starts_with("aid-"));
        schedules.extend(others.chain(["fac2", "mfac", "awf-b"]).collect::<Vec<_>>());
    }
    let schedules = schedules
        .into_iter()
        .map(column)
        .collect::<Result<Vec<_>, _>>()?;
    let mut names: Vec<&str> = Vec::new();
    for name in &arguments.workload {
        if name == "all" {
            names.extend(What::Workload.shipped().iter().map(|(n, _)| *n));
        } else {
            names.push(name);
        }
    }
    if names.is_empty() {
        names.extend(if arguments.irregularity.is_empty() {
            &library::PAPER_TEN[..]
        } else {
            &["mix"]
        });
    }
    for percent in &arguments.irregularity {
        if !(0.0..=100.0).contains(percent) {
            return Err(format!(
                "--irregularity: '{percent}': out of range (expected 0 to 100)"
            ));
        }
    }
    let mut requests = Vec::new();
    for name in &arguments.platform {
        let platform = file::platform(name)?;
        let mut workloads = Vec::new();
        for name in &names {
            let has_mix = file::workload(name)?
                .model
                .loops
                .iter()
                .any(|l| l.mix.is_some());
            if arguments.irregularity.is_empty() || !has_mix {
                workloads.push(file::workload(name)?);
                continue;
            }
            for &percent in &arguments.irregularity {
                let mut workload = file::workload(name)?;
                workload.mix_to(percent / 100.0);
                workloads.push(workload);
            }
        }
        for Column {
            name: schedule,
            strategy,
        } in &schedules
        {
            let Strategy::All(Schedule { kind, .. }) = strategy else {
                continue;
            };
            if let Kind::StaticCsr { ratios } = kind {
                csr::check(ratios, platform.model.nodes.len())
                    .map_err(|e| format!("--schedule {schedule} on {name}: {e}"))?;
            }
        }
        let request = Request {
            platform,
            workloads,
            schedules: schedules.clone(),
            published: arguments.paper || !arguments.irregularity.is_empty(),
            irregular: !arguments.irregularity.is_empty(),
            objective,
            seed: arguments.seed,
        };
        request.check()?;
        requests.push(request);
    }
    Ok(requests)
}
