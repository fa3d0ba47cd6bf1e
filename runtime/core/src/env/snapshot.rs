//! The copy of the environment that everything else reads.
//!
//! `environ` is read once, at the first use, and copied; a program lets no other thread call `setenv` meanwhile. What
//! is live afterwards is the copy alone; [`live`] repeats the promise for the few values that are read anew.

use crate::whole::Mutex;
use once_cell::race::OnceBox;
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::table;
use super::variable::{Suffixes, Variable};

/// The values of the table's variables at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// In the order of the environment. These are a handful of entries, so that a linear search is fastest; an
    /// environment without any of our variables costs no allocation.
    entries: Vec<Entry>,
    /// Names that are no variable of the table: those that begin with `KMP_` or `HETMP_`, and those that begin as the
    /// specifications' and resemble one.
    unknown: Vec<Box<[u8]>>,
    /// `XDG_CACHE_HOME` and `HOME`.
    homes: [Option<Box<[u8]>>; 2],
}

#[derive(Debug)]
struct Entry {
    name: Box<[u8]>,
    value: Box<[u8]>,
}

impl Snapshot {
    /// The value of `name`; the first one where the environment has several, as `getenv` does.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.entries
            .iter()
            .find(|e| *e.name == *name.as_bytes())
            .map(|e| &*e.value)
    }

    /// Every name and value that was set, in the order of the environment.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.entries.iter().map(|e| (&*e.name, &*e.value))
    }

    /// Names that were set and are no variable of the table: those that begin with `KMP_` or `HETMP_`, and those that
    /// begin as the specifications' and resemble one.
    pub fn unknown(&self) -> impl Iterator<Item = &[u8]> {
        self.unknown.iter().map(|name| &**name)
    }

    /// The folder for files of this user that can be made anew, by the XDG Base Directory Specification (0.8), which
    /// ignores names that are not from the root on.
    #[must_use]
    pub fn caches(&self) -> Option<PathBuf> {
        let [cache, home] = &self.homes;
        let folder = |name: &Option<Box<[u8]>>| {
            let path = Path::new(OsStr::from_bytes(name.as_deref()?));
            path.is_absolute().then(|| path.to_owned())
        };
        folder(cache).or_else(|| Some(folder(home)?.join(".cache")))
    }

    /// The snapshot of `lines` (`NAME=value`). With `privileged`, only variables that are
    /// [harmless](Variable::is_harmless) are in it.
    pub(crate) fn from_lines<'a>(lines: impl Iterator<Item = &'a [u8]>, privileged: bool) -> Self {
        let (mut entries, mut unknown, mut homes) = (Vec::new(), Vec::new(), [None, None]);
        for line in lines {
            // Most variables of an environment are not ours. The first byte tells for nearly all of them.
            if !matches!(
                line.first(),
                Some(b'O' | b'G' | b'A' | b'H' | b'S' | b'K' | b'L' | b'X')
            ) {
                continue;
            }
            let Some(equals) = line.iter().position(|&b| b == b'=') else {
                continue;
            };
            let (name, value) = (&line[..equals], &line[equals + 1..]);
            let home = [&b"XDG_CACHE_HOME"[..], b"HOME"]
                .iter()
                .position(|h| name == *h);
            if let Some(home) = home.filter(|_| !privileged) {
                homes[home].get_or_insert_with(|| value.into());
            }
            let Some(variable) = variable_named(name) else {
                let theirs = [&b"SHMEM_"[..], b"OMP_", b"GOMP_"];
                if name.starts_with(b"KMP_")
                    || super::read::is_of_nobody(name)
                    || (theirs.iter().any(|o| name.starts_with(o))
                        && super::read::meant(name).is_some())
                {
                    unknown.push(name.into());
                }
                continue;
            };
            if privileged && !variable.is_harmless() {
                continue;
            }
            entries.push(Entry {
                name: name.into(),
                value: value.into(),
            });
        }
        Self {
            entries,
            unknown,
            homes,
        }
    }

    fn of_process() -> Self {
        extern "C" {
            static environ: *const *const libc::c_char;
        }
        let privileged = is_privileged();
        // SAFETY: reads one pointer, which the C library has set before any code of the program runs; no
        // other thread sets it during the first use (see `snapshot`).
        let mut next = unsafe { environ };
        let lines = std::iter::from_fn(move || {
            if next.is_null() {
                return None;
            }
            // SAFETY: `environ` is an array of pointers that ends with a null pointer, which stops
            // the iteration. It stays as it is until `from_lines` has copied what it needs: this thread is here
            // and calls no `setenv`, and the program lets no other thread call it during the first use
            // (see `snapshot`).
            let line = unsafe { *next };
            if line.is_null() {
                return None;
            }
            // SAFETY: the end was not reached, so the next element exists.
            next = unsafe { next.add(1) };
            // SAFETY: each element of `environ` is a string with a terminating zero. The program does
            // not change or free it during the first use (see `snapshot`), and `from_lines` copies it.
            Some(unsafe { CStr::from_ptr(line) }.to_bytes())
        });
        // Held for the copy only, which mostly has nothing to do.
        let presets = PRESETS.lock().clone();
        let preset = presets.iter().map(|line| &**line);
        Self::from_lines(preset.chain(lines), privileged)
    }
}

