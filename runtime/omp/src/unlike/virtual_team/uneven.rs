//! Ordinary teams whose threads get parts of different sizes of the loops that the compiler divided itself.
//!
//! A virtual team needs a region that fits any number of threads. Where the program asked for its number, indexes
//! arrays by the thread number, has thread-local variables or calls what cannot be followed, the team must stay as it
//! is. Such a region is called in a copy in which the parts of its static loops have other sizes
//! ([`hetmp_scan::uneven`] makes the bytes and says which regions allow it). Nothing else differs: number of threads,
//! thread numbers, what waits for whom.
//!
//! **Shares.** A thread's part in all loops of a region is one share of the iterations. After an execution the share
//! of a thread that was longer in the program's code than the others is made smaller. At first the shares are those
//! that the nodes' threads had in other regions.
//!
//! **Memory.** A copy lies within 2 GiB of its function. It is written before it may be executed, and never changed
//! afterwards, but for the table of shares, which only changes while no thread is in the copy. Where the system does
//! not allow memory to become executable, regions keep equal parts. Copies stay until the process ends, also those of
//! objects that were unloaded, which are never called again. All of them together take 64 MiB at most.

use super::copy::Copy;
use crate::boundary::Reason;
use crate::team::members::Outlined;
use crate::team::region::{self as team, Region};
use crate::thread::Thread;
use crate::unlike::nodes;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use hetmp_core::float;
use hetmp_core::whole::Mutex;
use hetmp_sched::limits::{FORGET, NEGLIGIBLE, STRAYS};
use std::collections::BTreeMap;

/// How fast a thread of each node was in other regions, relative to the mean of its team.
static SPEEDS: Mutex<BTreeMap<u32, f64>> = Mutex::new(BTreeMap::new());

/// A region's copy.
#[derive(Debug)]
pub(super) struct Uneven {
    copy: Copy,
    threads: u32,
    /// A team is in the copy.
    busy: AtomicBool,
    shares: Mutex<Shares>,
}

#[derive(Debug)]
struct Shares {
    of: Vec<f64>,
    executions: u32,
}

/// An execution whose threads are timed.
struct Timed {
    entry: Outlined,
    data: *mut libc::c_void,
    /// Ticks that each thread spent in the program's code.
    busy: Vec<AtomicU64>,
}

/// What an execution has shown.
pub(super) struct Ran {
    pub(super) threads: u32,
    /// Ticks of each thread in the program's code, and its share in thousandths.
    pub(super) runners: Vec<(u64, u32)>,
}

/// The outlined function of a timed execution.
///
/// # Safety
/// `timed` is the [`Timed`] of a region whose `entry` compiled code made for every thread of the team.
unsafe extern "C" fn run_timed(timed: *mut libc::c_void) {
    // SAFETY: `timed` passes a `Timed` that outlives the region, and threads only share it.
    let timed = unsafe { &*timed.cast::<Timed>() };
    let th = Thread::current();
    th.slow.start_watch();
    // SAFETY: function and data are those of a region that compiled code made for every thread of a team; a copy does
    // what the function does.
    unsafe { (timed.entry)(timed.data) };
    // An emulated slow core pays for its last stretch here. Otherwise its thread would seem to be as fast as the others
    // in each region that is shorter than the emulation's period.
    th.leave_program(Reason::Switch);
    let busy = th.slow.stop_watch();
    if let Some(mine) = timed.busy.get(th.number() as usize) {
        // Relaxed: the join orders this before the primary thread's reads.
        mine.store(busy, Ordering::Relaxed);
    }
}

/// Runs `region` as an ordinary team whose threads call `entry`. Returns its size, and the ticks that each thread spent
/// in the program's code. A thread that waits at a barrier, for a lock or for tasks is not there.
///
/// # Safety
/// The same as for [`team::ordinary`]; `entry` is the region's function, or a copy of it.
pub(super) unsafe fn timed(th: &Thread, region: &Region, entry: Outlined) -> (u32, Vec<u64>) {
    let timed = Timed {
        entry,
        data: region.data,
        busy: (0..region.nthreads).map(|_| AtomicU64::new(0)).collect(),
    };
    let watched = Region {
        entry: run_timed,
        data: (&raw const timed).cast_mut().cast(),
        ..*region
    };
    // SAFETY: by this function's contract compiled code made `region`'s function for all threads, and `run_timed` calls
    // it once in each. `timed` lives until the region has ended.
    let threads = unsafe { team::ordinary(th, &watched, None) };
    let busy = timed.busy.into_iter().map(AtomicU64::into_inner);
    (threads, busy.collect())
}

