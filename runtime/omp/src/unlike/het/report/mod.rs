//! What was decided, and why: a line each for `HETMP_VERBOSE`, all of it as JSON in the file of
//! `HETMP_REPORT`, and who did what when in the file of `HETMP_TRACE`.
//!
//! * `loops`: loops under a schedule of ours, or timed beside it.
//! * `parallel`: parallel regions, and which lever or guard each ran under.
//! * `place`: where in the program something is.
//! * `keeper`: writes while the program runs, and when a signal ends it.
//! * `trace_file`: the trace of `hetmp_core::trace` as a file.
//!
//! Only the process that started the runtime writes. Its forked children record nothing, and leave its files
//! alone.
//!
//! **Data in**: records from [`super::known`], regions from the engine ([`region`]). **Data
//! out**: files and lines; nothing else reads what is kept here.

mod file;
mod json;
mod keeper;
mod loops;
mod parallel;
mod place;
mod trace_file;

use super::known;
use crate::icv::{Globals, SchedKind};
use crate::init;
use crate::unlike::nodes;
use core::fmt;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use hetmp_core::report::warn;
use hetmp_core::sys::monotonic_ns;
use hetmp_core::trace;
use json::{comma, maybe, number, quoted};
pub(super) use loops::Summary;
pub(crate) use parallel::RegionRun;
use place::Symbols;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::time::SystemTime;

/// Format of the report's file.
const FORMAT: u32 = 1;

static WANTED: AtomicBool = AtomicBool::new(false);
/// The process that reports: not its children by `fork`.
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// When the runtime started, by the monotonic clock and, in milliseconds, by the calendar's.
static STARTED: AtomicU64 = AtomicU64::new(0);
static STARTED_UNIX_MS: AtomicU64 = AtomicU64::new(0);
/// Held while files are written; true when nothing more is to be written.
static WRITER: Mutex<bool> = Mutex::new(false);
/// A file that cannot be written is told of once.
static SAID: AtomicBool = AtomicBool::new(false);

/// How the program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// It runs on.
    Running,
    Exit,
    Signal(libc::c_int),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Running => f.write_str("running"),
            Ending::Exit => f.write_str("exit"),
            Ending::Signal(n) => write!(f, "signal {n}"),
        }
    }
}

/// Does anybody want to know? One relaxed load.
#[inline(always)]
pub(crate) fn wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Is there a file to be written in which every loop has its place?
fn filed(globals: &Globals) -> bool {
    globals.ours.report.is_some() || globals.ours.trace.is_some()
}

/// Are loops to be timed although nothing of ours schedules them?
pub(super) fn wanted_by(globals: &Globals) -> bool {
    filed(globals) || (globals.ours.verbose && nodes::active())
}

/// When the runtime starts.
pub(super) fn configure(globals: &Globals) {
    let kind = globals.icv.run_sched.kind;
    let ours = globals.ours.verbose && kind.is_ours();
    if !wanted_by(globals) && !ours {
        return;
    }
    STARTED.store(monotonic_ns(), Ordering::Relaxed);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    STARTED_UNIX_MS.store(since.map_or(0, |t| t.as_millis() as u64), Ordering::Relaxed);
    // SAFETY: getpid has no preconditions; the handler lives as long as the library, which is never
    // unloaded. Where there is no room for another handler, there is no report.
    unsafe {
        PROCESS.store(libc::getpid(), Ordering::Relaxed);
        libc::atexit(at_exit);
    }
    if globals.ours.trace.is_some() {
        trace::start(globals.ours.trace_events);
    }
    WANTED.store(true, Ordering::Relaxed);
    if globals.ours.verbose {
        introduce(kind);
    }
}

fn introduce(kind: SchedKind) {
    if let Some(layout) = nodes::layout() {
        warn(format_args!(
            "{} node{}: {}",
            layout.nodes.len(),
            if layout.nodes.len() == 1 { "" } else { "s" },
            layout.nodes
        ));
    } else if kind.is_ours() {
        warn(format_args!("1 node: all cores are alike"));
    }
}

/// In the child of a fork.
pub(super) fn after_fork() {
    WANTED.store(false, Ordering::Relaxed);
    trace::stop();
}

/// One of our own messages.
pub(super) fn say(line: &str) {
    if init::globals().ours.verbose {
        warn(format_args!("{line}"));
    }
}

/// An outermost parallel region has ended, that of the outlined function at `address`. To be called where
/// [`wanted`] says so.
pub(crate) fn region(address: usize, run: RegionRun) {
    if filed(init::globals()) {
        parallel::add(address, run);
        keeper::news();
    }
}

/// A loop at `address` is about to be added. Before the lock of all loops is taken: see `place`.
pub(super) fn prepare(address: u64) {
    place::of(address);
    if filed(init::globals()) {
        keeper::news();
    }
}

