//! Times at the start of a program: the cost of a preload for a program without OpenMP,
//! and the first region of a program with OpenMP.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};

use super::process::{self, Runtime, System};
use super::programs::Programs;
use super::report::Report;
use super::{stats, OmpArgs};

/// Executions in a round. One takes about a millisecond.
const PLAIN_PER_ROUND: usize = 20;
const REGION_PER_ROUND: usize = 6;

/// Medians. In the names, `base` means libgomp, `none` no preload.
#[derive(Debug, Serialize)]
pub(crate) struct Startup {
    /// From spawn to exit of a program without OpenMP, in ms.
    pub(crate) plain_none_ms: f64,
    pub(crate) plain_base_ms: f64,
    pub(crate) plain_ours_ms: f64,
    /// The time that the preload adds: the median of the differences between a run with
    /// the preload and the run without it just before.
    pub(crate) added_base_ms: f64,
    pub(crate) added_ours_ms: f64,
    /// From main to the end of the first region of two threads, in us.
    pub(crate) first_base_us: f64,
    pub(crate) first_ours_us: f64,
    /// The second region of the same program, in us.
    pub(crate) second_base_us: f64,
    pub(crate) second_ours_us: f64,
    /// From spawn to exit of that program, in ms.
    pub(crate) exec_base_ms: f64,
    pub(crate) exec_ours_ms: f64,
}

/// The line that `startup.c` prints.
#[derive(Deserialize)]
struct Regions {
    first_us: f64,
    second_us: f64,
}

struct Execution {
    regions: Regions,
    ms: f64,
}

/// Fills `report.startup`.
pub(crate) fn measure(
    _args: &OmpArgs,
    programs: &Programs,
    system: &System,
    report: &mut Report,
) -> Result<()> {
    let plain = programs.path("plain");
    let gomp = Runtime::preloaded(system.base.file.clone());
    let (mut none, mut base, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..report.rounds * PLAIN_PER_ROUND {
        none.push(exit_ms(process::bare(&plain))?);
        base.push(exit_ms(gomp.command(&plain))?);
        ours.push(exit_ms(system.ours.command(&plain))?);
    }
    let added =
        |with: &[f64]| stats::median(with.iter().zip(&none).map(|(with, none)| with - none));
    let (added_base_ms, added_ours_ms) = (added(&base), added(&ours));

    let (mut base_region, mut our_region) = (Vec::new(), Vec::new());
    for _ in 0..report.rounds * REGION_PER_ROUND {
        base_region.push(region(programs, &system.base)?);
        our_region.push(region(programs, &system.ours)?);
    }
    let of = |all: &[Execution], what: fn(&Execution) -> f64| stats::median(all.iter().map(what));
    let startup = Startup {
        plain_none_ms: stats::median(none),
        plain_base_ms: stats::median(base),
        plain_ours_ms: stats::median(ours),
        added_base_ms,
        added_ours_ms,
        first_base_us: of(&base_region, |e| e.regions.first_us),
        first_ours_us: of(&our_region, |e| e.regions.first_us),
        second_base_us: of(&base_region, |e| e.regions.second_us),
        second_ours_us: of(&our_region, |e| e.regions.second_us),
        exec_base_ms: of(&base_region, |e| e.ms),
        exec_ours_ms: of(&our_region, |e| e.ms),
    };
    report.print_startup(&startup);
    report.startup = Some(startup);
    Ok(())
}

fn exit_ms(mut command: Command) -> Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status()?;
    let took = start.elapsed();
    if !status.success() {
        bail!(
            "program {:?}: one that ends well, not {status}",
            command.get_program()
        );
    }
    Ok(1e3 * took.as_secs_f64())
}

fn region(programs: &Programs, runtime: &Runtime) -> Result<Execution> {
    let mut command = runtime.command(&programs.path("startup"));
    command.env("OMP_NUM_THREADS", "2");
    let start = Instant::now();
    let regions = process::lines(command)
        .with_context(|| {
            format!(
                "program startup under {}: one that ends well",
                runtime.file.display()
            )
        })?
        .pop()
        .context("program startup: one line of JSON")?;
    Ok(Execution {
        regions,
        ms: 1e3 * start.elapsed().as_secs_f64(),
    })
}
