//! Schedules in the form that the engine `kernel` runs: the program at the traffic control hook
//! (`runtime/goal-kernel/bpf/engine.bpf.c`), which the kernel calls for each packet that arrives.
//!
//! **Data in**: the schedules of all ranks of a collective. **Data out**: an [`Image`], which the rank's process copies
//! into memory that it shares with that program, or why the engine [declines](Declined) the collective.
//!
//! All ranks of a collective must take the same engine, because messages of two engines do not meet. So the decision
//! depends on nothing that only one rank knows: [`place`] looks at every rank's schedule.
//!
//! A run's [arena](crate::arena) stays until every peer is done with the run, so that a peer can ask again for a
//! message. A message that the schedule changes after the send has a copy there.

pub mod member;
mod shared;

use crate::arena::{Arena, Placed};
use crate::element::{Arithmetic, Type};
use crate::graph::{After, Work};
use crate::memory::Buffer;
use crate::schedule::Schedule;
use core::fmt;
pub use shared::*;
use std::collections::BTreeMap;

/// Why the engine does not run a collective.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Declined {
    /// Too many ranks.
    Ranks(u32),
    /// Too many operations, or too many that wait for one.
    Operations(usize),
    /// A message, vector or copy that is too long.
    Length(u64),
    /// Too long a vector of floating point numbers.
    Floats(u64),
    /// Too much memory.
    Memory(u64),
    /// Arithmetic that a program in the kernel does not have.
    Arithmetic(Arithmetic, Type),
    /// Something that only schedules of users have.
    Form(&'static str),
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Declined::Ranks(n) => write!(f, "job of {n} ranks: too many (expected up to {RANKS})"),
            Declined::Operations(n) => write!(
                f,
                "{n} operations: too many (expected up to {OPS}, with up to {DEPENDENTS} that wait for one)"
            ),
            Declined::Length(n) => write!(f, "{n} bytes: too long (expected up to {LONG})"),
            Declined::Floats(n) => {
                write!(f, "{n} floating-point numbers: too many (expected up to {FLOATS})")
            }
            Declined::Memory(n) => write!(f, "{n} bytes of memory: too much (expected up to {ARENA})"),
            Declined::Arithmetic(op, element) => write!(
                f,
                "{op} of {element}: not in the kernel (expected operations without division)"
            ),
            Declined::Form(what) => write!(f, "{what}: not supported"),
        }
    }
}

impl std::error::Error for Declined {}

/// One rank's schedule, as the program in the kernel runs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    head: Vec<u8>,
    segments: Vec<Placed>,
    /// Part of the arena that has to be zero before the run.
    zero: (u64, u64),
    sent: u64,
    /// Peer and place of each receive.
    receives: Vec<(u32, usize)>,
}

impl Image {
    /// The bytes that belong at [`run::IMAGE`].
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// The user's segments.
    #[must_use]
    pub fn segments(&self) -> &[Placed] {
        &self.segments
    }

    /// Offset and length of the part of the arena that has to be zero.
    #[must_use]
    pub fn zero(&self) -> (u64, u64) {
        self.zero
    }

    /// The ranks that get messages, one bit each.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Peer and place of each receive.
    #[must_use]
    pub fn receives(&self) -> &[(u32, usize)] {
        &self.receives
    }
}

/// The image of the schedule of rank `me`, if the engine takes `all` schedules, those of all ranks or of a group's.
///
/// # Errors
/// [`Declined`], the same on every rank.
pub fn place(all: &[Schedule], me: u32) -> Result<Image, Declined> {
    let ranks = all.first().map_or(0, Schedule::ranks);
    if ranks > RANKS {
        return Err(Declined::Ranks(ranks));
    }
    let mut mine = None;
    let mut sends = BTreeMap::new();
    let mut receives = BTreeMap::new();
    for schedule in all {
        let rank = schedule.rank();
        let image = Placing::new(schedule).image()?;
        for place in 0..schedule.operations() {
            let (messages, key, bytes) = match schedule.work(place) {
                Work::Send { to, tag, from } => (&mut sends, (rank, *to, *tag), length(from)),
                Work::Recv { from, tag, into } => {
                    (&mut receives, (*from, rank, *tag), length(into))
                }
                _ => continue,
            };
            if messages.insert(key, bytes).is_some() {
                return Err(Declined::Form("two messages with one tag"));
            }
        }
        if rank == me {
            mine = Some(image);
        }
    }
    if sends != receives {
        return Err(Declined::Form(
            "a receive of another length than its message",
        ));
    }
    mine.ok_or(Declined::Ranks(ranks))
}

