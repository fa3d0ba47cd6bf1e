//! A folder of this user's alone, for files that hold nothing that could not be made anew (`HETMP_CACHE`).
//!
//! What lies there is believed. So the folder and its files must be the effective user's own, and nobody else may
//! write to them: then nobody else can have put anything there, whatever the way to the folder. A process with rights
//! that its caller lacks has no such folder.

use super::written::put_private;
use crate::env::{self, Snapshot};
use std::fs::{DirBuilder, Metadata};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How its files' names end.
const ENDING: &str = "hetmp";

/// Most bytes in the folder. The files that were written first go.
const MOST: u64 = 16 * super::SMALL;

/// The folder. It need not be there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    path: PathBuf,
    /// The user has named it.
    pub named: bool,
}

/// Does the file or folder belong to this user, and may nobody else write there?
fn is_own(meta: &Metadata) -> Result<()> {
    // SAFETY: geteuid has no preconditions.
    if meta.uid() != unsafe { libc::geteuid() } {
        return Err(Error::other("it belongs to another user"));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(Error::other("others may write to it"));
    }
    Ok(())
}

impl Folder {
    /// The folder that `HETMP_CACHE` names, else the usual one. `None`: the user wants none, or no usual place is
    /// known.
    ///
    /// # Errors
    /// The line to print if the variable names no folder.
    pub fn of_caches() -> core::result::Result<Option<Folder>, String> {
        Folder::named_in(env::snapshot())
    }