/// The table's entry for a name, which may have a suffix (`_ALL`, `_DEV`, `_DEV_3`).
fn variable_named(name: &[u8]) -> Option<&'static Variable> {
    table::TABLE.iter().find(|v| {
        let Some(rest) = name.strip_prefix(v.name.as_bytes()) else {
            return false;
        };
        match (rest, v.suffixes) {
            (b"", _) | (b"_ALL" | b"_DEV", Suffixes::AllAndDevices) => true,
            (rest, Suffixes::AllAndDevices) => rest
                .strip_prefix(b"_DEV_")
                .is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit)),
            _ => false,
        }
    })
}

/// A cell that does not block: the first call may come in a child of `fork` whose parent was just making the snapshot
/// in another thread, or from a signal handler or a `malloc` of the program's that interrupts the making. Whoever is
/// late has read the same environment and drops what it made.
static SNAPSHOT: OnceBox<Snapshot> = OnceBox::new();

/// The snapshot of this process, taken at the first call: one pass over the environment, and one system call that
/// asks whether the process is privileged.
///
/// # A program that changes its environment
/// Values that the program sets before the first call count; later ones do not. `environ` belongs to the C library,
/// whose interface does not keep a reader and a `setenv` of another thread apart (POSIX.1-2017, `setenv`: the
/// function "need not be thread-safe"). So the first call of this library needs what every call of `getenv` needs: no
/// other thread of the program changes the environment meanwhile. docs/getting-started.md says so, under "What
/// differs".
pub fn snapshot() -> &'static Snapshot {
    SNAPSHOT.get_or_init(|| Box::new(Snapshot::of_process()))
}

/// Whether this process has rights that its caller lacks: a set-user-id or set-group-id program, or one with file
/// capabilities. Nothing that the environment names may then be loaded, executed, read, written or connected to.
#[must_use]
pub fn is_privileged() -> bool {
    // SAFETY: getauxval has no preconditions.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The value that `name` has now; `None` in a [privileged](is_privileged) process, whatever the name. For the few
/// values that cannot come from the [`snapshot`]: those read before it may be taken, and those of launchers, whose
/// names the table does not have. This function and the snapshot are all that reads the environment in the libraries.
///
/// # Safety
/// No other thread changes the environment during the call, or while the caller uses the value.
#[must_use]
pub unsafe fn live<'a>(name: &CStr) -> Option<&'a CStr> {
    if is_privileged() {
        return None;
    }
    // SAFETY: a C string; the environment stays as it is (this function's contract).
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value))
    }
}

/// Settings that the program made by calls before the snapshot. They come before the environment's values.
static PRESETS: Mutex<Vec<Box<[u8]>>> = Mutex::new(Vec::new());

/// Puts `line` (`NAME=value`) in front of the environment. Once the snapshot is taken, does nothing and returns
/// false.
pub fn preset(line: &[u8]) -> bool {
    let mut presets = PRESETS.lock();
    let early = SNAPSHOT.get().is_none();
    if early {
        // `Snapshot::get` takes the first of several values, and the program's last call has to win.
        presets.insert(0, line.into());
    }
    early
}

#[cfg(test)]
mod tests {
    use super::Snapshot;

