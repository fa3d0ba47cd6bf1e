//! Queues: creating, destroying, status.

use super::{place, tell, text};
use core::ffi::{c_char, c_int, c_void};
use hetmp_mq::api::{self, From, Request};
use hetmp_mq::verbs;

// Enumerations of the header. A program may pass any number.
type Kind = c_int;
type Direction = c_int;

export_c! {
    /// Creates a queue between the master and a slave of the cluster, before or after the slave is started.
    /// master_addr: NULL, or where the master's slots lie (master_slots times msg_bytes rounded up to 8).
    /// The slave's slots (slave_slots messages, each rounded up to 64 bytes) are taken from its local store.
    /// Returns the handle, 0 or more; -1 on error.
    extern "C" fn mCreateQueue(
        cluster: c_int,
        name: *const c_char,
        slave: c_int,
        msg_bytes: usize,
        master_slots: c_int,
        slave_slots: c_int,
        master_addr: *mut c_void,
        kind: Kind,
        dir: Direction,
        err: *mut c_int,
    ) -> c_int {
        // `OMP_WAIT_POLICY` is for the waits of queues, too.
        hetmp_omp::init::once();
        let request = Request {
            cluster,
            name: text(name),
            slave,
            msg_bytes,
            master_slots,
            slave_slots,
            master_addr: master_addr as usize,
            kind,
            direction: dir,
        };
        // SAFETY: the program's place, see `place`.
        verbs::create(&request, unsafe { place(err) })
    }
    /// Destroys an empty queue; a slave that waits on it gets MQ_DESTROYED. With messages in it, queued or
    /// held: MQ_NOT_EMPTY, and nothing happens.
    extern "C" fn mDestroyQueue(slave: c_int, handle: c_int, err: *mut c_int) {
        tell(api::destroy(slave, handle), (), err, "mDestroyQueue", From::Master(slave), handle);
    }
    /// Destroys a queue with what is in it. Its slave must not run (MQ_SLAVES_RUNNING). Returns how many messages
    /// were dropped, or -1.
    extern "C" fn mDiscardQueue(slave: c_int, handle: c_int, err: *mut c_int) -> c_int {
        let dropped = api::discard(slave, handle).map(|n| n as c_int);
        tell(dropped, -1, err, "mDiscardQueue", From::Master(slave), handle)
    }
    /// From now on the calling thread uses the master's end. The caller sees to it that the previous user has
    /// finished (and synchronises with it).
    extern "C" fn mAdoptQueue(slave: c_int, handle: c_int, err: *mut c_int) {
        tell(api::adopt(slave, handle), (), err, "mAdoptQueue", From::Master(slave), handle);
    }
    /// The handle of a slave's queue by name; -1 if there is none. With several clusters the lowest one's counts.
    extern "C" fn mGetQueueHandle(slave: c_int, name: *const c_char, err: *mut c_int) -> c_int {
        tell(api::handle_of(From::Master(slave), text(name)), -1, err, "mGetQueueHandle", From::Master(slave), -1)
    }
    /// 1 if the queue exists, else 0.
    extern "C" fn mQueueExists(slave: c_int, handle: c_int) -> c_int {
        c_int::from(api::status(From::Master(slave), handle).is_ok())
    }
    /// The largest message in bytes.
    extern "C" fn mGetQueueMsgSize(slave: c_int, handle: c_int, err: *mut c_int) -> usize {
        let from = From::Master(slave);
        tell(api::status(from, handle).map(|s| s.msg_bytes as usize), 0, err, "mGetQueueMsgSize", from, handle)
    }
    /// Messages that were sent and are not yet released.
    extern "C" fn mGetQueueMsgNum(slave: c_int, handle: c_int, err: *mut c_int) -> c_int {
        let from = From::Master(slave);
        tell(api::status(from, handle).map(|s| s.queued as c_int), 0, err, "mGetQueueMsgNum", from, handle)
    }
    /// A QueueDirection; -1 on error.
    extern "C" fn mGetQueueDirection(slave: c_int, handle: c_int, err: *mut c_int) -> c_int {
        let from = From::Master(slave);
        tell(api::status(from, handle).map(|s| s.direction), -1, err, "mGetQueueDirection", from, handle)
    }
    /// The same for the calling slave.
    extern "C" fn sGetQueueHandle(name: *const c_char, err: *mut c_int) -> c_int {
        tell(api::handle_of(From::Slave, text(name)), -1, err, "sGetQueueHandle", From::Slave, -1)
    }
    extern "C" fn sQueueExists(handle: c_int) -> c_int {
        c_int::from(api::status(From::Slave, handle).is_ok())
    }
    extern "C" fn sGetQueueMsgSize(handle: c_int, err: *mut c_int) -> usize {
        let bytes = api::status(From::Slave, handle).map(|s| s.msg_bytes as usize);
        tell(bytes, 0, err, "sGetQueueMsgSize", From::Slave, handle)
    }
    extern "C" fn sGetQueueMsgNum(handle: c_int, err: *mut c_int) -> c_int {
        let queued = api::status(From::Slave, handle).map(|s| s.queued as c_int);
        tell(queued, 0, err, "sGetQueueMsgNum", From::Slave, handle)
    }
    extern "C" fn sGetQueueDirection(handle: c_int, err: *mut c_int) -> c_int {
        tell(api::status(From::Slave, handle).map(|s| s.direction), -1, err, "sGetQueueDirection", From::Slave, handle)
    }
}
