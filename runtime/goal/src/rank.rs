//! One rank: its runs, and the protocol with its peers. A state machine without clock, thread or link.
//!
//! **Data in**: schedules to run, packets from peers (in order from each one, none lost or twice), the time. **Data
//! out**: packets for peers, bytes in the runs' memory, each run's end.
//!
//! # The protocol
//! A message up to [`Limits::eager`] bytes goes at once ([`Packet::Eager`]); the send is complete when it is copied.
//! A longer one is offered, and goes once a receive has matched the offer, in parts, as fast as the link takes them
//! ([`Rank::stream`]). The header suffices for matching, so that a
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
//! # A peer that leaves
//! does so after the last run that it has a part in, which may be before others begin theirs. What it has sent stands, and
//! a receive finds it; a receive that finds nothing, and a send to the peer, fail when they begin ([`Rank::leave`]).
//!
//! # Order of runs
//! Ranks begin the runs of one context in the same order (as MPI demands of collectives); the n-th run here talks to the
//! n-th run there. So runs of one schedule may overlap each other in time.

use crate::map::{HashMap, HashSet};
use crate::matching::Matching;
use crate::memory::Memory;
use crate::packet::Packet;
use crate::run::Counters;
use core::cmp::Reverse;
use core::fmt;
use std::collections::{BinaryHeap, VecDeque};

mod protocol;
mod runs;
mod slab;

pub use protocol::Write;
pub(crate) use slab::RunId;
use slab::Slab;

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
pub struct Handle(RunId);

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
    /// A peer is in another collective, or has other arguments.
    Differs {
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
            Failure::Differs { peer } => write!(
                f,
                "rank {peer}: another collective or other arguments: the same on all ranks are accepted"
            ),
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

/// Something that happened to an operation of a traced run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The operation's place in traversal order.
    pub place: usize,
    /// It was complete; else it had begun.
    pub complete: bool,
    /// When, as far as the rank was told the time.
    pub at: u64,
}

struct Run {
    counters: Counters,
    context: u32,
    sequence: u64,
    memory: Box<dyn Memory + Send>,
    state: State,
    /// Sends and receives that have not completed, for each of the schedule's peers: what a lost peer ends.
    needs: Vec<u32>,
    /// In order; `None` where the run is not traced.
    events: Option<Vec<Event>>,
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
    run: RunId,
    place: usize,
}

/// A message that a peer was asked for.
#[derive(Clone, Copy, Debug)]
struct Promised {
    from: u32,
    run: RunId,
    place: usize,
    bytes: u64,
    /// Bytes that are here.
    have: u64,
}

/// An accepted message on its way.
#[derive(Clone, Copy, Debug)]
struct Stream {
    to: u32,
    promise: u32,
    run: RunId,
    place: usize,
    bytes: u64,
    /// Bytes that have left.
    sent: u64,
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
    runs: Slab<Run>,
    /// Runs begun so far, by context.
    sequences: HashMap<u32, u64>,
    /// Runs that are not over, by context and sequence.
    open: HashMap<(u32, u64), RunId>,
    /// Runs that have not begun here and failed at a peer: the peer.
    aborted: HashMap<(u32, u64), u32>,
    /// Operations that were completed by an arrival or a timer, and whose dependents were not looked at. A queue, not
    /// calls within calls: a chain of messages of a rank to itself may be long.
    completions: VecDeque<(RunId, usize)>,
    matching: Matching,
    /// Of ranks below [`NEAR`], as far as they are known; and of others.
    near: Vec<Peer>,
    far: HashMap<u32, Peer>,
    lost: HashSet<u32>,
    /// Peers that send and take nothing more. What they sent before stands: a run that begins later may live of it.
    left: HashSet<u32>,
    offered: HashMap<u32, Offered>,
    promised: HashMap<u32, Promised>,
    next_ticket: u32,
    /// Ends of calcs: time, run, place.
    timers: BinaryHeap<Reverse<(u64, RunId, usize)>>,
    out: VecDeque<(u32, Packet)>,
    streams: VecDeque<Stream>,
    /// Runs that have ended and that [`Rank::ended`] has not told of.
    ended: VecDeque<RunId>,
    counts: Counts,
    now: u64,
    /// Runs that begin now are traced.
    traced: bool,
    /// Memory of runs that are over, for others.
    spare: Vec<(Vec<u32>, Vec<u32>)>,
    /// Operations that may begin, empty between two calls.
    ready: Vec<usize>,
}

/// Peers that are found by their number at once.
const NEAR: usize = 1024;
/// Runs whose memory is kept.
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
            streams: VecDeque::new(),
            ended: VecDeque::new(),
            counts: Counts::default(),
            now: 0,
            traced: false,
            spare: Vec::new(),
            ready: Vec::new(),
        }
    }

    /// Whether the runs that begin from now on keep what happens to their operations, for [`Rank::events`].
    pub fn trace(&mut self, on: bool) {
        self.traced = on;
    }

    /// What has happened to the operations of a traced run so far, in order.
    #[must_use]
    pub fn events(&self, run: Handle) -> &[Event] {
        self.runs
            .get(run.0)
            .and_then(|r| r.events.as_deref())
            .unwrap_or(&[])
    }

    /// What became of a run; `None` after [`Rank::take`].
    #[must_use]
    pub fn state(&self, run: Handle) -> Option<State> {
        self.runs.get(run.0).map(|r| r.state)
    }

    /// Takes a run that is over: its state and its memory. `None` while it runs.
    pub fn take(&mut self, run: Handle) -> Option<(State, Box<dyn Memory + Send>)> {
        if self.runs.get(run.0)?.state == State::Running {
            return None;
        }
        let run = self.runs.remove(run.0)?;
        if self.spare.len() < SPARE {
            self.spare.push((run.counters.into_memory(), run.needs));
        }
        Some((run.state, run.memory))
    }

    /// A run that has ended since the last call; each once. Those taken before they were told of are left out.
    #[inline]
    pub fn ended(&mut self) -> Option<Handle> {
        loop {
            let id = self.ended.pop_front()?;
            if self.runs.get(id).is_some() {
                return Some(Handle(id));
            }
        }
    }

    /// Runs that are not over.
    #[must_use]
    pub fn running(&self) -> usize {
        self.open.len()
    }

    /// Whether a run that is not over still needs the peer.
    #[must_use]
    pub fn needs(&self, peer: u32) -> bool {
        let needs = |id: &RunId| self.runs.get(*id).is_some_and(|r| r.needs(peer));
        self.open.values().any(needs)
    }

    /// The next packet to send, and its target. Never this rank. Parts of long messages go by [`Rank::stream`].
    #[inline]
    pub fn outgoing(&mut self) -> Option<(u32, Packet)> {
        self.out.pop_front()
    }

    /// When [`Rank::tick`] is to be called next, if at all.
    #[must_use]
    #[inline]
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
}
