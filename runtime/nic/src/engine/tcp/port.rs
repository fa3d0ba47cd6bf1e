//! The state machine of one rank on streams: bytes and descriptors in, bytes and completions out. No sockets.
//! (Not to be confused with a user's [port](crate::domain::Port): all of them share this one.)
//!
//! **An operation's way out.** [`Port::step`] takes a descriptor from a queue. `dispatch` checks the initiator's half of it
//! and puts it at the end of its peer's line (`Peer::waiting`). `pump` sends the front of that line as *requests*: pieces of
//! at most [`PIECE_BYTES`], each of which names the whole operation, so that the target checks all of it before it
//! writes the first piece. Each request has a number; its reply repeats it. The operation is done when all of it went out
//! and no request of it is without a reply.
//!
//! **A request's way in.** `request` answers it at once, unless it is a message and the inbox is full: then it and every later
//! request of that peer wait (`Peer::blocked`), so that none overtakes another. `answer` checks the target's half,
//! executes it and appends the reply.
//!
//! **Limits.** What is under way to a peer is limited by a window, and with it what either side must buffer. A peer that
//! sends more than the window allows, or bytes that are no frames, has broken the protocol ([`Violation`]): it is given up,
//! and every operation to it ends in error.
//!
//! **Another way out.** An engine whose adapter moves memory by itself (libfabric) hands the port a [`Direct`]: puts and gets
//! that it takes go that way instead of as requests. The two ways are not ordered against each other, so that a fence makes
//! what follows it wait for what the other way still has under way ([`Peer::may_go`]).

use super::frame::{descriptor_bytes, split, Decoder, Header, Kind, HEADER_BYTES, PIECE_BYTES};
use super::target::{self, Done, Violation};
use crate::descriptor::{CounterId, Descriptor, Failure, Fetch, Status, Work};
use crate::engine::front::{Front, Taken};
use crate::engine::{parse, transfer, with_source, Domain, Outcome};
use crate::execute::{self, LocalPart};
use crate::keys::Span;
use crate::memory;
use crate::queue_pair::Consumer;
use crate::trigger::Triggers;
use hetmp_core::hash::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes that may be under way to one peer, counting what it will answer.
const WINDOW: usize = 1 << 20;
/// What a request costs of the window besides its piece.
const REQUEST_COST: usize = 128;
/// Descriptors taken from one queue in a row before the next one gets its turn.
const BURST: usize = 32;

/// Puts and gets that leave the rank by themselves, not as requests.
pub(in crate::engine) trait Direct {
    /// An earlier put stays before a later put, get, or request to the same peer.
    fn keeps_order(&self) -> Kept;
    /// Whether it takes this operation, of which the port has checked the initiator's half.
    fn takes(&self, d: &Descriptor) -> bool;
    /// Begins an operation: [`Port::landed`] says later what became of number `id`.
    fn begin(&mut self, id: u64, d: &Descriptor, local: &LocalPart<'_>) -> Begun;
}

/// What an earlier direct put stays before, without waiting for it.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::engine) struct Kept {
    pub(in crate::engine) put: bool,
    pub(in crate::engine) get: bool,
    pub(in crate::engine) request: bool,
}

/// How an operation began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Begun {
    /// It is under way; its source may be written again already, or not.
    UnderWay { freed: bool },
    /// No room now: to be tried again.
    Busy,
    /// It cannot be.
    Refused(Failure),
}

/// There is no other way.
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

/// An operation of this rank between its descriptor and its completion.
#[derive(Debug)]
struct Operation {
    /// Whose completion it is.
    queue: usize,
    ticket: u64,
    d: Descriptor,
    /// Bytes of pieces that went out.
    sent: u32,
    /// No further piece will go out: all have, or it has failed.
    all_sent: bool,
    /// Its buffers were reported as free: the last piece of its source is in the output.
    freed: bool,
    /// Pieces without a reply.
    open: u32,
    /// The first thing that went wrong: what the initiator hears, once the other pieces are answered.
    failure: Option<Failure>,
    /// What was fetched.
    value: u64,
}

/// A piece that went out and has no reply yet.
#[derive(Clone, Copy, Debug)]
struct Request {
    operation: u64,
    peer: usize,
    /// Which bytes of the operation: where a reply's content goes, and how long it has to be.
    offset: u32,
    piece: u32,
    /// What the reply gives back to the window.
    cost: usize,
}

