//! One rank: its runs, and the protocol with its peers. A state machine without clock, thread or link.
//!
//! **Data in**: schedules to run; packets of peers, complete and in order for each peer; the time. **Data out**:
//! packets for peers, bytes in the memory of runs, and the result of each run.
//!
//! # The protocol
//! A message up to [`Limits::eager`] bytes is sent at once ([`Packet::Eager`]), and its send is complete when the
//! message is copied. A longer message is offered. It is sent after a receive has matched the offer, in parts, as
//! fast as the link takes them ([`Rank::stream`]). The header is enough for the matching, so that a receiver can
//! match messages for which it has no memory.
//!
//! Where the receiver can read the memory of the sender's process ([`Reach`]), it copies an offered message from there,
//! once, and says so with its acceptance. The sender may have given up its run meanwhile, and the program may have used
//! that memory again: so the receive is complete when the sender answers with an empty part, which it does while its
//! run goes on. A message of several pieces both ranks copy, if the sender has time ([`Packet::Share`]).
//!
//! # How much memory a peer can use
//! A sender may have [`Limits::credits`] eager messages under way to each peer that no receive has taken yet. Beyond
//! that it offers short messages too. When a receive takes an eager message, the receiver gives a credit back. So the
//! early messages of a peer take at most `credits * eager` bytes here, plus [`Limits::offers`] headers. A peer that
//! exceeds one of the two is *lost*: nothing that it sends is executed from then on. So a sender that has as many
//! offers without an answer holds further messages to that peer back.
//!
//! # A run that fails
//! tells the peers that it still needed ([`Packet::Abort`]). Their parts of the same run fail too, so that no peer
//! waits for ever.
//!
//! # A receive without a message
//! would wait for ever. So who waits for long calls [`Rank::ask`]: the source of a receive compares its number of
//! messages with that of the receives ([`Packet::Ask`]), and a receive for which there is none fails. Links keep the
//! order, so that messages which are under way arrive before the answer.
//!
//! # A peer that leaves
//! does so after the last run in which it takes part; other ranks may not have begun theirs. What it has sent stays
//! valid, and receives find it. A receive that finds nothing, and a send to that peer, fail when they begin
//! ([`Rank::leave`]).
//!
//! # Order of runs
//! Ranks begin the runs of one context in the same order, as MPI requires of collectives: the n-th run here belongs
//! to the n-th run there. So runs of one schedule may overlap in time.

use crate::map::{HashMap, HashSet};
use crate::matching::Matching;
use crate::memory::Memory;
use crate::packet::{Label, Packet};
use crate::run::Counters;
use core::cell::OnceCell;
use core::cmp::Reverse;
use core::fmt;
use std::collections::{BinaryHeap, VecDeque};

mod protocol;
mod runs;
mod sharing;
mod slab;

pub use protocol::Write;
pub use sharing::{Copied, Reach};
use sharing::{Help, Pull};
pub(crate) use slab::RunId;
use slab::Slab;

/// Limits of what a rank keeps for its peers. They are the same on all ranks of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest message that is sent without an offer, bytes.
    pub eager: u64,
    /// The most eager messages to a peer that no receive has taken.
    pub credits: u32,
    /// The most offers of a peer that no receive has taken.
    pub offers: u32,
    /// The longest payload of a packet of data, bytes.
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

/// The number of a run of this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(RunId);

/// Why a run failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// A message was longer than its receive.
    Truncated {
        /// The message's source.
        from: u32,
        /// The message's length.
        bytes: u64,
        /// The receive's length.
        room: u64,
    },
    /// The peer's receive was shorter than the message, so that the peer refused the message.
    Refused {
        /// The peer.
        by: u32,
    },
    /// An integer was divided by zero.
    DivisionByZero {
        /// The operation's index in traversal order.
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
    /// A peer has called another collective, or passed other arguments.
    Differs {
        /// Its rank.
        peer: u32,
    },
    /// A receive waits for a message that its source does not send in this run.
    NotSent {
        /// The source.
        from: u32,
        /// The receive's tag.
        tag: u32,
    },
    /// The run was ended here before it was done.
    Abandoned,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Truncated { from, bytes, room } => write!(
                f,
                "message of {bytes} bytes from rank {from}: up to {room} are received"
            ),
            Failure::Refused { by } => {
                write!(f, "message to rank {by}: longer than its receive, or without one")
            }
            Failure::DivisionByZero { operation } => {
                write!(f, "operation {operation} of the schedule: division by zero")
            }
            Failure::NotSent { from, tag } => write!(
                f,
                "receive from rank {from} with tag {tag}: no such message in that rank's part of this run (expected \
                 one for each receive)"
            ),
            Failure::PeerFailed { peer } => {
                write!(f, "rank {peer}: its part of the schedule failed")
            }
            Failure::PeerLost { peer } => write!(f, "rank {peer}: lost"),
            Failure::Differs { peer } => write!(
                f,
                "rank {peer}: another collective or other arguments (expected the same on all ranks)"
            ),
            Failure::Abandoned => f.write_str("ended before it was over"),
        }
    }
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The run goes on.
    Running,
    /// All operations are complete.
    Done,
    /// The run has failed, and will not complete.
    Failed(Failure),
}

