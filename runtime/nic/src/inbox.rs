//! Small messages: a bounded ring that many initiators fill and the owner empties, without a lock.
//!
//! The algorithm is Dmitry Vyukov's bounded queue: every cell carries a number that says whose turn it is. A full
//! inbox refuses a message. The engine then keeps the descriptor and tries again, so that a message may be delayed
//! but is never lost.
//!
//! An inbox lies in memory of its owner's process, or in memory that its peers map and write into themselves.

use crate::array::Array;
#[cfg(not(loom))]
use crate::array::Shareable;
use crate::descriptor::MESSAGE_BYTES;
use crossbeam_utils::CachePadded;
#[cfg(not(loom))]
use hetmp_core::park::SharedFlag;
use hetmp_core::sync::{pause, AtomicU64, Ordering};

/// A received message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Rank of the sender.
    pub source: u32,
    /// The sender's tag.
    pub tag: u32,
    len: usize,
    bytes: [u8; MESSAGE_BYTES],
}

impl Message {
    /// A message with this payload; `None` for more than [`MESSAGE_BYTES`] bytes.
    pub fn new(source: u32, tag: u32, payload: &[u8]) -> Option<Message> {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes.get_mut(..payload.len())?.copy_from_slice(payload);
        Some(Message {
            source,
            tag,
            len: payload.len(),
            bytes,
        })
    }

    /// The payload.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl core::fmt::Debug for Message {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Message")
            .field("source", &self.source)
            .field("tag", &self.tag)
            .field("bytes", &self.bytes())
            .finish()
    }
}

/// One message and its turn.
///
/// # Memory ordering
/// A sender releases `turn` after it has written the content, and a receiver acquires it before reading: otherwise
/// the receiver could read old bytes. A receiver releases `turn` after it has read, and a sender acquires it before
/// writing: otherwise the sender could overwrite bytes that are still being read.
#[derive(Debug, Default)]
#[repr(C)]
struct Cell {
    /// The number of the turn minus the cell's index, so that zero is the first turn.
    turn: AtomicU64,
    header: AtomicU64,
    length: AtomicU64,
}

/// The two ends of the ring.
#[derive(Debug, Default)]
#[repr(C)]
struct Ends {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU64>,
    /// Nudged after each message.
    #[cfg(not(loom))]
    arrived: CachePadded<SharedFlag>,
}

// SAFETY: atomics, for which zero is a value.
#[cfg(not(loom))]
unsafe impl Shareable for Cell {}
// SAFETY: atomics in `repr(C)`, for which zero is a value; a flag of zeros is one at epoch 0.
#[cfg(not(loom))]
unsafe impl Shareable for Ends {}

/// The messages of one rank for one user. Threads of any process that maps the inbox may deliver, and any thread may
/// receive.
#[derive(Debug)]
pub struct Inbox {
    ends: Array<Ends>,
    cells: Array<Cell>,
    /// The payloads of all cells, one after the other.
    words: Array<AtomicU64>,
    /// Words of one payload.
    most: usize,
}

/// The number of cells for `depth` messages, and the words of each for `most` bytes.
fn sizes(depth: usize, most: usize) -> (usize, usize) {
    (
        depth.clamp(2, 1 << 20).next_power_of_two(),
        most.min(MESSAGE_BYTES).div_ceil(8),
    )
}

impl Inbox {
    /// An inbox for `depth` messages (rounded up to a power of two, at least 2) of `most` bytes (at most
    /// [`MESSAGE_BYTES`]).
    pub fn new(depth: usize, most: usize) -> Inbox {
        let (depth, most) = sizes(depth, most);
        Inbox {
            ends: Array::own([Ends::default()]),
            cells: Array::own((0..depth).map(|_| Cell::default())),
            words: Array::own((0..depth * most).map(|_| AtomicU64::new(0))),
            most,
        }
    }

    /// Bytes that such an inbox takes in mapped memory.
    #[cfg(not(loom))]
    pub(crate) fn bytes(depth: usize, most: usize) -> usize {
        let (depth, most) = sizes(depth, most);
        Array::<Ends>::bytes(1)
            + Array::<Cell>::bytes(depth)
            + Array::<AtomicU64>::bytes(depth * most)
    }

    /// An inbox in mapped memory at `*at`. Moves `*at` to its end.
    ///
    /// # Safety
    /// As for `Array::at`, for [`Inbox::bytes`] of the same sizes.
    #[cfg(not(loom))]
    pub(crate) unsafe fn at(at: &mut *mut u8, depth: usize, most: usize) -> Inbox {
        let (depth, most) = sizes(depth, most);
        // SAFETY: who calls upholds the contract of `Array::at` for the whole range, in which the parts follow each
        // other.
        unsafe {
            Inbox {
                ends: Array::at(at, 1),
                cells: Array::at(at, depth),
                words: Array::at(at, depth * most),
                most,
            }
        }
    }

    fn ends(&self) -> &Ends {
        &self.ends[0]
    }

