//! Short regions on quiet cores, and next to busy processes.
//!
//! libgomp is measured under each wait policy: its users must choose one, and each is
//! slow in some rows. libhetmp.so is measured without a wait policy set.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::process::{self, Runtime, System};
use super::programs::Programs;
use super::report::Report;
use super::{stats, OmpArgs, Suite};

/// Other processes that keep cores busy during a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Load {
    Quiet,
    /// One busy process, on whichever core the kernel puts it.
    One,
    /// A busy process on every core.
    EachCore,
}

impl Load {
    /// Its name in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Load::Quiet => "quiet",
            Load::One => "one",
            Load::EachCore => "each",
        }
    }
}

/// A row of `loadbench.c`, the load next to it, and the threads of the team per core.
type Setting = (&'static str, Load, usize);

const SHORT: &str = "SHORT REGION 30us";
const LU: &str = "LU-LIKE REGIONS";
const BARRIER: &str = "BARRIER PER 30us";
const GRAPH: &str = "GRAPH OF 1000";

const SETTINGS: [Setting; 16] = [
    (SHORT, Load::Quiet, 1),
    (LU, Load::Quiet, 1),
    (BARRIER, Load::Quiet, 1),
    (GRAPH, Load::Quiet, 1),
    (GRAPH, Load::Quiet, 2),
    (SHORT, Load::One, 1),
    (LU, Load::One, 1),
    (BARRIER, Load::One, 1),
    (GRAPH, Load::One, 1),
    (SHORT, Load::EachCore, 1),
    (LU, Load::EachCore, 1),
    (BARRIER, Load::EachCore, 1),
    (GRAPH, Load::EachCore, 1),
    // 8 or 32 pthreads of the program open regions of two threads at the same time.
    ("8 PTHREADS", Load::Quiet, 1),
    ("32 PTHREADS", Load::Quiet, 1),
    ("100 PTHREADS", Load::Quiet, 1),
];

/// The runtime of a run, or none, in the order of the table's columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Variant {
    BaseActive,
    BasePassive,
    BaseDefault,
    Ours,
    Serial,
}

const VARIANTS: [Variant; 5] = [
    Variant::BaseActive,
    Variant::BasePassive,
    Variant::BaseDefault,
    Variant::Ours,
    Variant::Serial,
];

/// One loop under all variants, in us per region.
#[derive(Debug, Serialize)]
pub(crate) struct LoadRow {
    pub(crate) row: &'static str,
    pub(crate) load: Load,
    /// Threads of the team.
    pub(crate) threads: usize,
    /// Median of each variant's rounds.
    pub(crate) median_us: [f64; VARIANTS.len()],
    /// Every round of each variant.
    pub(crate) samples_us: [Vec<f64>; VARIANTS.len()],
    pub(crate) error: Option<String>,
}

impl LoadRow {
    pub(crate) fn of(&self, variant: Variant) -> f64 {
        self.median_us[variant as usize]
    }

    /// Time under libhetmp.so, divided by that under libgomp with the better of its two wait policies.
    pub(crate) fn against_better(&self) -> f64 {
        self.of(Variant::Ours)
            / f64::min(self.of(Variant::BaseActive), self.of(Variant::BasePassive))
    }

    /// Time under libhetmp.so, divided by that of the same loop without OpenMP.
    pub(crate) fn against_serial(&self) -> f64 {
        self.of(Variant::Ours) / self.of(Variant::Serial)
    }
}

/// The line that `loadbench.c` prints.
#[derive(Deserialize)]
struct Line {
    us: f64,
}

/// Fills `report.load`.
pub(crate) fn measure(
    args: &OmpArgs,
    programs: &Programs,
    system: &System,
    report: &mut Report,
) -> Result<()> {
    let mut settings = SETTINGS
        .into_iter()
        .filter(|(row, ..)| args.wants_row(Suite::Load, row))
        .peekable();
    if settings.peek().is_some() {
        report.print_load_head();
    }
    for setting in settings {
        let _busy = match setting.1 {
            Load::Quiet => Busy(Vec::new()),
            Load::One => Busy::somewhere(programs)?,
            Load::EachCore => Busy::on_every_core(programs, report.machine.cores)?,
        };
        let measured = compare(programs, system, report, setting);
        report.print_load_row(&measured);
        report.load.push(measured);
    }
    Ok(())
}

