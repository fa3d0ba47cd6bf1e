//! Finds the file that a name means, and whether the dynamic loader preloads libraries into it.
//!
//! System calls get strings that end with a zero.

use super::Refusal;
use object::elf::{FileHeader64, ELFCLASS64, ELFDATA2LSB, PT_INTERP};
use object::endian::LittleEndian;
use object::read::elf::{FileHeader as _, ProgramHeader as _};
use std::ffi::{CString, OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// How much of a program is read: its headers and its interpreter's name lie at the start, bytes.
const HEAD: usize = 64 * 1024;

/// The most scripts that may be each other's interpreters; the kernel has the same limit.
const SCRIPTS: usize = 5;

/// Finds `name` as `execvp` does: in the folders of `search`, unless it contains a slash.
pub(super) fn find(name: &OsStr, search: Option<OsString>) -> Result<PathBuf, Refusal> {
    let missing = |why: &str| {
        Refusal::missing(format_args!(
            "program {}: {why} (expected the name of a program)",
            Path::new(name).display()
        ))
    };
    if name.is_empty() {
        return Err(missing("no name"));
    }
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match path.metadata() {
            Ok(_) => Ok(path),
            Err(error) => Err(missing(&error.to_string())),
        };
    }
    let search = search.unwrap_or_else(|| "/bin:/usr/bin".into());
    let mut other = None;
    for folder in std::env::split_paths(&search) {
        // An empty part of PATH means the working directory. The "./" keeps execve from searching again.
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".").to_owned()
        } else {
            folder
        };
        let path = folder.join(name);
        if runs(&path) {
            return Ok(path);
        }
        if path.is_file() {
            other = Some(path);
        }
    }
    // More likely a mistyped option of this command than a program.
    if other.is_none() && name.as_bytes().starts_with(b"-") {
        return Err(Refusal::usage(format_args!(
            "option {}: unknown, and no program has this name (expected what hetmp run --help lists)",
            Path::new(name).display()
        )));
    }
    other.ok_or_else(|| missing("not found"))
}

/// A file that this user may execute.
fn runs(path: &Path) -> bool {
    let Ok(c) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: a string of our own that ends with 0, which access only reads.
    path.is_file() && unsafe { libc::access(c.as_ptr(), libc::X_OK) } == 0
}

/// The program that runs in the end, of a script its interpreter. A line for each kind of program into which nothing
/// can be preloaded.
pub(super) fn check(path: &Path) -> Result<PathBuf, Refusal> {
    let mut path = path.to_owned();
    for _ in 0..SCRIPTS {
        match look(&path)? {
            None => break,
            Some(interpreter) => path = interpreter,
        }
    }
    Ok(path)
}

/// The program that a shell would run for `name`; `None` if there is none.
pub(crate) fn found(name: &OsStr) -> Option<PathBuf> {
    find(name, std::env::var_os("PATH")).ok()
}

/// The file at `path`. For a script, the program that runs the script in the end.
pub(crate) fn interpreted_by(path: &Path) -> Result<PathBuf, String> {
    let mut path = path.to_owned();
    for _ in 0..SCRIPTS {
        let mut head = Vec::new();
        hetmp_core::file::open(&path)
            .and_then(|file| file.take(HEAD as u64).read_to_end(&mut head))
            .map_err(|error| {
                format!(
                    "program {}: {error} (expected a file that can be read)",
                    path.display()
                )
            })?;
        match interpreter_of(&head) {
            Some(interpreter) => path = after_env(interpreter, &head),
            None => break,
        }
    }
    Ok(path)
}

/// The interpreter that the first line of a script names.
fn interpreter_of(head: &[u8]) -> Option<PathBuf> {
    let line = head.strip_prefix(b"#!")?;
    let name = words(line).next().unwrap_or_default();
    Some(PathBuf::from(OsString::from_vec(name.to_vec())))
}

/// `#!/usr/bin/env python3` means the Python that a shell would find.
fn after_env(interpreter: PathBuf, head: &[u8]) -> PathBuf {
    if !interpreter.ends_with("env") {
        return interpreter;
    }
    let named = head
        .strip_prefix(b"#!")
        .and_then(|line| words(line).skip(1).find(|word| !word.starts_with(b"-")));
    named
        .and_then(|name| found(OsStr::from_bytes(name)))
        .unwrap_or(interpreter)
}

