//! `hetmp-omp`: the OpenMP engine, without any ABI.
//!
//! * **What it is**: a folder for each part of OpenMP. [`team`]: regions, their threads and barriers.
//!   `worksharing`: constructs that divide work in a region. [`task`]: tasks. `sync`: locks. [`icv`]:
//!   control variables. [`affinity`]: places. `memory`: allocators. `host`: `target` and OpenACC.
//!   [`unlike`]: nodes of unlike cores. The crate does not know which compiler called: the C entries in
//!   `runtime/abi` convert arguments and call one function here.
//! * **What it owns**: worker threads, teams, task records, and the waiting inside constructs. `hetmp-sched`
//!   decides which iterations go where, `hetmp-core` how to wait.
//! * **Data in**: outlined functions and loop bounds from the ABI, environment values at the first
//!   use. **Data out**: iteration ranges, calls of the program's functions.
//!
//! [`across`] runs regions over several processes. [`tool`] tells profilers and race detectors (OMPT) what happens.

// For the model checker, `tests/loom_*.rs` compile the parts that have models by themselves.
#![cfg(not(loom))]

pub mod across;
pub mod affinity;
pub mod ahead;
pub(crate) mod boundary;
pub mod cancel;
pub(crate) mod host;
pub mod icv;
pub mod init;
pub(crate) mod memory;
pub mod node;
pub mod query;
pub(crate) mod sync;
pub mod task;
pub mod team;
pub(crate) mod thread;
pub mod tool;
pub mod unlike;
pub(crate) mod worksharing;

// The names that entries call, by construct. Inside this crate modules are named in full.
pub use host::{acc, device};
pub use memory::{alloc, threadprivate};
pub use sync::{critical, lock, reduce};
pub use worksharing::{construct, doacross, loops, ordered, pieces, sections, single};

pub use thread::Thread;

/// Barrier epochs and start numbers are 30 bits wide, like the flags that hold them.
pub(crate) const EPOCH_MASK: u32 = (1 << 30) - 1;

/// Largest team with spread barriers.
pub(crate) const MAX_SPREAD: u32 = 1 << team::barrier::MAX_ROUNDS;
