//! `hetmp/mq.h`: message queues between a master and slaves.
//!
//! The names are our own, so they are exported without a version node. Each entry converts, calls one function of
//! `hetmp-mq`, and converts back; an error goes through `err`, or, where that is null, becomes one line.

use core::ffi::{c_char, c_int, c_void, CStr};
use hetmp_core::report;
use hetmp_mq::api::{self, Error, From, Request, Taken};
use hetmp_mq::slaves;

/// `ThreadID`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ThreadId {
    cluster: c_int,
    num: c_int,
    id: u64,
}

const _: () = assert!(size_of::<ThreadId>() == 16 && align_of::<ThreadId>() == 8);

/// Stores an error, or says it.
#[cold]
fn failed(err: *mut c_int, error: Error, call: &str, from: From, handle: c_int) {
    if !err.is_null() {
        // SAFETY: the program passes null or an int.
        unsafe { *err = error as c_int };
    } else if error != Error::WouldBlock {
        let name = error.c_name().to_string_lossy();
        match from {
            From::Master(slave) => {
                report::warn(format_args!(
                    "{call} slave {slave} handle {handle}: {error} ({name})"
                ));
            }
            From::Slave => report::warn(format_args!("{call} handle {handle}: {error} ({name})")),
        }
    }
}

#[inline(always)]
fn ok(err: *mut c_int) {
    if !err.is_null() {
        // SAFETY: the program passes null or an int.
        unsafe { *err = 0 };
    }
}

/// The value, or `bad` with the error told.
#[inline(always)]
fn tell<T>(
    result: Result<T, Error>,
    bad: T,
    err: *mut c_int,
    call: &str,
    from: From,
    handle: c_int,
) -> T {
    match result {
        Ok(value) => {
            ok(err);
            value
        }
        Err(error) => {
            failed(err, error, call, from, handle);
            bad
        }
    }
}

/// Takes one message, by `slow` where the fast path does not know how.
#[inline(always)]
fn take(
    from: From,
    handle: c_int,
    send: bool,
    bytes: *mut c_int,
    err: *mut c_int,
    slow: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    // SAFETY: the program passes null or an int.
    match api::quick_take(from, handle, send, unsafe { bytes.as_mut() }) {
        Some(at) => {
            ok(err);
            at as *mut c_void
        }
        None => slow(),
    }
}

/// Sends or releases, likewise.
#[inline(always)]
fn give(
    from: From,
    handle: c_int,
    send: bool,
    (first, n, bytes): (*mut c_void, c_int, c_int),
    err: *mut c_int,
    slow: impl FnOnce(),
) {
    let done = || ok(err);
    if !api::quick_give(from, handle, send, (first as usize, n), bytes, done) {
        slow();
    }
}

/// Defines what an entry calls when its fast path does not know how: a function of the same arguments, so that the call
/// is a jump and the fast path needs no room on the stack.
macro_rules! cold {
    ($name:ident($($a:ident : $t:ty),*) $(-> $r:ty)? $body:block) => {
        #[cold]
        #[inline(never)]
        extern "C" fn $name($($a: $t),*) $(-> $r)? $body
    };
}

fn slow_take(
    from: From,
    handle: c_int,
    (send, block): (bool, bool),
    bytes: *mut c_int,
    err: *mut c_int,
    call: &str,
) -> *mut c_void {
    match api::take(from, handle, send, 1, block) {
        Ok(taken) => {
            if !bytes.is_null() {
                // SAFETY: the program passes null or an int.
                unsafe { *bytes = taken.bytes as c_int };
            }
            ok(err);
            taken.at as *mut c_void
        }
        Err(error) => {
            failed(err, error, call, from, handle);
            core::ptr::null_mut()
        }
    }
}

fn slow_give(
    from: From,
    handle: c_int,
    send: bool,
    (first, n, bytes): (*mut c_void, c_int, c_int),
    err: *mut c_int,
    call: &str,
) {
    tell(
        api::give(from, handle, send, first as usize, n, bytes),
        (),
        err,
        call,
        from,
        handle,
    );
}

