//! Signalling operations (specification 1.5, section 9.8): a put, and an update of a 64-bit word at the target. Who
//! sees the updated word also sees the data.

use crate::amo::{self, Op, Word};
use crate::context::handle::{self, Ctx};
use crate::fail;
use crate::link;
use crate::wait;
use crate::way::{self, Way};
use core::ffi::c_int;
use core::sync::atomic::{fence, AtomicU64, Ordering};
use hetmp_nic::descriptor::SignalOp;

/// `SHMEM_SIGNAL_SET`.
pub const SET: c_int = 0;
/// `SHMEM_SIGNAL_ADD`.
pub const ADD: c_int = 1;

fn op(f: &'static str, sig_op: c_int, pe: c_int) -> Op {
    match sig_op {
        SET => Op::Set,
        ADD => Op::Add,
        _ => fail::die(
            f,
            format_args!(
                "PE {pe}: signal operation {sig_op}: unknown (expected SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD)"
            ),
        ),
    }
}

/// `shmem_put_signal` and its nonblocking form.
///
/// # Safety
/// As [`rma::put`](crate::rma::put); `sig` is aligned.
#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
#[inline(always)]
pub unsafe fn put(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    sig: *mut u64,
    value: u64,
    sig_op: c_int,
    pe: c_int,
    nbi: bool,
) {
    {
        if let (Some(to), Some(at)) = (
            handle::direct(ctx, dest as usize, bytes, pe),
            handle::direct(ctx, sig as usize, 8, pe),
        ) {
            // SAFETY: both found in bounds; the program keeps `source` readable for `bytes`, as this function's
            // contract says.
            unsafe {
                core::ptr::copy(source, to, bytes);
                let word = AtomicU64::from_ptr(at.cast());
                // A large copy may use stores that bypass the cache. A release store does not order those.
                if bytes >= link::STREAMING {
                    fence(Ordering::SeqCst);
                }
                match sig_op {
                    SET => word.store(value, Ordering::Release),
                    ADD => {
                        word.fetch_add(value, Ordering::Release);
                    }
                    _ => {
                        op(f, sig_op, pe);
                    }
                }
            }
            return;
        }
    }
    // SAFETY: the contract of `put`, which ends in this call: `source` is readable for `bytes`, `sig` is aligned,
    // and the program orders its accesses.
    unsafe { put_cold(f, ctx, dest, source, bytes, sig, (value, sig_op), pe, nbi) }
}

#[allow(clippy::too_many_arguments, reason = "the C function's arguments")]
#[cold]
#[inline(never)]
unsafe fn put_cold(
    f: &'static str,
    ctx: Ctx,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    sig: *mut u64,
    (value, sig_op): (u64, c_int),
    pe: c_int,
    nbi: bool,
) {
    let op = op(f, sig_op, pe);
    let signal = way::find(f, ctx, sig as usize, 8, pe).way;
    // Without bytes only the signal is done, and the data's address need not be valid.
    let data = match way::find(f, ctx, dest as usize, bytes, pe).way {
        Way::Here(_) if bytes == 0 => signal,
        data => data,
    };
    match (data, signal) {
        (Way::Queue(to), Way::Queue(word)) => {
            let how = if op == Op::Set {
                SignalOp::Set
            } else {
                SignalOp::Add
            };
            // SAFETY: `source` is readable for `bytes`, until quiet if `nbi`: the contract of `put`, the only
            // caller.
            unsafe { to.put_signal(f, source, bytes, word.offset, how, value, nbi) };
        }
        (Way::Here(to), Way::Here(at)) => {
            // SAFETY: both found in bounds by `way::find`; `source` is readable for `bytes`: the contract of
            // `put`, the only caller.
            unsafe {
                core::ptr::copy(source, to, bytes);
                fence(Ordering::SeqCst);
                u64::run(at, op, value, 0);
            }
        }
        _ => unreachable!("one PE is reached one way"),
    }
}

/// `shmem_signal_fetch`: the value of this PE's own signal.
///
/// # Safety
/// `sig` is an aligned word.
#[inline(always)]
pub unsafe fn fetch(_f: &'static str, sig: *const u64) -> u64 {
    // SAFETY: this function's contract: `sig` is an aligned word.
    unsafe { AtomicU64::from_ptr(sig.cast_mut()) }.load(Ordering::Acquire)
}

/// `shmem_signal_wait_until`: the value that satisfied the comparison.
///
/// # Safety
/// `sig` is an aligned word.
pub unsafe fn wait_until(f: &'static str, sig: *mut u64, cmp: c_int, value: u64) -> u64 {
    // SAFETY: this function's contract: `sig` is an aligned word.
    unsafe { wait::until(f, sig, cmp, value) }
}

/// `shmem_signal_add` (1.6).
///
/// # Safety
/// `sig` is aligned.
#[inline(always)]
pub unsafe fn add(f: &'static str, ctx: Ctx, sig: *mut u64, value: u64, pe: c_int) {
    // SAFETY: this function's contract: `sig` is aligned.
    unsafe { amo::update(f, ctx, Op::Add, sig, value, pe) }
}

/// `shmem_signal_set` (1.6).
///
/// # Safety
/// `sig` is aligned.
#[inline(always)]
pub unsafe fn set(f: &'static str, ctx: Ctx, sig: *mut u64, value: u64, pe: c_int) {
    // SAFETY: this function's contract: `sig` is aligned.
    unsafe { amo::update(f, ctx, Op::Set, sig, value, pe) }
}
