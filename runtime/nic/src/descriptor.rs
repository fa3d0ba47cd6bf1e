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

const NOP: u8 = 0;
const PUT: u8 = 1;
const PUT_SIGNAL: u8 = 2;
const GET: u8 = 3;
const ATOMIC: u8 = 4;
const SEND: u8 = 5;
const FENCE: u8 = 6;
const WAIT: u8 = 7;
const COUNT: u8 = 8;
const COMPUTE: u8 = 9;

const SIGNALLED: u8 = 1;
const INLINE: u8 = 2;
const FETCH: u8 = 4;
const COUNTED: u8 = 8;
const SOURCE: u8 = 16;
const ALL_FLAGS: u8 = SIGNALLED | INLINE | FETCH | COUNTED | SOURCE;

/// Detail byte of an atomic: the operation, and this bit for 64-bit words.
const WIDE: u8 = 0x80;

/// Why bytes are not a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Malformed {
    /// No such opcode.
    Opcode = 1,
    /// A flag that does not exist, or not with this opcode.
    Flags = 2,
    /// The detail byte names no operation.
    Detail = 3,
    /// More inline bytes than fit, or a length that contradicts them.
    Inline = 4,
    /// A message longer than [`MESSAGE_BYTES`].
    Message = 5,
    /// A span of 0 or more than [`LONGEST_SPAN`].
    Span = 6,
    /// No such type of elements, one that the operation does not take, or a length that is no whole number of
    /// them.
    Elements = 7,
}

pub(crate) const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

pub(crate) const fn low(word: u64) -> u32 {
    word as u32
}

pub(crate) const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

/// A put that asks for nothing else: no completion, no count, no signal. What most descriptors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainPut {
    /// Target.
    pub peer: u32,
    /// Bytes, and where from.
    pub source: Source,
    /// Where to.
    pub remote: Remote,
}

impl PlainPut {
    /// What the words mean, if they are one; [`Descriptor::parse`] says the same, and of all others.
    #[inline]
    pub fn of(w: &Words) -> Option<PlainPut> {
        // The detail byte means nothing in a put.
        let [opcode, flags, inline, _] = low(w[0]).to_le_bytes();
        let length = low(w[4]);
        let source = match (opcode, flags) {
            (PUT, 0) if inline == 0 => Source::Memory(
                Local {
                    address: w[5],
                    key: Key(high(w[4])),
                },
                length,
            ),
            (PUT, INLINE) if usize::from(inline) <= INLINE_BYTES && length == u32::from(inline) => {
                Source::Inline(Inline::kept([w[5], w[6], w[7]], inline))
            }
            _ => return None,
        };
        Some(PlainPut {
            peer: low(w[1]),
            source,
            remote: Remote {
                address: w[2],
                key: Key(low(w[3])),
            },
        })
    }

    /// Its words, as of the descriptor of queue pair `queue_pair` that means the same.
    #[inline]
    pub fn encode(&self, queue_pair: u32) -> Words {
        let head =
            |flags: u8, inline: u8| pair(u32::from_le_bytes([PUT, flags, inline, 0]), queue_pair);
        let (first, data) = match &self.source {
            Source::Memory(local, length) => (
                head(0, 0),
                [pair(*length, local.key.0), local.address, 0, 0],
            ),
            Source::Inline(i) => (
                head(INLINE, i.len),
                [u64::from(i.len), i.words[0], i.words[1], i.words[2]],
            ),
        };
        [
            first,
            pair(self.peer, 0),
            self.remote.address,
            pair(self.remote.key.0, 0),
            data[0],
            data[1],
            data[2],
            data[3],
        ]
    }
}

