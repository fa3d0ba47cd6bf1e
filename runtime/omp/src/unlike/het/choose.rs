//! Which loops run under hetmp's own schedules, and under which.

use super::execution::Execution;
use super::report;
use super::settled::{plan_number, Next};
use crate::boundary::Reason;
use crate::icv::RunSched;
use crate::init;
use crate::team::members::Team;
use crate::thread::Thread;
use crate::unlike::modes::{self, OBSERVE, PROBE, REPLACE};
use crate::unlike::nodes;
use crate::worksharing::kinds::{Clause, Loop, NodeSchedule, Order, SchedKind, RUNTIME};
use hetmp_core::trace;
use hetmp_sched::blocks::Blocks;
use hetmp_sched::cache::magnitude;
use hetmp_sched::plain::static_piece;
use hetmp_sched::ranges::Range;
use hetmp_sched::schedule::{Kind, Modifier, Schedule};
use std::borrow::Cow;

/// Can [`schedule`] replace the schedule of a loop with this clause? (Loops whose iterations take turns do
/// not come here.) In a program that does not use nodes the answer is no, and costs one load.
#[inline(always)]
pub(crate) fn may_replace(clause: Clause, run: RunSched) -> bool {
    let mode = modes::loops();
    match clause {
        None => mode & OBSERVE != 0 || run.kind.is_ours(),
        Some(kind) => on_demand(kind) && mode != 0,
    }
}

/// The schedule of hetmp's own that a loop with this clause has, if `monotonic:` does not order its chunks.
pub(crate) fn unordered(clause: Clause, run: RunSched) -> Option<SchedKind> {
    let run = match clause {
        None => run,
        Some(kind) if on_demand(kind) && modes::loops() & REPLACE != 0 => {
            init::globals().icv.run_sched
        }
        Some(_) => return None,
    };
    (run.kind.is_ours() && run.modifier != Modifier::Monotonic).then_some(run.kind)
}

/// Does a clause with this word leave it to the run time which thread gets an iteration? hetmp's own schedules
/// replace only such words.
#[inline(always)]
fn on_demand(kind: SchedKind) -> bool {
    matches!(
        kind,
        SchedKind::Dynamic | SchedKind::Guided | SchedKind::Trapezoidal
    )
}

/// Does the loop run under `hetprobe`?
fn probes(clause: Clause, run: RunSched) -> bool {
    match clause {
        None => run.kind == SchedKind::HetProbe,
        Some(kind) => on_demand(kind) && modes::loops() & PROBE != 0,
    }
}

/// The program's own schedule, with its chunk size; 0: none.
fn programs_own((kind, chunk): (SchedKind, u64)) -> Schedule {
    Schedule {
        chunk: (chunk > 0).then_some(chunk),
        ..Schedule::plain(match kind {
            SchedKind::Dynamic => Kind::Dynamic,
            SchedKind::Guided | SchedKind::Trapezoidal => Kind::Guided,
            _ => Kind::Static,
        })
    }
}

/// Is a static division right for a loop with this clause, whatever its threads wait for? Yes where the program leaves
/// the schedule to the user. Threads of a dynamic loop may rely on others running all of it.
fn may_be_static(clause: Clause) -> bool {
    clause == RUNTIME
}

/// The iterations of `l` that no division separates: the chunks of a dynamic loop, and of a guided one whose chunks are
/// multiples of a size. Chunks of other guided loops begin anywhere.
fn blocks(l: &Loop) -> Blocks {
    let each = match l.clause {
        Some(SchedKind::Dynamic) => l.chunk,
        Some(_) if l.whole => l.chunk,
        _ => 1,
    };
    Blocks::new(l.bounds.trip_count(), each)
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
    let blocks = blocks(l);
    let n = blocks.count();
    // Nothing to divide, and nothing to learn about any division. A report counts every execution.
    if n == 1 && !report::wanted() {
        // A cursor moves between cores; a static loop's threads do without.
        return Some(if may_be_static(l.clause) && !nodes::told_apart() {
            Settled::Static
        } else {
            Settled::Cursor {
                chunk: blocks.length(1),
            }
        });
    }
    let mut kept = th.settled.borrow_mut();
    Some(match kept.next((l.key, n), (address(team), nthreads))? {
        Next::Pieces(known) => {
            pieces.clear();
            pieces.extend(known.iter().map(|&piece| blocks.iterations(piece)));
            Settled::Pieces
        }
        // A static loop's threads would cut chunks in two.
        Next::Static if blocks.are_long() => {
            let team = u64::from(nthreads);
            pieces.clear();
            pieces.extend((0..team).map(|t| blocks.iterations(static_piece(n, team, t))));
            Settled::Pieces
        }
        Next::Static => Settled::Static,
        // Threads that come early take the iterations that late threads would have got.
        Next::Cursor => Settled::Cursor {
            chunk: blocks.length(n.div_ceil(2 * u64::from(nthreads))),
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

/// The node schedule that replaces `plain` (the program's own kind and chunk size, or their equivalent) in one
/// execution of the loop `l` on `team`; `None` if none does. Called once for each execution, by the first
/// thread to arrive, or by the thread that is about to start the team.
#[cold]
pub(crate) fn schedule(
    th: &Thread,
    team: &Team,
    nthreads: u32,
    l: &Loop,
    run: RunSched,
    plain: (SchedKind, u64),
) -> Option<Box<dyn NodeSchedule>> {
    let globals = init::globals();
    let mode = modes::loops();
    let chosen = match l.clause {
        None if run.kind.is_ours() => Some(globals.schedule_of(run)),
        Some(kind) if on_demand(kind) && mode & REPLACE != 0 => {
            Some(globals.schedule_of(globals.icv.run_sched))
        }
        _ => None,
    };
    let said = match l.clause {
        None => run.modifier,
        Some(_) => globals.icv.run_sched.modifier,
    };
    let mut blocks = blocks(l);
    let mut chosen = match chosen {
        Some(chosen) => {
            if mode & REPLACE == 0 {
                nodes::discover_late(&globals.allowed);
            }
            chosen
        }
        None if mode & OBSERVE != 0 => {
            // The program's own chunks are counted in iterations.
            blocks = Blocks::new(l.bounds.trip_count(), 1);
            Cow::Owned(programs_own(plain))
        }
        None => return None,
    };
    let ascending = match l.order {
        Order::Monotonic => true,
        Order::Customary => said != Modifier::Nonmonotonic,
        _ => said == Modifier::Monotonic,
    };
    if ascending != (chosen.modifier == Modifier::Monotonic) {
        chosen.to_mut().modifier = if ascending {
            Modifier::Monotonic
        } else {
            Modifier::None
        };
    }
    let n = blocks.count();
    if let Some(chunk) = chosen.chunk.filter(|_| blocks.are_long()) {
        // Ours counts iterations, too.
        chosen.to_mut().chunk = Some(blocks.holding(chunk));
    }
    let number = plan_number(l.key, magnitude(n));
    // Emulated slowness must not last through this: a tick would be burned under the lock of all regions.
    th.leave_program(Reason::Pieces);
    let execution = Execution::new(&chosen, l.key, blocks, nthreads, |t| {
        team.members[t].node.get().saturating_sub(1)
    });
    // With a report, every execution is counted, so all take the full way.
    if !report::wanted() && l.key != 0 {
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
