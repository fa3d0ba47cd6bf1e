//! The bodies of tasks, as a part of the code of the region that makes the tasks.
//!
//! A region hands a task's body to the runtime by its address, so the scan of the region does not follow the body. Here all
//! functions are read which the region's code calls or whose addresses this code takes: the bodies, the functions that copy
//! and destroy a task's data, and what those make in turn. Only what they call counts here, not what they compute. So
//! functions are understood, too, that call each other by way of tasks.

use super::admit::Noting;
use hetmp_scan::{Entry, Scan, Why};
#[cfg(target_arch = "x86_64")]
use std::collections::BTreeSet;

/// How many instructions are decoded, in all functions of a region together.
#[cfg(target_arch = "x86_64")]
const DECODED: usize = 200_000;

/// Adds to what was `found` in the region at `code`, which makes tasks, what the tasks do. `noting` notes the functions
/// that all this code calls. If some code could not be read, `found.limit` says so.
#[cfg(target_arch = "x86_64")]
pub(super) fn add(noting: &Noting<'_>, code: u64, found: &mut Scan) {
    let mut budget = DECODED;
    let mut read = BTreeSet::new();
    let mut open = vec![code];
    let (mut takes, mut unknown) = (false, None);
    while let Some(function) = open.pop() {
        if !read.insert(function) {
            continue;
        }
        match hetmp_scan::reach(noting, function, &mut budget) {
            Ok(reach) => {
                open.extend(reach.inside);
                takes |= reach.takes;
                unknown = unknown.or(reach.unknown);
                found.calls.thread_local |= reach.thread_local;
            }
            Err(why) => return limit(found, why),
        }
    }
    let names = noting.names.borrow();
    let calls = |begin: &str| names.iter().any(|name| name.starts_with(begin));
    found.calls.unknown = unknown.is_some();
    found.calls.unknown_address = unknown.unwrap_or(0);
    found.calls.thread_local |= calls("__tls_get_addr");
    for entry in names.iter().filter_map(|name| Entry::of_name(name)) {
        found.calls.insert(entry);
    }
    if !takes && (calls("GOMP_task") || calls("__kmpc_omp_task_alloc")) {
        limit(found, (Why::UnknownCode, code));
    }
}

/// Without a scan no region crosses.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn add(_: &Noting<'_>, code: u64, found: &mut Scan) {
    limit(found, (Why::NotX86, code));
}

fn limit(found: &mut Scan, (why, address): (Why, u64)) {
    found.limit = Some(why);
    found.limit_address = address;
}
