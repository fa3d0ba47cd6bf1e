//! `hetmp-core`: what every part of hetmp needs and no part of it owns.
//!
//! * **What it is**: waiting and waking ([`park`], [`bell`] between processes, [`handover`], [`sleep`] without a fence on the fast
//!   side), memory that processes share ([`segment`], [`statics`]), the per-thread self pointer ([`tls`]), system
//!   calls ([`sys`]), a larger stack for a while ([`aside`]), loaded objects and their functions ([`object`], [`program`]), machine discovery ([`topo`],
//!   [`quota`], [`calibration`]), job bootstrap ([`bootstrap`]), counters ([`counters`]), the table
//!   of environment variables ([`mod@env`]), the files that they name ([`mod@file`]), emulated slow
//!   cores ([`slow`]) and one-line user messages ([`report`]).
//! * **What it owns**: the process-wide waiting policy and the self-pointer word. Nothing of any
//!   API; it does not know what a team, a queue pair or a page is.
//! * **Data in**: sysfs, cgroup files, environment variables, the clock. **Data out**: plain values
//!   to the engines above; lines on standard error through [`report`].

pub mod aside;
pub mod bell;
pub mod bootstrap;
pub mod calibration;
pub mod counters;
pub mod env;
pub mod file;
pub mod handover;
pub mod hash;
pub mod lock;
pub mod object;
pub mod park;
pub mod power;
pub mod program;
pub mod quota;
pub mod report;
pub mod segment;
pub mod sleep;
pub mod slow;
pub mod spins;
pub mod statics;
pub mod sync;
pub mod sys;
pub mod thread;
pub mod tls;
pub mod toml;
pub mod topo;
pub mod trace;
