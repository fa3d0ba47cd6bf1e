//! May a region have more threads than it would have? Then nodes of unlike speed can have numbers of threads in
//! proportion, whatever the number of their cores.
//!
//! The region's code must show that the number of threads goes into the bounds of loops only, as for a virtual team
//! (see docs/static-loops.md); and if the program asked for its number of threads, that no result depends on it.

use crate::icv::{ProcBind, UNLIMITED_THREADS};
use crate::init;
use crate::team::region::{Form, Region};
use crate::thread::Thread;
use hetmp_scan::loaded::Loaded;
use hetmp_scan::{divides_freely, scan};
use hetmp_sched::ways::Way;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What was read of a region's code.
#[derive(Clone, Copy, Debug)]
struct Read {
    any_size: bool,
    /// Not examined yet: `None`.
    freely: Option<bool>,
}

/// May `region`, which the thread opens, have any number of threads?
pub(super) fn any_size(th: &Thread, region: &Region) -> bool {
    let icv = th.task().icv();
    let bound = icv.bind != ProcBind::False || region.bind.is_some();
    if bound || icv.thread_limit != UNLIMITED_THREADS || init::globals().cancellation {
        return false;
    }
    let asked = region.asked != 0 || icv.nthreads_set;
    let (code, form) = (region.code, region.form);
    static READ: Mutex<BTreeMap<usize, Read>> = Mutex::new(BTreeMap::new());
    let mut all = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let read = all
        .entry(code)
        .or_insert_with(|| hetmp_core::aside::run(|| read(code, form)));
    let freely = || {
        let object = Loaded::at(code as u64);
        object.is_some_and(|object| divides_freely(&object, code as u64, form).is_ok())
    };
    read.any_size
        && (!asked || *(read.freely).get_or_insert_with(|| hetmp_core::aside::run(freely)))
}

fn read(code: usize, form: Form) -> Read {
    let any_size = Loaded::at(code as u64).is_some_and(|object| {
        let has_tls = object.object().has_tls;
        let scan = scan(&object, code as u64, form);
        // Only virtual teams answer calls that print the number of threads otherwise than others.
        scan.way(has_tls) == Way::Virtual && !scan.told.any()
    });
    Read {
        any_size,
        freely: None,
    }
}