/// What a batch took, as C gets it. The places are not null.
#[inline(always)]
fn done_batch(
    taken: &Taken,
    (got, stride): (*mut c_int, *mut usize),
    err: *mut c_int,
) -> *mut c_void {
    // SAFETY: the program's own, and not null.
    unsafe {
        *got = taken.n as c_int;
        *stride = taken.stride;
    }
    ok(err);
    taken.at as *mut c_void
}

#[inline(always)]
fn batch(
    (from, handle): (From, c_int),
    send: bool,
    want: c_int,
    to: (*mut c_int, *mut usize),
    err: *mut c_int,
    slow: impl FnOnce() -> *mut c_void,
) -> *mut c_void {
    if !to.0.is_null() && !to.1.is_null() {
        if let Some(taken) = api::quick_take_batch(from, handle, send, want) {
            return done_batch(&taken, to, err);
        }
    }
    slow()
}

fn slow_batch(
    (from, handle): (From, c_int),
    send: bool,
    want: c_int,
    (got, stride): (*mut c_int, *mut usize),
    err: *mut c_int,
    call: &str,
) -> *mut c_void {
    // Nothing is taken where the answer has no place to go.
    let result = if got.is_null() || stride.is_null() {
        Err(Error::BadAddress)
    } else {
        api::take(from, handle, send, want, true)
    };
    match result {
        Ok(taken) => done_batch(&taken, (got, stride), err),
        Err(error) => {
            if !got.is_null() {
                // SAFETY: not null, so the program's own.
                unsafe { *got = 0 };
            }
            failed(err, error, call, from, handle);
            core::ptr::null_mut()
        }
    }
}

/// The bytes of a C string; none for null.
fn text<'a>(s: *const c_char) -> &'a [u8] {
    if s.is_null() {
        return &[];
    }
    // SAFETY: the program passes a string with a terminating zero.
    unsafe { CStr::from_ptr(s) }.to_bytes()
}

/// The waiting policy is set up with the rest of the library: `OMP_WAIT_POLICY` holds here too.
fn prepare() {
    hetmp_omp::init::once();
}

