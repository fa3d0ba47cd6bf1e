//! Runs each region as [`plan`](super::plan) says: as a virtual team, as an ordinary team, or by its primary
//! thread alone.

use super::disturbance::Begun;
use super::job::{Expanded, How, Outcome};
use super::opened::{Construct, Opened};
use super::plan::{announced, is_left_to_itself, left_alone, plan, Plan, Virtual};
use super::run::VirtualTeam;
use super::unasked::Pass;
use super::uneven::{self, Uneven};
use super::{announce, even, reader, regions, watchdog};
use crate::icv::Icv;
use crate::init;
use crate::team::region::{self as team, Prepare, Region};
use crate::thread::Thread;
use crate::unlike::het::known;
use crate::unlike::het::report::{self, RegionRun};
use crate::unlike::modes::{self, EVEN, FORCE, REPORT, VIRTUAL};
use crate::unlike::nodes;
use core::sync::atomic::Ordering;
use hetmp_core::float;
use hetmp_core::sys::{monotonic_ns, ticks};
use hetmp_core::whole::OnceLock;
use hetmp_sched::deal::{self, Deal};
use hetmp_sched::even::Seen;
use hetmp_sched::limits::LONGEST_PERIOD;
use hetmp_sched::ways::{Reason, Way};

/// The number of threads to tell the program (`omp_get_max_threads`), whose variables are `icv`.
#[inline]
pub(crate) fn told_threads(icv: &Icv) -> u32 {
    let mode = modes::regions();
    if mode & VIRTUAL == 0 || !announce::is_for(icv) {
        return icv.nthreads;
    }
    if mode & EVEN != 0 {
        // Most likely nothing can be gained, and a larger number, once told, would have to be kept to.
        announce::bound();
    }
    announce::tell(icv.nthreads)
}

/// Starts the clock of regions. Called once, before the first region that is looked at.
pub(crate) fn prepare() {
    if modes::regions() & VIRTUAL != 0 {
        BEGAN.get_or_init(|| (ticks(), monotonic_ns()));
    }
}

/// The program has learned the number of cores, and may rely on it.
#[inline]
pub(crate) fn told_cores() {
    if modes::regions() & VIRTUAL != 0 {
        announce::bound();
    }
}

/// Called in the child of a fork, whose only thread is `th`.
pub(crate) fn after_fork(th: &Thread) {
    // The team's runners stayed in the parent process, and with them their fibers.
    if let Ok(mut team) = th.virtual_team.try_borrow_mut() {
        core::mem::forget(team.take());
    }
    watchdog::after_fork();
    reader::after_fork();
}

/// Runs `region` in one way or another. [`crate::team::placement::parallel`] comes here if [`modes::watches`]
/// is true.
///
/// # Safety
/// The same as for [`team::fork`].
#[cold]
pub(crate) unsafe fn parallel(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    // A target region begins at level 0 again, wherever it is.
    if th.team().level() == 0 && !th.is_runner() {
        // SAFETY: `placement` passes a region that compiled code made for all threads.
        unsafe { outermost(th, region, first) }
    } else {
        // SAFETY: `placement` passes a region that compiled code made for all threads. (A region inside of
        // others runs as an ordinary team. It is opened here and not in `outermost`, which takes more room on
        // the stack than all the rest: thousands of such regions may lie on the stack at once.)
        unsafe { team::ordinary(th, region, first) }
    }
}

/// How a region ran.
struct Ran {
    way: Way,
    threads: u32,
    pieces: u32,
    /// The number of threads that the program has seen.
    size: u32,
}

impl Ran {
    fn ordinary(way: Way, threads: u32) -> Ran {
        Ran {
            way,
            threads,
            pieces: 0,
            size: threads,
        }
    }

    /// Notes the region for the report. `construct`: that it began with. `divided_ns`: what hetmp's schedules divided.
    fn report(self, code: usize, construct: Construct, elapsed_ns: u64, divided_ns: u64) {
        let run = RegionRun {
            way: construct.way(self.way, self.threads, divided_ns),
            threads: self.threads,
            pieces: self.pieces,
            elapsed_ns,
            divided_ns,
        };
        report::region(code, run);
    }
}

