//! Carries a rank's [`Port`] over a fabric: requests and replies as messages, puts and gets by the adapter itself.

use super::doorbell::{Doorbell, Knocker};
use super::endpoint::Posted;
use super::rma::{Event, Rma, MESSAGE};
use super::Siblings;
use crate::descriptor::{Key, Remote};
use crate::engine::tcp::direct::Direct as _;
use crate::engine::tcp::drive::Wires;
use crate::engine::tcp::port::Port;
use crate::engine::tcp::wires::{Watch, TURNS_PER_LOOK};
use crate::engine::{Arrival, Domain};
use crate::queue_pair::Consumer;
use hetmp_core::park::rest;
use std::path::PathBuf;
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
    greeting: Option<Greeting>,
    bells: Option<Bells>,
    /// The rank's other endpoints, and this one's place among them; `None` if there is one only.
    beside: Option<(Arc<Siblings>, usize)>,
}

/// This rank's doorbell and those of its peers, of which this rank's own is `None`.
struct Bells {
    own: Doorbell,
    peers: Vec<Option<Knocker>>,
}

/// The first words between ranks whose provider maps peers' queues by files. Each rank sends an empty message to every
/// peer. Who sends a message has mapped the target's file; so a rank removes its own file when every peer has been
/// heard of. Nothing is left behind then, however the processes end.
struct Greeting {
    file: PathBuf,
    /// By rank: the peer was not sent a message yet.
    unsent: Vec<bool>,
    /// By rank: nothing has come from the peer yet.
    unheard: Vec<bool>,
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
            greeting: None,
            bells: None,
            beside: None,
        }
    }

    /// The rank has several endpoints.
    pub(super) fn beside(mut self, beside: Option<(Arc<Siblings>, usize)>) -> Links {
        self.beside = beside;
        self
    }

    /// Sleeps on `own` if the provider has nothing to sleep on.
    pub(super) fn sleeping(mut self, own: Option<Doorbell>, peers: Vec<Option<Knocker>>) -> Links {
        if let Some(own) = own {
            self.port.direct.note_touched();
            self.bells = Some(Bells { own, peers });
        }
        self
    }

    /// Wakes the peers for which there may be something to do: those to which this rank has sent something, or all of
    /// them if `all`.
    fn wake(&mut self, all: bool) {
        let Some(bells) = &self.bells else {
            return;
        };
        if !all && !self.port.direct.has_touched() {
            return;
        }
        Doorbell::behind();
        for peer in self.port.direct.touched() {
            if let Some(peer) = &bells.peers[peer] {
                bells.own.wake(peer);
            }
        }
        if all {
            bells.peers.iter().flatten().for_each(|p| bells.own.wake(p));
        }
    }

    /// Removes `file` as soon as all peers have mapped it.
    pub(super) fn greeting(mut self, file: Option<PathBuf>) -> Links {
        let others: Vec<bool> = (0..self.ranks).map(|r| r != self.rank as usize).collect();
        self.greeting = file.map(|file| Greeting {
            file,
            unsent: others.clone(),
            unheard: others,
        });
        self
    }

    /// Sends what is left to send of the greeting, and ends it if it is over.
    #[cold]
    fn greet(&mut self) {
        let Some(mut greeting) = self.greeting.take() else {
            return;
        };
        let mut busy = false;
        for peer in 0..self.ranks {
            if !core::mem::take(&mut greeting.unsent[peer]) {
                continue;
            }
            self.head();
            // A failure is ignored: the next operation to this peer will find out.
            if self.port.direct.send(peer, &self.message) == Posted::Busy {
                greeting.unsent[peer] = true;
                busy = true;
            }
        }
        let silent = (0..self.ranks).any(|p| greeting.unheard[p] && !self.lost[p]);
        if busy || silent {
            self.greeting = Some(greeting);
        } else {
            let _ = std::fs::remove_file(&greeting.file);
        }
    }

    /// Begins a message.
    fn head(&mut self) {
        self.message.clear();
        self.message
            .extend_from_slice(&u64::from(self.rank).to_le_bytes());
        self.message.extend_from_slice(&self.token.to_le_bytes());
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
        if self.greeting.is_some() {
            self.greet();
        }
        for peer in 0..self.ranks {
            loop {
                if self.port.output(peer).is_empty() || self.port.direct.holds_back(peer) {
                    break;
                }
                self.head();
                let output = self.port.output(peer);
                let n = output.len().min(MESSAGE - HEAD);
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
        let mut written = false;
        for event in events.drain(..) {
            written |= matches!(event, Event::Written(..));
            match event {
                Event::Message(bytes) => self.hear(&bytes),
                Event::Landed(id, result) => self.port.landed(id, result),
                Event::Freed(id) => self.port.freed(id),
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
        // Who has written waits for the provider's word that it arrived, which the provider sent just now.
        self.wake(written);
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
        if let Some(greeting) = &mut self.greeting {
            greeting.unheard[peer] = false;
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

    /// True if something has to be tried again although nothing arrives.
    fn is_held_up(&self) -> bool {
        self.port.is_held_up() || self.port.direct.is_held_up() || self.greeting.is_some()
    }

    /// Fills in what to watch if the provider has nothing to sleep on.
    fn watch_doorbell(&mut self, watch: &mut Watch) {
        let Some(bells) = &mut self.bells else {
            watch.ms = RETRY_MS;
            return;
        };
        let fd = bells.own.doze();
        // What peers handed to the provider before they could see that this rank sleeps has to be taken now.
        if self.receive() {
            watch.ms = 0;
            return;
        }
        watch.fds.push(libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        });
        // A peer's provider may end an operation of this rank without a word to that peer, who then wakes nobody.
        if self.port.direct.under_way() > 0 {
            watch.ms = RETRY_MS;
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
        if self.beside.is_some() {
            // Another endpoint may have moved a counter for which operations are held back here.
            self.port.release();
        }
        let stepped = self.port.step();
        let sent = self.send();
        if let Some((siblings, own)) = &self.beside {
            if self.port.take_moved() {
                siblings.moved(*own);
            }
        }
        self.wake(false);
        sent || stepped
    }

    fn turn(&mut self) -> bool {
        if let Some(bells) = &mut self.bells {
            bells.own.rise();
        }
        let mut worked = self.push();
        if self.receive() {
            self.push();
            worked = true;
        }
        worked
    }

    fn turns_per_look(&self) -> u32 {
        match self.bells {
            // The provider's queues are memory, and a peer's next operation may wait for this look.
            Some(_) => 1,
            None => TURNS_PER_LOOK,
        }
    }

    fn needs_care(&self) -> bool {
        // Peers wake nobody here once somebody has risen: who sleeps has to say so again.
        let up = self.bells.as_ref().is_some_and(|b| !b.own.dozes());
        up || self.is_held_up()
    }

    fn requests(&self) -> usize {
        self.port.requests() + self.port.direct.under_way()
    }

    fn watch(&mut self, watch: &mut Watch) {
        watch.fds.clear();
        watch.ms = if self.is_held_up() { RETRY_MS } else { -1 };
        match self.port.direct.wait_on() {
            Some(Ok(fd)) => watch.fds.push(libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            }),
            // There is something to do already.
            Some(Err(())) => watch.ms = 0,
            None => self.watch_doorbell(watch),
        }
    }

    fn finish(&mut self) {
        let deadline = Instant::now() + LAST_WORDS;
        while !self.is_flushed() && Instant::now() < deadline {
            (0..self.ranks).for_each(|p| self.port.direct.flush(p));
            let sent = self.send();
            self.wake(false);
            if !self.receive() && !sent {
                rest();
            }
        }
        self.port.stop();
    }
}
