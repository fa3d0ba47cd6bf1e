//! The table: every family of routines, with its shape, its types and its specification.

mod access;
mod atomic;
mod group;
mod library;

use crate::table::{Family, Names};

/// A function that is a family of its own: no types, no form with a context.
const fn one(
    group: &'static str,
    result: &'static str,
    name: &'static str,
    parameters: &'static str,
) -> Family {
    Family::new(group, Names::One(name)).of(result, parameters)
}

/// The table, in the order of the header.
#[must_use]
pub fn table() -> Vec<Family> {
    let mut t = Vec::new();
    library::setup(&mut t);
    library::memory(&mut t);
    library::teams(&mut t);
    access::rma(&mut t);
    atomic::atomics(&mut t);
    access::signals(&mut t);
    group::collectives(&mut t);
    group::reductions(&mut t);
    access::waits(&mut t);
    library::order(&mut t);
    t
}
