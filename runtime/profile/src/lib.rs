//! The profiler behind `hetmp run --profile`: how long each thread was in each region and construct, and how long it
//! waited there.
//!
//! * `layout`: the file that a process writes, as memory: sites, threads, and a row of sums for each site in each
//!   thread.
//! * `file` makes such a file and maps it. `sites` gives numbers to places in the program.
//! * `ledger` is the account of one thread: a stack of what the thread is in, and the sums. It knows no clock.
//! * `tool` is a tool of the OpenMP tool interface (OpenMP 5.2, chapter 19), and knows the runtime by that alone.
//! * [`read`] is for the command that shows the file.
//!
//! **Data in**: the events of the tool interface. **Data out**: a file, mapped, into which sums are written in place.
//! So the file is right at any moment, however the program ends: nothing has to run at the end.
//!
//! # Cost
//! An event costs a reading of the clock, one search in a table and a few stores to memory that no other thread writes.
//! Nothing is here without the variable `HETMP_TIMES`.

mod file;
mod layout;
mod ledger;
pub mod read;
mod sites;
mod tool;

pub use tool::tool;

/// The extension of the name of a file that a process leaves which could not be measured, and has said why.
pub const REFUSED: &str = "refused";

/// The monotonic clock, nanoseconds. The command compares with the same clock.
#[must_use]
pub fn now() -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a live record. This clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}
