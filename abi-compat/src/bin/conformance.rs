//! `conformance`: runs gcc's libgomp test suite under libgomp or under libhetmp.so.

use clap::{Parser, ValueEnum};
use hetmp_abi_compat::suite::{
    first_line, in_parallel, Built, Directory, Suite, Test, Verdict, OPENACC, OPENMP,
};
use hetmp_abi_compat::{exec, library};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Which upstream suite.
#[derive(Clone, Copy, ValueEnum)]
enum Which {
    /// gcc's libgomp test suite, host run-tests of OpenMP.
    Gomp,
    /// gcc's libgomp test suite, OpenACC with the host as the device.
    Acc,
}

/// Which runtime the tests run on.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Under {
    /// The system's libgomp, as the tests were linked.
    Gomp,
    /// libhetmp.so, preloaded.
    Hetmp,
}

/// Run the upstream test suite of an OpenMP runtime: compiled once by the system
/// compiler, unmodified, then run under the system's libgomp or under libhetmp.so.
/// A test that we fail is run again under libgomp; one that fails there too is
/// listed apart and is not held against us.
#[derive(Parser)]
#[command(name = "conformance")]
struct Options {
    /// The suite
    which: Which,
    /// Set OMP_NUM_THREADS (a test's own setting wins); default: not set
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    threads: Option<u32>,
    /// The runtime
    #[arg(long, value_enum, default_value = "hetmp")]
    under: Under,
    /// A fixed subset, small enough for continuous integration
    #[arg(long)]
    sample: bool,
    /// Only tests whose name (`libgomp.c/barrier-1.c`) matches this regular expression
    #[arg(long)]
    filter: Option<regex::Regex>,
    /// Tests compiled or run at the same time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Run each test this many times; it passes if every run does
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Set a variable in the tests' environment (NAME=VALUE), may be repeated
    #[arg(long, value_parser = assignment)]
    env: Vec<(String, String)>,
    /// Write every verdict to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// Compile only; fills the cache
    #[arg(long)]
    build_only: bool,
    /// Where sources and binaries are kept; default: .cache/conformance
    #[arg(long)]
    cache: Option<PathBuf>,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .map(|(n, v)| (n.to_owned(), v.to_owned()))
        .ok_or_else(|| "expected NAME=VALUE".to_owned())
}

/// The JSON file.
#[derive(Serialize)]
struct Report {
    suite: &'static str,
    under: &'static str,
    library: String,
    compiler: String,
    threads: Option<u32>,
    sample: bool,
    seconds: f64,
    totals: BTreeMap<String, usize>,
    tests: Vec<Verdict>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match conformance(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("hetmp: {why}");
            ExitCode::from(2)
        }
    }
}

fn conformance(options: &Options) -> Result<bool, String> {
    let (name, directories) = match options.which {
        Which::Gomp => ("gomp", OPENMP),
        Which::Acc => ("acc", OPENACC),
    };
    let cache = options
        .cache
        .clone()
        .unwrap_or_else(|| library::root().join(".cache/conformance"));
    let suite = Suite::open(&cache, directories)?;
    let mut env = options.env.clone();
    if let Some(threads) = options.threads {
        env.push(("OMP_NUM_THREADS".into(), threads.to_string()));
    }
    let gomp_env = env.clone();
    let mut under = "system libgomp".to_owned();
    if options.under == Under::Hetmp && !options.build_only {
        let path = library::libhetmp()?;
        check_preload(&path)?;
        under = path.display().to_string();
        env.push(("LD_PRELOAD".into(), under.clone()));
    }
    let chosen: Vec<&Test> = suite
        .tests
        .iter()
        .filter(|t| options.filter.as_ref().is_none_or(|f| f.is_match(&t.id)))
        .filter(|t| !options.sample || in_sample(&t.id))
        .collect();
    let started = Instant::now();
    let built = build(&suite, &chosen, options.jobs)?;
    if options.build_only {
        let refused = built
            .iter()
            .filter(|b| matches!(b, Some(Built::Refused(_))));
        println!(
            "{} tests compiled, {} refused by the compiler, {:.0} s",
            built
                .iter()
                .filter(|b| matches!(b, Some(Built::Binary(_))))
                .count(),
            refused.count(),
            started.elapsed().as_secs_f64()
        );
        return Ok(true);
    }

    let pairs: Vec<(&Test, Option<Built>)> = chosen.into_iter().zip(built).collect();
    let progress = Progress::new("run", pairs.len());
    let verdicts: Vec<Verdict> = in_parallel(&pairs, options.jobs, |_, (test, built)| {
        let verdict = judge(&suite, test, built.as_ref(), options, &env, &gomp_env);
        progress.step(verdict.as_ref().is_ok_and(|v| v.result == "fail"));
        verdict
    })
    .into_iter()
    .collect::<Result<_, _>>()?;
    progress.end();

    println!(
        "suite {name} under {under}, OMP_NUM_THREADS {}, {}",
        options
            .threads
            .map_or("not set".to_owned(), |n| n.to_string()),
        suite.compiler()
    );
    print_table(directories, &verdicts);
    let report = Report {
        suite: name,
        under: if options.under == Under::Gomp {
            "gomp"
        } else {
            "hetmp"
        },
        library: under,
        compiler: suite.compiler().to_owned(),
        threads: options.threads,
        sample: options.sample,
        seconds: started.elapsed().as_secs_f64(),
        totals: totals(&verdicts),
        tests: verdicts,
    };
    if let Some(file) = &options.json {
        let text =
            serde_json::to_string_pretty(&report).expect("the report has no maps with odd keys");
        std::fs::write(file, text + "\n")
            .map_err(|e| format!("file {}: {e} (expected a writable path)", file.display()))?;
    }
    println!("{:.0} s", report.seconds);
    Ok(report.tests.iter().all(|v| v.result != "fail"))
}

