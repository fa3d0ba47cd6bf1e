//! What ranks say to each other, and its form on a link.
//!
//! A packet is a header of 32 bytes and, for two kinds, a payload. All numbers are little-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 1 | kind |
//! | 3 | zero |
//! | 4 | context, or the number of a promise |
//! | 8 | sequence, or the offset of the payload |
//! | 4 | tag |
//! | 4 | ticket of the sender, or the count of credits |
//! | 8 | bytes of the message |
//!
//! [`Packet::parse`] is total: any bytes are a packet or are refused.

/// What a message is matched by, beside its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    /// The communicator.
    pub context: u32,
    /// Which run in that context: runs begin in the same order on all ranks.
    pub sequence: u64,
    /// The operation's tag.
    pub tag: u32,
}

/// One packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// A whole message. Its sender is done with it.
    Eager {
        /// For matching.
        label: Label,
        /// The message.
        payload: Vec<u8>,
    },
    /// A message that waits at its sender until it is asked for.
    Offer {
        /// For matching.
        label: Label,
        /// Its length.
        bytes: u64,
        /// How the sender knows it.
        ticket: u32,
    },
    /// The message of `ticket` may come, and is to be sent to `promise`.
    Accept {
        /// From the offer.
        ticket: u32,
        /// How the receiver knows it.
        promise: u32,
    },
    /// The message of `ticket` is longer than its receive, which has failed.
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
        payload: Vec<u8>,
    },
    /// A run has failed at its sender.
    Abort {
        /// The communicator.
        context: u32,
        /// Which run.
        sequence: u64,
    },
    /// So many more eager messages may be sent to this rank.
    Credits {
        /// How many.
        count: u32,
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

impl Packet {
    /// The packet as it goes over a link: the payload follows the header.
    #[must_use]
    pub fn parts(&self) -> ([u8; HEADER_BYTES], &[u8]) {
        let nobody = Label {
            context: 0,
            sequence: 0,
            tag: 0,
        };
        let none: &[u8] = &[];
        let (kind, label, ticket, bytes, payload) = match self {
            Packet::Eager { label, payload } => {
                (EAGER, *label, 0, payload.len() as u64, payload.as_slice())
            }
            Packet::Offer {
                label,
                bytes,
                ticket,
            } => (OFFER, *label, *ticket, *bytes, none),
            Packet::Accept { ticket, promise } => {
                let label = Label {
                    context: *promise,
                    ..nobody
                };
                (ACCEPT, label, *ticket, 0, none)
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
                (DATA, label, 0, payload.len() as u64, payload.as_slice())
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

    /// Both parts in one.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (header, payload) = self.parts();
        [&header, payload].concat()
    }

    /// The packet that these bytes are. `None`: they are none, and nothing is to be done for them.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Packet> {
        let (header, payload) = bytes.split_at_checked(HEADER_BYTES)?;
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
        let packet = match header[0] {
            EAGER if length == payload.len() as u64 => Packet::Eager {
                label,
                payload: payload.to_vec(),
            },
            OFFER => Packet::Offer {
                label,
                bytes: length,
                ticket,
            },
            ACCEPT => Packet::Accept {
                ticket,
                promise: label.context,
            },
            REFUSE => Packet::Refuse { ticket },
            DATA if length == payload.len() as u64 => Packet::Data {
                promise: label.context,
                offset: label.sequence,
                payload: payload.to_vec(),
            },
            CREDITS => Packet::Credits { count: ticket },
            ABORT => Packet::Abort {
                context: label.context,
                sequence: label.sequence,
            },
            _ => return None,
        };
        // What a kind has no use for is zero: one packet has one form.
        let (form, rest) = packet.parts();
        (form == header && rest == payload).then_some(packet)
    }
}
