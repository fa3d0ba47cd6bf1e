//! Loops under the schedules that know of nodes: the driver around `hetmp-sched`.
//!
//! * [`choose`] decides, when a loop is first met, whether one of hetmp's own schedules takes
//!   its iterations in hand: `schedule(runtime)` where the internal control variable says so, and
//!   `dynamic` and `guided` where the environment does. Loops whose iterations take turns (`ordered`,
//!   doacross) never come here. In `monotonic` ones every thread's iterations ascend: so they do for
//!   gcc before 9, which knew of no other loops.
//! * `schedule` is one execution of one loop, as steps; `execution` drives it: it reads the clock around
//!   probes, hands the measurements in, and waits. `parts` is the memory of both.
//! * `settled` is the short way of short loops whose plan is known.
//! * `known` is what is known about the program's loops: the probe cache, under a lock.
//! * `source` is what decisions rest on beside times: counters, faults, thresholds, watts.
//! * `profile` keeps what was learned from one run to the next.
//! * `report` says it: lines for `HETMP_VERBOSE`, the file of `HETMP_REPORT`.
//!
//! Where nodes are slowed on purpose, plain schedules come here as well: a slow core must pay for
//! each chunk before it takes the next one. And where a report is asked for on several nodes, so
//! that it can tell what they did.
//!
//! **Data in**: bounds and keys of loops from `worksharing::loops`, nodes of threads from
//! `unlike::place`, the monotonic clock. **Data out**: ranges of iterations, and reports.

use crate::icv::Globals;
use crate::unlike::modes;

pub(crate) mod choose;
mod execution;
pub(crate) mod known;
mod parts;
mod profile;
pub(crate) mod report;
mod schedule;
pub(crate) mod settled;
mod source;

/// Sets up what the environment asks for. Once, before the first region that is looked at.
pub(crate) fn configure(globals: &Globals) {
    report::configure(globals);
    if modes::loops() & modes::REPLACE != 0 {
        source::configure(globals);
    }
    profile::configure(globals);
}
