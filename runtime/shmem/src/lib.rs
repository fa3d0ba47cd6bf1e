//! `hetmp-shmem`: the engine of OpenSHMEM 1.5 and 1.6.
//!
//! * **What it is**: symmetric memory, one-sided operations, atomics, signals, waiting, teams, contexts,
//!   collectives and locks, without the C names: `runtime/abi` converts arguments and calls in here.
//! * **What it owns**: the world of a job: the control block, static data and symmetric heap of each PE (`segment`),
//!   the mappings of its peers' segments, and its share of the engine of [`hetmp_nic`] that reaches peers which are
//!   not mapped.
//! * **Data in**: calls of programs, `SHMEM_*` and `HETMP_*` variables, the job that
//!   [`hetmp_core::bootstrap`] joins. **Data out**: memory of this PE and of its peers.
//!
//! **Two ways.** While every peer is mapped and no checks are asked for, an operation translates its address and does
//! a load, a store or an atomic ([`world::direct`]). Everything else takes the cold way through `way`, which checks,
//! chooses the transport, and names the C function in its messages. For these messages all functions take the C
//! function's name as their first argument.

// Under the model checker only the parts that have models are compiled, by `tests/loom.rs`.
#![cfg(not(loom))]

pub mod active;
pub mod amo;
pub mod cached;
pub mod caches;
pub mod collective;
pub mod context;
pub mod device;
pub mod heap;
pub mod lock;
pub mod rma;
pub mod setup;
pub mod signal;
pub mod team;
pub mod wait;
pub mod world;

mod blocks;
mod check;
mod control;
mod fail;
mod link;
mod queue;
mod segment;
mod settings;
mod standstill;
mod way;
mod word;

/// `SHMEM_MAJOR_VERSION`.
pub(crate) const MAJOR: i32 = 1;
/// `SHMEM_MINOR_VERSION`.
pub(crate) const MINOR: i32 = 6;
