//! `hetmp-goal`: collective communication as dependency graphs, after GOAL (Group Operation Assembly Language).
//!
//! * **What it is**: each process describes its part of a communication as a [graph] of sends, receives and
//!   local operations. The graph is compiled to a [schedule], one contiguous block, and a [`rank::Rank`] runs any
//!   number of schedules at once, starting each operation as soon as those it depends on are complete.
//!   Source: Schneider, Eckelmann, Hoefler, Rehm, "Kernel-Based Offload of Collective Operations" (Euro-Par
//!   2011), sections 2 and 3.
//! * **What it owns**: graphs, the binary format and its validation, the interpreter's counters, the queues of
//!   posted receives and of messages that came too early. No memory of the program: that is behind
//!   [`memory::Memory`].
//! * **Data in**: graphs from the C API, from [text] or from [collectives]; packets of peers; the time.
//!   **Data out**: packets for peers, bytes in the program's memory, the end of each run or why it failed.
//!
//! Everything here is a pure state machine: no thread, no clock, no socket. Engines (calls that poll, a progress
//! thread, an adapter) are drivers, which carry packets and tell the time.
//!
//! Words: a *rank* is a process of the job, by its number. A *schedule* is one rank's compiled graph. A *run* is one
//! execution of a schedule. A *segment* is one of the user's buffers, bound to memory when a run starts. The
//! *scratchpad* is memory of the run itself, from its start to its end.
#![forbid(unsafe_code)]

pub mod arena;
pub mod collectives;
pub mod compact;
pub mod global;
pub mod graph;
pub mod kernel;
mod map;
pub mod matching;
pub mod memory;
pub mod msccl;
pub mod network;
pub mod packet;
pub mod rank;
mod run;
pub mod schedule;
pub mod series;
pub mod text;
pub mod triggered;

/// Types of elements and their arithmetic. They are those of the NIC layer, so that its engines compute the same
/// results.
pub use hetmp_nic::arithmetic as element;