/// One peer, or this rank itself, whose line is worked off without a stream.
#[derive(Debug, Default)]
struct Peer {
    /// Given up: its stream is closed, and whatever is posted to it fails.
    lost: bool,
    decoder: Decoder,
    /// Bytes to be sent, from `out_from` on: requests and replies.
    out: Vec<u8>,
    out_from: usize,
    /// Of the window: what the requests without a reply cost.
    in_flight: usize,
    /// Operations that have not gone out in full, in order.
    waiting: VecDeque<u64>,
    /// Its requests behind a message that found the inbox full.
    blocked: VecDeque<(Header, Vec<u8>)>,
    /// Bytes that they take here.
    blocked_bytes: usize,
    /// Direct puts and gets under way.
    puts: u32,
    gets: u32,
    /// A fence stands before what is sent next, and something of before it may be under way.
    fenced: bool,
}

/// How an operation leaves its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exit {
    Request,
    Put,
    Get,
}

impl Peer {
    /// Behind a fence: whether an operation may leave now. Requests are executed in their order. Of a direct put it may be
    /// known that it stays before what follows; a direct get reads whenever it does, and a request takes effect only when
    /// the peer's software gets to it.
    fn may_go(&mut self, exit: Exit, kept: Kept) -> bool {
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
}

/// One rank.
#[derive(Debug)]
pub(in crate::engine) struct Port<D = StreamOnly> {
    /// The other way out.
    pub(in crate::engine) direct: D,
    rank: u32,
    domain: Arc<Domain>,
    /// A queue keeps its place: operations name it.
    queues: Vec<Option<Front>>,
    /// By rank.
    peers: Vec<Peer>,
    /// Under way, by their numbers.
    operations: HashMap<u64, Operation>,
    requests: HashMap<u64, Request>,
    /// The next number, of an operation or a request.
    next: u64,
    /// Held back until a counter of this rank says so, with the queue that each came from.
    triggers: Triggers<(usize, Taken)>,
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
        }
    }

    pub(in crate::engine) fn join(&mut self, consumer: Consumer) {
        let front = Some(Front::new(consumer));
        match self.queues.iter().position(Option::is_none) {
            Some(i) => self.queues[i] = front,
            None => self.queues.push(front),
        }
    }

    /// Takes what was announced, sends what there is room for, and tries again what was held up.
    pub(in crate::engine) fn step(&mut self) -> bool {
        let mut worked = false;
        let domain = self.domain.clone();
        for q in 0..self.queues.len() {
            for _ in 0..BURST {
                let Some(taken) = self.queues[q]
                    .as_mut()
                    .and_then(|f| f.take(domain.counters()))
                else {
                    break;
                };
                worked = true;
                match taken.held {
                    Some((c, threshold)) => self.triggers.hold(c, threshold, (q, taken)),
                    None => self.dispatch(q, &taken),
                }
            }
            if self.queues[q].as_ref().is_some_and(Front::is_over) {
                self.queues[q] = None;
            }
        }
        for p in 0..self.peers.len() {
            worked |= self.answer_blocked(p);
            worked |= self.pump(p);
        }
        worked
    }

    /// True if something must be tried again although nothing arrives: an inbox of this rank was full.
    pub(in crate::engine) fn is_held_up(&self) -> bool {
        self.peers.iter().any(|p| !p.blocked.is_empty())
            || !self.peers[self.rank as usize].waiting.is_empty()
    }

    /// Requests without a reply.
    pub(in crate::engine) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// Bytes to be sent to a peer.
    pub(in crate::engine) fn output(&self, peer: usize) -> &[u8] {
        let p = &self.peers[peer];
        &p.out[p.out_from..]
    }

    /// Says that the first `n` bytes of the output were sent.
    pub(in crate::engine) fn sent(&mut self, peer: usize, n: usize) {
        let p = &mut self.peers[peer];
        p.out_from += n;
        if p.out_from == p.out.len() {
            p.out.clear();
            p.out_from = 0;
        }
    }

    /// Where bytes of a peer go, for [`Port::filled`].
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

    /// Takes the first `n` bytes of the room, which came from the peer. False: they broke the protocol, and the
    /// peer was given up.
    pub(in crate::engine) fn filled(&mut self, peer: usize, n: usize) -> bool {
        if self.peers[peer].lost {
            return false;
        }
        let mut decoder = core::mem::take(&mut self.peers[peer].decoder);
        decoder.filled(n);
        let result = loop {
            match decoder.frame() {
                Ok(None) => break Ok(()),
                Err(_) => break Err(Violation),
                Ok(Some((header, content))) => {
                    let done = match header.kind {
                        Kind::Reply => self.reply(peer, &header, content),
                        Kind::Request => self.request(peer, header, content),
                    };
                    if done.is_err() {
                        break Err(Violation);
                    }
                }
            }
        };
        match result {
            Ok(()) => {
                self.peers[peer].decoder = decoder;
                true
            }
            Err(Violation) => {
                self.lose(peer);
                false
            }
        }
    }

    /// Gives a peer up: what is under way to it, and what will be posted to it, ends in error.
    pub(in crate::engine) fn lose(&mut self, peer: usize) {
        let failure = Failure {
            status: Status::PeerLost,
            value: peer as u64,
        };
        self.peers[peer] = Peer {
            lost: true,
            ..Peer::default()
        };
        self.requests.retain(|_, r| r.peer != peer);
        // By the operations themselves, not by the requests: the reply that broke the protocol has already taken its
        // request off the list, and an operation found by requests alone would never end.
        let mut ids: Vec<u64> = self
            .operations
            .iter()
            .filter(|(_, o)| o.d.peer as usize == peer)
            .map(|(id, _)| *id)
            .collect();
        // Operations end in the order in which they were posted.
        ids.sort_unstable();
        for id in ids {
            self.fail(id, failure);
        }
    }

    /// Ends everything that is under way with an error.
    pub(in crate::engine) fn stop(&mut self) {
        let stopped = Failure {
            status: Status::Stopped,
            value: 0,
        };
        let ids: Vec<u64> = self.operations.keys().copied().collect();
        for id in ids {
            self.fail(id, stopped);
        }
        for (q, taken) in self.triggers.take_all() {
            self.complete(q, &taken, Outcome::failed(stopped), false);
        }
    }

    fn complete(&mut self, q: usize, taken: &Taken, outcome: Outcome, freed: bool) {
        let signalled = taken.work.is_ok_and(|d| d.signalled);
        if let Some(front) = &mut self.queues[q] {
            let c = outcome.completion(taken.ticket, signalled);
            if freed {
                front.consumer.complete_freed(c);
            } else {
                front.consumer.complete(c);
            }
            front.consumer.notify();
        }
    }

    fn fail(&mut self, id: u64, failure: Failure) {
        if let Some(o) = self.operations.get_mut(&id) {
            o.failure.get_or_insert(failure);
            o.all_sent = true;
            o.open = 0;
        }
        self.finish(id);
    }

    /// Completes an operation of which all pieces are answered.
    fn finish(&mut self, id: u64) {
        let done = self
            .operations
            .get(&id)
            .is_some_and(|o| o.all_sent && o.open == 0);
        let Some(o) = done.then(|| self.operations.remove(&id)).flatten() else {
            return;
        };
        let mut outcome = match o.failure {
            Some(f) => Outcome::failed(f),
            None => Outcome {
                status: Status::Ok,
                bytes: execute::bytes(&o.d),
                value: o.value,
                counted: false,
            },
        };
        let counted_before = o.d.count_source && o.freed;
        if let (Some(c), None, false) = (o.d.count, o.failure, counted_before) {
            self.domain.counters().add(c, 1);
            outcome.counted = true;
        }
        self.end(o.queue, o.ticket, o.d, outcome, o.freed);
    }

    fn end(&mut self, queue: usize, ticket: u64, d: Descriptor, outcome: Outcome, freed: bool) {
        let taken = Taken {
            ticket,
            work: Ok(d),
            held: None,
        };
        self.complete(queue, &taken, outcome, freed);
        if outcome.counted {
            self.release();
        }
    }

    /// Sets off what waited for counters of this rank.
    fn release(&mut self) {
        let domain = self.domain.clone();
        let value = |c: CounterId| domain.counters().value(c).unwrap_or(0);
        for (q, taken) in self.triggers.ready(value) {
            self.dispatch(q, &taken);
        }
    }

    fn dispatch(&mut self, q: usize, taken: &Taken) {
        let domain = self.domain.clone();
        let checked = taken.work.and_then(|d| {
            let peer = self.peers.get(d.peer as usize);
            let is_wait = matches!(d.work, Work::Wait { .. });
            match peer {
                None if !is_wait => Err(Failure {
                    status: Status::Peer,
                    value: u64::from(d.peer),
                }),
                Some(p) if p.lost && !is_wait => Err(Failure {
                    status: Status::PeerLost,
                    value: u64::from(d.peer),
                }),
                // Arithmetic is for this rank's own memory.
                _ if d.peer != self.rank && matches!(d.work, Work::Compute { .. }) => {
                    Err(Failure {
                        status: Status::Peer,
                        value: u64::from(d.peer),
                    })
                }
                _ => execute::local(&d, domain.keys(), domain.counters()).map(|_| d),
            }
        });
        let d = match checked {
            Err(f) => return self.complete(q, taken, Outcome::failed(f), false),
            Ok(d) => d,
        };
        let id = self.next;
        self.next += 1;
        let here = matches!(d.work, Work::Wait { .. });
        self.operations.insert(
            id,
            Operation {
                queue: q,
                ticket: taken.ticket,
                d,
                sent: 0,
                all_sent: here,
                freed: false,
                open: 0,
                failure: None,
                value: 0,
            },
        );
        if here {
            self.finish(id);
        } else {
            self.peers[d.peer as usize].waiting.push_back(id);
        }
    }

    /// Sends to a peer what the window has room for.
    fn pump(&mut self, p: usize) -> bool {
        let mut worked = false;
        while let Some(id) = self.peers[p].waiting.front().copied() {
            let Some(o) = self.operations.get(&id) else {
                self.peers[p].waiting.pop_front();
                continue;
            };
            // A stream keeps order by itself, and the target answers requests in order: a fence has
            // nothing to do but to keep its place.
            let nothing_to_send =
                o.failure.is_some() || matches!(o.d.work, Work::Fence | Work::Nop);
            if nothing_to_send {
                if matches!(o.d.work, Work::Fence) {
                    self.peers[p].fenced = true;
                }
                self.leave_queue(p, id);
                self.finish(id);
            } else if p == self.rank as usize {
                let (queue, ticket, d) = (o.queue, o.ticket, o.d);
                let domain = self.domain.clone();
                let Some(outcome) = transfer(&domain, &domain, self.rank, &d) else {
                    return worked;
                };
                self.peers[p].waiting.pop_front();
                self.operations.remove(&id);
                self.end(queue, ticket, d, outcome, false);
            } else {
                let direct = self.direct.takes(&o.d);
                let exit = match &o.d.work {
                    Work::Put { .. } if direct => Exit::Put,
                    Work::Get { .. } if direct => Exit::Get,
                    _ => Exit::Request,
                };
                if !self.peers[p].may_go(exit, self.direct.keeps_order()) {
                    return worked;
                }
                let sent = match exit {
                    Exit::Request => self.send_piece(p, id),
                    _ => self.send_direct(p, id, exit),
                };
                if !sent {
                    return worked;
                }
            }
            worked = true;
        }
        worked
    }

    /// False: there is no room now.
    fn send_direct(&mut self, p: usize, id: u64, exit: Exit) -> bool {
        let domain = self.domain.clone();
        let Some(o) = self.operations.get_mut(&id) else {
            return false;
        };
        let begun = match execute::local(&o.d, domain.keys(), domain.counters()) {
            Ok(local) => self.direct.begin(id, &o.d, &local),
            Err(f) => Begun::Refused(f),
        };
        match begun {
            Begun::Busy => false,
            Begun::Refused(f) => {
                o.failure = Some(f);
                true
            }
            Begun::UnderWay { freed } => {
                o.open = 1;
                match exit {
                    Exit::Get => self.peers[p].gets += 1,
                    _ => self.peers[p].puts += 1,
                }
                self.leave_queue(p, id);
                if freed {
                    self.free(id);
                }
                true
            }
        }
    }

    /// Says what became of a direct operation.
    pub(in crate::engine) fn landed(&mut self, id: u64, result: Result<(), Failure>) {
        // Not there: its peer was given up meanwhile.
        let Some(o) = self.operations.get_mut(&id) else {
            return;
        };
        o.open = 0;
        o.failure = o.failure.or(result.err());
        let peer = &mut self.peers[o.d.peer as usize];
        match o.d.work {
            Work::Get { .. } => peer.gets -= 1,
            _ => peer.puts -= 1,
        }
        self.finish(id);
    }

    fn leave_queue(&mut self, p: usize, id: u64) {
        self.peers[p].waiting.pop_front();
        if let Some(o) = self.operations.get_mut(&id) {
            o.all_sent = true;
        }
    }

    /// False: the window is full.
    fn send_piece(&mut self, p: usize, id: u64) -> bool {
        let Some(o) = self.operations.get_mut(&id) else {
            return false;
        };
        let total = execute::bytes(&o.d);
        let piece = (total - o.sent).min(PIECE_BYTES as u32);
        let cost = piece as usize + REQUEST_COST;
        let peer = &mut self.peers[p];
        if peer.in_flight > 0 && peer.in_flight + cost > WINDOW {
            return false;
        }
        let offset = o.sent;
        let carries = matches!(o.d.work, Work::Put { .. } | Work::Send { .. });
        let bytes = if carries { piece as usize } else { 0 };
        // Looked up again: the region may have been taken out since the last piece.
        let local = match execute::local(&o.d, self.domain.keys(), self.domain.counters()) {
            Ok(local) => local,
            Err(f) => {
                o.failure = Some(f);
                return true;
            }
        };
        let request = self.next;
        self.next += 1;
        let header = Header {
            kind: Kind::Request,
            status: Status::Ok,
            length: (crate::descriptor::DESCRIPTOR_BYTES + bytes) as u32,
            id: request,
            value: 0,
            offset,
        };
        peer.out.extend_from_slice(&header.encode());
        peer.out.extend_from_slice(&descriptor_bytes(&o.d.encode()));
        if carries {
            with_source(&local, |from, n| {
                debug_assert!(offset as usize + bytes <= n);
                // SAFETY: the piece lies within the source, which was found in bounds.
                unsafe { append(&mut peer.out, from.add(offset as usize), bytes) }
            });
        }
        drop(local);
        peer.in_flight += cost;
        o.open += 1;
        o.sent += piece;
        self.requests.insert(
            request,
            Request {
                operation: id,
                peer: p,
                offset,
                piece,
                cost,
            },
        );
        if o.sent == total {
            self.leave_queue(p, id);
            self.free(id);
        }
        true
    }

    /// The source of an operation lies in the output: its initiator may write there again. What fetches keeps its
    /// buffer until the reply has come.
    fn free(&mut self, id: u64) {
        let Some(o) = self.operations.get_mut(&id) else {
            return;
        };
        let fetches = match &o.d.work {
            Work::Get { .. } => true,
            Work::Atomic(a) => a.fetch != Fetch::No,
            _ => false,
        };
        if fetches || o.freed {
            return;
        }
        o.freed = true;
        let counted = o.d.count.filter(|_| o.d.count_source);
        if let Some(front) = &mut self.queues[o.queue] {
            front.consumer.free();
            front.consumer.notify();
        }
        if let Some(c) = counted {
            self.domain.counters().add(c, 1);
            self.release();
        }
    }

    fn reply(&mut self, p: usize, header: &Header, content: &[u8]) -> Result<(), Violation> {
        let request = match self.requests.get(&header.id) {
            Some(r) if r.peer == p => *r,
            _ => return Err(Violation),
        };
        self.requests.remove(&header.id);
        self.peers[p].in_flight -= request.cost;
        let Some(o) = self.operations.get_mut(&request.operation) else {
            return Ok(());
        };
        o.open -= 1;
        if header.status != Status::Ok {
            o.failure.get_or_insert(Failure {
                status: header.status,
                value: header.value,
            });
        } else {
            let gets = matches!(o.d.work, Work::Get { .. });
            if content.len() != if gets { request.piece as usize } else { 0 } {
                return Err(Violation);
            }
            match execute::local(&o.d, self.domain.keys(), self.domain.counters()) {
                Ok(LocalPart::Write(to)) => {
                    let value = header.value.to_le_bytes();
                    let (from, n, at) = if gets {
                        (content.as_ptr(), content.len(), request.offset as usize)
                    } else {
                        (value.as_ptr(), to.len().min(8), 0)
                    };
                    debug_assert!(at + n <= to.len());
                    // SAFETY: the piece was cut from the length of the span that was found again.
                    unsafe { memory::copy(from, to.start().add(at), n) }
                }
                Ok(_) => {}
                Err(f) => {
                    o.failure.get_or_insert(f);
                }
            }
            o.value = header.value;
        }
        self.finish(request.operation);
        Ok(())
    }

    fn request(&mut self, p: usize, header: Header, content: &[u8]) -> Result<(), Violation> {
        if self.peers[p].blocked.is_empty() && self.answer(p, &header, content)? {
            return Ok(());
        }
        let peer = &mut self.peers[p];
        peer.blocked_bytes += content.len() + HEADER_BYTES;
        peer.blocked.push_back((header, content.to_vec()));
        if peer.blocked_bytes > 2 * WINDOW {
            return Err(Violation);
        }
        Ok(())
    }

    fn answer_blocked(&mut self, p: usize) -> bool {
        let mut worked = false;
        while let Some((header, content)) = self.peers[p].blocked.pop_front() {
            match self.answer(p, &header, &content) {
                Ok(true) => {
                    self.peers[p].blocked_bytes -= content.len() + HEADER_BYTES;
                    worked = true;
                }
                Ok(false) => {
                    self.peers[p].blocked.push_front((header, content));
                    break;
                }
                Err(Violation) => {
                    self.lose(p);
                    return true;
                }
            }
        }
        worked
    }

    /// Executes a request of a peer and answers it. False: a message that finds the inbox full.
    fn answer(&mut self, p: usize, header: &Header, content: &[u8]) -> Result<bool, Violation> {
        let Some((words, bytes)) = split(content) else {
            return Err(Violation);
        };
        let domain = self.domain.clone();
        let checked = parse(&words).and_then(|d| {
            if d.peer != self.rank {
                return Err(Failure {
                    status: Status::Peer,
                    value: u64::from(d.peer),
                });
            }
            execute::remote(&d, domain.keys(), domain.counters()).map(|part| (d, part))
        });
        let (d, part) = match checked {
            Ok(x) => x,
            Err(f) => {
                self.push_reply(p, header.id, f.status, f.value, None)?;
                return Ok(true);
            }
        };
        let mut counted = false;
        let offset = header.offset as usize;
        match target::execute(&domain, p as u32, &d, part, offset, bytes, &mut counted)? {
            Done::Full => return Ok(false),
            Done::Refused(f) => self.push_reply(p, header.id, f.status, f.value, None)?,
            Done::Value(value, read) => {
                let read = read.as_ref().map(|(span, offset)| (span, *offset));
                self.push_reply(p, header.id, Status::Ok, value, read)?;
            }
        }
        if counted {
            self.release();
        }
        Ok(true)
    }

    /// Appends a reply.
    fn push_reply(
        &mut self,
        p: usize,
        id: u64,
        status: Status,
        value: u64,
        read: Option<(&Span<'_>, usize)>,
    ) -> Result<(), Violation> {
        let n = read.map_or(0, |(span, offset)| {
            span.len().saturating_sub(offset).min(PIECE_BYTES)
        });
        let header = Header {
            kind: Kind::Reply,
            status,
            length: n as u32,
            id,
            value,
            offset: 0,
        };
        let peer = &mut self.peers[p];
        // Its window limits what it may have asked for.
        if peer.out.len() - peer.out_from > 4 * WINDOW {
            return Err(Violation);
        }
        peer.out.extend_from_slice(&header.encode());
        if let Some((span, offset)) = read.filter(|_| n > 0) {
            // SAFETY: `n` was cut to what the span has behind the offset.
            unsafe { append(&mut peer.out, span.start().add(offset), n) };
        }
        Ok(())
    }
}

/// Appends `n` bytes of registered memory, as by [`memory::copy`].
///
/// # Safety
/// `from` is valid for reads of `n` bytes: the callers found it in a span that still lives.
unsafe fn append(out: &mut Vec<u8>, from: *const u8, n: usize) {
    out.reserve(n);
    let at = out.len();
    // SAFETY: the room was just made, and is written before the length covers it; the source is valid by this
    // function's contract, which `send_piece` and `push_reply` keep.
    unsafe {
        memory::copy(from, out.as_mut_ptr().add(at), n);
        out.set_len(at + n);
    }
}

#[cfg(test)]
#[path = "port_tests.rs"]
mod tests;
