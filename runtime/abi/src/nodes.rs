//! `<hetmp/nodes.h>`, and `<hetmp/dsm.h>`, which `libhetmp_dsm.so` calls.

use core::ffi::CStr;
use libc::c_char;

/// Says which kernel the calling thread runs from now on; null: what hetmp finds itself.
///
/// # Safety
/// `name` is null or a string with a terminating zero.
#[no_mangle]
pub(crate) unsafe extern "C" fn hetmp_kernel(name: *const c_char) {
    let name = if name.is_null() {
        None
    } else {
        // SAFETY: not null, and so a string with a terminating zero: this function's contract.
        Some(unsafe { CStr::from_ptr(name) })
    };
    hetmp_omp::unlike::kernel::tell(name);
}

/// Makes this process a node of a program that runs on several; false if the table is of another version.
///
/// # Safety
/// `table` lives as long as the process.
#[no_mangle]
pub(crate) unsafe extern "C" fn hetmp_across_install(
    table: *const hetmp_omp::across::Table,
) -> bool {
    // SAFETY: it lives as long as the process: this function's contract.
    hetmp_omp::across::install(unsafe { &*table })
}

/// The life of a node that does not run `main`.
#[no_mangle]
pub(crate) extern "C" fn hetmp_across_node() -> ! {
    hetmp_omp::across::serve()
}
