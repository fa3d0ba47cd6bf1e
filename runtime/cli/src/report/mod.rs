//! `hetmp report`: shows to people what the runtime has written under `HETMP_REPORT`.
//!
//! * `model` is the file's content.
//! * `table` prints the text; `page` makes the HTML page; `timeline` makes the page's timelines from a file of
//!   `HETMP_TRACE`.

mod model;
mod page;
mod table;
mod timeline;

use crate::columns::{room, Table};
use crate::outputs::{self, By};
use crate::source::{Source, Sources};
use crate::Output;
use hetmp_sched::ways::{Reason, Way};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file that HETMP_REPORT named
    #[arg(required_unless_present = "words")]
    file: Option<PathBuf>,
    /// Explain the words of all ways and reasons, also those of hetmp which
    #[arg(long, exclusive = true)]
    words: bool,
    /// Print the report as JSON, with the source lines found
    #[arg(long)]
    json: bool,
    /// Write a page with tables, bars and, with --trace, timelines, that needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The file that HETMP_TRACE named in the same run; for --html
    #[arg(long, value_name = "FILE", requires = "html")]
    trace: Option<PathBuf>,
    /// Show only this many regions and loops, those that took longest
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// All columns in lines as long as they are, also on a narrow terminal
    #[arg(long)]
    wide: bool,
}

/// A report with its source lines. Regions and loops are sorted by time.
struct Resolved {
    report: model::Report,
    /// For each region its source, in the same order.
    regions: Vec<Source>,
    /// For each loop its source, in the same order.
    loops: Vec<Source>,
    /// For each region that may cross nodes its source, in the same order.
    crossings: Vec<Source>,
}

pub(crate) fn run(arguments: &Arguments) -> Output {
    let room = match arguments.wide {
        true => usize::MAX,
        false => room(std::io::stdout()),
    };
    let text = match &arguments.file {
        Some(file) => output(arguments, file, room),
        None => Ok(words(room)),
    };
    match text {
        Ok(text) => Output {
            text,
            ..Output::default()
        },
        Err(error) => Output::refuse(error),
    }
}

/// The words of reports with what they mean, ways first.
fn words(room: usize) -> String {
    let mut out = String::new();
    let ways = Way::REACHING
        .iter()
        .map(|way| vec![way.word().to_owned(), way.sentence().to_owned()]);
    let reasons = Reason::ALL.iter().map(|reason| {
        let text = format!("{}. {}", reason.sentence(), reason.more().trim());
        vec![
            reason.word().to_owned(),
            text.trim_end_matches([' ', '.']).to_owned(),
        ]
    });
    let titles = &["way", "of a region that hetmp divides"];
    let rows = ways.collect();
    Table { titles, rows }.print(&mut out, room);
    out.push('\n');
    let titles = &["reason", "why a region is an ordinary team"];
    let rows = reasons.collect();
    Table { titles, rows }.print(&mut out, room);
    out
}

fn output(arguments: &Arguments, file: &Path, room: usize) -> Result<String, String> {
    let mut files = vec![("the report", file, By::Reading)];
    files.extend(
        arguments
            .trace
            .as_deref()
            .map(|f| ("--trace", f, By::Reading)),
    );
    files.extend(
        arguments
            .html
            .as_deref()
            .map(|f| ("--html", f, By::Command)),
    );
    outputs::check(&files)?;
    let value = model::read(
        "report",
        "HETMP_REPORT",
        file,
        &["hetmp_report"],
        model::FORMAT,
    )?;
    let mut report = model::report(file, &value)?;
    let mut sources = Sources::default();
    if arguments.json {
        return Ok(format!(
            "{:#}\n",
            with_sources(value, &report, &mut sources)
        ));
    }
    report
        .regions
        .sort_by_key(|r| core::cmp::Reverse(r.elapsed_ns));
    report
        .loops
        .sort_by_key(|l| core::cmp::Reverse(l.elapsed_ns));
    let most = arguments.top.unwrap_or(usize::MAX);
    report.regions.truncate(most);
    report.loops.truncate(most);
    let crossings = report.dsm.iter_mut().flat_map(|dsm| {
        let time = |r: &model::Crossing| r.across_ns + r.moved_ns + r.home_ns;
        dsm.regions.sort_by_key(|r| core::cmp::Reverse(time(r)));
        dsm.regions.truncate(most);
        &dsm.regions
    });
    let crossings = crossings.map(|r| sources.find(&r.place, false)).collect();
    let resolved = Resolved {
        regions: report
            .regions
            .iter()
            .map(|r| sources.find(&r.place, false))
            .collect(),
        loops: report
            .loops
            .iter()
            .map(|l| sources.find(&l.place, !l.is_region()))
            .collect(),
        crossings,
        report,
    };
    let Some(html) = &arguments.html else {
        return Ok(table::text(&resolved, room));
    };
    let timeline = match &arguments.trace {
        Some(path) => {
            let value = model::read(
                "trace",
                "HETMP_TRACE",
                path,
                &["otherData", "hetmp_trace"],
                model::TRACE_FORMAT,
            )?;
            Some(timeline::read(path, &value)?)
        }
        None => None,
    };
    let page = page::html(&resolved, timeline.as_ref());
    outputs::write("--html", html, page)?;
    Ok(format!("{}\n", html.display()))
}

