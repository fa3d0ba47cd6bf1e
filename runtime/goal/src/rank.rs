//! One rank: its runs, and the protocol with its peers. A state machine without clock, thread or link.
//!
//! **Data in**: schedules to run, packets from peers (in order from each one, none lost or twice), the time. **Data
//! out**: packets for peers, bytes in the runs' memory, each run's end.
//!
//! # The protocol
//! A message up to [`Limits::eager`] bytes goes at once ([`Packet::Eager`]); the send is complete when it is copied.
//! A longer one is offered, and goes once a receive has matched the offer. The header suffices for matching, so that a
//! receiver short of memory can match what it has no room for.
//!
//! # What a peer can cost
//! A sender may have [`Limits::credits`] eager messages under way to each peer that no receive has taken; beyond that it
//! offers short messages, too. A receiver gives a credit back with each eager message that a receive took. So the early
//! messages of a peer take at most `credits * eager` bytes here, and [`Limits::offers`] headers. A peer that keeps to
//! neither is *lost*: nothing of it is executed from then on.
//!
//! # A run that fails
//! tells the peers that it still needed ([`Packet::Abort`]): their parts of the same run fail, too, and nobody waits
//! for ever.
//!
//! # Order of runs
//! Ranks begin the runs of one context in the same order (as MPI demands of collectives); the n-th run here talks to the
//! n-th run there. So runs of one schedule may overlap each other in time.

use crate::element;
use crate::graph::Work;
use crate::map::{HashMap, HashSet};
use crate::matching::{Early, Key, Matching, Posted};
use crate::memory::{gather, scatter, total, Buffer, Memory};
use crate::packet::{Label, Packet};
use crate::run::Counters;
use crate::schedule::Schedule;
use core::cmp::Reverse;
use core::fmt;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

/// Bounds of what a rank keeps for its peers. The same on all ranks of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest message that goes without being asked for, bytes.
    pub eager: u64,
    /// Eager messages to a peer that no receive has taken.
    pub credits: u32,
    /// Offers of a peer that no receive has taken.
    pub offers: u32,
    /// Longest payload of a packet of data, bytes.
    pub fragment: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            eager: 8 << 10,
            credits: 64,
            offers: 1 << 16,
            fragment: 64 << 10,
        }
    }
}

/// A run of this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(u32);

/// Why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A message was longer than its receive.
    Truncated {
        /// Its source.
        from: u32,
        /// Its length.
        bytes: u64,
        /// The receive's.
        room: u64,
    },
    /// The receive of a message was shorter, so that the peer refused it.
    Refused {
        /// The peer.
        by: u32,
    },
    /// An integer was divided by zero.
    DivisionByZero {
        /// The operation's place in traversal order.
        operation: usize,
    },
    /// The run failed at a peer.
    PeerFailed {
        /// Its rank.
        peer: u32,
    },
    /// A peer that the run still needs is gone.
    PeerLost {
        /// Its rank.
        peer: u32,
    },
    /// It was ended here before it was over.
    Abandoned,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Truncated { from, bytes, room } => write!(
                f,
                "message of {bytes} bytes from rank {from}: up to {room} are received"
            ),
            Failure::Refused { by } => write!(f, "message to rank {by}: longer than its receive"),
            Failure::DivisionByZero { operation } => {
                write!(f, "operation {operation}: division by zero")
            }
            Failure::PeerFailed { peer } => {
                write!(f, "rank {peer}: its part of the schedule failed")
            }
            Failure::PeerLost { peer } => write!(f, "rank {peer}: lost"),
            Failure::Abandoned => f.write_str("ended before it was over"),
        }
    }
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not over yet.
    Running,
    /// All operations are complete.
    Done,
    /// It will not be complete.
    Failed(Failure),
}

