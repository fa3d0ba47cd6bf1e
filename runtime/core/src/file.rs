//! Reading and writing files that a user names, without ever blocking.
//!
//! A pipe makes its reader wait for a writer, and a device may have no end. A slip in an environment variable can
//! name either one, and the program would hang before it has begun. So only regular files are read, up to a size that
//! no file of the kind reaches. How files are written, `written` says.

mod private;
mod written;

pub use private::Folder;
pub use written::{create, is_stream, keep, path, put, replace, write, Form};

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The size limit of files that people write or read, bytes.
pub const SMALL: u64 = 1 << 20;

/// The size limit of programs, libraries and what is written about a run, bytes.
pub const LARGE: u64 = 1 << 30;

/// The regular file at `path`, to be read.
///
/// # Errors
/// Those of the system, and "not a regular file".
pub fn open(path: &Path) -> Result<File> {
    // Checked before the file is opened, because opening a device may have an effect.
    if !std::fs::metadata(path)?.is_file() {
        return Err(Error::other("not a regular file"));
    }
    // Between that check and the open, another file may have taken the place. Hence an open that does not wait, and a
    // second check on the open file.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(Error::other("not a regular file"));
    }
    Ok(file)
}

/// The bytes of the regular file at `path`, at most `most`.
///
/// # Errors
/// Those of the system, "not a regular file", and "larger than N bytes".
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>> {
    read(path, most, |_| Ok(()))
}

/// Reads piece by piece, as long as each `fits`.
fn read(path: &Path, most: u64, fits: impl Fn(&[u8]) -> Result<()>) -> Result<Vec<u8>> {
    let file = open(path)?;
    let too_large = || Err(Error::other(format!("larger than {most} bytes")));
    if file.metadata()?.len() > most {
        return too_large();
    }
    // The length that the system reports says nothing for files of /proc, where it is 0. So the bytes that come are
    // counted, too.
    let mut bytes = Vec::new();
    let mut file = file.take(most.saturating_add(1));
    loop {
        let before = bytes.len();
        if file.by_ref().take(SMALL).read_to_end(&mut bytes)? == 0 {
            break;
        }
        fits(&bytes[before..])?;
    }
    if bytes.len() as u64 > most {
        return too_large();
    }
    Ok(bytes)
}

/// The text of the regular file at `path`, at most `most` bytes.
///
/// # Errors
/// As for [`bytes`], "not UTF-8", and "a binary file", at the first zero byte: a file may be a gigabyte of them, and
/// take no room on the disk.
pub fn text(path: &Path, most: u64) -> Result<String> {
    let wrong = |why| Error::new(ErrorKind::InvalidData, why);
    let bytes = read(path, most, |part| match part.contains(&0) {
        true => Err(wrong("a binary file")),
        false => Ok(()),
    })?;
    String::from_utf8(bytes).map_err(|_| wrong("not UTF-8"))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn only_regular_files_of_a_bounded_size() {
        let dir = std::env::temp_dir().join(format!("hetmp-core-file-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let said = |path: &Path, most| text(path, most).unwrap_err().to_string();

        let good = dir.join("good");
        std::fs::write(&good, "twelve bytes").unwrap();
        assert_eq!(text(&good, 12).unwrap(), "twelve bytes");
        assert_eq!(said(&good, 11), "larger than 11 bytes");
        std::fs::write(&good, [0xff]).unwrap();
        assert_eq!(said(&good, 12), "not UTF-8");
        assert_eq!(bytes(&good, u64::MAX).unwrap(), [0xff]);
        std::fs::write(&good, "").unwrap();
        assert_eq!(text(&good, 0).unwrap(), "");
        // A hole of a terabyte.
        let hole = File::create(dir.join("hole")).unwrap();
        hole.set_len(1 << 40).unwrap();
        assert_eq!(said(&dir.join("hole"), u64::MAX), "a binary file");

        // No writer ever comes.
        let pipe = dir.join("pipe");
        let name = CString::new(pipe.as_os_str().as_bytes()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        for path in [
            &*pipe,
            Path::new("/dev/zero"),
            Path::new("/dev/full"),
            &*dir,
        ] {
            assert_eq!(said(path, SMALL), "not a regular file", "{path:?}");
        }
        let link = dir.join("link");
        std::os::unix::fs::symlink(&pipe, &link).unwrap();
        assert_eq!(said(&link, SMALL), "not a regular file");
        assert!(bytes(&dir.join("none"), 1).is_err());

        // Regular by its kind, and without a length.
        assert!(text(Path::new("/proc/self/status"), SMALL)
            .unwrap()
            .contains("Pid:"));
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
