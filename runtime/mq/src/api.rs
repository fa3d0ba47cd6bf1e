//! The interface as safe functions; `runtime/abi` converts to and from C.
//!
//! Addresses are numbers here: a message's memory is the program's business. `slave` and `handle` come as the program
//! gave them.

pub use crate::error::Error;
pub use crate::queue::{Request, Taken};

use crate::callers::{self, Caller, HANDLES, SLAVES};
use crate::queue::{Queue, Side};
use crate::registry;
use crate::slave::{self, Slave};
use core::sync::atomic::Ordering;

/// Which end a call is for.
#[derive(Clone, Copy, Debug)]
pub enum From {
    /// The master's end of a slave's queue.
    Master(i32),
    /// The calling slave's.
    Slave,
}

/// The calling slave.
///
/// # Errors
/// [`Error::NotASlave`].
#[inline(always)]
pub fn me() -> Result<&'static Slave, Error> {
    slave::current().ok_or(Error::NotASlave)
}

/// The queue and the side of a call.
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

/// Allocates (`send`) or receives up to `want` messages; waits for the first if `block`.
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

/// Sends (`send`) or releases the `n` oldest held messages, the first at `at`, each of `bytes`.
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

/// The ring that the inline paths may use from now on, null where there is none for the calling thread.
#[must_use]
pub fn first_use(from: From, handle: i32, send: bool) -> *const core::ffi::c_void {
    match find(from, handle) {
        Ok((queue, side)) if queue.sends_from(side) == send && queue.is_ring() => {
            core::ptr::from_ref(queue).cast()
        }
        _ => core::ptr::null(),
    }
}

/// Why nothing could be taken just now.
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
/// As a blocking [`take`].
pub fn wait_for(from: From, handle: i32, send: bool) -> Result<(), Error> {
    let (queue, side) = find(from, handle)?;
    if queue.sends_from(side) != send {
        return Err(Error::WrongDirection);
    }
    crate::wait::wait(queue, side)
}

/// The ring that the calling thread owns the sending (receiving) end of, if the fast paths know it.
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
    // SAFETY: the index is within every table of its kind.
    let p = unsafe { &*table.add(at) }.load(Ordering::Acquire);
    // SAFETY: an entry is cleared before its queue is freed, or outlives it in a table of an ended thread.
    let queue = unsafe { p.cast::<Queue>().as_ref() }?;
    (queue.ring_end(send).handle.load(Ordering::Relaxed) == handle as u32).then_some(queue)
}

/// [`take`] of one message where nothing is unusual; its address. `bytes` is told a received message's length.
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

/// [`take`] of several where nothing is unusual.
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

/// [`give`] where nothing is unusual; else false, and nothing is done. A sleeper across is woken after `done`.
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
    // Before the look at the sleeper, so that waking is the last thing an entry does.
    done();
    queue.notify_across(send);
    true
}

/// The calling thread's record, for the inline paths; made on the first call.
#[must_use]
pub fn caller() -> *const Caller {
    registry::get();
    callers::mine()
}

/// Wakes the side across from an end of a ring.
///
/// # Safety
/// `ring` is one that the inline paths found in a table of the calling thread.
pub unsafe fn wake_from(ring: *const core::ffi::c_void, sender: bool) {
    // SAFETY: this function's contract: the ring is in a table of the calling thread, and so a queue that lives.
    unsafe { &*ring.cast::<Queue>() }.notify_across(sender);
}

/// Creates a queue; its handle.
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
/// [`Error::NotEmpty`] and what finding it may say.
pub fn destroy(slave: i32, handle: i32) -> Result<(), Error> {
    let queue = masters(slave, handle)?;
    if !queue.at_rest() {
        return Err(Error::NotEmpty);
    }
    registry::get().remove(queue);
    Ok(())
}

/// Destroys a queue with what is in it; how many messages were dropped.
///
/// # Errors
/// [`Error::SlavesRunning`] and what finding it may say.
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
/// What finding it may say.
pub fn adopt(slave: i32, handle: i32) -> Result<(), Error> {
    masters(slave, handle)?.adopt();
    Ok(())
}

