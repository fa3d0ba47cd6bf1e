//! One rank's communication as a graph: its vertices are operations, its edges say which operation comes before
//! which.
//!
//! **Data in**: calls of the C API, the [text form](crate::text), [collectives](crate::collectives). **Data out**: a
//! [`Schedule`](crate::schedule::Schedule), or the first mistake that was found.

mod compile;
mod overlaps;

use crate::element::{Arithmetic, Type};
use crate::memory::{total, Buffer};
use crate::schedule;
use core::fmt;

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Sends the pieces, one after the other, as one message. Complete when the pieces may be written again.
    Send {
        /// The receiving rank.
        to: u32,
        /// The receive has the same tag.
        tag: u32,
        /// Where the message is gathered from.
        from: Vec<Buffer>,
    },
    /// Receives a message that is at most as long as the pieces. Complete when the message has arrived.
    Recv {
        /// The sending rank.
        from: u32,
        /// The send has the same tag.
        tag: u32,
        /// Where the message is scattered to.
        into: Vec<Buffer>,
    },
    /// `target = target OP operand`, element by element.
    Local {
        /// The operation.
        op: Arithmetic,
        /// The elements' type.
        element: Type,
        /// Read and written.
        target: Vec<Buffer>,
        /// Read; as long as the target.
        operand: Vec<Buffer>,
    },
    /// Copies `from` to `into`. Both have the same length.
    Copy {
        /// Written.
        into: Vec<Buffer>,
        /// Read.
        from: Vec<Buffer>,
    },
    /// Stores the time at which it is executed: nanoseconds of a monotonic clock, 64 bits, little-endian.
    Timestamp {
        /// Eight bytes.
        into: Buffer,
    },
    /// Takes this number of nanoseconds and does nothing else: a computation in a simulator's schedule.
    Calc {
        /// How long.
        nanoseconds: u64,
    },
}

impl Work {
    /// The pieces that the operation writes.
    #[must_use]
    pub fn writes(&self) -> &[Buffer] {
        match self {
            Work::Recv { into, .. } | Work::Copy { into, .. } => into,
            Work::Local { target, .. } => target,
            Work::Timestamp { into } => core::slice::from_ref(into),
            Work::Send { .. } | Work::Calc { .. } => &[],
        }
    }

    /// The pieces that the operation only reads.
    #[must_use]
    pub fn reads(&self) -> &[Buffer] {
        match self {
            Work::Send { from, .. } | Work::Copy { from, .. } => from,
            Work::Local { operand, .. } => operand,
            Work::Recv { .. } | Work::Timestamp { .. } | Work::Calc { .. } => &[],
        }
    }

    /// Calls `change` for all pieces.
    pub(crate) fn each_piece(&mut self, change: &mut dyn FnMut(&mut Buffer)) {
        let (first, second): (&mut [Buffer], &mut [Buffer]) = match self {
            Work::Send { from: pieces, .. } | Work::Recv { into: pieces, .. } => (pieces, &mut []),
            Work::Local {
                target: into,
                operand: from,
                ..
            }
            | Work::Copy { into, from } => (into, from),
            Work::Timestamp { into } => (core::slice::from_mut(into), &mut []),
            Work::Calc { .. } => (&mut [], &mut []),
        };
        first.iter_mut().chain(second).for_each(change);
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |pieces: &[Buffer]| total(pieces).unwrap_or(u64::MAX);
        match self {
            Work::Send { to, tag, from } => {
                write!(f, "send {} bytes to {to} tag {tag}", bytes(from))
            }
            Work::Recv { from, tag, into } => {
                write!(f, "receive {} bytes from {from} tag {tag}", bytes(into))
            }
            Work::Local {
                op,
                element,
                target,
                ..
            } => {
                let count = bytes(target) / element.bytes().max(1);
                write!(f, "{op} {count} of {element}")
            }
            Work::Copy { into, .. } => write!(f, "copy {} bytes", bytes(into)),
            Work::Timestamp { .. } => f.write_str("timestamp"),
            Work::Calc { nanoseconds } => write!(f, "calc {nanoseconds} ns"),
        }
    }
}

/// What an operation waits for in one that comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum After {
    /// Once the earlier one is complete (`requires`).
    Complete,
    /// Once the earlier one has begun (`irequires`).
    Begun,
}

/// An operation of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub(crate) u32);

