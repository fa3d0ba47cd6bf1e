//! Parallel regions as teams of virtual threads: how HetProbe reaches loops that compilers divide
//! themselves.
//!
//! gcc turns a loop without a schedule clause into arithmetic on the thread number and the number
//! of threads, inside the outlined function. A runtime that is to place such a loop can only change
//! what the two queries answer: it calls the outlined function more often than there are threads, and
//! each call is a piece of the loop that can be measured and placed.
//!
//! * [`announce`]: the size of team that the program is told.
//! * [`fit`]: does the region allow that? From its machine code (`hetmp-scan`).
//! * [`regions`]: what was found out about it when it ran, and whether it gains.
//! * [`run`]: the team, and how it runs a region.
//! * [`fiber`]: its real threads (*runners*), and stacks that they can leave; [`switch`] and
//!   [`exceptions`]: what that takes. [`join`]: threads that come in addition.
//! * [`watchdog`]: against waits that the runtime does not see.
//! * [`lever`]: the words for all this in reports.
//!
//! **Data in**: regions from [`crate::team::parallel`], speeds of nodes from the probe cache
//! ([`crate::het`]), in which a region counts as a loop whose iterations are its virtual threads.
//! **Data out**: the same region as one of [`run::VirtualTeam::run`], or left as it was; measurements
//! to the probe cache; times and reasons to the report.
//!
//! Only in use where one of hetmp's own schedules is named, on several nodes: elsewhere a region looks
//! at one byte ([`watches`]).

mod announce;
mod exceptions;
mod fiber;
mod fit;
mod join;
mod lever;
mod regions;
mod run;
mod switch;
mod watchdog;

use crate::het::{self, report};
use crate::icv::{Globals, ProcBind, SchedKind, StaticLoops, UNLIMITED_THREADS};
use crate::team::{self, Prepare, Region};
use crate::thread::Thread;
use crate::{init, nodes, query};
use core::sync::atomic::{AtomicU8, Ordering};
use hetmp_core::sys::monotonic_ns;
use hetmp_sched::decide::{decide, NodeInput, Rules};
use hetmp_sched::record::{Learning, LoopRecord, Tally};
use hetmp_sched::schedule::Kind;
use hetmp_sched::virtual_team::pieces;
use regions::Turn;
use std::sync::Arc;

pub(crate) use fiber::Runner;
pub(crate) use lever::{Guard, Lever};
pub(crate) use run::{barrier, wait_for_lock, wait_for_others, VirtualTeam};

/// Regions may be run as virtual teams.
const LEVERS: u8 = 1;
/// Regions are timed for the report.
const REPORT: u8 = 2;
/// Also where nothing is to be gained.
const FORCE: u8 = 4;

/// Also where the program asked for a number of threads.
const WIDE: u8 = 8;

static MODE: AtomicU8 = AtomicU8::new(0);

/// Most virtual threads of a team.
const MOST_PIECES: u32 = 4096;

/// Is anything to be done about regions? One load, in every program.
#[inline(always)]
pub(crate) fn watches() -> bool {
    // Relaxed: written when the runtime starts, before any region.
    MODE.load(Ordering::Relaxed) != 0
}

/// Sets up what the environment asks for. Once, after the nodes and the report.
pub(crate) fn configure(globals: &Globals) {
    let mut mode = 0;
    if report::wanted() {
        mode |= REPORT;
    }
    if globals.icv.run_sched.kind.is_ours() && switch::AVAILABLE {
        match globals.ours.static_loops {
            StaticLoops::Off => {}
            StaticLoops::Auto if nodes::count() > 1 => mode |= LEVERS,
            StaticLoops::Wide if nodes::count() > 1 => mode |= LEVERS | WIDE,
            StaticLoops::Auto | StaticLoops::Wide => {}
            StaticLoops::Force => mode |= LEVERS | FORCE,
        }
    }
    MODE.store(mode, Ordering::Relaxed);
}

