//! `hetmp-nic`: one-sided communication through queue pairs, as a network adapter offers it.
//!
//! * **What it is**: what OpenSHMEM, the software DSM and GOAL ride on. An initiator posts 64-byte
//!   [descriptors](descriptor) from [templates](template) into its own [queue pair](queue_pair), which
//!   needs no lock; an [engine] checks [keys] and executes them: puts, gets, atomics,
//!   small messages, fences, arithmetic on the initiator's own memory, and operations triggered by counters.
//! * **What it owns**: the rings, the tables of registered regions, the engine threads. It does not know
//!   what a symmetric heap, a page or a schedule is.
//! * **Data in**: descriptors, registered memory, connected sockets. **Data out**: memory at the target,
//!   messages, completions.
//!
//! [`execute`] is the pure half: a descriptor and the tables of both sides in, the memory that may be
//! touched or the reason why not out. Threads, clocks and sockets are the drivers in [`engine`].

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
