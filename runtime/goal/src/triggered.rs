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

use crate::arena::{Arena, Placed};
use crate::element::{Arithmetic, Type};
use crate::graph::{After, Work};
use crate::memory::{Buffer, Space};
use crate::schedule::Schedule;
use core::fmt;
use std::collections::BTreeMap;

/// The most ranks.
pub const RANKS: u32 = 64;
/// How many runs a rank keeps at once. Run `n` uses arena and counters number `n % RUNS`.
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

/// The program of rank `me`, if the engine takes the schedules of all ranks, which are `all` in order.
///
/// # Errors
/// [`Declined`], the same on every rank.
pub fn place(all: &[Schedule], me: u32) -> Result<Program, Declined> {
    let ranks = all.len() as u32;
    if ranks > RANKS {
        return Err(Declined::Ranks(ranks));
    }
    let places = all.iter().map(Layout::of).collect::<Result<Vec<_>, _>>()?;
    let doors = doors(all, &places)?;
    let mut mine = None;
    // Every rank compiles every program: otherwise one rank could decline what another one takes.
    for rank in 0..ranks {
        let program =
            Compiler::new(&all[rank as usize], &places[rank as usize], &doors).finish()?;
        if rank == me {
            mine = Some(program);
        }
    }
    mine.ok_or(Declined::Ranks(ranks))
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
    for (rank, (schedule, layout)) in (0..).zip(all.iter().zip(places)) {
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

/// The program under construction.
struct Compiler<'s> {
    schedule: &'s Schedule,
    layout: &'s Layout,
    doors: &'s BTreeMap<Message, Door>,
    steps: Vec<Step>,
    moves: Vec<u64>,
    sent: u64,
    received: u64,
}

impl<'s> Compiler<'s> {
    fn new(
        schedule: &'s Schedule,
        layout: &'s Layout,
        doors: &'s BTreeMap<Message, Door>,
    ) -> Compiler<'s> {
        Compiler {
            schedule,
            layout,
            doors,
            steps: Vec::new(),
            moves: vec![0; 1 + 2 * schedule.operations()],
            sent: 0,
            received: 0,
        }
    }

    fn finish(mut self) -> Result<Program, Declined> {
        for place in 0..self.schedule.operations() {
            self.operation(place)?;
        }
        if self.steps.len() > STEPS {
            return Err(Declined::Steps(self.steps.len()));
        }
        // Only now it is known how often each counter moves.
        for step in &mut self.steps {
            if let Action::Wait { counter, count, .. } = &mut step.action {
                *count = self.moves[*counter as usize];
            }
        }
        Ok(Program {
            steps: self.steps,
            moves: self.moves,
            segments: self.layout.arena.segments.clone(),
            zero: self.layout.arena.zero,
            memory: self.layout.arena.used(),
            sent: self.sent,
            received: self.received,
        })
    }

    fn push(&mut self, action: Action, then: Option<u32>) {
        if let Some(counter) = then {
            self.moves[counter as usize] += 1;
        }
        if let Action::Count { peer, counter } = action {
            if peer == self.schedule.rank() {
                self.moves[counter as usize] += 1;
            }
        }
        self.steps.push(Step { action, then });
    }

    /// Holds back the `span` steps that come next.
    fn hold(&mut self, counter: u32, span: usize) {
        let span = span as u32;
        self.steps.push(Step {
            action: Action::Wait {
                counter,
                count: 0,
                span,
            },
            then: None,
        });
    }

    fn operation(&mut self, place: usize) -> Result<(), Declined> {
        let me = self.schedule.rank();
        let targets = targets(self.schedule, place)?;
        let mut waits = self.schedule.step(place).dependences > 0;
        if let Work::Recv { from, .. } = self.schedule.work(place) {
            self.received |= 1 << from;
            let counter = arrival(self.schedule, self.layout, place)?;
            self.moves[counter as usize] += 1;
            if counter != ready(place) {
                return Ok(());
            }
            waits = true;
        }
        let own = self.own_steps(place)?;
        if own.is_empty() {
            if waits {
                self.hold(ready(place), targets.len());
            }
            for counter in targets {
                self.push(Action::Count { peer: me, counter }, None);
            }
            return Ok(());
        }
        if waits {
            self.hold(ready(place), own.len());
        }
        let counter = match targets.as_slice() {
            [target] => *target,
            _ => complete(place),
        };
        for (action, is_last) in own {
            self.push(action, is_last.then_some(counter));
        }
        if targets.len() > 1 {
            self.hold(counter, targets.len());
            for counter in targets {
                self.push(Action::Count { peer: me, counter }, None);
            }
        }
        Ok(())
    }

    fn at(&self, piece: &Buffer) -> Result<u64, Declined> {
        let without = Declined::Form("a message without memory");
        self.layout.arena.offset(piece).ok_or(without)
    }

    /// Offset and length of each piece that has a length.
    fn pieces(&self, pieces: &[Buffer]) -> Result<Vec<(u64, u64)>, Declined> {
        let long = pieces.iter().filter(|p| p.bytes > 0);
        long.map(|p| Ok((self.at(p)?, p.bytes))).collect()
    }

    /// What the operation itself consists of. The flag says that the step's end counts as the operation's.
    fn own_steps(&mut self, place: usize) -> Result<Vec<(Action, bool)>, Declined> {
        let me = self.schedule.rank();
        let mut own = Vec::new();
        match self.schedule.work(place) {
            Work::Send { to, tag, from } => {
                self.sent |= 1 << to;
                let door = self.doors[&(me, *to, *tag)];
                let mut at = door.at;
                for (from, bytes) in self.pieces(from)? {
                    let put = Action::Put {
                        peer: *to,
                        to: at,
                        from,
                        bytes: bytes as u32,
                    };
                    own.push((put, false));
                    at += bytes;
                }
                if !own.is_empty() {
                    own.push((Action::Fence { peer: *to }, false));
                }
                let count = Action::Count {
                    peer: *to,
                    counter: door.counter,
                };
                own.push((count, false));
                // A count cannot be counted itself. This fence is done after it.
                own.push((Action::Fence { peer: *to }, true));
            }
            Work::Recv { into, .. } => {
                if let Some(mut at) = self.layout.apart[place] {
                    for (to, bytes) in self.pieces(into)? {
                        own.push((self.copy(to, at, bytes), true));
                        at += bytes;
                    }
                }
            }
            Work::Copy { into, from } => {
                for (to, from, bytes) in together(&self.pieces(into)?, &self.pieces(from)?)? {
                    own.push((self.copy(to, from, bytes), true));
                }
            }
            Work::Local {
                op,
                element,
                target,
                operand,
            } => {
                if *op == Arithmetic::Div && !matches!(element, Type::Float | Type::Double) {
                    return Err(Declined::Division(*element));
                }
                for (target, operand, bytes) in
                    together(&self.pieces(target)?, &self.pieces(operand)?)?
                {
                    if bytes % element.bytes() != 0 {
                        return Err(Declined::Form("an element in two pieces"));
                    }
                    let compute = Action::Compute {
                        op: *op,
                        element: *element,
                        target,
                        operand,
                        bytes: bytes as u32,
                    };
                    own.push((compute, true));
                }
            }
            Work::Timestamp { .. } | Work::Calc { .. } => {
                return Err(Declined::Form("an operation that needs the time"));
            }
        }
        Ok(own)
    }

    fn copy(&self, to: u64, from: u64, bytes: u64) -> Action {
        Action::Put {
            peer: self.schedule.rank(),
            to,
            from,
            // An arena is shorter than 4 GiB.
            bytes: bytes as u32,
        }
    }
}

/// Two lists of pieces with the same length in all, cut where either of them is: offset in the first, offset in the
/// second, length.
fn together(first: &[(u64, u64)], second: &[(u64, u64)]) -> Result<Vec<(u64, u64, u64)>, Declined> {
    let (mut first, mut second) = (first.to_vec(), second.to_vec());
    first.reverse();
    second.reverse();
    let mut cut = Vec::new();
    while let (Some((to, left)), Some((from, right))) = (first.pop(), second.pop()) {
        let bytes = left.min(right);
        if to != from && to < from + bytes && from < to + bytes {
            return Err(Declined::Form("operands that overlap"));
        }
        cut.push((to, from, bytes));
        if left > bytes {
            first.push((to + bytes, left - bytes));
        }
        if right > bytes {
            second.push((from + bytes, right - bytes));
        }
    }
    Ok(cut)
}
