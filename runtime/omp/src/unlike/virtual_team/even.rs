//! Regions whose code is not read yet, because their threads take equally long.
//!
//! Such regions keep ordinary teams: see [`hetmp_sched::even`]. To see which regions are worth
//! reading, some executions are timed, each thread alone ([`super::uneven::timed`]). So even in regions with
//! barriers the times show how long each thread works.

use hetmp_core::whole::Mutex;
use hetmp_sched::even::{Even, Seen};
use std::collections::BTreeMap;

/// What is known, by address of the outlined function and number of threads.
static KNOWN: Mutex<BTreeMap<(usize, u32), Even>> = Mutex::new(BTreeMap::new());

/// Have the region's threads waited so long for each other that it is to be looked at?
pub(super) fn is_to_be_looked_at(code: usize, threads: u32) -> bool {
    let known = KNOWN.lock();
    let region = known.get(&(code, threads));
    region.is_some_and(Even::is_to_be_looked_at)
}

/// Learns from an execution. Returns how many executions may pass unobserved, 0 unless any `may_pass`.
pub(super) fn learn((code, threads): (usize, u32), seen: &Seen, may_pass: bool) -> u32 {
    let mut known = KNOWN.lock();
    let region = known.entry((code, threads)).or_default();
    region.see(seen, may_pass)
}
