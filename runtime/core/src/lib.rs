//! `hetmp-core`: what every part of hetmp needs and no single part owns.
//!
//! * **What it is**, by subject:
//!   * waiting and waking: [`park`] and [`spins`] (threads), [`lock`], [`bell`] (waits for any change, of threads or
//!     processes), [`handover`] (processes), [`sleep`] (without a fence on the waker's side), [`sync`] (atomics, or
//!     loom's). No other crate sleeps by a system call of its own;
//!   * memory that processes share: [`segment`], [`statics`], [`page`];
//!   * threads and the system: [`thread`], [`tls`] (the per-thread self pointer), [`aside`] (more stack for a while),
//!     [`whole`] (what children of `fork` find), [`sys`] (system calls);
//!   * the program: [`object`] (loaded files and their functions), [`program`] (what it was linked with), [`multi_isa`]
//!     (programs for two instruction sets), [`float`]
//!     (its floating-point modes and flags, which our arithmetic leaves alone);
//!   * the machine: [`topo`], [`quota`], [`calibration`], [`counters`], [`power`], [`slow`] (emulated slow cores);
//!   * the job: [`mod@bootstrap`], [`helper`] (a process of our own next to the program's), [`keeper`] (our descriptors
//!     out of the program's reach);
//!   * the user: [`mod@env`] (the table of variables), [`mod@file`] and [`toml`] (files that variables name),
//!     [`report`] (one-line messages), [`trace`], [`observers`] (whether anything is told of events);
//!   * [`hash`], a table of words.
//! * **What it owns**: the process-wide waiting policy, the self-pointer word, the snapshot of the environment, and
//!   the rings of a trace. It knows no API: no team, no queue pair, no page.
//! * **Data in**: sysfs, cgroup files, environment variables, the clock. **Data out**: plain values
//!   to the engines above; lines on standard error through [`report`].

pub mod aside;
pub mod bell;
pub mod bootstrap;
pub mod calibration;
pub mod counters;
pub mod descriptor;
pub mod env;
pub mod file;
pub mod float;
pub mod handover;
pub mod hash;
pub mod helper;
pub mod keeper;
pub mod lock;
pub mod multi_isa;
pub mod object;
pub mod observers;
pub mod page;
pub mod park;
pub mod power;
pub mod program;
pub mod quota;
pub mod report;
pub mod segment;
pub mod sequence;
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
pub mod whole;
