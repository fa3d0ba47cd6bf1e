//! The 64-byte descriptor (work-queue entry): its bytes and their meaning.
//!
//! The layout follows the mlx5 work-queue entry, four segments of 16 bytes, so that a backend on real
//! queues stays possible. As eight little-endian words of 64 bits:
//!
//! | word | low half | high half | segment |
//! | --- | --- | --- | --- |
//! | 0 | opcode, flags, inline bytes, detail or port (8 bits each) | queue pair | control |
//! | 1 | peer | tag of a message, type of the elements | control |
//! | 2 | remote address, or the operand's | | remote address |
//! | 3 | remote key, or the operand's | key of the signal, or the counter | remote address |
//! | 4 | length in bytes | local key | data |
//! | 5 | local address, or inline data from here | | data |
//! | 6 | operand, or address of the signal | | operands |
//! | 7 | comparand, or value of the signal | | operands |
//!
//! [`Descriptor::parse`] accepts or refuses any 64 bytes. An accepted descriptor has a meaning in every field; a
//! refusal says what is wrong. Parsing looks nothing up in memory.

mod words;

pub(crate) use words::{high, low, pair};
pub use words::{Malformed, PlainPut};

use crate::arithmetic::{Arithmetic, Type};
pub use crate::completion::{Completion, Failure, Status, COMPLETION_WORDS};

/// Bytes of a descriptor.
pub const DESCRIPTOR_BYTES: usize = 64;
/// 64-bit words of a descriptor.
pub const WORDS: usize = DESCRIPTOR_BYTES / 8;
/// Bytes that fit into a descriptor without a signal.
pub const INLINE_BYTES: usize = 24;
/// Bytes that fit into a descriptor with a signal.
pub const INLINE_BYTES_WITH_SIGNAL: usize = 8;
/// Longest small message.
pub const MESSAGE_BYTES: usize = 256;
/// The most descriptors that one [`Work::Wait`] can hold back.
pub const LONGEST_SPAN: u32 = 4096;

/// A descriptor as it lies in a send queue.
pub type Words = [u64; WORDS];

/// The name of a registered region; 0 names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Key(pub u32);

impl Key {
    /// No region.
    pub const NONE: Key = Key(0);
}

/// A counter of one rank, for triggered operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct CounterId(pub u32);

/// Memory of the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Local {
    /// Address as registered.
    pub address: u64,
    /// The region's key.
    pub key: Key,
}

/// Memory of the target, by the address that the target registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Remote {
    /// Address as registered by the target.
    pub address: u64,
    /// The key of the region at the target.
    pub key: Key,
}

/// Where an operation takes its bytes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `u32` bytes of registered memory.
    Memory(Local, u32),
    /// From the descriptor itself.
    Inline(Inline),
}

impl Source {
    /// Length in bytes.
    pub fn len(&self) -> u32 {
        match self {
            Source::Memory(_, n) => *n,
            Source::Inline(i) => u32::from(i.len),
        }
    }

    /// True for length 0. Such an operation moves nothing, and completes like any other.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Bytes carried in the descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Inline {
    words: [u64; 3],
    len: u8,
}

impl Inline {
    /// Takes at most [`INLINE_BYTES`] bytes; `None` for more.
    pub fn new(bytes: &[u8]) -> Option<Inline> {
        if bytes.len() > INLINE_BYTES {
            return None;
        }
        let mut raw = [0u8; INLINE_BYTES];
        raw[..bytes.len()].copy_from_slice(bytes);
        Some(Inline {
            words: words_of(&raw),
            len: bytes.len() as u8,
        })
    }

    /// Keeps the first `len` bytes of the words and clears the rest, which an earlier use of the slot left there.
    #[inline]
    fn kept(mut words: [u64; 3], len: u8) -> Inline {
        for (i, word) in words.iter_mut().enumerate() {
            let kept = usize::from(len).saturating_sub(i * 8).min(8) as u32;
            *word &= 1u64.checked_shl(kept * 8).unwrap_or(0).wrapping_sub(1);
        }
        Inline { words, len }
    }

    /// The bytes, and their number.
    #[inline]
    pub fn bytes(&self) -> ([u8; INLINE_BYTES], usize) {
        let mut raw = [0u8; INLINE_BYTES];
        for (i, w) in self.words.iter().enumerate() {
            raw[i * 8..i * 8 + 8].copy_from_slice(&w.to_le_bytes());
        }
        (raw, usize::from(self.len))
    }
}

fn words_of(raw: &[u8; INLINE_BYTES]) -> [u64; 3] {
    let mut words = [0; 3];
    for (i, w) in words.iter_mut().enumerate() {
        let mut b = [0; 8];
        b.copy_from_slice(&raw[i * 8..i * 8 + 8]);
        *w = u64::from_le_bytes(b);
    }
    words
}

/// What a signal does to its 64-bit word (OpenSHMEM 1.5, section 9.8: `SHMEM_SIGNAL_SET`, `_ADD`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalOp {
    /// Stores the value.
    Set,
    /// Adds the value.
    Add,
}

/// The signal of a put: becomes visible after the data, at the same target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The 64-bit word.
    pub remote: Remote,
    /// Set or add.
    pub op: SignalOp,
    /// Operand.
    pub value: u64,
}

