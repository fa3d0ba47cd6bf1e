//! The C surface of OpenSHMEM, made from one table.
//!
//! [`families`] lists every family of routines with its shape, types and specification; [`types`] lists the types.
//! These files are generated from the table:
//! * `include/shmem.h` and `include/pshmem.h`: declarations, C11 selections and C++ overloads, in frames that are
//!   written by hand and hold the documentation;
//! * the entry tables in `runtime/abi/src/shmem/`;
//! * `docs/shmem-coverage.md`.
//!
//! [`prototypes`] writes parts of other headers, from the Rust side instead of a table.
//!
//! The lists of names in `abi-compat/symbols/openshmem-*.txt` were taken from the specifications' text, not from the
//! table. The tests compare the two: a mistake in reading the specification must then be made twice to stay unseen.

pub mod entries;
pub mod families;
pub mod header;
pub mod programs;
mod prototypes;
pub mod table;
pub mod types;

use std::collections::BTreeMap;

/// Every generated file: its path from the repository's root, and its text.
#[must_use]
pub fn generated() -> BTreeMap<String, String> {
    let table = families::table();
    let mut files: BTreeMap<String, String> = entries::files(&table)
        .into_iter()
        .map(|(name, text)| (format!("runtime/abi/src/shmem/{name}.rs"), text))
        .collect();
    files.insert("include/shmem.h".to_owned(), header::shmem_h(&table));
    files.insert("include/pshmem.h".to_owned(), header::pshmem_h(&table));
    files.insert(
        "docs/shmem-coverage.md".to_owned(),
        header::coverage_md(&table),
    );
    files.extend(prototypes::headers());
    files
}
