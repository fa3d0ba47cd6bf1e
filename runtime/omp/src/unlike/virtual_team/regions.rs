//! What is known about each region: whether it fits a virtual team, and whether that gains.
//!
//! Kept by the address of the outlined function and the number of threads. Each execution looks its region up
//! once, under a lock that is held only for that.

use super::fit::Fit;
use super::job::{Expanded, Outcome};
use super::uneven::Uneven;
use super::{ledger, reader};
use crate::team::region::Region;
use crate::unlike::het::profile;
use crate::unlike::modes;
use hetmp_core::whole::{patiently, Held, Mutex};
use hetmp_sched::gain::{Gain, Kept, Run, Turn, ORDINARY};
use hetmp_sched::limits::SHORT_NS;
use hetmp_sched::ways::{Reason, Way};
use std::collections::BTreeMap;

/// One region, at one team size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knowledge {
    pub(super) fit: Fit,
    /// Its copy with uneven parts, if there can be one; `None`: not examined yet.
    uneven: Option<Option<&'static Uneven>>,
    /// A fact that an execution has shown, for which the region keeps ordinary teams.
    kept: Option<Reason>,
    /// A virtual thread was suspended, so stealing cannot correct the shares.
    pub(super) suspends: bool,
    /// A virtual thread waited in a way that the runtime does not see.
    waited: bool,
    /// What the times have shown; examined again from time to time.
    gain: Gain,
    /// Why an ordinary team is better, where it is.
    why: Reason,
    /// How many more times one thread runs the region without looking at the clock.
    alone: u32,
}

impl Knowledge {
    fn new(fit: Fit, kept: Option<Kept>) -> Knowledge {
        let why = kept.and_then(|kept| match kept.way {
            Way::Ordinary(reason) => Some(reason),
            _ => None,
        });
        Knowledge {
            fit,
            uneven: None,
            kept: None,
            suspends: false,
            waited: false,
            gain: kept.map_or(Gain::new(), Gain::restored),
            why: why.unwrap_or(Reason::NoGain),
            alone: 0,
        }
    }

    fn turn(&mut self, must: Must, may_be_alone: bool, left_ns: f64) -> (Way, Trial) {
        // At the announced size the region must run as virtual threads, though its opener may run all of them.
        let virtual_alone = must == Must::BeVirtual
            && !self.waited
            && matches!(self.kept, None | Some(Reason::Tasks));
        if virtual_alone {
            if let Some(fewer) = self.alone.checked_sub(1) {
                self.alone = fewer;
                return (Way::Alone, Trial::No);
            }
        } else if let Some(reason) = self.kept {
            return (Way::Ordinary(reason), Trial::No);
        } else if must != Must::Gain {
            let waits = Way::Ordinary(Reason::Waits);
            return (if self.waited { waits } else { Way::Virtual }, Trial::No);
        }
        let way = self.gain.turn(Turn {
            may_be_alone: may_be_alone && !virtual_alone,
            left_ns,
        });
        let trial = match &self.gain {
            _ if virtual_alone && way != Way::Virtual => Trial::Careful,
            gain if gain.is_in_haste() => Trial::InHaste,
            gain if gain.is_in_trial() => Trial::Careful,
            _ => Trial::No,
        };
        match way {
            Way::Ordinary(_) if virtual_alone => (Way::Alone, trial),
            Way::Ordinary(_) => (Way::Ordinary(self.why), trial),
            way => (way, trial),
        }
    }

    /// Is a team smaller than the announced one right for the region? Yes if the code asks for no number, or
    /// only for the bounds of loops. (A number that is printed must be the announced one.)
    pub(super) fn smaller_fits(&self) -> bool {
        self.fit.any_size.is_ok() && !self.fit.told.any() || self.fit.asks_for_no_number
    }

    fn kept(&self) -> Option<Kept> {
        let kept = self.gain.kept()?;
        let way = match kept.way {
            Way::Ordinary(_) => Way::Ordinary(self.why),
            way => way,
        };
        Some(Kept { way, ..kept })
    }

