//! Which loops run under hetmp's own schedules, and by which method.

use super::execution::Execution;
use super::report;
use super::schedule::Method;
use super::settled::{plan_number, Next};
use crate::boundary::Reason;
use crate::icv::{RunSched, SchedKind};
use crate::init;
use crate::team::members::Team;
use crate::thread::Thread;
use crate::unlike::modes::{self, OBSERVE, PROBE, REPLACE};
use crate::unlike::nodes;
use crate::worksharing::kinds::{Clause, Loop, NodeSchedule, Order};
use hetmp_core::trace;
use hetmp_sched::aid::Shape;
use hetmp_sched::cache::magnitude;
use hetmp_sched::ranges::Range;
use hetmp_sched::schedule::Kind;

/// Can [`schedule`] replace the schedule of a loop with this clause? (Loops whose iterations take turns do
/// not come here.) In a program that does not use nodes the answer is no, and costs one load.
#[inline(always)]
pub(crate) fn may_replace(clause: Clause, run: RunSched) -> bool {
    let mode = modes::loops();
    match clause {
        Clause::Runtime => mode & OBSERVE != 0 || run.kind.is_ours(),
        Clause::Dynamic | Clause::Guided | Clause::GuidedWhole => mode != 0,
        Clause::Static => false,
    }
}

/// Does the loop run under `hetprobe`?
fn probes(clause: Clause, run: RunSched) -> bool {
    match clause {
        Clause::Runtime => run.kind == SchedKind::HetProbe && !run.monotonic,
        Clause::Dynamic | Clause::Guided | Clause::GuidedWhole => modes::loops() & PROBE != 0,
        Clause::Static => false,
    }
}

/// Is a static division right for a loop with this clause, whatever its threads wait for? Yes where the program leaves
/// the schedule to the user. Threads of a dynamic loop may rely on others running all of it.
fn may_be_static(clause: Clause) -> bool {
    clause == Clause::Runtime
}

/// How this execution of the loop `l` on `team` is handed out, if the loop is settled and this execution need
/// not be measured. If it runs in fixed pieces, `pieces` holds each thread's piece afterwards. Call this
/// before [`schedule`], for loops that [`may_replace`] accepts.
#[inline]
pub(crate) fn settled(
    th: &Thread,
    team: &Team,
    nthreads: u32,
    l: &Loop,
    run: RunSched,
    pieces: &mut Vec<Range>,
) -> Option<Settled> {
    if !probes(l.clause, run) || trace::on() {
        return None;
    }
    let n = l.bounds.trip_count();
    // Nothing to divide, and nothing to learn about any division. A report counts every execution.
    if n == 1 && !report::wanted() {
        // A cursor moves between cores; a static loop's threads do without.
        return Some(if may_be_static(l.clause) && !nodes::told_apart() {
            Settled::Static
        } else {
            Settled::Cursor { chunk: 1 }
        });
    }
    let mut kept = th.settled.borrow_mut();
    Some(match kept.next((l.key, n), (address(team), nthreads))? {
        Next::Pieces(known) => {
            pieces.clear();
            pieces.extend_from_slice(known);
            Settled::Pieces
        }
        Next::Static => Settled::Static,
        // Threads that come early take the iterations that late threads would have got.
        Next::Cursor => Settled::Cursor {
            chunk: n.div_ceil(2 * u64::from(nthreads)),
        },
    })
}

/// How an execution of a settled loop is handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// One piece for each thread.
    Pieces,
    /// As a plain static loop.
    Static,
    /// Chunks of one size, from one cursor.
    Cursor {
        /// Iterations in a chunk, at least 1.
        chunk: u64,
    },
}

/// The node schedule that replaces `plain` (the program's own clause and chunk, or their equivalent) in one
/// execution of the loop `l` on `team`; `None` if none does. Called once for each execution, by the first
/// thread to arrive, or by the thread that is about to start the team.
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
    let mode = modes::loops();
    let chosen = match l.clause {
        Clause::Runtime if run.kind.is_ours() => Some(globals.schedule_of(run)),
        Clause::Dynamic | Clause::Guided | Clause::GuidedWhole if mode & REPLACE != 0 => {
            Some(globals.schedule_of(globals.icv.run_sched))
        }
        _ => None,
    };
    let said = match l.clause {
        Clause::Runtime => run.monotonic,
        _ => globals.icv.run_sched.monotonic,
    };
    let ascending = said || l.order == Order::Monotonic;
    let method = match &chosen {
        Some(schedule) => {
            if mode & REPLACE == 0 {
                nodes::discover_late(&globals.allowed);
            }
            match schedule.executes_as().kind {
                Kind::HetProbe { probe } => Method::HetProbe { probe },
                Kind::HetProbeI { probe, jump } => Method::HetProbeI { probe, jump },
                Kind::StaticCsr { ratios } => Method::StaticCsr { ratios },
                Kind::CrossDynamic => Method::CrossDynamic {
                    chunk: schedule.chunk.unwrap_or(1),
                },
                kind => {
                    let chunk = schedule.chunk.unwrap_or(1);
                    match Shape::of(&kind, chunk) {
                        Some(shape) => Method::Aid { shape, chunk },
                        // The program selected `static-csr`, but the environment has no ratios.
                        None => Method::Plain(Clause::Static, 0),
                    }
                }
            }
        }
        None if mode & OBSERVE != 0 => Method::Plain(plain.0, plain.1),
        None => return None,
    };
    let number = plan_number(l.key, magnitude(l.bounds.trip_count()));
    // Emulated slowness must not last through this: a tick would be burned under the lock of all regions.
    th.leave_program(Reason::Pieces);
    let execution = Execution::new((&method, ascending), l, nthreads, |t| {
        team.members[t].node.get().saturating_sub(1)
    });
    // With a report, every execution is counted, so all take the full way.
    if !report::wanted() && l.key != 0 {
        let n = l.bounds.trip_count();
        if let Some(way) = execution.settled(n, nthreads, may_be_static(l.clause)) {
            let mut kept = th.settled.borrow_mut();
            kept.keep((l.key, n), (address(team), nthreads), number, way);
        }
    }
    th.enter_program(Reason::Pieces);
    Some(Box::new(execution))
}

/// A team's identity in this module: its address.
fn address(team: &Team) -> usize {
    core::ptr::from_ref(team) as usize
}