/// The number of threads to tell the program (`omp_get_max_threads`), where the thread's own variable
/// says `nthreads`.
#[inline]
pub(crate) fn told_threads(nthreads: u32) -> u32 {
    if MODE.load(Ordering::Relaxed) & LEVERS != 0 && !query::icv().nthreads_set {
        announce::tell(nthreads)
    } else {
        nthreads
    }
}

/// The program has learned how many cores there are, and may rely on it.
#[inline]
pub(crate) fn told_cores() {
    if MODE.load(Ordering::Relaxed) & LEVERS != 0 {
        announce::bound();
    }
}

/// In the child of a fork, whose only thread is `th`.
pub(crate) fn after_fork(th: &Thread) {
    // Its runners stayed behind, and the fibers are theirs.
    if let Ok(mut team) = th.virtual_team.try_borrow_mut() {
        core::mem::forget(team.take());
    }
    if !watchdog::after_fork() || !regions::after_fork() {
        MODE.fetch_and(!LEVERS, Ordering::Relaxed);
    }
}

/// How a virtual team runs a region.
#[derive(Debug)]
pub(crate) struct How {
    /// Virtual threads.
    pieces: u32,
    /// Real threads.
    runners: u32,
    /// Virtual threads have stacks of their own.
    fibers: bool,
    /// No stealing.
    keep: bool,
    /// What each runner gets of the virtual threads, in proportion.
    weights: Vec<f64>,
    /// Nanoseconds that each runner needs for one; 0: not known.
    paces: Vec<f64>,
}

/// How a region is to run.
enum Plan {
    Ordinary {
        lever: Lever,
        /// Its time is wanted for comparison.
        compare: bool,
        /// A team smaller than the program was told is right for it, too.
        smaller_fits: bool,
    },
    Virtual {
        fibers: bool,
        suspends: bool,
        runners: u32,
        pieces: u32,
    },
}

/// Runs `region` one way or the other. The way of [`team::parallel`] where [`watches`] is true.
///
/// # Safety
/// As for [`team::fork`].
#[cold]
pub(crate) unsafe fn parallel(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    if init::forked() {
        init::after_fork(th);
    }
    // A target region begins at level 0 again, wherever it is.
    let outermost = th.team().level() == 0 && th.runner.get().is_null();
    let address = region.f as usize;
    let started = monotonic_ns();
    // The size that the program counts on.
    let announced = if outermost && region.asked == 0 && region.nthreads > 1 {
        announced(th, region)
    } else {
        None
    };
    let sized = Region {
        nthreads: announced.unwrap_or(region.nthreads),
        ..*region
    };
    let plan = if first.is_some() {
        Plan::Ordinary {
            lever: if region.nthreads == 1 {
                Lever::Plain(Guard::OneThread)
            } else if init::globals().icv.run_sched.kind.is_ours() {
                Lever::Dispatched
            } else {
                Lever::Plain(Guard::Off)
            },
            compare: false,
            smaller_fits: true,
        }
    } else {
        plan(th, &sized)
    };
    let (lever, threads, pieces, size) = match plan {
        Plan::Virtual {
            fibers,
            suspends,
            runners,
            pieces,
        } => {
            // SAFETY: the caller's promise.
            match unsafe { run_virtual(th, &sized, fibers, suspends, runners, pieces) } {
                Some(lever) => (lever, runners, pieces, pieces),
                None => {
                    // SAFETY: the caller's promise.
                    let n = unsafe { team::ordinary(th, &sized, None) };
                    (Lever::Plain(Guard::Unforeseen), n, 0, n)
                }
            }
        }
        Plan::Ordinary {
            lever,
            compare,
            smaller_fits,
        } => {
            let region = if smaller_fits { region } else { &sized };
            // SAFETY: the caller's promise.
            let n = unsafe { team::ordinary(th, region, first) };
            if compare {
                regions::learn_ordinary(address, sized.nthreads, monotonic_ns() - started);
            }
            (lever, n, 0, n)
        }
    };
    if outermost && MODE.load(Ordering::Relaxed) & REPORT != 0 {
        report::region(address, lever, threads, pieces, monotonic_ns() - started);
    }
    size
}

