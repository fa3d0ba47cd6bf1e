//! `bench shmem`: OpenSHMEM operations compared with another library of the machine, and compared with plain memory.
//!
//! One source, `c-tests/bench/shmem_bench.c`, is compiled by our `oshcc` and by the peer's (Open MPI's, where it is
//! installed). A round is one job under each library. A row's ratio is the median of its rounds' ratios. Every job
//! also measures lower bounds: a copy into shared memory, and a cache line from core to core. The second part runs
//! our library through its queue pairs (`HETMP_NIC=emulated` and `tcp`). It has no peer: no other library offers
//! this on one machine.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use clap::Args;
use serde::Serialize;

use super::{machine::Machine, stats};
use hetmp_abi_compat::library;

/// What `bench shmem` accepts.
#[derive(Args, Debug)]
pub struct ShmemArgs {
    /// Fewer rounds (3), shorter rows: for a look while working
    #[arg(long)]
    quick: bool,
    /// Rounds; a round is one job of each library [default: 9, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Time of one row in a job, in milliseconds [default: 20, quick: 5]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u32).range(1..=10000))]
    ms: Option<u32>,
    /// Numbers of PEs, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "2,4",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pes: Vec<u32>,
    /// Only rows whose name contains this
    #[arg(long, value_name = "TEXT")]
    rows: Option<String>,
    /// Leave the queue pairs (emulated, tcp) out
    #[arg(long)]
    no_engines: bool,
    /// Folder of our installation (scripts/install --prefix) [default: $HETMP_PREFIX]
    #[arg(long, value_name = "DIR")]
    prefix: Option<PathBuf>,
    /// The peer's folder of commands, with oshcc and oshrun; that of an earlier installation of
    /// ours shows what a change costs
    #[arg(long, value_name = "DIR", default_value = "/usr/bin")]
    peer: PathBuf,
    /// Write everything that was measured to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A library with its two commands and the compiled program.
struct Library {
    name: &'static str,
    run: PathBuf,
    program: PathBuf,
    /// Arguments of the launcher before the number of PEs.
    launcher: &'static [&'static str],
}

/// A row's name, and the bytes of one operation.
type Key = (String, u64);

/// A row over all rounds.
#[derive(Debug, Default, Serialize)]
struct Row {
    name: String,
    bytes: u64,
    pes: u32,
    engine: String,
    ours: Vec<f64>,
    peer: Vec<f64>,
    /// The row's lower bound, measured in our jobs.
    floor: Vec<f64>,
}

#[derive(Serialize)]
struct Report<'a> {
    machine: Machine,
    rows: &'a [Row],
}

/// Measures and prints tables; the exit status is 1 where a job could not be run.
///
/// # Errors
/// A program that cannot be compiled, a file that cannot be written.
pub fn shmem(args: &ShmemArgs) -> Result<ExitCode> {
    let machine = Machine::look(crate::programs::Compiler::Gcc);
    let prefix = args
        .prefix
        .clone()
        .or_else(|| std::env::var_os("HETMP_PREFIX").map(PathBuf::from))
        .context("--prefix: missing (expected the folder of an installation)")?;
    let ours = compile("hetmp", &prefix.join("bin"), &[])?;
    let peer = match compile("peer", &args.peer, launcher_of(&args.peer)) {
        Ok(peer) => Some(peer),
        Err(e) => {
            println!("No peer: {e:#}\n");
            None
        }
    };
    println!(
        "OpenSHMEM on {} ({} CPUs, load {:.2}), {} rounds in turns.",
        machine.cpu,
        machine.cores,
        machine.load_before,
        args.rounds()
    );
    let mut rows = Vec::new();
    let mut failed = false;
    for &pes in &args.pes {
        let point: &[&str] = &[];
        failed |= measure(args, &ours, peer.as_ref(), pes, None, point, &mut rows)?;
        table(&rows, pes, "", peer.is_some());
    }
    if !args.no_engines {
        for engine in ["emulated", "tcp"] {
            failed |= measure(args, &ours, None, 2, Some(engine), &[], &mut rows)?;
            table(&rows, 2, engine, false);
        }
    }
    if let Some(file) = &args.json {
        let report = Report {
            machine,
            rows: &rows,
        };
        std::fs::write(file, serde_json::to_string_pretty(&report)? + "\n")
            .with_context(|| format!("--json {}: a file that can be written", file.display()))?;
    }
    Ok(ExitCode::from(u8::from(failed)))
}