/// Runs a region that is not inside of another one.
///
/// # Safety
/// The same as for [`team::fork`].
#[cold]
#[inline(never)]
unsafe fn outermost(th: &Thread, region: &Region, first: Option<Prepare<'_>>) -> u32 {
    let reports = modes::regions() & REPORT != 0;
    // The program may rely on the size.
    let relies = region.asked == 0 && region.nthreads > 1;
    if !reports {
        if relies {
            // The region may have run before the program asks for the number of threads.
            announce::bound();
        }
        if first.is_some() {
            // SAFETY: as this function's contract says, here and below.
            return unsafe { team::ordinary(th, region, first) };
        }
        // SAFETY: see above.
        if let Some(threads) = unsafe { unasked(th, region) } {
            return threads;
        }
    }
    if first.is_none() && is_left_to_itself(th, region) {
        // SAFETY: see above.
        return unsafe { timed(th, region) };
    }
    let started = monotonic_ns();
    let announced = relies.then(|| announced(th, region)).flatten();
    let sized = Region {
        nthreads: announced.unwrap_or(region.nthreads),
        ..*region
    };
    let mut construct = Construct::None;
    // SAFETY: see above. `plan` says what the region's code allows.
    let ran = unsafe {
        match first {
            Some(prepare) => {
                let mut prepare = construct.watch(prepare);
                let threads = team::ordinary(th, region, Some(&mut prepare));
                // The construct gives a better reason, see `Construct::way`.
                Ran::ordinary(Way::Ordinary(Reason::Schedule), threads)
            }
            None => match float::apart(|| plan(th, &sized)) {
                Plan::Virtual(how) => in_pieces(th, &sized, &how),
                Plan::Uneven {
                    copy,
                    trial,
                    tested,
                } => run_uneven(th, region, copy, trial, tested),
                Plan::TeamOfOne { trial } => run_one(th, &sized, trial),
                Plan::Ordinary {
                    way,
                    compare,
                    smaller_fits,
                } => {
                    let team = if smaller_fits { region } else { &sized };
                    // If another size was announced, a team of this size must be right for any code that may be at this
                    // address next time.
                    let lasts =
                        announced.is_none() || smaller_fits && announce::is_in_program(region.code);
                    run_ordinary(
                        th,
                        team,
                        sized.nthreads,
                        (way, compare),
                        lasts.then_some(region.nthreads),
                    )
                }
            },
        }
    };
    let size = ran.size;
    if reports {
        let divided_ns = divided(th);
        ran.report(region.code, construct, monotonic_ns() - started, divided_ns);
    }
    size
}

/// Runs a region of which it was said that its next executions need not ask, and returns its size. `None`: it has to
/// ask, and nothing has happened.
///
/// # Safety
/// The same as for [`team::fork`].
unsafe fn unasked(th: &Thread, region: &Region) -> Option<u32> {
    match th.unasked.may_pass(region.code, region.nthreads) {
        // SAFETY: `placement` passes a region that compiled code made for all threads.
        Pass::Ordinary => Some(unsafe { team::ordinary(th, region, None) }),
        Pass::TeamOfOne { longest } => {
            let started = ticks();
            // SAFETY: see above.
            unsafe { team::of_one(th, region) };
            let took = ticks().wrapping_sub(started);
            if took > longest {
                let unused = th.unasked.take_back(region.code);
                float::apart(|| took_long_alone(th, region, took, unused));
            }
            Some(region.nthreads)
        }
        Pass::No => None,
    }
}

/// Runs `region` as virtual threads, or as an ordinary team where that turns out to be impossible.
///
/// # Safety
/// The same as for [`team::fork`].
unsafe fn in_pieces(th: &Thread, region: &Region, how: &Virtual) -> Ran {
    // SAFETY: `placement` passes a region that compiled code made for all threads.
    let ran = unsafe {
        if how.alone {
            run_alone(th, region, how)
        } else {
            run_virtual(th, region, how)
        }
    };
    match ran {
        Some(way) => Ran {
            way,
            threads: if how.alone { 1 } else { how.runners },
            pieces: how.pieces,
            size: how.pieces,
        },
        None => {
            // SAFETY: see above.
            let threads = unsafe { team::ordinary(th, region, None) };
            Ran::ordinary(Way::Ordinary(Reason::Unforeseen), threads)
        }
    }
}

