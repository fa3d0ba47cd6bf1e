//! The 32-byte completion: how an operation ended.

use crate::descriptor::{high, low, pair};

/// Words of 64 bits in a completion.
pub const COMPLETION_WORDS: usize = 4;

/// How an operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// The descriptor is malformed; [`Completion::value`] is the code of [`crate::descriptor::Malformed`].
    Malformed = 1,
    /// No such peer; `value` is its number.
    Peer = 2,
    /// The local key names no region; `value` is the key.
    LocalKey = 3,
    /// Outside the local region; `value` is the address.
    LocalBounds = 4,
    /// The local region was registered without the right; `value` is the key.
    LocalRight = 5,
    /// The remote key names no region; `value` is the key.
    RemoteKey = 6,
    /// Outside the remote region; `value` is the address.
    RemoteBounds = 7,
    /// The remote region was registered without the right; `value` is the key.
    RemoteRight = 8,
    /// The word of an atomic or a signal is not aligned; `value` is its address.
    Misaligned = 9,
    /// No such counter; `value` is its number.
    Counter = 10,
    /// The peer is gone; `value` is its number.
    PeerLost = 11,
    /// This engine cannot do such an operation; see [`crate::engine::Abilities`].
    Unsupported = 12,
    /// The engine was stopped before the operation ran.
    Stopped = 13,
    /// The peer has no such port; `value` is its number.
    Port = 14,
    /// An integer was divided by zero; `value` is the number of the element, from 0.
    Divisor = 15,
}

impl Status {
    /// The status with this number.
    pub fn of(code: u8) -> Option<Status> {
        use Status::*;
        [
            Ok,
            Malformed,
            Peer,
            LocalKey,
            LocalBounds,
            LocalRight,
            RemoteKey,
            RemoteBounds,
            RemoteRight,
            Misaligned,
            Counter,
            PeerLost,
            Unsupported,
            Stopped,
            Port,
            Divisor,
        ]
        .into_iter()
        .find(|s| *s as u8 == code)
    }
}

/// An operation that failed: why, and the value that shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why; never [`Status::Ok`].
    pub status: Status,
    /// The key, address or number that caused the failure.
    pub value: u64,
}

/// What the engine tells the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Which operation: the number that [`crate::queue_pair::Initiator::post`] returned.
    pub ticket: u64,
    /// How it ended.
    pub status: Status,
    /// Bytes moved.
    pub bytes: u32,
    /// The fetched value; after a failure, the value that [`Status`] describes.
    pub value: u64,
}

impl Completion {
    /// Its 32 bytes as words.
    pub fn encode(&self) -> [u64; COMPLETION_WORDS] {
        [
            self.ticket,
            pair(self.status as u32, self.bytes),
            self.value,
            0,
        ]
    }

    /// Reads a completion; `None` if the status does not exist.
    pub fn parse(w: &[u64; COMPLETION_WORDS]) -> Option<Completion> {
        Some(Completion {
            ticket: w[0],
            status: u8::try_from(low(w[1])).ok().and_then(Status::of)?,
            bytes: high(w[1]),
            value: w[2],
        })
    }
}
