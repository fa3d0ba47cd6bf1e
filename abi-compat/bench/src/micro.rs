//! The EPCC-style tables: one process per row, runtime and round.

use std::io::{IsTerminal, Write};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::floor::{self, Floor};
use super::process::{self, Runtime, System};
use super::programs::Programs;
use super::report::{Report, Row};
use super::{stats, OmpArgs, Suite};

/// A number of threads and a wait policy.
pub(crate) struct Config {
    pub(crate) name: &'static str,
    threads: &'static str,
    /// `None`: `OMP_WAIT_POLICY` is not set.
    policy: Option<&'static str>,
}

pub(crate) const CONFIGS: [Config; 5] = [
    Config {
        name: "2t default",
        threads: "2",
        policy: None,
    },
    Config {
        name: "2t active",
        threads: "2",
        policy: Some("active"),
    },
    Config {
        name: "2t passive",
        threads: "2",
        policy: Some("passive"),
    },
    Config {
        name: "8t default",
        threads: "8",
        policy: None,
    },
    Config {
        name: "8t passive",
        threads: "8",
        policy: Some("passive"),
    },
];

const PROGRAMS: [(Suite, &str); 5] = [
    (Suite::Sync, "syncbench"),
    (Suite::Sched, "schedbench"),
    (Suite::Task, "taskbench"),
    (Suite::Array, "arraybench"),
    (Suite::Api, "apibench"),
];

/// One row as one process measured it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Overhead of one execution, in the row's unit.
    pub(crate) value: f64,
    /// The time of one execution before the reference was subtracted.
    pub(crate) raw: f64,
    /// The time of the same work without the construct, which was subtracted.
    pub(crate) reference: f64,
}

#[derive(Deserialize)]
struct Line {
    unit: String,
    #[serde(flatten)]
    sample: Sample,
}

/// Adds a [`Row`] to `report` for every row and configuration that `args` wants,
/// printing each table as it grows.
pub(crate) fn measure(
    args: &OmpArgs,
    programs: &Programs,
    system: &System,
    report: &mut Report,
) -> Result<()> {
    for config in CONFIGS
        .iter()
        .filter(|config| args.wants_config(config.name))
    {
        for (suite, program) in PROGRAMS {
            // No call of the api suite waits for another thread: other configurations
            // would give the same numbers.
            let repeats = suite == Suite::Api && config.name != CONFIGS[0].name;
            if repeats || !args.wants(suite) {
                continue;
            }
            let names = rows_of(programs, program)?;
            let mut first = true;
            for name in names.iter().filter(|name| args.wants_row(suite, name)) {
                if std::mem::take(&mut first) {
                    report.print_table_head(config.name, program);
                }
                progress(name);
                let bench = Bench {
                    programs,
                    program,
                    row: name,
                    config,
                    ms: report.row_ms,
                    delay: report.floor_before.delay_turns,
                };
                // Measured before and after the row: within minutes, the host of a
                // virtual machine may move its cores closer together or apart.
                let bounded = config.threads == "2" && Floor::bounds(name);
                let before = bounded.then(|| floor::measure(programs)).transpose()?;
                let mut row = bench.compare(system, suite, report.rounds);
                if let Some(before) = before {
                    row.two_hops_us = before.two_hops_us(&floor::measure(programs)?);
                }
                progress("");
                report.print_row(&row);
                report.rows.push(row);
            }
        }
    }
    Ok(())
}

fn rows_of(programs: &Programs, program: &str) -> Result<Vec<String>> {
    let mut command = process::bare(&programs.path(program));
    let output = command.arg("--list").output()?;
    Ok(String::from_utf8(output.stdout)?
        .lines()
        .map(str::to_owned)
        .collect())
}

/// Shows on a terminal what is being measured. An empty text clears the line.
fn progress(what: &str) {
    let mut out = std::io::stderr();
    if out.is_terminal() {
        // A progress line that cannot be written is no reason to stop.
        let _ = write!(out, "\r\x1b[K{what}");
        let _ = out.flush();
    }
}

struct Bench<'a> {
    programs: &'a Programs,
    program: &'static str,
    row: &'a str,
    config: &'a Config,
    ms: u32,
    delay: u64,
}

impl Bench<'_> {
    fn compare(&self, system: &System, suite: Suite, rounds: usize) -> Row {
        let mut base: Vec<Sample> = Vec::with_capacity(rounds);
        let mut ours: Vec<Sample> = Vec::with_capacity(rounds);
        let mut unit = String::new();
        let mut error = None;
        for round in 0..rounds {
            // The runtimes take turns in running first: a machine that gets slower
            // meanwhile favours neither.
            let mut order = [(&system.base, &mut base), (&system.ours, &mut ours)];
            if round % 2 == 1 {
                order.reverse();
            }
            for (runtime, samples) in order {
                match self.once(runtime) {
                    Ok(line) => {
                        unit = line.unit;
                        samples.push(line.sample);
                    }
                    Err(ending) => {
                        error = Some(format!("under {}: {ending:#}", runtime.file.display()));
                    }
                }
            }
            if error.is_some() {
                break;
            }
        }
        Row::new(suite, self.config.name, self.row, unit, base, ours, error)
    }

    fn once(&self, runtime: &Runtime) -> Result<Line> {
        let mut command = runtime.command(&self.programs.path(self.program));
        command
            .args(["--row", self.row])
            .args(["--ms", &self.ms.to_string()])
            .args(["--delay", &self.delay.to_string()])
            .env("OMP_NUM_THREADS", self.config.threads);
        if let Some(policy) = self.config.policy {
            command.env("OMP_WAIT_POLICY", policy);
        }
        process::lines(command)?
            .pop()
            .ok_or_else(|| anyhow::anyhow!("no line of JSON"))
    }
}

/// The largest overhead that a row of this kind cannot tell from zero: the noise of
/// timer and code alignment, which grows with the reference's time.
pub(crate) fn resolution(unit: &str, reference: f64) -> f64 {
    let timer = if unit == "ns" { 0.1 } else { 0.002 };
    f64::max(timer, 0.01 * reference)
}

impl Row {
    fn new(
        suite: Suite,
        config: &str,
        row: &str,
        unit: String,
        base: Vec<Sample>,
        ours: Vec<Sample>,
        error: Option<String>,
    ) -> Self {
        let reference = stats::median(base.iter().chain(&ours).map(|sample| sample.reference));
        let resolution = resolution(&unit, reference);
        let ratios: Vec<f64> = base
            .iter()
            .zip(&ours)
            .map(|(base, ours)| stats::ratio(ours.value, base.value, resolution))
            .collect();
        let values = |samples: &[Sample]| -> Vec<f64> {
            samples.iter().map(|sample| sample.value).collect()
        };
        let (ratio_min, ratio_max) = stats::range(ratios.iter().copied());
        let base_us = stats::median(base.iter().map(|sample| sample.value));
        let ours_us = stats::median(ours.iter().map(|sample| sample.value));
        Row {
            suite,
            config: config.to_owned(),
            row: row.to_owned(),
            below_resolution: base_us < resolution && ours_us < resolution,
            clearly_larger: stats::clearly_larger(&values(&ours), &values(&base)),
            unit,
            base: base_us,
            ours: ours_us,
            ratio: stats::median(ratios),
            ratio_min,
            ratio_max,
            two_hops_us: None,
            base_samples: base,
            our_samples: ours,
            error,
        }
    }
}
