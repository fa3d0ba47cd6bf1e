//! Regions whose number of threads must stay as it is, and whose nodes have parts of different sizes all the same.
//!
//! Every node calls a copy of the region's function in which the parts of its static loops have other sizes
//! ([`crate::unlike::virtual_team::uneven`]). The copies lie in each node's own memory, so the origin asks all nodes to
//! make theirs before it first divides a region so ([`super::split`]). If one cannot, none does.

use super::opening::{Bounds, Opening};
use super::table::Table;
use crate::team::members::Outlined;
use crate::unlike::virtual_team::copy::Copy;
use hetmp_core::float;
use hetmp_core::whole::Mutex;
use hetmp_sched::crossing::blocks::WHOLE;
use std::collections::BTreeMap;

/// This node's copies, by a region's code and number of threads. `None`: there can be none.
static COPIES: Mutex<BTreeMap<(usize, u32), Option<&'static Copy>>> = Mutex::new(BTreeMap::new());

/// Makes this node's copy, and says whether there is one.
pub(super) fn make(key: (usize, u32)) -> bool {
    let new = || {
        hetmp_core::aside::run(|| Copy::new(key.0, key.1)).map(|copy| &*Box::leak(Box::new(copy)))
    };
    COPIES.lock().entry(key).or_insert_with(new).is_some()
}

/// This node's copy of the region's function, in which each of the threads of a node has an equal part of what `bounds`
/// give to the node.
///
/// # Safety
/// All nodes have made a copy, and no thread of this node is in the region.
pub(super) unsafe fn entry(t: &Table, opening: &Opening, bounds: &Bounds) -> Option<Outlined> {
    let copy = (*COPIES.lock().get(&(opening.code, opening.total))?)?;
    float::apart(|| {
        let mut shares = Vec::new();
        for node in 0..t.nodes {
            let (_, threads) = opening.on.threads(node);
            let part = bounds[node as usize + 1] - bounds[node as usize];
            let each = f64::from(part) / f64::from(WHOLE) / f64::from(threads.max(1));
            shares.extend((0..threads).map(|_| each));
        }
        // SAFETY: as many shares as the region has threads, and nobody is in the copy: this function's contract.
        unsafe { copy.write(&shares) };
    });
    Some(copy.entry())
}
