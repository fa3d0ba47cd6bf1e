//! The binary schedule: a graph as one contiguous block, in traversal order (paper, figure 1).
//!
//! # The format, version 1
//! Words of 32 bits, little-endian in files; numbers of 64 bits are two words, the low one first. An *offset* is
//! counted in words from the start of the schedule.
//!
//! | words | what |
//! | --- | --- |
//! | 1 | `GOAL` in ASCII |
//! | 1 | version, 1 |
//! | 1 | length of the schedule, words |
//! | 2 | the rank it is of, ranks of the job |
//! | 1 | operations |
//! | 1 | independent operations |
//! | 1 | user segments |
//! | 2 | bytes of scratchpad |
//! | 2 for each segment | its bytes |
//! | 1 for each independent operation | its offset |
//! | then | the operations |
//!
//! An operation:
//!
//! | words | what |
//! | --- | --- |
//! | 1 | kind (bits 0 to 7), element (8 to 15), arithmetic (16 to 23), 0 |
//! | 1 | dependences: edges that lead here |
//! | 1 | dependents: edges that lead from here |
//! | 1 | its place among the operations, from 0 |
//! | 1 | pieces written or sent (bits 0 to 15), other pieces (16 to 31) |
//! | 2 | peer and tag, or the nanoseconds of a calc, else 0 |
//! | 5 for each piece | space (a segment, or all ones: scratchpad, all ones less one: void), offset, bytes |
//! | 1 for each dependent | its offset; bit 31: it waits for the beginning only |
//!
//! Kinds: 1 send, 2 receive, 3 local, 4 copy, 5 timestamp, 6 calc.
//!
//! # Validation
//! A schedule may come from a file, so [`Schedule::from_words`] trusts nothing. It checks lengths, offsets, kinds,
//! types and peers, that pieces lie inside of their memory, that the counters of dependences equal the edges, and
//! that there is no circle. An accepted schedule can be run without further checks. Two operations that write the
//! same memory at the same time are not looked for ([`crate::graph::Graph::compile`] does that): they spoil the
//! program's data and nothing else.

use crate::element::{Arithmetic, Type};
use crate::graph::{self, After, Graph, Work};
use crate::memory::{total, Buffer, Space};
use core::fmt;
use core::ops::Range;

const MAGIC: u32 = u32::from_le_bytes(*b"GOAL");
const VERSION: u32 = 1;
const HEADER: usize = 10;
const OP: usize = 7;
const PIECE: usize = 5;
const SCRATCHPAD: u32 = u32::MAX;
const VOID: u32 = u32::MAX - 1;
/// In the offset of a dependent: it waits for the beginning only.
const BEGUN: u32 = 1 << 31;
/// The most operations of a schedule.
pub(crate) const MOST_OPERATIONS: u32 = 1 << 24;
/// The most pieces of one side of an operation.
const MOST_PIECES: usize = u16::MAX as usize;

/// Why words or bytes are not a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// What is wrong.
    pub what: &'static str,
    /// Where, in words from the start.
    pub at: usize,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no GOAL schedule: {} at word {}", self.what, self.at)
    }
}

impl std::error::Error for Invalid {}

/// A validated binary schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    words: Box<[u32]>,
    /// The operations in order, decoded. A run uses nothing else.
    steps: Box<[Step]>,
    /// The dependents of all operations, one operation after the other.
    edges: Box<[(u32, After)]>,
    segments: Box<[u64]>,
    peers: Box<[u32]>,
    /// For each peer the number of sends and receives, in the order of `peers`.
    messages: Box<[u32]>,
    /// True if some operations need the time.
    timed: bool,
}

/// An operation, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// What the operation does.
    pub(crate) work: Work,
    /// How many edges lead to the operation.
    pub(crate) dependences: u32,
    /// For a send or receive: the index of its peer in [`Schedule::peers`].
    pub(crate) peer: Option<u32>,
    /// The range of its dependents in the schedule's edges.
    dependents: Range<u32>,
}

