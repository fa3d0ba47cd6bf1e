//! The protocol with peers: sends messages, handles packets, and keeps what is between the two. Its rules are in
//! [`super`](crate::rank).

use super::{Failure, Offered, Peer, Promised, Pull, Rank, Run, RunId, State, Stream, NEAR};
use crate::graph::Work;
use crate::matching::{Early, Key, Posted};
use crate::memory::{gather_into, scatter, total, Buffer};
use crate::packet::{Label, Packet, Payload, HEADER_BYTES};
use std::sync::Arc;

/// Writes a part of a message to a link. Gets the target, the packet's header, the number of bytes that follow, and a
/// function that writes those bytes. Returns false if there is no room now.
pub type Write<'w> =
    dyn FnMut(u32, &[u8; HEADER_BYTES], usize, &mut dyn FnMut(&mut [u8])) -> bool + 'w;

impl Rank {
    /// Handles bytes that came from `from` over a link.
    pub fn bytes(&mut self, from: u32, bytes: &[u8]) {
        match Packet::parse(bytes) {
            Some(packet) => self.packet(from, packet),
            None => self.counts.bad_packets += 1,
        }
    }

    /// Handles a packet of `from` in two parts: its header, and what follows.
    #[inline]
    pub fn parts(&mut self, from: u32, header: &[u8; HEADER_BYTES], payload: &[u8]) {
        match Packet::of_parts(header, payload) {
            Some(packet) => self.packet(from, packet),
            None => self.counts.bad_packets += 1,
        }
    }

    /// Handles a packet of `from`.
    pub fn packet<P: AsRef<[u8]>>(&mut self, from: u32, packet: Packet<P>) {
        if from >= self.ranks || from == self.me || self.is_gone(from) {
            self.counts.bad_packets += 1;
            return;
        }
        let broken = match packet {
            Packet::Eager { label, payload } => !self.eager(from, label, payload.as_ref()),
            Packet::Offer {
                label,
                bytes,
                ticket,
                at,
            } => !self.offer(from, label, bytes, ticket, u64::from_le_bytes(at)),
            Packet::Accept {
                ticket,
                promise,
                taken,
            } => !self.accept(from, ticket, promise, taken),
            Packet::Share {
                ticket,
                promise,
                into,
            } => !self.shared(from, ticket, promise, into),
            Packet::Refuse { ticket } => !self.refuse(from, ticket),
            Packet::Data {
                promise,
                offset,
                payload,
            } => !self.data(from, promise, offset, payload.as_ref()),
            Packet::Cut { promise } => !self.cut(from, promise),
            Packet::Abort { context, sequence } => !self.abort(from, context, sequence),
            Packet::Ask { label, receives } => {
                let missing = self.is_missing(from, label, receives);
                self.out
                    .push_back((from, Packet::Answer { label, missing }));
                false
            }
            Packet::Answer { label, missing } => !self.answer_to(from, label, missing),
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
        } else {
            self.release(from);
        }
        self.settle();
    }

    /// The peer is gone, or has broken the protocol: runs that still need it fail.
    pub fn lose(&mut self, peer: u32) {
        if !self.lost.insert(peer) {
            return;
        }
        let ended: Vec<RunId> = self
            .runs
            .iter()
            .filter(|(_, r)| r.state == State::Running && r.needs(peer))
            .map(|(id, _)| id)
            .collect();
        for run in ended {
            self.fail(run, Failure::PeerLost { peer });
        }
        self.aborted.retain(|_, from| *from != peer);
        self.forget_way_to(peer);
    }

    /// The peer has left the job, after everything that it sent. Runs that wait for more of it fail; runs that have
    /// all they need of it go on.
    pub fn leave(&mut self, peer: u32) {
        if self.lost.contains(&peer) || !self.left.insert(peer) {
            return;
        }
        let ended: Vec<RunId> = self
            .runs
            .iter()
            .filter(|(id, r)| r.state == State::Running && self.is_waiting(*id, peer))
            .map(|(id, _)| id)
            .collect();
        for run in ended {
            self.fail(run, Failure::PeerLost { peer });
        }
        self.forget_way_to(peer);
    }

