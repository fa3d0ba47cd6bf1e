//! What was decided, and why: a line each for `HETMP_VERBOSE`, and all of it, as JSON, in the file of
//! `HETMP_REPORT` when the program ends.

use super::regions;
use crate::icv::{Globals, SchedKind};
use crate::{init, nodes};
use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use hetmp_core::report::warn;
use hetmp_sched::decide::Decision;
use hetmp_sched::record::{Learning, LoopRecord};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// A plan that was learned is news only if a core speed ratio moved by more than this factor since
/// the last one that was told.
const NEWS: f64 = 1.1;
/// Decisions of one region that are kept and said. A loop that never agrees with itself must not
/// fill the disk.
const MOST_DECISIONS: usize = 64;

static WANTED: AtomicBool = AtomicBool::new(false);
/// The process that reports: not its children by `fork`.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Does anybody want to know?
pub(super) fn wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

pub(super) fn wanted_by(globals: &Globals) -> bool {
    globals.ours.verbose || globals.ours.report.is_some()
}

/// When the runtime starts.
pub(super) fn configure(globals: &Globals) {
    let kind = globals.icv.run_sched.kind;
    if !wanted_by(globals) || !(kind.is_ours() || nodes::active()) {
        return;
    }
    WANTED.store(true, Ordering::Relaxed);
    // SAFETY: getpid has no preconditions; the handler lives as long as the library, which is never
    // unloaded. Where there is no room for another handler, there is no report.
    unsafe {
        PROCESS.store(libc::getpid(), Ordering::Relaxed);
        libc::atexit(at_exit);
    }
    if !globals.ours.verbose {
        return;
    }
    if let Some(layout) = nodes::layout() {
        warn(format_args!(
            "{} node{}: {}",
            layout.nodes.len(),
            if layout.nodes.len() == 1 { "" } else { "s" },
            layout.nodes
        ));
    } else {
        warn(format_args!("1 node: all cores are alike"));
    }
    if matches!(kind, SchedKind::HetProbe | SchedKind::HetProbeI) {
        warn(format_args!(
            "{}: decided by elapsed times; hardware counters are not read",
            globals.schedule
        ));
    }
}

/// One of our own messages.
pub(super) fn say(line: &str) {
    if init::globals().ours.verbose {
        warn(format_args!("{line}"));
    }
}

/// One node's part in all executions of a region.
#[derive(Clone, Debug, Default)]
struct NodeSum {
    threads: u32,
    iterations: u64,
    busy_ns: u64,
    elapsed_ns: u64,
}

/// One decision, as it is told.
#[derive(Debug)]
struct Told {
    execution: u64,
    record: LoopRecord,
}

/// All executions of a region under one schedule.
#[derive(Debug)]
pub(super) struct Summary {
    region: String,
    executions: u64,
    iterations: u64,
    elapsed_ns: u64,
    nodes: Vec<NodeSum>,
    /// What was told, in order.
    told: Vec<Told>,
}

