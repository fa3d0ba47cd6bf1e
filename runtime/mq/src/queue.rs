//! One queue: its two ends, its memory, and what a call does to it.
//!
//! The steps are in [`crate::ring`] and [`crate::staged`]; here they meet memory and threads. [`users`] says which
//! thread may call, and [`stages`] what a call does to a queue of two stages.
//!
//! **Who may touch what.** The master's side belongs to the thread in `owner` of the master's end, the slave's side
//! to the slave in `user`. The first call on a side takes it, and every later call checks it. The `SAFETY` comments
//! below rely on this.

mod stages;
mod users;

use crate::error::Error;
use crate::platform::{Kind, Platform};
use crate::ring::{End, Memory, Shape};
use crate::slave::Slave;
use crate::staged::{self, Direction, MasterSide, SlaveSide};
use crate::store::Store;
use crate::strict::Guarded;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use crossbeam_utils::CachePadded;
use hetmp_core::sleep::Sleep;
use hetmp_core::sync::{AtomicU64, AtomicUsize};
use memmap2::{MmapOptions, MmapRaw};
use stages::Copier;

/// The side that a call comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Master,
    Slave(&'static Slave),
}

/// The arguments of `mCreateQueue`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The cluster's number.
    pub cluster: i32,
    /// The name, without its terminating zero.
    pub name: &'a [u8],
    /// The slave's number.
    pub slave: i32,
    /// Largest message in bytes.
    pub msg_bytes: usize,
    /// Slots at the master.
    pub master_slots: i32,
    /// Slots in the store.
    pub slave_slots: i32,
    /// Where the master's slots shall lie; 0 for any place.
    pub master_addr: usize,
    /// The number of a [`Kind`].
    pub kind: i32,
    /// 0: to the slave; 1: to the master.
    pub direction: i32,
}

/// Identifies a queue: its slave's cluster and number, its handle, and its direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) cluster: u32,
    pub(crate) slave: u32,
    pub(crate) handle: i32,
    pub(crate) direction: Direction,
}

/// The result of a receive or allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Address of the first message.
    pub at: usize,
    /// How many messages.
    pub n: u32,
    /// Bytes from one message to the next.
    pub stride: usize,
    /// Length of the first message, if it was received.
    pub bytes: u32,
}

/// A queue. Its two ends come first, so that the address of an end leads to the queue.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Queue {
    sender: End,
    receiver: End,
    released: CachePadded<AtomicUsize>,
    sent: CachePadded<AtomicUsize>,
    seldom: CachePadded<Seldom>,
    pub(crate) cluster: u32,
    pub(crate) slave: u32,
    pub(crate) handle: i32,
    direction: Direction,
    msg_bytes: u32,
    name: Box<[u8]>,
    closed: AtomicBool,
    /// The entry by which the fast paths of the master's thread find this queue, or null.
    shown: AtomicPtr<AtomicPtr<c_void>>,
    /// The slave that uses the slave's end. A stand-in, neither null nor a slave, while the master moves messages of
    /// a slave that has ended.
    user: AtomicPtr<Slave>,
    store: &'static Store,
    /// The address of the queue's block in the local store.
    block: usize,
    body: Body,
}

/// What both sides often read and seldom store.
#[derive(Debug)]
#[repr(C)]
struct Seldom {
    /// The sender's and the receiver's sleep.
    sleeps: [Sleep; 2],
    /// Not 0 after a message was shorter than the largest.
    varied: AtomicU32,
    /// For a ring: by how much each slot's message is shorter than the largest.
    missing: *const AtomicU32,
}

const _: () = {
    assert!(core::mem::offset_of!(Queue, receiver) == 128);
    assert!(core::mem::offset_of!(Queue, released) == 256);
    assert!(core::mem::offset_of!(Queue, sent) == 384);
    assert!(core::mem::offset_of!(Queue, seldom) == 512);
    assert!(core::mem::offset_of!(Seldom, varied) == 8);
    assert!(core::mem::offset_of!(Seldom, missing) == 16);
};

#[derive(Debug)]
enum Body {
    /// The memory of the messages.
    Ring {
        _memory: MmapRaw,
    },
    Staged(Box<Stages>),
}

