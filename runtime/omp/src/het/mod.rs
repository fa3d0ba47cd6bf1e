//! Loops under the schedules that know of nodes: the driver around `hetmp-sched`.
//!
//! * [`schedule`] decides, when a loop is first met, whether one of hetmp's own schedules takes
//!   its iterations in hand: `schedule(runtime)` where the internal control variable says so, and
//!   `dynamic` and `guided` where the environment does. Loops with an order (`ordered`, doacross,
//!   `monotonic:`) keep it and never come here.
//! * `execution` is one execution of one loop: it reads the clock around probes and hands the
//!   measurements in.
//! * `regions` is what is known about the program's loops: the probe cache, under a lock.
//! * `source` is what decisions rest on beside times: counters, faults, thresholds, watts.
//! * `profile` keeps what was learned from one run to the next.
//! * `report` says it: lines for `HETMP_VERBOSE`, the file of `HETMP_REPORT`.
//!
//! Where nodes are slowed on purpose, plain schedules come here as well: a slow core must pay for
//! each chunk before it takes the next one. And where a report is asked for on several nodes, so
//! that it can tell what they did.
//!
//! **Data in**: bounds and keys of loops from [`crate::loops`], nodes of threads from
//! [`crate::nodes`], the monotonic clock. **Data out**: ranges of iterations, and reports.

mod execution;
mod profile;
mod regions;
pub(crate) mod report;
mod source;

use crate::icv::{Globals, RunSched};
use crate::init;
use crate::loops::{Clause, Loop, NodeSchedule};
use crate::nodes;
use crate::team::Team;
use crate::thread::Thread;
use core::sync::atomic::{AtomicU8, Ordering};
use execution::{Execution, Method};
use hetmp_sched::schedule::Kind;

pub(crate) use regions::{after_fork, known_pieces, learn_pieces};

/// The environment names one of our schedules, so that a program's `dynamic` and `guided` give way.
const REPLACE: u8 = 1;
/// Plain schedules are driven from here too.
const OBSERVE: u8 = 2;

static MODE: AtomicU8 = AtomicU8::new(0);

/// Can a loop of this kind, without an order, be one for [`schedule`]? The answer is no in every
/// program that does not use nodes, and costs it one load.
#[inline(always)]
pub(crate) fn may_replace(clause: Clause, run: RunSched) -> bool {
    // Relaxed: written when the runtime starts, before any loop; what it stands for is in `Globals`.
    let mode = MODE.load(Ordering::Relaxed);
    match clause {
        Clause::Runtime => mode & OBSERVE != 0 || run.kind.is_ours(),
        Clause::Dynamic | Clause::Guided => mode != 0,
        Clause::Static => false,
    }
}

/// Sets up what the environment asks for. Once, after [`nodes::configure`].
pub(crate) fn configure(globals: &Globals) {
    let mut mode = 0;
    if globals.icv.run_sched.kind.is_ours() {
        mode |= REPLACE;
    }
    if nodes::any_slowed() || report::wanted_by(globals) {
        mode |= OBSERVE;
    }
    MODE.store(mode, Ordering::Relaxed);
    report::configure(globals);
    if mode & REPLACE != 0 {
        source::configure(globals);
    }
    profile::configure(globals);
}

/// The schedule that takes the place of `plain` (what the program asked for, or what stands for it:
/// clause and chunk) in one execution of the loop `l` on `team`, if there is one. Called once an
/// execution, by the first thread to arrive, or by the one that is about to start the team.
#[cold]
pub(crate) fn schedule(
    th: &Thread,
    team: &Team,
    nthreads: u32,
    l: &Loop,
    run: RunSched,
    plain: (Clause, u64),
) -> Option<Box<dyn NodeSchedule>> {
    let globals = init::globals();
    let mode = MODE.load(Ordering::Relaxed);
    let chosen = match l.clause {
        Clause::Runtime if run.kind.is_ours() && !run.monotonic => Some(globals.schedule_of(run)),
        Clause::Dynamic | Clause::Guided if mode & REPLACE != 0 => {
            Some(globals.schedule_of(globals.icv.run_sched))
        }
        _ => None,
    };
    let method = match &chosen {
        Some(schedule) => {
            if mode & REPLACE == 0 {
                nodes::discover_late();
            }
            match schedule.executes_as().kind {
                Kind::HetProbe { probe } => Method::HetProbe { probe },
                Kind::HetProbeI { probe, jump } => Method::HetProbeI { probe, jump },
                Kind::StaticCsr { ratios } => Method::StaticCsr { ratios },
                Kind::CrossDynamic => Method::CrossDynamic {
                    chunk: schedule.chunk.unwrap_or(1),
                },
                // A `static-csr` without ratios, put together by the program.
                _ => Method::Plain(Clause::Static, 0),
            }
        }
        None if mode & OBSERVE != 0 => Method::Plain(plain.0, plain.1),
        None => return None,
    };
    // Not slowed meanwhile: a tick would be burned under the lock of all regions.
    th.slow.leave();
    let execution = Execution::new(&method, l, nthreads, |t| {
        team.members[t].node.get().saturating_sub(1)
    });
    th.slow.enter(th);
    Some(Box::new(execution))
}
