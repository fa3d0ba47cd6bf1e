//! Which way a region runs, by the user's settings, its clauses, its code and its earlier executions.

use super::job::MOST_PIECES;
use super::regions::{self, Must, Trial};
use super::uneven::Uneven;
use super::{allowed, announce, even};
use crate::across::table;
use crate::icv::{ProcBind, StaticLoops, UNLIMITED_THREADS};
use crate::init;
use crate::team::region::Region;
use crate::thread::Thread;
use crate::unlike::modes::{self, EVEN, FORCE, VIRTUAL, WIDE};
use hetmp_scan::Told;
use hetmp_sched::virtual_team::pieces;
use hetmp_sched::ways::{Reason, Way};

/// The way of one execution of a region.
pub(super) enum Plan {
    Ordinary {
        way: Way,
        /// `Some`: its time is compared with another way's. `Some(true)`: it is too short to ask the system
        /// whether it was disturbed.
        compare: Option<bool>,
        /// A team smaller than the announced one is right for the region, too.
        smaller_fits: bool,
    },
    /// By the calling thread, as a team of one.
    TeamOfOne {
        /// Its time is compared with another way's.
        trial: bool,
    },
    /// As an ordinary team in the copy of its function with uneven parts.
    Uneven {
        copy: &'static Uneven,
        /// Its time is compared with another way's.
        trial: bool,
        /// With shares for tests.
        tested: bool,
    },
    Virtual(Virtual),
}

/// How a region runs as virtual threads.
pub(super) struct Virtual {
    pub(super) fibers: bool,
    pub(super) suspends: bool,
    /// Its time is compared with another way's.
    pub(super) trial: bool,
    /// The calling thread alone runs all virtual threads.
    pub(super) alone: bool,
    /// The code was read to its end, and nothing in it was seen to wait for another thread.
    pub(super) was_read: bool,
    /// Calls that ask for the number of threads in order to print it.
    pub(super) told: Told,
    pub(super) runners: u32,
    pub(super) pieces: u32,
}

/// No schedule of hetmp's own divides regions here, for this reason.
pub(super) fn off(reason: Reason) -> Reason {
    match table::is_on() {
        true => Reason::Origin,
        false => reason,
    }
}

/// The reason why no region of this size is examined, if there is one.
pub(super) fn left_alone(threads: u32) -> Option<Reason> {
    let globals = init::globals();
    if modes::regions() & VIRTUAL == 0 {
        return Some(match globals.ours.static_loops {
            _ if !globals.icv.run_sched.kind.is_ours() => off(Reason::NoSchedule),
            StaticLoops::Off => off(Reason::StaticOff),
            _ => Reason::AlikeNodes,
        });
    }
    (threads == 1).then_some(Reason::OneThread)
}

/// Is `region` one that is not examined yet, because the nodes do not differ by any known property and its threads were
/// not seen to take unlike times?
pub(super) fn is_left_to_itself(th: &Thread, region: &Region) -> bool {
    modes::regions() & EVEN != 0
        && left_alone(region.nthreads).is_none()
        // Regions that fail the following tests are refused for these reasons, and must be reported so.
        && region.group.is_null()
        && th.task().icv().thread_limit == UNLIMITED_THREADS
        && !init::globals().cancellation
        // At the announced size a region must run as virtual threads.
        && announce::told().is_none_or(|told| region.asked != 0 && told != region.nthreads)
        && !regions::is_known(region.code, region.nthreads)
        && !even::is_to_be_looked_at(region.code, region.nthreads)
}

/// Does the program rely on this number of threads, because it asked for it?
fn is_asked(th: &Thread, region: &Region) -> bool {
    let asked = region.asked != 0 || th.task().icv().nthreads_set;
    asked && modes::regions() & WIDE == 0
}

/// Must the region's threads be in certain places?
fn is_bound(th: &Thread, region: &Region) -> bool {
    let bound = th.task().icv().bind != ProcBind::False || !init::globals().places.is_empty();
    bound || region.bind.is_some() && announce::told() != Some(region.nthreads)
}

/// The announced size, if it applies to this outermost region without a `num_threads` clause.
pub(super) fn announced(th: &Thread, region: &Region) -> Option<u32> {
    if modes::regions() & VIRTUAL == 0 {
        return None;
    }
    let told = announce::told();
    if told.is_none() {
        announce::bound();
    }
    // If compiled code has prepared data for a number of threads, that number stays.
    told.filter(|_| region.group.is_null() && announce::is_for(th.task().icv()))
}

/// The way of `region`: that of [`judge`], or an ordinary team.
pub(super) fn plan(th: &Thread, region: &Region) -> Plan {
    judge(th, region).unwrap_or_else(|way| {
        uneven(th, region, way).unwrap_or_else(|| Plan::Ordinary {
            way,
            compare: None,
            smaller_fits: regions::smaller_fits(region.code, region.nthreads),
        })
    })
}

