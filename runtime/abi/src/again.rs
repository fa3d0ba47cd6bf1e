//! Starts the program again if the user chose `HETMP_NODES=dsm:N` but preloaded `libhetmp.so` alone. The
//! second start has `libhetmp_dsm.so` first in `LD_PRELOAD`.
//!
//! `libhetmp_dsm.so` must be loaded when the loader looks up the program's `__libc_start_main`, which is
//! before any code of this library runs. So the process has to begin again. Only constructors of libraries
//! have run until then. Those of the system's libraries run a second time; if the program has libraries of its own with
//! constructors, a line says what to type instead.
//!
//! This happens once, and executes the file that this process already runs, whatever its path names by now. A
//! process that has rights its caller lacks (set-user-id) never comes here: it does not see `HETMP_NODES`.

use core::ffi::{c_char, c_int, CStr};
use hetmp_core::{env, report};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

const SECOND: &str = "libhetmp_dsm.so";

/// Set to the process's number before the second start, which keeps the number. A loader that ignores `LD_PRELOAD`
/// would otherwise have the process begin again for ever.
const MARK: &CStr = c"_HETMP_AGAIN";

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
    // SAFETY: a constructor calls this function: no thread changes the environment.
    let value =
        |name: &CStr| unsafe { env::live(name) }.map_or_else(Vec::new, |v| v.to_bytes().to_vec());
    // A shell only passes the variables on to its children, and a Python process that opens the library later
    // is not a program that gcc compiled with OpenMP. Neither starts again.
    if argv.is_null() || !hetmp_core::program::uses_openmp() {
        return;
    }
    // SAFETY: a C string; the answer is null or an address of code.
    let start = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_start_main".as_ptr()) };
    let is_second = |path: PathBuf| path.file_name().is_some_and(|name| name == SECOND);
    let own = std::process::id().to_string();
    let began_again = value(MARK) == own.as_bytes();
    if file_of(start).is_some_and(is_second) {
        if began_again {
            name_as_the_program();
        }
        return;
    }
    let nodes = value(c"HETMP_NODES");
    let nodes = String::from_utf8_lossy(&nodes);
    let beside = file_of(begin_with_both as *const libc::c_void)
        .and_then(|path| std::fs::canonicalize(path).ok())
        .map(|path| path.with_file_name(SECOND))
        .filter(|path| path.is_file());
    let before = value(c"LD_PRELOAD");
    let Some(beside) = beside else {
        refuse(format_args!(
            "HETMP_NODES: '{nodes}': {SECOND} is needed, next to libhetmp.so or in LD_PRELOAD before it"
        ));
    };
    let named = before.windows(SECOND.len()).any(|w| w == SECOND.as_bytes());
    if named || began_again {
        refuse(format_args!(
            "HETMP_NODES: '{nodes}': LD_PRELOAD {}: the loader did not take {SECOND} from there",
            String::from_utf8_lossy(&before)
        ));
    }
    // What a constructor of the program's own has done to files, it would do again.
    if let Some(library) = hetmp_core::program::constructed_library() {
        refuse(format_args!(
            "HETMP_NODES: '{nodes}': library {library} has constructors, which have run (expected LD_PRELOAD={}:{}, \
                or hetmp run --nodes {nodes})",
            beside.display(),
            String::from_utf8_lossy(&before)
        ));
    }
    let mut both = beside.into_os_string().into_vec();
    both.push(b':');
    both.extend(before);
    std::env::set_var("LD_PRELOAD", OsString::from_vec(both));
    std::env::set_var(OsStr::from_bytes(MARK.to_bytes()), own);
    let error = again(argv);
    refuse(format_args!(
        "HETMP_NODES: '{nodes}': the program cannot be started again with {SECOND} ({error})"
    ));
}

/// Gives the process the name that `ps` and `pgrep` expect: the kernel named it after the link by which it was
/// executed. Forgets the mark, which is of no use to children.
fn name_as_the_program() {
    std::env::remove_var(OsStr::from_bytes(MARK.to_bytes()));
    let path = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let name = path.file_name().map(|n| n.as_bytes().to_vec());
    if let Some(name) = name.and_then(|n| std::ffi::CString::new(n).ok()) {
        // SAFETY: a C string, of which the kernel copies 15 bytes.
        unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
    }
}

/// Replaces the process by the same program with the same arguments. Returns the error if that fails.
fn again(argv: *const *const c_char) -> std::io::Error {
    extern "C" {
        static environ: *const *const c_char;
    }
    // The link leads to the file itself. A path read from it could lead to another file by now.
    const SELF: &CStr = c"/proc/self/exe";
    // SAFETY: C strings and arrays that end with null pointers.
    let _: c_int = unsafe { libc::execve(SELF.as_ptr(), argv, environ) };
    std::io::Error::last_os_error()
}
