//! The C interface as safe functions. `runtime/abi` converts arguments to and from C.
//!
//! Addresses are numbers here, because the memory of messages belongs to the program. `slave` and `handle` are passed
//! as the program gave them; every function checks them.

pub use crate::error::Error;
pub use crate::queue::{Request, Taken};

use crate::callers::{self, Caller, HANDLES, SLAVES};
use crate::platform::Kind;
use crate::queue::{Queue, Side};
use crate::registry;
use crate::slave::{self, Slave};
use core::sync::atomic::Ordering;

/// The end of a queue that a call uses.
#[derive(Clone, Copy, Debug)]
pub enum From {
    /// The master's end of a slave's queue.
    Master(i32),
    /// The end of the calling slave.
    Slave,
}

/// The slave that the calling thread is.
///
/// # Errors
/// [`Error::NotASlave`].
#[inline(always)]
pub fn me() -> Result<&'static Slave, Error> {
    slave::current().ok_or(Error::NotASlave)
}

/// The queue of a call, and the side from which it comes.
#[inline(always)]
fn find(from: From, handle: i32) -> Result<(&'static Queue, Side), Error> {
    let (slave, side) = match from {
        From::Master(_) if slave::current().is_some() => return Err(Error::NotTheMaster),
        From::Master(slave) => (
            u32::try_from(slave).map_err(|_| Error::BadSlave)?,
            Side::Master,
        ),
        From::Slave => {
            let me = me()?;
            (me.number, Side::Slave(me))
        }
    };
    let queue = registry::get().queue(slave, handle)?;
    queue.enter(side)?;
    Ok((queue, side))
}

/// Allocates (`send`) or receives up to `want` messages. With `block` it waits for the first one.
///
/// # Errors
/// See `mq.h`.
#[inline(always)]
pub fn take(from: From, handle: i32, send: bool, want: i32, block: bool) -> Result<Taken, Error> {
    let (queue, side) = find(from, handle)?;
    if queue.sends_from(side) != send {
        return Err(Error::WrongDirection);
    }
    if want < 1 {
        return Err(Error::BadCount);
    }
    loop {
        if let Some(taken) = queue.try_take(side, want as u32) {
            return Ok(taken);
        }
        if !block {
            return Err(if queue.holds_all(side) {
                Error::AllHeld
            } else {
                Error::WouldBlock
            });
        }
        crate::wait::wait(queue, side)?;
    }
}

/// Sends (`send`) or releases the `n` oldest held messages. The first lies at `at`; each has `bytes`.
///
/// # Errors
/// See `mq.h`.
#[inline(always)]
pub fn give(
    from: From,
    handle: i32,
    send: bool,
    at: usize,
    n: i32,
    bytes: i32,
) -> Result<(), Error> {
    let (queue, side) = find(from, handle)?;
    if n < 1 {
        return Err(Error::BadCount);
    }
    queue.give(side, send, at, n as u32, bytes)
}

/// The ring that the inline paths may use from now on; null if there is none for the calling thread.
#[must_use]
pub fn first_use(from: From, handle: i32, send: bool) -> *const core::ffi::c_void {
    match find(from, handle) {
        Ok((queue, side)) if queue.sends_from(side) == send && queue.is_ring() => {
            core::ptr::from_ref(queue).cast()
        }
        _ => core::ptr::null(),
    }
}

/// Why nothing could be taken now.
#[must_use]
pub fn why_not(from: From, handle: i32) -> Error {
    match find(from, handle) {
        Ok((queue, side)) if queue.holds_all(side) => Error::AllHeld,
        Ok(_) => Error::WouldBlock,
        Err(error) => error,
    }
}

/// Waits until there is something to take.
///
/// # Errors
/// Those of a blocking [`take`].
pub fn wait_for(from: From, handle: i32, send: bool) -> Result<(), Error> {
    let (queue, side) = find(from, handle)?;
    if queue.sends_from(side) != send {
        return Err(Error::WrongDirection);
    }
    crate::wait::wait(queue, side)
}

/// The ring whose sending (or receiving) end the calling thread owns, if it is in the tables of the fast paths.
#[inline(always)]
fn ring(from: From, handle: i32, send: bool) -> Option<&'static Queue> {
    let caller = callers::current()?;
    let index = handle as usize & (HANDLES - 1);
    let (table, at) = match from {
        From::Master(slave) if (slave as u32 as usize) < SLAVES => (
            if send { caller.m_send } else { caller.m_recv },
            slave as usize * HANDLES + index,
        ),
        From::Master(_) => return None,
        From::Slave => (if send { caller.s_send } else { caller.s_recv }, index),
    };
    // SAFETY: the index is below the table's length: `HANDLES` for a slave's tables, `SLAVES * HANDLES` for a
    // master's.
    let p = unsafe { &*table.add(at) }.load(Ordering::Acquire);
    // SAFETY: an entry is cleared before its queue is freed; entries in the table of an ended thread are never looked
    // at.
    let queue = unsafe { p.cast::<Queue>().as_ref() }?;
    (queue.ring_end(send).handle.load(Ordering::Relaxed) == handle as u32).then_some(queue)
}

