//! The ring that both sides share: the state machine of queues without a second stage.
//!
//! Pure: it decides which slot comes next and what is stored where; the memory is behind [`Memory`], so
//! that loom and the property tests run the same steps. `include/hetmp/mq_inline.h` has them
//! once more in C, on the same layout, which is asserted below.
//!
//! It follows FastForward (Giacomoni, Moseley, Vachharajani, PPoPP 2008) in keeping a slot's state beside its
//! data, so that a small message costs the line it lies in, and Lamport's queue in the position that
//! goes back. A slot's state is the number of the lap in which it was filled: the receiver, which
//! waits for one lap, needs nothing else, and nobody has to reset it. Idle and Locked slots are told
//! apart by private positions alone: a side's slots from `oldest` to `next` are Locked. One slot more than the
//! queue's stays empty, so that equal positions mean that nothing is held.
//!
//! # Memory ordering
//! * The state word is stored with release after the message was filled, and loaded with acquire before
//!   it is used: the receiver sees the whole message.
//! * `released` is stored with release after the receiver's last use, and loaded with acquire before the
//!   sender fills the slot again: the receiver's reads are over when the sender writes.

use core::cell::Cell;
use hetmp_core::sync::{AtomicU64, AtomicUsize, Ordering};

/// Where the words of a ring lie.
pub trait Memory {
    /// The state word of the slot whose message is at address `message`.
    fn word(&self, message: usize) -> &AtomicU64;
    /// The address of the receiver's oldest held message, or of the next it will receive.
    fn released(&self) -> &AtomicUsize;
}

/// An address that one thread stores and others may look at, for status queries (relaxed: it orders nothing). Never
/// part of the protocol, so it is not loom's.
#[derive(Debug)]
#[repr(transparent)]
struct Position(core::sync::atomic::AtomicUsize);

impl Position {
    fn new(at: usize) -> Position {
        Position(core::sync::atomic::AtomicUsize::new(at))
    }
    #[inline(always)]
    fn get(&self) -> usize {
        self.0.load(core::sync::atomic::Ordering::Relaxed)
    }
    #[inline(always)]
    fn set(&self, at: usize) {
        self.0.store(at, core::sync::atomic::Ordering::Relaxed);
    }
}

/// The private part of one side of a ring; used by one thread at a time. Addresses are numbers here: only the
/// [`Memory`] and the C side look through them.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct End {
    /// The queue's handle; all ones when destroyed. Any thread may look.
    pub handle: core::sync::atomic::AtomicU32,
    /// Sender: of `oldest`; receiver: of `next`.
    lap: Cell<u32>,
    /// What the next allocate or receive returns.
    next: Position,
    /// What the next send or release is to be given.
    oldest: Position,
    first: Cell<usize>,
    last: Cell<usize>,
    /// Sender: `next` may not reach this before a look at `released`.
    limit: Cell<usize>,
    stride: Cell<usize>,
    msg_bytes: Cell<u64>,
    /// The thread that uses this end, 0 for nobody. Any thread may look.
    pub owner: core::sync::atomic::AtomicU64,
}

const _: () = {
    assert!(core::mem::size_of::<End>() == 128);
    assert!(core::mem::offset_of!(End, lap) == 4);
    assert!(core::mem::offset_of!(End, next) == 8);
    assert!(core::mem::offset_of!(End, oldest) == 16);
    assert!(core::mem::offset_of!(End, first) == 24);
    assert!(core::mem::offset_of!(End, last) == 32);
    assert!(core::mem::offset_of!(End, limit) == 40);
    assert!(core::mem::offset_of!(End, stride) == 48);
    assert!(core::mem::offset_of!(End, msg_bytes) == 56);
    assert!(core::mem::offset_of!(End, owner) == 64);
};

