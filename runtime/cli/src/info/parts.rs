//! What is installed with this command: the library, and the parts that serve other interfaces.

use crate::library::beside_this_command;
use serde_json::{json, Value};
use std::path::PathBuf;

/// The version of OpenMP, and the releases whose entries compiled programs find.
pub(super) const OPENMP: &str = "5.2: programs of gcc (to 17) and clang (to 19)";

/// A file, and what needs it.
const PARTS: &[(&str, &str)] = &[
    ("libhetmp_dsm.so", "--nodes dsm:N"),
    ("libhetmp_mpi.so", "MPI programs"),
    ("hetmp-goal-kernel", "HETMP_GOAL_ENGINE=kernel"),
    ("hetrun", "jobs"),
];

/// Commands lie next to this one, libraries where the library is.
fn find(name: &str) -> Option<PathBuf> {
    if name.contains(".so") {
        return beside_this_command(name);
    }
    let path = std::env::current_exe().ok()?.with_file_name(name);
    path.is_file().then_some(path)
}

/// The library's path, or that it is not there.
pub(super) fn library() -> String {
    find("libhetmp.so").map_or_else(
        || "not next to this command: hetmp run needs --library".to_owned(),
        |path| path.display().to_string(),
    )
}

/// As `libhetmp_dsm.so (--nodes dsm:N), no hetrun (jobs)`.
pub(super) fn text() -> String {
    let parts = PARTS.iter().map(|&(name, what)| match find(name) {
        Some(_) => format!("{name} ({what})"),
        None => format!("no {name} ({what})"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

pub(super) fn json() -> Value {
    PARTS
        .iter()
        .map(|&(name, _)| (name.to_owned(), json!(find(name))))
        .chain([("libhetmp.so".to_owned(), json!(find("libhetmp.so")))])
        .collect::<serde_json::Map<_, _>>()
        .into()
}