impl Descriptor {
    /// Its 64 bytes as words. An inline source longer than fits beside a signal is cut by nobody: the
    /// result then does not [parse](Descriptor::parse).
    pub fn encode(&self) -> Words {
        let mut w: Words = [0; WORDS];
        let mut flags = if self.signalled { SIGNALLED } else { 0 };
        let mut inline = 0;
        let mut detail = 0;
        let mut tag = 0;
        if let Some(counter) = self.count {
            flags |= COUNTED | if self.count_source { SOURCE } else { 0 };
            w[3] = pair(0, counter.0);
        }
        let mut source_words = |w: &mut Words, source: &Source, most: usize| match source {
            Source::Memory(local, length) => {
                w[4] = pair(*length, local.key.0);
                w[5] = local.address;
            }
            Source::Inline(i) => {
                flags |= INLINE;
                inline = i.len;
                w[4] = pair(u32::from(i.len), 0);
                w[5..5 + most / 8].copy_from_slice(&i.words[..most / 8]);
            }
        };
        let opcode = match &self.work {
            Work::Nop => NOP,
            Work::Put {
                source,
                remote,
                signal,
            } => {
                w[2] = remote.address;
                w[3] = pair(remote.key.0, high(w[3]));
                match signal {
                    None => {
                        source_words(&mut w, source, INLINE_BYTES);
                        PUT
                    }
                    Some(s) => {
                        source_words(&mut w, source, INLINE_BYTES_WITH_SIGNAL);
                        flags &= !(COUNTED | SOURCE);
                        w[3] = pair(remote.key.0, s.remote.key.0);
                        w[6] = s.remote.address;
                        w[7] = s.value;
                        detail = s.op as u8;
                        PUT_SIGNAL
                    }
                }
            }
            Work::Get {
                local,
                length,
                remote,
            } => {
                w[2] = remote.address;
                w[3] = pair(remote.key.0, high(w[3]));
                w[4] = pair(*length, local.key.0);
                w[5] = local.address;
                GET
            }
            Work::Atomic(a) => {
                w[2] = a.remote.address;
                w[3] = pair(a.remote.key.0, high(w[3]));
                w[6] = a.operand;
                w[7] = a.comparand;
                detail = a.op as u8 | if a.width == Width::W8 { WIDE } else { 0 };
                w[4] = pair(a.width.bytes(), 0);
                match a.fetch {
                    Fetch::No => {}
                    Fetch::Completion => flags |= FETCH,
                    Fetch::Memory(local) => {
                        flags |= FETCH;
                        w[4] = pair(a.width.bytes(), local.key.0);
                        w[5] = local.address;
                    }
                }
                ATOMIC
            }
            Work::Send {
                source,
                port,
                tag: t,
            } => {
                source_words(&mut w, source, INLINE_BYTES);
                detail = *port;
                tag = *t;
                SEND
            }
            Work::Fence => FENCE,
            Work::Wait {
                counter,
                threshold,
                span,
            } => {
                flags &= !(COUNTED | SOURCE);
                w[3] = pair(0, counter.0);
                w[4] = pair(*span, 0);
                w[6] = *threshold;
                WAIT
            }
            Work::Count { counter, add } => {
                flags &= !(COUNTED | SOURCE);
                w[3] = pair(0, counter.0);
                w[6] = *add;
                COUNT
            }
            Work::Compute {
                op,
                element,
                target,
                operand,
                length,
            } => {
                detail = *op as u8;
                tag = u32::from(element.to_raw());
                w[2] = operand.address;
                w[3] = pair(operand.key.0, high(w[3]));
                w[4] = pair(*length, target.key.0);
                w[5] = target.address;
                COMPUTE
            }
        };
        w[0] = pair(
            u32::from_le_bytes([opcode, flags, inline, detail]),
            self.queue_pair,
        );
        w[1] = pair(self.peer, tag);
        w
    }

