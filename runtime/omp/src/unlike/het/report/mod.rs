//! Decisions and their reasons: one line each for `HETMP_VERBOSE`, all of them as JSON in the file of
//! `HETMP_REPORT`; and which thread did what when, in the file of `HETMP_TRACE`.
//!
//! * `loops`: loops that hetmp's own schedules hand out, or that are only timed.
//! * `parallel`: parallel regions, with the way in which each ran.
//! * `place`: names for addresses in the program.
//! * `ending`: how the program ended. `keeper`: writes while the program runs, and when a signal ends it.
//! * `trace_file`: writes the trace of `hetmp_core::trace` to a file.
//!
//! Only the process that started the runtime writes. Its forked children record nothing, and leave its files
//! alone.
//!
//! **Data in**: records from [`super::known`], regions from the engine ([`region`]). **Data out**: files and
//! lines. Nothing else reads the data that is kept here.

mod ending;
mod json;
mod keeper;
mod loops;
mod parallel;
mod place;
mod trace_file;

use super::known;
use crate::icv::{Globals, SchedKind};
use crate::init;
use crate::unlike::virtual_team::ledger::Balance;
use crate::unlike::{modes, nodes};
use core::sync::atomic::{AtomicBool, Ordering};
use ending::Ending;
use hetmp_core::file::{self, Form};
use hetmp_core::float;
use hetmp_core::report::warn;
use hetmp_core::sys::keeping_errno;
use hetmp_core::sys::monotonic_ns;
use hetmp_core::trace;
use hetmp_core::whole::{patiently, Mutex};
use json::{comma, maybe, number, quoted};
pub(super) use loops::Summary;
pub(crate) use parallel::RegionRun;
use place::Symbols;
use std::fmt::Write as _;

/// Format version of the report's file.
const FORMAT: u32 = 2;

static WANTED: AtomicBool = AtomicBool::new(false);
/// Held while files are written. True when nothing more will be written.
static WRITER: Mutex<bool> = Mutex::new(false);
/// The user was told once that a file cannot be written.
static SAID: AtomicBool = AtomicBool::new(false);

/// Is a report or trace wanted? One relaxed load.
#[inline(always)]
pub(crate) fn wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Called once, before the first region that is looked at.
pub(super) fn configure(globals: &Globals) {
    if !modes::reports(globals) || !modes::in_first_process() {
        return;
    }
    // SAFETY: the handler can be called at any time, since the library is never unloaded. If there is no room
    // for another handler, there is no report.
    unsafe { libc::atexit(at_exit) };
    if globals.ours.trace.is_some() {
        trace::start(globals.ours.trace_events);
    }
    WANTED.store(true, Ordering::Relaxed);
    // Even a program that ends at once by `_exit` has used OpenMP; and a file that cannot be written is known now.
    if globals.ours.report.is_some() {
        float::apart(|| write(Ending::Running));
    }
    if globals.ours.verbose {
        introduce(globals.icv.run_sched.kind);
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

/// Called in the child of a fork.
pub(crate) fn after_fork() {
    WANTED.store(false, Ordering::Relaxed);
    trace::stop();
}

/// Prints one of the report's own lines, if `HETMP_VERBOSE` wants them.
pub(super) fn say(line: &str) {
    if init::globals().ours.verbose {
        warn(format_args!("{line}"));
    }
}

/// Adds an execution of an outermost parallel region, of the outlined function at `address`. Call this only
/// where [`wanted`] is true.
pub(crate) fn region(address: usize, run: RegionRun) {
    if modes::filed(init::globals()) {
        keeping_errno(|| {
            parallel::add(address, run);
            keeper::news(write);
        });
    }
}

/// A loop at `address` is about to be added. Called before the lock of all loops is taken (see `place`).
pub(super) fn prepare(address: u64) {
    keeping_errno(|| {
        place::of(address);
        if modes::filed(init::globals()) {
            keeper::news(write);
        }
    });
}

extern "C" fn at_exit() {
    if !modes::in_first_process() {
        return;
    }
    if init::globals().ours.verbose {
        if let Some(all) = patiently(known::at_exit) {
            for summary in all.summaries.values() {
                float::apart(|| warn(format_args!("{}", summary.total())));
            }
        }
        let spent = Balance::now();
        if spent.looked + spent.lost > 0 {
            let ms = |ns: u64| ns as f64 / 1e6;
            float::apart(|| {
                warn(format_args!(
                    "to look at regions took {:.1} ms, to try ways of running them {:.1} ms (at most {:.1} ms)",
                    ms(spent.looked),
                    ms(spent.lost),
                    ms(spent.allowed)
                ));
            });
        }
    }
    float::apart(|| write(Ending::Exit));
}

/// Writes the files. False when there is nothing more to write, now or later.
fn write(ending: Ending) -> bool {
    let Some(mut over) = patiently(|| WRITER.try_lock()) else {
        return false;
    };
    if *over {
        return false;
    }
    let ours = &init::globals().ours;
    let mut good = true;
    if let Some(value) = &ours.report {
        let path = file::path(value);
        // A file is replaced by the next report; text in a pipe cannot be replaced, so a pipe gets only the
        // last report.
        if ending != Ending::Running || !file::is_stream(&path) {
            let text = report(ending);
            let result = file::write(&path, Form::Json, |out| out.write_all(text.as_bytes()));
            good = written("HETMP_REPORT", value, result);
        }
    }
    if ending == Ending::Running {
        return good && ours.report.is_some();
    }
    *over = true;
    if let Some(value) = &ours.trace {
        let mut dropped = trace_file::Dropped::default();
        let result = file::write(&file::path(value), Form::Json, |out| {
            dropped = trace_file::write(out, modes::started_ns(), ending)?;
            Ok(())
        });
        if written("HETMP_TRACE", value, result) && dropped.events > 0 {
            warn(format_args!(
                "HETMP_TRACE_EVENTS: '{}': {} older events of {} threads did not fit (expected a larger number)",
                ours.trace_events, dropped.events, dropped.threads
            ));
        }
    }
    false
}

/// Tells the user, once, why a file was not written. Returns whether it was written.
fn written(name: &str, value: &[u8], result: std::io::Result<()>) -> bool {
    let Err(error) = result else { return true };
    if !SAID.swap(true, Ordering::Relaxed) {
        warn(format_args!(
            "{name}: '{}': {error} (expected a file that can be written)",
            String::from_utf8_lossy(value)
        ));
    }
    false
}

/// The whole report as JSON.
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
        modes::started_unix_ms(),
        monotonic_ns() - modes::started_ns(),
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
        for (i, ((_, schedule), summary)) in all.summaries.iter().enumerate() {
            out.push_str(comma(i));
            out.push_str("\n  ");
            summary.json(&mut out, &mut symbols, schedule.is_none());
        }
        out.push(']');
    }
    let mut identify =
        |code: usize, out: &mut String| place::of(code as u64).json(out, &mut symbols);
    crate::across::said::json(&mut out, &mut identify, ending == Ending::Exit);
    out.push_str("}\n");
    out
}
