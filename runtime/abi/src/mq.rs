//! `hetmp/mq.h`: message queues between a master and slaves.
//!
//! Each entry converts its arguments, calls one
//! function of `hetmp-mq`, and converts the result. [`hetmp_mq::verbs`] stores or prints the errors.

use core::ffi::{c_char, c_int, c_void, CStr};
use hetmp_mq::api::{self, Error, From, Request};
use hetmp_mq::verbs::{self, good, Call};
use std::ffi::CString;

/// `ThreadID`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ThreadId {
    cluster: c_int,
    num: c_int,
    id: u64,
}

const _: () = assert!(size_of::<ThreadId>() == 16 && align_of::<ThreadId>() == 8);

/// The program's variable for an answer; `None` if the program passed null.
///
/// # Safety
/// The pointer is null, or valid for reading and writing as long as the call runs. Programs uphold this: `hetmp/mq.h`
/// asks for a separate variable for each answer. The SAFETY comments of this file name this contract as "see `place`".
#[inline(always)]
unsafe fn place<'a, T>(p: *mut T) -> Option<&'a mut T> {
    // SAFETY: null, or the program's own variable for an answer, as `hetmp/mq.h` asks.
    unsafe { p.as_mut() }
}

/// Exports an entry. The names in the interface's paper are kept. The others, which are as short, begin with `hetmp_`;
/// `hetmp/mq.h` has a macro for each.
macro_rules! export {
    (mAllocateMsg) => { export!("", mAllocateMsg); };
    (mCreateQueue) => { export!("", mCreateQueue); };
    (mDestroySlaveThreads) => { export!("", mDestroySlaveThreads); };
    (mGetSlaveCoreNum) => { export!("", mGetSlaveCoreNum); };
    (mRecvMsg) => { export!("", mRecvMsg); };
    (mReleaseMsg) => { export!("", mReleaseMsg); };
    (mSendMsg) => { export!("", mSendMsg); };
    (mStartSlaveThreads) => { export!("", mStartSlaveThreads); };
    (mWaitSlaveThreads) => { export!("", mWaitSlaveThreads); };
    (sRecvMsg) => { export!("", sRecvMsg); };
    (sReleaseMsg) => { export!("", sReleaseMsg); };
    (sResvMsg) => { export!("", sResvMsg); };
    ($name:ident) => { export!("hetmp_", $name); };
    ($before:literal, $name:ident) => {
        $crate::entry::api!("HETMP_MQ", concat!($before, stringify!($name)), $name);
    };
}

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

/// The bytes of a C string without the final zero; no bytes for null.
fn text<'a>(s: *const c_char) -> &'a [u8] {
    if s.is_null() {
        return &[];
    }
    // SAFETY: the program passes a string with a terminating zero.
    unsafe { CStr::from_ptr(s) }.to_bytes()
}

/// Sets up the rest of the library, so that `OMP_WAIT_POLICY` holds for the waits of queues too.
fn prepare() {
    hetmp_omp::init::once();
}

