//! Reach: of the time that programs spend in parallel regions, the share that went each way, and the share in which
//! each reason kept an ordinary team.
//!
//! **Data in**: the files of `HETMP_REPORT`, one for each process (docs/nodes.md). **Data out**: a table
//! of shares.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, ensure, Context, Result};
use serde::{Deserialize, Serialize};

use super::cores::Cores;
use super::kernel::{Bench, Program, KERNELS};
use super::report::Report;
use super::SchedArgs;
use hetmp_abi_compat::library;

/// The packaged programs whose regions appear in a report, by their names in `scripts/real-programs`.
const PROGRAMS: [&str; 9] = [
    "graphicsmagick",
    "imagemagick",
    "gromacs",
    "octave",
    "fftw",
    "fasttree",
    "mmseqs2",
    "pngquant",
    "sox",
];

/// One program's regions.
#[derive(Debug, Serialize)]
pub(super) struct Reach {
    pub(super) program: String,
    /// Time in outermost regions in seconds, over all processes and runs of the program.
    pub(super) seconds: f64,
    pub(super) ways: Vec<Way>,
    pub(super) error: Option<String>,
}

/// A way, or a reason that kept an ordinary team, and its regions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Way {
    /// Its word.
    pub(super) name: String,
    /// The regions kept an ordinary team.
    pub(super) kept: bool,
    /// Share of the time in regions, 0 to 1.
    pub(super) share: f64,
    /// Executions of regions.
    pub(super) runs: u64,
}

/// The fields of a report file that are used here.
#[derive(Deserialize)]
struct File {
    reach: Option<Totals>,
}

#[derive(Deserialize)]
struct Totals {
    by: Vec<By>,
}

#[derive(Deserialize)]
struct By {
    way: String,
    kept: bool,
    runs: u64,
    elapsed_ns: u64,
}

/// (g): the kernels without a schedule clause, and packaged programs if `--programs` asks for them.
pub(super) fn measure(
    args: &SchedArgs,
    bench: &Bench,
    cores: &Cores,
    report: &mut Report,
) -> Result<()> {
    println!("\n### (g) Reach of hetprobe: share of the time in regions\n");
    println!("| program | region time, s | divided | way or reason: share |");
    println!("| --- | ---: | ---: | --- |");
    let nodes = cores.unlike(args.speed);
    let scratch = Scratch::new()?;
    for &(kernel, _) in KERNELS.iter().filter(|k| args.wants_kernel(k.0)) {
        let env = environment(&nodes, &scratch.0);
        let mut all: Vec<(String, String)> = env.to_vec();
        let preload = bench.library.display().to_string();
        all.push(("LD_PRELOAD".to_owned(), preload));
        let program = Program::build(kernel, "none")?;
        let ran = program
            .run(bench, &args.arguments(), &all, |_| ())
            .map(|_| ());
        let reach = scratch.collect(kernel, ran);
        reach.print();
        report.reach.push(reach);
    }
    if !args.programs {
        return Ok(());
    }
    for name in PROGRAMS {
        match packaged(name, bench, &environment(&nodes, &scratch.0)) {
            Ok(Some(skipped)) => println!("| {name} | | | {skipped} |"),
            ended => {
                let reach = scratch.collect(name, ended.map(|_| ()));
                reach.print();
                report.reach.push(reach);
            }
        }
    }
    Ok(())
}

fn environment(nodes: &str, folder: &Path) -> [(String, String); 3] {
    let file = folder.join("%p.json").display().to_string();
    [
        ("HETMP_NODES", nodes),
        ("HETMP_SCHEDULE", "hetprobe"),
        ("HETMP_REPORT", &file),
    ]
    .map(|(n, v)| (n.to_owned(), v.to_owned()))
}

/// Runs a packaged program once, as `scripts/real-programs` does. If it is not installed, the text says so.
fn packaged(name: &str, bench: &Bench, env: &[(String, String)]) -> Result<Option<String>> {
    let output = Command::new(library::root().join("scripts/real-programs"))
        .arg("--lib")
        .arg(&bench.library)
        .args(["--rounds", "1", "--threads", &bench.threads.to_string()])
        .arg(name)
        .current_dir(library::root())
        .env_clear()
        .envs(hetmp_abi_compat::exec::scrubbed_environment())
        .envs(env.iter().map(|(n, v)| (n, v)))
        .stdin(Stdio::null())
        .output()
        .context("script scripts/real-programs: one that starts")?;
    let said = String::from_utf8_lossy(&output.stdout);
    if let Some((_, why)) = said.split_once("skipped: ") {
        return Ok(Some(format!(
            "not run: {}",
            why.lines().next().unwrap_or(why)
        )));
    }
    if !output.status.success() {
        let last = said.lines().last().unwrap_or("no message").to_owned();
        bail!("{}; {last}", output.status);
    }
    Ok(None)
}

