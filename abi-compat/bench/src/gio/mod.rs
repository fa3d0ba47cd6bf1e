//! `bench gio`: the comparison of "GPU Initiated OpenSHMEM" (Hamidouche and LeBeane, PPoPP 2020), on CPU threads.
//!
//! The modes are four ways to communicate (`c-tests/apps/gio.h`). A kernel is a parallel region.
//! * gio: the initiator posts from templates.
//! * ikn: the initiator asks a CPU thread to post.
//! * interk: the main thread communicates between kernels, and waits.
//! * overlap: like interk, but nonblocking: the data travel while the rest of the work is computed.
//!
//! All modes use the same engine. A job measures the modes in turns. A round is one job of each row. A value is the
//! median of the rounds, shown with the smallest and the largest; a ratio is the median of the rounds' ratios.
//!
//! [`jobs`] compiles and runs the programs; this module, [`jacobi`] and [`exchange`] choose them and print tables;
//! [`plot`] draws.

mod exchange;
mod jacobi;
mod jobs;
mod plot;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use super::machine::Machine;
use super::stats::{median, over, short, shown};
use jobs::Jobs;

/// A group of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// A put by size and mode, and by the number of initiators.
    Latency,
    /// Puts that are not waited for one by one, by mode.
    Bandwidth,
    /// Jacobi relaxation.
    Jacobi,
    /// Jacobi relaxation on a modelled device, which computes as fast as the paper's.
    Model,
    /// Sparse triangular solver.
    Spts,
    /// The solver with buffers that are kept out of the CPU's caches, and on modelled device memory.
    Uncached,
    /// A mixture of experts: two all-to-alls a round.
    Experts,
    /// Breadth-first search of a graph that is spread over PEs.
    Search,
}

fn matrix(text: &str) -> Result<PathBuf, String> {
    std::fs::canonicalize(text)
        .ok()
        .filter(|file| file.is_file())
        // Arguments of a program are words here.
        .filter(|file| {
            file.to_str()
                .is_some_and(|t| !t.contains(char::is_whitespace))
        })
        .ok_or_else(|| "expected an existing file whose path has no blanks".to_owned())
}

/// What `bench gio` accepts.
#[derive(Args, Debug)]
pub struct GioArgs {
    /// Two rounds of small rows: for a look while working, and for tests
    #[arg(long)]
    quick: bool,
    /// Rounds of each row [default: 7, quick: 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Only these parts, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_enum)]
    parts: Vec<Part>,
    /// Numbers of PEs for the applications, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2,4",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pes: Vec<u32>,
    /// Workgroups (OpenMP threads) of each PE in the applications
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: u32,
    /// A Matrix Market file for the solver, in addition to the made matrices; may be repeated
    #[arg(long, value_name = "FILE", value_parser = matrix)]
    matrix: Vec<PathBuf>,
    /// The engine: emulated (a software adapter) or tcp
    #[arg(long, value_name = "NAME", default_value = "emulated", value_parser = ["emulated", "tcp"])]
    engine: String,
    /// Folder of our installation (scripts/install --prefix) [default: $HETMP_PREFIX]
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// Write everything that was measured to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the times, relative to gio, into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// One mode in one row, over all rounds.
#[derive(Debug, serde::Serialize)]
struct Series {
    mode: String,
    /// The value of each round, in the row's unit.
    values: Vec<f64>,
}

impl Series {
    fn median(&self) -> f64 {
        median(self.values.iter().copied())
    }

    fn shown(&self) -> String {
        shown(&self.values)
    }

    /// The median of the rounds' ratios to another mode.
    fn over(&self, other: &Series) -> f64 {
        over(&self.values, &other.values)
    }
}

/// Modes that were measured in turns.
#[derive(Debug, serde::Serialize)]
struct Row {
    part: &'static str,
    name: String,
    unit: &'static str,
    series: Vec<Series>,
}

impl Row {
    fn mode(&self, mode: &str) -> Option<&Series> {
        self.series.iter().find(|s| s.mode == mode)
    }

    fn shown(&self, mode: &str) -> String {
        self.mode(mode)
            .map_or_else(|| "-".to_owned(), Series::shown)
    }

    /// Median ratio of the times of two modes.
    fn ratio(&self, above: &str, below: &str) -> String {
        match (self.mode(above), self.mode(below)) {
            (Some(a), Some(b)) => format!("{:.2}", a.over(b)),
            _ => "-".to_owned(),
        }
    }
}

#[derive(serde::Serialize)]
struct Report {
    machine: Machine,
    engine: String,
    rounds: usize,
    threads: u32,
    rows: Vec<Row>,
}

/// What the parts share.
struct Bench<'a> {
    args: &'a GioArgs,
    jobs: Jobs,
    report: Report,
}

