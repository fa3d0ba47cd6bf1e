//! Loaded objects. The loader's list is locked meanwhile, so that forks wait. Whoever reads code asks for its object
//! first, so that what the decoder makes at its first use is made here, too.

use hetmp_core::whole;
use hetmp_scan::loaded::{Head, Loaded};

/// The object that holds `address`.
pub(in crate::unlike) fn at(address: u64) -> Option<Loaded> {
    let _whole = whole::stretch();
    hetmp_scan::first_use();
    Loaded::at(address)
}

/// What is known of it at once.
pub(in crate::unlike) fn head_at(address: u64) -> Option<Head> {
    let _whole = whole::stretch();
    Head::at(address)
}

/// First addresses of all objects, the program's first.
pub(in crate::unlike) fn starts() -> Vec<u64> {
    let _whole = whole::stretch();
    Loaded::starts()
}