/// The image of a schedule whose messages are known to have receives of their length at the peers, each with a tag of
/// its own.
///
/// # Errors
/// [`Declined`].
pub fn place_own(own: &Schedule) -> Result<Image, Declined> {
    if own.ranks() > RANKS {
        return Err(Declined::Ranks(own.ranks()));
    }
    Placing::new(own).image()
}

fn length(pieces: &[Buffer]) -> u64 {
    pieces.iter().map(|p| p.bytes).sum()
}

/// The image under construction.
struct Placing<'s> {
    schedule: &'s Schedule,
    arena: Arena,
}

impl<'s> Placing<'s> {
    fn new(schedule: &'s Schedule) -> Placing<'s> {
        Placing {
            schedule,
            arena: Arena::of(schedule),
        }
    }

    /// Offset in the arena, and length, of the one piece of an operation.
    fn piece(&self, pieces: &[Buffer]) -> Result<(u64, u64), Declined> {
        let piece = match pieces {
            [] => return Ok((0, 0)),
            [piece] if piece.bytes == 0 => return Ok((0, 0)),
            [piece] => piece,
            _ => return Err(Declined::Form("a message in several pieces")),
        };
        if piece.bytes > LONG {
            return Err(Declined::Length(piece.bytes));
        }
        let without = Declined::Form("a message without memory");
        let offset = self.arena.offset(piece).ok_or(without)?;
        Ok((offset, piece.bytes))
    }

    fn image(mut self) -> Result<Image, Declined> {
        let n = self.schedule.operations();
        if n > OPS {
            return Err(Declined::Operations(n));
        }
        if self.arena.used() > ARENA {
            return Err(Declined::Memory(self.arena.used()));
        }
        let mut ops = Vec::new();
        let mut lists = [[0u16; RANKS as usize]; 2];
        let (mut sent, mut receives) = (0u64, Vec::new());
        for place in 0..n {
            let mut op = self.operation(place)?;
            if let Work::Send { to: peer, .. } | Work::Recv { from: peer, .. } =
                self.schedule.work(place)
            {
                let is_send = matches!(self.schedule.work(place), Work::Send { .. });
                if is_send {
                    sent |= 1 << peer;
                } else {
                    receives.push((*peer, place));
                }
                let first = &mut lists[usize::from(is_send)][*peer as usize];
                op.next = *first;
                *first = place as u16 + 1;
            }
            ops.push(op);
        }
        if self.arena.used() > ARENA {
            return Err(Declined::Memory(self.arena.used()));
        }
        let mut ready: Vec<u8> = (0..n)
            .rev()
            .filter(|p| self.schedule.step(*p).dependences == 0)
            .map(|p| p as u8)
            .collect();
        let mut head = Vec::new();
        head.extend(sent.to_le_bytes());
        for word in [n as u32, ready.len() as u32, n as u32, 0] {
            head.extend(word.to_le_bytes());
        }
        ready.resize(OPS, 0);
        head.extend(ready);
        head.extend(lists.iter().flatten().flat_map(|l| l.to_le_bytes()));
        debug_assert_eq!(head.len(), run::OPS - run::IMAGE);
        for op in &ops {
            op.encode(&mut head);
        }
        Ok(Image {
            head,
            segments: self.arena.segments,
            zero: self.arena.zero,
            sent,
            receives,
        })
    }

    /// Whether the bytes that the send at `place` reads stay as they are from then on: every operation that writes
    /// there is complete before the send begins.
    fn stays(&self, place: usize, (at, bytes): (u64, u64)) -> bool {
        let n = self.schedule.operations();
        let mut before = vec![false; n];
        let mut todo = vec![place];
        while let Some(later) = todo.pop() {
            for (earlier, is_before) in before.iter_mut().enumerate() {
                let waits = |(d, _): &(u32, After)| *d as usize == later;
                if !*is_before && self.schedule.dependents(earlier).iter().any(waits) {
                    *is_before = true;
                    todo.push(earlier);
                }
            }
        }
        let writes = |other: usize| {
            self.schedule.work(other).writes().iter().any(|piece| {
                let start = self.arena.offset(piece).unwrap_or(u64::MAX);
                piece.bytes > 0 && start < at + bytes && at < start.saturating_add(piece.bytes)
            })
        };
        (0..n).all(|other| before[other] || !writes(other))
    }

    fn operation(&mut self, place: usize) -> Result<Op, Declined> {
        let step = self.schedule.step(place);
        let dependents = self.schedule.dependents(place);
        if dependents.iter().any(|(_, after)| *after == After::Begun) {
            return Err(Declined::Form("an operation that waits for a beginning"));
        }
        if dependents.len() > DEPENDENTS || step.dependences > 255 {
            return Err(Declined::Operations(
                dependents.len().max(step.dependences as usize),
            ));
        }
        let mut op = Op {
            missing: step.dependences as u8,
            dependents: dependents.iter().map(|(later, _)| *later as u8).collect(),
            ..Op::default()
        };
        let apart =
            |a: (u64, u64), b: (u64, u64)| a.0 == b.0 || a.0 + a.1 <= b.0 || b.0 + b.1 <= a.0;
        match &step.work {
            Work::Send { to, tag, from }
            | Work::Recv {
                from: to,
                tag,
                into: from,
            } => {
                if *to == self.schedule.rank() {
                    return Err(Declined::Form("a message of a rank to itself"));
                }
                let (at, bytes) = self.piece(from)?;
                let is_send = matches!(step.work, Work::Send { .. });
                op.kind = if is_send { 1 } else { 2 };
                (op.peer, op.tag) = (*to as u16, *tag);
                op.operand = match is_send {
                    false => 0,
                    // A short copy costs less than to find out.
                    true if bytes > MESSAGE && self.stays(place, (at, bytes)) => at as u32,
                    true => self.arena.take(bytes) as u32,
                };
                (op.target, op.bytes) = (at as u32, bytes as u32);
            }
            Work::Local {
                op: arithmetic,
                element,
                target,
                operand,
            } => {
                let (sign, bits) = match element {
                    Type::Signed(bits) => (1, *bits),
                    Type::Unsigned(bits) => (0, *bits),
                    Type::Float | Type::Double => (2, 64),
                };
                if *arithmetic == Arithmetic::Div {
                    return Err(Declined::Arithmetic(*arithmetic, *element));
                }
                let (to, from) = (self.piece(target)?, self.piece(operand)?);
                let count = to.1 / element.bytes();
                if sign == 2 && count > FLOATS {
                    return Err(Declined::Floats(count));
                }
                if !apart(to, from) {
                    return Err(Declined::Form("operands that overlap"));
                }
                op.kind = 3;
                op.arithmetic = *arithmetic as u8;
                op.log = element.bytes().trailing_zeros() as u8;
                (op.sign, op.shift) = (sign, 64 - bits);
                (op.target, op.operand, op.bytes) = (to.0 as u32, from.0 as u32, to.1 as u32);
            }
            Work::Copy { into, from } => {
                let (to, from) = (self.piece(into)?, self.piece(from)?);
                if !apart(to, from) {
                    return Err(Declined::Form("operands that overlap"));
                }
                op.kind = 4;
                (op.target, op.operand, op.bytes) = (to.0 as u32, from.0 as u32, to.1 as u32);
            }
            Work::Timestamp { .. } | Work::Calc { .. } => {
                return Err(Declined::Form("an operation that needs the time"));
            }
        }
        Ok(op)
    }
}

/// An operation, as `struct op` of the program has it.
#[derive(Debug, Default)]
struct Op {
    kind: u8,
    arithmetic: u8,
    log: u8,
    sign: u8,
    shift: u8,
    missing: u8,
    dependents: Vec<u8>,
    tag: u32,
    peer: u16,
    next: u16,
    target: u32,
    operand: u32,
    bytes: u32,
}

impl Op {
    fn encode(&self, into: &mut Vec<u8>) {
        let start = into.len();
        let n = self.dependents.len() as u8;
        into.extend([self.kind, self.arithmetic, self.log, self.sign]);
        into.extend([self.shift, 0, self.missing, n]);
        into.extend(&self.dependents);
        into.resize(start + 8 + DEPENDENTS, 0);
        into.extend(self.tag.to_le_bytes());
        into.extend(self.peer.to_le_bytes());
        into.extend(self.next.to_le_bytes());
        for word in [self.target, self.operand, self.bytes, 0, 0, 0] {
            into.extend(word.to_le_bytes());
        }
        debug_assert_eq!(into.len(), start + run::OP_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::{self, Vector};
    use crate::graph::Graph;
    use crate::series;

    fn all(ranks: u32, graph: impl Fn(u32) -> Graph) -> Vec<Schedule> {
        (0..ranks).map(|r| graph(r).compile().unwrap()).collect()
    }

    fn vector(element: Type, count: u64) -> Vector {
        Vector {
            op: Arithmetic::Add,
            element,
            count,
        }
    }

    /// The program's numbers are written in C. Both must be the same.
    #[test]
    fn the_numbers_are_those_of_the_program() {
        let program = include_str!("../../goal-kernel/bpf/engine.bpf.c");
        let number = |name: &str| -> u64 {
            let line = program
                .lines()
                .find_map(|l| l.strip_prefix(&format!("#define {name} ")))
                .unwrap_or_else(|| panic!("{name}"));
            let word = line.split_whitespace().next().unwrap();
            match word.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).unwrap(),
                None => word.parse().unwrap(),
            }
        };
        for (name, here) in [
            ("GOAL_ETHERTYPE", u64::from(ETHERTYPE)),
            ("GOAL_MAGIC", u64::from(MAGIC)),
            ("GOAL_VERSION", u64::from(VERSION)),
            ("GOAL_RANKS", u64::from(RANKS)),
            ("GOAL_RUNS", RUNS),
            ("GOAL_GROUPS", series::GROUPS.into()),
            ("GOAL_GROUP_RUNS", series::GROUP_RUNS),
            ("GOAL_SERIES", series::SHIFT.into()),
            ("GOAL_SLOTS", series::slots(RUNS)),
            ("GOAL_OPS", OPS as u64),
            ("GOAL_DEPENDENTS", DEPENDENTS as u64),
            ("GOAL_MESSAGE", MESSAGE),
            ("GOAL_PART", PART),
            ("GOAL_LONG", LONG),
            ("GOAL_FLOATS", FLOATS),
            ("GOAL_WINDOW", WINDOW.into()),
            ("GOAL_ARENA", ARENA),
            ("GOAL_EARLY", EARLY as u64),
            ("HEAD_BYTES", HEAD_BYTES as u64),
            ("FREE", run::FREE.into()),
            ("DONE", run::DONE.into()),
            ("COLLECTED", run::COLLECTED.into()),
            ("COMPLETE", run::OP_COMPLETE.into()),
            ("KICK_DONE", Kick::DONE.into()),
            ("KICK_BUSY", Kick::BUSY.into()),
        ] {
            assert_eq!(number(name), here, "{name}");
        }
        // The offsets, as the program's own assertions have them.
        for text in [
            format!("sizeof(struct job) == {},", member::BYTES),
            format!("offsetof(struct state, peer_done) == {},", state::PEERS),
            format!("offsetof(struct state, count) == {},", state::COUNTERS),
            format!("sizeof(struct state) == {},", state::BYTES),
            format!("offsetof(struct run, sent) == {},", run::IMAGE),
            format!("offsetof(struct run, recvs) == {},", run::RECVS),
            format!("offsetof(struct run, op) == {},", run::OPS),
            format!("offsetof(struct run, arena) == {},", run::ARENA),
            format!("sizeof(struct run) == {},", run::BYTES),
            format!("sizeof(struct op) == {},", run::OP_BYTES),
        ] {
            assert!(program.contains(&text), "{text}");
        }
        let counted: Vec<String> = program
            .lines()
            .filter_map(|l| l.trim_start().strip_prefix("COUNT_"))
            .map(|l| l.split(',').next().unwrap().to_ascii_lowercase())
            .collect();
        assert_eq!(counted, COUNTERS);
    }

