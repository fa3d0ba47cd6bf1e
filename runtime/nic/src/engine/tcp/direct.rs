//! The other way out of a rank: puts and gets that an adapter carries out by itself, next to the requests of the
//! stream.
//!
//! An adapter of libfabric can write a peer's memory while the peer's software sleeps. Such an operation needs no
//! request and no reply, only word from the adapter that it has landed. The engine of that adapter implements
//! [`Direct`]; an engine of plain sockets has [`StreamOnly`].
//!
//! **Order.** The two ways are independent. A put by the adapter can land before a request that was sent earlier, and
//! after one that was sent later. Only a fence promises order, so only operations after a fence have to wait: see
//! [`Peer::may_go`](super::peer::Peer::may_go).

use crate::descriptor::{Descriptor, Failure};
use crate::execute::LocalPart;

/// Puts and gets that leave the rank by themselves, not as requests.
pub(in crate::engine) trait Direct {
    /// What this way keeps in order after an earlier put, so that a fence does not have to wait for that put.
    fn keeps_order(&self) -> Kept;
    /// Whether this way can carry an operation. The port has checked the initiator's half of the operation.
    fn takes(&self, d: &Descriptor) -> bool;
    /// Begins an operation. `Port::landed` is called later with the same `id` and says what became of the operation.
    fn begin(&mut self, id: u64, d: &Descriptor, local: &LocalPart<'_>) -> Begun;
    /// False: an operation to this peer would find no room, so that the port need not try.
    #[inline(always)]
    fn has_room(&self, _: usize) -> bool {
        true
    }
    /// Nothing more follows for this peer for now.
    fn flush(&mut self, _: usize) {}
}

/// Which later operations take effect after an earlier direct put to the same peer, even if nobody waits for the put.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Kept {
    /// A later direct put to the same peer.
    pub(in crate::engine) put: bool,
    /// A later direct get from the same peer.
    pub(in crate::engine) get: bool,
    /// A later request to the same peer.
    pub(in crate::engine) request: bool,
}

/// How a direct operation began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Begun {
    /// The operation is under way. `freed`: its source may be written again already.
    UnderWay { freed: bool },
    /// The adapter has no room now: the port tries again.
    Busy,
    /// The operation will never be carried out.
    Refused(Failure),
}

/// The way of an engine that has sockets and nothing else: takes no operation.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct StreamOnly;

impl Direct for StreamOnly {
    fn keeps_order(&self) -> Kept {
        Kept::default()
    }

    #[inline(always)]
    fn takes(&self, _: &Descriptor) -> bool {
        false
    }

    fn begin(&mut self, _: u64, _: &Descriptor, _: &LocalPart<'_>) -> Begun {
        Begun::Busy
    }
}

/// The way by which an operation leaves its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// As requests on the stream.
    Request,
    /// As a put of the adapter.
    Put,
    /// As a get of the adapter.
    Get,
}