/// Runs `region` as a team of one.
///
/// # Safety
/// The same as for [`team::of_one`].
unsafe fn run_one(th: &Thread, region: &Region, trial: bool) -> Ran {
    // Only in a trial: asking whether an execution was disturbed would itself disturb a settled region.
    let begun = Begun::now(trial);
    // SAFETY: by this function's contract.
    unsafe { team::of_one(th, region) };
    let (ns, disturbed) = begun.ended();
    float::apart(|| {
        let rest = regions::learn_team_of_one(region.code, region.nthreads, ns, disturbed, 0);
        if modes::regions() & REPORT == 0 {
            pass_alone(th, region, rest);
        }
    });
    Ran {
        size: region.nthreads,
        ..Ran::ordinary(Way::Alone, 1)
    }
}

/// Runs `team`, a region that is known with `sized` threads, as an ordinary team because of `way`. `compare`: its time
/// is compared with another way's; `Some(true)`: in haste. `lasts`: with this many threads it may be right not to ask
/// for some time.
///
/// # Safety
/// The same as for [`team::ordinary`].
unsafe fn run_ordinary(
    th: &Thread,
    team: &Region,
    sized: u32,
    (way, compare): (Way, Option<bool>),
    lasts: Option<u32>,
) -> Ran {
    let begun = compare.map(|haste| Begun::now(!haste));
    // SAFETY: by this function's contract.
    let threads = unsafe { team::ordinary(th, team, None) };
    let rest = match begun {
        Some(begun) => {
            let (ns, disturbed) = begun.ended();
            float::apart(|| regions::learn_ordinary(team.code, sized, ns, disturbed))
        }
        // It may have been read when it runs next.
        None if way == Way::Ordinary(Reason::Unread) => 0,
        // Its code or its clauses keep it; other code may come to its address.
        None => LONGEST_PERIOD,
    };
    if let (Some(size), false) = (lasts, rest == 0 || modes::regions() & REPORT != 0) {
        th.unasked.let_pass(team.code, size, rest);
    }
    Ran::ordinary(way, threads)
}

/// Runs `region` as an ordinary team and measures its threads' times.
///
/// # Safety
/// The same as for [`team::fork`].
unsafe fn timed(th: &Thread, region: &Region) -> u32 {
    if region.asked == 0 && region.nthreads > 1 {
        // From now on an array of the program may have the region's size.
        announce::bound();
    }
    let address = region.code;
    let started = monotonic_ns();
    // SAFETY: by this function's contract compiled code made the region for all threads.
    let (threads, busy) = unsafe { uneven::timed(th, region, region.entry) };
    let elapsed_ns = monotonic_ns() - started;
    let may_pass = modes::regions() & REPORT == 0;
    let rest = float::apart(|| {
        let ns = |ticks: u64| ticks as f64 / ticks_per_ns();
        let times = Seen {
            elapsed_ns: elapsed_ns as f64,
            most_ns: ns(busy.iter().copied().max().unwrap_or(0)),
            mean_ns: ns(busy.iter().sum()) / f64::from(threads.max(1)),
        };
        let key = (address, region.nthreads);
        even::learn(key, &times, may_pass)
    });
    if may_pass {
        if rest != 0 {
            th.unasked.let_pass(address, region.nthreads, rest);
        }
        return threads;
    }
    let even = Ran::ordinary(Way::Ordinary(Reason::Even), threads);
    even.report(address, Construct::None, elapsed_ns, divided(th));
    threads
}

/// Number of [`ticks`] in a nanosecond.
fn ticks_per_ns() -> f64 {
    let (tick, ns) = *BEGAN.get_or_init(|| (ticks(), monotonic_ns()));
    let passed = monotonic_ns().saturating_sub(ns);
    if passed < 1000 {
        // The clock has only just started: count no time as too long.
        return f64::MAX;
    }
    ticks().wrapping_sub(tick) as f64 / passed as f64
}

/// Ticks and nanoseconds of the moment when regions were first watched.
static BEGAN: OnceLock<(u64, u64)> = OnceLock::new();

/// Lets `region` run as a team of one for a number of times without asking here.
fn pass_alone(th: &Thread, region: &Region, (times, longest_ns): (u32, f64)) {
    if times != 0 {
        let longest = (longest_ns * ticks_per_ns()) as u64;
        th.unasked
            .let_pass_alone(region.code, region.nthreads, times, longest);
    }
}

/// `region` ran as a team of one without asking here, and took too long.
#[cold]
fn took_long_alone(th: &Thread, region: &Region, took: u64, unused: u32) {
    let ns = took as f64 / ticks_per_ns();
    let rest = regions::learn_team_of_one(region.code, region.nthreads, ns as u64, false, unused);
    pass_alone(th, region, rest);
}