    /// True if operations of a run that have begun wait for the peer.
    fn is_waiting(&self, id: RunId, peer: u32) -> bool {
        self.matching.waits_for(id, peer)
            || self.offered.values().any(|o| (o.run, o.to) == (id, peer))
            || self
                .streams
                .get(&peer)
                .is_some_and(|all| all.iter().any(|s| s.run == id))
            || self
                .held
                .get(&peer)
                .is_some_and(|all| all.iter().any(|(run, _)| *run == id))
            || self
                .promised
                .values()
                .any(|p| (p.run, p.from) == (id, peer))
    }

    /// Drops everything that was to be sent to the peer.
    fn forget_way_to(&mut self, peer: u32) {
        self.offered.retain(|_, o| o.to != peer);
        self.promised.retain(|_, p| p.from != peer);
        self.out.retain(|(to, _)| *to != peer);
        self.streams.remove(&peer);
        self.held.remove(&peer);
        // A process that has ended writes nothing, and one that leaves does so after its last run.
        self.pulls.remove(&peer);
        self.helps.retain(|h| h.to != peer);
    }

    /// True if nothing is sent to the peer or taken from it any more.
    #[inline]
    pub(super) fn is_gone(&self, peer: u32) -> bool {
        let some = !self.left.is_empty() || !self.lost.is_empty();
        some && (self.left.contains(&peer) || self.lost.contains(&peer))
    }

    #[inline]
    pub(super) fn peer(&mut self, rank: u32) -> &mut Peer {
        let new = Peer {
            credits: self.limits.credits,
            early: 0,
            offers: 0,
            owed: 0,
            offered: 0,
            asked: None,
        };
        let at = rank as usize;
        if at >= NEAR {
            return self.far.entry(rank).or_insert(new);
        }
        if at >= self.near.len() {
            self.near.resize(at + 1, new);
        }
        &mut self.near[at]
    }

