//! Local store and DMA of a slave.

use super::tell;
use core::ffi::{c_int, c_void};
use hetmp_mq::api::{self, From};
use hetmp_mq::verbs;

// `volatile` in the header.
type Reply = c_int;

export_c! {
    /// Memory in the slave's own local store, 64-byte aligned; it is given back by sFree or when the slave ends.
    extern "C" fn sMalloc(kind: c_int, bytes: usize, err: *mut c_int) -> *mut c_void {
        tell(api::allocate(kind, bytes), 0, err, "sMalloc", From::Slave, -1) as *mut c_void
    }
    extern "C" fn sFree(p: *mut c_void, err: *mut c_int) {
        tell(api::free(p as usize), (), err, "sFree", From::Slave, -1);
    }
    /// Start a transfer of `bytes`; when the transfer is done, *reply grows by 1 (sDmaTest and sDmaWait look at it).
    /// Get: from master memory to the local store; Put: the reverse.
    extern "C" fn sDmaGet(local: *mut c_void, master: *const c_void, bytes: usize, reply: *mut Reply, err: *mut c_int) {
        // SAFETY: the program passes two ranges of `bytes` bytes, and a reply that outlives the transfer.
        let result = unsafe { api::transfer(local as usize, master as usize, bytes, local as usize, reply) };
        tell(result, (), err, "sDmaGet", From::Slave, -1);
    }
    extern "C" fn sDmaPut(master: *mut c_void, local: *const c_void, bytes: usize, reply: *mut Reply, err: *mut c_int) {
        // SAFETY: the program passes two ranges of `bytes` bytes, and a reply that outlives the transfer.
        let result = unsafe { api::transfer(master as usize, local as usize, bytes, local as usize, reply) };
        tell(result, (), err, "sDmaPut", From::Slave, -1);
    }
    /// 1 if *reply has reached n, else 0.
    extern "C" fn sDmaTest(reply: *mut Reply, n: c_int) -> c_int {
        api::transfers_done(false);
        // SAFETY: the program passes its counter.
        c_int::from(!reply.is_null() && unsafe { reply.read_volatile() } >= n)
    }
    /// Waits until *reply has reached n, or, after one line, until no transfer is left that could add to it.
    extern "C" fn sDmaWait(reply: *mut Reply, n: c_int) {
        if reply.is_null() {
            return;
        }
        // SAFETY: the program passes its counter, which lives until its transfers are done.
        verbs::wait_for_reply(|| unsafe { reply.read_volatile() }, n);
    }
    /// Copy between the local store and master memory at once. A modelled platform charges the time of direct accesses.
    extern "C" fn sDirectRead(local: *mut c_void, master: *const c_void, bytes: usize) {
        // SAFETY: the program passes two ranges of `bytes` bytes.
        unsafe { api::direct(local as usize, master as usize, bytes) };
    }
    extern "C" fn sDirectWrite(master: *mut c_void, local: *const c_void, bytes: usize) {
        // SAFETY: the program passes two ranges of `bytes` bytes.
        unsafe { api::direct(master as usize, local as usize, bytes) };
    }
}
