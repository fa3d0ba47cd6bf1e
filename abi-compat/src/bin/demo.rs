//! `demo`: runs one unmodified program under libgomp and under libhetmp.so, then under
//! libhetmp.so on two nodes of unlike speed. See `scripts/demo --help`.
//!
//! **Data in**: times that the program prints, and the file that `HETMP_REPORT`
//! names. **Data out**: a table on standard output, and the same as JSON.

use anyhow::{bail, ensure, Context, Result};
use clap::Parser;
use hetmp_abi_compat::exec::{self, Ending};
use hetmp_abi_compat::library;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

/// Show libhetmp.so at work on an unmodified OpenMP program.
#[derive(Parser)]
#[command(name = "demo")]
struct Options {
    /// Speed of the second node, the first one has 1
    #[arg(long, default_value_t = 0.33, value_parser = speed)]
    speed: f64,
    /// Runs of each row, in turns; the median is shown
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..100))]
    runs: u32,
    /// Bodies of the simulation, the iterations of its loop
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u32).range(2..100_000))]
    bodies: u32,
    /// Time steps, the executions of its loop
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..1_000_000))]
    steps: u32,
    /// Write the numbers to this file
    #[arg(long)]
    json: Option<PathBuf>,
}

fn speed(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|s| (0.05..=1.0).contains(s))
        .ok_or_else(|| "expected a number from 0.05 to 1".to_owned())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("hetmp: demo: {why:#}");
            ExitCode::from(2)
        }
    }
}