/// The words of the first line.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default()
        .split(|byte| matches!(byte, b' ' | b'\t'))
        .filter(|word| !word.is_empty())
}

/// Examines one file. Returns the interpreter if it is a script.
fn look(path: &Path) -> Result<Option<PathBuf>, Refusal> {
    let unfit = |why: &str, accepted: &str| {
        Refusal::unfit(format_args!(
            "program {}: {why} (expected {accepted})",
            path.display()
        ))
    };
    let io = |error: std::io::Error| unfit(&error.to_string(), "a program that can be executed");
    let meta = path.metadata().map_err(io)?;
    if meta.is_dir() {
        return Err(unfit("a folder", "a program"));
    }
    if !runs(path) {
        return Err(unfit("not executable", "a program that can be executed"));
    }
    if gains_rights(path, &meta) {
        return Err(unfit(
            "runs with the rights of another user (setuid, setgid or capabilities), and the loader then preloads \
             nothing",
            "a program without",
        ));
    }
    let mut head = vec![0; HEAD];
    let Ok(file) = hetmp_core::file::open(path) else {
        // The file can be executed but not read. The loader will decide.
        return Ok(None);
    };
    let mut length = 0;
    let mut take = (&file).take(HEAD as u64);
    loop {
        match take.read(&mut head[length..]) {
            Ok(0) => break,
            Ok(n) => length += n,
            Err(error) => return Err(io(error)),
        }
    }
    head.truncate(length);
    if let Some(interpreter) = interpreter_of(&head) {
        return Ok(Some(interpreter));
    }
    if !head.starts_with(b"\x7fELF") || head.len() < 64 {
        return Err(unfit(
            "neither an ELF program nor a script with #!",
            "a program",
        ));
    }
    let native = if cfg!(target_arch = "x86_64") {
        object::elf::EM_X86_64
    } else {
        object::elf::EM_AARCH64
    };
    let machine = u16::from_le_bytes([head[18], head[19]]);
    if head[4] != ELFCLASS64 || head[5] != ELFDATA2LSB || machine != native {
        return Err(unfit(
            "for another architecture",
            "a 64-bit program of this machine",
        ));
    }
    let header = FileHeader64::<LittleEndian>::parse(&*head)
        .and_then(|header| header.program_headers(LittleEndian, &*head))
        .map_err(|_| unfit("its ELF header is broken", "a program"))?;
    let Some(interpreter) = header.iter().find(|h| h.p_type(LittleEndian) == PT_INTERP) else {
        return Err(unfit(
            "statically linked, so there is no loader that could preload anything",
            "a program with shared libraries",
        ));
    };
    let mut name = vec![
        0;
        usize::try_from(interpreter.p_filesz(LittleEndian))
            .unwrap_or(0)
            .min(4096)
    ];
    file.read_exact_at(&mut name, interpreter.p_offset(LittleEndian))
        .map_err(|_| unfit("its ELF header is broken", "a program"))?;
    if String::from_utf8_lossy(&name).contains("/ld-musl") {
        return Err(unfit("built for musl", "a program of the GNU C library"));
    }
    Ok(None)
}

/// True if executing the file changes the rights of the process (the loader's secure mode).
fn gains_rights(path: &Path, meta: &std::fs::Metadata) -> bool {
    // SAFETY: these three calls have no preconditions and cannot fail.
    let (uid, gid, root) = unsafe { (libc::getuid(), libc::getgid(), libc::geteuid() == 0) };
    let mode = meta.mode();
    if mode & libc::S_ISUID != 0 && meta.uid() != uid
        || mode & libc::S_ISGID != 0 && meta.gid() != gid
    {
        return true;
    }
    let Ok(c) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: two strings that end with 0. With a size of 0 the call returns the length and writes nothing.
    let length = unsafe {
        libc::getxattr(
            c.as_ptr(),
            c"security.capability".as_ptr(),
            core::ptr::null_mut(),
            0,
        )
    };
    !root && length > 0
}
