//! A profile as text.

use super::sums::{Construct, Region};
use super::Process;
use crate::columns::{room, time, Table};
use crate::report;
use crate::source::Source;
use std::fmt::Write as _;

pub(super) fn text(process: &Process) -> String {
    let sums = &process.sums;
    let mut out = String::new();
    let since = if process.from_start {
        ""
    } else {
        " since its first use of OpenMP"
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "program   {}\nended     {} after {}{since}",
        process.program,
        report::ending(&process.ending),
        time(process.elapsed),
    );
    // Regions that were opened inside of others are in the time of those.
    let all: u64 = sums.regions.iter().map(|r| r.elapsed).sum();
    let nested: u64 = sums.regions.iter().map(Region::nested).sum();
    let inside = all.saturating_sub(nested);
    let threads_time: u64 = sums.regions.iter().map(|r| r.threads_time).sum();
    let wait: u64 = sums.regions.iter().map(|r| r.itself.wait).sum();
    let _ = writeln!(
        out,
        "regions   {} of that ({}), with up to {} threads, which waited {} of their time",
        time(inside),
        percent(inside, process.elapsed),
        sums.threads,
        percent(wait, threads_time),
    );
    if sums.regions.is_empty() && sums.outside.is_empty() {
        return out;
    }
    out.push('\n');
    let mut rows = Vec::new();
    for region in &sums.regions {
        rows.push(region_row(region, process.elapsed));
        let team = u64::from(region.threads.max(1));
        let whole = region.threads_time;
        let part = |name: &str, busy: u64, wait: u64| {
            vec![
                time((busy + wait) / team),
                percent(busy + wait, whole),
                String::new(),
                String::new(),
                String::new(),
                some(wait, whole),
                format!("  {name}"),
                String::new(),
                String::new(),
            ]
        };
        let mut parts: Vec<(u64, Vec<String>)> = region
            .constructs
            .iter()
            .map(|c| (c.busy + c.wait, construct_row(c, team, whole)))
            .collect();
        // The parts that are no constructs are worth a row where they are worth looking at.
        for (name, busy, wait) in [
            ("code outside of constructs", region.own, 0),
            ("end of the region", 0, region.end_wait),
            ("starting threads", region.rest(), 0),
        ] {
            if busy + wait > whole / 200 {
                parts.push((busy + wait, part(name, busy, wait)));
            }
        }
        parts.sort_by_key(|(ns, _)| core::cmp::Reverse(*ns));
        rows.extend(parts.into_iter().map(|(_, row)| row));
    }
    for construct in &sums.outside {
        let mut row = construct_row(construct, 1, process.elapsed);
        row[6] = format!("{}, outside of regions", construct.kind.name());
        rows.push(row);
    }
    Table {
        titles: &[
            ">time",
            ">share",
            ">runs",
            ">threads",
            "imbalance",
            ">waiting",
            "construct",
            "function",
            "source",
        ],
        rows,
    }
    .print(&mut out, room(std::io::stderr()));
    unfinished(process, &mut out);
    notes(process, &mut out);
    out
}

fn region_row(region: &Region, elapsed: u64) -> Vec<String> {
    let r = &region.itself;
    vec![
        time(region.elapsed),
        percent(region.elapsed, elapsed),
        r.count.to_string(),
        region.threads.to_string(),
        imbalance(r),
        percent(r.wait, region.threads_time),
        r.kind.name().to_owned(),
        function(&r.source),
        r.source.to_string(),
    ]
}

/// `team`: the threads of the region, whose time together was `whole`.
fn construct_row(c: &Construct, team: u64, whole: u64) -> Vec<String> {
    vec![
        time((c.busy + c.wait) / team),
        percent(c.busy + c.wait, whole),
        c.count.to_string(),
        String::new(),
        imbalance(c),
        some(c.wait, whole),
        format!("  {}", c.kind.name()),
        function(&c.source),
        c.source.to_string(),
    ]
}

fn function(source: &Source) -> String {
    source.function.clone().unwrap_or_else(|| "-".to_owned())
}

fn imbalance(c: &Construct) -> String {
    // Below that, nobody would look at the thread.
    const WORTH_A_NAME: f64 = 1.05;
    match c.imbalance {
        Some((ratio, thread)) if ratio >= WORTH_A_NAME => format!("{ratio:.2} (thread {thread})"),
        Some((ratio, _)) => format!("{ratio:.2}"),
        None => String::new(),
    }
}

fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1}%", part as f64 * 100.0 / whole as f64)
}

/// [`percent`], and nothing for nothing.
fn some(part: u64, whole: u64) -> String {
    if part == 0 {
        String::new()
    } else {
        percent(part, whole)
    }
}

fn unfinished(process: &Process, out: &mut String) {
    for (i, u) in process.sums.unfinished.iter().enumerate() {
        if i == 0 {
            out.push_str("\nAt the end\n");
        }
        let who = match u.thread {
            Some(number) => format!("thread {number}"),
            None => "a thread in no region".to_owned(),
        };
        let did = if u.waits { "waited" } else { "was" };
        let place = if u.at_the_end {
            "at the end of "
        } else {
            "in "
        };
        let name = u.kind.name();
        let at = match (&u.source.line, &u.source.function) {
            (Some(_), _) => format!(" at {}", u.source),
            (None, Some(function)) => format!(" in {function}"),
            (None, None) => String::new(),
        };
        let since = time(u.since);
        let _ = writeln!(out, "  {who} {did} {place}{name}{at} for {since}");
    }
}

/// What is missing.
fn notes(process: &Process, out: &mut String) {
    let sums = &process.sums;
    let regions = sums.regions.iter();
    let all = regions.flat_map(|r| core::iter::once(&r.itself).chain(&r.constructs));
    let mut said: Vec<(String, &str)> = Vec::new();
    for c in all.chain(&sums.outside) {
        if let (Some(place), Some(note), None) = (&c.place, c.source.note, c.source.line) {
            let line = (place.path.display().to_string(), note);
            if !said.contains(&line) {
                said.push(line);
            }
        }
    }
    if !said.is_empty() {
        out.push('\n');
    }
    for (file, note) in said {
        let _ = writeln!(out, "no source lines for {file}: {note}");
    }
    if sums.lost_threads > 0 {
        let lost = sums.lost_threads;
        let _ = writeln!(
            out,
            "not measured: {lost} threads, of more than 1024 at a time"
        );
    }
    if sums.is_short {
        out.push_str("not complete: there was no room for all sums\n");
    }
}
