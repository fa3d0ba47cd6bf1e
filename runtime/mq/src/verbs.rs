//! The calls of `hetmp/mq.h`, and what they tell the program: the policy for errors is here and nowhere else.
//!
//! A program that passes a place for the error gets a number there, 0 for success. A program that passes null gets a
//! line for each error, except for [`Error::WouldBlock`], which is a normal answer. Each call says what it returns
//! after a failure.

use crate::api::{self, Error, From, Request};
use crate::slaves;
use core::ffi::c_void;
use hetmp_core::report;

/// Where the error of a call is stored; `None` if the program passed null.
pub type Place<'a> = Option<&'a mut i32>;

/// Stores that nothing went wrong.
#[inline(always)]
pub fn good(err: Place<'_>) {
    if let Some(err) = err {
        *err = 0;
    }
}

/// A call, as error lines describe it.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The function of the header.
    pub name: &'static str,
    /// Which end of the queue it uses.
    pub from: From,
    /// The queue's handle, as the program gave it; -1 for calls without a queue.
    pub handle: i32,
}

impl Call {
    /// Stores an error, or writes it as a line.
    #[cold]
    pub fn failed(&self, error: Error, err: Place<'_>) {
        if let Some(err) = err {
            *err = error as i32;
            return;
        }
        if error == Error::WouldBlock {
            return;
        }
        let (call, handle) = (self.name, self.handle);
        let name = error.c_name().to_string_lossy();
        match self.from {
            From::Master(slave) => report::warn(format_args!(
                "{call} slave {slave} handle {handle}: {error} ({name})"
            )),
            From::Slave => report::warn(format_args!("{call} handle {handle}: {error} ({name})")),
        }
    }

    /// The value of a result. After an error, `bad`, and the error is stored or written.
    #[inline(always)]
    pub fn tell<T>(&self, result: Result<T, Error>, bad: T, err: Place<'_>) -> T {
        match result {
            Ok(value) => {
                good(err);
                value
            }
            Err(error) => {
                self.failed(error, err);
                bad
            }
        }
    }

    /// Allocates (`send`) or receives one message. Returns its address, 0 for none. `bytes` is set to a received
    /// message's length.
    pub fn take(&self, send: bool, block: bool, bytes: Option<&mut i32>, err: Place<'_>) -> usize {
        let taken = api::take(self.from, self.handle, send, 1, block);
        if let (Ok(taken), Some(bytes)) = (&taken, bytes) {
            *bytes = taken.bytes as i32;
        }
        self.tell(taken.map(|t| t.at), 0, err)
    }

    /// Sends (`send`) or releases the `n` oldest held messages. The first lies at `first`; each has `bytes`.
    pub fn give(&self, send: bool, first: usize, n: i32, bytes: i32, err: Place<'_>) {
        let given = api::give(self.from, self.handle, send, first, n, bytes);
        self.tell(given, (), err);
    }

    /// Allocates or receives up to `want` messages. Returns the address of the first, 0 for none. `got` is set to
    /// their number, `stride` to the bytes from one to the next. If one of these two places is missing, nothing is
    /// taken.
    pub fn take_batch(
        &self,
        send: bool,
        want: i32,
        got: Option<&mut i32>,
        stride: Option<&mut usize>,
        err: Place<'_>,
    ) -> usize {
        let taken = match (&got, &stride) {
            (Some(_), Some(_)) => api::take(self.from, self.handle, send, want, true),
            _ => Err(Error::BadAddress),
        };
        if let Some(got) = got {
            *got = taken.as_ref().map_or(0, |t| t.n as i32);
        }
        if let (Ok(taken), Some(stride)) = (&taken, stride) {
            *stride = taken.stride;
        }
        self.tell(taken.map(|t| t.at), 0, err)
    }

    /// Waits until there is something to take. Returns the error's number, 0 for success. Success stores nothing.
    pub fn wait(&self, send: bool, err: Place<'_>) -> i32 {
        match api::wait_for(self.from, self.handle, send) {
            Ok(()) => 0,
            Err(error) => {
                self.failed(error, err);
                error as i32
            }
        }
    }
}

/// Creates a queue. Returns its handle, or -1.
pub fn create(request: &Request<'_>, err: Place<'_>) -> i32 {
    let result = api::create(request);
    if let (Err(error), None) = (&result, &err) {
        report::warn(format_args!(
            "mCreateQueue \"{}\" of slave {} in cluster {} ({} bytes, {} and {} slots): {error} ({})",
            String::from_utf8_lossy(request.name),
            request.slave,
            request.cluster,
            request.msg_bytes,
            request.master_slots,
            request.slave_slots,
            error.c_name().to_string_lossy()
        ));
        return -1;
    }
    let call = Call {
        name: "mCreateQueue",
        from: From::Master(request.slave),
        handle: -1,
    };
    call.tell(result, -1, err)
}

/// Starts slaves. Returns the group's number; `None` after a line.
pub fn start(
    cluster: i32,
    n: i32,
    function: Option<unsafe extern "C" fn(*mut c_void) -> *mut c_void>,
    argument: *mut c_void,
) -> Option<u64> {
    let error = match slaves::start(cluster, n, function, argument) {
        Ok(id) => return Some(id),
        Err(error) => error,
    };
    let most = api::check_cluster(cluster).map_or(0, |_| api::platform().max_slaves);
    report::warn(format_args!(
        "mStartSlaveThreads cluster {cluster} slaves {n}: {error}, {} (expected clusters 0 to {}, 1 to {most} slaves \
            that do not run, and a function)",
        error.c_name().to_string_lossy(),
        i64::from(api::platform().clusters) - 1,
    ));
    None
}

/// Waits for a group of slaves, or writes why it cannot. `asked` is the cluster that the program named, `cluster` the
/// group's own. They may differ: the paper's program starts cluster 0 and waits for cluster 1.
pub fn wait(asked: i32, cluster: i32, id: u64) {
    group("mWaitSlaveThreads", asked, id, slaves::wait(cluster, id));
}

/// Waits for a group of slaves, then forgets it. Otherwise like [`wait`].
pub fn destroy(asked: i32, cluster: i32, id: u64) {
    let result = slaves::destroy(cluster, id);
    group("mDestroySlaveThreads", asked, id, result);
}

fn group(call: &str, cluster: i32, id: u64, result: Result<(), Error>) {
    if let Err(error) = result {
        report::warn(format_args!(
            "{call} cluster {cluster} group {id}: {error}, {} (expected what mStartSlaveThreads returned, until \
                mDestroySlaveThreads)",
            error.c_name().to_string_lossy()
        ));
    }
}

/// Waits until a reply has reached `n`. If no transfer is left that could add to it, returns after a line.
pub fn wait_for_reply(read: impl Fn() -> i32, n: i32) {
    while read() < n {
        if !api::transfers_done(true) {
            let now = read();
            if now < n {
                report::warn(format_args!(
                    "sDmaWait reply {now} of {n}: more than transfers were started (expected at most as many)"
                ));
            }
            return;
        }
    }
}
