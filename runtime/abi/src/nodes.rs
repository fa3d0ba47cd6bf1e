//! The functions of `<hetmp/nodes.h>`, and those that `libhetmp_dsm.so` calls.

use core::ffi::CStr;
use libc::c_char;

crate::entry::api!("HETMP_ENGINE", "hetmp_kernel", hetmp_kernel);
/// Tells the runtime which kernel the calling thread runs from now on. Null: the runtime finds kernels itself
/// again.
///
/// # Safety
/// `name` is null or a string with a terminating zero.
pub(crate) unsafe extern "C" fn hetmp_kernel(name: *const c_char) {
    let name = if name.is_null() {
        None
    } else {
        // SAFETY: not null, and so a string with a terminating zero: this function's contract.
        Some(unsafe { CStr::from_ptr(name) })
    };
    hetmp_omp::unlike::kernel::tell(name);
}

crate::entry::api!("HETMP_ENGINE", "hetmp_across_install", hetmp_across_install);
/// Makes this process a node of a program that runs on several nodes. Returns false if the table's library was made of
/// other sources.
///
/// # Safety
/// `table` lives as long as the process.
pub(crate) unsafe extern "C" fn hetmp_across_install(
    table: *const hetmp_omp::across::Table,
) -> bool {
    // SAFETY: `table` lives as long as the process: this function's contract. In the table of another version there are
    // as many bytes, too.
    let table = unsafe { &*table };
    let same = table.sources == env!("HETMP_SOURCES").as_bytes();
    if same {
        hetmp_omp::node::install(table);
    }
    same
}

crate::entry::api!("HETMP_ENGINE", "hetmp_across_loading", hetmp_across_loading);
/// May the calling thread load a library of the program's own now? If so, `hetmp_across_loaded` must follow.
pub(crate) extern "C" fn hetmp_across_loading() -> bool {
    hetmp_omp::across::may_library_come()
}

crate::entry::api!("HETMP_ENGINE", "hetmp_across_loaded", hetmp_across_loaded);
/// The library `was_loaded`, or could not be. Returns whether it is the first one: no region crosses from then on.
pub(crate) extern "C" fn hetmp_across_loaded(was_loaded: bool) -> bool {
    hetmp_omp::across::library_came(was_loaded)
}

crate::entry::api!("HETMP_ENGINE", "hetmp_across_node", hetmp_across_node);
/// What a node other than the origin does instead of the program's `main`; never returns.
pub(crate) extern "C" fn hetmp_across_node() -> ! {
    hetmp_omp::node::serve()
}
