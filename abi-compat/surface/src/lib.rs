//! The C surface of OpenSHMEM, made from one table.
//!
//! [`families`] lists every family of routines with its shape, types and specification; [`types`] the types. From it
//! come `include/shmem.h` and `include/pshmem.h` (a frame written by hand, with the documentation, around
//! declarations, C11 selections and C++ overloads), the entry tables in `runtime/abi/src/shmem/`, and
//! `docs/shmem-coverage.md`. The lists of names in `abi-compat/symbols/openshmem-*.txt` were taken from the
//! specifications' text on their own, so that the tests hold two readings against each other.

pub mod entries;
pub mod families;
pub mod header;
pub mod programs;
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
    files
}
