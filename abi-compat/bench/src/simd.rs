//! `bench simd`: kernels in `hetmp/simd.h` compared with the same kernels in Intel's intrinsics, in SIMDe and in
//! Highway.
//!
//! `c-tests/bench/simd_kernels.c` times the versions of each kernel in turns, within one process. This module compiles
//! the program for each backend that this processor supports, runs it, and prints a table. If two versions of a kernel
//! give different results, the run ends. The two libraries' headers are Debian's; a line says which are missing.

use std::path::{Path, PathBuf};
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
    /// What is compared with: intrinsics, SIMDe or Highway.
    other: String,
    simd: Times,
    theirs: Times,
    /// Median of the rounds' ratios, simd.h over the other.
    ratio: f64,
}

/// Backends with the processor feature that they need, the compiler's flags, and those that Highway needs besides them
/// for its target of that width (it has none for SSE2 alone).
const BACKENDS: [(&str, &str, &[&str], &[&str]); 3] = [
    ("sse2", "sse2", &["-DHETMP_SIMD_BACKEND=sse2"], &["-mssse3"]),
    (
        "avx2",
        "avx2",
        &["-DHETMP_SIMD_BACKEND=avx2", "-march=x86-64-v3"],
        &["-maes", "-mpclmul"],
    ),
    (
        "avx512",
        "avx512vl",
        &["-DHETMP_SIMD_BACKEND=avx512", "-march=x86-64-v4"],
        &["-maes", "-mpclmul"],
    ),
];

/// The other libraries: name, Debian's package, a header of it, our source, its macro.
const PEERS: [(&str, &str, &str, &str, &str); 2] = [
    (
        "SIMDe",
        "libsimde-dev",
        "simde/x86/avx2.h",
        "simd_simde.c",
        "-DHAVE_SIMDE=1",
    ),
    (
        "Highway",
        "libhwy-dev",
        "hwy/highway.h",
        "simd_highway.cc",
        "-DHAVE_HIGHWAY=1",
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
        "Kernels in hetmp/simd.h and in others' ways, {} -O2, {} rounds in turns.\n",
        args.compiler, args.rounds
    );
    for (name, package, header, ..) in PEERS {
        if !has(&args.compiler, header)? {
            println!("{name}: not compared: {header} is not here (package {package})\n");
        }
    }
    println!("| backend | kernel | beside | simd.h ns (least-most) | other ns (least-most) | simd.h / other |");
    println!("| --- | --- | --- | ---: | ---: | ---: |");
    for (name, feature, flags, more) in BACKENDS {
        if !features
            .split_ascii_whitespace()
            .any(|word| word == feature)
        {
            println!("| {name} | not measured: this processor lacks it | | | | |");
            continue;
        }
        for row in measure(args, name, flags, more)? {
            let (s, i) = (&row.simd, &row.theirs);
            println!(
                "| {name} | {} | {} | {:.1} ({:.1}-{:.1}) | {:.1} ({:.1}-{:.1}) | {:.3} |",
                row.kernel,
                row.other,
                s.median,
                s.least,
                s.most,
                i.median,
                i.least,
                i.most,
                row.ratio
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

/// True if the compiler finds this header.
fn has(compiler: &str, header: &str) -> Result<bool> {
    let found = Command::new(compiler)
        .args(["-E", "-o", "/dev/null", "-include", header, "-x", "c++"])
        .arg("/dev/null")
        .output()
        .with_context(|| format!("compiler {compiler}: not usable (expected gcc or clang)"))?;
    Ok(found.status.success())
}

fn compile(compiler: &str, args: &[&str], to: &Path) -> Result<()> {
    let built = Command::new(compiler)
        .current_dir(library::root())
        .args(args)
        .arg("-o")
        .arg(to)
        .status()
        .with_context(|| format!("compiler {compiler}: not usable (expected gcc or clang)"))?;
    if !built.success() {
        bail!("{}: not compiled", args.join(" "));
    }
    Ok(())
}

fn measure(args: &SimdArgs, backend: &str, flags: &[&str], more: &[&str]) -> Result<Vec<Row>> {
    let folder = library::target_dir().join("simd");
    std::fs::create_dir_all(&folder).with_context(|| format!("folder {}", folder.display()))?;
    let program = folder.join(format!("bench_{backend}"));
    let mut whole = vec!["-std=c11", "-O2", "-Iinclude"];
    whole.extend(flags);
    whole.push("c-tests/bench/simd_kernels.c");
    let mut objects = Vec::new();
    for (name, _, header, source, macro_) in PEERS {
        if !has(&args.compiler, header)? {
            continue;
        }
        let object = folder.join(format!("{backend}_{name}.o"));
        let source = format!("c-tests/bench/{source}");
        // SIMDe passes vectors wider than the target's, of which gcc prints a note.
        let mut part = vec!["-O2", "-Wno-psabi", "-c", source.as_str()];
        part.extend(flags.iter().filter(|f| f.starts_with("-m")));
        if name == "Highway" {
            part.extend(more);
        }
        compile(&args.compiler, &part, &object)?;
        whole.push(macro_);
        objects.push(object.display().to_string());
    }
    whole.extend(objects.iter().map(String::as_str));
    whole.push("-lm");
    compile(&args.compiler, &whole, &program)?;
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
    let (Some(backend), Some(kernel), Some(other)) = (words.next(), words.next(), words.next())
    else {
        bail!("line {line:?}: backend, kernel, version and seven numbers were expected");
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
        other: other.to_owned(),
        simd: Times {
            median: a,
            least: b,
            most: c,
        },
        theirs: Times {
            median: d,
            least: e,
            most: f,
        },
        ratio,
    })
}
