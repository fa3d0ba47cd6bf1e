//! The ring that both sides share: the state machine of queues without a second stage.
//!
//! Pure: it decides which slot comes next and what is stored where; the memory is behind [`Memory`], so
//! that loom and the property tests run the same steps. `include/hetmp/mq_inline.h` has them
//! once more in C, on the same layout, which is asserted below.
//!
//! It is Lamport's queue, with what each side knows of the other kept beside its own position, as in MCRingBuffer
//! (Lee, Bu, Chandranmenon, ANCS 2010): the sender stores how far it has sent, the receiver how far it has released, and
//! each looks at the other's word only when it has used up what it saw last. So the slots hold nothing but messages, eight
//! of 8 bytes to a cache line, and a look brings all that was sent or released meanwhile. (State words beside the messages,
//! as in FastForward, were tried first: half as many messages to a line, and where the cores are far apart, twice the
//! time.) Idle and Locked slots are told apart by private positions alone: a side's slots from `oldest` to `next` are
//! Locked. One slot more than the queue's stays empty, so that equal positions mean that nothing is there.
//!
//! What a step has to test of this is one word, `stop`: the slot from which on it must do more than to go to the next slot,
//! because there the ring ends or what was seen of the other side does.
//!
//! Lengths are apart from the messages, too, since most queues have messages of one length: they are kept (as what is
//! missing to the largest) only from the first shorter message on, which sets `varied`.
//!
//! # Memory ordering
//! * `sent` is stored with release after the message was filled, and loaded with acquire before
//!   it is used: the receiver sees the whole message. `varied` and the message's length are stored before it.
//! * `released` is stored with release after the receiver's last use, and loaded with acquire before the
//!   sender fills the slot again: the receiver's reads, of the length too, are over when the sender writes.

use core::cell::Cell;
use hetmp_core::sync::{AtomicU32, AtomicUsize, Ordering};

/// Where the words of a ring lie.
pub trait Memory {
    /// The address of the sender's oldest message that is not sent, or of the next it will allocate.
    fn sent(&self) -> &AtomicUsize;
    /// The address of the receiver's oldest held message, or of the next it will receive.
    fn released(&self) -> &AtomicUsize;
    /// Not 0 from the first message on that is shorter than the largest.
    fn varied(&self) -> &AtomicU32;
    /// By how many bytes a message is shorter than the largest, at its offset shifted by [`Shape::shift`]; 0 at first.
    fn missing(&self, index: usize) -> &AtomicU32;
    /// The sender will soon write the line at this address, which need not exist.
    #[inline(always)]
    fn soon(&self, _address: usize) {}
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
    /// A slot's length lies at its offset shifted right by this.
    shift: Cell<u32>,
    /// What the next allocate or receive returns.
    next: Position,
    /// What the next send or release is to be given.
    oldest: Position,
    first: Cell<usize>,
    last: Cell<usize>,
    /// The other side's position as last seen. Sender: `next` may not reach it; receiver: may not pass it.
    limit: Cell<usize>,
    stride: Cell<usize>,
    msg_bytes: Cell<u64>,
    /// The thread that uses this end, 0 for nobody. Any thread may look.
    pub owner: core::sync::atomic::AtomicU64,
    /// Bits that are 0 in the addresses at which the sender begins a line; all ones where nothing is gained by that.
    fresh: Cell<usize>,
    /// Sender: the largest length while every message had that, then one that none has.
    usual: Cell<u64>,
    /// How long to pause between two looks; many pauses while a look brings many messages.
    patience: Cell<u32>,
    /// Up to this slot, `next` goes forward by the stride without another test.
    stop: Cell<usize>,
    /// Who may use this end by what handle, as `End::pass_of` makes it; 0 for nobody. Any thread may look.
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
    /// Address of the first message.
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

    /// Bytes from slot to slot: the message and padding.
    #[must_use]
    pub fn stride(bytes: u32) -> u32 {
        bytes.next_multiple_of(Self::alignment(bytes))
    }

    /// By how much a slot's offset is shifted for the place of its length: different for different slots, and no division.
    #[must_use]
    pub fn shift(self) -> u32 {
        self.stride.ilog2()
    }

    /// Places of lengths that a ring has.
    #[must_use]
    pub fn lengths(self) -> usize {
        ((self.stride as usize * self.slots as usize - 1) >> self.shift()) + 1
    }
}

/// How far ahead of its messages the sender asks for lines.
const AHEAD: usize = 256;