    /// Learns from an execution as a virtual team. Returns the nanoseconds that trials have lost by it.
    fn learn_virtual(&mut self, ns: u64, outcome: &Outcome, disturbed: bool, force: bool) -> f64 {
        self.suspends |= outcome.suspended;
        if outcome.tasks && !force {
            self.kept = Some(Reason::Tasks);
        }
        match outcome.expanded {
            Expanded::No => {}
            Expanded::Needed => self.kept = Some(Reason::Waits),
            Expanded::Stuck { certain } => {
                self.waited |= certain;
                self.why = Reason::Waits;
                self.gain.learn_harm();
                return ns as f64;
            }
        }
        let work: u64 = outcome.runners.iter().map(|r| r.0).sum();
        let pieces: u32 = outcome.runners.iter().map(|r| r.1).sum();
        let threads = outcome.runners.len().max(1) as f64;
        let paces = || {
            let begun = outcome.runners.iter().filter(|r| r.1 > 0);
            begun.map(|&(busy, pieces)| busy as f64 / f64::from(pieces))
        };
        // With equal shares the region ends with its slowest thread.
        let slowest = paces().fold(0.0, f64::max);
        let fastest = paces().fold(f64::INFINITY, f64::min);
        if !disturbed {
            self.why = if (work as f64) < SHORT_NS * threads {
                Reason::Short
            } else if outcome.substantial as usize <= outcome.runners.len() {
                Reason::FewPieces
            } else {
                Reason::NoGain
            };
        }
        // While the program's first region runs, one thread may still be starting, and the other runs all pieces. How
        // fast the late thread is, and so what equal shares would have taken, is not known then.
        let all_begun = outcome.runners.iter().all(|r| r.1 > 0);
        // To wake the team takes as long either way, and longer where other processes have the cores. What lies between
        // fibers' calls is their own.
        let longest = outcome.runners.iter().map(|r| r.0).max().unwrap_or(0);
        let around = ns.saturating_sub(longest) * u64::from(!outcome.suspended);
        let equal_ns = slowest * f64::from(pieces) / threads + around as f64;
        let run = Run {
            elapsed_ns: ns as f64,
            equal_ns: if all_begun { equal_ns } else { 0.0 },
            alone_ns: fastest * f64::from(pieces),
            suspended: outcome.suspended,
            disturbed,
        };
        self.gain.learn(Way::Virtual, &run)
    }
}

/// What counts more than the gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Must {
    /// Nothing: the gain decides.
    Gain,
    /// The program relies on more threads than there are cores, because that number was announced.
    BeVirtual,
    /// `HETMP_STATIC=force`.
    BeTested,
}

type Key = (usize, u32);

static REGIONS: Mutex<BTreeMap<Key, Knowledge>> = Mutex::new(BTreeMap::new());

fn lock() -> Held<'static, BTreeMap<Key, Knowledge>> {
    REGIONS.lock()
}

/// Does `f` with what is known of a region, if anything is.
fn with<R>(address: usize, threads: u32, f: impl FnOnce(&mut Knowledge) -> R) -> Option<R> {
    lock().get_mut(&(address, threads)).map(f)
}

/// What is known about `region`, which is being opened, at its number of threads; `None`: its code is still being read.
/// `asked`: the program asked for this number. `told`: the program was told this number, so that the region runs as
/// that many virtual threads whatever its code shows.
pub(super) fn of(region: &Region, asked: bool, told: bool) -> Option<Knowledge> {
    let (address, threads) = (region.code, region.nthreads);
    profile::look();
    let known = lock().get(&(address, threads)).copied();
    let answered = |k: &Knowledge| !asked || k.fit.divides_freely.is_some();
    if let Some(known) = known.filter(answered) {
        return Some(known);
    }
    // Without the lock: reading code takes a while.
    let fit = reader::read(address, region.form, asked, told || !is_sparing())?;
    super::exceptions::look_again();
    let kept = profile::way(address, threads);
    let mut regions = lock();
    let region = regions
        .entry((address, threads))
        .or_insert_with(|| Knowledge::new(fit, kept));
    region.fit = fit;
    Some(*region)
}

/// Does looking at regions have to stay within what the [`ledger`] allows? Otherwise the user has already decided.
fn is_sparing() -> bool {
    let mode = modes::regions();
    mode & (modes::EVEN | modes::SPARING) != 0 && mode & modes::FORCE == 0
}

/// The copy of `region`'s function with uneven parts, if there can be one. It is made when it is first asked for.
pub(super) fn uneven(region: &Region) -> Option<&'static Uneven> {
    let (address, threads) = (region.code, region.nthreads);
    let known = lock().get(&(address, threads))?.uneven;
    if let Some(copy) = known {
        return copy;
    }
    if is_sparing() && ledger::left_ns() == 0 {
        return None;
    }
    // Without the lock, as in `of`.
    let copy = ledger::spend(|| Uneven::new(address, threads));
    let mut regions = lock();
    *regions
        .get_mut(&(address, threads))?
        .uneven
        .get_or_insert(copy)
}

/// An object was unloaded: another one may now lie where it did.
pub(in crate::unlike) fn forget() {
    lock().clear();
}

/// What has been found about all regions, for other processes.
pub(in crate::unlike) fn kept() -> Vec<(Key, Kept)> {
    let regions = patiently(|| REGIONS.try_lock());
    let all = regions.iter().flat_map(|all| all.iter());
    let kept = all.filter_map(|(&key, region)| Some((key, region.kept()?)));
    kept.collect()
}

