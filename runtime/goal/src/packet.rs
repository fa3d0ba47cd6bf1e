//! The packets that ranks exchange, and their form on a link.
//!
//! A packet is a header of 32 bytes and, for three kinds, a payload. All numbers are little-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 1 | kind |
//! | 3 | zero |
//! | 4 | context, or the number of a promise |
//! | 8 | sequence, the offset of the payload, or whether the message was taken |
//! | 4 | tag |
//! | 4 | ticket of the sender, the count of credits or receives, or whether messages are missing |
//! | 8 | bytes of the message, or where it goes |
//!
//! [`Packet::parse`] accepts or refuses any bytes.

/// The part of a message, besides its source, by which it is matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    /// The context: a communicator of MPI, for example.
    pub context: u32,
    /// The run's number in that context. Runs begin in the same order on all ranks.
    pub sequence: u64,
    /// The operation's tag.
    pub tag: u32,
}

/// Up to this many bytes, a payload needs no allocation.
const SHORT: usize = 64;

/// A message or a part of it. A short one is stored inside the packet: most collectives of a few bytes consist of
/// short messages, and an allocation for each would cost more than everything else.
#[derive(Clone)]
pub struct Payload(Bytes);

#[derive(Clone)]
enum Bytes {
    Short([u8; SHORT], u8),
    Long(Vec<u8>),
}

impl Payload {
    /// `n` zero bytes, into which `fill` writes.
    pub fn filled(n: usize, fill: impl FnOnce(&mut [u8])) -> Payload {
        if n <= SHORT {
            let mut bytes = [0; SHORT];
            fill(&mut bytes[..n]);
            return Payload(Bytes::Short(bytes, n as u8));
        }
        let mut bytes = vec![0; n];
        fill(&mut bytes);
        Payload(Bytes::Long(bytes))
    }
}

impl From<&[u8]> for Payload {
    fn from(bytes: &[u8]) -> Payload {
        Payload::filled(bytes.len(), |to| to.copy_from_slice(bytes))
    }
}

