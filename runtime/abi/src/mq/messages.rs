//! Messages.

use super::place;
use core::ffi::{c_int, c_void};
use hetmp_mq::api::{self, From};
use hetmp_mq::verbs::{good, Call};

/// Defines one call for both sides: `m...`, whose first argument is the slave's number, and `s...`.
///
/// The expression `fast` is evaluated first; it sees the side as `$from`. `Some` is the answer of the call. After
/// `None` the expression `slow` is evaluated; it sees the call as `$call`. `slow` is a function of its own with the
/// same arguments: the compiler can jump to it, so the fast path needs no stack frame.
macro_rules! both {
    ($(#[$m:meta])* $master:ident $slave:ident ($handle:ident $(, $a:ident : $t:ty)*) $(-> $r:ty)?,
     |$from:ident, $call:ident| fast $fast:expr, slow $slow:expr) => {
        export!($master);
        export!($slave);
        $(#[$m])*
        #[allow(non_snake_case, reason = "the name is the ABI's")]
        pub(crate) extern "C" fn $master(slave: c_int, $handle: c_int $(, $a: $t)*) $(-> $r)? {
            #[cold]
            #[inline(never)]
            extern "C" fn slow(slave: c_int, $handle: c_int $(, $a: $t)*) $(-> $r)? {
                let $call = Call { name: stringify!($master), from: From::Master(slave), handle: $handle };
                $slow
            }
            let $from = From::Master(slave);
            match $fast {
                Some(answer) => answer,
                None => slow(slave, $handle $(, $a)*),
            }
        }
        $(#[$m])*
        #[allow(non_snake_case, reason = "the name is the ABI's")]
        pub(crate) extern "C" fn $slave($handle: c_int $(, $a: $t)*) $(-> $r)? {
            #[cold]
            #[inline(never)]
            extern "C" fn slow($handle: c_int $(, $a: $t)*) $(-> $r)? {
                let $call = Call { name: stringify!($slave), from: From::Slave, handle: $handle };
                $slow
            }
            let $from = From::Slave;
            match $fast {
                Some(answer) => answer,
                None => slow($handle $(, $a)*),
            }
        }
    };
}

both! {
    /// Takes a slot for the program to fill; waits for a free one. The m-form is the master's, the s-form a slave's.
    mAllocateMsg sAllocateMsg (handle, err: *mut c_int) -> *mut c_void,
    |from, call| fast take(from, handle, true, core::ptr::null_mut(), err),
    slow take_slowly(call, true, true, core::ptr::null_mut(), err)
}
both! {
    /// The same without waiting: NULL with MQ_WOULD_BLOCK if no slot is free.
    mTryAllocateMsg sTryAllocateMsg (handle, err: *mut c_int) -> *mut c_void,
    |from, call| fast take(from, handle, true, core::ptr::null_mut(), err),
    slow take_slowly(call, true, false, core::ptr::null_mut(), err)
}
both! {
    /// Sends a message. bytes: how many of the message count, 0 to the queue's message size.
    mSendMsg sSendMsg (handle, msg: *mut c_void, bytes: c_int, err: *mut c_int),
    |from, call| fast give(from, handle, true, (msg, 1, bytes), err),
    slow give_slowly(call, true, (msg, 1, bytes), err)
}
both! {
    /// The next message; waits for one. *bytes: its length.
    mRecvMsg sRecvMsg (handle, bytes: *mut c_int, err: *mut c_int) -> *mut c_void,
    |from, call| fast take(from, handle, false, bytes, err),
    slow take_slowly(call, false, true, bytes, err)
}
both! {
    /// The same without waiting: NULL with MQ_WOULD_BLOCK if there is none.
    mTryRecvMsg sTryRecvMsg (handle, bytes: *mut c_int, err: *mut c_int) -> *mut c_void,
    |from, call| fast take(from, handle, false, bytes, err),
    slow take_slowly(call, false, false, bytes, err)
}
both! {
    /// Gives a received message's slot back.
    mReleaseMsg sReleaseMsg (handle, msg: *mut c_void, err: *mut c_int),
    |from, call| fast give(from, handle, false, (msg, 1, 0), err),
    slow give_slowly(call, false, (msg, 1, 0), err)
}
export_c! {
    /// The paper's other spellings of sRecvMsg and sTryRecvMsg.
    extern "C" fn sResvMsg(handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void {
        sRecvMsg(handle, bytes, err)
    }
    extern "C" fn sTryResvMsg(handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void {
        sTryRecvMsg(handle, bytes, err)
    }
}
both! {
    /// Several messages at once. Allocate and receive wait for the first message, and also take those that the last
    /// look at the other side showed, up to `want` and up to the end of the ring. `*got` is their number. Message i
    /// lies at the returned address plus i times `*stride` bytes. Send gives all messages the same length. Send and
    /// release take the n oldest messages that the caller holds.
    mAllocateBatch sAllocateBatch (
        handle, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int
    ) -> *mut c_void,
    |from, call| fast batch((from, handle), true, want, (got, stride), err),
    slow batch_slowly(call, true, want, (got, stride), err)
}
both! {
    /// Sends the n oldest allocated messages.
    mSendBatch sSendBatch (handle, first: *mut c_void, n: c_int, bytes: c_int, err: *mut c_int),
    |from, call| fast give(from, handle, true, (first, n, bytes), err),
    slow give_slowly(call, true, (first, n, bytes), err)
}
both! {
    /// Receives several messages.
    mRecvBatch sRecvBatch (handle, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int) -> *mut c_void,
    |from, call| fast batch((from, handle), false, want, (got, stride), err),
    slow batch_slowly(call, false, want, (got, stride), err)
}
both! {
    /// Gives the slots of the n oldest received messages back.
    mReleaseBatch sReleaseBatch (handle, first: *mut c_void, n: c_int, err: *mut c_int),
    |from, call| fast give(from, handle, false, (first, n, 0), err),
    slow give_slowly(call, false, (first, n, 0), err)
}

/// Allocates (`send`) or receives one message by the fast path. `None` if the fast path cannot: the slow path decides.
#[inline(always)]
fn take(
    from: From,
    handle: c_int,
    send: bool,
    bytes: *mut c_int,
    err: *mut c_int,
) -> Option<*mut c_void> {
    // SAFETY: the program's places, see `place`.
    let (bytes, err) = unsafe { (place(bytes), place(err)) };
    let at = api::quick_take(from, handle, send, bytes)?;
    good(err);
    Some(at as *mut c_void)
}

/// Sends (`send`) or releases messages by the fast path. `None` if the fast path cannot: the slow path decides.
#[inline(always)]
fn give(
    from: From,
    handle: c_int,
    send: bool,
    (first, n, bytes): (*mut c_void, c_int, c_int),
    err: *mut c_int,
) -> Option<()> {
    // SAFETY: the program's place, see `place`.
    let done = || good(unsafe { place(err) });
    api::quick_give(from, handle, send, (first as usize, n), bytes, done).then_some(())
}

/// Allocates (`send`) or receives several messages by the fast path. `None` if the fast path cannot: the slow path
/// decides.
#[inline(always)]
fn batch(
    (from, handle): (From, c_int),
    send: bool,
    want: c_int,
    (got, stride): (*mut c_int, *mut usize),
    err: *mut c_int,
) -> Option<*mut c_void> {
    // SAFETY: the program's places, see `place`.
    let (got, stride, err) = unsafe { (place(got)?, place(stride)?, place(err)) };
    let taken = api::quick_take_batch(from, handle, send, want)?;
    *got = taken.n as c_int;
    *stride = taken.stride;
    good(err);
    Some(taken.at as *mut c_void)
}

fn take_slowly(
    call: Call,
    send: bool,
    block: bool,
    bytes: *mut c_int,
    err: *mut c_int,
) -> *mut c_void {
    // SAFETY: the program's places, see `place`.
    let (bytes, err) = unsafe { (place(bytes), place(err)) };
    call.take(send, block, bytes, err) as *mut c_void
}

fn give_slowly(
    call: Call,
    send: bool,
    (first, n, bytes): (*mut c_void, c_int, c_int),
    err: *mut c_int,
) {
    // SAFETY: the program's place, see `place`.
    call.give(send, first as usize, n, bytes, unsafe { place(err) });
}

fn batch_slowly(
    call: Call,
    send: bool,
    want: c_int,
    (got, stride): (*mut c_int, *mut usize),
    err: *mut c_int,
) -> *mut c_void {
    // SAFETY: the program's places, see `place`.
    let (got, stride, err) = unsafe { (place(got), place(stride), place(err)) };
    call.take_batch(send, want, got, stride, err) as *mut c_void
}