/// Why a run could not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StartError {
    /// The schedule is for another rank or another number of ranks.
    Rank {
        /// The rank and the number of ranks in the schedule.
        schedule: (u32, u32),
        /// This rank and its job's number of ranks.
        here: (u32, u32),
    },
    /// A segment is shorter than the schedule needs.
    Segment {
        /// Its number.
        segment: u16,
        /// The bytes of the segment.
        have: u64,
        /// The bytes that the schedule uses.
        need: u64,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Rank { schedule, here } => write!(
                f,
                "schedule of rank {} of {} (expected one of rank {} of {})",
                schedule.0, schedule.1, here.0, here.1
            ),
            StartError::Segment {
                segment,
                have,
                need,
            } => write!(
                f,
                "segment {segment} of {have} bytes: too short (expected at least {need})"
            ),
        }
    }
}

impl std::error::Error for StartError {}

/// Counts of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages sent eagerly.
    pub eager: u64,
    /// Messages offered first.
    pub offered: u64,
    /// Messages that were read where they lie.
    pub taken: u64,
    /// Messages that came before their receive.
    pub early: u64,
    /// Packets that were malformed, or answered nothing, or broke the protocol. None of them was executed.
    pub bad_packets: u64,
    /// Packets for runs that had ended; they were dropped.
    pub late: u64,
}

/// Something that happened to an operation of a traced run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The operation's index in traversal order.
    pub place: usize,
    /// True if the operation completed; false if it began.
    pub complete: bool,
    /// When, according to the last time that the rank was told.
    pub at: u64,
}

