//! Carries a rank's [`Port`] over a fabric: requests and replies as messages, puts and gets by the adapter itself.

use super::endpoint::Posted;
use super::rma::{Event, Rma, MESSAGE};
use crate::descriptor::{Key, Remote};
use crate::engine::tcp::drive::Wires;
use crate::engine::tcp::port::Port;
use crate::engine::tcp::wires::Watch;
use crate::engine::{Arrival, Domain};
use crate::queue_pair::Consumer;
use hetmp_core::sys;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes in front of each message: the sender, and a word that only ranks of this job know.
pub(super) const HEAD: usize = 16;
/// How long to wait before the next look, if the provider has nothing to sleep on, milliseconds.
const RETRY_MS: i32 = 1;
/// How long the last messages may take to leave when the engine stops.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The endpoint of one rank, around its port.
pub(super) struct Links {
    port: Port<Rma>,
    rank: u32,
    ranks: usize,
    token: u64,
    domain: Arc<Domain>,
    /// The key of the job's memory in arrivals.
    key: Key,
    /// By rank: whether the peer is out of reach.
    lost: Vec<bool>,
    events: Vec<Event>,
    message: Vec<u8>,
}

impl Links {
    pub(super) fn new(
        rank: u32,
        ranks: usize,
        token: u64,
        domain: Arc<Domain>,
        key: Key,
        rma: Rma,
    ) -> Links {
        Links {
            port: Port::new(rank, domain.clone(), ranks, rma),
            rank,
            ranks,
            token,
            domain,
            key,
            lost: vec![false; ranks],
            events: Vec::new(),
            message: Vec::with_capacity(MESSAGE),
        }
    }

    fn lose(&mut self, peer: usize) {
        if !self.lost[peer] {
            self.lost[peer] = true;
            self.port.lose(peer);
        }
    }

    /// Hands the port's output to the provider.
    fn send(&mut self) -> bool {
        let mut worked = false;
        for peer in 0..self.ranks {
            loop {
                let output = self.port.output(peer);
                if output.is_empty() {
                    break;
                }
                let n = output.len().min(MESSAGE - HEAD);
                self.message.clear();
                self.message
                    .extend_from_slice(&u64::from(self.rank).to_le_bytes());
                self.message.extend_from_slice(&self.token.to_le_bytes());
                self.message.extend_from_slice(&output[..n]);
                match self.port.direct.send(peer, &self.message) {
                    Posted::Yes => {
                        worked = true;
                        self.port.sent(peer, n);
                    }
                    Posted::Busy => break,
                    Posted::Failed(_) => {
                        worked = true;
                        self.lose(peer);
                    }
                }
            }
        }
        worked
    }

    /// Takes what has come.
    fn receive(&mut self) -> bool {
        let mut events = core::mem::take(&mut self.events);
        let n = self.port.direct.poll(&mut events);
        for event in events.drain(..) {
            match event {
                Event::Message(bytes) => self.hear(&bytes),
                Event::Landed(id, result) => self.port.landed(id, result),
                Event::Written(address, len) => self.domain.arrived(|| Arrival::Memory {
                    at: Remote {
                        address,
                        key: self.key,
                    },
                    len: len as u32,
                    signal: None,
                }),
                Event::Lost(peer) => self.lose(peer),
            }
        }
        self.events = events;
        n > 0
    }

    /// Takes a message. Its sender is a peer, or a stranger who knows nothing but this endpoint's address.
    fn hear(&mut self, message: &[u8]) {
        let Some((head, mut bytes)) = message.split_first_chunk::<HEAD>() else {
            return;
        };
        let word = |i: usize| {
            let mut w = [0; 8];
            w.copy_from_slice(&head[i..i + 8]);
            u64::from_le_bytes(w)
        };
        let peer = word(0) as usize;
        if word(8) != self.token || peer >= self.ranks || peer == self.rank as usize {
            return;
        }
        while !bytes.is_empty() && !self.lost[peer] {
            let room = self.port.room(peer);
            let n = room.len().min(bytes.len());
            room[..n].copy_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            if !self.port.filled(peer, n) {
                self.lose(peer);
            }
        }
    }

    fn is_flushed(&self) -> bool {
        self.port.direct.under_way() == 0
            && (0..self.ranks).all(|p| self.lost[p] || self.port.output(p).is_empty())
    }
}

impl Wires for Links {
    fn join(&mut self, consumer: Consumer) {
        self.port.join(consumer);
    }

    fn push(&mut self) -> bool {
        self.port.direct.busy = false;
        let stepped = self.port.step();
        self.send() || stepped
    }

    fn turn(&mut self) -> bool {
        let mut worked = self.push();
        if self.receive() {
            self.push();
            worked = true;
        }
        worked
    }

    fn needs_care(&self) -> bool {
        self.port.is_held_up() || self.port.direct.busy
    }

    fn requests(&self) -> usize {
        self.port.requests() + self.port.direct.under_way()
    }

    fn watch(&mut self, watch: &mut Watch) {
        watch.fds.clear();
        watch.ms = if self.needs_care() { RETRY_MS } else { -1 };
        match self.port.direct.wait_on() {
            Some(Ok(fd)) => watch.fds.push(libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            }),
            // There is something to do already.
            Some(Err(())) => watch.ms = 0,
            None => watch.ms = RETRY_MS,
        }
    }

    fn finish(&mut self) {
        let deadline = Instant::now() + LAST_WORDS;
        while !self.is_flushed() && Instant::now() < deadline {
            let sent = self.send();
            if !self.receive() && !sent {
                sys::yield_now();
            }
        }
        self.port.stop();
    }
}
