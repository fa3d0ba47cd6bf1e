//! The report as text.

use super::model::{Loop, Region, Traffic};
use super::{csr, line, name, shares, without_nodes, Resolved};
use crate::columns::{time, Table};
use crate::source::Source;
use std::fmt::Write as _;

/// `room`: the columns that there are.
pub(super) fn text(all: &Resolved, room: usize) -> String {
    let r = &all.report;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "program   {}\nended     {} after {}\nschedule  {}",
        r.program,
        ending(&r.ending),
        time(r.elapsed_ns),
        r.schedule
    );
    if r.nodes.is_empty() {
        let _ = writeln!(out, "nodes     {}", without_nodes(r));
    }
    for (i, n) in r.nodes.iter().enumerate() {
        let title = if i == 0 { "nodes" } else { "" };
        let named = n
            .name
            .as_deref()
            .map_or(String::new(), |n| format!(", {n}"));
        let speed = if n.speed < 1.0 {
            format!(", slowed to {}", n.speed)
        } else {
            String::new()
        };
        let _ = writeln!(out, "{title:<10}{i}: CPUs {}{named}{speed}", n.cpus);
    }
    reach(all, &mut out, room);
    regions(all, &mut out, room);
    loops(all, &mut out, room);
    dsm(all, &mut out, room);
    notes(all, &mut out);
    legend(all, &mut out);
    out
}

/// What the words of the tables mean.
fn legend(all: &Resolved, out: &mut String) {
    let (regions, loops) = (&all.report.regions, &all.report.loops);
    if regions.is_empty() && loops.is_empty() {
        return;
    }
    out.push('\n');
    if !loops.is_empty() {
        out.push_str(
            "CSR: how much faster a core of each node ran the loop than one of the slowest node.\n",
        );
    }
    if !regions.is_empty() {
        out.push_str(
            "threads 2/16: 16 virtual threads on 2. All ways and reasons: hetmp report --words.\n",
        );
    }
}

/// How the program has ended, as text.
pub(super) fn ending(text: &str) -> String {
    match text.strip_prefix("signal ").and_then(|n| n.parse().ok()) {
        Some(number) => format!("by signal {number}{}", signal_name(number)),
        None if text == "running" => {
            "without a word (it was killed, left by _exit, or runs on)".to_owned()
        }
        None => format!("by {text}"),
    }
}

fn signal_name(number: i32) -> &'static str {
    match number {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        15 => " (SIGTERM)",
        24 => " (SIGXCPU)",
        _ => "",
    }
}

fn reach(all: &Resolved, out: &mut String, room: usize) {
    let Some(reach) = all.report.reach.as_ref().filter(|r| !r.by.is_empty()) else {
        return;
    };
    out.push_str("\nReach: the time in parallel regions, by way, or by the reason that kept an ordinary team\n");
    let mut parts: Vec<_> = reach.by.iter().collect();
    parts.sort_by_key(|p| core::cmp::Reverse(p.elapsed_ns));
    let rows = parts.iter().map(|p| {
        vec![
            p.way.clone(),
            if p.kept { "kept" } else { "divided" }.to_owned(),
            format!("{:.1}%", p.share * 100.0),
            time(p.elapsed_ns),
            p.runs.to_string(),
            p.reason.clone(),
        ]
    });
    Table {
        titles: &["", "", ">share", ">time", ">runs", "why"],
        rows: rows.collect(),
    }
    .print(out, room);
    if reach.looked_ns + reach.lost_ns > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "Reading regions took {}, trials of ways to run them {} (at most {}).",
            time(reach.looked_ns),
            time(reach.lost_ns),
            time(reach.allowed_ns)
        );
    }
}

fn regions(all: &Resolved, out: &mut String, room: usize) {
    if all.report.regions.is_empty() {
        return;
    }
    out.push_str("\nParallel regions\n");
    let row = |(r, s): (&Region, &Source)| {
        // A region is shown by the way that took the most time.
        let way = r.ways.iter().max_by_key(|w| w.elapsed_ns);
        let threads = way.map_or(String::new(), |w| match w.virtual_threads {
            Some(v) => format!("{}/{v}", w.threads),
            None => w.threads.to_string(),
        });
        let more = match r.ways.len() {
            0 | 1 => String::new(),
            2 => " (+1 other way)".to_owned(),
            n => format!(" (+{} other ways)", n - 1),
        };
        vec![
            time(r.elapsed_ns),
            r.runs.to_string(),
            time(r.elapsed_ns / r.runs.max(1)),
            time(r.min_ns),
            time(r.max_ns),
            threads,
            way.map_or(String::new(), |w| w.way.clone() + &more),
            name(s, &r.place).to_owned(),
            line(s, &r.place),
            way.map_or(String::new(), |w| w.reason.clone()),
        ]
    };
    Table {
        titles: &[
            ">time", ">runs", ">mean", "~>least", "~>most", ">threads", "way", "function",
            "source", "why",
        ],
        rows: all
            .report
            .regions
            .iter()
            .zip(&all.regions)
            .map(row)
            .collect(),
    }
    .print(out, room);
}

