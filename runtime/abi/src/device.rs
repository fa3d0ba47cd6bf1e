//! `hetmp/device.h`: the functions of device-side posting that run on the host. All other functions of the header
//! are inline and compiled into the program.
//!
//! Each entry calls one function of [`hetmp_shmem::device`], or of [`cached`] for a device's cached memory. "The header" in the SAFETY comments means the inline
//! functions of `hetmp/device.h`, which are the only callers of the entries that it does not document.

use core::ffi::{c_char, c_int, c_uint, c_void};
use hetmp_shmem::cached;
use hetmp_shmem::device::{self, Queue};
use hetmp_shmem::team::Team;

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_queue_open_layout",
    hetmp_device_queue_open_layout
);
/// `hetmp_device_queue_open` and `_open_flags`. The header adds the layout number and the size of the structure
/// that the program was compiled with; the engine refuses others.
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
/// The library's half of `hetmp_device_queue_close`. The header's half has already waited until all posted
/// operations were done.
unsafe extern "C" fn hetmp_device_queue_drop(queue: *mut Queue) -> c_int {
    // SAFETY: the program passes a structure that `hetmp_device_queue_open_layout` has filled, and no longer uses it.
    unsafe { device::close("hetmp_device_queue_close", queue) }
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_queue_range",
    hetmp_device_queue_range
);
/// `hetmp_device_queue_range`: the `i`-th range of memory that a device has to map.
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
/// Called by `hetmp_ring` on the CPU, for a queue that is not polled: wakes the engine.
unsafe extern "C" fn hetmp_device_doorbell(host: *mut c_void) {
    // SAFETY: the header passes the host end of an open queue, from its initiator.
    unsafe { device::doorbell(host) }
}

crate::entry::api!("HETMP_SHMEM", "hetmp_device_wait", hetmp_device_wait);
/// Called by `hetmp_quiet`, and by a post into a full queue, on the CPU: waits until the queue's first `done`
/// operations are done.
unsafe extern "C" fn hetmp_device_wait(host: *mut c_void, done: u64) {
    // SAFETY: the header passes the host end of an open queue, from its initiator.
    unsafe { device::wait(host, done) }
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_error_text",
    hetmp_device_error_text
);
/// `hetmp_device_error_text`.
extern "C" fn hetmp_device_error_text(status: c_int) -> *const c_char {
    device::error_text(status).as_ptr()
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_malloc_cached",
    hetmp_device_malloc_cached
);
/// `hetmp_device_malloc_cached`.
extern "C" fn hetmp_device_malloc_cached(bytes: usize) -> *mut c_void {
    cached::malloc("hetmp_device_malloc_cached", bytes).cast()
}

crate::entry::api!("HETMP_SHMEM", "hetmp_device_flush", hetmp_device_flush);
/// `hetmp_device_flush`.
extern "C" fn hetmp_device_flush(address: *const c_void, bytes: usize) {
    cached::flush("hetmp_device_flush", address.cast(), bytes);
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_kernel_begin",
    hetmp_device_kernel_begin
);
/// `hetmp_device_kernel_begin`.
extern "C" fn hetmp_device_kernel_begin() {
    cached::begin("hetmp_device_kernel_begin");
}

crate::entry::api!(
    "HETMP_SHMEM",
    "hetmp_device_kernel_end",
    hetmp_device_kernel_end
);
/// `hetmp_device_kernel_end`.
extern "C" fn hetmp_device_kernel_end() {
    cached::end("hetmp_device_kernel_end");
}
