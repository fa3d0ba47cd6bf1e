//! Regions whose threads tell each other nothing but through the runtime, so that nodes may lend each other pages.

use hetmp_core::{aside, observers};
use hetmp_scan::loaded::Loaded;
use hetmp_scan::Form;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// By the address of a region's code.
static KNOWN: Mutex<BTreeMap<usize, bool>> = Mutex::new(BTreeMap::new());

/// Do threads that run this code, which is called in this form, tell each other nothing but through the runtime?
pub(super) fn tells_nothing(code: usize, form: Form) -> bool {
    // A tool's callbacks may use atomic operations.
    if form != Form::Data || observers::has(observers::TOOL) {
        return false;
    }
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *all.entry(code).or_insert_with(|| {
        let read = |object: Loaded| hetmp_scan::is_mute(&object, code as u64).is_ok();
        aside::run(|| Loaded::at(code as u64).is_some_and(read))
    })
}