/// The fields of `HETMP_REPORT`'s file that the table shows.
#[derive(Debug, Deserialize)]
struct Report {
    loops: Vec<Region>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Region {
    region: String,
    executions: u64,
    elapsed_ns: u64,
    nodes: Vec<Node>,
    decisions: Vec<Decision>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Node {
    share: f64,
    elapsed_ns: u64,
    csr: Option<f64>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
struct Decision {
    execution: u64,
    learning: String,
    reason: String,
}

/// One run of the program.
#[derive(Clone, Debug, Serialize)]
struct Sample {
    seconds: f64,
    region: Option<Region>,
}

/// All runs of one row.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    env: Vec<(String, String)>,
    samples: Vec<Sample>,
}

impl Row {
    fn new(name: &str, env: &[(&str, &str)]) -> Row {
        Row {
            name: name.to_owned(),
            env: env
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
                .collect(),
            samples: Vec::new(),
        }
    }

    /// The run with the median time.
    fn median(&self) -> &Sample {
        let mut order: Vec<&Sample> = self.samples.iter().collect();
        order.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        order[(order.len() - 1) / 2]
    }
}

struct Demo {
    program: PathBuf,
    args: Vec<String>,
    report: PathBuf,
    /// Output of the first run. Every later run must print the same.
    result: Option<Vec<u8>>,
    equal: bool,
}

impl Demo {
    fn sample(&mut self, row: &mut Row) -> Result<()> {
        // A report of an earlier run must not be taken for this run's.
        let _ = fs::remove_file(&self.report);
        let mut env = row.env.clone();
        env.push(("OMP_NUM_THREADS".into(), "2".into()));
        env.push(("HETMP_REPORT".into(), self.report.display().to_string()));
        let out = exec::run(&exec::Program {
            path: &self.program,
            args: &self.args,
            env: &env,
            dir: &library::root(),
            limit: Duration::from_secs(120),
            merge: false,
        })?;
        let errors = String::from_utf8_lossy(&out.stderr);
        ensure!(
            out.ending == Ending::Exit(0),
            "{}: {}: {errors}",
            row.name,
            out.ending
        );
        let mut seconds = None;
        for line in errors.lines() {
            match line.strip_prefix("seconds ").map(str::parse) {
                Some(Ok(time)) => seconds = Some(time),
                // A message of the runtime, which the reader of a demo must see.
                _ => println!("  ({}) {line}", row.name),
            }
        }
        let seconds = seconds.with_context(|| format!("{}: no time was printed", row.name))?;
        let first = self.result.get_or_insert_with(|| out.stdout.clone());
        if *first != out.stdout {
            self.equal = false;
            println!(
                "  ({}) DIFFERENT RESULT: {} instead of {}",
                row.name,
                String::from_utf8_lossy(&out.stdout).trim(),
                String::from_utf8_lossy(first).trim()
            );
        }
        row.samples.push(Sample {
            seconds,
            region: read_report(&self.report)?,
        });
        Ok(())
    }

    /// Runs all rows `runs` times, in turns. A machine that changes its speed meanwhile
    /// then changes all rows alike.
    fn measure(&mut self, rows: &mut [Row], runs: u32) -> Result<()> {
        for _ in 0..runs {
            for row in &mut *rows {
                self.sample(row)?;
            }
        }
        Ok(())
    }
}

/// The region that took the most time, if there is a report.
fn read_report(path: &Path) -> Result<Option<Region>> {
    let Ok(text) = fs::read_to_string(path) else {
        return Ok(None);
    };
    let report: Report = serde_json::from_str(&text).context("HETMP_REPORT's file")?;
    Ok(report.loops.into_iter().max_by_key(|r| r.elapsed_ns))
}

fn run(options: &Options) -> Result<bool> {
    let library = library::libhetmp().map_err(anyhow::Error::msg)?;
    let (a, b) = two_cpus()?;
    let dir = library::target_dir().join("demo");
    fs::create_dir_all(&dir)?;
    let mut demo = Demo {
        program: compile(&dir, "nbody", &[])?,
        args: vec![options.bodies.to_string(), options.steps.to_string()],
        report: dir.join("report.json"),
        result: None,
        equal: true,
    };
    println!(
        "program: c-tests/kernels/nbody.c, gcc -fopenmp -O2, one binary for all runs, linked with {}",
        openmp_of(&demo.program)?
    );
    println!(
        "         {} executions of one loop of {} iterations, schedule(runtime), 2 threads; medians of {}",
        options.steps, options.bodies, options.runs
    );

    let preload = library.display().to_string();
    let mut equal = [
        Row::new("libgomp", &[("OMP_SCHEDULE", "static")]),
        Row::new(
            "libhetmp.so preloaded",
            &[("OMP_SCHEDULE", "static"), ("LD_PRELOAD", &preload)],
        ),
    ];
    demo.measure(&mut equal, options.runs)?;
    println!("\n1. Equal cores, OMP_SCHEDULE=static\n");
    println!("   {:<24}{:>10}{:>10}", "runtime", "seconds", "ratio");
    let libgomp = equal[0].median().seconds;
    for row in &equal {
        let t = row.median().seconds;
        println!("   {:<24}{t:>10.3}{:>10.2}", row.name, t / libgomp);
    }
    println!(
        "\n   {}",
        String::from_utf8_lossy(demo.result.as_deref().unwrap_or_default()).trim()
    );

    let nodes = format!("cores={a},speed=1;cores={b},speed={}", options.speed);
    let ratios = format!("static-csr:{:.4},1", 1.0 / options.speed);
    let ratios = ratios
        .split(',')
        .next()
        .map_or("", |r| r.trim_end_matches('0').trim_end_matches('.'))
        .to_owned()
        + ",1";
    let mut unlike: Vec<Row> = ["static", "dynamic", &ratios, "hetprobe"]
        .iter()
        .map(|schedule| {
            Row::new(
                schedule,
                &[
                    ("LD_PRELOAD", &preload),
                    ("HETMP_NODES", &nodes),
                    ("HETMP_SCHEDULE", schedule),
                ],
            )
        })
        .collect();
    demo.measure(&mut unlike, options.runs)?;
    println!("\n2. Unlike cores, HETMP_NODES='{nodes}'\n");
    show_nodes(&unlike)?;
    demo.program = compile(&dir, "nbody-no-clause", &["-DNO_CLAUSE"])?;
    let mut divided: Vec<Row> = ["static", "hetprobe"]
        .iter()
        .map(|schedule| {
            Row::new(
                schedule,
                &[
                    ("LD_PRELOAD", &preload),
                    ("HETMP_NODES", &nodes),
                    ("HETMP_SCHEDULE", schedule),
                ],
            )
        })
        .collect();
    demo.measure(&mut divided, options.runs)?;
    println!("\n3. The same nodes; no schedule clause: gcc has divided the loop itself\n");
    show_divided(&divided);
    println!(
        "\n   All runs on unlike cores are ours: HETMP_NODES does not slow libgomp's threads, so its time\n   \
         on these nodes cannot be compared."
    );
    println!(
        "\n{}",
        if demo.equal {
            "All results are equal."
        } else {
            "RESULTS DIFFER."
        }
    );
    if let Some(path) = &options.json {
        let all: Vec<&Row> = equal.iter().chain(&unlike).chain(&divided).collect();
        let text = serde_json::to_string_pretty(&all)?;
        fs::write(path, text + "\n").with_context(|| path.display().to_string())?;
    }
    Ok(demo.equal)
}

fn show_divided(rows: &[Row]) {
    println!(
        "   {:<20}{:>9}{:>8}   {:<9}node 1",
        "schedule", "seconds", "ratio", "node 0"
    );
    let fixed = rows[0].median().seconds;
    for row in rows {
        let sample = row.median();
        let mut line = format!(
            "   {:<20}{:>9.3}{:>8.2}   ",
            row.name,
            sample.seconds,
            sample.seconds / fixed
        );
        // The report has shares only for regions that ran as virtual threads. In the other rows the
        // program itself gives each thread one half of the loop.
        let shares: Vec<f64> = match &sample.region {
            Some(region) => region.nodes.iter().map(|n| n.share).collect(),
            None => vec![0.5, 0.5],
        };
        for share in shares {
            // Writing to a String cannot fail.
            let _ = write!(line, "{:<9}", format!("{:.1}%", share * 100.0));
        }
        println!("{}", line.trim_end());
    }
}

fn show_nodes(rows: &[Row]) -> Result<()> {
    println!(
        "   {:<20}{:>9}{:>8}   {:<26}node 1",
        "schedule", "seconds", "ratio", "node 0"
    );
    let columns = "loop s   share    CSR";
    println!("   {:<40}{columns:<26}{columns}", "");
    let fixed = rows[0].median().seconds;
    for row in rows {
        let sample = row.median();
        let Some(region) = &sample.region else {
            bail!("{}: HETMP_REPORT was not written", row.name);
        };
        let mut line = format!(
            "   {:<20}{:>9.3}{:>8.2}   ",
            row.name,
            sample.seconds,
            sample.seconds / fixed
        );
        for node in &region.nodes {
            let csr = node.csr.map_or("-".into(), |c| format!("{c:.2}"));
            let cell = format!(
                "{:>6.3}{:>7.1}%{csr:>7}",
                node.elapsed_ns as f64 / 1e9,
                node.share * 100.0
            );
            // Writing to a String cannot fail.
            let _ = write!(line, "{cell:<26}");
        }
        println!("{}", line.trim_end());
    }
    println!("\n   What was decided, and why:");
    for row in rows {
        let Some(region) = &row.median().region else {
            continue;
        };
        println!("   {} ({})", row.name, region.region);
        let first = region.decisions.first();
        let last = region
            .decisions
            .last()
            .filter(|_| region.decisions.len() > 1);
        for decision in first.into_iter().chain(last) {
            println!("     execution {}: {}", decision.execution, decision.reason);
        }
        if region.decisions.len() > 2 {
            println!(
                "     {} decisions in {} executions",
                region.decisions.len(),
                region.executions
            );
        }
    }
    Ok(())
}

/// Compiles the program as any user would.
fn compile(dir: &Path, name: &str, flags: &[&str]) -> Result<PathBuf> {
    let program = dir.join(name);
    let out = Command::new("gcc")
        .args(flags)
        .args(["-fopenmp", "-O2", "-o"])
        .arg(&program)
        .arg(library::root().join("c-tests/kernels/nbody.c"))
        .arg("-lm")
        .output()
        .context("gcc")?;
    ensure!(
        out.status.success(),
        "gcc: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    Ok(program)
}

/// The OpenMP library that the loader takes without a preload.
fn openmp_of(program: &Path) -> Result<String> {
    let out = Command::new("ldd").arg(program).output().context("ldd")?;
    let text = String::from_utf8_lossy(&out.stdout);
    text.lines()
        .find(|l| l.trim_start().starts_with("libgomp.so"))
        .and_then(|l| l.split("=>").nth(1))
        .and_then(|l| l.split_whitespace().next())
        .map(str::to_owned)
        .context("the program is not linked with libgomp")
}

/// Two CPUs that this process may use, on different cores if it may use several cores.
fn two_cpus() -> Result<(usize, usize)> {
    // SAFETY: all-zero is a valid cpu_set_t, and the call writes only into that set.
    let (rc, set) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let rc = libc::sched_getaffinity(0, std::mem::size_of_val(&set), &mut set);
        (rc, set)
    };
    ensure!(rc == 0, "{}", std::io::Error::last_os_error());
    let cpus: Vec<usize> = (0..libc::CPU_SETSIZE as usize)
        // SAFETY: the number is below the size of the set.
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect();
    let core = |cpu: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
    };
    let Some(&first) = cpus.first() else {
        bail!("no CPU in the affinity mask");
    };
    let other = cpus
        .iter()
        .find(|&&cpu| core(cpu) != core(first))
        .or(cpus.get(1));
    match other {
        Some(&second) => Ok((first, second)),
        None => bail!(
            "CPUs that this process may use 1 (expected at least 2: the demo shows two nodes of one core)"
        ),
    }
}