#[derive(Debug)]
struct Stages {
    list: Box<[AtomicU64]>,
    master: UnsafeCell<MasterSide>,
    slave: UnsafeCell<SlaveSide>,
    /// Slots in the store that are not Idle, and messages there. The slave stores both.
    used: AtomicU32,
    messages: AtomicU32,
    /// Slots that the slave's program holds. The slave stores it.
    held: AtomicU32,
    /// Where the program sees the master's slots (`shown`), and where transfers reach them (`master_base`).
    shown: usize,
    master_base: usize,
    master_stride: usize,
    /// The same of the slots in the store.
    slave_shown: usize,
    slave_base: usize,
    slave_stride: usize,
    guard: Option<Guarded>,
    slave_guard: Option<Guarded>,
    /// The memory of the master's slots, if the library made it.
    mapping: Option<MmapRaw>,
}

// SAFETY: each cell is touched only by the side to which it belongs ("Who may touch what").
unsafe impl Sync for Queue {}
// SAFETY: no field belongs to the thread that made the queue.
unsafe impl Send for Queue {}

fn map(len: usize) -> Result<MmapRaw, Error> {
    let mut options = MmapOptions::new();
    let map = options.len(len).no_reserve_swap().map_anon();
    map.map(MmapRaw::from).map_err(|_| Error::NoMemory)
}

impl Memory for Queue {
    #[inline(always)]
    fn sent(&self) -> &AtomicUsize {
        &self.sent
    }
    #[inline(always)]
    fn released(&self) -> &AtomicUsize {
        &self.released
    }
    #[inline(always)]
    fn varied(&self) -> &AtomicU32 {
        &self.seldom.varied
    }
    #[inline(always)]
    fn missing(&self, index: usize) -> &AtomicU32 {
        // SAFETY: `End` passes indexes of its ring's slots only, and the row has a word for each of them, in memory
        // that lives as long as the queue.
        unsafe { &*self.seldom.missing.add(index) }
    }
    #[inline(always)]
    fn soon(&self, address: usize) {
        hetmp_core::sync::will_write(address);
    }
}

impl Queue {
    pub(crate) fn new(
        request: &Request<'_>,
        key: Key,
        kind: Kind,
        store: &'static Store,
        platform: &Platform,
    ) -> Result<Box<Queue>, Error> {
        let Key {
            cluster,
            slave,
            handle,
            direction,
        } = key;
        let msg_bytes = request.msg_bytes as u32;
        let (m_slots, s_slots) = (request.master_slots as u32, request.slave_slots as u32);
        let slave_stride = (msg_bytes as usize).next_multiple_of(64);
        let block = store.allocate(kind, slave_stride * s_slots as usize)?;
        let give_back = |error: Error| {
            store.free(block);
            error
        };
        let staged = platform.staged() || request.master_addr != 0;
        let shape = Shape {
            first: 0,
            stride: Shape::stride(msg_bytes),
            // One slot always stays empty.
            slots: m_slots + s_slots + 1,
            msg_bytes,
        };
        let (body, shape, missing) = if staged {
            let stages = Stages::new(request, platform, &key, store, block).map_err(give_back)?;
            (
                Body::Staged(Box::new(stages)),
                Shape { slots: 1, ..shape },
                0,
            )
        } else {
            // The lengths follow the messages. They are zero at first, and take no memory until they are used.
            let messages = (shape.stride as usize * shape.slots as usize).next_multiple_of(128);
            let len = messages + shape.lengths() * size_of::<AtomicU32>();
            let memory = map(len).map_err(give_back)?;
            let first = memory.as_ptr() as usize;
            (
                Body::Ring { _memory: memory },
                Shape { first, ..shape },
                first + messages,
            )
        };
        let queue = Box::new(Queue {
            sender: End::new(shape),
            receiver: End::new(shape),
            released: CachePadded::new(AtomicUsize::new(shape.first)),
            sent: CachePadded::new(AtomicUsize::new(shape.first)),
            seldom: CachePadded::new(Seldom {
                sleeps: [Sleep::new(), Sleep::new()],
                varied: AtomicU32::new(0),
                missing: missing as *const AtomicU32,
            }),
            cluster,
            slave,
            handle,
            direction,
            msg_bytes,
            name: request.name.into(),
            closed: AtomicBool::new(false),
            shown: AtomicPtr::new(core::ptr::null_mut()),
            user: AtomicPtr::new(core::ptr::null_mut()),
            store,
            block,
            body,
        });
        for end in [&queue.sender, &queue.receiver] {
            end.handle.store(handle as u32, Ordering::Release);
        }
        Ok(queue)
    }