/// An atomic operation on a word of 4 or 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AtomicOp {
    /// Reads.
    Read = 0,
    /// Stores the operand.
    Write = 1,
    /// Stores the operand, gives the old value.
    Swap = 2,
    /// Stores the operand where the old value equals the comparand.
    CompareSwap = 3,
    /// Adds, wrapping.
    Add = 4,
    /// Bitwise and.
    And = 5,
    /// Bitwise or.
    Or = 6,
    /// Bitwise exclusive or.
    Xor = 7,
}

impl AtomicOp {
    fn of(code: u8) -> Option<AtomicOp> {
        use AtomicOp::*;
        [Read, Write, Swap, CompareSwap, Add, And, Or, Xor]
            .into_iter()
            .find(|op| *op as u8 == code)
    }

    /// The word's new value, from its old one. The caller cuts both to the word's width.
    pub fn apply(self, old: u64, operand: u64, comparand: u64) -> u64 {
        match self {
            AtomicOp::Read => old,
            AtomicOp::Write | AtomicOp::Swap => operand,
            AtomicOp::CompareSwap if old == comparand => operand,
            AtomicOp::CompareSwap => old,
            AtomicOp::Add => old.wrapping_add(operand),
            AtomicOp::And => old & operand,
            AtomicOp::Or => old | operand,
            AtomicOp::Xor => old ^ operand,
        }
    }
}

/// Bytes of an atomic's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    W4,
    /// 64 bits.
    W8,
}

impl Width {
    /// 4 or 8.
    pub fn bytes(self) -> u32 {
        match self {
            Width::W4 => 4,
            Width::W8 => 8,
        }
    }
}

/// Where a fetched value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// The old value is dropped.
    No,
    /// Into the completion's `value`.
    Completion,
    /// Into memory of the initiator.
    Memory(Local),
}

/// An atomic operation in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// What to do.
    pub op: AtomicOp,
    /// Size of the word.
    pub width: Width,
    /// Where the old value goes.
    pub fetch: Fetch,
    /// The word; aligned to its size.
    pub remote: Remote,
    /// Operand.
    pub operand: u64,
    /// Comparand of [`AtomicOp::CompareSwap`]; 0 otherwise.
    pub comparand: u64,
}

/// What a descriptor asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Does nothing, and completes. This is the content of an unused template.
    Nop,
    /// Writes to the target's memory.
    Put {
        /// Bytes.
        source: Source,
        /// Where to.
        remote: Remote,
        /// Written after the data.
        signal: Option<Signal>,
    },
    /// Reads from the target's memory.
    Get {
        /// Where to.
        local: Local,
        /// Bytes.
        length: u32,
        /// Where from.
        remote: Remote,
    },
    /// One word, atomically.
    Atomic(Atomic),
    /// Sends a small message into the target's inbox. Messages of one queue pair to one target arrive in order.
    Send {
        /// Bytes, at most [`MESSAGE_BYTES`].
        source: Source,
        /// Which inbox: the sender's [port](crate::domain::Port) number, which has the same user at the target.
        port: u8,
        /// A number for the receiver.
        tag: u32,
    },
    /// Operations of this queue pair on this peer that are posted later take effect after those posted earlier.
    /// Operations on other peers are not affected.
    Fence,
    /// Holds the next `span` descriptors of this queue pair back until the counter, of the initiator's own rank, has
    /// reached the threshold. The descriptors after these are not delayed. The wait itself completes at once. Fences
    /// order the held-back descriptors from the moment at which they run, and quiet waits for them too. A wait among
    /// the held-back descriptors completes in error.
    Wait {
        /// Which counter.
        counter: CounterId,
        /// Runs when `counter >= threshold`.
        threshold: u64,
        /// How many descriptors, 1 to [`LONGEST_SPAN`].
        span: u32,
    },
    /// Adds to a counter of the peer, which may be the initiator itself. Descriptors that wait for the counter then
    /// run.
    Count {
        /// Which counter.
        counter: CounterId,
        /// How much.
        add: u64,
    },
    /// Arithmetic on this rank's own registered memory: `target = target OP operand`, element by element. The peer of
    /// this operation is the initiator itself, so fences to that peer order it, and fences to other peers do not. A
    /// later operation that reads the result, such as a put, has to wait for this operation's counter or completion.
    ///
    /// Completes with the number of bytes of the target. A division of an integer by zero ends with
    /// [`Status::Divisor`]; the elements before it are done.
    Compute {
        /// The operation; it must [accept](Arithmetic::takes) the elements' type.
        op: Arithmetic,
        /// The elements' type.
        element: Type,
        /// Read and written.
        target: Local,
        /// Read. The operand may be the target itself. If the two overlap in another way, the elements in the overlap
        /// get unspecified values.
        operand: Local,
        /// Bytes of the target, and of the operand: a multiple of the element's size.
        length: u32,
    },
}

/// A parsed descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Number of the queue pair it was posted to.
    pub queue_pair: u32,
    /// Target.
    pub peer: u32,
    /// A completion is written on success too. An error always writes one.
    pub signalled: bool,
    /// On success, 1 is added to this counter of the initiator's rank. Not possible with a signal, whose key takes
    /// the same place in the descriptor.
    pub count: Option<CounterId>,
    /// Only with a counter: the counter counts as soon as the source has been read and may be written again, which
    /// may be before the operation is done. Operations that fail later are counted too. No effect on operations that
    /// read no memory of the initiator, or that write there.
    pub count_source: bool,
    /// What to do.
    pub work: Work,
}
