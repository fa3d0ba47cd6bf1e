//! `bench simd`: kernels in `hetmp/simd.h` beside the same kernels in Intel's intrinsics.
//!
//! `c-tests/bench/simd_kernels.c` has both versions of each kernel and times them in turns, within
//! one process. This module compiles the program for each backend that this processor supports, runs
//! it, and prints a table. If the two versions of a kernel give different results, the run ends.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{bail, Context, Result};
use clap::Args;

use hetmp_abi_compat::library;

/// What `bench simd` accepts.
#[derive(Args, Debug)]
pub struct SimdArgs {
    /// Rounds of each kernel; a round is about half a millisecond of each version
    #[arg(long, value_name = "N", default_value_t = 301, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,
    /// The compiler: gcc or clang
    #[arg(long, value_name = "CC", default_value = "gcc")]
    compiler: String,
    /// Keep the numbers in this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Nanoseconds a call: the median, the least and the most of the rounds.
#[derive(serde::Serialize)]
struct Times {
    median: f64,
    least: f64,
    most: f64,
}

#[derive(serde::Serialize)]
struct Row {
    backend: String,
    kernel: String,
    simd: Times,
    intrinsics: Times,
    /// Median of the rounds' ratios, simd.h over intrinsics.
    ratio: f64,
}

/// Backends with the processor feature that they need and the compiler's flags.
const BACKENDS: [(&str, &str, &[&str]); 3] = [
    ("sse2", "sse2", &["-DHETMP_SIMD_BACKEND=sse2"]),
    (
        "avx2",
        "avx2",
        &["-DHETMP_SIMD_BACKEND=avx2", "-march=x86-64-v3"],
    ),
    (
        "avx512",
        "avx512vl",
        &["-DHETMP_SIMD_BACKEND=avx512", "-march=x86-64-v4"],
    ),
];

/// Measures and prints; the exit status is 0 whatever the times are.
///
/// # Errors
/// When the program cannot be compiled or its two versions disagree.
pub fn simd(args: &SimdArgs) -> Result<ExitCode> {
    let features = std::fs::read_to_string("/proc/cpuinfo").context("/proc/cpuinfo")?;
    let mut rows = Vec::new();
    println!(
        "Kernels in hetmp/simd.h and in intrinsics, {} -O2, {} rounds in turns.\n",
        args.compiler, args.rounds
    );
    println!("| backend | kernel | simd.h ns (least-most) | intrinsics ns (least-most) | simd.h / intrinsics |");
    println!("| --- | --- | ---: | ---: | ---: |");
    for (name, feature, flags) in BACKENDS {
        if !features
            .split_ascii_whitespace()
            .any(|word| word == feature)
        {
            println!("| {name} | not measured: this processor lacks it | | | |");
            continue;
        }
        for row in measure(args, name, flags)? {
            let (s, i) = (&row.simd, &row.intrinsics);
            println!(
                "| {name} | {} | {:.1} ({:.1}-{:.1}) | {:.1} ({:.1}-{:.1}) | {:.3} |",
                row.kernel, s.median, s.least, s.most, i.median, i.least, i.most, row.ratio
            );
            rows.push(row);
        }
    }
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&rows)?;
        std::fs::write(file, text).with_context(|| format!("file {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &SimdArgs, backend: &str, flags: &[&str]) -> Result<Vec<Row>> {
    let folder = library::target_dir().join("simd");
    std::fs::create_dir_all(&folder).with_context(|| format!("folder {}", folder.display()))?;
    let program = folder.join(format!("bench_{backend}"));
    let built = Command::new(&args.compiler)
        .current_dir(library::root())
        .args(["-std=c11", "-O2", "-Iinclude"])
        .args(flags)
        .args(["c-tests/bench/simd_kernels.c", "-lm", "-o"])
        .arg(&program)
        .status()
        .with_context(|| {
            format!(
                "compiler {}: not usable (expected gcc or clang)",
                args.compiler
            )
        })?;
    if !built.success() {
        bail!("simd_kernels.c: not compiled for {backend}");
    }
    let out = Command::new(&program)
        .arg(args.rounds.to_string())
        .output()
        .with_context(|| format!("program {}", program.display()))?;
    if !out.status.success() {
        bail!("{}", String::from_utf8_lossy(&out.stderr).trim_end());
    }
    String::from_utf8_lossy(&out.stdout)
        .lines()
        .map(row)
        .collect()
}

fn row(line: &str) -> Result<Row> {
    let mut words = line.split_ascii_whitespace();
    let (Some(backend), Some(kernel)) = (words.next(), words.next()) else {
        bail!("line {line:?}: backend, kernel and seven numbers were expected");
    };
    let n: Vec<f64> = words
        .map(str::parse)
        .collect::<Result<_, _>>()
        .with_context(|| format!("line {line:?}"))?;
    let &[a, b, c, d, e, f, ratio] = n.as_slice() else {
        bail!("line {line:?}: seven numbers were expected");
    };
    Ok(Row {
        backend: backend.to_owned(),
        kernel: kernel.to_owned(),
        simd: Times {
            median: a,
            least: b,
            most: c,
        },
        intrinsics: Times {
            median: d,
            least: e,
            most: f,
        },
        ratio,
    })
}
