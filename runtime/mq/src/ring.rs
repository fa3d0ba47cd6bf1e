//! The ring that both sides share: the state machine of queues with one stage.
//!
//! Pure: it decides which slot comes next, and what is stored where. The memory is behind [`Memory`], so that loom
//! and the property tests run the same steps. `include/hetmp/mq_inline.h` implements the same steps in C, on the same
//! layout, which is asserted below.
//!
//! This is Lamport's queue. What each side knows of the other is kept next to its own position, as in MCRingBuffer
//! (Lee, Bu, Chandranmenon, ANCS 2010): the sender stores how far it has sent, the receiver how far it has released,
//! and each side looks at the other's word only when it has used up what it saw last. So the slots hold nothing but
//! messages (eight of 8 bytes in a cache line), and one look brings everything that was sent or released meanwhile.
//! (State words next to the messages, as in FastForward, were tried first: a cache line holds half as many messages,
//! and between distant cores this took twice the time.) Idle and Locked slots differ by private positions alone: a
//! side's slots from `oldest` to `next` are Locked. The ring has one slot more than the queue. It stays empty, so
//! that equal positions mean that the ring is empty.
//!
//! A step tests one word for all of this: `stop`, the slot at which it must do more than go to the next slot. There
//! the ring ends, or what was last seen of the other side.
//!
//! Most queues have messages of one length, so lengths are kept apart from messages. They are written only after the
//! first message that is shorter than the largest, which sets `varied`. A length is stored as the number of bytes by
//! which the message is shorter.
//!
//! # Memory ordering
//! * `sent` is stored with release after the message was filled, and loaded with acquire before the message is used:
//!   the receiver sees the whole message. `varied` and the message's length are stored before it.
//! * `released` is stored with release after the receiver's last use, and loaded with acquire before the sender fills
//!   the slot again: the receiver's reads, of the length too, are over when the sender writes.

use core::cell::Cell;
use hetmp_core::sync::{AtomicU32, AtomicUsize, Ordering};

/// The words of a ring, wherever they lie.
pub trait Memory {
    /// The address of the sender's oldest message that is not sent; if there is none, of the next that it will
    /// allocate.
    fn sent(&self) -> &AtomicUsize;
    /// The address of the receiver's oldest held message; if there is none, of the next that it will receive.
    fn released(&self) -> &AtomicUsize;
    /// Not 0 after the first message that is shorter than the largest.
    fn varied(&self) -> &AtomicU32;
    /// By how many bytes the message at an offset is shorter than the largest; 0 at first. `index` is the offset
    /// shifted by [`Shape::shift`].
    fn missing(&self, index: usize) -> &AtomicU32;
    /// The sender will soon write the line at this address. The address need not exist.
    #[inline(always)]
    fn soon(&self, _address: usize) {}
}

/// An address that one thread stores, and that others may read for status queries. Relaxed, and not one of loom's
/// atomics: the protocol does not depend on it.
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

/// The private part of one side of a ring. One thread at a time uses it. Addresses are numbers here: only [`Memory`]
/// and the C code access what they point to.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct End {
    /// The queue's handle; all ones after the queue was destroyed. Any thread may read it.
    pub handle: core::sync::atomic::AtomicU32,
    /// The place of a slot's length is the slot's offset shifted right by this.
    shift: Cell<u32>,
    /// The address that the next allocate or receive returns.
    next: Position,
    /// The address that the next send or release has to name.
    oldest: Position,
    first: Cell<usize>,
    last: Cell<usize>,
    /// The other side's position when it was last seen. The sender's `next` may not reach it, the receiver's may not
    /// pass it.
    limit: Cell<usize>,
    stride: Cell<usize>,
    msg_bytes: Cell<u64>,
    /// The thread that uses this end; 0 if none does. Any thread may read it.
    pub owner: core::sync::atomic::AtomicU64,
    /// Bits that are 0 in addresses at which the sender begins a new line. All ones if asking for lines early gains
    /// nothing.
    fresh: Cell<usize>,
    /// Sender: the largest length while all messages had it; afterwards a length that no message has.
    usual: Cell<u64>,
    /// How many pauses lie between two looks: more if each look brings many messages.
    patience: Cell<u32>,
    /// Until this slot, `next` moves by the stride without another test.
    stop: Cell<usize>,
    /// The word by which its user recognises this end, made by `End::pass_of`; 0 if there is no user. Any thread may
    /// read it.
    pub pass: core::sync::atomic::AtomicU64,
}