/// An operation as it lies in the words of a schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op<'s> {
    words: &'s [u32],
    at: usize,
}

fn pair(words: &[u32], at: usize) -> u64 {
    u64::from(words[at]) | u64::from(words[at + 1]) << 32
}

fn split(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

fn space(raw: u32) -> Option<Space> {
    match raw {
        SCRATCHPAD => Some(Space::Scratchpad),
        VOID => Some(Space::Void),
        n => u16::try_from(n).ok().map(Space::User),
    }
}

fn piece(words: &[u32], at: usize) -> Option<Buffer> {
    Some(Buffer {
        space: space(words[at])?,
        offset: pair(words, at + 1),
        bytes: pair(words, at + 3),
    })
}

impl<'s> Op<'s> {
    fn counts(self) -> (usize, usize, usize) {
        let pieces = self.words[self.at + 4];
        (
            (pieces & 0xffff) as usize,
            (pieces >> 16) as usize,
            self.words[self.at + 2] as usize,
        )
    }

    fn dependences(self) -> u32 {
        self.words[self.at + 1]
    }

    /// Where the offsets of its dependents lie.
    fn dependents(self) -> Range<usize> {
        let (first, second, dependents) = self.counts();
        let from = self.at + OP + PIECE * (first + second);
        from..from + dependents
    }

    /// What the operation does; `None` for words that validation refuses.
    fn work(self) -> Option<Work> {
        let (first, second, _) = self.counts();
        let list = |from: usize, n: usize| -> Option<Vec<Buffer>> {
            (0..n)
                .map(|i| piece(self.words, self.at + OP + PIECE * (from + i)))
                .collect()
        };
        let (pieces, others) = (list(0, first)?, list(first, second)?);
        let kind = self.words[self.at];
        let (peer, tag) = (self.words[self.at + 5], self.words[self.at + 6]);
        // Fields that a kind does not use are zero.
        let plain = kind <= 0xff;
        let bare = peer == 0 && tag == 0;
        Some(match kind & 0xff {
            1 if plain && others.is_empty() => Work::Send {
                to: peer,
                tag,
                from: pieces,
            },
            2 if plain && others.is_empty() => Work::Recv {
                from: peer,
                tag,
                into: pieces,
            },
            3 if kind < 1 << 24 && bare => Work::Local {
                op: Arithmetic::from_raw((kind >> 16) as u8)?,
                element: Type::from_raw((kind >> 8) as u8)?,
                target: pieces,
                operand: others,
            },
            4 if plain && bare => Work::Copy {
                into: pieces,
                from: others,
            },
            5 if plain && bare && others.is_empty() && pieces.len() == 1 => {
                Work::Timestamp { into: pieces[0] }
            }
            6 if plain && pieces.is_empty() && others.is_empty() => Work::Calc {
                nanoseconds: pair(self.words, self.at + 5),
            },
            _ => return None,
        })
    }

    fn length(self) -> Option<usize> {
        let (first, second, dependents) = self.counts();
        let pieces = (first + second).checked_mul(PIECE)?;
        (OP + pieces).checked_add(dependents)
    }
}

impl Schedule {
    /// Validates words in the format that this module describes.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn from_words(words: Box<[u32]>) -> Result<Schedule, Invalid> {
        let wrong = |what, at| Err(Invalid { what, at });
        if words.len() < HEADER {
            return wrong("an end within the header", words.len());
        }
        if words[0] != MAGIC || words[1] != VERSION {
            return wrong("another magic number or version", 0);
        }
        if words[2] as usize != words.len() {
            return wrong("another length than it says", 2);
        }
        let (rank, ranks) = (words[3], words[4]);
        if rank >= ranks {
            return wrong("a rank that the job does not have", 3);
        }
        let (n, independent, segments) = (words[5], words[6] as usize, words[7] as usize);
        if n > MOST_OPERATIONS || independent > n as usize || segments > usize::from(u16::MAX) + 1 {
            return wrong("too many operations or segments", 5);
        }
        let scratchpad = pair(&words, 8);
        let operations = HEADER + 2 * segments + independent;
        if operations > words.len() {
            return wrong("an end within the segments", words.len());
        }
        let lengths: Box<[u64]> = (0..segments)
            .map(|i| pair(&words, HEADER + 2 * i))
            .collect();

        // One walk along the operations, which follow each other.
        let mut offsets = Vec::with_capacity(n.min(1 << 16) as usize);
        let mut steps = Vec::with_capacity(n.min(1 << 16) as usize);
        let mut peers = Vec::new();
        let mut timed = false;
        let mut at = operations;
        for place in 0..n {
            if words.len() - at < OP {
                return wrong("an end within an operation", at);
            }
            let op = Op { words: &words, at };
            let end = op.length().and_then(|l| at.checked_add(l));
            let Some(end) = end.filter(|e| *e <= words.len()) else {
                return wrong("an operation beyond the end", at);
            };
            if words[at + 3] != place {
                return wrong("an operation out of place", at);
            }
            let Some(work) = op.work() else {
                return wrong("an operation of no kind", at);
            };
            check(&work, &lengths, scratchpad, ranks).map_err(|what| Invalid { what, at })?;
            match work {
                Work::Send { to: peer, .. } | Work::Recv { from: peer, .. } => peers.push(peer),
                Work::Timestamp { .. } | Work::Calc { .. } => timed = true,
                _ => {}
            }
            offsets.push(at as u32);
            steps.push(Step {
                work,
                dependences: op.dependences(),
                peer: None,
                dependents: 0..0,
            });
            at = end;
        }
        if at != words.len() {
            return wrong("words behind the last operation", at);
        }
        peers.sort_unstable();
        let messages = peers.chunk_by(|a, b| a == b).map(|c| c.len() as u32);
        let messages = messages.collect();
        peers.dedup();
        for step in &mut steps {
            if let Work::Send { to: peer, .. } | Work::Recv { from: peer, .. } = &step.work {
                step.peer = peers.binary_search(peer).ok().map(|at| at as u32);
            }
        }
        let edges = edges(&words, &offsets, &mut steps, operations - independent)?;
        Ok(Schedule {
            words,
            steps: steps.into(),
            edges: edges.into(),
            segments: lengths,
            peers: peers.into(),
            messages,
            timed,
        })
    }

    /// Validates the bytes of a file.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Schedule, Invalid> {
        let words = bytes.chunks_exact(4);
        if !words.remainder().is_empty() {
            return Err(Invalid {
                what: "an end within a word",
                at: bytes.len() / 4,
            });
        }
        let words = words
            .map(|w| u32::from_le_bytes(w.try_into().unwrap_or_default()))
            .collect();
        Schedule::from_words(words)
    }

    /// The schedule as the bytes of a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|w| w.to_le_bytes()).collect()
    }

    /// The words, in the format that this module describes.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The rank whose schedule this is.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.words[3]
    }

    /// The number of ranks of the job.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.words[4]
    }

    /// The number of operations.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.steps.len()
    }

    /// Bytes of each user segment.
    #[must_use]
    pub fn segments(&self) -> &[u64] {
        &self.segments
    }

    /// Bytes of scratchpad.
    #[must_use]
    pub fn scratchpad(&self) -> u64 {
        pair(&self.words, 8)
    }

    /// The ranks to which it sends or from which it receives, ascending.
    #[must_use]
    pub fn peers(&self) -> &[u32] {
        &self.peers
    }

    /// How many messages are sent to or received from each of [`Schedule::peers`].
    pub(crate) fn messages(&self) -> &[u32] {
        &self.messages
    }

    /// True if it has operations that need the time.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.timed
    }

    /// The operation at a place, below [`Schedule::operations`].
    #[inline]
    pub(crate) fn step(&self, place: usize) -> &Step {
        &self.steps[place]
    }

    /// What the operation at a place does.
    #[inline]
    pub(crate) fn work(&self, place: usize) -> &Work {
        &self.steps[place].work
    }

    /// What its operations do.
    pub(crate) fn works(&self) -> impl Iterator<Item = &Work> {
        self.steps.iter().map(|step| &step.work)
    }

    /// The operations that wait for the operation at this index, and what they wait for.
    #[inline]
    pub(crate) fn dependents(&self, place: usize) -> &[(u32, After)] {
        let Range { start, end } = self.steps[place].dependents;
        &self.edges[start as usize..end as usize]
    }

    /// A graph that compiles to this schedule. Its operations are in traversal order.
    #[must_use]
    pub fn to_graph(&self) -> Graph {
        let mut edges = Vec::new();
        for place in 0..self.operations() {
            for (later, after) in self.dependents(place) {
                edges.push((*later, *after, place as u32));
            }
        }
        Graph {
            rank: self.rank(),
            ranks: self.ranks(),
            segments: self.segments.to_vec(),
            scratchpad: self.scratchpad(),
            ops: self.steps.iter().map(|s| s.work.clone()).collect(),
            edges,
        }
    }
}

