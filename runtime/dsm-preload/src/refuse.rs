//! Calls that cannot mean what they say while several processes are one program.

use crate::malloc::set_errno;
use crate::place;
use core::ffi::{c_char, c_void};
use hetmp_core::report;
use libc::{c_int, pid_t};

/// The next definition of a function.
fn next(name: &core::ffi::CStr) -> usize {
    // SAFETY: a C string.
    let at = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    assert!(at != 0, "a function of the C library");
    at
}

/// `fork`: the child would write to memory that it does not have.
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

/// `dlopen`: what is opened later has data that nodes do not share.
///
/// # Safety
/// As the C library's.
#[no_mangle]
pub(crate) unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    if place::started() && !name.is_null() {
        // SAFETY: the program that called `dlopen` gave a C string or null, as C demands; it is not null.
        let text = unsafe { core::ffi::CStr::from_ptr(name) }.to_string_lossy();
        if !crate::objects::is_system_library(&text) {
            report::warn(format_args!(
                "dlopen {text}: system libraries are accepted under HETMP_NODES=dsm"
            ));
            return core::ptr::null_mut();
        }
    }
    // SAFETY: the C library's function has this type, and gets the arguments with which the program called.
    unsafe {
        let real: unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void =
            core::mem::transmute(next(c"dlopen"));
        real(name, flags)
    }
}