    #[test]
    fn short_collectives_are_placed_on_every_rank() {
        let types = [Type::Signed(64), Type::Float, Type::Double];
        for (ranks, element) in [2, 3, 4, 7, 16, 64]
            .into_iter()
            .zip(types.into_iter().cycle())
        {
            let v = vector(element, 1);
            let jobs = [
                all(ranks, |r| collectives::barrier(r, ranks).unwrap()),
                all(ranks, |r| collectives::allreduce(r, ranks, v).unwrap()),
                all(ranks, |r| collectives::alltoall(r, ranks, 8).unwrap()),
                all(ranks, |r| collectives::allgather(r, ranks, 8).unwrap()),
                all(ranks, |r| {
                    collectives::broadcast(r, ranks, 1 % ranks, 8).unwrap()
                }),
                all(ranks, |r| collectives::reduce(r, ranks, 1, v).unwrap()),
                all(ranks, |r| collectives::scan(r, ranks, v).unwrap()),
                all(ranks, |r| collectives::exclusive_scan(r, ranks, v).unwrap()),
                all(ranks, |r| {
                    collectives::reduce_scatter_block(r, ranks, v).unwrap()
                }),
            ];
            for (i, schedules) in jobs.iter().enumerate() {
                for me in 0..ranks {
                    let image = place(schedules, me);
                    assert!(image.is_ok(), "{i} rank {me} of {ranks}: {:?}", image.err());
                }
            }
        }
    }

