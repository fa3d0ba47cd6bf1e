//! Writes files that are never half written: a new file next to the old one is renamed over it.
//!
//! Whoever may write to the folder, too, may have put a link there, under the name itself or under one that a file is
//! about to get. So a new file is made where nothing is, and links are followed only if they are root's or this user's.
//!
//! A pipe or a terminal (`/dev/stdout`) is written to directly, if a process reads it: the end of the program
//! must not wait for a reader that never comes, or that has stopped reading.
//!
//! A program or its source, named by mistake, is not replaced: see [`Form`].

use core::time::Duration;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// How long a reader may leave a pipe full.
const PATIENCE: Duration = Duration::from_secs(1);

/// What an output begins with: only such a file may be replaced by it, or an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `<`: pages and pictures.
    Markup,
    /// `{` or `[`: reports and traces.
    Json,
    /// Anything but a program, a script or a C source.
    Text,
}

impl Form {
    /// May an output of this form take the place of what is at `path`? What cannot be read is not our output.
    #[must_use]
    pub fn may_replace(self, path: &Path) -> bool {
        if is_stream(path) {
            return true;
        }
        let mut begin = Vec::new();
        let read = File::open(path).and_then(|file| file.take(256).read_to_end(&mut begin));
        let Some(first) = begin.trim_ascii_start().first() else {
            return read.is_ok() || !path.exists();
        };
        match self {
            Form::Markup => *first == b'<',
            Form::Json => matches!(first, b'{' | b'['),
            Form::Text => ![&b"\x7fELF"[..], b"#!", b"#include"]
                .iter()
                .any(|other| begin.starts_with(other)),
        }
    }

    fn check(self, path: &Path) -> io::Result<()> {
        match self.may_replace(path) {
            true => Ok(()),
            false => Err(io::Error::other("is there, and no file of this kind")),
        }
    }
}

/// A pipe, a terminal or another device.
struct Stream(File);

impl Stream {
    /// Refused if no process reads (`ENXIO` for a pipe).
    fn open(path: &Path) -> io::Result<Stream> {
        File::options()
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
            .open(path)
            .map(Stream)
    }

    /// Waits until there is room. False: there was none for too long.
    fn wait(&self) -> io::Result<bool> {
        let mut it = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLOUT,
            revents: 0,
        };
        // SAFETY: one live record with an open descriptor.
        match unsafe { libc::poll(&mut it, 1, PATIENCE.as_millis() as libc::c_int) } {
            -1 => Err(io::Error::last_os_error()),
            ready => Ok(ready > 0),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => match self.wait() {
                    Ok(true) => {}
                    Ok(false) => return Err(io::Error::other("nobody reads it")),
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e),
                },
                done => return done,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The path that `value` names; `%p` stands for the process's number.
#[must_use]
pub fn path(value: &[u8]) -> PathBuf {
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

/// Is the path a pipe, a terminal or another device, where new text follows the old?
#[must_use]
pub fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file())
}