/// The size of an outermost region without a `num_threads` clause, if the program was told one.
fn announced(th: &Thread, region: &Region) -> Option<u32> {
    if MODE.load(Ordering::Relaxed) & LEVERS == 0 {
        return None;
    }
    let told = announce::told();
    if told.is_none() {
        announce::bound();
    }
    let icv = th.task().icv();
    told.filter(|_| {
        // What compiled code has prepared for a number of threads stays so.
        region.group.is_null()
            && !icv.nthreads_set
            && !icv.dynamic
            && icv.thread_limit == UNLIMITED_THREADS
    })
}

fn plan(th: &Thread, region: &Region) -> Plan {
    match judge(th, region) {
        Ok(plan) => plan,
        Err(lever) => Plan::Ordinary {
            lever,
            compare: lever == Lever::Plain(Guard::NoGain),
            smaller_fits: regions::smaller_fits(region.f as usize, region.nthreads),
        },
    }
}

fn judge(th: &Thread, region: &Region) -> Result<Plan, Lever> {
    let no = |guard| Err(Lever::Plain(guard));
    let mode = MODE.load(Ordering::Relaxed);
    let globals = init::globals();
    if mode & LEVERS == 0 {
        let ours = globals.icv.run_sched.kind.is_ours();
        let off = !ours || globals.ours.static_loops == StaticLoops::Off;
        return no(if off { Guard::Off } else { Guard::AlikeNodes });
    }
    if region.nthreads == 1 {
        return no(Guard::OneThread);
    }
    if th.team().level() > 0 || !th.runner.get().is_null() {
        return no(Guard::Nested);
    }
    if globals.cancellation {
        return no(Guard::Cancellation);
    }
    if !region.group.is_null() {
        return no(Guard::Tasks);
    }
    let icv = th.task().icv();
    if icv.thread_limit != UNLIMITED_THREADS {
        return no(Guard::ThreadLimit);
    }
    if region.bind & 7 != 0 || icv.bind != ProcBind::False || !globals.places.is_empty() {
        return no(Guard::Bound);
    }
    let address = region.f as usize;
    let known = regions::of(address, region.nthreads);
    if let Some(lever) = known.fit.never {
        return Err(lever);
    }
    let runners = region.nthreads.min(globals.available_cpus.max(2));
    let pieces = match known.fit.any_size {
        Ok(()) if announce::told() != Some(region.nthreads) => {
            let asked = region.asked != 0 || icv.nthreads_set;
            if asked && mode & WIDE == 0 && region.nthreads <= runners {
                return no(Guard::Asked);
            }
            if asked && mode & WIDE == 0 {
                region.nthreads
            } else {
                pieces(runners, MOST_PIECES)
            }
        }
        // Of the size that the program asked for or was told, a virtual team fits anything.
        _ if region.nthreads > runners => region.nthreads,
        Ok(()) => pieces(runners, MOST_PIECES),
        Err(guard) => return no(guard),
    };
    let force = mode & FORCE != 0;
    match regions::turn(address, region.nthreads, !force) {
        Turn::Virtual => Ok(Plan::Virtual {
            fibers: !known.fit.waits_for_nobody,
            suspends: known.suspends,
            runners,
            pieces,
        }),
        Turn::Ordinary(guard) => no(guard),
    }
}

