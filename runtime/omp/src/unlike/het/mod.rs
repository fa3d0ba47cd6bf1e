//! Loops under schedules that know of nodes: the driver around `hetmp-sched`.
//!
//! * [`choose`] decides, when an execution begins, whether one of hetmp's own schedules hands out the loop's
//!   iterations. It does for `schedule(runtime)` where the internal control variable selects such a schedule,
//!   and for `dynamic` and `guided` where the environment does. Loops whose iterations take turns (`ordered`,
//!   doacross) never come here. In `monotonic` loops every thread's iterations ascend, and so they do in
//!   loops that gcc compiled, unless the user or the program says `nonmonotonic`.
//! * `schedule` is one execution of one loop, as a sequence of steps. `execution` drives it: reads the clock
//!   around probes, and hands the measurements in. `parts` is the memory of both.
//! * `settled` is the shortcut for short loops whose plan is known.
//! * `known` has what is known about the program's loops: the probe cache, under a lock.
//! * `source` has the objective of decisions, the nodes' watts, and the counters that a report shows.
//! * `profile` keeps learned values from one run of the program to the next.
//! * `report` tells the user: lines for `HETMP_VERBOSE`, the file of `HETMP_REPORT`.
//!
//! Plain schedules come here, too, where nodes are slowed on purpose: a slow core must pay for each chunk
//! before it takes the next one. They also come here where a report is wanted on several nodes, so that it
//! can say what the nodes did.
//!
//! **Data in**: bounds and keys of loops from `worksharing::loops`, nodes of threads from
//! `unlike::place`, the monotonic clock. **Data out**: ranges of iterations, and reports.

use crate::icv::Globals;
use crate::unlike::modes;

pub(crate) mod choose;
mod execution;
pub(crate) mod known;
mod parts;
pub(super) mod profile;
pub(crate) mod report;
mod schedule;
pub(crate) mod settled;
mod source;

/// Sets up what the environment asks for. Called once, before the first region that is looked at.
pub(crate) fn configure(globals: &Globals) {
    report::configure(globals);
    if modes::loops() & modes::REPLACE != 0 {
        source::configure(globals);
    }
    profile::configure(globals);
}