/// Why a run cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// The schedule is of another rank or job.
    Rank {
        /// The schedule's rank and ranks.
        schedule: (u32, u32),
        /// This rank's.
        here: (u32, u32),
    },
    /// A segment is shorter than the schedule needs.
    Segment {
        /// Its number.
        segment: u16,
        /// Bytes that are there.
        have: u64,
        /// Bytes that the schedule uses.
        need: u64,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Rank { schedule, here } => write!(
                f,
                "schedule of rank {} of {}: one of rank {} of {} is accepted",
                schedule.0, schedule.1, here.0, here.1
            ),
            StartError::Segment {
                segment,
                have,
                need,
            } => write!(
                f,
                "segment {segment} of {have} bytes: at least {need} are accepted"
            ),
        }
    }
}

impl std::error::Error for StartError {}

/// What a rank has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages sent eagerly.
    pub eager: u64,
    /// Messages offered first.
    pub offered: u64,
    /// Messages that came before their receive.
    pub early: u64,
    /// Packets that were none, that answer nothing, or that break the protocol. None was executed.
    pub bad_packets: u64,
    /// Packets for runs that have ended, thrown away.
    pub late: u64,
}

struct Run {
    counters: Counters,
    context: u32,
    sequence: u64,
    memory: Box<dyn Memory + Send>,
    state: State,
    /// Sends and receives that have not completed, by peer: what a lost peer ends.
    needs: BTreeMap<u32, u32>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("context", &self.context)
            .field("sequence", &self.sequence)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// A message that a peer was offered.
#[derive(Clone, Copy, Debug)]
struct Offered {
    to: u32,
    run: u32,
    place: usize,
}

/// A message that a peer was asked for.
#[derive(Clone, Copy, Debug)]
struct Promised {
    from: u32,
    run: u32,
    place: usize,
    bytes: u64,
    /// Bytes that are here.
    have: u64,
}

#[derive(Clone, Copy, Debug)]
struct Peer {
    /// Eager messages that may still be sent there.
    credits: u32,
    /// Eager messages of the peer that no receive has taken.
    early: u32,
    /// Offers of the peer that no receive has taken.
    offers: u32,
    /// Credits to give back.
    owed: u32,
}

/// One rank of a job.
#[derive(Debug)]
pub struct Rank {
    me: u32,
    ranks: u32,
    limits: Limits,
    runs: HashMap<u32, Run>,
    next_run: u32,
    /// Runs begun so far, by context.
    sequences: HashMap<u32, u64>,
    /// Runs that are not over, by context and sequence.
    open: HashMap<(u32, u64), u32>,
    /// Runs that have not begun here and failed at a peer: the peer.
    aborted: HashMap<(u32, u64), u32>,
    /// Operations that were completed by an arrival or a timer, and whose dependents were not looked at. A queue, not
    /// calls within calls: a chain of messages of a rank to itself may be long.
    completions: VecDeque<(u32, usize)>,
    matching: Matching,
    peers: HashMap<u32, Peer>,
    lost: HashSet<u32>,
    offered: HashMap<u32, Offered>,
    promised: HashMap<u32, Promised>,
    next_ticket: u32,
    /// Ends of calcs: time, run, place.
    timers: BinaryHeap<Reverse<(u64, u32, usize)>>,
    out: VecDeque<(u32, Packet)>,
    /// Runs that have ended and that [`Rank::ended`] has not told of.
    ended: VecDeque<u32>,
    counts: Counts,
    now: u64,
}

impl Rank {
    /// Rank `me` of `ranks`.
    ///
    /// # Panics
    /// If there is no such rank.
    #[must_use]
    pub fn new(me: u32, ranks: u32, limits: Limits) -> Rank {
        assert!(me < ranks, "rank {me} of {ranks}");
        Rank {
            me,
            ranks,
            limits,
            runs: HashMap::default(),
            next_run: 0,
            sequences: HashMap::default(),
            open: HashMap::default(),
            aborted: HashMap::default(),
            completions: VecDeque::new(),
            matching: Matching::default(),
            peers: HashMap::default(),
            lost: HashSet::default(),
            offered: HashMap::default(),
            promised: HashMap::default(),
            next_ticket: 0,
            timers: BinaryHeap::new(),
            out: VecDeque::new(),
            ended: VecDeque::new(),
            counts: Counts::default(),
            now: 0,
        }
    }

