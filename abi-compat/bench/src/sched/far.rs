//! Barriers of teams whose nodes are far apart, by emulated distances: level by level compared with round all threads.
//!
//! A signal within a node is made to take a millisecond (`HETMP_FAR`), which is ten thousand times as long as on a
//! machine, and one to another node a multiple of that. The threads sleep meanwhile, so two cores carry the threads of
//! many. What is compared is the library's own code; times are in units of a signal within a node.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::SchedArgs;
use crate::process::{lines, Runtime};
use crate::programs::{Compiler, Programs};
use crate::stats;

/// Milliseconds of a signal within a node.
const NEAR_MS: f64 = 1.0;

/// Barriers of a run.
const BARRIERS: &str = "20";

/// The barriers of one team at one distance.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    /// The threads of each node.
    sizes: Vec<usize>,
    /// How many times as long a signal to another node takes as one within a node.
    ratio: u32,
    /// Signals within a node that a barrier takes as long as, round by round.
    flat: Vec<f64>,
    levels: Vec<f64>,
}

#[derive(Deserialize)]
struct Measured {
    us: f64,
    threads: usize,
}

/// Teams: the threads of each of two nodes.
fn teams(quick: bool) -> &'static [[usize; 2]] {
    if quick {
        &[[4, 4]]
    } else {
        &[[4, 4], [16, 16], [4, 24]]
    }
}

/// Measures and prints the part. `cpus`: a CPU for each of the two nodes.
pub(super) fn measure(
    args: &SchedArgs,
    library: &std::path::Path,
    cpus: [usize; 2],
) -> Result<Vec<Row>> {
    let programs = Programs::build(Compiler::Gcc)?;
    let runtime = Runtime::preloaded(library.to_path_buf());
    println!("\n### (f) Barriers over two nodes that are far apart, emulated\n");
    println!("In signals within a node ({NEAR_MS} ms here): median (smallest-largest) of {} rounds of {BARRIERS} \
        barriers.\n", args.rounds());
    println!("| threads | far / near | round all threads | level by level | ratio |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let mut rows = Vec::new();
    for sizes in teams(args.quick) {
        for ratio in [1, 2, 3, 8] {
            let mut row = Row {
                sizes: sizes.to_vec(),
                ratio,
                flat: Vec::new(),
                levels: Vec::new(),
            };
            for round in 0..args.rounds() {
                for turn in 0..2 {
                    let flat = (round + turn) % 2 == 0;
                    let signals = once(&programs, &runtime, cpus, sizes, ratio, flat)?;
                    if flat { &mut row.flat } else { &mut row.levels }.push(signals);
                }
            }
            let shown = |values: &[f64]| {
                let (min, max) = stats::range(values.iter().copied());
                let median = stats::median(values.iter().copied());
                format!("{median:.1} ({min:.1}-{max:.1})")
            };
            let ratios = row.levels.iter().zip(&row.flat).map(|(a, b)| a / b);
            println!(
                "| {} + {} | {ratio} | {} | {} | {:.2} |",
                sizes[0],
                sizes[1],
                shown(&row.flat),
                shown(&row.levels),
                stats::median(ratios)
            );
            rows.push(row);
        }
    }
    Ok(rows)
}

/// One run: a barrier's time, in signals within a node.
fn once(
    programs: &Programs,
    runtime: &Runtime,
    cpus: [usize; 2],
    sizes: &[usize; 2],
    ratio: u32,
    flat: bool,
) -> Result<f64> {
    let places: Vec<String> = cpus
        .iter()
        .zip(sizes)
        .flat_map(|(cpu, &size)| std::iter::repeat_n(format!("{{{cpu}}}"), size))
        .collect();
    let near = 1e3 * NEAR_MS;
    let flat = if flat { ",flat" } else { "" };
    let mut command = runtime.command(&programs.path("far"));
    command
        .arg(BARRIERS)
        .env(
            "HETMP_NODES",
            format!("cores={};cores={}", cpus[0], cpus[1]),
        )
        .env(
            "HETMP_FAR",
            format!("{near},{}{flat}", near * f64::from(ratio)),
        )
        .env("OMP_NUM_THREADS", places.len().to_string())
        .env("OMP_PLACES", places.join(","))
        .env("OMP_PROC_BIND", "close");
    let measured: Measured = lines(command)?
        .pop()
        .context("program far: one line of JSON")?;
    anyhow::ensure!(
        measured.threads == places.len(),
        "program far: a team of {} threads, but it had {}",
        places.len(),
        measured.threads
    );
    Ok(measured.us / near)
}