impl Uneven {
    /// Makes a copy of the function at `code` for teams of this size. `None`: there can be none.
    pub(super) fn new(code: usize, threads: u32) -> Option<&'static Uneven> {
        let copy = hetmp_core::aside::run(|| Copy::new(code, threads))?;
        Some(Box::leak(Box::new(Uneven {
            copy,
            threads,
            busy: AtomicBool::new(false),
            shares: Mutex::new(Shares {
                of: vec![1.0 / f64::from(threads); threads as usize],
                executions: 0,
            }),
        })))
    }

    /// Runs `region` in the copy. `tested`: with shares that differ each time, and are not learned. `None`: the copy is
    /// in use by another team, and nothing has happened.
    ///
    /// # Safety
    /// The same as for [`team::ordinary`], for a region whose function this is a copy of.
    pub(super) unsafe fn run(&self, th: &Thread, region: &Region, tested: bool) -> Option<Ran> {
        if self.busy.swap(true, Ordering::Acquire) {
            return None;
        }
        let (shares, young) = float::apart(|| {
            let (shares, young) = self.shares(tested);
            // SAFETY: `busy` is held, and the team has not started: nobody is in the copy.
            unsafe { self.copy.write(&shares) };
            (shares, young)
        });
        // SAFETY: by this function's contract, for a copy of the function.
        let (threads, busy) = unsafe { timed(th, region, self.copy.entry()) };
        if !tested && threads == self.threads {
            float::apart(|| self.learn(&shares, &busy, young));
        }
        self.busy.store(false, Ordering::Release);
        let runners = float::apart(|| {
            let parts = shares.iter().map(|share| ((share * 1000.0) as u32).max(1));
            busy.into_iter().zip(parts).collect()
        });
        Some(Ran { threads, runners })
    }

    /// The shares of the next execution, and whether little is known about them.
    fn shares(&self, tested: bool) -> (Vec<f64>, bool) {
        let mut shares = self.shares.lock();
        let execution = shares.executions;
        shares.executions = execution.saturating_add(1);
        if tested {
            return (skewed(self.threads, execution), false);
        }
        if execution == 0 && nodes::told_apart() {
            shares.of = first_shares(self.threads);
        }
        (shares.of.clone(), execution < STRAYS)
    }

    /// Learns from the threads' times.
    fn learn(&self, shares: &[f64], busy: &[u64], young: bool) {
        let sum: u64 = busy.iter().sum();
        if busy.contains(&0) {
            return;
        }
        let mean = sum as f64 / busy.len() as f64;
        let pace = if young { 1.0 } else { FORGET };
        let raw = shares
            .iter()
            .zip(busy)
            .map(|(share, &busy)| share * (mean / busy as f64).powf(pace));
        let next = normalized(raw.collect());
        note_speeds(shares, busy);
        self.shares.lock().of = next;
    }
}

/// Shares that sum up to 1, none of them next to nothing.
fn normalized(mut shares: Vec<f64>) -> Vec<f64> {
    let least = NEGLIGIBLE / shares.len() as f64;
    for _ in 0..2 {
        let sum: f64 = shares.iter().sum();
        shares
            .iter_mut()
            .for_each(|share| *share = (*share / sum).max(least));
    }
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    shares
}

/// Shares for tests: the first thread has most, the last one, next to nothing, or all the same.
fn skewed(threads: u32, execution: u32) -> Vec<f64> {
    let raw = (0..threads).map(|t| match execution % 4 {
        0 => f64::from(t + 1),
        1 => f64::from(threads - t),
        2 => f64::from(u32::from(t == execution % threads)) + 1e-6,
        _ => 1.0,
    });
    let raw: Vec<f64> = raw.collect();
    let sum: f64 = raw.iter().sum();
    raw.into_iter().map(|share| share / sum).collect()
}

/// What is known about the nodes of a team's threads from other regions.
fn first_shares(threads: u32) -> Vec<f64> {
    let speeds = SPEEDS.lock();
    let of = (0..threads).map(|t| {
        speeds
            .get(&nodes::of_thread(t as usize))
            .copied()
            .unwrap_or(1.0)
    });
    normalized(of.collect())
}

/// Remembers how fast the threads of each node were.
fn note_speeds(shares: &[f64], busy: &[u64]) {
    let paces: Vec<f64> = shares
        .iter()
        .zip(busy)
        .map(|(share, &busy)| share / busy as f64)
        .collect();
    let mean = paces.iter().sum::<f64>() / paces.len() as f64;
    let mut speeds = SPEEDS.lock();
    for (t, pace) in paces.iter().enumerate() {
        let speed = speeds.entry(nodes::of_thread(t)).or_insert(pace / mean);
        *speed += FORGET * (pace / mean - *speed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_sum_up() {
        for shares in [
            vec![1.0, 0.0],
            vec![3.0, 1.0, 1e-9],
            vec![1e9, 1.0, 1.0, 1.0],
        ] {
            let least = NEGLIGIBLE / shares.len() as f64 * 0.9;
            let shares = normalized(shares);
            assert!(
                (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9,
                "{shares:?}"
            );
            assert!(shares.iter().all(|&share| share >= least), "{shares:?}");
        }
        for execution in 0..8 {
            let shares = skewed(3, execution);
            assert!(
                (shares.iter().sum::<f64>() - 1.0).abs() < 1e-9,
                "{shares:?}"
            );
        }
    }
}
