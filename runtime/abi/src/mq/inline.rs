//! What the inline functions of `hetmp/mq_inline.h` call.

use super::place;
use core::ffi::{c_int, c_void};
use hetmp_mq::api::{self, From};
use hetmp_mq::verbs::Call;

export_c! {
    /// For the inline functions of the header: the calling thread's tables.
    extern "C" fn mq_caller() -> *const c_void {
        api::caller().cast()
    }
    /// For the inline functions of the header: the ring of a queue that this thread's tables do not have yet.
    extern "C" fn mq_first_use(slave: c_int, handle: c_int, send: c_int) -> *const c_void {
        let from = if slave == -1 && api::me().is_ok() { From::Slave } else { From::Master(slave) };
        api::first_use(from, handle, send != 0)
    }
    /// For the inline functions of the header: stores or prints why a Try form returns null.
    extern "C" fn mq_try_failed(slave: c_int, handle: c_int, _send: c_int, err: *mut c_int) -> *mut c_void {
        let call = inline_call(slave, handle);
        // SAFETY: the program's place, see `place`.
        call.failed(api::why_not(call.from, handle), unsafe { place(err) });
        core::ptr::null_mut()
    }
    /// For the inline functions of the header: waits until a queue has a message to receive (`send` 0) or a free slot
    /// to allocate (`send` 1). `slave` is -1 on a slave. An error is stored or printed.
    extern "C" fn mq_wait(slave: c_int, handle: c_int, send: c_int, err: *mut c_int) -> c_int {
        // SAFETY: the program's place, see `place`.
        inline_call(slave, handle).wait(send != 0, unsafe { place(err) })
    }
    /// For the inline functions of the header: wakes the other side.
    extern "C" fn mq_wake(ring: *const c_void, sender: c_int) {
        // SAFETY: the header passes a ring that it found in a table of this thread.
        unsafe { api::wake_from(ring, sender != 0) }
    }
}

/// A call by an inline function of the header. On a slave, `slave` is -1.
fn inline_call(slave: c_int, handle: c_int) -> Call {
    Call {
        name: "message queue",
        from: if slave < 0 {
            From::Slave
        } else {
            From::Master(slave)
        },
        handle,
    }
}
