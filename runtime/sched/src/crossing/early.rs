//! The early end of a trial: when the origin should run what is left of a loop alone.
//!
//! The rule lets a region cross to see what that takes, and judges it afterwards. Where pages go to and fro with every
//! few iterations, one execution may take a hundred times as long as at home. So the origin looks at its threads'
//! faults when they take iterations of a loop that the runtime hands out: the paper's probe. (The origin had all pages
//! before: what it waits for is what others took meanwhile, and they will do so to the end.) The *fault period* is the
//! core time for each fault. If it is below the threshold, the trial is hopeless: the origin takes all iterations that
//! are left, and other nodes find none. So it is, too, if the iterations that were handed out so far took longer than
//! the trial may lose.
//!
//! Core time is the processor's time that threads took and the time that they waited for pages, not the clock's: what
//! other programs took of the cores meanwhile says nothing of the region.
//!
//! A trial may be a region's first execution. What it takes at home is then told by the iterations that the origin ran
//! in it, and how long that took by the clock but for waiting for pages: other programs may have the cores.
//!
//! Pure.

use super::{Crossings, Extent, MOVES};
use crate::schedule::DEFAULT_FRACTION;
use crate::virtual_team::PIECES_PER_RUNNER;
use crate::ways::Way;

/// In a trial, a thread's chunk takes about this many nanoseconds: in short ones of short iterations, nodes write the
/// same pages, and in long ones the origin does not look. (Untuned; with 64 iterations, blackscholes' were 10 us.)
const CHUNK_NS: u64 = 1_000_000;

/// An execution across nodes that is a trial, as it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Trial {
    /// Nodes get small shares: nobody knows how fast they are, or only a part of the work is tried.
    pub in_shares: bool,
    /// The part of the work that other nodes get together; 1: as much as they can do.
    pub part: f64,
    /// What the region takes at home, in nanoseconds; 0: it has not run yet.
    pub home_ns: f64,
    /// How much longer than at home the execution may take, in nanoseconds.
    pub spare_ns: f64,
    /// When it began, in nanoseconds of the caller's clock.
    pub began: u64,
    /// The fault period from which it gains.
    pub threshold: Threshold,
}

/// The fault period from which a region gains by crossing, in microseconds, as far as it is known beforehand.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, u32)]
pub enum Threshold {
    /// By the user: this and nothing else.
    Told(f64),
    /// By calibration, 0 without. Pages may take longer than when it was measured.
    Calibrated(f64),
}

/// What the origin's threads did in a region so far: nanoseconds of the processor's time, faults, and nanoseconds of
/// waiting for their pages, summed over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Nanoseconds of the processor's time.
    pub ran_ns: u64,
    /// Pages that they waited for.
    pub faults: u64,
    /// Nanoseconds of that waiting.
    pub waited_ns: u64,
}

/// Which parts of a loop have begun: on all nodes together, and at the origin. The origin has taken iterations, of
/// which `rest` wait for its threads. When it last took some, nodes together had `handed`: the others are taken to go
/// on as before.
pub fn begun(iterations: u64, taken: u64, rest: u64, handed: u64) -> (f64, f64) {
    let origin = taken.saturating_sub(rest) as f64 / iterations.max(1) as f64;
    (origin * handed as f64 / taken.max(1) as f64, origin)
}

impl Seen {
    fn core_ns(self) -> f64 {
        self.ran_ns as f64 + self.waited_ns as f64
    }

    /// The fault period in microseconds; `None` without faults.
    pub fn period_us(self) -> Option<f64> {
        (self.faults > 0).then(|| self.core_ns() / self.faults as f64 / 1e3)
    }

    /// The fault period at which `nodes` nodes, whose faults take as long, do together what one does that has all
    /// pages: each waits for a page, and the others compute as much as one could meanwhile.
    fn even_us(self, nodes: u32) -> f64 {
        let others = f64::from(nodes.max(2) - 1);
        let fault_us = self.waited_ns as f64 / self.faults.max(1) as f64 / 1e3;
        fault_us * (1.0 + 1.0 / others)
    }
}

impl Trial {
    /// The threshold for what was seen, in microseconds.
    pub fn threshold_us(&self, seen: Seen, nodes: u32) -> f64 {
        match self.threshold {
            Threshold::Told(us) => us,
            Threshold::Calibrated(us) => us.max(seen.even_us(nodes)),
        }
    }

    /// Is it hopeless for the origin's `threads` threads to go on like this? The execution has taken `ns`. The paper's
    /// probe is how much has to run before faults say something. [`begun`] counts in a region's first execution.
    pub fn is_hopeless(
        &self,
        ns: u64,
        seen: Seen,
        (all, origin): (f64, f64),
        threads: u32,
        nodes: u32,
    ) -> bool {
        let threads = f64::from(threads.max(1));
        let (home_ns, all) = match self.home_ns {
            0.0 if origin <= 0.0 => return false,
            0.0 => ((ns as f64 - seen.waited_ns as f64 / threads) / origin, all),
            ns => (ns, 1.0),
        };
        let threshold_us = self.threshold_us(seen, nodes);
        let gains_nothing = seen.period_us().is_some_and(|us| us <= threshold_us);
        let each_ns = seen.core_ns() / threads;
        (gains_nothing && each_ns >= DEFAULT_FRACTION * home_ns)
            || ns as f64 > all * home_ns + self.spare_ns
    }
}

