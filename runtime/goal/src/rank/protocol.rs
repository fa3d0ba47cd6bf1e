//! The protocol with the peers: messages out, packets in, and what is kept between the two. Its rules are in
//! [`super`](crate::rank).

use super::{Failure, Offered, Peer, Promised, Rank, State};
use crate::graph::Work;
use crate::matching::{Early, Key, Posted};
use crate::memory::{gather, scatter, total, Buffer};
use crate::packet::{Label, Packet};

impl Rank {
    /// Bytes that came from `from` over a link.
    pub fn bytes(&mut self, from: u32, bytes: &[u8]) {
        match Packet::parse(bytes) {
            Some(packet) => self.packet(from, packet),
            None => self.counts.bad_packets += 1,
        }
    }

    /// A packet of `from`.
    pub fn packet(&mut self, from: u32, packet: Packet) {
        if from >= self.ranks || from == self.me || self.lost.contains(&from) {
            self.counts.bad_packets += 1;
            return;
        }
        let broken = match packet {
            Packet::Eager { label, payload } => !self.eager(from, label, payload),
            Packet::Offer {
                label,
                bytes,
                ticket,
            } => !self.offer(from, label, bytes, ticket),
            Packet::Accept { ticket, promise } => !self.accept(from, ticket, promise),
            Packet::Refuse { ticket } => !self.refuse(from, ticket),
            Packet::Data {
                promise,
                offset,
                payload,
            } => !self.data(from, promise, offset, &payload),
            Packet::Abort { context, sequence } => !self.abort(from, context, sequence),
            Packet::Credits { count } => {
                let most = self.limits.credits;
                let peer = self.peer(from);
                let fits = peer.credits.checked_add(count).filter(|c| *c <= most);
                peer.credits = fits.unwrap_or(peer.credits);
                fits.is_none()
            }
        };
        if broken {
            self.counts.bad_packets += 1;
            self.lose(from);
        }
        self.settle();
    }

    /// The peer is gone, or cannot be believed: runs that still need it fail.
    pub fn lose(&mut self, peer: u32) {
        if !self.lost.insert(peer) {
            return;
        }
        let mut ended: Vec<u32> = self
            .runs
            .iter()
            .filter(|(_, r)| r.state == State::Running && r.needs(peer))
            .map(|(id, _)| *id)
            .collect();
        ended.sort_unstable();
        for run in ended {
            self.fail(run, Failure::PeerLost { peer });
        }
        self.offered.retain(|_, o| o.to != peer);
        self.promised.retain(|_, p| p.from != peer);
        self.aborted.retain(|_, from| *from != peer);
        self.out.retain(|(to, _)| *to != peer);
    }

    pub(super) fn peer(&mut self, rank: u32) -> &mut Peer {
        let credits = self.limits.credits;
        self.peers.entry(rank).or_insert(Peer {
            credits,
            early: 0,
            offers: 0,
            owed: 0,
        })
    }

    /// A run has failed at `from`: so does this rank's part of it, now or when it begins.
    pub(super) fn abort(&mut self, from: u32, context: u32, sequence: u64) -> bool {
        let why = Failure::PeerFailed { peer: from };
        if let Some(id) = self.open.get(&(context, sequence)).copied() {
            self.fail(id, why);
        } else if sequence >= self.sequences.get(&context).copied().unwrap_or(0) {
            if self.aborted.len() >= self.limits.offers as usize {
                return false;
            }
            self.aborted.insert((context, sequence), from);
        } else {
            self.counts.late += 1;
        }
        true
    }

    pub(super) fn send(
        &mut self,
        id: u32,
        place: usize,
        to: u32,
        label: Label,
        from: &[Buffer],
    ) -> bool {
        let bytes = total(from).unwrap_or(u64::MAX);
        if to == self.me {
            let Some(run) = self.runs.get(&id) else {
                return false;
            };
            let payload = gather(&*run.memory, from);
            self.message(to, label, payload);
            return true;
        }
        let eager = bytes <= self.limits.eager && self.peer(to).credits > 0;
        if eager {
            let Some(run) = self.runs.get(&id) else {
                return false;
            };
            let payload = gather(&*run.memory, from);
            self.peer(to).credits -= 1;
            self.counts.eager += 1;
            self.out.push_back((to, Packet::Eager { label, payload }));
            return true;
        }
        let ticket = self.ticket();
        self.offered.insert(ticket, Offered { to, run: id, place });
        self.counts.offered += 1;
        let offer = Packet::Offer {
            label,
            bytes,
            ticket,
        };
        self.out.push_back((to, offer));
        false
    }