/// Checks the edges: they lead forwards, to operations; the counters equal their numbers; and the list of independent
/// operations, which begins at word `independent`, is right. Returns the dependents of all operations, and stores in
/// `steps` where each one's begin.
fn edges(
    words: &[u32],
    offsets: &[u32],
    steps: &mut [Step],
    independent: usize,
) -> Result<Vec<(u32, After)>, Invalid> {
    let mut counted = vec![0u32; offsets.len()];
    let mut edges = Vec::new();
    for (step, at) in steps.iter_mut().zip(offsets) {
        let at = *at as usize;
        let first = edges.len() as u32;
        for edge in (Op { words, at }).dependents() {
            let (to, after) = match words[edge] {
                raw if raw & BEGUN != 0 => (raw & !BEGUN, After::Begun),
                raw => (raw, After::Complete),
            };
            // Traversal order: an edge to the same or an earlier operation could close a circle.
            match offsets.binary_search(&to) {
                Ok(place) if to as usize > at => {
                    counted[place] += 1;
                    edges.push((place as u32, after));
                }
                _ => {
                    return Err(Invalid {
                        what: "an edge that leads to no later operation",
                        at: edge,
                    })
                }
            }
        }
        step.dependents = first..edges.len() as u32;
    }
    let mut listed = words[independent..independent + words[6] as usize].iter();
    for ((at, step), counted) in offsets.iter().zip(steps.iter()).zip(&counted) {
        if step.dependences != *counted {
            return Err(Invalid {
                what: "a counter that differs from the edges",
                at: *at as usize + 1,
            });
        }
        if step.dependences == 0 && listed.next() != Some(at) {
            return Err(Invalid {
                what: "an independent operation that is not listed in order",
                at: independent,
            });
        }
    }
    if listed.next().is_some() {
        return Err(Invalid {
            what: "a listed operation that is not independent",
            at: independent,
        });
    }
    Ok(edges)
}