/// Refuses a library that cannot be preloaded. ld.so only prints a warning in that
/// case: every test would then run on libgomp, and pass.
fn check_preload(library: &Path) -> Result<(), String> {
    let out = exec::run(&exec::Program {
        path: Path::new("/bin/true"),
        args: &[],
        env: &[("LD_PRELOAD".into(), library.display().to_string())],
        dir: Path::new("/"),
        limit: Duration::from_secs(10),
        merge: true,
    })
    .map_err(|e| format!("/bin/true: {e}"))?;
    if out.ending != exec::Ending::Exit(0) || !out.stdout.is_empty() {
        return Err(format!(
            "library {}: cannot be preloaded ({}): {}",
            library.display(),
            out.ending,
            first_line(&out.stdout)
        ));
    }
    Ok(())
}

fn build(suite: &Suite, tests: &[&Test], jobs: usize) -> Result<Vec<Option<Built>>, String> {
    let progress = Progress::new("compile", tests.len());
    let built = in_parallel(tests, jobs, |_, test| {
        let built = if test.runnable() {
            suite.build(test).map(Some)
        } else {
            Ok(None)
        };
        progress.step(matches!(built, Ok(Some(Built::Refused(_)))));
        built
    });
    progress.end();
    built.into_iter().collect()
}

fn judge(
    suite: &Suite,
    test: &Test,
    built: Option<&Built>,
    options: &Options,
    env: &[(String, String)],
    gomp_env: &[(String, String)],
) -> Result<Verdict, String> {
    let mut verdict = Verdict {
        id: test.id.clone(),
        directory: suite.directories[test.directory].name.to_owned(),
        result: "pass".to_owned(),
        detail: String::new(),
        first_line: String::new(),
        seconds: 0.0,
    };
    let binary = match built {
        Some(Built::Binary(binary)) => binary,
        Some(Built::Refused(why)) => {
            verdict.result = "does-not-compile".to_owned();
            verdict.first_line = why.clone();
            return Ok(verdict);
        }
        None => {
            verdict.result = "not-runnable".to_owned();
            verdict.detail = match &test.directives.unsupported {
                Some(why) => why.clone(),
                None => "compile-only".to_owned(),
            };
            return Ok(verdict);
        }
    };
    for _ in 0..options.repeat {
        let (ok, out) = suite.run(test, binary, env)?;
        verdict.seconds += out.seconds;
        verdict.detail = out.ending.to_string();
        if ok {
            continue;
        }
        verdict.first_line = first_line(&out.stdout);
        verdict.result = "fail".to_owned();
        if options.under == Under::Hetmp && !suite.run(test, binary, gomp_env)?.0 {
            verdict.result = "fails-under-libgomp".to_owned();
        }
        break;
    }
    Ok(verdict)
}

/// Whether a test is in the sample: one test in eight, chosen by a hash of its own
/// name. A test that is added later does not change the choice among the others.
fn in_sample(id: &str) -> bool {
    let hash = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) % 8 == 0
}

fn totals(verdicts: &[Verdict]) -> BTreeMap<String, usize> {
    let mut totals = BTreeMap::new();
    for verdict in verdicts {
        *totals.entry(verdict.result.clone()).or_insert(0) += 1;
    }
    totals
}

const COLUMNS: [(&str, &str); 5] = [
    ("pass", "pass"),
    ("fail", "fail"),
    ("fails-under-libgomp", "libgomp fails too"),
    ("does-not-compile", "not compiled"),
    ("not-runnable", "no run-test here"),
];

fn print_table(directories: &[Directory], verdicts: &[Verdict]) {
    print!("{:<34}{:>7}", "directory", "run");
    for (_, title) in COLUMNS {
        print!("{title:>18}");
    }
    println!();
    let row = |name: &str, rows: &[&Verdict]| {
        let count = |result: &str| rows.iter().filter(|v| v.result == result).count();
        let run = rows.len() - count("does-not-compile") - count("not-runnable");
        print!("{name:<34}{run:>7}");
        for (result, _) in COLUMNS {
            print!("{:>18}", count(result));
        }
        println!();
    };
    for directory in directories {
        let rows: Vec<&Verdict> = verdicts
            .iter()
            .filter(|v| v.directory == directory.name)
            .collect();
        if !rows.is_empty() {
            row(directory.name, &rows);
        }
    }
    row("all", &verdicts.iter().collect::<Vec<_>>());
    for (result, title) in &COLUMNS[1..4] {
        for v in verdicts.iter().filter(|v| v.result == *result) {
            println!("{title}: {} ({}) {}", v.id, v.detail, v.first_line);
        }
    }
}

/// A line of progress on standard error, for people at a terminal.
struct Progress {
    what: &'static str,
    total: usize,
    done: AtomicUsize,
    bad: AtomicUsize,
    show: bool,
}

impl Progress {
    fn new(what: &'static str, total: usize) -> Progress {
        use std::io::IsTerminal;
        Progress {
            what,
            total,
            done: AtomicUsize::new(0),
            bad: AtomicUsize::new(0),
            show: std::io::stderr().is_terminal(),
        }
    }

    fn step(&self, bad: bool) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let bad = self.bad.fetch_add(usize::from(bad), Ordering::Relaxed) + usize::from(bad);
        if self.show {
            eprint!("\r{} {done}/{} ({bad} bad) ", self.what, self.total);
        }
    }

    fn end(&self) {
        if self.show {
            eprint!("\r\x1b[K");
        }
    }
}
