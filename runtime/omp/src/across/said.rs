//! What the user is told at the program's end: how often each region and each node had to fetch pages.

use super::table::{ask, Table, COUNTS};
use hetmp_core::report;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Read faults that asked another node, write faults that asked another node, and pages that this node sent.
type Counts = [u64; 3];

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    runs: u64,
    ns: u64,
    /// Counts of all nodes together while the region ran.
    counts: Counts,
}

/// One row per region, by the address of the region's code.
static ROWS: Mutex<BTreeMap<usize, Row>> = Mutex::new(BTreeMap::new());
/// Counts of all nodes but the origin, as they were at the last join.
static OTHERS: Mutex<Counts> = Mutex::new([0; 3]);

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn own(t: &Table) -> Counts {
    let mut counts = [0; 3];
    (t.counts)(counts.as_mut_ptr());
    counts
}

/// The time in nanoseconds and this node's counts when a region begins.
pub(super) fn begin(t: &Table) -> (u64, Counts) {
    (hetmp_core::sys::monotonic_ns(), own(t))
}

/// Adds an execution of a region. `began`, `before`: what `begin` returned. `others`: the counts of all other
/// nodes since their start.
pub(super) fn end(t: &Table, code: usize, (began, before): (u64, Counts), others: Counts) {
    let now = own(t);
    let mut last = locked(&OTHERS);
    let mut rows = locked(&ROWS);
    let row = rows.entry(code).or_default();
    row.runs += 1;
    row.ns += hetmp_core::sys::monotonic_ns() - began;
    for (i, count) in row.counts.iter_mut().enumerate() {
        *count += (now[i] - before[i]) + others[i].saturating_sub(last[i]);
    }
    *last = others;
}

/// Reports each region and each node, under `HETMP_VERBOSE`.
pub(super) fn say(t: &Table) {
    let ours = &crate::init::globals().ours;
    if !ours.verbose {
        return;
    }
    let rows = locked(&ROWS);
    for (code, row) in rows.iter() {
        let [reads, writes, sent] = row.counts;
        let us = row.ns / 1000;
        report::warn(format_args!(
            "dsm: region {code:#x}: {} times, {us} us, {reads} read faults, {writes} write faults, {} KiB moved",
            row.runs,
            sent * 4
        ));
    }
    let regions: u64 = rows.values().map(|r| r.runs).sum();
    for node in 0..t.nodes {
        let [reads, writes, sent] = if node == 0 {
            own(t)
        } else {
            ask(t, COUNTS, [u64::from(node), 0, 0])
        };
        report::warn(format_args!(
            "dsm: node {node}: {regions} regions, {reads} read faults, {writes} write faults, {sent} pages sent"
        ));
    }
}