    /// Begins a run of `schedule` in `context`, on `memory`. The schedule may be running already. `now` is in
    /// nanoseconds, and never goes back.
    ///
    /// # Errors
    /// [`StartError`]; nothing has begun.
    pub fn start(
        &mut self,
        schedule: &Arc<Schedule>,
        context: u32,
        mut memory: Box<dyn Memory + Send>,
        now: u64,
    ) -> Result<Handle, StartError> {
        let (of, here) = ((schedule.rank(), schedule.ranks()), (self.me, self.ranks));
        if of != here {
            return Err(StartError::Rank { schedule: of, here });
        }
        for (i, need) in schedule.segments().iter().enumerate() {
            let segment = i as u16;
            let have = memory.segment_bytes(segment);
            if have < *need {
                return Err(StartError::Segment {
                    segment,
                    have,
                    need: *need,
                });
            }
        }
        memory.make_scratchpad(schedule.scratchpad());
        self.now = self.now.max(now);
        let sequence = self.sequences.entry(context).or_default();
        let (number, id) = (*sequence, self.next_run);
        *sequence += 1;
        self.next_run = self.next_run.wrapping_add(1);
        let mut needs = BTreeMap::new();
        for place in 0..schedule.operations() {
            match schedule.work(place) {
                Work::Send { to: peer, .. } | Work::Recv { from: peer, .. } => {
                    *needs.entry(peer).or_default() += 1;
                }
                _ => {}
            }
        }
        let mut ready = Vec::new();
        let run = Run {
            counters: Counters::new(Arc::clone(schedule), &mut ready),
            context,
            sequence: number,
            memory,
            state: State::Running,
            needs,
        };
        self.runs.insert(id, run);
        self.open.insert((context, number), id);
        let gone = self.runs[&id]
            .needs
            .keys()
            .copied()
            .find(|p| self.lost.contains(p));
        match (gone, self.aborted.remove(&(context, number))) {
            (Some(peer), _) => self.fail(id, Failure::PeerLost { peer }),
            (None, Some(peer)) => self.fail(id, Failure::PeerFailed { peer }),
            (None, None) if schedule.operations() == 0 => self.end(id),
            (None, None) => self.go_on(id, ready),
        }
        self.settle();
        Ok(Handle(id))
    }

    /// What became of a run; `None` after [`Rank::take`].
    #[must_use]
    pub fn state(&self, run: Handle) -> Option<State> {
        self.runs.get(&run.0).map(|r| r.state)
    }

    /// Takes a run that is over: its state and its memory. `None` while it runs.
    pub fn take(&mut self, run: Handle) -> Option<(State, Box<dyn Memory + Send>)> {
        if self.runs.get(&run.0)?.state == State::Running {
            return None;
        }
        self.runs.remove(&run.0).map(|r| (r.state, r.memory))
    }

    /// A run that has ended since the last call; each once. Those taken before they were told of are left out.
    pub fn ended(&mut self) -> Option<Handle> {
        loop {
            let id = self.ended.pop_front()?;
            if self.runs.contains_key(&id) {
                return Some(Handle(id));
            }
        }
    }

    /// Ends a run that is not over: its peers' parts of it fail.
    pub fn abandon(&mut self, run: Handle) {
        self.fail(run.0, Failure::Abandoned);
        self.settle();
    }

    /// Runs that are not over.
    #[must_use]
    pub fn running(&self) -> usize {
        self.open.len()
    }

    /// Whether a run that is not over still needs the peer.
    #[must_use]
    pub fn needs(&self, peer: u32) -> bool {
        let needs = |id: &u32| {
            self.runs
                .get(id)
                .is_some_and(|r| r.needs.contains_key(&peer))
        };
        self.open.values().any(needs)
    }

    /// The next packet to send, and its target. Never this rank.
    pub fn outgoing(&mut self) -> Option<(u32, Packet)> {
        self.out.pop_front()
    }

    /// When [`Rank::tick`] is to be called next, if at all.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }

