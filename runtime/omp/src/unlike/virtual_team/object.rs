//! Loaded objects. The loader's list is locked meanwhile, so that forks wait.

use hetmp_core::whole;
use hetmp_scan::loaded::{Head, Loaded};

/// The object that holds `address`.
pub(super) fn at(address: u64) -> Option<Loaded> {
    let _whole = whole::stretch();
    Loaded::at(address)
}

/// What is known of it at once.
pub(super) fn head_at(address: u64) -> Option<Head> {
    let _whole = whole::stretch();
    Head::at(address)
}

/// First addresses of all objects, the program's first.
pub(super) fn starts() -> Vec<u64> {
    let _whole = whole::stretch();
    Loaded::starts()
}
