//! `hetmp-omp`: the OpenMP engine, without any ABI.
//!
//! * **What it is**: a folder for each part of OpenMP. [`team`] has regions, their threads and barriers;
//!   [`worksharing`] what these divide; [`task`] tasks; [`sync`] locks; [`icv`] control variables and
//!   [`affinity`] places; [`memory`] allocators; [`host`] `target` and OpenACC; [`unlike`] nodes of unlike
//!   cores. It does not know which compiler called: the C entries in `runtime/abi` convert arguments and
//!   call one function here.
//! * **What it owns**: worker threads, teams, task records; the waiting inside constructs. Which
//!   iterations go where is decided by `hetmp-sched`, how to wait by `hetmp-core`.
//! * **Data in**: outlined functions and loop bounds from the ABI, environment values at the first
//!   use. **Data out**: iteration ranges, calls of the program's functions.
//!
//! [`across`] runs regions over several processes. A place left for what comes later, on purpose without
//! code: the tool interface (`tool`).

// Under the model checker only the parts that have models are compiled, by `tests/loom_*.rs`.
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
pub mod query;
pub(crate) mod sync;
pub mod task;
pub mod team;
pub(crate) mod thread;
pub mod unlike;
pub(crate) mod worksharing;

// What entries call, by the construct's name. Inside this crate modules are named in full.
pub use host::{acc, device};
pub use memory::{alloc, threadprivate};
pub use sync::{critical, lock, reduce};
pub use worksharing::{construct, doacross, loops, ordered, pieces, sections, single};

pub use thread::Thread;

/// Barrier epochs and start numbers are 30 bits wide, as the flags they are kept in.
pub(crate) const EPOCH_MASK: u32 = (1 << 30) - 1;

/// Largest team with spread barriers.
pub(crate) const MAX_SPREAD: u32 = 1 << team::barrier::MAX_ROUNDS;