    fn words(&self, cell: usize) -> &[AtomicU64] {
        &self.words[cell * self.most..(cell + 1) * self.most]
    }

    /// Delivers a message. False if the inbox is full or the message is longer than a cell; then nothing was
    /// delivered.
    pub fn deliver(&self, message: &Message) -> bool {
        let mask = self.cells.len() as u64 - 1;
        if message.len > self.most * 8 {
            return false;
        }
        let ends = self.ends();
        let mut tail = ends.tail.load(Ordering::Relaxed);
        loop {
            let index = tail & mask;
            let cell = &self.cells[index as usize];
            let turn = cell.turn.load(Ordering::Acquire).wrapping_add(index);
            let lead = turn.wrapping_sub(tail) as i64;
            if lead < 0 {
                return false;
            }
            if lead > 0 {
                tail = ends.tail.load(Ordering::Relaxed);
                pause();
                continue;
            }
            match ends.tail.compare_exchange_weak(
                tail,
                tail + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Err(now) => tail = now,
                Ok(_) => {
                    cell.header.store(
                        u64::from(message.source) | u64::from(message.tag) << 32,
                        Ordering::Relaxed,
                    );
                    cell.length.store(message.len as u64, Ordering::Relaxed);
                    let words = self.words(index as usize).iter();
                    for (word, chunk) in words.zip(message.bytes().chunks(8)) {
                        let mut b = [0; 8];
                        b[..chunk.len()].copy_from_slice(chunk);
                        word.store(u64::from_le_bytes(b), Ordering::Relaxed);
                    }
                    cell.turn.store(tail + 1 - index, Ordering::Release);
                    #[cfg(not(loom))]
                    ends.arrived.nudge();
                    return true;
                }
            }
        }
    }

    /// Takes the oldest message, if there is one.
    pub fn receive(&self) -> Option<Message> {
        let mask = self.cells.len() as u64 - 1;
        let ends = self.ends();
        let mut head = ends.head.load(Ordering::Relaxed);
        loop {
            let index = head & mask;
            let cell = &self.cells[index as usize];
            let turn = cell.turn.load(Ordering::Acquire).wrapping_add(index);
            let lead = turn.wrapping_sub(head + 1) as i64;
            if lead < 0 {
                return None;
            }
            if lead > 0 {
                head = ends.head.load(Ordering::Relaxed);
                pause();
                continue;
            }
            match ends.head.compare_exchange_weak(
                head,
                head + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Err(now) => head = now,
                Ok(_) => {
                    let header = cell.header.load(Ordering::Relaxed);
                    // Bounded, because a peer that maps this memory may have written any number.
                    let len = (cell.length.load(Ordering::Relaxed) as usize).min(self.most * 8);
                    let mut bytes = [0; MESSAGE_BYTES];
                    let words = self.words(index as usize).iter();
                    for (word, chunk) in words.zip(bytes[..len].chunks_mut(8)) {
                        let b = word.load(Ordering::Relaxed).to_le_bytes();
                        chunk.copy_from_slice(&b[..chunk.len()]);
                    }
                    cell.turn.store(head + mask + 1 - index, Ordering::Release);
                    return Some(Message {
                        source: header as u32,
                        tag: (header >> 32) as u32,
                        len,
                        bytes,
                    });
                }
            }
        }
    }

    /// Waits up to `ns` nanoseconds for a message.
    #[cfg(not(loom))]
    pub fn receive_within(&self, ns: u64) -> Option<Message> {
        let mut got = None;
        self.ends().arrived.wait_nudged(ns, &mut || {
            got = self.receive();
            got.is_some()
        });
        got
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_full_inbox_refuses_and_keeps_order() {
        let inbox = Inbox::new(2, 16);
        let m = |tag| Message::new(1, tag, &[tag as u8; 11]).expect("short");
        assert!(inbox.deliver(&m(1)) && inbox.deliver(&m(2)));
        assert!(!inbox.deliver(&m(3)));
        assert_eq!(inbox.receive(), Some(m(1)));
        assert!(inbox.deliver(&m(3)));
        assert_eq!(inbox.receive(), Some(m(2)));
        assert_eq!(inbox.receive(), Some(m(3)));
        assert_eq!(inbox.receive(), None);
        assert!(Message::new(0, 0, &[0; MESSAGE_BYTES + 1]).is_none());
        let long = Message::new(0, 0, &[0; 17]).expect("short enough for a message");
        assert!(!inbox.deliver(&long));
    }

    #[test]
    fn waiting_ends_with_the_time_and_with_a_message() {
        let inbox = Inbox::new(2, 8);
        assert_eq!(inbox.receive_within(1_000_000), None);
        std::thread::scope(|s| {
            s.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                assert!(inbox.deliver(&Message::new(4, 5, b"late").expect("short")));
            });
            let got = inbox.receive_within(u64::MAX).expect("delivered");
            assert_eq!((got.source, got.tag, got.bytes()), (4, 5, &b"late"[..]));
        });
    }
}