/// Runs `region` as a virtual team. `None`: that cannot be, and nothing has happened.
///
/// # Safety
/// As for [`team::fork`].
unsafe fn run_virtual(
    th: &Thread,
    region: &Region,
    fibers: bool,
    suspends: bool,
    runners: u32,
    pieces: u32,
) -> Option<Lever> {
    let address = region.f as usize;
    let threads = runners as usize;
    let (key, placement, known) = het::known_pieces(address, pieces, threads, nodes::of_thread);
    let known_rate = |t: usize| {
        let rate = known.as_ref()?.rates.get(placement.node_of(t)).copied()?;
        rate.map(|r| r.ns_per_iteration)
    };
    let plan = known.as_ref().and_then(|k| k.plan.clone());
    let globals = init::globals();
    let (weights, keep): (Vec<f64>, bool) = match (&globals.schedule.kind, &plan) {
        (Kind::StaticCsr { ratios }, _) => {
            let ratio = |t| ratios.get(placement.node_of(t)).copied().unwrap_or(0.0);
            ((0..threads).map(ratio).collect(), true)
        }
        (Kind::HetProbe { .. } | Kind::HetProbeI { .. }, Some(plan)) => {
            let shares: Vec<f64> = plan.shares().collect();
            let share = |t| {
                let node = placement.node_of(t);
                let here = placement.nodes()[node].threads;
                shares.get(node).copied().unwrap_or(0.0) / f64::from(here.max(1))
            };
            // One node alone is not helped by the others.
            (
                (0..threads).map(share).collect(),
                suspends || plan.one_node().is_some(),
            )
        }
        (Kind::HetProbe { .. } | Kind::HetProbeI { .. }, None) => {
            // By what earlier executions measured, if they did.
            let speed = |t| known_rate(t).map_or(1.0, |ns| 1.0 / ns);
            let all = (0..threads).all(|t| known_rate(t).is_some());
            (
                (0..threads)
                    .map(|t| if all { speed(t) } else { 1.0 })
                    .collect(),
                false,
            )
        }
        _ => (vec![1.0; threads], false),
    };
    let how = How {
        pieces,
        runners,
        fibers,
        keep,
        weights,
        paces: (0..threads).map(|t| known_rate(t).unwrap_or(0.0)).collect(),
    };
    let team: *const VirtualTeam = {
        let mut mine = th.virtual_team.try_borrow_mut().ok()?;
        if !mine
            .as_ref()
            .is_some_and(|t| t.is_for(how.pieces, how.runners))
        {
            *mine = Some(VirtualTeam::new(how.pieces, how.runners));
        }
        &**mine.as_ref()?
    };
    // SAFETY: made above, and nobody else uses it.
    if fibers && !unsafe { &*team }.reserve_stacks() {
        return None;
    }
    // SAFETY: only this thread replaces its team, and not while it is in this region: a region
    // inside of it is not outermost, and keeps an ordinary team.
    let team = unsafe { &*team };
    team.prepare(th, region.f, region.data, &how);
    let watch = watchdog::watch(team)?;
    let started = monotonic_ns();
    let real = Region {
        f: VirtualTeam::run,
        data: core::ptr::from_ref(team).cast_mut().cast(),
        nthreads: runners,
        asked: region.asked,
        bind: region.bind,
        group: region.group,
    };
    // SAFETY: the team is prepared for these threads; the caller's promise for the rest.
    unsafe { team::ordinary(th, &real, None) };
    drop(watch);
    let ns = monotonic_ns() - started;
    let outcome = team.outcome();
    let force = MODE.load(Ordering::Relaxed) & FORCE != 0;
    regions::learn_virtual(address, region.nthreads, ns, &outcome, force);
    if matches!(
        globals.icv.run_sched.kind,
        SchedKind::HetProbe | SchedKind::HetProbeI
    ) {
        let tally = Tally::new(threads);
        for (t, &(busy, begun)) in outcome.runners.iter().enumerate() {
            tally.arrive(t);
            tally.add(t, u64::from(begun));
            tally.leave(t, busy);
        }
        let mut record = LoopRecord::new(
            globals.schedule.kind.clone(),
            u64::from(pieces),
            &placement,
            &tally,
        );
        record.elapsed_ns = ns;
        record.learning = if plan.is_some() {
            Learning::Settled
        } else if record
            .nodes
            .iter()
            .all(|n| n.threads == 0 || n.iterations > 0)
        {
            Learning::Probed
        } else {
            Learning::Undecided
        };
        record.decision = plan.or_else(|| {
            let inputs: Vec<NodeInput> = record
                .nodes
                .iter()
                .map(|n| NodeInput {
                    threads: n.threads,
                    rate: n.rate(),
                    ..NodeInput::default()
                })
                .collect();
            Some(Arc::new(decide(&inputs, &Rules::default())))
        });
        het::learn_pieces(key, record);
    }
    Some(if outcome.suspended {
        Lever::Fibers
    } else {
        Lever::VirtualTeam
    })
}
