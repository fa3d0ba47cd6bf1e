//! Do the threads of a region take equally long in an ordinary team?
//!
//! Whether a region may run as a virtual team is found out by reading its code and trying both ways. This
//! takes milliseconds. Where nodes are alike and loops are regular, equal shares are best, and these
//! milliseconds are lost. So where no node differs from another, a region keeps its ordinary team until its
//! threads have waited for each other about as long as reading and trying take. The look then costs at most
//! as much time as the region has already lost by waiting.
//!
//! Ever fewer executions are observed, but never so few that looking would come late.
//!
//! **A short region** has another reason to be looked at: a team of one thread ([`crate::gain`]) saves some
//! tenths of a microsecond in each execution.
//!
//! Pure: no clock.

use crate::limits::{LONGEST_REST, LOOK_NS, SAME, SHORT_NS, STRAYS, UNUSUAL};

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

    /// Learns from one observed execution. Returns the number of executions that may pass unobserved, 0 unless any
    /// `may_pass`; these count as run.
    pub fn see(&mut self, seen: &Seen, may_pass: bool) -> u32 {
        let waited = seen.most_ns - seen.mean_ns;
        let uneven = seen.most_ns > seen.mean_ns * SAME;
        self.runs = self.runs.saturating_add(1);
        self.shortest_ns = self.shortest_ns.min(seen.most_ns);
        if uneven {
            self.uneven = self.uneven.saturating_add(1);
            // Whatever disturbed the first execution, `shortest_ns` is its own time: its loss has no bound yet.
            if self.runs > 1 {
                // Those that passed since the last one were like both, if both are of one kind.
                let alike = f64::from(if self.was_uneven { self.rest + 1 } else { 1 });
                self.lost_ns += waited.min(self.shortest_ns * UNUSUAL) * alike;
            }
        }
        if seen.elapsed_ns < SHORT_NS {
            // It may be faster as a team of one, without the way into and out of the region.
            self.short_ns += (seen.elapsed_ns - seen.most_ns) * f64::from(self.rest + 1);
        }
        let often = u64::from(self.uneven) * u64::from(STRAYS) >= u64::from(self.runs);
        self.looked_at |= self.short_ns >= LOOK_NS || self.lost_ns >= LOOK_NS && often;
        self.was_uneven = uneven;
        self.rest = match may_pass {
            false => 0,
            // Half of those that it takes to lose what looking costs.
            true if uneven && !self.looked_at => {
                let half = (LOOK_NS - self.lost_ns).max(0.0) / waited / 2.0;
                (self.rest * 2 + 1).min(half as u32).min(LONGEST_REST)
            }
            true => (self.rest * 2 + 1).min(LONGEST_REST),
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
            let rest = even.see(&next(runs), true);
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
        // A very long one is looked at when it has come again, one of 30 us after some 200.
        assert_eq!(runs_until(|_| seen(2e8, 1.3e8)), Some(2));
        assert_eq!(runs_until(|_| seen(1e7, 0.6e7)), Some(2));
        let runs = runs_until(|_| seen(30_000.0, 20_000.0)).unwrap_or(0);
        assert!((195..=205).contains(&runs), "{runs}");
    }

    /// Observing takes half a microsecond, and 20 ns for each barrier: of short regions few executions are observed.
    #[test]
    fn short_uneven_regions_are_observed_now_and_then() {
        let mut even = Even::new();
        let (mut observed, mut runs) = (0u32, 0u32);
        while !even.is_to_be_looked_at() {
            runs += 1 + even.see(&seen(4_500.0, 3_000.0), true);
            observed += 1;
        }
        assert!((1_250..1_450).contains(&runs), "{runs}");
        assert!(observed <= runs / 9, "{observed} of {runs}");
        // If its turn to be looked at does not come, fewer and fewer are.
        let rests: Vec<u32> = (0..8)
            .map(|_| even.see(&seen(4_500.0, 3_000.0), true))
            .collect();
        assert_eq!(rests[7], LONGEST_REST);
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
        assert!((3_900..4_100).contains(&runs), "{runs}");
    }

    #[test]
    fn where_none_passes_each_counts_once() {
        let mut even = Even::new();
        for _ in 0..3_900 {
            assert_eq!(even.see(&seen(400.0, 390.0), false), 0);
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
