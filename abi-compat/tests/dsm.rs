//! Unmodified programs on several nodes of a software DSM: `HETMP_NODES=dsm:N`.
//!
//! If this machine forbids userfaultfd, the library says so, and the tests that need nodes are skipped with a line.

#[path = "dsm/choice.rs"]
mod choice;
#[path = "dsm/descriptors.rs"]
mod descriptors;
#[path = "dsm/failures.rs"]
mod failures;
#[path = "dsm/harness.rs"]
mod harness;
#[path = "dsm/libraries.rs"]
mod libraries;
#[path = "dsm/moves.rs"]
mod moves;
#[path = "dsm/pool.rs"]
mod pool;
#[path = "dsm/programs.rs"]
mod programs;
#[path = "dsm/schedules.rs"]
mod schedules;
#[path = "dsm/signals.rs"]
mod signals;
#[path = "../../runtime/sources.rs"]
mod sources;
#[path = "dsm/starts.rs"]
mod starts;
