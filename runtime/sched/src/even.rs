//! Do the threads of a region take equally long, as an ordinary team?
//!
//! To find out whether a region may be run as a virtual team its code is read, and both ways are tried. That takes
//! milliseconds, and is lost where nodes are alike and loops regular: then equal shares are the best ones. So
//! where nothing tells the nodes apart, a region keeps its ordinary team until its threads have waited for
//! each other about as long as the looking takes: what it costs is then at most as much as what was lost before.
//!
//! Executions are looked at one by one while they are uneven, and ever more seldom while they are even.
//!
//! **A region that is short** has another reason to be looked at, a team of one
//! ([`crate::alone`]), which saves some tenths of a microsecond each time.
//!
//! Pure: no clock.

/// Nanoseconds that it takes to read a region's code and to try both ways.
const LOOK_NS: f64 = 2e6;
/// Threads that wait for this part of an execution, or for fewer nanoseconds, take equally long.
const PART: f64 = 0.05;
const LEAST_NS: f64 = 300.0;
/// One in so many executions that were looked at must be uneven, and two at least; fewer are other processes' doing...
const ONE_IN: u32 = 3;
/// ...unless one alone has lost so much.
const MUCH_NS: f64 = 20.0 * LOOK_NS;
/// What is lost by one counts for no more than this many times the shortest: a thread that lost its core
/// is behind by milliseconds, however short the region is.
const MOST_LOST: f64 = 2.0;
/// A region that takes less, in nanoseconds, may be faster as a team of one, which then saves so much.
const SHORT_NS: f64 = 10_000.0;
const SAVED_NS: f64 = 150.0;
/// Executions between two that are looked at, at most.
const LONGEST_REST: u32 = 127;

/// What one execution of an ordinary team has shown, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// From its beginning to its end.
    pub elapsed_ns: f64,
    /// What the thread that was longest in the program's code spent there.
    pub most_ns: f64,
    /// What the threads spent there in the mean.
    pub mean_ns: f64,
}

/// One region while nothing tells the nodes apart.
#[derive(Clone, Copy, Debug)]
pub struct Even {
    runs: u32,
    uneven: u32,
    /// What the shortest execution took in the longest thread.
    shortest_ns: f64,
    lost_ns: f64,
    short_ns: f64,
    /// Executions that were let pass before this one.
    rest: u32,
    looked_at: bool,
}

impl Default for Even {
    fn default() -> Self {
        Even::new()
    }
}

impl Even {
    /// Nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Even {
            runs: 0,
            uneven: 0,
            shortest_ns: f64::INFINITY,
            lost_ns: 0.0,
            short_ns: 0.0,
            rest: 0,
            looked_at: false,
        }
    }

    /// Is it worth while to look at the region? Once it is, it stays so.
    #[must_use]
    pub fn is_to_be_looked_at(&self) -> bool {
        self.looked_at
    }

    /// Takes what an execution has shown. Returns how many may pass unseen, where any `may_pass`; they count as run.
    pub fn see(&mut self, seen: &Seen, may_pass: bool) -> u32 {
        let waited = seen.most_ns - seen.mean_ns;
        let uneven = waited > seen.most_ns * PART && waited > LEAST_NS;
        self.runs = self.runs.saturating_add(1);
        self.shortest_ns = self.shortest_ns.min(seen.most_ns);
        if uneven {
            self.uneven = self.uneven.saturating_add(1);
            // The first is the shortest so far, whatever has befallen it.
            if self.runs > 1 || waited >= MUCH_NS {
                self.lost_ns += waited.min(self.shortest_ns * MOST_LOST);
            }
        }
        if seen.elapsed_ns < SHORT_NS {
            self.short_ns += SAVED_NS * f64::from(self.rest + 1);
        }
        let often = u64::from(self.uneven) * u64::from(ONE_IN) >= u64::from(self.runs);
        let sure = self.uneven >= 2 || self.lost_ns >= MUCH_NS;
        self.looked_at |= self.short_ns >= LOOK_NS || self.lost_ns >= LOOK_NS && often && sure;
        self.rest = if uneven || self.looked_at || !may_pass {
            0
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
        // A very long one is looked at when it comes again, one of 30 us after some 200.
        assert_eq!(runs_until(|_| seen(2e8, 1.3e8)), Some(1));
        assert_eq!(runs_until(|_| seen(1e7, 0.6e7)), Some(2));
        let runs = runs_until(|_| seen(30_000.0, 20_000.0)).unwrap_or(0);
        assert!((195..=205).contains(&runs), "{runs}");
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
