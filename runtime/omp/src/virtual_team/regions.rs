//! What was found out about each region: whether it fits, and whether it gains.
//!
//! Kept by the address of the outlined function and the number of threads. A lookup an execution,
//! under a lock that is held for as long as that takes.

use super::fit::{self, Fit};
use super::lever::Guard;
use super::run::Outcome;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// The first look at how an ordinary team does comes after so many executions...
const FIRST_TRIAL: u64 = 20;
/// ...and the time until the next one doubles up to this.
const RAREST_TRIAL: u64 = 5000;
/// Executions of a trial.
const TRIAL: u64 = 3;
/// By this factor a known time grows with each execution that does not reach it. What a region takes is
/// the least that it took lately: everything else that happens on a machine makes it longer.
const FORGET: f64 = 1.02;
/// An ordinary team whose slowest thread would need this much longer loses without a trial.
const EVIDENT: f64 = 1.15;
/// So often in a row the time must have gone into no more virtual threads than there are real ones.
const FEW_IN_A_ROW: u32 = 2;

/// One region, at one team size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Knowledge {
    pub(super) fit: Fit,
    /// Found out when it ran: it keeps ordinary teams.
    guard: Option<Guard>,
    /// Some virtual thread was suspended: shares cannot be corrected by stealing.
    pub(super) suspends: bool,
    executions: u64,
    /// Least elapsed time of late, in ns.
    as_virtual: Option<f64>,
    as_ordinary: Option<f64>,
    next_trial: u64,
    period: u64,
    few: u32,
}

/// How the next execution runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// As a virtual team.
    Virtual,
    /// As an ordinary one.
    Ordinary(Guard),
}

impl Knowledge {
    fn new(fit: Fit) -> Knowledge {
        Knowledge {
            fit,
            guard: None,
            suspends: false,
            executions: 0,
            as_virtual: None,
            as_ordinary: None,
            next_trial: FIRST_TRIAL,
            period: FIRST_TRIAL,
            few: 0,
        }
    }

    /// Does an ordinary team do better, as far as is known?
    fn ordinary_is_better(&self) -> bool {
        matches!((self.as_virtual, self.as_ordinary), (Some(v), Some(o)) if o < v)
    }

    fn turn(&mut self, may_try: bool) -> Turn {
        if let Some(guard) = self.guard {
            return Turn::Ordinary(guard);
        }
        if !may_try {
            return Turn::Virtual;
        }
        self.executions += 1;
        let better = self.ordinary_is_better();
        let trial = (self.next_trial..self.next_trial + TRIAL).contains(&self.executions);
        if self.executions + 1 == self.next_trial + TRIAL {
            self.period = (self.period * 2).min(RAREST_TRIAL);
            self.next_trial += self.period;
        }
        // A trial is a turn of the one that is not used.
        if better != trial {
            Turn::Ordinary(Guard::NoGain)
        } else {
            Turn::Virtual
        }
    }

    fn learn_virtual(&mut self, ns: f64, outcome: &Outcome, threads: u32, force: bool) {
        self.as_virtual = Some(least(self.as_virtual, ns));
        self.suspends |= outcome.suspended;
        if outcome.expanded {
            self.guard = Some(Guard::Waits);
        } else if outcome.tasks && !force {
            self.guard = Some(Guard::Tasks);
        }
        if outcome.substantial > threads {
            self.few = 0;
        } else {
            self.few += 1;
            if self.few >= FEW_IN_A_ROW && !force {
                self.guard = Some(Guard::FewPieces);
            }
        }
        // An equal division ends with its slowest thread. Where that is far behind already, no
        // trial is needed to know that the ordinary team loses.
        let slowest = outcome
            .runners
            .iter()
            .filter(|r| r.1 > 0)
            .map(|&(busy, pieces)| busy as f64 / f64::from(pieces))
            .fold(0.0, f64::max);
        let pieces: u32 = outcome.runners.iter().map(|r| r.1).sum();
        let ordinary = slowest * f64::from(pieces) / f64::from(threads.max(1));
        if ordinary > ns * EVIDENT && self.next_trial == self.executions + 1 {
            self.next_trial = self.executions + self.period;
        }
    }
}

fn least(old: Option<f64>, new: f64) -> f64 {
    old.map_or(new, |old| new.min(old * FORGET))
}

type Key = (usize, u32);

static REGIONS: Mutex<BTreeMap<Key, Knowledge>> = Mutex::new(BTreeMap::new());

/// Nothing panics under this lock.
fn lock() -> MutexGuard<'static, BTreeMap<Key, Knowledge>> {
    REGIONS.lock().unwrap_or_else(|e| e.into_inner())
}