fn compare(programs: &Programs, system: &System, report: &Report, setting: Setting) -> LoadRow {
    let mut samples: [Vec<f64>; VARIANTS.len()] = Default::default();
    let mut error = None;
    'rounds: for round in 0..report.rounds {
        for turn in 0..VARIANTS.len() {
            // Each round begins with another variant, so that none always runs first.
            let which = (round + turn) % VARIANTS.len();
            match once(programs, system, report, setting, VARIANTS[which]) {
                Ok(us) => samples[which].push(us),
                Err(ending) => {
                    error = Some(format!("{:?}: {ending:#}", VARIANTS[which]));
                    break 'rounds;
                }
            }
        }
    }
    let (row, load, per_core) = setting;
    LoadRow {
        row,
        load,
        threads: per_core * report.machine.cores,
        median_us: std::array::from_fn(|which| stats::median(samples[which].iter().copied())),
        samples_us: samples,
        error,
    }
}

fn once(
    programs: &Programs,
    system: &System,
    report: &Report,
    (row, load, per_core): Setting,
    variant: Variant,
) -> Result<f64> {
    let (runtime, policy): (&Runtime, _) = match variant {
        Variant::BaseActive => (&system.base, Some("active")),
        Variant::BasePassive => (&system.base, Some("passive")),
        Variant::BaseDefault | Variant::Serial => (&system.base, None),
        Variant::Ours => (&system.ours, None),
    };
    // Next to a busy process the kernel switches threads every few milliseconds. The run
    // must last long enough for many such switches.
    let ms = report.row_ms * if load == Load::Quiet { 2 } else { 8 };
    let mut command = runtime.command(&programs.path("loadbench"));
    command
        .args(["--row", row])
        .args(["--ms", &ms.to_string()])
        .args(["--delay", &report.floor_before.delay_turns.to_string()])
        .env(
            "OMP_NUM_THREADS",
            (per_core * report.machine.cores).to_string(),
        );
    if let Some(policy) = policy {
        command.env("OMP_WAIT_POLICY", policy);
    }
    if variant == Variant::Serial {
        command.arg("--serial");
    }
    let line: Line = process::lines(command)?.pop().context("no line of JSON")?;
    Ok(line.us)
}

/// Busy processes, killed on drop. If this process dies without running destructors,
/// they end by themselves.
struct Busy(Vec<Child>);

impl Busy {
    fn on_every_core(programs: &Programs, cores: usize) -> Result<Self> {
        let mut busy = Busy(Vec::new());
        for core in allowed_cores(cores) {
            busy.start(programs, &core.to_string())?;
        }
        Ok(busy)
    }

    fn somewhere(programs: &Programs) -> Result<Self> {
        let mut busy = Busy(Vec::new());
        busy.start(programs, "any")?;
        Ok(busy)
    }

    fn start(&mut self, programs: &Programs, core: &str) -> Result<()> {
        let mut command = process::bare(&programs.path("busy"));
        command.arg(core).stdout(Stdio::piped());
        let mut child = command.spawn().context("program busy: one that starts")?;
        let ready = child.stdout.take().expect("piped above");
        self.0.push(child);
        let mut line = String::new();
        BufReader::new(ready).read_line(&mut line)?;
        anyhow::ensure!(
            line == "busy\n",
            "program busy on core {core}: one that begins"
        );
        Ok(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // Both calls may fail if somebody else has killed the process already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Numbers of the cores this process may use, from the kernel's list form
/// ("0-1,4").
fn allowed_cores(count: usize) -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap_or_default();
    let cores = parse_core_list(list.trim());
    if cores.is_empty() {
        (0..count).collect()
    } else {
        cores
    }
}

pub(crate) fn parse_core_list(list: &str) -> Vec<usize> {
    list.split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.parse::<usize>().ok()?..=last.parse().ok()?)
        })
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_lists() {
        assert_eq!(parse_core_list("0-1"), [0, 1]);
        assert_eq!(parse_core_list("3"), [3]);
        assert_eq!(parse_core_list("0-2,8,10-11"), [0, 1, 2, 8, 10, 11]);
        assert!(parse_core_list("").is_empty());
    }
}