impl OpId {
    /// The operation's number, from 0, in the order in which operations were added.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why a graph was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A rank that the job does not have.
    Rank {
        /// The rank that was given.
        rank: u32,
        /// The number of ranks of the job.
        ranks: u32,
    },
    /// An operation that is not of this graph.
    Operation(u32),
    /// A piece that ends outside of its segment, outside of the scratchpad, or beyond 64 bits.
    Bounds {
        /// The operation.
        operation: u32,
        /// The piece.
        piece: Buffer,
        /// Length of the segment or scratchpad.
        limit: u64,
    },
    /// The target and the operand (or the two sides of a copy) have different lengths, or a length is not a multiple
    /// of the element's size.
    Lengths {
        /// The operation.
        operation: u32,
        /// Length of the side that is written.
        target: u64,
        /// Length of the side that is read.
        operand: u64,
    },
    /// A type that does not exist, or an arithmetic operation that does not exist for it.
    Element {
        /// The operation.
        operation: u32,
        /// Its arithmetic.
        op: Arithmetic,
        /// Its type.
        element: Type,
    },
    /// A circle of dependences.
    Cycle(
        /// The operations of the circle, in order.
        Vec<u32>,
    ),
    /// Two operations without an order between them, of which one writes memory that the other uses.
    Overlap {
        /// The operation that writes.
        writer: u32,
        /// The other operation.
        other: u32,
        /// The piece written.
        piece: Buffer,
    },
    /// More than the format can count; the text says of what.
    TooLarge(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Rank { rank, ranks } => {
                let last = ranks.saturating_sub(1);
                write!(f, "rank {rank}: not in the job (expected 0 to {last})")
            }
            Error::Operation(n) => write!(f, "operation {n}: not in this graph (expected one of its operations)"),
            Error::Bounds {
                operation,
                piece,
                limit,
            } => write!(
                f,
                "operation {operation}: {} bytes at {} of {}: up to {limit} are there",
                piece.bytes, piece.offset, piece.space
            ),
            Error::Lengths {
                operation,
                target,
                operand,
            } => write!(
                f,
                "operation {operation}: {operand} bytes for {target} (expected equal lengths of whole elements)"
            ),
            Error::Element {
                operation,
                op,
                element,
            } => write!(f, "operation {operation}: {op} of {element}: no such operation"),
            Error::Cycle(ops) => {
                f.write_str("operations ")?;
                for (i, n) in ops.iter().enumerate() {
                    write!(f, "{}{n}", if i == 0 { "" } else { " -> " })?;
                }
                f.write_str(": each waits for the next, the last for the first")
            }
            Error::Overlap {
                writer,
                other,
                piece,
            } => write!(
                f,
                "operation {writer} writes {} bytes at {} of {}, which operation {other} uses: an order between them \
                 is needed",
                piece.bytes, piece.offset, piece.space
            ),
            Error::TooLarge(what) => write!(f, "{what}: too many"),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The operations that the message names.
    #[must_use]
    pub fn operations(&self) -> Vec<u32> {
        match self {
            Error::Bounds { operation, .. }
            | Error::Lengths { operation, .. }
            | Error::Element { operation, .. } => vec![*operation],
            Error::Cycle(operations) => operations.clone(),
            Error::Overlap { writer, other, .. } => vec![*writer, *other],
            Error::Rank { .. } | Error::Operation(_) | Error::TooLarge(_) => Vec::new(),
        }
    }
}

/// One rank's part of a communication.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// Length of each user segment.
    pub(crate) segments: Vec<u64>,
    pub(crate) scratchpad: u64,
    pub(crate) ops: Vec<Work>,
    /// Each edge: the later operation, what it waits for, the earlier operation.
    pub(crate) edges: Vec<(u32, After, u32)>,
}

impl Graph {
    /// An empty graph of `rank` in a job of `ranks`.
    ///
    /// # Errors
    /// [`Error::Rank`].
    pub fn new(rank: u32, ranks: u32) -> Result<Graph, Error> {
        if rank >= ranks {
            return Err(Error::Rank { rank, ranks });
        }
        Ok(Graph {
            rank,
            ranks,
            segments: Vec::new(),
            scratchpad: 0,
            ops: Vec::new(),
            edges: Vec::new(),
        })
    }

    /// Adds a user segment of this length, and returns its number.
    ///
    /// # Errors
    /// [`Error::TooLarge`] after 65,535 segments.
    pub fn segment(&mut self, bytes: u64) -> Result<u16, Error> {
        let number = u16::try_from(self.segments.len()).map_err(|_| Error::TooLarge("segments"))?;
        self.segments.push(bytes);
        Ok(number)
    }

