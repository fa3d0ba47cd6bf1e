//! `hetmp/device.h`: the functions of device-side posting that run on the host. All other functions of the header
//! are inline and compiled into the program.
//!
//! The documentation of each entry is the program's, too: `abi-compat/surface` writes it and the prototype into the
//! header. Each entry calls one function of [`hetmp_shmem::device`], or of [`cached`] and [`caches`] for a device's
//! cached memory. "The header" in the SAFETY comments means the inline functions of `hetmp/device.h`, which are the
//! only callers of the entries that it does not document.

use core::ffi::{c_char, c_int, c_uint, c_void};
use hetmp_shmem::cached;
use hetmp_shmem::caches;
use hetmp_shmem::device::{self, Queue};
use hetmp_shmem::team::Team;

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_queue_open_layout",
    hetmp_device_queue_open_layout
);
/// Opens a queue of `depth` descriptors (rounded up to a power of two, 2 to 65536) on the host, for operations on the
/// PEs of `team`. Not collective. Programs call hetmp_device_queue_open or hetmp_device_queue_open_flags instead, which
/// add the layout number and the size of the structure that the program was compiled with; others are refused. Returns
/// 0, or a negative HETMP_DEVICE_ constant; then *queue is not open.
unsafe extern "C" fn hetmp_device_queue_open_layout(
    team: Team,
    depth: usize,
    flags: c_uint,
    queue: *mut Queue,
    layout: c_int,
    bytes: usize,
) -> c_int {
    let f = "hetmp_device_queue_open";
    // SAFETY: the header passes the program's structure, and in `bytes` its size.
    unsafe { device::open(f, team, depth, flags, queue, layout, bytes) }
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_queue_drop",
    hetmp_device_queue_drop
);
/// The library's half of hetmp_device_queue_close, after the header's half has waited until all posted operations were
/// done. Not for programs.
unsafe extern "C" fn hetmp_device_queue_drop(queue: *mut Queue) -> c_int {
    // SAFETY: the program passes a structure that `hetmp_device_queue_open_layout` has filled, and no longer uses it.
    unsafe { device::close("hetmp_device_queue_close", queue) }
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_queue_range",
    hetmp_device_queue_range
);
/// The i-th range of memory that a device has to map for this queue. Returns 0, or HETMP_DEVICE_NO_RANGE if there are
/// only i ranges or fewer.
unsafe extern "C" fn hetmp_device_queue_range(
    queue: *const Queue,
    i: c_uint,
    base: *mut *mut c_void,
    bytes: *mut usize,
) -> c_int {
    // SAFETY: the program passes a structure that `hetmp_device_queue_open_layout` has filled, and variables of its
    // own for both answers.
    unsafe { device::range("hetmp_device_queue_range", queue, i, base, bytes) }
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_doorbell",
    hetmp_device_doorbell
);
/// Called by hetmp_ring on the host, for a queue that is not polled: wakes the engine. Not for programs.
unsafe extern "C" fn hetmp_device_doorbell(host: *mut c_void) {
    // SAFETY: the header passes the host end of an open queue, from its initiator.
    unsafe { device::doorbell(host) }
}

crate::entry::api!("HETMP_SHMEM", "hetmp_device_wait", hetmp_device_wait);
/// Called by hetmp_quiet and by a post into a full queue, on the host: waits until the queue's first `done` operations
/// are done. Not for programs.
unsafe extern "C" fn hetmp_device_wait(host: *mut c_void, done: u64) {
    // SAFETY: the header passes the host end of an open queue, from its initiator.
    unsafe { device::wait(host, done) }
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_error_text",
    hetmp_device_error_text
);
/// The text of a return value of these functions; never NULL.
extern "C" fn hetmp_device_error_text(status: c_int) -> *const c_char {
    device::error_text(status).as_ptr()
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_malloc_cached",
    hetmp_device_malloc_cached
);
/// Symmetric memory that a device caches (see "Caches" above), as by shmem_malloc (collective; NULL for 0 bytes or a
/// full heap), in whole pages. shmem_free and shmem_realloc take it; after the latter it is ordinary memory.
extern "C" fn hetmp_device_malloc_cached(bytes: usize) -> *mut c_void {
    cached::malloc("hetmp_device_malloc_cached", bytes).cast()
}

crate::entry::api!("HETMP_SHMEM", "hetmp_device_flush", hetmp_device_flush);
/// Writes cached memory back from inside of a kernel; nobody else writes to it meanwhile.
extern "C" fn hetmp_device_flush(address: *const c_void, bytes: usize) {
    caches::flush("hetmp_device_flush", address.cast(), bytes);
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_kernel_begin",
    hetmp_device_kernel_begin
);
/// Called on the host before a kernel: it sees what peers have put into cached memory. Nobody uses cached memory then.
extern "C" fn hetmp_device_kernel_begin() {
    caches::begin("hetmp_device_kernel_begin");
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_kernel_end",
    hetmp_device_kernel_end
);
/// Called on the host after a kernel: cached memory is written back. Nobody uses cached memory then.
extern "C" fn hetmp_device_kernel_end() {
    caches::end("hetmp_device_kernel_end");
}