impl Summary {
    /// For the region at `address` in the program.
    pub(super) fn new(address: u64) -> Summary {
        Summary {
            region: name(address),
            executions: 0,
            iterations: 0,
            elapsed_ns: 0,
            nodes: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Adds an execution. Returns what is to be said about it.
    pub(super) fn add(&mut self, record: LoopRecord) -> Option<String> {
        self.executions += 1;
        self.iterations = self.iterations.saturating_add(record.iterations);
        self.elapsed_ns = self.elapsed_ns.saturating_add(record.elapsed_ns);
        self.nodes.resize(record.nodes.len(), NodeSum::default());
        for (sum, node) in self.nodes.iter_mut().zip(&*record.nodes) {
            sum.threads = node.threads;
            sum.iterations = sum.iterations.saturating_add(node.iterations);
            sum.busy_ns = sum.busy_ns.saturating_add(node.busy_ns);
            sum.elapsed_ns = sum.elapsed_ns.saturating_add(node.elapsed_ns);
        }
        if self.told.len() == MOST_DECISIONS || !self.is_news(&record) {
            return None;
        }
        let line = self.line(&record);
        self.told.push(Told {
            execution: self.executions,
            record,
        });
        Some(line)
    }

    /// Does this execution tell anything that was not told before?
    fn is_news(&self, record: &LoopRecord) -> bool {
        let Some(last) = self.told.last().map(|t| &t.record) else {
            return true;
        };
        match record.learning {
            Learning::None => false,
            Learning::Probed | Learning::Undecided => true,
            Learning::Settled => {
                last.learning != Learning::Settled
                    || !match (&last.decision, &record.decision) {
                        (Some(a), Some(b)) => alike(a, b),
                        _ => false,
                    }
            }
        }
    }

    /// One decision in one line.
    fn line(&self, r: &LoopRecord) -> String {
        let mut out = format!(
            "region {}, {} iterations, {}: {}",
            self.region,
            r.iterations,
            r.schedule,
            r.reason()
        );
        // Writing to a String cannot fail.
        if r.nodes.iter().any(|n| n.probe.is_some()) {
            out.push_str("; probe");
            for n in &*r.nodes {
                let _ = match n.probe {
                    Some(p) => write!(out, " {:.1}", p.ns_per_iteration),
                    None => write!(out, " -"),
                };
            }
            out.push_str(" ns per iteration");
        }
        let _ = write!(out, "; ran in {:.3} ms, by node", r.elapsed_ns as f64 / 1e6);
        for n in &*r.nodes {
            let _ = write!(out, " {:.1}%", n.share * 100.0);
            if let Some(csr) = n.csr {
                let _ = write!(out, " (CSR {csr:.2})");
            }
        }
        out
    }

    /// All executions in one line.
    fn total(&self) -> String {
        let mut out = format!(
            "region {}: {} execution{}, {:.3} ms",
            self.region,
            self.executions,
            if self.executions == 1 { "" } else { "s" },
            self.elapsed_ns as f64 / 1e6
        );
        let csr = self.csr();
        for (i, (n, csr)) in self.nodes.iter().zip(csr).enumerate() {
            let share = n.iterations as f64 / self.iterations.max(1) as f64;
            let _ = write!(
                out,
                "; node {i}: {} thread{}, {:.1}% of the iterations",
                n.threads,
                if n.threads == 1 { "" } else { "s" },
                share * 100.0
            );
            if let Some(csr) = csr {
                let _ = write!(out, ", CSR {csr:.2}");
            }
        }
        out
    }

    /// Core speed ratios over all executions.
    fn csr(&self) -> Vec<Option<f64>> {
        let time = |n: &NodeSum| {
            (n.iterations > 0 && n.busy_ns > 0).then(|| n.busy_ns as f64 / n.iterations as f64)
        };
        let slowest = self.nodes.iter().filter_map(time).fold(0.0, f64::max);
        let ratio = |n| time(n).map(|t| slowest / t);
        self.nodes.iter().map(ratio).collect()
    }

    fn json(&self, out: &mut String) {
        let schedule = self.told.last().map(|t| t.record.schedule.to_string());
        let _ = write!(
            out,
            "{{\"region\":{},\"schedule\":{},\"executions\":{},\"iterations\":{},\"elapsed_ns\":{},\"nodes\":[",
            quoted(&self.region),
            quoted(schedule.as_deref().unwrap_or("")),
            self.executions,
            self.iterations,
            self.elapsed_ns
        );
        for (i, (n, csr)) in self.nodes.iter().zip(self.csr()).enumerate() {
            let _ = write!(
                out,
                "{}{{\"threads\":{},\"iterations\":{},\"share\":{},\"busy_ns\":{},\"elapsed_ns\":{},\"csr\":{}}}",
                comma(i),
                n.threads,
                n.iterations,
                number(Some(n.iterations as f64 / self.iterations.max(1) as f64)),
                n.busy_ns,
                n.elapsed_ns,
                number(csr)
            );
        }
        out.push_str("],\"decisions\":[");
        for (i, told) in self.told.iter().enumerate() {
            let r = &told.record;
            let _ = write!(
                out,
                "{}\n   {{\"execution\":{},\"iterations\":{},\"elapsed_ns\":{},\"learning\":{},\"reason\":{},\"nodes\":[",
                comma(i),
                told.execution,
                r.iterations,
                r.elapsed_ns,
                quoted(learning(r.learning)),
                quoted(&r.reason())
            );
            for (k, n) in r.nodes.iter().enumerate() {
                let decision = r.decision.as_ref();
                let _ = write!(
                    out,
                    "{}{{\"decided_share\":{},\"decided_csr\":{},\"probe_ns_per_iteration\":{},\"share\":{},\"csr\":{},\"ns_per_iteration\":{}}}",
                    comma(k),
                    number(decision.and_then(|d| d.shares().nth(k))),
                    number(decision.and_then(|d| d.csr.get(k).copied().flatten())),
                    number(n.probe.map(|p| p.ns_per_iteration)),
                    number(Some(n.share)),
                    number(n.csr),
                    number(n.ns_per_iteration)
                );
            }
            out.push_str("]}");
        }
        out.push_str("]}");
    }
}

/// Do two decisions come to much the same?
fn alike(a: &Arc<Decision>, b: &Arc<Decision>) -> bool {
    Arc::ptr_eq(a, b)
        || (a.one_node() == b.one_node()
            && a.csr.iter().zip(&*b.csr).all(|(x, y)| match (x, y) {
                (Some(x), Some(y)) => x.max(*y) <= NEWS * x.min(*y),
                (x, y) => x.is_none() == y.is_none(),
            }))
}

fn learning(learning: Learning) -> &'static str {
    match learning {
        Learning::None => "none",
        Learning::Probed => "probed",
        Learning::Undecided => "undecided",
        Learning::Settled => "settled",
    }
}

fn comma(i: usize) -> &'static str {
    if i == 0 {
        ""
    } else {
        ","
    }
}