/// [`take`] of one message without slow cases. Returns its address. `bytes` is set to a received message's length.
#[inline(always)]
#[must_use]
pub fn quick_take(from: From, handle: i32, send: bool, bytes: Option<&mut i32>) -> Option<usize> {
    let queue = ring(from, handle, send)?;
    let end = queue.ring_end(send);
    if send {
        return end.try_allocate(queue);
    }
    let at = end.try_receive(queue)?;
    if let Some(bytes) = bytes {
        *bytes = end.length(at, queue) as i32;
    }
    Some(at)
}

/// [`take`] of several messages without slow cases.
#[inline(always)]
#[must_use]
pub fn quick_take_batch(from: From, handle: i32, send: bool, want: i32) -> Option<Taken> {
    let queue = ring(from, handle, send)?;
    if want < 1 {
        return None;
    }
    let end = queue.ring_end(send);
    let (at, n) = if send {
        end.try_allocate_batch(want as u32, queue)?
    } else {
        end.try_receive_batch(want as u32, queue)?
    };
    Some(Taken {
        at,
        n,
        stride: end.stride(),
        bytes: 0,
    })
}

/// [`give`] without slow cases; returns false, without effect, in all other cases. A sleeper on the other side is
/// woken after `done`.
#[inline(always)]
#[must_use]
pub fn quick_give(
    from: From,
    handle: i32,
    send: bool,
    (first, n): (usize, i32),
    bytes: i32,
    done: impl FnOnce(),
) -> bool {
    let Some(queue) = ring(from, handle, send) else {
        return false;
    };
    let end = queue.ring_end(send);
    if send && !end.is_usual(bytes as u32) {
        return false;
    }
    match if n == 1 { end.after_only(first) } else { None } {
        Some(at) if send => end.send_only(at, queue),
        Some(at) => end.release_only(at, queue),
        None => {
            if !end.holds_at_least(n, first) {
                return false;
            }
            if send {
                end.send_usual(n as u32, queue);
            } else {
                end.release(n as u32, queue);
            }
        }
    }
    // Before the look for a sleeper, so that the wake-up is the last thing that a call does.
    done();
    queue.notify_across(send);
    true
}

/// The calling thread's record, for the inline paths. Made at the thread's first call.
#[must_use]
pub fn caller() -> *const Caller {
    registry::get();
    callers::mine()
}

/// Wakes the thread on the other side of a ring.
///
/// # Safety
/// `ring` was found by the inline paths in a table of the calling thread.
pub unsafe fn wake_from(ring: *const core::ffi::c_void, sender: bool) {
    // SAFETY: who calls has found the ring in a table of the calling thread, and queues in tables are alive.
    unsafe { &*ring.cast::<Queue>() }.notify_across(sender);
}

/// Creates a queue, and returns its handle.
///
/// # Errors
/// See `mq.h`.
pub fn create(request: &Request<'_>) -> Result<i32, Error> {
    registry::get().create(request)
}

fn masters(slave: i32, handle: i32) -> Result<&'static Queue, Error> {
    if slave::current().is_some() {
        return Err(Error::NotTheMaster);
    }
    let slave = registry::get().check_slave(slave)?;
    registry::get().queue(slave, handle)
}

/// Destroys an empty queue.
///
/// # Errors
/// [`Error::NotEmpty`], and those of finding the queue.
pub fn destroy(slave: i32, handle: i32) -> Result<(), Error> {
    let queue = masters(slave, handle)?;
    if !queue.at_rest() {
        return Err(Error::NotEmpty);
    }
    registry::get().remove(queue);
    Ok(())
}

/// Destroys a queue with its messages, and returns how many were dropped.
///
/// # Errors
/// [`Error::SlavesRunning`], and those of finding the queue.
pub fn discard(slave: i32, handle: i32) -> Result<u64, Error> {
    let queue = masters(slave, handle)?;
    if queue.has_slave() {
        return Err(Error::SlavesRunning);
    }
    let dropped = queue.queued();
    registry::get().remove(queue);
    Ok(dropped)
}

/// Makes the calling thread the user of the master's end.
///
/// # Errors
/// Those of finding the queue.
pub fn adopt(slave: i32, handle: i32) -> Result<(), Error> {
    masters(slave, handle)?.adopt();
    Ok(())
}

/// The answer to a status query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Largest message in bytes.
    pub msg_bytes: u32,
    /// How many messages were sent and not released.
    pub queued: u64,
    /// 0: to the slave; 1: to the master.
    pub direction: i32,
}

/// The status of a queue.
///
/// # Errors
/// Those of finding the queue.
pub fn status(from: From, handle: i32) -> Result<Status, Error> {
    let queue = match from {
        From::Master(slave) => masters(slave, handle)?,
        From::Slave => find(from, handle)?.0,
    };
    Ok(Status {
        msg_bytes: queue.msg_bytes(),
        queued: queue.queued(),
        direction: queue.direction() as i32,
    })
}