    pub(super) fn ticket(&mut self) -> u32 {
        loop {
            let ticket = self.next_ticket;
            self.next_ticket = ticket.wrapping_add(1);
            if !self.offered.contains_key(&ticket) && !self.promised.contains_key(&ticket) {
                return ticket;
            }
        }
    }

    pub(super) fn receive(&mut self, id: u32, place: usize, key: Key, into: &[Buffer]) -> bool {
        let (from, posted) = (key.0, Posted { run: id, place });
        match self.matching.receive(key, posted) {
            None => false,
            Some(Early::Whole(payload)) => {
                self.taken(from);
                self.deliver(id, from, into, &payload)
            }
            Some(Early::Offered { bytes, ticket }) => {
                self.peer(from).offers -= 1;
                self.answer(from, posted, into, bytes, ticket);
                false
            }
        }
    }

    /// A message of this rank to itself.
    pub(super) fn message(&mut self, from: u32, label: Label, payload: Vec<u8>) {
        let key = (from, label);
        match self.matching.arrive(&key) {
            Some(posted) => self.arrived(from, posted, &payload),
            None => self.matching.keep(key, Early::Whole(payload)),
        }
    }

    /// The pieces of a receive.
    pub(super) fn pieces(&self, posted: Posted) -> Vec<Buffer> {
        match self
            .runs
            .get(&posted.run)
            .map(|r| r.counters.schedule().work(posted.place))
        {
            Some(Work::Recv { into, .. }) => into,
            _ => Vec::new(),
        }
    }

    pub(super) fn arrived(&mut self, from: u32, posted: Posted, payload: &[u8]) {
        let into = self.pieces(posted);
        if self.deliver(posted.run, from, &into, payload) {
            self.completions.push_back((posted.run, posted.place));
        }
    }

    /// Copies a whole message to its receive; false if it does not fit.
    pub(super) fn deliver(&mut self, id: u32, from: u32, into: &[Buffer], payload: &[u8]) -> bool {
        let (bytes, room) = (payload.len() as u64, total(into).unwrap_or(0));
        if bytes > room {
            self.fail(id, Failure::Truncated { from, bytes, room });
            return false;
        }
        if let Some(run) = self.runs.get_mut(&id) {
            scatter(&mut *run.memory, into, 0, payload);
        }
        true
    }

    /// A receive took an eager message of `from`, or nobody will: the sender gets its credit back, together with
    /// others.
    pub(super) fn taken(&mut self, from: u32) {
        if from == self.me {
            return;
        }
        let batch = (self.limits.credits / 4).max(1);
        let peer = self.peer(from);
        peer.early = peer.early.saturating_sub(1);
        peer.owed += 1;
        if peer.owed >= batch {
            let count = core::mem::take(&mut peer.owed);
            self.out.push_back((from, Packet::Credits { count }));
        }
    }

    /// Whether a message of this label can have a receive: its run is going on, or has not begun.
    pub(super) fn may_match(&self, label: &Label) -> bool {
        let begun = self.sequences.get(&label.context).copied().unwrap_or(0);
        label.sequence >= begun || self.open.contains_key(&(label.context, label.sequence))
    }

    pub(super) fn eager(&mut self, from: u32, label: Label, payload: Vec<u8>) -> bool {
        let most = self.limits.credits;
        if payload.len() as u64 > self.limits.eager {
            return false;
        }
        let peer = self.peer(from);
        if peer.early + peer.owed >= most {
            return false;
        }
        peer.early += 1;
        let key = (from, label);
        if let Some(posted) = self.matching.arrive(&key) {
            self.taken(from);
            self.arrived(from, posted, &payload);
        } else if self.may_match(&label) {
            self.counts.early += 1;
            self.matching.keep(key, Early::Whole(payload));
        } else {
            self.counts.late += 1;
            self.taken(from);
        }
        true
    }