    /// Otherwise one rank would wait in the kernel for a message that another one sends by the other engine.
    #[test]
    fn what_is_declined_is_declined_on_every_rank_for_the_same_reason() {
        let long = all(6, |r| collectives::allgather(r, 6, 30_000).unwrap());
        let floats = all(6, |r| {
            collectives::allreduce(r, 6, vector(Type::Double, 6 * 257)).unwrap()
        });
        let quotient = all(6, |r| {
            let mut v = vector(Type::Double, 1);
            v.op = Arithmetic::Div;
            collectives::allreduce(r, 6, v).unwrap()
        });
        let odd = all(6, |r| collectives::alltoall_bruck(r, 6, 8).unwrap());
        let many = all(65, |r| collectives::barrier(r, 65).unwrap());
        for (schedules, why) in [
            (long, "bytes: too long (expected up to 65536)"),
            (
                floats,
                "1542 floating-point numbers: too many (expected up to 256)",
            ),
            (quotient, "div of f64"),
            (odd, "several pieces"),
            (many, "65 ranks"),
        ] {
            let first = place(&schedules, 0).unwrap_err();
            assert!(first.to_string().contains(why), "{first}");
            for me in 1..schedules.len() as u32 {
                assert_eq!(place(&schedules, me), Err(first.clone()));
            }
        }
    }

    #[test]
    fn segments_go_in_and_out_as_far_as_the_schedule_uses_them() {
        let v = vector(Type::Signed(32), 3);
        let schedules = all(4, |r| collectives::allreduce(r, 4, v).unwrap());
        let image = place(&schedules, 2).unwrap();
        let way: Vec<(bool, bool)> = image
            .segments()
            .iter()
            .map(|s| (s.goes_in, s.comes_out))
            .collect();
        assert_eq!(way, [(true, false), (false, true)]);
        assert_eq!(image.zero().1, 0);
        assert_eq!(image.sent(), 0b1001);
        let peers: Vec<u32> = image.receives().iter().map(|r| r.0).collect();
        assert_eq!(peers, [3, 0]);
    }
}
