//! Graphs of collective operations, for one rank each.
//!
//! All ranks build the graph of the same operation with the same arguments; together the graphs are the collective.
//! User segment 0 is a rank's input, segment 1 its output, in the layouts of MPI: the output of `gather` has one
//! block of each rank, in order; `alltoall` has one block for each rank on both sides. An operation whose input and
//! output are equally long may be run with copies of one buffer as both.
//!
//! Algorithms: dissemination (Hensgen, Finkel, Manber 1988) for barriers; binomial trees; recursive doubling, with
//! the ranks beyond a power of two folded in first; rings for long vectors; the log-step all-to-all of Bruck et al.
//! (1997) for short blocks. A reduction combines operands in another order than a serial loop: the last digits of
//! floating point sums may differ from the loop's, but they are the same on all ranks and in every run.

use crate::element::{Arithmetic, Type};
use crate::graph::{Error, Graph, OpId, Work};
use crate::memory::Buffer;

mod dense;
mod reduction;
mod sparse;
mod tree;

pub use dense::{allgather, allgather_ring, alltoall, alltoall_bruck, barrier};
pub use reduction::{
    allreduce, allreduce_ring, exclusive_scan, reduce, reduce_scatter_block, scan,
};
pub use sparse::{neighbour_allgather, neighbour_alltoall};
pub use tree::{broadcast, gather, scatter};

/// The segment with a rank's input.
pub(crate) const GIVES: u16 = 0;
/// The segment with a rank's output.
pub(crate) const GETS: u16 = 1;

/// The elements of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vector {
    /// How the elements are combined. The result of a subtraction or division depends on the order of operands, so
    /// that it is defined for the other operations only.
    pub op: Arithmetic,
    /// The elements' type.
    pub element: Type,
    /// The number of elements.
    pub count: u64,
}

impl Vector {
    /// Length of the whole vector in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.element.bytes())
    }
}

/// A graph under construction, with the steps of which collectives consist.
struct Builder {
    graph: Graph,
}

impl Builder {
    fn new(rank: u32, ranks: u32, gives: u64, gets: u64) -> Result<Builder, Error> {
        let mut graph = Graph::new(rank, ranks)?;
        graph.segment(gives)?;
        graph.segment(gets)?;
        Ok(Builder { graph })
    }

    fn me(&self) -> u32 {
        self.graph.rank
    }

    fn ranks(&self) -> u32 {
        self.graph.ranks
    }

    /// The rank `n` after this one, wrapping around.
    fn up(&self, n: u32) -> u32 {
        ((u64::from(self.me()) + u64::from(n)) % u64::from(self.ranks())) as u32
    }

    /// The rank `n` before this one, wrapping around; `n` is at most the number of ranks.
    fn down(&self, n: u32) -> u32 {
        self.up(self.ranks() - n)
    }

    fn add(&mut self, work: Work, after: &[OpId]) -> Result<OpId, Error> {
        let op = self.graph.add(work)?;
        for earlier in after {
            self.graph.requires(op, *earlier)?;
        }
        Ok(op)
    }

    fn send(&mut self, to: u32, tag: u32, from: Buffer, after: &[OpId]) -> Result<OpId, Error> {
        let from = vec![from];
        self.add(Work::Send { to, tag, from }, after)
    }

    fn recv(&mut self, from: u32, tag: u32, into: Buffer, after: &[OpId]) -> Result<OpId, Error> {
        let into = vec![into];
        self.add(Work::Recv { from, tag, into }, after)
    }

    fn copy(&mut self, into: Buffer, from: Buffer, after: &[OpId]) -> Result<OpId, Error> {
        let (into, from) = (vec![into], vec![from]);
        self.add(Work::Copy { into, from }, after)
    }

    fn combine(
        &mut self,
        v: Vector,
        target: Buffer,
        operand: Buffer,
        after: &[OpId],
    ) -> Result<OpId, Error> {
        let work = Work::Local {
            op: v.op,
            element: v.element,
            target: vec![target],
            operand: vec![operand],
        };
        self.add(work, after)
    }

    fn done(self) -> Graph {
        self.graph
    }
}

/// The start and length, in elements, of block `i` if `count` elements are divided into `blocks` blocks. The first
/// blocks may be one element longer.
fn block(count: u64, blocks: u32, i: u32) -> (u64, u64) {
    let (blocks, i) = (u64::from(blocks), u64::from(i));
    let (q, r) = (count / blocks, count % blocks);
    (q * i + r.min(i), q + u64::from(i < r))
}
