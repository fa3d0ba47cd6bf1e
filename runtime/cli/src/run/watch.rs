//! Waits next to the program until it ends, then shows its report or profile.
//!
//! To a shell this process behaves like the program: it passes signals that it is sent on to the program, and ends as
//! the program ended. Signals from the terminal reach the program directly, because it is in the foreground group
//! too, and are not passed on.

use super::Refusal;
use crate::{outputs, profile, report, Output};
use hetmp_core::file;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

/// What has to be shown or kept at the end.
pub(super) struct Wanted<'a> {
    /// A report is written, for the table or the page.
    pub(super) report: bool,
    /// Where the report is kept; `None`: it is deleted after it was shown.
    pub(super) file: Option<PathBuf>,
    pub(super) table: bool,
    pub(super) html: Option<&'a Path>,
    pub(super) trace: Option<&'a Path>,
    /// A profile is shown, and kept where there is a file.
    pub(super) profile: Option<Option<&'a Path>>,
}

/// The signals that are passed on. SIGTSTP and SIGCONT keep their effects: the terminal sends them to both processes.
const PASSED: [libc::c_int; 8] = [
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGWINCH,
];

/// A folder that is removed with its contents.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Scratch {
    /// A new folder that only this user can access.
    pub(crate) fn new() -> std::io::Result<Scratch> {
        use std::os::unix::fs::DirBuilderExt as _;
        // The program may change its folder before it uses OpenMP.
        let base = std::path::absolute(std::env::temp_dir())?;
        let mut last = std::io::Error::other("no name is free");
        for attempt in 0..100 {
            let path = base.join(format!("hetmp-run-{}-{attempt}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Scratch(path)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Could every process of the program write here what was measured?
    fn took_all(&self) -> bool {
        let probe = self.0.join("probe");
        let refused = std::ffi::OsStr::new(hetmp_profile::REFUSED);
        hetmp_core::file::create(&probe, 0o600).is_ok()
            && std::fs::read_dir(&self.0)
                .into_iter()
                .flatten()
                .flatten()
                .all(|entry| entry.path().extension() != Some(refused))
    }
}

pub(super) fn run(
    mut command: Command,
    path: &Path,
    wanted: &Wanted<'_>,
) -> Result<Output, Refusal> {
    let scratch = Scratch::new().map_err(|error| {
        Refusal::usage(format_args!(
            "folder {}: {error} (expected one that can be written; TMPDIR names it)",
            std::env::temp_dir().display()
        ))
    })?;
    // Several processes may use OpenMP, since the program may be a script.
    // What goes into a pipe or a device is needed for the table first.
    let reports = match &wanted.file {
        Some(file) if !is_stream(file) => file.clone(),
        _ => scratch.0.join("%p.json"),
    };
    if wanted.report {
        // Older files of these names must not be shown as those of this run.
        for old in files_of(&reports) {
            let _ = std::fs::remove_file(old);
        }
        if let Some(trace) = wanted.trace.filter(|t| t.is_file()) {
            let _ = std::fs::remove_file(trace);
        }
        command.env("HETMP_REPORT", &reports);
    }
    if wanted.profile.is_some() {
        command.env("HETMP_TIMES", &scratch.0);
        // A value that forbids tools would forbid this one.
        command.env("OMP_TOOL", "enabled");
    }
    let set = block();
    // SAFETY: between fork and exec only sigprocmask is called, which is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            unblock();
            Ok(())
        })
    };
    let started = hetmp_profile::now();
    let mut child = command.spawn().map_err(|error| {
        Refusal::unfit(format_args!(
            "program {}: {error} (expected a program of this machine)",
            path.display()
        ))
    })?;
    let status = wait(&mut child, &set);
    let ended = hetmp_profile::now();
    let mut output = Output::default();
    let child = profile::Child {
        pid: child.id(),
        started,
        ended,
        ending: match (status.signal(), status.code()) {
            (Some(signal), _) => format!("signal {signal}"),
            (None, Some(0)) => "exit".to_owned(),
            (None, code) => format!("exit status {}", code.unwrap_or(1)),
        },
    };
    if wanted.report {
        show_report(wanted, &files_of(&reports), &child, path, &mut output);
    }
    if let Some(file) = wanted.profile {
        show_profile(file, &child, &scratch, path, &mut output);
    }
    for error in &output.errors {
        hetmp_core::report::warn(format_args!("{error}"));
    }
    drop(scratch);
    end_as(status)
}

fn show_report(
    wanted: &Wanted<'_>,
    files: &[PathBuf],
    child: &profile::Child,
    program: &Path,
    output: &mut Output,
) {
    if files.is_empty() {
        hetmp_core::report::warn(format_args!(
            "report: '{}': the program left none: it ran no parallel region, or only in a process that it forked",
            program.display()
        ));
    }
    for file in files {
        if let Err(error) = settle(file, child) {
            output.errors.push(error);
        }
        if let Some(stream) = wanted.file.as_deref().filter(|f| is_stream(f)) {
            let copied = file::bytes(file, file::LARGE).and_then(|text| file::put(stream, &text));
            if let Err(error) = copied {
                output.errors.push(format!(
                    "--report: '{}': {error} (expected a place that takes the report)",
                    stream.display()
                ));
            }
        }
        if wanted.table {
            match report::table_of(file) {
                Ok(text) => eprint!("{text}"),
                Err(error) => output.errors.push(error),
            }
        }
        if let Some(html) = wanted.html {
            if let Err(error) = report::page_of(file, html, wanted.trace.filter(|t| t.is_file())) {
                output.errors.push(error);
            }
        }
    }
}

