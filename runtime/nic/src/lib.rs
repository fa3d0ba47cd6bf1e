//! `hetmp-nic`: one-sided communication through queue pairs, as network adapters offer it.
//!
//! * **What it is**: the layer below OpenSHMEM, the software DSM and GOAL. An initiator posts 64-byte
//!   [descriptors](descriptor), made from [templates](template), into its own [queue pair](queue_pair), which needs
//!   no lock. An [engine] checks the [keys] and executes the descriptors: puts, gets, atomics, small messages,
//!   fences, arithmetic on the initiator's own memory, and operations triggered by counters. A [job] joins the
//!   processes.
//! * **What it owns**: the rings, the tables of registered regions, the segments and connections of the job, and the
//!   engines' threads. It knows no symmetric heap, no page and no schedule.
//! * **Data in**: descriptors, registered memory, connected sockets. **Data out**: memory at the target,
//!   messages, completions.
//!
//! [`execute`] is the pure half: a descriptor and the tables of both sides go in; the memory that may be touched, or
//! the reason why not, comes out. Threads, clocks and sockets are in the drivers ([`engine`]).

pub mod arithmetic;
mod array;
pub mod completion;
pub mod descriptor;
#[cfg(not(loom))]
pub mod device_memory;
pub mod execute;
pub mod inbox;
pub mod keys;
pub mod queue_pair;
pub mod template;
pub mod trigger;

#[cfg(not(loom))]
pub mod domain;
#[cfg(not(loom))]
pub mod engine;
#[cfg(not(loom))]
pub mod job;
#[cfg(not(loom))]
pub mod memory;
