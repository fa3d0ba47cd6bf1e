//! The tool interface, OMPT (OpenMP 5.2, chapter 19): a profiler or race detector in the same process registers
//! callbacks, which the runtime calls at the events of threads, regions, tasks and locks.
//!
//! * `interface`: types and numbers of the interface. `callbacks`: what the tool has registered.
//! * `record`: what is kept for the tool of each thread, region and task.
//! * `attach` finds and starts the tool; `life` and `finish` are the begin and the end of threads and of the tool.
//! * `events` (regions, barriers, worksharing), `league`, [`tasks`] and [`mutex`]: what the engine tells. `query`: what
//!   the tool may ask.
//!
//! **Data in**: calls from the engine at its events, each behind [`on`]. **Data out**: calls of the tool's functions.
//! The C functions that a tool gets by its lookup are in `runtime/abi`.
//!
//! # Cost
//! Without a tool, an event costs the test of one byte, which the trace looks at too. An entry tests the same byte
//! before it notes from where it was called.

pub mod attach;
pub mod callbacks;
pub mod events;
pub mod finish;
pub mod interface;
pub(crate) mod league;
pub(crate) mod life;
pub mod mutex;
pub mod query;
pub(crate) mod record;
pub mod tasks;

/// Is a tool attached?
#[inline(always)]
#[must_use]
pub fn on() -> bool {
    hetmp_core::observers::has(hetmp_core::observers::TOOL)
}

/// Does the tool judge by the order of tasks, as race detectors do? Others have no use for tasks' dependences, and are
/// to see the program as it runs without them.
#[cold]
#[must_use]
pub(crate) fn judges_order() -> bool {
    callbacks::registered(interface::Event::Dependences as u32).is_some()
}