/// Tries for a tenth of a second, because whoever has it needs it for a microsecond. A thread that
/// crashed has it for ever.
fn patiently<T>(mut attempt: impl FnMut() -> Option<T>) -> Option<T> {
    for _ in 0..1000 {
        if let Some(it) = attempt() {
            return Some(it);
        }
        std::thread::sleep(core::time::Duration::from_micros(100));
    }
    None
}

extern "C" fn at_exit() {
    // SAFETY: getpid has no preconditions.
    if unsafe { libc::getpid() } != PROCESS.load(Ordering::Relaxed) {
        return;
    }
    if init::globals().ours.verbose {
        if let Some(all) = patiently(known::at_exit) {
            for summary in all.summaries.values() {
                warn(format_args!("{}", summary.total()));
            }
        }
    }
    write(Ending::Exit);
}

/// Writes the files. False when there is nothing more to write, now or later.
fn write(ending: Ending) -> bool {
    let Some(mut over) = patiently(|| WRITER.try_lock().ok()) else {
        return false;
    };
    if *over {
        return false;
    }
    let ours = &init::globals().ours;
    let mut good = true;
    if let Some(value) = &ours.report {
        let path = file::path(value);
        // A checkpoint is replaced by the next one, which what went into a pipe cannot be.
        if ending != Ending::Running || !file::is_stream(&path) {
            let text = report(ending);
            let result = file::write(&path, |out| out.write_all(text.as_bytes()));
            good = written("HETMP_REPORT", value, result);
        }
    }
    if ending == Ending::Running {
        return good && ours.report.is_some();
    }
    *over = true;
    if let Some(value) = &ours.trace {
        let mut dropped = trace_file::Dropped::default();
        let result = file::write(&file::path(value), |out| {
            dropped = trace_file::write(out, STARTED.load(Ordering::Relaxed), ending)?;
            Ok(())
        });
        if written("HETMP_TRACE", value, result) && dropped.events > 0 {
            warn(format_args!(
                "HETMP_TRACE_EVENTS {}: {} older events of {} threads did not fit: a larger number \
                 is accepted",
                ours.trace_events, dropped.events, dropped.threads
            ));
        }
    }
    false
}

/// Says why a file was not written, once.
fn written(name: &str, value: &[u8], result: std::io::Result<()>) -> bool {
    let Err(error) = result else { return true };
    if !SAID.swap(true, Ordering::Relaxed) {
        warn(format_args!(
            "{name} {}: {error}: a file that can be written is accepted",
            String::from_utf8_lossy(value)
        ));
    }
    false
}

/// All that is known, as JSON.
fn report(ending: Ending) -> String {
    let globals = init::globals();
    let program = std::env::current_exe().unwrap_or_default();
    let mut out = format!(
        "{{\"hetmp_report\":{FORMAT},\n \"hetmp\":{},\n \"program\":{},\n \"pid\":{},\n \
         \"started_unix_ms\":{},\n \"elapsed_ns\":{},\n \"ending\":{},\n \"schedule\":{},\n \
         \"nodes\":[",
        quoted(env!("CARGO_PKG_VERSION")),
        quoted(&program.to_string_lossy()),
        std::process::id(),
        STARTED_UNIX_MS.load(Ordering::Relaxed),
        monotonic_ns() - STARTED.load(Ordering::Relaxed),
        quoted(&ending.to_string()),
        quoted(&globals.schedule.to_string())
    );
    if let Some(layout) = nodes::layout() {
        for (i, n) in layout.nodes.iter().enumerate() {
            // Writing to a String cannot fail.
            let _ = write!(
                out,
                "{}{{\"cpus\":{},\"speed\":{},\"name\":{}}}",
                comma(i),
                quoted(&n.cpus.to_string()),
                number(Some(n.speed)),
                maybe(n.name.as_deref())
            );
        }
    }
    out.push(']');
    let mut symbols = if ending == Ending::Running {
        Symbols::none()
    } else {
        Symbols::from_files()
    };
    if let Some(all) = parallel::table() {
        out.push_str(",\n \"reach\":");
        all.reach_json(&mut out);
        out.push_str(",\n \"regions\":[");
        all.json(&mut out, &mut symbols);
        out.push(']');
    }
    if let Some(all) = patiently(known::at_exit) {
        out.push_str(",\n \"loops\":[");
        for (i, ((_, code), summary)) in all.summaries.iter().enumerate() {
            out.push_str(comma(i));
            out.push_str("\n  ");
            summary.json(&mut out, &mut symbols, *code == known::PIECES);
        }
        out.push(']');
    }
    out.push_str("}\n");
    out
}
