//! What is printed at the program's end: where each region ran and why, and how often each region and
//! each node had to fetch pages, and which variables these pages hold.

use super::counts::Counts;
use super::table::{ask, table, Table, HOT};
use super::{admit, weigh};
use hetmp_core::{object, report};
use hetmp_sched::crossing::early::Seen;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// Pages that are listed.
const HOTTEST: u64 = 10;

/// What came of a trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tried {
    /// What the origin's threads did.
    pub(super) seen: Seen,
    pub(super) threshold_us: f64,
    /// The origin gave the trial up, and ran what was left.
    pub(super) ended_early: bool,
}

impl Tried {
    fn text(&self) -> String {
        let period = match self.seen.period_us() {
            Some(us) => format!("{us:.1} us of core time a fault"),
            None => "no faults".to_owned(),
        };
        let end = if self.ended_early {
            "ended early"
        } else {
            "ran whole"
        };
        let Seen { faults, .. } = self.seen;
        let us = self.threshold_us;
        format!("last trial: {faults} faults of the origin, {period} (threshold {us:.1}), {end}")
    }

    fn json(&self) -> String {
        let period = (self.seen.period_us()).map_or("null".to_owned(), |us| format!("{us:.3}"));
        format!(
            "{{\"faults\":{},\"ran_ns\":{},\"waited_ns\":{},\"fault_period_us\":{period},\"fault_threshold_us\":{:.3},\
             \"ended_early\":{}}}",
            self.seen.faults,
            self.seen.ran_ns,
            self.seen.waited_ns,
            self.threshold_us,
            self.ended_early
        )
    }
}

#[derive(Clone, Debug, Default)]
struct Row {
    crossed: u64,
    across_ns: u64,
    /// Threads of each node when the region last crossed.
    threads: Vec<u32>,
    /// Parts of its loops in thousandths, by node, if they were divided before they began when it last crossed.
    parts: Vec<u32>,
    /// The last trial.
    tried: Option<Tried>,
    stayed: u64,
    home_ns: u64,
    /// Executions whole on another node, and that node, the last one if there were several.
    moved: u64,
    moved_ns: u64,
    moved_to: u32,
    /// What happened on each node while the region was not at the origin alone.
    nodes: Vec<Counts>,
}

/// One row per region that may cross, by the address of the region's code.
static ROWS: Mutex<BTreeMap<usize, Row>> = Mutex::new(BTreeMap::new());
/// Counts of all nodes but the origin, as they were at the last join.
static LAST: Mutex<Vec<Counts>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds an execution of a region on all nodes that took `ns`. `before`: this node's counts at its beginning. Returns
/// what happened on each node meanwhile. `threads`: how many each node ran; `parts`: of loops that were divided before
/// they began, in thousandths.
pub(super) fn crossed(
    t: &Table,
    code: usize,
    ns: u64,
    before: Counts,
    threads: &[u32],
    parts: &[u32],
    tried: Option<Tried>,
) -> Vec<Counts> {
    left(t, code, before, |row| {
        threads.clone_into(&mut row.threads);
        parts.clone_into(&mut row.parts);
        row.tried = tried.or(row.tried);
        row.crossed += 1;
        row.across_ns += ns;
    })
}

/// Adds an execution of a region whole on `node` that took `ns`. `before`: this node's counts at its beginning.
pub(super) fn elsewhere(t: &Table, code: usize, ns: u64, before: Counts, node: u32) {
    left(t, code, before, |row| {
        row.moved += 1;
        row.moved_ns += ns;
        row.moved_to = node;
    });
}

/// Adds an execution that was not at the origin alone: `note` notes it.
fn left(t: &Table, code: usize, before: Counts, note: impl FnOnce(&mut Row)) -> Vec<Counts> {
    let mut last = locked(&LAST);
    last.resize(t.nodes as usize, Counts::default());
    last[0] = before;
    let mut rows = locked(&ROWS);
    let row = rows.entry(code).or_default();
    note(row);
    row.nodes.resize(t.nodes as usize, Counts::default());
    let mut during = Vec::with_capacity(t.nodes as usize);
    for (node, (sum, last)) in (0..).zip(row.nodes.iter_mut().zip(last.iter_mut())) {
        let now = Counts::of(t, node);
        let since = now.since(*last);
        sum.add(since);
        during.push(since);
        *last = now;
    }
    during
}

/// Adds an execution of a region that could have crossed, but ran at the origin.
pub(super) fn stayed(code: usize, ns: u64) {
    let mut rows = locked(&ROWS);
    let row = rows.entry(code).or_default();
    row.stayed += 1;
    row.home_ns += ns;
}

/// Pages that nodes asked for most often: address, and number of requests. Only pages of the origin's part of
/// memory and of the program's variables are counted.
fn hottest(t: &Table) -> Vec<(usize, u64)> {
    (0..HOTTEST)
        .map(|rank| ask(t, HOT, [rank, 0, 0]))
        .map(|[address, requests, _]| (address as usize, requests))
        .take_while(|&(_, requests)| requests > 0)
        .collect()
}

