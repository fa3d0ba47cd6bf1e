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
//! [`Descriptor::parse`] takes any 64 bytes and either gives a value whose every field means something,
//! or says what is wrong. Nothing is looked up in memory here.

mod words;

pub(crate) use words::{high, low, pair};
pub use words::{Malformed, PlainPut};

use crate::arithmetic::{Arithmetic, Type};
pub use crate::completion::{Completion, Failure, Status, COMPLETION_WORDS};

/// Bytes of a descriptor.
pub const DESCRIPTOR_BYTES: usize = 64;
/// 64-bit words of a descriptor.
pub const WORDS: usize = DESCRIPTOR_BYTES / 8;
/// Bytes that fit into a descriptor itself when no signal follows them.
pub const INLINE_BYTES: usize = 24;
/// Bytes that fit into a descriptor with a signal.
pub const INLINE_BYTES_WITH_SIGNAL: usize = 8;
/// Longest small message.
pub const MESSAGE_BYTES: usize = 256;
/// Most descriptors that one [`Work::Wait`] can hold back.
pub const LONGEST_SPAN: u32 = 4096;

/// A descriptor as it lies in a send queue.
pub type Words = [u64; WORDS];

/// Names a registered region; 0 names none.
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
    /// Its region.
    pub key: Key,
}

/// Memory of the target, by the address that the target registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Remote {
    /// Address as registered by the target.
    pub address: u64,
    /// Its region there.
    pub key: Key,
}

/// Where an operation takes its bytes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From registered memory: `length` bytes.
    Memory(Local, u32),
    /// From the descriptor itself.
    Inline(Inline),
}

impl Source {
    /// Bytes it holds.
    pub fn len(&self) -> u32 {
        match self {
            Source::Memory(_, n) => *n,
            Source::Inline(i) => u32::from(i.len),
        }
    }

    /// True for the zero-byte operation, which moves nothing and completes all the same.
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
    /// Of at most [`INLINE_BYTES`] bytes; `None` for more.
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

    /// The first `len` bytes of the words: those past the length belong to an earlier use of the slot.
    #[inline]
    fn kept(mut words: [u64; 3], len: u8) -> Inline {
        for (i, word) in words.iter_mut().enumerate() {
            let kept = usize::from(len).saturating_sub(i * 8).min(8) as u32;
            *word &= 1u64.checked_shl(kept * 8).unwrap_or(0).wrapping_sub(1);
        }
        Inline { words, len }
    }

    /// The bytes, and how many of them count.
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

    /// What the word holds afterwards, given what it held; widths are the caller's.
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
    /// Nowhere.
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
    /// What becomes of the old value.
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
    /// Nothing; completes. What an unused template says.
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
    /// A small message into the target's inbox, in order per pair of queue pair and target.
    Send {
        /// Bytes, at most [`MESSAGE_BYTES`].
        source: Source,
        /// Whose inbox: the [port](crate::domain::Port) of the sender's counterpart.
        port: u8,
        /// For the receiver.
        tag: u32,
    },
    /// Later operations of this queue pair on this peer take effect after earlier ones. Other peers are
    /// not concerned.
    Fence,
    /// Takes the next `span` descriptors of this queue pair aside until the counter of the initiator's
    /// own rank has reached the threshold; what follows them is not held up. Completes at once.
    /// They are ordered by fences from when they run; quiet waits for them like for the others. A wait
    /// among them completes in error.
    Wait {
        /// Which counter.
        counter: CounterId,
        /// Runs when `counter >= threshold`.
        threshold: u64,
        /// How many descriptors, 1 to [`LONGEST_SPAN`].
        span: u32,
    },
    /// Adds to a counter of the peer (which may be the initiator itself); what waits for it then runs.
    Count {
        /// Which counter.
        counter: CounterId,
        /// How much.
        add: u64,
    },
    /// Arithmetic on this rank's own registered memory: `target = target OP operand`, element by element. Its peer is the
    /// initiator itself: fences to that peer order it, others do not. What reads the result elsewhere, such as a
    /// put, waits for this operation's counter or completion.
    ///
    /// Completes with the bytes of the target. An integer divided by zero is [`Status::Divisor`]: elements before
    /// it are done.
    Compute {
        /// The operation; it has to [take](Arithmetic::takes) the elements.
        op: Arithmetic,
        /// What the elements are.
        element: Type,
        /// Read and written.
        target: Local,
        /// Read. It may be the target itself; where they overlap in another way, the elements that both hold
        /// end up as no particular value.
        operand: Local,
        /// Of each, bytes: a multiple of the element's.
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
    /// A completion is written on success too (an error always writes one).
    pub signalled: bool,
    /// On success, 1 is added to this counter of the initiator's rank. Not with a signal: its key
    /// lies in the same place.
    pub count: Option<CounterId>,
    /// With a counter: it counts as soon as the source has been read and may be written again, which may be before the
    /// operation is done. It then counts for operations, too, that fail later. For operations that read no memory of
    /// the initiator, and for those that write there, this changes nothing.
    pub count_source: bool,
    /// What to do.
    pub work: Work,
}
