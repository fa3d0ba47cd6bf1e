//! `hetmp-omp`: the OpenMP engine, without any ABI.
//!
//! * **What it is**: teams and regions ([`team`], [`pool`]), barriers ([`barrier`]), worksharing
//!   ([`work`], [`loops`]), tasks ([`task`]), internal control variables ([`icv`]), places
//!   ([`affinity`]), nodes of unlike cores ([`nodes`], [`het`]) and regions as more virtual threads than
//!   real ones (`virtual_team`). It does not know which compiler called: the C entries in `runtime/abi` convert
//!   arguments and call one function here.
//! * **What it owns**: worker threads, teams, task records; the waiting inside constructs. Which
//!   iterations go where is decided by `hetmp-sched`, how to wait by `hetmp-core`.
//! * **Data in**: outlined functions and loop bounds from the ABI, environment values at the first
//!   use. **Data out**: iteration ranges, calls of the program's functions.
//!
//! Places left for what comes later, on purpose without code: regions over several processes
//! (`across`), and the tool interface (`tool`).

// Under the model checker only the parts that have models are compiled, by `tests/loom_*.rs`.
#![cfg(not(loom))]

pub mod acc;
pub mod affinity;
pub(crate) mod affinity_bind;
pub mod ahead;
pub mod alloc;
pub mod barrier;
pub mod cancel;
pub(crate) mod chain;
pub mod critical;
pub mod device;
pub mod doacross;
pub mod het;
pub mod icv;
pub mod init;
pub mod kernels;
pub mod lock;
pub mod loops;
pub mod nodes;
pub mod ordered;
pub mod pieces;
pub mod pool;
pub mod query;
pub mod reduce;
pub mod sections;
pub mod single;
pub mod task;
pub mod team;
pub mod thread;
pub mod threadprivate;
pub(crate) mod virtual_team;
pub mod work;

pub use thread::Thread;

/// Barrier epochs and start numbers are 30 bits wide, as the flags they are kept in.
pub(crate) const EPOCH_MASK: u32 = (1 << 30) - 1;

/// Largest team with spread barriers.
pub(crate) const MAX_SPREAD: u32 = 1 << barrier::MAX_ROUNDS;
