//! Which loops hetmp's own schedules take in hand, and with which method.

use super::execution::{Execution, Method};
use super::settled::plan_number;
use super::{profile, report, source};
use crate::icv::{Globals, RunSched, SchedKind};
use crate::init;
use crate::team::region::Team;
use crate::thread::Thread;
use crate::unlike::nodes;
use crate::worksharing::loops::{Clause, Loop, NodeSchedule, Order};
use core::sync::atomic::{AtomicU8, Ordering};
use hetmp_core::trace;
use hetmp_sched::aid::Shape;
use hetmp_sched::ranges::Range;
use hetmp_sched::schedule::Kind;

/// The environment names one of our schedules, so that a program's `dynamic` and `guided` give way.
const REPLACE: u8 = 1;
/// Plain schedules are driven from here too.
const OBSERVE: u8 = 2;
/// The environment names `hetprobe`.
const PROBE: u8 = 4;

static MODE: AtomicU8 = AtomicU8::new(0);

/// Can a loop of this kind, whose iterations take no turns, be one for [`schedule`]? The answer is no in every
/// program that does not use nodes, and costs it one load.
#[inline(always)]
pub(crate) fn may_replace(clause: Clause, run: RunSched) -> bool {
    // Relaxed: written when the runtime starts, before any loop; what it stands for is in `Globals`.
    let mode = MODE.load(Ordering::Relaxed);
    match clause {
        Clause::Runtime => mode & OBSERVE != 0 || run.kind.is_ours(),
        Clause::Dynamic | Clause::Guided | Clause::GuidedWhole => mode != 0,
        Clause::Static => false,
    }
}

/// Sets up what the environment asks for. Once, after [`nodes::configure`].
pub(crate) fn configure(globals: &Globals) {
    let mut mode = 0;
    if globals.icv.run_sched.kind.is_ours() {
        mode |= REPLACE;
    }
    if globals.icv.run_sched.kind == SchedKind::HetProbe {
        mode |= PROBE;
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

/// Is `hetprobe` what the loop runs under?
fn probes(clause: Clause, run: RunSched) -> bool {
    match clause {
        Clause::Runtime => run.kind == SchedKind::HetProbe && !run.monotonic,
        Clause::Dynamic | Clause::Guided | Clause::GuidedWhole => {
            MODE.load(Ordering::Relaxed) & PROBE != 0
        }
        Clause::Static => false,
    }
}

/// Fills `pieces` with each thread's piece of one execution of the loop `l` on `team`, if the loop is
/// settled and runs in fixed pieces, and this execution need not be measured. Of loops for
/// which [`may_replace`] says yes, before [`schedule`].
#[inline]
pub(crate) fn settled(
    th: &Thread,
    team: &Team,
    nthreads: u32,
    l: &Loop,
    run: RunSched,
    pieces: &mut Vec<Range>,
) -> bool {
    if !probes(l.clause, run) || trace::on() {
        return false;
    }
    let mut kept = th.settled.borrow_mut();
    let Some(known) = kept.pieces(l.key, l.bounds.trip_count(), team, nthreads) else {
        return false;
    };
    pieces.clear();
    pieces.extend_from_slice(known);
    true
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
                nodes::discover_late();
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
                        // A `static-csr` without ratios, put together by the program.
                        None => Method::Plain(Clause::Static, 0),
                    }
                }
            }
        }
        None if mode & OBSERVE != 0 => Method::Plain(plain.0, plain.1),
        None => return None,
    };
    let plan = plan_number(l.key);
    // Not slowed meanwhile: a tick would be burned under the lock of all regions.
    th.slow.leave();
    let execution = Execution::new((&method, ascending), l, nthreads, |t| {
        team.members[t].node.get().saturating_sub(1)
    });
    if let Some(pieces) = execution.fixed_pieces() {
        // A report counts every execution.
        if !report::wanted() && l.key != 0 {
            let mut kept = th.settled.borrow_mut();
            kept.keep(l.key, l.bounds.trip_count(), team, plan, pieces);
        }
    }
    th.slow.enter(th);
    Some(Box::new(execution))
}
