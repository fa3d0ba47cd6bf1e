//! The ring that both sides share: the state machine of queues without a second stage.
//!
//! Pure: it decides which slot comes next and what is stored where; the memory is behind [`Memory`], so
//! that loom and the property tests run the same steps. `include/hetmp/mq_inline.h` has them
//! once more in C, on the same layout; [`End`] asserts it.
//!
//! It follows FastForward (Giacomoni, Moseley, Vachharajani, PPoPP 2008) in keeping a slot's state beside its
//! data, so that a small message costs the line it lies in, and Lamport's queue in the counter that
//! goes back. A slot's state is the number of the lap in which it was filled: the receiver, which
//! waits for one lap, needs nothing else, and nobody has to reset it. Idle and Locked slots are told
//! apart by private positions alone: a sender's slots from `oldest` to `next` are Locked, a receiver's too.
//!
//! # Memory ordering
//! * The state word is stored with release after the message was filled, and loaded with acquire before
//!   it is used: the receiver sees the whole message.
//! * `released` is stored with release after the receiver's last use, and loaded with acquire before the
//!   sender fills the slot again: the receiver's reads are over when the sender writes.

use core::cell::Cell;
use hetmp_core::sync::{AtomicU64, Ordering};

/// Where the words of a ring lie.
pub trait Memory {
    /// The state word of the slot whose message is at address `message`.
    fn word(&self, message: usize) -> &AtomicU64;
    /// The counter of released messages.
    fn released(&self) -> &AtomicU64;
}

/// The private part of one side of a ring; used by one thread at a time. Addresses are numbers here: only the
/// [`Memory`] and the C side look through them.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct End {
    /// `slave << 32 | handle`; all ones when destroyed. Read by any thread.
    pub key: core::sync::atomic::AtomicU64,
    /// The thread that uses this end, 0 for nobody. Read by any thread.
    pub owner: core::sync::atomic::AtomicU64,
    next: Cell<usize>,
    oldest: Cell<usize>,
    first: Cell<usize>,
    last: Cell<usize>,
    /// Stored by the owner alone; others may look.
    taken: Count,
    given: Count,
    limit: Cell<u64>,
    /// The address of the counter, for the inline paths.
    pub released: Cell<usize>,
    /// The address of the other side's sleep word, for the inline paths.
    pub peer_waits: Cell<usize>,
    lap: Cell<u32>,
    stride: Cell<u32>,
    msg_bytes: Cell<u32>,
    slots: Cell<u32>,
    sender: Cell<u32>,
    reserved: [u32; 3],
}

const _: () = {
    assert!(core::mem::size_of::<End>() == 128);
    assert!(core::mem::offset_of!(End, next) == 16);
    assert!(core::mem::offset_of!(End, taken) == 48);
    assert!(core::mem::offset_of!(End, released) == 72);
    assert!(core::mem::offset_of!(End, lap) == 88);
    assert!(core::mem::offset_of!(End, sender) == 104);
};

/// A number that one thread stores and others may look at (relaxed: it orders nothing). Never part of
/// the protocol, so it is not loom's.
#[derive(Debug, Default)]
#[repr(transparent)]
struct Count(core::sync::atomic::AtomicU64);

impl Count {
    #[inline(always)]
    fn get(&self) -> u64 {
        self.0.load(core::sync::atomic::Ordering::Relaxed)
    }
    #[inline(always)]
    fn set(&self, n: u64) {
        self.0.store(n, core::sync::atomic::Ordering::Relaxed);
    }
}

/// The shape of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Address of the first message; its state word lies before it.
    pub first: usize,
    /// Bytes from message to message.
    pub stride: u32,
    /// Messages.
    pub slots: u32,
    /// Largest message.
    pub msg_bytes: u32,
}

impl Shape {
    /// The alignment of messages of `bytes`: as C would align a type of that size, at most a cache line.
    #[must_use]
    pub fn alignment(bytes: u32) -> u32 {
        if bytes >= 64 {
            64
        } else {
            (1 << bytes.trailing_zeros().min(6)).max(8)
        }
    }

    /// Bytes from slot to slot: the state word, padding, and the message.
    #[must_use]
    pub fn stride(bytes: u32) -> u32 {
        let align = Self::alignment(bytes);
        (bytes + 8).div_ceil(align) * align
    }
}

impl End {
    /// A side of a ring of this shape, before its first message.
    #[must_use]
    pub fn new(shape: Shape, sender: bool) -> End {
        End {
            key: core::sync::atomic::AtomicU64::new(u64::MAX),
            owner: core::sync::atomic::AtomicU64::new(0),
            next: Cell::new(shape.first),
            oldest: Cell::new(shape.first),
            first: Cell::new(shape.first),
            last: Cell::new(shape.first + shape.stride as usize * shape.slots as usize),
            taken: Count::default(),
            given: Count::default(),
            limit: Cell::new(u64::from(shape.slots)),
            released: Cell::new(0),
            peer_waits: Cell::new(0),
            // Memory is zero at first, so laps count from 1.
            lap: Cell::new(1),
            stride: Cell::new(shape.stride),
            msg_bytes: Cell::new(shape.msg_bytes),
            slots: Cell::new(shape.slots),
            sender: Cell::new(u32::from(sender)),
            reserved: [0; 3],
        }
    }

    /// Messages that this side holds.
    #[inline(always)]
    pub fn held(&self) -> u64 {
        self.taken.get() - self.given.get()
    }