impl Bench<'_> {
    /// Calls `job` once for each round. A job returns triples of row, mode and value.
    fn rounds(
        &mut self,
        part: &'static str,
        unit: &'static str,
        job: impl Fn(&Jobs) -> Result<Vec<(String, String, f64)>>,
    ) -> Result<Vec<Row>> {
        let mut rows: Vec<Row> = Vec::new();
        for _ in 0..self.report.rounds {
            for (name, mode, value) in job(&self.jobs)? {
                let at = match rows.iter().position(|r| r.name == name) {
                    Some(at) => at,
                    None => {
                        rows.push(Row {
                            part,
                            name,
                            unit,
                            series: Vec::new(),
                        });
                        rows.len() - 1
                    }
                };
                let series = &mut rows[at].series;
                match series.iter_mut().find(|s| s.mode == mode) {
                    Some(s) => s.values.push(value),
                    None => series.push(Series {
                        mode,
                        values: vec![value],
                    }),
                }
            }
        }
        Ok(rows)
    }
}

/// Measures what `args` asks for and prints tables; the exit status is 0 whatever the times are.
///
/// # Errors
/// A program that cannot be compiled, fails, or gives a wrong result; a file that cannot be written.
pub fn gio(args: &GioArgs) -> Result<ExitCode> {
    let prefix = args
        .prefix
        .clone()
        .or_else(|| std::env::var_os("HETMP_PREFIX").map(PathBuf::from))
        .context("--prefix: missing (expected the folder of an installation)")?;
    let rounds = args.rounds.unwrap_or(if args.quick { 2 } else { 7 }) as usize;
    let mut bench = Bench {
        args,
        jobs: Jobs::compile(&prefix)?,
        report: Report {
            machine: Machine::look(crate::programs::Compiler::Gcc),
            engine: args.engine.clone(),
            rounds,
            threads: args.threads,
            rows: Vec::new(),
        },
    };
    let machine = &bench.report.machine;
    println!("# GPU-initiated OpenSHMEM on CPU threads\n");
    println!(
        "{}, {} cores, {}, {}; load {} before; HETMP_NIC={}; {rounds} rounds in turns: median (least-most); ratios: \
            median of the rounds'.",
        machine.cpu, machine.cores, machine.kernel, machine.compiler, machine.load_before, args.engine
    );
    if machine.cores < 4 {
        println!(
            "\nA PE of the paper has a GPU, an adapter and CPU cores. Here {} cores carry the workgroups of all PEs, \
                a thread for \
             each PE's adapter, and ikn's CPU threads: rows with more of them than cores measure taking turns as well.",
            machine.cores
        );
    }
    let wants = |part| args.parts.is_empty() || args.parts.contains(&part);
    if wants(Part::Latency) {
        latency(&mut bench)?;
    }
    if wants(Part::Bandwidth) {
        bandwidth(&mut bench)?;
    }
    if wants(Part::Jacobi) {
        jacobi::measured(&mut bench)?;
    }
    if wants(Part::Model) {
        jacobi::modelled(&mut bench)?;
    }
    if wants(Part::Spts) {
        spts(&mut bench)?;
    }
    if wants(Part::Uncached) {
        uncached(&mut bench)?;
    }
    if wants(Part::Experts) {
        exchange::experts(&mut bench)?;
    }
    if wants(Part::Search) {
        exchange::search(&mut bench)?;
    }
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&bench.report)?;
        std::fs::write(file, text + "\n")
            .with_context(|| format!("--json {}: a file that can be written", file.display()))?;
    }
    if let Some(file) = &args.svg {
        plot::draw(&bench.report, file)
            .with_context(|| format!("--svg {}: a file that can be written", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn latency(bench: &mut Bench<'_>) -> Result<()> {
    let engine = bench.args.engine.clone();
    let more: &[&str] = if bench.args.quick {
        &["--ms", "20", "--sizes", "4,65536", "--initiators", "1,2"]
    } else {
        &["--ms", "60"]
    };
    let rows = bench.rounds("latency", "us", |jobs| jobs.put(&engine, more))?;
    let (others, rows): (Vec<Row>, Vec<Row>) = rows
        .into_iter()
        .partition(|r| r.name.contains("initiators"));
    let (hops, rows): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|r| r.name == "hop");
    println!("\n## Latency of a put, microseconds\n");
    println!("Posted, executed by the engine, seen to be done. The paper, 4 B: cpu 2.8 us, gio 5.15 us; gio 2 times \
        below ikn, 3 times below interk with an empty kernel.");
    if let Some(hop) = hops.first().and_then(|r| r.mode("hop")) {
        println!(
            "A cache line's way to the other core and back takes {} us here: the floor.",
            short(2.0 * hop.median())
        );
    }
    println!("\n| bytes | cpu | gio | built | ikn | interk | launch | ikn / gio | interk / gio | gio / cpu | built / \
        gio |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for row in &rows {
        print!("| {} ", row.name);
        for mode in ["cpu", "gio", "built", "ikn", "interk", "launch"] {
            print!("| {} ", row.shown(mode));
        }
        println!(
            "| {} | {} | {} | {} |",
            row.ratio("ikn", "gio"),
            row.ratio("interk", "gio"),
            row.ratio("gio", "cpu"),
            row.ratio("built", "gio")
        );
    }
    println!("\n### By the number of initiators that put at once, microseconds of the first\n");
    println!("The paper: unaffected by the others until the wire is full.\n");
    println!("| bytes, initiators | gio | ikn | ikn / gio |");
    println!("| --- | ---: | ---: | ---: |");
    for row in &others {
        println!(
            "| {} | {} | {} | {} |",
            row.name,
            row.shown("gio"),
            row.shown("ikn"),
            row.ratio("ikn", "gio")
        );
    }
    bench.report.rows.extend(hops);
    bench.report.rows.extend(rows);
    bench.report.rows.extend(others);
    Ok(())
}

fn bandwidth(bench: &mut Bench<'_>) -> Result<()> {
    let engine = bench.args.engine.clone();
    let more: &[&str] = if bench.args.quick {
        &["--ms", "20", "--sizes", "65536", "--stream", "16"]
    } else {
        &["--ms", "60", "--sizes", "65536,1048576", "--stream", "16"]
    };
    let mut rows = bench.rounds("bandwidth", "GB/s", |jobs| jobs.put(&engine, more))?;
    rows.retain(|r| r.name != "hop");
    for row in &mut rows {
        let bytes: f64 = row.name.trim_end_matches(" B").parse().unwrap_or(f64::NAN);
        for series in &mut row.series {
            for us in &mut series.values {
                *us = 1e-3 * bytes / *us;
            }
        }
    }
    println!("\n## Bandwidth of puts, GB/s\n");
    println!("16 puts, then one quiet. The paper: every mode reaches the peak.\n");
    println!("| bytes | cpu | gio | built | ikn | interk | launch |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for row in &rows {
        print!("| {} ", row.name);
        for mode in ["cpu", "gio", "built", "ikn", "interk", "launch"] {
            print!("| {} ", row.shown(mode));
        }
        println!("|");
    }
    bench.report.rows.extend(rows);
    Ok(())
}

/// Head and rows of a table of the four modes.
fn table(rows: &[Row], what: &str) {
    println!(
        "\n| {what} | gio | ikn | interk | overlap | interk / gio | overlap / gio | ikn / gio |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for row in rows {
        print!("| {} ", row.name);
        for mode in ["gio", "ikn", "interk", "overlap"] {
            print!("| {} ", row.shown(mode));
        }
        println!(
            "| {} | {} | {} |",
            row.ratio("interk", "gio"),
            row.ratio("overlap", "gio"),
            row.ratio("ikn", "gio")
        );
    }
}

/// The solver's matrices: a name and arguments. First those of files, then made ones.
fn matrices(args: &GioArgs) -> Vec<(String, String)> {
    let files = args.matrix.iter().map(|file| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let solves = if args.quick { 2 } else { 10 };
        (
            name.into_owned(),
            format!("--matrix {} --solves {solves}", file.display()),
        )
    });
    let made = made_matrices(args.quick).iter();
    files
        .chain(made.map(|&(name, arguments)| (name.to_owned(), arguments.to_owned())))
        .collect()
}

fn made_matrices(quick: bool) -> &'static [(&'static str, &'static str)] {
    if quick {
        &[("road, 5 thousand rows", "--road 5000 --solves 2")]
    } else {
        &[
            ("road, 5 thousand rows", "--road 5000 --solves 10"),
            ("road, 1 million rows", "--road 1000000 --solves 1"),
            (
                "banded (64, 8), 50 thousand rows",
                "--banded 50000 --band 64 --each 8 --block 1024 --solves 1",
            ),
            (
                "banded (20000, 8), 200 thousand rows",
                "--banded 200000 --band 20000 --each 8 --block 256 --solves 1",
            ),
        ]
    }
}