/// Has the code at `address` been read for teams of this many threads?
pub(super) fn is_known(address: usize, threads: u32) -> bool {
    lock().contains_key(&(address, threads))
}

/// [`Knowledge::smaller_fits`] for the function at `address`.
pub(super) fn smaller_fits(address: usize, threads: u32) -> bool {
    with(address, threads, |region| region.smaller_fits()).unwrap_or(false)
}

/// The way of the next execution, and whether it is on trial. [`Way::Alone`] is an ordinary team of one thread, which
/// must be right for the region (`may_be_alone`); where the region must be virtual, its opener alone runs all virtual
/// threads.
pub(super) fn turn(address: usize, threads: u32, must: Must, may_be_alone: bool) -> (Way, Trial) {
    let turn = |region: &mut Knowledge| {
        let left_ns = ledger::left_ns() as f64;
        region.turn(must, may_be_alone, left_ns)
    };
    with(address, threads, turn).unwrap_or((Way::Virtual, Trial::No))
}

/// Is an execution measured, or compared with others?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// No: the better way is known for now.
    No,
    /// Yes, unless it was disturbed.
    Careful,
    /// Yes, and it is so short that asking the system whether it was disturbed would disturb it.
    InHaste,
}

/// Learns from an execution as a virtual team that took `ns` nanoseconds. `disturbed`: its threads lost their
/// cores for a part of the time.
pub(super) fn learn_virtual(
    address: usize,
    threads: u32,
    ns: u64,
    outcome: &Outcome,
    disturbed: bool,
    force: bool,
) {
    let learn = |region: &mut Knowledge| region.learn_virtual(ns, outcome, disturbed, force);
    ledger::charge(with(address, threads, learn).unwrap_or(0.0));
}

impl Knowledge {
    /// Learns from an execution that went this way, of threads that are not measured one by one. Returns how many more
    /// may go that way without asking.
    fn learn(&mut self, way: Way, ns: u64, disturbed: bool) -> u32 {
        let run = Run {
            elapsed_ns: ns as f64,
            disturbed,
            ..Run::default()
        };
        ledger::charge(self.gain.learn(way, &run));
        self.gain.take_rest(way)
    }
}

/// Learns from an execution by one thread alone, which replaces the ordinary team where there must be virtual
/// threads.
pub(super) fn learn_alone(address: usize, threads: u32, ns: u64, disturbed: bool, suspended: bool) {
    with(address, threads, |region| {
        region.suspends |= suspended;
        region.alone = region.learn(ORDINARY, ns, disturbed);
    });
}

/// Learns from an execution as an ordinary team. Returns how many more may run that way without asking.
pub(super) fn learn_ordinary(address: usize, threads: u32, ns: u64, disturbed: bool) -> u32 {
    let learn = |region: &mut Knowledge| region.learn(ORDINARY, ns, disturbed);
    with(address, threads, learn).unwrap_or(0)
}