    /// Messages that this side gave away so far: sent or released.
    #[inline(always)]
    pub fn given(&self) -> u64 {
        self.given.get()
    }

    /// Is it the sending side?
    #[inline(always)]
    pub fn is_sender(&self) -> bool {
        self.sender.get() != 0
    }

    /// The oldest held message's address.
    #[inline(always)]
    pub fn oldest(&self) -> usize {
        self.oldest.get()
    }

    /// Largest message in bytes.
    #[inline(always)]
    pub fn msg_bytes(&self) -> u32 {
        self.msg_bytes.get()
    }

    /// Bytes from message to message.
    #[inline(always)]
    pub fn stride(&self) -> usize {
        self.stride.get() as usize
    }

    /// Slots of the ring.
    #[inline(always)]
    pub fn slots(&self) -> u32 {
        self.slots.get()
    }

    /// Is `address` one that this side holds now?
    pub fn holds(&self, address: usize) -> bool {
        let (first, last) = (self.first.get(), self.last.get());
        if address < first || address >= last || (address - first) % self.stride() != 0 {
            return false;
        }
        let back = if address >= self.oldest.get() {
            address - self.oldest.get()
        } else {
            address + (last - first) - self.oldest.get()
        };
        ((back / self.stride()) as u64) < self.held()
    }

    #[inline(always)]
    fn room(&self, memory: &impl Memory) -> u64 {
        if self.taken.get() == self.limit.get() {
            // The receiver's reads of these slots are over (acquire).
            self.limit
                .set(memory.released().load(Ordering::Acquire) + u64::from(self.slots.get()));
        }
        self.limit.get() - self.taken.get()
    }

    /// Sender: up to `want` slots in a row, as address and number.
    #[inline(always)]
    pub fn try_allocate(&self, want: u32, memory: &impl Memory) -> Option<(usize, u32)> {
        debug_assert!(self.is_sender());
        let room = self.room(memory);
        if room == 0 {
            return None;
        }
        let at = self.next.get();
        let here = (self.last.get() - at) / self.stride();
        let n = if want == 1 {
            1
        } else {
            u64::from(want).min(room).min(here as u64)
        };
        let next = at + n as usize * self.stride();
        self.next.set(if next == self.last.get() {
            self.first.get()
        } else {
            next
        });
        self.taken.set(self.taken.get() + n);
        Some((at, n as u32))
    }

    /// Sender: marks the `n` oldest held messages as ready, each of `bytes`. The caller has checked that it
    /// holds them.
    #[inline(always)]
    pub fn send(&self, n: u32, bytes: u32, memory: &impl Memory) {
        let mut at = self.oldest.get();
        for _ in 0..n {
            // After the message was filled (release).
            memory.word(at).store(
                u64::from(self.lap.get()) << 32 | u64::from(bytes),
                Ordering::Release,
            );
            at += self.stride();
            if at == self.last.get() {
                at = self.first.get();
                self.lap.set(self.lap.get().wrapping_add(1));
            }
        }
        self.oldest.set(at);
        self.given.set(self.given.get() + u64::from(n));
    }

    /// Receiver: is there a message?
    #[inline(always)]
    pub fn ready(&self, memory: &impl Memory) -> bool {
        if self.is_sender() {
            self.room(memory) != 0
        } else {
            (memory.word(self.next.get()).load(Ordering::Acquire) >> 32) as u32 == self.lap.get()
        }
    }

    /// Receiver: up to `want` messages in a row, as address and number, and the first one's length.
    #[inline(always)]
    pub fn try_receive(&self, want: u32, memory: &impl Memory) -> Option<(usize, u32, u32)> {
        debug_assert!(!self.is_sender());
        let at = self.next.get();
        // The whole message is there (acquire).
        let word = memory.word(at).load(Ordering::Acquire);
        if (word >> 32) as u32 != self.lap.get() {
            return None;
        }
        let (mut n, mut next) = (1, at + self.stride());
        while n < want
            && next != self.last.get()
            && (memory.word(next).load(Ordering::Acquire) >> 32) as u32 == self.lap.get()
        {
            n += 1;
            next += self.stride();
        }
        if next == self.last.get() {
            self.next.set(self.first.get());
            self.lap.set(self.lap.get().wrapping_add(1));
        } else {
            self.next.set(next);
        }
        self.taken.set(self.taken.get() + u64::from(n));
        Some((at, n, word as u32))
    }

    /// Receiver: gives the `n` oldest held messages back. The caller has checked that it holds them.
    #[inline(always)]
    pub fn release(&self, n: u32, memory: &impl Memory) {
        let next = self.oldest.get() + n as usize * self.stride();
        self.oldest.set(if next >= self.last.get() {
            next - (self.last.get() - self.first.get())
        } else {
            next
        });
        self.given.set(self.given.get() + u64::from(n));
        // After the last use of the messages (release).
        memory.released().store(self.given.get(), Ordering::Release);
    }

    /// Messages that were sent and are not yet released, as this side can tell without the other's
    /// private part.
    pub fn queued(&self, memory: &impl Memory) -> u64 {
        if self.is_sender() {
            return self.given.get() - memory.released().load(Ordering::Acquire);
        }
        let (mut at, mut lap, mut n) = (self.next.get(), self.lap.get(), self.held());
        while n < u64::from(self.slots.get())
            && (memory.word(at).load(Ordering::Acquire) >> 32) as u32 == lap
        {
            n += 1;
            at += self.stride();
            if at == self.last.get() {
                at = self.first.get();
                lap = lap.wrapping_add(1);
            }
        }
        n
    }
}