impl ShmemArgs {
    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 3 } else { 9 })
    }

    fn ms(&self) -> u32 {
        self.ms.unwrap_or(if self.quick { 5 } else { 20 })
    }
}

/// Arguments that the `oshrun` in `bin` needs. Without them, Open MPI's refuses to run as the superuser, and
/// to start more PEs than cores. Our `oshrun` needs none.
fn launcher_of(bin: &Path) -> &'static [&'static str] {
    let version = Command::new(bin.join("oshrun")).arg("--version").output();
    match version {
        Ok(out) if out.stdout.starts_with(b"hetrun") => &[],
        _ => &["--allow-run-as-root", "--oversubscribe"],
    }
}

fn compile(name: &'static str, bin: &Path, launcher: &'static [&'static str]) -> Result<Library> {
    let folder = library::target_dir().join("shmem-bench");
    std::fs::create_dir_all(&folder).with_context(|| format!("folder {}", folder.display()))?;
    let program = folder.join(format!("shmem_bench_{name}"));
    let compiler = bin.join("oshcc");
    let out = Command::new(&compiler)
        .current_dir(library::root())
        .args(["-std=gnu11", "-O2", "-Wno-deprecated-declarations"])
        .args(["c-tests/bench/shmem_bench.c", "-o"])
        .arg(&program)
        .output()
        .with_context(|| format!("compiler {}", compiler.display()))?;
    if !out.status.success() {
        bail!(
            "{}: shmem_bench.c is not compiled: {}",
            compiler.display(),
            String::from_utf8_lossy(&out.stderr).trim_end()
        );
    }
    Ok(Library {
        name,
        run: bin.join("oshrun"),
        program,
        launcher,
    })
}

/// Runs one job and returns the medians by row. A job that has printed the line "end" counts, whatever its exit
/// status: Open MPI 4.1 crashes in finalize.
fn job(
    args: &ShmemArgs,
    library: &Library,
    pes: u32,
    engine: Option<&str>,
    more: &[&str],
) -> Result<Vec<(Key, f64)>> {
    let mut command = Command::new("timeout");
    command.arg("300").arg(&library.run).args(library.launcher);
    if engine == Some("emulated") {
        // A PE and its adapter would share the one core that a PE gets here.
        command.args(["--bind-to", "none"]);
    }
    command
        .args(["-n", &pes.to_string()])
        .arg(&library.program)
        .args(["--ms", &args.ms().to_string()])
        .args(more)
        .stdin(Stdio::null());
    for name in ["HETMP_NIC", "HETMP_NIC_MODEL", "HETMP_CHECK", "SHMEM_DEBUG"] {
        command.env_remove(name);
    }
    // Enough for blocks of 64 KiB from every PE, and for buffers of one megabyte.
    command.env("SHMEM_SYMMETRIC_SIZE", "256M");
    if let Some(rows) = &args.rows {
        command.args(["--rows", rows]);
    }
    if let Some(engine) = engine {
        command.env("HETMP_NIC", engine);
    }
    let out = command
        .output()
        .with_context(|| format!("program {}", library.run.display()))?;
    let text = String::from_utf8_lossy(&out.stdout);
    let mut rows = Vec::new();
    let mut ended = false;
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words.as_slice() {
            ["end", ..] => ended = true,
            [name, bytes, ns, _, _] => {
                if let (Ok(bytes), Ok(ns)) = (bytes.parse(), ns.parse()) {
                    rows.push((((*name).to_owned(), bytes), ns));
                }
            }
            _ => {}
        }
    }
    if !ended {
        let errors = String::from_utf8_lossy(&out.stderr);
        let last = errors.lines().last().unwrap_or("no message");
        bail!(
            "job of {} with {pes} PEs: {}: {last}",
            library.name,
            out.status
        );
    }
    Ok(rows)
}

