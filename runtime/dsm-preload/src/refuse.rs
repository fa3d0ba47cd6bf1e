//! Calls that cannot do their work, or not everywhere, while several processes are one program: `fork`, those that
//! change who the process acts for, and `dlopen`. And the end of a process that cannot go on.

use crate::malloc::set_errno;
use crate::{place, start};
use core::ffi::{c_char, c_void};
use hetmp_core::report;
use libc::c_int;

/// The address of the definition of a function that the loader finds after this library's.
fn next(name: &core::ffi::CStr) -> usize {
    // SAFETY: the name is a C string.
    let at = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
    assert!(at != 0, "a function of the C library");
    at
}

/// Exports functions of the C library that are refused, with a line, while nodes run.
macro_rules! refused {
    ($($error:ident, $what:literal: $($name:ident($($argument:ident: $type:ty),*)),*;)*) => {$($(
        #[doc = concat!("`", stringify!($name), "`. Refused while nodes run.")]
        ///
        /// # Safety
        /// The same as for the C library's function.
        #[no_mangle]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            if place::started() {
                report::warn(format_args!(concat!(stringify!($name), ": ", $what)));
                set_errno(libc::$error);
                return -1;
            }
            // SAFETY: the C library's function has this type, and gets the program's own arguments.
            unsafe {
                let at = next(&std::ffi::CString::new(stringify!($name)).unwrap_or_default());
                let real: unsafe extern "C" fn($($type),*) -> c_int = core::mem::transmute(at);
                real($($argument),*)
            }
        }
    )*)*};
}

refused! {
    // The child would write to memory that other nodes hold. Some of these fork within the C library, which asks
    // nobody.
    ENOSYS, "HETMP_NODES=dsm takes no other way to start a process (expected posix_spawn or system)":
        fork(), _Fork(), daemon(chdir: c_int, close: c_int),
        forkpty(to: *mut c_int, name: *mut c_char, how: *const c_void, size: *const c_void);
    // The C library has every thread make the call, by a signal that the threads which serve pages block and other
    // nodes never get.
    EPERM, "nodes cannot change user and groups (expected a program that keeps them under HETMP_NODES=dsm)":
        setuid(id: u32), setgid(id: u32), seteuid(id: u32), setegid(id: u32),
        setreuid(real: u32, effective: u32), setregid(real: u32, effective: u32),
        setresuid(real: u32, effective: u32, saved: u32), setresgid(real: u32, effective: u32, saved: u32),
        setgroups(count: usize, groups: *const u32), initgroups(user: *const c_char, group: u32);
}

type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// `dlopen`. While nodes run, the data of a library of the program's own that was not there at the start is at the
/// origin only. So such a library is loaded at the origin, while no region crosses, and no region crosses from then on.
///
/// # Safety
/// The same as for the C library's function: `name` is null or a C string.
#[no_mangle]
pub(crate) unsafe extern "C" fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void {
    // SAFETY: the C library's function has this type.
    let real: Open = unsafe { core::mem::transmute(next(c"dlopen")) };
    // SAFETY: the program's own arguments.
    let open = || unsafe { real(name, flags) };
    if !place::started() || name.is_null() {
        return open();
    }
    // SAFETY: `name` is a C string: this function's contract, and it is not null.
    let text = unsafe { core::ffi::CStr::from_ptr(name) }.to_string_lossy();
    // A library that is loaded already, as one of those with which the program was linked, is shared like them.
    // SAFETY: `name` is a C string.
    let is_loaded = unsafe {
        let found = real(name, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        !found.is_null() && libc::dlclose(found) == 0
    };
    if is_loaded || hetmp_core::program::is_system_library(&text) {
        return open();
    }
    if !start::may_load() {
        report::warn(format_args!(
            "dlopen: '{text}': the program's own library, in a region on several nodes (expected loading it elsewhere)"
        ));
        return core::ptr::null_mut();
    }
    let found = open();
    if start::loaded(!found.is_null()) {
        report::warn(format_args!(
            "dlopen: '{text}': the program's own library, loaded after the nodes of HETMP_NODES=dsm started (expected \
             before): all regions stay at the origin from now on"
        ));
    }
    found
}

/// Ends the process with one line.
pub(crate) fn fail(text: core::fmt::Arguments<'_>) -> ! {
    report::warn(text);
    // SAFETY: _exit has no preconditions.
    unsafe { libc::_exit(2) }
}
