//! Runs one program with a time limit and says how it ended.
//!
//! Every program gets:
//! * a process group of its own, so that the end of the time limit also ends its children;
//! * small limits on the size of files (not on nodes of a software DSM) and core dumps;
//! * an environment without the variables that steer an OpenMP runtime. The caller adds
//!   the variables that it wants.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this status.
    Exit(i32),
    /// A signal ended it.
    Signal(i32),
    /// It did not end in time and was killed.
    TimedOut,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ending::Exit(status) => write!(f, "exit {status}"),
            Ending::Signal(signal) => write!(f, "signal {signal}"),
            Ending::TimedOut => write!(f, "timed out"),
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output. If the two were merged, standard error is in it too.
    pub stdout: Vec<u8>,
    /// Its standard error; empty if merged.
    pub stderr: Vec<u8>,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// A program to run.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// The file.
    pub path: &'a Path,
    /// Its arguments.
    pub args: &'a [String],
    /// Variables set on top of the scrubbed environment.
    pub env: &'a [(String, String)],
    /// Where it runs.
    pub dir: &'a Path,
    /// Its wall-clock limit.
    pub limit: Duration,
    /// Standard error goes where standard output goes.
    pub merge: bool,
}

/// Runs a command of a test in the repository's folder, with standard error in its standard output.
///
/// # Panics
/// The program cannot be started.
pub fn command(path: &str, args: &[&str], env: &[(&str, &str)], limit: Duration) -> Outcome {
    let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
    let env: Vec<(String, String)> = env
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
        .collect();
    let program = Program {
        path: Path::new(path),
        args: &args,
        env: &env,
        dir: &crate::library::root(),
        limit,
        merge: true,
    };
    run(&program).unwrap_or_else(|e| panic!("{path} {args:?}: {e}"))
}

/// Like [`command`], and returns the output. The command must end with status 0.
///
/// # Panics
/// The program cannot be started, or ends in another way.
pub fn succeed(path: &str, args: &[&str], env: &[(&str, &str)], limit: Duration) -> String {
    let out = command(path, args, env, limit);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!(out.ending, Ending::Exit(0), "{path} {args:?}: {text}");
    text
}

/// The caller's environment without the variables that steer an OpenMP or OpenACC
/// runtime or the dynamic loader. The user's cache stays out of it.
pub fn scrubbed_environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            ![
                "OMP_", "GOMP_", "KMP_", "ACC_", "HETMP_", "SHMEM_", "SMA_", "LD_",
            ]
            .iter()
            .any(|p| name.starts_with(p))
        })
        .chain([("HETMP_CACHE".into(), "off".into())])
        .collect()
}

/// The most bytes that are kept of a program's output.
const OUTPUT_LIMIT: u64 = 64 << 20;
/// The most bytes that a program may write to one file; memory that processes share counts, too, whether it is used or
/// not.
const FILE_LIMIT: u64 = 4 * OUTPUT_LIMIT;

/// Runs `program` to its end or its limit.
///
/// # Errors
/// When the program cannot be started or its output cannot be kept.
pub fn run(program: &Program<'_>) -> io::Result<Outcome> {
    run_watched(program, |_| ())
}

/// Like [`run`]. Once the program has started, calls `watch` with the process number,
/// and waits for the program's end after `watch` has returned.
///
/// # Errors
/// When the program cannot be started or its output cannot be kept.
pub fn run_watched(program: &Program<'_>, watch: impl FnOnce(libc::pid_t)) -> io::Result<Outcome> {
    let mut out = unnamed_file()?;
    let mut err = unnamed_file()?;
    let mut command = Command::new(program.path);
    command
        .args(program.args)
        .env_clear()
        .envs(scrubbed_environment())
        .envs(program.env.iter().map(|(n, v)| (n, v)))
        .current_dir(program.dir)
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(if program.merge {
            out.try_clone()?
        } else {
            err.try_clone()?
        })
        .process_group(0);
    // The nodes of a software DSM keep the program's memory in files of 64 GiB and more, empty for the most part. The
    // limit counts their size.
    let nodes = program
        .env
        .iter()
        .any(|(name, value)| name == "HETMP_NODES" && value.starts_with("dsm:"));
    // SAFETY: the closure runs between fork and exec and calls only `setrlimit`,
    // which is async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            limit(libc::RLIMIT_CORE, 0);
            if !nodes {
                limit(libc::RLIMIT_FSIZE, FILE_LIMIT);
            }
            Ok(())
        });
    }
    let started = Instant::now();
    let mut child = command.spawn()?;
    let pid = child.id() as libc::pid_t;
    watch(pid);
    let in_time = ended_within(pid, program.limit);
    // Done after a regular end too: a grandchild that still runs would disturb the next
    // test. `process_group(0)` made the group. Its leader is not waited for yet, so the
    // kernel cannot have given the number to another group.
    // SAFETY: kill(2) takes no pointers.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
    let status = child.wait()?;
    let seconds = started.elapsed().as_secs_f64();
    let ending = match (in_time, status.code(), status.signal()) {
        (false, _, _) => Ending::TimedOut,
        (_, Some(code), _) => Ending::Exit(code),
        (_, None, Some(signal)) => Ending::Signal(signal),
        (_, None, None) => Ending::Exit(-1),
    };
    Ok(Outcome {
        ending,
        stdout: contents(&mut out)?,
        stderr: contents(&mut err)?,
        seconds,
    })
}

fn limit(resource: libc::__rlimit_resource_t, bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: `limit` outlives the call. If the kernel refuses, the old limit stays,
    // which does no harm.
    unsafe { libc::setrlimit(resource, &limit) };
}

/// Waits until the child is a zombie; false if it still runs after `limit`.
fn ended_within(pid: libc::pid_t, limit: Duration) -> bool {
    // SAFETY: pidfd_open takes no pointers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return false;
    }
    // SAFETY: the kernel just handed us this descriptor.
    let _close = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let mut poll = libc::pollfd {
            fd: fd as i32,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one pollfd, alive during the call.
        match unsafe { libc::poll(&mut poll, 1, left.as_millis() as i32 + 1) } {
            1 => return true,
            0 if left.is_zero() => return false,
            _ => {}
        }
    }
}

fn unnamed_file() -> io::Result<File> {
    // SAFETY: the name is a C string literal.
    let fd = unsafe { libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just handed us this descriptor.
    let file = unsafe { File::from_raw_fd(fd) };
    // Two threads of a program may write at the same time. The kernel locks the position of ordinary files meanwhile,
    // and not that of such a file: without O_APPEND both may write to the same place, and one line is lost.
    // SAFETY: the descriptor is open, and the call has no other precondition.
    if unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_APPEND) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(file)
}

fn contents(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(OUTPUT_LIMIT).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit_ms: u64) -> Outcome {
        run(&Program {
            path: Path::new("/bin/sh"),
            args: &["-c".into(), script.into()],
            env: &[("A".into(), "b".into())],
            dir: Path::new("/"),
            limit: Duration::from_millis(limit_ms),
            merge: false,
        })
        .unwrap()
    }

    #[test]
    fn tells_endings_apart() {
        let ok = shell("echo $A; echo err >&2; exit 3", 10_000);
        assert_eq!(ok.ending, Ending::Exit(3));
        assert_eq!(ok.stdout, b"b\n");
        assert_eq!(ok.stderr, b"err\n");
        assert_eq!(shell("kill -SEGV $$", 10_000).ending, Ending::Signal(11));
        let late = shell("sleep 100", 50);
        assert_eq!(late.ending, Ending::TimedOut);
        assert!(late.seconds < 10.0);
    }
}