impl End {
    /// A side of a ring of this shape, before its first message.
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
            // A line that many small messages share is asked for once; large ones the processor foresees itself. In a small
            // ring what lies ahead is still the receiver's: through 32 slots of 64 bytes, asking takes a fifth longer.
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
            // The first step looks.
            stop: Cell::new(shape.first),
            pass: core::sync::atomic::AtomicU64::new(0),
        }
    }

    /// The word by which a thread's inline paths know an end again: no two threads, and no two handles of a thread, have
    /// the same. `thread` is at most 24 bits long and not 0; `slave` is 0 for slaves, who have no other's queues.
    #[must_use]
    pub(crate) fn pass_of(thread: u32, slave: u32, handle: i32) -> u64 {
        (u64::from(thread) << 40) ^ (u64::from(slave) << 32) ^ u64::from(handle as u32)
    }

    /// Where a sender that goes on at `next` has to stop: at the slot before what the receiver has, or at the last one.
    #[inline(always)]
    fn stop_sending(&self, next: usize) {
        let limit = self.limit.get();
        let end = if limit > next { limit } else { self.last.get() };
        self.stop.set(end - self.stride.get());
    }

    /// Where a receiver that goes on at `next` has to stop: at what the sender has, or at the last slot.
    #[inline(always)]
    fn stop_receiving(&self, next: usize) {
        let limit = self.limit.get();
        self.stop.set(if limit >= next {
            limit
        } else {
            self.last.get() - self.stride.get()
        });
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

    /// Does it hold `n`, of which `first` is the oldest?
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

    /// Looks how far the other side is; true if that is not `here`.
    #[inline(always)]
    fn look(&self, here: usize, other: &AtomicUsize) -> bool {
        // What it did with the slots before that is over (acquire).
        self.limit.set(other.load(Ordering::Acquire));
        here != self.limit.get()
    }

    /// How many slots in a row there are from `at` on, if from there `all` bytes may be used; at most `want`.
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

    /// Sender: up to `want` slots in a row, as address and number; no second look for more.
    #[inline(always)]
    pub fn try_allocate_batch(&self, want: u32, memory: &impl Memory) -> Option<(usize, u32)> {
        let at = self.next.get();
        let next = self.after(at);
        if next == self.limit.get() && !self.look(next, memory.released()) {
            return None;
        }
        let limit = self.limit.get();
        // Up to the slot that must stay empty, or the end of the ring.
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

    /// Sender: marks the `n` oldest held messages as ready, each of `bytes`. The caller has checked that it
    /// holds them, and that `bytes` is at most the largest length.
    #[inline(always)]
    pub fn send(&self, n: u32, bytes: u32, memory: &impl Memory) {
        if !self.is_usual(bytes) {
            self.note_lengths(n, self.msg_bytes.get() as u32 - bytes, memory);
        }
        self.send_usual(n, memory);
    }

    /// The position after `first` if that is the only message held and the ring does not end there: the usual case, in
    /// which `next` says it all.
    #[inline(always)]
    pub fn after_only(&self, first: usize) -> Option<usize> {
        let at = first + self.stride.get();
        (first == self.oldest.get() && at == self.next.get()).then_some(at)
    }

    /// [`End::send`] of the message before `at`, which [`End::after_only`] has found and whose length
    /// [is usual](End::is_usual).
    #[inline(always)]
    pub fn send_only(&self, at: usize, memory: &impl Memory) {
        self.oldest.set(at);
        // After the message was filled (release).
        memory.sent().store(at, Ordering::Release);
    }

    /// [`End::release`] of the message before `at`, which [`End::after_only`] has found.
    #[inline(always)]
    pub fn release_only(&self, at: usize, memory: &impl Memory) {
        self.oldest.set(at);
        // After the last use of the message (release).
        memory.released().store(at, Ordering::Release);
    }

    /// Is this the length that all messages had so far?
    #[inline(always)]
    pub fn is_usual(&self, bytes: u32) -> bool {
        u64::from(bytes) == self.usual.get()
    }

    /// [`End::send`] of messages whose length [is usual](End::is_usual).
    #[inline(always)]
    pub(crate) fn send_usual(&self, n: u32, memory: &impl Memory) {
        let at = self.wrapped(self.oldest.get() + n as usize * self.stride.get());
        self.oldest.set(at);
        // After the messages were filled (release).
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

    /// Sender: is there a slot?
    pub fn has_room(&self, memory: &impl Memory) -> bool {
        let next = self.after(self.next.get());
        // The limit stays: whoever allocates looks for itself, and synchronises by that.
        next != self.limit.get() || next != memory.released().load(Ordering::Acquire)
    }

    /// Receiver: is there a message?
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

    /// Receiver: the next message, if there is one; [`End::length`] tells its length.
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

    /// Receiver: up to `want` messages in a row, as address and number; no second look for more.
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

    /// Receiver: gives the `n` oldest held messages back. The caller has checked that it holds them.
    #[inline(always)]
    pub fn release(&self, n: u32, memory: &impl Memory) {
        let at = self.wrapped(self.oldest.get() + n as usize * self.stride.get());
        self.oldest.set(at);
        // After the last use of the messages (release).
        memory.released().store(at, Ordering::Release);
    }
}
