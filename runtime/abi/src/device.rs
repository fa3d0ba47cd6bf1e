//! `hetmp/device.h`: the host's part of device-side posting. The rest are inline functions of the header.

use core::ffi::{c_char, c_int, c_uint, c_void};
use hetmp_shmem::device::{self, Queue};
use hetmp_shmem::team::Team;

/// `hetmp_device_queue_open`, with the layout that the program was compiled with.
#[no_mangle]
unsafe extern "C" fn hetmp_device_queue_open_layout(
    team: Team,
    depth: usize,
    flags: c_uint,
    queue: *mut Queue,
    layout: c_int,
    bytes: usize,
) -> c_int {
    let f = "hetmp_device_queue_open";
    // SAFETY: the header passes the program's structure and its size.
    unsafe { device::open(f, team, depth, flags, queue, layout, bytes) }
}

/// The library's half of `hetmp_device_queue_close`, which has waited for what was posted.
#[no_mangle]
unsafe extern "C" fn hetmp_device_queue_drop(queue: *mut Queue) -> c_int {
    // SAFETY: the program passes a structure that open has filled.
    unsafe { device::close("hetmp_device_queue_close", queue) }
}

/// Memory that a device has to map.
#[no_mangle]
unsafe extern "C" fn hetmp_device_queue_range(
    queue: *const Queue,
    i: c_uint,
    base: *mut *mut c_void,
    bytes: *mut usize,
) -> c_int {
    // SAFETY: the program passes a structure that open has filled, and places of its own for both answers.
    unsafe { device::range("hetmp_device_queue_range", queue, i, base, bytes) }
}

/// The doorbell of a queue was rung on the CPU.
#[no_mangle]
unsafe extern "C" fn hetmp_device_doorbell(host: *mut c_void) {
    // SAFETY: the header passes the host end of an open queue, from its initiator.
    unsafe { device::doorbell(host) }
}

/// Waits for operations of a queue.
#[no_mangle]
unsafe extern "C" fn hetmp_device_wait(host: *mut c_void, done: u64) {
    // SAFETY: the header passes the host end of an open queue, from its initiator.
    unsafe { device::wait(host, done) }
}

/// Words for a status.
#[no_mangle]
extern "C" fn hetmp_device_error_text(status: c_int) -> *const c_char {
    device::error_text(status).as_ptr()
}