/// Defines exported functions.
macro_rules! export_c {
    ($($(#[$m:meta])* fn $name:ident($($a:ident : $t:ty),* $(,)?) $(-> $r:ty)? $body:block)*) => {$(
        export!($name);
        $(#[$m])*
        #[allow(non_snake_case, reason = "the name is the ABI's")]
        pub(crate) extern "C" fn $name($($a: $t),*) $(-> $r)? $body
    )*};
}

export_c! {
    /// The meaning of an error.
    fn mqErrorText(err: c_int) -> *const c_char {
        match err {
            0 => c"no error",
            _ => Error::from_number(err).map_or(c"not an error of hetmp/mq.h", Error::c_text),
        }
        .as_ptr()
    }
    /// The name of an error's constant.
    fn mqErrorName(err: c_int) -> *const c_char {
        match err {
            0 => c"MQ_OK",
            _ => Error::from_number(err).map_or(c"unknown", Error::c_name),
        }
        .as_ptr()
    }

    /// The number of slaves of a cluster.
    fn mGetSlaveCoreNum(cluster: c_int) -> c_int {
        api::check_cluster(cluster).map_or(0, |_| api::platform().slaves_here() as c_int)
    }
    /// The most slaves that a cluster can start.
    fn mGetMaxSlaveCoreNum(cluster: c_int) -> c_int {
        api::check_cluster(cluster).map_or(0, |_| api::platform().max_slaves as c_int)
    }
    /// The number of clusters.
    fn mGetClusterNum() -> c_int {
        api::platform().clusters as c_int
    }
    /// The size of a slave's local store in bytes.
    fn mGetLocalMemSize(kind: c_int) -> usize {
        if (0..=1).contains(&kind) { api::platform().store_bytes(kind == 1) } else { 0 }
    }
    /// The bytes that are free in a slave's local store.
    fn mGetLocalMemFree(cluster: c_int, slave: c_int, kind: c_int) -> usize {
        api::store_left(cluster, slave, kind).unwrap_or(0)
    }
    /// The bits of a slave's SIMD register.
    fn mGetSimdWidth() -> c_int {
        api::platform().simd_bits_here() as c_int
    }
    /// The platform's name.
    fn mGetPlatform() -> *const c_char {
        static NAME: std::sync::OnceLock<std::ffi::CString> = std::sync::OnceLock::new();
        NAME.get_or_init(|| std::ffi::CString::new(api::platform().name.replace('\0', "")).unwrap_or_default()).as_ptr()
    }

    /// The number of slaves of the calling slave's cluster.
    fn sGetSlaveCoreNum() -> c_int {
        api::me().map_or(0, |_| api::platform().slaves_here() as c_int)
    }
    /// The size of the calling slave's local store in bytes.
    fn sGetLocalMemSize(kind: c_int) -> usize {
        mGetLocalMemSize(kind)
    }
    /// The bytes that are free in the calling slave's local store.
    fn sGetLocalMemFree(kind: c_int) -> usize {
        api::me().map_or(0, |me| mGetLocalMemFree(me.cluster as c_int, me.number as c_int, kind))
    }
    /// The bits of a slave's SIMD register.
    fn sGetSimdWidth() -> c_int {
        mGetSimdWidth()
    }
    /// The calling slave's number; -1 on a thread that is no slave.
    fn sGetSlaveId() -> c_int {
        api::me().map_or(-1, |me| me.number as c_int)
    }
    /// The calling slave's cluster; -1 on a thread that is no slave.
    fn sGetClusterId() -> c_int {
        api::me().map_or(-1, |me| me.cluster as c_int)
    }

    /// Starts a group of slaves.
    fn mStartSlaveThreads(cluster: c_int, n: c_int, function: *mut c_void, argument: *mut c_void) -> ThreadId {
        prepare();
        // SAFETY: the program passes null or a function that takes one pointer, as the header asks. Whether the
        // function returns a value does not matter: the value would be in a register, which nobody reads.
        let function: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void> = unsafe { core::mem::transmute(function) };
        match verbs::start(cluster, n, function, argument) {
            Some(id) => ThreadId { cluster, num: n, id },
            None => ThreadId { cluster, num: 0, id: 0 },
        }
    }
    /// Waits until all slaves of a group have ended.
    fn mWaitSlaveThreads(cluster: c_int, threads: ThreadId) {
        verbs::wait(cluster, threads.cluster, threads.id);
    }
    /// Waits until all slaves of a group have ended, then forgets the group.
    fn mDestroySlaveThreads(cluster: c_int, threads: ThreadId) {
        verbs::destroy(cluster, threads.cluster, threads.id);
    }
    /// 1 while the slave runs, else 0.
    fn mIsSlaveAlive(cluster: c_int, slave: c_int) -> c_int {
        c_int::from(api::is_alive(cluster, slave))
    }
    /// Loads a shared object with slave functions.
    fn mLoadSlaveImage(cluster: c_int, path: *const c_char) -> c_int {
        if api::check_cluster(cluster).is_err() {
            return Error::BadCluster as c_int;
        }
        if path.is_null() {
            return Error::BadImage as c_int;
        }
        // dlopen looks for a name without a slash in the folders of libraries.
        let path = text(path);
        let here: &[u8] = if path.contains(&b'/') { b"" } else { b"./" };
        let Ok(path) = CString::new([here, path].concat()) else {
            return Error::BadImage as c_int;
        };
        // SAFETY: a string with a terminating zero.
        let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if object.is_null() {
            Error::BadImage as c_int
        } else {
            0
        }
    }
    /// The address of a slave function by its name; null if there is none.
    fn mSlaveFunction(name: *const c_char) -> *mut c_void {
        if name.is_null() {
            return core::ptr::null_mut();
        }
        // SAFETY: the program passes a string with a terminating zero.
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) }
    }

    /// Creates a queue.
    fn mCreateQueue(
        cluster: c_int,
        name: *const c_char,
        slave: c_int,
        msg_bytes: usize,
        master_slots: c_int,
        slave_slots: c_int,
        master_addr: *mut c_void,
        kind: c_int,
        direction: c_int,
        err: *mut c_int,
    ) -> c_int {
        prepare();
        let request = Request {
            cluster,
            name: text(name),
            slave,
            msg_bytes,
            master_slots,
            slave_slots,
            master_addr: master_addr as usize,
            kind,
            direction,
        };
        // SAFETY: the program's place, see `place`.
        verbs::create(&request, unsafe { place(err) })
    }
    /// Destroys a queue that has no messages.
    fn mDestroyQueue(slave: c_int, handle: c_int, err: *mut c_int) {
        tell(api::destroy(slave, handle), (), err, "mDestroyQueue", From::Master(slave), handle);
    }
    /// Destroys a queue with its messages, and returns their number.
    fn mDiscardQueue(slave: c_int, handle: c_int, err: *mut c_int) -> c_int {
        let dropped = api::discard(slave, handle).map(|n| n as c_int);
        tell(dropped, -1, err, "mDiscardQueue", From::Master(slave), handle)
    }
    /// Makes the calling thread the user of the master's end.
    fn mAdoptQueue(slave: c_int, handle: c_int, err: *mut c_int) {
        tell(api::adopt(slave, handle), (), err, "mAdoptQueue", From::Master(slave), handle);
    }
    /// The handle of a slave's queue by name; -1 if there is none.
    fn mGetQueueHandle(slave: c_int, name: *const c_char, err: *mut c_int) -> c_int {
        tell(api::handle_of(From::Master(slave), text(name)), -1, err, "mGetQueueHandle", From::Master(slave), -1)
    }
    /// The handle of the calling slave's queue by name; -1 if there is none.
    fn sGetQueueHandle(name: *const c_char, err: *mut c_int) -> c_int {
        tell(api::handle_of(From::Slave, text(name)), -1, err, "sGetQueueHandle", From::Slave, -1)
    }
    /// 1 if the queue exists, else 0.
    fn mQueueExists(slave: c_int, handle: c_int) -> c_int {
        c_int::from(api::status(From::Master(slave), handle).is_ok())
    }
    /// The size of the queue's largest message in bytes.
    fn mGetQueueMsgSize(slave: c_int, handle: c_int, err: *mut c_int) -> usize {
        let from = From::Master(slave);
        tell(api::status(from, handle).map(|s| s.msg_bytes as usize), 0, err, "mGetQueueMsgSize", from, handle)
    }
    /// The number of messages that were sent and are not yet released.
    fn mGetQueueMsgNum(slave: c_int, handle: c_int, err: *mut c_int) -> c_int {
        let from = From::Master(slave);
        tell(api::status(from, handle).map(|s| s.queued as c_int), 0, err, "mGetQueueMsgNum", from, handle)
    }
    /// The queue's direction; -1 on error.
    fn mGetQueueDirection(slave: c_int, handle: c_int, err: *mut c_int) -> c_int {
        let from = From::Master(slave);
        tell(api::status(from, handle).map(|s| s.direction), -1, err, "mGetQueueDirection", from, handle)
    }
    /// 1 if the queue exists, else 0.
    fn sQueueExists(handle: c_int) -> c_int {
        c_int::from(api::status(From::Slave, handle).is_ok())
    }
    /// The size of the queue's largest message in bytes.
    fn sGetQueueMsgSize(handle: c_int, err: *mut c_int) -> usize {
        tell(api::status(From::Slave, handle).map(|s| s.msg_bytes as usize), 0, err, "sGetQueueMsgSize", From::Slave, handle)
    }
    /// The number of messages that were sent and are not yet released.
    fn sGetQueueMsgNum(handle: c_int, err: *mut c_int) -> c_int {
        tell(api::status(From::Slave, handle).map(|s| s.queued as c_int), 0, err, "sGetQueueMsgNum", From::Slave, handle)
    }
    /// The queue's direction; -1 on error.
    fn sGetQueueDirection(handle: c_int, err: *mut c_int) -> c_int {
        tell(api::status(From::Slave, handle).map(|s| s.direction), -1, err, "sGetQueueDirection", From::Slave, handle)
    }

    /// The paper's other spelling of `sRecvMsg`.
    fn sResvMsg(handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void {
        sRecvMsg(handle, bytes, err)
    }
    /// The paper's other spelling of `sTryRecvMsg`.
    fn sTryResvMsg(handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void {
        sTryRecvMsg(handle, bytes, err)
    }

    /// Allocates memory in the calling slave's local store.
    fn sMalloc(kind: c_int, bytes: usize, err: *mut c_int) -> *mut c_void {
        tell(api::allocate(kind, bytes), 0, err, "sMalloc", From::Slave, -1) as *mut c_void
    }
    /// Frees memory of [`sMalloc`].
    fn sFree(p: *mut c_void, err: *mut c_int) {
        tell(api::free(p as usize), (), err, "sFree", From::Slave, -1);
    }
    /// Starts a transfer from the master's memory to the local store.
    fn sDmaGet(local: *mut c_void, master: *const c_void, bytes: usize, reply: *mut c_int, err: *mut c_int) {
        // SAFETY: the program passes two ranges of `bytes` bytes, and a reply that outlives the transfer.
        let result = unsafe { api::transfer(local as usize, master as usize, bytes, local as usize, reply) };
        tell(result, (), err, "sDmaGet", From::Slave, -1);
    }
    /// Starts a transfer from the local store to the master's memory.
    fn sDmaPut(master: *mut c_void, local: *const c_void, bytes: usize, reply: *mut c_int, err: *mut c_int) {
        // SAFETY: the program passes two ranges of `bytes` bytes, and a reply that outlives the transfer.
        let result = unsafe { api::transfer(master as usize, local as usize, bytes, local as usize, reply) };
        tell(result, (), err, "sDmaPut", From::Slave, -1);
    }
    /// 1 if the reply has reached `n`, else 0.
    fn sDmaTest(reply: *mut c_int, n: c_int) -> c_int {
        api::transfers_done(false);
        // SAFETY: the program passes its counter.
        c_int::from(!reply.is_null() && unsafe { reply.read_volatile() } >= n)
    }
    /// Waits until the reply has reached `n`, or until no transfer is left that could add to the reply.
    fn sDmaWait(reply: *mut c_int, n: c_int) {
        if reply.is_null() {
            return;
        }
        // SAFETY: the program passes its counter, which lives until its transfers are done.
        verbs::wait_for_reply(|| unsafe { reply.read_volatile() }, n);
    }
    /// Copies from the master's memory to the local store, without a transfer that runs on its own.
    fn sDirectRead(local: *mut c_void, master: *const c_void, bytes: usize) {
        // SAFETY: the program passes two ranges of `bytes` bytes.
        unsafe { api::direct(local as usize, master as usize, bytes) };
    }
    /// Copies from the local store to the master's memory, without a transfer that runs on its own.
    fn sDirectWrite(master: *mut c_void, local: *const c_void, bytes: usize) {
        // SAFETY: the program passes two ranges of `bytes` bytes.
        unsafe { api::direct(master as usize, local as usize, bytes) };
    }

    /// For the inline functions of the header: the calling thread's tables.
    fn mq_caller() -> *const c_void {
        api::caller().cast()
    }
    /// For the inline functions of the header: the ring of a queue that this thread's tables do not have yet.
    fn mq_first_use(slave: c_int, handle: c_int, send: c_int) -> *const c_void {
        let from = if slave == -1 && api::me().is_ok() { From::Slave } else { From::Master(slave) };
        api::first_use(from, handle, send != 0)
    }
    /// For the inline functions of the header: stores or prints why a Try form returns null.
    fn mq_try_failed(slave: c_int, handle: c_int, _send: c_int, err: *mut c_int) -> *mut c_void {
        let call = inline_call(slave, handle);
        // SAFETY: the program's place, see `place`.
        call.failed(api::why_not(call.from, handle), unsafe { place(err) });
        core::ptr::null_mut()
    }
    /// For the inline functions of the header: waits until a queue has a message to receive (`send` 0) or a free slot
    /// to allocate (`send` 1). `slave` is -1 on a slave. An error is stored or printed.
    fn mq_wait(slave: c_int, handle: c_int, send: c_int, err: *mut c_int) -> c_int {
        // SAFETY: the program's place, see `place`.
        inline_call(slave, handle).wait(send != 0, unsafe { place(err) })
    }
    /// For the inline functions of the header: wakes the other side.
    fn mq_wake(ring: *const c_void, sender: c_int) {
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

both! {
    /// Allocates a message for the program to fill; waits for a free slot.
    mAllocateMsg sAllocateMsg (handle, err: *mut c_int) -> *mut c_void,
    |from, call| fast take(from, handle, true, core::ptr::null_mut(), err),
    slow take_slowly(call, true, true, core::ptr::null_mut(), err)
}
both! {
    /// Allocates a message for the program to fill; null if no slot is free.
    mTryAllocateMsg sTryAllocateMsg (handle, err: *mut c_int) -> *mut c_void,
    |from, call| fast take(from, handle, true, core::ptr::null_mut(), err),
    slow take_slowly(call, true, false, core::ptr::null_mut(), err)
}
both! {
    /// Sends a message.
    mSendMsg sSendMsg (handle, msg: *mut c_void, bytes: c_int, err: *mut c_int),
    |from, call| fast give(from, handle, true, (msg, 1, bytes), err),
    slow give_slowly(call, true, (msg, 1, bytes), err)
}
both! {
    /// Receives a message; waits for one.
    mRecvMsg sRecvMsg (handle, bytes: *mut c_int, err: *mut c_int) -> *mut c_void,
    |from, call| fast take(from, handle, false, bytes, err),
    slow take_slowly(call, false, true, bytes, err)
}
both! {
    /// Receives a message; null if there is none.
    mTryRecvMsg sTryRecvMsg (handle, bytes: *mut c_int, err: *mut c_int) -> *mut c_void,
    |from, call| fast take(from, handle, false, bytes, err),
    slow take_slowly(call, false, false, bytes, err)
}
both! {
    /// Releases a received message: its slot is free again.
    mReleaseMsg sReleaseMsg (handle, msg: *mut c_void, err: *mut c_int),
    |from, call| fast give(from, handle, false, (msg, 1, 0), err),
    slow give_slowly(call, false, (msg, 1, 0), err)
}
both! {
    /// Allocates several messages for the program to fill.
    mAllocateBatch sAllocateBatch (handle, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int) -> *mut c_void,
    |from, call| fast batch((from, handle), true, want, (got, stride), err),
    slow batch_slowly(call, true, want, (got, stride), err)
}
both! {
    /// Sends several messages.
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
    /// Releases several messages.
    mReleaseBatch sReleaseBatch (handle, first: *mut c_void, n: c_int, err: *mut c_int),
    |from, call| fast give(from, handle, false, (first, n, 0), err),
    slow give_slowly(call, false, (first, n, 0), err)
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

/// The value of a result. After an error, `bad`, and the error is stored or printed.
fn tell<T>(
    result: Result<T, Error>,
    bad: T,
    err: *mut c_int,
    name: &'static str,
    from: From,
    handle: c_int,
) -> T {
    // SAFETY: the program's place, see `place`.
    Call { name, from, handle }.tell(result, bad, unsafe { place(err) })
}