/// How many iterations threads of one node take in a trial.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// Each thread's last chunk, but for the first one.
    chunk: u64,
}

impl Pace {
    /// A thread takes at most this many, where its node's `threads` threads have taken `begun` in `ns`.
    pub fn most(&mut self, begun: u64, threads: u32, ns: u64) -> u64 {
        let (threads, last) = (u64::from(threads.max(1)), self.chunk.max(1));
        self.chunk = match begun.saturating_sub(threads.saturating_mul(last)) {
            0 => last,
            done => done.saturating_mul(CHUNK_NS) / threads.saturating_mul(ns.max(1)),
        };
        self.chunk.max(1)
    }

    /// In a `trial` [in shares](Trial::in_shares) a node with `threads` gets this many at once of the `rest`, for which
    /// `nodes` nodes ask, and `most` in all: nodes write the same pages at the borders of small shares, and with a
    /// large one a slow node is late. So it gets an eighth; and where all of the work is tried, no more than it has
    /// shown to do in some chunks' time. (On two nodes of one machine, lavaMD's trial failed in 2 of 8 runs with shares
    /// of a millisecond, and in none with eighths; a loop that scatters its writes lost 200 ms by a first eighth.)
    pub fn share(
        &self,
        trial: &Trial,
        (rest, most): (u64, u64),
        nodes: u32,
        threads: u32,
        chunk: u64,
    ) -> u64 {
        let pieces = u64::from(PIECES_PER_RUNNER);
        let each = self.chunk.max(chunk);
        let paced = each.saturating_mul(threads.max(1).into());
        let shown = match trial.part < 1.0 {
            true => u64::MAX,
            false => paced.saturating_mul(pieces),
        };
        let few = paced.max((most / pieces).min(shown));
        whole(few.min(rest / (2 * u64::from(nodes))), chunk)
    }
}

/// At least one chunk, and whole ones.
fn whole(n: u64, chunk: u64) -> u64 {
    (n / chunk * chunk).max(chunk)
}

/// How many iterations a thread takes of its node's `rest`, where the node has `threads` threads: `chunk`, or more of a
/// loop whose chunks shrink (`guided`), but no more than `most`, if that is a chunk.
pub fn chunk(rest: u64, chunk: u64, guided: bool, threads: u32, most: u64) -> u64 {
    let wanted = match guided {
        true => whole(rest / (2 * u64::from(threads)), chunk),
        false => chunk,
    };
    wanted.min(whole(most, chunk)).min(rest)
}

impl Crossings {
    /// Does a region's first execution cross, which is one loop whose iterations are handed out? The origin can end
    /// that trial at any time: see [`Crossings::trial`]. Trials may still lose `left_ns`. Otherwise
    /// [`Crossings::next`] says where it runs.
    pub fn starts(&mut self, region: usize, left_ns: f64) -> bool {
        self.left_ns = left_ns;
        let may = !matches!(self.place(), Way::Elsewhere(_)) && self.part().is_none();
        let (pages, _, many_ns) = self.data;
        may && left_ns > MOVES * many_ns * pages && !self.regions.contains_key(&region)
    }

    /// Such an execution took `ns`. If it gained, all that will have run here is tried.
    pub(super) fn started(&mut self, region: usize, ns: f64) -> f64 {
        let home_ns = self.times(region).0 as f64;
        if home_ns == 0.0 {
            return ns.min(self.overhead_ns);
        }
        if ns < home_ns {
            self.begin_trial(Way::Across, Extent::All, self.left_ns, false);
            let r = self.regions.entry(region).or_default();
            r.tried = true;
            r.away(ns);
        }
        (ns - home_ns).max(0.0)
    }