/// Checks one operation.
fn check(work: &Work, segments: &[u64], scratchpad: u64, ranks: u32) -> Result<(), &'static str> {
    let peer = match work {
        Work::Send { to, .. } => *to,
        Work::Recv { from, .. } => *from,
        _ => 0,
    };
    if peer >= ranks {
        return Err("a peer that the job does not have");
    }
    for piece in work.writes().iter().chain(work.reads()) {
        let limit = match piece.space {
            Space::User(n) => *segments
                .get(usize::from(n))
                .ok_or("a segment that is not there")?,
            Space::Scratchpad => scratchpad,
            Space::Void => u64::MAX,
        };
        if piece
            .offset
            .checked_add(piece.bytes)
            .is_none_or(|end| end > limit)
        {
            return Err("a piece beyond its memory");
        }
    }
    let (Some(write), Some(read)) = (total(work.writes()), total(work.reads())) else {
        return Err("too many bytes");
    };
    match work {
        Work::Local { op, element, .. } if !op.takes(*element) || write % element.bytes() != 0 => {
            Err("an operation that its elements do not have")
        }
        Work::Local { .. } | Work::Copy { .. } if write != read => Err("lengths that differ"),
        Work::Timestamp { .. } if write != 8 => Err("a timestamp that is not 8 bytes"),
        _ => Ok(()),
    }
}