/// Runs the rounds; true if a job failed.
fn measure(
    args: &ShmemArgs,
    ours: &Library,
    peer: Option<&Library>,
    pes: u32,
    engine: Option<&str>,
    more: &[&str],
    rows: &mut Vec<Row>,
) -> Result<bool> {
    let mut failed = false;
    // The rows, in the order in which the program measures them.
    let mut found: Vec<Row> = Vec::new();
    let of = |rows: &[(Key, f64)], key: &Key| rows.iter().find(|(k, _)| k == key).map(|r| r.1);
    for _ in 0..args.rounds() {
        let mine = match job(args, ours, pes, engine, more) {
            Ok(rows) => rows,
            Err(e) => {
                eprintln!("hetmp: {e:#}");
                failed = true;
                continue;
            }
        };
        let theirs = match peer.map(|p| job(args, p, pes, None, more)) {
            Some(Ok(rows)) => rows,
            Some(Err(e)) => {
                eprintln!("hetmp: {e:#}");
                Vec::new()
            }
            None => Vec::new(),
        };
        for (key, ns) in &mine {
            let at = found
                .iter()
                .position(|r| r.name == key.0 && r.bytes == key.1)
                .unwrap_or_else(|| {
                    found.push(Row {
                        name: key.0.clone(),
                        bytes: key.1,
                        pes,
                        engine: engine.unwrap_or_default().to_owned(),
                        ..Row::default()
                    });
                    found.len() - 1
                });
            let row = &mut found[at];
            row.ours.push(*ns);
            row.peer.extend(of(&theirs, key));
            let floor = match key.0.as_str() {
                "put+quiet" | "get" => of(&mine, &("copy".to_owned(), key.1)),
                _ => None,
            };
            row.floor.extend(floor);
        }
        // The processes of this round may still be ending. The next round begins on quiet cores.
        std::thread::sleep(Duration::from_millis(50));
    }
    rows.extend(found);
    Ok(failed)
}

fn pairs(a: &[f64], b: &[f64]) -> Option<f64> {
    (!a.is_empty() && a.len() == b.len())
        .then(|| stats::median(a.iter().zip(b).map(|(a, b)| a / b)))
}

fn table(rows: &[Row], pes: u32, engine: &str, with_peer: bool) {
    let way = if engine.is_empty() {
        "mapped memory".to_owned()
    } else {
        format!("HETMP_NIC={engine}")
    };
    println!("\n### {pes} PEs, {way}\n");
    println!("| operation | bytes | ns (least-most) | peer ns (least-most) | ours / peer | ours / copy |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: |");
    let mut ratios = Vec::new();
    for row in rows.iter().filter(|r| r.pes == pes && r.engine == engine) {
        let show = |v: &[f64]| match v {
            [] => String::new(),
            v => {
                let (least, most) = stats::range(v.iter().copied());
                format!(
                    "{:.1} ({least:.1}-{most:.1})",
                    stats::median(v.iter().copied())
                )
            }
        };
        let ratio = |r: Option<f64>| r.map_or(String::new(), |r| format!("{r:.2}"));
        let to_peer = pairs(&row.ours, &row.peer);
        if !["copy", "hop"].contains(&row.name.as_str()) {
            ratios.extend(to_peer);
        }
        println!(
            "| {} | {} | {} | {} | {} | {} |",
            row.name,
            row.bytes,
            show(&row.ours),
            show(&row.peer),
            ratio(to_peer),
            ratio(pairs(&row.ours, &row.floor)),
        );
    }
    if with_peer && !ratios.is_empty() {
        let above = ratios.iter().filter(|r| **r > 1.0).count();
        println!(
            "\n{} rows with a peer: geometric mean {:.2}, {above} above 1.",
            ratios.len(),
            stats::geometric_mean(ratios.iter().copied())
        );
    }
}
