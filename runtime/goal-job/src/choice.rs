//! Which algorithm a collective uses: by its size and the number of ranks, or as the environment says.

use crate::settings::{Allgather, Allreduce, Alltoall, Settings};
use hetmp_goal::collectives::{self as c, Vector};
use hetmp_goal::graph::{Error, Graph};

/// A collective operation with its arguments, the same on all ranks but for the lists of neighbours. Lengths are of one
/// block, in bytes. What a rank gives is segment 0 of its schedule, what it gets segment 1.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// Nobody goes on before all have come.
    Barrier,
    /// Everybody gets what the root gives.
    Broadcast {
        /// Who gives.
        root: u32,
        /// How much.
        bytes: u64,
    },
    /// The root gets the combination of all vectors.
    Reduce {
        /// Who gets.
        root: u32,
        /// The elements of one rank.
        vector: Vector,
    },
    /// Everybody gets the combination of all vectors.
    Allreduce {
        /// The elements of one rank.
        vector: Vector,
    },
    /// The root gets a block of each rank.
    Gather {
        /// Who gets.
        root: u32,
        /// One block.
        bytes: u64,
    },
    /// Each rank gets its block of what the root gives.
    Scatter {
        /// Who gives.
        root: u32,
        /// One block.
        bytes: u64,
    },
    /// Everybody gets a block of each rank.
    Allgather {
        /// One block.
        bytes: u64,
    },
    /// Each rank has a block for each other.
    Alltoall {
        /// One block.
        bytes: u64,
    },
    /// Each rank gets the combination of the vectors of the ranks up to itself.
    Scan {
        /// The elements of one rank.
        vector: Vector,
    },
    /// Each rank gets its block of the combination of all vectors, which have a block for each rank.
    ReduceScatter {
        /// The elements of one block.
        vector: Vector,
    },
    /// A block to each destination, the same, and one from each source.
    NeighbourAllgather {
        /// Who sends to this rank.
        sources: Box<[u32]>,
        /// Whom this rank sends to.
        destinations: Box<[u32]>,
        /// One block.
        bytes: u64,
    },
    /// A block for each destination, each another, and one from each source.
    NeighbourAlltoall {
        /// Who sends to this rank.
        sources: Box<[u32]>,
        /// Whom this rank sends to.
        destinations: Box<[u32]>,
        /// One block.
        bytes: u64,
    },
}

/// With fewer ranks, log2 steps of an all-to-all save too few messages.
const BRUCK_RANKS: u32 = 8;

impl Collective {
    /// This rank's graph, by the algorithm that the settings choose.
    ///
    /// # Errors
    /// A root or neighbour that is no rank, or lengths beyond what a graph can have.
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
            Collective::Scan { vector } => c::scan(rank, ranks, *vector),
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
