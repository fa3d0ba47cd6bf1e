//! What a port remembers of an operation between its descriptor and its completion.

use crate::descriptor::{Descriptor, Failure};

/// An operation of this rank between its descriptor and its completion.
#[derive(Debug)]
pub(super) struct Operation {
    /// The queue that the descriptor came from, and that hears of the completion.
    pub(super) queue: usize,
    pub(super) ticket: u64,
    pub(super) d: Descriptor,
    /// Bytes of the pieces that went out.
    pub(super) sent: u32,
    /// No further piece will go out: all have, or the operation has failed.
    pub(super) all_sent: bool,
    /// The initiator has heard that it may write to the source again: the last piece of the source is in the output.
    pub(super) freed: bool,
    /// Pieces that went out and have no reply yet.
    pub(super) open: u32,
    /// The first thing that went wrong. The initiator hears of it once the other pieces are answered: until then
    /// replies may still write to the operation's buffers.
    pub(super) failure: Option<Failure>,
    /// The value that the operation fetched.
    pub(super) value: u64,
}

impl Operation {
    /// An operation of which nothing has gone out.
    pub(super) fn new(queue: usize, ticket: u64, d: Descriptor) -> Operation {
        Operation {
            queue,
            ticket,
            d,
            sent: 0,
            all_sent: false,
            freed: false,
            open: 0,
            failure: None,
            value: 0,
        }
    }

    /// True once no piece will go out and no reply will come.
    pub(super) fn is_done(&self) -> bool {
        self.all_sent && self.open == 0
    }
}

/// A piece that went out and has no reply yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// The number of the operation that the piece belongs to.
    pub(super) operation: u64,
    pub(super) peer: usize,
    /// Where in the operation's bytes the piece begins: there the reply's content goes.
    pub(super) offset: u32,
    /// Bytes of the piece. The content of a get's reply has the same length.
    pub(super) piece: u32,
    /// What the reply gives back to the peer's window.
    pub(super) cost: usize,
}