struct Run {
    counters: Counters,
    context: u32,
    sequence: u64,
    memory: Box<dyn Memory + Send>,
    state: State,
    /// For each of the schedule's peers: sends and receives that are not complete. If that peer is lost, the run
    /// fails.
    needs: Vec<u32>,
    /// The events in order; `None` if the run is not traced.
    events: Option<Vec<Event>>,
    /// Its messages in order, for [`Rank::ask`]: peer, tag, and whether it is received. Made when it is first needed.
    labels: OnceCell<Vec<(u32, u32, bool)>>,
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

/// A message that was offered to a peer.
#[derive(Clone, Copy, Debug)]
struct Offered {
    to: u32,
    run: RunId,
    place: usize,
    bytes: u64,
}

/// A message that a peer was asked to send.
#[derive(Clone, Copy, Debug)]
struct Promised {
    from: u32,
    run: RunId,
    place: usize,
    bytes: u64,
    /// Bytes that have arrived.
    have: u64,
}

/// An accepted message that is being sent.
#[derive(Clone, Copy, Debug)]
struct Stream {
    promise: u32,
    run: RunId,
    place: usize,
    bytes: u64,
    /// Bytes that were sent.
    sent: u64,
}

#[derive(Clone, Copy, Debug)]
struct Peer {
    /// How many more eager messages may be sent to the peer.
    credits: u32,
    /// Eager messages of the peer that no receive has taken.
    early: u32,
    /// Offers of the peer that no receive has taken.
    offers: u32,
    /// Credits that were not given back yet.
    owed: u32,
    /// Offers to the peer that it has not answered.
    offered: u32,
    /// A question to the peer, which it has not answered.
    asked: Option<Label>,
}

/// One rank of a job.
#[derive(Debug)]
pub struct Rank {
    me: u32,
    ranks: u32,
    limits: Limits,
    runs: Slab<Run>,
    /// By context: how many runs have begun.
    sequences: HashMap<u32, u64>,
    /// Runs that are not done, by context and number.
    open: HashMap<(u32, u64), RunId>,
    /// Runs that have failed at a peer before they began here, with that peer.
    aborted: HashMap<(u32, u64), u32>,
    /// Operations that an arrival or a timer has completed, and whose dependents were not looked at yet. A queue
    /// instead of nested calls, because a chain of messages of a rank to itself may be long.
    completions: VecDeque<(RunId, usize)>,
    matching: Matching,
    /// The peers below [`NEAR`] that were seen so far; all other peers are in `far`.
    near: Vec<Peer>,
    far: HashMap<u32, Peer>,
    lost: HashSet<u32>,
    /// Peers that send and take nothing more. What they sent before stays valid: a run that begins later may need it.
    left: HashSet<u32>,
    offered: HashMap<u32, Offered>,
    promised: HashMap<u32, Promised>,
    next_ticket: u32,
    /// Ends of calcs: the time, the run, the operation.
    timers: BinaryHeap<Reverse<(u64, RunId, usize)>>,
    out: VecDeque<(u32, Packet)>,
    /// By peer; none is empty. A link without room then costs one look, however many messages wait for it.
    streams: HashMap<u32, VecDeque<Stream>>,
    /// By peer: sends that have begun while the peer had no room for another offer. None is empty.
    held: HashMap<u32, VecDeque<(RunId, usize)>>,
    /// Runs that have ended and were not returned by [`Rank::ended`] yet.
    ended: VecDeque<RunId>,
    counts: Counts,
    /// How often [`Rank::ask`] was called: it asks for one receive after the other.
    asks: usize,
    now: u64,
    /// Whether runs that begin now are traced.
    traced: bool,
    /// Memory of runs that are done, to be used again.
    spare: Vec<(Vec<u32>, Vec<u32>)>,
    /// Operations that may begin. Empty between two calls.
    ready: Vec<usize>,
    reach: Option<Box<dyn Reach>>,
    /// By sender: messages that this rank reads piece by piece, the first of each at this time. None is empty.
    pulls: HashMap<u32, VecDeque<Pull>>,
    /// Messages of this rank of which it may write pieces.
    helps: Vec<Help>,
}

/// Ranks below this number are found by an index, others by a hash table.
const NEAR: usize = 1024;
/// Of how many runs the memory is kept.
const SPARE: usize = 32;

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
            runs: Slab::new(),
            sequences: HashMap::default(),
            open: HashMap::default(),
            aborted: HashMap::default(),
            completions: VecDeque::new(),
            matching: Matching::default(),
            near: Vec::new(),
            far: HashMap::default(),
            lost: HashSet::default(),
            left: HashSet::default(),
            offered: HashMap::default(),
            promised: HashMap::default(),
            next_ticket: 0,
            timers: BinaryHeap::new(),
            out: VecDeque::new(),
            streams: HashMap::default(),
            held: HashMap::default(),
            ended: VecDeque::new(),
            counts: Counts::default(),
            asks: 0,
            now: 0,
            traced: false,
            spare: Vec::new(),
            ready: Vec::new(),
            reach: None,
            pulls: HashMap::default(),
            helps: Vec::new(),
        }
    }

    /// From now on offered messages are read where they lie, where that is possible.
    pub fn set_reach(&mut self, reach: Box<dyn Reach>) {
        self.reach = Some(reach);
    }

    /// Turns tracing on or off for runs that begin from now on: their events are kept for [`Rank::events`].
    pub fn trace(&mut self, on: bool) {
        self.traced = on;
    }

    /// The events of a traced run so far, in order.
    #[must_use]
    pub fn events(&self, run: Handle) -> &[Event] {
        self.runs
            .get(run.0)
            .and_then(|r| r.events.as_deref())
            .unwrap_or(&[])
    }

    /// The state of a run; `None` after [`Rank::take`].
    #[must_use]
    pub fn state(&self, run: Handle) -> Option<State> {
        self.runs.get(run.0).map(|r| r.state)
    }

    /// Removes a run that is done, and returns its state and its memory. `None` while it goes on.
    pub fn take(&mut self, run: Handle) -> Option<(State, Box<dyn Memory + Send>)> {
        if self.runs.get(run.0)?.state == State::Running || self.is_pulled(run.0) {
            return None;
        }
        let run = self.runs.remove(run.0)?;
        if self.spare.len() < SPARE {
            self.spare.push((run.counters.into_memory(), run.needs));
        }
        Some((run.state, run.memory))
    }

    /// The next run that has ended; each is returned once. Runs that were taken before are left out, and runs that have
    /// failed while a peer writes into their memory come when it no longer does.
    #[inline]
    pub fn ended(&mut self) -> Option<Handle> {
        loop {
            let over = self.ended.iter().position(|id| !self.is_pulled(*id))?;
            let id = self.ended.remove(over)?;
            if self.runs.get(id).is_some() {
                return Some(Handle(id));
            }
        }
    }

    /// How many runs are not done.
    #[must_use]
    pub fn running(&self) -> usize {
        self.open.len()
    }

    /// True if a run that is not done still needs the peer, or the peer may write into one that has failed.
    #[must_use]
    pub fn needs(&self, peer: u32) -> bool {
        let needs = |id: &RunId| self.runs.get(*id).is_some_and(|r| r.needs(peer));
        self.pulls.contains_key(&peer) || self.open.values().any(needs)
    }

    /// The next packet to send, and its target, which is never this rank. Parts of long messages go through
    /// [`Rank::stream`] instead.
    #[inline]
    pub fn outgoing(&mut self) -> Option<(u32, Packet)> {
        self.out.pop_front()
    }

    /// Bytes of messages that this rank waits for: of those that were offered or promised, and of receives that have
    /// begun. Peers may be copying them, or be about to send them.
    #[must_use]
    pub fn awaited(&self) -> u64 {
        let offered = self.offered.values().map(|o| o.bytes);
        let promised = self.promised.values().map(|p| p.bytes);
        let received = self.matching.posted().map(|(_, p)| self.room(*p));
        let all = offered.chain(promised).chain(received);
        all.fold(0, u64::saturating_add)
    }

    /// When [`Rank::tick`] has to be called next; `None` if it need not be.
    #[must_use]
    #[inline]
    pub fn deadline(&self) -> Option<u64> {
        self.timers.peek().map(|Reverse((at, ..))| *at)
    }

    /// Tells the rank the time, in nanoseconds.
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

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many messages wait for their receives, and their bytes.
    #[must_use]
    pub fn early(&self) -> (usize, u64) {
        self.matching.early()
    }
}
