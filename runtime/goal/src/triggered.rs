//! Schedules in the form that the engine `nic` runs: triggered operations of a network adapter, as in Portals 4 (Sandia
//! report SAND2012-10087, section 3.14). Each operation waits for a counter, and the end of an operation, or the
//! arrival of a message, moves counters.
//!
//! **Data in**: the schedules of all ranks of a collective. **Data out**: a [`Program`], whose [steps](Step) become
//! descriptors of a queue pair when a run begins; or why the engine [declines](Declined) the collective.
//!
//! All ranks of a collective must take the same engine, because messages of two engines do not meet. So the decision
//! depends on nothing that only one rank knows: [`place`] looks at every rank's schedule.
//!
//! # How a schedule becomes steps
//! Every operation has two counters: one that says when it may begin, and one that says when it is complete. Counter 0
//! of a run says that the run has ended.
//!
//! * A *send* writes into the receiver's [arena](crate::arena) and then moves a counter there. No queue of messages
//!   is needed: the sender knows where the receive has its place, because it knows the receiver's schedule.
//! * A *receive* that waits for nothing gets its message where it wants it. Any other one has a place apart, where the
//!   message may come early, and copies it from there.
//! * What an operation completes, it counts: directly, where one operation waits for it; by steps of their own, where
//!   several do.
//!
//! In an exchange with neighbours a rank does not know its peers' schedules. There each rank has a *box* for each
//! sender, in which messages lie in the order of their tags, and one counter for the messages of each sender.

mod compiler;

use crate::arena::{Arena, Placed};
use crate::element::{Arithmetic, Type};
use crate::graph::{After, Work};
use crate::memory::{Buffer, Space};
use crate::schedule::Schedule;
use compiler::Compiler;
use core::fmt;
use std::collections::BTreeMap;

/// The most ranks.
pub const RANKS: u32 = 64;
/// How many runs of all ranks a rank keeps at once ([`series`](crate::series)).
pub const RUNS: u64 = 8;
/// The most operations of a schedule.
pub const OPS: usize = 512;
/// The most steps of a program.
pub const STEPS: usize = 2048;
/// Counters of a run.
pub const COUNTERS: usize = 1 + 2 * OPS;
/// Bytes of an arena.
pub const ARENA: u64 = 4 << 20;
/// The counter that says that a run has ended.
pub const ENDED: u32 = 0;
/// The longest block of an exchange with neighbours, bytes: half of an arena is for boxes, and such blocks of a rank
/// with [`NEIGHBOURS`] neighbours fit into the other half.
pub const NEIGHBOUR: u64 = 2048;
/// The most neighbours of a rank. Counters above those of this many operations are for senders.
pub const NEIGHBOURS: usize = 256;
/// Offset of the boxes.
const BOXES: u64 = ARENA / 2;
const _: () = assert!(NEIGHBOUR * (NEIGHBOURS as u64 + 1) <= BOXES);
const _: () = assert!(1 + 2 * NEIGHBOURS + RANKS as usize <= COUNTERS);

/// What the adapter does. Offsets are in arenas, counters are those of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Holds the next `span` steps back until the run has moved a counter `count` times.
    Wait {
        /// The counter, of this rank.
        counter: u32,
        /// How often.
        count: u64,
        /// How many steps.
        span: u32,
    },
    /// Writes to the arena of a rank, which may be this one.
    Put {
        /// Whose arena.
        peer: u32,
        /// Offset there.
        to: u64,
        /// Offset in this rank's arena.
        from: u64,
        /// How many bytes.
        bytes: u32,
    },
    /// Later steps for the peer take effect after earlier ones.
    Fence {
        /// The peer.
        peer: u32,
    },
    /// Moves a counter of a rank, which may be this one.
    Count {
        /// Whose counter.
        peer: u32,
        /// Which one.
        counter: u32,
    },
    /// `target = target OP operand` in this rank's arena.
    Compute {
        /// The operation.
        op: Arithmetic,
        /// The elements' type.
        element: Type,
        /// Offset, read and written.
        target: u64,
        /// Offset, read.
        operand: u64,
        /// Bytes of each.
        bytes: u32,
    },
}

/// One descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub action: Action,
    /// The counter of this rank that moves when it is done.
    pub then: Option<u32>,
}

/// Why the engine does not run a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Declined {
    /// Too many ranks.
    Ranks(u32),
    /// Too many operations.
    Operations(usize),
    /// Too many steps.
    Steps(usize),
    /// Too much memory.
    Memory(u64),
    /// Arithmetic that can fail.
    Division(Type),
    /// Something that only schedules of users have.
    Form(&'static str),
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Declined::Ranks(n) => write!(f, "job of {n} ranks: too many (expected up to {RANKS})"),
            Declined::Operations(n) => write!(f, "{n} operations: too many (expected up to {OPS})"),
            Declined::Steps(n) => write!(f, "{n} descriptors: too many (expected up to {STEPS})"),
            Declined::Memory(n) => {
                write!(f, "{n} bytes of memory: too much (expected up to {ARENA})")
            }
            Declined::Division(element) => {
                write!(f, "division of {element}: not possible (expected floats)")
            }
            Declined::Form(what) => write!(f, "{what}: not supported"),
        }
    }
}