const _: () = {
    assert!(core::mem::size_of::<End>() == 128);
    assert!(core::mem::offset_of!(End, shift) == 4);
    assert!(core::mem::offset_of!(End, next) == 8);
    assert!(core::mem::offset_of!(End, oldest) == 16);
    assert!(core::mem::offset_of!(End, first) == 24);
    assert!(core::mem::offset_of!(End, last) == 32);
    assert!(core::mem::offset_of!(End, limit) == 40);
    assert!(core::mem::offset_of!(End, stride) == 48);
    assert!(core::mem::offset_of!(End, msg_bytes) == 56);
    assert!(core::mem::offset_of!(End, owner) == 64);
    assert!(core::mem::offset_of!(End, fresh) == 72);
    assert!(core::mem::offset_of!(End, usual) == 80);
    assert!(core::mem::offset_of!(End, patience) == 88);
    assert!(core::mem::offset_of!(End, stop) == 96);
    assert!(core::mem::offset_of!(End, pass) == 104);
};

/// The shape of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Address of the first slot.
    pub first: usize,
    /// Bytes from slot to slot.
    pub stride: u32,
    /// Slots: one more than can be in use at the same time.
    pub slots: u32,
    /// Largest message in bytes.
    pub msg_bytes: u32,
}

impl Shape {
    /// The alignment of messages of `bytes`: that of a C type of this size, but at most a cache line.
    #[must_use]
    pub fn alignment(bytes: u32) -> u32 {
        if bytes >= 64 {
            64
        } else {
            (1 << bytes.trailing_zeros().min(6)).max(8)
        }
    }

    /// Bytes from slot to slot: a message and its padding.
    #[must_use]
    pub fn stride(bytes: u32) -> u32 {
        bytes.next_multiple_of(Self::alignment(bytes))
    }

    /// By how much a slot's offset is shifted to get the place of its length. Different slots get different places,
    /// without a division.
    #[must_use]
    pub fn shift(self) -> u32 {
        self.stride.ilog2()
    }

    /// How many places for lengths a ring has.
    #[must_use]
    pub fn lengths(self) -> usize {
        ((self.stride as usize * self.slots as usize - 1) >> self.shift()) + 1
    }
}

/// How many bytes ahead of its messages the sender asks for lines.
const AHEAD: usize = 256;

impl End {
    /// One side of a ring of this shape, before its first message.
    #[must_use]
    pub fn new(shape: Shape) -> End {
        End {
            handle: core::sync::atomic::AtomicU32::new(u32::MAX),
            shift: Cell::new(shape.shift()),
            next: Position::new(shape.first),
            oldest: Position::new(shape.first),
            first: Cell::new(shape.first),
            last: Cell::new(shape.first + shape.stride as usize * shape.slots as usize),
            limit: Cell::new(shape.first),
            stride: Cell::new(shape.stride as usize),
            msg_bytes: Cell::new(u64::from(shape.msg_bytes)),
            owner: core::sync::atomic::AtomicU64::new(0),
            // Only for small messages, many of which share a line: each line is asked for once. The processor
            // foresees large messages itself. Not for small rings, in which the lines ahead are still in the
            // receiver's hands: with 32 slots of 64 bytes, asking costs a fifth more time.
            fresh: Cell::new(
                if shape.stride <= 64 && shape.stride as usize * shape.slots as usize >= 16 * AHEAD
                {
                    63
                } else {
                    usize::MAX
                },
            ),
            usual: Cell::new(u64::from(shape.msg_bytes)),
            patience: Cell::new(4),
            // The first step has to look at the other side.
            stop: Cell::new(shape.first),
            pass: core::sync::atomic::AtomicU64::new(0),
        }
    }

    /// The word by which a thread's inline paths recognise an end. It differs between threads, and between the
    /// handles of one thread. `thread` has at most 24 bits and is not 0. `slave` is 0 for slaves, which have no other
    /// slave's queues.
    #[must_use]
    pub(crate) fn pass_of(thread: u32, slave: u32, handle: i32) -> u64 {
        (u64::from(thread) << 40) ^ (u64::from(slave) << 32) ^ u64::from(handle as u32)
    }

    /// Where a sender that goes on at `next` has to stop: at the slot before the receiver's, or at the last slot.
    #[inline(always)]
    fn stop_sending(&self, next: usize) {
        let limit = self.limit.get();
        let end = if limit > next { limit } else { self.last.get() };
        self.stop.set(end - self.stride.get());
    }

    /// Where a receiver that goes on at `next` has to stop: at the sender's slot, or at the last slot.
    #[inline(always)]
    fn stop_receiving(&self, next: usize) {
        let limit = self.limit.get();
        self.stop.set(if limit >= next {
            limit
        } else {
            self.last.get() - self.stride.get()
        });
    }

