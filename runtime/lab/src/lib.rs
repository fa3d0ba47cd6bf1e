//! `hetmp-lab`: schedules on machines that are only described.
//!
//! * **What it is**: a discrete-event simulator around the schedules of `hetmp-sched`, the same code that the OpenMP
//!   runtime drives, and next to them schedules that only papers describe ([`Published`], [`Technique`]).
//! * **What it owns**: the clocks of simulated threads, the model of pages and links, random machines and programs.
//! * **Data in**: a [`Platform`] and a [`Workload`]. **Data out**: how long the program takes under a [`Strategy`],
//!   what was decided, and how much energy it took ([`run`]).
//!
//! Nothing that is loaded into programs is linked with it: `hetmp simulate` is, which reads the files that describe
//! machines and programs; those that are shipped say where their numbers come from.
//!
//! Threads are actors with a clock; the thread with the earliest clock makes the next call. Nothing is measured, and
//! only the seed's draws are random, so equal arguments give equal outcomes.
//!
//! The model contains: the cost of each iteration, core speed by kernel, bandwidth of each node's memory,
//! cache misses as counters show them, pages and their remote faults with waiting at the serving side, the
//! page of a schedule's shared state, the cost of calls and regions, power, and which iterations each node ran last
//! (their data is in its cache). It leaves out: caches in any other respect, false sharing while chunks run, contention
//! inside a node other than for bandwidth, frequency changes.
#![forbid(unsafe_code)]

mod across;
mod caches;
mod cost;
mod decided;
mod driver;
mod engine;
mod pages;
mod placed;
mod platform;
mod program;
mod published;
mod questions;
mod random;
mod self_scheduling;
mod workload;

pub use decided::Decided;
pub use platform::{KernelOnNode, LinkModel, Node, Platform};
pub use program::{ideal_parts, run, LoopOutcome, Outcome, Strategy};
pub use published::Published;
pub use random::{against_best, random, AgainstBest, ALLOWED};
pub use self_scheduling::Technique;
pub use workload::{Access, Array, LoopModel, Mix, Pattern, Serial, Spread, Workload};