/// The way of `region`, which is no virtual team because of `way`, if its threads may have uneven parts.
fn uneven(th: &Thread, region: &Region, way: Way) -> Option<Plan> {
    // Not regions with loops that look at memory until it changes: a thread that waits there looks as if it computed,
    // and its share would follow its waits.
    let of_its_code = matches!(
        way,
        Way::Ordinary(
            Reason::ThreadNumber
                | Reason::Unscanned
                | Reason::ThreadLocal
                | Reason::Asked
                | Reason::Tasks
                | Reason::Ordered
        )
    );
    let mode = modes::regions();
    let fits_cores = region.nthreads <= init::globals().available_cpus.max(2);
    let is_told = announce::told() == Some(region.nthreads);
    if !of_its_code || !fits_cores || is_told || !allowed::uneven(th, region) {
        return None;
    }
    let copy = regions::uneven(region)?;
    let tested = mode & FORCE != 0;
    let must = if tested { Must::BeTested } else { Must::Gain };
    let (way, trial) = regions::turn(region.code, region.nthreads, must, false);
    Some(match way {
        Way::Virtual => Plan::Uneven {
            copy,
            trial: trial == Trial::Careful && !tested,
            tested,
        },
        // The region does not fit a team of another size.
        Way::Ordinary(_) => Plan::Ordinary {
            way,
            compare: (!tested).then_some(trial == Trial::InHaste),
            smaller_fits: true,
        },
        _ => return None,
    })
}

/// The way of `region`. The error says what keeps it from being a virtual team.
fn judge(th: &Thread, region: &Region) -> Result<Plan, Way> {
    let no = |reason| Err(Way::Ordinary(reason));
    let mode = modes::regions();
    let globals = init::globals();
    if let Some(reason) = left_alone(region.nthreads) {
        return no(reason);
    }
    if th.team().level() > 0 || th.is_runner() {
        return no(Reason::Nested);
    }
    if globals.cancellation {
        return no(Reason::Cancellation);
    }
    if !region.group.is_null() {
        return no(Reason::Tasks);
    }
    let icv = th.task().icv();
    if icv.thread_limit != UNLIMITED_THREADS {
        return no(Reason::ThreadLimit);
    }
    if is_bound(th, region) {
        return no(Reason::Bound);
    }
    let address = region.code;
    let asked = is_asked(th, region);
    // A program may ask for the very number that it was told (`omp_set_num_threads(omp_get_max_threads())`). It gets
    // exactly that number, so that nothing need be known about more pieces. An ordinary team would have that many real
    // threads.
    let is_told = announce::told() == Some(region.nthreads);
    let Some(known) = regions::of(region, asked && !is_told, is_told) else {
        return no(Reason::Unread);
    };
    let must_be_virtual = is_told && (asked || !known.smaller_fits());
    match known.fit.never {
        // A virtual team is of no use to the region, but does no harm either.
        Some(Way::Dispatched) if must_be_virtual => {}
        Some(way) => return Err(way),
        None => {}
    }
    let runners = region.nthreads.min(globals.available_cpus.max(2));
    let pieces = match known.fit.any_size {
        Ok(()) if !is_told => {
            if asked && region.nthreads > runners {
                region.nthreads
            } else if asked && known.fit.divides_freely != Some(true) {
                return no(Reason::Asked);
            } else {
                pieces(runners, MOST_PIECES)
            }
        }
        // At the size that the program asked for or was told, a virtual team fits any code.
        _ if region.nthreads > runners => region.nthreads,
        Ok(()) => pieces(runners, MOST_PIECES),
        Err(reason) => return no(reason),
    };
    let must = if must_be_virtual {
        Must::BeVirtual
    } else if mode & FORCE != 0 {
        Must::BeTested
    } else {
        Must::Gain
    };
    // A region that runs unasked must still have the code that was read. One that prints its number of threads would
    // print 1.
    let may_be_alone = must == Must::Gain
        && known.fit.any_size.is_ok()
        && !known.fit.told.any()
        && (!asked || known.fit.divides_freely == Some(true))
        && announce::is_in_program(address);
    let fibers = !known.fit.waits_for_nobody;
    let (way, trial) = regions::turn(address, region.nthreads, must, may_be_alone);
    let careful = trial == Trial::Careful;
    Ok(match way {
        Way::Ordinary(_) => Plan::Ordinary {
            way,
            compare: (must == Must::Gain).then_some(trial == Trial::InHaste),
            smaller_fits: !must_be_virtual,
        },
        Way::Alone if !must_be_virtual => Plan::TeamOfOne { trial: careful },
        _ => Plan::Virtual(Virtual {
            fibers,
            suspends: known.suspends,
            trial: careful,
            alone: way == Way::Alone,
            was_read: known.fit.any_size.is_ok(),
            told: known.fit.told,
            runners,
            pieces,
        }),
    })
}
