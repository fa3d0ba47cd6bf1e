//! Compiles C programs that are linked with `libhetmp.so` (most tests preload the library instead).
//!
//! The library has libgomp's soname, so that it can replace libgomp. A program linked with `-lhetmp` therefore
//! asks the loader for `libgomp.so.1`. The file of this name must lie in the program's rpath, beside
//! `libhetmp.so`, as `scripts/install` puts it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library;

/// A folder in the target directory that has `library` under both of its names, for `-L` and rpath. Tests that may
/// run at the same time pass different values of `name`, so that each has a folder of its own.
///
/// # Errors
/// One line about the file that cannot be copied.
pub fn library_folder(library: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = library::target_dir().join(name).join("lib");
    fs::create_dir_all(&folder).map_err(|e| format!("folder {}: {e}", folder.display()))?;
    let mut bytes = None;
    for file in ["libhetmp.so", "libgomp.so.1"] {
        let to = folder.join(file);
        let current = |path: &Path| path.metadata().and_then(|m| m.modified()).ok();
        if current(&to) >= current(library) && to.exists() {
            continue;
        }
        let bytes = match &mut bytes {
            Some(bytes) => bytes,
            none => none.insert(
                fs::read(library).map_err(|e| format!("library {}: {e}", library.display()))?,
            ),
        };
        // A program may still run with the old file: remove the name, and leave the content alone.
        let _ = fs::remove_file(&to);
        fs::write(&to, bytes).map_err(|e| format!("file {}: {e}", to.display()))?;
    }
    Ok(folder)
}

/// Compiles `source` (relative to the repository's root) to `program` with gcc and `flags`, linked
/// with the library in `lib`.
///
/// # Errors
/// The compiler's messages.
pub fn compile(source: &str, program: &Path, lib: &Path, flags: &[&str]) -> Result<(), String> {
    let out = Command::new("gcc")
        .current_dir(library::root())
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Iinclude", "-pthread"])
        .args(flags)
        .arg(source)
        .arg("-L")
        .arg(lib)
        .args(["-lhetmp", "-lm"])
        .arg(format!("-Wl,-rpath,{}", lib.display()))
        .arg("-o")
        .arg(program)
        .output()
        .map_err(|e| format!("command gcc: {e}"))?;
    if out.status.success() {
        Ok(())
    } else {
        Err(format!(
            "program {source}: not compiled:\n{}",
            String::from_utf8_lossy(&out.stderr)
        ))
    }
}
