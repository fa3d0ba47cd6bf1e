//! Which of a long message's two ranks copies which piece of it.
//!
//! The receiver [opens](Cursor::open) a message in a word of its segment, of which there is one for each sender. Then
//! both ranks claim pieces, one at a time, each by one change of the word: the receiver reads its pieces from the
//! sender's process, and the sender writes its pieces into the receiver's. A sender that does something else claims
//! nothing, and the receiver copies everything.
//!
//! While a claimed piece is written the word says so. The receiver's memory is the program's again only when nothing
//! is written there: the receiver either finds all pieces claimed, or [closes](Cursor::close) the message, after which
//! nothing is claimed; and then waits until no piece is being written.
//!
//! # Memory ordering
//! The end of a write is stored with release and loaded with acquire: otherwise the receiver could tell the program
//! that the message is there before its last bytes are. The claims of one word are totally ordered, so that no piece is
//! copied twice. A message's number is in the same word: a sender that comes late with a piece of an earlier message
//! claims nothing.

use hetmp_core::sync::{AtomicU64, Ordering};

/// The sender is writing a piece.
const WRITING: u64 = 1;
/// Nothing more is claimed: the receiver's run has failed, or a piece could not be copied.
const CLOSED: u64 = 2;
/// One claimed piece. The number of pieces lies below [`NUMBER`].
const CLAIMED: u64 = 4;
/// Where the message's number begins.
const NUMBER: u32 = 32;
/// The most pieces of a message.
pub const MOST: u64 = (1 << NUMBER) / CLAIMED - 1;

/// The word.
#[derive(Debug)]
#[repr(transparent)]
pub struct Cursor(AtomicU64);

/// What the receiver finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// This piece is the receiver's.
    Piece(u64),
    /// Nothing is left to claim, and the sender is writing a piece.
    Written,
    /// All pieces but those that the receiver has claimed are there.
    Whole,
    /// The message was closed, and nothing is being written.
    Closed,
}

impl Cursor {
    /// A word that no message has used.
    #[cfg(any(test, loom))]
    #[allow(
        clippy::new_without_default,
        reason = "for tests and models; segments are zero at first"
    )]
    pub fn new() -> Cursor {
        Cursor(AtomicU64::new(0))
    }

    /// The receiver begins message `number`. False if the sender still writes a piece of the one before.
    pub fn open(&self, number: u32) -> bool {
        let before = self.0.load(Ordering::Acquire);
        let new = u64::from(number) << NUMBER;
        before & WRITING == 0
            && self
                .0
                .compare_exchange(before, new, Ordering::AcqRel, Ordering::Acquire)
                .is_ok()
    }

    fn claim(&self, number: u32, pieces: u64, writing: u64) -> Result<u64, u64> {
        let claimed = |word: u64| word % (1 << NUMBER) / CLAIMED;
        let free = |word: u64| {
            word >> NUMBER == u64::from(number)
                && word & (CLOSED | writing) == 0
                && claimed(word) < pieces
        };
        let next = |word: u64| free(word).then_some((word + CLAIMED) | writing);
        self.0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, next)
            .map(claimed)
    }

    /// The receiver claims a piece of message `number`, which it has opened.
    pub fn read(&self, number: u32, pieces: u64) -> Found {
        match self.claim(number, pieces, 0) {
            Ok(piece) => Found::Piece(piece),
            Err(word) if word & WRITING != 0 => Found::Written,
            Err(word) if word & CLOSED != 0 => Found::Closed,
            Err(_) => Found::Whole,
        }
    }

    /// The sender claims a piece of message `number`. It says [`Cursor::written`] afterwards.
    pub fn write(&self, number: u32, pieces: u64) -> Option<u64> {
        self.claim(number, pieces, WRITING).ok()
    }

    /// The piece that the sender has claimed last is written; or it could not be, and the message is closed.
    pub fn written(&self, whole: bool) {
        if !whole {
            self.close();
        }
        self.0.fetch_and(!WRITING, Ordering::AcqRel);
    }

    /// Nothing more is claimed.
    pub fn close(&self) {
        self.0.fetch_or(CLOSED, Ordering::AcqRel);
    }
}
