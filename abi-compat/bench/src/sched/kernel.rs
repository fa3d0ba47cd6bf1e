//! Builds the kernels and runs one of them once.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{bail, Context, Result};
use serde::Serialize;

use hetmp_abi_compat::case::{self, Binary};
use hetmp_abi_compat::exec::{self, Ending};
use hetmp_abi_compat::library;

/// The property of a kernel's region that may prevent virtual teams: running the region as more pieces than threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Region {
    /// None.
    Plain,
    /// The region has barriers: pieces need stacks of their own.
    Barriers,
    /// The region indexes arrays by its thread number.
    ThreadNumber,
    /// The region uses thread-local variables.
    ThreadLocal,
}

impl Region {
    /// The property's name in a table.
    pub(super) fn word(self) -> &'static str {
        match self {
            Region::Plain => "plain",
            Region::Barriers => "barriers",
            Region::ThreadNumber => "thread number",
            Region::ThreadLocal => "thread-local",
        }
    }

    /// Whether hetprobe can gain in a kernel whose loops have no schedule clause.
    pub(super) fn can_gain(self) -> bool {
        matches!(self, Region::Plain | Region::Barriers)
    }
}

/// The kernels in the order of the tables. The irregular mix has a part of its own.
pub(super) const KERNELS: [(&str, Region); 13] = [
    ("blackscholes", Region::Plain),
    ("ep", Region::Plain),
    ("lavamd", Region::Plain),
    ("cfd", Region::Plain),
    ("lud", Region::Plain),
    ("streamcluster", Region::Plain),
    ("bt", Region::Barriers),
    ("sp", Region::Barriers),
    ("cg", Region::Barriers),
    ("cg_fortran", Region::Barriers),
    ("kmeans", Region::ThreadNumber),
    ("hydro", Region::ThreadNumber),
    ("ep_fortran", Region::ThreadLocal),
];

/// The kernels of a quick run.
pub(super) const QUICK: [&str; 6] = ["blackscholes", "lavamd", "streamcluster", "bt", "cg", "mix"];

/// All names, for messages.
pub(super) fn names() -> String {
    let mut names: Vec<&str> = KERNELS.iter().map(|k| k.0).collect();
    names.push("mix");
    names.join(", ")
}

/// Settings that all runs share.
pub(super) struct Bench {
    pub(super) library: PathBuf,
    pub(super) threads: usize,
    pub(super) limit: Duration,
}

impl Bench {
    /// Refuses a library whose preload does not take effect: the program would run under libgomp, and
    /// all schedules would take the same time. The library takes effect if it writes a report.
    pub(super) fn check(&self) -> Result<()> {
        let program = Program::build("ep", "none")?;
        let file = std::env::temp_dir().join(format!("hetmp-serves-{}", std::process::id()));
        let env = [
            ("LD_PRELOAD", self.library.display().to_string()),
            ("HETMP_REPORT", file.display().to_string()),
        ]
        .map(|(n, v)| (n.to_owned(), v));
        let ran = program.run(self, &["S".to_owned(), "1".to_owned()], &env, |_| ());
        let served = std::fs::remove_file(&file).is_ok();
        ran.with_context(|| format!("library {}: one that runs ep.c", self.library.display()))?;
        if !served {
            bail!(
                "library {}: a libhetmp.so that serves the calls of a program under this preload",
                self.library.display()
            );
        }
        Ok(())
    }
}

/// A compiled form of a kernel.
pub(super) struct Program {
    pub(super) name: String,
    binary: Binary,
}

/// Times of one run, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Sample {
    /// The mean time of a lap, over all laps.
    pub(super) whole: f64,
    /// The first lap.
    pub(super) first: f64,
    /// The median of the second half of the laps.
    pub(super) settled: f64,
}

/// Selects one of the times of a run.
pub(super) type Measure = fn(&Sample) -> f64;

pub(super) const WHOLE: Measure = |s| s.whole;
pub(super) const FIRST: Measure = |s| s.first;
pub(super) const SETTLED: Measure = |s| s.settled;

impl Program {
    /// Compiles kernel `name` in `form`, unless the binary is there already.
    pub(super) fn build(name: &str, form: &str) -> Result<Program> {
        let wanted = format!("kernels/{name}.{form}");
        let cases = case::kernels().map_err(anyhow::Error::msg)?;
        let case = cases
            .iter()
            .find(|c| c.name == wanted)
            .with_context(|| format!("kernel {name}: one of {}", names()))?;
        let cache = library::target_dir().join("bench-kernels");
        let _alone = alone(&cache)
            .with_context(|| format!("folder {}: one that can be written", cache.display()))?;
        let binary = case.build(&cache).map_err(anyhow::Error::msg)?;
        Ok(Program {
            name: name.to_owned(),
            binary,
        })
    }

    /// Runs the program once. The error says how the program failed. A kernel also fails if it finds
    /// its own result wrong.
    pub(super) fn run(
        &self,
        bench: &Bench,
        arguments: &[String],
        env: &[(String, String)],
        watch: impl FnOnce(libc::pid_t),
    ) -> Result<Sample> {
        let mut all = vec![("OMP_NUM_THREADS".to_owned(), bench.threads.to_string())];
        all.extend(env.iter().cloned());
        let program = exec::Program {
            path: &self.binary.path,
            args: arguments,
            env: &all,
            dir: &self.binary.dir,
            limit: bench.limit,
            merge: false,
        };
        let out = exec::run_watched(&program, watch)?;
        let said = String::from_utf8_lossy(&out.stderr);
        if out.ending != Ending::Exit(0) {
            let results = String::from_utf8_lossy(&out.stdout);
            let why = results.lines().find(|l| l.starts_with("FAILED"));
            let why = why.or(said.lines().next()).unwrap_or("no message");
            bail!("{}; {why}", out.ending);
        }
        said.lines()
            .find_map(sample)
            .with_context(|| format!("no times in `{}`", said.trim_end()))
    }
}

/// Locks `folder`: until the returned file is dropped, no other process compiles into it.
fn alone(folder: &Path) -> std::io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let file = File::create(folder.join("lock"))?;
    // SAFETY: flock takes no pointers; the descriptor is open.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(file)
}

/// Reads the line that `kernel.h` describes.
fn sample(line: &str) -> Option<Sample> {
    if !line.starts_with("kernel=") {
        return None;
    }
    let number = |key: &str| -> Option<f64> {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))?
            .parse()
            .ok()
    };
    Some(Sample {
        whole: number("seconds")? / number("laps")?,
        first: number("first")?,
        settled: number("settled")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_line_of_times() {
        let line =
            "kernel=cg form=none size=A threads=2 laps=4 seconds=.500000 first=0.2 settled=0.1";
        let want = Sample {
            whole: 0.125,
            first: 0.2,
            settled: 0.1,
        };
        assert_eq!(sample(line), Some(want));
        assert_eq!(sample("hetmp: kernel=cg"), None);
        assert_eq!(sample("kernel=cg laps=4 seconds=x first=1 settled=1"), None);
    }

    #[test]
    fn every_kernel_is_there_in_every_form() {
        let cases = case::kernels().unwrap();
        for name in KERNELS.iter().map(|k| k.0).chain(["mix"]) {
            for (form, _) in case::FORMS {
                let wanted = format!("kernels/{name}.{form}");
                assert!(cases.iter().any(|c| c.name == wanted), "{wanted}");
            }
        }
        for name in QUICK {
            assert!(
                name == "mix" || KERNELS.iter().any(|k| k.0 == name),
                "{name}"
            );
        }
    }
}