    /// The number of slots from one position forward to another.
    fn slots_between(&self, from: usize, to: usize) -> usize {
        let bytes = if to >= from {
            to - from
        } else {
            to + (self.last.get() - self.first.get()) - from
        };
        bytes / self.stride.get()
    }

    /// How many messages this side holds.
    pub fn held(&self) -> usize {
        self.slots_between(self.oldest.get(), self.next.get())
    }

    /// True if this side holds a message.
    #[inline(always)]
    pub fn holds_some(&self) -> bool {
        self.oldest.get() != self.next.get()
    }

    /// True if this side holds at least `n` messages, and `first` is the oldest.
    #[inline(always)]
    pub(crate) fn holds_at_least(&self, n: i32, first: usize) -> bool {
        let from = self.oldest.get();
        if first != from {
            return false;
        }
        let to = self.next.get();
        if n == 1 {
            return from != to;
        }
        let bytes = if to >= from {
            to - from
        } else {
            to + (self.last.get() - self.first.get()) - from
        };
        n > 1 && bytes >= n as usize * self.stride.get()
    }

    /// How many messages were sent and not released. Any thread may ask; it sees what was written before a message
    /// counts, and may write after one no longer counts.
    pub fn queued(&self, memory: &impl Memory) -> usize {
        let released = memory.released().load(Ordering::Acquire);
        self.slots_between(released, memory.sent().load(Ordering::Acquire))
    }

    /// True if the receiver has taken everything that was sent. Any thread may ask.
    pub fn drained(sender: &End, receiver: &End) -> bool {
        sender.oldest.get() == receiver.next.get()
    }

    /// True if the sender has to wait for a release. Any thread may ask.
    pub fn full(sender: &End, receiver: &End) -> bool {
        sender.after(sender.next.get()) == receiver.oldest.get()
    }

    /// The address of the oldest held message.
    #[inline(always)]
    pub fn oldest(&self) -> usize {
        self.oldest.get()
    }

    /// Bytes from slot to slot.
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

    /// True if `address` is that of a message that this side holds.
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

    /// Sender: the next slot, if there is a free one.
    #[inline(always)]
    pub fn try_allocate(&self, memory: &impl Memory) -> Option<usize> {
        let at = self.next.get();
        let next = if at != self.stop.get() {
            at + self.stride.get()
        } else {
            let next = self.after(at);
            if next == self.limit.get() && !self.look(next, memory.released()) {
                return None;
            }
            self.stop_sending(next);
            next
        };
        if at & self.fresh.get() == 0 {
            memory.soon(at + AHEAD);
        }
        self.next.set(next);
        Some(at)
    }

    /// Looks at the other side's position. True if that is not `here`.
    #[inline(always)]
    fn look(&self, here: usize, other: &AtomicUsize) -> bool {
        // Acquire: the other side has finished with the slots before that position.
        self.limit.set(other.load(Ordering::Acquire));
        here != self.limit.get()
    }

    /// How many slots lie in a row from `at` on, at most `want`, if `all` bytes may be used there.
    #[inline(always)]
    fn in_a_row(&self, at: usize, all: usize, want: u32) -> u32 {
        let bytes = all.min(self.last.get() - at);
        if bytes >= want as usize * self.stride.get() {
            want
        } else {
            (bytes / self.stride.get()) as u32
        }
    }

    #[inline(always)]
    fn wrapped(&self, at: usize) -> usize {
        if at >= self.last.get() {
            at - (self.last.get() - self.first.get())
        } else {
            at
        }
    }

    /// Sender: the address and number of up to `want` free slots in a row. Does not look again for more.
    #[inline(always)]
    pub fn try_allocate_batch(&self, want: u32, memory: &impl Memory) -> Option<(usize, u32)> {
        let at = self.next.get();
        let next = self.after(at);
        if next == self.limit.get() && !self.look(next, memory.released()) {
            return None;
        }
        let limit = self.limit.get();
        // Up to the slot that must stay empty, or up to the end of the ring.
        let all = if limit > at {
            limit - at
        } else {
            limit + (self.last.get() - self.first.get()) - at
        } - self.stride.get();
        let n = self.in_a_row(at, all, want);
        let next = at + n as usize * self.stride.get();
        if self.fresh.get() == 63 {
            let mut line = at;
            while line < next.min(at + 1024) {
                memory.soon(line);
                line += 64;
            }
        }
        let next = self.wrapped(next);
        self.next.set(next);
        self.stop_sending(next);
        Some((at, n))
    }

    /// Sender: sends the `n` oldest held messages, each of `bytes`. The caller has checked that it holds them, and
    /// that `bytes` is at most the largest length.
    #[inline(always)]
    pub fn send(&self, n: u32, bytes: u32, memory: &impl Memory) {
        if !self.is_usual(bytes) {
            self.note_lengths(n, self.msg_bytes.get() as u32 - bytes, memory);
        }
        self.send_usual(n, memory);
    }