    /// A privileged process's snapshot has neither of the names.
    fn named_in(snapshot: &Snapshot) -> core::result::Result<Option<Folder>, String> {
        let name = snapshot.get("HETMP_CACHE").unwrap_or_default();
        let path = Path::new(std::ffi::OsStr::from_bytes(name));
        match name.trim_ascii() {
            b"" => {
                let path = snapshot.caches().map(|caches| caches.join("hetmp"));
                Ok(path.map(|path| Folder { path, named: false }))
            }
            word if word.eq_ignore_ascii_case(b"off") => Ok(None),
            _ if path.is_absolute() => Ok(Some(Folder {
                path: path.to_owned(),
                named: true,
            })),
            _ => Err(env::refusal("HETMP_CACHE", name)),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the file of this name is.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.{ENDING}"))
    }

    fn check(&self) -> Result<()> {
        let meta = std::fs::metadata(&self.path)?;
        if !meta.is_dir() {
            return Err(Error::other("not a folder"));
        }
        is_own(&meta)
    }

    /// The bytes of the file of this name; `None`: there is none.
    ///
    /// # Errors
    /// Those of the system, and why they are not believed.
    pub fn read(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        let there = self.check().and_then(|()| {
            let path = self.file(name);
            is_own(&super::open(&path)?.metadata()?)?;
            super::bytes(&path, most)
        });
        match there {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the file of this name anew. The folder is made if it is missing, with the one above it.
    ///
    /// # Errors
    /// Those of the system, and why the folder is not believed.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        for path in [self.path.parent().unwrap_or(&self.path), &self.path] {
            match DirBuilder::new().mode(0o700).create(path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists && !path.is_dir() => {
                    return Err(error)
                }
                _ => {}
            }
        }
        self.check()?;
        put_private(&self.file(name), bytes)?;
        self.trim();
        Ok(())
    }

    /// Removes the oldest files beyond [`MOST`].
    fn trim(&self) {
        let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for entry in std::fs::read_dir(&self.path)
            .into_iter()
            .flatten()
            .flatten()
        {
            let path = entry.path();
            let is_ours = path.extension().is_some_and(|ending| ending == ENDING);
            if let (true, Ok(meta)) = (is_ours, entry.metadata()) {
                let written = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push((written, meta.len(), path));
            }
        }
        let mut total: u64 = files.iter().map(|file| file.1).sum();
        files.sort();
        for (_, length, path) in files {
            if total <= MOST {
                break;
            }
            if std::fs::remove_file(path).is_ok() {
                total -= length;
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{symlink, PermissionsExt as _};

    fn scratch(name: &str) -> (PathBuf, Folder) {
        let above = std::env::temp_dir().join(format!("hetmp-own-{name}-{}", std::process::id()));
        fs::create_dir_all(&above).unwrap();
        let folder = Folder {
            path: above.join("cache/hetmp"),
            named: true,
        };
        (above, folder)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o7777
    }

    #[test]
    fn what_is_put_there_is_this_users_alone() {
        let (above, folder) = scratch("alone");
        assert_eq!(folder.read("a", 10).unwrap(), None);
        folder.put("a", b"text").unwrap();
        assert_eq!(folder.read("a", 10).unwrap(), Some(b"text".to_vec()));
        let file = folder.file("a");
        assert_eq!((mode(&folder.path), mode(&file)), (0o700, 0o600));
        folder.put("a", b"other").unwrap();
        assert_eq!(folder.read("a", 10).unwrap(), Some(b"other".to_vec()));
        assert!(folder.read("a", 4).is_err(), "too long");
        assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1, "no remains");
        // What is further up is not made: a user may have no home.
        let far = Folder {
            path: above.join("no/such/hetmp"),
            named: false,
        };
        assert!(far.put("a", b"text").is_err() && !above.join("no").exists());
        fs::remove_dir_all(&above).unwrap();
    }

    #[test]
    fn what_others_may_have_written_is_not_believed() {
        let (above, folder) = scratch("others");
        folder.put("a", b"text").unwrap();
        let file = folder.file("a");
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let said = |folder: &Folder| folder.read("a", 10).unwrap_err().to_string();
        for open in [0o620, 0o602] {
            set(&file, open);
            assert_eq!(said(&folder), "others may write to it");
        }
        set(&file, 0o600);
        for open in [0o720, 0o702, 0o1777] {
            set(&folder.path, open);
            assert_eq!(said(&folder), "others may write to it");
            assert!(folder.put("a", b"text").is_err());
        }
        set(&folder.path, 0o755);
        assert!(folder.read("a", 10).is_ok(), "others may look");
        // A link to a file that is not this user's, or a pipe in the file's place.
        fs::remove_file(&file).unwrap();
        symlink("/etc/passwd", &file).unwrap();
        // SAFETY: geteuid has no preconditions.
        if unsafe { libc::geteuid() } != 0 {
            assert_eq!(said(&folder), "it belongs to another user");
        } else {
            fs::remove_file(&file).unwrap();
            fs::write(&file, "text").unwrap();
            std::os::unix::fs::chown(&file, Some(65534), None).unwrap();
            assert_eq!(said(&folder), "it belongs to another user");
            fs::remove_file(&file).unwrap();
            folder.put("a", b"text").unwrap();
            std::os::unix::fs::chown(&folder.path, Some(65534), None).unwrap();
            assert_eq!(said(&folder), "it belongs to another user");
            assert!(folder.put("a", b"text").is_err());
        }
        fs::remove_dir_all(&above).unwrap();
    }

    #[test]
    fn whoever_has_rights_that_its_caller_lacks_has_no_folder() {
        let named = |lines: &[&[u8]], privileged| {
            Folder::named_in(&Snapshot::from_lines(lines.iter().copied(), privileged))
        };
        let of = |path: &str, named| {
            let path = path.into();
            Ok(Some(Folder { path, named }))
        };
        let by_name: &[&[u8]] = &[b"HETMP_CACHE=/c", b"HOME=/home/me"];
        let usual: &[&[u8]] = &[b"XDG_CACHE_HOME=/x"];
        assert_eq!(named(by_name, false), of("/c", true));
        assert_eq!(named(usual, false), of("/x/hetmp", false));
        for lines in [by_name, usual, &[b"HETMP_CACHE=here"]] {
            assert_eq!(named(lines, true), Ok(None));
        }
        assert!(named(&[b"HETMP_CACHE=here"], false).is_err());
    }

    #[test]
    fn a_file_in_its_place_is_no_folder() {
        let (above, folder) = scratch("file");
        fs::create_dir_all(above.join("cache")).unwrap();
        fs::write(&folder.path, "precious").unwrap();
        let said = folder.put("a", b"text").unwrap_err().to_string();
        assert_eq!(said, "not a folder");
        assert!(folder.read("a", 10).is_err());
        assert_eq!(fs::read_to_string(&folder.path).unwrap(), "precious");
        fs::remove_dir_all(&above).unwrap();
    }

    #[test]
    fn the_oldest_files_go() {
        let (above, folder) = scratch("oldest");
        let large = vec![0; MOST as usize / 4];
        folder.put("first", &large).unwrap();
        fs::write(folder.path.join("not ours"), &large).unwrap();
        for name in ["second", "third", "fourth"] {
            folder.put(name, &large).unwrap();
        }
        assert!(folder.file("first").exists(), "as much as may be");
        let old = SystemTime::UNIX_EPOCH;
        let file = fs::File::options().write(true).open(folder.file("second"));
        file.unwrap().set_modified(old).unwrap();
        folder.put("fifth", b"x").unwrap();
        assert!(!folder.file("second").exists() && folder.file("fifth").exists());
        assert!(folder.path.join("not ours").exists() && folder.file("first").exists());
        fs::remove_dir_all(&above).unwrap();
    }
}
