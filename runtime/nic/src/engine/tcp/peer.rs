//! What a port keeps for one peer: operations that wait to leave, bytes to be sent, the window, and requests of the
//! peer that could not be answered yet.

use super::direct::{Exit, Kept};
use super::frame::{descriptor_bytes, Decoder, Header, Kind, HEADER_BYTES, PIECE_BYTES};
use super::target::Violation;
use crate::descriptor::{Descriptor, Status};
use crate::engine::with_source;
use crate::execute::LocalPart;
use crate::keys::Span;
use crate::memory;
use core::ops::Range;
use std::collections::VecDeque;

/// Bytes that may be under way to one peer. A request counts until its reply has come, so that the window also limits
/// what the peer has to buffer for its replies.
const WINDOW: usize = 1 << 20;
/// What a request costs of the window besides its piece: header and descriptor, rounded up.
const REQUEST_COST: usize = 128;

/// What is kept for one peer. A rank has a `Peer` for itself, too: operations to the own rank wait in its line and are
/// executed without a stream.
#[derive(Debug, Default)]
pub(super) struct Peer {
    /// Given up: the stream is closed, and whatever is posted to the peer fails.
    pub(super) lost: bool,
    /// What arrives from the peer.
    pub(super) decoder: Decoder,
    /// The numbers of operations that have not gone out in full, in the order in which they were posted.
    pub(super) waiting: VecDeque<u64>,
    /// Requests of the peer behind a message that found the inbox of this rank full.
    pub(super) blocked: VecDeque<(Header, Vec<u8>)>,
    /// Bytes that the blocked requests take here.
    blocked_bytes: usize,
    /// Bytes to be sent to the peer, from index `out_from` on: requests, and replies to the peer's requests.
    out: Vec<u8>,
    out_from: usize,
    /// What the requests without a reply cost of the window.
    in_flight: usize,
    /// Direct puts under way.
    pub(super) puts: u32,
    /// Direct gets under way.
    pub(super) gets: u32,
    /// A fence stands before the next operation, and operations posted before the fence may still be under way.
    pub(super) fenced: bool,
}

impl Peer {
    /// A peer that was given up.
    pub(super) fn gone() -> Peer {
        Peer {
            lost: true,
            ..Peer::default()
        }
    }

    /// Bytes to be sent.
    pub(super) fn output(&self) -> &[u8] {
        &self.out[self.out_from..]
    }

    /// Drops the first `n` bytes of the output, which were sent.
    pub(super) fn sent(&mut self, n: usize) {
        self.out_from += n;
        if self.out_from == self.out.len() {
            self.out.clear();
            self.out_from = 0;
        }
    }

    /// What a request with a piece of `piece` bytes takes from the window; `None` if the window has no room for it now.
    /// A window in which nothing is under way has room for any request.
    pub(super) fn cost(&self, piece: u32) -> Option<usize> {
        let cost = piece as usize + REQUEST_COST;
        (self.in_flight == 0 || self.in_flight + cost <= WINDOW).then_some(cost)
    }

    /// Gives back what an answered request took from the window.
    pub(super) fn answered(&mut self, cost: usize) {
        self.in_flight -= cost;
    }

    /// Whether an operation may leave now.
    ///
    /// Without a fence every operation may. Behind a fence an operation waits for what was posted before the fence and
    /// travels by another way. Three facts decide:
    /// * The target answers the requests of one peer in their order. A request never waits for a request.
    /// * The adapter may promise that a direct put stays before what follows ([`Kept`]).
    /// * A direct get reads whenever the adapter gets to it, and a request takes effect only when the software of
    ///   the peer gets to it. Nothing of the other kind may pass them.
    pub(super) fn may_go(&mut self, exit: Exit, kept: Kept) -> bool {
        self.fenced &= self.puts > 0 || self.gets > 0 || self.in_flight > 0;
        if !self.fenced {
            return true;
        }
        match exit {
            Exit::Request => (self.puts == 0 || kept.request) && self.gets == 0,
            Exit::Put => (self.puts == 0 || kept.put) && self.gets == 0 && self.in_flight == 0,
            Exit::Get => (self.puts == 0 || kept.get) && self.in_flight == 0,
        }
    }

    /// Appends a request with the bytes `piece` of a source, of which `cost` goes off the window. Every request names
    /// the whole operation, so that the target can check all of it before the first byte is written.
    pub(super) fn push_request(
        &mut self,
        header: &Header,
        d: &Descriptor,
        source: &LocalPart<'_>,
        piece: Range<usize>,
        cost: usize,
    ) {
        self.in_flight += cost;
        self.out.extend_from_slice(&header.encode());
        self.out.extend_from_slice(&descriptor_bytes(&d.encode()));
        if piece.is_empty() {
            return;
        }
        with_source(source, |from, n| {
            assert!(piece.end <= n);
            // SAFETY: `from` is valid for `n` bytes: `source` holds them, or the span that keeps their region
            // registered. The piece was just checked to lie within.
            unsafe { append(&mut self.out, from.add(piece.start), piece.len()) }
        });
    }

    /// Appends a reply to request `id`, with at most [`PIECE_BYTES`] of `read` from an offset on.
    ///
    /// # Errors
    /// The peer has asked for more than its window allows, without reading what it got.
    pub(super) fn push_reply(
        &mut self,
        id: u64,
        status: Status,
        value: u64,
        read: Option<(&Span<'_>, usize)>,
    ) -> Result<(), Violation> {
        let n = read.map_or(0, |(span, offset)| {
            span.len().saturating_sub(offset).min(PIECE_BYTES)
        });
        if self.output().len() > 4 * WINDOW {
            return Err(Violation);
        }
        let header = Header {
            kind: Kind::Reply,
            status,
            length: n as u32,
            id,
            value,
            offset: 0,
        };
        self.out.extend_from_slice(&header.encode());
        if let Some((span, offset)) = read.filter(|_| n > 0) {
            // SAFETY: the span keeps its region registered while it lives, and `n` was cut to what the span has behind
            // the offset.
            unsafe { append(&mut self.out, span.start().add(offset), n) };
        }
        Ok(())
    }

    /// Keeps a request of the peer until the inbox of this rank has room.
    ///
    /// # Errors
    /// The peer has sent more than its window allows.
    pub(super) fn block(&mut self, header: Header, content: &[u8]) -> Result<(), Violation> {
        self.blocked_bytes += content.len() + HEADER_BYTES;
        self.blocked.push_back((header, content.to_vec()));
        if self.blocked_bytes > 2 * WINDOW {
            return Err(Violation);
        }
        Ok(())
    }

    /// Says that a request with this content, once blocked, was answered.
    pub(super) fn unblocked(&mut self, content: &[u8]) {
        self.blocked_bytes -= content.len() + HEADER_BYTES;
    }
}

/// Appends `n` bytes of registered memory. The bytes are read as by [`memory::copy`]: other threads may write them
/// meanwhile.
///
/// # Safety
/// `from` is valid for reads of `n` bytes.
unsafe fn append(out: &mut Vec<u8>, from: *const u8, n: usize) {
    out.reserve(n);
    let at = out.len();
    // SAFETY: `reserve` made room for `n` bytes behind `at`, and the copy writes them before the length covers them.
    // That the source is valid was checked by `push_request` and `push_reply`, the two callers.
    unsafe {
        memory::copy(from, out.as_mut_ptr().add(at), n);
        out.set_len(at + n);
    }
}