/// The handle of the queue with this name.
///
/// # Errors
/// [`Error::NoSuchQueue`].
pub fn handle_of(from: From, name: &[u8]) -> Result<i32, Error> {
    let registry = registry::get();
    let found = match from {
        From::Master(slave) => registry.by_name(registry.check_slave(slave)?, None, name),
        From::Slave => {
            let me = me()?;
            // First among queues of the slave's own cluster. Where all clusters share one memory, then among the
            // others'.
            registry
                .by_name(me.number, Some(me.cluster), name)
                .or_else(|| {
                    if registry.platform.staged() {
                        None
                    } else {
                        registry.by_name(me.number, None, name)
                    }
                })
        }
    };
    found.map(|queue| queue.handle).ok_or(Error::NoSuchQueue)
}

/// The platform of the process.
#[must_use]
pub fn platform() -> &'static crate::platform::Platform {
    &registry::get().platform
}

/// The cluster with this number, if there is one.
///
/// # Errors
/// [`Error::BadCluster`].
pub fn check_cluster(cluster: i32) -> Result<u32, Error> {
    registry::get().check_cluster(cluster)
}

/// True if this slave runs.
#[must_use]
pub fn is_alive(cluster: i32, slave: i32) -> bool {
    match (u32::try_from(cluster), u32::try_from(slave)) {
        (Ok(cluster), Ok(slave)) => slave::find(Some(cluster), slave).is_some(),
        _ => false,
    }
}

/// How many bytes are left in a slave's store.
///
/// # Errors
/// A cluster, slave or kind that does not exist.
pub fn store_left(cluster: i32, slave: i32, kind: i32) -> Result<usize, Error> {
    let registry = registry::get();
    let (cluster, slave) = (
        registry.check_cluster(cluster)?,
        registry.check_slave(slave)?,
    );
    let kind = Kind::from_number(kind).ok_or(Error::BadKind)?;
    Ok(registry.store(cluster, slave).left(kind))
}

/// Allocates memory in the calling slave's store.
///
/// # Errors
/// [`Error::NoLocalMemory`], [`Error::BadKind`], [`Error::NotASlave`].
pub fn allocate(kind: i32, bytes: usize) -> Result<usize, Error> {
    let me = me()?;
    let kind = Kind::from_number(kind).ok_or(Error::BadKind)?;
    let at = registry::get()
        .store(me.cluster, me.number)
        .allocate(kind, bytes)?;
    me.took_block(at);
    Ok(at)
}

/// Frees memory of the calling slave's store.
///
/// # Errors
/// [`Error::ForeignMessage`] for an address that is not the slave's; [`Error::NotASlave`].
pub fn free(address: usize) -> Result<(), Error> {
    let me = me()?;
    if me.gave_block(address) && registry::get().store(me.cluster, me.number).free(address) {
        Ok(())
    } else {
        Err(Error::ForeignMessage)
    }
}

/// Starts a transfer between the calling slave's store and the master's memory.
///
/// # Errors
/// [`Error::NotASlave`]; [`Error::BadAddress`] if an address is null or, on platforms with modelled stores, if
/// `local` is not in the store.
///
/// # Safety
/// Both sides are `bytes` long. `reply` is null, or lives until the transfer is done.
pub unsafe fn transfer(
    to: usize,
    from: usize,
    bytes: usize,
    local: usize,
    reply: *mut i32,
) -> Result<(), Error> {
    let me = me()?;
    let store = registry::get().store(me.cluster, me.number);
    if to == 0 || from == 0 || registry::get().platform.staged() && !store.contains(local, bytes) {
        return Err(Error::BadAddress);
    }
    // SAFETY: who calls has promised that both sides are `bytes` long.
    unsafe { core::ptr::copy(from as *const u8, to as *mut u8, bytes) };
    me.began_transfer(me.engine.start(bytes), reply);
    me.finish_transfers();
    Ok(())
}

/// Adds to the reply counters of transfers that are done. With `block` it waits for the next one. False if no
/// transfer is under way.
pub fn transfers_done(block: bool) -> bool {
    let Some(me) = slave::current() else {
        return false;
    };
    match me.finish_transfers() {
        None => false,
        Some(ends) => {
            if block {
                me.engine.wait(ends);
                me.finish_transfers();
            }
            true
        }
    }
}

/// Copies between any memory and the master's. On modelled platforms each 8 bytes cost the time of one direct access.
///
/// # Safety
/// Both sides are `bytes` long.
pub unsafe fn direct(to: usize, from: usize, bytes: usize) {
    if let Some(me) = slave::current() {
        for _ in 0..bytes.div_ceil(8) {
            me.engine.direct_access();
        }
    }
    // SAFETY: who calls has promised that both sides are `bytes` long.
    unsafe { core::ptr::copy(from as *const u8, to as *mut u8, bytes) };
}

impl Queue {
    /// True if this side sends.
    #[inline(always)]
    fn sends_from(&self, side: Side) -> bool {
        matches!(side, Side::Master)
            == (self.direction() == crate::staged::Direction::MasterToSlave)
    }
}