impl std::error::Error for Declined {}

/// One rank's schedule as triggered operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    steps: Vec<Step>,
    moves: Vec<u64>,
    segments: Vec<Placed>,
    zero: (u64, u64),
    memory: u64,
    sent: u64,
    received: u64,
}

impl Program {
    /// What has to be posted, in this order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// By counter: how often one run moves it. All other counters of a run stay as they are.
    #[must_use]
    pub fn moves(&self) -> &[u64] {
        &self.moves
    }

    /// The user's segments.
    #[must_use]
    pub fn segments(&self) -> &[Placed] {
        &self.segments
    }

    /// Offset and length of the part of the arena that has to be zero before the run.
    #[must_use]
    pub fn zero(&self) -> (u64, u64) {
        self.zero
    }

    /// How many bytes of the arena the run uses.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The ranks that get messages, one bit each.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The ranks that send messages to this one, one bit each.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }
}

/// The program of rank `me`, if the engine takes `all` schedules, those of all ranks or of a group's.
///
/// # Errors
/// [`Declined`], the same on every rank.
pub fn place(all: &[Schedule], me: u32) -> Result<Program, Declined> {
    let ranks = all.first().map_or(0, Schedule::ranks);
    if ranks > RANKS {
        return Err(Declined::Ranks(ranks));
    }
    let places = all.iter().map(Layout::of).collect::<Result<Vec<_>, _>>()?;
    let doors = Doors::Known(doors(all, &places)?);
    let mut mine = None;
    // Every rank compiles every program: otherwise one rank could decline what another one takes.
    for (schedule, layout) in all.iter().zip(&places) {
        let program = Compiler::new(schedule, layout, &doors).finish()?;
        if schedule.rank() == me {
            mine = Some(program);
        }
    }
    mine.ok_or(Declined::Ranks(ranks))
}

/// How many messages of `bytes` each fit into a box, in a job of `ranks`.
#[must_use]
pub fn box_messages(ranks: u32, bytes: u64) -> u64 {
    BOXES / u64::from(ranks.max(1)) / bytes.max(1)
}

/// The program of an exchange with up to [`NEIGHBOURS`] neighbours: sends and receives that wait for nothing, of blocks
/// of one length up to [`NEIGHBOUR`]. Messages of a sender have the tags from 0, fewer than [`box_messages`].
///
/// # Errors
/// [`Declined`].
pub fn place_own(own: &Schedule) -> Result<Program, Declined> {
    if own.ranks() > RANKS {
        return Err(Declined::Ranks(own.ranks()));
    }
    let n = own.operations();
    if n > NEIGHBOURS {
        return Err(Declined::Operations(n));
    }
    let doors = Doors::Boxes(own.ranks());
    let mut arena = Arena::of(own);
    let mut apart = vec![None; n];
    for (place, apart) in apart.iter_mut().enumerate() {
        let (Work::Send { tag, from: at, .. } | Work::Recv { tag, into: at, .. }) = own.work(place)
        else {
            continue;
        };
        if own.step(place).dependences > 0 || !own.dependents(place).is_empty() {
            return Err(Declined::Form("an exchange in several steps"));
        }
        let bytes = length(at);
        if bytes > NEIGHBOUR || u64::from(*tag) >= box_messages(own.ranks(), bytes) {
            return Err(Declined::Memory(bytes.saturating_mul(u64::from(*tag) + 1)));
        }
        if let Work::Recv { from, .. } = own.work(place) {
            *apart = Some(doors.of((*from, own.rank(), *tag), bytes).at);
        }
    }
    if arena.used() > BOXES {
        return Err(Declined::Memory(arena.used()));
    }
    arena.take(ARENA - arena.used());
    Compiler::new(own, &Layout { arena, apart }, &doors).finish()
}

/// A message, by sender, receiver and tag.
type Message = (u32, u32, u32);

/// Where a message goes at its receiver.
#[derive(Clone, Copy, Debug)]
struct Door {
    /// Offset in the receiver's arena.
    at: u64,
    /// The counter that its arrival moves.
    counter: u32,
}

/// Where all messages go.
enum Doors {
    /// All schedules are known.
    Known(BTreeMap<Message, Door>),
    /// Into the sender's box at the receiver, in a job of this many ranks.
    Boxes(u32),
}