/// What a status query asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Largest message in bytes.
    pub msg_bytes: u32,
    /// Messages sent and not released.
    pub queued: u64,
    /// 0 to the slave, 1 to the master.
    pub direction: i32,
}

/// The status of a queue.
///
/// # Errors
/// What finding it may say.
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

/// The handle of a queue by name.
///
/// # Errors
/// [`Error::NoSuchQueue`].
pub fn handle_of(from: From, name: &[u8]) -> Result<i32, Error> {
    let registry = registry::get();
    let found = match from {
        From::Master(slave) => registry.by_name(registry.check_slave(slave)?, None, name),
        From::Slave => {
            let me = me()?;
            // Its own cluster's first; on one memory also another's.
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

/// Is this a cluster?
///
/// # Errors
/// [`Error::BadCluster`].
pub fn check_cluster(cluster: i32) -> Result<u32, Error> {
    registry::get().check_cluster(cluster)
}

/// Does this slave run?
#[must_use]
pub fn is_alive(cluster: i32, slave: i32) -> bool {
    match (u32::try_from(cluster), u32::try_from(slave)) {
        (Ok(cluster), Ok(slave)) => slave::find(Some(cluster), slave).is_some(),
        _ => false,
    }
}

/// Bytes left in a slave's store.
///
/// # Errors
/// A bad cluster, slave or kind.
pub fn store_left(cluster: i32, slave: i32, kind: i32) -> Result<usize, Error> {
    let registry = registry::get();
    let (cluster, slave) = (
        registry.check_cluster(cluster)?,
        registry.check_slave(slave)?,
    );
    if !(0..=1).contains(&kind) {
        return Err(Error::BadKind);
    }
    Ok(registry.store(cluster, slave).left(kind == 1))
}

/// Takes memory from the calling slave's store.
///
/// # Errors
/// [`Error::NoLocalMemory`], [`Error::BadKind`], [`Error::NotASlave`].
pub fn allocate(kind: i32, bytes: usize) -> Result<usize, Error> {
    let me = me()?;
    if !(0..=1).contains(&kind) {
        return Err(Error::BadKind);
    }
    let at = registry::get()
        .store(me.cluster, me.number)
        .allocate(kind == 1, bytes)?;
    me.took_block(at);
    Ok(at)
}

/// Gives it back.
///
/// # Errors
/// [`Error::ForeignMessage`] for an address that is not the slave's, [`Error::NotASlave`].
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
/// [`Error::NotASlave`]; [`Error::BadAddress`] where `local` is not in the store (on platforms with modelled stores) or
/// an address is null.
///
/// # Safety
/// Both sides are `bytes` long, and `reply`, if not null, lives until the transfer is done.
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
    // SAFETY: this function's contract: both sides are `bytes` long.
    unsafe { core::ptr::copy(from as *const u8, to as *mut u8, bytes) };
    me.began_transfer(me.engine.start(bytes), reply);
    me.finish_transfers();
    Ok(())
}

/// Counts up the replies of transfers that are done; waits for the next one if `block`. False when none
/// is under way.
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

/// Copies between anywhere and the master's memory, at the price of direct access for each 8 bytes.
///
/// # Safety
/// Both sides are `bytes` long.
pub unsafe fn direct(to: usize, from: usize, bytes: usize) {
    if let Some(me) = slave::current() {
        for _ in 0..bytes.div_ceil(8) {
            me.engine.direct_access();
        }
    }
    // SAFETY: this function's contract: both sides are `bytes` long.
    unsafe { core::ptr::copy(from as *const u8, to as *mut u8, bytes) };
}

impl Queue {
    /// Does this side send?
    #[inline(always)]
    fn sends_from(&self, side: Side) -> bool {
        matches!(side, Side::Master)
            == (self.direction() == crate::staged::Direction::MasterToSlave)
    }
}
