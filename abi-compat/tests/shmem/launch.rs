//! Runs a job to its end or its limit, and looks for processes that the job left behind.

use hetmp_abi_compat::exec::scrubbed_environment;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub(crate) use hetmp_abi_compat::exec::Ending;

/// The output of a job, and how it ended.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
    /// The command lines of processes that the job left running. They have been killed.
    pub(crate) left: Vec<String>,
}

/// A command with a limit.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    path: PathBuf,
    args: Vec<OsString>,
    env: Vec<(String, String)>,
    limit: Duration,
}

impl Command {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            args: vec![],
            env: vec![],
            // A hang, whatever else the machine does.
            limit: Duration::from_secs(120),
        }
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args
            .extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn envs(mut self, all: &[(String, String)]) -> Self {
        self.env.extend_from_slice(all);
        self
    }

    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Outcome {
        self.run_watched(|_, _| ())
    }

    /// Like [`Command::run`]. Once the job has started, calls `watch` with the launcher's process number and with the
    /// value of `SHTEST_RUN`, which all processes of the job have in their environment.
    pub(crate) fn run_watched(self, watch: impl FnOnce(u32, &str)) -> Outcome {
        static RUNS: AtomicU32 = AtomicU32::new(0);
        let mark = format!(
            "{}-{}",
            std::process::id(),
            RUNS.fetch_add(1, Ordering::Relaxed)
        );
        let mut command = std::process::Command::new(&self.path);
        command
            .args(&self.args)
            .env_clear()
            .envs(scrubbed_environment().into_iter().filter(|(name, _)| {
                let name = name.to_string_lossy();
                ![
                    "SHMEM_", "SMA_", "PMI", "OMPI_", "HYDRA_", "HETRUN_", "SLURM_",
                ]
                .iter()
                .any(|p| name.starts_with(p))
            }))
            .envs(self.env.iter().map(|(n, v)| (n, v)))
            .env("SHTEST_RUN", &mark)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let began = Instant::now();
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("hetmp: command {}: {e}", self.path.display()));
        let mut readers = [
            child.stdout.take().map(|o| reader(Box::new(o))),
            child.stderr.take().map(|e| reader(Box::new(e))),
        ];
        watch(child.id(), &mark);
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break Some(status);
            }
            if began.elapsed() > self.limit {
                break None;
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let took = began.elapsed();
        let left = if status.is_none() {
            // The launcher is killed first, so that it cannot start more processes.
            // SAFETY: kill(2) takes no pointers. The group is the one made for this launcher. The launcher is not
            // waited for yet, so its number is not used again.
            unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
            let _ = child.wait();
            end_marked(&mark, Duration::ZERO);
            vec![]
        } else {
            end_marked(&mark, Duration::from_secs(20))
        };
        let [stdout, stderr] = readers.each_mut().map(|r| {
            r.take()
                .map_or_else(String::new, |r| r.join().expect("a reader"))
        });
        let ending = match status {
            None => Ending::TimedOut,
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => Ending::Exit(code),
                (None, signal) => Ending::Signal(signal.unwrap_or(0)),
            },
        };
        Outcome {
            ending,
            stdout,
            stderr,
            took,
            left,
        }
    }
}

fn reader(mut from: Box<dyn Read + Send>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// The processes that have this value of `SHTEST_RUN` in their environment.
pub(crate) fn marked(mark: &str) -> Vec<(i32, String)> {
    let wanted = format!("SHTEST_RUN={mark}");
    let Ok(entries) = fs::read_dir("/proc") else {
        return vec![];
    };
    entries
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
            if !environ.split(|b| *b == 0).any(|v| v == wanted.as_bytes()) {
                return None;
            }
            // A zombie has ended: it is not left behind.
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            if stat.rsplit(')').next()?.trim_start().starts_with('Z') {
                return None;
            }
            let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            Some((
                pid,
                String::from_utf8_lossy(&line)
                    .replace('\0', " ")
                    .trim()
                    .to_owned(),
            ))
        })
        .collect()
}

/// Waits until no process has the mark. After `patience`, kills the processes that still have it, and returns their
/// command lines.
fn end_marked(mark: &str, patience: Duration) -> Vec<String> {
    let end = Instant::now() + patience;
    loop {
        let found = marked(mark);
        if found.is_empty() {
            return vec![];
        }
        if Instant::now() >= end {
            for (pid, _) in &found {
                // SAFETY: kill(2) takes no pointers. The process was started by this run, as its mark says.
                unsafe { libc::kill(*pid, libc::SIGKILL) };
            }
            return found.into_iter().map(|(_, line)| line).collect();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The launcher that starts the PEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Launcher {
    /// `oshrun` of the installed prefix.
    Oshrun,
    /// MPICH's.
    Hydra,
    /// Open MPI's.
    OpenMpi,
}

impl Launcher {
    /// The launcher's file, if it is installed.
    pub(crate) fn path(self) -> Option<PathBuf> {
        match self {
            Launcher::Oshrun => Some(super::program::prefix().join("bin/oshrun")),
            Launcher::Hydra => find("mpiexec.hydra"),
            Launcher::OpenMpi => find("mpirun.openmpi"),
        }
    }

    /// A command that starts a program as `pes` PEs.
    pub(crate) fn start(self, pes: u32, program: &std::path::Path) -> Command {
        let path = self.path().expect("a launcher that is installed");
        let command = Command::new(path);
        let command = match self {
            Launcher::OpenMpi => command
                .args([
                    "--allow-run-as-root",
                    "--oversubscribe",
                    "--bind-to",
                    "none",
                ])
                .args(["-x", "SHTEST_RUN"]),
            _ => command,
        };
        command
            .args(["-n", &pes.to_string()])
            .args([program.as_os_str()])
    }
}

/// A command in the search path.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}
