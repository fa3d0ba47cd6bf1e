//! One run of a program: how long it took, what it used and what it wrote.
//!
//! `unsafe` is one system call, which fills a record of this file in.

use hetmp_core::file;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

pub(super) struct Run {
    pub(super) seconds: f64,
    /// What its threads, and processes that it waited for, used of the CPUs.
    pub(super) cpu_seconds: f64,
    pub(super) status: ExitStatus,
    /// A checksum of what it wrote to standard output.
    pub(super) output: u64,
    /// The lines of hetmp on standard error.
    pub(super) said: Vec<String>,
}

/// Runs it once. What it writes goes to files without a name, so that nobody has to read it while the program runs.
pub(super) fn once(command: &mut Command, input: Option<&Path>) -> std::io::Result<Run> {
    let (mut output, mut errors) = (unnamed()?, unnamed()?);
    match input {
        Some(input) => command.stdin(file::open(input)?),
        None => command.stdin(Stdio::null()),
    };
    command
        .stdout(output.try_clone()?)
        .stderr(errors.try_clone()?);
    let (begin, used) = (Instant::now(), children_seconds());
    let status = command.status()?;
    let seconds = begin.elapsed().as_secs_f64();
    let cpu_seconds = children_seconds() - used;
    errors.rewind()?;
    let mut text = Vec::new();
    errors.take(1 << 16).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let said = text.lines().filter(|line| line.starts_with("hetmp: "));
    let mut hasher = DefaultHasher::new();
    let mut buffer = vec![0; 1 << 16];
    output.rewind()?;
    loop {
        match output.read(&mut buffer)? {
            0 => {
                return Ok(Run {
                    seconds,
                    cpu_seconds,
                    status,
                    output: hasher.finish(),
                    said: said.map(str::to_owned).collect(),
                })
            }
            n => hasher.write(&buffer[..n]),
        }
    }
}

fn unnamed() -> std::io::Result<File> {
    let path = std::env::temp_dir().join(format!("hetmp-compare-{}", std::process::id()));
    let file = file::create(&path, 0o600)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// The CPU time of the processes that this one started and that have ended.
fn children_seconds() -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    // SAFETY: the record is plain numbers, and the call fills it in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        match libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage) {
            0 => seconds(usage.ru_utime) + seconds(usage.ru_stime),
            _ => 0.0,
        }
    }
}
