//! Compiling C programs that link with `libhetmp.so` itself, rather than running under it.
//!
//! The library's soname is libgomp's, so that it can stand in for it; a program linked with `-lhetmp` therefore
//! asks for `libgomp.so.1`, which must lie in its rpath beside `libhetmp.so`, as `scripts/install` has it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library;

/// A folder in the target directory with `library` under both of its names, for `-L` and rpath. `name` tells
/// the folders of different users apart, which may run at the same time.
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
        // A program may be running on the old one: it keeps its file.
        let _ = fs::remove_file(&to);
        fs::write(&to, bytes).map_err(|e| format!("file {}: {e}", to.display()))?;
    }
    Ok(folder)
}

/// Compiles `source` (relative to the repository's root) to `program` with gcc and `flags`, linked
/// with the library in `lib`.
///
/// # Errors
/// What the compiler says.
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