    /// What the words mean.
    ///
    /// # Errors
    /// What is wrong with them; any words may be handed in.
    pub fn parse(w: &Words) -> Result<Descriptor, Malformed> {
        let [opcode, flags, inline, detail] = low(w[0]).to_le_bytes();
        let allowed = match opcode {
            NOP | FENCE | GET | COMPUTE => SIGNALLED | COUNTED | SOURCE,
            PUT | SEND => SIGNALLED | COUNTED | SOURCE | INLINE,
            PUT_SIGNAL => SIGNALLED | INLINE,
            ATOMIC => SIGNALLED | COUNTED | SOURCE | FETCH,
            WAIT | COUNT => SIGNALLED,
            _ => return Err(Malformed::Opcode),
        };
        debug_assert_eq!(allowed & !ALL_FLAGS, 0);
        if flags & !allowed != 0 || flags & (SOURCE | COUNTED) == SOURCE {
            return Err(Malformed::Flags);
        }
        let count = (flags & COUNTED != 0).then(|| CounterId(high(w[3])));
        let remote = Remote {
            address: w[2],
            key: Key(low(w[3])),
        };
        let local = Local {
            address: w[5],
            key: Key(high(w[4])),
        };
        let length = low(w[4]);
        if flags & INLINE == 0 && inline != 0 {
            return Err(Malformed::Inline);
        }
        let source = |most: usize| {
            if flags & INLINE == 0 {
                return Ok(Source::Memory(local, length));
            }
            if usize::from(inline) > most || length != u32::from(inline) {
                return Err(Malformed::Inline);
            }
            let mut words = [0; 3];
            words[..most / 8].copy_from_slice(&w[5..5 + most / 8]);
            Ok(Source::Inline(Inline::kept(words, inline)))
        };
        let work = match opcode {
            NOP => Work::Nop,
            PUT => Work::Put {
                source: source(INLINE_BYTES)?,
                remote,
                signal: None,
            },
            PUT_SIGNAL => Work::Put {
                source: source(INLINE_BYTES_WITH_SIGNAL)?,
                remote,
                signal: Some(Signal {
                    remote: Remote {
                        address: w[6],
                        key: Key(high(w[3])),
                    },
                    op: match detail {
                        0 => SignalOp::Set,
                        1 => SignalOp::Add,
                        _ => return Err(Malformed::Detail),
                    },
                    value: w[7],
                }),
            },
            GET => Work::Get {
                local,
                length,
                remote,
            },
            ATOMIC => Work::Atomic(Atomic {
                op: AtomicOp::of(detail & !WIDE).ok_or(Malformed::Detail)?,
                width: if detail & WIDE != 0 {
                    Width::W8
                } else {
                    Width::W4
                },
                fetch: match (flags & FETCH != 0, local.key) {
                    (false, _) => Fetch::No,
                    (true, Key::NONE) => Fetch::Completion,
                    (true, _) => Fetch::Memory(local),
                },
                remote,
                operand: w[6],
                comparand: w[7],
            }),
            SEND => {
                let source = source(INLINE_BYTES)?;
                if source.len() as usize > MESSAGE_BYTES {
                    return Err(Malformed::Message);
                }
                Work::Send {
                    source,
                    port: detail,
                    tag: high(w[1]),
                }
            }
            FENCE => Work::Fence,
            COMPUTE => {
                let op = Arithmetic::from_raw(detail).ok_or(Malformed::Detail)?;
                let element = u8::try_from(high(w[1])).ok().and_then(Type::from_raw);
                let element = element
                    .filter(|e| op.takes(*e) && u64::from(length) % e.bytes() == 0)
                    .ok_or(Malformed::Elements)?;
                Work::Compute {
                    op,
                    element,
                    target: local,
                    operand: Local {
                        address: w[2],
                        key: Key(low(w[3])),
                    },
                    length,
                }
            }
            WAIT => {
                if length == 0 || length > LONGEST_SPAN {
                    return Err(Malformed::Span);
                }
                Work::Wait {
                    counter: CounterId(high(w[3])),
                    threshold: w[6],
                    span: length,
                }
            }
            _ => Work::Count {
                counter: CounterId(high(w[3])),
                add: w[6],
            },
        };
        Ok(Descriptor {
            queue_pair: high(w[0]),
            peer: low(w[1]),
            signalled: flags & SIGNALLED != 0,
            count,
            count_source: flags & SOURCE != 0,
            work,
        })
    }
}