/// The cells of a row that tell a node's or a region's traffic.
fn traffic(t: Traffic) -> [String; 6] {
    [
        t.read_faults.to_string(),
        t.write_faults.to_string(),
        t.pages_along.to_string(),
        format!("{} KiB", t.bytes_sent / 1024),
        t.pages_taken_away.to_string(),
        time(t.waited_ns),
    ]
}

fn dsm(all: &Resolved, out: &mut String, room: usize) {
    let Some(dsm) = &all.report.dsm else { return };
    let _ = writeln!(
        out,
        "\nDistributed shared memory on {} nodes\n",
        dsm.nodes.len()
    );
    let rows = dsm.nodes.iter().enumerate().map(|(i, t)| {
        let mut row = vec![i.to_string()];
        row.extend(traffic(*t));
        row
    });
    Table {
        titles: &[
            ">node",
            ">read faults",
            ">write faults",
            ">along",
            ">sent",
            ">taken away",
            ">waited",
        ],
        rows: rows.collect(),
    }
    .print(out, room);
    let mean = |ns: u64, runs: u64| ns.checked_div(runs).map_or("-".to_owned(), time);
    let rows = dsm.regions.iter().map(|r| {
        let mut row = vec![
            r.crossed.to_string(),
            mean(r.across_ns, r.crossed),
            match r.moved {
                0 => "0".to_owned(),
                n => format!("{n} on {}", r.moved_to),
            },
            mean(r.moved_ns, r.moved),
            r.stayed.to_string(),
            mean(r.home_ns, r.stayed),
        ];
        row.extend(traffic(r.nodes.iter().copied().sum()));
        row.push(r.trial.map_or("-".to_owned(), |t| t.to_string()));
        let function = r.place.symbol.as_ref().unwrap_or(&r.place.region);
        row.extend([function.clone(), r.reason.clone()]);
        row
    });
    out.push('\n');
    Table {
        titles: &[
            ">crossed",
            ">mean",
            ">whole elsewhere",
            ">mean",
            ">at origin",
            ">mean",
            "~>read faults",
            "~>write faults",
            "~>along",
            "~>sent",
            "~>taken away",
            "~>waited",
            "~fault period in the last trial",
            "function",
            "why",
        ],
        rows: rows.collect(),
    }
    .print(out, room);
    if dsm.pages.is_empty() {
        return;
    }
    out.push('\n');
    let rows = dsm.pages.iter().map(|p| {
        vec![
            p.requests.to_string(),
            format!("{:#x}", p.address),
            p.contents.clone(),
        ]
    });
    Table {
        titles: &[">requests", "page", "contents"],
        rows: rows.collect(),
    }
    .print(out, room);
}

fn loops(all: &Resolved, out: &mut String, room: usize) {
    if all.report.loops.is_empty() {
        out.push_str("\nNo loop was scheduled or timed by hetmp.\n");
        return;
    }
    out.push_str("\nLoops, and regions as loops over their virtual threads (v)\n");
    let row = |(l, s): (&Loop, &Source)| {
        vec![
            time(l.elapsed_ns),
            l.executions.to_string(),
            if l.is_region() {
                format!("{} v", l.iterations)
            } else {
                l.iterations.to_string()
            },
            l.schedule.clone(),
            csr(l.nodes.iter().map(|n| n.csr)),
            shares(l.nodes.iter().map(|n| n.share)),
            name(s, &l.place).to_owned(),
            s.to_string(),
            l.decisions
                .last()
                .map_or(String::new(), |d| d.reason.clone()),
        ]
    };
    Table {
        titles: &[
            ">time",
            ">runs",
            ">iterations",
            "schedule",
            "CSR",
            "shares",
            "function",
            "source",
            "last decision",
        ],
        rows: all.report.loops.iter().zip(&all.loops).map(row).collect(),
    }
    .print(out, room);
}

/// Why source lines are missing; each reason is listed once.
fn notes(all: &Resolved, out: &mut String) {
    let places = all.report.regions.iter().map(|r| &r.place);
    let places = places.chain(all.report.loops.iter().map(|l| &l.place));
    let mut said = Vec::new();
    for (place, source) in places.zip(all.regions.iter().chain(&all.loops)) {
        let module = place.module.as_deref().unwrap_or(&place.region);
        if let Some(note) = source.note.filter(|_| source.line.is_none()) {
            if !said.contains(&(module, note)) {
                said.push((module, note));
            }
        }
    }
    if !said.is_empty() {
        out.push('\n');
    }
    for (module, note) in said {
        let _ = writeln!(out, "no source lines for {module}: {note}");
    }
}