/// What `path` leads to: a file, or nothing yet.
///
/// # Errors
/// A link on the way belongs to another user.
fn target(path: &Path) -> io::Result<PathBuf> {
    // SAFETY: geteuid has no preconditions.
    let own = unsafe { libc::geteuid() };
    let mut path = path.to_owned();
    // As many links as the kernel follows.
    for _ in 0..40 {
        match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_symlink() => {
                if meta.uid() != 0 && meta.uid() != own {
                    return Err(io::Error::other("a link that belongs to another user"));
                }
                let to = fs::read_link(&path)?;
                path.pop();
                path.push(to);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

/// A new file at `path`, where nothing may be, not even a link. `mode`: who may use it, less what the user's mask
/// takes.
///
/// # Errors
/// Those of the system; `AlreadyExists`.
pub fn create(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options.mode(mode).custom_flags(libc::O_NOFOLLOW).open(path)
}

/// The file at `path`, to be locked or appended to; a new one if there is none.
///
/// # Errors
/// Those of the system, and "a link that belongs to another user".
pub fn keep(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).append(true).create(true);
    options
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(target(path)?)
}

/// Lets `fill` write the file. After an error the old file, if there was one, is still there, and no new one.
///
/// # Errors
/// Those of the system and of `fill`, "a link that belongs to another user", and "is there, and no file of this kind".
pub fn write(
    path: &Path,
    form: Form,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    form.check(path)?;
    write_as(path, 0o666, fill)
}

/// [`put`] for this user's eyes only.
///
/// # Errors
/// As for [`put`].
pub(crate) fn put_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_as(path, 0o600, |out| out.write_all(bytes))
}

fn write_as(
    path: &Path,
    mode: u32,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let target = target(path)?;
    // A pipe or a device cannot be replaced, and must not be. The name is used as it is: a pipe behind
    // /dev/stdout has no path of its own.
    if is_stream(path) {
        let mut out = BufWriter::new(Stream::open(path)?);
        fill(&mut out)?;
        return out.flush();
    }
    let (beside, file) = beside(&target, mode)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let done = fill(&mut out)
        .and_then(|()| out.flush())
        .and_then(|()| fs::rename(&beside, &target));
    if done.is_err() {
        let _ = fs::remove_file(&beside);
    }
    done
}

/// Writes the file, whatever was there. After an error the old file is still there.
///
/// # Errors
/// Those of the system, and "a link that belongs to another user".
pub fn put(path: &Path, text: &[u8]) -> io::Result<()> {
    write_as(path, 0o666, |out| out.write_all(text))
}

/// An empty file at `path` in place of the one that was there, to be written line by line; a pipe or a device is
/// opened as it is.
///
/// # Errors
/// Those of the system, "a link that belongs to another user", and "is there, and no file of this kind".
pub fn replace(path: &Path) -> io::Result<File> {
    Form::Text.check(path)?;
    let target = target(path)?;
    if is_stream(path) {
        return Stream::open(path).map(|stream| stream.0);
    }
    let (beside, file) = beside(&target, 0o666)?;
    match fs::rename(&beside, &target) {
        Ok(()) => Ok(file),
        Err(error) => {
            let _ = fs::remove_file(&beside);
            Err(error)
        }
    }
}

/// A new file of this process next to `target`, and its path. `mode` as for [`create`].
fn beside(target: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    let mut name = target.as_os_str().as_bytes().to_vec();
    name.extend_from_slice(format!(".{}.tmp", std::process::id()).as_bytes());
    let beside = PathBuf::from(OsString::from_vec(name));
    let file = create(&beside, mode).or_else(|error| {
        if error.kind() != io::ErrorKind::AlreadyExists {
            return Err(error);
        }
        // A process that had the same number before has left this file behind; or it is a link, which goes.
        fs::remove_file(&beside)?;
        create(&beside, mode)
    })?;
    Ok((beside, file))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn links_that_others_planted_are_not_followed() {
        let dir = std::env::temp_dir().join(format!("hetmp-links-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (own, file) = (dir.join("own"), dir.join("file"));
        fs::write(&own, "precious").unwrap();
        let link = |at: &Path, owner: u32| {
            std::os::unix::fs::symlink(&own, at).unwrap();
            std::os::unix::fs::lchown(at, Some(owner), None).is_ok()
        };
        // SAFETY: geteuid has no preconditions.
        let me = unsafe { libc::geteuid() };
        // Under the name that the new file gets first.
        let temporary = dir.join(format!("file.{}.tmp", std::process::id()));
        for way in [put, |path: &Path, _: &[u8]| replace(path).map(drop)] {
            assert!(link(&temporary, me));
            way(&file, b"text").unwrap();
            assert_eq!(fs::read_to_string(&own).unwrap(), "precious");
            assert!(fs::symlink_metadata(&temporary).is_err(), "no remains");
            fs::remove_file(&file).unwrap();
        }
        assert!(link(&file, me));
        assert_eq!(
            create(&file, 0o600).unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        fs::remove_file(&file).unwrap();
        // Under the name itself. Only root can plant it for somebody else.
        if link(&file, 65534) && me == 0 {
            let refused = [
                put(&file, b"text"),
                replace(&file).map(drop),
                keep(&file).map(drop),
            ];
            for result in refused {
                let said = result.unwrap_err().to_string();
                assert_eq!(said, "a link that belongs to another user");
            }
            assert_eq!(fs::read_to_string(&own).unwrap(), "precious");
        }
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn all_or_nothing() {
        let dir = std::env::temp_dir().join(format!("hetmp-file-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("a.json");
        let text = |t: &'static str| move |out: &mut dyn Write| out.write_all(t.as_bytes());
        write(&file, Form::Text, text("old")).unwrap();
        let link = dir.join("link");
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, Form::Text, text("new")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let failing = |out: &mut dyn Write| {
            out.write_all(b"half")?;
            Err(io::Error::other("full"))
        };
        assert!(write(&file, Form::Text, failing).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 2, "no remains");
        assert!(put(&dir.join("no/such"), b"x").is_err());
        assert!(put(Path::new("/dev/full"), b"x").is_err());
        put(Path::new("/dev/null"), b"x").unwrap();
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_is_no_output_stays() {
        let dir = std::env::temp_dir().join(format!("hetmp-form-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("file");
        let json = || write(&file, Form::Json, |out| out.write_all(b"{}"));
        for kept in ["\x7fELF", "#!/bin/sh", "#include <a.h>\n"] {
            fs::write(&file, kept).unwrap();
            let said = "is there, and no file of this kind";
            assert_eq!(json().unwrap_err().to_string(), said);
            assert_eq!(replace(&file).unwrap_err().to_string(), said);
            assert_eq!(fs::read_to_string(&file).unwrap(), kept);
        }
        for old in ["", "\n", " {\"hetmp_report\":1}", "[]"] {
            fs::write(&file, old).unwrap();
            json().unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
        }
        assert!(!Form::Markup.may_replace(&file) && Form::Text.may_replace(&file));
        assert!(Form::Markup.may_replace(&dir.join("none")));
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_pipe_without_a_reader_is_not_waited_for() {
        let dir = std::env::temp_dir().join(format!("hetmp-pipe-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        // Each its own: a child that another test forks meanwhile keeps a pipe, and what is in it, for longer.
        let pipe = |name: &str| {
            let pipe = dir.join(name);
            let name = std::ffi::CString::new(pipe.as_os_str().as_bytes()).unwrap();
            // SAFETY: the argument is a C string.
            assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
            pipe
        };
        let open = |pipe: &Path| {
            let mut options = File::options();
            let options = options.read(true).custom_flags(libc::O_NONBLOCK);
            options.open(pipe).unwrap()
        };
        let much = &[b'x'; 1 << 20];
        let unread = pipe("unread");
        assert!(is_stream(&unread) && !is_stream(&dir.join("none")));
        assert!(put(&unread, much).is_err(), "nobody has opened it");
        // One reader that does not read, and one that does.
        let _idle = open(&unread);
        let why = put(&unread, much).unwrap_err().to_string();
        assert_eq!(why, "nobody reads it");
        let read = pipe("read");
        let mut reader = open(&read);
        let reading = std::thread::spawn(move || {
            let (mut got, mut buffer) = (0, vec![0; 1 << 16]);
            while got < 1 << 20 {
                match io::Read::read(&mut reader, &mut buffer) {
                    Ok(n) => got += n,
                    Err(_) => std::thread::sleep(Duration::from_millis(1)),
                }
            }
            got
        });
        put(&read, much).unwrap();
        assert_eq!(reading.join().unwrap(), 1 << 20);
        // Named like /dev/stdout: by the number of a descriptor.
        let numbered = pipe("numbered");
        let mut reader = open(&numbered);
        let kept = File::options().write(true).open(&numbered).unwrap();
        let name = format!("/proc/self/fd/{}", kept.as_raw_fd());
        put(Path::new(&name), b"text").unwrap();
        let mut got = [0; 8];
        assert_eq!(io::Read::read(&mut reader, &mut got).unwrap(), 4);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn the_process_number() {
        let id = std::process::id();
        assert_eq!(path(b"a%p-%p%"), PathBuf::from(format!("a{id}-{id}%")));
        assert_eq!(path(b"%"), PathBuf::from("%"));
    }
}
