//! The machine that the numbers were measured on.

use std::fs;
use std::process::Command;

use crate::programs::Compiler;
use serde::Serialize;

/// Facts about the machine that a reader of a table of times needs. A fact that the
/// system does not tell is "n/a".
#[derive(Debug, Serialize)]
pub(crate) struct Machine {
    /// When the run began, local time with its offset (RFC 3339).
    pub(crate) date: String,
    pub(crate) cpu: String,
    /// Cores this process may use.
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) compiler: String,
    pub(crate) governor: String,
    /// Load average of the last minute before the run. A value far from 0 says that
    /// something else was running.
    pub(crate) load_before: f64,
}

impl Machine {
    pub(crate) fn look(compiler: Compiler) -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine {
            date: first_line("date", &["--iso-8601=seconds"]),
            cpu: cpuinfo
                .lines()
                .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
                .map_or_else(not_available, |(_, name)| name.to_owned()),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            kernel: first_line("uname", &["-sr"]),
            compiler: first_line(compiler.command(), &["--version"]),
            governor: file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            load_before: file_line("/proc/loadavg")
                .split(' ')
                .next()
                .and_then(|load| load.parse().ok())
                .unwrap_or(f64::NAN),
        }
    }
}

fn not_available() -> String {
    "n/a".to_owned()
}

fn file_line(path: &str) -> String {
    fs::read_to_string(path).map_or_else(|_| not_available(), |text| text.trim().to_owned())
}

fn first_line(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .output()
        .ok()
        .filter(|output| output.status.success())
        .and_then(|output| {
            let text = String::from_utf8_lossy(&output.stdout);
            text.lines().next().map(str::to_owned)
        })
        .unwrap_or_else(not_available)
}
