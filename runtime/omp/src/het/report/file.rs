//! Files that are never half written: a new file beside the old one, then renamed over it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The file that `value` names; `%p` in it stands for the number of the process.
pub(super) fn path(value: &[u8]) -> PathBuf {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.windows(2).position(|w| w == b"%p") {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(std::process::id().to_string().as_bytes());
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest);
    OsString::from_vec(out).into()
}

/// Has `fill` write the file. On an error the old file, if there was one, is still there, and
/// nothing else is.
pub(super) fn write(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    // A link stays one; a pipe or a device cannot be replaced, and must not be.
    let path = match fs::canonicalize(path) {
        Ok(real) if !fs::metadata(&real)?.is_file() => {
            let mut out = BufWriter::new(File::options().write(true).open(&real)?);
            fill(&mut out)?;
            return out.flush();
        }
        Ok(real) => real,
        Err(_) => path.to_owned(),
    };
    let mut name = path.as_os_str().as_bytes().to_vec();
    name.extend_from_slice(format!(".{}.tmp", std::process::id()).as_bytes());
    let beside = PathBuf::from(OsString::from_vec(name));
    let new = || File::options().write(true).create_new(true).open(&beside);
    let file = new().or_else(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        // Left behind by a process that had this number before.
        fs::remove_file(&beside)?;
        new()
    })?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let done = fill(&mut out)
        .and_then(|()| out.flush())
        .and_then(|()| fs::rename(&beside, &path));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_nothing() {
        let dir = std::env::temp_dir().join(format!("hetmp-file-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("a.json");
        let text = |t: &'static str| move |out: &mut dyn Write| out.write_all(t.as_bytes());
        write(&file, text("old")).unwrap();
        let link = dir.join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, text("new")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let failing = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::other("full"))
        };
        assert!(write(&file, failing).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "no remains");
        assert!(write(&dir.join("no/such"), text("x")).is_err());
        assert!(write(Path::new("/dev/full"), text("x")).is_err());
        write(Path::new("/dev/null"), text("x")).unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_process_number() {
        let id = std::process::id();
        assert_eq!(path(b"a%p-%p%"), PathBuf::from(format!("a{id}-{id}%")));
        assert_eq!(path(b"%"), PathBuf::from("%"));
    }
}
