//! The file of `HETMP_TRACE`: Chrome's trace event format, in JSON, which Perfetto opens
//! (ui.perfetto.dev) and `hetmp report --trace` draws.
//!
//! Every span is a complete event (`"ph":"X"`), every decision an instant event (`"i"`). Each thread has one
//! row, with its events in the order of time. Times are microseconds since the runtime started.

use super::ending::Ending;
use super::json::quoted;
use super::place::{self, Symbols};
use hetmp_core::trace::{self, Event, Kind};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Events that were left out, and the number of threads that lost some.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dropped {
    pub(super) events: u64,
    pub(super) threads: u64,
}

/// Writes all traced events; times count from `origin` (nanoseconds of the monotonic clock).
pub(super) fn write(out: &mut dyn Write, origin: u64, ending: Ending) -> io::Result<Dropped> {
    let mut threads = trace::read();
    // In the order in which threads were made, the program's initial thread first.
    threads.sort_by_key(|t| t.tid);
    let mut dropped = Dropped {
        events: trace::lost(),
        threads: 0,
    };
    for t in &threads {
        dropped.events += t.dropped;
        dropped.threads += u64::from(t.dropped > 0);
    }
    let pid = std::process::id();
    writeln!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\n\"otherData\":{{\"hetmp_trace\":1,\"ending\":{},\
         \"dropped_events\":{}}},\n\"traceEvents\":[",
        quoted(&ending.to_string()),
        dropped.events
    )?;
    let program = std::env::current_exe().unwrap_or_default();
    write!(
        out,
        "{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{pid},\"args\":{{\"name\":{}}}}}",
        quoted(&program.file_name().unwrap_or_default().to_string_lossy())
    )?;
    let mut names = BTreeMap::new();
    let mut symbols = Symbols::from_files();
    let mut line = String::new();
    for (i, thread) in threads.iter().enumerate() {
        let tid = thread.tid;
        write!(
            out,
            ",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":\"thread \
             {i}\"}}}}\
             ,\n{{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\
             \"args\":{{\"sort_index\":{i}}}}}"
        )?;
        for e in &thread.events {
            line.clear();
            // Writing to a String cannot fail.
            let _ = write!(line, ",\n{{\"pid\":{pid},\"tid\":{tid},");
            event(&mut line, e, origin, &mut |address| {
                let known = names.entry(address).or_insert_with(|| {
                    let place = place::of(address);
                    symbols.name(place).unwrap_or(&place.label).to_owned()
                });
                known.clone()
            });
            out.write_all(line.as_bytes())?;
        }
    }
    out.write_all(b"\n]}\n")?;
    Ok(dropped)
}

fn event(out: &mut String, e: &Event, origin: u64, name: &mut dyn FnMut(u64) -> String) {
    // Start and duration keep whole nanoseconds, so that their sum is exactly the end.
    let us = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
    let start = e.start_ns.saturating_sub(origin);
    let (category, title, arguments) = match e.kind {
        Kind::Region => (
            "region",
            name(e.what),
            format!("\"threads\":{},\"thread\":{}", e.a, e.b),
        ),
        Kind::Barrier => ("wait", "barrier".to_owned(), String::new()),
        Kind::Join => ("wait", "end of region".to_owned(), String::new()),
        Kind::Chunk | Kind::Probe => (
            if e.kind == Kind::Probe {
                "probe"
            } else {
                "chunk"
            },
            match e.chunks {
                1 => format!("{}..{}", e.a, e.b),
                n => format!("{n} chunks of {}..{}", e.a, e.b),
            },
            format!(
                "\"loop\":{},\"from\":{},\"to\":{},\"node\":{},\"chunks\":{}",
                quoted(&name(e.what)),
                e.a,
                e.b,
                e.node,
                e.chunks
            ),
        ),
        Kind::Piece => (
            "piece",
            format!("virtual thread {}", e.a),
            format!(
                "\"region\":{},\"virtual_thread\":{},\"of\":{},\"node\":{}",
                quoted(&name(e.what)),
                e.a,
                e.b,
                e.node
            ),
        ),
        Kind::Decision => (
            "decision",
            "decision".to_owned(),
            format!(
                "\"loop\":{},\"reason\":{}",
                quoted(&name(e.what)),
                quoted(&trace::text_of(e.a).unwrap_or_default())
            ),
        ),
    };
    let _ = write!(
        out,
        "\"name\":{},\"cat\":\"{category}\",\"ts\":{},",
        quoted(&title),
        us(start)
    );
    let _ = if e.kind == Kind::Decision {
        write!(out, "\"ph\":\"i\",\"s\":\"t\",\"args\":{{{arguments}}}}}")
    } else {
        let unfinished = match (e.unfinished, arguments.is_empty()) {
            (false, _) => "",
            (true, true) => "\"unfinished\":true",
            (true, false) => ",\"unfinished\":true",
        };
        write!(
            out,
            "\"ph\":\"X\",\"dur\":{},\"args\":{{{arguments}{unfinished}}}}}",
            us(e.end_ns - e.start_ns)
        )
    };
}