    /// A run has failed at `from`. This rank's part of it fails too: now, or when it begins.
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
        id: RunId,
        place: usize,
        to: u32,
        tag: u32,
        from: &[Buffer],
    ) -> bool {
        let Some(run) = self.runs.get(id) else {
            return false;
        };
        let label = run.label(tag);
        let bytes = total(from).unwrap_or(u64::MAX);
        if to == self.me {
            let payload = payload(run, from, bytes);
            self.message(label, payload);
            return true;
        }
        if self.is_gone(to) {
            self.fail(id, Failure::PeerLost { peer: to });
            return false;
        }
        let most = self.limits;
        let peer = self.peer(to);
        let eager = bytes <= most.eager && peer.credits > 0;
        let full = !eager && peer.offered >= most.offers;
        // Messages to a peer stay in their order.
        if full || !self.held.is_empty() && self.held.contains_key(&to) {
            self.held.entry(to).or_default().push_back((id, place));
            return false;
        }
        if eager {
            self.peer(to).credits -= 1;
            self.counts.eager += 1;
            if let Some(run) = self.runs.get(id) {
                let payload = payload(run, from, bytes);
                self.out.push_back((to, Packet::Eager { label, payload }));
            }
            return true;
        }
        let at = match (from, self.runs.get(id)) {
            ([piece], Some(run)) => run.memory.address(piece),
            _ => 0,
        };
        let ticket = self.ticket();
        let offered = Offered {
            to,
            run: id,
            place,
            bytes,
        };
        self.offered.insert(ticket, offered);
        self.peer(to).offered += 1;
        self.counts.offered += 1;
        let offer = Packet::Offer {
            label,
            bytes,
            ticket,
            at: at.to_le_bytes(),
        };
        self.out.push_back((to, offer));
        false
    }

    /// Begins sends to a peer that were held back, as many as it has room for.
    fn release(&mut self, to: u32) {
        if self.held.is_empty() {
            return;
        }
        let mut held = self.held.remove(&to).unwrap_or_default();
        while let Some((id, place)) = held.pop_front() {
            let run = self.runs.get(id).filter(|r| r.state == State::Running);
            let Some(schedule) = run.map(|r| Arc::clone(r.counters.schedule())) else {
                continue;
            };
            let Work::Send { tag, from, .. } = schedule.work(place) else {
                continue;
            };
            if self.send(id, place, to, *tag, from) {
                self.completions.push_back((id, place));
            } else if self.held.remove(&to).is_some() {
                held.push_front((id, place));
                break;
            }
        }
        if !held.is_empty() {
            self.held.insert(to, held);
        }
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

    pub(super) fn receive(
        &mut self,
        id: RunId,
        place: usize,
        (from, tag): (u32, u32),
        into: &[Buffer],
    ) -> bool {
        let Some(run) = self.runs.get(id) else {
            return false;
        };
        let (key, posted) = ((from, run.label(tag)), Posted { run: id, place });
        match self.matching.receive(key, posted) {
            Some(Early::Whole(payload)) => {
                self.taken(from);
                self.deliver(from, posted, &payload)
            }
            // The offer of a peer that is gone cannot be accepted.
            None | Some(Early::Offered { .. }) if self.is_gone(from) => {
                self.fail(id, Failure::PeerLost { peer: from });
                false
            }
            None => false,
            Some(Early::Offered { bytes, ticket, at }) => {
                self.peer(from).offers -= 1;
                let room = total(into).unwrap_or(0);
                self.answer(from, posted, room, (bytes, ticket, at));
                false
            }
        }
    }

    /// Whether this rank's part of a run sends `to` fewer messages with a label than `receives`. Of a run that is over
    /// all messages have left.
    fn is_missing(&self, to: u32, label: Label, receives: u32) -> bool {
        let key = (label.context, label.sequence);
        if let Some(run) = self.open.get(&key).and_then(|id| self.runs.get(*id)) {
            return run.messages(to, label.tag, false) < receives;
        }
        !self.may_match(&label)
    }

    /// Asks whether a receive that waits will get a message: about one receive in each call, and one of each peer at a
    /// time.
    pub fn ask(&mut self) {
        let n = self.matching.posted().count();
        let next = self.asks.checked_rem(n).unwrap_or(0);
        self.asks = self.asks.wrapping_add(1);
        let Some((&(from, label), posted)) = self.matching.posted().nth(next) else {
            return;
        };
        let Some(run) = self.runs.get(posted.run) else {
            return;
        };
        let receives = run.messages(from, label.tag, true);
        if from == self.me {
            if self.is_missing(from, label, receives) {
                self.not_sent(from, label);
            }
        } else if !self.is_gone(from) && self.peer(from).asked.is_none() {
            self.peer(from).asked = Some(label);
            self.out.push_back((from, Packet::Ask { label, receives }));
        }
    }

    /// The peer has answered a question. False if it was not asked.
    fn answer_to(&mut self, from: u32, label: Label, missing: bool) -> bool {
        let was_asked = self.peer(from).asked.take() == Some(label);
        if was_asked && missing {
            self.not_sent(from, label);
        }
        was_asked
    }

    /// A receive that waits for this message fails, if there is still one.
    fn not_sent(&mut self, from: u32, label: Label) {
        let tag = label.tag;
        let of = |(key, posted): (&Key, &Posted)| (*key == (from, label)).then_some(posted.run);
        let waiting = self.matching.posted().find_map(of);
        if let Some(run) = waiting {
            self.fail(run, Failure::NotSent { from, tag });
        }
    }

    /// A message of this rank to itself.
    fn message(&mut self, label: Label, payload: Payload) {
        let key = (self.me, label);
        match self.matching.arrive(&key) {
            Some(posted) => self.arrived(self.me, posted, &payload),
            None => self.matching.keep(key, Early::Whole(payload)),
        }
    }

    /// The bytes that a receive has room for.
    pub(super) fn room(&self, posted: Posted) -> u64 {
        match self
            .runs
            .get(posted.run)
            .map(|r| r.counters.schedule().work(posted.place))
        {
            Some(Work::Recv { into, .. }) => total(into).unwrap_or(0),
            _ => 0,
        }
    }

    fn arrived(&mut self, from: u32, posted: Posted, payload: &[u8]) {
        if self.deliver(from, posted, payload) {
            self.completions.push_back((posted.run, posted.place));
        }
    }

    /// Copies a whole message to its receive. False if it does not fit.
    fn deliver(&mut self, from: u32, posted: Posted, payload: &[u8]) -> bool {
        let Some(run) = self.runs.get_mut(posted.run) else {
            return true;
        };
        let Work::Recv { into, .. } = run.counters.schedule().work(posted.place) else {
            return true;
        };
        let (bytes, room) = (payload.len() as u64, total(into).unwrap_or(0));
        if bytes > room {
            self.fail(posted.run, Failure::Truncated { from, bytes, room });
            return false;
        }
        match &into[..] {
            [piece] => run.memory.write(&Buffer { bytes, ..*piece }, payload),
            _ => scatter(&mut *run.memory, into, 0, payload),
        }
        true
    }

    /// A receive has taken an eager message of `from`, or none ever will. The sender gets its credit back, several
    /// credits at a time.
    pub(super) fn taken(&mut self, from: u32) {
        if from == self.me || self.is_gone(from) {
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

    /// True if there can be a receive for this label: its run goes on, or has not begun.
    pub(super) fn may_match(&self, label: &Label) -> bool {
        let begun = self.sequences.get(&label.context).copied().unwrap_or(0);
        label.sequence >= begun || self.open.contains_key(&(label.context, label.sequence))
    }

    pub(super) fn eager(&mut self, from: u32, label: Label, payload: &[u8]) -> bool {
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
            self.arrived(from, posted, payload);
        } else if self.may_match(&label) {
            self.counts.early += 1;
            self.matching.keep(key, Early::Whole(payload.into()));
        } else {
            self.counts.late += 1;
            self.taken(from);
        }
        true
    }

    pub(super) fn offer(
        &mut self,
        from: u32,
        label: Label,
        bytes: u64,
        ticket: u32,
        at: u64,
    ) -> bool {
        let key = (from, label);
        if let Some(posted) = self.matching.arrive(&key) {
            let room = self.room(posted);
            self.answer(from, posted, room, (bytes, ticket, at));
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
        self.matching
            .keep(key, Early::Offered { bytes, ticket, at });
        true
    }

    /// Accepts an offer that a receive has matched. Refuses a message that is too long.
    pub(super) fn answer(
        &mut self,
        from: u32,
        posted: Posted,
        room: u64,
        (bytes, ticket, at): (u64, u32, u64),
    ) {
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
        let pull = Pull::new(
            posted.run,
            (ticket, promise),
            bytes,
            (at, self.place(posted)),
        );
        self.begin_pull(from, pull);
    }

    /// The address of a receive that lies in one piece; 0 of any other.
    fn place(&self, posted: Posted) -> u64 {
        let Some(run) = self.runs.get(posted.run) else {
            return 0;
        };
        match run.counters.schedule().work(posted.place) {
            Work::Recv { into, .. } => match &into[..] {
                [piece] => run.memory.address(piece),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// The peer has answered an offer. `None` if there was no such offer to it.
    fn answered(&mut self, by: u32, ticket: u32) -> Option<Offered> {
        let offered = *self.offered.get(&ticket).filter(|o| o.to == by)?;
        self.offered.remove(&ticket);
        self.helps.retain(|h| h.ticket != ticket);
        self.peer(by).offered -= 1;
        Some(offered)
    }

    pub(super) fn accept(&mut self, from: u32, ticket: u32, promise: u32, taken: bool) -> bool {
        let Some(offered) = self.answered(from, ticket) else {
            return false;
        };
        let Some(run) = self
            .runs
            .get(offered.run)
            .filter(|r| r.state == State::Running)
        else {
            // The receiver waits for a run that has failed here. The rank that caused the failure tells it so.
            self.counts.late += 1;
            return true;
        };
        let Work::Send { from: pieces, .. } = run.counters.schedule().work(offered.place) else {
            return false;
        };
        let bytes = total(pieces).unwrap_or(0);
        if taken {
            let end = Packet::Data {
                promise,
                offset: bytes,
                payload: Payload::from(&[][..]),
            };
            self.out.push_back((from, end));
            self.completions.push_back((offered.run, offered.place));
            return true;
        }
        self.streams.entry(from).or_default().push_back(Stream {
            promise,
            run: offered.run,
            place: offered.place,
            bytes,
            sent: 0,
        });
        true
    }

    /// True if parts of long messages wait for room on links.
    #[must_use]
    #[inline]
    pub fn is_streaming(&self) -> bool {
        !self.streams.is_empty()
    }

    /// Passes parts of accepted messages to `write`, directly from the memory of their runs: to each peer one part of
    /// each message, until `write` has no room. True if a part was sent; then [`Rank::outgoing`] may have more.
    pub fn stream(&mut self, write: &mut Write<'_>) -> bool {
        let most = self.limits.fragment.max(1);
        let mut worked = false;
        self.streams.retain(|to, messages| {
            for _ in 0..messages.len() {
                let Some(mut s) = messages.pop_front() else {
                    break;
                };
                let run = self.runs.get(s.run);
                let Some(run) = run.filter(|r| r.state == State::Running) else {
                    // The run is over, and its memory may be the program's again.
                    let cut = Packet::Cut { promise: s.promise };
                    self.out.push_back((*to, cut));
                    worked = true;
                    continue;
                };
                let Work::Send { from, .. } = run.counters.schedule().work(s.place) else {
                    continue;
                };
                let n = (s.bytes - s.sent).min(most);
                let header = Packet::data(s.promise, s.sent, n);
                let mut fill = |into: &mut [u8]| gather_into(&*run.memory, from, s.sent, into);
                if !write(*to, &header, n as usize, &mut fill) {
                    messages.push_front(s);
                    break;
                }
                worked = true;
                s.sent += n;
                if s.sent == s.bytes {
                    self.completions.push_back((s.run, s.place));
                } else {
                    messages.push_back(s);
                }
            }
            !messages.is_empty()
        });
        self.settle();
        worked
    }

    /// No more parts of a promised message will come.
    fn cut(&mut self, from: u32, promise: u32) -> bool {
        let Some(promised) = self.promised.get(&promise).filter(|p| p.from == from) else {
            return false;
        };
        let run = promised.run;
        self.promised.remove(&promise);
        self.fail(run, Failure::PeerFailed { peer: from });
        true
    }

    pub(super) fn refuse(&mut self, from: u32, ticket: u32) -> bool {
        let Some(offered) = self.answered(from, ticket) else {
            return false;
        };
        self.fail(offered.run, Failure::Refused { by: from });
        true
    }

    pub(super) fn data(&mut self, from: u32, promise: u32, offset: u64, payload: &[u8]) -> bool {
        let Some(promised) = self.promised.get_mut(&promise).filter(|p| p.from == from) else {
            return false;
        };
        let n = payload.len() as u64;
        // Links keep the order, so that the parts of a message come in order.
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
        match self.runs.get_mut(p.run) {
            Some(run) if run.state == State::Running => {
                if let Work::Recv { into, .. } = run.counters.schedule().work(p.place) {
                    scatter(&mut *run.memory, into, offset, payload);
                }
                if p.have == p.bytes {
                    self.completions.push_back((p.run, p.place));
                }
            }
            _ => self.counts.late += 1,
        }
        true
    }
}

/// The bytes of some pieces of a run's memory.
fn payload(run: &Run, pieces: &[Buffer], bytes: u64) -> Payload {
    Payload::filled(bytes as usize, |into| {
        gather_into(&*run.memory, pieces, 0, into);
    })
}