    /// The position after `first`, if `first` is the only held message and the ring does not end there. This is the
    /// usual case, in which that position equals `next`.
    #[inline(always)]
    pub fn after_only(&self, first: usize) -> Option<usize> {
        let at = first + self.stride.get();
        (first == self.oldest.get() && at == self.next.get()).then_some(at)
    }

    /// [`End::send`] of the message before `at`, which [`End::after_only`] has returned. The message has the [usual
    /// length](End::is_usual).
    #[inline(always)]
    pub fn send_only(&self, at: usize, memory: &impl Memory) {
        self.oldest.set(at);
        // Release: the message was filled before.
        memory.sent().store(at, Ordering::Release);
    }

    /// [`End::release`] of the message before `at`, which [`End::after_only`] has returned.
    #[inline(always)]
    pub fn release_only(&self, at: usize, memory: &impl Memory) {
        self.oldest.set(at);
        // Release: the message was used for the last time before.
        memory.released().store(at, Ordering::Release);
    }

    /// True if all messages so far had this length.
    #[inline(always)]
    pub fn is_usual(&self, bytes: u32) -> bool {
        u64::from(bytes) == self.usual.get()
    }

    /// [`End::send`] of messages of the [usual length](End::is_usual).
    #[inline(always)]
    pub(crate) fn send_usual(&self, n: u32, memory: &impl Memory) {
        let at = self.wrapped(self.oldest.get() + n as usize * self.stride.get());
        self.oldest.set(at);
        // Release: the messages were filled before.
        memory.sent().store(at, Ordering::Release);
    }

    #[cold]
    fn note_lengths(&self, n: u32, missing: u32, memory: &impl Memory) {
        self.usual.set(u64::MAX);
        memory.varied().store(1, Ordering::Relaxed);
        let mut at = self.oldest.get();
        for _ in 0..n {
            memory
                .missing((at - self.first.get()) >> self.shift.get())
                .store(missing, Ordering::Relaxed);
            at = self.after(at);
        }
    }

    /// Sender: true if there is a free slot.
    pub fn has_room(&self, memory: &impl Memory) -> bool {
        let next = self.after(self.next.get());
        // The limit is left alone: an allocate looks for itself, and synchronises by that look.
        next != self.limit.get() || next != memory.released().load(Ordering::Acquire)
    }

    /// Receiver: true if there is a message.
    pub fn has_message(&self, memory: &impl Memory) -> bool {
        let next = self.next.get();
        next != self.limit.get() || next != memory.sent().load(Ordering::Acquire)
    }

    /// The length of a message that the receiver holds.
    #[inline(always)]
    pub fn length(&self, at: usize, memory: &impl Memory) -> u32 {
        let missing = if memory.varied().load(Ordering::Relaxed) == 0 {
            0
        } else {
            memory
                .missing((at - self.first.get()) >> self.shift.get())
                .load(Ordering::Relaxed)
        };
        self.msg_bytes.get() as u32 - missing
    }

    /// Receiver: the next message, if there is one. [`End::length`] returns its length.
    #[inline(always)]
    pub fn try_receive(&self, memory: &impl Memory) -> Option<usize> {
        let at = self.next.get();
        if at != self.stop.get() {
            self.next.set(at + self.stride.get());
            return Some(at);
        }
        if at == self.limit.get() && !self.look(at, memory.sent()) {
            return None;
        }
        let next = self.after(at);
        self.next.set(next);
        self.stop_receiving(next);
        Some(at)
    }

    /// Receiver: the address and number of up to `want` messages in a row. Does not look again for more.
    #[inline(always)]
    pub fn try_receive_batch(&self, want: u32, memory: &impl Memory) -> Option<(usize, u32)> {
        let at = self.next.get();
        if at == self.limit.get() && !self.look(at, memory.sent()) {
            return None;
        }
        let limit = self.limit.get();
        let all = if limit > at {
            limit - at
        } else {
            self.last.get() - at
        };
        let n = self.in_a_row(at, all, want);
        let next = self.wrapped(at + n as usize * self.stride.get());
        self.next.set(next);
        self.stop_receiving(next);
        Some((at, n))
    }

    /// Receiver: releases the `n` oldest held messages. The caller has checked that it holds them.
    #[inline(always)]
    pub fn release(&self, n: u32, memory: &impl Memory) {
        let at = self.wrapped(self.oldest.get() + n as usize * self.stride.get());
        self.oldest.set(at);
        // Release: the messages were used for the last time before.
        memory.released().store(at, Ordering::Release);
    }
}