    fn of(lines: &[&[u8]], privileged: bool) -> Snapshot {
        Snapshot::from_lines(lines.iter().copied(), privileged)
    }

    #[test]
    fn the_first_of_several_values_counts() {
        let s = of(&[b"OMP_NUM_THREADS=3", b"OMP_NUM_THREADS=4"], false);
        assert_eq!(s.get("OMP_NUM_THREADS"), Some(&b"3"[..]));
    }

    #[test]
    fn names_match_whole_and_values_keep_every_byte() {
        let s = of(
            &[
                b"OMP_NUM_THREADSX=1",
                b"OMP_NUM_THREADS",
                b"PATH=/bin",
                b"OMP_SCHEDULE=a=\xff\x01",
                b"OMP_NUM_THREADS_ALL=5",
                b"OMP_NUM_THREADS_DEV_12=6",
                b"OMP_NUM_THREADS_DEV_x=7",
                b"OMP_CANCELLATION_ALL=true",
            ],
            false,
        );
        assert_eq!(s.get("OMP_NUM_THREADS"), None);
        assert_eq!(s.get("OMP_SCHEDULE"), Some(&b"a=\xff\x01"[..]));
        assert_eq!(s.get("OMP_NUM_THREADS_ALL"), Some(&b"5"[..]));
        assert_eq!(s.get("OMP_NUM_THREADS_DEV_12"), Some(&b"6"[..]));
        assert_eq!(s.iter().count(), 3);
    }

    #[test]
    fn privileged_programs_do_not_write_files_for_their_caller() {
        let lines: &[&[u8]] = &[
            b"GOMP_DEBUG=1",
            b"HETMP_REPORT=/etc/x",
            b"OMP_DYNAMIC=true",
            b"OMP_TOOL_LIBRARIES=/tmp/x.so",
            b"HETMP_NODES=@/etc/shadow",
            b"HETMP_BOOTSTRAP=pmix",
            b"SHMEM_SYMMETRIC_SIZE=1G",
            b"OMP_SCHEDULE=dynamic,4",
        ];
        assert_eq!(of(lines, false).iter().count(), 8);
        let s = of(lines, true);
        assert_eq!(s.get("HETMP_REPORT"), None);
        assert_eq!(s.get("GOMP_DEBUG"), None);
        assert!(s.get("OMP_DYNAMIC").is_some());
        assert!(s.get("OMP_SCHEDULE").is_some());
        assert_eq!(s.iter().count(), 2);
    }

    #[test]
    fn the_folder_for_caches() {
        let caches = |lines: &[&[u8]], privileged| of(lines, privileged).caches();
        let home = Some("/home/me/.cache".into());
        assert_eq!(caches(&[b"HOME=/home/me"], false), home);
        assert_eq!(caches(&[b"HOME=/home/me", b"XDG_CACHE_HOME="], false), home);
        assert_eq!(
            caches(&[b"XDG_CACHE_HOME=x", b"HOME=/home/me"], false),
            home
        );
        let both: &[&[u8]] = &[b"HOME=/home/me", b"XDG_CACHE_HOME=/x"];
        assert_eq!(caches(both, false), Some("/x".into()));
        assert_eq!(caches(both, true), None);
        assert_eq!(caches(&[b"HOME=me"], false), None);
        assert_eq!(caches(&[], false), None);
    }

    #[test]
    fn unknown_names_are_kept_apart() {
        let s = of(
            &[
                b"KMP_BLOCKTIME=0",
                b"KMP_BLOCKTIMES=0",
                b"KMPX=1",
                b"HETMP_NICK=tcp",
                b"HETMP_NETWORK=tcp",
                b"HETMP_LIB=x",
                b"HETMP_TEST_FULL=x",
                b"OMP_NETWORK=tcp",
            ],
            false,
        );
        assert_eq!(s.get("KMP_BLOCKTIME"), Some(&b"0"[..]));
        assert_eq!(
            s.unknown().collect::<Vec<_>>(),
            [&b"KMP_BLOCKTIMES"[..], b"HETMP_NICK", b"HETMP_NETWORK"]
        );
    }

    #[test]
    fn the_process_has_a_snapshot() {
        assert!(std::ptr::eq(super::snapshot(), super::snapshot()));
    }
}