    /// Reserves more of the scratchpad, and returns where it begins: a multiple of 16.
    pub fn scratch(&mut self, bytes: u64) -> u64 {
        let start = self.scratchpad.saturating_add(15) & !15;
        self.scratchpad = start.saturating_add(bytes);
        start
    }

    /// Adds an operation.
    ///
    /// # Errors
    /// [`Error::Rank`] for a peer that does not exist; [`Error::TooLarge`]. The memory of an operation is checked
    /// when the graph is compiled.
    pub fn add(&mut self, work: Work) -> Result<OpId, Error> {
        let peer = match &work {
            Work::Send { to, .. } => Some(*to),
            Work::Recv { from, .. } => Some(*from),
            _ => None,
        };
        if let Some(rank) = peer.filter(|p| *p >= self.ranks) {
            return Err(Error::Rank {
                rank,
                ranks: self.ranks,
            });
        }
        let id = u32::try_from(self.ops.len())
            .ok()
            .filter(|n| *n < schedule::MOST_OPERATIONS)
            .ok_or(Error::TooLarge("operations"))?;
        self.ops.push(work);
        Ok(OpId(id))
    }

    /// The same graph in a job of `ranks`, in which rank `n` of this graph is rank `members[n]`.
    ///
    /// # Errors
    /// [`Error::Rank`] for a member that the job does not have, or a rank of this graph without a member.
    pub fn among(mut self, members: &[u32], ranks: u32) -> Result<Graph, Error> {
        let place = |rank: u32| {
            let member = members.get(rank as usize).copied().unwrap_or(u32::MAX);
            let known = Some(member).filter(|m| *m < ranks);
            known.ok_or(Error::Rank {
                rank: member,
                ranks,
            })
        };
        self.rank = place(self.rank)?;
        self.ranks = ranks;
        for work in &mut self.ops {
            match work {
                Work::Send { to: peer, .. } | Work::Recv { from: peer, .. } => {
                    *peer = place(*peer)?
                }
                Work::Local { .. }
                | Work::Copy { .. }
                | Work::Timestamp { .. }
                | Work::Calc { .. } => {}
            }
        }
        Ok(self)
    }

    /// The operation with this number; `None` if there is none.
    #[must_use]
    pub fn id(&self, index: usize) -> Option<OpId> {
        (index < self.ops.len()).then_some(OpId(index as u32))
    }

    /// Lets `later` begin only after `earlier` is complete, or has begun.
    ///
    /// # Errors
    /// [`Error::Operation`]; [`Error::Cycle`] if both are the same operation.
    pub fn order(&mut self, later: OpId, after: After, earlier: OpId) -> Result<(), Error> {
        for op in [later, earlier] {
            if op.index() >= self.ops.len() {
                return Err(Error::Operation(op.0));
            }
        }
        if later == earlier {
            return Err(Error::Cycle(vec![later.0]));
        }
        self.edges.push((later.0, after, earlier.0));
        Ok(())
    }

    /// Lets `later` begin only after `earlier` is complete (`GOAL_Requires`).
    ///
    /// # Errors
    /// Those of [`Graph::order`].
    pub fn requires(&mut self, later: OpId, earlier: OpId) -> Result<(), Error> {
        self.order(later, After::Complete, earlier)
    }

    /// The rank whose graph this is.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// The number of ranks of the job.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// The operations, in the order in which they were added.
    #[must_use]
    pub fn operations(&self) -> &[Work] {
        &self.ops
    }

