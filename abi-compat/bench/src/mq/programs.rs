//! The programs of `bench mq`, and one run of one of them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, Context, Result};

use hetmp_abi_compat::{c_api, library};

/// Where the compiled programs lie.
pub(super) struct Programs {
    folder: PathBuf,
    /// `spsc_peers`, which cargo built next to this program.
    peers: PathBuf,
}

/// The programs: name, source, and flags of the compiler.
const SOURCES: [(&str, &str, &[&str]); 6] = [
    (
        "bandwidth",
        "c-tests/apps/bandwidth.c",
        &["-O3", "-march=native"],
    ),
    ("matmul", "c-tests/apps/matmul.c", &["-O3", "-march=native"]),
    (
        "passwords",
        "c-tests/apps/passwords.c",
        &["-O3", "-march=native"],
    ),
    // No -march: cargo builds the peers for any x86-64, too.
    ("mq_spsc", "c-tests/bench/mq_spsc.c", &["-O3"]),
    ("mq_floor", "c-tests/bench/mq_floor.c", &["-O3"]),
    (
        "mq_spsc_calls",
        "c-tests/bench/mq_spsc.c",
        &["-O3", "-DHETMP_MQ_NO_INLINE"],
    ),
];

impl Programs {
    /// Compiles all of them against `lib`.
    pub(super) fn build(lib: &Path) -> Result<Programs> {
        let lib = c_api::library_folder(lib, "mq-bench").map_err(|e| anyhow!(e))?;
        let folder = library::target_dir().join("mq-bench");
        for (name, source, flags) in SOURCES {
            c_api::compile(source, &folder.join(name), &lib, flags).map_err(|e| anyhow!(e))?;
        }
        let peers = std::env::current_exe()?
            .with_file_name("examples")
            .join("spsc_peers");
        if !peers.is_file() {
            bail!(
                "program {}: `cargo build --release -p hetmp-bench --example spsc_peers` makes it",
                peers.display()
            );
        }
        Ok(Programs { folder, peers })
    }

    /// The file of a program.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        if name == "spsc_peers" {
            self.peers.clone()
        } else {
            self.folder.join(name)
        }
    }
}

/// Runs a program that prints seconds, or says "time NAME ... seconds S UNIT X" on standard error. Gives S.
pub(super) fn seconds(mut command: Command) -> Result<f64> {
    const LIMIT: Duration = Duration::from_secs(60);
    let shown = format!("{command:?}");
    let mut child = command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .with_context(|| format!("program {shown}: one that starts"))?;
    let began = Instant::now();
    // The output fits into a pipe, so it can be read after the program's end.
    while child.try_wait()?.is_none() {
        if began.elapsed() > LIMIT {
            child.kill()?;
            child.wait()?;
            bail!("program {shown}: no end after {} s", LIMIT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let out = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&out.stderr);
    if !out.status.success() {
        let printed = String::from_utf8_lossy(&out.stdout);
        bail!(
            "program {shown}: {}; {}",
            out.status,
            said.lines().chain(printed.lines()).next().unwrap_or("")
        );
    }
    let printed = String::from_utf8_lossy(&out.stdout);
    let time = match said.lines().find(|line| line.starts_with("time ")) {
        Some(line) => line
            .split_ascii_whitespace()
            .skip_while(|word| *word != "seconds")
            .nth(1),
        None => printed.split_ascii_whitespace().next(),
    };
    time.and_then(|word| word.parse().ok())
        .with_context(|| format!("program {shown}: a line with its time"))
}