/// Names what lies in the page at `address`: `variable[512..767]` are the bytes of a large variable. Other pages
/// have several variables, whose names are listed, or none.
fn contents(address: usize, variables: &mut Option<object::Variables>) -> String {
    let Some(place) = object::Place::of(address) else {
        return "memory of the heap or of a stack".to_owned();
    };
    let variables = variables.get_or_insert_with(|| object::Variables::of(&place.path));
    let end = place.offset + 4096;
    let mut text = String::new();
    for v in variables.within(place.offset, end) {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(v.name);
        let from = place.offset.saturating_sub(v.start);
        let to = (end - v.start).min(v.size);
        if from > 0 || to < v.size {
            // Writing to a String cannot fail.
            let _ = write!(text, "[{from}..{}]", to - 1);
        }
    }
    if text.is_empty() {
        text.push_str("variables without a name");
    }
    text
}

/// Why the region last ran where it did; `None` if nobody asked whether it may cross.
pub(crate) fn why(code: usize) -> Option<String> {
    match admit::why(code)? {
        Some(stays) => Some(stays),
        None => weigh::why(code).map(|why| why.sentence().to_owned()),
    }
}

/// Reports each region, each node and the hottest pages, under `HETMP_VERBOSE`.
pub(super) fn say(t: &Table) {
    let ours = &crate::init::globals().ours;
    if !ours.verbose {
        return;
    }
    let rows = locked(&ROWS).clone();
    for (code, row) in &rows {
        let mut all = Counts::default();
        row.nodes.iter().for_each(|n| all.add(*n));
        let mut line = format!(
            "dsm: region {code:#x}: {} times, {} us, {}",
            row.crossed,
            row.across_ns / 1000,
            all.text()
        );
        if let [first, others @ ..] = &*row.threads {
            let _ = write!(line, "; threads {first}");
            for threads in others {
                let _ = write!(line, "+{threads}");
            }
        }
        if let [first, others @ ..] = &*row.parts {
            let _ = write!(line, "; loops {first}");
            for part in others {
                let _ = write!(line, "+{part}");
            }
            line.push_str(" thousandths");
        }
        if let Some(tried) = &row.tried {
            let _ = write!(line, "; {}", tried.text());
        }
        if row.moved > 0 {
            let _ = write!(
                line,
                "; whole on node {} {} times, {} us",
                row.moved_to,
                row.moved,
                row.moved_ns / 1000
            );
        }
        if row.stayed > 0 {
            let _ = write!(
                line,
                "; at the origin {} times, {} us: {}",
                row.stayed,
                row.home_ns / 1000,
                why(*code).unwrap_or_default()
            );
        }
        report::warn(format_args!("{line}"));
    }
    let regions: u64 = rows.values().map(|r| r.crossed + r.moved).sum();
    for node in 0..t.nodes {
        let counts = Counts::of(t, node);
        report::warn(format_args!(
            "dsm: node {node}: {regions} regions, {}",
            counts.text()
        ));
    }
    let mut variables = None;
    for (address, requests) in hottest(t) {
        report::warn(format_args!(
            "dsm: page {address:#x}: asked for {requests} times: {}",
            contents(address, &mut variables)
        ));
    }
}

/// Writes what [`say`] reports as the field `dsm` of the report, if this process is the origin of several nodes.
/// `place` writes the fields that identify a region. `ended`: the program has ended, so that there is time to find
/// the hottest pages.
pub(crate) fn json(out: &mut String, place: &mut dyn FnMut(usize, &mut String), ended: bool) {
    let Some(t) = table() else { return };
    // A thread that crashed may hold the lock.
    let Some(rows) = ROWS.try_lock().ok().map(|rows| rows.clone()) else {
        return;
    };
    let comma = |i: usize| if i == 0 { "" } else { "," };
    let nodes = |out: &mut String, all: &mut dyn Iterator<Item = Counts>| {
        for (i, counts) in all.enumerate() {
            // Writing to a String cannot fail, here and below.
            let _ = write!(out, "{}{{{}}}", comma(i), counts.json());
        }
    };
    out.push_str(",\n \"dsm\":{\"nodes\":[");
    nodes(out, &mut (0..t.nodes).map(|n| Counts::of(t, n)));
    out.push_str("],\n  \"regions\":[");
    for (i, (&code, row)) in rows.iter().enumerate() {
        let _ = write!(out, "{}\n   {{", comma(i));
        place(code, out);
        let _ = write!(
            out,
            ",\"crossed\":{},\"across_ns\":{},\"threads\":{:?},\"parts\":{:?},\"moved\":{},\"moved_ns\":{},\
             \"moved_to\":{},\"trial\":{},\"stayed\":{},\"home_ns\":{},\"reason\":\"{}\",\"nodes\":[",
            row.crossed,
            row.across_ns,
            row.threads,
            row.parts,
            row.moved,
            row.moved_ns,
            row.moved_to,
            row.tried.map_or("null".to_owned(), |t| t.json()),
            row.stayed,
            row.home_ns,
            why(code).unwrap_or_default().replace(['"', '\\'], "?")
        );
        nodes(out, &mut row.nodes.iter().copied());
        out.push_str("]}");
    }
    out.push_str("],\n  \"pages\":[");
    let mut variables = None;
    let pages = if ended { hottest(t) } else { Vec::new() };
    for (i, (address, requests)) in pages.into_iter().enumerate() {
        let contents = contents(address, &mut variables).replace(['"', '\\'], "?");
        let _ = write!(
            out,
            "{}\n   {{\"address\":{address},\"requests\":{requests},\"contents\":\"{contents}\"}}",
            comma(i)
        );
    }
    out.push_str("]}");
}
