//! Calls that cannot do their work while several processes are one program: `fork` and `dlopen`. And the end of a process that
//! cannot go on.

use crate::malloc::set_errno;
use crate::place;
use core::ffi::{c_char, c_void};
use hetmp_core::report;
use libc::{c_int, pid_t};

/// The address of the definition of a function that the loader finds after this library's.
fn next(name: &core::ffi::CStr) -> usize {
    // SAFETY: the name is a C string.
    let at = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    assert!(at != 0, "a function of the C library");
    at
}

/// `fork`. Refused while nodes run, because the child would write to memory that other nodes hold.
#[no_mangle]
pub(crate) extern "C" fn fork() -> pid_t {
    if place::started() {
        report::warn(format_args!(
            "fork: posix_spawn and system are accepted under HETMP_NODES=dsm"
        ));
        set_errno(libc::ENOSYS);
        return -1;
    }
    // SAFETY: the C library's function has this type.
    let real: extern "C" fn() -> pid_t = unsafe { core::mem::transmute(next(c"fork")) };
    real()
}

/// `dlopen`. While nodes run only system libraries are accepted, and libraries that the program has loaded at its start,
/// because nodes do not share the data of a library that is loaded later.
///
/// # Safety
/// The same as for the C library's function: `name` is null or a C string.
#[no_mangle]
pub(crate) unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    if place::started() && !name.is_null() {
        // SAFETY: `name` is a C string: this function's contract, and it is not null.
        let text = unsafe { core::ffi::CStr::from_ptr(name) }.to_string_lossy();
        // A library that is loaded already, as one of those with which the program was linked, is shared like them.
        // SAFETY: the C library's function has this type, and `name` is a C string.
        let is_loaded = unsafe {
            let real: unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void =
                core::mem::transmute(next(c"dlopen"));
            let found = real(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            !found.is_null() && libc::dlclose(found) == 0
        };
        if !is_loaded && !hetmp_core::program::is_system_library(&text) {
            report::warn(format_args!(
                "dlopen {text}: system libraries are accepted under HETMP_NODES=dsm"
            ));
            return core::ptr::null_mut();
        }
    }
    // SAFETY: the C library's function has this type, and gets the program's own arguments.
    unsafe {
        let real: unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void =
            core::mem::transmute(next(c"dlopen"));
        real(name, flags)
    }
}

/// Ends the process with one line.
pub(crate) fn fail(text: core::fmt::Arguments<'_>) -> ! {
    report::warn(text);
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(2) }
}