    /// The edges: the index of the later operation, what it waits for, the index of the earlier operation.
    pub fn edges(&self) -> impl Iterator<Item = (usize, After, usize)> + '_ {
        self.edges
            .iter()
            .map(|(later, after, earlier)| (*later as usize, *after, *earlier as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Graph {
        let mut g = Graph::new(0, 2).unwrap();
        g.segment(64).unwrap();
        g
    }

    fn copy(into: u64, from: u64) -> Work {
        Work::Copy {
            into: vec![Buffer::user(0, into, 8)],
            from: vec![Buffer::user(0, from, 8)],
        }
    }

    #[test]
    fn a_circle_is_named() {
        let mut g = graph();
        let ops: Vec<OpId> = (0..4)
            .map(|_| g.add(Work::Calc { nanoseconds: 1 }).unwrap())
            .collect();
        g.requires(ops[1], ops[0]).unwrap();
        g.requires(ops[2], ops[1]).unwrap();
        g.requires(ops[3], ops[2]).unwrap();
        assert!(g.compile().is_ok());
        g.order(ops[1], After::Begun, ops[3]).unwrap();
        let Err(Error::Cycle(mut circle)) = g.compile() else {
            panic!("no circle found")
        };
        circle.sort_unstable();
        assert_eq!(circle, [1, 2, 3]);
    }

    #[test]
    fn what_may_run_at_once_must_not_overlap() {
        let mut g = graph();
        let a = g.add(copy(0, 32)).unwrap();
        let b = g.add(copy(8, 4)).unwrap();
        // b reads bytes 4 to 12, of which a writes 4 to 8. b also writes bytes that it reads itself, which is
        // allowed.
        assert!(matches!(
            g.compile(),
            Err(Error::Overlap {
                writer: 0,
                other: 1,
                ..
            })
        ));
        g.order(b, After::Begun, a).unwrap();
        assert!(
            matches!(g.compile(), Err(Error::Overlap { .. })),
            "begun is not complete"
        );
        g.requires(b, a).unwrap();
        assert!(g.compile().is_ok());
    }

    #[test]
    fn an_order_by_way_of_others_counts() {
        let mut g = graph();
        let a = g.add(copy(0, 32)).unwrap();
        let wait = g.add(Work::Calc { nanoseconds: 0 }).unwrap();
        let b = g.add(copy(16, 0)).unwrap();
        g.requires(wait, a).unwrap();
        g.order(b, After::Begun, wait).unwrap();
        assert!(
            g.compile().is_ok(),
            "the wait begins after the copy is complete"
        );
    }

    #[test]
    fn pieces_stay_within_their_memory() {
        let mut g = graph();
        g.add(copy(57, 0)).unwrap();
        assert!(matches!(g.compile(), Err(Error::Bounds { limit: 64, .. })));
        let mut g = graph();
        g.add(Work::Send {
            to: 1,
            tag: 0,
            from: vec![Buffer::user(0, u64::MAX, 2)],
        })
        .unwrap();
        assert!(matches!(g.compile(), Err(Error::Bounds { .. })));
        let mut g = graph();
        let at = g.scratch(8);
        g.add(Work::Timestamp {
            into: Buffer::scratch(at + 1, 8),
        })
        .unwrap();
        assert!(matches!(g.compile(), Err(Error::Bounds { limit: 8, .. })));
        assert!(matches!(
            g.add(Work::Send {
                to: 2,
                tag: 0,
                from: Vec::new()
            }),
            Err(Error::Rank { rank: 2, ranks: 2 })
        ));
    }

    #[test]
    fn lengths_and_types_agree() {
        let local = |op, element, target, operand| {
            let mut g = graph();
            g.add(Work::Local {
                op,
                element,
                target: vec![Buffer::user(0, 0, target)],
                operand: vec![Buffer::user(0, 32, operand)],
            })
            .unwrap();
            g.compile().map(|_| ())
        };
        assert!(local(Arithmetic::Add, Type::Double, 16, 16).is_ok());
        assert!(matches!(
            local(Arithmetic::Add, Type::Double, 12, 12),
            Err(Error::Lengths { .. })
        ));
        assert!(matches!(
            local(Arithmetic::Add, Type::Signed(32), 16, 8),
            Err(Error::Lengths { .. })
        ));
        assert!(matches!(
            local(Arithmetic::Xor, Type::Float, 4, 4),
            Err(Error::Element { .. })
        ));
        assert!(matches!(
            local(Arithmetic::Add, Type::Unsigned(65), 8, 8),
            Err(Error::Element { .. })
        ));
    }
    #[test]
    fn a_graph_moves_to_the_places_of_its_members() {
        let mut g = Graph::new(1, 2).unwrap();
        g.add(Work::Send {
            to: 0,
            tag: 3,
            from: vec![],
        })
        .unwrap();
        g.add(Work::Recv {
            from: 1,
            tag: 4,
            into: vec![],
        })
        .unwrap();
        let moved = g.clone().among(&[5, 2], 6).unwrap();
        assert_eq!((moved.rank, moved.ranks), (2, 6));
        assert!(matches!(moved.ops[0], Work::Send { to: 5, tag: 3, .. }));
        assert!(matches!(
            moved.ops[1],
            Work::Recv {
                from: 2,
                tag: 4,
                ..
            }
        ));
        let lacks = Error::Rank { rank: 6, ranks: 6 };
        assert_eq!(g.clone().among(&[5, 6], 6), Err(lacks));
        assert!(matches!(g.among(&[5], 6), Err(Error::Rank { .. })));
    }
}
