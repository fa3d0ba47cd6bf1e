//! Small messages: a bounded ring that many initiators fill and the owner empties, without a lock.
//!
//! The algorithm is Dmitry Vyukov's bounded queue: every cell carries a number that says whose turn it is.
//! A full inbox refuses; the engine then keeps the descriptor and tries again, so that a message is
//! delayed but never lost.

use crate::descriptor::MESSAGE_BYTES;
#[cfg(not(loom))]
use hetmp_core::park::Flag;
use hetmp_core::sync::{pause, AtomicU64, CacheLine, Ordering};

/// A received message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// Rank of the sender.
    pub source: u32,
    /// What the sender said.
    pub tag: u32,
    len: usize,
    bytes: [u8; MESSAGE_BYTES],
}

impl Message {
    /// A message of at most [`MESSAGE_BYTES`] bytes.
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

    /// Its bytes.
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

/// # Memory ordering
/// `turn` is released after the content was written (or read), and acquired before it is read (or written
/// again). Without the first a receiver could see a message's old bytes, without the second a sender
/// could overwrite what is still being read.
#[derive(Debug)]
struct Cell {
    turn: AtomicU64,
    header: AtomicU64,
    length: AtomicU64,
    words: Box<[AtomicU64]>,
}

/// The messages of one rank. Any thread may deliver, any thread may receive.
#[derive(Debug)]
pub struct Inbox {
    cells: Box<[Cell]>,
    head: CacheLine<AtomicU64>,
    tail: CacheLine<AtomicU64>,
    #[cfg(not(loom))]
    arrived: CacheLine<Flag>,
}

impl Inbox {
    /// Room for `depth` messages (rounded up to a power of two, at least 2) of `most` bytes
    /// (at most [`MESSAGE_BYTES`]).
    pub fn new(depth: usize, most: usize) -> Inbox {
        let depth = depth.clamp(2, 1 << 20).next_power_of_two();
        let words = most.min(MESSAGE_BYTES).div_ceil(8);
        Inbox {
            cells: (0..depth as u64)
                .map(|i| Cell {
                    turn: AtomicU64::new(i),
                    header: AtomicU64::new(0),
                    length: AtomicU64::new(0),
                    words: (0..words).map(|_| AtomicU64::new(0)).collect(),
                })
                .collect(),
            head: CacheLine(AtomicU64::new(0)),
            tail: CacheLine(AtomicU64::new(0)),
            #[cfg(not(loom))]
            arrived: CacheLine(Flag::new()),
        }
    }

    /// Delivers a message. False: the inbox is full (or the message longer than its cells), and nothing
    /// was delivered.
    pub fn deliver(&self, message: &Message) -> bool {
        let mask = self.cells.len() as u64 - 1;
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            let cell = &self.cells[(tail & mask) as usize];
            if message.len > cell.words.len() * 8 {
                return false;
            }
            let turn = cell.turn.load(Ordering::Acquire);
            let lead = turn.wrapping_sub(tail) as i64;
            if lead < 0 {
                return false;
            }
            if lead > 0 {
                tail = self.tail.load(Ordering::Relaxed);
                pause();
                continue;
            }
            match self.tail.compare_exchange_weak(
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
                    for (word, chunk) in cell.words.iter().zip(message.bytes().chunks(8)) {
                        let mut b = [0; 8];
                        b[..chunk.len()].copy_from_slice(chunk);
                        word.store(u64::from_le_bytes(b), Ordering::Relaxed);
                    }
                    cell.turn.store(tail + 1, Ordering::Release);
                    #[cfg(not(loom))]
                    self.arrived.nudge();
                    return true;
                }
            }
        }
    }

    /// The oldest message, if there is one.
    pub fn receive(&self) -> Option<Message> {
        let mask = self.cells.len() as u64 - 1;
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            let cell = &self.cells[(head & mask) as usize];
            let lead = cell.turn.load(Ordering::Acquire).wrapping_sub(head + 1) as i64;
            if lead < 0 {
                return None;
            }
            if lead > 0 {
                head = self.head.load(Ordering::Relaxed);
                pause();
                continue;
            }
            match self.head.compare_exchange_weak(
                head,
                head + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Err(now) => head = now,
                Ok(_) => {
                    let header = cell.header.load(Ordering::Relaxed);
                    let len = cell.length.load(Ordering::Relaxed) as usize;
                    let mut bytes = [0; MESSAGE_BYTES];
                    for (word, chunk) in cell.words.iter().zip(bytes[..len].chunks_mut(8)) {
                        let b = word.load(Ordering::Relaxed).to_le_bytes();
                        chunk.copy_from_slice(&b[..chunk.len()]);
                    }
                    cell.turn.store(head + mask + 1, Ordering::Release);
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
        self.arrived.wait_nudged(ns, &mut || {
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
