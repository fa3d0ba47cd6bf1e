//! Do the threads of a region take equally long in an ordinary team?
//!
//! Whether a region may run as a virtual team is found out by reading its code and trying both ways. This
//! takes milliseconds. Where nodes are alike and loops are regular, equal shares are best, and these
//! milliseconds are lost. So where no node differs from another, a region keeps its ordinary team until its
//! threads have waited for each other about as long as reading and trying take. The look then costs at most
//! as much time as the region has already lost by waiting.
//!
//! While a region's executions are even, ever fewer are observed; while they are uneven, as many as observing may cost.
//!
//! **A short region** has another reason to be looked at: a team of one thread ([`crate::gain`]) saves some
//! tenths of a microsecond in each execution.
//!
//! Pure: no clock.

/// Nanoseconds for reading a region's code and trying both ways.
const LOOK_NS: f64 = 2e6;
/// Threads count as equally long if they wait for no more than this part of an execution, or for fewer
/// nanoseconds than `LEAST_NS`.
const PART: f64 = 0.05;
const LEAST_NS: f64 = 300.0;
/// At least two of the observed executions, and one in this many, must be uneven. Rarer ones are the doing of
/// other processes...
const ONE_IN: u32 = 3;
/// ...unless the region has lost this many nanoseconds.
const MUCH_NS: f64 = 20.0 * LOOK_NS;
/// The loss of one execution counts for at most this many times the shortest execution: a thread that lost
/// its core is behind by milliseconds, however short the region is.
const MOST_LOST: f64 = 2.0;
/// A region that takes less than this, in nanoseconds, may be faster as a team of one, which would save
/// `SAVED_NS` each time.
const SHORT_NS: f64 = 10_000.0;
const SAVED_NS: f64 = 150.0;
/// The most executions that pass unobserved between two observed ones.
const LONGEST_REST: u32 = 127;
/// Nanoseconds that observing takes, and the part of a region's time that may go into it while the region is uneven.
const OBSERVING_NS: f64 = 500.0;
/// ...and for each barrier, at which the clocks of all threads stand still.
const BARRIER_NS: f64 = 20.0;
const OBSERVING_COST: f64 = 0.01;

/// The times of one observed execution of an ordinary team, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// From the execution's beginning to its end.
    pub elapsed_ns: f64,
    /// Time in the program's code of the thread that was there longest.
    pub most_ns: f64,
    /// Mean time in the program's code over all threads.
    pub mean_ns: f64,
}

/// What is known of one region while no node differs from another.
#[derive(Clone, Copy, Debug)]
pub struct Even {
    runs: u32,
    uneven: u32,
    /// The least `most_ns` of all observed executions.
    shortest_ns: f64,
    /// What the threads have waited, in executions that passed unobserved, too.
    lost_ns: f64,
    short_ns: f64,
    /// The last observed execution was uneven.
    was_uneven: bool,
    /// Executions that passed unobserved before the next observed one.
    rest: u32,
    looked_at: bool,
}

impl Default for Even {
    fn default() -> Self {
        Even::new()
    }
}

impl Even {
    /// Nothing is known of the region.
    #[must_use]
    pub const fn new() -> Self {
        Even {
            runs: 0,
            uneven: 0,
            shortest_ns: f64::INFINITY,
            lost_ns: 0.0,
            short_ns: 0.0,
            was_uneven: false,
            rest: 0,
            looked_at: false,
        }
    }

    /// Should the region be looked at (its code read, both ways tried)? Once true, this stays true.
    #[must_use]
    pub fn is_to_be_looked_at(&self) -> bool {
        self.looked_at
    }

    /// Have the region's threads waited for each other as long as looking takes, in more than single executions?
    fn has_lost(&self) -> bool {
        let often = u64::from(self.uneven) * u64::from(ONE_IN) >= u64::from(self.runs);
        let sure = self.uneven >= 2 || self.lost_ns >= MUCH_NS;
        self.lost_ns >= LOOK_NS && often && sure
    }

