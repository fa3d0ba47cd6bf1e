//! Starts the program again if the user chose `HETMP_NODES=dsm:N` but preloaded `libhetmp.so` alone. The
//! second start has `libhetmp_dsm.so` first in `LD_PRELOAD`.
//!
//! `libhetmp_dsm.so` must be loaded when the loader looks up the program's `__libc_start_main`, which is
//! before any code of this library runs. So the process has to begin again. Only constructors of libraries
//! have run until then. Those of the system's libraries run a second time; if the program has libraries of its own with
//! constructors, a line says what to type instead.

use core::ffi::{c_char, c_int, CStr};
use hetmp_core::report;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

const SECOND: &str = "libhetmp_dsm.so";

/// The file of the object (executable or library) that holds this address.
fn file_of(address: *const libc::c_void) -> Option<PathBuf> {
    // SAFETY: plain data, which the call fills in if it succeeds.
    let info = unsafe {
        let mut info: libc::Dl_info = core::mem::zeroed();
        (libc::dladdr(address, &raw mut info) != 0).then_some(info)?
    };
    // SAFETY: the loader's name of a loaded object.
    let name = unsafe { info.dli_fname.as_ref() }.map(|n| unsafe { CStr::from_ptr(n) })?;
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

fn refuse(text: core::fmt::Arguments<'_>) -> ! {
    report::warn(text);
    // SAFETY: _exit has no preconditions; the program has not begun.
    unsafe { libc::_exit(2) }
}

/// A constructor calls this function if `HETMP_NODES` begins with `dsm:`. Returns if there is nothing to do;
/// otherwise the process is replaced, or ends.
///
/// # Safety
/// `argv` is the program's, as the loader passes it to constructors: strings, then a null pointer.
#[cold]
pub(crate) unsafe fn begin_with_both(argv: *const *const c_char) {
    let value = std::env::var_os("HETMP_NODES").unwrap_or_default();
    // A shell only passes the variables on to its children, and a Python process that opens the library later
    // is not a program that gcc compiled with OpenMP. Neither starts again.
    if argv.is_null() || !hetmp_core::program::uses_openmp() {
        return;
    }
    // SAFETY: a C string; the answer is null or an address of code.
    let start = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_start_main".as_ptr()) };
    let is_second = |path: PathBuf| path.file_name().is_some_and(|name| name == SECOND);
    if file_of(start).is_some_and(is_second) {
        return;
    }
    let nodes = value.to_string_lossy();
    let beside = file_of(begin_with_both as *const libc::c_void)
        .and_then(|path| std::fs::canonicalize(path).ok())
        .map(|path| path.with_file_name(SECOND))
        .filter(|path| path.is_file());
    let before = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let Some(beside) = beside else {
        refuse(format_args!(
            "HETMP_NODES {nodes}: {SECOND} is needed, beside libhetmp.so or in LD_PRELOAD before it"
        ));
    };
    if before
        .as_bytes()
        .windows(SECOND.len())
        .any(|w| w == SECOND.as_bytes())
    {
        refuse(format_args!(
            "HETMP_NODES {nodes}: LD_PRELOAD {}: the loader did not take {SECOND} from there",
            before.to_string_lossy()
        ));
    }
    // What a constructor of the program's own has done to files, it would do again.
    if let Some(library) = hetmp_core::program::constructed_library() {
        refuse(format_args!(
            "HETMP_NODES {nodes}: library {library} has constructors, which have run: LD_PRELOAD={}:{}, or hetmp run --nodes {nodes}, is accepted",
            beside.display(),
            before.to_string_lossy()
        ));
    }
    let mut both = beside.into_os_string().into_vec();
    both.push(b':');
    both.extend(before.as_bytes());
    std::env::set_var("LD_PRELOAD", OsString::from_vec(both));
    let error = again(argv);
    refuse(format_args!(
        "HETMP_NODES {nodes}: the program cannot be started again with {SECOND} ({error})"
    ));
}

/// Replaces the process by the same program with the same arguments. Returns the error if that fails.
fn again(argv: *const *const c_char) -> std::io::Error {
    extern "C" {
        static environ: *const *const c_char;
    }
    let program = match std::fs::read_link("/proc/self/exe") {
        Ok(path) => path,
        Err(error) => return error,
    };
    let Ok(program) = std::ffi::CString::new(program.into_os_string().into_vec()) else {
        return std::io::ErrorKind::InvalidInput.into();
    };
    // SAFETY: C strings and arrays that end with null pointers.
    let _: c_int = unsafe { libc::execve(program.as_ptr(), argv, environ) };
    std::io::Error::last_os_error()
}