    pub(super) fn offer(&mut self, from: u32, label: Label, bytes: u64, ticket: u32) -> bool {
        let key = (from, label);
        if let Some(posted) = self.matching.arrive(&key) {
            let into = self.pieces(posted);
            self.answer(from, posted, &into, bytes, ticket);
            return true;
        }
        if !self.may_match(&label) {
            self.counts.late += 1;
            self.out.push_back((from, Packet::Refuse { ticket }));
            return true;
        }
        let most = self.limits.offers;
        let peer = self.peer(from);
        if peer.offers >= most {
            return false;
        }
        peer.offers += 1;
        self.counts.early += 1;
        self.matching.keep(key, Early::Offered { bytes, ticket });
        true
    }

    /// Accepts an offer that a receive has matched, or refuses what is too long.
    pub(super) fn answer(
        &mut self,
        from: u32,
        posted: Posted,
        into: &[Buffer],
        bytes: u64,
        ticket: u32,
    ) {
        let room = total(into).unwrap_or(0);
        if bytes > room {
            self.out.push_back((from, Packet::Refuse { ticket }));
            self.fail(posted.run, Failure::Truncated { from, bytes, room });
            return;
        }
        let promise = self.ticket();
        self.promised.insert(
            promise,
            Promised {
                from,
                run: posted.run,
                place: posted.place,
                bytes,
                have: 0,
            },
        );
        self.out
            .push_back((from, Packet::Accept { ticket, promise }));
    }

    pub(super) fn accept(&mut self, from: u32, ticket: u32, promise: u32) -> bool {
        let Some(offered) = self.offered.get(&ticket).filter(|o| o.to == from).copied() else {
            return false;
        };
        self.offered.remove(&ticket);
        let Some(run) = self
            .runs
            .get(&offered.run)
            .filter(|r| r.state == State::Running)
        else {
            // The receiver waits for a run that failed here. It learns of that from whoever is the cause.
            self.counts.late += 1;
            return true;
        };
        let Work::Send { from: pieces, .. } = run.counters.schedule().work(offered.place) else {
            return false;
        };
        let payload = gather(&*run.memory, &pieces);
        let mut offset = 0;
        let mut rest = payload.as_slice();
        loop {
            let n = rest.len().min(self.limits.fragment.max(1) as usize);
            let (part, tail) = rest.split_at(n);
            let data = Packet::Data {
                promise,
                offset,
                payload: part.to_vec(),
            };
            self.out.push_back((from, data));
            offset += n as u64;
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
        self.completions.push_back((offered.run, offered.place));
        true
    }

    pub(super) fn refuse(&mut self, from: u32, ticket: u32) -> bool {
        let Some(offered) = self.offered.get(&ticket).filter(|o| o.to == from).copied() else {
            return false;
        };
        self.offered.remove(&ticket);
        self.fail(offered.run, Failure::Refused { by: from });
        true
    }

    pub(super) fn data(&mut self, from: u32, promise: u32, offset: u64, payload: &[u8]) -> bool {
        let Some(promised) = self.promised.get_mut(&promise).filter(|p| p.from == from) else {
            return false;
        };
        let n = payload.len() as u64;
        // Links keep the order, so that parts come one after the other.
        if offset != promised.have || promised.bytes - promised.have < n {
            return false;
        }
        promised.have += n;
        let p = *promised;
        if p.have == p.bytes {
            self.promised.remove(&promise);
        } else if n == 0 {
            return false;
        }
        let into = self.pieces(Posted {
            run: p.run,
            place: p.place,
        });
        match self.runs.get_mut(&p.run) {
            Some(run) if run.state == State::Running => {
                scatter(&mut *run.memory, &into, offset, payload);
                if p.have == p.bytes {
                    self.completions.push_back((p.run, p.place));
                }
            }
            _ => self.counts.late += 1,
        }
        true
    }
}
