//! The bytes of a descriptor: their encoding, and how they are read.

use super::{
    Atomic, AtomicOp, CounterId, Descriptor, Fetch, Inline, Key, Local, Remote, Signal, SignalOp,
    Source, Width, Words, Work, INLINE_BYTES, INLINE_BYTES_WITH_SIGNAL, LONGEST_SPAN,
    MESSAGE_BYTES, WORDS,
};
use crate::arithmetic::{Arithmetic, Type};

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

/// In the detail byte of an atomic, next to the operation: the word has 64 bits.
const WIDE: u8 = 0x80;

/// Why bytes are not a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Malformed {
    /// No such opcode.
    Opcode = 1,
    /// A flag that does not exist, or is not allowed with this opcode.
    Flags = 2,
    /// The detail byte names no operation.
    Detail = 3,
    /// More inline bytes than fit, or a length that contradicts them.
    Inline = 4,
    /// A message longer than [`MESSAGE_BYTES`].
    Message = 5,
    /// A span of 0 or more than [`LONGEST_SPAN`].
    Span = 6,
    /// A type of elements that does not exist or that the operation does not accept, or a length that is not a
    /// multiple of the element's size.
    Elements = 7,
}

#[inline]
pub(crate) const fn pair(low: u32, high: u32) -> u64 {
    low as u64 | (high as u64) << 32
}

pub(crate) const fn low(word: u64) -> u32 {
    word as u32
}

pub(crate) const fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

/// A put without completion, count or signal. Most descriptors are such puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainPut {
    /// Target.
    pub peer: u32,
    /// The bytes to write.
    pub source: Source,
    /// Where the bytes go.
    pub remote: Remote,
}

impl PlainPut {
    /// Reads words that are a plain put; `None` for all others. [`Descriptor::parse`] reads a plain put the same way.
    #[inline]
    pub fn of(w: &Words) -> Option<PlainPut> {
        // A put has no use for the detail byte.
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

    /// The words of the descriptor that a queue pair with number `queue_pair` would post for this put.
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
    /// The descriptor as words. Inline bytes that are too long next to a signal are not cut: such words do not
    /// [parse](Descriptor::parse).
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

    /// Reads a descriptor.
    ///
    /// # Errors
    /// Why the words are not a descriptor. Any words may be passed.
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
