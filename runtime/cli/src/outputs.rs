//! Files that options name for output.
//!
//! A program may run for hours. So a command [checks](check) these names before it works, and refuses what it could not
//! write at the end.

use hetmp_core::file::Form;
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// What happens with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// [`write()`] writes it.
    Command,
    /// The library in the program writes it; `%p` in its name stands for the process's number.
    Program,
    /// It is read: no output may overwrite it.
    Reading,
}

/// An option, and the file that it names.
pub(crate) type Named<'a> = (&'a str, &'a Path, By);

/// Refuses the first file that cannot be written, or that two options name.
pub(crate) fn check(files: &[Named<'_>]) -> std::result::Result<(), String> {
    let mut seen: Vec<(PathBuf, &str)> = Vec::new();
    for &(option, path, by) in files {
        let place = match by {
            By::Command => probe(path),
            By::Program => probe(&numbered(path, std::process::id())),
            // Who reads it says what is wrong with it.
            By::Reading => Ok(path.canonicalize().ok()),
        };
        let Some(place) = place.map_err(|error| unwritable(option, path, &error))? else {
            continue;
        };
        if by != By::Reading && !form(option).may_replace(&place) {
            return Err(format!(
                "{option}: '{}': is there, and no file that this option writes (expected a new name)",
                path.display()
            ));
        }
        if let Some((_, other)) = seen.iter().find(|(known, _)| *known == place) {
            return Err(format!(
                "{option}: '{}': {other} names this file too (expected a file of its own)",
                path.display()
            ));
        }
        seen.push((place, option));
    }
    Ok(())
}

/// Writes the file of an option.
pub(crate) fn write(
    option: &str,
    path: &Path,
    text: impl AsRef<[u8]>,
) -> std::result::Result<(), String> {
    hetmp_core::file::put(path, text.as_ref()).map_err(|error| unwritable(option, path, &error))
}

/// `path` in the process with that number.
pub(crate) fn numbered(path: &Path, pid: u32) -> PathBuf {
    let parts: Vec<OsString> = split(path).map(OsString::from_vec).collect();
    parts.join(pid.to_string().as_ref()).into()
}

/// The parts of a path between its `%p`.
pub(crate) fn split(path: &Path) -> impl Iterator<Item = Vec<u8>> + '_ {
    let mut rest = Some(path.as_os_str().as_bytes());
    std::iter::from_fn(move || {
        let part = rest?;
        let at = part.windows(2).position(|w| w == b"%p");
        rest = at.map(|at| &part[at + 2..]);
        Some(part[..at.unwrap_or(part.len())].to_vec())
    })
}

fn unwritable(option: &str, path: &Path, error: &Error) -> String {
    format!(
        "{option}: '{}': {error} (expected the name of a file that can be written)",
        path.display()
    )
}

/// Could a new file take the place of this one (`hetmp_core::file`)? The file stays as it is. Returns its full path,
/// unless it is a pipe or a device, which may take several outputs.
fn probe(path: &Path) -> Result<Option<PathBuf>> {
    let folder = || Err(Error::other("is a folder"));
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => folder(),
        Ok(meta) if meta.file_type().is_fifo() || meta.file_type().is_socket() => {
            // Opened and closed again, a pipe would be at its end for whoever reads it.
            let name = CString::new(path.as_os_str().as_bytes())?;
            // SAFETY: a string of our own that ends with 0, which access only reads.
            match unsafe { libc::access(name.as_ptr(), libc::W_OK) } {
                0 => Ok(None),
                _ => Err(Error::last_os_error()),
            }
        }
        Ok(meta) if !meta.is_file() => {
            // An empty write does nothing, but fails on a device that is full.
            let written = File::options()
                .write(true)
                .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
                .open(path)?
                .write(&[])?;
            debug_assert_eq!(written, 0);
            Ok(None)
        }
        Ok(_) => {
            let path = path.canonicalize()?;
            let mut beside = path.clone().into_os_string();
            beside.push(format!(".{}.tmp", std::process::id()));
            try_new(Path::new(&beside))?;
            Ok(Some(path))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(Error::other("is a link to nothing"));
            }
            if path.as_os_str().as_bytes().ends_with(b"/") {
                return folder();
            }
            let (Some(name), Some(parent)) = (path.file_name(), path.parent()) else {
                return Err(error);
            };
            let path = Path::new(".").join(parent).canonicalize()?.join(name);
            try_new(&path)?;
            Ok(Some(path))
        }
        Err(error) => Err(error),
    }
}

/// What the option's output begins with.
fn form(option: &str) -> Form {
    match option.trim_start_matches("option ") {
        "--html" | "--svg" => Form::Markup,
        "--report" | "--trace" | "--profile" => Form::Json,
        _ => Form::Text,
    }
}

/// Makes a file, writes a byte, for which a full disk has no room, and removes it.
fn try_new(path: &Path) -> Result<()> {
    let mut file = hetmp_core::file::create(path, 0o600)?;
    let written = file.write_all(b"\n");
    fs::remove_file(path)?;
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &Path, by: By) -> String {
        check(&[("--html", path, by)]).err().unwrap_or_default()
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let dir = std::env::temp_dir().join(format!("hetmp-outputs-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a folder");
        let old = dir.join("old");
        fs::write(&old, "<old").expect("written");
        fs::write(dir.join("source"), "#include <omp.h>").expect("written");
        std::os::unix::fs::symlink(dir.join("nothing"), dir.join("link")).expect("a link");
        for by in [By::Command, By::Program] {
            for (path, why) in [
                ("no/such", "No such file"),
                ("new/", "is a folder"),
                (".", "is a folder"),
                ("link", "is a link to nothing"),
                ("old/x", "Not a directory"),
                ("/dev/full", "No space left"),
                ("source", "no file that this option writes"),
            ] {
                let line = said(&dir.join(path), by);
                assert!(
                    line.starts_with("--html: '") && line.contains(why),
                    "{path}: {line}"
                );
            }
            for path in ["new", "old", "/dev/null"] {
                assert_eq!(said(&dir.join(path), by), "");
            }
        }
        assert_eq!(said(&dir.join("new-%p"), By::Program), "");
        let overwritten = |option| {
            let source = dir.join("source");
            check(&[(option, &*source, By::Program)]).is_err()
        };
        assert!(["--html", "--report", "--out"]
            .iter()
            .all(|o| overwritten(o)));
        let twice = |a: &Path, b: &Path| {
            check(&[("--trace", a, By::Program), ("--html", b, By::Command)]).is_err()
        };
        assert!(twice(&dir.join("new"), &dir.join("./new")));
        assert!(!twice(&dir.join("new"), &dir.join("newer")));
        assert!(!twice(Path::new("/dev/null"), Path::new("/dev/null")));
        let over = [
            ("the report", &*old, By::Reading),
            ("--html", &old, By::Command),
        ];
        assert!(check(&over).is_err());
        assert_eq!(fs::read_to_string(&old).expect("read"), "<old");
        assert_eq!(
            fs::read_dir(&dir).expect("a folder").count(),
            3,
            "no remains"
        );
        fs::remove_dir_all(&dir).expect("removed");
    }

    #[test]
    fn the_process_number() {
        assert_eq!(numbered(Path::new("a%p-%p%"), 7), Path::new("a7-7%"));
        assert_eq!(numbered(Path::new("%"), 7), Path::new("%"));
    }
}
