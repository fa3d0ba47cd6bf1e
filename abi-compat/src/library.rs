//! Finds the repository and the built library.

use std::path::{Path, PathBuf};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate lies one folder below the root")
        .to_owned()
}

/// Where cargo puts what it builds.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The library under test: `HETMP_LIB`, else the newer of the release and debug
/// builds.
///
/// # Errors
/// One line that says what to do when there is none.
pub fn libhetmp() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("HETMP_LIB") {
        return std::fs::canonicalize(&path).map_err(|e| {
            format!(
                "HETMP_LIB {}: {e}: the path of a libhetmp.so is accepted",
                Path::new(&path).display()
            )
        });
    }
    ["release", "debug"]
        .iter()
        .map(|profile| target_dir().join(profile).join("libhetmp.so"))
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .max()
        .map(|(_, path)| path)
        .ok_or_else(|| {
            format!(
                "library {}: not built: run `cargo build --release`, or name one in HETMP_LIB",
                target_dir().join("release/libhetmp.so").display()
            )
        })
}
