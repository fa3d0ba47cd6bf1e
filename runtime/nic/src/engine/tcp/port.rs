//! The state machine of one rank on streams: bytes and descriptors go in, bytes and completions come out. It knows no
//! sockets. (A user's [port](crate::domain::Port) is something else: all of them share this state machine.)
//!
//! An operation passes four stages; each has a file:
//!
//! 1. **It begins** (`life`). [`Port::step`] takes a descriptor from a queue. `dispatch` checks the initiator's half
//!    and puts the operation at the end of its peer's line (`Peer::waiting`).
//! 2. **It leaves** (`leave`). `pump` sends the front of the line as *requests*: pieces of at most
//!    [`PIECE_BYTES`](super::frame::PIECE_BYTES) bytes. Each request names the whole operation, so that the target can
//!    check all of it before the first byte is written. Each has a number, and its reply repeats the number.
//! 3. **The target executes it** (`serve`), and appends a reply. A message that finds the target's inbox full waits
//!    there (`Peer::blocked`), and every later request of that peer waits behind it, so that none overtakes another.
//! 4. **It ends** (`life`) when all pieces went out and no request is without a reply. The completion goes to the queue
//!    that the descriptor came from.
//!
//! **Limits.** A window limits what is under way to a peer, and with it what either side must buffer. A peer that
//! sends more than the window allows, or bytes that are no frames, has broken the protocol ([`Violation`]). Such a peer
//! is given up, and every operation to it ends in error.
//!
//! **Another way out.** An engine whose adapter moves memory by itself (libfabric) hands the port a [`Direct`]. Puts
//! and gets that the adapter takes go that way instead of as requests: at once, where nothing stands before them in the
//! line.

mod leave;
mod life;
mod serve;

use super::direct::Direct;
use super::frame::Kind;
use super::operation::{Operation, Request};
use super::peer::Peer;
use super::target::Violation;
use crate::engine::front::{Front, Taken};
use crate::engine::Domain;
use crate::queue_pair::Consumer;
use crate::trigger::Triggers;
use hetmp_core::hash::HashMap;
use std::sync::Arc;

/// Descriptors taken from one queue in a row before the next queue gets its turn.
const BURST: usize = 32;

/// One rank.
#[derive(Debug)]
pub(in crate::engine) struct Port<D> {
    /// The other way out.
    pub(in crate::engine) direct: D,
    rank: u32,
    domain: Arc<Domain>,
    /// The queues of this rank's initiators. A queue keeps its place, since operations name it by its place.
    queues: Vec<Option<Front>>,
    /// By rank.
    peers: Vec<Peer>,
    /// Operations under way, by their numbers.
    operations: HashMap<u64, Operation>,
    /// Requests without a reply, by their numbers.
    requests: HashMap<u64, Request>,
    /// The next number of an operation or a request.
    next: u64,
    /// Descriptors held back until a counter of this rank says so, with the queue that each came from.
    triggers: Triggers<(usize, Taken)>,
    /// A counter of this rank has moved since this was last asked for. Another port of the same rank may hold
    /// descriptors back for it.
    moved: bool,
}

impl<D: Direct> Port<D> {
    pub(in crate::engine) fn new(rank: u32, domain: Arc<Domain>, ranks: usize, direct: D) -> Self {
        Port {
            direct,
            rank,
            domain,
            queues: Vec::new(),
            peers: (0..ranks).map(|_| Peer::default()).collect(),
            operations: HashMap::default(),
            requests: HashMap::default(),
            next: 0,
            triggers: Triggers::default(),
            moved: false,
        }
    }

    /// Whether this port has moved a counter since the last call.
    pub(in crate::engine) fn take_moved(&mut self) -> bool {
        core::mem::take(&mut self.moved)
    }

    /// Takes on the queue of one more initiator, at the first place that a queue before it has left.
    pub(in crate::engine) fn join(&mut self, consumer: Consumer) {
        let front = Some(Front::new(consumer));
        match self.queues.iter().position(Option::is_none) {
            Some(i) => self.queues[i] = front,
            None => self.queues.push(front),
        }
    }

    /// Takes the descriptors that were announced, sends what the windows have room for, and tries again what was held
    /// up. True if there was something to do.
    pub(in crate::engine) fn step(&mut self) -> bool {
        let mut worked = false;
        for q in 0..self.queues.len() {
            worked |= self.take_from(q);
        }
        for p in 0..self.peers.len() {
            worked |= self.answer_blocked(p);
            worked |= self.pump(p);
        }
        worked
    }

    /// Takes at most [`BURST`] descriptors from a queue.
    fn take_from(&mut self, q: usize) -> bool {
        let mut worked = false;
        for _ in 0..BURST {
            let counters = self.domain.counters();
            let Some(taken) = self.queues[q].as_mut().and_then(|f| f.take(counters)) else {
                break;
            };
            worked = true;
            let passed = match taken.after {
                Some(wait) => self.triggers.pass(counters, wait, (q, taken)),
                None => Some((q, taken)),
            };
            let Some((q, taken)) = passed else {
                continue;
            };
            if !self.begin_at_once(q, &taken) {
                self.dispatch(q, &taken);
            }
        }
        if self.queues[q].as_ref().is_some_and(Front::is_over) {
            self.queues[q] = None;
        }
        worked
    }

    /// True if something must be tried again although nothing arrives: an inbox of this rank was full.
    pub(in crate::engine) fn is_held_up(&self) -> bool {
        self.peers.iter().any(|p| !p.blocked.is_empty())
            || !self.peers[self.rank as usize].waiting.is_empty()
    }

    /// How many requests have no reply yet.
    pub(in crate::engine) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Bytes to be sent to a peer.
    pub(in crate::engine) fn output(&self, peer: usize) -> &[u8] {
        self.peers[peer].output()
    }

    /// Says that the first `n` bytes of the output were sent.
    pub(in crate::engine) fn sent(&mut self, peer: usize, n: usize) {
        self.peers[peer].sent(n);
    }

    /// Where the next bytes of a peer go, for [`Port::filled`].
    pub(in crate::engine) fn room(&mut self, peer: usize) -> &mut [u8] {
        self.peers[peer].decoder.room()
    }

    /// Takes bytes of a peer that lie elsewhere; see [`Port::filled`].
    #[cfg(test)]
    pub(in crate::engine) fn feed(&mut self, peer: usize, bytes: &[u8]) -> bool {
        if self.peers[peer].lost {
            return false;
        }
        self.peers[peer].decoder.push(bytes);
        self.filled(peer, 0)
    }

    /// Takes the first `n` bytes of the [room](Port::room), which came from the peer. False: the bytes broke the
    /// protocol, and the peer was given up.
    pub(in crate::engine) fn filled(&mut self, peer: usize, n: usize) -> bool {
        if self.peers[peer].lost {
            return false;
        }
        // Frames lie in the decoder while the rest of the port works on them, so that the decoder is taken out
        // meanwhile. The decoder of a peer that is given up on the way is not put back.
        let mut decoder = core::mem::take(&mut self.peers[peer].decoder);
        decoder.filled(n);
        loop {
            let (header, content) = match decoder.frame() {
                Ok(None) => break,
                Ok(Some(frame)) => frame,
                Err(_) => {
                    self.lose(peer);
                    return false;
                }
            };
            let done = match header.kind {
                Kind::Reply => self.reply(peer, &header, content),
                Kind::Request => self.request(peer, header, content),
            };
            if let Err(Violation) = done {
                self.lose(peer);
                return false;
            }
        }
        self.peers[peer].decoder = decoder;
        true
    }
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