    /// It is `now`, in nanoseconds.
    pub fn tick(&mut self, now: u64) {
        self.now = self.now.max(now);
        while let Some(Reverse((at, run, place))) = self.timers.peek().copied() {
            if at > self.now {
                break;
            }
            self.timers.pop();
            self.completions.push_back((run, place));
        }
        self.settle();
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Messages that wait for their receives, and their bytes.
    #[must_use]
    pub fn early(&self) -> (usize, u64) {
        self.matching.early()
    }

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
            .filter(|(_, r)| r.state == State::Running && r.needs.contains_key(&peer))
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

    fn peer(&mut self, rank: u32) -> &mut Peer {
        let credits = self.limits.credits;
        self.peers.entry(rank).or_insert(Peer {
            credits,
            early: 0,
            offers: 0,
            owed: 0,
        })
    }

    /// Begins operations, and whatever they make ready in turn.
    fn go_on(&mut self, id: u32, mut ready: Vec<usize>) {
        // First come, first begun: the last one of the vector is the next one.
        ready.reverse();
        while let Some(place) = ready.pop() {
            let Some(run) = self.runs.get_mut(&id) else {
                return;
            };
            if run.state != State::Running {
                return;
            }
            let mut more = Vec::new();
            run.counters.begun(place, &mut more);
            if self.begin(id, place) {
                self.count_complete(id, place, &mut more);
            }
            ready.splice(0..0, more.into_iter().rev());
        }
    }

    /// Looks at what completed operations made ready, until nothing is left.
    fn settle(&mut self) {
        while let Some((id, place)) = self.completions.pop_front() {
            let mut ready = Vec::new();
            self.count_complete(id, place, &mut ready);
            self.go_on(id, ready);
        }
    }

    fn count_complete(&mut self, id: u32, place: usize, ready: &mut Vec<usize>) {
        let Some(run) = self.runs.get_mut(&id) else {
            return;
        };
        if run.state != State::Running {
            return;
        }
        if let Work::Send { to: peer, .. } | Work::Recv { from: peer, .. } =
            run.counters.schedule().work(place)
        {
            if let Some(n) = run.needs.get_mut(&peer) {
                *n -= 1;
                if *n == 0 {
                    run.needs.remove(&peer);
                }
            }
        }
        run.counters.complete(place, ready);
        if run.counters.is_complete() {
            self.end(id);
        }
    }

    /// All operations are complete.
    fn end(&mut self, id: u32) {
        if let Some(run) = self.runs.get_mut(&id) {
            run.state = State::Done;
            self.close(id);
        }
    }

    fn fail(&mut self, id: u32, why: Failure) {
        let Some(run) = self.runs.get_mut(&id) else {
            return;
        };
        if run.state != State::Running {
            return;
        }
        run.state = State::Failed(why);
        let (context, sequence) = (run.context, run.sequence);
        // Peers of this run would wait for ever.
        let told: Vec<u32> = run
            .needs
            .keys()
            .copied()
            .filter(|p| *p != self.me && !self.lost.contains(p))
            .collect();
        for peer in told {
            self.out
                .push_back((peer, Packet::Abort { context, sequence }));
        }
        self.matching.forget_run(id);
        // What it promised or offered stays known until the peer answers, and is then thrown away.
        self.close(id);
    }

    /// A run has failed at `from`: so does this rank's part of it, now or when it begins.
    fn abort(&mut self, from: u32, context: u32, sequence: u64) -> bool {
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

    /// The run is over: messages for it that nobody will receive go.
    fn close(&mut self, id: u32) {
        let Some(run) = self.runs.get(&id) else {
            return;
        };
        let (context, sequence) = (run.context, run.sequence);
        self.open.remove(&(context, sequence));
        self.ended.push_back(id);
        for source in self.matching.forget_early(context, sequence) {
            self.taken(source);
        }
    }

    /// Begins one operation; true if it is complete, too.
    fn begin(&mut self, id: u32, place: usize) -> bool {
        let Some(run) = self.runs.get_mut(&id) else {
            return false;
        };
        let label = |tag| Label {
            context: run.context,
            sequence: run.sequence,
            tag,
        };
        match run.counters.schedule().work(place) {
            Work::Send { to, tag, from } => {
                let label = label(tag);
                self.send(id, place, to, label, &from)
            }
            Work::Recv { from, tag, into } => {
                let key = (from, label(tag));
                self.receive(id, place, key, &into)
            }
            Work::Local {
                op,
                element,
                target,
                operand,
            } => {
                let mut value = gather(&*run.memory, &target);
                let operand = gather(&*run.memory, &operand);
                let done = element::apply(op, element, &mut value, &operand);
                scatter(&mut *run.memory, &target, 0, &value);
                if done.is_err() {
                    self.fail(id, Failure::DivisionByZero { operation: place });
                }
                done.is_ok()
            }
            Work::Copy { into, from } => {
                let value = gather(&*run.memory, &from);
                scatter(&mut *run.memory, &into, 0, &value);
                true
            }
            Work::Timestamp { into } => {
                run.memory.write(&into, &self.now.to_le_bytes());
                true
            }
            Work::Calc { nanoseconds } => {
                if nanoseconds != 0 {
                    self.timers
                        .push(Reverse((self.now.saturating_add(nanoseconds), id, place)));
                }
                nanoseconds == 0
            }
        }
    }

    fn send(&mut self, id: u32, place: usize, to: u32, label: Label, from: &[Buffer]) -> bool {
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

    fn ticket(&mut self) -> u32 {
        loop {
            let ticket = self.next_ticket;
            self.next_ticket = ticket.wrapping_add(1);
            if !self.offered.contains_key(&ticket) && !self.promised.contains_key(&ticket) {
                return ticket;
            }
        }
    }

    fn receive(&mut self, id: u32, place: usize, key: Key, into: &[Buffer]) -> bool {
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
    fn message(&mut self, from: u32, label: Label, payload: Vec<u8>) {
        let key = (from, label);
        match self.matching.arrive(&key) {
            Some(posted) => self.arrived(from, posted, &payload),
            None => self.matching.keep(key, Early::Whole(payload)),
        }
    }

    /// The pieces of a receive.
    fn pieces(&self, posted: Posted) -> Vec<Buffer> {
        match self
            .runs
            .get(&posted.run)
            .map(|r| r.counters.schedule().work(posted.place))
        {
            Some(Work::Recv { into, .. }) => into,
            _ => Vec::new(),
        }
    }

    fn arrived(&mut self, from: u32, posted: Posted, payload: &[u8]) {
        let into = self.pieces(posted);
        if self.deliver(posted.run, from, &into, payload) {
            self.completions.push_back((posted.run, posted.place));
        }
    }

    /// Copies a whole message to its receive; false if it does not fit.
    fn deliver(&mut self, id: u32, from: u32, into: &[Buffer], payload: &[u8]) -> bool {
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
    fn taken(&mut self, from: u32) {
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
    fn may_match(&self, label: &Label) -> bool {
        let begun = self.sequences.get(&label.context).copied().unwrap_or(0);
        label.sequence >= begun || self.open.contains_key(&(label.context, label.sequence))
    }

    fn eager(&mut self, from: u32, label: Label, payload: Vec<u8>) -> bool {
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

    fn offer(&mut self, from: u32, label: Label, bytes: u64, ticket: u32) -> bool {
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
    fn answer(&mut self, from: u32, posted: Posted, into: &[Buffer], bytes: u64, ticket: u32) {
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

    fn accept(&mut self, from: u32, ticket: u32, promise: u32) -> bool {
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

    fn refuse(&mut self, from: u32, ticket: u32) -> bool {
        let Some(offered) = self.offered.get(&ticket).filter(|o| o.to == from).copied() else {
            return false;
        };
        self.offered.remove(&ticket);
        self.fail(offered.run, Failure::Refused { by: from });
        true
    }

    fn data(&mut self, from: u32, promise: u32, offset: u64, payload: &[u8]) -> bool {
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

    /// Whether a posted receive of the run waits for `source`; for tests and for words about who waits where.
    #[must_use]
    pub fn waits_for(&self, run: Handle, source: u32) -> bool {
        self.matching.waits_for(run.0, source)
    }
}