/// What is known about the outlined function at `address` as a team of `threads`; its code is read
/// when it is first met.
pub(super) fn of(address: usize, threads: u32) -> Knowledge {
    if unloaded() {
        // Another object's code may be at an address that is known.
        lock().clear();
    }
    if let Some(&known) = lock().get(&(address, threads)) {
        return known;
    }
    super::exceptions::look_again();
    // Not under the lock: it reads the program's files and takes a while.
    let fresh = Knowledge::new(fit::of(address));
    *lock().entry((address, threads)).or_insert(fresh)
}

/// Has an object been unloaded since the last call?
fn unloaded() -> bool {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    /// Looks at the first object's record only: the count is the same in all.
    unsafe extern "C" fn count(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: the loader passes a valid record, and `data` is the number below.
        unsafe { *data.cast::<u64>() = (*info).dlpi_subs };
        1
    }
    let mut subs = 0u64;
    // SAFETY: `count` gets the number back, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(count), (&raw mut subs).cast()) };
    SEEN.load(Ordering::Relaxed) != subs && SEEN.swap(subs, Ordering::Relaxed) != subs
}

/// Is a team smaller than the program was told right for the function at `address`? Yes where it
/// asks for no number, or only for the bounds of loops.
pub(super) fn smaller_fits(address: usize, threads: u32) -> bool {
    lock()
        .get(&(address, threads))
        .is_some_and(|r| r.fit.any_size.is_ok() || r.fit.asks_for_no_number)
}

/// How the next execution runs. `may_try`: ordinary teams may be tried, to compare.
pub(super) fn turn(address: usize, threads: u32, may_try: bool) -> Turn {
    match lock().get_mut(&(address, threads)) {
        Some(region) => region.turn(may_try),
        None => Turn::Virtual,
    }
}

/// Learns from an execution as a virtual team of `ns` nanoseconds.
pub(super) fn learn_virtual(address: usize, threads: u32, ns: u64, outcome: &Outcome, force: bool) {
    if let Some(region) = lock().get_mut(&(address, threads)) {
        region.learn_virtual(ns as f64, outcome, threads, force);
    }
}

/// Learns from an execution as an ordinary team.
pub(super) fn learn_ordinary(address: usize, threads: u32, ns: u64) {
    if let Some(region) = lock().get_mut(&(address, threads)) {
        region.as_ordinary = Some(least(region.as_ordinary, ns as f64));
    }
}

/// In the child of a fork. False: a thread that is gone held the lock.
pub(super) fn after_fork() -> bool {
    REGIONS.try_lock().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(runners: &[(u64, u32)], substantial: u32) -> Outcome {
        Outcome {
            runners: runners.to_vec(),
            substantial,
            suspended: false,
            expanded: false,
            tasks: false,
        }
    }

    fn fresh() -> Knowledge {
        Knowledge::new(Fit {
            any_size: Ok(()),
            asks_for_no_number: false,
            waits_for_nobody: true,
            never: None,
        })
    }

    #[test]
    fn a_gain_is_kept_without_trials() {
        let mut k = fresh();
        for _ in 0..100 {
            assert_eq!(k.turn(true), Turn::Virtual);
            k.learn_virtual(1000.0, &outcome(&[(1000, 12), (1000, 4)], 16), 2, false);
        }
    }

    #[test]
    fn no_gain_is_found_out_and_looked_at_again() {
        let mut k = fresh();
        let mut ordinary = 0;
        for _ in 0..1000 {
            match k.turn(true) {
                Turn::Virtual => {
                    k.learn_virtual(1100.0, &outcome(&[(1000, 8), (1000, 8)], 16), 2, false);
                }
                Turn::Ordinary(guard) => {
                    assert_eq!(guard, Guard::NoGain);
                    k.as_ordinary = Some(least(k.as_ordinary, 1000.0));
                    ordinary += 1;
                }
            }
        }
        assert!((950..1000).contains(&ordinary), "{ordinary}");
    }

    #[test]
    fn guards_found_when_running() {
        let mut k = fresh();
        for _ in 0..2 {
            k.learn_virtual(1.0, &outcome(&[(1, 8), (1, 8)], 2), 2, false);
        }
        assert_eq!(k.turn(true), Turn::Ordinary(Guard::FewPieces));
        let mut k = fresh();
        let mut waits = outcome(&[(1, 8), (1, 8)], 16);
        waits.expanded = true;
        k.learn_virtual(1.0, &waits, 2, true);
        assert_eq!(k.turn(false), Turn::Ordinary(Guard::Waits));
    }
}
