//! Finds the repository and the built library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the crate lies one folder below the root")
        .to_owned()
}

/// Cargo's target directory.
pub fn target_dir() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The library under test: `HETMP_LIB`, or else the newer of the release and debug
/// builds.
///
/// # Errors
/// One line that says what to do when there is none.
pub fn libhetmp() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("HETMP_LIB") {
        return std::fs::canonicalize(&path).map_err(|e| {
            format!(
                "HETMP_LIB {}: {e} (expected the path of a libhetmp.so)",
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

/// The library under test for `cargo test`: `HETMP_LIB`, or else the release build.
/// The release build is brought up to date first: a test must not pass because it ran
/// an old library.
///
/// # Panics
/// With one line when it cannot be built.
pub fn fresh() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        if std::env::var_os("HETMP_LIB").is_some() {
            return libhetmp().unwrap_or_else(|why| panic!("hetmp: {why}"));
        }
        let out = Command::new(env!("CARGO"))
            .args(["build", "--release", "--quiet", "--package", "hetmp"])
            .current_dir(root())
            .env("CARGO_TARGET_DIR", target_dir())
            .output()
            .expect("cargo starts");
        assert!(
            out.status.success(),
            "hetmp: library libhetmp.so: does not build:\n{}",
            String::from_utf8_lossy(&out.stderr)
        );
        target_dir().join("release/libhetmp.so")
    })
}

/// The folder of an installation of the library under test: `HETMP_TEST_PREFIX`, or else `prefix`, into which
/// `scripts/install` installs it now.
///
/// # Panics
/// With one line when it cannot be installed.
pub fn installed(prefix: &Path) -> PathBuf {
    if let Some(there) = std::env::var_os("HETMP_TEST_PREFIX") {
        return PathBuf::from(there);
    }
    let _ = std::fs::remove_dir_all(prefix);
    let out = Command::new(root().join("scripts/install"))
        .arg("--prefix")
        .arg(prefix)
        .current_dir(root())
        .env("HETMP_LIB", fresh())
        .env("CARGO_TARGET_DIR", target_dir())
        .output()
        .expect("scripts/install starts");
    assert!(
        out.status.success(),
        "hetmp: scripts/install: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    prefix.to_owned()
}

/// The system's libgomp as gcc finds it, if there is one.
pub fn system_libgomp() -> Option<PathBuf> {
    let out = Command::new("gcc")
        .arg("-print-file-name=libgomp.so.1")
        .output()
        .ok()?;
    let name = String::from_utf8(out.stdout).ok()?;
    let path = Path::new(name.trim());
    // If gcc does not find the file, it prints the bare name.
    path.is_absolute().then(|| path.to_owned())
}