/// Writes `graph` as a schedule. In `order` each operation comes after all operations that it depends on.
pub(crate) fn encode(graph: &Graph, order: &[u32]) -> Result<Schedule, graph::Error> {
    let n = graph.ops.len();
    let mut place = vec![0usize; n];
    for (i, op) in order.iter().enumerate() {
        place[*op as usize] = i;
    }
    // An edge that exists twice is written once, with the stronger condition.
    let mut edges: Vec<(usize, usize, After)> = graph
        .edges
        .iter()
        .map(|(l, after, e)| (place[*e as usize], place[*l as usize], *after))
        .collect();
    edges.sort_unstable();
    edges.dedup_by_key(|(e, l, _)| (*e, *l));
    let mut dependences = vec![0u32; n];
    let mut dependents: Vec<Vec<(usize, After)>> = vec![Vec::new(); n];
    for (e, l, after) in edges {
        dependences[l] += 1;
        dependents[e].push((l, after));
    }
    let independent = dependences.iter().filter(|d| **d == 0).count();

    let lists = |work: &Work| -> (Vec<Buffer>, Vec<Buffer>) {
        match work {
            Work::Send { from, .. } => (from.clone(), Vec::new()),
            _ => (work.writes().to_vec(), work.reads().to_vec()),
        }
    };
    let mut at = HEADER + 2 * graph.segments.len() + independent;
    let mut offsets = Vec::with_capacity(n);
    for (i, op) in order.iter().enumerate() {
        let (first, second) = lists(&graph.ops[*op as usize]);
        if first.len() > MOST_PIECES || second.len() > MOST_PIECES {
            return Err(graph::Error::TooLarge("pieces of an operation"));
        }
        offsets.push(at as u32);
        at += OP + PIECE * (first.len() + second.len()) + dependents[i].len();
        if at >= BEGUN as usize {
            return Err(graph::Error::TooLarge("words of the schedule"));
        }
    }
    let mut words = Vec::with_capacity(at);
    words.extend([MAGIC, VERSION, at as u32, graph.rank, graph.ranks, n as u32]);
    words.extend([independent as u32, graph.segments.len() as u32]);
    words.extend(split(graph.scratchpad));
    words.extend(graph.segments.iter().flat_map(|s| split(*s)));
    words.extend((0..n).filter(|i| dependences[*i] == 0).map(|i| offsets[i]));
    for (i, op) in order.iter().enumerate() {
        let work = &graph.ops[*op as usize];
        let (first, second) = lists(work);
        let (kind, arguments) = match work {
            Work::Send { to, tag, .. } => (1, [*to, *tag]),
            Work::Recv { from, tag, .. } => (2, [*from, *tag]),
            Work::Local { op, element, .. } => (
                3 | u32::from(element.to_raw()) << 8 | (*op as u32) << 16,
                [0, 0],
            ),
            Work::Copy { .. } => (4, [0, 0]),
            Work::Timestamp { .. } => (5, [0, 0]),
            Work::Calc { nanoseconds } => (6, split(*nanoseconds)),
        };
        words.extend([kind, dependences[i], dependents[i].len() as u32, i as u32]);
        words.push(first.len() as u32 | (second.len() as u32) << 16);
        words.extend(arguments);
        for p in first.iter().chain(&second) {
            words.push(match p.space {
                Space::User(n) => n.into(),
                Space::Scratchpad => SCRATCHPAD,
                Space::Void => VOID,
            });
            words.extend(split(p.offset));
            words.extend(split(p.bytes));
        }
        words.extend(
            dependents[i]
                .iter()
                .map(|(l, after)| offsets[*l] | if *after == After::Begun { BEGUN } else { 0 }),
        );
    }
    // Every schedule is made by this function, so that what was written here is validated too.
    Schedule::from_words(words.into()).map_err(|_| graph::Error::TooLarge("words of the schedule"))
}