fn show_profile(
    file: Option<&Path>,
    child: &profile::Child,
    scratch: &Scratch,
    program: &Path,
    output: &mut Output,
) {
    let (all, errors) = profile::processes(&scratch.0, child);
    // A process that could not write its sums has said so.
    if all.is_empty() && errors.is_empty() && scratch.took_all() {
        hetmp_core::report::warn(format_args!(
            "profile: program {}: it used no OpenMP",
            program.display()
        ));
    }
    output.errors.extend(errors);
    eprint!("{}", profile::text(&all));
    if let Some(file) = file {
        let written = outputs::write("--profile", file, profile::json(&all));
        output.errors.extend(written.err());
    }
}

/// A pipe, a terminal or another device.
fn is_stream(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| !meta.is_file())
}

/// The files that `name` means, with the number of any process in the place of `%p`.
fn files_of(name: &Path) -> Vec<PathBuf> {
    let parts: Vec<Vec<u8>> = outputs::split(name).collect();
    if parts.len() == 1 {
        return Vec::from_iter(name.is_file().then(|| name.to_owned()));
    }
    let mut found: Vec<PathBuf> = name
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let rest = path.as_os_str().as_bytes().strip_prefix(&*parts[0]);
            let digits = rest.map_or(0, |r| r.iter().take_while(|b| b.is_ascii_digit()).count());
            let number = rest.and_then(|r| std::str::from_utf8(&r[..digits]).ok());
            let number = number.and_then(|n| n.parse().ok());
            number.is_some_and(|n| outputs::numbered(name, n) == *path) && path.is_file()
        })
        .collect();
    found.sort();
    found
}

/// Puts into the report how the program ended, which the program itself cannot know.
fn settle(file: &Path, child: &profile::Child) -> Result<(), String> {
    // What is no report is refused by whoever reads it.
    let Ok(text) = file::text(file, file::LARGE) else {
        return Ok(());
    };
    let number = format!("\"pid\":{},", child.pid);
    let key = "\"ending\":\"";
    let Some(from) = text.find(key).map(|at| at + key.len()) else {
        return Ok(());
    };
    let Some(length) = text[from..].find('"') else {
        return Ok(());
    };
    if !text[..from].contains(&number) || text[from..from + length] == *child.ending {
        return Ok(());
    }
    let settled = [&text[..from], &*child.ending, &text[from + length..]].concat();
    outputs::write("--report", file, settled)
}

/// Blocks the signals, and returns the set to wait for.
fn block() -> libc::sigset_t {
    // SAFETY: plain data, which sigemptyset fills in.
    let mut set: libc::sigset_t = unsafe { core::mem::zeroed() };
    // SAFETY: a live set.
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in PASSED.into_iter().chain([libc::SIGCHLD]) {
        // SAFETY: a live set and a signal that exists.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    // SAFETY: a live set; the old mask is not asked for. This process has one thread.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, core::ptr::null_mut()) };
    set
}

/// Gives the program the signal mask that a shell would give it. Async-signal-safe.
fn unblock() {
    // SAFETY: plain data, which sigemptyset fills in.
    let mut set: libc::sigset_t = unsafe { core::mem::zeroed() };
    // SAFETY: a live set; the old mask is not asked for.
    unsafe {
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, core::ptr::null_mut());
    }
}

/// Waits until the program has ended.
fn wait(child: &mut Child, set: &libc::sigset_t) -> ExitStatus {
    let pid = libc::pid_t::try_from(child.id()).expect("a process number");
    loop {
        // SAFETY: plain data, which sigwaitinfo fills in.
        let mut info: libc::siginfo_t = unsafe { core::mem::zeroed() };
        // SAFETY: a live set of blocked signals and a live record.
        let signal = unsafe { libc::sigwaitinfo(set, &raw mut info) };
        match signal {
            libc::SIGCHLD => {
                if let Ok(Some(status)) = child.try_wait() {
                    return status;
                }
            }
            // A signal that the kernel has sent comes from the terminal, and has reached the program too.
            1.. if info.si_code <= 0 => {
                // SAFETY: a signal to our own child. Nobody has waited for it, so its id is still its own.
                unsafe { libc::kill(pid, signal) };
            }
            // Interrupted, or sent by the terminal.
            _ => {}
        }
    }
}

/// Ends this process in the way in which the program has ended.
fn end_as(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        let no_core = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: calls that concern this process only. The program has written its own core file, if any. The signal
        // has its default effect and is not blocked when it is raised.
        unsafe {
            libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
            libc::signal(signal, libc::SIG_DFL);
            unblock();
            libc::raise(signal);
        }
    }
    std::process::exit(status.code().unwrap_or(1))
}
