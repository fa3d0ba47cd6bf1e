//! Which iterations of a parallel loop go to which thread, and on which node.
//!
//! A pure library: no threads, no clocks, no input or output. Measurements
//! come in, ranges of iterations go out. The drivers around it are the OpenMP
//! runtime, the tests of this crate, and the simulator (`hetmp-lab`).
//!
//! Words. Iterations are *normalised*: a loop of `n` iterations is `0..n`,
//! and [`ranges::LoopBounds`] maps pieces of it back to the values of the
//! user's loop variable. Where a clause has a chunk size, a chunk is what stands for an iteration ([`blocks`]). A
//! *node* is a set of identical, mutually coherent cores. The *CSR* (core speed ratio) of a node says how much faster
//! one of its cores runs this loop than a core of the slowest node.
//!
//! What it owns: the state of one execution of one loop (the cursors that
//! threads take iterations from) and the knowledge about a loop that outlives
//! an execution ([`cache`]). Where its data comes from: loop bounds and the
//! team from the runtime's work-sharing code, elapsed times and counters from
//! the runtime's clocks. Where it goes: ranges back to the calling thread, one
//! [`record::LoopRecord`] per execution to the report.
//!
//! Every shared state is used by reference from all threads of a team at
//! once. Nothing here waits for a thread that has not arrived.
#![forbid(unsafe_code)]

pub mod aid;
pub mod blocks;
pub mod cache;
pub mod cross_dynamic;
pub mod crossing;
pub mod csr;
pub mod deal;
pub mod decide;
pub(crate) mod decision;
pub mod energy;
pub mod even;
pub mod execution;
pub mod fixed;
pub mod gain;
pub mod hetprobe;
pub mod irregular;
pub mod limits;
pub mod nest;
pub mod placement;
pub mod plain;
mod primitive;
pub mod probe;
pub mod profile;
pub mod ranges;
pub mod record;
pub mod schedule;
pub mod virtual_team;
pub mod watch;
pub mod ways;