fn spts(bench: &mut Bench<'_>) -> Result<()> {
    println!("\n## Sparse triangular solver, milliseconds a solve\n");
    println!("The paper: gio 38 / 35 / 44 % faster than ikn (1.38 / 1.35 / 1.44) on road_central at 2 / 3 / 4 nodes, \
        up to 3.7 times on small matrices; 70 % parallel efficiency at 4 nodes.");
    println!("Efficiency: the time of gio on one PE over PEs times its time. Matrices are those of --matrix, and made \
        ones (seeded), like road networks and banded.");
    let (engine, threads) = (bench.args.engine.clone(), bench.args.threads);
    let mut rows = Vec::new();
    let mut efficiencies = Vec::new();
    println!("\n| matrix | rows, entries, levels |");
    println!("| --- | --- |");
    let matrices = matrices(bench.args);
    for (matrix, arguments) in &matrices {
        let (size, _) = arguments.split_once(" --solves").unwrap_or((arguments, ""));
        let said = bench
            .jobs
            .problem("spts", &format!("{size} --mode gio --threads 1"))?;
        let said = said.strip_prefix("spts ").unwrap_or(&said);
        println!("| {matrix} | {said} |");
        for (word, what) in [("rows", 0), ("entries", 2), ("levels", 4)] {
            let number = said.split_ascii_whitespace().nth(what).unwrap_or_default();
            let value = number
                .parse()
                .with_context(|| format!("spts {size}: {said}"))?;
            rows.push(Row {
                part: "matrices",
                name: format!("{matrix}: {word}"),
                unit: word,
                series: vec![Series {
                    mode: "matrix".to_owned(),
                    values: vec![value],
                }],
            });
        }
    }
    for (matrix, arguments) in &matrices {
        let mut alone: Option<f64> = None;
        for &pes in &bench.args.pes.clone() {
            let name = format!("{matrix}, {pes} PEs");
            let more = format!("{arguments} --threads {threads}");
            let found = bench.rounds("spts", "ms", |jobs| {
                let found = jobs.application("spts", &engine, "", pes, &more)?;
                Ok(found
                    .into_iter()
                    .map(|(mode, s)| (name.clone(), mode, 1e3 * s))
                    .collect())
            })?;
            if let Some(ms) = found
                .first()
                .and_then(|r| r.mode("gio"))
                .map(Series::median)
            {
                if pes == 1 {
                    alone = Some(ms);
                } else if let Some(alone) = alone {
                    efficiencies.push(format!(
                        "{name}: {:.0} %",
                        100.0 * alone / (f64::from(pes) * ms)
                    ));
                }
            }
            rows.extend(found);
        }
    }
    let (sizes, rows): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|r| r.part == "matrices");
    table(&rows, "matrix");
    bench.report.rows.extend(sizes);
    if !efficiencies.is_empty() {
        println!("\nParallel efficiency of gio: {}.", efficiencies.join("; "));
    }
    bench.report.rows.extend(rows);
    Ok(())
}