/// A JSON number, or null.
fn number(value: Option<f64>) -> String {
    match value {
        Some(v) if v.is_finite() => format!("{v:.6}"),
        _ => "null".to_owned(),
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A place in the program as `file+0xoffset`, which is the same in every run and is what debuggers
/// take.
fn name(address: u64) -> String {
    // SAFETY: dladdr only looks the address up; the record is plain data that it fills in.
    let found = unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        let rc = libc::dladdr(address as usize as *const libc::c_void, &mut info);
        (rc != 0 && !info.dli_fname.is_null()).then(|| {
            let file = CStr::from_ptr(info.dli_fname)
                .to_string_lossy()
                .into_owned();
            (file, info.dli_fbase as usize as u64)
        })
    };
    match found {
        Some((file, base)) => {
            let file = file.rsplit('/').next().unwrap_or(&file);
            format!("{file}+{:#x}", address.wrapping_sub(base))
        }
        None => format!("{address:#x}"),
    }
}

extern "C" fn at_exit() {
    // SAFETY: getpid has no preconditions.
    if unsafe { libc::getpid() } != PROCESS.load(Ordering::Relaxed) {
        return;
    }
    let Some(all) = regions::at_exit() else {
        return;
    };
    let ours = &init::globals().ours;
    if ours.verbose {
        for summary in all.summaries.values() {
            warn(format_args!("{}", summary.total()));
        }
    }
    let Some(file) = &ours.report else { return };
    let mut out = String::from("{\"version\":1,\n \"nodes\":[");
    if let Some(layout) = nodes::layout() {
        for (i, n) in layout.nodes.iter().enumerate() {
            let _ = write!(
                out,
                "{}{{\"cpus\":{},\"speed\":{},\"name\":{}}}",
                comma(i),
                quoted(&n.cpus.to_string()),
                number(Some(n.speed)),
                n.name.as_deref().map_or("null".to_owned(), quoted)
            );
        }
    }
    out.push_str("],\n \"regions\":[");
    for (i, summary) in all.summaries.values().enumerate() {
        out.push_str(comma(i));
        out.push_str("\n  ");
        summary.json(&mut out);
    }
    out.push_str("]}\n");
    drop(all);
    let path = OsStr::from_bytes(file);
    if let Err(error) = std::fs::write(path, out) {
        warn(format_args!(
            "HETMP_REPORT {}: {error}: a file that can be written is accepted",
            path.to_string_lossy()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hetmp_sched::record::Tally;
    use hetmp_sched::schedule::Kind;
    use hetmp_sched::team::Team;

    fn record(ns: [u64; 2]) -> LoopRecord {
        let team = Team::placed(&[0, 1], 2);
        let tally = Tally::new(2);
        for (tid, iterations) in [(0, 75), (1, 25)] {
            tally.arrive(tid);
            tally.add(tid, iterations);
            tally.leave(tid, ns[tid]);
        }
        LoopRecord::new(Kind::CrossDynamic, 100, &team, &tally)
    }

    #[test]
    fn a_schedule_that_does_not_learn_is_told_once() {
        let mut s = Summary::new(0);
        let line = s.add(record([750, 750])).expect("the first");
        assert!(line.contains("100 iterations, cross-dynamic"), "{line}");
        assert!(line.contains("75.0% (CSR 3.00) 25.0% (CSR 1.00)"), "{line}");
        assert_eq!(s.add(record([750, 750])), None);
        let total = s.total();
        assert!(total.contains("2 executions, 0.002 ms"), "{total}");
        assert!(total.contains("node 1: 1 thread, 25.0%"), "{total}");
    }

    #[test]
    fn strings_and_numbers_are_json() {
        assert_eq!(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
        assert_eq!(number(Some(f64::NAN)), "null");
        assert_eq!(number(Some(0.5)), "0.500000");
        let mut s = Summary::new(0);
        s.add(record([1, 1]));
        let mut out = String::new();
        s.json(&mut out);
        assert_eq!(out.matches('{').count(), out.matches('}').count());
        assert_eq!(out.matches('[').count(), out.matches(']').count());
    }
}
