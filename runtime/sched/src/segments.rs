//! Is a region with barriers worth a trial as a virtual team?
//!
//! At a barrier every virtual thread is put aside, and another one goes on. With sixteen of them this takes microseconds at each
//! barrier. A region with a barrier after each few microseconds of work is several times slower that way (NPB SP, class
//! S: 0.9 ms instead of 0.2). A trial of some executions, in each of a program's regions, would be felt.
//!
//! So such a region first runs as an ordinary team a few times. This shows how much shorter an execution would be if each thread had the
//! best share, which is all that can be gained, and how many barriers it has. What a barrier costs among virtual threads is supposed
//! at first, and learned from trials of any of the program's regions ([`BarrierCost`]). A region that could not gain as much as its
//! barriers would cost is not tried until a trial is small beside the time that the region has run
//! ([`crate::gain::Gain::expect_loss`]).
//!
//! Pure: no clock. Times are nanoseconds.

use crate::even::Seen;

/// Nanoseconds that a barrier among virtual threads is supposed to cost before any was measured. Lower than what
/// was measured anywhere, so that a first region is tried.
const SUPPOSED_NS: f64 = 4000.0;
/// Weight of the older measurements.
const MEMORY: f64 = 0.5;
/// Ordinary executions before a region with barriers is tried.
const RUNS: u32 = 2;
/// So many executions in a row that take so many times as long as the shortest one are another size of the region.
const IN_A_ROW: u32 = 3;
const LARGER: f64 = 4.0;
/// Executions as a virtual team before a trial that finds nothing ends.
const TRIED: f64 = 3.0;

/// What the ordinary executions of one region have shown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Segments {
    runs: u32,
    /// The shortest execution, and how much shorter it would have been with the best shares.
    least_ns: f64,
    gain_ns: f64,
    /// The last two executions.
    last_ns: [f64; 2],
    /// Barriers of an execution.
    barriers: u32,
    /// Executions in a row that were far longer than the shortest one.
    longer: u32,
}

impl Segments {
    /// Learns from an execution with so many barriers.
    pub fn see(&mut self, seen: &Seen, barriers: u32) {
        let longer = seen.elapsed_ns > self.least_ns * LARGER;
        self.longer = if longer { self.longer + 1 } else { 0 };
        if self.runs == 0 || seen.elapsed_ns < self.least_ns || self.longer >= IN_A_ROW {
            self.longer = 0;
            self.least_ns = seen.elapsed_ns;
            self.gain_ns = (seen.elapsed_ns - seen.best_ns).max(0.0);
        }
        self.runs = self.runs.saturating_add(1);
        self.last_ns = [self.last_ns[1], seen.elapsed_ns];
        self.barriers = barriers;
    }

    /// Is enough known of the region?
    #[must_use]
    pub fn are_known(&self) -> bool {
        self.runs >= RUNS
    }

    /// The last executions, nanoseconds.
    #[must_use]
    pub fn last(&self) -> &[f64] {
        let known = self.last_ns.len().min(self.runs as usize);
        &self.last_ns[self.last_ns.len() - known..]
    }

    /// Nanoseconds that a trial of the region would lose; 0 where a virtual team may gain.
    #[must_use]
    pub fn expected_loss_ns(&self, cost: BarrierCost) -> f64 {
        let price = f64::from(self.barriers) * cost.ns;
        (price - self.gain_ns).max(0.0) * TRIED
    }

    /// How long an execution would have to be to gain what its barriers cost, if these stay as many; nanoseconds.
    #[must_use]
    pub fn worth_ns(&self, cost: BarrierCost) -> f64 {
        let price = f64::from(self.barriers) * cost.ns;
        self.least_ns * (price / self.gain_ns.max(1.0)).max(1.0)
    }

    /// Barriers of an execution.
    #[must_use]
    pub fn barriers(&self) -> u32 {
        self.barriers
    }

    /// The shortest execution, nanoseconds.
    #[must_use]
    pub fn least_ns(&self) -> f64 {
        self.least_ns
    }

    /// What a barrier has cost in an execution as a virtual team that took `ns`; `None` where the region has none.
    #[must_use]
    pub fn cost_in(&self, ns: f64) -> Option<f64> {
        (self.barriers > 0 && self.runs > 0).then(|| {
            let ideal = self.least_ns - self.gain_ns;
            ((ns - ideal) / f64::from(self.barriers)).max(0.0)
        })
    }
}

/// What a barrier costs among virtual threads of this program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BarrierCost {
    /// Nanoseconds.
    pub ns: f64,
}

impl Default for BarrierCost {
    fn default() -> Self {
        BarrierCost { ns: SUPPOSED_NS }
    }
}

impl BarrierCost {
    /// Learns from an execution in which a barrier cost so many nanoseconds.
    #[must_use]
    pub fn learn(self, ns: f64) -> BarrierCost {
        BarrierCost {
            ns: self.ns * MEMORY + ns * (1.0 - MEMORY),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn seen(elapsed_ns: f64, best_ns: f64) -> Seen {
        Seen {
            elapsed_ns,
            best_ns,
            ..Seen::default()
        }
    }

    /// NPB SP, class S: forty barriers in a quarter of a millisecond, half of which could be gained.
    #[test]
    fn many_barriers_in_little_time_promise_a_loss() {
        let mut sp = Segments::default();
        assert!(!sp.are_known());
        sp.see(&seen(900_000.0, 400_000.0), 40);
        assert!(!sp.are_known());
        sp.see(&seen(250_000.0, 130_000.0), 40);
        assert!(sp.are_known());
        assert_eq!(sp.last(), [900_000.0, 250_000.0]);
        assert_eq!(
            sp.expected_loss_ns(BarrierCost::default()),
            3.0 * (160_000.0 - 120_000.0)
        );
        let worth = sp.worth_ns(BarrierCost::default());
        assert!((330_000.0..340_000.0).contains(&worth), "{worth}");
        // The first region that was tried took 0.9 ms.
        let learned = BarrierCost::default().learn(sp.cost_in(900_000.0).unwrap());
        assert!(learned.ns > 10_000.0, "{learned:?}");
        assert!(sp.expected_loss_ns(learned) > 800_000.0);
    }

    #[test]
    fn a_region_that_grows_is_judged_anew() {
        let mut grown = Segments::default();
        for _ in 0..5 {
            grown.see(&seen(250_000.0, 130_000.0), 40);
        }
        // One that lost its core.
        grown.see(&seen(4_000_000.0, 2_000_000.0), 40);
        grown.see(&seen(250_000.0, 130_000.0), 40);
        assert!(grown.expected_loss_ns(BarrierCost::default()) > 0.0);
        for _ in 0..3 {
            grown.see(&seen(2_500_000.0, 1_300_000.0), 40);
        }
        assert_eq!(grown.expected_loss_ns(BarrierCost::default()), 0.0);
    }

    /// NPB CG, class A: a barrier after each 45 us.
    #[test]
    fn few_barriers_are_no_reason() {
        let mut cg = Segments::default();
        cg.see(&seen(16_000_000.0, 10_000_000.0), 360);
        assert_eq!(cg.last(), [16_000_000.0]);
        assert_eq!(cg.expected_loss_ns(BarrierCost::default()), 0.0);
        let none = Segments::default();
        assert_eq!(none.last(), [0.0; 0]);
        assert_eq!(none.cost_in(1e6), None);
        assert_eq!(none.expected_loss_ns(BarrierCost { ns: 1e6 }), 0.0);
    }
}
