//! `<hetmp/nodes.h>`.

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
