//! Chooses the algorithm of a collective: by its size and the number of ranks, or as the environment says.

use crate::settings::{Allgather, Allreduce, Alltoall, Settings};
use hetmp_goal::collectives::{self as c, Vector};
use hetmp_goal::graph::{Error, Graph};

/// A collective operation with its arguments, which are the same on all ranks except for the lists of neighbours.
/// Lengths are those of one block, in bytes. Segment 0 of the schedule is a rank's input, segment 1 its output.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// No rank goes on before all have called it.
    Barrier,
    /// All ranks get the root's input.
    Broadcast {
        /// The rank that gives.
        root: u32,
        /// Length of the input.
        bytes: u64,
    },
    /// The root gets the combination of all ranks' vectors.
    Reduce {
        /// The rank that gets the result.
        root: u32,
        /// The vector of one rank.
        vector: Vector,
    },
    /// All ranks get the combination of all ranks' vectors.
    Allreduce {
        /// The vector of one rank.
        vector: Vector,
    },
    /// The root gets a block of each rank.
    Gather {
        /// The rank that gets the blocks.
        root: u32,
        /// Length of one block.
        bytes: u64,
    },
    /// Each rank gets its block of what the root gives.
    Scatter {
        /// The rank that gives the blocks.
        root: u32,
        /// Length of one block.
        bytes: u64,
    },
    /// All ranks get a block of each rank.
    Allgather {
        /// Length of one block.
        bytes: u64,
    },
    /// Each rank sends a block of its own to each rank.
    Alltoall {
        /// Length of one block.
        bytes: u64,
    },
    /// Each rank gets the combination of the vectors of the ranks before it.
    Scan {
        /// The vector of one rank.
        vector: Vector,
        /// And of its own. Without, rank 0 gets nothing.
        inclusive: bool,
    },
    /// Each rank gets its block of the combination of all vectors. A vector has a block for each rank.
    ReduceScatter {
        /// One block.
        vector: Vector,
    },
    /// Each rank sends the same block to all its destinations, and gets one from each source.
    NeighbourAllgather {
        /// The ranks that send to this one.
        sources: Box<[u32]>,
        /// The ranks that this one sends to.
        destinations: Box<[u32]>,
        /// Length of one block.
        bytes: u64,
    },
    /// Each rank sends another block to each destination, and gets one from each source.
    NeighbourAlltoall {
        /// The ranks that send to this one.
        sources: Box<[u32]>,
        /// The ranks that this one sends to.
        destinations: Box<[u32]>,
        /// Length of one block.
        bytes: u64,
    },
}

/// With fewer ranks the log2 steps of an all-to-all save too few messages to be worth it.
const BRUCK_RANKS: u32 = 8;

impl Collective {
    /// This rank's graph, by the algorithm that the settings choose.
    ///
    /// # Errors
    /// A root or neighbour that does not exist, or lengths that a graph cannot have.
    pub fn graph(&self, rank: u32, ranks: u32, settings: &Settings) -> Result<Graph, Error> {
        match self {
            Collective::Barrier => c::barrier(rank, ranks),
            Collective::Broadcast { root, bytes } => c::broadcast(rank, ranks, *root, *bytes),
            Collective::Reduce { root, vector } => c::reduce(rank, ranks, *root, *vector),
            Collective::Allreduce { vector } => {
                let ring = match settings.allreduce {
                    Allreduce::Auto => ranks > 2 && vector.bytes() >= settings.choice.allreduce,
                    Allreduce::Doubling => false,
                    Allreduce::Ring => true,
                };
                if ring {
                    c::allreduce_ring(rank, ranks, *vector)
                } else {
                    c::allreduce(rank, ranks, *vector)
                }
            }
            Collective::Gather { root, bytes } => c::gather(rank, ranks, *root, *bytes),
            Collective::Scatter { root, bytes } => c::scatter(rank, ranks, *root, *bytes),
            Collective::Allgather { bytes } => {
                let ring = match settings.allgather {
                    Allgather::Auto => {
                        bytes.saturating_mul(ranks.into()) >= settings.choice.allgather
                    }
                    Allgather::Log => false,
                    Allgather::Ring => true,
                };
                if ring {
                    c::allgather_ring(rank, ranks, *bytes)
                } else {
                    c::allgather(rank, ranks, *bytes)
                }
            }
            Collective::Alltoall { bytes } => {
                let bruck = match settings.alltoall {
                    Alltoall::Auto => ranks >= BRUCK_RANKS && *bytes <= settings.choice.alltoall,
                    Alltoall::Direct => false,
                    Alltoall::Bruck => true,
                };
                if bruck {
                    c::alltoall_bruck(rank, ranks, *bytes)
                } else {
                    c::alltoall(rank, ranks, *bytes)
                }
            }
            Collective::Scan {
                vector,
                inclusive: true,
            } => c::scan(rank, ranks, *vector),
            Collective::Scan { vector, .. } => c::exclusive_scan(rank, ranks, *vector),
            Collective::ReduceScatter { vector } => c::reduce_scatter_block(rank, ranks, *vector),
            Collective::NeighbourAllgather {
                sources,
                destinations,
                bytes,
            } => c::neighbour_allgather(rank, ranks, sources, destinations, *bytes),
            Collective::NeighbourAlltoall {
                sources,
                destinations,
                bytes,
            } => c::neighbour_alltoall(rank, ranks, sources, destinations, *bytes),
        }
    }
}