/// The solver with buffers out of the CPU's caches, and with modelled device memory.
fn uncached(bench: &mut Bench<'_>) -> Result<()> {
    println!("\n## Uncached buffers: the solver, milliseconds a solve\n");
    println!("uncached: each value that travels is taken out of the CPU's caches after each use (clflush), by its \
        writer and its readers. The paper's GPU: at most 9 % longer.");
    println!("gpu: HETMP_NIC_MODEL=gpu holds writes back at the target and applies them in any order, as device \
        memory does; its cost is that of the model.\n");
    let threads = bench.args.threads;
    let problems: &[&str] = if bench.args.quick {
        &["--road 2000 --solves 2"]
    } else {
        &["--road 20000 --solves 10", "--road 1000000 --solves 3"]
    };
    let mut rows = Vec::new();
    for &problem in problems {
        let more = format!("{problem} --mode gio --threads {threads}");
        let flushed = format!("{more} --uncached");
        let modelled = problem.contains("--road 1000000");
        rows.extend(bench.rounds("uncached", "ms", |jobs| {
            let mut found = Vec::new();
            let ways: [(&str, &str, &str); 3] = [
                ("plain", "", &more),
                ("uncached", "", &flushed),
                ("gpu", "gpu,seed=1", &more),
            ];
            for (mode, model, arguments) in ways {
                if mode == "gpu" && modelled || mode == "uncached" && !cfg!(target_arch = "x86_64")
                {
                    continue;
                }
                for (_, s) in jobs.application("spts", "emulated", model, 2, arguments)? {
                    found.push((format!("spts {problem}, 2 PEs"), mode.to_owned(), 1e3 * s));
                }
            }
            Ok(found)
        })?);
    }
    println!("| program | plain | uncached | gpu | uncached / plain | gpu / plain |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    for row in &rows {
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            row.name,
            row.shown("plain"),
            row.shown("uncached"),
            row.shown("gpu"),
            row.ratio("uncached", "plain"),
            row.ratio("gpu", "plain")
        );
    }
    bench.report.rows.extend(rows);
    Ok(())
}
