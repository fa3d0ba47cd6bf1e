//! `hetmp-goal-job`: GOAL schedules in the processes of a job.
//!
//! * **What it is**: the driver around the state machines of `hetmp-goal`. It joins the job, carries packets between
//!   ranks through the NIC layer, decides who makes progress (the engines `user`, `thread`, `kernel` and `nic`), and
//!   offers the collectives of `include/goal.h`.
//! * **What it owns**: this process's links to its peers, the runs that have not ended, the progress thread, and the
//!   tables behind the C API's handles.
//! * **Data in**: calls of the C API, records that peers write into this rank's segment. **Data out**: records in
//!   peers' segments, bytes in the program's buffers, and for each run a word that says that the run has ended.
//!
//! The path of a message: [`api`] starts a run. `driver` hands the rank's packets to a `link`, which writes them as
//! records of a `ring` in the peer's segment. The peer's driver sees that the ring's tail has moved.
//!
//! Collectives of ranks that map each other's memory take a shorter way (`direct`, among the ranks of a `team`).
//!
//! **Who makes progress.** Under `user`, runs move on inside of Test and Wait, and nowhere else. Under `thread`, a
//! thread of each process moves them on when something arrives, unless a thread of the program waits and does it
//! itself ([`duty`]). Under `kernel`, the short collectives move on in the Linux kernel, where their packets arrive
//! (`kernel`), and under `nic` in an emulated network adapter (`nic`); what these do not take goes as under `thread`.
//! At the process's end (status 0) or in `GOAL_Finalize`, packets that wait are still sent out, runs that have not
//! ended are given up, and peers whose runs need this rank get an error.

#[cfg(not(loom))]
pub mod api;
#[cfg(not(loom))]
pub mod choice;
#[cfg(not(loom))]
mod direct;
#[cfg(not(loom))]
mod driver;
pub mod duty;
#[cfg(not(loom))]
mod kernel;
#[cfg(not(loom))]
mod link;
#[cfg(not(loom))]
mod memory;
#[cfg(not(loom))]
mod nic;
#[cfg(not(loom))]
mod offload;
#[cfg(not(loom))]
#[cfg(not(loom))]
mod peers;
#[cfg(not(loom))]
mod progress;
#[cfg(not(loom))]
mod reach;
#[cfg(not(loom))]
mod ring;
#[cfg(not(loom))]
mod settings;
pub mod share;
#[cfg(not(loom))]
mod team;
#[cfg(not(loom))]
pub mod through;
#[cfg(not(loom))]
pub mod world;

#[cfg(not(loom))]
pub use driver::Outcome;
#[cfg(not(loom))]
pub use memory::Segment;
#[cfg(not(loom))]
pub use nic::serve as serve_as_adapter;
#[cfg(not(loom))]
pub use settings::{Allgather, Allreduce, Alltoall, Choice, Engine, Form, Settings};