/// A folder for reports, removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch> {
        let folder = std::env::temp_dir().join(format!("hetmp-reach-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Scratch(folder))
    }

    /// Reads and removes the reports that a program left.
    fn collect(&self, program: &str, ran: Result<()>) -> Reach {
        let mut texts = Vec::new();
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            if let Ok(text) = fs::read_to_string(entry.path()) {
                texts.push(text);
            }
            let _ = fs::remove_file(entry.path());
        }
        let added = ran.and_then(|()| add(&texts));
        let (seconds, ways, error) = match added {
            Ok((seconds, ways)) => (seconds, ways, None),
            Err(why) => (0.0, Vec::new(), Some(format!("{why:#}"))),
        };
        Reach {
            program: program.to_owned(),
            seconds,
            ways,
            error,
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Adds up the reports of a program's processes.
fn add(texts: &[String]) -> Result<(f64, Vec<Way>)> {
    ensure!(!texts.is_empty(), "no report was written");
    let mut sums: BTreeMap<(bool, String), (u64, u64)> = BTreeMap::new();
    for text in texts {
        let file: File = serde_json::from_str(text).context("a report: not what was expected")?;
        let totals = file
            .reach
            .context("a report without `reach`: a library that tells ways apart is needed")?;
        for by in totals.by {
            let sum = sums.entry((by.kept, by.way)).or_default();
            sum.0 += by.elapsed_ns;
            sum.1 += by.runs;
        }
    }
    let total: u64 = sums.values().map(|(ns, _)| ns).sum();
    let mut ways: Vec<Way> = sums
        .into_iter()
        .map(|((kept, name), (ns, runs))| Way {
            name,
            kept,
            share: ns as f64 / total.max(1) as f64,
            runs,
        })
        .collect();
    ways.sort_by(|a, b| b.share.total_cmp(&a.share));
    Ok((total as f64 * 1e-9, ways))
}

impl Reach {
    fn print(&self) {
        if let Some(error) = &self.error {
            println!("| {} | | | failed: {error} |", self.program);
            return;
        }
        // The fold begins at +0: an empty `sum` is -0, which would be printed as -0.
        let divided = self
            .ways
            .iter()
            .filter(|w| !w.kept)
            .fold(0.0, |sum, w| sum + w.share);
        let words: Vec<String> = self
            .ways
            .iter()
            .map(|w| {
                let kind = if w.kept { "kept: " } else { "" };
                format!("{kind}{}: {:.1} %", w.name, 100.0 * w.share)
            })
            .collect();
        println!(
            "| {} | {:.2} | {:.1} % | {} |",
            self.program,
            self.seconds,
            100.0 * divided,
            words.join(", ")
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_several_processes_add_up() {
        let one = r#"{"hetmp_report": 1, "reach": {"runs": 3, "elapsed_ns": 400, "by": [
            {"way": "fibers", "kept": false, "reason": "", "runs": 1, "elapsed_ns": 300, "share": 0.75},
            {"way": "short", "kept": true, "reason": "", "runs": 2, "elapsed_ns": 100, "share": 0.25}]}}"#;
        let two =
            r#"{"reach": {"by": [{"way": "short", "kept": true, "runs": 5, "elapsed_ns": 600}]}}"#;
        let (seconds, ways) = add(&[one.to_owned(), two.to_owned()]).unwrap();
        assert!((seconds - 1e-6).abs() < 1e-12);
        assert_eq!(ways[0].name, "short");
        assert_eq!((ways[0].kept, ways[0].runs), (true, 7));
        assert!((ways[0].share - 0.7).abs() < 1e-12);
        assert!((ways[1].share - 0.3).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        assert!(add(&[]).is_err());
        assert!(add(&["{\"reach\": {\"by\": [".to_owned()]).is_err());
        let old = add(&["{\"version\": 1}".to_owned()]).unwrap_err();
        assert!(old.to_string().contains("without `reach`"), "{old}");
    }
}