/// Takes the nanoseconds that the region that the thread has just left spent in loops that hetmp's schedules
/// divide.
fn divided(th: &Thread) -> u64 {
    let pools = th.pools.borrow();
    pools
        .get(th.depth.get())
        .map_or(0, |pool| pool.team.divided_ns.swap(0, Ordering::Relaxed))
}

/// Opens `region`; [`crate::team::placement::open`] comes here if [`modes::watches`] is true. The caller runs
/// its own part of the region between this call and [`close`], on its own stack. So the outlined function
/// cannot be called more often than there are threads, and the region keeps an ordinary team.
///
/// # Safety
/// The same as for [`team::fork`].
#[cold]
pub(crate) unsafe fn open(th: &Thread, region: &Region, first: Option<Prepare<'_>>) {
    let mode = modes::regions();
    let outermost = th.team().level() == 0 && !th.is_runner();
    if mode & VIRTUAL != 0 && outermost && region.nthreads > 1 {
        // The region has the size of an ordinary team, which the program may keep. (A region of one thread, whose
        // `if` clause is false, says nothing about that size.)
        announce::bound();
    }
    let started = monotonic_ns();
    let mut construct = Construct::None;
    let mut prepare = first.map(|prepare| construct.watch(prepare));
    let first = prepare.as_mut().map(|p| p as Prepare<'_>);
    // SAFETY: `placement` passes a region that compiled code made for all threads.
    let threads = unsafe { team::fork(th, region, first) };
    drop(prepare);
    if outermost && mode & REPORT != 0 {
        th.opened.set(Some(Opened {
            code: region.code,
            threads,
            started,
            construct,
        }));
    }
}

/// The thread has ended a region that it opened by [`open`].
#[cold]
pub(crate) fn close(th: &Thread) {
    if th.team().level() > 0 {
        return;
    }
    if let Some(opened) = th.opened.take() {
        let divided_ns = divided(th);
        let reason = left_alone(opened.threads).unwrap_or(Reason::Inline);
        let elapsed_ns = monotonic_ns() - opened.started;
        let ran = Ran::ordinary(Way::Ordinary(reason), opened.threads);
        ran.report(opened.code, opened.construct, elapsed_ns, divided_ns);
    }
}

/// The calling thread's team of `pieces` virtual threads on `runners` real ones. It is kept until a team of
/// another size is needed. `None`: the thread is just replacing it.
fn team_for(th: &Thread, pieces: u32, runners: u32) -> Option<*const VirtualTeam> {
    let mut mine = th.virtual_team.try_borrow_mut().ok()?;
    let kept = mine.as_ref().and_then(|t| t.downcast_ref::<VirtualTeam>());
    if !kept.is_some_and(|t| t.is_for(pieces, runners)) {
        *mine = Some(VirtualTeam::new(pieces, runners));
    }
    mine.as_ref()?.downcast_ref().map(core::ptr::from_ref)
}

/// Runs `region`, whose threads must be virtual ones, on the calling thread alone: it is short, and waking
/// another thread would take longer. `None`: that is impossible, and nothing has happened.
///
/// # Safety
/// The same as for [`team::fork`].
unsafe fn run_alone(th: &Thread, region: &Region, of: &Virtual) -> Option<Way> {
    // SAFETY: only this thread replaces its team, and not while it is in this region: a region inside of this
    // one is not outermost, and keeps an ordinary team.
    let team = unsafe { &*team_for(th, of.pieces, of.runners)? };
    if of.fibers && !team.reserve_stacks() {
        return None;
    }
    team.prepare(
        th,
        region,
        &How {
            pieces: of.pieces,
            runners: of.runners,
            fibers: of.fibers,
            keep: true,
            timed: false,
            alone: true,
            was_read: of.was_read,
            told: of.told,
            // The whole region.
            weights: vec![1.0],
            paces: Vec::new(),
        },
    );
    let watch = watchdog::watch(team)?;
    let begun = of.trial.then(|| Begun::now(true));
    // SAFETY: the team is prepared for one runner, and the calling thread is in a team of one. Compiled code
    // made the region's function for all threads, so it may be called for every piece.
    unsafe { VirtualTeam::run(core::ptr::from_ref(team).cast_mut().cast()) };
    drop(watch);
    let way = team.way();
    let address = region.code;
    if team.is_expanded() {
        let ns = begun.map_or(0, |begun| begun.ended().0);
        float::apart(|| {
            regions::learn_virtual(address, region.nthreads, ns, &team.outcome(), false, false);
        });
    } else if let Some(begun) = begun {
        let ((ns, disturbed), suspended) = (begun.ended(), way == Way::Fibers);
        let threads = region.nthreads;
        float::apart(|| regions::learn_alone(address, threads, ns, disturbed, suspended));
    }
    Some(way)
}

/// Runs `region` as an ordinary team in its `copy`, or in the function itself where another team is in the copy.
///
/// # Safety
/// The same as for [`team::ordinary`]. `copy` is one of the region's function.
unsafe fn run_uneven(
    th: &Thread,
    region: &Region,
    copy: &Uneven,
    trial: bool,
    tested: bool,
) -> Ran {
    let begun = Begun::now(trial);
    // SAFETY: by this function's contract.
    let Some(ran) = (unsafe { copy.run(th, region, tested) }) else {
        // SAFETY: see above.
        let threads = unsafe { team::ordinary(th, region, None) };
        return Ran::ordinary(Way::Ordinary(Reason::Nested), threads);
    };
    let (ns, disturbed) = begun.ended();
    float::apart(|| {
        let per_ns = ticks_per_ns();
        let runners = ran.runners.iter();
        let outcome = Outcome {
            runners: runners
                .map(|&(busy, parts)| ((busy as f64 / per_ns) as u64, parts))
                .collect(),
            substantial: u32::MAX,
            suspended: false,
            expanded: Expanded::No,
            tasks: false,
        };
        let (code, threads) = (region.code, region.nthreads);
        regions::learn_virtual(code, threads, ns, &outcome, disturbed, tested);
    });
    Ran::ordinary(Way::Uneven, ran.threads)
}

/// Runs `region` as a virtual team. `None`: that is impossible, and nothing has happened.
///
/// # Safety
/// The same as for [`team::fork`].
unsafe fn run_virtual(th: &Thread, region: &Region, of: &Virtual) -> Option<Way> {
    let address = region.code;
    let (pieces, threads) = (of.pieces, of.runners as usize);
    let globals = init::globals();
    let schedule = &globals.schedule.kind;
    let (key, placement, known, deal) = float::apart(|| {
        let (key, placement, known) =
            known::known_pieces(address, pieces, threads, nodes::of_thread);
        let deal = Deal::new(schedule, &placement, known.as_deref(), of.suspends);
        (key, placement, known, deal)
    });
    let how = How {
        pieces,
        runners: of.runners,
        fibers: of.fibers,
        keep: deal.keep,
        timed: true,
        alone: false,
        was_read: of.was_read,
        told: of.told,
        weights: deal.weights,
        paces: deal.paces,
    };
    let team = team_for(th, how.pieces, how.runners)?;
    // SAFETY: only this thread replaces its team, and not while it is in this region: a region inside of it
    // is not outermost, and keeps an ordinary team.
    let team = unsafe { &*team };
    if of.fibers && !team.reserve_stacks() {
        return None;
    }
    team.prepare(th, region, &how);
    let watch = watchdog::watch(team)?;
    let begun = Begun::now(of.trial);
    let real = Region {
        entry: VirtualTeam::run,
        data: core::ptr::from_ref(team).cast_mut().cast(),
        code: region.code,
        form: region.form,
        nthreads: of.runners,
        asked: region.asked,
        bind: region.bind,
        group: region.group,
    };
    // SAFETY: the team is prepared for these threads, and `run` calls the region's function, which compiled
    // code made for all threads.
    unsafe { team::ordinary(th, &real, None) };
    drop(watch);
    let (ns, disturbed) = begun.ended();
    let probes = globals.icv.run_sched.kind.learns();
    float::apart(|| {
        let outcome = team.outcome();
        let force = modes::regions() & FORCE != 0;
        regions::learn_virtual(address, region.nthreads, ns, &outcome, disturbed, force);
        if probes {
            known::learn_pieces(key, |objective| {
                let (known, runners) = (known.as_deref(), &outcome.runners);
                deal::record(schedule, pieces, &placement, runners, ns, known, objective)
            });
        }
    });
    Some(team.way())
}