    /// Learns from one observed execution with so many barriers. Returns the number of executions that may pass
    /// unobserved, 0 unless any `may_pass`; these count as run.
    pub fn see(&mut self, seen: &Seen, barriers: u32, may_pass: bool) -> u32 {
        let waited = seen.most_ns - seen.mean_ns;
        let uneven = waited > seen.most_ns * PART && waited > LEAST_NS;
        self.runs = self.runs.saturating_add(1);
        self.shortest_ns = self.shortest_ns.min(seen.most_ns);
        if uneven {
            self.uneven = self.uneven.saturating_add(1);
            // Whatever disturbed the first execution, `shortest_ns` is its own time: its loss has no bound
            // yet.
            if self.runs > 1 || waited >= MUCH_NS {
                // Those that passed since the last one were like both, if both are of one kind.
                let alike = f64::from(if self.was_uneven { self.rest + 1 } else { 1 });
                self.lost_ns += waited.min(self.shortest_ns * MOST_LOST) * alike;
            }
        }
        if seen.elapsed_ns < SHORT_NS {
            self.short_ns += SAVED_NS * f64::from(self.rest + 1);
        }
        self.looked_at |= self.short_ns >= LOOK_NS || self.has_lost();
        self.was_uneven = uneven;
        self.rest = if !may_pass {
            0
        } else if uneven && !self.looked_at {
            // An observed execution takes longer, which short regions feel.
            let observing_ns = OBSERVING_NS + BARRIER_NS * f64::from(barriers);
            let affordable = observing_ns / (OBSERVING_COST * seen.elapsed_ns.max(1.0));
            (self.rest * 2 + 1).min(affordable as u32).min(LONGEST_REST)
        } else {
            (self.rest * 2 + 1).min(LONGEST_REST)
        };
        self.rest
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn seen(most_ns: f64, mean_ns: f64) -> Seen {
        Seen {
            elapsed_ns: most_ns + 500.0,
            most_ns,
            mean_ns,
        }
    }

    /// Executions until the region is to be looked at, those that pass unseen included.
    fn runs_until(mut next: impl FnMut(u32) -> Seen) -> Option<u32> {
        let mut even = Even::new();
        let mut runs = 0;
        while runs < 1_000_000 {
            let rest = even.see(&next(runs), 0, true);
            runs += 1;
            if even.is_to_be_looked_at() {
                return Some(runs);
            }
            runs += rest;
        }
        None
    }

    #[test]
    fn equal_threads_are_left_alone() {
        assert_eq!(runs_until(|_| seen(1e6, 0.97e6)), None);
        assert_eq!(runs_until(|_| seen(20_000.0, 19_800.0)), None);
    }

    #[test]
    fn what_was_lost_is_what_looking_costs() {
        // A very long one is looked at when it comes again, one of 30 us after some 200.
        assert_eq!(runs_until(|_| seen(2e8, 1.3e8)), Some(1));
        assert_eq!(runs_until(|_| seen(1e7, 0.6e7)), Some(2));
        let runs = runs_until(|_| seen(30_000.0, 20_000.0)).unwrap_or(0);
        assert!((195..=205).contains(&runs), "{runs}");
    }

    /// Observing takes half a microsecond: of a region of 5 us, one execution in eleven is observed.
    #[test]
    fn short_uneven_regions_are_observed_now_and_then() {
        let mut even = Even::new();
        let (mut observed, mut runs) = (0u32, 0u32);
        while !even.is_to_be_looked_at() {
            runs += 1 + even.see(&seen(4_500.0, 3_000.0), 0, true);
            observed += 1;
        }
        assert!((1_250..1_450).contains(&runs), "{runs}");
        assert!(observed <= runs / 9, "{observed} of {runs}");
        // If its turn to be looked at does not come, fewer and fewer are.
        let rests: Vec<u32> = (0..8)
            .map(|_| even.see(&seen(4_500.0, 3_000.0), 0, true))
            .collect();
        assert_eq!(rests[7], LONGEST_REST);
    }

    /// NPB SP, class S: 290 barriers in a tenth of a millisecond. To observe them takes 6 us.
    #[test]
    fn regions_with_many_barriers_are_observed_now_and_then() {
        let mut even = Even::new();
        let mut rest = |barriers| {
            let mut last = 0;
            for _ in 0..6 {
                last = even.see(&seen(100_000.0, 90_000.0), barriers, true);
            }
            last
        };
        assert_eq!(rest(1), 0);
        assert_eq!(rest(290), 6);
    }

    #[test]
    fn other_processes_are_no_reason() {
        // One in 50 loses its core for some milliseconds.
        let mut looks = 0;
        let often = |_| {
            looks += 1;
            if looks % 50 == 0 {
                seen(4e6, 2.1e6)
            } else {
                seen(1e5, 0.99e5)
            }
        };
        assert_eq!(runs_until(often), None);
        // Where a region is short and the machine busy, that is every other one.
        let mut looks = 0;
        let busy = |_| {
            looks += 1;
            if looks % 2 == 0 {
                seen(3e6, 1.6e6)
            } else {
                seen(12_000.0, 11_900.0)
            }
        };
        let runs = runs_until(busy).unwrap_or(0);
        assert!(runs > 150, "{runs}");
    }

    #[test]
    fn short_regions_are_looked_at_after_thousands() {
        let runs = runs_until(|_| seen(400.0, 390.0)).unwrap_or(0);
        assert!((13_000..14_000).contains(&runs), "{runs}");
    }

    #[test]
    fn where_none_passes_each_counts_once() {
        let mut even = Even::new();
        for _ in 0..13_000 {
            assert_eq!(even.see(&seen(400.0, 390.0), 0, false), 0);
            assert!(!even.is_to_be_looked_at());
        }
    }

    #[test]
    fn a_region_that_becomes_uneven_is_noticed() {
        let change = |run| {
            if run < 50_000 {
                seen(50_000.0, 49_000.0)
            } else {
                seen(50_000.0, 30_000.0)
            }
        };
        assert!(runs_until(change).is_some());
    }
}