    /// True for a ring, false for a queue of two stages.
    pub(crate) fn is_ring(&self) -> bool {
        matches!(self.body, Body::Ring { .. })
    }

    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    pub(crate) fn shown_name(&self) -> String {
        String::from_utf8_lossy(&self.name).into_owned()
    }

    pub(crate) fn direction(&self) -> Direction {
        self.direction
    }

    pub(crate) fn msg_bytes(&self) -> u32 {
        self.msg_bytes
    }

    #[inline(always)]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    #[inline(always)]
    fn sends(&self, side: Side) -> bool {
        matches!(side, Side::Master) == (self.direction == Direction::MasterToSlave)
    }

    #[inline(always)]
    fn end(&self, sender: bool) -> &End {
        if sender {
            &self.sender
        } else {
            &self.receiver
        }
    }

    fn master_end(&self) -> &End {
        self.end(self.direction == Direction::MasterToSlave)
    }

    /// The end of a ring, for a thread that the fast paths have found to own it.
    #[inline(always)]
    pub(crate) fn ring_end(&self, sender: bool) -> &End {
        self.end(sender)
    }

    fn master_sleep(&self) -> &Sleep {
        &self.seldom.sleeps[usize::from(self.direction == Direction::SlaveToMaster)]
    }

    fn slave_sleep(&self) -> &Sleep {
        &self.seldom.sleeps[usize::from(self.direction == Direction::MasterToSlave)]
    }

    pub(crate) fn sleep_of(&self, side: Side) -> &Sleep {
        match side {
            Side::Master => self.master_sleep(),
            Side::Slave(_) => self.slave_sleep(),
        }
    }

    pub(crate) fn wake_master(&self) {
        self.master_sleep().wake();
    }

    pub(crate) fn wake_slave(&self) {
        self.slave_sleep().wake();
    }

    /// Wakes a sleeper on the side across from an end, after something was stored.
    #[inline(always)]
    pub(crate) fn notify_across(&self, sender: bool) {
        self.seldom.sleeps[usize::from(sender)].notify();
    }

    /// Moves what can be moved, on behalf of the slave. True while transfers are under way. A ring has nothing to
    /// move.
    pub(crate) fn pump(&self, slave: &Slave) -> bool {
        let Body::Staged(stages) = &self.body else {
            return false;
        };
        // SAFETY: `slave` is the user of this queue, and its thread calls this.
        let side = unsafe { &mut *stages.slave.get() };
        if side.pump(
            &stages.list,
            &mut Copier {
                stages,
                slave: Some(slave),
            },
        ) {
            self.master_sleep().notify();
        }
        stages.note(side);
        side.transferring()
    }

    /// Takes up to `want` messages or slots.
    #[inline(always)]
    pub(crate) fn try_take(&'static self, side: Side, want: u32) -> Option<Taken> {
        let Body::Ring { .. } = self.body else {
            return self.try_take_staged(side);
        };
        let sender = self.sends(side);
        let end = self.end(sender);
        if sender {
            end.try_allocate_batch(want, self).map(|(at, n)| Taken {
                at,
                n,
                stride: end.stride(),
                bytes: self.msg_bytes,
            })
        } else {
            end.try_receive_batch(want, self).map(|(at, n)| Taken {
                at,
                n,
                stride: end.stride(),
                bytes: end.length(at, self),
            })
        }
    }

    /// True if there is something to take.
    pub(crate) fn ready(&'static self, side: Side) -> bool {
        match (&self.body, side) {
            (Body::Ring { .. }, _) if self.sends(side) => self.sender.has_room(self),
            (Body::Ring { .. }, _) => self.receiver.has_message(self),
            (Body::Staged(stages), Side::Master) => {
                if self.direction == Direction::SlaveToMaster
                    && self.user.load(Ordering::Acquire).is_null()
                {
                    self.pump_for_ended(stages);
                }
                // SAFETY: the caller is the thread that owns the master's end: `api::find` let it enter.
                unsafe { &*stages.master.get() }.ready(&stages.list)
            }
            (Body::Staged(stages), Side::Slave(slave)) => {
                slave.pump_all();
                // SAFETY: the caller is the slave that uses this queue: `api::find` let it enter.
                unsafe { &*stages.slave.get() }.ready()
            }
        }
    }

