//! May a region have more threads than it would have? Then nodes of unlike speed can have numbers of threads in
//! proportion, with any number of cores.
//!
//! The region's code must show that the number of threads goes into the bounds of loops only, as for a virtual team
//! (see docs/static-loops.md); and if the program asked for its number of threads, that no result depends on it.

use crate::icv::{ProcBind, UNLIMITED_THREADS};
use crate::init;
use crate::team::region::Region;
use crate::thread::Thread;
use crate::unlike::virtual_team::fit;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// May `region`, which the thread opens, have any number of threads?
pub(super) fn any_size(th: &Thread, region: &Region) -> bool {
    let icv = th.task().icv();
    let bound = icv.bind != ProcBind::False || region.bind.is_some();
    if bound || icv.thread_limit != UNLIMITED_THREADS || init::globals().cancellation {
        return false;
    }
    let asked = region.asked != 0 || icv.nthreads_set;
    static KNOWN: Mutex<BTreeMap<(usize, bool), bool>> = Mutex::new(BTreeMap::new());
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *all.entry((region.code, asked))
        .or_insert_with(|| fit::any_size(region.code, region.form, asked))
}
