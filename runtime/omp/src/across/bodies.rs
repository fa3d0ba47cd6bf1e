//! The bodies of tasks, as a part of the code of the region that makes the tasks.
//!
//! A region hands a task's body to the runtime by its address, so the scan of the region does not follow the body. Here
//! all functions are read which the region's code calls or whose addresses this code takes: the bodies, the functions
//! that copy and destroy a task's data, and what those make in turn. Only what they call counts here, not what they
//! compute. So functions are understood, too, that call each other by way of tasks.

use super::admit::Noting;
use hetmp_scan::{Entry, Scan, Why};
use std::collections::BTreeSet;

/// How many instructions are decoded, in all functions of a region together.
const DECODED: usize = 200_000;

/// Where a function and all that it reaches within its object lead.
#[derive(Debug, Default)]
pub(super) struct Closure {
    /// Some of the functions take the address of code.
    takes: bool,
    /// The address of a call whose target is not known.
    pub(super) unknown: Option<u64>,
    pub(super) thread_local: bool,
}

/// Reads the function at `code`, and all functions of its object that it calls or knows by their addresses. `noting`
/// notes the functions that all this code calls.
///
/// # Errors
/// Why some code could not be read, and where.
pub(super) fn closure(noting: &Noting<'_>, code: u64) -> Result<Closure, (Why, u64)> {
    let mut budget = DECODED;
    let mut read = BTreeSet::new();
    let mut open = vec![code];
    let mut all = Closure::default();
    while let Some(function) = open.pop() {
        if !read.insert(function) {
            continue;
        }
        let reach = hetmp_scan::reach(noting, function, &mut budget)?;
        open.extend(reach.inside);
        all.takes |= reach.takes;
        all.unknown = all.unknown.or(reach.unknown);
        all.thread_local |= reach.thread_local;
    }
    all.thread_local |= calls(noting, "__tls_get_addr");
    Ok(all)
}

/// Is there a callee whose name begins so?
fn calls(noting: &Noting<'_>, begin: &str) -> bool {
    let names = noting.names.borrow();
    names.iter().any(|name| name.starts_with(begin))
}

/// Adds to what was `found` in the region at `code`, which makes tasks, what the tasks do. `noting` notes the functions
/// that all this code calls. If some code could not be read, `found.limit` says so.
pub(super) fn add(noting: &Noting<'_>, code: u64, found: &mut Scan) {
    let all = match closure(noting, code) {
        Ok(all) => all,
        Err(why) => return limit(found, why),
    };
    found.calls.unknown = all.unknown.is_some();
    found.calls.unknown_address = all.unknown.unwrap_or(0);
    found.calls.thread_local |= all.thread_local;
    for entry in noting
        .names
        .borrow()
        .iter()
        .filter_map(|name| Entry::of_name(name))
    {
        found.calls.insert(entry);
    }
    if !all.takes && (calls(noting, "GOMP_task") || calls(noting, "__kmpc_omp_task_alloc")) {
        limit(found, (Why::UnknownCode, code));
    }
}

pub(super) fn limit(found: &mut Scan, (why, address): (Why, u64)) {
    found.limit = Some(why);
    found.limit_address = address;
}