impl Doors {
    fn of(&self, message: Message, bytes: u64) -> Door {
        let (from, _, tag) = message;
        match self {
            Doors::Known(doors) => doors[&message],
            Doors::Boxes(ranks) => Door {
                at: BOXES + u64::from(from) * (BOXES / u64::from(*ranks)) + u64::from(tag) * bytes,
                counter: 1 + 2 * NEIGHBOURS as u32 + from,
            },
        }
    }
}

/// The counter that says when an operation may begin.
fn ready(place: usize) -> u32 {
    1 + 2 * place as u32
}

/// The counter that says when an operation is complete, where several wait for that.
fn complete(place: usize) -> u32 {
    2 + 2 * place as u32
}

fn length(pieces: &[Buffer]) -> u64 {
    pieces.iter().map(|p| p.bytes).sum()
}

/// Where everything of a rank's run lies.
struct Layout {
    arena: Arena,
    /// By operation: the place apart of a receive that cannot get its message where it wants it.
    apart: Vec<Option<u64>>,
}

impl Layout {
    fn of(schedule: &Schedule) -> Result<Layout, Declined> {
        let n = schedule.operations();
        if n > OPS {
            return Err(Declined::Operations(n));
        }
        let mut arena = Arena::of(schedule);
        let apart = (0..n)
            .map(|place| match schedule.work(place) {
                Work::Recv { into, .. } if !is_direct(schedule, &arena, place) => {
                    Some(arena.take(length(into)))
                }
                _ => None,
            })
            .collect();
        if arena.used() > ARENA {
            return Err(Declined::Memory(arena.used()));
        }
        Ok(Layout { arena, apart })
    }
}

/// Whether a receive's message may come to its target before the run has begun here: nothing comes before the receive,
/// and the process does not write there when it begins the run.
fn is_direct(schedule: &Schedule, arena: &Arena, place: usize) -> bool {
    let Work::Recv { into, .. } = schedule.work(place) else {
        return false;
    };
    if length(into) == 0 {
        return true;
    }
    let [piece] = into.as_slice() else {
        return false;
    };
    let is_left_alone = match piece.space {
        Space::User(n) => !arena.segments[usize::from(n)].goes_in,
        Space::Scratchpad => arena.zero.1 == 0,
        Space::Void => false,
    };
    is_left_alone && schedule.step(place).dependences == 0
}

/// The counters that the end of an operation moves.
fn targets(schedule: &Schedule, place: usize) -> Result<Vec<u32>, Declined> {
    let dependents = schedule.dependents(place);
    if dependents.iter().any(|(_, after)| *after == After::Begun) {
        return Err(Declined::Form("an operation that waits for a beginning"));
    }
    if dependents.is_empty() {
        return Ok(vec![ENDED]);
    }
    Ok(dependents
        .iter()
        .map(|(later, _)| ready(*later as usize))
        .collect())
}

/// The counter that the arrival of a receive's message moves. A receive that has nothing to do itself is left out: the
/// arrival then moves what waits for the receive.
fn arrival(schedule: &Schedule, layout: &Layout, place: usize) -> Result<u32, Declined> {
    let is_bare = layout.apart[place].is_none() && schedule.step(place).dependences == 0;
    match targets(schedule, place)?.as_slice() {
        [target] if is_bare => Ok(*target),
        _ => Ok(ready(place)),
    }
}

/// Where each message goes. Every message has one receive of its length.
fn doors(all: &[Schedule], places: &[Layout]) -> Result<BTreeMap<Message, Door>, Declined> {
    let mut sends = BTreeMap::new();
    let mut receives = BTreeMap::new();
    let mut doors = BTreeMap::new();
    for (schedule, layout) in all.iter().zip(places) {
        let rank = schedule.rank();
        for place in 0..schedule.operations() {
            let (messages, key, bytes) = match schedule.work(place) {
                Work::Send { to, tag, from } => (&mut sends, (rank, *to, *tag), length(from)),
                Work::Recv { from, tag, into } => {
                    let message = (*from, rank, *tag);
                    let at = match (layout.apart[place], into.iter().find(|p| p.bytes > 0)) {
                        (Some(at), _) => Some(at),
                        (None, Some(piece)) => layout.arena.offset(piece),
                        (None, None) => Some(0),
                    };
                    let at = at.ok_or(Declined::Form("a message without memory"))?;
                    let counter = arrival(schedule, layout, place)?;
                    doors.insert(message, Door { at, counter });
                    (&mut receives, message, length(into))
                }
                _ => continue,
            };
            if key.0 == key.1 {
                return Err(Declined::Form("a message of a rank to itself"));
            }
            if messages.insert(key, bytes).is_some() {
                return Err(Declined::Form("two messages with one tag"));
            }
        }
    }
    if sends != receives {
        return Err(Declined::Form(
            "a receive of another length than its message",
        ));
    }
    Ok(doors)
}