/// Learns from an execution by a team of one. `unused`: how many of the executions that were allowed without
/// asking did not take place. Returns how many more may run that way without asking, as long as none takes longer than
/// this many nanoseconds.
pub(super) fn learn_team_of_one(
    address: usize,
    threads: u32,
    ns: u64,
    disturbed: bool,
    unused: u32,
) -> (u32, f64) {
    let learn = |region: &mut Knowledge| {
        region.gain.give_back(unused);
        let times = region.learn(Way::Alone, ns, disturbed);
        (times, region.gain.longest_alone_ns())
    };
    with(address, threads, learn).unwrap_or((0, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT_NS: f64 = 20e6;

    fn outcome(runners: &[(u64, u32)], substantial: u32) -> Outcome {
        Outcome {
            runners: runners.to_vec(),
            substantial,
            suspended: false,
            expanded: Expanded::No,
            tasks: false,
        }
    }

    fn fresh() -> Knowledge {
        Knowledge::new(
            Fit {
                any_size: Ok(()),
                asks_for_no_number: false,
                waits_for_nobody: true,
                never: None,
                divides_freely: None,
                told: hetmp_scan::Told::NONE,
            },
            None,
        )
    }

    /// Runs a region that takes `ns` as a virtual team and `ordinary` as an ordinary one. Returns the way
    /// that it settles for.
    fn play(k: &mut Knowledge, ns: u64, outcome: &Outcome, ordinary: u64, runs: u32) -> Way {
        let (mut last, mut left_ns) = (Way::Virtual, LEFT_NS);
        for _ in 0..runs {
            last = k.turn(Must::Gain, false, left_ns).0;
            left_ns -= match last {
                Way::Virtual => k.learn_virtual(ns, outcome, false, false),
                _ => {
                    let run = Run {
                        elapsed_ns: ordinary as f64,
                        ..Run::default()
                    };
                    k.gain.learn(ORDINARY, &run)
                }
            };
            left_ns += (if last == Way::Virtual { ns } else { ordinary }) as f64 / 100.0;
        }
        last
    }

    #[test]
    fn reasons_by_name() {
        let even = outcome(&[(1_000_000, 8), (1_000_000, 8)], 16);
        let end = play(&mut fresh(), 1_100_000, &even, 1_000_000, 30);
        assert_eq!(end, Way::Ordinary(Reason::NoGain));
        let few = outcome(&[(1_000_000, 8), (1_000_000, 8)], 2);
        let end = play(&mut fresh(), 1_100_000, &few, 1_000_000, 30);
        assert_eq!(end, Way::Ordinary(Reason::FewPieces));
        let short = outcome(&[(1000, 8), (1000, 8)], 16);
        let end = play(&mut fresh(), 9000, &short, 2000, 30);
        assert_eq!(end, Way::Ordinary(Reason::Short));
        let uneven = outcome(&[(1_000_000, 12), (1_000_000, 4)], 16);
        let end = play(&mut fresh(), 1_000_000, &uneven, 2_000_000, 30);
        assert_eq!(end, Way::Virtual);
    }

    #[test]
    fn another_run_begins_with_the_reason_too() {
        let mut k = fresh();
        let short = outcome(&[(1000, 8), (1000, 8)], 16);
        play(&mut k, 9000, &short, 2000, 30);
        let mut other = Knowledge::new(k.fit, k.kept());
        let (way, _) = other.turn(Must::Gain, false, LEFT_NS);
        assert_eq!(way, Way::Ordinary(Reason::Short));
    }

    #[test]
    fn a_thread_that_came_too_late_is_not_taken_for_a_fast_one() {
        let mut k = fresh();
        assert_eq!(k.turn(Must::Gain, false, LEFT_NS).0, Way::Virtual);
        let late = outcome(&[(2_000_000, 16), (0, 0)], 16);
        k.learn_virtual(5_400_000, &late, false, false);
        // Further executions show that the late thread has a third of the speed. A program of two dozen executions runs
        // most of them as virtual teams.
        let uneven = outcome(&[(300_000, 12), (300_000, 4)], 16);
        let turns = (0..24).map(|_| play(&mut k, 300_000, &uneven, 600_000, 1));
        let ordinary = turns.filter(|t| matches!(t, Way::Ordinary(_))).count();
        assert!(ordinary <= 3, "{ordinary} of 24");
    }

    #[test]
    fn few_pieces_is_looked_at_again() {
        let mut k = fresh();
        let few = outcome(&[(1_000_000, 8), (1_000_000, 8)], 2);
        play(&mut k, 1_100_000, &few, 1_000_000, 100);
        // Now the region has work for many threads, and one node is slower.
        let many = outcome(&[(1_000_000, 12), (1_000_000, 4)], 16);
        let end = play(&mut k, 1_000_000, &many, 2_000_000, 10_000);
        assert_eq!(end, Way::Virtual);
    }

    #[test]
    fn who_was_told_a_size_gets_virtual_threads() {
        let mut k = fresh();
        let few = outcome(&[(1000, 8), (1000, 8)], 2);
        play(&mut k, 20_000, &few, 1000, 100);
        for kept in [None, Some(Reason::Tasks)] {
            k.kept = kept;
            for _ in 0..1000 {
                assert!(matches!(
                    k.turn(Must::BeVirtual, false, LEFT_NS).0,
                    Way::Virtual | Way::Alone
                ));
            }
        }
        k.kept = None;
        assert_eq!(k.turn(Must::BeTested, false, LEFT_NS).0, Way::Virtual);
    }

    #[test]
    fn waits_are_remembered() {
        let mut k = fresh();
        let mut waits = outcome(&[(1, 8), (1, 8)], 16);
        waits.expanded = Expanded::Stuck { certain: true };
        k.turn(Must::Gain, false, LEFT_NS);
        k.learn_virtual(1_000_000_000, &waits, false, true);
        assert_eq!(
            k.turn(Must::BeTested, false, LEFT_NS).0,
            Way::Ordinary(Reason::Waits)
        );
        let end = play(&mut k, 1_000_000_000, &waits, 1_000_000, 1000);
        assert_eq!(end, Way::Ordinary(Reason::Waits));
        // Further trials may lose a hundredth of the time.
        let even = outcome(&[(1_000_000, 12), (1_000_000, 4)], 16);
        let end = play(&mut k, 1_000_000, &even, 2_000_000, 110_000);
        assert_eq!(end, Way::Virtual);
    }
}