/// The arguments of a plain report.
const PLAIN: Arguments = Arguments {
    file: None,
    words: false,
    json: false,
    html: None,
    trace: None,
    top: None,
    wide: false,
};

/// The table of the report in `file`, for `hetmp run`, which prints it on standard error.
pub(crate) fn table_of(file: &Path) -> Result<String, String> {
    output(&PLAIN, file, room(std::io::stderr()))
}

/// Of the time in regions in the report in `file`: whether it went to ordinary teams, nanoseconds, and why, for each
/// way. Nothing if there is no such report.
pub(crate) fn reach_of(file: &Path) -> Vec<(bool, u64, String)> {
    let read = hetmp_core::file::text(file, hetmp_core::file::LARGE).ok();
    let report = read.and_then(|text| serde_json::from_str::<model::Report>(&text).ok());
    let reach = report.and_then(|report| report.reach);
    let parts = reach.into_iter().flat_map(|reach| reach.by);
    parts
        .map(|part| (part.kept, part.elapsed_ns, part.reason))
        .collect()
}

/// Writes the page of the report in `file`, for `hetmp run`.
pub(crate) fn page_of(file: &Path, html: &Path, trace: Option<&Path>) -> Result<(), String> {
    let arguments = Arguments {
        html: Some(html.to_owned()),
        trace: trace.map(Path::to_owned),
        ..PLAIN
    };
    output(&arguments, file, usize::MAX).map(drop)
}

/// The report as it was read, with a field `source` added to each region and loop.
fn with_sources(mut value: Value, report: &model::Report, sources: &mut Sources) -> Value {
    let regions: Vec<Source> = report
        .regions
        .iter()
        .map(|r| sources.find(&r.place, false))
        .collect();
    let loops: Vec<Source> = report
        .loops
        .iter()
        .map(|l| sources.find(&l.place, !l.is_region()))
        .collect();
    for (list, found) in [("regions", regions), ("loops", loops)] {
        let rows = value.get_mut(list).and_then(Value::as_array_mut);
        for (row, s) in rows.into_iter().flatten().zip(found) {
            row["source"] = json!({
                "function": s.function, "file": s.file, "line": s.line, "note": s.note,
            });
        }
    }
    value
}

/// How a program has ended, as text: `exit`, `signal N` or `running`.
pub(crate) fn ending(text: &str) -> String {
    table::ending(text)
}

/// What is said of nodes where the report names none.
fn without_nodes(report: &model::Report) -> String {
    match &report.dsm {
        Some(dsm) => format!("{} with memory of their own", dsm.nodes.len()),
        None => "1, all cores are alike".to_owned(),
    }
}

/// Where a region is: its line in the source, or else its place in the program.
fn line(source: &Source, place: &crate::source::Place) -> String {
    match source.file {
        Some(_) => source.to_string(),
        None => place.region.clone(),
    }
}

/// The name of a region: its function, or else its place in the file.
fn name<'a>(source: &'a Source, place: &'a crate::source::Place) -> &'a str {
    source.function.as_deref().unwrap_or(&place.region)
}

/// Core speed ratios as text, such as `1.5:1`.
fn csr(nodes: impl Iterator<Item = Option<f64>>) -> String {
    join(
        nodes.map(|c| c.map_or("-".to_owned(), |c| format!("{c:.2}"))),
        ":",
    )
}

/// Shares as text, such as `75.0% 25.0%`.
fn shares(nodes: impl Iterator<Item = f64>) -> String {
    join(nodes.map(|s| format!("{:.1}%", s * 100.0)), " ")
}

fn join(parts: impl Iterator<Item = String>, separator: &str) -> String {
    parts.collect::<Vec<_>>().join(separator)
}