    /// Whether the slave, if it waits on this queue, waits for something that only the master can do; as far as the
    /// master can tell. (False for a slave that was woken and has no core yet.)
    pub(crate) fn waits_for_master(&self) -> bool {
        match (&self.body, self.direction) {
            (Body::Ring { .. }, Direction::MasterToSlave) => {
                End::drained(&self.sender, &self.receiver)
            }
            (Body::Ring { .. }, Direction::SlaveToMaster) => {
                End::full(&self.sender, &self.receiver)
            }
            (Body::Staged(stages), Direction::MasterToSlave) => {
                !staged::master_has(&stages.list, staged::State::Ready)
                    && stages.messages.load(Ordering::Acquire)
                        == stages.held.load(Ordering::Acquire)
            }
            (Body::Staged(stages), Direction::SlaveToMaster) => {
                !staged::master_has(&stages.list, staged::State::Idle)
            }
        }
    }

    /// True if the side holds every slot, so that waiting for another would never end.
    pub(crate) fn holds_all(&self, side: Side) -> bool {
        match (&self.body, side) {
            (Body::Ring { .. }, _) => {
                let end = self.end(self.sends(side));
                end.held() == end.slots()
            }
            (Body::Staged(stages), Side::Master) => {
                // SAFETY: the caller is the thread that owns the master's end: `api::find` let it enter.
                unsafe { &*stages.master.get() }.held() as usize == stages.list.len()
            }
            (Body::Staged(stages), Side::Slave(_)) => {
                // SAFETY: the caller is the slave that uses this queue: `api::find` let it enter.
                let side = unsafe { &*stages.slave.get() };
                side.held() as usize == side.slots()
            }
        }
    }

    /// Sends or releases the `n` oldest held messages. The first lies at `at`.
    #[inline(always)]
    pub(crate) fn give(
        &'static self,
        side: Side,
        send: bool,
        at: usize,
        n: u32,
        bytes: i32,
    ) -> Result<(), Error> {
        let sender = self.sends(side);
        if sender != send {
            return Err(Error::WrongDirection);
        }
        if send && bytes as u32 > self.msg_bytes {
            return Err(Error::TooLong);
        }
        let Body::Ring { .. } = self.body else {
            return self.give_staged(side, at, n, bytes as u32);
        };
        let end = self.end(sender);
        if at != end.oldest() || end.held() < n as usize || n == 0 {
            return Err(if at == 0 {
                Error::BadAddress
            } else if n == 0 || at == end.oldest() && end.held() > 0 {
                Error::BadCount
            } else if end.holds(at) {
                Error::OutOfOrder
            } else {
                Error::ForeignMessage
            });
        }
        if send {
            end.send(n, bytes as u32, self);
        } else {
            end.release(n, self);
        }
        self.seldom.sleeps[usize::from(sender)].notify();
        Ok(())
    }

    /// The end of the oldest transfer under way.
    pub(crate) fn transfer_ends(&self) -> Option<u64> {
        let Body::Staged(stages) = &self.body else {
            return None;
        };
        // SAFETY: only the slave that uses this queue calls this.
        unsafe { &*stages.slave.get() }.oldest_ticket()
    }

    /// How many messages were sent and not released.
    pub(crate) fn queued(&self) -> u64 {
        match &self.body {
            Body::Ring { .. } => self.sender.queued(self) as u64,
            Body::Staged(stages) => {
                u64::from(staged::at_master(&stages.list, self.direction))
                    + u64::from(stages.messages.load(Ordering::Acquire))
            }
        }
    }

    /// True if no message is queued or held.
    pub(crate) fn at_rest(&self) -> bool {
        match &self.body {
            Body::Ring { .. } => {
                let (s, r) = (&self.sender, &self.receiver);
                !s.holds_some() && !r.holds_some() && s.queued(self) == 0
            }
            Body::Staged(stages) => {
                staged::master_at_rest(&stages.list) && stages.used.load(Ordering::Acquire) == 0
            }
        }
    }

    /// Refuses all further calls, and wakes all waiters.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.hide();
        for end in [&self.sender, &self.receiver] {
            end.pass.store(0, Ordering::SeqCst);
            end.handle.store(u32::MAX, Ordering::Release);
        }
        self.wake_slave();
        self.wake_master();
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.store.free(self.block);
        if let Body::Staged(stages) = &self.body {
            self.store.remove_row(stages.slave_shown);
        }
        // The memory goes with the queue, which nobody uses any more (`Registry::remove`).
    }
}
