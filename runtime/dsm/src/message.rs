//! The messages of nodes about a page, and their bytes. Messages of one kind about successive pages travel as one.
#![forbid(unsafe_code)]

use crate::{Access, NodeId, MAX_NODES};

/// Bytes of an encoded message.
pub const BYTES: usize = 16;
/// Most pages that one encoded message is about.
pub const BULK: u32 = 64;
/// [`Message::Return`]: the node wrote nothing.
pub const UNCHANGED: u8 = u8::MAX;

/// One message about one page. [`Want`](Message::Want) begins a transaction and [`Taken`](Message::Taken)
/// ends it. The home runs one transaction at a time for a page. So two messages about the same page between
/// the same two nodes can never be confused, and a transport may deliver messages in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Message {
    /// To the home: a node needs the page. A home that has moved passes it on to the new one.
    Want {
        /// The page's number.
        page: u64,
        /// Read or write.
        access: Access,
        /// The node that needs it.
        by: NodeId,
    },
    /// From the home to a holder of a valid copy: hand the page to another node.
    Pass {
        /// The page's number.
        page: u64,
        /// The node that gets the page.
        to: NodeId,
        /// For reading or writing. For reading the holder keeps a readable copy; for writing it gives its
        /// copy up.
        access: Access,
    },
    /// From a holder to the node that wanted the page: here it is. The page's bytes arrived before.
    Page {
        /// The page's number.
        page: u64,
        /// For reading or writing.
        access: Access,
        /// The page's home.
        home: NodeId,
    },
    /// From the home to a holder: give your copy up.
    Drop {
        /// The page's number.
        page: u64,
    },
    /// To the home: the copy was given up.
    Dropped {
        /// The page's number.
        page: u64,
    },
    /// From the home to a reader that wants to write: no other node has a copy any more, and yours is valid.
    Grant {
        /// The page's number.
        page: u64,
    },
    /// To the home: the page is in place, the transaction is over.
    Taken {
        /// The page's number.
        page: u64,
    },
    /// From the home, which keeps the page, to a node that wanted it: a copy to read and write until it is given back.
    /// The page's bytes arrived before.
    Lend {
        /// The page's number.
        page: u64,
    },
    /// To the home: the node has its copy no more. What it wrote arrived before.
    Return {
        /// The page's number.
        page: u64,
        /// In which of the node's places at the home lies what it wrote; [`UNCHANGED`] if nothing.
        place: u8,
    },
    /// From the home: what the node wrote is in the page.
    Returned {
        /// The page's number.
        page: u64,
    },
}

impl Message {
    /// The page that the message is about.
    pub fn page(&self) -> u64 {
        match *self {
            Message::Want { page, .. }
            | Message::Pass { page, .. }
            | Message::Page { page, .. }
            | Message::Drop { page }
            | Message::Dropped { page }
            | Message::Grant { page }
            | Message::Taken { page }
            | Message::Lend { page }
            | Message::Return { page, .. }
            | Message::Returned { page } => page,
        }
    }

    /// Does it tell a holder to give up its copy, or a part of its rights?
    pub(crate) fn demands(&self) -> bool {
        matches!(self, Message::Pass { .. } | Message::Drop { .. })
    }

    /// The same message about another page.
    #[must_use]
    pub fn about(self, page: u64) -> Message {
        match self {
            Message::Want { access, by, .. } => Message::Want { page, access, by },
            Message::Pass { to, access, .. } => Message::Pass { page, to, access },
            Message::Page { access, home, .. } => Message::Page { page, access, home },
            Message::Drop { .. } => Message::Drop { page },
            Message::Dropped { .. } => Message::Dropped { page },
            Message::Grant { .. } => Message::Grant { page },
            Message::Taken { .. } => Message::Taken { page },
            Message::Lend { .. } => Message::Lend { page },
            Message::Return { place, .. } => Message::Return { page, place },
            Message::Returned { .. } => Message::Returned { page },
        }
    }

    /// The bytes of this message and the same about pages behind it, `count` in all, from 1 to [`BULK`]: kind, access,
    /// node, zero; then the number of those behind it and the page's number, least significant byte first.
    pub fn encode(&self, count: u32) -> [u8; BYTES] {
        let (kind, access, node) = match *self {
            Message::Want { access, by, .. } => (1, access, by),
            Message::Pass { access, to, .. } => (2, access, to),
            Message::Page { access, home, .. } => (3, access, home),
            Message::Drop { .. } => (4, Access::None, 0),
            Message::Dropped { .. } => (5, Access::None, 0),
            Message::Grant { .. } => (6, Access::None, 0),
            Message::Taken { .. } => (7, Access::None, 0),
            Message::Lend { .. } => (8, Access::None, 0),
            Message::Return { place, .. } => (9, Access::None, place),
            Message::Returned { .. } => (10, Access::None, 0),
        };
        let mut bytes = [0; BYTES];
        bytes[..3].copy_from_slice(&[kind, access as u8, node]);
        bytes[4..8].copy_from_slice(&(count - 1).to_le_bytes());
        bytes[8..].copy_from_slice(&self.page().to_le_bytes());
        bytes
    }

    /// The message with these bytes, and the number of pages; `None` unless [`encode`](Message::encode) makes exactly
    /// these.
    pub fn decode(bytes: &[u8]) -> Option<(Message, u32)> {
        let bytes: [u8; BYTES] = bytes.try_into().ok()?;
        let page = u64::from_le_bytes(bytes[8..].try_into().ok()?);
        let behind = u32::from_le_bytes(bytes[4..8].try_into().ok()?);
        page.checked_add(behind.into())?;
        let count = behind.checked_add(1).filter(|n| *n <= BULK)?;
        let access = match bytes[1] {
            1 => Access::Read,
            2 => Access::Write,
            _ => Access::None,
        };
        let node = bytes[2];
        let some = access != Access::None && usize::from(node) < MAX_NODES;
        let message = match bytes[0] {
            1 if some => Message::Want {
                page,
                access,
                by: node,
            },
            2 if some => Message::Pass {
                page,
                to: node,
                access,
            },
            3 if some => Message::Page {
                page,
                access,
                home: node,
            },
            4 => Message::Drop { page },
            5 => Message::Dropped { page },
            6 => Message::Grant { page },
            7 => Message::Taken { page },
            8 => Message::Lend { page },
            9 => Message::Return { page, place: node },
            10 => Message::Returned { page },
            _ => return None,
        };
        (message.encode(count) == bytes).then_some((message, count))
    }
}