impl core::ops::Deref for Payload {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short(bytes, n) => &bytes[..usize::from(*n)],
            Bytes::Long(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl core::fmt::Debug for Payload {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Payload {}

/// A packet. `P` is the type of its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet<P = Payload> {
    /// A whole message. Its send is complete.
    Eager {
        /// For the matching.
        label: Label,
        /// The message.
        payload: P,
    },
    /// A message that waits at its sender until its receiver asks for it.
    Offer {
        /// For the matching.
        label: Label,
        /// The message's length.
        bytes: u64,
        /// The sender's number for the message.
        ticket: u32,
        /// Where the message lies in its sender's process, little-endian; 0 if it is not in one piece there. The
        /// payload, unless it is 0.
        at: [u8; 8],
    },
    /// Accepts the offered message `ticket`, which shall be sent to `promise`.
    Accept {
        /// From the offer.
        ticket: u32,
        /// The receiver's number for the message.
        promise: u32,
        /// The receiver has read the message where it lies, and waits to hear that it was there.
        taken: bool,
    },
    /// The offered message `ticket` is being read where it lies, piece by piece. Its sender may write pieces.
    Share {
        /// From the offer.
        ticket: u32,
        /// The receiver's number for the message.
        promise: u32,
        /// Where the message goes in the receiver's process.
        into: u64,
    },
    /// Refuses the offered message `ticket`: it is longer than its receive, which has failed.
    Refuse {
        /// From the offer.
        ticket: u32,
    },
    /// A part of an accepted message.
    Data {
        /// From the acceptance.
        promise: u32,
        /// Where the part begins in the message.
        offset: u64,
        /// The part.
        payload: P,
    },
    /// No more parts of an accepted message will come: its sender's run has failed.
    Cut {
        /// From the acceptance.
        promise: u32,
    },
    /// A run has failed at the sender of this packet.
    Abort {
        /// The run's context.
        context: u32,
        /// The run's number.
        sequence: u64,
    },
    /// Allows more eager messages to this rank.
    Credits {
        /// How many more.
        count: u32,
    },
    /// A receive waits for a message with this label: will there be one?
    Ask {
        /// What the receive matches.
        label: Label,
        /// How many receives of the run have this label.
        receives: u32,
    },
    /// The answer.
    Answer {
        /// From the question.
        label: Label,
        /// There are fewer messages than receives, or the run is over here.
        missing: bool,
    },
}

/// Bytes before the payload.
pub const HEADER_BYTES: usize = 32;

const EAGER: u8 = 1;
const OFFER: u8 = 2;
const ACCEPT: u8 = 3;
const REFUSE: u8 = 4;
const DATA: u8 = 5;
const CREDITS: u8 = 6;
const ABORT: u8 = 7;
const CUT: u8 = 8;
const ASK: u8 = 9;
const ANSWER: u8 = 10;
const SHARE: u8 = 11;

impl<P: AsRef<[u8]>> Packet<P> {
    /// The packet in the form of a link: the header, and the payload that follows it.
    #[must_use]
    #[inline]
    pub fn parts(&self) -> ([u8; HEADER_BYTES], &[u8]) {
        let nobody = Label {
            context: 0,
            sequence: 0,
            tag: 0,
        };
        let none: &[u8] = &[];
        let (kind, label, ticket, bytes, payload) = match self {
            Packet::Eager { label, payload } => {
                let payload = payload.as_ref();
                (EAGER, *label, 0, payload.len() as u64, payload)
            }
            Packet::Offer {
                label,
                bytes,
                ticket,
                at,
            } => {
                let payload = if *at == [0; 8] { none } else { at };
                (OFFER, *label, *ticket, *bytes, payload)
            }
            Packet::Accept {
                ticket,
                promise,
                taken,
            } => {
                let label = Label {
                    context: *promise,
                    sequence: u64::from(*taken),
                    tag: 0,
                };
                (ACCEPT, label, *ticket, 0, none)
            }
            Packet::Share {
                ticket,
                promise,
                into,
            } => {
                let label = Label {
                    context: *promise,
                    ..nobody
                };
                (SHARE, label, *ticket, *into, none)
            }
            Packet::Refuse { ticket } => (REFUSE, nobody, *ticket, 0, none),
            Packet::Data {
                promise,
                offset,
                payload,
            } => {
                let label = Label {
                    context: *promise,
                    sequence: *offset,
                    tag: 0,
                };
                let payload = payload.as_ref();
                (DATA, label, 0, payload.len() as u64, payload)
            }
            Packet::Cut { promise } => {
                let label = Label {
                    context: *promise,
                    ..nobody
                };
                (CUT, label, 0, 0, none)
            }
            Packet::Credits { count } => (CREDITS, nobody, *count, 0, none),
            Packet::Abort { context, sequence } => {
                let label = Label {
                    context: *context,
                    sequence: *sequence,
                    tag: 0,
                };
                (ABORT, label, 0, 0, none)
            }
            Packet::Ask { label, receives } => (ASK, *label, *receives, 0, none),
            Packet::Answer { label, missing } => (ANSWER, *label, u32::from(*missing), 0, none),
        };
        let mut header = [0; HEADER_BYTES];
        header[0] = kind;
        header[4..8].copy_from_slice(&label.context.to_le_bytes());
        header[8..16].copy_from_slice(&label.sequence.to_le_bytes());
        header[16..20].copy_from_slice(&label.tag.to_le_bytes());
        header[20..24].copy_from_slice(&ticket.to_le_bytes());
        header[24..32].copy_from_slice(&bytes.to_le_bytes());
        (header, payload)
    }

    /// Header and payload together.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (header, payload) = self.parts();
        [&header, payload].concat()
    }
}

impl Packet {
    /// The header of a packet with `n` bytes of an accepted message.
    #[must_use]
    pub(crate) fn data(promise: u32, offset: u64, n: u64) -> [u8; HEADER_BYTES] {
        let none: &[u8] = &[];
        let packet = Packet::Data {
            promise,
            offset,
            payload: none,
        };
        let (mut header, _) = packet.parts();
        header[24..32].copy_from_slice(&n.to_le_bytes());
        header
    }
}

impl<'b> Packet<&'b [u8]> {
    /// Reads a packet. `None` if the bytes are none; they are to be ignored then.
    #[must_use]
    pub fn parse(bytes: &'b [u8]) -> Option<Packet<&'b [u8]>> {
        let (header, payload) = bytes.split_first_chunk()?;
        Packet::of_parts(header, payload)
    }

    /// Reads a packet from its header and what follows. Of the payload only the length matters,
    /// and of an offer's the bytes, which are copied.
    #[must_use]
    #[inline]
    pub fn of_parts(header: &[u8; HEADER_BYTES], payload: &'b [u8]) -> Option<Packet<&'b [u8]>> {
        let u32_at =
            |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().unwrap_or_default());
        let u64_at =
            |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap_or_default());
        let label = Label {
            context: u32_at(4),
            sequence: u64_at(8),
            tag: u32_at(16),
        };
        let (ticket, length) = (u32_at(20), u64_at(24));
        // Fields that a kind does not use are zero, so that a packet has one form only.
        let (first, sequence, tag) = (label.context == 0, label.sequence == 0, label.tag == 0);
        let (plain, whole) = (payload.is_empty(), length == payload.len() as u64);
        let at: [u8; 8] = payload.try_into().unwrap_or_default();
        let fits = u32_at(0) == u32::from(header[0])
            && match header[0] {
                EAGER => ticket == 0 && whole,
                OFFER => plain || at != [0; 8],
                ACCEPT => label.sequence <= 1 && tag && length == 0 && plain,
                REFUSE | CREDITS => first && sequence && tag && length == 0 && plain,
                DATA => tag && ticket == 0 && whole,
                ABORT => tag && ticket == 0 && length == 0 && plain,
                CUT => sequence && tag && ticket == 0 && length == 0 && plain,
                ASK => length == 0 && plain,
                SHARE => sequence && tag && length != 0 && plain,
                ANSWER => ticket <= 1 && length == 0 && plain,
                _ => false,
            };
        if !fits {
            return None;
        }
        Some(match header[0] {
            EAGER => Packet::Eager { label, payload },
            OFFER => Packet::Offer {
                label,
                bytes: length,
                ticket,
                at,
            },
            ACCEPT => Packet::Accept {
                ticket,
                promise: label.context,
                taken: !sequence,
            },
            SHARE => Packet::Share {
                ticket,
                promise: label.context,
                into: length,
            },
            REFUSE => Packet::Refuse { ticket },
            DATA => Packet::Data {
                promise: label.context,
                offset: label.sequence,
                payload,
            },
            CREDITS => Packet::Credits { count: ticket },
            ABORT => Packet::Abort {
                context: label.context,
                sequence: label.sequence,
            },
            CUT => Packet::Cut {
                promise: label.context,
            },
            ASK => Packet::Ask {
                label,
                receives: ticket,
            },
            ANSWER => Packet::Answer {
                label,
                missing: ticket == 1,
            },
            _ => return None,
        })
    }
}
