//! `hetmp-mq`: message queues between a master and slave cores with local stores.
//!
//! * **What it is**: the engine of `hetmp/mq.h`, after Chen and Zhou, "A programming model for domestic
//!   high-performance many-core processors" (Journal of Computer Applications 43(11), 2023). On this machine slaves
//!   are threads; a [`platform`] says which local stores and transfers are modelled.
//! * **What it owns**: the queues and slave threads of the process, the local stores, and the two pure state machines
//!   through which messages go: [`ring`] (shared by both sides) and [`staged`] (slots at the master, transfers, slots
//!   in the store). The model of transfers is in [`dma`], sleeping in [`hetmp_core::sleep`], and the line about a
//!   slave that crashes in `crash`.
//! * **Data in**: calls from `runtime/abi`, or from the header's inline paths, which work on the same memory;
//!   `HETMP_PLATFORM`; `HETMP_MQ_TIMEOUT`. **Data out**: addresses of messages; errors ([`error`]).
//!
//! `chip/` implements the same interface in C for the chips themselves, where no Rust runs.

pub mod error;
pub mod platform;
pub mod ring;
pub mod staged;

#[cfg(not(loom))]
pub mod api;
#[cfg(not(loom))]
mod callers;
#[cfg(not(loom))]
mod crash;
#[cfg(not(loom))]
pub mod dma;
#[cfg(not(loom))]
mod queue;
#[cfg(not(loom))]
mod registry;
#[cfg(not(loom))]
mod slave;
#[cfg(not(loom))]
mod slaves;
#[cfg(not(loom))]
pub mod store;
#[cfg(not(loom))]
mod strict;
#[cfg(not(loom))]
mod thread;
#[cfg(not(loom))]
pub mod verbs;
#[cfg(not(loom))]
mod wait;