/// The shape of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Address of the first message; its state word lies before it.
    pub first: usize,
    /// Bytes from message to message.
    pub stride: u32,
    /// Slots, one more than can be in use at a time.
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
    pub fn new(shape: Shape) -> End {
        End {
            handle: core::sync::atomic::AtomicU32::new(u32::MAX),
            // Memory is zero at first, so laps count from 1.
            lap: Cell::new(1),
            next: Position::new(shape.first),
            oldest: Position::new(shape.first),
            first: Cell::new(shape.first),
            last: Cell::new(shape.first + shape.stride as usize * shape.slots as usize),
            limit: Cell::new(shape.first),
            stride: Cell::new(shape.stride as usize),
            msg_bytes: Cell::new(u64::from(shape.msg_bytes)),
            owner: core::sync::atomic::AtomicU64::new(0),
        }
    }

    /// How many slots lie from one position to another, going forward.
    fn slots_between(&self, from: usize, to: usize) -> usize {
        let bytes = if to >= from {
            to - from
        } else {
            to + (self.last.get() - self.first.get()) - from
        };
        bytes / self.stride.get()
    }

    /// Messages that this side holds.
    pub fn held(&self) -> usize {
        self.slots_between(self.oldest.get(), self.next.get())
    }

    /// Does it hold any?
    #[inline(always)]
    pub fn holds_some(&self) -> bool {
        self.oldest.get() != self.next.get()
    }

    /// Messages that lie from this side's oldest to the other's: with the sender's end, what was sent and is not
    /// released.
    pub fn queued(sender: &End, receiver: &End) -> usize {
        sender.slots_between(receiver.oldest.get(), sender.oldest.get())
    }

    /// As anybody can tell: has the receiver taken all that was sent?
    pub fn drained(sender: &End, receiver: &End) -> bool {
        sender.oldest.get() == receiver.next.get()
    }

    /// As anybody can tell: does the sender wait for the receiver's release?
    pub fn full(sender: &End, receiver: &End) -> bool {
        sender.after(sender.next.get()) == receiver.oldest.get()
    }

    /// The oldest held message's address.
    #[inline(always)]
    pub fn oldest(&self) -> usize {
        self.oldest.get()
    }

    /// Bytes from message to message.
    #[inline(always)]
    pub fn stride(&self) -> usize {
        self.stride.get()
    }

    /// Largest message in bytes.
    #[inline(always)]
    pub fn msg_bytes(&self) -> u64 {
        self.msg_bytes.get()
    }

    /// How many messages the queue has room for.
    pub fn slots(&self) -> usize {
        (self.last.get() - self.first.get()) / self.stride.get() - 1
    }

    /// Is `address` one that this side holds now?
    pub fn holds(&self, address: usize) -> bool {
        let (first, last) = (self.first.get(), self.last.get());
        (first..last).contains(&address)
            && (address - first) % self.stride.get() == 0
            && self.slots_between(self.oldest.get(), address) < self.held()
    }

    #[inline(always)]
    fn after(&self, at: usize) -> usize {
        let next = at + self.stride.get();
        if next == self.last.get() {
            self.first.get()
        } else {
            next
        }
    }

    /// Sender: the next slot, if there is one.
    #[inline(always)]
    pub fn try_allocate(&self, memory: &impl Memory) -> Option<usize> {
        let at = self.next.get();
        let next = self.after(at);
        if next == self.limit.get() && !self.look(next, memory) {
            return None;
        }
        self.next.set(next);
        Some(at)
    }

    /// Looks how far the receiver is; true if `next` may be reached.
    #[inline(always)]
    fn look(&self, next: usize, memory: &impl Memory) -> bool {
        // The receiver's reads of the slots before it are over (acquire).
        self.limit.set(memory.released().load(Ordering::Acquire));
        next != self.limit.get()
    }

    /// Sender: up to `want` slots in a row, as address and number.
    pub fn try_allocate_batch(&self, want: u32, memory: &impl Memory) -> Option<(usize, u32)> {
        let at = self.next.get();
        let next = self.after(at);
        if next == self.limit.get() && !self.look(next, memory) {
            return None;
        }
        let all = match self.slots_between(at, self.limit.get()) {
            0 => self.slots(),
            n => n - 1,
        };
        let here = (self.last.get() - at) / self.stride.get();
        let n = all.min(here).min(want as usize);
        let next = at + n * self.stride.get();
        self.next.set(if next == self.last.get() {
            self.first.get()
        } else {
            next
        });
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
            at += self.stride.get();
            if at == self.last.get() {
                at = self.first.get();
                self.lap.set(self.lap.get().wrapping_add(1));
            }
        }
        self.oldest.set(at);
    }

    /// Sender: is there a slot?
    pub fn has_room(&self, memory: &impl Memory) -> bool {
        let next = self.after(self.next.get());
        // The limit stays: whoever allocates looks for itself, and synchronises by that.
        next != self.limit.get() || next != memory.released().load(Ordering::Acquire)
    }

    /// Receiver: is there a message?
    pub fn has_message(&self, memory: &impl Memory) -> bool {
        (memory.word(self.next.get()).load(Ordering::Acquire) >> 32) as u32 == self.lap.get()
    }

    /// Receiver: the next message and its length, if there is one.
    #[inline(always)]
    pub fn try_receive(&self, memory: &impl Memory) -> Option<(usize, u32)> {
        let at = self.next.get();
        // The whole message is there (acquire).
        let word = memory.word(at).load(Ordering::Acquire);
        if (word >> 32) as u32 != self.lap.get() {
            return None;
        }
        self.received_to(at + self.stride.get());
        Some((at, word as u32))
    }

    #[inline(always)]
    fn received_to(&self, next: usize) {
        if next == self.last.get() {
            self.next.set(self.first.get());
            self.lap.set(self.lap.get().wrapping_add(1));
        } else {
            self.next.set(next);
        }
    }

    /// Receiver: up to `want` messages in a row, as address and number, and the first one's length.
    pub fn try_receive_batch(&self, want: u32, memory: &impl Memory) -> Option<(usize, u32, u32)> {
        let at = self.next.get();
        let word = memory.word(at).load(Ordering::Acquire);
        if (word >> 32) as u32 != self.lap.get() {
            return None;
        }
        let (mut n, mut next) = (1, at + self.stride.get());
        while n < want
            && next != self.last.get()
            && (memory.word(next).load(Ordering::Acquire) >> 32) as u32 == self.lap.get()
        {
            n += 1;
            next += self.stride.get();
        }
        self.received_to(next);
        Some((at, n, word as u32))
    }

    /// Receiver: gives the `n` oldest held messages back. The caller has checked that it holds them.
    #[inline(always)]
    pub fn release(&self, n: u32, memory: &impl Memory) {
        let next = self.oldest.get() + n as usize * self.stride.get();
        self.oldest.set(if next >= self.last.get() {
            next - (self.last.get() - self.first.get())
        } else {
            next
        });
        // After the last use of the messages (release).
        memory
            .released()
            .store(self.oldest.get(), Ordering::Release);
    }
}