    /// How fast nodes are that the region's threads have been on, home first, as far as executions have shown it.
    pub fn speeds(&self, region: usize) -> Option<Vec<f64>> {
        let r = self.regions.get(&region)?;
        let known = r.home_ns > 0.0 && !r.alone_ns.is_empty();
        let all = core::iter::once(r.home_ns).chain(r.alone_ns.iter().copied());
        known.then(|| all.map(|ns| 1.0 / ns.max(1.0)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ran_ns: u64, faults: u64, waited_ns: u64) -> Seen {
        Seen {
            ran_ns,
            faults,
            waited_ns,
        }
    }

    fn trial(threshold: Threshold) -> Trial {
        Trial {
            in_shares: true,
            part: 1.0,
            home_ns: 1e6,
            spare_ns: 5e5,
            began: 0,
            threshold,
        }
    }

    #[test]
    fn a_trial_is_hopeless_that_only_waits_or_takes_too_long() {
        let trial = trial(Threshold::Calibrated(0.0));
        let hopeless = |ns, seen, nodes| trial.is_hopeless(ns, seen, (0.0, 0.0), 1, nodes);
        // Too early to say.
        assert!(!hopeless(90_000, seen(0, 9, 90_000), 2));
        assert!(hopeless(100_000, seen(50_000, 5, 50_000), 2));
        // Four nodes would do together twice what the origin does alone.
        assert!(!hopeless(100_000, seen(50_000, 5, 50_000), 4));
        assert!(hopeless(100_000, seen(25_000, 5, 75_000), 4));
        // The origin waits for nothing, and others are slow.
        assert!(!hopeless(1_500_000, seen(1_500_000, 0, 0), 2));
        assert!(hopeless(1_500_001, seen(1_500_001, 0, 0), 2));
        // Two threads: each has taken half.
        let two = |seen| trial.is_hopeless(0, seen, (0.0, 0.0), 2, 2);
        assert!(!two(seen(90_000, 9, 90_000)));
        assert!(two(seen(100_000, 9, 100_000)));
    }

    /// Other programs had the cores for nine tenths of the time.
    #[test]
    fn what_others_take_of_the_cores_hides_nothing() {
        let trial = trial(Threshold::Calibrated(0.0));
        assert!(trial.is_hopeless(1_000_000, seen(10_000, 20, 90_000), (0.0, 0.0), 1, 2));
    }

    #[test]
    fn the_user_and_the_calibration_know_thresholds() {
        // 30 us of core time a fault, 10 us of them waiting.
        let seen = seen(200_000, 10, 100_000);
        let hopeless = |threshold, seen| trial(threshold).is_hopeless(0, seen, (0.0, 0.0), 1, 2);
        assert!(!hopeless(Threshold::Calibrated(0.0), seen));
        assert!(!hopeless(Threshold::Calibrated(29.0), seen));
        assert!(hopeless(Threshold::Calibrated(30.0), seen));
        assert!(hopeless(Threshold::Told(30.0), seen));
        let busy = Seen {
            waited_ns: 300_000,
            ..seen
        };
        assert!(hopeless(Threshold::Calibrated(1.0), busy));
        assert!(!hopeless(Threshold::Told(1.0), busy));
    }

    /// A tenth of a loop has begun, half of it at the origin, which took 1 ms for that: 20 ms at home. It waited, too.
    #[test]
    fn a_first_execution_is_compared_with_what_the_origin_ran() {
        let trial = Trial {
            home_ns: 0.0,
            ..trial(Threshold::Told(0.0))
        };
        let begun = begun(1000, 60, 10, 120);
        assert_eq!(begun, (0.1, 0.05));
        let hopeless = |waited| {
            let seen = seen(900_000, 1, waited);
            trial.is_hopeless(1_000_000 + waited, seen, begun, 1, 2)
        };
        assert!(!hopeless(1_490_000));
        assert!(hopeless(1_510_000));
    }

    #[test]
    fn chunks_take_a_time_in_trials() {
        // Two threads with iterations of 10 us: at first one by one.
        let mut pace = Pace::default();
        assert_eq!([pace.most(0, 2, 0), pace.most(2, 2, 5_000)], [1, 1]);
        let (mut begun, mut ns) = (4, 20_000);
        for _ in 0..20 {
            let most = pace.most(begun, 2, ns);
            begun += 2 * most;
            ns += 10_000 * most;
        }
        assert!((80..=100).contains(&pace.chunk), "{pace:?}");
        let all = Trial {
            in_shares: true,
            part: 1.0,
            home_ns: 0.0,
            spare_ns: 0.0,
            began: 0,
            threshold: Threshold::Told(0.0),
        };
        let part = Trial { part: 0.1, ..all };
        let share = |rest, most, chunk| pace.share(&all, (rest, most), 2, 2, chunk);
        assert_eq!(share(10_000, 0, 1), 2 * pace.chunk);
        assert_eq!(share(400, 0, 7), 98);
        assert_eq!(share(100_000, 8_000, 1), 1000);
        assert_eq!(share(1_000_000, 80_000, 1), 16 * pace.chunk);
        // Of a node that has shown nothing, a chunk for each thread, or an eighth of the part that is tried.
        let first = |trial| Pace::default().share(trial, (100_000, 8_000), 2, 2, 5);
        assert_eq!((first(&all), first(&part)), (80, 1000));
    }

    #[test]
    fn chunks_stay_within_the_share() {
        let dynamic = |n| chunk(n, 7, false, 2, u64::MAX);
        assert_eq!((dynamic(20), dynamic(5)), (7, 5));
        let guided = |n| chunk(n, 3, true, 2, u64::MAX);
        assert_eq!((guided(40), guided(8), guided(2)), (9, 3, 2));
        let tried = |of, guided| chunk(10_000, of, guided, 2, 64);
        assert_eq!(
            (tried(7, false), tried(3, true), tried(100, true)),
            (7, 63, 100)
        );
    }
}
