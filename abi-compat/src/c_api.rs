//! Compiles C programs that use our own headers (most tests preload the library instead), and makes the libraries that
//! they link with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library;

/// A folder in the target directory that has `library` under both of its names and the libraries of its interfaces.
/// Tests that may run at the same time pass different values of `name`, so that each has a folder of its own.
///
/// # Errors
/// One line about the file that cannot be copied.
pub fn library_folder(library: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = library::target_dir().join(name).join("lib");
    fs::create_dir_all(&folder).map_err(|e| format!("folder {}: {e}", folder.display()))?;
    let mut bytes: Option<Vec<u8>> = None;
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
    if bytes.is_some() || !folder.join("libhetmp_mq.so").exists() {
        interfaces(&["interface_libraries", &text(library), &text(&folder)])?;
    }
    Ok(folder)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Runs a function of `scripts/lib/interfaces.sh`. Returns what it prints.
fn interfaces(call: &[&str]) -> Result<String, String> {
    let out = Command::new("sh")
        .current_dir(library::root())
        .args(["-euc", ". scripts/lib/interfaces.sh; \"$@\"", "sh"])
        .args(call)
        .output()
        .map_err(|e| format!("command sh: {e}"))?;
    match out.status.success() {
        true => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&out.stderr).into_owned()),
    }
}

/// The options that link a program with the interfaces (`mq`, `shmem`, `goal`) in the folder `lib`.
///
/// # Errors
/// The shell's messages.
pub fn link_flags(lib: &Path, names: &[&str]) -> Result<Vec<String>, String> {
    let folder = text(lib);
    let flags = interfaces(&[&["interface_flags", folder.as_str()], names].concat())?;
    let flags = flags.split_whitespace().map(str::to_owned);
    Ok([format!("-L{folder}")].into_iter().chain(flags).collect())
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
        .args(link_flags(lib, &["mq", "shmem", "goal"])?)
        .arg("-lm")
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