/// Defines exported functions.
macro_rules! export_c {
    ($($(#[$m:meta])* fn $name:ident($($a:ident : $t:ty),* $(,)?) $(-> $r:ty)? $body:block)*) => {$(
        $(#[$m])*
        #[no_mangle]
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

    /// Slaves of a cluster.
    fn mGetSlaveCoreNum(cluster: c_int) -> c_int {
        api::check_cluster(cluster).map_or(0, |_| api::platform().slaves_here() as c_int)
    }
    /// The most that can be started.
    fn mGetMaxSlaveCoreNum(cluster: c_int) -> c_int {
        api::check_cluster(cluster).map_or(0, |_| api::platform().max_slaves as c_int)
    }
    /// Clusters.
    fn mGetClusterNum() -> c_int {
        api::platform().clusters as c_int
    }
    /// Bytes of a local store.
    fn mGetLocalMemSize(kind: c_int) -> usize {
        if (0..=1).contains(&kind) { api::platform().store_bytes(kind == 1) } else { 0 }
    }
    /// Bytes left.
    fn mGetLocalMemFree(cluster: c_int, slave: c_int, kind: c_int) -> usize {
        api::store_left(cluster, slave, kind).unwrap_or(0)
    }
    /// Bits of a SIMD register.
    fn mGetSimdWidth() -> c_int {
        api::platform().simd_bits_here() as c_int
    }
    /// The platform's name.
    fn mGetPlatform() -> *const c_char {
        static NAME: std::sync::OnceLock<std::ffi::CString> = std::sync::OnceLock::new();
        NAME.get_or_init(|| std::ffi::CString::new(api::platform().name.replace('\0', "")).unwrap_or_default()).as_ptr()
    }

    /// Slaves of the caller's cluster.
    fn sGetSlaveCoreNum() -> c_int {
        api::me().map_or(0, |_| api::platform().slaves_here() as c_int)
    }
    /// Bytes of its store.
    fn sGetLocalMemSize(kind: c_int) -> usize {
        mGetLocalMemSize(kind)
    }
    /// Bytes left.
    fn sGetLocalMemFree(kind: c_int) -> usize {
        api::me().map_or(0, |me| mGetLocalMemFree(me.cluster as c_int, me.number as c_int, kind))
    }
    /// Bits of a SIMD register.
    fn sGetSimdWidth() -> c_int {
        mGetSimdWidth()
    }
    /// The calling slave's number.
    fn sGetSlaveId() -> c_int {
        api::me().map_or(-1, |me| me.number as c_int)
    }
    /// Its cluster.
    fn sGetClusterId() -> c_int {
        api::me().map_or(-1, |me| me.cluster as c_int)
    }

    /// Starts slaves.
    fn mStartSlaveThreads(cluster: c_int, n: c_int, function: *mut c_void, argument: *mut c_void) -> ThreadId {
        prepare();
        // SAFETY: the program passes a function of the type that the header asks for, or null; a result in
        // a register is ignored whether there is one or not.
        let function: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void> = unsafe { core::mem::transmute(function) };
        match slaves::start(cluster, n, function, argument) {
            Ok(id) => ThreadId { cluster, num: n, id },
            Err(error) => {
                let most = mGetMaxSlaveCoreNum(cluster);
                report::warn(format_args!(
                    "mStartSlaveThreads cluster {cluster} slaves {n}: {error} ({}): clusters 0 to {}, 1 to {most} slaves that do not \
                     run, and a function are accepted",
                    error.c_name().to_string_lossy(),
                    mGetClusterNum() - 1,
                ));
                ThreadId { cluster, num: 0, id: 0 }
            }
        }
    }
    /// Waits for slaves.
    fn mWaitSlaveThreads(cluster: c_int, threads: ThreadId) {
        group_call("mWaitSlaveThreads", cluster, threads, slaves::wait);
    }
    /// Forgets slaves.
    fn mDestroySlaveThreads(cluster: c_int, threads: ThreadId) {
        group_call("mDestroySlaveThreads", cluster, threads, slaves::destroy);
    }
    /// Does a slave run?
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
        // SAFETY: the program passes a string with a terminating zero.
        let object = unsafe { libc::dlopen(path, libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if object.is_null() {
            Error::BadImage as c_int
        } else {
            0
        }
    }
    /// A function by name.
    fn mSlaveFunction(name: *const c_char) -> *mut c_void {
        if name.is_null() {
            return core::ptr::null_mut();
        }
        // SAFETY: as above.
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
        let name = text(name);
        let result = api::create(&Request {
            cluster,
            name,
            slave,
            msg_bytes,
            master_slots,
            slave_slots,
            master_addr: master_addr as usize,
            kind,
            direction,
        });
        match result {
            Ok(handle) => {
                ok(err);
                handle
            }
            Err(error) if err.is_null() => {
                report::warn(format_args!(
                    "mCreateQueue \"{}\" of slave {slave} in cluster {cluster} ({msg_bytes} bytes, {master_slots} and \
                     {slave_slots} slots): {error} ({})",
                    String::from_utf8_lossy(name),
                    error.c_name().to_string_lossy()
                ));
                -1
            }
            Err(error) => {
                failed(err, error, "mCreateQueue", From::Master(slave), -1);
                -1
            }
        }
    }
    /// Destroys an empty queue.
    fn mDestroyQueue(slave: c_int, handle: c_int, err: *mut c_int) {
        tell(api::destroy(slave, handle), (), err, "mDestroyQueue", From::Master(slave), handle);
    }
    /// Destroys a queue.
    fn mDiscardQueue(slave: c_int, handle: c_int, err: *mut c_int) -> c_int {
        let dropped = api::discard(slave, handle).map(|n| n as c_int);
        tell(dropped, -1, err, "mDiscardQueue", From::Master(slave), handle)
    }
    /// Takes the master's end over.
    fn mAdoptQueue(slave: c_int, handle: c_int, err: *mut c_int) {
        tell(api::adopt(slave, handle), (), err, "mAdoptQueue", From::Master(slave), handle);
    }
    /// A handle by name.
    fn mGetQueueHandle(slave: c_int, name: *const c_char, err: *mut c_int) -> c_int {
        tell(api::handle_of(From::Master(slave), text(name)), -1, err, "mGetQueueHandle", From::Master(slave), -1)
    }
    /// A handle by name.
    fn sGetQueueHandle(name: *const c_char, err: *mut c_int) -> c_int {
        tell(api::handle_of(From::Slave, text(name)), -1, err, "sGetQueueHandle", From::Slave, -1)
    }
    /// Is there such a queue?
    fn mQueueExists(slave: c_int, handle: c_int) -> c_int {
        c_int::from(api::status(From::Master(slave), handle).is_ok())
    }
    /// Largest message.
    fn mGetQueueMsgSize(slave: c_int, handle: c_int, err: *mut c_int) -> usize {
        let from = From::Master(slave);
        tell(api::status(from, handle).map(|s| s.msg_bytes as usize), 0, err, "mGetQueueMsgSize", from, handle)
    }
    /// Messages in it.
    fn mGetQueueMsgNum(slave: c_int, handle: c_int, err: *mut c_int) -> c_int {
        let from = From::Master(slave);
        tell(api::status(from, handle).map(|s| s.queued as c_int), 0, err, "mGetQueueMsgNum", from, handle)
    }
    /// Direction.
    fn mGetQueueDirection(slave: c_int, handle: c_int, err: *mut c_int) -> c_int {
        let from = From::Master(slave);
        tell(api::status(from, handle).map(|s| s.direction), -1, err, "mGetQueueDirection", from, handle)
    }
    /// Is there such a queue?
    fn sQueueExists(handle: c_int) -> c_int {
        c_int::from(api::status(From::Slave, handle).is_ok())
    }
    /// Largest message.
    fn sGetQueueMsgSize(handle: c_int, err: *mut c_int) -> usize {
        tell(api::status(From::Slave, handle).map(|s| s.msg_bytes as usize), 0, err, "sGetQueueMsgSize", From::Slave, handle)
    }
    /// Messages in it.
    fn sGetQueueMsgNum(handle: c_int, err: *mut c_int) -> c_int {
        tell(api::status(From::Slave, handle).map(|s| s.queued as c_int), 0, err, "sGetQueueMsgNum", From::Slave, handle)
    }
    /// Direction.
    fn sGetQueueDirection(handle: c_int, err: *mut c_int) -> c_int {
        tell(api::status(From::Slave, handle).map(|s| s.direction), -1, err, "sGetQueueDirection", From::Slave, handle)
    }

    /// Waits for a message to fill.
    fn mAllocateMsg(slave: c_int, handle: c_int, err: *mut c_int) -> *mut c_void {
        cold!(slow(slave: c_int, handle: c_int, err: *mut c_int) -> *mut c_void { slow_take(From::Master(slave), handle, (true, true), core::ptr::null_mut(), err, "mAllocateMsg") });
        take(From::Master(slave), handle, true, core::ptr::null_mut(), err, || slow(slave, handle, err))
    }
    /// A message to fill, if there is one.
    fn mTryAllocateMsg(slave: c_int, handle: c_int, err: *mut c_int) -> *mut c_void {
        cold!(slow(slave: c_int, handle: c_int, err: *mut c_int) -> *mut c_void { slow_take(From::Master(slave), handle, (true, false), core::ptr::null_mut(), err, "mTryAllocateMsg") });
        take(From::Master(slave), handle, true, core::ptr::null_mut(), err, || slow(slave, handle, err))
    }
    /// Sends a message.
    fn mSendMsg(slave: c_int, handle: c_int, msg: *mut c_void, bytes: c_int, err: *mut c_int) {
        cold!(slow(slave: c_int, handle: c_int, msg: *mut c_void, bytes: c_int, err: *mut c_int) { slow_give(From::Master(slave), handle, true, (msg, 1, bytes), err, "mSendMsg"); });
        give(From::Master(slave), handle, true, (msg, 1, bytes), err, || slow(slave, handle, msg, bytes, err));
    }
    /// Waits for a message.
    fn mRecvMsg(slave: c_int, handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void {
        cold!(slow(slave: c_int, handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void { slow_take(From::Master(slave), handle, (false, true), bytes, err, "mRecvMsg") });
        take(From::Master(slave), handle, false, bytes, err, || slow(slave, handle, bytes, err))
    }
    /// A message, if there is one.
    fn mTryRecvMsg(slave: c_int, handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void {
        cold!(slow(slave: c_int, handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void { slow_take(From::Master(slave), handle, (false, false), bytes, err, "mTryRecvMsg") });
        take(From::Master(slave), handle, false, bytes, err, || slow(slave, handle, bytes, err))
    }
    /// Gives a message back.
    fn mReleaseMsg(slave: c_int, handle: c_int, msg: *mut c_void, err: *mut c_int) {
        cold!(slow(slave: c_int, handle: c_int, msg: *mut c_void, err: *mut c_int) { slow_give(From::Master(slave), handle, false, (msg, 1, 0), err, "mReleaseMsg"); });
        give(From::Master(slave), handle, false, (msg, 1, 0), err, || slow(slave, handle, msg, err));
    }

    /// Waits for a message to fill.
    fn sAllocateMsg(handle: c_int, err: *mut c_int) -> *mut c_void {
        cold!(slow(handle: c_int, err: *mut c_int) -> *mut c_void { slow_take(From::Slave, handle, (true, true), core::ptr::null_mut(), err, "sAllocateMsg") });
        take(From::Slave, handle, true, core::ptr::null_mut(), err, || slow(handle, err))
    }
    /// A message to fill, if there is one.
    fn sTryAllocateMsg(handle: c_int, err: *mut c_int) -> *mut c_void {
        cold!(slow(handle: c_int, err: *mut c_int) -> *mut c_void { slow_take(From::Slave, handle, (true, false), core::ptr::null_mut(), err, "sTryAllocateMsg") });
        take(From::Slave, handle, true, core::ptr::null_mut(), err, || slow(handle, err))
    }
    /// Sends a message.
    fn sSendMsg(handle: c_int, msg: *mut c_void, bytes: c_int, err: *mut c_int) {
        cold!(slow(handle: c_int, msg: *mut c_void, bytes: c_int, err: *mut c_int) { slow_give(From::Slave, handle, true, (msg, 1, bytes), err, "sSendMsg"); });
        give(From::Slave, handle, true, (msg, 1, bytes), err, || slow(handle, msg, bytes, err));
    }
    /// Waits for a message.
    fn sRecvMsg(handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void {
        cold!(slow(handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void { slow_take(From::Slave, handle, (false, true), bytes, err, "sRecvMsg") });
        take(From::Slave, handle, false, bytes, err, || slow(handle, bytes, err))
    }
    /// A message, if there is one.
    fn sTryRecvMsg(handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void {
        cold!(slow(handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void { slow_take(From::Slave, handle, (false, false), bytes, err, "sTryRecvMsg") });
        take(From::Slave, handle, false, bytes, err, || slow(handle, bytes, err))
    }
    /// Gives a message back.
    fn sReleaseMsg(handle: c_int, msg: *mut c_void, err: *mut c_int) {
        cold!(slow(handle: c_int, msg: *mut c_void, err: *mut c_int) { slow_give(From::Slave, handle, false, (msg, 1, 0), err, "sReleaseMsg"); });
        give(From::Slave, handle, false, (msg, 1, 0), err, || slow(handle, msg, err));
    }
    /// The paper's other spelling of `sRecvMsg`.
    fn sResvMsg(handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void {
        sRecvMsg(handle, bytes, err)
    }
    /// The paper's other spelling of `sTryRecvMsg`.
    fn sTryResvMsg(handle: c_int, bytes: *mut c_int, err: *mut c_int) -> *mut c_void {
        sTryRecvMsg(handle, bytes, err)
    }

    /// Several messages to fill.
    fn mAllocateBatch(slave: c_int, handle: c_int, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int) -> *mut c_void {
        cold!(slow(slave: c_int, handle: c_int, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int) -> *mut c_void { slow_batch((From::Master(slave), handle), true, want, (got, stride), err, "mAllocateBatch") });
        batch((From::Master(slave), handle), true, want, (got, stride), err, || slow(slave, handle, want, got, stride, err))
    }
    /// Sends several.
    fn mSendBatch(slave: c_int, handle: c_int, first: *mut c_void, n: c_int, bytes: c_int, err: *mut c_int) {
        cold!(slow(slave: c_int, handle: c_int, first: *mut c_void, n: c_int, bytes: c_int, err: *mut c_int) { slow_give(From::Master(slave), handle, true, (first, n, bytes), err, "mSendBatch"); });
        give(From::Master(slave), handle, true, (first, n, bytes), err, || slow(slave, handle, first, n, bytes, err));
    }
    /// Several messages.
    fn mRecvBatch(slave: c_int, handle: c_int, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int) -> *mut c_void {
        cold!(slow(slave: c_int, handle: c_int, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int) -> *mut c_void { slow_batch((From::Master(slave), handle), false, want, (got, stride), err, "mRecvBatch") });
        batch((From::Master(slave), handle), false, want, (got, stride), err, || slow(slave, handle, want, got, stride, err))
    }
    /// Gives several back.
    fn mReleaseBatch(slave: c_int, handle: c_int, first: *mut c_void, n: c_int, err: *mut c_int) {
        cold!(slow(slave: c_int, handle: c_int, first: *mut c_void, n: c_int, err: *mut c_int) { slow_give(From::Master(slave), handle, false, (first, n, 0), err, "mReleaseBatch"); });
        give(From::Master(slave), handle, false, (first, n, 0), err, || slow(slave, handle, first, n, err));
    }

    /// Several messages to fill.
    fn sAllocateBatch(handle: c_int, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int) -> *mut c_void {
        cold!(slow(handle: c_int, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int) -> *mut c_void { slow_batch((From::Slave, handle), true, want, (got, stride), err, "sAllocateBatch") });
        batch((From::Slave, handle), true, want, (got, stride), err, || slow(handle, want, got, stride, err))
    }
    /// Sends several.
    fn sSendBatch(handle: c_int, first: *mut c_void, n: c_int, bytes: c_int, err: *mut c_int) {
        cold!(slow(handle: c_int, first: *mut c_void, n: c_int, bytes: c_int, err: *mut c_int) { slow_give(From::Slave, handle, true, (first, n, bytes), err, "sSendBatch"); });
        give(From::Slave, handle, true, (first, n, bytes), err, || slow(handle, first, n, bytes, err));
    }
    /// Several messages.
    fn sRecvBatch(handle: c_int, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int) -> *mut c_void {
        cold!(slow(handle: c_int, want: c_int, got: *mut c_int, stride: *mut usize, err: *mut c_int) -> *mut c_void { slow_batch((From::Slave, handle), false, want, (got, stride), err, "sRecvBatch") });
        batch((From::Slave, handle), false, want, (got, stride), err, || slow(handle, want, got, stride, err))
    }
    /// Gives several back.
    fn sReleaseBatch(handle: c_int, first: *mut c_void, n: c_int, err: *mut c_int) {
        cold!(slow(handle: c_int, first: *mut c_void, n: c_int, err: *mut c_int) { slow_give(From::Slave, handle, false, (first, n, 0), err, "sReleaseBatch"); });
        give(From::Slave, handle, false, (first, n, 0), err, || slow(handle, first, n, err));
    }

    /// Memory of the slave's store.
    fn sMalloc(kind: c_int, bytes: usize, err: *mut c_int) -> *mut c_void {
        tell(api::allocate(kind, bytes), 0, err, "sMalloc", From::Slave, -1) as *mut c_void
    }
    /// Gives it back.
    fn sFree(p: *mut c_void, err: *mut c_int) {
        tell(api::free(p as usize), (), err, "sFree", From::Slave, -1);
    }
    /// Starts a transfer to the store.
    fn sDmaGet(local: *mut c_void, master: *const c_void, bytes: usize, reply: *mut c_int, err: *mut c_int) {
        // SAFETY: by the header's contract both sides are that long and the reply outlives the transfer.
        let result = unsafe { api::transfer(local as usize, master as usize, bytes, local as usize, reply) };
        tell(result, (), err, "sDmaGet", From::Slave, -1);
    }
    /// Starts a transfer from the store.
    fn sDmaPut(master: *mut c_void, local: *const c_void, bytes: usize, reply: *mut c_int, err: *mut c_int) {
        // SAFETY: as in `sDmaGet`.
        let result = unsafe { api::transfer(master as usize, local as usize, bytes, local as usize, reply) };
        tell(result, (), err, "sDmaPut", From::Slave, -1);
    }
    /// Has the reply reached `n`?
    fn sDmaTest(reply: *mut c_int, n: c_int) -> c_int {
        api::transfers_done(false);
        // SAFETY: the program passes its counter.
        c_int::from(!reply.is_null() && unsafe { reply.read_volatile() } >= n)
    }
    /// Waits until it has, or until no transfer is left that could.
    fn sDmaWait(reply: *mut c_int, n: c_int) {
        if reply.is_null() {
            return;
        }
        // SAFETY: the program passes its counter.
        while unsafe { reply.read_volatile() } < n {
            if !api::transfers_done(true) {
                // SAFETY: as above.
                let now = unsafe { reply.read_volatile() };
                if now < n {
                    report::warn(format_args!("sDmaWait reply {now} of {n}: at most as many as transfers were started is accepted"));
                }
                return;
            }
        }
    }
    /// Reads the master's memory directly.
    fn sDirectRead(local: *mut c_void, master: *const c_void, bytes: usize) {
        // SAFETY: by the header's contract both sides are that long.
        unsafe { api::direct(local as usize, master as usize, bytes) };
    }
    /// Writes it.
    fn sDirectWrite(master: *mut c_void, local: *const c_void, bytes: usize) {
        // SAFETY: as above.
        unsafe { api::direct(master as usize, local as usize, bytes) };
    }

    /// For the inline paths: the calling thread's tables.
    fn hetmp_mq_caller() -> *const c_void {
        api::caller().cast()
    }
    /// For the inline paths: the ring of a queue that they do not know yet.
    fn hetmp_mq_first_use(slave: c_int, handle: c_int, send: c_int) -> *const c_void {
        let from = if slave == -1 && api::me().is_ok() { From::Slave } else { From::Master(slave) };
        api::first_use(from, handle, send != 0)
    }
    /// For the inline paths: why there was nothing.
    fn hetmp_mq_try_failed(slave: c_int, handle: c_int, _send: c_int, err: *mut c_int) -> *mut c_void {
        let from = if slave < 0 { From::Slave } else { From::Master(slave) };
        failed(err, api::why_not(from, handle), "message queue", from, handle);
        core::ptr::null_mut()
    }
    /// For the inline paths: waits until there is something to take from (1: room to send in) a queue. `slave` is -1 on a
    /// slave. What is wrong is stored, or said.
    fn hetmp_mq_wait(slave: c_int, handle: c_int, send: c_int, err: *mut c_int) -> c_int {
        let from = if slave < 0 { From::Slave } else { From::Master(slave) };
        match api::wait_for(from, handle, send != 0) {
            Ok(()) => 0,
            Err(error) => {
                failed(err, error, "message queue", from, handle);
                error as c_int
            }
        }
    }
    /// For the inline paths: wakes the other side.
    fn hetmp_mq_wake(ring: *const c_void, sender: c_int) {
        // SAFETY: the header passes a ring that it found in a table of this thread.
        unsafe { api::wake_from(ring, sender != 0) }
    }
}

fn group_call(call: &str, cluster: c_int, threads: ThreadId, f: fn(i32, u64) -> Result<(), Error>) {
    // Any cluster number: the group knows its own (the paper's program asks for 1 and starts 0).
    let result = f(threads.cluster, threads.id);
    if let Err(error) = result {
        report::warn(format_args!(
            "{call} cluster {cluster} group {}: {error} ({}): what mStartSlaveThreads returned, until mDestroySlaveThreads, is \
             accepted",
            threads.id,
            error.c_name().to_string_lossy()
        ));
    }
}
